// SPDX-License-Identifier: GPL-2.0

//! The driver: what the stack and the platform bus call, and what a device is made of.

use kernel::{
    device::{
        Bound,
        Core,
        Device as ParentDevice, //
    },
    io::Io,
    of,
    platform,
    prelude::*,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

use super::{
    header::{
        Header,
        PORTS, //
    },
    regs::{
        Window,
        INJ_GRP_CFG,
        WINDOW,
        XTR_DATA_PRESENT,
        XTR_FLUSH,
        XTR_GRP_CFG, //
    },
    rx,
    stats::Stats,
    tx, //
};
use crate::net::{
    self,
    irq::{
        Mask,
        Return, //
    },
    stats::LinkStats64,
    Completion,
    Device,
    MacAddress,
    Poll,
    Polled,
    Queues,
    Rtnl,
    Setup,
    Skb,
    TxQueue,
    Xmit, //
};

/// What the ports of the switch let through after a reset.
const MIN_MTU: u32 = 68;
const MAX_MTU: u32 = 1500;

/// How long old frames take to drain.
const FLUSH: Delta = Delta::from_millis(1);

/// The driver.
pub(crate) struct Inject;

/// A device.
#[pin_data]
pub(crate) struct Private<'b> {
    pub(super) io: Window<'b>,
    /// What is in front of every frame that is sent.
    pub(super) header: Header,
    /// The extraction interrupt follows the frames that are there; the block cannot mask it.
    xtr: Mask,
    pub(super) stats: Stats,
}

/// What belongs to the poll.
#[derive(Default)]
pub(crate) struct PollState {
    retry: tx::Retry,
}

impl Private<'_> {
    /// Makes the CPU port pass frames through the registers, and forgets what is in there: the last
    /// user of the interface may have been another kernel. Sleeps.
    fn start(&self) {
        self.io.write_reg(XTR_GRP_CFG::manual());
        self.io.write_reg(INJ_GRP_CFG::manual());
        self.io.write_reg(XTR_FLUSH::group());
        fsleep(FLUSH);
        self.io.write_reg(XTR_FLUSH::zeroed());
    }
}

#[vtable]
impl net::Operations for Inject {
    type Data<'b> = Private<'b>;
    type TxState<'b> = ();
    type NapiState<'b> = PollState;
    type Line = ();

    fn open(dev: &Device<'_, Self>, rtnl: &Rtnl) -> Result {
        let data = dev.data();
        let napi = dev.napi(0).ok_or(EINVAL)?;

        data.start();
        napi.enable(&dev.hold_napi());
        dev.link_queues(0, true, rtnl);
        data.xtr.unmask();
        // The switch's link is nobody's business here.
        dev.carrier_on();
        dev.tx_start_all();
        Ok(())
    }

    fn stop(dev: &Device<'_, Self>, rtnl: &Rtnl) {
        let data = dev.data();

        if let Some(napi) = dev.napi(0) {
            // Parks it in the end.
            let hold = dev.hold_napi();

            napi.disable(&hold);
            // No poll can unmask the interrupt or wake the queue from here on.
            data.xtr.mask();
            dev.irqs().synchronize();
            dev.tx_disable();
            napi.cancel_timer();
        }
        dev.link_queues(0, false, rtnl);
        dev.carrier_off();
    }

    fn start_xmit<'b>(dev: &Device<'b, Self>, skb: Skb, queue: TxQueue<'_, 'b, Self>) -> Xmit {
        tx::start_xmit(dev, skb, queue)
    }

    fn poll<'b>(dev: &Device<'b, Self>, mut poll: Poll<'_, 'b, Self>) -> Polled {
        let (state, cx) = poll.split();

        tx::look_after(dev, &mut state.retry);
        // None under netpoll, which wants TX only.
        let Some(cx) = cx.rx() else {
            return poll.again();
        };
        let work = rx::receive(dev, &cx);

        match poll.complete(work) {
            Completion::Done(polled) => {
                // A frame that has come meanwhile raises the interrupt.
                dev.data().xtr.unmask();
                polled
            }
            Completion::Again(polled) => polled,
        }
    }

    fn interrupt(dev: &Device<'_, Self>, _line: ()) -> Return {
        let data = dev.data();

        if !data.io.read(XTR_DATA_PRESENT).is_present() {
            return Return::None;
        }
        data.xtr.mask();
        if let Some(napi) = dev.napi(0) {
            napi.schedule_irqoff();
        }
        Return::Handled
    }

    fn get_stats64(dev: &Device<'_, Self>, stats: &mut LinkStats64) {
        dev.data().stats.fill(stats);
    }

    fn set_mac_address(dev: &Device<'_, Self>, address: MacAddress, rtnl: &Rtnl) -> Result {
        // The switch hands over frames for the address that the boot loader has told it.
        if address == dev.mac_address(rtnl) {
            Ok(())
        } else {
            Err(EOPNOTSUPP)
        }
    }
}

#[vtable]
impl net::platform::Driver for Inject {
    type IdInfo = ();

    const OF_ID_TABLE: Option<of::IdTable<Self::IdInfo>> = Some(&crate::INJECT_OF_TABLE);

    fn probe<'b>(
        pdev: &'b platform::Device<Core<'_>>,
        _info: Option<&'b ()>,
        setup: &mut Setup<'b, Self>,
    ) -> Result {
        let parent: &'b ParentDevice<Bound> = pdev.as_ref();
        let fail = |e: Error, what: &str| net::err_probe(parent, e, fmt!("{what}\n"));
        let io = pdev
            .io_request_by_index(0)
            .ok_or(ENODEV)
            .and_then(|request| request.iomap_sized::<WINDOW>())
            .map_err(|e| fail(e, "no registers"))?;
        let port = parent
            .fwnode()
            .ok_or(ENODEV)
            .and_then(|node| node.property_read::<u32>(c"linux,port").required_by(parent))?;

        if port >= PORTS {
            return Err(fail(EINVAL, "linux,port is no front port"));
        }

        let address = net::of::mac_address(parent).map_err(|e| {
            fail(
                e,
                "no MAC address, which the switch must have been told, too",
            )
        })?;

        setup.alloc(
            Queues {
                tx: 1,
                rx: 1,
                napi: 1,
            },
            try_pin_init!(Private {
                io,
                header: Header::for_port(port),
                xtr: Mask::new(),
                stats: Stats::default(),
            }? Error),
        )?;
        setup.set_mac_address(Some(address))?;
        setup.set_mtu_range(MIN_MTU, MAX_MTU)?;
        setup.set_ethtool_ops()?;
        pdev.irq_by_index(0)
            .and_then(|request| setup.request_masked_irq(request, c"", (), |data| &data.xtr))
            .map_err(|e| fail(e, "no interrupt"))?;

        let dev = setup.device()?;

        if let Some(napi) = dev.napi(0) {
            napi.set_irq(dev.irqs().number(0).ok());
        }
        dev.carrier_off();
        Ok(())
    }

    fn registered(dev: &Device<'_, Self>) {
        let rtnl = net::rtnl::lock();

        dev_info!(
            dev,
            "{}: CPU port of a lan966x at address {}\n",
            dev.name(),
            dev.mac_address(&rtnl)
        );
    }
}
