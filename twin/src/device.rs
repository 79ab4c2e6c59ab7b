// SPDX-License-Identifier: GPL-2.0-or-later

//! The device: MAC, PHY, reset line, wire and control page behind three MMIO regions, one timer
//! and one network port.

use crate::config::{Config, PeerKind, Refused};
use crate::control::{self, Control, Order, PhyOrder};
use crate::dt::{self, Place};
use crate::frame::Frame;
use crate::host::{BusError, DeviceTree, Host, Ns};
use crate::mac::regs::Regs;
use crate::mac::Mac;
use crate::pcap::Pcap;
use crate::phy;
use crate::qs::{self, Qs};
use crate::reset::ResetLine;
use crate::trace::{Filter, Names, Trace};
use crate::wire::{Direction, Wire, WireOut};

/// Region 0: the MAC.
pub const MAC: u32 = 0;
/// Region 1: the reset controller.
pub const RESET: u32 = 1;
/// Region 2: the control page.
pub const CONTROL: u32 = 2;

const PAGE: u64 = 0x1000;

/// Rounds of MAC and wire at one time; what is due after that must wait a little.
const MAX_ROUNDS: usize = 4096;
/// How long.
const BREATHER: Ns = 1_000;

/// By how much the model may take more than half of the emulator's time before it has to rest.
const MAX_DEBT: Ns = 1_000_000;

/// Keeps the model from taking all of the emulator's time, where time goes on while it works: the
/// guest cannot run in that time, and a flood faster than this host would stop it altogether.
///
/// In virtual time the model works in no time, and never rests.
#[derive(Debug, Default)]
struct Pace {
    /// When the last work was begun.
    last: Ns,
    /// Twice the time at work, less all time: what the model owes the guest.
    debt: Ns,
}

impl Pace {
    /// Work was done in this time. Returns when the next may be.
    fn worked(&mut self, begin: Ns, end: Ns) -> Ns {
        self.debt = self.debt.saturating_sub(begin.saturating_sub(self.last));
        self.debt += 2 * end.saturating_sub(begin);
        self.last = begin;
        if self.debt > MAX_DEBT {
            end + self.debt
        } else {
            0
        }
    }
}

/// The device.
pub struct Device {
    cfg: Config,
    mac: Mac,
    /// In the place of the MAC, of which only PHY and report are used then.
    qs: Option<Box<Qs>>,
    reset: ResetLine,
    wire: Wire,
    control: Control,
    trace: Trace,
    pcap: Pcap,
    station: [u8; 6],
    /// The deadline that the host has been given.
    armed: Option<Ns>,
    pace: Pace,
    /// Frames that come back to the MAC.
    looped: Vec<(Ns, Frame)>,
}

/// The host with a trace of the interrupt lines.
struct Traced<'a> {
    host: &'a mut dyn Host,
    trace: &'a mut Trace,
}

impl Host for Traced<'_> {
    fn dma_read(&mut self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.host.dma_read(addr, buf)
    }

    fn dma_write(&mut self, addr: u64, buf: &[u8]) -> Result<(), BusError> {
        self.host.dma_write(addr, buf)
    }

    fn set_irq(&mut self, line: usize, level: bool) {
        self.trace.irq(self.host.now(), line, level);
        self.host.set_irq(line, level);
    }

    fn now(&self) -> Ns {
        self.host.now()
    }

    fn set_timer(&mut self, deadline: Option<Ns>) {
        self.host.set_timer(deadline);
    }

    fn send(&mut self, frame: &[u8]) {
        self.host.send(frame);
    }

    fn stall(&mut self, span: Ns) {
        self.host.stall(span);
    }

    fn log(&mut self, line: &str) {
        self.host.log(line);
    }
}

/// Takes what comes out of the wire.
struct Out<'a> {
    mac: &'a mut Mac,
    qs: Option<&'a mut Qs>,
    host: &'a mut dyn Host,
    pcap: &'a mut Pcap,
}

impl WireOut for Out<'_> {
    fn to_mac(&mut self, now: Ns, frame: Frame) {
        self.pcap.frame(now, Direction::Rx, &frame);
        match &mut self.qs {
            Some(qs) => qs.receive(frame, self.host),
            None => self.mac.receive(now, frame, self.host),
        }
    }

    fn to_host(&mut self, frame: &[u8]) {
        self.host.send(frame);
    }
}

/// Names of the registers, for the trace.
fn names(cfg: &Config) -> Names {
    if cfg.chip.cpu_port {
        return Box::new(|region, off| (region == MAC).then(|| qs::name(off)).flatten());
    }
    let regs = Regs::new(cfg.chip);
    let numbered: Vec<(u64, &'static str)> =
        regs.coverage().map(|(off, name, _)| (off as u64, name)).collect();
    Box::new(move |region, off| match region {
        MAC => {
            let at = numbered.binary_search_by_key(&off, |(off, _)| *off).ok()?;
            let name = numbered[at].1;
            // Several of a name are told apart by their offset.
            let alone = |other: Option<&(u64, &str)>| other.is_none_or(|(_, n)| *n != name);
            let single =
                alone(numbered.get(at + 1)) && alone(at.checked_sub(1).map(|b| &numbered[b]));
            single.then_some(name)
        }
        _ => None,
    })
}

impl Device {
    /// A device with these properties, its power just switched on.
    pub fn new(cfg: Config) -> Result<Self, Refused> {
        let error = |key: &'static str| move |what| Refused::Error(format!("{key}: {what}"));
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let trace = match &cfg.trace {
            Some(path) => Trace::open(&text(path), names(&cfg), Filter::parse(&cfg.trace_filter))
                .map_err(error("trace"))?,
            None => Trace::off(),
        };
        let pcap = match &cfg.pcap {
            Some(path) => Pcap::open(&text(path)).map_err(error("pcap"))?,
            None => Pcap::off(),
        };
        let mut device = Self {
            mac: Mac::new(&cfg),
            qs: cfg.chip.cpu_port.then(|| Box::new(Qs::new(&cfg))),
            reset: ResetLine::new(cfg.uboot),
            wire: Wire::new(&cfg.wire),
            control: Control::new(0),
            trace,
            pcap,
            station: [0; 6],
            armed: None,
            pace: Pace::default(),
            looped: Vec::new(),
            cfg,
        };
        device.wire.set_link(0, device.mac.phy.link().map(|link| link.mbps));
        Ok(device)
    }

    /// Bytes of each region.
    pub fn regions(&self) -> [u64; 3] {
        [u64::from(self.cfg.chip.window).next_multiple_of(PAGE), PAGE, PAGE]
    }

    /// Number of interrupt lines.
    pub fn irqs(&self) -> usize {
        self.cfg.chip.lines.len()
    }

    /// The MAC, for tests.
    pub fn mac(&self) -> &Mac {
        &self.mac
    }

    /// The device has been given its place: adds the device tree nodes.
    pub fn describe(&mut self, place: &Place, tree: &mut dyn DeviceTree) {
        dt::describe(&self.cfg, place, tree);
        self.control.set_instance(place.instance);
        self.station = place.mac;
        if let Some(qs) = &mut self.qs {
            qs.set_station(self.station);
        }
        if self.cfg.uboot {
            self.mac.set_station(self.station);
        }
    }

    /// Machine reset: everything as after power on. Cable and traffic of the peer go on.
    pub fn power_on(&mut self, host: &mut dyn Host) {
        let now = host.now();
        self.reset = ResetLine::new(self.cfg.uboot);
        self.control.reset();
        let mut traced = Traced { host, trace: &mut self.trace };
        self.mac.power_on(now, self.reset.is_asserted(), &mut traced);
        if self.cfg.uboot {
            self.mac.set_station(self.station);
        }
        if let Some(qs) = &mut self.qs {
            qs.power_on(&mut traced);
        }
        self.service(host);
    }

    /// A read by the CPU.
    pub fn mmio_read(&mut self, host: &mut dyn Host, region: u32, off: u64, size: u32) -> u64 {
        let now = host.now();
        let value = match region {
            MAC => {
                self.due(now, host);
                let mut host = Traced { host, trace: &mut self.trace };
                if let Some(qs) = &mut self.qs {
                    qs.read(now, off, size, &mut self.mac.report, &mut host).into()
                } else {
                    let value = self.mac.read(now, off, size, &mut host);
                    if self.cfg.mmio_read != 0 {
                        host.stall(self.cfg.mmio_read);
                    }
                    u64::from(value)
                }
            }
            RESET => self.reset.read(off, size, &mut self.mac.report).into(),
            CONTROL => {
                self.control.set_violations(self.mac.report.total());
                u64::from(self.control.read(now, off as u32)) >> (off % 4 * 8)
            }
            _ => 0,
        };
        self.trace.read(now, region, off, size, value);
        self.leave(now, host);
        value
    }

    /// A write by the CPU.
    pub fn mmio_write(
        &mut self,
        host: &mut dyn Host,
        region: u32,
        off: u64,
        value: u64,
        size: u32,
    ) {
        let now = host.now();
        self.trace.write(now, region, off, size, value);
        match region {
            MAC => {
                self.due(now, host);
                let mut host = Traced { host, trace: &mut self.trace };
                if let Some(qs) = &mut self.qs {
                    qs.write(now, off, value as u32, size, &mut self.mac.report, &mut host);
                } else {
                    self.mac.write(now, off, value as u32, size, &mut host);
                    if self.cfg.mmio_write != 0 {
                        host.stall(self.cfg.mmio_write);
                    }
                }
            }
            RESET => {
                self.reset.write(off, value as u32, size, &mut self.mac.report);
                let mut host = Traced { host, trace: &mut self.trace };
                self.mac.set_reset(now, self.reset.is_asserted(), &mut host);
            }
            CONTROL => {
                if let Some(order) = self.control.write(now, off as u32, value as u32) {
                    let result = self.order(now, order, host);
                    self.control.finish(result);
                }
            }
            _ => (),
        }
        self.leave(now, host);
    }

    /// The timer has expired.
    pub fn timer(&mut self, host: &mut dyn Host) {
        self.armed = None;
        self.service(host);
    }

    /// A frame from the emulator's network back end.
    pub fn receive(&mut self, host: &mut dyn Host, frame: &[u8]) {
        if self.cfg.wire.peer == PeerKind::Host {
            self.wire.from_host(host.now(), frame);
            self.service(host);
        }
    }

    /// Writes out what is buffered.
    pub fn flush(&mut self, host: &mut dyn Host) {
        self.trace.flush();
        self.pcap.flush();
        self.log(host);
    }

    /// Calls `each` with name and value of every counter.
    pub fn counters(&self, each: &mut dyn FnMut(&str, u64)) {
        self.mac.report.list(each);
        match &self.qs {
            Some(qs) => qs.counters(each),
            None => self.mac.stats.list(each),
        }
        self.wire.counters(each);
    }

    /// Carries out an order from the control page.
    fn order(&mut self, now: Ns, order: Order, host: &mut dyn Host) -> Result<String, String> {
        match order {
            Order::Mac(fault) => {
                let mut host = Traced { host, trace: &mut self.trace };
                self.mac.fault(now, fault, &mut host);
            }
            Order::Phy(order) => self.phy_order(now, order),
            Order::Qs(fault) => match &mut self.qs {
                Some(qs) => qs.fault(now, fault),
                None => return Err("this port is not the CPU port of a switch".into()),
            },
            Order::Wire(order) => self.wire.order(now, order)?,
            Order::Log(text) => host.log(&text),
            Order::Mark(text) => self.trace.mark(now, &text),
            Order::Stats(prefix) => {
                return Ok(control::list(&prefix, |each| self.counters(each)));
            }
            Order::ClearCounters => {
                self.mac.stats = Default::default();
                if let Some(qs) = &mut self.qs {
                    qs.clear_counters();
                }
                self.mac.report = Default::default();
                self.wire.order(now, crate::wire::WireOrder::ClearCounters)?;
            }
            Order::Violations => {
                return Ok(control::list("", |each| self.mac.report.list(each)));
            }
        }
        self.service(host);
        Ok(String::new())
    }

    fn phy_order(&mut self, now: Ns, order: PhyOrder) {
        match order {
            PhyOrder::Unplug => self.mac.phy.unplug(now),
            PhyOrder::Plug => self.mac.phy.plug(now),
            PhyOrder::Silent { on } => self.mac.phy.set_silent(on),
            PhyOrder::Renegotiate { mbps: None, full: None } => {
                let partner = self.mac.phy.partner();
                self.mac.phy.renegotiate(now, partner);
            }
            PhyOrder::Renegotiate { mbps, full } => {
                let fits = |link: phy::Link| {
                    mbps.is_none_or(|fastest| link.mbps <= fastest)
                        && (link.full || full != Some(true))
                        && (!link.full || full != Some(false))
                };
                self.mac.phy.renegotiate(now, phy::modes(fits));
            }
        }
    }

    /// Does what is due before an access, so that it sees the state of its own time.
    fn due(&mut self, now: Ns, host: &mut dyn Host) {
        if self.armed.is_some_and(|armed| armed <= now) {
            self.service(host);
        }
    }

    /// What every access ends with.
    fn leave(&mut self, now: Ns, host: &mut dyn Host) {
        // What is overdue while the model rests is left to the timer.
        let resting = self.armed.is_some_and(|armed| armed > now && self.pace.debt > MAX_DEBT);
        let due = self.next_event();
        if resting {
            // Nothing.
        } else if due.is_some_and(|due| due <= now) {
            self.service(host);
        } else if due != self.armed {
            self.armed = due;
            host.set_timer(due);
        }
        if self.mac.report.has_lines() {
            self.log(host);
        }
    }

    fn log(&mut self, host: &mut dyn Host) {
        for line in self.mac.report.take_lines() {
            host.log(&line);
        }
        for error in [self.trace.take_error(), self.pcap.take_error()].into_iter().flatten() {
            host.log(&error);
        }
    }

    fn next_event(&self) -> Option<Ns> {
        if !self.looped.is_empty() {
            return Some(0);
        }
        let qs = self.qs.as_ref().and_then(|qs| qs.next_event());
        [self.mac.next_event(), qs, self.wire.next_event()].into_iter().flatten().min()
    }

    /// Does all that is due, and sets the timer for what is next.
    fn service(&mut self, host: &mut dyn Host) {
        let now = host.now();
        let mut rounds = 0;
        loop {
            self.round(now, host);
            rounds += 1;
            if rounds == MAX_ROUNDS || self.next_event().is_none_or(|due| due > now) {
                break;
            }
        }
        let rest = self.pace.worked(now, host.now());
        let due = self.next_event().map(|due| if due <= now { now + BREATHER } else { due });
        let due = due.map(|due| due.max(rest));
        if due != self.armed {
            self.armed = due;
            host.set_timer(due);
        }
        self.log(host);
    }

    fn round(&mut self, now: Ns, host: &mut dyn Host) {
        let mut host = Traced { host, trace: &mut self.trace };
        for (at, frame) in std::mem::take(&mut self.looped) {
            self.mac.receive(at, frame, &mut host);
        }
        self.mac.poll(now, &mut host);
        let mbps = self.mac.phy.link().map(|link| link.mbps);
        self.wire.set_link(now, mbps);
        if let Some(qs) = &mut self.qs {
            qs.set_link(mbps);
            while let Some((at, frame)) = qs.take_sent(now) {
                self.pcap.frame(at, Direction::Tx, &frame);
                self.wire.from_mac(at, frame);
            }
        }
        while let Some((at, frame)) = self.mac.take_sent() {
            if self.mac.loops_back() {
                self.looped.push((at, frame));
            } else {
                self.pcap.frame(at, Direction::Tx, &frame);
                self.wire.from_mac(at, frame);
            }
        }
        let qs = self.qs.as_deref_mut();
        let mut out = Out { mac: &mut self.mac, qs, host: &mut host, pcap: &mut self.pcap };
        self.wire.poll(now, &mut out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Memory;
    use crate::wire::gen::Checksum;
    use crate::wire::{FlowKind, FlowOrder, FlowRate, FlowSize, WireOrder};

    /// Small frames at line rate.
    fn flood(count: Option<u64>, duration: Option<Ns>) -> Order {
        Order::Wire(WireOrder::Flow(FlowOrder {
            dst: None,
            src: None,
            tci: None,
            kind: FlowKind::Ip { v6: false, proto: 17, src: None, dst: None, sport: 19, dport: 9 },
            size: FlowSize::Frame(64),
            checksum: Checksum::Good,
            rate: FlowRate::Line,
            count,
            duration,
        }))
    }

    /// A device with its link up, and the host that it works on.
    fn connected() -> (Device, Memory) {
        let mut dev = Device::new(Config::parse("chip=gbeth:peer=model").unwrap()).unwrap();
        let mut host = Memory::new(0, 0);
        dev.service(&mut host);
        while dev.mac.phy.link().is_none() {
            host.time = host.deadline.unwrap();
            dev.timer(&mut host);
        }
        (dev, host)
    }

    /// Time at work and all time, of a flood at line rate, where a look at the clock takes `step`.
    fn flooded(step: Ns) -> (Ns, Ns) {
        let (mut dev, mut host) = connected();
        host.step = step;
        let order = flood(None, Some(50_000_000));
        let begin = host.now();
        dev.order(begin, order, &mut host).unwrap();
        let (mut worked, mut end) = (0, host.now());
        while end < begin + 50_000_000 {
            let Some(deadline) = host.deadline.take() else { break };
            host.time += deadline.saturating_sub(end);
            let from = host.now();
            dev.timer(&mut host);
            end = host.now();
            worked += end - from;
        }
        (worked, end - begin)
    }

    #[test]
    fn a_flood_leaves_time_for_the_guest() {
        let (worked, all) = flooded(2_000);
        assert!(all >= 50_000_000);
        // Half of it, but for the looks at the clock outside of what is measured.
        assert!(worked * 100 < all * 80, "{worked} of {all} ns");
        assert!(worked * 100 > all * 40, "{worked} of {all} ns: not a flood");
    }

    #[test]
    fn a_flood_in_virtual_time_is_not_held_up() {
        let (mut dev, mut host) = connected();
        let order = flood(Some(10_000), None);
        let begin = host.time;
        dev.order(begin, order, &mut host).unwrap();
        while let Some(deadline) = host.deadline.take().filter(|at| *at < begin + 10_000 * 672) {
            host.time = deadline;
            dev.timer(&mut host);
        }
        let mut late = None;
        dev.counters(&mut |name, value| {
            if name.ends_with("late_ns") {
                late = Some(value);
            }
        });
        assert_eq!(late, Some(0));
    }
}
