// SPDX-License-Identifier: GPL-2.0

//! Runtime power management.
//!
//! System sleep is in `platform.rs`, since the bus's driver structure has the callbacks.
//!
//! C header: [`include/linux/pm_runtime.h`](srctree/include/linux/pm_runtime.h)

use kernel::{
    device::{
        self,
        Bound, //
    },
    error::to_result,
    prelude::*, //
};

use super::{
    bindings,
    dma::raw, //
};

/// Runtime PM of a device.
#[derive(Clone, Copy)]
pub struct Runtime<'b>(&'b device::Device<Bound>);

impl<'b> Runtime<'b> {
    #[inline(always)]
    pub(super) fn new(dev: &'b device::Device<Bound>) -> Self {
        Self(dev)
    }

    pub(super) fn enable(&self, autosuspend_ms: i32) {
        // SAFETY: The device is bound.
        unsafe { bindings::rnet_pm_enable(raw(self.0), autosuspend_ms) };
    }

    pub(super) fn disable(&self) {
        // SAFETY: The device is bound.
        unsafe { bindings::rnet_pm_disable(raw(self.0)) };
    }

    /// Powers the device up, and keeps it so as long as the returned value exists. Process context.
    pub fn resume(&self) -> Result<Active<'b>> {
        // SAFETY: The device is bound.
        to_result(unsafe { bindings::rnet_pm_resume_and_get(raw(self.0)) })?;
        // INVARIANT: The count was taken.
        Ok(Active(self.0))
    }

    /// As [`resume`](Runtime::resume), or nothing if the device has no runtime PM.
    pub(super) fn resume_if_enabled(&self) -> Result<Option<Active<'b>>> {
        // SAFETY: The device is bound.
        if unsafe { bindings::rnet_pm_enabled(raw(self.0)) } {
            self.resume().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Keeps the device powered if it is. Any context.
    ///
    /// This is how an interrupt handler on a shared line, or a statistics callback, learns whether
    /// registers can be accessed. It also says no while runtime PM is disabled, as in most of
    /// system sleep, because nobody would keep the device powered then: a driver that leaves it
    /// powered (Wake-on-LAN) has to remember that by itself.
    #[inline]
    pub fn get_if_active(&self) -> Option<Active<'b>> {
        // Negative: runtime PM is disabled.
        //
        // SAFETY: The device is bound.
        if unsafe { bindings::rnet_pm_get_if_active(raw(self.0)) } > 0 {
            // INVARIANT: The count was taken.
            Some(Active(self.0))
        } else {
            None
        }
    }

    /// Returns whether the device is powered, or has no runtime PM. Nothing keeps it so.
    #[inline]
    pub fn is_active(&self) -> bool {
        // SAFETY: The device is bound.
        unsafe { bindings::rnet_pm_active(raw(self.0)) }
    }

    /// Puts the device into its suspended state, for system suspend. Process context.
    ///
    /// Runtime PM is disabled from then on, until [`force_resume`](Runtime::force_resume). If this
    /// fails the device is as it was, with runtime PM enabled: there is nothing to undo.
    pub fn force_suspend(&self) -> Result {
        // SAFETY: The device is bound.
        to_result(unsafe { bindings::pm_runtime_force_suspend(raw(self.0)) })
    }

    /// Undoes [`force_suspend`](Runtime::force_suspend): resumes the device if it was in use, and
    /// enables runtime PM, also when this fails. Process context.
    pub fn force_resume(&self) -> Result {
        // SAFETY: The device is bound.
        to_result(unsafe { bindings::pm_runtime_force_resume(raw(self.0)) })
    }

    /// Declares whether the device can wake the system, and whether it should by default.
    pub fn init_wakeup(&self, capable: bool, enable: bool) -> Result {
        // SAFETY: The device is bound.
        unsafe { bindings::device_set_wakeup_capable(raw(self.0), capable) };
        self.set_wakeup(enable)
    }

    /// Lets the device wake the system, or not. Process context.
    pub fn set_wakeup(&self, enable: bool) -> Result {
        // SAFETY: The device is bound.
        to_result(unsafe { bindings::device_set_wakeup_enable(raw(self.0), enable) })
    }

    /// Returns whether the device shall wake the system.
    pub fn may_wakeup(&self) -> bool {
        // SAFETY: The device is bound.
        unsafe { bindings::rnet_device_may_wakeup(raw(self.0)) }
    }

    /// Reports that the device has woken the system. Any context.
    pub fn wakeup_event(&self) {
        // SAFETY: The device is bound.
        unsafe { bindings::rnet_pm_wakeup_event(raw(self.0)) };
    }
}

/// A use of a device, which is powered as long as this exists.
///
/// When it is dropped, in any context, the device may be suspended after its autosuspend delay.
///
/// # Invariants
///
/// Holds one usage count of the device.
pub struct Active<'b>(&'b device::Device<Bound>);

impl Active<'_> {
    /// Keeps the device powered after this is gone, until [`put`] with the same device: for a use
    /// that begins in one callback (`open`) and ends in another (`stop`).
    pub fn keep(self) {
        core::mem::forget(self);
    }
}

impl Drop for Active<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_pm_put_autosuspend(raw(self.0)) };
    }
}

/// Ends a use that [`Active::keep`] has prolonged. Any context.
pub fn put(runtime: Runtime<'_>) {
    // A put too many is caught by the PM core, which warns and leaves the count at zero.
    drop(Active(runtime.0));
}
