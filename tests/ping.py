#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Echo in both directions and of all sizes: smallest, full frame, largest MTU, fragmented."""

import re

from lib.py import RavbEnv, KsftNamedVariant, ksft_eq, ksft_exit, ksft_pr, ksft_run, ksft_variants
from lib.py import cmd, defer, ip

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


def sweep(cfg) -> None:
    """Every payload size from 0 to 200: paddings, alignments, tail lengths. One echo each."""
    step = cmd(f"bash -c 'for s in $(seq 0 200); do ping -4 -q -n -c 1 -W 2 -s $s "
               f"{cfg.remote_addr_v['4']} >/dev/null || echo $s; done'",
               shell=True, timeout=120)
    ksft_eq(step.stdout.split(), [], "sizes without an answer")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([small, full_frame, max_mtu, fragmented, sweep], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
