// SPDX-License-Identifier: GPL-2.0

//! Interrupt coalescing.
//!
//! There are three ways to it. Two are the core's, set in sysfs or by netdev-genl: NAPI that polls
//! again after a while, instead of letting an interrupt tell (`gro_flush_timeout`,
//! `napi_defer_hard_irqs`), and NAPI in a thread (`threaded`). This file has what is on by default,
//! and the third way, `ethtool -C` and `-Q`: after a poll the interrupt of a direction stays masked
//! for a time that the user has set.
//!
//! # How
//!
//! RX and TX of a queue share a NAPI instance and, on most chips, an interrupt; their masks are
//! apart. The handler masks both, and when the poll is complete each is unmasked for itself
//! ([`Unmask`]):
//!
//! - at once, if nothing is set for the direction;
//! - by the direction's timer, if the poll has found something in it, or another one that it has
//!   followed at once;
//! - if they have found nothing, they were about the other direction: if there is a timer from an
//!   earlier poll, it goes on, otherwise the direction is unmasked as it was before. So sending
//!   does not delay the first packet received, nor the other way round.
//!
//! Without the core's deferral, that is one interrupt in `usecs` and the time of a poll. A full
//! ring raises an interrupt of its own, which is not delayed: it ends the wait.
//!
//! # Why nothing is lost
//!
//! *While a queue is open, each direction is unmasked, or a poll will follow, or its timer runs.*
//! A poll follows if NAPI is scheduled, if the core has deferred (it has a timer of its own for
//! that), or if memory has run out (NAPI's timer). `Enabled` has a bit for the first and the last
//! of the three, under the lock of the masks. What can happen at the same time:
//!
//! - *Timer and poll.* The timer of one direction expires while the other one's interrupt has the
//!   queue polled. It unmasks; if its interrupt comes, NAPI runs once more. When the poll
//!   completes, it decides anew and may mask it again. If the timer expires between the decision
//!   and a new start, the interrupt comes too early, once, and the second expiry finds nothing to
//!   do.
//! - *Timer and handler.* One unmasks, the other masks. If the handler is last, a poll follows; if
//!   the timer is last, the interrupt comes again, and so does the handler.
//! - *Timer and close.* `close` takes away both bits and the permission to set them; a timer that
//!   expires after that does nothing, a poll that completes starts none. Nothing waits for timers
//!   under the lock. Once NAPI is disabled nobody can start one, and `queue::freeze` cancels them,
//!   that is before the registers may be switched off or the rings freed.
//! - *Recovery of one transmit queue* leaves interrupts and NAPI as they are: whatever of the three
//!   holds for them goes on to hold, and the timer does not look at the ring.
//! - *Busy polling.* While a socket polls, `napi_complete_done` says no, and a timer that expires
//!   unmasks a direction: its handler masks it and finds NAPI taken, which makes the core poll
//!   once more when the socket is done.
//! - *A new setting* is used when the next poll completes. Timers that run are left to expire: what
//!   they wait for is at most [`MAX_USECS`] away.

use kernel::{
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    },
    time::Delta, //
};

use super::{
    driver::{
        Private,
        Ravb, //
    },
    hw_info::{
        HwInfo,
        MAX_QUEUES, //
    },
    irq::Unmask, //
};
use crate::net::{
    device::num_present_cpus,
    ethtool::{
        Coalesce,
        CoalesceParams, //
    },
    extack::ExtAck,
    Device,
    Rtnl,
    Setup, //
};

/// What a timer costs is as much as an interrupt: for less than this there is no gain.
const MIN_USECS: u32 = 20;

/// In this time a receive ring of the default size is filled by the largest frames, at 1 Gbit/s
/// (12.6 ms for 1024 of them); the smallest fill it in less than one. Beyond it nothing but loss
/// can come of waiting. It is well below what TCP takes for a loss (200 ms), and what the watchdog
/// takes for a stuck queue.
const MAX_USECS: u32 = 10_000;

/// What can be set.
pub(super) const PARAMS: CoalesceParams = CoalesceParams::RX_USECS.with(CoalesceParams::TX_USECS);

/// A direction of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Rx,
    Tx,
}

/// How many timers there are.
pub(super) const TIMERS: usize = 2 * MAX_QUEUES;

/// Returns the number of a timer.
const fn timer(queue: usize, direction: Direction) -> usize {
    match direction {
        Direction::Rx => 2 * queue,
        Direction::Tx => 2 * queue + 1,
    }
}

/// What the user has set for a queue, in microseconds. Zero: nothing. Written under the RTNL.
pub(super) struct Delays {
    rx: Atomic<u32>,
    tx: Atomic<u32>,
}

impl Delays {
    pub(super) const fn new() -> Self {
        Self {
            rx: Atomic::new(0),
            tx: Atomic::new(0),
        }
    }
}

/// In which directions a poll, and those that it has followed at once, have found something.
#[derive(Clone, Copy, Default)]
pub(super) struct Found {
    pub(super) rx: bool,
    pub(super) tx: bool,
}

/// Returns when the interrupts of a queue are to be enabled after a poll, RX and TX.
#[inline]
pub(super) fn after_poll(data: &Private<'_>, queue: usize, found: Found) -> (Unmask, Unmask) {
    match data.delays.get(queue) {
        Some(delays) => (unmask(&delays.rx, found.rx), unmask(&delays.tx, found.tx)),
        None => (Unmask::Now, Unmask::Now),
    }
}

#[inline]
fn unmask(usecs: &Atomic<u32>, found: bool) -> Unmask {
    match usecs.load(Relaxed) {
        0 => Unmask::Now,
        usecs if found => Unmask::After(Delta::from_micros(usecs.into())),
        _ => Unmask::AsBefore,
    }
}

/// Starts the timer of a direction.
pub(super) fn start(dev: &Device<'_, Ravb>, queue: usize, direction: Direction, delay: Delta) {
    if let Some(timer) = dev.timer(timer(queue, direction)) {
        timer.start(delay);
    }
}

/// See [`crate::net::Operations::timer`].
pub(super) fn expired(dev: &Device<'_, Ravb>, index: usize) {
    let data = dev.data();
    let data = data.get_ref();
    let direction = if index % 2 == 0 {
        Direction::Rx
    } else {
        Direction::Tx
    };

    data.irq.expire(data, index / 2, direction);
}

/// Cancels all timers, when none can be started. Process context.
pub(super) fn cancel(dev: &Device<'_, Ravb>) {
    for index in 0..TIMERS {
        if let Some(timer) = dev.timer(index) {
            timer.cancel();
        }
    }
}

/// Returns the settings of the queues that a command is about: one, or all.
fn chosen<'a>(data: &'a Private<'_>, queue: Option<u32>) -> Result<&'a [Delays]> {
    let all = data.delays.get(..data.info.queues).ok_or(EINVAL)?;

    match queue {
        Some(queue) => {
            let queue = usize::try_from(queue)?;

            all.get(queue..=queue).ok_or(EINVAL)
        }
        None => Ok(all),
    }
}

/// See [`crate::net::ethtool::Operations::coalesce`]. Of all queues the first one is shown.
pub(super) fn get(dev: &Device<'_, Ravb>, queue: Option<u32>, _rtnl: &Rtnl) -> Result<Coalesce> {
    let data = dev.data();
    let delays = chosen(data.get_ref(), queue)?.first().ok_or(EINVAL)?;

    Ok(Coalesce {
        rx_usecs: delays.rx.load(Relaxed),
        tx_usecs: delays.tx.load(Relaxed),
        ..Coalesce::default()
    })
}

/// See [`crate::net::ethtool::Operations::set_coalesce`].
pub(super) fn set(
    dev: &Device<'_, Ravb>,
    queue: Option<u32>,
    wanted: Coalesce,
    extack: &ExtAck<'_>,
    _rtnl: &Rtnl,
) -> Result {
    let data = dev.data();
    let chosen = chosen(data.get_ref(), queue)?;
    let possible = |usecs| usecs == 0 || (MIN_USECS..=MAX_USECS).contains(&usecs);

    if !possible(wanted.rx_usecs) {
        return Err(extack.fail(EINVAL, c"rx-usecs can be 0 (off) or 20 to 10000"));
    }
    if !possible(wanted.tx_usecs) {
        return Err(extack.fail(EINVAL, c"tx-usecs can be 0 (off) or 20 to 10000"));
    }
    for delays in chosen {
        delays.rx.store(wanted.rx_usecs, Relaxed);
        delays.tx.store(wanted.tx_usecs, Relaxed);
    }
    Ok(())
}

/// Sets what is good for the chip's systems. Users can change all of it at run time.
pub(super) fn set_defaults(setup: &mut Setup<'_, Ravb>, info: &HwInfo) -> Result {
    if info.policy.coalesce_irqs {
        setup.sw_irq_coalesce_default_on()?;
        // With one CPU a flood of packets keeps it in softirq context: the thread that is to take
        // the packets would not run. As a thread itself NAPI takes turns with it.
        if num_present_cpus() == 1 {
            setup.threaded_default_on();
        }
    }
    Ok(())
}
