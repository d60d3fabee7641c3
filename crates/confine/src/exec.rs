//! What is executed: program file candidates, argument and environment vectors, ready for `execve(2)`.

use std::ffi::{CStr, CString, c_char};

use rustix::io::Errno;

use crate::child::PlanError;
use crate::sys;

/// How the program file is found.
#[derive(Debug, Clone)]
pub enum Program<'a> {
    /// This file.
    File(&'a [u8]),
    /// This name, in the directories of a `PATH` value, as a shell would.
    Search {
        /// The name; one that holds a slash is a file.
        name: &'a [u8],
        /// The `PATH` of the command's own environment.
        path: &'a [u8],
    },
}

/// A command, ready to be executed without allocating.
#[derive(Debug)]
pub struct ExecPlan {
    candidates: Vec<CString>,
    argv: Vec<*const c_char>,
    /// `sh FILE ARG…` for a file without a `#!` line: what every shell does on ENOEXEC (POSIX, "Command Search").
    script_argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    // The strings that the pointers above point to. Their heap buffers never move.
    _strings: Vec<CString>,
}

const SCRIPT_SHELL: &CStr = c"/bin/sh";
const SCRIPT_ARGV0: &CStr = c"sh";

impl ExecPlan {
    /// Prepares the vectors.
    ///
    /// # Errors
    /// [`PlanError::NulByte`] where a string holds a NUL byte, [`PlanError::EmptyCommand`] for an empty vector.
    pub fn new(program: &Program<'_>, argv: &[&[u8]], env: &[&[u8]]) -> Result<Self, PlanError> {
        if argv.is_empty() {
            return Err(PlanError::EmptyCommand);
        }
        let owned = |bytes: &[u8]| CString::new(bytes).map_err(|_| PlanError::NulByte);
        let candidates =
            candidate_files(program).into_iter().map(|file| owned(&file)).collect::<Result<Vec<_>, _>>()?;
        let strings = argv.iter().chain(env).map(|bytes| owned(bytes)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = strings.iter().map(|string| string.as_ptr()).collect();
        let (arguments, environment) = pointers.split_at(argv.len());
        let ended =
            |list: &[*const c_char]| list.iter().copied().chain([std::ptr::null()]).collect::<Vec<_>>();
        let mut script_argv = vec![SCRIPT_ARGV0.as_ptr(), std::ptr::null()];
        script_argv.extend(ended(arguments.get(1..).unwrap_or_default()));
        Ok(Self {
            candidates,
            argv: ended(arguments),
            script_argv,
            envp: ended(environment),
            _strings: strings,
        })
    }

    /// Leaves out the last variable of the environment.
    pub(crate) fn forget_last_variable(&mut self) {
        let end = self.envp.len().saturating_sub(1);
        if let Some(last) = end.checked_sub(1).and_then(|at| self.envp.get_mut(at)) {
            *last = std::ptr::null();
        }
    }

    /// Executes the first candidate that the kernel takes; returns the errno that a shell would report.
    pub(crate) fn exec(&mut self) -> Errno {
        let mut verdict = Errno::NOENT;
        for candidate in &self.candidates {
            match sys::exec(candidate, &self.argv, &self.envp) {
                Errno::NOENT | Errno::NOTDIR => {}
                Errno::NOEXEC => {
                    if let Some(slot) = self.script_argv.get_mut(1) {
                        *slot = candidate.as_ptr();
                    }
                    return sys::exec(SCRIPT_SHELL, &self.script_argv, &self.envp);
                }
                // A file that may not be executed does not end the search, but is what is reported when no other is found.
                Errno::ACCESS => verdict = Errno::ACCESS,
                other => return other,
            }
        }
        verdict
    }
}

fn candidate_files(program: &Program<'_>) -> Vec<Vec<u8>> {
    match *program {
        Program::File(file) => vec![file.to_vec()],
        Program::Search { name: [], .. } => Vec::new(),
        Program::Search { name, .. } if name.contains(&b'/') => vec![name.to_vec()],
        Program::Search { name, path } => path
            .split(|byte| *byte == b':')
            .map(|directory| {
                let directory = if directory.is_empty() { b"." } else { directory };
                [directory, b"/", name].concat()
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_searched_and_a_path_is_not() {
        let search =
            |name: &'static [u8]| candidate_files(&Program::Search { name, path: b"/bin::/usr/bin" });
        assert_eq!(search(b"ls"), [b"/bin/ls".to_vec(), b"./ls".to_vec(), b"/usr/bin/ls".to_vec()]);
        assert_eq!(search(b"./ls"), [b"./ls".to_vec()]);
        assert!(search(b"").is_empty());
    }

    #[test]
    fn nul_bytes_and_empty_vectors_are_refused() {
        let plan = |argv: &[&[u8]]| ExecPlan::new(&Program::File(b"/bin/true"), argv, &[]).err();
        assert_eq!(plan(&[b"a\0b"]), Some(PlanError::NulByte));
        assert_eq!(plan(&[]), Some(PlanError::EmptyCommand));
        assert_eq!(plan(&[b"true"]), None);
    }
}
