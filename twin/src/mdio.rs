// SPDX-License-Identifier: GPL-2.0-or-later

//! Decoder of the management frames that a driver bit-bangs through PIR.
//!
//! The station samples MDO on the rising edge of MDC while the host drives, and presents the next
//! bit of a reply on the rising edge, so that the host finds it after the falling edge (reference
//! section 2.10).

/// What hangs on the bus. `None` from a read: nobody answers, the line stays high.
pub trait Bus {
    /// Reads a clause 22 register.
    fn read(&mut self, phy: u8, reg: u8) -> Option<u16>;
    /// Writes a clause 22 register.
    fn write(&mut self, phy: u8, reg: u8, value: u16);
    /// Reads a clause 45 register.
    fn read45(&mut self, phy: u8, dev: u8, reg: u16) -> Option<u16>;
    /// Writes a clause 45 register.
    fn write45(&mut self, phy: u8, dev: u8, reg: u16, value: u16);
}

/// A frame that no station understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Fewer than 32 ones before the start of frame.
    Preamble,
    /// The host drives while the station should answer, or the other way round.
    Turnaround,
    /// A start or operation code that does not exist.
    Code,
}

/// Bits from the first of the start of frame up to and including the register address.
const HEADER_BITS: u32 = 14;
/// Turnaround and data.
const TAIL_BITS: u32 = 18;
const PREAMBLE_BITS: u32 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    clause45: bool,
    op: u8,
    phy: u8,
    reg: u8,
}

impl Header {
    fn of(bits: u32) -> Result<Self, Malformed> {
        let start = (bits >> 12) & 3;
        let op = ((bits >> 10) & 3) as u8;
        let header = Self {
            clause45: start == 0,
            op,
            phy: ((bits >> 5) & 31) as u8,
            reg: (bits & 31) as u8,
        };
        match (start, op) {
            (0, _) | (1, 1 | 2) => Ok(header),
            _ => Err(Malformed::Code),
        }
    }

    /// The station speaks after the register address.
    fn is_read(self) -> bool {
        self.op & 2 != 0
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Waiting for a start of frame, having seen so many ones.
    Idle { ones: u32 },
    /// Collecting the header.
    Header { bits: u32, count: u32 },
    /// Collecting turnaround and data from the host.
    Write { header: Header, bits: u32, count: u32 },
    /// Presenting turnaround and data to the host; `None`: nobody answers.
    Read { value: Option<u16>, count: u32 },
}

/// One bus, as its stations see it.
#[derive(Debug)]
pub struct BitBang {
    state: State,
    mdc: bool,
    mdi: bool,
    /// Address latched by a clause 45 address frame, for the device it was sent to.
    address: (u8, u8, u16),
}

impl Default for BitBang {
    fn default() -> Self {
        Self { state: State::Idle { ones: 0 }, mdc: false, mdi: true, address: (0, 0, 0) }
    }
}

impl BitBang {
    /// The level that the host reads.
    pub fn mdi(&self) -> bool {
        self.mdi
    }

    /// The host has set the lines: clock, "I drive", data.
    pub fn set(
        &mut self,
        mdc: bool,
        drive: bool,
        mdo: bool,
        bus: &mut dyn Bus,
    ) -> Result<(), Malformed> {
        let rising = mdc && !self.mdc;
        self.mdc = mdc;
        if !rising {
            return Ok(());
        }
        // An undriven line is pulled high.
        let result = self.edge(drive, !drive || mdo, bus);
        if result.is_err() {
            self.state = State::Idle { ones: 0 };
            self.mdi = true;
        }
        result
    }

    fn edge(&mut self, drive: bool, bit: bool, bus: &mut dyn Bus) -> Result<(), Malformed> {
        match self.state {
            State::Idle { ones } if bit => {
                self.mdi = true;
                self.state = State::Idle { ones: (ones + 1).min(PREAMBLE_BITS) };
            }
            State::Idle { ones } => {
                if ones < PREAMBLE_BITS {
                    return Err(Malformed::Preamble);
                }
                self.state = State::Header { bits: 0, count: 1 };
            }
            State::Header { bits, count } => {
                if !drive {
                    return Err(Malformed::Turnaround);
                }
                let bits = (bits << 1) | u32::from(bit);
                self.state = if count + 1 < HEADER_BITS {
                    State::Header { bits, count: count + 1 }
                } else {
                    let header = Header::of(bits)?;
                    if header.is_read() {
                        State::Read { value: self.read(header, bus), count: 0 }
                    } else {
                        State::Write { header, bits: 0, count: 0 }
                    }
                };
            }
            State::Write { header, bits, count } => {
                if !drive {
                    return Err(Malformed::Turnaround);
                }
                let bits = (bits << 1) | u32::from(bit);
                self.state = State::Write { header, bits, count: count + 1 };
                if count + 1 == TAIL_BITS {
                    self.state = State::Idle { ones: 0 };
                    if bits >> 16 != 0b10 {
                        return Err(Malformed::Turnaround);
                    }
                    self.write(header, bits as u16, bus);
                }
            }
            State::Read { value, count } => {
                if drive && value.is_some() {
                    return Err(Malformed::Turnaround);
                }
                let count = count + 1;
                // Clock 1 is the second half of the turnaround, driven low; then bit 15 first.
                self.mdi = match value {
                    None => true,
                    Some(_) if count == 1 => false,
                    Some(value) => (value >> (17 - count)) & 1 != 0,
                };
                self.state = if count == TAIL_BITS - 1 {
                    State::Idle { ones: 0 }
                } else {
                    State::Read { value, count }
                };
            }
        }
        Ok(())
    }

    fn read(&mut self, header: Header, bus: &mut dyn Bus) -> Option<u16> {
        let Header { clause45, op, phy, reg } = header;
        if !clause45 {
            return bus.read(phy, reg);
        }
        let addr = self.latched(phy, reg);
        let value = bus.read45(phy, reg, addr);
        // Operation 10 is "read and increment" in clause 45.
        if op == 2 {
            self.address.2 = addr.saturating_add(1);
        }
        value
    }

    fn write(&mut self, header: Header, value: u16, bus: &mut dyn Bus) {
        let Header { clause45, op, phy, reg } = header;
        if !clause45 {
            bus.write(phy, reg, value);
        } else if op == 0 {
            self.address = (phy, reg, value);
        } else {
            bus.write45(phy, reg, self.latched(phy, reg), value);
        }
    }

    /// The address that the device `dev` of `phy` was last sent.
    fn latched(&self, phy: u8, dev: u8) -> u16 {
        let (to_phy, to_dev, addr) = self.address;
        if (to_phy, to_dev) == (phy, dev) {
            addr
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Log(Vec<(&'static str, u8, u32, u16)>);

    impl Bus for Log {
        fn read(&mut self, phy: u8, reg: u8) -> Option<u16> {
            self.0.push(("r22", phy, reg.into(), 0));
            (phy == 7).then_some(0xA5C3)
        }
        fn write(&mut self, phy: u8, reg: u8, value: u16) {
            self.0.push(("w22", phy, reg.into(), value));
        }
        fn read45(&mut self, phy: u8, dev: u8, reg: u16) -> Option<u16> {
            self.0.push(("r45", phy, (u32::from(dev) << 16) | u32::from(reg), 0));
            Some(0x1234)
        }
        fn write45(&mut self, phy: u8, dev: u8, reg: u16, value: u16) {
            self.0.push(("w45", phy, (u32::from(dev) << 16) | u32::from(reg), value));
        }
    }

    /// A host that clocks as Linux's mdio-bitbang does.
    struct HostSide {
        bang: BitBang,
        bus: Log,
        error: Option<Malformed>,
    }

    impl HostSide {
        fn new() -> Self {
            Self { bang: BitBang::default(), bus: Log::default(), error: None }
        }

        fn pins(&mut self, mdc: bool, drive: bool, mdo: bool) {
            if let Err(error) = self.bang.set(mdc, drive, mdo, &mut self.bus) {
                self.error.get_or_insert(error);
            }
        }

        fn send(&mut self, count: u32, bits: u32) {
            for n in (0..count).rev() {
                let bit = (bits >> n) & 1 != 0;
                self.pins(false, true, bit);
                self.pins(true, true, bit);
                self.pins(false, true, bit);
            }
        }

        fn get(&mut self) -> u32 {
            self.pins(true, false, false);
            self.pins(false, false, false);
            self.bang.mdi().into()
        }

        fn receive(&mut self) -> Option<u16> {
            if self.get() != 0 {
                for _ in 0..32 {
                    self.get();
                }
                return None;
            }
            let value = (0..16).fold(0, |value, _| (value << 1) | self.get());
            self.get();
            Some(value as u16)
        }

        fn header(&mut self, preamble: u32, st_op: u32, phy: u32, reg: u32) {
            for _ in 0..preamble {
                self.send(1, 1);
            }
            self.send(4, st_op);
            self.send(5, phy);
            self.send(5, reg);
        }

        fn tail(&mut self, value: u32) {
            self.send(2, 0b10);
            self.send(16, value);
            self.get();
        }
    }

    #[test]
    fn clause22_read_and_write() {
        let mut host = HostSide::new();
        host.header(32, 0b0110, 7, 2);
        assert_eq!(host.receive(), Some(0xA5C3));
        host.header(32, 0b0101, 7, 9);
        host.tail(0x0300);
        host.header(32, 0b0110, 7, 31);
        assert_eq!(host.receive(), Some(0xA5C3));
        assert_eq!(host.bus.0, [("r22", 7, 2, 0), ("w22", 7, 9, 0x0300), ("r22", 7, 31, 0)]);
        assert_eq!(host.error, None);
    }

    #[test]
    fn absent_station_leaves_the_line_high() {
        let mut host = HostSide::new();
        host.header(32, 0b0110, 6, 2);
        assert_eq!(host.receive(), None);
        host.header(32, 0b0110, 7, 3);
        assert_eq!(host.receive(), Some(0xA5C3));
        assert_eq!(host.error, None);
    }

    #[test]
    fn clause45_address_then_access() {
        let mut host = HostSide::new();
        host.header(32, 0b0000, 3, 1);
        host.tail(0x8001);
        host.header(32, 0b0011, 3, 1);
        assert_eq!(host.receive(), Some(0x1234));
        host.header(32, 0b0010, 3, 1);
        assert_eq!(host.receive(), Some(0x1234));
        host.header(32, 0b0001, 3, 1);
        host.tail(0xBEEF);
        assert_eq!(
            host.bus.0,
            [("r45", 3, 0x1_8001, 0), ("r45", 3, 0x1_8001, 0), ("w45", 3, 0x1_8002, 0xBEEF)]
        );
        assert_eq!(host.error, None);
    }

    #[test]
    fn short_preamble_is_refused() {
        let mut host = HostSide::new();
        host.header(31, 0b0110, 7, 2);
        assert_eq!(host.error, Some(Malformed::Preamble));
        assert!(host.bus.0.is_empty());
    }

    #[test]
    fn driving_against_the_reply_is_refused() {
        let mut host = HostSide::new();
        host.header(32, 0b0110, 7, 2);
        host.send(1, 1);
        assert_eq!(host.error, Some(Malformed::Turnaround));
    }

    #[test]
    fn wrong_turnaround_and_codes_are_refused() {
        let mut host = HostSide::new();
        host.header(32, 0b0101, 7, 9);
        host.send(2, 0b11);
        host.send(16, 0);
        assert_eq!(host.error, Some(Malformed::Turnaround));
        let mut host = HostSide::new();
        host.header(32, 0b0111, 7, 9);
        assert_eq!(host.error, Some(Malformed::Code));
        assert!(host.bus.0.is_empty());
    }
}
