//! File names, header and index entries: the on-disk format, pure.

/// Linear half, readable with any tool.
pub const LOG_FILE: &str = "output.log";
/// Ring of the newest part.
pub(crate) const RING_FILE: &str = "output.ring";
/// Header and index.
pub(crate) const INDEX_FILE: &str = "output.idx";

/// What a task's directory takes besides its output: the record, and slack of the last blocks.
pub(crate) const FLAT_BYTES: u64 = 16 << 10;

/// Entries are at least so far apart in time while one stream goes on.
pub(crate) const ENTRY_TIME_MS: u64 = 100;
/// Bytes of one encoded header.
pub(crate) const SLOT_BYTES: usize = 128;
/// Two headers, written in turn: when one is torn by a crash the one before it is whole. The index entries follow.
pub(crate) const HEADER_BYTES: usize = 2 * SLOT_BYTES;
/// Most entries in one part of the index.
pub(crate) const INDEX_CAPACITY_MAX: u64 = 1 << 17;
const MAGIC: u64 = u64::from_le_bytes(*b"KNLSPL02");
const FIELDS: usize = SLOT_BYTES / 8 - 1;

/// A stream of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

/// State of the spool as of the last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// Bytes of the linear half so far, or for good once `sealed`.
    pub linear_end: u64,
    /// The linear half is full; a notice line stands behind it in the file.
    pub sealed: bool,
    /// Size of the ring.
    pub ring_bytes: u64,
    /// First offset that the ring still holds (at least `linear_end`).
    pub ring_start: u64,
    /// Bytes drained since the task began.
    pub total: u64,
    /// Bytes of stdout.
    pub stdout_bytes: u64,
    /// Bytes of stderr.
    pub stderr_bytes: u64,
    /// Bytes that could not be stored; they have no offset.
    pub lost_bytes: u64,
    /// Entries in the linear part of the index.
    pub linear_entries: u64,
    /// Entries ever put into the ring part of the index.
    pub ring_entries: u64,
    /// Entries for which the linear part of the index has room; the ring part lies behind it.
    pub index_capacity: u64,
    /// Entries that the ring part of the index keeps, once the linear half is sealed.
    pub ring_index_capacity: u64,
    /// Bytes of disk that the task may come to use, while it runs: its share of the total over all tasks.
    pub claimed_bytes: u64,
    /// The spool has moved to another directory: look the task up again.
    pub moved: bool,
    /// Number of the write.
    pub(crate) sequence: u64,
}

impl Header {
    /// Bytes that are no longer kept.
    pub fn dropped_bytes(&self) -> u64 {
        self.ring_start.saturating_sub(self.linear_end) + self.lost_bytes
    }

    /// Whether `offset` can be read.
    pub fn holds(&self, offset: u64) -> bool {
        offset < self.linear_end || (self.ring_start..self.total).contains(&offset)
    }

    /// Bytes of the task's files at most, as far as the spool knows, records and small files of the shell included.
    pub fn disk_bytes(&self) -> u64 {
        let ring = self.total.saturating_sub(self.linear_end).min(self.ring_bytes);
        let entries = self.linear_entries + self.ring_entries.min(self.ring_index_capacity);
        self.linear_end + ring + entries * Entry::BYTES as u64 + FLAT_BYTES
    }

    /// Where in the index file this header goes.
    pub(crate) fn position(&self) -> u64 {
        (self.sequence % 2) * SLOT_BYTES as u64
    }

    pub(crate) fn encode(&self) -> [u8; SLOT_BYTES] {
        let fields: [u64; FIELDS] = [
            MAGIC,
            self.linear_end,
            u64::from(self.sealed) | u64::from(self.moved) << 1,
            self.ring_bytes,
            self.ring_start,
            self.total,
            self.stdout_bytes,
            self.stderr_bytes,
            self.lost_bytes,
            self.linear_entries,
            self.ring_entries,
            self.index_capacity,
            self.ring_index_capacity,
            self.claimed_bytes,
            self.sequence,
        ];
        let mut bytes = [0; SLOT_BYTES];
        for (slot, field) in bytes.chunks_exact_mut(8).zip(fields.into_iter().chain([checksum(&fields)])) {
            slot.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// The newest whole header at the beginning of an index file; `None` where both are torn or foreign.
    pub(crate) fn newest(bytes: &[u8]) -> Option<Self> {
        bytes.chunks(SLOT_BYTES).take(2).filter_map(Self::decode).max_by_key(|header| header.sequence)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words =
            bytes.chunks_exact(8).filter_map(|word| word.first_chunk::<8>()).map(|w| u64::from_le_bytes(*w));
        let mut fields = [0; FIELDS];
        for field in &mut fields {
            *field = words.next()?;
        }
        if words.next()? != checksum(&fields) {
            return None;
        }
        let [
            MAGIC,
            linear_end,
            flags,
            ring_bytes,
            ring_start,
            total,
            stdout_bytes,
            stderr_bytes,
            lost_bytes,
            linear_entries,
            ring_entries,
            index_capacity,
            ring_index_capacity,
            claimed_bytes,
            sequence,
        ] = fields
        else {
            return None;
        };
        let header = Self {
            linear_end,
            sealed: flags & 1 != 0,
            moved: flags & 2 != 0,
            ring_bytes,
            ring_start,
            total,
            stdout_bytes,
            stderr_bytes,
            lost_bytes,
            linear_entries,
            ring_entries,
            index_capacity,
            ring_index_capacity,
            claimed_bytes,
            sequence,
        };
        header.makes_sense().then_some(header)
    }

    /// What every header of ours fulfils: a reader computes with it, whoever wrote it.
    fn makes_sense(&self) -> bool {
        let ordered = self.linear_end <= self.ring_start && self.ring_start <= self.total;
        let kept = self.total.saturating_sub(self.ring_start) <= self.ring_bytes || !self.sealed;
        let linear = self.sealed || self.linear_end == self.total;
        let index = self.linear_entries <= self.index_capacity
            && self.index_capacity <= INDEX_CAPACITY_MAX
            && self.ring_index_capacity <= INDEX_CAPACITY_MAX;
        let sizes = [self.total, self.ring_bytes, self.lost_bytes, self.ring_entries];
        ordered && kept && linear && index && sizes.iter().all(|size| *size <= i64::MAX.unsigned_abs())
    }
}

/// Guards against a header read in the middle of its write: FNV-1a over the fields.
fn checksum(fields: &[u64; FIELDS]) -> u64 {
    fields
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, field| (hash ^ field).wrapping_mul(0x0000_0100_0000_01b3))
}

/// From `offset` on the bytes are of `stream` and came at `time_ms` or later, until the next entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// First byte.
    pub offset: u64,
    /// Milliseconds since the task began.
    pub time_ms: u64,
    /// Stream of the bytes.
    pub stream: Stream,
}

impl Entry {
    pub(crate) const BYTES: usize = 16;

    pub(crate) fn encode(self) -> [u8; Self::BYTES] {
        let word = (self.time_ms << 8) | u64::from(self.stream == Stream::Stderr);
        let mut bytes = [0; Self::BYTES];
        for (slot, value) in bytes.chunks_exact_mut(8).zip([self.offset, word]) {
            slot.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (offset, word) = (bytes.first_chunk::<8>()?, bytes.get(8..)?.first_chunk::<8>()?);
        let word = u64::from_le_bytes(*word);
        let stream = if word & 1 == 0 { Stream::Stdout } else { Stream::Stderr };
        Some(Self { offset: u64::from_le_bytes(*offset), time_ms: word >> 8, stream })
    }
}

impl Header {
    /// Byte position of an entry in the index file. Linear entries come first, the ring of entries behind them.
    pub(crate) fn entry_position(&self, number: u64, ring: bool) -> u64 {
        let slot = if ring { self.index_capacity + number % self.ring_index_capacity.max(1) } else { number };
        HEADER_BYTES as u64 + slot * Entry::BYTES as u64
    }

    /// Number of the oldest entry of the ring that still is there.
    pub(crate) fn oldest_ring_entry(&self) -> u64 {
        self.ring_entries.saturating_sub(self.ring_index_capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(sequence: u64) -> Header {
        let entries = Header { linear_entries: 1, ring_entries: 3, index_capacity: 64, ..Header::default() };
        let ends = Header { linear_end: 5, ring_start: 20, total: 99, ring_bytes: 100, ..entries };
        Header { sealed: true, ring_index_capacity: 64, claimed_bytes: 4096, sequence, ..ends }
    }

    #[test]
    fn headers_round_trip_and_the_newest_whole_one_counts() {
        let mut bytes = [header(6).encode(), header(7).encode()].concat();
        assert_eq!(Header::newest(&bytes), Some(header(7)));
        for torn in SLOT_BYTES..HEADER_BYTES {
            let whole = bytes[torn];
            bytes[torn] ^= 1;
            assert_eq!(Header::newest(&bytes), Some(header(6)), "{torn}");
            bytes[torn] = whole;
        }
        assert_eq!(Header::newest(&bytes[..HEADER_BYTES - 1]), Some(header(6)));
        assert_eq!(Header::newest(&bytes[..SLOT_BYTES - 1]), None);
    }

    #[test]
    fn a_header_that_makes_no_sense_is_refused() {
        let bad = [
            Header { ring_start: 4, ..header(1) },
            Header { total: 1 << 40, ..header(1) },
            Header { linear_entries: 65, ..header(1) },
            Header { ring_index_capacity: 1 << 40, ..header(1) },
        ];
        for header in bad {
            assert_eq!(Header::newest(&header.encode()), None, "{header:?}");
        }
    }

    #[test]
    fn entries_round_trip() {
        let entry = Entry { offset: 1 << 40, time_ms: 123_456_789, stream: Stream::Stderr };
        assert_eq!(Entry::decode(&entry.encode()), Some(entry));
        assert_eq!(Entry::decode(&[0; 3]), None);
    }
}
