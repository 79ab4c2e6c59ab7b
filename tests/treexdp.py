#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""The kernel's own test of XDP, drivers/net/xdp.py, within the limits of the port.

It wants an MTU of 9000 for frames in several buffers, which no chip of this family can send: what is
changed here is the MTU, and what is longer than a frame then. Its last case needs that MTU to have a
meaning, and is left out. (Frames in several buffers: see xdp.py.) Nor can the number of queues be
changed, which the test does where there are several: the second one is for network control.
"""

import os
import sys

from lib.py import KSFT_DIR, cmd

DIRECTORY = KSFT_DIR / "drivers/net"
CHANGES = (("9000)", "1500)"), ("8000", "1400"), ("[512, 1024, 2048]", "[512, 1024, 1200]"),
           ("                test_xdp_native_update_mb_to_sb,\n", ""),
           ("if chans.get('combined-count', 0) > 1:", "if False:"))


def main() -> None:
    """Runs the changed test in place of this one."""
    if not (DIRECTORY / "xdp.py").exists() or not (KSFT_DIR / "net/lib/xdp_native.bpf.o").exists():
        print("1..0 # SKIP build the kernel's tests of XDP: drivers/net/xdp.py, net/lib/xdp_native.bpf.o")
        sys.exit(4)
    text = (DIRECTORY / "xdp.py").read_text()
    for old, new in CHANGES:
        if old not in text:
            sys.exit(f"{old!r} is not in the kernel's xdp.py any more")
        text = text.replace(old, new)
    changed = DIRECTORY / "xdp_limited.py"
    changed.write_text(text)
    cmd("mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf", shell=True)
    os.execv(sys.executable, [sys.executable, str(changed), *sys.argv[1:]])


if __name__ == "__main__":
    main()
