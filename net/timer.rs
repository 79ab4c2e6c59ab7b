// SPDX-License-Identifier: GPL-2.0

//! Timers of a network device.
//!
//! The kernel crate's timers are cancelled by dropping the handle that starting them has returned,
//! and there is a new one with each start. A timer that is started by polls, at the rate of
//! interrupts, has no good place for handles. These timers belong to the device, which cancels them
//! when it is taken down: [`Operations::TIMERS`] says how many there are,
//! [`Operations::timer`] is called when one expires, [`Device::timer`] gives a handle.
//!
//! C header: [`include/linux/hrtimer.h`](srctree/include/linux/hrtimer.h)

use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    pin::Pin, //
};

use kernel::{
    impl_has_hr_timer,
    prelude::*,
    sync::atomic::{
        AtomicFlag,
        Full,
        Relaxed, //
    },
    time::{
        hrtimer::{
            HasHrTimer,
            HrTimer,
            HrTimerCallback,
            HrTimerCallbackContext,
            HrTimerRestart,
            RelativePinnedMode, //
        },
        Delta,
        Monotonic, //
    }, //
};

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    }, //
};

/// # Invariants
///
/// After `bind_all`, `ndev` is the device that owns the timer.
#[pin_data]
pub(super) struct Slot<T: Operations> {
    #[pin]
    timer: HrTimer<Self>,
    ndev: UnsafeCell<*mut bindings::net_device>,
    /// Whether the timer cannot be started any more.
    closed: AtomicFlag,
    index: usize,
    _driver: PhantomData<T>,
}

// SAFETY: Timers may be used from any thread. `ndev` is written once, before anything can be
// started.
unsafe impl<T: Operations> Send for Slot<T> {}
// SAFETY: As above.
unsafe impl<T: Operations> Sync for Slot<T> {}

impl_has_hr_timer! {
    impl{T: Operations} HasHrTimer<Self> for Slot<T> {
        mode: RelativePinnedMode<Monotonic>, field: self.timer
    }
}

impl<T: Operations> HrTimerCallback for Slot<T> {
    type Pointer<'a> = Pin<&'a Self>;

    fn run(this: Pin<&Self>, _cx: HrTimerCallbackContext<'_, Self>) -> HrTimerRestart {
        // SAFETY: By the type invariant. The device cancels its timers before its data is dropped,
        // and before its parent is unbound.
        let dev = unsafe { Device::from_raw(*this.ndev.get()) };

        T::timer(dev, this.index);
        HrTimerRestart::NoRestart
    }
}

/// Allocates the timers of a device that is about to be allocated.
pub(super) fn slots<T: Operations>() -> Result<KVec<Pin<KBox<Slot<T>>>>> {
    let mut slots = KVec::with_capacity(T::TIMERS, GFP_KERNEL)?;

    for index in 0..T::TIMERS {
        let slot = KBox::pin_init(
            pin_init!(Slot {
                timer <- HrTimer::new(),
                ndev: UnsafeCell::new(core::ptr::null_mut()),
                closed: AtomicFlag::new(false),
                index,
                _driver: PhantomData,
            }),
            GFP_KERNEL,
        )?;

        slots.push(slot, GFP_KERNEL)?;
    }
    Ok(slots)
}

/// Connects the timers with their device, which is complete but not used yet.
pub(super) fn bind_all<T: Operations>(dev: &Device<'_, T>) {
    for slot in &dev.private().timers {
        // SAFETY: Nobody else has the device yet.
        unsafe { *slot.ndev.get() = dev.as_raw() };
    }
}

/// Cancels the timers of a device that is being taken down, for good, and waits for their
/// functions.
///
/// What can start a timer without a look at `closed`, that is what has looked before this was
/// called, must have ended; the functions of timers may still be running.
pub(super) fn close_all<T: Operations>(dev: &Device<'_, T>) {
    for slot in &dev.private().timers {
        // Seen by everything that begins after this.
        slot.closed.xchg(true, Full);
    }
    // The functions may start timers, of which some may be cancelled already, and may have looked
    // at `closed` before. After the first round no such function is running. What they have started
    // is cancelled in the second, and starts nothing.
    for _ in 0..2 {
        for slot in &dev.private().timers {
            Timer(slot).cancel();
        }
    }
}

/// A timer.
pub struct Timer<'a, T: Operations>(&'a Slot<T>);

impl<'a, T: Operations> Timer<'a, T> {
    #[inline(always)]
    pub(super) fn new(slot: &'a Slot<T>) -> Self {
        Self(slot)
    }

    /// Calls [`Operations::timer`] after `delay`, on this CPU. Any context. If the timer is
    /// running it is set anew; its function may already have been called, or be about to be, for
    /// the earlier time.
    #[inline]
    pub fn start(&self, delay: Delta) {
        if self.0.closed.load(Relaxed) {
            return;
        }
        // SAFETY: The slot is valid, and lives until the timer is cancelled: by `close_all`, when
        // nothing can start it any more.
        unsafe { HasHrTimer::start(&raw const *self.0, delay) };
    }

    /// Stops the timer, and waits for its function if that is running. Any context but hardirq;
    /// without locks that the function takes.
    pub fn cancel(&self) {
        // SAFETY: The slot is valid.
        let timer = unsafe { HasHrTimer::c_timer_ptr(self.0) };

        // SAFETY: The timer was initialised with its slot.
        unsafe { bindings::hrtimer_cancel(timer.cast_mut()) };
    }
}
