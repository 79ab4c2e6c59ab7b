// SPDX-License-Identifier: GPL-2.0-or-later

//! The reset controller (`snps,dw-low-reset`): one register whose bit 0 is the MAC's reset line,
//! 1 when deasserted (reference section 4.3).

use crate::report::{Report, Violation};

/// The register.
#[derive(Debug)]
pub struct ResetLine {
    value: u32,
}

impl ResetLine {
    /// The line as it is after power on.
    pub const fn new(deasserted: bool) -> Self {
        Self { value: deasserted as u32 }
    }

    /// Whether the MAC is held in reset.
    pub fn is_asserted(&self) -> bool {
        self.value & 1 == 0
    }

    /// A read in the controller's window.
    pub fn read(&self, off: u64, size: u32, report: &mut Report) -> u32 {
        if (off, size) == (0, 4) {
            return self.value;
        }
        report.note(
            Violation::UnknownRegister,
            format_args!("reset controller: read of {size} bytes at {off:#x}"),
        );
        0
    }

    /// A write in the controller's window.
    pub fn write(&mut self, off: u64, value: u32, size: u32, report: &mut Report) {
        if (off, size) == (0, 4) && value & !1 == 0 {
            self.value = value;
            return;
        }
        report.note(
            Violation::UnknownRegister,
            format_args!("reset controller: write of {value:#x}, {size} bytes at {off:#x}"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_0_is_the_line() {
        let mut report = Report::default();
        let mut line = ResetLine::new(false);
        assert!(line.is_asserted());
        line.write(0, 1, 4, &mut report);
        assert!(!line.is_asserted());
        assert_eq!((line.read(0, 4, &mut report), report.total()), (1, 0));
        line.write(0, 2, 4, &mut report);
        line.write(4, 0, 4, &mut report);
        assert_eq!((line.read(4, 4, &mut report), report.total()), (0, 3));
        assert!(!line.is_asserted());
    }
}
