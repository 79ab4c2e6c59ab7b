// SPDX-License-Identifier: GPL-2.0

//! NAPI.
//!
//! Each poll sends back what was sent, then receives, whatever the budget says of the one or the
//! other (napi.rst): TX has none, RX counts frames.
//!
//! A poll after which interrupts come again looks at the rings once more, after it has cleared the
//! queue's status. What the DMAC finishes after that sets the status again, and raises the
//! interrupt as soon as it is unmasked. So nothing can be missed, and the interrupt does not come
//! for what this poll has taken already. Polls that use up their budget, or after which the stack
//! polls again without being told (`napi_defer_hard_irqs`), access no register.

use super::{
    coalesce::{
        self,
        Found, //
    },
    driver::{
        Private,
        Ravb, //
    },
    irq::Unmask,
    rx::{
        RxRing,
        Wanted, //
    },
    stats::RxCounts,
    tx::{
        InNetpoll,
        InPoll, //
    }, //
};
use crate::net::{
    napi::RxContext,
    Completion,
    Device,
    Features,
    Poll,
    Polled, //
};

/// When to try again to get memory for the ring: soon, but not so soon that nothing else can run.
const RETRY_NS: u64 = 1_000_000;

/// What a poll has received.
#[derive(Default)]
struct Got {
    /// So many packets, of which there is a budget.
    packets: u32,
    /// In so many slots.
    slots: u32,
}

/// Receives what there is, fills what is free, and counts both.
fn receive<'b>(
    dev: &Device<'b, Ravb>,
    data: &Private<'b>,
    rx: &mut RxRing<'b>,
    queue: usize,
    cx: &RxContext<'_>,
) -> Got {
    let mut counts = RxCounts::default();
    let wanted = Wanted {
        checksum: dev.features().contains(Features::RXCSUM),
        stamps: data.ptp.stamped(),
    };
    let packets = rx.receive(dev, cx, wanted, &mut counts);
    let filled = rx.refill(&cx.owner());

    if let Some(stats) = data.queue_stats(queue) {
        stats.add_rx(&counts);
        stats.add_filled(filled);
    }
    Got {
        packets,
        slots: counts.slots,
    }
}

/// See [`crate::net::Operations::poll`].
#[inline]
pub(super) fn poll<'b>(dev: &Device<'b, Ravb>, mut poll: Poll<'_, 'b, Ravb>) -> Polled {
    let queue = poll.index();
    let data = dev.data();
    let data = data.get_ref();
    let (state, cx) = poll.split();

    let tx = state.tx.as_deref().zip(dev.tx_queue(queue));

    // None under netpoll, which wants TX only.
    let Some(cx) = cx.rx() else {
        if let Some((tx, txq)) = tx {
            tx.reclaim(dev, &txq, true, InNetpoll(cx));
        }
        return poll.again();
    };

    let sent = tx.map_or(0, |(tx, txq)| tx.reclaim(dev, &txq, true, InPoll(cx)));

    let budget = cx.budget();
    let mut got = Got::default();
    let mut starving = false;

    if let Some(rx) = &mut state.rx {
        // Every other poll finds nothing, where the stack polls again without being told.
        if rx.has_work() {
            got = receive(dev, data, rx, queue, &cx);
        }
        starving = rx.is_starving();
    }
    state.found.rx |= got.slots != 0;
    state.found.tx |= sent != 0;
    data.irq.count_errors(data);

    if got.packets >= budget {
        return poll.again();
    }

    let deferred = poll.is_deferred(got.packets);
    let ready = !deferred && {
        let state = poll.state();

        data.irq.clear(data, queue);
        state.rx.as_ref().is_some_and(|rx| rx.is_ready())
            || state.tx.as_ref().is_some_and(|tx| tx.is_ready())
    };
    // The poll that follows goes on with it.
    let found = if ready {
        Found::default()
    } else {
        core::mem::take(&mut poll.state().found)
    };

    // Without buffers an interrupt would only tell that there are none.
    if starving {
        if let Some(napi) = dev.napi(queue) {
            napi.schedule_after(RETRY_NS);
        }
    }
    match poll.complete(got.packets) {
        Completion::Done(polled) => {
            match dev.napi(queue) {
                // No interrupt would tell of what the last look has found. If there was none, the
                // setting has changed meanwhile.
                Some(napi) if deferred || ready => {
                    napi.schedule();
                }
                _ => {
                    let (rx, tx) = coalesce::after_poll(data, queue, found);
                    let rx = if starving { Unmask::Never } else { rx };

                    data.irq.unmask(dev, queue, rx, tx);
                }
            }
            polled
        }
        // The stack polls again, at once or later: then to find more at a time, so this poll ends
        // here, even if there is something.
        Completion::Again(polled) => polled,
    }
}
