# SPDX-License-Identifier: GPL-2.0
"""In the guest: waits until nothing else runs, before something is measured."""

import os
import sys
import time
from pathlib import Path


def idle_ns() -> int:
    """Idle time of all CPUs, as the tickless accounting knows it (10 ms units)."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()
    return (int(fields[4]) + int(fields[5])) * 10_000_000


def settle() -> None:
    """Waits until the CPUs have been idle for most of a span: boot-time work is over."""
    cpus = os.cpu_count() or 1
    for _ in range(100):
        before, start = idle_ns(), time.monotonic_ns()
        time.sleep(0.2)
        share = (idle_ns() - before) / (time.monotonic_ns() - start) / cpus
        if share > 0.9:
            return
    sys.exit("bench: the guest does not become quiet")
