//! Should this shell text run? A guard-rail over an AST of bash: no I/O, no time, no environment.
//!
//! [`Policy::check`] reads a command as bash would (`parse`), runs it on abstract values (`eval`), asks models of
//! programs what it does (`model`) and what that is worth (`rules`), and returns a [`Verdict`]. What it cannot read
//! is `ask`, never `allow`. It is not a boundary: that is the sandbox.
//!
//! ```
//! use policy::{Command, Decision, Policy, Request};
//!
//! let policy = Policy::builtin();
//! let request = Request { command: Command::Shell("rm -rf /"), cwd: "/repo", home: "/home/dev", workspace: None };
//! assert_eq!(policy.check(&request).decision, Decision::Deny);
//! ```

mod ast;
mod config;
mod context;
#[cfg(test)]
mod differential;
mod eval;
mod form;
mod guard;
mod mark;
mod model;
mod parse;
mod paths;
mod policy;
mod rules;
mod scan;
mod text;
mod verdict;

pub use config::{ConfigError, KEYS, LayerKind, closest, config_schema};
pub use form::{ShellForm, shell_form};
pub use policy::{Command, Policy, Request};
pub use rules::{glob, rules_page};
pub use verdict::{Decision, Finding, HandOff, Verdict};
