//! The reading end: any number of readers, none of which changes anything.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::{Errno, pread, retry_on_intr};

use super::layout::{
    ENTRY_TIME_MS, Entry, HEADER_BYTES, Header, INDEX_FILE, LOG_FILE, RING_FILE, SLOT_BYTES, Stream,
};

/// A run of bytes of one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Offset of the first byte.
    pub offset: u64,
    /// Milliseconds since the task began, at or before which the first byte came.
    pub time_ms: u64,
    /// Its stream.
    pub stream: Stream,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What a read gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// Runs of bytes in offset order.
    pub chunks: Vec<Chunk>,
    /// Where to read on.
    pub next: u64,
    /// Bytes between the asked offset and `next` that are no longer kept.
    pub gap_bytes: u64,
}

/// Reads the spool of a task's directory.
#[derive(Debug)]
pub struct Reader {
    dir: OwnedFd,
    log: Option<OwnedFd>,
    ring: Option<OwnedFd>,
    index: Option<OwnedFd>,
    /// By the last header that was read.
    moved: bool,
}

impl Reader {
    /// A reader on this task directory; the files need not exist yet.
    pub fn new(dir: OwnedFd) -> Self {
        Self { dir, log: None, ring: None, index: None, moved: false }
    }

    /// Whether this directory may not be the task's any more: the spool has moved, or nothing was found here yet. What
    /// had come before is still read; for the rest the task must be looked up again.
    pub fn is_stale(&self) -> bool {
        self.moved || self.index.is_none()
    }

    /// The first entry is written before the first header, behind the place for it: then there is nothing to read yet.
    fn has_one_entry_at_most(&self) -> io::Result<bool> {
        let size = self.index.as_ref().map(rustix::fs::fstat).transpose()?.map_or(0, |stat| stat.st_size);
        Ok(usize::try_from(size).is_ok_and(|size| size <= HEADER_BYTES + Entry::BYTES))
    }

    /// The spool as it stands. A spool without a file is an empty one.
    ///
    /// # Errors
    /// Those of `openat(2)` and `pread(2)`; `InvalidData` where the header is damaged.
    pub fn header(&mut self) -> io::Result<Header> {
        if !open_once(&mut self.index, &self.dir, INDEX_FILE)? {
            return Ok(Header::default());
        }
        // RACE(header-torn): the writer may be in the middle of its first write, or be twice as fast as we are; the
        // checksums tell, and the next read is whole.
        for _attempt in 0..64 {
            let mut bytes = [0; HEADER_BYTES];
            let filled = read_exact_at(self.index.as_ref(), &mut bytes, 0)?;
            if filled < SLOT_BYTES || bytes == [0; HEADER_BYTES] && self.has_one_entry_at_most()? {
                return Ok(Header::default());
            }
            if let Some(header) = Header::newest(bytes.get(..filled).unwrap_or_default()) {
                self.moved = header.moved;
                return Ok(header);
            }
            fault::point("header-torn");
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "the header of output.idx is damaged"))
    }

    /// Reads up to `most` bytes from `offset` on. What is no longer kept is skipped and counted.
    ///
    /// # Errors
    /// As [`Reader::header`].
    pub fn read(&mut self, offset: u64, most: usize) -> io::Result<Page> {
        let header = self.header()?;
        let start = first_kept(&header, offset);
        let mut page = Page { next: start, gap_bytes: start.saturating_sub(offset), ..Page::default() };
        if start >= header.total {
            page.next = header.total.max(offset);
            page.gap_bytes = 0;
            return Ok(page);
        }
        let bound = if start < header.linear_end { header.linear_end } else { header.total };
        let length = usize::try_from(bound - start).unwrap_or(usize::MAX).min(most);
        let mut bytes = vec![0; length];
        let filled = self.fill(&header, start, &mut bytes)?;
        bytes.truncate(filled);
        // The ring may have turned while we read: what it has given up since is not what we asked for.
        let after = self.header()?;
        let valid_from = first_kept(&after, start);
        if valid_from > start {
            let stale = usize::try_from(valid_from - start).unwrap_or(usize::MAX).min(bytes.len());
            bytes.drain(..stale);
            page.gap_bytes += valid_from - start;
        }
        page.next = valid_from + bytes.len() as u64;
        if filled < length && bytes.is_empty() {
            // Somebody, or a crash of the machine, has shortened the file: what is missing is not waited for.
            page.next = bound.max(valid_from);
            page.gap_bytes += bound.saturating_sub(valid_from);
        }
        page.chunks = self.split(&after, valid_from, bytes)?;
        Ok(page)
    }

    fn fill(&mut self, header: &Header, start: u64, bytes: &mut [u8]) -> io::Result<usize> {
        if start < header.linear_end {
            open_once(&mut self.log, &self.dir, LOG_FILE)?;
            return read_exact_at(self.log.as_ref(), bytes, start);
        }
        open_once(&mut self.ring, &self.dir, RING_FILE)?;
        let at = (start - header.linear_end) % header.ring_bytes.max(1);
        let until_wrap = usize::try_from(header.ring_bytes - at).unwrap_or(usize::MAX).min(bytes.len());
        let (first, second) = bytes.split_at_mut(until_wrap);
        let filled = read_exact_at(self.ring.as_ref(), first, at)?;
        if filled < first.len() {
            Ok(filled)
        } else {
            Ok(filled + read_exact_at(self.ring.as_ref(), second, 0)?)
        }
    }

    /// Cuts a run of bytes where the stream or the time changes.
    fn split(&mut self, header: &Header, start: u64, bytes: Vec<u8>) -> io::Result<Vec<Chunk>> {
        let mut chunks = Vec::new();
        let ring = start >= header.linear_end;
        let count = if ring { header.ring_entries } else { header.linear_entries };
        let mut number = self.entry_before(header, start, ring)?;
        let mut rest = bytes;
        let mut at = start;
        while !rest.is_empty() {
            let entry = self.entry(header, number, ring)?;
            let next = if number + 1 < count {
                self.entry(header, number + 1, ring)?.map(|next| next.offset)
            } else {
                None
            };
            let length = next
                .map_or(rest.len(), |next| usize::try_from(next.saturating_sub(at)).unwrap_or(usize::MAX));
            number += 1;
            if length == 0 {
                continue;
            }
            let tail = if length < rest.len() { rest.split_off(length) } else { Vec::new() };
            let (time_ms, stream) = entry.map_or((0, Stream::Stdout), |entry| (entry.time_ms, entry.stream));
            let offset = at;
            at += rest.len() as u64;
            chunks.push(Chunk { offset, time_ms, stream, bytes: rest });
            rest = tail;
        }
        Ok(chunks)
    }

    /// Number of the last entry at or before `offset`, by bisection.
    fn entry_before(&mut self, header: &Header, offset: u64, ring: bool) -> io::Result<u64> {
        let (mut low, mut high) =
            if ring { (header.oldest_ring_entry(), header.ring_entries) } else { (0, header.linear_entries) };
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            match self.entry(header, middle, ring)? {
                Some(entry) if entry.offset <= offset => low = middle,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    fn entry(&mut self, header: &Header, number: u64, ring: bool) -> io::Result<Option<Entry>> {
        let mut bytes = [0; Entry::BYTES];
        let position = header.entry_position(number, ring);
        let count = read_exact_at(self.index.as_ref(), &mut bytes, position)?;
        Ok(if count == Entry::BYTES { Entry::decode(&bytes) } else { None })
    }

    /// The offset from which the last `lines` lines, of one stream or of both together, are kept, reading backwards in
    /// blocks: the cost is that of those lines, not of the spool.
    ///
    /// # Errors
    /// As [`Reader::header`].
    pub fn tail_offset(&mut self, lines: u64, stream: Option<Stream>) -> io::Result<u64> {
        const BLOCK: u64 = 16 << 10;
        let header = self.header()?;
        if lines == 0 {
            return Ok(header.total);
        }
        let (mut wanted, mut end, mut newest) = (lines, header.total, true);
        while end > 0 {
            let floor = if end > header.linear_end { header.ring_start } else { 0 };
            let start = end.saturating_sub(BLOCK).max(floor);
            let page = self.read(start, usize::try_from(end - start).unwrap_or(0))?;
            for (offset, byte) in page.bytes_backwards(stream) {
                // The newline that ends the output does not begin another line.
                if byte == b'\n' && !newest {
                    wanted -= 1;
                    if wanted == 0 {
                        return Ok(offset + 1);
                    }
                }
                newest = false;
            }
            end = if start == floor { header.linear_end.min(start) } else { start };
            if start == 0 {
                break;
            }
        }
        Ok(0)
    }

    /// The offset from which on lies what came at or after `time_ms` since the task began; up to
    /// `ENTRY_TIME_MS` of what came before may be with it.
    ///
    /// # Errors
    /// As [`Reader::header`].
    pub fn since_offset(&mut self, time_ms: u64) -> io::Result<u64> {
        let header = self.header()?;
        let oldest = header.oldest_ring_entry();
        for (ring, first, count) in [(false, 0, header.linear_entries), (true, oldest, header.ring_entries)] {
            let (mut low, mut high) = (first, count);
            while low < high {
                let middle = low + (high - low) / 2;
                match self.entry(&header, middle, ring)? {
                    Some(entry) if entry.time_ms + ENTRY_TIME_MS <= time_ms => low = middle + 1,
                    _ => high = middle,
                }
            }
            if low < count
                && let Some(entry) = self.entry(&header, low, ring)?
            {
                return Ok(entry.offset);
            }
        }
        Ok(header.total)
    }
}

impl Page {
    /// Takes away what lies at or behind `end`.
    pub fn cut_at(&mut self, end: u64) {
        self.next = self.next.min(end);
        self.chunks.retain(|chunk| chunk.offset < end);
        if let Some(last) = self.chunks.last_mut() {
            last.bytes.truncate(usize::try_from(end - last.offset).unwrap_or(usize::MAX));
        }
    }

    fn bytes_backwards(&self, stream: Option<Stream>) -> impl Iterator<Item = (u64, u8)> {
        let wanted = move |chunk: &&Chunk| stream.is_none_or(|stream| chunk.stream == stream);
        self.chunks.iter().rev().filter(wanted).flat_map(|chunk| {
            (chunk.offset..)
                .zip(&chunk.bytes)
                .map(|(offset, byte)| (offset, *byte))
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
        })
    }
}

/// The first readable offset at or after `offset`.
fn first_kept(header: &Header, offset: u64) -> u64 {
    if offset < header.linear_end { offset } else { offset.max(header.ring_start) }
}

fn open_once(slot: &mut Option<OwnedFd>, dir: &OwnedFd, name: &str) -> io::Result<bool> {
    if slot.is_none() {
        match openat(dir, name, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(file) => *slot = Some(file),
            Err(Errno::NOENT) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(true)
}

fn read_exact_at(file: Option<impl AsFd>, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let Some(file) = file else { return Ok(0) };
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match retry_on_intr(|| pread(&file, &mut *room, at + filled as u64))? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}
