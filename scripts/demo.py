#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest, for one half of a table: demo.py traffic|knobs.

traffic  both ways, with a real far end and by the wall clock: it says that it works, not how fast the hardware is.
knobs    what each setting does to interrupts and to the CPU, in virtual time, with a second port as the far end.
"""

import json
import os
import re
import subprocess
import sys
import time
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
    print(f"{what:<52} {result}", flush=True)


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
    """The report's end. A server that is not done with the test before says that it is busy."""
    until = time.monotonic() + 10
    while True:
        done = subprocess.run(["iperf3", "-J", "-c", REMOTE, *options], capture_output=True, text=True, check=False)
        try:
            report = json.loads(done.stdout)
            error = report.get("error", "")
        except ValueError:
            error = done.stderr.strip() or f"exit status {done.returncode}"
        if not error:
            return report["end"]
        if "busy" not in error or time.monotonic() > until:
            raise RuntimeError(f"iperf3 {' '.join(options)}: {error}")
        time.sleep(0.1)


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


def ticks() -> tuple[int, int]:
    """(idle, all) of the CPUs, in hundredths of a second."""
    words = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return words[3] + words[4], sum(words[:8])


def received_with(what: str) -> None:
    """A row on a stream that leaves the CPU some room."""
    irqs, frames, (idle, total) = interrupts(), received(), ticks()
    rate = iperf("-R", "-t", "1", "-b", "400M")["sum_received"]["bits_per_second"] / 1e6
    irqs, frames = interrupts() - irqs, received() - frames
    idle, total = (now - then for now, then in zip(ticks(), (idle, total), strict=True))
    row(f"TCP in, {what}", f"{rate:7.1f} Mbit/s, {1000 * irqs / max(frames, 1):6.1f} interrupts per 1000 frames, "
                           f"{100 * idle / max(total, 1):3.0f} % idle")


def core(threaded: int, flush_us: int, defer: int) -> None:
    """A row on the core's knobs in sysfs."""
    set_knobs({"threaded": str(threaded), "gro_flush_timeout": str(1000 * flush_us),
               "napi_defer_hard_irqs": str(defer)})
    received_with(f"NAPI in {'a thread' if threaded else 'softirqs'}, " +
                  (f"gro_flush_timeout {flush_us} us" if defer else "no coalescing"))


def coalesce(usecs: int) -> None:
    """A row on `ethtool -C`; a driver without it is reported as such, in ethtool's words."""
    words = f"ethtool -C rx-usecs {usecs} tx-usecs {usecs}"
    done = subprocess.run([*words.replace("-C", f"-C {NETIF}").split()], capture_output=True, text=True, check=False)
    if done.returncode:
        row(f"TCP in, rx/tx-usecs {usecs}", f"not in this driver ({done.stderr.strip().splitlines()[-1]})")
    else:
        received_with(f"NAPI in softirqs, rx/tx-usecs {usecs}")


def knobs_table() -> None:
    run("remote", "iperf3", "-s", "-D")
    before = knobs()
    row("knobs, in virtual time: the defaults are", ", ".join(f"{name} {value}" for name, value in before.items()))
    for threaded, flush_us, defer in ((0, 0, 0), (0, 20, 1), (1, 0, 0), (1, 20, 1)):
        core(threaded, flush_us, defer)
    set_knobs({"threaded": "0", "gro_flush_timeout": "0", "napi_defer_hard_irqs": "0"})
    coalesce(150)
    set_knobs(before)


def traffic_table() -> None:
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
    row("UDP in", udp(2, "-R"))

if __name__ == "__main__":
    try:
        {"traffic": traffic_table, "knobs": knobs_table}[sys.argv[1]]()
    except RuntimeError as error:
        sys.exit(f"demo: {error}")
