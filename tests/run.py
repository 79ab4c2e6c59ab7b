#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Runs the tests of this directory, one after another, on the machine with the port.

  run.py [-l] [-T SECONDS] [TEST...]

A TEST is a file's name without .py, or name.case for one case of it (patterns allowed, as for -t of
the files themselves). Without any, all of them, in the order of ORDER.

Each file also runs by itself, as any kselftest; this only saves starting Python and loading the
kernel's libraries twenty times over, which takes longer than the tests under emulation. Output is
KTAP: one subtest a file, its lines indented.
"""

import argparse
import importlib
import os
import runpy
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

# What looks at a port as probed comes first, what may leave it unusable last.
ORDER = ("probe", "link", "ping", "vlan", "csum", "stats", "promisc", "rings", "iperf", "netpoll", "jumbo",
         "xdp", "treexdp", "xdptools", "coalesce", "timestamping", "phc", "testptp", "ptp4l", "errors", "txtimeout",
         "updown", "soak", "board", "suspend", "contract", "wol", "inject", "treepool", "failures", "unload")

# What every test file imports, directly or through the kernel's library.
PRELOAD = ("argparse", "ctypes", "inspect", "ipaddress", "json", "random", "socket", "string",
           "subprocess", "tempfile", "traceback", "yaml")


def _preload() -> None:
    for name in PRELOAD:
        importlib.import_module(name)


def _child(name: str, cases: list, out: int) -> int:
    """In a process of its own: the test file, as if it had been started."""
    os.dup2(out, 1)
    os.dup2(out, 2)
    # What was seen is not lost with who has seen it.
    sys.stdout.reconfigure(line_buffering=True)
    os.setpgid(0, 0)
    path = HERE / f"{name}.py"
    sys.argv = [str(path)] + [w for c in cases for w in ("-t", c)]
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as e:
        sys.stdout.flush()
        return e.code if isinstance(e.code, int) else int(e.code is not None)
    return 0


def _run(name: str, cases: list, limit: float) -> tuple:
    """(exit status or "timeout", seconds); passes the output on, indented."""
    start = time.monotonic()
    read, write = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        status = 1
        try:
            status = _child(name, cases, write)
        except BaseException:       # the child must end here, whatever happens
            import traceback
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    os.close(write)

    def too_long(_signum, _frame):
        raise TimeoutError

    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, limit)
    status = "timeout"
    try:
        with os.fdopen(read, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                print("    " + line, end="", flush=True)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except TimeoutError:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return status, time.monotonic() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-l", action="store_true", help="list the tests")
    parser.add_argument("-T", type=float, default=300, metavar="SECONDS",
                        help="limit for one file (default %(default)s)")
    parser.add_argument("tests", nargs="*", metavar="TEST")
    args = parser.parse_args()
    if args.l:
        print("\n".join(ORDER))
        return 0
    wanted = {}
    for word in args.tests or ORDER:
        name, _, case = word.partition(".")
        if name not in ORDER:
            parser.error(f"no test {name!r}; there are: {' '.join(ORDER)}")
        wanted.setdefault(name, [])
        if case:
            wanted[name].append(case)
    # Whatever the environment says: the library is compiled once, not once for each file.
    sys.dont_write_bytecode = False
    _preload()
    print("KTAP version 1")
    print(f"1..{len(wanted)}")
    failed = 0
    for n, (name, cases) in enumerate(wanted.items(), 1):
        print(f"# selftest: {name}", flush=True)
        status, took = _run(name, cases, args.T)
        ok = status == 0
        failed += not ok
        why = "" if ok else f" # exit={status}"
        print(f"{'ok' if ok else 'not ok'} {n} {name}{why}", flush=True)
        print(f"# duration: {name} {took:.2f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
