#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Checksums: those sent are right, those received are judged rightly, with offloads on and off.

Frames are checked and made by hand at the peer, so that no offload of this machine judges itself.
"""

import re
import socket
import struct
from pathlib import Path

from lib.py import RavbEnv, KsftNamedVariant, ksft_disruptive, ksft_eq, ksft_exit, ksft_pr, \
    ksft_run, ksft_true, ksft_variants
from lib.py import KsftSkipEx, bkg, cmd, defer, ethtool, rand_port, until, verdict, wait_port_listen
from lib.py.rawio import SOL_PACKET
from lib.py.packets import dissect, eth, ip_packet, padded, tcp_to_port, udp, \
    udp_to_port, wrong_csums, ETH_P_IP, ETH_P_IPV6, WRONG_CSUM, csum16

FAMILIES = {"4": socket.AF_INET, "6": socket.AF_INET6}


def _feature(cfg, name: str) -> bool:
    return ethtool(f"-k {cfg.ifname}", json=True)[0][name]["active"]


def _set(cfg, rx: bool, tx: bool) -> None:
    """Sets the offloads of the port, and back at the end of the case."""
    def state(on):
        return "on" if on else "off"

    old_rx, old_tx = _feature(cfg, "rx-checksumming"), _feature(cfg, "tx-checksumming")
    defer(ethtool, f"-K {cfg.ifname} rx {state(old_rx)}")
    ethtool(f"-K {cfg.ifname} rx {state(rx)}")
    if cfg.chip.tx_csum:
        defer(ethtool, f"-K {cfg.ifname} tx {state(old_tx)}")
        ethtool(f"-K {cfg.ifname} tx {state(tx)}")
    ksft_eq(_feature(cfg, "rx-checksumming"), rx, "rx-checksumming taken")
    if cfg.chip.tx_csum:
        ksft_eq(_feature(cfg, "tx-checksumming"), tx, "tx-checksumming taken")


def _peer_sends_as_given(cfg) -> None:
    """No offload at the peer: some hardware corrects the checksum of any frame that it sends."""
    shown = ethtool(f"-k {cfg.remote_ifname}", json=True, host=cfg.remote)[0]["tx-checksumming"]
    if shown["active"]:
        ethtool(f"-K {cfg.remote_ifname} tx off", host=cfg.remote)
        defer(ethtool, f"-K {cfg.remote_ifname} tx on", host=cfg.remote)


def defaults(cfg) -> None:
    """Offloads that the variant has are on by default; others are not offered."""
    shown = ethtool(f"-k {cfg.ifname}", json=True)[0]
    ksft_eq(shown["rx-checksumming"]["active"], True, "rx-checksumming")
    ksft_eq(shown["tx-checksumming"]["active"], cfg.chip.tx_csum, "tx-checksumming")


STATES = [KsftNamedVariant(f"rx_{'on' if rx else 'off'}_tx_{'on' if tx else 'off'}", rx, tx)
          for rx in (True, False) for tx in (True, False)]


def _skip_without_tx(cfg, tx: bool) -> None:
    if not tx and not cfg.chip.tx_csum:
        raise KsftSkipEx(f"{cfg.chip.name} has no TX checksum offload to switch off")


@ksft_variants(STATES)
def sent(cfg, rx, tx) -> None:
    """UDP and TCP over v4 and v6 leave with right checksums, of all small lengths."""
    _skip_without_tx(cfg, tx)
    _set(cfg, rx, tx)
    for ipver, family in FAMILIES.items():
        dest = cfg.remote_addr_v[ipver]
        port = rand_port()
        sizes = [*range(34), 100, 1001, 1400]
        with cfg.remote_packets() as peer, socket.socket(family, socket.SOCK_DGRAM) as sock:
            for n in sizes:
                sock.sendto(bytes((n + i) & 0xff for i in range(n)), (dest, port))
            frames = peer.capture(udp_to_port(port), len(sizes), 5)
        ksft_eq(len(frames), len(sizes), f"IPv{ipver} UDP datagrams seen by the peer")
        ksft_eq(wrong_csums(frames), [], f"wrong UDP/IPv{ipver}")

        # Nobody listens: SYN out, RST back. The SYN's checksum is what is looked at.
        with cfg.remote_packets() as peer, socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.settimeout(5)
            refused = sock.connect_ex((dest, port))
            frames = peer.capture(tcp_to_port(port), 1, 5)
        ksft_true(refused != 0, "connection to a closed port")
        ksft_eq(len(frames), 1, f"IPv{ipver} SYN seen by the peer")
        ksft_eq(wrong_csums(frames), [], f"wrong TCP/IPv{ipver}")


@ksft_variants(STATES)
def stream(cfg, rx, tx) -> None:
    """A megabyte each way over TCP arrives unchanged, without segments that fail their checksum."""
    _skip_without_tx(cfg, tx)
    cfg.require_cmd("socat", local=True, remote=True)
    _set(cfg, rx, tx)
    before = _snmp(cfg, "Tcp", "InCsumErrors")
    for server, client, dest in ((None, cfg.remote, cfg.addr_v["4"]),
                                 (cfg.remote, None, cfg.remote_addr_v["4"])):
        _transfer(cfg, server, client, dest)
    ksft_eq(_snmp(cfg, "Tcp", "InCsumErrors") - before, 0, "TCP segments with a bad checksum")


def _transfer(cfg, server, client, dest: str) -> None:
    port = rand_port()
    make = "head -c 1048576 /dev/zero | tr '\\0' x"
    want = cmd(make + " | md5sum", shell=True).stdout
    with bkg(f"bash -c 'timeout 30 socat -u TCP-LISTEN:{port},reuseaddr STDOUT | md5sum'",
             shell=True, host=server, exit_wait=True) as sink:
        wait_port_listen(port, host=server)
        cmd(f"bash -c \"{make} | socat -u STDIN TCP:{dest}:{port}\"", shell=True, host=client,
            timeout=40)
    ksft_eq(sink.stdout, want, "md5 of what arrived")


def _snmp(cfg, proto: str, name: str) -> int:
    """A counter of the local stack."""
    rows = [line.split() for line in Path("/proc/net/snmp").read_text().splitlines()
            if line.startswith(proto + ":")]
    return int(rows[1][rows[0].index(name)])


def _snmp6(name: str) -> int:
    return int(re.search(rf"^{name}\s+(\d+)", Path("/proc/net/snmp6").read_text(), re.MULTILINE)[1])


def _udp_errors(cfg) -> int:
    return _snmp(cfg, "Udp", "InCsumErrors") + _snmp6("Udp6InCsumErrors")


def _datagrams(sock) -> list:
    out = []
    while True:
        try:
            out.append(sock.recv(65536))
        except BlockingIOError:
            return out


@ksft_variants([KsftNamedVariant(f"rx_{'on' if rx else 'off'}_v{v}", rx, v)
                for rx in (True, False) for v in "46"])
def received(cfg, rx, ipver) -> None:
    """Right checksums are taken and wrong ones dropped and counted, in short and long frames."""
    _set(cfg, rx, _feature(cfg, "tx-checksumming"))
    _peer_sends_as_given(cfg)
    ethertype = ETH_P_IP if ipver == "4" else ETH_P_IPV6
    src, dst = cfg.remote_addr_v[ipver], cfg.addr_v[ipver]
    with socket.socket(FAMILIES[ipver], socket.SOCK_DGRAM) as sock, cfg.remote_packets() as peer:
        sock.bind((dst, 0))
        sock.setblocking(False)
        port = sock.getsockname()[1]
        good, bad, right = [], [], []
        for n in (0, 1, 2, 17, 18, 19, 100, 1001, 1450):
            data = bytes((7 * n + i) & 0xff for i in range(n))
            right.append(data)
            good.append(padded(eth(cfg.mac, cfg.remote_mac, ethertype,
                                   udp(src, dst, 9, port, data))))
            bad.append(padded(eth(cfg.mac, cfg.remote_mac, ethertype,
                                  udp(src, dst, 9, port, data, csum=WRONG_CSUM))))
        # Padding that is not zero: counted by a sum over the frame, and not part of the datagram.
        right.append(b"x")
        good.append(padded(eth(cfg.mac, cfg.remote_mac, ethertype,
                               udp(src, dst, 9, port, b"x")), b"\xa5"))
        errors = _udp_errors(cfg)
        peer.send(bad + good)
        got = []
        until(lambda: got.extend(_datagrams(sock)) or len(got) >= len(good), 5,
              f"{len(good)} datagrams, {len(got)} came")
        ksft_eq(sorted(got), sorted(right), "datagrams received")
        # A lazy stack checks when the datagram is read, so the errors are all counted by now.
        ksft_eq(_udp_errors(cfg) - errors, len(bad), "datagrams counted as bad")
        ksft_pr(f"{len(good)} right ones taken, {len(bad)} wrong ones dropped")


def received_without(cfg) -> None:
    """A UDP datagram without a checksum is taken in IPv4."""
    src, dst = cfg.remote_addr_v["4"], cfg.addr_v["4"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock, cfg.remote_packets() as peer:
        sock.bind((dst, 0))
        sock.settimeout(5)
        peer.send([padded(eth(cfg.mac, cfg.remote_mac, ETH_P_IP,
                              udp(src, dst, 9, sock.getsockname()[1], b"none", csum=0)))])
        ksft_eq(sock.recv(100), b"none")


def sent_without(cfg) -> None:
    """A UDP datagram sent without a checksum stays without one."""
    so_no_check = 11
    port = rand_port()
    with cfg.remote_packets() as peer, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, so_no_check, 1)
        sock.sendto(b"none", (cfg.remote_addr_v["4"], port))
        frames = peer.capture(udp_to_port(port), 1, 5)
    ksft_eq([dissect(f)[1][6:8] for f in frames], [b"\0\0"], "checksum field")


def _sum_from(frame: bytes, start: int, at: int, seed: int) -> bytes:
    """@frame with the checksum that HW_CSUM promises: of all from @start on, @seed at @at."""
    frame = frame[:at] + struct.pack("!H", seed) + frame[at + 2:]
    return frame[:at] + struct.pack("!H", ~csum16(frame[start:]) & 0xffff) + frame[at + 2:]


# Where a checksum is wanted that looks like one of TCP or UDP, and is none: bytes in a frame with
# UDP in IPv4, what they are, and where in the transport header the checksum goes.
PLACES = [KsftNamedVariant("first_fragment", 20, b"\x20\0", 6),
          KsftNamedVariant("last_fragment", 20, b"\0\x02", 6),
          KsftNamedVariant("elsewhere", 20, b"\0\0", 10)]


@ksft_variants(PLACES)
def sent_placed(cfg, where, what, offset) -> None:
    """A checksum that the sender of a frame wants is put where it wants it."""
    packet_vnet_hdr, needs_csum = 15, 1
    start = 14 + 20
    frame = eth(cfg.remote_mac, cfg.mac, ETH_P_IP,
                udp(cfg.addr_v["4"], cfg.remote_addr_v["4"], 9, 9, bytes(range(60)), csum=0))
    frame = frame[:where] + what + frame[where + len(what):]
    seed = 0x1234
    want = _sum_from(frame, start, start + offset, seed)
    given = frame[:start + offset] + struct.pack("!H", seed) + frame[start + offset + 2:]
    header = struct.pack("=BBHHHH", needs_csum, 0, 0, 0, start, offset)
    with cfg.remote_packets() as peer, cfg.local_packets() as sock:
        sock.sock.setsockopt(SOL_PACKET, packet_vnet_hdr, 1)
        sock.sock.send(header + given)
        frames = peer.capture(lambda f: f[:14] == frame[:14] and f[30:38] == frame[30:38], 1, 5)
    verdict(cfg, "T9", [f.hex() for f in frames], [want.hex()], [given.hex()], "frame sent")


def other_protocols(cfg) -> None:
    """Frames that no offload knows come through whole: another IP protocol, a bad length."""
    src, dst = (socket.inet_aton(a["4"]) for a in (cfg.remote_addr_v, cfg.addr_v))
    proto = 253     # for experimentation
    data = bytes(range(40))
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, proto) as sock, \
            cfg.remote_packets() as peer:
        sock.settimeout(5)
        packet = ip_packet(src, dst, proto, data)
        peer.send([padded(eth(cfg.mac, cfg.remote_mac, ETH_P_IP, packet))])
        got = sock.recv(1000)
    ksft_eq(got[20:], data, "payload of an unknown protocol")
    ksft_eq(csum16(got[:20]), 0xffff, "IP header as received")


def bad_counted(cfg) -> None:
    """The driver's own counter of bad checksums, where it claims one, counts them."""
    name = "rx_queue_0_csum_offload_errors"
    if name not in cfg.queue_stats():
        raise KsftSkipEx(f"{cfg.chip.name} publishes no such counter")
    _peer_sends_as_given(cfg)
    count = 6
    src, dst = cfg.remote_addr_v["4"], cfg.addr_v["4"]
    frame = eth(cfg.mac, cfg.remote_mac, ETH_P_IP,
                udp(src, dst, 9, 9, b"bad" * 30, csum=WRONG_CSUM))
    before, packets = cfg.queue_stats(), cfg.stats()["rx_packets"]
    with cfg.remote_packets() as peer:
        peer.send([frame], count)
    until(lambda: cfg.stats()["rx_packets"] >= packets + count, 5, "frames counted")
    after = cfg.queue_stats()
    verdict(cfg, "B15", after[name] - before[name], count, 0, f"{name} after {count} bad frames")


@ksft_disruptive
def toggled_while_down(cfg) -> None:
    """Offloads switched while the interface is down take effect at the next open (R36)."""
    def restore():
        cfg.set_link(True)
        until(cfg.link_up, 15, "link")

    defer(restore)
    cfg.set_link(False)
    _set(cfg, False, False)
    cfg.set_link(True)
    until(cfg.link_up, 15, "link")
    cfg.resume()
    cfg.ping(wait=5, size=1400)
    cfg.set_link(False)
    ethtool(f"-K {cfg.ifname} rx on")
    if cfg.chip.tx_csum:
        ethtool(f"-K {cfg.ifname} tx on")
    cfg.set_link(True)
    until(cfg.link_up, 15, "link")
    cfg.resume()


@ksft_disruptive
def toggled_under_load(cfg) -> None:
    """Switching offloads back and forth under traffic loses no more than what was in flight."""
    count = 400
    states = ("off", "on")
    flood = f"ping -q -n -c {count} -i 0.002 -W 1 -s 600 {cfg.remote_addr_v['4']}"
    with bkg(flood, exit_wait=True) as traffic:
        for n in range(10):
            ethtool(f"-K {cfg.ifname} rx {states[n % 2]}")
            if cfg.chip.tx_csum:
                ethtool(f"-K {cfg.ifname} tx {states[n % 2]}")
    lost = re.search(r"(\d+) packets transmitted, (\d+) received", traffic.stdout)
    ksft_pr(f"{lost[2]} of {lost[1]} echoes answered while toggling")
    ksft_true(int(lost[2]) >= count - 40, f"only {lost[2]} of {count} echoes answered")
    ksft_eq((_feature(cfg, "rx-checksumming"), _feature(cfg, "tx-checksumming")),
            (True, cfg.chip.tx_csum), "offloads at the end")
    cfg.ping(wait=5)


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([defaults, sent, received, received_without, sent_without, sent_placed,
                  other_protocols, bad_counted, stream, toggled_while_down, toggled_under_load], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
