// SPDX-License-Identifier: GPL-2.0-or-later

//! A machine in memory, for tests and the fuzz driver.

use crate::host::{BusError, DeviceTree, Host, Ns};
use std::collections::BTreeMap;

/// Memory at one address, interrupt levels, a clock that is moved by hand.
#[derive(Debug, Default)]
pub struct Memory {
    /// Guest physical address of the memory.
    pub base: u64,
    /// The memory.
    pub bytes: Vec<u8>,
    /// Levels of the interrupt lines.
    pub irqs: [bool; 32],
    /// Rising edges of the interrupt lines.
    pub edges: [u32; 32],
    /// Virtual time.
    pub time: Ns,
    /// By how much time goes on at every look at the clock; 0 in virtual time.
    pub step: Ns,
    looks: std::cell::Cell<Ns>,
    /// The deadline last asked for.
    pub deadline: Option<Ns>,
    /// Frames for the network back end.
    pub sent: Vec<Vec<u8>>,
    /// Log lines.
    pub lines: Vec<String>,
    /// Time charged.
    pub stalled: Ns,
    /// Every DMA write: address and length.
    pub written: Vec<(u64, usize)>,
}

impl Memory {
    /// `size` bytes of zeros at `base`.
    pub fn new(base: u64, size: usize) -> Self {
        Self { base, bytes: vec![0; size], ..Self::default() }
    }

    fn range(&self, addr: u64, len: usize) -> Result<std::ops::Range<usize>, BusError> {
        let start = addr.checked_sub(self.base).and_then(|at| usize::try_from(at).ok());
        let start = start.ok_or(BusError)?;
        let end = start.checked_add(len).filter(|end| *end <= self.bytes.len()).ok_or(BusError)?;
        Ok(start..end)
    }

    /// A 32-bit word in memory; 0 outside.
    pub fn word(&self, addr: u64) -> u32 {
        match self.range(addr, 4) {
            Ok(range) => {
                let mut word = [0; 4];
                word.copy_from_slice(&self.bytes[range]);
                u32::from_le_bytes(word)
            }
            Err(BusError) => 0,
        }
    }

    /// Puts bytes into memory, as the CPU would; nothing outside.
    pub fn put(&mut self, addr: u64, bytes: &[u8]) {
        if let Ok(range) = self.range(addr, bytes.len()) {
            self.bytes[range].copy_from_slice(bytes);
        }
    }

    /// Bytes in memory; none outside.
    pub fn get(&self, addr: u64, len: usize) -> &[u8] {
        self.range(addr, len).map_or(&[], |range| &self.bytes[range])
    }
}

impl Host for Memory {
    fn dma_read(&mut self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let range = self.range(addr, buf.len())?;
        buf.copy_from_slice(&self.bytes[range]);
        Ok(())
    }

    fn dma_write(&mut self, addr: u64, buf: &[u8]) -> Result<(), BusError> {
        let range = self.range(addr, buf.len())?;
        self.bytes[range].copy_from_slice(buf);
        self.written.push((addr, buf.len()));
        Ok(())
    }

    fn set_irq(&mut self, line: usize, level: bool) {
        self.edges[line] += u32::from(level && !self.irqs[line]);
        self.irqs[line] = level;
    }

    fn now(&self) -> Ns {
        let looks = self.looks.replace(self.looks.get() + 1);
        self.time + self.step * looks
    }

    fn set_timer(&mut self, deadline: Option<Ns>) {
        self.deadline = deadline;
    }

    fn send(&mut self, frame: &[u8]) {
        self.sent.push(frame.to_vec());
    }

    fn stall(&mut self, span: Ns) {
        self.stalled += span;
    }

    fn log(&mut self, line: &str) {
        self.lines.push(line.into());
    }
}

/// A device tree as a map from "path" and "path:property" to values.
#[derive(Debug, Default)]
pub struct Tree {
    /// Properties by "path:name"; nodes by "path" with an empty value.
    pub entries: BTreeMap<String, Vec<u8>>,
    phandles: BTreeMap<String, u32>,
    /// Nodes that were added before their parent, properties of nodes that do not exist.
    pub orphans: Vec<String>,
}

impl Tree {
    /// A property's value.
    pub fn get(&self, path: &str, name: &str) -> Option<&[u8]> {
        self.entries.get(&format!("{path}:{name}")).map(Vec::as_slice)
    }

    /// A property as strings.
    pub fn strings(&self, path: &str, name: &str) -> Vec<String> {
        let value = self.get(path, name).unwrap_or(&[]);
        let text = String::from_utf8_lossy(value);
        text.split_terminator('\0').map(str::to_string).collect()
    }

    /// A property as cells.
    pub fn cells(&self, path: &str, name: &str) -> Vec<u32> {
        let value = self.get(path, name).unwrap_or(&[]);
        value.chunks_exact(4).map(|c| u32::from_be_bytes([c[0], c[1], c[2], c[3]])).collect()
    }
}

impl DeviceTree for Tree {
    fn node(&mut self, path: &str) {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        if !parent.is_empty() && !self.entries.contains_key(parent) {
            self.orphans.push(path.into());
        }
        self.entries.insert(path.into(), Vec::new());
    }

    fn prop(&mut self, path: &str, name: &str, value: &[u8]) {
        if !self.entries.contains_key(path) {
            self.orphans.push(format!("{path}:{name}"));
        }
        self.entries.insert(format!("{path}:{name}"), value.into());
    }

    fn phandle(&mut self, path: &str) -> u32 {
        let next = 0x8000 + self.phandles.len() as u32;
        *self.phandles.entry(path.into()).or_insert(next)
    }
}
