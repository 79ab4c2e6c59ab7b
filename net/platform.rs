// SPDX-License-Identifier: GPL-2.0

//! Platform drivers for network devices.
//!
//! `kernel::platform::Driver` leaves the ownership of the bound data to the driver and has no
//! system-sleep callbacks. This adapter owns the [network device](super::Device) and everything
//! registered for it, and has both.
//!
//! C headers: [`include/linux/platform_device.h`](srctree/include/linux/platform_device.h),
//! [`include/linux/pm.h`](srctree/include/linux/pm.h)

use core::{
    marker::PhantomData,
    mem::offset_of, //
};

use kernel::{
    acpi,
    device::{
        self,
        Bound,
        Core, //
    },
    driver,
    error::{
        from_result,
        to_result,
        VTABLE_DEFAULT_ERROR, //
    },
    of,
    platform,
    prelude::*,
    types::Opaque, //
};

use super::{
    bindings,
    device::{
        Binding,
        Device,
        Setup, //
    },
    rtnl,
    rtnl::Rtnl, //
};

/// A driver of network devices on the platform bus.
#[vtable]
pub trait Driver: super::Operations {
    /// What the device table says about each device.
    type IdInfo: 'static;

    /// The device table.
    const OF_ID_TABLE: Option<of::IdTable<Self::IdInfo>> = None;

    /// Sets up a device: [`Setup::alloc`] and what follows. The device is registered when this has
    /// returned `Ok`; until then nobody opens it.
    fn probe<'b>(
        pdev: &'b platform::Device<Core<'_>>,
        info: Option<&'b Self::IdInfo>,
        setup: &mut Setup<'b, Self>,
    ) -> Result;

    /// The device is registered. For a message, and what needs the interface's name.
    fn registered(_dev: &Device<'_, Self>) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The device is going away: brings the hardware to rest.
    ///
    /// The interface is unregistered, PHY, MDIO bus and work items are gone; interrupt lines are
    /// still requested. Also called when a `probe` fails after [`Setup::alloc`].
    fn remove(_dev: &Device<'_, Self>) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Runtime suspend: clocks off. The device's registers are not accessed after this.
    fn runtime_suspend(_dev: &Device<'_, Self>) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Runtime resume: clocks on.
    fn runtime_resume(_dev: &Device<'_, Self>) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// System suspend, for memory or for a hibernation image. The RTNL is held.
    fn suspend(_dev: &Device<'_, Self>, _rtnl: &Rtnl) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// System resume. The RTNL is held.
    fn resume(_dev: &Device<'_, Self>, _rtnl: &Rtnl) -> Result {
        build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The system goes down or starts another kernel: DMA must stop. The RTNL is held.
    fn shutdown(_dev: &Device<'_, Self>, _rtnl: &Rtnl) {
        build_error!(VTABLE_DEFAULT_ERROR)
    }
}

/// The bus's end of a driver.
pub struct Adapter<T: Driver>(PhantomData<T>);

/// The driver data of a bound device.
///
/// Dropped by the driver core after `remove`, or after a failed probe, and before device-managed
/// resources are released.
pub struct DriverData<T: Driver> {
    binding: Pin<KBox<Binding<T>>>,
}

impl<T: Driver> Drop for DriverData<T> {
    fn drop(&mut self) {
        // SAFETY: The parent is still bound, see above. The bus calls nothing while it unbinds.
        unsafe {
            self.binding.teardown(|dev| {
                if T::HAS_REMOVE {
                    T::remove(dev);
                }
            })
        };
    }
}

// SAFETY:
// - `bindings::platform_driver` is a C type declared as `repr(C)`.
// - `DriverData` is what `probe` stores.
// - `struct platform_driver` embeds a `struct device_driver` at that offset.
unsafe impl<T: Driver> driver::DriverLayout for Adapter<T> {
    type DriverType = bindings::platform_driver;
    type DriverData<'bound> = DriverData<T>;
    const DEVICE_DRIVER_OFFSET: usize = offset_of!(Self::DriverType, driver);
}

// SAFETY: A call to `unregister` for a given instance of `DriverType` is guaranteed to be valid if
// a preceding call to `register` has been successful.
unsafe impl<T: Driver> driver::RegistrationOps for Adapter<T> {
    unsafe fn register(
        pdrv: &Opaque<Self::DriverType>,
        name: &'static CStr,
        module: &'static ThisModule,
    ) -> Result {
        // SAFETY: The structure is not registered yet, hence ours. The tables are static.
        unsafe {
            let pdrv = &mut *pdrv.get();

            pdrv.probe = Some(Self::probe);
            if T::HAS_SHUTDOWN {
                pdrv.shutdown = Some(Self::shutdown);
            }
            pdrv.driver.name = name.as_char_ptr();
            pdrv.driver.of_match_table =
                T::OF_ID_TABLE.map_or(core::ptr::null(), |table| table.as_ptr());
            pdrv.driver.pm = &Self::PM;
        }

        // SAFETY: The structure is complete, and stays pinned until `unregister`.
        to_result(unsafe {
            bindings::__platform_driver_register(pdrv.get(), module.as_ptr(), name.as_char_ptr())
        })
    }

    unsafe fn unregister(pdrv: &Opaque<Self::DriverType>) {
        // SAFETY: `pdrv` is registered.
        unsafe { bindings::platform_driver_unregister(pdrv.get()) };
    }
}

impl<T: Driver> driver::Adapter for Adapter<T> {
    type IdInfo = T::IdInfo;

    fn of_id_table() -> Option<of::IdTable<Self::IdInfo>> {
        T::OF_ID_TABLE
    }

    fn acpi_id_table() -> Option<acpi::IdTable<Self::IdInfo>> {
        None
    }
}

impl<T: Driver> Adapter<T> {
    const PM: bindings::dev_pm_ops = bindings::dev_pm_ops {
        suspend: if T::HAS_SUSPEND {
            Some(Self::suspend)
        } else {
            None
        },
        resume: if T::HAS_RESUME {
            Some(Self::resume)
        } else {
            None
        },
        freeze: if T::HAS_SUSPEND {
            Some(Self::suspend)
        } else {
            None
        },
        thaw: if T::HAS_RESUME {
            Some(Self::resume)
        } else {
            None
        },
        poweroff: if T::HAS_SUSPEND {
            Some(Self::suspend)
        } else {
            None
        },
        restore: if T::HAS_RESUME {
            Some(Self::resume)
        } else {
            None
        },
        runtime_suspend: if T::HAS_RUNTIME_SUSPEND {
            Some(Self::runtime_suspend)
        } else {
            None
        },
        runtime_resume: if T::HAS_RUNTIME_RESUME {
            Some(Self::runtime_resume)
        } else {
            None
        },
        ..pin_init::zeroed()
    };

    extern "C" fn probe(pdev: *mut bindings::platform_device) -> c_int {
        // SAFETY: The bus passes a valid device, which is being bound: this is what the `Core`
        // context stands for. `platform::Device` is a transparent wrapper.
        let pdev = unsafe { &*pdev.cast::<platform::Device<Core<'_>>>() };
        let parent: &device::Device<Bound> = pdev.as_ref();

        // SAFETY: The match data of this driver's table is of type `T::IdInfo`.
        let info = unsafe { <Self as driver::Adapter>::id_info(parent) };

        from_result(|| {
            let data = KBox::new(
                DriverData {
                    binding: KBox::pin(Binding::<T>::new(parent), GFP_KERNEL)?,
                },
                GFP_KERNEL,
            )?;
            let data = KBox::into_raw(data);

            // From here on the driver core owns the data: it drops it also when this fails
            // (`driver::Registration::post_unbind_callback`). It takes it for a
            // `Pin<KBox<DriverData>>`, whose foreign representation is this pointer.
            //
            // SAFETY: The device is valid.
            unsafe { bindings::dev_set_drvdata(super::dma::raw(parent), data.cast()) };

            // SAFETY: `data` lives until the device is unbound, after this.
            let binding = unsafe { (*data).binding.as_ref() };
            // SAFETY: This is the only set-up. The binding is taken down when the data is dropped,
            // while the parent is still bound.
            let mut setup = unsafe { Setup::new(parent, binding) };

            T::probe(pdev, info, &mut setup)?;
            // SAFETY: The parent is bound, and nothing takes the binding down now.
            unsafe { binding.register() }?;
            if T::HAS_REGISTERED {
                T::registered(setup.device()?);
            }
            Ok(0)
        })
    }

    /// Calls `f` with the network device of a platform device, if it has one (yet).
    ///
    /// # Safety
    ///
    /// `dev` must be bound to this driver or in its probe, and must not be unbound meanwhile.
    unsafe fn with(dev: *mut bindings::device, f: impl FnOnce(&Device<'_, T>) -> Result) -> c_int {
        // SAFETY: `dev` is valid.
        let data = unsafe { bindings::dev_get_drvdata(dev) }.cast::<DriverData<T>>();

        from_result(|| {
            // SAFETY: Set by `probe` and not dropped while the device is bound, or null.
            let Some(data) = (unsafe { data.as_ref() }) else {
                return Ok(0);
            };
            // SAFETY: The device stays bound, hence its binding is not taken down.
            let Some(dev) = (unsafe { data.binding.device() }) else {
                return Ok(0);
            };

            f(dev).map(|()| 0)
        })
    }

    // The PM core and the driver core call the following for devices that are bound to this driver
    // (or are in its probe, for runtime PM), and keep them from being unbound meanwhile: with the
    // device lock held, or by waiting for runtime PM in `pm_runtime_disable`, which precedes the
    // end of the binding.

    extern "C" fn runtime_suspend(dev: *mut bindings::device) -> c_int {
        // SAFETY: See above.
        unsafe { Self::with(dev, |dev| T::runtime_suspend(dev)) }
    }

    extern "C" fn runtime_resume(dev: *mut bindings::device) -> c_int {
        // SAFETY: See above.
        unsafe { Self::with(dev, |dev| T::runtime_resume(dev)) }
    }

    extern "C" fn suspend(dev: *mut bindings::device) -> c_int {
        // SAFETY: See above.
        unsafe { Self::with(dev, |dev| T::suspend(dev, &rtnl::lock())) }
    }

    extern "C" fn resume(dev: *mut bindings::device) -> c_int {
        // SAFETY: See above.
        unsafe { Self::with(dev, |dev| T::resume(dev, &rtnl::lock())) }
    }

    extern "C" fn shutdown(pdev: *mut bindings::platform_device) {
        // SAFETY: The bus passes a valid device.
        let dev = unsafe { &raw mut (*pdev).dev };

        // SAFETY: See above.
        let _ = unsafe {
            Self::with(dev, |dev| {
                T::shutdown(dev, &rtnl::lock());
                Ok(())
            })
        };
    }
}

/// Declares a module that has one network driver on the platform bus.
#[macro_export]
macro_rules! module_net_platform_driver {
    ($($f:tt)*) => {
        ::kernel::module_driver!(<T>, $crate::net::platform::Adapter<T>, { $($f)* });
    };
}

/// Declares a module that has several network drivers on the platform bus, each with a name of its
/// own: `types: [field: Type = c"name", ...]`.
#[macro_export]
macro_rules! module_net_platform_drivers {
    (types: [$($field:ident: $type:ty = $name:expr),* $(,)?], $($f:tt)*) => {
        #[::kernel::prelude::pin_data]
        struct DriverModule {
            $(
                #[pin]
                $field: ::kernel::driver::Registration<$crate::net::platform::Adapter<$type>>,
            )*
        }

        impl ::kernel::InPlaceModule for DriverModule {
            fn init(
                module: &'static ::kernel::ThisModule,
            ) -> impl ::pin_init::PinInit<Self, ::kernel::error::Error> {
                ::kernel::try_pin_init!(Self {
                    $($field <- ::kernel::driver::Registration::new($name, module),)*
                })
            }
        }

        ::kernel::prelude::module! {
            type: DriverModule,
            $($f)*
        }
    };
}
