//! What the tasks of a directory take, by the headers of their spools: one small read a task.

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use rustix::io::{pread, retry_on_intr};
use serde::Deserialize;

use crate::record::{RECORD_FILE, RECORD_VERSION};
use crate::spool::{FLAT_BYTES, HEADER_BYTES, Header, INDEX_FILE, LOG_FILE, RING_FILE};

/// A task's share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) id: String,
    /// What it takes, or may come to take while it runs.
    pub(super) bytes: u64,
}

/// The shares of all tasks in `tasks` but that of `own`.
pub(super) fn shares(tasks: &Path, own: &str) -> Vec<Share> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(dir) = rustix::fs::open(tasks, flags, Mode::empty()) else { return Vec::new() };
    std::fs::read_dir(tasks)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|id| id != own)
        .map(|id| Share { bytes: bytes_of(&dir, &id), id })
        .collect()
}

fn bytes_of(tasks: &OwnedFd, id: &str) -> u64 {
    let path = format!("{id}/{INDEX_FILE}");
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(index) = openat(tasks, path, flags, Mode::empty()) else { return FLAT_BYTES };
    let mut bytes = [0; HEADER_BYTES];
    let filled = retry_on_intr(|| pread(&index, &mut bytes, 0)).unwrap_or(0);
    match Header::newest(bytes.get(..filled).unwrap_or_default()) {
        Some(header) => header.disk_bytes().max(header.claimed_bytes),
        // Damaged, or of another version.
        None => {
            FLAT_BYTES
                + [LOG_FILE, RING_FILE, INDEX_FILE].map(|name| blocks(tasks, id, name)).iter().sum::<u64>()
        }
    }
}

fn blocks(tasks: &OwnedFd, id: &str, name: &str) -> u64 {
    let found = statat(tasks, format!("{id}/{name}"), AtFlags::SYMLINK_NOFOLLOW);
    found.map_or(0, |stat| u64::try_from(stat.st_blocks).unwrap_or(0) * 512)
}

/// The part of a record that tells when a task's tree was found empty.
#[derive(Deserialize)]
struct Ending {
    version: u32,
    ended_unix_ms: Option<u64>,
}

/// When the task had ended for good; `None` while it runs, and for one that a newer version has made.
pub(super) fn ended_unix_ms(tasks: &Path, id: &str) -> Option<u64> {
    const RECORD_BYTES_MAX: u64 = 8 << 20;
    let file = std::fs::File::open(tasks.join(OsStr::new(id)).join(RECORD_FILE)).ok()?;
    let mut text = Vec::new();
    file.take(RECORD_BYTES_MAX).read_to_end(&mut text).ok()?;
    let ending: Ending = serde_json::from_slice(&text).ok()?;
    ending.ended_unix_ms.filter(|_| ending.version <= RECORD_VERSION)
}
