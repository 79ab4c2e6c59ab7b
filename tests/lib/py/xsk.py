# SPDX-License-Identifier: GPL-2.0

"""An AF_XDP socket, as small as it can be."""

import ctypes
import mmap
import os
import struct

from .events import until

AF_XDP, SOL_XDP, SOCK_RAW = 44, 283, 3
MMAP_OFFSETS, RX_RING, TX_RING, UMEM_REG, FILL_RING, COMPLETION_RING, STATISTICS = 1, 2, 3, 4, 5, 6, 7
PGOFF = {RX_RING: 0, TX_RING: 0x80000000, FILL_RING: 0x100000000, COMPLETION_RING: 0x180000000}
COPY, ZEROCOPY = 1 << 1, 1 << 2
ENTRIES, CHUNK = 64, 4096

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def _check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class _Ring:
    """One of the rings that are shared with the kernel."""

    def __init__(self, fd: int, which: int, offsets: tuple, size: int):
        producer, consumer, self._desc, _flags = offsets
        self._size = size
        length = self._desc + ENTRIES * size
        address = _libc.mmap(None, length, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, PGOFF[which])
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "mmap of a ring")
        self._memory = (ctypes.c_char * length).from_address(address)
        self._producer = ctypes.c_uint32.from_buffer(self._memory, producer)
        self._consumer = ctypes.c_uint32.from_buffer(self._memory, consumer)

    def put(self, entry: bytes) -> None:
        at = self._desc + self._producer.value % ENTRIES * self._size
        self._memory[at:at + self._size] = entry
        self._producer.value += 1

    def take(self) -> bytes | None:
        if self._consumer.value == self._producer.value:
            return None
        at = self._desc + self._consumer.value % ENTRIES * self._size
        entry = self._memory[at:at + self._size]
        self._consumer.value += 1
        return entry


class XskSocket:
    """A socket for a queue. The first half of its memory is for receiving, the other for sending."""

    def __init__(self, ifindex: int, queue: int, flags: int):
        self.fd = _check(_libc.socket(AF_XDP, SOCK_RAW, 0))
        self._umem = mmap.mmap(-1, 2 * ENTRIES * CHUNK)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._umem))
        self._option(UMEM_REG, struct.pack("<QQIIII", address, len(self._umem), CHUNK, 0, 0, 0))
        for ring in PGOFF:
            self._option(ring, struct.pack("<I", ENTRIES))
        rx, tx, fill, completion = self._offsets()
        self._fill = _Ring(self.fd, FILL_RING, fill, 8)
        self._completion = _Ring(self.fd, COMPLETION_RING, completion, 8)
        self._rx = _Ring(self.fd, RX_RING, rx, 16)
        self._tx = _Ring(self.fd, TX_RING, tx, 16)
        for n in range(ENTRIES):
            self._fill.put(struct.pack("<Q", n * CHUNK))
        name = struct.pack("<HHIII", AF_XDP, flags, ifindex, queue, 0)
        try:
            _check(_libc.bind(self.fd, name, len(name)))
        except OSError:
            self.close()
            raise

    def _option(self, name: int, value: bytes) -> None:
        _check(_libc.setsockopt(self.fd, SOL_XDP, name, value, len(value)))

    def _offsets(self) -> list:
        memory = ctypes.create_string_buffer(128)
        length = ctypes.c_uint32(128)
        _check(_libc.getsockopt(self.fd, SOL_XDP, MMAP_OFFSETS, memory, ctypes.byref(length)))
        words = struct.unpack("<16Q", memory.raw)
        return [words[n:n + 4] for n in range(0, 16, 4)]

    def statistics(self) -> dict:
        """What the kernel could not do for the socket."""
        memory = ctypes.create_string_buffer(48)
        _check(_libc.getsockopt(self.fd, SOL_XDP, STATISTICS, memory, ctypes.byref(ctypes.c_uint32(48))))
        names = ("rx_dropped", "rx_invalid", "tx_invalid", "rx_ring_full", "fill_ring_empty", "tx_ring_empty")
        return dict(zip(names, struct.unpack("<6Q", memory.raw), strict=True))

    def send(self, frame: bytes, number: int = 0) -> None:
        at = (ENTRIES + number % ENTRIES) * CHUNK
        self._umem[at:at + len(frame)] = frame
        self._tx.put(struct.pack("<QII", at, len(frame), 0))
        _check(_libc.sendto(self.fd, None, 0, 0x40, None, 0))

    def sent(self, deadline: float = 5) -> None:
        """Waits until the kernel has given a buffer back."""
        until(lambda: self._completion.take() is not None, deadline, "a frame was sent")

    def receive(self, deadline: float = 5) -> bytes:
        """Waits for the next frame."""
        entries: list = []
        until(lambda: (entry := self._rx.take()) is not None and not entries.append(entry), deadline,
              "a frame was received")
        address, length, _options = struct.unpack("<QII", entries[0])
        frame = self._umem[address:address + length]
        self._fill.put(struct.pack("<Q", address & -CHUNK))
        return frame

    def close(self) -> None:
        os.close(self.fd)
