//! Who answers where the policy asks: an option, the person at the terminal, or nobody.

use std::io::IsTerminal as _;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use kennel::policy::Verdict;
use kennel::{Answer, Config, PolicyChoice, SessionBuilder};
use rustix::event::{PollFd, PollFlags, poll};

use crate::args::{AskArg, CommandOptions};
use crate::fault::Fault;
use crate::sys::Signals;
use crate::{config, render};

/// How a verb asks, and what came of it.
#[derive(Debug)]
pub(crate) struct Asking {
    config: Config,
    choice: PolicyChoice,
    answer: Option<AskArg>,
    signals: Option<Arc<OwnedFd>>,
    happened: Arc<Mutex<Happened>>,
}

/// What came of a question.
#[derive(Debug, Default)]
enum Happened {
    /// None was put.
    #[default]
    Nothing,
    /// There was nobody to put it to.
    NobodyThere(String),
    /// The person said no.
    Refused,
    /// A signal came instead of an answer.
    Interrupted(i32),
}

impl Asking {
    /// From the options. Inside a task nothing that loosens is the caller's to say.
    pub(crate) fn new(options: &CommandOptions, signals: Option<&Signals>) -> Result<Self, Fault> {
        let loosens = [("--no-check", options.no_check), ("--ask allow", options.ask == Some(AskArg::Allow))];
        if let Some((option, _)) = loosens.into_iter().find(|(_, given)| *given && config::inside_task()) {
            return Err(Fault::refused(
                format!("{option} is refused inside a task"),
                "only who started the task may loosen its check; run the command without the option",
            ));
        }
        let signals =
            signals.map(Signals::waiting).transpose().context("copy a descriptor").map_err(Fault::own)?;
        let here = config::here();
        let cwd = options.cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
        Ok(Self {
            config: config::load(&cwd)?,
            choice: if options.no_check { PolicyChoice::Off } else { PolicyChoice::On },
            answer: options.ask,
            signals: signals.map(Arc::new),
            happened: Arc::default(),
        })
    }

    /// Gives a session its configuration and its answers.
    pub(crate) fn apply(&self, session: SessionBuilder) -> SessionBuilder {
        let session = session.config(self.config.clone());
        if self.choice == PolicyChoice::Off {
            return session.policy(PolicyChoice::Off);
        }
        let (answer, signals, happened) = (self.answer, self.signals.clone(), Arc::clone(&self.happened));
        session.on_ask(move |verdict| {
            let (answer, what) = match answer {
                Some(AskArg::Allow) => (Answer::Run, Happened::Nothing),
                Some(AskArg::Deny) => (Answer::Refuse, Happened::Nothing),
                None => ask(verdict, signals.as_deref()),
            };
            *happened.lock().unwrap_or_else(PoisonError::into_inner) = what;
            answer
        })
    }

    /// Why a command was not run.
    pub(crate) fn fault(&self, error: &kennel::Error) -> Fault {
        match *self.happened.lock().unwrap_or_else(PoisonError::into_inner) {
            Happened::Interrupted(signal) => Fault::interrupted(signal),
            // Who has just read the question need not read it again.
            Happened::Refused => Fault::refused("nothing was run", "--ask allow runs it without a question"),
            _ => Fault::of_command(error),
        }
    }

    /// Tells the person of a command that ran although the policy would have asked.
    pub(crate) fn tell_unasked(&self) {
        if let Happened::NobodyThere(words) = &*self.happened.lock().unwrap_or_else(PoisonError::into_inner) {
            render::note(&format!("{words} Nobody could be asked, so it runs (--ask deny refuses)."));
        }
    }
}

/// Asks the person at the terminal; only where both the question and the answer are on it.
fn ask(verdict: &Verdict, signals: Option<&OwnedFd>) -> (Answer, Happened) {
    let (stdin, stderr) = (std::io::stdin(), std::io::stderr());
    if !stdin.is_terminal() || !stderr.is_terminal() {
        return (Answer::Nobody, Happened::NobodyThere(render::verdict_in_words(verdict)));
    }
    render::question(verdict, "Run it? [y/N]");
    match read_answer(&stdin, signals) {
        Ok(line) => {
            let yes = matches!(line.trim_ascii().to_ascii_lowercase().as_slice(), b"y" | b"yes");
            if yes { (Answer::Run, Happened::Nothing) } else { (Answer::Refuse, Happened::Refused) }
        }
        Err(signal) => (Answer::Refuse, Happened::Interrupted(signal)),
    }
}

/// One line, byte by byte: what follows it is the command's. The error is a signal that came first; the
/// caller has blocked those.
fn read_answer(stdin: &impl AsFd, signals: Option<&OwnedFd>) -> Result<Vec<u8>, i32> {
    let mut line = Vec::new();
    loop {
        let mut fds = vec![PollFd::new(stdin, PollFlags::IN)];
        fds.extend(signals.map(|signals| PollFd::new(signals, PollFlags::IN)));
        let polled = poll(&mut fds, None);
        if polled == Err(rustix::io::Errno::INTR) {
            continue;
        }
        if polled.is_err() || fds.get(1).is_some_and(|signal| !signal.revents().is_empty()) {
            return Err(signals.map_or(libc::SIGHUP, number));
        }
        let mut byte = [0u8];
        match rustix::io::read(stdin, &mut byte) {
            Ok(0) => return Ok(line),
            Ok(_) if byte == [b'\n'] => return Ok(line),
            Ok(_) => line.extend(byte),
            Err(rustix::io::Errno::INTR) => {}
            Err(_terminal_gone) => return Ok(Vec::new()),
        }
    }
}

/// The number of the signal that waits at a signalfd(2): the first word of what can be read.
fn number(signals: &OwnedFd) -> i32 {
    let mut info = [0u8; 128];
    let _it_is_there = rustix::io::read(signals, &mut info);
    info.first_chunk::<4>().map_or(libc::SIGINT, |word| i32::from_ne_bytes(*word))
}
