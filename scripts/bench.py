#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Measures drivers on the twin in virtual time: `make bench CASE=livelock [DRIVER='c rs']`.

Writes build/bench/CASE.json (a list of rows), .txt (the table) and .svg (the plot). Every run is
deterministic; SEEDS='1 2 3' are the samples (layout of the kernel's memory, the model's delays).
CASE=throughput is TCP and UDP in both directions on one CPU and on two, CASE=insns the instructions for a packet
of 64 bytes.
CASE=rx is what a received packet costs, by where its buffer comes from, with prefetching or not, and with XDP programs.
CASE=model measures the model itself, by the wall clock of this machine: leave it alone meanwhile.
"""

import json
import math
import os
import sys
from itertools import product
from pathlib import Path
from statistics import median

import bench_coalesce
import bench_inject
import bench_rx
import bench_waits
from bench_common import Condition, medians, row, run

from ravbvm import Options, VmError

TOP = Path(__file__).resolve().parents[1]
GUEST = Path(__file__).resolve().parent / "bench"
OUT = TOP / "build/bench"

# What an access to the MAC costs a CPU of these SoCs is not published; these are plausible.
CHARGED = "mmio_read_ns=150:mmio_write_ns=30:noncoherent=1"


CONDITIONS = (
    Condition("plain", "2 ns an instruction", 1, ""),
    Condition("charged", "the same, MMIO charged, caches not coherent", 1, CHARGED),
    Condition("slow", "4 ns an instruction", 2, ""),
)

POLICIES = {
    "off": "off",
    "coalesce": "coalescing only",
    "threaded": "threaded only",
    "both": "both (the driver's default)",
}


def rows_of(samples: list[dict], condition: Condition, driver: str) -> list[dict]:
    """Median and extremes over seeds and repetitions."""
    rows = []
    for policy in POLICIES:
        of_policy = [s for s in samples if s["policy"] == policy]
        if not of_policy:
            raise VmError(f"livelock: the guest measured nothing for policy {policy}")
        figures = {
            "udp_rx": ("Mbit/s", [s["mbit"] for s in of_policy]),
            "interrupts": ("1/1000 datagrams", [1000 * s["interrupts"] / max(s["datagrams"], 1) for s in of_policy]),
            "idle": ("ms", [s["idle_ns"] / 1e6 for s in of_policy]),
        }
        for metric, (unit, values) in figures.items():
            for suffix, value in (("", median(values)), ("_min", min(values)), ("_max", max(values))):
                rows.append(
                    row(f"livelock-{condition.name}", driver, policy, metric + suffix, round(value, 3), unit)
                )
    return rows


def livelock(drivers: list[str], seeds: list[int]) -> list[dict]:
    rows = []
    for driver in drivers:
        for condition in CONDITIONS:
            samples: list[dict] = []
            for seed in seeds:
                print(f"bench: livelock, {driver}, {condition.title}, seed {seed}", file=sys.stderr, flush=True)
                options = Options(
                    run="python3 /root/livelock.py",
                    driver=driver,
                    chip="gbeth",
                    icount=True,
                    shift=condition.shift,
                    seed=seed,
                    twin=condition.twin,
                    files=[GUEST / "livelock.py", GUEST / "quiet.py"],
                    timeout=600,
                )
                result = run(options)
                samples += [json.loads(line) for line in result.text.splitlines()]
            rows += rows_of(samples, condition, driver)
    return rows


def value(rows: list[dict], condition: Condition, driver: str, policy: str, metric: str) -> float:
    case = f"livelock-{condition.name}"
    return next(
        r["value"]
        for r in rows
        if (r["case"], r["driver"], r["policy"], r["metric"]) == (case, driver, policy, metric)
    )


def livelock_table(rows: list[dict], drivers: list[str]) -> str:
    lines = [
        "UDP receive, 1472-byte datagrams at 1 Gbit/s line rate, one CPU, virtual time.",
        "Mbit/s of payload: median (least to most); interrupts per 1000 datagrams received.",
    ]
    for condition in CONDITIONS:
        lines += ["", condition.title]
        for driver in drivers:
            for policy, title in POLICIES.items():
                rate, low, high = (value(rows, condition, driver, policy, "udp_rx" + s) for s in ("", "_min", "_max"))
                irqs = value(rows, condition, driver, policy, "interrupts")
                lines.append(f"  {driver:<3} {title:<28} {rate:8.1f} ({low:.1f} to {high:.1f})  {irqs:8.1f}")
            off, both = (value(rows, condition, driver, p, "udp_rx") for p in ("off", "both"))
            ratio = f"{both / off:.0f}x" if off else "no datagram at all without"
            lines.append(f"  {driver:<3} default against off: {ratio}")
    return "\n".join(lines)


def livelock_plot(rows: list[dict], drivers: list[str], path: Path) -> None:
    """Bars on a logarithmic scale: a group for each condition and driver, a bar for each policy."""
    bar, gap, top, height, decades = 46, 40, 30, 300, 3
    colours = ("#bbbbbb", "#88aadd", "#ddaa66", "#449966")
    parts = []
    x = 70
    for exponent in range(decades + 1):
        y = top + height - height * exponent / decades
        parts.append(
            f'<path d="M60 {y}H{{width}}" stroke="#ddd"/>'
            f'<text x="54" y="{y + 4}" text-anchor="end">{10**exponent}</text>'
        )
    for condition in CONDITIONS:
        for driver in drivers:
            middle = x + bar * len(POLICIES) / 2
            for policy, colour in zip(POLICIES, colours, strict=True):
                rate = value(rows, condition, driver, policy, "udp_rx")
                size = height * min(max(math.log10(max(rate, 1)), 0), decades) / decades
                y = top + height - size
                parts.append(
                    f'<rect x="{x}" y="{y:.1f}" width="{bar - 4}" height="{size:.1f}" fill="{colour}"/>'
                    f'<text x="{x + bar / 2 - 2}" y="{y - 4:.1f}" text-anchor="middle">{rate:.0f}</text>'
                )
                x += bar
            label = f"{driver}, {condition.name}"
            parts.append(f'<text x="{middle}" y="{top + height + 18}" text-anchor="middle">{label}</text>')
            x += gap
    for number, (policy, colour) in enumerate(zip(POLICIES, colours, strict=True)):
        y = top + height + 34
        left = 70 + 160 * number
        parts.append(
            f'<rect x="{left}" y="{y}" width="12" height="12" fill="{colour}"/>'
            f'<text x="{left + 18}" y="{y + 11}">{policy}</text>'
        )
    width = max(x, 720)
    body = "\n".join(parts).replace("{width}", str(width))
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top + height + 60}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="70" y="18">UDP received, Mbit/s of payload, one CPU, virtual time</text>\n{body}\n</svg>\n'
    )


def model(drivers: list[str], seeds: list[int]) -> list[dict]:
    """How long a register read takes the guest, and how many small frames a second get through."""
    rows = []
    for driver, script in (("none", "model-reads.sh"), *((d, "model-flood.sh") for d in drivers)):
        print(f"bench: model, {script}, driver {driver}", file=sys.stderr, flush=True)
        options = Options(run=f"bash /root/{script}", driver=driver, peer="model", files=[GUEST / script], timeout=300)
        result = run(options)
        for line in result.text.splitlines():
            metric, policy, number, unit = line.split()
            rows.append(
                row("model", driver, policy, metric, float(number), unit, chip=options.chip, cpus=options.cpus)
            )
    return rows


def model_table(rows: list[dict], _drivers: list[str]) -> str:
    """One line a figure."""
    return "\n".join(f"{r['driver']:<5}{r['metric']:<16}{r['policy']:<10}{r['value']:10.0f} {r['unit']}" for r in rows)


def by_load(case: str, figures: dict[str, str], machines: tuple[int, ...] = (1,)):
    """A case whose guest script prints an object a load: the median of each figure, {key: unit}.

    On machines with so many CPUs each.
    """

    def measure(drivers: list[str], seeds: list[int]) -> list[dict]:
        rows = []
        for cpus, driver in product(machines, drivers):
            options = Options(
                run=f"python3 /root/{case}.py",
                driver=driver,
                cpus=cpus,
                icount=True,
                files=[GUEST / f"{case}.py", GUEST / "quiet.py", GUEST / "pmu.py"],
                timeout=1800,
            )
            rows += medians(case, f"{case}, {driver}, {cpus} CPUs", options, seeds, figures)
        return rows

    return measure


def by_load_table(rows: list[dict], drivers: list[str]) -> str:
    """One line a figure, a column a driver."""
    lines = [f"{'':<28}{'CPUs':>4}" + "".join(f"{d:>12}" for d in drivers)]
    for metric, cpus, unit in dict.fromkeys((r["metric"], r["cpus"], r["unit"]) for r in rows):
        values = {r["driver"]: r["value"] for r in rows if (r["metric"], r["cpus"]) == (metric, cpus)}
        lines.append(f"{metric:<28}{cpus:4}" + "".join(f"{values[d]:12.1f}" for d in drivers) + f"  {unit}")
    return "\n".join(lines)


# What measures, what makes a table of it, and what makes a plot.
CASES = {
    "livelock": (livelock, livelock_table, livelock_plot),
    "model": (model, model_table, None),
    "throughput": (by_load("throughput", {"mbit": "Mbit/s"}, (1, 2)), by_load_table, None),
    "insns": (by_load("insns", {"kernel": "instructions", "user": "instructions"}), by_load_table, None),
    "coalesce": (bench_coalesce.measure, bench_coalesce.table, None),
    "rx": (bench_rx.measure, bench_rx.table, None),
    "waits": (bench_waits.measure, bench_waits.table, None),
    "inject": (bench_inject.measure, bench_inject.table, None),
}

# What must have come out.
CHECKS = {"coalesce": bench_coalesce.check, "rx": bench_rx.check}


def main(arguments: list[str]) -> int:
    case = arguments[0] if arguments else ""
    if case not in CASES or len(arguments) != 1:
        raise VmError(f"CASE={case}: must be one of {' '.join(CASES)}")
    measure, tabulate, plot = CASES[case]
    drivers = (os.environ.get("DRIVER") or "c").split()
    try:
        seeds = [int(word) for word in (os.environ.get("SEEDS") or "1 2 3").split()]
    except ValueError:
        raise VmError(f"SEEDS={os.environ['SEEDS']}: must be numbers") from None
    OUT.mkdir(parents=True, exist_ok=True)
    rows = measure(drivers, seeds)
    (OUT / f"{case}.json").write_text(json.dumps(rows, indent=1) + "\n")
    table = tabulate(rows, drivers)
    (OUT / f"{case}.txt").write_text(table + "\n")
    if plot:
        plot(rows, drivers, OUT / f"{case}.svg")
    print(table)
    print(f"\n{OUT / case}.json, .txt{', .svg' if plot else ''}")
    if case in CHECKS:
        CHECKS[case](rows)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except VmError as error:
        sys.exit(f"bench: {error}")
