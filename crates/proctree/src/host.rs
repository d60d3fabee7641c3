//! Which machine, boot and PID namespace an identity belongs to.

use std::io;

use crate::sys;

/// Where a [`crate::ProcId`] means anything: a record of another machine, boot or namespace is foreign.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostId {
    /// `/etc/machine-id`, trimmed; empty where there is none (many containers).
    pub machine: String,
    /// `/proc/sys/kernel/random/boot_id`, trimmed.
    pub boot: String,
    /// Inode of `/proc/self/ns/pid`.
    pub pidns: u64,
}

/// The identity of this machine, boot and PID namespace.
///
/// # Errors
/// When the boot id or the namespace cannot be read (no `/proc`), and `Unsupported` outside Linux.
pub fn host_id() -> io::Result<HostId> {
    let (machine, boot, pidns) = sys::host_id()?;
    Ok(HostId { machine, boot, pidns })
}
