//! What keepers note of things that went wrong: one file a session, bounded, for people who look for a cause.
//!
//! Never a command, an environment or output: the files go with reports of defects.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::clock;

/// Directory of the files, beside that of the tasks.
pub const LOG_DIRECTORY: &str = "logs";
/// A file that has grown to this becomes the older half, in the place of the one before.
const LOG_BYTES_MAX: u64 = 64 << 10;

/// Appends one line to the session's file. What cannot be noted is not: a full disk must not end a task.
pub(crate) fn note(task_dir: &Path, session: &str, text: &str) {
    let Some(directory) = task_dir.parent().map(|root| root.join(LOG_DIRECTORY)) else { return };
    let write = || -> std::io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let path = directory.join(format!("{session}.log"));
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        if file.metadata()?.len() >= LOG_BYTES_MAX {
            std::fs::rename(&path, directory.join(format!("{session}.log.1")))?;
            file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path)?;
        }
        let line = text.replace('\n', " ");
        file.write_all(format!("{} {} {line}\n", clock::unix_ms(), std::process::id()).as_bytes())
    };
    let _nothing_can_be_done = write();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_bounded() {
        let root = tempfile::tempdir().unwrap();
        let tasks = root.path().join("tasks");
        for number in 0..3000 {
            note(&tasks, "s", &format!("{number} {}", "x".repeat(80)));
        }
        let size = |name: &str| std::fs::metadata(root.path().join(LOG_DIRECTORY).join(name)).unwrap().len();
        assert!(size("s.log") <= LOG_BYTES_MAX + 200 && size("s.log.1") <= LOG_BYTES_MAX + 200);
        let newest = std::fs::read_to_string(root.path().join(LOG_DIRECTORY).join("s.log")).unwrap();
        assert!(newest.lines().next_back().unwrap().contains(" 2999 "));
    }
}
