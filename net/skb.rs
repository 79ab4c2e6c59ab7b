// SPDX-License-Identifier: GPL-2.0

//! Packets.
//!
//! C header: [`include/linux/skbuff.h`](srctree/include/linux/skbuff.h)

use core::{
    mem::ManuallyDrop,
    ptr::NonNull, //
};

use kernel::{
    device::{
        self,
        Bound, //
    },
    dma::DmaAddress,
    error::to_result,
    prelude::*, //
};

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    },
    dma::{
        Mapping,
        ToDevice, //
    },
    napi::{
        Context,
        RxContext, //
    },
    rx_buffer::{
        CpuBuf,
        Memory, //
    }, //
};

/// A packet that must be given to someone.
///
/// It can't go out of scope: it ends in [`RxContext::receive`], [`consume`](Skb::consume),
/// [`drop_reason`](Skb::drop_reason), [`into_tx`](Skb::into_tx) or
/// [`Xmit::Busy`](super::Xmit::Busy). Where it would be dropped the module does not link, with
/// `skb_must_be_consumed__see_net_skb_rs` undefined; `objdump -dr` of the object file shows the
/// function. (This is how the kernel's `build_error!` works, and like it, it relies on the compiler
/// removing what cannot happen. The kernel crate's `RUST_BUILD_ASSERT_ALLOW` turns it into a
/// run-time warning.)
///
/// # Invariants
///
/// Points at a valid `struct sk_buff`, of which this is the owner: nobody else changes it.
#[repr(transparent)]
#[must_use = "a packet has to be sent, received, consumed or dropped"]
pub struct Skb(NonNull<bindings::sk_buff>);

// SAFETY: An skb may be handed from one CPU to another.
unsafe impl Send for Skb {}

impl Drop for Skb {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(not(CONFIG_RUST_BUILD_ASSERT_ALLOW))]
        {
            extern "C" {
                fn skb_must_be_consumed__see_net_skb_rs();
            }
            // SAFETY: The function does not exist: there is no program in which it is called.
            unsafe { skb_must_be_consumed__see_net_skb_rs() };
        }
        #[cfg(CONFIG_RUST_BUILD_ASSERT_ALLOW)]
        {
            kernel::warn_on!(true);
            // SAFETY: By the type invariant this is our skb.
            unsafe {
                bindings::dev_kfree_skb_any_reason(self.0.as_ptr(), DropReason::NotSpecified as u32)
            };
        }
    }
}

/// Why a packet was dropped, for `drop_monitor` and the `skb:kfree_skb` tracepoint.
#[repr(u32)]
#[derive(Copy, Clone, Debug)]
pub enum DropReason {
    /// No better reason.
    NotSpecified = bindings::skb_drop_reason_SKB_DROP_REASON_NOT_SPECIFIED,
    /// No memory.
    NoMem = bindings::skb_drop_reason_SKB_DROP_REASON_NOMEM,
    /// A checksum could not be computed or was wrong.
    Checksum = bindings::skb_drop_reason_SKB_DROP_REASON_SKB_CSUM,
    /// The packet is too large.
    TooBig = bindings::skb_drop_reason_SKB_DROP_REASON_PKT_TOO_BIG,
    /// The packet is too small.
    TooSmall = bindings::skb_drop_reason_SKB_DROP_REASON_PKT_TOO_SMALL,
    /// The device is not ready.
    DevReady = bindings::skb_drop_reason_SKB_DROP_REASON_DEV_READY,
    /// The ring is full.
    FullRing = bindings::skb_drop_reason_SKB_DROP_REASON_FULL_RING,
}

/// Where a checksum is to be computed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ChecksumPlace {
    /// Where the sum begins, at a transport header; it goes to the end of the packet.
    pub start: usize,
    /// Where it is written, from there.
    pub offset: usize,
}

impl Skb {
    /// Takes over an skb.
    ///
    /// # Safety
    ///
    /// `skb` must be valid, and the caller's to give away.
    #[inline(always)]
    pub(super) unsafe fn from_raw(skb: *mut bindings::sk_buff) -> Self {
        // SAFETY: A valid skb is not null.
        Self(unsafe { NonNull::new_unchecked(skb) })
    }

    /// Gives up ownership, to C.
    #[inline(always)]
    pub(super) fn into_raw(self) -> *mut bindings::sk_buff {
        ManuallyDrop::new(self).0.as_ptr()
    }

    #[inline(always)]
    fn as_raw(&self) -> *mut bindings::sk_buff {
        self.0.as_ptr()
    }

    /// Returns the number of bytes, from the Ethernet header (TX), or from where
    /// [`eth_type_trans`](Skb::eth_type_trans) has left it (RX).
    #[inline(always)]
    pub fn len(&self) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { (*self.as_raw()).len }
    }

    /// Returns whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many bytes are in page fragments.
    #[inline(always)]
    pub fn frags_len(&self) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { (*self.as_raw()).data_len }
    }

    /// Returns the bytes in the linear part.
    ///
    /// In `start_xmit` clones of the packet may share them; nobody may change them then.
    #[inline(always)]
    pub fn linear(&self) -> &[u8] {
        // The linear part is what is not in fragments (`skb_headlen`).
        let len = self.len().wrapping_sub(self.frags_len()) as usize;

        // SAFETY: By the type invariant; `data` has that many bytes in its linear part. Shared data
        // is not written (Documentation/networking/skbuff.rst).
        unsafe { core::slice::from_raw_parts((*self.as_raw()).data, len) }
    }

    /// Copies bytes from anywhere in the packet.
    pub fn copy_bits(&self, offset: u32, to: &mut [u8]) -> Result {
        let offset = c_int::try_from(offset)?;
        let len = c_int::try_from(to.len())?;

        // SAFETY: By the type invariant; `to` has room for `len` bytes; the function checks the
        // range within the packet.
        to_result(unsafe {
            bindings::skb_copy_bits(self.as_raw(), offset, to.as_mut_ptr().cast(), len)
        })
    }

    /// Returns the TX queue that the packet is for.
    #[inline(always)]
    pub fn queue_mapping(&self) -> u16 {
        // SAFETY: By the type invariant.
        unsafe { (*self.as_raw()).queue_mapping }
    }

    /// Returns the EtherType, in host order.
    #[inline]
    pub fn protocol(&self) -> u16 {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_skb_protocol(self.as_raw()) }
    }

    /// Returns where the network header begins.
    #[inline]
    pub fn network_offset(&self) -> Option<usize> {
        // SAFETY: By the type invariant.
        usize::try_from(unsafe { bindings::rnet_skb_network_offset(self.as_raw()) }).ok()
    }

    /// Returns the place of the checksum that is to be computed by the device
    /// (`CHECKSUM_PARTIAL`), if one is.
    ///
    /// A device that finds headers by itself has to compare: the place need not be where it would
    /// look, even in a frame that has all the headers that it knows.
    #[inline]
    pub fn checksum_place(&self) -> Option<ChecksumPlace> {
        // SAFETY: By the type invariant.
        let start = unsafe { bindings::rnet_skb_csum_start(self.as_raw()) };
        // Negative if there is none.
        let start = usize::try_from(start).ok()?;
        // SAFETY: By the type invariant.
        let offset = unsafe { bindings::rnet_skb_csum_offset(self.as_raw()) };

        Some(ChecksumPlace {
            start,
            offset: offset.into(),
        })
    }

    /// Computes the checksum in software (`skb_checksum_help`). `start_xmit` context.
    pub fn checksum_help(&mut self) -> Result {
        // SAFETY: By the type invariant.
        to_result(unsafe { bindings::skb_checksum_help(self.as_raw()) })
    }

    /// Marks the checksums of a received packet as verified (`CHECKSUM_UNNECESSARY`).
    #[inline]
    pub fn set_checksum_unnecessary(&mut self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_skb_csum_unnecessary(self.as_raw()) };
    }

    /// Gives the one's complement sum of a received packet, from behind the Ethernet header
    /// (`CHECKSUM_COMPLETE`), as bytes in network order read as a native integer.
    #[inline]
    pub fn set_checksum_complete(&mut self, sum: u32) {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_skb_csum_complete(self.as_raw(), sum) };
    }

    /// Sets the protocol of a received packet, and removes the Ethernet header, which may be in any
    /// of its parts. Fails if there is none.
    #[inline]
    pub fn eth_type_trans<T: Operations>(&mut self, dev: &Device<'_, T>) -> Result {
        // SAFETY: By the type invariant, and `dev` is valid. The helper looks that there is a
        // header.
        if unsafe { bindings::rnet_eth_type_trans(self.as_raw(), dev.as_raw()) } {
            Ok(())
        } else {
            Err(EINVAL)
        }
    }

    /// Makes the packet at least `len` bytes long, with zeroes.
    #[inline]
    pub fn pad_to(&mut self, len: u32) -> Result {
        if self.len() >= len {
            return Ok(());
        }

        // SAFETY: By the type invariant; on failure the skb is not freed.
        to_result(unsafe { bindings::rnet_skb_put_padto(self.as_raw(), len) })
    }

    /// Cuts the packet to `len` bytes, which may be in any of its parts. A longer `len` changes
    /// nothing.
    pub fn trim(&mut self, len: u32) -> Result {
        if len >= self.len() {
            return Ok(());
        }

        // SAFETY: By the type invariant, and `len` is shorter than the packet, which is not shared
        // (we own it, and cloned data is copied by the function).
        to_result(unsafe { bindings::___pskb_trim(self.as_raw(), len) })
    }

    /// Moves all data into the linear part.
    pub fn linearize(&mut self) -> Result {
        // SAFETY: By the type invariant.
        to_result(unsafe { bindings::rnet_skb_linearize(self.as_raw()) })
    }

    /// Appends bytes to the linear part of a packet from [`RxContext::alloc_skb`].
    pub fn append(&mut self, bytes: &[u8]) -> Result {
        let skb = self.as_raw();

        // SAFETY: By the type invariant.
        if bytes.len() > unsafe { bindings::rnet_skb_tailroom(skb) } as usize {
            return Err(ENOSPC);
        }
        // CAST: The tail room, which is an `unsigned int`, is no less.
        //
        // SAFETY: By the type invariant, and there is room. The tail room of a nonlinear skb is 0.
        let to = unsafe { bindings::skb_put(skb, bytes.len() as c_uint) };

        // SAFETY: `skb_put` has returned that much of our own memory.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast::<u8>(), bytes.len()) };
        Ok(())
    }

    /// Returns the number of page fragments.
    #[inline]
    pub fn nr_frags(&self) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_skb_nr_frags(self.as_raw()) }
    }

    /// Adds a received buffer as a fragment.
    ///
    /// The packet must come from a source of the same kind ([`CpuBuf::into_skb`]), so that both are
    /// given back in the same way. Gives the buffer back if it does not, or if there is no room.
    #[inline]
    pub fn add_frag<M: Memory>(
        &mut self,
        buffer: CpuBuf<M>,
        _cx: &RxContext<'_>,
    ) -> Result<(), CpuBuf<M>> {
        // SAFETY: By the type invariant.
        if !unsafe { bindings::rnet_skb_frag_fits(self.as_raw(), M::POOLED) } {
            return Err(buffer);
        }
        // SAFETY: By the type invariant; the skb has room and takes over the buffer, which will be
        // given back as its own memory is: just checked.
        unsafe { buffer.add_to(self.as_raw()) };
        Ok(())
    }

    /// Returns whether a hardware time stamp is wanted.
    #[inline]
    pub fn wants_hw_tstamp(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_skb_hw_tstamp_wanted(self.as_raw()) }
    }

    /// Announces that a hardware time stamp will be given.
    #[inline]
    pub fn begin_hw_tstamp(&mut self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_skb_hw_tstamp_begin(self.as_raw()) };
    }

    /// Takes the software time stamp, if one is wanted: as late as possible before sending.
    #[inline]
    pub fn tx_timestamp(&mut self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_skb_tx_timestamp(self.as_raw()) };
    }

    /// Gives the time at which the packet was received by the hardware.
    #[inline]
    pub fn set_hw_tstamp(&mut self, nsecs: i64) {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_skb_set_hwtstamp(self.as_raw(), nsecs) };
    }

    /// Drops the packet. Any context.
    #[inline]
    pub fn drop_reason(self, reason: DropReason) {
        // SAFETY: By the type invariant it is ours.
        unsafe { bindings::dev_kfree_skb_any_reason(self.into_raw(), reason as u32) };
    }

    /// Frees the packet, which was delivered. Any context.
    #[inline]
    pub fn consume(self) {
        // SAFETY: By the type invariant it is ours.
        unsafe {
            bindings::dev_kfree_skb_any_reason(
                self.into_raw(),
                bindings::skb_drop_reason_SKB_CONSUMED,
            )
        };
    }

    /// Maps the packet for sending, all but the first `skip` bytes (which a device with alignment
    /// rules gets by other means).
    ///
    /// Gives the packet back if it cannot be mapped, or has fragments: see
    /// [`linearize`](Skb::linearize), or do not offer scatter/gather.
    #[inline]
    pub fn into_tx<'b>(
        self,
        dev: &'b device::Device<Bound>,
        skip: u32,
    ) -> Result<TxSkb<'b>, (Error, Skb)> {
        if self.frags_len() != 0 {
            return Err((EINVAL, self));
        }
        let Some(data) = self.linear().get(skip as usize..) else {
            return Err((EINVAL, self));
        };
        if data.is_empty() {
            return Err((EINVAL, self));
        }
        let Ok(len) = u32::try_from(data.len()) else {
            return Err((EINVAL, self));
        };
        // SAFETY: The memory belongs to the skb, which lives and is not changed as long as the
        // mapping: `TxSkb` owns both and drops the mapping first.
        let mapping = match unsafe { Mapping::new(dev, NonNull::from(data).cast(), len) } {
            Ok(mapping) => mapping,
            Err(e) => return Err((e, self)),
        };
        let len = self.len();

        Ok(TxSkb {
            mapping,
            skb: PurgeOnDrop(ManuallyDrop::new(self)),
            len,
        })
    }
}

/// A packet that the TX ring owns, mapped for the device.
///
/// When it is dropped, as happens when a ring with packets in flight is purged, the packet is
/// unmapped and counted as dropped. The device must have stopped using it.
pub struct TxSkb<'b> {
    // Dropped first.
    mapping: Mapping<'b, ToDevice>,
    skb: PurgeOnDrop,
    len: u32,
}

struct PurgeOnDrop(ManuallyDrop<Skb>);

impl Drop for PurgeOnDrop {
    fn drop(&mut self) {
        // SAFETY: The skb is ours, and taken out of `self` only by `TxSkb`, which forgets it then.
        unsafe {
            bindings::dev_kfree_skb_any_reason(self.0.as_raw(), DropReason::NotSpecified as u32)
        };
    }
}

impl TxSkb<'_> {
    /// Returns the bus address of the mapped part.
    #[inline(always)]
    pub fn dma_address(&self) -> DmaAddress {
        self.mapping.address()
    }

    /// Returns the number of mapped bytes.
    #[inline(always)]
    pub fn mapped_len(&self) -> u32 {
        self.mapping.len()
    }

    /// Returns the length of the packet, with what was skipped.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether the packet is empty, which it is not.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns what can report the time at which the hardware has sent the packet, also when the
    /// packet itself is gone. It was [announced](Skb::begin_hw_tstamp) before.
    #[inline]
    pub fn wait_for_stamp(&self) -> StampWaiter {
        // SAFETY: The skb is ours.
        let skb = unsafe { bindings::rnet_skb_get(self.skb.0.as_raw()) };

        // INVARIANT: A reference was taken.
        //
        // SAFETY: An skb is not null.
        StampWaiter(unsafe { NonNull::new_unchecked(skb) })
    }

    /// As [`complete`](TxSkb::complete), where there is no poll. Any context; fastest with bottom
    /// halves off, as in `start_xmit`.
    #[inline]
    pub fn consume(self) -> u32 {
        let Self { mapping, skb, len } = self;

        drop(mapping);
        let skb = ManuallyDrop::new(skb).0.as_raw();
        // SAFETY: The skb is ours, and not dropped otherwise.
        unsafe { bindings::rnet_skb_consume(skb) };
        len
    }

    /// Ends the life of a packet that was sent: unmaps and frees it. Returns its length.
    #[inline]
    pub fn complete(self, cx: Context<'_>) -> u32 {
        let Self { mapping, skb, len } = self;

        drop(mapping);
        let skb = ManuallyDrop::new(skb).0.as_raw();
        // SAFETY: The skb is ours, and not dropped otherwise. The budget is the one of the poll
        // that we are in, which `cx` proves.
        unsafe { bindings::napi_consume_skb(skb, cx.raw_budget()) };
        len
    }
}

/// A sent packet that waits for its hardware time stamp.
///
/// It holds the packet, and with it memory of the sender's socket: one whose stamp does not come
/// must be dropped after some time. Any context.
///
/// # Invariants
///
/// Owns a reference to an skb.
pub struct StampWaiter(NonNull<bindings::sk_buff>);

// SAFETY: References may be dropped, and stamps reported, on any CPU.
unsafe impl Send for StampWaiter {}

impl StampWaiter {
    /// Reports the stamp, in nanoseconds, to whoever has asked for it.
    pub fn report(self, nsecs: i64) {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_skb_tstamp_tx(self.0.as_ptr(), nsecs) };
    }
}

impl Drop for StampWaiter {
    fn drop(&mut self) {
        // SAFETY: By the type invariant. The packet itself was sent, or is accounted for by
        // `TxSkb`.
        unsafe {
            bindings::dev_kfree_skb_any_reason(
                self.0.as_ptr(),
                bindings::skb_drop_reason_SKB_CONSUMED,
            )
        };
    }
}
