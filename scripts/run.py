#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""`make run`: boots the board with real traffic to a real far end and prints one table."""

import os
import sys
from pathlib import Path

from ravbvm import Options, Vm, VmError
from ravbvm.vm import explain

DEMO = Path(__file__).resolve().parent / "demo.py"


def main() -> int:
    settings = {**os.environ, "RUN": "python3 /root/demo.py"}
    settings["FILES"] = f"{settings.get('FILES', '')} {DEMO}"
    options = Options.parse(settings)
    if options.peer != "host":
        raise VmError(f"PEER={options.peer}: `make run` needs the real far end, PEER=host")
    if options.driver == "none":
        raise VmError("DRIVER=none: there is no port without a driver; c or rs")
    result = Vm(options).run(output=sys.stdout.buffer)
    if result.status:
        print(explain(result), file=sys.stderr)
    else:
        print(f"\n{result.duration:.0f} s; the kernel's log: {result.log}")
    return result.status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except VmError as error:
        sys.exit(f"run: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
