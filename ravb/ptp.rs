// SPDX-License-Identifier: GPL-2.0

//! The clock (PHC), and time stamps.
//!
//! The chip has a timer that counts from its last reset, by an increment for each tick of its own
//! clock, and an offset. The sum is the time, with which packets are stamped. Whoever sets the time
//! resets the timer and loads the offset; a step only changes the offset, so that no time is lost.
//!
//! The timer runs in OPERATION mode, on some chips in CONFIG mode as well ([`Clocking`]), and only
//! with power. Users of the clock do not have to know: when the timer stops, the time goes on by
//! the system's clock ([`Source::System`]), and when it starts again it is set to that time, a
//! microsecond more or less. So the clock is there from probe to removal. A frequency that was set
//! counts in both cases. Inputs and outputs work while the timer runs; while one of them is in use,
//! a chip whose timer can run in CONFIG mode stays powered.
//!
//! [`State`] has a lock of its own, which is held while the timer carries out a request: a few of
//! its ticks.
//!
//! A packet whose stamp is wanted is sent with a tag of 10 bits. The stamp comes with the tag,
//! in a FIFO with room for a few. Where it does not come (the FIFO was full, the ring was emptied)
//! nobody says so; a later stamp shows it, or [`expire`], for a packet that waits holds memory of
//! its sender.

use kernel::{
    clk::Clk,
    device::{
        Bound,
        Device as ParentDevice, //
    },
    io::{
        mem::IoMem,
        Io, //
    },
    num::Bounded,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            AtomicFlag,
            Relaxed, //
        },
        SpinLockIrq, //
    },
    time::{
        BootTime,
        ClockSource,
        Delta,
        Instant,
        Monotonic,
        RealTime,
        NSEC_PER_SEC, //
    }, //
};

use super::{
    desc::{
        Stamp,
        TxHead, //
    },
    driver::{
        Private,
        Ravb, //
    },
    hw_info::{
        Clocking,
        HwInfo, //
    },
    regs::{
        ClearByZero,
        Mode,
        GCCR,
        GCPT,
        GCT0,
        GCT1,
        GCT2,
        GIC,
        GIS,
        GPTC,
        GTI,
        GTO0,
        GTO1,
        GTO2,
        TFA0,
        TFA1,
        TFA2,
        TIS,
        TSR,
        WINDOW, //
    },
    wait::poll_ready_atomic, //
};
use crate::net::{
    self,
    pm,
    ptp::{
        self,
        Capabilities,
        Clock,
        HwTstampConfig,
        Request,
        RxFilter,
        ScaledPpm,
        SystemTime,
        TxType, //
    },
    skb::StampWaiter,
    Device,
    Rtnl,
    TxSkb, //
};

/// The places of the works in `Operations::WORK`.
const OUTPUT: usize = 1;
const EXPIRE: usize = 2;

/// How long a packet waits for its stamp, in milliseconds. It comes within a millisecond or never,
/// but not before the packet leaves, for which pause frames may have it wait.
const STAMP_PATIENCE_MS: u32 = 1000;

/// How many packets can wait for their stamps: as many as the ring has room for by default.
const MAX_WAITING: usize = 64;

/// The limits of the increment: what the field holds, and with enough digits to be adjusted.
const MIN_INCREMENT: u64 = 0x20;
const MAX_INCREMENT: u64 = 0x0fff_ffff;

/// The shortest period of the output: each tick is an interrupt.
const MIN_PERIOD_NS: i64 = 50_000;

/// How long before a tick it must be programmed at the latest.
const LEAD_NS: i64 = 5_000;

/// How long before a tick it can be programmed: the timer compares 32 bits.
const HORIZON_NS: i64 = 1 << 31;

type Window<'b> = IoMem<'b, WINDOW>;

/// Where the time comes from.
enum Source {
    /// The timer. The offset is what it was loaded with.
    Timer { offset: i64 },
    /// The system's clock: it was `at` when the timer stopped.
    System { at: i64, since: Instant<BootTime> },
}

/// A tick of the output.
struct Output {
    next: i64,
    period: i64,
}

/// The state of the clock.
struct State {
    source: Source,
    /// The timer has the mode that it needs, and the chip is powered: both make it run.
    mode: bool,
    power: bool,
    adjustment: ScaledPpm,
    /// Edges at the input are reported.
    input: bool,
    output: Option<Output>,
}

/// A packet that waits for its stamp.
struct Waiting {
    tag: u16,
    since: Instant<Monotonic>,
    packet: StampWaiter,
}

/// Packets that wait for their stamps, in the order in which they were queued.
struct Queue {
    packets: KVec<Waiting>,
    next_tag: u16,
}

/// The clock and the time stamps of a device.
#[pin_data]
pub(super) struct Ptp {
    /// The increment of a timer that is not adjusted.
    nominal: u32,
    #[pin]
    state: SpinLockIrq<State>,
    #[pin]
    waiting: SpinLockIrq<Queue>,
    /// Whether sent packets are stamped, and which received ones. Written under the RTNL.
    tx: AtomicFlag,
    rx: Atomic<u32>,
}

/// Which received packets are stamped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stamped {
    None,
    All,
    /// Event messages of PTP version 2, sent over Ethernet.
    PtpV2L2Event,
}

impl Stamped {
    /// Returns whether a frame is one of these.
    #[inline(always)]
    pub(super) fn has(self, frame: &[u8]) -> bool {
        match self {
            Stamped::None => false,
            Stamped::All => true,
            Stamped::PtpV2L2Event => is_event(frame),
        }
    }
}

/// Returns whether a frame is an event message of PTP version 2, with at most one VLAN tag.
fn is_event(frame: &[u8]) -> bool {
    const VLAN: [u8; 2] = [0x81, 0x00];
    const PTP: [u8; 2] = [0x88, 0xf7];
    let find = || {
        let (_, rest) = frame.split_at_checked(12)?;
        let (ethertype, rest) = rest.split_first_chunk::<2>()?;

        if *ethertype != VLAN {
            return Some((ethertype, rest));
        }
        let (_, rest) = rest.split_first_chunk::<2>()?;

        rest.split_first_chunk::<2>()
    };

    match find() {
        // Message types 0 to 3 are events: Sync, Delay_Req, Pdelay_Req, Pdelay_Resp.
        Some((&PTP, &[kind, version, ..])) => kind & 0xf <= 3 && version & 0xf == 2,
        _ => false,
    }
}

/// Works out the increment that makes the timer's seconds as long as others. Zero if there is no
/// timer.
pub(super) fn nominal_increment(dev: &ParentDevice<Bound>, info: &HwInfo) -> Result<u32> {
    let name = match info.clocking {
        Clocking::None => return Ok(0),
        Clocking::Operation | Clocking::Config => None,
        Clocking::OperationOwnClock => Some(c"gptp"),
    };
    let clk = Clk::get(dev, name).map_err(|e| net::err_probe(dev, e, fmt!("no gPTP clock\n")))?;
    let rate = clk.rate().as_hz();

    increment_for(rate as u64).ok_or_else(|| {
        net::err_probe(
            dev,
            EINVAL,
            fmt!("the gPTP clock has {rate} Hz: out of range\n"),
        )
    })
}

/// Nanoseconds a tick, with 20 binary digits.
fn increment_for(rate: u64) -> Option<u32> {
    // CAST: Positive.
    let increment = ptp::div((NSEC_PER_SEC as u64) << 20, rate);

    (MIN_INCREMENT..=MAX_INCREMENT)
        .contains(&increment)
        // CAST: It has 28 bits.
        .then_some(increment as u32)
}

/// Has the timer carry out requests, and waits until it has: a few of its ticks. The lock is held.
fn request(io: &Window<'_>, what: GCCR) -> Result {
    // What is read is the time with its offset.
    io.write_reg(what.with_const_tcss::<1>());
    finish(io)
}

fn finish(io: &Window<'_>) -> Result {
    /// Interrupts are off: no longer than this.
    const BOUND: Delta = Delta::from_micros(10);

    poll_ready_atomic(BOUND, || {
        let pending = io.read(GCCR);
        let busy = pending.tcr().get() != 0 || pending.lto() || pending.lti() || pending.lptc();

        (!busy).then_some(())
    })
}

const READ: GCCR = pin_init::zeroed::<GCCR>().with_const_tcr::<3>();
const RESET: GCCR = pin_init::zeroed::<GCCR>().with_const_tcr::<1>();

/// The time that [`READ`] has left.
fn result(io: &Window<'_>) -> i64 {
    Stamp::from_words(
        io.read(GCT0).into_raw(),
        io.read(GCT1).into_raw(),
        io.read(GCT2).into_raw(),
    )
    .to_ns()
}

fn read(io: &Window<'_>) -> Result<i64> {
    request(io, READ)?;
    Ok(result(io))
}

/// Loads an offset. It is not negative.
fn load_offset(io: &Window<'_>, offset: i64) -> Result {
    let (seconds, nanoseconds) = ptp::seconds_and_nanoseconds(offset);

    io.write_reg(GTO0::from(nanoseconds));
    // CAST: The low half, and the next 16 bits.
    io.write_reg(GTO1::from(seconds as u32));
    io.write_reg(GTO2::from((seconds >> 32) as u32 & 0xffff));
    request(io, GCCR::zeroed().with_lto(true))
}

impl State {
    fn new() -> Self {
        Self {
            source: Source::System {
                at: RealTime::ktime_get(),
                since: Instant::now(),
            },
            mode: false,
            power: false,
            adjustment: ScaledPpm::NONE,
            input: false,
            output: None,
        }
    }

    fn is_running(&self) -> bool {
        matches!(self.source, Source::Timer { .. })
    }

    fn increment(&self, data: &Private<'_>) -> u32 {
        // CAST: Adjusted by at most 5 %, and checked by `set_adjustment`.
        self.adjustment.apply(data.ptp.nominal.into()) as u32
    }

    /// The time, as long as the timer does not run.
    fn system_time(&self, at: i64, since: Instant<BootTime>) -> i64 {
        // CAST: Time does not go back.
        let elapsed = self.adjustment.apply(since.elapsed().as_nanos() as u64);

        at.saturating_add_unsigned(elapsed)
    }

    fn time(&self, io: &Window<'_>) -> Result<i64> {
        match self.source {
            Source::Timer { .. } => read(io),
            Source::System { at, since } => Ok(self.system_time(at, since)),
        }
    }

    fn set_time(&mut self, data: &Private<'_>, time: i64) -> Result {
        match &mut self.source {
            Source::Timer { offset } => {
                request(&data.io, RESET)?;
                load_offset(&data.io, time)?;
                *offset = time;
            }
            Source::System { at, since } => {
                *at = time;
                *since = Instant::now();
            }
        }
        Ok(())
    }

    fn adjust_time(&mut self, data: &Private<'_>, delta: i64) -> Result {
        match &mut self.source {
            Source::Timer { offset } => match offset.checked_add(delta) {
                Some(sum) if sum >= 0 => {
                    load_offset(&data.io, sum)?;
                    *offset = sum;
                    Ok(())
                }
                // Further back than when the time was set: what is missing is not in the offset.
                _ => {
                    let time = read(&data.io)?.checked_add(delta).ok_or(ERANGE)?;

                    self.set_time(data, time.max(0))
                }
            },
            Source::System { at, .. } => {
                *at = at.checked_add(delta).ok_or(ERANGE)?;
                Ok(())
            }
        }
    }

    fn load_increment(&self, data: &Private<'_>, and: GCCR) -> Result {
        let tiv = Bounded::from_expr(self.increment(data) & GTI::TIV_MASK);

        data.io.write_reg(GTI::zeroed().with_tiv(tiv));
        request(&data.io, and.with_lti(true))
    }

    /// Starts the timer, or leaves it to its fate: nothing depends on it but those who look at the
    /// clock.
    fn start(&mut self, data: &Private<'_>) -> Result {
        let Source::System { at, since } = self.source else {
            return Ok(());
        };
        self.load_increment(data, RESET)?;

        let offset = self.system_time(at, since);

        load_offset(&data.io, offset)?;
        self.source = Source::Timer { offset };
        self.forget_events(data, true, true);
        Ok(())
    }

    /// Goes on without the timer, which is about to stop.
    fn stop(&mut self, data: &Private<'_>) {
        if let Source::Timer { offset } = self.source {
            data.io.write_reg(GIC::zeroed());
            self.source = Source::System {
                // A timer that can't be read any more is stuck, and its time anybody's guess.
                at: read(&data.io).unwrap_or(offset),
                since: Instant::now(),
            };
        }
    }

    /// Clears flags of the input, of the output.
    fn forget_events(&self, data: &Private<'_>, input: bool, output: bool) {
        if self.is_running() {
            data.io
                .write_reg(GIS::zeroed().with_ptcf(input).with_ptmf(output).clearing());
        }
    }

    /// Enables the interrupts of what is in use.
    fn write_control(&self, data: &Private<'_>, output_soon: bool) {
        if self.is_running() {
            data.io.write_reg(
                GIC::zeroed()
                    .with_ptce(self.input)
                    .with_ptme(self.output.is_some() && output_soon),
            );
        }
    }

    /// Programs the next tick of the output that can still be reached, or if that is too early has
    /// it done later. Called whenever something has changed.
    fn plan(&mut self, dev: &Device<'_, Ravb>) {
        let data = dev.data();
        let data = data.get_ref();
        let mut soon = false;

        if let (true, Some(output)) = (self.is_running(), &mut self.output) {
            if let Ok(now) = read(&data.io) {
                let late = now.saturating_add(LEAD_NS).saturating_sub(output.next);

                if late > 0 {
                    // CAST: Positive, both ways.
                    let missed = ptp::div(late as u64, output.period as u64) as i64 + 1;

                    output.next = output
                        .next
                        .saturating_add(missed.wrapping_mul(output.period));
                }
                let ahead = output.next.saturating_sub(now);

                if ahead < HORIZON_NS {
                    // CAST: The low half is compared.
                    data.io.write_reg(GPTC::from(output.next as u32));
                    soon = request(&data.io, GCCR::zeroed().with_lptc(true)).is_ok();
                } else if let Some(work) = dev.work(OUTPUT) {
                    const MS: u64 = 1_000_000;
                    // CAST: Positive. A day is soon enough to look again.
                    let wait = ptp::div((ahead - HORIZON_NS / 2) as u64, MS).min(86_400_000);

                    work.schedule_after(wait as u32);
                }
            }
        }
        self.write_control(data, soon);
    }
}

impl Ptp {
    pub(super) fn new(info: &HwInfo, nominal: u32) -> Result<impl PinInit<Self>> {
        let mut packets = KVec::new();

        if info.has_clock() {
            packets.reserve(MAX_WAITING, GFP_KERNEL)?;
        }
        let queue = Queue {
            packets,
            next_tag: 0,
        };

        Ok(pin_init!(Self {
            nominal,
            state <- kernel::new_spinlock_irq!(State::new()),
            waiting <- kernel::new_spinlock_irq!(queue),
            tx: AtomicFlag::new(false),
            rx: Atomic::new(RX_NONE),
        }))
    }

    /// Returns which received packets are stamped.
    #[inline(always)]
    pub(super) fn stamped(&self) -> Stamped {
        match self.rx.load(Relaxed) {
            RX_NONE => Stamped::None,
            RX_ALL => Stamped::All,
            _ => Stamped::PtpV2L2Event,
        }
    }

    /// Returns whether a packet to be sent can be stamped now. Under the xmit lock of the queue
    /// with stamps: what is true stays true until its next packet.
    #[inline]
    pub(super) fn can_stamp(&self) -> bool {
        self.tx.load(Relaxed) && self.waiting.lock().packets.len() < MAX_WAITING
    }
}

const RX_NONE: u32 = 0;
const RX_ALL: u32 = 1;
const RX_EVENT: u32 = 2;

/// The mode is about to change.
pub(super) fn before_mode(dev: &Device<'_, Ravb>, mode: Mode) {
    let data = dev.data();
    let data = data.get_ref();

    if data.info.has_clock() && !data.info.clocking.runs_in(mode) {
        let mut state = data.ptp.state.lock();

        state.stop(data);
        state.mode = false;
    }
}

/// The mode has changed.
pub(super) fn after_mode(dev: &Device<'_, Ravb>, mode: Mode) {
    let data = dev.data();

    if data.info.has_clock() && data.info.clocking.runs_in(mode) {
        data.ptp.state.lock().mode = true;
        resume(dev);
    }
}

/// The chip has power.
pub(super) fn power_on(dev: &Device<'_, Ravb>) {
    let data = dev.data();

    if data.info.has_clock() {
        data.ptp.state.lock().power = true;
        resume(dev);
    }
}

/// The chip is about to lose power.
pub(super) fn power_off(dev: &Device<'_, Ravb>) {
    let data = dev.data();
    let data = data.get_ref();

    if data.info.has_clock() {
        let mut state = data.ptp.state.lock();

        state.stop(data);
        state.power = false;
    }
}

fn resume(dev: &Device<'_, Ravb>) {
    let data = dev.data();
    let data = data.get_ref();
    let mut state = data.ptp.state.lock();

    if state.is_running() || !state.mode || !state.power {
        return;
    }
    let result = state.start(data);

    state.plan(dev);
    drop(state);
    if result.is_err() {
        dev_warn!(dev, "the gPTP timer does not react\n");
    }
}

/// The output's next tick was too early to be programmed.
pub(super) fn output_work(dev: &Device<'_, Ravb>) {
    dev.data().get_ref().ptp.state.lock().plan(dev);
}

/// An interrupt of the gPTP timer.
pub(super) fn interrupt(dev: &Device<'_, Ravb>) {
    let data = dev.data();
    let data = data.get_ref();
    let mut state = data.ptp.state.lock();
    let status = data.io.read(GIS);
    let mut event = None;

    data.io.write_reg(status.clearing());
    if status.ptcf() && state.input {
        let low = data.io.read(GCPT).into_raw();

        // The edge was a moment ago, less than 2^32 nanoseconds in any case.
        //
        // CAST: The low half.
        event = state
            .time(&data.io)
            .ok()
            .map(|now| now - i64::from((now as u32).wrapping_sub(low)));
    }
    if status.ptmf() {
        state.plan(dev);
    }
    drop(state);
    if let Some(time) = event {
        dev.external_timestamp(0, time);
    }
}

/// Announces a packet that is going to be sent with a tag. Under the xmit lock of the queue with
/// stamps, after [`Ptp::can_stamp`] has said so.
pub(super) fn expect_stamp(dev: &Device<'_, Ravb>, packet: &TxSkb<'_>) -> TxHead {
    let data = dev.data();
    let mut waiting = data.ptp.waiting.lock();
    let tag = waiting.next_tag;
    let entry = Waiting {
        tag,
        since: Instant::now(),
        packet: packet.wait_for_stamp(),
    };

    if waiting.packets.push_within_capacity(entry).is_err() {
        return TxHead::zeroed();
    }
    waiting.next_tag = (tag + 1) & 0x3ff;
    drop(waiting);
    if let Some(work) = dev.work(EXPIRE) {
        work.schedule_after(STAMP_PATIENCE_MS);
    }
    TxHead::zeroed()
        .with_stamp(true)
        .with_tag(Bounded::from_expr(u32::from(tag) & 0x3ff))
}

/// Drops packets that have waited too long, and looks again when others may have.
pub(super) fn expire(dev: &Device<'_, Ravb>) {
    const PATIENCE: Delta = Delta::from_millis(STAMP_PATIENCE_MS as i64);
    let data = dev.data();

    loop {
        let mut waiting = data.ptp.waiting.lock();

        match waiting.packets.first() {
            None => return,
            Some(first) if first.since.elapsed() < PATIENCE => break,
            Some(_) => (),
        }
        let lost = waiting.packets.remove(0);

        // Freed without the lock.
        drop(waiting);
        drop(lost);
    }
    if let Some(work) = dev.work(EXPIRE) {
        work.schedule_after(STAMP_PATIENCE_MS);
    }
}

/// No more stamps will come for packets that wait. The DMAC is stopped.
pub(super) fn forget_stamps(dev: &Device<'_, Ravb>) {
    let data = dev.data();

    loop {
        let lost = data.ptp.waiting.lock().packets.pop();

        if lost.is_none() {
            return;
        }
    }
}

/// Stamps of sent packets have come.
///
/// They come in the order of the packets: those before a packet that wait still do so in vain. A
/// tag that nobody waits for belongs to a packet that was given up.
pub(super) fn stamps(dev: &Device<'_, Ravb>) {
    /// More than the FIFO can hold.
    const LIMIT: u32 = 16;
    let data = dev.data();
    let data = data.get_ref();
    let io = &data.io;

    io.write_reg(TIS::zeroed().with_tfuf(true).clearing());
    for _ in 0..LIMIT {
        // The FIFO needs the lock as well: several lines may have the same news.
        let mut waiting = data.ptp.waiting.lock();

        if io.read(TSR).tffl().get() == 0 {
            break;
        }
        let head = io.read(TFA2);
        let stamp = Stamp::from_words(
            io.read(TFA0).into_raw(),
            io.read(TFA1).into_raw(),
            head.seconds().get(),
        );

        io.write_reg(data.info.tccr().with_tfr(true));

        let tag = head.tag().get();
        let Some(place) = waiting
            .packets
            .iter()
            .position(|packet| u32::from(packet.tag) == tag)
        else {
            continue;
        };

        for _ in 0..place {
            // Freed later: interrupts are off.
            let _ = waiting.packets.remove(0);
        }
        let packet = waiting.packets.remove(0);

        drop(waiting);
        if let Ok(packet) = packet {
            packet.packet.report(stamp.to_ns());
        }
    }
}

impl Clock for Ravb {
    const CLOCK: Capabilities = Capabilities {
        name: c"ravb clock",
        max_adjustment: 50_000_000,
        external_timestamps: 1,
        periodic_outputs: 1,
    };

    fn adjust_frequency(dev: &Device<'_, Self>, adjustment: ScaledPpm) -> Result {
        let data = dev.data();
        let data = data.get_ref();
        let increment = adjustment.apply(data.ptp.nominal.into());

        if !(MIN_INCREMENT..=MAX_INCREMENT).contains(&increment) {
            return Err(ERANGE);
        }
        let mut state = data.ptp.state.lock();
        let old = state.adjustment;

        if let Source::System { at, since } = state.source {
            // Until now it went as fast as it did.
            state.source = Source::System {
                at: state.system_time(at, since),
                since: Instant::now(),
            };
        }
        state.adjustment = adjustment;
        if state.is_running() {
            let result = state.load_increment(data, GCCR::zeroed());

            if result.is_err() {
                state.adjustment = old;
            }
            return result;
        }
        Ok(())
    }

    fn adjust_time(dev: &Device<'_, Self>, delta: i64) -> Result {
        let data = dev.data();
        let mut state = data.ptp.state.lock();
        let result = state.adjust_time(data.get_ref(), delta);

        state.plan(dev);
        result
    }

    fn time(dev: &Device<'_, Self>, system: &mut SystemTime<'_>) -> Result<i64> {
        let data = dev.data();
        let io = &data.get_ref().io;
        let state = data.ptp.state.lock();

        match state.source {
            Source::Timer { .. } => {
                system.before();
                io.write_reg(READ.with_const_tcss::<1>());
                system.after();
                finish(io)?;
                Ok(result(io))
            }
            Source::System { at, since } => {
                system.before();
                let time = state.system_time(at, since);

                system.after();
                Ok(time)
            }
        }
    }

    fn set_time(dev: &Device<'_, Self>, time: i64) -> Result {
        let data = dev.data();
        let mut state = data.ptp.state.lock();
        let result = state.set_time(data.get_ref(), time);

        state.plan(dev);
        result
    }

    fn enable(dev: &Device<'_, Self>, request: Request, on: bool) -> Result {
        let output = match request {
            Request::PeriodicOutput { period, .. } if on && period < MIN_PERIOD_NS => {
                return Err(ERANGE);
            }
            Request::PeriodicOutput { start, period, .. } if on => Some(Output {
                next: start,
                period,
            }),
            _ => None,
        };
        let data = dev.data();
        let keeps_power = data.info.clocking.runs_in(Mode::Config);
        // Taken before and put after the lock is held; kept if there is a user now, and was none.
        let active = if keeps_power {
            Some(dev.pm().resume()?)
        } else {
            None
        };
        let mut state = data.ptp.state.lock();
        let before = state.input || state.output.is_some();

        // What has happened before is of no interest.
        state.forget_events(data.get_ref(), !state.input, state.output.is_none());
        match request {
            Request::ExternalTimestamp { .. } => state.input = on,
            Request::PeriodicOutput { .. } => state.output = output,
        }
        state.plan(dev);

        let after = state.input || state.output.is_some();

        drop(state);
        if let Some(active) = active {
            match (before, after) {
                (false, true) => active.keep(),
                (true, false) => pm::put(dev.pm()),
                _ => (),
            }
        }
        Ok(())
    }
}

/// See [`crate::net::Operations::hwtstamp_get`].
pub(super) fn config(dev: &Device<'_, Ravb>, _rtnl: &Rtnl) -> Result<HwTstampConfig> {
    let data = dev.data();

    if !data.info.has_clock() {
        return Err(EOPNOTSUPP);
    }
    Ok(HwTstampConfig {
        tx: if data.ptp.tx.load(Relaxed) {
            TxType::On
        } else {
            TxType::Off
        },
        rx: match data.ptp.stamped() {
            Stamped::None => RxFilter::None,
            Stamped::All => RxFilter::All,
            Stamped::PtpV2L2Event => RxFilter::PtpV2L2Event,
        },
    })
}

/// See [`crate::net::Operations::hwtstamp_set`].
pub(super) fn set_config(
    dev: &Device<'_, Ravb>,
    wanted: HwTstampConfig,
    rtnl: &Rtnl,
) -> Result<HwTstampConfig> {
    let data = dev.data();

    if !data.info.has_clock() {
        return Err(EOPNOTSUPP);
    }
    data.ptp.tx.store(wanted.tx == TxType::On, Relaxed);
    data.ptp.rx.store(
        match wanted.rx {
            RxFilter::None => RX_NONE,
            RxFilter::PtpV2L2Event => RX_EVENT,
            RxFilter::All | RxFilter::Other(_) => RX_ALL,
        },
        Relaxed,
    );
    config(dev, rtnl)
}

#[kunit_tests(ravb_rs_ptp)]
mod tests {
    use super::*;

    #[test]
    fn increments() {
        assert_eq!(increment_for(24_000_000), Some(0x29a_aaaa));
        assert_eq!(increment_for(100_000_000), Some(0xa0_0000));
        assert_eq!(increment_for(133_333_333), Some(0x78_0000));
        // None, and too slow.
        assert_eq!(increment_for(0), None);
        assert_eq!(increment_for(3_900_000), None);
    }

    #[test]
    fn events() {
        let frame = |ethertype: [u8; 2], rest: &[u8]| {
            let mut frame = [0u8; 64];

            frame[12..14].copy_from_slice(&ethertype);
            frame[14..14 + rest.len()].copy_from_slice(rest);
            is_event(&frame)
        };

        // Sync and Pdelay_Resp, Announce, version 1, another protocol.
        assert!(frame([0x88, 0xf7], &[0x00, 2]));
        assert!(frame([0x88, 0xf7], &[0x13, 0x12]));
        assert!(!frame([0x88, 0xf7], &[0x0b, 2]));
        assert!(!frame([0x88, 0xf7], &[0x00, 1]));
        assert!(!frame([0x08, 0x00], &[0x00, 2]));
        assert!(frame([0x81, 0x00], &[0, 5, 0x88, 0xf7, 0, 2]));
        assert_eq!(is_event(&[0; 13]), false);
    }
}
