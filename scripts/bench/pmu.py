# SPDX-License-Identifier: GPL-2.0
"""In the guest: the CPU's own counter of instructions (PMU, which counts what is executed under ICOUNT=1)."""

import ctypes
import os
import struct

SYS_PERF_EVENT_OPEN = 241
ATTR_SIZE = 128
HW_INSTRUCTIONS = 1
EXCLUDE_USER, EXCLUDE_KERNEL = 1 << 4, 1 << 5


class Instructions:
    """Counts what CPU 0 executes in the kernel, or in user space."""

    def __init__(self, exclude: int):
        attr = bytearray(ATTR_SIZE)
        # perf_event_attr: type, size, config; period, sample and read formats are 0; flags.
        struct.pack_into("<IIQQQQQ", attr, 0, 0, ATTR_SIZE, HW_INSTRUCTIONS, 0, 0, 0, exclude)
        memory = (ctypes.c_char * ATTR_SIZE).from_buffer(attr)
        libc = ctypes.CDLL(None, use_errno=True)
        # For all tasks (-1), on CPU 0.
        self._fd = libc.syscall(SYS_PERF_EVENT_OPEN, memory, -1, 0, -1, 0)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "perf_event_open")

    def read(self) -> int:
        return struct.unpack("<Q", os.read(self._fd, 8))[0]

    def close(self) -> None:
        os.close(self._fd)
