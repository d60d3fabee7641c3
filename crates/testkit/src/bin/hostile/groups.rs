//! Habits around process groups that are shared with outsiders.

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, set_child_subreaper, setpgid, setsid};

use crate::Orders;
use crate::sys::{self, Side};

/// `loose-group [N]`: a group of N (40) and one that the kernel calls orphaned as soon as its founder's parent dies,
/// because whoever adopts the founder has left for a session of its own. The line that says "in place" names the group.
pub(crate) fn loose_group(orders: &Orders) {
    sys::ignore_requests();
    let Ok((left, leaving)) = pipe_with(PipeFlags::CLOEXEC) else { sys::leave(111) };
    if set_child_subreaper(Some(Pid::INIT)).is_err() {
        sys::leave(111);
    }
    if let Side::Child = sys::fork() {
        drop(leaving);
        let Side::Child = sys::fork() else { sys::hold() };
        while rustix::io::read(&left, &mut [0]) == Err(Errno::INTR) {}
        let _never_fails_for_oneself = setpgid(None, None);
        for _ in 0..orders.number(0, 40) {
            if let Side::Child = sys::fork() {
                sys::hold();
            }
        }
        orders.ready();
        sys::hold();
    }
    if setsid().is_err() {
        sys::leave(111);
    }
    drop(leaving);
    sys::hold()
}

/// `join-group PGID`: becomes a member of that group of its session and stays; a hangup ends it.
pub(crate) fn join_group(orders: &Orders) {
    let group = i32::try_from(orders.number(0, 0)).ok().and_then(Pid::from_raw);
    if group.is_none() || setpgid(None, group).is_err() {
        sys::leave(111);
    }
    orders.ready();
    sys::hold()
}
