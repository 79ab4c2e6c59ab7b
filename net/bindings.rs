// SPDX-License-Identifier: GPL-2.0

//! C declarations that `kernel::bindings` does not reach.
//!
//! Made by bindgen from `bindings_helper.h`, as rust/Makefile does it for the kernel crate; types
//! that the kernel crate has are taken from there. Only `net/` may use it.

#![allow(
    clippy::all,
    clippy::cast_lossless,
    clippy::ptr_as_ptr,
    clippy::ref_as_ptr,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    unused_imports,
    improper_ctypes,
    rustdoc::all
)]

use pin_init::MaybeZeroable;

include!(env!("RNET_BINDINGS"));

// Not inlined: rustdoc would go through all of them.
#[doc(no_inline)]
pub use kernel::bindings::*;
