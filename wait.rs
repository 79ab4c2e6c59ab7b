// SPDX-License-Identifier: GPL-2.0

//! Waiting for the hardware.
//!
//! Most of the time the hardware is ready at once: then a wait costs one register access, and not
//! even a look at the clock, which on some SoCs costs as much as the access. After the bound the
//! hardware gets a last chance, for the time may have passed in an interrupt or while this task was
//! not running: a timeout means that the hardware was not ready *after* the bound. (The functions
//! of `kernel::io::poll` decide by what they saw before they checked the time, or before the last
//! delay.)
//!
//! This is no matter of network devices, hence not in `net`; both drivers use it. In the kernel its
//! place would be `rust/kernel/io/poll.rs`.

mod bounded;

use kernel::{
    prelude::*,
    processor::cpu_relax,
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    }, //
};

use bounded::Pace;

/// How long to wait, and how often to look.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    /// Time between two looks.
    pub(crate) interval: Delta,
    /// Time after which the last look decides.
    pub(crate) bound: Delta,
}

/// Sleeps between two looks.
struct Sleeping(Patience);

impl Pace for Sleeping {
    type Start = Instant<Monotonic>;

    fn start(&self) -> Self::Start {
        Instant::now()
    }

    fn is_late(&self, start: &Self::Start) -> bool {
        start.elapsed() > self.0.bound
    }

    fn pause(&self) {
        fsleep(self.0.interval);
    }
}

/// Looks as often as it can.
struct Spinning {
    bound: Delta,
}

impl Pace for Spinning {
    type Start = Instant<Monotonic>;

    #[inline(always)]
    fn start(&self) -> Self::Start {
        Instant::now()
    }

    #[inline(always)]
    fn is_late(&self, start: &Self::Start) -> bool {
        start.elapsed() > self.bound
    }

    #[inline(always)]
    fn pause(&self) {
        cpu_relax();
    }
}

/// Waits until `look` finds what it looks for, sleeping in between. Process context.
///
/// Fails with `ETIMEDOUT`, see the module's documentation.
pub(crate) fn poll_ready<T>(patience: Patience, look: impl FnMut() -> Option<T>) -> Result<T> {
    bounded::poll(&Sleeping(patience), look).ok_or(ETIMEDOUT)
}

/// As [`poll_ready`], without sleeping. Any context.
///
/// A lock may be held, so the bound should be some microseconds. The looks follow each other as
/// fast as the bus allows.
#[inline(always)]
pub(crate) fn poll_ready_atomic<T>(bound: Delta, look: impl FnMut() -> Option<T>) -> Result<T> {
    bounded::poll(&Spinning { bound }, look).ok_or(ETIMEDOUT)
}
