# SPDX-License-Identifier: GPL-2.0
"""Tests of what needs no guest: python3 -m unittest ravbvm.tests (in scripts/)."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from . import board, console
from .cpio import Cpio
from .error import VmError
from .options import Options


class OptionsTest(unittest.TestCase):
    def refused(self, words: str, **settings: str) -> None:
        with self.assertRaises(VmError) as raised:
            Options.parse({"RUN": "true"} | settings)
        self.assertIn(words, str(raised.exception))

    def test_defaults(self) -> None:
        self.assertEqual(Options.parse({"RUN": "true"}).peer, "host")
        self.assertEqual(Options.parse({"RUN": "true", "ICOUNT": "1"}).peer, "model")
        self.assertEqual(Options.parse({"RUN": "true", "PEER": "port"}).ports, 2)
        self.assertEqual(Options.parse({"RUN": "true", "MEM": "2G"}).memory, 2048)

    def test_empty_is_absent(self) -> None:
        options = Options.parse({"RUN": "true", "CHIP": "", "CPUS": "", "ICOUNT": "", "TIMEOUT": ""})
        self.assertEqual((options.chip, options.cpus, options.icount, options.timeout), ("gbeth", 1, False, 300))

    def test_refusals(self) -> None:
        self.refused("CHIP=x: must be one of gbeth", CHIP="x")
        self.refused("CPUS=two: must be a number from 1 to 8", CPUS="two")
        self.refused("MEM=4G: must be a size", MEM="4G")
        self.refused("RUN is missing", RUN="")
        self.refused("PEER=host: ICOUNT=1 needs", PEER="host", ICOUNT="1")
        self.refused("PORTS=1: PEER=port needs two", PEER="port", PORTS="1")
        self.refused("SHIFT needs ICOUNT=1", SHIFT="2")
        self.refused("may hold neither", PCAP="/tmp/a:b")
        self.refused("cannot write to /nowhere", TRACE="/nowhere/t")
        self.refused("there is no /nowhere", FILES="/nowhere")
        self.refused("ICOUNT=yes: must be one of 0, 1", ICOUNT="yes")

    def test_unknown_argument(self) -> None:
        with self.assertRaises(VmError):
            Options.parse({"RUN": "true", "CHPI": "gen3"}, given=["CHPI"])


class CpioTest(unittest.TestCase):
    def test_unpacks(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            source = Path(name, "source")
            source.mkdir()
            (source / "script").write_text("#!/bin/sh\n")
            (source / "script").chmod(0o755)
            (source / "link").symlink_to("script")
            (source / "__pycache__").mkdir()
            archive = Cpio()
            archive.file("job/env", b"A=1\n")
            archive.file("job/run", b"true")
            archive.copy("job/files/source", source)
            data = archive.finish()
            self.assertEqual(len(data) % 512, 0)
            target = Path(name, "target")
            target.mkdir()
            subprocess.run(["cpio", "-id", "--quiet"], input=data, cwd=target, check=True)
            found = sorted(str(p.relative_to(target)) for p in target.rglob("*"))
            inside = ["job/files/source", "job/files/source/link", "job/files/source/script"]
            self.assertEqual(found, ["job", "job/env", "job/files", *inside, "job/run"])
            self.assertEqual((target / "job/env").read_bytes(), b"A=1\n")
            self.assertEqual((target / "job/files/source/script").stat().st_mode & 0o777, 0o755)
            self.assertEqual((target / "job/files/source/link").readlink(), Path("script"))


class JobStreamTest(unittest.TestCase):
    def feed(self, data: bytes, step: int) -> tuple[bytes, console.JobStream]:
        seen = bytearray()
        stream = console.JobStream(seen.extend)
        for begin in range(0, len(data), step):
            stream.feed(data[begin : begin + step])
        stream.finish()
        return bytes(seen), stream

    def test_output_and_result(self) -> None:
        cases = (
            (b"hello\n\x1eravb-rs status 3\n", b"hello\n", 3),
            (b"no end of line\x1eravb-rs status 0\n", b"no end of line", 0),
            (b"a\r\n\x00\x1e\x1b[0m\x1eravb-rs status 0\n", b"a\r\n\x00\x1e\x1b[0m", 0),
            (b"\x1eravb-rs status 9\nRUN's own\n\x1eravb-rs status 1\n", b"\x1eravb-rs status 9\nRUN's own\n", 1),
            (b"died\n", b"died\n", None),
            (b"died\x1eravb-rs sta", b"died\x1eravb-rs sta", None),
            (b"x\x1e\x1eravb-rs status 4\n", b"x\x1e", 4),
        )
        for data, output, status in cases:
            for step in 1, 2, 7, 1000:
                seen, stream = self.feed(data, step)
                self.assertEqual((seen, stream.status), (output, status), (data, step))

    def test_other_records(self) -> None:
        _, stream = self.feed(b"\x1eravb-rs expect-splat\n\x1eravb-rs status 0\n", 3)
        self.assertTrue(stream.expects_splat)
        self.assertEqual(stream.status, 0)
        _, stream = self.feed(b"\x1eravb-rs error no link on eth0\n", 3)
        self.assertEqual(stream.error, "no link on eth0")

    def test_output_is_not_delayed(self) -> None:
        seen = bytearray()
        stream = console.JobStream(seen.extend)
        stream.feed(b"a prompt: ")
        self.assertEqual(seen, b"a prompt: ")


class KernelLogTest(unittest.TestCase):
    def splats(self, text: str) -> list[str]:
        log = console.KernelLog(lambda line: None)
        log.feed(text.encode())
        log.finish()
        return log.splats

    def test_splats(self) -> None:
        for line in (
            "[   12.345678] WARNING: CPU: 0 PID: 1 at net/core/dev.c:1 f+0x1/0x2",
            "[    1.000000] WARNING: [kernel/x.c:3] at foo+0x1/0x2, CPU#0: bash/1",
            "[    1.000000][    T1] BUG: KASAN: slab-use-after-free in x",
            "[    1.000000] Unable to handle kernel NULL pointer dereference at 0",
            "[    1.000000] Internal error: Oops: 0000000096000004 [#1] SMP",
            "[    1.000000] WARNING: possible circular locking dependency detected",
            "[    1.000000] BUG: sleeping function called from invalid context",
            "[    1.000000] INFO: task x:1 blocked for more than 120 seconds.",
            "[    1.000000] DMA-API: ravb b000000.ethernet: device driver frees DMA memory",
            "[    1.000000] DMA-API: cacheline tracking ENOMEM, dma-debug disabled",
            "[    1.000000] DMA-API: debugging out of memory - disabling",
            "[    1.000000] kmemleak: Kernel memory leak detector disabled",
            "[    1.000000] ODEBUG: Out of memory. ODEBUG disabled",
            "Kernel panic - not syncing",
        ):
            self.assertEqual(self.splats(line + "\n"), [line])
            self.assertEqual(self.splats(line), [line])

    def test_ordered_failures(self) -> None:
        ordered = "[    1.000000][  T1] FAULT_INJECTION: forcing a failure.\n[    1.000000] name failslab\n"
        stack = "[    1.000000] Call trace:\n[    1.000000]  f+0x1/0x2\n"
        self.assertEqual(self.splats(ordered + stack), [])
        # One stack each.
        self.assertEqual(len(self.splats(ordered + stack + stack)), 1)
        self.assertEqual(len(self.splats(ordered + "[    1.000000] BUG: x\n" + stack)), 1)

    def test_harmless(self) -> None:
        for line in (
            "[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x411fd050]",
            "[    1.000000] ravb b000000.ethernet eth0: Link is Up - 1Gbps/Full - flow control off",
            "[    1.000000] Warning: unable to open an initial console.",
            "[    1.000000] init: the test looks for 'BUG: '",
        ):
            self.assertEqual(self.splats(line + "\r\n"), [])


class CommandTest(unittest.TestCase):
    made = board.Parts(Path("/q/qemu"), "", Path("/g"), Path("/m,x.so"), Path("/b"))

    def words(self, **settings: str) -> list[str]:
        options = Options.parse({"RUN": "true"} | settings)
        return board.command(options, self.made, Path("/i"), "null,id=job", "null,id=console", None)

    def test_properties_can_be_replaced(self) -> None:
        words = self.words(PEER="model", TWIN="seed=7:kind=1")
        device = words[words.index("-device", words.index("-drive") + 3) + 1]
        self.assertEqual(
            device, "twin,id=port0,lib=/m,,x.so,args=chip=gbeth:peer=model:seed=7:pace=0:kind=1,mac=02:00:00:00:77:01"
        )

    def test_deterministic_runs_have_nothing_of_the_host(self) -> None:
        words = self.words(ICOUNT="1", SHIFT="2")
        self.assertIn("shift=2,sleep=off", words)
        self.assertNotIn("-drive", words)
        self.assertNotIn("-netdev", words)

    def test_two_ports(self) -> None:
        words = self.words(PEER="port")
        devices = [word for word in words if word.startswith("twin,")]
        self.assertEqual(len(devices), 2)
        self.assertIn("mac=02:00:00:00:77:02,netdev=wire1", devices[1])


class MakeTest(unittest.TestCase):
    """What the Makefile makes of what is typed."""

    def make(self, *words: str) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as where:
            script = Path(where) / "Makefile"
            script.write_text('include Makefile\nshow:\n\t@echo "$$RUN"\n')
            command = ["make", "-s", "-f", str(script), "show", *words]
            return subprocess.run(command, cwd=board.TOP, capture_output=True, text=True, check=False)

    def test_a_variable_of_the_guest_is_not_for_make(self) -> None:
        self.assertEqual(self.make("RUN=ping $REMOTE_V4 $(id)").stdout, "ping $REMOTE_V4 $(id)\n")
        self.assertEqual(self.make("RUN=ping $$REMOTE_V4").stdout, "ping $REMOTE_V4\n")

    def test_a_misspelt_option_is_refused(self) -> None:
        done = self.make("RUN=true", "CHIPS=gen3")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("there is no option CHIPS", done.stderr)


if __name__ == "__main__":
    unittest.main()
