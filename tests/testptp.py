#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""The kernel's own tests of a PTP clock: testptp, judged by what it prints, and phc.sh.

They stand in tools/testing/selftests/ptp.
"""

import re
import subprocess

from lib.py import RavbEnv, ksft_disruptive, ksft_eq, ksft_exit, ksft_ge, ksft_in, ksft_lt, \
    ksft_pr, ksft_run, ksft_true, ksft_variants
from lib.py import KSFT_DIR, KsftNamedVariant, KsftSkipEx, cmd, defer, verdict
from lib.py import ptp
from lib.py.ptp import NS

DIRECTORY = KSFT_DIR / "ptp"


def _line(cfg, options: str) -> str:
    """A command line of testptp for the port's clock."""
    cfg.require_stamps()
    if not (DIRECTORY / "testptp").exists():
        raise KsftSkipEx(f"no {DIRECTORY}/testptp: build the kernel's tests of PTP")
    with ptp.open_phc(cfg) as clock:
        return f"{DIRECTORY}/testptp -d /dev/ptp{clock.index} {options}"


def _testptp(cfg, options: str) -> str:
    """What testptp says: a request that fails is a line of its output, not of its status."""
    done = cmd(_line(cfg, options))
    return done.stdout + done.stderr


def _ns(text: str, what: str) -> list:
    """The times in @text that are called @what, in ns."""
    return [int(s) * NS + int(ns) for s, ns in re.findall(rf"{what}:? +(\d+)\.(\d+)", text)]


def capabilities(cfg) -> None:
    """-c: what the clock has."""
    caps = {what: int(n) for n, what in re.findall(r"^\s+(-?\d+) (.*)$", _testptp(cfg, "-c"), re.MULTILINE)}
    ksft_ge(caps["maximum frequency adjustment (ppb)"], 1_000_000)
    ksft_eq(caps["external time stamp channels"], 1)
    ksft_eq(caps["programmable periodic signals"], 1)


def set_and_get(cfg) -> None:
    """-T, -t, -n, -g: set to a time, moved by seconds and by nanoseconds, read."""
    for options, want in (("-T 1000", 1000 * NS), ("-t 100", 1100 * NS), ("-t -1090", 10 * NS),
                          ("-n 500000000", 10 * NS + NS // 2)):
        ksft_in("okay", _testptp(cfg, options), options)
        got, = _ns(_testptp(cfg, "-g"), "clock time")
        # Programs are started meanwhile, also by slow machines.
        ksft_true(want <= got < want + 9 * NS, f"{options}: {got} ns, expected {want} or a little more")


def set_to_system(cfg) -> None:
    """-s, -k: set to the system's time; the offset between the two is what it took."""
    ksft_in("okay", _testptp(cfg, "-s"))
    said = _testptp(cfg, "-k 25")
    offsets = [int(n) for n in re.findall(r"offset is (-?\d+) ns", said)]
    delays = [int(n) for n in re.findall(r"delay  is (-?\d+) ns", said)]
    ksft_eq((len(offsets), len(delays)), (25, 25))
    ksft_pr(f"offset {min(offsets)} to {max(offsets)} ns, a reading takes {min(delays)} ns")
    ksft_true(min(delays) > 0, "time passes")
    ksft_lt(max(offsets) - min(offsets), 2 * max(delays), "the offsets agree")
    ksft_lt(abs(offsets[0]), 10_000_000, "offset after the clock was set")


@ksft_variants([KsftNamedVariant(name, name) for name in ("realtime", "monotonic", "monotonic-raw")])
def extended(cfg, base) -> None:
    """-x -y: each reading lies between two of the system's clock, close to each other."""
    said = _testptp(cfg, f"-x 25 -y {base}")
    name = base.replace("realtime", "real")
    before, phc, after = (_ns(said, what) for what in (f"{name} time before", "phc time", f"{name} time after"))
    verdict(cfg, "XTS", (len(before), len(phc), len(after)), (25, 25, 25), (0, 0, 0), "times")
    spans = [b - a for a, b in zip(before, after, strict=True)]
    ksft_pr(f"a reading takes {min(spans)} to {max(spans)} ns")
    for n in range(24):
        passed = phc[n + 1] - phc[n]
        ksft_true(before[n + 1] - after[n] - 1000 <= passed <= after[n + 1] - before[n] + 1000,
                  f"sample {n}: {passed} ns passed")


def frequency(cfg) -> None:
    """-f: accepted within what -c says, refused beyond."""
    cfg.require_stamps()
    defer(_testptp, cfg, "-f 0")
    for ppb in (1_000_000, -1_000_000, 0):
        ksft_in("frequency adjustment okay", _testptp(cfg, f"-f {ppb}"), f"{ppb} ppb")
    ksft_in("Numerical result out of range", _testptp(cfg, "-f 60000000"), "6 %")


def external(cfg) -> None:
    """-e: an edge at the input is read as an event with the clock's time."""
    twin = cfg.require_twin()
    line = _line(cfg, "-e 1")
    with ptp.open_phc(cfg) as clock:
        clock.set(20 * NS)      # later than 32 bits of nanoseconds can say
        # Given up by itself, if there is no event.
        with subprocess.Popen(["timeout", "20", "stdbuf", "-oL", *line.split()], stdout=subprocess.PIPE,
                              text=True) as proc:
            ksft_in("okay", proc.stdout.readline())
            start = clock.now()
            twin.capture_edge()
            event, = _ns(proc.stdout.readline(), "event index 0 at") or [0]
            end = clock.now()
            ksft_eq(proc.wait(), 0, "status")
    low = range(start & 0xffffffff, (end & 0xffffffff) + 1)
    verdict(cfg, "B19", event, lambda e: start < e < end, lambda e: e in low, f"event between {start} and {end}")


def edges(cfg) -> None:
    """-z: the old request takes any edge, as it must; the strict one none, for the edge cannot be chosen."""
    said = re.findall(r"^(PTP_EXTTS_REQUEST2?) +flags (\w+) : \((-?\d)\)", _testptp(cfg, "-z"), re.MULTILINE)
    flags = ("0x00000001", "0x00000003", "0x00000005", "0x00000007", "0x00000021")
    answers = {"PTP_EXTTS_REQUEST": "0", "PTP_EXTTS_REQUEST2": "-1"}
    ksft_eq(said, [(request, f, status) for request, status in answers.items() for f in flags])


def periodic(cfg) -> None:
    """-p: a periodic output that starts at a second to come, and its end."""
    _testptp(cfg, "-T 100")
    defer(_testptp, cfg, "-p 0")
    said = _testptp(cfg, "-p 10000000")
    verdict(cfg, "B20", "periodic output request okay" in said, True, False, f"start at 102 s: {said.strip()}")


@ksft_disruptive
def phc(cfg) -> None:
    """phc.sh: setting, stepping and slewing, by phc_ctl, over four minutes."""
    if not cfg.virtual_time:
        raise KsftSkipEx("waits for four minutes: by hand, phc.sh /dev/ptpN")
    line = _line(cfg, "").split()
    done = cmd(f"{DIRECTORY}/phc.sh {line[2]}", fail=False, timeout=280)
    results = dict(re.findall(r"^TEST: (\w+) +\[ *(\w+) *\]$", done.stdout, re.MULTILINE))
    ksft_eq(results, {"settime": "OK", "adjtime": "OK", "adjfreq": "OK"}, f"status {done.ret}: {done.stderr}")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([capabilities, set_and_get, set_to_system, extended, frequency, external, edges,
                  periodic, phc], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
