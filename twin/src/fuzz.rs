// SPDX-License-Identifier: GPL-2.0-or-later

//! A guest that does anything: random accesses, descriptors, frames and orders, from a seed.
//!
//! The machine around the device checks that no access to memory goes beyond what descriptors
//! gave, that every call ends, and that the device comes to rest; the device itself must not
//! panic. A run is a function of its seed, so that `cargo run --bin fuzz SEED 1` repeats it.

use crate::chip::{Chip, CHIPS};
use crate::config::Config;
use crate::device::{Device, CONTROL, MAC, RESET};
use crate::dmac::desc::dt;
use crate::dt::Place;
use crate::host::{BusError, Host, Ns};
use crate::mac::regs::{reg, Kind, Regs, SPECS};
use crate::rng::Rng;
use crate::testing::{Memory, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const BASE: u64 = 0x4000_0000;
const SIZE: u64 = 0x8_0000;
/// Where descriptors are put: the low part of memory, so that walks meet them.
const RINGS: u64 = 0x4000;
/// Callbacks within one call of the device.
const MAX_CALLS: u64 = 400_000;
/// Timer calls without time going on.
const MAX_STANDSTILL: u32 = 1_000;

/// What a run has done; equal for equal seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The properties of the device.
    pub args: String,
    /// DMA accesses of the device.
    pub dma: u64,
    /// Frames sent to the network.
    pub sent: u64,
    /// Frames stored in memory.
    pub received: u64,
    /// Rules broken.
    pub violations: u64,
    /// Changes of interrupt lines.
    pub irqs: u64,
    /// Over memory, lines, frames and values read.
    pub digest: u64,
}

/// A buffer that a descriptor gave.
#[derive(Clone, Copy, Debug)]
struct Grant {
    ptr: u64,
    len: u64,
}

/// A machine that knows what the device may do.
struct Guarded {
    memory: Memory,
    chip: &'static Chip,
    /// Where descriptors may be.
    places: BTreeSet<u64>,
    /// Slots read in this call that are available for reception.
    slots: BTreeMap<u64, Grant>,
    /// TX buffers of descriptors read in this call.
    buffers: Vec<Grant>,
    /// Descriptors whose type may be written back; those of TX, also in later calls.
    types: BTreeSet<u64>,
    calls: u64,
    dma: u64,
    irqs: u64,
    digest: u64,
}

impl Guarded {
    fn new(chip: &'static Chip) -> Self {
        Self {
            memory: Memory::new(BASE, SIZE as usize),
            chip,
            places: BTreeSet::new(),
            slots: BTreeMap::new(),
            buffers: Vec::new(),
            types: BTreeSet::new(),
            calls: 0,
            dma: 0,
            irqs: 0,
            digest: 0,
        }
    }

    /// The device is called.
    fn enter(&mut self) {
        self.slots.clear();
        self.buffers.clear();
        self.calls = 0;
    }

    fn called(&mut self) {
        self.calls += 1;
        assert!(self.calls < MAX_CALLS, "a call of the device does not end");
    }

    fn mix(&mut self, value: u64) {
        self.digest = (self.digest ^ value).wrapping_mul(0x0100_0000_01B3).rotate_left(29);
    }

    fn mix_bytes(&mut self, bytes: &[u8]) {
        self.mix(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    /// The base address table may be anywhere that DBAT said.
    fn table(&mut self, dbat: u32) {
        let entries = self.chip.tx_queues.max(4) + self.chip.rx_queues;
        let entry = |n: u32| u64::from(dbat.wrapping_add(8 * n));
        self.places.extend((0..entries).map(entry));
    }

    /// A descriptor was read: what it allows.
    fn allow(&mut self, addr: u64, bytes: &[u8]) {
        let ptr = u64::from(u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]));
        let len = u64::from(u16::from_le_bytes([bytes[0], bytes[1]]) & 0xFFF);
        let next = |step: u32| u64::from((addr as u32).wrapping_add(step));
        match bytes[3] >> 4 {
            dt::LINK | dt::LINKFIX => {
                self.places.insert(ptr);
                if bytes[3] >> 4 == dt::LINK {
                    self.types.insert(addr);
                }
            }
            dt::FEMPTY => {
                self.slots.insert(addr, Grant { ptr, len });
                self.places.extend([next(8), next(20)]);
            }
            dt::FSTART | dt::FMID | dt::FEND | dt::FSINGLE => {
                let ptr = ptr & !u64::from(self.chip.tx_align - 1);
                self.buffers.push(Grant { ptr, len });
                self.types.insert(addr);
                self.places.insert(next(8));
            }
            dt::EOS => {
                self.types.insert(addr);
            }
            _ => (),
        }
    }

    /// Whether the device may write there.
    fn may_write(&mut self, addr: u64, len: u64) -> bool {
        if len == 1 && self.types.contains(&addr.wrapping_sub(3)) {
            return true;
        }
        let stamped = self.chip.rx_stamps;
        self.slots.iter().any(|(slot, grant)| {
            let status = addr == *slot && len == 3 || addr == slot + 3 && len == 1;
            let stamp = stamped && addr == slot + 8 && len == 12;
            let data = addr == grant.ptr && len <= grant.len;
            status || stamp || data
        })
    }
}

impl Host for Guarded {
    fn dma_read(&mut self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.called();
        self.dma += 1;
        let len = buf.len() as u64;
        let data = self.buffers.last().is_some_and(|grant| (grant.ptr, grant.len) == (addr, len));
        let desc = len == 8 && self.places.contains(&addr);
        assert!(data || desc, "read of {len} bytes at {addr:#x} that nothing allows");
        self.memory.dma_read(addr, buf)?;
        if desc {
            self.allow(addr, buf);
        }
        Ok(())
    }

    fn dma_write(&mut self, addr: u64, buf: &[u8]) -> Result<(), BusError> {
        self.called();
        self.dma += 1;
        let len = buf.len() as u64;
        assert!(self.may_write(addr, len), "write of {len} bytes at {addr:#x} that nothing allows");
        self.mix(addr);
        self.mix_bytes(buf);
        self.memory.written.clear();
        self.memory.dma_write(addr, buf)
    }

    fn set_irq(&mut self, line: usize, level: bool) {
        assert!(line < self.chip.lines.len());
        assert_ne!(self.memory.irqs[line], level, "a line is set to what it is");
        self.irqs += 1;
        self.mix(((line as u64) << 1) | u64::from(level));
        self.memory.set_irq(line, level);
    }

    fn now(&self) -> Ns {
        self.memory.time
    }

    fn set_timer(&mut self, deadline: Option<Ns>) {
        self.called();
        self.memory.deadline = deadline;
    }

    fn send(&mut self, frame: &[u8]) {
        self.called();
        self.mix_bytes(frame);
        self.memory.sent.push(Vec::new());
    }

    fn stall(&mut self, _span: Ns) {}

    fn log(&mut self, line: &str) {
        self.mix_bytes(line.as_bytes());
    }
}

struct Guest {
    rng: Rng,
    host: Guarded,
    dev: Device,
    offsets: Vec<usize>,
}

/// Orders; `#` stands for a random number.
const ORDERS: &[&str] = &[
    "unplug",
    "plug",
    "renegotiate speed=100",
    "renegotiate speed=1000",
    "renegotiate duplex=half",
    "phy-silent on",
    "phy-silent off",
    "lose-irq line=# count=#",
    "stuck-irq line=# on",
    "stuck-irq line=# off",
    "stuck-tx queue=# on",
    "stuck-tx queue=# off",
    "stuck-dlr on",
    "stuck-dlr off",
    "stuck-rx on",
    "stuck-rx off",
    "stuck-mode on",
    "stuck-mode off",
    "stuck-stop on",
    "stuck-stop off",
    "stuck-csum on",
    "stuck-csum off",
    "stuck-gptp on",
    "stuck-gptp off",
    "lose-stamp count=#",
    "fifo-overflow count=#",
    "bus-error count=#",
    "rx-head type=# size=# count=#",
    "rx-head size=# ethertype=0x800",
    "rx-head count=0",
    "slow #us",
    "slow 0",
    "capture",
    "false-carrier",
    "emac-counters trocr=# cxr41=# cxr42=#",
    "flood count=# size=64",
    "flood count=# payload=#",
    "stop",
    "defect crc count=#",
    "drop count=#",
    "dup count=#",
    "truncate len=# count=#",
    "unimpair",
    "peer-mute on",
    "peer-mute off",
    "stats",
    "violations",
    "clear",
    "now",
    "help",
    "frame 02000000770102000000770208004500 size=# defect=short",
    "mark #",
    "log #",
];

/// Properties that a run may have, each with one in four.
const PROPERTIES: &[&str] = &[
    "pace=0",
    "kind=1",
    "queue_error=retry",
    "reset_emac=1",
    "check_reset_mode=1",
    "toe_trailer=always",
    "rx_short_of_slots=truncate",
    "msc=all",
    "effs=drop",
    "rcsc=l3",
    "stamp_depth=1",
    "nc=priority",
    "uboot=1",
    "phy_c45=1",
    "aneg_ms=1",
    "noncoherent=1",
    "link_pin=low",
    "gptp_line=dia",
    "partner_pause=1",
];

impl Guest {
    fn new(seed: u64) -> (Self, String) {
        let mut rng = Rng::new(seed);
        let chip = CHIPS[rng.below(CHIPS.len() as u64) as usize];
        let peer = ["host", "model", "none"][rng.below(3) as usize];
        let mut args = format!("chip={}:peer={peer}:seed={seed}", chip.name);
        for property in PROPERTIES {
            if rng.one_in(4) {
                // Writing to a String cannot fail.
                let _ = write!(args, ":{property}");
            }
        }
        let cfg = match Config::parse(&args) {
            Ok(cfg) => cfg,
            Err(error) => panic!("{args}: {error:?}"),
        };
        let mut dev = match Device::new(cfg) {
            Ok(dev) => dev,
            Err(error) => panic!("{args}: {error:?}"),
        };
        let mut host = Guarded::new(chip);
        // What DBAT says after reset.
        host.table(0);
        let place = Place {
            regions: [0x0B00_0000, 0x0B01_0000, 0x0B02_0000],
            spis: (0..32).collect(),
            mac: [2, 0, 0, 0, 0x77, 1],
            instance: 0,
        };
        dev.describe(&place, &mut Tree::default());
        dev.power_on(&mut host);
        let offsets = Regs::new(chip).coverage().map(|(off, ..)| off).collect();
        (Self { rng, host, dev, offsets }, args)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.rng.below(limit)
    }

    fn read(&mut self, region: u32, off: u64, size: u32) -> u64 {
        self.host.enter();
        let value = self.dev.mmio_read(&mut self.host, region, off, size);
        self.host.mix(value);
        value
    }

    fn write(&mut self, region: u32, off: u64, value: u64, size: u32) {
        if (region, off, size) == (MAC, reg::DBAT as u64, 4) {
            self.host.table(value as u32);
        }
        self.host.enter();
        self.dev.mmio_write(&mut self.host, region, off, value, size);
    }

    fn w(&mut self, off: usize, value: u32) {
        self.write(MAC, off as u64, value.into(), 4);
    }

    /// A number that is often small, a single bit, or all there is.
    fn value(&mut self) -> u32 {
        match self.below(5) {
            0 => self.below(16) as u32,
            1 => 1 << self.below(32),
            2 => !(1 << self.below(32)),
            3 => self.below(0x1_0000) as u32,
            _ => self.rng.draw() as u32,
        }
    }

    /// An address that is mostly in memory, mostly aligned.
    fn address(&mut self) -> u32 {
        match self.below(12) {
            0 => self.rng.draw() as u32,
            1 => (BASE + SIZE - self.below(64)) as u32,
            2 => u32::MAX - self.below(32) as u32,
            3 => (BASE + self.below(SIZE)) as u32,
            _ => (BASE + (self.below(SIZE) & !3)) as u32,
        }
    }

    /// Where a descriptor goes.
    fn place(&mut self) -> u64 {
        let step = if self.rng.one_in(2) { 8 } else { 20 };
        BASE + self.below(RINGS / step) * step
    }

    fn descriptor(&mut self) {
        let kind = match self.below(16) {
            0..4 => dt::FSINGLE,
            4 => dt::FSTART,
            5 => dt::FEND,
            6 => dt::FMID,
            7..11 => dt::FEMPTY,
            11 | 12 => dt::LINKFIX,
            13 => dt::LINK,
            14 => dt::EEMPTY,
            _ => self.below(16) as u8,
        };
        let ptr = match kind {
            dt::LINK | dt::LINKFIX if !self.rng.one_in(8) => self.place() as u32,
            _ => self.address(),
        };
        let ds = match self.below(4) {
            0 => self.below(128),
            1 => 1514,
            2 => self.below(0x1000),
            _ => self.below(0x1_0000),
        } as u16;
        let die = if self.rng.one_in(8) { self.below(16) as u8 } else { 0 };
        let [d0, d1] = ds.to_le_bytes();
        let [p0, p1, p2, p3] = ptr.to_le_bytes();
        let info = self.value() as u8;
        let at = self.place();
        self.host.memory.put(at, &[d0, d1, info, (kind << 4) | die, p0, p1, p2, p3]);
    }

    /// Rings that work: tables of entries, slots, frames.
    fn rings(&mut self) {
        let dbat = BASE as u32;
        for n in 0..22u64 {
            let target = (BASE + 0x200 + n % 6 * 0x400) as u32;
            let [p0, p1, p2, p3] = target.to_le_bytes();
            self.host.memory.put(BASE + 8 * n, &[0, 0, 0, 0x90, p0, p1, p2, p3]);
        }
        let step = if self.host.chip.rx_stamps { 20 } else { 8 };
        for ring in 0..6u64 {
            let start = BASE + 0x200 + ring * 0x400;
            let (step, kind) = if ring < 4 { (8, 0x70) } else { (step, 0xC0) };
            for n in 0..16 {
                let ptr = ((BASE + 0x1_0000 + (ring * 16 + n) * 0x800) as u32).to_le_bytes();
                let ds = if kind == 0xC0 { 0x7FE } else { 60 + self.below(1400) as u16 };
                let [d0, d1] = ds.to_le_bytes();
                let slot = [d0, d1, 0, kind, ptr[0], ptr[1], ptr[2], ptr[3]];
                self.host.memory.put(start + n * step, &slot);
            }
            let [p0, p1, p2, p3] = (start as u32).to_le_bytes();
            self.host.memory.put(start + 16 * step, &[0, 0, 0, 0x90, p0, p1, p2, p3]);
        }
        self.w(reg::DBAT, dbat);
    }

    /// A port that works, from whatever state.
    fn open(&mut self) {
        for order in ["stuck-rx off", "stuck-mode off", "slow 0", "unimpair", "stop", "plug"] {
            self.send_order(order.into());
        }
        self.send_order("renegotiate speed=1000".into());
        self.write(RESET, 0, 1, 4);
        self.w(reg::CCC, 0x1_0081);
        self.pass(200_000);
        self.rings();
        self.w(reg::RCR, 0x1800_001F);
        self.w(reg::TCCR, 0x100);
        self.w(reg::RIC0, 0x3);
        self.w(reg::TIC, 0x103);
        self.w(reg::CCC, 0x1_0082);
        self.pass(200_000);
        let ecmr = self.value() & 0x06BF_0203 | 0x60;
        self.w(reg::ECMR, ecmr);
        self.w(reg::RFLR, 0x2004);
        self.w(reg::MAHR, 0x0200_0000);
        self.w(reg::MALR, 0x7701);
        let speed = if self.host.chip.toe { 0x20 } else { 1 };
        self.w(reg::GECMR, speed);
        if self.host.chip.toe {
            self.w(reg::CSR0, 0x30);
            self.w(reg::CSR1, 0x0F70_0071);
            self.w(reg::CSR2, 0x0F70_0071);
        }
        self.pass(1_000_000_000);
    }

    fn frame(&mut self) {
        let len = match self.below(4) {
            0 => self.below(80),
            1 => 1514,
            2 => self.below(1600),
            _ => self.below(9000),
        };
        let mut data: Vec<u8> = (0..len).map(|_| self.rng.draw() as u8).collect();
        // Headers that get somewhere.
        let head: &[u8] = match self.below(5) {
            0 => &[2, 0, 0, 0, 0x77, 1, 2, 0, 0, 0, 0x77, 2, 8, 0, 0x45, 0],
            1 => &[2, 0, 0, 0, 0x77, 1, 2, 0, 0, 0, 0x77, 2, 0x86, 0xDD, 0x60, 0],
            2 => &[2, 0, 0, 0, 0x77, 1, 2, 0, 0, 0, 0x77, 2, 0x81, 0, 0, 5, 8, 0, 0x45, 0],
            3 => &[1, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0x77, 2, 0x88, 8, 0, 1],
            _ => &[1, 0x1B, 0x19, 0, 0, 0, 2, 0, 0, 0, 0x77, 2, 0x88, 0xF7],
        };
        let n = head.len().min(data.len());
        data[..n].copy_from_slice(&head[..n]);
        if self.rng.one_in(2) {
            self.host.enter();
            self.dev.receive(&mut self.host, &data);
            return;
        }
        // From the wire, whoever the peer is; an order has room for the beginning.
        let size = data.len().max(1);
        data.truncate(400);
        let mut text = String::from("frame ");
        for byte in &data {
            let _ = write!(text, "{byte:02x}");
        }
        let _ = write!(text, " size={size}");
        if self.rng.one_in(8) {
            text.push_str(" defect=crc,long");
        }
        self.send_order(text);
    }

    fn order(&mut self) {
        let mut text = String::new();
        if self.rng.one_in(16) {
            text.extend((0..self.below(40)).map(|n| (b' ' + (n * 7 % 94) as u8) as char));
        } else {
            let order = ORDERS[self.below(ORDERS.len() as u64) as usize];
            for c in order.chars() {
                match c {
                    '#' => {
                        let n = self.below(40);
                        let _ = write!(text, "{n}");
                    }
                    c => text.push(c),
                }
            }
        }
        self.send_order(text);
    }

    fn send_order(&mut self, text: String) {
        let mut bytes = text.into_bytes();
        let len = bytes.len();
        bytes.resize(len.next_multiple_of(4), 0);
        for (at, word) in bytes.chunks(4).enumerate() {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            self.write(CONTROL, 0x400 + 4 * at as u64, word.into(), 4);
        }
        self.write(CONTROL, 0x014, len as u64, 4);
        self.read(CONTROL, 0x800, 4);
    }

    /// Time passes, with the timer mostly called when it should be.
    fn pass(&mut self, span: Ns) {
        let end = self.host.memory.time + span;
        let mut stops = 0;
        let mut standstill = 0;
        while let Some(deadline) = self.host.memory.deadline.filter(|deadline| *deadline <= end) {
            stops += 1;
            if stops == 3_000 {
                // An emulator that cannot keep up.
                break;
            }
            standstill = if deadline > self.host.memory.time { 0 } else { standstill + 1 };
            assert!(standstill < MAX_STANDSTILL, "the device never comes to rest");
            self.host.memory.time = self.host.memory.time.max(deadline);
            self.timer();
        }
        self.host.memory.time = end;
    }

    fn timer(&mut self) {
        self.host.memory.deadline = None;
        self.host.enter();
        self.dev.timer(&mut self.host);
    }

    fn step(&mut self) {
        match self.below(64) {
            0..8 => {
                // A register that exists, a value that its mask lets through.
                let at = self.below(self.offsets.len() as u64) as usize;
                let off = self.offsets[at];
                if matches!(off, reg::CCC | reg::ECMR | reg::RFLR | reg::GECMR | reg::CSR0)
                    && !self.rng.one_in(4)
                {
                    // Most of these end all traffic.
                    return;
                }
                let mask = SPECS
                    .iter()
                    .find(|spec| (spec.off..spec.off + 4 * spec.count).contains(&off))
                    .map_or(0, |spec| if spec.kind == Kind::Ro { 0 } else { spec.mask });
                let value = self.value() & mask;
                self.w(off, value);
            }
            8..10 => {
                let (off, value) = (self.below(0x1_0000), self.rng.draw());
                let size = [1, 2, 4, 8][self.below(4) as usize];
                let region = self.below(4) as u32;
                self.write(region, off & !(u64::from(size) - 1), value, size);
            }
            10..16 => {
                let at = self.below(self.offsets.len() as u64) as usize;
                self.read(MAC, self.offsets[at] as u64, 4);
            }
            16 => {
                let off = self.below(0x1_0000);
                let size = [1, 2, 4, 8][self.below(4) as usize];
                let region = self.below(4) as u32;
                self.read(region, off & !(u64::from(size) - 1), size);
            }
            17..28 => self.descriptor(),
            28..36 => {
                let queues = self.below(16) as u32;
                self.w(reg::TCCR, 0x100 | queues);
            }
            36..44 => self.frame(),
            44..50 => {
                let span = self.below(50_000);
                self.pass(span);
            }
            50 => {
                let span = self.below(3_000_000_000);
                self.pass(span);
            }
            51 => {
                let value = self.value() & 0x0113_0183;
                self.w(reg::CCC, value);
            }
            52..55 => self.order(),
            55 => {
                for _ in 0..self.below(200) {
                    let value = self.below(16) as u32;
                    self.w(reg::PIR, value);
                }
            }
            56..58 => self.open(),
            58..60 => self.rings(),
            60 if self.rng.one_in(2) => {
                let value = self.below(4);
                self.write(RESET, 0, value, 4);
            }
            61 if self.rng.one_in(8) => {
                self.host.enter();
                self.dev.power_on(&mut self.host);
            }
            62 => {
                // Late, early or stray timer calls.
                self.host.memory.time += self.below(10_000);
                self.timer();
            }
            _ => {
                let (at, value) = (BASE + self.below(RINGS), self.value());
                self.host.memory.put(at, &value.to_le_bytes());
            }
        }
    }
}

/// Runs `steps` random steps from `seed`.
///
/// # Panics
///
/// If the device breaks a promise.
pub fn run(seed: u64, steps: u64) -> Outcome {
    let (mut guest, args) = Guest::new(seed);
    if !guest.rng.one_in(4) {
        guest.open();
    }
    for _ in 0..steps {
        guest.step();
    }
    guest.host.enter();
    guest.dev.flush(&mut guest.host);
    let mut outcome = Outcome {
        args,
        dma: guest.host.dma,
        sent: guest.host.memory.sent.len() as u64,
        irqs: guest.host.irqs,
        ..Outcome::default()
    };
    guest.dev.counters(&mut |name, value| match name {
        "mac.rx_frames" => outcome.received = value,
        "violation.total" => outcome.violations = value,
        _ => (),
    });
    let memory = std::mem::take(&mut guest.host.memory.bytes);
    guest.host.mix_bytes(&memory);
    outcome.digest = guest.host.digest;
    outcome
}
