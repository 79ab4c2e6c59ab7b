// SPDX-License-Identifier: GPL-2.0-or-later

//! What the model needs from the outside: guest memory, interrupt lines, virtual time.
//!
//! The emulator implements it through the C ABI (`abi`); unit tests and the fuzz target implement
//! it in memory.

/// A point or span of virtual time in nanoseconds.
pub type Ns = u64;

/// A DMA access that did not reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusError;

/// The machine around the device.
pub trait Host {
    /// Reads guest physical memory.
    fn dma_read(&mut self, addr: u64, buf: &mut [u8]) -> Result<(), BusError>;
    /// Writes guest physical memory.
    fn dma_write(&mut self, addr: u64, buf: &[u8]) -> Result<(), BusError>;
    /// Sets the level of interrupt line `line`, active high.
    fn set_irq(&mut self, line: usize, level: bool);
    /// Virtual time now.
    fn now(&self) -> Ns;
    /// Asks for `Device::timer` at `deadline`, or not at all. There is one timer a device.
    fn set_timer(&mut self, deadline: Option<Ns>);
    /// Hands a frame without FCS to the emulator's network back end.
    fn send(&mut self, frame: &[u8]);
    /// Charges virtual time to the CPU whose MMIO access is being served.
    fn stall(&mut self, span: Ns);
    /// A line for the person at the terminal.
    fn log(&mut self, line: &str);
}

/// The machine's flattened device tree while it is being built.
pub trait DeviceTree {
    /// Adds an empty node; its parent exists.
    fn node(&mut self, path: &str);
    /// Sets a property of an existing node.
    fn prop(&mut self, path: &str, name: &str, value: &[u8]);
    /// The node's phandle, made on first use.
    fn phandle(&mut self, path: &str) -> u32;
}
