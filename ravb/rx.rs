// SPDX-License-Identifier: GPL-2.0

//! Receiving.
//!
//! A slot of the ring is a descriptor with a buffer. From [`RxRing::refill`] on the buffer is the
//! device's, until the DMAC has filled it. A frame that has no room in one buffer goes on in the
//! next slots; it is put together from all of them before anything is done with it, so that what
//! the chip appends to a frame is at its end wherever the slots' borders are.
//!
//! A slot is never given back as it was: it is filled with a buffer, and its descriptor written
//! anew, by `refill` only. Frames that are no good end in [`Ring::discard`], whatever is wrong
//! with them.

use kernel::{
    num::Bounded,
    prelude::*, //
};

use super::{
    desc::{
        BusAddress,
        Kind,
        Piece,
        RxHead,
        Table,
        EXTENDED,
        NORMAL, //
    },
    driver::Ravb,
    hw_info::{
        Checksum,
        HwInfo,
        RxFormat,
        RxMemory,
        ETH_HLEN,
        MAX_PARTS, //
    },
    ptp::Stamped,
    ring::Cursor,
    stats::RxCounts,
    xdp::{
        Hook,
        Loaded,
        NoProgram,
        Outcome, //
    }, //
};
use crate::net::{
    napi::{
        NapiGuard,
        Owner,
        RxContext, //
    },
    page_frags::PageFrags,
    page_pool::PagePool,
    rx_buffer::{
        Allocate,
        CpuBuf,
        DeviceBuf,
        Layout,
        Memory,
        Source, //
    },
    xdp::Program,
    Device,
    DropReason,
    Skb, //
};

/// Where in a frame the next slot is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// It begins a frame.
    Between,
    /// It continues the frame that is being collected.
    Within,
    /// It continues a frame that was given up.
    Skipping,
}

/// What a slot is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// A frame.
    Whole,
    /// The beginning of a frame.
    First,
    /// More of a frame.
    More,
    /// The end of a frame.
    Last,
    /// Nothing that belongs to a frame.
    Stray,
}

impl Place {
    /// Goes on by a slot with a descriptor of this type. Returns what the slot is, and whether that
    /// shows that something is wrong with it or with the frame before it.
    fn step(&mut self, kind: Result<Kind, u32>) -> (Part, bool) {
        let within = *self == Place::Within;
        let (place, part, wrong) = match kind {
            // A frame that was not finished before another begins is incomplete.
            Ok(Kind::Single) => (Place::Between, Part::Whole, within),
            Ok(Kind::Start) => (Place::Within, Part::First, within),
            Ok(Kind::Middle) if within => (Place::Within, Part::More, false),
            Ok(Kind::End) if within => (Place::Between, Part::Last, false),
            Ok(Kind::Middle) => (Place::Skipping, Part::Stray, *self == Place::Between),
            Ok(Kind::End) => (Place::Between, Part::Stray, *self == Place::Between),
            // No type that the DMAC writes for a frame.
            _ => (Place::Skipping, Part::Stray, *self != Place::Skipping),
        };

        *self = place;
        (part, wrong)
    }
}

/// The slots of the frame that is being collected.
struct Parts<M: Memory> {
    buffers: [Option<CpuBuf<M>>; MAX_PARTS],
    count: usize,
    /// The status of all slots.
    status: u32,
}

impl<M: Memory> Default for Parts<M> {
    fn default() -> Self {
        Self {
            buffers: [const { None }; MAX_PARTS],
            count: 0,
            status: 0,
        }
    }
}

impl<M: Memory> Parts<M> {
    /// Adds a buffer, or gives it back if there are too many.
    fn push(&mut self, head: RxHead, buffer: CpuBuf<M>) -> Result<(), CpuBuf<M>> {
        match self.buffers.get_mut(self.count) {
            Some(slot) => {
                *slot = Some(buffer);
                self.count += 1;
                self.status |= head.into_raw();
                Ok(())
            }
            None => Err(buffer),
        }
    }

    fn len(&self) -> u32 {
        self.buffers.iter().flatten().map(CpuBuf::len).sum()
    }

    /// Looks whether the parts, in slots that have room for `room` bytes, are fit to be a packet.
    fn inspect(&self, info: &HwInfo, room: u32) -> Result<(), Fault> {
        let mut lens = self.buffers.iter().flatten().map(CpuBuf::len);

        if RxHead::from(self.status).has_errors() {
            return Err(Fault::Errors);
        }
        if !fit_together(info, &mut lens, room) {
            return Err(Fault::Shape);
        }
        Ok(())
    }

    /// Forgets the status of buffers that were taken out.
    fn clear(&mut self) {
        self.count = 0;
        self.status = 0;
    }

    /// Cuts off what the chip has appended to the frame, which may be in two buffers, and returns
    /// what it says.
    fn cut_trailer(&mut self, info: &HwInfo) -> Verdict {
        let mut trailer = [0; 4];
        let mut missing = info.rx_trailer() as usize;

        for buffer in self.buffers.iter_mut().rev().flatten() {
            let bytes = buffer.bytes();
            let cut = missing.min(bytes.len());
            let kept = bytes.len() - cut;

            missing -= cut;
            for (to, from) in trailer
                .iter_mut()
                .skip(missing)
                .zip(bytes.iter().skip(kept))
            {
                *to = *from;
            }
            // CAST: No more than the length was, which is a `u32`.
            buffer.truncate(kept as u32);
        }
        let len = trailer.len().min(info.rx_trailer() as usize);

        verdict(info.checksum, trailer.get(..len).unwrap_or_default())
    }
}

/// What the stack wants to know of received frames.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// Whether their checksums are right.
    pub(super) checksum: bool,
    /// When they came, and of which.
    pub(super) stamps: Stamped,
}

/// What the chip has found out about the checksums of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Good,
    Bad,
    Unknown,
    /// The sum of everything behind the Ethernet header, in network order.
    Sum(u16),
}

/// Reads the verdict at the end of a frame.
///
/// The engine appends two bytes about the IPv4 header, which the stack checks anyway, and two about
/// TCP, UDP and ICMP. The sum is the stack's to judge.
#[inline]
fn verdict(checksum: Checksum, frame: &[u8]) -> Verdict {
    let Some(&bytes) = frame.last_chunk::<2>() else {
        return Verdict::Unknown;
    };

    match (checksum, u16::from_le_bytes(bytes)) {
        (Checksum::Engine, 0) => Verdict::Good,
        // Nothing that the engine knows.
        (Checksum::Engine, 0xffff) => Verdict::Unknown,
        (Checksum::Engine, _) => Verdict::Bad,
        (Checksum::Sum, _) => Verdict::Sum(u16::from_ne_bytes(bytes)),
    }
}

/// Looks whether a frame in one slot, which has room for `room` bytes, is fit to be a packet.
#[inline]
fn inspect(info: &HwInfo, status: RxHead, len: u32, room: u32) -> Result<(), Fault> {
    if status.has_errors() {
        return Err(Fault::Errors);
    }
    if len < ETH_HLEN + info.rx_trailer() || len > room {
        return Err(Fault::Shape);
    }
    Ok(())
}

/// Returns whether parts of these lengths, in slots that have room for `room` bytes, can be one
/// frame.
///
/// The stack takes the Ethernet header out of the first part, and does not ask whether it is there.
fn fit_together(info: &HwInfo, lens: &mut dyn Iterator<Item = u32>, room: u32) -> bool {
    let Some(first) = lens.next() else {
        return false;
    };
    let (mut total, mut longest) = (first, first);

    for len in lens {
        total += len;
        longest = longest.max(len);
    }
    first >= ETH_HLEN && total >= ETH_HLEN + info.rx_trailer() && longest <= room
}

/// Why a frame is discarded.
enum Fault {
    /// The hardware has found errors.
    Errors,
    /// It has no beginning or no end, or is too long or too short to be a frame, or what the DMAC
    /// says of its slots cannot be.
    Shape,
    /// There is no memory for it.
    Memory,
}

/// The receive ring of a queue, in the format that the chip has, with buffers from where they come
/// from, and with an XDP program or not.
pub(super) enum RxRing<'b> {
    NormalPool(Ring<'b, NORMAL, PagePool, NoProgram>),
    NormalFragments(Ring<'b, NORMAL, PageFrags<'b>, NoProgram>),
    NormalXdp(Ring<'b, NORMAL, PagePool, Loaded>),
    ExtendedPool(Ring<'b, EXTENDED, PagePool, NoProgram>),
    ExtendedFragments(Ring<'b, EXTENDED, PageFrags<'b>, NoProgram>),
    ExtendedXdp(Ring<'b, EXTENDED, PagePool, Loaded>),
}

/// Does the same with a ring of any kind.
macro_rules! in_each_kind {
    ($ring:expr, $inner:ident => $what:expr) => {
        match $ring {
            RxRing::NormalPool($inner) => $what,
            RxRing::NormalFragments($inner) => $what,
            RxRing::NormalXdp($inner) => $what,
            RxRing::ExtendedPool($inner) => $what,
            RxRing::ExtendedFragments($inner) => $what,
            RxRing::ExtendedXdp($inner) => $what,
        }
    };
}

impl<'b> RxRing<'b> {
    /// Allocates a ring, with all its buffers. `program` is the XDP program that is to see the
    /// frames. Process context.
    ///
    /// The queue may be running with another ring.
    pub(super) fn new(
        dev: &Device<'b, Ravb>,
        queue: usize,
        len: u32,
        program: Option<&Program>,
    ) -> Result<Self> {
        use RxFormat::*;
        use RxMemory::*;

        let info = dev.data().info;

        Ok(match (info.rx_format, info.rx_memory(), program) {
            (Normal, Pool, None) => Self::NormalPool(Ring::new(dev, queue, len, None)?),
            (Normal, Fragments, None) => Self::NormalFragments(Ring::new(dev, queue, len, None)?),
            (Normal, _, program) => Self::NormalXdp(Ring::new(dev, queue, len, program)?),
            (Extended, Pool, None) => Self::ExtendedPool(Ring::new(dev, queue, len, None)?),
            (Extended, Fragments, None) => {
                Self::ExtendedFragments(Ring::new(dev, queue, len, None)?)
            }
            (Extended, _, program) => Self::ExtendedXdp(Ring::new(dev, queue, len, program)?),
        })
    }

    /// Replaces the XDP program, if there is one, by another or none. No poll is running.
    pub(super) fn replace_program(&mut self, program: Option<&Program>) {
        match self {
            Self::NormalXdp(ring) => ring.hook.replace(program),
            Self::ExtendedXdp(ring) => ring.hook.replace(program),
            _ => (),
        }
    }

    /// Makes the ring that of a NAPI instance, once. Process context.
    pub(super) fn adopt(&mut self, guard: &NapiGuard<'_, 'b, Ravb>) {
        in_each_kind!(self, ring => ring.source.adopt(guard));
    }

    /// Returns where the DMAC finds the ring.
    pub(super) fn address(&self) -> BusAddress {
        in_each_kind!(self, ring => ring.table.address())
    }

    /// Makes the ring as new: what was received and not delivered is forgotten, and all slots are
    /// given to the DMAC again, which must be stopped and will begin at the first.
    pub(super) fn rewind(&mut self, owner: &Owner<'_>) -> Filled {
        in_each_kind!(self, ring => ring.rewind(owner))
    }

    /// Gives slots to the DMAC, as many as there is memory for.
    #[inline]
    pub(super) fn refill(&mut self, owner: &Owner<'_>) -> Filled {
        in_each_kind!(self, ring => ring.refill(owner))
    }

    /// Returns whether memory has run out so far that a long frame may find no room. The DMAC
    /// might never report a frame again, so somebody has to call [`refill`](Self::refill) soon.
    #[inline]
    pub(super) fn is_starving(&self) -> bool {
        in_each_kind!(self, ring => ring.is_starving())
    }

    /// Returns whether there is something to receive.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        in_each_kind!(self, ring => ring.is_ready())
    }

    /// Returns whether there is something to receive, or to be filled.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        in_each_kind!(self, ring => ring.armed < ring.len || ring.is_ready())
    }

    /// Receives frames, as many as `cx` allows. Returns their number.
    #[inline]
    pub(super) fn receive(
        &mut self,
        dev: &Device<'b, Ravb>,
        cx: &RxContext<'_>,
        wanted: Wanted,
        counts: &mut RxCounts,
    ) -> u32 {
        in_each_kind!(self, ring => ring.receive(dev, cx, wanted, counts))
    }
}

/// What has become of slots that were to be filled.
#[derive(Clone, Copy, Default)]
pub(super) struct Filled {
    /// So many are the DMAC's.
    pub(super) slots: u32,
    /// There was no memory for the next one.
    pub(super) failed: bool,
}

/// What a slot was the end of.
enum Received {
    /// A packet, whose checksums the chip has found right or not, for somebody who wants to know.
    Packet(Skb, bool),
    /// A frame of so many bytes, of which the stack gets nothing.
    Seen(u32),
    /// Nothing.
    Nothing,
}

/// A receive ring whose descriptors have so many words, with buffers from a source, and perhaps
/// somebody who sees frames first.
pub(super) struct Ring<'b, const WORDS: usize, S: Source<'b>, H: Hook<'b, S>> {
    table: Table<WORDS>,
    // Dropped before their source.
    buffers: KVVec<Option<DeviceBuf<S::Memory>>>,
    parts: Parts<S::Memory>,
    // Dropped before its source as well.
    hook: H,
    source: S,
    len: u32,
    /// The next slot to be received.
    head: Cursor,
    /// The next slot to be filled.
    tail: Cursor,
    /// How many slots are the DMAC's, or filled by it: those from `head` on.
    armed: u32,
    place: Place,
    slot_size: Bounded<u32, 12>,
    /// The buffer of a slot.
    layout: Layout,
}

impl<'b, const WORDS: usize, S: Source<'b>, H: Hook<'b, S>> Ring<'b, WORDS, S, H> {
    fn new(
        dev: &Device<'b, Ravb>,
        queue: usize,
        len: u32,
        program: Option<&Program>,
    ) -> Result<Self> {
        let layout = dev.data().info.rx_layout(H::ACTIVE);
        let slots = usize::try_from(len)?;
        // One more descriptor leads back to the first.
        let table = Table::new(dev.parent(), slots + 1)?;
        let (source, buffers, hook) = H::source(dev, queue, len, layout, program)?;

        table.publish_link(slots, table.address())?;
        Ok(Self {
            table,
            buffers,
            parts: Parts::default(),
            hook,
            source,
            len,
            head: Cursor::first(len),
            tail: Cursor::first(len),
            armed: 0,
            place: Place::Between,
            slot_size: Bounded::try_new(layout.len).ok_or(EINVAL)?,
            layout,
        })
    }

    fn rewind(&mut self, owner: &Owner<'_>) -> Filled {
        self.parts = Parts::default();
        self.place = Place::Between;
        self.head = Cursor::first(self.len);
        self.tail = Cursor::first(self.len);
        self.armed = 0;
        self.refill(owner)
    }

    fn refill(&mut self, owner: &Owner<'_>) -> Filled {
        let missing = self.len.saturating_sub(self.armed);
        let mut filled = Filled::default();

        let Ok(mut source) = self.source.allocator(owner, self.layout) else {
            return filled;
        };

        while filled.slots < missing {
            let index = self.tail.index();
            let Some(slot) = self.buffers.get_mut(index) else {
                break;
            };
            // Slots that were not received have their buffers still.
            let buffer = match slot {
                Some(buffer) => buffer,
                None => match source.alloc() {
                    Ok(buffer) => slot.insert(buffer),
                    Err(_) => {
                        filled.failed = true;
                        break;
                    }
                },
            };
            // The DMA mask has 32 bits.
            let Ok(address) = BusAddress::try_from(buffer.dma_address()) else {
                break;
            };
            let piece = Piece {
                address,
                size: self.slot_size,
            };

            // The whole descriptor is new.
            if self.table.publish_empty(index, piece).is_err() {
                break;
            }
            self.tail.advance();
            filled.slots += 1;
        }
        self.armed += filled.slots;
        filled
    }

    fn is_starving(&self) -> bool {
        self.armed < MAX_PARTS as u32
    }

    #[inline]
    fn is_ready(&self) -> bool {
        self.armed != 0
            && self
                .table
                .rx_head(self.head.index())
                .is_ok_and(|head| !head.is_empty())
    }

    fn receive(
        &mut self,
        dev: &Device<'b, Ravb>,
        cx: &RxContext<'_>,
        wanted: Wanted,
        counts: &mut RxCounts,
    ) -> u32 {
        let budget = cx.budget();
        let mut frames = 0;

        while frames < budget && self.armed != 0 {
            let index = self.head.index();
            let Ok(head) = self.table.rx_head(index) else {
                break;
            };

            if head.is_empty() {
                break;
            }
            self.table.acquire();
            self.head.advance();
            self.armed -= 1;
            counts.slots += 1;

            // There is one in each armed slot.
            let Some(buffer) = self.buffers.get_mut(index).and_then(Option::take) else {
                continue;
            };

            match self.take(dev, index, head, buffer, cx, wanted, counts) {
                Received::Packet(skb, verified) => {
                    counts.bytes += u64::from(skb.len());
                    cx.receive(skb, verified);
                    frames += 1;
                }
                Received::Seen(len) => {
                    counts.bytes += u64::from(len);
                    frames += 1;
                }
                Received::Nothing => (),
            }
        }
        if H::ACTIVE {
            self.hook.finish(dev, cx);
        }
        counts.packets += frames;
        frames
    }

    /// Takes a slot.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "inlined into its only caller")]
    fn take(
        &mut self,
        dev: &Device<'b, Ravb>,
        index: usize,
        head: RxHead,
        buffer: DeviceBuf<S::Memory>,
        cx: &RxContext<'_>,
        wanted: Wanted,
        counts: &mut RxCounts,
    ) -> Received {
        let info = dev.data().info;
        // What the DMAC says of the size is not trusted: `into_cpu` takes no more than there is,
        // and what exceeds the slot is found when the frame is inspected.
        let buffer = buffer.into_cpu(head.size().get());

        // The headers are looked at when there is an skb for them, or by the program.
        if !cfg!(rx_prefetch_off) {
            buffer.prefetch();
        }
        if H::ACTIVE {
            return self.show(dev, index, head, buffer, cx, wanted, counts);
        }
        let packet = if head.kind() == Ok(Kind::Single) {
            if self.place != Place::Between {
                self.step(head, cx, counts);
            }
            self.whole(info, head, buffer, cx)
        } else if self.part(head, buffer, cx, counts) {
            self.assemble(info, cx)
        } else {
            return Received::Nothing;
        };

        match packet {
            Ok((mut skb, verdict)) => {
                match verdict {
                    Verdict::Sum(sum) if wanted.checksum => skb.set_checksum_complete(sum.into()),
                    Verdict::Bad => counts.checksum_errors += 1,
                    _ => (),
                }
                if wanted.stamps.has(skb.linear()) {
                    if let Ok(Some(stamp)) = self.table.rx_stamp(index) {
                        skb.set_hw_tstamp(stamp.to_ns());
                    }
                }
                if head.multicast() {
                    counts.multicast += 1;
                }
                Received::Packet(skb, wanted.checksum && verdict == Verdict::Good)
            }
            Err(fault) => {
                self.discard(fault, cx, counts);
                Received::Nothing
            }
        }
    }

    /// Takes a slot, in a ring whose frames somebody sees first.
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn show(
        &mut self,
        dev: &Device<'b, Ravb>,
        index: usize,
        head: RxHead,
        buffer: CpuBuf<S::Memory>,
        cx: &RxContext<'_>,
        wanted: Wanted,
        counts: &mut RxCounts,
    ) -> Received {
        let info = dev.data().info;

        if head.kind() == Ok(Kind::Single) {
            if self.place != Place::Between {
                self.step(head, cx, counts);
            }
            // There is room: nothing is being collected.
            if let Err(buffer) = self.parts.push(head, buffer) {
                self.source.recycle(buffer, cx);
                return Received::Nothing;
            }
        } else if !self.part(head, buffer, cx, counts) {
            return Received::Nothing;
        }

        let fault = if self.parts.count > 1 && !self.hook.takes_parts() {
            // Longer than any frame for a program that sees one buffer.
            Err(Fault::Shape)
        } else {
            self.parts.inspect(info, self.layout.len)
        };

        if let Err(fault) = fault {
            self.discard(fault, cx, counts);
            return Received::Nothing;
        }
        let verdict = self.parts.cut_trailer(info);
        let len = self.parts.len();
        let mut parts = self.parts.buffers.iter_mut().filter_map(Option::take);
        let Some(first) = parts.next() else {
            return Received::Nothing;
        };
        let stamp = if wanted.stamps.has(first.bytes()) {
            self.table.rx_stamp(index).ok().flatten()
        } else {
            None
        };
        let outcome = self.hook.show(dev, &self.source, first, parts, cx);

        self.parts.clear();
        if head.multicast() {
            counts.multicast += 1;
        }
        if verdict == Verdict::Bad {
            counts.checksum_errors += 1;
        }
        match outcome {
            Outcome::Packet { mut skb, intact } => {
                if let Some(stamp) = stamp {
                    skb.set_hw_tstamp(stamp.to_ns());
                }
                // A sum would be one of what the program has left as it was. What the chip has
                // found right may have been replaced.
                Received::Packet(skb, wanted.checksum && intact && verdict == Verdict::Good)
            }
            Outcome::Dropped(buffer) => {
                // For the next time that this slot is filled.
                if let Some(slot) = self.buffers.get_mut(index) {
                    *slot = buffer;
                }
                Received::Seen(len)
            }
            Outcome::Gone => Received::Seen(len),
            Outcome::Failed => {
                counts.no_memory += 1;
                Received::Nothing
            }
        }
    }

    /// Goes on by a slot, and gives up the frame that is being collected if that is incomplete.
    #[cold]
    fn step(&mut self, head: RxHead, cx: &RxContext<'_>, counts: &mut RxCounts) -> Part {
        let (part, wrong) = self.place.step(head.kind());

        if wrong {
            self.discard(Fault::Shape, cx, counts);
        }
        part
    }

    /// Takes a slot that is not a whole frame. Returns whether the parts are a whole one now.
    #[inline(never)]
    fn part(
        &mut self,
        head: RxHead,
        buffer: CpuBuf<S::Memory>,
        cx: &RxContext<'_>,
        counts: &mut RxCounts,
    ) -> bool {
        match self.step(head, cx, counts) {
            Part::First | Part::More => {
                self.collect(head, buffer, cx, counts);
                false
            }
            Part::Last => self.collect(head, buffer, cx, counts),
            Part::Whole | Part::Stray => {
                self.source.recycle(buffer, cx);
                false
            }
        }
    }

    /// Makes a packet of a frame in one slot.
    ///
    /// If that fails the slot is left in the parts, which are empty otherwise.
    #[inline]
    fn whole(
        &mut self,
        info: &HwInfo,
        head: RxHead,
        mut buffer: CpuBuf<S::Memory>,
        cx: &RxContext<'_>,
    ) -> Result<(Skb, Verdict), Fault> {
        let fault = match inspect(info, head, buffer.len(), self.layout.len) {
            Ok(()) => {
                let verdict = verdict(info.checksum, buffer.bytes());

                buffer.truncate(buffer.len().saturating_sub(info.rx_trailer()));
                match buffer.into_skb(cx) {
                    Ok(skb) => return Ok((skb, verdict)),
                    Err(back) => {
                        buffer = back;
                        Fault::Memory
                    }
                }
            }
            Err(fault) => fault,
        };

        if let Err(buffer) = self.parts.push(head, buffer) {
            self.source.recycle(buffer, cx);
        }
        Err(fault)
    }

    /// Adds a slot to the frame that is being collected. Returns whether it had room.
    fn collect(
        &mut self,
        head: RxHead,
        buffer: CpuBuf<S::Memory>,
        cx: &RxContext<'_>,
        counts: &mut RxCounts,
    ) -> bool {
        let Err(buffer) = self.parts.push(head, buffer) else {
            return true;
        };

        // Longer than any frame can be.
        self.source.recycle(buffer, cx);
        if self.place == Place::Within {
            self.place = Place::Skipping;
        }
        self.discard(Fault::Shape, cx, counts);
        false
    }

    /// Makes a packet of the parts, which are complete.
    ///
    /// If that fails the parts are left where they are.
    fn assemble(&mut self, info: &HwInfo, cx: &RxContext<'_>) -> Result<(Skb, Verdict), Fault> {
        self.parts.inspect(info, self.layout.len)?;

        let verdict = self.parts.cut_trailer(info);
        let mut buffers = self.parts.buffers.iter_mut();
        let first = buffers.next().and_then(Option::take).ok_or(Fault::Shape)?;
        let mut skb = first.into_skb(cx).map_err(|buffer| {
            self.source.recycle(buffer, cx);
            Fault::Memory
        })?;

        for buffer in buffers.filter_map(Option::take) {
            // The last buffer may have had nothing but the trailer.
            if buffer.is_empty() {
                self.source.recycle(buffer, cx);
            } else if let Err(buffer) = skb.add_frag(buffer, cx) {
                self.source.recycle(buffer, cx);
                skb.drop_reason(DropReason::NoMem);
                return Err(Fault::Memory);
            }
        }
        self.parts.clear();
        Ok((skb, verdict))
    }

    /// Gives up the frame that is being collected, if any, and counts why.
    #[cold]
    fn discard(&mut self, fault: Fault, cx: &RxContext<'_>, counts: &mut RxCounts) {
        match fault {
            Fault::Errors => counts.count_errors(RxHead::from(self.parts.status)),
            Fault::Shape => counts.count_shape(),
            Fault::Memory => counts.no_memory += 1,
        }
        for buffer in self.parts.buffers.iter_mut().filter_map(Option::take) {
            self.source.recycle(buffer, cx);
        }
        self.parts.clear();
    }
}

#[kunit_tests(ravb_rs_rx)]
mod tests {
    use super::*;
    use crate::ravb::hw_info::{
        GBETH,
        GEN3, //
    };

    fn walk(kinds: &[Kind]) -> (Place, u32, u32) {
        let mut place = Place::Between;
        let (mut frames, mut wrongs) = (0, 0);

        for &kind in kinds {
            let (part, wrong) = place.step(Ok(kind));

            frames += u32::from(matches!(part, Part::Whole | Part::Last));
            wrongs += u32::from(wrong);
        }
        (place, frames, wrongs)
    }

    #[test]
    fn frames_are_recognised() {
        use Kind::{
            End,
            Middle,
            Single,
            Start, //
        };

        assert!(walk(&[Single, Single]) == (Place::Between, 2, 0));
        assert!(walk(&[Start, Middle, Middle, End, Single]) == (Place::Between, 2, 0));
        assert!(walk(&[Start, Middle]) == (Place::Within, 0, 0));
        // No end.
        assert!(walk(&[Start, Single]) == (Place::Between, 1, 1));
        assert!(walk(&[Start, Middle, Start, End]) == (Place::Between, 1, 1));
        // No beginning: one fault, however long the rest is.
        assert!(walk(&[Middle, Middle, End, Single]) == (Place::Between, 1, 1));
        assert!(walk(&[End, Single]) == (Place::Between, 1, 1));
        // Types that belong to no frame.
        assert!(walk(&[Kind::EndSeen, Single]) == (Place::Between, 1, 1));
        assert!(walk(&[Start, Kind::LinkUsed, End, Single]) == (Place::Between, 1, 1));
    }

    #[test]
    fn engine_verdicts() {
        let engine = |trailer: [u8; 4]| verdict(Checksum::Engine, &trailer);

        assert!(engine([0xff, 0xff, 0, 0]) == Verdict::Good);
        assert!(engine([0, 0, 0xff, 0xff]) == Verdict::Unknown);
        assert!(engine([0, 0, 0x12, 0x34]) == Verdict::Bad);
        assert!(verdict(Checksum::Sum, &[0x12, 0x34]) == Verdict::Sum(u16::from_be(0x1234)));
        assert!(verdict(Checksum::Sum, &[]) == Verdict::Unknown);
    }
    #[test]
    fn what_is_fit_to_be_a_packet() {
        const ROOM: u32 = 1700;
        let good = |info: &HwInfo, status: u32, len| {
            inspect(info, RxHead::from(status), len, ROOM).is_ok()
        };

        for info in [&GBETH, &GEN3] {
            let least = ETH_HLEN + info.rx_trailer();

            assert!(good(info, 0x7000_0000, least));
            // Shorter than its trailer: nothing may be subtracted from it.
            assert!(!good(info, 0x7000_0000, least - 1));
            assert!(!good(info, 0x7000_0000, 0));
            assert!(good(info, 0x7080_0000, 64));
            // The DMAC cannot have written more than there is room for.
            assert!(good(info, 0x7000_0000, ROOM));
            assert!(!good(info, 0x7000_0000, ROOM + 1));
            for error in [16, 17, 18, 19, 22] {
                assert!(!good(info, 0x7000_0000 | 1 << error, 64));
            }
        }
    }

    #[test]
    fn what_parts_make_a_packet() {
        let fit = |info, lens: &[u32]| fit_together(info, &mut lens.iter().copied(), 1700);

        for info in [&GBETH, &GEN3] {
            let trailer = info.rx_trailer();

            assert!(fit(info, &[1700, 1700, 1]));
            assert!(fit(info, &[ETH_HLEN, 0, trailer]));
            // The header is in the first part, whatever follows.
            assert!(!fit(info, &[ETH_HLEN - 1, 100]));
            assert!(!fit(info, &[0, 100]));
            assert!(!fit(info, &[ETH_HLEN, trailer - 1]));
            assert!(!fit(info, &[1701, 100]));
            assert!(!fit(info, &[1700, 1701]));
            assert!(!fit(info, &[]));
        }
    }
}
