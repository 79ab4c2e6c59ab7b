// SPDX-License-Identifier: GPL-2.0

//! XDP: programs that see a received frame before the stack does.
//!
//! A frame in a page pool's buffer becomes a [`Buff`], which a [`Program`] is run on. What it says
//! ([`Action`]) is the driver's to carry out: [`Buff`] has one method for each. All of this is for
//! polls that may receive ([`RxContext`]), never for netpoll.
//!
//! A [`Frame`] is what is sent: by a program's verdict, or by another device
//! ([`Operations::xdp_xmit`]).
//!
//! C header: [`include/net/xdp.h`](srctree/include/net/xdp.h)

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
    dma::DmaAddress,
    error::to_result,
    prelude::*,
    types::Opaque, //
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
    napi::RxContext,
    page_pool::{
        PagePool,
        Pooled, //
    },
    rx_buffer::{
        CpuBuf,
        DeviceBuf,
        Memory, //
    },
    skb::Skb, //
};

/// The head room that programs count on.
pub const HEADROOM: u32 = 256;

/// What a device can do with XDP, for [`Setup::set_xdp_features`](super::Setup::set_xdp_features).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Features(u32);

impl Features {
    /// Aborted, drop, pass, TX.
    pub const BASIC: Features = Features(bindings::netdev_xdp_act_NETDEV_XDP_ACT_BASIC);
    /// Frames can be redirected to elsewhere.
    pub const REDIRECT: Features = Features(bindings::netdev_xdp_act_NETDEV_XDP_ACT_REDIRECT);
    /// Frames from elsewhere can be sent.
    pub const NDO_XMIT: Features = Features(bindings::netdev_xdp_act_NETDEV_XDP_ACT_NDO_XMIT);
    /// A received frame may be in several buffers.
    pub const RX_SG: Features = Features(bindings::netdev_xdp_act_NETDEV_XDP_ACT_RX_SG);

    /// Returns the union; usable in constants.
    pub const fn with(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }

    pub(super) fn bits(self) -> u32 {
        self.0
    }
}

/// A loaded program.
///
/// # Invariants
///
/// Owns a reference to an XDP program.
pub struct Program(NonNull<bindings::bpf_prog>);

// SAFETY: Programs are run on any CPU, and references may be dropped anywhere.
unsafe impl Send for Program {}
// SAFETY: As above.
unsafe impl Sync for Program {}

impl Program {
    /// Takes a reference of its own.
    ///
    /// # Safety
    ///
    /// `program` must be a valid XDP program, or null.
    pub(super) unsafe fn get(program: *mut bindings::bpf_prog) -> Option<Self> {
        let program = NonNull::new(program)?;

        // SAFETY: `program` is valid.
        unsafe { bindings::rnet_bpf_prog_get(program.as_ptr()) };
        // INVARIANT: Just taken.
        Some(Self(program))
    }

    /// Returns whether the program can cope with frames in several buffers.
    pub fn has_frags(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_bpf_prog_has_frags(self.0.as_ptr()) }
    }

    /// Returns whether the program may move the beginning or the end of a frame.
    fn changes_frames(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_bpf_prog_changes_frames(self.0.as_ptr()) }
    }

    /// Tells tracepoints that a verdict of TX on a frame from `dev` was not carried out.
    pub fn tx_failed<T: Operations>(&self, dev: &Device<'_, T>) {
        let action = bindings::xdp_action_XDP_TX;

        // SAFETY: By the type invariant; `dev` is valid.
        unsafe { bindings::rnet_xdp_exception(self.0.as_ptr(), dev.as_raw(), action) };
    }
}

impl Clone for Program {
    fn clone(&self) -> Self {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_bpf_prog_get(self.0.as_ptr()) };
        // INVARIANT: Just taken.
        Self(self.0)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the reference is ours.
        unsafe { bindings::rnet_bpf_prog_put(self.0.as_ptr()) };
    }
}

/// What is to become of a frame.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Something went wrong: drop it. Tracepoints have been told.
    Aborted,
    /// Drop it: [`Buff::into_device`].
    Drop,
    /// Give it to the stack: [`Buff::into_skb`].
    Pass,
    /// Send it back: [`Buff::into_frame`].
    Tx,
    /// Give it to another device, socket or CPU: [`Buff::redirect`].
    Redirect,
}

/// What XDP knows of an RX queue and its page pool.
///
/// # Invariants
///
/// `info` is registered, with the page pool as memory model.
pub struct RxQueue {
    info: KBox<Opaque<bindings::xdp_rxq_info>>,
}

// SAFETY: The information is constant while it is registered.
unsafe impl Send for RxQueue {}

impl RxQueue {
    /// Registers a queue whose buffers, of `size` bytes, come from `pool`. Process context.
    pub fn new<T: Operations>(
        dev: &Device<'_, T>,
        queue: u32,
        pool: &PagePool,
        size: u32,
    ) -> Result<Self> {
        let info = KBox::new(Opaque::<bindings::xdp_rxq_info>::zeroed(), GFP_KERNEL)?;

        // SAFETY: `info` is zeroed, which is unregistered; `dev` and `pool` are valid.
        to_result(unsafe {
            bindings::rnet_xdp_rxq_register(info.get(), dev.as_raw(), queue, size, pool.as_raw())
        })?;
        // INVARIANT: Just registered.
        Ok(Self { info })
    }
}

impl Drop for RxQueue {
    fn drop(&mut self) {
        // SAFETY: By the type invariant. This gives up a reference to the page pool.
        unsafe { bindings::xdp_rxq_info_unreg(self.info.get()) };
    }
}

/// A received frame, as a program sees it. It is gone back to its pool when it is dropped.
///
/// # Invariants
///
/// `xdp` owns the memory, which belongs to `pool`, and further fragments, if it has any: they do as
/// well. Nobody allocates from `pool`, and it recycles directly in the poll that we are in.
pub struct Buff<'a> {
    xdp: bindings::xdp_buff,
    memory: ManuallyDrop<Pooled>,
    /// How many bytes of the memory were received.
    received: u32,
    pool: &'a PagePool,
    _queue: PhantomData<(&'a RxQueue, RxContext<'a>)>,
}

impl<'a> Buff<'a> {
    /// Makes a received frame one for programs. There must be room for
    /// [`SKB_OVERHEAD`](super::rx_buffer::SKB_OVERHEAD) behind it.
    ///
    /// Gives the buffer back if it does not fit, or comes from another pool.
    #[inline]
    pub fn new(
        queue: &'a RxQueue,
        pool: &'a PagePool,
        buffer: CpuBuf<Pooled>,
        cx: &RxContext<'a>,
    ) -> Result<Self, CpuBuf<Pooled>> {
        if !buffer.has_room() || !pool.is_owned_by(&cx.owner()) {
            return Err(buffer);
        }
        let mut xdp = bindings::xdp_buff::default();

        // SAFETY: `queue` is registered and lives as long as the value; `pool` is valid; the range
        // is within the buffer.
        let ours = unsafe {
            bindings::rnet_xdp_init(
                &mut xdp,
                queue.info.get(),
                pool.as_raw(),
                buffer.memory().data().as_ptr().cast(),
                buffer.size(),
                buffer.start(),
                buffer.len(),
            )
        };

        if !ours {
            return Err(buffer);
        }
        // INVARIANT: The memory is now that of `xdp`. `pool` is borrowed, so that nobody allocates;
        // it belongs to the NAPI instance of this poll.
        Ok(Self {
            xdp,
            received: buffer.len(),
            memory: ManuallyDrop::new(buffer.into_memory()),
            pool,
            _queue: PhantomData,
        })
    }

    /// Adds the next part of the frame. Gives it back if there is no room, or if it comes from
    /// another pool.
    pub fn add_frag(&mut self, buffer: CpuBuf<Pooled>) -> Result<(), CpuBuf<Pooled>> {
        // SAFETY: By the type invariants of both.
        let added = unsafe {
            bindings::rnet_xdp_add_frag(
                &mut self.xdp,
                self.pool.as_raw(),
                buffer.data().as_ptr().cast(),
                buffer.len(),
                buffer.size(),
            )
        };

        if !added {
            return Err(buffer);
        }
        // It belongs to `xdp` now.
        let _ = ManuallyDrop::new(buffer);
        Ok(())
    }

    /// Returns where the frame begins and how long it is, to be compared with what it is later.
    #[inline]
    pub fn bounds(&self) -> (usize, u32) {
        // SAFETY: By the type invariants.
        let len = unsafe { bindings::rnet_xdp_len(&self.xdp) };

        (self.xdp.data as usize, len)
    }

    /// Runs a program.
    #[inline]
    pub fn run(&mut self, program: &Program) -> Action {
        // SAFETY: By the type invariants. We are in a poll that may receive: bottom halves are off
        // and the context that redirection needs is there.
        match unsafe { bindings::rnet_xdp_run(program.0.as_ptr(), &mut self.xdp) } {
            bindings::xdp_action_XDP_PASS => Action::Pass,
            bindings::xdp_action_XDP_DROP => Action::Drop,
            bindings::xdp_action_XDP_TX => Action::Tx,
            bindings::xdp_action_XDP_REDIRECT => Action::Redirect,
            _ => Action::Aborted,
        }
    }

    /// Gives the frame to whom the program has said, who gets it at [`RxContext::xdp_flush`].
    /// Returns whether that worked; the frame is gone anyway.
    #[inline]
    pub fn redirect(self, program: &Program) -> bool {
        let mut this = ManuallyDrop::new(self);

        // SAFETY: By the type invariants, in the poll in which `program` was run.
        if unsafe { bindings::rnet_xdp_redirect(program.0.as_ptr(), &mut this.xdp) } == 0 {
            return true;
        }
        drop(ManuallyDrop::into_inner(this));
        false
    }

    /// Makes an skb of the frame, from its Ethernet header on, with its meta data.
    #[inline]
    pub fn into_skb(self) -> Result<Skb> {
        // SAFETY: By the type invariants; `data_end` is where there is room behind it, which the
        // kernel sees to.
        let skb = unsafe { bindings::rnet_xdp_build_skb(&self.xdp) };

        if skb.is_null() {
            return Err(ENOMEM);
        }
        // The skb has taken over everything.
        let _ = ManuallyDrop::new(self);
        // SAFETY: A new skb that is ours.
        Ok(unsafe { Skb::from_raw(skb) })
    }

    /// Makes a frame to be sent of it. Fails if the program has left no room for that.
    #[inline]
    pub fn into_frame(self) -> Result<Frame, Self> {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: By the type invariants. On failure nothing is changed.
        let frame = unsafe { bindings::rnet_xdp_to_frame(&mut this.xdp) };

        match NonNull::new(frame) {
            // INVARIANT: The frame is new, has taken over everything, and is in a page pool.
            Some(raw) => Ok(Frame { raw, pooled: true }),
            None => Err(ManuallyDrop::into_inner(this)),
        }
    }

    /// Gives the buffer to the device again: the fastest way to drop a frame. Returns none if the
    /// frame has more than one; it has gone back to the pool then.
    ///
    /// Caches are looked after as far as `program`, which was run on the frame, can have written:
    /// what was received, or all of the buffer if it may have moved the end, there and back again.
    /// Nothing else that the device will write to can be dirty.
    #[inline]
    pub fn into_device(self, program: &Program) -> Option<DeviceBuf<Pooled>> {
        // SAFETY: By the type invariant.
        if unsafe { bindings::rnet_xdp_has_frags(&self.xdp) } {
            return None;
        }
        let this = ManuallyDrop::new(self);
        let written = if program.changes_frames() {
            this.memory.size()
        } else {
            this.received
        };
        // SAFETY: A program changes what is visible of the buffer, not which it is. `this` is not
        // dropped, so that there is one owner.
        let memory = unsafe { core::ptr::read(&*this.memory) };

        Some(memory.into_device(written))
    }
}

impl Drop for Buff<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type invariants: everything is ours, and the pool may recycle directly.
        unsafe { bindings::xdp_return_buff(&mut self.xdp) };
    }
}

/// A frame that can be sent. It is given back to where it came from when it is dropped.
///
/// # Invariants
///
/// `raw` is valid and ours. If it is `pooled`, it is in a buffer of a page pool that is mapped for
/// both directions.
pub struct Frame {
    raw: NonNull<bindings::xdp_frame>,
    pooled: bool,
}

// SAFETY: Frames are handed from one CPU to another.
unsafe impl Send for Frame {}

impl Frame {
    /// Returns the bytes of the first part.
    #[inline]
    pub fn linear(&self) -> &[u8] {
        // SAFETY: By the type invariant.
        unsafe {
            let frame = self.raw.as_ref();

            core::slice::from_raw_parts(frame.data.cast::<u8>(), frame.len as usize)
        }
    }

    /// Returns the length of the first part.
    #[inline]
    pub fn len(&self) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { self.raw.as_ref().len }
    }

    /// Returns whether the first part is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether there are more parts.
    #[inline]
    pub fn has_frags(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::rnet_xdp_frame_has_frags(self.raw.as_ptr()) }
    }

    /// Makes the frame at least `len` bytes long, with zeroes. Returns whether there was room.
    #[inline]
    pub fn pad_to(&mut self, len: u32) -> bool {
        // SAFETY: By the type invariant; nobody else looks at the frame.
        self.len() >= len || unsafe { bindings::rnet_xdp_frame_pad(self.raw.as_ptr(), len) }
    }

    /// Has the frame ready for sending by `dev`, all but the first `skip` bytes, as
    /// [`Skb::into_tx`]. A frame of a pool must be of one of the same device.
    #[inline]
    pub fn into_tx<'b>(
        self,
        dev: &'b device::Device<Bound>,
        skip: u32,
    ) -> Result<TxFrame<'b>, Frame> {
        let len = self.len();

        if self.has_frags() || skip >= len {
            return Err(self);
        }
        let (address, mapped) = if self.pooled {
            // SAFETY: By the type invariant; `skip` is within the frame.
            let address = unsafe { bindings::rnet_xdp_frame_sync(self.raw.as_ptr(), skip) };

            (address, 0)
        } else {
            let rest = self.linear().get(skip as usize..).unwrap_or_default();

            // SAFETY: The memory belongs to the frame, which lives and is not changed as long as
            // the mapping: `TxFrame` owns both and ends the mapping first.
            let mapping =
                unsafe { Mapping::<ToDevice>::new(dev, NonNull::from(rest).cast(), len - skip) };

            match mapping {
                Ok(mapping) => mapping.into_raw(),
                Err(_) => return Err(self),
            }
        };

        // INVARIANT: The frame is ours; it is mapped as just said.
        Ok(TxFrame {
            dev,
            frame: ManuallyDrop::new(self).raw,
            address,
            mapped,
            skip,
        })
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::xdp_return_frame(self.raw.as_ptr()) };
    }
}

/// A frame that the TX ring owns, ready for the device.
///
/// When it is dropped it is unmapped and given back. The device must have stopped using it; not in
/// hardirq context, nor with interrupts off.
///
/// (No larger than an skb's place in the ring, which would have to grow otherwise.)
///
/// # Invariants
///
/// `frame` is valid and ours. If `mapped` is not 0 so many bytes are mapped for `dev` to read, at
/// `address`.
pub struct TxFrame<'b> {
    dev: &'b device::Device<Bound>,
    frame: NonNull<bindings::xdp_frame>,
    address: DmaAddress,
    mapped: u32,
    skip: u32,
}

// SAFETY: Frames are handed from one CPU to another.
unsafe impl Send for TxFrame<'_> {}

impl TxFrame<'_> {
    /// Returns the bus address of what was not skipped.
    #[inline]
    pub fn dma_address(&self) -> DmaAddress {
        self.address
    }

    /// Returns the number of bytes there.
    #[inline]
    pub fn mapped_len(&self) -> u32 {
        self.len().wrapping_sub(self.skip)
    }

    /// Returns the length of the frame, with what was skipped.
    #[inline]
    pub fn len(&self) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { self.frame.as_ref().len }
    }

    /// Returns whether the frame is empty, which it is not.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends the life of a frame that was sent. Returns its length.
    #[inline]
    pub fn complete(self, _cx: &RxContext<'_>) -> u32 {
        self.len()
    }
}

impl Drop for TxFrame<'_> {
    fn drop(&mut self) {
        if self.mapped != 0 {
            // SAFETY: By the type invariant; this is the only time.
            drop(unsafe { Mapping::<ToDevice>::from_raw(self.dev, self.address, self.mapped) });
        }
        // SAFETY: By the type invariant.
        unsafe { bindings::xdp_return_frame(self.frame.as_ptr()) };
    }
}

/// Frames that another device wants to have sent, see [`Operations::xdp_xmit`].
pub struct Frames<'a> {
    frames: &'a [NonNull<bindings::xdp_frame>],
}

impl<'a> Frames<'a> {
    /// # Safety
    ///
    /// There must be `count` frames at `frames`, which are the caller's to give away, except those
    /// that are left.
    pub(super) unsafe fn from_raw(frames: *mut *mut bindings::xdp_frame, count: usize) -> Self {
        Self {
            // SAFETY: By the safety requirements; frames are not null.
            frames: unsafe { core::slice::from_raw_parts(frames.cast(), count) },
        }
    }

    /// Hands out one frame after another, until `take` gives one back. Those that are left are the
    /// sender's.
    #[inline]
    pub fn for_each(&mut self, mut take: impl FnMut(Frame) -> Result<(), Frame>) {
        while let Some((&raw, rest)) = self.frames.split_first() {
            // INVARIANT: Ours, by the safety requirements of `from_raw`, until it is given back.
            let back = take(Frame { raw, pooled: false }).err();

            match back {
                Some(frame) if frame.raw == raw => {
                    let _ = ManuallyDrop::new(frame);
                    return;
                }
                _ => self.frames = rest,
            }
        }
    }

    /// Returns how many are left.
    pub fn left(&self) -> usize {
        self.frames.len()
    }
}
