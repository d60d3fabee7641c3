//! Tasks with a terminal of their own, driven by `send` and read as screens. No test sleeps: each waits for what the
//! screen shows.

use serde_json::Value;
use testkit::{Rig, lacks_program};

use crate::common::{AT_ONCE, at, kill_with_proof, number, rig, text};

/// A task on a terminal.
struct Pty<'rig> {
    rig: &'rig Rig,
    id: String,
}

impl<'rig> Pty<'rig> {
    fn start(rig: &'rig Rig, words: &[&str]) -> Self {
        let done = rig.kennel(["start", "--no-check", "--pty"]).args(words).finish();
        done.exits(0);
        Self { rig, id: done.last_line() }
    }

    fn send(&self, words: &[&str]) -> &Self {
        self.rig.kennel(["send", &self.id]).args(words).finish().exits(0);
        self
    }

    /// The screen, once it matches.
    #[track_caller]
    fn shows(&self, pattern: &str) -> Value {
        let words = ["output", "--screen", "--json", "--timeout", "15s", "--until", pattern, &self.id];
        let done = self.rig.kennel(words).finish();
        assert_eq!(done.code(), 0, "the screen does not show {pattern:?}: {done}");
        done.json()
    }

    /// Its exit status, once it has ended.
    #[track_caller]
    fn ends(&self) -> i32 {
        self.rig.kennel(["wait", "--timeout", "15s", &self.id]).finish().code()
    }
}

#[test]
fn python_is_a_conversation() {
    // Symptom: the interpreter takes its input for a script, says nothing before the end, or is killed by Ctrl-C.
    if lacks_program(&["python3"]) {
        return;
    }
    let rig = rig();
    let python = Pty::start(&rig, &["python3", "-iq"]);
    python.shows("^>>> ?$");
    python.send(&["6*7\n"]).shows("^42$");
    python.send(&["while True: pass\n\n"]);
    python.send(&["--key", "C-c"]).shows("KeyboardInterrupt");
    python.send(&["input('name? ')\n"]).shows("^name\\? $|^name\\?$");
    python.send(&["alice\n"]).shows("^'alice'$");
    python.send(&["--eof"]);
    assert_eq!(python.ends(), 0);
}

#[test]
fn a_shell_has_job_control() {
    // Symptom: "no job control in this shell", Ctrl-Z is ignored, or it stops the shell too.
    let rig = rig();
    let shell = Pty::start(&rig, &["env", "PS1=READY> ", "bash", "--norc", "--noprofile", "-i"]);
    let first = shell.shows("^READY> ?$");
    assert!(!text(&first, "text").contains("job control"), "{first}");
    shell.send(&["sleep 300\n"]).shows("sleep 300");
    // The shell gives the terminal away before the job can take keys.
    assert!(testkit::Deadline::usual().until(|| rig.named("sleep").iter().any(|it| it.state == 'S')));
    shell.send(&["--key", "C-z"]).shows("Stopped +sleep 300");
    shell.send(&["fg\n"]).shows("^sleep 300$");
    assert!(testkit::Deadline::usual().until(|| rig.named("sleep").iter().any(|it| it.state == 'S')));
    shell.send(&["--key", "C-c"]).shows("\\^C\nREADY>");
    shell.send(&["echo $(tput cols)x$(stty size); tty\n"]).shows("/dev/pts/");
    shell.send(&["--resize", "100x30"]).send(&["stty size\n"]);
    let screen = shell.shows("^30 100$");
    assert_eq!((number(&screen, "cols"), number(&screen, "rows")), (100, 30), "{screen}");
    shell.send(&["exit 7\n"]);
    assert_eq!(shell.ends(), 7);
}

#[test]
fn pasted_lines_are_one_paste() {
    // Symptom: a pasted function is executed line by line, in pieces.
    let rig = rig();
    let shell = Pty::start(&rig, &["env", "PS1=READY> ", "bash", "--norc", "--noprofile", "-i"]);
    let screen = shell.shows("^READY> ?$");
    assert_eq!(at(&screen, "bracketed_paste"), true, "{screen}");
    shell.send(&["echo one\necho two\n"]);
    // Both lines stand there before either is executed.
    shell.shows("READY> echo one\necho two\none\ntwo\nREADY>");
    shell.send(&["--eof"]);
    assert_eq!(shell.ends(), 0);
}

#[test]
fn gdb_is_driven_to_a_breakpoint() {
    // Symptom: gdb asks questions that nobody sees.
    if lacks_program(&["gdb", "bash"]) {
        return;
    }
    let rig = rig();
    let gdb = Pty::start(&rig, &["gdb", "-nx", "-q", "/bin/bash"]);
    gdb.shows("^\\(gdb\\) ?$");
    gdb.send(&["set confirm on\n"]).send(&["print 6*7\n"]).shows("^\\$1 = 42$");
    gdb.send(&["info li", "--key", "Tab n Tab Enter"]).shows("\\(gdb\\) info line");
    gdb.send(&["--key", "C-c"]).send(&["quit\n"]);
    assert_eq!(gdb.ends(), 0);
}

#[test]
fn less_is_read_page_by_page() {
    // Symptom: a pager shows its first page for ever, or "WARNING: terminal is not fully functional".
    if lacks_program(&["less"]) {
        return;
    }
    let rig = rig();
    let lines: Vec<String> = (1..=200).map(|line| format!("line {line}")).collect();
    std::fs::write(rig.work().join("text"), lines.join("\n") + "\n").expect("a file");
    let less = Pty::start(&rig, &["env", "-u", "LESS", "less", "text"]);
    let screen = less.shows("\\Aline 1\n(.*\n)+text");
    assert_eq!(at(&screen, "alternate"), true, "{screen}");
    less.send(&["--key", "Down Down"]).shows("\\Aline 3\n");
    less.send(&["--key", "PageDown"]).shows("\\Aline 26\n");
    less.send(&["G"]).shows("line 200\n\\(END\\)");
    less.send(&["?line 77\\b\n"]).shows("\\Aline 77\n");
    less.send(&["--key", "Home"]).shows("\\Aline 1\n");
    less.send(&["--resize", "40x10"]).shows("\\Aline 1\n(.*\n){8}:");
    less.send(&["q"]);
    assert_eq!(less.ends(), 0);
    let screen = less.shows("");
    assert_eq!(
        (at(&screen, "alternate"), text(&screen, "/end/cause")),
        (false.into(), "exited".into()),
        "{screen}"
    );
}

#[test]
fn vim_edits_a_file() {
    // Symptom: "Vim: Warning: Input is not from a terminal"; cursor keys arrive as A, B, C.
    if lacks_program(&["vim"]) {
        return;
    }
    let rig = rig();
    let vim = Pty::start(
        &rig,
        &["vim", "-u", "NONE", "-N", "--cmd", "set nomore showmode ruler ttimeout ttm=50", "note"],
    );
    vim.shows("\"note\" \\[New");
    vim.send(&["i"]).shows("-- INSERT --");
    vim.send(&["first\nsecond"]).shows("\\Afirst\nsecond\n");
    let screen = vim.send(&["--key", "Up Home"]).shows("1,1 ");
    assert_eq!((number(&screen, "/cursor/row"), number(&screen, "/cursor/col")), (0, 0), "{screen}");
    vim.send(&["the ", "--key", "Esc"]).shows("\\Athe first\n");
    vim.send(&[":set ic?\n"]).shows("noignorecase");
    vim.send(&["--resize", "60x12"]);
    // The signal comes when it comes: asked until the answer is the new size.
    let resized = testkit::Deadline::usual().until(|| {
        vim.send(&[":set lines? columns?\n"]);
        text(&vim.shows("lines=\\d+"), "text").contains("lines=12")
    });
    assert!(resized, "the editor was not told of the new size");
    vim.send(&[":wq\n"]);
    assert_eq!(vim.ends(), 0);
    assert_eq!(std::fs::read_to_string(rig.work().join("note")).expect("a file"), "the first\nsecond\n");
}

#[test]
fn line_editing_echo_and_end_of_file_are_the_terminals() {
    // Symptom: a password is shown; end of file needs two tries, or ends the shell behind the program.
    let rig = rig();
    let task = Pty::start(
        &rig,
        &[
            "printf 'name? '; read a; stty -echo; printf 'secret? '; read b; stty echo; echo; echo thanks; cat; echo \"<$a $b>\"; cat; exit 4",
        ],
    );
    task.shows("^name\\?");
    task.send(&["bobx", "--key", "BSpace Enter"]).shows("secret\\?");
    task.send(&["hush\n"]);
    task.shows("^thanks$");
    task.send(&["begun", "--eof"]).shows("<bob hush>");
    task.send(&["--eof"]);
    assert_eq!(task.ends(), 4);
    let shown = rig.kennel(["output", "--raw", &task.id]).finish().text();
    assert!(!shown.split("<bob").next().unwrap_or_default().contains("hush"), "{shown}");
}

#[test]
fn a_survivor_does_not_hold_up_the_end() {
    // Row 1 on a terminal. Symptom: the call waits for a child that keeps the terminal open.
    let rig = rig();
    let mut ready = rig.fifo("ready");
    let script = format!(
        "\"$HOSTILE\" --ready '{}' hold & read x <>'{}.go'; echo last; exit 5",
        ready.word(),
        ready.word()
    );
    let mut go = rig.fifo("ready.go");
    let task = Pty::start(&rig, &[&script]);
    ready.pid();
    std::fs::write(go.path(), "\n").expect("let it go on");
    assert_eq!(task.ends(), 5);
    task.shows("^last$");
    assert!(ready.held());
    kill_with_proof(&rig, &task.id);
    assert!(ready.ends_within(AT_ONCE) && go.ends_within(AT_ONCE));
}

#[test]
fn an_interactive_shell_is_ended_without_waiting_for_the_grace() {
    // Symptom: an interactive shell ignores SIGTERM, and each kill takes the whole grace.
    let rig = rig();
    let shell = Pty::start(&rig, &["env", "PS1=READY> ", "bash", "--norc", "--noprofile", "-i"]);
    shell.shows("^READY> ?$");
    let done = rig.kennel(["kill", "--grace", "15s", "--json", &shell.id]).finish();
    assert!(done.elapsed < AT_ONCE, "{done}");
    assert_eq!(at(&done.exits(0).json(), "force_killed"), false, "{done}");
}

#[test]
fn a_line_that_the_terminal_would_cut_is_refused() {
    // Symptom: 5,000 characters are sent and 4,095 arrive.
    let rig = rig();
    let task = Pty::start(&rig, &["cat"]);
    let done = rig.kennel(["send", &task.id, &"x".repeat(5000)]).finish();
    assert!(done.exits(1).errors().contains("4095"), "{done}");
    task.send(&["--eof"]);
    assert_eq!(task.ends(), 0);
}

#[test]
fn a_task_without_a_terminal_has_no_screen() {
    // Symptom: an empty screen for a task that writes into a pipe.
    let rig = rig();
    let id = crate::common::start(&rig, "echo hello");
    let done = rig.kennel(["output", "--screen", &id]).finish();
    assert!(done.exits(1).errors().contains("--pty"), "{done}");
}

#[test]
fn a_wait_for_a_screen_ends_by_itself() {
    // Symptom: a pattern that never comes is waited for until somebody kills the wait.
    let rig = rig();
    let task = Pty::start(&rig, &["echo hello; read x"]);
    let wait = |pattern: &str| {
        rig.kennel(["output", "--screen", "--until", pattern, "--timeout", "300ms", &task.id]).finish()
    };
    assert_eq!(wait("never").code(), 124);
    assert_eq!(wait("hello").exits(0).text(), "hello\n");
    task.send(&["--key", "Enter"]);
    assert_eq!(task.ends(), 0);
    assert_eq!(wait("never").code(), 1);
    assert_eq!(wait("(").code(), 64);
}
