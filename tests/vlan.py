#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""VLAN tags in band: a device per tag at both ends, one tag and two, at full frame size."""

import socket

from lib.py import RavbEnv, KsftNamedVariant, ksft_eq, ksft_exit, ksft_ge, ksft_pr, ksft_run, \
    ksft_variants
from lib.py import CmdExitFailure, KsftSkipEx, cmd, defer, ip, rand_port
from lib.py.packets import ETH_P_TEST, eth, of_type, tagged, udp_to_port, wrong_csums
from lib.py.rawio import RawSocket

VID = 77
V4 = ("10.78.0.1", "10.78.0.2")
V6 = ("fd78::1", "fd78::2")


def _devices(cfg, *tags) -> None:
    """A stack of VLAN devices (protocol, vid) on both ends, the last one with addresses."""
    for host, base, side in ((None, cfg.ifname, 0), (cfg.remote, cfg.remote_ifname, 1)):
        below = base
        for n, (proto, vid) in enumerate(tags):
            name = f"vl{side}{n}"
            try:
                ip(f"link add link {below} name {name} type vlan proto {proto} id {vid}", host=host)
            except CmdExitFailure as e:
                if host is None or "Unknown device type" not in e.cmd.stdout + e.cmd.stderr:
                    raise
                raise KsftSkipEx("the peer's kernel has no VLAN devices") from e
            if n == 0:
                defer(ip, f"link del {name}", host=host)
            ip(f"link set dev {name} up", host=host)
            below = name
        ip(f"addr add {V4[side]}/24 dev {below}", host=host)
        ip(f"-6 addr add {V6[side]}/64 dev {below} nodad", host=host)


def _ping(cfg, dest: str, size: int, host=None, options: str = "-M do") -> None:
    cmd(f"ping -q -n -c 3 -i 0.01 -W 5 {options} -s {size} {dest}", host=host, timeout=30)


@ksft_variants([KsftNamedVariant("one_tag", ("802.1Q", VID)),
                KsftNamedVariant("service_tag", ("802.1ad", VID)),
                KsftNamedVariant("two_tags", ("802.1ad", VID), ("802.1Q", VID + 1))])
def ping(cfg, *tags) -> None:
    """Echo through the tags: small, and as large as the MTU allows."""
    _devices(cfg, *tags)
    # A second tag is beyond what the MTU reserves: 4 bytes less for IP.
    room = 1500 - 4 * (len(tags) - 1)
    for host, side in ((None, 1), (cfg.remote, 0)):
        for size in (0, 56, room - 28):
            _ping(cfg, V4[side], size, host)
        for size in (56, room - 48):
            _ping(cfg, V6[side], size, host)


@ksft_variants([KsftNamedVariant("one_tag", ("802.1Q", VID)),
                KsftNamedVariant("service_tag", ("802.1ad", VID)),
                KsftNamedVariant("two_tags", ("802.1ad", VID), ("802.1Q", VID + 1))])
def checksum(cfg, *tags) -> None:
    """What is sent through the tags carries them, and a right checksum, in hardware or software."""
    _devices(cfg, *tags)
    port = rand_port()
    count = 8
    for family, dest in ((socket.AF_INET, V4[1]), (socket.AF_INET6, V6[1])):
        with cfg.remote_packets() as peer, socket.socket(family, socket.SOCK_DGRAM) as sock:
            for n in range(count):
                sock.sendto(bytes(range(n + 1)) * 20, (dest, port))
            frames = peer.capture(udp_to_port(port), count, 5)
        ksft_eq(len(frames), count, f"datagrams seen by the peer ({dest})")
        ksft_eq(wrong_csums(frames), [], "frames with a wrong UDP checksum")
        on_wire = [f[12 + 4 * n:14 + 4 * n].hex() for f in frames[:1] for n in range(len(tags))]
        want = [{"802.1Q": "8100", "802.1ad": "88a8"}[proto] for proto, _ in tags]
        ksft_eq(on_wire, want, "tags on the wire")


def other_vid(cfg) -> None:
    """A frame of another VLAN does not reach this one."""
    _devices(cfg, ("802.1Q", VID))
    with RawSocket("vl00") as sock, cfg.remote_packets() as peer:
        def frame(vid, text):
            return tagged(eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, text + bytes(50)), vid)

        peer.send([frame(VID + 5, b"other"), frame(VID, b"this")])
        seen = sock.capture(of_type(ETH_P_TEST), 1, 5)
    ksft_eq([f[14:19] for f in seen], [b"this\0"], "frames received in the VLAN")


def max_mtu(cfg) -> None:
    """At the port's largest MTU a tagged frame still passes: the limit reserves the tag."""
    remote_max = ip(f"-d link show dev {cfg.remote_ifname}", json=True,
                    host=cfg.remote)[0]["max_mtu"] or 65535
    mtu = min(cfg.chip.max_mtu, remote_max)
    for host, ifname, old in ((None, cfg.ifname, cfg.dev["mtu"]),
                              (cfg.remote, cfg.remote_ifname, cfg.remote_dev["mtu"])):
        defer(ip, f"link set dev {ifname} mtu {old}", host=host)
        ip(f"link set dev {ifname} mtu {mtu}", host=host)
    _devices(cfg, ("802.1Q", VID))
    ksft_ge(mtu, 1500)
    ksft_pr(f"mtu {mtu}")
    _ping(cfg, V4[1], mtu - 28)
    _ping(cfg, V4[0], mtu - 28, host=cfg.remote)


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([ping, checksum, other_vid, max_mtu], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
