// SPDX-License-Identifier: GPL-2.0

//! Page pools: buffers for received packets that are mapped once and go round.
//!
//! A buffer is either the CPU's ([`CpuBuf`]: it can be read) or the device's ([`DeviceBuf`]: only
//! its address can be used). Going from one to the other synchronises the caches.
//!
//! C headers: [`include/net/page_pool/types.h`](srctree/include/net/page_pool/types.h),
//! [`include/net/page_pool/helpers.h`](srctree/include/net/page_pool/helpers.h)

use core::{
    mem::ManuallyDrop,
    ptr::NonNull, //
};

use kernel::{
    dma::DmaAddress,
    error::from_err_ptr,
    prelude::*,
    sync::Arc, //
};

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    },
    napi::{
        Core,
        Owner,
        RxContext, //
    },
    skb::Skb, //
};

/// What `build_skb` needs behind the data of a buffer.
pub const SKB_OVERHEAD: u32 = bindings::SKB_SHARED_INFO_SIZE as u32;

/// A page pool, for the RX queue of one NAPI instance.
///
/// It should be dropped while that instance is disabled (the core warns otherwise). Buffers may
/// live longer.
///
/// # Invariants
///
/// `pool` is valid, and recycles directly in the polls of `napi`, whose owner therefore is the only
/// one to allocate from it.
pub struct PagePool {
    pool: NonNull<bindings::page_pool>,
    // Keeps the memory that the pool's `napi` points at.
    napi: Arc<Core>,
}

// SAFETY: A page pool may be used from any thread; what must not run concurrently needs `&mut self`
// and an `Owner`.
unsafe impl Send for PagePool {}

impl PagePool {
    /// Creates a pool of single pages, mapped for `dev` to write to, with a cache of `size` pages.
    ///
    /// Process context.
    pub fn new<T: Operations>(
        dev: &Device<'_, T>,
        owner: &Owner<'_>,
        queue: u32,
        size: u32,
    ) -> Result<Self> {
        let napi = owner.core_arc();
        // SAFETY: `dev` and its parent are valid; `napi` stays allocated as long as the pool.
        let pool = from_err_ptr(unsafe {
            bindings::rnet_page_pool_create(
                dev.parent_raw(),
                dev.as_raw(),
                napi.as_raw(),
                queue,
                size,
            )
        })?;

        // INVARIANT: Just created, for `napi`.
        Ok(Self {
            pool: NonNull::new(pool).ok_or(ENOMEM)?,
            napi,
        })
    }

    /// Allocates a buffer for the device; several may share a page.
    ///
    /// `owner` must be that of the pool's NAPI instance. Not under netpoll, which gives no `Owner`.
    #[inline]
    pub fn alloc(&mut self, owner: &Owner<'_>, layout: Layout) -> Result<DeviceBuf> {
        self.allocator(owner, layout)?.alloc()
    }

    /// Returns what allocates buffers, for those who want many: see [`alloc`](PagePool::alloc).
    #[inline]
    pub fn allocator<'a>(&'a mut self, owner: &Owner<'a>, layout: Layout) -> Result<Allocator<'a>> {
        if !core::ptr::eq(owner.core(), &*self.napi) {
            return Err(EINVAL);
        }
        if layout.start > layout.size || layout.len > layout.size - layout.start {
            return Err(EINVAL);
        }
        // INVARIANT: Just checked.
        Ok(Allocator {
            pool: self,
            layout,
            gfp: owner.gfp(),
        })
    }
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

/// The right to allocate from a pool, see [`PagePool::allocator`].
///
/// # Invariants
///
/// It was made by the owner of the NAPI instance of `pool`, who cannot give that up as long as the
/// lifetime lasts. What the device writes to is within the size.
pub struct Allocator<'a> {
    pool: &'a mut PagePool,
    layout: Layout,
    gfp: bindings::gfp_t,
}

impl Allocator<'_> {
    /// As [`PagePool::alloc`].
    #[inline]
    pub fn alloc(&mut self) -> Result<DeviceBuf> {
        let mut offset = 0;
        let mut size = self.layout.size;
        let mut address = 0;

        // SAFETY: `pool` is valid. Allocations are not concurrent to each other (`&mut`), nor to
        // direct recycling, which happens in polls of the same NAPI instance only, of which we have
        // the owner by the type invariant.
        let data = unsafe {
            bindings::rnet_page_pool_alloc(
                self.pool.pool.as_ptr(),
                &mut offset,
                &mut size,
                &mut address,
                self.layout.start,
                self.layout.len,
                self.gfp,
            )
        };

        // INVARIANT: A new fragment of a page of a pool that maps its pages, and its bus address;
        // it was synchronised for the device.
        Ok(DeviceBuf(Fragment {
            data: NonNull::new(data.cast()).ok_or(ENOMEM)?,
            address,
            size,
        }))
    }
}

impl Drop for PagePool {
    fn drop(&mut self) {
        // SAFETY: `pool` is valid, and nobody allocates from it any more. The pool itself waits for
        // the buffers that are still out.
        unsafe { bindings::page_pool_destroy(self.pool.as_ptr()) };
    }
}

/// # Invariants
///
/// Owns the `size` bytes at `data`, a fragment of a page that belongs to a page pool and is mapped
/// for DMA, there with the bus address `address`.
struct Fragment {
    data: NonNull<u8>,
    address: DmaAddress,
    size: u32,
}

/// The parts of a buffer, for `skb.rs`.
pub(super) struct Parts {
    /// Where the received bytes are, and how many.
    pub(super) data: NonNull<u8>,
    pub(super) len: u32,
    /// The size of the buffer.
    pub(super) size: u32,
}

// SAFETY: Fragments may be handed from one CPU to another, and given back from any context.
unsafe impl Send for Fragment {}

impl Drop for Fragment {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant the fragment is ours.
        unsafe { bindings::rnet_page_pool_put(self.data.as_ptr().cast()) };
    }
}

/// A buffer that the CPU may read.
///
/// # Invariants
///
/// `start + len` is at most the size of the fragment, and that part is initialised. The device does
/// not write to it.
pub struct CpuBuf {
    fragment: Fragment,
    start: u32,
    len: u32,
}

/// A buffer that the device may write to.
///
/// When it is dropped it goes back to its pool: the device must have stopped using it.
pub struct DeviceBuf(Fragment);

impl CpuBuf {
    /// Gives the whole buffer to the device.
    #[inline]
    pub fn into_device(self) -> DeviceBuf {
        let fragment = self.fragment;

        // SAFETY: By the type invariant of the fragment.
        unsafe {
            bindings::rnet_page_pool_sync_for_device(
                fragment.data.as_ptr().cast(),
                fragment.address,
                fragment.size,
            )
        };
        DeviceBuf(fragment)
    }

    /// Returns where the received bytes are.
    #[inline(always)]
    fn data(&self) -> NonNull<u8> {
        // SAFETY: By the type invariant this is within the fragment, or its end.
        unsafe { self.fragment.data.add(self.start as usize) }
    }

    /// Returns the received bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: By the type invariant.
        unsafe { core::slice::from_raw_parts(self.data().as_ptr(), self.len as usize) }
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
        self.fragment.size
    }

    /// Drops bytes at the end, down to `len`.
    #[inline]
    pub fn truncate(&mut self, len: u32) {
        // INVARIANT: Not more than before.
        self.len = self.len.min(len);
    }

    /// Makes an skb around the buffer, with the received bytes as its linear part and what is
    /// before them as head room. [`SKB_OVERHEAD`] bytes at the end of the buffer must be free.
    ///
    /// Gives the buffer back if there is no memory or no room.
    #[inline]
    pub fn into_skb(self, _cx: &RxContext<'_>) -> Result<Skb, CpuBuf> {
        let size = self.fragment.size;

        // Does not overflow, by the type invariant.
        if self.start.wrapping_add(self.len) > size.saturating_sub(SKB_OVERHEAD) {
            return Err(self);
        }
        let data = self.fragment.data.as_ptr().cast();
        // SAFETY: By the type invariants. We are in a poll that may receive, where
        // `napi_build_skb` may be used. There is room for `skb_shared_info`.
        let skb = unsafe { bindings::rnet_napi_build_skb(data, size, self.start, self.len) };

        if skb.is_null() {
            return Err(self);
        }
        // The skb has taken over the buffer.
        let _ = ManuallyDrop::new(self);
        // SAFETY: A new skb that is ours.
        Ok(unsafe { Skb::from_raw(skb) })
    }

    /// Gives the buffer back to its pool, by the fast way.
    #[inline]
    pub fn recycle(self, pool: &mut PagePool, cx: &RxContext<'_>) {
        if !core::ptr::eq(cx.owner().core(), &*pool.napi) {
            // Not our poll: the slow way.
            return;
        }
        let data = ManuallyDrop::new(self).fragment.data;

        // SAFETY: By the type invariant the fragment is ours. We are in a poll of the pool's NAPI
        // instance, and nobody allocates now (`&mut`). The helper goes the slow way if the
        // buffer belongs to another pool.
        unsafe { bindings::rnet_page_pool_recycle(pool.pool.as_ptr(), data.as_ptr().cast()) };
    }

    /// Gives up the buffer, to C.
    #[inline]
    pub(super) fn into_parts(self) -> Parts {
        let this = ManuallyDrop::new(self);

        Parts {
            data: this.data(),
            len: this.len,
            size: this.fragment.size,
        }
    }
}

impl DeviceBuf {
    /// Returns the bus address of the buffer.
    #[inline(always)]
    pub fn dma_address(&self) -> DmaAddress {
        self.0.address
    }

    /// Returns the size of the buffer.
    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.0.size
    }

    /// Takes the buffer back: the device has written `len` bytes at `start`.
    ///
    /// Both are the device's word: what exceeds the buffer is cut off.
    #[inline]
    pub fn into_cpu(self, start: u32, len: u32) -> CpuBuf {
        let fragment = self.0;
        let start = start.min(fragment.size);
        let len = len.min(fragment.size - start);

        // SAFETY: By the type invariant, and the range is within the buffer.
        unsafe {
            bindings::rnet_page_pool_sync_for_cpu(
                fragment.data.as_ptr().cast(),
                fragment.address.wrapping_add(start.into()),
                len,
            )
        };

        // INVARIANT: The part is within the fragment. Memory that was given to a device counts as
        // initialised.
        CpuBuf {
            fragment,
            start,
            len,
        }
    }
}
