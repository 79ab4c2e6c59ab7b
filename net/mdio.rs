// SPDX-License-Identifier: GPL-2.0

//! MDIO buses that a MAC drives bit by bit.
//!
//! C headers: [`include/linux/mdio-bitbang.h`](srctree/include/linux/mdio-bitbang.h),
//! [`include/linux/phy.h`](srctree/include/linux/phy.h)

use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

use kernel::{
    error::{
        from_result,
        to_result, //
    },
    prelude::*,
    types::Opaque, //
};

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    },
    of::Node, //
};

/// The two wires of an MDIO bus.
///
/// All methods run in process context, with the bus's lock held, and with the device powered if it
/// has runtime PM.
pub trait BitBang: Operations {
    /// Prepares for an access: the device may have to be brought into a state in which its pins
    /// work. The access fails with the error.
    fn begin(_dev: &Device<'_, Self>) -> Result {
        Ok(())
    }

    /// Ends an access that [`begin`](BitBang::begin) has allowed.
    fn end(_dev: &Device<'_, Self>) {}

    /// Sets the clock.
    fn set_clock(dev: &Device<'_, Self>, high: bool);

    /// Makes the data pin an output (true) or an input.
    fn set_direction(dev: &Device<'_, Self>, output: bool);

    /// Sets the data pin, which is an output.
    fn set_data(dev: &Device<'_, Self>, high: bool);

    /// Reads the data pin.
    fn data(dev: &Device<'_, Self>) -> bool;
}

/// # Invariants
///
/// `ndev` is the device that owns the bus; it is complete as long as the bus exists.
#[pin_data]
struct Control {
    #[pin]
    control: Opaque<bindings::mdiobb_ctrl>,
    ndev: *mut bindings::net_device,
}

/// A registered bus.
///
/// # Invariants
///
/// `bus` came from `alloc_mdio_bitbang` with `control` and is registered.
pub(super) struct Bus {
    bus: NonNull<bindings::mii_bus>,
    _control: Pin<KBox<Control>>,
}

// SAFETY: A bus may be unregistered from any thread.
unsafe impl Send for Bus {}

/// Registers the bus of a device that is complete.
pub(super) fn register_bitbang<T: BitBang>(dev: &Device<'_, T>) -> Result {
    let node = Node::of_device(dev.parent()).ok_or(ENODEV)?;
    // A node without `mdio` child is the bus itself.
    let child = node.child(c"mdio");
    let node = child.as_ref().unwrap_or(&node);
    let mut slot = dev.private().mdio.lock();

    if slot.is_some() {
        return Err(EBUSY);
    }
    let control = KBox::pin_init(
        pin_init!(Control {
            control <- Opaque::ffi_init(|control: *mut bindings::mdiobb_ctrl| {
                let value = bindings::mdiobb_ctrl {
                    ops: &Table::<T>::OPS,
                    ..pin_init::zeroed()
                };

                // SAFETY: `control` is valid for writes.
                unsafe { control.write(value) }
            }),
            ndev: dev.as_raw(),
        }),
        GFP_KERNEL,
    )?;
    // SAFETY: The control is initialised, and lives as long as the bus. Its `owner` is null: no
    // module count is taken, because the bus is unregistered when the device is unbound, which
    // unloading the module does first.
    let bus = unsafe { bindings::alloc_mdio_bitbang(control.control.get()) };
    let bus = NonNull::new(bus).ok_or(ENOMEM)?;

    // SAFETY: The bus is not registered yet. The accessors bracket those that are there.
    unsafe {
        let bus = bus.as_ptr();

        bindings::rnet_mii_bus_setup(bus, dev.parent_raw(), c"bitbang".as_char_ptr());
        (*bus).read = Some(Table::<T>::read_c22);
        (*bus).write = Some(Table::<T>::write_c22);
        (*bus).read_c45 = Some(Table::<T>::read_c45);
        (*bus).write_c45 = Some(Table::<T>::write_c45);
    }
    // SAFETY: The bus is set up, the node is valid.
    let ret = unsafe {
        bindings::__of_mdiobus_register(bus.as_ptr(), node.as_raw(), core::ptr::null_mut())
    };

    if ret != 0 {
        // SAFETY: The bus is not registered.
        unsafe { bindings::free_mdio_bitbang(bus.as_ptr()) };
        return to_result(ret);
    }
    // INVARIANT: Just registered.
    *slot = Some(Bus {
        bus,
        _control: control,
    });
    Ok(())
}

/// Unregisters the bus of a device that is being taken down.
pub(super) fn unregister<T: Operations>(dev: &Device<'_, T>) {
    let bus = dev.private().mdio.lock().take();

    if let Some(bus) = bus {
        // SAFETY: By the type invariant.
        unsafe {
            bindings::mdiobus_unregister(bus.bus.as_ptr());
            bindings::free_mdio_bitbang(bus.bus.as_ptr());
        }
    }
}

/// Functions of the buses of devices of type `T`.
struct Table<T: BitBang>(PhantomData<T>);

impl<T: BitBang> Table<T> {
    const OPS: bindings::mdiobb_ops = bindings::mdiobb_ops {
        owner: core::ptr::null_mut(),
        set_mdc: Some(Self::set_mdc),
        set_mdio_dir: Some(Self::set_mdio_dir),
        set_mdio_data: Some(Self::set_mdio_data),
        get_mdio_data: Some(Self::get_mdio_data),
    };

    /// # Safety
    ///
    /// `control` must belong to a registered bus of a device of type `T`.
    unsafe fn device<'a, 'b>(control: *mut bindings::mdiobb_ctrl) -> &'a Device<'b, T> {
        // SAFETY: By the safety requirement it is a field of a `Control`.
        let control =
            unsafe { &*kernel::container_of!(Opaque::cast_from(control), Control, control) };

        // SAFETY: By the type invariant of `Control`.
        unsafe { Device::from_raw(control.ndev) }
    }

    /// Runs an access with the device powered.
    ///
    /// # Safety
    ///
    /// `bus` must be a registered bus of a device of type `T`.
    unsafe fn access(bus: *mut bindings::mii_bus, access: impl FnOnce() -> c_int) -> c_int {
        // SAFETY: `priv` of a bit-bang bus is its control.
        let dev = unsafe { Self::device((*bus).priv_.cast()) };

        from_result(|| {
            let _active = dev.pm().resume_if_enabled()?;

            T::begin(dev)?;
            let ret = access();
            T::end(dev);
            Ok(ret)
        })
    }

    // All of the following are called for registered buses of devices of type `T` only.

    extern "C" fn set_mdc(control: *mut bindings::mdiobb_ctrl, level: c_int) {
        // SAFETY: See above.
        T::set_clock(unsafe { Self::device(control) }, level != 0);
    }

    extern "C" fn set_mdio_dir(control: *mut bindings::mdiobb_ctrl, output: c_int) {
        // SAFETY: See above.
        T::set_direction(unsafe { Self::device(control) }, output != 0);
    }

    extern "C" fn set_mdio_data(control: *mut bindings::mdiobb_ctrl, value: c_int) {
        // SAFETY: See above.
        T::set_data(unsafe { Self::device(control) }, value != 0);
    }

    extern "C" fn get_mdio_data(control: *mut bindings::mdiobb_ctrl) -> c_int {
        // SAFETY: See above.
        T::data(unsafe { Self::device(control) }).into()
    }

    extern "C" fn read_c22(bus: *mut bindings::mii_bus, phy: c_int, reg: c_int) -> c_int {
        // SAFETY: See above; the arguments are the caller's.
        unsafe { Self::access(bus, || bindings::mdiobb_read_c22(bus, phy, reg)) }
    }

    extern "C" fn write_c22(
        bus: *mut bindings::mii_bus,
        phy: c_int,
        reg: c_int,
        value: u16,
    ) -> c_int {
        // SAFETY: See above; the arguments are the caller's.
        unsafe { Self::access(bus, || bindings::mdiobb_write_c22(bus, phy, reg, value)) }
    }

    extern "C" fn read_c45(
        bus: *mut bindings::mii_bus,
        phy: c_int,
        devad: c_int,
        reg: c_int,
    ) -> c_int {
        // SAFETY: See above; the arguments are the caller's.
        unsafe { Self::access(bus, || bindings::mdiobb_read_c45(bus, phy, devad, reg)) }
    }

    extern "C" fn write_c45(
        bus: *mut bindings::mii_bus,
        phy: c_int,
        devad: c_int,
        reg: c_int,
        value: u16,
    ) -> c_int {
        // SAFETY: See above; the arguments are the caller's.
        unsafe {
            Self::access(bus, || {
                bindings::mdiobb_write_c45(bus, phy, devad, reg, value)
            })
        }
    }
}
