# SPDX-License-Identifier: GPL-2.0
"""What the cases of bench.py have in common."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

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
        raise VmError(explain(result))
    return result


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
