//! `record.json`: what a task is, who keeps it and how it ended, for everybody who was not there.
//!
//! Written whole to a new file and renamed over the old one, so that a reader sees one version or the other. Only the
//! task's keepers write it while one of them lives; afterwards whoever finds them dead.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    Advice, AtFlags, Mode, OFlags, RenameFlags, fadvise, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::bytes::ByteStr;
use crate::end::End;
use crate::wire::{Boundary, InputKind, Notice, Proof, Protection, SizeSince, Usage};

/// Version of the record format that is written.
pub const RECORD_VERSION: u32 = 1;
/// Its file name.
pub const RECORD_FILE: &str = "record.json";
const RECORD_NEW: &str = "record.json.new";
/// No record of ours is longer; a longer file is not one.
const RECORD_BYTES_MAX: u64 = 8 << 20;

/// A process by identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcRef {
    /// Process id.
    pub pid: i32,
    /// Start time, clock ticks since boot.
    pub start_ticks: u64,
}

impl From<proctree::ProcId> for ProcRef {
    fn from(id: proctree::ProcId) -> Self {
        Self { pid: id.pid, start_ticks: id.start_ticks }
    }
}

impl From<ProcRef> for proctree::ProcId {
    fn from(reference: ProcRef) -> Self {
        Self { pid: reference.pid, start_ticks: reference.start_ticks }
    }
}

/// Which machine, boot and PID namespace the pids of a record mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// `/etc/machine-id`.
    pub machine: String,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
    /// Inode of `/proc/self/ns/pid`.
    pub pid_namespace: u64,
}

impl From<proctree::HostId> for Origin {
    fn from(id: proctree::HostId) -> Self {
        Self { machine: id.machine, boot: id.boot, pid_namespace: id.pidns }
    }
}

/// The record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// See [`RECORD_VERSION`].
    pub version: u32,
    /// Task id.
    pub id: String,
    /// Session id.
    pub session_id: String,
    /// The command as people read it.
    pub command: String,
    /// The caller's description.
    pub description: Option<String>,
    /// Working directory at the start.
    pub cwd: ByteStr,
    /// What the pids below mean.
    pub origin: Origin,
    /// Supervisor.
    pub supervisor: ProcRef,
    /// Guard.
    pub guard: ProcRef,
    /// Leader, once it was made.
    pub leader: Option<ProcRef>,
    /// Owner, while the task is bound to one.
    pub owner: Option<ProcRef>,
    /// Secret half of the environment marker.
    pub token: String,
    /// Tag value.
    pub tag: Option<u64>,
    /// Where it has none of its own: that of the task inside which it was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outer_tag: Option<u64>,
    /// Somebody may come back to it: started in the background, promoted, or adopted.
    #[serde(default)]
    pub background: bool,
    /// Milliseconds since 1970.
    pub started_unix_ms: u64,
    /// When the tree was found empty.
    pub ended_unix_ms: Option<u64>,
    /// The leader's end.
    pub end: Option<End>,
    /// The leader's exit code.
    pub exit_code: Option<i32>,
    /// Statuses of the last pipeline.
    pub pipestatus: Option<Vec<i32>>,
    /// The shell's directory at its end.
    pub cwd_after: Option<ByteStr>,
    /// Milliseconds from start to the leader's end.
    pub duration_ms: Option<u64>,
    /// Boundary in force.
    pub boundary: Boundary,
    /// The task's cgroup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<ByteStr>,
    /// Init of the task's PID namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reaper: Option<ProcRef>,
    /// By what the tree is known to be empty.
    pub proof: Option<Proof>,
    /// Bytes written to stdout, as of the last record.
    pub stdout_bytes: u64,
    /// Bytes written to stderr.
    pub stderr_bytes: u64,
    /// Bytes not kept.
    pub dropped_bytes: u64,
    /// Resources.
    pub usage: Usage,
    /// Notices.
    pub notices: Vec<Notice>,
    /// Through what it can be given input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<InputKind>,
    /// Sizes of its terminal, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeSince>,
    /// What was asked for the command's protection, and what was in force.
    #[serde(default)]
    pub protections: Vec<Protection>,
}

impl Record {
    /// Whether the tree was empty when the record was written.
    pub fn is_final(&self) -> bool {
        self.ended_unix_ms.is_some()
    }

    /// Writes the first record of a new directory.
    ///
    /// A record within one page is written in place by one `write(2)`: the file's size changes after its bytes are
    /// there, so that a reader finds it empty, which [`Record::read`] calls not found, or whole.
    ///
    /// # Errors
    /// As [`Record::write`].
    pub fn write_first(&self, dir: impl AsFd) -> io::Result<()> {
        const PAGE_BYTES: usize = 4096;
        let bytes = serde_json::to_vec(self)?;
        if bytes.len() > PAGE_BYTES {
            return self.write(dir);
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(dir, RECORD_FILE, flags, Mode::RUSR | Mode::WUSR)?;
        write_all(&file, &bytes)
    }

    /// Replaces the record in a task's directory.
    ///
    /// # Errors
    /// Those of `openat(2)`, `write(2)` and `renameat(2)`; the old record is then still whole, except on a full disk.
    pub fn write(&self, dir: impl AsFd) -> io::Result<()> {
        let dir = dir.as_fd();
        let put = || Ok(renameat(dir, RECORD_NEW, dir, RECORD_FILE)?);
        let written = new_file(dir).and_then(|file| self.write_to(dir, &file, put));
        match written.as_ref().err().and_then(Errno::from_io_error) {
            Some(Errno::NOSPC | Errno::DQUOT) => write_in_place(dir, serde_json::to_vec(self)?).or(written),
            _ => written,
        }
    }

    /// The same into a file that [`new_file`] has made before, in a hurry: the old record, which takes time to remove,
    /// goes by [`Written::settle`], and the new one is sent to the disk by it. A machine that crashes in between has
    /// the old one under the other's name, where [`Record::read`] finds it.
    pub(crate) fn write_hurried(&self, dir: BorrowedFd<'_>, file: OwnedFd) -> io::Result<Written> {
        let mut old = Old::None;
        self.write_to(dir, &file, || {
            match renameat_with(dir, RECORD_NEW, dir, RECORD_FILE, RenameFlags::EXCHANGE) {
                Ok(()) => old = Old::UnderTheOthersName,
                // No such record, or not on this file system.
                Err(_) => renameat(dir, RECORD_NEW, dir, RECORD_FILE)?,
            }
            Ok(())
        })?;
        Ok(Written { file, old })
    }

    fn write_to(
        &self,
        dir: BorrowedFd<'_>,
        file: &OwnedFd,
        put: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        if self.version > RECORD_VERSION {
            let text = format!("a record of version {} is not ours to write", self.version);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let written = serde_json::to_vec(self)
            .map_err(io::Error::from)
            .and_then(|bytes| write_all(file, &bytes))
            .and_then(|()| put());
        if written.is_err() {
            let _best_effort = unlinkat(dir, RECORD_NEW, AtFlags::empty());
        }
        written
    }

    /// Reads the record of a task's directory.
    ///
    /// # Errors
    /// Those of `openat(2)` and `read(2)`; `InvalidData` for what is not a record. Of one that a newer version
    /// has written, what is understood.
    pub fn read(dir: impl AsFd) -> io::Result<Self> {
        let dir = dir.as_fd();
        let bytes = match read_file(dir, RECORD_FILE)? {
            // In the making, see `write_first`, or the machine crashed, see `write_hurried`.
            bytes if bytes.is_empty() => read_file(dir, RECORD_NEW)?,
            bytes => bytes,
        };
        if bytes.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidData, text);
        match serde_json::from_slice::<Self>(&bytes) {
            Ok(record) if record.version <= RECORD_VERSION => Ok(record),
            read => {
                let newer = crate::newer::essentials(&bytes).filter(|record| record.version > RECORD_VERSION);
                newer.ok_or_else(|| {
                    invalid(match read {
                        Err(error) => format!("malformed record: {error}"),
                        Ok(record) => format!("malformed record of version {}", record.version),
                    })
                })
            }
        }
    }
}

/// A record that was written in a hurry.
#[derive(Debug)]
#[must_use = "the old record stays until it is settled"]
pub(crate) struct Written {
    file: OwnedFd,
    old: Old,
}

#[derive(Debug, PartialEq, Eq)]
enum Old {
    None,
    UnderTheOthersName,
}

impl Written {
    /// Has the record sent to the disk, without waiting, and removes the old one: in this order.
    pub(crate) fn settle(self, dir: BorrowedFd<'_>) {
        // Begins to write what is not written yet.
        let _in_its_own_time = fadvise(&self.file, 0, None, Advice::DontNeed);
        if self.old == Old::UnderTheOthersName {
            let _removed_with_the_task = unlinkat(dir, RECORD_NEW, AtFlags::empty());
        }
    }
}

/// The file that the next record of a directory is written to.
pub(crate) fn new_file(dir: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(openat(dir, RECORD_NEW, flags, Mode::RUSR | Mode::WUSR)?)
}

/// On a full disk: over the old record, in the blocks that it has. Blanks take the place of what it had more.
fn write_in_place(dir: BorrowedFd<'_>, mut bytes: Vec<u8>) -> io::Result<()> {
    const BLOCK_BYTES: usize = 4096;
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = openat(dir, RECORD_FILE, flags, Mode::empty())?;
    let size = usize::try_from(rustix::fs::fstat(&file)?.st_size).unwrap_or(0);
    if bytes.len() > size.next_multiple_of(BLOCK_BYTES) {
        return Err(Errno::NOSPC.into());
    }
    bytes.resize(bytes.len().max(size), b' ');
    write_all(&file, &bytes)
}

fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = rustix::io::retry_on_intr(|| rustix::io::write(file, bytes))?;
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(())
}

fn read_file(dir: BorrowedFd<'_>, name: &str) -> io::Result<Vec<u8>> {
    let file = openat(dir, name, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?;
    let size = u64::try_from(rustix::fs::fstat(&file)?.st_size).unwrap_or(0);
    if size > RECORD_BYTES_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a record of {size} bytes is not ours"),
        ));
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0) + 1];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut *room))? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn record(id: &str) -> Record {
        let text = format!(
            r#"{{"version": 9, "id": "{id}", "origin": {{"machine": "m", "boot": "b", "pid_namespace": 1}},
                "supervisor": {{"pid": 7, "start_ticks": 9}}, "guard": {{"pid": 6, "start_ticks": 8}}}}"#
        );
        Record { version: RECORD_VERSION, ..crate::newer::essentials(text.as_bytes()).unwrap() }
    }

    fn directory() -> (tempfile::TempDir, OwnedFd) {
        let place = tempfile::tempdir().unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(place.path(), flags, Mode::empty()).unwrap();
        (place, dir)
    }

    #[test]
    fn a_hurried_record_is_whole_at_once_and_leaves_nothing() {
        let (place, dir) = directory();
        record("first").write_first(&dir).unwrap();
        let written = record("last").write_hurried(dir.as_fd(), new_file(dir.as_fd()).unwrap()).unwrap();
        assert_eq!(Record::read(&dir).unwrap().id, "last");
        written.settle(dir.as_fd());
        assert_eq!(Record::read(&dir).unwrap().id, "last");
        let names: Vec<_> = fs::read_dir(place.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(names, [RECORD_FILE]);
    }

    #[test]
    fn a_record_that_a_crash_has_emptied_is_the_one_before() {
        // Symptom: the machine crashes as a task ends, and the task is in no list.
        let (place, dir) = directory();
        record("first").write_first(&dir).unwrap();
        let written = record("last").write_hurried(dir.as_fd(), new_file(dir.as_fd()).unwrap()).unwrap();
        fs::write(place.path().join(RECORD_FILE), b"").unwrap();
        assert_eq!(Record::read(&dir).unwrap().id, "first");
        written.settle(dir.as_fd());
        assert_eq!(Record::read(&dir).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
