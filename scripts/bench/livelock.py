# SPDX-License-Identifier: GPL-2.0
"""Runs in the guest: a UDP flood at line rate under each receive policy, in virtual time.

Prints one JSON object a flood. The receiver and the request for the flood are one C program
(udpsink), so that nothing else runs while it is measured.
"""

import json
import os
import subprocess
from pathlib import Path

from quiet import idle_ns, settle

NETIF = os.environ["NETIF"]
REMOTE = os.environ["REMOTE_V4"]
SYSFS = Path("/sys/class/net") / NETIF
MS = int(os.environ.get("BENCH_MS", "200"))
REPEAT = int(os.environ.get("BENCH_REPEAT", "3"))
PAYLOAD = 1472
PORT = 5001

# threaded, gro_flush_timeout in ns, napi_defer_hard_irqs: the sysfs files of NAPI in Linux.
# The coalescing values are those that netdev_sw_irq_coalesce_default_on() sets.
POLICIES = {
    "off": ("0", "0", "0"),
    "coalesce": ("0", "20000", "1"),
    "threaded": ("1", "0", "0"),
    "both": ("1", "20000", "1"),
}


def set_policy(threaded: str, timeout: str, defer: str) -> None:
    (SYSFS / "threaded").write_text(threaded)
    (SYSFS / "gro_flush_timeout").write_text(timeout)
    (SYSFS / "napi_defer_hard_irqs").write_text(defer)


def interrupts() -> int:
    device = (SYSFS / "device").resolve().name
    cpus = os.cpu_count() or 1
    return sum(
        int(n)
        for line in Path("/proc/interrupts").read_text().splitlines()
        if device in line
        for n in line.split(":", 1)[1].split()[:cpus]
    )


def flood() -> dict[str, float]:
    irqs = interrupts()
    idle = idle_ns()
    request = f"flood line {PAYLOAD} {MS}ms {PORT}"
    line = subprocess.run(
        ["udpsink", "-r", REMOTE, request, str(PORT), str(MS)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    result = {key: float(value) for key, value in (f.split("=") for f in line.split())}
    return {
        "datagrams": result["datagrams"],
        "mbit": result["datagrams"] * PAYLOAD * 8 / (MS / 1000) / 1e6,
        "interrupts": interrupts() - irqs,
        "idle_ns": idle_ns() - idle,
    }


def main() -> None:
    for policy, values in POLICIES.items():
        set_policy(*values)
        settle()
        for _ in range(REPEAT):
            print(json.dumps({"policy": policy, **flood()}), flush=True)
            settle()


main()
