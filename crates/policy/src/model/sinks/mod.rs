//! What code of other languages does that the machine feels: a scan for calls of known functions, with the
//! arguments that can be read. Strings that only are printed are data, and are not looked at.

mod bind;
mod lexer;
mod names;
mod shapes;

use lexer::{Token, tokens};
use names::{AMBIGUOUS, DELETE_CALLS, FILE_OWNERS, SHELL_CALLS};

use super::lang::Language;
use crate::mark::RUN;

/// Something that code does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::model) enum Sink {
    Shell(String),
    Argv(Vec<String>),
    Delete {
        path: String,
        recursive: bool,
    },
    Write(String),
    Read(String),
    /// A mode change; true if it lets everyone write.
    Chmod(String, bool),
    Bomb,
    ReverseShell,
    RemoteCode,
    OpaqueCode,
    KillAll,
    Connects,
    /// A string that is run in the same language.
    Code(String),
}

/// Finds the sinks of `code`.
pub(in crate::model) fn scan(code: &str, language: Language, home: &str) -> Vec<Sink> {
    let tokens = tokens(code, language);
    let mut scan = Scan {
        tokens: &tokens,
        language,
        home,
        constants: Vec::new(),
        aliases: Vec::new(),
        found: Vec::new(),
    };
    scan.bind();
    scan.all();
    let Scan { mut found, .. } = scan;
    shapes::find(code, &tokens, language, &mut found);
    found
}

struct Scan<'a> {
    tokens: &'a [Token],
    language: Language,
    home: &'a str,
    constants: Vec<(String, String)>,
    /// Names and what they were imported from.
    aliases: Vec<(String, String)>,
    found: Vec<Sink>,
}

impl Scan<'_> {
    fn all(&mut self) {
        for at in 0..self.tokens.len() {
            match self.tokens.get(at) {
                Some(Token::Run(code)) => self.found.push(Sink::Shell(code.clone())),
                Some(Token::Name(name)) => {
                    let name = self.unaliased(name);
                    self.name(at, &name);
                }
                Some(Token::Mark('|')) if self.language == Language::Awk => self.awk_pipe(at),
                Some(Token::Mark('>')) if self.language == Language::Awk => {
                    if let Some(Token::Text(path)) = self.tokens.get(at + 1) {
                        self.found.push(Sink::Write(path.clone()));
                    }
                }
                _ => {}
            }
        }
    }

    /// `"command" | getline` and `print | "command"`.
    fn awk_pipe(&mut self, at: usize) {
        if let Some(Token::Text(program)) = self.tokens.get(at + 1) {
            let shell = super::shell::SHELLS.contains(&program.rsplit('/').next().unwrap_or_default());
            let code = if shell {
                self.resolve(self.statement_start(at), at)
            } else {
                self.resolve(at + 1, self.statement_end(at + 1))
            };
            self.found.push(Sink::Shell(code));
        }
        let after = if matches!(self.tokens.get(at + 1), Some(Token::Mark('&'))) { at + 2 } else { at + 1 };
        let getline = matches!(self.tokens.get(after), Some(Token::Name(name)) if name == "getline");
        if getline {
            let start = self.statement_start(at);
            let code = self.resolve(start, at);
            if !code.is_empty() {
                self.found.push(Sink::Shell(code));
            }
        }
    }

    fn statement_start(&self, at: usize) -> usize {
        let begins = |token: &Token| match token {
            Token::Mark(c) => matches!(c, ';' | '{' | '}' | '\n' | '(' | '='),
            Token::Name(name) => matches!(name.as_str(), "print" | "printf"),
            _ => false,
        };
        self.tokens.iter().take(at).rposition(begins).map_or(0, |before| before + 1)
    }

    fn statement_end(&self, from: usize) -> usize {
        let ends = |token: &Token| matches!(token, Token::Mark(';' | '}' | '\n'));
        self.tokens
            .get(from..)
            .unwrap_or_default()
            .iter()
            .position(ends)
            .map_or(self.tokens.len(), |length| from + length)
    }

    fn name(&mut self, at: usize, name: &str) {
        if let (Some(Token::Mark('=')), Some(Token::Text(_))) =
            (self.tokens.get(at + 1), self.tokens.get(at + 2))
        {
            let value = self.resolve(at + 2, self.statement_end(at + 2));
            self.constants.push((name.trim_start_matches('$').to_owned(), value));
            return;
        }
        let parts: Vec<&str> = name.split(['.', ':', '>', '-']).filter(|part| !part.is_empty()).collect();
        let lisp = matches!(at.checked_sub(1).and_then(|i| self.tokens.get(i)), Some(Token::Mark('(')))
            && name.contains('-');
        let last = if lisp { name } else { parts.last().copied().unwrap_or(name) };
        let owner = if parts.len() > 1 {
            parts.get(parts.len() - 2).copied().unwrap_or_default()
        } else {
            self.owner_before(at)
        };
        let Some(mut args) = self.arguments(at, lisp) else { return };
        let owner = match self.receiver(at, last) {
            Some(text) => {
                args.insert(0, text);
                "require"
            }
            None => owner,
        };
        self.call(last, owner, &args);
    }

    /// `require('fs').rmSync`: the owner is what is called before the dot.
    fn owner_before(&self, at: usize) -> &'static str {
        match at.checked_sub(1).and_then(|i| self.tokens.get(i)) {
            Some(Token::Mark('.' | ':')) => "require",
            _ => "",
        }
    }

    /// The arguments of a call at `at`: its strings, lists flattened; `None` if it is not called.
    fn arguments(&self, at: usize, lisp: bool) -> Option<Vec<String>> {
        let bare = matches!(
            self.language,
            Language::Ruby | Language::Perl | Language::Php | Language::Lua | Language::Other
        ) || lisp;
        match self.tokens.get(at + 1) {
            Some(Token::Mark('(')) => {
                let (mut depth, mut end) = (0_u32, at + 1);
                for (i, token) in self.tokens.iter().enumerate().skip(at + 1) {
                    match token {
                        Token::Mark('(' | '[' | '{') => depth += 1,
                        Token::Mark(')' | ']' | '}') => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    end = i;
                    if depth == 0 {
                        break;
                    }
                }
                Some(self.split(at + 2, end))
            }
            Some(Token::Text(_)) if bare || self.language == Language::JavaScript => {
                Some(self.split(at + 1, self.statement_end(at + 1)))
            }
            Some(Token::Mark('[')) if bare => Some(self.split(at + 1, self.statement_end(at + 1))),
            Some(Token::Name(name)) if bare && name == "glob" => {
                Some(self.split(at + 1, self.statement_end(at + 1)))
            }
            _ => None,
        }
    }

    /// Comma-separated arguments between two tokens.
    fn split(&self, from: usize, to: usize) -> Vec<String> {
        let (mut args, mut start, mut depth) = (Vec::new(), from, 0_u32);
        for at in from..to {
            match self.tokens.get(at) {
                Some(Token::Mark('(')) => depth += 1,
                Some(Token::Mark(')')) => depth = depth.saturating_sub(1),
                Some(Token::Mark(',')) if depth == 0 => {
                    args.push(self.resolve(start, at));
                    start = at + 1;
                }
                _ => {}
            }
        }
        if start < to {
            args.push(self.resolve(start, to));
        }
        args
    }

    /// The text that an expression makes, with marks for what is not known.
    fn resolve(&self, from: usize, to: usize) -> String {
        let mut out = String::new();
        let mut at = from;
        while at < to {
            match self.tokens.get(at) {
                Some(Token::Text(text)) => {
                    let joined = at > from && matches!(self.tokens.get(at - 1), Some(Token::Mark(',' | '/')));
                    if joined && !out.is_empty() && !out.ends_with('/') && !text.starts_with('/') {
                        out.push('/');
                    }
                    out.push_str(text);
                }
                Some(Token::Name(name)) => at += self.resolve_name(name, at, &mut out),
                Some(Token::Mark('$')) => out.push(RUN),
                _ => {}
            }
            at += 1;
        }
        match out.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", self.home),
            _ => out,
        }
    }

    /// Adds what a name stands for; returns how many tokens behind it belong to it.
    fn resolve_name(&self, name: &str, at: usize, out: &mut String) -> usize {
        let last = name.rsplit(['.', ':']).next().unwrap_or(name);
        let key = self
            .tokens
            .iter()
            .skip(at + 1)
            .take(3)
            .position(|token| matches!(token, Token::Text(text) if text == "HOME"));
        if let Some(offset) = key {
            out.push_str(self.home);
            return offset + 1;
        }
        if matches!(last, "homedir" | "HOME" | "home") {
            out.push_str(self.home);
            return 0;
        }
        if let Some((_, value)) =
            self.constants.iter().rev().find(|(known, _)| known == name.trim_start_matches('$'))
        {
            out.push_str(value);
            return 0;
        }
        let called = matches!(self.tokens.get(at + 1), Some(Token::Mark('(')));
        let keyword = matches!(self.tokens.get(at + 1), Some(Token::Mark('=' | ':')));
        let wraps = matches!(
            last,
            "Path"
                | "join"
                | "expanduser"
                | "str"
                | "abspath"
                | "resolve"
                | "glob"
                | "Pathname"
                | "new"
                | "fspath"
                | "expand_path"
                | "realpath"
        );
        let literal = matches!(
            last,
            "True"
                | "False"
                | "None"
                | "true"
                | "false"
                | "null"
                | "r"
                | "f"
                | "b"
                | "u"
                | "recursive"
                | "force"
                | "or"
                | "and"
                | "t"
                | "nil"
        );
        let prefix =
            matches!(name, "r" | "f" | "b" | "u") && !matches!(self.tokens.get(at + 1), Some(Token::Text(_)));
        if !(wraps && (called || last == "glob")) && (!literal || prefix) && !keyword {
            out.push(RUN);
        }
        0
    }

    fn call(&mut self, last: &str, owner: &str, args: &[String]) {
        let first = args.first().cloned().unwrap_or_default();
        let owned = AMBIGUOUS
            .iter()
            .find(|(name, _)| *name == last)
            .is_none_or(|(_, owners)| owners.contains(&owner) || (owner.is_empty() && self.mentions(owners)));
        let python_exec = self.language == Language::Python && last == "exec" && owner.is_empty();
        let awk_only = self.language != Language::Awk || last == "system";
        let evals =
            matches!(last, "eval" | "exec" | "instance_eval" | "Function" | "runInThisContext" | "assert");
        if evals
            && (python_exec || last != "exec")
            && !first.trim().is_empty()
            && !crate::mark::has_hole(&first)
        {
            self.found.push(Sink::Code(first));
            return;
        }
        if SHELL_CALLS.contains(&last) && owned && !python_exec && awk_only {
            let plain: Vec<String> = args.iter().filter(|arg| !arg.is_empty()).cloned().collect();
            let is_exec = last.starts_with("execl")
                || last.starts_with("execv")
                || last.starts_with("spawnl")
                || last.starts_with("spawnv");
            // `execvp(file, [name, …])` names the program twice.
            let argv = if is_exec { plain.get(1..).unwrap_or_default().to_vec() } else { plain.clone() };
            if argv.len() > 1 && !first.contains(' ') {
                self.found.push(Sink::Argv(argv));
            } else if !first.is_empty() {
                self.found.push(Sink::Shell(first));
            }
            return;
        }
        if let Some((_, recursive)) = DELETE_CALLS.iter().find(|(name, _)| *name == last) {
            let ambiguous = matches!(last, "rm" | "remove" | "delete" | "del" | "rmdir" | "unlink");
            if (!ambiguous || FILE_OWNERS.contains(&owner)) && !first.is_empty() {
                self.found.push(Sink::Delete { path: first, recursive: *recursive });
            }
            return;
        }
        self.file_call(last, owner, args, &first);
    }

    fn file_call(&mut self, last: &str, owner: &str, args: &[String], first: &str) {
        match last {
            "open" | "fopen" | "Path" | "openSync" | "sysopen" => {
                let mode = args.get(1).map_or("", String::as_str);
                let (mode, path) = match first.strip_prefix('>') {
                    Some(rest) => ("w", rest.trim_start_matches('>').trim()),
                    None if mode.starts_with('>') => {
                        ("w", args.get(2).map_or(mode.trim_start_matches('>').trim(), String::as_str))
                    }
                    None => (mode, first.trim_start_matches('<')),
                };
                let writes = mode.starts_with(['w', 'a', 'x']) || mode.contains('+');
                if path.is_empty() {
                    return;
                }
                self.found.push(if writes {
                    Sink::Write(path.to_owned())
                } else {
                    Sink::Read(path.to_owned())
                });
            }
            "writeFileSync" | "writeFile" | "appendFileSync" | "appendFile" | "createWriteStream"
            | "file_put_contents" | "write_file" | "truncate" | "truncateSync" => {
                self.found.push(Sink::Write(first.to_owned()));
            }
            "write_text" | "write_bytes" => self.found.push(Sink::Write(first.to_owned())),
            "read_text" | "read_bytes" => self.found.push(Sink::Read(first.to_owned())),
            "write" | "binwrite" if owner == "File" || owner == "IO" => {
                self.found.push(Sink::Write(first.to_owned()));
            }
            "readFileSync" | "readFile" | "file_get_contents" | "readlines" | "read" | "slurp"
                if !first.is_empty() =>
            {
                self.found.push(Sink::Read(first.to_owned()));
            }
            "copyfile" | "copy" | "copy2" | "copyFileSync" | "move" | "rename" | "renameSync" | "cp"
            | "mv" => {
                if let [from, to, ..] = args {
                    self.found.push(Sink::Read(from.clone()));
                    self.found.push(Sink::Write(to.clone()));
                }
            }
            "chmod" | "chmodSync" => {
                let (path, mode) = if first.starts_with(|c: char| c.is_ascii_digit()) {
                    (args.get(1).cloned().unwrap_or_default(), first.to_owned())
                } else {
                    (first.to_owned(), String::new())
                };
                self.found.push(Sink::Chmod(path, mode.is_empty() || mode.ends_with('7')));
            }
            "kill" if args.iter().any(|arg| arg == "-1") => self.found.push(Sink::KillAll),
            _ => {}
        }
    }
}
