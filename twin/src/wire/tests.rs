// SPDX-License-Identifier: GPL-2.0-or-later

//! Tests of the cable with its peer, through the boundary that the device uses.

use super::gen::Checksum;
use super::impair::Harm;
use super::packet::{self, EthHeader, IpHeader, Sum, IP_ICMP, IP_ICMPV6, IP_UDP};
use super::*;
use crate::frame::Defects;
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

const PORT_MAC: Mac = [2, 0, 0, 0, 0x77, 1];
const PEER_MAC: Mac = [2, 0, 0, 0, 0x77, 2];

fn config(peer: PeerKind) -> WireConfig {
    WireConfig {
        peer,
        peer_mac: PEER_MAC,
        peer_ip: (Ipv4Addr::new(10, 77, 0, 2), 24),
        peer_ip6: ("fd77::2".parse().unwrap(), 64),
        pace: false,
        seed: 1,
    }
}

#[derive(Default)]
struct Taken {
    mac: Vec<(Ns, Frame)>,
    host: Vec<Vec<u8>>,
}

impl WireOut for Taken {
    fn to_mac(&mut self, now: Ns, frame: Frame) {
        self.mac.push((now, frame));
    }

    fn to_host(&mut self, frame: &[u8]) {
        self.host.push(frame.to_vec());
    }
}

/// A wire with a clock that goes from event to event.
struct Bench {
    wire: Wire,
    now: Ns,
    out: Taken,
}

impl Bench {
    fn new(peer: PeerKind) -> Self {
        let mut wire = Wire::new(&config(peer));
        wire.set_link(0, Some(1000));
        Self { wire, now: 0, out: Taken::default() }
    }

    fn run_until(&mut self, end: Ns) {
        let mut calls = 0;
        while let Some(at) = self.wire.next_event().filter(|&at| at <= end) {
            self.now = self.now.max(at);
            self.wire.poll(self.now, &mut self.out);
            calls += 1;
            assert!(calls < 3_000_000, "the wire never comes to rest");
        }
        self.now = end;
    }

    fn run(&mut self, span: Ns) -> Vec<(Ns, Frame)> {
        self.run_until(self.now + span);
        std::mem::take(&mut self.out.mac)
    }

    fn send(&mut self, data: Vec<u8>) {
        self.wire.from_mac(self.now, Frame::new(data));
    }

    fn order(&mut self, order: WireOrder) {
        self.wire.order(self.now, order).unwrap();
    }

    fn counter(&self, name: &str) -> u64 {
        let mut found = None;
        self.wire.counters(&mut |other, value| {
            if other == name {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("no counter {name}"))
    }
}

fn addresses(v6: bool) -> (IpAddr, IpAddr) {
    if v6 {
        ("fd77::1".parse().unwrap(), "fd77::2".parse().unwrap())
    } else {
        ("10.77.0.1".parse().unwrap(), "10.77.0.2".parse().unwrap())
    }
}

/// A packet from the port to the peer, in fragments if need be.
fn packet_to(dst: IpAddr, src: IpAddr, tci: Option<u16>, proto: u8, data: &[u8]) -> Vec<Vec<u8>> {
    let eth = EthHeader::ip(PEER_MAC, PORT_MAC, tci, dst);
    packet::emit_ip(&eth, &IpHeader { src, dst, proto, fragment: None }, 99, data, 1500)
}

fn parse(frame: &Frame) -> (EthHeader, IpHeader, &[u8]) {
    let (eth, rest) = EthHeader::parse(&frame.data).unwrap();
    let (ip, data) = match eth.ethertype {
        packet::ETH_IPV4 => packet::parse_ipv4(rest).unwrap(),
        _ => packet::parse_ipv6(rest).unwrap(),
    };
    (eth, ip, data)
}

fn echo_request(v6: bool, size: usize) -> Vec<u8> {
    let (src, dst) = addresses(v6);
    let mut data = vec![if v6 { 128 } else { 8 }, 0, 0, 0, 0x12, 0x34, 0, 1];
    data.extend((0..size as u64).map(packet::pattern));
    let sum = Sum::default();
    let sum = if v6 { sum.pseudo(src, dst, IP_ICMPV6, data.len()) } else { sum };
    let sum = sum.add(&data).checksum();
    data[2..4].copy_from_slice(&sum.to_be_bytes());
    data
}

fn flow(size: FlowSize) -> FlowOrder {
    let (src, dst) = (None, None);
    FlowOrder {
        dst: None,
        src: None,
        tci: None,
        kind: FlowKind::Ip { v6: false, proto: IP_UDP, src, dst, sport: 19, dport: 5001 },
        size,
        checksum: Checksum::Good,
        rate: FlowRate::Line,
        count: None,
        duration: None,
    }
}

#[test]
fn arp_is_answered() {
    let mut bench = Bench::new(PeerKind::Model);
    let mut request = vec![0xff; 6];
    request.extend_from_slice(&PORT_MAC);
    request.extend_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    request.extend_from_slice(&PORT_MAC);
    request.extend_from_slice(&[10, 77, 0, 1, 0, 0, 0, 0, 0, 0, 10, 77, 0, 2]);
    request.resize(60, 0);
    bench.send(request);
    let frames = bench.run(1_000_000);
    assert_eq!(frames.len(), 1);
    let mut reply = PORT_MAC.to_vec();
    reply.extend_from_slice(&PEER_MAC);
    reply.extend_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 2]);
    reply.extend_from_slice(&PEER_MAC);
    reply.extend_from_slice(&[10, 77, 0, 2]);
    reply.extend_from_slice(&PORT_MAC);
    reply.extend_from_slice(&[10, 77, 0, 1]);
    reply.resize(60, 0);
    assert_eq!(frames[0].1.data, reply);
    // 72 bytes with preamble and FCS at 8 ns each, after the peer's turnaround.
    assert_eq!(frames[0].0, 2_000 + 576);
}

#[test]
fn neighbour_solicitation_is_answered() {
    let mut bench = Bench::new(PeerKind::Model);
    let src: IpAddr = "fd77::1".parse().unwrap();
    let group: IpAddr = "ff02::1:ff00:2".parse().unwrap();
    let target: Ipv6Addr = "fd77::2".parse().unwrap();
    let mut data = vec![135, 0, 0, 0, 0, 0, 0, 0];
    data.extend_from_slice(&target.octets());
    data.extend_from_slice(&[1, 1]);
    data.extend_from_slice(&PORT_MAC);
    let sum = Sum::default().pseudo(src, group, IP_ICMPV6, data.len()).add(&data).checksum();
    data[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut frame = packet_to(group, src, None, IP_ICMPV6, &data).pop().unwrap();
    frame[..6].copy_from_slice(&[0x33, 0x33, 0xff, 0, 0, 2]);
    bench.send(frame);
    let frames = bench.run(1_000_000);
    let (eth, ip, reply) = parse(&frames[0].1);
    assert_eq!((eth.dst, eth.src), (PORT_MAC, PEER_MAC));
    assert_eq!((ip.src, ip.dst), (target.into(), src));
    assert_eq!(reply[..2], [136, 0]);
    assert_eq!(reply[4], 0x60);
    assert_eq!(reply[8..24], target.octets());
    assert_eq!(reply[24..], [2, 1, 2, 0, 0, 0, 0x77, 2]);
    assert_eq!(Sum::default().pseudo(ip.src, ip.dst, IP_ICMPV6, 32).add(reply).fold(), 0xffff);
}

#[test]
fn echo_of_every_size() {
    for v6 in [false, true] {
        for size in [0, 1, 56, 1452, 1472, 1473, 8000, 65_000] {
            let mut bench = Bench::new(PeerKind::Model);
            let (src, dst) = addresses(v6);
            let request = echo_request(v6, size);
            let proto = if v6 { IP_ICMPV6 } else { IP_ICMP };
            for frame in packet_to(dst, src, None, proto, &request) {
                bench.send(frame);
            }
            let frames = bench.run(10_000_000);
            let mut reply = Vec::new();
            for (_, frame) in &frames {
                assert!(frame.data.len() <= 1514);
                reply.extend_from_slice(parse(frame).2);
            }
            assert_eq!(reply.len(), request.len(), "size {size}");
            assert_eq!(reply[0], if v6 { 129 } else { 0 });
            assert_eq!(reply[4..], request[4..]);
            let sum = Sum::default();
            let sum = if v6 { sum.pseudo(src, dst, IP_ICMPV6, reply.len()) } else { sum };
            assert_eq!(sum.add(&reply).fold(), 0xffff);
        }
    }
}

#[test]
fn a_jumbo_request_gets_a_jumbo_answer() {
    let mut bench = Bench::new(PeerKind::Model);
    let (src, dst) = addresses(false);
    let eth = EthHeader::ip(PEER_MAC, PORT_MAC, None, dst);
    let ip = IpHeader { src, dst, proto: IP_ICMP, fragment: None };
    let jumbo = packet::emit_ip(&eth, &ip, 1, &echo_request(false, 1990), 9000);
    bench.send(jumbo[0].clone());
    let frames = bench.run(1_000_000);
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].1.data.len(), 14 + 20 + 8 + 1990);
    // Fragments in, one jumbo frame out: by order.
    bench.order(WireOrder::PeerMtu(9000));
    for frame in packet_to(dst, src, None, IP_ICMP, &echo_request(false, 8000)) {
        bench.send(frame);
    }
    let frames = bench.run(1_000_000);
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].1.data.len(), 14 + 20 + 8 + 8000);
}

#[test]
fn fragments_in_any_order_and_twice() {
    let mut bench = Bench::new(PeerKind::Model);
    let (src, dst) = addresses(false);
    let mut frames = packet_to(dst, src, None, IP_ICMP, &echo_request(false, 6000));
    frames.reverse();
    frames.insert(1, frames[0].clone());
    for frame in frames {
        bench.send(frame);
    }
    bench.run(1_000_000);
    assert_eq!(bench.counter("peer.echo"), 1);
    assert_eq!(bench.counter("peer.reassembled"), 1);
}

#[test]
fn tagged_requests_get_tagged_answers() {
    let mut bench = Bench::new(PeerKind::Model);
    let (src, dst): (IpAddr, IpAddr) = ("10.77.5.1".parse().unwrap(), "10.77.5.2".parse().unwrap());
    let tci = Some(0x6005);
    for frame in packet_to(dst, src, tci, IP_ICMP, &echo_request(false, 56)) {
        bench.send(frame);
    }
    let datagram = packet::udp((src, 4000), (dst, 7), b"hello");
    for frame in packet_to(dst, src, tci, IP_UDP, &datagram) {
        bench.send(frame);
    }
    let frames = bench.run(1_000_000);
    let (eth, ip, data) = parse(&frames[0].1);
    assert_eq!((eth.tci, ip.src, data[0]), (tci, dst, 0));
    let (eth, ip, data) = parse(&frames[1].1);
    assert_eq!((eth.tci, ip.src), (tci, dst));
    assert_eq!(data, packet::udp((dst, 7), (src, 4000), b"hello"));
    // The same address without the tag is nobody's.
    for frame in packet_to(dst, src, None, IP_ICMP, &echo_request(false, 56)) {
        bench.send(frame);
    }
    assert!(bench.run(1_000_000).is_empty());
}

#[test]
fn wrong_checksums_are_not_answered() {
    let mut bench = Bench::new(PeerKind::Model);
    for v6 in [false, true] {
        let (src, dst) = addresses(v6);
        let mut datagram = packet::udp((src, 4000), (dst, 7), b"hello");
        datagram[7] ^= 1;
        bench.send(packet_to(dst, src, None, IP_UDP, &datagram).pop().unwrap());
        let mut echo = echo_request(v6, 56);
        echo[20] ^= 1;
        let proto = if v6 { IP_ICMPV6 } else { IP_ICMP };
        bench.send(packet_to(dst, src, None, proto, &echo).pop().unwrap());
    }
    assert!(bench.run(1_000_000).is_empty());
    assert_eq!(bench.counter("peer.bad_l4_csum"), 4);
}

/// What the livelock benchmark needs: 81 275 datagrams of 1472 bytes in a second, 12 304 ns apart.
#[test]
fn flood_at_line_rate_is_exact() {
    // 1 000 000 000 / 12 304 = 81 274.4: the last one starts within the second.
    for (request, count) in [("flood line 1472 1s", 81_275), ("flood 12304 1472 8000 5002", 8000)] {
        let mut bench = Bench::new(PeerKind::Model);
        let (src, dst) = addresses(false);
        let datagram = packet::udp((src, 4000), (dst, 19), request.as_bytes());
        bench.send(packet_to(dst, src, None, IP_UDP, &datagram).pop().unwrap());
        let frames = bench.run(2_000_000_000);
        assert_eq!(frames.len(), count);
        // 1538 byte times less the gap, after the turnaround.
        assert_eq!(frames[0].0, 2_000 + 1526 * 8);
        for (index, (at, frame)) in frames.iter().enumerate() {
            assert_eq!(*at, frames[0].0 + index as u64 * 12_304);
            assert_eq!(frame.data.len(), 1514);
        }
        let (eth, ip, data) = parse(&frames[count - 1].1);
        assert_eq!((eth.dst, ip.dst), (PORT_MAC, src));
        let port = if request.contains("5002") { 5002 } else { 4000 };
        assert_eq!(packet::be16(data, 2), port);
        assert_eq!(data[8..16], (count as u64 - 1).to_be_bytes());
        assert_eq!(Sum::default().pseudo(ip.src, ip.dst, 17, data.len()).add(data).fold(), 0xffff);
    }
}

#[test]
fn spacing_at_every_speed() {
    // 64 bytes with FCS occupy 84 byte times.
    for (mbps, spacing) in [(10, 67_200), (100, 6_720), (1000, 672)] {
        let mut bench = Bench::new(PeerKind::None);
        bench.wire.set_link(0, Some(mbps));
        bench.order(WireOrder::Flow(FlowOrder { count: Some(100), ..flow(FlowSize::Frame(64)) }));
        let frames = bench.run(1_000_000_000);
        assert_eq!(frames.len(), 100);
        for pair in frames.windows(2) {
            assert_eq!(pair[1].0 - pair[0].0, spacing);
        }
    }
}

#[test]
fn rate_in_bits_counts_what_the_line_carries() {
    let mut bench = Bench::new(PeerKind::None);
    let rate = FlowRate::Bits(100_000_000);
    bench.order(WireOrder::Flow(FlowOrder { rate, count: Some(9), ..flow(FlowSize::Frame(64)) }));
    let frames = bench.run(1_000_000);
    assert_eq!(frames.len(), 9);
    for pair in frames.windows(2) {
        // A tenth of the line: 84 byte times of 80 ns.
        assert_eq!(pair[1].0 - pair[0].0, 6_720);
    }
}

#[test]
fn interval_holds_beside_other_traffic() {
    let mut bench = Bench::new(PeerKind::Model);
    bench.order(WireOrder::Flow(FlowOrder {
        count: Some(50),
        rate: FlowRate::Interval(100_000),
        ..flow(FlowSize::Payload(100))
    }));
    // A second flow that fills the rest of the line.
    let (src, dst) = (None, None);
    let kind = FlowKind::Ip { v6: true, proto: IP_UDP, src, dst, sport: 1, dport: 2 };
    let rest = FlowOrder { kind, duration: Some(5_000_000), ..flow(FlowSize::Payload(1400)) };
    bench.order(WireOrder::Flow(rest));
    let frames = bench.run(20_000_000);
    let slow: Vec<Ns> =
        frames.iter().filter(|f| f.1.data.len() == 142).map(|&(at, _)| at).collect();
    assert_eq!(slow.len(), 50);
    for (index, at) in slow.iter().enumerate() {
        let due = index as u64 * 100_000 + (142 + 12) * 8;
        // At most one frame of the other flow is before it: 1462 + 24 byte times.
        assert!((due..=due + 1486 * 8).contains(at), "{index}: {at} for {due}");
    }
    // Nothing overlaps, and the gap is kept.
    for pair in frames.windows(2) {
        assert!(pair[1].0 - pair[0].0 >= (pair[1].1.data.len() as u64 + 24) * 8);
    }
}

#[test]
fn a_late_emulator_does_not_slow_the_line() {
    let mut bench = Bench::new(PeerKind::None);
    bench.order(WireOrder::Flow(FlowOrder { count: Some(800), ..flow(FlowSize::Payload(1472)) }));
    // Called 60 us late each time, as a busy host does.
    let mut now = 0;
    while let Some(at) = bench.wire.next_event() {
        now = at.max(now) + 60_000;
        bench.wire.poll(now, &mut bench.out);
    }
    assert_eq!(bench.out.mac.len(), 800);
    assert_eq!(bench.out.mac[799].0 - bench.out.mac[0].0, 799 * 12_304);
    assert_eq!(bench.counter("wire.late_ns"), 0);
}

#[test]
fn a_hopelessly_late_emulator_is_not_drowned() {
    let mut bench = Bench::new(PeerKind::None);
    bench.order(WireOrder::Flow(flow(FlowSize::Frame(64))));
    bench.wire.poll(0, &mut bench.out);
    bench.wire.poll(1_000_000_000, &mut bench.out);
    assert!(bench.out.mac.len() <= MAX_BURST + 1);
    assert!(bench.counter("wire.late_ns") > 999_000_000);
}

#[test]
fn link_down_loses_frames_and_holds_flows() {
    let mut bench = Bench::new(PeerKind::Model);
    bench.order(WireOrder::Flow(FlowOrder { count: Some(100), ..flow(FlowSize::Payload(1472)) }));
    assert_eq!(bench.run(10 * 12_304).len(), 10);
    bench.wire.set_link(bench.now, None);
    let (src, dst) = addresses(false);
    bench.send(packet_to(dst, src, None, IP_ICMP, &echo_request(false, 56)).pop().unwrap());
    bench.order(WireOrder::Inject { delay: 10, frame: Frame::new(vec![0; 60]) });
    assert!(bench.run(1_000_000).is_empty());
    assert_eq!(bench.counter("wire.down_tx"), 1);
    // The one under way, and the ordered one.
    assert_eq!(bench.counter("wire.down_rx"), 2);
    bench.wire.set_link(bench.now, Some(1000));
    assert_eq!(bench.run(10_000_000).len(), 89);
}

#[test]
fn impairments_on_the_wire() {
    let run = |harm, every, count| {
        let mut bench = Bench::new(PeerKind::None);
        let direction = Direction::Rx;
        bench.order(WireOrder::Impair(Rule { harm, direction, skip: 0, every, count }));
        bench.order(WireOrder::Flow(FlowOrder { count: Some(6), ..flow(FlowSize::Payload(18)) }));
        let frames = bench.run(10_000_000);
        // Each has its time on the line.
        for pair in frames.windows(2) {
            assert!(pair[1].0 - pair[0].0 >= (pair[1].1.data.len() as u64 + 24) * 8);
        }
        frames
    };
    let numbers = |frames: &[(Ns, Frame)]| -> Vec<u8> {
        frames.iter().map(|(_, frame)| frame.data.get(49).copied().unwrap_or(0xff)).collect()
    };
    let dropped = run(Harm::Drop, 2, None);
    assert_eq!(numbers(&dropped), [0, 2, 4]);
    // The lost ones took their time.
    assert_eq!(dropped[1].0 - dropped[0].0, 2 * 672);
    assert_eq!(numbers(&run(Harm::Duplicate, 3, None)), [0, 1, 2, 2, 3, 4, 5, 5]);
    assert_eq!(numbers(&run(Harm::Reorder, 2, Some(2))), [0, 2, 1, 4, 3, 5]);
    // The last of all is held with none to follow: it comes after a while.
    let held = run(Harm::Reorder, 6, None);
    assert_eq!(numbers(&held), [0, 1, 2, 3, 4, 5]);
    assert!(held[5].0 - held[4].0 > 1_000_000);
    let cut = run(Harm::Truncate(40), 6, Some(1));
    assert_eq!(cut[5].1.data.len(), 40);
    assert!(cut[5].1.defects.short && cut[5].1.defects.crc);
    let crc = Defects { crc: true, ..Defects::default() };
    let hit: Vec<_> = run(Harm::Defect(crc), 1, Some(3)).iter().map(|f| f.1.defects.crc).collect();
    assert_eq!(hit, [true, true, true, false, false, false]);
}

#[test]
fn script_in_order_of_time() {
    let mut bench = Bench::new(PeerKind::None);
    for (delay, byte) in [(20_000, 3), (10_000, 1), (10_000, 2)] {
        bench.order(WireOrder::Inject { delay, frame: Frame::new(vec![byte; 20]) });
    }
    let frames = bench.run(1_000_000);
    // 20 bytes as ordered, not padded: 32 byte times with preamble and FCS, 44 with the gap.
    let seen: Vec<_> = frames.iter().map(|(at, f)| (*at, f.data[0], f.data.len())).collect();
    assert_eq!(seen, [(10_256, 1, 20), (10_256 + 352, 2, 20), (20_256, 3, 20)]);
}

#[test]
fn host_frames_at_once_or_paced() {
    let mut bench = Bench::new(PeerKind::Host);
    bench.now = 5;
    for n in 0..2 {
        bench.wire.from_host(5, &[n; 42]);
    }
    let frames = bench.run(0);
    assert_eq!(frames.iter().map(|f| (f.0, f.1.data.len())).collect::<Vec<_>>(), [(5, 60); 2]);
    bench.send(vec![7; 60]);
    bench.run(0);
    assert_eq!(bench.out.host, [[7; 60]]);
    let mut wire = Wire::new(&WireConfig { pace: true, ..config(PeerKind::Host) });
    wire.set_link(0, Some(100));
    let mut bench = Bench { wire, now: 0, out: Taken::default() };
    for n in 0..2 {
        bench.wire.from_host(0, &[n; 1514]);
    }
    let frames = bench.run(1_000_000);
    assert_eq!(frames.iter().map(|f| f.0).collect::<Vec<_>>(), [122_080, 122_080 + 123_040]);
}

#[test]
fn flow_goes_to_the_port_that_was_seen() {
    let mut bench = Bench::new(PeerKind::None);
    let (src, dst): (IpAddr, IpAddr) = ("10.9.8.7".parse().unwrap(), "10.9.8.1".parse().unwrap());
    let mut frame = packet_to(dst, src, None, IP_ICMP, &echo_request(false, 0)).pop().unwrap();
    frame[6..12].copy_from_slice(&[2, 9, 9, 9, 9, 9]);
    bench.send(frame);
    bench.order(WireOrder::Flow(FlowOrder { count: Some(1), ..flow(FlowSize::Payload(10)) }));
    let frames = bench.run(1_000_000);
    let (eth, ip, _) = parse(&frames[0].1);
    assert_eq!((eth.dst, ip.dst), ([2, 9, 9, 9, 9, 9], src));
}

#[test]
fn flow_orders_that_cannot_be() {
    let mut wire = Wire::new(&config(PeerKind::Model));
    let refused = wire.order(0, WireOrder::Flow(flow(FlowSize::Frame(40)))).unwrap_err();
    assert_eq!(refused, "size=40 is too small: headers and FCS take 46");
    assert!(wire.order(0, WireOrder::Flow(flow(FlowSize::Payload(1 << 40)))).is_err());
    let mixed = FlowKind::Ip {
        v6: false,
        proto: 17,
        src: Some("10.0.0.1".parse().unwrap()),
        dst: Some("fd77::1".parse().unwrap()),
        sport: 1,
        dport: 2,
    };
    let order = FlowOrder { kind: mixed, ..flow(FlowSize::Payload(1)) };
    assert!(wire.order(0, WireOrder::Flow(order)).is_err());
    for _ in 0..MAX_FLOWS {
        wire.order(0, WireOrder::Flow(flow(FlowSize::Payload(1)))).unwrap();
    }
    assert!(wire.order(0, WireOrder::Flow(flow(FlowSize::Payload(1)))).is_err());
    let mut none = Wire::new(&config(PeerKind::None));
    assert!(none.order(0, WireOrder::PeerMtu(9000)).is_err());
}

#[test]
fn times_and_numbers() {
    for (text, value) in [
        ("12304ns", Some(12_304)),
        ("10us", Some(10_000)),
        ("1.5s", Some(1_500_000_000)),
        ("0.0000005ms", None),
        ("1", None),
        ("s", None),
        (".5s", None),
        ("1.2.3s", None),
        ("99999999999999s", None),
        ("", None),
    ] {
        assert_eq!(parse_span(text), value, "{text}");
    }
    for (text, value) in
        [("100M", Some(100_000_000)), ("1.5k", Some(1500)), ("7", Some(7)), ("M", None), ("", None)]
    {
        assert_eq!(parse_scaled(text), value, "{text}");
    }
}

#[test]
fn random_frames_are_survived() {
    let mut bench = Bench::new(PeerKind::Model);
    let mut state = 88_172_645_463_325_252u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (src, dst) = addresses(false);
    let (src6, dst6) = addresses(true);
    for _ in 0..10_000 {
        // A sound packet with some bytes changed, or rubbish under a sound header.
        let proto = [1, 6, 17, 44, 58][random() as usize % 5];
        let size = random() as usize % 100;
        let data: Vec<u8> = (0..size).map(|_| random() as u8).collect();
        let v6 = random() % 2 == 0;
        let (from, to) = if v6 { (src6, dst6) } else { (src, dst) };
        let mut frame = packet_to(to, from, None, proto, &data).pop().unwrap();
        for _ in 0..random() % 4 {
            let at = random() as usize % frame.len();
            frame[at] = random() as u8;
        }
        frame.truncate(random() as usize % 400);
        bench.send(frame);
        bench.run(1_000);
    }
}

/// The port's TCP for the tests: a smoltcp of its own, a line of 1 Gbit/s towards the peer.
#[derive(Default)]
struct Port {
    input: VecDeque<Vec<u8>>,
    output: VecDeque<Vec<u8>>,
}

struct Rx(Vec<u8>);
struct Tx<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for Rx {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Tx<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}

impl Device for Port {
    type RxToken<'a> = Rx;
    type TxToken<'a> = Tx<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Rx, Tx<'_>)> {
        Some((Rx(self.input.pop_front()?), Tx(&mut self.output)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Tx<'_>> {
        (self.output.len() < 64).then_some(Tx(&mut self.output))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = 1500;
        capabilities
    }
}

/// Runs a connection to `port` for `span`; `app` is called after each step of TCP.
fn tcp(bench: &mut Bench, v6: bool, port: u16, span: Ns, app: impl FnMut(Ns, &mut Socket<'_>)) {
    slow_tcp(bench, v6, port, span, 0, app);
}

/// The same with a port that looks at what has come only every `pause`.
fn slow_tcp(
    bench: &mut Bench,
    v6: bool,
    port: u16,
    span: Ns,
    pause: Ns,
    mut app: impl FnMut(Ns, &mut Socket<'_>),
) {
    let (own, peer) = addresses(v6);
    let mut device = Port::default();
    let instant = |now: Ns| Instant::from_micros((now / 1000) as i64);
    let mut interface =
        Interface::new(Config::new(HardwareAddress::Ip), &mut device, Instant::ZERO);
    let own = IpAddress::from(own);
    interface.update_ip_addrs(|a| a.push(IpCidr::new(own, if v6 { 64 } else { 24 })).unwrap());
    let mut sockets = SocketSet::new(Vec::new());
    let buffer = || SocketBuffer::new(vec![0; 512 * 1024]);
    let mut socket = Socket::new(buffer(), buffer());
    socket.connect(interface.context(), (IpAddress::from(peer), port), 40_000).unwrap();
    let handle = sockets.add(socket);
    let end = bench.now + span;
    let mut look = bench.now;
    // The frame on the way to the peer, and when it is there.
    let mut flying: Option<(Ns, Vec<u8>)> = None;
    while bench.now < end {
        if bench.now >= look {
            for (_, frame) in bench.out.mac.drain(..) {
                let (eth, payload) = EthHeader::parse(&frame.data).unwrap();
                assert_eq!(eth.dst, PORT_MAC);
                device.input.push_back(payload.to_vec());
            }
            interface.poll(instant(bench.now), &mut device, &mut sockets);
            app(bench.now, sockets.get_mut::<Socket<'_>>(handle));
            interface.poll(instant(bench.now), &mut device, &mut sockets);
            look = bench.now + pause;
        }
        if flying.is_none() {
            if let Some(packet) = device.output.pop_front() {
                let mut frame = EthHeader::ip(PEER_MAC, PORT_MAC, None, peer).emit(packet.len());
                frame.extend_from_slice(&packet);
                flying = Some((bench.now + Frame::new(frame.clone()).wire_time(1000), frame));
            }
        }
        let own = interface.poll_at(instant(bench.now), &sockets);
        let own = own.map(|at| (at.total_micros() as u64 * 1000).max(bench.now + 1000).max(look));
        let look = (!bench.out.mac.is_empty()).then_some(look);
        let next = [own, look, flying.as_ref().map(|f| f.0), bench.wire.next_event(), Some(end)];
        bench.now = next.into_iter().flatten().min().unwrap().max(bench.now);
        if flying.as_ref().is_some_and(|f| f.0 <= bench.now) {
            bench.send(flying.take().unwrap().1);
        }
        bench.wire.poll(bench.now, &mut bench.out);
    }
}

/// Megabits per second of `bytes` in `span`.
fn rate(bytes: u64, span: Ns) -> u64 {
    bytes * 8_000 / span
}

#[test]
fn tcp_source_fills_the_line() {
    for v6 in [false, true] {
        let mut bench = Bench::new(PeerKind::Model);
        let mut bytes = 0u64;
        tcp(&mut bench, v6, peer::PORT_SOURCE, 60_000_000, |_, socket| {
            while let Ok(len) = socket.recv(|data| {
                for (index, &byte) in data.iter().enumerate() {
                    assert_eq!(byte, packet::pattern(bytes + index as u64));
                }
                (data.len(), data.len())
            }) {
                bytes += len as u64;
                if len == 0 {
                    break;
                }
            }
        });
        assert!(rate(bytes, 60_000_000) > 930, "{} Mbit/s", rate(bytes, 60_000_000));
    }
}

/// A port that polls, as one with deferred interrupts, acknowledges many segments at once.
#[test]
fn tcp_source_fills_the_line_to_a_slow_port() {
    let mut bench = Bench::new(PeerKind::Model);
    let mut bytes = 0u64;
    slow_tcp(&mut bench, false, peer::PORT_SOURCE, 60_000_000, 1_000_000, |_, socket| {
        while socket.can_recv() {
            bytes += socket.recv(|data| (data.len(), data.len())).unwrap() as u64;
        }
    });
    assert!(rate(bytes, 60_000_000) > 900, "{} Mbit/s", rate(bytes, 60_000_000));
}

#[test]
fn tcp_sink_takes_the_line() {
    let mut bench = Bench::new(PeerKind::Model);
    let chunk = vec![0x55; 65_536];
    tcp(&mut bench, false, peer::PORT_SINK, 60_000_000, |_, socket| {
        while socket.can_send() && socket.send_slice(&chunk).is_ok_and(|sent| sent > 0) {}
    });
    let bytes = bench.counter("peer.tcp_received");
    assert!(rate(bytes, 60_000_000) > 930, "{} Mbit/s", rate(bytes, 60_000_000));
    assert_eq!(bench.counter("peer.tcp_accepted"), 1);
}

#[test]
fn tcp_survives_loss_both_ways() {
    let mut bench = Bench::new(PeerKind::Model);
    for (direction, every) in [(Direction::Rx, 500), (Direction::Tx, 700)] {
        let (harm, skip, count) = (Harm::Drop, 0, None);
        bench.order(WireOrder::Impair(Rule { harm, direction, skip, every, count }));
    }
    let mut bytes = 0u64;
    tcp(&mut bench, false, peer::PORT_SOURCE, 200_000_000, |_, socket| {
        while let Ok(len) = socket.recv(|data| {
            for (index, &byte) in data.iter().enumerate() {
                assert_eq!(byte, packet::pattern(bytes + index as u64));
            }
            (data.len(), data.len())
        }) {
            bytes += len as u64;
            if len == 0 {
                break;
            }
        }
    });
    assert!(bench.counter("wire.impaired_rx") > 5);
    assert!(rate(bytes, 200_000_000) > 300, "{bytes} bytes");
}

/// The same to a port that polls: few acknowledgements, each for many segments.
#[test]
fn tcp_survives_loss_to_a_slow_port() {
    let mut bench = Bench::new(PeerKind::Model);
    let (harm, skip, count) = (Harm::Drop, 0, None);
    let direction = Direction::Rx;
    bench.order(WireOrder::Impair(Rule { harm, direction, skip, every: 100, count }));
    let mut bytes = 0u64;
    slow_tcp(&mut bench, false, peer::PORT_SOURCE, 200_000_000, 500_000, |_, socket| {
        while socket.can_recv() {
            bytes += socket.recv(|data| (data.len(), data.len())).unwrap() as u64;
        }
    });
    assert!(bench.counter("wire.impaired_rx") > 50);
    assert!(rate(bytes, 200_000_000) > 400, "{} Mbit/s", rate(bytes, 200_000_000));
}

#[test]
fn tcp_echo_and_end() {
    let mut bench = Bench::new(PeerKind::Model);
    let mut back = Vec::new();
    let mut sent = 0;
    let text: Vec<u8> = (0..100_000u32).map(|n| (n * 7) as u8).collect();
    let mut state = None;
    tcp(&mut bench, true, peer::PORT_ECHO, 100_000_000, |_, socket| {
        if socket.can_send() && sent < text.len() {
            sent += socket.send_slice(&text[sent..]).unwrap();
            if sent == text.len() {
                socket.close();
            }
        }
        while socket.can_recv() {
            socket
                .recv(|data| {
                    back.extend_from_slice(data);
                    (data.len(), ())
                })
                .unwrap();
        }
        state = Some(socket.state());
    });
    assert_eq!(back, text);
    // Both sides have ended: the peer closed after the last of the echo.
    assert_eq!(state, Some(smoltcp::socket::tcp::State::TimeWait));
}

#[test]
fn tcp_ordered_source_keeps_its_rate() {
    let mut bench = Bench::new(PeerKind::Model);
    let mut bytes = 0u64;
    let mut last = 0;
    let mut asked = false;
    tcp(&mut bench, false, peer::PORT_ORDERED, 300_000_000, |now, socket| {
        if socket.can_send() && !asked {
            socket.send_slice(b"2.5M 100M\n").unwrap();
            asked = true;
        }
        while socket.can_recv() {
            let len = socket.recv(|data| (data.len(), data.len())).unwrap();
            bytes += len as u64;
            last = now;
        }
        if !socket.may_recv() && asked && bytes > 0 {
            socket.close();
        }
    });
    assert_eq!(bytes, 2_500_000);
    // 20 Mbit at 100 Mbit/s.
    assert!((190_000_000..=210_000_000).contains(&last), "{last}");
}

#[test]
fn tcp_to_another_port_is_refused() {
    let mut bench = Bench::new(PeerKind::Model);
    let mut state = None;
    tcp(&mut bench, false, 4444, 10_000_000, |_, socket| state = Some(socket.state()));
    assert_eq!(state, Some(smoltcp::socket::tcp::State::Closed));
}
