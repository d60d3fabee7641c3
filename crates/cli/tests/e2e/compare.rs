//! Whole scripts under `kennel run` and under plain bash: same stdout, stderr, status and files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use testkit::{Rig, slow};

use crate::common::rig;

/// What a command did, as a caller can see it.
type Seen = (i32, String, String, BTreeMap<String, String>);

/// Runs `script` in a fresh directory, always of the same name, and looks at what it did. It is the project below the
/// home directory that the labelled lines speak of.
fn observe(rig: &Rig, script: &str, words: &[&str]) -> Seen {
    let cell = rig.work().join("project");
    fs::create_dir(&cell).expect("a scratch directory");
    prepare(&cell);
    let mut invocation = if words.is_empty() { rig.bash(script) } else { rig.kennel(words) };
    if !words.is_empty() {
        invocation.arg(script);
    }
    let done = invocation
        .current_dir(&cell)
        .env("HOME", rig.work())
        .env("PWD", &cell)
        .env("OLDPWD", "/")
        .env("SHLVL", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .input("2\n")
        .within(Duration::from_secs(60))
        .finish();
    let mut files = BTreeMap::new();
    list(&cell, "", &mut files);
    fs::remove_dir_all(&cell).expect("remove the scratch directory");
    (done.code(), done.text(), done.errors(), files)
}

/// A little of what a project has.
fn prepare(cell: &Path) {
    for (name, text) in [
        ("a.txt", "one\ntwo\n"),
        ("list.txt", "x\ny\n"),
        ("log.txt", "mkfs done\n"),
        (".env.example", "A=1\n"),
        ("README.md", "read me\n"),
        ("env.sh", "FOO=1\n"),
        ("old.bak", ""),
        ("file", "content\n"),
        ("Makefile", "all:\n\t@echo made\nclean:\n\t@rm -f x.o\ntest:\n\t@echo tested\n"),
        ("script.sh", "echo hi\n"),
    ] {
        fs::write(cell.join(name), text).expect("a file");
    }
    fs::create_dir_all(cell.join("node_modules/m")).expect("a directory");
    fs::create_dir_all(cell.join("tests/fixtures")).expect("a directory");
}

fn list(directory: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let Ok(meta) = entry.path().symlink_metadata() else { continue };
        let content = if meta.is_file() { fs::read(entry.path()).unwrap_or_default() } else { Vec::new() };
        files.insert(name.clone(), format!("{:o} {}", meta.mode(), String::from_utf8_lossy(&content)));
        if meta.is_dir() {
            list(&entry.path(), &format!("{name}/"), files);
        }
    }
}

/// Compares each script; one on which bash does not agree with itself proves nothing. Gives how many were compared.
fn compare<'s>(rig: &Rig, scripts: impl Iterator<Item = &'s str>, words: &[&str]) -> usize {
    let (mut compared, mut differences) = (0, Vec::new());
    for script in scripts {
        let bare = observe(rig, script, &[]);
        let ours = observe(rig, script, words);
        if ours == bare {
            compared += 1;
        } else if observe(rig, script, &[]) == bare {
            differences.push(format!("{script}\n  ours {ours:?}\n  bare {bare:?}"));
        }
    }
    assert!(differences.is_empty(), "{} differ\n{}", differences.len(), differences.join("\n"));
    compared
}

#[test]
fn scripts_of_the_manual_do_the_same() {
    // Symptom: a construct of bash that works on its own behaves otherwise in an agent's shell.
    if slow() {
        return;
    }
    let text = include_str!("fixtures/bash-manual.txt");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let scripts: Vec<String> = lines.map(|line| line.replace('⏎', "\n")).collect();
    let rig = rig();
    let compared = compare(&rig, scripts.iter().map(String::as_str), &["run", "--no-check"]);
    assert!(compared >= 100, "only {compared} could be compared");
}

/// Beginnings of lines that leave the directory, the machine or this test's time: network, daemons, other processes.
#[rustfmt::skip]
const NOT_HERE: &[&str] = &[
    "rm -rf \"/tmp", "rm -rf /", "rm -rf .venv", "BUILD=", "find /", "kill ", "pkill", "nc ", "watch", "ssh", "scp", "curl", "wget", "mkfs",
    "parted", "fdisk", "docker", "kubectl", "psql", "gh ", "git push", "git fetch", "git clone", "npm", "pip ", "conda", "logger", "ps ",
    "crontab", "chmod -R", "chown", "nohup", "cargo", "yes |", "du ", "node", "dd ",
];

#[test]
fn what_is_allowed_runs_as_it_would_without_us() {
    // Symptom: a harmless command is let through and then does something else than in a terminal.
    if slow() {
        return;
    }
    let cases = include_str!("../../../../tests/acceptance/cases/safety-given.jsonl");
    let cases = cases.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let allowed: Vec<String> = cases
        .filter(|case| case["label"] == "allow")
        .filter_map(|case| case["command"].as_str().map(str::to_owned))
        .filter(|line| NOT_HERE.iter().all(|begin| !line.starts_with(begin)))
        .collect();
    let rig = rig();
    // With the check on: they are allowed.
    let compared = compare(&rig, allowed.iter().map(String::as_str), &["run", "--ask", "deny"]);
    assert!(compared >= 70, "only {compared} of {} could be compared", allowed.len());
}
