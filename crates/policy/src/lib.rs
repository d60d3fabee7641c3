//! Should this shell text run? A guard-rail over an AST of bash: no I/O, no time, no environment.

mod form;

pub use form::{ShellForm, shell_form};
