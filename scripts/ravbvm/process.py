# SPDX-License-Identifier: GPL-2.0
"""Processes that do not outlive their use."""

import contextlib
import subprocess
from collections.abc import Sequence
from typing import Any

from .error import VmError


def start(command: Sequence[str], **how: Any) -> subprocess.Popen:
    """Starts a command that the kernel ends should we be killed.

    The signal comes when the thread ends that calls this: it must live as long as the process.
    """
    how.setdefault("stdin", subprocess.DEVNULL)
    try:
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *command], **how)
    except FileNotFoundError as error:
        raise VmError(f"{error.filename} is missing: run this in the toolbox (scripts/tb)") from None


def stop(process: subprocess.Popen, patience: float = 5) -> None:
    """Ends a process: asks first."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
