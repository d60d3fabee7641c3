//! The tree below a process, read at the cost of the tree and not of the machine.

use std::collections::HashSet;
use std::io;

use crate::sys;

/// A process found below a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Member {
    /// The process.
    pub pid: i32,
    /// The process whose children file named it.
    pub parent: i32,
    /// 1 for a child of the root.
    pub depth: u32,
}

/// The children of `pid`, of all its threads, replacing what `into` held (its capacity is kept).
///
/// Zombies that nobody has reaped are children. A process that ends while it is read has the children seen so far:
/// they move to its nearest living subreaper. While siblings exit an entry can be skipped, so a caller that needs
/// all of them repeats. Where the kernel lacks `CONFIG_PROC_CHILDREN` the whole process table is read instead.
///
/// # Errors
/// `PermissionDenied` when the process exists but `/proc` hides it; otherwise what opening or reading `/proc` said.
/// No such process is not an error: it has no children. `Unsupported` on Windows.
pub fn children_of(pid: i32, into: &mut Vec<i32>) -> io::Result<()> {
    into.clear();
    append_children(pid, into, |child| child, |&child| child)
}

/// The children of the calling process, which must be single-threaded: one file instead of a directory of them.
/// Replaces what `into` held.
///
/// # Errors
/// As [`children_of`].
pub fn children_of_self_single_threaded(into: &mut Vec<i32>) -> io::Result<()> {
    into.clear();
    sys::for_each_child_of_thread(&mut |child| into.push(child))
}

/// All descendants of `root`, parents before their children, replacing what `into` held. The root is not in it.
///
/// One pass: what forks or is reparented meanwhile can be missed, and a process that moves can be listed twice
/// under two parents. `into` is the queue of the walk too, so nothing else is allocated.
///
/// # Errors
/// As [`children_of`] for the root. A descendant whose children may not be read is listed without them.
pub fn descendants(root: i32, into: &mut Vec<Member>) -> io::Result<()> {
    into.clear();
    append_members(root, 1, into)?;
    let mut next = 0;
    while let Some(&Member { pid, depth, .. }) = into.get(next) {
        next += 1;
        // Only a change of the tree during the walk can list a process again; such changes must not feed it forever.
        if into.len() > sys::PIDS_MAX {
            break;
        }
        match append_members(pid, depth + 1, into) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Whether a walk came to an end of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Walked {
    /// The last pass brought nobody new.
    Settled,
    /// The tree grew in every pass that was allowed.
    StillGrowing,
}

/// All descendants of `root`, in passes until one brings nobody new, replacing what `into` held.
///
/// Closes the gaps of one pass ([`descendants`]): an entry that was skipped because a sibling exited, a child forked
/// behind the walk. Who was seen in an earlier pass and has gone since stays listed; callers check identities anyway.
/// An orphan that left for a subreaper outside the tree is not found: only its reaper can tell.
///
/// # Errors
/// As [`descendants`].
pub fn descendants_settled(root: i32, into: &mut Vec<Member>) -> io::Result<Walked> {
    const PASSES_MAX: usize = 16;
    descendants(root, into)?;
    let mut seen: HashSet<i32> = into.iter().map(|member| member.pid).collect();
    let mut pass = Vec::new();
    for _ in 0..PASSES_MAX {
        descendants(root, &mut pass)?;
        let before = into.len();
        into.extend(pass.iter().filter(|member| seen.insert(member.pid)));
        if into.len() == before {
            return Ok(Walked::Settled);
        }
    }
    Ok(Walked::StillGrowing)
}

/// All process ids that `/proc` lists, replacing what `into` held. Costs the size of the machine.
///
/// # Errors
/// What opening or reading `/proc` said; `Unsupported` on Windows.
pub fn all_pids(into: &mut Vec<i32>) -> io::Result<()> {
    into.clear();
    sys::for_each_pid(&mut |pid| into.push(pid))
}

fn append_members(parent: i32, depth: u32, into: &mut Vec<Member>) -> io::Result<()> {
    append_children(parent, into, |pid| Member { pid, parent, depth }, |member| member.pid)
}

/// Appends the children of one process, each once: a child moves to a sibling thread when the thread that forked it
/// exits, and could then be named by two files.
fn append_children<T>(
    pid: i32,
    into: &mut Vec<T>,
    make: impl Fn(i32) -> T,
    pid_of: impl Fn(&T) -> i32,
) -> io::Result<()> {
    let first = into.len();
    let mut earlier_threads = first..first;
    sys::for_each_child(pid, &mut |event| match event {
        sys::ChildEvent::NextThread => earlier_threads.end = into.len(),
        sys::ChildEvent::Child(child) => {
            let seen = into.get(earlier_threads.clone()).unwrap_or_default();
            if !seen.iter().any(|entry| pid_of(entry) == child) {
                into.push(make(child));
            }
        }
    })
}
