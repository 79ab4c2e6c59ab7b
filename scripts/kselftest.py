# SPDX-License-Identifier: GPL-2.0
"""The kernel tree's own tests (kselftests) against both drivers: what is run, how it is read and judged.

check.py runs this, one guest for each driver, as suites kselftest-CHIP; scripts/kselftest.sh builds the tests, and
scripts/kselftest-guest/run runs them in the guest. What C passes ours has to pass; where C skips or fails, ours passes
or gives one of the reasons that are listed here.
"""

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase as fnmatch
from typing import ClassVar

# Seconds of this machine for one guest, which may be busy with other things. Each test has a limit in the guest's time.
LIMIT = 7200

PASS, FAIL, SKIP, XFAIL, NONE = "pass", "fail", "skip", "xfail", "-"

# Seconds that a test may take in the guest's time, in the order in which they are run: the two long ones last.
TESTS = {
    "drivers/net/stats.py": 300,
    "drivers/net/queues.py": 200,
    "drivers/net/napi_threaded.py": 200,
    "drivers/net/napi_id.py": 200,
    "drivers/net/ping.py": 600,
    "drivers/net/hw/csum.py": 400,
    "drivers/net/hw/irq.py": 200,
    "drivers/net/ring_reconfig.py": 400,
    "drivers/net/xdp.py": 900,
    "drivers/net/hw/nic_timestamp.py": 200,
    "ptp/phc.sh": 400,
    "drivers/net/hw/ethtool_std_stats.sh": 300,
    "drivers/net/hw/ethtool_rmon.sh": 300,
    "drivers/net/so_txtime.py": 600,
    "drivers/net/hw/loopback.sh": 100,
    "net/netdevice.sh": 300,
    "drivers/net/hw/gro_hw.py": 200,
    "drivers/net/hw/xdp_metadata.py": 200,
    "drivers/net/hw/xsk_reconfig.py": 200,
    "drivers/net/hw/pp_alloc_fail.py": 200,
    "drivers/net/hds.py": 200,
    "drivers/net/shaper.py": 200,
    "drivers/net/hw/tso.py": 200,
    "drivers/net/hw/uso.py": 200,
    "drivers/net/hw/ntuple.py": 200,
    "drivers/net/gro.py": 1800,
    "drivers/net/netpoll_basic.py": 300,
}

# Processors, where one is not enough: it sets an affinity that three have.
CPUS = {"drivers/net/hw/irq.py": 3}

# What skips without saying why, and why it does.
UNSAID = {"drivers/net/hw/ethtool_std_stats.sh": "the driver reports no such counter"}

ALL = ("gbeth", "gen2", "gen3", "gen4", "rzv2m")
RCAR = ALL[1:]


@dataclass(frozen=True)
class Known:
    """Why ours does not pass some cases of a test, on some chips. An entry that nothing matches is a failure itself."""

    test: str
    cases: tuple        # names; of what is skipped, families of them (patterns) too
    says: str           # what they say then, as a pattern
    why: str = ""       # if that is not the reason itself
    chips: tuple = ALL

    def fits(self, test: str, chip: str) -> bool:
        return self.test == test and chip in self.chips


MTU = (r"^Error: mtu greater than device maximum\.$",
       "wants an MTU of 9000, the limit of the port is lower; within it: tests/treexdp.py")
CHANNELS = (r"^(netlink error|NlError: Netlink error): Operation not supported$",
            "takes a channel away: the second is the hardware's queue for network control, which time stamps need")
ONE_CHANNEL = (r"^Check failed 1 < 2$", "wants two channels, GbEth has one")
NO_SG = (r"^Could not change any device features$", "needs scatter-gather, which is not offered")
NO_COUNTER = (r"^the driver reports no such counter$",
              "the MAC does not count it, or what it counts is not what the standard means")
NO_OFFLOAD = "the MAC has no such offload"
BOTH = ("ipv4", "ipv6")
THREADED = ("napi_init", "change_num_queues", "enable_dev_threaded_disable_napi_threaded")

# Where ours skips.
SKIPPED = (
    Known("drivers/net/stats.py", ("check_pause",), "^pause not supported by the device",
          "flow control is not offered"),
    Known("drivers/net/stats.py", ("check_fec", "check_fec_hist"), "^FEC not supported by the device",
          "none for copper of these speeds"),
    Known("drivers/net/queues.py", ("addremove_queues",), "^cannot decrement queue: already at 1$", chips=("gbeth",)),
    Known("drivers/net/ping.py", ("test_xdp_offload",), "^device does not support offloaded XDP$"),
    Known("drivers/net/hw/csum.py", tuple(
        f"{ip}_tx_udp_{what}" for ip in BOTH for what in ("csum_offload", "zero_checksum")),
          "^Test requires tx checksum offload on", "EtherAVB computes none", RCAR),
    Known("drivers/net/ring_reconfig.py", ("reconfig_tx_stall",), r"^device does not support 2\+ combined channels$",
          "GbEth has one", ("gbeth",)),
    Known("drivers/net/ring_reconfig.py", ("reconfig_tx_stall",), "^could not build qdisc backlog$",
          "the ring does not stay full; the test expects such devices", RCAR),
    Known("drivers/net/hw/nic_timestamp.py", ("test_hwtstamp_*",), "^timestamping configuration is not",
          "no clock in GbEth", ("gbeth",)),
    Known("ptp/phc.sh", ("*",), "^PTP device not provided", "no clock in GbEth", ("gbeth",)),
    Known("drivers/net/hw/ethtool_std_stats.sh", (
        *(f"eth-ctrl-MACControlFrames{what}" for what in ("Transmitted", "Received")),
        *(f"eth-mac-{what}" for what in (
            "AlignmentErrors", "FramesLostDueToIntMACXmitError", "FramesLostDueToIntMACRcvError", "InRangeLengthErrors",
            "OutOfRangeLengthField", "SingleCollisionFrames", "MultipleCollisionFrames", "FramesWithDeferredXmissions",
            "LateCollisions", "FramesWithExcessiveDeferral", "BroadcastFramesXmittedOK", "OctetsTransmittedOK",
            "BroadcastFramesReceivedOK", "OctetsReceivedOK", "FramesTransmittedOK", "MulticastFramesXmittedOK",
            "FramesReceivedOK", "MulticastFramesReceivedOK"))), *NO_COUNTER),
    Known("drivers/net/hw/ethtool_std_stats.sh", ("tx_pause_frames", "rx_pause_frames"), NO_COUNTER[0],
          "flow control is not offered"),
    Known("drivers/net/hw/ethtool_std_stats.sh", ("eth-mac-CarrierSenseErrors",), *NO_COUNTER, RCAR),
    Known("drivers/net/hw/ethtool_std_stats.sh", ("eth-mac-FramesAbortedDueToXSColls",), *NO_COUNTER,
          ("gen2", "rzv2m")),
    Known("drivers/net/hw/ethtool_rmon.sh", ("all",), "does not support [rt]x histogram counters$", "the MAC has none"),
    Known("drivers/net/hw/loopback.sh", ("all",), "does not support loopback feature$", "the MAC's is not offered"),
    Known("net/netdevice.sh", ("*: set IP address",), "set IP address$", "which the test leaves to others"),
    Known("net/netdevice.sh", ("*: ethtool dump not supported",), "ethtool dump not supported$",
          "no dump of registers"),
    Known("drivers/net/hw/gro_hw.py", ("*",), "^Device does not support rx-gro-hw$", NO_OFFLOAD),
    Known("drivers/net/hw/xdp_metadata.py", ("*",), "^device does not support XDP rx hash metadata$",
          "the MAC has none"),
    Known("drivers/net/hw/xsk_reconfig.py", ("*",), r"^Failed to bind XDP socket in zerocopy\.$",
          "AF_XDP by copying only"),
    Known("drivers/net/hw/pp_alloc_fail.py", ("test_pp_alloc",), "function error injection",
          "Debian's kernel has none: tests/treepool.py, on the debug kernel"),
    Known("drivers/net/hds.py", ("*",), "^(tcp-data-split|hds-thresh|ring-set) not supported by (the )?device$",
          "the MAC does not split headers from data"),
    Known("drivers/net/shaper.py", ("*",),
          r"shapers? not supported by (the )?device|^netdev has \d queues, \d required$", "shaping is not offered"),
    Known("drivers/net/hw/tso.py", ("*",), r"^Device does not support tx-.*-segmentation|LSO", NO_OFFLOAD),
    Known("drivers/net/hw/uso.py", ("*",), "^Device does not support tx-udp-segmentation$", NO_OFFLOAD),
    Known("drivers/net/hw/ntuple.py", ("*",), "^Device does not support ntuple-filters$", "the MAC has no filters"),
    Known("drivers/net/gro.py", ("test.hw_*", "test_gro_capacity.hw_*"), "^Device does not support rx-gro-hw$",
          NO_OFFLOAD),
    Known("drivers/net/gro.py", ("test.lro_*", "test_gro_capacity.lro_*"),
          "^Device does not support large-receive-offload$", NO_OFFLOAD),
    Known("drivers/net/netpoll_basic.py", ("test_netpoll",), "^Failed to configure RX/TX queues: Command failed$",
          f"{CHANNELS[1]}; what it wants to see: tests/netpoll.py", RCAR),
    Known("drivers/net/gro.py", ("test_gro_capacity.sw_isolated",), "^Device does not support ntuple-filters$",
          "the MAC has no filters"),
    Known("drivers/net/gro.py", ("test_gro_capacity.sw_8q",), r"^Need at least 8 queues, max=\d$"),
)

# Where ours fails as the C driver does, and why that is right.
EXPECTED = (
    Known("drivers/net/ping.py", ("test_xdp_generic_mb", "test_xdp_native_mb"), *MTU),
    Known("drivers/net/xdp.py", (
        *(f"test_xdp_native_{what}.{ip}" for ip in BOTH for what in (
            "pass_mb", "drop_mb", "tx_mb", *(f"adjst_{end}_{how}_data" for end in ("tail", "head") for how in
                                             ("grow", "shrnk")))), "test_xdp_native_update_mb_to_sb"), *MTU),
    Known("drivers/net/xdp.py", tuple(
        f"test_xdp_native_qstats.{what}_{ip}" for what in ("pass", "drop", "tx") for ip in BOTH), *CHANNELS, RCAR),
    Known("drivers/net/napi_threaded.py", THREADED, *ONE_CHANNEL, ("gbeth",)),
    Known("drivers/net/napi_threaded.py", THREADED, *CHANNELS, RCAR),
    Known("drivers/net/queues.py", ("addremove_queues",), *CHANNELS, RCAR),
    Known("drivers/net/ring_reconfig.py", ("ringparam",), *CHANNELS, RCAR),
    Known("drivers/net/hw/irq.py", ("check_reconfig_queues",), *CHANNELS, RCAR),
    Known("drivers/net/gro.py", tuple(
        f"test.{mode}_{what}_large_{size}" for mode in ("sw", "hw", "lro")
        for what in ("ipv4", "ipv6", "ipip", "ip6ip6") for size in ("max", "rem")), MTU[0],
          "wants an MTU of 4096, the limit of the port is lower"),
    Known("drivers/net/gro.py", ("test.sw_ipv4_data_lrg_1byte",), r"^Expected \{101 \}, Total 1 packets$",
          "frames of less than 60 bytes are padded, and GRO merges none that are longer than their IP header says"),
    Known("drivers/net/gro.py", ("test_gro_capacity.sw_1q",), *CHANNELS, RCAR),
    Known("net/netdevice.sh", tuple(f"eth0: Turned on feature: {what}" for what in (
        "scatter-gather", "tcp-segmentation-offload", "generic-segmentation-offload")), *NO_SG),
    Known("net/netdevice.sh", ("eth0: Turned on feature: tx-checksumming",), NO_SG[0], "EtherAVB computes none", RCAR),
    Known("net/netdevice.sh", ("eth0: Cannot set MAC address",), "^RTNETLINK answers: Device or resource busy$",
          "the address of a port that is up is not changed"),
)


@dataclass
class Case:
    """One line of a test's output that says how something went."""

    name: str
    status: str
    why: str = ""
    detail: list = field(default_factory=list)


@dataclass
class Run:
    """One test on one driver."""

    test: str
    cases: dict = field(default_factory=dict)
    status: str = ""        # of the process, or why there is none
    after: str = ""         # "ok", or what is wrong with the port after it
    seconds: float = 0      # in the guest's time
    busy: float = 0         # of them, with its processors at work
    planned: int = 0
    detail: list = field(default_factory=list)


class Reader:
    """Reads what scripts/kselftest-guest/run prints."""

    TAP = re.compile(r"^(not )?ok \d+ (\S+)(?:\s*# *(SKIP|XFAIL)\b[ :]*(.*))?\s*$", re.IGNORECASE)
    # The shell tests' own ways to say it.
    TEST = re.compile(r"^TEST: (.*?)\s+\[ *(OK|FAIL|SKIP|XFAIL) *\]\s*$")
    WORD = re.compile(r"^(PASS|FAIL|SKIP|XFAIL): (.*)$")
    KINDS: ClassVar = {"OK": PASS, "PASS": PASS, "FAIL": FAIL, "SKIP": SKIP, "XFAIL": XFAIL}

    def __init__(self):
        self.runs = {}
        self._run = None
        self._nothing = False       # the test has planned for no case

    def take(self, line: str) -> None:
        if found := re.match(r"^# selftests: (\S+)$", line):
            self._run = self.runs.setdefault(found[1], Run(found[1]))
        elif self._run is None:
            return
        elif found := re.match(r"^# status: \S+ (.*) (\d+) ms, (\d+) busy$", line):
            self._run.status = found[1]
            self._run.seconds, self._run.busy = (int(n) / 1000 for n in found.groups()[1:])
            self._end()
        elif found := re.match(r"^# after: \S+ (.*)$", line):
            self._run.after = found[1]
            self._run = None
        elif found := re.match(r"^1\.\.(\d+)(?: *# *SKIP *(.*))?", line):
            self._run.planned = int(found[1])
            if found[2] is not None:
                self._add("all", SKIP, found[2])
            elif not self._run.planned:
                self._nothing = True
        elif found := self.TAP.match(line):
            bad, name, how, why = found.groups()
            status = FAIL if bad else self.KINDS[how.upper()] if how else PASS
            self._add(name.partition(".")[2] or name, status, why or "")
        elif found := self.TEST.match(line):
            whole = found[1].removeprefix("SKIP: ")
            if whole != found[1]:
                self._add("all", SKIP, whole)
            else:
                self._add(found[1], self.KINDS[found[2]])
        elif found := self.WORD.match(line):
            kind = self.KINDS[found[1]]
            # The outcome is no part of the name.
            self._add(found[2].replace("Failed to turn", "Turned"), kind, found[2] if kind in (SKIP, XFAIL) else "")
        elif not line.startswith(("# Totals:", "# Interface:", "TAP version")):
            self._run.detail.append(line.removeprefix("# "))

    def _add(self, name: str, status: str, why: str = "") -> None:
        run = self._run
        # Of a reason in words of its own before the line, the last ones.
        if status in (SKIP, XFAIL) and not why:
            why = UNSAID.get(run.test) or next((d for d in reversed(run.detail) if d.strip()), "")
        elif status == FAIL and not why:
            why = self._fault()
        n = 2
        base = name
        while name in run.cases:
            name, n = f"{base} ({n})", n + 1
        run.cases[name] = Case(name, status, why.strip(), run.detail)
        run.detail = []

    def _fault(self) -> str:
        """Of a failed case: what was said when it failed, without the way there."""
        said = [d.removeprefix("Exception|").strip() for d in self._run.detail]
        for words in (r"^STDERR: (.*)", r"^(Check failed .*)", r"^(Could not change .*)", r"^(RTNETLINK answers: .*)",
                      r"^(?:[\w.]+\.)?(\w+(?:Error|Failure|Ex|Exception): .*)"):
            if found := next((m for m in (re.search(words, line) for line in reversed(said)) if m), None):
                return found[1]
        return ""

    def _end(self) -> None:
        run = self._run
        nothing, self._nothing = self._nothing, False
        if (run.status == "4" or nothing) and not run.cases:
            self._add("all", SKIP)
        elif run.status == "0" and not run.cases:
            self._add("all", PASS)
        elif len(run.cases) < run.planned or not run.cases or (
                run.status != "0" and not any(c.status in (FAIL, SKIP) for c in run.cases.values())):
            why = {"124": "took too long", "137": "took too long"}.get(run.status, f"status {run.status}")
            run.cases["all"] = Case("all", FAIL, f"{why}, {len(run.cases)} of {run.planned} cases", run.detail)


def boot(driver: str, chip: str, tests: list, cpus: int, vm, files: str, log) -> tuple:
    """Runs @tests on @driver; ({test: Run}, what the kernel or the runner complained about).

    A guest that dies takes one test with it: another guest does the rest.
    """
    runs, said = {}, []
    rest = list(tests)
    while rest:
        reader = Reader()
        words = " ".join(f"{TESTS[t]}:{t}" for t in rest)
        status, tail = vm(f"kselftest-guest/run {words}", log, LIMIT, reader.take, DRIVER=driver, CHIP=chip, CPUS=cpus,
                          ICOUNT=1, PEER="port", FILES=files)
        runs |= reader.runs
        done = [t for t in rest if t in reader.runs and reader.runs[t].after]
        if status:
            said.append(f"after {done[-1] if done else 'the start'}: {tail[-1] if tail else status}")
        rest = [t for t in rest if t not in done]
        if rest:
            run = runs.setdefault(rest[0], Run(rest[0]))
            run.cases["all"] = Case("all", FAIL, f"the guest died: {tail[-1] if tail else status}", run.detail[-20:])
            rest = rest[1:]
    return runs, said


def judge(chip: str, test: str, c: str, ours: Case) -> tuple:
    """(status, why, the entry that says so) of a case: PASS, FAIL, SKIP or XFAIL, given what C has made of it."""
    if ours.status == PASS:
        return PASS, "" if c == PASS else f"C: {c}", None
    if c == PASS:
        return FAIL, f"passes with the C driver: {ours.why}", None
    failed = ours.status == FAIL
    for known in EXPECTED if failed else SKIPPED:
        named = ours.name in known.cases if failed else any(fnmatch(ours.name, case) for case in known.cases)
        if known.fits(test, chip) and named and re.search(known.says, ours.why):
            why = known.why if failed else f"{ours.why} ({known.why})" if known.why else ours.why
            return XFAIL if failed else ours.status, why, known
    return FAIL, f"{ours.status} for a reason that is not known: {ours.why}", None


def count(run: Run | None) -> str:
    """How a test went, as pass/fail/skip and, if there are any, expected failures."""
    if run is None:
        return "-"
    kinds = [c.status for c in run.cases.values()]
    text = f"{kinds.count(PASS)}/{kinds.count(FAIL)}/{kinds.count(SKIP)}"
    return text + (f"/{kinds.count(XFAIL)}" if XFAIL in kinds else "")


def table(chip: str, runs: dict) -> str:
    """The result for people: a line for each test, and below it what is not a pass on both."""
    lines = [f"kselftests on {chip}: pass/fail/skip(/xfail), seconds of the guest with ours, busy ones among them", "",
             f"{'test':<42} {'C':>14} {'ours':>14} {'s':>6} {'busy':>5}"]
    for test in TESTS:
        c, ours = runs["c"].get(test), runs["rs"].get(test)
        if c is None and ours is None:
            continue
        lines.append(f"{test:<42} {count(c):>14} {count(ours):>14} {ours.seconds if ours else 0:6.1f} "
                     f"{ours.busy if ours else 0:5.1f}")
        # Whole families of cases have one reason.
        same = {}
        for name in dict.fromkeys([*(c.cases if c else ()), *(ours.cases if ours else ())]):
            a = c.cases.get(name, Case(name, NONE)) if c else Case(name, NONE)
            b = ours.cases.get(name, Case(name, NONE)) if ours else Case(name, NONE)
            if (a.status, b.status) != (PASS, PASS):
                same.setdefault((a.status, b.status, a.why if a.status != PASS else "",
                                 b.why if b.status != PASS else ""), []).append(name)
        for (a, b, why_c, why_rs), names in same.items():
            what = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
            lines.append(f"    {what}: C {a}, ours {b}")
            if why_c == why_rs and why_c:
                lines.append(f"        {why_c}")
            else:
                lines += [f"        {who}: {why}" for who, why in (("C", why_c), ("ours", why_rs)) if why]
        lines += [f"    after it, {who}: {r.after}" for who, r in (("C", c), ("ours", ours))
                  if r and r.after not in ("ok", "")]
    for driver, name in (("c", "C"), ("rs", "ours")):
        lines += [f"the kernel, {name}: {text}" for text in runs.get(f"said-{driver}", [])]
    return "\n".join(lines) + "\n"


def select(words) -> list:
    """Tests by their names or the last part of them, without the ending; all without any."""
    return [t for t in TESTS if not words or any(fnmatch(name, w) for w in words for name in
                                                 (t, t.rpartition(".")[0], t.rpartition("/")[2].partition(".")[0]))]


def run(chip: str, tests: list, vm, files: str, logs, name: str) -> dict:
    """All of @tests on both drivers: {"c": {test: Run}, "rs": ..., "said-c": complaints, "said-rs": ...}."""
    runs = {"c": {}, "rs": {}, "said-c": [], "said-rs": []}
    for driver in ("c", "rs"):
        for cpus in sorted({CPUS.get(t, 1) for t in tests}):
            some = [t for t in tests if CPUS.get(t, 1) == cpus]
            log = logs / f"{name}-{driver}{'' if cpus == 1 else cpus}.log"
            seen, said = boot(driver, chip, some, cpus, vm, files, log)
            runs[driver] |= seen
            runs[f"said-{driver}"] += said
    return runs


def judge_all(chip: str, tests: list, runs: dict) -> dict:
    """{case: (status, why, details)} for ours, of all tests and of the guest."""
    seen, used = {}, {}
    for test in tests:
        ours, c = runs["rs"][test], runs["c"][test]
        short = test.rpartition("/")[2].rpartition(".")[0]
        for name in dict.fromkeys([*ours.cases, *(n for n, case in c.cases.items() if case.status == PASS)]):
            case = ours.cases.get(name, Case(name, NONE, "did not run"))
            status, why, known = judge(chip, test, c.cases[name].status if name in c.cases else NONE, case)
            if known:
                used.setdefault(known, []).append(name)
            seen[f"{short}.{name}"] = (status, why, case.detail)
        if ours.after != "ok":
            seen[f"{short}: the port after it"] = (FAIL, ours.after, [])
        for known in (*SKIPPED, *EXPECTED):
            idle = [c for c in known.cases if not any(fnmatch(n, c) or n == c for n in used.get(known, ()))]
            if known.fits(test, chip) and idle:
                seen[f"{short}: expected: {known.says}"] = (FAIL, f"did not happen: {', '.join(idle)}", [])
    if runs["said-rs"]:
        seen["guest"] = (FAIL, "; ".join(runs["said-rs"]), [])
    return seen
