// SPDX-License-Identifier: GPL-2.0

//! XDP: not there yet.
//!
//! What it will hang on: `NapiState` has the program's rings (`&mut` in polls), `RxContext` proves
//! that a poll is not netpoll's, `page_pool::CpuBuf` is what a program gets to see (it has head
//! room if the driver has given the device a start offset), `TxQueueRef::lock` is what XDP_TX and
//! `ndo_xdp_xmit` take, and `TxQueueRef::trans_update` keeps the watchdog quiet.
//!
//! C header: [`include/net/xdp.h`](srctree/include/net/xdp.h)
