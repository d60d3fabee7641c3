//! What around us helps or hinders: mount options, namespaces, filters, the login manager, PID 1.

use std::fs;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::probe::{Finding, finding};

/// Everything, each looked at alone.
pub(crate) fn findings(state_dir: &Path) -> Vec<Finding> {
    vec![hidepid(), user_namespaces(), filter(), lingering(), state_file_system(state_dir), first_process()]
}

fn with(mut finding: Finding, get: &str) -> Finding {
    finding.get = (!finding.present).then(|| get.to_owned());
    finding
}

fn hidepid() -> Finding {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let hidden = mounts.lines().filter(|line| line.contains(" - proc ")).any(|line| {
        ["hidepid=1", "hidepid=2", "hidepid=4", "hidepid=noaccess", "hidepid=invisible"]
            .iter()
            .any(|option| line.contains(option))
    });
    let seen = if hidden { "/proc is mounted with hidepid" } else { "/proc shows every process" };
    let means =
        "who changed its user is still listed by name; with hidepid it is listed by pid only, by its parent";
    with(
        finding("open /proc", !hidden, seen, means),
        "mount /proc with hidepid=0, or with gid= and join the group",
    )
}

fn user_namespaces() -> Finding {
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let allowed = number("/proc/sys/user/max_user_namespaces").unwrap_or(0) > 0
        && number("/proc/sys/kernel/unprivileged_userns_clone") != Some(0)
        && number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") != Some(1);
    let root = rustix::process::geteuid().is_root();
    let seen = match (allowed, root) {
        (true, _) => "users may make them",
        (false, true) => "users may not make them; root may",
        (false, false) => "they are switched off",
    };
    let means = "a PID namespace as the boundary: the kernel kills every member with its init";
    let get = "sysctl user.max_user_namespaces=15000; where AppArmor restricts them, \
               kernel.apparmor_restrict_unprivileged_userns=0";
    with(finding("user namespaces", allowed || root, seen, means), get)
}

/// Filters of containers answer ENOSYS or EPERM where the kernel has the call.
fn filter() -> Finding {
    let own = Pid::from_raw(i32::try_from(std::process::id()).unwrap_or(1));
    let refused = own.and_then(|own| pidfd_open(own, PidfdFlags::empty()).err());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let filtered =
        status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2"));
    let seen = match (refused, filtered) {
        (Some(Errno::PERM | Errno::NOSYS), true) => "a seccomp filter refuses pidfd_open".to_owned(),
        (Some(errno), _) => format!("pidfd_open: {errno}"),
        (None, true) => "there is a seccomp filter; it lets pidfd_open pass".to_owned(),
        (None, false) => "there is none".to_owned(),
    };
    let means = "a filter that refuses clone3 costs one system call a task; one that refuses pidfd_open costs the check \
                 of identity of processes that are not our children";
    with(
        finding("no hostile seccomp filter", refused.is_none(), seen, means),
        "use the runtime's default profile of 2021 or later",
    )
}

#[expect(clippy::disallowed_methods, reason = "the name under which the login manager knows the user")]
fn lingering() -> Finding {
    let text = fs::read_to_string("/etc/systemd/logind.conf").unwrap_or_default();
    let kills = text.lines().any(|line| {
        let line = line.trim().to_ascii_lowercase();
        ["yes", "true", "1", "on"].iter().any(|yes| line == format!("killuserprocesses={yes}"))
    });
    let logind = Path::new("/run/systemd/seats").exists();
    let name = std::env::var_os("USER").unwrap_or_default();
    let lingers = !name.is_empty() && Path::new("/var/lib/systemd/linger").join(&name).exists();
    let (present, seen) = match (logind, kills, lingers) {
        (false, ..) => (true, "no login manager runs"),
        (true, false, _) => (true, "logind leaves processes alone at logout"),
        (true, true, true) => (true, "logind kills processes at logout, and this user lingers"),
        (true, true, false) => (false, "logind kills this user's processes at logout"),
    };
    let means = "tasks of `kennel start` outlive the login that started them";
    with(finding("life after logout", present, seen, means), "loginctl enable-linger")
}

fn state_file_system(state_dir: &Path) -> Finding {
    const NFS: i64 = 0x6969;
    const SMB: [i64; 2] = [0xff53_4d42, 0xfe53_4d42];
    let kind = rustix::fs::statfs(state_dir).map_or(0, |stat| stat.f_type);
    let remote = kind == NFS || SMB.contains(&kind);
    let seen = if remote {
        "the state directory is on a network file system"
    } else {
        "the state directory is local"
    };
    let means = "records are replaced whole and control sockets can be reached; on a network they are slow, and other \
                 machines' tasks are listed as foreign";
    with(finding("local state", !remote, seen, means), "set KENNEL_STATE_DIR to a local directory")
}

fn first_process() -> Finding {
    let comm = fs::read_to_string("/proc/1/comm").unwrap_or_default();
    let comm = comm.trim();
    let container = Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists();
    let inits = [
        "systemd",
        "init",
        "tini",
        "dumb-init",
        "docker-init",
        "catatonit",
        "s6-svscan",
        "runit",
        "kennel",
        "conmon",
    ];
    let reaps = std::process::id() != 1 && (!container || inits.contains(&comm));
    let seen = format!("process 1 is {comm}{}", if container { ", in a container" } else { "" });
    let means = "the guard's own exit status is collected after its host has gone";
    with(
        finding("PID 1 reaps", reaps, seen, means),
        "docker run --init, or an init such as tini as the entry point",
    )
}
