// SPDX-License-Identifier: GPL-2.0

//! Network devices.
//!
//! C header: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h)

use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

use kernel::{
    device::{
        self,
        Bound, //
    },
    error::{
        from_result,
        to_result,
        VTABLE_DEFAULT_ERROR, //
    },
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Mutex, //
    },
    types::{
        Opaque,
        ScopeGuard, //
    }, //
};

use super::{
    bindings,
    dma,
    ethtool,
    extack::ExtAck,
    irq,
    mdio,
    napi::{
        self,
        Poll,
        Polled, //
    },
    phy,
    pm,
    ptp,
    queue::{
        self,
        TxQueue,
        Xmit, //
    },
    rtnl::{
        self,
        Rtnl, //
    },
    skb::Skb,
    stats,
    timer,
    work::{
        self,
        WorkFn, //
    },
    xdp, //
};

/// What a network device does.
///
/// Corresponds to `struct net_device_ops` plus the callbacks that belong to a device: NAPI polls,
/// interrupts, work items, link changes. The table in `README.md` gives each one's context.
#[vtable]
pub trait Operations: Sized + 'static {
    /// The driver's private data, shared by all callbacks.
    ///
    /// `'b` is the time for which the device is bound to its driver.
    type Data<'b>: Send + Sync + 'b;

    /// State of one TX queue, protected by the queue's xmit lock.
    type TxState<'b>: Default + Send + 'b;

    /// State of one NAPI instance: the poll function's while NAPI is enabled, the configuration
    /// path's ([`napi::NapiGuard`]) while it is disabled.
    type NapiState<'b>: Default + Send + 'b;

    /// What tells the interrupt lines of the device apart in [`interrupt`](Operations::interrupt).
    type Line: Copy + Send + Sync + 'static;

    /// The device's work items, named by their position in this table.
    const WORK: &'static [WorkFn<Self>] = &[];

    /// How many timers the device has: see [`timer`](Operations::timer).
    const TIMERS: usize = 0;

    /// Brings the interface up. Process context, may sleep.
    fn open(dev: &Device<'_, Self>, rtnl: &Rtnl) -> Result;

    /// Takes the interface down. Process context, may sleep.
    ///
    /// On return nothing may be in flight: queues stopped, NAPI disabled, DMA off.
    fn stop(dev: &Device<'_, Self>, rtnl: &Rtnl);

    /// Sends a packet. Bottom halves are off and the queue's xmit lock is held (`queue` gives its
    /// state); interrupts are off as well when called by netconsole.
    fn start_xmit<'b>(dev: &Device<'b, Self>, skb: Skb, queue: TxQueue<'_, 'b, Self>) -> Xmit;

    /// NAPI poll: softirq or NAPI thread; under netpoll any context and no RX budget.
    fn poll<'b>(dev: &Device<'b, Self>, poll: Poll<'_, 'b, Self>) -> Polled;

    /// An interrupt: hardirq context, or an IRQ thread where interrupts are threaded.
    ///
    /// Lines are requested when the device is set up, so that this can run while the interface is
    /// down; on a shared line also while the device is suspended.
    fn interrupt(dev: &Device<'_, Self>, line: Self::Line) -> irq::Return {
        let _ = (dev, line);
        irq::Return::None
    }

    /// Timer `index` has expired ([`Device::timer`]): hardirq context, or softirq on PREEMPT_RT.
    fn timer(dev: &Device<'_, Self>, index: usize) {
        let _ = (dev, index);
    }

    /// Chooses the TX queue for a packet, below `real_num_tx_queues`. Bottom halves are off.
    ///
    /// While the device has only one TX queue this is called for packet sockets that go around the
    /// queueing discipline (`PACKET_QDISC_BYPASS`), and for nothing else.
    fn select_queue(_dev: &Device<'_, Self>, _skb: &Skb) -> u16 {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Fills in the counters of the interface. Runs under RCU: must not sleep.
    fn get_stats64(_dev: &Device<'_, Self>, _stats: &mut stats::LinkStats64) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Programs the address filter. Process context under the RTNL, may sleep.
    fn set_rx_mode(_dev: &Device<'_, Self>, _mode: &RxMode, _rtnl: &Rtnl) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// A new MAC address, already checked for validity, takes effect when this returns `Ok`.
    ///
    /// Without this method the address can be changed while the interface is down.
    fn set_mac_address(_dev: &Device<'_, Self>, _address: MacAddress, _rtnl: &Rtnl) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// A new MTU, already checked against the limits, takes effect when this returns `Ok`.
    fn change_mtu(_dev: &Device<'_, Self>, _mtu: u32, _rtnl: &Rtnl) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Resolves dependencies between features.
    fn fix_features(_dev: &Device<'_, Self>, _features: Features, _rtnl: &Rtnl) -> Features {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Applies features; they are recorded in the device when this returns `Ok`.
    fn set_features(_dev: &Device<'_, Self>, _features: Features, _rtnl: &Rtnl) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The watchdog found that a queue makes no progress. Bottom halves off, all queues frozen.
    fn tx_timeout(_dev: &Device<'_, Self>, _queue: u32) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The link changed. Process context under the PHY's lock.
    fn adjust_link(_dev: &Device<'_, Self>, _link: &phy::Link<'_>) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Reports the time-stamping configuration.
    fn hwtstamp_get(_dev: &Device<'_, Self>, _rtnl: &Rtnl) -> Result<ptp::HwTstampConfig> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Loads an XDP program, or replaces it, or removes it. Process context.
    ///
    /// On failure everything must be as before.
    fn xdp_setup(
        _dev: &Device<'_, Self>,
        _program: Option<xdp::Program>,
        _extack: &ExtAck<'_>,
        _rtnl: &Rtnl,
    ) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Sends frames that a program has redirected from elsewhere; with `flush`, the device must be
    /// told. Softirq context; this is also called while the interface is down, or being taken down.
    fn xdp_xmit<'b>(
        _dev: &Device<'b, Self>,
        _frames: &mut xdp::Frames<'_>,
        _flush: bool,
    ) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Changes the time-stamping configuration; returns what was really set.
    fn hwtstamp_set(
        _dev: &Device<'_, Self>,
        _config: ptp::HwTstampConfig,
        _extack: &ExtAck<'_>,
        _rtnl: &Rtnl,
    ) -> Result<ptp::HwTstampConfig> {
        build_error!(VTABLE_DEFAULT_ERROR)
    }
}

/// The size of `struct net_device`, up to its private data.
const PRIV_OFFSET: usize = bindings::NET_DEVICE_PRIV_OFFSET;

/// What the framework keeps in the private area of a `net_device`.
///
/// Fields are dropped in order, after `Bound` has taken down all registrations.
#[pin_data]
pub(super) struct Private<T: Operations> {
    pub(super) tx: KVec<queue::Slot<T>>,
    pub(super) napi: KVec<Pin<KBox<napi::Slot<T>>>>,
    #[pin]
    data: T::Data<'static>,
    pub(super) work: KVec<Pin<KBox<work::Item>>>,
    pub(super) timers: KVec<Pin<KBox<timer::Slot<T>>>>,
    #[pin]
    pub(super) irqs: Mutex<KVec<Pin<KBox<irq::Line<T>>>>>,
    #[pin]
    pub(super) mdio: Mutex<Option<mdio::Bus>>,
    pub(super) phy: phy::Slot,
    #[pin]
    pub(super) clock: ptp::Slot,
    /// How many statistics `ethtool` was told of last. Under the RTNL.
    pub(super) stats_count: Atomic<i32>,
    parent: NonNull<bindings::device>,
}

/// A network device, as its driver sees it.
///
/// It is only ever seen behind a reference, and only while it is completely set up: in callbacks
/// and in [`Setup`] after [`Setup::alloc`].
///
/// # Invariants
///
/// - The value is a `struct net_device` allocated by `alloc`, followed by its private data,
///   which is initialised.
/// - The parent device is bound, and stays so for `'b`, which ends after this device is gone.
#[repr(C)]
pub struct Device<'b, T: Operations> {
    ndev: Opaque<[u8; PRIV_OFFSET]>,
    private: Private<T>,
    _bound: PhantomData<fn(&'b ()) -> &'b ()>,
}

// SAFETY: The C functions that take a `net_device` are safe to call from any context that their
// wrapper's documentation allows, and `T::Data` is `Sync`. The per-queue states are reached only
// through the locks that protect them.
unsafe impl<T: Operations> Sync for Device<'_, T> {}

/// Number of queues and NAPI instances of a device.
#[derive(Copy, Clone, Debug)]
pub struct Queues {
    /// TX queues.
    pub tx: u32,
    /// RX queues.
    pub rx: u32,
    /// NAPI instances.
    pub napi: u32,
}

impl<'b, T: Operations> Device<'b, T> {
    /// Returns the C device.
    #[inline(always)]
    pub(super) fn as_raw(&self) -> *mut bindings::net_device {
        self.ndev.get().cast()
    }

    /// Turns a C device into a reference.
    ///
    /// # Safety
    ///
    /// `ndev` must point at a device made by [`alloc`] for the same `T`, whose private data is
    /// initialised and stays so for `'a`, and whose parent stays bound for `'b`.
    #[inline(always)]
    pub(super) unsafe fn from_raw<'a>(ndev: *mut bindings::net_device) -> &'a Self {
        // SAFETY: By the safety requirements, see the type invariants. Lifetimes do not change
        // the layout.
        unsafe { &*ndev.cast::<Self>() }
    }

    /// Returns the framework's data.
    #[inline(always)]
    pub(super) fn private(&self) -> &Private<T> {
        &self.private
    }

    /// Returns the driver's data.
    #[inline(always)]
    pub fn data(&self) -> Pin<&T::Data<'b>> {
        let data: *const T::Data<'static> = &self.private.data;

        // SAFETY: `data` was initialised as a `T::Data<'b>` and is structurally pinned: it never
        // moves before it is dropped in place. The lifetime was only erased for storage.
        unsafe { Pin::new_unchecked(&*data.cast::<T::Data<'b>>()) }
    }

    /// Returns the device that this network device belongs to.
    #[inline]
    pub fn parent(&self) -> &'b device::Device<Bound> {
        // SAFETY: By the type invariants the parent is bound for `'b`.
        unsafe { device::Device::from_raw(self.private.parent.as_ptr()) }
    }

    #[inline(always)]
    pub(super) fn parent_raw(&self) -> *mut bindings::device {
        self.private.parent.as_ptr()
    }

    /// Returns the current name of the interface; a placeholder before registration.
    pub fn name(&self) -> Name {
        let mut name = [0; NAME_SIZE];

        // SAFETY: `as_raw` is valid; `name` has room for `NAME_SIZE` bytes, and ends up with a
        // nul. A rename meanwhile may mix two names, which is no worse than in a message from C.
        unsafe { bindings::rnet_name(self.as_raw(), name.as_mut_ptr().cast(), NAME_SIZE) };
        Name(name)
    }

    /// Returns whether the interface is up (`netif_running`).
    #[inline]
    pub fn running(&self) -> bool {
        // SAFETY: `as_raw` is valid.
        unsafe { bindings::rnet_running(self.as_raw()) }
    }

    /// Returns whether the device is present, that is, not [detached](Device::detach).
    #[inline]
    pub fn present(&self) -> bool {
        // SAFETY: `as_raw` is valid.
        unsafe { bindings::rnet_device_present(self.as_raw()) }
    }

    /// Takes the device away from the stack: all TX queues are stopped and configuration is
    /// refused until [`attach`](Device::attach). Process context.
    pub fn detach(&self, _rtnl: &Rtnl) {
        // SAFETY: `as_raw` is valid, and the RTNL is held.
        unsafe { bindings::netif_device_detach(self.as_raw()) }
    }

    /// Gives the device back to the stack; wakes all TX queues if the interface is up.
    pub fn attach(&self, _rtnl: &Rtnl) {
        // SAFETY: `as_raw` is valid, and the RTNL is held.
        unsafe { bindings::netif_device_attach(self.as_raw()) }
    }

    /// Declares the carrier present. Any context. Not for devices with a PHY: phylib does it.
    #[inline]
    pub fn carrier_on(&self) {
        // SAFETY: `as_raw` is valid.
        unsafe { bindings::netif_carrier_on(self.as_raw()) }
    }

    /// Declares the carrier lost. Any context.
    #[inline]
    pub fn carrier_off(&self) {
        // SAFETY: `as_raw` is valid.
        unsafe { bindings::netif_carrier_off(self.as_raw()) }
    }

    /// Returns whether there is a carrier.
    #[inline]
    pub fn carrier_ok(&self) -> bool {
        // SAFETY: `as_raw` is valid.
        unsafe { bindings::rnet_carrier_ok(self.as_raw()) }
    }

    /// Returns the MTU.
    #[inline]
    pub fn mtu(&self) -> u32 {
        // SAFETY: `as_raw` is valid.
        unsafe { bindings::rnet_mtu(self.as_raw()) }
    }

    /// Returns the active features.
    #[inline]
    pub fn features(&self) -> Features {
        // SAFETY: `as_raw` is valid.
        Features(unsafe { bindings::rnet_features(self.as_raw()) })
    }

    /// Records `features` as active, as `ndo_set_features` does when it could apply only a part
    /// and returns an error.
    pub fn set_active_features(&self, features: Features, _rtnl: &Rtnl) {
        // SAFETY: `as_raw` is valid and the RTNL is held.
        unsafe { bindings::rnet_set_active_features(self.as_raw(), features.0) }
    }

    /// Returns the MAC address.
    ///
    /// The RTNL keeps it from changing.
    pub fn mac_address(&self, _rtnl: &Rtnl) -> MacAddress {
        let mut address = [0; 6];

        // SAFETY: `as_raw` is valid, `address` has room for ETH_ALEN bytes.
        unsafe { bindings::rnet_dev_addr(self.as_raw(), address.as_mut_ptr()) };
        MacAddress(address)
    }

    /// Returns the flags that decide what is received.
    pub fn rx_mode(&self) -> RxMode {
        // SAFETY: `as_raw` is valid.
        let flags = unsafe { bindings::rnet_flags(self.as_raw()) };

        RxMode { flags }
    }

    /// Returns a NAPI instance, if there is one of that number.
    #[inline(always)]
    pub fn napi(&self, index: usize) -> Option<napi::Napi<'_, 'b, T>> {
        let slot = self.private.napi.get(index)?;

        Some(napi::Napi::new(self, slot))
    }

    /// Keeps the core away from the NAPI instances, as long as the returned value exists. Process
    /// context.
    pub fn hold_napi(&self) -> napi::Hold<'_, 'b, T> {
        napi::Hold::new(self)
    }

    /// Returns a TX queue, if there is one of that number.
    #[inline(always)]
    pub fn tx_queue(&self, index: usize) -> Option<queue::TxQueueRef<'_, 'b, T>> {
        let slot = self.private.tx.get(index)?;

        Some(queue::TxQueueRef::new(self, slot))
    }

    /// Starts all TX queues: the stack may hand over packets.
    pub fn tx_start_all(&self) {
        for slot in &self.private.tx {
            queue::TxQueueRef::new(self, slot).start();
        }
    }

    /// Wakes all TX queues: as [`tx_start_all`](Device::tx_start_all), and waiting packets are
    /// sent.
    pub fn tx_wake_all(&self) {
        for slot in &self.private.tx {
            queue::TxQueueRef::new(self, slot).wake();
        }
    }

    /// Stops all TX queues and waits for `start_xmit` to finish on other CPUs. Process context.
    ///
    /// Something else can start a queue again (a poll function, an attach), so NAPI comes first.
    pub fn tx_disable(&self) {
        // SAFETY: `as_raw` is valid.
        unsafe { bindings::rnet_netif_tx_disable(self.as_raw()) }
    }

    /// Returns the runtime PM of the parent device.
    #[inline(always)]
    pub fn pm(&self) -> pm::Runtime<'b> {
        pm::Runtime::new(self.parent())
    }

    /// Returns the PHY port.
    #[inline(always)]
    pub fn phy(&self) -> phy::Port<'_, 'b, T> {
        phy::Port::new(self)
    }

    /// Returns the interrupt lines.
    #[inline(always)]
    pub fn irqs(&self) -> irq::Lines<'_, 'b, T> {
        irq::Lines::new(self)
    }

    /// Returns work item `index` of [`Operations::WORK`].
    #[inline(always)]
    pub fn work(&self, index: usize) -> Option<work::Work<'_>> {
        Some(work::Work::new(self.private.work.get(index)?))
    }

    /// Returns timer `index`, of [`Operations::TIMERS`].
    #[inline(always)]
    pub fn timer(&self, index: usize) -> Option<timer::Timer<'_, T>> {
        Some(timer::Timer::new(self.private.timers.get(index)?))
    }

    /// Links TX and RX queues of the same number to a NAPI instance in netdev-genl.
    ///
    /// Call from `open`, after NAPI was enabled.
    pub fn link_queues(&self, index: usize, linked: bool, _rtnl: &Rtnl) {
        let Some(slot) = self.private.napi.get(index) else {
            return;
        };
        let napi = if linked {
            slot.as_raw()
        } else {
            core::ptr::null_mut()
        };

        for tx in [false, true] {
            // SAFETY: `as_raw` is valid, the RTNL is held, `napi` is null or a NAPI of this device
            // which outlives the registration. The C function checks the index with a WARN only,
            // hence the queue counts of `alloc`: a NAPI index is below both.
            unsafe {
                bindings::rnet_queue_set_napi(self.as_raw(), index as c_uint, tx, napi);
            }
        }
    }

    /// Returns whether a message may be printed now (`net_ratelimit`). Any context.
    pub fn ratelimit(&self) -> bool {
        // SAFETY: No preconditions.
        unsafe { bindings::rnet_ratelimit() }
    }
}

impl<T: Operations> AsRef<device::Device> for Device<'_, T> {
    /// For `dev_info!` and its like: messages name the parent device.
    fn as_ref(&self) -> &device::Device {
        self.parent()
    }
}

const NAME_SIZE: usize = 32;

/// The name of an interface at one time.
pub struct Name([u8; NAME_SIZE]);

impl kernel::fmt::Display for Name {
    fn fmt(&self, f: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        let len = self.0.iter().position(|&b| b == 0).unwrap_or(NAME_SIZE);

        for &b in self.0.iter().take(len) {
            kernel::fmt::Write::write_char(f, char::from(b))?;
        }
        Ok(())
    }
}

/// A MAC address.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Returns whether this can be the address of an interface: neither zero nor multicast.
    pub fn is_valid(&self) -> bool {
        self.0[0] & 1 == 0 && self.0 != [0; 6]
    }
}

impl kernel::fmt::Display for MacAddress {
    fn fmt(&self, f: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        let [a, b, c, d, e, g] = self.0;

        f.write_fmt(kernel::prelude::fmt!(
            "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}"
        ))
    }
}

/// What the interface is to receive.
#[derive(Copy, Clone, PartialEq, Eq)]
pub struct RxMode {
    flags: u32,
}

impl RxMode {
    /// Everything.
    pub fn promiscuous(&self) -> bool {
        self.flags & bindings::net_device_flags_IFF_PROMISC != 0
    }

    /// All multicast frames.
    pub fn all_multicast(&self) -> bool {
        self.flags & bindings::net_device_flags_IFF_ALLMULTI != 0
    }
}

/// A set of `NETIF_F_*` features.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Features(u64);

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident = $bit:ident;)*) => {
        impl Features {$(
            $(#[$doc])*
            pub const $name: Features = Features(1 << bindings::$bit);
        )*}
    };
}

features! {
    /// Scatter/gather.
    SG = NETIF_F_SG_BIT;
    /// Checksums of IPv4 TCP and UDP.
    IP_CSUM = NETIF_F_IP_CSUM_BIT;
    /// Checksums of IPv6 TCP and UDP.
    IPV6_CSUM = NETIF_F_IPV6_CSUM_BIT;
    /// Checksums of any protocol, by `csum_start` and `csum_offset`.
    HW_CSUM = NETIF_F_HW_CSUM_BIT;
    /// Receive checksums.
    RXCSUM = NETIF_F_RXCSUM_BIT;
    /// Deliver the frame check sequence.
    RXFCS = NETIF_F_RXFCS_BIT;
    /// Deliver frames with errors.
    RXALL = NETIF_F_RXALL_BIT;
    /// Loop frames back.
    LOOPBACK = NETIF_F_LOOPBACK_BIT;
    /// TCP segmentation over IPv4.
    TSO = NETIF_F_TSO_BIT;
    /// High memory can be sent.
    HIGHDMA = NETIF_F_HIGHDMA_BIT;
}

impl Features {
    /// No feature.
    pub const NONE: Features = Features(0);

    /// Returns whether all of `other` are in the set.
    #[inline]
    pub const fn contains(self, other: Features) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the set without `other`.
    #[inline]
    pub const fn without(self, other: Features) -> Features {
        Features(self.0 & !other.0)
    }

    /// Returns the union; usable in constants.
    #[inline]
    pub const fn with(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }
}

impl core::ops::BitOr for Features {
    type Output = Features;

    fn bitor(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }
}

impl core::ops::BitAnd for Features {
    type Output = Features;

    fn bitand(self, other: Features) -> Features {
        Features(self.0 & other.0)
    }
}

impl core::ops::BitXor for Features {
    type Output = Features;

    fn bitxor(self, other: Features) -> Features {
        Features(self.0 ^ other.0)
    }
}

/// The set-up of a device, during its driver's `probe`.
///
/// What is set up here belongs to the framework and is undone by it, when the device is unbound or
/// when `probe` fails.
pub struct Setup<'b, T: Operations> {
    parent: &'b device::Device<Bound>,
    bound: Pin<&'b Binding<T>>,
}

impl<'b, T: Operations> Setup<'b, T> {
    /// # Safety
    ///
    /// `bound` must be used for no other set-up, and must be [taken down](Binding::teardown) before
    /// `'b` ends, which is before the parent is unbound.
    pub(super) unsafe fn new(
        parent: &'b device::Device<Bound>,
        bound: Pin<&'b Binding<T>>,
    ) -> Self {
        Self { parent, bound }
    }

    /// Sets the DMA mask of the device. Nothing can be mapped yet: `&mut self`, before `alloc`.
    pub fn set_dma_mask(&mut self, mask: kernel::dma::DmaMask) -> Result {
        if self.bound.ndev().is_some() {
            return Err(EBUSY);
        }

        dma::set_mask(self.parent, mask)
    }

    /// Allocates the network device and initialises the driver's data in it.
    ///
    /// `data` is the first part of the driver to be dropped after everything that could use it is
    /// gone. Once only.
    pub fn alloc(
        &mut self,
        queues: Queues,
        data: impl PinInit<T::Data<'b>, Error>,
    ) -> Result<&Device<'b, T>> {
        if self.bound.ndev().is_some() {
            return Err(EBUSY);
        }

        let ndev = alloc::<T>(self.parent, queues, data)?;

        self.bound.set_ndev(ndev);
        self.device()
    }

    /// Returns the device.
    pub fn device(&self) -> Result<&Device<'b, T>> {
        let ndev = self.bound.ndev().ok_or(EINVAL)?;

        // SAFETY: `ndev` came from `alloc`; it is torn down only after this set-up, see `new`.
        Ok(unsafe { Device::from_raw(ndev.as_ptr()) })
    }

    /// Enables runtime PM, which this powers up, and keeps the device active until `probe` is over.
    pub fn runtime_pm(&mut self, autosuspend_ms: u32) -> Result {
        if self.bound.pm.load(Relaxed) {
            return Err(EBUSY);
        }
        // The driver's callbacks get the device.
        self.device()?;

        let delay = i32::try_from(autosuspend_ms)?;
        let parent = pm::Runtime::new(self.parent);

        parent.enable(delay);
        match parent.resume() {
            // The reference is put by `Binding::register` or `Binding::teardown`.
            Ok(active) => core::mem::forget(active),
            Err(e) => {
                parent.disable();
                return Err(e);
            }
        }
        self.bound.pm.store(true, Relaxed);
        Ok(())
    }

    /// Sets the features: what is active, what the user may change, and what VLAN devices on top
    /// inherit.
    pub fn set_features(&mut self, active: Features, hw: Features, vlan: Features) -> Result {
        let dev = self.device()?;

        // SAFETY: `as_raw` is valid, and not registered yet: nobody else looks at the features.
        unsafe { bindings::rnet_set_features(dev.as_raw(), active.0, hw.0, vlan.0) };
        Ok(())
    }

    /// Sets what the device can do with XDP.
    pub fn set_xdp_features(&mut self, features: xdp::Features) -> Result {
        let dev = self.device()?;

        // SAFETY: `as_raw` is valid, and not registered yet: nobody else looks at the features.
        unsafe { bindings::rnet_set_xdp_features(dev.as_raw(), features.bits()) };
        Ok(())
    }

    /// Sets the range of MTUs that the core accepts.
    pub fn set_mtu_range(&mut self, min: u32, max: u32) -> Result {
        let dev = self.device()?;

        // SAFETY: `as_raw` is valid, and not registered yet.
        unsafe { bindings::rnet_set_mtu_range(dev.as_raw(), min, max) };
        Ok(())
    }

    /// Sets after which time without progress a TX queue is reported by
    /// [`tx_timeout`](Operations::tx_timeout). The default is five seconds.
    pub fn set_watchdog(&mut self, msecs: u32) -> Result {
        let dev = self.device()?;

        // SAFETY: `as_raw` is valid, and not registered yet.
        unsafe { bindings::rnet_set_watchdog(dev.as_raw(), msecs) };
        Ok(())
    }

    /// Sets the MAC address, or a random one (which is marked as such and reported by the caller).
    pub fn set_mac_address(&mut self, address: Option<MacAddress>) -> Result {
        let dev = self.device()?;

        match address {
            // SAFETY: `as_raw` is valid, not registered yet; the array has ETH_ALEN bytes.
            Some(address) => unsafe {
                bindings::rnet_eth_hw_addr_set(dev.as_raw(), address.0.as_ptr())
            },
            // SAFETY: `as_raw` is valid, and not registered yet.
            None => unsafe { bindings::rnet_eth_hw_addr_random(dev.as_raw()) },
        }
        Ok(())
    }

    /// Turns software interrupt coalescing on by default (`gro_flush_timeout`,
    /// `napi_defer_hard_irqs`; not on PREEMPT_RT). Sysfs can change it.
    pub fn sw_irq_coalesce_default_on(&mut self) -> Result {
        let dev = self.device()?;

        // SAFETY: `as_raw` is valid, and not registered yet (which the function warns about).
        unsafe { bindings::netdev_sw_irq_coalesce_default_on(dev.as_raw()) };
        Ok(())
    }

    /// Turns threaded NAPI on by default, when the device is registered. Sysfs can change it.
    pub fn threaded_default_on(&mut self) {
        self.bound.threaded.store(true, Relaxed);
    }

    /// Requests an interrupt line, which calls [`Operations::interrupt`] with `line` from now on.
    ///
    /// It is shown in `/proc/interrupts` as the name of the parent device, followed by `suffix`.
    pub fn request_irq(
        &mut self,
        request: kernel::irq::IrqRequest<'_>,
        flags: irq::Flags,
        suffix: &CStr,
        line: T::Line,
    ) -> Result {
        irq::request(self.device()?, request.irq(), flags, suffix, line)
    }

    /// As [`request_irq`](Setup::request_irq), for a line that is masked at the interrupt
    /// controller by a [`irq::Mask`] in the driver's data: it cannot be shared, and starts masked.
    pub fn request_masked_irq(
        &mut self,
        request: kernel::irq::IrqRequest<'_>,
        suffix: &CStr,
        line: T::Line,
        mask: impl for<'a> FnOnce(&'a T::Data<'b>) -> &'a irq::Mask,
    ) -> Result {
        let dev = self.device()?;
        let number = request.irq();

        irq::request(dev, number, irq::Flags::NO_AUTOEN, suffix, line)?;
        mask(dev.data().get_ref()).bind(number);
        Ok(())
    }

    /// Registers the device's MDIO bus, driven bit by bit through `T`.
    ///
    /// The bus is described by the `mdio` child of the device's firmware node, or by the node
    /// itself. The MAC manages power of the PHYs: see [`phy::Port::set_mac_managed_pm`].
    pub fn mdio_bitbang(&mut self) -> Result
    where
        T: mdio::BitBang,
    {
        mdio::register_bitbang(self.device()?)
    }

    /// Registers the device's PTP hardware clock, which must be ready for use.
    ///
    /// Fails with [`EOPNOTSUPP`] in kernels that are built without such clocks.
    pub fn ptp_clock(&mut self) -> Result
    where
        T: ptp::Clock,
    {
        ptp::register(self.device()?)
    }

    /// Offers the `ethtool` operations of `T`.
    pub fn set_ethtool_ops(&mut self) -> Result
    where
        T: ethtool::Operations,
    {
        let dev = self.device()?;

        // SAFETY: `as_raw` is valid and not registered yet; the table is static and made for the
        // same `T` as the device.
        unsafe { bindings::rnet_set_ethtool_ops(dev.as_raw(), ethtool::table::<T>()) };
        Ok(())
    }

    /// Offers the per-queue statistics of `T`.
    pub fn set_queue_stats(&mut self) -> Result
    where
        T: stats::QueueStats,
    {
        let dev = self.device()?;

        // SAFETY: `as_raw` is valid and not registered yet; the table is static and made for the
        // same `T` as the device.
        unsafe { bindings::rnet_set_stat_ops(dev.as_raw(), stats::table::<T>()) };
        Ok(())
    }
}

/// Reports why a probe fails, and returns the error (`dev_err_probe`): nothing is printed if the
/// probe is only deferred; the reason is shown in debugfs then.
pub fn err_probe(dev: &device::Device, error: Error, what: kernel::fmt::Arguments<'_>) -> Error {
    // SAFETY: The device is valid, and `%pA` takes a pointer to `Arguments`.
    unsafe {
        bindings::dev_err_probe(
            core::ptr::from_ref(dev).cast_mut().cast(),
            error.to_errno(),
            c"%pA".as_char_ptr(),
            core::ptr::from_ref(&what).cast::<c_void>(),
        )
    };
    error
}

/// Returns the number of CPUs that are present (not: online).
pub fn num_present_cpus() -> u32 {
    // SAFETY: No preconditions.
    unsafe { bindings::rnet_num_present_cpus() }
}

/// Allocates a device with its private data. Nothing can call into it yet.
fn alloc<'b, T: Operations>(
    parent: &'b device::Device<Bound>,
    queues: Queues,
    data: impl PinInit<T::Data<'b>, Error>,
) -> Result<NonNull<bindings::net_device>> {
    const_assert!(core::mem::offset_of!(Device<'static, T>, private) == PRIV_OFFSET);

    // A NAPI instance has the number of the queues that it serves, see `link_queues`.
    if queues.tx == 0 || queues.rx == 0 || queues.napi > queues.tx.min(queues.rx) {
        return Err(EINVAL);
    }

    let size = c_int::try_from(size_of::<Private<T>>())?;
    let napi = napi::slots(queues.napi)?;
    let work = work::items::<T>()?;
    let timers = timer::slots::<T>()?;

    // SAFETY: No preconditions.
    let ndev = unsafe { bindings::alloc_etherdev_mqs(size, queues.tx, queues.rx) };
    let ndev = NonNull::new(ndev).ok_or(ENOMEM)?;
    // SAFETY: `ndev` came from `alloc_etherdev_mqs` and is not registered while the guard exists.
    let free = ScopeGuard::new(|| unsafe { bindings::free_netdev(ndev.as_ptr()) });

    // SAFETY: `ndev` has `queues.tx` queues, and outlives its private data.
    let tx = unsafe { queue::slots(ndev, queues.tx) }?;

    // SAFETY: A `net_device` is followed by `size` bytes of private data, which are aligned for
    // `Private` (checked above by the compiler).
    let private = unsafe { ndev.as_ptr().byte_add(PRIV_OFFSET) }.cast::<Private<T>>();
    let parent_raw = NonNull::from(parent).cast::<bindings::device>();

    // SAFETY: On success the closure has initialised the slot as a `T::Data<'b>`, which has the
    // layout of `T::Data<'static>`. The shorter lifetime is restored by `Device::data`, and the
    // data is dropped before `'b` ends (`Setup::new`).
    let data = unsafe {
        pin_init::pin_init_from_closure::<T::Data<'static>, Error>(move |slot| {
            pin_init::raw_try_init(slot.cast(), data)
        })
    };
    let init = try_pin_init!(Private::<T> {
        tx,
        napi,
        data <- data,
        work,
        timers,
        irqs <- new_mutex!(KVec::new()),
        mdio <- new_mutex!(None),
        phy: phy::Slot::new(),
        clock <- ptp::Slot::new(),
        stats_count: Atomic::new(0),
        parent: parent_raw,
    }? Error);

    // SAFETY: `private` is valid for writes and not moved until it is dropped in place.
    unsafe { pin_init::raw_try_init(private, init) }?;
    free.dismiss();

    // SAFETY: `ndev` and `parent` are valid, nobody else has `ndev`, the table is static.
    unsafe {
        bindings::rnet_set_netdev_dev(ndev.as_ptr(), parent_raw.as_ptr());
        bindings::rnet_set_netdev_ops(ndev.as_ptr(), &VTable::<T>::OPS);
    }

    // SAFETY: The private data is initialised (type invariant), and the parent is bound for `'b`.
    let dev = unsafe { Device::<'b, T>::from_raw(ndev.as_ptr()) };

    napi::add_all(dev);
    work::bind_all(dev);
    timer::bind_all(dev);
    Ok(ndev)
}

/// One bound device: owner of a `net_device` and of all that is registered for it.
///
/// A bus glue (`platform.rs`) keeps it as its driver data.
pub struct Binding<T: Operations> {
    ndev: Atomic<*mut bindings::net_device>,
    registered: Atomic<bool>,
    threaded: Atomic<bool>,
    pub(super) pm: Atomic<bool>,
    parent: NonNull<bindings::device>,
    _driver: PhantomData<T>,
}

// SAFETY: The `net_device` may be configured and taken down from any thread; `parent` is used only
// while it is bound, which the owner guarantees (`Setup::new`).
unsafe impl<T: Operations> Send for Binding<T> {}

// SAFETY: As above; the fields are atomic.
unsafe impl<T: Operations> Sync for Binding<T> {}

impl<T: Operations> Binding<T> {
    /// Creates an owner that has nothing yet.
    pub(super) fn new(parent: &device::Device<Bound>) -> Self {
        Self {
            ndev: Atomic::new(core::ptr::null_mut()),
            registered: Atomic::new(false),
            threaded: Atomic::new(false),
            pm: Atomic::new(false),
            parent: NonNull::from(parent).cast(),
            _driver: PhantomData,
        }
    }

    fn ndev(&self) -> Option<NonNull<bindings::net_device>> {
        NonNull::new(self.ndev.load(kernel::sync::atomic::Acquire))
    }

    fn set_ndev(&self, ndev: NonNull<bindings::net_device>) {
        self.ndev
            .store(ndev.as_ptr(), kernel::sync::atomic::Release);
    }

    /// Returns the device, if it is allocated.
    ///
    /// # Safety
    ///
    /// The parent must be bound for `'b`, and [`teardown`](Binding::teardown) must not run during
    /// `'a`.
    pub(super) unsafe fn device<'a, 'b>(&self) -> Option<&'a Device<'b, T>> {
        let ndev = self.ndev()?;

        // SAFETY: `ndev` came from `alloc` and is complete since it was stored.
        Some(unsafe { Device::from_raw(ndev.as_ptr()) })
    }

    /// Registers the device with the stack, as the last step of `probe`, and lets it go to sleep.
    ///
    /// # Safety
    ///
    /// As for [`device`](Binding::device).
    pub(super) unsafe fn register(&self) -> Result {
        let ndev = self.ndev().ok_or(EINVAL)?;
        let rtnl = rtnl::lock();

        if self.threaded.load(Relaxed) {
            // The threads are called after the device, which would get its name too late for them.
            //
            // SAFETY: `ndev` is valid and not registered, and the RTNL is held.
            to_result(unsafe { bindings::rnet_alloc_name(ndev.as_ptr()) })?;

            let on = bindings::netdev_napi_threaded_NETDEV_NAPI_THREADED_ENABLED;

            // There may be no memory for them. (`netif_threaded_enable` takes that for a bug.)
            //
            // SAFETY: `ndev` is valid. Process context, and nobody holds the device's lock.
            to_result(unsafe { bindings::dev_set_threaded(ndev.as_ptr(), on) })?;
        }

        // SAFETY: `ndev` is complete and not registered, and the RTNL is held.
        to_result(unsafe { bindings::register_netdevice(ndev.as_ptr()) })?;
        drop(rtnl);
        self.registered.store(true, Relaxed);

        if self.pm.load(Relaxed) {
            // SAFETY: The parent is bound (safety requirement); the count was taken by
            // `Setup::runtime_pm`.
            unsafe { bindings::rnet_pm_put_autosuspend(self.parent.as_ptr()) };
        }
        Ok(())
    }

    /// Takes everything down, in the order that `README.md` describes. A second call does nothing.
    ///
    /// # Safety
    ///
    /// The parent must still be bound (devres not yet released), and nobody else may use the
    /// device through this owner.
    pub(super) unsafe fn teardown(&self, remove: impl FnOnce(&Device<'_, T>)) {
        let parent = self.parent.as_ptr();
        let pm = self.pm.load(Relaxed);

        if let Some(ndev) = self.ndev() {
            // SAFETY: `ndev` came from `alloc`, its data is dropped further down.
            let dev = unsafe { Device::<'_, T>::from_raw(ndev.as_ptr()) };

            if self.registered.load(Relaxed) {
                if pm {
                    // Balances the put of `register`. If the device cannot be powered up, taking
                    // it down goes on all the same: `stop` and `remove` must cope with it, as
                    // they must with dead hardware.
                    //
                    // SAFETY: The parent is bound.
                    if unsafe { bindings::rnet_pm_resume_and_get(parent) } < 0 {
                        dev_warn!(dev.as_ref(), "cannot power up for removal\n");
                        // SAFETY: The parent is bound.
                        unsafe { bindings::rnet_pm_get_noresume(parent) };
                    }
                }
                // SAFETY: `ndev` is registered. After this no callback of the stack can run.
                unsafe { bindings::unregister_netdev(ndev.as_ptr()) };
                self.registered.store(false, Relaxed);
            }

            work::cancel_all(dev);
            phy::disconnect(dev);
            mdio::unregister(dev);
            ptp::unregister(dev);
            remove(dev);
            irq::free_all(dev);
            napi::delete_all(dev);
            timer::close_all(dev);
            // Interrupt handlers, polls, timers and PHYs may have scheduled it until here.
            work::cancel_all(dev);
        }

        // Runtime PM callbacks use the driver's data, so this comes before it is dropped.
        if pm {
            // SAFETY: The parent is bound; the count was taken by `Setup::runtime_pm` or above.
            unsafe { bindings::rnet_pm_put_sync_suspend(parent) };
            // SAFETY: The parent is bound; runtime PM was enabled by `Setup::runtime_pm`. This
            // waits for callbacks.
            unsafe { bindings::rnet_pm_disable(parent) };
            self.pm.store(false, Relaxed);
        }

        if let Some(ndev) = self.ndev() {
            self.ndev.store(core::ptr::null_mut(), Relaxed);

            // SAFETY: `ndev` came from `alloc`, its data is dropped further down.
            let dev = unsafe { Device::<'_, T>::from_raw(ndev.as_ptr()) };

            // The callbacks of runtime PM may have scheduled work, and work may have started
            // timers while they were closed. From here on nothing of the driver runs but what
            // these still do, so that nothing can any more.
            work::cancel_all(dev);
            timer::close_all(dev);
            work::cancel_all(dev);
            napi::cancel_timers(dev);

            // SAFETY: Within the allocation of the device.
            let private = unsafe { ndev.as_ptr().byte_add(PRIV_OFFSET) }.cast::<Private<T>>();

            // SAFETY: Nothing can call into the device any more, and nobody has a reference to its
            // private data, which is initialised. It is dropped once, since `ndev` is forgotten.
            unsafe { core::ptr::drop_in_place(private) };
            // SAFETY: `ndev` came from `alloc_etherdev_mqs`, and is not registered.
            unsafe { bindings::free_netdev(ndev.as_ptr()) };
        }
    }
}

/// The operations table of a device type.
struct VTable<T: Operations>(PhantomData<T>);

impl<T: Operations> VTable<T> {
    const OPS: bindings::net_device_ops = bindings::net_device_ops {
        ndo_open: Some(Self::open),
        ndo_stop: Some(Self::stop),
        ndo_start_xmit: Some(Self::start_xmit),
        ndo_select_queue: if T::HAS_SELECT_QUEUE {
            Some(Self::select_queue)
        } else {
            None
        },
        ndo_set_rx_mode_async: if T::HAS_SET_RX_MODE {
            Some(Self::set_rx_mode)
        } else {
            None
        },
        ndo_set_mac_address: Some(Self::set_mac_address),
        ndo_validate_addr: Some(bindings::eth_validate_addr),
        ndo_eth_ioctl: Some(bindings::phy_do_ioctl_running),
        ndo_change_mtu: if T::HAS_CHANGE_MTU {
            Some(Self::change_mtu)
        } else {
            None
        },
        ndo_tx_timeout: if T::HAS_TX_TIMEOUT {
            Some(Self::tx_timeout)
        } else {
            None
        },
        ndo_get_stats64: if T::HAS_GET_STATS64 {
            Some(Self::get_stats64)
        } else {
            None
        },
        ndo_fix_features: if T::HAS_FIX_FEATURES {
            Some(Self::fix_features)
        } else {
            None
        },
        ndo_set_features: if T::HAS_SET_FEATURES {
            Some(Self::set_features)
        } else {
            None
        },
        ndo_bpf: if T::HAS_XDP_SETUP {
            Some(Self::bpf)
        } else {
            None
        },
        ndo_xdp_xmit: if T::HAS_XDP_XMIT {
            Some(Self::xdp_xmit)
        } else {
            None
        },
        ndo_hwtstamp_get: if T::HAS_HWTSTAMP_GET {
            Some(Self::hwtstamp_get)
        } else {
            None
        },
        ndo_hwtstamp_set: if T::HAS_HWTSTAMP_SET {
            Some(Self::hwtstamp_set)
        } else {
            None
        },
        ..pin_init::zeroed()
    };

    // All of the following are called by the stack for a device with the table above, which only
    // `alloc` gives to a device of the same `T`, between its registration and the end of
    // `unregister_netdev`. This is what `Device::from_raw` asks for. Those that receive an `Rtnl`
    // are called with the RTNL held: Documentation/networking/netdevices.rst.

    extern "C" fn open(ndev: *mut bindings::net_device) -> c_int {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::from_raw(ndev), Rtnl::assume_held()) };

        from_result(|| T::open(dev, rtnl).map(|()| 0))
    }

    extern "C" fn stop(ndev: *mut bindings::net_device) -> c_int {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::from_raw(ndev), Rtnl::assume_held()) };

        T::stop(dev, rtnl);
        0
    }

    extern "C" fn start_xmit(
        skb: *mut bindings::sk_buff,
        ndev: *mut bindings::net_device,
    ) -> bindings::netdev_tx_t {
        // SAFETY: See above.
        let dev = unsafe { Device::<'_, T>::from_raw(ndev) };
        // SAFETY: The stack hands over an skb that we own, unless we return NETDEV_TX_BUSY.
        let skb = unsafe { Skb::from_raw(skb) };

        queue::start_xmit(dev, skb)
    }

    extern "C" fn select_queue(
        ndev: *mut bindings::net_device,
        skb: *mut bindings::sk_buff,
        _sb_dev: *mut bindings::net_device,
    ) -> u16 {
        // SAFETY: See above.
        let dev = unsafe { Device::from_raw(ndev) };
        // SAFETY: The skb is the caller's: borrow it for the call and do not drop it.
        let skb = core::mem::ManuallyDrop::new(unsafe { Skb::from_raw(skb) });

        T::select_queue(dev, &skb)
    }

    extern "C" fn set_rx_mode(
        ndev: *mut bindings::net_device,
        _uc: *mut bindings::netdev_hw_addr_list,
        _mc: *mut bindings::netdev_hw_addr_list,
    ) -> c_int {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::from_raw(ndev), Rtnl::assume_held()) };

        from_result(|| T::set_rx_mode(dev, &dev.rx_mode(), rtnl).map(|()| 0))
    }

    extern "C" fn set_mac_address(ndev: *mut bindings::net_device, addr: *mut c_void) -> c_int {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::<'_, T>::from_raw(ndev), Rtnl::assume_held()) };

        from_result(|| {
            // SAFETY: The core passes a valid device and a `struct sockaddr_storage`, whose
            // address this checks.
            let ret = unsafe { bindings::eth_prepare_mac_addr_change(ndev, addr) };

            if T::HAS_SET_MAC_ADDRESS {
                // `eth_prepare_mac_addr_change` refuses a running device unless it has
                // IFF_LIVE_ADDR_CHANGE, which `alloc` leaves alone.
                if ret != 0 && !(ret == EBUSY.to_errno() && dev.running()) {
                    return Err(Error::from_errno(ret));
                }
                let mut address = [0; 6];

                // SAFETY: `addr` is a `struct sockaddr_storage`, see above.
                unsafe { bindings::rnet_sockaddr_mac(addr, address.as_mut_ptr()) };
                let address = MacAddress(address);

                if !address.is_valid() {
                    return Err(EADDRNOTAVAIL);
                }
                T::set_mac_address(dev, address, rtnl)?;
            } else {
                to_result(ret)?;
            }

            // SAFETY: As for `eth_prepare_mac_addr_change`.
            unsafe { bindings::eth_commit_mac_addr_change(ndev, addr) };
            Ok(0)
        })
    }

    extern "C" fn change_mtu(ndev: *mut bindings::net_device, mtu: c_int) -> c_int {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::<'_, T>::from_raw(ndev), Rtnl::assume_held()) };

        from_result(|| {
            let mtu = u32::try_from(mtu)?;

            T::change_mtu(dev, mtu, rtnl)?;
            // SAFETY: `ndev` is valid and the RTNL is held.
            unsafe { bindings::rnet_set_mtu(ndev, mtu) };
            Ok(0)
        })
    }

    extern "C" fn tx_timeout(ndev: *mut bindings::net_device, queue: c_uint) {
        // SAFETY: See above.
        let dev = unsafe { Device::from_raw(ndev) };

        T::tx_timeout(dev, queue);
    }

    extern "C" fn get_stats64(
        ndev: *mut bindings::net_device,
        stats: *mut bindings::rtnl_link_stats64,
    ) {
        // SAFETY: See above; `stats` is valid and the caller's alone.
        let (dev, stats) = unsafe { (Device::from_raw(ndev), &mut *stats.cast()) };

        T::get_stats64(dev, stats);
    }

    extern "C" fn fix_features(
        ndev: *mut bindings::net_device,
        features: bindings::netdev_features_t,
    ) -> bindings::netdev_features_t {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::from_raw(ndev), Rtnl::assume_held()) };

        T::fix_features(dev, Features(features), rtnl).0
    }

    extern "C" fn set_features(
        ndev: *mut bindings::net_device,
        features: bindings::netdev_features_t,
    ) -> c_int {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::from_raw(ndev), Rtnl::assume_held()) };

        // `__netdev_update_features` stores the features itself if this returns 0.
        from_result(|| T::set_features(dev, Features(features), rtnl).map(|()| 0))
    }

    extern "C" fn bpf(ndev: *mut bindings::net_device, bpf: *mut bindings::netdev_bpf) -> c_int {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::from_raw(ndev), Rtnl::assume_held()) };

        from_result(|| {
            // SAFETY: `bpf` is valid and the caller's alone.
            let bpf = unsafe { &*bpf };

            if bpf.command != bindings::bpf_netdev_command_XDP_SETUP_PROG {
                return Err(EINVAL);
            }
            // SAFETY: This is what belongs to the command.
            let setup = unsafe { bpf.__bindgen_anon_1.__bindgen_anon_1.as_ref() };
            // SAFETY: `extack` is null or valid for the call.
            let extack = unsafe { ExtAck::from_raw(setup.extack) };
            // SAFETY: `prog` is null or a valid XDP program.
            let program = unsafe { xdp::Program::get(setup.prog) };

            T::xdp_setup(dev, program, &extack, rtnl)?;
            if !setup.prog.is_null() {
                // The caller's reference becomes ours on success, and we have one already.
                //
                // SAFETY: `prog` is valid.
                unsafe { bindings::rnet_bpf_prog_put(setup.prog) };
            }
            Ok(0)
        })
    }

    extern "C" fn xdp_xmit(
        ndev: *mut bindings::net_device,
        count: c_int,
        frames: *mut *mut bindings::xdp_frame,
        flags: u32,
    ) -> c_int {
        // SAFETY: The core calls this in an RCU read section, and the device can't be freed before
        // its end.
        let dev = unsafe { Device::from_raw(ndev) };

        from_result(|| {
            if flags & !bindings::XDP_XMIT_FLUSH != 0 {
                return Err(EINVAL);
            }
            // SAFETY: There are so many frames, which are given to us; the core takes those that
            // are left.
            let mut frames = unsafe { xdp::Frames::from_raw(frames, usize::try_from(count)?) };

            T::xdp_xmit(dev, &mut frames, flags != 0)?;
            // CAST: No more than `count`.
            Ok(count - frames.left() as c_int)
        })
    }

    extern "C" fn hwtstamp_get(
        ndev: *mut bindings::net_device,
        config: *mut bindings::kernel_hwtstamp_config,
    ) -> c_int {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::from_raw(ndev), Rtnl::assume_held()) };

        from_result(|| {
            let result = T::hwtstamp_get(dev, rtnl)?;

            // SAFETY: `config` is valid and the caller's alone.
            result.store(unsafe { &mut *config });
            Ok(0)
        })
    }

    extern "C" fn hwtstamp_set(
        ndev: *mut bindings::net_device,
        config: *mut bindings::kernel_hwtstamp_config,
        extack: *mut bindings::netlink_ext_ack,
    ) -> c_int {
        // SAFETY: See above.
        let (dev, rtnl) = unsafe { (Device::from_raw(ndev), Rtnl::assume_held()) };
        // SAFETY: `config` is valid and the caller's alone.
        let config = unsafe { &mut *config };
        // SAFETY: `extack` is null or valid for the call.
        let extack = unsafe { ExtAck::from_raw(extack) };

        from_result(|| {
            let wanted = ptp::HwTstampConfig::load(config)?;

            T::hwtstamp_set(dev, wanted, &extack, rtnl)?.store(config);
            Ok(0)
        })
    }
}
