//! Places at which a test holds or kills a process, so that a race is met on purpose and not by luck.
//!
//! `RACE(name)` in a comment and `fault::point("name")` beside it are one place. Without the feature `fault` a point is
//! nothing. With it the variable `KENNEL_FAULT` gives orders, separated by commas: `NAME=kill` (SIGKILL to itself),
//! `NAME=hold:FIFO` (writes its pid and a newline into FIFO, then waits until somebody has opened `FIFO.go` for writing
//! and closed it again). `NAME@3=…` is the third time that one process comes by. The `testkit` crate has the other ends.
//! A mechanism that a test wants weaker or away asks for its own order with `fault::order("name")`.

#[cfg(feature = "fault")]
mod orders;
#[cfg(feature = "fault")]
pub use orders::{order, point};

/// A named place; does nothing in this build.
#[cfg(not(feature = "fault"))]
#[inline(always)]
#[expect(clippy::inline_always, reason = "a release build must not even hold the names")]
pub fn point(_name: &'static str) {}

/// The order for a mechanism; none in this build.
#[cfg(not(feature = "fault"))]
#[inline(always)]
#[expect(clippy::inline_always, reason = "a release build must not even hold the names")]
pub fn order(_name: &'static str) -> Option<String> {
    None
}
