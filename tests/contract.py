#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""The rules of the register and descriptor contract, which the twin watches over all tests."""

from lib.py import RavbEnv, ksft_eq, ksft_exit, ksft_pr, ksft_run


def violations(cfg) -> None:
    """The driver broke no rule: no unknown register, reserved bit, wrong mode, bad descriptor."""
    twin = cfg.require_twin()
    counts = {}
    for line in twin.order("stats violation.").splitlines():
        name, value = line.split()
        counts[name.removeprefix("violation.")] = int(value)
    total = counts.pop("total")
    if total:
        for line in twin.order("violations").splitlines()[:40]:
            ksft_pr(line)
    ksft_eq({k: v for k, v in counts.items() if v}, {}, "broken rules")
    ksft_pr(f"{len(counts)} rules watched, none broken in {twin.stats('mac.reads')} reads and "
            f"{twin.stats('mac.writes')} writes")


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([violations], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
