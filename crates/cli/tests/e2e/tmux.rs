//! Full-screen programs and shells under the wrapper, at a terminal of tmux: as a person sees them.

use regex::Regex;
use rustix::process::Signal;
use testkit::{Deadline, Rig, lacks_program};

use crate::common::rig;

/// A window of tmux with an interactive bash in it.
struct Window<'rig> {
    rig: &'rig Rig,
}

impl<'rig> Window<'rig> {
    /// `None`, with a line that says so, where a program is missing.
    fn open(rig: &'rig Rig, needs: &[&str]) -> Option<Self> {
        if lacks_program(&["tmux"]) || lacks_program(needs) {
            return None;
        }
        let window = Self { rig };
        // As words: one word would go to the user's login shell, which may be none.
        let shell = ["env", "PS1=OUTER> ", "bash", "--norc", "--noprofile", "-i"];
        window.tmux(&[&["new-session", "-d", "-x", "80", "-y", "24"], &shell[..]].concat());
        window.shows("^OUTER> ?$");
        Some(window)
    }

    #[track_caller]
    fn tmux(&self, words: &[&str]) -> String {
        // A relative path: that of a socket has room for 107 bytes.
        // An editor under a user whose shell is none is a restricted one.
        let mut tmux = self.rig.program("tmux");
        let done =
            tmux.args(["-S", "tmux.sock", "-f", "/dev/null"]).args(words).env("SHELL", "/bin/bash").finish();
        done.exits(0).text()
    }

    fn types(&self, line: &str) -> &Self {
        self.tmux(&["send-keys", "-l", line]);
        self.keys(&["Enter"])
    }

    fn keys(&self, names: &[&str]) -> &Self {
        self.tmux(&[&["send-keys"], names].concat());
        self
    }

    fn resize(&self, cols: &str, rows: &str) -> &Self {
        self.tmux(&["resize-window", "-x", cols, "-y", rows]);
        self
    }

    /// The screen, once it matches (`^` and `$` at each line).
    #[track_caller]
    fn shows(&self, pattern: &str) -> String {
        let wanted = Regex::new(&format!("(?m){pattern}")).expect("a pattern");
        let mut screen = String::new();
        let shown = Deadline::usual().until(|| {
            screen = self.tmux(&["capture-pane", "-p"]);
            wanted.is_match(&screen)
        });
        assert!(shown, "the window does not show {pattern:?}; it shows\n{screen}{:?}", self.rig.processes());
        screen
    }

    /// The terminal's modes, as a command of the outer shell sees them.
    #[track_caller]
    fn modes(&self) -> String {
        self.types("clear; stty -a >modes; echo mo''des");
        self.shows("^modes$");
        let modes = std::fs::read_to_string(self.rig.work().join("modes")).expect("the modes");
        // The first line has the size.
        modes.lines().skip(1).collect()
    }

    /// The one process of this name comes to sleep.
    #[track_caller]
    fn sleeps(&self, name: &str) -> u32 {
        let found = || self.rig.named(name).into_iter().find(|it| it.state == 'S');
        assert!(Deadline::usual().until(|| found().is_some()), "{:?}", self.rig.processes());
        found().map_or(0, |it| it.pid)
    }

    /// The wrapper itself.
    fn wrapper(&self) -> u32 {
        self.sleeps("kennel")
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        let mut server = self.rig.program("tmux");
        server.args(["-S", "tmux.sock", "kill-server"]).finish();
    }
}

const VIM: &str = "vim -u NONE -N -n --cmd 'set nomore showmode ruler ttimeout ttm=50' note";
const INNER: &str = "env PS1='INNER> ' bash --norc --noprofile -i";

/// An editor does what it does bare, whichever way it has its terminal.
fn vim_edits(door: &str) {
    let rig = rig();
    let Some(window) = Window::open(&rig, &["vim"]) else { return };
    let before = window.modes();
    window.types(&format!("clear; \"$KENNEL\" run --no-check {door} -- {VIM}; echo status $?"));
    window.shows("\"note\" \\[New");
    window.keys(&["i"]).shows("-- INSERT --");
    window.types("first").keys(&["Up", "Home"]).shows("^first$");
    window.tmux(&["send-keys", "-l", "the "]);
    window.shows("^the first$");
    // Ctrl-C is the editor's: it ends the inserting, and neither the editor nor the wrapper.
    window.keys(&["C-c"]);
    window.resize("60", "12");
    // The signal comes when it comes: asked until the answer is the new size.
    let resized = Deadline::usual().until(|| {
        let screen = window.types(":set lines? columns?").shows("columns=\\d+");
        window.keys(&["Enter"]);
        screen.contains("lines=12") && screen.contains("columns=60")
    });
    assert!(resized, "the editor was not told of the new size");
    window.types(":wq");
    window.shows("^status 0$");
    assert_eq!(
        std::fs::read_to_string(rig.work().join("note")).expect("the file").lines().next(),
        Some("the first")
    );
    assert_eq!(window.modes(), before);
}

#[test]
fn vim_on_the_callers_terminal() {
    // Symptom: "Output is not to a terminal", a size that stays, an editor that dies of Ctrl-C.
    vim_edits("--tty");
}

#[test]
fn vim_on_a_terminal_of_its_own() {
    // Symptom: keys go to the wrapper, echo twice, and the size is 80x24 for ever.
    vim_edits("--pty");
}

/// A shell with jobs does what it does bare.
fn shell_has_jobs(door: &str) {
    let rig = rig();
    let Some(window) = Window::open(&rig, &["bash"]) else { return };
    window.types(&format!("clear; \"$KENNEL\" run --no-check {door} -- {INNER}; echo status $?"));
    let screen = window.shows("^INNER> ?$");
    assert!(!screen.contains("job control"), "{screen}");
    window.types("sleep 300");
    window.sleeps("sleep");
    window.keys(&["C-z"]).shows("Stopped +sleep 300");
    window.types("clear; fg").shows("^sleep 300$");
    window.sleeps("sleep");
    window.keys(&["C-c"]).shows("\\^C\nINNER>");
    window.resize("70", "20").types("clear; stty size; tty").shows("^20 70\n/dev/pts/");
    window.types("exit 7").shows("^status 7$");
}

#[test]
fn bash_on_the_callers_terminal() {
    // Symptom: "no job control in this shell"; Ctrl-Z takes the wrapper instead of the job.
    shell_has_jobs("--tty");
}

#[test]
fn bash_on_a_terminal_of_its_own() {
    // Symptom: Ctrl-C ends the wrapper and with it the shell.
    shell_has_jobs("--pty");
}

#[test]
fn ctrl_z_takes_wrapper_and_editor_and_fg_brings_both_back() {
    // Symptom: the editor stops and the wrapper waits for it, with the terminal in nobody's hands.
    let rig = rig();
    let Some(window) = Window::open(&rig, &["vim"]) else { return };
    window.types(&format!("clear; \"$KENNEL\" run --no-check --tty -- {VIM}; echo status $?"));
    window.shows("\"note\" \\[New");
    window.keys(&["C-z"]).shows("Stopped");
    window.shows("^OUTER> ?$");
    window.types("clear; fg").shows("^~$");
    window.keys(&["i"]).shows("-- INSERT --");
    window.keys(&["Escape"]).types(":q!");
    window.shows("^OUTER> ?$");
}

/// The modes and the prompt after the wrapper, or a bare editor, was killed from outside.
fn killed_with(window: &Window<'_>, line: &str, name: &str, signal: Signal) -> String {
    window.types(&format!("clear; {line}"));
    window.shows("\"note\" \\[New");
    assert!(testkit::signal(window.sleeps(name), signal));
    assert!(Deadline::usual().until(|| window.rig.named("vim").is_empty()), "{:?}", window.rig.processes());
    // The killed editor has left its screen behind, in both cases.
    window.keys(&["Enter"]).types("tput rmcup; clear");
    window.shows("^OUTER> ?$");
    window.modes()
}

#[test]
fn a_killed_wrapper_leaves_no_less_than_a_killed_editor() {
    // Symptom: the editor lives on and fights the shell for the terminal, or the shell's modes are gone.
    let rig = rig();
    let Some(window) = Window::open(&rig, &["vim", "tput"]) else { return };
    for signal in [Signal::KILL, Signal::TERM] {
        let bare = killed_with(&window, VIM, "vim", signal);
        for door in ["--tty", "--pty"] {
            let line = format!("\"$KENNEL\" run --no-check --grace 300ms {door} -- {VIM}");
            assert_eq!(killed_with(&window, &line, "kennel", signal), bare, "{door} {signal:?}");
        }
    }
}

#[test]
fn a_relay_that_is_stopped_gives_the_terminal_back() {
    // Symptom: after `kill -TSTP` the shell's terminal stays raw: no echo, no Ctrl-C.
    let rig = rig();
    let Some(window) = Window::open(&rig, &["bash"]) else { return };
    window.types(&format!("clear; \"$KENNEL\" run --no-check --pty -- {INNER}; echo status $?"));
    window.shows("^INNER> ?$");
    assert!(testkit::signal(window.wrapper(), Signal::TSTP));
    window.shows("Stopped");
    window.types("clear; cat");
    window.sleeps("cat");
    window.types("typed").shows("^typed\ntyped$");
    window.keys(&["C-c"]).shows("\\^C\nOUTER>");
    window.types("clear; fg").keys(&["Enter"]).shows("^INNER> ?$");
    window.types("exit 5").shows("^exit\nOUTER> ?$");
    window.types("echo status $?").shows("^status 5$");
}

#[test]
fn what_is_piped_in_is_typed() {
    // Symptom: `echo y | kennel run --pty installer` waits for a person for ever.
    let rig = rig();
    let line = "printf 'alice\\n' | \"$KENNEL\" run --no-check --pty=90x30 'read x; echo \"<$x>\"; stty size; cat; exit 4'";
    let done = rig.bash(line).finish();
    assert_eq!(done.code(), 4, "{done}");
    assert!(done.text().contains("<alice>") && done.text().contains("30 90"), "{done}");
    let done = rig.bash("\"$KENNEL\" run --no-check --pty 'cat; exit 3' </dev/null").finish();
    assert_eq!(done.code(), 3, "{done}");
}
