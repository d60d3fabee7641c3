//! `record.json`: what a task is, who keeps it and how it ended, for everybody who was not there.
//!
//! Written whole to a new file and renamed over the old one, so that a reader sees one version or the other. Only the
//! task's keepers write it while one of them lives; afterwards whoever finds them dead.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};
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
    /// Those of `openat(2)`, `write(2)` and `renameat(2)`; the old record is then still whole.
    pub fn write(&self, dir: impl AsFd) -> io::Result<()> {
        let dir = dir.as_fd();
        if self.version > RECORD_VERSION {
            let text = format!("a record of version {} is not ours to write", self.version);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let bytes = serde_json::to_vec(self)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let written = openat(dir, RECORD_NEW, flags, Mode::RUSR | Mode::WUSR)
            .map_err(io::Error::from)
            .and_then(|file| write_all(&file, &bytes))
            .and_then(|()| renameat(dir, RECORD_NEW, dir, RECORD_FILE).map_err(io::Error::from));
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
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = openat(dir, RECORD_FILE, flags, Mode::empty())?;
        let bytes = read_all(&file)?;
        if bytes.is_empty() {
            // In the making, see `write_first`.
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

fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = rustix::io::retry_on_intr(|| rustix::io::write(file, bytes))?;
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(())
}

fn read_all(file: &OwnedFd) -> io::Result<Vec<u8>> {
    let size = u64::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(0);
    if size > RECORD_BYTES_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a record of {size} bytes is not ours"),
        ));
    }
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0) + 1];
    let mut filled = 0;
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match rustix::io::retry_on_intr(|| rustix::io::read(file, &mut *room))? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
