// SPDX-License-Identifier: GPL-2.0

//! Network devices: safe abstractions that `rust/kernel/net` lacks.
//!
//! A driver implements [`Operations`] (what the stack calls) and [`platform::Driver`] (how the
//! device is found and set up). It never owns a registration, it only sees references to its
//! [`Device`]: that is what lets all of this be safe, see `README.md` beside this file.
//!
//! All `unsafe` code of the module is below this one.

pub(crate) mod bindings;

pub mod device;
pub mod dma;
pub mod ethtool;
pub mod extack;
pub mod irq;
pub mod mdio;
pub mod napi;
pub mod of;
pub mod page_frags;
pub mod page_pool;
pub mod phy;
pub mod platform;
pub mod pm;
pub mod ptp;
pub mod queue;
pub mod reset;
pub mod rtnl;
pub mod rx_buffer;
pub mod skb;
pub mod spsc;
pub mod stats;
#[cfg(inject_wait_jiffies)]
pub mod time;
pub mod timer;
pub mod work;
pub mod xdp;

pub use device::{
    err_probe,
    Device,
    Features,
    MacAddress,
    Operations,
    Queues,
    RxMode,
    Setup, //
};
pub use napi::{
    Completion,
    Poll,
    Polled, //
};
pub use queue::{
    TxQueue,
    TxQueueRef,
    Xmit, //
};
pub use rtnl::Rtnl;
pub use skb::{
    ChecksumPlace,
    DropReason,
    Skb,
    TxSkb, //
};
pub use work::WorkFn;
