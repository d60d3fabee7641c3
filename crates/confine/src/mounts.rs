//! The task's view of the file tree, in a mount namespace of its own.
//!
//! Everything is read-only, without devices and set-id, but for the mounts that the layout asks for. Those are cloned
//! while the tree is still the host's, so that the one recursive change does not reach them, and attached afterwards.
//! Paths are opened without following symbolic links: another task may exchange a directory while we work.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, mkdirat, mknodat, openat2};
use rustix::io::{Errno, Result};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree,
};

use crate::layout::{Access, Layout, Placed, Step};
use crate::sys::{self, Depth, MountAttributes};

/// How far the view got before it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// Nothing has changed; the command can run with other protections.
    Untouched(Errno),
    /// The tree is half made.
    Broken(Errno),
}

/// A mount that waits to be put in its place.
struct Waiting<'l> {
    placed: Placed<'l>,
    mount: Option<OwnedFd>,
}

/// Makes the view. The caller is alone in a new mount namespace in which it may mount.
pub(crate) fn arrange(layout: &Layout) -> std::result::Result<(), Unfinished> {
    let waiting = take(layout).map_err(Unfinished::Untouched)?;
    attach_all(waiting).map_err(Unfinished::Broken)
}

/// Clones what the layout wants, and changes nothing.
fn take(layout: &Layout) -> Result<Vec<Waiting<'_>>> {
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let mut waiting = Vec::with_capacity(layout.entries().len());
    for placed in layout.placed().filter(|placed| placed.step != Step::Nothing) {
        let mount = if placed.step == Step::Attach {
            let path = placed.entry.source.as_deref().unwrap_or(&placed.entry.target);
            match open_exact(path).and_then(|place| clone_of(&place)) {
                Ok(mount) => Some(mount),
                // What the host does not have the task does not see either.
                Err(Errno::NOENT | Errno::NOTDIR) => continue,
                Err(errno) => return Err(errno),
            }
        } else {
            None
        };
        waiting.push(Waiting { placed, mount });
    }
    Ok(waiting)
}

fn attach_all(waiting: Vec<Waiting<'_>>) -> Result<()> {
    let quiet = MountAttributes::NOSUID | MountAttributes::NODEV;
    let read_only = quiet | MountAttributes::RDONLY;
    let root = open_exact(c"/")?;
    sys::set_mount_attributes(root.as_fd(), Depth::Recursive, read_only)?;
    let mut empty = Empty::default();
    let mut open_for_now = Vec::new();
    for Waiting { placed, mount } in waiting {
        let entry = placed.entry;
        let Some(mount) = mount else {
            open_for_now.extend(empty.cover(&placed)?);
            continue;
        };
        match (entry.access, &entry.source) {
            (Access::Device, _) => {}
            (Access::ReadOnly, None) => {
                sys::set_mount_attributes(mount.as_fd(), Depth::Recursive, read_only)?;
            }
            (Access::ReadOnly, Some(_)) => {}
            (Access::Writable | Access::Hidden, _) => {
                sys::set_mount_attributes(mount.as_fd(), Depth::Recursive, quiet)?;
            }
        }
        if placed.create {
            make_place(&entry.target, is_directory(&mount)?)?;
        }
        put(&mount, &open_exact(&entry.target)?)?;
        if entry.access == Access::ReadOnly && entry.source.is_some() {
            open_for_now.push(mount);
        }
    }
    let _the_hosts_stay = crate::terminals::arrange();
    // Only now: places for deeper entries had to be made in them.
    open_for_now
        .iter()
        .try_for_each(|mount| sys::set_mount_attributes(mount.as_fd(), Depth::Single, read_only))
}

/// A small file system whose directories stand in for what is hidden.
#[derive(Default)]
struct Empty {
    root: Option<OwnedFd>,
    made: u32,
}

impl Empty {
    /// Covers what lies at an entry; returns the mount where it is a directory. A file is covered by a node that nobody
    /// can open: a `/dev/null` on a mount without devices.
    fn cover(&mut self, placed: &Placed<'_>) -> Result<Option<OwnedFd>> {
        let place = match open_exact(&placed.entry.target) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            place => place?,
        };
        if !is_directory(&place)? {
            let nothing = clone_of(&open_exact(c"/dev/null")?)?;
            let attributes = MountAttributes::RDONLY | MountAttributes::NODEV;
            sys::set_mount_attributes(nothing.as_fd(), Depth::Single, attributes)?;
            put(&nothing, &place)?;
            return Ok(None);
        }
        let name = self.made.to_string();
        self.made += 1;
        let root = self.at(&place)?;
        mkdirat(root, name.as_str(), Mode::from_bits_truncate(0o755))?;
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let mount = open_tree(root.as_fd(), name.as_str(), flags)?;
        put(&mount, &place)?;
        Ok(Some(mount))
    }

    /// Before Linux 6.15 only a mount that is attached somewhere can be cloned: the first covered place has to do, and is
    /// covered once more then.
    fn at(&mut self, place: &OwnedFd) -> Result<&OwnedFd> {
        if self.root.is_none() {
            let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_set_string(context.as_fd(), c"mode", c"0755")?;
            fsconfig_set_string(context.as_fd(), c"size", c"64k")?;
            fsconfig_create(context.as_fd())?;
            let attributes = MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOSUID;
            let root = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
            put(&root, place)?;
            self.root = Some(root);
        }
        self.root.as_ref().ok_or(Errno::BADF)
    }
}

/// Opens a path in which no component is a symbolic link.
pub(crate) fn open_exact(path: &CStr) -> Result<OwnedFd> {
    openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

pub(crate) fn clone_of(place: &OwnedFd) -> Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(place.as_fd(), c"", flags)
}

pub(crate) fn put(mount: &OwnedFd, place: &OwnedFd) -> Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount.as_fd(), c"", place.as_fd(), c"", flags)
}

fn is_directory(place: &OwnedFd) -> Result<bool> {
    let status = rustix::fs::statat(place, c"", AtFlags::EMPTY_PATH)?;
    Ok(FileType::from_raw_mode(status.st_mode) == FileType::Directory)
}

/// Makes a path inside something that stands in for a part of the host's tree.
fn make_place(path: &CStr, directory: bool) -> Result<()> {
    let bytes = path.to_bytes();
    let ends = (1..bytes.len()).filter(|at| bytes.get(*at) == Some(&b'/'));
    let made = |result: Result<()>| match result {
        Err(Errno::EXIST | Errno::ROFS) | Ok(()) => Ok(()),
        other => other,
    };
    for end in ends {
        made(mkdirat(CWD, bytes.get(..end).unwrap_or_default(), Mode::from_bits_truncate(0o755)))?;
    }
    if directory {
        made(mkdirat(CWD, bytes, Mode::from_bits_truncate(0o755)))
    } else {
        made(mknodat(CWD, bytes, FileType::RegularFile, Mode::from_bits_truncate(0o644), 0))
    }
}
