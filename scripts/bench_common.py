# SPDX-License-Identifier: GPL-2.0
"""What the cases of bench.py have in common."""

from dataclasses import dataclass

from ravbvm import Options, Vm, VmError
from ravbvm.vm import Result, explain


@dataclass(frozen=True)
class Condition:
    """How the machine is made."""

    name: str
    title: str
    shift: int
    twin: str


def run(options: Options) -> Result:
    """One boot, which has to succeed."""
    result = Vm(options).run()
    if result.status:
        raise VmError(explain(result))
    return result
