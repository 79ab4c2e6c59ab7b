#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: TCP and UDP in both directions, with the driver's default policy.

The other end is the model's peer, which costs the guest's CPU nothing. Prints one JSON object a run:
Mbit/s of payload that has arrived. With several CPUs the program runs on each in turn: the interrupts come to one, and
what the scheduler chooses by itself differs from run to run by more than drivers do.
"""

import json
import os
import subprocess
from itertools import product

from quiet import settle

REMOTE = os.environ["REMOTE_V4"]
MS = int(os.environ.get("BENCH_MS", "500"))
REPEAT = int(os.environ.get("BENCH_REPEAT", "2"))
PAYLOAD = 1472
# The peer's services: discard and chargen (RFC 863, 864).
SINK, SOURCE = 9, 19
PORT = 5001

LOADS = {
    "tcp_tx": ["tcpblast", REMOTE, str(SINK), str(MS)],
    "tcp_rx": ["tcpsink", REMOTE, str(SOURCE), str(MS)],
    "udp_tx": ["udpblast", REMOTE, str(SINK), str(PAYLOAD), str(MS)],
    "udp_rx": ["udpsink", "-r", REMOTE, f"flood line {PAYLOAD} {MS}ms {PORT}", str(PORT), str(MS)],
}


def main() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    settle()
    for cpu, (name, command) in product(cpus, LOADS.items()):
        os.sched_setaffinity(0, {cpu})
        load = name if len(cpus) == 1 else f"{name}_cpu{cpu}"
        for _ in range(REPEAT):
            line = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            result = dict(field.split("=") for field in line.split())
            print(json.dumps({"load": load, "mbit": float(result["mbit"])}), flush=True)
            settle()


main()
