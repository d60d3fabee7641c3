//! Sessions as a program meets them: the directory, the environment, what is kept and what is closed.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use kennel::{
    End, Enforced, Error, Kennel, Kill, Notice, OnOwnerExit, Outcome, Persist, Request, ScrubEnv, Session,
    SessionState, Status,
};

/// Runs the case of that name; false when there is none.
pub(crate) async fn run(name: &str) -> bool {
    match name {
        "the_directory_persists_however_a_call_ends" => the_directory_persists().await,
        "what_does_not_move_the_session" => what_does_not_move().await,
        "an_unknown_directory_keeps_the_old_one_and_says_so" => an_unknown_directory().await,
        "a_deleted_directory_falls_back_to_the_root" => a_deleted_directory().await,
        "an_agents_environment_has_no_secrets" => no_secrets().await,
        "a_login_shell_is_asked_for_its_environment" => login_environment().await,
        "other_shells_run_lines" => other_shells().await,
        "a_closed_session_leaves_what_is_kept" => what_is_kept().await,
        "a_saved_session_is_gone_on_with_and_closed" => saved().await,
        "a_call_goes_to_the_background_without_losing_a_byte" => promoted().await,
        _ => return false,
    }
    true
}

async fn library() -> Kennel {
    Kennel::builder().build().await.expect("the library")
}

async fn call(session: &Session, line: &str) -> Outcome {
    session.run(Request::shell(line)).await.expect("a call")
}

/// Where the session's shell says that it is.
async fn place(session: &Session) -> String {
    call(session, "pwd").await.stdout.trim_end().to_owned()
}

/// Row 12. Symptom: the directory was lost when the command failed, or exited early.
async fn the_directory_persists() {
    let root = tempfile::tempdir().expect("a directory");
    let root = root.path().canonicalize().expect("a path");
    for name in ["a", "a/b", "a/b/c", "with space"] {
        std::fs::create_dir_all(root.join(name)).expect("a directory");
    }
    std::os::unix::fs::symlink(root.join("a/b"), root.join("link")).expect("a link");
    let session = library().await.session().cwd(&root).open().await.expect("a session");
    let moves = async |line: &str, to: &str| {
        let outcome = call(&session, line).await;
        let expected = if to.is_empty() { root.clone() } else { root.join(to) };
        assert_eq!(Path::new(&outcome.cwd), expected, "the result of {line}: {outcome:?}");
        assert_eq!(Path::new(&place(&session).await), expected, "after {line}");
    };
    moves("cd a", "a").await;
    moves("cd b; exit 3", "a/b").await;
    moves("set -e; cd c; false; echo never", "a/b/c").await;
    moves("cd ..; kill -TERM $$", "a/b").await;
    moves("cd ../.. && cd 'with space' && false", "with space").await;
    moves("cd ../link", "link").await;
    moves("pushd .. >/dev/null", "").await;
    moves("(cd a)", "").await;
    moves("cd a | cat", "").await;
    moves("cd a; sleep 0.01 &", "a").await;
    let slow = Request::shell("cd b; sleep 60").timeout(Duration::from_millis(300));
    let timed_out = session.run(slow).await.expect("a call");
    assert_eq!(timed_out.end, Some(End::TimedOut));
    assert_eq!(Path::new(&place(&session).await), root.join("a/b"), "after a timeout");
    assert!(session.close().await);
}

async fn what_does_not_move() {
    let root = tempfile::tempdir().expect("a directory");
    std::fs::create_dir_all(root.path().join("a")).expect("a directory");
    let library = library().await;
    let session = library.session().cwd(root.path()).open().await.expect("a session");
    let start = place(&session).await;
    let task = session.start(Request::shell("cd a; echo there")).await.expect("a task");
    assert_eq!(task.outcome().await.expect("an end").cwd, start, "a background task");
    let elsewhere = session.run(Request::shell("cd ..; pwd").cwd("a")).await.expect("a call");
    assert_eq!((elsewhere.cwd.as_str(), elsewhere.stdout.trim_end()), (start.as_str(), start.as_str()));
    assert_eq!(place(&session).await, start);
    assert!(session.close().await);
    let forgetful =
        library.session().cwd(root.path()).persist(Persist::None).open().await.expect("a session");
    assert_eq!(call(&forgetful, "cd a").await.cwd, start);
    assert_eq!(place(&forgetful).await, start);
    assert!(forgetful.close().await);
}

async fn an_unknown_directory() {
    let session = library().await.session().cwd("/").open().await.expect("a session");
    for line in ["trap : EXIT; cd /tmp", "cd /tmp; exec true", "cd /tmp; kill -9 $$"] {
        let outcome = call(&session, line).await;
        assert!(outcome.notices.contains(&Notice::CwdUnknown), "{line}: {:?}", outcome.notices);
        assert_eq!((outcome.cwd.as_str(), place(&session).await.as_str()), ("/", "/"), "{line}");
    }
    assert!(session.close().await);
}

/// Row 12. Symptom: the tool was bricked for good when the directory had been removed.
async fn a_deleted_directory() {
    let root = tempfile::tempdir().expect("a directory");
    let session = library().await.session().cwd(root.path()).open().await.expect("a session");
    let start = place(&session).await;
    call(&session, "mkdir sub; cd sub").await;
    std::fs::remove_dir(root.path().join("sub")).expect("remove it");
    let next = call(&session, "pwd").await;
    assert_eq!((next.stdout.trim_end(), next.cwd.as_str()), (start.as_str(), start.as_str()));
    let said = |outcome: &Outcome| outcome.notices.iter().any(|n| matches!(n, Notice::CwdReset { .. }));
    assert!(said(&next), "{:?}", next.notices);
    assert!(!said(&call(&session, "pwd").await), "it is said once");
    let removed = call(&session, "mkdir x; cd x; rmdir ../x").await;
    assert_eq!(removed.cwd, start, "where the next call starts");
    assert!(said(&call(&session, "true").await));
    assert!(session.close().await);
}

/// Symptom: `env` in an agent's shell showed the tokens of the person who had started the agent.
async fn no_secrets() {
    let variables = |pairs: &[(&str, &str)]| -> Vec<_> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    };
    let base = variables(&[
        ("PATH", "/usr/bin:/bin"),
        ("GITHUB_TOKEN", "xyzzy-1"),
        ("NPM_TOKEN", "xyzzy-2"),
        ("DB_PASSWORD", "xyzzy-3"),
    ]);
    let library = library().await;
    let session = library.session().env(base.clone()).env_pass(["NPM_*"]).variable("DB_PASSWORD", "mine");
    let session = session.open().await.expect("a session");
    let outcome = call(&session, "env | sed 's/^KENNEL_TASK=.*/KENNEL_TASK/' | sort").await;
    let shown: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(
        shown,
        [
            "DB_PASSWORD=mine",
            "GIT_TERMINAL_PROMPT=0",
            "KENNEL_TASK",
            "LANG=C.UTF-8",
            "NPM_TOKEN=xyzzy-2",
            "PAGER=cat",
            "PATH=/usr/bin:/bin",
            shown.iter().find(|line| line.starts_with("PWD=")).expect("bash sets it"),
            "SHLVL=1",
            "_=/usr/bin/env",
        ]
    );
    let scrubbed = outcome.protections.iter().find(|it| it.name == "scrub_env").expect("it is told");
    assert_eq!((scrubbed.enforced, &scrubbed.names), (Enforced::Fully, &vec!["GITHUB_TOKEN".to_owned()]));
    let given = Request::shell("echo $GITHUB_TOKEN").env("GITHUB_TOKEN", "given");
    let given = session.run(given).await.expect("a call");
    assert_eq!((given.stdout.as_str(), given.protections[0].names.len()), ("given\n", 0));
    let started = session.start(Request::shell("true")).await.expect("a task");
    started.tree_outcome().await.expect("an end");
    assert!(!holds(library.state_dir(), b"xyzzy-1"), "a scrubbed value is on disk");
    assert!(session.close().await);
    let open = library.session().env(base).scrub_env(ScrubEnv::Off).open().await.expect("a session");
    let outcome = call(&open, "echo $GITHUB_TOKEN").await;
    assert_eq!((outcome.stdout.as_str(), outcome.protections.len()), ("xyzzy-1\n", 0));
    assert!(open.close().await);
}

/// Whether a file below `directory` holds these bytes.
fn holds(directory: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(directory).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => holds(&path, bytes),
            Ok(kind) if kind.is_file() => {
                let content = std::fs::read(path).unwrap_or_default();
                content.windows(bytes.len()).any(|window| window == bytes)
            }
            _ => false,
        }
    })
}

async fn login_environment() {
    let home = tempfile::tempdir().expect("a directory");
    let profile = "export FROM_PROFILE=yes API_TOKEN=xyzzy-4 PATH=/opt/mine:$PATH; echo noise";
    std::fs::write(home.path().join(".profile"), profile).expect("a profile");
    let variables = |shell: &str| {
        [
            ("PATH", OsStr::new("/usr/bin:/bin")),
            ("HOME", home.path().as_os_str()),
            ("SHELL", OsStr::new(shell)),
        ]
        .map(|(name, value)| (name.into(), value.to_owned()))
    };
    let library = library().await;
    let session = library.session().env(variables("/bin/bash")).login_env().open().await.expect("a session");
    let outcome = call(&session, "echo $FROM_PROFILE ${API_TOKEN-none} $PATH").await;
    assert!(outcome.stdout.starts_with("yes none /opt/mine:"), "{}", outcome.stdout);
    assert!(!holds(library.state_dir(), b"xyzzy-4"), "a scrubbed value is on disk");
    assert!(session.close().await);
    std::fs::write(home.path().join(".profile"), "exit 7").expect("a profile");
    let session = library.session().env(variables("/bin/bash")).login_env().open().await.expect("a session");
    let outcome = call(&session, "echo $PATH").await;
    assert_eq!(outcome.stdout, "/usr/bin:/bin\n");
    let told = outcome.protections.iter().find(|it| it.name == "login_env").expect("it is told");
    assert!(told.why.is_some());
    assert!(session.close().await);
}

async fn other_shells() {
    let library = library().await;
    for shell in ["sh", "zsh", "fish"] {
        let session = match library.session().shell(shell).open().await {
            Ok(session) => session,
            Err(error) => {
                assert!(testkit::lacks_program(&[shell]), "{error}");
                continue;
            }
        };
        let outcome = call(&session, "echo one; exit 3").await;
        assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("one\n", Some(3)), "{shell}");
        let moved = call(&session, "cd /").await;
        assert!(moved.notices.contains(&Notice::CwdUnknown), "{shell} reports no directory");
        assert!(session.close().await);
    }
    let missing = library.session().shell("no-such-shell").open().await;
    assert!(matches!(missing, Err(Error::BadRequest { .. })), "{missing:?}");
}

async fn what_is_kept() {
    let library = library().await;
    let session = library.session().open().await.expect("a session");
    let deaf = "trap '' TERM; echo up; while :; do sleep 300; done";
    let kept =
        session.start(Request::shell("sleep 300").on_owner_exit(OnOwnerExit::Keep)).await.expect("a task");
    let later = session.start(Request::shell("sleep 300")).await.expect("a task");
    later.keep().await.expect("it is kept");
    let bound = session.start(Request::shell("sleep 300")).await.expect("a task");
    call(&session, &format!("({deaf}) & sleep 0.01")).await;
    assert!(session.close().await, "all but the kept ones are dead");
    let ended = bound.tree_outcome().await.expect("an outcome");
    assert_eq!(ended.end, Some(End::Stopped { by: kennel::StoppedBy::Session }));
    let running = |library: &Kennel| {
        let tasks = library.tasks().into_iter().filter(|task| task.status == Status::Running);
        tasks.map(|task| task.id).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(running(&library), [kept.id(), later.id()].map(str::to_owned).into());
    for task in [&kept, &later] {
        let task = library.task(task.id()).await.expect("it is listed");
        let report = task.kill(Kill::now()).await.expect("a report");
        assert!(report.success, "{report:?}");
    }
    assert!(running(&library).is_empty());
}

async fn saved() {
    let root = tempfile::tempdir().expect("a directory");
    let root = root.path().canonicalize().expect("a path");
    std::fs::create_dir(root.join("sub")).expect("a directory");
    let library = library().await;
    let builder = || library.session().id("mine").saved();
    assert_eq!(builder().cwd(&root).variable("WHO", "me").save().expect("a name"), "mine");
    assert!(matches!(builder().cwd(&root).save(), Err(Error::BadRequest { .. })), "it is open already");
    let first = builder().open().await.expect("a session");
    assert_eq!(call(&first, "echo $WHO; cd sub").await.stdout, "me\n");
    let left =
        first.start(Request::shell("sleep 300").on_owner_exit(OnOwnerExit::Keep)).await.expect("a task");
    assert!(first.close().await);
    // Another process would do the same: nothing but the name is carried over.
    let second = builder().open().await.expect("a session");
    assert_eq!(Path::new(&place(&second).await), root.join("sub"));
    let shown = library.session_info("mine").expect("it is known");
    assert_eq!((shown.state, Path::new(&shown.cwd)), (SessionState::Open, root.join("sub").as_path()));
    assert_eq!(
        (shown.variables.as_slice(), shown.running.as_slice()),
        (&["WHO".to_owned()][..], &[left.id().to_owned()][..])
    );
    let closed = library.close_session("mine", &Kill::terminate(), false).await.expect("a report");
    assert!(closed.success && closed.killed.len() == 1 && closed.killed[0].success, "{closed:?}");
    let refused = second.run(Request::shell("true")).await;
    assert!(matches!(refused, Err(Error::UnknownSession { .. })), "it is closed: {refused:?}");
    assert!(second.close().await);
    assert!(matches!(library.session_info("mine"), Err(Error::UnknownSession { .. })));
    let late = library.close_session("mine", &Kill::terminate(), false).await;
    assert!(matches!(late, Err(Error::UnknownSession { .. })), "{late:?}");
}

/// Symptom: a command that was moved to the background lost what it had written around that moment.
async fn promoted() {
    let root = tempfile::tempdir().expect("a directory");
    let session = library().await.session().cwd(root.path()).open().await.expect("a session");
    let start = place(&session).await;
    let line = "for i in $(seq 2000); do echo $i; done; mkdir a; cd a; read x < go; echo last";
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.path().join("go"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .expect("a FIFO");
    let task = session.foreground(Request::shell(line.replace("< go", "< ../go"))).await.expect("a task");
    task.background().await.expect("it goes on");
    std::fs::write(root.path().join("go"), "x\n").expect("let it go on");
    let outcome = task.tree_outcome().await.expect("an end");
    let expected: String = (1..=2000).map(|i| format!("{i}\n")).chain(["last\n".to_owned()]).collect();
    assert_eq!((outcome.stdout, outcome.cwd), (expected, start.clone()));
    assert_eq!(place(&session).await, start, "a background task never moves the session");
    assert!(session.close().await);
}
