// SPDX-License-Identifier: GPL-2.0

//! The MAC's side of phylib.
//!
//! C header: [`include/linux/phy.h`](srctree/include/linux/phy.h)

use core::marker::PhantomData;

use kernel::{
    error::to_result,
    prelude::*,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    },
    of::Node,
    rtnl::{
        self,
        Rtnl, //
    }, //
};

/// How the MAC and the PHY are connected.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Mode(bindings::phy_interface_t);

macro_rules! modes {
    ($($(#[$doc:meta])* $name:ident = $c:ident;)*) => {
        impl Mode {$(
            $(#[$doc])*
            pub const $name: Mode = Mode(bindings::$c);
        )*}
    };
}

modes! {
    /// Not known.
    NA = phy_interface_t_PHY_INTERFACE_MODE_NA;
    /// MII.
    MII = phy_interface_t_PHY_INTERFACE_MODE_MII;
    /// GMII.
    GMII = phy_interface_t_PHY_INTERFACE_MODE_GMII;
    /// RMII.
    RMII = phy_interface_t_PHY_INTERFACE_MODE_RMII;
    /// RGMII without delays in the PHY.
    RGMII = phy_interface_t_PHY_INTERFACE_MODE_RGMII;
    /// RGMII, the PHY delays both ways.
    RGMII_ID = phy_interface_t_PHY_INTERFACE_MODE_RGMII_ID;
    /// RGMII, the PHY delays received data.
    RGMII_RXID = phy_interface_t_PHY_INTERFACE_MODE_RGMII_RXID;
    /// RGMII, the PHY delays sent data.
    RGMII_TXID = phy_interface_t_PHY_INTERFACE_MODE_RGMII_TXID;
}

impl Mode {
    #[inline]
    pub(super) fn from_raw(mode: bindings::phy_interface_t) -> Self {
        Mode(mode)
    }

    /// Returns whether this is RGMII, with any delays.
    pub fn is_rgmii(self) -> bool {
        [
            Mode::RGMII,
            Mode::RGMII_ID,
            Mode::RGMII_RXID,
            Mode::RGMII_TXID,
        ]
        .contains(&self)
    }
}

/// Half or full duplex.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Duplex {
    /// One way at a time.
    Half,
    /// Both ways.
    Full,
}

/// The state of the link.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct LinkState {
    /// Whether there is a link.
    pub up: bool,
    /// Its speed in Mbit/s, if known.
    pub speed: Option<u32>,
    /// Its duplex mode, if known.
    pub duplex: Option<Duplex>,
    /// Whether we should send pause frames.
    pub tx_pause: bool,
    /// Whether we should obey pause frames.
    pub rx_pause: bool,
}

/// The link, in [`Operations::adjust_link`]: dereference it for its state.
///
/// # Invariants
///
/// `phydev` is attached, and its lock is held.
pub struct Link<'a> {
    state: LinkState,
    phydev: *mut bindings::phy_device,
    _life: PhantomData<&'a ()>,
}

impl core::ops::Deref for Link<'_> {
    type Target = LinkState;

    fn deref(&self) -> &LinkState {
        &self.state
    }
}

impl Link<'_> {
    /// Prints the state of the link.
    pub fn print(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::phy_print_status(self.phydev) };
    }
}

/// A link mode that a MAC may lack.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct LinkMode(bindings::ethtool_link_mode_bit_indices);

macro_rules! link_modes {
    ($($(#[$doc:meta])* $name:ident = $c:ident;)*) => {
        impl LinkMode {$(
            $(#[$doc])*
            pub const $name: LinkMode = LinkMode(bindings::$c);
        )*}
    };
}

link_modes! {
    /// 10 Mbit/s, half duplex.
    TP10_HALF = ethtool_link_mode_bit_indices_ETHTOOL_LINK_MODE_10baseT_Half_BIT;
    /// 10 Mbit/s, full duplex.
    TP10_FULL = ethtool_link_mode_bit_indices_ETHTOOL_LINK_MODE_10baseT_Full_BIT;
    /// 100 Mbit/s, half duplex.
    TP100_HALF = ethtool_link_mode_bit_indices_ETHTOOL_LINK_MODE_100baseT_Half_BIT;
    /// 100 Mbit/s, full duplex.
    TP100_FULL = ethtool_link_mode_bit_indices_ETHTOOL_LINK_MODE_100baseT_Full_BIT;
    /// 1 Gbit/s, half duplex.
    TP1000_HALF = ethtool_link_mode_bit_indices_ETHTOOL_LINK_MODE_1000baseT_Half_BIT;
    /// 1 Gbit/s, full duplex.
    TP1000_FULL = ethtool_link_mode_bit_indices_ETHTOOL_LINK_MODE_1000baseT_Full_BIT;
    /// Pause frames.
    PAUSE = ethtool_link_mode_bit_indices_ETHTOOL_LINK_MODE_Pause_BIT;
    /// Pause frames one way.
    ASYM_PAUSE = ethtool_link_mode_bit_indices_ETHTOOL_LINK_MODE_Asym_Pause_BIT;
}

/// What the framework keeps about the PHY of a device.
pub(super) struct Slot {
    /// Whether a fixed link is registered. Written under the RTNL.
    fixed: Atomic<bool>,
}

impl Slot {
    pub(super) fn new() -> Self {
        Self {
            fixed: Atomic::new(false),
        }
    }
}

/// Disconnects the PHY of a device that is being taken down, should `stop` have left it.
pub(super) fn disconnect<T: Operations>(dev: &Device<'_, T>) {
    dev.phy().disconnect(&rtnl::lock());
}

/// # Safety
///
/// To be called by phylib only, for devices of type `T` with a PHY.
unsafe extern "C" fn adjust_link<T: Operations>(ndev: *mut bindings::net_device) {
    // SAFETY: The device has its PHY disconnected before it is taken down.
    let dev = unsafe { Device::<'_, T>::from_raw(ndev) };
    // SAFETY: `ndev` is valid. phylib calls this with `phydev->lock` held.
    let phydev = unsafe { bindings::rnet_phydev(ndev) };

    if phydev.is_null() {
        return;
    }
    // SAFETY: The PHY is attached, and its lock is held.
    let (up, speed, duplex) = unsafe {
        (
            bindings::rnet_phy_link(phydev),
            (*phydev).speed,
            (*phydev).duplex,
        )
    };
    let (mut tx_pause, mut rx_pause) = (false, false);

    // SAFETY: As above.
    unsafe { bindings::rnet_phy_get_pause(phydev, &mut tx_pause, &mut rx_pause) };

    let state = LinkState {
        up,
        // SPEED_UNKNOWN is negative.
        speed: u32::try_from(speed).ok(),
        duplex: match u32::try_from(duplex) {
            Ok(bindings::DUPLEX_HALF) => Some(Duplex::Half),
            Ok(bindings::DUPLEX_FULL) => Some(Duplex::Full),
            _ => None,
        },
        tx_pause,
        rx_pause,
    };

    T::adjust_link(
        dev,
        &Link {
            state,
            phydev,
            _life: PhantomData,
        },
    );
}

/// The PHY port of a device.
pub struct Port<'a, 'b, T: Operations>(&'a Device<'b, T>);

impl<'a, 'b, T: Operations> Port<'a, 'b, T> {
    #[inline(always)]
    pub(super) fn new(dev: &'a Device<'b, T>) -> Self {
        Self(dev)
    }

    /// Returns the attached PHY. It stays attached while the RTNL is held.
    fn phydev(&self, _rtnl: &Rtnl) -> Option<*mut bindings::phy_device> {
        // SAFETY: `as_raw` is valid, and `phydev` changes under the RTNL only.
        let phydev = unsafe { bindings::rnet_phydev(self.0.as_raw()) };

        (!phydev.is_null()).then_some(phydev)
    }

    /// Returns whether a PHY is connected.
    pub fn is_connected(&self, rtnl: &Rtnl) -> bool {
        self.phydev(rtnl).is_some()
    }

    /// Connects the PHY that the device tree gives (`phy-handle` or `fixed-link`).
    ///
    /// Link changes are reported to [`Operations::adjust_link`] after [`start`](Port::start).
    /// Returns `EBUSY` if one is connected.
    pub fn connect(&self, mode: Mode, rtnl: &Rtnl) -> Result {
        if !T::HAS_ADJUST_LINK {
            build_error!("a driver that connects a PHY implements adjust_link");
        }
        if self.is_connected(rtnl) {
            return Err(EBUSY);
        }
        let node = Node::of_device(self.0.parent()).ok_or(ENODEV)?;
        let slot = &self.0.private().phy;
        let phy = match node.phandle(c"phy-handle") {
            Some(phy) => phy,
            None => {
                // SAFETY: The node is valid.
                if !unsafe { bindings::of_phy_is_fixed_link(node.as_raw()) } {
                    return Err(ENOENT);
                }
                if !slot.fixed.load(Relaxed) {
                    // SAFETY: The node is valid; deregistered by `disconnect`.
                    to_result(unsafe { bindings::of_phy_register_fixed_link(node.as_raw()) })?;
                    slot.fixed.store(true, Relaxed);
                }
                Node::of_device(self.0.parent()).ok_or(ENODEV)?
            }
        };

        // SAFETY: The device and the node are valid, the RTNL is held; the PHY is disconnected
        // before the device is taken down.
        let phydev = unsafe {
            bindings::of_phy_connect(
                self.0.as_raw(),
                phy.as_raw(),
                Some(adjust_link::<T>),
                0,
                mode.0,
            )
        };

        if phydev.is_null() {
            self.forget_fixed();
            return Err(ENODEV);
        }
        Ok(())
    }

    fn forget_fixed(&self) {
        let slot = &self.0.private().phy;

        if slot.fixed.load(Relaxed) {
            slot.fixed.store(false, Relaxed);
            if let Some(node) = Node::of_device(self.0.parent()) {
                // SAFETY: The node is valid, and its fixed link was registered by `connect`.
                unsafe { bindings::of_phy_deregister_fixed_link(node.as_raw()) };
            }
        }
    }

    /// Disconnects the PHY, if one is connected; stops it first.
    pub fn disconnect(&self, rtnl: &Rtnl) {
        if let Some(phydev) = self.phydev(rtnl) {
            // SAFETY: The PHY is attached, and the RTNL is held.
            unsafe { bindings::phy_disconnect(phydev) };
        }
        self.forget_fixed();
    }

    /// Starts the PHY, if one is connected.
    pub fn start(&self, rtnl: &Rtnl) {
        if let Some(phydev) = self.phydev(rtnl) {
            // SAFETY: The PHY is attached, and the RTNL is held.
            unsafe { bindings::phy_start(phydev) };
        }
    }

    /// Stops the PHY, if one is connected and started.
    pub fn stop(&self, rtnl: &Rtnl) {
        if let Some(phydev) = self.phydev(rtnl) {
            // SAFETY: The PHY is attached, and the RTNL is held.
            unsafe { bindings::phy_stop(phydev) };
        }
    }

    /// Removes what the MAC cannot do, before the PHY is started.
    pub fn remove_link_mode(&self, mode: LinkMode, rtnl: &Rtnl) {
        if let Some(phydev) = self.phydev(rtnl) {
            // SAFETY: The PHY is attached, and the RTNL is held.
            unsafe { bindings::phy_remove_link_mode(phydev, mode.0) };
        }
    }

    /// Limits the speed, before the PHY is started.
    pub fn set_max_speed(&self, mbps: u32, rtnl: &Rtnl) {
        if let Some(phydev) = self.phydev(rtnl) {
            // SAFETY: The PHY is attached, and the RTNL is held.
            unsafe { bindings::phy_set_max_speed(phydev, mbps) };
        }
    }

    /// Prints which PHY is attached.
    pub fn print_info(&self, rtnl: &Rtnl) {
        if let Some(phydev) = self.phydev(rtnl) {
            // SAFETY: The PHY is attached, and the RTNL is held.
            unsafe { bindings::phy_attached_info(phydev) };
        }
    }

    /// Tells phylib that the MAC suspends and resumes the PHY (by [`stop`](Port::stop) and
    /// [`start`](Port::start)), so that the MDIO bus does not do it.
    ///
    /// In probe, after the bus is registered: it matters even if the interface is never up. Does
    /// nothing if there is no PHY.
    pub fn set_mac_managed_pm(&self) {
        let Some(node) = Node::of_device(self.0.parent()) else {
            return;
        };
        let Some(phy) = node.phandle(c"phy-handle") else {
            return;
        };
        // SAFETY: The node is valid. The function takes a reference to what it finds.
        let phydev = unsafe { bindings::of_phy_find_device(phy.as_raw()) };

        if !phydev.is_null() {
            // SAFETY: The PHY is valid, since we have a reference, which ends here.
            unsafe {
                bindings::rnet_phy_set_mac_managed_pm(phydev);
                bindings::rnet_phy_put(phydev);
            }
        }
    }
}
