//! What programs do, apart from which program does it, and what that breaks.

use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::{self, DOTENV, SECRET};
use crate::paths::{self, Place, Zone};
use crate::verdict::Decision;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Replace,
    Append,
    /// In place, whatever the file is.
    Edit,
    /// As `Replace`, of what is somewhere else as well.
    Copy,
    /// A new file or directory, or its times; what is there stays.
    Create,
}

/// What a mode change opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grant {
    /// To nobody in particular.
    Plain,
    /// To another user than root.
    Owner,
    /// Write access to everyone.
    World,
    /// The owner's rights to everyone who runs it.
    SetId,
}

/// One thing that a command does.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    Delete { path: String, recursive: bool, filtered: bool },
    Write { path: String, content: Option<String>, how: How },
    Change { path: String, recursive: bool, grant: Grant },
    Read { path: String },
    Send { data: String, to: String },
}

impl Checker<'_> {
    /// All absolute paths that `path` may be.
    #[expect(clippy::unused_self, reason = "reads as a method beside the others")]
    pub(crate) fn absolute(&self, env: &Env, path: &str) -> Vec<String> {
        let mut out: Vec<String> = env.cwd.iter().map(|cwd| paths::absolute(path, cwd)).collect();
        out.dedup();
        out
    }

    /// Judges an effect.
    pub(crate) fn effect(&mut self, env: &Env, effect: Effect) {
        if !self.spend(2) {
            return;
        }
        match effect {
            Effect::Delete { path, recursive, filtered } => {
                for full in self.absolute(env, &path) {
                    self.delete(&full, recursive, filtered);
                }
            }
            Effect::Write { path, content, how } => {
                for full in self.absolute(env, &path) {
                    self.write(env, &full, content.as_deref(), how);
                }
            }
            Effect::Change { path, recursive, grant } => {
                for full in self.absolute(env, &path) {
                    self.change(&full, recursive, grant);
                }
            }
            Effect::Read { path } => {
                for full in self.absolute(env, &path) {
                    if paths::is_secret(&full, self.ctx) {
                        self.report("secret.read", &full);
                    }
                }
            }
            Effect::Send { data, to } => {
                let local = is_local(&to);
                if data.contains(mark::TOKEN) && !local && !data.contains([SECRET, DOTENV]) {
                    // The whole of what is sent, or in the clear: that is nobody's login.
                    let plain = mark::is_opaque(&data) || to.starts_with("http://") || !to.contains("://");
                    let cap = if plain { Decision::Deny } else { Decision::Ask };
                    self.capped(cap, |checker| checker.report("secret.send", &to));
                }
                if data.contains([SECRET, DOTENV]) {
                    self.report("secret.send", &to);
                } else if data.contains(mark::SYSTEM) {
                    self.report("net.send-system", &to);
                }
            }
        }
    }

    fn delete(&mut self, path: &str, recursive: bool, filtered: bool) {
        if paths::is_device(path) {
            return self.report("device.write", path);
        }
        if crate::policy::is_own(path) {
            return self.report("self.protect", path);
        }
        let place = paths::place(path, self.ctx);
        let whole = recursive || place.wide;
        let rule = match place.zone {
            Zone::Temp => {
                (!filtered && place.certain && is_temp_itself(path, self.ctx) && recursive && !place.wide)
                    .then_some("fs.delete.outside")
            }
            Zone::Inside if whole && is_repository(path) => Some("vcs.delete-repository"),
            Zone::Inside => None,
            Zone::HomeInner if self.ctx.works_at_home && !whole => None,
            Zone::Unknown => (whole && !filtered).then_some("fs.delete.unknown"),
            Zone::Workspace | Zone::Ancestor => (whole && !filtered).then_some("fs.delete.workspace"),
            Zone::Outside | Zone::HomeInner | Zone::SystemInner => Some("fs.delete.outside"),
            zone if filtered => (zone >= Zone::Home).then_some("fs.delete.outside"),
            Zone::Home if whole => Some("fs.delete.home"),
            Zone::Home => Some("fs.delete.outside"),
            // Deep in the system are the parts of one package.
            Zone::System if is_deep(path) && !is_vital_file(path) => Some("fs.delete.outside"),
            Zone::System if whole || is_vital_file(path) => Some("fs.delete.system"),
            Zone::System => Some("fs.delete.outside"),
            Zone::Root if whole => Some("fs.delete.root"),
            Zone::Root => Some("fs.delete.outside"),
        };
        let Some(rule) = rule else { return };
        // What may be meant, and may not, is a question.
        let sure = place.certain || !crate::rules::find(rule).hard;
        let cap = if sure { Decision::Deny } else { Decision::Ask };
        let rule = if sure { rule } else { "fs.delete.unknown" };
        self.capped(cap, |checker| checker.report(rule, path));
    }

    fn write(&mut self, env: &Env, path: &str, content: Option<&str>, how: How) {
        if paths::is_device(path) {
            return self.report("device.write", path);
        }
        if crate::policy::is_own(path) {
            return self.report("self.protect", path);
        }
        if let (Some(content), true) = (content, is_run_later(path) || paths::is_startup(path, self.ctx)) {
            self.judge_later(env, content);
        }
        let place = paths::place(path, self.ctx);
        let Place { zone, certain, .. } = place;
        if paths::is_auth(path) && zone != Zone::Temp && !(how == How::Create && path.ends_with("/.ssh")) {
            let rule = if how == How::Create { "fs.write.outside" } else { "fs.write.auth" };
            return self
                .capped(if certain { Decision::Deny } else { Decision::Ask }, |c| c.report(rule, path));
        }
        if how == How::Append && path.ends_with("/.ssh/known_hosts") && zone == Zone::HomeInner {
            return;
        }
        if paths::is_startup(path, self.ctx) && !matches!(zone, Zone::Inside) {
            return self.report("fs.write.startup", path);
        }
        let rule = match zone {
            Zone::Temp | Zone::Inside | Zone::Unknown | Zone::Workspace | Zone::Ancestor => None,
            Zone::Root | Zone::Home if how == How::Create => None,
            Zone::Outside if how == How::Copy => None,
            Zone::HomeInner if self.ctx.works_at_home => None,
            // Some file, which may be a new one.
            Zone::Outside | Zone::HomeInner | Zone::SystemInner | Zone::Home
                if !certain && how != How::Edit =>
            {
                None
            }
            Zone::System | Zone::Root => system_write(path, how),
            Zone::Outside | Zone::HomeInner | Zone::SystemInner | Zone::Home => {
                (how != How::Create).then_some("fs.write.outside")
            }
        };
        if let Some(rule) = rule {
            self.capped(if certain { Decision::Deny } else { Decision::Ask }, |checker| {
                checker.report(rule, path);
            });
        }
    }

    /// Code that will run at a later time is judged now.
    fn judge_later(&mut self, env: &Env, content: &str) {
        if mark::is_opaque(content) && !content.contains(mark::NET) {
            return;
        }
        let mut inner = env.clone();
        let worst = self.probe(|checker| {
            checker.shell_code(&mut inner, content, None);
        });
        // What starts with every session and is where anyone can put it is a way in.
        let words = content.split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '\'' | '"'));
        let planted = content.split_whitespace().count() > 0
            && !content.contains(" cd ")
            && words.into_iter().any(|word| word.starts_with('/') && self.is_temp(word))
            && runs_temp(content);
        if worst == Decision::Deny || planted {
            self.report("exec.later", "");
        }
    }

    fn change(&mut self, path: &str, recursive: bool, grant: Grant) {
        let place = paths::place(path, self.ctx);
        let whole = recursive || place.wide;
        if paths::is_device(path) {
            return self.report("fs.perms.protected", path);
        }
        if grant == Grant::SetId {
            let rule = if place.zone == Zone::System { "fs.perms.protected" } else { "fs.perms.open" };
            return self.report(rule, path);
        }
        let vital = place.zone == Zone::System
            && (grant == Grant::World
                || (grant == Grant::Owner && path.starts_with("/etc/") && is_vital_file(path)));
        let rule = match place.zone {
            Zone::Temp | Zone::Inside | Zone::Unknown => None,
            Zone::Workspace => (whole && grant == Grant::World).then_some("fs.perms.open"),
            Zone::Root | Zone::System if whole || vital => Some("fs.perms.protected"),
            Zone::Home if grant == Grant::World => Some("fs.perms.protected"),
            Zone::Root | Zone::System | Zone::SystemInner | Zone::Ancestor | Zone::Outside => {
                Some("fs.perms.open")
            }
            Zone::Home if recursive && (path == self.ctx.home || path.matches('/').count() == 1) => {
                Some("fs.perms.protected")
            }
            Zone::Home => (whole || !place.certain).then_some("fs.perms.open"),
            Zone::HomeInner => (grant == Grant::World || recursive).then_some("fs.perms.open"),
        };
        if let Some(rule) = rule {
            self.capped(if place.certain { Decision::Deny } else { Decision::Ask }, |c| c.report(rule, path));
        }
    }
}

/// Whether a line of `content` starts a program or script with an absolute path in a temporary directory.
fn runs_temp(content: &str) -> bool {
    const RUNNERS: &[&str] = &[
        "sh", "bash", "zsh", "source", ".", "exec", "nohup", "python3", "python", "perl", "eval", "&&", "||",
    ];
    content.lines().any(|line| {
        let words: Vec<&str> = line.split([' ', '\t', ';', '(']).filter(|word| !word.is_empty()).collect();
        words.iter().enumerate().any(|(at, word)| {
            let before = at.checked_sub(1).and_then(|i| words.get(i));
            word.starts_with('/')
                && !word.contains('=')
                && ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|dir| word.starts_with(dir))
                && before.is_none_or(|word| RUNNERS.contains(word))
        })
    })
}

fn is_deep(path: &str) -> bool {
    path.matches('/').count() > 3 && ["/usr/", "/etc/", "/lib"].iter().any(|dir| path.starts_with(dir))
}

/// Whether an address is of this machine.
fn is_local(to: &str) -> bool {
    let host = to.split_once("://").map_or(to, |(_, rest)| rest);
    ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "host.docker.internal"]
        .iter()
        .any(|local| host.starts_with(local))
}

fn is_temp_itself(path: &str, ctx: &crate::context::Context) -> bool {
    ctx.temp.iter().any(|temp| temp == path)
}

fn is_repository(path: &str) -> bool {
    path.ends_with("/.git") || path.contains("/.git/") && path.ends_with(mark::STAR)
}

/// Files that are code although no shell is told to run them.
fn is_run_later(path: &str) -> bool {
    let hook = path.contains("/.git/hooks/") || path.contains("/.husky/");
    hook || path.contains("/cron") || path.ends_with("/.envrc")
}

/// Programs that a system does not work without.
#[rustfmt::skip]
const CORE: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ls", "cp", "mv", "rm", "cat", "su", "sudo", "login", "init", "systemd", "systemctl",
    "mount", "ssh", "sshd", "passwd", "env", "ps", "kill", "chmod", "chown", "grep", "sed", "awk", "find", "tar", "dd",
    "python3", "perl", "apt-get", "dpkg", "rpm", "ip", "iptables", "id", "true", "false", "test",
    "date", "curl", "wget", "gpg", "ldconfig", "agetty", "cron", "crond", "useradd", "visudo", "git", "top", "netstat",
    "ss", "lsof", "who", "w",
];

/// Files of `/etc` and its like whose change takes over the machine, or breaks it.
pub(super) fn is_vital_file(path: &str) -> bool {
    #[rustfmt::skip]
    const VITAL: &[&str] = &[
        "passwd", "shadow", "group", "gshadow", "sudoers", "ssh", "pam", "cron", "anacrontab", "systemd",
        "init", "rc", "profile", "bash", "zsh", "environment", "ld.so", "resolv.conf", "hosts", "fstab",
        "crypttab", "modules", "modprobe", "security", "sysctl", "udev", "default/grub", "grub", "nsswitch",
        "inittab", "xinetd", "NetworkManager", "network", "selinux", "apparmor", "kernel", "update-motd",
        "skel", "login", "securetty", "machine-id", "iptables", "nftables", "ufw", "at.allow", "at.deny",
        "polkit", "dbus", "subuid", "subgid", "sudo", "hosts.allow",
    ];
    if let Some(name) = path.strip_prefix("/etc/") {
        return VITAL.iter().any(|vital| name.starts_with(vital));
    }
    let sysrq = path.starts_with("/proc/sysrq-trigger")
        || path == "/proc/sys/kernel/core_pattern"
        || path == "/proc/sys/kernel/modprobe";
    let name = path.rsplit('/').next().unwrap_or_default();
    let binary = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/"].iter().any(|dir| path.starts_with(dir));
    let library = ["/lib", "/usr/lib"].iter().any(|dir| path.starts_with(dir));
    let loader = name.starts_with("libc.") || name.starts_with("ld-") || name.starts_with("libc-");
    sysrq
        || path.starts_with("/boot")
        || path.starts_with("/sys/firmware")
        || (binary && CORE.contains(&name))
        || (library && (loader || path.contains("/systemd/")))
}

fn system_write(path: &str, how: How) -> Option<&'static str> {
    #[rustfmt::skip]
    const STREAMS: &[&str] = &[
        "/dev/null", "/dev/zero", "/dev/full", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty",
        "/dev/random", "/dev/urandom", "/dev/console", "/dev/ptmx",
    ];
    let stream = STREAMS.contains(&path)
        || ["/dev/fd/", "/dev/pts/", "/proc/self/fd/", "/dev/tty", "/dev/shm/"]
            .iter()
            .any(|dir| path.starts_with(dir));
    if stream {
        return None;
    }
    if is_vital_file(path) && how != How::Create {
        return Some("fs.write.system");
    }
    (how != How::Create || path.starts_with("/usr") || path.starts_with("/etc")).then_some("fs.write.outside")
}
