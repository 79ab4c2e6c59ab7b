// SPDX-License-Identifier: GPL-2.0-or-later

//! Trace of register accesses and interrupt lines, in virtual time.
//!
//! One event a line, fields separated by one space, the first is the time in nanoseconds:
//!
//! ```text
//! 1200345 R PSR 0x00000001
//! 1200400 W ECMR 0x02820063
//! 1200450 I 0 1
//! 1200500 M open begins
//! ```
//!
//! `R` read, `W` write (of four bytes; another width follows the letter, as in `R8`), `I` level of
//! an interrupt line, `M` mark. A register without a name is written as region and offset, as in
//! `1+0x0`.

use crate::host::Ns;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Tells the name of the register at an offset of a region.
pub type Names = Box<dyn Fn(u32, u64) -> Option<&'static str>>;

/// Which events are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    only: Vec<String>,
    without: Vec<String>,
}

impl Filter {
    /// Reads a list separated by commas: `-NAME` leaves a register out, `NAME` leaves out all that
    /// are not named so. The kinds `R`, `W` and `I` are names too. Marks are always written.
    pub fn parse(text: &str) -> Self {
        let mut filter = Self::default();
        for item in text.split(',').filter(|item| !item.is_empty()) {
            match item.strip_prefix('-') {
                Some(name) => filter.without.push(name.to_ascii_uppercase()),
                None => filter.only.push(item.to_ascii_uppercase()),
            }
        }
        filter
    }

    fn passes(&self, kind: &str, name: &str) -> bool {
        let named = |list: &[String]| {
            list.iter().any(|item| item == kind || item.eq_ignore_ascii_case(name))
        };
        !named(&self.without) && (self.only.is_empty() || named(&self.only))
    }
}

struct Sink {
    out: Box<dyn Write>,
    names: Names,
    filter: Filter,
    path: String,
    line: String,
}

/// A trace file, or none.
#[derive(Default)]
pub struct Trace {
    sink: Option<Sink>,
    error: Option<String>,
}

impl Trace {
    /// No trace.
    pub fn off() -> Self {
        Self::default()
    }

    /// Creates the file.
    pub fn open(path: &str, names: Names, filter: Filter) -> Result<Self, String> {
        let file = File::create(path).map_err(|e| format!("{path}: {e}"))?;
        let out = BufWriter::with_capacity(1 << 18, file);
        Ok(Self::start(Box::new(out), names, filter, path))
    }

    fn start(out: Box<dyn Write>, names: Names, filter: Filter, path: &str) -> Self {
        let sink = Sink { out, names, filter, path: path.into(), line: String::new() };
        Self { sink: Some(sink), error: None }
    }

    /// Whether events are written.
    pub fn active(&self) -> bool {
        self.sink.is_some()
    }

    /// A register was read.
    #[inline]
    pub fn read(&mut self, now: Ns, region: u32, off: u64, size: u32, value: u64) {
        if self.sink.is_some() {
            self.access(now, "R", region, off, size, value);
        }
    }

    /// A register was written.
    #[inline]
    pub fn write(&mut self, now: Ns, region: u32, off: u64, size: u32, value: u64) {
        if self.sink.is_some() {
            self.access(now, "W", region, off, size, value);
        }
    }

    /// An interrupt line has changed.
    #[inline]
    pub fn irq(&mut self, now: Ns, line: usize, level: bool) {
        if self.sink.as_ref().is_some_and(|sink| sink.filter.passes("I", "")) {
            self.line(now, format_args!("I {line} {}", u8::from(level)));
        }
    }

    /// Somebody wants to find this place again.
    pub fn mark(&mut self, now: Ns, text: &str) {
        // A mark is one line whatever it says.
        let text = text.replace(char::is_control, " ");
        self.line(now, format_args!("M {text}"));
    }

    #[cold]
    fn access(&mut self, now: Ns, kind: &str, region: u32, off: u64, size: u32, value: u64) {
        let Some(sink) = self.sink.as_ref() else { return };
        let name = match (sink.names)(region, off) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("{region}+{off:#x}")),
        };
        if sink.filter.passes(kind, &name) {
            let width = size as usize * 2 + 2;
            match size {
                4 => self.line(now, format_args!("{kind} {name} {value:#0width$x}")),
                _ => self.line(now, format_args!("{kind}{size} {name} {value:#0width$x}")),
            }
        }
    }

    #[cold]
    fn line(&mut self, now: Ns, text: std::fmt::Arguments<'_>) {
        if let Some(sink) = self.sink.as_mut() {
            sink.line.clear();
            // Writing into a string cannot fail.
            let _ = writeln!(sink.line, "{now} {text}");
            self.put();
        }
    }

    fn put(&mut self) {
        if let Some(sink) = self.sink.as_mut() {
            if let Err(error) = sink.out.write_all(sink.line.as_bytes()) {
                self.fail(&error);
            }
        }
    }

    fn fail(&mut self, error: &io::Error) {
        if let Some(sink) = self.sink.take() {
            self.error = Some(format!("trace ended: {}: {error}", sink.path));
        }
    }

    /// Writes out what is buffered.
    pub fn flush(&mut self) {
        if let Some(Err(error)) = self.sink.as_mut().map(|sink| sink.out.flush()) {
            self.fail(&error);
        }
    }

    /// What went wrong since the last call.
    pub fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[derive(Clone, Default)]
    struct Memory(Rc<RefCell<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(data);
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn trace(filter: &str) -> String {
        let memory = Memory::default();
        let names: Names = Box::new(|region, off| match (region, off) {
            (0, 0x520) => Some("PIR"),
            (0, 0x500) => Some("ECMR"),
            _ => None,
        });
        let out = Box::new(memory.clone());
        let mut trace = Trace::start(out, names, Filter::parse(filter), "x");
        trace.read(1, 0, 0x520, 4, 8);
        trace.write(22, 0, 0x500, 4, 0x0282_0063);
        trace.write(23, 1, 0, 4, 1);
        trace.read(24, 0, 0x500, 8, 5);
        trace.irq(25, 2, true);
        trace.mark(26, "open\nbegins");
        drop(trace);
        String::from_utf8(memory.0.take()).unwrap()
    }

    #[test]
    fn every_kind_of_line() {
        assert_eq!(
            trace(""),
            "1 R PIR 0x00000008\n\
             22 W ECMR 0x02820063\n\
             23 W 1+0x0 0x00000001\n\
             24 R8 ECMR 0x0000000000000005\n\
             25 I 2 1\n\
             26 M open begins\n"
        );
    }

    #[test]
    fn filters() {
        assert!(!trace("-pir").contains("PIR"));
        assert_eq!(trace("-R,-I").lines().count(), 3);
        assert_eq!(
            trace("ECMR"),
            "22 W ECMR 0x02820063\n24 R8 ECMR 0x0000000000000005\n26 M open begins\n"
        );
        assert_eq!(trace("I"), "25 I 2 1\n26 M open begins\n");
    }

    #[test]
    fn off_is_silent() {
        let mut trace = Trace::off();
        trace.read(1, 0, 0, 4, 0);
        trace.mark(1, "x");
        trace.flush();
        assert_eq!(trace.take_error(), None);
        assert!(!trace.active());
    }
}
