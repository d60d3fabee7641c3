//! How large a spool may become: step by step, as far as its own cap and the total over all tasks allow.

use rustix::io::pwrite;

use super::layout::{Entry, FLAT_BYTES, INDEX_CAPACITY_MAX};
use super::writer::Spool;

/// A smaller cap could not hold a head, a ring and a notice.
const CAP_BYTES_MIN: u64 = 4096;
/// Output bytes for which an entry is kept, where streams and times change all the time.
const BYTES_PER_ENTRY: u64 = 256;
/// A shorter index is not worth its name.
const INDEX_CAPACITY_MIN: u64 = 64;

/// Says whether a task may claim its next share of the total over all tasks.
pub trait Bound: std::fmt::Debug {
    /// Whether all claims together fit, this task's being `claimed_bytes`. Its header says so already: two that ask at the
    /// same time see each other.
    fn fits(&mut self, claimed_bytes: u64) -> bool;
}

/// How much a spool may keep for now, and its final cap.
#[derive(Debug)]
pub(super) struct Size {
    bytes: u64,
    cap_bytes: u64,
    bound: Option<Box<dyn Bound>>,
    /// The bound said no.
    limited: bool,
}

impl Size {
    pub(super) fn of_cap(cap_bytes: u64) -> Self {
        let cap_bytes = cap_bytes.max(CAP_BYTES_MIN);
        Self { bytes: cap_bytes, cap_bytes, bound: None, limited: false }
    }

    /// Most bytes of the linear half.
    pub(super) fn linear_max(&self) -> u64 {
        self.bytes - self.bytes / 2
    }

    fn ring_bytes(&self) -> u64 {
        self.bytes / 2
    }

    fn index_capacity(&self) -> u64 {
        (self.bytes / 2 / BYTES_PER_ENTRY).clamp(INDEX_CAPACITY_MIN, INDEX_CAPACITY_MAX)
    }

    /// Where the ring part of the index begins, whatever the spool grows to.
    pub(super) fn index_capacity_max(&self) -> u64 {
        (self.cap_bytes / 2 / BYTES_PER_ENTRY).clamp(INDEX_CAPACITY_MIN, INDEX_CAPACITY_MAX)
    }
}

impl Spool {
    /// Lets the spool keep `free_bytes` at once, and what its cap allows beyond that only as the bound agrees.
    #[must_use]
    pub fn bounded(mut self, free_bytes: u64, bound: Box<dyn Bound>) -> Self {
        self.size.bytes = free_bytes.clamp(CAP_BYTES_MIN, self.size.cap_bytes);
        self.size.bound = Some(bound);
        self
    }

    /// Bytes of output that are kept at most, where the total over all tasks allows no more.
    pub fn limited_to(&self) -> Option<u64> {
        self.size.limited.then_some(self.size.bytes)
    }

    /// Bytes of output after which the oldest of the newest part is given up.
    pub fn size_bytes(&self) -> u64 {
        self.size.bytes
    }

    /// The linear half, or its part of the index, is full.
    pub(super) fn is_full(&self) -> bool {
        self.header.linear_end >= self.size.linear_max()
            || self.header.linear_entries >= self.size.index_capacity()
    }

    /// The next step: twice the size, or less where only that fits. False when the spool stays as it is.
    pub(super) fn grow(&mut self) -> bool {
        let now = self.size.bytes;
        if now >= self.size.cap_bytes {
            return false;
        }
        let steps = [now * 2, now + now / 4].map(|bytes| bytes.min(self.size.cap_bytes));
        self.size.limited = !steps.into_iter().any(|bytes| self.claim(bytes));
        !self.size.limited
    }

    /// Claims before it asks: whoever asks at the same time counts this too, so that both may be refused but never both
    /// be given what only one can have.
    fn claim(&mut self, bytes: u64) -> bool {
        let Some(mut bound) = self.size.bound.take() else { return false };
        let before = (self.size.bytes, self.header.claimed_bytes);
        self.size.bytes = bytes;
        self.header.claimed_bytes = bytes + 2 * self.size.index_capacity() * Entry::BYTES as u64 + FLAT_BYTES;
        self.write_header();
        fault::point("spool-claimed");
        let fits = bound.fits(self.header.claimed_bytes);
        if !fits {
            (self.size.bytes, self.header.claimed_bytes) = before;
            self.write_header();
        }
        self.size.bound = Some(bound);
        fits
    }

    /// The task has ended: it claims no more than it has.
    pub fn give_back(&mut self) {
        if self.header.claimed_bytes > 0 {
            self.header.claimed_bytes = 0;
            self.write_header();
        }
    }

    /// Ends the linear half with the line that names the way to the rest.
    pub(super) fn seal(&mut self) {
        self.header.sealed = true;
        self.header.ring_bytes = self.size.ring_bytes();
        self.header.ring_index_capacity = self.size.index_capacity();
        self.header.ring_start = self.header.linear_end;
        // The ring's first entry: the stream goes on where the linear half ended.
        self.last = None;
        // Before the line stands in the file: who finds us dead must not take it for output.
        self.write_header();
        fault::point("spool-sealed");
        if let Some(log) = &self.log {
            let line =
                format!("\n[kennel: the rest is in a ring; read it with: kennel output {}]\n", self.id);
            let _cosmetic = pwrite(log, line.as_bytes(), self.header.linear_end);
        }
    }
}
