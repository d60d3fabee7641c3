//! Runs a program on abstract values: every branch, every value that is known, nothing for real.

mod arith;
mod brace;
mod builtin;
pub(crate) mod env;
mod expand;
mod param;
mod redirect;
mod subscript;
mod walk;

pub(crate) use redirect::is_socket;

use crate::ast::Span;
use crate::context::Context;
use crate::mark;
use crate::policy::Policy;
use crate::verdict::{Decision, Finding, HandOff};

/// Units of work for one line: about a word each. It bounds the time, not the size of honest lines.
const FUEL: u32 = 100_000;
/// Findings beyond this say nothing new.
const FINDINGS_MAX: usize = 64;
/// Longest text that is followed from program to program.
const STREAM_BYTES_MAX: usize = 1 << 16;

/// The run of one line.
#[derive(Debug)]
pub(crate) struct Checker<'p> {
    pub(crate) policy: &'p Policy,
    pub(crate) ctx: &'p Context,
    pub(crate) findings: Vec<Finding>,
    pub(crate) hand_offs: Vec<HandOff>,
    pub(crate) trace: Vec<String>,
    pub(crate) traced: bool,
    /// Where in the line we are.
    pub(crate) span: Span,
    /// The command that is being judged.
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: String,
    /// How deep in commands, code and wrappers we are.
    pub(crate) depth: u32,
    /// The functions that are being called.
    pub(crate) calls: Vec<String>,
    /// What a finding can decide at most: other machines and containers are not ours to lose.
    pub(crate) cap: Decision,
    /// Number of files that process substitutions have made.
    pub(crate) substitutions: u32,
    /// Traps, and where they were set.
    pub(crate) deferred: Vec<(String, Span)>,
    /// How often we are in words that an unknown program may run.
    pub(crate) suffixes: u32,
    fuel: u32,
}

impl<'p> Checker<'p> {
    pub(crate) fn new(policy: &'p Policy, ctx: &'p Context) -> Self {
        Checker {
            policy,
            ctx,
            findings: Vec::new(),
            hand_offs: Vec::new(),
            trace: Vec::new(),
            traced: false,
            span: Span::default(),
            argv: Vec::new(),
            cwd: ctx.cwd.clone(),
            depth: 0,
            calls: Vec::new(),
            cap: Decision::Deny,
            substitutions: 0,
            deferred: Vec::new(),
            suffixes: 0,
            fuel: FUEL,
        }
    }

    /// Takes `units` of work from what is left; false, with a finding, when nothing is.
    pub(crate) fn spend(&mut self, units: u32) -> bool {
        if self.fuel == 0 {
            return false;
        }
        self.fuel = self.fuel.saturating_sub(units);
        if self.fuel == 0 {
            self.report("limit.work", "");
        }
        self.fuel > 0
    }

    /// Whether nothing is left to spend.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.fuel == 0
    }

    /// Runs `inner` one level deeper; beyond the limit it is not run, with a finding.
    pub(crate) fn deeper<T: Default>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= crate::parse::NESTING_MAX {
            self.report("limit.depth", "");
            return T::default();
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Records that `rule` is broken. `detail` is put behind its reason.
    pub(crate) fn report(&mut self, rule: &str, detail: &str) {
        let known = crate::rules::find(rule);
        let decision = self.policy.decision(rule, known.decision).min(self.cap);
        if decision == Decision::Allow {
            return;
        }
        let reason = if detail.is_empty() {
            known.reason.to_owned()
        } else {
            format!("{}: {}", known.reason, mark::show(detail))
        };
        self.push(Finding {
            rule: rule.to_owned(),
            decision,
            span: (self.span.start, self.span.end),
            reason,
            argv: self.argv.iter().map(|word| mark::show(word)).collect(),
            cwd: mark::show(&self.cwd),
            instead: known.instead.to_owned(),
        });
    }

    pub(crate) fn push(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS_MAX && !self.findings.contains(&finding) {
            self.findings.push(finding);
        } else if self.findings.iter().all(|known| known.decision < finding.decision) {
            // The list is full; the worst must still be in it.
            self.findings.pop();
            self.findings.push(finding);
        }
    }

    /// What `inner` would decide; its findings are dropped.
    pub(crate) fn probe(&mut self, inner: impl FnOnce(&mut Self)) -> Decision {
        let kept = std::mem::take(&mut self.findings);
        inner(self);
        let found = std::mem::replace(&mut self.findings, kept);
        found.iter().map(|finding| finding.decision).max().unwrap_or(Decision::Allow)
    }

    /// Runs what is only defined here: a question is asked where it is called, a danger is told at once.
    pub(crate) fn defined(&mut self, inner: impl FnOnce(&mut Self)) {
        let kept = std::mem::take(&mut self.findings);
        inner(self);
        let found = std::mem::replace(&mut self.findings, kept);
        found
            .into_iter()
            .filter(|finding| finding.decision == Decision::Deny)
            .for_each(|finding| self.push(finding));
    }

    /// Runs `inner` where nothing that it finds decides more than `cap`.
    pub(crate) fn capped<T>(&mut self, cap: Decision, inner: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.cap;
        self.cap = outer.min(cap);
        let result = inner(self);
        self.cap = outer;
        result
    }

    /// What the line prints is seen by whoever asked for it.
    pub(crate) fn shown(&mut self, out: &str) {
        if out.contains(mark::DOTENV) {
            self.report("secret.read", "settings of the workspace");
        }
    }

    /// `text` as the stream that a program writes.
    pub(crate) fn stream(text: String) -> String {
        if text.len() <= STREAM_BYTES_MAX { text } else { format!("{}{}", mark::RUN, mark::taint(&text)) }
    }
}
