#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: what a received packet costs, and how many there can be, with one driver after the other.

  rx.py c|NAME...

Each word is a driver: C's, or the module /root/NAME.ko. All get GbEth's defaults of coalescing and threads, whatever
the chip, so that the driver makes the difference. The other end is the model's peer. Instructions are those of the
kernel (PMU), a load put on twice and the difference taken; packets a second are those of the interface. With pools,
also XDP programs take the packets. Prints one JSON object a load.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import bpf
from lib.py import NetdevFamily
from pmu import EXCLUDE_USER, Instructions
from quiet import settle

NETIF, REMOTE, LOCAL = (os.environ[name] for name in ("NETIF", "REMOTE_V4", "LOCAL_V4"))
SYSFS = Path("/sys/class/net") / NETIF
SOURCE, ORDERED_SOURCE, PORT = 19, 18, 5001
SHORT, LONG = 50, 200
# The smallest segments that a kernel asks for: 76 bytes and time stamps. So many of them in a second, in bits.
SMALL_MSS, SMALL_RATE = 88, 30_000_000
FLUSH_NS = {"default": 20_000, "batch": 1_000_000}


def run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def read(name: str) -> str:
    return (SYSFS / name).read_text().strip()


def replace_driver(name: str) -> None:
    """Another driver in place of the one that is loaded, and the link."""
    device = (SYSFS / "device").resolve()
    driver = (device / "driver").resolve()
    loaded = (driver / "module").resolve().name
    # The C driver's MDIO bus holds its module.
    (driver / "unbind").write_text(device.name)
    run("rmmod", loaded)
    if name == "c":
        run("modprobe", "ravb")
    else:
        run("insmod", f"/root/{name}.ko")
    run("ip", "address", "add", f"{LOCAL}/24", "dev", NETIF)
    run("ip", "link", "set", "dev", NETIF, "up")
    while read("carrier") != "1":
        time.sleep(0.1)
    (SYSFS / "threaded").write_text("1")
    (SYSFS / "napi_defer_hard_irqs").write_text("1")


def flush_after(what: str) -> None:
    """How long NAPI waits for more."""
    (SYSFS / "gro_flush_timeout").write_text(str(FLUSH_NS[what]))


def largest_segment(mss: int) -> None:
    """What the peer is told, 0: what the MTU has room for."""
    network = LOCAL.rpartition(".")[0] + ".0/24"
    run("ip", "route", "replace", network, "dev", NETIF, "proto", "kernel", "scope", "link", "src", LOCAL,
        "advmss", str(mss))


def pools() -> int:
    """The page pools of the interface."""
    ifindex = int(read("ifindex"))
    return sum(pool.get("ifindex") == ifindex and "detach-time" not in pool
               for pool in NetdevFamily().page_pool_get({}, dump=True))


def udp(payload: int, pace: str):
    """A receiver in C of datagrams, which come so far apart."""
    return lambda ms: run("udpsink", "-r", REMOTE, f"flood {pace} {payload} {ms}ms {PORT}", str(PORT), str(ms))


def tcp(ms: int) -> None:
    """As fast as it goes."""
    run("tcpsink", REMOTE, str(SOURCE), str(ms))


def slow_tcp(ms: int) -> None:
    run("tcpsink", "-o", f"{SMALL_RATE} {SMALL_RATE}", REMOTE, str(ORDERED_SOURCE), str(ms))


def flood(payload: int):
    """Frames for nobody: with an XDP program."""
    mac = read("address")

    def load(ms: int) -> None:
        run("twinctl", "flood", f"payload={payload}", f"dmac={mac}", "src=10.9.9.9", "dst=10.9.9.8", "dport=9",
            f"for={ms}ms")
        time.sleep(ms / 1000)
        run("twinctl", "stop")

    return load


def say(policy: str, load: str, **figures: float) -> None:
    print(json.dumps({"driver": "c" if policy == "c" else "rs", "policy": policy, "load": load, **figures}), flush=True)


def measure(policy: str, name: str, load) -> None:
    counter = Instructions(EXCLUDE_USER)
    seen = []
    load(SHORT)
    for ms in (SHORT, LONG):
        settle()
        start, packets, before = time.monotonic_ns(), int(read("statistics/rx_packets")), counter.read()
        load(ms)
        seen.append((counter.read() - before, int(read("statistics/rx_packets")) - packets,
                     time.monotonic_ns() - start))
    counter.close()
    (base, few, soon), (top, many, late) = seen
    if many <= few:
        sys.exit(f"{policy}, {name}: {few} packets in {SHORT} ms, {many} in {LONG} ms")
    say(policy, name, kernel=(top - base) / (many - few), rate=(many - few) / ((late - soon) / 1e9))


def without_program(policy: str) -> None:
    # Some so many that the CPU does not keep up (at line rate the C driver comes to rest), then with time to spare and
    # fifty at a time, so that what is counted is what a packet costs.
    flush_after("default")
    measure(policy, "udp_64_200k", udp(18, "5000"))
    measure(policy, "udp_1472_line", udp(1472, "line"))
    measure(policy, "tcp_1448", tcp)
    largest_segment(SMALL_MSS)
    measure(policy, "tcp_76", slow_tcp)
    largest_segment(0)
    flush_after("batch")
    measure(policy, "udp_64", udp(18, "20000"))
    measure(policy, "udp_1472", udp(1472, "20000"))


def with_programs(policy: str) -> None:
    flush_after("default")
    for name, instructions in (("drop", bpf.verdict_program(bpf.DROP)),
                               ("tx", bpf.echo_program(bpf.verdict_program(bpf.TX))),
                               ("pass", bpf.verdict_program(bpf.PASS))):
        program = bpf.Program(instructions)
        run("ip", "link", "set", "dev", NETIF, "xdpdrv", "pinned", program.path)
        if name == "pass":
            measure(policy, "xdp_pass_64_200k", udp(18, "5000"))
            measure(policy, "xdp_pass_tcp_1448", tcp)
        else:
            for payload, length in ((18, 64), (1472, 1472)):
                measure(policy, f"xdp_{name}_{length}", flood(payload))
        run("ip", "link", "set", "dev", NETIF, "xdpdrv", "off")
        program.close()


def main() -> None:
    subprocess.run("mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf", shell=True, check=True)
    for policy in sys.argv[1:]:
        replace_driver(policy)
        say(policy, "at_rest", pools=pools())
        if policy == "default":
            continue
        without_program(policy)
        if policy.startswith("pool"):
            with_programs(policy)


main()
