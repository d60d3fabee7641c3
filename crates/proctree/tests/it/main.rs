//! Against real processes. Readiness is a byte in a pipe; nothing sleeps.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are tests too, and a skipped one says so"
)]

mod group;
mod hidden;
mod identity;
mod ports;
mod signals;
mod support;
mod track;
mod walk;
