//! What both keepers' deaths left: found by leaf, namespace and tag, ended, and recorded as lost.
//!
//! A task that was started inside another one has the outer task's tag (a hard limit cannot be raised again), so there
//! the marker must agree too. The marker alone never ends anybody: a stranger may have copied it.

use std::io;
use std::path::Path;
use std::time::Duration;

use proctree::{Liveness, MarkerRead, PidFd, ProcId, liveness};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::Signal;
use supervisor::wire::Proof;
use supervisor::{Leaf, Origin, Record, finish_as_lost};

use crate::clock::Deadline;
use crate::registry::{Standing, is_alive, read_record, standing};

/// How long the dying are waited for.
const GONE_WITHIN: Duration = Duration::from_secs(3);

/// What is known after a recovery.
#[derive(Debug)]
pub(crate) struct Swept {
    /// Who still lives.
    pub(crate) left: Vec<i32>,
    /// By what nobody else does.
    pub(crate) proof: Proof,
}

/// Ends what the dead keepers of a task left, then writes the last record for them.
pub(crate) fn recover(dir: &Path, record: &Record, here: Option<&Origin>) -> io::Result<Record> {
    // RACE(final-after-look): the supervisor may have written its last record between our two looks; read it again.
    let record = read_record(dir).unwrap_or_else(|_| record.clone());
    let mut proof = Proof::BestEffort;
    if matches!(standing(&record, here), Standing::Orphaned) {
        let swept = sweep(&record);
        if !swept.left.is_empty() {
            // Not lost while something of it lives: the next look tries again.
            return Err(io::Error::other(format!("{:?} cannot be ended", swept.left)));
        }
        proof = swept.proof;
    } else if record.is_final() {
        return Ok(record);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let why = if here.is_some_and(|here| here.boot != record.origin.boot) {
        "the machine was restarted"
    } else {
        "its guard and supervisor were killed"
    };
    finish_as_lost(open(dir, flags, Mode::empty())?, record, why, Some(proof))
}

/// SIGKILL to everything of the task that can be found, until nothing is. The caller knows that no keeper does it.
pub(crate) fn sweep(record: &Record) -> Swept {
    let until = Deadline::after(GONE_WITHIN);
    let leaf = record.cgroup.as_ref().and_then(|path| Leaf::open(path.as_path()));
    if let Some(leaf) = &leaf {
        leaf.kill();
    }
    let reaper = record.reaper.map(ProcId::from);
    if let Some(reaper) = reaper {
        let _gone = proctree::signal_checked(reaper, Signal::KILL);
        wait_for(&[reaper], until);
    }
    let left = kill_tagged(record, until);
    let proof = if let Some(leaf) = leaf {
        let empty = !leaf.is_populated();
        leaf.remove();
        if empty { Proof::CgroupEmpty } else { Proof::BestEffort }
    } else if reaper.is_some_and(|reaper| liveness(reaper) == Liveness::Gone) {
        Proof::NamespaceGone
    } else {
        Proof::BestEffort
    };
    Swept { left, proof }
}

/// Kills every process that carries the task's tag and began no earlier than the task, until a look finds none.
fn kill_tagged(record: &Record, until: Deadline) -> Vec<i32> {
    loop {
        let found = tagged(record);
        for id in &found {
            let _gone = proctree::signal_checked(*id, Signal::KILL);
        }
        if found.is_empty() || !wait_for(&found, until) {
            return found.into_iter().filter(|id| is_alive(*id)).map(|id| id.pid).collect();
        }
    }
}

/// Who carries the task's tag and began no earlier than the task.
pub(crate) fn tagged(record: &Record) -> Vec<ProcId> {
    let marker = format!("{}:{}", record.id, record.token);
    let is_marked = |pid: i32| matches!(proctree::environ_value(pid, "KENNEL_TASK"), MarkerRead::Value(value) if value == marker.as_bytes());
    let Some(tag) = record.tag.or(record.outer_tag) else { return Vec::new() };
    let mut pids = Vec::new();
    let _what_was_read_counts = proctree::all_pids(&mut pids);
    pids.into_iter()
        .filter(|pid| proctree::rttime_hard_limit(*pid) == Some(tag))
        .filter(|pid| record.tag.is_some() || is_marked(*pid))
        .filter_map(proctree::proc_id)
        .filter(|id| id.start_ticks >= record.supervisor.start_ticks && is_alive(*id))
        .collect()
}

/// Waits until all of them are dead; false when the time is over.
fn wait_for(ids: &[ProcId], until: Deadline) -> bool {
    ids.iter().all(|id| {
        let Ok(Some(handle)) = PidFd::open_checked(*id) else { return true };
        let timeout = Timespec::try_from(until.left()).unwrap_or_default();
        let mut polled = [PollFd::new(&handle, PollFlags::IN)];
        let _told_below = poll(&mut polled, Some(&timeout));
        handle.is_dead()
    })
}
