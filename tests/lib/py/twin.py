# SPDX-License-Identifier: GPL-2.0

"""Orders to the twin: faults and traffic that a test needs of the device or of the wire.

The guest command twinctl gives them; `twinctl help` is their grammar.
"""

import shutil
from pathlib import Path

from net.lib.py import cmd

from .events import until


def pattern(count: int, start: int = 0) -> bytes:
    """What the twin fills frames with, from offset @start of the filling."""
    return bytes((start + i) % 251 for i in range(count))


def flood_payload(number: int, count: int) -> bytes:
    """The payload of frame @number of a flood."""
    data = pattern(count)
    return number.to_bytes(8, "big") + data[8:] if count >= 8 else data


class Twin:
    """The twin behind a port."""

    def __init__(self, device: Path):
        self.device = device

    @classmethod
    def find(cls, device: Path):
        """The twin of @device (sysfs), or None when this is a board."""
        if not shutil.which("twinctl"):
            return None
        return cls(device)

    def order(self, words: str) -> str:
        """Gives an order to this port's device; returns the answer."""
        return cmd(f"twinctl -d {self.device.name} {words}").stdout

    # Cable

    def unplug(self) -> None:
        self.order("unplug")

    def plug(self) -> None:
        self.order("plug")

    def renegotiate(self, mbps: int) -> None:
        """The other end negotiates again and offers no more than @mbps."""
        self.order(f"renegotiate speed={mbps}")

    # Traffic to the port

    def frame(self, frame: bytes, size: int = 0, defect: str = "", delay_ms: int = 0) -> bytes:
        """One frame, filled up by pattern() to @size; returns it as it goes over the wire."""
        words = f"frame {frame.hex()}"
        if size > len(frame):
            words += f" size={size}"
            frame += pattern(size - len(frame))
        if defect:
            words += f" defect={defect}"
        if delay_ms:
            words += f" delay={delay_ms}ms"
        self.order(words)
        return frame

    def flood(self, **words) -> None:
        """A flow of frames; @words as for `twinctl flood`, v6=True for the flag."""
        self.order("flood " + " ".join(k if v is True else f"{k}={v}" for k, v in words.items()
                                       if v is not False))

    def wait_sent(self, deadline: float = 20) -> None:
        """Waits until all ordered frames and floods have been sent."""
        until(lambda: self.stats("wire.flows") + self.stats("wire.script") == 0, deadline,
              "ordered traffic was sent")

    def stats(self, name: str) -> int:
        """A counter of the twin."""
        lines = self.order(f"stats {name}").splitlines()
        return int(dict(line.split() for line in lines)[name])

    # Faults

    def stuck_tx(self, queue: int, on: bool) -> None:
        """The DMA engine of a TX queue fetches nothing."""
        self.order(f"stuck-tx queue={queue} {'on' if on else 'off'}")

    def stuck_dlr(self, on: bool) -> None:
        """No queue can be restarted by itself."""
        self.order(f"stuck-dlr {'on' if on else 'off'}")

    def stuck_mode(self, on: bool) -> None:
        """Changes of the operating mode do not end."""
        self.order(f"stuck-mode {'on' if on else 'off'}")

    def lose_stamp(self, count: int) -> None:
        self.order(f"lose-stamp count={count}")

    def fifo_overflow(self, count: int) -> None:
        self.order(f"fifo-overflow count={count}")

    def rx_head(self, kind: int | None, size: int | None, ethertype: int) -> None:
        """The next RX descriptor of such a frame has another type or size; orders add up."""
        words = "".join(f" {k}={v}" for k, v in (("type", kind), ("size", size)) if v is not None)
        self.order(f"rx-head ethertype={ethertype}{words}")

    def capture_edge(self) -> None:
        self.order("capture")

    def false_carrier(self) -> None:
        self.order("false-carrier")

    def counters(self, **words) -> None:
        """Adds to the E-MAC's counters: trocr, cxr41, cxr42."""
        self.order("emac-counters " + " ".join(f"{k}={v}" for k, v in words.items()))
