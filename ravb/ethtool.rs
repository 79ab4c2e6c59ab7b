// SPDX-License-Identifier: GPL-2.0

//! What `ethtool` shows and changes. Link settings and negotiation are phylib's.

use kernel::{
    prelude::*,
    sync::atomic::Relaxed, //
};

use super::{
    coalesce,
    driver::Ravb,
    hw_info::{
        RingSizes,
        BE,
        MAX_RING,
        MIN_RING, //
    },
    queue,
    stats, //
};
use crate::net::{
    ethtool::{
        Channels,
        Coalesce,
        CoalesceParams,
        HwTsInfo,
        MacStats,
        Names,
        Operations,
        PhyStats,
        Rings,
        TsInfo,
        WakeOn,
        Wol, //
    },
    extack::ExtAck,
    ptp::{
        RxFilter,
        TxType, //
    },
    Device,
    Rtnl, //
};

/// Returns what is wrong with sizes that a user wants.
fn out_of_range(rings: &Rings) -> Option<&'static CStr> {
    if rings.rx < MIN_RING.rx || rings.rx > MAX_RING.rx {
        return Some(c"the RX ring can have 64 to 2048 entries");
    }
    if rings.tx < MIN_RING.tx || rings.tx > MAX_RING.tx {
        return Some(c"the TX ring can have 64 to 1024 entries");
    }
    None
}

#[vtable]
impl Operations for Ravb {
    const COALESCE: CoalesceParams = coalesce::PARAMS;

    fn msglevel(dev: &Device<'_, Self>) -> u32 {
        dev.data().msg_level.load(Relaxed)
    }

    fn set_msglevel(dev: &Device<'_, Self>, level: u32) {
        dev.data().msg_level.store(level, Relaxed);
    }

    fn stats_count(dev: &Device<'_, Self>) -> usize {
        stats::count(dev.data().info)
    }

    fn stats_names(dev: &Device<'_, Self>, names: &mut Names<'_>) {
        let info = dev.data().info;

        for queue in 0..info.queues {
            for stat in stats::private_stats(info) {
                names.push(fmt!("{}_queue_{queue}_{}", stat.direction, stat.name));
            }
        }
    }

    fn stats(dev: &Device<'_, Self>, values: &mut [u64]) {
        let data = dev.data();
        let private = stats::private_stats(data.info);
        let all = data
            .get_ref()
            .all_queue_stats()
            .iter()
            .flat_map(|queue| private.clone().map(|stat| (stat.value)(queue)));

        for (to, value) in values.iter_mut().zip(all) {
            *to = value;
        }
    }

    fn mac_stats(dev: &Device<'_, Self>, stats: &mut MacStats) {
        stats::mac_stats(dev.data().get_ref(), stats);
    }

    fn phy_stats(dev: &Device<'_, Self>, stats: &mut PhyStats) {
        stats::phy_stats(dev.data().get_ref(), stats);
    }

    fn rings(dev: &Device<'_, Self>, _rtnl: &Rtnl) -> (Rings, Rings) {
        let [now, ..] = dev.data().ring_sizes();

        (
            Rings {
                rx: MAX_RING.rx,
                tx: MAX_RING.tx,
            },
            Rings {
                rx: now.rx,
                tx: now.tx,
            },
        )
    }

    fn set_rings(dev: &Device<'_, Self>, rings: Rings, extack: &ExtAck<'_>, rtnl: &Rtnl) -> Result {
        if let Some(why) = out_of_range(&rings) {
            return Err(extack.fail(EINVAL, why));
        }
        let data = dev.data();
        let wanted = RingSizes {
            rx: rings.rx,
            tx: rings.tx,
        };

        if data.is_up(rtnl) {
            let mut sizes = data.ring_sizes();

            sizes[BE] = wanted;
            // The old rings go on until the new ones are there.
            let rings = queue::allocate(dev, &sizes, data.xdp.lock().as_ref(), rtnl)
                .inspect_err(|_| extack.set(c"no memory for the rings"))?;

            queue::exchange(dev, rings, rtnl)?;
        }
        data.set_ring_sizes(wanted, rtnl);
        Ok(())
    }

    fn channels(dev: &Device<'_, Self>, _rtnl: &Rtnl) -> Channels {
        Channels {
            // CAST: At most `MAX_QUEUES`.
            combined: dev.data().info.queues as u32,
            ..Channels::default()
        }
    }

    fn coalesce(dev: &Device<'_, Self>, queue: Option<u32>, rtnl: &Rtnl) -> Result<Coalesce> {
        coalesce::get(dev, queue, rtnl)
    }

    fn set_coalesce(
        dev: &Device<'_, Self>,
        queue: Option<u32>,
        wanted: Coalesce,
        extack: &ExtAck<'_>,
        rtnl: &Rtnl,
    ) -> Result {
        coalesce::set(dev, queue, wanted, extack, rtnl)
    }

    fn wol(dev: &Device<'_, Self>, _rtnl: &Rtnl) -> Wol {
        if !dev.data().info.magic_packet {
            return Wol::default();
        }
        Wol {
            supported: WakeOn::MAGIC,
            enabled: if dev.pm().may_wakeup() {
                WakeOn::MAGIC
            } else {
                WakeOn::NONE
            },
        }
    }

    fn set_wol(dev: &Device<'_, Self>, wake: WakeOn, _rtnl: &Rtnl) -> Result {
        if !dev.data().info.magic_packet || !WakeOn::MAGIC.contains(wake) {
            return Err(EOPNOTSUPP);
        }
        dev.pm().set_wakeup(wake != WakeOn::NONE)
    }

    fn ts_info(dev: &Device<'_, Self>, _rtnl: &Rtnl) -> TsInfo {
        TsInfo {
            tx_software: true,
            hardware: dev.data().info.has_clock().then(|| HwTsInfo {
                phc_index: dev.clock_index(),
                tx_types: TxType::Off.bit() | TxType::On.bit(),
                rx_filters: RxFilter::None.bit()
                    | RxFilter::PtpV2L2Event.bit()
                    | RxFilter::All.bit(),
            }),
        }
    }
}

#[kunit_tests(ravb_rs_ethtool)]
mod tests {
    use super::*;

    #[test]
    fn ring_sizes() {
        let refused = |rx, tx| out_of_range(&Rings { rx, tx }).is_some();

        assert!(!refused(64, 64));
        assert!(!refused(2048, 1024));
        for (rx, tx) in [(63, 64), (2049, 64), (64, 63), (64, 1025)] {
            assert!(refused(rx, tx));
        }
        for wrong in [0, u32::MAX] {
            assert!(refused(wrong, 64));
            assert!(refused(64, wrong));
        }
    }
}
