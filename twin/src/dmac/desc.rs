// SPDX-License-Identifier: GPL-2.0-or-later

//! Descriptors in guest memory (reference sections 2.4 and 2.5).

use crate::host::{BusError, Host};

/// Descriptor types: the upper nibble of byte 3.
#[allow(missing_docs, reason = "the names are those of the reference's table")]
pub mod dt {
    pub const LEMPTY: u8 = 0x2;
    pub const EEMPTY: u8 = 0x3;
    pub const FMID: u8 = 0x4;
    pub const FSTART: u8 = 0x5;
    pub const FEND: u8 = 0x6;
    pub const FSINGLE: u8 = 0x7;
    pub const LINK: u8 = 0x8;
    pub const LINKFIX: u8 = 0x9;
    pub const EOS: u8 = 0xA;
    pub const FEMPTY: u8 = 0xC;
}

/// DS: bits 11:0 of the first word.
pub const DS_MASK: u16 = 0xFFF;
/// RX: the frame was cut.
pub const DS_TR: u16 = 1 << 12;
/// RX: there was an error.
pub const DS_EI: u16 = 1 << 13;

/// Size of a normal descriptor.
pub const NORMAL: u32 = 8;
/// Size of an RX descriptor with time stamp.
pub const STAMPED: u32 = 20;

/// Entry of RX queue 0 in the descriptor base address table.
pub const RX_BASE: u32 = 4;

/// Links in a row without a data descriptor before the walk is given up.
pub const MAX_LINKS: u32 = 16;

/// The first eight bytes of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Desc {
    /// Bytes 0 and 1: size and flags.
    pub ds: u16,
    /// Byte 2: tag and TSR (TX), MSC (RX).
    pub info: u8,
    /// Type.
    pub dt: u8,
    /// Number of the descriptor interrupt, 0 for none.
    pub die: u8,
    /// Buffer or next descriptor.
    pub ptr: u32,
}

impl Desc {
    /// Reads the descriptor at `addr`.
    pub fn read(host: &mut dyn Host, addr: u32) -> Result<Self, BusError> {
        let mut bytes = [0; NORMAL as usize];
        host.dma_read(addr.into(), &mut bytes)?;
        let [d0, d1, info, kind, p0, p1, p2, p3] = bytes;
        Ok(Self {
            ds: u16::from_le_bytes([d0, d1]),
            info,
            dt: kind >> 4,
            die: kind & 15,
            ptr: u32::from_le_bytes([p0, p1, p2, p3]),
        })
    }

    /// Bytes of the buffer.
    pub fn size(&self) -> usize {
        usize::from(self.ds & DS_MASK)
    }

    /// TX: whether a time stamp is wanted, and the tag it is to carry.
    pub fn stamp_tag(&self) -> Option<u16> {
        let tag = (self.ds >> 12) | (u16::from(self.info & 0x3F) << 4);
        (self.info & 0x40 != 0).then_some(tag)
    }
}

/// Replaces the type of the descriptor at `addr` and leaves the rest of it alone.
pub fn write_type(host: &mut dyn Host, addr: u32, dt: u8, die: u8) -> Result<(), BusError> {
    host.dma_write(u64::from(addr) + 3, &[(dt << 4) | die])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Memory;

    #[test]
    fn fields() {
        let mut host = Memory::new(0x1000, 64);
        host.dma_write(0x1008, &[0x34, 0xA2, 0x47, 0x73, 0x78, 0x56, 0x34, 0x12]).unwrap();
        let desc = Desc::read(&mut host, 0x1008).unwrap();
        assert_eq!(
            (desc.size(), desc.dt, desc.die, desc.ptr),
            (0x234, dt::FSINGLE, 3, 0x1234_5678)
        );
        // Tag 3:0 in bits 15:12, 9:4 in byte 2.
        assert_eq!(desc.stamp_tag(), Some(0x07A));
        write_type(&mut host, 0x1008, dt::FEMPTY, 0).unwrap();
        let mut bytes = [0; 8];
        host.dma_read(0x1008, &mut bytes).unwrap();
        assert_eq!(bytes, [0x34, 0xA2, 0x47, 0xC0, 0x78, 0x56, 0x34, 0x12]);
    }

    #[test]
    fn no_stamp_without_tsr() {
        let desc = Desc { ds: 0xF000, info: 0x3F, dt: dt::FEND, die: 0, ptr: 0 };
        assert_eq!(desc.stamp_tag(), None);
    }
}
