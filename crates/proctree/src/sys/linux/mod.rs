//! Linux: `/proc`, pidfds and netlink.

mod connector;
mod pidfd;
mod pidfd_info;
mod procfs;
mod sockets;
mod wait;

pub(crate) use connector::{Drained, ProcEvents, Watch};
pub(crate) use pidfd::{PidHandle, exists, kill_now, pidfd_supported};
pub(crate) use procfs::{
    for_each_child, for_each_child_of_thread, for_each_chunk, for_each_pid, for_each_process, host_id,
    read_stat, rttime_hard_limit,
};
pub(crate) use sockets::{for_each_descriptor, for_each_socket, net_namespace};
pub(crate) use wait::{Waker, wait};

/// The unit of memory.
pub(crate) fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}
