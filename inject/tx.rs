// SPDX-License-Identifier: GPL-2.0

//! Injection.
//!
//! There is no interrupt when the FIFO has room again, so that a queue that was stopped is looked
//! after by a timer, which polls.

use kernel::{
    io::Io,
    prelude::*, //
};

use super::{
    driver::Inject,
    header::Header,
    ready,
    regs::{
        Window,
        INJ_CTRL,
        INJ_STATUS,
        INJ_WR, //
    }, //
};
use crate::net::{
    Device,
    DropReason,
    Skb,
    TxQueue,
    TxQueueRef,
    Xmit, //
};

/// The shortest frame, without FCS, in words.
const MIN_WORDS: usize = 60 / 4;

/// When to look whether a stopped queue can go on: at first, and at most. A full frame at 1 Gbit/s
/// takes 12 µs, at 10 Mbit/s 1.2 ms.
const RETRY_FIRST_NS: u64 = 20_000;
const RETRY_LAST_NS: u64 = 1_280_000;

/// When a stopped queue is looked after next.
pub(super) struct Retry(u64);

impl Default for Retry {
    fn default() -> Self {
        Self(RETRY_FIRST_NS)
    }
}

/// Writes a frame. On failure it has been begun, and not ended.
#[inline]
fn write_frame(io: &Window<'_>, header: &Header, data: &[u8]) -> Result {
    let put = |word: u32| -> Result {
        ready::wait(io)?;
        io.write_reg(INJ_WR::from(word));
        Ok(())
    };

    io.write_reg(INJ_CTRL::begin_frame());
    for word in header.0 {
        put(word)?;
    }

    let words = data.chunks_exact(4);
    let tail = words.remainder();
    let mut count = words.len();

    for word in words {
        if let &[a, b, c, d] = word {
            put(u32::from_le_bytes([a, b, c, d]))?;
        }
    }
    if !tail.is_empty() {
        let mut word = [0; 4];

        // The rest is zero: nothing of what lies behind the packet leaves this machine.
        for (to, from) in word.iter_mut().zip(tail) {
            *to = *from;
        }
        put(u32::from_le_bytes(word))?;
        count += 1;
    }

    // The switch does not pad.
    let valid = if count < MIN_WORDS || (count == MIN_WORDS && !tail.is_empty()) {
        0
    } else {
        // CAST: Less than 4.
        tail.len() as u32
    };

    for _ in count..MIN_WORDS {
        put(0)?;
    }
    io.write_reg(INJ_CTRL::end_frame(valid));
    // In the place of the FCS, which the switch computes. It has a place of its own.
    io.write_reg(INJ_WR::zeroed());
    Ok(())
}

/// Stops the queue until there is room.
fn stop(dev: &Device<'_, Inject>, queue: &TxQueueRef<'_, '_, Inject>) {
    queue.stop();
    dev.data().stats.tx_stops.inc();
    // After the queue was stopped: the poll wakes no other.
    if let Some(napi) = dev.napi(0) {
        napi.schedule_after(RETRY_FIRST_NS);
    }
}

/// See [`crate::net::Operations::start_xmit`].
#[inline]
pub(super) fn start_xmit<'b>(
    dev: &Device<'b, Inject>,
    mut skb: Skb,
    queue: TxQueue<'_, 'b, Inject>,
) -> Xmit {
    let data = dev.data();
    let data = data.get_ref();
    let stats = &data.stats;
    let ((), queue) = queue.split();

    if skb.frags_len() != 0 && skb.linearize().is_err() {
        stats.tx_dropped.inc();
        return Xmit::dropped(skb, DropReason::NoMem);
    }
    // There was room after the last frame. But the switch has other sources of frames, too.
    if !data.io.read(INJ_STATUS).has_room() {
        stop(dev, &queue);
        return Xmit::Busy(skb);
    }
    // Once the last word is written the frame may be on its way.
    skb.tx_timestamp();
    if write_frame(&data.io, &data.header, skb.linear()).is_err() {
        data.io.write_reg(INJ_CTRL::abort_frame());
        stats.tx_timeouts.inc();
        stop(dev, &queue);
        return Xmit::dropped(skb, DropReason::NotSpecified);
    }
    stats.tx_packets.inc();
    stats.tx_bytes.add(skb.len().into());
    skb.consume();
    if !data.io.read(INJ_STATUS).has_room() {
        stop(dev, &queue);
    }
    Xmit::Ok
}

/// Wakes the queue if it is stopped and there is room, or looks again later. In a poll.
pub(super) fn look_after(dev: &Device<'_, Inject>, retry: &mut Retry) {
    let Some(queue) = dev.tx_queue(0) else {
        return;
    };

    if !queue.stopped() {
        return;
    }
    if dev.data().io.read(INJ_STATUS).has_room() {
        *retry = Retry::default();
        queue.wake();
        return;
    }
    if let Some(napi) = dev.napi(0) {
        napi.schedule_after(retry.0);
    }
    retry.0 = (retry.0 * 2).min(RETRY_LAST_NS);
}
