# SPDX-License-Identifier: GPL-2.0

"""Settings of an interface by ioctl(2): each is one system call, that works or fails with the driver's own error."""

import ctypes
import fcntl
import socket
import struct

SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFMTU, SIOCETHTOOL = 0x8913, 0x8914, 0x8922, 0x8946
ETHTOOL_GRINGPARAM, ETHTOOL_SRINGPARAM = 0x10, 0x11
IFF_UP = 1


def _ioctl(request: int, argument) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, request, argument)


def with_data(ifname: str, request: int, data: bytes) -> bytes:
    """A request that has a structure of its own, @data; returns what it is afterwards."""
    buffer = ctypes.create_string_buffer(data, len(data))
    _ioctl(request, struct.pack("16sP16x", ifname.encode(), ctypes.addressof(buffer)))
    return buffer.raw


def ethtool(ifname: str, data: bytes) -> bytes:
    """A request of ethtool's, with its structure."""
    return with_data(ifname, SIOCETHTOOL, data)


def set_up(ifname: str, up: bool) -> None:
    """Brings an interface up or down."""
    request = bytearray(struct.pack("16sh22x", ifname.encode(), 0))
    _ioctl(SIOCGIFFLAGS, request)
    flags, = struct.unpack_from("h", request, 16)
    struct.pack_into("h", request, 16, flags | IFF_UP if up else flags & ~IFF_UP)
    _ioctl(SIOCSIFFLAGS, request)


def set_rings(ifname: str, rx: int, tx: int) -> None:
    """Sets the sizes of the rings."""
    words = list(struct.unpack("9I", ethtool(ifname, struct.pack("9I", ETHTOOL_GRINGPARAM, *(0,) * 8))))
    words[0], words[5], words[8] = ETHTOOL_SRINGPARAM, rx, tx
    ethtool(ifname, struct.pack("9I", *words))


def set_mtu(ifname: str, size: int) -> None:
    """Sets the MTU."""
    _ioctl(SIOCSIFMTU, struct.pack("16si20x", ifname.encode(), size))
