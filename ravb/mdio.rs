// SPDX-License-Identifier: GPL-2.0

//! MDIO, whose two wires are bits of a register.
//!
//! They work in CONFIG and OPERATION mode, and the chip is in one of them as long as it is powered.

use kernel::{
    io::Io,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

use super::{
    driver::{
        Private,
        Ravb, //
    },
    regs::PIR,
};
use crate::net::{
    mdio::BitBang,
    Device, //
};

/// The state of the wires, protected by the bus's lock: so that a change is one register access.
pub(super) struct Wires(Atomic<u32>);

impl Wires {
    pub(super) const fn new() -> Self {
        Self(Atomic::new(0))
    }

    #[inline]
    fn change(&self, data: &Private<'_>, change: impl FnOnce(PIR) -> PIR) {
        let pir = change(PIR::from(self.0.load(Relaxed)));

        self.0.store(pir.into(), Relaxed);
        data.io.write_reg(pir);
    }
}

impl BitBang for Ravb {
    fn set_clock(dev: &Device<'_, Self>, high: bool) {
        let data = dev.data();

        data.wires.change(data.get_ref(), |pir| pir.with_mdc(high));
    }

    fn set_direction(dev: &Device<'_, Self>, output: bool) {
        let data = dev.data();

        data.wires
            .change(data.get_ref(), |pir| pir.with_mmd(output));
    }

    fn set_data(dev: &Device<'_, Self>, high: bool) {
        let data = dev.data();

        data.wires.change(data.get_ref(), |pir| pir.with_mdo(high));
    }

    fn data(dev: &Device<'_, Self>) -> bool {
        dev.data().io.read(PIR).mdi()
    }
}
