#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Netpoll: netconsole sends with interrupts off, and has to poll where the queue is stopped."""

from pathlib import Path

from lib.py import RavbEnv, ksft_eq, ksft_exit, ksft_ge, ksft_pr, ksft_run
from lib.py import KsftSkipEx, cmd, defer, tc, until
from lib.py.packets import ETH_P_TEST, eth, of_type

TRACING = Path("/sys/kernel/tracing")
TARGET = Path("/sys/kernel/config/netconsole/ravb")
LINE = "ravb: a line for netconsole"
# Long enough for all that a case does before the poll that the core has put off.
PUT_OFF_NS = 2_000_000_000


def _set(path: Path, value) -> None:
    """Writes a file of sysfs, for as long as the case runs."""
    before = path.read_text().strip()
    path.write_text(str(value))
    defer(path.write_text, before)


def _netconsole(cfg) -> None:
    """Kernel messages go to the peer."""
    if cmd("modprobe netconsole", fail=False).ret:
        raise KsftSkipEx("the kernel has no netconsole")
    defer(cmd, "modprobe -r netconsole")
    cmd("mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config", shell=True)
    TARGET.mkdir()
    defer(TARGET.rmdir)
    for name, value in (("dev_name", cfg.ifname), ("local_ip", cfg.addr_v["4"]), ("remote_ip", cfg.remote_addr_v["4"]),
                        ("remote_mac", cfg.remote_mac), ("enabled", "1")):
        (TARGET / name).write_text(value)
    defer((TARGET / "enabled").write_text, "0")


def _count_polls():
    """Counts the polls from now on: a function that returns their number."""
    cmd(f"mountpoint -q {TRACING} || mount -t tracefs tracefs {TRACING}", shell=True)
    events = TRACING / "kprobe_events"
    if not events.exists():
        raise KsftSkipEx("the kernel has no kprobe events")
    events.write_text("p:ravb/polls netpoll_poll_dev")
    defer(events.write_text, "\n")
    enable = TRACING / "events/ravb/polls/enable"
    enable.write_text("1")
    defer(enable.write_text, "0")
    return lambda: next(int(line.split()[1]) for line in (TRACING / "kprobe_profile").read_text().splitlines()
                        if line.split()[0] == "polls")


def _backlog(cfg) -> int:
    """Bytes that wait above the driver."""
    return sum(q.get("backlog", 0) for q in tc(f"-s qdisc show dev {cfg.ifname}", json=True))


def polled(cfg) -> None:
    """Of a stopped queue a poll with a budget of 0 takes back what was sent, and receives nothing."""
    twin = cfg.require_twin()
    _netconsole(cfg)
    polls = _count_polls()
    # The default discipline drops what has waited for long.
    tc(f"qdisc replace dev {cfg.ifname} root pfifo limit 1000")
    defer(tc, f"qdisc del dev {cfg.ifname} root")
    # More than a ring has, and few enough for a socket.
    frames = 100
    out = eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, bytes(200))
    back = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes(86))
    with cfg.local_packets() as mine, cfg.remote_packets() as peer:
        # After a poll that has received something there is none but each PUT_OFF_NS.
        _set(cfg.sysfs / "gro_flush_timeout", PUT_OFF_NS)
        _set(cfg.sysfs / "napi_defer_hard_irqs", 100)
        peer.send([back])
        mine.capture(of_type(ETH_P_TEST, cfg.mac), 1, 5)
        twin.stuck_tx(0, True)
        defer(twin.stuck_tx, 0, False)
        mine.send([out], frames)
        twin.stuck_tx(0, False)
        ksft_ge(_backlog(cfg), 1, "the queue is stopped")
        before = cfg.stats()
        peer.send([back], 5)
        ksft_eq(polls(), 0, "polls before there is anything to say")
        with open("/dev/kmsg", "w", encoding="ascii") as kmsg:
            kmsg.write(f"<4>{LINE}\n")
        until(polls, 1, "a poll")
        after = cfg.stats()
        ksft_pr(f"{polls()} polls")
        ksft_ge(after["tx_packets"], before["tx_packets"] + 1, "packets taken back")
        ksft_eq(after["rx_packets"], before["rx_packets"], "packets received by the polls")
        # Nothing was lost by that.
        (cfg.sysfs / "gro_flush_timeout").write_text("0")
        ksft_eq(len(mine.capture(of_type(ETH_P_TEST, cfg.mac), 5, 10)), 5, "frames received afterwards")
        seen = peer.capture(lambda f: f[12:14] == out[12:14] or LINE.encode() in f, frames + 1, 10)
    ksft_eq(sum(f == out for f in seen), frames, "frames sent")
    ksft_eq(sum(LINE.encode() in f for f in seen), 1, "lines of netconsole")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([polled], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
