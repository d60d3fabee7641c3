//! What a killed keeper, or a crash of the machine, left of a spool, brought into a state that every reader understands.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fstat, openat};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};

use super::layout::{Entry, HEADER_BYTES, Header, INDEX_CAPACITY_MAX, INDEX_FILE, LOG_FILE, Stream};

/// Takes over the spool of a task whose keepers are dead, and returns its state. Bytes at the end of `output.log` that the
/// header does not count yet are counted now; what is missing there is lost; a header of which both copies are torn is
/// made anew from the log and its index. Doing it twice changes nothing more.
///
/// # Errors
/// Those of `openat(2)`, `pread(2)` and `pwrite(2)`.
pub fn repair(dir: impl AsFd) -> io::Result<Header> {
    let Some(log) = open(&dir, LOG_FILE, OFlags::RDONLY)? else { return Ok(Header::default()) };
    let log_bytes = u64::try_from(fstat(&log)?.st_size).unwrap_or(0);
    let Some(index) = open(&dir, INDEX_FILE, OFlags::RDWR | OFlags::CREATE)? else {
        return Ok(Header::default());
    };
    let mut bytes = [0; HEADER_BYTES];
    let filled = retry_on_intr(|| pread(&index, &mut bytes, 0))?;
    let mut header = match Header::newest(bytes.get(..filled).unwrap_or_default()) {
        Some(header) => header,
        None => rebuilt(&index, log_bytes)?,
    };
    if !header.sealed {
        adopt_tail(&index, &mut header, log_bytes)?;
    }
    header.claimed_bytes = 0;
    for _slot in 0..2 {
        header.sequence += 1;
        retry_on_intr(|| pwrite(&index, &header.encode(), header.position()))?;
    }
    Ok(header)
}

fn open(dir: &impl AsFd, name: &str, flags: OFlags) -> io::Result<Option<OwnedFd>> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat(dir, name, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(Some(file)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// The state of a linear half of which only the entries are known: as many as there are in a row.
fn rebuilt(index: &OwnedFd, log_bytes: u64) -> io::Result<Header> {
    let mut header = Header { index_capacity: INDEX_CAPACITY_MAX, ..Header::default() };
    let mut last: Option<Entry> = None;
    while header.linear_entries < INDEX_CAPACITY_MAX {
        let Some(entry) = entry(index, &header)? else { break };
        let follows = last.map_or(entry.offset == 0, |last| entry.offset > last.offset);
        if !follows || entry.offset >= log_bytes {
            break;
        }
        count_up_to(&mut header, last, entry.offset);
        header.linear_entries += 1;
        last = Some(entry);
    }
    Ok(header)
}

/// What was stored and not counted. Its entry may be there already; else it is taken for more of the same stream.
fn adopt_tail(index: &OwnedFd, header: &mut Header, log_bytes: u64) -> io::Result<()> {
    if log_bytes < header.linear_end {
        header.lost_bytes += header.linear_end - log_bytes;
        (header.linear_end, header.ring_start, header.total) = (log_bytes, log_bytes, log_bytes);
        return Ok(());
    }
    if log_bytes == header.linear_end {
        return Ok(());
    }
    let due = entry(index, header)?.filter(|entry| entry.offset == header.linear_end);
    if header.linear_entries < header.index_capacity && (due.is_some() || header.linear_entries == 0) {
        let first = due.unwrap_or(Entry { offset: header.linear_end, time_ms: 0, stream: Stream::Stdout });
        let position = header.entry_position(header.linear_entries, false);
        retry_on_intr(|| pwrite(index, &first.encode(), position))?;
        header.linear_entries += 1;
    }
    let before = Header { linear_entries: header.linear_entries.saturating_sub(1), ..*header };
    let last = entry(index, &before)?;
    count_up_to(header, last, log_bytes);
    Ok(())
}

/// Counts the bytes from the end up to `offset` as those of `last`'s stream.
fn count_up_to(header: &mut Header, last: Option<Entry>, offset: u64) {
    let bytes = offset.saturating_sub(header.linear_end);
    match last.map_or(Stream::Stdout, |last| last.stream) {
        Stream::Stdout => header.stdout_bytes += bytes,
        Stream::Stderr => header.stderr_bytes += bytes,
    }
    header.linear_end += bytes;
    (header.ring_start, header.total) = (header.linear_end, header.linear_end);
}

/// The entry behind those that the header counts.
fn entry(index: &OwnedFd, header: &Header) -> io::Result<Option<Entry>> {
    let mut bytes = [0; Entry::BYTES];
    let position = header.entry_position(header.linear_entries, false);
    let filled = retry_on_intr(|| pread(index, &mut bytes, position))?;
    Ok(if filled == Entry::BYTES { Entry::decode(&bytes) } else { None })
}
