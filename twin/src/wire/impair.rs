// SPDX-License-Identifier: GPL-2.0-or-later

//! Harm done to frames on the wire, by order.

use super::Direction;
use crate::frame::{Defects, Frame};

/// What is done to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// It arrives with these defects.
    Defect(Defects),
    /// It is lost.
    Drop,
    /// It arrives twice.
    Duplicate,
    /// It arrives after the frame that follows it. Towards the MAC only.
    Reorder,
    /// Only so many bytes (without FCS) arrive, and so a wrong FCS.
    Truncate(usize),
    /// A byte is changed, with an FCS to match.
    Flip {
        /// Which byte, counted from the destination address.
        at: usize,
        /// What it is XORed with.
        xor: u8,
    },
}

/// Which frames are harmed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What is done.
    pub harm: Harm,
    /// To frames of this direction.
    pub direction: Direction,
    /// So many frames pass unharmed first.
    pub skip: u64,
    /// Then every so manieth is harmed, beginning with the last of the first group (1: each).
    pub every: u64,
    /// Until so many were harmed; `None`: without end.
    pub count: Option<u64>,
}

const MAX_RULES: usize = 32;

#[derive(Debug)]
struct Active {
    rule: Rule,
    seen: u64,
    done: u64,
}

impl Active {
    /// Whether the rule applies to the frame that now comes.
    fn hits(&mut self) -> bool {
        self.seen += 1;
        let Some(past) = self.seen.checked_sub(self.rule.skip).filter(|&past| past > 0) else {
            return false;
        };
        let hit = past % self.rule.every.max(1) == 0;
        self.done += u64::from(hit);
        hit
    }

    fn over(&self) -> bool {
        self.rule.count.is_some_and(|count| self.done >= count)
    }
}

/// The rules of one direction.
#[derive(Debug, Default)]
pub struct Impairments {
    rules: Vec<Active>,
    done: u64,
    hold: bool,
}

impl Impairments {
    /// Adds a rule.
    pub fn add(&mut self, rule: Rule) -> Result<(), String> {
        if rule.harm == Harm::Reorder && rule.direction == Direction::Tx {
            return Err("reorder works towards the MAC only (dir=rx)".into());
        }
        if self.rules.len() >= MAX_RULES {
            return Err(format!("there are {MAX_RULES} rules already"));
        }
        if rule.count != Some(0) {
            self.rules.push(Active { rule, seen: 0, done: 0 });
        }
        Ok(())
    }

    /// How often a rule was applied.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Whether the last of the frames that [`Self::apply`] just returned is to be held back.
    pub fn hold(&self) -> bool {
        self.hold
    }

    /// What becomes of a frame.
    pub fn apply(&mut self, mut frame: Frame) -> Vec<Frame> {
        self.hold = false;
        if self.rules.is_empty() {
            return vec![frame];
        }
        let mut copies = 1;
        for active in &mut self.rules {
            if !active.hits() {
                continue;
            }
            self.done += 1;
            match active.rule.harm {
                Harm::Defect(defects) => merge(&mut frame.defects, defects),
                Harm::Drop => copies = 0,
                Harm::Duplicate => copies *= 2,
                Harm::Reorder => self.hold = true,
                Harm::Truncate(len) => {
                    if len < frame.data.len() {
                        frame.data.truncate(len);
                        frame.defects.crc = true;
                        frame.defects.short |= len < super::MIN_FRAME;
                    }
                }
                Harm::Flip { at, xor } => {
                    if let Some(byte) = frame.data.get_mut(at) {
                        *byte ^= xor;
                    }
                }
            }
        }
        self.rules.retain(|active| !active.over());
        self.hold &= copies > 0;
        vec![frame; copies]
    }
}

fn merge(into: &mut Defects, other: Defects) {
    into.crc |= other.crc;
    into.phy |= other.phy;
    into.short |= other.short;
    into.long |= other.long;
    into.fraction |= other.fraction;
    into.carrier_lost |= other.carrier_lost;
    into.carrier_ext |= other.carrier_ext;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(harm: Harm, skip: u64, every: u64, count: Option<u64>) -> Rule {
        Rule { harm, direction: Direction::Rx, skip, every, count }
    }

    fn run(rule: Rule, frames: u8) -> Vec<Frame> {
        let mut rules = Impairments::default();
        rules.add(rule).unwrap();
        (0..frames).flat_map(|n| rules.apply(Frame::new(vec![n; 60]))).collect()
    }

    fn first_bytes(frames: &[Frame]) -> Vec<u8> {
        frames.iter().map(|frame| frame.data[0]).collect()
    }

    #[test]
    fn drops_every_third_after_two() {
        let frames = run(rule(Harm::Drop, 2, 3, None), 10);
        assert_eq!(first_bytes(&frames), [0, 1, 2, 3, 5, 6, 8, 9]);
    }

    #[test]
    fn duplicates_the_first_two() {
        let frames = run(rule(Harm::Duplicate, 0, 1, Some(2)), 3);
        assert_eq!(first_bytes(&frames), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn damages_by_count() {
        let defects = Defects { crc: true, phy: true, ..Defects::default() };
        let frames = run(rule(Harm::Defect(defects), 1, 1, Some(2)), 4);
        let hit: Vec<_> = frames.iter().map(|f| f.defects == defects).collect();
        assert_eq!(hit, [false, true, true, false]);
    }

    #[test]
    fn truncates_and_flips() {
        let frame = &run(rule(Harm::Truncate(20), 0, 1, Some(1)), 1)[0];
        assert_eq!((frame.data.len(), frame.defects.crc, frame.defects.short), (20, true, true));
        let frame = &run(rule(Harm::Flip { at: 59, xor: 0x80 }, 0, 1, Some(1)), 1)[0];
        assert_eq!((frame.data[59], frame.defects), (0x80, Defects::default()));
        // Past the end: nothing to change.
        let frame = &run(rule(Harm::Flip { at: 60, xor: 0x80 }, 0, 1, Some(1)), 1)[0];
        assert_eq!(frame.data, [0; 60]);
    }

    #[test]
    fn refuses_too_many_and_reordering_of_tx() {
        let mut rules = Impairments::default();
        for _ in 0..MAX_RULES {
            rules.add(rule(Harm::Drop, 0, 1, None)).unwrap();
        }
        assert!(rules.add(rule(Harm::Drop, 0, 1, None)).is_err());
        let tx = Rule { direction: Direction::Tx, ..rule(Harm::Reorder, 0, 1, None) };
        assert!(Impairments::default().add(tx).is_err());
    }
}
