# SPDX-License-Identifier: GPL-2.0

"""What each of the five variants is expected to show to its user."""

import os
from dataclasses import dataclass
from pathlib import Path

# Per-queue private statistics, in the order in which they are published.
_QUEUE_STATS = ("rx_queue_{q}_current", "tx_queue_{q}_current", "rx_queue_{q}_dirty",
                "tx_queue_{q}_dirty", "rx_queue_{q}_packets", "tx_queue_{q}_packets",
                "rx_queue_{q}_bytes", "tx_queue_{q}_bytes", "rx_queue_{q}_mcast_packets",
                "rx_queue_{q}_errors", "rx_queue_{q}_crc_errors", "rx_queue_{q}_frame_errors",
                "rx_queue_{q}_length_errors", "rx_queue_{q}_missed_errors",
                "rx_queue_{q}_over_errors")


@dataclass(frozen=True)
class Chip:
    """One variant. No field has a default: a new variant states every one."""

    name: str
    compatible: str         # the family string that the driver matches
    queues: int             # best effort, and network control where there is one
    max_mtu: int
    tx_desc_per_packet: int
    tx_csum: bool           # the transmitter can insert checksums
    hw_stamps: bool         # hardware timestamps and a PTP clock
    tick_ns: float          # of the PTP clock, on the SoCs with the slowest clock for it; 0: none
    phc_needs_up: bool      # the clock exists only while the interface is up
    low_speeds: bool        # 10 Mbit/s and half duplex
    wol: bool               # wakes on a magic packet
    tx_dropped_counter: bool
    carrier_counters: bool
    soft_coalescing: bool   # the driver asks for software interrupt coalescing
    irqs: tuple             # suffixes in /proc/interrupts; "" is the only line

    @property
    def stats_names(self) -> list:
        names = [n.format(q=q) for q in range(self.queues) for n in _QUEUE_STATS]
        if self.name == "gbeth":
            names[names.index("rx_queue_0_missed_errors")] = "rx_queue_0_csum_offload_errors"
        return names


_RCAR_IRQS = (":ch22:multi", ":ch24:emac", ":ch0:rx_be", ":ch1:rx_nc", ":ch18:tx_be",
              ":ch19:tx_nc")

CHIPS = {c.name: c for c in (
    Chip(name="gen2", compatible="renesas,etheravb-rcar-gen2", queues=2, max_mtu=2026,
         tx_desc_per_packet=2, tx_csum=False, hw_stamps=True, tick_ns=7.7, phc_needs_up=True,
         low_speeds=False, wol=True, tx_dropped_counter=False, carrier_counters=False,
         soft_coalescing=False, irqs=("",)),
    Chip(name="gen3", compatible="renesas,etheravb-rcar-gen3", queues=2, max_mtu=2026,
         tx_desc_per_packet=1, tx_csum=False, hw_stamps=True, tick_ns=7.5, phc_needs_up=True,
         low_speeds=False, wol=True, tx_dropped_counter=True, carrier_counters=False,
         soft_coalescing=False, irqs=_RCAR_IRQS),
    Chip(name="gen4", compatible="renesas,etheravb-rcar-gen4", queues=2, max_mtu=2026,
         tx_desc_per_packet=1, tx_csum=False, hw_stamps=True, tick_ns=5, phc_needs_up=True,
         low_speeds=False, wol=True, tx_dropped_counter=True, carrier_counters=False,
         soft_coalescing=False, irqs=_RCAR_IRQS),
    Chip(name="rzv2m", compatible="renesas,etheravb-rzv2m", queues=2, max_mtu=2026,
         tx_desc_per_packet=1, tx_csum=False, hw_stamps=True, tick_ns=10, phc_needs_up=True,
         low_speeds=False, wol=True, tx_dropped_counter=False, carrier_counters=False,
         soft_coalescing=False, irqs=(*_RCAR_IRQS, ":err_a", ":mgmt_a")),
    Chip(name="gbeth", compatible="renesas,rzg2l-gbeth", queues=1, max_mtu=1500,
         tx_desc_per_packet=2, tx_csum=True, hw_stamps=False, tick_ns=0, phc_needs_up=False,
         low_speeds=True, wol=False, tx_dropped_counter=True, carrier_counters=True,
         soft_coalescing=True, irqs=("",)),
    # No MAC of the family: the CPU port of a switch, which our second driver serves.
    Chip(name="inject", compatible="linux,lan966x-cpu-port", queues=1, max_mtu=1500,
         tx_desc_per_packet=1, tx_csum=False, hw_stamps=False, tick_ns=0, phc_needs_up=False,
         low_speeds=False, wol=False, tx_dropped_counter=True, carrier_counters=False,
         soft_coalescing=False, irqs=("",)),
)}


def compatibles_of(ifname: str) -> list:
    """The compatible strings of the port's device tree node."""
    node = Path(f"/sys/class/net/{ifname}/device/of_node/compatible")
    if not node.exists():
        return []
    return [s.decode() for s in node.read_bytes().split(b"\0") if s]


def chip_of(ifname: str) -> Chip:
    """The variant that the port's device tree node stands for."""
    found = compatibles_of(ifname)
    for chip in CHIPS.values():
        if chip.compatible in found:
            return chip
    raise RuntimeError(f"{ifname} is no port of this family: compatible {found or 'unknown'}")


def driver_of(ifname: str) -> str:
    """"c" for the C driver, "rs" for the Rust one."""
    link = Path(f"/sys/class/net/{ifname}/device/driver")
    if link.exists():
        name = link.resolve().name
        return {"ravb": "c", "ravb_rs": "rs", "ravb-rs": "rs", "lan966x_cpu_port": "rs"}.get(name, name)
    return os.environ.get("DRIVER", "unknown")
