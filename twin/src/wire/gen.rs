// SPDX-License-Identifier: GPL-2.0-or-later

//! The traffic generator: flows of like frames at a given rate up to the line's.

use super::packet::{self, EthHeader, IpHeader, Mac, Sum, IP_TCP, IP_UDP};
use crate::frame::Frame;
use crate::host::Ns;
use std::net::IpAddr;

/// The largest frame of the generator, without FCS.
pub const MAX_FRAME: usize = 16 * 1024;

/// What is above Ethernet in a generated frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// An IP packet; protocol 17 and 6 have their header, others have none.
    Ip {
        /// Sender.
        src: IpAddr,
        /// Receiver, of the same family.
        dst: IpAddr,
        /// IP protocol.
        proto: u8,
        /// Source port.
        sport: u16,
        /// Destination port.
        dport: u16,
    },
    /// The pattern under this ethertype.
    Raw {
        /// The ethertype.
        ethertype: u16,
    },
}

/// What the checksums of a generated frame are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// All are right.
    #[default]
    Good,
    /// That of TCP or UDP is wrong.
    Bad,
    /// That of TCP or UDP is zero: for UDP "there is none".
    Zero,
    /// That of the IPv4 header is wrong.
    BadIp,
}

/// A flow of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Destination address.
    pub dst: Mac,
    /// Source address.
    pub src: Mac,
    /// Tag control information, for a tagged flow.
    pub tci: Option<u16>,
    /// What is inside.
    pub content: Content,
    /// Bytes after all headers.
    pub payload: usize,
    /// Checksums.
    pub checksum: Checksum,
    /// Start to start; `None`: back to back.
    pub interval: Option<Ns>,
    /// Ends after so many frames.
    pub count: Option<u64>,
    /// Ends after so long.
    pub duration: Option<Ns>,
}

impl Flow {
    /// Bytes of headers before the payload.
    pub fn headers(&self) -> usize {
        let tag = if self.tci.is_some() { 4 } else { 0 };
        let inner = match self.content {
            Content::Raw { .. } => 0,
            Content::Ip { dst, proto, .. } => {
                let ip = if dst.is_ipv4() { 20 } else { 40 };
                ip + match proto {
                    IP_UDP => 8,
                    IP_TCP => 20,
                    _ => 0,
                }
            }
        };
        14 + tag + inner
    }
}

/// A flow that is being sent.
#[derive(Clone, Debug)]
pub struct Generator {
    flow: Flow,
    /// The frame with sequence number 0.
    template: Vec<u8>,
    /// Sum of all that the TCP or UDP checksum covers, of the template.
    base: Sum,
    /// Where the checksum field is.
    field: Option<usize>,
    started: Ns,
    next: Ns,
    sent: u64,
}

impl Generator {
    /// Starts a flow at `now`. The payload is cut to what [`MAX_FRAME`] allows.
    pub fn new(flow: Flow, now: Ns) -> Self {
        let headers = flow.headers();
        let payload = flow.payload.min(MAX_FRAME - headers);
        let mut data: Vec<u8> = (0..payload as u64).map(packet::pattern).collect();
        for byte in data.iter_mut().take(8) {
            *byte = 0;
        }
        let mut base = Sum::default();
        let mut field = None;
        let template = match flow.content {
            Content::Raw { ethertype } => {
                let eth = EthHeader { dst: flow.dst, src: flow.src, tci: flow.tci, ethertype };
                let mut frame = eth.emit(payload);
                frame.extend_from_slice(&data);
                frame
            }
            Content::Ip { src, dst, proto, sport, dport } => {
                let mut inner = Vec::with_capacity(20 + payload);
                if matches!(proto, IP_UDP | IP_TCP) {
                    inner.extend_from_slice(&sport.to_be_bytes());
                    inner.extend_from_slice(&dport.to_be_bytes());
                }
                if proto == IP_UDP {
                    inner.extend_from_slice(&((8 + payload) as u16).to_be_bytes());
                    inner.extend_from_slice(&[0, 0]);
                } else if proto == IP_TCP {
                    // A lone ACK with data, window 0xffff: no connection belongs to it.
                    inner.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff]);
                    inner.extend_from_slice(&[0; 4]);
                }
                inner.extend_from_slice(&data);
                let eth = EthHeader::ip(flow.dst, flow.src, flow.tci, dst);
                let ip = IpHeader { src, dst, proto, fragment: None };
                let mut frames = packet::emit_ip(&eth, &ip, 0, &inner, MAX_FRAME);
                let mut frame = frames.pop().unwrap_or_default();
                base = base.pseudo(src, dst, proto, inner.len()).add(&inner);
                let l4 = frame.len() - inner.len();
                field = match proto {
                    IP_UDP => Some(l4 + 6),
                    IP_TCP => Some(l4 + 16),
                    _ => None,
                };
                if flow.checksum == Checksum::BadIp && dst.is_ipv4() {
                    frame[l4 - 10] ^= 0x01;
                }
                frame
            }
        };
        Self { flow, template, base, field, started: now, next: now, sent: 0 }
    }

    /// When the next frame may start; `None` once the flow has ended.
    pub fn ready(&self) -> Option<Ns> {
        let counted = self.flow.count.is_some_and(|count| self.sent >= count);
        let timed = self.flow.duration.is_some_and(|span| self.next - self.started >= span);
        (!counted && !timed).then_some(self.next)
    }

    /// Frames sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The next frame. The line will be free again at the instant that `free` makes of it.
    pub fn take(&mut self, free: impl FnOnce(&Frame) -> Ns) -> Frame {
        let mut data = self.template.clone();
        let at = data.len() - self.flow.payload.min(data.len() - self.flow.headers());
        let mut base = self.base;
        if data.len() - at >= 8 {
            let number = self.sent.to_be_bytes();
            data[at..at + 8].copy_from_slice(&number);
            base = base.add(&number);
        }
        if let Some(field) = self.field {
            let mut sum = base.checksum();
            if sum == 0 {
                sum = 0xffff;
            }
            sum = match self.flow.checksum {
                Checksum::Good | Checksum::BadIp => sum,
                // Neither the right sum, in any of its two forms, nor zero.
                Checksum::Bad => match sum {
                    0xffff => 0x0001,
                    sum => sum + 1,
                },
                Checksum::Zero => 0,
            };
            data[field..field + 2].copy_from_slice(&sum.to_be_bytes());
        }
        let frame = Frame::new(data);
        let free = free(&frame);
        self.sent += 1;
        self.next = match self.flow.interval {
            // From frame start to frame start, by the schedule: a frame that had to wait does not
            // shift those after it, unless the line is still busy then.
            Some(interval) => (self.next + interval.max(1)).max(free),
            None => free,
        };
        frame
    }

    /// The line was down or nobody called: goes on at `now`.
    pub fn slip(&mut self, now: Ns) {
        self.next = self.next.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> Flow {
        Flow {
            dst: [2, 0, 0, 0, 0x77, 1],
            src: [2, 0, 0, 0, 0x77, 2],
            tci: None,
            content: Content::Ip {
                src: "10.77.0.2".parse().unwrap(),
                dst: "10.77.0.1".parse().unwrap(),
                proto: IP_UDP,
                sport: 19,
                dport: 5001,
            },
            payload: 1472,
            checksum: Checksum::Good,
            interval: None,
            count: Some(3),
            duration: None,
        }
    }

    fn l4_sum(frame: &[u8]) -> u16 {
        let (ip, data) = if packet::be16(frame, 12) == packet::ETH_IPV4 {
            packet::parse_ipv4(&frame[14..]).unwrap()
        } else {
            packet::parse_ipv6(&frame[14..]).unwrap()
        };
        Sum::default().pseudo(ip.src, ip.dst, ip.proto, data.len()).add(data).fold()
    }

    #[test]
    fn checksums_are_right_for_every_frame() {
        for proto in [IP_UDP, IP_TCP] {
            for (src, dst) in [("10.77.0.2", "10.77.0.1"), ("fd77::2", "fd77::1")] {
                for payload in [0, 1, 7, 8, 9, 1471] {
                    let (src, dst) = (src.parse().unwrap(), dst.parse().unwrap());
                    let content = Content::Ip { src, dst, proto, sport: 1, dport: 2 };
                    let mut gen = Generator::new(Flow { content, payload, ..flow() }, 0);
                    for _ in 0..3 {
                        assert_eq!(
                            l4_sum(&gen.take(|_| 0).data),
                            0xffff,
                            "{proto} {dst} {payload}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn bad_and_zero_checksums() {
        let mut bad = Generator::new(Flow { checksum: Checksum::Bad, ..flow() }, 0);
        let frame = bad.take(|_| 0);
        assert_ne!(l4_sum(&frame.data), 0xffff);
        assert_ne!(packet::be16(&frame.data, 40), 0);
        let mut zero = Generator::new(Flow { checksum: Checksum::Zero, ..flow() }, 0);
        assert_eq!(packet::be16(&zero.take(|_| 0).data, 40), 0);
        let mut bad_ip = Generator::new(Flow { checksum: Checksum::BadIp, ..flow() }, 0);
        let frame = bad_ip.take(|_| 0).data;
        assert_eq!(packet::parse_ipv4(&frame[14..]), Err(packet::IpFault::Checksum));
    }

    #[test]
    fn sizes_and_sequence() {
        let mut gen = Generator::new(Flow { tci: Some(5), ..flow() }, 0);
        let first = gen.take(|_| 0).data;
        let second = gen.take(|_| 0).data;
        assert_eq!(first.len(), 18 + 20 + 8 + 1472);
        assert_eq!(first[46..54], [0; 8]);
        assert_eq!(second[46..54], [0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(second[54], 8);
        let raw = Flow { content: Content::Raw { ethertype: 0x88b5 }, payload: 46, ..flow() };
        let frame = Generator::new(raw, 0).take(|_| 0).data;
        assert_eq!((frame.len(), packet::be16(&frame, 12)), (60, 0x88b5));
    }

    #[test]
    fn ends_by_count_and_by_time() {
        let mut gen = Generator::new(flow(), 100);
        for n in 0..3 {
            assert_eq!(gen.ready(), Some(100 + n * 10));
            gen.take(|_| 110 + n * 10);
        }
        assert_eq!(gen.ready(), None);
        let timed = Flow { count: None, duration: Some(1000), interval: Some(300), ..flow() };
        let mut gen = Generator::new(timed, 0);
        let mut starts = Vec::new();
        while let Some(start) = gen.ready() {
            starts.push(start);
            gen.take(|_| start + 1);
        }
        assert_eq!(starts, [0, 300, 600, 900]);
    }

    #[test]
    fn oversized_payload_is_cut() {
        let mut gen = Generator::new(Flow { payload: 1 << 20, ..flow() }, 0);
        assert_eq!(gen.take(|_| 0).data.len(), MAX_FRAME);
    }
}
