// SPDX-License-Identifier: GPL-2.0

//! Registers.
//!
//! Names are the manual's. What their letters stand for:
//!
//! | name | meaning |
//! |---|---|
//! | CCC, CSR | AVB-DMAC mode register, mode status register |
//! | OPC, OPS | operating mode command, operating mode status |
//! | DTSR, DTS | data transfer suspension request, status |
//! | TPO, RPO | transmission, reception process ongoing |
//! | GAC, CSEL | gPTP active in CONFIG mode, its clock source |
//! | DBAT, DLR | descriptor base address table; requests (LBA) to load an entry of it again |
//! | APSR | AVB-DMAC product specific register: RGMII delays (RDM, TDM), MII selection |
//! | RCR, RTC, TGC | reception configuration, reception truncation, transmission configuration |
//! | EFFS, ENCF, ESF | deliver frames with errors, network control filtering, stream filtering |
//! | ETS0, RFCL | time stamps in queue 0, reception FIFO critical level |
//! | TCCR | transmission configuration control: start requests (TSRQ), stamp FIFO (TFEN, TFR) |
//! | EIS | error interrupt status |
//! | RIC0, RIS0, RIE0, RID0 | reception interrupts: control, status, enable, disable |
//! | FRF | frame received |
//! | RIC1, RIS1 | the same for the FIFO warning level |
//! | RIC2, RIS2 | the same for queue full (QFF) and FIFO full (RFFF) |
//! | TIC, TIS, TIE, TID | transmission interrupts |
//! | FTF, TFUF | frame transmitted, time stamp FIFO updated |
//! | TSR, TFA0-2 | transmission status: stamps in the FIFO (TFFL); the oldest of them |
//! | ISS | interrupt summary status |
//! | CIE, DIL | common interrupt enable, descriptor interrupt line |
//! | GCCR | gPTP control: what to read (TCSS), requests to load offset (LTO), increment (LTI) |
//! | TCR, LPTC, LMTT | ... to reset or read the timer, to load a time for output, a transit time |
//! | GTI, GTO0-2 | gPTP timer increment, in nanoseconds a tick with 20 binary digits; offset |
//! | GCT0-2, GCPT | the time that was read; the time of an edge at the input |
//! | GPTC, GIC, GIS | time for output; gPTP interrupts: edge at the input (PTC), output (PTM) |
//! | ECMR, ECSR, ECSIPR | E-MAC mode, status, status interrupt permission |
//! | RFLR | receive frame length limit |
//! | PIR, PSR | PHY interface (the two wires of MDIO), PHY status (the link pin) |
//! | GECMR | speed |
//! | MAHR, MALR | station address, high and low |
//! | CXR31, CXR35 | media interface selection of GbEth |
//! | TROCR, CXR41, CXR42 | counters: frames given up after retries, collisions, carrier errors |
//! | CEFCR, FRECR, TLFRCR | counters of received frames: wrong FCS, error from the PHY, too long |
//! | CSR0, CSR1, CSR2 | checksum engine of GbEth (TOE): ports, sent frames, received frames |
//!
//! Three kinds of status registers need care, and are written through a method that knows:
//! [`ClearByZero`], where writing 0 clears a flag and 1 keeps it; ECSR, where writing 1 clears it;
//! counters, which any write clears.

use kernel::{
    io::register::FixedRegister,
    num::Bounded,
    prelude::*,
    register, //
};

/// What every chip's register window has. The checksum engine of GbEth lies beyond; its registers
/// are accessed with a run-time check.
pub(super) const WINDOW: usize = 0x800;

/// An operating mode of the AVB-DMAC, as CCC.OPC asks for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Reset,
    Config,
    Operation,
}

impl Mode {
    /// How CSR.OPS shows the mode.
    pub(super) const fn status(self) -> u32 {
        match self {
            Mode::Reset => 1,
            Mode::Config => 2,
            Mode::Operation => 4,
        }
    }
}

impl From<Mode> for Bounded<u32, 2> {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Reset => Bounded::<u32, _>::new::<0>(),
            Mode::Config => Bounded::<u32, _>::new::<1>(),
            Mode::Operation => Bounded::<u32, _>::new::<2>(),
        }
    }
}

impl TryFrom<Bounded<u32, 2>> for Mode {
    type Error = Error;

    fn try_from(opc: Bounded<u32, 2>) -> Result<Self> {
        match opc.get() {
            0 => Ok(Mode::Reset),
            1 => Ok(Mode::Config),
            2 => Ok(Mode::Operation),
            _ => Err(EINVAL),
        }
    }
}

register! {
    pub(super) CCC(u32) @ 0x000 {
        17:16 csel;
        8:8 dtsr => bool;
        7:7 gac => bool;
        1:0 opc ?=> Mode;
    }

    pub(super) DBAT(u32) @ 0x004 {
        31:0 address;
    }

    pub(super) DLR(u32) @ 0x008 {
        21:0 lba;
    }

    pub(super) CSR(u32) @ 0x00c {
        20:20 rpo => bool;
        19:16 tpo;
        8:8 dts => bool;
        3:0 ops;
    }

    pub(super) APSR(u32) @ 0x08c {
        24:24 mii_select => bool;
        14:14 tdm => bool;
        13:13 rdm => bool;
    }

    pub(super) RCR(u32) @ 0x090 {
        30:16 rfcl;
        4:4 ets0;
        3:2 esf;
        1:1 encf;
        0:0 effs;
    }

    /// The upper half is reserved here: it has a fixed value.
    pub(super) RTC(u32) @ 0x0b4 {
        31:16 reserved;
        14:0 max_frame;
    }

    pub(super) TGC(u32) @ 0x300 {
        21:20 buffers3;
        17:16 buffers2;
        13:12 buffers1;
        9:8 buffers0;
        5:4 priority;
    }

    pub(super) TCCR(u32) @ 0x304 {
        9:9 tfr => bool;
        8:8 tfen => bool;
        3:0 tsrq;
    }

    pub(super) TSR(u32) @ 0x308 {
        10:8 tffl;
    }

    pub(super) TFA0(u32) @ 0x310 {
        31:0 nanoseconds;
    }

    pub(super) TFA1(u32) @ 0x314 {
        31:0 seconds;
    }

    pub(super) TFA2(u32) @ 0x318 {
        25:16 tag;
        15:0 seconds;
    }

    pub(super) EIS(u32) @ 0x35c {
        16:16 qfs => bool;
        10:0 other;
    }

    pub(super) RIC0(u32) @ 0x360 {
        17:0 fre;
    }

    pub(super) RIS0(u32) @ 0x364 {
        17:0 frf;
    }

    pub(super) RIC1(u32) @ 0x368 {
        31:31 rfwe => bool;
    }

    pub(super) RIC2(u32) @ 0x370 {
        31:31 rffe => bool;
        17:0 qfe;
    }

    pub(super) RIS2(u32) @ 0x374 {
        31:31 rfff => bool;
        17:0 qff;
    }

    pub(super) TIC(u32) @ 0x378 {
        8:8 tfue => bool;
        3:0 fte;
    }

    pub(super) TIS(u32) @ 0x37c {
        8:8 tfuf => bool;
        3:0 ftf;
    }

    pub(super) ISS(u32) @ 0x380 {
        13:13 cgis => bool;
        8:8 tfus => bool;
        7:7 ms => bool;
        6:6 es => bool;
        2:2 fts => bool;
        0:0 frs => bool;
    }

    pub(super) CIE(u32) @ 0x384 {
        17:17 cl0m => bool;
        8:8 ctie => bool;
        0:0 crie => bool;
    }

    pub(super) GCCR(u32) @ 0x390 {
        9:8 tcss;
        5:5 lmtt => bool;
        4:4 lptc => bool;
        3:3 lti => bool;
        2:2 lto => bool;
        1:0 tcr;
    }

    pub(super) GPTC(u32) @ 0x398 {
        31:0 time;
    }

    pub(super) GTI(u32) @ 0x39c {
        27:0 tiv;
    }

    pub(super) GTO0(u32) @ 0x3a0 {
        31:0 nanoseconds;
    }

    pub(super) GTO1(u32) @ 0x3a4 {
        31:0 seconds;
    }

    pub(super) GTO2(u32) @ 0x3a8 {
        15:0 seconds;
    }

    pub(super) GIC(u32) @ 0x3ac {
        2:2 ptme => bool;
        0:0 ptce => bool;
    }

    pub(super) GIS(u32) @ 0x3b0 {
        2:2 ptmf => bool;
        0:0 ptcf => bool;
    }

    pub(super) GCPT(u32) @ 0x3b4 {
        31:0 time;
    }

    pub(super) GCT0(u32) @ 0x3b8 {
        31:0 nanoseconds;
    }

    pub(super) GCT1(u32) @ 0x3bc {
        31:0 seconds;
    }

    pub(super) GCT2(u32) @ 0x3c0 {
        15:0 seconds;
    }

    pub(super) DIL(u32) @ 0x440 {
        15:1 dpl;
    }

    pub(super) RIE0(u32) @ 0x460 {
        17:0 frs;
    }

    pub(super) RID0(u32) @ 0x464 {
        17:0 frd;
    }

    pub(super) TIE(u32) @ 0x478 {
        3:0 fts;
    }

    pub(super) TID(u32) @ 0x47c {
        3:0 ftd;
    }

    pub(super) ECMR(u32) @ 0x500 {
        /// Received checksums and FCS go to the checksum engine.
        25:25 rcpt => bool;
        /// A checksum of the payload is appended to received frames.
        23:23 rcsc => bool;
        /// Pause frames with time 0 count.
        19:19 zpf => bool;
        /// Pause frames are obeyed.
        17:17 rxf => bool;
        /// Pause frames are sent.
        16:16 txf => bool;
        /// Magic packets are looked for.
        9:9 mpde => bool;
        6:6 re => bool;
        5:5 te => bool;
        /// Full duplex.
        1:1 dm => bool;
        /// Promiscuous.
        0:0 prm => bool;
    }

    pub(super) RFLR(u32) @ 0x508 {
        17:0 limit;
    }

    pub(super) ECSR(u32) @ 0x510 {
        4:4 pfri => bool;
        2:2 lchng => bool;
        1:1 mpd => bool;
        0:0 icd => bool;
    }

    pub(super) ECSIPR(u32) @ 0x518 {
        4:4 pfri => bool;
        2:2 lchng => bool;
        1:1 mpd => bool;
        0:0 icd => bool;
    }

    pub(super) PIR(u32) @ 0x520 {
        3:3 mdi => bool;
        2:2 mdo => bool;
        1:1 mmd => bool;
        0:0 mdc => bool;
    }

    pub(super) PSR(u32) @ 0x528 {
        0:0 lmon => bool;
    }

    pub(super) CXR31(u32) @ 0x530 {
        3:3 sel_link1 => bool;
        0:0 sel_link0 => bool;
    }

    pub(super) CXR35(u32) @ 0x540 {
        31:16 half_cycle;
        1:0 sel_xmii;
    }

    /// Bit 0 is EtherAVB's, the others are GbEth's.
    pub(super) GECMR(u32) @ 0x5b0 {
        5:4 gbeth_speed;
        0:0 gigabit => bool;
    }

    pub(super) MAHR(u32) @ 0x5c0 {
        31:0 address;
    }

    pub(super) MALR(u32) @ 0x5c8 {
        15:0 address;
    }

    pub(super) TROCR(u32) @ 0x700 {
        15:0 count;
    }

    pub(super) CXR41(u32) @ 0x708 {
        15:0 count;
    }

    pub(super) CXR42(u32) @ 0x710 {
        15:0 count;
    }

    pub(super) CEFCR(u32) @ 0x740 {
        15:0 count;
    }

    pub(super) FRECR(u32) @ 0x748 {
        15:0 count;
    }

    pub(super) TLFRCR(u32) @ 0x758 {
        15:0 count;
    }

    pub(super) CSR0(u32) @ 0x800 {
        5:5 rpe => bool;
        4:4 tpe => bool;
    }

    pub(super) CSR1(u32) @ 0x804 {
        21:21 udp6 => bool;
        20:20 tcp6 => bool;
        5:5 udp4 => bool;
        4:4 tcp4 => bool;
    }

    pub(super) CSR2(u32) @ 0x808 {
        22:22 icmp6 => bool;
        21:21 udp6 => bool;
        20:20 tcp6 => bool;
        6:6 icmp4 => bool;
        5:5 udp4 => bool;
        4:4 tcp4 => bool;
    }
}

/// A status register whose flags are cleared by writing 0, and kept by writing 1. Reserved bits are
/// written as 0.
pub(super) trait ClearByZero: FixedRegister + From<u32> + Into<u32> {
    /// The bits that are flags.
    const FLAGS: u32;

    /// The value that clears the flags set in `self` and keeps all others.
    fn clearing(self) -> Self {
        let flags: u32 = self.into();

        (Self::FLAGS & !flags).into()
    }
}

impl ClearByZero for EIS {
    // QFS, and eleven more that nobody enables.
    const FLAGS: u32 = EIS::QFS_MASK | EIS::OTHER_MASK;
}

impl ClearByZero for RIS0 {
    const FLAGS: u32 = RIS0::FRF_MASK;
}

impl ClearByZero for RIS2 {
    const FLAGS: u32 = RIS2::RFFF_MASK | RIS2::QFF_MASK;
}

impl ClearByZero for TIS {
    // The unnamed ones are not reserved, hence kept.
    const FLAGS: u32 = 0x000f_0f0f;
}

impl ClearByZero for GIS {
    // All that is not reserved.
    const FLAGS: u32 = 0xffff_03ff;
}

impl ECSR {
    /// The value that clears the flags set in `self`: the same, since 1 clears.
    pub(super) fn clearing(self) -> Self {
        self
    }

    /// The flags that also are enabled.
    pub(super) fn enabled(self, enabled: ECSIPR) -> Self {
        // The two registers have the same layout.
        (self.into_raw() & enabled.into_raw()).into()
    }
}

#[kunit_tests(ravb_rs_regs)]
mod tests {
    use super::*;

    #[test]
    fn clear_by_zero_keeps_other_queues() {
        let clear = RIS0::zeroed().with_frf(0b01u8).clearing();

        // Queue 0 and the reserved bits are 0, all other queues 1.
        assert_eq!(clear.into_raw(), 0x0003_fffe);
        let clear = TIS::zeroed()
            .with_ftf(Bounded::<u32, 4>::new::<2>())
            .clearing();

        assert_eq!(clear.into_raw(), 0x000f_0f0d);
    }

    #[test]
    fn mode_status() {
        for mode in [Mode::Reset, Mode::Config, Mode::Operation] {
            let ccc = CCC::zeroed().with_opc(mode);

            assert!(ccc.opc() == Ok(mode));
            assert_eq!(mode.status(), 1u32 << ccc.into_raw());
        }
    }
    #[test]
    fn status_registers_clear_what_they_show() {
        // What is set is written as 0, what is not as 1, what is reserved as 0.
        assert_eq!(EIS::from(0x0001_0000).clearing().into_raw(), 0x0000_07ff);
        assert_eq!(EIS::from(0).clearing().into_raw(), 0x0001_07ff);
        assert_eq!(RIS2::from(0x8000_0003).clearing().into_raw(), 0x0003_fffc);
        assert_eq!(GIS::from(0x0000_0005).clearing().into_raw(), 0xffff_03fa);
        assert_eq!(TIS::from(0x0000_0100).clearing().into_raw(), 0x000f_0e0f);
        // Here 1 clears.
        assert_eq!(ECSR::from(0x0000_0002).clearing().into_raw(), 2);
        assert_eq!(
            ECSR::from(0x17).enabled(ECSIPR::from(0x06)).into_raw(),
            0x06
        );
    }

    #[test]
    fn fields() {
        assert_eq!(
            GTI::zeroed()
                .with_tiv(Bounded::from_expr(0x0fff_ffffu32 & GTI::TIV_MASK))
                .into_raw(),
            0x0fff_ffff
        );
        assert_eq!(GTI::TIV_MASK, 0x0fff_ffff);
        // A stamp's tag is above its seconds.
        assert_eq!(TFA2::from(0x03ff_1234).tag().get(), 0x3ff);
        assert_eq!(TFA2::from(0x03ff_1234).seconds().get(), 0x1234);
        // A mode that is none is not taken for one.
        assert!(CCC::from(3).opc().is_err());
    }
}
