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

ravb::hw_info::device_table!(OF_TABLE);

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
