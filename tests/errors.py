#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""Damaged frames: each kind is counted as what it is, none reaches the stack, reception goes on."""

from lib.py import RavbEnv, KsftNamedVariant, ksft_eq, ksft_exit, ksft_ge, ksft_pr, ksft_run, \
    ksft_variants
from lib.py import KsftSkipEx, fatal, until, verdict
from lib.py.packets import ETH_P_TEST, eth, of_type

COUNT = 7
ERRORS = ("rx_errors", "rx_crc_errors", "rx_frame_errors", "rx_length_errors", "rx_missed_errors")

# Defect on the wire -> the counter for it.
KINDS = {"crc": "rx_crc_errors", "phy": "rx_frame_errors", "short": "rx_length_errors",
         "long": "rx_length_errors", "carrier-ext": "rx_missed_errors"}


@ksft_variants([KsftNamedVariant(kind, kind) for kind in KINDS])
def damaged(cfg, kind) -> None:
    """Frames with one defect."""
    twin = cfg.require_twin()
    # What the MAC thinks too long is ordered; that it fits into a slot keeps other effects away.
    size = 40 if kind == "short" else 500
    bad = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, b"bad" + bytes(23))
    good = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, b"good" + bytes(82))
    before = cfg.stats()
    with cfg.local_packets() as sock:
        for _ in range(COUNT):
            twin.frame(bad, size=size, defect=kind)
            twin.frame(good)
        seen = sock.capture(of_type(ETH_P_TEST, cfg.mac), COUNT, 5)
    ksft_eq([f[14:18] for f in seen], [b"good"] * COUNT, "frames that reached the stack")
    after = until(lambda: s if (s := cfg.stats())["rx_packets"] >= before["rx_packets"] + COUNT
                  else None, 5, "good frames counted")
    grown = {n: after[n] - before[n] for n in ERRORS if after[n] != before[n]}
    ksft_pr(grown)
    if cfg.chip.name == "gbeth":
        # RCR.EFFS=0: the MAC drops damaged frames itself and tells nobody.
        ksft_eq(grown, {}, "counters of frames that never left the MAC")
    else:
        ksft_eq(grown, {"rx_errors": COUNT, KINDS[kind]: COUNT}, "counters")


@ksft_variants([KsftNamedVariant("crc_and_phy", ("crc", "phy")),
                KsftNamedVariant("short_and_crc", ("short", "crc"))])
def twice_damaged(cfg, kinds) -> None:
    """A frame with two defects is one error, and counts for both kinds."""
    twin = cfg.require_twin()
    if cfg.chip.name == "gbeth":
        raise KsftSkipEx("gbeth drops damaged frames in the MAC")
    before = cfg.stats()
    frame = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes(26 if "short" in kinds else 86))
    twin.frame(frame, defect=",".join(kinds))
    until(lambda: cfg.stats()["rx_errors"] > before["rx_errors"], 5, "the frame is counted")
    after = cfg.stats()
    grown = {n: after[n] - before[n] for n in ERRORS if after[n] != before[n]}
    ksft_eq(grown, {"rx_errors": 1, **{KINDS[k]: 1 for k in kinds}})


def false_carrier(cfg) -> None:
    """A false carrier is counted, once."""
    twin = cfg.require_twin()
    before = cfg.stats()["tx_carrier_errors"]
    twin.false_carrier()
    until(lambda: cfg.stats()["tx_carrier_errors"] > before, 5, "tx_carrier_errors")
    ksft_eq(cfg.stats()["tx_carrier_errors"] - before, 1, "tx_carrier_errors")
    cfg.ping(wait=5)


def error_then_long(cfg) -> None:
    """The slot of a damaged short frame takes a long frame next time round, whole."""
    twin = cfg.require_twin()
    ring = 1024
    short = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes(46))
    full = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, bytes(range(250)) * 6)
    before = cfg.stats()
    with cfg.local_packets() as sock, cfg.remote_packets() as peer:
        for _ in range(4):
            twin.frame(short, defect="crc")
        peer.send([full], ring + 8, gap_us=60)
        seen = sock.capture(of_type(ETH_P_TEST, cfg.mac), ring + 8, 10)
    after = cfg.stats()
    errors = {n: after[n] - before[n] for n in ERRORS if after[n] != before[n]}
    whole = sum(f == full for f in seen)
    ksft_pr(f"{whole} of {ring + 8} long frames whole, {len(seen) - whole} cut; errors {errors}")
    # The C driver gives a slot back with the size that the damaged frame left in it.
    verdict(cfg, "T1", whole, ring + 8, lambda n: n < ring + 8, "long frames received whole")


# Types of descriptors (DT).
EEMPTY, FMID, FSTART, FEND, FSINGLE, LINK, EOS = 3, 4, 5, 6, 7, 8, 10
LARGEST = 4095          # DS has twelve bits

# What the DMAC says of slots, instead of that each has a whole frame of 60 bytes: type and size, where
# they are wrong. Each is one error.
DESCRIPTORS = {
    "first_without_header": [(FSTART, 13), (FEND, None)],
    "first_empty": [(FSTART, 0), (FMID, None), (FEND, None)],
    "parts_too_short": [(FSTART, 14), (FEND, 1)],
    "whole_empty": [(FSINGLE, 0)],
    "whole_too_short": [(FSINGLE, 15)],
    "whole_too_long": [(FSINGLE, LARGEST)],
    "first_too_long": [(FSTART, LARGEST), (FEND, None)],
    "last_too_long": [(FSTART, None), (FEND, LARGEST)],
    "no_start": [(FMID, None), (FEND, None)],
    "no_end": [(FSTART, None), (FMID, None)],
    "type_zero": [(0, None)],
    "eempty": [(EEMPTY, None)],
    "link": [(LINK, None)],
    "end_of_set": [(EOS, None)],
}


@ksft_variants([KsftNamedVariant(name, heads) for name, heads in DESCRIPTORS.items()])
def senseless(cfg, heads) -> None:
    """Descriptors that no DMAC should write: counted once, nothing of them reaches the stack."""
    twin = cfg.require_twin()
    fatal(cfg, "T8")
    bad = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, b"bad" + bytes(43))
    good = eth(cfg.mac, cfg.remote_mac, ETH_P_TEST, b"good" + bytes(82))
    # Somebody else's frame among those that shall look like one is an error of its own.
    for _ in range(5):
        before = cfg.stats()
        with cfg.local_packets() as sock:
            for kind, size in heads:
                twin.rx_head(kind, size, ETH_P_TEST)
            for _ in heads:
                twin.frame(bad)
            for _ in range(COUNT):
                twin.frame(good)
            seen = sock.capture(of_type(ETH_P_TEST, cfg.mac), COUNT, 5)
        after = cfg.stats()
        others = after["rx_packets"] - before["rx_packets"] - COUNT
        if others == 0:
            break
        ksft_pr(f"{others} frames of others came between: once more")
    ksft_eq([f[14:18] for f in seen], [b"good"] * COUNT, "frames that reached the stack")
    grown = {n: after[n] - before[n] for n in (*ERRORS, "rx_dropped") if after[n] != before[n]}
    ksft_eq(grown, {"rx_errors": 1, "rx_length_errors": 1}, "counters")


def still_fine(cfg) -> None:
    """After all that, traffic is as before."""
    cfg.ping(wait=5)
    cfg.ping(wait=5, size=1472)
    ksft_ge(cfg.stats()["rx_packets"], 1)


def main() -> None:
    """Ksft boiler plate main"""
    with RavbEnv(__file__) as cfg:
        ksft_run([damaged, twice_damaged, false_carrier, error_then_long, senseless,
                  still_fine], args=(cfg,))
    ksft_exit()


if __name__ == "__main__":
    main()
