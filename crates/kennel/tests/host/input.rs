//! Input as a program gives it.

use kennel::{End, Error, Input, InputRefusal, Kennel, Read, Request, Stdin};

/// Symptom: a command that reads waits for ever, or the text is lost, because it was written before anybody read.
pub(crate) async fn a_command_is_given_its_input() {
    let session =
        Kennel::builder().build().await.expect("the library").session().open().await.expect("a session");
    let large = vec![b'x'; 200_000];
    let outcome = session.run(Request::shell("wc -c").stdin_bytes(large)).await.expect("a call");
    assert_eq!((outcome.stdout.trim(), outcome.success), ("200000", true));
    // A command that does not read its input ends all the same.
    let outcome = session.run(Request::shell("true").stdin_bytes(vec![b'x'; 200_000])).await.expect("a call");
    assert_eq!(outcome.end, Some(End::Exited { code: 0 }));

    let task = session.start(Request::shell("cat; echo over").stdin(Stdin::Pipe)).await.expect("a task");
    let report = task.send(Input::text("one\n")).await.expect("it reads");
    assert_eq!(report.written, 4);
    let page = task.read(Read::from(0).until("one")).await.expect("its output");
    assert_eq!(page.matched, Some(true));
    task.send(Input::text("two\n").eof()).await.expect("it reads");
    let page = task.read(Read::from(0).until_end()).await.expect("its output");
    assert_eq!(page.text, "one\ntwo\nover\n");
    assert!(matches!(task.send(Input::text("late")).await, Err(Error::TaskEnded { .. })));

    let task = session.start(Request::shell("sleep 300")).await.expect("a task");
    let refused = task.send(Input::end()).await;
    assert!(matches!(refused, Err(Error::Input { why: InputRefusal::NoInput, .. })), "{refused:?}");
    assert!(session.close().await);
}
