#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Proves in the object file that descriptors are published in the right order: ordering.py ravb_rs.o

Emulation on x86 cannot show a missing barrier, so the emitted arm64 code is looked at. In the three
functions of ravb/desc.rs that give a descriptor to the DMAC, the stores to memory (not to the
stack) and the barriers must be these, in this order, on every path that stores anything (TAP):

  publish_empty, publish_one   pointer, barrier, head
  publish_two                  pointer, pointer, barrier, head of the second, barrier, head of the first

In a kernel built with gcc a barrier is a call of rust_helper_dma_wmb; where helpers are inlined, or
the caller is Rust's own, it is `dmb oshst`.

Of the receive functions (rx.rs) it proves that the prefetches of a frame's headers are where they are
meant to be: directly behind the call that makes the buffer readable. Needs aarch64-linux-gnu-objdump (in the toolbox).
"""

import re
import subprocess
import sys
from pathlib import Path

WANTED = {
    "publish_empty": ["store", "barrier", "store"],
    "publish_one": ["store", "barrier", "store"],
    "publish_two": ["store", "store", "barrier", "store", "barrier", "store"],
}
BARRIERS = re.compile(r"rust_helper_dma_wmb$|^dmb\s+(oshst|osh|sy|ishst|ish|st)$")
STORE = re.compile(r"^(st[lpurbh]*)\s+.*\[(\w+)")
STACK = ("sp", "x29")
# What makes a buffer readable, and how soon after it the two prefetches have to be there.
READABLE = re.compile(r"rnet_page_pool_sync_for_cpu$|rnet_dma_unmap_received$")
SOON = 12


def functions(objdump: str) -> dict[str, list[list[str]]]:
    """Instructions and relocations of each function, in each form that it was compiled to."""
    found: dict[str, list[list[str]]] = {}
    lines: list[str] | None = None
    for line in objdump.splitlines():
        if head := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            name = next((n for n in WANTED if f"{len(n)}{n}" in head[1] and "4desc" in head[1]), None)
            if "2rx" in head[1] and head[1].endswith("7receive"):
                name = "receive"
            lines = [] if name else None
            if name and lines is not None:
                found.setdefault(name, []).append(lines)
        elif lines is not None and (body := re.match(r"\s+[0-9a-f]+:\s+(.*)", line)):
            lines.append(body[1].split("//")[0].strip())
    return found


def events(lines: list[str]) -> list[str]:
    """Stores to memory and barriers, in the order of the code."""
    out = []
    for line in lines:
        words = line.replace("\t", " ")
        if BARRIERS.search(words):
            out.append("barrier")
        elif (store := STORE.match(words)) and store[2] not in STACK:
            out.append("store")
    return out


def prefetches(forms: list[list[str]]) -> tuple[bool, str]:
    """Whether each buffer that was made readable is prefetched soon, and what was found."""
    counts = [
        sum("prfm" in line for line in lines[at : at + SOON])
        for lines in forms
        for at, line in enumerate(lines)
        if READABLE.search(line.replace("\t", " "))
    ]
    return bool(counts) and all(count == 2 for count in counts), f"{len(counts)} places, prefetches {counts}"


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit("usage: ordering.py OBJECT")
    target = Path(sys.argv[1])
    command = ["aarch64-linux-gnu-objdump", "-dr", "--no-show-raw-insn", str(target)]
    found = functions(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    failed = 0
    print(f"1..{len(WANTED) + 1}")
    for number, (name, wanted) in enumerate(WANTED.items(), 1):
        if name not in found:
            print(f"not ok {number} - {name}: not in {target}")
            failed += 1
            continue
        seen = [events(lines) for lines in found[name]]
        good = all(form == wanted for form in seen)
        failed += not good
        lacking = "" if good else f"; wanted {', '.join(wanted)}"
        print(f"{'ok' if good else 'not ok'} {number} - {name}: {'; '.join(', '.join(form) for form in seen)}{lacking}")
    good, seen_of = prefetches(found.get("receive", []))
    failed += not good
    print(f"{'ok' if good else 'not ok'} {len(WANTED) + 1} - headers are prefetched: {seen_of}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
