# SPDX-License-Identifier: GPL-2.0
"""What can be asked of a run, checked."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .error import VmError

TOP = Path(__file__).resolve().parents[2]

# The last one is no MAC of the family: the CPU port of a switch, for our second driver.
CHIPS = ("gbeth", "gen2", "gen3", "gen4", "rzv2m", "inject")
DRIVERS = ("c", "rs", "none")
KERNELS = ("stock", "16k", "rt", "debug")
PEERS = ("host", "model", "port", "none")

# Name, values, meaning: for people.
HELP = (
    ("RUN", "SCRIPT", "what the guest runs, by bash in /root"),
    ("DRIVER", "|".join(DRIVERS), "stock ravb.ko, ours (MODULE), or no driver (c)"),
    ("MODULE", "FILE...", "modules to insert for DRIVER=rs (what `make` builds)"),
    ("CHIP", "|".join(CHIPS), "variant of the MAC (gbeth); inject: CPU port of a switch"),
    ("CPUS", "N", "processors (1); with ICOUNT=1 they take turns, and time is what all have executed"),
    ("KERNEL", "|".join(KERNELS), "Debian's arm64 flavours, or ours with its checkers on (stock)"),
    ("PEER", "|".join(PEERS), "the wire's other end (host; model with ICOUNT=1)"),
    ("PORTS", "1|2", "ports in the guest (2 with PEER=port, else 1)"),
    ("ICOUNT", "0|1", "deterministic virtual time (0)"),
    ("SHIFT", "0..10", "2^SHIFT ns for an instruction, with ICOUNT=1 (1)"),
    ("SEED", "N", "of the guest's and the model's randomness (1)"),
    ("MEM", "SIZE", "guest memory, 512M to 3G (1G)"),
    ("FILES", "PATH...", "copied to /root in the guest, directories included"),
    ("PCAP", "FILE", "capture of the wire, virtual time; pcapng by that ending"),
    ("TRACE", "FILE", "register accesses, virtual time"),
    ("APPEND", "WORDS", "more kernel arguments"),
    ("TWIN", "K=V:K=V", "properties of the model; `help` lists them"),
    ("LINK", "up|down", "bring the port up before RUN (up)"),
    ("TIMEOUT", "SECONDS", "until the guest is stopped, 0: never (300)"),
    ("EMULATOR", "preload|in-tree", "the shim in Debian's QEMU, or one built with it (preload)"),
    ("NAME", "WORD", "of the logs in build/vm (vm, vm-2, ...)"),
    ("V", "0|1", "show the kernel's and the emulator's log on stderr (0)"),
)


def usage() -> str:
    """All options, one a line."""
    return "\n".join(f"{name + '=' + values:<36} {meaning}" for name, values, meaning in HELP)


def _choice(name: str, value: str, choices: Iterable[str]) -> str:
    choices = list(choices)
    if value not in choices:
        raise VmError(f"{name}={value}: must be one of {', '.join(choices)}")
    return value


def _number(name: str, value: str, low: int, high: int) -> int:
    if not re.fullmatch(r"\d+", value) or not low <= int(value) <= high:
        raise VmError(f"{name}={value}: must be a number from {low} to {high}")
    return int(value)


def _memory(value: str) -> int:
    found = re.fullmatch(r"(\d+)([MmGg])", value)
    size = int(found[1]) * (1024 if found[2] in "Gg" else 1) if found else 0
    # The model's DMA addresses have 32 bits, and the machine's memory starts at 1 GiB.
    if not 512 <= size <= 3072:
        raise VmError(f"MEM={value}: must be a size from 512M to 3G")
    return size


def _output(name: str, path: Path | None) -> Path | None:
    """An output file that the model writes: its arguments are separated by colons."""
    if path is None:
        return None
    path = path.absolute()
    if ":" in str(path) or "," in str(path):
        raise VmError(f"{name}={path}: the path may hold neither ':' nor ','")
    if not os.access(path.parent, os.W_OK):
        raise VmError(f"{name}={path}: cannot write to {path.parent}")
    return path


@dataclass
class Options:
    """A run. Values are checked on construction; the meanings are in HELP."""

    run: str | None = None
    driver: str = "c"
    modules: list[Path] = field(default_factory=list)
    chip: str = "gbeth"
    cpus: int = 1
    kernel: str = "stock"
    peer: str | None = None
    ports: int | None = None
    icount: bool = False
    shift: int = 1
    seed: int = 1
    mem: str = "1G"
    files: list[Path] = field(default_factory=list)
    pcap: Path | None = None
    trace: Path | None = None
    append: str = ""
    twin: str = ""
    link: str = "up"
    timeout: float = 300
    name: str | None = None
    verbose: bool = False
    interactive: bool = False
    # Further variables for RUN.
    env: dict[str, str] = field(default_factory=dict)
    # The emulator with the shim built in, instead of Debian's with the shim preloaded.
    in_tree: bool = False

    def __post_init__(self) -> None:
        _choice("DRIVER", self.driver, DRIVERS)
        _choice("CHIP", self.chip, CHIPS)
        if self.chip == "inject" and self.driver == "c":
            raise VmError("CHIP=inject: the C driver does not know it; DRIVER=rs or none")
        _choice("KERNEL", self.kernel, KERNELS)
        _choice("LINK", self.link, ("up", "down"))
        if self.peer is None:
            self.peer = "model" if self.icount else "host"
        _choice("PEER", self.peer, PEERS)
        if self.ports is None:
            self.ports = 2 if self.peer == "port" else 1
        if self.peer == "port" and self.ports != 2:
            raise VmError(f"PORTS={self.ports}: PEER=port needs two")
        self.memory = _memory(self.mem)
        if self.icount and self.peer == "host":
            raise VmError("PEER=host: ICOUNT=1 needs a peer in virtual time: model, port or none")
        if self.icount and self.interactive:
            raise VmError("ICOUNT=1: a person at the keyboard is not deterministic")
        if self.interactive:
            self.timeout = 0
        elif self.run is None:
            raise VmError("RUN is missing: what shall the guest run?")
        self.pcap = _output("PCAP", self.pcap)
        self.trace = _output("TRACE", self.trace)
        if self.name is not None and not re.fullmatch(r"[\w.+-]+", self.name):
            raise VmError(f"NAME={self.name}: must be a word that a file can be called")
        self.files = [Path(f) for f in self.files]
        for path in self.files:
            if not path.exists():
                raise VmError(f"FILES: there is no {path}")
        if self.driver == "rs":
            self.modules = [Path(m) for m in self.modules] or [TOP / f"build/module-{self.kernel}/ravb-rs.ko"]
            make = "make modules" if self.kernel == "stock" else f"make modules KERNEL={self.kernel}"
            for path in self.modules:
                if not path.is_file():
                    raise VmError(f"DRIVER=rs: there is no {path}; `{make}` builds it")

    @classmethod
    def parse(cls, settings: Mapping[str, str], *, interactive: bool = False, given: Iterable[str] = ()) -> "Options":
        """From words, as a person gives them; empty is as good as absent."""
        known = {name for name, _, _ in HELP}
        for name in given:
            if name.isupper() and name not in known:
                raise VmError(f"there is no option {name}; `vm.py help` lists them")

        def get(name: str, default: str = "") -> str:
            return settings.get(name, "") or default

        def flag(name: str) -> bool:
            return _choice(name, get(name, "0"), ("0", "1")) == "1"

        def paths(name: str) -> list[Path]:
            return [Path(word) for word in get(name).split()]

        icount = flag("ICOUNT")
        if not icount and get("SHIFT"):
            raise VmError("SHIFT needs ICOUNT=1")
        return cls(
            run=None if interactive else (get("RUN") or None),
            driver=get("DRIVER", "c"),
            modules=paths("MODULE"),
            chip=get("CHIP", "gbeth"),
            cpus=_number("CPUS", get("CPUS", "1"), 1, 8),
            kernel=get("KERNEL", "stock"),
            peer=get("PEER") or None,
            ports=_number("PORTS", get("PORTS"), 1, 2) if get("PORTS") else None,
            icount=icount,
            shift=_number("SHIFT", get("SHIFT", "1"), 0, 10),
            seed=_number("SEED", get("SEED", "1"), 0, 2**32 - 1),
            mem=get("MEM", "1G"),
            files=paths("FILES"),
            pcap=Path(get("PCAP")) if get("PCAP") else None,
            trace=Path(get("TRACE")) if get("TRACE") else None,
            append=get("APPEND"),
            twin=get("TWIN"),
            link=get("LINK", "up"),
            timeout=_number("TIMEOUT", get("TIMEOUT", "300"), 0, 10**6),
            name=get("NAME") or None,
            verbose=flag("V"),
            interactive=interactive,
            in_tree=_choice("EMULATOR", get("EMULATOR", "preload"), ("preload", "in-tree")) == "in-tree",
        )
