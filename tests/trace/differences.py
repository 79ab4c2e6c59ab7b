# SPDX-License-Identifier: GPL-2.0

"""What our driver does differently to the registers than the C driver, and why.

Compared is what a phase does to each register: whether it is read, whether it is written, and the
value that it is left with. The order is sequences.py's to know for the C driver; ours has its own,
and it is the C driver's where the hardware asks for one (CSR after CCC, DBAT before OPERATION).

REASONS is the list of the differences. One that is not in it fails; `check.py -v rs-trace-*` shows
those that are, with their reasons.
"""

from dataclasses import dataclass

RCAR = ("gen2", "gen3", "gen4", "rzv2m")
ALL = (*RCAR, "gbeth")
NAMED_LINES = ("gen3", "gen4", "rzv2m")
OWN_MASKS = ("gen3", "gen4")        # RIE0, RID0, TIE, TID
GAC = ("gen3", "gen4")


@dataclass(frozen=True)
class Use:
    """What a phase does to a register."""

    read: bool
    written: bool
    last: object        # the value written last, or None

    def __str__(self) -> str:
        how = "+".join(w for w, on in (("read", self.read), ("written", self.written)) if on) or "untouched"
        return how if self.last is None else f"{how}, left at {self.last:08x}"


UNTOUCHED = Use(False, False, None)


@dataclass(frozen=True)
class Reason:
    """Why a register is used differently in a phase."""

    phase: str
    registers: tuple
    chips: tuple
    why: str


# Addresses of memory, which differ from boot to boot.
ADDRESSES = ("DBAT",)

WHOLE = "computed from the whole configuration and written whole; the C driver reads it, changes bits, writes it back"

REASONS = (
    Reason("open", ("CCC", "APSR", "CXR31", "ECMR"), ALL, WHOLE),
    Reason("open", ("RFLR",), ALL,
           "the longest frame with its FCS: what a slot, and the longest MTU with a VLAN tag, have room for. The C "
           "driver's limit of R-Car is four bytes more than a slot holds (T3)"),
    Reason("open", ("ECSIPR",), RCAR, "magic packets interrupt only while the system sleeps and waits for one"),
    Reason("open", ("ECSR",), ALL, "a change of the link pin is seen by the interrupt, or was before"),
    Reason("open", ("PSR",), RCAR, "the interrupt of a link change reads the link pin"),
    Reason("open", ("GECMR",), ALL, "the speed of the last link is set again; it is right until another is known"),
    Reason("open", ("RIS0", "RIS2", "TIS"), ALL, "flags of an earlier life are cleared before anything is enabled"),
    Reason("open", ("RIC0", "TIC"), OWN_MASKS,
           "queues are enabled by RIE0 and TIE here too, after all is in place; the C driver enables them before"),
    Reason("open", ("RIE0", "TIE"), OWN_MASKS, "see RIC0"),
    Reason("open", ("RIC0", "TIC", "RIC2"), ALL,
           "nothing is enabled before all is in place; the last value is the same"),
    Reason("open", ("CEFCR", "FRECR", "TLFRCR"), ALL, "counters that the C driver has no use for, see TROCR"),
    Reason("open", ("TROCR", "CXR41", "CXR42"), ALL, "counters start at zero, and are read when the link is reported"),
    Reason("open", ("GTI", "GCCR"), GAC,
           "the timer has been running since power came: it is not set up by open, and its time not lost by it"),
    Reason("open", ("GTI", "GCCR"), RCAR,
           "the timer is reset and loaded with the time that has gone on by the system's clock"),
    Reason("open", ("GTO0", "GTO1", "GTO2", "GIC", "GIS"), RCAR, "see GTI"),
    Reason("close", ("CCC",), ALL, "CONFIG mode, in which MDIO (and the timer of Gen3 and Gen4) work, not RESET"),
    Reason("close", ("ECMR",), ALL, WHOLE),
    Reason("close", ("ECSR", "PSR"), RCAR, "the link goes down while its interrupt is enabled still"),
    Reason("close", ("ISS",), ("gen2", "gbeth"), "see ECSR: the only line"),
    Reason("close", ("GIC", "GIS", "GCCR", "GCT0", "GCT1", "GCT2"), RCAR,
           "the time is read before the timer stops, so that it can go on without; no flag is left to be cleared, "
           "since flags are cleared before they are enabled"),
    Reason("close", ("CEFCR", "FRECR", "TLFRCR"), ALL, "counters that the C driver has no use for, see TROCR"),
    Reason("close", ("TROCR", "CXR41", "CXR42"), ALL,
           "counters are read, and the difference added: clearing them could lose what comes in between"),
)


def uses(accesses: list) -> dict:
    """{register: Use} of one phase."""
    found = {}
    for access in accesses:
        before = found.get(access.reg, UNTOUCHED)
        if access.kind == "R":
            found[access.reg] = Use(True, before.written, before.last)
        else:
            found[access.reg] = Use(before.read, True, access.value)
    return {reg: Use(u.read, u.written, None if reg in ADDRESSES else u.last) for reg, u in found.items()}


def differences(phase: str, theirs: list, ours: list, chip: str) -> tuple:
    """([explained], [unexplained]) differences of a phase, as lines; PIR is the bus's."""
    theirs, ours = uses(theirs), uses(ours)
    explained, unexplained = [], []
    for reg in sorted(theirs.keys() | ours.keys()):
        c, rs = theirs.get(reg, UNTOUCHED), ours.get(reg, UNTOUCHED)
        if c == rs or reg == "PIR" or "+" in reg:
            continue
        line = f"{phase}: {reg:<6} C {c}; ours {rs}"
        reason = next((r for r in REASONS if r.phase == phase and reg in r.registers and chip in r.chips), None)
        if reason:
            explained.append(f"{line}: {reason.why}")
        else:
            unexplained.append(line)
    return explained, unexplained
