//! The sandbox of a task: what is asked, and its stages in the child.
//!
//! The child is a copy of a single-threaded process, so it may allocate; what it dirties goes with the exec instead of
//! staying as private memory of the supervisor. Each mechanism is tried and its result kept as a fact: nothing is assumed
//! from a version, and what a container forbids is found out where it is forbidden.

use rustix::io::Errno;
use rustix::thread::UnshareFlags;

use crate::capabilities;
use crate::facts::Facts;
use crate::layout::Layout;
use crate::mounts::{self, Unfinished};
use crate::namespaces::{self, Made};
use crate::protection::{judge, weakest};
use crate::ruleset::{self, ABI_SCOPES, Wanted};
use crate::seccomp::{self, Refusals};
use crate::stage::{Failure, Stage};
use crate::sys;

/// What a sandboxed task may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing but the usual devices.
    ReadOnly,
    /// Its workspace, its temp directory, and what the request names.
    WorkspaceWrite,
}

impl Mode {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
        }
    }
}

/// Whether a task has a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Sockets as ever.
    On,
    /// Unix sockets only.
    Off,
}

/// A sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// What may be written.
    pub mode: Mode,
    /// Whether there is a network.
    pub network: Network,
    /// How the file tree is seen.
    pub layout: Layout,
    /// Descriptors above 2 stay open.
    pub pass_descriptors: bool,
}

/// What binds a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confinement {
    /// It cannot signal what it did not start; nothing else.
    ScopedSignals,
    /// A sandbox, scoped signals included.
    Sandboxed(Sandbox),
}

impl Confinement {
    /// The sandbox, where there is one.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        match self {
            Self::ScopedSignals => None,
            Self::Sandboxed(sandbox) => Some(sandbox),
        }
    }

    /// First half, before the working directory is entered: the view of the files.
    pub(crate) fn enter_view(&self, off: Off) -> Result<Facts, Failure> {
        let mut facts = Facts::default();
        let Some(sandbox) = self.sandbox() else { return Ok(facts) };
        if off.mounts {
            return Ok(facts);
        }
        let mut kinds = UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
        // Abstract sockets belong to a network namespace; where Landlock has no scopes that is what hides them.
        let landlock_abi =
            if off.landlock_abi_max == 0 { 0 } else { ruleset::kernel_abi().min(off.landlock_abi_max) };
        let last_resort = off.seccomp || !seccomp::is_known_here() || landlock_abi < ABI_SCOPES;
        if sandbox.network == Network::Off && last_resort {
            kinds |= UnshareFlags::NEWNET;
        }
        let made = match namespaces::unshare(kinds) {
            Ok(made) => made,
            Err(errno) => {
                facts.mounts_errno = byte(errno);
                return Ok(facts);
            }
        };
        facts.user_namespace = made == Made::InUserNamespace;
        facts.network_namespace = kinds.contains(UnshareFlags::NEWNET);
        match mounts::arrange(&sandbox.layout) {
            Ok(()) => facts.mounts = true,
            Err(Unfinished::Untouched(errno)) => facts.mounts_errno = byte(errno),
            Err(Unfinished::Broken(errno)) => {
                return Err(Failure { stage: Stage::FileView, errno: errno.raw_os_error() });
            }
        }
        Ok(facts)
    }

    /// Second half, right before the signals are restored: from here on the process cannot do much any more.
    pub(crate) fn restrict(&self, facts: &mut Facts, off: Off, required: bool) -> Result<(), Failure> {
        if self.sandbox().is_some() && !off.privileges {
            facts.capabilities = capabilities::drop_all_but_kept().is_ok();
        }
        if self.sandbox().is_some_and(|sandbox| !sandbox.pass_descriptors) {
            facts.descriptors = sys::close_on_exec_from(3);
        }
        facts.no_new_privs = rustix::thread::set_no_new_privs(true).is_ok();
        self.restrict_by_landlock(facts, off);
        if let Some(sandbox) = self.sandbox()
            && !off.seccomp
        {
            let metadata = sandbox.mode == Mode::ReadOnly && !facts.mounts;
            match seccomp::install(Refusals { sockets: sandbox.network == Network::Off, metadata }) {
                Ok(()) => facts.seccomp = true,
                Err(errno) => facts.seccomp_errno = byte(errno),
            }
        }
        if required && weakest(&judge(self, facts)).is_some() {
            return Err(Failure { stage: Stage::Required, errno: 0 });
        }
        Ok(())
    }

    fn restrict_by_landlock(&self, facts: &mut Facts, off: Off) {
        let abi = ruleset::kernel_abi().min(off.landlock_abi_max);
        let layout = self.sandbox().map(|sandbox| &sandbox.layout);
        if abi == 0 || layout.is_none() && abi < ABI_SCOPES {
            facts.landlock_abi = abi;
            facts.landlock_errno = if off.landlock_abi_max == 0 { 0 } else { byte(Errno::NOSYS) };
            return;
        }
        let wanted = Wanted {
            files: layout,
            hidden_by_mounts: facts.mounts,
            no_tcp: self.sandbox().is_some_and(|sandbox| sandbox.network == Network::Off),
            abi,
        };
        match ruleset::restrict(&wanted) {
            Ok(()) => {
                facts.landlock_abi = abi;
                facts.leaky = layout.is_some_and(ruleset::is_leaky);
            }
            Err(errno) => facts.landlock_errno = byte(errno),
        }
    }
}

/// Mechanisms that a test switches off, to see what the others carry and that the result says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Off {
    pub(crate) landlock_abi_max: u8,
    pub(crate) mounts: bool,
    pub(crate) seccomp: bool,
    pub(crate) privileges: bool,
}

impl Off {
    /// Nothing is, but by the orders of a test build.
    pub(crate) fn by_orders() -> Self {
        let off = |name| fault::order(name).as_deref() == Some("off");
        let abi = |order: String| order.parse().unwrap_or(0);
        Self {
            landlock_abi_max: fault::order("landlock").map_or(ruleset::ABI_MAX, abi),
            mounts: off("mounts"),
            seccomp: off("seccomp"),
            privileges: off("privileges"),
        }
    }
}

/// Errnos of the calls above are all below 256.
fn byte(errno: Errno) -> u8 {
    u8::try_from(errno.raw_os_error()).unwrap_or(u8::MAX)
}
