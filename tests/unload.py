#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""After everything else: the driver is unloaded, and has left nothing behind."""

from pathlib import Path

from lib.py import RavbEnv, KsftSkipEx, cmd, ksft_eq, ksft_exit, ksft_pr, ksft_run, ksft_true
from lib.py.injection import Leaks


def unload(cfg) -> None:
    """The module goes; interrupts, DMA mappings and memory that were its own have gone as well."""
    if cfg.env.get("PEER", "board") == "board":
        raise KsftSkipEx("nobody loads the driver again on a board")
    module = (cfg.device / "driver/module").resolve().name
    driver = (cfg.device / "driver").resolve().name
    devices = [d.name for d in Path("/sys/bus/platform/drivers", driver).iterdir() if (d / "driver").exists()]
    leaks = Leaks(cfg.device.name, forget=False)
    # What was lost in all tests before counts, not only from now on.
    cmd(f"rmmod {module}")
    ksft_true(not Path("/sys/module", module).exists(), "the module is gone")
    text = Path("/proc/interrupts").read_text()
    ksft_eq([d for d in devices if d in text], [], "devices with interrupts")
    for device in devices:
        ksft_eq(Leaks.mapped(device), 0, f"DMA mappings of {device}")
    left = leaks.unreferenced()
    for line in left[:60]:
        ksft_pr(line)
    ksft_eq(sum(line.startswith("unreferenced") for line in left), 0, "objects that nobody points at")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([unload], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
