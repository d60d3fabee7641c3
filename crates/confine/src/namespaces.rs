//! New namespaces for the child itself. Root makes them as it is; anybody else by way of a user namespace.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, Result};
use rustix::thread::UnshareFlags;

use crate::sys;

/// Whether a user namespace was needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// The caller had the privilege.
    Directly,
    /// The task's user and group are mapped to themselves; all others show as 65534.
    InUserNamespace,
}

/// Moves the calling, single-threaded process into new namespaces.
///
/// # Errors
/// Those of `unshare(2)`, and of the maps; then the caller may be in a user namespace in which it has no name.
pub(crate) fn unshare(kinds: UnshareFlags) -> Result<Made> {
    match sys::unshare(kinds) {
        // A container's root has often lost the capability, and may yet make a user namespace.
        Err(Errno::PERM) => {}
        other => return other.map(|()| Made::Directly),
    }
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    sys::unshare(kinds | UnshareFlags::NEWUSER)?;
    // Keepers are not dumpable, so that the files of `/proc/self` are root's. From here on this is the task's process.
    sys::allow_inspection();
    // `user_namespaces(7)`: without CAP_SETGID in the parent namespace a gid map needs setgroups(2) to be given up.
    write("/proc/self/setgroups", b"deny")?;
    write("/proc/self/uid_map", format!("{uid} {uid} 1").as_bytes())?;
    write("/proc/self/gid_map", format!("{gid} {gid} 1").as_bytes())?;
    Ok(Made::InUserNamespace)
}

fn write(path: &str, bytes: &[u8]) -> Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, bytes).map(drop)
}
