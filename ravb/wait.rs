// SPDX-License-Identifier: GPL-2.0

//! Waiting for the hardware.

use kernel::{
    prelude::*,
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    }, //
};

/// How long to wait, and how often to look.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// Time between two looks.
    pub(super) interval: Delta,
    /// Time after which the last look decides.
    pub(super) bound: Delta,
}

/// Waits until `look` finds what it looks for, sleeping in between. Process context.
///
/// Most of the time the hardware is ready at once: then this costs one register access, and not
/// even a look at the clock. After the bound the hardware gets a last chance, for the time may have
/// passed while this task was not running: a timeout means that the hardware was not ready *after*
/// the bound. (The functions of `kernel::io::poll` decide by what they saw before they checked the
/// time, or before the last delay.)
pub(super) fn poll_ready<T>(patience: Patience, mut look: impl FnMut() -> Option<T>) -> Result<T> {
    if let Some(found) = look() {
        return Ok(found);
    }
    let start = Instant::<Monotonic>::now();

    loop {
        fsleep(patience.interval);

        // The clock first: what counts is a look that began after the bound.
        let late = start.elapsed() > patience.bound;

        if let Some(found) = look() {
            return Ok(found);
        }
        if late {
            return Err(ETIMEDOUT);
        }
    }
}
