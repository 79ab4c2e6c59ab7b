// SPDX-License-Identifier: GPL-2.0-or-later

//! A gigabit PHY with the clause 22 registers that a generic driver needs, its link partner and
//! the cable between them.
//!
//! Register layout: IEEE 802.3 clause 22 and 40.5. Whatever takes time takes virtual time.

use crate::host::Ns;
use crate::mdio::Bus;

const BMCR: u8 = 0;
const BMSR: u8 = 1;
const PHYID1: u8 = 2;
const PHYID2: u8 = 3;
const ANAR: u8 = 4;
const ANLPAR: u8 = 5;
const ANER: u8 = 6;
const CTRL1000: u8 = 9;
const STAT1000: u8 = 10;
const MMD_CTRL: u8 = 13;
const MMD_DATA: u8 = 14;
const ESTATUS: u8 = 15;

const BMCR_RESET: u16 = 1 << 15;
const BMCR_LOOPBACK: u16 = 1 << 14;
const BMCR_SPEED100: u16 = 1 << 13;
const BMCR_ANENABLE: u16 = 1 << 12;
const BMCR_PDOWN: u16 = 1 << 11;
const BMCR_ANRESTART: u16 = 1 << 9;
const BMCR_FULLDPLX: u16 = 1 << 8;
const BMCR_SPEED1000: u16 = 1 << 6;
/// Bits that hold what is written; the rest are self-clearing or reserved.
const BMCR_HELD: u16 = 0x7DC0;

const BMSR_LSTATUS: u16 = 1 << 2;
const BMSR_ANEGCOMPLETE: u16 = 1 << 5;
/// 100 and 10 Mbit/s in both duplexes, extended status, autonegotiation, extended registers. Not
/// able to do without a preamble.
const BMSR_ABILITIES: u16 = 0x7909;

/// The standard's selector in ANAR and ANLPAR.
const SELECTOR: u16 = 1;
const ANAR_HELD: u16 = 0xBFFF;
const ANLPAR_ACK: u16 = 1 << 14;

/// A speed and duplex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Mbit/s.
    pub mbps: u32,
    /// Full duplex.
    pub full: bool,
}

/// Modes as a bit set, one bit each: 1000, 100, 10 Mbit/s, of each first full duplex.
pub type Modes = u8;

/// Modes in falling priority, with their bit in CTRL1000 or in ANAR.
const MODES: [(Link, bool, u16); 6] = [
    (Link { mbps: 1000, full: true }, true, 1 << 9),
    (Link { mbps: 1000, full: false }, true, 1 << 8),
    (Link { mbps: 100, full: true }, false, 1 << 8),
    (Link { mbps: 100, full: false }, false, 1 << 7),
    (Link { mbps: 10, full: true }, false, 1 << 6),
    (Link { mbps: 10, full: false }, false, 1 << 5),
];

/// Every mode.
pub const ALL_MODES: Modes = 0x3F;

/// The modes for which `which` holds.
pub fn modes(which: impl Fn(Link) -> bool) -> Modes {
    MODES
        .iter()
        .enumerate()
        .fold(0, |set, (at, (link, ..))| set | (Modes::from(which(*link)) << at))
}

/// What does not change during a run.
#[derive(Clone, Debug)]
pub struct PhyConfig {
    /// MDIO address.
    pub addr: u8,
    /// PHYID1 and PHYID2.
    pub id: u32,
    /// How long autonegotiation takes.
    pub aneg: Ns,
    /// How long a link without autonegotiation takes to come up.
    pub forced: Ns,
    /// The partner advertises symmetric pause.
    pub partner_pause: bool,
    /// Answers clause 45 frames with its identifiers.
    pub clause45: bool,
    /// The link is up at once and always, whatever MDIO says: there is no PHY but another MAC.
    pub fixed: Option<Link>,
}

/// How long a software reset takes.
const RESET_TIME: Ns = 300_000;

/// The PHY.
#[derive(Debug)]
pub struct Phy {
    config: PhyConfig,
    bmcr: u16,
    anar: u16,
    ctrl1000: u16,
    mmd_ctrl: u16,
    /// Registers without function hold what is written.
    spare: [u16; 32],
    cable: bool,
    partner: Modes,
    /// Does not answer on the bus.
    silent: bool,
    link: Option<Link>,
    /// The link was down at some time since BMSR was last read.
    down_latch: bool,
    aneg_done: bool,
    /// The page has been received since ANER was last read.
    page: bool,
    /// When the link in the making is up, if there is one.
    due: Option<Ns>,
    reset_done: Ns,
    now: Ns,
}

impl Phy {
    /// A PHY with its power just switched on.
    pub fn new(config: PhyConfig) -> Self {
        let mut phy = Self {
            config,
            bmcr: 0,
            anar: 0,
            ctrl1000: 0,
            mmd_ctrl: 0,
            spare: [0; 32],
            cable: true,
            partner: ALL_MODES,
            silent: false,
            link: None,
            down_latch: true,
            aneg_done: false,
            page: false,
            due: None,
            reset_done: 0,
            now: 0,
        };
        phy.defaults();
        phy.restart();
        phy
    }

    /// A hardware reset at `now`: registers as after power on. Cable and partner stay.
    pub fn power_on(&mut self, now: Ns) {
        self.now = now;
        self.reset_done = now;
        self.defaults();
        self.restart();
    }

    fn defaults(&mut self) {
        self.bmcr = BMCR_ANENABLE | BMCR_SPEED1000 | BMCR_FULLDPLX;
        self.anar = 0x01E0 | SELECTOR;
        self.ctrl1000 = 0x0300;
        self.mmd_ctrl = 0;
        self.spare = [0; 32];
    }

    /// The present link.
    pub fn link(&self) -> Option<Link> {
        self.config.fixed.filter(|_| self.cable).or(self.link)
    }

    /// Frames from the MAC come back to it.
    pub fn loops_back(&self) -> bool {
        self.config.fixed.is_none() && self.bmcr & BMCR_LOOPBACK != 0
    }

    /// The next time at which something changes by itself.
    pub fn next_event(&self) -> Option<Ns> {
        self.due
    }

    /// Does what is due at `now`.
    pub fn poll(&mut self, now: Ns) {
        self.now = self.now.max(now);
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.link = self.outcome();
            self.aneg_done = self.bmcr & BMCR_ANENABLE != 0;
            self.page = self.aneg_done;
        }
    }

    /// Pulls the cable.
    pub fn unplug(&mut self, now: Ns) {
        self.now = now;
        self.cable = false;
        self.restart();
    }

    /// Puts the cable in.
    pub fn plug(&mut self, now: Ns) {
        self.now = now;
        if !self.cable {
            self.cable = true;
            self.restart();
        }
    }

    /// Whether the PHY leaves the management bus alone.
    pub fn set_silent(&mut self, silent: bool) {
        self.silent = silent;
    }

    /// Whether `phy` on the bus is this one, and it answers.
    fn is_me(&self, phy: u8) -> bool {
        phy == self.config.addr && !self.silent && self.config.fixed.is_none()
    }

    /// The modes that the partner offers.
    pub fn partner(&self) -> Modes {
        self.partner
    }

    /// The partner offers `partner` from now on and negotiates anew.
    pub fn renegotiate(&mut self, now: Ns, partner: Modes) {
        self.now = now;
        self.partner = partner;
        self.restart();
    }

    fn drop_link(&mut self) {
        self.link = None;
        self.down_latch = true;
        self.aneg_done = false;
        self.due = None;
    }

    /// Starts over: the link drops, and comes up later if it can.
    fn restart(&mut self) {
        self.drop_link();
        if self.bmcr & BMCR_PDOWN == 0 && self.outcome().is_some() {
            let span = match self.bmcr & (BMCR_ANENABLE | BMCR_LOOPBACK) {
                BMCR_ANENABLE => self.config.aneg,
                _ => self.config.forced,
            };
            self.due = Some(self.now.max(self.reset_done).saturating_add(span));
        }
    }

    fn advertised(&self) -> Modes {
        MODES.iter().enumerate().fold(0, |modes, (at, (_, gigabit, bit))| {
            let reg = if *gigabit { self.ctrl1000 } else { self.anar };
            modes | (Modes::from(reg & bit != 0) << at)
        })
    }

    /// The link that comes about as things stand.
    fn outcome(&self) -> Option<Link> {
        let forced = Link {
            mbps: match self.bmcr & (BMCR_SPEED1000 | BMCR_SPEED100) {
                0 => 10,
                BMCR_SPEED100 => 100,
                _ => 1000,
            },
            full: self.bmcr & BMCR_FULLDPLX != 0,
        };
        if self.bmcr & BMCR_LOOPBACK != 0 {
            return Some(forced);
        }
        if !self.cable {
            return None;
        }
        if self.bmcr & BMCR_ANENABLE != 0 {
            let common = self.advertised() & self.partner;
            return MODES
                .iter()
                .enumerate()
                .find(|(at, _)| common & (1 << at) != 0)
                .map(|(_, m)| m.0);
        }
        // The partner detects the speed, but 1000BASE-T cannot be forced.
        let same_speed = |link: Link| link.mbps == forced.mbps && link.mbps < 1000;
        let able = MODES
            .iter()
            .enumerate()
            .any(|(at, (link, ..))| self.partner & (1 << at) != 0 && same_speed(*link));
        able.then_some(forced)
    }

    fn bmsr(&mut self) -> u16 {
        let up = self.link.is_some() && !std::mem::take(&mut self.down_latch);
        let mut value = BMSR_ABILITIES;
        if up {
            value |= BMSR_LSTATUS;
        }
        if self.aneg_done {
            value |= BMSR_ANEGCOMPLETE;
        }
        value
    }

    /// What the partner advertises, in ANAR's or in CTRL1000's layout.
    fn partner_page(&self, gigabit: bool) -> u16 {
        MODES.iter().enumerate().fold(0, |page, (at, (_, of_gigabit, bit))| {
            let offered = self.partner & (1 << at) != 0 && *of_gigabit == gigabit;
            page | if offered { *bit } else { 0 }
        })
    }

    fn set_bmcr(&mut self, value: u16) {
        if value & BMCR_RESET != 0 {
            self.defaults();
            self.reset_done = self.now + RESET_TIME;
            self.restart();
            return;
        }
        let held = value & BMCR_HELD;
        let changed = (held ^ self.bmcr) & !(1 << 10);
        self.bmcr = held;
        let matters = if held & BMCR_ANENABLE != 0 && self.bmcr & BMCR_LOOPBACK == 0 {
            // Speed and duplex bits mean nothing then.
            changed & (BMCR_ANENABLE | BMCR_PDOWN | BMCR_LOOPBACK)
        } else {
            changed
        };
        if matters != 0 || value & BMCR_ANRESTART != 0 && held & BMCR_ANENABLE != 0 {
            self.restart();
        }
    }
}

impl Bus for Phy {
    fn read(&mut self, phy: u8, reg: u8) -> Option<u16> {
        if !self.is_me(phy) {
            return None;
        }
        let resetting = self.now < self.reset_done;
        let page = |value: u16| if self.aneg_done { value } else { 0 };
        Some(match reg {
            BMCR if resetting => self.bmcr | BMCR_RESET,
            BMCR => self.bmcr,
            BMSR => self.bmsr(),
            PHYID1 => (self.config.id >> 16) as u16,
            PHYID2 => self.config.id as u16,
            ANAR => self.anar,
            ANLPAR => {
                let pause = if self.config.partner_pause { 1 << 10 } else { 0 };
                page(self.partner_page(false) | SELECTOR | ANLPAR_ACK | pause)
            }
            ANER => {
                // Partner is able to negotiate; page received clears on reading.
                page(1) | (u16::from(std::mem::take(&mut self.page)) << 1)
            }
            CTRL1000 => self.ctrl1000,
            // The partner's abilities sit two bits higher; both receivers fine.
            STAT1000 => page((self.partner_page(true) << 2) | 0x3000),
            MMD_CTRL => self.mmd_ctrl,
            // No registers behind it: no EEE.
            MMD_DATA => 0,
            // 1000BASE-T in both duplexes.
            ESTATUS => 0x3000,
            _ => self.spare[usize::from(reg & 31)],
        })
    }

    fn write(&mut self, phy: u8, reg: u8, value: u16) {
        if !self.is_me(phy) || self.now < self.reset_done {
            return;
        }
        match reg {
            BMCR => self.set_bmcr(value),
            ANAR => self.anar = value & ANAR_HELD,
            CTRL1000 => self.ctrl1000 = value & 0xFF00,
            MMD_CTRL => self.mmd_ctrl = value,
            BMSR | PHYID1 | PHYID2 | ANLPAR | ANER | STAT1000 | MMD_DATA | ESTATUS => (),
            _ => self.spare[usize::from(reg & 31)] = value,
        }
    }

    fn read45(&mut self, phy: u8, dev: u8, reg: u16) -> Option<u16> {
        if !self.is_me(phy) || !self.config.clause45 {
            return None;
        }
        // PMA/PMD, PCS and AN.
        let present = matches!(dev, 1 | 3 | 7);
        Some(match reg {
            2 if present => (self.config.id >> 16) as u16,
            3 if present => self.config.id as u16,
            // Devices in package: those three, and clause 22 registers.
            5 if present => (1 << 1) | (1 << 3) | (1 << 7) | 1,
            _ => 0,
        })
    }

    fn write45(&mut self, _phy: u8, _dev: u8, _reg: u16, _value: u16) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    fn phy() -> Phy {
        Phy::new(PhyConfig {
            addr: 7,
            id: 0x0200_7701,
            aneg: 900 * MS,
            forced: 100 * MS,
            partner_pause: false,
            clause45: false,
            fixed: None,
        })
    }

    const GIGABIT: Option<Link> = Some(Link { mbps: 1000, full: true });

    #[test]
    fn link_comes_up_after_negotiation() {
        let mut phy = phy();
        assert_eq!(phy.next_event(), Some(900 * MS));
        phy.poll(900 * MS - 1);
        assert_eq!((phy.link(), phy.read(7, BMSR)), (None, Some(0x7909)));
        assert_eq!(phy.read(7, ANLPAR), Some(0));
        phy.poll(900 * MS);
        assert_eq!(phy.link(), GIGABIT);
        // The first read reports that the link was down; done, up; partner can do everything.
        assert_eq!((phy.read(7, BMSR), phy.read(7, BMSR)), (Some(0x7929), Some(0x792D)));
        assert_eq!((phy.read(7, ANLPAR), phy.read(7, STAT1000)), (Some(0x41E1), Some(0x3C00)));
    }

    #[test]
    fn link_failure_is_latched_until_read() {
        let mut phy = phy();
        phy.poll(900 * MS);
        phy.read(7, BMSR);
        phy.unplug(1000 * MS);
        phy.plug(1001 * MS);
        phy.poll(1901 * MS);
        assert_eq!(phy.link(), GIGABIT);
        assert_eq!(phy.read(7, BMSR).unwrap() & BMSR_LSTATUS, 0);
        assert_eq!(phy.read(7, BMSR).unwrap() & BMSR_LSTATUS, BMSR_LSTATUS);
    }

    #[test]
    fn best_common_mode_wins() {
        let mut phy = phy();
        phy.write(7, CTRL1000, 0);
        phy.write(7, ANAR, 0x00A1);
        phy.write(7, BMCR, BMCR_ANENABLE | BMCR_ANRESTART);
        phy.poll(900 * MS);
        assert_eq!(phy.link(), Some(Link { mbps: 100, full: false }));
        phy.renegotiate(1000 * MS, modes(|link| link.mbps == 10 && !link.full));
        assert_eq!(phy.link(), None);
        phy.poll(1900 * MS);
        assert_eq!(phy.link(), Some(Link { mbps: 10, full: false }));
        phy.renegotiate(2000 * MS, modes(|link| link.mbps == 1000));
        assert_eq!(phy.next_event(), None);
    }

    #[test]
    fn forced_speed() {
        let mut phy = phy();
        phy.write(7, BMCR, BMCR_SPEED100 | BMCR_FULLDPLX);
        phy.poll(100 * MS);
        assert_eq!(phy.link(), Some(Link { mbps: 100, full: true }));
        assert_eq!(phy.read(7, BMSR).unwrap() & BMSR_ANEGCOMPLETE, 0);
        phy.write(7, BMCR, BMCR_SPEED1000 | BMCR_FULLDPLX);
        assert_eq!((phy.link(), phy.next_event()), (None, None));
    }

    #[test]
    fn reset_takes_its_time_and_restores_defaults() {
        let mut phy = phy();
        phy.poll(900 * MS);
        phy.write(7, ANAR, 0x0021);
        phy.write(7, BMCR, BMCR_RESET);
        assert_eq!(phy.read(7, BMCR), Some(0x9140));
        phy.poll(900 * MS + RESET_TIME);
        assert_eq!((phy.read(7, BMCR), phy.read(7, ANAR)), (Some(0x1140), Some(0x01E1)));
        assert_eq!(phy.link(), None);
    }

    #[test]
    fn power_down_drops_the_link() {
        let mut phy = phy();
        phy.poll(900 * MS);
        phy.write(7, BMCR, BMCR_ANENABLE | BMCR_PDOWN);
        assert_eq!((phy.link(), phy.next_event()), (None, None));
        phy.write(7, BMCR, BMCR_ANENABLE);
        phy.poll(1800 * MS);
        assert_eq!(phy.link(), GIGABIT);
        // Rewriting what is there disturbs nothing.
        phy.write(7, BMCR, BMCR_ANENABLE);
        assert_eq!(phy.link(), GIGABIT);
    }

    #[test]
    fn loopback_needs_no_cable() {
        let mut phy = phy();
        phy.unplug(0);
        phy.write(7, BMCR, BMCR_LOOPBACK | BMCR_SPEED1000 | BMCR_FULLDPLX);
        phy.poll(100 * MS);
        assert_eq!((phy.link(), phy.loops_back()), (GIGABIT, true));
    }

    #[test]
    fn answers_to_its_address_only() {
        let mut phy = phy();
        assert_eq!((phy.read(0, PHYID1), phy.read(7, PHYID1)), (None, Some(0x0200)));
        assert_eq!(phy.read45(7, 1, 2), None);
        phy.set_silent(true);
        assert_eq!(phy.read(7, PHYID1), None);
        phy.set_silent(false);
        phy.write(7, MMD_CTRL, 7);
        phy.write(7, MMD_DATA, 60);
        assert_eq!((phy.read(7, MMD_CTRL), phy.read(7, MMD_DATA)), (Some(7), Some(0)));
    }

    #[test]
    fn fixed_link_needs_no_mdio() {
        let config = PhyConfig { fixed: GIGABIT, ..phy().config };
        let mut phy = Phy::new(config);
        assert_eq!((phy.link(), phy.read(7, PHYID1)), (GIGABIT, None));
        phy.unplug(0);
        assert_eq!(phy.link(), None);
    }
}
