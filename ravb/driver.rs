// SPDX-License-Identifier: GPL-2.0

//! The driver: what the stack and the platform bus call, and what a device is made of.

use kernel::{
    clk::{
        Clk,
        OptionalClk, //
    },
    device::{
        Bound,
        Core,
        Device as ParentDevice, //
    },
    dma::DmaMask,
    io::mem::IoMem,
    of,
    platform,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            AtomicFlag,
            Relaxed, //
        },
        Mutex, //
    }, //
};

use super::{
    coalesce,
    dmac::{
        self,
        BaseTable, //
    },
    emac,
    hw_info::{
        HwInfo,
        Line,
        Lines,
        RingSizes,
        BE,
        MAX_QUEUES,
        MIN_MTU,
        NC, //
    },
    irq,
    link,
    mdio,
    poll,
    ptp::{
        self,
        Ptp, //
    },
    queue::{
        self,
        NapiState, //
    },
    recover,
    regs::{
        Mode,
        WINDOW, //
    },
    stats::{
        self,
        MacCounters,
        MacCountersLock,
        QueueStats, //
    },
    tx::{
        self,
        TxState, //
    },
    xdp, //
};
use crate::net::{
    self,
    extack::ExtAck,
    irq::{
        Flags,
        Return, //
    },
    phy,
    pm,
    ptp::HwTstampConfig,
    reset,
    stats::{
        Counter,
        LinkStats64, //
    },
    xdp::{
        Frames,
        Program, //
    },
    Device,
    Features,
    MacAddress,
    Poll,
    Polled,
    Queues,
    Rtnl,
    RxMode,
    Setup,
    Skb,
    TxQueue,
    WorkFn,
    Xmit, //
};

/// After which time without use the device may be suspended.
const AUTOSUSPEND_MS: u32 = 100;

/// What `msglevel` is by default: driver, probe, link.
const MSG_LEVEL: u32 = 0x7;

/// The driver.
pub(crate) struct Ravb;

/// What the device tree says about a device.
pub(super) struct Board {
    pub(super) phy_mode: phy::Mode,
    /// The DMAC delays the received, the sent clock.
    pub(super) rx_delay: bool,
    pub(super) tx_delay: bool,
    /// The E-MAC has no link pin.
    pub(super) no_ether_link: bool,
    /// The link pin is low when there is a link.
    pub(super) link_active_low: bool,
}

impl Board {
    fn new(dev: &ParentDevice<Bound>, info: &HwInfo) -> Result<Self> {
        let node = dev.fwnode().ok_or(ENODEV)?;
        let flag = |name| node.property_read_bool(name);
        let delay = |name| node.property_read::<u32>(name).optional();
        let given = net::of::phy_mode(dev)?;
        let (phy_mode, rx_delay, tx_delay) = if !info.internal_delay {
            (given, false, false)
        } else {
            match (
                delay(c"rx-internal-delay-ps"),
                delay(c"tx-internal-delay-ps"),
            ) {
                // Old device trees: the mode is for the DMAC to obey, not for the PHY.
                (None, None) if given.is_rgmii() => (
                    phy::Mode::RGMII,
                    [phy::Mode::RGMII_ID, phy::Mode::RGMII_RXID].contains(&given),
                    [phy::Mode::RGMII_ID, phy::Mode::RGMII_TXID].contains(&given),
                ),
                (rx, tx) => (given, rx.unwrap_or(0) != 0, tx.unwrap_or(0) != 0),
            }
        };

        Ok(Self {
            phy_mode,
            rx_delay,
            tx_delay,
            no_ether_link: flag(c"renesas,no-ether-link"),
            link_active_low: flag(c"renesas,ether-link-active-low"),
        })
    }
}

/// A device.
#[pin_data]
pub(crate) struct Private<'b> {
    pub(super) info: &'b HwInfo,
    pub(super) board: Board,
    pub(super) io: IoMem<'b, WINDOW>,
    /// The clock of a reference that the board may have to be given. The others are the PM
    /// domain's.
    pub(super) refclk: OptionalClk,
    pub(super) base_table: BaseTable,
    #[pin]
    pub(super) irq: irq::Interrupts,
    pub(super) delays: [coalesce::Delays; MAX_QUEUES],
    #[pin]
    pub(super) ptp: Ptp,
    #[pin]
    pub(super) emac: emac::SettingsLock,
    #[pin]
    pub(super) mac_counters: MacCountersLock,
    stats: [QueueStats; MAX_QUEUES],
    /// Overflows of the FIFO, which all queues share. Written under the lock of the masks.
    pub(super) rx_fifo_errors: Counter,
    /// Written by the interrupt handler of the E-MAC.
    pub(super) false_carriers: Counter,
    /// The sizes of the rings of the best-effort queue. Written under the RTNL.
    rx_ring: Atomic<u32>,
    tx_ring: Atomic<u32>,
    /// Transmit queues that the watchdog has found stuck.
    pub(super) stuck: [AtomicFlag; MAX_QUEUES],
    pub(super) msg_level: Atomic<u32>,
    /// Whether the queues are running, or were when they were last made to. Written under the RTNL:
    /// unlike `Device::running` it is also false after a resume that has failed.
    up: AtomicFlag,
    /// The XDP program. Changed under the RTNL.
    #[pin]
    pub(super) xdp: Mutex<Option<Program>>,
    pub(super) wires: mdio::Wires,
    // Asserted last, when nothing of the above can be using the chip.
    pub(super) reset: reset::Deasserted,
}

impl Private<'_> {
    /// Returns the statistics of a queue.
    #[inline]
    pub(super) fn queue_stats(&self, queue: usize) -> Option<&QueueStats> {
        self.all_queue_stats().get(queue)
    }

    /// Returns the statistics of all queues.
    #[inline]
    pub(super) fn all_queue_stats(&self) -> &[QueueStats] {
        self.stats.get(..self.info.queues).unwrap_or_default()
    }

    /// Returns whether the queues are running, or are meant to.
    pub(super) fn is_up(&self, _rtnl: &Rtnl) -> bool {
        self.up.load(Relaxed)
    }

    /// Returns the sizes of the rings.
    pub(super) fn ring_sizes(&self) -> [RingSizes; MAX_QUEUES] {
        let mut sizes = self.info.policy.rings;

        sizes[BE] = RingSizes {
            rx: self.rx_ring.load(Relaxed),
            tx: self.tx_ring.load(Relaxed),
        };
        sizes
    }

    /// Sets the sizes of the rings of the best-effort queue, for the next time that they are
    /// allocated.
    pub(super) fn set_ring_sizes(&self, sizes: RingSizes, _rtnl: &Rtnl) {
        self.rx_ring.store(sizes.rx, Relaxed);
        self.tx_ring.store(sizes.tx, Relaxed);
    }
}

impl Ravb {
    /// Brings a device up. On failure everything is as before.
    pub(super) fn up(dev: &Device<'_, Self>, rtnl: &Rtnl) -> Result {
        let data = dev.data();
        let active = dev.pm().resume()?;
        let rings = queue::allocate(dev, &data.ring_sizes(), data.xdp.lock().as_ref(), rtnl)?;

        {
            let hold = dev.hold_napi();

            queue::disable(dev, &hold, rtnl);
            // The PHY first: it is what most often is not there, and nothing is running yet.
            queue::install(dev, &hold, rings, rtnl)
                .and_then(|()| link::connect(dev, rtnl))
                .and_then(|()| {
                    queue::resume(dev, &hold, dev.features(), rtnl)
                        .inspect_err(|_| link::disconnect(dev, rtnl))
                })
                .inspect_err(|_| Self::off(dev, &hold, rtnl))?;
        }
        for queue in 0..data.info.queues {
            dev.link_queues(queue, true, rtnl);
        }
        link::start(dev, rtnl);
        data.up.store(true, Relaxed);
        active.keep();
        Ok(())
    }

    /// Brings a device down, if it is up.
    pub(super) fn down(dev: &Device<'_, Self>, rtnl: &Rtnl) {
        let data = dev.data();

        if !data.up.load(Relaxed) {
            return;
        }
        data.up.store(false, Relaxed);
        link::stop(dev, rtnl);
        // The work takes the RTNL only if it is free.
        recover::cancel(dev);
        for queue in 0..data.info.queues {
            dev.link_queues(queue, false, rtnl);
        }
        {
            let hold = dev.hold_napi();

            queue::quiesce(dev, &hold, rtnl);
            link::disconnect(dev, rtnl);
            Self::off(dev, &hold, rtnl);
        }
        pm::put(dev.pm());
    }

    /// The end of [`down`](Self::down): the registers are left alone from now on.
    fn off<'b>(dev: &Device<'b, Self>, hold: &queue::Hold<'_, 'b>, rtnl: &Rtnl) {
        let data = dev.data();
        let data = data.get_ref();

        emac::power_off(data);
        queue::remove(dev, hold, rtnl);
        // MDIO goes on working.
        if dmac::set_mode(dev, Mode::Config).is_err() {
            dev_err!(dev, "CONFIG mode was not reached in time\n");
        }
    }
}

#[vtable]
impl net::Operations for Ravb {
    type Data<'b> = Private<'b>;
    type TxState<'b> = TxState<'b>;
    type NapiState<'b> = NapiState<'b>;
    type Line = Line;

    const WORK: &'static [WorkFn<Self>] = &[recover::work, ptp::output_work, ptp::expire];
    const TIMERS: usize = coalesce::TIMERS;

    fn open(dev: &Device<'_, Self>, rtnl: &Rtnl) -> Result {
        Self::up(dev, rtnl)
    }

    fn stop(dev: &Device<'_, Self>, rtnl: &Rtnl) {
        Self::down(dev, rtnl);
    }

    fn start_xmit<'b>(dev: &Device<'b, Self>, skb: Skb, queue: TxQueue<'_, 'b, Self>) -> Xmit {
        tx::start_xmit(dev, skb, queue)
    }

    fn poll<'b>(dev: &Device<'b, Self>, poll: Poll<'_, 'b, Self>) -> Polled {
        poll::poll(dev, poll)
    }

    fn interrupt(dev: &Device<'_, Self>, line: Line) -> Return {
        irq::interrupt(dev, line)
    }

    fn timer(dev: &Device<'_, Self>, index: usize) {
        coalesce::expired(dev, index);
    }

    fn select_queue(dev: &Device<'_, Self>, skb: &Skb) -> u16 {
        // The queue that has hardware time stamps. A socket that goes around the queueing
        // discipline asks here also where there is one queue only.
        if dev.data().info.has_clock() && skb.wants_hw_tstamp() {
            NC as u16
        } else {
            BE as u16
        }
    }

    fn get_stats64(dev: &Device<'_, Self>, stats: &mut LinkStats64) {
        stats::link_stats(dev.data().get_ref(), stats);
    }

    fn set_rx_mode(dev: &Device<'_, Self>, mode: &RxMode, _rtnl: &Rtnl) -> Result {
        // All multicast frames are received anyway.
        emac::set_promiscuous(dev.data().get_ref(), mode.promiscuous());
        Ok(())
    }

    fn set_features(dev: &Device<'_, Self>, features: Features, rtnl: &Rtnl) -> Result {
        let changed = features ^ dev.features();

        // RXCSUM is looked at when a frame is received. A change of the other one must not hit
        // frames that are in the ring, with their checksums left to the chip or not.
        if changed.contains(Features::HW_CSUM) && dev.data().is_up(rtnl) {
            let hold = dev.hold_napi();

            queue::quiesce(dev, &hold, rtnl);
            queue::resume(dev, &hold, features, rtnl)?;
        }
        Ok(())
    }

    fn tx_timeout(dev: &Device<'_, Self>, queue: u32) {
        recover::tx_timeout(dev, queue);
    }

    fn xdp_setup(
        dev: &Device<'_, Self>,
        program: Option<Program>,
        extack: &ExtAck<'_>,
        rtnl: &Rtnl,
    ) -> Result {
        xdp::setup(dev, program, extack, rtnl)
    }

    fn xdp_xmit<'b>(dev: &Device<'b, Self>, frames: &mut Frames<'_>, flush: bool) -> Result {
        xdp::xmit(dev, frames, flush)
    }

    fn hwtstamp_get(dev: &Device<'_, Self>, rtnl: &Rtnl) -> Result<HwTstampConfig> {
        ptp::config(dev, rtnl)
    }

    fn hwtstamp_set(
        dev: &Device<'_, Self>,
        config: HwTstampConfig,
        _extack: &ExtAck<'_>,
        rtnl: &Rtnl,
    ) -> Result<HwTstampConfig> {
        ptp::set_config(dev, config, rtnl)
    }

    fn adjust_link(dev: &Device<'_, Self>, link: &phy::Link<'_>) {
        link::adjust(dev, link);
    }
}

#[vtable]
impl net::platform::Driver for Ravb {
    type IdInfo = HwInfo;

    const OF_ID_TABLE: Option<of::IdTable<Self::IdInfo>> = Some(&crate::OF_TABLE);

    fn probe<'b>(
        pdev: &'b platform::Device<Core<'_>>,
        info: Option<&'b Self::IdInfo>,
        setup: &mut Setup<'b, Self>,
    ) -> Result {
        let parent: &'b ParentDevice<Bound> = pdev.as_ref();
        let fail = |e: Error, what: &str| net::err_probe(parent, e, fmt!("{what}\n"));
        let info = info.ok_or(ENODEV)?;

        setup
            .set_dma_mask(DmaMask::new::<32>())
            .map_err(|e| fail(e, "no 32-bit DMA"))?;

        let board = Board::new(parent, info).map_err(|e| fail(e, "invalid or missing phy-mode"))?;
        let reset = reset::Control::exclusive(parent, None)
            .and_then(reset::Control::deasserted)
            .map_err(|e| fail(e, "no reset line"))?;
        // Not used, but without it the PM domain has nothing to switch on.
        Clk::get(parent, None).map_err(|e| fail(e, "no clock"))?;

        let refclk =
            OptionalClk::get(parent, Some(c"refclk")).map_err(|e| fail(e, "no reference clock"))?;
        let io = pdev
            .io_request_by_index(0)
            .ok_or(ENODEV)
            .and_then(|request| request.iomap_sized::<WINDOW>())
            .map_err(|e| fail(e, "no registers"))?;
        let ptp = Ptp::new(info, ptp::nominal_increment(parent, info)?)?;
        let base_table = BaseTable::new(parent, info)?;
        let queues = info.queues as u32;
        let [sizes, ..] = info.policy.rings;

        setup.alloc(
            Queues {
                tx: queues,
                rx: queues,
                napi: queues,
            },
            try_pin_init!(Private {
                info,
                emac <- kernel::new_spinlock_irq!(emac::Settings::new(info, &board)),
                board,
                io,
                refclk,
                base_table,
                irq <- irq::Interrupts::new(),
                delays: [const { coalesce::Delays::new() }; MAX_QUEUES],
                ptp <- ptp,
                mac_counters <- kernel::new_spinlock_irq!(MacCounters::default()),
                stats: Default::default(),
                rx_fifo_errors: Counter::new(),
                false_carriers: Counter::new(),
                rx_ring: Atomic::new(sizes.rx),
                tx_ring: Atomic::new(sizes.tx),
                stuck: [const { AtomicFlag::new(false) }; MAX_QUEUES],
                msg_level: Atomic::new(MSG_LEVEL),
                up: AtomicFlag::new(false),
                xdp <- kernel::new_mutex!(None),
                wires: mdio::Wires::new(),
                reset,
            }? Error),
        )?;
        setup
            .runtime_pm(AUTOSUSPEND_MS)
            .map_err(|e| fail(e, "cannot be powered up"))?;

        let dev = setup.device()?;

        // Whatever was there before (a boot loader, another kernel).
        dmac::reset(dev).map_err(|e| fail(e, "CONFIG mode was not reached in time"))?;

        let address = mac_address(parent, dev.data().get_ref())?;

        if address.is_none() {
            dev_warn!(parent, "no valid MAC address, using a random one\n");
        }
        setup.set_mac_address(address)?;
        setup.set_mtu_range(MIN_MTU, info.max_mtu())?;

        let features = features(info);

        setup.set_features(features.active, features.active, features.vlan)?;
        setup.set_xdp_features(info.xdp_features())?;
        setup.set_ethtool_ops()?;
        setup.set_queue_stats()?;
        if info.has_clock() {
            match setup.ptp_clock() {
                // Packets are sent and received without clock, too.
                Err(EOPNOTSUPP) => (),
                result => result.map_err(|e| fail(e, "no PTP clock"))?,
            }
        }
        coalesce::set_defaults(setup, info)?;
        request_irqs(pdev, setup, info)?;
        setup.mdio_bitbang().map_err(|e| fail(e, "no MDIO bus"))?;
        setup.device()?.phy().set_mac_managed_pm();
        setup.device()?.pm().init_wakeup(info.magic_packet, false)?;
        Ok(())
    }

    fn registered(dev: &Device<'_, Self>) {
        let rtnl = net::rtnl::lock();

        dev_info!(
            dev,
            "{}: {} at address {}\n",
            dev.name(),
            dev.data().info.name,
            dev.mac_address(&rtnl)
        );
    }

    fn remove(dev: &Device<'_, Self>) {
        // Not powered if the probe has failed at that.
        if dev.pm().is_active() {
            // Nothing is running: it would be strange if this failed, and the reset line comes
            // next.
            let _ = dmac::set_mode(dev, Mode::Reset);
        }
    }

    fn runtime_suspend(dev: &Device<'_, Self>) -> Result {
        super::pm::runtime_suspend(dev)
    }

    fn runtime_resume(dev: &Device<'_, Self>) -> Result {
        super::pm::runtime_resume(dev)
    }

    fn suspend(dev: &Device<'_, Self>, rtnl: &Rtnl) -> Result {
        super::pm::suspend(dev, rtnl)
    }

    fn resume(dev: &Device<'_, Self>, rtnl: &Rtnl) -> Result {
        super::pm::resume(dev, rtnl)
    }

    fn shutdown(dev: &Device<'_, Self>, rtnl: &Rtnl) {
        super::pm::shutdown(dev, rtnl);
    }
}

/// Features of a chip.
struct ChipFeatures {
    /// What can be switched, and is on.
    active: Features,
    /// What VLAN devices inherit.
    vlan: Features,
}

fn features(info: &HwInfo) -> ChipFeatures {
    use super::hw_info::Checksum;

    match info.checksum {
        // The engine sees through a tag.
        Checksum::Engine => ChipFeatures {
            active: Features::RXCSUM.with(Features::HW_CSUM),
            vlan: Features::RXCSUM.with(Features::HW_CSUM),
        },
        Checksum::Sum => ChipFeatures {
            active: Features::RXCSUM,
            vlan: Features::NONE,
        },
    }
}

/// Finds the address of a device: in the device tree, or where the boot loader has left it.
fn mac_address(parent: &ParentDevice<Bound>, data: &Private<'_>) -> Result<Option<MacAddress>> {
    match net::of::mac_address(parent) {
        Ok(address) => Ok(Some(address)),
        Err(EPROBE_DEFER) => Err(EPROBE_DEFER),
        Err(_) => Ok(Some(emac::boot_address(data)).filter(MacAddress::is_valid)),
    }
}

/// Requests the interrupt lines of a chip.
fn request_irqs(
    pdev: &platform::Device<Core<'_>>,
    setup: &mut Setup<'_, Ravb>,
    info: &HwInfo,
) -> Result {
    for (index, line) in info.lines.all().iter().enumerate() {
        let (request, flags) = match info.lines {
            Lines::One => (pdev.irq_by_index(0), Flags::SHARED),
            Lines::Named(_) => (pdev.irq_by_name(line.name), Flags::TRIGGER_NONE),
        };

        request
            .and_then(|request| setup.request_irq(request, flags, line.label, line.line))
            .map_err(|e| {
                net::err_probe(
                    pdev.as_ref(),
                    e,
                    fmt!("no interrupt {}\n", line.name.to_str().unwrap_or_default()),
                )
            })?;

        // For those who want to know which interrupt has a queue polled.
        let dev = setup.device()?;
        let irq = dev.irqs().number(index)?;

        match line.line {
            Line::All => (0..info.queues).for_each(|queue| set_napi_irq(dev, queue, irq)),
            Line::Queue(queue) => set_napi_irq(dev, queue, irq),
            Line::Common | Line::Emac => (),
        }
    }
    Ok(())
}

fn set_napi_irq(dev: &Device<'_, Ravb>, queue: usize, irq: u32) {
    if let Some(napi) = dev.napi(queue) {
        napi.set_irq(Some(irq));
    }
}
