# SPDX-License-Identifier: GPL-2.0

"""The environment of a test case: the port, its peer, what they are, what they have counted."""

import os
import sys
import time
from pathlib import Path

from net.lib.py import KsftSkipEx, cmd, ethtool, ip, ksft_pr
from drivers.net.lib.py import NetDrvEpEnv

from .chips import chip_of, driver_of
from .events import until
from .packets import open_local, open_remote
from .twin import Twin

DRIVERS = Path("/sys/bus/platform/drivers")


def sysfs_write(path, text: str) -> None:
    """One write to a file of sysfs: a buffered one would be tried again after it failed."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


class RavbEnv(NetDrvEpEnv):
    """NetDrvEpEnv for a port of this family.

    chip            what the variant is expected to show
    driver          "c" or "rs"
    driver_name     what the driver is called on the bus, and module where its code is
    twin            the control page of the twin, or None on a board
    """

    def __new__(cls, src_path):
        if not os.environ.get("NETIF") and not (Path(src_path).parent / "net.config").exists():
            # The kernel's library would make a netdevsim, or say that there must be none.
            print("1..0 # SKIP NETIF is not set: which port is to be tested? See tests/README.rst")
            sys.exit(4)
        return super().__new__(cls)

    def __init__(self, src_path):
        super().__init__(src_path, nsim_test=False)
        self.chip = chip_of(self.ifname)
        self.driver = driver_of(self.ifname)
        self.sysfs = Path("/sys/class/net") / self.ifname
        self.device = (self.sysfs / "device").resolve()
        self.driver_name = (self.device / "driver").resolve().name
        self.module = (self.device / "driver/module").resolve().name
        self.mac = self.dev["address"]
        self.remote_mac = self.remote_dev["address"]
        self.twin = Twin.find(self.device)
        ksft_pr(f"Chip: {self.chip.name}, peer: {self.env.get('PEER', 'board')}, "
                f"cpus: {os.cpu_count()}, twin: {'yes' if self.twin else 'no'}")

    @property
    def virtual_time(self) -> bool:
        """Whether the guest's clock counts its instructions: speed does not depend on the host."""
        return self.env.get("ICOUNT") == "1"

    def long(self, short: int, long: int) -> int:
        """How often or for how many seconds: @long with RAVB_LONG=1 in the environment."""
        return long if self.env.get("RAVB_LONG") == "1" else short

    def require_twin(self) -> Twin:
        if self.twin is None:
            raise KsftSkipEx("needs the twin's control page (orders to the device), "
                             "which a board has not")
        return self.twin

    def require_stamps(self) -> None:
        if not self.chip.hw_stamps:
            raise KsftSkipEx(f"{self.chip.name} has no hardware timestamps and no PTP clock")

    # Counters

    def stats(self) -> dict:
        """rtnl_link_stats64 of the port, flat: rx_packets, tx_bytes, rx_crc_errors, ..."""
        return {f.name: int(f.read_text()) for f in (self.sysfs / "statistics").iterdir()}

    def queue_stats(self) -> dict:
        """ethtool -S of the port."""
        out = {}
        for line in ethtool(f"-S {self.ifname}").stdout.splitlines()[1:]:
            name, _, value = line.strip().partition(": ")
            out[name] = int(value)
        return out

    def irq_counts(self) -> dict:
        """Interrupts of each of the port's lines, by the label's part after the device name."""
        out = {}
        for line in Path("/proc/interrupts").read_text().splitlines():
            fields = line.split()
            if fields and fields[-1].startswith(self.device.name):
                counts = [int(n) for n in fields[1:] if n.isdigit()]
                out[fields[-1].removeprefix(self.device.name)] = \
                    sum(counts[:os.cpu_count()])
        return out

    # Packets

    def local_packets(self, **kwargs):
        """A raw socket on the port."""
        return open_local(self.ifname, **kwargs)

    def remote_packets(self, **kwargs):
        """A raw socket on the peer's interface."""
        return open_remote(self, **kwargs)

    # Coming and going

    def bind(self) -> None:
        """Gives the device to its driver."""
        sysfs_write(DRIVERS / self.driver_name / "bind", self.device.name)

    def unbind(self) -> None:
        sysfs_write(DRIVERS / self.driver_name / "unbind", self.device.name)

    def bound(self) -> bool:
        """Whether the device has a driver."""
        return (self.device / "driver").exists()

    def port(self) -> str | None:
        """What the device's interface is called now, if there is one."""
        found = next((self.device / "net").glob("*"), None)
        return found.name if found else None

    def back(self) -> None:
        """The port comes back after a bind, is configured again, and has its link."""
        name = until(self.port, 10, "the port is back")
        if name != self.ifname:
            ip(f"link set dev {name} name {self.ifname}")
        self.dev = ip(f"-d link show dev {self.ifname}", json=True)[0]
        self.ifindex = self.dev["ifindex"]
        ip(f"addr replace {self.addr_v['4']}/24 dev {self.ifname}")
        ip(f"-6 addr replace {self.addr_v['6']}/64 dev {self.ifname} nodad")
        self.set_link(True)
        until(self.link_up, 15, "link")

    def restore(self) -> None:
        """The same, whether or not the device is bound."""
        if not self.bound():
            self.bind()
        self.back()

    # State

    def link_up(self) -> bool:
        """Whether the port has a link and its queues send."""
        return (self.sysfs / "operstate").read_text().strip() == "up"

    def set_link(self, up: bool) -> None:
        ip(f"link set dev {self.ifname} {'up' if up else 'down'}")

    def resume(self, deadline: float = 15, ipver: str = "4") -> None:
        """Waits until traffic passes (again), then asks that it does so without loss.

        The first answers may be missing: a neighbour entry that failed meanwhile is tried again
        only after a second.
        """
        start = time.monotonic()
        until(lambda: self.ping(count=1, wait=0.5, ipver=ipver, fail=False).ret == 0, deadline,
              "an answered ping")
        ksft_pr(f"traffic passes again after {time.monotonic() - start:.2f} s")
        self.ping(count=5, wait=5, ipver=ipver)

    def ping(self, count: int = 3, size: int = 56, host=None, ipver: str = "4",
             options: str = "", fail: bool = True, wait: float = 2):
        """@count answered echo requests from the port (or from @host) to the other end."""
        dest = self.remote_addr_v[ipver] if host is None else self.addr_v[ipver]
        # Once something was answered, ping waits for the rest no longer than two round trips or
        # an interval. Processors that do other things as well need the longer one.
        interval = 0.01 if self.virtual_time else 0.3 if self.env.get("PEER") == "host" else 0.1
        return cmd(f"ping -{ipver} -q -n -c {count} -i {interval} -W {wait} -s {size} "
                   f"{options} {dest}",
                   host=host, fail=fail, timeout=60)
