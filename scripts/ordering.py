#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Proves in the object file that descriptors are published in the right order: ordering.py [--no-prefetch] ravb_rs.o

Emulation on x86 cannot show a missing barrier, so the emitted arm64 code is looked at. In the three
functions of ravb/desc.rs that give a descriptor to the DMAC, the stores to memory (not to the
stack) and the barriers must be these, in this order, on every path that stores anything (TAP):

  publish_empty, publish_one   pointer, barrier, head
  publish_two                  pointer, pointer, barrier, head of the second, barrier, head of the first

In a kernel built with gcc a barrier is a call of rust_helper_dma_wmb; where helpers are inlined, or
the caller is Rust's own, it is `dmb oshst`.

Of the receive function (rx.rs), in which is the code of all kinds of rings, it proves that the prefetches
of a frame's headers are where they are meant to be: two directly behind each call that makes a buffer
readable, none elsewhere, and before the stack looks at the headers the call that makes the skb, which is
what there is to be done meanwhile. Of a build without (RX_PREFETCH=off) it proves that it has none
(--no-prefetch, and nothing else). Needs aarch64-linux-gnu-objdump (in the toolbox).
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
# Where frames are received: a function of the ring, which the compiler may put into the one that polls.
RECEIVING = ("4ravb2rx", "4ravb4poll4poll", "4ravb4poll7receive")
# What makes a buffer readable, and how soon after it the two prefetches have to be there.
READABLE = re.compile(r"rnet_page_pool_sync_for_cpu$|rnet_dma_unmap_received$")
PREFETCH = re.compile(r"^prfm\s+pldl1keep,")
SOON = 12
# What makes an skb around it, and who looks at the headers then.
SKB, LOOK = re.compile(r"rnet_napi_build(_frag)?_skb$"), re.compile(r"rnet_napi_receive$")
# Normal and extended descriptors, each with a pool, with fragments and with an XDP program, which looks itself.
KINDS, LOOKED_AT = 6, 4


def functions(objdump: str) -> dict[str, list[list[str]]]:
    """Instructions and relocations of each function, in each form that it was compiled to."""
    found: dict[str, list[list[str]]] = {}
    lines: list[str] | None = None
    for line in objdump.splitlines():
        if head := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            name = next((n for n in WANTED if f"{len(n)}{n}" in head[1] and "4desc" in head[1]), None)
            if any(part in head[1] for part in RECEIVING):
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


def disassembled(target: Path) -> dict[str, list[list[str]]]:
    """The functions of an object file."""
    command = ["aarch64-linux-gnu-objdump", "-dr", "--no-show-raw-insn", str(target)]
    return functions(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def prefetches(found: dict[str, list[list[str]]], wanted: bool) -> tuple[bool, str]:
    """Whether each buffer that was made readable is prefetched soon, or none is; and what was found."""
    lines = [line.replace("\t", " ") for form in found.get("receive", []) for line in form]
    places = [at for at, line in enumerate(lines) if READABLE.search(line)]
    counts = [sum(bool(PREFETCH.match(line)) for line in lines[at : at + SOON]) for at in places]
    elsewhere = sum(bool(PREFETCH.match(line)) for line in lines) - sum(counts)
    # In between, in the order of the code, up to the next place.
    ends = [*places[1:], len(lines)]
    later = [
        [bool(SKB.search(line)) for line in lines[at:end] if SKB.search(line) or LOOK.search(line)]
        for at, end in zip(places, ends, strict=False)
    ]
    first = sum(bool(calls) and calls[0] for calls in later)
    said = f"{len(places)} places, prefetches {counts}, {elsewhere} elsewhere, {first} skbs made before a look"
    counted = counts == [2 * wanted] * KINDS and not elsewhere
    return counted and first == LOOKED_AT, said


def main() -> int:
    *options, target = sys.argv[1:] or [""]
    if not target or options not in ([], ["--no-prefetch"]):
        sys.exit("usage: ordering.py [--no-prefetch] OBJECT")
    found = disassembled(Path(target))
    failed = 0
    all_wanted = {} if options else WANTED
    print(f"1..{len(all_wanted) + 1}")
    for number, (name, wanted) in enumerate(all_wanted.items(), 1):
        if name not in found:
            print(f"not ok {number} - {name}: not in {target}")
            failed += 1
            continue
        seen = [events(lines) for lines in found[name]]
        good = all(form == wanted for form in seen)
        failed += not good
        lacking = "" if good else f"; wanted {', '.join(wanted)}"
        print(f"{'ok' if good else 'not ok'} {number} - {name}: {'; '.join(', '.join(form) for form in seen)}{lacking}")
    good, seen_of = prefetches(found, not options)
    failed += not good
    what = f"headers are {'not ' if options else ''}prefetched"
    print(f"{'ok' if good else 'not ok'} {len(all_wanted) + 1} - {what}: {seen_of}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
