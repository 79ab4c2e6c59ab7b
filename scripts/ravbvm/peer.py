# SPDX-License-Identifier: GPL-2.0
"""The far end of the wire on this host: a network namespace with the host's own network stack.

The wire is a tap device. An ordinary user may lack /dev/net/tun; a veth pair, one end of which
wire.py connects to QEMU, does the same there.
"""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO

from .error import VmError
from .process import start, stop

MAC = "02:00:00:00:77:02"
V4 = "10.77.0.2/24"
V6 = "fd77::2/64"
# One server serves one test at a time.
IPERF_PORTS = range(5201, 5205)
ECHO_PORT = 7
READY_LIMIT = 10

# The namespace lives as long as this shell, and the shell as long as our end of its standard input.
_SETUP = f"""
set -e
ip link set lo up
sysctl -qw net.ipv6.conf.default.accept_ra=0 net.ipv6.conf.default.router_solicitations=0
wire=tap
if [ "${{RAVB_NO_TUN:-}}" = 1 ] || ! ip tuntap add dev eth0 mode tap 2>/dev/null; then
	wire=veth
	ip link add eth0 type veth peer name wire
	# What the kernel leaves undone for a device that could do it: QEMU's wire cannot.
	ethtool -K eth0 tx off tso off gso off gro off txvlan off >/dev/null
	sysctl -qw net.ipv6.conf.wire.disable_ipv6=1
	ip link set dev wire mtu 9216 up
fi
ip link set dev eth0 address {MAC} up
ip address add {V4} dev eth0
ip address add {V6} dev eth0 nodad
echo "ready $wire"
exec cat >/dev/null
"""


class HostPeer:
    """The namespace and what runs in it; a context manager."""

    def __init__(self, directory: Path, log: IO[str]) -> None:
        self._directory = directory
        self._log = log
        self._processes: list[subprocess.Popen] = []
        self._holder: subprocess.Popen | None = None
        self.wire = ""

    def __enter__(self) -> "HostPeer":
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in reversed(self._processes):
            stop(process)
        if self._holder:
            self._holder.stdin.close()
            self._holder.stdout.close()
            stop(self._holder)

    def inside(self, *command: str) -> list[str]:
        """The command that runs `command` in the namespace."""
        return ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net", "--", *command]

    def netdev(self, name: str) -> list[str]:
        """QEMU's options for its end of the wire."""
        if self.wire == "tap":
            return ["-netdev", f"tap,id={name},ifname=eth0,script=no,downscript=no"]
        ends = f"local.type=unix,local.path={self._qemu_end},remote.type=unix,remote.path={self._wire_end}"
        return ["-netdev", f"dgram,id={name},{ends}"]

    @property
    def _qemu_end(self) -> Path:
        return self._directory / "wire.qemu"

    @property
    def _wire_end(self) -> Path:
        return self._directory / "wire.peer"

    def _start(self) -> None:
        self._holder = start(
            ["unshare", "--net", "sh", "-c", _SETUP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        answer = self._holder.stdout.readline().split()
        if answer[:1] != ["ready"]:
            raise VmError(f"PEER=host: cannot set up a network namespace (see {self._log.name})")
        self.wire = answer[1]
        if self.wire == "veth":
            program = Path(__file__).with_name("wire.py")
            bridge = self._run(sys.executable, str(program), "wire", self._wire_end, self._qemu_end, piped=True)
            if bridge.stdout.readline() != b"ready\n":
                raise VmError(f"PEER=host: cannot connect a veth pair to QEMU (see {self._log.name})")
        for port in IPERF_PORTS:
            self._run("iperf3", "-s", "-p", str(port), "--forceflush")
        self._run("socat", f"TCP6-LISTEN:{ECHO_PORT},fork,reuseaddr,ipv6only=0", "EXEC:cat")
        self._run("socat", f"UDP6-RECVFROM:{ECHO_PORT},fork,ipv6only=0", "EXEC:cat")

    def _run(self, *command: object, piped: bool = False) -> subprocess.Popen:
        process = start(
            self.inside(*map(str, command)),
            stdout=subprocess.PIPE if piped else self._log,
            stderr=self._log,
        )
        self._processes.append(process)
        return process

    def wait_ready(self) -> None:
        """Waits until every service listens, which nothing announces."""
        wanted = {("tcp6", port) for port in (*IPERF_PORTS, ECHO_PORT)} | {("udp6", ECHO_PORT)}
        end = time.monotonic() + READY_LIMIT
        while missing := wanted - self._listening():
            for process in self._processes:
                if process.poll() is not None:
                    raise VmError(f"PEER=host: {process.args[-1]} ended (see {self._log.name})")
            if time.monotonic() > end:
                raise VmError(f"PEER=host: nothing listens on {sorted(missing)} (see {self._log.name})")
            time.sleep(0.02)

    def _listening(self) -> set[tuple[str, int]]:
        found = set()
        for protocol, state in ("tcp6", "0A"), ("udp6", "07"):
            with contextlib.suppress(OSError):
                for line in Path(f"/proc/{self._holder.pid}/net/{protocol}").read_text().splitlines()[1:]:
                    words = line.split()
                    if words[3] == state:
                        found.add((protocol, int(words[1].rpartition(":")[2], 16)))
        return found


def no_tun_hint(peer: HostPeer) -> str | None:
    """What to tell a person whose wire is the slower one."""
    if peer.wire == "tap" or os.environ.get("RAVB_NO_TUN"):
        return None
    return "PEER=host: no access to /dev/net/tun here, taking a veth pair for the wire"
