# SPDX-License-Identifier: GPL-2.0
"""How long a driver waits for the hardware, and how often it looks: mode changes, DMA stop, PTP clock."""

import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from bench_common import row, run

from ravbvm import Options

CHIPS = ("gbeth", "gen3")
# Down and up gives each mode change and the stop of the DMA; the clock is read where there is one.
RUN = """
set -e
for round in 1 2 3; do
	ip link set dev $NETIF down
	ip link set dev $NETIF up
	until [[ $(</sys/class/net/$NETIF/carrier) == 1 ]]; do sleep 0.1; done
done
if [[ -e /dev/ptp0 ]]; then
	for round in 1 2 3 4 5; do phc_ctl /dev/ptp0 get; done
fi
ip link set dev $NETIF down
"""
# Registers that are read to see whether something has happened.
STATUS = ("CSR", "CSR0")
OPC = {0: "RESET", 1: "CONFIG", 2: "OPERATION", 3: "STANDBY"}
# GCCR both asks and tells: TCR is the request of the time, the others are loads.
TCR = 0x3


@dataclass
class Wait:
    """Accesses in a row that belong to one wait."""

    what: str
    begin: int
    end: int
    reads: int


def _asked(register: str, value: int) -> str:
    """What a write has asked for."""
    if register == "CSR0":
        return "checksum ports off"
    if register == "GCCR":
        return "clock read" if value & TCR == TCR else "clock set-up"
    if register == "CCC" and not value & 1 << 8:
        return f"mode {OPC[value & 3]}"
    return "DMA stop"


def waits_of(trace: str) -> dict[str, list[Wait]]:
    """The waits of each kind: a write, and reads of a status register in a row, or all accesses of GCCR in a row."""
    found = defaultdict(list)
    what, asked_at = "", 0
    # What the line before was: a wait's read, or the write that it began with.
    wait: Wait | None = None
    polled = ""
    directly = False
    for line in trace.splitlines():
        time, kind, *rest = line.split()
        if kind not in "RW":
            continue
        now, register, value = int(time), rest[0], int(rest[1], 16)
        if register != polled or (kind == "W" and register != "GCCR"):
            wait = None
        polled = register
        if register == "GCCR":
            wait = wait or Wait("", now, now, 0)
            if kind == "W" and not wait.what:
                wait.what = _asked(register, value)
                found[wait.what].append(wait)
        elif kind == "W":
            what, asked_at = _asked(register, value), now
        elif register in STATUS and wait is None:
            # Not directly behind a write, it waits for what is going on anyway.
            wait = Wait(what, asked_at if directly else now, now, 0)
            found[what].append(wait)
        if wait:
            wait.end = now
            wait.reads += kind == "R"
        directly = kind == "W"
    return found


def measure(drivers: list[str], seeds: list[int]) -> list[dict]:
    """One boot for each chip, driver and seed."""
    rows = []
    for chip in CHIPS:
        for driver in drivers:
            found = defaultdict(list)
            for seed in seeds:
                print(f"bench: waits, {chip}, {driver}, seed {seed}", file=sys.stderr, flush=True)
                with tempfile.TemporaryDirectory() as directory:
                    path = Path(directory) / "trace"
                    options = Options(
                        run=RUN, driver=driver, chip=chip, icount=True, seed=seed, trace=path, timeout=300
                    )
                    run(options)
                    for what, waits in waits_of(path.read_text()).items():
                        found[what] += [((wait.end - wait.begin) / 1000, wait.reads) for wait in waits]
            for what, waits in sorted(found.items()):
                values = {"time": (mean(t for t, _ in waits), "us"), "reads": (mean(n for _, n in waits), "")}
                values |= {"time_max": (max(t for t, _ in waits), "us"), "waits": (len(waits), "")}
                for metric, (value, unit) in values.items():
                    rows.append(row(f"waits-{what}", driver, "", metric, round(value, 3), unit, chip=chip))
    return rows


def table(rows: list[dict], drivers: list[str]) -> str:
    """A line for each chip and wait, the drivers beside each other."""
    lines = ["Waits for the hardware, virtual time: microseconds on average (at most), register reads on average."]
    for chip in CHIPS:
        lines += ["", chip]
        for case in sorted({r["case"] for r in rows if r["chip"] == chip}):
            words = [f"  {case.removeprefix('waits-'):<24}"]
            for driver in drivers:
                mine = [r for r in rows if (r["chip"], r["case"], r["driver"]) == (chip, case, driver)]
                of = {r["metric"]: r["value"] for r in mine}
                said = f"{of['time']:8.1f} ({of['time_max']:.1f}) us {of['reads']:6.1f} reads" if of else "-"
                words.append(f"{driver:>3} {said:<38}")
            lines.append("".join(words).rstrip())
    return "\n".join(lines)
