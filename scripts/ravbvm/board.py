# SPDX-License-Identifier: GPL-2.0
"""The board: what it is made of, and QEMU's command line for it."""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .cpio import Cpio
from .error import VmError
from .options import TOP, Options
from .peer import HostPeer

PORT_MAC = "02:00:00:00:77:01"
PEER_MAC = "02:00:00:00:77:02"
AGENT_MAC = "02:00:00:00:77:fe"
AGENT = "tcp:10.0.2.100:7777"


@dataclass
class Parts:
    """What scripts/*.sh have made ready."""

    qemu: Path
    preload: str
    guest: Path
    model: Path
    commands: Path


def _script(*words: str) -> str:
    """What a set-up script prints; its progress goes to stderr."""
    command = [str(TOP / "scripts" / words[0]), *words[1:]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
    if done.returncode:
        raise VmError(f"scripts/{' '.join(words)} failed with status {done.returncode}")
    return done.stdout.strip()


@contextmanager
def parts(options: Options) -> Iterator[Parts]:
    """Makes the parts ready and keeps them from being cleaned away while in use."""
    emulator = Path(_script("qemu.sh", *(["--in-tree"] if options.in_tree else []), "--print"))
    guest = Path(_script("guest.sh", options.kernel, "--print"))
    _script("twin.sh")
    info = dict(line.partition("=")[::2] for line in (emulator / "info").read_text().splitlines())
    qemu = Path(info["qemu"])
    held = []
    try:
        for directory in {emulator, guest, qemu.parent}:
            try:
                held.append(os.open(directory, os.O_RDONLY | os.O_CLOEXEC))
                fcntl.flock(held[-1], fcntl.LOCK_SH | fcntl.LOCK_NB)
            except (FileNotFoundError, BlockingIOError):
                raise VmError(f"{directory} is being replaced by another run: try again") from None
        twin = TOP / "build/twin"
        yield Parts(qemu, info["preload"], guest, twin / "libravbtwin.so", twin / "bin")
    finally:
        for descriptor in held:
            os.close(descriptor)


def job(options: Options, commands: Path) -> bytes:
    """The archive that tells the guest's init what to do (scripts/guest/README.rst)."""
    variables = {
        "DRIVER": options.driver,
        "CHIP": options.chip,
        "CPUS": str(options.cpus),
        "KERNEL": options.kernel,
        "PEER": options.peer,
        "ICOUNT": str(int(options.icount)),
        "SEED": str(options.seed),
        "LINK": options.link,
        **options.env,
    }
    archive = Cpio()
    lines = "".join(f"{name}={value}\n" for name, value in variables.items())
    archive.file("job/env", lines.encode())
    if options.run is not None:
        archive.file("job/run", options.run.encode() + b"\n")
    for path in sorted(commands.iterdir()):
        archive.copy(f"job/bin/{path.name}", path)
    for path in options.files:
        archive.copy(f"job/files/{path.absolute().name}", path)
    if options.driver == "rs":
        for number, path in enumerate(options.modules):
            archive.file(f"job/modules/{number:02}-{path.name}", path.read_bytes())
    return archive.finish()


def _escape(value: object) -> str:
    """A value inside one of QEMU's comma-separated options."""
    return str(value).replace(",", ",,")


def _properties(text: str) -> dict[str, str]:
    """TWIN's, which replace the board's own."""
    return dict(word.partition("=")[::2] for word in text.split(":") if word)


def _twins(options: Options, made: Parts, pcap: Path | None, trace: Path | None) -> list[str]:
    """One or two ports. The one under test is the first: same place, whatever comes with it."""
    # Who is at the other end of a port, as the model sees it: frames go out to QEMU in two cases.
    other_end = {"host": "host", "port": "host", "model": "model", "none": "none"}[options.peer]
    words = []
    for number in range(options.ports):
        peer = other_end if number == 0 or options.peer == "port" else "model"
        properties = {"chip": options.chip, "peer": peer, "seed": str(options.seed + number)}
        if not options.icount:
            # In real time, pacing costs a thread switch for each frame and buys nothing.
            properties["pace"] = "0"
        if number == 0:
            properties |= {"pcap": str(pcap)} if pcap else {}
            properties |= {"trace": str(trace)} if trace else {}
        properties |= _properties(options.twin)
        arguments = ":".join(f"{key}={value}" if value else key for key, value in properties.items())
        device = f"twin,id=port{number},lib={_escape(made.model)},args={_escape(arguments)}"
        device += f",mac={(PORT_MAC, PEER_MAC)[number]}"
        if peer == "host":
            device += f",netdev=wire{number}"
        words += ["-device", device]
    return words


def command(
    options: Options, made: Parts, initrd: Path, job_port: str, console: str, peer: HostPeer | None
) -> list[str]:
    """QEMU with everything."""
    words = [str(made.qemu), "-nodefaults", "-display", "none", "-no-reboot"]
    words += ["-M", "virt,gic-version=3", "-cpu", "cortex-a55", "-smp", str(options.cpus), "-m", f"{options.memory}M"]
    words += ["-rtc", "base=2026-01-01,clock=vm", "-seed", str(options.seed)]
    words += ["-kernel", str(made.guest / "vmlinuz"), "-initrd", str(initrd)]
    # Self tests of the crypto code run as kernel threads and take half the processor for seconds.
    kernel = ["console=ttyAMA0", "panic=-1", "cryptomgr.notests", "nokaslr"]
    words += ["-append", " ".join([*kernel, options.append]).strip()]
    words += ["-chardev", console, "-serial", "chardev:console", "-chardev", job_port, "-serial", "chardev:job"]
    if options.icount:
        words += ["-icount", f"shift={options.shift},sleep=off"]
    else:
        image = made.guest / "root.img"
        words += ["-drive", f"file={_escape(image)},format=raw,readonly=on,if=none,id=root"]
        words += ["-device", "virtio-blk-pci,drive=root"]
    if peer:
        words += peer.netdev("wire0")
        forward = f"{AGENT}-cmd:{TOP / 'scripts/guest/agent'}"
        words += ["-netdev", f"user,id=agent,restrict=on,guestfwd={_escape(forward)}"]
        words += ["-device", f"virtio-net-pci,netdev=agent,mac={AGENT_MAC},romfile="]
    elif options.peer == "port":
        words += ["-netdev", "hubport,id=wire0,hubid=0", "-netdev", "hubport,id=wire1,hubid=0"]
    return words + _twins(options, made, options.pcap, options.trace)
