//! Lists, pipelines and compound commands.

use std::rc::Rc;

use super::Checker;
use super::env::{ALTERNATIVES_MAX, Env, Var};
use crate::ast::{Command, Item, Kind, Link, Mode, Pipeline, Script, Simple, Word};
use crate::mark::{self, RUN, UNSET};

/// Stand for the descriptors of a coprocess, whose numbers only bash knows.
const COPROC_FDS: [u32; 2] = [1063, 1060];
/// What a command costs, in words.
const COMMAND_COST: u32 = 8;

impl Checker<'_> {
    /// Runs a list; returns what it prints. `stdin` is what it reads, if that is not what the line itself reads.
    pub(crate) fn script(&mut self, env: &mut Env, script: &Script, stdin: Option<&str>) -> String {
        let mut out = String::new();
        for item in &script.items {
            out.push_str(&self.item(env, item, stdin));
            out = Self::stream(out);
        }
        out
    }

    fn item(&mut self, env: &mut Env, item: &Item, stdin: Option<&str>) -> String {
        if item.mode == Mode::Background {
            self.item_shapes(item);
            let mut inner = env.clone();
            return self.chain(&mut inner, item, stdin);
        }
        self.chain(env, item, stdin)
    }

    fn chain(&mut self, env: &mut Env, item: &Item, stdin: Option<&str>) -> String {
        let mut out = String::new();
        for (i, (link, pipeline)) in item.chain.iter().enumerate() {
            let leaves = *link == Link::Or && leaves_shell(pipeline);
            if leaves {
                // `cd x || exit`: what comes later knows that it succeeded.
                env.unmoved = None;
                self.pipeline(&mut env.clone(), pipeline, stdin);
                continue;
            }
            if *link == Link::Or && env.unmoved.is_some() {
                let mut failed = env.clone();
                failed.cwd = failed.unmoved.take().unwrap_or_default();
                out.push_str(&self.pipeline(&mut failed, pipeline, stdin));
                env.merge(&failed);
                continue;
            }
            if *link == Link::Or && i > 0 {
                // Either the left side or this one.
                let mut other = env.clone();
                out.push_str(&self.pipeline(&mut other, pipeline, stdin));
                env.merge(&other);
                continue;
            }
            out.push_str(&self.pipeline(env, pipeline, stdin));
        }
        env.settle();
        out
    }

    fn pipeline(&mut self, env: &mut Env, pipeline: &Pipeline, stdin: Option<&str>) -> String {
        if let [command] = pipeline.stages.as_slice() {
            return self.command(env, command, stdin);
        }
        let mut stream: Option<String> = stdin.map(str::to_owned);
        self.pipe_shapes(pipeline);
        for command in &pipeline.stages {
            let mut inner = env.clone();
            self.spend(env.weight());
            let out = self.command(&mut inner, command, stream.as_deref());
            // A file that a stage writes can be run after the pipeline.
            env.files = inner.files;
            stream = Some(Self::stream(out));
        }
        stream.unwrap_or_default()
    }

    /// Runs one command with its redirections.
    pub(crate) fn command(&mut self, env: &mut Env, command: &Command, stdin: Option<&str>) -> String {
        if !self.spend(COMMAND_COST) {
            return RUN.to_string();
        }
        let outer = self.span;
        if command.span.end > 0 {
            self.span = command.span;
        }
        let out = self.deeper(|checker| checker.redirected(env, command, stdin));
        self.span = outer;
        out
    }

    pub(super) fn kind(&mut self, env: &mut Env, kind: &Kind, stdin: Option<&str>) -> String {
        match kind {
            Kind::Simple(simple) => self.simple(env, simple, stdin),
            Kind::Group(script) => self.script(env, script, stdin),
            Kind::Subshell(script) => {
                let mut inner = env.clone();
                let out = self.script(&mut inner, script, stdin);
                env.files = inner.files;
                out
            }
            Kind::For { name, words, body } => self.for_loop(env, name, words.as_deref(), (body, stdin)),
            Kind::ForArith { header, body } => {
                self.arithmetic_word(env, header);
                let endless = header
                    .parts
                    .iter()
                    .all(|part| matches!(part, crate::ast::Part::Quoted(text) if text.trim() == ";;"));
                if endless {
                    self.endless(body);
                }
                self.either(env, |checker, env| checker.script(env, body, stdin))
            }
            Kind::Case { subject, arms } => {
                self.value(env, subject);
                let start = env.clone();
                let mut out = String::new();
                for (patterns, script) in arms {
                    let mut inner = start.clone();
                    for pattern in patterns {
                        self.value(&mut inner, pattern);
                    }
                    out.push_str(&self.script(&mut inner, script, stdin));
                    env.merge(&inner);
                }
                out
            }
            Kind::If { branches, otherwise } => self.conditional(env, branches, otherwise.as_ref(), stdin),
            Kind::Loop { condition, body } => {
                self.loop_shapes(condition, body);
                self.script(env, condition, stdin);
                self.either(env, |checker, env| checker.script(env, body, stdin))
            }
            Kind::Function { name, body } => {
                self.define(env, name, body);
                String::new()
            }
            Kind::Coproc(command) => {
                let out = self.command(&mut env.clone(), command, Some(&RUN.to_string()));
                env.set("COPROC", Var::Array(COPROC_FDS.iter().map(u32::to_string).collect()));
                for fd in COPROC_FDS {
                    Rc::make_mut(&mut env.fds).insert(fd, out.clone());
                }
                String::new()
            }
            Kind::Arith(word) => {
                self.arithmetic_word(env, word);
                String::new()
            }
            Kind::Test(words) => {
                self.test(env, words);
                String::new()
            }
        }
    }

    /// Runs `body`, which may also not run at all.
    fn either(&mut self, env: &mut Env, body: impl FnOnce(&mut Self, &mut Env) -> String) -> String {
        let before = env.clone();
        let out = body(self, env);
        env.merge(&before);
        out
    }

    fn conditional(
        &mut self,
        env: &mut Env,
        branches: &[(Script, Script)],
        otherwise: Option<&Script>,
        stdin: Option<&str>,
    ) -> String {
        let mut out = String::new();
        let mut ends: Vec<Env> = Vec::new();
        for (condition, body) in branches {
            let before = env.cwd.clone();
            self.script(env, condition, stdin);
            let mut inner = env.clone();
            // `if cd x; then`: here it has succeeded.
            inner.cwd.retain(|dir| before == env.cwd || !before.contains(dir));
            if inner.cwd.is_empty() {
                inner.cwd.clone_from(&env.cwd);
            }
            out.push_str(&self.script(&mut inner, body, stdin));
            if !leaves_script(body) {
                ends.push(inner);
            }
        }
        if let Some(script) = otherwise {
            out.push_str(&self.script(env, script, stdin));
        }
        for end in &ends {
            env.merge(end);
        }
        out
    }

    fn for_loop(
        &mut self,
        env: &mut Env,
        name: &str,
        words: Option<&[Word]>,
        (body, stdin): (&Script, Option<&str>),
    ) -> String {
        let mut values: Vec<String> = match words {
            Some(words) => self.words(env, words).into_iter().flatten().collect(),
            None => env.args.as_ref().map_or_else(|| vec![UNSET.to_string()], |args| args.to_vec()),
        };
        values.dedup();
        if values.len() > ALTERNATIVES_MAX {
            // One run stands for the tail, on all its values together.
            let tail = values.split_off(ALTERNATIVES_MAX);
            let uniform = tail.iter().all(|value| !value.contains('/') && !mark::has_hole(value));
            values.push(if uniform { tail.first().cloned().unwrap_or_default() } else { RUN.to_string() });
        }
        let before = env.clone();
        let mut out = String::new();
        for value in values {
            if !self.spend(env.weight() + 1) {
                break;
            }
            env.set(name, Var::Scalar(vec![value]));
            out.push_str(&self.script(env, body, stdin));
        }
        env.cwd.clone_from(&before.cwd);
        Self::stream(out)
    }

    fn simple(&mut self, env: &mut Env, simple: &Simple, stdin: Option<&str>) -> String {
        let mut ways = self.words(env, &simple.words);
        if ways.iter().all(Vec::is_empty) {
            let mut out = String::new();
            for assignment in &simple.assignments {
                self.assign(env, assignment);
            }
            // `$(…)` alone: what it prints would be a command; that it printed nothing is known here.
            out.truncate(0);
            return out;
        }
        let saved = (!simple.assignments.is_empty()).then(|| Rc::clone(&env.vars));
        for assignment in &simple.assignments {
            self.assign(env, assignment);
        }
        for assignment in &simple.arrays {
            self.assign(env, assignment);
        }
        let out = if ways.len() == 1 {
            let argv = ways.pop().unwrap_or_default();
            self.invoke(env, &argv, stdin)
        } else {
            let mut out = String::new();
            let mut ends: Option<Env> = None;
            for argv in ways {
                let mut inner = env.clone();
                out = self.invoke(&mut inner, &argv, stdin);
                match &mut ends {
                    None => ends = Some(inner),
                    Some(end) => end.merge(&inner),
                }
            }
            *env = ends.unwrap_or_else(|| env.clone());
            out
        };
        if let Some(saved) = saved {
            restore(env, &saved, simple);
        }
        out
    }

    /// Defines a function; its body is judged where it is called, and here in case it never is.
    fn define(&mut self, env: &mut Env, name: &str, body: &Rc<Command>) {
        Rc::make_mut(&mut env.functions).insert(name.to_owned(), Rc::clone(body));
        self.definition_shapes(name, body);
        let mut inner = env.clone();
        inner.args = None;
        self.calls.push(name.to_owned());
        self.defined(|checker| {
            checker.command(&mut inner, body, None);
        });
        self.calls.pop();
    }

    /// Calls a function of the line.
    pub(crate) fn call(&mut self, env: &mut Env, name: &str, args: &[String], stdin: Option<&str>) -> String {
        let Some(body) = env.functions.get(name).map(Rc::clone) else { return String::new() };
        if self.calls.iter().any(|call| call == name) {
            return RUN.to_string();
        }
        self.calls.push(name.to_owned());
        let outer = env.args.replace(Rc::new(args.to_vec()));
        let out = self.command(env, &body, stdin);
        env.args = outer;
        self.calls.pop();
        out
    }

    /// Runs the text of an alias, with the operands behind it.
    pub(crate) fn alias(
        &mut self,
        env: &mut Env,
        text: &str,
        args: &[String],
        stdin: Option<&str>,
    ) -> String {
        let rest: Vec<String> = args.iter().map(|arg| crate::text::quote(arg)).collect();
        let code = format!("{text} {}", rest.join(" "));
        self.calls.push(text.to_owned());
        let out = self.shell_code(env, &code, stdin);
        self.calls.pop();
        out
    }
}

/// Undoes the assignments before a command, which it alone sees.
fn restore(env: &mut Env, saved: &std::collections::HashMap<String, Var>, simple: &Simple) {
    let vars = Rc::make_mut(&mut env.vars);
    for assignment in &simple.assignments {
        match saved.get(&assignment.name) {
            Some(value) => {
                vars.insert(assignment.name.clone(), value.clone());
            }
            None => {
                vars.remove(&assignment.name);
            }
        }
    }
}

/// Whether a pipeline only leaves the shell, the function or the loop.
fn leaves_shell(pipeline: &Pipeline) -> bool {
    match pipeline.stages.as_slice() {
        [Command { kind: Kind::Simple(simple), .. }] => simple
            .words
            .first()
            .and_then(Word::bare)
            .is_some_and(|name| matches!(name, "exit" | "return" | "continue" | "break" | "die" | "exec")),
        [Command { kind: Kind::Group(script), .. }] => leaves_script(script),
        _ => false,
    }
}

fn leaves_script(script: &Script) -> bool {
    let last = script.items.last().and_then(|item| item.chain.last());
    last.is_some_and(|(_, pipeline)| leaves_shell(pipeline))
}
