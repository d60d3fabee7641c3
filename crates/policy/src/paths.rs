//! Paths: joined, made lexical, and sorted by what their loss would mean.

use crate::context::Context;
use crate::mark::{self, ANY, STAR};

/// What a path is to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Zone {
    /// A directory for temporary files, or inside one.
    Temp,
    /// Inside the workspace.
    Inside,
    /// Nothing is known of it.
    Unknown,
    /// Anywhere else.
    Outside,
    /// In a home directory, and not in the workspace.
    HomeInner,
    /// The workspace itself, or all that is in it.
    Workspace,
    /// A directory that has the workspace in it.
    Ancestor,
    /// In a system directory whose contents come and go: a log, an optional package.
    SystemInner,
    /// A home directory, or all homes, or the keys in one.
    Home,
    /// A system directory, or what the system needs.
    System,
    Root,
}

/// A path's zone, and whether the text leaves no other reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) zone: Zone,
    pub(crate) certain: bool,
    /// The path ends in a glob that takes everything there.
    pub(crate) wide: bool,
}

/// Directories of a system that nothing outside a package manager deletes or writes.
const SYSTEM: &[&str] =
    &["bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr"];
/// Directories that are the system's, while their contents may be anyone's.
#[rustfmt::skip]
const SHARED: &[&str] = &[
    "home", "mnt", "media", "opt", "root", "run", "snap", "srv", "var", "Users", "Library", "System",
    "Applications", "Volumes", "nix", "private",
];
/// Below these, contents come and go.
const LOOSE: &[&str] = &["usr/local", "usr/src", "etc/apt/sources.list.d", "dev/shm", "dev/mqueue"];
/// In shared directories, these are as good as the system.
const VITAL: &[&str] = &["var/lib", "var/log", "var/spool", "var/mail", "var/db", "run/systemd"];
/// Keys and settings in a home that cannot be made again.
const KEYS: &[&str] = &[".ssh", ".gnupg", ".aws", ".kube", ".password-store", ".config"];

/// Directories of a home whose contents programs make again.
#[rustfmt::skip]
const CACHES: &[&str] = &[
    ".cache", ".npm", ".gradle/caches", ".cargo/registry", ".yarn/cache", ".pnpm-store", ".nuget/packages",
    "Library/Caches", ".ccache", ".bun/install/cache", ".local/share/Trash",
];

/// Whether a path below a home is inside a cache.
fn is_cache(below: &[&str]) -> bool {
    let text = below.join("/");
    CACHES
        .iter()
        .any(|cache| text.strip_prefix(cache).is_some_and(|rest| rest.len() > 1 && rest.starts_with('/')))
}

/// `path` as an absolute path without `.`, `..` and `//`, seen from `cwd`.
pub(crate) fn absolute(path: &str, cwd: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let relative = !path.starts_with('/');
    let floating = if relative { is_floating(cwd) || is_floating(path) } else { false };
    let base = if relative && !is_floating(path) { cwd } else { "" };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                // What an unknown name is the parent of is unknown.
                Some(last) if mark::has_hole(last) => parts.push(".."),
                Some(&"..") => parts.push(".."),
                _ => {
                    parts.pop();
                }
            },
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if floating { joined } else { format!("/{joined}") }
}

/// Whether a path begins with something unknown, so that it may be anywhere.
fn is_floating(path: &str) -> bool {
    path.chars().next().is_some_and(mark::is_hole)
}

/// Whether a component takes all names: `*`, `.*`, `*.*`, `?*`.
fn is_wide(part: &str) -> bool {
    part.contains(STAR) && part.chars().all(|c| matches!(c, STAR | ANY | mark::CLASS | '.' | '!' | '^' | ']'))
}

/// Where an absolute path is.
pub(crate) fn place(path: &str, ctx: &Context) -> Place {
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let wide = parts.last().is_some_and(|part| is_wide(part));
    while parts.last().is_some_and(|part| is_wide(part)) {
        parts.pop();
    }
    if is_floating(path) {
        return Place { zone: Zone::Unknown, certain: false, wide };
    }
    let hole = parts.iter().position(|part| mark::has_hole(part));
    let Some(hole) = hole else {
        // What has a home in it is as good as one, wherever that is.
        let holds_home = !parts.is_empty() && components(&ctx.home).starts_with(&parts);
        let zone = if holds_home { zone(&parts, ctx).max(Zone::Home) } else { zone(&parts, ctx) };
        return Place { zone: if wide { zone } else { partial(&parts, zone, ctx) }, certain: true, wide };
    };
    if parts.get(hole..).unwrap_or_default().contains(&"..") {
        return Place { zone: Zone::Unknown, certain: false, wide };
    }
    // The unknown part may be empty: then the path is what is before it.
    let whole = parts.get(hole).is_some_and(|part| part.chars().next().is_some_and(mark::is_hole));
    let known = parts.get(..hole).unwrap_or_default();
    let below = if whole { zone(known, ctx) } else { zone(&[known, &["x"]].concat(), ctx) };
    let zone = match below {
        Zone::Workspace => Zone::Inside,
        Zone::Ancestor => Zone::Outside,
        zone => zone,
    };
    Place { zone, certain: false, wide }
}

/// A glob such as `/et?` or `/h*` takes what it matches.
fn partial(parts: &[&str], plain: Zone, ctx: &Context) -> Zone {
    let Some(at) = parts.iter().position(|part| mark::has_glob(part)) else { return plain };
    let Some(pattern) = parts.get(at) else { return plain };
    let pattern: Vec<char> = pattern.chars().collect();
    let before = parts.get(..at).unwrap_or_default();
    let names: Vec<&str> = match before {
        [] => SYSTEM.iter().chain(SHARED).copied().collect(),
        ["usr"] => vec!["bin", "lib", "sbin", "share", "include"],
        ["var"] => vec!["lib", "log", "spool"],
        ["etc"] => vec!["passwd", "shadow", "ssh", "sudoers"],
        ["home"] => vec![ctx.user()],
        _ => Vec::new(),
    };
    let matching =
        names.iter().filter(|name| mark::glob_matches(&pattern, &name.chars().collect::<Vec<_>>()));
    let tail = parts.get(at + 1..).unwrap_or_default();
    matching.map(|name| zone(&[before, &[*name], tail].concat(), ctx)).max().unwrap_or(plain).max(plain)
}

fn components(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

fn zone(parts: &[&str], ctx: &Context) -> Zone {
    let (Some(first), home) = (parts.first(), components(&ctx.home)) else { return Zone::Root };
    let workspace = components(&ctx.workspace);
    let joined = parts.join("/");
    if ctx
        .protected
        .iter()
        .any(|path| components(path).starts_with(parts) || parts.starts_with(&components(path)))
    {
        return Zone::System;
    }
    if parts == workspace && !workspace.is_empty() {
        return Zone::Workspace;
    }
    if parts.starts_with(&workspace) && !workspace.is_empty() {
        return Zone::Inside;
    }
    // Before temp: a home below /tmp is a home.
    if !home.is_empty() && parts.starts_with(&home) {
        return match parts.get(home.len()) {
            None => Zone::Home,
            Some(name) if KEYS.contains(name) && parts.len() == home.len() + 1 => Zone::Home,
            Some(_) if workspace.starts_with(parts) => Zone::Ancestor,
            Some(_) if parts.get(home.len()..).is_some_and(is_cache) => Zone::Temp,
            Some(_) => Zone::HomeInner,
        };
    }
    if ctx.temp.iter().any(|temp| parts.starts_with(&components(temp))) {
        return Zone::Temp;
    }
    if matches!(*first, "root" | "home" | "Users") {
        let depth = if *first == "root" { 1 } else { 2 };
        return if parts.len() <= depth { Zone::Home } else { Zone::HomeInner };
    }
    if workspace.starts_with(parts) {
        return Zone::Ancestor;
    }
    if LOOSE.iter().any(|loose| joined.starts_with(&format!("{loose}/"))) {
        return Zone::SystemInner;
    }
    if SYSTEM.contains(first)
        || (SHARED.contains(first) && parts.len() == 1)
        || VITAL.contains(&joined.as_str())
    {
        return Zone::System;
    }
    if SHARED.contains(first) { Zone::SystemInner } else { Zone::Outside }
}

/// Whether `path` is a block device, or memory.
pub(crate) fn is_device(path: &str) -> bool {
    let Some(name) = path.strip_prefix("/dev/") else { return false };
    let starts = |prefix: &str| name.starts_with(prefix);
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || mark::is_mark(c)))
    };
    [
        "sd", "hd", "vd", "xvd", "dm-", "md", "sr", "disk", "rdisk", "nvme", "mmcblk", "loop", "zd", "nbd",
        "ram",
    ]
    .iter()
    .any(|p| numbered(p))
        || ["mapper/", "disk/", "vg", "md/", "block/"].iter().any(|p| starts(p))
        || matches!(name, "mem" | "kmem" | "port" | "sda")
}

/// Names of files that hold secrets, wherever they are.
#[rustfmt::skip]
const SECRET_NAMES: &[&str] = &[
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf",
    ".git-credentials", ".env", ".env.local", ".env.production", ".env.prod", ".env.staging",
    ".env.development", ".vault-token", ".htpasswd", "credentials.json", "service-account.json",
    "secrets.yml", "secrets.yaml", "secrets.json", ".dockercfg", ".s3cfg", "shadow", "gshadow", "shadow-",
    "master.passwd", "wallet.dat", "login.keychain-db", "key.pem", "private.key", "server.key",
    "privkey.pem", ".boto", ".databrickscfg", "terraform.tfstate", "kubeconfig", ".bash_history",
    ".zsh_history",
];
/// Directories in a home whose files are secrets.
#[rustfmt::skip]
const SECRET_DIRS: &[&str] = &[
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", ".config/gcloud", ".mozilla", ".docker",
    ".config/gh", ".cargo/credentials", ".local/share/keyrings", ".config/google-chrome", ".electrum",
    ".bitcoin", ".ethereum", ".config/op", ".config/hub", ".oci", ".terraform.d", "Library/Keychains",
];
/// What is harmless in them.
const PUBLIC_NAMES: &[&str] = &["known_hosts", "config", "authorized_keys", "known_hosts.old"];

/// Whether reading `path` gives away a secret.
pub(crate) fn is_secret(path: &str, ctx: &Context) -> bool {
    let parts = components(path);
    let Some(name) = parts.last() else { return false };
    let last = name.rsplit('.').next().unwrap_or_default();
    if matches!(last, "pub" | "example" | "sample" | "template" | "dist") && name.contains('.') {
        return false;
    }
    let in_system = |dir: &str| path.starts_with(dir);
    if matches!(*name, "shadow" | "gshadow" | "shadow-" | "master.passwd") {
        return in_system("/etc/");
    }
    if SECRET_NAMES.contains(name) || (name.starts_with("id_") && path.contains("/.ssh/")) {
        return true;
    }
    if in_system("/proc/") {
        return matches!(*name, "environ" | "kcore" | "mem");
    }
    if in_system("/etc/ssh/") {
        return name.starts_with("ssh_host_") || name.contains(STAR);
    }
    if in_system("/etc/sudoers")
        || in_system("/etc/ssl/private")
        || in_system("/root/.")
        || in_system("/run/secrets")
        || in_system("/var/run/secrets")
    {
        return true;
    }
    let home = components(&ctx.home);
    let below = match parts.as_slice() {
        below if !home.is_empty() && below.starts_with(&home) => below.get(home.len()..),
        ["root", below @ ..] | ["home" | "Users", _, below @ ..] => Some(below),
        _ => None,
    };
    let Some(below) = below.filter(|below| !below.is_empty()) else { return false };
    let below_text = below.join("/");
    let kubeconfig = matches!(below, [".kube", "config"]) || matches!(below, [".docker", "config.json"]);
    let harmless = PUBLIC_NAMES.contains(name) && !matches!(below.first(), Some(&".kube" | &".aws"));
    kubeconfig
        || (!harmless
            && SECRET_DIRS.iter().any(|dir| {
                below_text == *dir
                    || below_text.starts_with(&format!("{dir}/"))
                    || below_text.starts_with(&format!("{dir}."))
            }))
}

/// Whether a secret is the workspace's own settings, which its programs read all the time.
pub(crate) fn is_dotenv(path: &str, ctx: &Context) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.starts_with(".env") && place(path, ctx).zone == Zone::Inside
}

/// Files of a home that run when a shell or a session starts.
#[rustfmt::skip]
const STARTUP: &[&str] = &[
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile", ".zshenv",
    ".zlogin", ".xinitrc", ".xprofile", ".xsession", ".pam_environment", ".config/autostart",
    ".config/systemd", ".config/fish", ".config/git", ".local/share/applications", ".forward",
    ".bash_aliases", "Library/LaunchAgents", ".crontab", ".kshrc", ".cshrc", ".login",
];

/// Whether `path` is run at the start of a session.
pub(crate) fn is_startup(path: &str, ctx: &Context) -> bool {
    let parts = components(path);
    let home = components(&ctx.home);
    let below = match parts.as_slice() {
        below if !home.is_empty() && below.starts_with(&home) => below.get(home.len()..),
        ["root", below @ ..] | ["home" | "Users", _, below @ ..] => Some(below),
        _ => None,
    };
    below.is_some_and(|below| {
        let text = below.join("/");
        STARTUP.iter().any(|start| text == *start || text.starts_with(&format!("{start}/")))
    })
}

/// Whether writing `path` changes who may log in, or whom.
pub(crate) fn is_auth(path: &str) -> bool {
    let in_ssh =
        path.contains("/.ssh/") && !path.ends_with("known_hosts") && path.rsplit('.').next() != Some("pub");
    in_ssh || path.ends_with("/.ssh") || path.ends_with("/.rhosts") || path.ends_with("/.shosts")
}
