// SPDX-License-Identifier: GPL-2.0-or-later

//! MDIO, PHY, link signal, speed (reference section 2.10).

use crate::bench::*;
use ravbtwin::chip::{LinkPin, CHIPS, CHIP_GBETH, CHIP_GEN4};
use ravbtwin::mac::regs::reg;

tests! {
    management_bus, no_answer, clause_45, short_preamble, link_change_interrupt,
    link_pin_property, cable, negotiation, speed_must_match, fixed_link, interface_selection,
    internal_delays, silent_phy, phy_loopback,
}

const MDC: u32 = 1;
const MMD: u32 = 2;
const MDO: u32 = 4;

/// Read-modify-write of PIR, as the driver does for each line.
fn pin(b: &mut Bench, bit: u32, on: bool) {
    b.modify(reg::PIR, bit, if on { bit } else { 0 });
}

fn send(b: &mut Bench, count: u32, bits: u32) {
    for n in (0..count).rev() {
        pin(b, MDO, (bits >> n) & 1 != 0);
        pin(b, MDC, true);
        pin(b, MDC, false);
    }
}

fn get(b: &mut Bench) -> u32 {
    pin(b, MDC, true);
    pin(b, MDC, false);
    (b.r(reg::PIR) >> 3) & 1
}

fn header(b: &mut Bench, preamble: u32, st_op: u32, phy: u32, target: u32) {
    pin(b, MMD, true);
    for _ in 0..preamble {
        send(b, 1, 1);
    }
    send(b, 4, st_op);
    send(b, 5, phy);
    send(b, 5, target);
}

fn tail(b: &mut Bench, value: u32) {
    send(b, 2, 0b10);
    send(b, 16, value);
    pin(b, MMD, false);
    get(b);
}

fn answer(b: &mut Bench) -> Option<u32> {
    pin(b, MMD, false);
    if get(b) != 0 {
        for _ in 0..32 {
            get(b);
        }
        return None;
    }
    let value = (0..16).fold(0, |value, _| (value << 1) | get(b));
    get(b);
    Some(value)
}

pub fn read(b: &mut Bench, phy: u32, target: u32) -> Option<u32> {
    header(b, 32, 0b0110, phy, target);
    answer(b)
}

fn write(b: &mut Bench, phy: u32, target: u32, value: u32) {
    header(b, 32, 0b0101, phy, target);
    tail(b, value);
}

fn management_bus() {
    on_all(|b| {
        b.config();
        let phy = b.chip.phy_addr.into();
        assert_eq!((read(b, phy, 2), read(b, phy, 3)), (Some(0x0200), Some(0x7701)));
        write(b, phy, 4, 0x0101);
        assert_eq!(read(b, phy, 4), Some(0x0101));
        b.run(1000 * MS);
        read(b, phy, 1);
        assert_eq!(read(b, phy, 1), Some(0x792D));
    });
}

fn no_answer() {
    on_all(|b| {
        b.config();
        let other = u32::from(b.chip.phy_addr) ^ 1;
        assert_eq!(read(b, other, 2), None);
        assert_ne!(b.r(reg::PIR) & (1 << 3), 0, "idle high");
    });
}

fn clause_45() {
    on(&CHIPS, "phy_c45=1", |b| {
        b.config();
        let phy = b.chip.phy_addr.into();
        for (target, value) in [(2, 0x0200), (3, 0x7701), (5, 0x008B)] {
            header(b, 32, 0b0000, phy, 1);
            tail(b, target);
            header(b, 32, 0b0011, phy, 1);
            assert_eq!(answer(b), Some(value));
        }
    });
    on_all(|b| {
        b.config();
        let phy = b.chip.phy_addr.into();
        header(b, 32, 0b0011, phy, 1);
        assert_eq!(answer(b), None, "the PHY does not speak it by default");
    });
}

fn short_preamble() {
    on_all(|b| {
        b.config();
        let phy = b.chip.phy_addr.into();
        header(b, 31, 0b0110, phy, 2);
        assert_eq!(answer(b), None);
        assert_eq!(b.violations()[0], "violation.mdio");
    });
}

fn link_change_interrupt() {
    on_all(|b| {
        b.open();
        let wired = b.chip.link_pin != LinkPin::None;
        let up = u32::from(b.chip.link_pin == LinkPin::High);
        assert_eq!(b.r(reg::PSR), if wired { up } else { 0 });
        b.w(reg::ECSIPR, 4);
        b.order("unplug");
        assert_eq!(b.r(reg::ECSR) & 4 != 0, wired, "LCHNG");
        assert_eq!(!b.lines().is_empty(), wired);
        assert_eq!(b.r(reg::PSR), if wired { 1 - up } else { 0 });
        b.w(reg::ECSR, 4);
        assert_eq!(b.lines().len(), 0);
        b.order("plug");
        assert_eq!(b.r(reg::ECSR) & 4, 0, "not before the link is up");
        b.run(1000 * MS);
        assert_eq!(b.r(reg::ECSR) & 4 != 0, wired);
        assert_eq!(b.r(reg::PSR), if wired { up } else { 0 });
    });
}

fn link_pin_property() {
    for (pin, level) in [("high", 1), ("low", 0), ("none", 0)] {
        on(&CHIPS, &format!("link_pin={pin}"), |b| {
            b.open();
            assert_eq!(b.r(reg::PSR), level, "{pin}");
        });
    }
}

fn cable() {
    on_all(|b| {
        b.open();
        b.order("unplug");
        b.tx_put(0, 0, &frame(60));
        b.kick(0);
        b.drained(0);
        b.receive(&frame(60));
        assert_eq!((b.mem.sent.len(), b.count("mac.rx_frames")), (0, 0));
        assert_eq!((b.dt(TX_RING[0]), b.count("mac.tx_lost")), (FEMPTY, 1), "sent into the void");
        b.order("plug");
        b.run(1000 * MS);
        b.receive(&frame(60));
        assert_eq!(b.count("mac.rx_frames"), 1);
    });
}

fn negotiation() {
    on(&[&CHIP_GBETH], "", |b| {
        b.open();
        for (order, lpa, stat1000) in [
            ("renegotiate speed=100", 0x41E1, 0x3000),
            ("renegotiate speed=10 duplex=half", 0x4021, 0x3000),
            ("renegotiate speed=1000", 0x41E1, 0x3C00),
        ] {
            b.order(order);
            let down = read(b, 7, 1).unwrap() & 4;
            b.run(1000 * MS);
            read(b, 7, 1);
            let up = read(b, 7, 1).unwrap() & 4;
            assert_eq!((down, up), (0, 4), "{order}");
            assert_eq!((read(b, 7, 5), read(b, 7, 10)), (Some(lpa), Some(stat1000)), "{order}");
        }
    });
}

fn speed_must_match() {
    on_all(|b| {
        b.open();
        b.order("renegotiate speed=100");
        b.run(1000 * MS);
        b.receive(&frame(60));
        b.tx_put(0, 0, &frame(60));
        b.kick(0);
        b.drained(0);
        assert_eq!((b.count("mac.rx_frames"), b.mem.sent.len()), (0, 0), "1000 against 100");
        b.speed(100);
        b.receive(&frame(60));
        assert_eq!(b.count("mac.rx_frames"), 1);
    });
}

fn fixed_link() {
    on(&CHIPS, "phy=fixed", |b| {
        b.config();
        let phy = b.chip.phy_addr.into();
        assert_eq!(read(b, phy, 2), None);
        b.open();
        b.receive(&frame(60));
        assert_eq!(b.count("mac.rx_frames"), 1);
    });
}

fn interface_selection() {
    on(&[&CHIP_GBETH, &CHIP_GEN4], "phy_mode=mii", |b| {
        b.open();
        assert_eq!(b.violations(), ["violation.interface"], "selected RGMII");
        b.w(reg::ECMR, 0);
        if b.is_rcar() {
            b.modify(reg::APSR, 0, 1 << 24);
            assert_eq!(b.r(reg::APSR), 0x0100_4000);
        } else {
            b.w(reg::CXR31, 0);
            b.w(reg::CXR35, 0x03E8_0002);
        }
        b.w(reg::ECMR, ECMR_RCAR & !(1 << 23));
        assert_eq!(b.violations(), [""; 0]);
    });
}

fn internal_delays() {
    on_those(
        |chip| chip.delays_ps.is_some(),
        |b| {
            b.open();
            b.w(reg::ECMR, 0);
            b.modify(reg::APSR, 0x6000, 0x2000);
            b.w(reg::ECMR, ECMR_RCAR);
            assert_eq!(b.violations(), ["violation.interface"]);
        },
    );
}

fn silent_phy() {
    on_all(|b| {
        b.config();
        let phy = b.chip.phy_addr.into();
        b.order("phy-silent on");
        assert_eq!(read(b, phy, 2), None);
        b.order("phy-silent off");
        assert_eq!(read(b, phy, 2), Some(0x0200));
    });
}

fn phy_loopback() {
    on_all(|b| {
        b.open();
        let phy = b.chip.phy_addr.into();
        write(b, phy, 0, 0x4140);
        b.run(1000 * MS);
        b.tx_put(0, 0, &frame(100));
        b.kick(0);
        b.drained(0);
        b.run(MS);
        assert_eq!((b.mem.sent.len(), b.count("mac.rx_frames")), (0, 1));
    });
}
