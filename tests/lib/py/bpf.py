# SPDX-License-Identifier: GPL-2.0

"""XDP programs without a compiler: a few instructions each, loaded by bpf(2), which works on a board as well."""

import ctypes
import os
import socket
import struct

SYS_BPF = 280           # arm64 and other generic architectures
MAP_CREATE, MAP_UPDATE, PROG_LOAD, OBJ_PIN, LINK_CREATE = 0, 2, 5, 6, 28
MAP_TYPE_XSKMAP = 17
PROG_TYPE_SCHED_CLS, PROG_TYPE_XDP = 3, 6
ATTACH_XDP = 37
F_XDP_HAS_FRAGS = 1 << 5
XDP_FLAGS_DRV_MODE = 1 << 2
RTM_SETLINK, NLM_F_REQUEST, NLM_F_ACK, NLA_F_NESTED = 19, 1, 4, 1 << 15
IFLA_XDP, IFLA_XDP_FD, IFLA_XDP_FLAGS = 43, 1, 3

ABORTED, DROP, PASS, TX, REDIRECT = range(5)
# Fields of struct xdp_md and of struct __sk_buff.
XDP_DATA, XDP_DATA_END, XDP_DATA_META, XDP_RX_QUEUE = 0, 4, 8, 16
SKB_DATA, SKB_DATA_META = 76, 140
TC_ACT_OK, TC_ACT_SHOT = 0, 2
FN_REDIRECT, FN_ADJUST_HEAD, FN_REDIRECT_MAP, FN_ADJUST_META, FN_ADJUST_TAIL = 23, 44, 51, 54, 65

_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command: int, attr: bytes) -> int:
    memory = ctypes.create_string_buffer(attr.ljust(128, b"\0"), 128)
    result = _libc.syscall(SYS_BPF, command, memory, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return result


def insn(code: int, dst: int = 0, src: int = 0, off: int = 0, imm: int = 0) -> bytes:
    """One instruction of eight bytes."""
    return struct.pack("<BBhi", code, dst | src << 4, off, imm)


def mov(dst: int, imm: int) -> bytes:
    return insn(0xB7, dst, imm=imm)


def mov_reg(dst: int, src: int) -> bytes:
    return insn(0xBF, dst, src)


def add(dst: int, imm: int) -> bytes:
    return insn(0x07, dst, imm=imm)


def load(size: int, dst: int, src: int, off: int) -> bytes:
    """dst = *(size bytes *)(src + off)"""
    return insn({1: 0x71, 2: 0x69, 4: 0x61, 8: 0x79}[size], dst, src, off)


def store(size: int, dst: int, off: int, src: int) -> bytes:
    """*(size bytes *)(dst + off) = src"""
    return insn({1: 0x73, 2: 0x6B, 4: 0x63, 8: 0x7B}[size], dst, src, off)


def call(function: int) -> bytes:
    return insn(0x85, imm=function)


EXIT = insn(0x95)


def jump_greater(dst: int, src: int, off: int) -> bytes:
    return insn(0x2D, dst, src, off)


def jump_not(dst: int, imm: int, off: int) -> bytes:
    return insn(0x55, dst, off=off, imm=imm)


def load_map(dst: int, fd: int) -> list:
    """dst = the map"""
    return [insn(0x18, dst, 1, 0, fd), insn(0)]


def verdict_program(action: int) -> list:
    """Says the same of each frame."""
    return [mov(0, action), EXIT]


def echo_program(then: list) -> list:
    """Swaps the addresses of a frame, then goes on; r6 is the context. What is too short is dropped."""
    swap = []
    for off in (0, 2, 4):
        swap += [load(2, 4, 2, off), load(2, 5, 2, off + 6), store(2, 2, off, 5), store(2, 2, off + 6, 4)]
    return [mov_reg(6, 1), load(4, 2, 1, XDP_DATA), load(4, 3, 1, XDP_DATA_END), mov_reg(4, 2), add(4, 14),
            jump_greater(4, 3, len(swap) + len(then)), *swap, *then, *verdict_program(DROP)]


def adjust_program(function: int, delta: int, action: int) -> list:
    """Moves the beginning or the end of a frame."""
    return [mov(2, delta), call(function), jump_not(0, 0, 2), *verdict_program(action), *verdict_program(ABORTED)]


def there_and_back_program(delta: int, action: int) -> list:
    """Makes a frame longer, and as long as it was again."""
    return [mov_reg(6, 1), mov(2, delta), call(FN_ADJUST_TAIL), jump_not(0, 0, 6),
            mov_reg(1, 6), mov(2, -delta), call(FN_ADJUST_TAIL), jump_not(0, 0, 2),
            *verdict_program(action), *verdict_program(ABORTED)]


def redirect_program(ifindex: int) -> list:
    """Sends a frame, with its addresses swapped, to an interface."""
    return echo_program([mov(1, ifindex), mov(2, 0), call(FN_REDIRECT), EXIT])


def meta_program(value: int) -> list:
    """Leaves four bytes of meta data for whoever comes next."""
    return [mov_reg(6, 1), mov(2, -4), call(FN_ADJUST_META), jump_not(0, 0, 8),
            load(4, 2, 6, XDP_DATA_META), load(4, 3, 6, XDP_DATA), mov_reg(4, 2), add(4, 4),
            jump_greater(4, 3, 3), mov(5, value), store(4, 2, 0, 5),
            # Over the other end.
            insn(0x05, off=2), *verdict_program(ABORTED), *verdict_program(PASS)]


def meta_reader(value: int) -> list:
    """For tc: accepts packets with such meta data only."""
    return [load(4, 2, 1, SKB_DATA_META), load(4, 3, 1, SKB_DATA), mov_reg(4, 2), add(4, 4),
            jump_greater(4, 3, 4), load(4, 5, 2, 0), jump_not(5, value, 2), mov(0, TC_ACT_OK), EXIT,
            mov(0, TC_ACT_SHOT), EXIT]


def xsk_program(xskmap: int) -> list:
    """Gives frames to the AF_XDP socket of their queue, or to the stack if there is none."""
    return [load(4, 2, 1, XDP_RX_QUEUE), *load_map(1, xskmap), mov(3, PASS), call(FN_REDIRECT_MAP), EXIT]


class Program:
    """A loaded program, with a name in a file system so that ip and tc find it."""

    def __init__(self, instructions: list, frags: bool = False, tc: bool = False):
        code = b"".join(instructions)
        memory, licence = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
        log = ctypes.create_string_buffer(1 << 16)
        attr = struct.pack("<IIQQIIQII16sII", PROG_TYPE_SCHED_CLS if tc else PROG_TYPE_XDP, len(code) // 8,
                           ctypes.addressof(memory), ctypes.addressof(licence), 1, len(log),
                           ctypes.addressof(log), 0, F_XDP_HAS_FRAGS if frags else 0, b"test", 0,
                           0 if tc else ATTACH_XDP)
        try:
            self.fd = _bpf(PROG_LOAD, attr)
        except OSError as e:
            raise OSError(e.errno, f"{e.strerror}\n{log.value.decode()}") from None
        self.path = f"/sys/fs/bpf/test-{os.getpid()}-{self.fd}"
        path = ctypes.create_string_buffer(self.path.encode())
        try:
            _bpf(OBJ_PIN, struct.pack("<QI", ctypes.addressof(path), self.fd))
        except OSError:
            os.close(self.fd)
            raise

    def close(self) -> None:
        os.unlink(self.path)
        os.close(self.fd)


def xskmap(entries: int) -> int:
    """A map of AF_XDP sockets, as a file descriptor."""
    return _bpf(MAP_CREATE, struct.pack("<IIIII", MAP_TYPE_XSKMAP, 4, 4, entries, 0))


def update(fd: int, key: int, value: int) -> None:
    """An entry of a map of integers."""
    memory = (ctypes.c_uint32 * 2)(key, value)
    address = ctypes.addressof(memory)
    _bpf(MAP_UPDATE, struct.pack("<IIQQQ", fd, 0, address, address + 4, 0))


def attach(ifindex: int, fd: int) -> None:
    """Gives an interface's driver a program, or none (-1), by one request of rtnetlink's, done when it is sent."""
    nested = struct.pack("<HHiHHI", 8, IFLA_XDP_FD, fd, 8, IFLA_XDP_FLAGS, XDP_FLAGS_DRV_MODE)
    body = struct.pack("<BxHiII", socket.AF_UNSPEC, 0, ifindex, 0, 0) + \
        struct.pack("<HH", 4 + len(nested), IFLA_XDP | NLA_F_NESTED) + nested
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
        sock.send(struct.pack("<IHHII", 16 + len(body), RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0) + body)
        error, = struct.unpack_from("<i", sock.recv(4096), 16)
    if error:
        raise OSError(-error, f"XDP by rtnetlink: {os.strerror(-error)}")


def link(ifindex: int, fd: int) -> int:
    """The same as a BPF link, which is a file descriptor: the program goes when that is closed."""
    return _bpf(LINK_CREATE, struct.pack("<IIII", fd, ifindex, ATTACH_XDP, XDP_FLAGS_DRV_MODE))
