// SPDX-License-Identifier: GPL-2.0-or-later

//! E-MAC: what is received and what is not, link, pause, magic packets, and the ports of GbEth's
//! checksum engine.
//!
//! Sources: reference sections 2.7, 2.10, 1.7, 3.3a.

use super::mode::Ops;
use super::regs::{bits, reg};
use super::{Mac, NEVER};
use crate::chip::{LinkPin, SpeedField};
use crate::dmac::desc::DS_MASK;
use crate::frame::{Defects, Frame};
use crate::host::{Host, Ns};
use crate::report::Violation;

/// MSC bits.
#[allow(missing_docs, reason = "the names are those of the reference's table")]
pub mod msc {
    pub const CRC: u8 = 0x01;
    pub const RFE: u8 = 0x02;
    pub const RTSF: u8 = 0x04;
    pub const RTLF: u8 = 0x08;
    pub const FRE: u8 = 0x10;
    pub const CRL: u8 = 0x20;
    pub const CEEF: u8 = 0x40;
    pub const MC: u8 = 0x80;
    /// Everything that is wrong with a frame.
    pub const ERRORS: u8 = 0x7F;
}

/// Shortest frame without FCS.
const MIN_FRAME: usize = 60;
const FCS: usize = 4;
/// Longest time for CSR.RPO to clear.
const MAX_RPO: Ns = 3_000;
/// Longest time for CSR0 to show what was written.
const MAX_PORTS: Ns = 20_000;
/// Bit times of one pause quantum.
const QUANTUM_BITS: u64 = 512;

/// A frame that the E-MAC hands to the DMA.
#[derive(Debug)]
pub(crate) struct Accepted {
    /// The bytes without FCS.
    pub(crate) data: Vec<u8>,
    /// Status.
    pub(crate) msc: u8,
    /// Bytes beyond the length limit are gone.
    pub(crate) cut: bool,
    /// Length on the wire without FCS.
    pub(crate) wire_len: usize,
}

impl Accepted {
    /// Whether anything is wrong with it.
    pub(crate) fn errors(&self) -> bool {
        self.msc & msc::ERRORS != 0
    }
}

/// The ports of the checksum engine.
#[derive(Debug)]
pub(crate) struct Toe {
    /// What CSR0 shows and what is in effect.
    pub(crate) ports: u32,
    want: u32,
    due: Ns,
}

impl Default for Toe {
    fn default() -> Self {
        Self { ports: 0, want: 0, due: NEVER }
    }
}

impl Toe {
    /// What was written takes effect after all.
    pub(super) fn retry(&mut self, now: Ns) {
        if self.ports != self.want {
            self.due = now;
        }
    }
}

impl Mac {
    /// The speed that GECMR sets, Mbit/s.
    pub(crate) fn emac_mbps(&self) -> u32 {
        let gecmr = self.regs.get(reg::GECMR);
        match (self.chip.speed, gecmr & 1, (gecmr >> 4) & 3) {
            (SpeedField::Bit0, 0, _) => 100,
            (SpeedField::Bit0, ..) => 1000,
            (SpeedField::Bits54, _, 0) => 10,
            (SpeedField::Bits54, _, 1) => 100,
            (SpeedField::Bits54, ..) => 1000,
        }
    }

    /// Whether frames get through between MAC and PHY.
    fn medium(&self) -> bool {
        self.phy.link().is_some_and(|link| link.mbps == self.emac_mbps())
    }

    /// The station address.
    fn station(&self) -> [u8; 6] {
        let [a, b, c, d] = self.regs.get(reg::MAHR).to_be_bytes();
        let [.., e, f] = self.regs.get(reg::MALR).to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// PSR.LMON.
    pub(super) fn link_level(&self) -> bool {
        match self.cfg.link_pin {
            LinkPin::High => self.phy.link().is_some(),
            LinkPin::Low => self.phy.link().is_none(),
            LinkPin::None => false,
        }
    }

    /// Notices that the link has come or gone.
    pub(super) fn link_change(&mut self) {
        let up = self.phy.link().is_some();
        if up != self.link_up {
            self.link_up = up;
            if self.cfg.link_pin != LinkPin::None {
                self.regs.or(reg::ECSR, bits::ECSR_LCHNG);
            }
        }
    }

    /// ECMR was written; `held` is what it held before.
    pub(super) fn ecmr_change(&mut self, now: Ns, held: u32) {
        let ecmr = self.regs.get(reg::ECMR);
        if held & !ecmr & bits::ECMR_RE != 0 {
            self.rpo_until = now + self.delay(MAX_RPO);
        }
        if ecmr & bits::ECMR_TE != 0 {
            if self.mode.ops == Ops::Operation {
                self.check_interface();
            }
            self.tx_kick(now);
        }
    }

    /// Whether the interface selection registers suit the board: `phy-mode` and, where the MAC
    /// has internal delays, those of the device tree.
    fn check_interface(&mut self) {
        let mii = self.cfg.phy_mode == "mii";
        let held = |off| self.regs.get(off);
        let select = if self.chip.toe {
            // CXR31.SEL_LINK0 is set for RGMII, CXR35.SEL_XMII is 2 for MII.
            (held(reg::CXR31) & 1 != 0) != mii && (held(reg::CXR35) & 3 != 0) == mii
        } else if self.chip.mii_select {
            (held(reg::APSR) & bits::APSR_MIISELECT != 0) == mii
        } else {
            true
        };
        let delays = match self.cfg.delays_ps {
            Some((rx, tx)) if self.chip.delays_ps.is_some() => {
                let set = |bit| held(reg::APSR) & bit != 0;
                set(bits::APSR_RDM) == (rx != 0) && set(bits::APSR_TDM) == (tx != 0)
            }
            _ => true,
        };
        for (right, what) in [(select, "interface selection"), (delays, "internal delays")] {
            if !right {
                let mode = &self.cfg.phy_mode;
                self.report.note(
                    Violation::Interface,
                    format_args!("{what} is not what the board needs (phy-mode {mode})"),
                );
            }
        }
    }

    /// A frame leaves the MAC.
    pub(crate) fn emit(&mut self, at: Ns, frame: Frame) {
        let own_loop = self.regs.get(reg::CCC) & bits::CCC_LBME != 0;
        if own_loop || self.medium() {
            self.stats.tx_frames += 1;
            self.stats.tx_bytes += frame.data.len() as u64;
            self.sent.push_back((at, frame));
        } else {
            self.stats.tx_lost += 1;
        }
    }

    /// Whether frames that leave come back, at the MAC or at the PHY.
    pub fn loops_back(&self) -> bool {
        self.regs.get(reg::CCC) & bits::CCC_LBME != 0 || self.phy.loops_back()
    }

    /// The time of the start delimiter of a frame whose last bit came at `now`.
    pub(crate) fn sfd(&self, now: Ns, frame: &Accepted) -> Ns {
        if !self.cfg.pace {
            return now;
        }
        let bytes = (frame.wire_len + FCS) as u64;
        now.saturating_sub(bytes * 8000 / u64::from(self.emac_mbps()))
    }

    /// A write to CSR0.
    pub(super) fn write_csr0(&mut self, now: Ns, value: u32) {
        self.regs.set(reg::CSR0, value);
        self.toe.want = value;
        self.toe.due = now + self.slow_delay(MAX_PORTS);
        self.toe_poll(now);
    }

    /// The ports follow CSR0 after a while.
    pub(super) fn toe_poll(&mut self, now: Ns) {
        if self.toe.due <= now && !self.faults.stuck_csum {
            self.toe.due = NEVER;
            self.toe.ports = self.toe.want;
            self.tx_kick(now);
        }
    }

    /// A frame comes from the wire; `now` is the time of its last bit.
    pub fn receive(&mut self, now: Ns, frame: Frame, host: &mut dyn Host) {
        self.settle(now, host);
        if let Some(frame) = self.accept(now, frame) {
            self.rx_store(now, frame, host);
        }
        self.update_irqs(host);
    }

    /// What E-MAC makes of a frame; `None`: it goes no further.
    fn accept(&mut self, now: Ns, frame: Frame) -> Option<Accepted> {
        let ecmr = self.regs.get(reg::ECMR);
        let open = !self.chip.toe || self.toe.ports & bits::CSR0_RPE != 0;
        let off = ecmr & bits::ECMR_RE == 0 || !open;
        if self.in_reset || off || frame.data.is_empty() || !(self.medium() || self.loops_back()) {
            self.stats.rx_off += 1;
            return None;
        }
        let Frame { mut data, defects } = frame;
        let station = self.station();
        if ecmr & bits::ECMR_MPDE != 0
            && self.chip.magic
            && defects == Defects::default()
            && is_magic(&data, station)
        {
            self.stats.magic += 1;
            self.regs.or(reg::ECSR, bits::ECSR_MPD);
        }
        let group = data.first().is_some_and(|first| first & 1 != 0);
        let broadcast = data.starts_with(&[0xFF; 6]);
        if ecmr & bits::ECMR_PRM == 0 && !group && !data.starts_with(&station) {
            self.stats.rx_filtered += 1;
            return None;
        }
        let multicast = group && !broadcast;
        let mut status = if multicast { msc::MC } else { 0 };
        let wire_len = data.len();
        let limit = (self.regs.get(reg::RFLR).min(self.chip.rflr_max) as usize).saturating_sub(FCS);
        let cut = wire_len > limit;
        if cut {
            data.truncate(limit);
        }
        for (wrong, bit, counter) in [
            (defects.crc, msc::CRC, Some(reg::CEFCR)),
            (defects.phy, msc::RFE, Some(reg::FRECR)),
            (defects.short || wire_len < MIN_FRAME, msc::RTSF, Some(reg::TSFRCR)),
            (defects.long || cut, msc::RTLF, Some(reg::TLFRCR)),
            (defects.fraction, msc::FRE, Some(reg::RFCR)),
            (defects.carrier_lost, msc::CRL, None),
            (defects.carrier_ext, msc::CEEF, None),
            (multicast, 0, Some(reg::MAFCR)),
        ] {
            if wrong {
                status |= bit;
                if let Some(counter) = counter {
                    self.regs.count(counter, 1);
                }
            }
        }
        if status & msc::ERRORS == 0 && self.pause(now, &data, ecmr) {
            return None;
        }
        Some(Accepted { data, msc: status, cut, wire_len })
    }

    /// Acts on a pause frame. True: it is not passed on.
    fn pause(&mut self, now: Ns, data: &[u8], ecmr: u32) -> bool {
        let is_pause = data.get(12..16) == Some(&[0x88, 0x08, 0x00, 0x01])
            && data.starts_with(&[0x01, 0x80, 0xC2, 0, 0, 0x01]);
        if !is_pause || ecmr & bits::ECMR_RXF == 0 {
            return false;
        }
        let quanta = data.get(16..18).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
        self.regs.count(reg::PFRCR, 1);
        self.regs.or(reg::ECSR, bits::ECSR_PFRI);
        // ZPF: a pause of 0 ends the present one; without it such a frame is ignored.
        if quanta != 0 || ecmr & bits::ECMR_ZPF != 0 {
            self.stats.rx_pause += 1;
            let bits = u64::from(quanta) * QUANTUM_BITS;
            self.pause_until = now + bits * 1000 / u64::from(self.emac_mbps());
        }
        ecmr & bits::ECMR_PFR == 0
    }
}

/// Six bytes of ones and then the station address sixteen times, anywhere in the frame.
fn is_magic(data: &[u8], station: [u8; 6]) -> bool {
    const LEN: usize = 6 + 16 * 6;
    data.windows(LEN).any(|window| {
        window[..6] == [0xFF; 6] && window[6..].chunks_exact(6).all(|part| part == station)
    })
}

// A slot's size fits the DS field, so that a frame of any length takes few of them.
const _: () = assert!(DS_MASK as usize >= MIN_FRAME);
