// SPDX-License-Identifier: GPL-2.0-or-later

//! Interrupt causes, ISS, and the lines: level, high when asserted.
//!
//! Source: reference sections 2.2 and 2.11.

use super::regs::{bits, reg};
use super::{take_one, Mac};
use crate::chip::{cause, GptpRun};
use crate::config::Config;
use crate::host::Host;

/// Most lines that a device has.
pub const MAX_LINES: usize = 32;

/// The lines.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Causes of each line.
    causes: Vec<u32>,
    /// Causes at the last update.
    last: u32,
    /// Level that the causes ask for.
    raw: u32,
    /// Level outside.
    out: u32,
    /// Lines whose present assertion a fault hides.
    hidden: u32,
    stuck: u32,
    lose: [u32; MAX_LINES],
    /// A fault has changed since.
    dirty: bool,
}

impl Lines {
    pub(crate) fn new(cfg: &Config) -> Self {
        let moved = cause::STAMP | cause::GPTP;
        let lines = cfg.chip.lines;
        let dia = lines.iter().any(|line| line.name == "dia") && cfg.gptp_on_dia;
        let causes = lines.iter().map(|line| match line.name {
            "dia" if dia => line.causes | moved,
            "mgmt_a" if dia => line.causes & !moved,
            _ => line.causes,
        });
        Self {
            causes: causes.collect(),
            last: 0,
            raw: 0,
            out: 0,
            hidden: 0,
            stuck: 0,
            lose: [0; MAX_LINES],
            dirty: false,
        }
    }

    /// The next `count` assertions of a line are hidden.
    pub(super) fn lose(&mut self, line: u8, count: u32) {
        if let Some(lose) = self.lose.get_mut(usize::from(line)) {
            *lose = count;
        }
    }

    /// A line is asserted, whatever happens.
    pub(super) fn stick(&mut self, line: u8, on: bool) {
        if usize::from(line) < self.causes.len() {
            let bit = 1 << line;
            self.stuck = if on { self.stuck | bit } else { self.stuck & !bit };
            self.dirty = true;
        }
    }
}

impl Mac {
    fn both(&self, status: usize, mask: usize) -> u32 {
        self.regs.get(status) & self.regs.get(mask)
    }

    fn gptp_irq(&self) -> bool {
        self.chip.gptp != GptpRun::Absent && self.both(reg::GIS, reg::GIC) != 0
    }

    fn error_irq(&self) -> bool {
        self.both(reg::EIS, reg::EIC) != 0 || self.both(reg::RIS2, reg::RIC2) != 0
    }

    /// The causes that are there and enabled.
    fn causes(&self) -> u32 {
        let rx = self.both(reg::RIS0, reg::RIC0);
        let tis = self.both(reg::TIS, reg::TIC);
        let tx = (tis & bits::TIS_FTF) << 18;
        let when = |on: bool, cause: u32| if on { cause } else { 0 };
        let mut causes = rx | tx;
        causes |= when(tis & (bits::TIS_TFUF | bits::TIS_TFWF) != 0, cause::STAMP);
        causes |= when(self.gptp_irq(), cause::GPTP);
        causes |= when(self.error_irq(), cause::ERROR);
        causes |= when(self.both(reg::ECSR, reg::ECSIPR) != 0, cause::EMAC);
        causes |= when(self.both(reg::DIS, reg::DIC) != 0, cause::DESC);
        causes |= when(self.both(reg::RIS1, reg::RIC1) != 0, cause::RX_WARN);
        if self.chip.queue_lines {
            let cie = self.regs.get(reg::CIE);
            for (queues, enable) in [(rx, bits::CIE_CRIE), (tx, bits::CIE_CTIE)] {
                let own = cie & enable != 0;
                let common = !own || cie & bits::CIE_CL0M == 0;
                causes |= when(common && queues != 0, cause::QUEUES);
                if !own {
                    causes &= !queues;
                }
            }
        }
        causes
    }

    /// ISS.
    pub(super) fn iss(&self) -> u32 {
        let tis = self.both(reg::TIS, reg::TIC);
        let when = |on: bool, bit: u32| if on { bit } else { 0 };
        // DPS1-15 in bits 31:17.
        let mut iss = self.both(reg::DIS, reg::DIC) << 16;
        iss |= when(self.both(reg::RIS0, reg::RIC0) != 0, bits::ISS_FRS);
        iss |= when(tis & bits::TIS_FTF != 0, bits::ISS_FTS);
        iss |= when(self.error_irq(), bits::ISS_ES);
        iss |= when(self.both(reg::ECSR, reg::ECSIPR) != 0, bits::ISS_MS);
        iss |= when(tis & bits::TIS_TFUF != 0, bits::ISS_TFUS);
        iss |= when(tis & bits::TIS_TFWF != 0, bits::ISS_TFWS);
        iss |= when(self.both(reg::RIS1, reg::RIC1) != 0, bits::ISS_RFWS);
        iss | when(self.gptp_irq(), bits::ISS_CGIS)
    }

    /// Sets the lines to what the causes ask for.
    pub(super) fn update_irqs(&mut self, host: &mut dyn Host) {
        let causes = self.causes();
        if causes == self.lines.last && !self.lines.dirty {
            return;
        }
        self.lines.last = causes;
        self.lines.dirty = false;
        for line in 0..self.lines.causes.len() {
            let bit = 1 << line;
            let level = causes & self.lines.causes[line] != 0;
            if level && self.lines.raw & bit == 0 {
                self.lines.raw |= bit;
                if take_one(&mut self.lines.lose[line]) {
                    self.lines.hidden |= bit;
                    self.stats.irqs_lost += 1;
                }
            } else if !level {
                self.lines.raw &= !bit;
                self.lines.hidden &= !bit;
            }
            let out = self.lines.raw & !self.lines.hidden | self.lines.stuck;
            if (out ^ self.lines.out) & bit != 0 {
                self.lines.out ^= bit;
                self.stats.irqs += u64::from(out & bit != 0);
                host.set_irq(line, out & bit != 0);
            }
        }
    }
}
