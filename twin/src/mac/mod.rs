// SPDX-License-Identifier: GPL-2.0-or-later

//! The MAC: register accesses, the mode machine, the E-MAC and the interrupt lines. The DMA
//! engines are in [`crate::dmac`].

pub mod emac;
pub mod irq;
pub mod mode;
pub mod regs;

use crate::chip::{Chip, GptpRun};
use crate::config::Config;
use crate::dmac::desc::NORMAL;
use crate::dmac::{rx, tx};
use crate::fault::Fault;
use crate::frame::Frame;
use crate::gptp::{self, Gptp};
use crate::host::{Host, Ns};
use crate::mdio::BitBang;
use crate::phy::{Phy, PhyConfig};
use crate::report::{Report, Stats, Violation};
use crate::rng::Rng;
use emac::Toe;
use irq::Lines;
use mode::{Mode, Ops};
use regs::{bits, reg, Kind, Regs, Spec, Unit, When, SEEN_READ, SEEN_WRITE};
use std::collections::VecDeque;
use std::fmt::Arguments;

/// A time that never comes.
pub(crate) const NEVER: Ns = Ns::MAX;

/// Longest time that a gPTP request takes when unkind.
const MAX_GPTP: Ns = 1_000;

/// Faults in force.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) stuck_dlr: bool,
    pub(crate) stuck_rx: bool,
    pub(crate) stuck_mode: bool,
    pub(crate) stuck_stop: bool,
    pub(crate) stuck_csum: bool,
    pub(crate) stuck_gptp: bool,
    pub(crate) lose_stamps: u32,
    overflows: u32,
    bus_errors: u32,
    rx_heads: VecDeque<RxHead>,
    pub(crate) slow: Ns,
}

/// What is wrong in the next `count` RX descriptors.
#[derive(Debug)]
struct RxHead {
    kind: Option<u8>,
    size: Option<u16>,
    ethertype: Option<u16>,
    count: u32,
}

/// Takes one of `count`, which does not end if it is `u32::MAX`.
fn take_one(count: &mut u32) -> bool {
    if *count == 0 {
        return false;
    }
    if *count != u32::MAX {
        *count -= 1;
    }
    true
}

impl Faults {
    /// Whether this access to packet data fails.
    pub(crate) fn bus_error(&mut self) -> bool {
        take_one(&mut self.bus_errors)
    }

    /// What an RX descriptor of this frame gets instead of its type and its size.
    pub(crate) fn take_rx_head(&mut self, frame: &[u8]) -> (Option<u8>, Option<u16>) {
        let ethertype = frame.get(12..14);
        let Some(first) = self.rx_heads.front_mut() else {
            return (None, None);
        };
        if first.ethertype.is_some_and(|wanted| ethertype != Some(&wanted.to_be_bytes())) {
            return (None, None);
        }
        let head = (first.kind, first.size);
        take_one(&mut first.count);
        if first.count == 0 {
            self.rx_heads.pop_front();
        }
        head
    }

    /// Whether this frame overflows the FIFO.
    pub(crate) fn take_overflow(&mut self) -> bool {
        take_one(&mut self.overflows)
    }
}

/// The MAC with its PHY.
#[derive(Debug)]
pub struct Mac {
    pub(crate) chip: &'static Chip,
    pub(crate) cfg: Config,
    pub(crate) regs: Box<Regs>,
    pub(crate) mode: Mode,
    pub(crate) tx: tx::Tx,
    pub(crate) rx: rx::Rx,
    pub(crate) toe: Toe,
    pub(crate) gptp: Gptp,
    mdio: BitBang,
    /// The PHY at the other end of the management bus.
    pub phy: Phy,
    /// Link that has been reported to E-MAC.
    link_up: bool,
    pub(crate) lines: Lines,
    pub(crate) faults: Faults,
    pub(crate) rng: Rng,
    /// What happened.
    pub stats: Stats,
    /// What the driver did wrong.
    pub report: Report,
    /// The reset line is asserted.
    in_reset: bool,
    /// A pause frame keeps transmission off until then.
    pub(crate) pause_until: Ns,
    /// CSR.RPO shows until then.
    pub(crate) rpo_until: Ns,
    /// Frames that have left, with the time of their last bit.
    pub(crate) sent: VecDeque<(Ns, Frame)>,
}

impl Mac {
    /// A MAC with its power just switched on.
    pub fn new(cfg: &Config) -> Self {
        let chip = cfg.chip;
        let phy = PhyConfig {
            addr: cfg.phy_addr,
            id: cfg.phy_id,
            aneg: cfg.aneg,
            forced: cfg.aneg / 10,
            partner_pause: cfg.partner_pause,
            clause45: cfg.clause45,
            fixed: cfg.fixed,
        };
        Self {
            chip,
            cfg: cfg.clone(),
            regs: Regs::new(chip),
            mode: Mode::new(),
            tx: tx::Tx::new(),
            rx: rx::Rx::new(),
            toe: Toe::default(),
            gptp: Gptp::new(),
            mdio: BitBang::default(),
            phy: Phy::new(phy),
            link_up: false,
            lines: Lines::new(cfg),
            faults: Faults::default(),
            rng: Rng::new(cfg.wire.seed),
            stats: Stats::default(),
            report: Report::default(),
            in_reset: !cfg.uboot,
            pause_until: 0,
            rpo_until: 0,
            sent: VecDeque::new(),
        }
    }

    /// A random delay up to `max`; none when kind.
    pub(crate) fn delay(&mut self, max: Ns) -> Ns {
        if self.cfg.kind || self.rng.one_in(3) {
            0
        } else {
            self.rng.below(max)
        }
    }

    /// As [`Self::delay`], unless a fault says how long.
    pub(crate) fn slow_delay(&mut self, max: Ns) -> Ns {
        match self.faults.slow {
            0 => self.delay(max),
            span => span,
        }
    }

    /// Power on or machine reset: everything as at first, except the cable and faults. The reset
    /// line is then asserted or not.
    pub fn power_on(&mut self, now: Ns, asserted: bool, host: &mut dyn Host) {
        self.wipe(now);
        self.in_reset = asserted;
        self.phy.power_on(now);
        self.link_up = false;
        self.link_change();
        self.update_irqs(host);
    }

    /// The reset line changes. Asserting it loses all registers.
    pub fn set_reset(&mut self, now: Ns, asserted: bool, host: &mut dyn Host) {
        if asserted && !self.in_reset {
            self.stats.resets += 1;
            self.wipe(now);
        }
        self.in_reset = asserted;
        self.update_irqs(host);
    }

    fn wipe(&mut self, now: Ns) {
        self.regs.reset(|_| true);
        self.mode = Mode::new();
        self.tx.reset();
        self.rx.restart_queues();
        self.toe = Toe::default();
        self.gptp.reset(now);
        self.mdio = BitBang::default();
        self.pause_until = 0;
        self.rpo_until = 0;
    }

    /// What a boot loader leaves: the station address.
    pub fn set_station(&mut self, mac: [u8; 6]) {
        let [a, b, c, d, e, f] = mac;
        self.regs.set(reg::MAHR, u32::from_be_bytes([a, b, c, d]));
        self.regs.set(reg::MALR, u32::from_be_bytes([0, 0, e, f]));
    }

    /// The coverage map; see [`Regs::coverage`].
    pub fn coverage(&self) -> impl Iterator<Item = (usize, &'static str, u8)> + '_ {
        self.regs.coverage()
    }

    /// A frame that has left, with the time of its last bit.
    pub fn take_sent(&mut self) -> Option<(Ns, Frame)> {
        self.sent.pop_front()
    }

    /// The next time at which [`Self::poll`] has something to do that is seen from outside.
    pub fn next_event(&self) -> Option<Ns> {
        let wake = Some(self.tx.wake()).filter(|wake| *wake != NEVER);
        let gptp = match self.chip.gptp {
            GptpRun::Absent => None,
            _ => self.gptp.next_event(&self.regs),
        };
        [wake, gptp, self.phy.next_event()].into_iter().flatten().min()
    }

    /// Does what is due at `now`.
    pub fn poll(&mut self, now: Ns, host: &mut dyn Host) {
        self.settle(now, host);
        self.update_irqs(host);
    }

    /// Brings everything that takes time up to date.
    fn settle(&mut self, now: Ns, host: &mut dyn Host) {
        self.phy.poll(now);
        self.link_change();
        if self.tx.wake() <= now {
            self.tx_poll(now, host);
        }
        self.mode_poll(now, host);
        self.toe_poll(now);
        if self.chip.gptp != GptpRun::Absent && self.gptp.settle(now, &mut self.regs) {
            self.regs.or(reg::GIS, bits::GIS_PTMF);
        }
    }

    /// A read of `size` bytes at `off` of the window.
    pub fn read(&mut self, now: Ns, off: u64, size: u32, host: &mut dyn Host) -> u32 {
        self.stats.reads += 1;
        let Some(spec) = self.check(off, size, "read") else { return 0 };
        self.settle(now, host);
        let off = off as usize;
        self.regs.note(off, SEEN_READ);
        if matches!(spec.kind, Kind::SetOf(_) | Kind::ClearOf(_)) {
            self.report.note(Violation::Direction, format_args!("{} was read", spec.name));
        }
        self.check_reset_mode(spec);
        let value = self.value(now, off, spec);
        self.update_irqs(host);
        value
    }

    /// A write of `size` bytes at `off` of the window.
    pub fn write(&mut self, now: Ns, off: u64, value: u32, size: u32, host: &mut dyn Host) {
        self.stats.writes += 1;
        let Some(spec) = self.check(off, size, "write") else { return };
        self.settle(now, host);
        let off = off as usize;
        self.regs.note(off, SEEN_WRITE);
        self.check_reset_mode(spec);
        if self.check_write(spec, off, value) {
            self.store(now, off, value, spec, host);
        }
        self.update_irqs(host);
    }

    /// Whether the MAC answers to that access, and with which register.
    fn check(&mut self, off: u64, size: u32, what: &str) -> Option<&'static Spec> {
        if self.in_reset {
            self.report.note(
                Violation::LineReset,
                format_args!("{what} at {off:#x} while the reset line is asserted"),
            );
            return None;
        }
        if size != 4 || off % 4 != 0 {
            self.report
                .note(Violation::AccessSize, format_args!("{what} of {size} bytes at {off:#x}"));
            return None;
        }
        let spec = self.regs.spec(off);
        if spec.is_none() {
            self.report.note(Violation::UnknownRegister, format_args!("{what} at {off:#x}"));
        }
        spec
    }

    fn check_reset_mode(&mut self, spec: &Spec) {
        if self.cfg.check_reset_mode && self.mode.ops == Ops::Reset && spec.unit == Unit::Emac {
            self.report
                .note(Violation::ResetMode, format_args!("{} accessed in RESET mode", spec.name));
        }
    }

    /// Whether a write takes effect.
    fn check_write(&mut self, spec: &Spec, off: usize, value: u32) -> bool {
        // The driver writes back what it has read: MDI among the bits of PIR.
        let readable = if off == reg::PIR { bits::PIR_MDI } else { 0 };
        let reserved = value & !(spec.mask | readable);
        if spec.kind == Kind::Ro {
            self.report.note(
                Violation::Direction,
                format_args!("{value:#x} was written to read-only {}", spec.name),
            );
            return false;
        }
        if reserved != 0 {
            self.report.note(
                Violation::ReservedBits,
                format_args!("{}: {value:#x} sets reserved bits {reserved:#x}", spec.name),
            );
        }
        let dmac = !matches!(spec.unit, Unit::Emac | Unit::Station | Unit::Mode);
        let lost = match spec.when {
            When::Any => false,
            When::Active => dmac && self.mode.ops == Ops::Reset,
            When::Config => self.mode.ops != Ops::Config && value != self.regs.get(off),
        };
        if lost {
            self.report.note(
                Violation::WrongMode,
                format_args!(
                    "{}: write of {value:#x} is lost in {:?} mode",
                    spec.name, self.mode.ops
                ),
            );
        }
        !lost
    }

    /// What a read returns.
    fn value(&mut self, now: Ns, off: usize, spec: &Spec) -> u32 {
        match off {
            reg::CSR => self.csr(now),
            reg::CDAR0..=reg::CDAR21 => self.cdar((off - reg::CDAR0) / 4),
            reg::EIS => {
                let full = self.regs.get(reg::RIS2) & self.regs.get(reg::RIC2) != 0;
                self.regs.get(reg::EIS) | if full { bits::EIS_QFS } else { 0 }
            }
            reg::ISS => self.iss(),
            reg::PIR => self.regs.get(reg::PIR) | if self.mdio.mdi() { bits::PIR_MDI } else { 0 },
            reg::PSR => u32::from(self.link_level()),
            reg::CSR0 => self.toe.ports,
            reg::TSR => (self.tx.stamps.len() as u32) << 8,
            reg::TFA0 | reg::TFA1 | reg::TFA2 => {
                let Some((stamp, tag)) = self.tx.stamps.front() else { return 0 };
                match off {
                    reg::TFA0 => stamp.ns,
                    reg::TFA1 => stamp.sec as u32,
                    _ => (stamp.sec >> 32) as u32 & 0xFFFF | (u32::from(*tag) << 16),
                }
            }
            _ if matches!(spec.kind, Kind::SetOf(_) | Kind::ClearOf(_)) => 0,
            _ => self.regs.get(off),
        }
    }

    /// CDARn: the descriptor at which queue `n` of the base address table is.
    fn cdar(&self, n: usize) -> u32 {
        let cur = match n {
            0..tx::QUEUES => self.tx.queues[n].cur,
            _ => self.rx.cur.get(n - tx::QUEUES).copied().flatten(),
        };
        cur.unwrap_or(0)
    }

    /// Carries out a write.
    fn store(&mut self, now: Ns, off: usize, value: u32, spec: &Spec, host: &mut dyn Host) {
        let held = self.regs.get(off);
        match spec.kind {
            Kind::Rw => {
                self.regs.set(off, value & spec.mask);
                match off {
                    reg::ECMR => self.ecmr_change(now, held),
                    reg::GTI if value & 0x0FFF_FFFF < 0x20 => self.report.note(
                        Violation::Gptp,
                        format_args!("GTI: {value:#x} is below the least increment"),
                    ),
                    _ => (),
                }
            }
            Kind::Ro => (),
            Kind::W0c => self.regs.set(off, held & value),
            Kind::W1c => self.regs.set(off, held & !value),
            Kind::Wc => self.regs.set(off, 0),
            Kind::SetOf(target) => self.regs.or(target, value & spec.mask),
            Kind::ClearOf(target) => self.regs.clear(target, value & spec.mask),
            Kind::Special => match off {
                reg::CCC => self.write_ccc(now, value & spec.mask, host),
                reg::DLR => self.write_dlr(value & spec.mask),
                reg::TCCR => self.write_tccr(now, value & spec.mask),
                reg::GCCR => self.write_gccr(now, value & spec.mask),
                reg::PIR => self.write_pir(value & spec.mask),
                reg::CSR0 => self.write_csr0(now, value & spec.mask),
                _ => self.regs.set(off, value & spec.mask),
            },
        }
    }

    fn write_gccr(&mut self, now: Ns, value: u32) {
        let requests = gptp::LOADS | bits::GCCR_TCR;
        // What is pending stays so; a request for the timer replaces the last one.
        let mut held = self.regs.get(reg::GCCR) & requests;
        if value & bits::GCCR_TCR != 0 {
            held &= !bits::GCCR_TCR;
        }
        let held = held | value & requests;
        self.regs.set(reg::GCCR, held | value & bits::GCCR_TCSS);
        if value & requests != 0 {
            let due = now + self.delay(MAX_GPTP);
            self.gptp.request(Some(due).filter(|_| !self.faults.stuck_gptp));
        }
    }

    fn write_pir(&mut self, value: u32) {
        self.regs.set(reg::PIR, value);
        let on = |bit| value & bit != 0;
        let result =
            self.mdio.set(on(bits::PIR_MDC), on(bits::PIR_MMD), on(bits::PIR_MDO), &mut self.phy);
        if let Err(how) = result {
            self.report.note(Violation::Mdio, format_args!("{how:?}"));
        }
    }

    /// Address of entry `n` of the descriptor base address table.
    pub(crate) fn dbat_entry(&self, n: u32) -> u32 {
        self.regs.get(reg::DBAT).wrapping_add(n * NORMAL)
    }

    /// A descriptor could not be accessed.
    pub(crate) fn dma_error(&mut self, entry: u32, what: Arguments<'_>) {
        self.report.note(Violation::Bus, format_args!("bus error: {what}"));
        self.regs.or(reg::EIS, bits::EIS_QEF);
        self.esr(entry, 2);
    }

    /// ESR: the queue and the kind of its last error (the codes are not known).
    pub(crate) fn esr(&mut self, entry: u32, kind: u32) {
        self.regs.set(reg::ESR, entry & 0x1F | (kind << 8));
    }

    /// Puts a fault in force, or ends it.
    pub fn fault(&mut self, now: Ns, fault: Fault, host: &mut dyn Host) {
        self.settle(now, host);
        match fault {
            Fault::LoseIrq { line, count } => self.lines.lose(line, count),
            Fault::StuckIrq { line, on } => self.lines.stick(line, on),
            Fault::StuckTx { queue, on } => {
                if let Some(queue) = self.tx.queues.get_mut(usize::from(queue)) {
                    queue.stuck = on;
                }
                self.tx_kick(now);
            }
            Fault::StuckDlr { on } => {
                self.faults.stuck_dlr = on;
                self.serve_dlr();
            }
            Fault::StuckRx { on } => self.faults.stuck_rx = on,
            Fault::StuckMode { on } => self.faults.stuck_mode = on,
            Fault::StuckStop { on } => self.faults.stuck_stop = on,
            Fault::StuckCsum { on } => {
                self.faults.stuck_csum = on;
                if !on {
                    self.toe.retry(now);
                }
            }
            Fault::StuckGptp { on } => {
                self.faults.stuck_gptp = on;
                let pending = gptp::LOADS | bits::GCCR_TCR;
                if !on && self.chip.gptp != GptpRun::Absent {
                    if self.regs.get(reg::GCCR) & pending != 0 {
                        self.gptp.request(Some(now));
                    }
                } else {
                    self.gptp.request(None);
                }
            }
            Fault::LoseStamp { count } => self.faults.lose_stamps = count,
            Fault::FifoOverflow { count } => self.faults.overflows = count,
            Fault::BusError { count } => self.faults.bus_errors = count,
            Fault::RxHead { count: 0, .. } => self.faults.rx_heads.clear(),
            Fault::RxHead { kind, size, ethertype, count } => {
                self.faults.rx_heads.push_back(RxHead { kind, size, ethertype, count });
            }
            Fault::Slow { span } => self.faults.slow = span,
            Fault::CaptureEdge => self.capture_edge(now),
            Fault::FalseCarrier => self.regs.or(reg::ECSR, bits::ECSR_ICD),
            Fault::Counters { trocr, cxr41, cxr42 } => {
                for (off, n) in [(reg::TROCR, trocr), (reg::CXR41, cxr41), (reg::CXR42, cxr42)] {
                    if self.regs.spec(off as u64).is_some() {
                        self.regs.count(off, n);
                    }
                }
            }
        }
        self.poll(now, host);
    }

    fn capture_edge(&mut self, now: Ns) {
        if self.chip.gptp != GptpRun::Absent {
            let at = self.gptp.presentation(now);
            self.regs.set(reg::GCPT, at);
            self.regs.or(reg::GIS, bits::GIS_PTCF);
        }
    }
}
