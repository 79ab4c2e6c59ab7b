// SPDX-License-Identifier: GPL-2.0

//! XDP.
//!
//! While a program is loaded the receive rings have buffers of their own kind: from a page pool
//! that is mapped for both directions, with the head room that programs count on, and so large that
//! a frame within any MTU has room in one. So no MTU is too large for a program. (Chips that spread
//! frames also receive such as are longer; those are for programs that can cope with several
//! buffers, and too long for others.)
//!
//! A ring is generic over what sees its frames first, a [`Hook`]. Without a program that is
//! [`NoProgram`], of which nothing is left in the compiled code.
//!
//! What a program sends goes into the transmit ring of its queue, beside what the stack sends and
//! under the same lock. BQL does not count it; the queue is stopped when it has filled the ring,
//! and the watchdog is told that the queue moves. It is taken back in polls only.
//!
//! There is no zero copy for AF_XDP. Descriptors would allow it, within limits, but a port has one
//! receive queue for everybody: `ravb_rs.rst` says what would be needed, and why it isn't worth it.
//! Copying works, as for any device.

use kernel::prelude::*;

use super::{
    driver::Ravb,
    hw_info::BE,
    queue,
    stats::XdpCounts,
    tx, //
};
use crate::net::{
    extack::ExtAck,
    napi::RxContext,
    page_pool::{
        PagePool,
        Pooled, //
    },
    rx_buffer::{
        CpuBuf,
        DeviceBuf,
        Layout,
        Memory,
        Slots,
        Source, //
    },
    xdp::{
        Action,
        Buff,
        Frames,
        Program,
        RxQueue, //
    },
    Device,
    Rtnl,
    Skb, //
};

/// What has become of a frame.
pub(super) enum Outcome<M: Memory> {
    /// It is for the stack. `intact` tells whether it begins and ends where it did.
    Packet { skb: Skb, intact: bool },
    /// It was dropped, and this is its buffer.
    Dropped(Option<DeviceBuf<M>>),
    /// It went elsewhere.
    Gone,
    /// It could be nothing: there is no memory for an skb, or it has too many parts.
    Failed,
}

/// Who sees received frames before the stack.
pub(super) trait Hook<'b, S: Source<'b>>: Send + Sized {
    /// Whether there is somebody.
    const ACTIVE: bool;

    /// Allocates a source, with buffers, for frames that are seen by this hook.
    fn source(
        dev: &Device<'b, Ravb>,
        queue: usize,
        len: u32,
        layout: Layout,
        program: Option<&Program>,
    ) -> Result<(S, Slots<S::Memory>, Self)>;

    /// Returns whether frames may be in several buffers.
    fn takes_parts(&self) -> bool;

    /// Shows a frame. What is of no use for the device again goes back to the source.
    fn show(
        &mut self,
        dev: &Device<'b, Ravb>,
        source: &S,
        first: CpuBuf<S::Memory>,
        rest: impl Iterator<Item = CpuBuf<S::Memory>>,
        cx: &RxContext<'_>,
    ) -> Outcome<S::Memory>;

    /// Ends a poll.
    fn finish(&mut self, dev: &Device<'b, Ravb>, cx: &RxContext<'_>);
}

/// Nobody.
pub(super) struct NoProgram;

impl<'b, S: Source<'b>> Hook<'b, S> for NoProgram {
    const ACTIVE: bool = false;

    fn source(
        dev: &Device<'b, Ravb>,
        queue: usize,
        len: u32,
        layout: Layout,
        _program: Option<&Program>,
    ) -> Result<(S, Slots<S::Memory>, Self)> {
        let (source, buffers) = S::with_buffers(dev, u32::try_from(queue)?, len, layout)?;

        Ok((source, buffers, Self))
    }

    fn takes_parts(&self) -> bool {
        true
    }

    fn show(
        &mut self,
        _dev: &Device<'b, Ravb>,
        _source: &S,
        _first: CpuBuf<S::Memory>,
        _rest: impl Iterator<Item = CpuBuf<S::Memory>>,
        _cx: &RxContext<'_>,
    ) -> Outcome<S::Memory> {
        Outcome::Failed
    }

    fn finish(&mut self, _dev: &Device<'b, Ravb>, _cx: &RxContext<'_>) {}
}

/// Ends the way of a frame through XDP.
fn to_stack(frame: Buff<'_>, intact: bool) -> Outcome<Pooled> {
    match frame.into_skb() {
        Ok(skb) => Outcome::Packet { skb, intact },
        Err(_) => Outcome::Failed,
    }
}

/// A program, on a queue.
pub(super) struct Loaded {
    /// None if it was taken away and there was no memory for rings without.
    program: Option<Program>,
    has_frags: bool,
    rx_queue: RxQueue,
    queue: usize,
    /// Whether the DMAC must be told of frames to be sent, and others of frames that were
    /// redirected.
    sent: bool,
    redirected: bool,
    /// Of this poll.
    counts: XdpCounts,
}

impl Loaded {
    /// Replaces the program by another or none. No poll is running.
    pub(super) fn replace(&mut self, program: Option<&Program>) {
        // The stack copes with several buffers.
        self.has_frags = program.is_none_or(Program::has_frags);
        self.program = program.cloned();
    }
}

impl<'b> Hook<'b, PagePool> for Loaded {
    const ACTIVE: bool = true;

    fn source(
        dev: &Device<'b, Ravb>,
        queue: usize,
        len: u32,
        layout: Layout,
        program: Option<&Program>,
    ) -> Result<(PagePool, Slots<Pooled>, Self)> {
        let program = program.ok_or(EINVAL)?;
        let number = u32::try_from(queue)?;
        let (pool, buffers) = PagePool::with_two_way_buffers(dev, number, len, layout)?;
        let rx_queue = RxQueue::new(dev, number, &pool, layout.size)?;

        Ok((
            pool,
            buffers,
            Self {
                program: Some(program.clone()),
                has_frags: program.has_frags(),
                rx_queue,
                queue,
                sent: false,
                redirected: false,
                counts: XdpCounts::default(),
            },
        ))
    }

    fn takes_parts(&self) -> bool {
        self.has_frags
    }

    #[inline]
    fn show(
        &mut self,
        dev: &Device<'b, Ravb>,
        source: &PagePool,
        first: CpuBuf<Pooled>,
        rest: impl Iterator<Item = CpuBuf<Pooled>>,
        cx: &RxContext<'_>,
    ) -> Outcome<Pooled> {
        let counts = &mut self.counts;
        let Ok(mut frame) = Buff::new(&self.rx_queue, source, first, cx) else {
            return Outcome::Failed;
        };

        for part in rest {
            // The last part may have had nothing but the trailer.
            if !part.is_empty() && frame.add_frag(part).is_err() {
                return Outcome::Failed;
            }
        }
        let Some(program) = &self.program else {
            return to_stack(frame, true);
        };
        let bounds = frame.bounds();

        match frame.run(program) {
            Action::Pass => {
                let intact = frame.bounds() == bounds;

                counts.pass += 1;
                to_stack(frame, intact)
            }
            Action::Drop => {
                counts.drop += 1;
                Outcome::Dropped(frame.into_device(program))
            }
            Action::Aborted => {
                counts.aborted += 1;
                Outcome::Dropped(frame.into_device(program))
            }
            Action::Tx => {
                // One that has left no room for what frames have before them is dropped here.
                let sent = frame
                    .into_frame()
                    .is_ok_and(|frame| tx::send_frame(dev, self.queue, frame, cx).is_ok());

                if sent {
                    counts.tx += 1;
                    self.sent = true;
                } else {
                    counts.tx_errors += 1;
                    program.tx_failed(dev);
                }
                Outcome::Gone
            }
            Action::Redirect => {
                if frame.redirect(program) {
                    counts.redirect += 1;
                    self.redirected = true;
                } else {
                    counts.redirect_errors += 1;
                }
                Outcome::Gone
            }
        }
    }

    fn finish(&mut self, dev: &Device<'b, Ravb>, cx: &RxContext<'_>) {
        if let Some(stats) = dev.data().get_ref().queue_stats(self.queue) {
            stats.add_xdp(&core::mem::take(&mut self.counts));
        }
        if core::mem::take(&mut self.redirected) {
            cx.xdp_flush();
        }
        if core::mem::take(&mut self.sent) {
            tx::flush_frames(dev, self.queue);
        }
    }
}

/// See [`crate::net::Operations::xdp_setup`].
///
/// The first program and the end of the last one need other rings, with other buffers. They are
/// allocated while the old ones go on, which is all that can fail. Another program takes the place
/// of one in the rings, and so does none if memory is short: somebody who closes a link to a
/// program cannot be told that this has failed. Those rings go on until others are allocated.
pub(super) fn setup(
    dev: &Device<'_, Ravb>,
    program: Option<Program>,
    extack: &ExtAck<'_>,
    rtnl: &Rtnl,
) -> Result {
    let data = dev.data();
    let data = data.get_ref();
    let loaded = data.xdp.lock().is_some();

    if data.is_up(rtnl) {
        match &program {
            Some(_) if loaded => queue::replace_program(dev, program.as_ref(), rtnl)?,
            _ if loaded || program.is_some() => {
                match queue::allocate(dev, &data.ring_sizes(), program.as_ref(), rtnl) {
                    Ok(rings) => queue::exchange(dev, rings, rtnl)?,
                    Err(_) if program.is_none() => queue::replace_program(dev, None, rtnl)?,
                    Err(e) => return Err(extack.fail(e, c"no memory for the rings of XDP")),
                }
            }
            _ => (),
        }
    }
    let old = core::mem::replace(&mut *data.xdp.lock(), program);

    drop(old);
    Ok(())
}

/// See [`crate::net::Operations::xdp_xmit`].
pub(super) fn xmit<'b>(dev: &Device<'b, Ravb>, frames: &mut Frames<'_>, flush: bool) -> Result {
    if !dev.carrier_ok() {
        return Err(ENETDOWN);
    }
    tx::send_frames(dev, BE, frames, flush)
}
