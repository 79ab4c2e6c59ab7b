// SPDX-License-Identifier: GPL-2.0

//! Statistics.
//!
//! A poll counts in local variables and adds them to the queue's counters when it is done, so that
//! each counter has one writer at a time: the owner of the NAPI instance, unless it says otherwise.
//! Readers need no lock.
//!
//! The MAC has 16-bit counters of its own. They are read by whoever asks for statistics, under a
//! lock, and only the difference to the last reading is added: nothing is lost and nothing counted
//! twice, however many readers there are. While the interface is down the hardware is left alone.

use kernel::{
    io::Io,
    prelude::*,
    sync::SpinLockIrq, //
};

use super::{
    desc::RxHead,
    driver::{
        Private,
        Ravb, //
    },
    hw_info::{
        Checksum,
        HwInfo, //
    },
    regs::{
        CEFCR,
        CXR41,
        CXR42,
        FRECR,
        TLFRCR,
        TROCR, //
    },
    rx::Filled, //
};
use crate::net::{
    ethtool::{
        MacStats,
        PhyStats, //
    },
    stats::{
        Counter,
        LinkStats64,
        QueueStats as NetQueueStats,
        RxQueueStats,
        TxQueueStats, //
    },
    Device,
    Rtnl, //
};

/// What XDP programs have made of frames in a poll.
#[derive(Default)]
pub(super) struct XdpCounts {
    pub(super) pass: u32,
    pub(super) drop: u32,
    pub(super) aborted: u32,
    pub(super) tx: u32,
    pub(super) tx_errors: u32,
    pub(super) redirect: u32,
    pub(super) redirect_errors: u32,
}

/// What a poll has received.
#[derive(Default)]
pub(super) struct RxCounts {
    pub(super) bytes: u64,
    pub(super) packets: u32,
    pub(super) multicast: u32,
    pub(super) slots: u32,
    pub(super) errors: u32,
    pub(super) crc_errors: u32,
    pub(super) frame_errors: u32,
    pub(super) length_errors: u32,
    pub(super) missed_errors: u32,
    pub(super) checksum_errors: u32,
    pub(super) no_memory: u32,
}

impl RxCounts {
    /// Counts a frame in which the hardware has found errors, which may be several.
    pub(super) fn count_errors(&mut self, status: RxHead) {
        self.errors += 1;
        self.crc_errors += u32::from(status.crc_error());
        self.frame_errors += u32::from(status.phy_error());
        self.length_errors += u32::from(status.too_long() || status.too_short());
        self.missed_errors += u32::from(status.carrier_extension());
    }

    /// Counts a frame that is no frame.
    pub(super) fn count_shape(&mut self) {
        self.errors += 1;
        self.length_errors += 1;
    }
}

/// What a poll has found sent.
#[derive(Default)]
pub(super) struct TxCounts {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// Those of them that BQL knows nothing of.
    pub(super) frames: u64,
    pub(super) frame_bytes: u64,
    /// Packets that were taken out of the ring without being sent.
    pub(super) lost: u64,
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// The counters of a queue.
        #[derive(Default)]
        pub(super) struct QueueStats {$(
            $(#[$doc])*
            pub(super) $name: Counter,
        )*}
    };
}

counters! {
    rx_packets;
    /// From the Ethernet header to the end, without the frame check sequence.
    rx_bytes;
    rx_multicast;
    /// Slots of the ring that were received, and filled with buffers.
    rx_slots;
    rx_filled;
    rx_errors;
    rx_crc_errors;
    rx_frame_errors;
    rx_length_errors;
    rx_missed_errors;
    rx_checksum_errors;
    rx_no_memory;
    /// Times that there was no memory for a slot, which is tried again.
    rx_alloc_failed;
    /// What XDP programs have made of frames.
    rx_xdp_pass;
    rx_xdp_drop;
    rx_xdp_aborted;
    rx_xdp_tx;
    rx_xdp_tx_errors;
    rx_xdp_redirect;
    rx_xdp_redirect_errors;
    /// The ring was found full. Written under the lock of the interrupt masks.
    rx_over_errors;
    tx_packets;
    tx_bytes;
    tx_lost;
    /// Packets that `start_xmit` has dropped. Written under the queue's xmit lock.
    tx_dropped;
    /// Packets that were put into the ring. Written under the queue's xmit lock.
    tx_queued;
    /// Frames that programs of other devices have sent here, or could not. Written under the
    /// queue's xmit lock.
    tx_xdp_xmit;
    tx_xdp_xmit_errors;
    /// Times that the watchdog has found the queue stuck. Written under all xmit locks.
    tx_timeouts;
}

impl QueueStats {
    pub(super) fn add_rx(&self, counts: &RxCounts) {
        if counts.slots == 0 {
            return;
        }
        self.rx_packets.add(counts.packets.into());
        self.rx_bytes.add(counts.bytes);
        self.rx_multicast.add(counts.multicast.into());
        self.rx_slots.add(counts.slots.into());
        self.rx_checksum_errors.add(counts.checksum_errors.into());
        if counts.errors | counts.no_memory != 0 {
            self.rx_no_memory.add(counts.no_memory.into());
            self.rx_errors.add(counts.errors.into());
            self.rx_crc_errors.add(counts.crc_errors.into());
            self.rx_frame_errors.add(counts.frame_errors.into());
            self.rx_length_errors.add(counts.length_errors.into());
            self.rx_missed_errors.add(counts.missed_errors.into());
        }
    }

    pub(super) fn add_filled(&self, filled: Filled) {
        self.rx_filled.add(filled.slots.into());
        if filled.failed {
            self.rx_alloc_failed.inc();
        }
    }

    pub(super) fn add_xdp(&self, counts: &XdpCounts) {
        self.rx_xdp_pass.add(counts.pass.into());
        self.rx_xdp_drop.add(counts.drop.into());
        self.rx_xdp_aborted.add(counts.aborted.into());
        self.rx_xdp_tx.add(counts.tx.into());
        self.rx_xdp_tx_errors.add(counts.tx_errors.into());
        self.rx_xdp_redirect.add(counts.redirect.into());
        self.rx_xdp_redirect_errors
            .add(counts.redirect_errors.into());
    }

    pub(super) fn add_tx(&self, counts: &TxCounts) {
        self.tx_packets.add(counts.packets);
        self.tx_bytes.add(counts.bytes);
        self.tx_lost.add(counts.lost);
    }
}

/// A private statistic of a queue (`ethtool -S`), which is shown as `<direction>_queue_<n>_<name>`.
pub(super) struct PrivateStat {
    pub(super) direction: &'static str,
    pub(super) name: &'static str,
    pub(super) value: fn(&QueueStats) -> u64,
}

const fn rx(name: &'static str, value: fn(&QueueStats) -> u64) -> PrivateStat {
    PrivateStat {
        direction: "rx",
        name,
        value,
    }
}

const fn tx(name: &'static str, value: fn(&QueueStats) -> u64) -> PrivateStat {
    PrivateStat {
        direction: "tx",
        name,
        value,
    }
}

/// The private statistics of a queue: the names of the C driver, then those that are new here.
const PRIVATE_STATS: &[PrivateStat] = &[
    // The positions in the rings, counted on and on: what was received and sent, what was filled
    // and reclaimed.
    rx("current", |q| q.rx_slots.get()),
    tx("current", |q| q.tx_queued.get()),
    rx("dirty", |q| q.rx_filled.get()),
    tx("dirty", |q| {
        q.tx_packets.get().wrapping_add(q.tx_lost.get())
    }),
    rx("packets", |q| q.rx_packets.get()),
    tx("packets", |q| q.tx_packets.get()),
    rx("bytes", |q| q.rx_bytes.get()),
    tx("bytes", |q| q.tx_bytes.get()),
    rx("mcast_packets", |q| q.rx_multicast.get()),
    rx("errors", |q| q.rx_errors.get()),
    rx("crc_errors", |q| q.rx_crc_errors.get()),
    rx("frame_errors", |q| q.rx_frame_errors.get()),
    rx("length_errors", |q| q.rx_length_errors.get()),
    rx("missed_errors", |q| q.rx_missed_errors.get()),
    rx("over_errors", |q| q.rx_over_errors.get()),
    rx("no_memory", |q| q.rx_no_memory.get()),
    rx("alloc_failed", |q| q.rx_alloc_failed.get()),
    rx("xdp_pass", |q| q.rx_xdp_pass.get()),
    rx("xdp_drop", |q| q.rx_xdp_drop.get()),
    rx("xdp_aborted", |q| q.rx_xdp_aborted.get()),
    rx("xdp_tx", |q| q.rx_xdp_tx.get()),
    rx("xdp_tx_errors", |q| q.rx_xdp_tx_errors.get()),
    rx("xdp_redirect", |q| q.rx_xdp_redirect.get()),
    rx("xdp_redirect_errors", |q| q.rx_xdp_redirect_errors.get()),
    tx("dropped", |q| q.tx_dropped.get()),
    tx("lost", |q| q.tx_lost.get()),
    tx("xdp_xmit", |q| q.tx_xdp_xmit.get()),
    tx("xdp_xmit_errors", |q| q.tx_xdp_xmit_errors.get()),
    tx("timeouts", |q| q.tx_timeouts.get()),
];

/// Those of chips that check checksums themselves.
const ENGINE_STATS: &[PrivateStat] = &[rx("csum_offload_errors", |q| q.rx_checksum_errors.get())];

/// Returns the private statistics of a queue of a chip.
pub(super) fn private_stats(info: &HwInfo) -> impl Iterator<Item = &'static PrivateStat> + Clone {
    let more = match info.checksum {
        Checksum::Engine => ENGINE_STATS,
        Checksum::Sum => &[],
    };

    Iterator::chain(PRIVATE_STATS.iter(), more)
}

/// A counter in the MAC: 16 bits, which a write clears.
#[derive(Default)]
struct MacCounter {
    last: u16,
    total: u64,
}

impl MacCounter {
    /// Adds what has come since the last reading. Returns whether the counter should be cleared:
    /// it may stop at its end.
    fn update(&mut self, now: u16) -> bool {
        self.total = self.total.wrapping_add(now.wrapping_sub(self.last).into());
        self.last = now;
        if now < 1 << 15 {
            return false;
        }
        self.last = 0;
        true
    }
}

/// The counters in the MAC.
#[derive(Default)]
pub(super) struct MacCounters {
    /// Whether the registers can be accessed.
    live: bool,
    given_up: MacCounter,
    collisions: MacCounter,
    carrier: MacCounter,
    wrong_fcs: MacCounter,
    phy_errors: MacCounter,
    too_long: MacCounter,
}

impl MacCounters {
    /// Lets `each` see the counters that the chip has, with what their registers hold. It returns
    /// whether the register shall be cleared.
    fn for_each(&mut self, data: &Private<'_>, each: fn(&mut MacCounter, u16) -> bool) {
        let io = &data.io;

        macro_rules! visit {
            ($counter:ident, $register:ident) => {
                // CAST: The field has 16 bits.
                if each(&mut self.$counter, io.read($register).count().get() as u16) {
                    io.write_reg($register::zeroed());
                }
            };
        }

        if data.info.tx_counters {
            visit!(given_up, TROCR);
        }
        if data.info.carrier_counters {
            visit!(collisions, CXR41);
            visit!(carrier, CXR42);
        }
        visit!(wrong_fcs, CEFCR);
        visit!(phy_errors, FRECR);
        visit!(too_long, TLFRCR);
    }

    fn update(&mut self, data: &Private<'_>) {
        if self.live {
            self.for_each(data, MacCounter::update);
        }
    }

    /// The hardware can be read from now on. What it has counted until now is old, or rubbish.
    pub(super) fn start(&mut self, data: &Private<'_>) {
        self.for_each(data, |counter, _| {
            counter.last = 0;
            true
        });
        self.live = true;
    }

    /// Reads the hardware's counters once more, and not again until it is started.
    pub(super) fn stop(&mut self, data: &Private<'_>) {
        self.update(data);
        self.live = false;
    }
}

/// A lock for the counters in the MAC: statistics may be read in any context.
pub(super) type MacCountersLock = SpinLockIrq<MacCounters>;

/// Fills in the counters of the interface, see [`crate::net::Operations::get_stats64`].
pub(super) fn link_stats(data: &Private<'_>, stats: &mut LinkStats64) {
    for q in data.all_queue_stats() {
        stats.rx_packets += q.rx_packets.get();
        stats.rx_bytes += q.rx_bytes.get();
        stats.multicast += q.rx_multicast.get();
        stats.rx_errors += q.rx_errors.get();
        stats.rx_crc_errors += q.rx_crc_errors.get();
        stats.rx_frame_errors += q.rx_frame_errors.get();
        stats.rx_length_errors += q.rx_length_errors.get();
        stats.rx_missed_errors += q.rx_missed_errors.get();
        stats.rx_over_errors += q.rx_over_errors.get();
        stats.rx_dropped += q.rx_no_memory.get();
        stats.tx_packets += q.tx_packets.get();
        stats.tx_bytes += q.tx_bytes.get();
        stats.tx_dropped += q.tx_dropped.get() + q.tx_lost.get();
        stats.tx_errors += q.tx_timeouts.get();
    }
    stats.rx_fifo_errors += data.rx_fifo_errors.get();

    let mut mac = data.mac_counters.lock();

    mac.update(data);
    stats.tx_dropped += mac.given_up.total;
    stats.collisions += mac.collisions.total;
    stats.tx_carrier_errors += mac.carrier.total + data.false_carriers.get();
}

/// Fills in what the MAC counts by itself, see [`crate::net::ethtool::Operations::mac_stats`].
///
/// A GbEth drops damaged frames before anybody sees them: this is where they show. The counters of
/// frames with a fraction of an octet and of short ones are left out, since they also count frames
/// that are good, or bad, in the standard's other ways; that of multicasts is full in a minute.
pub(super) fn mac_stats(data: &Private<'_>, stats: &mut MacStats) {
    let mut mac = data.mac_counters.lock();

    mac.update(data);
    stats.FrameCheckSequenceErrors = mac.wrong_fcs.total;
    stats.FrameTooLongErrors = mac.too_long.total;
    if data.info.tx_counters {
        stats.FramesAbortedDueToXSColls = mac.given_up.total;
    }
    if data.info.carrier_counters {
        stats.CarrierSenseErrors = mac.carrier.total;
    }
}

/// The same for what the PHY says, see [`crate::net::ethtool::Operations::phy_stats`].
pub(super) fn phy_stats(data: &Private<'_>, stats: &mut PhyStats) {
    let mut mac = data.mac_counters.lock();

    mac.update(data);
    stats.SymbolErrorDuringCarrier = mac.phy_errors.total;
}

/// How many private statistics there are.
pub(super) fn count(info: &HwInfo) -> usize {
    info.queues * private_stats(info).count()
}

impl NetQueueStats for Ravb {
    fn rx(dev: &Device<'_, Self>, queue: usize, stats: &mut RxQueueStats, _rtnl: &Rtnl) {
        if let Some(q) = dev.data().get_ref().queue_stats(queue) {
            stats.packets = q.rx_packets.get();
            stats.bytes = q.rx_bytes.get();
            stats.alloc_fail = q.rx_no_memory.get() + q.rx_alloc_failed.get();
            stats.csum_bad = q.rx_checksum_errors.get();
        }
    }

    fn tx(dev: &Device<'_, Self>, queue: usize, stats: &mut TxQueueStats, _rtnl: &Rtnl) {
        if let Some(q) = dev.data().get_ref().queue_stats(queue) {
            stats.packets = q.tx_packets.get();
            stats.bytes = q.tx_bytes.get();
        }
    }

    fn base(_dev: &Device<'_, Self>, rx: &mut RxQueueStats, tx: &mut TxQueueStats, _rtnl: &Rtnl) {
        // Queues are never removed.
        rx.packets = 0;
        rx.bytes = 0;
        rx.alloc_fail = 0;
        rx.csum_bad = 0;
        tx.packets = 0;
        tx.bytes = 0;
    }
}

#[kunit_tests(ravb_rs_stats)]
mod tests {
    use super::*;

    #[test]
    fn mac_counter_counts_differences() {
        let mut counter = MacCounter::default();

        assert!(!counter.update(5));
        assert!(!counter.update(5));
        assert!(!counter.update(12));
        assert_eq!(counter.total, 12);
        // Past the middle it is cleared, and begins again at zero.
        assert!(counter.update(0x8000));
        assert_eq!(counter.total, 0x8000);
        assert!(!counter.update(3));
        assert_eq!(counter.total, 0x8003);
    }

    #[test]
    fn errors_of_one_frame() {
        let mut counts = RxCounts::default();

        // CRC and length: one frame, two kinds.
        counts.count_errors(RxHead::from(0x7005_0040));
        assert_eq!(counts.errors, 1);
        assert_eq!(counts.crc_errors, 1);
        assert_eq!(counts.length_errors, 1);
        assert_eq!(counts.frame_errors, 0);
    }
}
