#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Statistics: their names, their sums, and that they count what passed."""

from lib.py import RavbEnv, ksft_disruptive, ksft_eq, ksft_exit, ksft_ge, ksft_pr, ksft_run
from lib.py import KsftSkipEx, defer, ethtool, until, verdict
from lib.py.packets import ETH_P_TEST, eth

SUMS = ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "rx_crc_errors",
        "rx_frame_errors", "rx_length_errors", "rx_missed_errors", "rx_over_errors")


def names(cfg) -> None:
    """ethtool -S publishes the variant's names, in order, none twice."""
    if cfg.driver != "c":
        missing = [n for n in cfg.chip.stats_names if n.endswith(("packets", "bytes", "errors"))
                   and "csum_offload" not in n and n not in cfg.queue_stats()]
        ksft_eq(missing, [], "counters of the C driver that are missing")
        return
    ksft_eq(list(cfg.queue_stats()), cfg.chip.stats_names)


def sums(cfg) -> None:
    """The queues' counters sum up to the interface's."""
    for _ in range(20):     # until no packet came between the two readings
        first = cfg.stats()
        queue = cfg.queue_stats()
        if cfg.stats() == first:
            break
    for name in SUMS:
        direction, _, what = name.partition("_")
        parts = [queue[n] for q in range(cfg.chip.queues)
                 if (n := f"{direction}_queue_{q}_{what}") in queue]
        if parts:
            ksft_eq(sum(parts), first[name], name)
    multicast = sum(queue[f"rx_queue_{q}_mcast_packets"] for q in range(cfg.chip.queues))
    ksft_eq(multicast, first["multicast"], "multicast")


def _settled(cfg, names_: tuple, since: dict, want: int) -> dict:
    """The counters once the first of @names_ has grown by @want."""
    until(lambda: cfg.stats()[names_[0]] >= since[names_[0]] + want, 5, f"{want} {names_[0]}")
    now = cfg.stats()
    return {n: now[n] - since[n] for n in names_}


def received_packets(cfg) -> None:
    """So many frames sent to the port, so many counted; multicasts among them counted as such."""
    count = 50
    unicast = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes(86))
    multicast = eth("01:00:5e:00:00:fb", cfg.remote_mac, ETH_P_TEST, bytes(86))
    before = cfg.stats()
    with cfg.remote_packets() as peer:
        peer.send([unicast, unicast, multicast], count)
    got = _settled(cfg, ("rx_packets", "multicast", "rx_errors"), before, 3 * count)
    ksft_pr(got)
    # Others may talk meanwhile (neighbour discovery): a few more are no fault, fewer are.
    ksft_ge(got["rx_packets"], 3 * count)
    ksft_ge(3 * count + 10, got["rx_packets"])
    ksft_ge(got["multicast"], count)
    ksft_ge(count + 10, got["multicast"])
    ksft_eq(got["rx_errors"], 0)


def received_bytes(cfg) -> None:
    """rx_bytes grows by the frame's length without FCS."""
    size = 1014
    frame = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes(size - 14))
    with cfg.remote_packets() as peer:
        for _ in range(10):     # until no other packet came between
            before = cfg.stats()
            peer.send([frame], 10)
            got = _settled(cfg, ("rx_packets", "rx_bytes"), before, 10)
            if got["rx_packets"] == 10:
                break
    # gbeth counts without the Ethernet header, the others with the two bytes of the checksum.
    wrong = (size - 14) * 10 if cfg.chip.name == "gbeth" else (size + 2) * 10
    verdict(cfg, "B29", got["rx_bytes"], size * 10, wrong, f"rx_bytes of 10 frames of {size}")


def sent(cfg) -> None:
    """So many frames sent, so many packets and bytes counted, and seen by the peer."""
    size, count = 777, 40
    frame = eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, bytes(size - 14))
    with cfg.local_packets() as mine, cfg.remote_packets() as peer:
        for _ in range(10):     # until no other packet went between
            before = cfg.stats()
            mine.send([frame], count)
            seen = peer.capture(lambda f: f[12:14] == frame[12:14], count, 5)
            got = _settled(cfg, ("tx_packets", "tx_bytes", "tx_errors", "tx_dropped"), before,
                           count)
            if got["tx_packets"] == count:
                break
    ksft_eq(len(seen), count, "frames at the peer")
    ksft_eq([len(f) for f in seen if f != frame], [], "frames that changed on their way")
    ksft_eq(got, {"tx_packets": count, "tx_bytes": count * size, "tx_errors": 0, "tx_dropped": 0})


def short_frames_padded(cfg) -> None:
    """Short frames leave padded with zeros, whatever was in memory behind them."""
    with cfg.local_packets() as mine, cfg.remote_packets() as peer:
        frames = [eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, bytes([n]) * n) for n in range(1, 47)]
        mine.send(frames)
        seen = peer.capture(lambda f: f[12:14] == frames[0][12:14], len(frames), 5)
    ksft_eq(len(seen), len(frames))
    ksft_eq([f.hex() for f, want in zip(seen, frames, strict=False) if f != want.ljust(60, b"\0")], [])


def hardware_counters(cfg) -> None:
    """The MAC's own counters are read, added up and cleared."""
    twin = cfg.require_twin()
    if not cfg.chip.tx_dropped_counter:
        raise KsftSkipEx(f"{cfg.chip.name} has no counters in its MAC that the driver reads")
    before = cfg.stats()
    twin.counters(trocr=5, cxr41=7 if cfg.chip.carrier_counters else 0,
                  cxr42=11 if cfg.chip.carrier_counters else 0)
    cfg.stats()
    after = cfg.stats()
    got = [after[n] - before[n] for n in ("tx_dropped", "collisions", "tx_carrier_errors")]
    want = [5, 7, 11] if cfg.chip.carrier_counters else [5, 0, 0]
    ksft_eq(got, want, "tx_dropped, collisions, tx_carrier_errors")


def _groups(cfg) -> dict:
    """What the standard's groups of ethtool -S show."""
    shown = ethtool(f"-S {cfg.ifname} --groups eth-mac eth-phy", json=True)[0]
    return {**shown.get("eth-mac", {}), **shown.get("eth-phy", {})}


def groups(cfg) -> None:
    """ethtool's standard groups show what the MAC counts, also of frames that it drops, and no more."""
    twin = cfg.require_twin()
    before = _groups(cfg)
    if cfg.driver == "c":
        ksft_eq(before, {}, "the C driver has none")
        return
    want = {"FrameCheckSequenceErrors": 3, "SymbolErrorDuringCarrier": 2, "FrameTooLongErrors": 1}
    bad = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes(46))
    for kind, count in zip(("crc", "phy", "long"), want.values(), strict=True):
        for _ in range(count):
            twin.frame(bad, size=500, defect=kind)
    if cfg.chip.tx_dropped_counter:
        want["FramesAbortedDueToXSColls"] = 5
        twin.counters(trocr=5)
    if cfg.chip.carrier_counters:
        want["CarrierSenseErrors"] = 11
        twin.counters(cxr42=11)
    ksft_eq(sorted(before), sorted(want), "names")
    until(lambda: _groups(cfg)["FrameTooLongErrors"] > before["FrameTooLongErrors"], 5, "the last frame is counted")
    after = _groups(cfg)
    ksft_eq({n: after[n] - before[n] for n in want}, want)


@ksft_disruptive
def while_down(cfg) -> None:
    """Down, the last values are still there, and reading them touches no hardware (R59)."""
    defer(until, cfg.link_up, 15, "link")
    defer(cfg.set_link, True)
    cfg.ping(count=5)
    before = cfg.stats()
    groups_before = _groups(cfg)
    cfg.set_link(False)
    # Runtime suspend follows the close by its autosuspend delay.
    status = cfg.device / "power/runtime_status"
    until(lambda: status.read_text().strip() == "suspended", 5, "runtime suspend")
    for _ in range(3):
        down = cfg.stats()
        for name in ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes"):
            ksft_ge(down[name], before[name], f"{name} while down")
        ksft_eq(_groups(cfg), groups_before, "ethtool's groups while down")
    cfg.queue_stats()


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([names, sums, received_packets, received_bytes, sent, short_frames_padded,
                  hardware_counters, groups, while_down], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
