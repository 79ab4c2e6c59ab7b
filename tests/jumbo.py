#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Frames longer than 1514 bytes, as the wire brings them whatever this end's MTU is.

GbEth takes 8 KiB, spread over several descriptors; the others take what one descriptor holds.
"""

import errno
import socket

from lib.py import RavbEnv, KsftNamedVariant, ksft_eq, ksft_exit, ksft_ge, ksft_pr, ksft_run, \
    ksft_variants
from lib.py import KsftSkipEx, defer, ethtool, ip, until, verdict
from lib.py.packets import ETH_P_TEST, eth, of_type
from lib.py.rawio import SO_RCVBUFFORCE
from lib.py.twin import flood_payload

SLOT = 1726             # bytes of a GbEth receive descriptor
TRAILER = 4             # checksum status behind the frame's end
LONGEST = {"gbeth": 8192}
LONGEST_RCAR = 2044     # the descriptor's 2046 bytes hold the checksum as well
UDP_HEAD = 14 + 20 + 8


def _longest(cfg) -> int:
    return LONGEST.get(cfg.chip.name, LONGEST_RCAR)


@ksft_variants([KsftNamedVariant(f"v{v}_rx_{'on' if rx else 'off'}", v, rx)
                for v in "46" for rx in (True, False)])
def datagrams(cfg, ipver, rx) -> None:
    """UDP datagrams in single long frames arrive whole, with receive checksums on and off."""
    twin = cfg.require_twin()
    defer(ethtool, f"-K {cfg.ifname} rx on")
    ethtool(f"-K {cfg.ifname} rx {'on' if rx else 'off'}")
    head = 14 + (20 if ipver == "4" else 40) + 8
    family = socket.AF_INET if ipver == "4" else socket.AF_INET6
    src, dst = cfg.remote_addr_v[ipver], cfg.addr_v[ipver]
    before = cfg.stats()
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        sock.bind((dst, 0))
        sock.settimeout(5)
        lengths = [n for n in (1600, 2000, 2044, 3000, 4000, 6000, 8000, 8192)
                   if n <= _longest(cfg)]
        for length in lengths:
            twin.flood(payload=length - head, src=src, dst=dst, dport=sock.getsockname()[1],
                       dmac=cfg.mac, smac=cfg.remote_mac, count=1)
            got = sock.recv(65536)
            want = flood_payload(0, length - head)
            ksft_eq((len(got), got == want), (len(want), True), f"frame of {length} bytes")
    after = cfg.stats()
    ksft_pr(f"lengths {lengths}")
    ksft_eq(after["rx_errors"] - before["rx_errors"], 0, "rx_errors")
    ksft_ge(after["rx_bytes"] - before["rx_bytes"], sum(lengths) - 14 * len(lengths), "rx_bytes")


@ksft_variants([KsftNamedVariant("rx_on", True), KsftNamedVariant("rx_off", False)])
def edges(cfg, rx) -> None:
    """Lengths at which the frame, or only its checksum trailer, begins another descriptor."""
    twin = cfg.require_twin()
    if cfg.chip.name != "gbeth":
        raise KsftSkipEx(f"{cfg.chip.name} never spreads a frame over descriptors")
    defer(ethtool, f"-K {cfg.ifname} rx on")
    ethtool(f"-K {cfg.ifname} rx {'on' if rx else 'off'}")
    lengths = sorted({SLOT * k + d - t for k in (1, 2, 3, 4) for d in range(-2, 4)
                      for t in (0, TRAILER)})
    with _udp_socket(cfg) as sock:
        for length in lengths:
            payload = length - UDP_HEAD
            twin.flood(payload=payload, dport=sock.getsockname()[1], count=1, **_ends(cfg))
            got = sock.recv(65536)
            if got != flood_payload(0, payload):
                ksft_eq((length, len(got)), (length, payload), "frame and datagram length")
                ksft_eq(got == flood_payload(0, payload), True, f"frame of {length} bytes")
    ksft_pr(f"{len(lengths)} lengths around multiples of {SLOT}")


def _udp_socket(cfg) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    sock.bind((cfg.addr_v["4"], 0))
    sock.settimeout(5)
    return sock


def _ends(cfg) -> dict:
    return {"src": cfg.remote_addr_v["4"], "dst": cfg.addr_v["4"], "dmac": cfg.mac,
            "smac": cfg.remote_mac}


def mixed(cfg) -> None:
    """Long and short frames in turn, several times round the ring."""
    twin = cfg.require_twin()
    count = 500 if cfg.chip.name == "gbeth" else 1100
    payloads = (_longest(cfg) - UDP_HEAD, 18)
    defer(twin.order, "stop")
    with _udp_socket(cfg) as sock:
        # Started together and paced alike, the two flows take turns.
        for payload in payloads:
            twin.flood(payload=payload, dport=sock.getsockname()[1], count=count, interval="400us",
                       **_ends(cfg))
        seen = [sock.recv(65536) for _ in range(2 * count)]
    for payload in payloads:
        got = [d for d in seen if len(d) == payload]
        want = [flood_payload(n, payload) for n in range(count)]
        ksft_eq(len(got), count, f"datagrams of {payload} bytes")
        ksft_eq(got == want, True, f"datagrams of {payload} bytes in order and unchanged")


def raw(cfg) -> None:
    """A long frame at a packet socket has its own length, no more and no less."""
    twin = cfg.require_twin()
    length = min(4000, _longest(cfg))
    with cfg.local_packets() as sock:
        frame = twin.frame(eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, b"raw"), size=length)
        try:
            got = sock.capture(of_type(ETH_P_TEST, cfg.mac), 1, 5)[0] == frame
        except OSError as e:
            got = e.errno
    verdict(cfg, "T2", got, True, errno.EFAULT, f"frame of {length} bytes received")


def too_long(cfg) -> None:
    """A frame beyond the receiver's limit is no frame; those behind it are received."""
    twin = cfg.require_twin()
    before = cfg.stats()
    count = 5
    with cfg.local_packets() as sock:
        for _ in range(count):
            twin.frame(eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, b"long"), size=_longest(cfg) + 500)
            twin.frame(eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, b"next" + bytes(60)))
        seen = sock.capture(of_type(ETH_P_TEST, cfg.mac), count, 5)
    if cfg.chip.name != "gbeth":
        until(lambda: cfg.stats()["rx_length_errors"] - before["rx_length_errors"] >= count, 5,
              f"{count} rx_length_errors")
    cfg.ping(wait=5)
    verdict(cfg, "T3", [f[14:18] for f in seen], [b"next"] * count,
            lambda got: b"long" in got and set(got) <= {b"long", b"next"},
            "frames that reached the stack")


def from_peer(cfg) -> None:
    """Echo requests of 7000 and 8000 bytes in one frame each, from a peer with a large MTU."""
    if cfg.chip.name != "gbeth":
        raise KsftSkipEx(f"{cfg.chip.name} takes no frames of that length")
    most = ip(f"-d link show dev {cfg.remote_ifname}", json=True,
              host=cfg.remote)[0].get("max_mtu") or 65535
    mtu = LONGEST["gbeth"] - 14
    if most < mtu:
        raise KsftSkipEx(f"the peer's interface has an MTU of {most} at most")
    defer(ip, f"link set dev {cfg.remote_ifname} mtu {cfg.remote_dev['mtu']}", host=cfg.remote)
    ip(f"link set dev {cfg.remote_ifname} mtu {mtu}", host=cfg.remote)
    for size in (2000, 4000, 7000, 8000, mtu - 28):
        # The answer comes in fragments of this end's MTU.
        cfg.ping(count=3, size=size, host=cfg.remote, options="-M do", wait=5)


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([datagrams, edges, mixed, raw, too_long, from_peer], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
