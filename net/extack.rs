// SPDX-License-Identifier: GPL-2.0

//! Extended acknowledgements: error messages for the user of a netlink command.
//!
//! C header: [`include/linux/netlink.h`](srctree/include/linux/netlink.h)

use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

use super::bindings;
use kernel::prelude::*;

/// Where a message for the user goes; possibly nowhere.
pub struct ExtAck<'a> {
    extack: Option<NonNull<bindings::netlink_ext_ack>>,
    _life: PhantomData<&'a mut bindings::netlink_ext_ack>,
}

impl<'a> ExtAck<'a> {
    /// # Safety
    ///
    /// `extack` must be null or valid and the caller's alone for `'a`.
    #[inline]
    pub(super) unsafe fn from_raw(extack: *mut bindings::netlink_ext_ack) -> Self {
        Self {
            extack: NonNull::new(extack),
            _life: PhantomData,
        }
    }

    /// Sets the message.
    pub fn set(&self, message: &'static CStr) {
        if let Some(extack) = self.extack {
            // SAFETY: `extack` is valid; the message lives forever.
            unsafe { bindings::rnet_extack_set(extack.as_ptr(), message.as_char_ptr()) };
        }
    }

    /// Sets the message and returns the error: `return Err(extack.fail(EINVAL, c"..."))`.
    pub fn fail(&self, error: Error, message: &'static CStr) -> Error {
        self.set(message);
        error
    }
}
