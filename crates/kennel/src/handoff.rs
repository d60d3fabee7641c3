//! What a command hands to others: a notice, because a kill of the task does not reach it.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use policy::{HandOff, Verdict};
use supervisor::wire::Notice;

/// A notice for each hand-off that the command's text shows.
pub(crate) fn notices(verdict: &Verdict) -> Vec<Notice> {
    verdict.hand_offs.iter().filter(|hand_off| goes_outside(hand_off)).map(notice).collect()
}

fn notice(hand_off: &HandOff) -> Notice {
    Notice::HandedOff { service: hand_off.service.clone(), command: hand_off.argv.join(" ") }
}

/// A tmux that finds no server makes one, which is the task's own.
fn goes_outside(hand_off: &HandOff) -> bool {
    hand_off.service != "tmux" || serves(&tmux_socket(&hand_off.argv))
}

/// Where this tmux looks for its server. LIMIT: `TMUX` and `TMUX_TMPDIR` of the command are not asked.
fn tmux_socket(argv: &[String]) -> PathBuf {
    let value = |option: &str| {
        let at = argv.iter().position(|word| word.starts_with(option))?;
        let word = argv.get(at)?;
        if word.len() > option.len() {
            word.strip_prefix(option).map(str::to_owned)
        } else {
            argv.get(at + 1).cloned()
        }
    };
    if let Some(path) = value("-S") {
        return path.into();
    }
    let uid = rustix::process::getuid().as_raw();
    Path::new("/tmp").join(format!("tmux-{uid}")).join(value("-L").unwrap_or_else(|| "default".to_owned()))
}

/// Whether somebody listens there. A socket outlives its server as a file.
fn serves(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn hand_offs(line: &str) -> Vec<String> {
        let command = policy::Command::Shell(line);
        let request = policy::Request { command, cwd: "/w", home: "/home/u", workspace: None };
        let verdict = policy::Policy::builtin().check(&request);
        let told = |notice| match notice {
            Notice::HandedOff { service, .. } => service,
            other => format!("{other:?}"),
        };
        notices(&verdict).into_iter().map(told).collect()
    }

    #[test]
    fn what_others_start_is_told() {
        let check = |line: &str, services: &[&str]| assert_eq!(hand_offs(line), services, "{line}");
        check("docker run --rm alpine sleep 60", &["docker"]);
        check("sudo systemd-run --unit=x sleep 60 && echo ok", &["systemd"]);
        check("echo 'make' | at now + 1 minute", &["at"]);
        check("bash -c 'ssh host make'; docker compose up -d", &["ssh", "docker"]);
        check("systemd-run --scope --user make", &[]);
        check("docker ps; systemctl status x; at -l; crontab -l; kubectl get pods", &[]);
        check("echo docker run x; make", &[]);
    }

    #[test]
    fn a_tmux_server_counts_when_it_was_there_before() {
        let place = tempfile::tempdir().expect("a directory");
        let socket = place.path().join("sock");
        let line = format!("tmux -S {} new-session -d make", socket.display());
        assert_eq!(hand_offs(&line), [""; 0]);
        let server = UnixListener::bind(&socket).expect("a server");
        assert_eq!(hand_offs(&line), ["tmux"]);
        // Its file stays.
        drop(server);
        assert_eq!(hand_offs(&line), [""; 0]);
    }
}
