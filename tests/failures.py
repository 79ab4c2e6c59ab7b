#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Every allocation of a call fails once, one by one: the call fails, the old state goes on, nothing leaks.

Needs the debug kernel. That call n + 1 gets one allocation further than call n also shows that call n
has left nothing behind which the next would stumble over.
"""

import collections
from pathlib import Path

from lib.py import NetdevFamily, RavbEnv, cmd, defer, ip, ksft_disruptive, ksft_eq, ksft_exit, ksft_pr, ksft_run, \
    ksft_true, sysfs_write, until
from lib.py.injection import Injector, Leaks, rings, set_rings, set_up

# More allocations than any call makes: an end that never comes is a failure.
MOST = 2000
DRIVERS = Path("/sys/bus/platform/drivers")


def _one_by_one(cfg, act, check, undo) -> None:
    """Lets @act fail in each of its allocations. @check looks at what a failure has left, @undo takes back a
    success."""
    injector = Injector(cfg.module)
    sites = collections.defaultdict(collections.Counter)
    for number in range(1, MOST):
        outcome = injector.call(number, act)
        if not outcome.injected:
            ksft_eq(outcome.error, 0, "the call without a failure")
            undo()
            break
        sites[outcome.site][outcome.result] += 1
        if outcome.error:
            check(outcome)
        else:
            undo()
    else:
        raise TimeoutError(f"{MOST} allocations, and no end")
    ksft_pr(f"{number - 1} allocations failed, at {len(sites)} sites:")
    for site, results in sorted(sites.items()):
        ksft_pr("  " + ", ".join(f"{result} x{count}" for result, count in results.items()) + f"  {site}")
    ksft_true(number > 5, f"{number - 1} allocations are too few to be true")
    ksft_true(any(r != "went on" for results in sites.values() for r in results), "a failure was reported")


def _no_leaks(leaks: Leaks, before: int) -> None:
    ksft_eq(leaks.mappings(), before, "DMA mappings")
    left = leaks.unreferenced()
    for line in left[:60]:
        ksft_pr(line)
    ksft_eq(sum(line.startswith("unreferenced") for line in left), 0, "objects that nobody points at")


def _pools(cfg) -> int:
    """Page pools of the port, and those that have lost their port."""
    return sum(pool.get("ifindex") in (None, cfg.ifindex) for pool in NetdevFamily().page_pool_get({}, dump=True))


def _pools_as(cfg, before: int) -> None:
    """A pool goes when the last of its buffers has come back."""
    until(lambda: _pools(cfg) == before, 10, f"{before} page pools")


def _port(cfg):
    found = list((cfg.device / "net").glob("*")) if (cfg.device / "net").exists() else []
    return found[0].name if found else None


def _bind(cfg, what: str) -> None:
    sysfs_write(DRIVERS / cfg.driver_name / what, cfg.device.name)


def _again(cfg) -> None:
    """The port as it was at the beginning."""
    if not (cfg.device / "driver").exists():
        _bind(cfg, "bind")
    name = until(lambda: _port(cfg), 10, "the port")
    if name != cfg.ifname:
        ip(f"link set dev {name} name {cfg.ifname}")
    ip(f"addr replace {cfg.addr_v['4']}/24 dev {cfg.ifname}")
    cmd(f"ip -6 addr replace {cfg.addr_v['6']}/64 dev {cfg.ifname} nodad", fail=False)
    cfg.set_link(True)
    until(cfg.link_up, 30, "link")
    cfg.resume(30)


@ksft_disruptive
def probe(cfg) -> None:
    """Binding a device."""
    leaks = Leaks(cfg.device.name)
    defer(_again, cfg)
    _bind(cfg, "unbind")
    before = leaks.mappings()

    def check(outcome) -> None:
        ksft_true(not (cfg.device / "driver").exists(), f"bound after {outcome}")
        ksft_true(_port(cfg) is None, f"a port after {outcome}")
        ksft_true(cfg.device.name not in Path("/proc/interrupts").read_text(), f"an interrupt after {outcome}")

    _one_by_one(cfg, lambda: _bind(cfg, "bind"), check, lambda: _bind(cfg, "unbind"))
    _no_leaks(leaks, before)


@ksft_disruptive
def open_port(cfg) -> None:
    """Bringing a port up."""
    leaks = Leaks(cfg.device.name)
    defer(_again, cfg)
    set_up(cfg.ifname, False)
    before, pools = leaks.mappings(), _pools(cfg)

    def check(outcome) -> None:
        flags = int((cfg.sysfs / "flags").read_text(), 16)
        ksft_eq(flags & 1, 0, f"up after {outcome}")

    _one_by_one(cfg, lambda: set_up(cfg.ifname, True), check, lambda: set_up(cfg.ifname, False))
    _pools_as(cfg, pools)
    _no_leaks(leaks, before)


@ksft_disruptive
def resize(cfg) -> None:
    """Changing the sizes of the rings of a port that is in use: it goes on with the old ones."""
    leaks = Leaks(cfg.device.name)
    defer(_again, cfg)
    old = (128, 64)
    set_rings(cfg.ifname, *old)
    set_up(cfg.ifname, False)
    down = leaks.mappings()
    set_up(cfg.ifname, True)
    until(cfg.link_up, 30, "link")
    cfg.resume(30)
    pools = _pools(cfg)

    def check(outcome) -> None:
        ksft_eq(rings(cfg.ifname), old, f"sizes after {outcome}")
        ksft_true(cfg.link_up(), f"link after {outcome}")
        cfg.ping(count=2, wait=5)

    _one_by_one(cfg, lambda: set_rings(cfg.ifname, 256, 128), check, lambda: set_rings(cfg.ifname, *old))
    cfg.ping(count=5, wait=5)
    _pools_as(cfg, pools)
    set_up(cfg.ifname, False)
    _no_leaks(leaks, down)


@ksft_disruptive
def send(cfg) -> None:
    """Sending: a packet that cannot be mapped is dropped and counted, the next one goes out."""
    injector = Injector(cfg.module)
    injector.functions(True)
    defer(injector.functions, False)
    leaks = Leaks(cfg.device.name)
    before = cfg.stats()["tx_dropped"]
    with cfg.local_packets() as mine:
        frame = bytes.fromhex(cfg.remote_mac.replace(":", "")) + bytes.fromhex(cfg.mac.replace(":", "")) + \
            b"\x88\xb5" + bytes(200)
        failed = 0
        for number in range(1, 20):
            outcome = injector.call(number, lambda: mine.send([frame]))
            if not outcome.injected:
                break
            ksft_pr(f"{outcome.result}  {outcome.site}")
            failed += 1
    ksft_true(failed > 0, "no mapping failed")
    ksft_eq(cfg.stats()["tx_dropped"] - before, failed, "tx_dropped")
    cfg.ping(count=5, wait=5)
    ksft_eq(sum(line.startswith("unreferenced") for line in leaks.unreferenced()), 0, "objects that nobody points at")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        cfg.driver_name = (cfg.device / "driver").resolve().name
        cfg.module = (cfg.device / "driver/module").resolve().name
        ksft_run([probe, open_port, resize, send], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
