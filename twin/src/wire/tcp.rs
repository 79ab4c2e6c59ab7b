// SPDX-License-Identifier: GPL-2.0-or-later

//! The TCP services of the model peer, on smoltcp and virtual time.
//!
//! Some habits of smoltcp 0.12 are worked around, since they turn each lost segment into a stall of
//! the length of its retransmission timeout:
//! - It forgets a fast retransmission if it has new data to send at that moment. So the sources
//!   give it no more than the line can take now, and no more while the other side's window is full.
//! - It does not count a duplicate acknowledgment whose window differs, and Linux opens its window
//!   with each segment that comes, behind a gap or not. So those behind a gap get the window of the
//!   one before.
//! - It wants three duplicates, and Linux sends one for all that GRO has put together. So one that
//!   reports three segments behind a gap counts for three, as RFC 6675 has it.
//! - It takes the acknowledgment of a segment that came twice (with a D-SACK block, RFC 2883) for
//!   the sign of another loss. So those are kept from it.
//!
//! It has no congestion control that would act: what is under way is bounded by the windows.

use super::packet::{self, EthHeader, IpHeader};
use super::peer::{counters, PORT_ECHO, PORT_ORDERED, PORT_SINK, PORT_SOURCE};
use crate::host::Ns;
use smoltcp::iface::{Config, Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::phy::{Checksum, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpCidr};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Each direction of each connection. Far more than 1 Gbit/s times any delay that occurs here, and
/// in full segments still less than the receive ring of the stock driver holds.
const BUFFER: usize = 1024 * 1024;

const MAX_CONNECTIONS: usize = 64;

/// A connection whose other end has vanished is given up after so long.
const GIVE_UP: Duration = Duration::from_secs(30);

counters! {
    /// What the TCP services have done.
    TcpStats {
        accepted: "Connections begun by the other side.",
        refused: "Connections refused since there were too many.",
        received: "Bytes taken by the sink and the echo.",
        sent: "Bytes given to TCP by the sources and the echo.",
        malformed: "Ordered sources that got no sensible order.",
        segments_out: "Segments sent.",
    }
}

impl TcpStats {
    /// Adds another's counters.
    pub fn add(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.received += other.received;
        self.sent += other.sent;
        self.malformed += other.malformed;
        self.segments_out += other.segments_out;
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Service {
    Echo,
    Sink,
    Source,
    /// Reads its order.
    Waiting(Vec<u8>),
    /// `left` bytes to go; with a rate in bits per second, since `start`.
    Ordered {
        total: u64,
        left: u64,
        rate: Option<u64>,
        start: Ns,
    },
    /// Has said all it had to say.
    Done,
}

struct Connection {
    handle: SocketHandle,
    service: Service,
    /// Bytes of data in a full segment.
    segment: u64,
    /// Offset in the stream, for the pattern.
    offset: u64,
    begun: bool,
}

/// smoltcp's device: a queue in each direction.
struct Queues {
    mtu: usize,
    input: VecDeque<Vec<u8>>,
    output: Vec<Vec<u8>>,
    /// Packets that may still be put into `output` before the next poll.
    room: usize,
}

struct Input(Vec<u8>);

impl RxToken for Input {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

struct Output<'a>(&'a mut Vec<Vec<u8>>, &'a mut usize);

impl TxToken for Output<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push(packet);
        *self.1 = self.1.saturating_sub(1);
        result
    }
}

impl Device for Queues {
    type RxToken<'a> = Input;
    type TxToken<'a> = Output<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Input, Output<'_>)> {
        let packet = self.input.pop_front()?;
        // An answer to a packet goes out whatever the room: resets and duplicate ACKs are few.
        Some((Input(packet), Output(&mut self.output, &mut self.room)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Output<'_>> {
        (self.room > 0).then_some(Output(&mut self.output, &mut self.room))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        // Those that come were verified, and may have been changed since.
        capabilities.checksum.tcp = Checksum::Tx;
        capabilities
    }
}

/// Address and port of the other end, and the port of ours.
type Key = (IpAddr, u16, u16);

/// What the other end of a connection has said last, and what was said to it.
struct Said {
    acked: u32,
    /// Where the data ends that was sent.
    sent: Option<u32>,
    window: u16,
    /// What it can take at once.
    segment: u64,
}

/// The TCP end of the model peer in one VLAN.
pub struct TcpEnd {
    interface: Interface,
    queues: Queues,
    sockets: SocketSet<'static>,
    connections: Vec<Connection>,
    next: Option<Ns>,
    /// The last segment from an address and port, to a port.
    said: BTreeMap<Key, Said>,
    /// Which connection is served first: each in its turn.
    first: usize,
    /// What [`pattern`](packet::pattern) says for the offsets 0, 1, ...
    pattern: Vec<u8>,
    /// Counters.
    pub stats: TcpStats,
}

fn instant(now: Ns) -> Instant {
    Instant::from_micros((now / 1000) as i64)
}

impl TcpEnd {
    /// An end with these addresses and prefix lengths.
    pub fn new(ip: &[(Ipv4Addr, u8)], ip6: &[(Ipv6Addr, u8)], mtu: usize, seed: u64) -> Self {
        let mut queues = Queues { mtu, input: VecDeque::new(), output: Vec::new(), room: 0 };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut queues, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            let ip = ip.iter().map(|&(ip, len)| IpCidr::new(ip.into(), len.min(32)));
            let ip6 = ip6.iter().map(|&(ip, len)| IpCidr::new(ip.into(), len.min(128)));
            for address in ip.chain(ip6) {
                if !addresses.contains(&address) {
                    // The capacity is a build option of smoltcp; `addresses_fit` tests it.
                    let _ = addresses.push(address);
                }
            }
        });
        Self {
            interface,
            queues,
            sockets: SocketSet::new(Vec::new()),
            connections: Vec::new(),
            next: None,
            said: BTreeMap::new(),
            first: 0,
            pattern: (0..251 * 64).map(packet::pattern).collect(),
            stats: TcpStats::default(),
        }
    }

    /// Takes a segment whose checksum is right; [`Self::poll`] is called next.
    pub fn receive(&mut self, ip: &IpHeader, segment: &[u8]) {
        if segment.len() < 20 {
            return;
        }
        let mut segment = segment.to_vec();
        let (sport, dport) = (packet::be16(&segment, 0), packet::be16(&segment, 2));
        // SYN without ACK: somebody is needed who listens.
        if segment[13] & 0x12 == 0x02 {
            let header = if ip.src.is_ipv4() { 40 } else { 60 };
            let most = (self.queues.mtu - header) as u64;
            self.listen(dport, most.min(segment_size(&segment)));
        }
        let mut copies = 1;
        let key = (ip.src, sport, dport);
        let mut said = Said {
            acked: packet::be32(&segment, 8),
            sent: None,
            window: packet::be16(&segment, 14),
            segment: segment_size(&segment),
        };
        if let Some(last) = self.said.get(&key).filter(|_| segment[13] & 0x02 == 0) {
            said.segment = last.segment;
            said.sent = last.sent;
            match acknowledged(&segment) {
                _ if said.acked != last.acked => {}
                Acknowledged::Twice => return,
                Acknowledged::BehindGap(bytes) => {
                    said.window = last.window;
                    segment[14..16].copy_from_slice(&said.window.to_be_bytes());
                    copies = (bytes / said.segment).clamp(1, 3);
                }
                Acknowledged::Plainly => {}
            }
        }
        if self.said.len() > 2 * MAX_CONNECTIONS {
            self.said.clear();
        }
        self.said.insert(key, said);
        // TCP gets the packet as one piece, whatever it was on the wire.
        let eth = EthHeader::ip([0; 6], [0; 6], None, ip.dst);
        for _ in 0..copies {
            for mut frame in packet::emit_ip(&eth, ip, 0, &segment, usize::MAX) {
                self.queues.input.push_back(frame.split_off(14));
            }
        }
    }

    /// Sees to it that somebody listens on `port`, if there is such a service.
    fn listen(&mut self, port: u16, segment: u64) {
        let service = match port {
            PORT_ECHO => Service::Echo,
            PORT_SINK => Service::Sink,
            PORT_ORDERED => Service::Waiting(Vec::new()),
            PORT_SOURCE => Service::Source,
            // Nobody does: smoltcp refuses the connection.
            _ => return,
        };
        let listens = |c: &Connection| {
            let socket = self.sockets.get::<Socket<'_>>(c.handle);
            socket.is_listening() && socket.listen_endpoint().port == port
        };
        if self.connections.iter().any(listens) {
            return;
        }
        if self.connections.len() >= MAX_CONNECTIONS {
            self.forget(|state| state == State::TimeWait);
        }
        if self.connections.len() >= MAX_CONNECTIONS {
            self.stats.refused += 1;
            return;
        }
        let buffer = || SocketBuffer::new(vec![0; BUFFER]);
        let mut socket = Socket::new(buffer(), buffer());
        // A source has more to come, an echo has not.
        socket.set_nagle_enabled(service != Service::Echo);
        socket.set_timeout(Some(GIVE_UP));
        if socket.listen(port).is_ok() {
            let handle = self.sockets.add(socket);
            self.connections.push(Connection { handle, service, segment, offset: 0, begun: false });
        }
    }

    /// Drops the connections in a state that `which` names.
    fn forget(&mut self, which: impl Fn(State) -> bool) {
        let sockets = &mut self.sockets;
        self.connections.retain(|connection| {
            let drop = which(sockets.get::<Socket<'_>>(connection.handle).state());
            if drop {
                sockets.remove(connection.handle);
            }
            !drop
        });
    }

    /// Lets TCP and its services work; returns at most about `room` packets to send.
    pub fn poll(&mut self, now: Ns, room: usize) -> impl Iterator<Item = &Vec<u8>> {
        self.queues.output.clear();
        self.queues.room = room;
        let time = instant(now);
        let mut wake = None;
        // Each round moves data; a service that has moved some lets TCP say so. The last word is
        // TCP's: what a source gives to it does not lie there unsent.
        for round in 0..4 {
            let done = self.queues.output.len();
            while self.interface.poll(time, &mut self.queues, &mut self.sockets)
                == PollResult::SocketStateChanged
            {
                // One packet of each socket a call.
            }
            self.note_sent(done);
            if round == 3 || !self.serve(now, &mut wake) {
                break;
            }
        }
        self.forget(|state| state == State::Closed);
        let at = self.interface.poll_at(time, &self.sockets);
        // smoltcp's clock counts microseconds: what is due "now" and was not done is blocked, and
        // is looked at again when its clock has moved.
        let at = at.map(|at| (at.total_micros().max(0) as Ns * 1000).max((now / 1000 + 1) * 1000));
        self.next = match (at, wake) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.stats.segments_out += self.queues.output.len() as u64;
        self.queues.output.iter()
    }

    /// Notes how far the data goes that is in the output from packet `first` on.
    fn note_sent(&mut self, first: usize) {
        for packet in &self.queues.output[first..] {
            let parsed = match packet.first().map(|byte| byte >> 4) {
                Some(4) => packet::parse_ipv4(packet),
                _ => packet::parse_ipv6(packet),
            };
            let Ok((ip, segment)) = parsed else { continue };
            let key = (ip.dst, packet::be16(segment, 2), packet::be16(segment, 0));
            if let Some(said) = self.said.get_mut(&key) {
                let data = segment.len() - usize::from(segment[12] >> 4) * 4;
                let end = packet::be32(segment, 4).wrapping_add(data as u32);
                said.sent = Some(said.sent.map_or(end, |sent| later(sent, end)));
            }
        }
    }

    /// Lets each service have its turn; tells whether data was moved.
    fn serve(&mut self, now: Ns, wake: &mut Option<Ns>) -> bool {
        *wake = None;
        let mut moved = false;
        let count = self.connections.len();
        self.first = (self.first + 1) % count.max(1);
        let mut room = self.queues.room as u64;
        for step in 0..count {
            let connection = &mut self.connections[(self.first + step) % count];
            let socket = self.sockets.get_mut::<Socket<'_>>(connection.handle);
            let segments = room.div_ceil((count - step) as u64);
            let ends = socket.remote_endpoint().zip(socket.local_endpoint());
            let key = ends.map(|(to, from)| (IpAddr::from(to.addr), to.port, from.port));
            let said = key.and_then(|key| self.said.get(&key));
            let flying =
                said.and_then(|said| Some(said.sent?.wrapping_sub(said.acked))).unwrap_or(0);
            let unsent = (socket.send_queue() as u64).saturating_sub(u64::from(flying));
            let share = (segments * connection.segment).saturating_sub(unsent);
            let (pattern, stats) = (&self.pattern, &mut self.stats);
            let before = stats.sent;
            let mut turn = Turn { now, share, blocked: unsent > 0, pattern, stats, wake };
            moved |= connection.serve(socket, &mut turn);
            let sent = self.stats.sent - before;
            room = room.saturating_sub(sent.div_ceil(connection.segment));
        }
        moved
    }

    /// When [`Self::poll`] has something to do, given whether the line has `room`.
    pub fn next_event(&self, room: bool) -> Option<Ns> {
        self.next.filter(|_| room)
    }
}

/// What a connection has to work with when it is its turn.
struct Turn<'a> {
    now: Ns,
    /// Bytes that a source may send.
    share: u64,
    /// What was given to TCP before waits for the other side.
    blocked: bool,
    pattern: &'a [u8],
    stats: &'a mut TcpStats,
    /// When a source may go on: one with a rate when it is time, any other when there is room.
    wake: &'a mut Option<Ns>,
}

impl Turn<'_> {
    fn wake_at(&mut self, at: Ns) {
        *self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }

    /// Sends up to `most` bytes of the pattern, no more than the line has room for.
    fn send(&mut self, socket: &mut Socket<'_>, offset: &mut u64, most: u64) -> u64 {
        let share = most.min(self.share);
        let mut sent = 0;
        while sent < share && socket.can_send() {
            let from = (*offset % 251) as usize;
            let rest = usize::try_from(share - sent).unwrap_or(usize::MAX);
            let len = rest.min(self.pattern.len() - from);
            let done = socket.send_slice(&self.pattern[from..from + len]).unwrap_or(0);
            if done == 0 {
                break;
            }
            *offset += done as u64;
            sent += done as u64;
        }
        self.stats.sent += sent;
        if sent < most && socket.can_send() && !self.blocked {
            self.wake_at(self.now);
        }
        sent
    }
}

impl Connection {
    /// Moves what can be moved; tells whether anything was.
    fn serve(&mut self, socket: &mut Socket<'_>, turn: &mut Turn<'_>) -> bool {
        if !self.begun {
            if !socket.is_active() || socket.state() == State::SynReceived {
                return false;
            }
            self.begun = true;
            turn.stats.accepted += 1;
        }
        let mut moved = match self.service {
            Service::Echo => echo(socket, turn.stats),
            _ => self.take(socket, turn),
        };
        match &mut self.service {
            Service::Source => {
                moved |= turn.send(socket, &mut self.offset, u64::MAX) > 0;
            }
            Service::Ordered { total, left, rate, start } => {
                let mut due = *left;
                if let Some(rate) = *rate {
                    let elapsed = u128::from(turn.now - *start);
                    let bytes = elapsed * u128::from(rate) / 8_000_000_000;
                    let done = u128::from(*total - *left);
                    due = due.min(u64::try_from(bytes.saturating_sub(done)).unwrap_or(u64::MAX));
                    if *left > due {
                        // In steps of a few segments, as a paced sender does.
                        let step = (*left - due).min(4 * self.segment);
                        let bits = (done + u128::from(due) + u128::from(step)) * 8_000_000_000;
                        let span = bits.div_ceil(u128::from(rate)).min(u128::from(Ns::MAX / 2));
                        let at = (*start + span as Ns).max(turn.now + 1);
                        turn.wake_at(at);
                    }
                }
                let sent = turn.send(socket, &mut self.offset, due);
                *left -= sent;
                moved |= sent > 0;
                if *left == 0 {
                    socket.close();
                    self.service = Service::Done;
                    moved = true;
                }
            }
            Service::Echo | Service::Sink | Service::Waiting(_) | Service::Done => {}
        }
        // The other side has no more to say: neither have we, once the echo is out.
        if socket.state() == State::CloseWait && !socket.can_recv() {
            socket.close();
            moved = true;
        }
        moved
    }

    /// Takes what has come; all but an order is dropped.
    fn take(&mut self, socket: &mut Socket<'_>, turn: &mut Turn<'_>) -> bool {
        let mut moved = false;
        while socket.can_recv() {
            let order = matches!(self.service, Service::Waiting(_));
            let taken = socket.recv(|data| {
                (data.len(), (data.len(), if order { data.to_vec() } else { Vec::new() }))
            });
            let Ok((len, data)) = taken else { break };
            turn.stats.received += len as u64;
            moved = true;
            self.order(turn.now, &data, turn.stats);
        }
        moved
    }

    /// Takes data that the other side has sent, as far as it is an order.
    fn order(&mut self, now: Ns, data: &[u8], stats: &mut TcpStats) {
        let Service::Waiting(text) = &mut self.service else { return };
        text.extend_from_slice(data);
        let Some(end) = text.iter().position(|&byte| byte == b'\n') else {
            if text.len() > 80 {
                stats.malformed += 1;
                self.service = Service::Done;
            }
            return;
        };
        let line = String::from_utf8_lossy(&text[..end]).into_owned();
        let mut words = line.split_ascii_whitespace();
        let total = words.next().and_then(super::parse_scaled);
        let rate = words.next().map(super::parse_scaled);
        self.service = match (total, rate) {
            (Some(total), None) => Service::Ordered { total, left: total, rate: None, start: now },
            (Some(total), Some(Some(rate))) if rate > 0 => {
                Service::Ordered { total, left: total, rate: Some(rate), start: now }
            }
            _ => {
                stats.malformed += 1;
                Service::Ordered { total: 0, left: 0, rate: None, start: now }
            }
        };
    }
}

/// Sends back what has come, as far as there is room.
fn echo(socket: &mut Socket<'_>, stats: &mut TcpStats) -> bool {
    let mut moved = false;
    while socket.can_recv() && socket.can_send() {
        let space = socket.send_capacity() - socket.send_queue();
        let taken = socket.recv(|data| {
            let len = data.len().min(space);
            (len, data[..len].to_vec())
        });
        let Ok(data) = taken else { break };
        let sent = socket.send_slice(&data).unwrap_or(0);
        stats.received += data.len() as u64;
        stats.sent += sent as u64;
        moved = true;
    }
    moved
}

/// The later of two sequence numbers.
fn later(a: u32, b: u32) -> u32 {
    if (b.wrapping_sub(a) as i32) > 0 {
        b
    } else {
        a
    }
}

/// What the sender of this SYN can take at once.
fn segment_size(syn: &[u8]) -> u64 {
    let header = usize::from(syn[12] >> 4) * 4;
    let mut options = syn.get(20..header).unwrap_or_default();
    loop {
        match *options {
            [1, ref rest @ ..] => options = rest,
            [2, 4, high, low, ..] => return u64::from(u16::from_be_bytes([high, low])).max(64),
            [kind, len, ..] if kind != 0 && len >= 2 && options.len() >= usize::from(len) => {
                options = &options[usize::from(len)..];
            }
            // What holds for who does not say.
            _ => return 536,
        }
    }
}

/// What a segment says of the data that was sent to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acknowledged {
    /// No more than that it came twice: the first SACK block is below what is acknowledged.
    Twice,
    /// No more than that there are so many bytes behind a gap: the first SACK block is above.
    BehindGap(u64),
    /// Anything else.
    Plainly,
}

fn acknowledged(segment: &[u8]) -> Acknowledged {
    let Some(header) = segment.get(12).map(|&byte| usize::from(byte >> 4) * 4) else {
        return Acknowledged::Plainly;
    };
    // With data or a flag but ACK and PSH there is more to it.
    if header < 20 || header != segment.len() || segment[13] & 0x17 != 0x10 {
        return Acknowledged::Plainly;
    }
    let acked = packet::be32(segment, 8);
    let mut options = &segment[20..];
    loop {
        match *options {
            [1, ref rest @ ..] => options = rest,
            [5, len, ref rest @ ..] if len >= 10 && rest.len() >= usize::from(len) - 2 => {
                if (packet::be32(rest, 0).wrapping_sub(acked) as i32) < 0 {
                    return Acknowledged::Twice;
                }
                let blocks = rest[..usize::from(len) - 2].chunks_exact(8);
                let size = |block| packet::be32(block, 4).wrapping_sub(packet::be32(block, 0));
                return Acknowledged::BehindGap(blocks.map(|block| u64::from(size(block))).sum());
            }
            [kind, len, ..] if kind != 0 && len >= 2 && options.len() >= usize::from(len) => {
                options = &options[usize::from(len)..];
            }
            _ => return Acknowledged::Plainly,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK of 1000 with these options.
    fn ack(options: &[u8]) -> Vec<u8> {
        let header = 20 + options.len();
        let mut segment = vec![0; 20];
        segment[8..12].copy_from_slice(&1000u32.to_be_bytes());
        segment[12] = (header / 4 * 16) as u8;
        segment[13] = 0x10;
        segment.extend_from_slice(options);
        segment
    }

    fn sack(from: u32, to: u32) -> Vec<u8> {
        // As Linux writes it: two no-operations, then the block.
        let mut options = vec![1, 1, 5, 10];
        options.extend_from_slice(&from.to_be_bytes());
        options.extend_from_slice(&to.to_be_bytes());
        options
    }

    #[test]
    fn segment_size_of_a_syn() {
        assert_eq!(segment_size(&ack(&[2, 4, 0x05, 0xb4])), 1460);
        assert_eq!(segment_size(&ack(&[1, 3, 3, 7, 2, 4, 0x05, 0xa0, 0, 0, 0, 0])), 1440);
        for options in [&[][..], &[2, 4, 5, 5][..2], &[0, 2, 4, 5], &[3, 0, 0, 0]] {
            assert_eq!(segment_size(&ack(options)), 536);
        }
    }

    #[test]
    fn what_is_acknowledged() {
        use Acknowledged::*;
        assert_eq!(acknowledged(&ack(&sack(500, 1000))), Twice);
        assert_eq!(acknowledged(&ack(&sack(2000, 3000))), BehindGap(1000));
        let mut options = vec![1, 1, 5, 18];
        for edge in [5000u32, 5700, 2000, 3000] {
            options.extend_from_slice(&edge.to_be_bytes());
        }
        assert_eq!(acknowledged(&ack(&options)), BehindGap(1700));
        assert_eq!(acknowledged(&ack(&[])), Plainly);
        // Sequence numbers wrap.
        assert_eq!(acknowledged(&ack(&sack(0xffff_ff00, 0xffff_fff0))), Twice);
        // With a timestamp before it.
        let mut options = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        options.extend(sack(500, 1000));
        assert_eq!(acknowledged(&ack(&options)), Twice);
        // With data or FIN there is more to it.
        let mut data = ack(&sack(500, 1000));
        data.push(0);
        assert_eq!(acknowledged(&data), Plainly);
        let mut fin = ack(&sack(500, 1000));
        fin[13] |= 1;
        assert_eq!(acknowledged(&fin), Plainly);
        // Rubbish.
        for options in [&[5, 10, 0, 0][..], &[8, 0, 0, 0], &[8, 200, 0, 0], &[5, 2, 0, 0]] {
            assert_eq!(acknowledged(&ack(options)), Plainly);
        }
        assert_eq!(acknowledged(&[0; 5]), Plainly);
    }

    #[test]
    fn duplicates_are_made_plain() {
        let own = ("10.77.0.2".parse().unwrap(), 24);
        let mut end = TcpEnd::new(&[own], &[], 1500, 0);
        let ip = IpHeader {
            src: "10.77.0.1".parse().unwrap(),
            dst: own.0.into(),
            proto: packet::IP_TCP,
            fragment: None,
        };
        // The windows of the segments that reach smoltcp for one that comes.
        let mut windows = |segment: &[u8], value: u16| {
            let mut segment = segment.to_vec();
            segment[14..16].copy_from_slice(&value.to_be_bytes());
            end.receive(&ip, &segment);
            let reach = |packet: Vec<u8>| packet::be16(&packet, 20 + 14);
            end.queues.input.drain(..).map(reach).collect::<Vec<_>>()
        };
        let mut syn = ack(&[2, 4, 0x03, 0xe8]);
        syn[13] = 2;
        assert_eq!(windows(&syn, 90), [90]);
        assert_eq!(windows(&ack(&[]), 100), [100]);
        assert_eq!(windows(&ack(&sack(2000, 3000)), 110), [100]);
        assert_eq!(windows(&ack(&sack(2000, 4000)), 120), [100; 2]);
        assert_eq!(windows(&ack(&sack(2000, 9000)), 130), [100; 3]);
        assert_eq!(windows(&ack(&sack(500, 1000)), 140), []);
        assert_eq!(windows(&ack(&[]), 150), [150]);
        // With news in it, it counts.
        let mut more = ack(&sack(500, 1000));
        more[8..12].copy_from_slice(&2000u32.to_be_bytes());
        assert_eq!(windows(&more, 160), [160]);
    }

    #[test]
    fn addresses_fit() {
        let ip: Ipv4Addr = "10.77.0.2".parse().unwrap();
        let vlan: Ipv4Addr = "10.77.5.2".parse().unwrap();
        let ip6 = ["fd77::2", "fd77:0:0:5::2", "fe80::1"].map(|a| (a.parse().unwrap(), 64));
        let end = TcpEnd::new(&[(ip, 24), (vlan, 24)], &ip6, 1500, 0);
        assert_eq!(end.interface.ip_addrs().len(), 5);
    }
}
