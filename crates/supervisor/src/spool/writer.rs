//! The writing end: from the command's pipes into the files, without a copy of the bytes in our memory.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, pwrite, read, retry_on_intr};
use rustix::pipe::{SpliceFlags, splice};

use super::files::{copy, open_once, peek};
use super::growth::Size;
use super::layout::{ENTRY_TIME_MS, Entry, Header, INDEX_FILE, LOG_FILE, RING_FILE, Stream};

/// The largest single move; the ring gives up as much room in advance.
const MOVE_BYTES_MAX: u64 = 1 << 20;
/// What a full disk costs before it is tried again: it may have room by then.
const LOST_AT_ONCE_BYTES: usize = 64 << 10;

/// What one drain of a pipe came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// So many bytes were taken; there may be more.
    Some(u64),
    /// The pipe is empty; writers remain.
    Dry,
    /// Nothing was taken, because it could not be stored; [`Spool::lose`] takes it all the same.
    Refused(Errno),
    /// End of file: no writer is left.
    Eof,
}

/// The spool of a task, as its supervisor holds it.
#[derive(Debug)]
pub struct Spool {
    dir: Rc<OwnedFd>,
    pub(super) log: Option<OwnedFd>,
    ring: Option<OwnedFd>,
    index: Option<OwnedFd>,
    /// Where bytes go that cannot be stored.
    sink: Option<OwnedFd>,
    pub(super) header: Header,
    pub(super) size: Size,
    pub(super) last: Option<Entry>,
    /// Index offsets of the ring's entries, oldest first, as far as they bound `ring_start`.
    oldest_ring_entry: Option<u64>,
    /// What the notice line names.
    pub(super) id: String,
    /// Text of the last storage error.
    pub error: Option<Errno>,
}

impl Spool {
    /// An empty spool of at most `cap_bytes` in `dir`. No file is made before the first byte.
    pub fn new(dir: Rc<OwnedFd>, id: &str, cap_bytes: u64) -> Self {
        let size = Size::of_cap(cap_bytes);
        Self {
            dir,
            log: None,
            ring: None,
            index: None,
            sink: None,
            header: Header { index_capacity: size.index_capacity_max(), ..Header::default() },
            size,
            last: None,
            oldest_ring_entry: None,
            id: id.to_owned(),
            error: None,
        }
    }

    /// Makes `output.log` before the first byte: somebody is told its path.
    ///
    /// # Errors
    /// Those of `openat(2)`.
    pub fn create_log(&mut self) -> io::Result<()> {
        open_once(&mut self.log, &self.dir, LOG_FILE)?;
        Ok(())
    }

    /// State as of the last write.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The task's directory.
    pub fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// Whether one more move keeps everything from `oldest_wanted` on readable.
    pub fn keeps(&self, oldest_wanted: u64) -> bool {
        let oldest = oldest_wanted.max(self.header.linear_end);
        !self.header.sealed || self.header.total + 2 * self.move_max() <= oldest + self.header.ring_bytes
    }

    fn move_max(&self) -> u64 {
        MOVE_BYTES_MAX.min(self.header.ring_bytes / 4).max(1)
    }

    /// How much can go into the file that is due, in one piece.
    fn room(&mut self) -> u64 {
        if !self.header.sealed && self.is_full() && !self.grow() {
            self.seal();
        }
        if self.header.sealed {
            let at = (self.header.total - self.header.linear_end) % self.header.ring_bytes;
            (self.header.ring_bytes - at).min(self.move_max())
        } else {
            (self.size.linear_max() - self.header.linear_end).min(MOVE_BYTES_MAX)
        }
    }

    /// Takes at most one move's worth of bytes out of `pipe`, which must not block.
    ///
    /// # Errors
    /// Those of `splice(2)` on the pipe itself. A failure to store is not an error: nothing was taken then.
    pub fn drain(
        &mut self,
        pipe: BorrowedFd<'_>,
        stream: Stream,
        time_ms: u64,
        most: u64,
    ) -> io::Result<Drained> {
        if self.log.is_none() && !self.header.sealed {
            // No file is made for a stream that stays empty.
            match peek(pipe)? {
                Drained::Some(_) => {}
                nothing => return Ok(nothing),
            }
        }
        let room = self.room().min(most.max(1));
        let moved = match self.store(pipe, room) {
            Ok(moved) => moved,
            Err(Errno::AGAIN) => return Ok(Drained::Dry),
            Err(errno) => return Ok(Drained::Refused(errno)),
        };
        if moved == 0 {
            return Ok(Drained::Eof);
        }
        self.account(stream, time_ms, moved);
        Ok(Drained::Some(moved))
    }

    /// The same as [`Spool::drain`] for a terminal, from which `splice(2)` cannot be relied on before Linux 6.5.
    ///
    /// # Errors
    /// Those of `read(2)`.
    pub fn copy(
        &mut self,
        terminal: BorrowedFd<'_>,
        stream: Stream,
        time_ms: u64,
        most: u64,
    ) -> io::Result<Drained> {
        // One read of a terminal gives no more.
        let mut buffer = [0; 4096];
        let most = usize::try_from(most.max(1)).unwrap_or(usize::MAX).min(buffer.len());
        let count = match retry_on_intr(|| read(terminal, buffer.get_mut(..most).unwrap_or_default())) {
            // EIO: the other side has been hung up.
            Ok(0) | Err(Errno::IO) => return Ok(Drained::Eof),
            Ok(count) => count,
            Err(Errno::AGAIN) => return Ok(Drained::Dry),
            Err(errno) => return Err(errno.into()),
        };
        let mut rest = buffer.get(..count).unwrap_or_default();
        while !rest.is_empty() {
            let room = usize::try_from(self.room()).unwrap_or(usize::MAX);
            let (piece, after) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            match self.put(piece) {
                Ok(()) => self.account(stream, time_ms, piece.len() as u64),
                Err(errno) => self.count_lost(stream, piece.len() as u64, errno),
            }
            rest = after;
        }
        Ok(Drained::Some(count as u64))
    }

    fn put(&mut self, mut bytes: &[u8]) -> Result<(), Errno> {
        let (file, mut at) = self.due()?;
        while !bytes.is_empty() {
            let count = retry_on_intr(|| pwrite(file, bytes, at))?;
            at += count as u64;
            bytes = bytes.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// The file that is due, and where in it the next byte goes.
    fn due(&mut self) -> Result<(&OwnedFd, u64), Errno> {
        if self.header.sealed {
            let at = (self.header.total - self.header.linear_end) % self.header.ring_bytes;
            Ok((open_once(&mut self.ring, &self.dir, RING_FILE)?, at))
        } else {
            Ok((open_once(&mut self.log, &self.dir, LOG_FILE)?, self.header.linear_end))
        }
    }

    fn count_lost(&mut self, stream: Stream, bytes: u64, errno: Errno) {
        self.error = Some(errno);
        self.header.lost_bytes += bytes;
        *self.stream_bytes(stream) += bytes;
        self.write_header();
    }

    /// Moves bytes into the file that is due. `Err(AGAIN)`: the pipe is empty.
    fn store(&mut self, pipe: BorrowedFd<'_>, room: u64) -> Result<u64, Errno> {
        let (file, mut at) = self.due()?;
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let moved = retry_on_intr(|| splice(pipe, None, file, Some(&mut at), room, SpliceFlags::NONBLOCK))?;
        Ok(moved as u64)
    }

    /// The disk is full or gone: takes bytes out of the pipe all the same, so that the command goes on, and counts them as
    /// lost; [`Spool::error`] says why.
    ///
    /// # Errors
    /// Those of `splice(2)` on the pipe itself.
    pub fn lose(&mut self, pipe: BorrowedFd<'_>, stream: Stream, errno: Errno) -> io::Result<Drained> {
        if self.sink.is_none() {
            let flags = OFlags::WRONLY | OFlags::CLOEXEC;
            self.sink = Some(rustix::fs::open("/dev/null", flags, Mode::empty())?);
        }
        let Some(sink) = &self.sink else { return Ok(Drained::Dry) };
        match retry_on_intr(|| splice(pipe, None, sink, None, LOST_AT_ONCE_BYTES, SpliceFlags::NONBLOCK)) {
            Ok(0) => Ok(Drained::Eof),
            Err(Errno::AGAIN) => Ok(Drained::Dry),
            Err(other) => Err(other.into()),
            Ok(count) => {
                self.count_lost(stream, count as u64, errno);
                Ok(Drained::Some(count as u64))
            }
        }
    }

    fn stream_bytes(&mut self, stream: Stream) -> &mut u64 {
        match stream {
            Stream::Stdout => &mut self.header.stdout_bytes,
            Stream::Stderr => &mut self.header.stderr_bytes,
        }
    }

    fn account(&mut self, stream: Stream, time_ms: u64, moved: u64) {
        fault::point("spool-stored");
        let entry = Entry { offset: self.header.total, time_ms, stream };
        let due =
            self.last.is_none_or(|last| last.stream != stream || time_ms >= last.time_ms + ENTRY_TIME_MS);
        if due {
            self.index(entry);
        }
        *self.stream_bytes(stream) += moved;
        self.header.total += moved;
        if self.header.sealed {
            let kept = self.header.ring_bytes - self.move_max();
            let by_size = self.header.total.saturating_sub(kept);
            let by_index = self.oldest_ring_entry.unwrap_or(0);
            self.header.ring_start =
                self.header.ring_start.max(by_size).max(by_index).max(self.header.linear_end);
        } else {
            self.header.linear_end += moved;
            self.header.ring_start = self.header.linear_end;
        }
        fault::point("spool-indexed");
        self.write_header();
        fault::point("spool-counted");
    }

    fn index(&mut self, entry: Entry) {
        let ring = self.header.sealed;
        let number = if ring { self.header.ring_entries } else { self.header.linear_entries };
        if ring && number >= self.header.ring_index_capacity {
            self.forget_entry(number + 1 - self.header.ring_index_capacity);
        }
        let position = self.header.entry_position(number, ring);
        let Ok(index) = open_once(&mut self.index, &self.dir, INDEX_FILE) else { return };
        if pwrite(index, &entry.encode(), position).is_ok() {
            if ring {
                self.header.ring_entries += 1;
            } else {
                self.header.linear_entries += 1;
            }
            self.last = Some(entry);
        }
    }

    /// The oldest ring entry is about to be overwritten: what lies before the next one loses its stream, so it is no
    /// longer kept. The header says so before the entry goes.
    fn forget_entry(&mut self, next: u64) {
        let Some(index) = &self.index else { return };
        let mut bytes = [0; Entry::BYTES];
        let position = self.header.entry_position(next, true);
        if rustix::io::pread(index, &mut bytes, position) == Ok(Entry::BYTES)
            && let Some(oldest) = Entry::decode(&bytes)
        {
            self.oldest_ring_entry = Some(oldest.offset);
            self.header.ring_start = self.header.ring_start.max(oldest.offset);
            self.write_header();
            fault::point("spool-forgot");
        }
    }

    pub(super) fn write_header(&mut self) {
        self.header.sequence += 1;
        let (bytes, position) = (self.header.encode(), self.header.position());
        if let Ok(index) = open_once(&mut self.index, &self.dir, INDEX_FILE) {
            let _counted_elsewhere = pwrite(index, &bytes, position);
        }
    }

    /// Moves everything into another directory and goes on there. Only before the linear half is sealed.
    ///
    /// # Errors
    /// Those of the copy; the spool then goes on where it was.
    pub fn move_to(&mut self, dir: Rc<OwnedFd>) -> io::Result<()> {
        let (mut log, mut index) = (None, None);
        if let Some(old) = &self.log {
            copy(old, open_once(&mut log, &dir, LOG_FILE)?)?;
        }
        if let Some(old) = &self.index {
            copy(old, open_once(&mut index, &dir, INDEX_FILE)?)?;
        }
        fault::point("spool-copied");
        self.header.moved = true;
        self.write_header();
        self.header.moved = false;
        (self.log, self.index, self.dir) = (log, index, dir);
        Ok(())
    }
}
