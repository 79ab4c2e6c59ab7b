// SPDX-License-Identifier: GPL-2.0

//! Renesas Ethernet AVB and Gigabit Ethernet driver, and a driver of the CPU port of a switch.
//!
//! `ravb` and `inject` are the drivers, without unsafe code; `net` are the abstractions that they
//! stand on, `wait` is how they wait for the hardware.

use kernel::of;

pub mod net;

#[forbid(unsafe_code)]
mod ravb;

#[forbid(unsafe_code)]
mod inject;

#[forbid(unsafe_code)]
mod wait;

kernel::of_device_table!(
    OF_TABLE,
    <ravb::Ravb as net::platform::Driver>::IdInfo,
    [
        (
            of::DeviceId::new(c"renesas,etheravb-r8a7790"),
            ravb::hw_info::GEN2
        ),
        (
            of::DeviceId::new(c"renesas,etheravb-r8a7794"),
            ravb::hw_info::GEN2
        ),
        (
            of::DeviceId::new(c"renesas,etheravb-rcar-gen2"),
            ravb::hw_info::GEN2
        ),
        (
            of::DeviceId::new(c"renesas,etheravb-r8a7795"),
            ravb::hw_info::GEN3
        ),
        (
            of::DeviceId::new(c"renesas,etheravb-rcar-gen3"),
            ravb::hw_info::GEN3
        ),
        (
            of::DeviceId::new(c"renesas,etheravb-rcar-gen4"),
            ravb::hw_info::GEN4
        ),
        (
            of::DeviceId::new(c"renesas,etheravb-rzv2m"),
            ravb::hw_info::RZV2M
        ),
        (
            of::DeviceId::new(c"renesas,rzg2l-gbeth"),
            ravb::hw_info::GBETH
        )
    ]
);

kernel::of_device_table!(
    INJECT_OF_TABLE,
    <inject::Inject as net::platform::Driver>::IdInfo,
    [(of::DeviceId::new(c"linux,lan966x-cpu-port"), ())]
);

module_net_platform_drivers! {
    types: [ravb: ravb::Ravb = c"ravb_rs", inject: inject::Inject = c"lan966x_cpu_port"],
    name: "ravb_rs",
    authors: ["The ravb_rs developers"],
    description: "Renesas Ethernet AVB and Gigabit Ethernet driver",
    license: "GPL",
}
