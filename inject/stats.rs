// SPDX-License-Identifier: GPL-2.0

//! Statistics.

use kernel::prelude::*;

use super::driver::Inject;
use crate::net::{
    ethtool::{
        Names,
        Operations,
        TsInfo, //
    },
    stats::{
        Counter,
        LinkStats64, //
    },
    Device,
    Rtnl, //
};

/// Counters. Those of TX are written under the transmit lock, those of RX in the poll.
#[derive(Default)]
pub(super) struct Stats {
    pub(super) tx_packets: Counter,
    pub(super) tx_bytes: Counter,
    /// Packets for which there was no memory.
    pub(super) tx_dropped: Counter,
    /// Frames for whose next word the FIFO was not ready in time.
    pub(super) tx_timeouts: Counter,
    /// How often the queue was stopped.
    pub(super) tx_stops: Counter,
    pub(super) rx_packets: Counter,
    pub(super) rx_bytes: Counter,
    pub(super) rx_dropped: Counter,
    pub(super) rx_length_errors: Counter,
    /// Frames that were cut off or given up.
    pub(super) rx_broken: Counter,
}

impl Stats {
    /// See [`crate::net::Operations::get_stats64`].
    pub(super) fn fill(&self, stats: &mut LinkStats64) {
        stats.tx_packets = self.tx_packets.get();
        stats.tx_bytes = self.tx_bytes.get();
        stats.tx_dropped = self.tx_dropped.get().wrapping_add(self.tx_timeouts.get());
        stats.rx_packets = self.rx_packets.get();
        stats.rx_bytes = self.rx_bytes.get();
        stats.rx_dropped = self.rx_dropped.get();
        stats.rx_length_errors = self.rx_length_errors.get();
        stats.rx_frame_errors = self.rx_broken.get();
        stats.rx_errors = stats.rx_length_errors.wrapping_add(stats.rx_frame_errors);
    }
}

#[vtable]
impl Operations for Inject {
    fn stats_count(_dev: &Device<'_, Self>) -> usize {
        2
    }

    fn stats_names(_dev: &Device<'_, Self>, names: &mut Names<'_>) {
        names.push(fmt!("tx_fifo_timeouts"));
        names.push(fmt!("tx_queue_stops"));
    }

    fn stats(dev: &Device<'_, Self>, values: &mut [u64]) {
        let data = dev.data();
        let stats = &data.stats;

        for (to, value) in values.iter_mut().zip([&stats.tx_timeouts, &stats.tx_stops]) {
            *to = value.get();
        }
    }

    fn ts_info(_dev: &Device<'_, Self>, _rtnl: &Rtnl) -> TsInfo {
        TsInfo {
            tx_software: true,
            hardware: None,
        }
    }
}
