#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Wake on LAN: a magic packet ends suspend to idle.

Runs last: on a variant whose driver fails, the port cannot be used any more in this boot.
"""

import errno
import time
from pathlib import Path

from lib.py import RavbEnv, ksft_disruptive, ksft_eq, ksft_exit, ksft_lt, ksft_pr, ksft_run
from lib.py import KsftSkipEx, cmd, defer, ethtool, fatal, sysfs_write, until, verdict
from lib.py.packets import eth, mac_bytes
from suspend import sleep_until_alarm

ALARM = 20


def magic(cfg) -> bytes:
    """The frame that wakes the port."""
    return eth("ff:ff:ff:ff:ff:ff", cfg.remote_mac, 0x0842, b"\xff" * 6 + mac_bytes(cfg.mac) * 16)


@ksft_disruptive
def wakes(cfg) -> None:
    """Asleep with wol g, a magic packet wakes the system; the port works again afterwards."""
    if not cfg.chip.wol:
        raise KsftSkipEx(f"{cfg.chip.name} has no magic packet detection")
    twin = cfg.require_twin()
    alarm = Path("/sys/class/rtc/rtc0/wakealarm")
    if not alarm.exists():
        raise KsftSkipEx("no real-time clock with an alarm, and so no way out if nothing wakes")
    ethtool(f"-s {cfg.ifname} wol g")
    sysfs_write(alarm, "0")
    sysfs_write(alarm, f"+{ALARM}")
    twin.frame(magic(cfg), delay_ms=2000)
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    try:
        sysfs_write("/sys/power/state", "freeze")
        got = 0
    except OSError as e:
        got = e.errno
    took = time.clock_gettime(time.CLOCK_BOOTTIME) - before
    sysfs_write(alarm, "0")
    ksft_pr(f"answer {got}, asleep for {took:.2f} s (packet after 2 s, alarm after {ALARM} s)")
    if got == 0:
        defer(ethtool, f"-s {cfg.ifname} wol d")
        ksft_lt(took, ALARM / 2, "seconds asleep: the packet was to end it")
        until(cfg.link_up, 15, "link after resume")
        cfg.resume()
    else:
        dead = cfg.ping(count=1, fail=False, wait=1).ret != 0
        ksft_pr(f"port {'dead' if dead else 'alive'} after the refused suspend")
    verdict(cfg, "B13", got, 0, errno.EINVAL, "answer to suspend with wol g")


@ksft_disruptive
def no_wake_without(cfg) -> None:
    """Asleep without wol, the packet does not wake."""
    twin = cfg.require_twin()
    wakeups = cfg.device / "power/wakeup_count"
    before = wakeups.read_text() if wakeups.exists() else ""
    twin.frame(magic(cfg), delay_ms=500)
    took = sleep_until_alarm()
    ksft_pr(f"asleep for {took:.2f} s")
    ksft_eq((wakeups.read_text() if wakeups.exists() else ""), before, "wake-ups by the port")
    until(cfg.link_up, 15, "link after resume")
    cfg.resume()
    cmd("ip neigh flush all", fail=False)


@ksft_disruptive
def failed_resume(cfg) -> None:
    """The MAC does not come back from a sleep with wol g; once it is well again, so is the port."""
    if not cfg.chip.wol:
        raise KsftSkipEx(f"{cfg.chip.name} has no magic packet detection")
    twin = cfg.require_twin()
    fatal(cfg, "T4")
    defer(cfg.set_link, True)
    ethtool(f"-s {cfg.ifname} wol g")
    defer(twin.stuck_mode, False)
    twin.stuck_mode(True)
    sleep_until_alarm()
    twin.stuck_mode(False)
    cfg.set_link(False)
    ethtool(f"-s {cfg.ifname} wol d")
    # This sleep has nothing to do with magic packets any more.
    sleep_until_alarm()
    cfg.set_link(True)
    until(cfg.link_up, 15, "link")
    cfg.resume()


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([no_wake_without, failed_resume, wakes], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
