# SPDX-License-Identifier: GPL-2.0

"""Compares a register trace of the twin with the expected sequence, and says where they part."""

from dataclasses import dataclass

from sequences import ANY, M, Mdio, P, R, W

CONTEXT = 6


@dataclass(frozen=True)
class Access:
    """One access to the MAC's window."""

    kind: str       # "R" or "W"
    reg: str
    value: int

    def __str__(self) -> str:
        return f"{self.kind} {self.reg:<6} {self.value:08x}"


def read_trace(lines) -> dict:
    """The accesses to the MAC's registers (region 0) between marks: {mark: accesses behind it}.

    What comes before the first mark is under "". Format: twin/src/trace.rs.
    """
    found = {"": []}
    here = found[""]
    for line in lines:
        _, kind, rest = line.rstrip("\n").split(" ", 2)
        if kind == "M":
            here = found.setdefault(rest, [])
        elif kind[0] in "RW":
            reg, value = rest.split(" ")
            if len(kind) > 1:
                # No register of this MAC has another width: never equal to anything expected.
                reg += f" ({kind[1:]} bytes)"
            if "+" not in reg or reg.startswith("0+"):
                here.append(Access(kind[0], reg, int(value, 0)))
    return found


MDIO_SEEN = Access("-", "MDIO", 0)


def collapse(accesses: list) -> list:
    """Each run of PIR accesses becomes one mark."""
    out = []
    for access in accesses:
        if access.reg != "PIR":
            out.append(access)
        elif not out or out[-1] is not MDIO_SEEN:
            out.append(MDIO_SEEN)
    return out


def show(step) -> str:
    if isinstance(step, R):
        return f"R {step.reg}"
    if isinstance(step, W):
        return f"W {step.reg:<6} " + ("any" if step.value is ANY else f"{step.value:08x}")
    if isinstance(step, M):
        return f"M {step.reg:<6} clear {step.clear:08x} set {step.set:08x}"
    if isinstance(step, P):
        return f"P {step.reg:<6} until & {step.mask:08x} == {step.value:08x}"
    return "  MDIO"


class Sequence:
    """A trace being walked along."""

    def __init__(self, accesses: list):
        self.all = collapse(accesses)

    def _is(self, at: int, kind: str, reg: str) -> bool:
        return at < len(self.all) and self.all[at].kind == kind and self.all[at].reg == reg

    def step(self, at: int, step):
        """The position behind @step at @at, or None when something else is there."""
        if isinstance(step, Mdio):
            return at + 1 if at < len(self.all) and self.all[at] is MDIO_SEEN else None
        if isinstance(step, R):
            return at + 1 if self._is(at, "R", step.reg) else None
        if isinstance(step, W):
            if self._is(at, "W", step.reg) and step.value in (ANY, self.all[at].value):
                return at + 1
            return None
        if isinstance(step, M):
            if self._is(at, "R", step.reg) and self._is(at + 1, "W", step.reg) and \
                    self.all[at + 1].value == (self.all[at].value & ~step.clear) | step.set:
                return at + 2
            return None
        while self._is(at, "R", step.reg):
            at += 1
            if self.all[at - 1].value & step.mask == step.value:
                return at
        return None

    def steps(self, at: int, steps: list):
        for step in steps:
            at = self.step(at, step)
            if at is None:
                return None
        return at


def compare(accesses: list, expected: list, interludes: list) -> str:
    """"" when @accesses are @expected, with interludes and MDIO between; else a readable report."""
    trace = Sequence(accesses)
    at = 0
    passed = []
    for number, step in enumerate(expected):
        while True:
            behind = trace.step(at, step)
            if behind is not None:
                break
            if at < len(trace.all) and trace.all[at] is MDIO_SEEN:
                at += 1
                continue
            for interlude in interludes:
                behind = trace.steps(at, interlude)
                if behind is not None:
                    break
            if behind is None:
                return _report(trace, at, passed, expected, number)
            passed.append(f"  {trace.all[at]} ... ({behind - at} accesses between the steps)")
            at = behind
        passed.append(f"  {show(step)}")
        at = behind
    return _rest(trace, at, interludes, passed)


def _rest(trace: Sequence, at: int, interludes: list, passed: list) -> str:
    while at < len(trace.all):
        if trace.all[at] is MDIO_SEEN:
            at += 1
            continue
        ends = [e for e in (trace.steps(at, i) for i in interludes) if e is not None]
        if not ends:
            return _report(trace, at, passed, [], 0)
        at = max(ends)
    return ""


def _report(trace: Sequence, at: int, passed: list, expected: list, number: int) -> str:
    lines = passed[-CONTEXT:]
    lines += [f"- {show(s)}" for s in expected[number:number + CONTEXT]] or ["- (end)"]
    lines += [f"+ {a}" for a in trace.all[at:at + CONTEXT]] or ["+ (end)"]
    head = f"step {number + 1} of {len(expected)}" if expected else "after the last step"
    return f"parts at {head} (- expected, + seen):\n" + "\n".join(lines)

