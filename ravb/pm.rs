// SPDX-License-Identifier: GPL-2.0

//! Power management.
//!
//! Runtime: an interface that is down has its reference clock off, and whatever the PM domain
//! switches. The registers keep their contents, the wires of MDIO work when the device is
//! resumed.
//!
//! System sleep: the chip is held in reset, and programmed from scratch afterwards, as by opening
//! the interface.

use kernel::prelude::*;

use super::{
    dmac,
    driver::Ravb,
    ptp, //
};
use crate::net::{
    Device,
    Rtnl, //
};

/// See [`crate::net::platform::Driver::runtime_suspend`].
pub(super) fn runtime_suspend(dev: &Device<'_, Ravb>) -> Result {
    let data = dev.data();

    ptp::power_off(dev);
    data.irq.power_off();
    dev.irqs().synchronize();
    data.refclk.disable_unprepare();
    Ok(())
}

/// See [`crate::net::platform::Driver::runtime_resume`].
pub(super) fn runtime_resume(dev: &Device<'_, Ravb>) -> Result {
    let data = dev.data();

    data.refclk.prepare_enable()?;
    data.irq.power_on();
    ptp::power_on(dev);
    Ok(())
}

/// See [`crate::net::platform::Driver::suspend`].
pub(super) fn suspend(dev: &Device<'_, Ravb>, rtnl: &Rtnl) -> Result {
    shutdown(dev, rtnl);
    dev.pm()
        .force_suspend()
        .and_then(|()| dev.data().reset.assert())
        .inspect_err(|_| {
            // No callback follows a suspend that has failed.
            if let Err(e) = resume(dev, rtnl) {
                dev_err!(dev, "cannot be resumed: {e:?}\n");
            }
        })
}

/// See [`crate::net::platform::Driver::resume`].
pub(super) fn resume(dev: &Device<'_, Ravb>, rtnl: &Rtnl) -> Result {
    dev.data().reset.deassert()?;
    dev.pm().force_resume()?;
    let result = restart(dev, rtnl);

    // Attached in any case: a device that could not be started can be taken down and up again.
    if dev.running() {
        dev.attach(rtnl);
    }
    result
}

/// Programs the chip after a reset.
fn restart(dev: &Device<'_, Ravb>, rtnl: &Rtnl) -> Result {
    let _active = dev.pm().resume()?;

    dmac::reset(dev)?;
    if dev.running() {
        Ravb::up(dev, rtnl)?;
    }
    Ok(())
}

/// See [`crate::net::platform::Driver::shutdown`].
pub(super) fn shutdown(dev: &Device<'_, Ravb>, rtnl: &Rtnl) {
    if dev.running() {
        dev.detach(rtnl);
        Ravb::down(dev, rtnl);
    }
}
