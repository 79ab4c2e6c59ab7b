# SPDX-License-Identifier: GPL-2.0
"""How long a driver waits for the hardware, and how often it looks: mode changes, DMA stop, PTP clock."""

import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import mean

from ravbvm import Options, Vm, VmError
from ravbvm.vm import explain

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
# Registers that are read to see whether something has happened, and the one whose write has asked for it.
WAITS = {"CSR": "", "CSR0": "CSR0", "GCCR": "GCCR"}
OPC = {0: "RESET", 1: "CONFIG", 2: "OPERATION", 3: "STANDBY"}


def _what(polled: str, asked: tuple[str, int], value: int) -> str:
    """What is waited for, by the last write and by what was read."""
    register, written = asked
    if polled == "CSR0":
        return "checksum ports off"
    if polled == "GCCR":
        return f"gPTP request {written & 0x7C | written & 3:#x}"
    if register == "CCC" and not written & 1 << 8:
        return f"mode {OPC.get(written & 3, '?')}"
    return "DMA stop"


def waits_of(trace: str) -> dict[str, list[tuple[int, int]]]:
    """{what was waited for: [(nanoseconds, reads), ...]}: reads of one register in a row are one wait."""
    found = defaultdict(list)
    asked, asked_at = ("", 0), 0
    run: list[int] = []
    polled, last = "", 0

    def end() -> None:
        if run:
            found[_what(polled, asked, last)].append((run[-1] - (asked_at or run[0]), len(run)))
            run.clear()

    for line in trace.splitlines():
        time, kind, *rest = line.split()
        if kind == "R" and rest[0] in WAITS:
            if rest[0] != polled:
                end()
            polled, last = rest[0], int(rest[1], 16)
            run.append(int(time))
        elif kind in "RW":
            end()
            if kind == "W":
                asked, asked_at = (rest[0], int(rest[1], 16)), int(time)
    end()
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
                    result = Vm(options).run()
                    if result.status:
                        raise VmError(explain(result))
                    for what, waits in waits_of(path.read_text()).items():
                        found[what] += waits
            for what, waits in sorted(found.items()):
                values = {"time": (mean(t for t, _ in waits) / 1000, "us"), "reads": (mean(n for _, n in waits), "")}
                values |= {"time_max": (max(t for t, _ in waits) / 1000, "us"), "waits": (len(waits), "")}
                for metric, (value, unit) in values.items():
                    rows.append(
                        {
                            "case": f"waits-{what}",
                            "driver": driver,
                            "chip": chip,
                            "cpus": 1,
                            "policy": "",
                            "metric": metric,
                            "value": round(value, 3),
                            "unit": unit,
                        }
                    )
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
