#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Interrupt coalescing by ethtool -C and -Q: what can be set, and what it does to interrupts."""

import ctypes
import errno
import itertools
import json
import mmap
import os
import random
import re
import signal
import socket
import statistics
import struct
import time
from pathlib import Path

from lib.py import RavbEnv, KsftNamedVariant, ksft_disruptive, ksft_eq, ksft_exit, ksft_ge, ksft_gt, ksft_in, \
    ksft_lt, ksft_pr, ksft_run, ksft_true, ksft_variants
from lib.py import KsftFailEx, KsftSkipEx, bkg, bpf, cmd, defer, ethtool, ip, sysfs_write, until
from lib.py import ioctls
from lib.py.packets import ETH_P_TEST, eth
from suspend import sleep_until_alarm
from txtimeout import WATCHDOG, stick

MIN, MAX = 20, 10_000
RANGE = f"can be 0 (off) or {MIN} to {MAX}"

# Where in struct ethtool_coalesce what is; the rest of its 23 words has to be 0.
RX_USECS, RX_FRAMES, TX_USECS, TX_FRAMES, ADAPTIVE_RX = 1, 2, 5, 6, 10
WORDS = 23
GCOALESCE, SCOALESCE, PERQUEUE = 0xe, 0xf, 0x4b
QUEUE_MASK_WORDS = 128
# Not in Python's socket.
SO_BUSY_POLL, SO_PREFER_BUSY_POLL = 46, 69


class Port:
    """The ioctl path: the old one, still used for single queues, and the quick one from here."""

    def __init__(self, cfg):
        self.name = cfg.ifname

    def get(self) -> tuple:
        """(rx-usecs, tx-usecs); whatever else is shown has to be 0."""
        words = struct.unpack(f"{WORDS}I", ioctls.ethtool(self.name, self._words(GCOALESCE, {})))
        rest = {n: w for n, w in enumerate(words) if w and n not in (0, RX_USECS, TX_USECS)}
        ksft_eq(rest, {}, "other parameters")
        return words[RX_USECS], words[TX_USECS]

    @staticmethod
    def _words(command: int, values: dict) -> bytes:
        return struct.pack(f"{WORDS}I", command, *[values.get(n, 0) for n in range(1, WORDS)])

    def set(self, rx: int, tx: int, **others) -> int:
        """Returns the error's number, or 0."""
        try:
            ioctls.ethtool(self.name, self._words(SCOALESCE, {RX_USECS: rx, TX_USECS: tx, **others.get("words", {})}))
        except OSError as e:
            return e.errno
        return 0

    def set_queues(self, mask: int, *values) -> int:
        """Sets (rx, tx) of each queue in @mask; returns the error's number, or 0."""
        head = struct.pack("II", PERQUEUE, SCOALESCE) + mask.to_bytes(4 * QUEUE_MASK_WORDS, "little")
        body = b"".join(self._words(SCOALESCE, {RX_USECS: rx, TX_USECS: tx}) for rx, tx in values)
        try:
            ioctls.ethtool(self.name, head + body)
        except OSError as e:
            return e.errno
        return 0


def _shown(cfg) -> tuple:
    """(rx-usecs, tx-usecs) by netlink, which has to show nothing else."""
    shown = json.loads(cmd(f"ethtool --json -c {cfg.ifname}").stdout)[0]
    shown.pop("ifname")
    ksft_eq(sorted(shown), ["rx-usecs", "tx-usecs"], "parameters shown")
    return shown["rx-usecs"], shown["tx-usecs"]


def _queue(cfg, queue: int) -> tuple:
    """(rx-usecs, tx-usecs) of a queue."""
    text = ethtool(f"-Q {cfg.ifname} queue_mask {1 << queue:x} --show-coalesce").stdout
    return tuple(int(re.search(rf"^{d}-usecs: (\d+)", text, re.MULTILINE)[1]) for d in ("rx", "tx"))


def _queues(cfg) -> list:
    return [_queue(cfg, q) for q in range(cfg.chip.queues)]


def _need_rs(cfg) -> None:
    if cfg.driver != "rs":
        raise KsftSkipEx("the C driver has no coalescing by ethtool: see offered")


def _set(cfg, rx: int, tx: int) -> None:
    ethtool(f"-C {cfg.ifname} rx-usecs {rx} tx-usecs {tx}")


def _restore_later(cfg) -> None:
    defer(lambda: Port(cfg).set(0, 0))


def _plain(cfg) -> None:
    """Without the core's own coalescing and threads, which would poll before an interrupt could come."""
    for name in ("gro_flush_timeout", "napi_defer_hard_irqs", "threaded"):
        path = cfg.sysfs / name
        defer(sysfs_write, path, path.read_text())
        sysfs_write(path, "0")


def offered(cfg) -> None:
    """What is offered is what can be set: rx-usecs and tx-usecs, off at first; nothing by the C driver."""
    if cfg.driver == "rs":
        ksft_eq(_shown(cfg), (0, 0))
        ksft_eq(Port(cfg).get(), (0, 0))
        return
    for words in ("-c", "-C"):
        done = cmd(f"ethtool {words} {cfg.ifname} {'rx-usecs 50' if words == '-C' else ''}", fail=False)
        ksft_true(done.ret != 0, f"{words} of a driver that has none")
        ksft_in("not supported", done.stderr)
    ksft_eq(Port(cfg).set(50, 0), errno.EOPNOTSUPP)
    ksft_eq(Port(cfg).set_queues(1, (50, 0)), errno.EOPNOTSUPP)


def channels(cfg) -> None:
    """Each queue is a channel, of which there are always as many; -Q without a mask is for all of them."""
    if cfg.driver != "rs":
        done = cmd(f"ethtool -l {cfg.ifname}", fail=False)
        ksft_true(done.ret != 0, "-l of a driver that has none")
        ksft_in("not supported", done.stderr)
        return
    _restore_later(cfg)
    queues = cfg.chip.queues
    shown = json.loads(ethtool(f"--json -l {cfg.ifname}").stdout)[0]
    ksft_eq({k: v for k, v in shown.items() if v}, {"ifname": cfg.ifname, "combined-max": queues, "combined": queues})
    for count in {0, 1, queues, queues + 1}:
        done = cmd(f"ethtool -L {cfg.ifname} combined {count}", fail=False)
        if count != queues:
            ksft_true(done.ret != 0, f"{count} channels were accepted")
            ksft_true(done.stderr.strip(), "it is said why")
    ksft_eq(json.loads(ethtool(f"--json -l {cfg.ifname}").stdout)[0], shown, "after all that")
    ksft_eq(Port(cfg).set_queues(1, (70, 80)), 0)
    ethtool(f"-Q {cfg.ifname} --coalesce rx-usecs 70 tx-usecs 80")
    ksft_eq(_queues(cfg), [(70, 80)] * queues, "without a mask")
    text = ethtool(f"-Q {cfg.ifname} --show-coalesce").stdout
    ksft_eq([text.count(words) for words in ("rx-usecs: 70", "tx-usecs: 80")], [queues, queues], "shown without a mask")


@ksft_variants([KsftNamedVariant(f"{rx}_{tx}", rx, tx) for rx, tx in
                ((MIN, 0), (0, MIN), (MAX, MAX), (50, 100), (0, 0))])
def accepted(cfg, rx, tx) -> None:
    """Each direction has its own value; both paths set and show the same."""
    _need_rs(cfg)
    _restore_later(cfg)
    _set(cfg, rx, tx)
    ksft_eq(_shown(cfg), (rx, tx))
    ksft_eq(Port(cfg).get(), (rx, tx))
    ksft_eq(_queues(cfg), [(rx, tx)] * cfg.chip.queues, "-C is for all queues")
    ksft_eq(Port(cfg).set(0, 0), 0)
    ksft_eq(Port(cfg).set(rx, tx), 0)
    ksft_eq(_shown(cfg), (rx, tx))
    cfg.ping()


@ksft_variants([1, MIN - 1, MAX + 1, 0xffffffff])
def out_of_range(cfg, usecs) -> None:
    """What is out of range is refused, the range is named, and nothing is changed."""
    _need_rs(cfg)
    _restore_later(cfg)
    _set(cfg, 50, 100)
    for words in (f"rx-usecs {usecs}", f"tx-usecs {usecs}", f"rx-usecs 60 tx-usecs {usecs}"):
        done = cmd(f"ethtool -C {cfg.ifname} {words}", fail=False)
        ksft_true(done.ret != 0, f"{words} was accepted")
        ksft_in(f"{'tx' if 'tx' in words else 'rx'}-usecs {RANGE}", done.stderr, words)
    port = Port(cfg)
    ksft_eq(port.set(usecs, 0), errno.EINVAL)
    ksft_eq(port.set(0, usecs), errno.EINVAL)
    ksft_eq(port.set_queues(1, (usecs, 0)), errno.EINVAL)
    ksft_eq(port.set_queues(1, (60, usecs)), errno.EINVAL)
    ksft_eq(_queues(cfg), [(50, 100)] * cfg.chip.queues, "after refusals")


def unsupported(cfg) -> None:
    """Other parameters are refused, by either path."""
    _need_rs(cfg)
    for words in ("rx-frames 8", "tx-frames 8", "adaptive-rx on", "adaptive-tx on", "rx-usecs-irq 50",
                  "tx-usecs-irq 50", "stats-block-usecs 1", "sample-interval 1"):
        done = cmd(f"ethtool -C {cfg.ifname} {words}", fail=False)
        ksft_true(done.ret != 0, f"{words} was accepted")
        ksft_in("unsupported parameter", done.stderr, words)
    for word in (RX_FRAMES, TX_FRAMES, ADAPTIVE_RX):
        ksft_eq(Port(cfg).set(50, 50, words={word: 1}), errno.EOPNOTSUPP)
    ksft_eq(_shown(cfg), (0, 0))


def per_queue(cfg) -> None:
    """-Q sets and shows each queue for itself; a queue that is not there is refused, and with it the rest."""
    _need_rs(cfg)
    _restore_later(cfg)
    last = cfg.chip.queues - 1
    ethtool(f"-Q {cfg.ifname} queue_mask {1 << last:x} --coalesce rx-usecs 70 tx-usecs 80")
    ksft_eq(_queues(cfg), [(0, 0)] * last + [(70, 80)])
    ksft_eq(_shown(cfg), (70, 80) if last == 0 else (0, 0), "-c shows the first queue")
    everything = (1 << cfg.chip.queues) - 1
    values = [(100 + q, 200 + q) for q in range(cfg.chip.queues)]
    ksft_eq(Port(cfg).set_queues(everything, *values), 0)
    ksft_eq(_queues(cfg), values)
    ksft_eq(Port(cfg).set_queues(everything * 2 + 1, *values, (30, 30)), errno.EINVAL)
    ksft_eq(_queues(cfg), values, "after a queue too many")
    if last:
        ksft_eq(Port(cfg).set_queues(everything, (30, 30), (5, 30)), errno.EINVAL)
        ksft_eq(_queues(cfg), values, "after a bad value for the second queue")
    _set(cfg, 50, 60)
    ksft_eq(_queues(cfg), [(50, 60)] * cfg.chip.queues, "-C sets all")


@ksft_disruptive
def kept(cfg) -> None:
    """The values outlive down and up, other ring sizes, and suspend; they can be set while down."""
    _need_rs(cfg)
    _restore_later(cfg)
    values = [(111 + q, 222 + q) for q in range(cfg.chip.queues)]
    ksft_eq(Port(cfg).set_queues((1 << cfg.chip.queues) - 1, *values), 0)
    defer(until, cfg.link_up, 15, "link")
    defer(cfg.set_link, True)
    cfg.set_link(False)
    ksft_eq(_queues(cfg), values, "while down")
    cfg.set_link(True)
    ksft_eq(_queues(cfg), values, "after down and up")
    defer(ethtool, f"-G {cfg.ifname} rx 1024 tx 64")
    ethtool(f"-G {cfg.ifname} rx 512 tx 128")
    ksft_eq(_queues(cfg), values, "after a ring resize")
    cfg.set_link(False)
    _set(cfg, 300, 400)
    cfg.set_link(True)
    ksft_eq(_queues(cfg), [(300, 400)] * cfg.chip.queues, "set while down")
    until(cfg.link_up, 15, "link")
    cfg.resume()
    ksft_ge(sleep_until_alarm(), 0.5, "seconds asleep")
    ksft_eq(_queues(cfg), [(300, 400)] * cfg.chip.queues, "after suspend")
    until(cfg.link_up, 15, "link")
    cfg.resume()


# What it does: rates

def _timed(cfg) -> None:
    """Begins a case that compares times."""
    if not cfg.virtual_time:
        raise KsftSkipEx("compares times: needs virtual time (ICOUNT=1)")
    if os.cpu_count() > 1:
        raise KsftSkipEx("compares times: CPUs that take turns wait for each other (CPUS=1)")
    _plain(cfg)
    _restore_later(cfg)


FRAME_US = 20
# Far enough for an interrupt each, and near enough that a percent of the CPU is less than a microsecond.
ALONE_US = 60
RATES = (50, 100, 500)


def _irqs(cfg) -> int:
    return sum(cfg.irq_counts().values())


class Child:
    """A process that does something again and again, and counts it."""

    def __init__(self, step):
        self._step = step

    def __enter__(self):
        # Not by struct, which writes zeros first.
        self._count = ctypes.c_uint64.from_buffer(mmap.mmap(-1, 8))
        self._pid = os.fork()
        if self._pid == 0:
            try:
                while True:
                    self._step()
                    self._count.value += 1
            finally:
                os._exit(1)
        return self

    def __exit__(self, *exc):
        os.kill(self._pid, signal.SIGKILL)
        status = os.waitpid(self._pid, 0)[1]
        if not os.WIFSIGNALED(status) and exc == (None, None, None):
            raise KsftFailEx("a step failed in the background")

    @property
    def count(self) -> int:
        return self._count.value


class Spinner(Child):
    """A process that counts as fast as it can: how far it gets is the time that others leave it."""

    def __init__(self):
        super().__init__(lambda: None)

    def __enter__(self):
        super().__enter__()
        os.setpriority(os.PRIO_PROCESS, self._pid, 19)
        return self

    def speed(self, seconds: float) -> float:
        """Steps a second of the next @seconds."""
        first, start = self.count, time.monotonic()
        time.sleep(seconds)
        return (self.count - first) / (time.monotonic() - start)

    def free_speed(self) -> float:
        """The speed with nothing else to do, once there is nothing else."""
        last = self.speed(0.2)
        for _ in range(50):
            speed = self.speed(0.2)
            if abs(speed / last - 1) < 0.01:
                return speed
            last = speed
        raise KsftFailEx("the machine does not become quiet")


def _flood(cfg, twin, spinner, interval_us: int = FRAME_US) -> tuple:
    """A flow of small frames that nobody wants: (interrupts a second, steps of the spinner a second)."""
    span, settled = 0.3, 0.05
    twin.flood(ethertype=ETH_P_TEST, dmac=cfg.mac, smac=cfg.remote_mac, size=64, interval=f"{interval_us}us",
               **{"for": f"{int(1000 * (span + 2 * settled))}ms"})
    time.sleep(settled)
    before, start = (_irqs(cfg), cfg.stats()), time.monotonic()
    speed = spinner.speed(span)
    after, took = (_irqs(cfg), cfg.stats()), time.monotonic() - start
    frames = (after[1]["rx_packets"] - before[1]["rx_packets"]) / took
    ksft_true(abs(frames * interval_us / 1e6 - 1) < 0.05, f"{frames:.0f} frames/s, one each {interval_us} us sent")
    twin.wait_sent()
    return (after[0] - before[0]) / took, speed


@ksft_disruptive
def rate(cfg) -> None:
    """A steady flood raises one interrupt in rx-usecs and the time of the polls, within 10 %.

    What a period takes of the CPU is known from two other floods: one that is so slow that each frame
    has a period of its own, and one that is polled so rarely that only the frames count. With a and b
    microseconds for an interrupt with its timer and for a frame, a period P is
    usecs + a + b P / FRAME_US.
    """
    _need_rs(cfg)
    twin = cfg.require_twin()
    _timed(cfg)
    with Spinner() as spinner:
        free = spinner.free_speed()
        slow, _ = _flood(cfg, twin, spinner, ALONE_US)
        ksft_true(abs(slow * ALONE_US / 1e6 - 1) < 0.05, f"{slow:.0f} interrupts/s of frames each {ALONE_US} us")
        _set(cfg, MIN, 0)
        _, speed = _flood(cfg, twin, spinner, ALONE_US)
        single = (1 - speed / free) * ALONE_US
        _set(cfg, MAX, 0)
        _, speed = _flood(cfg, twin, spinner)
        frame = (1 - speed / free) * FRAME_US
        poll = single - frame
        ksft_pr(f"an interrupt and its timer take {poll:.1f} us, and {frame:.1f} us for each frame")
        for usecs in RATES:
            _set(cfg, usecs, 0)
            seen, speed = _flood(cfg, twin, spinner)
            expected = 1e6 * (1 - frame / FRAME_US) / (usecs + poll)
            ksft_pr(f"rx-usecs {usecs}: {seen:.0f} interrupts/s, {expected:.0f} expected; "
                    f"{100 * speed / free:.0f} % of the CPU left")
            ksft_true(abs(seen / expected - 1) < 0.1, f"{seen:.0f} interrupts/s, {expected:.0f} expected")
            ksft_lt(seen, 1e6 / usecs, "interrupts/s")
        _set(cfg, 0, MAX)
        seen, speed = _flood(cfg, twin, spinner, ALONE_US)
        ksft_true(abs(seen / slow - 1) < 0.05, f"{seen:.0f} interrupts/s with tx-usecs only, {slow:.0f} without")


@ksft_disruptive
def sent(cfg) -> None:
    """tx-usecs spaces the interrupts of sent frames; rx-usecs does not."""
    _need_rs(cfg)
    _timed(cfg)
    frame = eth("02:00:00:00:00:77", cfg.mac, ETH_P_TEST, bytes(46))
    count, gap = 400, 0.0002
    with cfg.local_packets() as sock:
        def interrupts() -> int:
            before = _irqs(cfg)
            for _ in range(count):
                sock.sock.send(frame)
                time.sleep(gap)
            return _irqs(cfg) - before

        start = time.monotonic()
        plain = interrupts()
        took = time.monotonic() - start
        _set(cfg, MAX, 0)
        received = interrupts()
        _set(cfg, 0, 5000)
        spaced = interrupts()
    ksft_pr(f"{count} frames in {took * 1e3:.0f} ms: {plain} interrupts; {received} with rx-usecs {MAX}, "
            f"{spaced} with tx-usecs 5000")
    ksft_ge(plain, count, "interrupts, one a frame")
    ksft_ge(received, count, "interrupts with rx-usecs")
    ksft_lt(spaced, 1.1 * took / 0.005 + 3, "interrupts with tx-usecs")
    ksft_gt(spaced, 0.8 * took / 0.005 - 3, "interrupts with tx-usecs")


@ksft_disruptive
def sent_among_received(cfg) -> None:
    """What is received meanwhile, in more than one poll, does not bring interrupts of sent frames back."""
    _need_rs(cfg)
    twin = cfg.require_twin()
    _timed(cfg)
    frame = eth("02:00:00:00:00:77", cfg.mac, ETH_P_TEST, bytes(46))
    usecs, count, gap = 5000, 400, 0.0002
    _set(cfg, usecs, usecs)
    twin.flood(ethertype=ETH_P_TEST, dmac=cfg.mac, smac=cfg.remote_mac, size=64, interval=f"{FRAME_US}us",
               **{"for": "60s"})
    defer(twin.order, "stop")
    with cfg.local_packets() as sock:
        before, start = _irqs(cfg), time.monotonic()
        for _ in range(count):
            sock.sock.send(frame)
            time.sleep(gap)
        times, seen = (time.monotonic() - start) * 1e6 / usecs, _irqs(cfg) - before
    ksft_pr(f"{times:.1f} times {usecs} us, {usecs // FRAME_US} frames received in each: {seen} interrupts")
    # Both directions wait for as long, and so have one together.
    ksft_lt(seen, 1.1 * times + 2, "interrupts")
    ksft_gt(seen, 0.5 * times, "interrupts")


def _rtt(cfg, count: int, interval: float, host=None) -> tuple:
    """(median, most) of the round-trip times of pings, in microseconds.

    The median, since another packet (an ARP request) may start the timer just before one of them.
    """
    dest = cfg.remote_addr_v["4"] if host is None else cfg.addr_v["4"]
    text = cmd(f"ping -n -c {count} -i {interval} -W 2 {dest}", host=host, timeout=60).stdout
    ksft_in(f"{count} received", text)
    times = [1000 * float(v) for v in re.findall(r"time=([\d.]+) ms", text)]
    ksft_eq(len(times), count, "times")
    return statistics.median(times), max(times)


@ksft_disruptive
def latency(cfg) -> None:
    """A ping takes no more than the setting longer, and one that comes after a pause not even that."""
    _need_rs(cfg)
    _timed(cfg)
    # The peer is another port of this machine. In a thread its NAPI waits while others have the CPU, for milliseconds.
    threaded = f"/sys/class/net/{cfg.remote_ifname}/threaded"
    defer(cmd, f"sh -c 'echo {cmd(f'cat {threaded}', host=cfg.remote).stdout.strip()} > {threaded}'", host=cfg.remote)
    cmd(f"sh -c 'echo 0 > {threaded}'", host=cfg.remote)
    slack = 25
    for host, where in ((None, "from here"), (cfg.remote, "from the peer")):
        Port(cfg).set(0, 0)
        base = _rtt(cfg, 20, 0.02, host)
        for usecs in (50, 500, 5000):
            _set(cfg, usecs, usecs)
            rare = _rtt(cfg, 20, 0.02, host)
            dense = _rtt(cfg, 100, 0.001, host)
            ksft_pr(f"{where}, {usecs} us: {base[0]:.0f} us without, {rare[0]:.0f} us (at most {rare[1]:.0f}) each "
                    f"20 ms, {dense[0]:.0f} us (at most {dense[1]:.0f}) each ms")
            ksft_lt(rare[0], base[0] + slack, "us, after a pause")
            ksft_lt(rare[1], base[1] + usecs + slack, "us at most, after a pause")
            ksft_lt(dense[1], base[1] + usecs + slack, "us at most")


# Others who poll, or take queues out of use

@ksft_disruptive
def recovered(cfg) -> None:
    """A transmit queue is stuck and restarted while the queue's timers run: both directions go on.

    A direction that is left masked would be polled again when the RX ring is full, which takes a second here.
    """
    _need_rs(cfg)
    twin = cfg.require_twin()
    _plain(cfg)
    _restore_later(cfg)
    defer(twin.stuck_tx, 0, False)
    defer(twin.order, "stop")
    _set(cfg, MAX, MAX)
    twin.flood(ethertype=ETH_P_TEST, dmac=cfg.mac, smac=cfg.remote_mac, size=64, interval="1ms", **{"for": "60s"})
    stick(cfg, twin)
    before = cfg.stats()["rx_packets"]
    time.sleep(0.5)
    received = cfg.stats()["rx_packets"] - before
    twin.stuck_tx(0, False)
    cfg.resume(WATCHDOG)
    twin.order("stop")
    irqs = _irqs(cfg)
    # Without anything received that would have it polled.
    frame = eth("02:00:00:00:00:77", cfg.mac, ETH_P_TEST, bytes(46))
    with cfg.local_packets() as sock:
        for _ in range(5):
            sent = cfg.stats()["tx_packets"]
            sock.sock.send(frame)
            until(lambda: cfg.stats()["tx_packets"] > sent, 2, "a frame is taken back")  # noqa: B023
    ksft_pr(f"{received} frames received in half a second of the recovery; {_irqs(cfg) - irqs} interrupts for 5 sent")
    ksft_ge(received, 100, "frames in half a second")


class Busy:
    """A UDP socket that polls the port itself."""

    def __init__(self, cfg, prefer: bool):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind((cfg.addr_v["4"], 0))
        # Not settimeout(), which has others wait than the socket.
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 2, 0))
        self.sock.setsockopt(socket.SOL_SOCKET, SO_BUSY_POLL, 1000)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_PREFER_BUSY_POLL, int(prefer))
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.port = self.sock.getsockname()[1]

    def receive(self, count: int) -> list:
        """The gaps between so many datagrams, in microseconds."""
        times = []
        for _ in range(count):
            self.sock.recv(64)
            times.append(time.monotonic())
        return [1e6 * (b - a) for a, b in itertools.pairwise(times)]


def _busy_polled() -> int:
    """Packets that sockets have polled themselves."""
    names, values = [line.split() for line in Path("/proc/net/netstat").read_text().splitlines()
                     if line.startswith("TcpExt:")]
    return int(dict(zip(names, values, strict=True))["BusyPollRxPackets"])


@ksft_variants([KsftNamedVariant(f"{rx}_{tx}{'_preferred' * prefer}", rx, tx, prefer) for rx, tx, prefer in
                ((0, 0, False), (300, 300, False), (MAX, MAX, False), (MAX, 0, True))])
def busy_polling(cfg, rx, tx, prefer) -> None:
    """A socket that polls does not wait for timers, nor keep interrupts from those who do not poll."""
    _need_rs(cfg)
    twin = cfg.require_twin()
    _restore_later(cfg)
    if prefer:
        # What this is for: timers of the core for when the socket does not poll.
        for name, value in (("gro_flush_timeout", "500000"), ("napi_defer_hard_irqs", "2")):
            defer(sysfs_write, cfg.sysfs / name, (cfg.sysfs / name).read_text())
            sysfs_write(cfg.sysfs / name, value)
    else:
        _plain(cfg)
    _set(cfg, rx, tx)
    gap, count = 700, 300
    busy = Busy(cfg, prefer)
    defer(busy.sock.close)
    defer(twin.order, "stop")
    polled = _busy_polled()
    twin.flood(payload=32, src=cfg.remote_addr_v["4"], dst=cfg.addr_v["4"], dmac=cfg.mac, smac=cfg.remote_mac,
               dport=busy.port, interval=f"{gap}us", count=count)
    # The first one tells the socket what to poll.
    gaps = busy.receive(count)[50:]
    polled = _busy_polled() - polled
    ksft_pr(f"{polled} of {count} polled by the socket; gaps of {statistics.median(gaps):.0f} us, "
            f"at most {max(gaps):.0f}")
    # Elsewhere the sender may be quicker than the receiver.
    if cfg.virtual_time:
        ksft_gt(polled, count / 2, "datagrams polled by the socket")
        ksft_true(abs(statistics.median(gaps) / gap - 1) < 0.2, "one at a time, as they come")
    # Whatever the last poll has found, interrupts come again.
    for _ in range(5):
        cfg.ping(count=2)


# Races

def _disturbances(cfg):
    """Takes the queues out of use and back, again and again, in each of the ways; yields when they are back."""
    programs = [bpf.Program(bpf.verdict_program(bpf.PASS)) for _ in range(2)]
    for program in programs:
        defer(program.close)
    defer(ip, f"link set dev {cfg.ifname} xdpdrv off")
    defer(ethtool, f"-G {cfg.ifname} rx 1024 tx 64")
    sizes = itertools.cycle(("rx 256 tx 128", "rx 1024 tx 64"))
    while True:
        cfg.set_link(False)
        cfg.set_link(True)
        yield
        ethtool(f"-G {cfg.ifname} {next(sizes)}")
        yield
        for program in programs:
            ip(f"-force link set dev {cfg.ifname} xdpdrv pinned {program.path}")
            yield
        ip(f"link set dev {cfg.ifname} xdpdrv off")
        yield


@ksft_disruptive
def toggled(cfg) -> None:
    """Values change every few milliseconds under traffic, while queues stop and start: it goes on and on.

    For 2 seconds, or 30 with RAVB_LONG=1 in the environment.
    """
    _need_rs(cfg)
    seconds = cfg.long(2, 30)
    _restore_later(cfg)
    defer(until, cfg.link_up, 15, "link")
    defer(cfg.set_link, True)
    choice = random.Random(1)
    values = (0, MIN, 50, 100, 500, 2000, MAX)
    port = Port(cfg)

    def change() -> None:
        if port.set(choice.choice(values), choice.choice(values)):
            raise KsftFailEx("a value was refused")
        time.sleep(choice.uniform(0.001, 0.005))

    def passed() -> int:
        """Packets that have gone each way."""
        stats = cfg.stats()
        return min(stats["rx_packets"], stats["tx_packets"])

    end = time.monotonic() + seconds
    cycles, worst = 0, 0.0
    # A tenth of a second of echoes, of which the longest timer holds back a tenth. By the host's clock they come when
    # they can.
    packets, limit = 40, 0.3 if cfg.virtual_time else 15
    with bkg(f"ping -q -n -i 0.002 -W 1 -s 200 {cfg.addr_v['4']}", host=cfg.remote), \
            bkg(f"ping -q -n -i 0.003 -W 1 -s 1000 {cfg.remote_addr_v['4']}"), Child(change) as changes:
        for _ in _disturbances(cfg):
            # Each way once, at least.
            if time.monotonic() >= end and cycles >= 5:
                break
            cycles += 1
            until(cfg.link_up, 15, "link")
            cfg.resume(5)
            for _ in range(4):
                start, before = time.monotonic(), passed()
                until(lambda n=before + packets: passed() >= n, limit, f"{packets} packets each way")
                worst = max(worst, time.monotonic() - start)
        count = changes.count
    ksft_pr(f"{count} changes, queues stopped {cycles} times; at most {worst:.2f} s for {packets} packets each way")
    ksft_gt(count, 50 * seconds, "changes")
    cfg.resume()


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([offered, channels, accepted, out_of_range, unsupported, per_queue, kept, rate, sent,
                  sent_among_received, latency, recovered, busy_polling, toggled], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
