//! What the tools are called and what is said about them. Short: hosts cut descriptions at 2 KB and models pay for each.

/// About the server as a whole.
pub(crate) const INSTRUCTIONS: &str = "\
Kennel runs shell commands and keeps every process they start on a leash. A command that still runs after wait_ms (45 s) \
comes back as a running task, not as an error: go on with TaskOutput. Servers and watchers: run_in_background. Output is \
cut to head and tail for you and kept whole on disk; nothing is lost by a timeout or a kill. KillShell ends the whole \
process tree and says what it proved. All tasks end when this server ends, unless they were started with keep.";

/// The tool that runs commands.
pub(crate) const BASH: &str = "\
Run a bash command line and wait for it. Returns stdout, stderr, exit code, and what is still running.

- A non-zero exit is a result, not a tool error. timeout (ms, default 120000, max 600000) ends the whole process tree; output so far \
is kept. on_timeout: \"background\" lets it go on instead.
- After wait_ms (45000) a command that still runs comes back as a running task with its output so far: continue with TaskOutput.
- Servers, watchers, long builds: run_in_background. You get a task_id at once; read with TaskOutput, end with KillShell. Do not \
append `&` and do not poll with sleep: TaskOutput waits for the end or for a pattern (until).
- The working directory of the session is kept between calls: prefer absolute paths to `cd`; join dependent commands with &&, run \
independent ones as separate calls at once.
- Quote paths with spaces. There is no terminal unless pty: pass -y or --no-pager, commit with -m.
- Do not use cat, head or tail to look at a task's output file: TaskOutput takes offset, tail and filter.
- Prefer your own file tools, where you have them, to cat, sed, find and grep.
- Commands that destroy or leak may be refused or need a person's yes; the answer says why and what to do instead.
- session_id: a separate working directory and environment; a new name makes a new session.";

/// The tool that reads and waits.
pub(crate) const TASK_OUTPUT: &str = "\
Read a task's output, and wait: for its end (block, the default), or until a regular expression matches (until), at most timeout ms \
(30000). Reading takes nothing away: offset reads on from next_offset, tail gives the last lines. The task goes on whatever this call does.";

/// Its sister that remembers where it was.
pub(crate) const BASH_OUTPUT: &str = "\
Read what a background task has written since the last read, and how it stands. Does not wait, unless block or until is given.";

/// The tool that ends tasks.
pub(crate) const KILL_SHELL: &str = "\
End a task with everything it started, also what has detached: signal, timeout ms of grace, then SIGKILL (unless force is false). \
success means proved that nothing is left; otherwise survivors names who lives and why. freed_ports says which ports are free again.";

/// The tool that lists.
pub(crate) const TASK_LIST: &str = "\
List background tasks: status, command, ports, output. Also those that an earlier server or a terminal started and that were kept.";

/// The Codex tool that starts.
pub(crate) const EXEC_COMMAND: &str = "\
Run a bash command line. Returns its output; a command that still runs after yield_time_ms (10000) comes back with a session_id: \
poll it or write to it with write_stdin. Everything it started can be ended with KillShell.";

/// The Codex tool that writes and polls.
pub(crate) const WRITE_STDIN: &str = "\
Write chars to a running exec_command session that has a tty, and return its new output after yield_time_ms. Without chars it only \
polls.";

/// The tool that writes.
pub(crate) const TASK_INPUT: &str = "\
Write to a task that was started with stdin or pty: text, then keys, then the end (eof). Read the answer with TaskOutput.";

/// The Gemini tool that starts.
pub(crate) const RUN_SHELL_COMMAND: &str = "\
Run a bash command line and wait for it; with is_background it starts and returns at once. Returns stdout, stderr, exit code and the \
processes that still run. Do not append `&`. Read background output with read_background_output.";

/// The Gemini tool that lists.
pub(crate) const LIST_BACKGROUND: &str = "List background processes: pid, status, command, output.";

/// The Gemini tool that reads.
pub(crate) const READ_BACKGROUND: &str =
    "Read the last lines of a background process's output, by pid or task_id.";
