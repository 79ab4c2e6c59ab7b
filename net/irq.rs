// SPDX-License-Identifier: GPL-2.0

//! Interrupt lines of a network device.
//!
//! `kernel::irq::Registration` needs a promise not to leak it, and a name that is known at compile
//! time. Lines that belong to a device ([`Setup::request_irq`](super::Setup::request_irq)) need
//! neither; they call [`Operations::interrupt`].
//!
//! C header: [`include/linux/interrupt.h`](srctree/include/linux/interrupt.h)

use core::marker::PhantomPinned;

use kernel::{
    error::to_result,
    prelude::*,
    str::CString,
    sync::atomic::{
        Atomic,
        AtomicFlag,
        Full,
        Relaxed, //
    }, //
};

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    }, //
};

pub use kernel::irq::{
    Flags,
    IrqReturn as Return, //
};

/// A requested line.
///
/// # Invariants
///
/// `irq` is requested with `handler::<T>`, and the address of the value as its cookie.
pub(super) struct Line<T: Operations> {
    ndev: *mut bindings::net_device,
    irq: u32,
    line: T::Line,
    name: CString,
    _pin: PhantomPinned,
}

// SAFETY: `ndev` is used in the handler only, which may run on any CPU; `T::Line` is `Send` and
// `Sync`.
unsafe impl<T: Operations> Send for Line<T> {}
// SAFETY: As above.
unsafe impl<T: Operations> Sync for Line<T> {}

/// The mask of a line at the interrupt controller, for a device that cannot mask its interrupt
/// itself. It lies in the driver's data; [`Setup::request_masked_irq`](super::Setup) ties it to its
/// line. The line starts masked.
pub struct Mask {
    /// 0 as long as there is none.
    irq: Atomic<u32>,
    masked: AtomicFlag,
}

impl Mask {
    /// The mask of a line that is not requested yet.
    pub const fn new() -> Self {
        Self {
            irq: Atomic::new(0),
            masked: AtomicFlag::new(true),
        }
    }

    /// The line was requested, disabled, and is not shared.
    pub(super) fn bind(&self, irq: u32) {
        self.irq.store(irq, Relaxed);
    }

    /// Masks the line. Any context, the handler's included; another CPU may still be in the
    /// handler.
    #[inline]
    pub fn mask(&self) {
        let irq = self.irq.load(Relaxed);

        // The core counts: it must not be told twice.
        if irq != 0 && !self.masked.xchg(true, Full) {
            // SAFETY: No preconditions; a number without an interrupt is ignored.
            unsafe { bindings::disable_irq_nosync(irq) };
        }
    }

    /// Unmasks the line. Any context. If the interrupt is asserted, the handler runs soon.
    ///
    /// A call of [`mask`](Mask::mask) on another CPU at the same time wins or loses; a driver that
    /// needs to know takes care that there is none: the handler does not run while the line is
    /// masked, a poll does not while NAPI is disabled.
    #[inline]
    pub fn unmask(&self) {
        let irq = self.irq.load(Relaxed);

        if irq != 0 && self.masked.xchg(false, Full) {
            // SAFETY: No preconditions; the line was disabled by `mask`, or when it was requested.
            unsafe { bindings::enable_irq(irq) };
        }
    }
}

impl Default for Mask {
    fn default() -> Self {
        Self::new()
    }
}

/// Requests a line for a device.
pub(super) fn request<T: Operations>(
    dev: &Device<'_, T>,
    irq: u32,
    flags: Flags,
    suffix: &CStr,
    line: T::Line,
) -> Result {
    let parent: &kernel::device::Device = dev.as_ref();
    let name = CString::try_from_fmt(fmt!("{}{}", parent.name(), suffix))?;
    let line = KBox::pin(
        Line::<T> {
            ndev: dev.as_raw(),
            irq,
            line,
            name,
            _pin: PhantomPinned,
        },
        GFP_KERNEL,
    )?;
    let mut lines = dev.private().irqs.lock();

    lines.reserve(1, GFP_KERNEL)?;

    let cookie: *const Line<T> = &*line;

    // SAFETY: The name lives as long as the line, which is freed (`free_all`) before it is dropped
    // and before the device is. The handler may run at once: the device is complete, and `line`
    // too. The flags are the caller's, and checked by the C function.
    to_result(unsafe {
        bindings::request_threaded_irq(
            irq,
            Some(handler::<T>),
            None,
            flags_raw(flags),
            line.name.as_char_ptr(),
            cookie.cast_mut().cast(),
        )
    })?;

    // Does not fail: there is room.
    if let Err(e) = lines.push_within_capacity(line) {
        // SAFETY: The line is requested with this cookie; it is dropped with the error.
        unsafe { bindings::free_irq(irq, cookie.cast_mut().cast()) };
        drop(e);
        return Err(ENOMEM);
    }
    if lines.len() == 1 {
        // SAFETY: `dev` is valid and not registered.
        unsafe { bindings::rnet_set_irq(dev.as_raw(), irq as c_int) };
    }
    Ok(())
}

fn flags_raw(flags: Flags) -> c_ulong {
    let mut raw = 0;

    for (flag, value) in [
        (Flags::SHARED, bindings::IRQF_SHARED),
        (Flags::TRIGGER_RISING, bindings::IRQF_TRIGGER_RISING),
        (Flags::TRIGGER_FALLING, bindings::IRQF_TRIGGER_FALLING),
        (Flags::TRIGGER_HIGH, bindings::IRQF_TRIGGER_HIGH),
        (Flags::TRIGGER_LOW, bindings::IRQF_TRIGGER_LOW),
        (Flags::NO_AUTOEN, bindings::IRQF_NO_AUTOEN),
        (Flags::NO_SUSPEND, bindings::IRQF_NO_SUSPEND),
        (Flags::NO_THREAD, bindings::IRQF_NO_THREAD),
        (Flags::NOBALANCING, bindings::IRQF_NOBALANCING),
    ] {
        if flags & flag == flag {
            // CAST: Flags are 32 bits.
            raw |= value as c_ulong;
        }
    }
    raw
}

/// Frees all lines of a device that is being taken down, and waits for their handlers.
pub(super) fn free_all<T: Operations>(dev: &Device<'_, T>) {
    let mut lines = dev.private().irqs.lock();

    while let Some(line) = lines.pop() {
        let cookie: *const Line<T> = &*line;

        // SAFETY: By the type invariant. After this the handler does not run any more.
        unsafe { bindings::free_irq(line.irq, cookie.cast_mut().cast()) };
    }
}

/// # Safety
///
/// To be called by the interrupt core only, with a cookie from [`request`].
unsafe extern "C" fn handler<T: Operations>(
    _irq: c_int,
    cookie: *mut c_void,
) -> bindings::irqreturn_t {
    // SAFETY: The cookie is a `Line<T>` that lives until `free_irq` returns.
    let line = unsafe { &*cookie.cast::<Line<T>>() };
    // SAFETY: The line belongs to a device of type `T`, which is complete as long as the line is
    // requested.
    let dev = unsafe { Device::from_raw(line.ndev) };

    match T::interrupt(dev, line.line) {
        Return::None => bindings::irqreturn::IRQ_NONE,
        Return::Handled => bindings::irqreturn::IRQ_HANDLED,
    }
}

/// The interrupt lines of a device, in the order of their requests. Process context.
pub struct Lines<'a, 'b, T: Operations>(&'a Device<'b, T>);

impl<'a, 'b, T: Operations> Lines<'a, 'b, T> {
    #[inline(always)]
    pub(super) fn new(dev: &'a Device<'b, T>) -> Self {
        Self(dev)
    }

    fn get(&self, index: usize) -> Result<u32> {
        self.0
            .private()
            .irqs
            .lock()
            .get(index)
            .map(|line| line.irq)
            .ok_or(EINVAL)
    }

    /// Returns the number of the interrupt.
    pub fn number(&self, index: usize) -> Result<u32> {
        self.get(index)
    }

    /// Waits until no handler of any line is running. Sleeps; must not hold what a handler takes.
    pub fn synchronize(&self) {
        for line in self.0.private().irqs.lock().iter() {
            // SAFETY: The line is requested.
            unsafe { bindings::synchronize_irq(line.irq) };
        }
    }

    /// Disables a line that is not shared, and waits for its handler. Calls nest.
    pub fn disable(&self, index: usize) -> Result {
        let irq = self.get(index)?;

        // SAFETY: The line is requested.
        unsafe { bindings::disable_irq(irq) };
        Ok(())
    }

    /// Undoes [`disable`](Lines::disable).
    pub fn enable(&self, index: usize) -> Result {
        let irq = self.get(index)?;

        // SAFETY: The line is requested.
        unsafe { bindings::enable_irq(irq) };
        Ok(())
    }

    /// Makes a line wake the system, or not. Calls nest.
    pub fn set_wake(&self, index: usize, on: bool) -> Result {
        let irq = self.get(index)?;

        // SAFETY: The line is requested.
        to_result(unsafe { bindings::irq_set_irq_wake(irq, on.into()) })
    }
}
