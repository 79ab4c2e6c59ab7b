// SPDX-License-Identifier: GPL-2.0

//! The RTNL, which serialises network configuration.
//!
//! C header: [`include/linux/rtnetlink.h`](srctree/include/linux/rtnetlink.h)

use super::bindings;
use kernel::types::NotThreadSafe;

/// Witness that the RTNL is held by the caller.
///
/// Callbacks that the core runs under the RTNL get one; elsewhere it comes from [`lock`] or
/// [`try_lock`]. None of the devices here is "ops locked" (`request_ops_lock`), so the RTNL is
/// what protects `net_device` configuration.
///
/// # Invariants
///
/// The RTNL is held by this task while a reference to a value exists.
pub struct Rtnl(NotThreadSafe);

impl Rtnl {
    /// Asserts that the RTNL is held for `'a`.
    ///
    /// # Safety
    ///
    /// The RTNL must be held by the calling task for all of `'a`.
    #[inline]
    pub(super) unsafe fn assume_held<'a>() -> &'a Rtnl {
        const HELD: &Rtnl = &Rtnl(NotThreadSafe);

        // INVARIANT: By the safety requirements.
        HELD
    }
}

/// Owner of the RTNL; releases it when dropped.
///
/// # Invariants
///
/// The RTNL was taken by this task and is released only by dropping the guard.
pub struct RtnlGuard(Rtnl);

impl core::ops::Deref for RtnlGuard {
    type Target = Rtnl;

    fn deref(&self) -> &Rtnl {
        &self.0
    }
}

impl Drop for RtnlGuard {
    fn drop(&mut self) {
        // SAFETY: By the type invariant this task holds the RTNL.
        unsafe { bindings::rtnl_unlock() };
    }
}

/// Takes the RTNL. Process context, sleeps.
///
/// Must not be used by anything that `stop` waits for (work items, interrupt threads): it is
/// called under the RTNL. See [`try_lock`].
pub fn lock() -> RtnlGuard {
    // SAFETY: No preconditions; may sleep, which the context rules of this function allow.
    unsafe { bindings::rtnl_lock() };

    // INVARIANT: Just taken.
    RtnlGuard(Rtnl(NotThreadSafe))
}

/// Takes the RTNL if it is free. Process context.
pub fn try_lock() -> Option<RtnlGuard> {
    // SAFETY: No preconditions.
    if unsafe { bindings::rtnl_trylock() } == 0 {
        return None;
    }

    // INVARIANT: Just taken.
    Some(RtnlGuard(Rtnl(NotThreadSafe)))
}
