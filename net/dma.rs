// SPDX-License-Identifier: GPL-2.0

//! Streaming DMA mappings.
//!
//! A mapping owns the device's right to use memory: it is unmapped when dropped. For received data
//! see `page_pool.rs`, whose buffers stay mapped.
//!
//! C header: [`include/linux/dma-mapping.h`](srctree/include/linux/dma-mapping.h)

use core::{
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr::NonNull, //
};

use kernel::{
    device::{
        self,
        Bound, //
    },
    dma::{
        DmaAddress,
        DmaMask, //
    },
    error::to_result,
    prelude::*, //
};

use super::bindings;

/// Returns the C device.
#[inline(always)]
pub(super) fn raw(dev: &device::Device<Bound>) -> *mut bindings::device {
    // `Device` is a transparent wrapper of an `Opaque<bindings::device>`.
    core::ptr::from_ref(dev).cast_mut().cast()
}

/// Sets the DMA mask for streaming and coherent memory.
///
/// To be called in probe only, before anything is mapped: see `Setup::set_dma_mask`.
pub(super) fn set_mask(dev: &device::Device<Bound>, mask: DmaMask) -> Result {
    // SAFETY: `dev` is valid, and nothing maps memory for it concurrently: it has no network
    // device yet.
    to_result(unsafe { bindings::dma_set_mask_and_coherent(raw(dev), mask.value()) })
}

/// Which way data goes.
pub trait Direction: private::Sealed {
    /// The C value.
    #[doc(hidden)]
    const RAW: bindings::dma_data_direction;
}

mod private {
    pub trait Sealed {}

    impl Sealed for super::ToDevice {}
    impl Sealed for super::FromDevice {}
}

/// The device reads.
pub struct ToDevice;

impl Direction for ToDevice {
    const RAW: bindings::dma_data_direction = bindings::dma_data_direction::DMA_TO_DEVICE;
}

/// The device writes.
pub struct FromDevice;

impl Direction for FromDevice {
    const RAW: bindings::dma_data_direction = bindings::dma_data_direction::DMA_FROM_DEVICE;
}

/// Memory that is mapped for a device.
///
/// # Invariants
///
/// `address` is the result of a successful `dma_map_single` of `len` bytes for `dev`.
pub struct Mapping<'b, D: Direction> {
    dev: &'b device::Device<Bound>,
    address: DmaAddress,
    len: u32,
    _direction: PhantomData<D>,
}

impl<'b, D: Direction> Mapping<'b, D> {
    /// Maps memory. Any context.
    ///
    /// # Safety
    ///
    /// It must be kernel memory that can be mapped (from the page or slab allocator), and stay
    /// allocated as long as the mapping exists. Meanwhile nobody may write to it, nor read it if
    /// the device writes.
    #[inline]
    pub(super) unsafe fn new(
        dev: &'b device::Device<Bound>,
        data: NonNull<u8>,
        len: u32,
    ) -> Result<Self> {
        let va = data.as_ptr().cast();

        // SAFETY: `dev` is bound, and the memory can be mapped, by the safety requirements.
        let address = unsafe { bindings::rnet_dma_map_single(raw(dev), va, len as usize, D::RAW) };

        // DMA_MAPPING_ERROR. The address is looked at in full: it is cut to what descriptors hold
        // later, if at all.
        if address == DmaAddress::MAX {
            return Err(ENOMEM);
        }
        Ok(Self {
            dev,
            address,
            len,
            _direction: PhantomData,
        })
    }
}

impl<'b, D: Direction> Mapping<'b, D> {
    /// Gives up the mapping, for somebody who keeps it in other words.
    #[inline]
    pub(super) fn into_raw(self) -> (DmaAddress, u32) {
        let this = ManuallyDrop::new(self);

        (this.address, this.len)
    }

    /// Takes over what [`into_raw`](Self::into_raw) has given.
    ///
    /// # Safety
    ///
    /// It must come from there, for the same device and direction, and be used once.
    #[inline]
    pub(super) unsafe fn from_raw(
        dev: &'b device::Device<Bound>,
        address: DmaAddress,
        len: u32,
    ) -> Self {
        // INVARIANT: By the safety requirements.
        Self {
            dev,
            address,
            len,
            _direction: PhantomData,
        }
    }
}

impl Mapping<'_, FromDevice> {
    /// Ends the mapping, with `len` bytes (but no more than are mapped) made readable for the CPU.
    /// The caches are not asked about the rest.
    #[inline]
    pub(super) fn end(self, len: u32) {
        let this = ManuallyDrop::new(self);

        // SAFETY: By the type invariant: same address, size and direction as when it was mapped.
        unsafe {
            bindings::rnet_dma_unmap_received(
                raw(this.dev),
                this.address,
                this.len as usize,
                len.min(this.len) as usize,
            )
        };
    }
}

impl<D: Direction> Mapping<'_, D> {
    /// Returns the bus address.
    #[inline(always)]
    pub fn address(&self) -> DmaAddress {
        self.address
    }

    /// Returns the number of bytes.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<D: Direction> Drop for Mapping<'_, D> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant: same address, size and direction as when it was mapped.
        unsafe {
            bindings::rnet_dma_unmap_single(raw(self.dev), self.address, self.len as usize, D::RAW)
        };
    }
}
