//! The binary where it runs: every module of it, and the way from a command line to an exit status.

pub(crate) mod args;
pub(crate) mod ask;
pub(crate) mod boundary;
pub(crate) mod check;
pub(crate) mod clock;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod fault;
pub(crate) mod gc;
pub(crate) mod hook;
pub(crate) mod hostfile;
pub(crate) mod install;
pub(crate) mod jsonrpc;
pub(crate) mod kill;
pub(crate) mod limits;
pub(crate) mod mcp;
pub(crate) mod output;
pub(crate) mod pages;
pub(crate) mod progress;
pub(crate) mod relay;
pub(crate) mod render;
pub(crate) mod run;
pub(crate) mod sandbox;
pub(crate) mod schema;
pub(crate) mod send;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod sink;
pub(crate) mod start;
pub(crate) mod sys;
pub(crate) mod tasks;
pub(crate) mod trace;
pub(crate) mod track;
pub(crate) mod tree;
pub(crate) mod wait;

use args::{Cli, McpOptions, Verb};
use fault::Fault;
use kennel::{ForkedGuard, GuardStart};

/// The program; returns its exit status.
#[cfg_attr(test, expect(dead_code, reason = "the test harness has an entry point of its own"))]
pub(crate) fn entry() -> u8 {
    kennel::init();
    // Before anything of ours is opened: what a wrapped command inherits.
    let passed = sys::inherited_descriptors();
    let guard = early_guard(passed);
    let cli = match Cli::parse_quickly() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let done = match cli.verb {
        // No runtime: it is a pure question, and hooks wait for the answer.
        Verb::Check(options) => check::check(&options),
        Verb::Hook(options) => install::hook(&options),
        Verb::Config(options) => config::config(&options),
        Verb::Trust(options) => config::trust(&options),
        Verb::Mcp(McpOptions { verb: Some(verb), .. }) => mcp::change(&verb),
        Verb::Completions(options) => Ok(pages::completions(&options)),
        Verb::Man(options) => pages::man(&options),
        verb => dispatch(verb, guard),
    };
    let code = match done {
        Ok(code) => code,
        Err(fault) => fault.report(),
    };
    match render::unwritten() {
        Some(error) => {
            render::error(&format!("failed to write to standard output: {error}"), None);
            // What the verb has done is done; who reads only the status must not believe that the answer came through.
            if code == 0 { UNWRITTEN } else { code }
        }
        None => code,
    }
}

/// The exit status where everything was done but the telling.
const UNWRITTEN: u8 = 125;

/// Help and version are answers; anything else is a usage error: 64, never 2, which hosts of hooks read as "deny".
fn usage(error: &clap::Error) -> u8 {
    let _nobody_reads = error.print();
    if error.use_stderr() { 64 } else { 0 }
}

/// The guard of `run` and `start` is a fork of this process. It is forked before anything else, while there is one thread
/// and little to copy, and gets ready while the options are read; if they are wrong it ends with this process.
fn early_guard(passed: Vec<i32>) -> GuardStart {
    let guard = match std::env::args_os().nth(1).as_ref().and_then(|verb| verb.to_str()) {
        Some("run") => ForkedGuard::wrapper(passed).early(),
        Some("start") => ForkedGuard::default().early(),
        _ => ForkedGuard::wrapper(passed),
    };
    GuardStart::Fork(guard)
}

fn dispatch(verb: Verb, guard: GuardStart) -> Result<u8, Fault> {
    // One thread: a guard may still have to be forked.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Fault::own(anyhow::Error::new(error).context("start the runtime")))?;
    let done = runtime.block_on(async {
        match verb {
            Verb::Run(options) => run::run(options, guard).await,
            Verb::Start(options) => start::start(options, guard).await,
            Verb::Tasks(options) => tasks::tasks(&options).await,
            Verb::Output(options) => output::output(options).await,
            Verb::Wait(options) => wait::wait(options).await,
            Verb::Kill(options) => kill::kill(options).await,
            Verb::Send(options) => send::send(options).await,
            Verb::Check(options) => check::check(&options),
            Verb::Hook(options) => install::hook(&options),
            Verb::Config(options) => config::config(&options),
            Verb::Trust(options) => config::trust(&options),
            Verb::Tree(options) => tree::tree(&options).await,
            Verb::Signal(options) => tree::signal(&options),
            Verb::Track(options) => track::track(&options).await,
            Verb::Mcp(options) => mcp::mcp(options.serve).await,
            Verb::Serve(options) => serve::serve(options).await,
            Verb::Session(options) => session::session(&options).await,
            Verb::Completions(options) => Ok(pages::completions(&options)),
            Verb::Man(options) => pages::man(&options),
            Verb::Gc(options) => gc::gc(&options).await,
            Verb::Schema(options) => schema::schema(&options),
            Verb::Doctor(options) => doctor::doctor(&options).await,
        }
    });
    // A collection of expired tasks that is still under way goes on with the next process.
    runtime.shutdown_background();
    done
}
