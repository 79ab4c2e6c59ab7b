#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""The rings: their sizes, and that they wrap, overrun and recover without losing count."""

import re

from lib.py import RavbEnv, KsftNamedVariant, ksft_disruptive, ksft_eq, ksft_exit, ksft_ge, \
    ksft_gt, ksft_pr, ksft_run, ksft_true, ksft_variants
from lib.py import bkg, cmd, defer, ethtool, fatal, until
from lib.py.packets import ETH_P_TEST, eth, of_type

DEFAULT = {"rx": 1024, "tx": 64}
MAXIMUM = {"rx": 2048, "tx": 1024}
MINIMUM = 64


def sizes(cfg) -> dict:
    """The sizes of the rings, and the largest that there may be."""
    shown = ethtool(f"-g {cfg.ifname}", json=True)[0]
    return {k: shown[k] for k in ("rx", "tx", "rx-max", "tx-max")}


def _set(cfg, **wanted) -> None:
    words = " ".join(f"{k} {v}" for k, v in wanted.items())
    ethtool(f"-G {cfg.ifname} {words}")
    for name, size in wanted.items():
        ksft_eq(sizes(cfg)[name], size, f"{name} ring")


def restore_later(cfg) -> None:
    """Has the rings get their sizes back."""
    def restore():
        if (now := sizes(cfg)) and any(now[k] != v for k, v in DEFAULT.items()):
            ethtool(f"-G {cfg.ifname} rx {DEFAULT['rx']} tx {DEFAULT['tx']}")
    defer(restore)


def reported(cfg) -> None:
    """Default and largest sizes."""
    ksft_eq(sizes(cfg), {**DEFAULT, "rx-max": MAXIMUM["rx"], "tx-max": MAXIMUM["tx"]})


@ksft_disruptive
def limits(cfg) -> None:
    """Sizes out of range are refused and change nothing."""
    for words in ("rx 63", "tx 63", "rx 2049", "tx 1025", "rx 0", "rx-mini 8", "rx-jumbo 8"):
        done = cmd(f"ethtool -G {cfg.ifname} {words}", fail=False)
        ksft_true(done.ret != 0, f"-G {words} was accepted")
    ksft_eq({k: sizes(cfg)[k] for k in DEFAULT}, DEFAULT, "sizes after refusals")
    cfg.ping()


@ksft_variants([(64, 64), (65, 65), (100, 77), (1000, 501), (1024, 64), (2048, 1024)])
@ksft_disruptive
def resize(cfg, rx, tx) -> None:
    """Each size, powers of two or not: traffic passes, more of it than fits into the ring."""
    restore_later(cfg)
    _set(cfg, rx=rx, tx=tx)
    cfg.ping(wait=5)
    # Three times round the smaller rings; once round is enough for the larger.
    count = max(3 * max(rx, tx), 300) if max(rx, tx) <= 128 else max(rx, tx) + 100
    _receive(cfg, count)
    _send(cfg, count)
    cfg.ping(wait=5)


def _numbered(dst: str, src: str, count: int, size: int = 100) -> list:
    return [eth(dst, src, ETH_P_TEST, n.to_bytes(4, "big") + bytes(size - 18))
            for n in range(count)]


def _numbers(frames: list) -> list:
    return [int.from_bytes(f[14:18], "big") for f in frames]


def _receive(cfg, count: int) -> None:
    """@count numbered frames at a rate that the port can follow: all arrive, once, in order."""
    before = cfg.stats()
    with cfg.local_packets() as sock, cfg.remote_packets() as peer:
        frames = _numbered(cfg.mac, cfg.remote_mac, count)
        # A host that does other things as well stops an emulated processor for milliseconds.
        peer.send(frames, gap_us=100 if cfg.virtual_time else 1000)
        got = sock.capture(of_type(ETH_P_TEST, cfg.mac), count, 10)
    ksft_eq(_numbers(got), list(range(count)), f"of {count} frames received")
    after = cfg.stats()
    ksft_ge(after["rx_packets"] - before["rx_packets"], count, "rx_packets")
    for name in ("rx_over_errors", "rx_fifo_errors", "rx_errors"):
        ksft_eq(after[name] - before[name], 0, name)


def _send(cfg, count: int) -> None:
    """@count numbered frames: all are seen by the peer, once, in order."""
    before = cfg.stats()
    with cfg.local_packets() as sock, cfg.remote_packets() as peer:
        sock.send(_numbered(cfg.remote_mac, cfg.mac, count))
        got = peer.capture(of_type(ETH_P_TEST, cfg.remote_mac), count, 10)
    ksft_eq(_numbers(got), list(range(count)), f"of {count} frames sent")
    until(lambda: cfg.stats()["tx_packets"] - before["tx_packets"] >= count, 5, "tx_packets")


@ksft_disruptive
def wrap(cfg) -> None:
    """The default rings go round more than twice in each direction."""
    _receive(cfg, 2 * DEFAULT["rx"] + 200)
    _send(cfg, 20 * DEFAULT["tx"] + 20)


@ksft_disruptive
def under_traffic(cfg) -> None:
    """Sizes change under traffic: it goes on afterwards, and little is lost."""
    fatal(cfg, "B9r")
    restore_later(cfg)
    count = 600
    with bkg(f"ping -q -n -c {count} -i 0.002 -W 1 -s 300 {cfg.remote_addr_v['4']}",
             exit_wait=True) as traffic:
        for rx, tx in ((512, 128), (64, 64), (777, 333), (2048, 1024), (1024, 64)):
            _set(cfg, rx=rx, tx=tx)
    got = int(re.search(r"(\d+) received", traffic.stdout)[1])
    ksft_pr(f"{got} of {count} echoes answered over five changes")
    ksft_gt(got, count // 2, "echoes answered")
    cfg.ping(wait=5)


@ksft_disruptive
def while_down(cfg) -> None:
    """Sizes set while down are used at the next open."""
    restore_later(cfg)
    defer(until, cfg.link_up, 15, "link")
    defer(cfg.set_link, True)
    cfg.set_link(False)
    _set(cfg, rx=200, tx=100)
    cfg.set_link(True)
    until(cfg.link_up, 15, "link")
    ksft_eq((sizes(cfg)["rx"], sizes(cfg)["tx"]), (200, 100))
    _receive(cfg, 450)
    _send(cfg, 450)


@ksft_disruptive
def overrun(cfg) -> None:
    """More at once than the ring holds: what is lost is counted, and reception goes on."""
    twin = cfg.require_twin()
    restore_later(cfg)
    _set(cfg, rx=64)
    count = 5000
    before = cfg.stats()
    # Back to back at line rate: minimum frames come every 672 ns, faster than any driver can take.
    twin.flood(ethertype=ETH_P_TEST, dmac=cfg.mac, smac=cfg.remote_mac, count=count)
    twin.wait_sent()
    cfg.ping(wait=5)
    after = cfg.stats()
    got = after["rx_packets"] - before["rx_packets"]
    over = after["rx_over_errors"] - before["rx_over_errors"]
    ksft_pr(f"{got} of {count} frames received, rx_over_errors +{over}")
    ksft_gt(got, 64, "frames received of an overrunning burst")
    ksft_gt(count, got, "frames received: the burst was meant to overrun the ring")
    ksft_gt(over, 0, "rx_over_errors")
    _receive(cfg, 200)


@ksft_disruptive
def fifo_overflow(cfg) -> None:
    """An overflow of the receive FIFO is counted as such, and reception goes on."""
    twin = cfg.require_twin()
    before = cfg.stats()
    twin.fifo_overflow(3)
    cmd(f"ping -q -n -c 3 -i 0.01 -W 0.2 {cfg.remote_addr_v['4']}", fail=False)
    cfg.ping(wait=5)
    after = cfg.stats()
    ksft_gt(after["rx_fifo_errors"] - before["rx_fifo_errors"], 0, "rx_fifo_errors")


@ksft_variants([KsftNamedVariant(str(n), n) for n in (60, 61, 62, 63, 64, 65, 1513, 1514)])
def alignment(cfg, size) -> None:
    """Frames of every alignment and length class go out and come in unchanged."""
    payload = bytes((i * 7 + size) & 0xff for i in range(size - 14))
    with cfg.local_packets() as mine, cfg.remote_packets() as peer:
        out = eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, payload)
        mine.send([out])
        ksft_eq([f == out for f in peer.capture(of_type(ETH_P_TEST), 1, 5)], [True], "sent")
        back = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, payload)
        peer.send([back])
        ksft_eq([f == back for f in mine.capture(of_type(ETH_P_TEST), 1, 5)], [True], "received")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([reported, limits, resize, alignment, wrap, under_traffic, while_down, overrun,
                  fifo_overflow], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
