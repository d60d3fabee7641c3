//! What one process uses, each read once. Nothing here follows a link to a file, whose server may hang.

use std::io;

use crate::parse::usage::{parse_fdinfo, parse_rollup, parse_statm};
use crate::sys;

/// Memory of one process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Resident, everything that is shared with other processes counted in full.
    pub resident_bytes: u64,
    /// Resident and of no file or shared memory.
    pub private_bytes: u64,
}

/// `/proc/PID/statm`, which anybody may read. The kernel counts in batches: it may be off by some hundred KiB a
/// processor. `None` for what has gone.
///
/// # Platform
/// Linux.
pub fn memory(pid: i32) -> Option<Memory> {
    let statm = parse_statm(&text(pid, format_args!("statm"))?)?;
    let bytes = |pages: u64| pages.saturating_mul(sys::page_bytes());
    Some(Memory { resident_bytes: bytes(statm.resident_pages), private_bytes: bytes(statm.private_pages()) })
}

/// The proportional set size in bytes, exact: the sum over a tree that shares with nobody else is what it occupies.
/// Costs a walk over the page tables, and the right to inspect the process. `None` where either is missing.
///
/// # Platform
/// Linux 4.14.
pub fn proportional_bytes(pid: i32) -> Option<u64> {
    parse_rollup(&text(pid, format_args!("smaps_rollup"))?)
}

/// How many descriptors a process has open; 0 if it has gone.
///
/// # Errors
/// `PermissionDenied` without the right to inspect the process; `Unsupported` elsewhere than on Linux.
pub fn open_files(pid: i32) -> io::Result<u64> {
    let mut count = 0;
    sys::for_each_descriptor(pid, &mut |_| count += 1)?;
    Ok(count)
}

/// Whether a descriptor for writing stands at this offset: its writer was stopped there by `RLIMIT_FSIZE`, if that is
/// the limit. `pwrite(2)` and mappings move no offset and are not seen.
pub fn has_written_to(pid: i32, offset: u64) -> bool {
    let mut found = false;
    let _what_was_read_counts = sys::for_each_descriptor(pid, &mut |fd| {
        found |= text(pid, format_args!("fdinfo/{fd}"))
            .and_then(|text| parse_fdinfo(&text))
            .is_some_and(|open| open.writable && open.offset == offset);
    });
    found
}

fn text(pid: i32, file: std::fmt::Arguments<'_>) -> Option<Vec<u8>> {
    if pid <= 0 {
        return None;
    }
    let mut text = Vec::new();
    sys::for_each_chunk(pid, &file.to_string(), &mut |chunk| {
        text.extend_from_slice(chunk);
        true
    })
    .ok()??;
    Some(text)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_process_sees_its_own_use() {
        let own = sys::own_pid();
        let before = (memory(own).unwrap(), proportional_bytes(own).unwrap(), open_files(own).unwrap());
        let hog = vec![1_u8; 64 << 20];
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&hog[..4321]).unwrap();
        let after = (memory(own).unwrap(), proportional_bytes(own).unwrap(), open_files(own).unwrap());
        // Other tests of this process come and go.
        assert!(after.0.private_bytes > before.0.private_bytes + (56 << 20), "{before:?} {after:?}");
        assert!(after.0.resident_bytes >= after.0.private_bytes);
        assert!(after.1 > before.1 + (56 << 20), "{before:?} {after:?}");
        assert!(after.2 >= 4);
        assert!(has_written_to(own, 4321) && !has_written_to(own, 4320));
        assert_eq!((memory(0), proportional_bytes(-1)), (None, None));
    }
}
