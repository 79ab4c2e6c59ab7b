# SPDX-License-Identifier: GPL-2.0
"""What waiting costs where each word of a frame has to: three ways to wait, on one path (inject/ready.rs)."""

import re
import sys
from pathlib import Path
from statistics import median

from bench_common import Condition, build, row, run

from ravbvm import Options, VmError
from ravbvm.vm import explain

MILLISECONDS = 100
# The gain that the thread in netdev reports for the same change on the real hardware.
WANTED = 1.65
# Each way to wait: the word that scripts/module.sh builds it by, and what it is called.
POLICIES = {
    "iopoll": "always iopoll with clock",
    "jiffies": "jiffies loop",
    "status": "status first (the driver's)",
}


# A read waits for the answer, a write does not: 150 and 30 ns are plausible for such a bus.
CHARGED = "mmio_read_ns=150:mmio_write_ns=30"
CONDITIONS = (
    Condition("slow", "4 ns an instruction, MMIO 150/30 ns", 2, f"{CHARGED}:inj_busy_every=0"),
    Condition("busy", "the same, one word in 100 waits up to 2 us", 2, f"{CHARGED}:inj_busy_every=100"),
    Condition("fast", "2 ns an instruction, MMIO 150/30 ns", 1, f"{CHARGED}:inj_busy_every=0"),
)


def _module(policy: str) -> Path:
    """Builds the driver that waits in this way."""
    return build(INJECT_WAIT="" if policy == "status" else policy)


def _measure(module: Path, condition: Condition, seed: int) -> dict[str, float]:
    """TCP to the model's sink, and what the registers have seen of it."""
    options = Options(
        run=f"twinctl clear && tcpblast 10.77.0.2 9 {MILLISECONDS} && twinctl stats qs.",
        driver="rs",
        modules=[module],
        chip="inject",
        icount=True,
        shift=condition.shift,
        seed=seed,
        twin=condition.twin,
        timeout=600,
    )
    result = run(options)
    found = re.search(r"mbit=([\d.]+)", result.text)
    if not found:
        raise VmError(explain(result))
    counts = dict(re.findall(r"^qs\.(\w+) (\d+)$", result.text, re.MULTILINE))
    return {
        "tcp_tx": float(found[1]),
        "status_reads": int(counts["status_reads"]) / max(int(counts["inj_words"]), 1),
        "not_ready": 1000 * int(counts["not_ready"]) / max(int(counts["status_reads"]), 1),
    }


UNITS = {"tcp_tx": "Mbit/s", "status_reads": "1/word", "not_ready": "1/1000 reads"}


def measure(_drivers: list[str], seeds: list[int]) -> list[dict]:
    """All conditions; the C driver of this hardware wants a whole switch, and can't run here."""
    rows = []
    modules = {policy: _module(policy) for policy in POLICIES}
    for condition in CONDITIONS:
        rates = {}
        for policy, module in modules.items():
            print(f"bench: inject, {condition.title}, {POLICIES[policy]}", file=sys.stderr, flush=True)
            samples = [_measure(module, condition, seed) for seed in seeds]
            for metric, unit in UNITS.items():
                value = round(median(sample[metric] for sample in samples), 3)
                rows.append(row(f"inject-{condition.name}", "rs", policy, metric, value, unit, chip="inject"))
            rates[policy] = median(sample["tcp_tx"] for sample in samples)
        gain = rates["status"] / rates["iopoll"]
        if condition.name == "slow" and gain < WANTED:
            raise VmError(f"inject: status first is {gain:.2f} times as fast as always iopoll, not {WANTED}")
    return rows


def table(rows: list[dict], _drivers: list[str]) -> str:
    """A block for each condition."""
    lines = ["TCP sent through the CPU port of a switch, one CPU, virtual time."]
    for condition in CONDITIONS:
        lines += ["", condition.title]
        values = {(r["policy"], r["metric"]): r["value"] for r in rows if r["case"] == f"inject-{condition.name}"}
        base = values["iopoll", "tcp_tx"]
        for policy, title in POLICIES.items():
            rate, reads, waits = (values[policy, metric] for metric in UNITS)
            lines.append(
                f"  {title:<28}{rate:7.1f} Mbit/s  {rate / base:5.2f}x"
                f"  {reads:6.3f} status reads a word, {waits:.1f} of 1000 not ready"
            )
    return "\n".join(lines)
