//! Abstract strings: ordinary text in which reserved characters stand for what is not known.
//!
//! The characters are from a private plane that [`crate::guard`] does not let in, so they cannot be forged. A value
//! with unknown parts stays a plain `String`: it can be joined, split, quoted, piped and parsed as code like any
//! other, and what is unknown, and why, stays at its place in it.

/// A value that may be empty: an unset variable, a missing argument.
pub(crate) const UNSET: char = '\u{F0000}';
/// Text that only exists at run time: the output of a program, a line that is read.
pub(crate) const RUN: char = '\u{F0001}';
/// Text that came from the network.
pub(crate) const NET: char = '\u{F0002}';
/// The content of a secret.
pub(crate) const SECRET: char = '\u{F0003}';
/// Code that a known program prints for `eval`.
pub(crate) const TRUSTED: char = '\u{F0004}';
/// The content of a secret of the workspace, which its programs may read and nobody should print.
pub(crate) const DOTENV: char = '\u{F0005}';
/// The content of a file of the system.
pub(crate) const SYSTEM: char = '\u{F0006}';
/// Numbers of processes that were found by name.
pub(crate) const PIDS: char = '\u{F0007}';
/// The number of the process that started the shell.
pub(crate) const PARENT: char = '\u{F0008}';
/// A copy of, or a link to, the program whose path follows.
pub(crate) const PROGRAM: char = '\u{F0009}';
/// The value of a variable that is named as a secret.
pub(crate) const TOKEN: char = '\u{F000A}';
/// An active `*`.
pub(crate) const STAR: char = '\u{F0010}';
/// An active `?`.
pub(crate) const ANY: char = '\u{F0011}';
/// An active `[`.
pub(crate) const CLASS: char = '\u{F0012}';

const FIRST: char = '\u{F0000}';
const LAST: char = '\u{F001F}';

/// Names of variables that are taken for secrets, as where an agent's environment is made.
#[rustfmt::skip]
const SECRET_NAMES: &[&str] = &[
    "TOKEN", "*_TOKEN", "*_TOKENS", "*_TOKEN_*", "SECRET", "*_SECRET", "*_SECRETS", "*_SECRET_*", "*_KEY", "*APIKEY",
    "*API_KEY*", "*PRIVATE_KEY*", "*ACCESS_KEY*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*_PASS", "*_PWD",
    "*CREDENTIAL*", "*_PAT", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN",
];

/// Whether a variable's name says that its value is a secret; lower case is a variable of the line's own.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let own = name.bytes().any(|b| b.is_ascii_lowercase());
    !own && SECRET_NAMES.iter().any(|pattern| crate::rules::glob(pattern, name))
}

/// Whether `c` is one of the reserved characters.
pub(crate) fn is_mark(c: char) -> bool {
    (FIRST..=LAST).contains(&c)
}

/// Whether `c` stands for text that is not known.
pub(crate) fn is_hole(c: char) -> bool {
    (UNSET..=PARENT).contains(&c) || c == TOKEN
}

fn is_glob(c: char) -> bool {
    (STAR..=CLASS).contains(&c)
}

/// Whether any part of `text` is unknown.
pub(crate) fn has_hole(text: &str) -> bool {
    !text.is_ascii() && text.contains(is_hole)
}

/// Whether `text` has an active glob character.
pub(crate) fn has_glob(text: &str) -> bool {
    !text.is_ascii() && text.contains(is_glob)
}

/// Whether nothing of `text` is known.
pub(crate) fn is_opaque(text: &str) -> bool {
    let mut any = false;
    text.chars().all(|c| {
        any |= is_hole(c);
        is_hole(c) || c.is_whitespace()
    }) && any
}

/// `text` with `*`, `?` and `[` active, as in an unquoted expansion.
pub(crate) fn activate(text: &str) -> String {
    // Alone it is the test command.
    if text == "[" || !text.contains(['*', '?', '[']) {
        return text.to_owned();
    }
    let active = |c| match c {
        '*' => STAR,
        '?' => ANY,
        '[' => CLASS,
        c => c,
    };
    text.chars().map(active).collect()
}

/// `text` with glob characters as they were written, which is what a glob without a match stays.
pub(crate) fn deactivate(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let plain = |c| match c {
        STAR => '*',
        ANY => '?',
        CLASS => '[',
        c => c,
    };
    text.chars().map(plain).collect()
}

/// The marks of where `text` came from, without the text; for the output of a program that reads it.
pub(crate) fn taint(text: &str) -> String {
    let mut out = String::new();
    if text.is_ascii() {
        return out;
    }
    for mark in [NET, SECRET, DOTENV, SYSTEM, PIDS, TOKEN] {
        if text.contains(mark) {
            out.push(mark);
        }
    }
    out
}

/// `text` for people: unknown parts as `…`, globs as written.
pub(crate) fn show(text: &str) -> String {
    deactivate(text).chars().map(|c| if is_mark(c) { '…' } else { c }).collect()
}

/// Whether a pattern with marks can match `name`.
pub(crate) fn glob_matches(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let (matched, next) = match pattern.get(p) {
            Some(&STAR) => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some(&ANY) => (true, p + 1),
            Some(&CLASS) => class_matches(pattern, p, name[n]),
            Some(c) => (*c == name[n], p + 1),
            None => (false, p),
        };
        if matched {
            p = next;
            n += 1;
        } else if let Some((at, from)) = star {
            p = at + 1;
            n = from + 1;
            star = Some((at, from + 1));
        } else {
            return false;
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|c| *c == STAR)
}

/// Whether the bracket expression at `at` matches `c`, and where it ends.
fn class_matches(pattern: &[char], at: usize, c: char) -> (bool, usize) {
    let rest = pattern.get(at + 1..).unwrap_or_default();
    let negated = matches!(rest.first(), Some('!' | '^'));
    let body = rest.get(usize::from(negated)..).unwrap_or_default();
    let Some(close) = body.iter().skip(1).position(|x| *x == ']').map(|i| i + 1) else {
        return (c == '[', at + 1);
    };
    let set = body.get(..close).unwrap_or_default();
    let mut found = false;
    let mut i = 0;
    while i < set.len() {
        match (set.get(i), set.get(i + 1), set.get(i + 2)) {
            (Some(low), Some('-'), Some(high)) => {
                found |= (*low..=*high).contains(&c);
                i += 3;
            }
            (Some(one), _, _) => {
                found |= *one == c;
                i += 1;
            }
            _ => break,
        }
    }
    (found != negated, at + 2 + usize::from(negated) + close)
}
