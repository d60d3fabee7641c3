//! The table, row by row.

use super::*;
use crate::end::StoppedBy;

const TERMS: Terms = Terms {
    survivors: Survivors::Adopt,
    on_timeout: OnTimeout::Kill,
    on_owner_exit: OnOwnerExit::Kill,
    grace_ms: 5000,
};

const SPUN: Crossed = Crossed { limit: "cpu_time", used: 1010, max: 1000 };

fn exited(code: i32, alone: bool) -> Input {
    Input::LeaderEnded { status: WaitStatus::Exited(code), alone }
}

fn stop(grace_ms: u64, force: Force) -> Input {
    Input::Stop(Stop { by: StoppedBy::User, signal: libc::SIGTERM, grace_ms, force })
}

fn run(terms: Terms, inputs: &[Input]) -> (State, Vec<Action>) {
    let mut all = Vec::new();
    let mut state = State::Starting;
    for input in inputs {
        let (next, actions) = step(state, input.clone(), terms);
        state = next;
        all.extend(actions);
    }
    (state, all)
}

fn check(terms: Terms, inputs: &[Input], end: Option<&End>, actions: &[Action]) {
    let (state, done) = run(terms, inputs);
    assert_eq!((state.end(), done.as_slice()), (end, actions), "after {inputs:?}: {state:?}");
}

use Action::{
    AnnounceBackground, AnnounceStart, AnswerStuck, ArmGrace, DisarmTimeout, Disown, Finish, Report, Settle,
    SignalTree, Sweep,
};

#[test]
fn a_command_that_ends_alone_is_finished_at_once() {
    check(
        TERMS,
        &[Input::Started, exited(3, true)],
        Some(&End::Exited { code: 3 }),
        &[AnnounceStart, DisarmTimeout, Finish],
    );
    // It may end before its exec was seen.
    check(TERMS, &[exited(0, true)], Some(&End::Exited { code: 0 }), &[DisarmTimeout, Finish]);
}

#[test]
fn a_command_that_never_ran_is_not_started() {
    let why = "execute x: no such file".to_owned();
    check(TERMS, &[Input::NotStarted(why.clone())], Some(&End::NotStarted { why }), &[Finish]);
}

#[test]
fn survivors_are_adopted_left_or_killed() {
    let inputs = [Input::Started, exited(0, false), Input::Settled];
    let end = End::Exited { code: 0 };
    let upto = [AnnounceStart, DisarmTimeout, Settle];
    check(TERMS, &inputs, Some(&end), &[&upto[..], &[Report]].concat());
    let leave = Terms { survivors: Survivors::Leave, ..TERMS };
    check(leave, &inputs, Some(&end), &[&upto[..], &[Disown, Report]].concat());
    let kill = Terms { survivors: Survivors::Kill, ..TERMS };
    let ladder = [DisarmTimeout, SignalTree(libc::SIGTERM), ArmGrace(5000)];
    check(kill, &inputs, Some(&end), &[&upto[..], &ladder].concat());
}

#[test]
fn an_end_never_changes_once_it_is_known() {
    let inputs = [Input::Started, exited(0, false), Input::Settled, stop(0, Force::Kill), Input::Empty];
    let (state, actions) = run(TERMS, &inputs);
    assert_eq!(state, State::Ended { end: End::Exited { code: 0 } });
    assert_eq!(actions.last(), Some(&Finish));
}

#[test]
fn all_six_inputs_use_the_one_kill_path() {
    let session = Input::Stop(Stop {
        by: StoppedBy::Session,
        signal: libc::SIGTERM,
        grace_ms: 5000,
        force: Force::Kill,
    });
    let cancel = Input::Stop(Stop {
        by: StoppedBy::Cancel,
        signal: libc::SIGTERM,
        grace_ms: 5000,
        force: Force::Kill,
    });
    for (input, end) in [
        (Input::TimedOut, End::TimedOut),
        (cancel, End::Stopped { by: StoppedBy::Cancel }),
        (stop(5000, Force::Kill), End::Stopped { by: StoppedBy::User }),
        (Input::Limit(SPUN), SPUN.into()),
        (Input::OwnerGone(Farewell::Closed), End::Stopped { by: StoppedBy::OwnerExit }),
        (session, End::Stopped { by: StoppedBy::Session }),
    ] {
        let grace = match input {
            Input::OwnerGone(Farewell::Closed) => SESSION_CLOSED_GRACE_MS,
            Input::Limit(_) => LIMIT_GRACE_MS,
            _ => 5000,
        };
        let inputs = [Input::Started, input, Input::GraceOver, exited(0, false), Input::Empty];
        let path = [
            AnnounceStart,
            DisarmTimeout,
            SignalTree(libc::SIGTERM),
            ArmGrace(grace),
            Sweep,
            DisarmTimeout,
            DisarmTimeout,
            Finish,
        ];
        check(TERMS, &inputs, Some(&end), &path);
    }
}

#[test]
fn a_hog_of_memory_or_processes_is_swept_at_once() {
    for limit in ["memory", "pids"] {
        let crossed = Crossed { limit, used: 2, max: 1 };
        let end = End::Limit { limit: limit.to_owned(), used: Some(2), max: Some(1) };
        let inputs = [Input::Started, Input::Limit(crossed), Input::Empty];
        check(TERMS, &inputs, Some(&end), &[AnnounceStart, DisarmTimeout, Sweep, DisarmTimeout, Finish]);
    }
    let inputs = [Input::Started, Input::Limit(SPUN), exited(153, true)];
    let path = [
        AnnounceStart,
        DisarmTimeout,
        SignalTree(libc::SIGTERM),
        ArmGrace(LIMIT_GRACE_MS),
        DisarmTimeout,
        Finish,
    ];
    check(TERMS, &inputs, Some(&SPUN.into()), &path);
}

#[test]
fn a_timeout_may_mean_the_background() {
    let terms = Terms { on_timeout: OnTimeout::Background, ..TERMS };
    let (state, actions) = run(terms, &[Input::Started, Input::TimedOut]);
    assert_eq!((state, actions), (State::Running, vec![AnnounceStart, DisarmTimeout, AnnounceBackground]));
}

#[test]
fn a_kept_task_ignores_its_owners_death() {
    let terms = Terms { on_owner_exit: OnOwnerExit::Keep, ..TERMS };
    check(terms, &[Input::Started, Input::OwnerGone(Farewell::Died)], None, &[AnnounceStart]);
}

#[test]
fn a_second_order_without_grace_skips_the_grace() {
    let (state, actions) = run(TERMS, &[Input::Started, stop(5000, Force::Kill), stop(0, Force::Kill)]);
    assert!(matches!(state, State::Ending { phase: Phase::Sweep, .. }));
    assert_eq!(actions.last(), Some(&Sweep));
}

#[test]
fn after_the_leader_the_ladder_goes_on_with_sigterm() {
    // Symptom: Ctrl-C ends the command at once, and its background jobs, which ignore SIGINT, after the whole grace.
    let order = |signal, force| Input::Stop(Stop { by: StoppedBy::Cancel, signal, grace_ms: 5000, force });
    let end = End::Stopped { by: StoppedBy::Cancel };
    let ladder = |signal| [AnnounceStart, DisarmTimeout, SignalTree(signal), ArmGrace(5000), DisarmTimeout];
    let inputs = |signal, force| [Input::Started, order(signal, force), exited(0, false)];
    let interrupted = [&ladder(libc::SIGINT)[..], &[SignalTree(libc::SIGTERM)]].concat();
    check(TERMS, &inputs(libc::SIGINT, Force::Kill), Some(&end), &interrupted);
    // Nobody gets SIGTERM twice, and nobody more than was asked for.
    check(TERMS, &inputs(libc::SIGTERM, Force::Kill), Some(&end), &ladder(libc::SIGTERM));
    check(TERMS, &inputs(libc::SIGINT, Force::Never), Some(&end), &ladder(libc::SIGINT));
    // The terminal's own SIGINT may end the leader before the wrapper's order comes.
    let (_state, actions) = run(TERMS, &[Input::Started, exited(0, false), order(libc::SIGINT, Force::Kill)]);
    let late = [DisarmTimeout, SignalTree(libc::SIGINT), ArmGrace(5000), SignalTree(libc::SIGTERM)];
    assert!(actions.ends_with(&late), "{actions:?}");
}

#[test]
fn a_polite_request_that_is_not_heeded_changes_nothing() {
    let inputs = [Input::Started, stop(100, Force::Never), Input::GraceOver];
    let (state, actions) = run(TERMS, &inputs);
    assert_eq!(state, State::Running);
    assert_eq!(actions.last(), Some(&AnswerStuck));
    let inputs = [&inputs[..], &[exited(0, true)]].concat();
    assert_eq!(run(TERMS, &inputs).0, State::Ended { end: End::Exited { code: 0 } });
}

#[test]
fn a_sweep_that_cannot_end_is_answered_and_goes_on() {
    let inputs =
        [Input::Started, stop(0, Force::Kill), Input::SweepOverdue, Input::SweepOverdue, Input::Empty];
    let (state, actions) = run(TERMS, &inputs);
    assert!(matches!(state, State::Ended { .. }));
    assert_eq!(
        actions,
        [AnnounceStart, DisarmTimeout, Sweep, AnswerStuck, AnswerStuck, DisarmTimeout, Finish]
    );
}

#[test]
fn nothing_happens_after_the_end() {
    let ended = State::Ended { end: End::TimedOut };
    for input in [
        Input::Started,
        Input::Empty,
        Input::OwnerGone(Farewell::Closed),
        Input::OwnerGone(Farewell::Died),
        Input::TimedOut,
        stop(0, Force::Kill),
        exited(1, true),
    ] {
        assert_eq!(step(ended.clone(), input, TERMS), (ended.clone(), Vec::new()));
    }
}
