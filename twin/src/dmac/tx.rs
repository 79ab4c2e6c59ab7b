// SPDX-License-Identifier: GPL-2.0-or-later

//! Transmission: TCCR.TSRQ, the walk of the TX queues, write-back, time stamps.
//!
//! Source: reference sections 2.6 and 2.8. One frame is under way at a time: it is gathered from
//! memory in one go when its turn comes, occupies the wire, and is then done; its descriptors are
//! given back at either end of that time, as the seed has it.

use super::desc::{dt, write_type, Desc, MAX_LINKS, NORMAL};
use crate::config::QueueError;
use crate::frame::Frame;
use crate::gptp::Stamp;
use crate::host::{Host, Ns};
use crate::mac::mode::Ops;
use crate::mac::regs::{bits, reg};
use crate::mac::{Mac, NEVER};
use crate::report::Violation;
use crate::{chip, csum};
use std::collections::VecDeque;

/// TX queues of the largest variant.
pub const QUEUES: usize = 4;
/// Descriptors that one frame may have.
const MAX_PARTS: usize = 64;
/// Frames handled in one go; more must wait for the next event.
const MAX_BATCH: usize = 1024;
/// What is left for later when a batch is full.
const BATCH_GAP: Ns = 1_000;
/// Bytes before a frame, with the start delimiter.
const PREAMBLE: usize = 8;
const FCS: usize = 4;
/// Bytes of silence after a frame.
const GAP: usize = 12;
/// Longest delay between a request and the first fetch.
const MAX_START: Ns = 2_000;

/// A TX queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Where the walk is; `None`: at the entry of the base address table.
    pub(crate) cur: Option<u32>,
    /// Malformed descriptors were met.
    halted: bool,
    /// A fault keeps it from fetching.
    pub(crate) stuck: bool,
}

/// A descriptor to be given back.
#[derive(Clone, Copy, Debug)]
struct Part {
    addr: u32,
    die: u8,
}

/// The frame under way.
#[derive(Debug)]
struct Flight {
    queue: usize,
    /// `None`: it is not sent, only its descriptors are given back.
    frame: Option<Frame>,
    tag: Option<u16>,
    given_back: bool,
    /// Time of its start delimiter: what its time stamp tells.
    sfd: Ns,
}

/// The engine.
#[derive(Debug)]
pub(crate) struct Tx {
    pub(crate) queues: [Queue; QUEUES],
    flight: Option<Flight>,
    /// Descriptors of the frame under way.
    parts: Vec<Part>,
    /// When something is to be done: fetch, or end of the frame under way.
    wake: Ns,
    /// When the wire is free.
    free: Ns,
    /// Time stamps not yet read, oldest first.
    pub(crate) stamps: VecDeque<(Stamp, u16)>,
}

/// The outcome of a fetch.
enum Fetched {
    /// There is nothing.
    Empty,
    /// A frame, its time stamp tag, and whether it can be sent.
    Frame { data: Vec<u8>, tag: Option<u16>, sound: bool },
    /// The descriptors are malformed.
    Error,
}

impl Tx {
    pub(crate) fn new() -> Self {
        Self {
            queues: Default::default(),
            flight: None,
            parts: Vec::new(),
            wake: NEVER,
            free: 0,
            stamps: VecDeque::new(),
        }
    }

    /// Forgets everything but faults.
    pub(crate) fn reset(&mut self) {
        self.restart_queues();
        self.flight = None;
        self.parts.clear();
        self.wake = NEVER;
        self.free = 0;
        self.stamps.clear();
    }

    /// Every queue starts at its entry of the base address table again.
    pub(crate) fn restart_queues(&mut self) {
        for q in 0..QUEUES {
            self.restart_queue(q);
        }
    }

    /// Queue `q` starts at its entry of the base address table again.
    pub(crate) fn restart_queue(&mut self, q: usize) {
        self.queues[q].cur = None;
        self.queues[q].halted = false;
    }

    /// A frame is under way.
    pub(crate) fn is_busy(&self) -> bool {
        self.flight.is_some()
    }

    /// CSR.TPO: the queues that have a frame under way.
    pub(crate) fn processing(&self) -> u32 {
        self.flight.as_ref().map_or(0, |flight| bits::CSR_TPO0 << flight.queue)
    }

    /// The next time at which [`Mac::tx_poll`] has something to do.
    pub(crate) fn wake(&self) -> Ns {
        self.wake
    }
}

impl Mac {
    /// Whether frames may be fetched.
    fn tx_open(&self) -> bool {
        self.mode.ops == Ops::Operation
            && !self.mode.suspended
            && self.regs.get(reg::ECMR) & bits::ECMR_TE != 0
            && (!self.chip.toe || self.toe.ports & bits::CSR0_TPE != 0)
    }

    /// Something has changed that may let frames go: a request, or a gate.
    pub(crate) fn tx_kick(&mut self, now: Ns) {
        if self.tx.wake == NEVER
            && self.regs.get(reg::TCCR) & bits::TCCR_TSRQ != 0
            && self.tx_open()
        {
            let delay = if self.cfg.pace { self.delay(MAX_START) } else { 0 };
            self.tx.wake = (now + delay).max(self.pause_until.min(now + MAX_START));
        }
    }

    /// A write to TCCR.
    pub(crate) fn write_tccr(&mut self, now: Ns, value: u32) {
        if value & bits::TCCR_TFR != 0 {
            self.tx.stamps.pop_front();
        }
        let requests = value & ((1 << self.chip.tx_queues) - 1);
        let held = self.regs.get(reg::TCCR) & bits::TCCR_TSRQ;
        if requests & !held != 0 && self.mode.ops != Ops::Operation {
            self.report.note(
                Violation::WrongMode,
                format_args!("TCCR: transmission requested outside OPERATION"),
            );
            self.regs.set(reg::TCCR, held | value & bits::TCCR_TFEN);
            return;
        }
        self.regs.set(reg::TCCR, held | requests | value & bits::TCCR_TFEN);
        self.tx_kick(now);
    }

    /// Does what is due at `now`.
    pub(crate) fn tx_poll(&mut self, now: Ns, host: &mut dyn Host) {
        let mut batch = 0;
        while self.tx.wake <= now {
            let at = self.tx.wake;
            self.tx.wake = NEVER;
            if let Some(flight) = self.tx.flight.take() {
                self.tx_done(at, flight, host);
            }
            if batch == MAX_BATCH {
                self.tx.wake = now + BATCH_GAP;
                break;
            }
            batch += 1;
            if !self.tx_open() {
                break;
            }
            if self.pause_until > at {
                self.tx.wake = self.pause_until;
                continue;
            }
            self.tx_next(at, host);
        }
    }

    /// The queue whose turn it is: the highest first, but not always when unkind.
    fn tx_choose(&mut self) -> Option<usize> {
        let pending = self.regs.get(reg::TCCR) & bits::TCCR_TSRQ;
        let eligible = |at: &usize| pending & (1 << at) != 0 && !self.tx.queues[*at].stuck;
        let highest = (0..QUEUES).rev().find(eligible)?;
        let lowest = (0..QUEUES).find(eligible)?;
        if highest != lowest && !self.cfg.kind && self.rng.one_in(4) {
            return Some(lowest);
        }
        Some(highest)
    }

    /// Fetches the next frame, if there is one, at `at`.
    fn tx_next(&mut self, at: Ns, host: &mut dyn Host) {
        while let Some(queue) = self.tx_choose() {
            match self.tx_fetch(queue, host) {
                Fetched::Frame { data, tag, sound } => {
                    self.tx_launch(at, queue, data, tag, sound, host);
                    return;
                }
                Fetched::Empty => self.regs.clear(reg::TCCR, 1 << queue),
                Fetched::Error => {
                    self.stats.tx_queue_errors += 1;
                    self.tx.queues[queue].halted = self.cfg.queue_error == QueueError::Halt;
                    self.regs.clear(reg::TCCR, 1 << queue);
                }
            }
        }
    }

    fn tx_launch(
        &mut self,
        at: Ns,
        queue: usize,
        mut data: Vec<u8>,
        tag: Option<u16>,
        sound: bool,
        host: &mut dyn Host,
    ) {
        if sound {
            csum::insert(&mut data, if self.chip.toe { self.regs.get(reg::CSR1) } else { 0 });
            if data.len() < 60 && self.regs.get(reg::ECMR) & bits::ECMR_DPAD == 0 {
                data.resize(60, 0);
            }
        }
        let frame = sound.then(|| Frame::new(data));
        let start = at.max(self.tx.free);
        let mbps = u64::from(self.emac_mbps());
        let time = |bytes: usize| bytes as u64 * 8000 / mbps;
        let (sfd, end, free) = match &frame {
            Some(frame) if self.cfg.pace => {
                let bytes = PREAMBLE + frame.data.len() + FCS;
                (time(PREAMBLE), time(bytes), time(bytes + GAP))
            }
            _ => (0, 0, 0),
        };
        self.tx.free = start + free;
        self.tx.wake = start + end;
        let mut flight = Flight { queue, frame, tag, given_back: false, sfd: start + sfd };
        if !self.cfg.kind && self.rng.one_in(2) {
            self.tx_give_back(&mut flight, host);
        }
        self.tx.flight = Some(flight);
    }

    /// Writes the type, and nothing else, of every descriptor of the frame, the first one first.
    fn tx_give_back(&mut self, flight: &mut Flight, host: &mut dyn Host) {
        flight.given_back = true;
        let mut parts = std::mem::take(&mut self.tx.parts);
        for part in parts.drain(..) {
            if write_type(host, part.addr, dt::FEMPTY, part.die).is_err() {
                self.dma_error(
                    flight.queue as u32,
                    format_args!("TX write-back at {:#x}", part.addr),
                );
                self.tx.queues[flight.queue].halted = true;
            }
            if part.die != 0 {
                self.regs.or(reg::DIS, 1 << part.die);
            }
        }
        self.tx.parts = parts;
        self.regs.or(reg::TIS, 1 << flight.queue);
    }

    /// The last bit of the frame has left at `at`.
    fn tx_done(&mut self, at: Ns, mut flight: Flight, host: &mut dyn Host) {
        if !flight.given_back {
            self.tx_give_back(&mut flight, host);
        }
        let Some(frame) = flight.frame else { return };
        if let Some(tag) = flight.tag {
            self.tx_stamp(flight.sfd, tag);
        }
        self.emit(at, frame);
    }

    /// Stores a time stamp, if they are enabled and there is room.
    fn tx_stamp(&mut self, at: Ns, tag: u16) {
        if self.chip.gptp == chip::GptpRun::Absent
            || self.regs.get(reg::TCCR) & bits::TCCR_TFEN == 0
        {
            return;
        }
        if self.faults.lose_stamps > 0 {
            if self.faults.lose_stamps != u32::MAX {
                self.faults.lose_stamps -= 1;
            }
            self.stats.tx_stamps_lost += 1;
            return;
        }
        let depth = usize::from(self.cfg.stamp_depth);
        if self.tx.stamps.len() >= depth {
            self.stats.tx_stamps_lost += 1;
            self.regs.or(reg::EIS, bits::EIS_TFFF);
            return;
        }
        let stamp = self.gptp.stamp(at);
        self.tx.stamps.push_back((stamp, tag));
        self.stats.tx_stamps += 1;
        let full = if self.tx.stamps.len() == depth { bits::TIS_TFWF } else { 0 };
        self.regs.or(reg::TIS, bits::TIS_TFUF | full);
    }

    /// Walks queue `q` up to the end of one frame, and leaves its descriptors in `tx.parts`.
    fn tx_fetch(&mut self, q: usize, host: &mut dyn Host) -> Fetched {
        if self.tx.queues[q].halted {
            return Fetched::Empty;
        }
        let mut cur = match self.tx.queues[q].cur {
            Some(cur) => cur,
            None => self.dbat_entry(q as u32),
        };
        let entry = q as u32;
        let mut links = 0;
        let mut data = Vec::new();
        let mut sound = true;
        self.tx.parts.clear();
        loop {
            let Ok(desc) = Desc::read(host, cur) else {
                self.dma_error(entry, format_args!("TX descriptor at {cur:#x}"));
                return Fetched::Error;
            };
            let first = self.tx.parts.is_empty();
            let (takes, last) = match desc.dt {
                dt::LINKFIX | dt::LINK => {
                    links += 1;
                    if links > MAX_LINKS {
                        return self.tx_malformed(q, cur, "links without end");
                    }
                    if desc.dt == dt::LINK && write_type(host, cur, dt::LEMPTY, desc.die).is_err() {
                        self.dma_error(entry, format_args!("TX link at {cur:#x}"));
                        return Fetched::Error;
                    }
                    cur = desc.ptr;
                    if first {
                        self.tx.queues[q].cur = Some(cur);
                    }
                    continue;
                }
                dt::FSINGLE => (first, true),
                dt::FSTART => (first, false),
                dt::FMID => (!first, false),
                dt::FEND => (!first, true),
                dt::EEMPTY | dt::FEMPTY | dt::LEMPTY if first => {
                    self.tx.queues[q].cur = Some(cur);
                    return Fetched::Empty;
                }
                dt::EOS if first => {
                    self.tx.queues[q].cur = Some(cur);
                    // Failing that, the next walk finds EOS again.
                    let _ = write_type(host, cur, dt::EEMPTY, desc.die);
                    return Fetched::Empty;
                }
                _ => (false, false),
            };
            if !takes {
                let what = if first { "no start of frame" } else { "frame without end" };
                return self.tx_malformed(q, cur, what);
            }
            if self.tx.parts.len() == MAX_PARTS {
                return self.tx_malformed(q, cur, "frame in too many parts");
            }
            links = 0;
            self.tx.parts.push(Part { addr: cur, die: desc.die });
            sound &= self.tx_gather(entry, cur, &desc, &mut data, host);
            cur = cur.wrapping_add(NORMAL);
            if last {
                self.tx.queues[q].cur = Some(cur);
                let len = data.len();
                if sound && (len < 14 || len > usize::from(self.chip.tx_max)) {
                    self.report.note(
                        Violation::TxLength,
                        format_args!("TX queue {q}: frame of {len} bytes"),
                    );
                    sound = false;
                }
                return Fetched::Frame { data, tag: desc.stamp_tag(), sound };
            }
        }
    }

    /// Appends the data of one descriptor. False: the frame is spoilt.
    fn tx_gather(
        &mut self,
        entry: u32,
        addr: u32,
        desc: &Desc,
        data: &mut Vec<u8>,
        host: &mut dyn Host,
    ) -> bool {
        if desc.size() == 0 {
            self.report
                .note(Violation::Descriptor, format_args!("TX descriptor at {addr:#x}: DS is 0"));
            return true;
        }
        let aligned = desc.ptr & !(self.chip.tx_align - 1);
        if aligned != desc.ptr || addr % 4 != 0 {
            self.report.note(
                Violation::Alignment,
                format_args!("TX descriptor at {addr:#x}: DPTR {:#x}", desc.ptr),
            );
        }
        let at = data.len();
        data.resize(at + desc.size(), 0);
        let ordered = self.faults.bus_error();
        let failed = ordered || host.dma_read(aligned.into(), &mut data[at..]).is_err();
        if failed {
            if !ordered {
                self.report
                    .note(Violation::Bus, format_args!("TX data at {aligned:#x}: no memory"));
            }
            self.stats.tx_bus_errors += 1;
            self.regs.or(reg::EIS, bits::EIS_MTEF);
            self.esr(entry, 2);
        }
        !failed
    }

    fn tx_malformed(&mut self, q: usize, addr: u32, what: &str) -> Fetched {
        self.tx.parts.clear();
        self.report.note(
            Violation::Descriptor,
            format_args!("TX queue {q}: {what}, descriptor at {addr:#x}"),
        );
        self.regs.or(reg::EIS, bits::EIS_QEF);
        self.esr(q as u32, 1);
        Fetched::Error
    }
}
