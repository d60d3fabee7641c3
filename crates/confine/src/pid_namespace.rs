//! A PID namespace for the task: the kernel kills every member with its first process, the reaper, which is ours.
//!
//! A keeper enters with [`enter_for_children`]: it stays where it is, its next child becomes the namespace's init and
//! all later ones are members. Only the leader's own mount namespace shows a fresh `/proc`, see [`show_own_processes`].

use rustix::io::Result;
use rustix::thread::UnshareFlags;

use crate::namespaces;
use crate::sys;

/// The next child of the calling, single-threaded process is the init of a new PID namespace, later ones its members.
///
/// An ordinary user gets a user namespace too, and the caller is in it from then on: it is dumpable afterwards.
///
/// # Errors
/// Those of `unshare(2)` and of the maps of a user namespace. The caller may then be in one in which it has no name:
/// try it in a process that is thrown away.
pub fn enter_for_children() -> Result<()> {
    namespaces::unshare(UnshareFlags::NEWPID).map(drop)
}

/// Gives the calling process a mount namespace whose `/proc` shows its own PID namespace. Async-signal-safe.
///
/// # Errors
/// Those of `unshare(2)` and `mount(2)`: EPERM where parts of the outer `/proc` are hidden, as in most containers
/// (`user_namespaces(7)`). The process then sees the outer `/proc`, by its outer pid.
pub fn show_own_processes() -> Result<()> {
    sys::unshare(UnshareFlags::NEWNS)?;
    sys::receive_mounts_only()?;
    sys::mount_proc()
}
