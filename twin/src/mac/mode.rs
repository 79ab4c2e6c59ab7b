// SPDX-License-Identifier: GPL-2.0-or-later

//! The mode machine: CCC.OPC to CSR.OPS, the suspension of data transfer, DLR.
//!
//! Source: reference section 2.3.

use super::regs::{bits, reg, Unit};
use super::{Mac, NEVER};
use crate::chip::GptpRun;
use crate::dmac::desc::{dt, Desc, RX_BASE};
use crate::dmac::{rx, tx};
use crate::host::{Host, Ns};
use crate::report::Violation;

/// Longest time that a mode change takes when unkind; the driver waits 100 ms.
const MAX_CHANGE: Ns = 60_000;
/// Longest time until CSR.DTS shows.
const MAX_SUSPEND: Ns = 30_000;

/// Operating modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ops {
    /// RESET.
    Reset,
    /// CONFIG.
    Config,
    /// OPERATION.
    Operation,
}

impl Ops {
    /// CCC.OPC; 3 is none of them.
    fn of_opc(opc: u32) -> Option<Self> {
        match opc & bits::CCC_OPC {
            0 => Some(Self::Reset),
            1 => Some(Self::Config),
            2 => Some(Self::Operation),
            _ => None,
        }
    }

    /// CSR.OPS.
    fn bit(self) -> u32 {
        match self {
            Self::Reset => 1,
            Self::Config => 2,
            Self::Operation => 4,
        }
    }
}

/// The machine.
#[derive(Debug)]
pub(crate) struct Mode {
    /// The mode that CSR shows.
    pub(crate) ops: Ops,
    /// The mode that CCC asks for.
    want: Ops,
    /// When it is taken at the earliest.
    due: Ns,
    /// CCC.GAC as taken over with CONFIG.
    gac: bool,
    /// CSR.DTS: data transfer is suspended.
    pub(crate) suspended: bool,
    /// When it is at the earliest.
    suspend_due: Ns,
}

impl Mode {
    pub(crate) fn new() -> Self {
        Self {
            ops: Ops::Reset,
            want: Ops::Reset,
            due: NEVER,
            gac: false,
            suspended: false,
            suspend_due: NEVER,
        }
    }
}

impl Mac {
    /// A write to CCC.
    pub(super) fn write_ccc(&mut self, now: Ns, value: u32, host: &mut dyn Host) {
        let held = self.regs.get(reg::CCC);
        let Some(want) = Ops::of_opc(value) else {
            self.report.note(Violation::Opc, format_args!("CCC: OPC 3 does not exist"));
            return;
        };
        if self.mode.ops == Ops::Reset && want == Ops::Operation {
            self.report.note(Violation::Opc, format_args!("CCC: OPERATION from RESET"));
            return;
        }
        if want == Ops::Config {
            self.mode.gac = value & bits::CCC_GAC != 0;
        } else if (held ^ value) & (bits::CCC_GAC | bits::CCC_CSEL) != 0 && want != Ops::Reset {
            self.report.note(
                Violation::WrongMode,
                format_args!("CCC: GAC and CSEL are taken over together with OPC = CONFIG only"),
            );
        }
        self.regs.set(reg::CCC, value);
        if want != self.mode.want {
            self.mode.want = want;
            self.mode.due = now + self.slow_delay(MAX_CHANGE);
        }
        match (held & bits::CCC_DTSR != 0, value & bits::CCC_DTSR != 0) {
            (false, true) => self.mode.suspend_due = now + self.slow_delay(MAX_SUSPEND),
            (true, false) => {
                self.mode.suspended = false;
                self.mode.suspend_due = NEVER;
                self.tx_kick(now);
            }
            _ => (),
        }
        self.run_gptp(now);
        self.mode_poll(now, host);
    }

    /// A write to DLR: 1 asks for a queue to start again at its entry of the base address table.
    pub(super) fn write_dlr(&mut self, value: u32) {
        self.regs.or(reg::DLR, value);
        self.serve_dlr();
    }

    /// Carries out the requests in DLR: in OPERATION only, and elsewhere no queue has left its
    /// entry.
    pub(super) fn serve_dlr(&mut self) {
        if self.mode.ops != Ops::Operation || self.faults.stuck_dlr {
            return;
        }
        let requests = self.regs.get(reg::DLR);
        for n in (0..tx::QUEUES + rx::QUEUES).filter(|n| requests & (1 << n) != 0) {
            match n {
                0..tx::QUEUES => self.tx.restart_queue(n),
                _ => self.rx.cur[n - tx::QUEUES] = None,
            }
        }
        self.regs.set(reg::DLR, 0);
    }

    /// Takes mode changes whose time has come.
    pub(super) fn mode_poll(&mut self, now: Ns, host: &mut dyn Host) {
        if self.mode.suspend_due <= now && !self.faults.stuck_stop && !self.tx.is_busy() {
            self.mode.suspend_due = NEVER;
            self.mode.suspended = true;
        }
        if self.mode.want == self.mode.ops || self.mode.due > now || self.faults.stuck_mode {
            return;
        }
        if self.mode.ops == Ops::Operation && self.mode.want == Ops::Config {
            // Waits for the DMA, which is idle once all that was requested is sent, or suspended.
            let requested = self.regs.get(reg::TCCR) & bits::TCCR_TSRQ != 0;
            if self.tx.is_busy() || requested && !self.mode.suspended {
                return;
            }
        }
        let from = self.mode.ops;
        self.mode.ops = self.mode.want;
        self.stats.mode_changes += 1;
        match self.mode.ops {
            Ops::Reset => self.enter_reset(now),
            Ops::Config => {
                self.tx.restart_queues();
                self.rx.restart_queues();
                self.regs.set(reg::DLR, (1 << (tx::QUEUES + rx::QUEUES)) - 1);
                self.regs.clear(reg::TCCR, bits::TCCR_TSRQ);
            }
            Ops::Operation => {
                if from == Ops::Config {
                    self.enter_operation(host);
                }
            }
        }
        self.run_gptp(now);
        self.tx_kick(now);
    }

    fn enter_reset(&mut self, now: Ns) {
        let emac = self.cfg.reset_emac;
        self.regs.reset(|unit| match unit {
            Unit::Dmac | Unit::Gptp | Unit::Toe => true,
            Unit::Emac => emac,
            Unit::Mode | Unit::Station => false,
        });
        self.tx.reset();
        self.rx.restart_queues();
        self.toe = Default::default();
        self.gptp.reset(now);
        self.mode.suspended = false;
        self.pause_until = 0;
    }

    /// The base address table is read now or when a queue is first used, as the seed has it.
    fn enter_operation(&mut self, host: &mut dyn Host) {
        if !self.cfg.kind && self.rng.one_in(2) {
            for n in 0..self.chip.tx_queues {
                self.tx.queues[n as usize].cur = self.dbat_load(n, host);
            }
            for n in 0..self.chip.rx_queues {
                self.rx.cur[n as usize] = self.dbat_load(RX_BASE + n, host);
            }
        }
        self.regs.set(reg::DLR, 0);
    }

    /// Where entry `n` of the base address table points; the entry itself if it is no link.
    fn dbat_load(&mut self, n: u32, host: &mut dyn Host) -> Option<u32> {
        let entry = self.dbat_entry(n);
        match Desc::read(host, entry) {
            Ok(desc) if desc.dt == dt::LINKFIX => Some(desc.ptr),
            Ok(_) => Some(entry),
            Err(_) => {
                self.dma_error(n, format_args!("base address table entry at {entry:#x}"));
                None
            }
        }
    }

    /// Starts or stops the gPTP timer as mode and clock selection have it.
    fn run_gptp(&mut self, now: Ns) {
        let in_mode = match (self.chip.gptp, self.mode.ops) {
            (GptpRun::Absent, _) => return,
            (_, Ops::Reset) => false,
            (_, Ops::Operation) => true,
            (run, Ops::Config) => run == GptpRun::Config && self.mode.gac,
        };
        let hz = match (self.regs.get(reg::CCC) & bits::CCC_CSEL) >> 16 {
            _ if !in_mode => 0,
            0 => 0,
            1 => self.cfg.clock_hz.into(),
            // ETH TX and GMII reference clock.
            _ => 125_000_000,
        };
        self.gptp.run(now, hz);
        if hz != 0 && !self.faults.stuck_gptp {
            // Requests that waited for the clock.
            self.gptp.request(Some(now));
        }
    }

    /// CSR.
    pub(super) fn csr(&self, now: Ns) -> u32 {
        let mut value = self.mode.ops.bit();
        if self.faults.stuck_stop {
            let queues = (bits::CSR_TPO0 << self.chip.tx_queues) - bits::CSR_TPO0;
            return value | queues | bits::CSR_RPO;
        }
        if self.mode.suspended {
            value |= bits::CSR_DTS;
        }
        if now < self.rpo_until {
            value |= bits::CSR_RPO;
        }
        value | self.tx.processing()
    }
}
