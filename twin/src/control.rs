// SPDX-License-Identifier: GPL-2.0-or-later

//! The control page: how a program in the guest gives orders to the model.
//!
//! A page of its own, outside the MAC's window, with its own device tree node that no driver binds.
//! The command `twinctl` is its user. All registers have 32 bits, little-endian:
//!
//! | offset | name | |
//! |---|---|---|
//! | 000 | ID | "RTWN" as bytes in memory; read only |
//! | 004 | VERSION | 1; read only |
//! | 008 | NOW_LO | virtual time in nanoseconds; reading it latches NOW_HI |
//! | 00c | NOW_HI | |
//! | 010 | STATUS | of the last order: 0 none yet, 1 carried out, 2 refused |
//! | 014 | DOORBELL | writing the length of the order in COMMAND has it carried out, at once |
//! | 018 | RESULT_LEN | bytes of the answer |
//! | 01c | RESULT_PAGE | which 2 KiB of the answer the window RESULT shows |
//! | 020 | MARK | writing a number puts it into the trace |
//! | 024 | VIOLATIONS | rules of the register contract that the driver has broken so far |
//! | 028 | INSTANCE | number of this device |
//! | 400-7ff | COMMAND | the order, a line of text |
//! | 800-fff | RESULT | the answer, text; read only |
//!
//! [`HELP`] is the grammar of the orders.

use crate::fault::Fault;
use crate::frame::{Defects, Frame};
use crate::host::Ns;
use crate::qs::QsFault;
use crate::wire::gen::Checksum;
use crate::wire::impair::{Harm, Rule};
use crate::wire::{parse_scaled, parse_span, pattern};
use crate::wire::{Direction, FlowKind, FlowOrder, FlowRate, FlowSize, WireOrder};
use std::net::IpAddr;

/// The registers.
pub mod reg {
    #![allow(missing_docs)]
    pub const ID: u32 = 0x000;
    pub const VERSION: u32 = 0x004;
    pub const NOW_LO: u32 = 0x008;
    pub const NOW_HI: u32 = 0x00c;
    pub const STATUS: u32 = 0x010;
    pub const DOORBELL: u32 = 0x014;
    pub const RESULT_LEN: u32 = 0x018;
    pub const RESULT_PAGE: u32 = 0x01c;
    pub const MARK: u32 = 0x020;
    pub const VIOLATIONS: u32 = 0x024;
    pub const INSTANCE: u32 = 0x028;
    pub const COMMAND: u32 = 0x400;
    pub const RESULT: u32 = 0x800;
    pub const END: u32 = 0x1000;
}

/// Size of the window COMMAND.
pub const COMMAND_SIZE: usize = (reg::RESULT - reg::COMMAND) as usize;
/// Size of the window RESULT.
pub const RESULT_SIZE: usize = (reg::END - reg::RESULT) as usize;

const ID: u32 = u32::from_le_bytes(*b"RTWN");
const VERSION: u32 = 1;

const STATUS_OK: u32 = 1;
const STATUS_REFUSED: u32 = 2;

/// The largest frame that can be ordered, without FCS.
const MAX_FRAME: usize = 16 * 1024;

/// What can be ordered from the PHY and the cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhyOrder {
    /// The cable is pulled out.
    Unplug,
    /// It is put back; negotiation follows.
    Plug,
    /// The other end negotiates again, from now on with these abilities (`None`: as before).
    Renegotiate {
        /// The fastest speed it offers.
        mbps: Option<u32>,
        /// Whether it offers full duplex.
        full: Option<bool>,
    },
    /// The PHY does not answer on MDIO: all reads give ones.
    Silent {
        /// From now on, or no longer.
        on: bool,
    },
}

/// An order that somebody else carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// For the MAC.
    Mac(Fault),
    /// For the PHY.
    Phy(PhyOrder),
    /// For the CPU port of a switch.
    Qs(QsFault),
    /// For the wire.
    Wire(WireOrder),
    /// A line for the person at the terminal.
    Log(String),
    /// A mark in the trace.
    Mark(String),
    /// All counters whose name begins so, as text by [`list`]; empty: all.
    Stats(String),
    /// Sets all counters to zero.
    ClearCounters,
    /// The violations so far, as text.
    Violations,
}

/// The orders, as `help` prints them.
pub const HELP: &str = "\
Cable and PHY
  unplug | plug                     pull the cable out, put it back
  renegotiate [speed=10|100|1000] [duplex=full|half]
                                    the other end negotiates again, with these abilities
  phy-silent on|off                 the PHY does not answer on MDIO
Faults of the MAC (count: the next so many events, default 1)
  lose-irq line=N [count=N]         interrupt line N is not raised
  stuck-irq line=N on|off           interrupt line N stays asserted
  stuck-tx queue=N on|off           TX queue N never fetches a descriptor
  stuck-dlr on|off                  DLR restarts no queue
  stuck-rx on|off                   RX DMA stands still
  stuck-mode on|off                 CSR.OPS does not follow CCC.OPC
  stuck-stop on|off                 DMA never reports idle
  stuck-csum on|off                 the checksum ports do not read back
  stuck-gptp on|off                 gPTP requests never complete
  lose-stamp [count=N]              TX timestamps are lost
  fifo-overflow [count=N]           the RX FIFO overflows
  bus-error [count=N]               DMA accesses to packet data fail
  rx-head [type=N] [size=N] [ethertype=N] [count=N]
                                    RX descriptors (of such frames) are written with a wrong DT or
                                    DS; orders add up, count=0 forgets them
  slow TIME                         mode changes, DMA stop and CSR0 take that long; 0 ends it
  capture                           an edge at the external capture input of gPTP
  false-carrier                     the E-MAC detects a false carrier
  emac-counters [trocr=N] [cxr41=N] [cxr42=N]
                                    adds to the E-MAC's counters
CPU port (CHIP=inject)
  inj-busy TIME [after=WORDS [count=N]] [read=TIME]
                                    the injection FIFO is not ready for TIME, now or after so many
                                    more words, N times; the second read that shows it takes read=
  xtr-abort [count=N]               frames are extracted as void
  xtr-prune [count=N]               frames are cut off
Traffic towards the port
  flood [size=N|payload=N] [rate=line|BITS|interval=TIME] [count=N|for=TIME]
        [proto=udp|tcp|NUMBER|ethertype=N] [v6] [src=IP] [dst=IP] [sport=N] [dport=N]
        [smac=MAC] [dmac=MAC] [vlan=N] [pcp=N] [csum=good|bad|zero|badip]
                                    size with FCS, payload without headers; rate in bits a second on
                                    the wire; default: UDP from the model peer to the port, size=64
                                    rate=line count=1 dport=9
  frame HEX [size=N] [delay=TIME|at=NS] [defect=KIND,...]
                                    one frame as given, without FCS, filled up to size; at: virtual
                                    time
  stop                              ends all floods, forgets all frames to come
Harm to frames on the wire (dir=rx: towards the port, the default, or tx; the first skip=N frames
pass, then every=N-th is harmed, count=N of them: default 1, without end if every is given)
  defect KIND,... [dir] [skip] [every] [count]
                                    KIND: crc phy short long fraction carrier-lost carrier-ext
  drop | dup | reorder [skip] [every] [count] [dir]
  truncate len=N ...                only N bytes arrive, with a wrong FCS
  flip at=N xor=N ...               byte N is changed, with a right FCS
  unimpair                          no more harm
The model peer
  peer-mtu N                        1280 to 9000
  peer-mute on|off                  it takes everything and says nothing
To know
  now                               virtual time in nanoseconds
  stats [PREFIX]                    counters
  clear                             sets them to zero
  violations                        broken rules of the register contract
  mark TEXT                         a line in the register trace
  log TEXT                          a line on the emulator's terminal
  help                              this text
TIME is a number with ns, us, ms or s. Other numbers may end in k, M or G, or begin with 0x.
";

/// The control page.
#[derive(Debug)]
pub struct Control {
    command: [u8; COMMAND_SIZE],
    result: Vec<u8>,
    status: u32,
    page: u32,
    now_hi: u32,
    violations: u32,
    instance: u32,
}

impl Control {
    /// The page of device number `instance`.
    pub fn new(instance: u32) -> Self {
        Self {
            command: [0; COMMAND_SIZE],
            result: Vec::new(),
            status: 0,
            page: 0,
            now_hi: 0,
            violations: 0,
            instance,
        }
    }

    /// Machine reset.
    pub fn reset(&mut self) {
        *self = Self::new(self.instance);
    }

    /// The number of this device is known only when it has got its place.
    pub fn set_instance(&mut self, instance: u32) {
        self.instance = instance;
    }

    /// What VIOLATIONS shows.
    pub fn set_violations(&mut self, violations: u64) {
        self.violations = u32::try_from(violations).unwrap_or(u32::MAX);
    }

    /// Reads a register; `off` is rounded down to a multiple of four.
    pub fn read(&mut self, now: Ns, off: u32) -> u32 {
        let off = off & !3;
        match off {
            reg::ID => ID,
            reg::VERSION => VERSION,
            reg::NOW_LO => {
                self.now_hi = (now >> 32) as u32;
                now as u32
            }
            reg::NOW_HI => self.now_hi,
            reg::STATUS => self.status,
            reg::RESULT_LEN => self.result.len() as u32,
            reg::RESULT_PAGE => self.page,
            reg::VIOLATIONS => self.violations,
            reg::INSTANCE => self.instance,
            reg::COMMAND..reg::RESULT => word(&self.command, (off - reg::COMMAND) as usize),
            reg::RESULT..reg::END => {
                let page = (self.page as usize).saturating_mul(RESULT_SIZE);
                word(&self.result, page.saturating_add((off - reg::RESULT) as usize))
            }
            _ => 0,
        }
    }

    /// Writes a register. The order that comes out of it has been carried out, unless whoever does
    /// so says otherwise by [`Self::finish`].
    pub fn write(&mut self, now: Ns, off: u32, value: u32) -> Option<Order> {
        let off = off & !3;
        match off {
            reg::DOORBELL => return self.ring(now, value as usize),
            reg::RESULT_PAGE => self.page = value,
            reg::MARK => return Some(Order::Mark(value.to_string())),
            reg::COMMAND..reg::RESULT => {
                let at = (off - reg::COMMAND) as usize;
                self.command[at..at + 4].copy_from_slice(&value.to_le_bytes());
            }
            _ => {}
        }
        None
    }

    /// Sets status and answer of the order that has just come out of [`Self::write`].
    pub fn finish(&mut self, result: Result<String, String>) {
        self.page = 0;
        self.status = if result.is_ok() { STATUS_OK } else { STATUS_REFUSED };
        self.result = result.unwrap_or_else(|error| error).into_bytes();
    }

    fn ring(&mut self, now: Ns, len: usize) -> Option<Order> {
        if len > COMMAND_SIZE {
            self.finish(Err(format!("an order has {COMMAND_SIZE} bytes at most")));
            return None;
        }
        let Ok(text) = std::str::from_utf8(&self.command[..len]) else {
            self.finish(Err("the order is not text (UTF-8)".into()));
            return None;
        };
        match decode(now, text) {
            Ok(Decoded::Order(order)) => {
                self.finish(Ok(String::new()));
                Some(order)
            }
            Ok(Decoded::Answer(answer)) => {
                self.finish(Ok(answer));
                None
            }
            Err(error) => {
                self.finish(Err(error));
                None
            }
        }
    }
}

/// Four bytes at `at`, zero where there are none.
fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    let rest = bytes.get(at..).unwrap_or_default();
    let len = rest.len().min(4);
    word[..len].copy_from_slice(&rest[..len]);
    u32::from_le_bytes(word)
}

/// Lists counters as text, a line `NAME VALUE` each, those whose name begins with `prefix`.
pub fn list(prefix: &str, counters: impl FnOnce(&mut dyn FnMut(&str, u64))) -> String {
    let mut text = String::new();
    counters(&mut |name, value| {
        if name.starts_with(prefix) {
            text.push_str(&format!("{name} {value}\n"));
        }
    });
    text
}

#[derive(Debug, PartialEq, Eq)]
enum Decoded {
    Order(Order),
    Answer(String),
}

/// Reads a line of the grammar.
fn decode(now: Ns, text: &str) -> Result<Decoded, String> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mut words = Words { verb, words: rest.split_whitespace().collect() };
    let order = match verb {
        "" => return Err("an empty order; \"help\" lists all".into()),
        "help" => {
            words.end()?;
            return Ok(Decoded::Answer(HELP.into()));
        }
        "now" => {
            words.end()?;
            return Ok(Decoded::Answer(format!("{now}\n")));
        }
        // The rest is free text.
        "mark" => return Ok(Decoded::Order(Order::Mark(rest.trim().into()))),
        "log" => return Ok(Decoded::Order(Order::Log(rest.trim().into()))),
        "stats" => {
            let prefix = words.next().unwrap_or_default();
            Order::Stats(prefix.into())
        }
        "clear" => Order::ClearCounters,
        "violations" => Order::Violations,
        "unplug" => Order::Phy(PhyOrder::Unplug),
        "plug" => Order::Phy(PhyOrder::Plug),
        "renegotiate" => {
            let mbps = words.one_of("speed", &[("10", 10), ("100", 100), ("1000", 1000)])?;
            let full = words.one_of("duplex", &[("full", true), ("half", false)])?;
            Order::Phy(PhyOrder::Renegotiate { mbps, full })
        }
        "phy-silent" => Order::Phy(PhyOrder::Silent { on: words.on_off()? }),
        "stop" => Order::Wire(WireOrder::Stop),
        "unimpair" => Order::Wire(WireOrder::Unimpair),
        "inj-busy" => Order::Qs(QsFault::Busy {
            after: words.number("after", 0, 1 << 32)?.unwrap_or(0),
            count: words.count()?,
            read: words.value("read", span)?.unwrap_or(0),
            span: words.positional("TIME", span)?,
        }),
        "xtr-abort" => Order::Qs(QsFault::Abort { count: words.count()? }),
        "xtr-prune" => Order::Qs(QsFault::Prune { count: words.count()? }),
        "peer-mute" => Order::Wire(WireOrder::PeerMute(words.on_off()?)),
        "peer-mtu" => {
            let mtu = words.positional("MTU", |text| number(text, 1280, 9000))?;
            Order::Wire(WireOrder::PeerMtu(mtu as usize))
        }
        "flood" => Order::Wire(WireOrder::Flow(flood(&mut words)?)),
        "frame" => Order::Wire(frame(now, &mut words)?),
        "defect" | "drop" | "dup" | "reorder" | "truncate" | "flip" => {
            Order::Wire(WireOrder::Impair(rule(&mut words)?))
        }
        _ => match fault(&mut words)? {
            Some(fault) => Order::Mac(fault),
            None => return Err(format!("unknown order \"{verb}\"; \"help\" lists all")),
        },
    };
    words.end()?;
    Ok(Decoded::Order(order))
}

/// The words of an order that have not been used yet.
struct Words<'a> {
    verb: &'a str,
    words: Vec<&'a str>,
}

impl<'a> Words<'a> {
    /// Takes `key=VALUE` and gives the value.
    fn take(&mut self, key: &str) -> Option<&'a str> {
        let value = |word: &&'a str| -> Option<&'a str> {
            let (k, v) = word.split_once('=')?;
            (k == key).then_some(v)
        };
        let index = self.words.iter().position(|word| value(word).is_some())?;
        value(&self.words.remove(index))
    }

    /// Takes the next word.
    fn next(&mut self) -> Option<&'a str> {
        (!self.words.is_empty()).then(|| self.words.remove(0))
    }

    /// Takes the word `flag` if it is there.
    fn flag(&mut self, flag: &str) -> bool {
        let index = self.words.iter().position(|&word| word == flag);
        index.map(|index| self.words.remove(index)).is_some()
    }

    /// Takes `key=VALUE` as `parse` reads it.
    fn value<T>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let Some(text) = self.take(key) else { return Ok(None) };
        let value = parse(text).map_err(|why| format!("{}: {key}={text}: {why}", self.verb))?;
        Ok(Some(value))
    }

    fn one_of<T: Copy>(&mut self, key: &str, values: &[(&str, T)]) -> Result<Option<T>, String> {
        self.value(key, |text| {
            values.iter().find(|(name, _)| *name == text).map(|&(_, value)| value).ok_or_else(
                || {
                    let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
                    format!("not one of {}", names.join(", "))
                },
            )
        })
    }

    fn number(&mut self, key: &str, low: u64, high: u64) -> Result<Option<u64>, String> {
        self.value(key, |text| number(text, low, high))
    }

    /// A number that must be given.
    fn needed(&mut self, key: &str, low: u64, high: u64) -> Result<u64, String> {
        let verb = self.verb;
        self.number(key, low, high)?.ok_or_else(|| format!("{verb}: {key}= is missing"))
    }

    fn count(&mut self) -> Result<u32, String> {
        Ok(self.number("count", 0, u64::from(u32::MAX))?.unwrap_or(1) as u32)
    }

    /// Takes the first word that is no `key=VALUE`.
    fn positional<T>(
        &mut self,
        what: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        let index = self.words.iter().position(|word| !word.contains('='));
        let index = index.ok_or_else(|| format!("{}: {what} is missing", self.verb))?;
        let text = self.words.remove(index);
        parse(text).map_err(|why| format!("{}: {text}: {why}", self.verb))
    }

    fn on_off(&mut self) -> Result<bool, String> {
        self.positional("\"on\" or \"off\"", |text| match text {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err("not \"on\" or \"off\"".into()),
        })
    }

    /// All words must have been used.
    fn end(&self) -> Result<(), String> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(format!("{}: \"{word}\" is unknown, or once too often", self.verb)),
        }
    }
}

fn number(text: &str, low: u64, high: u64) -> Result<u64, String> {
    let value = match text.strip_prefix("0x") {
        // from_str_radix would take a sign.
        Some(hex) if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u64::from_str_radix(hex, 16).ok()
        }
        Some(_) => None,
        None => parse_scaled(text),
    };
    match value {
        None => Err("not a number".into()),
        Some(value) if (low..=high).contains(&value) => Ok(value),
        Some(_) => Err(format!("not from {low} to {high}")),
    }
}

fn span(text: &str) -> Result<Ns, String> {
    parse_span(text).ok_or_else(|| "not a time with its unit (ns, us, ms, s)".into())
}

fn mac(text: &str) -> Result<[u8; 6], String> {
    let bad = || "not an Ethernet address".to_string();
    let mut mac = [0; 6];
    let mut pieces = text.split(':');
    for byte in &mut mac {
        let piece = pieces.next().filter(|piece| piece.len() == 2).ok_or_else(bad)?;
        let digits = piece.bytes().all(|byte| byte.is_ascii_hexdigit());
        *byte = u8::from_str_radix(piece, 16).ok().filter(|_| digits).ok_or_else(bad)?;
    }
    pieces.next().map_or(Ok(mac), |_| Err(bad()))
}

fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| "not an IP address".into())
}

fn defects(text: &str) -> Result<Defects, String> {
    let mut defects = Defects::default();
    for kind in text.split(',') {
        *match kind {
            "crc" => &mut defects.crc,
            "phy" => &mut defects.phy,
            "short" => &mut defects.short,
            "long" => &mut defects.long,
            "fraction" => &mut defects.fraction,
            "carrier-lost" => &mut defects.carrier_lost,
            "carrier-ext" => &mut defects.carrier_ext,
            _ => {
                return Err("a defect is one of crc, phy, short, long, fraction, carrier-lost, \
                            carrier-ext"
                    .into())
            }
        } = true;
    }
    Ok(defects)
}

/// Orders to the MAC; `None` if the verb is none of them.
fn fault(words: &mut Words<'_>) -> Result<Option<Fault>, String> {
    let counter = u64::from(u16::MAX);
    Ok(Some(match words.verb {
        "lose-irq" => {
            Fault::LoseIrq { line: words.needed("line", 0, 31)? as u8, count: words.count()? }
        }
        "stuck-irq" => {
            Fault::StuckIrq { line: words.needed("line", 0, 31)? as u8, on: words.on_off()? }
        }
        "stuck-tx" => {
            Fault::StuckTx { queue: words.needed("queue", 0, 3)? as u8, on: words.on_off()? }
        }
        "stuck-dlr" => Fault::StuckDlr { on: words.on_off()? },
        "stuck-rx" => Fault::StuckRx { on: words.on_off()? },
        "stuck-mode" => Fault::StuckMode { on: words.on_off()? },
        "stuck-stop" => Fault::StuckStop { on: words.on_off()? },
        "stuck-csum" => Fault::StuckCsum { on: words.on_off()? },
        "stuck-gptp" => Fault::StuckGptp { on: words.on_off()? },
        "lose-stamp" => Fault::LoseStamp { count: words.count()? },
        "fifo-overflow" => Fault::FifoOverflow { count: words.count()? },
        "bus-error" => Fault::BusError { count: words.count()? },
        "rx-head" => Fault::RxHead {
            kind: words.number("type", 0, 15)?.map(|kind| kind as u8),
            size: words.number("size", 0, 4095)?.map(|size| size as u16),
            ethertype: words.number("ethertype", 0, counter)?.map(|kind| kind as u16),
            count: words.count()?,
        },
        "slow" => {
            let parse = |text: &str| if text == "0" { Ok(0) } else { span(text) };
            Fault::Slow { span: words.positional("TIME", parse)? }
        }
        "capture" => Fault::CaptureEdge,
        "false-carrier" => Fault::FalseCarrier,
        "emac-counters" => Fault::Counters {
            trocr: words.number("trocr", 0, counter)?.unwrap_or(0) as u16,
            cxr41: words.number("cxr41", 0, counter)?.unwrap_or(0) as u16,
            cxr42: words.number("cxr42", 0, counter)?.unwrap_or(0) as u16,
        },
        _ => return Ok(None),
    }))
}

fn flood(words: &mut Words<'_>) -> Result<FlowOrder, String> {
    let size = words.number("size", 1, 1 << 20)?.map(|size| FlowSize::Frame(size as usize));
    let payload = words.number("payload", 0, 1 << 20)?.map(|size| FlowSize::Payload(size as usize));
    if size.is_some() && payload.is_some() {
        return Err("flood: size= or payload=, not both".into());
    }
    let interval = words.value("interval", span)?.map(FlowRate::Interval);
    let rate = words.value("rate", |text| match text {
        "line" => Ok(FlowRate::Line),
        _ => number(text, 1, 1_000_000_000_000).map(FlowRate::Bits),
    })?;
    if interval.is_some() && rate.is_some() {
        return Err("flood: rate= or interval=, not both".into());
    }
    let count = words.number("count", 0, u64::MAX)?;
    let duration = words.value("for", span)?;
    let v6 = words.flag("v6");
    let src = words.value("src", address)?;
    let dst = words.value("dst", address)?;
    let sport = words.number("sport", 0, 0xffff)?.unwrap_or(19) as u16;
    let dport = words.number("dport", 0, 0xffff)?.unwrap_or(9) as u16;
    let proto = words.value("proto", |text| match text {
        "udp" => Ok(17),
        "tcp" => Ok(6),
        _ => number(text, 0, 255).map_err(|why| format!("{why}, nor udp or tcp")),
    })?;
    let kind = match words.number("ethertype", 0, 0xffff)? {
        Some(_) if proto.is_some() => return Err("flood: proto= or ethertype=, not both".into()),
        Some(ethertype) => FlowKind::Raw { ethertype: ethertype as u16 },
        None => FlowKind::Ip { v6, proto: proto.unwrap_or(17) as u8, src, dst, sport, dport },
    };
    let vlan = words.number("vlan", 0, 4095)?;
    let pcp = words.number("pcp", 0, 7)?;
    let tci = match (vlan, pcp) {
        (None, None) => None,
        // A priority without a VLAN: that is VLAN 0.
        (vlan, pcp) => Some((vlan.unwrap_or(0) | (pcp.unwrap_or(0) << 13)) as u16),
    };
    Ok(FlowOrder {
        dst: words.value("dmac", mac)?,
        src: words.value("smac", mac)?,
        tci,
        kind,
        size: size.or(payload).unwrap_or(FlowSize::Frame(if v6 { 70 } else { 64 })),
        checksum: words
            .one_of(
                "csum",
                &[
                    ("good", Checksum::Good),
                    ("bad", Checksum::Bad),
                    ("zero", Checksum::Zero),
                    ("badip", Checksum::BadIp),
                ],
            )?
            .unwrap_or_default(),
        rate: interval.or(rate).unwrap_or(FlowRate::Line),
        count: if duration.is_some() { count } else { count.or(Some(1)) },
        duration,
    })
}

fn frame(now: Ns, words: &mut Words<'_>) -> Result<WireOrder, String> {
    let size = words.number("size", 1, MAX_FRAME as u64)?;
    let delay = words.value("delay", span)?;
    let at = words.number("at", 0, u64::MAX)?;
    let defects = words.value("defect", defects)?.unwrap_or_default();
    let mut data = words.positional("HEX", hex)?;
    if let Some(size) = size {
        let size = size as usize;
        if size < data.len() {
            return Err(format!("frame: size={size}: the frame has {} bytes", data.len()));
        }
        let fill = (0..(size - data.len()) as u64).map(pattern);
        data.extend(fill);
    }
    let delay = match (delay, at) {
        (Some(_), Some(_)) => return Err("frame: delay= or at=, not both".into()),
        (delay, None) => delay.unwrap_or(0),
        (None, Some(at)) => at
            .checked_sub(now)
            .ok_or_else(|| format!("frame: at={at}: that is over, it is {now}"))?,
    };
    Ok(WireOrder::Inject { delay, frame: Frame { data, defects } })
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|&c| c != ':' && c != '-')
        .map(|c| c.to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()
        .ok_or("not hexadecimal")?;
    if digits.is_empty() || digits.len() % 2 != 0 {
        return Err("not a whole number of bytes".into());
    }
    Ok(digits.chunks(2).map(|pair| (pair[0] << 4) | pair[1]).collect())
}

fn rule(words: &mut Words<'_>) -> Result<Rule, String> {
    let harm = match words.verb {
        "defect" => Harm::Defect(words.positional("KIND", defects)?),
        "drop" => Harm::Drop,
        "dup" => Harm::Duplicate,
        "reorder" => Harm::Reorder,
        "truncate" => Harm::Truncate(words.needed("len", 1, MAX_FRAME as u64)? as usize),
        _ => Harm::Flip {
            at: words.needed("at", 0, MAX_FRAME as u64)? as usize,
            xor: words.needed("xor", 1, 255)? as u8,
        },
    };
    let directions = [("rx", Direction::Rx), ("tx", Direction::Tx)];
    let direction = words.one_of("dir", &directions)?.unwrap_or(Direction::Rx);
    let skip = words.number("skip", 0, u64::MAX)?.unwrap_or(0);
    let every = words.number("every", 1, u64::MAX)?;
    let count = words.number("count", 0, u64::MAX)?;
    let count = if every.is_some() { count } else { count.or(Some(1)) };
    Ok(Rule { harm, direction, skip, every: every.unwrap_or(1), count })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives an order as the guest does.
    fn give(control: &mut Control, text: &[u8]) -> Option<Order> {
        for (index, chunk) in text.chunks(4).enumerate() {
            let mut bytes = [0; 4];
            bytes[..chunk.len()].copy_from_slice(chunk);
            let off = reg::COMMAND + index as u32 * 4;
            assert_eq!(control.write(1000, off, u32::from_le_bytes(bytes)), None);
        }
        control.write(1000, reg::DOORBELL, text.len() as u32)
    }

    /// Reads status and answer as the guest does.
    fn answer(control: &mut Control) -> (u32, String) {
        let len = control.read(0, reg::RESULT_LEN) as usize;
        let mut text = Vec::new();
        for page in 0..len.div_ceil(RESULT_SIZE) as u32 {
            control.write(0, reg::RESULT_PAGE, page);
            for off in (reg::RESULT..reg::END).step_by(4) {
                text.extend_from_slice(&control.read(0, off).to_le_bytes());
            }
        }
        text.truncate(len);
        (control.read(0, reg::STATUS), String::from_utf8(text).unwrap())
    }

    fn order(text: &str) -> Order {
        let mut control = Control::new(0);
        let order = give(&mut control, text.as_bytes());
        assert_eq!(answer(&mut control), (1, String::new()), "{text}");
        order.unwrap_or_else(|| panic!("{text}: no order"))
    }

    fn refused(text: &str) -> String {
        let mut control = Control::new(0);
        assert_eq!(give(&mut control, text.as_bytes()), None, "{text}");
        let (status, why) = answer(&mut control);
        assert_eq!(status, 2, "{text}");
        why
    }

    #[test]
    fn orders_to_the_mac() {
        use Fault::*;
        for (text, fault) in [
            ("lose-irq line=0 count=1", LoseIrq { line: 0, count: 1 }),
            ("lose-irq line=3", LoseIrq { line: 3, count: 1 }),
            ("stuck-irq line=2 on", StuckIrq { line: 2, on: true }),
            ("stuck-tx queue=0 on", StuckTx { queue: 0, on: true }),
            ("stuck-tx off queue=1", StuckTx { queue: 1, on: false }),
            ("stuck-dlr on", StuckDlr { on: true }),
            ("stuck-rx on", StuckRx { on: true }),
            ("stuck-mode on", StuckMode { on: true }),
            ("stuck-stop off", StuckStop { on: false }),
            ("stuck-csum on", StuckCsum { on: true }),
            ("stuck-gptp on", StuckGptp { on: true }),
            ("lose-stamp count=4", LoseStamp { count: 4 }),
            ("fifo-overflow count=0x10", FifoOverflow { count: 16 }),
            ("bus-error count=1k", BusError { count: 1000 }),
            (
                "rx-head type=5 size=0",
                RxHead { kind: Some(5), size: Some(0), ethertype: None, count: 1 },
            ),
            (
                "rx-head size=4095 ethertype=0x88b5 count=2",
                RxHead { kind: None, size: Some(4095), ethertype: Some(0x88B5), count: 2 },
            ),
            ("rx-head count=0", RxHead { kind: None, size: None, ethertype: None, count: 0 }),
            ("slow 10us", Slow { span: 10_000 }),
            ("slow 0", Slow { span: 0 }),
            ("capture", CaptureEdge),
            ("false-carrier", FalseCarrier),
            ("emac-counters trocr=1 cxr42=3", Counters { trocr: 1, cxr41: 0, cxr42: 3 }),
        ] {
            assert_eq!(order(text), Order::Mac(fault), "{text}");
        }
    }

    #[test]
    fn orders_to_the_phy() {
        use PhyOrder::*;
        for (text, phy) in [
            ("unplug", Unplug),
            (" plug\n", Plug),
            ("renegotiate", Renegotiate { mbps: None, full: None }),
            (
                "renegotiate speed=100 duplex=half",
                Renegotiate { mbps: Some(100), full: Some(false) },
            ),
            ("phy-silent on", Silent { on: true }),
        ] {
            assert_eq!(order(text), Order::Phy(phy), "{text}");
        }
    }

    #[test]
    fn orders_to_the_wire() {
        let ip = |v6, proto, sport, dport| {
            let (src, dst) = (None, None);
            FlowKind::Ip { v6, proto, src, dst, sport, dport }
        };
        let plain = FlowOrder {
            dst: None,
            src: None,
            tci: None,
            kind: ip(false, 17, 19, 9),
            size: FlowSize::Frame(64),
            checksum: Checksum::Good,
            rate: FlowRate::Line,
            count: Some(1),
            duration: None,
        };
        for (text, flow) in [
            ("flood", plain.clone()),
            (
                "flood size=64 rate=line count=1000",
                FlowOrder { count: Some(1000), ..plain.clone() },
            ),
            (
                "flood payload=1472 rate=100M for=1s csum=bad",
                FlowOrder {
                    size: FlowSize::Payload(1472),
                    rate: FlowRate::Bits(100_000_000),
                    count: None,
                    duration: Some(1_000_000_000),
                    checksum: Checksum::Bad,
                    ..plain.clone()
                },
            ),
            (
                "flood v6 proto=tcp sport=1 dport=0x10 interval=10us vlan=5 pcp=3",
                FlowOrder {
                    kind: ip(true, 6, 1, 16),
                    size: FlowSize::Frame(70),
                    rate: FlowRate::Interval(10_000),
                    tci: Some(0x6005),
                    ..plain.clone()
                },
            ),
            (
                "flood ethertype=0x88b5 dmac=01:80:c2:00:00:0e pcp=1",
                FlowOrder {
                    kind: FlowKind::Raw { ethertype: 0x88b5 },
                    dst: Some([1, 0x80, 0xc2, 0, 0, 14]),
                    tci: Some(0x2000),
                    ..plain.clone()
                },
            ),
            (
                "flood src=10.0.0.1 dst=10.0.0.2",
                FlowOrder {
                    kind: FlowKind::Ip {
                        v6: false,
                        proto: 17,
                        src: Some("10.0.0.1".parse().unwrap()),
                        dst: Some("10.0.0.2".parse().unwrap()),
                        sport: 19,
                        dport: 9,
                    },
                    ..plain.clone()
                },
            ),
        ] {
            assert_eq!(order(text), Order::Wire(WireOrder::Flow(flow)), "{text}");
        }
        let crc = Defects { crc: true, ..Defects::default() };
        let rule = |harm, skip, every, count| {
            WireOrder::Impair(Rule { harm, direction: Direction::Rx, skip, every, count })
        };
        for (text, wire) in [
            ("stop", WireOrder::Stop),
            ("unimpair", WireOrder::Unimpair),
            ("peer-mtu 9000", WireOrder::PeerMtu(9000)),
            ("peer-mute off", WireOrder::PeerMute(false)),
            ("defect crc count=3", rule(Harm::Defect(crc), 0, 1, Some(3))),
            ("drop every=10", rule(Harm::Drop, 0, 10, None)),
            ("drop every=10 count=2 skip=5", rule(Harm::Drop, 5, 10, Some(2))),
            ("dup", rule(Harm::Duplicate, 0, 1, Some(1))),
            ("truncate len=20", rule(Harm::Truncate(20), 0, 1, Some(1))),
            ("flip at=40 xor=0xff", rule(Harm::Flip { at: 40, xor: 255 }, 0, 1, Some(1))),
            ("frame 0102:03", WireOrder::Inject { delay: 0, frame: Frame::new(vec![1, 2, 3]) }),
            (
                "frame ff size=4 delay=5us defect=crc",
                WireOrder::Inject {
                    delay: 5000,
                    frame: Frame { data: vec![255, 0, 1, 2], defects: crc },
                },
            ),
            // It is 1000 now.
            ("frame 00 at=1500", WireOrder::Inject { delay: 500, frame: Frame::new(vec![0]) }),
        ] {
            assert_eq!(order(text), Order::Wire(wire), "{text}");
        }
    }

    #[test]
    fn orders_to_know() {
        assert_eq!(order("stats"), Order::Stats(String::new()));
        assert_eq!(order("stats wire."), Order::Stats("wire.".into()));
        assert_eq!(order("clear"), Order::ClearCounters);
        assert_eq!(order("violations"), Order::Violations);
        assert_eq!(order("mark a = b"), Order::Mark("a = b".into()));
        assert_eq!(order("log x  y "), Order::Log("x  y".into()));
        let mut control = Control::new(0);
        assert_eq!(give(&mut control, b"now"), None);
        assert_eq!(answer(&mut control), (1, "1000\n".into()));
        assert_eq!(give(&mut control, b"help"), None);
        // More than one page of it.
        assert_eq!(answer(&mut control), (1, HELP.into()));
        assert_eq!(control.write(0, reg::MARK, 7), Some(Order::Mark("7".into())));
    }

    #[test]
    fn refusals_name_the_fault() {
        for (text, why) in [
            ("", "an empty order; \"help\" lists all"),
            ("fly", "unknown order \"fly\"; \"help\" lists all"),
            ("unplug now", "unplug: \"now\" is unknown, or once too often"),
            ("stuck-rx", "stuck-rx: \"on\" or \"off\" is missing"),
            ("stuck-rx maybe", "stuck-rx: maybe: not \"on\" or \"off\""),
            ("lose-irq", "lose-irq: line= is missing"),
            ("lose-irq line=32", "lose-irq: line=32: not from 0 to 31"),
            ("lose-irq line=x", "lose-irq: line=x: not a number"),
            ("lose-irq line=1 line=2", "lose-irq: \"line=2\" is unknown, or once too often"),
            ("slow 5", "slow: 5: not a time with its unit (ns, us, ms, s)"),
            ("renegotiate speed=2500", "renegotiate: speed=2500: not one of 10, 100, 1000"),
            ("flood size=64 payload=1", "flood: size= or payload=, not both"),
            ("flood rate=1M interval=1us", "flood: rate= or interval=, not both"),
            ("flood dmac=1:2", "flood: dmac=1:2: not an Ethernet address"),
            ("flood dst=x", "flood: dst=x: not an IP address"),
            ("frame", "frame: HEX is missing"),
            ("frame 0", "frame: 0: not a whole number of bytes"),
            ("frame zz", "frame: zz: not hexadecimal"),
            ("frame 00 at=5", "frame: at=5: that is over, it is 1000"),
            ("frame 0000 size=1", "frame: size=1: the frame has 2 bytes"),
            ("peer-mtu 100", "peer-mtu: 100: not from 1280 to 9000"),
            ("flip at=1 xor=0x+f", "flip: xor=0x+f: not a number"),
        ] {
            assert_eq!(refused(text), why, "{text}");
        }
        assert!(refused("defect crc,rust").starts_with("defect: crc,rust: a defect is one of"));
    }

    #[test]
    fn every_order_is_in_the_help() {
        for verb in [
            "unplug",
            "plug",
            "renegotiate",
            "phy-silent",
            "lose-irq",
            "stuck-irq",
            "stuck-tx",
            "stuck-dlr",
            "stuck-rx",
            "stuck-mode",
            "stuck-stop",
            "stuck-csum",
            "stuck-gptp",
            "lose-stamp",
            "fifo-overflow",
            "bus-error",
            "rx-head",
            "slow",
            "capture",
            "false-carrier",
            "emac-counters",
            "flood",
            "frame",
            "stop",
            "defect",
            "drop",
            "dup",
            "reorder",
            "truncate",
            "flip",
            "unimpair",
            "peer-mtu",
            "peer-mute",
            "now",
            "stats",
            "clear",
            "violations",
            "mark",
            "log",
            "help",
        ] {
            assert!(HELP.split_whitespace().any(|word| word == verb), "{verb}");
        }
        assert!(HELP.lines().all(|line| line.len() <= 100));
    }

    #[test]
    fn registers() {
        let mut control = Control::new(3);
        assert_eq!(control.read(0, reg::ID).to_le_bytes(), *b"RTWN");
        assert_eq!(control.read(0, reg::VERSION), 1);
        assert_eq!(control.read(0, reg::INSTANCE), 3);
        assert_eq!(control.read(0, reg::STATUS), 0);
        // The upper half belongs to the lower half that was read.
        assert_eq!(control.read(0x1_ffff_ffff, reg::NOW_LO), 0xffff_ffff);
        assert_eq!(control.read(0x2_0000_0000, reg::NOW_HI), 1);
        control.set_violations(u64::MAX);
        assert_eq!(control.read(0, reg::VIOLATIONS), u32::MAX);
        control.write(0, reg::DOORBELL, COMMAND_SIZE as u32 + 1);
        assert_eq!(answer(&mut control), (2, "an order has 1024 bytes at most".into()));
        give(&mut control, &[0xff, 0xfe]);
        assert_eq!(answer(&mut control), (2, "the order is not text (UTF-8)".into()));
        give(&mut control, b"stop");
        control.finish(Err("no".into()));
        assert_eq!(answer(&mut control), (2, "no".into()));
    }

    #[test]
    fn lists_by_prefix() {
        let text = list("a.", |each| {
            each("a.x", 1);
            each("b.x", 2);
            each("a.y", u64::MAX);
        });
        assert_eq!(text, "a.x 1\na.y 18446744073709551615\n");
    }

    #[test]
    fn random_accesses_are_survived() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let words: Vec<&str> =
            HELP.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
        let mut control = Control::new(0);
        for round in 0..20_000 {
            let mut text: Vec<u8> = Vec::new();
            for _ in 0..random() % 8 {
                match random() % 5 {
                    0 => text.extend(random().to_le_bytes()),
                    1 => text.extend(random().to_string().bytes()),
                    _ => text.extend(words[random() as usize % words.len()].bytes()),
                }
                text.push(b" =,:\0\n"[random() as usize % 6]);
            }
            text.truncate(COMMAND_SIZE);
            if round % 2 == 0 {
                give(&mut control, &text);
            } else if let Ok(text) = std::str::from_utf8(&text) {
                let _ = decode(round, text);
            }
            for _ in 0..4 {
                let (off, value) = (random() as u32 % 0x1004, random() as u32);
                let value = if random() % 2 == 0 { value } else { value % 2000 };
                control.write(random(), off, value);
                control.read(random(), random() as u32 % 0x1004);
            }
        }
    }
}
