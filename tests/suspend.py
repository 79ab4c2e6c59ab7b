#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Suspend to idle and back, woken by the real-time clock: the port comes back as it was."""

import socket
import time
from pathlib import Path

from lib.py import RavbEnv, ksft_disruptive, ksft_eq, ksft_exit, ksft_ge, ksft_lt, ksft_pr, \
    ksft_run
from lib.py import KsftSkipEx, bkg, cmd, defer, ethtool, sysfs_write, until
from lib.py import ptp
from lib.py.packets import ETH_P_TEST, eth, of_type

ASLEEP = 2      # seconds until the alarm; the clock has a resolution of one


def sleep_until_alarm() -> float:
    """Suspends to idle; returns the seconds that passed on the boot clock."""
    alarm = Path("/sys/class/rtc/rtc0/wakealarm")
    if not alarm.exists():
        raise KsftSkipEx("no real-time clock with an alarm")
    if "freeze" not in Path("/sys/power/state").read_text().split():
        raise KsftSkipEx("the kernel has no suspend to idle")
    sysfs_write(alarm, "0")
    sysfs_write(alarm, f"+{ASLEEP}")
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    sysfs_write("/sys/power/state", "freeze")
    took = time.clock_gettime(time.CLOCK_BOOTTIME) - before
    sysfs_write(alarm, "0")
    return took


def _suspend(cfg) -> None:
    took = sleep_until_alarm()
    ksft_pr(f"slept {took:.2f} s")
    ksft_ge(took, 0.5, "seconds asleep")


@ksft_disruptive
def up(cfg) -> None:
    """Suspended while up and carrying traffic; link, addresses and traffic return by themselves."""
    with bkg(f"ping -q -n -i 0.01 -W 1 {cfg.addr_v['4']}", host=cfg.remote):
        _suspend(cfg)
    until(cfg.link_up, 15, "link after resume")
    cfg.resume()
    cfg.resume(ipver="6")
    ksft_eq(ethtool(f"-g {cfg.ifname}", json=True)[0]["rx"], 1024, "rx ring after resume")


@ksft_disruptive
def twice_in_a_row(cfg) -> None:
    """Suspended again before the link is back."""
    _suspend(cfg)
    _suspend(cfg)
    until(cfg.link_up, 15, "link after resume")
    cfg.resume()


@ksft_disruptive
def down(cfg) -> None:
    """Suspended while down; it can be brought up afterwards."""
    defer(until, cfg.link_up, 15, "link")
    defer(cfg.set_link, True)
    cfg.set_link(False)
    _suspend(cfg)
    ksft_eq(cfg.link_up(), False)
    cfg.set_link(True)
    until(cfg.link_up, 15, "link")
    cfg.resume()


@ksft_disruptive
def promisc_kept(cfg) -> None:
    """Promiscuous mode is still on after resume (R49)."""
    foreign = eth("02:00:00:00:88:99", cfg.remote_mac, ETH_P_TEST, bytes(50))
    with cfg.local_packets(promisc=True) as sock:
        _suspend(cfg)
        until(cfg.link_up, 15, "link after resume")
        cfg.resume()
        with cfg.remote_packets() as peer:
            peer.send([foreign])
        ksft_eq(len(sock.capture(of_type(ETH_P_TEST), 1, 5)), 1, "foreign frames received")


@ksft_disruptive
def offloads_kept(cfg) -> None:
    """Offloads that were off stay off after resume, and traffic agrees with them."""
    defer(ethtool, f"-K {cfg.ifname} rx on")
    ethtool(f"-K {cfg.ifname} rx off")
    _suspend(cfg)
    until(cfg.link_up, 15, "link after resume")
    ksft_eq(ethtool(f"-k {cfg.ifname}", json=True)[0]["rx-checksumming"]["active"], False)
    cfg.resume()
    cfg.ping(wait=5, size=1400)


@ksft_disruptive
def clock_after(cfg) -> None:
    """After resume the PTP clock runs at its rate and packets are stamped (R50)."""
    cfg.require_stamps()
    _suspend(cfg)
    until(cfg.link_up, 15, "link after resume")
    cfg.resume()
    defer(ptp.hwtstamp_set, cfg.ifname, *ptp.hwtstamp_get(cfg.ifname))
    ptp.hwtstamp_set(cfg.ifname, ptp.TX_ON, ptp.FILTER_NONE)
    with ptp.open_phc(cfg) as clock, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        a = clock.sample()
        cmd("sleep 0.3")
        b = clock.sample()
        ppm = ((b[1] - a[1]) / (b[0] - a[0]) - 1) * 1e6
        unsure = (a[2] + b[2]) / 2 / (b[0] - a[0]) * 1e6
        ksft_lt(abs(ppm), 5 + unsure, "rate error in ppm")
        sock.setsockopt(socket.SOL_SOCKET, ptp.SO_TIMESTAMPING,
                        ptp.SOF_TX_HARDWARE | ptp.SOF_RAW_HARDWARE)
        start = clock.now()
        sock.sendto(b"after resume", (cfg.remote_addr_v["4"], 9))
        stamp = ptp.tx_stamp(sock, 2)[1]
        ksft_eq(start < stamp < clock.now(), True, f"stamp {stamp} after {start}")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([up, twice_in_a_row, down, promisc_kept, offloads_kept, clock_after],
                 args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
