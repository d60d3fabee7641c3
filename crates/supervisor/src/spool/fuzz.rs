//! What must hold for every index, log and ring that a reader may find, for proptest here and `cargo fuzz` in `fuzz/`.

use std::os::fd::OwnedFd;

use super::layout::{INDEX_FILE, LOG_FILE, RING_FILE, Stream};
use super::reader::Reader;
use super::repair::repair;

/// Names of the files in a task's directory that the bytes of a fuzzer go to.
pub const FILES: [&str; 3] = [INDEX_FILE, LOG_FILE, RING_FILE];

/// Reads the spool in a directory in every way, repairs it, and reads it again.
///
/// # Panics
/// When a read does not come to an end, steps back or gives more than was written, or a repair does not keep what it
/// says: defects of ours.
pub fn exercise(dir: &OwnedFd) {
    read_everything(dir);
    if let Ok(header) = repair(dir) {
        assert_eq!(
            repair(dir).ok().map(|again| again.total),
            Some(header.total),
            "a second repair changes nothing"
        );
        read_everything(dir);
    }
}

fn read_everything(dir: &OwnedFd) {
    /// A damaged length may promise more than anybody would read.
    const PAGES_MAX: usize = 64;
    let Ok(own) = rustix::io::fcntl_dupfd_cloexec(dir, 3) else { return };
    let mut reader = Reader::new(own);
    let Ok(header) = reader.header() else { return };
    let mut at = 0;
    for _page in 0..PAGES_MAX {
        let Ok(page) = reader.read(at, 4096) else { break };
        let bytes: usize = page.chunks.iter().map(|chunk| chunk.bytes.len()).sum();
        assert!(
            page.next >= at && page.next <= header.total.max(at),
            "from {at} to {} of {header:?}",
            page.next
        );
        assert_eq!(page.next - at, bytes as u64 + page.gap_bytes, "{header:?}");
        if page.next == at {
            assert!(at >= header.total, "stuck at {at} of {header:?}");
            break;
        }
        at = page.next;
    }
    for stream in [None, Some(Stream::Stderr)] {
        let tail = reader.tail_offset(3, stream);
        assert!(tail.is_ok_and(|offset| offset <= header.total), "{header:?}");
    }
    let _any_offset = reader.since_offset(1000);
}
