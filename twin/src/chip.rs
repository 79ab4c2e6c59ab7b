// SPDX-License-Identifier: GPL-2.0-or-later

//! The five variants of the MAC, as data. Everything in which they differ stands here; no other
//! module asks which chip it is.
//!
//! Sources: reference sections 1.1, 1.2, 2.11, 4.2 (the real device tree nodes), unless noted.

/// A register's or property's set of variants; see [`Chip::bit`].
pub type ChipSet = u8;

/// R-Car Gen2 and RZ/G1.
pub const GEN2: ChipSet = 1 << 0;
/// R-Car Gen3 and RZ/G2{H,M,N,E}.
pub const GEN3: ChipSet = 1 << 1;
/// R-Car Gen4.
pub const GEN4: ChipSet = 1 << 2;
/// RZ/V2M.
pub const RZV2M: ChipSet = 1 << 3;
/// RZ/G2L family.
pub const GBETH: ChipSet = 1 << 4;
/// All variants with the AVB-DMAC of R-Car.
pub const RCAR: ChipSet = GEN2 | GEN3 | GEN4 | RZV2M;
/// Every variant.
pub const ALL: ChipSet = RCAR | GBETH;

/// Interrupt causes, one bit each; a line is the OR of some of them.
pub mod cause {
    /// Frame received on queue `q` (0..=17).
    pub const fn rx(q: u32) -> u32 {
        1 << q
    }
    /// Frame sent on queue `q` (0..=3).
    pub const fn tx(q: u32) -> u32 {
        1 << (18 + q)
    }
    /// TX timestamp FIFO updated, or at its warning level.
    pub const STAMP: u32 = 1 << 22;
    /// gPTP compare or capture.
    pub const GPTP: u32 = 1 << 23;
    /// Errors: EIS and RIS2.
    pub const ERROR: u32 = 1 << 24;
    /// E-MAC: ECSR.
    pub const EMAC: u32 = 1 << 25;
    /// Descriptor interrupts: DIS.
    pub const DESC: u32 = 1 << 26;
    /// RX FIFO warning: RIS1.
    pub const RX_WARN: u32 = 1 << 27;
    /// Queue events that are not routed to lines of their own.
    pub const QUEUES: u32 = 1 << 28;
    /// What the common line of a chip with queue lines carries.
    pub const COMMON: u32 = STAMP | GPTP | ERROR | DESC | RX_WARN | QUEUES;
    /// Everything: the one line of a chip without queue lines.
    pub const ALL: u32 = u32::MAX;
}

/// An interrupt line.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Its entry in `interrupt-names`.
    pub name: &'static str,
    /// Causes, ORed.
    pub causes: u32,
}

const fn line(name: &'static str, causes: u32) -> Line {
    Line { name, causes }
}

/// When the gPTP timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GptpRun {
    /// There is no gPTP unit.
    Absent,
    /// In OPERATION mode only (`gptp`).
    Operation,
    /// Also in CONFIG mode when CCC.GAC was set on entry (`ccc_gac`).
    Config,
}

/// How GECMR encodes the speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeedField {
    /// Bit 0: 1 is 1000 Mbit/s, 0 is 100 Mbit/s.
    Bit0,
    /// Bits 5:4: 0, 1, 2 are 10, 100, 1000 Mbit/s.
    Bits54,
}

/// The PHY's link signal at the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPin {
    /// High when the link is up.
    High,
    /// Low when the link is up (`renesas,ether-link-active-low`).
    Low,
    /// Not connected (`renesas,no-ether-link`).
    None,
}

/// A clock input.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Its entry in `clock-names`.
    pub name: &'static str,
    /// Rate in Hz.
    pub hz: u32,
}

/// Where the real device tree hangs the PHY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhyNode {
    /// A direct child of the MAC's node.
    Child,
    /// A child of an `mdio` node.
    MdioChild,
}

/// One variant.
#[derive(Debug)]
pub struct Chip {
    /// Its name in the `chip` property.
    pub name: &'static str,
    /// Its bit in a [`ChipSet`].
    pub bit: ChipSet,
    /// `compatible` of the real node: SoC, then family.
    pub compatible: [&'static str; 2],
    /// Size of the register window.
    pub window: u32,
    /// Interrupt lines in the order of the real node.
    pub lines: &'static [Line],
    /// The names of those that the stock driver asks for; empty: it takes the first.
    pub lines_used: &'static [&'static str],
    /// Queue events can be routed to lines of their own by CIE.
    pub queue_lines: bool,
    /// TX queues.
    pub tx_queues: u32,
    /// RX queues.
    pub rx_queues: u32,
    /// Network control traffic has RX queue 1 (`nc_queues`).
    pub nc_queue: bool,
    /// RX descriptors carry time stamps and are 20 bytes long: queue 0 with RCR.ETS0, queue 1
    /// always.
    pub rx_stamps: bool,
    /// Checksum engine with a four-byte status trailer (TOE, GbEth), else the two-byte sum of
    /// ECMR.RCSC.
    pub toe: bool,
    /// gPTP unit.
    pub gptp: GptpRun,
    /// Index into `clocks` of the clock that drives gPTP.
    pub gptp_clock: usize,
    /// Clock inputs.
    pub clocks: &'static [Clock],
    /// Longest frame without FCS that can be sent (`tx_max_frame_size` less FCS).
    pub tx_max: u16,
    /// Alignment that DPTR needs on TX (`aligned_tx`).
    pub tx_align: u32,
    /// Longest frame length limit that RFLR can hold, FCS included.
    pub rflr_max: u32,
    /// APSR.MIISELECT selects the interface.
    pub mii_select: bool,
    /// GECMR's encoding.
    pub speed: SpeedField,
    /// Detects magic packets (`magic_pkt`).
    pub magic: bool,
    /// The PHY's link signal on the usual board.
    pub link_pin: LinkPin,
    /// `phy-mode` of the usual board.
    pub phy_mode: &'static str,
    /// MDIO address of the PHY on the usual board.
    pub phy_addr: u8,
    /// Where the usual board's device tree has the PHY.
    pub phy_node: PhyNode,
    /// `rx-internal-delay-ps` and `tx-internal-delay-ps` of the usual board.
    pub delays_ps: Option<(u32, u32)>,
    /// Not this MAC, but the CPU port of a switch ([`crate::qs`]) in its place.
    pub cpu_port: bool,
}

/// RX queue n on ch(n), TX queue n on ch(18+n), as on R-Car Gen3 and later.
macro_rules! queue_lines {
    ($($more:expr),+ $(,)?) => {
        &[
            line("ch0", cause::rx(0)), line("ch1", cause::rx(1)), line("ch2", cause::rx(2)),
            line("ch3", cause::rx(3)), line("ch4", cause::rx(4)), line("ch5", cause::rx(5)),
            line("ch6", cause::rx(6)), line("ch7", cause::rx(7)), line("ch8", cause::rx(8)),
            line("ch9", cause::rx(9)), line("ch10", cause::rx(10)), line("ch11", cause::rx(11)),
            line("ch12", cause::rx(12)), line("ch13", cause::rx(13)), line("ch14", cause::rx(14)),
            line("ch15", cause::rx(15)), line("ch16", cause::rx(16)), line("ch17", cause::rx(17)),
            line("ch18", cause::tx(0)), line("ch19", cause::tx(1)), line("ch20", cause::tx(2)),
            line("ch21", cause::tx(3)),
            $($more),+
        ]
    };
}

/// ch23 exists in the real nodes; nothing is known to raise it.
const GEN3_LINES: &[Line] =
    queue_lines![line("ch22", cause::COMMON), line("ch23", 0), line("ch24", cause::EMAC)];

/// Which of `dia` and `mgmt_a` carries time stamps and gPTP is not known (reference 5.6.8); the
/// driver handles both alike. Here `mgmt_a` does.
const RZV2M_LINES: &[Line] = queue_lines![
    line("dia", cause::DESC | cause::RX_WARN | cause::QUEUES),
    line("dib", 0),
    line("err_a", cause::ERROR),
    line("err_b", 0),
    line("mgmt_a", cause::STAMP | cause::GPTP),
    line("mgmt_b", 0),
    line("line3", cause::EMAC),
];

/// R-Car Gen3; the other variants with its AVB-DMAC name what they have of their own.
pub const CHIP_GEN3: Chip = Chip {
    name: "gen3",
    bit: GEN3,
    compatible: ["renesas,etheravb-r8a7795", "renesas,etheravb-rcar-gen3"],
    window: 0x800,
    lines: GEN3_LINES,
    lines_used: &["ch0", "ch1", "ch18", "ch19", "ch22", "ch24"],
    queue_lines: true,
    tx_queues: 4,
    rx_queues: 18,
    nc_queue: true,
    rx_stamps: true,
    toe: false,
    gptp: GptpRun::Config,
    gptp_clock: 0,
    clocks: &[Clock { name: "fck", hz: 133_333_333 }],
    tx_max: 2044,
    tx_align: 1,
    rflr_max: 0x3FFFF,
    mii_select: false,
    speed: SpeedField::Bit0,
    magic: true,
    link_pin: LinkPin::High,
    phy_mode: "rgmii",
    phy_addr: 0,
    phy_node: PhyNode::Child,
    delays_ps: Some((0, 2000)),
    cpu_port: false,
};

/// R-Car Gen2: one interrupt, two descriptors a TX frame, gPTP in OPERATION only.
pub const CHIP_GEN2: Chip = Chip {
    name: "gen2",
    bit: GEN2,
    compatible: ["renesas,etheravb-r8a7790", "renesas,etheravb-rcar-gen2"],
    lines: &[line("mux", cause::ALL)],
    lines_used: &[],
    queue_lines: false,
    gptp: GptpRun::Operation,
    clocks: &[Clock { name: "fck", hz: 130_000_000 }],
    tx_align: 4,
    link_pin: LinkPin::Low,
    phy_mode: "gmii",
    delays_ps: None,
    ..CHIP_GEN3
};

/// R-Car Gen4: as Gen3, with a choice of the interface.
pub const CHIP_GEN4: Chip = Chip {
    name: "gen4",
    bit: GEN4,
    compatible: ["renesas,etheravb-r8a779g0", "renesas,etheravb-rcar-gen4"],
    window: 0x1000,
    clocks: &[Clock { name: "fck", hz: 200_000_000 }],
    mii_select: true,
    phy_node: PhyNode::MdioChild,
    ..CHIP_GEN3
};

/// RZ/V2M: other interrupts, a clock of its own for gPTP, which runs in OPERATION only.
pub const CHIP_RZV2M: Chip = Chip {
    name: "rzv2m",
    bit: RZV2M,
    compatible: ["renesas,etheravb-r9a09g011", "renesas,etheravb-rzv2m"],
    lines: RZV2M_LINES,
    lines_used: &["ch0", "ch1", "ch18", "ch19", "dia", "err_a", "mgmt_a", "line3"],
    gptp: GptpRun::Operation,
    gptp_clock: 2,
    clocks: &[
        Clock { name: "axi", hz: 200_000_000 },
        Clock { name: "chi", hz: 100_000_000 },
        Clock { name: "gptp", hz: 100_000_000 },
    ],
    link_pin: LinkPin::None,
    phy_mode: "gmii",
    delays_ps: None,
    ..CHIP_GEN3
};

/// RZ/G2L family.
pub const CHIP_GBETH: Chip = Chip {
    name: "gbeth",
    bit: GBETH,
    compatible: ["renesas,r9a07g044-gbeth", "renesas,rzg2l-gbeth"],
    window: 0x10000,
    lines: &[line("mux", cause::ALL), line("fil", 0), line("arp_ns", 0)],
    lines_used: &[],
    queue_lines: false,
    tx_queues: 1,
    rx_queues: 1,
    nc_queue: false,
    rx_stamps: false,
    toe: true,
    gptp: GptpRun::Absent,
    gptp_clock: 0,
    clocks: &[
        Clock { name: "axi", hz: 200_000_000 },
        Clock { name: "chi", hz: 100_000_000 },
        Clock { name: "refclk", hz: 125_000_000 },
    ],
    tx_max: 1518,
    tx_align: 4,
    rflr_max: 0x3FFFF,
    mii_select: false,
    speed: SpeedField::Bits54,
    magic: false,
    link_pin: LinkPin::High,
    phy_mode: "rgmii-id",
    phy_addr: 7,
    phy_node: PhyNode::Child,
    delays_ps: None,
    cpu_port: false,
};

/// The CPU port of a lan966x switch. Its MAC has no registers, no bit in a [`ChipSet`], and a link
/// that is always up.
pub const CHIP_INJECT: Chip = Chip {
    name: "inject",
    bit: 0,
    compatible: ["linux,lan966x-cpu-port", ""],
    window: 0x1000,
    lines: &[line("xtr", 0)],
    clocks: &[Clock { name: "none", hz: 0 }],
    cpu_port: true,
    ..CHIP_GBETH
};

/// All variants of the MAC.
pub const CHIPS: [&Chip; 5] = [&CHIP_GEN2, &CHIP_GEN3, &CHIP_GEN4, &CHIP_RZV2M, &CHIP_GBETH];

impl Chip {
    /// The variant of that name.
    pub fn by_name(name: &str) -> Option<&'static Chip> {
        CHIPS.into_iter().chain([&CHIP_INJECT]).find(|chip| chip.name == name)
    }

    /// Whether the variant is in `set`.
    pub const fn is_in(&self, set: ChipSet) -> bool {
        self.bit & set != 0
    }
}
