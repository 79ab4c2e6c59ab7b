// SPDX-License-Identifier: GPL-2.0

//! Hardware time stamps and clocks.
//!
//! C headers: [`include/linux/net_tstamp.h`](srctree/include/linux/net_tstamp.h),
//! [`include/linux/ptp_clock_kernel.h`](srctree/include/linux/ptp_clock_kernel.h)

use core::{
    marker::{
        PhantomData,
        PhantomPinned, //
    },
    ptr::NonNull, //
};

use kernel::{
    error::{
        from_err_ptr,
        from_result,
        to_result, //
    },
    prelude::*,
    sync::SpinLockIrq,
    types::Opaque, //
};

use super::{
    bindings,
    device::{
        Device,
        Operations, //
    }, //
};

/// Which sent packets are stamped.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TxType {
    /// None.
    Off,
    /// Those that ask for it.
    On,
}

/// Which received packets are stamped.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum RxFilter {
    /// None.
    None,
    /// All.
    All,
    /// PTP version 2 event messages over Ethernet.
    PtpV2L2Event,
    /// Another set of `HWTSTAMP_FILTER_*`; a driver may stamp more than is asked for.
    Other(u32),
}

impl TxType {
    fn raw(self) -> u32 {
        match self {
            TxType::Off => bindings::hwtstamp_tx_types_HWTSTAMP_TX_OFF,
            TxType::On => bindings::hwtstamp_tx_types_HWTSTAMP_TX_ON,
        }
    }

    /// Returns the bit for [`HwTsInfo::tx_types`](super::ethtool::HwTsInfo::tx_types).
    pub fn bit(self) -> u32 {
        1 << self.raw()
    }
}

impl RxFilter {
    fn raw(self) -> u32 {
        match self {
            RxFilter::None => bindings::hwtstamp_rx_filters_HWTSTAMP_FILTER_NONE,
            RxFilter::All => bindings::hwtstamp_rx_filters_HWTSTAMP_FILTER_ALL,
            RxFilter::PtpV2L2Event => bindings::hwtstamp_rx_filters_HWTSTAMP_FILTER_PTP_V2_L2_EVENT,
            RxFilter::Other(other) => other,
        }
    }

    /// Returns the bit for [`HwTsInfo::rx_filters`](super::ethtool::HwTsInfo::rx_filters).
    pub fn bit(self) -> u32 {
        1u32.checked_shl(self.raw()).unwrap_or(0)
    }
}

/// A time-stamping configuration (`struct kernel_hwtstamp_config`).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct HwTstampConfig {
    /// What is stamped when sent.
    pub tx: TxType,
    /// What is stamped when received.
    pub rx: RxFilter,
}

impl HwTstampConfig {
    pub(super) fn load(config: &bindings::kernel_hwtstamp_config) -> Result<Self> {
        if config.flags != 0 {
            return Err(EINVAL);
        }
        // CAST: The fields are C enumerations that the core has checked.
        let tx = match config.tx_type as u32 {
            bindings::hwtstamp_tx_types_HWTSTAMP_TX_OFF => TxType::Off,
            bindings::hwtstamp_tx_types_HWTSTAMP_TX_ON => TxType::On,
            _ => return Err(ERANGE),
        };
        // CAST: As above.
        let rx = match config.rx_filter as u32 {
            bindings::hwtstamp_rx_filters_HWTSTAMP_FILTER_NONE => RxFilter::None,
            bindings::hwtstamp_rx_filters_HWTSTAMP_FILTER_ALL => RxFilter::All,
            bindings::hwtstamp_rx_filters_HWTSTAMP_FILTER_PTP_V2_L2_EVENT => RxFilter::PtpV2L2Event,
            other => RxFilter::Other(other),
        };

        Ok(Self { tx, rx })
    }

    pub(super) fn store(self, config: &mut bindings::kernel_hwtstamp_config) {
        config.flags = 0;
        // CAST: C keeps enumerations in an `int`.
        config.tx_type = self.tx.raw() as c_int;
        // CAST: As above.
        config.rx_filter = self.rx.raw() as c_int;
    }
}

/// What a clock has and can do.
pub struct Capabilities {
    /// A name for users, at most 31 bytes; not unique.
    pub name: &'static CStr,
    /// By how much its frequency can be changed, in parts per billion.
    pub max_adjustment: i32,
    /// Inputs for external time stamps. They stamp rising and falling edges, as the hardware has
    /// it: the user cannot choose.
    pub external_timestamps: u32,
    /// Periodic outputs.
    pub periodic_outputs: u32,
}

/// A change of frequency, in parts per million with a binary fraction of 16 bits.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct ScaledPpm(c_long);

impl ScaledPpm {
    /// No change.
    pub const NONE: Self = Self(0);

    /// Returns `base`, changed so.
    pub fn apply(self, base: u64) -> u64 {
        // SAFETY: No preconditions.
        unsafe { bindings::rnet_ptp_adjust(base, self.0) }
    }
}

/// Something beside the time that a clock can be asked to do.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Report edges at an input by [`Device::external_timestamp`].
    ExternalTimestamp {
        /// The number of the input.
        index: u32,
    },
    /// Tick at an output.
    PeriodicOutput {
        /// The number of the output.
        index: u32,
        /// Time of the first tick, in nanoseconds of the clock. It may be over.
        start: i64,
        /// Nanoseconds between two ticks; positive, if the output is switched on.
        period: i64,
    },
}

/// A network device with a PTP hardware clock (`struct ptp_clock_info`), see
/// [`Setup::ptp_clock`](super::Setup::ptp_clock).
///
/// Times are nanoseconds since the clock's epoch, 1970 by custom: good until 2262. All methods run
/// in process context and may sleep; several may run at the same time. They can be called from the
/// registration on, whether the interface is up or not, and the device powered or not, until the
/// device is unbound.
pub trait Clock: Operations {
    /// What the clock has.
    const CLOCK: Capabilities;

    /// Lets the clock run faster or slower than by nature.
    fn adjust_frequency(dev: &Device<'_, Self>, adjustment: ScaledPpm) -> Result;

    /// Moves the clock. The time that passes meanwhile should not be lost.
    fn adjust_time(dev: &Device<'_, Self>, delta: i64) -> Result;

    /// Reads the clock. `system` wants to know what is the moment of reading.
    fn time(dev: &Device<'_, Self>, system: &mut SystemTime<'_>) -> Result<i64>;

    /// Sets the clock.
    fn set_time(dev: &Device<'_, Self>, time: i64) -> Result;

    /// Switches something on or off. The core has checked that there is such an input or output.
    fn enable(dev: &Device<'_, Self>, request: Request, on: bool) -> Result;
}

/// Takes the time of the system's clock around a reading of the hardware's, for those who compare
/// the two (`PTP_SYS_OFFSET_EXTENDED`, `struct ptp_system_timestamp`).
pub struct SystemTime<'a> {
    /// May be null.
    raw: *mut bindings::ptp_system_timestamp,
    _life: PhantomData<&'a mut ()>,
}

impl SystemTime<'_> {
    /// The hardware's clock is read after this. Any context.
    #[inline]
    pub fn before(&mut self) {
        // SAFETY: `raw` is null or the core's, valid for the callback.
        unsafe { bindings::rnet_ptp_read_prets(self.raw) };
    }

    /// The hardware's clock was read. Any context.
    #[inline]
    pub fn after(&mut self) {
        // SAFETY: `raw` is null or the core's, valid for the callback.
        unsafe { bindings::rnet_ptp_read_postts(self.raw) };
    }
}

/// Returns `a / b`, or all ones if `b` is zero: 32-bit architectures have no such operation.
pub fn div(a: u64, b: u64) -> u64 {
    if b == 0 {
        return u64::MAX;
    }
    // SAFETY: `b` is not zero.
    unsafe { bindings::rnet_div64_u64(a, b) }
}

/// Divides a time into seconds and nanoseconds, the latter from 0 to 999999999.
pub fn seconds_and_nanoseconds(time: i64) -> (i64, u32) {
    let mut ts = bindings::timespec64 {
        ..pin_init::zeroed()
    };

    // SAFETY: `ts` is valid for writes.
    unsafe { bindings::rnet_ns_to_timespec64(time, &mut ts) };
    // CAST: Less than 10^9.
    (ts.tv_sec, ts.tv_nsec as u32)
}

/// What the clock's callbacks are given.
///
/// # Invariants
///
/// `ndev` is a device that is complete as long as the clock is registered.
#[pin_data]
struct Info {
    #[pin]
    info: Opaque<bindings::ptp_clock_info>,
    ndev: *mut bindings::net_device,
    #[pin]
    _pin: PhantomPinned,
}

/// A registered clock.
///
/// # Invariants
///
/// `clock` came from `ptp_clock_register` with `info`.
struct Registration {
    clock: NonNull<bindings::ptp_clock>,
    _info: Pin<KBox<Info>>,
}

// SAFETY: A clock may be unregistered from any thread.
unsafe impl Send for Registration {}

/// The place for a device's clock.
///
/// Events come from interrupt handlers: they hold the lock, so that the clock is there until they
/// are done.
#[pin_data]
pub(super) struct Slot {
    #[pin]
    clock: SpinLockIrq<Option<Registration>>,
}

impl Slot {
    pub(super) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            clock <- kernel::new_spinlock_irq!(None),
        })
    }
}

/// Registers the clock of a device that is complete.
pub(super) fn register<T: Clock>(dev: &Device<'_, T>) -> Result {
    let slot = &dev.private().clock;

    if slot.clock.lock().is_some() {
        return Err(EBUSY);
    }
    let info = KBox::pin_init(
        pin_init!(Info {
            info <- Opaque::ffi_init(|info: *mut bindings::ptp_clock_info| {
                // SAFETY: `info` is valid for writes.
                unsafe { info.write(Table::<T>::info()) }
            }),
            ndev: dev.as_raw(),
            _pin: PhantomPinned,
        }),
        GFP_KERNEL,
    )?;
    // SAFETY: The callbacks may come from now on. They are right for a device of this `T`, which is
    // complete; `info` and it live until the clock is unregistered.
    let clock = unsafe { bindings::rnet_ptp_clock_register(info.info.get(), dev.parent_raw()) };
    // Null: the kernel was built without PTP clocks.
    let clock = NonNull::new(from_err_ptr(clock)?).ok_or(EOPNOTSUPP)?;

    // INVARIANT: Just registered.
    *slot.clock.lock() = Some(Registration { clock, _info: info });
    Ok(())
}

/// Unregisters the clock of a device that is being taken down, if it has one, and waits for its
/// callbacks.
pub(super) fn unregister<T: Operations>(dev: &Device<'_, T>) {
    let registration = dev.private().clock.clock.lock().take();

    if let Some(registration) = registration {
        // SAFETY: By the type invariant. Nobody has the pointer any more: it is used under the lock
        // only. After this no callback is running, and `info` not used.
        unsafe { bindings::rnet_ptp_clock_unregister(registration.clock.as_ptr()) };
    }
}

impl<T: Operations> Device<'_, T> {
    /// Returns the number of the PTP hardware clock, if there is one. Any context.
    pub fn clock_index(&self) -> Option<u32> {
        let clock = self.private().clock.clock.lock();
        let registration = clock.as_ref()?;

        // SAFETY: The clock is registered, and stays so while the lock is held.
        u32::try_from(unsafe { bindings::rnet_ptp_clock_index(registration.clock.as_ptr()) }).ok()
    }

    /// Reports an edge at an input of the PTP hardware clock. Any context.
    pub fn external_timestamp(&self, index: u32, time: i64) {
        if let Some(registration) = &*self.private().clock.clock.lock() {
            // SAFETY: The clock is registered, and stays so while the lock is held.
            unsafe {
                bindings::rnet_ptp_extts_event(registration.clock.as_ptr(), index as c_int, time)
            };
        }
    }
}

/// The callbacks of a clock.
struct Table<T: Clock>(PhantomData<T>);

impl<T: Clock> Table<T> {
    fn info() -> bindings::ptp_clock_info {
        let mut info = bindings::ptp_clock_info {
            max_adj: T::CLOCK.max_adjustment,
            // CAST: Small numbers.
            n_ext_ts: T::CLOCK.external_timestamps as c_int,
            // CAST: As above.
            n_per_out: T::CLOCK.periodic_outputs as c_int,
            supported_extts_flags: bindings::PTP_RISING_EDGE | bindings::PTP_FALLING_EDGE,
            adjfine: Some(Self::adjfine),
            adjtime: Some(Self::adjtime),
            gettimex64: Some(Self::gettimex64),
            settime64: Some(Self::settime64),
            enable: Some(Self::enable),
            ..pin_init::zeroed()
        };
        // The last byte stays zero.
        let room = info.name.len() - 1;

        for (to, from) in info
            .name
            .iter_mut()
            .take(room)
            .zip(T::CLOCK.name.to_bytes())
        {
            *to = *from;
        }
        info
    }

    // The core calls these for registered clocks, with the `info` that was registered, which is in
    // an `Info`.

    /// # Safety
    ///
    /// As just said.
    unsafe fn device<'a, 'b>(info: *mut bindings::ptp_clock_info) -> &'a Device<'b, T> {
        // SAFETY: By the safety requirement.
        let info = unsafe { &*kernel::container_of!(Opaque::cast_from(info), Info, info) };

        // SAFETY: By the type invariant; `register` was given a device of this `T`. It unregisters
        // its clock before its data is dropped, and before its parent is unbound.
        unsafe { Device::from_raw(info.ndev) }
    }

    extern "C" fn adjfine(info: *mut bindings::ptp_clock_info, ppm: c_long) -> c_int {
        // SAFETY: See above.
        let dev = unsafe { Self::device(info) };

        from_result(|| T::adjust_frequency(dev, ScaledPpm(ppm)).map(|()| 0))
    }

    extern "C" fn adjtime(info: *mut bindings::ptp_clock_info, delta: i64) -> c_int {
        // SAFETY: See above.
        let dev = unsafe { Self::device(info) };

        from_result(|| T::adjust_time(dev, delta).map(|()| 0))
    }

    extern "C" fn gettimex64(
        info: *mut bindings::ptp_clock_info,
        ts: *mut bindings::timespec64,
        system: *mut bindings::ptp_system_timestamp,
    ) -> c_int {
        // SAFETY: See above.
        let dev = unsafe { Self::device(info) };
        let mut system = SystemTime {
            raw: system,
            _life: PhantomData,
        };

        from_result(|| {
            let time = T::time(dev, &mut system)?;

            // SAFETY: `ts` is valid for writes.
            unsafe { bindings::rnet_ns_to_timespec64(time, ts) };
            Ok(0)
        })
    }

    extern "C" fn settime64(
        info: *mut bindings::ptp_clock_info,
        ts: *const bindings::timespec64,
    ) -> c_int {
        // SAFETY: See above.
        let dev = unsafe { Self::device(info) };
        let mut time = 0;

        from_result(|| {
            // SAFETY: `ts` is valid.
            to_result(unsafe { bindings::rnet_timespec64_to_ns(ts, &mut time) })?;
            T::set_time(dev, time).map(|()| 0)
        })
    }

    extern "C" fn enable(
        info: *mut bindings::ptp_clock_info,
        request: *mut bindings::ptp_clock_request,
        on: c_int,
    ) -> c_int {
        // SAFETY: See above.
        let dev = unsafe { Self::device(info) };
        let mut decoded = bindings::rnet_ptp_request {
            ..pin_init::zeroed()
        };

        from_result(|| {
            // SAFETY: `request` is valid.
            to_result(unsafe { bindings::rnet_ptp_decode(request, &mut decoded) })?;

            let index = decoded.index;
            let request = if decoded.periodic {
                if on != 0 && decoded.period <= 0 {
                    return Err(EINVAL);
                }
                Request::PeriodicOutput {
                    index,
                    start: decoded.start,
                    period: decoded.period,
                }
            } else {
                Request::ExternalTimestamp { index }
            };

            T::enable(dev, request, on != 0).map(|()| 0)
        })
    }
}

#[kunit_tests(ravb_rs_net_ptp)]
mod tests {
    use super::*;

    #[test]
    fn adjustment() {
        // Parts per million, with 16 binary digits.
        let ppm = |ppm: c_long| ScaledPpm(ppm * 65536);

        assert_eq!(ScaledPpm::NONE.apply(0x0a0_0000), 0x0a0_0000);
        assert_eq!(ppm(1).apply(1_000_000_000), 1_000_001_000);
        assert_eq!(ppm(-1).apply(1_000_000_000), 999_999_000);
        assert_eq!(ppm(50_000).apply(0x29a_aaaa), 0x2bb_ffff);
        assert_eq!(ppm(-50_000).apply(0x29a_aaaa), 0x279_5555);
        // What is less than one part in the base vanishes.
        assert_eq!(ScaledPpm(1).apply(0x0a0_0000), 0x0a0_0000);
        // A day in nanoseconds.
        assert_eq!(ppm(100).apply(86_400_000_000_000), 86_408_640_000_000);
    }

    #[test]
    fn division() {
        assert_eq!(div(1_000_000_000 << 20, 100_000_000), 10 << 20);
        assert_eq!(div(u64::MAX, 1), u64::MAX);
        assert_eq!(div(7, 0), u64::MAX);
    }

    #[test]
    fn parts_of_a_time() {
        assert_eq!(seconds_and_nanoseconds(0), (0, 0));
        assert_eq!(seconds_and_nanoseconds(1_999_999_999), (1, 999_999_999));
        assert_eq!(seconds_and_nanoseconds(-1), (-1, 999_999_999));
        assert_eq!(
            seconds_and_nanoseconds(i64::MAX),
            (9_223_372_036, 854_775_807)
        );
    }
}
