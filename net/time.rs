// SPDX-License-Identifier: GPL-2.0

//! Time in jiffies, which the kernel crate cannot tell. For a benchmark.
//!
//! C header: [`include/linux/jiffies.h`](srctree/include/linux/jiffies.h)

use super::bindings;

/// Returns the time in jiffies, which wraps.
#[inline(always)]
pub fn jiffies() -> usize {
    // SAFETY: A word that the timer interrupt writes: read as C does, once.
    unsafe { (&raw const bindings::jiffies).read_volatile() as usize }
}
