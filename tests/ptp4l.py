#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""ptp4l, hardware timestamps, layer 2: the port follows the peer's clock, and leads it. phc2sys: the system's
clock follows the port's.
"""

import os
import re
import select
import subprocess
import tempfile
import time
from pathlib import Path

from lib.py import RavbEnv, KsftNamedVariant, ksft_eq, ksft_exit, ksft_ge, ksft_lt, ksft_pr, \
    ksft_run, ksft_variants
from lib.py import KsftSkipEx, cmd, defer
from lib.py import ptp
from lib.py.events import Deadline

# Eight exchanges a second: the servo needs a dozen to settle.
OPTIONS = ("-2 -H -m -q --logSyncInterval=-3 --logMinDelayReqInterval=-3 --logAnnounceInterval=-2 "
           "--tx_timestamp_timeout=200 --step_threshold=0.00002 --summary_interval=-4")
LIMIT_NS = 1000
STREAK = 8


def _start(cfg, follow: bool, host=None):
    ifname = cfg.ifname if host is None else cfg.remote_ifname
    sockets = tempfile.mkdtemp(prefix="ptp4l-")
    defer(cmd, f"rm -rf {sockets}")
    line = (f"ptp4l -i {ifname} {OPTIONS} {'-s' if follow else ''} "
            f"--uds_address={sockets}/rw --uds_ro_address={sockets}/ro")
    return _spawn(line, host)


def _spawn(line: str, host=None):
    if host is None:
        proc = subprocess.Popen(["stdbuf", "-oL", *line.split()], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
    else:
        proc = host.cmd(f"exec timeout 120 stdbuf -oL {line}")

    def stop():
        proc.terminate()
        out = proc.communicate(timeout=10)[0]
        if out:
            ksft_pr(out.decode(errors="replace")[-800:].strip(),
                    line_pfx=f"{line.split()[0]} {'port' if host is None else 'peer'}|")
    defer(stop)
    return proc


def _settled(proc, deadline: Deadline) -> tuple:
    """(offsets, delays, faults) of a servo, once it has stayed within the limit for a while."""
    offsets, delays, streak, faults = [], [], 0, []
    for line in _lines(proc, deadline):
        found = re.search(r"offset\s+(-?\d+) s(\d) freq\s+\S+\s+(?:path )?delay\s+(-?\d+)", line)
        if found:
            offset, state, delay = int(found[1]), int(found[2]), int(found[3])
            offsets.append(offset)
            delays.append(delay)
            streak = streak + 1 if state == 2 and abs(offset) < LIMIT_NS else 0
            if streak >= STREAK:
                break
        elif "timed out while polling for tx timestamp" in line or "FAULT" in line:
            faults.append(line)
    return offsets, delays, faults


def _peer_phc(cfg) -> str:
    """The name of the clock of the peer's interface."""
    found = cmd(f"bash -c 'ls /sys/class/net/{cfg.remote_ifname}/device/ptp 2>/dev/null'",
                host=cfg.remote, fail=False, shell=True).stdout.strip()
    if not found:
        raise KsftSkipEx("the peer's interface has no PTP hardware clock")
    return found


def _lines(proc, deadline: Deadline):
    pending = b""
    while True:
        if not select.select([proc.stdout], [], [], deadline.left())[0]:
            deadline.left()
        data = os.read(proc.stdout.fileno(), 4096)
        if not data:
            raise RuntimeError(f"ptp4l ended: {pending.decode(errors='replace')}")
        pending += data
        *whole, pending = pending.split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)


@ksft_variants([KsftNamedVariant("follow", True), KsftNamedVariant("lead", False)])
def exchange(cfg, port_follows) -> None:
    """The follower locks and stays within a microsecond of the leader."""
    cfg.require_stamps()
    cfg.require_cmd("ptp4l", local=True, remote=True)
    peer_phc = _peer_phc(cfg)
    queues = cfg.queue_stats()
    defer(ptp.hwtstamp_set, cfg.ifname, *ptp.hwtstamp_get(cfg.ifname))
    with ptp.open_phc(cfg) as clock:
        clock.set(1_000_000 * ptp.NS)
    leader = _start(cfg, False, cfg.remote if port_follows else None)
    follower = _start(cfg, True, None if port_follows else cfg.remote)
    deadline = Deadline(60, "the follower locked to the leader")
    offsets, delays, faults = _settled(follower, deadline)
    ksft_eq(leader.poll(), None, "the leader still runs")
    ksft_pr(f"locked after {len(offsets)} exchanges; last offsets {offsets[-STREAK:]} ns, "
            f"path delay {delays[-1]} ns")
    ksft_eq(faults, [], "faults of ptp4l")
    ksft_lt(max(abs(o) for o in offsets[-STREAK:]), LIMIT_NS, "offset in ns")
    ksft_ge(delays[-1], 0, "path delay in ns")
    # ptp4l's own word is not enough: where both clocks are in this machine, compare them.
    if cfg.env.get("REMOTE_TYPE") == "netns" and Path("/dev", peer_phc).exists():
        with ptp.open_phc(cfg) as mine, ptp.Phc(int(peer_phc[3:])) as other:
            a, b = mine.sample(), other.sample()
            apart = (b[1] - a[1]) - (b[0] - a[0])
            unsure = (a[2] + b[2]) // 2
            ksft_pr(f"clocks {apart} ns apart (+-{unsure})")
            ksft_lt(abs(apart), LIMIT_NS + unsure, "clocks apart in ns")
    after = cfg.queue_stats()
    for name in ("rx_queue_1_packets", "tx_queue_1_packets"):
        ksft_ge(after[name] - queues[name], STREAK // 2, f"{name}: the exchange's own queue")


def system_clock(cfg) -> None:
    """The peer's clock leads the port's, and that the system's, within a microsecond and what a reading is worth."""
    cfg.require_stamps()
    cfg.require_cmd("ptp4l", local=True, remote=True)
    cfg.require_cmd("phc2sys", local=True)
    peer_phc = _peer_phc(cfg)
    if cfg.env.get("REMOTE_TYPE") != "netns":
        raise KsftSkipEx("the system's clock cannot be compared with a peer's of another machine")
    defer(ptp.hwtstamp_set, cfg.ifname, *ptp.hwtstamp_get(cfg.ifname))
    with ptp.open_phc(cfg) as mine, ptp.Phc(int(peer_phc[3:])) as other, ptp.SystemClock():
        # 300 us apart, so that there is something to do.
        other.set(time.time_ns() + 300_000)
        mine.set(time.time_ns() - 300_000)
        leader = _start(cfg, False, cfg.remote)
        _settled(_start(cfg, True), Deadline(60, "the port locked to the peer"))
        follower = _spawn(f"phc2sys -s {cfg.ifname} -c CLOCK_REALTIME -O 0 -R 8 -N 5 -m -q "
                          "--step_threshold=0.00002")
        offsets, delays, _ = _settled(follower, Deadline(60, "the system's clock locked"))
        a = other.sample(against=time.CLOCK_REALTIME)
        apart = a[1] - a[0]
        ksft_eq(leader.poll(), None, "the leader still runs")
    ksft_pr(f"locked after {len(offsets)} comparisons; last offsets {offsets[-STREAK:]} ns, "
            f"reading takes {delays[-1]} ns; the system's and the peer's clock {apart} ns apart "
            f"(+-{a[2] // 2})")
    # phc2sys takes the middle of a reading for its moment.
    ksft_lt(max(abs(o) for o in offsets[-STREAK:]), LIMIT_NS + delays[-1] // 2, "offset in ns")
    ksft_lt(abs(apart), LIMIT_NS + a[2] // 2, "clocks apart in ns")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([exchange, system_clock], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
