#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: what each way of interrupt coalescing costs and gives, for TCP and UDP each way.

  coalesce.py DRIVER NS_PER_INSTRUCTION NS_PER_MMIO_READ NS_PER_MMIO_WRITE

TCP has a fixed rate, so that what differs is the CPU time; UDP is received at line rate and sent as fast as it goes.
The other end is the model's peer, which costs the guest's CPU nothing. The CPU's own counter tells what is executed
(PMU, exact under ICOUNT=1), the model how often its registers were accessed. Each load is put on twice, once for
longer: the difference has no starting and ending in it. Prints one JSON object a load.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from pmu import Instructions
from quiet import settle

NETIF = os.environ["NETIF"]
REMOTE = os.environ["REMOTE_V4"]
SYSFS = Path("/sys/class/net") / NETIF
DRIVER = sys.argv[1]
INSTRUCTION_NS, READ_NS, WRITE_NS = map(int, sys.argv[2:5])
SHORT, LONG = 50, 350
# The throughput of the thread's table.
RATE = 518_000_000
SENT, RECEIVED = 9, 18
PORT, PAYLOAD = 5001, 1472

# threaded, gro_flush_timeout in ns, napi_defer_hard_irqs; rx-usecs, tx-usecs.
POLICIES = {
    "off": ("0", "0", "0", 0, 0),
    "core": ("0", "20000", "1", 0, 0),
    "default": ("1", "20000", "1", 0, 0),
    "rx150": ("0", "0", "0", 150, 0),
    "both150": ("0", "0", "0", 150, 150),
    "both250": ("0", "0", "0", 250, 250),
    "threaded150": ("1", "0", "0", 150, 150),
}


def tcp_tx(ms: int) -> list[str]:
    return ["tcpblast", "-r", str(RATE), REMOTE, str(SENT), str(ms)]


def tcp_rx(ms: int) -> list[str]:
    return ["tcpsink", "-o", f"{RATE} {RATE}", REMOTE, str(RECEIVED), str(ms)]


def udp_tx(ms: int) -> list[str]:
    return ["udpblast", REMOTE, str(SENT), str(PAYLOAD), str(ms)]


def udp_rx(ms: int) -> list[str]:
    return ["udpsink", "-r", REMOTE, f"flood line {PAYLOAD} {ms}ms {PORT}", str(PORT), str(ms)]


def set_policy(threaded: str, timeout: str, defer: str, rx: int, tx: int) -> None:
    (SYSFS / "threaded").write_text(threaded)
    (SYSFS / "gro_flush_timeout").write_text(timeout)
    (SYSFS / "napi_defer_hard_irqs").write_text(defer)
    if DRIVER == "rs":
        subprocess.run(["ethtool", "-C", NETIF, "rx-usecs", str(rx), "tx-usecs", str(tx)], check=True)


def interrupts() -> int:
    device = (SYSFS / "device").resolve().name
    return sum(
        int(line.split(":", 1)[1].split()[0])
        for line in Path("/proc/interrupts").read_text().splitlines()
        if device in line
    )


def accesses() -> tuple[int, int]:
    text = subprocess.run(["twinctl", "stats", "mac."], capture_output=True, text=True, check=True).stdout
    counts = dict(line.split() for line in text.splitlines())
    return int(counts["mac.reads"]), int(counts["mac.writes"])


def once(counter: Instructions, command: list[str]) -> list[float]:
    """What a run takes and gives: busy nanoseconds, interrupts, bytes."""
    settle()
    reads, writes = accesses()
    irqs, executed = interrupts(), counter.read()
    line = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    executed, irqs = counter.read() - executed, interrupts() - irqs
    more_reads, more_writes = accesses()
    charged = (more_reads - reads) * READ_NS + (more_writes - writes) * WRITE_NS
    taken = dict(field.split("=") for field in line.split())
    return [executed * INSTRUCTION_NS + charged, irqs, float(taken["bytes"])]


LOADS = (tcp_tx, tcp_rx, udp_tx, udp_rx)


def main() -> None:
    policies = os.environ.get("BENCH_POLICIES", " ".join(POLICIES)).split()
    loads = os.environ.get("BENCH_LOADS", " ".join(load.__name__ for load in LOADS)).split()
    counter = Instructions(0)
    for policy in policies:
        values = POLICIES[policy]
        if DRIVER == "c" and any(values[3:]):
            continue
        set_policy(*values)
        for load in (load for load in LOADS if load.__name__ in loads):
            short, long = once(counter, load(SHORT)), once(counter, load(LONG))
            busy, irqs, size = (b - a for a, b in zip(short, long, strict=True))
            seconds = (LONG - SHORT) / 1000
            sample = {"mbit": size * 8 / 1e6 / seconds, "cpu": busy / seconds / 1e7, "irqs": irqs / seconds}
            print(json.dumps({"policy": policy, "load": load.__name__, **sample}), flush=True)


main()
