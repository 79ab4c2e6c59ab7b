# SPDX-License-Identifier: GPL-2.0

"""Failures of the kernel's own, on order: the n-th allocation that a driver makes in a call fails.

The kernel counts (/proc/<pid>/fail-nth), and it counts only what has the driver in its stack. So the
order is exact: 1, 2, 3, ... until the call runs through without reaching the one that should fail.
"""

import ctypes
import errno
import fcntl
import os
import re
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

from net.lib.py import KsftSkipEx

from .events import KernelLog

DEBUGFS = Path("/sys/kernel/debug")
# Where the kernel can be made to fail: kmalloc and friends, pages, functions that are marked for it.
KINDS = ("failslab", "fail_page_alloc", "fail_function")
# Marked functions of net/helpers.c, and what they return when they fail: DMA_MAPPING_ERROR.
FUNCTIONS = {"rnet_dma_map_single": 0xffffffffffffffff}

SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCETHTOOL = 0x8913, 0x8914, 0x8946
ETHTOOL_GRINGPARAM, ETHTOOL_SRINGPARAM = 0x10, 0x11
IFF_UP = 1


@dataclass
class Outcome:
    """What a call did of which one allocation had to fail."""

    injected: bool      # False: it made fewer allocations
    error: int          # 0: the call worked nevertheless
    site: str           # where the driver was, and what it had called

    @property
    def result(self) -> str:
        return errno.errorcode.get(self.error, str(self.error)) if self.error else "went on"


def _text_range(module: str) -> tuple:
    """From where to where the module's code lies."""
    found = [int(address, 16) for address, kind, _, *of in
             (line.split() for line in Path("/proc/kallsyms").read_text().splitlines())
             if kind in "tT" and of == [f"[{module}]"]]
    if not found:
        raise KsftSkipEx(f"no symbols of {module}")
    # The last function is shorter than that.
    return min(found), max(found) + 0x4000


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


class Injector:
    """Makes allocations of a driver's fail."""

    def __init__(self, module: str):
        if not Path("/proc/thread-self/fail-nth").exists():
            raise KsftSkipEx("needs a kernel with CONFIG_FAULT_INJECTION (make vm KERNEL=debug)")
        start, end = _text_range(module)
        self.module = module
        for kind in KINDS:
            here = DEBUGFS / kind
            for name, value in {"require-start": start, "require-end": end, "stacktrace-depth": 32,
                                "verbose": 2, "verbose_ratelimit_interval_ms": 0}.items():
                (here / name).write_text(str(value))
            for name, value in {"ignore-gfp-wait": "N", "ignore-gfp-highmem": "N", "min-order": "0",
                                "cache-filter": "N"}.items():
                if (here / name).exists():
                    (here / name).write_text(value)

    def functions(self, on: bool) -> None:
        """Counts the marked functions as well, or no longer."""
        here = DEBUGFS / "fail_function"
        if not on:
            # Nothing at all would not be written.
            (here / "inject").write_text("\n")
            return
        for name, value in FUNCTIONS.items():
            (here / "inject").write_text(name)
            (here / name / "retval").write_text(f"{value:#x}")

    def call(self, number: int, act) -> Outcome:
        """Calls @act, which returns nothing or raises OSError, in a process of its own."""
        read, write = os.pipe()
        with KernelLog() as log:
            pid = os.fork()
            if pid == 0:
                self._child(number, act, write)
            os.close(write)
            with os.fdopen(read, "rb") as answer:
                words = answer.read().split()
            os.waitpid(pid, 0)
            site = self._site(log.read())
        if len(words) != 2:
            raise RuntimeError(f"the call with failure {number} did not return: {words}")
        error, left = map(int, words)
        return Outcome(left == 0, error, site)

    @staticmethod
    def _child(number: int, act, write: int) -> None:
        status, left = errno.EBADMSG, -1
        try:
            fd = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
            try:
                os.write(fd, str(number).encode())
                act()
                status = 0
            except OSError as e:
                status = e.errno
            left = int(os.pread(fd, 20, 0))
            os.pwrite(fd, b"0", 0)
        finally:
            os.write(write, f"{status} {left}".encode())
            os._exit(0)

    def _site(self, lines: list) -> str:
        """From the stack that the kernel printed: the driver's innermost function."""
        kind, inner = "", ""
        for line in lines:
            if found := re.search(r"^name (\w+)", line):
                kind, inner = found[1], ""
            elif kind and (found := re.search(r"^ *(\S+)\+(0x[0-9a-f]+)/0x[0-9a-f]+( \[(\w+)\])?", line)):
                if found[4] != self.module:
                    inner = found[1]
                elif where := _function(found[1]):
                    return f"{kind}: {where}" + (f" > {inner}" if inner else "")
        return f"{kind or 'not logged'}: ?"


# Calls, each of them one system call that matters. No buffers, no second try.

def set_up(ifname: str, up: bool) -> None:
    """Brings an interface up or down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = bytearray(struct.pack("16sh22x", ifname.encode(), 0))
        fcntl.ioctl(sock, SIOCGIFFLAGS, request)
        flags, = struct.unpack_from("h", request, 16)
        struct.pack_into("h", request, 16, flags | IFF_UP if up else flags & ~IFF_UP)
        fcntl.ioctl(sock, SIOCSIFFLAGS, request)


def set_rings(ifname: str, rx: int, tx: int) -> None:
    """Sets the sizes of the rings, as ethtool -G."""
    param = ctypes.create_string_buffer(struct.pack("9I", ETHTOOL_GRINGPARAM, *(0,) * 8))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sQ16x", ifname.encode(), ctypes.addressof(param))
        fcntl.ioctl(sock, SIOCETHTOOL, request)
        words = list(struct.unpack("9I", param.raw[:36]))
        words[0], words[5], words[8] = ETHTOOL_SRINGPARAM, rx, tx
        param.raw = struct.pack("9I", *words).ljust(len(param.raw), b"\0")
        fcntl.ioctl(sock, SIOCETHTOOL, request)


def rings(ifname: str) -> tuple:
    """The sizes of the rings."""
    param = ctypes.create_string_buffer(struct.pack("9I", ETHTOOL_GRINGPARAM, *(0,) * 8))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCETHTOOL,
                    struct.pack("16sQ16x", ifname.encode(), ctypes.addressof(param)))
    words = struct.unpack("9I", param.raw[:36])
    return words[5], words[8]


# What can leak

class Leaks:
    """What a device holds, and what nobody does any more."""

    def __init__(self, device: str, forget: bool = True):
        self.device = device
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

    def mappings(self) -> int:
        """The same for the device in question."""
        return self.mapped(self.device)

    def unreferenced(self) -> list:
        """Memory that nobody points at, with its stacks. What was freed a moment ago, by RCU, needs a second look."""
        for _ in range(2):
            self.kmemleak.write_text("scan")
        return self.kmemleak.read_text().splitlines()
