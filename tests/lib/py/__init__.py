# SPDX-License-Identifier: GPL-2.0

"""What the tests of this directory import: the kernel's own kselftest library, and our helpers.

The library is the tree's tools/testing/selftests/{net,drivers/net}/lib/py, unmodified. It is looked
for in $KSFT_DIR (a source tree's tools/testing/selftests, or an installed kselftest directory),
around this file (when the tests stand in a kernel tree), and where the guest image keeps it.
"""

import os
import sys
from pathlib import Path


def _find_ksft() -> Path:
    places = [Path(os.environ["KSFT_DIR"])] if os.environ.get("KSFT_DIR") else []
    places += list(Path(__file__).resolve().parents)
    places += [Path("/usr/lib/kselftest")]
    for place in places:
        if (place / "net/lib/py/ksft.py").exists() and (place / "drivers/net/lib/py").is_dir():
            return place
    print("1..0 # SKIP the kernel's kselftest library was not found: "
          "set KSFT_DIR to tools/testing/selftests of a kernel tree")
    sys.exit(4)


KSFT_DIR = _find_ksft()

try:
    sys.path.append(KSFT_DIR.as_posix())

    # env.py of the kernel imports these from "lib.py", that is from here: they come first.
    from net.lib.py import NetNS, NetNSEnter, NetdevSimDev, UserNetNS
    from net.lib.py import EthtoolFamily, NetdevFamily, NetshaperFamily, \
        NlError, RtnlFamily, DevlinkFamily, PSPFamily, Netlink
    from net.lib.py import CmdExitFailure
    from net.lib.py import bkg, cmd, bpftool, bpftrace, defer, ethtool, \
        fd_read_timeout, ip, rand_port, rand_ports, tc, tool, wait_port_listen, \
        wait_file
    from net.lib.py import bpf_map_set, bpf_map_dump, bpf_prog_map_ids
    from net.lib.py import KsftSkipEx, KsftFailEx, KsftXfailEx
    from net.lib.py import ksft_disruptive, ksft_exit, ksft_pr, ksft_run, \
        ksft_setup, ksft_variants, KsftNamedVariant
    from net.lib.py import ksft_eq, ksft_ge, ksft_in, ksft_is, ksft_lt, \
        ksft_ne, ksft_not_in, ksft_raises, ksft_true, ksft_gt, ksft_not_none
    from drivers.net.lib.py import GenerateTraffic, Remote, Iperf3Runner
    from drivers.net.lib.py import NetDrvEnv, NetDrvEpEnv, NetDrvContEnv
except ModuleNotFoundError as e:
    print("1..0 # SKIP cannot import the kernel's kselftest library:", e)
    sys.exit(4)

# Ours.
from .chips import Chip, chip_of, driver_of
from .env import RavbEnv, sysfs_write
from .events import LinkWatch, until
from .faults import KNOWN_C_FAULTS, Verdict, fatal, verdict
from .twin import Twin

__all__ = ["NetNS", "NetNSEnter", "NetdevSimDev", "UserNetNS",
           "EthtoolFamily", "NetdevFamily", "NetshaperFamily",
           "NlError", "RtnlFamily", "DevlinkFamily", "PSPFamily", "Netlink",
           "CmdExitFailure",
           "bkg", "cmd", "bpftool", "bpftrace", "defer", "ethtool",
           "fd_read_timeout", "ip", "rand_port", "rand_ports", "tc", "tool",
           "wait_port_listen", "wait_file",
           "bpf_map_set", "bpf_map_dump", "bpf_prog_map_ids",
           "KsftSkipEx", "KsftFailEx", "KsftXfailEx",
           "ksft_disruptive", "ksft_exit", "ksft_pr", "ksft_run",
           "ksft_setup", "ksft_variants", "KsftNamedVariant",
           "ksft_eq", "ksft_ge", "ksft_in", "ksft_is", "ksft_lt",
           "ksft_ne", "ksft_not_in", "ksft_raises", "ksft_true", "ksft_gt",
           "ksft_not_none",
           "NetDrvEnv", "NetDrvEpEnv", "NetDrvContEnv", "GenerateTraffic",
           "Remote", "Iperf3Runner",
           "Chip", "chip_of", "driver_of", "RavbEnv", "sysfs_write", "LinkWatch", "until",
           "KNOWN_C_FAULTS", "Verdict", "fatal", "verdict", "Twin"]
