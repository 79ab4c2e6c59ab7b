#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""The CPU port of a switch (driver inject/): what its registers can do to a frame, both ways."""

import struct
import time

from lib.py import RavbEnv, KsftNamedVariant, KsftSkipEx, ksft_disruptive, ksft_eq, ksft_exit, \
    ksft_ge, ksft_gt, ksft_pr, ksft_run, ksft_variants
from lib.py import bkg, cmd, defer, sysfs_write, until
from lib.py.packets import ETH_P_TEST, eth, of_type

# Lengths without FCS: padding, all tails, the largest.
LENGTHS = (*range(14, 80), *range(1507, 1515))
# How long the driver waits for a word, in microseconds (inject/ready.rs).
BOUND_US = 10
# Nobody wants such frames.
ETH_P_NOBODY = 0x88b6
STATES = b"".join(struct.pack("!I", 0x80000000 + n) for n in range(8))


def _frames(dst: str, src: str) -> list:
    """A frame of each length, each with other bytes."""
    out = []
    for n, length in enumerate(LENGTHS):
        payload = bytes((n + i * 7) % 255 + 1 for i in range(length - 14))
        out.append(eth(dst, src, ETH_P_TEST, payload))
    return out


def _zero_padded(frame: bytes) -> bytes:
    return frame + bytes(max(0, 60 - len(frame)))


def _twin(cfg, name: str) -> int:
    return cfg.require_twin().stats(f"qs.{name}")


def _busy(cfg, microseconds: float, after: int = 0, read: float = 0, count: int = 1) -> None:
    """The FIFO is not ready for that long, behind the next @after words, @count times."""
    words = f"inj-busy {int(microseconds * 1000)}ns"
    if after:
        words += f" after={after} count={count}"
    if read:
        words += f" read={int(read * 1000)}ns"
    cfg.require_twin().order(words)


def _no_violations(cfg) -> None:
    last = cfg.require_twin().order("violations").split()
    ksft_eq(last[-2:], ["violation.total", "0"], "broken rules of the register contract")


def _send(cfg, frames: list) -> list:
    """Sends @frames through the port; what the peer gets."""
    with cfg.remote_packets() as far, cfg.local_packets() as near:
        near.send(frames)
        return far.capture(of_type(ETH_P_TEST), len(frames), 5)


def injected(cfg) -> None:
    """A frame of each length arrives as it was sent, padded with zeroes."""
    frames = _frames(cfg.remote_mac, cfg.mac)
    got = _send(cfg, frames)
    ksft_eq(len(got), len(frames), "frames at the peer")
    bad = [len(f) for f, g in zip(frames, got, strict=False) if _zero_padded(f) != g]
    ksft_eq(bad, [], "lengths that arrived otherwise")
    _no_violations(cfg)


def extracted(cfg) -> None:
    """A frame of each length is received as it was sent."""
    frames = _frames(cfg.mac, cfg.remote_mac)
    with cfg.local_packets() as near, cfg.remote_packets() as far:
        far.send(frames)
        got = near.capture(of_type(ETH_P_TEST), len(frames), 5)
    ksft_eq(len(got), len(frames), "frames at the port")
    bad = [len(f) for f, g in zip(frames, got, strict=False) if _zero_padded(f) != g]
    ksft_eq(bad, [], "lengths that arrived otherwise")
    _no_violations(cfg)


def looks_like_a_state(cfg) -> None:
    """Words of a frame that look like a state of the extraction queue, at all alignments."""
    frames = [eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes(n) + STATES + bytes(40 - n))
              for n in range(8)]
    # The last word, and the one before it.
    frames += [eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes(50 + n) + STATES[-8:])
               for n in range(4)]
    with cfg.local_packets() as near, cfg.remote_packets() as far:
        far.send(frames)
        got = near.capture(of_type(ETH_P_TEST), len(frames), 5)
    ksft_eq(got, frames, "frames at the port")


def busy_before_a_frame(cfg) -> None:
    """With the FIFO busy the queue is stopped, and woken: nothing is lost, nobody spins."""
    frames = _frames(cfg.remote_mac, cfg.mac)[:20]
    before, stops = cfg.stats(), cfg.queue_stats()["tx_queue_stops"]
    with cfg.remote_packets() as far, cfg.local_packets() as near:
        reads = _twin(cfg, "status_reads")
        start = time.monotonic()
        _busy(cfg, 20_000)
        near.send(frames[:1])
        # It is taken, and waits in the qdisc.
        until(lambda stops=stops: cfg.queue_stats()["tx_queue_stops"] > stops, 5, "the queue was stopped")
        reads = _twin(cfg, "status_reads") - reads
        got = far.capture(of_type(ETH_P_TEST), 1, 5)
        took = time.monotonic() - start
        near.send(frames[1:])
        got += far.capture(of_type(ETH_P_TEST), len(frames) - 1, 5)
    ksft_eq(len(got), len(frames), "frames at the peer")
    after = cfg.stats()
    for name in ("tx_dropped", "tx_errors"):
        ksft_eq(after[name] - before[name], 0, name)
    ksft_pr(f"stopped after {reads} reads of the status, sent after {took * 1000:.1f} ms")
    _no_violations(cfg)


def slow_core(cfg) -> None:
    """Bursts against a queue that is short of memory again and again: all arrive, in order."""
    frames = [eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, struct.pack("!I", n) + bytes(1000))
              for n in range(60)]
    stops = cfg.queue_stats()["tx_queue_stops"]
    got = []
    with cfg.remote_packets() as far, cfg.local_packets() as near:
        for n in range(0, len(frames), 6):
            _busy(cfg, 3_000)
            near.send(frames[n:n + 6])
            got += far.capture(of_type(ETH_P_TEST), 6, 5)
    ksft_eq([struct.unpack_from("!I", f, 14)[0] for f in got], list(range(len(frames))), "order")
    ksft_ge(cfg.queue_stats()["tx_queue_stops"] - stops, len(frames) // 6, "stops")


@ksft_variants([KsftNamedVariant(f"{where}", after) for where, after in
                (("first_word", 1), ("header", 3), ("data", 20))])
def stuck_within_a_frame(cfg, after) -> None:
    """The FIFO is stuck for longer than the bound: the frame is dropped and counted, that is all."""
    frame = eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, bytes(range(1, 101)))
    with cfg.remote_packets() as far, cfg.local_packets() as near:
        before, queue = cfg.stats(), cfg.queue_stats()
        aborted = _twin(cfg, "inj_aborted")
        reads = _twin(cfg, "not_ready")
        _busy(cfg, 30_000, after)
        start = time.monotonic()
        near.send([frame])
        until(lambda: cfg.queue_stats()["tx_fifo_timeouts"] > queue["tx_fifo_timeouts"], 5,
              "the drop is counted")
        reads = _twin(cfg, "not_ready") - reads
        # The queue recovers by itself, and the next frame is whole.
        near.send([frame] * 3)
        got = far.capture(of_type(ETH_P_TEST), 3, 5)
        took = time.monotonic() - start
    ksft_eq(got, [frame] * 3, "frames after the one that was dropped")
    ksft_eq(cfg.stats()["tx_dropped"] - before["tx_dropped"], 1, "tx_dropped")
    ksft_eq(cfg.queue_stats()["tx_fifo_timeouts"] - queue["tx_fifo_timeouts"], 1, "timeouts")
    ksft_eq(_twin(cfg, "inj_aborted") - aborted, 1, "frames that the switch was told to forget")
    ksft_pr(f"{reads} reads that found it stuck, traffic again after {took * 1000:.1f} ms")
    _no_violations(cfg)


def ready_at_the_deadline(cfg) -> None:
    """The FIFO is ready late but in time, under a storm of interrupts: no frame is dropped."""
    twin = cfg.require_twin()
    frames = [eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, struct.pack("!I", n) + bytes(100))
              for n in range(300)]
    before, queue = cfg.stats(), cfg.queue_stats()
    found, hits = _twin(cfg, "not_ready"), _twin(cfg, "irqs_while_busy")
    with cfg.remote_packets() as far, cfg.local_packets() as near:
        _busy(cfg, BOUND_US - 0.5, after=25, count=len(frames))
        # Each frame that arrives is an interrupt, in whatever the driver is doing.
        twin.flood(ethertype=ETH_P_NOBODY, size=64, interval="50us", **{"for": "200ms"})
        defer(twin.order, "stop")
        for n in range(0, len(frames), 20):
            near.send(frames[n:n + 20])
        got = far.capture(of_type(ETH_P_TEST), len(frames), 10)
        twin.order("stop")
    found, hits = _twin(cfg, "not_ready") - found, _twin(cfg, "irqs_while_busy") - hits
    numbers = [struct.unpack_from("!I", f, 14)[0] for f in got]
    ksft_eq(sorted(set(range(len(frames))) - set(numbers)), [], "frames that did not arrive")
    ksft_eq(numbers, sorted(numbers), "order")
    ksft_eq(cfg.queue_stats()["tx_fifo_timeouts"] - queue["tx_fifo_timeouts"], 0, "timeouts")
    ksft_eq(cfg.stats()["tx_dropped"] - before["tx_dropped"], 0, "tx_dropped")
    ksft_ge(hits, 20, "interrupts within a wait")
    ksft_pr(f"{len(frames)} frames, {found} reads that found the FIFO not ready, {hits} interrupts meanwhile")


def interrupted_wait(cfg) -> None:
    """An interrupt of many times the bound, right behind a read that found the FIFO not ready."""
    frame = eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, bytes(100))
    queue = cfg.queue_stats()
    rounds = 20
    with cfg.remote_packets() as far, cfg.local_packets() as near:
        for n in range(rounds):
            # It is ready meanwhile, and the driver must see that, however late it is.
            _busy(cfg, BOUND_US / 2, after=8 + n, read=20 * BOUND_US)
            near.send([frame])
        got = far.capture(of_type(ETH_P_TEST), rounds, 5)
    ksft_eq(len(got), rounds, "frames at the peer")
    ksft_eq(cfg.queue_stats()["tx_fifo_timeouts"] - queue["tx_fifo_timeouts"], 0, "timeouts")


@ksft_variants([KsftNamedVariant("given_up", "xtr-abort"), KsftNamedVariant("cut_off", "xtr-prune")])
def void_frames(cfg, order) -> None:
    """Frames that the switch gives up are counted, and the next one is whole."""
    frames = [eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes([n]) * 200) for n in range(1, 7)]
    before = cfg.stats()
    with cfg.local_packets() as near, cfg.remote_packets() as far:
        cfg.require_twin().order(f"{order} count=1")
        far.send(frames)
        got = near.capture(of_type(ETH_P_TEST), len(frames) - 1, 5)
    after = cfg.stats()
    ksft_eq(got, frames[1:], "the frames behind it")
    for name in ("rx_frame_errors", "rx_errors"):
        ksft_eq(after[name] - before[name], 1, name)


@ksft_disruptive
def away_while_busy(cfg) -> None:
    """The interface goes down, and the driver away, with the queue stopped; both come back."""
    frame = eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, bytes(100))
    for how in ("down", "unbind"):
        stops = cfg.queue_stats()["tx_queue_stops"]
        with cfg.local_packets() as near:
            _busy(cfg, 500_000)
            near.send([frame] * 3)
        until(lambda stops=stops: cfg.queue_stats()["tx_queue_stops"] > stops, 5, "the queue was stopped")
        if how == "down":
            defer(cfg.set_link, True)
            cfg.set_link(False)
            cfg.set_link(True)
        else:
            driver = (cfg.device / "driver").resolve()
            addresses = cmd(f"ip -o addr show dev {cfg.ifname}").stdout
            sysfs_write(driver / "unbind", cfg.device.name)
            sysfs_write(driver / "bind", cfg.device.name)
            until(lambda: cfg.sysfs.exists(), 5, f"{cfg.ifname} is back")
            for line in addresses.splitlines():
                fields = line.split()
                if fields[3] != "fe80" and not fields[3].startswith("fe80"):
                    cmd(f"ip addr add {fields[3]} dev {cfg.ifname} nodad", fail=False)
            cfg.set_link(True)
        until(cfg.link_up, 15, "link")
        cfg.resume()
        ksft_pr(f"back after {how}")


def stream(cfg) -> None:
    """TCP both ways at once, with the FIFO not ready now and then: streams move, nothing is lost."""
    before, queue = cfg.stats(), cfg.queue_stats()
    found = _twin(cfg, "not_ready")
    with bkg("iperf3 -s -1 -p 5203", exit_wait=True):
        cmd("sleep 0.3")
        cmd(f"iperf3 -c {cfg.addr_v['4']} -p 5203 -t 1 --bidir", host=cfg.remote, timeout=60)
    after = cfg.stats()
    ksft_gt(after["tx_bytes"] - before["tx_bytes"], 1_000_000, "bytes sent")
    ksft_gt(after["rx_bytes"] - before["rx_bytes"], 1_000_000, "bytes received")
    ksft_eq(cfg.queue_stats()["tx_fifo_timeouts"] - queue["tx_fifo_timeouts"], 0, "timeouts")
    ksft_ge(_twin(cfg, "not_ready") - found, 10, "reads that found the FIFO not ready")
    for name in ("rx_errors", "tx_errors", "tx_dropped"):
        ksft_eq(after[name] - before[name], 0, name)
    _no_violations(cfg)


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        if cfg.chip.name != "inject":
            raise KsftSkipEx(f"{cfg.chip.name} is not the CPU port of a switch")
        ksft_run([injected, extracted, looks_like_a_state, busy_before_a_frame, slow_core,
                  stuck_within_a_frame, ready_at_the_deadline, interrupted_wait, void_frames,
                  stream, away_while_busy], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
