// SPDX-License-Identifier: GPL-2.0

//! TX queues.
//!
//! C headers: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h),
//! [`include/net/netdev_queues.h`](srctree/include/net/netdev_queues.h)

use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    ops::{
        Deref,
        DerefMut, //
    },
    ptr::NonNull, //
};

use kernel::{
    prelude::*,
    types::NotThreadSafe, //
};

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    },
    skb::{
        DropReason,
        Skb, //
    }, //
};

/// One TX queue of a device.
///
/// # Invariants
///
/// `txq` is the queue of this number of the device that owns the slot.
pub(super) struct Slot<T: Operations> {
    txq: NonNull<bindings::netdev_queue>,
    index: u32,
    /// Protected by the xmit lock of `txq`.
    state: UnsafeCell<T::TxState<'static>>,
}

/// Makes the slots of a device.
///
/// # Safety
///
/// `ndev` must have been allocated with `count` TX queues, and must outlive the slots.
pub(super) unsafe fn slots<T: Operations>(
    ndev: NonNull<bindings::net_device>,
    count: u32,
) -> Result<KVec<Slot<T>>> {
    let mut slots = KVec::with_capacity(count as usize, GFP_KERNEL)?;

    for index in 0..count {
        // SAFETY: `ndev` is valid and has more than `index` queues. They are allocated with it.
        let txq = unsafe { bindings::rnet_txq(ndev.as_ptr(), index) };
        let slot = Slot {
            txq: NonNull::new(txq).ok_or(EINVAL)?,
            index,
            state: UnsafeCell::new(Default::default()),
        };

        slots.push(slot, GFP_KERNEL)?;
    }
    Ok(slots)
}

/// `ndo_start_xmit` of devices of type `T`.
///
/// To be called by the stack only, with the xmit lock of the packet's queue held.
#[inline(always)]
pub(super) fn start_xmit<T: Operations>(dev: &Device<'_, T>, skb: Skb) -> bindings::netdev_tx_t {
    let Some(slot) = dev.private().tx.get(usize::from(skb.queue_mapping())) else {
        skb.drop_reason(DropReason::NotSpecified);
        return bindings::netdev_tx_NETDEV_TX_OK;
    };
    let queue = TxQueue {
        queue: TxQueueRef::new(dev, slot),
        // SAFETY: The stack calls `ndo_start_xmit` with the xmit lock of the queue that the packet
        // is mapped to, because no device here sets `lltx`. The lock protects the state.
        state: unsafe { &mut *slot.state.get().cast() },
    };

    match T::start_xmit(dev, skb, queue) {
        Xmit::Ok => bindings::netdev_tx_NETDEV_TX_OK,
        Xmit::Busy(skb) => {
            // The skb stays the stack's.
            let _ = skb.into_raw();
            bindings::netdev_tx_NETDEV_TX_BUSY
        }
    }
}

/// What became of a packet.
#[must_use]
pub enum Xmit {
    /// It was sent or dropped.
    Ok,

    /// There is no room: the stack keeps it. Only for races that [`Sender::sent`] cannot
    /// close, and with the queue stopped.
    Busy(Skb),
}

impl Xmit {
    /// Drops the packet.
    #[inline]
    pub fn dropped(skb: Skb, reason: DropReason) -> Xmit {
        skb.drop_reason(reason);
        Xmit::Ok
    }
}

/// The queue of a packet, in [`Operations::start_xmit`].
pub struct TxQueue<'a, 'b, T: Operations> {
    queue: TxQueueRef<'a, 'b, T>,
    state: &'a mut T::TxState<'b>,
}

impl<'a, 'b, T: Operations> TxQueue<'a, 'b, T> {
    /// Returns the state of the queue, and the queue.
    #[inline(always)]
    pub fn split(self) -> (&'a mut T::TxState<'b>, Sender<'a, 'b, T>) {
        (self.state, Sender(self.queue))
    }
}

/// A TX queue whose xmit lock is held, in `start_xmit`: what was put in its ring can be reported.
pub struct Sender<'a, 'b, T: Operations>(TxQueueRef<'a, 'b, T>);

impl<'a, 'b, T: Operations> Deref for Sender<'a, 'b, T> {
    type Target = TxQueueRef<'a, 'b, T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T: Operations> Sender<'_, '_, T> {
    /// A packet was put in the ring, in `start_xmit`: stops the queue if the next one might not
    /// fit, reports to BQL, and returns whether the device must be told now (`xmit_more`).
    ///
    /// `free` counts the free descriptors; it must see what the poll function has released. This
    /// is `netif_txq_maybe_stop()` followed by `__netdev_tx_sent_queue()`. Packets that were
    /// dropped must not be reported.
    #[inline]
    pub fn sent(&self, bytes: u32, limits: Thresholds, free: impl Fn() -> u32) -> bool {
        self.stop_if_full(limits, free);
        // SAFETY: The queue lives as long as the device; its xmit lock is held.
        unsafe { bindings::rnet_txq_sent(self.as_raw(), bytes) }
    }
}

/// A TX queue.
pub struct TxQueueRef<'a, 'b, T: Operations> {
    slot: &'a Slot<T>,
    _dev: PhantomData<&'a Device<'b, T>>,
}

/// With how many free descriptors a queue is stopped and started again.
#[derive(Copy, Clone, Debug)]
pub struct Thresholds {
    /// Stop with less than this; what the largest packet needs.
    pub stop: u32,
    /// Start with this or more.
    pub start: u32,
}

impl<'a, 'b, T: Operations> TxQueueRef<'a, 'b, T> {
    #[inline(always)]
    pub(super) fn new(_dev: &'a Device<'b, T>, slot: &'a Slot<T>) -> Self {
        Self {
            slot,
            _dev: PhantomData,
        }
    }

    #[inline(always)]
    fn as_raw(&self) -> *mut bindings::netdev_queue {
        self.slot.txq.as_ptr()
    }

    /// Returns the number of the queue.
    #[inline(always)]
    pub fn index(&self) -> u32 {
        self.slot.index
    }

    /// Starts the queue. Any context.
    #[inline]
    pub fn start(&self) {
        // SAFETY: The queue lives as long as the device.
        unsafe { bindings::rnet_txq_start(self.as_raw()) };
    }

    /// Starts the queue, and sends what waits for it. Any context.
    #[inline]
    pub fn wake(&self) {
        // SAFETY: The queue lives as long as the device.
        unsafe { bindings::netif_tx_wake_queue(self.as_raw()) };
    }

    /// Stops the queue. Any context. A packet may be on its way: see [`lock`](TxQueueRef::lock).
    #[inline]
    pub fn stop(&self) {
        // SAFETY: The queue lives as long as the device.
        unsafe { bindings::rnet_txq_stop(self.as_raw()) };
    }

    /// Returns whether the queue is stopped by the driver.
    #[inline]
    pub fn stopped(&self) -> bool {
        // SAFETY: The queue lives as long as the device.
        unsafe { bindings::rnet_txq_stopped(self.as_raw()) }
    }

    /// Stops the queue if the next packet might not fit. With the xmit lock held, by whoever has
    /// put something in the ring: XDP, or [`Sender::sent`].
    #[inline]
    pub fn stop_if_full(&self, limits: Thresholds, free: impl Fn() -> u32) {
        if free() < limits.stop {
            // SAFETY: The queue lives as long as the device.
            unsafe { bindings::rnet_txq_stop_mb(self.as_raw()) };
            // The poll function may have released descriptors before it could see the queue
            // stopped: look again, after the barrier.
            if free() >= limits.start {
                self.start();
            }
        }
    }

    /// Packets were sent: reports to BQL, and wakes the queue if it is stopped and has room again.
    /// Call once for all packets that were found sent, after their descriptors were released to
    /// `start_xmit`. Bottom halves are off. What BQL was not told of when it was sent (XDP) does
    /// not count, but it has made room as well.
    ///
    /// Calls for a queue must not overlap: BQL has no lock. They come from one NAPI instance, or
    /// are made under a lock. `open` tells whether the queue may be woken at all: it may not while
    /// it is being closed, and need not from within `start_xmit`.
    ///
    /// This is `__netif_txq_completed_wake()`.
    #[inline]
    pub fn completed(
        &self,
        packets: u32,
        bytes: u32,
        limits: Thresholds,
        open: bool,
        free: impl Fn() -> u32,
    ) {
        // SAFETY: The queue lives as long as the device.
        let stopped = unsafe { bindings::rnet_txq_completed(self.as_raw(), packets, bytes) };

        if stopped && open && free() >= limits.start {
            self.wake();
        }
    }

    /// Forgets what BQL knows of packets in flight: exactly where a ring is purged, with nothing
    /// sending or completing.
    pub fn reset_bql(&self) {
        // SAFETY: The queue lives as long as the device.
        unsafe { bindings::rnet_txq_reset(self.as_raw()) };
    }

    /// Tells the watchdog that the queue makes progress, when something else than `start_xmit`
    /// (XDP) uses it.
    #[inline]
    pub fn trans_update(&self) {
        // SAFETY: The queue lives as long as the device.
        unsafe { bindings::rnet_txq_trans_update(self.as_raw()) };
    }

    /// Takes the xmit lock, which gives access to the queue's state. Bottom halves are off while
    /// it is held. Process or softirq context; not in `start_xmit` or `tx_timeout`.
    pub fn lock(&self) -> TxGuard<'a, 'b, T> {
        // SAFETY: The queue lives as long as the device.
        unsafe { bindings::rnet_txq_lock_bh(self.as_raw()) };

        // INVARIANT: Just locked.
        TxGuard {
            slot: self.slot,
            _bound: PhantomData,
            _not_send: NotThreadSafe,
        }
    }
}

/// Owner of a TX queue's xmit lock; gives access to the queue's state.
///
/// What is freed while it exists is freed with bottom halves off. Coherent DMA memory must not be:
/// take it out of the state and drop it later.
///
/// # Invariants
///
/// The lock is held by this CPU.
pub struct TxGuard<'a, 'b, T: Operations> {
    slot: &'a Slot<T>,
    _bound: PhantomData<T::TxState<'b>>,
    _not_send: NotThreadSafe,
}

impl<'b, T: Operations> Deref for TxGuard<'_, 'b, T> {
    type Target = T::TxState<'b>;

    fn deref(&self) -> &Self::Target {
        // SAFETY: By the type invariant the lock that protects the state is held.
        unsafe { &*self.slot.state.get().cast() }
    }
}

impl<T: Operations> DerefMut for TxGuard<'_, '_, T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: By the type invariant the lock that protects the state is held.
        unsafe { &mut *self.slot.state.get().cast() }
    }
}

impl<T: Operations> Drop for TxGuard<'_, '_, T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the lock is held.
        unsafe { bindings::rnet_txq_unlock_bh(self.slot.txq.as_ptr()) };
    }
}
