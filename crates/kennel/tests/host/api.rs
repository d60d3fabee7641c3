//! The library's interface as a program meets it: doors, bad input, events, reads, promotion.

#![expect(clippy::panic, reason = "a test says what it got instead")]

use std::time::Duration;

use kennel::{
    Clamped, ClampedValue, End, Error, EventBody, Kennel, Kill, OnTimeout, Read, Request, Session, Status,
    Survivors, Timeout,
};

async fn session() -> Session {
    Kennel::builder().build().await.expect("the library").session().open().await.expect("a session")
}

/// Row 28. Symptom: two hours were asked, ten minutes given, and nobody said so.
pub(crate) async fn an_agents_timeout_is_clamped_and_says_so() {
    let session = session().await;
    let two_hours = Request::shell("true").timeout(Duration::from_secs(7200));
    let outcome = session.run(two_hours).await.expect("a call");
    let clamped = Clamped { timeout_ms: Some(ClampedValue { asked: 7_200_000, used: 600_000 }) };
    assert_eq!((outcome.success, outcome.clamped), (true, Some(clamped)));
    let free = Request::shell("true").timeout_choice(Timeout::None);
    assert_eq!(session.run(free).await.expect("a call").clamped, None);
    assert!(session.close().await);
}

/// Row 4. Symptom: a timeout threw the output away and left the detached child.
pub(crate) async fn a_timeout_keeps_what_came_and_proves_the_rest_dead() {
    let session = session().await;
    let request =
        Request::shell("echo before; setsid sleep 300 & sleep 60").timeout(Duration::from_millis(300));
    let outcome = session.run(request).await.expect("a call");
    assert_eq!(
        (outcome.stdout.as_str(), &outcome.end, outcome.exit_code),
        ("before\n", &Some(End::TimedOut), Some(124))
    );
    assert_eq!((outcome.background_pids, outcome.proof), (Some(Vec::new()), Some(kennel::Proof::Echild)));
    assert!(session.close().await);
}

/// Symptom: a hidden rule turned a slow call into a background job. Here it is asked for, and loses nothing.
pub(crate) async fn a_timeout_may_mean_the_background() {
    let session = session().await;
    let request = Request::shell("echo early; read x < <(sleep 1); echo late")
        .timeout(Duration::from_millis(200))
        .on_timeout(OnTimeout::Background);
    let outcome = session.run(request).await.expect("a call");
    assert_eq!(
        (outcome.status, outcome.exit_code, outcome.stdout.as_str()),
        (Status::Running, None, "early\n")
    );
    let kennel = Kennel::builder().build().await.expect("the library");
    let task = kennel.task(&outcome.task_id).await.expect("it is listed");
    let page = task.read(Read::from(0).until("late")).await.expect("its output");
    assert_eq!((page.matched, page.text.as_str()), (Some(true), "early\nlate\n"));
    assert!(session.close().await);
}

/// Row 25. Symptom: "argument list too long", panics, or silence.
pub(crate) async fn bad_input_is_named_and_large_input_works() {
    let session = session().await;
    let refused = async |request: Request, named: &str| match session.run(request).await {
        Err(error @ Error::BadRequest { .. }) => {
            assert!(error.to_string().contains(named) && error.hint().is_some(), "{error}");
        }
        other => panic!("{named}: {other:?}"),
    };
    refused(Request::shell(""), "empty").await;
    refused(Request::shell(" \n\t"), "empty").await;
    refused(Request::argv([""]), "empty").await;
    refused(Request::argv::<_, &str>([]), "empty").await;
    refused(Request::shell("echo a\0b"), "NUL").await;
    refused(Request::shell("true").cwd("/no/such/place"), "/no/such/place").await;
    refused(Request::shell("true").cwd("/etc/passwd"), "/etc/passwd").await;
    refused(Request::shell("true").env("A=B", "c"), "A=B").await;
    refused(Request::shell("true").env("", "c"), "\"\"").await;
    refused(Request::shell("true").env("A", "c\0d"), "A").await;

    let long = format!("x='{}'; echo ${{#x}}", "y".repeat(300_000));
    assert_eq!(session.run(Request::shell(long)).await.expect("a call").stdout, "300000\n");
    let crowded = (0..5000).fold(Request::shell("env | grep -c ^VARIABLE_"), |request, number| {
        request.env(format!("VARIABLE_{number}"), "value")
    });
    assert_eq!(session.run(crowded).await.expect("a call").stdout, "5000\n");
    match session.start(Request::argv(["no-such-program-at-all"])).await {
        Err(Error::NotStarted { exit_code: 127, why }) => {
            assert!(why.contains("no-such-program-at-all"), "{why}");
        }
        other => panic!("{other:?}"),
    }
    assert!(session.close().await);
}

pub(crate) async fn events_have_numbers_without_gaps_and_end_with_the_outcome() {
    let session = session().await;
    let task = session.start(Request::shell("echo one; echo two >&2; exit 3")).await.expect("a task");
    let mut events = task.events();
    let (mut seq, mut text, mut last) = (0, String::new(), None);
    while let Some(event) = events.next().await {
        seq += 1;
        assert_eq!(event.seq, seq);
        match event.body {
            EventBody::Output { text: more, .. } => text += &more,
            EventBody::Done { outcome } => last = Some(outcome),
            _ => {}
        }
    }
    let outcome = last.expect("the last event is the outcome");
    assert_eq!((text.len(), outcome.exit_code, outcome.stderr.as_str()), (8, Some(3), "two\n"));
    assert!(session.close().await);
}

/// Row 1 and its choices. Symptom: the call hung until the sleep ended.
pub(crate) async fn survivors_are_told_killed_or_left() {
    let session = session().await;
    let line = "sleep 300 & echo started";
    let adopted = session.run(Request::shell(line)).await.expect("a call");
    assert_eq!((adopted.stdout.as_str(), adopted.success, adopted.survivors.len()), ("started\n", true, 1));
    let killed = session.run(Request::shell(line).survivors(Survivors::Kill)).await.expect("a call");
    assert_eq!(
        (killed.survivors.len(), killed.success, killed.proof),
        (0, true, Some(kennel::Proof::Echild))
    );
    let kennel = Kennel::builder().build().await.expect("the library");
    let task = kennel.task(&adopted.task_id).await.expect("it is listed");
    let report = task.kill(Kill::terminate()).await.expect("a report");
    assert!(report.success && report.survivors.is_empty(), "{report:?}");
    assert!(session.close().await);
}

/// Symptom: the guard of a library session did not hold its lifeline, and its death was not seen.
pub(crate) async fn a_killed_guard_ends_its_sessions_tasks() {
    let session = session().await;
    let task = session.start(Request::shell("trap '' TERM; sleep 300 & wait")).await.expect("a task");
    let leader =
        testkit::pidfd(u32::try_from(task.pid().await.expect("a pid")).expect("a pid")).expect("a pidfd");
    assert!(testkit::signal(
        u32::try_from(session.guard_pid()).expect("a pid"),
        rustix::process::Signal::KILL
    ));
    let mut polled = [rustix::event::PollFd::new(&leader, rustix::event::PollFlags::IN)];
    assert!(testkit::Deadline::after(Duration::from_millis(1500)).poll(&mut polled), "the leader lives");
    let outcome = task.tree_outcome().await.expect("its supervisor told");
    assert_eq!(outcome.end, Some(End::Stopped { by: kennel::StoppedBy::GuardExit }));
}
