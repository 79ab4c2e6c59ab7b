# SPDX-License-Identifier: GPL-2.0

"""Trace points of the kernel."""

import os
from contextlib import contextmanager
from pathlib import Path

from net.lib.py import KsftSkipEx

TRACING = Path("/sys/kernel/tracing")


@contextmanager
def traced(event: str):
    """Records an event (SYSTEM/NAME) meanwhile; yields a function that returns its lines so far."""
    if not (TRACING / "events" / event / "enable").exists():
        raise KsftSkipEx(f"the kernel has no trace point {event}, or tracefs is not mounted")
    # A buffer of its own: others may be tracing.
    instance = TRACING / "instances" / f"test-{os.getpid()}"
    instance.mkdir()
    try:
        (instance / "events" / event / "enable").write_text("1")
        name = event.partition("/")[2] + ": "
        yield lambda: [line.partition(name)[2] for line in (instance / "trace").read_text().splitlines()
                       if name in line and not line.startswith("#")]
    finally:
        (instance / "events" / event / "enable").write_text("0")
        instance.rmdir()
