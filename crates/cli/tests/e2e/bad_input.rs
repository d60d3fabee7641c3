//! Bad input: a clear error that names the value and the remedy; nothing started, nothing lost.

use testkit::Rig;

use crate::common::{rig, start, text};

/// The words fail with this status, and stderr names this.
#[track_caller]
fn refused(rig: &Rig, words: &[&str], code: i32, names: &str) {
    let done = rig.kennel(words).finish();
    assert_eq!(done.code(), code, "{words:?}: {done}");
    let errors = done.errors();
    assert!(
        errors.to_lowercase().contains(&names.to_lowercase()),
        "{words:?} does not name {names:?}: {done}"
    );
    assert!(done.text().is_empty(), "{words:?} prints to stdout: {done}");
}

#[test]
fn usage_errors_are_64_and_name_the_value() {
    // Symptom: exit 2, which hosts read as "deny"; or silence.
    let rig = rig();
    refused(&rig, &["run"], 64, "command");
    refused(&rig, &["run", ""], 64, "command");
    refused(&rig, &["run", "   "], 64, "command");
    refused(&rig, &["start", ""], 64, "command");
    refused(&rig, &["run", "--no-such-option", "true"], 64, "--no-such-option");
    refused(&rig, &["frobnicate"], 64, "frobnicate");
    refused(&rig, &["run", "--timeout", "soon", "true"], 64, "soon");
    refused(&rig, &["run", "--timeout", "-5s", "true"], 64, "-5");
    refused(&rig, &["wait", "--timeout", "1y", "x"], 64, "1y");
    refused(&rig, &["run", "--env", "no-equals-sign", "true"], 64, "no-equals-sign");
    refused(&rig, &["run", "--env", "=x", "true"], 64, "=x");
    refused(&rig, &["run", "--session", "a/b", "true"], 64, "a/b");
    refused(&rig, &["kill", "--signal", "NONE", "bash-x"], 64, "NONE");
    // A guard that was made before the request was judged leaves when its host has left.
    assert!(testkit::Deadline::usual().until(|| rig.processes().is_empty()));
}

#[test]
fn what_cannot_be_started_is_125() {
    // Symptom: a panic, or the shell's 1.
    let rig = rig();
    let gone = rig.work().join("no-such-dir");
    let gone = gone.to_str().expect("UTF-8");
    refused(&rig, &["run", "--cwd", gone, "true"], 125, gone);
    refused(&rig, &["start", "--cwd", gone, "true"], 125, gone);
    std::fs::write(rig.work().join("file"), "").expect("a file");
    refused(&rig, &["run", "--cwd", "file", "true"], 125, "file");
    refused(&rig, &["run", "--command-file", "no-such-file"], 64, "no-such-file");
}

#[test]
fn a_nul_byte_is_refused() {
    // Symptom: the command is cut at the NUL byte and the rest is silently dropped.
    let rig = rig();
    let done = rig.kennel(["run", "--command-file", "-"]).input(b"echo a\0; echo b".to_vec()).finish();
    assert_eq!(done.code(), 64, "{done}");
    assert!(done.errors().contains("NUL") && done.text().is_empty(), "{done}");
}

#[test]
fn unknown_ids_are_named() {
    // Symptom: a path outside the state directory is read or removed; any task is hit.
    let rig = rig();
    for words in [["output", "bash-zzzz"], ["wait", "bash-zzzz"], ["kill", "bash-zzzz"]] {
        let done = rig.kennel(words).finish();
        assert!(done.code() != 0 && done.errors().contains("bash-zzzz"), "{done}");
        assert!(done.errors().contains("kennel tasks"), "no remedy: {done}");
    }
    let secret = rig.home().join("record.json");
    std::fs::write(&secret, "{}").expect("a file");
    for id in ["../home", "..", ".", "/", "a/b", "", "x\ny", "\u{202e}x"] {
        for verb in ["output", "wait", "kill"] {
            let done = rig.kennel([verb, id]).finish();
            assert!(done.code() != 0, "{verb} {id:?}: {done}");
            assert!(!done.errors().contains('\u{202e}'), "not escaped: {done}");
        }
    }
    assert!(secret.exists());
}

#[test]
fn one_unknown_id_among_others_ends_nothing_and_says_so() {
    // Symptom: `kill GOOD nope` fails, and whether GOOD is dead is anybody's guess.
    let rig = rig();
    let id = start(&rig, "exec sleep 300");
    let done = rig.kennel(["kill", &id, "nope"]).finish();
    assert!(done.code() == 1 && done.errors().contains("nothing was ended"), "{done}");
    crate::common::kill_with_proof(&rig, &id);
}

#[test]
fn an_ambiguous_prefix_hits_nobody() {
    // Symptom: the wrong one of two tasks is killed.
    let rig = rig();
    let (one, two) = (start(&rig, "sleep 70"), start(&rig, "sleep 70"));
    let done = rig.kennel(["kill", "bash-"]).finish();
    assert!(done.code() != 0, "{done}");
    assert!(
        done.errors().contains(&one) && done.errors().contains(&two),
        "the candidates are not named: {done}"
    );
    for id in [&one, &two] {
        assert_eq!(text(&crate::common::listed(&rig, id), "status"), "running");
        crate::common::kill_with_proof(&rig, id);
    }
}

#[test]
fn a_bare_environment_works() {
    // Symptom: a panic without HOME; state in the wrong place.
    let rig = rig();
    let done =
        rig.bash("exec env -i KENNEL_STATE_DIR=\"$KENNEL_STATE_DIR\" \"$KENNEL\" run 'echo fine'").finish();
    assert_eq!((done.code(), done.text().as_str()), (0, "fine\n"), "{done}");
    let script = "exec env -i XDG_STATE_HOME=\"$HOME/xdg\" \"$KENNEL\" start 'echo fine'";
    let done = rig.bash(script).finish();
    done.exits(0);
    assert!(rig.home().join("xdg/kennel").is_dir(), "{done}");
    let done = rig
        .bash("exec env -i XDG_STATE_HOME=\"$HOME/xdg\" \"$KENNEL\" wait --tree \"$1\"")
        .arg("x")
        .arg(done.last_line())
        .finish();
    done.exits(0);
}

#[test]
fn a_home_of_somebody_else_stops_nothing() {
    // Symptom: after `setpriv`, or `docker exec --user`, HOME is root's, and every command says "permission denied".
    use std::os::unix::fs::MetadataExt as _;
    let closed =
        std::fs::metadata("/root").is_ok_and(|meta| meta.uid() == 0 && meta.mode().trailing_zeros() >= 6);
    if testkit::lacks("a closed /root", closed) {
        return;
    }
    let rig = if rustix::process::geteuid().is_root() { rig().owned_by(65_534) } else { rig() };
    let done = rig.kennel(["run", "echo fine"]).env("HOME", "/root").finish();
    assert_eq!((done.code(), done.text().as_str()), (0, "fine\n"), "{done}");
}

#[test]
fn a_configuration_of_ones_own_that_is_closed_is_an_error() {
    // Symptom: what the file forbids is allowed because it cannot be read.
    let rig = if rustix::process::geteuid().is_root() { rig().owned_by(65_534) } else { rig() };
    let script =
        "mkdir -p \"$HOME/.config/kennel\"; echo 'timeout_max = \"1m\"' >\"$HOME/.config/kennel/config.toml\"
        chmod 000 \"$HOME/.config\"; \"$KENNEL\" run true; code=$?; chmod 700 \"$HOME/.config\"; exit $code";
    let done = rig.bash(script).finish();
    assert_eq!(done.code(), 125, "{done}");
    assert!(done.errors().contains("config.toml: Permission denied"), "{done}");
}

#[test]
fn a_removed_working_directory_stops_only_what_needs_it() {
    // Symptom: even `kennel run --cwd / pwd` says that there is no such file or directory.
    let rig = rig();
    let gone =
        |line: &str| rig.bash(&format!("mkdir -p g; cd g; rmdir ../g; exec \"$KENNEL\" {line}")).finish();
    let done = gone("run --cwd / pwd");
    assert_eq!((done.code(), done.text().as_str()), (0, "/\n"), "{done}");
    gone("start --cwd / true").exits(0);
    let done = gone("run pwd");
    assert_eq!(done.code(), 125, "{done}");
    assert!(done.errors().contains("g (deleted)") && done.errors().contains("hint:"), "{done}");
}

#[test]
fn a_state_directory_that_cannot_be_written_is_named() {
    // Symptom: a panic; or the task runs and cannot be found.
    let rig = rig();
    std::fs::write(rig.work().join("plain"), "").expect("a file");
    let blocked = rig.work().join("plain/state");
    let mut invocation = rig.kennel(["start", "true"]);
    let done = invocation.env("KENNEL_STATE_DIR", &blocked).finish();
    assert_eq!(done.code(), 125, "{done}");
    assert!(done.errors().contains("plain"), "{done}");
}

#[test]
fn a_state_directory_that_others_can_write_is_refused() {
    // Symptom: another user plants records, and we signal what they name.
    use std::os::unix::fs::PermissionsExt as _;
    let rig = rig();
    let open = rig.work().join("open");
    std::fs::create_dir(&open).expect("a directory");
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).expect("open it");
    for words in [["run", "true"], ["start", "true"]] {
        let done = rig.kennel(words).env("KENNEL_STATE_DIR", &open).finish();
        assert_eq!(done.code(), 125, "{done}");
        assert!(done.errors().contains("open"), "{done}");
    }
}

#[test]
fn a_full_disk_loses_no_command() {
    // Symptom: the command dies of a write error of ours.
    if testkit::lacks("/dev/full", std::path::Path::new("/dev/full").exists()) {
        return;
    }
    let rig = rig();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let done = rig.kennel(["run", "echo out; echo done > marker"]).stdout(full).finish();
    assert!(rig.work().join("marker").exists(), "the command did not go on: {done}");
    assert_eq!(done.code(), 125, "{done}");
}

#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    // Symptom: the id of a started task, or a result, is lost on a full disk, and the status says 0.
    if testkit::lacks("/dev/full", std::path::Path::new("/dev/full").exists()) {
        return;
    }
    let rig = rig();
    let output = format!("output {}", start(&rig, "echo hi"));
    for line in [
        "run --json true",
        "run --events true",
        "start true",
        "tasks",
        "check true",
        "schema outcome",
        &output,
    ] {
        let done = rig.bash(&format!("\"$KENNEL\" {line} >/dev/full")).finish();
        assert_eq!(done.code(), 125, "{line}: {done}");
        assert!(done.errors().contains("No space left"), "{line}: {done}");
    }
    let done = rig.bash("\"$KENNEL\" run 'echo hi' >&-").finish();
    assert_eq!((done.code(), done.errors().contains("Bad file descriptor")), (125, true), "{done}");
    rig.bash("\"$KENNEL\" run true >&- 2>&- <&-").finish().exits(0);
}

#[test]
fn odd_dispositions_of_the_host_change_nothing() {
    // Symptom: with SIGCHLD ignored the leader's status is lost; with signals blocked nothing ends.
    let rig = rig();
    for odd in ["--ignore-chld", "--block-all", "--ignore-pipe", "--ignore-chld --block-all --ignore-pipe"] {
        let script =
            format!("exec \"$HOSTILE\" as-host {odd} -- \"$KENNEL\" run --json 'yes | head -1; exit 3'");
        let done = rig.bash(&script).finish();
        assert_eq!(done.code(), 3, "{odd}: {done}");
        assert_eq!(text(&done.json(), "stdout"), "y\n", "{odd}: {done}");
        let script = format!("exec \"$HOSTILE\" as-host {odd} -- \"$KENNEL\" run --timeout 300ms 'sleep 60'");
        rig.bash(&script).finish().exits(124);
    }
}
