# SPDX-License-Identifier: GPL-2.0
"""Reads what comes from the guest's two serial ports."""

import re
from collections.abc import Callable

_RECORD = re.compile(rb"\x1eravb-rs (status|error|expect-splat)(?: ([^\n]*))?\n")
_START = b"\x1eravb-rs "
_LONGEST = 4096


class JobStream:
    """The port of RUN: its output, then the records of the guest's init.

    Output is passed on at once. Something that looks like a record is held back until it is clear
    whether more output follows, in which case it was RUN's own.
    """

    def __init__(self, output: Callable[[bytes], None]) -> None:
        self._output = output
        self._held = b""
        self._records: list[tuple[bytes, bytes]] = []
        self._raw = b""
        self.status: int | None = None
        self.error: str | None = None
        self.expects_splat = False

    def feed(self, data: bytes) -> None:
        """Takes the next bytes from the port."""
        self._held += data
        while self._held:
            found = _RECORD.match(self._held)
            if found:
                self._records.append((found[1], found[2] or b""))
                self._raw += found[0]
                self._held = self._held[found.end() :]
                continue
            if self._may_become_record():
                return
            if self._raw:
                self._output(self._raw)
                self._raw = b""
                self._records.clear()
            # Up to the next byte that could start a record.
            end = self._held.find(b"\x1e", 1)
            end = len(self._held) if end < 0 else end
            self._output(self._held[:end])
            self._held = self._held[end:]

    def _may_become_record(self) -> bool:
        head = self._held[: len(_START)]
        return _START.startswith(head) and b"\n" not in self._held and len(self._held) < _LONGEST

    def finish(self) -> None:
        """The guest is gone: what was held is output or the result."""
        if self._held:
            self._output(self._raw + self._held)
            self._records.clear()
        for kind, text in self._records:
            if kind == b"status" and text.isdigit():
                self.status = int(text)
            elif kind == b"error":
                self.error = text.decode(errors="replace")
            elif kind == b"expect-splat":
                self.expects_splat = True
        self._held = self._raw = b""


# A failure that RUN has ordered: the stack that follows tells where, not that something is wrong.
_ORDERED = re.compile(r"^(?:\[\s*\d+\.\d+\])?(?:\[\s*[CT]\d+\])?\s*FAULT_INJECTION: forcing a failure")
_STACK = re.compile(r"^(?:\[\s*\d+\.\d+\])?(?:\[\s*[CT]\d+\])?\s*Call trace:")

# What the kernel prints when something is wrong with it. Lines begin with the time stamp, and under
# some configurations with the thread or CPU that printed them.
_SPLAT = re.compile(
    r"^(?:\[\s*\d+\.\d+\])?(?:\[\s*[CT]\d+\])?\s*(?:"
    r"WARNING: |BUG: |kernel BUG at |Internal error: |Oops|Unable to handle |Kernel panic|"
    r"INFO: (?:task .* blocked|possible |rcu|trying to register)|rcu: INFO|UBSAN: |KASAN: |KCSAN: |KFENCE: |"
    r"DMA-API: .*(?:device driver|error)|kmemleak: \d+ new suspected|refcount_t: |list_(?:add|del) corruption|"
    r"watchdog: BUG|Unbalanced |sched: RT throttling|Call trace:|"
    # A checker that gives up sees nothing any more.
    r"DMA-API: .*disabl|kmemleak: .*(?:disabled|Memory pool empty)|ODEBUG: .*disabled|INFO: lockdep is turned off)"
)


class Lines:
    """Complete lines of a stream."""

    def __init__(self, line: Callable[[str], None]) -> None:
        self._line = line
        self._held = b""

    def feed(self, data: bytes) -> None:
        """Takes the next bytes of the stream."""
        *lines, self._held = (self._held + data).split(b"\n")
        for raw in lines:
            self._take(raw)

    def finish(self) -> None:
        """The stream has ended."""
        if self._held:
            self._take(self._held)
        self._held = b""

    def _take(self, raw: bytes) -> None:
        self._line(raw.decode(errors="replace").rstrip("\r"))


class KernelLog(Lines):
    """The kernel's console, with an eye on what tells of a defect."""

    def __init__(self, line: Callable[[str], None]) -> None:
        super().__init__(self._look)
        self._pass = line
        self.splats: list[str] = []
        self._ordered = 0  # stacks to come

    def _look(self, line: str) -> None:
        if _ORDERED.match(line):
            self._ordered = 1
        elif self._ordered and _STACK.match(line):
            self._ordered = 0
        elif _SPLAT.match(line):
            self.splats.append(line)
        self._pass(line)
