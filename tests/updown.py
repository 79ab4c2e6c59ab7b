#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Down and up, unbind and bind, many times, under traffic: it works, and nothing leaks."""

import contextlib
import os
import re
import shlex
import subprocess
from pathlib import Path

from lib.py import RavbEnv, LinkWatch, fatal, ksft_disruptive, ksft_eq, ksft_exit, ksft_lt, ksft_pr, \
    ksft_run, ksft_true
from lib.py import bkg, cmd, defer, ethtool, until

CYCLES = 50
BINDS = 20


def available_kib() -> int:
    """Memory that is not in use, caches dropped: also what the CPUs have put aside for themselves."""
    # KASAN holds back what was freed. That of a cache it gives up when the cache is shrunk.
    if Path("/sys/kernel/debug/kmemleak").exists():
        for cache in sorted(Path("/sys/kernel/slab").iterdir(), key=lambda p: not p.name.startswith("kmalloc")):
            (cache / "shrink").write_text("1")
    Path("/proc/sys/vm/drop_caches").write_text("3")
    free = int(re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())[1])
    aside = sum(map(int, re.findall(r"^ +count: +(\d+)", Path("/proc/zoneinfo").read_text(), re.MULTILINE)))
    return free + aside * os.sysconf("SC_PAGE_SIZE") // 1024


def leak_check(before: int, cycles: int, limit: int = 8192) -> None:
    """Less memory is gone than one ring's buffers a cycle would take, for good."""
    gone = []

    def settled():
        # Several CPUs are late with giving back what nobody uses.
        gone.append(before - available_kib())
        return gone[-1] < limit

    with contextlib.suppress(TimeoutError):
        until(settled, 10, "memory given back")
    ksft_pr(f"{gone[-1]} KiB less memory after {cycles} cycles")
    ksft_lt(gone[-1], limit, "KiB of memory gone")


@ksft_disruptive
def down_up(cfg) -> None:
    """Fifty times down and up under traffic from both ends; it flows again each time."""
    defer(until, cfg.link_up, 15, "link")
    defer(cfg.set_link, True)
    total = 0.0
    memory = None
    options = "-q -n -i 0.02 -W 1 -s 400"
    with bkg(f"ping {options} {cfg.addr_v['4']}", host=cfg.remote), \
            bkg(f"ping {options} -I {cfg.addr_v['4']} {cfg.remote_addr_v['4']}"), \
            LinkWatch(cfg.ifindex) as watch:
        for n in range(CYCLES):
            cfg.set_link(False)
            ksft_eq(cfg.link_up(), False)
            watch.drain()
            cfg.set_link(True)
            total += watch.wait_link(True)
            if n % 10 == 9:
                cfg.resume()
            if n == 4:
                memory = available_kib()
    ksft_pr(f"{CYCLES} cycles, carrier {total / CYCLES:.2f} s after up on average")
    cfg.resume()
    leak_check(memory, CYCLES - 5)


@ksft_disruptive
def down_up_at_once(cfg) -> None:
    """Down right after up, before the PHY has a link, again and again."""
    defer(until, cfg.link_up, 15, "link")
    defer(cfg.set_link, True)
    for _ in range(CYCLES):
        cfg.set_link(True)
        cfg.set_link(False)
    cfg.set_link(True)
    until(cfg.link_up, 15, "link")
    cfg.resume()


@ksft_disruptive
def unbind_bind(cfg) -> None:
    """Twenty times unbound while up and in use, and bound again."""
    defer(cfg.restore)
    memory = None
    with bkg(f"ping -q -n -i 0.02 -W 1 {cfg.addr_v['4']}", host=cfg.remote):
        for n in range(BINDS):
            cfg.unbind()
            ksft_true(cfg.port() is None, "the port is gone")
            cfg.bind()
            cfg.back()
            cfg.resume()
            if n == 4:
                memory = available_kib()
    ksft_eq((cfg.sysfs / "address").read_text().strip(), cfg.mac, "address after the cycles")
    leak_check(memory, BINDS - 5)


@ksft_disruptive
def unbind_bind_down(cfg) -> None:
    """Unbound and bound while down, which leaves the PHY and the MAC in reset."""
    defer(cfg.restore)
    for _ in range(BINDS):
        until(cfg.port, 10, "the port is back")
        cfg.set_link(False)
        cfg.unbind()
        cfg.bind()
    cfg.back()
    cfg.resume()


def _threads() -> int:
    """How many NAPI instances are polled by threads."""
    count = 0
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            count += comm.read_text().startswith("napi/")
    return count


def _switch_threads(cfg, value: str) -> None:
    """Writes threaded, or gives the machine up: nobody can change any network device if this hangs."""
    with subprocess.Popen(["sh", "-c", f"echo {value} > {cfg.sysfs}/threaded"]) as writer:
        try:
            ksft_eq(writer.wait(10), 0, "status of the write")
        except subprocess.TimeoutExpired:
            for key in "wc":  # who waits where, and the end
                Path("/proc/sysrq-trigger").write_text(key)


@ksft_disruptive
def threads_while_down(cfg) -> None:
    """Threaded NAPI can be switched while the port is down, and what was set holds when it is up."""
    fatal(cfg, "T6")
    before = (cfg.sysfs / "threaded").read_text()
    defer(_switch_threads, cfg, before.strip())
    defer(until, cfg.link_up, 15, "link")
    defer(cfg.set_link, True)
    _switch_threads(cfg, "0")
    others = _threads()
    for value, threads in (("1", cfg.chip.queues), ("0", 0), ("1", cfg.chip.queues)):
        cfg.set_link(False)
        _switch_threads(cfg, value)
        cfg.set_link(True)
        until(cfg.link_up, 15, "link")
        ksft_eq(_threads() - others, threads, f"threads with threaded {value}")
        cfg.resume()


@ksft_disruptive
def threads_while_at_rest(cfg) -> None:
    """Threaded NAPI can be switched while the queues are at rest, for a moment, for something else."""
    fatal(cfg, "T6")
    twin = cfg.require_twin()
    defer(_switch_threads, cfg, (cfg.sysfs / "threaded").read_text().strip())
    rx, tx = ethtool(f"-g {cfg.ifname}", json=True)[0]["rx"], cfg.chip.tx_csum
    # The moment is a long one: half a second for what is there to see.
    defer(twin.order, "slow 0")
    twin.order("slow 50ms")
    writes = 0
    for change in (f"ethtool -G {cfg.ifname} rx {rx - 1}", f"ethtool -G {cfg.ifname} rx {rx}",
                   *([f"ethtool -K {cfg.ifname} tx off", f"ethtool -K {cfg.ifname} tx on"] if tx else []),
                   f"sh -c 'ip link set {cfg.ifname} down; ip link set {cfg.ifname} up'"):
        with subprocess.Popen(shlex.split(change)) as other:
            while other.poll() is None:
                _switch_threads(cfg, str(writes % 2))
                writes += 1
        ksft_eq(other.returncode, 0, change)
    ksft_pr(f"threads switched {writes} times")
    twin.order("slow 0")
    until(cfg.link_up, 15, "link")
    cfg.resume()


def quiet(cfg) -> None:
    """An idle port makes no interrupts of its own: no line was left asserted."""
    def total():
        return sum(cfg.irq_counts().values())

    before = total()
    cmd("sleep 1")
    storm = total() - before
    ksft_pr(f"{storm} interrupts in an idle second")
    ksft_lt(storm, 100, "interrupts in an idle second")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([down_up, down_up_at_once, unbind_bind, unbind_bind_down, threads_while_down,
                  threads_while_at_rest, quiet], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
