// SPDX-License-Identifier: GPL-2.0-or-later

//! Accesses: storage, status semantics, checks (reference sections 2.1 and 2.2).

use crate::bench::*;
use ravbtwin::chip::{CHIPS, GBETH, GEN3, GEN4};
use ravbtwin::device::MAC;
use ravbtwin::mac::regs::{reg, Kind, Regs, When, SPECS};

tests! {
    reset_values, storage, write_0_clears, write_1_clears, counters_clear, set_and_clear_views,
    unknown_offsets, wrong_sizes, reserved_bits, wrong_direction, e_mac_in_reset_mode, charges,
}

/// What the reference gives as reset value, besides 0.
fn reset_values() {
    on_all(|b| {
        b.reset_line(false);
        for (off, value) in [
            (reg::CSR, 1),
            (reg::DLR, 0x3F_FFFF),
            (reg::RCR, 0x1800_0000),
            (0x0B0, 0x100),
            (reg::TGC, 0x0022_2200),
            (0x31C, 0xE300),
            (reg::CSR2, 0),
            (reg::PIR, 1 << 3),
        ] {
            if off != reg::CSR2 || b.chip.is_in(GBETH) {
                assert_eq!(b.r(off), value, "{} {off:#x}", b.chip.name);
            }
        }
        if b.is_rcar() {
            for (off, value) in [
                (0x1C8, 0x1F),
                (0x320, 1),
                (0x32C, u32::MAX),
                (0x330, 0x7FFF_FFFF),
                (0x33C, 0x8000_0001),
                (reg::GCCR, 0x2C),
                (reg::GTI, 1),
            ] {
                assert_eq!(b.r(off), value, "{} {off:#x}", b.chip.name);
            }
        }
    });
}

/// Every register that just holds its bits does so, in a mode in which it may be written.
fn storage() {
    on_all(|b| {
        b.config();
        let known = Regs::new(b.chip);
        for off in (0..0xA00).step_by(4) {
            let Some(spec) = known.spec(off as u64).filter(|spec| spec.kind == Kind::Rw) else {
                continue;
            };
            // Those with an effect that matters here have tests of their own.
            if matches!(off, reg::ECMR | reg::GTI) {
                continue;
            }
            let before = b.r(off);
            for value in [spec.mask, 0x5555_5555 & spec.mask, 0xAAAA_AAAA & spec.mask, 0] {
                b.w(off, value);
                assert_eq!(b.r(off), value, "{} {}", b.chip.name, spec.name);
            }
            b.w(off, before);
        }
        let names: Vec<&str> = SPECS.iter().map(|spec| spec.name).collect();
        assert!(names.contains(&"SFP") && names.contains(&"CSFR"));
        assert!(SPECS.iter().any(|spec| spec.when == When::Config));
    });
}

fn write_0_clears() {
    on_all(|b| {
        b.open();
        b.receive(&frame(60));
        assert_eq!(b.r(reg::RIS0), 1);
        // As poll does it: ones where nothing is to be cleared, zeros in the reserved bits.
        b.w(reg::RIS0, 0x0003_FFFD);
        assert_eq!(b.r(reg::RIS0), 1, "the other queue's bit was cleared");
        b.w(reg::RIS0, 0x0003_FFFE);
        assert_eq!(b.r(reg::RIS0), 0);
        b.w(reg::RIS0, 0x0003_FFFF);
        assert_eq!(b.r(reg::RIS0), 0, "ones do not set");
        b.tx_put(0, 0, &frame(60));
        b.kick(0);
        b.drained(0);
        assert_eq!(b.r(reg::TIS), 1);
        b.w(reg::TIS, 0x000F_0F0D);
        assert_eq!(b.r(reg::TIS), 1);
        b.w(reg::TIS, 0x000F_0F0E);
        assert_eq!(b.r(reg::TIS), 0);
    });
}

fn write_1_clears() {
    on_all(|b| {
        b.open();
        b.order("false-carrier");
        assert_eq!(b.r(reg::ECSR), 1);
        b.w(reg::ECSR, 0x16);
        assert_eq!(b.r(reg::ECSR), 1);
        b.w(reg::ECSR, 1);
        assert_eq!(b.r(reg::ECSR), 0);
    });
}

fn counters_clear() {
    on_those(
        |chip| chip.is_in(GEN3 | GEN4 | GBETH),
        |b| {
            b.open();
            b.order("emac-counters trocr=7 cxr41=8 cxr42=9");
            let of_chip = if b.is_rcar() {
                vec![(reg::TROCR, 7)]
            } else {
                vec![(reg::TROCR, 7), (reg::CXR41, 8), (reg::CXR42, 9)]
            };
            for (off, value) in of_chip {
                assert_eq!(b.r(off), value);
                b.w(off, 0);
                assert_eq!(b.r(off), 0);
            }
        },
    );
}

fn set_and_clear_views() {
    on_those(
        |chip| chip.is_in(GEN3 | GEN4),
        |b| {
            b.open();
            for (set, clear, of) in [
                (reg::RIE0, reg::RID0, reg::RIC0),
                (reg::RIE2, reg::RID2, reg::RIC2),
                (reg::TIE, reg::TID, reg::TIC),
                (reg::GIE, reg::GID, reg::GIC),
            ] {
                b.w(of, 0);
                b.w(set, 5);
                b.w(set, 1);
                assert_eq!(b.r(of), 5);
                b.w(clear, 1);
                assert_eq!(b.r(of), 4);
            }
        },
    );
}

fn unknown_offsets() {
    on_all(|b| {
        b.reset_line(false);
        let off = if b.is_rcar() { reg::CSR0 } else { reg::GCCR };
        b.w(off, 5);
        assert_eq!(b.r(off), 0);
        b.r(0x77C);
        b.r(0xFFC);
        assert_eq!(b.violations(), ["violation.unknown_register"; 4]);
    });
}

fn wrong_sizes() {
    on_all(|b| {
        b.reset_line(false);
        for (off, size) in
            [(reg::CSR as u64, 1), (reg::CSR as u64, 2), (8, 8), (reg::CSR as u64 + 1, 4)]
        {
            assert_eq!(b.dev.mmio_read(&mut b.mem, MAC, off, size), 0);
        }
        b.dev.mmio_write(&mut b.mem, MAC, reg::CCC as u64, 1, 1);
        assert_eq!(b.violations(), ["violation.access_size"; 5]);
        assert_eq!(b.r(reg::CCC), 0);
    });
}

fn reserved_bits() {
    on_all(|b| {
        b.config();
        b.w(reg::RIC0, 0x8000_0001);
        b.w(reg::RIS0, 0x0004_0000);
        b.modify(reg::CCC, 0, 0x8000);
        assert_eq!(b.violations(), ["violation.reserved_bits"; 3]);
        assert_eq!(b.r(reg::RIC0), 1);
        // What was read may be written back, MDI included.
        b.modify(reg::PIR, 0, 0);
        assert_eq!(b.violations(), [""; 0]);
    });
}

fn wrong_direction() {
    on_all(|b| {
        b.config();
        b.w(reg::CSR, 0);
        b.w(reg::ISS, 0);
        b.w(reg::PSR, 0);
        assert_eq!(b.violations(), ["violation.direction"; 3]);
    });
    on_those(
        |chip| chip.is_in(GEN3 | GEN4),
        |b| {
            b.config();
            b.w(reg::RIE0, 3);
            assert_eq!(b.r(reg::RIE0), 0);
            assert_eq!(b.violations(), ["violation.direction"]);
        },
    );
}

/// The stock driver touches the E-MAC after close while it is not yet suspended, so that this is
/// reported on demand only.
fn e_mac_in_reset_mode() {
    for (check, reports) in [(0, 0), (1, 2)] {
        on(&CHIPS, &format!("check_reset_mode={check}"), |b| {
            b.reset_line(false);
            b.modify(reg::ECMR, 0, 0x60);
            assert_eq!(b.violations(), vec!["violation.reset_mode"; reports]);
            assert_eq!(b.r(reg::MAHR), 0);
            b.set_mode(1);
            b.modify(reg::ECMR, 0, 0x60);
            assert_eq!(b.violations(), [""; 0]);
        });
    }
}

fn charges() {
    let mut b = Bench::new("mmio_read_ns=150:mmio_write_ns=30");
    b.reset_line(false);
    b.r(reg::CSR);
    b.w(reg::CCC, 1);
    b.order("now");
    assert_eq!(b.mem.stalled, 180, "the reset controller and the control page are free of charge");
}
