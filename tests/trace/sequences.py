# SPDX-License-Identifier: GPL-2.0

"""The register accesses of probe, open, link-up and close, per chip, as the C driver makes them.

Tables after /work's reference 3.1, 3.2, 3.3a, 3.7 and 3.8; names and values are the manual's where
they are known. A step is one of

  R(reg)                  one read
  W(reg, value)           one write; value may be ANY
  M(reg, clear, set)      read, then the same value with bits cleared and set written back
  P(reg, mask, value)     reads until (value read & mask) == value, at least one

MDIO (PIR) is left out of the tables: the comparison collapses it, and asks only that it takes place
where MDIO stands.
"""

from dataclasses import dataclass

ANY = None


@dataclass(frozen=True)
class R:
    reg: str


@dataclass(frozen=True)
class W:
    reg: str
    value: object


@dataclass(frozen=True)
class M:
    reg: str
    clear: int
    set: int


@dataclass(frozen=True)
class P:
    reg: str
    mask: int
    value: int


@dataclass(frozen=True)
class Mdio:
    """Traffic on the management bus, of any length."""


MDIO = Mdio()

# CCC
OPC, RESET, CONFIG, OPERATION = 0x3, 0, 1, 2
GAC, DTSR, CSEL, CSEL_HPB = 1 << 7, 1 << 8, 3 << 16, 1 << 16
# CSR
OPS, OPS_RESET, OPS_CONFIG, OPS_OPERATION = 0xf, 1, 2, 4
DTS, TPO, RPO = 1 << 8, 0xf << 16, 1 << 20
# APSR
RDM, TDM, MIISELECT = 1 << 13, 1 << 14, 1 << 24
# ECMR
PRM, DM, TE, RE, TXF, RXF, ZPF, RCSC, RCPT = (1 << n for n in (0, 1, 5, 6, 16, 17, 19, 23, 25))
# GCCR
TCR, TCR_NONE, LTI, TCSS, TCSS_ADJUSTED = 3, 0, 1 << 3, 3 << 8, 1 << 8

RCAR = ("gen2", "gen3", "gen4", "rzv2m")
GAC_CHIPS = ("gen3", "gen4")        # the gPTP timer also runs in CONFIG
GPTP_CHIPS = ("gen2", "rzv2m")      # it runs in OPERATION only
DELAY_CHIPS = ("gen3", "gen4")      # internal RGMII delays
MULTI_IRQ = ("gen3", "gen4", "rzv2m")
TX_COUNTERS = ("gen3", "gen4", "gbeth")


@dataclass(frozen=True)
class Board:
    """What the device tree gives, as far as registers show it."""

    mac: str
    gti: int            # increment of the gPTP timer for the clock's rate
    delays: int         # APSR.RDM and .TDM
    no_ether_link: bool


def reset_mode():
    return [M("CCC", OPC, RESET), P("CSR", OPS, OPS_RESET)]


def config_mode():
    return [M("CCC", OPC, CONFIG), P("CSR", OPS, OPS_CONFIG)]


def probe(_chip: str, _board: Board) -> list:
    """3.1: CONFIG for MDIO, the bus is scanned, RESET. The address is in the device tree."""
    return [*config_mode(), MDIO, *reset_mode()]


def emac_init(chip: str, board: Board) -> list:
    """3.3a, at an open: speed and duplex are not known yet, so GECMR is not written."""
    high = int(board.mac.replace(":", "")[:8], 16)
    low = int(board.mac.replace(":", "")[8:], 16)
    address = [W("MAHR", high), W("MALR", low)]
    if chip == "gbeth":
        return [
            W("CXR35", 0x03e80000),                         # RGMII
            M("CXR31", 0x9, 0x1),                           # SEL_LINK0, not SEL_LINK1
            W("RFLR", 8192 + 4),
            W("ECMR", ZPF | TE | RE | RCPT | TXF | RXF),    # duplex unknown: no DM
            *address,
            W("ECSR", 0x15),                                # clear ICD, LCHNG, PFRI
            W("CSR0", 0), P("CSR0", 0x30, 0),               # checksum ports closed
            W("CSR1", 0x00300030), W("CSR2", 0x00700070),
            W("CSR0", 0x30),
            W("ECSIPR", 0x1),                               # ICD
        ]
    return [
        *([M("APSR", MIISELECT, 0)] if chip == "gen4" else []),
        W("RFLR", 2048 + 4),
        W("ECMR", ZPF | DM | RCSC | TE | RE),
        *address,
        W("ECSR", 0x3),                                     # clear ICD, MPD
        W("ECSIPR", 0x7),                                   # ICD, MPD, LCHNG
    ]


def dmac_init(chip: str) -> list:
    """3.2: from CONFIG to OPERATION."""
    steps = [M("CCC", DTSR, 0), *config_mode()]
    if chip == "gbeth":
        steps += [W("RCR", 0x60000000), W("RTC", 0x7ffc0000 | 8192), W("TGC", 0x00222200),
                  W("TCCR", 0), W("RIC0", 1), W("RIC1", 0), W("RIC2", 0x80000001), W("TIC", 1)]
    else:
        steps += [W("RCR", 0x1800001f), W("TGC", 0x00112210), W("TCCR", 0x100)]
        if chip in MULTI_IRQ:
            steps += [W("DIL", 0), W("CIE", 0x00020101)]
        steps += [W("RIC0", 3), W("RIC1", 0), W("RIC2", 0x80000003), W("TIC", 0x103)]
    return [*steps, M("CCC", OPC, OPERATION), P("CSR", OPS, OPS_OPERATION)]


def open_(chip: str, board: Board) -> list:
    """3.2"""
    if chip in GAC_CHIPS:
        # OPC, GAC and CSEL have to be in one write.
        steps = [M("CCC", OPC | GAC | CSEL, CONFIG | GAC | CSEL_HPB), P("CSR", OPS, OPS_CONFIG)]
    elif chip in GPTP_CHIPS:
        steps = [*config_mode(), M("CCC", CSEL, CSEL_HPB)]
    else:
        steps = config_mode()
    if chip in DELAY_CHIPS:
        steps += [M("APSR", RDM | TDM, board.delays)]
    steps += [W("DBAT", ANY), *dmac_init(chip), *emac_init(chip, board)]
    if chip in RCAR:
        steps += [W("GTI", board.gti), M("GCCR", LTI, LTI),             # set_gti
                  R("GTI"), P("GCCR", TCR, TCR_NONE),                   # ptp_init
                  M("GCCR", TCSS, TCSS_ADJUSTED)]
    return [*steps, MDIO, M("ECMR", PRM, 0)]


def link_up(chip: str, board: Board) -> list:
    """3.7, first link at 1000 Mbit/s, full duplex."""
    steps = []
    if board.no_ether_link:
        steps += [M("ECMR", RE | TE, 0)]
    if chip == "gbeth":
        steps += [M("ECMR", DM, DM), W("GECMR", 0x20)]
    else:
        steps += [W("GECMR", 1)]
    steps += [M("ECMR", TXF, 0)]
    if board.no_ether_link:
        steps += [M("ECMR", RE | TE, RE | TE)]
    return steps


def stop_dma() -> list:
    """3.8"""
    return [
        P("TCCR", 0xf, 0), P("CSR", TPO, 0),
        M("ECMR", RE | TE, 0), P("CSR", RPO, 0),
        M("CCC", DTSR, DTSR), P("CSR", DTS, DTS),
        *config_mode(),
    ]


def read_counters(chip: str) -> list:
    """get_stats: read and clear."""
    steps = []
    if chip in TX_COUNTERS:
        steps += [R("TROCR"), W("TROCR", 0)]
    if chip == "gbeth":
        steps += [R("CXR41"), W("CXR41", 0), R("CXR42"), W("CXR42", 0)]
    return steps


def close(chip: str, board: Board) -> list:
    """3.8"""
    return [
        W("RIC0", 0), W("RIC2", 0), W("TIC", 0), W("ECSIPR", 0),
        # The PHY is stopped, and with it the link (3.7).
        *([M("ECMR", RE | TE, 0)] if board.no_ether_link else []),
        MDIO,
        *([W("GIC", 0), W("GIS", 0)] if chip in RCAR else []),
        *stop_dma(),
        *read_counters(chip),
        *reset_mode(),
    ]


def interludes(chip: str) -> list:
    """What may come between any two steps: interrupts, statistics of a link message, rx mode."""
    emac = [R("ECSR"), W("ECSR", ANY)]
    link = [R("PSR"), M("ECMR", RE | TE, RE | TE)]
    unlink = [R("PSR"), M("ECMR", RE | TE, 0)]
    head = [] if chip in MULTI_IRQ else [R("ISS")]
    found = [[*head, *emac, *link], [*head, *emac, *unlink], [*head, *emac], [M("ECMR", PRM, 0)]]
    if chip in TX_COUNTERS:
        found.append(read_counters(chip))
    return found


PHASES = {"probe": probe, "open": open_, "link": link_up, "close": close}
