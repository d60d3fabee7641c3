//! What the kernel says of a process by its pidfd, see `<linux/pidfd.h>`: one call where `/proc` takes four.
#![expect(unsafe_code, reason = "rustix has no wrapper for this ioctl")]

use std::os::fd::AsFd;

use rustix::ioctl::{Updater, ioctl, opcode};

/// `struct pidfd_info` as of its first version, which every later kernel accepts.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup_id: u64,
    pid: u32,
    thread_group: u32,
    parent: u32,
    ids: [u32; 8],
    exit_code: i32,
}

const _: () = assert!(size_of::<PidfdInfo>() == 64);

/// `PIDFD_GET_INFO`
const GET_INFO: rustix::ioctl::Opcode = opcode::read_write::<PidfdInfo>(0xff, 11);
/// `PIDFD_INFO_PID`: the ids are filled in.
const IDS: u64 = 1;

/// The parent of the process behind a pidfd, as `/proc/PID/stat` has it; `None` where the kernel does not tell (before
/// Linux 6.13, or the process has been reaped).
pub(super) fn parent(pidfd: impl AsFd) -> Option<i32> {
    let mut info = PidfdInfo { mask: IDS, ..PidfdInfo::default() };
    // SAFETY: this opcode takes a pointer to this structure, whose size is in the opcode.
    let question = unsafe { Updater::<GET_INFO, _>::new(&mut info) };
    // SAFETY: the kernel writes no more than the structure, which lives until the call returns.
    unsafe { ioctl(pidfd, question) }.ok()?;
    i32::try_from(info.parent).ok().filter(|parent| info.mask & IDS != 0 && *parent > 0)
}
