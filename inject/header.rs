// SPDX-License-Identifier: GPL-2.0

//! The header in front of each frame, in both directions: seven words, big endian. Bits are counted
//! from the end; bit 0 is the lowest one of the last byte.

/// Its words.
pub(super) const WORDS: usize = 7;

const BYTES: usize = WORDS * 4;

/// A field of the header.
#[derive(Clone, Copy)]
struct Field {
    low: usize,
    width: usize,
}

/// The frame bypasses the analyzer: the header says where it goes.
const BYPASS: Field = Field { low: 191, width: 1 };
/// Destination ports, a bit for each.
const DSTS: Field = Field { low: 62, width: 9 };
/// The length of a received frame, with its FCS.
const LEN: Field = Field {
    low: 178,
    width: 14,
};

/// The number of front ports that a header can name.
pub(super) const PORTS: u32 = 8;

impl Field {
    /// Returns the byte and the bit in it of bit `at` of the field.
    fn place(self, at: usize) -> (usize, usize) {
        let bit = self.low + at;

        (BYTES - 1 - bit / 8, bit % 8)
    }

    fn set(self, header: &mut [u8; BYTES], value: u32) {
        for at in 0..self.width {
            let (byte, bit) = self.place(at);

            if let Some(byte) = header.get_mut(byte) {
                *byte |= ((value >> at & 1) as u8) << bit;
            }
        }
    }

    fn get(self, header: &[u8; BYTES]) -> u32 {
        let mut value = 0;

        for at in 0..self.width {
            let (byte, bit) = self.place(at);
            let byte = header.get(byte).copied().unwrap_or_default();

            value |= u32::from(byte >> bit & 1) << at;
        }
        value
    }
}

/// A header, as words in the order of memory.
#[derive(Clone, Copy)]
pub(super) struct Header(pub(super) [u32; WORDS]);

impl Header {
    /// The header of frames that leave by a port, untagged and in the lowest class. What is not
    /// given must be zero.
    pub(super) fn for_port(port: u32) -> Self {
        let mut bytes = [0; BYTES];

        BYPASS.set(&mut bytes, 1);
        DSTS.set(&mut bytes, 1 << port);

        let mut words = [0; WORDS];

        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            if let &[a, b, c, d] = bytes {
                *word = u32::from_le_bytes([a, b, c, d]);
            }
        }
        Self(words)
    }

    /// Returns the length of a received frame, with its FCS.
    pub(super) fn frame_len(&self) -> usize {
        let mut bytes = [0; BYTES];

        for (to, word) in bytes.chunks_exact_mut(4).zip(self.0) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        LEN.get(&bytes) as usize
    }
}

#[kernel::prelude::kunit_tests(lan966x_cpu_port_header)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_bit() {
        for port in 0..PORTS {
            let header = Header::for_port(port);
            let mut bits = 0;

            for (n, word) in header.0.iter().enumerate() {
                let be = u32::from_be_bytes(word.to_le_bytes());

                bits += be.count_ones();
                match n {
                    // Bit 191 is the top one of the second word, bits 62 and up are in the last
                    // but one and the one before.
                    1 => assert_eq!(be, 1u32 << 31),
                    4 => assert_eq!(be, if port >= 2 { 1u32 << (port - 2) } else { 0 }),
                    5 => assert_eq!(be, if port < 2 { 1u32 << (30 + port) } else { 0 }),
                    _ => assert_eq!(be, 0),
                }
            }
            assert_eq!(bits, 2);
        }
    }

    #[test]
    fn lengths() {
        for len in [0u32, 64, 1518, 0x3fff] {
            let mut bytes = [0xffu8; BYTES];

            // All other fields are as full as can be.
            for at in 0..LEN.width {
                let (byte, bit) = LEN.place(at);

                bytes[byte] &= !(1 << bit);
            }
            LEN.set(&mut bytes, len);

            let mut words = [0; WORDS];

            for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
                *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            }
            assert_eq!(Header(words).frame_len(), len as usize);
        }
    }
}
