#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""All tests of this repository, or some of them.

  check.py [-l] [-j N] [-v] [SUITE[:TEST,TEST...]]...

A SUITE is a name or a pattern (oracle-*); what follows the colon selects in the suites that run
tests/ in a guest. Each check is one line as it ends, with its suite; the last line is

  N passed, N failed, N skipped

An expected failure (xfail: a known fault of the driver under test that was seen as expected) is
counted as passed and listed by its number at the end. The exit status is 0 only if something ran
and nothing failed. -l lists the suites, -v shows what the tests print.
"""

import argparse
import collections
import contextlib
import fnmatch
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
BUILD = TOP / "build"
LOGS = BUILD / "check"
TIMES = LOGS / "times.json"
sys.path.insert(0, str(TOP / "tests/trace"))

CHIPS = ("gbeth", "gen2", "gen3", "gen4", "rzv2m")
PASS, FAIL, SKIP, XFAIL = "ok", "FAIL", "skip", "xfail"


@dataclass
class Result:
    """One check."""

    suite: str
    name: str
    status: str
    why: str = ""
    detail: list = field(default_factory=list)


class Report:
    """Collects results from the suites' threads and prints them as they come."""

    def __init__(self, verbose: bool):
        self.results = []
        self.verbose = verbose
        self._lock = threading.Lock()

    def add(self, result: Result) -> None:
        with self._lock:
            self.results.append(result)
            why = f"  # {result.why}" if result.why else ""
            print(f"{result.status:<5} {result.suite}  {result.name}{why}", flush=True)
            if result.status == FAIL or self.verbose:
                for line in result.detail:
                    print(f"      | {line}", flush=True)

    def say(self, text: str) -> None:
        with self._lock:
            print(f"# {text}", flush=True)


class Children:
    """The processes that were started, so that an interrupt leaves none behind."""

    def __init__(self):
        self._all = set()
        self._lock = threading.Lock()

    def start(self, command: list, **kwargs) -> subprocess.Popen:
        with self._lock:
            child = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL,
                                     **kwargs)
            self._all.add(child)
        return child

    def done(self, child: subprocess.Popen) -> None:
        with self._lock:
            self._all.discard(child)

    def end(self) -> None:
        with self._lock:
            for child in self._all:
                self.kill(child)

    @staticmethod
    def kill(child: subprocess.Popen) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)


CHILDREN = Children()


class Used(threading.local):
    """Seconds of processor time that this thread's suite has used so far: unlike those of the clock, they do not
    depend on what else runs."""

    cpu = 0.0


USED = Used()


def run_lines(command: list, log: Path, limit: float, env: dict | None = None, cwd: Path = TOP,
              take=lambda line: None) -> tuple:
    """Runs @command, gives each line of its output to @take; (status, last lines of stderr).

    Everything goes to @log as well. A None in @env removes the variable. The status is "timeout" after @limit seconds.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    errors = log.with_suffix(".err")
    environment = {k: v for k, v in {**os.environ, **(env or {})}.items() if v is not None}
    with open(errors, "w+", encoding="utf-8", errors="replace") as err, \
            open(log, "w", buffering=1, encoding="utf-8", errors="replace") as out:
        child = CHILDREN.start(command, stdout=subprocess.PIPE, stderr=err, text=True,
                               errors="replace", cwd=cwd, env=environment)
        expired = threading.Event()

        def expire():
            expired.set()
            CHILDREN.kill(child)

        timer = threading.Timer(limit, expire)
        timer.start()
        try:
            for line in child.stdout:
                out.write(line)
                take(line.rstrip("\r\n"))
            _, status, usage = os.wait4(child.pid, 0)
            status = child.returncode = os.waitstatus_to_exitcode(status)
            USED.cpu += usage.ru_utime + usage.ru_stime
        finally:
            timer.cancel()
            CHILDREN.done(child)
        err.seek(0)
        tail = err.read().splitlines()[-25:]
    return ("timeout" if expired.is_set() else status), tail


# Guests

DEBUG_RS = {"DRIVER": "rs", "KERNEL": "debug"}


def vm(run: str, log: Path, limit: float, take=lambda line: None, **options) -> tuple:
    """One boot of the board: RUN=@run with @options of `make vm`."""
    # Nothing of the caller's environment decides what a test does.
    clean = dict.fromkeys(("RUN", "CHIP", "CPUS", "KERNEL", "ICOUNT", "SHIFT", "SEED", "MEM",
                           "PEER", "PORTS", "FILES", "PCAP", "TRACE", "APPEND", "TWIN", "V",
                           "TIMEOUT", "LINK", "NAME"))
    env = clean | {k: str(v) for k, v in options.items() if v is not None} | \
        {"RUN": run, "TIMEOUT": str(int(limit)), "NAME": log.stem}
    return run_lines([sys.executable, str(TOP / "scripts/vm.py")], log, limit + 30, env, take=take)


class Module:
    """Our module for one kernel, built once for all suites that need it; so is that kernel, unless it is Debian's."""

    def __init__(self, flavour: str):
        self.flavour = flavour
        self._lock = threading.Lock()
        self._built = None

    def build(self) -> tuple:
        """(status, what the compilers said)"""
        with self._lock:
            if self._built is None:
                said = []
                log = LOGS / f"module-{self.flavour}.log"
                status, tail = run_lines([str(TOP / "scripts/module.sh"), self.flavour], log, 3600, take=said.append)
                errors = log.with_suffix(".err").read_text(encoding="utf-8", errors="replace").splitlines()
                if not status and self.flavour == "debug":
                    status, tail = run_lines([str(TOP / "scripts/guest.sh"), self.flavour],
                                             LOGS / f"guest-{self.flavour}.log", 900)
                # make says how far it is; what compilers, modpost and kbuild complain about has one of these words.
                bad = [line for line in said + errors if re.search(r"\b(warning|error|WARNING|ERROR)\b", line)]
                self._built = (status, bad or (tail if status else []))
            return self._built


MODULES = {flavour: Module(flavour) for flavour in ("stock", "rt", "debug")}


def module(name: str, report: Report, _selection: list) -> None:
    """The module builds against Debian's kernel, and no tool has anything to say."""
    status, complaints = MODULES["stock"].build()
    report.add(Result(name, "build", FAIL if status else PASS, f"status {status}", complaints))
    report.add(Result(name, "no warnings", FAIL if complaints else PASS, f"{len(complaints)} lines", complaints))


def with_module(suite, flavour: str = "stock"):
    """A suite that needs our module."""
    def run(name: str, report: Report, selection: list) -> None:
        status, complaints = MODULES[flavour].build()
        if status:
            report.add(Result(name, "module", FAIL, "it does not build", complaints))
        else:
            suite(name, report, selection)
    return run


def debug(suite):
    """A suite that needs the debug kernel, and our module in it."""
    return with_module(suite, "debug")


def kunit(name: str, report: Report, _selection: list) -> None:
    """The driver's own tests of what needs no device, which run when the module is loaded."""
    suites, planned, seen, suite = [], 0, 0, None

    def take(line: str) -> None:
        nonlocal planned, seen, suite
        if found := re.match(r"^ *# Subtest: (\S+)", line):
            suite = found[1]
            suites.append(suite)
        elif found := re.match(r"^ +1\.\.(\d+)", line):
            planned += int(found[1])
        elif found := re.match(r"^ +(not )?ok \d+ (\S+)(?: # SKIP ?(.*))?$", line):
            seen += 1
            status = FAIL if found[1] else SKIP if found[3] is not None else PASS
            report.add(Result(name, f"{suite}.{found[2]}", status, found[3] or "", detail if found[1] else []))
            detail.clear()
        else:
            detail.append(line)

    detail = []
    status, tail = vm("cat /sys/kernel/debug/kunit/*/results", LOGS / f"{name}.log", 900, take, CHIP="gbeth",
                      DRIVER="rs", KERNEL="debug", ICOUNT=1, LINK="down", APPEND="kunit.enable=1 kunit.autorun=1")
    if status or not seen or seen != planned:
        report.add(Result(name, "guest", FAIL, f"status {status}, {seen} of {planned} cases", tail))
    # None is forgotten: each file with tests is a suite.
    wanted = set()
    for source in (*TOP.glob("*.rs"), *(TOP / d / f for d in ("ravb", "net", "inject", "wait") for f in
                                        os.listdir(TOP / d) if f.endswith(".rs"))):
        wanted |= set(re.findall(r"kunit_tests\((\w+)\)", source.read_text(encoding="utf-8")))
    lacking = wanted - set(suites)
    report.add(Result(name, "every suite ran", FAIL if lacking else PASS, f"{len(suites)} suites, {seen} cases",
                      sorted(lacking)))


def ordering(name: str, report: Report, selection: list) -> None:
    """Descriptors are published in the right order in the code that was emitted."""
    tap("scripts/ordering.py", str(BUILD / "module-stock/ravb_rs.o"))(name, report, selection)
    # That the prefetches seen there are those that can be left out.
    status, tail = run_lines(["scripts/module.sh"], LOGS / f"{name}-module.log", 600, {"RX_PREFETCH": "off"})
    if status:
        report.add(Result(name, "module without prefetches", FAIL, "it does not build", tail))
        return
    without = str(BUILD / "module-stock-prefetch-off/ravb_rs.o")
    tap("scripts/ordering.py", "--no-prefetch", without)(name, report, selection)


class Ktap:
    """Reads what tests/run.py prints, and reports each case."""

    CASE = re.compile(r"^    (not )?ok \d+ (\S+)(?: # (SKIP|XFAIL) ?(.*))?$")
    FILE = re.compile(r"^(not )?ok \d+ (\S+)(?: # (.*))?$")
    PLAN = re.compile(r"^    1\.\.(\d+)(?: # SKIP (.*))?$")

    def __init__(self, suite: str, report: Report):
        self.suite = suite
        self.report = report
        self.detail = []
        self.files = 0
        self.planned_files = 0
        self.planned = self.seen = self.failed = 0
        self.times = {}
        self.refused = ""       # what the runner says to a selection that makes no sense
        self.begin = time.monotonic()

    def take(self, line: str) -> None:
        if found := self.CASE.match(line):
            bad, name, how, why = found.groups()
            status = FAIL if bad else {"SKIP": SKIP, "XFAIL": XFAIL}.get(how, PASS)
            self.seen += 1
            self.failed += status == FAIL
            self.report.add(Result(self.suite, name, status, why or "", self.detail))
            self.detail = []
        elif found := self.PLAN.match(line):
            self.planned, self.seen, self.failed = int(found[1]), 0, 0
            if found[2]:
                self.report.add(Result(self.suite, "library", FAIL, found[2]))
                self.failed = 1
        elif found := re.match(r"^1\.\.(\d+)$", line):
            self.planned_files = int(found[1])
        elif found := self.FILE.match(line):
            bad, name, why = found.groups()
            self.files += 1
            if self.seen != self.planned:
                self._broken(name, f"{self.seen} of {self.planned} cases ended; {why or ''}")
            elif bad and not self.failed:
                self._broken(name, why or "failed outside its cases")
            self.planned = self.seen = self.failed = 0
            self.detail = []
        elif found := re.match(r"^# duration: (\S+) ([\d.]+) s", line):
            now = time.monotonic()
            self.times[found[1]] = (now - self.begin, float(found[2]))
            self.begin = now
        elif line.startswith("    "):
            self.detail.append(line[4:].removeprefix("# "))
        elif line.startswith("run.py: error: "):
            self.refused = line

    def _broken(self, name: str, why: str) -> None:
        self.report.add(Result(self.suite, name, FAIL, why, self.detail[-40:]))

    def end(self, status, tail: list) -> None:
        """The guest has ended."""
        if self.refused:
            self.report.add(Result(self.suite, "selection", FAIL, self.refused))
        elif self.files < self.planned_files or not self.planned_files:
            self.report.add(Result(
                self.suite, "guest", FAIL, f"ended early (status {status}): "
                f"{self.files} of {self.planned_files} test files done", self.detail[-40:] + tail))
        elif status not in (0, 1):
            self.report.add(Result(self.suite, "guest", FAIL, f"status {status}", tail))
        elif status == 1 and not any(r.status == FAIL and r.suite == self.suite
                                     for r in self.report.results):
            # All cases passed, but something the runner watches for did happen.
            self.report.add(Result(self.suite, "guest", FAIL, "; ".join(tail[-1:]) or "status 1",
                                   tail))
        if self.times:
            slow = sorted(self.times.items(), key=lambda kv: -kv[1][0])
            self.report.say(f"{self.suite}: seconds (the guest's own), slowest first: " +
                            ", ".join(f"{n} {t:.1f} ({own:.1f})" for n, (t, own) in slow))


# Suites: functions of (name, report, selection).

def oracle(chip: str, **options):
    """tests/ in a guest."""
    def suite(name: str, report: Report, selection: list) -> None:
        tests = selection or options.get("tests", [])
        ktap = Ktap(name, report)
        settings = {"ICOUNT": 1, "PEER": "port", "MEM": "1G", **options.get("vm", {})}
        run = " ".join([f"python3 tests/run.py -T {options.get('each', 300)}", *tests])
        status, tail = vm(run, LOGS / f"{name}.log", options.get("limit", 1800), ktap.take, CHIP=chip, FILES="tests",
                          **settings)
        ktap.end(status, tail)
    return suite


def failures(chip: str):
    """Each allocation and mapping fails once; the table of places, and of what became of the calls, goes to a file."""
    run = oracle(chip, tests=("failures",), vm=DEBUG_RS, limit=3600, each=3000)

    def suite(name: str, report: Report, selection: list) -> None:
        run(name, report, selection)
        log = LOGS / f"{name}.log"
        table = re.findall(r"^    # (.+: (?:[\w ]+ x\d+, )*[\w ]+ x\d+: .+|.+: \d+ failures at \d+ places)$",
                           log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
        log.with_suffix(".txt").write_text("\n".join([*table, ""]), encoding="utf-8")
        report.say(f"{name}: each place is in {log.relative_to(TOP).with_suffix('.txt')}")
    return suite


def fatal(chip: str, fault: str, test: str, death: str):
    """A case in which the C driver's known fault kills the kernel: just that has to happen."""
    def suite(name: str, report: Report, _selection: list) -> None:
        kernel = BUILD / "vm" / f"{name}.log"
        kernel.unlink(missing_ok=True)
        seen = []
        status, tail = vm(f"RAVB_FATAL={fault} python3 tests/run.py {test}", LOGS / f"{name}.log",
                          300, seen.append, CHIP=chip, FILES="tests", ICOUNT=1, PEER="port")
        dead = kernel.exists() and re.search(
            death, kernel.read_text(encoding="utf-8", errors="replace"), re.DOTALL)
        if dead:
            report.add(Result(name, test, XFAIL, f"{fault}: {_what_of(fault)}"))
        elif status == 0:
            # Memory that was freed and not reused yet hurts nobody.
            report.add(Result(name, test, SKIP, f"{fault} did not show: the case passed"))
        else:
            report.add(Result(name, test, FAIL, f"{fault}: another end: {status}", seen[-20:] + tail))
    return suite


def _what_of(fault: str) -> str:
    """The fault in words, from the tests' table (which imports the kernel's library: not here)."""
    table = (TOP / "tests/lib/py/faults.py").read_text(encoding="utf-8")
    entry = re.search(rf'"{re.escape(fault)}": Fault\([^"]*((?:"[^"]*"\s*)+)\)', table)
    return " ".join("".join(re.findall(r'"([^"]*)"', entry[1])).split()) if entry else ""


def trace(chip: str):
    """Register accesses of probe, open and close against tests/trace/sequences.py."""
    def suite(name: str, report: Report, _selection: list) -> None:
        import compare
        import sequences
        path = LOGS / f"{name}.trace"
        path.unlink(missing_ok=True)
        board = {}

        def take(line: str) -> None:
            key, _, value = line.partition("=")
            board[key] = value

        status, tail = vm("tests/trace/drive.sh", LOGS / f"{name}.log", 120, take, CHIP=chip,
                          FILES="tests", ICOUNT=1, PEER="model", TRACE=path)
        if status or "done" not in board:
            report.add(Result(name, "guest", FAIL, f"status {status}", tail))
            return
        delays = 0
        if chip in sequences.DELAY_CHIPS:
            explicit = "rx" in board or "tx" in board
            mode = board["phy_mode"]
            if int(board.get("rx", "0")) or (not explicit and mode in ("rgmii-id", "rgmii-rxid")):
                delays |= sequences.RDM
            if int(board.get("tx", "0")) or (not explicit and mode in ("rgmii-id", "rgmii-txid")):
                delays |= sequences.TDM
        given = sequences.Board(board["mac"], 10 ** 9 * 2 ** 20 // int(board.get("rate", "1")),
                                delays, board["no_ether_link"] == "1")
        with open(path, encoding="utf-8") as lines:
            seen = compare.read_trace(lines)
        between = sequences.interludes(chip)
        for phase, accesses, steps in (
                ("probe", _until_open(seen[""]), sequences.probe(chip, given)),
                ("open", seen.get("open", []),
                 sequences.open_(chip, given) + sequences.link_up(chip, given)),
                ("close", seen.get("close", []), sequences.close(chip, given))):
            difference = compare.compare(accesses, steps, between)
            count = f"{len(accesses)} accesses, {len(steps)} steps"
            if difference:
                report.add(Result(name, phase, FAIL, count, difference.splitlines()))
            else:
                report.add(Result(name, phase, PASS, count))
    return suite


def against(chip: str):
    """Register accesses of open and close by our driver against the C driver's: tests/trace/differences.py."""
    def suite(name: str, report: Report, _selection: list) -> None:
        import compare
        import differences
        seen = {}
        for driver in ("c", "rs"):
            path = LOGS / f"{name}-{driver}.trace"
            path.unlink(missing_ok=True)
            said = []
            status, tail = vm("tests/trace/drive.sh", LOGS / f"{name}-{driver}.log", 300, said.append, CHIP=chip,
                              DRIVER=driver, FILES="tests", ICOUNT=1, PEER="model", TRACE=path)
            if status or "done=1" not in said:
                report.add(Result(name, f"guest {driver}", FAIL, f"status {status}", tail))
                return
            with open(path, encoding="utf-8") as lines:
                seen[driver] = compare.read_trace(lines)
        for phase in ("open", "close"):
            known, unknown = differences.differences(phase, seen["c"].get(phase, []), seen["rs"].get(phase, []), chip)
            count = f"{len(known)} differences for a reason, {len(unknown)} without"
            report.add(Result(name, phase, FAIL if unknown or not seen["rs"].get(phase) else PASS, count,
                              unknown or known))
    return suite


# What the device tree of a chip can lack, or have wrong, and what the driver says to it. The gPTP clock is the only one
# on gen3 and one of its own on rzv2m.
PROBE_ERRORS = (
    ("gen3", "dt_omit=resets", "no reset line"),
    ("gen3", "dt_omit=clocks", "no clock"),
    ("gen3", "dt_omit=interrupts", "no interrupt ch22"),
    ("gbeth", "dt_omit=interrupts", "no interrupt mux"),
    ("gen3", "dt_omit=phy-mode", "invalid or missing phy-mode"),
    ("gen3", "clock_hz=1000000", "the gPTP clock has 1000000 Hz: out of range"),
    ("rzv2m", "clock_hz=0", "the gPTP clock has 0 Hz: out of range"),
)


def probe_errors(name: str, report: Report, _selection: list) -> None:
    """A probe that fails says why and leaves nothing behind, so that the module can be unloaded."""
    run = "\n".join(("set -e", "modprobe mdio-bitbang", "insmod ravb-rs.ko", "dmesg | grep 'ravb_rs.*error'",
                     "[[ -z $(grep ravb /proc/interrupts) ]]", "rmmod ravb_rs"))
    for chip, fault, words in PROBE_ERRORS:
        said = []
        status, tail = vm(run, LOGS / f"{name}-{chip}-{fault.partition('=')[2]}.log", 300, said.append, CHIP=chip,
                          DRIVER="none", FILES="build/module-stock/ravb-rs.ko", ICOUNT=1, PEER="model", TWIN=fault)
        told = any(words in line for line in said)
        report.add(Result(name, f"{chip} {fault}", PASS if told and status == 0 else FAIL,
                          f"status {status}, {'says' if told else 'does not say'}: {words}", said + tail))


def _until_open(accesses: list) -> list:
    """Of what came before the first mark: the probe, which ends in the second reset mode.

    The guest may have brought the port up and down since.
    """
    resets = [n for n, a in enumerate(accesses)
              if a.kind == "W" and a.reg == "CCC" and a.value & 3 == 0]
    if not resets:
        return accesses
    end = resets[0] + 1
    while end < len(accesses) and accesses[end].reg == "CSR":
        end += 1
    return accesses[:end]


# Tests whose runs together use every register that a driver uses.
COVERING = ("link.reported", "link.unplug_replug", "csum.sent.*", "csum.toggled_while_down", "stats",
            "promisc", "rings.overrun", "jumbo.datagrams.*", "timestamping", "phc", "errors",
            "ping.small.*")


def coverage(chip: str):
    """Every register that drivers use was used in a run of the tests."""
    def suite(name: str, report: Report, _selection: list) -> None:
        import coverage as wanted
        path = LOGS / f"{name}.trace"
        path.unlink(missing_ok=True)
        status, tail = vm(" ".join(["python3 tests/run.py", *COVERING]), LOGS / f"{name}.log", 600,
                          CHIP=chip, FILES="tests", ICOUNT=1, PEER="port", TRACE=path)
        if not path.exists():
            report.add(Result(name, "guest", FAIL, f"no trace; status {status}", tail))
            return
        with open(path, encoding="utf-8") as lines:
            found = wanted.used(lines)
        path.unlink()
        listing = [f"{reg:<7} {n[0]:8} reads {n[1]:8} writes"
                   for reg, n in sorted(found.items()) if "+" not in reg]
        (LOGS / f"{name}.list").write_text("\n".join(listing) + "\n", encoding="utf-8")
        lacking = wanted.missing(chip, found)
        count = sum(len(kinds) for _, kinds, chips in wanted.REGISTERS if chip in chips)
        why = (f"{count - len(lacking)} of {count} register uses seen, {len(listing)} registers; "
               f"list in {(LOGS / name).relative_to(TOP)}.list")
        report.add(Result(name, "registers", FAIL if lacking else PASS, why,
                          [f"never seen: {', '.join(lacking)}", *listing]))
    return suite


DETERMINISM = """
set -e
ping -c 20 -i 0.01 -s 1400 $REMOTE_V4
ping -6 -c 5 -i 0.01 $REMOTE_V6
twinctl flood payload=1472 rate=line for=20ms
twinctl flood size=64 count=3000
ip link set dev $NETIF down
ip link set dev $NETIF up
until [[ $(cat /sys/class/net/$NETIF/carrier) == 1 ]]; do sleep 0.01; done
ping -c 3 -i 0.01 $REMOTE_V4
twinctl now
cat /proc/uptime /proc/interrupts /proc/net/snmp
ip -s -s link show dev $NETIF
dmesg | md5sum
"""


def determinism(name: str, report: Report, _selection: list) -> None:
    """The same run twice: the same output and the same wire, byte for byte. Another seed: not."""
    seen = []
    for n, seed in enumerate((1, 1, 2)):
        stem = f"{name}-{n}"
        pcap = LOGS / f"{stem}.pcap"
        pcap.unlink(missing_ok=True)
        status, tail = vm(DETERMINISM, LOGS / f"{stem}.log", 180, CHIP="gbeth", ICOUNT=1,
                          PEER="model", PCAP=pcap, SEED=seed)
        if status or not pcap.exists():
            report.add(Result(name, f"run {n + 1}", FAIL, f"status {status}", tail))
            return
        seen.append(((LOGS / f"{stem}.log").read_bytes(), pcap.read_bytes()))
    for what, i in (("output", 0), ("pcap", 1)):
        same = seen[0][i] == seen[1][i]
        size = f"{len(seen[0][i])} and {len(seen[1][i])} bytes"
        report.add(Result(name, f"same {what}", PASS if same else FAIL, size))
    differs = seen[0][1] != seen[2][1]
    report.add(Result(name, "other seed, other pcap", PASS if differs else FAIL,
                      "what is compared does depend on the run"))


def flood(run: str, files: tuple, needed: set, judge, limit: float = 600, **options):
    """A UDP flood on one CPU with several policies (scripts/bench/): @judge says which checks their rates pass."""
    def suite(name: str, report: Report, _selection: list) -> None:
        said = []
        status, tail = vm(run, LOGS / f"{name}.log", limit, said.append, CHIP="gbeth", ICOUNT=1, PEER="model",
                          FILES=" ".join(f"scripts/bench/{f}.py" for f in files), **options)
        rates = {s["policy"]: s["mbit"] for s in map(json.loads, said)} if not status else {}
        if needed - rates.keys():
            report.add(Result(name, "guest", FAIL, f"status {status}", tail))
            return
        figures = ", ".join(f"{policy} {rate:.1f}" for policy, rate in rates.items()) + " Mbit/s"
        for what, good in judge(rates).items():
            report.add(Result(name, what, PASS if good else FAIL, figures))
    return suite


def livelock(driver: str):
    """What coalescing and threaded NAPI are for: off against on (bench.py CASE=livelock)."""
    return flood("BENCH_REPEAT=1 python3 /root/livelock.py", ("livelock", "quiet"), {"off", "both"},
                 lambda rates: {"livelock with all off": rates["off"] < 50,
                                "line rate by default": rates["both"] > 900,
                                "100 times as much": rates["both"] >= 100 * rates["off"]}, DRIVER=driver)


def paced(kernel: str):
    """What rx-usecs alone does, also where the core's coalescing is off by default."""
    return flood("BENCH_POLICIES='off rx150' BENCH_LOADS=udp_rx python3 /root/coalesce.py rs 2 0 0",
                 ("coalesce", "quiet", "pmu"), {"off", "rx150"},
                 lambda rates: {"livelock with all off": rates["off"] < 50,
                                "cured by rx-usecs alone": rates["rx150"] > 200},
                 limit=900, DRIVER="rs", KERNEL=kernel)


def unittests(*arguments: str, cwd: str = ".", before: tuple = ()):
    """A run of Python's unittest; @before is a command that makes what it needs."""
    def suite(name: str, report: Report, _selection: list) -> None:
        log = LOGS / f"{name}.log"
        if before:
            status, tail = run_lines(list(before), log, 300, cwd=TOP)
            if status:
                report.add(Result(name, " ".join(before), FAIL, f"status {status}", tail))
                return
        status, tail = run_lines([sys.executable, "-B", *arguments, "-v"], log, 300, cwd=TOP / cwd)
        ran = bad = 0
        # "test_x (where)", perhaps its description on a line of its own, "... ok"
        text = log.with_suffix(".err").read_text(encoding="utf-8", errors="replace")
        for found in re.finditer(r"^(test\w*) \([^)]*\)[^\n]*?(?:\n[^\n]*?)?"
                                 r" \.\.\. (ok|FAIL|ERROR|skipped)(?: '([^\n]*)')?$", text, re.MULTILINE):
            ran += 1
            kind = {"ok": PASS, "skipped": SKIP}.get(found[2], FAIL)
            bad += kind == FAIL
            report.add(Result(name, found[1], kind, found[3] or "", tail if kind == FAIL else []))
        if not ran or (status and not bad):
            report.add(Result(name, arguments[0], FAIL, f"status {status}, {ran} tests", tail))
    return suite


def tap(*command: str, limit: float = 600):
    """A command that writes plain TAP."""
    def suite(name: str, report: Report, _selection: list) -> None:
        seen, planned, detail = [], [0], {}

        def take(line: str) -> None:
            if found := re.match(r"^(not )?ok \d+ (?:- )?(.*?)(?: # SKIP ?(.*))?$", line):
                seen.append([found[2], FAIL if found[1] else SKIP if found[3] is not None else PASS,
                             found[3] or ""])
            elif found := re.match(r"^1\.\.(\d+)", line):
                planned[0] = int(found[1])
            elif line.startswith("#") and seen:
                detail.setdefault(len(seen) - 1, []).append(line[1:].strip())

        status, tail = run_lines(list(command), LOGS / f"{name}.log", limit, take=take)
        for n, (test, kind, why) in enumerate(seen):
            report.add(Result(name, test, kind, why, detail.get(n, [])))
        if len(seen) != planned[0] or not seen or (status and not any(k == FAIL
                                                                      for _, k, _ in seen)):
            report.add(Result(name, command[0], FAIL, f"status {status}, {len(seen)} of "
                              f"{planned[0]} tests", tail))
    return suite


def kselftest(chip: str, tests=()):
    """The kernel tree's own tests on both drivers, and what ours makes of them beside the C driver."""
    def suite(name: str, report: Report, selection: list) -> None:
        import kselftest as tree
        said = []
        status, tail = run_lines([str(TOP / "scripts/kselftest.sh"), "--print"], LOGS / f"{name}-build.log", 1800,
                                 take=said.append)
        if status:
            report.add(Result(name, "build", FAIL, f"status {status}", tail))
            return
        wanted = tree.select(selection or tests)
        if not wanted:
            report.add(Result(name, "selection", FAIL, f"no such tests: {' '.join(selection)}"))
            return
        runs = tree.run(chip, wanted, vm, f"{said[-1]} scripts/kselftest-guest", LOGS, name)
        kinds = {tree.PASS: PASS, tree.FAIL: FAIL, tree.SKIP: SKIP, tree.XFAIL: XFAIL}
        for case, (status, why, detail) in tree.judge_all(chip, wanted, runs).items():
            report.add(Result(name, case, kinds[status], why, detail))
        text = tree.table(chip, runs)
        (LOGS / f"{name}.txt").write_text(text, encoding="utf-8")
        report.say(f"{name}: the table is in {(LOGS / name).relative_to(TOP)}.txt")
    return suite


FUZZ_RUNS, FUZZ_STEPS = 300, 2000


def fuzz(name: str, report: Report, _selection: list) -> None:
    """Random guests against the model, from fixed seeds, so that a failure repeats."""
    said = []
    status, tail = run_lines(["cargo", "run", "--release", "--bin", "fuzz", "--", "1",
                              str(FUZZ_RUNS), str(FUZZ_STEPS)], LOGS / f"{name}.log", 900,
                             {"CARGO_TARGET_DIR": str(BUILD / "twin"),
                              "CARGO_TERM_COLOR": "never"}, TOP / "twin", said.append)
    ok = status == 0 and bool(said)
    report.add(Result(name, f"seeds 1 to {FUZZ_RUNS}", PASS if ok else FAIL,
                      said[-1] if ok else f"status {status}", tail))


def rustc_test(source: str):
    """The tests in a file of the driver that needs nothing of the kernel, on this machine."""
    def suite(name: str, report: Report, _selection: list) -> None:
        program = LOGS / f"{name}-tests"
        status, tail = run_lines(["rustc", "--edition", "2021", "--test", "-o", str(program), source],
                                 LOGS / f"{name}.log", 300)
        seen = []

        def take(line: str) -> None:
            if found := re.match(r"^test (\S+) \.\.\. (ok|FAILED)$", line):
                seen.append(found)

        if not status:
            status, tail = run_lines([str(program)], LOGS / f"{name}.log", 300, take=take)
        for found in seen:
            report.add(Result(name, found[1], PASS if found[2] == "ok" else FAIL, "", tail))
        if not seen or (status and not any(found[2] == "FAILED" for found in seen)):
            report.add(Result(name, source, FAIL, f"status {status}, {len(seen)} tests", tail))
    return suite


def cargo(*arguments: str, limit: float = 900):
    """cargo test in the model's crate."""
    def suite(name: str, report: Report, selection: list) -> None:
        seen = []
        blocks = collections.defaultdict(list)
        block = None

        def take(line: str) -> None:
            nonlocal block
            if found := re.match(r"^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(.*)$",
                                 line):
                seen.append((found[1], found[2], found[3].strip(", ")))
            elif found := re.match(r"^---- (\S+) stdout ----$", line):
                block = found[1]
            elif line.startswith(("failures:", "test result:")):
                block = None
            elif block:
                blocks[block].append(line)

        command = ["cargo", "test", "--offline", "--no-fail-fast", *arguments]
        # With a network and no copy of the crates yet, cargo fetches them.
        command.remove("--offline")
        status, tail = run_lines([*command, *selection], LOGS / f"{name}.log", limit,
                                 {"CARGO_TARGET_DIR": str(BUILD / "twin"),
                                  "CARGO_TERM_COLOR": "never"},
                                 TOP / "twin", take)
        kinds = {"ok": PASS, "FAILED": FAIL, "ignored": SKIP}
        for test, how, why in seen:
            report.add(Result(name, test, kinds[how], why, blocks.get(test, [])))
        if status and not any(how == "FAILED" for _, how, _ in seen):
            report.add(Result(name, "cargo", FAIL, f"status {status}", tail))
        elif not seen:
            report.add(Result(name, "cargo", FAIL, "no test was run", tail))
    return suite


# With the peer on the host, on two CPUs that really run at once, by the wall clock.
ON_HOST = ("probe", "link.reported", "ping.small.*_56", "ping.full_frame.*", "ping.max_mtu.*",
           "ping.fragmented.*", "vlan", "csum.sent.*", "csum.received.*",
           "csum.stream.*", "stats", "promisc", "iperf", "jumbo.from_peer")

# The oracle suite in two boots a chip, so that two guests can share the work evenly: what passes traffic, and what
# disturbs the port.
TRAFFIC = ("probe", "link", "ping", "vlan", "csum", "stats", "promisc", "rings", "iperf", "netpoll")
RECOVERY = ("jumbo", "timestamping", "phc", "testptp", "ptp4l", "errors", "txtimeout", "updown", "suspend", "contract",
            "wol")
# The C driver has no coalescing by ethtool, and has to say so.
C_TRAFFIC = (*TRAFFIC, "coalesce.offered", "coalesce.channels")
RS_TRAFFIC = (*TRAFFIC, "coalesce")
# Timers are the same everywhere: rates are measured with a chip of each kind of masks.
UNTIMED = tuple(f"coalesce.{case}" for case in ("offered", "channels", "accepted.*", "per_queue", "kept", "recovered",
                                                "busy_polling.*"))
RS_TRAFFIC_SHORT = (*TRAFFIC, *UNTIMED)
TOUCHING_DATA = ("probe", "ping", "vlan", "csum", "stats", "rings", "iperf", "jumbo", "errors")
# With our driver, the port also goes to the C driver and back.
RS_RECOVERY = (*RECOVERY, "board")

# On two CPUs, which take turns in virtual time: all that moves data or stops it, on one chip of each kind of
# descriptors. The others differ from those in their interrupt lines, and in who has which.
SMP = (*TOUCHING_DATA, "link", *UNTIMED, "coalesce.toggled", "timestamping", "updown", "txtimeout")
SMP_LINES = ("probe", "ping.small.*_56", "iperf", "timestamping", "errors", "txtimeout")

# On two CPUs that really run at once: what several of them do to one queue at the same time.
RACES = ("probe.driver_bound", "csum.toggled_under_load", "rings.under_traffic", "iperf", "coalesce.toggled",
         "xdp.hammered", "errors", "txtimeout.freed_during_recovery", "txtimeout.down_while_stuck",
         "updown.down_up_at_once", "updown.unbind_bind_down", "updown.threads_while_down")

# On the debug kernel, which takes several times as long.
DEBUG = (*TRAFFIC, "xdp", "treepool", "unload")

# What tells most there in a few minutes: each way of a packet, each way of memory, and what is left of all that.
DEBUG_SHORT = ("ping.small.*_56", "csum.stream.rx_on_tx_on", "rings.resize.65_65", "xdp.sent.tx", "xdp.meta",
               "xdp.no_memory.*", "failures.open_port", "unload")

# Of the kernel tree's own tests, those that say much for a minute of a processor, both drivers' guests included.
KSELFTEST_SHORT = {"gbeth": ("queues", "napi_id", "csum", "ring_reconfig"),
                   "gen3": ("queues", "napi_id", "csum", "ring_reconfig", "nic_timestamp")}

# The CPU port of a switch, which only our second driver knows.
INJECT = ("inject", "ping", "iperf")

SUITES = {
    "twin": cargo(),
    "fuzz": fuzz,
    "shim": tap("scripts/qemu.sh", "--test"),
    # Debian's QEMU with the shim preloaded is what is used; this is the way out where it fails.
    "shim-in-tree": tap("scripts/qemu.sh", "--in-tree", "--test", limit=3600),
    "runner": unittests("-m", "unittest", "ravbvm.tests", cwd="scripts"),
    "guest-tools": unittests("twin/twinctl/test_tools.py", "build/twinctl/native",
                             before=("make", "-s", "-C", "twin/twinctl", "OUT=../../build/twinctl",
                                     "check")),
    "fatal-resize": fatal("gbeth", "B9r", "rings.under_traffic", r"ravb_(?:rx|poll|start_xmit|tx_free)"),
    "fatal-threads": fatal("gbeth", "T6", "updown.threads_while_down", "napi_set_threaded"),
    "fatal-descriptors": fatal("gbeth", "T8", "errors.senseless.first_without_header", r"eth_type_trans"),
    **{f"fatal-{c}": fatal(c, "B9", "txtimeout.freed_during_recovery",
                           # Whoever uses the freed rings first dies, or what has their memory by then.
                           r"transmit timed out.*(?:Unable to handle|kernel BUG|BUG:|WARNING:|Internal error)")
       for c in CHIPS},
    "lint": tap("scripts/lint.py", limit=1800),
    "trace-selftest": unittests("tests/trace/selftest.py"),
    "determinism": determinism,
    **{f"coverage-{c}": coverage(c) for c in CHIPS},
    "livelock-c": livelock("c"),
    "livelock-rs": with_module(livelock("rs")),
    "rs-paced": with_module(paced("stock")),
    "rs-paced-rt": with_module(paced("rt"), "rt"),
    **{f"host-{c}": oracle(c, tests=ON_HOST, vm={"ICOUNT": None, "PEER": "host", "CPUS": 2})
       for c in ("gbeth", "gen3")},
    **{f"trace-{c}": trace(c) for c in CHIPS},
    **{f"rs-trace-{c}": with_module(against(c)) for c in CHIPS},
    "rs-probe-errors": with_module(probe_errors),
    **{f"oracle-{c}": oracle(c, tests=C_TRAFFIC) for c in CHIPS},
    **{f"recovery-{c}": oracle(c, tests=RECOVERY) for c in CHIPS},
    "soak-gbeth": oracle("gbeth", tests=("soak",)),
    "module": module,
    "ordering": with_module(ordering),
    **{f"rs-oracle-{c}": with_module(oracle(c, tests=tests, vm={"DRIVER": "rs"}))
       for tests, chips in ((RS_TRAFFIC, ("gbeth", "gen3")), (RS_TRAFFIC_SHORT, ("gen2", "gen4", "rzv2m")))
       for c in chips},
    **{f"rs-recovery-{c}": with_module(oracle(c, tests=RS_RECOVERY, vm={"DRIVER": "rs"})) for c in CHIPS},
    "rs-soak-gbeth": with_module(oracle("gbeth", tests=("soak",), vm={"DRIVER": "rs"})),
    # Where caches have to be looked after, once.
    **{f"rs-xdp-{c}": with_module(oracle(c, tests=("xdp", "xdptools"), vm={"DRIVER": "rs", "TWIN": twin}))
       for c, twin in (("gbeth", "noncoherent=1"), ("gen3", ""))},
    # Each packet through the bounce buffers of a machine whose devices do not reach all memory.
    "rs-swiotlb-gbeth": with_module(oracle("gbeth", tests=TOUCHING_DATA,
                                           vm={"DRIVER": "rs", "APPEND": "swiotlb=65536,force"})),
    **{f"rs-smp-{c}": with_module(oracle(c, tests=tests, vm={"DRIVER": "rs", "CPUS": 2}))
       for tests, chips in ((SMP, ("gbeth", "gen3")), (SMP_LINES, ("gen2", "gen4", "rzv2m"))) for c in chips},
    **{f"rs-races-{c}": with_module(oracle(c, tests=RACES, vm={"DRIVER": "rs", "ICOUNT": None, "CPUS": 2}))
       for c in ("gbeth", "gen3")},
    "rs-inject": with_module(oracle("inject", tests=INJECT, vm={"DRIVER": "rs"})),
    **{f"kselftest-{c}": with_module(kselftest(c)) for c in CHIPS},
    **{f"kselftest-short-{c}": with_module(kselftest(c, tests)) for c, tests in KSELFTEST_SHORT.items()},
    "wait": rustc_test("wait/bounded.rs"),
    "kunit": debug(kunit),
    # Anything that one of the debug kernel's checkers says makes these fail.
    **{f"debug-{c}": debug(oracle(c, tests=DEBUG, vm=DEBUG_RS, limit=3600, each=1200)) for c in CHIPS},
    **{f"debug-recovery-{c}": debug(oracle(c, tests=(*RS_RECOVERY, "unload"), vm=DEBUG_RS, limit=3600, each=1200))
       for c in CHIPS},
    **{f"debug-short-{c}": debug(oracle(c, tests=DEBUG_SHORT, vm=DEBUG_RS, each=1200)) for c in ("gbeth", "gen3")},
    **{f"failures-{c}": debug(failures(c)) for c in CHIPS},
}

# Not in each run: on the debug kernel the behaviour tests and all failures take a quarter of an hour for each chip
# (`make check TESTS='debug-* failures-*'`), and so do all of the kernel tree's tests (`make kselftest`).
ON_REQUEST = ("debug-", "failures-", "kselftest-")
IN_EACH_RUN = ("debug-short-gbeth", "kselftest-short-")

BY_THE_CLOCK = ("host-", "rs-races-")

# Seconds where no earlier run has left its own: the longest are started first.
# kunit is what has the debug kernel built, which takes long and leaves room for others.
GUESS = {"kunit": 2000, "debug": 290, "twin": 90, "shim-in-tree": 600, "oracle": 300, "recovery": 300, "trace": 10,
         "coverage": 60, "host": 60}


def on_request(name: str) -> bool:
    """Whether a suite has to be named to be run."""
    return name.startswith(ON_REQUEST) and not name.startswith(IN_EACH_RUN)


def select(words: list) -> dict:
    """{suite: tests selected in it}"""
    if not words:
        return {name: [] for name in SUITES if not on_request(name)}
    chosen = {}
    for word in words:
        pattern, _, tests = word.partition(":")
        names = [n for n in SUITES if fnmatch.fnmatchcase(n, pattern)]
        if not names:
            sys.exit(f"check.py: no suite {pattern!r}; there are: {' '.join(SUITES)}")
        for name in names:
            chosen.setdefault(name, []).extend(t for t in tests.split(",") if t)
    return chosen


def known_times() -> dict:
    try:
        return json.loads(TIMES.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def run_suite(name: str, report: Report, selection: list) -> tuple:
    """(seconds, of the processors)"""
    start = time.monotonic()
    USED.cpu = 0.0
    before = len(report.results)
    try:
        SUITES[name](name, report, selection)
        if not any(r.suite == name for r in report.results[before:]):
            report.add(Result(name, name, FAIL, "the suite reported no check"))
    except Exception as e:      # a broken suite is a failure like any other, not the end of all
        import traceback
        report.add(Result(name, name, FAIL, f"{type(e).__name__}: {e}",
                          traceback.format_exc().splitlines()))
    return time.monotonic() - start, USED.cpu


SHOWN_AGAIN = 6     # last lines of what a failed check printed


def summary(report: Report, took: dict, seconds: float) -> int:
    counts = collections.Counter(r.status for r in report.results)
    faults = collections.defaultdict(set)
    for r in report.results:
        if r.status == XFAIL:
            faults[r.why.partition(";")[0]].add(r.suite.rpartition("-")[2])
    print()
    if faults:
        print("Known faults of the driver under test, seen as expected:")
        for why, chips in sorted(faults.items()):
            print(f"  {why} [{' '.join(sorted(chips))}]")
    skips = collections.Counter((r.why, r.suite) for r in report.results if r.status == SKIP)
    if skips:
        print("Skipped:")
        for (why, suite), n in sorted(skips.items()):
            print(f"  {n:3} {suite}: {why or 'no reason given'}")
    failed = [r for r in report.results if r.status == FAIL]
    if failed:
        print("Failed:")
        for r in failed:
            print(f"  {r.suite}  {r.name}  {r.why}")
            # Once more, since whoever reads this may have only the end of the output.
            for line in r.detail[-SHOWN_AGAIN:]:
                print(f"      | {line}")
    print("Seconds (of the processors), slowest first: " + ", ".join(
        f"{n} {t:.0f} ({cpu:.0f})" for n, (t, cpu) in sorted(took.items(), key=lambda kv: -kv[1][0])) +
        f"; {seconds:.0f} ({sum(cpu for _, cpu in took.values()):.0f}) in all")
    passed = counts[PASS] + counts[XFAIL]
    print(f"{passed} passed, {counts[FAIL]} failed, {counts[SKIP]} skipped", flush=True)
    return 1 if counts[FAIL] or not passed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     usage=__doc__.splitlines()[2].strip())
    parser.add_argument("-l", action="store_true", help="list the suites")
    parser.add_argument("-j", type=int, default=min(2, os.cpu_count() or 1), metavar="N",
                        help="suites at a time (default %(default)s)")
    parser.add_argument("-v", action="store_true", help="show what the tests print")
    parser.add_argument("suites", nargs="*", metavar="SUITE[:TEST,...]")
    args = parser.parse_args()
    if args.l:
        for name in SUITES:
            print(f"{name}  (by name only)" if on_request(name) else name)
        return 0
    chosen = select(args.suites)
    report = Report(args.v)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda n, _: (CHILDREN.end(), os._exit(128 + n)))
    times = known_times()
    order = sorted(chosen, key=lambda n: -times.get(n, GUESS.get(n.split("-")[0], 30)))
    LOGS.mkdir(parents=True, exist_ok=True)
    report.say(f"{len(order)} suites, {args.j} at a time, logs in {LOGS.relative_to(TOP)}/")
    start = time.monotonic()
    took = {}
    # What runs by the wall clock comes last, and alone.
    by_the_clock = [n for n in order if n.startswith(BY_THE_CLOCK)]
    for names, jobs in (([n for n in order if n not in by_the_clock], args.j), (by_the_clock, 1)):
        with ThreadPoolExecutor(jobs) as pool:
            running = {pool.submit(run_suite, n, report, chosen[n]): n for n in names}
            for future in as_completed(running):
                took[running[future]] = future.result()
                report.say(f"{running[future]} took %.1f s, %.1f s of the processors" % future.result())
    TIMES.write_text(json.dumps({**times, **{n: round(t, 1) for n, (t, _) in took.items()
                                             if not chosen[n]}}, indent=1), encoding="utf-8")
    return summary(report, took, time.monotonic() - start)


if __name__ == "__main__":
    sys.exit(main())
