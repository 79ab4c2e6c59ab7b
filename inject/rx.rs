// SPDX-License-Identifier: GPL-2.0

//! Extraction.
//!
//! A word is one of a frame's, or stands for a state; one of a frame's that looks like a state
//! comes behind another that says so. The last word of a frame comes behind a state as well.

use kernel::{
    io::Io,
    prelude::*,
    time::Delta, //
};

use super::{
    driver::Inject,
    header::{
        self,
        Header, //
    },
    regs::{
        Window,
        XTR_DATA_PRESENT,
        XTR_RD, //
    }, //
};
use crate::{
    net::{
        napi::RxContext,
        Device,
        DropReason,
        Skb, //
    },
    wait::poll_ready_atomic, //
};

// States, in the order of memory like the words of a frame.
const EOF: u32 = 0x8000_0000_u32.swap_bytes();
const EOF_1: u32 = 0x8000_0001_u32.swap_bytes();
const EOF_2: u32 = 0x8000_0002_u32.swap_bytes();
const EOF_3: u32 = 0x8000_0003_u32.swap_bytes();
const PRUNED: u32 = 0x8000_0004_u32.swap_bytes();
const ABORT: u32 = 0x8000_0005_u32.swap_bytes();
const ESCAPE: u32 = 0x8000_0006_u32.swap_bytes();
const NOT_READY: u32 = 0x8000_0007_u32.swap_bytes();

/// How long to wait for a word of a frame that is there.
const BOUND: Delta = Delta::from_micros(10);

/// The FCS.
const FCS: usize = 4;
/// The shortest frame, with FCS.
const MIN_LEN: usize = 64;
/// The longest one: a full frame with a tag, and its FCS.
const MAX_LEN: usize = 1522;
/// After so many words a frame has no end: the longest one that its header can tell of.
const MAX_WORDS: usize = (1 << 14) / 4;

/// What was read.
enum Word {
    /// A word of a frame.
    Data(u32),
    /// The last one, and how many of its bytes are the frame's.
    Last(u32, usize),
    /// The frame was cut off or given up, and is over.
    Void,
}

/// Reads a word of a frame that looks like a state.
fn read_unescaped(io: &Window<'_>) -> u32 {
    io.read(XTR_RD).into()
}

/// Reads a word, waiting for it.
#[inline]
fn read_raw(io: &Window<'_>) -> Result<u32> {
    poll_ready_atomic(BOUND, || {
        let word: u32 = io.read(XTR_RD).into();

        (word != NOT_READY).then_some(word)
    })
}

/// Reads a word of a frame that must come now.
fn read_escaped(io: &Window<'_>) -> Result<u32> {
    match read_raw(io)? {
        ESCAPE => Ok(read_unescaped(io)),
        word => Ok(word),
    }
}

#[inline]
fn read_word(io: &Window<'_>) -> Result<Word> {
    let unused = match read_raw(io)? {
        ESCAPE => return Ok(Word::Data(read_unescaped(io))),
        EOF => 0,
        EOF_1 => 1,
        EOF_2 => 2,
        EOF_3 => 3,
        PRUNED | ABORT => {
            // It has a last word, too.
            read_escaped(io)?;
            return Ok(Word::Void);
        }
        word => return Ok(Word::Data(word)),
    };

    Ok(Word::Last(read_escaped(io)?, 4 - unused))
}

/// Why a frame was not received.
enum Bad {
    /// Its end was read.
    Over(Cause),
    /// There is more of it.
    Open(Cause),
}

#[derive(Clone, Copy)]
enum Cause {
    /// It was cut off or given up, or a word did not come.
    Broken,
    /// Its length cannot be, or is not what its header says.
    Length,
    /// No memory.
    Memory,
}

/// A stuck queue has no more to read, an open one does.
fn broken(_: Error) -> Bad {
    Bad::Over(Cause::Broken)
}

/// Reads the header of a frame.
fn read_header(io: &Window<'_>) -> Result<Header, Bad> {
    let mut header = Header([0; header::WORDS]);

    for word in &mut header.0 {
        match read_word(io).map_err(broken)? {
            Word::Data(data) => *word = data,
            Word::Last(..) => return Err(Bad::Over(Cause::Length)),
            Word::Void => return Err(Bad::Over(Cause::Broken)),
        }
    }
    Ok(header)
}

/// Words of a frame on their way into an skb: one copy of many bytes is cheaper than many of four.
#[derive(Default)]
struct Buffer {
    words: [[u8; 4]; 16],
    len: usize,
}

impl Buffer {
    fn flush(&mut self, skb: &mut Skb) -> Result {
        let bytes = self.words.as_flattened();

        skb.append(bytes.get(..self.len).unwrap_or_default())?;
        self.len = 0;
        Ok(())
    }

    /// Appends the first `count` bytes of a word.
    #[inline]
    fn push(&mut self, skb: &mut Skb, word: u32, count: usize) -> Result {
        if let Some(to) = self.words.get_mut(self.len / 4) {
            *to = word.to_le_bytes();
        }
        self.len += count;
        if self.len == 4 * self.words.len() {
            self.flush(skb)?;
        }
        Ok(())
    }
}

/// Reads what is behind the header into an skb: `len` bytes and the FCS, which is left out.
fn read_data(io: &Window<'_>, skb: &mut Skb, len: usize) -> Result<(), Bad> {
    let mut buffer = Buffer::default();
    let mut seen = 0;

    loop {
        let (word, valid, last) = match read_word(io).map_err(broken)? {
            Word::Data(word) => (word, 4, false),
            Word::Last(word, valid) => (word, valid, true),
            Word::Void => return Err(Bad::Over(Cause::Broken)),
        };
        let wanted = len.saturating_sub(seen).min(valid);

        if wanted != 0 && buffer.push(skb, word, wanted).is_err() {
            return Err(if last {
                Bad::Over(Cause::Length)
            } else {
                Bad::Open(Cause::Length)
            });
        }
        seen += valid;
        if last {
            break;
        }
        if seen > len + FCS {
            return Err(Bad::Open(Cause::Length));
        }
    }
    if seen != len + FCS || buffer.flush(skb).is_err() {
        return Err(Bad::Over(Cause::Length));
    }
    Ok(())
}

/// Reads a frame.
fn read_frame(io: &Window<'_>, cx: &RxContext<'_>) -> Result<Skb, Bad> {
    let len = read_header(io)?.frame_len();

    if !(MIN_LEN..=MAX_LEN).contains(&len) {
        return Err(Bad::Open(Cause::Length));
    }
    let len = len - FCS;
    // CAST: See above.
    let Ok(mut skb) = cx.alloc_skb(len as u32) else {
        return Err(Bad::Open(Cause::Memory));
    };

    match read_data(io, &mut skb, len) {
        Ok(()) => Ok(skb),
        Err(bad) => {
            skb.drop_reason(DropReason::NotSpecified);
            Err(bad)
        }
    }
}

/// Reads what is left of a frame.
fn skip(io: &Window<'_>) {
    for _ in 0..MAX_WORDS {
        match read_word(io) {
            Ok(Word::Data(_)) => (),
            Ok(Word::Last(..) | Word::Void) | Err(_) => return,
        }
    }
}

/// Receives what is there. Returns the number of frames, good or bad.
pub(super) fn receive(dev: &Device<'_, Inject>, cx: &RxContext<'_>) -> u32 {
    let data = dev.data();
    let data = data.get_ref();
    let io = &data.io;
    let stats = &data.stats;
    let mut work = 0;

    while work < cx.budget() && io.read(XTR_DATA_PRESENT).is_present() {
        work += 1;
        let cause = match read_frame(io, cx) {
            Ok(mut skb) => {
                let len = skb.len();

                if skb.eth_type_trans(dev).is_ok() {
                    stats.rx_packets.inc();
                    stats.rx_bytes.add(len.into());
                    cx.gro_receive(skb);
                    continue;
                }
                skb.drop_reason(DropReason::TooSmall);
                Cause::Length
            }
            Err(Bad::Over(cause)) => cause,
            Err(Bad::Open(cause)) => {
                skip(io);
                cause
            }
        };

        match cause {
            Cause::Broken => stats.rx_broken.inc(),
            Cause::Length => stats.rx_length_errors.inc(),
            Cause::Memory => stats.rx_dropped.inc(),
        }
    }
    work
}
