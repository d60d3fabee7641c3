//! What code of other languages does that the machine feels: a scan for calls of known functions, with the
//! arguments that can be read. Strings that only are printed are data, and are not looked at.

use super::lang::Language;
use crate::mark::RUN;

/// Something that code does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sink {
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

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A name with its dots, `::` and `->`.
    Name(String),
    Text(String),
    /// What stands in backticks where those run a shell.
    Run(String),
    Mark(char),
}

/// Finds the sinks of `code`.
pub(super) fn scan(code: &str, language: Language, home: &str) -> Vec<Sink> {
    let tokens = tokens(code, language);
    let mut scan = Scan { tokens: &tokens, language, home, constants: Vec::new(), found: Vec::new() };
    scan.all();
    let Scan { mut found, .. } = scan;
    shapes(code, &tokens, language, &mut found);
    found
}

struct Scan<'a> {
    tokens: &'a [Token],
    language: Language,
    home: &'a str,
    constants: Vec<(String, String)>,
    found: Vec<Sink>,
}

const SHELL_CALLS: &[&str] = &[
    "system",
    "popen",
    "getoutput",
    "getstatusoutput",
    "exec",
    "execSync",
    "spawn",
    "spawnSync",
    "execFile",
    "execFileSync",
    "shell_exec",
    "passthru",
    "proc_open",
    "pcntl_exec",
    "execute",
    "run",
    "call",
    "Popen",
    "check_call",
    "check_output",
    "popen2",
    "popen3",
    "popen4",
    "capture2",
    "capture2e",
    "capture3",
    "execl",
    "execlp",
    "execv",
    "execvp",
    "execvpe",
    "spawnl",
    "spawnlp",
    "spawnv",
    "spawnvp",
    "posix_spawn",
    "sh",
    "$",
    "shell",
    "shell-command",
    "script",
    "call-process",
    "ShellExecute",
];
/// Of these, names that mean something else unless they belong to one of the owners.
const AMBIGUOUS: &[(&str, &[&str])] = &[
    ("run", &["subprocess", "sp", "Deno", "execa", "invoke"]),
    ("call", &["subprocess", "sp"]),
    ("spawn", &["pty", "child_process", "cp", "", "Process", "Bun", "require", "Open3"]),
    ("exec", &["child_process", "cp", "", "Kernel", "os", "require", "shell", "Process"]),
    ("execute", &["os"]),
    ("sh", &["", "FileUtils"]),
    ("$", &["", "Bun"]),
    ("shell", &[""]),
];
const DELETE_CALLS: &[(&str, bool)] = &[
    ("rmtree", true),
    ("remove_tree", true),
    ("rm_rf", true),
    ("rm_r", true),
    ("remove_dir", true),
    ("remove_entry", true),
    ("remove_entry_secure", true),
    ("rmSync", true),
    ("rimraf", true),
    ("rimrafSync", true),
    ("removeSync", true),
    ("emptyDirSync", true),
    ("remove_dir_all", true),
    ("rmdirSync", true),
    ("delete-directory", true),
    ("rm", true),
    ("removeAll", true),
    ("deleteRecursive", true),
    ("rmdir", false),
    ("unlink", false),
    ("unlinkSync", false),
    ("remove", false),
    ("removedirs", false),
    ("delete", false),
    ("safe_unlink", false),
    ("delete-file", false),
    ("secure_delete", true),
    ("rm_f", false),
    ("del", true),
    ("deleteSync", true),
    ("unlink_recursive", true),
];
/// Owners whose `remove`, `rm`, `delete` and `rmdir` are about files.
const FILE_OWNERS: &[&str] = &[
    "os",
    "fs",
    "File",
    "Dir",
    "FileUtils",
    "shutil",
    "Path",
    "pathlib",
    "promises",
    "fsPromises",
    "fse",
    "",
    "require",
    "Pathname",
    "IO",
    "Deno",
    "path",
];

impl Scan<'_> {
    fn all(&mut self) {
        for at in 0..self.tokens.len() {
            match self.tokens.get(at) {
                Some(Token::Run(code)) => self.found.push(Sink::Shell(code.clone())),
                Some(Token::Name(name)) => self.name(at, &name.clone()),
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
        if let Some(Token::Text(_)) = self.tokens.get(at + 1) {
            let code = self.resolve(at + 1, self.statement_end(at + 1));
            self.found.push(Sink::Shell(code));
        }
        let after = if matches!(self.tokens.get(at + 1), Some(Token::Mark('&'))) { at + 2 } else { at + 1 };
        let getline = matches!(self.tokens.get(after), Some(Token::Name(name)) if name == "getline");
        if getline {
            let begins = |token: &Token| matches!(token, Token::Mark(';' | '{' | '}' | '\n' | '(' | '='));
            let start = self.tokens.iter().take(at).rposition(begins).map_or(0, |before| before + 1);
            let code = self.resolve(start, at);
            if !code.is_empty() {
                self.found.push(Sink::Shell(code));
            }
        }
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
        let Some(args) = self.arguments(at, lisp) else { return };
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
        let prefix = matches!(name, "r" | "f" | "b" | "u") && !matches!(self.tokens.get(at + 1), Some(Token::Text(_)));
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
            .is_none_or(|(_, owners)| owners.contains(&owner));
        let python_exec = self.language == Language::Python && last == "exec" && owner.is_empty();
        let awk_only = self.language != Language::Awk || last == "system";
        let evals = matches!(last, "eval" | "exec" | "instance_eval" | "Function" | "runInThisContext" | "assert");
        if evals && (python_exec || last != "exec") && !first.trim().is_empty() && !crate::mark::has_hole(&first) {
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
                    None if mode.starts_with('>') => ("w", args.get(2).map_or("", String::as_str)),
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

/// What is recognised by words that occur together.
fn shapes(code: &str, tokens: &[Token], language: Language, found: &mut Vec<Sink>) {
    let names = |wanted: &[&str]| {
        tokens.iter().any(|token| match token {
            Token::Name(name) => name.split(['.', ':', '>', '-', '$']).any(|part| wanted.contains(&part)),
            _ => false,
        })
    };
    let texts = |test: &dyn Fn(&str) -> bool| {
        tokens.iter().any(|token| matches!(token, Token::Text(text) | Token::Run(text) if test(text)))
    };
    let squeezed: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let forks = names(&["fork"])
        || (language == Language::JavaScript && names(&["spawn", "exec"]) && squeezed.contains("__filename"));
    let endless = [
        "whileTrue",
        "while1",
        "while(1)",
        "while(true)",
        "whiletrue",
        "forkwhile",
        "whilefork",
        "loop{",
        "loopdo",
        "for(;;)",
        "until0",
        "while(fork",
        "forkuntil",
        "iter(int",
        "itertools.count",
        "foriinrange(",
        "1while",
        "fork;fork",
        "setInterval",
    ]
    .iter()
    .any(|shape| squeezed.contains(shape));
    if forks && endless {
        found.push(Sink::Bomb);
    }
    let connects = names(&[
        "socket",
        "Socket",
        "TCPSocket",
        "UDPSocket",
        "connect",
        "createConnection",
        "fsockopen",
        "INET",
        "create_connection",
        "stream_socket_client",
        "pfsockopen",
    ]) || texts(&|text| text.starts_with("/inet/tcp") || text.starts_with("/inet/udp"));
    let shells = texts(&|text| {
        let name = text.split_whitespace().next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        super::shell::SHELLS.contains(&name) || matches!(name, "cmd.exe" | "powershell.exe" | "cmd")
    });
    let wires = names(&[
        "dup2",
        "subprocess",
        "pty",
        "spawn",
        "exec",
        "popen",
        "proc_open",
        "system",
        "fdopen",
        "reopen",
        "popen3",
        "IO",
        "execl",
        "STDIN",
        "execve",
        "shell_exec",
        "pipe",
        "execute",
    ]) || language == Language::Awk;
    let steered = found.iter().any(|sink| match sink {
        Sink::Shell(code) => crate::mark::is_opaque(code),
        Sink::Argv(argv) => argv.first().is_some_and(|program| crate::mark::is_opaque(program)),
        _ => false,
    });
    if connects && ((shells && wires) || steered) {
        found.push(Sink::ReverseShell);
    }
    let fetches = names(&[
        "urlopen",
        "urlretrieve",
        "requests",
        "httpx",
        "fetch",
        "LWP",
        "HTTP",
        "URI",
        "open_uri",
        "file_get_contents",
        "https",
        "axios",
        "curl_exec",
        "aiohttp",
        "urllib",
        "Net",
    ]) && (texts(&|text| text.contains("://")) || names(&["get"]));
    let modules = ["http", "https", "node:http", "node:https"];
    let fetches = fetches
        || texts(&|text| modules.contains(&text))
        || (names(&["get", "getstore"]) && texts(&|text| text.starts_with("http")));
    let evals = names(&[
        "eval",
        "exec",
        "compile",
        "instance_eval",
        "Function",
        "class_eval",
        "load",
        "loads",
        "runInThisContext",
        "execSync",
        "dostring",
        "loadstring",
        "assert",
        "create_function",
    ]);
    if fetches && evals {
        found.push(Sink::RemoteCode);
    }
    let decodes = names(&[
        "b64decode",
        "atob",
        "a85decode",
        "unhexlify",
        "fromhex",
        "decode64",
        "base64_decode",
        "decompress",
        "marshal",
        "unpack",
        "fromCharCode",
        "gzinflate",
        "str_rot13",
        "urlsafe_b64decode",
        "b32decode",
        "decode",
    ]);
    if evals && decodes && names(&["eval", "exec", "system", "Function", "instance_eval"]) {
        found.push(Sink::OpaqueCode);
    }
    let posts =
        names(&["post", "put", "send", "sendall", "request", "urlopen", "upload", "sendto", "Post", "write"]);
    let posts = posts || texts(&|text| matches!(text, "POST" | "PUT" | "PATCH"));
    if connects || (fetches && posts) || names(&["requests"]) {
        found.insert(0, Sink::Connects);
    }
}

fn tokens(code: &str, language: Language) -> Vec<Token> {
    let chars: Vec<char> = code.chars().collect();
    let mut lexer = Lexer { chars: &chars, pos: 0, language, tokens: Vec::new() };
    while lexer.pos < chars.len() {
        lexer.next();
    }
    lexer.tokens
}

struct Lexer<'a> {
    chars: &'a [char],
    pos: usize,
    language: Language,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn peek(&self, offset: usize) -> char {
        self.chars.get(self.pos + offset).copied().unwrap_or('\0')
    }

    fn next(&mut self) {
        let c = self.peek(0);
        let hash = !matches!(self.language, Language::JavaScript | Language::Lua | Language::Other);
        match c {
            '\n' => self.mark(c),
            c if c.is_whitespace() => self.pos += 1,
            '#' if hash && !matches!(self.tokens.last(), Some(Token::Mark('$'))) => self.skip_line(),
            '/' if self.peek(1) == '/' && matches!(self.language, Language::JavaScript | Language::Php) => {
                self.skip_line();
            }
            '\'' | '"' => self.string(c),
            '`' if self.language == Language::JavaScript => self.string(c),
            '`' => {
                self.string(c);
                if let Some(Token::Text(code)) = self.tokens.pop() {
                    self.tokens.push(Token::Run(code));
                }
            }
            '%' | 'q' if self.percent() => {}
            c if c.is_alphanumeric()
                || c == '_'
                || (c == '$' && (self.peek(1).is_alphabetic() || self.peek(1) == '_')) =>
            {
                self.word();
            }
            '-' if self.peek(1).is_ascii_digit() => self.word(),
            c => self.mark(c),
        }
    }

    fn mark(&mut self, c: char) {
        self.pos += 1;
        self.tokens.push(Token::Mark(c));
    }

    fn skip_line(&mut self) {
        while self.pos < self.chars.len() && self.peek(0) != '\n' {
            self.pos += 1;
        }
    }

    /// `%x(…)`, `qx{…}`, `q(…)`, `qq{…}`, `%w[…]`; false if none begins here.
    fn percent(&mut self) -> bool {
        let before = self
            .pos
            .checked_sub(1)
            .and_then(|i| self.chars.get(i))
            .is_some_and(|c| c.is_alphanumeric() || *c == '_');
        let (prefix, runs) = match (self.peek(0), self.peek(1), self.language) {
            ('%', 'x', Language::Ruby) => (2, true),
            ('%', 'q' | 'Q' | 'w', Language::Ruby) => (2, false),
            ('q', 'x', Language::Perl) => (2, true),
            ('q', 'q' | 'w', Language::Perl) => (2, false),
            ('q', _, Language::Perl) => (1, false),
            _ => return false,
        };
        let close = match self.peek(prefix) {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            c @ ('/' | '|' | '!') => c,
            _ => return false,
        };
        if before {
            return false;
        }
        self.pos += prefix + 1;
        let start = self.pos;
        while self.pos < self.chars.len() && self.peek(0) != close {
            self.pos += 1;
        }
        let text: String = self.chars.get(start..self.pos).unwrap_or_default().iter().collect();
        self.pos += 1;
        self.tokens.push(if runs { Token::Run(text) } else { Token::Text(text) });
        true
    }

    fn string(&mut self, quote: char) {
        let triple = self.language == Language::Python && self.peek(1) == quote && self.peek(2) == quote;
        let width = if triple { 3 } else { 1 };
        self.pos += width;
        let mut text = String::new();
        while self.pos < self.chars.len() {
            let c = self.peek(0);
            if c == quote && (!triple || (self.peek(1) == quote && self.peek(2) == quote)) {
                break;
            }
            if c == '\\' {
                text.push(c);
                text.extend(self.chars.get(self.pos + 1));
                self.pos += 2;
                continue;
            }
            text.push(c);
            self.pos += 1;
        }
        self.pos += width;
        let interpolated = quote != '\'' && ["#{", "${"].iter().any(|open| text.contains(open));
        let text = if text.contains('\\') {
            crate::text::unescape(&text, crate::text::Escapes::AnsiC)
        } else {
            text
        };
        let text = if interpolated { holes(&text) } else { text };
        self.tokens.push(Token::Text(text));
    }

    fn word(&mut self) {
        let start = self.pos;
        self.pos += 1;
        loop {
            let c = self.peek(0);
            let next = self.peek(1);
            let joins = (c == '.' || c == '?') && next.is_alphabetic()
                || (c == ':' && next == ':')
                || (c == '-' && (next == '>' || next.is_alphabetic() && self.language == Language::Other));
            if c.is_alphanumeric() || c == '_' {
                self.pos += 1;
            } else if joins {
                self.pos += if c == ':' || next == '>' { 2 } else { 1 };
            } else {
                break;
            }
        }
        let name: String = self.chars.get(start..self.pos).unwrap_or_default().iter().collect();
        let number = name.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        self.tokens.push(if number { Token::Text(name) } else { Token::Name(name) });
    }
}

/// Interpolated expressions in a string are not known.
fn holes(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if matches!(c, '#' | '$') && chars.peek() == Some(&'{') {
            for inner in chars.by_ref() {
                if inner == '}' {
                    break;
                }
            }
            out.push(RUN);
        } else {
            out.push(c);
        }
    }
    out
}
