#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""XDP as its users load it: the programs of xdp-tools, which go through libxdp and BTF."""

import re
import shutil
import signal
import subprocess
from pathlib import Path

from lib.py import RavbEnv, KsftNamedVariant, ksft_eq, ksft_exit, ksft_ge, ksft_in, ksft_pr, ksft_run, ksft_true
from lib.py import KsftSkipEx, cmd, defer, ip, ksft_variants, until
from lib.py.packets import ETH_P_TEST, eth, of_type

# One of the package's own programs, which lets everything pass that is not listed.
PROGRAMS = "/usr/lib/*/bpf"
PROGRAM = "xdpfilt_alw_eth.o"
COUNT = 200


def _program(cfg) -> int | None:
    """The program that the port has."""
    return ip(f"-d link show dev {cfg.ifname}", json=True)[0].get("xdp", {}).get("prog", {}).get("id")


def _stop(process: subprocess.Popen) -> str:
    """As by a key; what the program has said may be why it ended by itself."""
    if process.stdout.closed:
        return ""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=20)[0]
    for line in said.splitlines():
        ksft_pr(line)
    return said


@ksft_variants([KsftNamedVariant("drop", "drop", "no-touch"), KsftNamedVariant("drop_parsed", "drop", "parse-ip"),
                KsftNamedVariant("pass", "pass", "read-data"), KsftNamedVariant("tx", "tx", "swap-macs")])
def bench(cfg, command, operation) -> None:
    """xdp-bench has each frame dropped, passed or sent back, and counts what the driver counts."""
    counter = f"rx_queue_0_xdp_{command}"
    frames = [eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, n.to_bytes(4, "big") + bytes(96)) for n in range(COUNT)]
    process = subprocess.Popen(["xdp-bench", command, "-p", operation, "-i", "1", cfg.ifname],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    defer(_stop, process)
    until(lambda: _program(cfg) or process.poll() is not None, 20, "the program is loaded")
    ksft_true(_program(cfg), "no program is loaded")
    before = cfg.queue_stats()[counter]
    with cfg.local_packets() as near, cfg.remote_packets() as far:
        far.send(frames)
        until(lambda: cfg.queue_stats()[counter] - before >= COUNT, 10, f"{counter} has them all")
        passed = near.capture(of_type(ETH_P_TEST, cfg.mac), COUNT if command == "pass" else 1, 0.2)
        back = far.capture(of_type(ETH_P_TEST, cfg.remote_mac), COUNT if command == "tx" else 1, 0.2)
    ksft_eq(len(passed), COUNT if command == "pass" else 0, "frames that reached the stack")
    ksft_eq(len(back), COUNT if command == "tx" else 0, "frames that came back")
    said = re.search(r"Packets received +: (\d+)", _stop(process))
    ksft_ge(int(said[1]) if said else 0, COUNT, "frames that xdp-bench has counted")
    ksft_eq(process.returncode, 0, "status of xdp-bench")
    ksft_eq(_program(cfg), None, "program afterwards")


def loader(cfg) -> None:
    """xdp-loader loads two programs behind its dispatcher, in native mode, and takes them away."""
    path = next(Path("/").glob(f"{PROGRAMS.lstrip('/')}/{PROGRAM}"))
    defer(cmd, f"xdp-loader unload {cfg.ifname} --all", fail=False)
    for _ in range(2):
        cmd(f"xdp-loader load -m native {cfg.ifname} {path}")
    status = cmd(f"xdp-loader status {cfg.ifname}").stdout
    ksft_pr(status)
    ksft_in("native", status)
    before = cfg.queue_stats()["rx_queue_0_xdp_pass"]
    cfg.ping(count=3)
    ksft_ge(cfg.queue_stats()["rx_queue_0_xdp_pass"] - before, 3, "frames passed")
    cmd(f"xdp-loader unload {cfg.ifname} --all")
    ksft_eq(_program(cfg), None, "program afterwards")
    cfg.ping(count=3)


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        if cfg.driver != "rs":
            raise KsftSkipEx("the C driver has no XDP")
        for program in ("xdp-bench", "xdp-loader"):
            if not shutil.which(program):
                raise KsftSkipEx(f"there is no {program} (package xdp-tools)")
        if not Path("/sys/kernel/btf/vmlinux").exists():
            raise KsftSkipEx("the kernel has no BTF, by which these programs are loaded")
        cmd("mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf", shell=True)
        ksft_run([bench, loader], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
