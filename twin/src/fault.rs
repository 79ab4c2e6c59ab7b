// SPDX-License-Identifier: GPL-2.0-or-later

//! Faults that a test orders from the device, and that the device carries out.

use crate::host::Ns;

/// A fault in the MAC. Those with `count` act on the next so many events and then end by
/// themselves (`u32::MAX`: until ended by an order with 0); those with `on` last until ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant's text names its fields")]
pub enum Fault {
    /// Interrupt line `line` is not raised for its next `count` rising edges.
    LoseIrq { line: u8, count: u32 },
    /// Interrupt line `line` stays asserted whatever the status registers say.
    StuckIrq { line: u8, on: bool },
    /// TX queue `queue` accepts requests and never fetches a descriptor; TSRQ stays set.
    StuckTx { queue: u8, on: bool },
    /// DLR takes requests and carries none out; its bits stay set.
    StuckDlr { on: bool },
    /// RX DMA stops: frames are dropped as by a full FIFO, no status changes.
    StuckRx { on: bool },
    /// CSR.OPS no longer follows CCC.OPC.
    StuckMode { on: bool },
    /// CSR.TPO, CSR.RPO and CSR.DTS never report idle.
    StuckStop { on: bool },
    /// CSR0.TPE/RPE (GbEth checksum ports) no longer read back as written.
    StuckCsum { on: bool },
    /// GCCR.TCR and the load requests never complete.
    StuckGptp { on: bool },
    /// The next `count` TX timestamps are lost.
    LoseStamp { count: u32 },
    /// The RX FIFO overflows for the next `count` frames (RIS2.RFFF).
    FifoOverflow { count: u32 },
    /// The next `count` DMA accesses to packet data fail on the bus.
    BusError { count: u32 },
    /// The next `count` RX descriptors, of frames with this EtherType if one is given, are written
    /// back with another type (DT) or size (DS) than is right. Orders add up; a `count` of 0
    /// forgets them.
    RxHead { kind: Option<u8>, size: Option<u16>, ethertype: Option<u16>, count: u32 },
    /// Mode changes, DMA stop and CSR0 take this long to show (0: at once).
    Slow { span: Ns },
    /// The external capture input of gPTP sees an edge now.
    CaptureEdge,
    /// E-MAC detects a false carrier (ECSR.ICD) now.
    FalseCarrier,
    /// Adds to the E-MAC counters TROCR, CXR41, CXR42.
    Counters { trocr: u16, cxr41: u16, cxr42: u16 },
}
