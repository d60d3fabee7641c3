//! The bounded output store of one task: a linear head that never moves and a ring for the newest part.
//!
//! Offsets count bytes since the task began, over both streams in the order in which they were drained, and never
//! shift. `output.log` holds `[0, linear_end)` and can be followed with any tool; `output.ring` holds the newest bytes
//! at `(offset - linear_end) % ring_bytes`; `output.idx` holds the header and, for every change of stream or passing
//! of time, an entry (offset, time, stream).
//!
//! Invariant between writer and reader: the header is written after the data. What a write may overwrite in the ring
//! lies before the `ring_start` of the header that was written *before* it, because that header already gives up room
//! for the largest single write. A reader therefore reads data, then the header again, and drops what now lies before
//! `ring_start`.

#[cfg(test)]
mod crash_tests;
mod files;
pub mod fuzz;
mod growth;
mod layout;
mod reader;
mod repair;
mod writer;

pub use growth::Bound;
pub use layout::{Entry, Header, LOG_FILE, Stream};
pub(crate) use layout::{FLAT_BYTES, HEADER_BYTES, INDEX_FILE, RING_FILE};
pub use reader::{Chunk, Page, Reader};
pub use repair::repair;
pub use writer::{Drained, Spool};

#[cfg(test)]
mod tests;
