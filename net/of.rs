// SPDX-License-Identifier: GPL-2.0

//! What the device tree says about a network device.
//!
//! Other properties: `kernel::device::Device::fwnode`.
//!
//! C header: [`include/linux/of_net.h`](srctree/include/linux/of_net.h)

use core::ptr::NonNull;

use kernel::{
    device::{
        self,
        Bound, //
    },
    error::to_result,
    prelude::*, //
};

use super::{
    bindings,
    device::MacAddress,
    dma::raw,
    phy::Mode, //
};

/// A reference to a device tree node.
///
/// # Invariants
///
/// Holds a reference count of the node.
pub(super) struct Node(NonNull<bindings::device_node>);

impl Node {
    /// Returns the node of a device.
    pub(super) fn of_device(dev: &device::Device<Bound>) -> Option<Self> {
        // SAFETY: The device is bound; taking a reference of no node gives none.
        let node = unsafe { bindings::rnet_of_node_get(bindings::rnet_of_node(raw(dev))) };

        // INVARIANT: Taken above.
        NonNull::new(node).map(Self)
    }

    /// Returns a child by name.
    pub(super) fn child(&self, name: &CStr) -> Option<Self> {
        // SAFETY: By the type invariant.
        let node = unsafe { bindings::rnet_of_get_child(self.as_raw(), name.as_char_ptr()) };

        // INVARIANT: The function takes a reference.
        NonNull::new(node).map(Self)
    }

    /// Returns the node that a property points at.
    pub(super) fn phandle(&self, name: &CStr) -> Option<Self> {
        // SAFETY: By the type invariant.
        let node = unsafe { bindings::rnet_of_parse_phandle(self.as_raw(), name.as_char_ptr()) };

        // INVARIANT: The function takes a reference.
        NonNull::new(node).map(Self)
    }

    pub(super) fn as_raw(&self) -> *mut bindings::device_node {
        self.0.as_ptr()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_of_node_put(self.as_raw()) };
    }
}

/// Returns how the MAC and the PHY are connected (`phy-mode`, `phy-connection-type`).
///
/// Fails with `EINVAL` if the property is missing, with `ENODEV` if it has an unknown value.
pub fn phy_mode(dev: &device::Device<Bound>) -> Result<Mode> {
    let node = Node::of_device(dev).ok_or(ENODEV)?;
    let mut mode = 0;

    // SAFETY: The node and `mode` are valid.
    to_result(unsafe { bindings::of_get_phy_mode(node.as_raw(), &mut mode) })?;
    Ok(Mode::from_raw(mode))
}

/// Returns the MAC address that the device tree gives: properties `mac-address`,
/// `local-mac-address`, `address`, or the nvmem cell `mac-address`.
///
/// `EPROBE_DEFER` means that the nvmem device is not ready; other errors that there is none.
pub fn mac_address(dev: &device::Device<Bound>) -> Result<MacAddress> {
    let node = Node::of_device(dev).ok_or(ENODEV)?;
    let mut address = [0; 6];

    // SAFETY: The node is valid, `address` has room for ETH_ALEN bytes.
    to_result(unsafe { bindings::of_get_mac_address(node.as_raw(), address.as_mut_ptr()) })?;
    Ok(MacAddress(address))
}
