#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""The PTP hardware clock: read, set, step, slew, external timestamps, periodic output."""

import errno
import time

from lib.py import RavbEnv, ksft_disruptive, ksft_eq, ksft_exit, ksft_ge, ksft_lt, ksft_pr, \
    ksft_run, ksft_true
from lib.py import KsftSkipEx, cmd, defer, ethtool, until, verdict
from lib.py import ptp
from lib.py.ptp import NS


STEPS = 10_000


def _rate(clock, seconds: float) -> tuple:
    """(ppm that the clock runs fast against the raw monotonic clock, uncertainty in ppm)."""
    a = clock.sample()
    time.sleep(seconds)
    b = clock.sample()
    mono, phc = b[0] - a[0], b[1] - a[1]
    return (phc - mono) / mono * 1e6, (a[2] + b[2]) / 2 / mono * 1e6


def capabilities(cfg) -> None:
    """One external timestamp input, one periodic output, 5 % of adjustment."""
    cfg.require_stamps()
    with ptp.open_phc(cfg) as clock:
        caps = clock.caps()
    ksft_eq(caps["n_ext_ts"], 1, "external timestamp inputs")
    ksft_eq(caps["n_per_out"], 1, "periodic outputs")
    ksft_ge(caps["max_adj"], 1_000_000, "adjustment in ppb")


def runs(cfg) -> None:
    """Without adjustment the clock runs at the rate of time."""
    cfg.require_stamps()
    with ptp.open_phc(cfg) as clock:
        ppm, unsure = _rate(clock, 0.5)
    ksft_pr(f"{ppm:+.1f} ppm (+-{unsure:.1f}) against CLOCK_MONOTONIC_RAW")
    ksft_lt(abs(ppm), 5 + unsure, "rate error in ppm")


def monotonic(cfg) -> None:
    """Readings never go back, also across the second."""
    cfg.require_stamps()
    with ptp.open_phc(cfg) as clock:
        clock.set(100 * NS - NS // 100)
        last, end = 0, clock.now() + NS // 50
        readings = 0
        while last < end:
            now = clock.now()
            ksft_ge(now, last, "clock went back")
            if now < last:
                break
            last, readings = now, readings + 1
    ksft_pr(f"{readings} readings over a second's edge")
    ksft_ge(readings, 10)


def settime(cfg) -> None:
    """What is set is read back, beyond 32 bits of seconds too."""
    cfg.require_stamps()
    with ptp.open_phc(cfg) as clock:
        for value in (5 * NS, 1_800_000_000 * NS + 999_999_999, 5_000_000_000 * NS + 1, 7 * NS):
            before = time.monotonic_ns()
            clock.set(value)
            error = clock.now() - value
            took = time.monotonic_ns() - before
            ksft_true(0 <= error <= took, f"set {value}, read {error} ns later within {took} ns")


def settime_keeps_time(cfg) -> None:
    """What is set counts from a moment within the call, to the tick."""
    cfg.require_stamps()
    tick, raw = cfg.chip.tick_ns, time.CLOCK_MONOTONIC_RAW
    worst = 0
    with ptp.open_phc(cfg) as clock:
        for n in range(STEPS):
            value = (1 + n % 1000) * NS
            start = time.clock_gettime_ns(raw)
            clock.set(value)
            passed = clock.now() - value
            # From some moment of the setting to some moment of the reading.
            worst = max(worst, -passed, passed - (time.clock_gettime_ns(raw) - start))
    ksft_pr(f"{STEPS} times set and read: at most {worst} ns outside the calls (tick: {tick} ns)")
    ksft_lt(worst, tick + 1, "ns gained or lost")


def step_keeps_time(cfg) -> None:
    """Stepping by an offset keeps the time that passes meanwhile, to the tick."""
    cfg.require_stamps()
    with ptp.open_phc(cfg) as clock:
        clock.set(1000 * NS)
        a = clock.sample()
        for n in range(STEPS):
            clock.step(NS if n % 2 == 0 else -NS)
            clock.now()
        b = clock.sample()
    lost = (b[0] - a[0]) - (b[1] - a[1])
    unsure = (a[2] + b[2]) / 2
    limit = cfg.chip.tick_ns * STEPS + unsure
    ksft_pr(f"{lost} ns lost by {STEPS} steps and readings (+-{unsure:.0f}), "
            f"{lost / STEPS:.2f} ns by each (tick: {cfg.chip.tick_ns} ns)")
    verdict(cfg, "B21", lost, lambda ns: abs(ns) <= limit,
            lambda ns: limit < ns < STEPS * 1_000_000, f"ns lost by {STEPS} steps")


def step(cfg) -> None:
    """A step moves the clock by its offset, forwards and backwards."""
    cfg.require_stamps()
    with ptp.open_phc(cfg) as clock:
        clock.set(1000 * NS)
        for offset in (3 * NS, -2 * NS, 250_000_000, -1):
            a = clock.sample()
            clock.step(offset)
            b = clock.sample()
            moved = (b[1] - a[1]) - (b[0] - a[0])
            ksft_lt(abs(moved - offset), 2_000_000, f"step by {offset} ns moved it by {moved} ns")


def slew(cfg) -> None:
    """A frequency adjustment changes the rate by what was asked."""
    cfg.require_stamps()
    with ptp.open_phc(cfg) as clock:
        defer(_slew_back, cfg)
        base, _ = _rate(clock, 0.2)
        for ppb in (5_000_000, -5_000_000, 100_000, 0):
            clock.slew(ppb)
            ppm, unsure = _rate(clock, 0.5)
            ksft_pr(f"asked {ppb / 1000:+.1f} ppm, got {ppm - base:+.1f} ppm (+-{unsure:.1f})")
            ksft_lt(abs(ppm - base - ppb / 1000), 5 + 2 * unsure, "rate error in ppm")


def _slew_back(cfg) -> None:
    with ptp.open_phc(cfg) as clock:
        clock.slew(0)


def external_timestamp(cfg) -> None:
    """An edge at the capture input makes one event with the clock's time."""
    cfg.require_stamps()
    twin = cfg.require_twin()
    with ptp.open_phc(cfg) as clock:
        clock.set(10 * NS)      # later than 32 bits of nanoseconds can say
        clock.extts(True)
        defer(_extts_off, cfg)
        start = clock.now()
        twin.capture_edge()
        event = clock.event(5)
        end = clock.now()
        clock.extts(False)
        twin.capture_edge()
        try:
            clock.event(0.2)
            ksft_true(False, "an event after it was switched off")
        except TimeoutError:
            pass
    # The fault loses the upper bits and keeps the lower ones.
    low = range(start & 0xffffffff, (end & 0xffffffff) + 1)
    verdict(cfg, "B19", event, lambda e: start < e < end, lambda e: e in low,
            f"event between {start} and {end}")


def _extts_off(cfg) -> None:
    with ptp.open_phc(cfg) as clock:
        clock.extts(False)


def periodic_output(cfg) -> None:
    """A periodic output ticks: one interrupt a period, while it is on."""
    cfg.require_stamps()
    period = 10_000_000
    with ptp.open_phc(cfg) as clock:
        clock.set(NS)
        defer(_perout_off, cfg)
        before = sum(cfg.irq_counts().values())
        clock.perout(NS + 200_000_000, period)
        until(lambda: clock.now() > NS + 500_000_000, 5, "half a second of the clock", step=0.05)
        on = sum(cfg.irq_counts().values()) - before
        clock.perout(0, 0)
        before = sum(cfg.irq_counts().values())
        time.sleep(0.3)
        off = sum(cfg.irq_counts().values()) - before
    ksft_pr(f"{on} interrupts while on (30 periods), {off} after")
    ksft_ge(on - off, 25, "interrupts of 30 periods")


def _perout_off(cfg) -> None:
    with ptp.open_phc(cfg) as clock:
        clock.perout(0, 0)


def periodic_output_late_start(cfg) -> None:
    """A periodic output can start at any time of the clock."""
    cfg.require_stamps()
    with ptp.open_phc(cfg) as clock:
        clock.set(100 * NS)
        defer(_perout_off, cfg)
        try:
            clock.perout(101 * NS, NS)
            got = 0
        except OSError as e:
            got = e.errno
    verdict(cfg, "B20", got, 0, errno.ERANGE, "answer to a start at 101 s")


@ksft_disruptive
def down(cfg) -> None:
    """The clock is there, and goes on, while the interface is down."""
    cfg.require_stamps()

    def restore():
        cfg.set_link(True)
        until(cfg.link_up, 15, "link")

    defer(restore)
    cfg.set_link(False)
    verdict(cfg, "PHC", ptp.phc_index(cfg) >= 0, True, False, "clock present while down")


@ksft_disruptive
def external_timestamp_down(cfg) -> None:
    """Where the clock can run without the interface, its input works without it."""
    cfg.require_stamps()
    twin = cfg.require_twin()
    if cfg.chip.name not in ("gen3", "gen4"):
        raise KsftSkipEx(f"the timer of {cfg.chip.name} stands while the interface is down")

    def restore():
        cfg.set_link(True)
        until(cfg.link_up, 15, "link")

    defer(restore)
    cfg.set_link(False)
    if ptp.phc_index(cfg) >= 0:
        defer(_extts_off, cfg)
        with ptp.open_phc(cfg) as clock:
            clock.set(20 * NS)
            clock.extts(True)
            # Longer than it takes until the port sleeps.
            time.sleep(0.5)
            start = clock.now()
            twin.capture_edge()
            event = clock.event(5)
            seen = start < event < clock.now()
    else:
        seen = False
    verdict(cfg, "PHC", seen, True, False, "event while down, at its time")


@ksft_disruptive
def ring_change(cfg) -> None:
    """The clock's user keeps its clock over a change of the ring sizes."""
    cfg.require_stamps()
    defer(ethtool, f"-G {cfg.ifname} rx 1024")
    with ptp.open_phc(cfg) as clock:
        clock.set(50 * NS)
        ethtool(f"-G {cfg.ifname} rx 512")
        try:
            alive = clock.now() >= 50 * NS
        except OSError:
            alive = False
    verdict(cfg, "B5.2", alive, True, False, "clock usable after ethtool -G")


@ksft_disruptive
def survives_down_up(cfg) -> None:
    """After down and up there is one clock, and it runs."""
    cfg.require_stamps()
    cfg.set_link(False)
    cfg.set_link(True)
    until(cfg.link_up, 15, "link")
    with ptp.open_phc(cfg) as clock:
        a = clock.now()
        ksft_true(clock.now() > a, "the clock stands still")
    found = cmd(f"bash -c 'ls -d {cfg.device}/ptp/ptp* | wc -l'", shell=True).stdout.strip()
    ksft_eq(found, "1", "clocks of the port")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([capabilities, runs, monotonic, settime, settime_keeps_time, step, step_keeps_time,
                  slew, external_timestamp, periodic_output, periodic_output_late_start, down,
                  external_timestamp_down, ring_change, survives_down_up], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
