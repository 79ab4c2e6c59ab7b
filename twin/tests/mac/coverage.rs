// SPDX-License-Identifier: GPL-2.0-or-later

//! Proof that the tests exercise every register that the stock driver touches, on every variant
//! that has it. Tests of plain storage and of reset values do not count.

use crate::bench::{Bench, COVERAGE};
use ravbtwin::mac::regs::{SEEN_READ, SEEN_WRITE};
use std::collections::BTreeMap;

const RCAR: &str = "gen2 gen3 gen4 rzv2m";
const ALL: &str = "gen2 gen3 gen4 rzv2m gbeth";
const QUEUE_LINES: &str = "gen3 gen4 rzv2m";
const GEN34: &str = "gen3 gen4";
const GBETH: &str = "gbeth";

/// Table 2.1 of the reference: name, offset, how the driver accesses it, variants.
const TABLE: &[(&str, usize, &str, &str)] = &[
    ("CCC", 0x000, "RW", ALL),
    ("DBAT", 0x004, "W", ALL),
    ("CSR", 0x00C, "R", ALL),
    ("APSR", 0x08C, "RW", GEN34),
    ("RCR", 0x090, "W", ALL),
    ("RTC", 0x0B4, "W", GBETH),
    ("TGC", 0x300, "W", ALL),
    ("TCCR", 0x304, "RW", ALL),
    ("TSR", 0x308, "R", RCAR),
    ("TFA0", 0x310, "R", RCAR),
    ("TFA1", 0x314, "R", RCAR),
    ("TFA2", 0x318, "R", RCAR),
    ("EIS", 0x35C, "RW", ALL),
    ("RIC0", 0x360, "RW", ALL),
    ("RIS0", 0x364, "RW", ALL),
    ("RIC1", 0x368, "W", ALL),
    ("RIC2", 0x370, "W", ALL),
    ("RIS2", 0x374, "RW", ALL),
    ("TIC", 0x378, "RW", ALL),
    ("TIS", 0x37C, "RW", ALL),
    ("ISS", 0x380, "R", ALL),
    ("CIE", 0x384, "W", QUEUE_LINES),
    ("GCCR", 0x390, "RW", RCAR),
    ("GPTC", 0x398, "W", RCAR),
    ("GTI", 0x39C, "RW", RCAR),
    ("GTO0", 0x3A0, "W", RCAR),
    ("GTO1", 0x3A4, "W", RCAR),
    ("GTO2", 0x3A8, "W", RCAR),
    ("GIC", 0x3AC, "RW", RCAR),
    ("GIS", 0x3B0, "RW", RCAR),
    ("GCPT", 0x3B4, "R", RCAR),
    ("GCT0", 0x3B8, "R", RCAR),
    ("GCT1", 0x3BC, "R", RCAR),
    ("GCT2", 0x3C0, "R", RCAR),
    ("GIE", 0x3CC, "W", GEN34),
    ("GID", 0x3D0, "W", GEN34),
    ("DIL", 0x440, "W", QUEUE_LINES),
    ("RIE0", 0x460, "W", GEN34),
    ("RID0", 0x464, "W", GEN34),
    ("TIE", 0x478, "W", GEN34),
    ("TID", 0x47C, "W", GEN34),
    ("ECMR", 0x500, "RW", ALL),
    ("RFLR", 0x508, "W", ALL),
    ("ECSR", 0x510, "RW", ALL),
    ("ECSIPR", 0x518, "W", ALL),
    ("PIR", 0x520, "RW", ALL),
    ("PSR", 0x528, "R", ALL),
    ("CXR31", 0x530, "RW", GBETH),
    ("CXR35", 0x540, "W", GBETH),
    ("GECMR", 0x5B0, "W", ALL),
    ("MAHR", 0x5C0, "RW", ALL),
    ("MALR", 0x5C8, "RW", ALL),
    ("TROCR", 0x700, "RW", "gen3 gen4 gbeth"),
    ("CXR41", 0x708, "RW", GBETH),
    ("CXR42", 0x710, "RW", GBETH),
    ("CSR0", 0x800, "RW", GBETH),
    ("CSR1", 0x804, "W", GBETH),
    ("CSR2", 0x808, "W", GBETH),
];

/// Sweeps over all registers: no proof of anything but storage.
const SWEEPS: [&str; 2] = ["access::storage", "access::reset_values"];

#[test]
fn every_register_of_the_table_is_exercised() {
    let modules: &[(&str, crate::Tests)] = &[
        ("access", crate::access::TESTS),
        ("faults", crate::faults::TESTS),
        ("gptp", crate::gptp::TESTS),
        ("irq", crate::irq::TESTS),
        ("link", crate::link::TESTS),
        ("mode", crate::mode::TESTS),
        ("rx", crate::rx::TESTS),
        ("tx", crate::tx::TESTS),
    ];
    // By variant, register and kind of access: the tests.
    let mut by: BTreeMap<(&str, usize, u8), Vec<String>> = BTreeMap::new();
    let all = modules.iter().flat_map(|(m, tests)| tests.iter().map(move |(n, t)| (*m, *n, *t)));
    for (module, name, test) in all {
        let name = format!("{module}::{name}");
        COVERAGE.take();
        test();
        if SWEEPS.contains(&name.as_str()) {
            continue;
        }
        for (chip, off, seen) in COVERAGE.take() {
            for how in [SEEN_READ, SEEN_WRITE] {
                let tests = by.entry((chip, off, how)).or_default();
                if seen & how != 0 && tests.last() != Some(&name) {
                    tests.push(name.clone());
                }
            }
        }
    }
    let mut missing = Vec::new();
    for (name, off, access, chips) in TABLE {
        for chip in chips.split(' ') {
            for (letter, how) in [('R', SEEN_READ), ('W', SEEN_WRITE)] {
                if !access.contains(letter) {
                    continue;
                }
                let tests = by.get(&(chip, *off, how)).map_or(&[][..], Vec::as_slice);
                match tests {
                    [] => missing.push(format!("{name} {off:#05x} {chip} {letter}")),
                    // Nearly every test opens the port: the first few say enough.
                    _ => println!(
                        "{off:03x} {name:6} {chip:5} {letter} {:3} tests: {}",
                        tests.len(),
                        tests.iter().take(4).cloned().collect::<Vec<_>>().join(" ")
                    ),
                }
            }
        }
    }
    assert_eq!(missing, [""; 0], "not exercised by any test");
}

/// The table and the model agree on who has which register.
#[test]
fn variants_have_the_registers_of_the_table() {
    for chip in ALL.split(' ') {
        let b = Bench::new(&format!("chip={chip}"));
        let has = |off: usize| b.dev.mac().coverage().any(|(at, ..)| at == off);
        for (name, off, _, chips) in TABLE {
            let expected = chips.split(' ').any(|other| other == chip);
            // The driver writes RTC on gbeth only, but all have it.
            let more = *name == "RTC";
            assert_eq!(has(*off), expected || more, "{name} on {chip}");
        }
    }
}
