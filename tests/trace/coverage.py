# SPDX-License-Identifier: GPL-2.0

"""Which registers a driver of each chip uses, and how (reference 2.1): the list to be covered.

R read, W written. A run whose trace lacks one of them has not exercised the model of it.
"""

ALL = ("gbeth", "gen2", "gen3", "gen4", "rzv2m")
RCAR = ("gen2", "gen3", "gen4", "rzv2m")
SET_CLEAR = ("gen3", "gen4")            # interrupt masks by registers of their own
MULTI_IRQ = ("gen3", "gen4", "rzv2m")

# The RZ/V2M board has renesas,no-ether-link: its driver does not look at the pin.
LINK_PIN = ("gen2", "gen3", "gen4")

REGISTERS = (
    ("CCC", "RW", ALL), ("DBAT", "W", ALL), ("CSR", "R", ALL), ("APSR", "RW", ("gen3", "gen4")),
    ("RCR", "W", ALL), ("RTC", "W", ("gbeth",)), ("TGC", "W", ALL), ("TCCR", "RW", ALL),
    ("TSR", "R", RCAR), ("TFA0", "R", RCAR), ("TFA1", "R", RCAR), ("TFA2", "R", RCAR),
    ("EIS", "RW", ALL), ("RIC0", "RW", ALL), ("RIS0", "RW", ALL), ("RIC1", "W", ALL),
    ("RIC2", "W", ALL), ("RIS2", "RW", ALL), ("TIC", "RW", ALL), ("TIS", "RW", ALL),
    ("ISS", "R", ALL), ("CIE", "W", MULTI_IRQ), ("GCCR", "RW", RCAR), ("GPTC", "W", RCAR),
    ("GTI", "RW", RCAR), ("GTO0", "W", RCAR), ("GTO1", "W", RCAR), ("GTO2", "W", RCAR),
    ("GIC", "RW", RCAR), ("GIS", "RW", RCAR), ("GCPT", "R", RCAR), ("GCT0", "R", RCAR),
    ("GCT1", "R", RCAR), ("GCT2", "R", RCAR), ("GIE", "W", SET_CLEAR), ("GID", "W", SET_CLEAR),
    ("DIL", "W", MULTI_IRQ), ("RIE0", "W", SET_CLEAR), ("RID0", "W", SET_CLEAR),
    ("TIE", "W", SET_CLEAR), ("TID", "W", SET_CLEAR), ("ECMR", "RW", ALL), ("RFLR", "W", ALL),
    ("ECSR", "RW", ALL), ("ECSIPR", "W", ALL), ("PIR", "RW", ALL), ("PSR", "R", LINK_PIN),
    ("CXR31", "RW", ("gbeth",)), ("CXR35", "W", ("gbeth",)), ("GECMR", "W", ALL),
    # They are read only where the device tree has no address.
    ("MAHR", "W", ALL), ("MALR", "W", ALL),
    ("TROCR", "RW", ("gen3", "gen4", "gbeth")), ("CXR41", "RW", ("gbeth",)),
    ("CXR42", "RW", ("gbeth",)), ("CSR0", "RW", ("gbeth",)), ("CSR1", "W", ("gbeth",)),
    ("CSR2", "W", ("gbeth",)),
)


def used(lines) -> dict:
    """{register: [reads, writes]} of a trace."""
    found = {}
    for line in lines:
        fields = line.split(" ", 3)
        if fields[1][0] in "RW":
            counts = found.setdefault(fields[2], [0, 0])
            counts[fields[1][0] == "W"] += 1
    return found


def missing(chip: str, found: dict) -> list:
    """What the chip's list has and the trace has not: ["CCC R", ...]."""
    out = []
    for reg, kinds, chips in REGISTERS:
        if chip in chips:
            out += [f"{reg} {k}" for k in kinds if not found.get(reg, [0, 0])["RW".index(k)]]
    return out
