// SPDX-License-Identifier: GPL-2.0

//! Interrupt coalescing.
//!
//! So far this is the core's (`gro_flush_timeout`, `napi_defer_hard_irqs`, `threaded` in sysfs):
//! here is what is on by default.

use kernel::prelude::*;

use super::{
    driver::Ravb,
    hw_info::HwInfo, //
};
use crate::net::{
    device::num_present_cpus,
    Setup, //
};

/// Sets what is good for the chip's systems. Users can change all of it at run time.
pub(super) fn set_defaults(setup: &mut Setup<'_, Ravb>, info: &HwInfo) -> Result {
    if info.policy.coalesce_irqs {
        setup.sw_irq_coalesce_default_on()?;
        // With one CPU a flood of packets keeps it in softirq context: the thread that is to take
        // the packets would not run. As a thread itself NAPI takes turns with it.
        if num_present_cpus() == 1 {
            setup.threaded_default_on()?;
        }
    }
    Ok(())
}
