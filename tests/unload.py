#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""After everything else: the driver is unloaded, and has left nothing behind."""

from pathlib import Path

from lib.py import RavbEnv, KsftSkipEx, cmd, ksft_eq, ksft_exit, ksft_run, ksft_true
from lib.py.env import DRIVERS
from lib.py.injection import Leaks


def unload(cfg) -> None:
    """The module goes; interrupts, DMA mappings and memory that were its own have gone as well."""
    if cfg.env.get("PEER", "board") == "board":
        raise KsftSkipEx("nobody loads the driver again on a board")
    devices = [d.name for d in (DRIVERS / cfg.driver_name).iterdir() if (d / "driver").exists()]
    # What was lost in all tests before counts, not only from now on.
    leaks = Leaks(forget=False)
    cmd(f"rmmod {cfg.module}")
    ksft_true(not Path("/sys/module", cfg.module).exists(), "the module is gone")
    text = Path("/proc/interrupts").read_text()
    ksft_eq([d for d in devices if d in text], [], "devices with interrupts")
    leaks.check(dict.fromkeys(devices, 0))


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([unload], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
