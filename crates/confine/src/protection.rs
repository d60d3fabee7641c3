//! From what was asked and what is in force to what is promised: one pure table, read by the child that may have to
//! refuse, and by the supervisor that reports.

use crate::facts::Facts;
use crate::ruleset::{ABI_NETWORK, ABI_SCOPES};
use crate::sandbox::{Confinement, Mode, Network, Sandbox};

/// How far a protection is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforced {
    /// As asked.
    Fully,
    /// Weaker than asked.
    Partly,
    /// Not at all.
    No,
}

/// A protection and how far it is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protection {
    /// Which.
    pub name: &'static str,
    /// What was asked.
    pub asked: &'static str,
    /// What is in force.
    pub enforced: Enforced,
    /// Why it is less than asked.
    pub why: Option<String>,
}

/// A protection in force as asked, or less of it for a reason.
type Level = (Enforced, Option<String>);

const FULLY: Level = (Enforced::Fully, None);

fn partly(why: impl Into<String>) -> Level {
    (Enforced::Partly, Some(why.into()))
}

fn no(why: impl Into<String>) -> Level {
    (Enforced::No, Some(why.into()))
}

/// What the confinement comes to.
pub fn judge(confinement: &Confinement, facts: &Facts) -> Vec<Protection> {
    let protection = |name, asked, (enforced, why): Level| Protection { name, asked, enforced, why };
    let Some(sandbox) = confinement.sandbox() else {
        return vec![protection("signals", "scoped", signals(facts))];
    };
    let mut found = vec![
        protection("filesystem", sandbox.mode.name(), files(sandbox, facts)),
        protection("secrets", "hidden", secrets(facts)),
        protection("local_sockets", "hidden", local_sockets(facts)),
        protection("signals", "scoped", signals(facts)),
        protection("system_calls", "refused", system_calls(facts)),
        protection("privileges", "dropped", privileges(facts)),
    ];
    if !sandbox.pass_descriptors {
        let closed = if facts.descriptors { FULLY } else { no("they could not be closed") };
        found.push(protection("descriptors", "closed", closed));
    }
    if sandbox.network == Network::Off {
        found.insert(2, protection("network", "off", network(facts)));
    }
    if sandbox.mode == Mode::WorkspaceWrite {
        found.insert(1, protection("private_temp", "yes", temp(facts)));
    }
    found
}

/// The first protection that is weaker than asked.
pub fn weakest(found: &[Protection]) -> Option<&Protection> {
    found.iter().find(|protection| protection.enforced != Enforced::Fully)
}

fn files(sandbox: &Sandbox, facts: &Facts) -> Level {
    let refused = sandbox.mode == Mode::ReadOnly && facts.seccomp;
    match facts.landlock_abi {
        _ if facts.mounts => FULLY,
        0 => no(format!("{}, and {}", without_mounts(facts), without_landlock(facts))),
        1 | 2 => partly(format!(
            "{}, and this kernel's Landlock (ABI {}) does not cover truncation",
            without_mounts(facts),
            facts.landlock_abi
        )),
        _ if refused => FULLY,
        _ => partly(format!(
            "{}: modes, owners and times of the user's other files can be changed, not their contents; protected files \
             inside the workspace are open",
            without_mounts(facts)
        )),
    }
}

fn secrets(facts: &Facts) -> Level {
    match (facts.mounts, facts.landlock_abi, facts.leaky) {
        (true, ..) => FULLY,
        (false, 0, _) => no(format!("{}, and {}", without_mounts(facts), without_landlock(facts))),
        (false, _, true) => partly(format!(
            "{}: what lies inside a directory that may be written cannot be hidden",
            without_mounts(facts)
        )),
        (false, _, false) => {
            partly(format!("{}: names can be listed, contents not read", without_mounts(facts)))
        }
    }
}

fn temp(facts: &Facts) -> Level {
    match (facts.mounts, facts.landlock_abi) {
        (true, _) => FULLY,
        (false, 0) => no(format!("{}: /tmp is shared", without_mounts(facts))),
        (false, _) => partly(format!("{}: only TMPDIR is writable, /tmp is not", without_mounts(facts))),
    }
}

fn network(facts: &Facts) -> Level {
    match facts.landlock_abi {
        _ if facts.seccomp || facts.network_namespace => FULLY,
        ABI_NETWORK.. => partly(format!("{}: only TCP is refused", without_seccomp(facts))),
        _ => no(without_seccomp(facts)),
    }
}

fn local_sockets(facts: &Facts) -> Level {
    let abstract_ones = facts.landlock_abi >= ABI_SCOPES || facts.network_namespace;
    match (facts.mounts, abstract_ones) {
        (true, true) => FULLY,
        (true, false) => {
            partly("abstract sockets of other processes can be reached: Landlock has no scopes here")
        }
        (false, true) => partly(format!("{}: sockets with a path can be reached", without_mounts(facts))),
        (false, false) => no(format!("{}, and Landlock has no scopes here", without_mounts(facts))),
    }
}

fn signals(facts: &Facts) -> Level {
    match facts.landlock_abi {
        ABI_SCOPES.. => FULLY,
        0 => no(without_landlock(facts)),
        abi => no(format!("this kernel's Landlock (ABI {abi}) has no scoped signals")),
    }
}

fn system_calls(facts: &Facts) -> Level {
    if facts.seccomp { FULLY } else { no(without_seccomp(facts)) }
}

fn privileges(facts: &Facts) -> Level {
    match (facts.no_new_privs, facts.capabilities) {
        (true, true) => FULLY,
        (true, false) => partly("root's capabilities could not be dropped"),
        (false, true) => partly("set-id programs still gain privileges"),
        (false, false) => no("no_new_privs and capabilities were both refused"),
    }
}

fn without_mounts(facts: &Facts) -> String {
    format!("no mount namespace ({})", reason(facts.mounts_errno))
}

fn without_landlock(facts: &Facts) -> String {
    format!("no Landlock ({})", reason(facts.landlock_errno))
}

fn without_seccomp(facts: &Facts) -> String {
    format!("no seccomp filter ({})", reason(facts.seccomp_errno))
}

fn reason(errno: u8) -> String {
    match errno {
        0 => "switched off".to_owned(),
        errno => std::io::Error::from_raw_os_error(i32::from(errno)).to_string(),
    }
}
