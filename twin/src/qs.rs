// SPDX-License-Identifier: GPL-2.0-or-later

//! The CPU port of a lan966x switch: frames that the CPU writes and reads word by word, through the
//! queue system's registers. The switch core behind it is not modelled: injected frames leave by
//! the port, and what arrives there for the station or a group is extracted.
//!
//! Source: the public driver `drivers/net/ethernet/microchip/lan966x` (`lan966x_regs.h`,
//! `lan966x_ifh.h`, `lan966x_main.c`), and where that is silent the drivers of the same vendor's
//! older switches with the same block (`ocelot`, `sparx5`: INJ_CTRL.ABORT, the words that stand for
//! a state).
//!
//! Injection: `INJ_CTRL.SOF`, a header of seven words, the frame from its destination address,
//! `INJ_CTRL.EOF` with the number of valid bytes of the last word, and one more word in the place
//! of the FCS, which the switch computes. The FIFO takes words at the CPU's speed and is drained at
//! that of the core; `INJ_STATUS` says whether there is room for a word, and whether there is for a
//! frame.
//!
//! Extraction: the same, with the FCS. A word that stands for a state comes before the last one of
//! a frame; one of the frame's that looks like it is escaped.

use crate::config::Config;
use crate::frame::Frame;
use crate::host::{Host, Ns};
use crate::report::{Report, Violation};
use crate::rng::Rng;
use std::collections::VecDeque;

/// Offsets of the registers. There are two groups of all but the last of each direction; frames
/// pass through the first.
pub mod reg {
    #![allow(missing_docs)]
    pub const XTR_GRP_CFG: u64 = 0x00;
    pub const XTR_RD: u64 = 0x08;
    pub const XTR_FLUSH: u64 = 0x18;
    pub const XTR_DATA_PRESENT: u64 = 0x1c;
    pub const INJ_GRP_CFG: u64 = 0x24;
    pub const INJ_WR: u64 = 0x2c;
    pub const INJ_CTRL: u64 = 0x34;
    pub const INJ_STATUS: u64 = 0x3c;
}

/// Name of the register at an offset, for the trace.
pub fn name(off: u64) -> Option<&'static str> {
    Some(match off {
        reg::XTR_GRP_CFG => "XTR_GRP_CFG",
        reg::XTR_RD => "XTR_RD",
        reg::XTR_FLUSH => "XTR_FLUSH",
        reg::XTR_DATA_PRESENT => "XTR_DATA_PRESENT",
        reg::INJ_GRP_CFG => "INJ_GRP_CFG",
        reg::INJ_WR => "INJ_WR",
        reg::INJ_CTRL => "INJ_CTRL",
        reg::INJ_STATUS => "INJ_STATUS",
        _ => return None,
    })
}

const CFG_MODE: u32 = 3 << 2;
/// By registers, not by the frame DMA.
const CFG_MODE_MANUAL: u32 = 1 << 2;
const CFG_BYTE_SWAP: u32 = 1 << 0;
const CFG_ALL: u32 = CFG_MODE | CFG_BYTE_SWAP;

const CTRL_GAP: u32 = 0xf << 21;
const CTRL_ABORT: u32 = 1 << 20;
const CTRL_EOF: u32 = 1 << 19;
const CTRL_SOF: u32 = 1 << 18;
const CTRL_VLD_SHIFT: u32 = 16;
const CTRL_VLD: u32 = 3 << CTRL_VLD_SHIFT;
const CTRL_ALL: u32 = CTRL_GAP | CTRL_ABORT | CTRL_EOF | CTRL_SOF | CTRL_VLD;

const STATUS_WMARK: u32 = 1 << 4;
const STATUS_READY: u32 = 1 << 2;

/// Words that stand for a state: the frame's last word follows, of which so many bytes are unused.
const XTR_EOF: u32 = 0x8000_0000;
/// The rest of the frame was cut off; its last word follows.
const XTR_PRUNED: u32 = 0x8000_0004;
/// The frame is void; a last word follows.
const XTR_ABORT: u32 = 0x8000_0005;
/// The next word is one of the frame's.
const XTR_ESCAPE: u32 = 0x8000_0006;
/// Read again.
const XTR_NOT_READY: u32 = 0x8000_0007;

const HEADER_WORDS: usize = 7;
/// Bytes of the header in front of each frame.
pub const HEADER: usize = HEADER_WORDS * 4;

/// Fields of the header: lowest bit and width. Bit 0 is the last byte's.
mod header {
    pub(super) const BYPASS: (u32, u32) = (191, 1);
    pub(super) const LEN: (u32, u32) = (178, 14);
    pub(super) const SRC_PORT: (u32, u32) = (141, 4);
    pub(super) const TCI: (u32, u32) = (103, 17);
    pub(super) const QOS_CLASS: (u32, u32) = (100, 3);
    pub(super) const DSTS: (u32, u32) = (62, 9);
    pub(super) const IPV: (u32, u32) = (55, 3);
}

/// The front port that the CPU port's frames go to and come from.
pub const PORT: u32 = 0;

const FCS: usize = 4;
/// The shortest frame that can be injected, without FCS.
const MIN_LEN: usize = 60;
/// The longest one, without FCS; the port's limit at reset, with a tag.
const MAX_LEN: usize = 1518;
/// What the queue system can hold of frames that wait for the port, and of frames for the CPU.
const MEMORY: usize = 32 * 1024;

fn field(header: &[u8], (low, width): (u32, u32)) -> u32 {
    (low..low + width).rev().fold(0, |value, bit| {
        let byte = header.len() - 1 - (bit / 8) as usize;
        (value << 1) | u32::from((header[byte] >> (bit % 8)) & 1)
    })
}

fn set_field(header: &mut [u8], (low, width): (u32, u32), value: u32) {
    for at in 0..width {
        let bit = low + at;
        let byte = header.len() - 1 - (bit / 8) as usize;
        header[byte] |= (((value >> at) & 1) as u8) << (bit % 8);
    }
}

/// Faults and delays that a test orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QsFault {
    /// The injection FIFO is not ready for a while.
    Busy {
        /// After so many more words.
        after: u64,
        /// How often, each time after so many more words.
        count: u32,
        /// For so long.
        span: Ns,
        /// The second read that shows it takes this long, as if an interrupt had come behind it: by
        /// then a driver measures the time.
        read: Ns,
    },
    /// The next frames are extracted as void.
    Abort {
        /// How many.
        count: u32,
    },
    /// The next frames are cut off.
    Prune {
        /// How many.
        count: u32,
    },
}

macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What happened.
        #[derive(Clone, Debug, Default)]
        struct Stats {
            $($(#[$doc])* $name: u64,)*
        }

        impl Stats {
            fn list(&self, each: &mut dyn FnMut(&str, u64)) {
                $(each(concat!("qs.", stringify!($name)), self.$name);)*
            }
        }
    };
}

stats! {
    /// Register reads.
    reads,
    /// Register writes.
    writes,
    /// Interrupts that were raised while the injection FIFO was not ready.
    irqs_while_busy,
    /// Reads of INJ_STATUS.
    status_reads,
    /// Those that have found the FIFO not ready.
    not_ready,
    /// Words that were injected.
    inj_words,
    /// Frames that were injected.
    inj_frames,
    /// Frames that the CPU has given up.
    inj_aborted,
    /// Frames that were spoilt: a word too many, an end without a beginning.
    inj_broken,
    /// Frames for other ports.
    inj_elsewhere,
    /// Frames sent without a link.
    inj_lost,
    /// Frames that were extracted to the end.
    xtr_frames,
    /// Frames for others.
    xtr_filtered,
    /// Damaged frames.
    xtr_bad,
    /// Frames for which there was no memory.
    xtr_full,
}

/// A frame on its way in.
#[derive(Debug, Default)]
struct Injected {
    bytes: Vec<u8>,
    /// EOF was written: the last word's valid bytes.
    end: Option<u32>,
    /// A word of it was lost.
    broken: bool,
}

/// The block.
#[derive(Debug)]
pub struct Qs {
    kind: bool,
    pace: bool,
    /// Time in which the core takes a word out of the FIFO.
    word: Ns,
    /// Words that the FIFO holds.
    depth: u64,
    /// One in so many words makes the FIFO not ready for a while, and how long at most.
    busy_every: u64,
    busy_max: Ns,
    /// One in so many words of an extracted frame is not ready at once.
    wait_every: u64,
    mmio_read: Ns,
    mmio_write: Ns,
    station: [u8; 6],
    rng: Rng,
    stats: Stats,

    inj_cfg: [u32; 2],
    inj: Option<Injected>,
    /// Words in the FIFO, and when that was so.
    level: u64,
    level_at: Ns,
    busy_until: Ns,
    /// What a test has ordered, and how many words are left until then.
    order: Option<(QsFault, u64)>,
    /// What the second read that shows it costs, and how many have.
    read_cost: Ns,
    shown: u32,
    mbps: Option<u32>,
    /// When the line will have sent everything.
    line_free: Ns,
    sent: VecDeque<(Ns, Frame)>,

    xtr_cfg: [u32; 2],
    flush: u32,
    xtr: VecDeque<VecDeque<u32>>,
    xtr_words: usize,
    /// The last word read was NOT_READY, or an escape: the next one is ready.
    ready_now: bool,
    abort: u32,
    prune: u32,
}

impl Qs {
    /// The block with its power just switched on.
    pub fn new(cfg: &Config) -> Self {
        Self {
            kind: cfg.kind,
            pace: cfg.pace,
            word: cfg.inj_word,
            depth: cfg.inj_fifo.into(),
            busy_every: cfg.inj_busy_every.into(),
            busy_max: cfg.inj_busy,
            wait_every: cfg.xtr_wait_every.into(),
            mmio_read: cfg.mmio_read,
            mmio_write: cfg.mmio_write,
            station: [0; 6],
            rng: Rng::new(cfg.wire.seed),
            stats: Stats::default(),
            inj_cfg: [0; 2],
            inj: None,
            level: 0,
            level_at: 0,
            busy_until: 0,
            order: None,
            read_cost: 0,
            shown: 0,
            mbps: None,
            line_free: 0,
            sent: VecDeque::new(),
            xtr_cfg: [0; 2],
            flush: 0,
            xtr: VecDeque::new(),
            xtr_words: 0,
            ready_now: false,
            abort: 0,
            prune: 0,
        }
    }

    /// Whose frames the switch has been told to give the CPU.
    pub fn set_station(&mut self, mac: [u8; 6]) {
        self.station = mac;
    }

    /// Machine reset.
    pub fn power_on(&mut self, host: &mut dyn Host) {
        self.inj_cfg = [0; 2];
        self.xtr_cfg = [0; 2];
        self.inj = None;
        self.level = 0;
        self.flush = 0;
        self.xtr.clear();
        self.xtr_words = 0;
        self.ready_now = false;
        self.update_irq(host);
    }

    /// The speed of the port's link.
    pub fn set_link(&mut self, mbps: Option<u32>) {
        self.mbps = mbps;
    }

    /// Name and value of each counter.
    pub fn counters(&self, each: &mut dyn FnMut(&str, u64)) {
        self.stats.list(each);
    }

    /// Sets all counters to zero.
    pub fn clear_counters(&mut self) {
        self.stats = Stats::default();
    }

    /// Carries out an order.
    pub fn fault(&mut self, now: Ns, fault: QsFault) {
        match fault {
            QsFault::Busy { after: 0, span, read, .. } => self.hold(now, span, read),
            QsFault::Busy { after, .. } => self.order = Some((fault, after)),
            QsFault::Abort { count } => self.abort = count,
            QsFault::Prune { count } => self.prune = count,
        }
    }

    /// A read by the CPU.
    pub fn read(
        &mut self,
        now: Ns,
        off: u64,
        size: u32,
        report: &mut Report,
        host: &mut dyn Host,
    ) -> u32 {
        self.stats.reads += 1;
        if self.mmio_read != 0 {
            host.stall(self.mmio_read);
        }
        if size != 4 || off % 4 != 0 {
            report.note(Violation::AccessSize, format_args!("read of {size} bytes at {off:#x}"));
            return 0;
        }
        match off {
            0x00 | 0x04 => self.xtr_cfg[(off / 4) as usize],
            reg::XTR_RD => {
                let word = self.extract(report);
                self.update_irq(host);
                // The words are kept as the CPU sees them with the bytes swapped.
                if self.xtr_cfg[0] & CFG_BYTE_SWAP != 0 {
                    word
                } else {
                    word.swap_bytes()
                }
            }
            0x0c => XTR_NOT_READY,
            reg::XTR_FLUSH => self.flush,
            reg::XTR_DATA_PRESENT => self.present().into(),
            0x24 => self.inj_cfg[0],
            0x28 => self.inj_cfg[1],
            reg::INJ_CTRL | 0x38 => 0,
            reg::INJ_STATUS => self.status(now, host),
            reg::INJ_WR | 0x30 => {
                report.note(Violation::Direction, format_args!("read of INJ_WR"));
                0
            }
            _ => {
                report.note(Violation::UnknownRegister, format_args!("read at {off:#x}"));
                0
            }
        }
    }

    /// A write by the CPU.
    pub fn write(
        &mut self,
        now: Ns,
        off: u64,
        value: u32,
        size: u32,
        report: &mut Report,
        host: &mut dyn Host,
    ) {
        self.stats.writes += 1;
        if self.mmio_write != 0 {
            host.stall(self.mmio_write);
        }
        if size != 4 || off % 4 != 0 {
            report.note(Violation::AccessSize, format_args!("write of {size} bytes at {off:#x}"));
            return;
        }
        let reserved = match off {
            0x00 | 0x04 | 0x24 | 0x28 => !CFG_ALL,
            0x34 | 0x38 => !CTRL_ALL,
            reg::XTR_FLUSH => !3,
            _ => 0,
        };
        if value & reserved != 0 {
            report.note(Violation::ReservedBits, format_args!("{value:#x} at {off:#x}"));
        }
        match off {
            0x00 | 0x04 => self.xtr_cfg[(off / 4) as usize] = value & CFG_ALL,
            0x24 => self.inj_cfg[0] = value & CFG_ALL,
            0x28 => self.inj_cfg[1] = value & CFG_ALL,
            reg::INJ_CTRL => self.control(value, report),
            reg::INJ_WR => self.inject(now, value, report),
            // Nobody has set up the second group.
            0x30 | 0x38 => {
                report.note(Violation::WrongMode, format_args!("write to the second group"));
            }
            reg::XTR_FLUSH => {
                self.flush = value & 3;
                if self.flush & 1 != 0 {
                    self.xtr.clear();
                    self.xtr_words = 0;
                }
                self.update_irq(host);
            }
            0x08 | 0x0c | reg::XTR_DATA_PRESENT | reg::INJ_STATUS => {
                report.note(Violation::Direction, format_args!("write at {off:#x}"));
            }
            _ => report.note(Violation::UnknownRegister, format_args!("write at {off:#x}")),
        }
    }

    /// The core has taken what it could out of the FIFO.
    fn drain(&mut self, now: Ns) {
        if self.word == 0 {
            self.level = 0;
            return;
        }
        let taken = now.saturating_sub(self.level_at) / self.word;
        if taken >= self.level {
            (self.level, self.level_at) = (0, now);
        } else {
            self.level -= taken;
            self.level_at += taken * self.word;
        }
    }

    fn ready(&self, now: Ns) -> bool {
        self.level < self.depth && now >= self.busy_until
    }

    /// Bytes that wait for the line.
    fn waiting(&self, now: Ns) -> u64 {
        let ns = self.line_free.saturating_sub(now);
        ns.saturating_mul(self.mbps.unwrap_or(0).into()) / 8000
    }

    fn status(&mut self, now: Ns, host: &mut dyn Host) -> u32 {
        self.drain(now);
        self.stats.status_reads += 1;
        let mut status = 0;
        if self.ready(now) {
            status |= STATUS_READY;
        } else {
            self.stats.not_ready += 1;
            self.shown = self.shown.saturating_add(1);
            if self.shown == 2 && self.read_cost != 0 {
                host.stall(self.read_cost);
            }
        }
        let full = self.waiting(now) > (MEMORY - 2 * MAX_LEN) as u64;
        if full || self.level > self.depth / 2 {
            status |= STATUS_WMARK;
        }
        status
    }

    fn control(&mut self, value: u32, report: &mut Report) {
        if value & CTRL_ABORT != 0 {
            self.stats.inj_aborted += u64::from(self.inj.take().is_some());
            return;
        }
        if value & CTRL_SOF != 0 {
            if self.inj.is_some() {
                report.note(Violation::WrongMode, format_args!("SOF within a frame"));
                self.stats.inj_broken += 1;
            }
            self.inj = Some(Injected::default());
        }
        if value & CTRL_EOF != 0 {
            match &mut self.inj {
                Some(frame) => frame.end = Some((value & CTRL_VLD) >> CTRL_VLD_SHIFT),
                None => report.note(Violation::WrongMode, format_args!("EOF without a frame")),
            }
        }
    }

    fn inject(&mut self, now: Ns, value: u32, report: &mut Report) {
        self.drain(now);
        self.stats.inj_words += 1;
        let ready = self.ready(now);
        let Some(frame) = &mut self.inj else {
            report.note(Violation::WrongMode, format_args!("a word outside of a frame"));
            return;
        };
        if self.inj_cfg[0] & CFG_MODE != CFG_MODE_MANUAL {
            report.note(Violation::WrongMode, format_args!("INJ_WR, but injection is not manual"));
            frame.broken = true;
        }
        // The word after EOF has a place of its own.
        if !ready && frame.end.is_none() {
            report.note(Violation::WrongMode, format_args!("a word for a FIFO that is not ready"));
            frame.broken = true;
        }
        if frame.end.is_some() {
            if let Some(frame) = self.inj.take() {
                self.complete(now, frame, report);
            }
            return;
        }
        let swap = self.inj_cfg[0] & CFG_BYTE_SWAP != 0;
        let bytes = if swap { value.to_le_bytes() } else { value.to_be_bytes() };
        // More than fits is told at the end.
        if frame.bytes.len() <= HEADER + MAX_LEN {
            frame.bytes.extend_from_slice(&bytes);
        }
        self.level += 1;
        self.count_down(now);
    }

    /// The FIFO is not ready, because a test wants it so.
    fn hold(&mut self, now: Ns, span: Ns, read: Ns) {
        self.busy_until = now + span;
        self.read_cost = read;
        self.shown = 0;
    }

    /// A word was taken: the FIFO may not be ready for the next.
    fn count_down(&mut self, now: Ns) {
        if let Some((QsFault::Busy { after, count, span, read }, left)) = self.order {
            let left = left.saturating_sub(1);
            self.order = if left > 0 {
                Some((QsFault::Busy { after, count, span, read }, left))
            } else if count > 1 {
                Some((QsFault::Busy { after, count: count - 1, span, read }, after))
            } else {
                None
            };
            if left == 0 {
                self.hold(now, span, read);
            }
        } else if !self.kind && self.busy_every != 0 && self.rng.one_in(self.busy_every) {
            self.busy_until = self.busy_until.max(now + self.rng.below(self.busy_max + 1));
        }
    }

    /// All words of a frame are there.
    fn complete(&mut self, now: Ns, frame: Injected, report: &mut Report) {
        let unused = (4 - frame.end.unwrap_or(0) as usize) % 4;
        let len = frame.bytes.len().saturating_sub(unused);
        if frame.broken || len < HEADER {
            self.stats.inj_broken += 1;
            return;
        }
        let (header, data) = frame.bytes[..len].split_at(HEADER);
        if !(MIN_LEN..=MAX_LEN).contains(&data.len()) {
            report.note(Violation::TxLength, format_args!("a frame of {} bytes", data.len()));
            self.stats.inj_broken += 1;
            return;
        }
        let mut known = [0; HEADER];
        for at in [header::BYPASS, header::DSTS, header::TCI, header::QOS_CLASS, header::IPV] {
            set_field(&mut known, at, field(header, at));
        }
        if known != header || field(header, header::BYPASS) == 0 {
            report.note(Violation::ReservedBits, format_args!("injection header {header:02x?}"));
        }
        if field(header, header::DSTS) & (1 << PORT) == 0 {
            self.stats.inj_elsewhere += 1;
            return;
        }
        let Some(mbps) = self.mbps else {
            self.stats.inj_lost += 1;
            return;
        };
        self.stats.inj_frames += 1;
        let frame = Frame::new(data.to_vec());
        let at = if self.pace {
            let out = now + self.level * self.word;
            self.line_free = self.line_free.max(out) + frame.wire_time(mbps);
            self.line_free
        } else {
            now
        };
        self.sent.push_back((at, frame));
    }

    /// The next frame that has left the port.
    pub fn take_sent(&mut self, now: Ns) -> Option<(Ns, Frame)> {
        if self.sent.front()?.0 <= now {
            self.sent.pop_front()
        } else {
            None
        }
    }

    /// When the next one will have.
    pub fn next_event(&self) -> Option<Ns> {
        self.sent.front().map(|(at, _)| *at)
    }

    /// A frame has arrived at the port.
    pub fn receive(&mut self, frame: Frame, host: &mut dyn Host) {
        if frame.defects != Default::default() {
            // The port discards what is damaged.
            self.stats.xtr_bad += 1;
            return;
        }
        let group = frame.data.first().is_some_and(|first| first & 1 != 0);
        if !group && !frame.data.starts_with(&self.station) {
            self.stats.xtr_filtered += 1;
            return;
        }
        let mut data = frame.data;
        data.resize(data.len().max(MIN_LEN), 0);
        let words = self.stream(data);
        if self.flush & 1 != 0 || (self.xtr_words + words.len()) * 4 > MEMORY {
            self.stats.xtr_full += 1;
            return;
        }
        if !self.present() && host.now() < self.busy_until {
            self.stats.irqs_while_busy += 1;
        }
        self.xtr_words += words.len();
        self.xtr.push_back(words);
        self.update_irq(host);
    }

    /// The words of a frame as the CPU reads them, states and escapes included.
    fn stream(&mut self, mut data: Vec<u8>) -> VecDeque<u32> {
        let mut header = [0; HEADER];
        set_field(&mut header, header::LEN, (data.len() + FCS) as u32);
        set_field(&mut header, header::SRC_PORT, PORT);
        // Its value is nobody's business but the port's: anything does for a frame that is sound.
        data.extend_from_slice(&[0xde, 0xad, 0xbe, 0xef]);
        let unused = (4 - data.len() % 4) % 4;
        data.resize(data.len() + unused, 0);
        let state = if std::mem::take(&mut self.prune) > 0 {
            data.truncate((data.len() / 2) & !3);
            XTR_PRUNED
        } else if self.abort > 0 {
            self.abort -= 1;
            data.truncate((data.len() / 2) & !3);
            XTR_ABORT
        } else {
            XTR_EOF + unused as u32
        };
        let mut words = VecDeque::new();
        let all = header.chunks_exact(4).chain(data.chunks_exact(4));
        let last = HEADER_WORDS + data.len() / 4 - 1;
        for (at, bytes) in all.enumerate() {
            let word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            if at == last {
                words.push_back(state.swap_bytes());
            }
            if (XTR_EOF..=XTR_NOT_READY).contains(&word.swap_bytes()) {
                words.push_back(XTR_ESCAPE.swap_bytes());
            }
            words.push_back(word);
        }
        words
    }

    fn present(&self) -> bool {
        !self.xtr.is_empty()
    }

    fn extract(&mut self, report: &mut Report) -> u32 {
        let wait = !self.kind && self.wait_every != 0 && self.rng.one_in(self.wait_every);
        let not_ready = XTR_NOT_READY.swap_bytes();
        if self.xtr_cfg[0] & CFG_MODE != CFG_MODE_MANUAL {
            report.note(Violation::WrongMode, format_args!("XTR_RD, but extraction is not manual"));
            return not_ready;
        }
        if wait && !self.ready_now && self.present() {
            self.ready_now = true;
            return not_ready;
        }
        // Behind an escape, NOT_READY would be the frame's.
        self.ready_now =
            self.xtr.front().and_then(|frame| frame.front()) == Some(&XTR_ESCAPE.swap_bytes());
        let Some(frame) = self.xtr.front_mut() else { return not_ready };
        let word = frame.pop_front().unwrap_or(not_ready);
        self.xtr_words = self.xtr_words.saturating_sub(1);
        if frame.is_empty() {
            self.xtr.pop_front();
            self.stats.xtr_frames += 1;
        }
        word
    }

    /// The interrupt is asserted while there is a frame.
    fn update_irq(&self, host: &mut dyn Host) {
        host.set_irq(0, self.present());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Memory;

    const MANUAL: u32 = CFG_MODE_MANUAL | CFG_BYTE_SWAP;
    const STATION: [u8; 6] = [2, 0, 0, 0, 0x77, 1];

    struct Bench {
        qs: Qs,
        host: Memory,
        report: Report,
    }

    impl Bench {
        fn new(args: &str) -> Self {
            let cfg = Config::parse(&format!("chip=inject:{args}")).unwrap();
            let mut bench =
                Self { qs: Qs::new(&cfg), host: Memory::new(0, 0), report: Report::default() };
            bench.qs.set_station(STATION);
            bench.qs.set_link(Some(1000));
            bench.write(reg::INJ_GRP_CFG, MANUAL);
            bench.write(reg::XTR_GRP_CFG, MANUAL);
            bench
        }

        fn read(&mut self, off: u64) -> u32 {
            let now = self.host.time;
            self.qs.read(now, off, 4, &mut self.report, &mut self.host)
        }

        fn write(&mut self, off: u64, value: u32) {
            let now = self.host.time;
            self.qs.write(now, off, value, 4, &mut self.report, &mut self.host);
        }

        fn ready(&mut self) -> bool {
            self.read(reg::INJ_STATUS) & STATUS_READY != 0
        }

        fn word(&mut self, word: u32) {
            for _ in 0..1000 {
                if self.ready() {
                    break;
                }
                self.host.time += 100;
            }
            self.write(reg::INJ_WR, word);
        }

        /// Injects as the driver does.
        fn inject(&mut self, data: &[u8]) {
            let mut header = [0; HEADER];
            set_field(&mut header, header::BYPASS, 1);
            set_field(&mut header, header::DSTS, 1 << PORT);
            self.write(reg::INJ_CTRL, (1 << 21) | CTRL_SOF);
            for word in header.chunks(4).chain(data.chunks(4)) {
                let mut bytes = [0; 4];
                bytes[..word.len()].copy_from_slice(word);
                self.word(u32::from_le_bytes(bytes));
            }
            let valid = (data.len() % 4) as u32;
            self.write(reg::INJ_CTRL, (1 << 21) | CTRL_EOF | (valid << CTRL_VLD_SHIFT));
            self.write(reg::INJ_WR, 0);
        }

        /// Extracts a frame; `None` if it is void or cut off.
        fn extract(&mut self) -> Option<Vec<u8>> {
            let mut bytes = Vec::new();
            loop {
                let word = match self.read(reg::XTR_RD).swap_bytes() {
                    XTR_NOT_READY => continue,
                    XTR_ESCAPE => self.read(reg::XTR_RD),
                    state @ (XTR_PRUNED | XTR_ABORT) => {
                        self.next();
                        assert_ne!(state, 0);
                        return None;
                    }
                    state if (XTR_EOF..XTR_PRUNED).contains(&state) => {
                        let word = match self.next().swap_bytes() {
                            XTR_ESCAPE => self.read(reg::XTR_RD),
                            word => word.swap_bytes(),
                        };
                        bytes.extend(word.to_le_bytes());
                        bytes.truncate(bytes.len() - (state & 3) as usize);
                        let len = field(&bytes[..HEADER], header::LEN) as usize;
                        assert_eq!(bytes.len(), HEADER + len);
                        return Some(bytes[HEADER..bytes.len() - FCS].to_vec());
                    }
                    word => word.swap_bytes(),
                };
                bytes.extend(word.to_le_bytes());
                assert!(bytes.len() < 2000);
            }
        }

        fn next(&mut self) -> u32 {
            loop {
                let word = self.read(reg::XTR_RD);
                if word != XTR_NOT_READY.swap_bytes() {
                    return word;
                }
            }
        }
    }

    fn frame(len: usize) -> Vec<u8> {
        let mut data = STATION.to_vec();
        data.extend((6..len).map(|at| at as u8));
        data
    }

    #[test]
    fn frames_of_every_tail_are_injected() {
        let mut bench = Bench::new("inj_busy_every=50");
        for len in 60..140 {
            bench.inject(&frame(len));
            bench.host.time += 1_000_000;
            let (_, sent) = bench.qs.take_sent(bench.host.time).unwrap();
            assert_eq!(sent.data, frame(len));
        }
        assert_eq!(bench.report.total(), 0);
        assert!(bench.qs.stats.not_ready > 0, "the FIFO was always ready");
    }

    #[test]
    fn frames_of_every_tail_are_extracted() {
        let mut bench = Bench::new("xtr_wait_every=5");
        for len in 60..140 {
            let sent = frame(len);
            bench.qs.receive(Frame::new(sent.clone()), &mut bench.host);
            assert!(bench.host.irqs[0]);
            assert_eq!(bench.read(reg::XTR_DATA_PRESENT), 1);
            assert_eq!(bench.extract(), Some(sent));
            assert!(!bench.host.irqs[0]);
        }
        assert_eq!(bench.report.total(), 0);
    }

    #[test]
    fn data_that_looks_like_a_state_is_escaped() {
        let mut bench = Bench::new("");
        let mut sent = frame(60);
        for state in XTR_EOF..=XTR_NOT_READY {
            sent.splice(16..20, state.to_be_bytes());
            bench.qs.receive(Frame::new(sent.clone()), &mut bench.host);
            assert_eq!(bench.extract(), Some(sent.clone()));
        }
    }

    #[test]
    fn void_and_cut_frames() {
        let mut bench = Bench::new("");
        bench.qs.fault(0, QsFault::Abort { count: 1 });
        bench.qs.fault(0, QsFault::Prune { count: 1 });
        for _ in 0..3 {
            bench.qs.receive(Frame::new(frame(80)), &mut bench.host);
        }
        assert_eq!(bench.extract(), None);
        assert_eq!(bench.extract(), None);
        assert_eq!(bench.extract(), Some(frame(80)));
        assert!(!bench.host.irqs[0]);
    }

    #[test]
    fn frames_for_others_are_not_extracted() {
        let mut bench = Bench::new("");
        let mut other = frame(60);
        other[0] = 4;
        bench.qs.receive(Frame::new(other), &mut bench.host);
        assert!(!bench.host.irqs[0]);
        bench.qs.receive(Frame::new(vec![0xff; 60]), &mut bench.host);
        assert!(bench.host.irqs[0]);
    }

    #[test]
    fn fifo_fills_at_the_cpu_and_drains_at_the_core() {
        let mut bench = Bench::new("kind=1:inj_fifo=16:inj_word_ns=1000");
        bench.write(reg::INJ_CTRL, CTRL_SOF);
        for _ in 0..16 {
            assert!(bench.ready());
            bench.write(reg::INJ_WR, 0);
        }
        assert!(!bench.ready());
        assert_ne!(bench.read(reg::INJ_STATUS) & STATUS_WMARK, 0);
        bench.host.time += 999;
        assert!(!bench.ready());
        bench.host.time += 1;
        assert!(bench.ready());
        bench.host.time += 7_000;
        assert_eq!(bench.read(reg::INJ_STATUS), STATUS_READY);
        assert_eq!(bench.report.total(), 0);
    }

    #[test]
    fn a_slow_line_holds_back_the_next_frame() {
        let mut bench = Bench::new("kind=1");
        bench.qs.set_link(Some(10));
        let mut frames = 0;
        while bench.read(reg::INJ_STATUS) & STATUS_WMARK == 0 {
            bench.inject(&frame(1514));
            // The core takes it out of the FIFO, and it waits for the line.
            bench.host.time += 10_000;
            frames += 1;
            assert!(frames < 100);
        }
        assert!((MEMORY / 1538 - 2..=MEMORY / 1538).contains(&frames), "{frames}");
        bench.host.time += 2_500_000;
        assert_eq!(bench.read(reg::INJ_STATUS), STATUS_READY);
    }

    #[test]
    fn ordered_busy_time_begins_within_a_frame_and_costs_the_reader() {
        let mut bench = Bench::new("kind=1");
        bench.qs.fault(0, QsFault::Busy { after: 3, count: 2, span: 5_000, read: 9_000 });
        bench.write(reg::INJ_CTRL, CTRL_SOF);
        for _ in 0..3 {
            assert!(bench.ready());
            bench.write(reg::INJ_WR, 0);
        }
        assert!(!bench.ready());
        assert_eq!(bench.host.stalled, 0);
        assert!(!bench.ready());
        assert!(!bench.ready());
        assert_eq!(bench.host.stalled, 9_000);
        bench.host.time += 5_000;
        assert!(bench.ready());
        assert_eq!(bench.host.stalled, 9_000);
        for _ in 0..3 {
            assert!(bench.ready());
            bench.write(reg::INJ_WR, 0);
        }
        assert!(!bench.ready());
        bench.host.time += 5_000;
        for _ in 0..10 {
            assert!(bench.ready());
            bench.write(reg::INJ_WR, 0);
        }
    }

    #[test]
    fn abort_forgets_the_frame() {
        let mut bench = Bench::new("kind=1");
        bench.write(reg::INJ_CTRL, CTRL_SOF);
        bench.word(0);
        bench.write(reg::INJ_CTRL, CTRL_ABORT);
        bench.inject(&frame(60));
        assert_eq!(bench.report.total(), 0);
        assert_eq!((bench.qs.stats.inj_aborted, bench.qs.stats.inj_frames), (1, 1));
    }

    #[test]
    fn what_a_driver_must_not_do_is_reported() {
        let mut bench = Bench::new("kind=1");
        bench.write(reg::INJ_WR, 0);
        bench.inject(&frame(59));
        bench.write(reg::INJ_CTRL, CTRL_SOF);
        bench.qs.fault(0, QsFault::Busy { after: 0, count: 1, span: 1_000, read: 0 });
        bench.write(reg::INJ_WR, 0);
        bench.write(reg::INJ_CTRL, CTRL_SOF);
        bench.write(reg::INJ_STATUS, 0);
        bench.read(0x40);
        let counts = [Violation::WrongMode, Violation::TxLength, Violation::Direction]
            .map(|what| bench.report.count(what));
        assert_eq!(counts, [3, 1, 1]);
        assert_eq!(bench.report.count(Violation::UnknownRegister), 1);
    }

    #[test]
    fn random_accesses_do_no_harm() {
        let mut bench = Bench::new("");
        let mut rng = Rng::new(7);
        for _ in 0..100_000 {
            bench.host.time += rng.below(2_000);
            let off = rng.below(0x12) * 4;
            match rng.below(8) {
                0..4 => bench.write(off, rng.draw() as u32),
                4..7 => {
                    bench.read(off);
                }
                _ => {
                    let len = rng.below(1600) as usize;
                    let mut data = vec![0xff; len];
                    data.iter_mut().for_each(|byte| *byte = rng.draw() as u8);
                    bench.qs.receive(Frame::new(data), &mut bench.host);
                }
            }
            while bench.qs.take_sent(bench.host.time).is_some() {}
        }
    }
}
