# SPDX-License-Identifier: GPL-2.0
"""One run of a guest, from set-up to result."""

import contextlib
import fcntl
import os
import re
import selectors
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import tty
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO

from .board import command, job, parts
from .console import JobStream, KernelLog, Lines
from .error import VmError
from .options import TOP, Options
from .peer import HostPeer, no_tun_hint
from .process import start, stop

LOGS = TOP / "build/vm"
TAIL = 60  # lines of the kernel's log that are shown after a failure
STATUS_TIMEOUT = 124
STATUS_BROKEN = 125  # the guest did not get as far as RUN, or died
END_OF_FILE = b"\x04"  # what a terminal makes of Ctrl-D
ESCAPE = 0x01  # Ctrl-A, as in QEMU's own console; then x


@dataclass
class Result:
    """How a run ended."""

    status: int = STATUS_BROKEN
    stdout: bytes = b""
    log: Path = Path()
    emulator_log: Path = Path()
    duration: float = 0.0
    # Lines of the kernel that tell of a defect, whether RUN asked for them or not.
    splats: list[str] = field(default_factory=list)
    expected_splat: bool = False
    timed_out: bool = False
    # Why the status is not RUN's own.
    error: str | None = None

    @property
    def text(self) -> str:
        """What RUN printed."""
        return self.stdout.decode(errors="replace")

    def model_lines(self) -> list[str]:
        """What the model said to the person at the terminal."""
        lines = self.emulator_log.read_text(errors="replace").splitlines()
        return [line for line in lines if re.match(r"twin\d+: ", line)]


class Vm:
    """A guest that is to be run once."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def run(self, output: BinaryIO | Callable[[bytes], object] | None = None) -> Result:
        """Boots, runs, powers off. What RUN prints also goes to `output` as it comes."""
        write = _writer(output)
        with contextlib.ExitStack() as stack:
            name = stack.enter_context(_name(self.options.name))
            made = stack.enter_context(parts(self.options))
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ravb-vm-")))
            initrd = directory / "initrd"
            base = "initrd-ram.cpio" if self.options.icount else "initrd.cpio"
            _join(initrd, made.guest / base, job(self.options, made.commands))
            result = Result(log=LOGS / f"{name}.log", emulator_log=LOGS / f"{name}.qemu.log")
            emulator_log = stack.enter_context(open(result.emulator_log, "w", buffering=1, errors="replace"))
            peer = None
            if self.options.peer == "host":
                peer_log = stack.enter_context(open(LOGS / f"{name}.peer.log", "w"))
                peer = stack.enter_context(HostPeer(directory, peer_log))
                if hint := no_tun_hint(peer):
                    print(f"vm: {hint}", file=sys.stderr)
                peer.wait_ready()
            kernel_log = stack.enter_context(open(result.log, "w", buffering=1, errors="replace"))
            session = _Session(self.options, result, write, kernel_log, emulator_log)
            session.run(
                lambda port, console: command(self.options, made, initrd, port, console, peer),
                made.preload,
                peer,
                directory,
            )
        return result


def _writer(output: BinaryIO | Callable[[bytes], object] | None) -> Callable[[bytes], object]:
    if output is None:
        return lambda data: None
    if callable(output):
        return output

    def write(data: bytes) -> None:
        output.write(data)
        output.flush()

    return write


@contextlib.contextmanager
def _name(wanted: str | None) -> Iterator[str]:
    """A name for the logs that no other run has at the moment."""
    LOGS.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        name = wanted or ("vm" if number == 1 else f"vm-{number}")
        with open(LOGS / f".{name}.lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if wanted:
                    raise VmError(f"NAME={wanted}: another guest of this name is running") from None
                number += 1
                continue
            yield name
            return


def _join(target: Path, base: Path, archive: bytes) -> None:
    """The initrd: the kernel unpacks one archive after the other."""
    with open(target, "wb") as out, open(base, "rb") as source:
        shutil.copyfileobj(source, out, 1 << 20)
        # Each archive has to begin on a multiple of four.
        out.write(bytes(-out.tell() % 512))
        out.write(archive)


class _Session:
    """The emulator and the streams that come out of it."""

    def __init__(
        self,
        options: Options,
        result: Result,
        write: Callable[[bytes], object],
        kernel_log: IO[str],
        emulator_log: IO[str],
    ) -> None:
        self._options = options
        self._result = result
        self._write = write
        self._kernel_log = kernel_log
        self._emulator_log = emulator_log
        self._job = JobStream(self._job_output)
        self._kernel = KernelLog(self._kernel_line)
        self._last_words = ""  # of the emulator
        self._left = False  # a person has left a guest that was running
        self._emulator = Lines(self._emulator_line)

    def _job_output(self, data: bytes) -> None:
        if not self._options.interactive:
            self._result.stdout += data
        self._write(data)

    def _show(self, line: str) -> None:
        if self._options.verbose:
            print(line, file=sys.stderr, end="\r\n" if self._options.interactive else "\n")

    def _kernel_line(self, line: str) -> None:
        self._kernel_log.write(line + "\n")
        self._show(line)

    def _emulator_line(self, line: str) -> None:
        self._last_words = line
        self._emulator_log.write(line + "\n")
        self._show(line)

    def run(
        self,
        build: Callable[[str, str], list[str]],
        preload: str,
        peer: HostPeer | None,
        directory: Path,
    ) -> None:
        """Starts the emulator and stays until it has ended."""
        with contextlib.ExitStack() as stack:
            console, console_far = _pipe(stack)
            if self._options.interactive:
                port, port_far = _pair(stack)
                job_port = f"socket,id=job,fd={port_far}"
            else:
                port, port_far = _pipe(stack)
                job_port = f"file,id=job,path=/dev/fd/{port_far}"
            words = build(job_port, f"file,id=console,path=/dev/fd/{console_far}")
            environment = dict(os.environ)
            if preload:
                words = ["env", f"LD_PRELOAD={preload}", *words]
            if peer:
                agent = directory / "agent"
                agent.mkdir()
                environment["RAVB_AGENT_DIR"] = str(agent)
                words = peer.inside(*words)
            self._emulator_log.write(" ".join(words) + "\n")
            begin = time.monotonic()
            qemu = start(
                words,
                stderr=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env=environment,
                pass_fds=(console_far, port_far),
            )
            stack.callback(qemu.stderr.close)
            stack.callback(stop, qemu)
            for descriptor in console_far, port_far:
                os.close(descriptor)
            limit = begin + self._options.timeout if self._options.timeout else None
            with _terminal(self._options.interactive):
                self._pump(qemu, console, port, limit)
            if qemu.poll() is None:
                stop(qemu)
                self._drain(qemu.stderr.fileno(), console, port)
            self._result.duration = time.monotonic() - begin
            for stream in self._job, self._kernel, self._emulator:
                stream.finish()
            self._judge(qemu.returncode)

    def _judge(self, status: int) -> None:
        """The run's result, from how everything ended."""
        result, job_stream = self._result, self._job
        result.splats = self._kernel.splats
        result.expected_splat = job_stream.expects_splat
        result.status = STATUS_BROKEN if job_stream.status is None else job_stream.status
        if result.timed_out:
            result.status = STATUS_TIMEOUT
            result.error = f"stopped: not done after {self._options.timeout:g} s (TIMEOUT)"
        elif self._left:
            pass
        elif job_stream.error is not None:
            result.status = STATUS_BROKEN
            result.error = job_stream.error
        elif job_stream.status is None:
            if status:
                # The model's reason says more than what QEMU makes of it.
                words = (result.model_lines() or [self._last_words or "without a word"])[-1]
                result.error = f"QEMU ended with status {status}: {words}"
            else:
                result.error = "the guest ended before RUN did"
        elif status:
            result.status = STATUS_BROKEN
            result.error = f"QEMU ended with status {status} after RUN"
        if result.splats and not result.expected_splat and result.status != STATUS_TIMEOUT:
            result.status = result.status or 1
            result.error = f"{result.error + '; ' if result.error else ''}the kernel complained: {result.splats[0]}"

    def _sinks(self, stderr: int, console: int, port: int) -> dict[int, Callable[[bytes], None]]:
        return {stderr: self._emulator.feed, console: self._kernel.feed, port: self._job.feed}

    def _pump(self, qemu: subprocess.Popen, console: int, port: int, limit: float | None) -> None:
        """Passes everything on until QEMU has ended, or until time is up."""
        sinks = self._sinks(qemu.stderr.fileno(), console, port)
        ended = os.pidfd_open(qemu.pid)
        escaped = False
        with selectors.DefaultSelector() as selector:
            for descriptor in (*sinks, ended):
                os.set_blocking(descriptor, False)
                selector.register(descriptor, selectors.EVENT_READ)
            keyboard = sys.stdin.fileno() if self._options.interactive else -1
            if keyboard >= 0:
                selector.register(keyboard, selectors.EVENT_READ)
            try:
                while True:
                    left = None if limit is None else limit - time.monotonic()
                    if left is not None and left <= 0:
                        self._result.timed_out = True
                        return
                    for key, _ in selector.select(left):
                        if key.fd == ended:
                            self._drain(*sinks)
                            qemu.wait()
                            return
                        data = _read(key.fd)
                        if not data:
                            selector.unregister(key.fd)
                            if key.fd == keyboard:
                                _write_all(port, END_OF_FILE)
                        elif key.fd == keyboard:
                            data, escaped, leave = _escape(data, escaped)
                            if leave:
                                self._left = True
                                return
                            _write_all(port, data)
                        else:
                            sinks[key.fd](data)
            finally:
                os.close(ended)

    def _drain(self, *descriptors: int) -> None:
        """What is still in the pipes of an emulator that has ended."""
        sinks = self._sinks(*descriptors)
        for descriptor, sink in sinks.items():
            while data := _read(descriptor):
                sink(data)


def _pipe(stack: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe for the emulator to write to; the far end is for the caller to close."""
    near, far = os.pipe()
    stack.callback(os.close, near)
    return near, far


def _pair(stack: contextlib.ExitStack) -> tuple[int, int]:
    near, far = socket.socketpair()
    stack.callback(near.close)
    return near.fileno(), far.detach()


def _read(descriptor: int) -> bytes:
    """What is there; nothing at the end, or when nothing is left to drain."""
    try:
        return os.read(descriptor, 65536)
    except (BlockingIOError, ConnectionResetError):
        return b""
    except OSError:
        # A terminal whose other side has gone.
        return b""


def _write_all(descriptor: int, data: bytes) -> None:
    """To the emulator, which reads at the pace of the guest's serial port."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            with selectors.DefaultSelector() as selector:
                selector.register(descriptor, selectors.EVENT_WRITE)
                selector.select(1)
        except (BrokenPipeError, ConnectionResetError):
            return


def _escape(data: bytes, escaped: bool) -> tuple[bytes, bool, bool]:
    """Keys for the guest; whether the escape key is pending; whether to leave."""
    out = bytearray()
    for byte in data:
        if escaped:
            escaped = False
            if byte in b"xX":
                return bytes(out), False, True
            out.append(byte)
        elif byte == ESCAPE:
            escaped = True
        else:
            out.append(byte)
    return bytes(out), escaped, False


@contextlib.contextmanager
def _terminal(interactive: bool) -> Iterator[None]:
    """The person's terminal passes keys through while the guest has it."""
    if not interactive or not sys.stdin.isatty():
        yield
        return
    saved = termios.tcgetattr(sys.stdin)
    tty.setraw(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, saved)


def terminal_size() -> dict[str, str]:
    """For the guest's shell, which a serial port does not tell."""
    try:
        rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(sys.stdin, termios.TIOCGWINSZ, bytes(8)))
    except OSError:
        return {}
    return {"LINES": str(rows), "COLUMNS": str(columns)} if rows and columns else {}


def explain(result: Result) -> str:
    """What a person needs to know of a run that failed: the end of the logs, and why."""
    lines = []
    # A status of RUN's own has its reason in what RUN printed.
    logs = (result.log, result.emulator_log) if result.error else ()
    for log in logs:
        with contextlib.suppress(OSError):
            if tail := log.read_text(errors="replace").splitlines()[-TAIL:]:
                lines += [f"---- {_relative(log)}", *tail]
    why = result.error or f"RUN ended with status {result.status}"
    if lines:
        lines.append("----")
    return "\n".join([*lines, f"vm: {why}; kernel log: {_relative(result.log)}"])


def _relative(path: Path) -> Path:
    return path.relative_to(TOP) if path.is_relative_to(TOP) else path
