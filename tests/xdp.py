#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""XDP in the driver: verdicts, what is sent and redirected, frames in several buffers, coming and going of programs.

The C driver has none of it.
"""

import errno
import os
import re
import socket
import struct
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from lib.py import RavbEnv, KsftNamedVariant, ksft_eq, ksft_exit, ksft_ge, ksft_pr, ksft_run, ksft_true, ksft_variants
from lib.py import KsftSkipEx, NetdevFamily, bpf, cmd, defer, ethtool, injection, ip, until
from lib.py.packets import ETH_P_IP, ETH_P_TEST, eth, of_type, udp
from lib.py.tracing import traced
from lib.py.twin import flood_payload
from lib.py.xsk import COPY, ZEROCOPY, XskSocket

# What fits into the frame with the longest MTU, and into the buffers of an XDP ring.
LONGEST_TX = {"gbeth": 1518}
LONGEST_TX_RCAR = 2044
SLOT = 3520
UDP_HEAD = 14 + 20 + 8
RING = 64
ACTIONS = {"basic", "redirect", "ndo-xmit"}
SOL_PACKET, PACKET_AUXDATA, TP_STATUS_CSUM_VALID = 263, 8, 1 << 7


def _longest_tx(cfg) -> int:
    return LONGEST_TX.get(cfg.chip.name, LONGEST_TX_RCAR)


def _attach(cfg, instructions: list, frags: bool = False, replace: bool = False) -> bpf.Program:
    """Loads a program until the case ends."""
    program = bpf.Program(instructions, frags=frags)
    defer(program.close)
    if not replace:
        defer(ip, f"link set dev {cfg.ifname} xdpdrv off")
    ip(f"-force link set dev {cfg.ifname} xdpdrv pinned {program.path}")
    return program


def _counts(cfg) -> dict:
    """The XDP statistics of all queues together, by what is counted."""
    out: dict = {}
    for name, value in cfg.queue_stats().items():
        if "_xdp_" in name:
            what = name.partition("_xdp_")[2]
            out[what] = out.get(what, 0) + value
    return out


def _delta(before: dict, after: dict) -> dict:
    return {name: after[name] - before[name] for name in after if after[name] != before[name]}


def _send(cfg, frames: list) -> None:
    with cfg.remote_packets() as sock:
        sock.send(frames)


def _test_frames(cfg, count: int, size: int = 60) -> list:
    return [eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, n.to_bytes(4, "big") + bytes(size - 18)) for n in range(count)]


def features(cfg) -> None:
    """What is said of the device is what it can do."""
    said = NetdevFamily().dev_get({"ifindex": cfg.ifindex})
    want = ACTIONS | ({"rx-sg"} if cfg.chip.name == "gbeth" else set())
    ksft_eq(set(said["xdp-features"]), want)
    # Offloading is not for us.
    program = bpf.Program(bpf.verdict_program(bpf.PASS))
    defer(program.close)
    refused = cmd(f"ip link set dev {cfg.ifname} xdpoffload pinned {program.path}", fail=False)
    ksft_ge(refused.ret, 1, "a program to be offloaded is refused")


@ksft_variants([KsftNamedVariant(name, action, counted) for name, action, counted in
                (("aborted", bpf.ABORTED, "aborted"), ("drop", bpf.DROP, "drop"), ("pass", bpf.PASS, "pass"),
                 ("unknown", 77, "aborted"))])
def verdict(cfg, action, counted) -> None:
    """A verdict is carried out and counted, in XDP's counters and in the interface's."""
    count = 3 * RING + 5
    _attach(cfg, bpf.verdict_program(action))
    before, stats = _counts(cfg), cfg.stats()
    with cfg.local_packets() as sock:
        _send(cfg, _test_frames(cfg, count))
        until(lambda: _counts(cfg)[counted] - before[counted] >= count, 10, "all frames were counted")
        seen = sock.capture(of_type(ETH_P_TEST, cfg.mac), count if action == bpf.PASS else 1, 0.2)
    ksft_eq(len(seen), count if action == bpf.PASS else 0, "frames that reached the stack")
    delta = _delta(before, _counts(cfg))
    ksft_eq(delta.pop(counted) >= count and not delta, True, f"only {counted} is counted")
    ksft_ge(cfg.stats()["rx_packets"] - stats["rx_packets"], count, "rx_packets")
    ksft_ge(cfg.stats()["rx_bytes"] - stats["rx_bytes"], count * 60 if action != bpf.PASS else count * 46, "rx_bytes")
    ksft_eq(cfg.stats()["rx_errors"], stats["rx_errors"], "rx_errors")


def _echoes(cfg, frames: list) -> list:
    """What comes back at the peer."""
    with cfg.remote_packets() as sock:
        sock.send(frames)
        return sock.capture(of_type(ETH_P_TEST, cfg.remote_mac), len(frames), 5)


def _turned(frame: bytes) -> bytes:
    return frame[6:12] + frame[:6] + frame[12:]


@ksft_variants([KsftNamedVariant(how, how) for how in ("tx", "redirect")])
def sent(cfg, counted) -> None:
    """Frames of all lengths come back as they were, by TX and by redirection to the port itself."""
    _attach(cfg, bpf.redirect_program(cfg.ifindex) if counted == "redirect" else
            bpf.echo_program(bpf.verdict_program(bpf.TX)))
    lengths = [*range(60, 80), 127, 128, 129, 500, 1000, 1500, 1511, 1512, 1513, 1514]
    before = _counts(cfg)
    frames = [eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes((n + i) % 256 for i in range(length - 14)))
              for n, length in enumerate(lengths)]
    seen = _echoes(cfg, frames)
    ksft_eq([len(f) for f in seen], [len(f) for f in frames], f"lengths by {counted}")
    ksft_eq(seen == [_turned(f) for f in frames], True, f"frames by {counted} are unchanged")
    ksft_eq(_delta(before, _counts(cfg)).get(counted), len(frames), counted)


def redirect_nowhere(cfg) -> None:
    """What cannot be redirected is counted as such, and lost."""
    _attach(cfg, bpf.redirect_program(0x7FFFFFF))
    before = _counts(cfg)
    _send(cfg, _test_frames(cfg, 20))
    until(lambda: _counts(cfg)["redirect_errors"] - before["redirect_errors"] >= 20, 5, "redirect_errors")
    ksft_eq(_delta(before, _counts(cfg)).keys(), {"redirect_errors"})


@ksft_variants([KsftNamedVariant(f"{name}_{abs(delta)}", function, delta) for name, function, deltas in
                (("head_grow", bpf.FN_ADJUST_HEAD, (-4, -128, -200)), ("head_cut", bpf.FN_ADJUST_HEAD, (1, 2, 3, 40)),
                 ("tail_grow", bpf.FN_ADJUST_TAIL, (1, 700)), ("tail_cut", bpf.FN_ADJUST_TAIL, (-1, -46)))
                for delta in deltas])
def adjusted(cfg, function, delta) -> None:
    """Frames whose beginning or end was moved are sent as they are then: aligned anyhow, or too short for the wire."""
    _attach(cfg, bpf.adjust_program(function, delta, bpf.TX))
    frame = bytes(range(256)) * 3
    frame = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, frame)[:600 if delta != -46 else 80]
    if function == bpf.FN_ADJUST_HEAD:
        # What was in the buffer before the frame is not known.
        tail = frame[delta:] if delta > 0 else frame
        want = len(frame) - delta
    else:
        tail = frame[14:len(frame) + min(delta, 0)] + bytes(max(delta, 0))
        want = len(frame) + delta
        if want < 60:
            tail += bytes(60 - want)
            want = 60
    with cfg.remote_packets(promisc=True) as sock:
        sock.send([frame])
        seen = sock.capture(lambda f: len(f) == want and f.endswith(tail), 1, 5)
    ksft_eq(len(seen), 1, f"frame of {want} bytes comes back")


def not_sent(cfg) -> None:
    """What a program has made too long for the port is not sent; it is counted, and trace points are told."""
    _attach(cfg, bpf.adjust_program(bpf.FN_ADJUST_TAIL, 700, bpf.TX))
    count = 10
    before = _counts(cfg)
    with traced("xdp/xdp_exception") as lines:
        _send(cfg, _test_frames(cfg, count, 1500))
        until(lambda: _counts(cfg)["tx_errors"] - before["tx_errors"] >= count, 5, "tx_errors")
        told = [line for line in lines() if "action=TX" in line and f"ifindex={cfg.ifindex}" in line]
    ksft_eq(_delta(before, _counts(cfg)), {"tx_errors": count})
    ksft_eq(len(told), count, "frames that trace points were told of")


@ksft_variants([KsftNamedVariant("as_it_was", 0), KsftNamedVariant("there_and_back", 700)])
def given_back(cfg, delta) -> None:
    """Before the device gets the buffer of a frame that was dropped, caches are looked after wherever a program has
    written, and not elsewhere: it may have moved the end, there and back again."""
    if not (cfg.device / "of_node/dma-noncoherent").exists():
        raise KsftSkipEx("caches are coherent")
    length, count = 200, 20
    _attach(cfg, bpf.there_and_back_program(delta, bpf.DROP) if delta else bpf.verdict_program(bpf.DROP))
    before = _counts(cfg)
    with traced("dma/dma_sync_single_for_device") as lines:
        _send(cfg, _test_frames(cfg, count, length))
        until(lambda: _counts(cfg)["drop"] - before["drop"] >= count, 5, "frames were dropped")
        sizes = [int(re.search(r"size=(\d+)", line)[1]) for line in lines()
                 if line.startswith(cfg.device.name) and "BIDIRECTIONAL" in line]
    ksft_pr(f"bytes: {sorted(set(sizes))}")
    ksft_ge(len(sizes), count, "buffers")
    if delta:
        ksft_eq([size for size in sizes if size < length + delta], [], "buffers of which only a part was looked after")
    else:
        ksft_ge(sizes.count(length), count, "buffers of which only the frame was")


def passed_adjusted(cfg) -> None:
    """The stack gets a frame as the program has left it."""
    _attach(cfg, bpf.adjust_program(bpf.FN_ADJUST_TAIL, -100, bpf.PASS))
    frame = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes(i % 251 for i in range(500)))
    with cfg.local_packets() as sock:
        _send(cfg, [frame])
        seen = sock.capture(of_type(ETH_P_TEST, cfg.mac), 1, 5)
    ksft_eq(seen == [frame[:-100]], True, "the frame without its end")


def meta(cfg) -> None:
    """Meta data of the program reaches who comes next: without it nothing would be accepted."""
    reader = bpf.Program(bpf.meta_reader(0x1234), tc=True)
    defer(reader.close)
    defer(cmd, f"tc qdisc del dev {cfg.ifname} clsact")
    cmd(f"tc qdisc add dev {cfg.ifname} clsact")
    cmd(f"tc filter add dev {cfg.ifname} ingress bpf da pinned {reader.path}")
    ksft_true(cfg.ping(count=1, wait=1, fail=False).ret, "a ping without meta data is answered")
    _attach(cfg, bpf.meta_program(0x1234))
    cfg.ping(count=3)


def checksums(cfg) -> None:
    """Beside a program, frames with wrong checksums are known as such, and right ones are accepted."""
    # From the twin: a peer's engine would put the checksum right.
    twin = cfg.require_twin()
    _attach(cfg, bpf.verdict_program(bpf.PASS))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((cfg.addr_v["4"], 0))
        sock.settimeout(2)
        for data, csum in ((b"bad.", 0x1234), (b"good", None)):
            packet = udp(cfg.remote_addr_v["4"], cfg.addr_v["4"], 4000, sock.getsockname()[1], data * 10, csum=csum)
            twin.frame(eth(cfg.mac, cfg.remote_mac, 0x0800, packet))
        ksft_eq(sock.recv(100), b"good" * 10, "first datagram")
    for rx in ("off", "on"):
        ethtool(f"-K {cfg.ifname} rx {rx}")
        cfg.ping(count=2, size=1400)


def _need_parts(cfg):
    if cfg.chip.name != "gbeth":
        raise KsftSkipEx(f"{cfg.chip.name} receives a frame in one buffer")
    return cfg.require_twin()


@ksft_variants([KsftNamedVariant("pass", bpf.PASS), KsftNamedVariant("drop", bpf.DROP), KsftNamedVariant("tx", bpf.TX)])
def parts(cfg, action) -> None:
    """Frames in several buffers are for programs that can cope with them, whole and in order."""
    twin = _need_parts(cfg)
    _attach(cfg, bpf.verdict_program(action), frags=True)
    lengths = [SLOT - 4 + d for d in range(-3, 5)] + [2 * SLOT + d for d in range(-5, 3)] + [6000, 8000, 8192]
    before = _counts(cfg)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        sock.bind((cfg.addr_v["4"], 0))
        sock.settimeout(5)
        for n, length in enumerate(lengths):
            payload = length - UDP_HEAD
            twin.flood(payload=payload, src=cfg.remote_addr_v["4"], dst=cfg.addr_v["4"], dmac=cfg.mac,
                       smac=cfg.remote_mac, dport=sock.getsockname()[1], count=1)
            if action == bpf.PASS:
                ksft_eq(sock.recv(65536) == flood_payload(0, payload), True, f"frame of {length} bytes")
            else:
                # What is longer than the chip can send is not sent.
                counted = "drop" if action == bpf.DROP else "tx_errors"
                until(lambda: _counts(cfg)[counted] - before[counted] > n, 5, "the frame was counted")  # noqa: B023
    cfg.ping(fail=action == bpf.PASS, count=1, wait=0.1)


def parts_cut(cfg) -> None:
    """A program may cut a frame in several buffers down to its first, or make it longer."""
    twin = _need_parts(cfg)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_TEST)) as sock:
        sock.bind((cfg.ifname, ETH_P_TEST))
        sock.settimeout(5)
        for length, delta in ((8000, -7000), (8000, -400), (5000, 100)):
            _attach(cfg, bpf.adjust_program(bpf.FN_ADJUST_TAIL, delta, bpf.PASS), frags=True)
            frame = twin.frame(eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, b"cut"), size=length)
            want = frame[:delta] if delta < 0 else frame + bytes(delta)
            ksft_eq(sock.recv(65536) == want, True, f"{length} bytes {delta:+d}")


@ksft_variants([KsftNamedVariant("as_it_was", 0), KsftNamedVariant("cut", -200), KsftNamedVariant("grown", 100)])
def parts_checksum(cfg, delta) -> None:
    """The chip's verdict on the checksum goes with a frame whose end is where it was, in whichever buffer that is."""
    twin = _need_parts(cfg)
    program = bpf.adjust_program(bpf.FN_ADJUST_TAIL, delta, bpf.PASS) if delta else bpf.verdict_program(bpf.PASS)
    _attach(cfg, program, frags=True)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP)) as sock:
        sock.bind((cfg.ifname, ETH_P_IP))
        sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        sock.settimeout(5)
        size = 6000
        twin.flood(payload=size, src=cfg.remote_addr_v["4"], dst=cfg.addr_v["4"], dmac=cfg.mac, smac=cfg.remote_mac,
                   dport=9, count=1)
        length = 0
        while length < size // 2:
            frame, extra, _, _ = sock.recvmsg(65536, 256)
            length = len(frame)
    ksft_eq(length, UDP_HEAD + size + delta, "length")
    status = [struct.unpack_from("I", data)[0] for level, kind, data in extra
              if (level, kind) == (SOL_PACKET, PACKET_AUXDATA)]
    ksft_eq([bool(s & TP_STATUS_CSUM_VALID) for s in status], [delta == 0], "whether the stack takes it as checked")


def no_parts(cfg) -> None:
    """Frames in several buffers are too long for other programs; those behind them are seen."""
    twin = _need_parts(cfg)
    _attach(cfg, bpf.verdict_program(bpf.PASS))
    before, stats = _counts(cfg), cfg.stats()
    for _ in range(5):
        twin.frame(eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, b"long"), size=5000)
    cfg.ping(count=3)
    ksft_eq(cfg.stats()["rx_length_errors"] - stats["rx_length_errors"], 5, "rx_length_errors")
    ksft_ge(_delta(before, _counts(cfg)).get("pass", 0), 3, "frames passed")


@contextmanager
def _elsewhere(cfg):
    """A raw socket; what is sent by it another device redirects to the port, with addresses swapped."""
    ip("link add xdp-a type veth peer name xdp-b")
    try:
        for name in ("xdp-a", "xdp-b"):
            # No frames of its own accord.
            Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
            ip(f"link set dev {name} up")
        program = bpf.Program(bpf.redirect_program(cfg.ifindex))
        defer(program.close)
        ip(f"link set dev xdp-b xdpdrv pinned {program.path}")
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
            sock.bind(("xdp-a", 0))
            yield sock
    finally:
        ip("link del xdp-a")


def from_elsewhere(cfg) -> None:
    """What another device redirects to the port is sent; while the port is down, or on its way, it is dropped."""
    frames = _test_frames(cfg, 30, size=200)

    def redirected() -> None:
        before = _counts(cfg)
        with cfg.remote_packets() as far:
            for frame in frames:
                near.send(frame)
            seen = far.capture(of_type(ETH_P_TEST, cfg.remote_mac), len(frames), 5)
        ksft_eq(seen == [_turned(f) for f in frames], True, "frames arrive as they were sent")
        ksft_eq(_delta(before, _counts(cfg)), {"xmit": len(frames)})

    with _elsewhere(cfg) as near:
        redirected()
        stop, offered = threading.Event(), [0]

        def flood() -> None:
            while not stop.is_set():
                near.send(frames[0])
                offered[0] += 1

        thread = threading.Thread(target=flood)
        thread.start()
        try:
            for _ in range(5):
                cfg.set_link(False)
                cfg.set_link(True)
        finally:
            stop.set()
            thread.join()
        cfg.resume()
        stats = cfg.stats()
        redirected()
    ksft_pr(f"{offered[0]} frames were offered while the port went down and up")
    ksft_ge(offered[0], 100, "frames offered")
    ksft_eq(cfg.stats()["tx_errors"], stats["tx_errors"], "tx_errors")


def full_ring(cfg) -> None:
    """Each frame from elsewhere that finds no room is counted as lost, and the others are sent in the end."""
    twin = cfg.require_twin()
    shown = ethtool(f"-g {cfg.ifname}", json=True)[0]
    if shown["tx"] != RING:
        defer(ethtool, f"-G {cfg.ifname} tx {shown['tx']}")
        ethtool(f"-G {cfg.ifname} tx {RING}")
    frames = _test_frames(cfg, RING + 37)
    before = _counts(cfg)
    with _elsewhere(cfg) as near, cfg.remote_packets() as far:
        defer(twin.stuck_tx, 0, False)
        twin.stuck_tx(0, True)
        # In bunches: by a thread, which has to wait for the sender on its CPU.
        Path("/sys/class/net/xdp-b/threaded").write_text("1")
        defer(os.sched_setscheduler, 0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        for frame in frames:
            near.send(frame)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        until(lambda: sum(_delta(before, _counts(cfg)).values()) >= len(frames), 3, "all frames were counted")
        delta = _delta(before, _counts(cfg))
        twin.stuck_tx(0, False)
        seen = far.capture(of_type(ETH_P_TEST, cfg.remote_mac), delta["xmit"], 5)
    ksft_pr(delta)
    # The stack may have put one in.
    ksft_ge(delta["xmit"], RING - 4, "frames that had room")
    ksft_eq(sum(delta.values()), len(frames), "frames sent and lost")
    ksft_eq(seen == [_turned(f) for f in frames[:delta["xmit"]]], True, "what had room arrives")


def shared_queue(cfg) -> None:
    """A program that sends line rate and the stack share the queue: no timeout, and BQL counts right."""
    twin = cfg.require_twin()
    stats = cfg.stats()
    _attach(cfg, bpf.echo_program(bpf.verdict_program(bpf.TX)))
    before = _counts(cfg)
    # Not for the stack: other addresses.
    twin.flood(payload=200, src="10.9.9.9", dst="10.9.9.8", dmac=cfg.mac, smac="02:00:00:00:99:99", dport=9,
               interval="5us", **{"for": "3000ms"})
    frame = eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, bytes(1000))
    taken = 0
    with cfg.local_packets() as sock:
        end = time.monotonic() + 3
        while time.monotonic() < end:
            try:
                sock.sock.send(frame)
                taken += 1
            except OSError as e:
                if e.errno not in (errno.ENOBUFS, errno.EAGAIN):
                    raise
    twin.wait_sent()
    delta = _delta(before, _counts(cfg))
    ksft_pr(f"{taken} frames of the stack, XDP {delta}")
    ksft_ge(delta.get("tx", 0), 10000, "frames sent by the program")
    ksft_ge(taken, 100, "frames sent by the stack")
    ksft_eq(cfg.stats()["tx_errors"], stats["tx_errors"], "timeouts")
    inflight = Path(cfg.sysfs, "queues/tx-0/byte_queue_limits/inflight")
    until(lambda: int(inflight.read_text()) == 0, 5, "BQL has nothing in flight")


def replaced(cfg) -> None:
    """A program takes another's place without the loss of a frame."""
    twin = cfg.require_twin()
    programs = [_attach(cfg, bpf.verdict_program(bpf.DROP), replace=n > 0) for n in range(2)]
    before = cfg.stats()
    # By the clock, a busy machine may leave the ring alone for longer than it has room for.
    count, interval = (20000, "50us") if cfg.virtual_time else (4000, "1ms")
    twin.flood(payload=18, src="10.9.9.9", dst="10.9.9.8", dmac=cfg.mac, smac=cfg.remote_mac, dport=9,
               interval=interval, count=count)
    swaps = 0
    while twin.stats("wire.flows"):
        ip(f"-force link set dev {cfg.ifname} xdpdrv pinned {programs[swaps % 2].path}")
        swaps += 1
    until(lambda: cfg.stats()["rx_packets"] - before["rx_packets"] >= count, 5, "all frames were received")
    ksft_pr(f"{swaps} changes")
    ksft_ge(swaps, 5, "changes")


def hammered(cfg) -> None:
    """Programs come and go under a flood; nothing is left behind, and traffic passes at the end.

    For 5 seconds, or 30 with RAVB_LONG=1 in the environment.
    """
    twin = cfg.require_twin()
    drop, back = (bpf.Program(p) for p in (bpf.verdict_program(bpf.DROP),
                                           bpf.echo_program(bpf.verdict_program(bpf.TX))))
    defer(drop.close)
    defer(back.close)
    defer(ip, f"link set dev {cfg.ifname} xdpdrv off")
    seconds = cfg.long(5, 30)
    twin.flood(payload=18, src="10.9.9.9", dst="10.9.9.8", dmac=cfg.mac, smac=cfg.remote_mac, dport=9, interval="50us",
               **{"for": f"{seconds * 1000}ms"})
    batch = Path("/tmp/xdp-batch")
    lines = []
    for n in range(10):
        lines += [f"link set dev {cfg.ifname} xdpdrv pinned {(drop, back)[n % 2].path}",
                  f"link set dev {cfg.ifname} xdpdrv off"]
    batch.write_text("\n".join(lines) + "\n")
    changes, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        ip(f"-batch {batch}")
        changes += len(lines)
    twin.wait_sent()
    ksft_pr(f"{changes} changes in {seconds} s")
    ksft_ge(changes, 20, "changes")
    cfg.resume()
    pools = NetdevFamily().page_pool_get({}, dump=True)
    mine = [p for p in pools if p.get("ifindex") == cfg.ifindex]
    ksft_eq(len([p for p in mine if "detach-time" not in p]), cfg.chip.queues, "pools in use")


@ksft_variants([KsftNamedVariant(fault, fault) for fault in (injection.OBJECTS, injection.PAGES)])
def no_memory(cfg, name) -> None:
    """A program for whose rings there is no memory is refused, and the old rings go on."""
    fault = injection.DEBUGFS / name
    if not fault.exists():
        raise KsftSkipEx("the kernel was built without fault injection")
    program = bpf.Program(bpf.verdict_program(bpf.PASS))
    defer(program.close)
    defer(ip, f"link set dev {cfg.ifname} xdpdrv off")
    # Last, how often: until then nothing fails, and from then on only what is asked for.
    defer((fault / "probability").write_text, "0")
    injection.configure(name, {"task-filter": "Y", "interval": 1, "times": -1, "verbose": 0, "probability": 10})
    refused = attached = 0
    for _ in range(60):
        ret = cmd("sh -c 'echo 1 > /proc/self/make-it-fail; exec ip link set dev "
                  f"{cfg.ifname} xdpdrv pinned {program.path}'", fail=False).ret
        refused, attached = refused + bool(ret), attached + (not ret)
        cmd(f"ip link set dev {cfg.ifname} xdpdrv off", fail=False)
    (fault / "probability").write_text("0")
    ksft_pr(f"{fault.name}: {refused} refused, {attached} attached")
    ksft_ge(refused, 1, "programs refused")
    cfg.ping(count=3)


def configuration(cfg) -> None:
    """A program stays while rings are resized, the interface goes down, and the MTU changes."""
    _attach(cfg, bpf.verdict_program(bpf.PASS))
    for words in (f"ethtool -G {cfg.ifname} rx 128 tx 128", f"ethtool -G {cfg.ifname} rx 1024 tx 64",
                  f"ip link set dev {cfg.ifname} mtu 600", f"ip link set dev {cfg.ifname} mtu {cfg.dev['mtu']}",
                  f"ethtool -K {cfg.ifname} rx off", f"ethtool -K {cfg.ifname} rx on"):
        cmd(words)
        before = _counts(cfg)
        cfg.ping(count=2)
        ksft_ge(_delta(before, _counts(cfg)).get("pass", 0), 2, f"passed after {words}")
    cfg.set_link(False)
    cfg.set_link(True)
    cfg.resume()
    before = _counts(cfg)
    cfg.ping(count=2)
    ksft_ge(_delta(before, _counts(cfg)).get("pass", 0), 2, "passed after down and up")
    # Loaded while the interface is down.
    cfg.set_link(False)
    ip(f"link set dev {cfg.ifname} xdpdrv off")
    _attach(cfg, bpf.verdict_program(bpf.PASS), replace=True)
    cfg.set_link(True)
    cfg.resume()
    ksft_ge(_delta(before, _counts(cfg)).get("pass", 0), 3, "passed by a program that was loaded while down")


def af_xdp(cfg) -> None:
    """AF_XDP sockets receive and send by copying; zero copy is refused."""
    entries = bpf.xskmap(cfg.chip.queues)
    try:
        XskSocket(cfg.ifindex, 0, ZEROCOPY).close()
        ksft_true(False, "zero copy was accepted")
    except OSError as e:
        ksft_eq(e.errno, errno.EOPNOTSUPP, "zero copy")
    xsk = XskSocket(cfg.ifindex, 0, COPY)
    defer(xsk.close)
    bpf.update(entries, 0, xsk.fd)
    _attach(cfg, bpf.xsk_program(entries))
    # All lengths that there are descriptors for, and more than the rings of the socket have room for at a time.
    frames = [eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes((n + i) % 256 for i in range(46 + 17 * n)))
              for n in range(80)]
    before = _counts(cfg)
    got, all_got = [], 0
    for first in range(0, len(frames), 20):
        _send(cfg, frames[first:first + 20])
        while len(got) < first + 20:
            frame = xsk.receive()
            all_got += 1
            if frame[12:14] == ETH_P_TEST.to_bytes(2, "big"):
                got.append(frame)
    ksft_eq(got == frames, True, "frames received")
    ksft_eq(_delta(before, _counts(cfg)), {"redirect": all_got}, "what the driver has counted")
    with cfg.remote_packets() as sock:
        for n, frame in enumerate(frames):
            xsk.send(_turned(frame), n)
            xsk.sent()
        seen = sock.capture(of_type(ETH_P_TEST, cfg.remote_mac), len(frames), 5)
    ksft_eq(seen == [_turned(f) for f in frames], True, "frames sent")
    lost = xsk.statistics()
    # Looked for, and not there, each time that all was sent.
    del lost["tx_ring_empty"]
    ksft_eq(set(lost.values()), {0}, f"what the kernel could not do: {lost}")


def netconsole(cfg) -> None:
    """What netconsole sends, with budget 0 and interrupts off, takes back nothing of XDP."""
    twin = cfg.require_twin()
    cmd("modprobe netconsole")
    target = Path("/sys/kernel/config/netconsole/xdp")
    defer(cmd, "modprobe -r netconsole")
    target.mkdir()
    defer(target.rmdir)
    for name, value in (("dev_name", cfg.ifname), ("local_ip", cfg.addr_v["4"]), ("remote_ip", cfg.remote_addr_v["4"]),
                        ("remote_mac", cfg.remote_mac), ("enabled", "1")):
        (target / name).write_text(value)
    defer((target / "enabled").write_text, "0")
    _attach(cfg, bpf.echo_program(bpf.verdict_program(bpf.TX)))
    before = cfg.stats()
    lines = 20
    defer(twin.order, "stop")
    twin.flood(payload=18, src="10.9.9.9", dst="10.9.9.8", dmac=cfg.mac, smac=cfg.remote_mac, dport=9, interval="10us",
               **{"for": "60s"})
    with open("/dev/kmsg", "w", encoding="ascii") as kmsg:
        for _ in range(lines):
            kmsg.write("<4>xdp: a line for netconsole\n")
            kmsg.flush()
    ksft_true(twin.stats("wire.flows"), "frames were sent back all the time")
    twin.order("stop")
    ksft_ge(cfg.stats()["tx_packets"] - before["tx_packets"], lines, "tx_packets")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        if cfg.driver != "rs":
            raise KsftSkipEx("the C driver has no XDP")
        cmd("mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf", shell=True)
        ksft_run([features, verdict, sent, redirect_nowhere, adjusted, not_sent, given_back, passed_adjusted, meta,
                  checksums, parts, parts_cut, parts_checksum, no_parts, from_elsewhere, full_ring, shared_queue,
                  replaced, no_memory, configuration, af_xdp, netconsole, hammered], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
