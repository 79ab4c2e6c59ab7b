// SPDX-License-Identifier: GPL-2.0

//! Renesas Ethernet AVB and Gigabit Ethernet driver.
//!
//! `ravb` is the driver, without unsafe code; `net` are the abstractions that it stands on.

use kernel::of;

pub mod net;

#[forbid(unsafe_code)]
mod ravb;

kernel::of_device_table!(
    OF_TABLE,
    <ravb::Ravb as net::platform::Driver>::IdInfo,
    [
        (of::DeviceId::new(c"renesas,etheravb-r8a7790"), ravb::hw_info::GEN2),
        (of::DeviceId::new(c"renesas,etheravb-r8a7794"), ravb::hw_info::GEN2),
        (of::DeviceId::new(c"renesas,etheravb-rcar-gen2"), ravb::hw_info::GEN2),
        (of::DeviceId::new(c"renesas,etheravb-r8a7795"), ravb::hw_info::GEN3),
        (of::DeviceId::new(c"renesas,etheravb-rcar-gen3"), ravb::hw_info::GEN3),
        (of::DeviceId::new(c"renesas,etheravb-rcar-gen4"), ravb::hw_info::GEN4),
        (of::DeviceId::new(c"renesas,etheravb-rzv2m"), ravb::hw_info::RZV2M),
        (of::DeviceId::new(c"renesas,rzg2l-gbeth"), ravb::hw_info::GBETH)
    ]
);

module_net_platform_driver! {
    type: ravb::Ravb,
    name: "ravb_rs",
    authors: ["The ravb_rs developers"],
    description: "Renesas Ethernet AVB and Gigabit Ethernet driver",
    license: "GPL",
}
