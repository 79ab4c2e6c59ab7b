// SPDX-License-Identifier: GPL-2.0

//! Buffers for received packets.
//!
//! A buffer is either the CPU's ([`CpuBuf`]: it can be read) or the device's ([`DeviceBuf`]: only
//! its address can be used). Going from one to the other synchronises the caches.
//!
//! Buffers come from a [`Source`]: a [page pool](super::page_pool), or [page
//! fragments](super::page_frags). A ring that is generic over its source is compiled once for each,
//! so that nothing is decided for a packet that was decided for the ring.

use core::{
    mem::ManuallyDrop,
    ptr::NonNull, //
};

use kernel::{
    dma::DmaAddress,
    prelude::*, //
};

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    },
    napi::{
        NapiGuard,
        Owner,
        RxContext, //
    },
    skb::Skb, //
};

/// What `build_skb` needs behind the data of a buffer.
pub const SKB_OVERHEAD: u32 = bindings::SKB_SHARED_INFO_SIZE as u32;

/// The size of a cache line of most cores, which are small.
const CACHE_LINE: usize = 64;

/// Has the caches fetch what is at an address, if the architecture can be asked to.
#[inline(always)]
pub(super) fn prefetch(address: *const u8) {
    #[cfg(CONFIG_ARM64)]
    // SAFETY: A hint, which has no other effect, whatever the address is.
    unsafe {
        core::arch::asm!(
            "prfm pldl1keep, [{}]",
            in(reg) address,
            options(nostack, readonly, preserves_flags)
        );
    }
    #[cfg(not(CONFIG_ARM64))]
    let _ = address;
}

/// What a buffer is to be like.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Its least size in bytes.
    pub size: u32,
    /// Where the device may write, and how many bytes. Caches are looked after there only.
    pub start: u32,
    /// See `start`.
    pub len: u32,
}

impl Layout {
    /// Checks that what the device writes to is within the size.
    pub(super) fn check(&self) -> Result {
        if self.start > self.size || self.len > self.size - self.start {
            return Err(EINVAL);
        }
        Ok(())
    }
}

pub(super) mod private {
    /// Implemented in this module's siblings only.
    pub trait Sealed {}
}

/// The buffers of a ring, of which a slot may have none.
pub type Slots<M> = KVVec<Option<DeviceBuf<M>>>;

/// Where buffers come from: the memory of one RX ring.
pub trait Source<'b>: private::Sealed + Send + Sized {
    /// What they are made of.
    type Memory: Memory;

    /// What allocates them, for as long as it may.
    type Allocator<'a>: Allocate<Self::Memory>
    where
        Self: 'a;

    /// Creates a source for an RX queue, and `count` buffers of it. Process context.
    ///
    /// The queue may be running with another source: what takes long or can fail is done here.
    fn with_buffers<T: Operations>(
        dev: &Device<'b, T>,
        queue: u32,
        count: u32,
        layout: Layout,
    ) -> Result<(Self, Slots<Self::Memory>)>;

    /// Makes the source that of a NAPI instance, once. Process context.
    fn adopt<T: Operations>(&mut self, guard: &NapiGuard<'_, 'b, T>);

    /// Returns what allocates buffers. `owner` must be that of the instance that has
    /// [adopted](Source::adopt) the source. Not under netpoll, which gives no `Owner`.
    fn allocator<'a>(
        &'a mut self,
        owner: &Owner<'a>,
        layout: Layout,
    ) -> Result<Self::Allocator<'a>>;

    /// Takes a buffer back, by the fastest way.
    fn recycle(&mut self, buffer: CpuBuf<Self::Memory>, cx: &RxContext<'_>);
}

/// The right to allocate buffers from a source, see [`Source::allocator`].
pub trait Allocate<M: Memory> {
    /// Allocates a buffer for the device.
    fn alloc(&mut self) -> Result<DeviceBuf<M>>;

    /// Allocates the buffers of a ring. Process context.
    fn fill(&mut self, count: u32) -> Result<Slots<M>> {
        let mut slots = KVVec::with_capacity(count as usize, GFP_KERNEL)?;

        for _ in 0..count {
            slots.push(Some(self.alloc()?), GFP_KERNEL)?;
        }
        Ok(slots)
    }
}

/// The memory of a buffer, which goes back to where it came from when it is dropped. The device
/// must have stopped using it then.
///
/// # Safety
///
/// A value owns the `size()` bytes at `data()`, of which those from `start()` to the end were
/// mapped for DMA at `dma_address()`, as far as they are the device's.
pub unsafe trait Memory: private::Sealed + Send {
    /// Whether the memory belongs to a page pool.
    const POOLED: bool;

    /// Returns where the memory begins.
    fn data(&self) -> NonNull<u8>;

    /// Returns the size of the memory.
    fn size(&self) -> u32;

    /// Returns where the device may write: at most `size()`.
    fn start(&self) -> u32;

    /// Returns the bus address of that.
    fn dma_address(&self) -> DmaAddress;

    /// Makes the first `len` bytes from `start()` on readable for the CPU.
    ///
    /// # Safety
    ///
    /// They must be within the memory.
    unsafe fn sync_for_cpu(&mut self, len: u32);

    /// Makes an skb around the memory, with `len` bytes at `start` as its linear part. If it is not
    /// null it has taken over the memory.
    ///
    /// # Safety
    ///
    /// The bytes, and [`SKB_OVERHEAD`] more, must be within the memory. Bottom halves are off, and
    /// interrupts are not.
    unsafe fn build_skb(&self, start: u32, len: u32) -> *mut bindings::sk_buff;

    /// Adds `len` bytes at `start` to an skb, as a fragment. The skb takes over the memory.
    ///
    /// # Safety
    ///
    /// The bytes must be within the memory, and the skb must be valid, have room, and be made of
    /// memory of the same source.
    #[inline]
    unsafe fn add_to(&self, skb: *mut bindings::sk_buff, start: u32, len: u32) {
        // SAFETY: Within the memory, by the safety requirements.
        let data = unsafe { self.data().add(start as usize) };

        // SAFETY: By the safety requirements, of the trait as well.
        unsafe { bindings::rnet_skb_add_rx_frag(skb, data.as_ptr().cast(), len, self.size()) };
    }
}

/// A buffer that the CPU may read.
///
/// # Invariants
///
/// `start + len` is at most the size of the memory, and that part is initialised. The device does
/// not write to it.
pub struct CpuBuf<M: Memory> {
    memory: M,
    start: u32,
    len: u32,
}

/// A buffer that the device may write to.
///
/// When it is dropped it goes back to its source: the device must have stopped using it.
pub struct DeviceBuf<M: Memory>(M);

impl<M: Memory> CpuBuf<M> {
    /// Returns where the received bytes are.
    #[inline(always)]
    pub(super) fn data(&self) -> NonNull<u8> {
        // SAFETY: By the type invariant this is within the memory, or its end.
        unsafe { self.memory.data().add(self.start as usize) }
    }

    /// Returns the received bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: By the type invariant.
        unsafe { core::slice::from_raw_parts(self.data().as_ptr(), self.len as usize) }
    }

    /// Has the caches fetch the first bytes, as many as the usual headers have (`net_prefetch`).
    ///
    /// They were made readable just before, which on devices that are not coherent means that they
    /// are in no cache: this pays if there is something else to be done first.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(self.data().as_ptr());
        // The second line, which may be behind the buffer: prefetching does no harm anywhere.
        prefetch(self.data().as_ptr().wrapping_add(CACHE_LINE));
    }

    /// Returns the number of received bytes.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the size of the buffer.
    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.memory.size()
    }

    /// Drops bytes at the end, down to `len`.
    #[inline]
    pub fn truncate(&mut self, len: u32) {
        // INVARIANT: Not more than before.
        self.len = self.len.min(len);
    }

    /// Returns whether there is room for [`SKB_OVERHEAD`] behind the bytes.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        // Does not overflow, by the type invariant.
        self.start.wrapping_add(self.len) <= self.size().saturating_sub(SKB_OVERHEAD)
    }

    /// Makes an skb around the buffer, with the received bytes as its linear part and what is
    /// before them as head room. [`SKB_OVERHEAD`] bytes at the end of the buffer must be free.
    ///
    /// Gives the buffer back if there is no memory or no room.
    #[inline]
    pub fn into_skb(self, _cx: &RxContext<'_>) -> Result<Skb, Self> {
        if !self.has_room() {
            return Err(self);
        }
        // SAFETY: By the type invariants, and there is room. We are in a poll that may receive.
        let skb = unsafe { self.memory.build_skb(self.start, self.len) };

        if skb.is_null() {
            return Err(self);
        }
        // The skb has taken over the memory.
        let _ = ManuallyDrop::new(self);
        // SAFETY: A new skb that is ours.
        Ok(unsafe { Skb::from_raw(skb) })
    }

    /// Adds the buffer to an skb.
    ///
    /// # Safety
    ///
    /// As for [`Memory::add_to`].
    #[inline]
    pub(super) unsafe fn add_to(self, skb: *mut bindings::sk_buff) {
        let this = ManuallyDrop::new(self);

        // SAFETY: By the type invariant and the safety requirements.
        unsafe { this.memory.add_to(skb, this.start, this.len) };
    }

    /// Returns where in the buffer the received bytes begin.
    #[inline(always)]
    pub(super) fn start(&self) -> u32 {
        self.start
    }

    /// Returns the memory.
    #[inline(always)]
    pub(super) fn memory(&self) -> &M {
        &self.memory
    }

    /// Returns the memory.
    #[inline]
    pub(super) fn into_memory(self) -> M {
        self.memory
    }
}

impl<M: Memory> DeviceBuf<M> {
    /// Makes a buffer of memory that is the device's.
    #[inline]
    pub(super) fn new(memory: M) -> Self {
        Self(memory)
    }

    /// Returns the bus address of where the device may write.
    #[inline(always)]
    pub fn dma_address(&self) -> DmaAddress {
        self.0.dma_address()
    }

    /// Returns the size of the buffer.
    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.0.size()
    }

    /// Takes the buffer back: the device has written `len` bytes.
    ///
    /// This is the device's word: what exceeds the buffer is cut off.
    #[inline]
    pub fn into_cpu(self, len: u32) -> CpuBuf<M> {
        let mut memory = self.0;
        let start = memory.start();
        let len = len.min(memory.size().saturating_sub(start));

        // SAFETY: The range is within the buffer.
        unsafe { memory.sync_for_cpu(len) };

        // INVARIANT: The part is within the memory. What was given to a device counts as
        // initialised.
        CpuBuf { memory, start, len }
    }
}
