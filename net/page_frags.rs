// SPDX-License-Identifier: GPL-2.0

//! Page fragments: buffers for received packets that are mapped for one packet each.
//!
//! What a page pool keeps for the next packet (the page, its mapping) is given up and made anew
//! here.
//!
//! C header: [`include/linux/page_frag_cache.h`](srctree/include/linux/page_frag_cache.h)

use core::ptr::NonNull;

use kernel::{
    device::{
        self,
        Bound, //
    },
    dma::DmaAddress,
    prelude::*, //
};

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    },
    dma::{
        FromDevice,
        Mapping, //
    },
    napi::{
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

/// A supply of page fragments for one RX ring.
///
/// # Invariants
///
/// `cache` is used by nobody else.
pub struct PageFrags<'b> {
    cache: bindings::page_frag_cache,
    dev: &'b device::Device<Bound>,
}

// SAFETY: The cache may be used from any thread, by one at a time.
unsafe impl Send for PageFrags<'_> {}

impl Sealed for PageFrags<'_> {}

impl<'b> Source<'b> for PageFrags<'b> {
    type Memory = Mapped<'b>;
    type Allocator<'a>
        = Allocator<'a, 'b>
    where
        Self: 'a;

    fn with_buffers<T: Operations>(
        dev: &Device<'b, T>,
        _queue: u32,
        count: u32,
        layout: Layout,
    ) -> Result<(Self, Slots<Mapped<'b>>)> {
        layout.check()?;
        let mut source = Self {
            cache: pin_init::zeroed(),
            dev: dev.parent(),
        };
        // INVARIANT: Just checked.
        let buffers = Allocator {
            source: &mut source,
            layout,
            gfp: bindings::GFP_KERNEL,
        }
        .fill(count)?;

        Ok((source, buffers))
    }

    fn adopt<T: Operations>(&mut self, _guard: &NapiGuard<'_, 'b, T>) {}

    #[inline]
    fn allocator<'a>(&'a mut self, owner: &Owner<'a>, layout: Layout) -> Result<Allocator<'a, 'b>> {
        layout.check()?;
        // INVARIANT: Just checked.
        Ok(Allocator {
            source: self,
            layout,
            gfp: owner.gfp(),
        })
    }

    #[inline]
    fn recycle(&mut self, buffer: CpuBuf<Mapped<'b>>, _cx: &RxContext<'_>) {
        drop(buffer);
    }
}

/// The right to allocate page fragments.
///
/// # Invariants
///
/// What the device writes to is within the size.
pub struct Allocator<'a, 'b> {
    source: &'a mut PageFrags<'b>,
    layout: Layout,
    gfp: bindings::gfp_t,
}

impl<'b> Allocate<Mapped<'b>> for Allocator<'_, 'b> {
    #[inline]
    fn alloc(&mut self) -> Result<DeviceBuf<Mapped<'b>>> {
        let Layout { size, start, len } = self.layout;

        // SAFETY: The cache is ours alone (`&mut`).
        let data =
            unsafe { bindings::rnet_page_frag_alloc(&mut self.source.cache, size, self.gfp) };
        let data = NonNull::new(data.cast::<u8>()).ok_or(ENOMEM)?;
        // INVARIANT: A new fragment of that size, which is not mapped; `start` is within it.
        let mut memory = Mapped {
            data,
            mapping: None,
            size,
            start,
        };
        // SAFETY: Within the fragment.
        let part = unsafe { data.add(start as usize) };
        // SAFETY: The part is within the fragment, which is kernel memory and lives as long as the
        // mapping, by which it is owned. Nobody looks at it meanwhile.
        let mapping = unsafe { Mapping::<FromDevice>::new(self.source.dev, part, len) }?;

        // INVARIANT: Just mapped.
        memory.mapping = Some(mapping);
        Ok(DeviceBuf::new(memory))
    }
}

impl Drop for PageFrags<'_> {
    fn drop(&mut self) {
        // SAFETY: The cache is ours. Fragments that are out have their own references.
        unsafe { bindings::page_frag_cache_drain(&mut self.cache) };
    }
}

/// A page fragment, mapped as long as it is the device's.
///
/// # Invariants
///
/// Owns the `size` bytes at `data`, a page fragment. If there is a mapping, it is of what begins at
/// `start`, which is at most `size`.
pub struct Mapped<'b> {
    data: NonNull<u8>,
    mapping: Option<Mapping<'b, FromDevice>>,
    size: u32,
    start: u32,
}

// SAFETY: Fragments may be handed from one CPU to another, and freed in any context.
unsafe impl Send for Mapped<'_> {}

impl Sealed for Mapped<'_> {}

// SAFETY: By the type invariant.
unsafe impl Memory for Mapped<'_> {
    const POOLED: bool = false;

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
        // No address at all for what is not the device's.
        self.mapping
            .as_ref()
            .map_or(DmaAddress::MAX, Mapping::address)
    }

    #[inline]
    unsafe fn sync_for_cpu(&mut self, len: u32) {
        if let Some(mapping) = self.mapping.take() {
            mapping.end(len);
        }
    }

    #[inline]
    unsafe fn build_skb(&self, start: u32, len: u32) -> *mut bindings::sk_buff {
        // SAFETY: By the type invariant and the safety requirements.
        unsafe {
            bindings::rnet_napi_build_frag_skb(self.data.as_ptr().cast(), self.size, start, len)
        }
    }
}

impl Drop for Mapped<'_> {
    #[inline]
    fn drop(&mut self) {
        // Before the memory is somebody else's.
        self.mapping = None;
        // SAFETY: By the type invariant the fragment is ours.
        unsafe { bindings::page_frag_free(self.data.as_ptr().cast()) };
    }
}
