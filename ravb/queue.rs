// SPDX-License-Identifier: GPL-2.0

//! The life of the queues.
//!
//! ```text
//!              install            resume
//!     empty  ----------->  quiet ---------->  running
//!            <-----------        <----------
//!              remove             quiesce
//! ```
//!
//! *Empty*: there are no rings. *Quiet*: there are, and nobody touches them: interrupts are masked
//! and their handlers done, NAPI is disabled, the stack sends nothing, the DMAC is stopped. This is
//! where rings can be replaced and everything in the chip be changed. *Running*: packets move.
//!
//! There is one way into each state. Close, a change of the ring sizes, of the checksum offload,
//! recovery and suspend all go through [`quiesce`], and come back, if they do, through [`resume`],
//! which programs the chip from scratch and makes the rings as new. So there is nothing that one of
//! them could forget.

use kernel::{
    prelude::*,
    sync::Arc, //
};

use super::{
    coalesce::{
        self,
        Found, //
    },
    dmac,
    driver::Ravb,
    emac,
    hw_info::{
        RingSizes,
        MAX_QUEUES, //
    },
    ring::Rings,
    rx::RxRing,
    stats::TxCounts,
    tx, //
};
use crate::net::{
    napi::{
        self,
        Napi, //
    },
    xdp::Program,
    Device,
    Features,
    Rtnl, //
};

/// Whoever has it may disable NAPI: for the whole way from one state to another, or back.
pub(super) type Hold<'a, 'b> = napi::Hold<'a, 'b, Ravb>;

/// The state of a queue that belongs to its NAPI instance.
#[derive(Default)]
pub(crate) struct NapiState<'b> {
    pub(super) rx: Option<RxRing<'b>>,
    pub(super) tx: Option<Arc<tx::TxRing<'b>>>,
    pub(super) found: Found,
}

/// The rings of all queues, not yet or no longer in use.
pub(super) type AllRings<'b> = [Option<Rings<'b>>; MAX_QUEUES];

/// Allocates rings for all queues, which may be running with others. `program` is the XDP program
/// that is to see the frames.
pub(super) fn allocate<'b>(
    dev: &Device<'b, Ravb>,
    sizes: &[RingSizes; MAX_QUEUES],
    program: Option<&Program>,
    _rtnl: &Rtnl,
) -> Result<AllRings<'b>> {
    let mut rings: AllRings<'b> = Default::default();

    for (queue, (rings, sizes)) in rings
        .iter_mut()
        .zip(sizes)
        .take(dev.data().info.queues)
        .enumerate()
    {
        *rings = Some(Rings::new(dev, queue, *sizes, program)?);
    }
    Ok(rings)
}

/// Replaces the rings of all queues, which must not be running, by others or none. Old ones are
/// freed.
pub(super) fn install<'b>(
    dev: &Device<'b, Ravb>,
    hold: &Hold<'_, 'b>,
    mut rings: AllRings<'b>,
    _rtnl: &Rtnl,
) -> Result {
    let data = dev.data();

    for (queue, rings) in rings.iter_mut().take(data.info.queues).enumerate() {
        let napi = dev.napi(queue).ok_or(EINVAL)?;
        let txq = dev.tx_queue(queue).ok_or(EINVAL)?;
        let mut guard = napi.lock(hold)?;
        let mut rings = rings.take();

        if let Some(rings) = &mut rings {
            rings.rx.adopt(&guard);
        }
        let state = guard.state();

        data.base_table
            .set(queue, rings.as_ref().map(Rings::addresses))?;

        let (rx, sender, tx) = match rings {
            Some(rings) => (Some(rings.rx), Some(rings.sender), Some(rings.tx)),
            None => (None, None, None),
        };

        purge(dev, queue, state);

        // What is replaced is dropped here, not under the xmit lock: it has DMA memory.
        let old = core::mem::replace(&mut txq.lock().sender, sender);

        drop(old);
        state.rx = rx;
        state.tx = tx;
    }
    Ok(())
}

/// Replaces the rings of running queues. If this fails the old ones go on.
///
/// A device that cannot be started again is not an error: the rings are what was asked for, it has
/// been said ([`resume`]), and the watchdog tries once more.
pub(super) fn exchange<'b>(dev: &Device<'b, Ravb>, rings: AllRings<'b>, rtnl: &Rtnl) -> Result {
    let hold = dev.hold_napi();

    quiesce(dev, &hold, rtnl);
    let result = install(dev, &hold, rings, rtnl);
    let _ = resume(dev, &hold, dev.features(), rtnl);

    result
}

/// Replaces the XDP program of rings that have one, by another or none. They go on: what arrives
/// meanwhile waits.
pub(super) fn replace_program(
    dev: &Device<'_, Ravb>,
    program: Option<&Program>,
    _rtnl: &Rtnl,
) -> Result {
    let hold = dev.hold_napi();

    for queue in 0..dev.data().info.queues {
        let napi = dev.napi(queue).ok_or(EINVAL)?;
        let running = napi.is_enabled();

        napi.disable(&hold);

        let replaced = napi.lock(&hold).map(|mut guard| {
            if let Some(rx) = &mut guard.state().rx {
                rx.replace_program(program);
            }
        });

        // Whether that worked or not.
        if running {
            napi.enable(&hold);
            // An interrupt that came meanwhile has masked itself, for a poll that could not be.
            napi.schedule();
        }
        replaced?;
    }
    Ok(())
}

/// Frees the rings of all queues, which must not be running.
pub(super) fn remove<'b>(dev: &Device<'b, Ravb>, hold: &Hold<'_, 'b>, rtnl: &Rtnl) {
    disable(dev, hold, rtnl);
    if install(dev, hold, Default::default(), rtnl).is_err() {
        dev_err!(dev, "rings are still in use\n");
    }
}

/// Disables NAPI of all queues. What is not started is parked when `hold` is dropped.
pub(super) fn disable<'b>(dev: &Device<'b, Ravb>, hold: &Hold<'_, 'b>, _rtnl: &Rtnl) {
    for_each_napi(dev, |napi| napi.disable(hold));
}

fn for_each_napi<'b>(dev: &Device<'b, Ravb>, f: impl Fn(Napi<'_, 'b, Ravb>)) {
    (0..dev.data().info.queues)
        .filter_map(|queue| dev.napi(queue))
        .for_each(f);
}

/// Takes what is in flight out of the transmit ring of a queue that is not running.
fn purge(dev: &Device<'_, Ravb>, queue: usize, state: &mut NapiState<'_>) {
    let mut counts = TxCounts::default();

    if let Some(tx) = &state.tx {
        tx.purge(&mut counts);
    }
    if let Some(stats) = dev.data().get_ref().queue_stats(queue) {
        stats.add_tx(&counts);
    }
    if let Some(txq) = dev.tx_queue(queue) {
        txq.reset_bql();
    }
}

/// Brings running queues to rest. Process context.
pub(super) fn quiesce<'b>(dev: &Device<'b, Ravb>, hold: &Hold<'_, 'b>, rtnl: &Rtnl) {
    freeze(dev, hold, rtnl);
    dmac::stop(dev);
}

/// The first half of [`quiesce`]: the DMAC goes on, and nobody looks.
pub(super) fn freeze<'b>(dev: &Device<'b, Ravb>, hold: &Hold<'_, 'b>, _rtnl: &Rtnl) {
    let data = dev.data();
    let data = data.get_ref();

    // From here on nothing is unmasked any more.
    data.irq.close(data);
    emac::mask(data);
    dev.irqs().synchronize();

    for_each_napi(dev, |napi| {
        napi.disable(hold);
        napi.cancel_timer();
    });
    coalesce::cancel(dev);
    // A poll could have woken the queues until here.
    dev.tx_disable();
    open_for_frames(dev, false);
}

/// Lets XDP put frames into the transmit rings, or not.
fn open_for_frames(dev: &Device<'_, Ravb>, open: bool) {
    for queue in 0..dev.data().info.queues {
        if let Some(txq) = dev.tx_queue(queue) {
            txq.lock().open = open;
        }
    }
}

/// Empties the transmit ring of a queue that is stuck, and starts it again. Everything else goes
/// on: other queues, receiving, the clock. Process context.
///
/// This fails if the DMAC does not let go of the ring, or the queue is not running (a device that
/// could not be started). The queue is left stopped then.
pub(super) fn restart_tx(dev: &Device<'_, Ravb>, queue: usize, _rtnl: &Rtnl) -> Result {
    let data = dev.data();
    let txq = dev.tx_queue(queue).ok_or(EINVAL)?;
    let mut counts = TxCounts::default();

    txq.stop();
    if !core::mem::take(&mut txq.lock().open) {
        return Err(ENETDOWN);
    }
    // Nothing of the ring may be under way when its packets are unmapped.
    data.base_table.set_tx(queue, None)?;
    dmac::reload_tx(dev, queue)?;
    {
        let mut tx = txq.lock();
        let sender = tx.sender.as_mut().ok_or(EINVAL)?;

        sender.ring().purge(&mut counts);
        sender.rewind();
        txq.reset_bql();
        // Nothing is in flight, hence nobody else counts.
        if let Some(stats) = data.get_ref().queue_stats(queue) {
            stats.add_tx(&counts);
        }
        data.base_table
            .set_tx(queue, Some(sender.ring().address()))?;
    }
    dmac::reload_tx(dev, queue)?;
    txq.lock().open = true;
    txq.wake();
    Ok(())
}

/// Starts quiet queues, with rings that are as new. Process context.
///
/// If this fails they stay quiet.
pub(super) fn resume<'b>(
    dev: &Device<'b, Ravb>,
    hold: &Hold<'_, 'b>,
    features: Features,
    rtnl: &Rtnl,
) -> Result {
    let data = dev.data();
    let data = data.get_ref();
    let checksums = features.contains(Features::HW_CSUM);

    for queue in 0..data.info.queues {
        let napi = dev.napi(queue).ok_or(EINVAL)?;
        let txq = dev.tx_queue(queue).ok_or(EINVAL)?;
        let mut guard = napi.lock(hold)?;
        let (state, owner) = guard.split();

        purge(dev, queue, state);
        state.found = Found::default();
        if let Some(rx) = &mut state.rx {
            let filled = rx.rewind(&owner);

            if let Some(stats) = data.queue_stats(queue) {
                stats.add_filled(filled);
            }
        }

        let mut tx = txq.lock();

        tx.checksums = checksums;
        if let Some(sender) = &mut tx.sender {
            sender.rewind();
            // `restart_tx` may have given up half way.
            data.base_table
                .set_tx(queue, Some(sender.ring().address()))?;
        }
    }

    dmac::start(dev, dev.mac_address(rtnl), checksums).inspect_err(|e| {
        dev_err!(dev, "{}: cannot be started: {e:?}\n", dev.name());
        dmac::stop(dev);
    })?;

    open_for_frames(dev, true);
    for_each_napi(dev, |napi| napi.enable(hold));
    data.irq.open(data);
    dev.tx_wake_all();
    Ok(())
}
