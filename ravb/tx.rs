// SPDX-License-Identifier: GPL-2.0

//! Sending.
//!
//! A slot of the ring has the descriptors that one packet takes. `start_xmit` fills slots
//! ([`Sender`], protected by the queue's xmit lock). Slots that were sent are taken back by the
//! poll function, and by `start_xmit` when it finds the ring full: whoever comes first
//! ([`Reclaimer`], protected by a lock for which nobody waits). Between the two ends is a queue
//! with the packets in flight, in the order of their slots.
//!
//! `start_xmit` could leave reclaiming to the poll function. But where NAPI runs in a thread that
//! has to take turns with the sender, the ring would be refilled once a turn only.
//!
//! A packet is put into the queue *before* its descriptors are published: the DMAC, if it is
//! running, may have sent it a moment later, and whoever reclaims then has to find it. A packet
//! whose descriptors are not published yet looks like one that is not sent yet, because slots are
//! left in that state when they are reclaimed.

use kernel::{
    dma::Coherent,
    io::{
        io_write,
        Io,
        IoBase,
        SysMem, //
    },
    new_spinlock,
    num::Bounded,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        SpinLock, //
    }, //
};

use super::{
    desc::{
        BusAddress,
        Kind,
        Piece,
        Table,
        TxHead,
        NORMAL, //
    },
    driver::Ravb,
    hw_info::{
        HwInfo,
        ETH_FCS_LEN,
        ETH_ZLEN,
        NC, //
    },
    ptp,
    regs::TCCR,
    ring::Cursor,
    stats::TxCounts, //
};
use crate::net::{
    napi::{
        Context,
        RxContext, //
    },
    queue::{
        Thresholds,
        TxQueueRef, //
    },
    spsc,
    xdp::{
        Frame,
        Frames,
        TxFrame, //
    },
    ChecksumPlace,
    Device,
    DropReason,
    Skb,
    TxQueue,
    TxSkb,
    Xmit, //
};

/// What data to be sent is aligned to, on chips that need it.
const ALIGN: u32 = 4;

/// A transmit ring.
#[pin_data]
pub(crate) struct TxRing<'b> {
    table: Table<NORMAL>,
    /// The first bytes of packets that are not aligned, up to [`ALIGN`] of each, on chips that need
    /// it. Such a packet has a descriptor for them, and one for the rest, which is aligned.
    starts: Option<Starts>,
    /// Descriptors in a slot.
    per_slot: usize,
    len: u32,
    /// How many frames of XDP were taken back, modulo 2^32.
    frames_ended: Atomic<u32>,
    /// Whether packets are in flight.
    in_flight: spsc::Watcher<Packet<'b>>,
    #[pin]
    reclaimer: SpinLock<Reclaimer<'b>>,
}

struct Starts {
    memory: Coherent<[u32]>,
    address: BusAddress,
}

/// What a slot has.
///
/// (As large as the first of them, so that the stack's packets pay nothing for the others.)
pub(super) enum Packet<'b> {
    /// A packet of the stack.
    Skb(TxSkb<'b>),
    /// A frame that an XDP program sends.
    Frame(TxFrame<'b>),
}

const _: () = assert!(size_of::<Packet<'_>>() == size_of::<TxSkb<'_>>());

/// Who may take back frames of XDP: polls that may receive, and nobody else.
pub(super) trait End<'b> {
    /// Whether frames are taken back.
    const FRAMES: bool;

    /// Whether there may be frames, which then end the taking back.
    const STOPS: bool;

    /// Ends the life of a packet that was sent. Returns its length.
    fn end(&self, packet: Packet<'b>) -> u32;
}

/// Taking back in a poll.
pub(super) struct InPoll<'a>(pub(super) RxContext<'a>);

impl<'b> End<'b> for InPoll<'_> {
    const FRAMES: bool = true;
    const STOPS: bool = false;

    #[inline(always)]
    fn end(&self, packet: Packet<'b>) -> u32 {
        match packet {
            Packet::Skb(skb) => skb.complete(self.0.context()),
            Packet::Frame(frame) => frame.complete(&self.0),
        }
    }
}

/// Taking back under netpoll.
pub(super) struct InNetpoll<'a>(pub(super) Context<'a>);

impl<'b> End<'b> for InNetpoll<'_> {
    const FRAMES: bool = false;
    const STOPS: bool = true;

    fn end(&self, packet: Packet<'b>) -> u32 {
        match packet {
            Packet::Skb(skb) => skb.complete(self.0),
            Packet::Frame(frame) => frame.len(),
        }
    }
}

/// Taking back in `start_xmit`, which may be called by netpoll: while there are no frames, and by
/// the xmit lock there can be no new ones.
struct InXmit;

impl<'b> End<'b> for InXmit {
    const FRAMES: bool = false;
    const STOPS: bool = false;

    #[inline(always)]
    fn end(&self, packet: Packet<'b>) -> u32 {
        match packet {
            Packet::Skb(skb) => skb.consume(),
            Packet::Frame(frame) => frame.len(),
        }
    }
}

/// The reclaiming end of a ring.
struct Reclaimer<'b> {
    packets: spsc::Consumer<Packet<'b>>,
    next: Cursor,
    /// By how much `packets` is larger than the ring.
    excess: u32,
}

impl Starts {
    /// Allocates room for so many slots, on chips that need it.
    fn new(dev: &Device<'_, Ravb>, slots: usize) -> Result<Option<Self>> {
        if !dev.data().info.tx_aligned {
            return Ok(None);
        }
        let memory = Coherent::zeroed_slice(dev.parent(), slots, GFP_KERNEL)?;
        // The DMA mask has 32 bits.
        let address = memory.dma_address().try_into()?;

        Ok(Some(Self { memory, address }))
    }

    /// See `Table::view`.
    #[inline(always)]
    fn view(&self) -> SysMem<'_, [u32]> {
        (&self.memory).as_view().as_sys_mem()
    }
}

/// Makes a transmit ring with `len` slots. Process context.
pub(super) fn ring<'b>(
    dev: &Device<'b, Ravb>,
    queue: usize,
    len: u32,
) -> Result<(Sender<'b>, Arc<TxRing<'b>>)> {
    let info = dev.data().info;
    let slots = usize::try_from(len)?;
    let per_slot = info.tx_descriptors();
    let capacity = len.checked_next_power_of_two().ok_or(EINVAL)?;
    let excess = capacity - len;
    let (producer, consumer) = spsc::channel(capacity)?;
    // One more descriptor leads back to the first.
    let table = Table::new(dev.parent(), slots * per_slot + 1)?;
    let starts = Starts::new(dev, slots)?;
    let in_flight = producer.watcher();
    let reclaimer = Reclaimer {
        packets: consumer,
        next: Cursor::first(len),
        excess,
    };
    let ring = Arc::pin_init(
        pin_init!(TxRing {
            table,
            starts,
            per_slot,
            len,
            frames_ended: Atomic::new(0),
            in_flight,
            reclaimer <- new_spinlock!(reclaimer),
        }),
        GFP_KERNEL,
    )?;

    ring.clear()?;
    ring.table
        .publish_link(slots * per_slot, ring.table.address())?;
    Ok((
        Sender {
            ring: ring.clone(),
            packets: producer,
            next: Cursor::first(len),
            excess,
            doorbell: doorbell(info, 1 << queue),
            held: false,
            frames: 0,
            stamps: info.has_clock() && queue == NC,
            max_len: info.tx_max_frame - ETH_FCS_LEN,
        },
        ring,
    ))
}

impl<'b> TxRing<'b> {
    /// Returns where the DMAC finds the ring.
    pub(super) fn address(&self) -> BusAddress {
        self.table.address()
    }

    /// Makes all slots unused. The DMAC must be stopped.
    fn clear(&self) -> Result {
        for slot in 0..self.len as usize {
            self.clear_slot(slot)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn clear_slot(&self, slot: usize) -> Result {
        let first = slot * self.per_slot;

        for index in first..first + self.per_slot {
            self.table.publish_unused(index)?;
        }
        Ok(())
    }

    /// Returns whether the packet in a slot, which was put into the ring, was sent: whether the
    /// DMAC is done with the last of its descriptors.
    #[inline(always)]
    fn is_sent(&self, slot: usize) -> bool {
        self.table
            .tx_head(slot * self.per_slot + self.per_slot - 1)
            .is_ok_and(|head| head.kind() == Ok(Kind::Empty))
    }

    /// Takes the oldest packet out of the ring, if it was sent.
    #[inline(always)]
    fn pop(&self, reclaimer: &mut Reclaimer<'b>) -> Option<Packet<'b>> {
        let slot = reclaimer.next.index();

        if reclaimer.packets.is_empty() || !self.is_sent(slot) {
            return None;
        }
        // Before the slot can be used again.
        self.clear_slot(slot).ok()?;
        reclaimer.next.advance();
        reclaimer.packets.pop()
    }

    /// Takes back the slots of packets that were sent, unless somebody is doing that, up to the
    /// first that `end` may not take back. With `wake`, a queue that was stopped because the ring
    /// was full is woken if there is room again. Returns how many packets there were.
    #[inline(always)]
    pub(super) fn reclaim<E: End<'b>>(
        &self,
        dev: &Device<'b, Ravb>,
        queue: &TxQueueRef<'_, 'b, Ravb>,
        wake: bool,
        end: E,
    ) -> u32 {
        // What most polls find that are for RX, without a call.
        if self.in_flight.is_empty() {
            return 0;
        }
        self.reclaim_sent(dev, queue, wake, end)
    }

    fn reclaim_sent<E: End<'b>>(
        &self,
        dev: &Device<'b, Ravb>,
        queue: &TxQueueRef<'_, 'b, Ravb>,
        wake: bool,
        end: E,
    ) -> u32 {
        let Some(mut reclaimer) = self.reclaimer.try_lock() else {
            return 0;
        };
        let mut counts = TxCounts::default();

        while !E::STOPS || !matches!(reclaimer.packets.peek(), Some(Packet::Frame(_))) {
            let Some(packet) = self.pop(&mut reclaimer) else {
                break;
            };
            let is_frame = E::FRAMES && matches!(packet, Packet::Frame(_));
            let bytes = u64::from(end.end(packet));

            counts.bytes += bytes;
            counts.packets += 1;
            if is_frame {
                counts.frame_bytes += bytes;
                counts.frames += 1;
            }
        }
        if counts.packets == 0 {
            return 0;
        }
        if E::FRAMES && counts.frames != 0 {
            // CAST: What fits into a ring.
            self.frames_ended.fetch_add(counts.frames as u32, Relaxed);
        }
        if let Some(stats) = dev.data().get_ref().queue_stats(queue.index() as usize) {
            stats.add_tx(&counts);
        }
        // CAST: What fits into a ring.
        let packets = (counts.packets - counts.frames) as u32;
        // CAST: As above.
        let bytes = (counts.bytes - counts.frame_bytes) as u32;

        // The lock also makes that reports to BQL do not overlap.
        queue.completed(packets, bytes, LIMITS, wake, || {
            reclaimer.packets.free().saturating_sub(reclaimer.excess)
        });
        // CAST: As above.
        counts.packets as u32
    }

    /// Returns whether there may be something to reclaim.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        !self.in_flight.is_empty()
            // Somebody is reclaiming, and may not see what is sent by now.
            && self.reclaimer.try_lock().is_none_or(|reclaimer| {
                !reclaimer.packets.is_empty() && self.is_sent(reclaimer.next.index())
            })
    }

    /// Takes all packets out of the ring, whether they were sent or not, and begins again at the
    /// first slot. The DMAC must be stopped, and nobody may be sending.
    pub(super) fn purge(&self, counts: &mut TxCounts) {
        let mut reclaimer = self.reclaimer.lock();
        let mut frames = 0;

        while let Some(packet) = self.pop(&mut reclaimer) {
            let bytes = match packet {
                Packet::Skb(skb) => skb.consume(),
                Packet::Frame(frame) => {
                    frames += 1;
                    frame.len()
                }
            };

            counts.bytes += u64::from(bytes);
            counts.packets += 1;
        }
        while let Some(packet) = reclaimer.packets.pop() {
            frames += u32::from(matches!(packet, Packet::Frame(_)));
            drop(packet);
            counts.lost += 1;
        }
        self.frames_ended.fetch_add(frames, Relaxed);
        // Cannot fail for slots that exist.
        let _ = self.clear();
        reclaimer.next = Cursor::first(self.len);
    }
}

/// The value of TCCR that starts a queue. Writing 0 to the start request of another queue does
/// nothing to it, so that the register need not be read.
fn doorbell(info: &HwInfo, queues: u32) -> TCCR {
    info.tccr()
        .with_tsrq(Bounded::<u32, 4>::from_expr(queues & 0xf))
}

/// With how many free slots the queue is stopped and started again.
///
/// Started with the first one: several come free at a time anyway, and a sender that shares its CPU
/// with the poll function loses more by waiting for the next poll than it saves.
const LIMITS: Thresholds = Thresholds { stop: 1, start: 1 };

/// The state of a transmit queue.
#[derive(Default)]
pub(crate) struct TxState<'b> {
    pub(super) sender: Option<Sender<'b>>,
    /// Whether the chip computes checksums now.
    pub(super) checksums: bool,
    /// Whether XDP may send: not while the ring is at rest, when the stack is stopped by other
    /// means.
    pub(super) open: bool,
}

/// A packet that is not sent.
enum Refused {
    /// It has to be dropped, for this reason.
    Packet(Skb, DropReason),
    /// It is gone.
    Freed,
}

/// The sending end of a ring.
pub(super) struct Sender<'b> {
    ring: Arc<TxRing<'b>>,
    packets: spsc::Producer<Packet<'b>>,
    next: Cursor,
    /// By how much `packets` is larger than the ring.
    excess: u32,
    doorbell: TCCR,
    /// Whether packets were published without ringing the doorbell, because more were announced.
    held: bool,
    /// How many frames of XDP were put in, modulo 2^32.
    frames: u32,
    /// Whether packets can have hardware time stamps.
    stamps: bool,
    max_len: u32,
}

impl<'b> Sender<'b> {
    /// Returns the number of free slots.
    #[inline(always)]
    fn free(&self) -> u32 {
        self.packets.free().saturating_sub(self.excess)
    }

    /// Tells the DMAC that there is something to send.
    #[inline(always)]
    fn ring_doorbell(&mut self, dev: &Device<'_, Ravb>) {
        // All descriptors are visible to the device before: `writel` has a barrier for that.
        (&dev.data().get_ref().io).write_reg(self.doorbell);
        self.held = false;
    }

    /// Returns the ring.
    pub(super) fn ring(&self) -> &TxRing<'b> {
        &self.ring
    }

    /// Begins again at the first slot. All packets must have been taken out of the ring.
    pub(super) fn rewind(&mut self) {
        self.next = Cursor::first(self.ring.len);
        self.held = false;
    }

    /// Prepares a packet for the slot `next` and maps it. Returns the pieces that it is sent in; on
    /// chips that need no alignment the first is missing.
    #[inline]
    fn map(
        &self,
        dev: &Device<'b, Ravb>,
        mut skb: Skb,
        checksums: bool,
    ) -> Result<(TxSkb<'b>, Option<Piece>, Piece, TxHead), Refused> {
        if let Err(reason) = prepare(&mut skb, self.max_len, checksums) {
            return Err(Refused::Packet(skb, reason));
        }
        let Ok(start) = self.copy_start(skb.linear()) else {
            return Err(Refused::Packet(skb, DropReason::NotSpecified));
        };
        let skip = start.map_or(0, |piece| piece.size.get());

        let stamped = self.stamps && skb.wants_hw_tstamp() && dev.data().get_ref().ptp.can_stamp();

        if stamped {
            skb.begin_hw_tstamp();
        }
        skb.tx_timestamp();

        let packet = match skb.into_tx(dev.parent(), skip) {
            Ok(packet) => packet,
            Err((_, skb)) => return Err(Refused::Packet(skb, DropReason::NoMem)),
        };
        let size = Bounded::from_expr(packet.mapped_len() & 0xfff);
        // The DMA mask has 32 bits. The packet is freed if that did not help.
        let address = BusAddress::try_from(packet.dma_address()).map_err(|_| Refused::Freed)?;

        let flags = if stamped {
            ptp::expect_stamp(dev, &packet)
        } else {
            TxHead::zeroed()
        };

        Ok((packet, start, Piece { address, size }, flags))
    }

    /// Copies what is before the first aligned byte of a packet, or the first four bytes, because a
    /// descriptor can't be without any. Returns none on chips that need no alignment.
    #[inline]
    fn copy_start(&self, packet: &[u8]) -> Result<Option<Piece>> {
        let Some(starts) = &self.ring.starts else {
            return Ok(None);
        };
        let slot = self.next.index();
        // CAST: Only the low bits count.
        let len = match (packet.as_ptr() as usize as u32).wrapping_neg() & (ALIGN - 1) {
            0 => ALIGN,
            len => len,
        };
        // The whole word, for it is in a register anyway; only `len` bytes are sent.
        let word = *packet.first_chunk::<4>().ok_or(EINVAL)?;

        io_write!(starts.view(), [try: slot], u32::from_ne_bytes(word));
        Ok(Some(Piece {
            // CAST: A ring has at most 1024 slots.
            address: starts.address + slot as u32 * ALIGN,
            size: Bounded::from_expr(len & 7),
        }))
    }

    /// Publishes the descriptors of the slot `next`, and goes on to the next one.
    #[inline]
    fn publish(&mut self, start: Option<Piece>, rest: Piece, flags: TxHead) -> Result {
        let first = self.next.index() * self.ring.per_slot;

        self.next.advance();
        match start {
            Some(start) => self.ring.table.publish_two(first, [start, rest], flags),
            None => self.ring.table.publish_one(first, rest, flags),
        }
    }
}

/// Sends a packet, see [`crate::net::Operations::start_xmit`].
#[inline]
pub(super) fn start_xmit<'b>(
    dev: &Device<'b, Ravb>,
    skb: Skb,
    queue: TxQueue<'_, 'b, Ravb>,
) -> Xmit {
    let (state, queue) = queue.split();
    let Some(sender) = &mut state.sender else {
        return Xmit::dropped(skb, DropReason::DevReady);
    };

    if sender.free() == 0 {
        // `sent` stops the queue in time; this is for a queue that something else has started.
        // There may be room by now, and nobody left to wake the queue.
        queue.stop_if_full(LIMITS, || sender.free());
        return Xmit::Busy(skb);
    }
    let (packet, start, rest, flags) = match sender.map(dev, skb, state.checksums) {
        Ok(packet) => packet,
        Err(refused) => {
            if let Some(stats) = dev.data().get_ref().queue_stats(queue.index() as usize) {
                stats.tx_dropped.inc();
            }
            // This may be the last of the packets that others wait for.
            if sender.held {
                sender.ring_doorbell(dev);
            }
            if let Refused::Packet(skb, reason) = refused {
                skb.drop_reason(reason);
            }
            return Xmit::Ok;
        }
    };
    let bytes = packet.len();

    if sender.packets.push(Packet::Skb(packet)).is_err() {
        // There was room above, and nobody else puts anything in.
        return Xmit::Ok;
    }

    if sender.free() == 0 {
        // Frames of XDP are the poll's to take back.
        if sender.frames == sender.ring.frames_ended.load(Relaxed) {
            sender.ring.reclaim(dev, &queue, false, InXmit);
        }
    }

    // BQL has to know of the packet before it can be reported as sent, hence before it is
    // published. The doorbell is rung after that.
    let ring = queue.sent(bytes, LIMITS, || sender.free());

    if let Some(stats) = dev.data().get_ref().queue_stats(queue.index() as usize) {
        stats.tx_queued.inc();
    }
    if sender.publish(start, rest, flags).is_err() {
        // The slot exists, so this does not happen; the watchdog would notice.
        return Xmit::Ok;
    }
    if ring {
        sender.ring_doorbell(dev);
    } else {
        sender.held = true;
    }
    Xmit::Ok
}

impl<'b> Sender<'b> {
    /// Puts a frame into the ring, without telling the DMAC. Gives it back if it is too long or
    /// there is no room.
    fn push_frame(&mut self, dev: &Device<'b, Ravb>, mut frame: Frame) -> Result<(), Frame> {
        let fits = !frame.has_frags() && frame.len() <= self.max_len;

        if self.free() == 0 || !fits || !frame.pad_to(ETH_ZLEN) {
            return Err(frame);
        }
        let Ok(start) = self.copy_start(frame.linear()) else {
            return Err(frame);
        };
        let skip = start.map_or(0, |piece| piece.size.get());
        let frame = frame.into_tx(dev.parent(), skip)?;
        let size = Bounded::from_expr(frame.mapped_len() & 0xfff);
        // The DMA mask has 32 bits. The frame goes back to where it came from if that did not help,
        // and counts as taken.
        let Ok(address) = BusAddress::try_from(frame.dma_address()) else {
            return Ok(());
        };

        if self.packets.push(Packet::Frame(frame)).is_err() {
            // There was room above, and nobody else puts anything in.
            return Ok(());
        }
        self.frames = self.frames.wrapping_add(1);
        // The slot exists, see `start_xmit`.
        let _ = self.publish(start, Piece { address, size }, TxHead::zeroed());
        self.held = true;
        Ok(())
    }
}

/// Puts a frame of an XDP program into the ring of a queue; [`flush_frames`] has to follow. What
/// was sent is taken back if there is no room otherwise.
pub(super) fn send_frame<'b>(
    dev: &Device<'b, Ravb>,
    queue: usize,
    frame: Frame,
    cx: &RxContext<'_>,
) -> Result {
    let txq = dev.tx_queue(queue).ok_or(EINVAL)?;
    let mut state = txq.lock();

    if !state.open || !dev.carrier_ok() {
        return Err(ENETDOWN);
    }
    let sender = state.sender.as_mut().ok_or(ENETDOWN)?;

    if sender.free() == 0 {
        sender.ring.reclaim(dev, &txq, true, InPoll(*cx));
    }
    sender.push_frame(dev, frame).map_err(|_| ENOSPC)?;
    sent_frames(dev, &txq, sender, 1);
    Ok(())
}

/// Tells the DMAC of frames that are in the ring of a queue.
pub(super) fn flush_frames(dev: &Device<'_, Ravb>, queue: usize) {
    let Some(txq) = dev.tx_queue(queue) else {
        return;
    };
    let mut state = txq.lock();

    match &mut state.sender {
        Some(sender) if sender.held => sender.ring_doorbell(dev),
        _ => (),
    }
}

/// Puts frames from elsewhere into the ring of a queue, as many as have room.
pub(super) fn send_frames<'b>(
    dev: &Device<'b, Ravb>,
    queue: usize,
    frames: &mut Frames<'_>,
    flush: bool,
) -> Result {
    let txq = dev.tx_queue(queue).ok_or(EINVAL)?;
    let mut state = txq.lock();

    if !state.open {
        return Err(ENETDOWN);
    }
    let sender = state.sender.as_mut().ok_or(ENETDOWN)?;
    let mut count = 0;

    frames.for_each(|frame| {
        sender.push_frame(dev, frame)?;
        count += 1;
        Ok(())
    });
    sent_frames(dev, &txq, sender, count);
    if let Some(stats) = dev.data().get_ref().queue_stats(queue) {
        stats.tx_xdp_xmit.add(count);
        // The sender drops all that are left.
        stats.tx_xdp_xmit_errors.add(frames.left() as u64);
    }
    if flush && sender.held {
        sender.ring_doorbell(dev);
    }
    Ok(())
}

/// Frames were put into the ring of a queue, whose lock is held.
fn sent_frames(
    dev: &Device<'_, Ravb>,
    txq: &TxQueueRef<'_, '_, Ravb>,
    sender: &Sender<'_>,
    count: u64,
) {
    if count == 0 {
        return;
    }
    txq.stop_if_full(LIMITS, || sender.free());
    txq.trans_update();
    if let Some(stats) = dev.data().get_ref().queue_stats(txq.index() as usize) {
        stats.tx_queued.add(count);
    }
}

/// Makes a packet fit to be sent by the chip.
#[inline]
fn prepare(skb: &mut Skb, max_len: u32, checksums: bool) -> Result<(), DropReason> {
    if let Some(wanted) = skb.checksum_place() {
        // What is to be summed up may also be something inside of a tunnel.
        let engine_can = checksums && engine_place(skb.linear()) == Some(wanted);

        if !engine_can && skb.checksum_help().is_err() {
            return Err(DropReason::Checksum);
        }
    }
    if skb.len() < ETH_ZLEN && skb.pad_to(ETH_ZLEN).is_err() {
        return Err(DropReason::NoMem);
    }
    if skb.len() > max_len {
        return Err(DropReason::TooBig);
    }
    Ok(())
}

/// Returns where the checksum engine begins to sum, and where it writes, in a frame with TCP or UDP
/// behind an IPv4 or IPv6 header and at most one VLAN tag, of type 802.1Q.
///
/// Fragments are passed through, and extension headers are not followed.
#[inline]
fn engine_place(frame: &[u8]) -> Option<ChecksumPlace> {
    const VLAN: [u8; 2] = [0x81, 0x00];
    const IPV4: [u8; 2] = [0x08, 0x00];
    const IPV6: [u8; 2] = [0x86, 0xdd];
    const IPV4_HLEN: usize = 20;
    const IPV6_HLEN: usize = 40;
    /// More fragments, and the offset of this one.
    const FRAGMENT: u16 = 0x3fff;

    let (addresses, rest) = frame.split_at_checked(12)?;
    let (ethertype, packet) = rest.split_first_chunk::<2>()?;
    let (ethertype, packet, network) = if *ethertype == VLAN {
        let (_, rest) = packet.split_first_chunk::<2>()?;
        let (ethertype, packet) = rest.split_first_chunk::<2>()?;

        (ethertype, packet, addresses.len() + 6)
    } else {
        (ethertype, packet, addresses.len() + 2)
    };
    let (protocol, start) = match *ethertype {
        IPV4 => {
            let header = packet.first_chunk::<IPV4_HLEN>()?;
            let len = usize::from(header[0] & 0xf) * 4;

            if len < IPV4_HLEN || u16::from_be_bytes([header[6], header[7]]) & FRAGMENT != 0 {
                return None;
            }
            (header[9], network + len)
        }
        IPV6 => {
            let header = packet.first_chunk::<IPV6_HLEN>()?;

            (header[6], network + IPV6_HLEN)
        }
        _ => return None,
    };

    Some(ChecksumPlace {
        start,
        offset: checksum_offset(protocol)?,
    })
}

/// Returns where TCP and UDP have their checksums.
#[inline]
fn checksum_offset(protocol: u8) -> Option<usize> {
    const TCP: u8 = 6;
    const UDP: u8 = 17;

    match protocol {
        TCP => Some(16),
        UDP => Some(6),
        _ => None,
    }
}

#[kunit_tests(ravb_rs_tx)]
mod tests {
    use super::*;

    /// Where the engine begins to sum, and where it writes, in a frame of addresses and these
    /// parts.
    fn find(parts: [&[u8]; 2]) -> Option<(usize, usize)> {
        let mut frame = [0u8; 64];
        let bytes = parts.into_iter().flatten();

        for (to, from) in frame.iter_mut().skip(12).zip(bytes) {
            *to = *from;
        }
        engine_place(&frame).map(|place| (place.start, place.offset))
    }

    #[test]
    fn what_the_engine_knows() {
        let ipv4_udp = [0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 17];
        let ipv4_tcp = [0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6];
        let ipv4_options_tcp = [0x46, 0, 0, 40, 0, 0, 0, 0, 64, 6];
        let ipv4_icmp = [0x45, 0, 0, 40, 0, 0, 0, 0, 64, 1];
        let ipv6_tcp = [0x60, 0, 0, 0, 0, 20, 6, 64];
        let ipv6_hop_by_hop = [0x60, 0, 0, 0, 0, 20, 0, 64];

        assert_eq!(find([&[8, 0], &ipv4_udp]), Some((34, 6)));
        assert_eq!(find([&[8, 0], &ipv4_tcp]), Some((34, 16)));
        assert_eq!(find([&[8, 0], &ipv4_options_tcp]), Some((38, 16)));
        assert_eq!(find([&[8, 0], &ipv4_icmp]), None);
        assert_eq!(find([&[0x86, 0xdd], &ipv6_tcp]), Some((54, 16)));
        assert_eq!(find([&[0x86, 0xdd], &ipv6_hop_by_hop]), None);
        assert_eq!(find([&[8, 6], &[]]), None);
    }

    #[test]
    fn what_the_engine_passes_through() {
        let ipv4_no_header = [0x40, 0, 0, 40, 0, 0, 0, 0, 64, 6];
        let first_fragment = [0x45, 0, 0, 40, 0, 0, 0x20, 0, 64, 17];
        let last_fragment = [0x45, 0, 0, 40, 0, 0, 0, 1, 64, 17];

        assert_eq!(find([&[8, 0], &ipv4_no_header]), None);
        assert_eq!(find([&[8, 0], &first_fragment]), None);
        assert_eq!(find([&[8, 0], &last_fragment]), None);
    }

    #[test]
    fn tags() {
        let ipv4_udp = [0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17];

        assert_eq!(find([&[0x81, 0, 0, 5, 8, 0], &ipv4_udp]), Some((38, 6)));
        // Two tags, and one of type 802.1ad.
        assert_eq!(
            find([&[0x81, 0, 0, 5, 0x81, 0, 0, 6, 8, 0], &ipv4_udp]),
            None
        );
        assert_eq!(find([&[0x88, 0xa8, 0, 5, 8, 0], &ipv4_udp]), None);
    }

    #[test]
    fn cut_short() {
        assert_eq!(engine_place(&[]), None);
        assert_eq!(engine_place(&[0; 13]), None);

        let mut frame = [0u8; 34];

        frame[12] = 8;
        frame[14] = 0x45;
        frame[23] = 17;
        assert!(engine_place(&frame).is_some());
        assert_eq!(engine_place(&frame[..33]), None);
    }
}
