//! `kennel run` typed at a terminal: prompts, Ctrl-C, Ctrl-Z and `fg` are the kernel's, as without us.

use testkit::{Fifo, Rig, Terminal};

use crate::common::{AT_ONCE, kill_with_proof, rig};

fn shell(rig: &Rig) -> Terminal {
    Terminal::bash(rig)
}

#[test]
fn a_prompt_on_the_terminal_is_answered() {
    // Row 17. Symptom: `read x </dev/tty` fails, or suspends the wrapper.
    let rig = rig();
    let mut terminal = shell(&rig);
    terminal.send("\"$KENNEL\" run 'printf \"name? \"; read x </dev/tty; echo \"<$x>\"'\n");
    // The line that was typed has "name? " in it too, in quotes.
    terminal.expect("\nname? ");
    terminal.send("alice\n");
    terminal.expect("<alice>");
    terminal.expect("READY> ");
}

#[test]
fn stdin_is_the_terminal() {
    // Symptom: `cat` under the wrapper gets end of file at once.
    let rig = rig();
    let mut terminal = shell(&rig);
    terminal.send("\"$KENNEL\" run 'echo begin; cat; echo ended'\n");
    terminal.expect("\nbegin");
    terminal.send("typed\n");
    terminal.expect("typed\r\ntyped");
    terminal.send("\x04");
    terminal.expect("\nended");
    terminal.expect("READY> ");
}

/// Once the fixture is there, Ctrl-C ends it at once, and the command with 130.
#[track_caller]
fn ends_by_ctrl_c(rig: &Rig, terminal: &mut Terminal, fifo: &mut Fifo) {
    fifo.pid();
    terminal.send("\x03");
    terminal.expect("READY> ");
    assert!(fifo.ends_within(AT_ONCE), "{:?}", rig.processes());
    terminal.send("echo status=$?\n");
    terminal.expect("status=130");
}

#[test]
fn ctrl_c_ends_the_command_and_its_daemons() {
    // Row 19. Symptom: the prompt comes back and the daemon runs on.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let mut terminal = shell(&rig);
    terminal.send(&format!(
        "\"$KENNEL\" run --no-check '\"$HOSTILE\" --ready {} daemon; sleep 60'\n",
        fifo.word()
    ));
    ends_by_ctrl_c(&rig, &mut terminal, &mut fifo);
}

#[test]
fn ctrl_c_ends_background_jobs_without_waiting_for_the_grace() {
    // Symptom: bash gives its background jobs SIGINT ignored, and Ctrl-C takes the whole grace.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let mut terminal = shell(&rig);
    let job = format!("\"$HOSTILE\" --ready {} hold", fifo.word());
    terminal.send(&format!("\"$KENNEL\" run --no-check --grace 60s '{job} & wait'\n"));
    ends_by_ctrl_c(&rig, &mut terminal, &mut fifo);
}

#[test]
fn ctrl_c_reaches_a_program_that_handles_it() {
    // Symptom: a REPL that takes Ctrl-C as "cancel this line" is killed by the wrapper.
    let rig = rig();
    let mut terminal = shell(&rig);
    terminal
        .send("\"$KENNEL\" run 'trap \"echo caught; exit 7\" INT; echo go; while :; do sleep 0.05; done'\n");
    terminal.expect("\ngo");
    terminal.send("\x03");
    terminal.expect("caught");
    terminal.expect("READY> ");
}

#[test]
fn ctrl_z_stops_and_fg_continues() {
    // Symptom: Ctrl-Z is ignored, or the job cannot be continued.
    let rig = rig();
    let mut terminal = shell(&rig);
    let terminal_pid = terminal.pid();
    terminal.send("\"$KENNEL\" run 'echo go; read x; echo \"<$x>\"'\n");
    terminal.expect("\ngo");
    terminal.send("\x1a");
    terminal.expect("Stopped");
    terminal.expect("READY> ");
    // Until the command itself has stopped it may still take what is typed.
    let command = || rig.processes().into_iter().find(|it| it.comm == "bash" && it.pid != terminal_pid);
    assert!(testkit::Deadline::usual().until(|| command().is_some_and(|it| it.state == 'T')));
    terminal.send("fg\n");
    terminal.expect("run");
    terminal.send("on\n");
    terminal.expect("<on>");
    terminal.expect("READY> ");
}

#[test]
fn the_modes_of_the_terminal_are_restored() {
    // Row 17. Symptom: no echo after a command was killed in the middle of a password prompt.
    let rig = rig();
    let mut terminal = shell(&rig);
    let before = terminal.local_modes();
    terminal.send("\"$KENNEL\" run 'stty -echo -icanon; echo raw; sleep 60'\n");
    terminal.expect("\nraw");
    terminal.send("\x03");
    terminal.expect("READY> ");
    assert_eq!(terminal.local_modes() & echo_and_lines(), before & echo_and_lines());
}

fn echo_and_lines() -> rustix::termios::LocalModes {
    rustix::termios::LocalModes::ECHO | rustix::termios::LocalModes::ICANON
}

#[test]
fn a_full_screen_program_gets_the_terminal_itself() {
    // Symptom: vim says "Output is not to a terminal".
    let rig = rig();
    let mut terminal = shell(&rig);
    terminal
        .send("\"$KENNEL\" run --tty 'test -t 0 && test -t 1 && test -t 2 && echo all three; stty size'\n");
    terminal.expect("\nall three");
    terminal.expect("24 80");
    terminal.expect("READY> ");
}

#[test]
fn a_started_task_has_no_terminal() {
    // Row 17. Symptom: a background job steals the user's keystrokes.
    let rig = rig();
    let mut terminal = shell(&rig);
    terminal.send("\"$KENNEL\" start 'read x </dev/tty; echo \"status $?\"' && echo ok\n");
    terminal.expect("bash-");
    terminal.expect("\nok");
    terminal.expect("READY> ");
    terminal.send("for t in $(\"$KENNEL\" tasks --all --json | grep -o 'bash-[a-z2-7]*' | head -1); do \"$KENNEL\" wait $t; \"$KENNEL\" output $t; done\n");
    terminal.expect("\nstatus 1");
    terminal.expect("READY> ");
}

#[test]
fn a_started_task_outlives_the_terminal() {
    // Symptom: closing the window kills the server that was started in it.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let mut terminal = shell(&rig);
    terminal
        .send(&format!("\"$KENNEL\" start --no-check 'exec \"$HOSTILE\" --ready {} hold'\n", fifo.word()));
    fifo.pid();
    terminal.expect("READY> ");
    drop(terminal);
    let list = rig.kennel(["tasks", "--json"]).finish().json();
    let id = crate::common::text(&list, "/tasks/0/id");
    assert_eq!(crate::common::text(&list, "/tasks/0/status"), "running");
    assert!(fifo.held());
    kill_with_proof(&rig, &id);
}

#[test]
fn an_outsider_in_a_members_group_is_not_hung_up() {
    // Symptom: a kill of a large tree sends SIGHUP to a process that the task did not start. Cause: members were stopped
    // before they were killed, and a group with a stopped member whose last link to its session dies gets HUP and CONT.
    let rig = rig();
    let (mut group, mut outsider) = (rig.fifo("group"), rig.fifo("outsider"));
    let mut terminal = shell(&rig);
    terminal.send(&format!(
        "\"$KENNEL\" run --no-check '\"$HOSTILE\" --ready {} loose-group; :' &\n",
        group.word()
    ));
    let founder = group.pid();
    terminal.send(&format!("(\"$HOSTILE\" --ready {} join-group {founder} &)\n", outsider.word()));
    let stranger = outsider.pid();
    let list = rig.kennel(["tasks", "--all", "--json"]).finish().json();
    let id = crate::common::text(&list, "/tasks/0/id");
    rig.kennel(["kill", "--signal", "KILL", &id]).finish().exits(0);
    assert!(group.ends_within(AT_ONCE), "{:?}", rig.processes());
    assert!(outsider.held(), "the outsider was hung up");
    assert!(testkit::signal(stranger, rustix::process::Signal::KILL));
}
