//! What this machine offers, each thing tried alone by its behaviour.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use supervisor::wire::{Enforced, ModeSpec, Protection, expected_protections};

use crate::root::Kennel;

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Its name.
    pub name: String,
    /// It is here and works.
    pub present: bool,
    /// What was seen.
    pub seen: String,
    /// What it gives, or what its absence costs.
    pub means: String,
    /// How to get it, where it is not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub get: Option<String>,
}

/// All findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// In the order in which a person should read them.
    pub findings: Vec<Finding>,
}

impl Kennel {
    /// Looks at the machine. Changes nothing and starts nothing.
    pub fn probe(&self) -> Probe {
        let mut findings = vec![
            state(self),
            volatile(self),
            children_files(),
            pidfd(),
            tag(),
            shell(),
            cgroup(),
            pid_namespace(),
        ];
        findings.extend(protections());
        findings.extend(crate::surroundings::findings(self.state_dir()));
        Probe { findings }
    }
}

/// One line for each protection of a sandbox.
fn protections() -> Vec<Finding> {
    let line = |found: Protection| {
        let seen = match (found.enforced, found.why) {
            (Enforced::Fully, _) => "nothing seen that forbids it".to_owned(),
            (_, why) => why.unwrap_or_else(|| "not in force".to_owned()),
        };
        let present = found.enforced == Enforced::Fully;
        let get = "a kernel with Landlock 6 (6.12) and seccomp, and permission to make user namespaces";
        Finding {
            get: Some(get.to_owned()),
            ..finding(&format!("sandbox: {}", found.name), present, seen, meaning(&found.name))
        }
    };
    expected_protections(ModeSpec::WorkspaceWrite).into_iter().map(line).collect()
}

fn meaning(protection: &str) -> &'static str {
    match protection {
        "filesystem" => "a command writes its workspace and nothing else",
        "private_temp" => "a command has a /tmp of its own",
        "secrets" => "keys, tokens and homes of others cannot be read",
        "network" => "a command reaches nobody by network",
        "local_sockets" => "sockets of services on this machine cannot be reached",
        "signals" => "a command signals only what it has started",
        "system_calls" => "tracing, mounting, kernel keys and the like are refused",
        "privileges" => "set-id programs and root's capabilities gain nothing",
        _ => "descriptors of the caller do not reach a command",
    }
}

pub(crate) fn finding(name: &str, present: bool, seen: impl Into<String>, means: &str) -> Finding {
    Finding { name: name.to_owned(), present, seen: seen.into(), means: means.to_owned(), get: None }
}

fn state(kennel: &Kennel) -> Finding {
    let seen = match kennel.state_dir_notice() {
        Some(notice) => notice.to_owned(),
        None => kennel.state_dir().display().to_string(),
    };
    finding(
        "state directory",
        kennel.state_dir_notice().is_none(),
        seen,
        "records and output of tasks that last",
    )
}

fn volatile(kennel: &Kennel) -> Finding {
    let place = kennel.volatile_dir();
    let seen = place.map_or_else(|| "none".to_owned(), |path| path.display().to_string());
    finding(
        "tmpfs",
        place.is_some(),
        seen,
        "short foreground calls touch no disk; without it they cost some milliseconds more",
    )
}

fn children_files() -> Finding {
    let mut children = Vec::new();
    let listed = proctree::children_of_self_single_threaded(&mut children);
    let seen = listed
        .as_ref()
        .map_or_else(ToString::to_string, |()| "/proc/PID/task/TID/children can be read".to_owned());
    finding(
        "children files",
        listed.is_ok(),
        seen,
        "trees are listed at the cost of the tree; without them the whole process table is read",
    )
}

fn pidfd() -> Finding {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let opened = proctree::PidFd::open(own);
    let works = matches!(&opened, Ok(Some(handle)) if !handle.is_dead());
    let seen = match opened {
        Ok(_) => "pidfd_open works".to_owned(),
        Err(error) => error.to_string(),
    };
    finding("pidfd", works, seen, "no signal reaches a recycled pid; the owner's death is seen at once")
}

fn tag() -> Finding {
    let can = supervisor::Tag::can_be_set();
    let seen = if can {
        "the hard RLIMIT_RTTIME is unlimited"
    } else {
        "the hard RLIMIT_RTTIME is limited (are we inside a task?)"
    };
    finding("tag", can, seen, "tasks are found again after both of their keepers were killed")
}

fn shell() -> Finding {
    let shell = crate::shell::Shell::bash(&Vec::new());
    let seen =
        shell.as_ref().map_or_else(|| "no bash found".to_owned(), |shell| shell.file.display().to_string());
    finding("bash", shell.is_some(), seen, "command lines are run by it")
}

fn cgroup() -> Finding {
    let group = supervisor::cgroup::own_group();
    let handed = group.as_deref().is_some_and(supervisor::cgroup::is_delegated);
    let seen = match &group {
        None => "no cgroup v2 hierarchy".to_owned(),
        Some(group) if handed => format!("{} was handed to this user", group.display()),
        Some(group) => format!("{} was not handed to this user", group.display()),
    };
    finding(
        "cgroup v2",
        handed,
        seen,
        "a task gets a group of its own, which also reaches members that run as another user",
    )
}

fn pid_namespace() -> Finding {
    let root = rustix::process::geteuid().is_root();
    let limit = std::fs::read_to_string("/proc/sys/user/max_user_namespaces").unwrap_or_default();
    let likely = root || limit.trim().parse::<u64>().is_ok_and(|limit| limit > 0);
    let seen = if likely {
        "nothing seen that forbids it; `kennel run --boundary pid_namespace --require true` tries it"
    } else {
        "user namespaces are switched off"
    };
    finding(
        "PID namespace",
        likely,
        seen,
        "on request: the kernel ends the whole task with one process of ours",
    )
}
