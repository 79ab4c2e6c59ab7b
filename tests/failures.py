#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Every allocation and mapping of a call fails once, one by one: the call fails, the old state goes on, nothing leaks.

Needs the debug kernel. That call n + 1 gets one allocation further than call n also shows that call n
has left nothing behind which the next would stumble over.
"""

import collections
import contextlib
import os
import re
import struct
from pathlib import Path

from lib.py import KsftNamedVariant, NetdevFamily, RavbEnv, bpf, cmd, defer, ioctls, ip, ksft_disruptive, ksft_eq, \
    ksft_exit, ksft_ge, ksft_pr, ksft_run, ksft_true, ksft_variants, ptp, sysfs_write, until
from lib.py.injection import KINDS, OBJECTS, PAGES, UNSAID, Injector, Leaks
from lib.py.packets import ETH_P_TEST, eth
from coalesce import Port
from rings import restore_later, sizes
from updown import available_kib, leak_check

# More than any call makes: an end that never comes is a failure.
MOST = 1000
# As small as they may be, so that each buffer's turn comes.
SMALL = 64
PM = Path("/sys/power")
PM_DELAY = Path("/sys/module/suspend/parameters/pm_test_delay")
SWOL, SRXCSUM, STXCSUM, SCHANNELS = 0x6, 0x15, 0x17, 0x3d
WAKE_MAGIC = 1 << 5
# What warns of nothing: pools of buffers, and the checker of references to devices.
SILENT = ("rnet_page_pool_alloc", "ref_tracker_alloc")


class Calls:
    """Calls of @act, each with another failure, and what @result says has become of them."""

    def __init__(self, name: str, act, result=lambda outcome: outcome.result):
        self.name = name
        self._act = act
        self._result = result
        self.sites = collections.defaultdict(collections.Counter)
        self._seen = set()

    def first(self, outcome) -> bool:
        """Whether nothing failed, or nothing has failed at this place before: the rest need no long look."""
        seen = outcome.injected and outcome.site in self._seen
        self._seen.add(outcome.site)
        return not seen

    def each(self, cfg, kinds: tuple = KINDS):
        """What each call made of its failure; of each kind, the last one had none, and must work."""
        for kind in kinds:
            injector = Injector(cfg.module, kind)
            try:
                yield from self._each(injector)
            finally:
                injector.close()

    def _each(self, injector: Injector):
        for number in range(1, MOST):
            outcome = injector.call(number, self._act)
            if not outcome.injected:
                break
            self.sites[outcome.site][self._result(outcome)] += 1
            yield outcome
        else:
            raise TimeoutError(f"{MOST} failures, and no end")
        yield self._success(outcome)
        # Where those were of which nothing is said: all there, if there are as many.
        unsaid, found = f"{injector.kind}: {UNSAID}", []
        if unsaid in self.sites:
            for function in SILENT:
                injector.only_within(function)
                outcome = injector.call(MOST, self._act)
                if outcome.reached:
                    found.append((outcome.reached, function))
                yield self._success(outcome)
            if sum(count for count, _ in found) == sum(self.sites[unsaid].values()):
                where = ", ".join(f"{function} x{count}" for count, function in found)
                self.sites[f"{injector.kind}: {where}"] = self.sites.pop(unsaid)

    @staticmethod
    def _success(outcome):
        ksft_eq(outcome.error, 0, "the call without a failure")
        return outcome

    def report(self, least: int) -> None:
        """The table: a line for each place, with what became of the calls."""
        for site, results in sorted(self.sites.items()):
            outcomes = ", ".join(f"{result} x{count}" for result, count in sorted(results.items()))
            ksft_pr(f"{self.name}: {outcomes}: {site}")
        count = sum(sum(results.values()) for results in self.sites.values())
        ksft_pr(f"{self.name}: {count} failures at {len(self.sites)} places")
        ksft_ge(count, least, f"failures in {self.name}")


def _sweep(cfg, calls: Calls, failed, undo, works, kinds: tuple = KINDS, least: int = 5) -> None:
    """All of @calls. @failed looks at what a failure has left, @works at what a success is good for, and @undo takes
    that back."""
    for outcome in calls.each(cfg, kinds):
        if outcome.error:
            failed(outcome)
        else:
            if calls.first(outcome):
                works()
            undo()
    calls.report(least)
    ksft_true(any(result != "went on" for results in calls.sites.values() for result in results),
              "a failure was reported")


def _pools(cfg) -> int:
    """Page pools of the port, and those that have lost their port."""
    return sum(pool.get("ifindex") in (None, cfg.ifindex) for pool in NetdevFamily().page_pool_get({}, dump=True))


@contextlib.contextmanager
def _nothing_left(cfg):
    """Of a port that is down, or not there: what it holds afterwards is what it has held before."""
    leaks = Leaks()
    mapped, pools, memory = leaks.mapped(cfg.device.name), _pools(cfg), available_kib()
    yield
    # A pool goes when the last of its buffers has come back.
    until(lambda: _pools(cfg) == pools, 10, f"{pools} page pools")
    leaks.check({cfg.device.name: mapped})
    # Coarse: the checkers themselves take some megabytes meanwhile.
    leak_check(memory, 1, 16384)


def _passes(cfg) -> None:
    """The port has its link, and traffic passes."""
    until(cfg.link_up, 30, "link")
    cfg.resume(30)


def _begin(cfg) -> None:
    """The port with the smallest rings, and as it was when the case is over."""
    defer(_passes, cfg)
    defer(cfg.restore)
    restore_later(cfg)
    ioctls.set_rings(cfg.ifname, SMALL, SMALL)
    cfg.set_link(False)


@ksft_disruptive
def probe(cfg) -> None:
    """Binding a device."""
    defer(_passes, cfg)
    defer(cfg.restore)
    cfg.unbind()

    def failed(outcome) -> None:
        ksft_true(not cfg.bound(), f"bound after {outcome.site}")
        ksft_true(cfg.port() is None, f"a port after {outcome.site}")
        ksft_true(cfg.device.name not in Path("/proc/interrupts").read_text(), f"an interrupt after {outcome.site}")

    def works() -> None:
        cfg.back()
        cfg.ping(count=1, wait=5)

    with _nothing_left(cfg):
        # What a device maps it maps when it is opened.
        _sweep(cfg, Calls("probe", cfg.bind), failed, cfg.unbind, works, kinds=(OBJECTS, PAGES))


@ksft_disruptive
def open_port(cfg) -> None:
    """Bringing a port up."""
    _begin(cfg)

    def failed(outcome) -> None:
        ksft_eq(int((cfg.sysfs / "flags").read_text(), 16) & ioctls.IFF_UP, 0, f"up after {outcome.site}")

    with _nothing_left(cfg):
        _sweep(cfg, Calls("open", lambda: ioctls.set_up(cfg.ifname, True)), failed,
               lambda: cfg.set_link(False), lambda: _passes(cfg))


def _goes_on(cfg, what: str) -> None:
    """A port that was in use still is, by the rings it had."""
    ksft_true(cfg.link_up(), f"link after {what}")
    cfg.ping(count=2, wait=5)


@ksft_disruptive
def resize(cfg) -> None:
    """Changing the sizes of the rings of a port that is in use: it goes on with the old ones."""
    _begin(cfg)
    wanted = SMALL + 32

    def is_now(size: int, what: str) -> None:
        now = sizes(cfg)
        ksft_eq((now["rx"], now["tx"]), (size, size), f"sizes after {what}")
        _goes_on(cfg, what)

    with _nothing_left(cfg):
        cfg.set_link(True)
        _passes(cfg)
        _sweep(cfg, Calls("resize", lambda: ioctls.set_rings(cfg.ifname, wanted, wanted)),
               lambda outcome: is_now(SMALL, outcome.site), lambda: ioctls.set_rings(cfg.ifname, SMALL, SMALL),
               lambda: is_now(wanted, "a success"))
        cfg.set_link(False)


# What is mapped is the same in both.
WAYS = (("netlink", "netlink", KINDS), ("link", "link", (OBJECTS, PAGES)))


def _ways(cfg, how: str) -> tuple:
    """Calls that attach a program which lets everything pass, and take it away: by rtnetlink, or by a BPF link and the
    end of it. It goes with the case."""
    program = bpf.Program(bpf.verdict_program(bpf.PASS))
    defer(program.close)
    links = []

    def there() -> None:
        if how == "link":
            links.append(bpf.link(cfg.ifindex, program.fd))
        else:
            bpf.attach(cfg.ifindex, program.fd)

    def back() -> None:
        if how == "link":
            os.close(links.pop())
        else:
            bpf.attach(cfg.ifindex, -1)

    def end() -> None:
        if how == "netlink" or links:
            back()

    defer(end)
    return there, back


def _attached(cfg, want: bool, what: str) -> None:
    shown = ip(f"-d link show dev {cfg.ifname}", json=True)[0]
    ksft_eq("xdp" in shown, want, f"a program after {what}")
    _goes_on(cfg, what)


@ksft_variants([KsftNamedVariant(*way) for way in WAYS])
@ksft_disruptive
def attach(cfg, how, kinds) -> None:
    """Attaching an XDP program to a port that is in use: it goes on without."""
    _begin(cfg)
    there, back = _ways(cfg, how)
    with _nothing_left(cfg):
        cfg.set_link(True)
        _passes(cfg)
        _sweep(cfg, Calls(f"attach ({how})", there), lambda outcome: _attached(cfg, False, outcome.site), back,
               lambda: _attached(cfg, True, "a success"), kinds)
        cfg.set_link(False)


@ksft_variants([KsftNamedVariant(*way) for way in WAYS])
@ksft_disruptive
def detach(cfg, how, kinds) -> None:
    """Taking an XDP program away cannot fail, on which the stack relies: without memory the port keeps its rings."""
    _begin(cfg)
    there, back = _ways(cfg, how)
    calls = Calls(f"detach ({how})", back)
    with _nothing_left(cfg):
        cfg.set_link(True)
        _passes(cfg)
        there()
        for outcome in calls.each(cfg, kinds):
            ksft_eq(outcome.error, 0, f"detaching with {outcome.site}")
            if calls.first(outcome):
                _attached(cfg, False, outcome.site)
            there()
        back()
        calls.report(5)
        cfg.set_link(False)


@ksft_disruptive
def suspend(cfg) -> None:
    """Suspending and resuming: a port that cannot be resumed can be taken down and up again. (What it maps then it maps
    as when it is opened.)"""
    _begin(cfg)
    if not PM_DELAY.exists():
        raise FileNotFoundError("CONFIG_PM_DEBUG is off, without which each suspend would be a sleep")
    # Devices, one after another in the calling process, and nothing else; awake again at once.
    for path, value in ((PM / "pm_test", "devices"), (PM_DELAY, "0"), (PM / "pm_async", "0")):
        found = re.search(r"\[(\w+)\]|(\w+)", path.read_text())
        defer(sysfs_write, path, found[1] or found[2])
        sysfs_write(path, value)

    def lost(outcome) -> list:
        """Devices that have not been resumed: that is only logged."""
        return [found[1] for line in outcome.log if (found := re.search(r"(\S+): PM: failed to resume.*: error", line))]

    calls = Calls("suspend", lambda: sysfs_write(PM / "state", "freeze"),
                  result=lambda outcome: "not resumed" if lost(outcome) else outcome.result)

    def far_end(way: str) -> None:
        cmd(f"ip link set dev {cfg.remote_ifname} {way}", host=cfg.remote)

    defer(far_end, "up")
    with _nothing_left(cfg):
        cfg.set_link(True)
        _passes(cfg)
        # It may be a port of the same driver, which would be suspended and resumed as well.
        far_end("down")
        for outcome in calls.each(cfg, (OBJECTS, PAGES)):
            if lost(outcome):
                ksft_eq((outcome.injected, lost(outcome)), (True, [cfg.device.name]), "not resumed")
                cfg.set_link(False)
                cfg.set_link(True)
            if calls.first(outcome):
                far_end("up")
                _passes(cfg)
                far_end("down")
        calls.report(5)
        cfg.set_link(False)


def _settings(cfg) -> dict:
    """Other things that can be set on a port in use, as pairs of calls: there, and back."""
    port = Port(cfg)

    def coalesce(usecs: int) -> None:
        if error := port.set(usecs, usecs):
            raise OSError(error, "coalescing")

    def words(command: int, *values: int):
        return lambda: ioctls.ethtool(cfg.ifname, struct.pack(f"{1 + len(values)}I", command, *values))

    channels = words(SCHANNELS, 0, 0, 0, 0, 0, 0, 0, cfg.chip.queues)
    settings = {
        "coalesce": (lambda: coalesce(50), lambda: coalesce(0)),
        "channels": (channels, channels),
        "rx checksums": (words(SRXCSUM, 0), words(SRXCSUM, 1)),
        "mtu": (lambda: ioctls.set_mtu(cfg.ifname, 1000), lambda: ioctls.set_mtu(cfg.ifname, cfg.dev["mtu"])),
    }
    if cfg.chip.tx_csum:
        settings["tx checksums"] = (words(STXCSUM, 0), words(STXCSUM, 1))
    if cfg.chip.wol:
        settings["wol"] = (words(SWOL, 0, WAKE_MAGIC, 0, 0), words(SWOL, 0, 0, 0, 0))
    if cfg.chip.hw_stamps:
        before = ptp.hwtstamp_get(cfg.ifname)
        settings["hwtstamp"] = (lambda: ptp.hwtstamp_set(cfg.ifname, ptp.TX_ON, ptp.FILTER_ALL),
                                lambda: ptp.hwtstamp_set(cfg.ifname, *before))
    return settings


@ksft_disruptive
def settings(cfg) -> None:
    """Other settings of a port in use: most need no memory at all, and the port goes on whatever becomes of them."""
    _begin(cfg)
    with _nothing_left(cfg):
        cfg.set_link(True)
        _passes(cfg)
        for name, (there, back) in _settings(cfg).items():
            calls = Calls(name, there)
            for outcome in calls.each(cfg):
                _goes_on(cfg, f"{name} with {outcome.site if outcome.injected else 'no failure'}")
                back()
            calls.report(0)
        cfg.set_link(False)


@ksft_disruptive
def send(cfg) -> None:
    """Sending: a packet that cannot be mapped is dropped and counted, the next one goes out."""
    leaks = Leaks()
    before, failed = cfg.stats()["tx_dropped"], 0
    with cfg.local_packets() as mine:
        for size in (60, 61, 214):
            frame = eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, bytes(size - 14))
            calls = Calls(f"send {size} bytes", lambda: mine.send([frame]))     # noqa: B023
            for outcome in calls.each(cfg):
                ksft_eq(outcome.error, 0, "sending")
                failed += outcome.injected
            calls.report(1)
    ksft_eq(cfg.stats()["tx_dropped"] - before, failed, "tx_dropped")
    cfg.ping(count=5, wait=5)
    leaks.check({})


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        cmd("mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf", shell=True)
        ksft_run([open_port, resize, attach, detach, suspend, settings, send, probe], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
