// SPDX-License-Identifier: GPL-2.0-or-later

//! Behaviour of the device as a driver sees it: registers, descriptors in memory, interrupt lines,
//! frames. Everything goes through the interface that the emulator uses.

mod bench;

/// Each module lists its tests once: as tests, and for [`coverage`].
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        /// The tests of this module with their names.
        pub const TESTS: crate::Tests = &[$((stringify!($name), $name)),*];

        mod run {
            $(#[test]
            fn $name() {
                super::$name();
            })*
        }
    };
}

/// Tests with their names.
type Tests = &'static [(&'static str, fn())];

mod access;
mod coverage;
mod faults;
mod gptp;
mod irq;
mod link;
mod mode;
mod rx;
mod tx;
