#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: traffic both ways and the knobs of the port, as one table.

Wall-clock figures under emulation say that it works, not how fast the hardware is; `make bench` has
the figures in virtual time.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

NETIF = os.environ["NETIF"]
REMOTE = os.environ["REMOTE_V4"]
SYSFS = Path("/sys/class/net") / NETIF
KNOBS = ("threaded", "gro_flush_timeout", "napi_defer_hard_irqs")


def run(*command: str) -> str:
    """The command's output; its own words are the error when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr + done.stdout).strip()
        raise RuntimeError(f"{' '.join(command)}: {words or f'exit status {done.returncode}'}")
    return done.stdout


def row(what: str, result: str) -> None:
    print(f"{what:<44} {result}", flush=True)


def interrupts() -> int:
    """Interrupts of the port's lines on all CPUs."""
    device = Path(SYSFS / "device").resolve().name
    total = 0
    for line in Path("/proc/interrupts").read_text().splitlines():
        if device in line:
            counts = line.split(":", 1)[1].split()
            total += sum(int(n) for n in counts[: os.cpu_count()])
    return total


def received() -> int:
    return int((SYSFS / "statistics/rx_packets").read_text())


def iperf(*options: str) -> dict:
    report = json.loads(run("iperf3", "-J", "-c", REMOTE, *options))
    if "error" in report:
        raise RuntimeError(f"iperf3 {' '.join(options)}: {report['error']}")
    return report["end"]


def tcp(seconds: int, *options: str) -> str:
    end = iperf("-t", str(seconds), *options)
    return (
        f"{end['sum_received']['bits_per_second'] / 1e6:7.1f} Mbit/s, "
        f"{end['sum_sent'].get('retransmits', 0)} retransmits"
    )


def udp(seconds: int, *options: str) -> str:
    end = iperf("-u", "-b", "0", "-l", "1472", "-t", str(seconds), *options)
    total = end["sum_received"]
    # What came after the last datagram that arrived is in nobody's count of losses.
    share = 100 * total["packets"] / max(end["sum_sent"]["packets"], 1)
    lost = total["lost_packets"] / max(total["packets"], 1)
    return f"{total['bits_per_second'] / 1e6:7.1f} Mbit/s received, {share * (1 - lost):.0f} % of what was sent"


def knobs() -> dict[str, str]:
    return {name: (SYSFS / name).read_text().strip() for name in KNOBS}


def set_knobs(values: dict[str, str]) -> None:
    for name, value in values.items():
        (SYSFS / name).write_text(value)
    now = knobs()
    for name, value in values.items():
        if now[name] != value:
            raise RuntimeError(f"{name} reads {now[name]} after {value} was written")


def receive_with(values: dict[str, str]) -> None:
    set_knobs(values)
    irqs, frames = interrupts(), received()
    result = udp(1, "-R")
    irqs, frames = interrupts() - irqs, received() - frames
    napi = "in a thread" if values["threaded"] == "1" else "in softirqs"
    coalescing = f"{int(values['gro_flush_timeout']) // 1000} us" if values["napi_defer_hard_irqs"] != "0" else "off"
    rate = f"{1000 * irqs / max(frames, 1):.0f} interrupts per 1000 frames"
    row(f"UDP in, NAPI {napi}, coalescing {coalescing}", f"{result}, {rate}")


def coalesce() -> str:
    """What `ethtool -C` does here; a driver without it is reported as such, in ethtool's words."""
    show = subprocess.run(["ethtool", "-c", NETIF], capture_output=True, text=True, check=False)
    if show.returncode:
        return f"not in this driver ({show.stderr.strip().splitlines()[-1]})"
    run("ethtool", "-C", NETIF, "rx-usecs", "100")
    shown = re.search(r"^rx-usecs:\s*(\S+)", run("ethtool", "-c", NETIF), re.MULTILINE)
    return f"rx-usecs {shown.group(1) if shown else '?'} after 100 was set"


def main() -> None:
    driver = dict(
        line.split(": ", 1) for line in run("ethtool", "-i", NETIF).splitlines() if ": " in line
    )
    row(f"driver {driver['driver']}, {os.environ['CHIP']}, {os.cpu_count()} CPU", os.uname().release)
    # As lsmod shows it: name, octets, users.
    modules = [line.split()[:3] for line in Path("/proc/modules").read_text().splitlines()]
    row("lsmod", ", ".join(" ".join(words) for words in modules if words[0].startswith("ravb")) or "built in")
    row("ethtool -i", ", ".join(f"{key} {driver[key]}" for key in ("driver", "version", "bus-info")))
    settings = run("ethtool", NETIF)
    speed = re.search(r"Speed: (\S+)", settings).group(1)
    duplex = re.search(r"Duplex: (\S+)", settings).group(1)
    row("link", f"{speed} {duplex}")
    pings = run("ping", "-c", "5", "-i", "0.05", REMOTE)
    row("ping", re.search(r"(\d+) received", pings).group(0) + ", rtt " +
        re.search(r"= [\d.]+/([\d.]+)/", pings).group(1) + " ms")
    row("TCP out", tcp(2))
    row("TCP in", tcp(2, "-R"))
    row("UDP out", udp(2))
    row("UDP in, the driver's defaults", udp(2, "-R"))
    before = knobs()
    receive_with({"threaded": "0", "gro_flush_timeout": "0", "napi_defer_hard_irqs": "0"})
    receive_with({"threaded": "0", "gro_flush_timeout": "20000", "napi_defer_hard_irqs": "1"})
    receive_with({"threaded": "1", "gro_flush_timeout": "0", "napi_defer_hard_irqs": "0"})
    receive_with({"threaded": "1", "gro_flush_timeout": "20000", "napi_defer_hard_irqs": "1"})
    set_knobs(before)
    row("ethtool -C", coalesce())
    print("\nBy this host's wall clock, which other programs share. Figures to compare: make bench.")


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(f"demo: {error}")
