//! The `kennel` binary. It speaks to people and scripts; everything it does, it does through the public library.
//!
//! The C entry point is our own (`sys::main`): what the standard library does before `fn main` is, but for two things
//! that `sys` does too, the set-up of a handler for stack overflows, which costs a reading of `/proc/self/maps` and some
//! mappings. That is two percent of a short `kennel run`, and every keeper is a copy of this process.
#![cfg_attr(all(target_os = "linux", not(test)), no_main)]

// Platform code is fenced here and nowhere else: whatever is listed in `linux.rs` may use Linux freely.
#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
#[allow(
    clippy::wildcard_imports,
    reason = "the modules are the crate's own, as if they were listed here"
)]
pub(crate) use linux::*;
#[cfg(not(target_os = "linux"))]
use unsupported::main;
