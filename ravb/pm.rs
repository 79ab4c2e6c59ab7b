// SPDX-License-Identifier: GPL-2.0

//! Power management.
//!
//! Runtime: an interface that is down has its reference clock off, and whatever the PM domain
//! switches. The registers keep their contents, the wires of MDIO work when the device is
//! resumed.
//!
//! System sleep: the chip is held in reset, and programmed from scratch afterwards, as by opening
//! the interface. With Wake-on-LAN it stays as it is, and receives on until a magic packet comes.

use kernel::prelude::*;

use super::{
    dmac,
    driver::Ravb,
    emac,
    ptp,
    queue,
    recover,
    regs::Mode, //
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
    if dev.data().is_up(rtnl) && dev.pm().may_wakeup() {
        return sleep_lightly(dev, rtnl);
    }
    shutdown(dev, rtnl);
    // The timer's mode will not be the one that it was.
    ptp::before_mode(dev, Mode::Reset);

    // No callback follows a suspend that has failed.
    if let Err(e) = dev.pm().force_suspend() {
        undone(dev, restart(dev, Ok(()), rtnl));
        return Err(e);
    }
    dev.data()
        .reset
        .assert()
        .inspect_err(|_| undone(dev, resume(dev, rtnl)))
}

/// See [`crate::net::platform::Driver::resume`].
pub(super) fn resume(dev: &Device<'_, Ravb>, rtnl: &Rtnl) -> Result {
    if emac::is_armed(dev.data().get_ref()) {
        return wake_up(dev, rtnl);
    }
    let deasserted = dev.data().reset.deassert();
    // Whatever became of the reset: runtime PM stays disabled otherwise.
    let resumed = dev.pm().force_resume();

    restart(dev, deasserted.and(resumed), rtnl)
}

/// Says so if a suspend that has failed could not be undone.
fn undone(dev: &Device<'_, Ravb>, result: Result) {
    if let Err(e) = result {
        dev_err!(dev, "cannot be resumed: {e:?}\n");
    }
}

/// Suspends a device that shall wake the system: nothing in the driver runs any more, and the chip
/// goes on receiving, without interrupts other than for a magic packet.
fn sleep_lightly(dev: &Device<'_, Ravb>, rtnl: &Rtnl) -> Result {
    let data = dev.data();

    dev.detach(rtnl);
    recover::cancel(dev);
    queue::freeze(dev, &dev.hold_napi(), rtnl);
    ptp::power_off(dev);
    emac::arm(data.get_ref());
    set_wake(dev, true).inspect_err(|e| {
        dev_err!(dev, "the interrupt cannot wake the system: {e:?}\n");
        // No callback follows a suspend that has failed.
        undone(dev, restore(dev, rtnl));
    })
}

/// Resumes from [`sleep_lightly`].
fn wake_up(dev: &Device<'_, Ravb>, rtnl: &Rtnl) -> Result {
    if let Err(e) = set_wake(dev, false) {
        dev_warn!(dev, "the interrupt goes on waking the system: {e:?}\n");
    }
    restore(dev, rtnl)
}

/// Starts the queues anew, in the midst of whatever the chip was doing.
fn restore(dev: &Device<'_, Ravb>, rtnl: &Rtnl) -> Result {
    // First: whatever fails after this, the next suspend and resume begin as usual.
    emac::disarm(dev.data().get_ref());
    dmac::stop(dev);
    ptp::power_on(dev);

    let result = {
        let hold = dev.hold_napi();

        queue::disable(dev, &hold, rtnl);
        queue::resume(dev, &hold, dev.features(), rtnl)
    };

    dev.attach(rtnl);
    result
}

/// Makes the line of the E-MAC wake the system, or not.
fn set_wake(dev: &Device<'_, Ravb>, on: bool) -> Result {
    let line = dev.data().info.lines.emac().ok_or(EINVAL)?;

    dev.irqs().set_wake(line, on)
}

/// Brings back what [`shutdown`] has taken down, if the chip is `ready` for that.
fn restart(dev: &Device<'_, Ravb>, ready: Result, rtnl: &Rtnl) -> Result {
    let result = ready.and_then(|()| program(dev, rtnl));

    // Attached in any case: a device that could not be started can be taken down and up again.
    if dev.running() {
        dev.attach(rtnl);
    }
    result
}

/// Programs the chip after a reset.
fn program(dev: &Device<'_, Ravb>, rtnl: &Rtnl) -> Result {
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
