// SPDX-License-Identifier: GPL-2.0-or-later

//! The twin: a model of the Ethernet MACs that Linux drives with `ravb` (Renesas EthernetAVB of
//! R-Car Gen2/3/4 and RZ/V2M, and GbEth of RZ/G2L).
//!
//! It is written against what the stock driver demands of the hardware; facts come from the
//! project's reference on hardware and driver, whose sections the modules name. What is not known
//! of the hardware is a property (see [`config`]).
//!
//! * [`device`] joins the parts and is what an emulator drives, through [`abi`];
//! * [`mac`] registers, modes, E-MAC, interrupt lines; [`dmac`] the descriptor engines; [`csum`],
//!   [`gptp`], [`phy`], [`mdio`], [`reset`] what their names say;
//! * [`qs`] another device in the MAC's place: the CPU port of a switch, without DMA;
//! * [`chip`] the variants as data, [`dt`] their device tree nodes;
//! * [`wire`] the cable and the peer, [`control`] orders from the guest, [`pcap`], [`trace`];
//! * [`host`] what it needs from outside; [`testing`] the same in memory.
//!
//! Unkind on purpose, unless `kind=1`:
//!
//! * an RX buffer is filled with [`dmac::rx::POISON`] behind the frame, up to the size that its
//!   slot gave;
//! * a TX frame is read once, when its turn comes; its descriptors are given back then or when
//!   its last bit has left, and the lower of two waiting queues sometimes goes first;
//! * mode changes, suspension, CSR.RPO, CSR0, gPTP requests and the start of transmission take a
//!   while, and another one each time;
//! * the descriptor base address table is read when OPERATION is entered or when a queue is first
//!   used;
//!
//! and always:
//!
//! * writes in a mode in which the hardware does not take them are lost; reserved bits, unknown
//!   offsets, wrong access sizes, accesses while the reset line is asserted, malformed descriptors,
//!   buffers that are not aligned, DMA to where no memory is, malformed management frames and a
//!   wrong interface selection are counted and reported ([`report`]).
//!
//! The model is single-threaded and polled, in virtual time, and draws all variation from one
//! seed. It never panics, loops without bound or touches memory that no descriptor gave it,
//! whatever a guest writes.

#![deny(unsafe_code)]

pub mod abi;
pub mod chip;
pub mod config;
pub mod csum;
pub mod device;
pub mod dmac;
pub mod dt;
pub mod fault;
pub mod frame;
pub mod fuzz;
pub mod gptp;
pub mod host;
pub mod mac;
pub mod mdio;
pub mod phy;
pub mod qs;
pub mod report;
pub mod reset;
pub mod rng;
pub mod testing;

pub mod control;
pub mod pcap;
pub mod trace;
pub mod wire;
