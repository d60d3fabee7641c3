//! The screen of a task's terminal, made by whoever looks from the output that is kept.
//!
//! The supervisor keeps no screen: the parser's cells alone would double its memory, its work would be done for nobody
//! most of the time, and a fault in it would end the keeper instead of the look (`docs/design`).

mod look;
mod prologue;
mod replay;

pub use look::{Cursor, Look, Screen};
pub(crate) use replay::Replay;
