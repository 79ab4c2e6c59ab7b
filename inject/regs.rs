// SPDX-License-Identifier: GPL-2.0

//! Registers of the queue system, target QS.
//!
//! | name | meaning |
//! |---|---|
//! | INJ, XTR | injection (by the CPU, into the switch), extraction |
//! | GRP | group: each direction has two, of which this driver uses the first |
//! | SOF, EOF | start and end of frame |
//! | RDY | room for a word |
//! | WMARK | watermark |
//! | VLD | valid |

use kernel::{
    io::mem::IoMem,
    num::Bounded,
    prelude::*,
    register, //
};

/// The size of the target's register window.
pub(super) const WINDOW: usize = 0x40;

pub(super) type Window<'b> = IoMem<'b, WINDOW>;

/// The group in use.
const GROUP: u32 = 0;

register! {
    pub(super) XTR_GRP_CFG(u32) @ 0x00 {
        3:2 mode;
        0:0 byte_swap => bool;
    }

    pub(super) XTR_RD(u32) @ 0x08 {
        31:0 word;
    }

    /// Groups whose frames are thrown away.
    pub(super) XTR_FLUSH(u32) @ 0x18 {
        1:0 groups;
    }

    /// Groups that have a frame.
    pub(super) XTR_DATA_PRESENT(u32) @ 0x1c {
        1:0 groups;
    }

    pub(super) INJ_GRP_CFG(u32) @ 0x24 {
        3:2 mode;
        0:0 byte_swap => bool;
    }

    pub(super) INJ_WR(u32) @ 0x2c {
        31:0 word;
    }

    pub(super) INJ_CTRL(u32) @ 0x34 {
        24:21 gap_size;
        20:20 abort => bool;
        19:19 eof => bool;
        18:18 sof => bool;
        /// Valid bytes of the last word; 0 stands for all.
        17:16 vld_bytes;
    }

    /// A bit for each group in each field.
    pub(super) INJ_STATUS(u32) @ 0x3c {
        /// The queue system is short of memory: another frame may not fit.
        5:4 wmark_reached;
        /// The FIFO has room for a word.
        3:2 fifo_rdy;
    }
}

/// By registers, not by the frame DMA.
const MANUAL: Bounded<u32, 2> = Bounded::<u32, 2>::new::<1>();

impl XTR_GRP_CFG {
    /// Words hold the bytes of a frame in the order in which memory does.
    pub(super) fn manual() -> Self {
        Self::zeroed().with_mode(MANUAL).with_byte_swap(true)
    }
}

impl INJ_GRP_CFG {
    /// See [`XTR_GRP_CFG::manual`].
    pub(super) fn manual() -> Self {
        Self::zeroed().with_mode(MANUAL).with_byte_swap(true)
    }
}

impl XTR_FLUSH {
    /// The group in use.
    pub(super) fn group() -> Self {
        Self::zeroed().with_groups(Bounded::from_expr(1 << GROUP & 0x3))
    }
}

impl XTR_DATA_PRESENT {
    /// Returns whether there is a frame.
    pub(super) fn is_present(self) -> bool {
        self.groups().get() & 1 << GROUP != 0
    }
}

impl INJ_STATUS {
    /// Returns whether a word can be written.
    #[inline(always)]
    pub(super) fn is_ready(self) -> bool {
        self.fifo_rdy().get() & 1 << GROUP != 0
    }

    /// Returns whether a frame can be begun.
    #[inline(always)]
    pub(super) fn has_room(self) -> bool {
        self.is_ready() && self.wmark_reached().get() & 1 << GROUP == 0
    }
}

impl INJ_CTRL {
    /// What every write of the register has: the gap between frames, which is written at start and
    /// end alike.
    fn base() -> Self {
        Self::zeroed().with_gap_size(Bounded::<u32, 4>::new::<1>())
    }

    /// A frame begins.
    pub(super) fn begin_frame() -> Self {
        Self::base().with_sof(true)
    }

    /// The frame ended with the last word, of which so many bytes are valid. One more word follows,
    /// in the place of the FCS.
    pub(super) fn end_frame(valid: u32) -> Self {
        Self::base()
            .with_eof(true)
            .with_vld_bytes(Bounded::from_expr(valid & 0x3))
    }

    /// The frame that was begun is void.
    pub(super) fn abort_frame() -> Self {
        Self::base().with_abort(true)
    }
}
