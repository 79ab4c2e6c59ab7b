#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""`make run`: boots the board and prints one table: traffic to a real far end, and in a second guest what the knobs do.

The second one runs in virtual time: its figures do not depend on this host, and are the same each time. With our
driver, which is built first, unless DRIVER says otherwise.
"""

import os
import subprocess
import sys
from pathlib import Path

from ravbvm import Options, Vm, VmError
from ravbvm.vm import explain

HERE = Path(__file__).resolve().parent
DEMO = HERE / "demo.py"


def build(kernel: str) -> None:
    """Our module, for the kernel of that name; what make says is shown only if it fails."""
    done = subprocess.run([str(HERE / "module.sh"), kernel], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        raise VmError("the driver cannot be built")


def main() -> int:
    settings = {**os.environ}
    settings["DRIVER"] = settings.get("DRIVER") or "rs"
    if settings["DRIVER"] == "rs" and not settings.get("MODULE"):
        build(settings.get("KERNEL") or "stock")
    settings["FILES"] = f"{settings.get('FILES', '')} {DEMO}"
    name = settings.get("NAME") or "run"
    halves = [
        Options.parse({**settings, "RUN": "python3 /root/demo.py traffic", "NAME": name}),
        Options.parse({**settings, "RUN": "python3 /root/demo.py knobs", "NAME": f"{name}-knobs", "ICOUNT": "1",
                       "PEER": "port", "PORTS": "", "PCAP": "", "TRACE": ""}),
    ]
    if halves[0].peer != "host":
        raise VmError(f"PEER={halves[0].peer}: `make run` needs the real far end, PEER=host")
    if halves[0].driver == "none":
        raise VmError("DRIVER=none: there is no port without a driver; c or rs")
    seconds, logs = 0.0, []
    for options in halves:
        result = Vm(options).run(output=sys.stdout.buffer)
        if result.status:
            print(explain(result), file=sys.stderr)
            return result.status
        seconds += result.duration
        logs.append(str(result.log))
    print("\nTraffic is by this host's wall clock, which other programs share. Figures to compare: make bench.\n"
          f"{seconds:.0f} s; the kernel's logs: {' '.join(logs)}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VmError as error:
        sys.exit(f"run: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
