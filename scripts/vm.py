#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boots the board on the twin and runs a command in it; the command's status is the result.

    vm.py [shell] [OPTION=value...]

Options come from the environment (make vm RUN=...) or as arguments, which win; `vm.py help` lists
them. What it prints is what RUN prints; everything else goes to build/vm/.
"""

import os
import signal
import sys
from pathlib import Path

from ravbvm import Options, Vm, VmError
from ravbvm.options import usage
from ravbvm.vm import explain, terminal_size

TB = Path(__file__).resolve().parent / "tb"


def main(arguments: list[str]) -> int:
    if os.environ.get("RAVB_TOOLBOX") != "1":
        os.execv(TB, [str(TB), "python3", str(Path(__file__).resolve()), *arguments])
    interactive = False
    settings = dict(os.environ)
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if argument == "shell":
            interactive = True
        elif argument in ("help", "--help", "-h"):
            print(usage())
            return 0
        elif equals:
            settings[name] = value
        else:
            raise VmError(f"unknown argument '{argument}'; try `vm.py help`")
    if settings.get("TWIN") == "help":
        settings |= {"RUN": "true", "PEER": "none", "ICOUNT": ""}
    options = Options.parse(settings, interactive=interactive, given=[a.partition("=")[0] for a in arguments])
    if options.twin == "help":
        result = Vm(options).run()
        print(*(line.removeprefix("twin0: ") for line in result.model_lines()), sep="\n")
        return 0
    if interactive:
        options.env |= terminal_size()
        print("vm: `exit` ends the guest, Ctrl-A x stops it at once", file=sys.stderr)
    result = Vm(options).run(output=sys.stdout.buffer)
    if result.error or (result.status and not interactive):
        words = explain(result)
        print(words.splitlines()[-1] if options.verbose else words, file=sys.stderr)
    return result.status


if __name__ == "__main__":
    # An orderly end, with everything that was started, for these as for Ctrl-C.
    for number in signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    try:
        sys.exit(main(sys.argv[1:]))
    except VmError as error:
        print(f"vm: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
