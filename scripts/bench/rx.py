#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: what a received packet costs, and how many there can be.

The other end is the model's peer. Instructions are those of the kernel (PMU), a load put on twice
and the difference taken; packets a second are those of the interface under a flood at line rate.
Prints one JSON object a load. With the argument xdp, programs take the packets.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from pmu import EXCLUDE_USER, Instructions
from quiet import settle

NETIF, REMOTE, LOCAL = (os.environ[name] for name in ("NETIF", "REMOTE_V4", "LOCAL_V4"))
PACKETS = Path("/sys/class/net") / NETIF / "statistics/rx_packets"
GRO_FLUSH_TIMEOUT = Path("/sys/class/net") / NETIF / "gro_flush_timeout"
SOURCE, PORT = 19, 5001
SHORT, LONG = 50, 200


def run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def udp(payload: int, pace: str):
    """A receiver in C of datagrams, which come so far apart."""
    return lambda ms: run("udpsink", "-r", REMOTE, f"flood {pace} {payload} {ms}ms {PORT}", str(PORT), str(ms))


def tcp(ms: int) -> None:
    run("tcpsink", REMOTE, str(SOURCE), str(ms))


def flood(payload: int):
    """Frames for nobody: with an XDP program."""
    mac = (Path("/sys/class/net") / NETIF / "address").read_text().strip()

    def load(ms: int) -> None:
        run("twinctl", "flood", f"payload={payload}", f"dmac={mac}", "src=10.9.9.9", "dst=10.9.9.8", "dport=9",
            f"for={ms}ms")
        time.sleep(ms / 1000)
        run("twinctl", "stop")

    return load


def measure(name: str, load) -> None:
    counter = Instructions(EXCLUDE_USER)
    seen = []
    load(SHORT)
    for ms in (SHORT, LONG):
        settle()
        start, packets, before = time.monotonic_ns(), int(PACKETS.read_text()), counter.read()
        load(ms)
        seen.append((counter.read() - before, int(PACKETS.read_text()) - packets, time.monotonic_ns() - start))
    (base, few, soon), (top, many, late) = seen
    if many <= few:
        sys.exit(f"{name}: {few} packets in {SHORT} ms, {many} in {LONG} ms")
    print(json.dumps({"load": name, "kernel": (top - base) / (many - few),
                      "rate": (many - few) / ((late - soon) / 1e9)}), flush=True)


def main() -> None:
    if "xdp" not in sys.argv:
        # So many that the CPU does not keep up (at line rate the C driver comes to rest), then with time to spare and
        # fifty at a time, so that what is counted is what a packet costs.
        measure("udp_64_200k", udp(18, "5000"))
        measure("tcp_1448", tcp)
        GRO_FLUSH_TIMEOUT.write_text("1000000")
        measure("udp_64", udp(18, "20000"))
        measure("udp_1472", udp(1472, "20000"))
        return
    import bpf
    subprocess.run("mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf", shell=True, check=True)
    for name, instructions in (("drop", bpf.verdict_program(bpf.DROP)),
                               ("tx", bpf.echo_program(bpf.verdict_program(bpf.TX))),
                               ("pass", bpf.verdict_program(bpf.PASS))):
        program = bpf.Program(instructions)
        run("ip", "link", "set", "dev", NETIF, "xdpdrv", "pinned", program.path)
        if name == "pass":
            measure("xdp_pass_64_200k", udp(18, "5000"))
            measure("xdp_pass_tcp_1448", tcp)
        else:
            for payload in (18, 1472):
                measure(f"xdp_{name}_{64 if payload == 18 else payload}_flood", flood(payload))
        run("ip", "link", "set", "dev", NETIF, "xdpdrv", "off")
        program.close()


main()
