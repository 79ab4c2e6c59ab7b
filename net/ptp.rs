// SPDX-License-Identifier: GPL-2.0

//! Hardware time stamps and clocks.
//!
//! C headers: [`include/linux/net_tstamp.h`](srctree/include/linux/net_tstamp.h),
//! [`include/linux/ptp_clock_kernel.h`](srctree/include/linux/ptp_clock_kernel.h)

use super::bindings;
use kernel::prelude::*;

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
        let tx = match self.tx {
            TxType::Off => bindings::hwtstamp_tx_types_HWTSTAMP_TX_OFF,
            TxType::On => bindings::hwtstamp_tx_types_HWTSTAMP_TX_ON,
        };
        let rx = match self.rx {
            RxFilter::None => bindings::hwtstamp_rx_filters_HWTSTAMP_FILTER_NONE,
            RxFilter::All => bindings::hwtstamp_rx_filters_HWTSTAMP_FILTER_ALL,
            RxFilter::PtpV2L2Event => bindings::hwtstamp_rx_filters_HWTSTAMP_FILTER_PTP_V2_L2_EVENT,
            RxFilter::Other(other) => other,
        };

        config.flags = 0;
        // CAST: C keeps enumerations in an `int`.
        config.tx_type = tx as c_int;
        // CAST: As above.
        config.rx_filter = rx as c_int;
    }
}
