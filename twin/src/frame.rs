// SPDX-License-Identifier: GPL-2.0-or-later

//! A frame on the wire, and what can be wrong with it.

/// How a frame was damaged on its way. Several may hold at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Defects {
    /// The FCS does not match (MSC.CRC).
    pub crc: bool,
    /// The PHY signalled a receive error (MSC.RFE).
    pub phy: bool,
    /// Shorter than 64 bytes with FCS (MSC.RTSF).
    pub short: bool,
    /// Longer than the limit of the receiver (MSC.RTLF).
    pub long: bool,
    /// Not a whole number of bytes (MSC.FRE).
    pub fraction: bool,
    /// Carrier lost during the frame (MSC.CRL).
    pub carrier_lost: bool,
    /// Carrier extension error (MSC.CEEF).
    pub carrier_ext: bool,
}

/// An Ethernet frame, from destination address to end of payload, without FCS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The bytes.
    pub data: Vec<u8>,
    /// What is wrong with it.
    pub defects: Defects,
}

impl Frame {
    /// Preamble, start delimiter, FCS and inter-frame gap: what a frame occupies on the wire
    /// beyond its own bytes.
    pub const OVERHEAD: usize = 8 + 4 + 12;

    /// A sound frame.
    pub fn new(data: Vec<u8>) -> Self {
        Self { data, defects: Defects::default() }
    }

    /// The wire's time for this frame at `mbps`, gap included, with padding to the minimum size.
    pub fn wire_time(&self, mbps: u32) -> crate::host::Ns {
        let bytes = (self.data.len().max(60) + Self::OVERHEAD) as u64;
        bytes * 8 * 1000 / u64::from(mbps.max(1))
    }
}
