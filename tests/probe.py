#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""What a probed port shows: its driver, address, queues, interrupts, limits, PHY."""

import contextlib
import os
from pathlib import Path

from lib.py import RavbEnv, ksft_eq, ksft_exit, ksft_ge, ksft_in, ksft_pr, ksft_run, ksft_true
from lib.py import KsftSkipEx, cmd, defer, ethtool, ip, sysfs_write, verdict


def driver_bound(cfg) -> None:
    """The port's platform device is bound to the driver, and ethtool -i says the same."""
    names = {"c": ("ravb",), "rs": ("ravb_rs", "ravb-rs")}
    bound = (cfg.device / "driver").resolve().name
    ksft_in(bound, names[cfg.driver], "driver of the device")
    info = dict(line.split(": ", 1) for line in ethtool(f"-i {cfg.ifname}").stdout.splitlines()
                if ": " in line)
    ksft_in(info["driver"], names[cfg.driver], "ethtool -i driver")
    ksft_eq(info["bus-info"], cfg.device.name, "ethtool -i bus-info")
    ksft_eq((cfg.device / "subsystem").resolve().name, "platform")


def mac_address(cfg) -> None:
    """The station address is the one that the device tree or the boot loader gave."""
    node = cfg.device / "of_node"
    given = [p for p in (node / "mac-address", node / "local-mac-address") if p.exists()]
    if given:
        want = given[0].read_bytes().hex(":")
        ksft_eq(cfg.mac, want, "address in the device tree")
    # 0: permanent (from the hardware or the device tree), 1: random
    ksft_eq((cfg.sysfs / "addr_assign_type").read_text().strip(), "0", "address is not random")
    perm = ethtool(f"-P {cfg.ifname}").stdout.split()[-1]
    ksft_pr(f"address {cfg.mac}, ethtool -P {perm}")


def queues(cfg) -> None:
    """One queue, and the network control queue on variants that have it."""
    found = sorted(p.name for p in (cfg.sysfs / "queues").iterdir())
    want = sorted(f"{d}-{q}" for d in ("rx", "tx") for q in range(cfg.chip.queues))
    ksft_eq(found, want)


def interrupts(cfg) -> None:
    """Every line of the variant is requested, and they are different interrupts."""
    if cfg.driver == "c":
        # The device's own name is the label of a single line.
        ksft_eq(sorted(cfg.irq_counts()), sorted(cfg.chip.irqs))
    else:
        ksft_eq(len(cfg.irq_counts()), len(cfg.chip.irqs))
    lines = [line.split()[0] for line in Path("/proc/interrupts").read_text().splitlines()
             if cfg.device.name in line]
    ksft_eq(len(lines), len(set(lines)), "distinct interrupts")


def mtu_limits(cfg) -> None:
    """The MTU's range is the hardware's: both ends are taken, one more is refused."""
    detail = ip(f"-d link show dev {cfg.ifname}", json=True)[0]
    ksft_eq(detail["min_mtu"], 68)
    ksft_eq(detail["max_mtu"], cfg.chip.max_mtu)
    defer(ip, f"link set dev {cfg.ifname} mtu {detail['mtu']}")
    for mtu, taken in ((67, False), (68, True), (cfg.chip.max_mtu, True),
                       (cfg.chip.max_mtu + 1, False)):
        ret = cmd(f"ip link set dev {cfg.ifname} mtu {mtu}", fail=False).ret
        ksft_eq(ret == 0, taken, f"mtu {mtu} accepted")
    # IPv6 went away with an MTU below its minimum: an address must be given again.
    ip(f"link set dev {cfg.ifname} mtu {detail['mtu']}")
    defer(cmd, f"ip -6 addr add {cfg.addr_v['6']}/64 dev {cfg.ifname} nodad", fail=False)


def phy(cfg) -> None:
    """The PHY of the device tree is attached, by an identity read over MDIO."""
    link = cfg.sysfs / "phydev"
    ksft_true(link.exists(), "no phydev attached")
    phy_id = (link / "phy_id").read_text().strip()
    ksft_true(0 < int(phy_id, 16) < 0x1fffffff, f"PHY identity {phy_id}")
    ksft_pr(f"PHY {link.resolve().name}, id {phy_id}, "
            f"interface {(link / 'phy_interface').read_text().strip()}")


def coalescing_defaults(cfg) -> None:
    """Variants that ask for software coalescing get it: 20 us and one deferral."""
    if "PREEMPT_RT" in os.uname().version:
        raise KsftSkipEx("PREEMPT_RT: the core leaves software coalescing off")
    timeout = int((cfg.sysfs / "gro_flush_timeout").read_text())
    deferral = int((cfg.sysfs / "napi_defer_hard_irqs").read_text())
    want = (20000, 1) if cfg.chip.soft_coalescing else (0, 0)
    ksft_eq((timeout, deferral), want, "gro_flush_timeout, napi_defer_hard_irqs")


def wol_offered(cfg) -> None:
    """MagicPacket is offered exactly where the MAC can wake, and setting it agrees."""
    words = [line.split(":")[1].strip() for line in ethtool(cfg.ifname).stdout.splitlines()
             if "Supports Wake-on:" in line]
    # A driver without wake-up may leave the line out.
    offered = bool(words) and "g" in words[0]
    accepted = cmd(f"ethtool -s {cfg.ifname} wol g", fail=False).ret == 0
    if accepted:
        ethtool(f"-s {cfg.ifname} wol d")
    ksft_eq(accepted, cfg.chip.wol, "wol g accepted")
    verdict(cfg, "B14", offered, cfg.chip.wol, not cfg.chip.wol, "MagicPacket offered")


def threads(cfg) -> None:
    """Threads of NAPI, if they are there by default, are called after the port: chrt and taskset need their names."""
    threaded = cfg.sysfs / "threaded"
    default = threaded.read_text().strip()
    if default == "0":
        defer(sysfs_write, threaded, "0")
        sysfs_write(threaded, "1")
    comms = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        # Others may end meanwhile.
        with contextlib.suppress(OSError):
            comms.append(comm.read_text().strip())
    names = sorted(name for name in comms if name.startswith("napi/"))
    ksft_ge(len(names), cfg.chip.queues, "threads of NAPI")
    nameless = [name for name in names if "%" in name]
    if default == "0":
        ksft_eq(nameless, [], "threads without a name")
    else:
        verdict(cfg, "T7", nameless, [], bool, f"threads without a name among {' '.join(names)}")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([driver_bound, mac_address, queues, interrupts, mtu_limits, phy,
                  coalescing_defaults, threads, wol_offered], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
