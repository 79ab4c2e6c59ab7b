#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Who may pass: own address, foreign ones, broadcast, multicast, promiscuous mode."""

from lib.py import RavbEnv, ksft_disruptive, ksft_eq, ksft_exit, ksft_pr, ksft_run
from lib.py import defer, ethtool, ip, until, verdict
from lib.py.packets import ETH_P_TEST, eth, of_type
from lib.py.rawio import PACKET_MR_PROMISC

FOREIGN = "02:00:00:00:88:99"
BROADCAST = "ff:ff:ff:ff:ff:ff"
MULTICASTS = ("01:00:5e:00:00:fb", "33:33:00:00:12:34", "01:80:c2:00:00:21")


def _passes(cfg, sock, dst: str) -> bool:
    """Whether a frame to @dst is received by the open socket, another to the port itself is."""
    with cfg.remote_packets() as peer:
        peer.send([eth(dst, cfg.remote_mac, ETH_P_TEST, b"to " + dst.encode() + bytes(50)),
                   eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, b"end of test" + bytes(50))])
    seen = []
    while True:
        # The frame behind it says that this one was lost, and not merely slow.
        frame = (sock.capture(of_type(ETH_P_TEST), 1, 5) or [None])[0]
        if frame is None:
            raise TimeoutError("not even the frame to the port's own address was received")
        if frame[14:].startswith(b"end of test"):
            return b"to " + dst.encode() in seen
        seen.append(frame[14:14 + 3 + len(dst)])


def filtered(cfg) -> None:
    """Own address, broadcast and multicast pass; a foreign address does not."""
    with cfg.local_packets() as sock:
        ksft_eq(_passes(cfg, sock, FOREIGN), False, "foreign unicast")
        for dst in (cfg.mac, BROADCAST, *MULTICASTS):
            ksft_eq(_passes(cfg, sock, dst), True, dst)


def promisc_on_off(cfg) -> None:
    """A foreign address passes while someone listens promiscuously, and not afterwards."""
    with cfg.local_packets() as sock:
        with cfg.local_packets(promisc=True):
            ksft_eq(_passes(cfg, sock, FOREIGN), True, "foreign unicast in promiscuous mode")
            ksft_eq(_passes(cfg, sock, cfg.mac), True, "own address in promiscuous mode")
        ksft_eq(_passes(cfg, sock, FOREIGN), False, "foreign unicast afterwards")


def second_address(cfg) -> None:
    """A further unicast address (macvlan) is received."""
    ip(f"link add link {cfg.ifname} name mv0 address {FOREIGN} type macvlan mode bridge")
    defer(ip, "link del mv0")
    ip("link set dev mv0 up")
    with cfg.local_packets() as sock:
        ksft_eq(_passes(cfg, sock, FOREIGN), True, "address of a macvlan")


@ksft_disruptive
def over_down_up(cfg) -> None:
    """Promiscuous mode that was set stays over down and up."""
    with cfg.local_packets() as sock:
        sock.member(PACKET_MR_PROMISC)
        cfg.set_link(False)
        cfg.set_link(True)
        # The socket saw ENETDOWN; a new one carries on.
        until(cfg.link_up, 15, "link")
        with cfg.local_packets() as again:
            ksft_eq(_passes(cfg, again, FOREIGN), True, "foreign unicast after down and up")


def over_mtu_change(cfg) -> None:
    """Promiscuous mode stays over a change of the MTU."""
    with cfg.local_packets(promisc=True) as sock:
        ksft_eq(_passes(cfg, sock, FOREIGN), True, "before")
        defer(ip, f"link set dev {cfg.ifname} mtu {cfg.dev['mtu']}")
        ip(f"link set dev {cfg.ifname} mtu 1400")
        passes = _passes(cfg, sock, FOREIGN)
    verdict(cfg, "B22", passes, True, False, "foreign unicast passes after the MTU change")


@ksft_disruptive
def over_ring_change(cfg) -> None:
    """Promiscuous mode stays over a change of the ring sizes."""
    with cfg.local_packets(promisc=True) as sock:
        ksft_eq(_passes(cfg, sock, FOREIGN), True, "before")
        defer(ethtool, f"-G {cfg.ifname} rx 1024")
        ethtool(f"-G {cfg.ifname} rx 1000")
        passes = _passes(cfg, sock, FOREIGN)
    verdict(cfg, "B22r", passes, True, False, "foreign unicast passes after the ring change")


def over_feature_change(cfg) -> None:
    """Promiscuous mode stays over a change of the offloads."""
    with cfg.local_packets(promisc=True) as sock:
        defer(ethtool, f"-K {cfg.ifname} rx on")
        ethtool(f"-K {cfg.ifname} rx off")
        ksft_eq(_passes(cfg, sock, FOREIGN), True, "after rx off")
        ethtool(f"-K {cfg.ifname} rx on")
        ksft_eq(_passes(cfg, sock, FOREIGN), True, "after rx on")
    ksft_pr("rx off and on kept promiscuous mode")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([filtered, promisc_on_off, second_address, over_down_up, over_mtu_change,
                  over_ring_change, over_feature_change], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
