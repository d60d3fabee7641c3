//! File names, header and index entries: the on-disk format, pure.

/// Linear half, readable with any tool.
pub const LOG_FILE: &str = "output.log";
/// Ring of the newest part.
pub(crate) const RING_FILE: &str = "output.ring";
/// Header and index.
pub(crate) const INDEX_FILE: &str = "output.idx";

/// Entries are at least so far apart in time while one stream goes on.
pub(crate) const ENTRY_TIME_MS: u64 = 100;
/// Bytes of the encoded header; the index entries of the linear half follow.
pub(crate) const HEADER_BYTES: usize = 128;
const MAGIC: u64 = u64::from_le_bytes(*b"KNLSPL01");
const FIELDS: usize = 13;

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
    /// Capacity of each part of the index, in entries.
    pub index_capacity: u64,
    /// The spool has moved to another directory: look the task up again.
    pub moved: bool,
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

    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
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
            0,
        ];
        let mut bytes = [0; HEADER_BYTES];
        for (slot, field) in bytes.chunks_exact_mut(8).zip(fields.into_iter().chain([checksum(&fields)])) {
            slot.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// `None` for a torn or foreign header.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let mut words =
            bytes.chunks_exact(8).filter_map(|word| word.first_chunk::<8>()).map(|w| u64::from_le_bytes(*w));
        let mut fields = [0; FIELDS];
        for field in &mut fields {
            *field = words.next()?;
        }
        if fields[0] != MAGIC || words.next()? != checksum(&fields) {
            return None;
        }
        let [_, linear_end, flags, ring_bytes, ring_start, total, stdout_bytes, stderr_bytes, lost_bytes, ..] =
            fields;
        Some(Self {
            linear_end,
            sealed: flags & 1 != 0,
            moved: flags & 2 != 0,
            ring_bytes,
            ring_start,
            total,
            stdout_bytes,
            stderr_bytes,
            lost_bytes,
            linear_entries: fields[9],
            ring_entries: fields[10],
            index_capacity: fields[11],
        })
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

/// Byte position of an entry in the index file. Linear entries come first, the ring of entries behind them.
pub(crate) fn entry_position(index: u64, ring: bool, capacity: u64) -> u64 {
    let slot = if ring { capacity + index % capacity.max(1) } else { index };
    HEADER_BYTES as u64 + slot * Entry::BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_round_trips_and_a_torn_one_is_refused() {
        let header = Header { linear_end: 5, sealed: true, total: 99, ring_entries: 3, ..Header::default() };
        let mut bytes = header.encode();
        assert_eq!(Header::decode(&bytes), Some(header));
        bytes[41] ^= 1;
        assert_eq!(Header::decode(&bytes), None);
    }

    #[test]
    fn entries_round_trip() {
        let entry = Entry { offset: 1 << 40, time_ms: 123_456_789, stream: Stream::Stderr };
        assert_eq!(Entry::decode(&entry.encode()), Some(entry));
        assert_eq!(Entry::decode(&[0; 3]), None);
    }
}
