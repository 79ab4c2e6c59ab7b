#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: what a packet of 64 bytes costs, in instructions of the CPU.

The CPU's own counter tells (PMU, which counts what is executed under ICOUNT=1). Each load is put on
twice, once for longer: the difference has no starting and ending in it. Prints one JSON object a
load.
"""

import json
import os
import subprocess
from pathlib import Path

from pmu import EXCLUDE_KERNEL, EXCLUDE_USER, Instructions
from quiet import settle

NETIF = os.environ["NETIF"]
REMOTE = os.environ["REMOTE_V4"]
SYSFS = Path("/sys/class/net") / NETIF
STATISTICS = SYSFS / "statistics"
PKTGEN = Path("/proc/net/pktgen")

# The frame without its FCS, and what a UDP datagram has in it then.
FRAME, PAYLOAD = 60, 18
# How far apart the datagrams are, and for how long interrupts and GRO wait (gro_flush_timeout). With the driver's
# default each datagram is received by itself, and the CPU is idle between them; it is also with the long one, when
# fifty are received at a time.
SINGLY = (100_000, 20_000)
BATCHED = (20_000, 1_000_000)
PORT = 5001


def receive(ms: int, interval_ns: int, wait_ns: int) -> None:
    """A stream of datagrams to a receiver in C."""
    (SYSFS / "gro_flush_timeout").write_text(str(wait_ns))
    request = f"flood {interval_ns} {PAYLOAD} {ms}ms {PORT}"
    subprocess.run(
        ["udpsink", "-r", REMOTE, request, str(PORT), str(ms)], check=True, stdout=subprocess.DEVNULL
    )


def send(count: int) -> None:
    """Packets from the kernel's generator, a new one each."""
    port = PKTGEN / NETIF
    for words in (
        f"count {count}",
        f"pkt_size {FRAME}",
        "clone_skb 0",
        "delay 0",
        f"dst {REMOTE}",
        "dst_mac 02:00:00:00:77:02",
    ):
        port.write_text(words)
    (PKTGEN / "pgctrl").write_text("start")


# Packets are counted by the port.
LOADS = {
    "udp_rx_64": (lambda ms: receive(ms, *SINGLY), 100, 400, "rx_packets"),
    "udp_rx_64_batched": (lambda ms: receive(ms, *BATCHED), 100, 400, "rx_packets"),
    "pktgen_tx_64": (send, 5000, 20000, "tx_packets"),
}


def main() -> None:
    subprocess.run(["modprobe", "pktgen"], check=True)
    (PKTGEN / "kpktgend_0").write_text(f"add_device {NETIF}")
    counters = {"kernel": Instructions(EXCLUDE_USER), "user": Instructions(EXCLUDE_KERNEL)}
    settle()
    for name, (load, short, long, statistic) in LOADS.items():
        seen = []
        load(short)
        for size in (short, long):
            packets = int((STATISTICS / statistic).read_text())
            before = {k: c.read() for k, c in counters.items()}
            load(size)
            after = {k: c.read() for k, c in counters.items()}
            packets = int((STATISTICS / statistic).read_text()) - packets
            seen.append((packets, {k: after[k] - before[k] for k in counters}))
        (few, base), (many, top) = seen
        print(json.dumps({"load": name, "packets": many - few,
                          **{k: (top[k] - base[k]) / (many - few) for k in counters}}), flush=True)


if __name__ == "__main__":
    main()
