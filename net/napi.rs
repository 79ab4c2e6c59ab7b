// SPDX-License-Identifier: GPL-2.0

//! NAPI.
//!
//! See Documentation/networking/napi.rst, whose rules the types below enforce.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use core::{
    cell::UnsafeCell,
    marker::PhantomData, //
};

use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        lock::mutex::MutexBackend,
        lock::Guard,
        Arc,
        Mutex, //
    },
    types::{
        NotThreadSafe,
        Opaque, //
    }, //
};

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    },
    skb::Skb,
};

/// The size of a `struct napi_struct`.
const SIZE: usize = bindings::NAPI_STRUCT_SIZE;

/// Memory for a `struct napi_struct`, which the kernel crate knows by name only.
type Storage = [u64; SIZE / size_of::<u64>()];

static_assert!(size_of::<Storage>() == SIZE);
static_assert!(align_of::<Storage>() == bindings::NAPI_STRUCT_ALIGN);
static_assert!(size_of::<bindings::hrtimer>() != 0);

/// A `struct napi_struct`, and a timer that schedules it.
///
/// Reference counted, because page pools keep a pointer to it.
///
/// # Invariants
///
/// From `add_all` to `delete_all`, `napi` is added to `dev`, the device that owns it, and
/// `instance` is the `Slot` that has this `Core`. Both are there for polls, which should not have
/// to look for them.
#[pin_data]
pub(super) struct Core {
    #[pin]
    napi: Opaque<Storage>,
    #[pin]
    timer: Opaque<bindings::hrtimer>,
    index: usize,
    dev: Atomic<*mut bindings::net_device>,
    instance: Atomic<*mut c_void>,
    /// Whether polls are not for the driver. Written only while the instance is disabled.
    parked: Atomic<bool>,
}

// SAFETY: The C functions used on `napi` and `timer` may be called from any thread.
unsafe impl Send for Core {}
// SAFETY: As above.
unsafe impl Sync for Core {}

impl Core {
    pub(super) fn as_raw(&self) -> *mut bindings::napi_struct {
        self.napi.get().cast()
    }
}

/// What may be done with an instance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It is added, and not polled.
    Disabled,
    /// It could be polled, but there is nothing to do.
    Parked,
    /// It is polled when scheduled.
    Enabled,
    /// It is not added any more.
    Deleted,
}

/// One NAPI instance of a device.
#[pin_data]
pub(super) struct Slot<T: Operations> {
    core: Arc<Core>,
    /// What may be done with it. Held while the configuration path has the state.
    #[pin]
    stage: Mutex<Stage>,
    /// Reached through `Poll` if `*stage` is `Enabled`, through `NapiGuard` if it is `Disabled`.
    state: UnsafeCell<T::NapiState<'static>>,
}

impl<T: Operations> Slot<T> {
    pub(super) fn as_raw(&self) -> *mut bindings::napi_struct {
        self.core.as_raw()
    }
}

/// Allocates the NAPI instances of a device that is about to be allocated.
pub(super) fn slots<T: Operations>(count: u32) -> Result<KVec<Pin<KBox<Slot<T>>>>> {
    let mut slots = KVec::with_capacity(count as usize, GFP_KERNEL)?;

    for index in 0..count as usize {
        let core = Arc::pin_init(
            pin_init!(Core {
                napi: Opaque::zeroed(),
                timer: Opaque::zeroed(),
                index,
                dev: Atomic::new(core::ptr::null_mut()),
                instance: Atomic::new(core::ptr::null_mut()),
                parked: Atomic::new(false),
            }),
            GFP_KERNEL,
        )?;
        let slot = KBox::pin_init(
            pin_init!(Slot {
                core,
                stage <- new_mutex!(Stage::Disabled),
                state: UnsafeCell::new(Default::default()),
            }),
            GFP_KERNEL,
        )?;

        slots.push(slot, GFP_KERNEL)?;
    }
    Ok(slots)
}

/// Adds the NAPI instances to their device, which is complete but not registered, and parks them.
pub(super) fn add_all<T: Operations>(dev: &Device<'_, T>) {
    for slot in &dev.private().napi {
        let core = &slot.core;

        core.dev.store(dev.as_raw(), Relaxed);
        core.instance
            .store(core::ptr::from_ref(&**slot).cast_mut().cast(), Relaxed);
        // INVARIANT: Both were just stored.
        //
        // SAFETY: `napi` is zeroed and belongs to `dev`, is not moved, and is deleted before it
        // is freed. `poll::<T>` is right for devices of this `T`. The index is below the queue
        // counts (checked by `device::alloc`), hence below `num_napi_configs`.
        unsafe {
            bindings::rnet_napi_add(
                dev.as_raw(),
                core.as_raw(),
                Some(poll::<T>),
                core.index as c_int,
            )
        };
        // SAFETY: `timer` is not in use yet, is not moved, and is cancelled by `delete_all`.
        unsafe { bindings::rnet_napi_timer_init(core.timer.get(), Some(expired)) };
    }
    // Parks them.
    drop(Hold::new(dev));
}

/// Removes the NAPI instances from their device.
///
/// Code of the driver may still run, with references to them: it cannot enable them any more, and
/// scheduling them does nothing. But it can start their timers (see [`cancel_timers`]).
pub(super) fn delete_all<T: Operations>(dev: &Device<'_, T>) {
    let hold = Hold::new(dev);

    for slot in &dev.private().napi {
        Napi::new(dev, slot).disable(&hold);

        // SAFETY: The timer was initialised by `add_all`.
        unsafe { bindings::hrtimer_cancel(slot.core.timer.get()) };
        let mut stage = slot.stage.lock();

        if *stage == Stage::Disabled {
            // SAFETY: `napi` was added by `add_all`, and is disabled; the device is held.
            unsafe { bindings::rnet_napi_del_locked(slot.as_raw()) };
            *stage = Stage::Deleted;
        }
    }
}

/// Cancels the timers of all NAPI instances, when nothing can start them any more.
pub(super) fn cancel_timers<T: Operations>(dev: &Device<'_, T>) {
    for slot in &dev.private().napi {
        Napi::new(dev, slot).cancel_timer();
    }
}

/// The poll function of all NAPI instances of devices of type `T`.
///
/// # Safety
///
/// To be called by the core only, for instances that `add_all` has added.
unsafe extern "C" fn poll<T: Operations>(napi: *mut bindings::napi_struct, budget: c_int) -> c_int {
    // SAFETY: The core passes an instance that `add_all` has added: a field of a `Core`.
    let core =
        unsafe { &*kernel::container_of!(Opaque::cast_from(napi.cast::<Storage>()), Core, napi) };
    // SAFETY: By the type invariant. The device is complete, and the core polls only until
    // `netif_napi_del` returns.
    let dev = unsafe { Device::<'_, T>::from_raw(core.dev.load(Relaxed)) };

    if core.parked.load(Relaxed) {
        if budget > 0 {
            // SAFETY: We are in the poll function of this instance, with a budget.
            unsafe { bindings::napi_complete_done(napi, 0) };
        }
        return 0;
    }
    // SAFETY: By the type invariant; slots live as long as the device, and `add_all` was called
    // for a device of this `T`.
    let slot = unsafe { &*core.instance.load(Relaxed).cast::<Slot<T>>() };

    // SAFETY: The core calls `poll` only while it owns the instance (NAPI_STATE_SCHED, and
    // `poll_owner` if netpoll is in use), which `napi_disable` takes from it, and it is not parked.
    // So this is the only reference to the state until `napi_complete_done`, which consumes it
    // (`Poll::complete`).
    let state = unsafe { &mut *slot.state.get().cast::<T::NapiState<'_>>() };

    T::poll(
        dev,
        Poll {
            context: Context {
                owner: Owner::new(&slot.core, bindings::GFP_ATOMIC | bindings::__GFP_NOWARN),
                budget,
            },
            state,
        },
    )
    .0
}

/// The function of the timers.
///
/// # Safety
///
/// To be called by the timer core only, for timers that `add_all` has initialised.
unsafe extern "C" fn expired(timer: *mut bindings::hrtimer) -> bindings::hrtimer_restart {
    // SAFETY: `timer` is a field of a `Core`, which lives until the timer is cancelled.
    let core = unsafe { &*kernel::container_of!(Opaque::cast_from(timer), Core, timer) };

    schedule(core);
    bindings::hrtimer_restart::HRTIMER_NORESTART
}

fn schedule(core: &Core) -> bool {
    // SAFETY: `napi` is initialised.
    if !unsafe { bindings::napi_schedule_prep(core.as_raw()) } {
        return false;
    }

    // SAFETY: `napi_schedule_prep` returned true: we own the instance and hand it over.
    unsafe { bindings::__napi_schedule(core.as_raw()) };
    true
}

/// Witness of ownership of a NAPI instance: nobody else polls it.
///
/// It comes from a poll ([`Poll::split`]) or from a disabled instance ([`NapiGuard::split`]).
/// Resources that belong to a NAPI instance, such as a page pool, ask for it.
#[derive(Clone, Copy)]
pub struct Owner<'a> {
    core: &'a Arc<Core>,
    /// The allocation flags. As large as a word: a value that is copied in every poll should have
    /// no padding, which is copied by a call of `memcpy`.
    gfp: usize,
    _not_send: NotThreadSafe,
}

impl<'a> Owner<'a> {
    /// Returns the instance.
    #[inline(always)]
    pub(super) fn core(&self) -> &'a Core {
        self.core
    }

    #[inline(always)]
    fn new(core: &'a Arc<Core>, gfp: bindings::gfp_t) -> Self {
        Self {
            core,
            // CAST: Not smaller.
            gfp: gfp as usize,
            _not_send: NotThreadSafe,
        }
    }

    /// Returns how memory is to be allocated: the owner of a disabled instance may sleep.
    #[inline(always)]
    pub(super) fn gfp(&self) -> bindings::gfp_t {
        // CAST: See `new`.
        self.gfp as bindings::gfp_t
    }
}

/// Witness that a NAPI poll function is running.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    owner: Owner<'a>,
    budget: c_int,
}

impl<'a> Context<'a> {
    /// Returns what is needed to receive, unless netpoll is polling: then RX, XDP and page pools
    /// must not be touched (napi.rst: budget 0).
    #[inline(always)]
    pub fn rx(&self) -> Option<RxContext<'a>> {
        (self.budget > 0).then_some(RxContext(*self))
    }

    /// Returns the budget as `napi_consume_skb` wants it: zero under netpoll.
    #[inline(always)]
    pub(super) fn raw_budget(&self) -> c_int {
        self.budget
    }
}

/// Witness that a NAPI poll function is running in softirq context (or a NAPI thread) and may
/// receive packets.
#[derive(Clone, Copy)]
pub struct RxContext<'a>(Context<'a>);

impl<'a> RxContext<'a> {
    /// Returns how many packets may be received.
    #[inline(always)]
    pub fn budget(&self) -> u32 {
        // CAST: Positive, see `Context::rx`.
        self.0.budget as u32
    }

    /// Returns the witness of ownership.
    #[inline(always)]
    pub fn owner(&self) -> Owner<'a> {
        self.0.owner
    }

    /// Returns the poll's context.
    #[inline(always)]
    pub fn context(&self) -> Context<'a> {
        self.0
    }

    /// Hands a received packet to the stack.
    ///
    /// The packet's protocol must be set: [`Skb::eth_type_trans`].
    #[inline]
    pub fn gro_receive(&self, skb: Skb) {
        // SAFETY: We are in the poll function of this instance; the skb is ours to give away.
        unsafe {
            bindings::rnet_napi_gro_receive(self.0.owner.core().as_raw(), skb.into_raw());
        }
    }

    /// Hands a received frame, beginning with its Ethernet header, to the stack (GRO).
    ///
    /// `verified` tells whether the hardware has found its checksums right. This is
    /// [`Skb::set_checksum_unnecessary`], [`Skb::eth_type_trans`] and
    /// [`gro_receive`](Self::gro_receive) in one call, for the path of every packet. A frame that
    /// has no header is dropped.
    #[inline]
    pub fn receive(&self, skb: Skb, verified: bool) {
        // SAFETY: We are in the poll function of this instance; the skb is ours to give away. The
        // helper looks that there is a header.
        unsafe {
            bindings::rnet_napi_receive(self.0.owner.core().as_raw(), skb.into_raw(), verified);
        }
    }

    /// Has frames that were redirected delivered: before the poll ends.
    #[inline]
    pub fn xdp_flush(&self) {
        // SAFETY: We are in a poll that may receive.
        unsafe { bindings::xdp_do_flush() };
    }

    /// Allocates an skb with room for `len` bytes, from caches that only softirqs use.
    #[inline]
    pub fn alloc_skb(&self, len: u32) -> Result<Skb> {
        // SAFETY: We are in softirq context, in the poll function of this instance.
        let skb = unsafe { bindings::rnet_napi_alloc_skb(self.0.owner.core().as_raw(), len) };

        if skb.is_null() {
            return Err(ENOMEM);
        }
        // SAFETY: A new skb that is ours.
        Ok(unsafe { Skb::from_raw(skb) })
    }
}

/// The result of a poll. Only [`Poll`] can make one.
#[must_use]
pub struct Polled(c_int);

/// How [`Poll::complete`] went.
#[must_use]
pub enum Completion {
    /// NAPI is released: unmask the queue's interrupt, unless the queue is closing, then look
    /// whether something arrived meanwhile that does not raise it again.
    Done(Polled),

    /// NAPI is still scheduled, or the stack wants to poll again by itself: keep the interrupt
    /// masked.
    Again(Polled),
}

/// A running poll.
pub struct Poll<'a, 'b, T: Operations> {
    context: Context<'a>,
    state: &'a mut T::NapiState<'b>,
}

impl<'b, T: Operations> Poll<'_, 'b, T> {
    /// Returns the state of the instance, which is ours until the poll is completed, and the
    /// poll's context.
    #[inline(always)]
    pub fn split(&mut self) -> (&mut T::NapiState<'b>, Context<'_>) {
        (self.state, self.context)
    }

    /// Returns the state of the instance.
    #[inline(always)]
    pub fn state(&mut self) -> &mut T::NapiState<'b> {
        self.state
    }

    /// Returns the number of the instance.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.context.owner.core().index
    }

    /// Returns whether the stack is going to poll again by itself after a poll that has received
    /// so much (`napi_defer_hard_irqs`): what prepares the device for interrupts can be left out.
    ///
    /// This is a guess: somebody may change the setting until [`complete`](Self::complete).
    #[inline]
    pub fn is_deferred(&self, work: u32) -> bool {
        // SAFETY: We are in the poll function of this instance.
        work != 0 && unsafe { bindings::rnet_napi_defers(self.context.owner.core().as_raw()) }
    }

    /// Ends the poll without completing: there is more to do.
    #[inline(always)]
    pub fn again(self) -> Polled {
        // All of the budget means "poll again". Under netpoll it is zero, as it must be.
        Polled(self.context.budget)
    }

    /// Ends the poll: everything is done, `work` packets were received.
    ///
    /// With all of the budget used up, or none given, NAPI stays scheduled, whatever the caller
    /// believes (napi.rst: "napi_complete_done must not be called" then).
    #[inline]
    pub fn complete(self, work: u32) -> Completion {
        let budget = self.context.budget;

        if budget <= 0 {
            return Completion::Again(Polled(0));
        }
        // CAST: `budget` is positive.
        if work >= budget as u32 {
            return Completion::Again(Polled(budget));
        }
        // CAST: `work` is less than `budget`.
        let work = work as c_int;
        let napi = self.context.owner.core().as_raw();

        // SAFETY: We are in the poll function of this instance, with a budget that is not used up,
        // and `self`, the only access to the state, is gone.
        if unsafe { bindings::napi_complete_done(napi, work) } {
            Completion::Done(Polled(work))
        } else {
            Completion::Again(Polled(work))
        }
    }
}

/// Keeps the core away from the NAPI instances of a device (`netdev_lock`), so that they can be
/// disabled for a while. Process context.
///
/// When somebody turns threaded NAPI off, the core takes this lock, and not the RTNL, and waits
/// with it for instances that are disabled to be enabled (`napi_stop_kthread` in net/core/dev.c),
/// which takes the lock as well. So it must be held from the one to the other.
///
/// Instances that are disabled when it is dropped are parked.
///
/// # Invariants
///
/// The lock of `dev` was taken by this task, and is released only by dropping this.
pub struct Hold<'a, 'b, T: Operations> {
    dev: &'a Device<'b, T>,
    _not_send: NotThreadSafe,
}

impl<'a, 'b, T: Operations> Hold<'a, 'b, T> {
    pub(super) fn new(dev: &'a Device<'b, T>) -> Self {
        // SAFETY: The device is valid.
        unsafe { bindings::rnet_dev_lock(dev.as_raw()) };

        // INVARIANT: Just taken.
        Self {
            dev,
            _not_send: NotThreadSafe,
        }
    }

    /// Returns whether this holds a device.
    fn is_of(&self, dev: &Device<'_, T>) -> bool {
        core::ptr::eq(self.dev.as_raw(), dev.as_raw())
    }
}

impl<T: Operations> Drop for Hold<'_, '_, T> {
    fn drop(&mut self) {
        for slot in &self.dev.private().napi {
            let napi = Napi::new(self.dev, slot);

            if napi.is(Stage::Disabled) {
                napi.park(self);
            }
        }
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_dev_unlock(self.dev.as_raw()) };
    }
}

/// A NAPI instance of a device.
pub struct Napi<'a, 'b, T: Operations> {
    dev: &'a Device<'b, T>,
    slot: &'a Slot<T>,
}

impl<'a, 'b, T: Operations> Napi<'a, 'b, T> {
    #[inline(always)]
    pub(super) fn new(dev: &'a Device<'b, T>, slot: &'a Slot<T>) -> Self {
        Self { dev, slot }
    }

    /// Schedules a poll. Any context. Returns false if one is scheduled already or NAPI is
    /// disabled: the caller's interrupt must be masked in either case.
    #[inline]
    pub fn schedule(&self) -> bool {
        schedule(&self.slot.core)
    }

    /// As [`schedule`](Napi::schedule), for interrupt handlers.
    ///
    /// Cheaper with interrupts disabled, and correct in any context (threaded handlers).
    #[inline]
    pub fn schedule_irqoff(&self) -> bool {
        // SAFETY: `napi` is initialised.
        unsafe { bindings::rnet_napi_schedule_irqoff(self.slot.as_raw()) }
    }

    /// Schedules a poll in `nsecs` nanoseconds, on this CPU. Any context.
    ///
    /// A timer that is already running is set anew.
    pub fn schedule_after(&self, nsecs: u64) {
        // SAFETY: The timer was initialised by `add_all`, and is cancelled before it is freed.
        unsafe { bindings::rnet_napi_timer_start(self.slot.core.timer.get(), nsecs) };
    }

    /// Cancels the timer of [`schedule_after`](Napi::schedule_after) and waits for it to finish.
    ///
    /// Process or softirq context.
    pub fn cancel_timer(&self) {
        // SAFETY: The timer was initialised by `add_all`. Its function takes no locks, so that
        // waiting for it is fine in softirq context as well.
        unsafe { bindings::hrtimer_cancel(self.slot.core.timer.get()) };
    }

    /// Enables polling. Does nothing if it is enabled, or the device is being removed.
    pub fn enable(&self, hold: &Hold<'_, 'b, T>) {
        self.go(Stage::Enabled, hold);
    }

    /// Has polls do nothing, once a running one has finished: for an interface that is down, or
    /// cannot be started again. Does nothing if the device is being removed.
    ///
    /// This is where an instance is at first. To disable it instead is for a moment only: the core
    /// waits for instances that are disabled ([`Hold`]).
    pub fn park(&self, hold: &Hold<'_, 'b, T>) {
        self.go(Stage::Parked, hold);
    }

    /// Disables polling, and waits for a running poll to finish. Does nothing if it is disabled.
    pub fn disable(&self, hold: &Hold<'_, 'b, T>) {
        self.go(Stage::Disabled, hold);
    }

    fn go(&self, to: Stage, hold: &Hold<'_, 'b, T>) {
        let mut stage = self.slot.stage.lock();

        // Nobody has a reason to hold another device.
        if *stage == to || *stage == Stage::Deleted || !hold.is_of(self.dev) {
            return;
        }
        if *stage != Stage::Disabled {
            // SAFETY: `napi` is added and enabled, and its device held.
            unsafe { bindings::napi_disable_locked(self.slot.as_raw()) };
        }
        if to != Stage::Disabled {
            // The core's atomic operations on its state order this before the next poll.
            self.slot.core.parked.store(to == Stage::Parked, Relaxed);
            // SAFETY: `napi` is added and disabled, and its device held.
            unsafe { bindings::napi_enable_locked(self.slot.as_raw()) };
        }
        *stage = to;
    }

    fn is(&self, stage: Stage) -> bool {
        *self.slot.stage.lock() == stage
    }

    /// Returns whether polling is enabled. Process context.
    pub fn is_enabled(&self) -> bool {
        self.is(Stage::Enabled)
    }

    /// Gives access to the state of the instance, which must be disabled.
    pub fn lock<'h>(&self, _hold: &'h Hold<'_, 'b, T>) -> Result<NapiGuard<'h, 'b, T>>
    where
        'a: 'h,
    {
        let stage = self.slot.stage.lock();

        if !matches!(*stage, Stage::Disabled | Stage::Deleted) {
            return Err(EBUSY);
        }
        Ok(NapiGuard {
            slot: self.slot,
            _stage: stage,
            _bound: PhantomData,
        })
    }

    /// Tells the core which interrupt schedules this instance (shown by netdev-genl). Process
    /// context.
    pub fn set_irq(&self, irq: Option<u32>) {
        // CAST: Interrupt numbers are positive `int`s in C.
        let irq = irq.map_or(-1, |irq| irq as c_int);
        let _hold = Hold::new(self.dev);
        let stage = self.slot.stage.lock();

        if *stage == Stage::Deleted {
            return;
        }
        // SAFETY: `napi` is added to `dev`, which is held.
        unsafe { bindings::rnet_napi_set_irq_locked(self.slot.as_raw(), irq) };
    }

    /// Returns the device.
    pub fn device(&self) -> &'a Device<'b, T> {
        self.dev
    }
}

/// Access to the state of a disabled NAPI instance.
///
/// While it exists, the instance cannot be enabled.
pub struct NapiGuard<'a, 'b, T: Operations> {
    slot: &'a Slot<T>,
    // INVARIANT of the type: the lock is held, and protects `Disabled` or `Deleted`.
    _stage: Guard<'a, Stage, MutexBackend>,
    _bound: PhantomData<T::NapiState<'b>>,
}

impl<'b, T: Operations> NapiGuard<'_, 'b, T> {
    /// Returns another reference to the instance.
    pub(super) fn core_arc(&self) -> Arc<Core> {
        self.slot.core.clone()
    }

    /// Returns the state.
    pub fn state(&mut self) -> &mut T::NapiState<'b> {
        self.split().0
    }

    /// Returns the state and the witness of ownership.
    pub fn split(&mut self) -> (&mut T::NapiState<'b>, Owner<'_>) {
        // SAFETY: The instance is disabled and cannot be enabled, because we hold the lock. So no
        // poll has the state, and `&mut self` excludes another reference through this guard.
        let state = unsafe { &mut *self.slot.state.get().cast::<T::NapiState<'b>>() };
        let owner = Owner::new(&self.slot.core, bindings::GFP_KERNEL);

        (state, owner)
    }
}
