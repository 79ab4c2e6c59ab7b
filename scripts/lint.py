#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The judges of form, over the whole tree: lint.py [-l | --fmt] [CHECK...]

Each tool is one check (TAP): formatters, compilers' warnings, checkpatch, dt-schema and so on. A finding fails its
check and is printed below it. -l lists the checks, --fmt only formats all Rust code. `make lint` runs this in the
toolbox; LINT_BASE=COMMIT names the commit after which the series is checked (see series() below).
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from ravbvm.board import parts
from ravbvm.error import VmError
from ravbvm.options import CHIPS, Options

TOP = Path(__file__).resolve().parent.parent
OUT = TOP / "build/lint"
WIDTH = 2
KBUILD = ("ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-")

# The modules' Rust code; the model in twin/ is a program of its own.
KERNEL_RUST = ("*.rs", ":!twin")

# Where the guest's device tree goes beyond the binding, or cannot follow it.
ACCEPTED = {
    "power-domains": "the emulated machine has no provider of power domains",
    "local-mac-address": "what a boot loader adds to the tree of a board",
    "dma-coherent": "a property of the emulated machine",
    "dma-noncoherent": "the other choice, as the SoCs are",
    "fixed-link": "both drivers know it; the binding names only phy-handle",
    "reg too short": "the stream buffer of Gen2 and Gen3 is not modelled: no driver touches it",
    "phy-handle": "required by the binding, and senseless with fixed-link",
}


class Skip(Exception):
    """Why a check cannot be made here."""


def run(*words: object, cwd: Path = TOP, env: dict | None = None, text: str | None = None) -> tuple[int, list[str]]:
    """(status, lines) of a command; what it printed on either stream."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


def findings_of(*words: object, **options: object) -> list[str]:
    """What a tool prints, where that is its findings; a tool that fails without a word is one, too."""
    status, lines = run(*words, **options)
    return lines or ([f"{words[0]}: status {status}"] if status else [])


def printed(*words: object) -> str:
    """What a set-up script prints; its progress goes to stderr."""
    return subprocess.run(
        [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def files(*patterns: str) -> list[Path]:
    """Files of the tree, also those that are not committed yet, as git's patterns select them."""
    status, lines = git("ls-files", "-co", "--exclude-standard", "--", *patterns)
    if status:
        raise RuntimeError("\n".join(lines))
    found = [TOP / line for line in lines if (TOP / line).is_file()]
    if not found:
        raise RuntimeError(f"no file matches {' '.join(patterns)}")
    return found


def git(*words: str) -> tuple[int, list[str]]:
    # The tree may belong to another user than the toolbox's root.
    return run("git", "-c", "safe.directory=*", *words)


def shell_files() -> list[Path]:
    shebang = re.compile(rb"#!.*\b(ba|da)?sh\b")
    return [path for path in files(".") if path.suffix == ".sh" or shebang.match(path.read_bytes()[:64])]


def python_files() -> list[Path]:
    shebang = re.compile(rb"#!.*\bpython3?\b")
    return [path for path in files(".") if path.suffix == ".py" or shebang.match(path.read_bytes()[:64])]


class Lint:
    """The checks. Each returns its findings and what it looked at."""

    def __init__(self) -> None:
        self.tools = Path(printed(TOP / "scripts/lint-tools.sh", "--print"))
        self.tree = self.tools / "tree"
        self.kdir = Path(printed(TOP / "scripts/sdk.sh", "stock", "--print"))
        self.clippy_done = threading.Lock()
        self.schema_done = threading.Lock()
        self.made: set[Path] = set()
        self.staged = OUT / "dt/bindings"
        packages = self.tools / "root/usr"
        self.python = {
            "PYTHONPATH": str(packages / "lib/python3/dist-packages"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": f"{packages / 'bin'}:{os.environ['PATH']}",
        }

    # The driver

    def rustfmt(self) -> tuple[list[str], str]:
        paths = files(*KERNEL_RUST)
        status, lines = run("rustfmt", "--check", "-l", *self.rustfmt_settings(), *paths)
        findings = sorted({f"{line.removeprefix(f'{TOP}/')}: not as `make fmt` makes it" for line in lines})
        if status and not findings:
            findings = [f"rustfmt: status {status}"]
        return findings, f"{len(paths)} files, the kernel's settings"

    def rustfmt_settings(self) -> tuple:
        return ("--edition", "2021", "--config-path", self.tree / ".rustfmt.toml")

    def fmt(self) -> int:
        """Formats all Rust code."""
        status, lines = run("rustfmt", *self.rustfmt_settings(), *files(*KERNEL_RUST))
        findings = lines + self.cargo("fmt")
        print(*findings, sep="\n", end="\n" if findings else "")
        return 1 if status or findings else 0

    def unsafe(self) -> tuple[list[str], str]:
        """The drivers stand on safe operations: the lint forbids unsafe code, this also forbids the ways round it."""
        paths = files(*KERNEL_RUST, ":!net")
        findings = []
        for path in paths:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                code = line.partition("//")[0]
                if re.search(r"\bunsafe\b|\bbindings::|\*(const|mut)\s", code):
                    findings.append(f"{path.relative_to(TOP)}:{number}: {line.strip()}")
        root = (TOP / "ravb_rs.rs").read_text(encoding="utf-8")
        for found in re.finditer(r"^(#\[forbid\(unsafe_code\)\]\n)?(?:pub )?mod (\w+);", root, re.MULTILINE):
            if not found[1] and found[2] != "net":
                findings.append(f"ravb_rs.rs: nothing forbids unsafe code in {found[2]}")
        return findings, f"{len(paths)} files: no unsafe, bindings:: or raw pointer"

    def kbuild(self, name: str, target: str, *words: str) -> tuple[list[str], Path]:
        """One object of the module, built again with those options: what is said that is not kbuild's own progress."""
        out = OUT / name
        out.mkdir(parents=True, exist_ok=True)
        (out / target).unlink(missing_ok=True)
        status, lines = run("make", "-s", "-C", self.kdir, *KBUILD, f"M={TOP}", f"MO={out}", *words, target)
        said = [line for line in lines if line and not re.match(r"make(\[\d+\])?: (Entering|Leaving)", line)]
        if status and not said:
            said = [f"kbuild: status {status}"]
        return said, out

    def clippy(self) -> tuple[list[str], str]:
        with self.clippy_done:
            # Code is generated elsewhere, with the same lints; the compiler misses it.
            said, _ = self.kbuild("clippy", "ravb_rs.o", "CLIPPY=1", "KRUSTFLAGS=-Zno-codegen")
        noise = r"warning: (ignoring emit path because multiple \.o files|\d+ warnings? emitted)"
        return [line for line in said if not re.match(noise, line)], "kbuild, CLIPPY=1, undocumented_unsafe_blocks too"

    def sparse(self) -> tuple[list[str], str]:
        # Debian's sparse is too old for one word that the kernel uses.
        said, _ = self.kbuild("sparse", "net/helpers.o", "W=1", "C=2", "CHECK=sparse -D__typeof_unqual__=__typeof__")
        return said, "net/helpers.c in kbuild, W=1 C=2"

    def rustdoc(self) -> tuple[list[str], str]:
        """kbuild has no such target for modules: rustdoc gets the words that it gave to the compiler."""
        out = OUT / "clippy"
        with self.clippy_done:
            if not (out / ".ravb_rs.o.cmd").exists():
                self.kbuild("clippy", "ravb_rs.o", "CLIPPY=1", "KRUSTFLAGS=-Zno-codegen")
        saved = (out / ".ravb_rs.o.cmd").read_text(encoding="utf-8").splitlines()[0].partition(":=")[2]
        words = shlex.split(saved)
        env = {"RUSTC_BOOTSTRAP": "1"}
        while "=" in words[0]:
            key, _, value = words.pop(0).partition("=")
            env[key] = value
        kept = []
        rest = iter(words[1:])
        for word in rest:
            if word == "--env-set":
                key, _, value = next(rest).partition("=")
                env[key] = value
            elif word == "--out-dir":
                next(rest)
            elif not word.startswith(("--emit", "-Zno-codegen", "--remap-path", "-Zremap-path")):
                kept.append(word)
        # What is private, too: all of the drivers is.
        lines = findings_of("rustdoc", *kept, "--document-private-items", "--check", cwd=out, env=env)
        return lines, "the module, private items too"

    # checkpatch

    def checkpatch(self, *words: object, text: str | None = None) -> list[str]:
        """Its findings, one a line."""
        options = ("--strict", "--terse", "--show-types", "--no-summary")
        status, lines = run("perl", "scripts/checkpatch.pl", *options, *words, cwd=self.tree, text=text)
        found = [line.replace(f"{TOP}/", "") for line in lines if re.search(r": (ERROR|WARNING|CHECK):", line)]
        return found or (lines[-5:] if status else [])

    def checkpatch_files(self, paths: list[Path], *options: str) -> list[str]:
        """What it finds in files; one that was seen to be clean is not looked at again until it changes."""
        clean = OUT / "clean"
        clean.mkdir(parents=True, exist_ok=True)
        judge = f"{self.tools.name} {options} ".encode()
        stamps = {}
        for path in paths:
            digest = hashlib.sha256(judge + bytes(path) + b"\0" + path.read_bytes())
            stamps[path] = clean / digest.hexdigest()
        paths = [path for path in paths if not stamps[path].exists()]
        findings = self.checkpatch(*options, "-f", *paths) if paths else []
        faulty = {finding.partition(":")[0] for finding in findings}
        # A finding that names no file is about all of them.
        if faulty <= {str(path.relative_to(TOP)) for path in paths}:
            for path in paths:
                if str(path.relative_to(TOP)) not in faulty:
                    stamps[path].touch()
        return findings

    def checkpatch_kernel(self) -> tuple[list[str], str]:
        """What belongs to the kernel, or would, without exception."""
        paths = files(*KERNEL_RUST, "net", "Kbuild", "Kconfig", "dt-bindings", "*.rst", "*.md")
        return self.checkpatch_files(paths), f"driver and documents, {len(paths)} files, --strict"

    def checkpatch_rest(self) -> tuple[list[str], str]:
        """The kernel's rules as far as they are about such files. twin/shim is in QEMU's style, since it is QEMU's."""
        model = files("twin/*.rs")
        # User space: stdint.h and inttypes.h have these names, registers are mapped memory, and what a program calls
        # "usage" in its help is no function.
        tools = files("twin/twinctl/*.[ch]")
        # Lists of packages and files repeat words; a sourced file begins with a line for shellcheck; ruff looks at
        # the width of Python, and the message of a shell script is one line.
        scripts = [*shell_files(), *python_files(), *files("*Makefile", "*.toml")]
        findings = [
            *self.checkpatch_files(model),
            *self.checkpatch_files(tools, "--ignore=PREFER_KERNEL_TYPES,CAMELCASE,VOLATILE,EMBEDDED_FUNCTION_NAME"),
            *self.checkpatch_files(
                scripts, "--ignore=REPEATED_WORD,SPDX_LICENSE_TAG,LONG_LINE,LONG_LINE_COMMENT,LONG_LINE_STRING"
            ),
        ]
        return findings, f"model and scripts, {len(model) + len(tools) + len(scripts)} files, --strict"

    # Commits up to this one were there before the check, and history is not rewritten.
    BEFORE = "b77ee8e"

    def series(self) -> tuple[list[str], str]:
        """The messages of the commits after LINT_BASE, else since there is this check.

        What patches leave behind is judged in the tree, by the two above. Signing off is for the person who submits
        the series, and so are entries in MAINTAINERS.
        """
        base = os.environ.get("LINT_BASE") or self.BEFORE
        status, commits = git("rev-list", "--reverse", "--no-merges", f"{base}..HEAD")
        if status:
            raise Skip(f"no commit {base} here: a shallow clone?")
        findings = []
        for commit in commits:
            # The patch goes along, without it no message is one; but the size of one changes nothing.
            _, patch = git("format-patch", "-1", "--stdout", "--unified=0", commit)
            begin = next((n for n, line in enumerate(patch) if line.startswith("diff --git")), len(patch))
            text = "\n".join(patch[: begin + 12]) + "\n"
            options = ("--no-signoff", "--ignore=FILE_PATH_CHANGES,CORRUPTED_PATCH", "--showfile", "-")
            # With a file's name before it, a finding is about the patch.
            found = [line for line in self.checkpatch(*options, text=text) if line.startswith(":")]
            findings += [f"{commit[:9]}{line}" for line in found]
        return findings, f"messages of {len(commits)} commits since {base[:9]}"

    # Device trees

    # For the nodes' compatible strings; what these refer to is added. All of the tree's take a minute to read.
    SCHEMAS = (
        "net/renesas,etheravb.yaml",
        "net/ethernet-phy.yaml",
        "clock/fixed-clock.yaml",
        "reset/snps,dw-reset.yaml",
    )
    def dt_schema(self) -> Path:
        """dt-schema's digest of them."""
        schema = OUT / "dt/schema.json"
        with self.schema_done:
            if schema not in self.made:
                self.make_schema(schema)
                self.made.add(schema)
        return schema

    def make_schema(self, schema: Path) -> None:
        bindings = self.tree / "Documentation/devicetree/bindings"
        wanted = [bindings / name for name in self.SCHEMAS] + files("dt-bindings/*.yaml")
        for path in wanted:
            for name in re.findall(r"\$ref: [\"']?(?:/schemas/)?([\w,./-]+\.yaml)#", path.read_text(encoding="utf-8")):
                # Those that are nowhere here are dt-schema's own.
                found = [place for place in (path.parent / name, bindings / name) if place.exists()]
                if found and found[0] not in wanted:
                    wanted.append(found[0])
        # Side by side, as ours would stand in a kernel tree.
        shutil.rmtree(self.staged, ignore_errors=True)
        for path in wanted:
            place = self.staged / path.relative_to(bindings if path.is_relative_to(bindings) else TOP / "dt-bindings")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
        status, lines = run("dt-mk-schema", "-j", "-o", schema, self.staged, env=self.python)
        if status:
            raise RuntimeError("\n".join(lines[-5:]))

    def dt_validate(self, dtbs: list[Path]) -> list[str]:
        status, lines = run("dt-validate", "-m", "-s", self.dt_schema(), *dtbs, env=self.python)
        if status:
            raise RuntimeError(f"dt-validate: status {status}: {' '.join(lines[-1:])}")
        # Nodes without a schema are findings, too (-m). Where a finding comes from is on a line of its own.
        return [line for line in lines if not line.startswith("\tfrom schema")]

    def compile_dts(self, source: Path) -> tuple[list[str], Path]:
        """As dt_binding_check does it."""
        dtb = OUT / "dt" / f"{source.stem}.dtb"
        dtb.unlink(missing_ok=True)
        preprocess = ("cpp", "-nostdinc", "-undef", "-D__DTS__", "-x", "assembler-with-cpp", "-P")
        status, text = run(*preprocess, f"-I{self.tree / 'include'}", source)
        if status:
            return text, dtb
        quiet = ("avoid_unnecessary_addr_size", "graph_child_address", "unique_unit_address")
        words = [f"-Wno-{name}" for name in quiet]
        _, lines = run("dtc", "-I", "dts", "-O", "dtb", "-o", dtb, *words, "-", text="\n".join(text) + "\n")
        return lines, dtb

    def dt_bindings(self) -> tuple[list[str], str]:
        """dt_binding_check: the schemas of ours, and the examples in them and beside them."""
        bindings = self.tree / "Documentation/devicetree/bindings"
        schemas, examples = files("dt-bindings/*.yaml"), files("dt-bindings/examples/*.dts")
        style = ("-f", "parsable", "-c", bindings / ".yamllint")
        findings = findings_of("yamllint", *style, *schemas, env=self.python)
        self.dt_schema()
        staged = [self.staged / path.relative_to(TOP / "dt-bindings") for path in schemas]
        findings += findings_of("dt-doc-validate", "-u", self.staged, *staged, env=self.python)
        sources = list(examples)
        for path in schemas:
            source = OUT / "dt" / f"{path.stem}.example.dts"
            _, lines = run("dt-extract-example", path, env=self.python)
            source.write_text("\n".join(lines) + "\n", encoding="utf-8")
            sources.append(source)
        compiled = [self.compile_dts(source) for source in sources]
        findings += [line for lines, _ in compiled for line in lines]
        said = self.dt_validate([dtb for _, dtb in compiled if dtb.exists()])
        # The roots stand for boards.
        findings += [line for line in said if not re.search(r": /: failed to match .*'(example|foo)'\]$", line)]
        return findings, f"{len(schemas)} schemas, {len(sources)} examples"

    def dt_twin(self) -> tuple[list[str], str]:
        """dtbs_check: the nodes that the model makes, out of the device tree that QEMU hands to the guest."""
        self.dt_schema()
        variants = [f"chip={chip}" for chip in CHIPS] + ["chip=gbeth:noncoherent=1:phy=fixed", "chip=gen3:soc=r8a7796"]
        findings = []
        dtbs = {}
        with parts(Options(run="true")) as made:
            for number, variant in enumerate(variants):
                dtb = OUT / "dt" / f"twin-{number}.dtb"
                dtb.unlink(missing_ok=True)
                device = f"twin,id=port0,lib={made.model},args={variant}:peer=none,mac=02:00:00:00:77:01"
                qemu = ("env", f"LD_PRELOAD={made.preload}", made.qemu, "-nodefaults", "-display", "none")
                machine = ("-M", f"virt,gic-version=3,dumpdtb={dtb}", "-cpu", "cortex-a55")
                _, lines = run(*qemu, *machine, "-device", device)
                if dtb.exists():
                    dtbs[dtb] = variant
                else:
                    findings += [f"{variant}: no device tree", *lines]
        lines = self.dt_validate(list(dtbs))
        for dtb, variant in dtbs.items():
            said = [line.removeprefix(f"{dtb}: ") for line in lines if line.startswith(f"{dtb}: ")]
            findings += [f"{variant}: {line}" for line in said if not self.accepted(line)]
        return findings, f"{len(variants)} variants of the model"

    def accepted(self, finding: str) -> bool:
        if not re.search(r"ethernet|reset-controller|clock-[0-9a-f]+-|ravb-twin", finding):
            return True  # a node of QEMU's own
        said = re.search(r"'[^:]*(?= do(es)? not match any)|'[^']*'(?= is a required property)", finding)
        short = re.search(r": (\S+): .* is too short$", finding)
        named = re.findall(r"'([^']*)'", said[0]) if said else [f"{short[1]} too short"] if short else [finding]
        return set(named) <= set(ACCEPTED)

    # Scripts and documents

    def shellcheck(self) -> tuple[list[str], str]:
        paths = shell_files()
        return findings_of("shellcheck", "-x", "-P", "SCRIPTDIR", "-f", "gcc", *paths), f"{len(paths)} files"

    def ruff(self) -> tuple[list[str], str]:
        paths = python_files()
        status, lines = run(self.tools / "ruff", "check", "--no-cache", "--output-format", "concise", *paths)
        return lines if status else [], f"{len(paths)} files"

    def rst(self) -> tuple[list[str], str]:
        """All documents as one Sphinx project, so that references between them are looked at too."""
        stage = OUT / "rst"
        shutil.rmtree(stage, ignore_errors=True)
        paths = files("*.rst")
        names = []
        for path in paths:
            name = path.relative_to(TOP)
            (stage / name.parent).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, stage / name)
            names.append(f"   /{name.with_suffix('')}")
        (stage / "index.rst").write_text("All\n===\n\n.. toctree::\n\n" + "\n".join(names) + "\n", encoding="utf-8")
        settings = ("project=ravb_rs", "root_doc=index", "highlight_language=none")
        words = [word for setting in settings for word in ("-D", setting)]
        sphinx = ("python3", "-m", "sphinx", "-C", "-E", "-q", "-b", "dummy")
        lines = findings_of(*sphinx, *words, stage, OUT / "rst.out", env=self.python)
        return [line.replace(f"{stage}/", "") for line in lines], f"{len(paths)} files"

    # The model

    def cargo(self, *words: str, env: dict | None = None) -> list[str]:
        settings = {"CARGO_TARGET_DIR": str(OUT / "twin"), "CARGO_TERM_COLOR": "never", **(env or {})}
        status, lines = run("cargo", *words, cwd=TOP / "twin", env=settings)
        return (lines or [f"cargo: status {status}"]) if status else []

    def twin_fmt(self) -> tuple[list[str], str]:
        return self.cargo("fmt", "--check", "--", "--color", "never"), "cargo fmt"

    def twin_clippy(self) -> tuple[list[str], str]:
        return self.cargo("clippy", "-q", "--locked", "--all-targets", "--", "-Dwarnings"), "cargo clippy, all targets"

    def twin_doc(self) -> tuple[list[str], str]:
        words = ("doc", "-q", "--locked", "--no-deps", "--document-private-items")
        return self.cargo(*words, env={"RUSTDOCFLAGS": "-Dwarnings"}), "cargo doc, private items too"


# The longest first.
CHECKS = {
    "clippy": Lint.clippy,
    "rustdoc": Lint.rustdoc,
    "sparse": Lint.sparse,
    "checkpatch": Lint.checkpatch_kernel,
    "checkpatch-rest": Lint.checkpatch_rest,
    "twin-clippy": Lint.twin_clippy,
    "twin-doc": Lint.twin_doc,
    "dt-twin": Lint.dt_twin,
    "dt-bindings": Lint.dt_bindings,
    "shellcheck": Lint.shellcheck,
    "series": Lint.series,
    "rst": Lint.rst,
    "rustfmt": Lint.rustfmt,
    "twin-fmt": Lint.twin_fmt,
    "ruff": Lint.ruff,
    "unsafe": Lint.unsafe,
}


def judge(name: str, lint: Lint) -> tuple[str, list[str]]:
    """One check: its TAP line without the number, and its findings."""
    start = time.monotonic()
    try:
        findings, about = CHECKS[name](lint)
    except Skip as e:
        return f"ok {{}} - {name} # SKIP {e}", []
    except (OSError, RuntimeError, subprocess.CalledProcessError, IndexError, VmError) as e:
        return f"not ok {{}} - {name}", [f"{type(e).__name__}: {e}"]
    about = f"({about}; {time.monotonic() - start:.0f} s)"
    return f"{'not ok' if findings else 'ok'} {{}} - {name} {about}", findings


def main() -> int:
    wanted = sys.argv[1:]
    if wanted == ["-l"]:
        print("\n".join(CHECKS))
        return 0
    if wanted == ["--fmt"]:
        return Lint().fmt()
    if unknown := [name for name in wanted if name not in CHECKS]:
        sys.exit(f"lint.py: no check {' '.join(unknown)}; there are: {' '.join(CHECKS)}")
    names = [name for name in CHECKS if not wanted or name in wanted]
    OUT.mkdir(parents=True, exist_ok=True)
    lint = Lint()
    print(f"1..{len(names)}", flush=True)
    failed = 0
    with ThreadPoolExecutor(WIDTH) as pool:
        for number, future in enumerate(as_completed([pool.submit(judge, name, lint) for name in names]), 1):
            line, findings = future.result()
            failed += bool(findings)
            print(line.format(number))
            for finding in findings:
                print(f"# {finding}")
            sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
