// SPDX-License-Identifier: GPL-2.0-or-later

//! The boundary to the emulator's shim: `shim/twin_abi.h` in Rust. The only unsafe code.

#![allow(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

use crate::config::{Config, Refused};
use crate::device::Device;
use crate::dt::Place;
use crate::host::{BusError, DeviceTree, Host, Ns};
use std::ffi::{c_char, c_int, c_void, CStr, CString};

/// Version of the interface.
pub const VERSION: u32 = 1;
const MAX_REGIONS: usize = 4;
const MAX_IRQS: usize = 32;

/// `struct twin_host`: what the shim offers.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "documented in twin_abi.h")]
pub struct TwinHost {
    pub version: u32,
    pub size: u32,
    pub opaque: *mut c_void,
    pub dma_read: unsafe extern "C" fn(*mut c_void, u64, *mut c_void, usize) -> c_int,
    pub dma_write: unsafe extern "C" fn(*mut c_void, u64, *const c_void, usize) -> c_int,
    pub set_irq: unsafe extern "C" fn(*mut c_void, u32, c_int),
    pub now: unsafe extern "C" fn(*mut c_void) -> i64,
    pub set_timer: unsafe extern "C" fn(*mut c_void, i64),
    pub send: unsafe extern "C" fn(*mut c_void, *const u8, usize),
    pub stall: unsafe extern "C" fn(*mut c_void, u64),
    pub log: unsafe extern "C" fn(*mut c_void, *const c_char),
    pub fdt_node: unsafe extern "C" fn(*mut c_void, *const c_char),
    pub fdt_prop:
        unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, *const c_void, usize),
    pub fdt_phandle: unsafe extern "C" fn(*mut c_void, *const c_char) -> u32,
}

/// `struct twin_needs`.
#[repr(C)]
#[allow(missing_docs, reason = "documented in twin_abi.h")]
pub struct TwinNeeds {
    pub regions: u32,
    pub irqs: u32,
    pub region_size: [u64; MAX_REGIONS],
}

/// `struct twin_place`.
#[repr(C)]
#[allow(missing_docs, reason = "documented in twin_abi.h")]
pub struct TwinPlace {
    pub region_addr: [u64; MAX_REGIONS],
    pub irq_spi: [u32; MAX_IRQS],
    pub mac: [u8; 6],
    pub instance: u32,
}

/// `struct twin_model`: what the model offers.
#[repr(C)]
#[allow(missing_docs, reason = "documented in twin_abi.h")]
pub struct TwinModel {
    pub version: u32,
    pub size: u32,
    pub create: unsafe extern "C" fn(*const TwinHost, *const c_char) -> *mut c_void,
    pub needs: unsafe extern "C" fn(*mut c_void, *mut TwinNeeds),
    pub describe: unsafe extern "C" fn(*mut c_void, *const TwinPlace),
    pub mmio_read: unsafe extern "C" fn(*mut c_void, u32, u64, u32) -> u64,
    pub mmio_write: unsafe extern "C" fn(*mut c_void, u32, u64, u64, u32),
    pub timer: unsafe extern "C" fn(*mut c_void),
    pub receive: unsafe extern "C" fn(*mut c_void, *const u8, usize),
    pub reset: unsafe extern "C" fn(*mut c_void),
    pub destroy: unsafe extern "C" fn(*mut c_void),
}

// Layouts that the header fixes for 64-bit hosts.
const _: () = {
    assert!(std::mem::size_of::<TwinHost>() == 16 + 11 * 8);
    assert!(std::mem::size_of::<TwinNeeds>() == 8 + 4 * 8);
    assert!(std::mem::size_of::<TwinPlace>() == 4 * 8 + 32 * 4 + 6 + 2 + 4 + 4);
    assert!(std::mem::size_of::<TwinModel>() == 8 + 9 * 8);
};

static MODEL: TwinModel = TwinModel {
    version: VERSION,
    size: std::mem::size_of::<TwinModel>() as u32,
    create,
    needs,
    describe,
    mmio_read,
    mmio_write,
    timer,
    receive,
    reset,
    destroy,
};

/// The one symbol that the library exports.
#[no_mangle]
pub extern "C" fn twin_entry() -> *const TwinModel {
    &MODEL
}

/// Text for the shim; a zero byte ends it early.
fn c_text(text: &str) -> CString {
    let bytes = text.as_bytes();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    // Cannot fail: there is no zero byte before `end`.
    CString::new(&bytes[..end]).unwrap_or_default()
}

/// The shim's callbacks.
///
/// Invariant: the pointers are those of a `struct twin_host` of our version, and the shim keeps
/// them and `opaque` valid from create() to destroy(). It is used within calls from the shim only,
/// hence on the thread that may call back.
struct Shim(TwinHost);

impl Host for Shim {
    fn dma_read(&mut self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        // SAFETY: the type's invariant; the buffer is valid for writes of its length.
        let result =
            unsafe { (self.0.dma_read)(self.0.opaque, addr, buf.as_mut_ptr().cast(), buf.len()) };
        if result == 0 {
            Ok(())
        } else {
            Err(BusError)
        }
    }

    fn dma_write(&mut self, addr: u64, buf: &[u8]) -> Result<(), BusError> {
        // SAFETY: the type's invariant; the buffer is valid for reads of its length.
        let result =
            unsafe { (self.0.dma_write)(self.0.opaque, addr, buf.as_ptr().cast(), buf.len()) };
        if result == 0 {
            Ok(())
        } else {
            Err(BusError)
        }
    }

    fn set_irq(&mut self, line: usize, level: bool) {
        // SAFETY: the type's invariant; lines are below the number in `needs`.
        unsafe { (self.0.set_irq)(self.0.opaque, line as u32, level.into()) }
    }

    fn now(&self) -> Ns {
        // SAFETY: the type's invariant.
        let now = unsafe { (self.0.now)(self.0.opaque) };
        Ns::try_from(now).unwrap_or(0)
    }

    fn set_timer(&mut self, deadline: Option<Ns>) {
        let deadline = deadline.map_or(-1, |at| i64::try_from(at).unwrap_or(i64::MAX));
        // SAFETY: the type's invariant.
        unsafe { (self.0.set_timer)(self.0.opaque, deadline) }
    }

    fn send(&mut self, frame: &[u8]) {
        // SAFETY: the type's invariant; the frame is valid for reads of its length.
        unsafe { (self.0.send)(self.0.opaque, frame.as_ptr(), frame.len()) }
    }

    fn stall(&mut self, span: Ns) {
        // SAFETY: the type's invariant.
        unsafe { (self.0.stall)(self.0.opaque, span) }
    }

    fn log(&mut self, line: &str) {
        let line = c_text(line);
        // SAFETY: the type's invariant; the text ends with a zero byte and outlives the call.
        unsafe { (self.0.log)(self.0.opaque, line.as_ptr()) }
    }
}

impl DeviceTree for Shim {
    fn node(&mut self, path: &str) {
        let path = c_text(path);
        // SAFETY: as for log(); called inside describe() only.
        unsafe { (self.0.fdt_node)(self.0.opaque, path.as_ptr()) }
    }

    fn prop(&mut self, path: &str, name: &str, value: &[u8]) {
        let (path, name) = (c_text(path), c_text(name));
        // SAFETY: as for node(); the value is valid for reads of its length.
        unsafe {
            (self.0.fdt_prop)(
                self.0.opaque,
                path.as_ptr(),
                name.as_ptr(),
                value.as_ptr().cast(),
                value.len(),
            )
        }
    }

    fn phandle(&mut self, path: &str) -> u32 {
        let path = c_text(path);
        // SAFETY: as for node().
        unsafe { (self.0.fdt_phandle)(self.0.opaque, path.as_ptr()) }
    }
}

/// What the shim's handle points to.
struct Instance {
    device: Device,
    shim: Shim,
}

/// # Safety
///
/// `host` points to a `struct twin_host`, `args` is null or a string. Both are valid for the call;
/// the callbacks stay so until destroy().
unsafe extern "C" fn create(host: *const TwinHost, args: *const c_char) -> *mut c_void {
    // SAFETY: the caller's promise. Version and size come first in every version.
    let (version, size) = unsafe { ((*host).version, (*host).size) };
    if version != VERSION || size as usize != std::mem::size_of::<TwinHost>() {
        // Nothing else in the structure can be relied on, its log() neither.
        eprintln!("twin: the shim has interface {version} ({size} bytes), the model {VERSION}");
        return std::ptr::null_mut();
    }
    // SAFETY: the caller's promise, and it is of our version.
    let mut shim = Shim(unsafe { *host });
    let args = if args.is_null() {
        ""
    } else {
        // SAFETY: the caller's promise.
        match unsafe { CStr::from_ptr(args) }.to_str() {
            Ok(args) => args,
            Err(_) => {
                shim.log("args: not text in UTF-8");
                return std::ptr::null_mut();
            }
        }
    };
    match Config::parse(args).and_then(Device::new) {
        Ok(device) => Box::into_raw(Box::new(Instance { device, shim })).cast(),
        Err(Refused::Help(text)) => {
            text.lines().for_each(|line| shim.log(line));
            std::ptr::null_mut()
        }
        Err(Refused::Error(text)) => {
            shim.log(&text);
            std::ptr::null_mut()
        }
    }
}

/// The instance behind a handle.
///
/// # Safety
///
/// `dev` comes from create(), destroy() has not been called, and no other reference is in use: the
/// shim never calls in while a call is on the stack.
unsafe fn instance<'a>(dev: *mut c_void) -> &'a mut Instance {
    // SAFETY: the caller's promise.
    unsafe { &mut *dev.cast::<Instance>() }
}

/// # Safety
///
/// As for [`instance`]; `needs` is valid for writes.
unsafe extern "C" fn needs(dev: *mut c_void, needs: *mut TwinNeeds) {
    // SAFETY: the caller's promise.
    let Instance { device, .. } = unsafe { instance(dev) };
    let regions = device.regions();
    let mut region_size = [0; MAX_REGIONS];
    region_size[..regions.len()].copy_from_slice(&regions);
    let value =
        TwinNeeds { regions: regions.len() as u32, irqs: device.irqs() as u32, region_size };
    // SAFETY: the caller's promise.
    unsafe { needs.write(value) }
}

/// # Safety
///
/// As for [`instance`]; `place` is valid for reads.
unsafe extern "C" fn describe(dev: *mut c_void, place: *const TwinPlace) {
    // SAFETY: the caller's promise.
    let (Instance { device, shim }, place) = unsafe { (instance(dev), &*place) };
    let [mac, reset, control, _] = place.region_addr;
    let spis = place.irq_spi[..device.irqs().min(MAX_IRQS)].to_vec();
    let place =
        Place { regions: [mac, reset, control], spis, mac: place.mac, instance: place.instance };
    device.describe(&place, shim);
}

/// # Safety
///
/// As for [`instance`].
unsafe extern "C" fn mmio_read(dev: *mut c_void, region: u32, off: u64, size: u32) -> u64 {
    // SAFETY: the caller's promise.
    let Instance { device, shim } = unsafe { instance(dev) };
    device.mmio_read(shim, region, off, size)
}

/// # Safety
///
/// As for [`instance`].
unsafe extern "C" fn mmio_write(dev: *mut c_void, region: u32, off: u64, value: u64, size: u32) {
    // SAFETY: the caller's promise.
    let Instance { device, shim } = unsafe { instance(dev) };
    device.mmio_write(shim, region, off, value, size);
}

/// # Safety
///
/// As for [`instance`].
unsafe extern "C" fn timer(dev: *mut c_void) {
    // SAFETY: the caller's promise.
    let Instance { device, shim } = unsafe { instance(dev) };
    device.timer(shim);
}

/// # Safety
///
/// As for [`instance`]; `frame` is valid for reads of `len` bytes.
unsafe extern "C" fn receive(dev: *mut c_void, frame: *const u8, len: usize) {
    if len == 0 {
        return;
    }
    // SAFETY: the caller's promise.
    let (Instance { device, shim }, frame) =
        unsafe { (instance(dev), std::slice::from_raw_parts(frame, len)) };
    device.receive(shim, frame);
}

/// # Safety
///
/// As for [`instance`].
unsafe extern "C" fn reset(dev: *mut c_void) {
    // SAFETY: the caller's promise.
    let Instance { device, shim } = unsafe { instance(dev) };
    device.power_on(shim);
}

/// # Safety
///
/// As for [`instance`]; the handle is not used again.
unsafe extern "C" fn destroy(dev: *mut c_void) {
    // SAFETY: it was made by `Box::into_raw` in create(), and this is its last use.
    let mut instance = unsafe { Box::from_raw(dev.cast::<Instance>()) };
    instance.device.flush(&mut instance.shim);
}
