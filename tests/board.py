#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""What the owner of a board does: gives the port to the other driver, which serves the same devices, and takes it back.

As in Documentation/device_drivers/ethernet/renesas/ravb_rs.rst. The other driver's module has to be there.
"""

from pathlib import Path

from lib.py import RavbEnv, ksft_disruptive, ksft_eq, ksft_exit, ksft_pr, ksft_raises, ksft_run
from lib.py import KsftSkipEx, cmd, defer, ethtool, sysfs_write, until

PLATFORM = Path("/sys/bus/platform")
OTHER = {"ravb": "ravb_rs", "ravb_rs": "ravb"}


def _loaded(module: str) -> bool:
    return Path("/sys/module", module).exists()


def _load_other(cfg) -> tuple:
    """(driver of the port, the other one, which is loaded now and has taken nothing)"""
    mine = (cfg.device / "driver").resolve().name
    other = OTHER.get(mine)
    if other is None:
        raise KsftSkipEx(f"{mine} has no counterpart")
    if not _loaded(other):
        if cmd(f"modprobe {other}", fail=False).ret:
            raise KsftSkipEx(f"no module {other} is installed")
        defer(cmd, f"modprobe -r {other}", fail=False)
    ksft_eq(ethtool(f"-i {cfg.ifname}").stdout.split()[1], mine, "the driver that is bound keeps the port")
    return mine, other


def _override(cfg, driver: str) -> None:
    # An empty line takes the choice back.
    sysfs_write(cfg.device / "driver_override", f"{driver}\n")


def _release(cfg) -> None:
    sysfs_write(cfg.device / "driver/unbind", cfg.device.name)


def _probe(cfg) -> None:
    sysfs_write(PLATFORM / "drivers_probe", cfg.device.name)


def _give(cfg, driver: str) -> None:
    """The three steps, and the port is there again."""
    _override(cfg, driver)
    _release(cfg)
    ksft_eq(cfg.port(), None, "a port of an unbound device")
    _probe(cfg)
    ksft_eq((cfg.device / "driver").resolve().name, driver)
    cfg.back()
    ksft_pr(f"{cfg.ifname} is served by {ethtool(f'-i {cfg.ifname}').stdout.split()[1]}")


def _restore(cfg, driver: str) -> None:
    _override(cfg, driver)
    if (cfg.device / "driver").exists() and (cfg.device / "driver").resolve().name != driver:
        _release(cfg)
    if not (cfg.device / "driver").exists():
        _probe(cfg)
    _override(cfg, "")
    cfg.back()
    cfg.resume()


@ksft_disruptive
def there_and_back(cfg) -> None:
    """The other driver serves the port, then this one again; traffic passes each time."""
    mine, other = _load_other(cfg)
    defer(_restore, cfg, mine)
    _give(cfg, other)
    cfg.resume()
    ksft_eq((cfg.sysfs / "address").read_text().strip(), cfg.mac, "address with the other driver")
    _give(cfg, mine)
    cfg.resume()
    ksft_eq((cfg.sysfs / "address").read_text().strip(), cfg.mac, "address afterwards")


@ksft_disruptive
def the_choice_holds(cfg) -> None:
    """A driver that was not chosen does not get the device, whoever asks; without a choice the next one does."""
    mine, other = _load_other(cfg)
    defer(_restore, cfg, mine)
    _override(cfg, mine)
    _release(cfg)
    with ksft_raises(OSError):
        sysfs_write(PLATFORM / "drivers" / other / "bind", cfg.device.name)
    ksft_eq((cfg.device / "driver").exists(), False, "bound")
    _override(cfg, "")
    sysfs_write(PLATFORM / "drivers" / other / "bind", cfg.device.name)
    ksft_eq((cfg.device / "driver").resolve().name, other)
    until(cfg.port, 10, "the port is back")


@ksft_disruptive
def unused_module_goes(cfg) -> None:
    """The module that serves no port can be removed while the other one does."""
    mine, other = _load_other(cfg)
    used = {p.resolve().name for p in (PLATFORM / "devices").glob("*/driver")}
    if other in used:
        raise KsftSkipEx(f"{other} serves another port")
    cmd(f"modprobe -r {other}")
    ksft_eq(_loaded(other), False, "loaded")
    ksft_eq(ethtool(f"-i {cfg.ifname}").stdout.split()[1], mine)
    cfg.resume()


def main() -> None:
    with RavbEnv(__file__) as cfg:
        ksft_run([there_and_back, the_choice_holds, unused_module_goes], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
