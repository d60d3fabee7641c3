//! The capabilities that root keeps in a sandbox: those that act on files and processes which it may reach anyway.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Read-only mounts, Landlock and the scope of signals bind these too. `CAP_DAC_READ_SEARCH` is not among them: it opens
/// files by handle, past every path; `CAP_FSETID` lets a set-id bit survive a write.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Gives up all others, for this process and everything that it executes.
///
/// # Errors
/// Those of `capset(2)` and of `PR_CAPBSET_DROP` for somebody who has capabilities to lose.
pub(crate) fn drop_all_but_kept() -> rustix::io::Result<()> {
    let own = capabilities(None)?;
    let mut regained_by_exec = false;
    if !own.permitted.is_empty() {
        for capability in CapabilitySet::all().iter().filter(|capability| !KEPT.contains(*capability)) {
            match remove_capability_from_bounding_set(capability) {
                // EINVAL: the kernel is older than this capability.
                Ok(()) | Err(Errno::INVAL) => {}
                // Without CAP_SETPCAP. What is in the bounding set comes back to root at the next exec.
                Err(_) => regained_by_exec |= own.permitted.contains(capability),
            }
        }
    }
    let _older_than_4_3 = clear_ambient_capability_set();
    let kept = own.permitted & KEPT;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets)?;
    if regained_by_exec && rustix::process::geteuid().is_root() { Err(Errno::PERM) } else { Ok(()) }
}
