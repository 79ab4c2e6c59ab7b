# SPDX-License-Identifier: GPL-2.0

"""Waiting for things to happen, always with a bound."""

import os
import select
import socket
import struct
import time

RTM_NEWLINK, RTM_DELLINK = 16, 17
IFLA_OPERSTATE = 16
IF_OPER_UP = 6
RTMGRP_LINK = 1


def until(cond, deadline: float, what: str, step: float = 0.01):
    """Polls @cond, for state that has no event; returns its first true value.

    Often at first, then less so: looking costs an emulated processor more than waiting.
    """
    end = time.monotonic() + deadline
    while True:
        value = cond()
        if value:
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"not within {deadline} s: {what}")
        time.sleep(step)
        step = min(step * 1.5, 0.25)


class LinkWatch:
    """The link events (rtnetlink) of a port from now on.

    Opened before the action whose effect is waited for, so that no event is missed.
    """

    def __init__(self, ifindex: int):
        self.ifindex = ifindex
        self.seen = []
        self._sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC,
                                   socket.NETLINK_ROUTE)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._sock.bind((0, RTMGRP_LINK))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._sock.close()

    def _parse(self, data: bytes):
        while len(data) >= 16:
            size, kind = struct.unpack_from("=IH", data)
            if size < 16:
                break
            if kind in (RTM_NEWLINK, RTM_DELLINK) and size >= 32:
                ifindex, = struct.unpack_from("=i", data, 20)
                if ifindex == self.ifindex:
                    yield self._up(data[32:size]) if kind == RTM_NEWLINK else None
            data = data[(size + 3) & ~3:]

    @staticmethod
    def _up(attrs: bytes):
        # Not IFLA_CARRIER: that one is set a moment before the queues begin to send.
        while len(attrs) >= 4:
            size, kind = struct.unpack_from("=HH", attrs)
            if size < 4:
                break
            if kind & 0x3fff == IFLA_OPERSTATE:
                return attrs[4] == IF_OPER_UP
            attrs = attrs[(size + 3) & ~3:]
        return None

    def drain(self) -> None:
        """Forgets the events so far."""
        while select.select([self._sock], [], [], 0)[0]:
            self.seen += self._parse(self._sock.recv(65536, socket.MSG_DONTWAIT))

    def wait_link(self, up: bool, deadline: float = 15) -> float:
        """Waits for the event that says that the link is @up; returns how long it took."""
        start = time.monotonic()
        while True:
            left = start + deadline - time.monotonic()
            if left <= 0 or not select.select([self._sock], [], [], left)[0]:
                raise TimeoutError(f"no link-{'up' if up else 'down'} event within "
                                   f"{deadline} s, seen: {self.seen}")
            for state in self._parse(self._sock.recv(65536, socket.MSG_DONTWAIT)):
                self.seen.append(state)
                if state is up:
                    return time.monotonic() - start


class Deadline:
    """How much of a bound is left, for loops of several waits."""

    def __init__(self, seconds: float, what: str):
        self.end = time.monotonic() + seconds
        self.seconds = seconds
        self.what = what

    def left(self) -> float:
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"not within {self.seconds} s: {self.what}")
        return left


class KernelLog:
    """Kernel messages from now on (/dev/kmsg)."""

    def __init__(self):
        self._fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self._fd, 0, os.SEEK_END)
        self.lines = []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.close(self._fd)

    def read(self) -> list:
        """All lines so far, without their prefix."""
        while True:
            try:
                record = os.read(self._fd, 8192)
            except BlockingIOError:
                return self.lines
            except BrokenPipeError:     # the ring went over us: go on with what is left
                continue
            self.lines.append(record.decode(errors="replace").split(";", 1)[-1].split("\n")[0])

    def find(self, text: str, deadline: float) -> str | None:
        """The first line that contains @text, waited for; None when there was none in time."""
        end = time.monotonic() + deadline
        while True:
            for line in self.read():
                if text in line:
                    return line
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._fd], [], [], left)[0]:
                return None
