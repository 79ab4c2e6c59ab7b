# SPDX-License-Identifier: GPL-2.0
"""Boots guests on the twin.

    from ravbvm import Options, Vm

    result = Vm(Options(run="ping -c 3 $REMOTE_V4", chip="gen3", icount=True)).run()
    result.status, result.stdout, result.duration, result.log

To be run in the toolbox (scripts/tb). Guests may run side by side, in threads or processes.
"""

from .error import VmError
from .options import Options
from .vm import Result, Vm

__all__ = ["Options", "Result", "Vm", "VmError"]
