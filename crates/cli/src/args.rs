//! The command line's grammar (INTERFACES section 1).

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use kennel::config::units as duration;
use kennel::{ScrubEnv, SessionBuilder};

use crate::boundary::BoundaryOptions;
use crate::limits::LimitOptions;
use crate::mcp::Profile;
use crate::pages::{CompletionsOptions, ManOptions};
use crate::sandbox::SandboxOptions;
use crate::send::{self, PtySize, SendOptions};
use crate::session::SessionOptions;
use crate::track::TrackOptions;
use crate::tree::{SignalOptions, TreeOptions};

/// Runs shell commands and keeps every process that they start on a leash.
#[derive(Debug, Parser)]
#[command(name = "kennel", version, disable_help_subcommand = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a command in the foreground and exit with its status.
    Run(RunOptions),
    /// Start a command in the background and print its task id.
    Start(StartOptions),
    /// List tasks.
    Tasks(TasksOptions),
    /// Read the output of a task.
    Output(OutputOptions),
    /// Wait for tasks to end.
    Wait(WaitOptions),
    /// End tasks: signal, grace, SIGKILL, whole tree, proof.
    Kill(KillOptions),
    /// Give a task something to read.
    Send(SendOptions),
    /// Say whether a command may run: allow, ask or deny.
    Check(CheckOptions),
    /// Install the check as a hook of an agent.
    Hook(HookOptions),
    /// List the members of a task or of any process's tree.
    Tree(TreeOptions),
    /// Signal a tree that Kennel did not start.
    Signal(SignalOptions),
    /// Follow a tree that Kennel did not start.
    Track(TrackOptions),
    /// Serve agents over MCP on stdin and stdout, or install that in an agent.
    Mcp(McpOptions),
    /// Serve agents over MCP on streamable HTTP, on this machine.
    Serve(ServeOptions),
    /// Open, close and look at sessions.
    Session(SessionOptions),
    /// Recover lost tasks and remove expired output.
    Gc(GcOptions),
    /// Show the configuration in force, or the path of your file.
    Config(ConfigOptions),
    /// Let the kennel.toml of a directory loosen too, as it is now.
    Trust(TrustOptions),
    /// Print the JSON Schema of an output or of the configuration.
    Schema(SchemaOptions),
    /// Say what this machine offers and what that protects.
    Doctor(DoctorOptions),
    /// Print the completions of a shell.
    Completions(CompletionsOptions),
    /// Write the man pages into a directory.
    #[command(hide = true)]
    Man(ManOptions),
}

impl Cli {
    /// Parses the command line. Where the first word is a verb, only that verb's grammar is built: building all of them
    /// is a good part of the start-up time of a short command.
    pub(crate) fn parse_quickly() -> Result<Self, clap::Error> {
        let mut words = std::env::args_os();
        let (_program, verb) = (words.next(), words.next());
        // What help and errors call the program.
        let mut name = OsString::from("kennel ");
        name.push(verb.as_deref().unwrap_or_default());
        let rest = || std::iter::once(name).chain(words);
        let verb = match verb.as_ref().and_then(|verb| verb.to_str()) {
            Some("run") => RunOptions::try_parse_from(rest()).map(Verb::Run),
            Some("start") => StartOptions::try_parse_from(rest()).map(Verb::Start),
            Some("tasks") => TasksOptions::try_parse_from(rest()).map(Verb::Tasks),
            Some("output") => OutputOptions::try_parse_from(rest()).map(Verb::Output),
            Some("wait") => WaitOptions::try_parse_from(rest()).map(Verb::Wait),
            Some("kill") => KillOptions::try_parse_from(rest()).map(Verb::Kill),
            Some("send") => SendOptions::try_parse_from(rest()).map(Verb::Send),
            Some("mcp") => McpOptions::try_parse_from(rest()).map(Verb::Mcp),
            Some("check") => CheckOptions::try_parse_from(rest()).map(Verb::Check),
            _ => return Self::try_parse(),
        };
        verb.map(|verb| Self { verb })
    }
}

/// What becomes of processes that outlive the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SurvivorsArg {
    Adopt,
    Kill,
    Leave,
}

/// What a full spool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOutputCapArg {
    Drop,
    Kill,
}

/// What to do where the policy asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AskArg {
    /// Run.
    Allow,
    /// Do not.
    Deny,
}

/// What the timeout does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnTimeoutArg {
    Kill,
    Background,
}

/// The environment of a command, or of all commands of a session.
#[derive(Debug, Args)]
pub(crate) struct EnvironmentOptions {
    /// Set an environment variable (repeatable).
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<OsString>,
    /// Take variables that look like secrets out of the environment.
    #[arg(long)]
    scrub_env: bool,
    /// A variable, or a glob of names, that is no secret (repeatable).
    #[arg(long, value_name = "NAME|GLOB")]
    pass_env: Vec<String>,
}

impl EnvironmentOptions {
    /// What the session does to the variables that it takes over.
    pub(crate) fn apply(&self, session: SessionBuilder) -> SessionBuilder {
        let session = session.env_pass(self.pass_env.iter().cloned());
        if self.scrub_env { session.scrub_env(ScrubEnv::On) } else { session }
    }
}

/// Options that `run` and `start` share.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct CommandOptions {
    /// Working directory of the command.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) environment: EnvironmentOptions,
    /// Wall-clock limit: 500ms, 30s, 10m, 2h; 0 is none.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse)]
    pub(crate) timeout: Option<Duration>,
    /// What the timeout does.
    #[arg(long, value_enum, default_value = "kill")]
    pub(crate) on_timeout: OnTimeoutArg,
    /// What becomes of processes that outlive the command; by default they are adopted, or as the session says.
    #[arg(long, value_enum)]
    pub(crate) survivors: Option<SurvivorsArg>,
    #[command(flatten)]
    pub(crate) boundary: BoundaryOptions,
    /// Time between the first signal and SIGKILL.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse, default_value = "5s")]
    pub(crate) grace: Duration,
    /// What the command is for.
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Send stdout and stderr to one pipe, where their order matters.
    #[arg(long)]
    pub(crate) merge: bool,
    /// Standard input is a pipe into which only `kennel send` writes; that of the caller is not read.
    #[arg(long, conflicts_with = "pty")]
    pub(crate) stdin: bool,
    /// The command gets a terminal of its own, of this size or that of the caller's, else 80x24.
    #[arg(long, value_name = "COLSxROWS", require_equals = true, num_args = 0..=1, default_missing_value = "caller",
        value_parser = send::pty_size)]
    pub(crate) pty: Option<PtySize>,
    /// Most bytes of output that are kept: 64M, 1G.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = duration::parse_size)]
    pub(crate) output_cap: Option<u64>,
    /// What happens when that is full: the middle is dropped, or the task is ended.
    #[arg(long, value_enum, default_value = "drop")]
    pub(crate) on_output_cap: OnOutputCapArg,
    /// Run in this session: its directory, its variables. One that does not exist is opened.
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Bind the task to the life of this process.
    #[arg(long, value_name = "PID")]
    pub(crate) owner_pid: Option<i32>,
    /// Let the task go on when its owner ends.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Run without the policy check; that is recorded. Not inside a task.
    #[arg(long)]
    pub(crate) no_check: bool,
    /// The answer where the policy asks, instead of the terminal's user. Inside a task only deny.
    #[arg(long, value_enum, value_name = "ANSWER", conflicts_with = "no_check")]
    pub(crate) ask: Option<AskArg>,
    #[command(flatten)]
    pub(crate) sandbox: SandboxOptions,
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Read the command line from this file (- for standard input).
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub(crate) command_file: Option<PathBuf>,
    /// One word is a line for bash; several are a program and its arguments, run without a shell.
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Run a command in the foreground and exit with its status.
#[derive(Debug, Parser)]
#[command(name = "kennel run", max_term_width = 100)]
pub(crate) struct RunOptions {
    /// Most characters of each stream in --json, --events and --report.
    #[arg(long, value_name = "CHARS")]
    pub(crate) max_output: Option<usize>,
    /// stdout and stderr are the caller's; nothing is captured.
    #[arg(long, conflicts_with_all = ["pty", "merge"])]
    pub(crate) tty: bool,
    /// Print events as they happen, one JSON object a line.
    #[arg(long, conflicts_with = "json")]
    pub(crate) events: bool,
    /// Write the final JSON object into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) command: CommandOptions,
}

/// Start a command in the background and print its task id.
#[derive(Debug, Parser)]
#[command(name = "kennel start", max_term_width = 100)]
pub(crate) struct StartOptions {
    #[command(flatten)]
    pub(crate) command: CommandOptions,
}

/// List tasks.
#[derive(Debug, Parser)]
#[command(name = "kennel tasks", max_term_width = 100)]
pub(crate) struct TasksOptions {
    /// Also finished foreground calls.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only tasks of this session.
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Show it again whenever it changes, until interrupted.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamArg {
    Stdout,
    Stderr,
}

/// Read the output of a task.
#[derive(Debug, Parser)]
#[command(name = "kennel output", max_term_width = 100)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct OutputOptions {
    /// Task id or the beginning of one.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Go on until nothing of the task is left.
    #[arg(long)]
    pub(crate) follow: bool,
    /// The last N lines.
    #[arg(long, value_name = "N", conflicts_with = "from")]
    pub(crate) tail: Option<u64>,
    /// From this byte offset.
    #[arg(long, value_name = "OFFSET")]
    pub(crate) from: Option<u64>,
    /// What came within the last DURATION.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, conflicts_with_all = ["from", "tail"])]
    pub(crate) since: Option<Duration>,
    /// Only lines that match this regular expression.
    #[arg(long, value_name = "RE")]
    pub(crate) grep: Option<String>,
    /// Only this stream.
    #[arg(long, value_enum)]
    pub(crate) stream: Option<StreamArg>,
    /// Most characters of the text; longer ones lose their middle.
    #[arg(long, value_name = "CHARS", conflicts_with_all = ["follow", "raw"])]
    pub(crate) max_output: Option<usize>,
    /// Exactly the bytes that are kept.
    #[arg(long)]
    pub(crate) raw: bool,
    /// The screen of the task's terminal, as text.
    #[arg(long, conflicts_with_all = ["follow", "raw", "tail", "from", "since", "grep", "stream", "max_output"])]
    pub(crate) screen: bool,
    /// Wait until the text or the screen matches this regular expression, or the task ends.
    #[arg(long, value_name = "RE", allow_hyphen_values = true, conflicts_with_all = ["follow", "raw"])]
    pub(crate) until: Option<String>,
    /// Longest wait of --until: exit 124 after it.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse, default_value = "30s")]
    pub(crate) timeout: Duration,
    /// Print JSON.
    #[arg(long, conflicts_with_all = ["follow", "raw"])]
    pub(crate) json: bool,
}

/// Wait for tasks to end.
#[derive(Debug, Parser)]
#[command(name = "kennel wait", max_term_width = 100)]
pub(crate) struct WaitOptions {
    /// Task ids or beginnings of them.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// Until nothing of the task is left, not only its leader.
    #[arg(long)]
    pub(crate) tree: bool,
    /// Give up after this long: exit 124, the tasks are left alone.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse)]
    pub(crate) timeout: Option<Duration>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// End tasks: signal, grace, SIGKILL, whole tree, proof.
#[derive(Debug, Parser)]
#[command(name = "kennel kill", max_term_width = 100)]
pub(crate) struct KillOptions {
    /// Task ids or beginnings of them.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
    /// First signal.
    #[arg(long, value_name = "TERM|INT|KILL", default_value = "TERM")]
    pub(crate) signal: String,
    /// Time between the first signal and SIGKILL.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse, default_value = "5s")]
    pub(crate) grace: Duration,
    /// No SIGKILL: what does not heed the signal lives on.
    #[arg(long)]
    pub(crate) no_force: bool,
    /// Do not ask before an old task is ended.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The agent that calls as a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookArg {
    /// By the input.
    Auto,
    Claude,
    Codex,
    Gemini,
    Cursor,
}

/// Install the check as a hook of an agent.
#[derive(Debug, Parser)]
#[command(name = "kennel hook", max_term_width = 100)]
pub(crate) struct HookOptions {
    #[command(subcommand)]
    pub(crate) verb: HookVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HookVerb {
    /// Let the agent ask `kennel check` before it runs a command.
    Install(ClientOptions),
    /// Take that back.
    Uninstall(ClientOptions),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientArg {
    Claude,
    Codex,
    Gemini,
    Cursor,
}

#[derive(Debug, Args)]
pub(crate) struct ClientOptions {
    /// Which agent.
    #[arg(long, value_enum, value_name = "AGENT")]
    pub(crate) client: ClientArg,
    /// Print what the agent's file would become, and change nothing.
    #[arg(long)]
    pub(crate) print: bool,
}

/// Serve agents over MCP on stdin and stdout.
#[derive(Debug, Parser)]
#[command(name = "kennel mcp", max_term_width = 100, args_conflicts_with_subcommands = true)]
pub(crate) struct McpOptions {
    #[command(subcommand)]
    pub(crate) verb: Option<McpVerb>,
    #[command(flatten)]
    pub(crate) serve: McpServeOptions,
}

#[derive(Debug, Args)]
pub(crate) struct McpServeOptions {
    /// Directory in which sessions begin; by default the client's first root, else this one.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Serve under the names that this agent knows.
    #[arg(long, value_enum, value_name = "AGENT", default_value = "kennel")]
    pub(crate) profile: Profile,
    /// Ask a person, through the client, before a task is ended that is older than this.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) confirm_kill_after: Option<Duration>,
}

/// Serve agents over MCP on streamable HTTP, on this machine.
#[derive(Debug, Parser)]
#[command(name = "kennel serve", max_term_width = 100)]
pub(crate) struct ServeOptions {
    /// Address and port; port 0 is any that is free.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7433")]
    pub(crate) listen: SocketAddr,
    /// File with the tokens, one a line, mode 600; made with a new token where there is none.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Ask for no token: every program on this machine can then run commands as you.
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) no_token: bool,
    #[command(flatten)]
    pub(crate) mcp: McpServeOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpVerb {
    /// Add the server to an agent's configuration.
    Install(McpClientOptions),
    /// Take it out again.
    Uninstall(McpClientOptions),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClientArg {
    Claude,
    Codex,
    Gemini,
    Cursor,
    Vscode,
}

#[derive(Debug, Args)]
pub(crate) struct McpClientOptions {
    /// Which agent.
    #[arg(long, value_enum, value_name = "AGENT")]
    pub(crate) client: McpClientArg,
    /// In the file of the project in this directory (.mcp.json and the like), not in the user's.
    #[arg(long)]
    pub(crate) project: bool,
    /// Print what the agent's file would become, and change nothing.
    #[arg(long)]
    pub(crate) print: bool,
}

/// Say whether a command may run: 0 allow, 1 deny, 3 ask. Nothing is run.
#[derive(Debug, Parser)]
#[command(name = "kennel check", max_term_width = 100)]
pub(crate) struct CheckOptions {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also say how the command was read.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Answer JSON lines {id, command, cwd, home} with {id, verdict, rules}.
    #[arg(long, conflicts_with_all = ["json", "explain", "hook", "command", "command_file", "cwd"])]
    pub(crate) stdin: bool,
    /// Answer the hook of an agent, in its format.
    #[arg(long, value_name = "AGENT", value_enum, num_args = 0..=1, default_missing_value = "auto",
        conflicts_with_all = ["json", "explain", "command", "command_file", "cwd"])]
    pub(crate) hook: Option<HookArg>,
    /// Directory in which the command would run.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Read the command line from this file (- for standard input).
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub(crate) command_file: Option<PathBuf>,
    /// One word is a line for bash; several are a program and its arguments.
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Recover lost tasks and remove expired output.
#[derive(Debug, Parser)]
#[command(name = "kennel gc", max_term_width = 100)]
pub(crate) struct GcOptions {
    /// Remove tasks that ended longer ago; by default `retention` of the configuration.
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = duration::parse)]
    pub(crate) older_than: Option<Duration>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the configuration in force, or the path of your file.
#[derive(Debug, Parser)]
#[command(name = "kennel config", max_term_width = 100)]
pub(crate) struct ConfigOptions {
    #[command(subcommand)]
    pub(crate) verb: Option<ConfigVerb>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Every key with its value in this directory (the default).
    Show {
        /// Also who said so.
        #[arg(long)]
        origin: bool,
    },
    /// The path of your own file.
    Path,
}

/// Let the kennel.toml of a directory loosen too, as it is now.
#[derive(Debug, Parser)]
#[command(name = "kennel trust", max_term_width = 100)]
pub(crate) struct TrustOptions {
    /// The directory; by default the nearest one up the tree that has a kennel.toml.
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Take that back.
    #[arg(long)]
    pub(crate) revoke: bool,
}

/// Print the JSON Schema of an output or of the configuration.
#[derive(Debug, Parser)]
#[command(name = "kennel schema", max_term_width = 100)]
pub(crate) struct SchemaOptions {
    /// Which; without a name, the names.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// Say what this machine offers and what that protects.
#[derive(Debug, Parser)]
#[command(name = "kennel doctor", max_term_width = 100)]
pub(crate) struct DoctorOptions {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print one JSON object for a report of a defect: version, machine, tasks and what the keepers noted; no commands,
    /// no environment, no output.
    #[arg(long, conflicts_with = "json")]
    pub(crate) bundle: bool,
}
