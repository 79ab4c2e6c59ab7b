// SPDX-License-Identifier: GPL-2.0-or-later

//! Reading and making packets, as far as the model peer and the generator need it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An Ethernet address.
pub type Mac = [u8; 6];

pub const ETH_IPV4: u16 = 0x0800;
pub const ETH_ARP: u16 = 0x0806;
pub const ETH_VLAN: u16 = 0x8100;
pub const ETH_IPV6: u16 = 0x86dd;
pub const ETH_PTP: u16 = 0x88f7;

pub const IP_ICMP: u8 = 1;
pub const IP_TCP: u8 = 6;
pub const IP_UDP: u8 = 17;
pub const IP_FRAGMENT: u8 = 44;
pub const IP_ICMPV6: u8 = 58;

/// The shortest frame that a sender puts on the wire, without FCS.
pub const MIN_FRAME: usize = 60;

pub fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A running one's complement sum. Every piece but the last has an even number of bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    pub fn add(mut self, bytes: &[u8]) -> Self {
        // Four bytes at a time: the sum of 32-bit words folds to that of 16-bit words.
        let mut words = bytes.chunks_exact(4);
        for word in &mut words {
            self.0 += u64::from(be32(word, 0));
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            self.0 += u64::from(be32(&last, 0));
        }
        self
    }

    /// Adds the pseudo header of TCP, UDP or ICMPv6.
    pub fn pseudo(self, src: IpAddr, dst: IpAddr, proto: u8, len: usize) -> Self {
        let sum = match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => self.add(&src.octets()).add(&dst.octets()),
            (IpAddr::V6(src), IpAddr::V6(dst)) => self.add(&src.octets()).add(&dst.octets()),
            _ => self,
        };
        Self(sum.0 + u64::from(proto) + len as u64)
    }

    /// The folded sum, not inverted. 0xffff for sound data with its checksum.
    pub fn fold(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// What belongs in a checksum field.
    pub fn checksum(self) -> u16 {
        !self.fold()
    }
}

/// An Ethernet header, with the tag if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthHeader {
    pub dst: Mac,
    pub src: Mac,
    pub tci: Option<u16>,
    pub ethertype: u16,
}

impl EthHeader {
    /// Splits a frame. `None` if it is too short to have a header.
    pub fn parse(frame: &[u8]) -> Option<(Self, &[u8])> {
        if frame.len() < 14 {
            return None;
        }
        let mut dst = [0; 6];
        let mut src = [0; 6];
        dst.copy_from_slice(&frame[..6]);
        src.copy_from_slice(&frame[6..12]);
        let ethertype = be16(frame, 12);
        if ethertype == ETH_VLAN && frame.len() >= 18 {
            let tci = Some(be16(frame, 14));
            return Some((Self { dst, src, tci, ethertype: be16(frame, 16) }, &frame[18..]));
        }
        Some((Self { dst, src, tci: None, ethertype }, &frame[14..]))
    }

    /// Starts a frame.
    pub fn emit(&self, payload: usize) -> Vec<u8> {
        let mut frame = Vec::with_capacity((18 + payload).max(MIN_FRAME));
        frame.extend_from_slice(&self.dst);
        frame.extend_from_slice(&self.src);
        if let Some(tci) = self.tci {
            frame.extend_from_slice(&ETH_VLAN.to_be_bytes());
            frame.extend_from_slice(&tci.to_be_bytes());
        }
        frame.extend_from_slice(&self.ethertype.to_be_bytes());
        frame
    }

    pub fn ip(dst: Mac, src: Mac, tci: Option<u16>, to: IpAddr) -> Self {
        let ethertype = if to.is_ipv4() { ETH_IPV4 } else { ETH_IPV6 };
        Self { dst, src, tci, ethertype }
    }
}

/// Where an IP packet is, or a fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    pub id: u32,
    pub offset: usize,
    pub more: bool,
}

/// What the peer needs of an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub proto: u8,
    pub fragment: Option<Fragment>,
}

/// Why an IP packet was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpFault {
    /// Lengths or versions that do not fit together.
    Malformed,
    /// The IPv4 header checksum is wrong.
    Checksum,
}

/// Splits an IPv4 packet; padding after it is dropped.
pub fn parse_ipv4(packet: &[u8]) -> Result<(IpHeader, &[u8]), IpFault> {
    if packet.len() < 20 || packet[0] >> 4 != 4 {
        return Err(IpFault::Malformed);
    }
    let header = usize::from(packet[0] & 0xf) * 4;
    let total = usize::from(be16(packet, 2));
    if header < 20 || total < header || total > packet.len() {
        return Err(IpFault::Malformed);
    }
    if Sum::default().add(&packet[..header]).fold() != 0xffff {
        return Err(IpFault::Checksum);
    }
    let place = be16(packet, 6);
    let offset = usize::from(place & 0x1fff) * 8;
    let more = place & 0x2000 != 0;
    let fragment =
        (more || offset != 0).then(|| Fragment { id: u32::from(be16(packet, 4)), offset, more });
    let address = |at: usize| IpAddr::V4(Ipv4Addr::from(be32(packet, at)));
    let ip = IpHeader { src: address(12), dst: address(16), proto: packet[9], fragment };
    Ok((ip, &packet[header..total]))
}

/// Splits an IPv6 packet, past the extension headers; padding after it is dropped.
pub fn parse_ipv6(packet: &[u8]) -> Result<(IpHeader, &[u8]), IpFault> {
    if packet.len() < 40 || packet[0] >> 4 != 6 {
        return Err(IpFault::Malformed);
    }
    let end = 40 + usize::from(be16(packet, 4));
    if end > packet.len() {
        return Err(IpFault::Malformed);
    }
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&packet[at..at + 16]);
        IpAddr::V6(Ipv6Addr::from(octets))
    };
    let mut ip = IpHeader { src: address(8), dst: address(24), proto: packet[6], fragment: None };
    let mut at = 40;
    // Hop-by-hop, routing and destination options have a length; the fragment header has not.
    while matches!(ip.proto, 0 | 43 | 60 | IP_FRAGMENT) {
        if at + 8 > end || ip.fragment.is_some_and(|f| f.offset != 0) {
            break;
        }
        let next = packet[at];
        if ip.proto == IP_FRAGMENT {
            let place = be16(packet, at + 2);
            let offset = usize::from(place & 0xfff8);
            let more = place & 1 != 0;
            ip.fragment = Some(Fragment { id: be32(packet, at + 4), offset, more });
            at += 8;
        } else {
            at += (usize::from(packet[at + 1]) + 1) * 8;
        }
        ip.proto = next;
    }
    if at > end {
        return Err(IpFault::Malformed);
    }
    Ok((ip, &packet[at..end]))
}

/// Appends an IPv4 header. `place` is the third word's second half: flags and offset.
fn push_ipv4(out: &mut Vec<u8>, ip: &IpHeader, id: u16, place: u16, len: usize) {
    let (IpAddr::V4(src), IpAddr::V4(dst)) = (ip.src, ip.dst) else { return };
    let at = out.len();
    out.extend_from_slice(&[0x45, 0]);
    out.extend_from_slice(&((20 + len) as u16).to_be_bytes());
    out.extend_from_slice(&id.to_be_bytes());
    out.extend_from_slice(&place.to_be_bytes());
    out.extend_from_slice(&[64, ip.proto, 0, 0]);
    out.extend_from_slice(&src.octets());
    out.extend_from_slice(&dst.octets());
    let sum = Sum::default().add(&out[at..]).checksum();
    out[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
}

/// Appends an IPv6 header.
fn push_ipv6(out: &mut Vec<u8>, ip: &IpHeader, proto: u8, len: usize) {
    let (IpAddr::V6(src), IpAddr::V6(dst)) = (ip.src, ip.dst) else { return };
    out.extend_from_slice(&[0x60, 0, 0, 0]);
    out.extend_from_slice(&(len as u16).to_be_bytes());
    // Neighbour discovery demands a hop limit of 255; it harms nothing else.
    out.extend_from_slice(&[proto, 255]);
    out.extend_from_slice(&src.octets());
    out.extend_from_slice(&dst.octets());
}

/// Makes the frames of one IP packet, fragments if it is larger than `mtu`.
pub fn emit_ip(
    eth: &EthHeader,
    ip: &IpHeader,
    id: u32,
    payload: &[u8],
    mtu: usize,
) -> Vec<Vec<u8>> {
    let v4 = ip.dst.is_ipv4();
    let header = if v4 { 20 } else { 40 };
    if header + payload.len() <= mtu {
        let mut frame = eth.emit(header + payload.len());
        if v4 {
            push_ipv4(&mut frame, ip, id as u16, 0, payload.len());
        } else {
            push_ipv6(&mut frame, ip, ip.proto, payload.len());
        }
        frame.extend_from_slice(payload);
        return vec![frame];
    }
    let header = if v4 { 20 } else { 48 };
    // All but the last carry a multiple of eight bytes.
    let step = ((mtu - header) / 8 * 8).max(8);
    let mut frames = Vec::new();
    for (index, piece) in payload.chunks(step).enumerate() {
        let offset = index * step;
        let more = offset + piece.len() < payload.len();
        let mut frame = eth.emit(header + piece.len());
        if v4 {
            let place = (offset / 8) as u16 | if more { 0x2000 } else { 0 };
            push_ipv4(&mut frame, ip, id as u16, place, piece.len());
        } else {
            push_ipv6(&mut frame, ip, IP_FRAGMENT, 8 + piece.len());
            frame.extend_from_slice(&[ip.proto, 0]);
            frame.extend_from_slice(&(offset as u16 | u16::from(more)).to_be_bytes());
            frame.extend_from_slice(&id.to_be_bytes());
        }
        frame.extend_from_slice(piece);
        frames.push(frame);
    }
    frames
}

/// A UDP datagram with its checksum.
pub fn udp(src: (IpAddr, u16), dst: (IpAddr, u16), payload: &[u8]) -> Vec<u8> {
    let len = 8 + payload.len();
    let mut out = Vec::with_capacity(len);
    out.extend_from_slice(&src.1.to_be_bytes());
    out.extend_from_slice(&dst.1.to_be_bytes());
    out.extend_from_slice(&(len as u16).to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(payload);
    let sum = Sum::default().pseudo(src.0, dst.0, IP_UDP, len).add(&out).checksum();
    // Zero means "no checksum"; the other form of zero stands for it.
    let sum = if sum == 0 { 0xffff } else { sum };
    out[6..8].copy_from_slice(&sum.to_be_bytes());
    out
}

/// The byte at `offset` of every stream and datagram that the model makes.
pub fn pattern(offset: u64) -> u8 {
    (offset % 251) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    }

    #[test]
    fn sum_of_known_header() {
        // The well-known example: checksum 0xb861.
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(Sum::default().add(&header).checksum(), 0xb861);
    }

    #[test]
    fn sum_of_odd_pieces() {
        // 0x0102 + 0x0300, by hand.
        assert_eq!(Sum::default().add(&[1, 2, 3]).fold(), 0x0402);
        assert_eq!(Sum::default().add(&[1, 2]).add(&[3]).fold(), 0x0402);
        assert_eq!(Sum::default().add(&[0xff, 0xff, 0, 1]).fold(), 1);
        assert_eq!(Sum::default().fold(), 0);
    }

    #[test]
    fn tag_is_parsed_and_emitted() {
        let eth = EthHeader { dst: [1; 6], src: [2; 6], tci: Some(0x2005), ethertype: ETH_IPV4 };
        let frame = eth.emit(0);
        assert_eq!(frame[12..], [0x81, 0x00, 0x20, 0x05, 0x08, 0x00]);
        assert_eq!(EthHeader::parse(&frame), Some((eth, &[][..])));
        assert_eq!(EthHeader::parse(&frame[..13]), None);
    }

    #[test]
    fn fragments_of_a_large_packet() {
        let eth = EthHeader { dst: [1; 6], src: [2; 6], tci: None, ethertype: ETH_IPV4 };
        let (src, dst) = (v4(10, 77, 0, 2), v4(10, 77, 0, 1));
        let ip = IpHeader { src, dst, proto: IP_UDP, fragment: None };
        let payload: Vec<u8> = (0..4000).map(pattern).collect();
        let frames = emit_ip(&eth, &ip, 7, &payload, 1500);
        assert_eq!(frames.iter().map(Vec::len).collect::<Vec<_>>(), [1514, 1514, 14 + 20 + 1040]);
        let mut whole = Vec::new();
        for (index, frame) in frames.iter().enumerate() {
            let (ip, piece) = parse_ipv4(&frame[14..]).unwrap();
            let fragment = Fragment { id: 7, offset: index * 1480, more: index < 2 };
            assert_eq!(ip.fragment, Some(fragment));
            whole.extend_from_slice(piece);
        }
        assert_eq!(whole, payload);
    }

    #[test]
    fn ipv6_fragments_parse_back() {
        let (src, dst) = ("fd77::2".parse().unwrap(), "fd77::1".parse().unwrap());
        let ip = IpHeader { src, dst, proto: IP_UDP, fragment: None };
        let eth = EthHeader::ip([1; 6], [2; 6], None, dst);
        let payload: Vec<u8> = (0..3000).map(pattern).collect();
        let frames = emit_ip(&eth, &ip, 0x1234_5678, &payload, 1500);
        assert_eq!(frames.len(), 3);
        let (ip, piece) = parse_ipv6(&frames[1][14..]).unwrap();
        assert_eq!(ip.proto, IP_UDP);
        assert_eq!(ip.fragment, Some(Fragment { id: 0x1234_5678, offset: 1448, more: true }));
        assert_eq!(piece, &payload[1448..2896]);
    }

    #[test]
    fn bad_headers_are_refused() {
        assert_eq!(parse_ipv4(&[0x45; 10]), Err(IpFault::Malformed));
        assert_eq!(parse_ipv4(&[0x45; 20]), Err(IpFault::Malformed));
        let mut header = vec![0; 20];
        header[0] = 0x45;
        header[3] = 20;
        assert_eq!(parse_ipv4(&header), Err(IpFault::Checksum));
        assert_eq!(parse_ipv6(&[0x60; 40]), Err(IpFault::Malformed));
        // A hop-by-hop header that reaches past the end.
        let mut v6 = vec![0; 48];
        v6[0] = 0x60;
        v6[5] = 8;
        v6[41] = 200;
        assert_eq!(parse_ipv6(&v6), Err(IpFault::Malformed));
    }
}
