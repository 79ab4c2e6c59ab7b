# SPDX-License-Identifier: GPL-2.0

"""PTP clocks and socket timestamps, on the kernel's own interfaces."""

import ctypes
import fcntl
import os
import select
import socket
import struct
import time
from pathlib import Path

from .events import until
from .ioctls import with_data

SIOCSHWTSTAMP, SIOCGHWTSTAMP = 0x89b0, 0x89b1
TX_OFF, TX_ON = 0, 1
FILTER_NONE, FILTER_ALL, FILTER_PTP_V2_L2_EVENT = 0, 1, 9
FILTER_PTP_V1_L4_EVENT = 3

SO_TIMESTAMPING = 37
SOF_TX_HARDWARE, SOF_TX_SOFTWARE, SOF_RX_HARDWARE, SOF_RX_SOFTWARE = 1, 2, 4, 8
SOF_SOFTWARE, SOF_RAW_HARDWARE, SOF_OPT_ID, SOF_OPT_TSONLY = 0x10, 0x40, 0x80, 0x800

ADJ_FREQUENCY, ADJ_SETOFFSET, ADJ_NANO = 0x2, 0x100, 0x2000
NS = 10 ** 9

PTP_ENABLE_FEATURE, PTP_RISING_EDGE = 1, 2
# _IOR('=', 1, caps), _IOW('=', 2, extts request), _IOW('=', 3, perout request)
PTP_CLOCK_GETCAPS, PTP_EXTTS_REQUEST, PTP_PEROUT_REQUEST = 0x80503d01, 0x40103d02, 0x40383d03


class _Timex(ctypes.Structure):
    _fields_ = [("modes", ctypes.c_uint), ("offset", ctypes.c_long), ("freq", ctypes.c_long),
                ("maxerror", ctypes.c_long), ("esterror", ctypes.c_long), ("status", ctypes.c_int),
                ("constant", ctypes.c_long), ("precision", ctypes.c_long),
                ("tolerance", ctypes.c_long), ("sec", ctypes.c_long), ("usec", ctypes.c_long),
                ("tick", ctypes.c_long), ("rest", ctypes.c_char * 112)]


_libc = ctypes.CDLL(None, use_errno=True)


def _adjust(clockid: int, timex: _Timex) -> None:
    if _libc.clock_adjtime(clockid, ctypes.byref(timex)) < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno))


class SystemClock:
    """CLOCK_REALTIME, which is as it would have been without all this when it is left."""

    def __enter__(self):
        self._ahead = self._ahead_now()
        return self

    def __exit__(self, *exc):
        _adjust(time.CLOCK_REALTIME, _Timex(modes=ADJ_FREQUENCY))
        moved = self._ahead_now() - self._ahead
        time.clock_settime_ns(time.CLOCK_REALTIME, time.time_ns() - moved)

    @staticmethod
    def _ahead_now() -> int:
        return time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Phc:
    """A PTP hardware clock."""

    def __init__(self, index: int):
        self.index = index
        self.fd = os.open(f"/dev/ptp{index}", os.O_RDWR)
        self.clockid = ctypes.c_int((~self.fd << 3) | 3).value

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.close(self.fd)

    def now(self) -> int:
        return time.clock_gettime_ns(self.clockid)

    def set(self, ns: int) -> None:
        time.clock_settime_ns(self.clockid, ns)

    def step(self, ns: int) -> None:
        _adjust(self.clockid, _Timex(modes=ADJ_SETOFFSET | ADJ_NANO, sec=ns // NS, usec=ns % NS))

    def slew(self, ppb: int) -> None:
        _adjust(self.clockid, _Timex(modes=ADJ_FREQUENCY, freq=ppb * 65536 // 1000))

    def sample(self, tries: int = 20, against: int = time.CLOCK_MONOTONIC_RAW) -> tuple:
        """(other clock, this clock, uncertainty) in ns: the closest of some readings."""
        best = None
        for _ in range(tries):
            before = time.clock_gettime_ns(against)
            clock = self.now()
            after = time.clock_gettime_ns(against)
            if best is None or after - before < best[2]:
                best = ((before + after) // 2, clock, after - before)
        return best

    def caps(self) -> dict:
        data = bytearray(80)
        fcntl.ioctl(self.fd, PTP_CLOCK_GETCAPS, data)
        names = ("max_adj", "n_alarm", "n_ext_ts", "n_per_out", "pps", "n_pins", "cross")
        return dict(zip(names, struct.unpack_from("=7i", data), strict=True))

    def extts(self, on: bool, index: int = 0) -> None:
        flags = PTP_ENABLE_FEATURE | PTP_RISING_EDGE if on else 0
        fcntl.ioctl(self.fd, PTP_EXTTS_REQUEST, struct.pack("=II8x", index, flags))

    def event(self, deadline: float) -> int:
        """The time of the next external timestamp, in ns."""
        if not select.select([self.fd], [], [], deadline)[0]:
            raise TimeoutError(f"no external timestamp within {deadline} s")
        sec, nsec = struct.unpack_from("=qI", os.read(self.fd, 32))
        return sec * NS + nsec

    def perout(self, start_ns: int, period_ns: int) -> None:
        """Periodic output; a period of 0 ends it."""
        fcntl.ioctl(self.fd, PTP_PEROUT_REQUEST,
                    struct.pack("=qI4xqI4xII16x", start_ns // NS, start_ns % NS,
                                period_ns // NS, period_ns % NS, 0, 0))


def phc_index(cfg) -> int:
    """The index of the port's clock, or -1."""
    found = [int(p.name[3:]) for p in (cfg.device / "ptp").glob("ptp*")]
    return found[0] if found else -1


def open_phc(cfg) -> Phc:
    """The port's clock; its device node may follow its registration by a moment."""
    index = until(lambda: phc_index(cfg) + 1, 5, "a PTP clock of the port") - 1
    until(Path(f"/dev/ptp{index}").exists, 5, f"/dev/ptp{index}")
    return Phc(index)


def hwtstamp_set(ifname: str, tx_type: int, rx_filter: int) -> tuple:
    """Sets timestamping; returns what was really set."""
    return _hwtstamp(ifname, SIOCSHWTSTAMP, tx_type, rx_filter)


def hwtstamp_get(ifname: str) -> tuple:
    return _hwtstamp(ifname, SIOCGHWTSTAMP, 0, 0)


def _hwtstamp(ifname: str, request: int, tx_type: int, rx_filter: int) -> tuple:
    return struct.unpack("=iii", with_data(ifname, request, struct.pack("=iii", 0, tx_type, rx_filter)))[1:]


def stamps_of(ancillary) -> tuple:
    """(software, hardware) stamp in ns from a message's ancillary data; 0: none."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPING and len(data) >= 48:
            sw_s, sw_ns, _, _, hw_s, hw_ns = struct.unpack_from("=6q", data)
            return sw_s * NS + sw_ns, hw_s * NS + hw_ns
    return 0, 0


def tx_stamp(sock: socket.socket, deadline: float) -> tuple:
    """(software, hardware) stamp of the next sent packet whose stamp came back; 0: none came."""
    poll = select.poll()
    poll.register(sock, 0)      # POLLERR is always reported
    if not poll.poll(deadline * 1000):
        return 0, 0
    return stamps_of(sock.recvmsg(4096, 1024, socket.MSG_ERRQUEUE)[1])
