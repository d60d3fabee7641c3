//! The system calls that a sandboxed task is refused (`seccomp(2)`): what reaches into other processes, into the kernel's
//! insides or around the file view, and sockets when the network is off.
//!
//! A list of what is refused, not of what is allowed: an agent's task may be any program, and a new harmless call must not
//! break it. What a new call could reach is bounded by the other mechanisms.

use std::collections::BTreeMap;

use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

/// What is refused besides the fixed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusals {
    /// Sockets other than Unix ones.
    pub(crate) sockets: bool,
    /// Changes of modes, owners, times and attributes, which Landlock does not cover.
    pub(crate) metadata: bool,
}

/// Refused whatever their arguments are.
const REFUSED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // The tree of processes and mounts that the task was put into.
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    // Files by handle, past every path rule.
    libc::SYS_open_by_handle_at,
    // Keys of the user's sessions.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Operations that the filter itself would not see.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The kernel's insides.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
];

const OPEN_TREE_ATTR: i64 = 467;
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// Refused where nothing may change and no read-only mount says so.
const METADATA: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
    libc::SYS_utimensat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

const NEW_NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME
];

/// With the network on: what name resolution and ordinary clients use. Not packet, vsock or kernel crypto sockets.
const NETWORK_DOMAINS: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Whether filters can be used at all on this processor.
pub(crate) fn is_known_here() -> bool {
    architecture().is_some()
}

fn architecture() -> Option<TargetArch> {
    TargetArch::try_from(std::env::consts::ARCH).ok()
}

/// Installs the filter in the calling process.
///
/// # Errors
/// ENOSYS on an unknown processor, else what the kernel says; nothing is refused then.
pub(crate) fn install(refusals: Refusals) -> rustix::io::Result<()> {
    let program = program(refusals).ok_or(Errno::NOSYS)?;
    seccompiler::apply_filter(&program).map_err(|error| match error {
        seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => {
            Errno::from_io_error(&error).unwrap_or(Errno::INVAL)
        }
        _ => Errno::INVAL,
    })
}

fn program(refusals: Refusals) -> Option<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    if refusals.metadata {
        rules.extend(METADATA.iter().map(|call| (*call, Vec::new())));
    }
    for (call, alternatives) in conditional(refusals.sockets) {
        rules
            .entry(call)
            .or_insert(alternatives.into_iter().map(SeccompRule::new).collect::<Result<_, _>>().ok()?);
    }
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture()?).ok()?;
    let mut program = prologue();
    program.extend(BpfProgram::try_from(filter).ok()?);
    Some(program)
}

/// Calls that depend on arguments: each list is alternatives, each alternative's conditions hold together.
fn conditional(no_sockets: bool) -> Vec<(i64, Vec<Vec<SeccompCondition>>)> {
    let new_namespaces = || NEW_NAMESPACES.iter().map(|flag| vec![has_bits(0, *flag)]).collect::<Vec<_>>();
    let domains: &[i32] = if no_sockets { &[libc::AF_UNIX] } else { &NETWORK_DOMAINS };
    let other_domain = || vec![domains.iter().map(|domain| is_not(0, *domain)).collect::<Vec<_>>()];
    let set_id = |argument| vec![vec![has_bits(argument, 0o4000)]];
    vec![
        (libc::SYS_clone, new_namespaces()),
        (libc::SYS_unshare, new_namespaces()),
        (libc::SYS_socket, other_domain()),
        (libc::SYS_socketpair, other_domain()),
        // Limits of other processes: no CPU time left is as good as SIGKILL. 0 is the caller itself.
        (libc::SYS_prlimit64, vec![vec![is_not(0, 0)]]),
        // Typing into the caller's terminal.
        (libc::SYS_ioctl, vec![vec![is(1, TIOCSTI)], vec![is(1, TIOCLINUX)]]),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_chmod, set_id(1)),
        (libc::SYS_fchmod, set_id(1)),
        (libc::SYS_fchmodat, set_id(2)),
        (FCHMODAT2, set_id(2)),
    ]
}

const TIOCSTI: i32 = 0x5412;
const TIOCLINUX: i32 = 0x541C;

// The kernel takes these arguments as `int`: the upper half of the register is noise.
fn condition(argument: u8, operation: SeccompCmpOp, value: i32) -> SeccompCondition {
    let value = u64::from(value.cast_unsigned());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value)
        .expect("argument numbers above are below six")
}

fn is(argument: u8, value: i32) -> SeccompCondition {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: i32) -> SeccompCondition {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn has_bits(argument: u8, bits: i32) -> SeccompCondition {
    condition(argument, SeccompCmpOp::MaskedEq(u64::from(bits.cast_unsigned())), bits)
}

/// Before everything else, for our own processor (another one falls through and is killed by the filter proper):
/// - `clone3`, whose flags lie in memory where no filter can read them, does not exist, and libc goes on with `clone`;
/// - the second set of x86-64 numbers (x32) does not exist: each of them would be a way around the list.
fn prologue() -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_EQUAL: u16 = 0x15;
    const JUMP_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    const ERRNO: u32 = 0x0005_0000;
    const CLONE3: u32 = 435;
    let native = match std::env::consts::ARCH {
        "x86_64" => 0xC000_003E,
        "aarch64" => 0xC000_00B7,
        _ => 0xC000_00F3,
    };
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        line(LOAD, 0, 0, 4),
        line(JUMP_EQUAL, 0, 4, native),
        line(LOAD, 0, 0, 0),
        line(JUMP_AT_LEAST, 1, 0, X32),
        line(JUMP_EQUAL, 0, 1, CLONE3),
        line(RETURN, 0, 0, ERRNO | libc::ENOSYS.unsigned_abs()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_compiles() {
        for (sockets, metadata) in [(false, false), (true, false), (false, true), (true, true)] {
            let program = program(Refusals { sockets, metadata }).expect("a program");
            assert!(program.len() < 1000, "{}", program.len());
        }
    }
}
