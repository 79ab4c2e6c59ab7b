// SPDX-License-Identifier: GPL-2.0

//! The driver.
//!
//! | file | concern |
//! |---|---|
//! | `driver` | what the stack and the bus call; what a device is made of |
//! | `hw_info` | what differs between the chips |
//! | `regs`, `desc` | registers, descriptors |
//! | `ring`, `rx`, `tx` | rings and what moves through them |
//! | `xdp` | programs that see frames first |
//! | `poll`, `irq` | NAPI, interrupts |
//! | `queue` | the life of the queues: the one way to rest and back |
//! | `dmac`, `emac` | modes, start and stop; the MAC's settings and the checksum engine |
//! | `link`, `mdio` | the PHY |
//! | `ptp` | the clock, time stamps |
//! | `coalesce`, `ethtool`, `stats` | what users see and set |
//! | `pm`, `recover` | power management, stuck queues |

mod coalesce;
mod desc;
mod dmac;
mod driver;
mod emac;
mod ethtool;
pub(crate) mod hw_info;
mod irq;
mod link;
mod mdio;
mod pm;
mod poll;
mod ptp;
mod queue;
mod recover;
mod regs;
mod ring;
mod rx;
mod stats;
mod tx;
mod xdp;

pub(crate) use driver::Ravb;

use crate::wait;
