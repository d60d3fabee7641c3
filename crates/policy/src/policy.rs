//! A policy: the built-in rules and the layers over them; and the check of one command.

use std::collections::HashMap;
use std::sync::Arc;

use crate::config::{ConfigError, Defaults, Layer, LayerKind, Settings, UserRule};
use crate::context::Context;
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::guard;
use crate::model::Call;
use crate::parse::{Origin, parse};
use crate::rules::patterns::{self, Words};
use crate::verdict::{Decision, Finding, Verdict};

/// What would be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// A line for `bash -c`.
    Shell(&'a str),
    /// A program and its arguments, without a shell.
    Argv(&'a [String]),
}

/// A command and where it would run.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The command.
    pub command: Command<'a>,
    /// The absolute directory in which it would run.
    pub cwd: &'a str,
    /// The user's home directory.
    pub home: &'a str,
    /// The directory that the work is in; its contents may be changed. `None`: the `cwd`.
    pub workspace: Option<&'a str>,
}

/// Rules and settings, ready to check commands. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Policy {
    settings: Arc<Settings>,
}

impl Policy {
    /// The built-in rules alone.
    pub fn builtin() -> Self {
        Policy { settings: Arc::new(Settings::default()) }
    }

    /// The built-in rules with configuration over them, in order: the user's file before the project's.
    ///
    /// # Errors
    ///
    /// The first thing in a layer that is unknown, malformed, or not the layer's to say.
    pub fn with_layers(layers: &[(LayerKind, &str)]) -> Result<Self, ConfigError> {
        layers.iter().try_fold(Self::builtin(), |policy, (kind, text)| policy.with_layer(*kind, text, &[]))
    }

    /// These rules with one more layer over them. The text may be of a larger file, whose keys `elsewhere` are passed over.
    ///
    /// # Errors
    ///
    /// The first thing in the layer that is unknown, malformed, or not the layer's to say.
    pub fn with_layer(
        mut self,
        kind: LayerKind,
        text: &str,
        elsewhere: &[&str],
    ) -> Result<Self, ConfigError> {
        let layer = Layer::parse(kind, text, elsewhere)?;
        Arc::make_mut(&mut self.settings).apply(layer)?;
        Ok(self)
    }

    /// What `ask` becomes where nobody can be asked: `ask`, if the configuration does not say.
    pub fn non_interactive(&self) -> Decision {
        self.settings.defaults.non_interactive.unwrap_or(Decision::Ask)
    }

    /// Judges a command. The same request and policy give the same verdict.
    pub fn check(&self, request: &Request<'_>) -> Verdict {
        self.run(request, false)
    }

    /// As [`Policy::check`], with the trace of how the command was read.
    pub fn explain(&self, request: &Request<'_>) -> Verdict {
        self.run(request, true)
    }

    fn run(&self, request: &Request<'_>, traced: bool) -> Verdict {
        let ctx = self.context(request);
        let mut checker = Checker::new(self, &ctx);
        checker.traced = traced;
        match request.command {
            Command::Shell(line) => check_line(&mut checker, line),
            Command::Argv(argv) => check_argv(&mut checker, argv),
        }
        let decision =
            checker.findings.iter().map(|finding| finding.decision).max().unwrap_or(Decision::Allow);
        Verdict { decision, findings: checker.findings, hand_offs: checker.hand_offs, trace: checker.trace }
    }

    fn context(&self, request: &Request<'_>) -> Context {
        let clean = |path: &str| crate::paths::absolute(path, "/");
        let mut temp: Vec<String> =
            ["/tmp", "/var/tmp", "/dev/shm"].iter().map(|dir| (*dir).to_owned()).collect();
        temp.extend(self.settings.temp.iter().map(|dir| clean(dir)));
        let workspace = self.settings.workspace.as_deref().or(request.workspace).unwrap_or(request.cwd);
        let mut ctx = Context {
            cwd: clean(request.cwd),
            home: clean(request.home),
            workspace: String::new(),
            works_at_home: false,
            temp,
            protected: self.settings.protected.iter().map(|dir| clean(dir)).collect(),
        };
        // The root, a system directory or a home is no workspace: all would be in it.
        let workspace = clean(workspace);
        ctx.works_at_home = workspace == ctx.home;
        if crate::paths::place(&workspace, &ctx).zone < crate::paths::Zone::Home {
            ctx.workspace = workspace;
        }
        ctx
    }

    /// What a rule decides, after the configuration.
    pub(crate) fn decision(&self, rule: &str, builtin: Decision) -> Decision {
        if let Some(decision) = self.settings.overrides.get(rule) {
            return *decision;
        }
        let Defaults { unparsable, dynamic, .. } = &self.settings.defaults;
        match rule {
            "parse.error" => unparsable.unwrap_or(builtin),
            "exec.dynamic" | "exec.opaque" | "fs.delete.unknown" => dynamic.unwrap_or(builtin),
            _ => builtin,
        }
    }
}

fn check_line(checker: &mut Checker<'_>, line: &str) {
    let broken = guard::check(line);
    if let Some(rule) = broken {
        checker.span = whole(line);
        checker.report(rule, "");
        if rule == "limit.size" {
            return;
        }
        checker.span = crate::ast::Span::default();
    }
    let hidden: String;
    // Marks must not be forged, and what is hidden must not hide words.
    let line = if broken.is_some() {
        hidden = line.chars().filter(|c| !crate::mark::is_mark(*c) && *c != '\0').collect();
        &hidden
    } else {
        line
    };
    match parse(line, Origin::At(0), 0) {
        Ok(script) => {
            let mut env = Env::new(&checker.ctx.cwd);
            let out = checker.script(&mut env, &script, None);
            checker.shown(&out);
            checker.at_exit(&mut env);
        }
        Err(error) => checker.unreadable(&error, line),
    }
}

fn check_argv(checker: &mut Checker<'_>, argv: &[String]) {
    let joined = argv.join(" ");
    checker.span = whole(&joined);
    if joined.len() > guard::LINE_BYTES_MAX {
        return checker.report("limit.size", "");
    }
    let clean = |word: &String| word.chars().filter(|c| !crate::mark::is_mark(*c)).collect::<String>();
    if let Some(rule) = argv.first().and_then(|program| guard::check(program)) {
        checker.report(rule, "");
    }
    let mut env = Env::new(&checker.ctx.cwd);
    let argv: Vec<String> = argv.iter().map(clean).collect();
    checker.invoke(&mut env, &argv, None);
}

fn whole(text: &str) -> crate::ast::Span {
    crate::ast::Span { start: 0, end: u32::try_from(text.len()).unwrap_or(u32::MAX) }
}

impl Checker<'_> {
    /// Patterns of words: the built-in ones, then those of the configuration.
    pub(crate) fn patterns(&mut self, env: &Env, call: &Call<'_>) {
        let name = patterns::family(call.name).unwrap_or(call.name);
        let builtin = patterns::builtin(name);
        let settings = Arc::clone(&self.policy.settings);
        if builtin.is_empty() && settings.rules.is_empty() && settings.blocked.is_empty() {
            return;
        }
        let words = Words::new(name, call.args);
        // `terraform destroy --help` prints a page.
        let harmless = !builtin.is_empty() && patterns::is_harmless(name, call.args);
        for (pattern, rule) in builtin.into_iter().filter(|_| !harmless) {
            if pattern.matches(name, &words) {
                self.report(rule, &format!("{name} {}", call.args.join(" ")));
            }
        }
        for pattern in &settings.blocked {
            if pattern.matches(call.name, &words) {
                self.report("blocked", call.name);
            }
        }
        for rule in &settings.rules {
            let inside = |path: &String| {
                let root = crate::paths::absolute(path, &self.ctx.workspace);
                call.args.iter().flat_map(|arg| self.absolute(env, arg)).any(|full| {
                    full == root || full.strip_prefix(&root).is_some_and(|rest| rest.starts_with('/'))
                })
            };
            let somewhere = rule.paths.is_empty() || rule.paths.iter().any(inside);
            if somewhere && rule.pattern.matches(call.name, &words) {
                self.configured(rule);
            }
        }
    }

    fn configured(&mut self, rule: &UserRule) {
        let decision = rule.decision.min(self.cap);
        if decision == Decision::Allow {
            return;
        }
        let finding = Finding {
            rule: rule.id.clone(),
            decision,
            span: (self.span.start, self.span.end),
            reason: rule.reason.clone(),
            argv: self.argv.iter().map(|word| crate::mark::show(word)).collect(),
            cwd: crate::mark::show(&self.cwd),
            instead: rule.instead.clone(),
        };
        self.push(finding);
    }
}

/// Decisions by rule id.
pub(crate) type Overrides = HashMap<String, Decision>;

/// Whether a path is what watches over commands.
pub(crate) fn is_own(path: &str) -> bool {
    let own = ["/.config/kennel/", "/.local/state/kennel/", "/.local/share/kennel/"]
        .iter()
        .any(|dir| path.contains(dir));
    let ends = [
        "/.config/kennel",
        "/kennel/config.toml",
        "/kennel/trusted.json",
        "/.local/state/kennel",
        "/etc/kennel.toml",
        "/kennel.toml",
        "/.claude/settings.json",
        "/.claude/settings.local.json",
        "/.codex/hooks.json",
        "/.gemini/settings.json",
        "/.cursor/hooks.json",
        "/.codex/config.toml",
    ];
    own || ends.iter().any(|end| path.ends_with(end))
}
