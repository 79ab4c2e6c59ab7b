# SPDX-License-Identifier: GPL-2.0

"""The known faults of the C driver, and how a test expects them.

A check states what is right and what the fault makes of it. For a driver without the fault only the
right outcome passes. For the C driver exactly the faulty outcome is expected (XFAIL with the
fault's id); the right outcome then fails as "fault gone", so that the table stays true, and
anything else fails as well.
"""

from dataclasses import dataclass

from net.lib.py import KsftFailEx, KsftSkipEx, KsftXfailEx, ksft_pr

ALL = ("gbeth", "gen2", "gen3", "gen4", "rzv2m")
RCAR = ("gen2", "gen3", "gen4", "rzv2m")
GPTP = ("gen2", "rzv2m")        # clock runs only while the interface is up and in operation


@dataclass(frozen=True)
class Fault:
    """One fault of the C driver (B: from its code; R: from reports; T: found by these tests)."""

    chips: tuple
    what: str       # in one line, for the person who reads the report


KNOWN_C_FAULTS = {
    "B14": Fault(("gbeth",), "get_wol offers MagicPacket on a MAC that cannot wake"),
    "B15": Fault(("gbeth",), "csum_offload_errors is another counter under a false name: "
                             "bad checksums are not counted"),
    "B16": Fault(RCAR, "hwtstamp tx_type OFF is ignored: packets are stamped all the same"),
    "B16g": Fault(("gbeth",), "hwtstamp settings are accepted by a MAC that cannot stamp"),
    "B19": Fault(RCAR, "an external timestamp event carries 32 bits of nanoseconds, not the time"),
    "B20": Fault(RCAR, "periodic output refuses an absolute start later than 4.3 s of the clock"),
    "B21": Fault(RCAR, "adjtime and settime lose the time between capture and load"),
    "B22": Fault(ALL, "an MTU change reprograms the MAC and loses promiscuous mode"),
    "B22r": Fault(ALL, "a ring size change reprograms the MAC and loses promiscuous mode"),
    "T1": Fault(RCAR, "the slot of a damaged frame keeps that frame's size: a longer frame in it "
                      "is cut, its rest taken for another frame"),
    "T2": Fault(("gbeth",), "a frame of several descriptors keeps the four bytes of its checksum "
                            "status in its length: a packet socket's read fails"),
    "T3": Fault(RCAR, "a frame longer than a slot: its first piece is taken for a whole frame"),
    "T4": Fault(RCAR, "a resume that fails with Wake on LAN on leaves a port that hangs whoever brings it up"),
    "T5": Fault(ALL, "each poll wakes the TX queue, room or not: while frames arrive, a stuck "
                     "transmitter is never noticed"),
    "T6": Fault(ALL, "while the port is down, switching threaded NAPI off waits for ever, and with it "
                     "all that takes the RTNL"),
    "T7": Fault(("gbeth",), "its threads of NAPI are called eth%d, which no port is"),
    "T8": Fault(ALL, "a receive descriptor that says more bytes than its slot has, or less of the first "
                     "part of a frame than a header, kills the kernel"),
    "T9": Fault(("gbeth",), "the checksum engine is asked for what it cannot do: a checksum in a "
                            "fragment, or elsewhere than TCP and UDP have theirs, is left out"),
    "T10": Fault(("gbeth",), "a packet socket that goes around the queueing discipline and asks for "
                             "hardware time stamps gets a queue that is not there, and the log a warning"),
    "B9": Fault(ALL, "the recovery from a TX timeout frees the rings under a running transmit "
                     "or receive: the kernel dies"),
    "B9r": Fault(ALL, "a ring size change frees the rings under a running poll: the kernel may die"),
    "B13": Fault(("gen2",), "suspend with Wake on LAN fails half way and leaves the port dead"),
    "B29": Fault(ALL, "rx_bytes counts other bytes than the frame's own"),
    "PHC": Fault(RCAR, "the PTP clock is gone while the interface is down"),
    "XTS": Fault(RCAR, "the PTP clock cannot be read between two readings of the system's "
                       "(PTP_SYS_OFFSET_EXTENDED)"),
    "B5.2": Fault(GPTP, "a ring size change unregisters the PTP clock under its users"),
    "SWTS": Fault(("gbeth",), "no software TX timestamps"),
}


class Verdict:
    """What came out of a check that a known fault may touch."""

    RIGHT = "right"
    FAULTY = "faulty"
    OTHER = "other"


def fatal(cfg, fault_id: str) -> None:
    """Begins a case in which a driver with this fault takes the kernel down with it.

    The C driver runs it only in a guest of its own (RAVB_FATAL=id), where the caller expects
    exactly that death; see scripts/check.py.
    """
    fault = KNOWN_C_FAULTS[fault_id]
    if cfg.driver == "c" and cfg.chip.name in fault.chips and \
            cfg.env.get("RAVB_FATAL") != fault_id:
        raise KsftSkipEx(f"{fault_id}: {fault.what}; runs in a guest of its own (RAVB_FATAL)")


def verdict(cfg, fault_id: str, seen, right, faulty, comment: str = "") -> None:
    """Judges @seen, where @right and @faulty are values, or predicates of a value.

    Ends the test case by KsftXfailEx when the known fault is seen where it is expected, so it comes
    last in its case.
    """
    fault = KNOWN_C_FAULTS[fault_id]

    def matches(want) -> bool:
        return bool(want(seen)) if callable(want) else seen == want

    what = Verdict.RIGHT if matches(right) else \
        Verdict.FAULTY if matches(faulty) else Verdict.OTHER
    text = f"{comment or fault.what}: {seen!r}"
    if cfg.driver == "c" and cfg.chip.name in fault.chips:
        if what == Verdict.FAULTY:
            raise KsftXfailEx(f"{fault_id}: {fault.what}; seen {seen!r}")
        if what == Verdict.RIGHT:
            raise KsftFailEx(f"fault gone: {fault_id} ({fault.what}) was expected of the C driver "
                             f"on {cfg.chip.name}, and did not show: {text}")
        raise KsftFailEx(f"neither right nor the known fault {fault_id}: {text}")
    if what != Verdict.RIGHT:
        raise KsftFailEx(f"{'fault ' + fault_id if what == Verdict.FAULTY else 'wrong'}: {text}")
    ksft_pr(f"{fault_id} absent: {text}")
