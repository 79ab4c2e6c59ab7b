// SPDX-License-Identifier: GPL-2.0-or-later

//! The registers: where they are, what they hold after reset and how they behave when accessed.
//!
//! Source: reference section 2.1 (offsets, bits, reset values tagged X there) and 2.2 (status
//! semantics). Registers that no driver touches are plain storage.

use crate::chip::{Chip, ChipSet, ALL, GBETH, GEN3, GEN4, RCAR, RZV2M};

/// Register offsets.
#[allow(missing_docs, reason = "the names are those of the reference's table")]
pub mod reg {
    pub const CCC: usize = 0x000;
    pub const DBAT: usize = 0x004;
    pub const DLR: usize = 0x008;
    pub const CSR: usize = 0x00C;
    pub const CDAR0: usize = 0x010;
    pub const CDAR21: usize = 0x064;
    pub const ESR: usize = 0x088;
    pub const APSR: usize = 0x08C;
    pub const RCR: usize = 0x090;
    pub const RTC: usize = 0x0B4;
    pub const TGC: usize = 0x300;
    pub const TCCR: usize = 0x304;
    pub const TSR: usize = 0x308;
    pub const TFA0: usize = 0x310;
    pub const TFA1: usize = 0x314;
    pub const TFA2: usize = 0x318;
    pub const DIC: usize = 0x350;
    pub const DIS: usize = 0x354;
    pub const EIC: usize = 0x358;
    pub const EIS: usize = 0x35C;
    pub const RIC0: usize = 0x360;
    pub const RIS0: usize = 0x364;
    pub const RIC1: usize = 0x368;
    pub const RIS1: usize = 0x36C;
    pub const RIC2: usize = 0x370;
    pub const RIS2: usize = 0x374;
    pub const TIC: usize = 0x378;
    pub const TIS: usize = 0x37C;
    pub const ISS: usize = 0x380;
    pub const CIE: usize = 0x384;
    pub const GCCR: usize = 0x390;
    pub const GMTT: usize = 0x394;
    pub const GPTC: usize = 0x398;
    pub const GTI: usize = 0x39C;
    pub const GTO0: usize = 0x3A0;
    pub const GTO1: usize = 0x3A4;
    pub const GTO2: usize = 0x3A8;
    pub const GIC: usize = 0x3AC;
    pub const GIS: usize = 0x3B0;
    pub const GCPT: usize = 0x3B4;
    pub const GCT0: usize = 0x3B8;
    pub const GCT1: usize = 0x3BC;
    pub const GCT2: usize = 0x3C0;
    pub const GIE: usize = 0x3CC;
    pub const GID: usize = 0x3D0;
    pub const DIL: usize = 0x440;
    pub const RIE0: usize = 0x460;
    pub const RID0: usize = 0x464;
    pub const RIE2: usize = 0x470;
    pub const RID2: usize = 0x474;
    pub const TIE: usize = 0x478;
    pub const TID: usize = 0x47C;
    pub const ECMR: usize = 0x500;
    pub const RFLR: usize = 0x508;
    pub const ECSR: usize = 0x510;
    pub const ECSIPR: usize = 0x518;
    pub const PIR: usize = 0x520;
    pub const PSR: usize = 0x528;
    pub const CXR31: usize = 0x530;
    pub const CXR35: usize = 0x540;
    pub const PFTCR: usize = 0x55C;
    pub const PFRCR: usize = 0x560;
    pub const GECMR: usize = 0x5B0;
    pub const MAHR: usize = 0x5C0;
    pub const MALR: usize = 0x5C8;
    pub const TROCR: usize = 0x700;
    pub const CXR41: usize = 0x708;
    pub const CXR42: usize = 0x710;
    pub const CEFCR: usize = 0x740;
    pub const FRECR: usize = 0x748;
    pub const TSFRCR: usize = 0x750;
    pub const TLFRCR: usize = 0x758;
    pub const RFCR: usize = 0x760;
    pub const MAFCR: usize = 0x778;
    pub const CSR0: usize = 0x800;
    pub const CSR1: usize = 0x804;
    pub const CSR2: usize = 0x808;
}

/// Register bits.
#[allow(missing_docs, reason = "the names are those of the reference's table")]
pub mod bits {
    pub const CCC_OPC: u32 = 0x3;
    pub const CCC_GAC: u32 = 1 << 7;
    pub const CCC_DTSR: u32 = 1 << 8;
    pub const CCC_CSEL: u32 = 0x3_0000;
    pub const CCC_LBME: u32 = 1 << 24;
    pub const CSR_DTS: u32 = 1 << 8;
    pub const CSR_TPO0: u32 = 1 << 16;
    pub const CSR_RPO: u32 = 1 << 20;
    pub const APSR_RDM: u32 = 1 << 13;
    pub const APSR_TDM: u32 = 1 << 14;
    pub const APSR_MIISELECT: u32 = 1 << 24;
    pub const RCR_EFFS: u32 = 1 << 0;
    pub const RCR_ENCF: u32 = 1 << 1;
    pub const RCR_ETS0: u32 = 1 << 4;
    pub const TGC_TQP: u32 = 0x30;
    pub const TCCR_TSRQ: u32 = 0xF;
    pub const TCCR_TFEN: u32 = 1 << 8;
    pub const TCCR_TFR: u32 = 1 << 9;
    pub const EIS_MREF: u32 = 1 << 0;
    pub const EIS_MTEF: u32 = 1 << 1;
    pub const EIS_QEF: u32 = 1 << 2;
    pub const EIS_TFFF: u32 = 1 << 8;
    pub const EIS_QFS: u32 = 1 << 16;
    pub const RIS2_RFFF: u32 = 1 << 31;
    pub const TIS_FTF: u32 = 0xF;
    pub const TIS_TFUF: u32 = 1 << 8;
    pub const TIS_TFWF: u32 = 1 << 9;
    pub const ISS_FRS: u32 = 1 << 0;
    pub const ISS_FTS: u32 = 1 << 2;
    pub const ISS_ES: u32 = 1 << 6;
    pub const ISS_MS: u32 = 1 << 7;
    pub const ISS_TFUS: u32 = 1 << 8;
    pub const ISS_TFWS: u32 = 1 << 9;
    pub const ISS_RFWS: u32 = 1 << 12;
    pub const ISS_CGIS: u32 = 1 << 13;
    pub const CIE_CRIE: u32 = 1 << 0;
    pub const CIE_CTIE: u32 = 1 << 8;
    pub const CIE_CL0M: u32 = 1 << 17;
    pub const GCCR_TCR: u32 = 0x3;
    pub const GCCR_LTO: u32 = 1 << 2;
    pub const GCCR_LTI: u32 = 1 << 3;
    pub const GCCR_LPTC: u32 = 1 << 4;
    pub const GCCR_LMTT: u32 = 1 << 5;
    pub const GCCR_TCSS: u32 = 0x300;
    pub const GIS_PTCF: u32 = 1 << 0;
    pub const GIS_PTMF: u32 = 1 << 2;
    pub const ECMR_PRM: u32 = 1 << 0;
    pub const ECMR_DM: u32 = 1 << 1;
    pub const ECMR_TE: u32 = 1 << 5;
    pub const ECMR_RE: u32 = 1 << 6;
    pub const ECMR_MPDE: u32 = 1 << 9;
    pub const ECMR_RXF: u32 = 1 << 17;
    pub const ECMR_PFR: u32 = 1 << 18;
    pub const ECMR_ZPF: u32 = 1 << 19;
    pub const ECMR_DPAD: u32 = 1 << 21;
    pub const ECMR_RCSC: u32 = 1 << 23;
    pub const ECMR_RCPT: u32 = 1 << 25;
    pub const ECSR_ICD: u32 = 1 << 0;
    pub const ECSR_MPD: u32 = 1 << 1;
    pub const ECSR_LCHNG: u32 = 1 << 2;
    pub const ECSR_PFRI: u32 = 1 << 4;
    pub const PIR_MDC: u32 = 1 << 0;
    pub const PIR_MMD: u32 = 1 << 1;
    pub const PIR_MDO: u32 = 1 << 2;
    pub const PIR_MDI: u32 = 1 << 3;
    pub const PSR_LMON: u32 = 1 << 0;
    pub const CSR0_TPE: u32 = 1 << 4;
    pub const CSR0_RPE: u32 = 1 << 5;
    pub const CSR1_TIP4: u32 = 1 << 0;
    pub const CSR1_TTCP4: u32 = 1 << 4;
    pub const CSR1_TUDP4: u32 = 1 << 5;
    pub const CSR1_TICMP4: u32 = 1 << 6;
    pub const CSR1_TTCP6: u32 = 1 << 20;
    pub const CSR1_TUDP6: u32 = 1 << 21;
    pub const CSR1_TICMP6: u32 = 1 << 22;
}

/// How a register behaves when written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Holds the writable bits.
    Rw,
    /// Ignores writes.
    Ro,
    /// Write 0 clears, write 1 keeps.
    W0c,
    /// Write 1 clears.
    W1c,
    /// Counter: any write clears.
    Wc,
    /// Write 1 sets in the register at the offset; reads as 0.
    SetOf(usize),
    /// Write 1 clears in the register at the offset; reads as 0.
    ClearOf(usize),
    /// The MAC's code decides.
    Special,
}

/// In which modes a write takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// In every mode.
    Any,
    /// In CONFIG and OPERATION.
    Active,
    /// In CONFIG only.
    Config,
}

/// Which part a register belongs to: decides what resets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// CCC and CSR: the mode machine itself.
    Mode,
    /// AVB-DMAC.
    Dmac,
    /// gPTP.
    Gptp,
    /// E-MAC.
    Emac,
    /// Station address: survives CCC.OPC = RESET.
    Station,
    /// GbEth checksum engine.
    Toe,
}

/// A register, or `count` equal ones in a row.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Offset of the first.
    pub off: usize,
    /// How many, 4 bytes apart.
    pub count: usize,
    /// Name, without number if there are several.
    pub name: &'static str,
    /// Value after reset.
    pub reset: u32,
    /// Bits that exist: writable, clearable, or readable in a read-only register.
    pub mask: u32,
    /// Behaviour on access.
    pub kind: Kind,
    /// Modes in which it may be written.
    pub when: When,
    /// The part it belongs to.
    pub unit: Unit,
    /// Variants that have it.
    pub chips: ChipSet,
}

#[allow(clippy::too_many_arguments, reason = "one row of a table")]
const fn r(
    off: usize,
    name: &'static str,
    reset: u32,
    mask: u32,
    kind: Kind,
    when: When,
    unit: Unit,
    chips: ChipSet,
) -> Spec {
    Spec { off, count: 1, name, reset, mask, kind, when, unit, chips }
}

const fn many(count: usize, spec: Spec) -> Spec {
    Spec { count, ..spec }
}

const FULL: u32 = u32::MAX;
/// Bits of the 18 RX queues.
const RXQ: u32 = 0x3_FFFF;
/// Bits of GIC and GIS: capture, presentation matches, AVTP captures.
const GPTP_IRQ: u32 = 0xFFFF_03FF;

use Kind::{ClearOf, Ro, Rw, SetOf, Special, W0c, W1c, Wc};
use Unit::{Dmac, Emac, Gptp, Mode, Station, Toe};
use When::{Active, Any, Config};

/// Every register of every variant.
pub const SPECS: &[Spec] = &[
    r(reg::CCC, "CCC", 0, 0x0113_0183, Special, Any, Mode, ALL),
    r(reg::DBAT, "DBAT", 0, FULL, Rw, Config, Dmac, ALL),
    r(reg::DLR, "DLR", 0x3F_FFFF, 0x3F_FFFF, Special, Active, Dmac, ALL),
    r(reg::CSR, "CSR", 1, 0x001F_010F, Ro, Any, Mode, ALL),
    many(22, r(reg::CDAR0, "CDAR", 0, FULL, Ro, Any, Dmac, ALL)),
    r(reg::ESR, "ESR", 0, 0x1F1F, Ro, Any, Dmac, ALL),
    r(reg::APSR, "APSR", 0, 0x0100_6012, Rw, Active, Dmac, GEN3 | GEN4),
    r(reg::RCR, "RCR", 0x1800_0000, 0x1FFF_003F, Rw, Config, Dmac, RCAR),
    r(reg::RCR, "RCR", 0x1800_0000, 0x7FFF_003F, Rw, Config, Dmac, GBETH),
    many(5, r(0x094, "RQC", 0, 0x3333_3333, Rw, Active, Dmac, RCAR)),
    r(0x0B0, "RPC", 0x100, 0x00FF_0700, Rw, Active, Dmac, ALL),
    r(reg::RTC, "RTC", 0x0FFC_0FFC, 0x0FFF_0FFF, Rw, Config, Dmac, RCAR),
    r(reg::RTC, "RTC", 0x0FFC_0FFC, 0x7FFF_7FFF, Rw, Config, Dmac, GBETH),
    r(0x0BC, "UFCW", 0, 0x3F3F_3F3F, Rw, Active, Dmac, RCAR),
    r(0x0C0, "UFCS", 0, 0x3F3F_3F3F, Rw, Active, Dmac, RCAR),
    many(5, r(0x0C4, "UFCV", 0, 0x3F3F_3F3F, Ro, Any, Dmac, RCAR)),
    many(5, r(0x0E0, "UFCD", 0, 0x3F3F_3F3F, Rw, Active, Dmac, RCAR)),
    r(0x0FC, "SFO", 0, 0x3F, Rw, Active, Dmac, RCAR),
    many(32, r(0x100, "SFP", 0, FULL, Rw, Active, Dmac, RCAR)),
    many(2, r(0x1C0, "SFM", 0, FULL, Rw, Active, Dmac, RCAR)),
    r(0x1C8, "SFL", 0x1F, 0x1F, Rw, Active, Dmac, RCAR),
    r(reg::TGC, "TGC", 0x0022_2200, 0x0033_333F, Rw, Config, Dmac, ALL),
    r(reg::TCCR, "TCCR", 0, 0x030F, Special, Active, Dmac, RCAR),
    r(reg::TCCR, "TCCR", 0, 0x0001, Special, Active, Dmac, GBETH),
    r(reg::TSR, "TSR", 0, 0x070F, Ro, Any, Dmac, RCAR),
    r(reg::TFA0, "TFA0", 0, FULL, Ro, Any, Dmac, RCAR),
    r(reg::TFA1, "TFA1", 0, FULL, Ro, Any, Dmac, RCAR),
    r(reg::TFA2, "TFA2", 0, 0x03FF_FFFF, Ro, Any, Dmac, RCAR),
    r(0x31C, "VRR", 0xE300, FULL, Ro, Any, Dmac, ALL),
    many(2, r(0x320, "CIVR", 1, FULL, Rw, Active, Dmac, RCAR)),
    many(2, r(0x328, "CDVR", FULL, FULL, Rw, Active, Dmac, RCAR)),
    many(2, r(0x330, "CUL", 0x7FFF_FFFF, FULL, Rw, Active, Dmac, RCAR)),
    many(2, r(0x338, "CLL", 0x8000_0001, FULL, Rw, Active, Dmac, RCAR)),
    r(reg::DIC, "DIC", 0, 0xFFFE, Rw, Active, Dmac, ALL),
    r(reg::DIS, "DIS", 0, 0xFFFE, W0c, Active, Dmac, ALL),
    r(reg::EIC, "EIC", 0, 0x01FF, Rw, Active, Dmac, ALL),
    // EIS bits 9 and 10 have no name, but the driver writes 1 to them ("keep"), [1182].
    r(reg::EIS, "EIS", 0, 0x07FF, W0c, Active, Dmac, ALL),
    r(reg::RIC0, "RIC0", 0, RXQ, Rw, Active, Dmac, ALL),
    r(reg::RIS0, "RIS0", 0, RXQ, W0c, Active, Dmac, ALL),
    r(reg::RIC1, "RIC1", 0, 1 << 31, Rw, Active, Dmac, ALL),
    r(reg::RIS1, "RIS1", 0, 1 << 31, W0c, Active, Dmac, ALL),
    r(reg::RIC2, "RIC2", 0, RXQ | (1 << 31), Rw, Active, Dmac, ALL),
    r(reg::RIS2, "RIS2", 0, RXQ | (1 << 31), W0c, Active, Dmac, ALL),
    // Bits 16-19 and 10, 11 of TIC and TIS have no name, but are not reserved (TIS_RESERVED).
    r(reg::TIC, "TIC", 0, 0x000F_0F0F, Rw, Active, Dmac, ALL),
    r(reg::TIS, "TIS", 0, 0x000F_0F0F, W0c, Active, Dmac, ALL),
    r(reg::ISS, "ISS", 0, FULL, Ro, Any, Dmac, ALL),
    r(reg::CIE, "CIE", 0, 0x000F_0101, Rw, Active, Dmac, GEN3 | GEN4 | RZV2M),
    r(reg::GCCR, "GCCR", 0x2C, 0x033F, Special, Active, Gptp, RCAR),
    r(reg::GMTT, "GMTT", 0, FULL, Rw, Active, Gptp, RCAR),
    r(reg::GPTC, "GPTC", 0, FULL, Rw, Active, Gptp, RCAR),
    r(reg::GTI, "GTI", 1, 0x0FFF_FFFF, Rw, Active, Gptp, RCAR),
    r(reg::GTO0, "GTO0", 0, FULL, Rw, Active, Gptp, RCAR),
    r(reg::GTO1, "GTO1", 0, FULL, Rw, Active, Gptp, RCAR),
    r(reg::GTO2, "GTO2", 0, 0xFFFF, Rw, Active, Gptp, RCAR),
    r(reg::GIC, "GIC", 0, GPTP_IRQ, Rw, Active, Gptp, RCAR),
    r(reg::GIS, "GIS", 0, GPTP_IRQ, W0c, Active, Gptp, RCAR),
    r(reg::GCPT, "GCPT", 0, FULL, Ro, Any, Gptp, RCAR),
    r(reg::GCT0, "GCT0", 0, FULL, Ro, Any, Gptp, RCAR),
    r(reg::GCT1, "GCT1", 0, FULL, Ro, Any, Gptp, RCAR),
    r(reg::GCT2, "GCT2", 0, 0xFFFF, Ro, Any, Gptp, RCAR),
    r(reg::GIE, "GIE", 0, GPTP_IRQ, SetOf(reg::GIC), Active, Gptp, GEN3 | GEN4),
    r(reg::GID, "GID", 0, GPTP_IRQ, ClearOf(reg::GIC), Active, Gptp, GEN3 | GEN4),
    r(reg::DIL, "DIL", 0, 0xFFFE, Rw, Active, Dmac, GEN3 | GEN4 | RZV2M),
    r(reg::RIE0, "RIE0", 0, RXQ, SetOf(reg::RIC0), Active, Dmac, GEN3 | GEN4),
    r(reg::RID0, "RID0", 0, RXQ, ClearOf(reg::RIC0), Active, Dmac, GEN3 | GEN4),
    r(reg::RIE2, "RIE2", 0, RXQ | (1 << 31), SetOf(reg::RIC2), Active, Dmac, GEN3 | GEN4),
    r(reg::RID2, "RID2", 0, RXQ | (1 << 31), ClearOf(reg::RIC2), Active, Dmac, GEN3 | GEN4),
    r(reg::TIE, "TIE", 0, 0x000F_0F0F, SetOf(reg::TIC), Active, Dmac, GEN3 | GEN4),
    r(reg::TID, "TID", 0, 0x000F_0F0F, ClearOf(reg::TIC), Active, Dmac, GEN3 | GEN4),
    r(reg::ECMR, "ECMR", 0, 0x06BF_0263, Rw, Active, Emac, ALL),
    r(reg::RFLR, "RFLR", 0, 0x3_FFFF, Rw, Active, Emac, ALL),
    r(reg::ECSR, "ECSR", 0, 0x17, W1c, Active, Emac, ALL),
    r(reg::ECSIPR, "ECSIPR", 0, 0x17, Rw, Active, Emac, ALL),
    r(reg::PIR, "PIR", 0, 0x7, Special, Active, Emac, ALL),
    r(reg::PSR, "PSR", 0, 0x1, Ro, Any, Emac, ALL),
    r(0x52C, "PIPR", 0, 0x1, Rw, Active, Emac, ALL),
    r(reg::CXR31, "CXR31", 0, 0x9, Rw, Active, Emac, GBETH),
    r(reg::CXR35, "CXR35", 0, 0xFFFF_0003, Rw, Active, Emac, GBETH),
    r(0x558, "MPR", 0, 0xFFFF, Rw, Active, Emac, ALL),
    r(reg::PFTCR, "PFTCR", 0, 0xFFFF, Wc, Active, Emac, ALL),
    r(reg::PFRCR, "PFRCR", 0, 0xFFFF, Wc, Active, Emac, ALL),
    r(reg::GECMR, "GECMR", 0, 0x1, Rw, Active, Emac, RCAR),
    r(reg::GECMR, "GECMR", 0, 0x30, Rw, Active, Emac, GBETH),
    r(reg::MAHR, "MAHR", 0, FULL, Rw, Active, Station, ALL),
    r(reg::MALR, "MALR", 0, 0xFFFF, Rw, Active, Station, ALL),
    r(reg::TROCR, "TROCR", 0, 0xFFFF, Wc, Active, Emac, GEN3 | GEN4 | GBETH),
    r(reg::CXR41, "CXR41", 0, 0xFFFF, Wc, Active, Emac, GBETH),
    r(reg::CXR42, "CXR42", 0, 0xFFFF, Wc, Active, Emac, GBETH),
    r(reg::CEFCR, "CEFCR", 0, 0xFFFF, Wc, Active, Emac, ALL),
    r(reg::FRECR, "FRECR", 0, 0xFFFF, Wc, Active, Emac, ALL),
    r(reg::TSFRCR, "TSFRCR", 0, 0xFFFF, Wc, Active, Emac, ALL),
    r(reg::TLFRCR, "TLFRCR", 0, 0xFFFF, Wc, Active, Emac, ALL),
    r(reg::RFCR, "RFCR", 0, 0xFFFF, Wc, Active, Emac, ALL),
    r(reg::MAFCR, "MAFCR", 0, 0xFFFF, Wc, Active, Emac, ALL),
    // GbEth: hardware MDIO controller and LPI timers, known by name and place only.
    many(5, r(0x780, "MDIO", 0, FULL, Rw, Active, Emac, GBETH)),
    many(2, r(0x7B0, "LPTXMOD", 0, FULL, Rw, Active, Emac, GBETH)),
    many(4, r(0x7C0, "LPTXGTH", 0, FULL, Rw, Active, Emac, GBETH)),
    many(4, r(0x7D0, "LPTXMTH", 0, FULL, Rw, Active, Emac, GBETH)),
    r(reg::CSR0, "CSR0", 0, 0x30, Special, Active, Toe, GBETH),
    r(reg::CSR1, "CSR1", 0, 0x0F70_0071, Rw, Active, Toe, GBETH),
    r(reg::CSR2, "CSR2", 0, 0x0F70_0071, Rw, Active, Toe, GBETH),
    many(2, r(0x80C, "CSR3/CSR4", 0, FULL, Rw, Active, Toe, GBETH)),
    r(0x820, "CSR20", 0, FULL, Rw, Active, Toe, GBETH),
    many(3, r(0x824, "CSR30", 0, FULL, Rw, Active, Toe, GBETH)),
    many(101, r(0x840, "CSFR", 0, FULL, Rw, Active, Toe, GBETH)),
];

/// Bytes up to the highest register of any variant.
const SPACE: usize = 0xA00;
const WORDS: usize = SPACE / 4;
const NONE: u8 = u8::MAX;

/// A register was read.
pub const SEEN_READ: u8 = 1 << 0;
/// A register was written.
pub const SEEN_WRITE: u8 = 1 << 1;

/// The register file of one variant.
#[derive(Debug)]
pub struct Regs {
    words: [u32; WORDS],
    index: [u8; WORDS],
    seen: [u8; WORDS],
}

impl Regs {
    /// All registers of `chip` with their reset values.
    pub fn new(chip: &Chip) -> Box<Self> {
        let mut regs = Box::new(Self { words: [0; WORDS], index: [NONE; WORDS], seen: [0; WORDS] });
        for (at, spec) in SPECS.iter().enumerate().filter(|(_, spec)| chip.is_in(spec.chips)) {
            for n in 0..spec.count {
                let word = spec.off / 4 + n;
                debug_assert_eq!(regs.index[word], NONE, "two registers at {:#x}", word * 4);
                regs.index[word] = at as u8;
                regs.words[word] = spec.reset;
            }
        }
        regs
    }

    /// The register at byte offset `off`, if the variant has one there.
    pub fn spec(&self, off: u64) -> Option<&'static Spec> {
        let word = usize::try_from(off / 4).ok()?;
        let at = *self.index.get(word)?;
        SPECS.get(usize::from(at))
    }

    /// The value held at `off`, which must be the offset of a register.
    #[inline]
    pub fn get(&self, off: usize) -> u32 {
        self.words[off / 4]
    }

    /// Replaces the value held at `off`, which must be the offset of a register.
    #[inline]
    pub fn set(&mut self, off: usize, value: u32) {
        self.words[off / 4] = value;
    }

    /// Sets bits at `off`.
    #[inline]
    pub fn or(&mut self, off: usize, bits: u32) {
        self.words[off / 4] |= bits;
    }

    /// Clears bits at `off`.
    #[inline]
    pub fn clear(&mut self, off: usize, bits: u32) {
        self.words[off / 4] &= !bits;
    }

    /// Adds to a 16-bit counter, which stops at its maximum.
    pub fn count(&mut self, off: usize, n: u16) {
        let word = &mut self.words[off / 4];
        *word = (*word + u32::from(n)).min(0xFFFF);
    }

    /// Gives the registers of the units for which `which` says so their reset values.
    pub fn reset(&mut self, which: impl Fn(Unit) -> bool) {
        for (word, index) in self.words.iter_mut().zip(self.index) {
            if let Some(spec) = SPECS.get(usize::from(index)) {
                if which(spec.unit) {
                    *word = spec.reset;
                }
            }
        }
    }

    /// Notes an access for the coverage map.
    #[inline]
    pub fn note(&mut self, off: usize, how: u8) {
        self.seen[off / 4] |= how;
    }

    /// The coverage map: every register of the variant as offset, name and what was done with it
    /// ([`SEEN_READ`], [`SEEN_WRITE`]) since the device was made.
    pub fn coverage(&self) -> impl Iterator<Item = (usize, &'static str, u8)> + '_ {
        self.index.iter().zip(&self.seen).enumerate().filter_map(|(word, (&index, &seen))| {
            SPECS.get(usize::from(index)).map(|spec| (word * 4, spec.name, seen))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::{CHIPS, CHIP_GBETH, CHIP_GEN2, CHIP_GEN3, CHIP_RZV2M};

    #[test]
    fn table_fits_and_does_not_overlap() {
        assert!(SPECS.len() < usize::from(NONE));
        for chip in CHIPS {
            // The constructor asserts that no two registers share a place.
            let regs = Regs::new(chip);
            assert!(regs.coverage().all(|(off, ..)| off < chip.window as usize));
        }
        for spec in SPECS {
            assert_eq!(spec.reset & !spec.mask, 0, "{} resets to bits it lacks", spec.name);
        }
    }

    #[test]
    fn variants_have_their_registers_only() {
        let has = |chip, off: usize| Regs::new(chip).spec(off as u64).is_some();
        assert!(has(&CHIP_GBETH, reg::CSR0) && !has(&CHIP_GEN3, reg::CSR0));
        assert!(has(&CHIP_GEN3, reg::TIE) && !has(&CHIP_GEN2, reg::TIE));
        assert!(has(&CHIP_RZV2M, reg::CIE) && !has(&CHIP_RZV2M, reg::RIE0));
        assert!(!has(&CHIP_GBETH, reg::GCCR) && has(&CHIP_GEN2, reg::GCCR));
        assert!(!has(&CHIP_GBETH, 0x77C) && !has(&CHIP_GBETH, 0xFFFC));
    }

    #[test]
    fn reset_by_unit() {
        let mut regs = Regs::new(&CHIP_GBETH);
        regs.set(reg::MAHR, 5);
        regs.set(reg::CSR1, 5);
        regs.reset(|unit| unit == Unit::Toe);
        assert_eq!((regs.get(reg::MAHR), regs.get(reg::CSR1)), (5, 0));
        assert_eq!(Regs::new(&CHIP_GEN2).get(reg::GCCR), 0x2C);
    }

    #[test]
    fn counters_stop_at_their_maximum() {
        let mut regs = Regs::new(&CHIP_GBETH);
        regs.count(reg::TROCR, 0xFFFE);
        regs.count(reg::TROCR, 5);
        assert_eq!(regs.get(reg::TROCR), 0xFFFF);
    }
}
