// SPDX-License-Identifier: GPL-2.0

//! Reset lines.
//!
//! C header: [`include/linux/reset.h`](srctree/include/linux/reset.h)

use core::ptr::NonNull;

use kernel::{
    device::{
        self,
        Bound, //
    },
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*, //
};

use super::{
    bindings,
    dma::raw, //
};

/// A reset line that no other driver uses.
///
/// # Invariants
///
/// `control` is valid and exclusive.
pub struct Control {
    control: NonNull<bindings::reset_control>,
}

// SAFETY: The C functions may be called from any thread.
unsafe impl Send for Control {}
// SAFETY: As above; an exclusive control serialises nothing by itself, but its operations are one
// register access of the provider, which the provider serialises.
unsafe impl Sync for Control {}

impl Control {
    /// Gets a line, by name or the only one. The device must have it. Process context.
    pub fn exclusive(dev: &device::Device<Bound>, id: Option<&CStr>) -> Result<Self> {
        let id = id.map_or(core::ptr::null(), |id| id.as_char_ptr());

        // SAFETY: The device is bound, `id` is null or a string.
        let control = from_err_ptr(unsafe {
            bindings::__reset_control_get(
                raw(dev),
                id,
                0,
                bindings::reset_control_flags_RESET_CONTROL_EXCLUSIVE,
            )
        })?;

        // INVARIANT: Just got, exclusively.
        Ok(Self {
            control: NonNull::new(control).ok_or(ENODEV)?,
        })
    }

    /// Puts the device in reset.
    pub fn assert(&self) -> Result {
        // SAFETY: By the type invariant.
        to_result(unsafe { bindings::reset_control_assert(self.control.as_ptr()) })
    }

    /// Takes the device out of reset.
    pub fn deassert(&self) -> Result {
        // SAFETY: By the type invariant.
        to_result(unsafe { bindings::reset_control_deassert(self.control.as_ptr()) })
    }

    /// Takes the device out of reset until the returned value is dropped.
    pub fn deasserted(self) -> Result<Deasserted> {
        self.deassert()?;
        Ok(Deasserted(self))
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; it is not used any more.
        unsafe { bindings::reset_control_put(self.control.as_ptr()) };
    }
}

/// A reset line that is asserted when dropped. In between, suspend and resume may change it.
pub struct Deasserted(Control);

impl core::ops::Deref for Deasserted {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.0
    }
}

impl Drop for Deasserted {
    fn drop(&mut self) {
        // Nobody is left to tell of a failure.
        let _ = self.0.assert();
    }
}
