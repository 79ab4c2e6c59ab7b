// SPDX-License-Identifier: GPL-2.0-or-later

//! The model peer: the station at the other end of the cable, on virtual time.
//!
//! It answers ARP, neighbour discovery and echo requests of any size, and serves
//!
//! | port | UDP | TCP |
//! |---|---|---|
//! | 7 | echo | echo |
//! | 9 | sink with counters | sink with counters |
//! | 18 | | ordered source: the first line is `BYTES [BITS_PER_SECOND]` |
//! | 19 | request for a flood, see [`parse_flood`] | endless source |
//!
//! A request with a VLAN tag is answered with the same tag. In VLAN `v` the peer has, besides its
//! own addresses, those with the third octet replaced by `v mod 256` (IPv4) and the fourth group
//! replaced by the number that is written like `v` (IPv6): 10.77.5.2 and fd77:0:0:5::2 in VLAN 5.

use super::gen::{Checksum, Content, Flow};
use super::packet::{self, EthHeader, IpFault, IpHeader, Mac, Sum};
use super::packet::{IP_ICMP, IP_ICMPV6, IP_TCP, IP_UDP};
use super::tcp::TcpEnd;
use crate::config::WireConfig;
use crate::frame::Frame;
use crate::host::Ns;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The echo service.
pub const PORT_ECHO: u16 = 7;
/// The sink.
pub const PORT_SINK: u16 = 9;
/// The TCP source that waits for an order.
pub const PORT_ORDERED: u16 = 18;
/// Requests for floods (UDP), and the endless source (TCP).
pub const PORT_SOURCE: u16 = 19;

/// From the end of a frame to the peer's answer being ready: the peer is quick, not instant.
pub const TURNAROUND: Ns = 2_000;

/// The peer's MTU unless ordered otherwise.
pub const DEFAULT_MTU: usize = 1500;
/// The largest that can be ordered.
pub const MAX_MTU: usize = 9000;

const MAX_VLANS: usize = 64;
const MAX_NEIGHBOURS: usize = 256;
const MAX_REASSEMBLIES: usize = 64;
const REASSEMBLY_TIMEOUT: Ns = 5_000_000_000;

/// What the peer wants done.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Frames for the line, each with the time from which it may be sent.
    pub frames: VecDeque<(Ns, Frame)>,
    /// Flows to start.
    pub flows: Vec<Flow>,
}

/// Frames that may wait for the line before TCP is held back, as a transmit queue does.
const TCP_BACKLOG: usize = 32;

macro_rules! counters {
    ($(#[$meta:meta])* $name:ident { $($field:ident: $doc:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $(#[doc = $doc] pub $field: u64,)*
        }

        impl $name {
            /// Calls `each` with the name and the value of every counter.
            pub fn list(&self, prefix: &str, each: &mut dyn FnMut(&str, u64)) {
                $(each(&format!("{prefix}{}", stringify!($field)), self.$field);)*
            }
        }
    };
}
pub(super) use counters;

counters! {
    /// What the peer has seen.
    PeerStats {
        frames: "Frames taken.",
        bytes: "Bytes of those frames, without FCS.",
        damaged: "Frames dropped since the MAC sent them damaged.",
        other_dst: "Frames to another station.",
        multicast: "Frames to a group or to all.",
        tagged: "Frames with a VLAN tag.",
        unknown_type: "Frames of an ethertype that the peer does not serve.",
        malformed: "Packets whose lengths or fields do not fit together.",
        bad_ip_csum: "IPv4 headers with a wrong checksum.",
        bad_l4_csum: "TCP, UDP, ICMP or ICMPv6 packets with a wrong checksum.",
        not_mine: "IP packets to an address that the peer does not have.",
        arp: "ARP requests answered.",
        nd: "Neighbour solicitations answered.",
        echo: "Echo requests answered.",
        fragments: "Fragments taken.",
        reassembled: "Packets put together from fragments.",
        tcp: "TCP segments taken.",
        udp: "UDP datagrams taken.",
        udp_echo: "UDP datagrams echoed.",
        udp_sink: "UDP datagrams swallowed by the sink.",
        udp_sink_bytes: "Their payload.",
        udp_sink_first_ns: "When the first of them came.",
        udp_sink_last_ns: "When the last of them came.",
        udp_flood: "Floods asked for.",
        udp_bad_request: "Datagrams to the flood port that were no request.",
        udp_other: "UDP datagrams to ports that the peer does not serve.",
        vlans_refused: "Frames of VLANs beyond those that the peer can keep.",
    }
}

/// Where an answer goes.
#[derive(Clone, Copy, Debug)]
struct Way {
    mac: Mac,
    tci: Option<u16>,
    /// The largest packet that may be sent this way.
    mtu: usize,
}

#[derive(Debug)]
struct Reassembly {
    key: (IpAddr, IpAddr, u8, u32),
    started: Ns,
    /// Pieces by offset; they may overlap.
    pieces: BTreeMap<usize, Vec<u8>>,
    total: Option<usize>,
    largest: usize,
}

impl Reassembly {
    fn whole(&self) -> Option<Vec<u8>> {
        let total = self.total?;
        let mut data = Vec::with_capacity(total);
        for (&offset, piece) in &self.pieces {
            if offset > data.len() {
                return None;
            }
            data.truncate(offset);
            data.extend_from_slice(piece);
        }
        (data.len() == total).then_some(data)
    }
}

/// The peer as it appears in one VLAN, or untagged.
struct Face {
    ip: [Ipv4Addr; 2],
    ip6: [Ipv6Addr; 3],
    neighbours: BTreeMap<IpAddr, Way>,
    tcp: TcpEnd,
}

/// The model peer.
pub struct Peer {
    mac: Mac,
    config: WireConfig,
    mtu: usize,
    faces: BTreeMap<u16, Face>,
    reassemblies: Vec<Reassembly>,
    ip_id: u32,
    stats: PeerStats,
}

fn link_local(mac: Mac) -> Ipv6Addr {
    Ipv6Addr::from([
        0xfe,
        0x80,
        0,
        0,
        0,
        0,
        0,
        0,
        mac[0] ^ 2,
        mac[1],
        mac[2],
        0xff,
        0xfe,
        mac[3],
        mac[4],
        mac[5],
    ])
}

impl Peer {
    /// A peer with the configured addresses.
    pub fn new(config: &WireConfig) -> Self {
        Self {
            mac: config.peer_mac,
            config: config.clone(),
            mtu: DEFAULT_MTU,
            faces: BTreeMap::new(),
            reassemblies: Vec::new(),
            ip_id: config.seed as u32,
            stats: PeerStats::default(),
        }
    }

    /// Sets the MTU, within sane bounds. TCP connections end.
    pub fn set_mtu(&mut self, mtu: usize) {
        self.mtu = mtu.clamp(1280, MAX_MTU);
        self.faces.clear();
    }

    /// Calls `each` with the name and the value of every counter.
    pub fn counters(&self, each: &mut dyn FnMut(&str, u64)) {
        self.stats.list("peer.", each);
        let mut tcp = super::tcp::TcpStats::default();
        for face in self.faces.values() {
            tcp.add(&face.tcp.stats);
        }
        tcp.list("peer.tcp_", each);
    }

    /// Forgets all counters.
    pub fn clear_counters(&mut self) {
        self.stats = PeerStats::default();
        for face in self.faces.values_mut() {
            face.tcp.stats = Default::default();
        }
    }

    fn face(&mut self, vid: u16) -> Option<&mut Face> {
        if !self.faces.contains_key(&vid) {
            if self.faces.len() >= MAX_VLANS {
                self.stats.vlans_refused += 1;
                return None;
            }
            let ip = self.config.peer_ip;
            let ip6 = self.config.peer_ip6;
            let (mut vlan_ip, mut vlan_ip6) = (ip.0, ip6.0);
            if vid != 0 {
                let mut octets = ip.0.octets();
                octets[2] = vid as u8;
                vlan_ip = Ipv4Addr::from(octets);
                let mut groups = ip6.0.segments();
                // 5 for VLAN 5, 0x123 for VLAN 123: it reads the same.
                groups[3] = u16::from_str_radix(&vid.to_string(), 16).unwrap_or(vid);
                vlan_ip6 = Ipv6Addr::from(groups);
            }
            let own4 = [(ip.0, ip.1), (vlan_ip, ip.1)];
            let own6 = [(ip6.0, ip6.1), (vlan_ip6, ip6.1), (link_local(self.mac), 64)];
            let seed = self.config.seed ^ (u64::from(vid) << 32);
            let face = Face {
                ip: [ip.0, vlan_ip],
                ip6: [own6[0].0, own6[1].0, own6[2].0],
                neighbours: BTreeMap::new(),
                tcp: TcpEnd::new(&own4, &own6, self.mtu, seed),
            };
            self.faces.insert(vid, face);
        }
        self.faces.get_mut(&vid)
    }

    /// Takes a frame that ended at `now`.
    pub fn receive(&mut self, now: Ns, frame: &Frame, out: &mut Outbox) {
        if frame.defects != Default::default() {
            self.stats.damaged += 1;
            return;
        }
        let Some((eth, payload)) = EthHeader::parse(&frame.data) else {
            self.stats.malformed += 1;
            return;
        };
        let group = eth.dst[0] & 1 != 0;
        if !group && eth.dst != self.mac {
            self.stats.other_dst += 1;
            return;
        }
        self.stats.frames += 1;
        self.stats.bytes += frame.data.len() as u64;
        self.stats.multicast += u64::from(group);
        self.stats.tagged += u64::from(eth.tci.is_some());
        let vid = eth.tci.map_or(0, |tci| tci & 0xfff);
        let way = Way { mac: eth.src, tci: eth.tci, mtu: self.mtu };
        match eth.ethertype {
            packet::ETH_ARP => self.arp(now, vid, way, payload, out),
            packet::ETH_IPV4 => {
                let parsed = packet::parse_ipv4(payload);
                self.ip(now, vid, way, payload.len(), parsed, out);
            }
            packet::ETH_IPV6 => {
                let parsed = packet::parse_ipv6(payload);
                self.ip(now, vid, way, payload.len(), parsed, out);
            }
            _ => self.stats.unknown_type += 1,
        }
    }

    fn learn(&mut self, vid: u16, address: IpAddr, way: Way) {
        if address.is_unspecified() || address.is_multicast() || way.mac[0] & 1 != 0 {
            return;
        }
        let Some(face) = self.face(vid) else { return };
        if face.neighbours.len() >= MAX_NEIGHBOURS && !face.neighbours.contains_key(&address) {
            face.neighbours.pop_first();
        }
        face.neighbours.insert(address, way);
    }

    fn arp(&mut self, now: Ns, vid: u16, way: Way, packet: &[u8], out: &mut Outbox) {
        // Ethernet, IPv4, six and four bytes, request.
        if packet.len() < 28 || packet[..6] != [0, 1, 8, 0, 6, 4] {
            self.stats.malformed += 1;
            return;
        }
        let sender = Ipv4Addr::from(packet::be32(packet, 14));
        let target = Ipv4Addr::from(packet::be32(packet, 24));
        let mine = self.face(vid).is_some_and(|face| face.ip.contains(&target));
        if !mine {
            return;
        }
        self.learn(vid, sender.into(), way);
        if packet::be16(packet, 6) != 1 {
            return;
        }
        self.stats.arp += 1;
        let eth =
            EthHeader { dst: way.mac, src: self.mac, tci: way.tci, ethertype: packet::ETH_ARP };
        let mut reply = eth.emit(28);
        reply.extend_from_slice(&[0, 1, 8, 0, 6, 4, 0, 2]);
        reply.extend_from_slice(&self.mac);
        reply.extend_from_slice(&target.octets());
        reply.extend_from_slice(&packet[8..18]);
        out.frames.push_back((now + TURNAROUND, Frame::new(reply)));
    }

    fn ip(
        &mut self,
        now: Ns,
        vid: u16,
        way: Way,
        len: usize,
        parsed: Result<(IpHeader, &[u8]), IpFault>,
        out: &mut Outbox,
    ) {
        let (ip, payload) = match parsed {
            Ok(parsed) => parsed,
            Err(IpFault::Checksum) => {
                self.stats.bad_ip_csum += 1;
                return;
            }
            Err(IpFault::Malformed) => {
                self.stats.malformed += 1;
                return;
            }
        };
        let Some(face) = self.face(vid) else { return };
        let mine = match ip.dst {
            IpAddr::V4(dst) => face.ip.contains(&dst),
            // Solicitations go to a group; what they ask for is looked at later.
            IpAddr::V6(dst) => face.ip6.contains(&dst) || dst.is_multicast(),
        };
        if !mine {
            self.stats.not_mine += 1;
            return;
        }
        self.learn(vid, ip.src, way);
        let Some(fragment) = ip.fragment else {
            // Who sends a large packet can take one.
            let way = Way { mtu: way.mtu.max(len), ..way };
            self.deliver(now, vid, way, &ip, payload, out);
            return;
        };
        self.stats.fragments += 1;
        self.reassemblies.retain(|r| now.saturating_sub(r.started) < REASSEMBLY_TIMEOUT);
        let key = (ip.src, ip.dst, ip.proto, fragment.id);
        let index = self.reassemblies.iter().position(|r| r.key == key).unwrap_or_else(|| {
            if self.reassemblies.len() >= MAX_REASSEMBLIES {
                self.reassemblies.remove(0);
            }
            let (pieces, total, largest) = (BTreeMap::new(), None, 0);
            self.reassemblies.push(Reassembly { key, started: now, pieces, total, largest });
            self.reassemblies.len() - 1
        });
        let reassembly = &mut self.reassemblies[index];
        if fragment.offset + payload.len() > 0xffff {
            self.stats.malformed += 1;
            self.reassemblies.remove(index);
            return;
        }
        if !fragment.more {
            reassembly.total = Some(fragment.offset + payload.len());
        }
        reassembly.largest = reassembly.largest.max(len);
        reassembly.pieces.insert(fragment.offset, payload.to_vec());
        if let Some(whole) = reassembly.whole() {
            let way = Way { mtu: way.mtu.max(reassembly.largest), ..way };
            self.reassemblies.remove(index);
            self.stats.reassembled += 1;
            let ip = IpHeader { fragment: None, ..ip };
            self.deliver(now, vid, way, &ip, &whole, out);
        }
    }

    fn deliver(
        &mut self,
        now: Ns,
        vid: u16,
        way: Way,
        ip: &IpHeader,
        payload: &[u8],
        out: &mut Outbox,
    ) {
        match (ip.proto, ip.dst) {
            (IP_ICMP, IpAddr::V4(_)) => {
                if payload.len() < 8 {
                    self.stats.malformed += 1;
                } else if Sum::default().add(payload).fold() != 0xffff {
                    self.stats.bad_l4_csum += 1;
                } else if payload[..2] == [8, 0] {
                    self.stats.echo += 1;
                    let mut reply = payload.to_vec();
                    reply[0] = 0;
                    reply[2..4].fill(0);
                    let sum = Sum::default().add(&reply).checksum();
                    reply[2..4].copy_from_slice(&sum.to_be_bytes());
                    self.answer(now, way, ip.dst, ip, &reply, out);
                }
            }
            (IP_ICMPV6, IpAddr::V6(_)) => self.icmpv6(now, vid, way, ip, payload, out),
            (IP_UDP, _) => self.udp(now, way, ip, payload, out),
            (IP_TCP, _) => {
                let sum = Sum::default().pseudo(ip.src, ip.dst, IP_TCP, payload.len()).add(payload);
                if sum.fold() != 0xffff {
                    self.stats.bad_l4_csum += 1;
                    return;
                }
                self.stats.tcp += 1;
                if let Some(face) = self.face(vid) {
                    face.tcp.receive(ip, payload);
                }
                self.poll_tcp(now, out);
            }
            _ => {}
        }
    }

    fn icmpv6(
        &mut self,
        now: Ns,
        vid: u16,
        way: Way,
        ip: &IpHeader,
        payload: &[u8],
        out: &mut Outbox,
    ) {
        if payload.len() < 8 {
            self.stats.malformed += 1;
            return;
        }
        let sum = Sum::default().pseudo(ip.src, ip.dst, IP_ICMPV6, payload.len()).add(payload);
        if sum.fold() != 0xffff {
            self.stats.bad_l4_csum += 1;
            return;
        }
        let (src, mut reply) = match payload[0] {
            128 => {
                // Answers to a group's request come from an own address.
                let own = self.face(vid).map(|face| face.ip6[0]);
                let src = if ip.dst.is_multicast() { own.map(IpAddr::V6) } else { Some(ip.dst) };
                let Some(src) = src else { return };
                self.stats.echo += 1;
                let mut reply = payload.to_vec();
                reply[0] = 129;
                (src, reply)
            }
            135 if payload.len() >= 24 => {
                let mut octets = [0; 16];
                octets.copy_from_slice(&payload[8..24]);
                let target = Ipv6Addr::from(octets);
                // From "::" it is somebody's test for a duplicate of an address of ours.
                if !self.face(vid).is_some_and(|face| face.ip6.contains(&target)) {
                    return;
                }
                self.stats.nd += 1;
                // Solicited, override; the option is the target's link-layer address.
                let mut reply = vec![136, 0, 0, 0, 0x60, 0, 0, 0];
                reply.extend_from_slice(&octets);
                reply.extend_from_slice(&[2, 1]);
                reply.extend_from_slice(&self.mac);
                (IpAddr::V6(target), reply)
            }
            _ => return,
        };
        let mut to = *ip;
        if ip.src.is_unspecified() {
            to.src = IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1));
            reply[4] &= !0x40;
        }
        reply[2..4].fill(0);
        let sum = Sum::default().pseudo(src, to.src, IP_ICMPV6, reply.len()).add(&reply);
        reply[2..4].copy_from_slice(&sum.checksum().to_be_bytes());
        self.answer(now, way, src, &to, &reply, out);
    }

    fn udp(&mut self, now: Ns, way: Way, ip: &IpHeader, datagram: &[u8], out: &mut Outbox) {
        let len = if datagram.len() >= 8 { usize::from(packet::be16(datagram, 4)) } else { 0 };
        if len < 8 || len > datagram.len() {
            self.stats.malformed += 1;
            return;
        }
        let datagram = &datagram[..len];
        let unchecked = ip.src.is_ipv4() && packet::be16(datagram, 6) == 0;
        let sum = Sum::default().pseudo(ip.src, ip.dst, IP_UDP, len).add(datagram).fold();
        if !unchecked && sum != 0xffff {
            self.stats.bad_l4_csum += 1;
            return;
        }
        self.stats.udp += 1;
        let (sport, dport) = (packet::be16(datagram, 0), packet::be16(datagram, 2));
        let data = &datagram[8..];
        match dport {
            PORT_ECHO if !ip.dst.is_multicast() => {
                self.stats.udp_echo += 1;
                let reply = packet::udp((ip.dst, dport), (ip.src, sport), data);
                self.answer(now, way, ip.dst, ip, &reply, out);
            }
            PORT_SINK => {
                if self.stats.udp_sink == 0 {
                    self.stats.udp_sink_first_ns = now;
                }
                self.stats.udp_sink_last_ns = now;
                self.stats.udp_sink += 1;
                self.stats.udp_sink_bytes += data.len() as u64;
            }
            PORT_SOURCE => {
                let Some(request) = parse_flood(data) else {
                    self.stats.udp_bad_request += 1;
                    return;
                };
                self.stats.udp_flood += 1;
                out.flows.push(Flow {
                    dst: way.mac,
                    src: self.mac,
                    tci: way.tci,
                    content: Content::Ip {
                        src: ip.dst,
                        dst: ip.src,
                        proto: IP_UDP,
                        sport: dport,
                        dport: request.port.unwrap_or(sport),
                    },
                    payload: request.payload,
                    checksum: Checksum::Good,
                    interval: request.interval,
                    count: request.count,
                    duration: request.duration,
                });
            }
            _ => self.stats.udp_other += 1,
        }
    }

    fn next_id(&mut self) -> u32 {
        self.ip_id = self.ip_id.wrapping_add(1);
        self.ip_id
    }

    /// Sends `payload` from `src` to the sender of `request`.
    fn answer(
        &mut self,
        now: Ns,
        way: Way,
        src: IpAddr,
        request: &IpHeader,
        payload: &[u8],
        out: &mut Outbox,
    ) {
        let id = self.next_id();
        let ip = IpHeader { src, dst: request.src, proto: request.proto, fragment: None };
        let eth = EthHeader::ip(way.mac, self.mac, way.tci, ip.dst);
        for frame in packet::emit_ip(&eth, &ip, id, payload, way.mtu) {
            out.frames.push_back((now + TURNAROUND, Frame::new(frame)));
        }
    }

    /// Lets TCP work as far as the line has room.
    fn poll_tcp(&mut self, now: Ns, out: &mut Outbox) {
        for face in self.faces.values_mut() {
            let room = TCP_BACKLOG.saturating_sub(out.frames.len());
            for packet in face.tcp.poll(now, room) {
                let parsed = match packet.first().map(|byte| byte >> 4) {
                    Some(4) => packet::parse_ipv4(packet),
                    _ => packet::parse_ipv6(packet),
                };
                let Ok((ip, _)) = parsed else { continue };
                // Every connection was begun by the other side, so its address is known, unless
                // it was pushed out of the table by very many others.
                let Some(way) = face.neighbours.get(&ip.dst) else { continue };
                let eth = EthHeader::ip(way.mac, self.mac, way.tci, ip.dst);
                let mut frame = eth.emit(packet.len());
                frame.extend_from_slice(packet);
                out.frames.push_back((now + TURNAROUND, Frame::new(frame)));
            }
        }
    }

    /// Whether [`Self::poll`] is due, or would be once the line has room.
    pub fn next_event(&self, backlog: usize) -> Option<Ns> {
        let room = backlog < TCP_BACKLOG / 2;
        self.faces.values().filter_map(|face| face.tcp.next_event(room)).min()
    }

    /// Does what is due.
    pub fn poll(&mut self, now: Ns, out: &mut Outbox) {
        if self.next_event(out.frames.len()).is_some_and(|due| due <= now) {
            self.poll_tcp(now, out);
        }
    }
}

/// A request for a flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloodRequest {
    interval: Option<Ns>,
    payload: usize,
    count: Option<u64>,
    duration: Option<Ns>,
    port: Option<u16>,
}

/// Reads `flood INTERVAL PAYLOAD AMOUNT [PORT]`.
///
/// INTERVAL is a time (`12304`, `10us`) from datagram to datagram, or `line` for back to back.
/// PAYLOAD is in bytes. AMOUNT is a time with its unit (`200ms`) or a number of datagrams. PORT is
/// where they go; by default where the request came from.
pub fn parse_flood(data: &[u8]) -> Option<FloodRequest> {
    let text = std::str::from_utf8(data).ok()?;
    let text = text.trim_end_matches(['\0', '\n', '\r', ' ']);
    let mut words = text.split_ascii_whitespace();
    if words.next()? != "flood" {
        return None;
    }
    let interval = match words.next()? {
        "line" => None,
        word => Some(super::parse_span(word).or_else(|| word.parse().ok())?),
    };
    let payload = words.next()?.parse().ok().filter(|&bytes: &usize| bytes <= MAX_MTU)?;
    let amount = words.next()?;
    let duration = super::parse_span(amount);
    let count = match duration {
        Some(_) => None,
        None => Some(amount.parse().ok()?),
    };
    let port = match words.next() {
        Some(word) => Some(word.parse().ok()?),
        None => None,
    };
    words.next().is_none().then_some(FloodRequest { interval, payload, count, duration, port })
}
