// SPDX-License-Identifier: GPL-2.0

//! The AVB-DMAC: its modes, its start, and its stop.

use kernel::{
    device::{
        Bound,
        Device as ParentDevice, //
    },
    io::Io,
    num::Bounded,
    prelude::*,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

use super::{
    desc::{
        BusAddress,
        Table,
        NORMAL, //
    },
    driver::{
        Private,
        Ravb, //
    },
    emac,
    hw_info::{
        Clocking,
        HwInfo,
        DBAT_RX,
        DBAT_TX, //
    },
    ptp,
    regs::{
        Mode,
        CCC,
        CSR,
        DBAT,
        DLR,
        TCCR, //
    },
    ring::Addresses,
    wait::{
        poll_ready,
        Patience, //
    }, //
};
use crate::net::{
    Device,
    MacAddress, //
};

/// For everything that the DMAC is asked to do. It usually takes microseconds, or the time that a
/// frame needs on the wire.
const PATIENCE: Patience = Patience {
    interval: Delta::from_micros(10),
    bound: Delta::from_millis(100),
};

/// The descriptor base address table: where the DMAC finds the rings.
pub(super) struct BaseTable(Table<NORMAL>);

impl BaseTable {
    pub(super) fn new(dev: &ParentDevice<Bound>, info: &HwInfo) -> Result<Self> {
        let table = Table::new(dev, info.dbat_entries)?;

        for entry in 0..info.dbat_entries {
            table.publish_end(entry)?;
        }
        Ok(Self(table))
    }

    /// Enters the transmit ring of a queue, or none. The DMAC looks at it when it is told to.
    pub(super) fn set_tx(&self, queue: usize, ring: Option<BusAddress>) -> Result {
        match ring {
            Some(address) => self.0.publish_link(DBAT_TX + queue, address),
            None => self.0.publish_end(DBAT_TX + queue),
        }
    }

    /// Enters the rings of a queue, or none. The DMAC is stopped.
    pub(super) fn set(&self, queue: usize, rings: Option<Addresses>) -> Result {
        match rings {
            Some(rings) => {
                self.0.publish_link(DBAT_TX + queue, rings.tx)?;
                self.0.publish_link(DBAT_RX + queue, rings.rx)
            }
            None => {
                self.0.publish_end(DBAT_TX + queue)?;
                self.0.publish_end(DBAT_RX + queue)
            }
        }
    }
}

/// Has the DMAC begin a transmit queue at its entry of the base address table again, while all
/// others go on. When it does nothing of the queue is under way. Process context.
///
/// The same way for GbEth is not documented, but the register is there.
pub(super) fn reload_tx(dev: &Device<'_, Ravb>, queue: usize) -> Result {
    let data = dev.data();
    let io = &data.get_ref().io;
    let bit = 1 << (DBAT_TX + queue);

    io.write_reg(DLR::zeroed().with_lba(Bounded::from_expr(bit & DLR::LBA_MASK)));
    poll_ready(PATIENCE, || {
        let pending = io.read(DLR).lba().get() & bit != 0;
        let busy = io.read(CSR).tpo().get() & 1 << queue != 0;

        (!pending && !busy).then_some(())
    })
}

/// The mode register in a mode. `suspend` asks the DMAC to leave the memory alone.
fn ccc(info: &HwInfo, mode: Mode, suspend: bool) -> CCC {
    let ccc = CCC::zeroed().with_opc(mode).with_dtsr(suspend);

    match (info.clocking, mode) {
        (Clocking::None, _) | (_, Mode::Reset) => ccc,
        // The timer's clock, taken over together with the mode.
        (Clocking::Operation | Clocking::OperationOwnClock, _) => ccc.with_const_csel::<1>(),
        (Clocking::Config, _) => ccc.with_const_csel::<1>().with_gac(true),
    }
}

/// Changes the mode and waits until it is taken. Process context.
pub(super) fn set_mode(dev: &Device<'_, Ravb>, mode: Mode) -> Result {
    change_mode(dev, mode, false)
}

fn change_mode(dev: &Device<'_, Ravb>, mode: Mode, suspend: bool) -> Result {
    let data = dev.data();
    let data = data.get_ref();

    ptp::before_mode(dev, mode);
    data.io.write_reg(ccc(data.info, mode, suspend));
    poll_ready(PATIENCE, || {
        (data.io.read(CSR).ops().get() == mode.status()).then_some(())
    })?;
    ptp::after_mode(dev, mode);
    Ok(())
}

/// Resets the DMAC, and brings it into the mode in which it waits for the interface to come up.
/// Process context; nobody may be using MDIO, which needs one of the other modes.
pub(super) fn reset(dev: &Device<'_, Ravb>) -> Result {
    set_mode(dev, Mode::Reset)?;
    set_mode(dev, Mode::Config)
}

/// Programs the chip from scratch and starts it: it receives, with interrupts masked. The rings are
/// in place. Process context.
pub(super) fn start(dev: &Device<'_, Ravb>, address: MacAddress, tx_checksums: bool) -> Result {
    let data = dev.data();
    let data = data.get_ref();
    let io = &data.io;
    let info = data.info;

    // Having been in CONFIG mode the DMAC begins each queue at its entry of the table.
    set_mode(dev, Mode::Config)?;
    io.write_reg(DBAT::from(data.base_table.0.address()));
    io.write_reg(info.rcr);
    if let Some(rtc) = info.rtc {
        io.write_reg(rtc);
    }
    io.write_reg(info.tgc);
    io.write_reg(info.tccr());
    data.irq.reset(data);
    emac::configure(data, address, tx_checksums)?;
    data.mac_counters.lock().start(data);

    set_mode(dev, Mode::Operation)?;
    emac::start(data);
    Ok(())
}

/// Stops sending, receiving and all access to memory. Process context; nothing is being sent.
///
/// On return the chip does not access memory any more, whatever it takes.
pub(super) fn stop(dev: &Device<'_, Ravb>) {
    let data = dev.data();
    let data = data.get_ref();

    data.mac_counters.lock().stop(data);

    if let Err(what) = stop_orderly(dev) {
        emac::stop(data);
        if set_mode(dev, Mode::Reset).is_ok() {
            dev_warn!(dev, "{what} was not finished in time, DMAC reset\n");
        } else {
            hard_reset(dev, what);
        }
    }
    ptp::forget_stamps(dev);
}

/// Lets the DMAC finish what it is doing. Returns what it did not finish.
fn stop_orderly(dev: &Device<'_, Ravb>) -> Result<(), &'static str> {
    let data = dev.data();
    let data = data.get_ref();

    if data.io.read(CSR).ops().get() == Mode::Operation.status() {
        finish(data)?;
    } else {
        // Nothing goes on in the other modes, from where a start did not get here. What it has
        // asked for must not be granted later.
        emac::stop(data);
    }
    change_mode(dev, Mode::Config, true).map_err(|_| "the change to CONFIG mode")
}

/// Stops the E-MAC, and waits until nothing goes on in OPERATION mode.
fn finish(data: &Private<'_>) -> Result<(), &'static str> {
    let io = &data.io;

    // Everything was sent...
    poll_ready(PATIENCE, || {
        let requested = io.read(TCCR).tsrq().get() & data.info.queue_mask() != 0;

        (!requested && io.read(CSR).tpo().get() == 0).then_some(())
    })
    .map_err(|_| "transmission")?;

    // ... and received, to the end of the frame ...
    emac::stop(data);
    poll_ready(PATIENCE, || (!io.read(CSR).rpo()).then_some(())).map_err(|_| "reception")?;

    // ... and written to memory.
    io.write_reg(ccc(data.info, Mode::Operation, true));
    poll_ready(PATIENCE, || io.read(CSR).dts().then_some(())).map_err(|_| "data transfer")
}

/// Resets the chip by its reset line, when it does not react to anything else.
fn hard_reset(dev: &Device<'_, Ravb>, what: &str) {
    const PULSE: Delta = Delta::from_micros(10);
    let data = dev.data();
    let reset = || -> Result {
        data.reset.assert()?;
        fsleep(PULSE);
        data.reset.deassert()
    };

    match reset() {
        Ok(()) => dev_err!(dev, "{what} was not finished in time, chip reset\n"),
        Err(e) => dev_err!(
            dev,
            "{what} was not finished in time, and the chip cannot be reset: {e:?}\n"
        ),
    }
}
