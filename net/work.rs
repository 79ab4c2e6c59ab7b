// SPDX-License-Identifier: GPL-2.0

//! Work items of a network device.
//!
//! The kernel crate's work items cannot be cancelled. These belong to the device, which cancels
//! them when it is taken down: [`Operations::WORK`] lists the functions,
//! [`Device::work`](super::Device::work) gives a handle.
//!
//! C header: [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h)

use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    ptr::NonNull, //
};

use kernel::{
    prelude::*,
    types::Opaque, //
};

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    }, //
};

/// The function of a work item. Process context, no locks held.
///
/// `stop` and removal may wait for it under the RTNL: it must use
/// [`rtnl::try_lock`](super::rtnl::try_lock), and schedule itself again if that fails.
pub type WorkFn<T> = for<'a, 'b> fn(&'a Device<'b, T>);

static_assert!(size_of::<bindings::delayed_work>() != 0);

/// # Invariants
///
/// After `bind_all`, `work` is initialised, and `ndev` is the device that owns the item.
#[pin_data]
pub(super) struct Item {
    #[pin]
    work: Opaque<bindings::delayed_work>,
    ndev: UnsafeCell<*mut bindings::net_device>,
    index: usize,
}

// SAFETY: Work items may be used from any thread. `ndev` is written once, before anything can be
// scheduled.
unsafe impl Send for Item {}
// SAFETY: As above.
unsafe impl Sync for Item {}

/// Allocates the work items of a device that is about to be allocated.
pub(super) fn items<T: Operations>() -> Result<KVec<Pin<KBox<Item>>>> {
    let mut items = KVec::with_capacity(T::WORK.len(), GFP_KERNEL)?;

    for index in 0..T::WORK.len() {
        let item = KBox::pin_init(
            pin_init!(Item {
                work: Opaque::zeroed(),
                ndev: UnsafeCell::new(core::ptr::null_mut()),
                index,
            }),
            GFP_KERNEL,
        )?;

        items.push(item, GFP_KERNEL)?;
    }
    Ok(items)
}

/// Connects the work items with their device, which is complete but not used yet.
pub(super) fn bind_all<T: Operations>(dev: &Device<'_, T>) {
    for item in &dev.private().work {
        // SAFETY: Nobody else has the device yet.
        unsafe { *item.ndev.get() = dev.as_raw() };
        // SAFETY: `work` is not in use, and not moved.
        unsafe { bindings::rnet_init_delayed_work(item.work.get(), Some(run::<T>)) };
    }
}

/// Cancels the work items of a device that is being taken down, and waits for them.
pub(super) fn cancel_all<T: Operations>(dev: &Device<'_, T>) {
    for item in &dev.private().work {
        Work::new(item).cancel_sync();
    }
}

/// # Safety
///
/// To be called by the workqueue only, for items of devices of type `T`.
unsafe extern "C" fn run<T: Operations>(work: *mut bindings::work_struct) {
    // SAFETY: `work` is in a `delayed_work` (`bind_all`).
    let delayed = unsafe { kernel::container_of!(work, bindings::delayed_work, work) };
    // SAFETY: which is in an `Item`, which lives until it is cancelled.
    let item = unsafe { &*kernel::container_of!(Opaque::cast_from(delayed), Item, work) };
    // SAFETY: By the type invariant. The device cancels its work before its data is dropped, and
    // before its parent is unbound.
    let dev = unsafe { Device::from_raw(*item.ndev.get()) };

    if let Some(function) = T::WORK.get(item.index) {
        function(dev);
    }
}

/// A work item.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    work: NonNull<bindings::delayed_work>,
    _item: PhantomData<&'a Item>,
}

impl<'a> Work<'a> {
    #[inline]
    pub(super) fn new(item: &'a Item) -> Self {
        // SAFETY: A pointer to a field is not null.
        let work = unsafe { NonNull::new_unchecked(item.work.get()) };

        Self {
            work,
            _item: PhantomData,
        }
    }

    /// Runs the function soon. Any context. Returns false if it is scheduled already.
    pub fn schedule(&self) -> bool {
        self.schedule_after(0)
    }

    /// Runs the function after `msecs` milliseconds. Any context. Returns false if it is scheduled
    /// already.
    pub fn schedule_after(&self, msecs: u32) -> bool {
        // SAFETY: The item is initialised, and lives until it is cancelled.
        unsafe { bindings::rnet_queue_delayed_work(self.work.as_ptr(), msecs) }
    }

    /// Takes the item out of the queue, if it has not begun to run. Any context.
    pub fn cancel(&self) -> bool {
        // SAFETY: The item is initialised.
        unsafe { bindings::cancel_delayed_work(self.work.as_ptr()) }
    }

    /// Takes the item out of the queue, and waits if it is running. Sleeps; not from the item's
    /// own function, and without locks that it takes.
    pub fn cancel_sync(&self) -> bool {
        // SAFETY: The item is initialised.
        unsafe { bindings::cancel_delayed_work_sync(self.work.as_ptr()) }
    }
}
