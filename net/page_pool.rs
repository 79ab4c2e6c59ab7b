// SPDX-License-Identifier: GPL-2.0

//! Page pools: buffers for received packets that are mapped once and go round.
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
        NapiGuard,
        Owner,
        RxContext, //
    },
    rx_buffer::{
        private::Sealed,
        Allocate,
        CpuBuf,
        DeviceBuf,
        Layout,
        Memory,
        Slots,
        Source, //
    }, //
};

/// How all memory for pools is allocated, in any context.
///
/// Where sleeping is allowed the pool itself must not do it: it keeps its mapped pages in an XArray
/// that it locks against softirqs, and the XArray, which does not know that, would sleep with them
/// disabled.
const GFP: bindings::gfp_t = bindings::GFP_ATOMIC | bindings::__GFP_NOWARN;

/// A page pool, for the RX queue of one NAPI instance.
///
/// Once it is [adopted](Source::adopt) it should be dropped while that instance is disabled (the
/// core warns otherwise). Buffers may live longer.
///
/// # Invariants
///
/// `pool` is valid. If there is a `napi` the pool recycles directly in its polls, and its owner is
/// the only one to allocate. Otherwise it recycles nothing directly.
pub struct PagePool {
    pool: NonNull<bindings::page_pool>,
    // Keeps the memory that the pool's `napi` points at.
    napi: Option<Arc<Core>>,
}

// SAFETY: A page pool may be used from any thread; what must not run concurrently needs `&mut self`
// and an `Owner`.
unsafe impl Send for PagePool {}

impl PagePool {
    /// Creates a pool of single pages, mapped for `dev`, with a cache of `size` pages.
    fn new<T: Operations>(
        dev: &Device<'_, T>,
        queue: u32,
        size: u32,
        direction: bindings::dma_data_direction,
    ) -> Result<Self> {
        // SAFETY: `dev` and its parent are valid.
        let pool = from_err_ptr(unsafe {
            bindings::rnet_page_pool_create(dev.parent_raw(), dev.as_raw(), queue, size, direction)
        })?;

        // INVARIANT: Just created, for no NAPI instance.
        Ok(Self {
            pool: NonNull::new(pool).ok_or(ENOMEM)?,
            napi: None,
        })
    }

    /// Returns whether the pool belongs to the NAPI instance of `owner`.
    #[inline]
    pub(super) fn is_owned_by(&self, owner: &Owner<'_>) -> bool {
        self.napi
            .as_ref()
            .is_some_and(|napi| core::ptr::eq(owner.core(), &**napi))
    }

    /// Returns the C pool.
    #[inline(always)]
    pub(super) fn as_raw(&self) -> *mut bindings::page_pool {
        self.pool.as_ptr()
    }

    /// As [`Source::with_buffers`], for a device that also sends what is in the buffers.
    pub fn with_two_way_buffers<T: Operations>(
        dev: &Device<'_, T>,
        queue: u32,
        count: u32,
        layout: Layout,
    ) -> Result<(Self, Slots<Pooled>)> {
        let both = bindings::dma_data_direction::DMA_BIDIRECTIONAL;

        Self::filled(dev, queue, count, layout, both)
    }

    fn filled<T: Operations>(
        dev: &Device<'_, T>,
        queue: u32,
        count: u32,
        layout: Layout,
        direction: bindings::dma_data_direction,
    ) -> Result<(Self, Slots<Pooled>)> {
        layout.check()?;
        let mut pool = Self::new(dev, queue, count, direction)?;
        // INVARIANT: The layout was just checked. The pool is new, and all its buffers are here:
        // nobody else allocates or recycles.
        let buffers = Allocator {
            pool: &mut pool,
            layout,
        }
        .fill(count)?;

        Ok((pool, buffers))
    }
}

impl Sealed for PagePool {}

impl<'b> Source<'b> for PagePool {
    type Memory = Pooled;
    type Allocator<'a> = Allocator<'a>;

    fn with_buffers<T: Operations>(
        dev: &Device<'b, T>,
        queue: u32,
        count: u32,
        layout: Layout,
    ) -> Result<(Self, Slots<Pooled>)> {
        let direction = bindings::dma_data_direction::DMA_FROM_DEVICE;

        Self::filled(dev, queue, count, layout, direction)
    }

    fn adopt<T: Operations>(&mut self, guard: &NapiGuard<'_, 'b, T>) {
        if self.napi.is_some() {
            return;
        }
        let napi = guard.core_arc();

        // SAFETY: `pool` is valid and has no instance; `napi` stays allocated as long as the pool.
        unsafe {
            bindings::page_pool_enable_direct_recycling(self.pool.as_ptr(), napi.as_raw());
        }
        // INVARIANT: From here on allocations need the owner of this instance, which is disabled.
        self.napi = Some(napi);
    }

    #[inline]
    fn allocator<'a>(&'a mut self, owner: &Owner<'a>, layout: Layout) -> Result<Allocator<'a>> {
        if !self.is_owned_by(owner) {
            return Err(EINVAL);
        }
        layout.check()?;
        // INVARIANT: Just checked.
        Ok(Allocator { pool: self, layout })
    }

    #[inline]
    fn recycle(&mut self, buffer: CpuBuf<Pooled>, cx: &RxContext<'_>) {
        let memory = buffer.into_memory();

        if !self.is_owned_by(&cx.owner()) {
            // Not our poll: the slow way.
            return;
        }
        let data = ManuallyDrop::new(memory).data;

        // SAFETY: By the type invariant the fragment is ours. We are in a poll of the pool's NAPI
        // instance, and nobody allocates now (`&mut`). The helper goes the slow way if the
        // buffer belongs to another pool.
        unsafe { bindings::rnet_page_pool_recycle(self.pool.as_ptr(), data.as_ptr().cast()) };
    }
}

/// The right to allocate from a pool.
///
/// # Invariants
///
/// Nobody else allocates from `pool`, nor recycles directly, as long as the lifetime lasts. What
/// the device writes to is within the size.
pub struct Allocator<'a> {
    pool: &'a mut PagePool,
    layout: Layout,
}

impl Allocate<Pooled> for Allocator<'_> {
    /// Several buffers may share a page.
    #[inline]
    fn alloc(&mut self) -> Result<DeviceBuf<Pooled>> {
        let mut offset = 0;
        let mut size = self.layout.size;
        let mut address = 0;

        // SAFETY: `pool` is valid. Allocations are not concurrent to each other (`&mut`), nor to
        // direct recycling, by the type invariant.
        let data = unsafe {
            bindings::rnet_page_pool_alloc(
                self.pool.pool.as_ptr(),
                &mut offset,
                &mut size,
                &mut address,
                self.layout.start,
                self.layout.len,
                GFP,
            )
        };

        // INVARIANT: A new fragment of a page of a pool that maps its pages; it was synchronised
        // for the device, and has at least the size that was asked for.
        Ok(DeviceBuf::new(Pooled {
            data: NonNull::new(data.cast()).ok_or(ENOMEM)?,
            address,
            size,
            start: self.layout.start,
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

/// A fragment of a page of a page pool.
///
/// # Invariants
///
/// Owns the `size` bytes at `data`, a fragment of a page that belongs to a page pool and is mapped
/// for DMA, from `start` on with the bus address `address`. `start` is at most `size`.
pub struct Pooled {
    data: NonNull<u8>,
    address: DmaAddress,
    size: u32,
    start: u32,
}

// SAFETY: Fragments may be handed from one CPU to another, and given back from any context.
unsafe impl Send for Pooled {}

impl Sealed for Pooled {}

// SAFETY: By the type invariant.
unsafe impl Memory for Pooled {
    const POOLED: bool = true;

    #[inline(always)]
    fn data(&self) -> NonNull<u8> {
        self.data
    }

    #[inline(always)]
    fn size(&self) -> u32 {
        self.size
    }

    #[inline(always)]
    fn start(&self) -> u32 {
        self.start
    }

    #[inline(always)]
    fn dma_address(&self) -> DmaAddress {
        self.address
    }

    #[inline]
    unsafe fn sync_for_cpu(&mut self, len: u32) {
        // SAFETY: By the type invariant and the safety requirement.
        unsafe {
            bindings::rnet_page_pool_sync_for_cpu(self.data.as_ptr().cast(), self.address, len)
        };
    }

    #[inline]
    unsafe fn build_skb(&self, start: u32, len: u32) -> *mut bindings::sk_buff {
        // SAFETY: By the type invariant and the safety requirements.
        unsafe { bindings::rnet_napi_build_skb(self.data.as_ptr().cast(), self.size, start, len) }
    }
}

impl Pooled {
    /// Gives the memory to the device again. The CPU may have written to `len` bytes from `start`
    /// on, as far as there are so many.
    #[inline]
    pub(super) fn into_device(self, len: u32) -> DeviceBuf<Pooled> {
        let len = len.min(self.size - self.start);

        // SAFETY: By the type invariant, and the range is within the fragment.
        unsafe {
            bindings::rnet_page_pool_sync_for_device(self.data.as_ptr().cast(), self.address, len)
        };
        DeviceBuf::new(self)
    }
}

impl Drop for Pooled {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant the fragment is ours.
        unsafe { bindings::rnet_page_pool_put(self.data.as_ptr().cast()) };
    }
}
