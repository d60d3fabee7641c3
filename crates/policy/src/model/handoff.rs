//! Programs that have somebody else start a process: what that starts is not a descendant.

use super::Call;
use crate::mark;

/// What these words ask of whom; `None` for everything that forks for itself.
///
/// LIMIT: by name. What a program does inside, over a socket or a bus, is not seen.
pub(crate) fn service(call: &Call<'_>) -> Option<&'static str> {
    let verbs = |verbs: &[&str]| call.args.iter().any(|word| verbs.contains(&word.as_str()));
    let flag =
        |name: &str| call.args.iter().any(|word| word == name || word.starts_with(&format!("{name}=")));
    match call.name {
        "at" | "batch" if !verbs(&["-l", "-r", "-d", "-c", "-V"]) => Some("at"),
        "crontab" if !verbs(&["-l", "-r"]) => Some("cron"),
        // In a scope the caller itself forks.
        "systemd-run" if !flag("--scope") => Some("systemd"),
        "systemctl" if verbs(&["start", "restart", "reload-or-restart", "try-restart", "isolate"]) => {
            Some("systemd")
        }
        "systemctl" if verbs(&["enable"]) && flag("--now") => Some("systemd"),
        "machinectl" if verbs(&["start", "shell", "login"]) => Some("systemd"),
        "service" | "rc-service" if verbs(&["start", "restart"]) => Some("init"),
        "docker" | "docker-compose" | "nerdctl" | "podman-remote"
            if verbs(&["run", "start", "restart", "exec", "up", "build", "buildx", "compose"]) =>
        {
            Some("docker")
        }
        "podman" if flag("--remote") || flag("--url") => Some("podman"),
        "kubectl" | "oc" if verbs(&["run", "exec", "apply", "create", "debug"]) => Some("kubernetes"),
        "sbatch" | "srun" | "qsub" | "bsub" => Some("batch system"),
        "gdbus" | "busctl" if verbs(&["call"]) => Some("dbus"),
        "dbus-send" => Some("dbus"),
        "xdg-open" | "gtk-launch" => Some("desktop"),
        "emacsclient" => Some("emacs"),
        "tmux" => Some("tmux"),
        "ssh" | "mosh" | "slogin" => Some("ssh"),
        _ => None,
    }
}

/// One hand-off in words that can be shown.
pub(crate) fn shown(call: &Call<'_>) -> Vec<String> {
    std::iter::once(call.name.to_owned()).chain(call.args.iter().map(|word| mark::show(word))).collect()
}
