// SPDX-License-Identifier: GPL-2.0

//! `ethtool` operations.
//!
//! C header: [`include/linux/ethtool.h`](srctree/include/linux/ethtool.h)

use core::{
    marker::PhantomData,
    ops::{
        Deref,
        DerefMut, //
    }, //
};

use kernel::{
    error::{
        from_result,
        VTABLE_DEFAULT_ERROR, //
    },
    prelude::*,
    sync::atomic::Relaxed, //
};

use super::{
    bindings,
    device::Device,
    extack::ExtAck,
    rtnl::Rtnl, //
};

/// Sizes of the rings (`ethtool -g`, `-G`), in entries.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Rings {
    /// RX entries.
    pub rx: u32,
    /// TX entries.
    pub tx: u32,
}

/// Channels (`ethtool -l`): queues that are polled together, each with an interrupt.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Channels {
    /// Those with RX only.
    pub rx: u32,
    /// Those with TX only.
    pub tx: u32,
    /// Those with both.
    pub combined: u32,
}

/// Software or hardware interrupt coalescing (`ethtool -c`, `-C`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Coalesce {
    /// Microseconds between a received packet and the interrupt.
    pub rx_usecs: u32,
    /// Packets received before the interrupt.
    pub rx_max_frames: u32,
    /// Microseconds between a sent packet and the interrupt.
    pub tx_usecs: u32,
    /// Packets sent before the interrupt.
    pub tx_max_frames: u32,
}

/// Which parameters of [`Coalesce`] a driver supports.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct CoalesceParams(u32);

impl CoalesceParams {
    /// None.
    pub const NONE: Self = Self(0);
    /// `rx-usecs`.
    pub const RX_USECS: Self = Self(bindings::ETHTOOL_COALESCE_RX_USECS_);
    /// `rx-frames`.
    pub const RX_MAX_FRAMES: Self = Self(bindings::ETHTOOL_COALESCE_RX_MAX_FRAMES_);
    /// `tx-usecs`.
    pub const TX_USECS: Self = Self(bindings::ETHTOOL_COALESCE_TX_USECS_);
    /// `tx-frames`.
    pub const TX_MAX_FRAMES: Self = Self(bindings::ETHTOOL_COALESCE_TX_MAX_FRAMES_);

    /// Returns the union.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Pause parameters (`ethtool -a`, `-A`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Pause {
    /// Negotiated with the peer.
    pub autoneg: bool,
    /// Obey pause frames.
    pub rx: bool,
    /// Send pause frames.
    pub tx: bool,
}

/// Wake-on-LAN (`ethtool -s wol`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Wol {
    /// What is supported.
    pub supported: WakeOn,
    /// What is on.
    pub enabled: WakeOn,
}

/// What wakes the system.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct WakeOn(u32);

impl WakeOn {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// A magic packet.
    pub const MAGIC: Self = Self(bindings::WAKE_MAGIC);

    /// Returns whether all of `other` are in the set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Which time stamps there are (`ethtool -T`).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct TsInfo {
    /// Software stamps of sent packets ([`Skb::tx_timestamp`](super::Skb::tx_timestamp)).
    pub tx_software: bool,
    /// Hardware stamps: the number of the clock, and filters as bit masks of
    /// `HWTSTAMP_TX_*` and `HWTSTAMP_FILTER_*`.
    pub hardware: Option<HwTsInfo>,
}

/// See [`TsInfo::hardware`].
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct HwTsInfo {
    /// The number of the clock, if it is registered.
    pub phc_index: Option<u32>,
    /// Bit mask of `HWTSTAMP_TX_*`.
    pub tx_types: u32,
    /// Bit mask of `HWTSTAMP_FILTER_*`.
    pub rx_filters: u32,
}

macro_rules! stats_group {
    ($(#[$doc:meta])* $name:ident = $c:ident, $fields:ident) => {
        $(#[$doc])*
        ///
        /// Dereference it for the fields; what is not set is not reported.
        #[repr(transparent)]
        pub struct $name(bindings::$c);

        impl Deref for $name {
            type Target = bindings::$fields;

            fn deref(&self) -> &Self::Target {
                // SAFETY: C has the fields twice, by themselves and as a group (`struct_group()`),
                // at the same places.
                unsafe { &self.0.__bindgen_anon_1.stats }
            }
        }

        impl DerefMut for $name {
            fn deref_mut(&mut self) -> &mut Self::Target {
                // SAFETY: As above.
                unsafe { &mut self.0.__bindgen_anon_1.stats }
            }
        }
    };
}

stats_group! {
    /// Statistics of the MAC, IEEE 802.3 clause 30.3.1.1 (`ethtool -S --groups eth-mac`).
    MacStats = ethtool_eth_mac_stats, ethtool_eth_mac_stats__bindgen_ty_1__bindgen_ty_2
}
stats_group! {
    /// Statistics of the PHY's side, IEEE 802.3 clause 30.3.2.1 (`ethtool -S --groups eth-phy`).
    PhyStats = ethtool_eth_phy_stats, ethtool_eth_phy_stats__bindgen_ty_1__bindgen_ty_2
}
stats_group! {
    /// Statistics of MAC control frames.
    CtrlStats = ethtool_eth_ctrl_stats, ethtool_eth_ctrl_stats__bindgen_ty_1__bindgen_ty_2
}
stats_group! {
    /// Statistics of pause frames.
    PauseStats = ethtool_pause_stats, ethtool_pause_stats__bindgen_ty_1__bindgen_ty_2
}
stats_group! {
    /// Statistics of RMON, RFC 2819.
    RmonStats = ethtool_rmon_stats, ethtool_rmon_stats__bindgen_ty_1__bindgen_ty_2
}

/// A growing list of names, each at most 31 bytes (what is longer is cut).
pub struct Names<'a> {
    data: &'a mut [[u8; bindings::ETH_GSTRING_LEN as usize]],
    next: usize,
}

impl Names<'_> {
    /// Appends a name. What exceeds the number that
    /// [`stats_count`](Operations::stats_count) gave is left out.
    pub fn push(&mut self, name: kernel::fmt::Arguments<'_>) {
        if let Some(slot) = self.data.get_mut(self.next) {
            slot.fill(0);
            // The last byte stays zero. A name that is too long is cut, which is no error here.
            let len = slot.len() - 1;
            let mut writer = Truncating {
                buf: &mut slot[..len],
                pos: 0,
            };
            let _ = kernel::fmt::Write::write_fmt(&mut writer, name);
            self.next += 1;
        }
    }
}

struct Truncating<'a> {
    buf: &'a mut [u8],
    pos: usize,
}

impl kernel::fmt::Write for Truncating<'_> {
    fn write_str(&mut self, s: &str) -> kernel::fmt::Result {
        for (to, from) in self.buf.iter_mut().skip(self.pos).zip(s.bytes()) {
            *to = from;
            self.pos += 1;
        }
        Ok(())
    }
}

/// What `ethtool` can ask and change. All methods run in process context under the RTNL.
#[vtable]
pub trait Operations: super::Operations {
    /// Link settings, negotiation and statistics of the PHY are phylib's.
    const PHYLIB: bool = true;

    /// Parameters that [`set_coalesce`](Operations::set_coalesce) supports.
    const COALESCE: CoalesceParams = CoalesceParams::NONE;

    /// The message level.
    fn msglevel(_dev: &Device<'_, Self>) -> u32 {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Changes the message level.
    fn set_msglevel(_dev: &Device<'_, Self>, _level: u32) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// How many private statistics there are.
    fn stats_count(_dev: &Device<'_, Self>) -> usize {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The names of the private statistics.
    fn stats_names(_dev: &Device<'_, Self>, _names: &mut Names<'_>) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The private statistics; `values` has room for [`stats_count`](Operations::stats_count).
    fn stats(_dev: &Device<'_, Self>, _values: &mut [u64]) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The largest and the current ring sizes.
    fn rings(_dev: &Device<'_, Self>, _rtnl: &Rtnl) -> (Rings, Rings) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Changes the ring sizes; what exceeds the largest ones was refused already.
    fn set_rings(
        _dev: &Device<'_, Self>,
        _rings: Rings,
        _extack: &ExtAck<'_>,
        _rtnl: &Rtnl,
    ) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The channels, of which there are always as many. `ethtool -Q` without a mask of queues asks
    /// for their number.
    fn channels(_dev: &Device<'_, Self>, _rtnl: &Rtnl) -> Channels {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Coalescing of a queue, or of all.
    fn coalesce(_dev: &Device<'_, Self>, _queue: Option<u32>, _rtnl: &Rtnl) -> Result<Coalesce> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Changes coalescing of a queue, or of all.
    fn set_coalesce(
        _dev: &Device<'_, Self>,
        _queue: Option<u32>,
        _coalesce: Coalesce,
        _extack: &ExtAck<'_>,
        _rtnl: &Rtnl,
    ) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Pause parameters.
    fn pause(_dev: &Device<'_, Self>, _rtnl: &Rtnl) -> Pause {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Changes pause parameters.
    fn set_pause(_dev: &Device<'_, Self>, _pause: Pause, _rtnl: &Rtnl) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Which time stamps there are.
    fn ts_info(_dev: &Device<'_, Self>, _rtnl: &Rtnl) -> TsInfo {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Wake-on-LAN.
    fn wol(_dev: &Device<'_, Self>, _rtnl: &Rtnl) -> Wol {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Changes Wake-on-LAN.
    fn set_wol(_dev: &Device<'_, Self>, _wake: WakeOn, _rtnl: &Rtnl) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The size of a register dump, in 32-bit words.
    fn regs_len(_dev: &Device<'_, Self>) -> usize {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Dumps registers, and returns the version of the dump's layout.
    fn regs(_dev: &Device<'_, Self>, _regs: &mut [u32], _rtnl: &Rtnl) -> u32 {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Statistics of the MAC: what the hardware counts, which no software stands in for.
    fn mac_stats(_dev: &Device<'_, Self>, _stats: &mut MacStats) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Statistics of the PHY's side, of which the same is true.
    fn phy_stats(_dev: &Device<'_, Self>, _stats: &mut PhyStats) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Statistics of pause frames.
    fn pause_stats(_dev: &Device<'_, Self>, _stats: &mut PauseStats) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Statistics of RMON.
    fn rmon_stats(_dev: &Device<'_, Self>, _stats: &mut RmonStats) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }
}

/// Returns the operations table for devices of type `T`.
pub(super) fn table<T: Operations>() -> &'static bindings::ethtool_ops {
    &Table::<T>::OPS
}

struct Table<T: Operations>(PhantomData<T>);

macro_rules! provided {
    ($has:ident, $f:expr) => {
        if T::$has {
            Some($f)
        } else {
            None
        }
    };
}

impl<T: Operations> Table<T> {
    const OPS: bindings::ethtool_ops = bindings::ethtool_ops {
        supported_coalesce_params: T::COALESCE.0,
        get_link: Some(bindings::ethtool_op_get_link),
        nway_reset: if T::PHYLIB {
            Some(bindings::phy_ethtool_nway_reset)
        } else {
            None
        },
        get_link_ksettings: if T::PHYLIB {
            Some(bindings::phy_ethtool_get_link_ksettings)
        } else {
            None
        },
        set_link_ksettings: if T::PHYLIB {
            Some(bindings::phy_ethtool_set_link_ksettings)
        } else {
            None
        },
        get_msglevel: provided!(HAS_MSGLEVEL, Self::msglevel),
        set_msglevel: provided!(HAS_SET_MSGLEVEL, Self::set_msglevel),
        get_sset_count: provided!(HAS_STATS_COUNT, Self::sset_count),
        get_strings: provided!(HAS_STATS_NAMES, Self::strings),
        get_ethtool_stats: provided!(HAS_STATS, Self::stats),
        get_ringparam: provided!(HAS_RINGS, Self::rings),
        set_ringparam: provided!(HAS_SET_RINGS, Self::set_rings),
        get_channels: provided!(HAS_CHANNELS, Self::channels),
        set_channels: provided!(HAS_CHANNELS, Self::set_channels),
        get_coalesce: provided!(HAS_COALESCE, Self::coalesce),
        set_coalesce: provided!(HAS_SET_COALESCE, Self::set_coalesce),
        get_per_queue_coalesce: provided!(HAS_COALESCE, Self::queue_coalesce),
        set_per_queue_coalesce: provided!(HAS_SET_COALESCE, Self::set_queue_coalesce),
        get_pauseparam: provided!(HAS_PAUSE, Self::pause),
        set_pauseparam: provided!(HAS_SET_PAUSE, Self::set_pause),
        get_ts_info: if T::HAS_TS_INFO {
            Some(Self::ts_info)
        } else {
            Some(bindings::ethtool_op_get_ts_info)
        },
        get_wol: provided!(HAS_WOL, Self::wol),
        set_wol: provided!(HAS_SET_WOL, Self::set_wol),
        get_regs_len: provided!(HAS_REGS_LEN, Self::regs_len),
        get_regs: provided!(HAS_REGS, Self::regs),
        get_eth_mac_stats: provided!(HAS_MAC_STATS, Self::mac_stats),
        get_eth_phy_stats: provided!(HAS_PHY_STATS, Self::phy_stats),
        get_pause_stats: provided!(HAS_PAUSE_STATS, Self::pause_stats),
        get_rmon_stats: provided!(HAS_RMON_STATS, Self::rmon_stats),
        ..pin_init::zeroed()
    };

    // The stack calls all of the following for registered devices of type `T`, with the RTNL held
    // since the devices are not "ops locked", and with structures that are its own.

    /// # Safety
    ///
    /// As just said.
    unsafe fn context<'a, 'b>(ndev: *mut bindings::net_device) -> (&'a Device<'b, T>, &'a Rtnl) {
        // SAFETY: By the safety requirement.
        unsafe { (Device::from_raw(ndev), Rtnl::assume_held()) }
    }

    extern "C" fn msglevel(ndev: *mut bindings::net_device) -> u32 {
        // SAFETY: See above.
        T::msglevel(unsafe { Self::context(ndev) }.0)
    }

    extern "C" fn set_msglevel(ndev: *mut bindings::net_device, level: u32) {
        // SAFETY: See above.
        T::set_msglevel(unsafe { Self::context(ndev) }.0, level);
    }

    extern "C" fn sset_count(ndev: *mut bindings::net_device, set: c_int) -> c_int {
        // SAFETY: See above.
        let (dev, _) = unsafe { Self::context(ndev) };

        // CAST: A small positive constant.
        if set != bindings::ethtool_stringset_ETH_SS_STATS as c_int {
            return EOPNOTSUPP.to_errno();
        }
        let count = c_int::try_from(T::stats_count(dev)).unwrap_or(0);

        dev.private().stats_count.store(count, Relaxed);
        count
    }

    extern "C" fn strings(ndev: *mut bindings::net_device, set: u32, data: *mut u8) {
        // SAFETY: See above.
        let (dev, _) = unsafe { Self::context(ndev) };

        if set != bindings::ethtool_stringset_ETH_SS_STATS {
            return;
        }
        // CAST: Not negative.
        let count = dev.private().stats_count.load(Relaxed) as usize;
        // SAFETY: The stack passes room for as many strings as `get_sset_count` has given it. It
        // holds the RTNL since then, so that this is the number that was stored last.
        let data = unsafe { core::slice::from_raw_parts_mut(data.cast(), count) };

        T::stats_names(dev, &mut Names { data, next: 0 });
    }

    extern "C" fn stats(
        ndev: *mut bindings::net_device,
        stats: *mut bindings::ethtool_stats,
        data: *mut u64,
    ) {
        // SAFETY: See above. The stack passes room for `n_stats` values.
        let ((dev, _), data) = unsafe {
            (
                Self::context(ndev),
                core::slice::from_raw_parts_mut(data, (*stats).n_stats as usize),
            )
        };

        T::stats(dev, data);
    }

    extern "C" fn rings(
        ndev: *mut bindings::net_device,
        ring: *mut bindings::ethtool_ringparam,
        _kernel: *mut bindings::kernel_ethtool_ringparam,
        _extack: *mut bindings::netlink_ext_ack,
    ) {
        // SAFETY: See above.
        let ((dev, rtnl), ring) = unsafe { (Self::context(ndev), &mut *ring) };
        let (max, now) = T::rings(dev, rtnl);

        ring.rx_max_pending = max.rx;
        ring.tx_max_pending = max.tx;
        ring.rx_pending = now.rx;
        ring.tx_pending = now.tx;
    }

    extern "C" fn set_rings(
        ndev: *mut bindings::net_device,
        ring: *mut bindings::ethtool_ringparam,
        _kernel: *mut bindings::kernel_ethtool_ringparam,
        extack: *mut bindings::netlink_ext_ack,
    ) -> c_int {
        // SAFETY: See above.
        let ((dev, rtnl), ring) = unsafe { (Self::context(ndev), &*ring) };
        // SAFETY: `extack` is null or valid.
        let extack = unsafe { ExtAck::from_raw(extack) };

        from_result(|| {
            // The netlink path has checked this, the ioctl path too; mini and jumbo rings are
            // refused there because their maximum is 0.
            let rings = Rings {
                rx: ring.rx_pending,
                tx: ring.tx_pending,
            };

            T::set_rings(dev, rings, &extack, rtnl).map(|()| 0)
        })
    }

    extern "C" fn channels(
        ndev: *mut bindings::net_device,
        channels: *mut bindings::ethtool_channels,
    ) {
        // SAFETY: See above.
        let ((dev, rtnl), channels) = unsafe { (Self::context(ndev), &mut *channels) };
        let now = T::channels(dev, rtnl);

        channels.max_rx = now.rx;
        channels.max_tx = now.tx;
        channels.max_combined = now.combined;
        channels.rx_count = now.rx;
        channels.tx_count = now.tx;
        channels.combined_count = now.combined;
    }

    // Called for other numbers only: those that there are the stack takes by itself, if there is
    // this function.
    extern "C" fn set_channels(
        _ndev: *mut bindings::net_device,
        _channels: *mut bindings::ethtool_channels,
    ) -> c_int {
        EOPNOTSUPP.to_errno()
    }

    fn load_coalesce(c: &bindings::ethtool_coalesce) -> Coalesce {
        Coalesce {
            rx_usecs: c.rx_coalesce_usecs,
            rx_max_frames: c.rx_max_coalesced_frames,
            tx_usecs: c.tx_coalesce_usecs,
            tx_max_frames: c.tx_max_coalesced_frames,
        }
    }

    fn store_coalesce(from: Coalesce, c: &mut bindings::ethtool_coalesce) {
        c.rx_coalesce_usecs = from.rx_usecs;
        c.rx_max_coalesced_frames = from.rx_max_frames;
        c.tx_coalesce_usecs = from.tx_usecs;
        c.tx_max_coalesced_frames = from.tx_max_frames;
    }

    extern "C" fn coalesce(
        ndev: *mut bindings::net_device,
        c: *mut bindings::ethtool_coalesce,
        _kernel: *mut bindings::kernel_ethtool_coalesce,
        _extack: *mut bindings::netlink_ext_ack,
    ) -> c_int {
        // SAFETY: See above.
        let ((dev, rtnl), c) = unsafe { (Self::context(ndev), &mut *c) };

        from_result(|| {
            Self::store_coalesce(T::coalesce(dev, None, rtnl)?, c);
            Ok(0)
        })
    }

    extern "C" fn set_coalesce(
        ndev: *mut bindings::net_device,
        c: *mut bindings::ethtool_coalesce,
        _kernel: *mut bindings::kernel_ethtool_coalesce,
        extack: *mut bindings::netlink_ext_ack,
    ) -> c_int {
        // SAFETY: See above.
        let ((dev, rtnl), c) = unsafe { (Self::context(ndev), &*c) };
        // SAFETY: `extack` is null or valid.
        let extack = unsafe { ExtAck::from_raw(extack) };

        from_result(|| {
            T::set_coalesce(dev, None, Self::load_coalesce(c), &extack, rtnl).map(|()| 0)
        })
    }

    extern "C" fn queue_coalesce(
        ndev: *mut bindings::net_device,
        queue: u32,
        c: *mut bindings::ethtool_coalesce,
    ) -> c_int {
        // SAFETY: See above.
        let ((dev, rtnl), c) = unsafe { (Self::context(ndev), &mut *c) };

        from_result(|| {
            Self::store_coalesce(T::coalesce(dev, Some(queue), rtnl)?, c);
            Ok(0)
        })
    }

    extern "C" fn set_queue_coalesce(
        ndev: *mut bindings::net_device,
        queue: u32,
        c: *mut bindings::ethtool_coalesce,
    ) -> c_int {
        // SAFETY: See above.
        let ((dev, rtnl), c) = unsafe { (Self::context(ndev), &*c) };
        // SAFETY: Null is fine.
        let extack = unsafe { ExtAck::from_raw(core::ptr::null_mut()) };

        from_result(|| {
            T::set_coalesce(dev, Some(queue), Self::load_coalesce(c), &extack, rtnl).map(|()| 0)
        })
    }

    extern "C" fn pause(ndev: *mut bindings::net_device, pause: *mut bindings::ethtool_pauseparam) {
        // SAFETY: See above.
        let ((dev, rtnl), pause) = unsafe { (Self::context(ndev), &mut *pause) };
        let now = T::pause(dev, rtnl);

        pause.autoneg = now.autoneg.into();
        pause.rx_pause = now.rx.into();
        pause.tx_pause = now.tx.into();
    }

    extern "C" fn set_pause(
        ndev: *mut bindings::net_device,
        pause: *mut bindings::ethtool_pauseparam,
    ) -> c_int {
        // SAFETY: See above.
        let ((dev, rtnl), pause) = unsafe { (Self::context(ndev), &*pause) };
        let wanted = Pause {
            autoneg: pause.autoneg != 0,
            rx: pause.rx_pause != 0,
            tx: pause.tx_pause != 0,
        };

        from_result(|| T::set_pause(dev, wanted, rtnl).map(|()| 0))
    }

    extern "C" fn ts_info(
        ndev: *mut bindings::net_device,
        info: *mut bindings::kernel_ethtool_ts_info,
    ) -> c_int {
        // SAFETY: See above.
        let ((dev, rtnl), info) = unsafe { (Self::context(ndev), &mut *info) };
        let ts = T::ts_info(dev, rtnl);

        info.so_timestamping =
            bindings::SOF_TIMESTAMPING_RX_SOFTWARE | bindings::SOF_TIMESTAMPING_SOFTWARE;
        info.phc_index = -1;
        if ts.tx_software {
            info.so_timestamping |= bindings::SOF_TIMESTAMPING_TX_SOFTWARE;
        }
        if let Some(hw) = ts.hardware {
            info.so_timestamping |= bindings::SOF_TIMESTAMPING_TX_HARDWARE
                | bindings::SOF_TIMESTAMPING_RX_HARDWARE
                | bindings::SOF_TIMESTAMPING_RAW_HARDWARE;
            // CAST: Clock numbers are small.
            info.phc_index = hw.phc_index.map_or(-1, |index| index as c_int);
            info.tx_types = hw.tx_types;
            info.rx_filters = hw.rx_filters;
        }
        0
    }

    extern "C" fn wol(ndev: *mut bindings::net_device, wol: *mut bindings::ethtool_wolinfo) {
        // SAFETY: See above.
        let ((dev, rtnl), wol) = unsafe { (Self::context(ndev), &mut *wol) };
        let now = T::wol(dev, rtnl);

        wol.supported = now.supported.0;
        wol.wolopts = now.enabled.0;
    }

    extern "C" fn set_wol(
        ndev: *mut bindings::net_device,
        wol: *mut bindings::ethtool_wolinfo,
    ) -> c_int {
        // SAFETY: See above.
        let ((dev, rtnl), wol) = unsafe { (Self::context(ndev), &*wol) };

        from_result(|| T::set_wol(dev, WakeOn(wol.wolopts), rtnl).map(|()| 0))
    }

    extern "C" fn regs_len(ndev: *mut bindings::net_device) -> c_int {
        // SAFETY: See above.
        let (dev, _) = unsafe { Self::context(ndev) };

        c_int::try_from(T::regs_len(dev).saturating_mul(size_of::<u32>())).unwrap_or(0)
    }

    extern "C" fn regs(
        ndev: *mut bindings::net_device,
        info: *mut bindings::ethtool_regs,
        data: *mut c_void,
    ) {
        // SAFETY: See above. The stack passes `len` zeroed bytes, aligned as vmalloc does it.
        let ((dev, rtnl), info, data) = unsafe {
            (
                Self::context(ndev),
                &mut *info,
                core::slice::from_raw_parts_mut(
                    data.cast::<u32>(),
                    (*info).len as usize / size_of::<u32>(),
                ),
            )
        };

        info.version = T::regs(dev, data, rtnl);
    }

    extern "C" fn mac_stats(
        ndev: *mut bindings::net_device,
        stats: *mut bindings::ethtool_eth_mac_stats,
    ) {
        // SAFETY: See above; transparent wrapper.
        let ((dev, _), stats) = unsafe { (Self::context(ndev), &mut *stats.cast()) };

        T::mac_stats(dev, stats);
    }

    extern "C" fn phy_stats(
        ndev: *mut bindings::net_device,
        stats: *mut bindings::ethtool_eth_phy_stats,
    ) {
        // SAFETY: See above; transparent wrapper.
        let ((dev, _), stats) = unsafe { (Self::context(ndev), &mut *stats.cast()) };

        T::phy_stats(dev, stats);
    }

    extern "C" fn pause_stats(
        ndev: *mut bindings::net_device,
        stats: *mut bindings::ethtool_pause_stats,
    ) {
        // SAFETY: See above; transparent wrapper.
        let ((dev, _), stats) = unsafe { (Self::context(ndev), &mut *stats.cast()) };

        T::pause_stats(dev, stats);
    }

    extern "C" fn rmon_stats(
        ndev: *mut bindings::net_device,
        stats: *mut bindings::ethtool_rmon_stats,
        _ranges: *mut *const bindings::ethtool_rmon_hist_range,
    ) {
        // SAFETY: See above; transparent wrapper.
        let ((dev, _), stats) = unsafe { (Self::context(ndev), &mut *stats.cast()) };

        T::rmon_stats(dev, stats);
    }
}
