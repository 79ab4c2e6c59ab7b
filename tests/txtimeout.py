#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""A transmitter that gets stuck: the watchdog notices, and traffic resumes when it can."""

import socket

from lib.py import RavbEnv, ksft_disruptive, ksft_eq, ksft_exit, ksft_ge, ksft_pr, ksft_run, ksft_true
from lib.py import bkg, cmd, defer, fatal, ip, until, verdict
from lib.py import ptp
from lib.py.events import KernelLog
from lib.py.packets import ETH_P_TEST, eth
from rings import restore_later, sizes

RING = 64
WATCHDOG = 30   # seconds: the core's five, twice, and a slow machine


def _fill(cfg) -> None:
    """More frames than the TX ring holds, so that the queue stops, and more behind it."""
    frame = eth(cfg.remote_mac, cfg.mac, ETH_P_TEST, bytes(100))
    with cfg.local_packets() as sock:
        sock.sock.setblocking(False)
        sent = 0
        try:
            while sent < 3 * RING:
                sock.sock.send(frame, socket.MSG_DONTWAIT)
                sent += 1
        except OSError:     # the qdisc or the socket's buffer is full as well
            pass
        ksft_ge(sent, RING, "frames until nothing more was taken")


def stick(cfg, twin, receiving: bool = False) -> None:
    """The engine gets stuck with a full ring, until the driver says that it noticed."""
    errors = cfg.stats()["tx_errors"]
    with KernelLog() as log:
        twin.stuck_tx(0, True)
        _fill(cfg)
        line = log.find("transmit timed out", WATCHDOG)
    if receiving:
        verdict(cfg, "T5", line, bool, None, "noticed while frames arrive")
    ksft_true(line, f"a timeout of the transmitter within {WATCHDOG} s")
    ksft_pr(line)
    until(lambda: cfg.stats()["tx_errors"] > errors, 5, "the timeout is counted in tx_errors")


@ksft_disruptive
def stuck_engine(cfg) -> None:
    """The DMA engine stops fetching for long: timeouts are counted, then traffic resumes."""
    twin = cfg.require_twin()
    before = cfg.stats()["tx_errors"]
    defer(twin.stuck_tx, 0, False)
    stick(cfg, twin)
    # Stuck until the recovery, which waits for the engine for 100 ms, has given up: it says nothing
    # then that could be waited for.
    cmd("sleep 1")
    twin.stuck_tx(0, False)
    cfg.resume(WATCHDOG)
    ksft_pr(f"{cfg.stats()['tx_errors'] - before} timeouts counted")


@ksft_disruptive
def freed_during_recovery(cfg) -> None:
    """The engine comes back while the driver is at its recovery, and there is traffic to send."""
    twin = cfg.require_twin()
    fatal(cfg, "B9")
    defer(twin.stuck_tx, 0, False)
    with bkg(f"ping -q -n -i 0.001 -W 1 {cfg.remote_addr_v['4']}"):
        stick(cfg, twin)
        twin.stuck_tx(0, False)
        cfg.resume(WATCHDOG)


@ksft_disruptive
def noticed_while_receiving(cfg) -> None:
    """Frames that keep arriving do not hide that the transmitter is stuck, and go on arriving."""
    twin = cfg.require_twin()
    defer(twin.stuck_tx, 0, False)
    with bkg(f"ping -q -n -i 0.01 -W 1 {cfg.addr_v['4']}", host=cfg.remote):
        received = cfg.stats()["rx_packets"]
        stick(cfg, twin, receiving=True)
        ksft_ge(cfg.stats()["rx_packets"] - received, 100, "packets received meanwhile")
    twin.stuck_tx(0, False)
    cfg.resume(WATCHDOG)


@ksft_disruptive
def others_go_on(cfg) -> None:
    """One queue is stuck: the other queue and the clock do not notice its recovery."""
    cfg.require_stamps()
    twin = cfg.require_twin()
    fatal(cfg, "B9")    # which stops the other queue and the clock as well, where it does not kill
    defer(ptp.hwtstamp_set, cfg.ifname, *ptp.hwtstamp_get(cfg.ifname))
    ptp.hwtstamp_set(cfg.ifname, ptp.TX_ON, ptp.FILTER_NONE)
    # Questions for the peer's address would wait in the queue that is stuck.
    peer = f"{cfg.remote_addr_v['4']} lladdr {cfg.remote_mac} dev {cfg.ifname}"
    defer(ip, f"neigh replace {peer} nud reachable")
    ip(f"neigh replace {peer} nud permanent")
    defer(twin.stuck_tx, 0, False)
    with ptp.open_phc(cfg) as clock, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, ptp.SO_TIMESTAMPING,
                        ptp.SOF_TX_HARDWARE | ptp.SOF_RAW_HARDWARE)
        before = clock.sample()
        stick(cfg, twin)
        # Sent after the timeout, while queue 0 is stuck or being restarted.
        start = clock.now()
        sock.sendto(b"stamp me", (cfg.remote_addr_v["4"], 9))
        stamp = ptp.tx_stamp(sock, 2)[1]
        after = clock.sample()
        ksft_true(start < stamp < after[1], f"stamp {stamp} of the other queue after {start}")
        apart = (after[1] - before[1]) - (after[0] - before[0])
        ksft_true(abs(apart) < after[2] + before[2] + (after[0] - before[0]) // 100_000,
                  f"the clock moved by {apart} ns")
    twin.stuck_tx(0, False)
    cfg.resume(WATCHDOG)


@ksft_disruptive
def restart_refused(cfg) -> None:
    """The stuck queue cannot even be restarted by itself: everything is started anew."""
    twin = cfg.require_twin()
    fatal(cfg, "B9")
    defer(twin.stuck_tx, 0, False)
    defer(twin.stuck_dlr, False)
    twin.stuck_dlr(True)
    with KernelLog() as log:
        stick(cfg, twin)
        if cfg.driver == "rs":
            line = log.find("starting all queues anew", WATCHDOG)
            ksft_true(line, "the driver has noticed that the restart does not help")
            ksft_pr(line)
        twin.stuck_tx(0, False)
        # With the fault in force: nothing but the first attempt depends on it.
        cfg.resume(WATCHDOG)


@ksft_disruptive
def resized_while_stuck(cfg) -> None:
    """The MAC does not start again after a ring resize: what is shown is what is there, and it recovers by itself."""
    twin = cfg.require_twin()
    fatal(cfg, "B9")
    before = sizes(cfg)
    restore_later(cfg)
    defer(twin.stuck_mode, False)
    twin.stuck_mode(True)
    done = cmd(f"ethtool -G {cfg.ifname} rx 512 tx 128", fail=False)
    twin.stuck_mode(False)
    ksft_pr(f"status {done.ret} {done.stderr.strip()}")
    ksft_eq(sizes(cfg), before if done.ret else {**before, "rx": 512, "tx": 128}, "sizes")
    # Nobody takes it down and up: the watchdog has to find it.
    cfg.resume(WATCHDOG)


@ksft_disruptive
def down_while_stuck(cfg) -> None:
    """A stuck port can be taken down, and works when brought up after the cause is gone."""
    twin = cfg.require_twin()
    defer(until, cfg.link_up, 15, "link")
    defer(cfg.set_link, True)
    defer(twin.stuck_tx, 0, False)
    twin.stuck_tx(0, True)
    _fill(cfg)
    cfg.set_link(False)
    twin.stuck_tx(0, False)
    cfg.set_link(True)
    until(cfg.link_up, 15, "link")
    cfg.resume()


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([stuck_engine, freed_during_recovery, noticed_while_receiving, others_go_on,
                  restart_refused, resized_while_stuck, down_while_stuck], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
