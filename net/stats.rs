// SPDX-License-Identifier: GPL-2.0

//! Statistics.
//!
//! C headers: [`include/linux/u64_stats_sync.h`](srctree/include/linux/u64_stats_sync.h),
//! [`include/net/netdev_queues.h`](srctree/include/net/netdev_queues.h)

#[cfg(CONFIG_64BIT)]
use core::cell::UnsafeCell;
use core::{
    marker::PhantomData,
    ops::{
        Deref,
        DerefMut, //
    }, //
};

use kernel::prelude::*;

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    },
    rtnl::Rtnl, //
};

/// A 64-bit counter with one writer at a time, which anybody may read.
///
/// The writer's context (a poll, a TX queue, the holder of a lock) is the driver's to arrange: two
/// at once lose counts, but nothing worse. A reader never sees half of an update, on any
/// architecture, and needs no retry loop; `u64_stats_sync` gives the same for a group of counters
/// with a sequence count where 64-bit accesses are not atomic.
#[cfg(not(CONFIG_64BIT))]
pub struct Counter(kernel::sync::atomic::Atomic<u64>);

#[cfg(not(CONFIG_64BIT))]
impl Counter {
    /// A counter at zero.
    pub const fn new() -> Self {
        Self(kernel::sync::atomic::Atomic::new(0))
    }

    /// Reads the counter.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.load(kernel::sync::atomic::Relaxed)
    }

    #[inline(always)]
    fn set(&self, value: u64) {
        self.0.store(value, kernel::sync::atomic::Relaxed);
    }
}

/// A 64-bit counter with one writer at a time, which anybody may read.
///
/// See the 32-bit version of it. Here aligned 64-bit accesses are atomic by themselves.
#[cfg(CONFIG_64BIT)]
pub struct Counter(UnsafeCell<u64>);

#[cfg(CONFIG_64BIT)]
// SAFETY: All accesses are single copy atomic: aligned, volatile, and no larger than a register
// (`READ_ONCE()`, `WRITE_ONCE()`).
unsafe impl Sync for Counter {}

#[cfg(CONFIG_64BIT)]
impl Counter {
    /// A counter at zero.
    pub const fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    /// Reads the counter.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        // SAFETY: Valid and aligned; see above for races.
        unsafe { self.0.get().read_volatile() }
    }

    #[inline(always)]
    fn set(&self, value: u64) {
        // SAFETY: Valid and aligned; see above for races.
        unsafe { self.0.get().write_volatile(value) };
    }
}

impl Counter {
    /// Adds to the counter; wraps.
    #[inline(always)]
    pub fn add(&self, value: u64) {
        self.set(self.get().wrapping_add(value));
    }

    /// Adds one.
    #[inline(always)]
    pub fn inc(&self) {
        self.add(1);
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

/// What `ndo_get_stats64` fills in: dereference it for the fields of `struct rtnl_link_stats64`.
#[repr(transparent)]
pub struct LinkStats64(bindings::rtnl_link_stats64);

impl Deref for LinkStats64 {
    type Target = bindings::rtnl_link_stats64;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for LinkStats64 {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// Statistics of an RX queue, since the device exists: dereference it for the fields of
/// `struct netdev_queue_stats_rx`. What is not set is not reported.
#[repr(transparent)]
pub struct RxQueueStats(bindings::netdev_queue_stats_rx);

impl Deref for RxQueueStats {
    type Target = bindings::netdev_queue_stats_rx;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for RxQueueStats {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// Statistics of a TX queue, see [`RxQueueStats`].
#[repr(transparent)]
pub struct TxQueueStats(bindings::netdev_queue_stats_tx);

impl Deref for TxQueueStats {
    type Target = bindings::netdev_queue_stats_tx;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for TxQueueStats {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// Per-queue statistics for netdev-genl. Process context under the RTNL.
pub trait QueueStats: Operations {
    /// Statistics of an RX queue.
    fn rx(dev: &Device<'_, Self>, queue: usize, stats: &mut RxQueueStats, rtnl: &Rtnl);

    /// Statistics of a TX queue.
    fn tx(dev: &Device<'_, Self>, queue: usize, stats: &mut TxQueueStats, rtnl: &Rtnl);

    /// What belongs to no queue that exists now. The fields that the queues report must be set, to
    /// zero if nothing else.
    fn base(dev: &Device<'_, Self>, rx: &mut RxQueueStats, tx: &mut TxQueueStats, rtnl: &Rtnl);
}

/// Returns the operations table for devices of type `T`.
pub(super) fn table<T: QueueStats>() -> &'static bindings::netdev_stat_ops {
    &Table::<T>::OPS
}

struct Table<T: QueueStats>(PhantomData<T>);

impl<T: QueueStats> Table<T> {
    const OPS: bindings::netdev_stat_ops = bindings::netdev_stat_ops {
        get_queue_stats_rx: Some(Self::rx),
        get_queue_stats_tx: Some(Self::tx),
        get_base_stats: Some(Self::base),
    };

    // The stack calls these for registered devices of type `T`, with the RTNL held since the
    // devices are not "ops locked", and with structures that are its own.

    extern "C" fn rx(
        ndev: *mut bindings::net_device,
        queue: c_int,
        stats: *mut bindings::netdev_queue_stats_rx,
    ) {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::from_raw(ndev), Rtnl::assume_held()) };
        // SAFETY: See above; transparent wrapper.
        let stats = unsafe { &mut *stats.cast() };

        if let Ok(queue) = usize::try_from(queue) {
            T::rx(dev, queue, stats, rtnl);
        }
    }

    extern "C" fn tx(
        ndev: *mut bindings::net_device,
        queue: c_int,
        stats: *mut bindings::netdev_queue_stats_tx,
    ) {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::from_raw(ndev), Rtnl::assume_held()) };
        // SAFETY: See above; transparent wrapper.
        let stats = unsafe { &mut *stats.cast() };

        if let Ok(queue) = usize::try_from(queue) {
            T::tx(dev, queue, stats, rtnl);
        }
    }

    extern "C" fn base(
        ndev: *mut bindings::net_device,
        rx: *mut bindings::netdev_queue_stats_rx,
        tx: *mut bindings::netdev_queue_stats_tx,
    ) {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::from_raw(ndev), Rtnl::assume_held()) };
        // SAFETY: See above; transparent wrappers.
        let (rx, tx) = unsafe { (&mut *rx.cast(), &mut *tx.cast()) };

        T::base(dev, rx, tx, rtnl);
    }
}
