// SPDX-License-Identifier: GPL-2.0

//! What differs between the chips.
//!
//! A chip is one constant table, in which every field is written out: a new field makes the
//! compiler ask for its value on each chip. Where chips differ in what has to be *done*, the field
//! is an `enum`, and the file that does it has one `match`; nowhere is a chip asked for its name.
//! [`Policy`] is apart: it says what is good for the systems around the chip, not what the chip
//! can do.

use kernel::prelude::*;

use super::regs::{
    Mode,
    RCR,
    RTC,
    TCCR,
    TGC, //
};
use crate::net::{
    rx_buffer::{
        Layout,
        SKB_OVERHEAD, //
    },
    xdp, //
};

/// Ethernet header, VLAN tag, frame check sequence.
pub(super) const ETH_HLEN: u32 = 14;
pub(super) const VLAN_HLEN: u32 = 4;
pub(super) const ETH_FCS_LEN: u32 = 4;
/// The shortest frame, without the frame check sequence.
pub(super) const ETH_ZLEN: u32 = 60;
/// The smallest MTU that IPv4 works with.
pub(super) const MIN_MTU: u32 = 68;

/// The largest size that a descriptor can hold.
const MAX_SIZE: u32 = 0xfff;

/// At most two queues each way: best effort (BE), and network control (NC).
pub(super) const MAX_QUEUES: usize = 2;
pub(super) const BE: usize = 0;
pub(super) const NC: usize = 1;

/// Where the queues are in the descriptor base address table.
pub(super) const DBAT_TX: usize = 0;
pub(super) const DBAT_RX: usize = 4;

/// Into how many slots a received frame may be spread.
pub(super) const MAX_PARTS: usize = 6;

/// Room before the frame in a receive buffer, as `NET_SKB_PAD`: what forwarding and tunnels put in
/// front of a packet. A multiple of four, as the DMAC wants it.
pub(super) const RX_HEADROOM: u32 = 64;

static_assert!(RX_HEADROOM % 4 == 0);

/// The size of a receive buffer while an XDP program is loaded: a page, where pages are small.
const XDP_BUFFER: u32 = 4096;

static_assert!(xdp::HEADROOM % 4 == 0);

/// The format of receive descriptors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RxFormat {
    /// Eight bytes. A frame may be spread over several of them.
    Normal,
    /// Twenty bytes, with a time stamp. A frame has one of them.
    Extended,
}

/// Where receive buffers come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RxMemory {
    /// A page pool, in which pages stay mapped and go round.
    Pool,
    /// Page fragments, which are mapped for one frame each. Only while an XDP program is loaded
    /// there is a page pool.
    Fragments,
}

/// How checksums are offloaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Checksum {
    /// By an engine (TOE) that checks received frames and appends four bytes of status to them, and
    /// that computes the checksums of frames to be sent.
    Engine,
    /// By a sum over the received payload, in two bytes that are appended to the frame.
    Sum,
}

/// Which speeds there are and how they are set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rate {
    /// 10, 100, 1000 Mbit/s, full and half duplex.
    Three,
    /// 100, 1000 Mbit/s, full duplex only.
    Two,
}

/// When the gPTP timer runs, and by which clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clocking {
    /// There is none.
    None,
    /// In OPERATION mode, by the peripheral clock.
    Operation,
    /// In OPERATION mode, by the clock named "gptp".
    OperationOwnClock,
    /// In CONFIG mode as well (CCC.GAC), by the peripheral clock.
    Config,
}

impl Clocking {
    /// Returns whether the timer runs in a mode.
    pub(super) const fn runs_in(self, mode: Mode) -> bool {
        match self {
            Clocking::None => false,
            Clocking::Operation | Clocking::OperationOwnClock => matches!(mode, Mode::Operation),
            Clocking::Config => matches!(mode, Mode::Config | Mode::Operation),
        }
    }
}

/// What an interrupt line reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// Everything.
    All,
    /// Errors of the DMAC, time stamps, gPTP.
    Common,
    /// E-MAC.
    Emac,
    /// A queue, either direction.
    Queue(usize),
}

/// A line that has a name.
pub(crate) struct NamedLine {
    /// As in the device tree.
    pub(super) name: &'static CStr,
    /// What `/proc/interrupts` shows after the name of the device.
    pub(super) label: &'static CStr,
    pub(super) line: Line,
}

/// The interrupt lines.
#[derive(Clone, Copy)]
pub(crate) enum Lines {
    /// One for all, which may be shared with other devices: the first of the device, whether it is
    /// named or not.
    One,
    /// Several, each for itself.
    Named(&'static [NamedLine]),
}

/// How interrupts are masked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Masking {
    /// By writing the control registers.
    Control,
    /// By writing the bits to be set or cleared to registers made for it.
    EnableDisable,
}

/// The E-MAC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Emac {
    /// EtherAVB.
    Avb,
    /// EtherAVB that selects MII in APSR.
    AvbMiiSelect,
    /// GbEth, which selects its media interface in CXR31 and CXR35.
    Gbeth,
}

/// Numbers of ring entries: RX in descriptors, TX in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RingSizes {
    pub(super) rx: u32,
    pub(super) tx: u32,
}

/// The limits of what users can set.
pub(super) const MIN_RING: RingSizes = RingSizes { rx: 64, tx: 64 };
pub(super) const MAX_RING: RingSizes = RingSizes { rx: 2048, tx: 1024 };

/// What is good for the systems that have the chip.
pub(crate) struct Policy {
    /// Interrupts are coalesced by software, unless the user says otherwise; with a single CPU,
    /// NAPI runs in a thread. The SoCs with GbEth have slow cores, which a flood of small packets
    /// keeps in interrupt context otherwise.
    pub(super) coalesce_irqs: bool,
    /// Where receive buffers come from. `make bench CASE=rx` measures both, and fails if this is
    /// not what is best for a chip.
    pub(super) rx_memory: RxMemory,
    /// The size of a receive buffer. What the chip doesn't use is for the stack (head room before,
    /// `skb_shared_info` behind).
    pub(super) rx_buffer: u32,
    /// Ring sizes, by queue.
    pub(super) rings: [RingSizes; MAX_QUEUES],
}

/// A chip.
pub(crate) struct HwInfo {
    /// What messages call it.
    pub(super) name: &'static str,

    /// Queues each way.
    pub(super) queues: usize,
    /// Entries of the descriptor base address table.
    pub(super) dbat_entries: usize,
    pub(super) rx_format: RxFormat,
    /// The longest frames, with the frame check sequence.
    pub(super) rx_max_frame: u32,
    pub(super) tx_max_frame: u32,
    /// Data to be sent must begin at a multiple of four.
    pub(super) tx_aligned: bool,
    /// Reception configuration.
    pub(super) rcr: RCR,
    /// Limit of the length of received frames in the DMAC, if it has a register for that.
    pub(super) rtc: Option<RTC>,
    /// Transmission configuration.
    pub(super) tgc: TGC,

    pub(super) checksum: Checksum,
    pub(super) rate: Rate,
    pub(super) emac: Emac,
    /// The DMAC can delay the clocks of RGMII (APSR).
    pub(super) internal_delay: bool,
    /// Magic packets wake the system.
    pub(super) magic_packet: bool,
    /// There is a counter of frames that were given up (TROCR).
    pub(super) tx_counters: bool,
    /// There are counters of collisions and carrier errors (CXR41, CXR42).
    pub(super) carrier_counters: bool,

    pub(super) clocking: Clocking,
    pub(super) lines: Lines,
    pub(super) masking: Masking,

    pub(super) policy: Policy,
}

impl HwInfo {
    /// The largest MTU: frames may have one VLAN tag in excess of it.
    pub(super) const fn max_mtu(&self) -> u32 {
        self.tx_max_frame - (ETH_HLEN + VLAN_HLEN + ETH_FCS_LEN)
    }

    /// The bytes that the chip appends to a received frame.
    pub(super) const fn rx_trailer(&self) -> u32 {
        match self.checksum {
            Checksum::Engine => 4,
            Checksum::Sum => 2,
        }
    }

    /// Where receive buffers come from, unless an XDP program is loaded.
    pub(super) const fn rx_memory(&self) -> RxMemory {
        // What a chip doesn't use is measured all the same.
        if cfg!(rx_memory_pool) {
            RxMemory::Pool
        } else if cfg!(rx_memory_fragments) {
            RxMemory::Fragments
        } else {
            self.policy.rx_memory
        }
    }

    /// What a receive buffer is like, while an XDP program is loaded or not.
    pub(super) const fn rx_layout(&self, xdp: bool) -> Layout {
        let (size, start) = if xdp {
            (XDP_BUFFER, xdp::HEADROOM)
        } else {
            (self.policy.rx_buffer, RX_HEADROOM)
        };
        let len = match self.rx_format {
            // As much as the buffer has: the more, the fewer frames are spread.
            RxFormat::Normal => size - start - SKB_OVERHEAD,
            RxFormat::Extended => self.rx_max_frame - ETH_FCS_LEN + self.rx_trailer(),
        };

        Layout { size, start, len }
    }

    /// What can be done with XDP.
    pub(super) const fn xdp_features(&self) -> xdp::Features {
        let features = xdp::Features::BASIC
            .with(xdp::Features::REDIRECT)
            .with(xdp::Features::NDO_XMIT);

        match self.rx_format {
            // Frames may be spread over several buffers, but they are sent in one.
            RxFormat::Normal => features.with(xdp::Features::RX_SG),
            RxFormat::Extended => features,
        }
    }

    /// Descriptors that a packet to be sent takes. The start of a packet that isn't aligned gets
    /// one of its own.
    pub(super) const fn tx_descriptors(&self) -> usize {
        if self.tx_aligned {
            2
        } else {
            1
        }
    }

    /// Whether there is a gPTP timer, and with it time stamps.
    pub(super) const fn has_clock(&self) -> bool {
        !matches!(self.clocking, Clocking::None)
    }

    /// What TCCR always has.
    pub(super) fn tccr(&self) -> TCCR {
        TCCR::zeroed().with_tfen(self.has_clock())
    }

    /// A bit for each queue.
    pub(super) const fn queue_mask(&self) -> u32 {
        (1 << self.queues) - 1
    }

    /// Whether half duplex links are possible.
    pub(super) const fn half_duplex(&self) -> bool {
        matches!(self.rate, Rate::Three)
    }
}

impl Lines {
    /// All lines, in the order in which they are requested.
    pub(super) const fn all(self) -> &'static [NamedLine] {
        const ONE: &[NamedLine] = &[line(c"mux", c"", Line::All)];

        match self {
            Lines::One => ONE,
            Lines::Named(lines) => lines,
        }
    }

    /// The number of the line by which the E-MAC makes itself heard.
    pub(super) fn emac(self) -> Option<usize> {
        self.all()
            .iter()
            .position(|line| matches!(line.line, Line::All | Line::Emac))
    }
}

/// Returns a table as it is. If it contradicts itself the compiler says so, since tables are
/// constants.
const fn checked(info: HwInfo) -> HwInfo {
    assert!(info.queues >= 1 && info.queues <= MAX_QUEUES);
    assert!(info.dbat_entries >= DBAT_RX + info.queues);

    assert!(info.max_mtu() >= MIN_MTU && info.max_mtu() < info.tx_max_frame);
    assert!(info.tx_max_frame - ETH_FCS_LEN <= MAX_SIZE);

    check_layout(&info, info.rx_layout(false));
    check_layout(&info, info.rx_layout(true));

    // No MTU is too large for XDP programs, which see a frame of the largest in one buffer.
    assert!(info.max_mtu() + ETH_HLEN + VLAN_HLEN + info.rx_trailer() <= info.rx_layout(true).len);

    if let Some(rtc) = info.rtc {
        assert!(info.rx_max_frame - ETH_FCS_LEN <= rtc.into_raw() & RTC::MAX_FRAME_MASK);
    }

    // Extended descriptors are there for the time stamps, and so is the second queue.
    let stamps = info.has_clock();

    assert!(stamps == matches!(info.rx_format, RxFormat::Extended));
    assert!(stamps == (info.queues == MAX_QUEUES));
    assert!(matches!(info.emac, Emac::Gbeth) == matches!(info.checksum, Checksum::Engine));

    let mut queue = 0;

    while queue < info.queues {
        let sizes = &info.policy.rings[queue];

        assert!(sizes.rx >= MIN_RING.rx && sizes.rx <= MAX_RING.rx);
        assert!(sizes.tx >= MIN_RING.tx && sizes.tx <= MAX_RING.tx);
        queue += 1;
    }
    if let Lines::Named(lines) = info.lines {
        check_lines(lines, info.queue_mask());
    }
    info
}

/// Checks that a slot has room in its buffer and in its descriptor, and the longest frame has room
/// in the slots that it may take.
const fn check_layout(info: &HwInfo, layout: Layout) {
    assert!(layout.len <= MAX_SIZE);
    assert!(layout.start + layout.len + SKB_OVERHEAD <= layout.size);

    let longest = info.rx_max_frame - ETH_FCS_LEN + info.rx_trailer();
    let parts = match info.rx_format {
        RxFormat::Normal => MAX_PARTS as u32,
        RxFormat::Extended => 1,
    };

    assert!(longest <= parts * layout.len);
}

/// Checks that the lines of a chip report everything, and no queue that does not exist.
const fn check_lines(lines: &[NamedLine], all_queues: u32) {
    let (mut common, mut emac, mut queues) = (false, false, 0);
    let mut n = 0;

    while n < lines.len() {
        match lines[n].line {
            Line::All => assert!(lines.len() == 1),
            Line::Common => common = true,
            Line::Emac => emac = true,
            Line::Queue(queue) => queues |= 1 << queue,
        }
        n += 1;
    }
    assert!(common && emac && queues == all_queues);
}

/// Rings as they are by default, unless memory or latency ask for others.
const DEFAULT_RINGS: [RingSizes; MAX_QUEUES] =
    [RingSizes { rx: 1024, tx: 64 }, RingSizes { rx: 64, tx: 64 }];

/// Buffers for frames of 2 KiB, which take a page each.
const WHOLE_PAGE: Policy = Policy {
    coalesce_irqs: false,
    rx_memory: RxMemory::Pool,
    rx_buffer: 4096,
    rings: DEFAULT_RINGS,
};

/// The AVB-DMAC with stream queues: error frames are delivered, so that they are counted; network
/// control frames have a queue of their own; the best-effort queue has time stamps.
const RCAR_RCR: RCR = pin_init::zeroed::<RCR>()
    .with_const_effs::<1>()
    .with_const_encf::<1>()
    .with_const_esf::<3>()
    .with_const_ets0::<1>()
    .with_const_rfcl::<0x1800>();

/// AVB mode 1: network control before the stream classes before best effort.
const RCAR_TGC: TGC = pin_init::zeroed::<TGC>()
    .with_const_priority::<1>()
    .with_const_buffers0::<2>()
    .with_const_buffers1::<2>()
    .with_const_buffers2::<1>()
    .with_const_buffers3::<1>();

const GEN3_LINES: &[NamedLine] = &[
    line(c"ch22", c":ch22:multi", Line::Common),
    line(c"ch24", c":ch24:emac", Line::Emac),
    line(c"ch0", c":ch0:rx_be", Line::Queue(BE)),
    line(c"ch18", c":ch18:tx_be", Line::Queue(BE)),
    line(c"ch1", c":ch1:rx_nc", Line::Queue(NC)),
    line(c"ch19", c":ch19:tx_nc", Line::Queue(NC)),
];

const RZV2M_LINES: &[NamedLine] = &[
    line(c"dia", c":dia", Line::Common),
    line(c"line3", c":line3:emac", Line::Emac),
    line(c"err_a", c":err_a", Line::Common),
    line(c"mgmt_a", c":mgmt_a", Line::Common),
    line(c"ch0", c":ch0:rx_be", Line::Queue(BE)),
    line(c"ch18", c":ch18:tx_be", Line::Queue(BE)),
    line(c"ch1", c":ch1:rx_nc", Line::Queue(NC)),
    line(c"ch19", c":ch19:tx_nc", Line::Queue(NC)),
];

/// Makes an entry of a table of lines.
const fn line(name: &'static CStr, label: &'static CStr, line: Line) -> NamedLine {
    NamedLine { name, label, line }
}

/// R-Car Gen2, RZ/G1.
pub(crate) const GEN2: HwInfo = checked(HwInfo {
    name: "R-Car Gen2 EtherAVB",
    queues: 2,
    dbat_entries: 22,
    rx_format: RxFormat::Extended,
    rx_max_frame: 2048,
    tx_max_frame: 2048,
    tx_aligned: true,
    rcr: RCAR_RCR,
    rtc: None,
    tgc: RCAR_TGC,
    checksum: Checksum::Sum,
    rate: Rate::Two,
    emac: Emac::Avb,
    internal_delay: false,
    magic_packet: true,
    tx_counters: false,
    carrier_counters: false,
    clocking: Clocking::Operation,
    lines: Lines::One,
    masking: Masking::Control,
    policy: WHOLE_PAGE,
});

/// R-Car Gen3, RZ/G2H, M, N, E.
pub(crate) const GEN3: HwInfo = checked(HwInfo {
    name: "R-Car Gen3 EtherAVB",
    queues: 2,
    dbat_entries: 22,
    rx_format: RxFormat::Extended,
    rx_max_frame: 2048,
    tx_max_frame: 2048,
    tx_aligned: false,
    rcr: RCAR_RCR,
    rtc: None,
    tgc: RCAR_TGC,
    checksum: Checksum::Sum,
    rate: Rate::Two,
    emac: Emac::Avb,
    internal_delay: true,
    magic_packet: true,
    tx_counters: true,
    carrier_counters: false,
    clocking: Clocking::Config,
    lines: Lines::Named(GEN3_LINES),
    masking: Masking::EnableDisable,
    policy: WHOLE_PAGE,
});

/// R-Car Gen4.
pub(crate) const GEN4: HwInfo = checked(HwInfo {
    name: "R-Car Gen4 EtherAVB",
    queues: 2,
    dbat_entries: 22,
    rx_format: RxFormat::Extended,
    rx_max_frame: 2048,
    tx_max_frame: 2048,
    tx_aligned: false,
    rcr: RCAR_RCR,
    rtc: None,
    tgc: RCAR_TGC,
    checksum: Checksum::Sum,
    rate: Rate::Two,
    emac: Emac::AvbMiiSelect,
    internal_delay: true,
    magic_packet: true,
    tx_counters: true,
    carrier_counters: false,
    clocking: Clocking::Config,
    lines: Lines::Named(GEN3_LINES),
    masking: Masking::EnableDisable,
    policy: WHOLE_PAGE,
});

/// RZ/V2M.
pub(crate) const RZV2M: HwInfo = checked(HwInfo {
    name: "RZ/V2M EtherAVB",
    queues: 2,
    dbat_entries: 22,
    rx_format: RxFormat::Extended,
    rx_max_frame: 2048,
    tx_max_frame: 2048,
    tx_aligned: false,
    rcr: RCAR_RCR,
    rtc: None,
    tgc: RCAR_TGC,
    checksum: Checksum::Sum,
    rate: Rate::Two,
    emac: Emac::Avb,
    internal_delay: false,
    magic_packet: true,
    tx_counters: false,
    carrier_counters: false,
    clocking: Clocking::OperationOwnClock,
    lines: Lines::Named(RZV2M_LINES),
    masking: Masking::Control,
    policy: WHOLE_PAGE,
});

/// RZ/G2L, G2LC, G2UL, V2L, Five, G3S.
pub(crate) const GBETH: HwInfo = checked(HwInfo {
    name: "GbEth",
    queues: 1,
    // TX is entry 0 and RX entry 4; those in between have to exist.
    dbat_entries: 5,
    rx_format: RxFormat::Normal,
    rx_max_frame: 8192 + ETH_FCS_LEN,
    tx_max_frame: 1522,
    tx_aligned: true,
    // Frames with errors are dropped.
    rcr: pin_init::zeroed::<RCR>().with_const_rfcl::<0x6000>(),
    rtc: Some(
        pin_init::zeroed::<RTC>()
            .with_const_reserved::<0x7ffc>()
            .with_const_max_frame::<8192>(),
    ),
    tgc: pin_init::zeroed::<TGC>()
        .with_const_buffers0::<2>()
        .with_const_buffers1::<2>()
        .with_const_buffers2::<2>()
        .with_const_buffers3::<2>(),
    checksum: Checksum::Engine,
    rate: Rate::Three,
    emac: Emac::Gbeth,
    internal_delay: false,
    magic_packet: false,
    tx_counters: true,
    carrier_counters: true,
    clocking: Clocking::None,
    lines: Lines::One,
    masking: Masking::Control,
    policy: Policy {
        coalesce_irqs: true,
        rx_memory: RxMemory::Pool,
        // Two in a page: memory is scarce, and most frames are shorter than this.
        rx_buffer: 2048,
        rings: DEFAULT_RINGS,
    },
});

/// Declares the device table. To be used in the crate root: the name of the table's symbol, which
/// the kernel's tools read, begins with the module in which it stands, and that has to be the
/// driver.
macro_rules! device_table {
    ($table:ident) => {
        $crate::ravb::hw_info::device_table!($table {
            c"renesas,etheravb-r8a7790" => GEN2,
            c"renesas,etheravb-r8a7794" => GEN2,
            c"renesas,etheravb-rcar-gen2" => GEN2,
            c"renesas,etheravb-r8a7795" => GEN3,
            c"renesas,etheravb-rcar-gen3" => GEN3,
            c"renesas,etheravb-rcar-gen4" => GEN4,
            c"renesas,etheravb-rzv2m" => RZV2M,
            c"renesas,rzg2l-gbeth" => GBETH,
        });
    };
    ($table:ident { $($compatible:literal => $info:ident,)* }) => {
        ::kernel::of_device_table!(
            $table,
            $crate::ravb::hw_info::HwInfo,
            [$((
                ::kernel::of::DeviceId::new($compatible),
                $crate::ravb::hw_info::$info
            )),*]
        );
    };
}
pub(crate) use device_table;

#[kunit_tests(ravb_rs_hw_info)]
mod tests {
    use super::*;

    #[test]
    fn register_values() {
        assert_eq!(RCAR_RCR.into_raw(), 0x1800_001f);
        assert_eq!(RCAR_TGC.into_raw(), 0x0011_2210);
        assert_eq!(GBETH.rcr.into_raw(), 0x6000_0000);
        assert_eq!(GBETH.tgc.into_raw(), 0x0022_2200);
        assert_eq!(GBETH.rtc.map(RTC::into_raw), Some(0x7ffc_2000));
    }

    #[test]
    fn mtu() {
        assert_eq!(GBETH.max_mtu(), 1500);
        for info in [&GEN2, &GEN3, &GEN4, &RZV2M] {
            assert_eq!(info.max_mtu(), 2026);
        }
    }

    #[test]
    fn every_line_is_there_once() {
        for info in [&GEN2, &GEN3, &GEN4, &RZV2M, &GBETH] {
            let lines = info.lines.all();

            for (n, line) in lines.iter().enumerate() {
                assert!(lines
                    .iter()
                    .skip(n + 1)
                    .all(|other| other.name != line.name));
            }
            assert!(info.lines.emac().is_some());
        }
    }

    #[test]
    fn slots() {
        // Alone in its buffer, with room for what build_skb wants behind it.
        for info in [&GEN2, &GEN3, &GEN4, &RZV2M, &GBETH] {
            for xdp in [false, true] {
                let layout = info.rx_layout(xdp);

                assert!(layout.start + layout.len + SKB_OVERHEAD <= layout.size);
                assert!(layout.len <= MAX_SIZE);
                assert!(info.rx_trailer() < layout.len);
            }
        }
        assert_eq!(GEN3.queue_mask(), 0b11);
        assert_eq!(GBETH.queue_mask(), 0b1);
    }

    #[test]
    fn when_the_timer_runs() {
        for (clocking, config, operation) in [
            (Clocking::None, false, false),
            (Clocking::Operation, false, true),
            (Clocking::OperationOwnClock, false, true),
            (Clocking::Config, true, true),
        ] {
            assert!(!clocking.runs_in(Mode::Reset));
            assert_eq!(clocking.runs_in(Mode::Config), config);
            assert_eq!(clocking.runs_in(Mode::Operation), operation);
        }
    }
}
