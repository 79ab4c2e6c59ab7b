// SPDX-License-Identifier: GPL-2.0-or-later

//! gPTP as the driver uses it (reference sections 2.9, 3.12).

use crate::bench::*;
use ravbtwin::chip::{GptpRun, CHIPS};
use ravbtwin::mac::regs::reg;

tests! {
    reads_the_time, sets_the_time, slope, periodic_output, external_capture, runs_when_it_should,
    requests_take_a_moment, tiny_increment,
}

const S: u64 = 1_000_000_000;

fn on_gptp(test: impl Fn(&mut Bench)) {
    on_those(|chip| !chip.toe, test);
}

fn request(b: &mut Bench, bits: u32) {
    b.wait("TCR", |b| b.r(reg::GCCR) & 3 == 0);
    b.modify(reg::GCCR, 3, bits);
    b.wait("TCR", |b| b.r(reg::GCCR) & 3 == 0);
}

/// gettime.
fn get(b: &mut Bench) -> u64 {
    request(b, 3);
    let (ns, low, high) = (b.r(reg::GCT0), b.r(reg::GCT1), b.r(reg::GCT2));
    assert!(ns < 1_000_000_000);
    ((u64::from(high) << 32) | u64::from(low)) * S + u64::from(ns)
}

/// settime.
fn set(b: &mut Bench, sec: u64, ns: u32) {
    request(b, 1);
    assert_eq!(b.r(reg::GCCR) & 4, 0, "busy");
    b.w(reg::GTO0, ns);
    b.w(reg::GTO1, sec as u32);
    b.w(reg::GTO2, (sec >> 32) as u32);
    b.modify(reg::GCCR, 0, 4);
    b.wait("LTO", |b| b.r(reg::GCCR) & 4 == 0);
}

fn reads_the_time() {
    on_gptp(|b| {
        b.open();
        let (first, start) = (get(b), b.now());
        b.run(S);
        let passed = get(b) - first;
        let real = b.now() - start;
        // The request takes up to a microsecond and is seen up to 10 us later.
        assert!(passed.abs_diff(real) < 12 * US, "{passed} {real}");
    });
}

fn sets_the_time() {
    on_gptp(|b| {
        b.open();
        for (sec, ns) in [(1_800_000_000, 999_999_999), (0x1_2345_6789, 5)] {
            set(b, sec, ns);
            let passed = get(b) - (sec * S + u64::from(ns));
            assert!(passed < 50 * US, "{passed}");
        }
    });
}

fn slope() {
    on_gptp(|b| {
        b.open();
        let nominal = b.r(reg::GTI);
        for (ppm, sign) in [(100, 1i64), (500, -1)] {
            let offset = i64::from(nominal) * ppm / 1_000_000 * sign;
            b.w(reg::GTI, (i64::from(nominal) + offset) as u32);
            b.modify(reg::GCCR, 0, 8);
            b.wait("LTI", |b| b.r(reg::GCCR) & 8 == 0);
            let (first, start) = (get(b), b.now());
            b.run(10 * S);
            let ahead = (get(b) - first) as i64 - (b.now() - start) as i64;
            let expected = 10_000 * ppm * sign;
            assert!((ahead - expected).abs() < 20_000, "{ahead} for {expected}");
        }
    });
}

fn periodic_output() {
    on_gptp(|b| {
        b.open();
        set(b, 0, 0);
        let (start, period) = (500_000_000u32, 1_000_000u32);
        b.w(reg::GPTC, start);
        b.modify(reg::GCCR, 0, 0x10);
        if b.chip.queue_lines && b.chip.name != "rzv2m" {
            b.w(reg::GIE, 4);
        } else {
            b.w(reg::GIC, 4);
        }
        assert_eq!(b.r(reg::GIC), 4);
        b.run(499 * MS);
        assert_eq!(b.r(reg::GIS), 0);
        let mut last = None;
        for n in 0..5 {
            b.run(S / 2);
            assert_eq!(b.r(reg::GIS), 4, "PTMF");
            assert_eq!(b.lines().len(), 1);
            let next = get(b) as u32 + period;
            b.w(reg::GPTC, next);
            b.modify(reg::GCCR, 0, 0x10);
            b.w(reg::GIS, !(4 | 0xFC00));
            assert_eq!(b.lines().len(), 0);
            if let Some(last) = last.replace(b.now()) {
                assert!(b.now() - last >= S / 2, "{n}");
            }
        }
        b.w(reg::GIC, 0);
        b.w(reg::GIS, 0);
        assert_eq!(b.r(reg::GIS), 0);
    });
}

fn external_capture() {
    on_gptp(|b| {
        b.open();
        set(b, 5, 0);
        b.run(MS);
        b.order("capture");
        assert_eq!(b.r(reg::GIS), 1, "PTCF");
        let low = b.r(reg::GCPT);
        let now = get(b) as u32;
        assert!(now.wrapping_sub(low) < 20_000, "{low} {now}");
    });
}

/// gptp variants: in OPERATION only. ccc_gac variants: also in CONFIG, when asked.
fn runs_when_it_should() {
    on_gptp(|b| {
        b.config();
        b.run(MS);
        let runs = b.r(reg::GCCR) & 0x2C == 0;
        assert_eq!(runs, b.chip.gptp == GptpRun::Config);
        b.open();
        assert_eq!(b.r(reg::GCCR) & 0x3F, 0);
        let (first, start) = (get(b), b.now());
        b.set_mode(1);
        b.run(100 * MS);
        b.set_mode(2);
        let passed = get(b) - first;
        let expected = if runs { b.now() - start } else { 0 };
        assert!(passed.abs_diff(expected) < MS, "{passed} {expected}");
    });
    on_those(
        |chip| chip.gptp == GptpRun::Config,
        |b| {
            b.reset_line(false);
            b.set_mode(1);
            b.run(MS);
            assert_eq!(b.r(reg::GCCR), 0x2C, "no clock is selected");
        },
    );
}

fn requests_take_a_moment() {
    let seen = (0..32)
        .filter(|seed| {
            let mut b = Bench::new(&format!("chip=gen3:seed={seed}"));
            b.open();
            b.modify(reg::GCCR, 0, 3);
            b.r(reg::GCCR) & 3 != 0
        })
        .count();
    assert!((4..32).contains(&seen), "{seen}");
    on(&CHIPS[1..2], "kind=1", |b| {
        b.open();
        b.modify(reg::GCCR, 0, 3);
        assert_eq!(b.r(reg::GCCR) & 3, 0);
    });
}

fn tiny_increment() {
    on_gptp(|b| {
        b.open();
        b.w(reg::GTI, 0x1F);
        assert_eq!(b.violations(), ["violation.gptp"]);
    });
}
