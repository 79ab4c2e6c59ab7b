#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Carries frames between a network device and a pair of Unix datagram sockets (QEMU's -netdev dgram).

    wire.py DEVICE OUR-SOCKET QEMU'S-SOCKET

Says "ready" when it does.
"""

import selectors
import socket
import struct
import sys

ETH_P_ALL = 0x0003
SOL_PACKET = 263
PACKET_AUXDATA = 8
PACKET_OUTGOING = 4
TP_STATUS_VLAN_VALID = 1 << 4
TP_STATUS_VLAN_TPID_VALID = 1 << 6
# status, len, snaplen, mac, net, vlan_tci, vlan_tpid of struct tpacket_auxdata
AUXDATA = struct.Struct("=IIIHHHH")
FRAME = 65536
BATCH = 64


def from_device(device: socket.socket) -> bytes | None:
    """The next frame that the host's stack sends; None for our own ones."""
    data, extra, _, address = device.recvmsg(FRAME, socket.CMSG_SPACE(AUXDATA.size))
    if address[2] == PACKET_OUTGOING:
        return None
    # The kernel takes the VLAN tag out of the frame before anyone sees it.
    for level, kind, value in extra:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, tpid = AUXDATA.unpack_from(value)
            if status & TP_STATUS_VLAN_VALID:
                tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
                return data[:12] + struct.pack("!HH", tpid, tci) + data[12:]
    return data


def main(name: str, ours: str, theirs: str) -> None:
    device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    device.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    device.bind((name, 0))
    device.setblocking(False)
    qemu = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    qemu.bind(ours)
    qemu.setblocking(False)
    with selectors.DefaultSelector() as selector:
        selector.register(device, selectors.EVENT_READ)
        selector.register(qemu, selectors.EVENT_READ)
        print("ready", flush=True)
        while True:
            for key, _ in selector.select():
                for _ in range(BATCH):
                    try:
                        frame = from_device(device) if key.fileobj is device else qemu.recv(FRAME)
                    except BlockingIOError:
                        break
                    if not frame:
                        continue
                    # A wire loses what nobody takes: QEMU not there yet, a full queue, a frame too long.
                    try:
                        if key.fileobj is device:
                            qemu.sendto(frame, theirs)
                        else:
                            device.send(frame)
                    except OSError:
                        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
