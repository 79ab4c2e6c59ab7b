// SPDX-License-Identifier: GPL-2.0-or-later

//! The cable and what is at its other end.
//!
//! Towards the MAC, frames of the model peer and of the generators share the line: one frame at a
//! time, at the speed of the link, with the inter-frame gap between them; a frame reaches the MAC
//! with its last bit. Whoever has something to send takes turns. Times are computed from the
//! frames before, not from when the emulator got round to calling, so the spacing is exact.
//!
//! Frames of the emulator's network back end arrive at once, or share the line too when the device
//! is paced.

pub mod gen;
pub mod impair;
mod packet;
pub mod peer;
mod tcp;
#[cfg(test)]
mod tests;

use crate::config::{PeerKind, WireConfig};
use crate::frame::Frame;
use crate::host::Ns;
use gen::{Flow, Generator};
use impair::{Impairments, Rule};
pub(crate) use packet::pattern;
use packet::{EthHeader, Mac, MIN_FRAME};
use peer::{counters, Outbox, Peer};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Who takes what comes out of the wire.
pub trait WireOut {
    /// A frame has reached the MAC.
    fn to_mac(&mut self, now: Ns, frame: Frame);
    /// A frame goes to the emulator's network back end.
    fn to_host(&mut self, frame: &[u8]);
}

/// The direction of a frame, seen from the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards the MAC.
    Rx,
    /// From the MAC.
    Tx,
}

/// A flow as it is ordered: what is left open is filled in from what the port has shown of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowOrder {
    /// Destination address; by default that of the port under test.
    pub dst: Option<Mac>,
    /// Source address; by default the model peer's.
    pub src: Option<Mac>,
    /// Tag control information.
    pub tci: Option<u16>,
    /// What is inside.
    pub kind: FlowKind,
    /// How large.
    pub size: FlowSize,
    /// Checksums.
    pub checksum: gen::Checksum,
    /// How often.
    pub rate: FlowRate,
    /// Ends after so many frames.
    pub count: Option<u64>,
    /// Ends after so long.
    pub duration: Option<Ns>,
}

/// What an ordered flow is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowKind {
    /// IP with this protocol.
    Ip {
        /// IPv6 rather than IPv4, if no address says so.
        v6: bool,
        /// Protocol number; 6 and 17 get their header.
        proto: u8,
        /// Sender; by default the model peer.
        src: Option<IpAddr>,
        /// Receiver; by default the port under test.
        dst: Option<IpAddr>,
        /// Source port.
        sport: u16,
        /// Destination port.
        dport: u16,
    },
    /// The bare ethertype.
    Raw {
        /// The ethertype.
        ethertype: u16,
    },
}

/// The size of an ordered flow's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowSize {
    /// The frame from destination address to FCS, as sizes of frames are usually given.
    Frame(usize),
    /// The bytes after all headers.
    Payload(usize),
}

/// The rate of an ordered flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowRate {
    /// Back to back.
    Line,
    /// A frame each so many nanoseconds, from start to start.
    Interval(Ns),
    /// So many bits a second on the wire, preamble and gap included: at the speed of the link it is
    /// the same as [`FlowRate::Line`].
    Bits(u64),
}

/// What can be ordered from the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireOrder {
    /// Starts a flow.
    Flow(FlowOrder),
    /// Ends all flows and forgets the script.
    Stop,
    /// Sends a frame to the MAC, `delay` from now.
    Inject {
        /// How long from now.
        delay: Ns,
        /// The frame without FCS; sent as it is, even if it is too short.
        frame: Frame,
    },
    /// Does harm to frames from now on.
    Impair(Rule),
    /// Does no more harm.
    Unimpair,
    /// Sets the MTU of the model peer.
    PeerMtu(usize),
    /// Whether the model peer answers.
    PeerMute(bool),
    /// Forgets the counters of the wire and of the peer.
    ClearCounters,
}

counters! {
    /// What has passed.
    WireStats {
        to_mac: "Frames that reached the MAC.",
        to_mac_bytes: "Their bytes without FCS.",
        from_mac: "Frames from the MAC.",
        from_mac_bytes: "Their bytes without FCS.",
        from_host: "Frames from the network back end.",
        to_host: "Frames to the network back end.",
        generated: "Frames of flows put on the line.",
        injected: "Ordered single frames put on the line.",
        down_rx: "Frames towards the MAC lost since the link was down.",
        down_tx: "Frames from the MAC lost since the link was down.",
        queue_full: "Frames towards the MAC lost since too many waited for the line.",
        late_ns: "Line time given up since the emulator called too late.",
        from_mac_ipv4: "Frames from the MAC: IPv4.",
        from_mac_ipv6: "Frames from the MAC: IPv6.",
        from_mac_arp: "Frames from the MAC: ARP.",
        from_mac_ptp: "Frames from the MAC: PTP over Ethernet.",
        from_mac_other: "Frames from the MAC: any other ethertype.",
        from_mac_vlan: "Frames from the MAC: with a VLAN tag, whatever is inside.",
        from_mac_runt: "Frames from the MAC: shorter than 60 bytes without FCS.",
    }
}

const MAX_FLOWS: usize = 32;
const MAX_SCRIPT: usize = 65_536;
const MAX_QUEUE: usize = 4_096;

/// So many frames may reach the MAC in one call; if more are due the emulator cannot keep up, and
/// the line's clock is moved on rather than the emulator kept from running the guest.
const MAX_BURST: usize = 64;

/// A frame that was held back to change the order follows after so long if no other came.
const HOLD: Ns = 1_000_000;

/// What is on its way to the MAC.
#[derive(Debug)]
struct InFlight {
    arrival: Ns,
    /// `None`: it was lost, but takes its time on the line all the same.
    frame: Option<Frame>,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Extra,
    Script,
    Peer,
    Host,
    Flow(usize),
}

/// The cable.
pub struct Wire {
    config: WireConfig,
    mbps: Option<u32>,
    in_flight: Option<InFlight>,
    /// When the line is free: the end of the last frame and the gap after it.
    free: Ns,
    /// Whose turn comes after whom.
    turn: usize,
    /// Frames that impairments made or held back.
    extra: VecDeque<(Ns, Frame)>,
    held: Option<(Ns, Frame)>,
    script: VecDeque<(Ns, Frame)>,
    flows: Vec<Generator>,
    outbox: Outbox,
    peer: Option<Peer>,
    mute: bool,
    host: VecDeque<(Ns, Frame)>,
    /// Frames of the back end that do not wait for the line.
    at_once: VecDeque<Frame>,
    to_host: VecDeque<Vec<u8>>,
    rx_rules: Impairments,
    tx_rules: Impairments,
    port: Port,
    stats: WireStats,
}

/// What the port under test has shown of itself.
#[derive(Clone, Copy, Debug)]
struct Port {
    mac: Mac,
    ip: Ipv4Addr,
    ip6: Ipv6Addr,
}

impl Port {
    /// Learns from a frame that the port sent.
    fn learn(&mut self, frame: &[u8]) {
        let Some((eth, payload)) = EthHeader::parse(frame) else { return };
        if eth.src[0] & 1 != 0 || eth.src == [0; 6] {
            return;
        }
        self.mac = eth.src;
        if eth.tci.is_some() {
            return;
        }
        match eth.ethertype {
            packet::ETH_ARP if payload.len() >= 28 => {
                self.set_ip(Ipv4Addr::from(packet::be32(payload, 14)))
            }
            packet::ETH_IPV4 if payload.len() >= 20 => {
                self.set_ip(Ipv4Addr::from(packet::be32(payload, 12)))
            }
            packet::ETH_IPV6 if payload.len() >= 40 => {
                let mut octets = [0; 16];
                octets.copy_from_slice(&payload[8..24]);
                let ip = Ipv6Addr::from(octets);
                // Not link-local: floods go where sockets are bound.
                if !ip.is_unspecified() && octets[0] != 0xfe {
                    self.ip6 = ip;
                }
            }
            _ => {}
        }
    }

    fn set_ip(&mut self, ip: Ipv4Addr) {
        if !ip.is_unspecified() {
            self.ip = ip;
        }
    }
}

impl Wire {
    /// A cable with nothing on it and no link.
    pub fn new(config: &WireConfig) -> Self {
        Self {
            config: config.clone(),
            mbps: None,
            in_flight: None,
            free: 0,
            turn: 0,
            extra: VecDeque::new(),
            held: None,
            script: VecDeque::new(),
            flows: Vec::new(),
            outbox: Outbox::default(),
            peer: (config.peer == PeerKind::Model).then(|| Peer::new(config)),
            mute: false,
            host: VecDeque::new(),
            at_once: VecDeque::new(),
            to_host: VecDeque::new(),
            rx_rules: Impairments::default(),
            tx_rules: Impairments::default(),
            port: Port {
                mac: [0x02, 0, 0, 0, 0x77, 0x01],
                ip: Ipv4Addr::new(10, 77, 0, 1),
                ip6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1),
            },
            stats: WireStats::default(),
        }
    }

    /// The speed of the link, or none.
    pub fn link(&self) -> Option<u32> {
        self.mbps
    }

    /// The link comes up with a speed, changes it, or goes down. Frames under way are lost.
    pub fn set_link(&mut self, now: Ns, mbps: Option<u32>) {
        if self.mbps == mbps {
            return;
        }
        self.mbps = mbps.filter(|&mbps| mbps > 0);
        self.free = now;
        let waiting = self.outbox.frames.len()
            + self.host.len()
            + self.at_once.len()
            + self.extra.len()
            + usize::from(self.held.is_some())
            + usize::from(self.in_flight.is_some());
        self.stats.down_rx += waiting as u64;
        self.outbox.frames.clear();
        self.host.clear();
        self.at_once.clear();
        self.extra.clear();
        self.held = None;
        self.in_flight = None;
        // Flows go on when there is a line again; their time runs on meanwhile.
        for flow in &mut self.flows {
            flow.slip(now);
        }
    }

    /// A frame that the MAC has sent; its last bit leaves at `now`.
    pub fn from_mac(&mut self, now: Ns, frame: Frame) {
        if self.mbps.is_none() {
            self.stats.down_tx += 1;
            return;
        }
        self.stats.from_mac += 1;
        self.stats.from_mac_bytes += frame.data.len() as u64;
        self.count_kind(&frame.data);
        self.port.learn(&frame.data);
        for frame in self.tx_rules.apply(frame) {
            match self.config.peer {
                PeerKind::Host => {
                    // The back end knows no damage: a network card would have dropped the frame.
                    if frame.defects == Default::default() {
                        self.stats.to_host += 1;
                        self.to_host.push_back(frame.data);
                    }
                }
                PeerKind::Model => {
                    if let Some(peer) = self.peer.as_mut().filter(|_| !self.mute) {
                        peer.receive(now, &frame, &mut self.outbox);
                    }
                    // The peer has been asked for more than the line can carry beside the rest.
                    let waiting = self.outbox.frames.len();
                    self.stats.queue_full += waiting.saturating_sub(MAX_QUEUE) as u64;
                    self.outbox.frames.truncate(MAX_QUEUE);
                    self.start_flows(now);
                }
                PeerKind::None => {}
            }
        }
    }

    fn count_kind(&mut self, data: &[u8]) {
        if data.len() < MIN_FRAME {
            self.stats.from_mac_runt += 1;
        }
        let Some((eth, _)) = EthHeader::parse(data) else { return };
        self.stats.from_mac_vlan += u64::from(eth.tci.is_some());
        *match eth.ethertype {
            packet::ETH_IPV4 => &mut self.stats.from_mac_ipv4,
            packet::ETH_IPV6 => &mut self.stats.from_mac_ipv6,
            packet::ETH_ARP => &mut self.stats.from_mac_arp,
            packet::ETH_PTP => &mut self.stats.from_mac_ptp,
            _ => &mut self.stats.from_mac_other,
        } += 1;
    }

    /// A frame of the network back end. Without effect unless that is the peer.
    pub fn from_host(&mut self, now: Ns, data: &[u8]) {
        if self.config.peer != PeerKind::Host || data.is_empty() {
            return;
        }
        if self.mbps.is_none() {
            self.stats.down_rx += 1;
            return;
        }
        self.stats.from_host += 1;
        let frame = Frame::new(data.to_vec());
        if self.host.len() + self.at_once.len() >= MAX_QUEUE {
            self.stats.queue_full += 1;
        } else if self.config.pace {
            self.host.push_back((now, frame));
        } else {
            let frames = self.impair(now, pad(frame));
            self.at_once.extend(frames);
        }
    }

    /// Carries out an order, or says why it cannot.
    pub fn order(&mut self, now: Ns, order: WireOrder) -> Result<(), String> {
        match order {
            WireOrder::Flow(order) => {
                let flow = self.fill_in(&order)?;
                if self.flows.len() >= MAX_FLOWS {
                    return Err(format!("there are {MAX_FLOWS} flows already"));
                }
                self.flows.push(Generator::new(flow, now));
            }
            WireOrder::Stop => {
                self.flows.clear();
                self.script.clear();
            }
            WireOrder::Inject { delay, frame } => {
                if self.script.len() >= MAX_SCRIPT {
                    return Err(format!("the script has {MAX_SCRIPT} frames already"));
                }
                let at = now.saturating_add(delay);
                // In order of time; those of the same time in the order in which they came.
                let index = self.script.partition_point(|&(other, _)| other <= at);
                self.script.insert(index, (at, frame));
            }
            WireOrder::Impair(rule) => {
                let rules = match rule.direction {
                    Direction::Rx => &mut self.rx_rules,
                    Direction::Tx => &mut self.tx_rules,
                };
                rules.add(rule)?;
            }
            WireOrder::Unimpair => {
                self.rx_rules = Impairments::default();
                self.tx_rules = Impairments::default();
                self.extra.extend(self.held.take());
            }
            WireOrder::PeerMtu(mtu) => match self.peer.as_mut() {
                Some(peer) => peer.set_mtu(mtu),
                None => return Err("the peer is not the model's (peer=model)".into()),
            },
            WireOrder::PeerMute(mute) => self.mute = mute,
            WireOrder::ClearCounters => {
                self.stats = WireStats::default();
                if let Some(peer) = self.peer.as_mut() {
                    peer.clear_counters();
                }
            }
        }
        Ok(())
    }

    /// Completes an order to a flow.
    fn fill_in(&self, order: &FlowOrder) -> Result<Flow, String> {
        let content = match order.kind {
            FlowKind::Raw { ethertype } => gen::Content::Raw { ethertype },
            FlowKind::Ip { v6, proto, src, dst, sport, dport } => {
                let v6 = src.or(dst).map_or(v6, |address| address.is_ipv6());
                let (own, port): (IpAddr, IpAddr) = if v6 {
                    (self.config.peer_ip6.0.into(), self.port.ip6.into())
                } else {
                    (self.config.peer_ip.0.into(), self.port.ip.into())
                };
                let (src, dst) = (src.unwrap_or(own), dst.unwrap_or(port));
                if src.is_ipv4() != dst.is_ipv4() {
                    return Err(format!("{src} and {dst} are of different families"));
                }
                gen::Content::Ip { src, dst, proto, sport, dport }
            }
        };
        let mut flow = Flow {
            dst: order.dst.unwrap_or(self.port.mac),
            src: order.src.unwrap_or(self.config.peer_mac),
            tci: order.tci,
            content,
            payload: 0,
            checksum: order.checksum,
            interval: None,
            count: order.count,
            duration: order.duration,
        };
        let headers = flow.headers();
        flow.payload = match order.size {
            FlowSize::Payload(payload) => payload,
            FlowSize::Frame(size) => size.checked_sub(headers + 4).ok_or_else(|| {
                format!("size={size} is too small: headers and FCS take {}", headers + 4)
            })?,
        };
        let len = headers.saturating_add(flow.payload);
        if len > gen::MAX_FRAME {
            return Err(format!("the largest frame has {} bytes with FCS", gen::MAX_FRAME + 4));
        }
        flow.interval = match order.rate {
            FlowRate::Line => None,
            FlowRate::Interval(interval) => Some(interval),
            FlowRate::Bits(rate) => {
                let bits = (len.max(MIN_FRAME) + Frame::OVERHEAD) as u64 * 8;
                Some(bits * 1_000_000_000 / rate.max(1))
            }
        };
        Ok(flow)
    }

    /// Starts the flows that the peer was asked for.
    fn start_flows(&mut self, now: Ns) {
        for flow in self.outbox.flows.drain(..) {
            if self.flows.len() < MAX_FLOWS {
                self.flows.push(Generator::new(flow, now + peer::TURNAROUND));
            }
        }
    }

    /// Does to a frame what the rules say; returns what goes on instead.
    fn impair(&mut self, now: Ns, frame: Frame) -> Vec<Frame> {
        let mut frames = self.rx_rules.apply(frame);
        if self.rx_rules.hold() {
            // Only one is held: the one before goes first.
            let held = frames.pop().map(|frame| (now + HOLD, frame));
            frames.extend(std::mem::replace(&mut self.held, held).map(|(_, frame)| frame));
        } else if !frames.is_empty() {
            frames.extend(self.held.take().map(|(_, frame)| frame));
        }
        frames
    }

    /// Who may send next, and from when.
    fn next_source(&self) -> Option<(Ns, Source)> {
        let fixed = [
            (self.extra.front().map(|e| e.0), Source::Extra),
            (self.script.front().map(|e| e.0), Source::Script),
            (self.outbox.frames.front().map(|e| e.0), Source::Peer),
            (self.host.front().map(|e| e.0), Source::Host),
        ];
        let count = fixed.len() + self.flows.len();
        let mut best: Option<(Ns, Source)> = None;
        for step in 0..count {
            let index = (self.turn + step) % count;
            let (ready, source) = match fixed.get(index) {
                Some(&(ready, source)) => (ready, source),
                None => {
                    let index = index - fixed.len();
                    (self.flows[index].ready(), Source::Flow(index))
                }
            };
            // Who is ready when the line is free is as ready as another: their turn decides.
            if let Some(ready) = ready.map(|ready| ready.max(self.free)) {
                if best.is_none_or(|(other, _)| ready < other) {
                    best = Some((ready, source));
                }
            }
        }
        best
    }

    /// When somebody may put a frame on the line, given that it carries none.
    fn decision(&self) -> Option<Ns> {
        let (start, _) = self.next_source()?;
        // Who comes right after the gap is settled as soon as the last frame has ended: that
        // spares the emulator a timer for each frame.
        Some(if start <= self.free { 0 } else { start })
    }

    /// When [`Self::poll`] has something to do.
    pub fn next_event(&self) -> Option<Ns> {
        if !self.to_host.is_empty() || !self.at_once.is_empty() {
            return Some(0);
        }
        let mut next = self.peer.as_ref().and_then(|p| p.next_event(self.outbox.frames.len()));
        let mut at = |time: Option<Ns>| {
            next = match (next, time) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            }
        };
        at(self.held.as_ref().map(|held| held.0));
        match (&self.in_flight, self.mbps) {
            (Some(frame), _) => at(Some(frame.arrival)),
            (None, Some(_)) => at(self.decision()),
            // Ordered frames and the peer's are lost in time, flows wait.
            (None, None) => {
                at(self.script.front().map(|e| e.0));
                at(self.outbox.frames.front().map(|e| e.0));
            }
        }
        next
    }

    /// Does all that is due at `now`.
    pub fn poll(&mut self, now: Ns, out: &mut dyn WireOut) {
        while let Some(frame) = self.to_host.pop_front() {
            out.to_host(&frame);
        }
        while let Some(frame) = self.at_once.pop_front() {
            self.arrive(now, frame, out);
        }
        let mut burst = 0;
        loop {
            if self.held.as_ref().is_some_and(|held| held.0 <= now) {
                self.extra.extend(self.held.take());
            }
            if let Some(peer) = self.peer.as_mut() {
                peer.poll(now, &mut self.outbox);
            }
            if self.in_flight.as_ref().is_some_and(|frame| frame.arrival <= now) {
                let Some(InFlight { arrival, frame }) = self.in_flight.take() else { break };
                if let Some(frame) = frame {
                    self.arrive(arrival, frame, out);
                }
                burst += 1;
            }
            if self.in_flight.is_some() {
                break;
            }
            if self.mbps.is_none() {
                self.lose_due(now);
                break;
            }
            if self.decision().is_none_or(|due| due > now) {
                break;
            }
            if burst >= MAX_BURST && self.free < now {
                self.stats.late_ns += now - self.free;
                self.free = now;
                for flow in &mut self.flows {
                    flow.slip(now);
                }
            }
            self.send_next();
        }
        self.flows.retain(|flow| flow.ready().is_some());
    }

    /// What would be sent by `now` is lost without a link.
    fn lose_due(&mut self, now: Ns) {
        for queue in [&mut self.script, &mut self.outbox.frames] {
            while queue.front().is_some_and(|e| e.0 <= now) {
                queue.pop_front();
                self.stats.down_rx += 1;
            }
        }
    }

    fn arrive(&mut self, at: Ns, frame: Frame, out: &mut dyn WireOut) {
        self.stats.to_mac += 1;
        self.stats.to_mac_bytes += frame.data.len() as u64;
        out.to_mac(at, frame);
    }

    /// Puts the next frame on the line.
    fn send_next(&mut self) {
        let Some(mbps) = self.mbps else { return };
        let Some((start, source)) = self.next_source() else { return };
        let time = |bytes: usize| bytes as u64 * 8_000 / u64::from(mbps);
        let gap = time(GAP);
        // From the first bit of the preamble to the last of the FCS.
        let duration = |len: usize| time(len + Frame::OVERHEAD - GAP);
        let fixed = |queue: &mut VecDeque<(Ns, Frame)>| queue.pop_front().map(|e| e.1);
        let (index, frame) = match source {
            Source::Extra => (0, fixed(&mut self.extra)),
            Source::Script => (1, fixed(&mut self.script)),
            Source::Peer => (2, fixed(&mut self.outbox.frames).map(pad)),
            Source::Host => (3, fixed(&mut self.host).map(pad)),
            Source::Flow(index) => {
                let free = |frame: &Frame| start + duration(frame.data.len().max(MIN_FRAME)) + gap;
                (4 + index, Some(pad(self.flows[index].take(free))))
            }
        };
        self.turn = index + 1;
        let Some(frame) = frame else { return };
        self.stats.injected += u64::from(source == Source::Script);
        self.stats.generated += u64::from(matches!(source, Source::Flow(_)));
        let arrival = start + duration(frame.data.len());
        let mut frames = match source {
            // Has been through this before.
            Source::Extra => vec![frame],
            _ => self.impair(start, frame),
        }
        .into_iter();
        let first = frames.next();
        for (index, frame) in frames.enumerate() {
            self.extra.insert(index, (start, frame));
        }
        // A truncated frame ends early.
        let arrival = first.as_ref().map_or(arrival, |first| start + duration(first.data.len()));
        self.free = arrival + gap;
        self.in_flight = Some(InFlight { arrival, frame: first });
    }

    /// Calls `each` with the name and the value of every counter.
    pub fn counters(&self, each: &mut dyn FnMut(&str, u64)) {
        self.stats.list("wire.", each);
        each("wire.flows", self.flows.len() as u64);
        each("wire.script", self.script.len() as u64);
        each("wire.impaired_rx", self.rx_rules.done());
        each("wire.impaired_tx", self.tx_rules.done());
        if let Some(peer) = &self.peer {
            peer.counters(each);
        }
    }
}

/// The gap between frames, in byte times.
const GAP: usize = 12;

/// Fills a frame up to the minimum size, as its sender does.
fn pad(mut frame: Frame) -> Frame {
    if frame.data.len() < MIN_FRAME {
        frame.data.resize(MIN_FRAME, 0);
    }
    frame
}

/// Reads a time with its unit: `12304ns`, `10us`, `5ms`, `1s`, `1.5s`.
pub(crate) fn parse_span(text: &str) -> Option<Ns> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let scale: u64 = match &text[digits..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    parse_decimal(&text[..digits], scale)
}

/// Reads a number that may end in k, M or G (powers of ten).
pub(crate) fn parse_scaled(text: &str) -> Option<u64> {
    let (number, scale) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    parse_decimal(number, scale)
}

/// `text` times `scale`; a fraction that leaves no whole number is refused.
fn parse_decimal(text: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() || !text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let mut value = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    let mut unit = scale;
    for digit in fraction.bytes() {
        if !digit.is_ascii_digit() || unit % 10 != 0 {
            return None;
        }
        unit /= 10;
        value = value.checked_add(u64::from(digit - b'0') * unit)?;
    }
    Some(value)
}
