// SPDX-License-Identifier: GPL-2.0-or-later

//! The AVB-DMAC: descriptors, and the two engines that walk them.

pub mod desc;
pub mod rx;
pub mod tx;
