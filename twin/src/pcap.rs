// SPDX-License-Identifier: GPL-2.0-or-later

//! Capture of the wire, in virtual time.
//!
//! A path that ends in `.pcapng` gets that format, with the direction of each frame and what was
//! wrong with it in the packet flags that the format defines (inbound is towards the MAC; CRC
//! error, too short, too long, unaligned; all other defects are a symbol error). Any other path
//! gets the older format with nanoseconds, which has no room for either: a damaged frame is marked
//! by an original length of four bytes more than what is captured, its FCS that did not match.
//!
//! Frames have no FCS. The bytes depend on the frames and on virtual time alone.

use crate::frame::{Defects, Frame};
use crate::host::Ns;
use crate::wire::Direction;
use std::fs::File;
use std::io::{self, BufWriter, Write};

const SNAP: u32 = 262_144;
const LINKTYPE_ETHERNET: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Pcap,
    PcapNg,
}

struct Sink {
    out: Box<dyn Write>,
    format: Format,
    path: String,
}

/// A capture file, or none.
#[derive(Default)]
pub struct Pcap {
    sink: Option<Sink>,
    error: Option<String>,
}

impl Pcap {
    /// No capture.
    pub fn off() -> Self {
        Self::default()
    }

    /// Creates the file.
    pub fn open(path: &str) -> Result<Self, String> {
        let file = File::create(path).map_err(|e| format!("{path}: {e}"))?;
        let format = if path.ends_with(".pcapng") { Format::PcapNg } else { Format::Pcap };
        let out = BufWriter::with_capacity(1 << 18, file);
        Self::start(Box::new(out), format, path).map_err(|e| format!("{path}: {e}"))
    }

    fn start(mut out: Box<dyn Write>, format: Format, path: &str) -> io::Result<Self> {
        match format {
            Format::Pcap => {
                out.write_all(&0xa1b2_3c4d_u32.to_le_bytes())?;
                out.write_all(&2u16.to_le_bytes())?;
                out.write_all(&4u16.to_le_bytes())?;
                for word in [0, 0, SNAP, LINKTYPE_ETHERNET] {
                    out.write_all(&u32::to_le_bytes(word))?;
                }
            }
            Format::PcapNg => {
                // Section header of unknown length, then the one interface; its time stamps count
                // nanoseconds (option 9, if_tsresol).
                for word in [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, !0, !0, 28] {
                    out.write_all(&u32::to_le_bytes(word))?;
                }
                for word in [1, 32, LINKTYPE_ETHERNET, SNAP, 9 | (1 << 16), 9, 0, 32] {
                    out.write_all(&u32::to_le_bytes(word))?;
                }
            }
        }
        let sink = Sink { out, format, path: path.into() };
        Ok(Self { sink: Some(sink), error: None })
    }

    /// Whether frames are captured.
    pub fn active(&self) -> bool {
        self.sink.is_some()
    }

    /// Captures a frame.
    #[inline]
    pub fn frame(&mut self, now: Ns, direction: Direction, frame: &Frame) {
        if self.sink.is_some() {
            self.write(now, direction, frame);
        }
    }

    #[cold]
    fn write(&mut self, now: Ns, direction: Direction, frame: &Frame) {
        let Some(sink) = self.sink.as_mut() else { return };
        let record = match sink.format {
            Format::Pcap => record(now, frame),
            Format::PcapNg => block(now, direction, frame),
        };
        if let Err(error) = sink.out.write_all(&record) {
            self.fail(&error);
        }
    }

    /// Gives up: half a capture that goes on would mislead.
    fn fail(&mut self, error: &io::Error) {
        if let Some(sink) = self.sink.take() {
            self.error = Some(format!("capture ended: {}: {error}", sink.path));
        }
    }

    /// Writes out what is buffered.
    pub fn flush(&mut self) {
        if let Some(Err(error)) = self.sink.as_mut().map(|sink| sink.out.flush()) {
            self.fail(&error);
        }
    }

    /// What went wrong since the last call.
    pub fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }
}

impl Drop for Pcap {
    fn drop(&mut self) {
        self.flush();
    }
}

/// A record of the older format.
fn record(now: Ns, frame: &Frame) -> Vec<u8> {
    let len = frame.data.len() as u32;
    let damaged = frame.defects != Defects::default();
    let original = len + if damaged { 4 } else { 0 };
    let mut out = Vec::with_capacity(16 + frame.data.len());
    for word in [(now / 1_000_000_000) as u32, (now % 1_000_000_000) as u32, len, original] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&frame.data);
    out
}

/// An enhanced packet block of the newer format.
fn block(now: Ns, direction: Direction, frame: &Frame) -> Vec<u8> {
    let len = frame.data.len();
    let padded = len.next_multiple_of(4);
    let total = (32 + padded + 12) as u32;
    let mut out = Vec::with_capacity(total as usize);
    for word in [6, total, 0, (now >> 32) as u32, now as u32, len as u32, len as u32] {
        out.extend_from_slice(&u32::to_le_bytes(word));
    }
    out.extend_from_slice(&frame.data);
    out.resize(28 + padded, 0);
    // Option 2, epb_flags, then the end of options.
    for word in [2 | (4 << 16), flags(direction, &frame.defects), 0, total] {
        out.extend_from_slice(&u32::to_le_bytes(word));
    }
    out
}

fn flags(direction: Direction, defects: &Defects) -> u32 {
    let mut flags = match direction {
        Direction::Rx => 1,
        Direction::Tx => 2,
    };
    let Defects { crc, phy, short, long, fraction, carrier_lost, carrier_ext } = *defects;
    flags |= u32::from(crc) << 24;
    flags |= u32::from(long) << 25;
    flags |= u32::from(short) << 26;
    flags |= u32::from(fraction) << 28;
    flags |= u32::from(phy || carrier_lost || carrier_ext) << 31;
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[derive(Clone, Default)]
    struct Memory(Rc<RefCell<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(data);
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn capture(format: Format, frames: &[(Ns, Direction, Frame)]) -> Vec<u8> {
        let memory = Memory::default();
        let mut pcap = Pcap::start(Box::new(memory.clone()), format, "x").unwrap();
        for (now, direction, frame) in frames {
            pcap.frame(*now, *direction, frame);
        }
        drop(pcap);
        memory.0.take()
    }

    fn crc() -> Defects {
        Defects { crc: true, ..Defects::default() }
    }

    #[test]
    fn older_format_byte_for_byte() {
        let damaged = Frame { data: vec![0xcc], defects: crc() };
        let bytes = capture(
            Format::Pcap,
            &[
                (3_000_000_007, Direction::Rx, Frame::new(vec![0xaa, 0xbb])),
                (3_000_000_008, Direction::Rx, damaged),
            ],
        );
        #[rustfmt::skip]
        let expected = [
            0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0,
            3, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0xaa, 0xbb,
            3, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 0xcc,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn newer_format_byte_for_byte() {
        let damaged = Frame { data: vec![0xaa, 0xbb], defects: crc() };
        let bytes = capture(Format::PcapNg, &[(0x1_0000_0002, Direction::Tx, damaged)]);
        #[rustfmt::skip]
        let expected = [
            0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0,
            1, 0, 0, 0, 32, 0, 0, 0, 1, 0, 0, 0, 0, 0, 4, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0,
            32, 0, 0, 0,
            6, 0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0,
            0xaa, 0xbb, 0, 0, 2, 0, 4, 0, 2, 0, 0, 1, 0, 0, 0, 0, 48, 0, 0, 0,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_full_disk_ends_the_capture() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::other("full"))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let sink = Sink { out: Box::new(Full), format: Format::Pcap, path: "x".into() };
        let mut pcap = Pcap { sink: Some(sink), error: None };
        pcap.frame(0, Direction::Rx, &Frame::new(vec![0; 60]));
        assert!(!pcap.active());
        assert_eq!(pcap.take_error().as_deref(), Some("capture ended: x: full"));
        assert_eq!(pcap.take_error(), None);
    }

    #[test]
    fn a_path_that_cannot_be() {
        let error = Pcap::open("/nonexistent/x.pcap").err().unwrap();
        assert!(error.starts_with("/nonexistent/x.pcap: "), "{error}");
    }
}
