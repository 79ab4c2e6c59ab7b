// SPDX-License-Identifier: GPL-2.0

//! Rings: positions in them, and all memory of a queue.
//!
//! A queue's memory is allocated as one ([`Rings::new`]) and then divided between those who work
//! with it: the receive ring belongs to the poll function, the sending end of the transmit ring to
//! `start_xmit`. Neither needs a lock of its own.

use kernel::{
    prelude::*,
    sync::Arc, //
};

use super::{
    desc::BusAddress,
    driver::Ravb,
    hw_info::RingSizes,
    rx::RxRing,
    tx, //
};
use crate::net::{
    xdp::Program,
    Device, //
};

/// A position in a ring of any size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cursor {
    at: u32,
    len: u32,
}

impl Cursor {
    /// The first position of a ring with `len` entries.
    pub(super) const fn first(len: u32) -> Self {
        Self { at: 0, len }
    }

    /// Returns the number of the entry.
    #[inline(always)]
    pub(super) const fn index(self) -> usize {
        self.at as usize
    }

    /// Goes on to the next entry, which after the last one is the first.
    #[inline(always)]
    pub(super) fn advance(&mut self) {
        let next = self.at.wrapping_add(1);

        self.at = if next >= self.len { 0 } else { next };
    }
}

/// The rings of a queue, before they are divided.
pub(super) struct Rings<'b> {
    pub(super) rx: RxRing<'b>,
    pub(super) sender: tx::Sender<'b>,
    pub(super) tx: Arc<tx::TxRing<'b>>,
}

impl<'b> Rings<'b> {
    /// Allocates the rings of a queue. Process context.
    ///
    /// The queue may be running with others.
    pub(super) fn new(
        dev: &Device<'b, Ravb>,
        queue: usize,
        sizes: RingSizes,
        program: Option<&Program>,
    ) -> Result<Self> {
        let rx = RxRing::new(dev, queue, sizes.rx, program)?;
        let (sender, tx) = tx::ring(dev, queue, sizes.tx)?;

        Ok(Self { rx, sender, tx })
    }

    /// Returns where the DMAC finds the rings.
    pub(super) fn addresses(&self) -> Addresses {
        Addresses {
            rx: self.rx.address(),
            tx: self.tx.address(),
        }
    }
}

/// Where the rings of a queue are.
#[derive(Clone, Copy)]
pub(super) struct Addresses {
    pub(super) rx: BusAddress,
    pub(super) tx: BusAddress,
}

#[kunit_tests(ravb_rs_ring)]
mod tests {
    use super::*;

    #[test]
    fn cursor_wraps_at_any_size() {
        for len in [1u32, 2, 64, 65, 1000, 1024] {
            let mut cursor = Cursor::first(len);

            for _ in 0..3 {
                for want in 0..len {
                    assert_eq!(cursor.index(), want as usize);
                    cursor.advance();
                }
                assert!(cursor == Cursor::first(len));
            }
        }
    }
}
