//! The sockets that a process holds, by its links in `/proc`.

use std::io;
use std::mem::MaybeUninit;

use rustix::fs::{CWD, OFlags, readlinkat_raw};
use rustix::io::Errno;

use super::procfs::{ProcPath, for_each_number, open_proc};
use crate::parse::net::parse_link;

/// The inode of each socket among the descriptors of `pid`; none if the process has gone.
///
/// Links are read, never followed: a stat of what is behind one may hang with its file server.
pub(crate) fn for_each_socket(pid: i32, found: &mut dyn FnMut(u64)) -> io::Result<()> {
    let Some(dir) = open_proc(format_args!("/proc/{pid}/fd"), OFlags::RDONLY | OFlags::DIRECTORY)? else {
        return Ok(());
    };
    for_each_number::<4096>(&dir, &mut |fd, _| {
        if let Some(inode) = link(format_args!("/proc/{pid}/fd/{fd}"), "socket") {
            found(inode);
        }
        Ok(())
    })
}

/// Each descriptor of `pid`; none if the process has gone.
pub(crate) fn for_each_descriptor(pid: i32, found: &mut dyn FnMut(i32)) -> io::Result<()> {
    let Some(dir) = open_proc(format_args!("/proc/{pid}/fd"), OFlags::RDONLY | OFlags::DIRECTORY)? else {
        return Ok(());
    };
    for_each_number::<4096>(&dir, &mut |fd, _| {
        found(fd);
        Ok(())
    })
}

/// The number of the network namespace of a process.
pub(crate) fn net_namespace(pid: i32) -> Option<u64> {
    link(format_args!("/proc/{pid}/ns/net"), "net")
}

fn link(path: std::fmt::Arguments<'_>, kind: &str) -> Option<u64> {
    let path = ProcPath::new(path).ok()?;
    let mut buffer = [MaybeUninit::uninit(); 64];
    loop {
        match readlinkat_raw(CWD, path.as_c_str(), &mut buffer) {
            Ok((target, _)) => return parse_link(target, kind),
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}
