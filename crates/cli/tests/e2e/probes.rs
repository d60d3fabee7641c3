//! What each mode promises, tried: some 120 probes (`fixtures/probes.py`), in each mode, with each mechanism switched off in
//! turn, as whoever runs the tests and as an ordinary user. What the result calls enforced must hold.

use std::collections::BTreeMap;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Uid};
use serde_json::Value;
use testkit::{Rig, lacks, lacks_faults, lacks_program};

use crate::common::{at, text};
use crate::sandbox::{enforced, rigs};

/// Orders for mechanisms, and the protections that are less than asked without them, in `workspace-write`.
const WITHOUT: &[(&str, &[&str])] = &[
    ("", &[]),
    // A network namespace hides abstract sockets then.
    ("landlock=0", &["signals"]),
    ("landlock=3", &["signals"]),
    ("mounts=off", &["filesystem", "private_temp", "secrets", "local_sockets"]),
    ("seccomp=off", &["system_calls"]),
    ("privileges=off", &["privileges"]),
];

/// A place outside of the workspace, which no sandbox hides.
struct Outside(PathBuf);

impl Outside {
    fn make(rig: &Rig) -> Self {
        let name =
            format!("probes-{}", rig.work().parent().and_then(Path::file_name).expect("a name").display());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::remove_dir_all(&path).ok();
        std::fs::create_dir_all(path.join("empty")).expect("a directory");
        for file in ["file", "unlink", "rename", "rename-in", "probes.py"] {
            std::fs::write(path.join(file), include_str!("fixtures/probes.py")).expect("a file");
        }
        let outside = Self(path);
        outside.belong_to(rig);
        outside
    }

    fn belong_to(&self, rig: &Rig) {
        give(&self.0, rig);
        for entry in std::fs::read_dir(&self.0).expect("the directory").flatten() {
            give(&entry.path(), rig);
        }
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// To the user of the rig.
fn give(path: &Path, rig: &Rig) {
    use std::os::unix::fs::MetadataExt as _;
    let meta = rig.work().metadata().expect("the workspace");
    let (uid, gid) = (Uid::from_raw(meta.uid()), Gid::from_raw(meta.gid()));
    rustix::fs::chown(path, Some(uid), Some(gid)).expect("give it away");
}

/// What there is to protect in the workspace and in the home directory.
fn furnish(rig: &Rig) {
    let (work, home) = (rig.work(), rig.home());
    for name in std::fs::read_dir(&work).expect("the workspace").flatten() {
        std::fs::remove_dir_all(name.path())
            .or_else(|_| std::fs::remove_file(name.path()))
            .expect("empty it");
    }
    for directory in [work.join(".git"), work.join(".git/hooks"), home.join(".ssh")] {
        std::fs::create_dir_all(&directory).expect("a directory");
        give(&directory, rig);
    }
    for file in [work.join("inside"), home.join(".ssh/id"), home.join(".netrc"), home.join(".bashrc")] {
        std::fs::write(&file, "x").expect("a file");
        give(&file, rig);
    }
}

type Answers = BTreeMap<String, (String, bool)>;

/// Runs all probes: what was reached, by name and kind, and the outcome.
fn run(rig: &Rig, words: &str, order: &str) -> (Answers, Value) {
    furnish(rig);
    let outside = Outside::make(rig);
    let host_temp = Path::new("/tmp").join(outside.0.file_name().expect("a name")).with_extension("host");
    std::fs::write(&host_temp, "x").expect("a file of the host's /tmp");
    let mut victim = rig.program(testkit::hostile());
    let victim = victim.arg("hold").current_dir(&outside.0).spawn();
    let name = format!("kennel-probes-{}", victim.pid());
    let address = SocketAddr::from_abstract_name(&name).expect("an address");
    let _listens = UnixListener::bind_addr(&address).expect("an abstract socket");
    let hidden = rig.home().parent().expect("a place").join("hidden.sock");
    std::fs::remove_file(&hidden).ok();
    let _listens_too = UnixListener::bind(&hidden).expect("a socket");
    give(&hidden, rig);
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = tcp.local_addr().expect("its address").port();
    let [out, home, state] = [&outside.0, &rig.home(), &rig.state()].map(|path| path.display().to_string());
    // Nothing that the host's user may write is executed: only the fixture, by a name that the sandbox shows.
    let script = format!(
        "\"$KENNEL\" run --no-check --json --max-output 100000 {words} 'KEEPER=$PPID exec python3 {out}/probes.py \
         {out} {home} {state} {} {name} {port} {}' 9</etc/passwd",
        victim.pid(),
        hidden.display()
    );
    let done = rig
        .bash(&script)
        .env("KENNEL_FAULT", order)
        .env("TMPDIR", "/tmp")
        .within(std::time::Duration::from_secs(60))
        .finish();
    std::fs::remove_file(&host_temp).ok();
    let outcome = done.json();
    let mut answers = Answers::new();
    for line in text(&outcome, "stdout").lines() {
        if let [kind, name, said, _why] = line.split(' ').collect::<Vec<_>>()[..] {
            answers.insert(name.to_owned(), (kind.to_owned(), said == "reached"));
        }
    }
    assert!(answers.len() >= 110, "{} probes spoke: {outcome}", answers.len());
    assert!(!victim.has_ended(), "the victim was hit");
    victim.signal(rustix::process::Signal::KILL);
    victim.finish();
    (answers, outcome)
}

/// What a kind of probe must answer where the result says this; `None` where nothing is promised.
fn promised(kind: &str, mode: &str, outcome: &Value) -> Option<bool> {
    let level = |name: &str| enforced(outcome, name);
    let refused = |holds: bool| holds.then_some(false);
    match kind {
        "+always" | "+mounts" => Some(true),
        "+workspace" => Some(mode == "workspace-write"),
        // Without mounts only what TMPDIR names.
        "+temp" if mode == "read-only" => Some(false),
        "+temp" => (level("private_temp") == "fully").then_some(true),
        // Landlock alone binds contents, and not the modes, owners and times of files.
        "filesystem" => refused(["fully", "partly"].contains(&level("filesystem").as_str())),
        "metadata" | "protected" => refused(level("filesystem") == "fully"),
        "secrets" => refused(["fully", "partly"].contains(&level("secrets").as_str())),
        "names" => refused(level("secrets") == "fully"),
        "network" => refused(["fully", "partly"].contains(&level("network").as_str())),
        "udp" => refused(level("network") == "fully"),
        "abstract" | "hidden_socket" => refused(level("local_sockets") == "fully"),
        // `CAP_PERFMON` reads what Landlock refuses to trace.
        "environment" => refused(level("signals") == "fully" && level("privileges") == "fully"),
        "sockets" => refused(level("system_calls") == "fully"),
        other => refused(level(other) == "fully"),
    }
}

fn may_write(directory: &str) -> bool {
    rustix::fs::access(directory, rustix::fs::Access::WRITE_OK).is_ok()
}

fn cannot_run() -> bool {
    let hidden = ["/home", "/root", "/tmp", "/var/tmp", "/dev/shm"];
    let hidden = hidden.iter().any(|place| Path::new(env!("CARGO_TARGET_TMPDIR")).starts_with(place));
    lacks_program(&["python3"])
        || lacks_faults()
        || lacks("a build directory that is in no home and in no temporary directory", !hidden)
        || lacks("a build directory that this user may write to", may_write(env!("CARGO_TARGET_TMPDIR")))
        || lacks("a system python3", Path::new("/usr/bin/python3").exists())
}

#[test]
fn every_promise_holds_with_each_mechanism_switched_off_in_turn() {
    // Symptom: a protection is told as enforced, and something gets through.
    if testkit::slow() || cannot_run() {
        return;
    }
    for rig in rigs() {
        for mode in ["read-only", "workspace-write"] {
            for (order, weaker) in WITHOUT {
                let (answers, outcome) = run(&rig, &format!("--sandbox {mode}"), order);
                let wrong: Vec<&String> = answers
                    .iter()
                    .filter(|(_, (kind, reached))| {
                        promised(kind, mode, &outcome).is_some_and(|promised| promised != *reached)
                    })
                    .map(|(name, _)| name)
                    .collect();
                let protections = at(&outcome, "protections");
                assert!(wrong.is_empty(), "{mode}, {order:?}: not as promised: {wrong:?}; {protections}");
                if mode == "workspace-write" {
                    let less: Vec<String> = protections
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter(|protection| text(protection, "enforced") != "fully")
                        .map(|protection| text(protection, "name"))
                        .collect();
                    let missing: Vec<_> =
                        weaker.iter().filter(|name| !less.contains(&(**name).to_owned())).collect();
                    let unexpected: Vec<_> =
                        less.iter().filter(|name| !weaker.contains(&name.as_str())).collect();
                    if !lacks("a kernel that has every mechanism", !order.is_empty() || less.is_empty()) {
                        assert!(missing.is_empty() && unexpected.is_empty(), "{order:?}: {protections}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_probes_reach_what_no_sandbox_is_in_the_way_of() {
    // Symptom: a probe that could never succeed is counted as refused.
    if cannot_run() {
        return;
    }
    for rig in rigs() {
        let (answers, outcome) = run(&rig, "", "");
        let reached =
            |wanted: &str| answers.values().filter(|(kind, reached)| kind == wanted && *reached).count();
        let of = |wanted: &str| answers.values().filter(|(kind, _)| kind == wanted).count();
        for kind in [
            "+always",
            "+workspace",
            "metadata",
            "protected",
            "secrets",
            "names",
            "abstract",
            "hidden_socket",
        ] {
            let missed: Vec<_> = answers
                .iter()
                .filter(|(_, (it, reached))| it == kind && !reached)
                .map(|(name, _)| name)
                .collect();
            assert!(missed.is_empty(), "{kind}: {missed:?}: {outcome}");
        }
        // Some are the kernel's to refuse to an ordinary user, some this machine does not have.
        assert!(reached("filesystem") >= 24 && reached("signals") >= 6, "{outcome}");
        assert!(reached("network") == 2 && reached("descriptors") == of("descriptors"), "{outcome}");
        assert!(answers.values().filter(|(_, reached)| *reached).count() >= 60, "{outcome}");
    }
}

#[test]
fn the_network_can_stay_on() {
    // Symptom: --network on, and nothing is reached; or more than the network is.
    if cannot_run() {
        return;
    }
    for rig in rigs() {
        let (answers, outcome) = run(&rig, "--sandbox workspace-write --network on", "");
        let reached = |name: &str| answers.get(name).map(|(_, reached)| *reached);
        assert_eq!((reached("tcp_loopback"), reached("udp_loopback")), (Some(true), Some(true)), "{outcome}");
        for name in ["write_outside", "abstract_socket", "signal_victim", "packet_socket", "kernel_crypto"] {
            assert_eq!(reached(name), Some(false), "{name}: {outcome}");
        }
    }
}
