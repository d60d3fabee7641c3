//! All tasks of the registry, as they stand.

use std::collections::HashSet;
use std::path::PathBuf;

use supervisor::Origin;

use crate::outcome::{Status, TaskInfo};
use crate::ports::Listening;
use crate::registry::{self, Registry};
use crate::root::Kennel;

/// So many are worth a thread: each costs some reads of small files.
const PER_THREAD: usize = 256;

/// What is in the registry.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Tasks, oldest first.
    pub tasks: Vec<TaskInfo>,
    /// Ids of the others, each with the reason why its record cannot be read.
    pub unreadable: Vec<String>,
}

impl Kennel {
    /// As [`Kennel::tasks`], with the tasks whose record cannot be read and why. Of a task that lives its supervisor writes
    /// the record again.
    pub fn listing(&self) -> Listing {
        let here = registry::own_origin();
        let entries = self.registry().entries();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = cores.min(entries.len() / PER_THREAD + 1);
        let parts: Vec<Listing> = std::thread::scope(|scope| {
            let mut chunks = entries.chunks(entries.len().div_ceil(threads).max(1));
            let first = chunks.next().unwrap_or_default();
            let here = here.as_ref();
            let others: Vec<_> = chunks.map(|chunk| scope.spawn(move || part(chunk, here))).collect();
            let first = part(first, here);
            std::iter::once(first).chain(others.into_iter().map(joined)).collect()
        });
        // A task that moves from tmpfs to disk is in both for an instant.
        let mut seen = HashSet::new();
        let (mut tasks, mut unreadable) = (Vec::new(), Vec::new());
        for part in parts {
            tasks.extend(part.tasks.into_iter().filter(|task| seen.insert(task.id.clone())));
            unreadable.extend(part.unreadable);
        }
        unreadable.retain(|one: &String| one.split_once(": ").is_none_or(|(id, _)| !seen.contains(id)));
        tasks.sort_by(|a, b| a.started_at.cmp(&b.started_at).then_with(|| a.id.cmp(&b.id)));
        Listing { tasks, unreadable }
    }
}

/// What went wrong in a thread goes wrong here.
fn joined(part: std::thread::ScopedJoinHandle<'_, Listing>) -> Listing {
    part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn part(entries: &[(PathBuf, String)], here: Option<&Origin>) -> Listing {
    let (mut tasks, mut unreadable) = (Vec::new(), Vec::new());
    for (parent, id) in entries {
        let Some(found) = Registry::load(parent, id.clone()) else { continue };
        match &found.record {
            Ok(_) => tasks.extend(registry::describe(&found, here)),
            Err(why) => unreadable.push(format!("{id}: {why}")),
        }
    }
    add_ports(&mut tasks);
    Listing { tasks, unreadable }
}

/// One look at the socket tables for all running tasks.
fn add_ports(tasks: &mut [TaskInfo]) {
    let running = |task: &TaskInfo| task.status == Status::Running && task.origin.is_none();
    let members: Vec<Vec<i32>> = tasks
        .iter()
        .map(|task| if running(task) { registry::members_below(task.supervisor_pid) } else { Vec::new() })
        .collect();
    let listening = crate::ports::by_process(&members.concat());
    if listening.is_empty() {
        return;
    }
    for (task, pids) in tasks.iter_mut().zip(members) {
        let theirs = Listening::together(pids.iter().filter_map(|pid| listening.get(pid)));
        (task.ports, task.sockets) = (theirs.ports, theirs.sockets);
    }
}
