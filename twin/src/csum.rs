// SPDX-License-Identifier: GPL-2.0-or-later

//! Internet checksums: the two-byte sum of R-Car (ECMR.RCSC) and GbEth's checksum engine (TOE).
//!
//! Sources: reference section 1.7; enable bits of CSR1 and CSR2 as the driver names them.

use crate::mac::regs::bits;

/// One's-complement sum of 16-bit big-endian words; an odd last byte is padded with zero.
pub fn sum(data: &[u8]) -> u16 {
    fold(add(0, data))
}

fn add(start: u64, data: &[u8]) -> u64 {
    let mut total = start;
    let mut words = data.chunks_exact(4);
    for word in &mut words {
        total += u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]]));
    }
    let mut last = [0; 4];
    let rest = words.remainder();
    last[..rest.len()].copy_from_slice(rest);
    total + u64::from(u32::from_be_bytes(last))
}

fn fold(mut total: u64) -> u16 {
    while total >> 16 != 0 {
        total = (total & 0xFFFF) + (total >> 16);
    }
    total as u16
}

/// The two bytes that R-Car appends to a received frame: the sum from offset 14 to the end, in
/// network order, not inverted.
pub fn rcar_trailer(frame: &[u8]) -> [u8; 2] {
    sum(frame.get(14..).unwrap_or(&[])).to_be_bytes()
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMP6: u8 = 58;

/// Extension headers that an enable bit of CSR1 or CSR2 lets the engine skip.
const EXTENSIONS: [(u8, u32); 3] = [(0, 1 << 24), (43, 1 << 25), (60, 1 << 27)];

/// Where the checksums of a frame are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    /// IPv4 header, if it is IPv4.
    ip4: Option<(usize, usize)>,
    /// Transport header and end of payload, if the engine understands it.
    l4: Option<L4>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct L4 {
    proto: u8,
    v6: bool,
    start: usize,
    end: usize,
    /// Place of the checksum field.
    field: usize,
    /// Sum of the pseudo header.
    pseudo: u64,
}

impl L4 {
    /// The enable bit that this protocol needs in CSR1 or CSR2.
    fn enable(&self) -> u32 {
        match (self.proto, self.v6) {
            (TCP, false) => bits::CSR1_TTCP4,
            (UDP, false) => bits::CSR1_TUDP4,
            (ICMP, false) => bits::CSR1_TICMP4,
            (TCP, true) => bits::CSR1_TTCP6,
            (UDP, true) => bits::CSR1_TUDP6,
            (ICMP6, true) => bits::CSR1_TICMP6,
            _ => 0,
        }
    }

    fn held(&self, frame: &[u8]) -> u16 {
        u16::from_be_bytes([frame[self.field], frame[self.field + 1]])
    }

    /// UDP over IPv4 without checksum.
    fn is_blank(&self, frame: &[u8]) -> bool {
        self.proto == UDP && !self.v6 && self.held(frame) == 0
    }

    fn total(&self, frame: &[u8]) -> u16 {
        fold(add(self.pseudo, &frame[self.start..self.end]))
    }
}

fn be16(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]))
}

/// Finds the headers. One 802.1Q tag (0x8100) is understood; fragments, truncated packets and
/// anything else that the engine cannot sum have no `l4`.
fn parse(frame: &[u8], enable: u32) -> Layout {
    let none = Layout { ip4: None, l4: None };
    let (kind, ip) = match be16(frame, 12) {
        Some(0x8100) => (be16(frame, 16), 18),
        kind => (kind, 14),
    };
    match kind {
        Some(0x0800) => parse4(frame, ip).unwrap_or(none),
        Some(0x86DD) => Layout { ip4: None, l4: parse6(frame, ip, enable) },
        _ => none,
    }
}

fn parse4(frame: &[u8], ip: usize) -> Option<Layout> {
    let version_len = *frame.get(ip)?;
    let header = usize::from(version_len & 15) * 4;
    let total = usize::from(be16(frame, ip + 2)?);
    if version_len >> 4 != 4 || header < 20 || total < header || frame.len() < ip + total {
        return None;
    }
    let fragment = be16(frame, ip + 6)? & 0x3FFF != 0;
    let proto = frame[ip + 9];
    let l4 = if fragment {
        None
    } else {
        let len = total - header;
        let pseudo = match proto {
            ICMP => 0,
            _ => add(u64::from(proto) + len as u64, &frame[ip + 12..ip + 20]),
        };
        transport(frame, proto, false, ip + header, ip + total, pseudo)
    };
    Some(Layout { ip4: Some((ip, header)), l4 })
}

fn parse6(frame: &[u8], ip: usize, enable: u32) -> Option<L4> {
    if *frame.get(ip)? >> 4 != 6 {
        return None;
    }
    let end = ip + 40 + usize::from(be16(frame, ip + 4)?);
    if frame.len() < end {
        return None;
    }
    let mut proto = frame[ip + 6];
    let mut start = ip + 40;
    while let Some(&(_, bit)) = EXTENSIONS.iter().find(|(kind, _)| *kind == proto) {
        // Each header is at least 8 bytes long, so this ends.
        if enable & bit == 0 || start + 8 > end {
            return None;
        }
        proto = frame[start];
        start += 8 * (usize::from(frame[start + 1]) + 1);
    }
    if start > end {
        return None;
    }
    let pseudo = add(u64::from(proto) + (end - start) as u64, &frame[ip + 8..ip + 40]);
    transport(frame, proto, true, start, end, pseudo)
}

fn transport(
    frame: &[u8],
    proto: u8,
    v6: bool,
    start: usize,
    end: usize,
    pseudo: u64,
) -> Option<L4> {
    let (header, field) = match (proto, v6) {
        (TCP, _) => (20, 16),
        (UDP, _) => (8, 6),
        (ICMP, false) | (ICMP6, true) => (4, 2),
        _ => return None,
    };
    if end - start < header {
        return None;
    }
    if proto == UDP && usize::from(be16(frame, start + 4)?) != end - start {
        return None;
    }
    Some(L4 { proto, v6, start, end, field: start + field, pseudo })
}

/// Result in the trailer for a frame whose checksum the engine did not look at.
pub const UNSUPPORTED: u16 = 0xFFFF;

/// The four bytes that GbEth appends to a received frame: result for the IPv4 header, result for
/// the transport layer, each little-endian; 0 is good.
///
/// The value for a bad checksum is not known; here it is what the sum misses, never 0 nor
/// [`UNSUPPORTED`].
pub fn toe_trailer(frame: &[u8], csr2: u32) -> [u8; 4] {
    let layout = parse(frame, csr2);
    let header = match layout.ip4 {
        Some((at, len)) if csr2 & bits::CSR1_TIP4 != 0 => verdict(sum(&frame[at..at + len])),
        _ => UNSUPPORTED,
    };
    let l4 = match layout.l4 {
        Some(l4) if csr2 & l4.enable() != 0 && !l4.is_blank(frame) => verdict(l4.total(frame)),
        _ => UNSUPPORTED,
    };
    let [a, b] = header.to_le_bytes();
    let [c, d] = l4.to_le_bytes();
    [a, b, c, d]
}

/// A sum over data and checksum is all ones when the checksum holds.
fn verdict(total: u16) -> u16 {
    match !total {
        UNSUPPORTED => UNSUPPORTED - 1,
        missing => missing,
    }
}

/// What the engine does to a frame on its way out: fills in the checksums that `csr1` enables and
/// that it understands, from scratch, whatever the field holds; a UDP/IPv4 checksum of 0 stays.
pub fn insert(frame: &mut [u8], csr1: u32) {
    if csr1 == 0 {
        return;
    }
    let layout = parse(frame, csr1);
    if let Some(l4) = layout.l4 {
        if csr1 & l4.enable() != 0 && !l4.is_blank(frame) {
            frame[l4.field..l4.field + 2].fill(0);
            let value = match !l4.total(frame) {
                0 if l4.proto == UDP => 0xFFFF,
                value => value,
            };
            frame[l4.field..l4.field + 2].copy_from_slice(&value.to_be_bytes());
        }
    }
    if let Some((at, len)) = layout.ip4 {
        if csr1 & bits::CSR1_TIP4 != 0 {
            frame[at + 10..at + 12].fill(0);
            let value = !sum(&frame[at..at + len]);
            frame[at + 10..at + 12].copy_from_slice(&value.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the driver writes to CSR1 and CSR2.
    const CSR1: u32 = 0x0030_0030;
    const CSR2: u32 = 0x0070_0070;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> =
            text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4) | pair[1]).collect()
    }

    /// The example of RFC 1071 section 3: the sum of these bytes is ddf2.
    #[test]
    fn rfc1071_example() {
        assert_eq!(sum(&hex("0001 f203 f4f5 f6f7")), 0xDDF2);
        assert_eq!(sum(&hex("0001 f203 f4f5 f6f7 f8")), fold(0xDDF2 + 0xF800));
        assert_eq!(sum(&[]), 0);
        assert_eq!(sum(&[0xAB]), 0xAB00);
    }

    /// A header with its checksum b861, widely used as example.
    const IP4: &str = "4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7";

    #[test]
    fn well_known_ipv4_header() {
        assert_eq!(sum(&hex(IP4)), 0xFFFF);
    }

    #[test]
    fn rcar_sum_starts_behind_the_ethernet_header() {
        let mut frame = vec![0xEE; 14];
        frame.extend(hex("0001 f203 f4f5 f6f7"));
        assert_eq!(rcar_trailer(&frame), [0xDD, 0xF2]);
        assert_eq!(rcar_trailer(&frame[..13]), [0, 0]);
    }

    const ETH4: &str = "020000007701 020000007702 0800";
    const ETH6: &str = "020000007701 020000007702 86dd";

    /// 10.77.0.1 -> 10.77.0.2, UDP 1000 -> 9, "hi!". Checksums worked out by hand:
    /// pseudo 0a4d+0001+0a4d+0002+0011+000b = 14b9; UDP 03e8+0009+000b+0000+6869+2100 = 8d65;
    /// together a21e, inverted 5de1.
    fn udp4() -> Vec<u8> {
        hex(&format!(
            "{ETH4} 4500001f 00014000 4011 2631 0a4d0001 0a4d0002 03e80009 000b 5de1 686921"
        ))
    }

    /// fd77::1 -> fd77::2, TCP 4 -> 5, no payload: pseudo fd77+1+fd77+2+0014+0006 = 1fb0b ->
    /// fb0c; TCP 0004+0005+5002+1000 = 600b; together 15b17 -> 5b18, inverted a4e7.
    fn tcp6() -> Vec<u8> {
        hex(&format!(
            "{ETH6} 60000000 0014 06 40 fd770000000000000000000000000001 \
             fd770000000000000000000000000002 0004 0005 00000000 00000000 5002 1000 a4e7 0000"
        ))
    }

    fn with_tag(frame: &[u8]) -> Vec<u8> {
        [&frame[..12], &[0x81, 0x00, 0x00, 0x05], &frame[12..]].concat()
    }

    fn l4_result(frame: &[u8]) -> u16 {
        let [.., c, d] = toe_trailer(frame, CSR2);
        u16::from_le_bytes([c, d])
    }

    #[test]
    fn receive_good_and_bad() {
        for good in [udp4(), tcp6(), with_tag(&udp4()), with_tag(&tcp6())] {
            assert_eq!(l4_result(&good), 0, "{good:02x?}");
            let mut bad = good.clone();
            *bad.last_mut().unwrap() ^= 1;
            assert!(![0, UNSUPPORTED].contains(&l4_result(&bad)));
            // Padding behind the packet does not count.
            assert_eq!(l4_result(&[good, vec![0xFF; 20]].concat()), 0);
        }
    }

    #[test]
    fn receive_header_result() {
        assert_eq!(toe_trailer(&udp4(), CSR2)[..2], [0xFF, 0xFF]);
        assert_eq!(toe_trailer(&udp4(), CSR2 | 1), [0; 4]);
        assert_eq!(toe_trailer(&tcp6(), CSR2 | 1), [0xFF, 0xFF, 0, 0]);
        let mut bad = udp4();
        bad[14 + 10] ^= 1;
        let [a, b, ..] = toe_trailer(&bad, CSR2 | 1);
        assert!(![0, UNSUPPORTED].contains(&u16::from_le_bytes([a, b])));
    }

    #[test]
    fn receive_unsupported() {
        let mut blank = udp4();
        blank[14 + 26..14 + 28].fill(0);
        let mut fragment = udp4();
        fragment[14 + 6] = 0x20;
        let mut other = udp4();
        other[14 + 9] = 132;
        let mut two_tags = with_tag(&with_tag(&udp4()));
        two_tags[12] = 0x88;
        two_tags[13] = 0xA8;
        let arp = hex("ffffffffffff 020000007702 0806 0001");
        for frame in
            [blank, fragment, other, two_tags, arp, udp4()[..30].to_vec(), vec![], vec![0; 13]]
        {
            assert_eq!(l4_result(&frame), UNSUPPORTED, "{frame:02x?}");
        }
        assert_eq!(toe_trailer(&udp4(), 1 << 4)[2..], [0xFF, 0xFF]);
    }

    #[test]
    fn receive_icmp() {
        // Echo request, id 1, seq 1: 0800+0001+0001 = 0802, inverted f7fd.
        let icmp = hex(&format!(
            "{ETH4} 4500001c 00000000 4001 6645 0a4d0001 0a4d0002 0800 f7fd 00010001"
        ));
        assert_eq!(l4_result(&icmp), 0);
        assert_eq!(toe_trailer(&icmp, 0x30)[2..], [0xFF, 0xFF]);
    }

    #[test]
    fn transmit_fills_in_from_scratch() {
        for good in [udp4(), tcp6(), with_tag(&udp4()), with_tag(&tcp6())] {
            let at = good.len() - if good.len() % 2 == 1 { 5 } else { 4 };
            let mut seed = good.clone();
            seed[at..at + 2].copy_from_slice(&[0x12, 0x34]);
            insert(&mut seed, CSR1);
            assert_eq!(seed, good);
            let mut off = good.clone();
            off[at] ^= 0x55;
            let before = off.clone();
            insert(&mut off, 0);
            insert(&mut off, 1 << 6);
            assert_eq!(off, before);
        }
    }

    #[test]
    fn transmit_leaves_alone_what_it_must() {
        let mut blank = udp4();
        blank[14 + 26..14 + 28].fill(0);
        let mut fragment = udp4();
        fragment[14 + 6] = 0x20;
        fragment[14 + 26] ^= 0xFF;
        for frame in [blank, fragment, with_tag(&with_tag(&udp4()))] {
            let mut sent = frame.clone();
            insert(&mut sent, CSR1);
            assert_eq!(sent, frame);
        }
    }

    #[test]
    fn transmit_header_checksum() {
        let mut frame = udp4();
        frame[14 + 10..14 + 12].fill(0xAA);
        insert(&mut frame, CSR1 | 1);
        assert_eq!(frame, udp4());
    }

    #[test]
    fn udp_sum_of_zero_is_sent_as_ones() {
        // The last two bytes of the payload are what the rest misses to all ones.
        let mut frame = hex(&format!(
            "{ETH4} 4500001e 00014000 4011 2632 0a4d0001 0a4d0002 03e80009 000a 1111 0000"
        ));
        let l4 = parse(&frame, CSR1).l4.unwrap();
        frame[l4.field..l4.field + 2].fill(0);
        let missing = 0xFFFF - l4.total(&frame);
        frame[l4.end - 2..l4.end].copy_from_slice(&missing.to_be_bytes());
        frame[l4.field..l4.field + 2].fill(1);
        insert(&mut frame, CSR1);
        assert_eq!(frame[l4.field..l4.field + 2], [0xFF, 0xFF]);
        assert_eq!(l4_result(&frame), 0);
    }

    #[test]
    fn extension_headers_need_their_enable_bit() {
        let mut frame = tcp6();
        frame[14 + 4..14 + 6].copy_from_slice(&28u16.to_be_bytes());
        frame[14 + 6] = 0;
        let at = 14 + 40;
        frame.splice(at..at, [6, 0, 1, 4, 0, 0, 0, 0]);
        assert_eq!(toe_trailer(&frame, CSR2)[2..], [0xFF, 0xFF]);
        assert_eq!(toe_trailer(&frame, CSR2 | (1 << 24))[2..], [0, 0]);
    }
}
