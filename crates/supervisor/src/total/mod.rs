//! The bound over all tasks of a state directory, kept by its supervisors without a daemon and without a lock.
//!
//! Every spool's header says how much its task claims. Who wants more claims it first and then adds up what all claim
//! or have: two at the same time see each other, so that both may be refused, but the total is never passed. Nobody
//! waits for anybody, and a claim of a dead supervisor ends with the task's last record. When the sum is too large the
//! output of finished tasks goes, oldest first; when that is not enough, the one who asked stays as it is and its ring
//! turns earlier. A part of the total is kept free for tasks that write little: they claim nothing.

mod tally;

use std::path::{Path, PathBuf};

use crate::clock;
use crate::spool::Bound;
use crate::task::remove_task_dir;

/// What a task may keep before it claims anything.
const FREE_BYTES_MAX: u64 = 128 << 10;
const FREE_BYTES_MIN: u64 = 16 << 10;
/// Somebody may just be about to read the output of a task that has ended.
const EVICT_AFTER_MS: u64 = 5000;

/// The bound, as one task sees it.
#[derive(Debug)]
pub(crate) struct Total {
    tasks: PathBuf,
    own: String,
    bytes: u64,
}

impl Total {
    /// The bound of `bytes` over the tasks in `tasks`, of which `own` is one.
    pub(crate) fn new(tasks: &Path, own: &str, bytes: u64) -> Self {
        Self { tasks: tasks.to_owned(), own: own.to_owned(), bytes }
    }

    /// What each task may keep without a claim.
    pub(crate) fn free_bytes(&self) -> u64 {
        (self.bytes / 4096).clamp(FREE_BYTES_MIN, FREE_BYTES_MAX)
    }
}

impl Bound for Total {
    fn fits(&mut self, claimed_bytes: u64) -> bool {
        make_room(&self.tasks, &self.own, limit(self.bytes), claimed_bytes).is_ok()
    }
}

/// What may be claimed; the rest is for tasks that write little.
fn limit(total_bytes: u64) -> u64 {
    total_bytes - total_bytes / 16
}

/// Removes finished tasks, oldest first, until all that are in `tasks` take no more than `total_bytes`, a part of which
/// stays free for tasks that write little. Returns the ids of those that went; running tasks stay whatever they take.
pub fn keep_within(tasks: &Path, total_bytes: u64) -> Vec<String> {
    match make_room(tasks, "", limit(total_bytes), 0) {
        Ok(gone) => gone,
        // Too much is running. What has ended goes all the same.
        Err(over_bytes) => make_room(tasks, "", limit(total_bytes) + over_bytes, 0).unwrap_or_default(),
    }
}

/// Makes room for `wanted` beside all tasks but `own`, and removes nothing where that is not enough: `Err` says by how
/// much.
fn make_room(tasks: &Path, own: &str, limit: u64, wanted: u64) -> Result<Vec<String>, u64> {
    let shares = tally::shares(tasks, own);
    let mut sum = wanted + shares.iter().map(|share| share.bytes).sum::<u64>();
    if sum <= limit {
        return Ok(Vec::new());
    }
    let before = clock::unix_ms().saturating_sub(EVICT_AFTER_MS);
    let mut finished: Vec<_> = shares
        .into_iter()
        .filter_map(|share| Some((tally::ended_unix_ms(tasks, &share.id)?, share)))
        .filter(|(ended, _)| *ended <= before)
        .collect();
    let stays = sum - finished.iter().map(|(_, share)| share.bytes).sum::<u64>();
    if stays > limit {
        return Err(stays - limit);
    }
    finished.sort_by_key(|(ended, _)| *ended);
    // Some more than needed, so that the next one does not have to look so closely.
    let aim = limit - limit / 8;
    let mut gone = Vec::new();
    for (_, share) in finished {
        if sum <= aim {
            break;
        }
        if remove_task_dir(tasks, &share.id) {
            sum -= share.bytes;
            gone.push(share.id);
        }
    }
    if sum <= limit { Ok(gone) } else { Err(sum - limit) }
}

#[cfg(test)]
mod tests;
