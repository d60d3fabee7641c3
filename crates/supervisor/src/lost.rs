//! Records of tasks whose supervisor died without a last word.

use std::os::fd::AsFd;
use std::path::PathBuf;

use confine::cgroup::Leaf;
use rustix::fs::{Mode, OFlags, open};

use crate::clock;
use crate::end::End;
use crate::record::Record;
use crate::spool;
use crate::wire::Proof;

/// Marks the unfinished task of this supervisor as lost.
pub(crate) fn mark(task_dirs: &[PathBuf], supervisor_pid: i32, why: &str) {
    for directory in task_dirs {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let Ok(dir) = open(entry.path(), flags, Mode::empty()) else { continue };
            let Ok(record) = Record::read(&dir) else { continue };
            if record.supervisor.pid == supervisor_pid && !record.is_final() {
                if let Some(leaf) = record.cgroup.as_ref().and_then(|path| Leaf::open(path.as_path())) {
                    // What left the tree by changing its user, or by a group of its own below ours.
                    leaf.kill();
                    leaf.remove();
                }
                crate::log::note(directory, &record.session_id, &format!("{}: {why}", record.id));
                let _best_effort = finish_as_lost(&dir, record, why, Some(Proof::Echild));
            }
        }
    }
}

/// Writes the last record of a task on behalf of its dead keepers, and repairs its spool. An end that was seen stays the
/// end.
///
/// # Errors
/// Those of [`Record::write`].
pub fn finish_as_lost(
    dir: impl AsFd,
    mut record: Record,
    why: &str,
    proof: Option<Proof>,
) -> std::io::Result<Record> {
    let header = spool::repair(&dir).unwrap_or_default();
    record.stdout_bytes = header.stdout_bytes;
    record.stderr_bytes = header.stderr_bytes;
    record.dropped_bytes = header.dropped_bytes();
    if record.end.is_none() {
        record.end = Some(End::Lost { why: why.to_owned() });
        record.exit_code = Some(-1);
    }
    record.ended_unix_ms = Some(clock::unix_ms());
    record.proof = proof;
    record.write(&dir)?;
    Ok(record)
}
