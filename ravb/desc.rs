// SPDX-License-Identifier: GPL-2.0

//! Descriptors: what the driver and the DMAC say to each other in memory.
//!
//! A descriptor begins with two little-endian words: a *head*, with the descriptor's type (DT) in
//! its top bits, and a pointer. The type says whose the descriptor is. The DMAC may look at it at
//! any time while it is in OPERATION mode, so it must be the last thing that is written, after a
//! barrier. Hence there is no function that writes one field: a descriptor is *published*, whole
//! ([`Table::publish_empty`], [`Table::publish_one`], [`Table::publish_two`]).
//!
//! In the other direction the head is read in one access. It holds all that matters (size, status,
//! type), and the DMAC writes the type last: when it is there, so is the rest. A barrier must
//! follow before anything else is read that the DMAC has written.

use kernel::{
    bitfield,
    device::{
        Bound,
        Device, //
    },
    dma::Coherent,
    io::{
        io_read,
        io_write,
        IoBase,
        SysMem, //
    },
    num::Bounded,
    prelude::*,
    sync::barrier::{
        dma_mb,
        Read,
        Write, //
    },
    time::NSEC_PER_SEC, //
};

/// An address that the device can use: it has 32 bits.
pub(super) type BusAddress = u32;

/// The types of descriptors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// LEMPTY: a link that was followed.
    LinkUsed,
    /// EEMPTY: in an unused TX slot, and an end of queue that was seen.
    EndSeen,
    /// FMID, FSTART, FEND, FSINGLE: part of a frame, or a whole one.
    Middle,
    Start,
    End,
    Single,
    /// LINK: go on elsewhere, once.
    Link,
    /// LINKFIX: go on elsewhere, each time.
    LinkFix,
    /// EOS: the queue ends here.
    EndOfSet,
    /// FEMPTY: a buffer to be filled (RX), a frame that was sent (TX).
    Empty,
}

impl TryFrom<Bounded<u32, 4>> for Kind {
    type Error = u32;

    #[inline(always)]
    fn try_from(dt: Bounded<u32, 4>) -> Result<Self, u32> {
        Ok(match dt.get() {
            0x2 => Kind::LinkUsed,
            0x3 => Kind::EndSeen,
            0x4 => Kind::Middle,
            0x5 => Kind::Start,
            0x6 => Kind::End,
            0x7 => Kind::Single,
            0x8 => Kind::Link,
            0x9 => Kind::LinkFix,
            0xa => Kind::EndOfSet,
            0xc => Kind::Empty,
            other => return Err(other),
        })
    }
}

impl From<Kind> for Bounded<u32, 4> {
    #[inline(always)]
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::LinkUsed => Bounded::<u32, _>::new::<0x2>(),
            Kind::EndSeen => Bounded::<u32, _>::new::<0x3>(),
            Kind::Middle => Bounded::<u32, _>::new::<0x4>(),
            Kind::Start => Bounded::<u32, _>::new::<0x5>(),
            Kind::End => Bounded::<u32, _>::new::<0x6>(),
            Kind::Single => Bounded::<u32, _>::new::<0x7>(),
            Kind::Link => Bounded::<u32, _>::new::<0x8>(),
            Kind::LinkFix => Bounded::<u32, _>::new::<0x9>(),
            Kind::EndOfSet => Bounded::<u32, _>::new::<0xa>(),
            Kind::Empty => Bounded::<u32, _>::new::<0xc>(),
        }
    }
}

bitfield! {
    /// Head of a receive descriptor.
    pub(super) struct RxHead(u32) {
        31:28 kind ?=> Kind;
        /// A multicast frame.
        23:23 multicast => bool;
        /// Carrier extension error.
        22:22 carrier_extension => bool;
        /// The frame is too long, or too short.
        19:19 too_long => bool;
        18:18 too_short => bool;
        /// The PHY has reported an error.
        17:17 phy_error => bool;
        16:16 crc_error => bool;
        11:0 size;
    }
}

bitfield! {
    /// Head of a transmit descriptor.
    pub(super) struct TxHead(u32) {
        31:28 kind ?=> Kind;
        /// A time stamp with this tag is wanted.
        22:22 stamp => bool;
        21:12 tag;
        11:0 size;
    }
}

impl RxHead {
    /// All errors of a frame.
    pub(super) const ERRORS: u32 = Self::CARRIER_EXTENSION_MASK
        | Self::TOO_LONG_MASK
        | Self::TOO_SHORT_MASK
        | Self::PHY_ERROR_MASK
        | Self::CRC_ERROR_MASK;

    /// Returns whether the descriptor is the DMAC's still.
    #[inline(always)]
    pub(super) fn is_empty(self) -> bool {
        self.kind() == Ok(Kind::Empty)
    }

    /// Returns whether the frame has errors.
    #[inline(always)]
    pub(super) fn has_errors(self) -> bool {
        self.into_raw() & Self::ERRORS != 0
    }
}

/// A piece of a frame to be sent.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) address: BusAddress,
    pub(super) size: Bounded<u32, 12>,
}

/// A time stamp of the gPTP timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub(super) nanoseconds: u32,
    /// 48 bits.
    pub(super) seconds: u64,
}

impl Stamp {
    /// Makes a stamp of three words, as descriptors and registers have them.
    #[inline]
    pub(super) fn from_words(nanoseconds: u32, low: u32, high: u32) -> Self {
        Self {
            nanoseconds,
            seconds: u64::from(high & 0xffff) << 32 | u64::from(low),
        }
    }

    /// Returns the time in nanoseconds, as the stack has it: until the year 2262.
    #[inline]
    pub(super) fn to_ns(self) -> i64 {
        // CAST: 48 bits.
        (self.seconds as i64)
            .wrapping_mul(NSEC_PER_SEC)
            .wrapping_add(self.nanoseconds.into())
    }
}

/// A table of descriptors with `WORDS` words each, in memory that the DMAC shares.
pub(super) struct Table<const WORDS: usize> {
    memory: Coherent<[[u32; WORDS]]>,
    address: BusAddress,
}

/// Receive and transmit descriptors without, receive descriptors with a time stamp.
pub(super) const NORMAL: usize = 2;
pub(super) const EXTENDED: usize = 5;

impl<const WORDS: usize> Table<WORDS> {
    /// Allocates a table. Process context.
    ///
    /// The DMAC can make nothing of its descriptors, which have type 0.
    pub(super) fn new(dev: &Device<Bound>, len: usize) -> Result<Self> {
        let memory = Coherent::zeroed_slice(dev, len, GFP_KERNEL)?;
        // The DMA mask has 32 bits.
        let address = memory.dma_address().try_into()?;

        Ok(Self { memory, address })
    }

    /// Returns the address of the table.
    pub(super) fn address(&self) -> BusAddress {
        self.address
    }

    /// Returns the memory as the CPU sees it, without the bus addresses, which would be computed
    /// and checked for overflow on each access otherwise.
    #[inline(always)]
    fn view(&self) -> SysMem<'_, [[u32; WORDS]]> {
        (&self.memory).as_view().as_sys_mem()
    }

    #[inline(always)]
    fn set_head(&self, index: usize, head: u32) -> Result {
        io_write!(self.view(), [try: index][build: 0], head.to_le());
        Ok(())
    }

    #[inline(always)]
    fn set_pointer(&self, index: usize, pointer: BusAddress) -> Result {
        io_write!(self.view(), [try: index][build: 1], pointer.to_le());
        Ok(())
    }

    /// Reads the head of a receive descriptor.
    #[inline(always)]
    pub(super) fn rx_head(&self, index: usize) -> Result<RxHead> {
        let head: u32 = io_read!(self.view(), [try: index][build: 0]);

        Ok(u32::from_le(head).into())
    }

    /// Reads the time stamp of a received frame, whose head was read and [acquired](Self::acquire).
    /// There is none in descriptors without.
    #[inline(always)]
    pub(super) fn rx_stamp(&self, index: usize) -> Result<Option<Stamp>> {
        if WORDS < EXTENDED {
            return Ok(None);
        }
        let nanoseconds: u32 = io_read!(self.view(), [try: index][try: 2]);
        let low: u32 = io_read!(self.view(), [try: index][try: 3]);
        let high: u32 = io_read!(self.view(), [try: index][try: 4]);

        Ok(Some(Stamp::from_words(
            u32::from_le(nanoseconds),
            u32::from_le(low),
            u32::from_le(high),
        )))
    }

    /// Reads the head of a transmit descriptor.
    #[inline(always)]
    pub(super) fn tx_head(&self, index: usize) -> Result<TxHead> {
        let head: u32 = io_read!(self.view(), [try: index][build: 0]);

        Ok(u32::from_le(head).into())
    }

    /// Orders what is read from now on, in this table and in buffers, after the heads that were.
    #[inline(always)]
    pub(super) fn acquire(&self) {
        dma_mb(Read);
    }

    /// Makes a descriptor an end of the queue.
    ///
    /// In the base address table, for a queue that is not used.
    pub(super) fn publish_end(&self, index: usize) -> Result {
        self.set_head(index, TxHead::zeroed().with_kind(Kind::EndOfSet).into_raw())
    }

    /// Makes a descriptor a link that stays, to another table.
    pub(super) fn publish_link(&self, index: usize, target: BusAddress) -> Result {
        self.set_pointer(index, target)?;
        dma_mb(Write);
        self.set_head(index, TxHead::zeroed().with_kind(Kind::LinkFix).into_raw())
    }

    /// Makes a transmit descriptor one that has nothing to send. It must be the driver's.
    #[inline(always)]
    pub(super) fn publish_unused(&self, index: usize) -> Result {
        self.set_head(index, TxHead::zeroed().with_kind(Kind::EndSeen).into_raw())
    }

    /// Gives a receive buffer to the DMAC: the whole descriptor is new.
    ///
    /// Not inlined, so that the order of its stores can be looked at in the object file
    /// (`scripts/ordering.py`).
    #[inline(never)]
    pub(super) fn publish_empty(&self, index: usize, piece: Piece) -> Result {
        let head = RxHead::zeroed()
            .with_kind(Kind::Empty)
            .with_size(piece.size);

        self.set_pointer(index, piece.address)?;
        dma_mb(Write);
        self.set_head(index, head.into_raw())
    }

    /// Gives a frame in one piece to the DMAC. `flags` has the tag, if a time stamp is wanted.
    ///
    /// Not inlined, see [`publish_empty`](Self::publish_empty).
    #[inline(never)]
    pub(super) fn publish_one(&self, index: usize, piece: Piece, flags: TxHead) -> Result {
        let head = flags.with_kind(Kind::Single).with_size(piece.size);

        self.set_pointer(index, piece.address)?;
        dma_mb(Write);
        self.set_head(index, head.into_raw())
    }

    /// Gives a frame in two pieces, in the descriptors at `index` and behind it, to the DMAC.
    ///
    /// The first descriptor comes last, after a barrier of its own: until it is published the DMAC
    /// stops before it and does not see the other.
    ///
    /// Not inlined, see [`publish_empty`](Self::publish_empty).
    #[inline(never)]
    pub(super) fn publish_two(&self, index: usize, pieces: [Piece; 2], flags: TxHead) -> Result {
        let [start, end] = pieces;
        let start_head = TxHead::zeroed()
            .with_kind(Kind::Start)
            .with_size(start.size);
        let end_head = flags.with_kind(Kind::End).with_size(end.size);

        self.set_pointer(index, start.address)?;
        self.set_pointer(index + 1, end.address)?;
        dma_mb(Write);
        self.set_head(index + 1, end_head.into_raw())?;
        dma_mb(Write);
        self.set_head(index, start_head.into_raw())
    }
}

#[kunit_tests(ravb_rs_desc)]
mod tests {
    use super::*;

    #[test]
    fn layout() {
        let size = Bounded::<u32, 12>::new::<0x6be>();
        let head = RxHead::zeroed().with_kind(Kind::Empty).with_size(size);

        // DS in bytes 0 and 1, MSC in byte 2, DT in the upper half of byte 3.
        assert_eq!(head.into_raw().to_le_bytes(), [0xbe, 0x06, 0x00, 0xc0]);

        let tag = Bounded::<u32, 10>::new::<0x3a5>();
        let head = TxHead::zeroed()
            .with_kind(Kind::End)
            .with_stamp(true)
            .with_tag(tag)
            .with_size(size);

        // Four bits of the tag are above DS, six in byte 2, below the request for a stamp.
        assert_eq!(head.into_raw().to_le_bytes(), [0xbe, 0x56, 0x7a, 0x60]);
    }

    #[test]
    fn kinds() {
        for dt in 0u32..16 {
            let bits = Bounded::<u32, 4>::from_expr(dt & 0xf);

            match Kind::try_from(bits) {
                Ok(kind) => assert_eq!(Bounded::<u32, 4>::from(kind).get(), dt),
                Err(other) => assert_eq!(other, dt),
            }
        }
    }

    #[test]
    fn stamps() {
        let stamp = Stamp::from_words(999_999_999, 7, 0);

        assert_eq!(stamp.to_ns(), 7_999_999_999);
        // The upper half of the last word is reserved.
        assert_eq!(Stamp::from_words(0, 0, 0xffff_0001).seconds, 1u64 << 32);
    }

    #[test]
    fn errors() {
        assert!(RxHead::from(0x705f_0000).has_errors());
        // Fractions and lost carriers are no errors, nor is a multicast address.
        assert!(!RxHead::from(0x70b0_0040).has_errors());
        assert!(RxHead::from(0xc000_06be).is_empty());
        assert!(!RxHead::from(0x7000_06be).is_empty());
    }
    #[test]
    fn stamps_at_the_end_of_time() {
        // The last second of 48 bits is beyond what the stack has, and must not trap.
        let last = Stamp::from_words(999_999_999, u32::MAX, 0xffff);

        assert_eq!(last.seconds, (1u64 << 48) - 1);
        let _ = last.to_ns();
        // The year 2262.
        assert_eq!(
            Stamp::from_words(854_775_807, 0x25c1_7d04, 2).to_ns(),
            i64::MAX
        );
    }

    #[test]
    fn sizes_and_tags_stay_in_their_fields() {
        for size in [0u32, 1, 1518, 0xfff] {
            let bits = Bounded::<u32, 12>::from_expr(size & 0xfff);
            let head = TxHead::zeroed()
                .with_tag(Bounded::<u32, 10>::new::<0x3ff>())
                .with_kind(Kind::Single)
                .with_size(bits);

            assert_eq!(head.size().get(), size);
            assert_eq!(head.into_raw(), 0x703f_f000 | size);
            assert_eq!(RxHead::from(0xf0ff_f000 | size).size().get(), size);
        }
    }
}
