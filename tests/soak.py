#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Again and again under a flood: down and up, the module out and in. It works each time, and nothing leaks.

A few cycles, as a rule; 200 and 50 of them with RAVB_LONG=1 in the environment. (The runner of the twin
fails the run if the kernel warns of anything.)
"""

import re
from pathlib import Path

from lib.py import LinkWatch, NetdevFamily, RavbEnv, ksft_disruptive, ksft_eq, ksft_exit, ksft_lt, ksft_pr, ksft_run, \
    ksft_true
from lib.py import cmd, defer, ip, sysfs_write, until
from lib.py.env import DRIVERS
from updown import available_kib

# One frame in 20 us: more than the port can take while it comes and goes, less than what keeps a test busy.
FLOOD = {"payload": 200, "interval": "20us", "for": "3600s"}
FRAMES = 300
# Where the twin's runner puts a module that is not installed.
JOB = Path("/job/modules")


def _flood(cfg) -> None:
    """Frames for a UDP port that nobody listens on come at once, whatever the port does."""
    twin = cfg.require_twin()
    twin.flood(**FLOOD)
    defer(twin.order, "stop")


def _flooded(cfg) -> None:
    """Waits until the flood arrives."""
    start = cfg.stats()["rx_packets"]
    until(lambda: cfg.stats()["rx_packets"] >= start + FRAMES, 15, "the flood is received")


def _pools() -> list:
    return NetdevFamily().page_pool_get({}, dump=True)


def _in_flight() -> int:
    """Pages that all pools have given out and not got back."""
    return sum(pool["inflight"] for pool in _pools())


def _slab_kib() -> int:
    return int(re.search(r"SUnreclaim:\s+(\d+)", Path("/proc/meminfo").read_text())[1])


class Level:
    """What must not grow. To be made, and checked, with the port up and the flood on."""

    def __init__(self):
        self.pools = len(_pools())
        self.pages = _in_flight()
        self.available = available_kib()
        self.slab = _slab_kib()

    def check(self, cycles: int) -> None:
        """No pool is left over; less memory is gone than one ring's buffers a few cycles would take."""
        until(lambda: not any("detach-time" in pool for pool in _pools()), 30, "no page pool waits for its pages")
        ksft_eq(len(_pools()), self.pools, "page pools")
        now = Level()
        ksft_pr(f"after {cycles} cycles: {now.pools} page pools with {now.pages} pages out ({self.pages} before), "
                f"{self.available - now.available} KiB less available, {now.slab - self.slab} KiB more slab")
        # Packets on their way make the difference.
        ksft_lt(abs(now.pages - self.pages), 256, "pages that pools have given out, more or less than before")
        ksft_lt(self.available - now.available, 8192, "KiB of memory gone")
        ksft_lt(now.slab - self.slab, 4096, "KiB of slab gone")


@ksft_disruptive
def down_up(cfg) -> None:
    """Down and up; frames are received each time."""
    cycles = cfg.long(10, 200)
    defer(until, cfg.link_up, 15, "link")
    defer(cfg.set_link, True)
    _flood(cfg)
    level = None
    with LinkWatch(cfg.ifindex) as watch:
        for n in range(cycles):
            cfg.set_link(False)
            watch.drain()
            cfg.set_link(True)
            watch.wait_link(True)
            _flooded(cfg)
            if n == 2:
                level = Level()
    level.check(cycles - 3)
    cfg.twin.order("stop")
    cfg.resume()


def _others(cfg) -> list:
    """The devices of the driver's other ports."""
    return [p.resolve() for p in (DRIVERS / cfg.driver_name).iterdir()
            if p.is_symlink() and (p / "net").is_dir() and p.resolve() != cfg.device]


def _unload(cfg, devices: list) -> None:
    if cfg.driver == "c":
        # As long as it has a port, its MDIO buses count as users of its module.
        for device in devices:
            sysfs_write(DRIVERS / cfg.driver_name / "unbind", device.name)
    cmd(f"rmmod {cfg.module}")
    ksft_eq(Path("/sys/module", cfg.module).exists(), False, "loaded")


def _load(cfg, others: list) -> None:
    # Its file may have any name.
    path = next((p for p in JOB.glob("*.ko")
                 if cmd(f"modinfo -F name {p}").stdout.strip().replace("-", "_") == cfg.module), None)
    cmd(f"insmod {path}" if path else f"modprobe {cfg.module}")
    # Another port may have come first, and got the name.
    if any((device / "net" / cfg.ifname).exists() for device in others):
        ip(f"link set dev {cfg.ifname} name spare0")


def _peer_back(cfg, others: list) -> None:
    """Where the far end is another port of the driver, in a namespace: it went and came as well."""
    if cfg.env.get("REMOTE_TYPE") != "netns":
        return
    space = cfg.env["REMOTE_ARGS"]
    for device in others:
        # Once it is in the namespace it is not seen here.
        found = next((device / "net").glob("*"), None)
        if found is None:
            continue
        ip(f"link set dev {found.name} netns {space} name {cfg.remote_ifname}")
        ip(f"-n {space} addr add {cfg.remote_addr_v['4']}/24 dev {cfg.remote_ifname}")
        ip(f"-n {space} -6 addr add {cfg.remote_addr_v['6']}/64 dev {cfg.remote_ifname} nodad")
        ip(f"-n {space} link set dev {cfg.remote_ifname} up")


def _restore(cfg, others: list) -> None:
    if not Path("/sys/module", cfg.module).exists():
        _load(cfg, others)
    _peer_back(cfg, others)
    cfg.back()


@ksft_disruptive
def out_in(cfg) -> None:
    """The module is unloaded with its ports up, and loaded again; frames are received each time."""
    cycles = cfg.long(5, 50)
    others = _others(cfg)
    defer(_restore, cfg, others)
    _flood(cfg)
    level = None
    for n in range(cycles):
        _unload(cfg, [cfg.device, *others])
        ksft_true(cfg.port() is None, "the port is gone")
        _load(cfg, others)
        cfg.back()
        _flooded(cfg)
        if n == 2:
            level = Level()
    level.check(cycles - 3)
    cfg.twin.order("stop")
    _peer_back(cfg, others)
    cfg.resume()


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([down_up, out_in], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
