//! Linux: `/proc` and pidfds.

mod pidfd;
mod procfs;

pub(crate) use pidfd::{PidHandle, exists, kill_now, pidfd_supported};
pub(crate) use procfs::{
    for_each_child, for_each_child_of_thread, for_each_chunk, for_each_pid, host_id, read_stat,
    rttime_hard_limit,
};
