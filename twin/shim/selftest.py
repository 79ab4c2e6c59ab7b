#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests the shim by itself: QEMU's qtest protocol stands in for a guest, selftest.c for the model.

The machine runs, with a CPU that sleeps, since Debian's QEMU lacks the qtest accelerator (which would
also give the test the clock) and a stopped machine has neither timers nor network.

    selftest.py --qemu FILE --build DIR [--preload FILE] [NAME...]

DIR holds selftest.so and its broken relatives (scripts/qemu.sh compiles them). Writes TAP; NAMEs
choose among the tests.
"""

import argparse
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

BASE = 0x0B000000
SECOND = 0x0B020000  # two regions of 64 KiB each after BASE
RAM = 0x40000000
WFI_LOOP = 0x17FFFFFF_D503207F  # wfi; b .-4
LIMIT = 30  # seconds for anything that is awaited


class Failure(AssertionError):
    """A test's expectation that did not hold."""


def expect(got: object, wanted: object, what: str) -> None:
    if got != wanted:
        raise Failure(f"{what}: {got!r} instead of {wanted!r}")


class Qemu:
    """One QEMU with the shim, spoken to in the qtest protocol."""

    def __init__(
        self, options: argparse.Namespace, *devices: str, machine: str = "virt", more: tuple[str, ...] = ()
    ) -> None:
        environment = dict(os.environ)
        if options.preload:
            environment["LD_PRELOAD"] = options.preload
        command = [options.qemu, "-M", machine, "-accel", "tcg", "-nodefaults", "-display", "none"]
        command += ["-qtest", "stdio", "-qtest-log", "none", *more]
        if machine.startswith("virt"):
            command += ["-cpu", "cortex-a55", "-device", f"loader,addr={RAM:#x},data={WFI_LOOP:#x},data-len=8"]
            command += ["-device", f"loader,addr={RAM:#x},cpu-num=0"]
        for device in devices:
            command += ["-device", device]
        self.stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in __exit__
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            text=True,
        )

    def __enter__(self) -> "Qemu":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.stderr.close()

    def said(self) -> str:
        """What QEMU has printed on stderr."""
        self.stderr.seek(0)
        return self.stderr.read()

    def ask(self, command: str) -> str:
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failure(f"{command}: QEMU is gone: {self.said()}") from None
        while True:
            answer = self.process.stdout.readline()
            if not answer:
                raise Failure(f"{command}: QEMU is gone: {self.said()}")
            if answer.startswith("IRQ "):
                continue
            if not answer.startswith("OK"):
                raise Failure(f"{command}: {answer.strip()}")
            return answer[2:].strip()

    def read(self, address: int, size: str = "l") -> int:
        return int(self.ask(f"read{size} 0x{address:x}"), 16)

    def write(self, address: int, value: int, size: str = "l") -> None:
        self.ask(f"write{size} 0x{address:x} 0x{value:x}")

    def finish(self) -> tuple[int, str]:
        """Waits for QEMU to end; its status and stderr."""
        status = self.process.wait(LIMIT)
        return status, self.said()


TESTS: list[Callable[[argparse.Namespace], None]] = []


def test(function: Callable[[argparse.Namespace], None]) -> Callable[[argparse.Namespace], None]:
    TESTS.append(function)
    return function


def good(options: argparse.Namespace, more: str = "") -> str:
    return f"twin,lib={options.build}/selftest.so{more}"


@test
def mmio(o: argparse.Namespace) -> None:
    """Reads and writes of every size reach the right region and offset."""
    with Qemu(o, good(o)) as q:
        expect(q.read(BASE), 0x7477696E, "identification")
        expect(q.read(BASE + 0x10000 + 0x9A4), 0x9A4, "register of region 1")
        q.write(BASE + 4, 0x1122334455667788, "q")
        expect(q.read(BASE + 4, "q"), 0x1122334455667788, "8 bytes")
        expect(q.read(BASE + 8), 0x11223344, "upper 4 bytes")
        expect(q.read(BASE + 6, "w"), 0x5566, "2 bytes")
        expect(q.read(BASE + 5, "b"), 0x77, "1 byte")
        q.write(BASE + 5, 0xAB, "b")
        q.write(BASE + 8, 0xCDEF, "w")
        expect(q.read(BASE + 4, "q"), 0x1122CDEF5566AB88, "8 bytes after partial writes")


@test
def dma(o: argparse.Namespace) -> None:
    """The model reaches RAM, and nothing but RAM."""
    with Qemu(o, good(o)) as q:
        q.write(RAM + 0x1000, 0xDEADBEEF)
        q.write(BASE + 0x20, RAM + 0x1000)
        q.write(BASE + 0x24, 1)
        expect(q.read(BASE + 0x24), 0, "status of a read of RAM")
        expect(q.read(BASE + 0x2C), 0xDEADBEEF, "what was read")
        q.write(BASE + 0x28, 0x12345678)
        expect(q.read(RAM + 0x1000), 0x12345678, "what was written")
        for address, what in ((0, "a write to flash"), (BASE + 4, "the device itself"), (0x0B800000, "nothing")):
            q.write(BASE + 0x20, address)
            q.write(BASE + 0x28, 1)
            expect(q.read(BASE + 0x28), 0xFFFFFFFF, f"status of {what}")
        expect(q.read(BASE + 4), 0, "scratch after a refused DMA")
        expect(q.read(BASE + 0x4C), 0, "nested calls")


def gicd_pending(q: Qemu, spi: int) -> int:
    """Pending bit of an SPI in the distributor (GICD_ISPENDRn), which follows a level input."""
    intid = spi + 32
    return q.read(0x08000200 + intid // 32 * 4) >> intid % 32 & 1


@test
def interrupts(o: argparse.Namespace) -> None:
    """Lines go up and down at the GIC, of both kinds, each by itself."""
    for version in "2", "3":
        with Qemu(o, good(o), machine=f"virt,gic-version={version}") as q:
            for levels in 0b001, 0b110, 0b101, 0b000:
                q.write(BASE + 0x10, levels)
                seen = sum(gicd_pending(q, 176 + line) << line for line in range(3))
                expect(seen, levels, f"pending with GICv{version}")


@test
def timer(o: argparse.Namespace) -> None:
    """The timer fires once, not before its time on the virtual clock, and can be moved and cancelled."""

    def fires(q: Qemu, count: int) -> None:
        end = time.monotonic() + LIMIT
        while q.read(BASE + 0x18) < count:
            if time.monotonic() > end:
                raise Failure("the timer does not fire")
        late = q.read(BASE + 0x50)
        if late >= 1 << 31:
            raise Failure(f"fired {(1 << 32) - late} ns too early")

    def now(q: Qemu) -> int:
        return q.read(BASE + 0x44) | q.read(BASE + 0x48) << 32

    with Qemu(o, good(o)) as q:
        q.write(BASE + 0x18, 1_000_000)
        fires(q, 1)
        q.write(BASE + 0x18, 1_000_000_000)
        q.write(BASE + 0x18, 2_000_000)
        fires(q, 2)
        q.write(BASE + 0x18, 50_000_000)
        q.write(BASE + 0x18, 0)
        start = now(q)
        while now(q) < start + 100_000_000:
            pass
        expect(q.read(BASE + 0x18), 2, "times fired after it was cancelled")


def pair(o: argparse.Namespace) -> Qemu:
    """Two devices on one hub."""
    hub = ("-netdev", "hubport,id=a,hubid=0", "-netdev", "hubport,id=b,hubid=0")
    return Qemu(o, good(o, ",netdev=a"), good(o, ",netdev=b"), more=hub)


@test
def two_devices(o: argparse.Namespace) -> None:
    """Two devices find places of their own and hear each other."""
    with pair(o) as q:
        q.write(BASE + 0x30, 77)
        expect((q.read(SECOND + 0x34), q.read(SECOND + 0x30)), (1, 77), "frames and number at the second")
        expect(q.read(BASE + 0x34), 0, "own frames heard by the sender")
        q.write(SECOND + 0x10, 1)
        expect((gicd_pending(q, 176), gicd_pending(q, 179)), (0, 1), "lines of the first and the second")


@test
def answers_are_held_back(o: argparse.Namespace) -> None:
    """A peer that answers from inside send() is heard when the sender's call is over."""
    with pair(o) as q:
        q.write(BASE + 0x38, 50)
        q.write(SECOND + 0x38, 50)
        q.write(BASE + 0x30, 1)
        expect(q.read(BASE + 0x34), 50, "answers at the first")
        expect(q.read(SECOND + 0x34), 51, "frames at the second")
        expect((q.read(BASE + 0x30), q.read(SECOND + 0x30)), (100, 101), "last numbers")
        expect((q.read(BASE + 0x4C), q.read(SECOND + 0x4C)), (0, 0), "nested calls")


@test
def back_end(o: argparse.Namespace) -> None:
    """Frames reach a network back end as the model sent them."""
    with tempfile.TemporaryDirectory() as directory:
        capture = Path(directory, "out.pcap")
        more = ("-netdev", "hubport,id=a,hubid=0", "-object", f"filter-dump,id=d,netdev=a,file={capture}")
        with Qemu(o, good(o, ",netdev=a,mac=02:00:00:00:77:01"), more=more) as q:
            q.write(BASE + 0x30, 0x01020304)
            q.process.terminate()
            q.finish()
        data = capture.read_bytes()
        (length,) = struct.unpack_from("<I", data, 24 + 8)
        frame = data[24 + 16 : 24 + 16 + length]
        expect(frame[:18].hex(), "ff" * 6 + "020000007701" + "88b5" + "04030201", "the frame")


@test
def machine_reset(o: argparse.Namespace) -> None:
    """A machine reset reaches the model, and lines can be raised again after it."""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/qmp"
        with Qemu(o, good(o), more=("-qmp", f"unix:{path},server=on,wait=off")) as q:
            before = q.read(BASE + 0x3C)
            q.write(BASE + 0x10, 1)
            qmp(path, "system_reset", "RESET")
            expect(q.read(BASE + 0x3C), before + 1, "resets")
            expect(gicd_pending(q, 176), 0, "line after reset")
            q.write(BASE + 0x10, 1)
            expect(gicd_pending(q, 176), 1, "line raised again")


def qmp(path: str, command: str, event: str) -> None:
    """Carries out one QMP command and waits until it is done and `event` has happened."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(LIMIT)
        s.connect(path)
        stream = s.makefile("rw")

        def until(*wanted: str) -> None:
            missing = set(wanted)
            while missing:
                line = stream.readline()
                if not line:
                    raise Failure(f"QMP ended before {missing}")
                message = json.loads(line)
                missing -= set(message) | {message.get("event")}

        until("QMP")
        for name, wanted in ("qmp_capabilities", ("return",)), (command, ("return", event)):
            stream.write(json.dumps({"execute": name}) + "\n")
            stream.flush()
            until(*wanted)


@test
def device_tree(o: argparse.Namespace) -> None:
    """Nodes, properties and phandles of the model are in the machine's tree."""
    with tempfile.TemporaryDirectory() as directory:
        dump = f"{directory}/dtb"
        with Qemu(o, good(o, ",mac=02:00:00:00:77:01"), machine=f"virt,dumpdtb={dump}") as q:
            status, said = q.finish()
        expect(status, 0, f"status ({said})")
        tree = Path(dump).read_bytes()
        for what in b"selftest@b000000\0", b"twin,selftest\0", bytes.fromhex("020000007701"):
            if what not in tree:
                raise Failure(f"{what!r} is not in the tree")
        if "phandle same, of nothing 0" not in said:
            raise Failure(f"phandles: {said}")


@test
def orderly_end(o: argparse.Namespace) -> None:
    """The model is destroyed, once, by a signal as by the monitor."""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/qmp"
        for way in "signal", "monitor":
            with Qemu(o, good(o), more=("-qmp", f"unix:{path},server=on,wait=off")) as q:
                q.read(BASE)
                if way == "signal":
                    q.process.terminate()
                else:
                    qmp(path, "quit", "SHUTDOWN")
                status, said = q.finish()
                expect(status, 0, f"status ({said})")
                expect(said.count("twin0: destroyed"), 1, f"times destroyed by {way}")


@test
def refusals(o: argparse.Namespace) -> None:
    """What cannot work ends QEMU with a sentence that says why."""
    cases = (
        ("twin", "lib= is missing"),
        ("twin,lib=/nowhere/x.so", "cannot load lib=/nowhere/x.so"),
        (f"twin,lib={o.build}/selftest-no-entry.so", "is no model: it lacks twin_entry()"),
        (f"twin,lib={o.build}/selftest-wrong-size.so", "speaks version 1 of the interface"),
        (good(o, ",args=fail"), "the model refused args=fail"),
        (good(o, ",args=size=100"), "wants a region of 0x64 bytes"),
        (good(o, ",args=regions=5"), "wants 5 regions"),
        (good(o, ",args=irqs=33"), "and 33 interrupts"),
        (good(o, ",addr=0x0b001000"), "is no multiple of 0x10000"),
        (good(o, ",addr=0x09000000"), "0x9000000-0x9000fff overlaps pl011"),
        (good(o, ",addr=0x40000000"), "overlaps mach-virt.ram"),
        (good(o, ",spi=254"), "spi=254 with 3 interrupts does not fit: the GIC has SPI 0 to 255"),
        (good(o, ",netdev=none"), "none"),
    )
    for device, words in cases:
        with Qemu(o, device) as q:
            status, said = q.finish()
        expect(status, 1, f"status of {device} ({said})")
        if words not in said:
            raise Failure(f"{device}: {said!r} lacks {words!r}")
    for machine in "none", "raspi3b":
        with Qemu(o, good(o), machine=machine) as q:
            status, said = q.finish()
        expect(status, 1, f"status on -M {machine} ({said})")
        if not re.search(r"use -M virt|does not support|unsupported", said):
            raise Failure(f"-M {machine}: {said!r}")


@test
def overlapping_twins(o: argparse.Namespace) -> None:
    """Two devices cannot be put in one place."""
    with Qemu(o, good(o, ",addr=0x0b000000"), good(o, ",addr=0x0b010000,spi=200")) as q:
        status, said = q.finish()
    expect(status, 1, f"status ({said})")
    if "overlaps twin0.1" not in said:
        raise Failure(said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--qemu", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--preload")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    chosen = [t for t in TESTS if not options.names or t.__name__ in options.names]
    failed = 0
    print(f"TAP version 13\n1..{len(chosen)}")
    for number, function in enumerate(chosen, 1):
        try:
            function(options)
            print(f"ok {number} - shim: {function.__name__}", flush=True)
        except Exception as error:  # a test may fail in any way
            failed += 1
            text = str(error) if isinstance(error, Failure) else traceback.format_exc()
            print(f"not ok {number} - shim: {function.__name__}")
            print("\n".join(f"# {line}" for line in text.splitlines()), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
