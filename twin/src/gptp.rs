// SPDX-License-Identifier: GPL-2.0-or-later

//! The gPTP timer: an 8.20 fixed-point increment per clock tick, an offset, load and capture
//! requests, a compare output and a capture input.
//!
//! Source: reference section 2.9. The timer proper ("raw") counts from its last reset; what the
//! driver reads and sets ("adjusted") is raw plus the offset that GCCR.LTO loads.

use crate::host::Ns;
use crate::mac::regs::{bits, reg, Regs};

const NS_PER_S: u128 = 1_000_000_000;
/// Fractional bits of the timer and of GTI.
const FRACTION: u32 = 20;
/// Seconds have 48 bits.
const SECONDS: u128 = (1 << 48) - 1;
/// The load requests of GCCR.
pub const LOADS: u32 = bits::GCCR_LTO | bits::GCCR_LTI | bits::GCCR_LPTC | bits::GCCR_LMTT;

/// GCCR.TCR: reset the timer.
const TCR_RESET: u32 = 1;
/// GCCR.TCR: capture the value that TCSS selects.
const TCR_CAPTURE: u32 = 3;

/// A point in gPTP time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Nanoseconds, below 10^9.
    pub ns: u32,
    /// Seconds, 48 bits.
    pub sec: u64,
}

impl Stamp {
    fn of(total_ns: u128) -> Self {
        // Two 64-bit divisions are much cheaper than one of 128 bits, and enough for 584 years.
        if let Ok(ns) = u64::try_from(total_ns) {
            return Self { ns: (ns % NS_PER_S as u64) as u32, sec: ns / NS_PER_S as u64 };
        }
        Self { ns: (total_ns % NS_PER_S) as u32, sec: ((total_ns / NS_PER_S) & SECONDS) as u64 }
    }
}

/// The timer.
#[derive(Debug)]
pub struct Gptp {
    /// Ticks a second.
    hz: u64,
    /// The clock runs.
    running: bool,
    /// When `raw` was brought up to date.
    last: Ns,
    /// Part of a tick that had passed then, in units of 1/(10^9 hz) s.
    rest: u64,
    /// The timer in units of 2^-20 ns.
    raw: u128,
    /// The increment in use.
    tiv: u32,
    /// Nanoseconds from raw to adjusted.
    offset: u128,
    /// Maximum transit time, added to presentation times.
    transit: u32,
    /// The compare value in use.
    compare: Option<u32>,
    /// When it will be reached.
    compare_at: Option<Ns>,
    /// When pending requests are carried out.
    due: Option<Ns>,
}

impl Gptp {
    /// A timer at rest.
    pub fn new() -> Self {
        Self {
            hz: 0,
            running: false,
            last: 0,
            rest: 0,
            raw: 0,
            tiv: 0,
            offset: 0,
            transit: 0,
            compare: None,
            compare_at: None,
            due: None,
        }
    }

    /// Everything as after reset at `now`, at rest.
    pub fn reset(&mut self, now: Ns) {
        *self = Self { last: now, ..Self::new() };
    }

    /// Starts the timer with that clock, or stops it (0).
    pub fn run(&mut self, now: Ns, hz: u64) {
        self.advance(now);
        if self.hz != hz {
            self.hz = hz;
            self.rest = 0;
        }
        self.running = hz != 0;
        self.plan(now, false);
    }

    fn advance(&mut self, now: Ns) {
        let span = now.saturating_sub(self.last);
        self.last = self.last.max(now);
        if !self.running || span == 0 {
            return;
        }
        let passed = u128::from(span) * u128::from(self.hz) + u128::from(self.rest);
        let (ticks, rest) = match u64::try_from(passed) {
            Ok(passed) => (u128::from(passed / NS_PER_S as u64), passed % NS_PER_S as u64),
            Err(_) => (passed / NS_PER_S, (passed % NS_PER_S) as u64),
        };
        self.rest = rest;
        self.raw = self.raw.wrapping_add(ticks.wrapping_mul(u128::from(self.tiv)));
    }

    fn adjusted_ns(&self) -> u128 {
        (self.raw >> FRACTION).wrapping_add(self.offset)
    }

    /// Adjusted time at `now`: what frames are stamped with. `now` may be a little in the past,
    /// since a frame's stamp is that of its first bit.
    pub fn stamp(&mut self, now: Ns) -> Stamp {
        self.advance(now);
        let ago = self.last - now;
        if ago == 0 || !self.running {
            return Stamp::of(self.adjusted_ns());
        }
        let back = (u128::from(ago) * u128::from(self.hz))
            .saturating_sub(u128::from(self.rest))
            .div_ceil(NS_PER_S);
        let raw = self.raw.saturating_sub(back * u128::from(self.tiv));
        Stamp::of((raw >> FRACTION).wrapping_add(self.offset))
    }

    /// Low 32 bits of adjusted time in ns at `now`.
    pub fn presentation(&mut self, now: Ns) -> u32 {
        self.advance(now);
        self.adjusted_ns() as u32
    }

    /// When [`Self::settle`] must be called for something that is seen from outside: the compare
    /// match, or the loading of its value.
    pub fn next_event(&self, regs: &Regs) -> Option<Ns> {
        let load = self.due.filter(|_| regs.get(reg::GCCR) & bits::GCCR_LPTC != 0);
        match (self.compare_at, load) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Requests in GCCR will be carried out at `due`; `None`: never.
    pub fn request(&mut self, due: Option<Ns>) {
        self.due = due;
    }

    /// Carries out what is due at `now`. Returns whether the compare value was reached.
    pub fn settle(&mut self, now: Ns, regs: &mut Regs) -> bool {
        let mut matched = false;
        if self.running && self.due.is_some_and(|due| due <= now) {
            let due = self.due.take().unwrap_or(now);
            matched |= self.take_match(due);
            self.carry_out(due.max(self.last), regs);
        }
        matched | self.take_match(now)
    }

    fn take_match(&mut self, now: Ns) -> bool {
        match self.compare_at {
            Some(at) if at <= now => {
                self.plan(at, true);
                true
            }
            _ => false,
        }
    }

    fn carry_out(&mut self, now: Ns, regs: &mut Regs) {
        self.advance(now);
        let gccr = regs.get(reg::GCCR);
        match gccr & bits::GCCR_TCR {
            TCR_CAPTURE => {
                let stamp = match gccr & bits::GCCR_TCSS {
                    0x000 => Stamp::of(self.raw >> FRACTION),
                    0x100 => Stamp::of(self.adjusted_ns()),
                    _ => {
                        Stamp { ns: (self.adjusted_ns() as u32).wrapping_add(self.transit), sec: 0 }
                    }
                };
                regs.set(reg::GCT0, stamp.ns);
                regs.set(reg::GCT1, stamp.sec as u32);
                regs.set(reg::GCT2, (stamp.sec >> 32) as u32);
            }
            TCR_RESET => {
                self.raw = 0;
                self.offset = 0;
            }
            _ => (),
        }
        if gccr & bits::GCCR_LTO != 0 {
            let sec = (u128::from(regs.get(reg::GTO2)) << 32) | u128::from(regs.get(reg::GTO1));
            self.offset = sec * NS_PER_S + u128::from(regs.get(reg::GTO0));
        }
        if gccr & bits::GCCR_LTI != 0 {
            self.tiv = regs.get(reg::GTI);
        }
        if gccr & bits::GCCR_LMTT != 0 {
            self.transit = regs.get(reg::GMTT);
        }
        if gccr & bits::GCCR_LPTC != 0 {
            self.compare = Some(regs.get(reg::GPTC));
        }
        regs.clear(reg::GCCR, LOADS | bits::GCCR_TCR);
        self.plan(now, false);
    }

    /// Works out when the compare value is reached. Having just been reached, it is again after
    /// 2^32 ns.
    fn plan(&mut self, now: Ns, reached: bool) {
        self.compare_at = None;
        let Some(compare) = self.compare.filter(|_| self.running && self.tiv > 0) else { return };
        self.advance(now);
        let now = self.last;
        let whole = self.raw >> FRACTION;
        let ahead = compare.wrapping_sub(whole.wrapping_add(self.offset) as u32);
        let ahead = match ahead {
            0 if reached => 1 << 32,
            ahead => u128::from(ahead),
        };
        let missing = ((whole + ahead) << FRACTION).saturating_sub(self.raw);
        let ticks = missing.div_ceil(u128::from(self.tiv));
        let span = (ticks * NS_PER_S)
            .saturating_sub(u128::from(self.rest))
            .div_ceil(u128::from(self.hz.max(1)));
        self.compare_at = u64::try_from(span).ok().and_then(|span| now.checked_add(span));
    }
}

impl Default for Gptp {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::CHIP_GEN3;

    const S: Ns = 1_000_000_000;

    fn timer(hz: u64, tiv: u32) -> (Gptp, Box<Regs>) {
        let mut regs = Regs::new(&CHIP_GEN3);
        let mut gptp = Gptp::new();
        regs.set(reg::GTI, tiv);
        gptp.run(0, hz);
        request(&mut gptp, &mut regs, 0, 0);
        (gptp, regs)
    }

    fn request(gptp: &mut Gptp, regs: &mut Regs, now: Ns, gccr: u32) -> bool {
        regs.or(reg::GCCR, gccr);
        gptp.request(Some(now));
        gptp.settle(now, regs)
    }

    fn captured(regs: &Regs) -> (u32, u32, u32) {
        (regs.get(reg::GCT0), regs.get(reg::GCT1), regs.get(reg::GCT2))
    }

    #[test]
    fn requests_clear_themselves() {
        let (_, regs) = timer(100_000_000, 0xA0_0000);
        assert_eq!(regs.get(reg::GCCR), 0);
    }

    #[test]
    fn requests_wait_for_the_clock() {
        let mut regs = Regs::new(&CHIP_GEN3);
        let mut gptp = Gptp::new();
        gptp.request(Some(0));
        gptp.settle(5, &mut regs);
        assert_eq!(regs.get(reg::GCCR), 0x2C);
        gptp.run(6, 1_000_000_000);
        gptp.settle(6, &mut regs);
        assert_eq!(regs.get(reg::GCCR), 0);
    }

    #[test]
    fn runs_at_the_nominal_rate() {
        // 10 ns a tick at 100 MHz.
        let (mut gptp, mut regs) = timer(100_000_000, 10 << 20);
        assert_eq!(gptp.stamp(3 * S + 25), Stamp { ns: 20, sec: 3 });
        request(&mut gptp, &mut regs, 3 * S + 45, 0x103);
        assert_eq!(captured(&regs), (40, 3, 0));
        // 24 MHz: 0x29AAAAA is the floor of 10^9 2^20 / 24 10^6, a little slow: 24 10^6 times
        // the two thirds that it lacks are 15.26 ns a second.
        let (mut gptp, _) = timer(24_000_000, 0x29A_AAAA);
        assert_eq!(gptp.stamp(S), Stamp { ns: 999_999_984, sec: 0 });
    }

    #[test]
    fn increment_sets_the_slope() {
        let (mut gptp, mut regs) = timer(100_000_000, 10 << 20);
        gptp.stamp(S);
        // 100 ppm faster from now on.
        regs.set(reg::GTI, (10 << 20) + 1049);
        request(&mut gptp, &mut regs, S, bits::GCCR_LTI);
        // 1049 2^-20 ns more each tick, 10^8 ticks: 100 040 ns.
        assert_eq!(gptp.stamp(2 * S), Stamp { ns: 100_040, sec: 2 });
    }

    #[test]
    fn no_tick_is_lost_between_calls() {
        let (mut often, _) = timer(133_333_333, 0x78_0000);
        let (mut once, _) = timer(133_333_333, 0x78_0000);
        for now in 0..10_000 {
            often.stamp(now);
        }
        assert_eq!(often.stamp(10_000), once.stamp(10_000));
    }

    #[test]
    fn stamps_of_the_past() {
        let (mut gptp, _) = timer(133_333_333, 0x78_0000);
        let forward: Vec<Stamp> = (0..500).map(|n| gptp.stamp(1_000_000 + n * 7)).collect();
        let back: Vec<Stamp> = (0..500).rev().map(|n| gptp.stamp(1_000_000 + n * 7)).collect();
        assert!(forward.iter().eq(back.iter().rev()));
        assert_ne!(forward[0], forward[499]);
    }

    #[test]
    fn set_time_is_reset_then_offset() {
        let (mut gptp, mut regs) = timer(100_000_000, 10 << 20);
        request(&mut gptp, &mut regs, 5 * S, TCR_RESET);
        regs.set(reg::GTO0, 999_999_990);
        regs.set(reg::GTO1, 0xFFFF_FFFF);
        regs.set(reg::GTO2, 0x1234);
        request(&mut gptp, &mut regs, 5 * S, bits::GCCR_LTO);
        assert_eq!(gptp.stamp(5 * S), Stamp { ns: 999_999_990, sec: 0x1234_FFFF_FFFF });
        assert_eq!(gptp.stamp(5 * S + 10), Stamp { ns: 0, sec: 0x1235_0000_0000 });
        request(&mut gptp, &mut regs, 6 * S, 0x003);
        assert_eq!(captured(&regs), (0, 1, 0), "TCSS 0 is the timer without offset");
        request(&mut gptp, &mut regs, 6 * S, 0x103);
        assert_eq!(captured(&regs), (999_999_990, 0, 0x1235));
    }

    #[test]
    fn compare_matches_on_time_and_again_after_a_lap() {
        let (mut gptp, mut regs) = timer(100_000_000, 10 << 20);
        regs.set(reg::GPTC, 1_005);
        assert!(!request(&mut gptp, &mut regs, 500, bits::GCCR_LPTC));
        assert_eq!(gptp.next_event(&regs), Some(1_010));
        assert!(!gptp.settle(1_009, &mut regs));
        assert!(gptp.settle(1_010, &mut regs));
        assert!(!gptp.settle(1_010, &mut regs));
        assert_eq!(gptp.next_event(&regs), Some((1 << 32) + 1_014));
        // Due at once when it is now; a time just passed comes a lap later.
        regs.set(reg::GPTC, 2_000);
        assert!(request(&mut gptp, &mut regs, 2_000, bits::GCCR_LPTC));
        regs.set(reg::GPTC, 2_990);
        assert!(!request(&mut gptp, &mut regs, 3_000, bits::GCCR_LPTC));
        assert!(gptp.next_event(&regs).unwrap() > 4_000_000_000);
    }

    #[test]
    fn compare_follows_offset_and_stop() {
        let (mut gptp, mut regs) = timer(100_000_000, 10 << 20);
        regs.set(reg::GTO0, 500);
        request(&mut gptp, &mut regs, 0, bits::GCCR_LTO);
        regs.set(reg::GPTC, 1_000);
        request(&mut gptp, &mut regs, 0, bits::GCCR_LPTC);
        assert_eq!(gptp.next_event(&regs), Some(500));
        gptp.run(100, 0);
        assert_eq!(gptp.next_event(&regs), None);
        gptp.run(1_000, 100_000_000);
        assert_eq!(gptp.next_event(&regs), Some(1_400));
    }

    #[test]
    fn presentation_time_is_the_low_half() {
        let (mut gptp, mut regs) = timer(100_000_000, 10 << 20);
        assert_eq!(gptp.presentation(5 * S), (5 * S) as u32);
        regs.set(reg::GMTT, 7);
        request(&mut gptp, &mut regs, 5 * S, bits::GCCR_LMTT);
        request(&mut gptp, &mut regs, 5 * S, 0x203);
        assert_eq!(captured(&regs), ((5 * S) as u32 + 7, 0, 0));
    }
}
