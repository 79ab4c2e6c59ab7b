#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Hardware timestamps of sent and received packets, and the network control queue they use."""

import errno
import re
import socket
import struct

from lib.py import RavbEnv, KsftNamedVariant, ksft_eq, ksft_exit, ksft_ge, ksft_in, ksft_lt, \
    ksft_pr, ksft_run, ksft_true, ksft_variants
from lib.py import defer, ethtool, verdict
from lib.py import ptp
from lib.py.events import KernelLog
from lib.py.rawio import PACKET_ADD_MEMBERSHIP, SOL_PACKET
from lib.py.packets import ETH_P_1588, ETH_P_IP, ETH_P_TEST, eth, mac_bytes, of_type, padded, udp

PACKET_MR_MULTICAST = 0
PTP_MULTICAST = "01:1b:19:00:00:00"


def _filters(cfg, tx_type: int, rx_filter: int) -> tuple:
    old = ptp.hwtstamp_get(cfg.ifname)
    defer(ptp.hwtstamp_set, cfg.ifname, *old)
    return ptp.hwtstamp_set(cfg.ifname, tx_type, rx_filter)


def _queue_packets(cfg, direction: str) -> list:
    stats = cfg.queue_stats()
    return [stats[f"{direction}_queue_{q}_packets"] for q in range(cfg.chip.queues)]


def capabilities(cfg) -> None:
    """ethtool -T lists what the variant can do, and the port's own clock."""
    text = ethtool(f"-T {cfg.ifname}").stdout
    words = text.split()
    for word in ("hardware-transmit", "hardware-receive", "hardware-raw-clock"):
        ksft_eq(word in words, cfg.chip.hw_stamps, word)
    index = re.search(r"(?:PTP Hardware Clock|Hardware timestamp provider index): (\S+)", text)
    shown = int(index[1]) if index and index[1].isdigit() else -1
    ksft_eq(shown, ptp.phc_index(cfg), "index of the clock")
    ksft_eq(shown >= 0, cfg.chip.hw_stamps, "has a clock")
    if cfg.chip.hw_stamps:
        for word in ("off", "on", "none", "all", "ptpv2-l2-event"):
            ksft_in(word, words)
        ksft_in("software-transmit", words)


def software_tx(cfg) -> None:
    """Software timestamps of sent packets: claimed, and delivered."""
    claimed = "software-transmit" in ethtool(f"-T {cfg.ifname}").stdout.split()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, ptp.SO_TIMESTAMPING,
                        ptp.SOF_TX_SOFTWARE | ptp.SOF_SOFTWARE)
        sock.sendto(b"stamp me", (cfg.remote_addr_v["4"], 9))
        software, _ = ptp.tx_stamp(sock, 1)
    verdict(cfg, "SWTS", (claimed, software != 0), (True, True), (False, False),
            "software TX stamps (claimed, delivered)")


def around_the_qdisc(cfg) -> None:
    """A packet socket that goes around the queueing discipline gets a queue that is there."""
    packet_qdisc_bypass = 20
    frames = [eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, bytes([n]) * 46) for n in range(5)]
    with KernelLog() as log:
        with cfg.remote_packets() as peer, cfg.local_packets() as sock:
            sock.sock.setsockopt(SOL_PACKET, packet_qdisc_bypass, 1)
            sock.sock.setsockopt(socket.SOL_SOCKET, ptp.SO_TIMESTAMPING,
                                 ptp.SOF_TX_HARDWARE | ptp.SOF_RAW_HARDWARE)
            sock.send(frames)
            seen = peer.capture(of_type(ETH_P_TEST, cfg.remote_mac), len(frames), 5)
        ksft_eq(sorted(seen), frames, "frames seen by the peer")
        complaints = [line for line in log.read() if "selects TX queue" in line]
    verdict(cfg, "T10", len(complaints), 0, lambda n: n > 0, "complaints in the log")


def settings_taken(cfg) -> None:
    """hwtstamp settings: what can be done is taken and read back, what can't is refused."""
    old = None
    try:
        old = ptp.hwtstamp_get(cfg.ifname)
        got = ptp.hwtstamp_set(cfg.ifname, ptp.TX_ON, ptp.FILTER_ALL)
    except OSError as e:
        got = e.errno
    if old is not None:
        defer(ptp.hwtstamp_set, cfg.ifname, *old)
    if not cfg.chip.hw_stamps:
        verdict(cfg, "B16g", got, errno.EOPNOTSUPP, (ptp.TX_ON, ptp.FILTER_ALL),
                "answer to tx on, rx all")
        return
    ksft_eq(got, (ptp.TX_ON, ptp.FILTER_ALL), "tx on, rx all")
    ksft_eq(ptp.hwtstamp_get(cfg.ifname), (ptp.TX_ON, ptp.FILTER_ALL), "read back")
    for asked, want in ((ptp.FILTER_NONE, ptp.FILTER_NONE),
                        (ptp.FILTER_PTP_V2_L2_EVENT, ptp.FILTER_PTP_V2_L2_EVENT),
                        (ptp.FILTER_PTP_V1_L4_EVENT, ptp.FILTER_ALL)):
        ksft_eq(ptp.hwtstamp_set(cfg.ifname, ptp.TX_OFF, asked), (ptp.TX_OFF, want),
                f"rx filter {asked}")
        ksft_eq(ptp.hwtstamp_get(cfg.ifname), (ptp.TX_OFF, want), f"rx filter {asked} read back")
    try:
        got = ptp.hwtstamp_set(cfg.ifname, 7, ptp.FILTER_NONE)
    except OSError as e:
        got = e.errno
    ksft_in(got, (errno.ERANGE, errno.EINVAL), "an unknown tx_type")


def sent(cfg) -> None:
    """Each packet that asks for it gets one hardware stamp, in order, from the port's clock."""
    cfg.require_stamps()
    _filters(cfg, ptp.TX_ON, ptp.FILTER_NONE)
    # More than the 10 bits of the tag would be slow here; more than the stamp FIFO's depth is not.
    count = 24
    before = _queue_packets(cfg, "tx")
    stamps = []
    with ptp.open_phc(cfg) as clock, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, ptp.SO_TIMESTAMPING,
                        ptp.SOF_TX_HARDWARE | ptp.SOF_RAW_HARDWARE)
        start = clock.now()
        for n in range(count):
            sock.sendto(b"x" * (20 + n), (cfg.remote_addr_v["4"], 9))
            stamps.append(ptp.tx_stamp(sock, 2)[1])
        end = clock.now()
    after = _queue_packets(cfg, "tx")
    ksft_eq([s for s in stamps if not start < s < end], [], f"stamps outside {start}..{end}")
    ksft_eq(stamps, sorted(set(stamps)), "stamps in order and distinct")
    ksft_eq(after[1] - before[1], count, "packets of the network control TX queue")
    ksft_pr(f"{count} stamps within {end - start} ns")


def sent_burst(cfg) -> None:
    """A burst of four: no stamp is lost, none is given twice, the order is kept."""
    cfg.require_stamps()
    _filters(cfg, ptp.TX_ON, ptp.FILTER_NONE)
    stamps = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, ptp.SO_TIMESTAMPING,
                        ptp.SOF_TX_HARDWARE | ptp.SOF_RAW_HARDWARE)
        for _ in range(4):
            sock.sendto(b"burst", (cfg.remote_addr_v["4"], 9))
        for _ in range(4):
            stamps.append(ptp.tx_stamp(sock, 2)[1])
    ksft_true(all(stamps), f"a stamp is missing: {stamps}")
    ksft_eq(stamps, sorted(set(stamps)), "stamps in order and distinct")


def sent_unasked(cfg) -> None:
    """Packets that ask for no stamp go out by the best effort queue."""
    if cfg.chip.queues == 1:
        cfg.require_stamps()
    _filters(cfg, ptp.TX_ON, ptp.FILTER_NONE)
    before = _queue_packets(cfg, "tx")
    cfg.ping(count=5)
    after = _queue_packets(cfg, "tx")
    ksft_ge(after[0] - before[0], 5, "packets of the best effort TX queue")
    ksft_eq(after[1] - before[1], 0, "packets of the network control TX queue")


def sent_while_off(cfg) -> None:
    """With tx_type OFF no hardware stamp is given, whatever the socket asks."""
    cfg.require_stamps()
    _filters(cfg, ptp.TX_OFF, ptp.FILTER_NONE)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, ptp.SO_TIMESTAMPING,
                        ptp.SOF_TX_HARDWARE | ptp.SOF_RAW_HARDWARE)
        sock.sendto(b"stamp me not", (cfg.remote_addr_v["4"], 9))
        _, hardware = ptp.tx_stamp(sock, 0.5)
    verdict(cfg, "B16", hardware != 0, False, True, "stamped")


def _receive_stamps(cfg, sock, frames) -> list:
    sock.setsockopt(socket.SOL_SOCKET, ptp.SO_TIMESTAMPING,
                    ptp.SOF_RX_HARDWARE | ptp.SOF_RAW_HARDWARE)
    sock.settimeout(3)
    stamps = []
    with cfg.remote_packets() as peer:
        for frame in frames:
            peer.send([frame])
            stamps.append(ptp.stamps_of(sock.recvmsg(4096, 1024)[1])[1])
    return stamps


@ksft_variants([KsftNamedVariant("none", ptp.FILTER_NONE, False, False),
                KsftNamedVariant("ptp_l2_event", ptp.FILTER_PTP_V2_L2_EVENT, True, False),
                KsftNamedVariant("all", ptp.FILTER_ALL, True, True)])
def received(cfg, rx_filter, ptp_stamped, other_stamped) -> None:
    """PTP events come by the network control queue; who is stamped follows the filter."""
    cfg.require_stamps()
    ksft_eq(_filters(cfg, ptp.TX_ON, rx_filter), (ptp.TX_ON, rx_filter))
    count = 5
    # PTPv2 Sync, domain 0: message type 0, version 2.
    sync = padded(eth(PTP_MULTICAST, cfg.remote_mac, ETH_P_1588, bytes((0, 2, 0, 44)) + bytes(40)))
    before = _queue_packets(cfg, "rx")
    with ptp.open_phc(cfg) as clock, \
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as raw, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as dgram:
        start = clock.now()
        raw.bind((cfg.ifname, ETH_P_1588))
        raw.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, _membership(cfg))
        got_ptp = _receive_stamps(cfg, raw, [sync] * count)
        middle = _queue_packets(cfg, "rx")
        dgram.bind((cfg.addr_v["4"], 0))
        plain = padded(eth(cfg.mac, cfg.remote_mac, ETH_P_IP,
                           udp(cfg.remote_addr_v["4"], cfg.addr_v["4"], 9,
                               dgram.getsockname()[1], b"plain")))
        got_other = _receive_stamps(cfg, dgram, [plain] * count)
        end = clock.now()
    ksft_ge(middle[1] - before[1], count, "PTP frames of the network control RX queue")
    ksft_lt(_queue_packets(cfg, "rx")[1] - middle[1], 1, "other frames of that queue")
    for what, stamps, want in (("PTP", got_ptp, ptp_stamped), ("other", got_other, other_stamped)):
        if want:
            ksft_eq([s for s in stamps if not start < s < end], [], f"{what}: outside the window")
            ksft_eq(stamps, sorted(set(stamps)), f"{what}: in order and distinct")
        else:
            ksft_eq(stamps, [0] * count, f"{what}: stamped against the filter")


def _membership(cfg) -> bytes:
    return struct.pack("=iHH8s", cfg.ifindex, PACKET_MR_MULTICAST, 6, mac_bytes(PTP_MULTICAST))


def lost_stamp(cfg) -> None:
    """A stamp that the device loses costs that packet's stamp and no other's."""
    cfg.require_stamps()
    twin = cfg.require_twin()
    _filters(cfg, ptp.TX_ON, ptp.FILTER_NONE)
    twin.lose_stamp(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, ptp.SO_TIMESTAMPING, ptp.SOF_TX_HARDWARE |
                        ptp.SOF_RAW_HARDWARE | ptp.SOF_OPT_ID | ptp.SOF_OPT_TSONLY)
        stamps = []
        for _ in range(3):
            sock.sendto(b"lost", (cfg.remote_addr_v["4"], 9))
            stamps.append(ptp.tx_stamp(sock, 0.5)[1] != 0)
    ksft_eq(stamps, [False, True, True], "packets that got their stamp")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([capabilities, software_tx, around_the_qdisc, settings_taken, sent, sent_burst,
                  sent_unasked, sent_while_off, received, lost_stamp], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
