//! Terminals of the task's own: a devpts in which it can make new ones and sees nobody else's.
//!
//! The host's `/dev/ptmx` would look for its devpts beside itself and not find it through the mount of a single file. The
//! terminal that the task was given stays open and works as `/dev/tty`; its name is not to be found any more.

use std::os::fd::AsFd;

use rustix::io::Result;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
};

use crate::mounts::{clone_of, open_exact, put};

/// Mounts it, in place of what the layout has put there.
///
/// # Errors
/// Those of the mount; the host's terminals stay visible then.
pub(crate) fn arrange() -> Result<()> {
    let context = fsopen(c"devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(context.as_fd(), c"ptmxmode", c"0666")?;
    fsconfig_set_string(context.as_fd(), c"mode", c"0620")?;
    fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let own = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    put(&own, &open_exact(c"/dev/pts")?)?;
    // A link to `pts/ptmx` is right as it is.
    if let Ok(place) = open_exact(c"/dev/ptmx") {
        put(&clone_of(&open_exact(c"/dev/pts/ptmx")?)?, &place)?;
    }
    Ok(())
}
