//! Tasks side by side in one directory, through real spools.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;

use proptest::prelude::*;
use rustix::fs::{Mode, OFlags, open};
use rustix::pipe::{PipeFlags, pipe_with};

use super::{EVICT_AFTER_MS, Total, keep_within};
use crate::clock;
use crate::spool::{Drained, Spool, Stream};

const MIB: u64 = 1 << 20;

struct Running {
    spool: Spool,
    pipe: (OwnedFd, OwnedFd),
}

impl Running {
    fn start(tasks: &Path, id: &str, cap: u64, total: u64) -> Self {
        std::fs::create_dir(tasks.join(id)).unwrap();
        record(tasks, id, "null");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = open(tasks.join(id), flags, Mode::empty()).unwrap();
        let bound = Total::new(tasks, id, total);
        let spool = Spool::new(Rc::new(dir), id, cap).bounded(bound.free_bytes(), Box::new(bound));
        Self { spool, pipe: pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap() }
    }

    fn write(&mut self, bytes: u64) {
        let block = [b'x'; 4096];
        for _ in 0..bytes / 4096 {
            rustix::io::write(&self.pipe.1, &block).unwrap();
            while let Drained::Some(_) =
                self.spool.drain(self.pipe.0.as_fd(), Stream::Stdout, 0, u64::MAX).unwrap()
            {}
        }
    }

    fn kept(&self) -> u64 {
        let header = self.spool.header();
        header.total - header.dropped_bytes()
    }
}

fn record(tasks: &Path, id: &str, ended: &str) {
    let text = format!("{{\"version\":1,\"id\":\"{id}\",\"ended_unix_ms\":{ended}}}");
    std::fs::write(tasks.join(id).join("record.json"), text).unwrap();
}

/// Ended so long ago.
fn finish(tasks: &Path, id: &str, mut task: Running, ago_ms: u64) {
    task.spool.give_back();
    record(tasks, id, &(clock::unix_ms() - ago_ms).to_string());
}

fn disk_bytes(tasks: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files =
        std::fs::read_dir(tasks).unwrap().flat_map(|task| std::fs::read_dir(task.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().metadata().unwrap().blocks() * 512).sum()
}

#[test]
fn what_has_ended_goes_oldest_first_before_a_running_task_is_limited() {
    let dir = tempfile::tempdir().unwrap();
    for (number, id) in ["old", "older", "new"].into_iter().enumerate() {
        let mut task = Running::start(dir.path(), id, 4 * MIB, 16 * MIB);
        task.write(4 * MIB);
        let ago = [20_000, 30_000, 10_000][number];
        finish(dir.path(), id, task, ago);
    }
    let mut running = Running::start(dir.path(), "running", 4 * MIB, 16 * MIB);
    running.write(4 * MIB);
    assert!(running.kept() > 3 * MIB && running.spool.limited_to().is_none());
    let there = |id: &str| dir.path().join(id).exists();
    assert!(!there("older") && there("new"), "old: {}", there("old"));
}

#[test]
fn what_has_ended_just_now_stays_for_who_is_about_to_read_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut task = Running::start(dir.path(), "a", 4 * MIB, 6 * MIB);
    task.write(4 * MIB);
    finish(dir.path(), "a", task, 0);
    let mut next = Running::start(dir.path(), "b", 4 * MIB, 6 * MIB);
    next.write(4 * MIB);
    assert!(dir.path().join("a").exists());
    assert!(next.spool.limited_to().is_some_and(|bytes| bytes < 2 * MIB));
    assert!(next.kept() > 0 && next.spool.header().dropped_bytes() > 0);
    record(dir.path(), "a", &(clock::unix_ms() - EVICT_AFTER_MS).to_string());
    assert_eq!(keep_within(dir.path(), MIB), ["a"]);
}

#[test]
fn a_killed_supervisors_claim_counts_until_its_task_is_recorded_as_ended() {
    let dir = tempfile::tempdir().unwrap();
    let mut killed = Running::start(dir.path(), "killed", 64 * MIB, 16 * MIB);
    killed.write(3 * MIB);
    let claimed = killed.spool.header().claimed_bytes;
    drop(killed);
    assert!(claimed > 6 * MIB);
    let mut next = Running::start(dir.path(), "next", 64 * MIB, 16 * MIB);
    next.write(16 * MIB);
    assert!(next.spool.header().claimed_bytes + claimed <= 16 * MIB);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is written in whatever order, the disk holds no more than the total, and every task keeps its free part.
    #[test]
    fn the_total_is_never_passed(
        steps in prop::collection::vec((0usize..6, 1u64..600, any::<bool>()), 1..60), total_mib in 2u64..12,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let total = total_mib * MIB;
        let mut tasks: Vec<Option<Running>> = (0..6).map(|_| None).collect();
        let mut started = 0;
        for (which, kib, end) in steps {
            let id = format!("t{which}-{started}");
            let task = tasks[which].get_or_insert_with(|| {
                started += 1;
                Running::start(dir.path(), &id, 4 * MIB, total)
            });
            task.write(kib * 1024);
            let header = *task.spool.header();
            prop_assert!(header.total - header.dropped_bytes() >= header.total.min(6 << 10), "{header:?}");
            if end && let Some(task) = tasks[which].take() {
                let name = std::fs::read_dir(dir.path()).unwrap().flatten()
                    .map(|entry| entry.file_name().into_string().unwrap())
                    .filter(|name| name.starts_with(&format!("t{which}-"))).max_by_key(|name| name.split('-').nth(1).and_then(|n| n.parse::<u32>().ok()));
                finish(dir.path(), &name.unwrap(), task, EVICT_AFTER_MS);
            }
            let disk = disk_bytes(dir.path());
            prop_assert!(disk <= total, "{disk} of {total}");
        }
    }
}
