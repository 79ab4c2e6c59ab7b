// SPDX-License-Identifier: GPL-2.0

//! The CPU port of a lan966x switch, used as a network device: frames are injected and extracted
//! word by word, through registers.
//!
//! The switch core is taken as the boot loader has set it up: the driver touches nothing but the
//! registers through which the frames pass. All that it sends leaves by one front port, and what
//! the switch hands to the CPU is taken as received there. It binds to a compatible string of its
//! own (`dt-bindings/net/linux,lan966x-cpu-port.yaml`), never to the switch, which has a driver.
//!
//! What it is for: each word of a frame has to wait for the FIFO, which is nearly always ready. How
//! such a wait is written decides the speed ([`crate::wait`]).
//!
//! | file | concern |
//! |---|---|
//! | `driver` | what the stack and the bus call; what a device is made of |
//! | `regs`, `header` | registers; the header in front of each frame |
//! | `tx`, `ready` | injection; how it waits for the FIFO |
//! | `rx` | extraction |
//! | `stats` | what users see |
//!
//! Facts about the hardware are from the kernel's drivers of this switch and its older relatives
//! (`drivers/net/ethernet/microchip/lan966x`, `drivers/net/ethernet/mscc`).

mod driver;
mod header;
mod ready;
mod regs;
mod rx;
mod stats;
mod tx;

pub(crate) use driver::Inject;
