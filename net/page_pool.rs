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

    /// Allocates a buffer of at least `size` bytes for the device; several may share a page.
    ///
    /// `owner` must be that of the pool's NAPI instance. Not under netpoll, which gives no `Owner`.
    #[inline]
    pub fn alloc(&mut self, owner: &Owner<'_>, size: u32) -> Result<DeviceBuf> {
        if !core::ptr::eq(owner.core(), &*self.napi) {
            return Err(EINVAL);
        }
        let mut offset = 0;
        let mut real_size = size;
        let mut address = 0;

        // SAFETY: `pool` is valid. Allocations are not concurrent to each other (`&mut self`), nor
        // to direct recycling, which happens in polls of the same NAPI instance only, and we are
        // its owner.
        let page = unsafe {
            bindings::rnet_page_pool_alloc(
                self.pool.as_ptr(),
                &mut offset,
                &mut real_size,
                &mut address,
                owner.gfp(),
            )
        };

        // INVARIANT: A new fragment of a page of a pool that maps its pages, and its bus address;
        // it was synchronised for the device.
        Ok(DeviceBuf {
            fragment: Fragment {
                page: NonNull::new(page).ok_or(ENOMEM)?,
                offset,
                size: real_size,
            },
            address,
        })
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
/// Owns the fragment of `size` bytes at `offset` of `page`, which belongs to a page pool and is
/// mapped for DMA.
struct Fragment {
    page: NonNull<bindings::page>,
    offset: u32,
    size: u32,
}

/// The parts of a buffer, for `skb.rs`.
pub(super) struct Parts {
    pub(super) page: NonNull<bindings::page>,
    pub(super) offset: u32,
    pub(super) size: u32,
    pub(super) start: u32,
    pub(super) len: u32,
}

// SAFETY: Fragments may be handed from one CPU to another, and given back from any context.
unsafe impl Send for Fragment {}

impl Drop for Fragment {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant the fragment is ours.
        unsafe { bindings::rnet_page_pool_put(self.page.as_ptr()) };
    }
}

/// A buffer that the CPU may read.
///
/// # Invariants
///
/// `data` is where the fragment is, in the CPU's address space. `start + len` is at most its size,
/// and that part is initialised. The device does not write to it.
pub struct CpuBuf {
    fragment: Fragment,
    data: NonNull<u8>,
    start: u32,
    len: u32,
}

// SAFETY: `data` is the fragment's memory, which is `Send`.
unsafe impl Send for CpuBuf {}

/// A buffer that the device may write to.
///
/// When it is dropped it goes back to its pool: the device must have stopped using it.
///
/// # Invariants
///
/// `address` is the bus address of the fragment.
pub struct DeviceBuf {
    fragment: Fragment,
    address: DmaAddress,
}

impl CpuBuf {
    /// Gives the whole buffer to the device.
    #[inline]
    pub fn into_device(self) -> DeviceBuf {
        let fragment = self.fragment;

        // SAFETY: By the type invariant of the fragment.
        let address = unsafe {
            bindings::rnet_page_pool_sync_for_device(
                fragment.page.as_ptr(),
                fragment.offset,
                fragment.size,
            )
        };

        // INVARIANT: The helper returns it.
        DeviceBuf { fragment, address }
    }

    /// Returns the received bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: By the type invariant.
        unsafe {
            core::slice::from_raw_parts(
                self.data.as_ptr().add(self.start as usize),
                self.len as usize,
            )
        }
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
        // SAFETY: By the type invariants. We are in a poll that may receive, where
        // `napi_build_skb` may be used. There is room for `skb_shared_info`.
        let skb = unsafe {
            bindings::rnet_napi_build_skb(self.data.as_ptr().cast(), size, self.start, self.len)
        };

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
        let buf = ManuallyDrop::new(self);

        // SAFETY: By the type invariant the fragment is ours. We are in a poll of the pool's NAPI
        // instance, and nobody allocates now (`&mut`). The helper goes the slow way if the
        // buffer belongs to another pool.
        unsafe {
            bindings::rnet_page_pool_recycle(pool.pool.as_ptr(), buf.fragment.page.as_ptr())
        };
    }

    /// Gives up the buffer, to C.
    #[inline]
    pub(super) fn into_parts(self) -> Parts {
        let this = ManuallyDrop::new(self);

        Parts {
            page: this.fragment.page,
            offset: this.fragment.offset,
            size: this.fragment.size,
            start: this.start,
            len: this.len,
        }
    }
}

impl DeviceBuf {
    /// Returns the bus address of the buffer.
    #[inline(always)]
    pub fn dma_address(&self) -> DmaAddress {
        self.address
    }

    /// Returns the size of the buffer.
    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.fragment.size
    }

    /// Takes the buffer back: the device has written `len` bytes at `start`.
    ///
    /// Both are the device's word: what exceeds the buffer is cut off.
    #[inline]
    pub fn into_cpu(self, start: u32, len: u32) -> CpuBuf {
        let fragment = self.fragment;
        let start = start.min(fragment.size);
        let len = len.min(fragment.size - start);

        // SAFETY: By the type invariant, and the range is within the buffer.
        let data = unsafe {
            bindings::rnet_page_pool_sync_for_cpu(
                fragment.page.as_ptr(),
                fragment.offset,
                start,
                len,
            )
        };

        // INVARIANT: The helper returns the address of the fragment: pages of a page pool are not
        // allocated from high memory. The part is within the fragment. Memory that was given to a
        // device counts as initialised.
        CpuBuf {
            fragment,
            // SAFETY: Pages have addresses that are not null.
            data: unsafe { NonNull::new_unchecked(data.cast()) },
            start,
            len,
        }
    }
}
