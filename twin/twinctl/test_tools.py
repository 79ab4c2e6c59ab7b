# SPDX-License-Identifier: GPL-2.0-or-later

"""Tests of the guest's commands on this machine, without a model: test_tools.py DIRECTORY.

A file stands for the control page and a directory for the device tree; sockets are real, on the loopback.
"""

import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

TOOLS = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path("build/twinctl/native")


def run(*words, env=None, timeout=20):
    return subprocess.run([str(TOOLS / words[0]), *words[1:]], capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **(env or {})}, check=False)


class Twinctl(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        top = Path(self.dir.name)
        self.tree = top / "dt"
        self.mem = top / "mem"
        # Two pages; the directory's order must not matter.
        for instance in (1, 0):
            self.node(f"control@{instance}", instance * 0x2000, instance)
        self.node("other@0", 0, 9, b"something,else\0")
        self.mem.write_bytes(bytes(0x4000))
        self.page(0, 1, b"")
        self.page(0x2000, 1, b"second\n")
        self.env = {"TWINCTL_DT": str(self.tree), "TWINCTL_MEM": str(self.mem)}
        self.env["NETIF"] = ""

    def tearDown(self):
        self.dir.cleanup()

    def node(self, name, addr, instance, compatible=b"ravb-twin,control\0"):
        node = self.tree / name
        node.mkdir(parents=True)
        (node / "compatible").write_bytes(compatible)
        (node / "reg").write_bytes(struct.pack(">QQ", addr, 0x1000)[:8])
        (node / "ravb-twin,instance").write_bytes(struct.pack(">I", instance))

    def page(self, base, status, answer):
        """What the model would show."""
        data = bytearray(self.mem.read_bytes())
        struct.pack_into("<4sIIIII I", data, base, b"RTWN", 1, 5, 2, status, 0, len(answer))
        data[base + 0x800:base + 0x800 + len(answer)] = answer
        self.mem.write_bytes(data)

    def ctl(self, *words):
        return run("twinctl", *words, env=self.env)

    def command(self, base=0):
        data = self.mem.read_bytes()
        length = struct.unpack_from("<I", data, base + 0x14)[0]
        return data[base + 0x400:base + 0x400 + length].decode()

    def test_order_goes_to_the_first(self):
        done = self.ctl("flood", "size=64", "count=3")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(self.command(), "flood size=64 count=3")

    def test_instance(self):
        done = self.ctl("-n", "1", "stats")
        self.assertEqual((done.returncode, done.stdout), (0, "second\n"))
        self.assertEqual(self.command(0x2000), "stats")
        done = self.ctl("-n", "2", "stats")
        self.assertEqual((done.returncode, done.stderr), (2, "twinctl: there is no instance 2\n"))

    def test_refusal(self):
        self.page(0, 2, b"fly: no")
        done = self.ctl("fly")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "twinctl: fly: no\n"))

    def test_no_answer(self):
        self.page(0, 0, b"")
        self.assertEqual(self.ctl("stats").returncode, 2)

    def test_long_answer(self):
        # The file does not turn pages, so both windows show the same.
        self.page(0, 1, b"x" * 2047 + b"\n")
        data = bytearray(self.mem.read_bytes())
        struct.pack_into("<I", data, 0x18, 2048 + 10)
        self.mem.write_bytes(data)
        self.assertEqual(self.ctl("help").stdout, "x" * 2047 + "\n" + "x" * 10 + "\n")
        self.assertEqual(self.mem.read_bytes()[0x1c], 1)

    def test_now(self):
        self.assertEqual(self.ctl("now").stdout, f"{2 << 32 | 5}\n")

    def test_list(self):
        self.assertEqual(self.ctl("list").stdout, "0 0x0\n1 0x2000\n")

    def test_wrong_page(self):
        self.mem.write_bytes(bytes(0x4000))
        done = self.ctl("stats")
        self.assertEqual((done.returncode, done.stderr), (2, "twinctl: no control page at 0x0\n"))

    def test_no_twin(self):
        self.env["TWINCTL_DT"] = self.dir.name
        done = self.ctl("stats")
        self.assertEqual(done.returncode, 2)
        self.assertIn("this machine has no twin", done.stderr)

    def test_unknown_device(self):
        done = self.ctl("-d", "nosuch0", "stats")
        self.assertEqual((done.returncode, done.stderr), (2, "twinctl: nosuch0 is not a port of a twin\n"))

    def test_longest_order(self):
        self.assertEqual(self.ctl("mark", "x" * 1019).returncode, 0)
        self.assertEqual(len(self.command()), 1024)
        self.assertEqual(self.ctl("mark", "x" * 1020).returncode, 2)

    def test_script(self):
        script = Path(self.dir.name) / "script"
        script.write_text("# frames\n\n10us 0102 size=60\n1ms ff defect=crc # bad\n")
        self.assertEqual(self.ctl("script", str(script)).returncode, 0)
        # Only the last is left in the page; its time counts from 1 ms after the start.
        self.assertEqual(self.command(), f"frame ff defect=crc  at={(2 << 32 | 5) + 2000000}")
        script.write_text("ten 0102\n")
        done = self.ctl("script", str(script))
        self.assertEqual(done.returncode, 2)
        self.assertIn('line 1: not "TIME HEX ..."', done.stderr)

    def test_usage(self):
        for words in ([], ["-x"], ["-n", "0", "-d", "x", "stats"], ["script"]):
            done = self.ctl(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("usage: twinctl", done.stderr)


def fields(text):
    return {key: float(value) for key, value in (word.split("=") for word in text.split())}


class Mmiotime(unittest.TestCase):
    def run_it(self, *arguments):
        with tempfile.NamedTemporaryFile() as memory:
            memory.write(bytes(0x4000))
            memory.flush()
            return run("mmiotime", *arguments, env={"MMIOTIME_MEM": memory.name})

    def test_times_reads(self):
        done = self.run_it("0x1004", "1000")
        self.assertRegex(done.stdout, r"^reads=1000 ns=[1-9]\d* ns_each=\d+\n$")

    def test_refuses(self):
        for arguments in (("0x1002", "1"), ("x", "1"), ("0x1000", "0"), ("0x1000",)):
            self.assertEqual(self.run_it(*arguments).returncode, 2)


class Sockets(unittest.TestCase):
    def test_udpsink(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        tool = subprocess.Popen([TOOLS / "udpsink", "-a", "127.0.0.1", str(port), "1500"],
                                stdout=subprocess.PIPE, text=True)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.connect(("127.0.0.1", port))
            # An ICMP error comes back until the tool listens.
            while True:
                try:
                    sender.send(b"probe")
                    sender.send(b"probe")
                    break
                except ConnectionRefusedError:
                    continue
            # One is missing, one comes late, one twice.
            for number in (0, 1, 4, 3, 3):
                sender.send(number.to_bytes(8, "big") + bytes(92))
        got = fields(tool.communicate(timeout=20)[0])
        # The first of the two probes may have been the one that was refused.
        probes = got["datagrams"] - 5
        self.assertIn(probes, (1, 2))
        self.assertEqual(got["bytes"], 500 + probes * 5)
        self.assertEqual(got["late"], 2)
        self.assertEqual(got["window_ns"], 1.5e9)

    def test_tcp_both_ways(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        sink = subprocess.Popen([TOOLS / "tcpsink", "-c", "-l", "127.0.0.1", port, "10000"],
                                stdout=subprocess.PIPE, text=True)
        for _ in range(1000):
            sent = run("tcpblast", "127.0.0.1", port, "200")
            if "refused" not in sent.stderr:
                break
        self.assertEqual(sent.returncode, 0, sent.stderr)
        got = fields(sink.communicate(timeout=20)[0])
        self.assertEqual(got["bytes"], fields(sent.stdout)["bytes"])
        self.assertGreater(got["bytes"], 1e6)
        self.assertGreaterEqual(fields(sent.stdout)["ns"], 200e6)

    def test_tcp_at_a_rate(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()

            def drain():
                with server.accept()[0] as peer:
                    while peer.recv(1 << 20):
                        pass

            thread = threading.Thread(target=drain)
            thread.start()
            done = run("tcpblast", "-r", "20000000", "127.0.0.1", str(server.getsockname()[1]), "300")
            thread.join()
        sent = fields(done.stdout)
        # A call more than the rate allows: it is made first, and slept after.
        self.assertLessEqual(sent["bytes"], 20e6 / 8 * sent["ns"] / 1e9 + 64 * 1024)
        self.assertGreaterEqual(sent["bytes"], 2 * 64 * 1024)

    def test_wrong_data_is_seen(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()

            def serve():
                with server.accept()[0] as peer:
                    self.order = peer.recv(100)
                    peer.sendall(bytes([0, 1, 3]))

            thread = threading.Thread(target=serve)
            thread.start()
            done = run("tcpsink", "-c", "-o", "3", "127.0.0.1", str(server.getsockname()[1]), "5000")
            thread.join()
        self.assertEqual((done.returncode, self.order), (1, b"3\n"))
        self.assertIn("the data is wrong after byte 0", done.stderr)

    def test_usage(self):
        for words in (["udpsink"], ["udpsink", "x", "1"], ["udpsink", "5", "0"], ["tcpblast", "127.0.0.1"],
                      ["tcpblast", "-r", "5", "127.0.0.1", "1", "1"],
                      ["tcpsink", "127.0.0.1", "70000", "1"], ["tcpsink", "-z"]):
            self.assertEqual(run(*words).returncode, 2, words)


if __name__ == "__main__":
    unittest.main()
