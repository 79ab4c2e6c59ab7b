// SPDX-License-Identifier: GPL-2.0

//! The link: the PHY, and what the MAC does when it changes.

use kernel::{
    prelude::*,
    sync::atomic::Relaxed, //
};

use super::{
    driver::Ravb,
    emac,
    hw_info::Rate, //
};
use crate::net::{
    phy::{
        Link,
        LinkMode, //
    },
    Device,
    Rtnl, //
};

/// The bit of the message level that stands for link messages.
const MSG_LINK: u32 = 1 << 2;

/// Connects the PHY. MDIO works, nothing else needs to.
pub(super) fn connect(dev: &Device<'_, Ravb>, rtnl: &Rtnl) -> Result {
    let data = dev.data();
    let phy = dev.phy();

    phy.connect(data.board.phy_mode, rtnl)
        .inspect_err(|e| dev_err!(dev, "cannot connect the PHY: {e:?}\n"))?;

    if let Rate::Two = data.info.rate {
        for mode in [
            LinkMode::TP10_HALF,
            LinkMode::TP10_FULL,
            LinkMode::TP100_HALF,
            LinkMode::TP1000_HALF,
            LinkMode::PAUSE,
            LinkMode::ASYM_PAUSE,
        ] {
            phy.remove_link_mode(mode, rtnl);
        }
    }
    phy.print_info(rtnl);
    Ok(())
}

/// Disconnects the PHY.
pub(super) fn disconnect(dev: &Device<'_, Ravb>, rtnl: &Rtnl) {
    dev.phy().disconnect(rtnl);
}

/// Lets the PHY look for a link.
pub(super) fn start(dev: &Device<'_, Ravb>, rtnl: &Rtnl) {
    dev.phy().start(rtnl);
}

/// Takes the link down.
pub(super) fn stop(dev: &Device<'_, Ravb>, rtnl: &Rtnl) {
    dev.phy().stop(rtnl);
}

/// See [`crate::net::Operations::adjust_link`].
pub(super) fn adjust(dev: &Device<'_, Ravb>, link: &Link<'_>) {
    let data = dev.data();

    emac::set_link(data.get_ref(), link);
    if data.msg_level.load(Relaxed) & MSG_LINK != 0 {
        link.print();
    }
}
