// SPDX-License-Identifier: GPL-2.0-or-later

//! The device's properties: `key=value:key=value`, each with its default and its reason.
//!
//! Where the hardware's behaviour is not known (reference section 5.6), the property says so and
//! the default is what suits the stock driver.

use crate::chip::{Chip, LinkPin, PhyNode, CHIP_GBETH};
use crate::host::Ns;
use crate::phy::Link;
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;

/// Who is at the other end of the cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerKind {
    /// The emulator's network back end.
    Host,
    /// The model's own responder and traffic generator.
    Model,
    /// Nobody: the link is up and silent.
    None,
}

/// What the wire needs to know.
#[derive(Clone, Debug)]
pub struct WireConfig {
    /// Who is at the other end.
    pub peer: PeerKind,
    /// Station address of the model peer.
    pub peer_mac: [u8; 6],
    /// Address of the model peer and its prefix length.
    pub peer_ip: (Ipv4Addr, u8),
    /// IPv6 address of the model peer and its prefix length.
    pub peer_ip6: (Ipv6Addr, u8),
    /// Frames of the network back end share the line at its speed.
    pub pace: bool,
    /// Seed of all variation.
    pub seed: u64,
}

/// Which frames go to the network control queue (reference 5.6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NcClass {
    /// Ethertype 0x88F7, or sent to one of PTP's two multicast addresses.
    Ptp,
    /// Ethertype 0x88F7 only.
    Type,
    /// As `Ptp`, and frames with VLAN priority 6 or 7.
    Priority,
    /// None.
    None,
}

/// What happens to a queue with malformed descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueError {
    /// It stops until OPERATION is entered again or DLR reloads it.
    Halt,
    /// The next request tries again.
    Retry,
}

/// A part of the device tree that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DtPart {
    /// `resets`.
    Resets,
    /// `clocks` and `clock-names`.
    Clocks,
    /// `interrupts` and `interrupt-names`.
    Interrupts,
    /// `phy-mode`.
    PhyMode,
    /// `phy-handle`.
    PhyHandle,
    /// `local-mac-address`.
    Mac,
}

const DT_PARTS: [(&str, DtPart); 6] = [
    ("resets", DtPart::Resets),
    ("clocks", DtPart::Clocks),
    ("interrupts", DtPart::Interrupts),
    ("phy-mode", DtPart::PhyMode),
    ("phy-handle", DtPart::PhyHandle),
    ("mac", DtPart::Mac),
];

/// All properties.
#[derive(Clone, Debug)]
pub struct Config {
    /// The variant.
    pub chip: &'static Chip,
    /// First `compatible` string, if not the variant's usual one.
    pub soc: Option<String>,
    /// The wire.
    pub wire: WireConfig,
    /// Frames leave at the speed of the link, not at once.
    pub pace: bool,
    /// No poison, no random delays.
    pub kind: bool,
    /// Charge for a read in the MAC's window.
    pub mmio_read: Ns,
    /// Charge for a write in the MAC's window.
    pub mmio_write: Ns,
    /// The device tree says that DMA is not coherent.
    pub noncoherent: bool,
    /// Capture of the wire.
    pub pcap: Option<PathBuf>,
    /// Log of register accesses.
    pub trace: Option<PathBuf>,
    /// Which register accesses are logged.
    pub trace_filter: String,
    /// Speed of a fixed link instead of a PHY.
    pub fixed: Option<Link>,
    /// MDIO address of the PHY.
    pub phy_addr: u8,
    /// Identifier of the PHY.
    pub phy_id: u32,
    /// Time of autonegotiation.
    pub aneg: Ns,
    /// The PHY answers clause 45 frames.
    pub clause45: bool,
    /// The link partner advertises pause.
    pub partner_pause: bool,
    /// The PHY's link signal.
    pub link_pin: LinkPin,
    /// `phy-mode`.
    pub phy_mode: String,
    /// Where the PHY's node is.
    pub phy_node: PhyNode,
    /// `rx-internal-delay-ps` and `tx-internal-delay-ps`.
    pub delays_ps: Option<(u32, u32)>,
    /// Rate of the clock that drives gPTP (the first one on a variant without gPTP).
    pub clock_hz: u32,
    /// Parts left out of the device tree.
    pub dt_omit: Vec<DtPart>,
    /// Only the interrupts that the stock driver asks for.
    pub dt_irqs_used: bool,
    /// A boot loader has used the port.
    pub uboot: bool,
    /// Malformed descriptors.
    pub queue_error: QueueError,
    /// CCC.OPC = RESET resets the E-MAC too.
    pub reset_emac: bool,
    /// E-MAC accesses in RESET mode are reported.
    pub check_reset_mode: bool,
    /// The checksum trailer of GbEth is there even with CSR2 = 0.
    pub toe_always: bool,
    /// A frame for which the slots run out is cut, not dropped.
    pub rx_truncate: bool,
    /// MSC is in every slot of a frame, not only in the last.
    pub msc_all: bool,
    /// RCR.EFFS = 0 delivers errored frames, 1 drops them.
    pub effs_inverted: bool,
    /// Network control frames.
    pub nc: NcClass,
    /// The sum of ECMR.RCSC starts behind a VLAN tag.
    pub rcsc_skips_tag: bool,
    /// Depth of the TX timestamp FIFO.
    pub stamp_depth: u8,
    /// Time stamps and gPTP are on `dia`, not on `mgmt_a`.
    pub gptp_on_dia: bool,
    /// Time in which the switch takes a word out of the injection FIFO.
    pub inj_word: Ns,
    /// Words that the injection FIFO holds.
    pub inj_fifo: u32,
    /// One in so many words leaves the injection FIFO not ready for a while.
    pub inj_busy_every: u32,
    /// For how long at most.
    pub inj_busy: Ns,
    /// One in so many extracted words is not ready at once.
    pub xtr_wait_every: u32,
}

/// What the shim is told when the arguments do not make a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// `args=help`: the text.
    Help(String),
    /// The argument at fault and why.
    Error(String),
}

/// A property: name, default as text, what it does, how it is set.
struct Property {
    name: &'static str,
    default: &'static str,
    help: &'static str,
    set: fn(&mut Config, &str) -> Result<(), String>,
}

fn flag(value: &str) -> Result<bool, String> {
    match value {
        "0" | "no" | "off" => Ok(false),
        "1" | "yes" | "on" => Ok(true),
        _ => Err("0 or 1".into()),
    }
}

fn number<T: TryFrom<u64>>(value: &str) -> Result<T, String> {
    let parsed = match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    parsed
        .ok()
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| "a number in range".into())
}

/// One of the given words, each standing for a value.
fn choice<T: Copy>(value: &str, options: &[(&str, T)]) -> Result<T, String> {
    options
        .iter()
        .find(|(name, _)| *name == value)
        .map(|(_, option)| *option)
        .ok_or_else(|| options.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" or "))
}

fn address<T: FromStr>(value: &str, max: u8) -> Result<(T, u8), String> {
    let wrong = || format!("address/prefix length up to {max}");
    let (text, len) = value.split_once('/').unwrap_or((value, ""));
    let len = match len {
        "" => max,
        text => text.parse().map_err(|_| wrong())?,
    };
    if len > max {
        return Err(wrong());
    }
    Ok((text.parse().map_err(|_| wrong())?, len))
}

fn mac(value: &str) -> Result<[u8; 6], String> {
    let wrong = || "twelve hexadecimal digits".to_string();
    if value.len() != 12 || !value.is_ascii() {
        return Err(wrong());
    }
    let mut bytes = [0; 6];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&value[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
    }
    Ok(bytes)
}

/// IPv6 addresses contain ':', which separates arguments; they are written with '-' instead.
fn address6(value: &str) -> Result<(Ipv6Addr, u8), String> {
    address(&value.replace('-', ":"), 128)
        .map_err(|what: String| format!("{what}, with '-' for ':'"))
}

/// Milliseconds.
fn ms(value: &str) -> Result<Ns, String> {
    number::<u32>(value).map(|ms| Ns::from(ms) * 1_000_000)
}

macro_rules! properties {
    ($($name:literal, $default:literal, $help:literal, |$c:ident, $v:ident| $set:expr;)*) => {
        &[$(Property {
            name: $name,
            default: $default,
            help: $help,
            set: |$c, $v| { $set; Ok(()) },
        }),*]
    };
}

/// In the order in which they are applied: `chip` first, since others take their default from it.
const PROPERTIES: &[Property] = properties! {
    "chip", "gbeth", "variant: gen2, gen3, gen4, rzv2m or gbeth; inject: CPU port of a switch",
        |c, v| {
        let chip = Chip::by_name(v).ok_or("gen2, gen3, gen4, rzv2m, gbeth or inject")?;
        c.take_defaults_of(chip);
    };
    "soc", "", "SoC part of compatible, e.g. r9a08g045 (default: the variant's usual one)",
        |c, v| c.soc = Some(v.into());
    "peer", "model", "other end of the cable: model, host (the emulator's netdev) or none",
        |c, v| c.wire.peer = choice(v, &[("model", PeerKind::Model), ("host", PeerKind::Host),
            ("none", PeerKind::None)])?;
    "ip", "10.77.0.2/24", "address of the model peer", |c, v| c.wire.peer_ip = address(v, 32)?;
    "ip6", "fd77--2/64", "IPv6 address of the model peer, with '-' for ':'",
        |c, v| c.wire.peer_ip6 = address6(v)?;
    "peer_mac", "020000007702", "station address of the model peer",
        |c, v| c.wire.peer_mac = mac(v)?;
    "pace", "1", "1: frames take their time on the wire; 0: they leave and arrive at once",
        |c, v| { c.pace = flag(v)?; c.wire.pace = c.pace };
    "seed", "1", "seed of everything that varies", |c, v| c.wire.seed = number(v)?;
    "kind", "0", "1: no poison in buffers, no random delays and orders", |c, v| c.kind = flag(v)?;
    "mmio_read_ns", "0", "virtual time charged for a register read",
        |c, v| c.mmio_read = number::<u32>(v)?.into();
    "mmio_write_ns", "0", "virtual time charged for a register write",
        |c, v| c.mmio_write = number::<u32>(v)?.into();
    "noncoherent", "0", "1: dma-noncoherent in the device tree (the kernel maintains caches)",
        |c, v| c.noncoherent = flag(v)?;
    "pcap", "", "file for a capture of the wire", |c, v| c.pcap = Some(v.into());
    "trace", "", "file for a log of register accesses", |c, v| c.trace = Some(v.into());
    "trace_filter", "", "names joined by '+': only these registers are logged; -NAME: not this one",
        |c, v| c.trace_filter = v.replace('+', ",");
    "phy", "mdio", "mdio: a PHY; fixed: a fixed link and no PHY", |c, v| {
        let fixed = choice(v, &[("mdio", false), ("fixed", true)])?;
        c.fixed = fixed.then_some(Link { mbps: 1000, full: true });
    };
    "fixed_mbps", "1000", "speed of the fixed link", |c, v| {
        let mbps = choice(v, &[("10", 10), ("100", 100), ("1000", 1000)])?;
        if let Some(fixed) = &mut c.fixed {
            fixed.mbps = mbps;
        }
    };
    "phy_addr", "", "MDIO address of the PHY (default: the usual board's)", |c, v| {
        c.phy_addr = number(v)?;
        if c.phy_addr > 31 {
            return Err("0 to 31".into());
        }
    };
    "phy_id", "0x02007701", "PHYID1 and PHYID2; the default belongs to no vendor's driver",
        |c, v| c.phy_id = number(v)?;
    "aneg_ms", "900", "duration of autonegotiation; real PHYs take 1.5 to 4 s",
        |c, v| c.aneg = ms(v)?;
    "phy_c45", "0", "1: the PHY answers clause 45 frames with its identifiers",
        |c, v| c.clause45 = flag(v)?;
    "partner_pause", "0", "1: the link partner advertises symmetric pause",
        |c, v| c.partner_pause = flag(v)?;
    "link_pin", "", "PHY's link signal: high, low, none (default: the usual board's)",
        |c, v| c.link_pin = choice(v, &[("high", LinkPin::High), ("low", LinkPin::Low),
            ("none", LinkPin::None)])?;
    "phy_mode", "", "phy-mode (default: the usual board's)", |c, v| c.phy_mode = v.into();
    "mdio_node", "", "1: PHY below an mdio node, 0: below the MAC's (default: the usual board's)",
        |c, v| c.phy_node = if flag(v)? { PhyNode::MdioChild } else { PhyNode::Child };
    "rx_delay_ps", "", "rx-internal-delay-ps (default: the usual board's)",
        |c, v| c.delays_ps = Some((number(v)?, c.delays_ps.map_or(0, |delays| delays.1)));
    "tx_delay_ps", "", "tx-internal-delay-ps (default: the usual board's)",
        |c, v| c.delays_ps = Some((c.delays_ps.map_or(0, |delays| delays.0), number(v)?));
    "clock_hz", "", "rate of the clock that drives gPTP (default: the usual SoC's)",
        |c, v| c.clock_hz = number(v)?;
    "dt_omit", "", "leave out of the device tree: resets, clocks, interrupts, phy-mode, \
        phy-handle, mac; several joined by '+'", |c, v| {
        c.dt_omit = v.split('+').map(|part| choice(part, &DT_PARTS)).collect::<Result<_, _>>()?;
    };
    "dt_irqs", "full", "full: all interrupts of the real node; used: those the driver asks for",
        |c, v| c.dt_irqs_used = choice(v, &[("full", false), ("used", true)])?;
    "uboot", "0", "1: a boot loader has left the reset line deasserted and the station address \
        in MAHR and MALR", |c, v| c.uboot = flag(v)?;
    "queue_error", "halt", "malformed TX descriptors: halt stops the queue until OPERATION is \
        entered again, retry lets the next request try again (unknown; QEF stalls were seen)",
        |c, v| c.queue_error = choice(v, &[("halt", QueueError::Halt),
            ("retry", QueueError::Retry)])?;
    "reset_emac", "0", "1: CCC.OPC = RESET resets the E-MAC too (unknown, 5.6.3)",
        |c, v| c.reset_emac = flag(v)?;
    "check_reset_mode", "0", "1: report E-MAC accesses in RESET mode; the stock driver makes \
        some within 100 ms after ifdown", |c, v| c.check_reset_mode = flag(v)?;
    "toe_trailer", "enabled", "GbEth's four status bytes: enabled (only if CSR2 enables \
        anything) or always (unknown, 5.6.2)",
        |c, v| c.toe_always = choice(v, &[("enabled", false), ("always", true)])?;
    "rx_short_of_slots", "drop", "a frame for which the slots run out: drop it, or truncate it \
        (unknown, 5.6.5)",
        |c, v| c.rx_truncate = choice(v, &[("drop", false), ("truncate", true)])?;
    "msc", "last", "status byte of a frame in several slots: in the last, or in all (unknown, \
        5.6.7)", |c, v| c.msc_all = choice(v, &[("last", false), ("all", true)])?;
    "effs", "deliver", "RCR.EFFS = 1 does this with errored frames: deliver or drop (unknown on \
        GbEth, 5.6.6)",
        |c, v| c.effs_inverted = choice(v, &[("deliver", false), ("drop", true)])?;
    "nc", "ptp", "network control frames (unknown, 5.6.1): ptp (ethertype 88f7 or PTP's \
        multicast addresses), type (88f7 only), priority (ptp and VLAN priority 6, 7), none",
        |c, v| c.nc = choice(v, &[("ptp", NcClass::Ptp), ("type", NcClass::Type),
            ("priority", NcClass::Priority), ("none", NcClass::None)])?;
    "rcsc", "offset14", "two-byte sum starts at offset14, or behind a VLAN tag: l3 (unknown, \
        5.6.4)", |c, v| c.rcsc_skips_tag = choice(v, &[("offset14", false), ("l3", true)])?;
    "stamp_depth", "7", "depth of the TX timestamp FIFO, 1 to 7 (unknown, 5.6.9)", |c, v| {
        c.stamp_depth = number(v)?;
        if !(1..=7).contains(&c.stamp_depth) {
            return Err("1 to 7".into());
        }
    };
    "gptp_line", "mgmt_a", "line for time stamps and gPTP on rzv2m: mgmt_a or dia (unknown, \
        5.6.8)", |c, v| c.gptp_on_dia = choice(v, &[("mgmt_a", false), ("dia", true)])?;
    "inj_word_ns", "20", "inject: time in which the switch takes a word out of the injection FIFO; \
        the default is faster than a gigabit line",
        |c, v| c.inj_word = number::<u32>(v)?.into();
    "inj_fifo", "64", "inject: words that the injection FIFO holds, 2 to 65536", |c, v| {
        c.inj_fifo = number(v)?;
        if !(2..=65536).contains(&c.inj_fifo) {
            return Err("2 to 65536".into());
        }
    };
    "inj_busy_every", "1000", "inject: one in so many words, drawn at random, leaves the injection \
        FIFO not ready for a while; 0: none, as with kind=1",
        |c, v| c.inj_busy_every = number(v)?;
    "inj_busy_ns", "2000", "inject: for how long at most",
        |c, v| c.inj_busy = number::<u32>(v)?.into();
    "xtr_wait_every", "100", "inject: one in so many words, drawn at random, is not ready when it \
        is extracted, and has to be read again; 0: none, as with kind=1",
        |c, v| c.xtr_wait_every = number(v)?;
};

impl Default for Config {
    fn default() -> Self {
        let chip = &CHIP_GBETH;
        Self {
            chip,
            soc: None,
            wire: WireConfig {
                peer: PeerKind::Model,
                peer_mac: [2, 0, 0, 0, 0x77, 2],
                peer_ip: (Ipv4Addr::new(10, 77, 0, 2), 24),
                peer_ip6: (Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2), 64),
                pace: true,
                seed: 1,
            },
            pace: true,
            kind: false,
            mmio_read: 0,
            mmio_write: 0,
            noncoherent: false,
            pcap: None,
            trace: None,
            trace_filter: String::new(),
            fixed: None,
            phy_addr: chip.phy_addr,
            phy_id: 0x0200_7701,
            aneg: 900_000_000,
            clause45: false,
            partner_pause: false,
            link_pin: chip.link_pin,
            phy_mode: chip.phy_mode.into(),
            phy_node: chip.phy_node,
            delays_ps: chip.delays_ps,
            clock_hz: chip.clocks[chip.gptp_clock].hz,
            dt_omit: Vec::new(),
            dt_irqs_used: false,
            uboot: false,
            queue_error: QueueError::Halt,
            reset_emac: false,
            check_reset_mode: false,
            toe_always: false,
            rx_truncate: false,
            msc_all: false,
            effs_inverted: false,
            nc: NcClass::Ptp,
            rcsc_skips_tag: false,
            stamp_depth: 7,
            gptp_on_dia: false,
            inj_word: 20,
            inj_fifo: 64,
            inj_busy_every: 1000,
            inj_busy: 2000,
            xtr_wait_every: 100,
        }
    }
}

impl Config {
    /// The defaults of `chip`'s usual board.
    pub fn of(chip: &'static Chip) -> Self {
        let mut config = Self::default();
        config.take_defaults_of(chip);
        config
    }

    fn take_defaults_of(&mut self, chip: &'static Chip) {
        self.chip = chip;
        self.phy_addr = chip.phy_addr;
        self.link_pin = chip.link_pin;
        self.phy_mode = chip.phy_mode.into();
        self.phy_node = chip.phy_node;
        self.delays_ps = chip.delays_ps;
        self.clock_hz = chip.clocks[chip.gptp_clock].hz;
        if chip.cpu_port {
            self.fixed = Some(Link { mbps: 1000, full: true });
        }
    }

    /// Reads `key=value:key=value`.
    pub fn parse(args: &str) -> Result<Self, Refused> {
        let given: Vec<(&str, &str)> = args
            .split(':')
            .filter(|arg| !arg.is_empty())
            .map(|arg| arg.split_once('=').unwrap_or((arg, "")))
            .collect();
        if given.iter().any(|(key, _)| *key == "help") {
            return Err(Refused::Help(help()));
        }
        for (at, (key, _)) in given.iter().enumerate() {
            if !PROPERTIES.iter().any(|property| property.name == *key) {
                return Err(Refused::Error(format!(
                    "{key}: no such property; args=help lists all"
                )));
            }
            if given[..at].iter().any(|(other, _)| other == key) {
                return Err(Refused::Error(format!("{key}: given twice")));
            }
        }
        let mut config = Self::default();
        for property in PROPERTIES {
            if let Some((key, value)) = given.iter().find(|(key, _)| *key == property.name) {
                (property.set)(&mut config, value).map_err(|expected| {
                    Refused::Error(format!("{key}={value}: expected {expected}"))
                })?;
            }
        }
        Ok(config)
    }

    /// Whether that part of the device tree is left out.
    pub fn omits(&self, part: DtPart) -> bool {
        self.dt_omit.contains(&part)
    }
}

fn help() -> String {
    let mut text = String::from("properties, as args=key=value:key=value\n");
    for Property { name, default, help, .. } in PROPERTIES {
        let default = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {name}{default}: {help}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(args: &str) -> String {
        match Config::parse(args) {
            Err(Refused::Error(text)) => text,
            other => panic!("{args}: {other:?}"),
        }
    }

    /// Every default that is shown is the one in effect.
    #[test]
    fn documented_defaults_are_the_defaults() {
        let shown: Vec<String> = PROPERTIES
            .iter()
            .filter(|property| !property.default.is_empty())
            .map(|property| format!("{}={}", property.name, property.default))
            .collect();
        let parsed = Config::parse(&shown.join(":")).unwrap();
        assert_eq!(format!("{parsed:?}"), format!("{:?}", Config::default()));
    }

    #[test]
    fn chip_gives_the_board_defaults_whatever_the_order() {
        let config = Config::parse("phy_addr=3:chip=gen2").unwrap();
        assert_eq!((config.chip.name, config.phy_addr), ("gen2", 3));
        assert_eq!(config.link_pin, LinkPin::Low);
        assert_eq!(config.clock_hz, 130_000_000);
    }

    #[test]
    fn values() {
        let config = Config::parse(
            "ip=192.0.2.9/30:ip6=2001-db8--9/48:peer_mac=02aabbccddee:dt_omit=resets+mac:\
             phy=fixed:fixed_mbps=100:aneg_ms=1500:phy_id=0x221640:tx_delay_ps=1800",
        )
        .unwrap();
        assert_eq!(config.wire.peer_ip, (Ipv4Addr::new(192, 0, 2, 9), 30));
        assert_eq!(config.wire.peer_ip6, ("2001:db8::9".parse().unwrap(), 48));
        assert_eq!(config.wire.peer_mac, [2, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE]);
        assert!(config.omits(DtPart::Resets) && config.omits(DtPart::Mac));
        assert!(!config.omits(DtPart::Clocks));
        assert_eq!(config.fixed, Some(Link { mbps: 100, full: true }));
        assert_eq!((config.aneg, config.phy_id), (1_500_000_000, 0x22_1640));
        assert_eq!(config.delays_ps, Some((0, 1800)));
    }

    #[test]
    fn faults_name_the_argument() {
        assert!(error("speed=1").starts_with("speed: no such property"));
        assert!(error("chip=gen5").starts_with("chip=gen5: expected gen2"));
        assert!(error("inj_fifo=1").contains("2 to 65536"));
        assert!(error("pace=2").starts_with("pace=2: expected 0 or 1"));
        assert!(error("pace=0:pace=1").starts_with("pace: given twice"));
        assert!(error("ip=1.2.3.4/33").starts_with("ip=1.2.3.4/33"));
        assert!(error("peer_mac=02").starts_with("peer_mac=02"));
        assert!(error("stamp_depth=8").contains("1 to 7"));
        assert!(error("dt_omit=foo").contains("phy-handle"));
        assert!(error("clock_hz=4294967296").contains("in range"));
    }

    #[test]
    fn help_lists_all() {
        let Err(Refused::Help(text)) = Config::parse("help") else { panic!("no help") };
        assert!(PROPERTIES.iter().all(|property| text.contains(property.name)));
    }
}
