# SPDX-License-Identifier: GPL-2.0
"""What the cases of bench.py have in common."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from ravbvm import Options, Vm, VmError
from ravbvm.vm import Result, explain


@dataclass(frozen=True)
class Condition:
    """How the machine is made."""

    name: str
    title: str
    shift: int
    twin: str


def row(
    case: str, driver: str, policy: str, metric: str, value: float, unit: str, chip: str = "gbeth", cpus: int = 1
) -> dict:
    """A figure, as it is written to build/bench/."""
    return {
        "case": case,
        "driver": driver,
        "chip": chip,
        "cpus": cpus,
        "policy": policy,
        "metric": metric,
        "value": value,
        "unit": unit,
    }


def run(options: Options) -> Result:
    """One boot, which has to succeed."""
    result = Vm(options).run()
    if result.status:
        raise VmError(f"{result.text}{explain(result)}")
    return result


def medians(case: str, title: str, options: Options, seeds: list[int], units: dict[str, str]) -> list[dict]:
    """Boots once with each seed; returns the median of each figure, {key: unit}, for each load.

    The guest prints an object a load, with the figures that it has of them. It may also say which policy was set,
    and which driver served the port if that is not the one that it was booted with.
    """
    samples: dict[tuple[str, str, str, str], list[float]] = {}
    for seed in seeds:
        print(f"bench: {title}, seed {seed}", file=sys.stderr, flush=True)
        for line in run(replace(options, seed=seed)).text.splitlines():
            sample = json.loads(line)
            of = sample.get("driver", options.driver), sample.get("policy", "default"), sample["load"]
            for figure in (figure for figure in units if figure in sample):
                samples.setdefault((*of, figure), []).append(sample[figure])
    if not samples:
        raise VmError(f"{title}: the guest measured nothing")
    return [
        row(
            case,
            driver,
            policy,
            f"{load}_{figure}",
            round(median(values), 1),
            units[figure],
            chip=options.chip,
            cpus=options.cpus,
        )
        for (driver, policy, load, figure), values in samples.items()
    ]


def build(**choices: str) -> Path:
    """Builds the driver as it is not by default, see ../Kbuild; returns the module."""
    done = subprocess.run(
        [str(Path(__file__).resolve().parent / "module.sh")],
        env={**os.environ, **choices},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise VmError(f"the module with {choices} cannot be built:\n{done.stdout}")
    return Path(done.stdout.splitlines()[-1])
