#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""`make run`: boots the board with real traffic to a real far end and prints one table.

With our driver, which is built first, unless DRIVER says otherwise.
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
    settings = {**os.environ, "RUN": "python3 /root/demo.py"}
    settings["DRIVER"] = settings.get("DRIVER") or "rs"
    if settings["DRIVER"] == "rs" and not settings.get("MODULE"):
        build(settings.get("KERNEL") or "stock")
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
