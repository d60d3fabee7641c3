//! Redirections: what a command reads, and where what it prints goes.

use std::rc::Rc;

use super::Checker;
use super::env::Env;
use crate::ast::{Command, Flow, Kind, Redirect, RedirectOp, Script, Target};
use crate::mark::{self, NET, RUN};
use crate::model::effect::{Effect, How};

/// Where standard output goes.
#[derive(Debug, Clone)]
enum Sink {
    /// Where it went before.
    Inherited,
    /// Away, or to another descriptor.
    Elsewhere,
    File {
        paths: Vec<String>,
        append: bool,
    },
}

impl Checker<'_> {
    pub(super) fn redirected(&mut self, env: &mut Env, command: &Command, stdin: Option<&str>) -> String {
        if command.redirects.is_empty() {
            return self.kind(env, &command.kind, stdin);
        }
        let (mut input, mut sink) = (None, Sink::Inherited);
        let fds = Rc::clone(&env.fds);
        let mut sockets = false;
        for redirect in &command.redirects {
            sockets |= self.one(env, redirect, &mut input, &mut sink);
        }
        if sockets {
            self.socket_shapes(command);
        }
        let bare = matches!(&command.kind, Kind::Simple(simple) if simple.words.is_empty());
        if bare && matches!(sink, Sink::Elsewhere) {
            return String::new();
        }
        let out = self.kind(env, &command.kind, input.as_deref().or(stdin));
        if !keeps_descriptors(&command.kind) {
            env.fds = fds;
        }
        match sink {
            Sink::Inherited => out,
            Sink::Elsewhere => String::new(),
            Sink::File { paths, append } => {
                for path in paths {
                    self.redirect_output(env, &path, &out, append);
                }
                String::new()
            }
        }
    }

    fn redirect_output(&mut self, env: &mut Env, path: &str, out: &str, append: bool) {
        if is_socket(path) {
            self.effect(env, Effect::Send { data: out.to_owned(), to: path.to_owned() });
            return;
        }
        let how = if append { How::Append } else { How::Replace };
        self.effect(env, Effect::Write { path: path.to_owned(), content: Some(out.to_owned()), how });
        for full in self.absolute(env, path) {
            env.write_file(&full, out, append);
        }
    }

    /// Applies one redirection; true if it is a network connection.
    fn one(
        &mut self,
        env: &mut Env,
        redirect: &Redirect,
        input: &mut Option<String>,
        sink: &mut Sink,
    ) -> bool {
        let word = match &redirect.target {
            Target::Word(word) => word,
            Target::Doc(cell) => {
                let text = cell.get().map(|word| self.value(env, word)).unwrap_or_default();
                feed(env, redirect.fd, text.into_iter().next().unwrap_or_default(), input);
                return false;
            }
        };
        if redirect.op == RedirectOp::HereString {
            let mut text = self.value(env, word).into_iter().next().unwrap_or_default();
            text.push('\n');
            feed(env, redirect.fd, text, input);
            return false;
        }
        let paths: Vec<String> = self.words(env, std::slice::from_ref(word)).into_iter().flatten().collect();
        let socket = paths.iter().any(|path| is_socket(path));
        match redirect.op {
            RedirectOp::Read => {
                let text = paths.first().map(|path| self.read(env, path));
                feed(env, redirect.fd, text.unwrap_or_default(), input);
            }
            RedirectOp::ReadWrite => {
                let fd = redirect.fd.unwrap_or(0);
                let text = if socket { NET.to_string() } else { RUN.to_string() };
                Rc::make_mut(&mut env.fds).insert(fd, text.clone());
                if fd == 0 {
                    *input = Some(text);
                }
                if !socket {
                    self.file_writes(env, &paths, How::Append);
                }
            }
            RedirectOp::DupIn => {
                let fd = paths.first().and_then(|word| word.trim_end_matches('-').parse::<u32>().ok());
                if let Some(text) = fd.and_then(|fd| env.fds.get(&fd)) {
                    *input = Some(text.clone());
                }
            }
            RedirectOp::DupOut if paths.iter().all(|word| is_descriptor(word)) => {
                if redirect.fd.unwrap_or(1) == 1 && !paths.iter().any(|word| word == "1") {
                    *sink = Sink::Elsewhere;
                }
                let fd = paths.first().and_then(|word| word.parse::<u32>().ok());
                if fd.is_some_and(|fd| env.fds.get(&fd).is_some_and(|text| text.contains(NET))) {
                    *sink = Sink::File { paths: vec![format!("/dev/tcp/{}", fd.unwrap_or(0))], append: true };
                }
                return fd.is_some_and(|fd| env.fds.get(&fd).is_some_and(|text| text.contains(NET)));
            }
            RedirectOp::Write | RedirectOp::Append | RedirectOp::Both | RedirectOp::DupOut => {
                let append = redirect.op == RedirectOp::Append;
                if redirect.op == RedirectOp::Both || redirect.fd.unwrap_or(1) == 1 {
                    *sink = Sink::File { paths, append };
                } else if socket {
                    Rc::make_mut(&mut env.fds).insert(redirect.fd.unwrap_or(1), NET.to_string());
                } else {
                    self.file_writes(env, &paths, if append { How::Append } else { How::Replace });
                }
            }
            RedirectOp::HereString | RedirectOp::HereDoc => {}
        }
        socket
    }

    fn file_writes(&mut self, env: &Env, paths: &[String], how: How) {
        for path in paths {
            self.effect(env, Effect::Write { path: path.clone(), content: None, how });
        }
    }

    /// The name of a process substitution, which is a file with what its commands print.
    pub(super) fn process(&mut self, env: &mut Env, flow: Flow, script: &Script) -> String {
        let mut inner = env.clone();
        let out = match flow {
            Flow::FromCommand => self.deeper(|checker| checker.script(&mut inner, script, None)),
            // What flows in is not known here; a program that runs its input is judged for that.
            Flow::IntoCommand => {
                self.deeper(|checker| checker.script(&mut inner, script, Some(&RUN.to_string())));
                String::new()
            }
        };
        self.substitutions += 1;
        let path = format!("/dev/fd/{}", 63 + self.substitutions);
        env.write_file(&path, &out, false);
        path
    }

    /// What reading `path` gives, with the finding where it is a secret.
    pub(crate) fn read(&mut self, env: &Env, path: &str) -> String {
        if is_socket(path) {
            return NET.to_string();
        }
        let mut text = String::new();
        for full in self.absolute(env, path) {
            if let Some(known) = env.file(&full) {
                text.push_str(known);
                continue;
            }
            if full == "/dev/null" {
                continue;
            }
            let secret = crate::paths::is_secret(&full, self.ctx);
            if secret && crate::paths::is_dotenv(&full, self.ctx) {
                text.push(mark::DOTENV);
                continue;
            }
            self.effect(env, Effect::Read { path: full.clone() });
            text.push(if secret { mark::SECRET } else { RUN });
            let zone = crate::paths::place(&full, self.ctx).zone;
            if zone >= crate::paths::Zone::SystemInner && !full.starts_with("/dev/") {
                text.push(mark::SYSTEM);
            }
        }
        text
    }
}

/// Text that a command reads as its input, or as a numbered descriptor.
fn feed(env: &mut Env, fd: Option<u32>, text: String, input: &mut Option<String>) {
    match fd {
        None | Some(0) => *input = Some(text),
        Some(fd) => {
            Rc::make_mut(&mut env.fds).insert(fd, text);
        }
    }
}

/// `exec` without a command redirects the shell itself.
fn keeps_descriptors(kind: &Kind) -> bool {
    matches!(kind, Kind::Simple(simple)
        if simple.words.len() == 1 && simple.words.iter().all(|word| word.bare() == Some("exec")))
}

fn is_descriptor(word: &str) -> bool {
    word == "-" || word.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit()) || mark::is_opaque(word)
}

/// bash's own network files.
pub(crate) fn is_socket(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}
