// SPDX-License-Identifier: GPL-2.0

//! Recovery from a transmit queue that is stuck.

use kernel::{
    io::Io,
    prelude::*,
    sync::atomic::Relaxed, //
};

use super::{
    driver::Ravb,
    queue,
    regs::{
        ISS,
        TCCR, //
    }, //
};
use crate::net::{
    rtnl,
    Device, //
};

/// The place of the work in `Operations::WORK`.
const WORK: usize = 0;

/// How long to wait for the RTNL, in milliseconds, before looking again whether it is free.
const RTNL_RETRY_MS: u32 = 2;

/// See [`crate::net::Operations::tx_timeout`].
pub(super) fn tx_timeout(dev: &Device<'_, Ravb>, queue: u32) {
    let data = dev.data();

    if let Some(stats) = data.get_ref().queue_stats(queue as usize) {
        stats.tx_timeouts.inc();
    }
    if let Some(stuck) = data.stuck.get(queue as usize) {
        stuck.store(true, Relaxed);
    }
    if let Some(work) = dev.work(WORK) {
        work.schedule();
    }
}

/// Restarts queues that are stuck, each alone. If the DMAC does not even react to that, makes
/// everything new: rings, registers.
///
/// Whoever holds the RTNL may be waiting for this function to end (`cancel`), so it does not wait.
pub(super) fn work(dev: &Device<'_, Ravb>) {
    let Some(rtnl) = rtnl::try_lock() else {
        if let Some(work) = dev.work(WORK) {
            work.schedule_after(RTNL_RETRY_MS);
        }
        return;
    };
    let data = dev.data();

    if !data.is_up(&rtnl) {
        return;
    }
    for (queue, stuck) in data.stuck.iter().enumerate() {
        if !stuck.xchg(false, Relaxed) {
            continue;
        }
        dev_err!(
            dev,
            "{}: transmit timed out in queue {queue} ({:?}, {:?})\n",
            dev.name(),
            data.io.read(TCCR),
            data.io.read(ISS)
        );
        if queue::restart_tx(dev, queue, &rtnl).is_err() {
            dev_err!(dev, "{}: starting all queues anew\n", dev.name());

            let hold = dev.hold_napi();

            queue::quiesce(dev, &hold, &rtnl);
            // If this fails the queues stay stopped, and the watchdog calls again.
            let _ = queue::resume(dev, &hold, dev.features(), &rtnl);
            return;
        }
    }
}

/// Sees to it that the work is not done. The RTNL may be held.
pub(super) fn cancel(dev: &Device<'_, Ravb>) {
    if let Some(work) = dev.work(WORK) {
        work.cancel_sync();
    }
    for stuck in &dev.data().stuck {
        stuck.store(false, Relaxed);
    }
}
