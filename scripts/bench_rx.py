# SPDX-License-Identifier: GPL-2.0
"""What a received packet costs: by where its buffer comes from, with prefetching or not, and with XDP programs."""

import shutil
from itertools import product
from math import prod
from pathlib import Path
from statistics import mean

import ordering
from bench_common import build, medians

from ravbvm import Options, VmError

TOP = Path(__file__).resolve().parents[1]
GUEST = Path(__file__).resolve().parent / "bench"
FILES = [GUEST / "rx.py", GUEST / "pmu.py", GUEST / "quiet.py", TOP / "tests/lib/py/bpf.py"]
MODULES = TOP / "build/bench/rx"

# One with normal descriptors, one with extended ones.
CHIPS = ("gbeth", "gen3")
# What scripts/module.sh builds the driver by; the default is looked at, not measured.
BUILDS = {
    "default": {"RX_MEMORY": "", "RX_PREFETCH": ""},
    "pool": {"RX_MEMORY": "pool", "RX_PREFETCH": ""},
    "pool-no-prefetch": {"RX_MEMORY": "pool", "RX_PREFETCH": "off"},
    "fragments": {"RX_MEMORY": "fragments", "RX_PREFETCH": ""},
    "fragments-no-prefetch": {"RX_MEMORY": "fragments", "RX_PREFETCH": "off"},
}
MEMORIES = ("pool", "fragments")
TITLES = {
    "c": "C driver",
    "pool": "pool",
    "pool-no-prefetch": "pool, no prefetch",
    "fragments": "fragments",
    "fragments-no-prefetch": "fragments, no pref.",
}
CONDITIONS = {"rx": "", "rx-noncoherent": "noncoherent=1"}
LOADS = {
    "udp_64_200k": "UDP 64 bytes, 200 000/s offered",
    "udp_1472_line": "UDP 1472 bytes, line rate",
    "tcp_1448": "TCP 1448 bytes, line rate",
    "tcp_76": "TCP 76 bytes, 49 000/s",
    "udp_64": "UDP 64 bytes, 50 000/s, 50 at once",
    "udp_1472": "UDP 1472 bytes, 50 000/s, 50 at once",
    "xdp_drop_64": "XDP drop, 64 bytes, line rate",
    "xdp_drop_1472": "XDP drop, 1472 bytes, line rate",
    "xdp_tx_64": "XDP TX, 64 bytes, line rate",
    "xdp_tx_1472": "XDP TX, 1472 bytes, line rate",
    "xdp_pass_64_200k": "XDP pass, UDP as above",
    "xdp_pass_tcp_1448": "XDP pass, TCP as above",
}
UNITS = {"kernel": "instructions", "rate": "packets/s", "pools": "pools"}

# How many times the C driver's stack XDP drops.
WANTED_DROP = 5
# The memory of buffers is chosen by these: what a packet costs in a full batch, below the limit of the CPU, and how
# many there can be above it. TCP is not among them: its acknowledgments make more of a difference than the memory does.
COSTS = ("udp_64", "udp_1472")
RATE = "udp_64_200k"
# By how much the better memory has to be better for the other one to be wrong as the default. The same code with two
# instructions more or less differs by up to 1.3 % for one load.
NOISE = 0.02
# What prefetching may cost a packet, on average, where the CPU is always busy: two hints and an address, and noise.
PREFETCH_COST = 10


def _module(name: str, choices: dict[str, str]) -> Path:
    """Builds the driver, and looks whether it prefetches what it should."""
    built = build(**choices)
    good, said = ordering.prefetches(ordering.disassembled(built.with_name("ravb_rs.o")), not choices["RX_PREFETCH"])
    if not good:
        raise VmError(f"rx: {name}: {said}")
    return Path(shutil.copy(built, MODULES / f"{name}.ko"))


def measure(drivers: list[str], seeds: list[int]) -> list[dict]:
    """One boot for each chip, condition and seed, in which one driver follows the other."""
    names = ["c"] if "c" in drivers else []
    modules = []
    if "rs" in drivers:
        names += BUILDS
        MODULES.mkdir(parents=True, exist_ok=True)
        modules = [_module(name, choices) for name, choices in BUILDS.items()]
    rows = []
    for chip, (case, twin) in product(CHIPS, CONDITIONS.items()):
        options = Options(
            run=f"python3 /root/rx.py {' '.join(names)}",
            driver="rs" if modules else "c",
            modules=modules[:1],
            chip=chip,
            icount=True,
            twin=twin,
            files=FILES + modules,
            timeout=3600,
        )
        rows += medians(case, f"{case}, {chip}", options, seeds, UNITS)
    return rows


def _values(rows: list[dict], chip: str, case: str) -> dict[tuple[str, str], float]:
    return {(r["policy"], r["metric"]): r["value"] for r in rows if (r["chip"], r["case"]) == (chip, case)}


def _default(rows: list[dict], chip: str) -> str:
    """Where buffers come from by default, as the guest has seen it."""
    pools = {r["value"] for r in rows if (r["chip"], r["policy"], r["metric"]) == (chip, "default", "at_rest_pools")}
    if len(pools) != 1:
        raise VmError(f"rx: {chip}: the default has {sorted(pools)} pools")
    return "pool" if pools.pop() else "fragments"


def _cost(values: dict[tuple[str, str], float], policy: str) -> float:
    """What a packet costs, over the loads that count (geometric mean)."""
    return prod(values[policy, f"{load}_kernel"] for load in COSTS) ** (1 / len(COSTS))


def _prefetching(rows: list[dict]) -> list[float]:
    """What prefetching costs a packet, with each memory, chip and condition."""
    all_values = [_values(rows, chip, case) for chip, case in product(CHIPS, CONDITIONS)]
    metric = f"{RATE}_kernel"
    return [values[m, metric] - values[f"{m}-no-prefetch", metric] for m, values in product(MEMORIES, all_values)]


def table(rows: list[dict], drivers: list[str]) -> str:
    """A block for each chip and condition, a line for each load, instructions and packets/s of each policy."""
    lines = [
        "Received, one CPU, virtual time (2 ns an instruction).",
        "Instructions of the kernel a packet, packets a second.",
    ]
    for chip, (case, twin) in product(CHIPS, CONDITIONS.items()):
        values = _values(rows, chip, case)
        policies = [p for p in TITLES if any(p == policy for policy, _ in values)]
        how = "caches are looked after for each packet" if twin else "coherent"
        lines += ["", f"{chip}, {how}", f"  {'':<38}" + "".join(f"{TITLES[p]:>20}" for p in policies)]
        for load, title in LOADS.items():
            cells = [
                f"{values[p, f'{load}_kernel']:12.1f}{values[p, f'{load}_rate']:8.0f}"
                if (p, f"{load}_kernel") in values
                else f"{'-':>20}"
                for p in policies
            ]
            lines.append(f"  {title:<38}" + "".join(cells))
        if "rs" in drivers:
            lines.append(f"  default: {_default(rows, chip)}; fragments cost "
                         f"{_cost(values, 'fragments') / _cost(values, 'pool'):.3f} of what the pool costs")
    if "rs" in drivers:
        costs = _prefetching(rows)
        extremes = f"({min(costs):.1f} to {max(costs):.1f})"
        lines += ["", f"Prefetching costs {mean(costs):.1f} instructions a packet {extremes}, {LOADS[RATE]}."]
    return "\n".join(lines)


def check(rows: list[dict]) -> None:
    """The default of each chip is what is best by the table; prefetching costs next to nothing; dropping is fast."""
    drivers = {r["driver"] for r in rows}
    if "rs" not in drivers:
        return
    cost = mean(_prefetching(rows))
    if cost > PREFETCH_COST:
        raise VmError(f"rx: prefetching costs {cost:.1f} instructions a packet")
    for chip, case in product(CHIPS, CONDITIONS):
        values = _values(rows, chip, case)
        for policy in (p for p in TITLES if p != "c"):
            pools = values[policy, "at_rest_pools"]
            if bool(pools) != policy.startswith("pool"):
                raise VmError(f"rx: {chip}: {policy} has {pools:.0f} pools")
        mine = _default(rows, chip)
        other = next(memory for memory in MEMORIES if memory != mine)
        costs = [_cost(values, memory) for memory in (mine, other)]
        rates = [values[memory, f"{RATE}_rate"] for memory in (mine, other)]
        if costs[0] > (1 + NOISE) * costs[1] or rates[0] < (1 - NOISE) * rates[1]:
            raise VmError(f"rx: {chip}, {case}: {mine} is the default, with {costs[0]:.0f} instructions a packet and "
                          f"{rates[0]:.0f} packets/s, and {other} has {costs[1]:.0f} and {rates[1]:.0f}")
        if "c" in drivers:
            stack = max(values["c", f"{load}_rate"] for load in ("udp_64_200k", "udp_64"))
            drop = values["pool", "xdp_drop_64_rate"]
            if drop < WANTED_DROP * stack:
                raise VmError(f"rx: {chip}, {case}: XDP drops {drop:.0f} packets/s, less than {WANTED_DROP} times the "
                              f"{stack:.0f} that the C driver gives to the stack")
