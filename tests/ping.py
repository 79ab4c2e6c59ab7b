#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Echo in both directions and of all sizes: smallest, full frame, largest MTU, fragmented."""

import os
import re
import socket
import struct

from lib.py import RavbEnv, KsftNamedVariant, ksft_eq, ksft_exit, ksft_pr, ksft_run, ksft_variants
from lib.py import cmd, defer, ip
from lib.py.packets import csum16

COUNT = 5
HEADERS = {"4": 20 + 8, "6": 40 + 8}


def _both_ways(cfg, ipver: str, size: int, options: str) -> None:
    for host, who in ((None, "port"), (cfg.remote, "peer")):
        out = cfg.ping(COUNT, size, host, ipver, options, wait=5).stdout
        sent, got = re.search(r"(\d+) packets transmitted, (\d+) received", out).groups()
        rtt = re.search(r"= ([\d.]+)/([\d.]+)/", out)
        ksft_pr(f"from {who}: {got}/{sent} of {size} bytes, "
                f"min/avg {rtt[1] if rtt else '?'}/{rtt[2] if rtt else '?'} ms")
        ksft_eq(int(got), COUNT, f"echoes of {size} bytes from the {who}")


@ksft_variants([KsftNamedVariant(f"v{v}_{s}", v, s) for v in "46" for s in (0, 1, 56, 100)])
def small(cfg, ipver, size) -> None:
    """Echoes below and just above the minimum frame."""
    _both_ways(cfg, ipver, size, "")


@ksft_variants([KsftNamedVariant(f"v{v}", v) for v in "46"])
def full_frame(cfg, ipver) -> None:
    """Unfragmented echoes that fill 1500 bytes, and one byte less, two, three (alignment)."""
    for less in range(4):
        _both_ways(cfg, ipver, 1500 - HEADERS[ipver] - less, "-M do")


@ksft_variants([KsftNamedVariant(f"v{v}", v) for v in "46"])
def max_mtu(cfg, ipver) -> None:
    """Unfragmented echoes at the largest MTU of the port."""
    old = cfg.dev["mtu"]
    remote_old = cfg.remote_dev["mtu"]
    remote_max = ip(f"-d link show dev {cfg.remote_ifname}", json=True,
                    host=cfg.remote)[0]["max_mtu"] or 65535
    mtu = min(cfg.chip.max_mtu, remote_max)
    defer(ip, f"link set dev {cfg.ifname} mtu {old}")
    defer(ip, f"link set dev {cfg.remote_ifname} mtu {remote_old}", host=cfg.remote)
    ip(f"link set dev {cfg.remote_ifname} mtu {mtu}", host=cfg.remote)
    ip(f"link set dev {cfg.ifname} mtu {mtu}")
    for less in range(2):
        _both_ways(cfg, ipver, mtu - HEADERS[ipver] - less, "-M do")
    too_big = cmd(f"ping -{ipver} -q -n -c 1 -W 1 -M do -s {mtu - HEADERS[ipver] + 1} "
                  f"{cfg.remote_addr_v[ipver]}", fail=False)
    ksft_eq(too_big.ret != 0, True, "one byte above the MTU must not pass unfragmented")


@ksft_variants([KsftNamedVariant(f"v{v}_{s}", v, s) for v in "46" for s in (1473, 4000, 20000)])
def fragmented(cfg, ipver, size) -> None:
    """Echoes of several frames."""
    _both_ways(cfg, ipver, size, "-M dont")


ECHO_REQUEST, ECHO_REPLY = 8, 0


def sweep(cfg) -> None:
    """Every payload size from 0 to 200: paddings, alignments, tail lengths. One echo each, compared byte for byte."""
    ident, wrong = os.getpid() & 0xffff, []
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sock:
        sock.settimeout(2)
        sock.connect((cfg.remote_addr_v["4"], 0))
        for size in range(201):
            rest = struct.pack("!HH", ident, size) + bytes(n & 0xff for n in range(size))
            check = csum16(bytes((ECHO_REQUEST, 0, 0, 0)) + rest) ^ 0xffff
            sock.send(struct.pack("!BBH", ECHO_REQUEST, 0, check) + rest)
            try:
                # Other programs' echoes come here as well; the IP header is twenty bytes.
                while (got := sock.recv(2048)[20:])[:1] != bytes((ECHO_REPLY,)) or got[4:8] != rest[:4]:
                    pass
            except TimeoutError:
                got = b""
            if got[4:] != rest:
                wrong.append(size)
    ksft_eq(wrong, [], "sizes without an answer, or with a wrong one")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([small, full_frame, max_mtu, fragmented, sweep], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
