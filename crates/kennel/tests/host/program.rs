//! The program under test: it opens a session, starts tasks, says so, and waits to be killed.
#![expect(clippy::print_stdout, reason = "it talks to the test over its standard output")]

use std::process::ExitCode;

use kennel::policy::{Decision, LayerKind, Policy};
use kennel::{Answer, Error, Kennel, Kill, PolicyChoice, Request, Session};

use crate::{api, input};

/// `crowd COUNT COMMAND`: so many tasks; `worker COUNT COMMAND`: the same, and a forked worker that outlives us;
/// `calls COUNT`: so many foreground calls, and what they left; `cancel COMMAND`: a call whose future is dropped;
/// `verdicts`: what the policy lets run.
pub(crate) fn main(words: &[String]) -> ExitCode {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        match words.as_slice() {
            ["crowd", count, command] => crowd(count, command, false).await,
            ["worker", count, command] => crowd(count, command, true).await,
            ["calls", count] => calls(count).await,
            ["cancel", command] => cancel(command).await,
            ["an_agents_timeout_is_clamped_and_says_so"] => {
                api::an_agents_timeout_is_clamped_and_says_so().await;
            }
            ["a_timeout_keeps_what_came_and_proves_the_rest_dead"] => {
                api::a_timeout_keeps_what_came_and_proves_the_rest_dead().await;
            }
            ["a_timeout_may_mean_the_background"] => api::a_timeout_may_mean_the_background().await,
            ["bad_input_is_named_and_large_input_works"] => {
                api::bad_input_is_named_and_large_input_works().await;
            }
            ["events_have_numbers_without_gaps_and_end_with_the_outcome"] => {
                api::events_have_numbers_without_gaps_and_end_with_the_outcome().await;
            }
            ["survivors_are_told_killed_or_left"] => api::survivors_are_told_killed_or_left().await,
            ["a_killed_guard_ends_its_sessions_tasks"] => api::a_killed_guard_ends_its_sessions_tasks().await,
            ["a_command_is_given_its_input"] => input::a_command_is_given_its_input().await,
            ["verdicts"] => verdicts().await,
            [name] if crate::sessions::run(name).await => {}
            _ => return ExitCode::from(64),
        }
        ExitCode::SUCCESS
    })
}

async fn crowd(count: &str, command: &str, with_worker: bool) {
    let kennel = Kennel::builder().build().await.expect("the library");
    let session = kennel.session().policy(PolicyChoice::Off).open().await.expect("a session");
    let mut tasks = Vec::new();
    for _ in 0..count.parse::<usize>().expect("a count") {
        tasks.push(session.start(Request::shell(command)).await.expect("a task"));
    }
    if with_worker {
        println!("worker {}", testkit::fork_worker());
    }
    let keepers: Vec<String> =
        tasks.iter().map(|task| task.info().expect("a record").supervisor_pid.to_string()).collect();
    println!("up {}", keepers.join(" "));
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line");
    if line.trim() == "kill" {
        for task in tasks {
            let report = task.kill(Kill::now()).await.expect("a report");
            assert!(report.success, "{report:?}");
        }
    } else {
        drop(tasks);
    }
    println!("closed {}", session.close().await);
}

async fn calls(count: &str) {
    let kennel = Kennel::builder().build().await.expect("the library");
    let session = kennel.session().policy(PolicyChoice::Off).open().await.expect("a session");
    let run = async |command: &str| {
        let outcome = session.run(Request::shell(command)).await.expect("a call");
        assert_eq!((outcome.stdout.as_str(), outcome.exit_code), ("out\n", Some(3)), "{outcome:?}");
    };
    run("echo out; exit 3").await;
    let before = [descriptors(), children()];
    for _ in 0..count.parse::<usize>().expect("a count") {
        run("echo out; exit 3").await;
    }
    let left = [descriptors() - before[0], children() - before[1]];
    println!("left {} {}", left[0], left[1]);
    println!("closed {}", session.close().await);
    println!("children {}", children());
}

fn descriptors() -> i64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.map(|_| 1).sum())
}

fn children() -> i64 {
    let list = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    list.split_whitespace().map(|_| 1).sum()
}

async fn cancel(command: &str) {
    let kennel = Kennel::builder().build().await.expect("the library");
    let session = kennel.session().policy(PolicyChoice::Off).open().await.expect("a session");
    let request = Request::shell(command).grace(std::time::Duration::from_millis(100));
    let stdin = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    tokio::select! {
        outcome = session.run(request) => println!("ended {outcome:?}"),
        _ = stdin => println!("dropped"),
    }
    let stdin = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    stdin.await.expect("a thread").expect("a line");
    println!("closed {}", session.close().await);
}

/// What the policy asks about and what does no harm.
const ASKED: &str = "\"$NO_SUCH_VARIABLE\" || echo ran";

async fn verdicts() {
    let kennel = Kennel::builder().build().await.expect("the library");
    let session = kennel.session().open().await.expect("a session");
    let fine = session.run(Request::shell("echo fine")).await.expect("an outcome");
    let verdict = fine.verdict.expect("it was checked");
    assert_eq!((verdict.decision, verdict.rules.len()), (Decision::Allow, 0));
    denied(&session, Request::shell("rm -rf /"), Decision::Deny).await;
    denied(&session, Request::argv(["env", "rm", "-rf", "/"]), Decision::Deny).await;
    denied(&session, Request::shell("rm -rf /").answered(Answer::Run), Decision::Deny).await;
    denied(&session, Request::shell(ASKED), Decision::Ask).await;
    denied(&session, Request::shell("true").env("LD_PRELOAD", "/tmp/x.so"), Decision::Ask).await;
    let judged = session.judge(&Request::shell(ASKED)).expect("a verdict").expect("it is on");
    assert_eq!(judged.decision, Decision::Ask);
    let answered = session.run(Request::shell(ASKED).answered(Answer::Run)).await.expect("an outcome");
    assert_eq!((answered.stdout.as_str(), answered.verdict.expect("one").decision), ("ran\n", Decision::Ask));
    assert!(session.close().await);

    let (tell, told) = std::sync::mpsc::channel();
    let answers = kennel.session().on_ask(move |verdict| {
        let _test_has_ended = tell.send(verdict.worst().map(|finding| finding.rule.clone()));
        Answer::Run
    });
    let session = answers.open().await.expect("a session");
    let task = session.start(Request::shell(ASKED)).await.expect("a task");
    assert_eq!(told.try_recv(), Ok(Some("exec.dynamic".to_owned())));
    let recorded = kennel.task(task.id()).await.expect("the task").outcome().await.expect("an outcome");
    assert_eq!(recorded.verdict.map(|verdict| verdict.decision), Some(Decision::Ask), "from the record");
    denied(&session, Request::shell("rm -rf /"), Decision::Deny).await;
    assert!(session.close().await);

    let rules = [(LayerKind::User, "blocked_commands = [\"echo\"]")];
    let rules = Policy::with_layers(&rules).expect("rules");
    let session = kennel.session().rules(rules.clone()).open().await.expect("a session");
    denied(&session, Request::shell("env echo x"), Decision::Deny).await;
    assert!(session.close().await);
    let session = kennel.session().rules(rules).policy(PolicyChoice::Off).open().await.expect("a session");
    let unchecked = session.run(Request::shell("echo x")).await.expect("an outcome");
    assert!(unchecked.verdict.is_none() && unchecked.notices == [kennel::Notice::Unchecked], "{unchecked:?}");
    assert!(session.close().await);
    println!("verdicts as they should be");
}

async fn denied(session: &Session, request: Request, expected: Decision) {
    match session.run(request).await {
        Err(Error::Denied { verdict, .. }) => assert_eq!(verdict.decision, expected, "{verdict:?}"),
        other => assert!(matches!(other, Err(Error::Denied { .. })), "not refused: {other:?}"),
    }
}
