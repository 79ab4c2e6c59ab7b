# SPDX-License-Identifier: GPL-2.0

"""Failures of the kernel's own, on order: the n-th allocation or mapping that a driver makes in a call fails.

The kernel counts (/proc/<pid>/fail-nth), and it counts only what has the driver in its stack. So the
order is exact: 1, 2, 3, ... until the call runs through without reaching the one that should fail.
"""

import errno
import functools
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from net.lib.py import KsftSkipEx, ksft_eq, ksft_pr

from .events import KernelLog

DEBUGFS = Path("/sys/kernel/debug")
SLAB = Path("/sys/kernel/slab")
# Where the kernel can be made to fail: kmalloc and friends, pages, functions that are marked for it.
OBJECTS, PAGES, FUNCTIONS = KINDS = ("failslab", "fail_page_alloc", "fail_function")
# Marked functions that map (net/helpers.c), and what they return then: DMA_MAPPING_ERROR, no buffer.
MARKED = {"rnet_dma_map_single": 0xffffffffffffffff, "rnet_page_pool_alloc": 0}

# What is not the driver's: the kernel's judges have memory of their own, and one that gets none retires. Whole caches;
# where DMA debugging keeps what it knows in a tree like any other; pages for slabs, of which the object that wanted one
# has its own failure.
CACHES_OF_JUDGES = ("kmemleak_object", "kmemleak_scan_area", "debug_objects_cache")
NOT_WITHIN = {OBJECTS: "add_dma_entry", PAGES: "new_slab"}
# The kernel shows no stack of what is to fail without a warning.
UNSAID = "not said"


@dataclass
class Outcome:
    """What a call did of which one allocation had to fail."""

    injected: bool      # False: it made fewer allocations
    error: int          # 0: the call worked nevertheless
    reached: int        # how many it made, or the number of the one that failed
    site: str           # where the driver was, and what it had called
    log: list = field(default_factory=list)     # what the kernel said meanwhile

    @property
    def result(self) -> str:
        return errno.errorcode.get(self.error, str(self.error)) if self.error else "went on"


@functools.cache
def _kallsyms() -> list:
    """(address, name, module) of each function, by address."""
    lines = (line.split() for line in Path("/proc/kallsyms").read_text().splitlines())
    return sorted((int(words[0], 16), words[2], words[3].strip("[]") if len(words) > 3 else "")
                  for words in lines if words[1] in "tT")


def _module_range(module: str) -> tuple:
    """From where to where a module's code lies."""
    found = [address for address, _, of in _kallsyms() if of == module]
    if not found:
        raise KsftSkipEx(f"no symbols of {module}")
    # The last function is shorter than that.
    return found[0], found[-1] + 0x4000


def _function_range(name: str, module: str = "") -> tuple:
    """From where to where a function of the kernel or of a module lies."""
    symbols = _kallsyms()
    at = next((n for n, symbol in enumerate(symbols) if symbol[1:] == (name, module)), None)
    if at is None:
        raise RuntimeError(f"no function {name} in {module or 'the kernel'}")
    start = symbols[at][0]
    return start, next(address for address, _, _ in symbols[at:] if address > start)


def _path(symbol: str) -> list:
    """The names in a symbol of Rust, in their order; in front of them all, the crate's. For people: neither generic
    arguments nor traits are told apart."""
    words = []
    # Hashes of crates, numbers of impl blocks, references to what came before.
    rest = re.sub(r"Cs[0-9A-Za-z]*_|(?<=[MX])s[0-9A-Za-z]*_|B[0-9A-Za-z]{0,3}_", "", symbol[2:])
    while found := re.search(r"(\d+)_?(?=[A-Za-z_])", rest):
        words.append(rest[found.end():found.end() + int(found[1])])
        rest = rest[found.end() + int(found[1]):]
    return words


def _function(symbol: str) -> str:
    """A function of the driver, as people call it; empty for what comes from another crate."""
    if not symbol.startswith("_R"):
        return symbol
    first, *words = _path(symbol) or [""]
    return "::".join(words) if first == "ravb_rs" else ""


@functools.cache
def _spare_caches() -> None:
    """Objects of all other caches can fail."""
    for cache in SLAB.iterdir():
        (cache / "failslab").write_text(str(int(cache.name not in CACHES_OF_JUDGES)))


def configure(kind: str, values: dict) -> None:
    """How failures of a kind are chosen: @values for the files in its directory, and never among the judges'."""
    _spare_caches()
    start, end = _function_range(NOT_WITHIN[kind]) if kind in NOT_WITHIN else (0, 0)
    for name, value in {"reject-start": start, "reject-end": end, "stacktrace-depth": 32, "ignore-gfp-wait": "N",
                        "ignore-gfp-highmem": "N", "min-order": 0, "cache-filter": "Y", **values}.items():
        # Not each kind has all of them.
        if (file := DEBUGFS / kind / name).exists():
            file.write_text(str(value))


class Injector:
    """Makes allocations and mappings of a driver's fail."""

    def __init__(self, module: str, kind: str):
        """Of what happens with @module's code in the stack, all of a kind counts."""
        if not Path("/proc/thread-self/fail-nth").exists():
            raise KsftSkipEx("needs a kernel with CONFIG_FAULT_INJECTION (make vm KERNEL=debug)")
        self.module = module
        self.kind = kind
        for other in KINDS:
            # No code lies where nothing is mapped.
            configure(other, {"require-start": 0, "require-end": 1, "verbose": 2, "verbose_ratelimit_interval_ms": 0})
        self._require(*_module_range(module))
        self._mark(kind == FUNCTIONS)

    def _require(self, start: int, end: int) -> None:
        for name, value in (("start", start), ("end", end)):
            (DEBUGFS / self.kind / f"require-{name}").write_text(str(value))

    def only_within(self, function: str) -> None:
        """Only what has this function, of the module or of the kernel, in its stack counts."""
        self._require(*_function_range(function, self.module if function.startswith("rnet_") else ""))

    @staticmethod
    def _mark(on: bool) -> None:
        here = DEBUGFS / FUNCTIONS
        # Nothing at all would not be written.
        (here / "inject").write_text("\n")
        for name, value in MARKED.items() if on else ():
            (here / "inject").write_text(name)
            (here / name / "retval").write_text(f"{value:#x}")

    def close(self) -> None:
        """Functions have their speed back."""
        self._mark(False)

    def call(self, number: int, act) -> Outcome:
        """Calls @act, which returns nothing or raises OSError; the allocation with this number fails."""
        error = 0
        with KernelLog() as log:
            fd = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
            try:
                os.write(fd, str(number).encode())
                act()
            except OSError as e:
                error = e.errno
            finally:
                left = int(os.pread(fd, 20, 0))
                os.pwrite(fd, b"0", 0)
                os.close(fd)
            said = log.read()
        return Outcome(left == 0, error, number - left, self._site(said), said)

    def _site(self, lines: list) -> str:
        """From the stack that the kernel printed: the driver's innermost function."""
        inner = None
        for line in lines:
            if f"FAULT_INJECTION: forcing a failure.\\x0aname {self.kind}" in line:
                inner = ""
            elif inner is not None and (found := re.search(r"^ *(\S+)\+(0x[0-9a-f]+)/0x[0-9a-f]+( \[(\w+)\])?", line)):
                if found[4] != self.module:
                    inner = found[1]
                elif where := _function(found[1]):
                    return f"{self.kind}: {where}" + (f" > {inner}" if inner else "")
        return f"{self.kind}: {UNSAID}"


# What can leak

class Leaks:
    """What devices hold, and what nobody does any more."""

    def __init__(self, forget: bool = True):
        self.kmemleak = DEBUGFS / "kmemleak"
        if not self.kmemleak.exists():
            raise KsftSkipEx("needs a kernel with CONFIG_DEBUG_KMEMLEAK (make vm KERNEL=debug)")
        if forget:
            # What has been lost so far is not what is looked for.
            self.kmemleak.write_text("scan")
            self.kmemleak.write_text("clear")

    @staticmethod
    def mapped(device: str) -> int:
        """Pieces of DMA memory that are mapped for a device."""
        return sum(device in line for line in (DEBUGFS / "dma-api/dump").read_text().splitlines())

    def check(self, mapped: dict) -> None:
        """Devices have as many mappings as @mapped says, and each piece of memory has somebody who points at it."""
        # Without memory of their own the judges fall silent. (kmemleak refuses to scan.)
        ksft_eq((DEBUGFS / "dma-api/disabled").read_text().strip(), "N", "DMA debugging has disabled itself")
        for device, count in mapped.items():
            ksft_eq(self.mapped(device), count, f"DMA mappings of {device}")
        # What was freed a moment ago, by RCU, needs a second look.
        for _ in range(2):
            self.kmemleak.write_text("scan")
        left = self.kmemleak.read_text().splitlines()
        for line in left[:60]:
            ksft_pr(line)
        ksft_eq(sum(line.startswith("unreferenced") for line in left), 0, "objects that nobody points at")
