#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Raw Ethernet sending and capturing, as a module here and as a program on the peer.

It stands alone (standard library only), since the peer may have nothing else of this directory:

  rawio.py send IFNAME REPEAT GAP_US BASE64-FRAME...
  rawio.py capture IFNAME COUNT SECONDS PROMISC     (prints "ready", then a hex line per frame)
"""

import base64
import select
import socket
import struct
import sys
import time

ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_ADD_MEMBERSHIP, PACKET_STATISTICS, PACKET_AUXDATA = 1, 6, 8
PACKET_IGNORE_OUTGOING = 23
PACKET_MR_PROMISC, PACKET_MR_ALLMULTI = 1, 2
SO_RCVBUFFORCE = 33
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 0x10, 0x40
AUXDATA = struct.Struct("=IIIHHHH")


class RawSocket:
    """A packet socket bound to one interface: what it sends is the frame, without FCS."""

    def __init__(self, ifname: str, promisc: bool = False, proto: int = ETH_P_ALL):
        self.ifname = ifname
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        self.sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        if promisc:
            self.member(PACKET_MR_PROMISC)
        # Bound last: nothing is captured with other settings than these.
        self.sock.bind((ifname, proto))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self) -> None:
        self.sock.close()

    def member(self, kind: int) -> None:
        """Promiscuous or all-multicast mode, for the life of the socket."""
        index = socket.if_nametoindex(self.ifname)
        self.sock.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP,
                             struct.pack("=iHH8s", index, kind, 0, b""))

    def send(self, frames, repeat: int = 1, gap_us: float = 0) -> int:
        """Sends @frames @repeat times; returns how many frames that were."""
        gap = gap_us / 1e6
        next_time = time.monotonic()
        sent = 0
        for _ in range(repeat):
            for frame in frames:
                if gap:
                    wait = next_time - time.monotonic()
                    if wait > 0:
                        time.sleep(wait)
                    next_time += gap
                while True:
                    try:
                        self.sock.send(frame)
                        break
                    except OSError as e:
                        if e.errno != 105:      # ENOBUFS: the queue is full for now
                            raise
                        select.select([], [self.sock], [], 0.001)
                sent += 1
        return sent

    def receive(self, deadline: float):
        """The next frame, with its VLAN tag back in place, or None after @deadline seconds."""
        if not select.select([self.sock], [], [], max(deadline, 0))[0]:
            return None
        frame, aux, _, _ = self.sock.recvmsg(65536, 128)
        for level, kind, data in aux:
            if level == SOL_PACKET and kind == PACKET_AUXDATA:
                status, _, _, _, _, tci, tpid = AUXDATA.unpack_from(data)
                if status & TP_STATUS_VLAN_VALID:
                    if not status & TP_STATUS_VLAN_TPID_VALID:
                        tpid = 0x8100
                    frame = frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
        return frame

    def capture(self, match, count: int, seconds: float) -> list:
        """Up to @count frames for which @match is true, within @seconds."""
        end = time.monotonic() + seconds
        got = []
        while len(got) < count:
            frame = self.receive(end - time.monotonic())
            if frame is None:
                break
            if match(frame):
                got.append(frame)
        return got

    def drops(self) -> int:
        """Frames that did not fit into the socket's buffer since the last call."""
        return struct.unpack("=II", self.sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1]


def main(argv: list) -> int:
    what, ifname = argv[0], argv[1]
    if what == "send":
        with RawSocket(ifname) as sock:
            print(sock.send([base64.b64decode(f) for f in argv[4:]],
                            int(argv[2]), float(argv[3])))
        return 0
    if what == "capture":
        count, seconds, promisc = int(argv[2]), float(argv[3]), argv[4] == "1"
        with RawSocket(ifname, promisc) as sock:
            print("ready", flush=True)
            end = time.monotonic() + seconds
            while count:
                frame = sock.receive(end - time.monotonic())
                if frame is None:
                    break
                print(frame.hex(), flush=True)
                count -= 1
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
