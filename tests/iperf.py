#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""iperf3 over TCP and UDP in both directions: data flows, and what is lost is said.

These are checks that it works, with thresholds far below what any set-up reaches; how fast it is is
the benchmarks' business. On an emulated board that runs by the wall clock, the speed is that of the
host: there it is only asked that data flows, and more of it than is lost.
"""

import json

from lib.py import RavbEnv, KsftNamedVariant, ksft_eq, ksft_exit, ksft_ge, ksft_lt, ksft_pr, \
    ksft_run, ksft_variants
from lib.py import KsftFailEx, bkg, cmd, rand_port, wait_port_listen

SECONDS = 1
# So much takes a fifth of a second at line rate; by the clock, an emulated board needs SECONDS for whatever it manages.
TCP_BYTES = "20M"
TCP_MIN_MBPS = 20
UDP_MBPS = 10
UDP_MAX_LOSS = 1.0


def _by_the_host(cfg) -> bool:
    """Whether the board is emulated in real time."""
    return bool(cfg.twin) and not cfg.virtual_time


def _floor(cfg, mbps: float) -> float:
    """What is asked for, in Mbit/s, where a board has to reach @mbps."""
    return 0.01 if _by_the_host(cfg) else mbps


def _stream(cfg) -> str:
    """How much a TCP stream carries, as an option."""
    return f"-t {SECONDS}" if _by_the_host(cfg) else f"-n {TCP_BYTES}"


def _run(cfg, ipver: str, to_port: bool, options: str) -> dict:
    """One iperf3 run, server on the port's side; returns the report's end."""
    tcp_port = rand_port()
    # The far end is the client, so that one listening socket serves both directions.
    with bkg(f"iperf3 -s -1 -p {tcp_port}", exit_wait=True):
        wait_port_listen(tcp_port)
        reverse = "" if to_port else "-R"
        done = cmd(f"iperf3 -c {cfg.addr_v[ipver]} -p {tcp_port} -J {reverse} "
                   f"{options}", host=cfg.remote, fail=False, timeout=SECONDS + 40)
    report = json.loads(done.stdout)
    if "error" in report:
        raise KsftFailEx(f"iperf3: {report['error']}")
    return report["end"]


DIRECTIONS = [KsftNamedVariant(f"v{v}_{d}", v, d == "rx") for v in "46" for d in ("rx", "tx")]


@ksft_variants(DIRECTIONS)
def tcp(cfg, ipver, to_port) -> None:
    """A TCP stream."""
    cfg.require_cmd("iperf3", local=True, remote=True)
    before = cfg.stats()
    end = _run(cfg, ipver, to_port, _stream(cfg))
    after = cfg.stats()
    mbps = end["sum_received"]["bits_per_second"] / 1e6
    again = end["sum_sent"].get("retransmits", 0)
    ksft_pr(f"{mbps:.1f} Mbit/s, {again} retransmits")
    ksft_ge(mbps, _floor(cfg, TCP_MIN_MBPS), "Mbit/s")
    name = "rx_bytes" if to_port else "tx_bytes"
    ksft_ge(after[name] - before[name], end["sum_received"]["bytes"], f"{name} carry the stream")
    for name in ("rx_errors", "tx_errors"):
        ksft_eq(after[name] - before[name], 0, name)


@ksft_variants(DIRECTIONS)
def udp(cfg, ipver, to_port) -> None:
    """Datagrams at a rate that every set-up carries arrive, all but a few."""
    cfg.require_cmd("iperf3", local=True, remote=True)
    rate = 1 if _by_the_host(cfg) else UDP_MBPS
    end = _run(cfg, ipver, to_port, f"-u -b {rate}M -l 1400 -t {SECONDS}")
    got = end["sum_received"] if "sum_received" in end else end["sum"]
    mbps = got["bits_per_second"] / 1e6
    lost = end["sum"]["lost_percent"]
    ksft_pr(f"{mbps:.2f} Mbit/s, {end['sum']['lost_packets']} of {end['sum']['packets']} lost, "
            f"jitter {end['sum']['jitter_ms']:.3f} ms")
    ksft_ge(mbps, _floor(cfg, rate * 0.9), "Mbit/s")
    ksft_lt(lost, 50 if _by_the_host(cfg) else UDP_MAX_LOSS, "% lost")


@ksft_variants([KsftNamedVariant("both_ways", 2)])
def bidirectional(cfg, streams) -> None:
    """Streams in both directions at once all move."""
    cfg.require_cmd("iperf3", local=True, remote=True)
    end = _run(cfg, "4", True, f"--bidir -P {streams} {_stream(cfg)}")
    rates = [s["receiver"]["bits_per_second"] / 1e6 for s in end["streams"]]
    ksft_pr("Mbit/s: " + " ".join(f"{r:.1f}" for r in rates))
    ksft_eq(len(rates), 2 * streams, "streams")
    if _by_the_host(cfg):
        # Where a second is not long enough for each stream.
        rates = [sum(rates[:streams]), sum(rates[streams:])]
    ksft_ge(min(rates), _floor(cfg, 1), "slowest in Mbit/s")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([tcp, udp, bidirectional], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
