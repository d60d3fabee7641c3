//! The boundary of one task: made before its leader, told in every result, and taken down with it.

use std::io;
use std::os::fd::OwnedFd;

use confine::cgroup::{self, Leaf};
use confine::pid_namespace;
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::bytes::ByteStr;
use crate::guard::socket_pair;
use crate::reaper;
use crate::record::{ProcRef, Record};
use crate::sys::{self, ExitSignal, Fork};
use crate::wire::{Boundary, BoundaryChoice, Launch, Notice, Proof};

/// Exit status of a trial that went well but for the fresh `/proc`; no errno is as large.
const WITHOUT_PROC: i32 = 254;

/// The kernel mechanism that holds this task, beside the subreaper, which always does.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    leaf: Option<Leaf>,
    reaper: Option<Reaper>,
}

/// The init of the task's PID namespace.
#[derive(Debug)]
struct Reaper {
    pid: i32,
    line: OwnedFd,
    /// It has said that others live on.
    answered: bool,
    fresh_proc: bool,
}

impl Bounds {
    /// Sets up the boundary that was asked for, and puts it into the record. One that cannot be had is a notice and
    /// the subreaper alone, or an error where it is required.
    pub(super) fn set_up(launch: &Launch, record: &mut Record) -> Result<Self, String> {
        let made = match launch.boundary {
            BoundaryChoice::Subreaper => Ok(Self::default()),
            BoundaryChoice::Auto => Ok(Self::best(&launch.id)),
            BoundaryChoice::Cgroup => Self::cgroup(&launch.id),
            BoundaryChoice::PidNamespace => Self::pid_namespace(),
        };
        let bounds = match made {
            Ok(bounds) => bounds,
            Err(why) if launch.boundary_required => return Err(format!("set up the boundary: {why}")),
            Err(why) => {
                record.notices.push(Notice::Weaker { name: "boundary".to_owned(), why });
                Self::default()
            }
        };
        if bounds.reaper.as_ref().is_some_and(|reaper| !reaper.fresh_proc) {
            let why = "parts of /proc are hidden here, so the task sees the processes of the outer namespace";
            record.notices.push(Notice::Weaker { name: "boundary_proc".to_owned(), why: why.to_owned() });
        }
        record.boundary = bounds.kind();
        record.cgroup = bounds.leaf.as_ref().map(|leaf| ByteStr::from(leaf.path()));
        record.reaper =
            bounds.reaper.as_ref().and_then(|reaper| proctree::proc_id(reaper.pid)).map(ProcRef::from);
        Ok(bounds)
    }

    /// A leaf where a group was handed to us, else none. A PID namespace changes what the command sees: never unasked.
    fn best(id: &str) -> Self {
        // Root's is never taken for one that was handed over: nothing has to be looked up.
        let group = if rustix::process::geteuid().is_root() { None } else { cgroup::own_group() };
        let leaf = group
            .filter(|group| cgroup::is_delegated(group))
            .and_then(|group| Leaf::make(&group, &leaf_name(id)).ok());
        Self { leaf, reaper: None }
    }

    fn cgroup(id: &str) -> Result<Self, String> {
        let group = cgroup::own_group().ok_or("there is no cgroup v2 hierarchy here")?;
        let leaf = Leaf::make(&group, &leaf_name(id))
            .map_err(|error| format!("make a cgroup below {}: {error}", group.display()))?;
        Ok(Self { leaf: Some(leaf), reaper: None })
    }

    fn pid_namespace() -> Result<Self, String> {
        let failed = |error: io::Error| format!("make a PID namespace: {error}");
        let fresh_proc = try_pid_namespace().map_err(failed)?;
        let (line, reapers) = socket_pair().map_err(failed)?;
        let entered = pid_namespace::enter_for_children();
        sys::forbid_inspection();
        entered.map_err(|errno| failed(errno.into()))?;
        match sys::fork(ExitSignal::Child).map_err(failed)? {
            Fork::Child => reaper::main(reapers),
            Fork::Parent { pid, .. } => {
                Ok(Self { leaf: None, reaper: Some(Reaper { pid, line, answered: false, fresh_proc }) })
            }
        }
    }

    /// The task's cgroup.
    pub(super) fn leaf(&self) -> Option<&Leaf> {
        self.leaf.as_ref()
    }

    fn kind(&self) -> Boundary {
        match (&self.reaper, &self.leaf) {
            (Some(_), _) => Boundary::PidNamespace,
            (None, Some(_)) => Boundary::Cgroup,
            (None, None) => Boundary::Subreaper,
        }
    }

    /// Forks the leader inside. A leaf that cannot be entered is given up: the caller tells.
    pub(super) fn fork(&mut self, launch: &Launch, record: &mut Record) -> io::Result<Fork> {
        let Some(leaf) = &self.leaf else { return sys::fork(ExitSignal::Child) };
        match sys::fork_into(ExitSignal::Child, Some(leaf.fd())) {
            Err(error) if !launch.boundary_required => {
                leaf.remove();
                self.leaf = None;
                record.boundary = Boundary::Subreaper;
                record.cgroup = None;
                let why = format!("start the command in its cgroup: {error}");
                record.notices.push(Notice::Weaker { name: "boundary".to_owned(), why });
                sys::fork(ExitSignal::Child)
            }
            other => other,
        }
    }

    /// Whether the leader gets a `/proc` of its own.
    pub(super) fn shows_own_processes(&self) -> bool {
        self.reaper.as_ref().is_some_and(|reaper| reaper.fresh_proc)
    }

    /// Our child that is no member.
    pub(super) fn reaper(&self) -> Option<i32> {
        self.reaper.as_ref().map(|reaper| reaper.pid)
    }

    /// What becomes readable when the reaper has answered.
    pub(super) fn line(&self) -> Option<&OwnedFd> {
        self.reaper.as_ref().map(|reaper| &reaper.line)
    }

    /// Tells the reaper that the leader was reaped, so that it may end when nobody is left.
    pub(super) fn leader_gone(&self) {
        if let Some(reaper) = &self.reaper {
            let _it_has_ended = rustix::io::write(&reaper.line, &[1]);
            // Somebody may have stopped it, and we wait for its answer.
            sys::signal_own_child(reaper.pid, libc::SIGCONT);
        }
    }

    /// The reaper has said that others live on, or has closed its line: then `waitpid` is about to say that all ended.
    pub(super) fn reaper_answered(&mut self) {
        if let Some(reaper) = &mut self.reaper {
            reaper.answered |= rustix::io::read(&reaper.line, &mut [0; 8]).is_ok_and(|count| count > 0);
        }
    }

    /// Whether it is known if anybody outlives the leader.
    pub(super) fn knows_survivors(&self) -> bool {
        self.reaper.as_ref().is_none_or(|reaper| reaper.answered)
    }

    /// What the boundary can do for a sweep. (A reaper is killed as the own child that it is, and takes all with it.)
    pub(super) fn kill(&self) {
        if let Some(leaf) = &self.leaf {
            leaf.kill();
        }
    }

    /// By what the tree is known to be empty, once `waitpid` has said ECHILD: the reaper was reaped too.
    pub(super) fn proof(&self) -> Proof {
        match (&self.reaper, &self.leaf) {
            (Some(_), _) => Proof::NamespaceGone,
            (None, Some(leaf)) if !leaf.is_populated() => Proof::CgroupEmpty,
            _ => Proof::Echild,
        }
    }

    /// The tree is empty: nothing of the boundary stays.
    pub(super) fn take_down(&mut self) {
        if let Some(leaf) = self.leaf.take() {
            leaf.remove();
        }
    }
}

/// Recovery finds a leaf by this name.
fn leaf_name(id: &str) -> String {
    format!("kennel-{id}")
}

/// Makes a PID namespace in a child that is thrown away: a failure half-way must not be ours. Whether `/proc` can be
/// made anew in it.
fn try_pid_namespace() -> io::Result<bool> {
    let status = in_child(|| match pid_namespace::enter_for_children() {
        Err(errno) => errno.raw_os_error(),
        Ok(()) => in_child(|| match pid_namespace::show_own_processes() {
            Ok(()) => 0,
            Err(_) => WITHOUT_PROC,
        })
        .unwrap_or(libc::EAGAIN),
    })?;
    match status {
        0 => Ok(true),
        WITHOUT_PROC => Ok(false),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Does something in a child and returns its exit status.
fn in_child(work: impl FnOnce() -> i32) -> io::Result<i32> {
    match sys::fork(ExitSignal::Child)? {
        Fork::Child => sys::exit_now(work()),
        Fork::Parent { pid, .. } => {
            let ended = rustix::io::retry_on_intr(|| waitpid(Pid::from_raw(pid), WaitOptions::empty()))?;
            Ok(ended.and_then(|(_, status)| status.exit_status()).unwrap_or(libc::EAGAIN))
        }
    }
}
