# SPDX-License-Identifier: GPL-2.0
"""What a received packet costs: by where its buffer comes from, with prefetching or not, and with XDP programs."""

import json
import sys
from pathlib import Path
from statistics import median

from bench_common import build, row, run

from ravbvm import Options

TOP = Path(__file__).resolve().parents[1]
GUEST = Path(__file__).resolve().parent / "bench"
FILES = [GUEST / "rx.py", GUEST / "pmu.py", GUEST / "quiet.py", TOP / "tests/lib/py/bpf.py"]

# What scripts/module.sh builds it by.
POLICIES = {
    "pool": {"RX_MEMORY": "pool", "RX_PREFETCH": ""},
    "pool, no prefetch": {"RX_MEMORY": "pool", "RX_PREFETCH": "off"},
    "fragments": {"RX_MEMORY": "fragments", "RX_PREFETCH": ""},
    "fragments, no prefetch": {"RX_MEMORY": "fragments", "RX_PREFETCH": "off"},
}
# Where the caches have to be looked after for each packet, as on the SoCs.
CONDITIONS = {"rx": "", "rx-noncoherent": "noncoherent=1"}
UNITS = {"kernel": "instructions", "rate": "packets/s"}


def measure(drivers: list[str], seeds: list[int]) -> list[dict]:
    """Each policy of our driver, the C driver as it is, and XDP programs (which are the same with each policy)."""
    runs = [("rs", policy, [build(**choices)], "") for policy, choices in POLICIES.items()]
    runs.append(("rs", "xdp", [build(RX_MEMORY="", RX_PREFETCH="")], " xdp"))
    if "c" in drivers:
        runs.insert(0, ("c", "C driver", [], ""))
    rows = []
    for case, twin in CONDITIONS.items():
        for driver, policy, modules, arguments in runs:
            samples: dict[tuple[str, str], list[float]] = {}
            for seed in seeds:
                print(f"bench: {case}, {policy}, seed {seed}", file=sys.stderr, flush=True)
                options = Options(
                    run=f"python3 /root/rx.py{arguments}",
                    driver=driver,
                    modules=modules,
                    icount=True,
                    seed=seed,
                    twin=twin,
                    files=FILES,
                    timeout=900,
                )
                for line in run(options).text.splitlines():
                    sample = json.loads(line)
                    for metric in UNITS:
                        samples.setdefault((sample["load"], metric), []).append(sample[metric])
            rows += [
                row(case, driver, policy, f"{load}_{metric}", round(median(values), 1), UNITS[metric])
                for (load, metric), values in samples.items()
            ]
    return rows


def table(rows: list[dict], _drivers: list[str]) -> str:
    """A block for each condition, a line for each load, instructions and packets/s of each policy."""
    lines = ["Received, one CPU, virtual time (2 ns an instruction): instructions a packet / packets a second."]
    for case, twin in CONDITIONS.items():
        mine = [r for r in rows if r["case"] == case]
        lines += ["", "caches are looked after for each packet" if twin else "coherent"]
        for policy in dict.fromkeys(r["policy"] for r in mine):
            values = {r["metric"]: r["value"] for r in mine if r["policy"] == policy}
            lines.append(f"  {policy}")
            for load in dict.fromkeys(m.rpartition("_")[0] for m in values):
                lines.append(f"    {load:<24}{values[load + '_kernel']:10.1f} /{values[load + '_rate']:10.0f}")
    return "\n".join(lines)
