# SPDX-License-Identifier: GPL-2.0

"""Building frames by hand, checking them independently of any offload, raw sockets at both ends."""

import base64
import os
import select
import socket
import struct
import time
from pathlib import Path

from net.lib.py import NetNSEnter, cmd

from .rawio import RawSocket

ETH_P_IP, ETH_P_IPV6, ETH_P_8021Q, ETH_P_8021AD, ETH_P_1588 = 0x0800, 0x86dd, 0x8100, 0x88a8, 0x88f7
# IEEE 802 local experimental: no protocol of the kernel takes it.
ETH_P_TEST = 0x88b5


def mac_bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def eth(dst: str, src: str, ethertype: int, payload: bytes) -> bytes:
    return mac_bytes(dst) + mac_bytes(src) + struct.pack("!H", ethertype) + payload


def tagged(frame: bytes, vid: int, tpid: int = ETH_P_8021Q) -> bytes:
    """@frame with one more tag, outermost."""
    return frame[:12] + struct.pack("!HH", tpid, vid) + frame[12:]


def padded(frame: bytes, fill: bytes = b"\0") -> bytes:
    """@frame at the minimum length of 60 bytes."""
    return frame + fill * max(0, 60 - len(frame))


def csum16(data: bytes) -> int:
    """The one's complement sum of @data, not inverted."""
    if len(data) & 1:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def _pseudo(src: bytes, dst: bytes, proto: int, length: int) -> bytes:
    if len(src) == 4:
        return src + dst + struct.pack("!BBH", 0, proto, length)
    return src + dst + struct.pack("!II", length, proto)


# A fixed value would be the right checksum of one port, and ports are drawn at random.
WRONG_CSUM = object()


def udp(src: str, dst: str, sport: int, dport: int, data: bytes, csum=None,
        ident: int = 1) -> bytes:
    """An IP packet (version by the addresses) with UDP.

    @csum None: the right checksum; WRONG_CSUM: another one; otherwise this value.
    """
    family = socket.AF_INET6 if ":" in src else socket.AF_INET
    s, d = socket.inet_pton(family, src), socket.inet_pton(family, dst)
    length = 8 + len(data)
    head = struct.pack("!HHHH", sport, dport, length, 0)
    right = (~csum16(_pseudo(s, d, socket.IPPROTO_UDP, length) + head + data) & 0xffff) or 0xffff
    if csum is None:
        csum = right
    elif csum is WRONG_CSUM:
        # The next one: never zero, which means none, and never the other form of the right one.
        csum = right % 0xffff + 1
    return ip_packet(s, d, socket.IPPROTO_UDP, head[:6] + struct.pack("!H", csum) + data, ident)


def ip_packet(s: bytes, d: bytes, proto: int, payload: bytes, ident: int = 1) -> bytes:
    if len(s) == 4:
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), ident, 0, 64, proto, 0) + s + d
        head = head[:10] + struct.pack("!H", ~csum16(head) & 0xffff) + head[12:]
        return head + payload
    return struct.pack("!IHBB", 6 << 28, len(payload), proto, 64) + s + d + payload


def ethertype_and_payload(frame: bytes):
    """Behind any VLAN tags; (0, "") of less than a header."""
    at = 12
    if len(frame) < at + 2:
        return 0, b""
    kind, = struct.unpack_from("!H", frame, at)
    while kind in (ETH_P_8021Q, ETH_P_8021AD) and len(frame) >= at + 6:
        at += 4
        kind, = struct.unpack_from("!H", frame, at)
    return kind, frame[at + 2:]


def dissect(frame: bytes):
    """(proto, L4 bytes, pseudo header, fragment) of an IP frame without extensions, or None."""
    kind, p = ethertype_and_payload(frame)
    if kind == ETH_P_IP and len(p) >= 20:
        head = (p[0] & 15) * 4
        total, = struct.unpack_from("!H", p, 2)
        frag = bool(struct.unpack_from("!H", p, 6)[0] & 0x3fff)
        l4 = p[head:total]
        return p[9], l4, _pseudo(p[12:16], p[16:20], p[9], len(l4)), frag
    if kind == ETH_P_IPV6 and len(p) >= 40:
        length, = struct.unpack_from("!H", p, 4)
        l4 = p[40:40 + length]
        return p[6], l4, _pseudo(p[8:24], p[24:40], p[6], len(l4)), False
    return None


def l4_csum_ok(frame: bytes) -> bool:
    """Whether the UDP or TCP checksum of @frame is right, computed here and by no hardware."""
    proto, l4, pseudo, frag = dissect(frame)
    if frag or proto not in (socket.IPPROTO_UDP, socket.IPPROTO_TCP):
        raise ValueError("not a whole UDP or TCP packet")
    if proto == socket.IPPROTO_UDP and l4[6:8] == b"\0\0":
        return len(pseudo) == 12        # "none": allowed in IPv4 only
    return csum16(pseudo + l4) == 0xffff


def wrong_csums(frames: list) -> list:
    """The beginnings of those frames whose UDP or TCP checksum is wrong."""
    return [f[:70].hex() for f in frames if not l4_csum_ok(f)]


def udp_to_port(port: int):
    """Matches whole UDP packets to @port."""
    def match(frame: bytes) -> bool:
        parts = dissect(frame)
        return parts is not None and parts[0] == socket.IPPROTO_UDP and not parts[3] and \
            len(parts[1]) >= 8 and struct.unpack_from("!H", parts[1], 2)[0] == port
    return match


def tcp_to_port(port: int):
    """Matches TCP segments to @port."""
    def match(frame: bytes) -> bool:
        parts = dissect(frame)
        return parts is not None and parts[0] == socket.IPPROTO_TCP and \
            len(parts[1]) >= 20 and struct.unpack_from("!H", parts[1], 2)[0] == port
    return match


def of_type(ethertype: int, dst: str = ""):
    """Matches frames of @ethertype (behind tags), to @dst where given."""
    want = mac_bytes(dst) if dst else b""

    def match(frame: bytes) -> bool:
        return ethertype_and_payload(frame)[0] == ethertype and frame.startswith(want)
    return match


class RemoteSocket:
    """The interface of RawSocket, carried out by rawio.py on a peer behind ssh or the like."""

    def __init__(self, cfg, promisc: bool = False):
        self.cfg = cfg
        self.promisc = promisc
        self.ifname = cfg.remote_ifname
        self.program = cfg.remote.deploy(str(Path(__file__).with_name("rawio.py")))
        self._capture = None

    def __enter__(self):
        # Capturing begins here, as it does with a local socket.
        self._capture = cmd(f"timeout 60 python3 {self.program} capture {self.ifname} 100000 50 "
                            f"{int(self.promisc)}", host=self.cfg.remote, background=True)
        line = self._line(self._capture.proc.stdout, time.monotonic() + 10)
        if line != b"ready":
            raise RuntimeError(f"capture on the peer did not start: {line!r}")
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self) -> None:
        if self._capture:
            self._capture.process(terminate=True, fail=False)
            self._capture = None

    def send(self, frames, repeat: int = 1, gap_us: float = 0) -> int:
        coded = [base64.b64encode(f).decode() for f in frames]
        sent = 0
        while coded:
            # As many as fit into a command line.
            fit, size = 0, 0
            while fit < len(coded) and size + len(coded[fit]) < 60000:
                size += len(coded[fit]) + 1
                fit += 1
            if fit < len(coded) and repeat > 1:
                raise ValueError("too many frames to repeat")
            done = cmd(f"python3 {self.program} send {self.ifname} {repeat} {gap_us} "
                       + " ".join(coded[:fit]), host=self.cfg.remote, timeout=60)
            sent += int(done.stdout)
            coded = coded[fit:]
        return sent

    def capture(self, match, count: int, seconds: float) -> list:
        out = self._capture.proc.stdout
        end = time.monotonic() + seconds
        got = []
        while len(got) < count:
            frame = self._line(out, end)
            if frame is None:
                break
            frame = bytes.fromhex(frame.decode())
            if match(frame):
                got.append(frame)
        return got

    _pending = b""

    def _line(self, out, end: float):
        while b"\n" not in self._pending:
            left = end - time.monotonic()
            if left <= 0 or not select.select([out], [], [], left)[0]:
                return None
            data = os.read(out.fileno(), 65536)
            if not data:
                return None
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        return line

    def drops(self) -> int:
        return 0


def open_local(ifname: str, **kwargs) -> RawSocket:
    return RawSocket(ifname, **kwargs)


def open_remote(cfg, **kwargs):
    """A raw socket at the peer: in this process when the peer is a namespace, else over there."""
    if cfg.env.get("REMOTE_TYPE") == "netns":
        with NetNSEnter(cfg.env["REMOTE_ARGS"]):
            return RawSocket(cfg.remote_ifname, **kwargs)
    return RemoteSocket(cfg, **kwargs)
