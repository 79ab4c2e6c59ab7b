// SPDX-License-Identifier: GPL-2.0

//! The logic of a wait, apart from clocks and registers.
//!
//! It needs nothing of the kernel, so that its tests run on any machine (`rustc --test` of this
//! file) as well as in KUnit.

/// The clock of a wait, and what it does between two looks.
pub(crate) trait Pace {
    /// When the wait began.
    type Start;

    /// Begins to measure the time.
    fn start(&self) -> Self::Start;

    /// Returns whether more time than the bound has passed since.
    fn is_late(&self, start: &Self::Start) -> bool;

    /// Lets time pass until the next look.
    fn pause(&self);
}

/// Waits until `look` finds something. Returns nothing if it did not in a look that began after the
/// bound.
///
/// The first look comes before anything else. The others are each preceded by a look at the clock:
/// the other way round, time that passes between the two (in an interrupt, say) would count against
/// hardware that became ready in it.
#[inline(always)]
pub(crate) fn poll<P: Pace, T>(pace: &P, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    if let Some(found) = look() {
        return Some(found);
    }
    poll_slowly(pace, look)
}

/// The rest of [`poll`], out of the way of the hardware that is ready at once.
#[cold]
fn poll_slowly<P: Pace, T>(pace: &P, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let start = pace.start();

    loop {
        pace.pause();

        let late = pace.is_late(&start);

        if let Some(found) = look() {
            return Some(found);
        }
        if late {
            return None;
        }
    }
}

#[cfg(any(test, CONFIG_KUNIT = "y"))]
#[cfg_attr(not(test), kernel::prelude::kunit_tests(ravb_rs_wait))]
mod tests {
    use super::*;
    use core::cell::Cell;

    const BOUND: u64 = 100;
    const INTERVAL: u64 = 10;

    /// A piece of hardware, and a clock that only goes on when something takes time.
    struct Bench {
        now: Cell<u64>,
        /// When the hardware becomes ready.
        ready: u64,
        /// In front of which look, and of which look at the clock, an interrupt takes how long.
        before_look: (u32, u64),
        before_clock: (u32, u64),
        looks: Cell<u32>,
        clock_reads: Cell<u32>,
        pauses: Cell<u32>,
    }

    impl Bench {
        fn new(ready: u64) -> Self {
            Self {
                now: Cell::new(0),
                ready,
                before_look: (0, 0),
                before_clock: (0, 0),
                looks: Cell::new(0),
                clock_reads: Cell::new(0),
                pauses: Cell::new(0),
            }
        }

        fn count(&self, counter: &Cell<u32>, interrupt: (u32, u64)) {
            counter.set(counter.get() + 1);
            if counter.get() == interrupt.0 {
                self.now.set(self.now.get() + interrupt.1);
            }
        }

        /// Returns when the hardware was found ready.
        fn wait(&self) -> Option<u64> {
            poll(self, || {
                self.count(&self.looks, self.before_look);
                (self.now.get() >= self.ready).then_some(self.now.get())
            })
        }

        fn counts(&self) -> (u32, u32, u32) {
            (self.looks.get(), self.clock_reads.get(), self.pauses.get())
        }
    }

    impl Pace for Bench {
        type Start = u64;

        fn start(&self) -> u64 {
            self.count(&self.clock_reads, self.before_clock);
            self.now.get()
        }

        fn is_late(&self, start: &u64) -> bool {
            self.count(&self.clock_reads, self.before_clock);
            self.now.get() - start > BOUND
        }

        fn pause(&self) {
            self.pauses.set(self.pauses.get() + 1);
            self.now.set(self.now.get() + INTERVAL);
        }
    }

    #[test]
    fn ready_at_once() {
        let bench = Bench::new(0);

        assert_eq!(bench.wait(), Some(0));
        // One access, and neither clock nor pause.
        assert_eq!(bench.counts(), (1, 0, 0));
    }

    #[test]
    fn ready_soon() {
        let bench = Bench::new(25);

        assert_eq!(bench.wait(), Some(30));
        assert_eq!(bench.counts(), (4, 4, 3));
    }

    #[test]
    fn ready_exactly_at_the_deadline() {
        let bench = Bench::new(BOUND);

        assert_eq!(bench.wait(), Some(BOUND));
        assert_eq!(bench.counts(), (11, 11, 10));
    }

    #[test]
    fn ready_at_the_last_look() {
        let bench = Bench::new(BOUND + INTERVAL);

        assert_eq!(bench.wait(), Some(BOUND + INTERVAL));
        assert_eq!(bench.counts(), (12, 12, 11));
    }

    #[test]
    fn ready_after_the_last_look() {
        let bench = Bench::new(BOUND + INTERVAL + 1);

        assert_eq!(bench.wait(), None);
        assert_eq!(bench.counts(), (12, 12, 11));
    }

    #[test]
    fn never_ready() {
        let bench = Bench::new(u64::MAX);

        assert_eq!(bench.wait(), None);
        // The wait is over one interval after the bound.
        assert_eq!(bench.now.get(), BOUND + INTERVAL);
        assert_eq!(bench.counts(), (12, 12, 11));
    }

    #[test]
    fn ready_during_a_long_interruption_before_the_clock() {
        let bench = Bench {
            // The first look at the clock begins the wait, the third is behind the second pause.
            before_clock: (3, 10 * BOUND),
            ..Bench::new(50)
        };

        assert_eq!(bench.wait(), Some(20 + 10 * BOUND));
        assert_eq!(bench.counts(), (3, 3, 2));
    }

    #[test]
    fn ready_during_a_long_interruption_before_the_look() {
        let bench = Bench {
            before_look: (3, 10 * BOUND),
            ..Bench::new(50)
        };

        assert_eq!(bench.wait(), Some(20 + 10 * BOUND));
        assert_eq!(bench.counts(), (3, 3, 2));
    }

    #[test]
    fn ready_during_a_long_interruption_after_the_first_look() {
        let bench = Bench {
            before_clock: (1, 10 * BOUND),
            ..Bench::new(50)
        };

        // Before the wait is measured, it costs nothing of it.
        assert_eq!(bench.wait(), Some(10 * BOUND + INTERVAL));
        assert_eq!(bench.counts(), (2, 2, 1));
    }

    #[test]
    fn not_ready_after_a_long_interruption() {
        let bench = Bench {
            before_look: (3, 10 * BOUND),
            ..Bench::new(u64::MAX)
        };

        // The third look was not known to be late when it began, so there is a fourth.
        assert_eq!(bench.wait(), None);
        assert_eq!(bench.counts(), (4, 4, 3));
    }
}
