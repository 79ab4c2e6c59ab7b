// SPDX-License-Identifier: GPL-2.0-or-later

//! What the driver did wrong, and counts of what happened.

use std::fmt::Arguments;

/// A rule that the driver has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Violation {
    /// There is no register at that offset.
    UnknownRegister,
    /// Not an aligned 32-bit access.
    AccessSize,
    /// 1 was written to a reserved bit.
    ReservedBits,
    /// A read-only register was written, or a write-only one was read.
    Direction,
    /// A register was written in a mode in which that has no effect.
    WrongMode,
    /// The E-MAC was accessed in RESET mode (property `check_reset_mode`).
    ResetMode,
    /// The MAC was accessed while its reset line was asserted.
    LineReset,
    /// A mode change that does not exist.
    Opc,
    /// Malformed descriptors.
    Descriptor,
    /// A TX buffer or a descriptor is not aligned as the DMA needs it.
    Alignment,
    /// A TX frame that is too short or too long.
    TxLength,
    /// An RX slot that cannot take data.
    RxSlot,
    /// The DMA was sent to where no memory is.
    Bus,
    /// A malformed management frame.
    Mdio,
    /// The interface selection does not suit the board.
    Interface,
    /// gPTP was given a value out of range.
    Gptp,
}

/// All violations with their names.
pub const VIOLATIONS: [(Violation, &str); 16] = [
    (Violation::UnknownRegister, "violation.unknown_register"),
    (Violation::AccessSize, "violation.access_size"),
    (Violation::ReservedBits, "violation.reserved_bits"),
    (Violation::Direction, "violation.direction"),
    (Violation::WrongMode, "violation.wrong_mode"),
    (Violation::ResetMode, "violation.reset_mode"),
    (Violation::LineReset, "violation.line_reset"),
    (Violation::Opc, "violation.opc"),
    (Violation::Descriptor, "violation.descriptor"),
    (Violation::Alignment, "violation.alignment"),
    (Violation::TxLength, "violation.tx_length"),
    (Violation::RxSlot, "violation.rx_slot"),
    (Violation::Bus, "violation.bus"),
    (Violation::Mdio, "violation.mdio"),
    (Violation::Interface, "violation.interface"),
    (Violation::Gptp, "violation.gptp"),
];

/// So many of a kind are logged; from then on only each one whose number is a power of two.
const LOGGED: u64 = 8;

/// Counts violations and keeps the lines that are to be logged.
#[derive(Debug, Default)]
pub struct Report {
    counts: [u64; VIOLATIONS.len()],
    lines: Vec<String>,
}

impl Report {
    /// Notes a violation.
    pub fn note(&mut self, what: Violation, how: Arguments<'_>) {
        let count = &mut self.counts[what as usize];
        *count += 1;
        if *count <= LOGGED || count.is_power_of_two() {
            let name = VIOLATIONS[what as usize].1;
            self.lines.push(format!("{name} ({count}): {how}"));
        }
    }

    /// How often that happened.
    pub fn count(&self, what: Violation) -> u64 {
        self.counts[what as usize]
    }

    /// How often anything happened.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Whether there is anything to log.
    #[inline]
    pub fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// The lines since the last call.
    pub fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    /// Name and count of each violation.
    pub fn list(&self, each: &mut dyn FnMut(&str, u64)) {
        for (what, name) in VIOLATIONS {
            each(name, self.count(what));
        }
        each("violation.total", self.total());
    }
}

/// A struct of counters that knows their names.
macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counts of what happened in the MAC.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Stats {
            /// Name and value of each counter.
            pub fn list(&self, each: &mut dyn FnMut(&str, u64)) {
                $(each(concat!("mac.", stringify!($name)), self.$name);)*
            }
        }
    };
}

stats! {
    /// Register reads.
    reads,
    /// Register writes.
    writes,
    /// Frames that left the MAC.
    tx_frames,
    /// Their bytes without FCS.
    tx_bytes,
    /// Frames sent without a link, or at a speed that is not the link's.
    tx_lost,
    /// Frames whose data could not be read.
    tx_bus_errors,
    /// TX time stamps stored.
    tx_stamps,
    /// TX time stamps lost.
    tx_stamps_lost,
    /// TX queues that met malformed descriptors.
    tx_queue_errors,
    /// Frames stored in memory.
    rx_frames,
    /// Their bytes without trailer.
    rx_bytes,
    /// Frames that came while reception was off, or at a speed that is not the MAC's.
    rx_off,
    /// Frames for others.
    rx_filtered,
    /// Errored frames that were dropped.
    rx_bad,
    /// Frames for which there was no slot.
    rx_full,
    /// Frames lost to a FIFO overflow.
    rx_fifo,
    /// Frames that could not be stored.
    rx_bus_errors,
    /// Pause frames received and acted on.
    rx_pause,
    /// Magic packets that were seen.
    magic,
    /// Rising edges of interrupt lines.
    irqs,
    /// Rising edges that a fault swallowed.
    irqs_lost,
    /// CCC.OPC changes carried out.
    mode_changes,
    /// The reset line was asserted.
    resets,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order() {
        for (at, (what, _)) in VIOLATIONS.iter().enumerate() {
            assert_eq!(at, *what as usize);
        }
    }

    #[test]
    fn log_is_limited() {
        let mut report = Report::default();
        for n in 0..100 {
            report.note(Violation::Mdio, format_args!("frame {n}"));
        }
        let lines = report.take_lines();
        assert_eq!(lines.len(), 8 + 3, "the first eight, then 16, 32, 64");
        assert_eq!(lines[10], "violation.mdio (64): frame 63");
        assert_eq!((report.count(Violation::Mdio), report.total()), (100, 100));
        assert!(!report.has_lines());
    }
}
