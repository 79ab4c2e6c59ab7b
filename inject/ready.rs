// SPDX-License-Identifier: GPL-2.0

//! How injection waits for the FIFO, before each word.
//!
//! The driver's way is to read the status first ([`crate::wait`]). The other two are what it is
//! measured against (`make bench CASE=inject`), in modules that are built for that only
//! (`INJECT_WAIT=`): a parameter would be an interface that nobody should use.

#[cfg(not(inject_wait_jiffies))]
use kernel::time::Delta;
use kernel::{
    io::Io,
    prelude::*, //
};

use super::regs::{
    Window,
    INJ_STATUS, //
};

/// How long to wait for room for a word. The transmit lock is held, under netconsole with
/// interrupts off. A frame is begun only if there is room for it, so that this is much: at
/// 10 Mbit/s, three words have left in this time.
#[cfg(not(inject_wait_jiffies))]
const BOUND: Delta = Delta::from_micros(10);

/// Waits until a word can be written.
#[cfg(not(any(inject_wait_iopoll, inject_wait_jiffies)))]
#[inline(always)]
pub(super) fn wait(io: &Window<'_>) -> Result {
    crate::wait::poll_ready_atomic(BOUND, || io.read(INJ_STATUS).is_ready().then_some(()))
}

/// As `readx_poll_timeout_atomic()` was in 2022: the deadline is computed before the first look.
#[cfg(inject_wait_iopoll)]
#[inline(always)]
pub(super) fn wait(io: &Window<'_>) -> Result {
    use kernel::{
        processor::cpu_relax,
        time::{
            Instant,
            Monotonic, //
        }, //
    };

    let deadline = Instant::<Monotonic>::now() + BOUND;

    loop {
        if io.read(INJ_STATUS).is_ready() {
            return Ok(());
        }
        if (Instant::<Monotonic>::now() - deadline).as_nanos() > 0 {
            break;
        }
        cpu_relax();
    }
    if io.read(INJ_STATUS).is_ready() {
        Ok(())
    } else {
        Err(ETIMEDOUT)
    }
}

/// As in the first version of the patch: a loop with a deadline in jiffies, and no last look.
#[cfg(inject_wait_jiffies)]
#[inline(always)]
pub(super) fn wait(io: &Window<'_>) -> Result {
    use crate::net::time::jiffies;

    // A jiffy is longer than any bound that makes sense here.
    let deadline = jiffies().wrapping_add(1);

    while !io.read(INJ_STATUS).is_ready() {
        // CAST: The difference is small, of either sign.
        if jiffies().wrapping_sub(deadline) as isize > 0 {
            return Err(ETIMEDOUT);
        }
    }
    Ok(())
}
