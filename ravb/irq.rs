// SPDX-License-Identifier: GPL-2.0

//! Interrupts: which are enabled, and what happens when one comes.
//!
//! What is enabled is kept in [`Masks`], under a lock, and registers are written from there, never
//! read. A queue's interrupts are enabled if the queue is open and nobody is polling it. The rules:
//!
//! - The handler masks a queue before it schedules NAPI, whether that succeeds or not. If it does
//!   not, NAPI is running, and will unmask when it is done; or it is disabled, the queue closed.
//! - The poll function unmasks when NAPI is released, unless the queue was closed meanwhile: each
//!   direction at once, or by a timer ([`coalesce`]).
//! - What is enabled is also cleared: queue status by the poll function, before its last look at
//!   the rings; the rest by the handler.
//! - Nothing is printed here.
//!
//! Errors of the DMAC (a full ring, a full FIFO) come at the rate of frames when they come. The
//! first one masks them all and has the queue polled, for it is the poll function that can do
//! something about it; when it completes it enables them again, and until then it counts them.

use kernel::{
    io::{
        mem::IoMem,
        Io, //
    },
    num::Bounded,
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            AtomicFlag,
            Relaxed,
            Release, //
        },
        SpinLockIrq, //
    },
    time::Delta, //
};

use super::{
    coalesce::{
        self,
        Direction, //
    },
    driver::{
        Private,
        Ravb, //
    },
    emac,
    hw_info::{
        HwInfo,
        Line,
        Lines,
        Masking,
        BE, //
    },
    ptp,
    regs::{
        ClearByZero,
        CIE,
        DIL,
        EIS,
        ISS,
        RIC0,
        RIC1,
        RIC2,
        RID0,
        RIE0,
        RIS0,
        RIS2,
        TIC,
        TID,
        TIE,
        TIS,
        WINDOW, //
    }, //
};
use crate::net::{
    irq::Return,
    Device, //
};

type Window<'b> = IoMem<'b, WINDOW>;

/// One direction. A bit for each queue.
#[derive(Default)]
struct Enabled {
    /// Queues whose interrupt is enabled. The handler of a chip with one queue masks it without
    /// telling.
    now: u32,
    /// Queues whose interrupt will be enabled by a timer.
    later: u32,
}

impl Enabled {
    /// Masks queues.
    fn disable(&mut self, queues: u32) {
        self.now &= !queues;
    }

    /// Unmasks a queue at the end of a poll, as it is to be. Returns the delay of the timer that is
    /// to be started.
    fn set(&mut self, bit: u32, unmask: Unmask) -> Option<Delta> {
        let (now, later, delay) = match unmask {
            Unmask::Now => (true, false, None),
            Unmask::After(delay) => (false, true, Some(delay)),
            Unmask::AsBefore => (self.later & bit == 0, self.later & bit != 0, None),
            Unmask::Never => (false, false, None),
        };

        self.now = self.now & !bit | if now { bit } else { 0 };
        self.later = self.later & !bit | if later { bit } else { 0 };
        delay
    }
}

/// When an interrupt is to be enabled after a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unmask {
    /// At once.
    Now,
    /// By a timer.
    After(Delta),
    /// At once, unless there is a timer that will do it.
    AsBefore,
    /// Not by this poll: another one follows.
    Never,
}

/// Which interrupts of the DMAC are enabled. A bit for each queue.
#[derive(Default)]
pub(super) struct Masks {
    /// Queues that may be unmasked.
    open: u32,
    rx: Enabled,
    tx: Enabled,
    /// Whether time stamps of sent packets are reported.
    stamps: bool,
}

/// The interrupts of a device.
#[pin_data]
pub(super) struct Interrupts {
    #[pin]
    masks: SpinLockIrq<Masks>,
    /// Whether errors are enabled. Written under the lock.
    errors: AtomicFlag,
    /// Whether the registers can be accessed. A shared line calls the handler at any time.
    live: AtomicFlag,
}

/// Queue bits as the registers have them. There are at most four transmit queues.
fn rx_bits(queues: u32) -> Bounded<u32, 18> {
    Bounded::from_expr(queues & 0x3_ffff)
}

fn tx_bits(queues: u32) -> Bounded<u32, 4> {
    Bounded::from_expr(queues & 0xf)
}

impl Masks {
    /// Writes what is enabled to the control registers, which have no other use.
    fn write_control(&self, io: &Window<'_>) {
        self.write_rx_control(io);
        self.write_tx_control(io);
    }

    fn write_rx_control(&self, io: &Window<'_>) {
        io.write_reg(RIC0::zeroed().with_fre(rx_bits(self.rx.now)));
    }

    fn write_tx_control(&self, io: &Window<'_>) {
        io.write_reg(
            TIC::zeroed()
                .with_fte(tx_bits(self.tx.now))
                .with_tfue(self.stamps),
        );
    }

    /// Masks queues. Timers that will unmask them go on: where that is too early for the poll that
    /// follows, it is not wrong.
    fn disable(&mut self, io: &Window<'_>, info: &HwInfo, queues: u32) {
        self.rx.disable(queues);
        self.tx.disable(queues);
        match info.masking {
            Masking::Control => self.write_control(io),
            Masking::EnableDisable => {
                io.write_reg(RID0::zeroed().with_frd(rx_bits(queues)));
                io.write_reg(TID::zeroed().with_ftd(tx_bits(queues)));
            }
        }
    }

    /// Unmasks queues at once, in both directions. This is [`set`](Self::set) for what nearly every
    /// poll wants.
    fn enable(&mut self, io: &Window<'_>, info: &HwInfo, queues: u32) {
        for direction in [&mut self.rx, &mut self.tx] {
            direction.now |= queues;
            direction.later &= !queues;
        }
        match info.masking {
            Masking::Control => self.write_control(io),
            Masking::EnableDisable => {
                io.write_reg(RIE0::zeroed().with_frs(rx_bits(queues)));
                io.write_reg(TIE::zeroed().with_fts(tx_bits(queues)));
            }
        }
    }

    /// Unmasks queues at the end of a poll, each direction as it is to be. Returns the delays of
    /// timers that are to be started.
    fn set(
        &mut self,
        io: &Window<'_>,
        info: &HwInfo,
        queues: u32,
        rx: Unmask,
        tx: Unmask,
    ) -> [Option<Delta>; 2] {
        let before = [self.rx.now, self.tx.now];
        let delays = [self.rx.set(queues, rx), self.tx.set(queues, tx)];

        match info.masking {
            Masking::Control => self.write_control(io),
            Masking::EnableDisable => {
                // Timers may have unmasked them during the poll.
                let [rx_off, tx_off] = [before[0] & !self.rx.now, before[1] & !self.tx.now];

                if rx_off != 0 {
                    io.write_reg(RID0::zeroed().with_frd(rx_bits(rx_off)));
                }
                if tx_off != 0 {
                    io.write_reg(TID::zeroed().with_ftd(tx_bits(tx_off)));
                }
                io.write_reg(RIE0::zeroed().with_frs(rx_bits(self.rx.now & queues)));
                io.write_reg(TIE::zeroed().with_fts(tx_bits(self.tx.now & queues)));
            }
        }
        delays
    }

    /// Unmasks one direction of a queue, whose timer has expired.
    fn expire(&mut self, io: &Window<'_>, info: &HwInfo, bit: u32, direction: Direction) {
        let enabled = match direction {
            Direction::Rx => &mut self.rx,
            Direction::Tx => &mut self.tx,
        };

        // The queue was closed, or a poll has set it to something else, as the timer expired.
        if enabled.later & bit == 0 {
            return;
        }
        enabled.later &= !bit;
        enabled.now |= bit;
        match (info.masking, direction) {
            (Masking::Control, Direction::Rx) => self.write_rx_control(io),
            (Masking::Control, Direction::Tx) => self.write_tx_control(io),
            (Masking::EnableDisable, Direction::Rx) => {
                io.write_reg(RIE0::zeroed().with_frs(rx_bits(bit)));
            }
            (Masking::EnableDisable, Direction::Tx) => {
                io.write_reg(TIE::zeroed().with_fts(tx_bits(bit)));
            }
        }
    }
}

impl Interrupts {
    pub(super) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            masks <- kernel::new_spinlock_irq!(Masks::default()),
            errors: AtomicFlag::new(false),
            live: AtomicFlag::new(false),
        })
    }

    /// Enables errors, or masks them. The lock is held.
    fn set_errors(&self, data: &Private<'_>, on: bool) {
        let queues = if on { data.info.queue_mask() } else { 0 };

        self.errors.store(on, Relaxed);
        data.io
            .write_reg(RIC2::zeroed().with_rffe(on).with_qfe(rx_bits(queues)));
    }

    /// Writes all registers of the DMAC's interrupts: everything is masked, nothing pending. The
    /// DMAC is in CONFIG mode.
    pub(super) fn reset(&self, data: &Private<'_>) {
        let io = &data.io;
        let info = data.info;
        let mut masks = self.masks.lock();

        *masks = Masks::default();
        masks.write_control(io);
        io.write_reg(RIC1::zeroed());
        self.set_errors(data, false);
        if let Lines::Named(_) = info.lines {
            // Queues have lines of their own, and do not use the common one.
            io.write_reg(DIL::zeroed());
            io.write_reg(
                CIE::zeroed()
                    .with_crie(true)
                    .with_ctie(true)
                    .with_cl0m(true),
            );
        }
        io.write_reg(RIS0::from(RIS0::FLAGS).clearing());
        io.write_reg(RIS2::from(RIS2::FLAGS).clearing());
        io.write_reg(TIS::from(TIS::FLAGS).clearing());
    }

    /// Opens all queues and enables everything.
    pub(super) fn open(&self, data: &Private<'_>) {
        let info = data.info;
        let mut masks = self.masks.lock();

        masks.open = info.queue_mask();
        masks.stamps = info.has_clock();
        self.set_errors(data, true);
        if masks.stamps {
            masks.write_control(&data.io);
        }
        masks.set(&data.io, info, info.queue_mask(), Unmask::Now, Unmask::Now);
    }

    /// Closes all queues and masks everything, for good: no poll can unmask a queue after this.
    ///
    /// A handler may still be running.
    pub(super) fn close(&self, data: &Private<'_>) {
        let mut masks = self.masks.lock();

        // Everything is masked already, and the chip may be in RESET mode, where writes are lost.
        if masks.open == 0 {
            return;
        }
        *masks = Masks::default();
        // Not by way of the disable registers: this masks whatever may be enabled.
        masks.write_control(&data.io);
        self.set_errors(data, false);
    }

    /// The registers are accessible.
    pub(super) fn power_on(&self) {
        self.live.store(true, Release);
    }

    /// The registers will not be accessible. To be followed by a wait for the handlers.
    pub(super) fn power_off(&self) {
        self.live.store(false, Release);
    }

    /// Clears the status of a queue, and makes sure that the clearing has arrived: what happens in
    /// the rings after this sets the status again.
    #[inline]
    pub(super) fn clear(&self, data: &Private<'_>, queue: usize) {
        let io = &data.io;
        let bit = 1 << queue;

        io.write_reg(TIS::zeroed().with_ftf(tx_bits(bit)).clearing());
        io.write_reg(RIS0::zeroed().with_frf(rx_bits(bit)).clearing());
        // Writes are posted. Without this the DMAC may have finished a frame before it sees them,
        // but after the last look at the ring, which goes to memory: a lost interrupt.
        let _ = io.read(RIS0);
    }

    /// Unmasks a queue whose NAPI was released, each direction as it is to be, unless it is closed.
    #[inline]
    pub(super) fn unmask(&self, dev: &Device<'_, Ravb>, queue: usize, rx: Unmask, tx: Unmask) {
        let data = dev.data();
        let data = data.get_ref();
        let bit = 1 << queue;
        let mut masks = self.masks.lock();

        if masks.open & bit == 0 {
            return;
        }
        if !self.errors.load(Relaxed) {
            self.set_errors(data, true);
        }
        if matches!((rx, tx), (Unmask::Now, Unmask::Now)) {
            masks.enable(&data.io, data.info, bit);
            return;
        }

        let [rx, tx] = masks.set(&data.io, data.info, bit, rx, tx);

        // Under the lock, so that what is to be enabled later always has a timer.
        if let Some(delay) = rx {
            coalesce::start(dev, queue, Direction::Rx, delay);
        }
        if let Some(delay) = tx {
            coalesce::start(dev, queue, Direction::Tx, delay);
        }
    }

    /// Unmasks one direction of a queue, unless somebody has changed their mind since the timer was
    /// started.
    pub(super) fn expire(&self, data: &Private<'_>, queue: usize, direction: Direction) {
        self.masks
            .lock()
            .expire(&data.io, data.info, 1 << queue, direction);
    }

    /// Counts errors of the DMAC that have come since they were masked. In a poll, before the queue
    /// is unmasked.
    #[inline]
    pub(super) fn count_errors(&self, data: &Private<'_>) {
        if self.errors.load(Relaxed) {
            return;
        }
        let masks = self.masks.lock();

        if masks.open != 0 {
            take_errors(data);
        }
    }
}

/// Clears and counts the errors of the DMAC. Returns the queues that have had some. The lock of the
/// masks is held: it makes this the counters' only writer.
fn take_errors(data: &Private<'_>) -> u32 {
    let io = &data.io;
    let status = io.read(RIS2);

    io.write_reg(EIS::zeroed().with_qfs(true).clearing());
    io.write_reg(status.clearing());

    let queues = status.qff().get() & data.info.queue_mask();

    for (queue, stats) in data.all_queue_stats().iter().enumerate() {
        if queues & 1 << queue != 0 {
            stats.rx_over_errors.inc();
        }
    }
    if status.rfff() {
        data.rx_fifo_errors.inc();
    }
    queues
}

/// Masks queues and has them polled.
fn schedule(dev: &Device<'_, Ravb>, masks: &mut Masks, queues: u32) {
    let data = dev.data();

    masks.disable(&data.io, data.info, queues);
    for queue in 0..data.info.queues {
        if queues & 1 << queue != 0 {
            if let Some(napi) = dev.napi(queue) {
                napi.schedule_irqoff();
            }
        }
    }
}

/// Returns the queues that have an enabled interrupt.
fn pending(data: &Private<'_>, masks: &Masks, candidates: u32) -> u32 {
    let io = &data.io;
    let rx = io.read(RIS0).frf().get() & masks.rx.now;
    let tx = io.read(TIS).ftf().get() & masks.tx.now;

    (rx | tx) & candidates
}

/// An interrupt, see [`crate::net::Operations::interrupt`].
pub(super) fn interrupt(dev: &Device<'_, Ravb>, line: Line) -> Return {
    let data = dev.data();
    let data = data.get_ref();

    if !data.irq.live.load(Acquire) {
        return Return::None;
    }
    match line {
        Line::Queue(queue) => {
            let mut masks = data.irq.masks.lock();
            let queues = pending(data, &masks, 1 << queue);

            if queues == 0 {
                return Return::None;
            }
            schedule(dev, &mut masks, queues);
            Return::Handled
        }
        Line::Emac => emac::interrupt(dev),
        Line::All | Line::Common => summary(dev, line),
    }
}

/// Masks the only queue of a chip and has it polled.
///
/// This needs no lock: no other queue has bits in these registers. If another CPU unmasks the queue
/// at the same time, at the end of a poll, the order of the two does not matter: this is called
/// again, or the poll that it has scheduled unmasks.
#[inline]
fn schedule_only(dev: &Device<'_, Ravb>) {
    let data = dev.data();

    data.io.write_reg(RIC0::zeroed());
    data.io.write_reg(TIC::zeroed());
    if let Some(napi) = dev.napi(BE) {
        napi.schedule_irqoff();
    }
}

/// An interrupt that may have several causes.
#[inline]
fn summary(dev: &Device<'_, Ravb>, line: Line) -> Return {
    let data = dev.data();
    let data = data.get_ref();
    let status = data.io.read(ISS);
    let mut result = Return::None;

    if line == Line::All && (status.frs() || status.fts()) {
        if data.info.queues == 1 {
            schedule_only(dev);
        } else {
            let mut masks = data.irq.masks.lock();
            let queues = pending(data, &masks, data.info.queue_mask());

            schedule(dev, &mut masks, queues);
        }
        result = Return::Handled;
    }
    if status.tfus() {
        ptp::stamps(dev);
        result = Return::Handled;
    }
    if status.es() {
        errors(dev);
        result = Return::Handled;
    }
    if status.cgis() {
        ptp::interrupt(dev);
        result = Return::Handled;
    }
    if line == Line::All && status.ms() {
        if let Return::Handled = emac::interrupt(dev) {
            result = Return::Handled;
        }
    }
    result
}

/// Errors of the DMAC.
#[cold]
fn errors(dev: &Device<'_, Ravb>) {
    let data = dev.data();
    let data = data.get_ref();
    let mut masks = data.irq.masks.lock();

    // Masked by now: a poll will look after them.
    if !data.irq.errors.load(Relaxed) {
        return;
    }
    let queues = match take_errors(data) {
        // An overflow of the FIFO is nobody's, but somebody has to unmask.
        0 => 1 << BE,
        queues => queues,
    };

    data.irq.set_errors(data, false);
    schedule(dev, &mut masks, queues);
}
