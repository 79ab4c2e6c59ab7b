// SPDX-License-Identifier: GPL-2.0-or-later

//! Reception: choice of the queue, walk of its slots, write-back.
//!
//! Source: reference section 2.7. All slots of a frame are found before anything is written, so a
//! frame for which they do not suffice leaves memory untouched (unless `rx_short_of_slots` says
//! otherwise).

use super::desc::{dt, write_type, Desc, DS_EI, DS_TR, MAX_LINKS, NORMAL, RX_BASE, STAMPED};
use crate::config::NcClass;
use crate::csum;
use crate::gptp::Stamp;
use crate::host::{BusError, Host, Ns};
use crate::mac::emac::Accepted;
use crate::mac::mode::Ops;
use crate::mac::regs::{bits, reg};
use crate::mac::Mac;
use crate::report::Violation;

/// RX queues of the largest variant.
pub const QUEUES: usize = 18;
/// Slots that one frame may take.
const MAX_PARTS: usize = 64;
/// What is in the part of a buffer that the frame does not fill.
pub const POISON: u8 = 0xDB;

/// A slot that will take part of the frame.
#[derive(Clone, Copy, Debug)]
struct Part {
    addr: u32,
    ptr: u32,
    size: usize,
    die: u8,
}

/// The engine.
#[derive(Debug)]
pub(crate) struct Rx {
    /// Where the walk of each queue is; `None`: at the entry of the base address table.
    pub(crate) cur: [Option<u32>; QUEUES],
    parts: Vec<Part>,
    buf: Vec<u8>,
}

/// Why a frame was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Full {
    /// No slot.
    Slots,
    /// The memory could not be accessed.
    Bus,
}

impl Rx {
    pub(crate) fn new() -> Self {
        Self { cur: [None; QUEUES], parts: Vec::new(), buf: Vec::new() }
    }

    /// Every queue starts at its entry of the base address table again.
    pub(crate) fn restart_queues(&mut self) {
        self.cur = [None; QUEUES];
    }
}

impl Mac {
    /// The RX queue for a frame.
    fn rx_queue(&self, data: &[u8]) -> usize {
        if !self.chip.nc_queue || self.regs.get(reg::RCR) & bits::RCR_ENCF == 0 {
            return 0;
        }
        let word = |at: usize| match data.get(at..at + 2) {
            Some(bytes) => u16::from_be_bytes([bytes[0], bytes[1]]),
            None => 0,
        };
        let ptp_type = word(12) == 0x88F7;
        let ptp_addr = matches!(
            data.get(..6),
            Some([0x01, 0x80, 0xC2, 0, 0, 0x0E] | [0x01, 0x1B, 0x19, 0, 0, 0])
        );
        let control = match self.cfg.nc {
            NcClass::None => false,
            NcClass::Type => ptp_type,
            NcClass::Ptp => ptp_type || ptp_addr,
            NcClass::Priority => ptp_type || ptp_addr || word(12) == 0x8100 && word(14) >> 13 >= 6,
        };
        usize::from(control)
    }

    /// Size of the descriptors of RX queue `q`.
    fn rx_step(&self, q: usize) -> u32 {
        let stamped =
            self.chip.rx_stamps && (q != 0 || self.regs.get(reg::RCR) & bits::RCR_ETS0 != 0);
        if stamped {
            STAMPED
        } else {
            NORMAL
        }
    }

    /// Appends what the checksum engine adds to a received frame.
    fn rx_trailer(&self, data: &mut Vec<u8>) {
        if self.chip.toe {
            let csr2 = self.regs.get(reg::CSR2);
            if csr2 != 0 || self.cfg.toe_always {
                let trailer = csum::toe_trailer(data, csr2);
                data.extend_from_slice(&trailer);
            }
            return;
        }
        let ecmr = self.regs.get(reg::ECMR);
        if ecmr & bits::ECMR_RCSC != 0 && ecmr & bits::ECMR_RCPT == 0 {
            let tagged = data.get(12..14) == Some(&[0x81, 0x00]);
            let skip = if self.cfg.rcsc_skips_tag && tagged { 4 } else { 0 };
            let trailer = csum::rcar_trailer(data.get(skip..).unwrap_or(&[]));
            data.extend_from_slice(&trailer);
        }
    }

    /// Stores a frame that the E-MAC has accepted.
    pub(crate) fn rx_store(&mut self, now: Ns, mut frame: Accepted, host: &mut dyn Host) {
        if self.faults.stuck_rx {
            self.stats.rx_fifo += 1;
            return;
        }
        if self.faults.take_overflow() {
            self.stats.rx_fifo += 1;
            self.regs.or(reg::RIS2, bits::RIS2_RFFF);
            return;
        }
        if self.mode.ops != Ops::Operation || self.mode.suspended {
            self.stats.rx_off += 1;
            return;
        }
        let deliver = (self.regs.get(reg::RCR) & bits::RCR_EFFS != 0) != self.cfg.effs_inverted;
        if frame.errors() && !deliver {
            self.stats.rx_bad += 1;
            return;
        }
        let q = self.rx_queue(&frame.data);
        let bytes = frame.data.len();
        self.rx_trailer(&mut frame.data);
        match self.rx_find(q, frame.data.len(), host) {
            Ok(()) => (),
            Err(Full::Slots) => {
                self.stats.rx_full += 1;
                self.regs.or(reg::RIS2, 1 << q);
                return;
            }
            Err(Full::Bus) => {
                self.stats.rx_bus_errors += 1;
                return;
            }
        }
        if self.rx_write(now, q, &frame, host).is_ok() {
            self.stats.rx_frames += 1;
            self.stats.rx_bytes += bytes as u64;
            self.regs.or(reg::RIS0, 1 << q);
        } else {
            self.stats.rx_bus_errors += 1;
        }
    }

    /// Finds slots of queue `q` for `len` bytes and leaves them in `rx.parts`.
    fn rx_find(&mut self, q: usize, len: usize, host: &mut dyn Host) -> Result<(), Full> {
        let entry = RX_BASE + q as u32;
        let step = self.rx_step(q);
        let mut cur = match self.rx.cur[q] {
            Some(cur) => cur,
            None => self.dbat_entry(entry),
        };
        let mut links = 0;
        let mut room = 0;
        self.rx.parts.clear();
        while room < len {
            let Ok(desc) = Desc::read(host, cur) else {
                self.dma_error(entry, format_args!("RX descriptor at {cur:#x}"));
                return Err(Full::Bus);
            };
            match desc.dt {
                dt::LINKFIX | dt::LINK => {
                    links += 1;
                    if links > MAX_LINKS {
                        self.report.note(
                            Violation::Descriptor,
                            format_args!("RX queue {q}: links without end, descriptor at {cur:#x}"),
                        );
                        self.regs.or(reg::EIS, bits::EIS_QEF);
                        self.esr(entry, 1);
                        return Err(Full::Slots);
                    }
                    if desc.dt == dt::LINK && write_type(host, cur, dt::LEMPTY, desc.die).is_err() {
                        self.dma_error(entry, format_args!("RX link at {cur:#x}"));
                        return Err(Full::Bus);
                    }
                    cur = desc.ptr;
                    if self.rx.parts.is_empty() {
                        self.rx.cur[q] = Some(cur);
                    }
                }
                dt::FEMPTY if desc.size() > 0 && self.rx.parts.len() < MAX_PARTS => {
                    if cur % 4 != 0 {
                        self.report
                            .note(Violation::Alignment, format_args!("RX descriptor at {cur:#x}"));
                    }
                    links = 0;
                    room += desc.size();
                    let part = Part { addr: cur, ptr: desc.ptr, size: desc.size(), die: desc.die };
                    self.rx.parts.push(part);
                    cur = cur.wrapping_add(step);
                }
                kind => {
                    if kind == dt::FEMPTY && desc.size() == 0 {
                        self.report.note(
                            Violation::RxSlot,
                            format_args!("RX queue {q}: DS is 0 in the slot at {cur:#x}"),
                        );
                    }
                    if kind == dt::EOS && self.rx.parts.is_empty() {
                        self.rx.cur[q] = Some(cur);
                        // Failing that, the next walk finds EOS again.
                        let _ = write_type(host, cur, dt::EEMPTY, desc.die);
                    }
                    if self.cfg.rx_truncate && !self.rx.parts.is_empty() {
                        break;
                    }
                    return Err(Full::Slots);
                }
            }
        }
        self.rx.cur[q] = Some(cur);
        Ok(())
    }

    /// Fills the slots in `rx.parts`: for each the data, then size, status and time stamp, the
    /// type last.
    fn rx_write(
        &mut self,
        now: Ns,
        q: usize,
        frame: &Accepted,
        host: &mut dyn Host,
    ) -> Result<(), ()> {
        let stamp = (self.rx_step(q) == STAMPED).then(|| self.gptp.stamp(self.sfd(now, frame)));
        let parts = std::mem::take(&mut self.rx.parts);
        let mut data = frame.data.as_slice();
        let mut result = Ok(());
        for (at, part) in parts.iter().enumerate() {
            let last = at + 1 == parts.len();
            let (here, rest) = data.split_at(part.size.min(data.len()));
            data = rest;
            let kind = match (at == 0, last) {
                (true, true) => dt::FSINGLE,
                (true, false) => dt::FSTART,
                (false, false) => dt::FMID,
                (false, true) => dt::FEND,
            };
            let mut flags = 0;
            if last {
                flags |= if frame.errors() { DS_EI } else { 0 };
                flags |= if frame.cut || !data.is_empty() { DS_TR } else { 0 };
            }
            let (wrong_kind, wrong_size) = self.faults.take_rx_head(&frame.data);
            let kind = wrong_kind.unwrap_or(kind);
            let size = wrong_size.unwrap_or(here.len() as u16);
            let msc = if last || self.cfg.msc_all { frame.msc } else { 0 };
            let ordered = self.faults.bus_error();
            if ordered || self.rx_part(part, here, size | flags, msc, stamp, kind, host).is_err() {
                self.regs.or(reg::EIS, bits::EIS_MREF);
                if !ordered {
                    self.dma_error(
                        RX_BASE + q as u32,
                        format_args!("RX buffer at {:#x}, slot at {:#x}", part.ptr, part.addr),
                    );
                }
                // The slots that are left, this one included, are used for the next frame.
                self.rx.cur[q] = Some(part.addr);
                result = Err(());
                break;
            }
            if part.die != 0 {
                self.regs.or(reg::DIS, 1 << part.die);
            }
        }
        self.rx.parts = parts;
        result
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of a descriptor")]
    fn rx_part(
        &mut self,
        part: &Part,
        data: &[u8],
        word: u16,
        msc: u8,
        stamp: Option<Stamp>,
        kind: u8,
        host: &mut dyn Host,
    ) -> Result<(), BusError> {
        if self.cfg.kind || data.len() == part.size {
            host.dma_write(part.ptr.into(), data)?;
        } else {
            let buf = &mut self.rx.buf;
            buf.clear();
            buf.extend_from_slice(data);
            buf.resize(part.size, POISON);
            host.dma_write(part.ptr.into(), buf)?;
        }
        let [d0, d1] = word.to_le_bytes();
        let mut write =
            |at: u32, bytes: &[u8]| host.dma_write(u64::from(part.addr) + u64::from(at), bytes);
        if let Some(stamp) = stamp {
            let mut bytes = [0; 12];
            bytes[..4].copy_from_slice(&stamp.ns.to_le_bytes());
            bytes[4..10].copy_from_slice(&stamp.sec.to_le_bytes()[..6]);
            write(8, &bytes)?;
        }
        write(0, &[d0, d1, msc])?;
        write(3, &[(kind << 4) | part.die])
    }
}
