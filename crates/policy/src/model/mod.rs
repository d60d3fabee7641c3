//! What programs do: which model a command goes to, and what it prints.

mod apps;
mod archive;
mod carriers;
mod container;
mod editors;
pub(crate) mod effect;
mod fetch;
mod files;
mod find;
mod git;
mod handoff;
mod lang;
mod opts;
mod sed;
mod shapes;
mod shell;
mod signal;
mod sinks;
mod sql;
mod text;
mod wrap;
mod xargs;

use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::{self, NET, RUN};
use crate::verdict::{Decision, HandOff};
pub(crate) use opts::Spec;

/// One command that would run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The program's name, without its directory.
    pub(crate) name: &'a str,
    /// The words behind it.
    pub(crate) args: &'a [String],
    /// What it reads, if the line says so.
    pub(crate) stdin: Option<&'a str>,
}

impl Call<'_> {
    /// What a program prints of which nothing is known but where it came from.
    pub(crate) fn derived(&self) -> String {
        let mut out = self.stdin.map(mark::taint).unwrap_or_default();
        out.push(RUN);
        out
    }
}

/// Hand-offs of one line that are told.
const HAND_OFFS_MAX: usize = 16;

/// Words of a command that a finding shows.
const SHOWN_WORDS: usize = 64;

/// Programs that are looked for where a name is a pattern, or follows an unknown program.
#[rustfmt::skip]
const DANGEROUS: &[&str] = &[
    "rm", "dd", "shred", "unlink", "rmdir", "mkfs", "mkfs.ext4", "wipefs", "chmod", "chown", "mv", "cp",
    "tee", "truncate", "find", "rsync", "sh", "bash", "zsh", "dash", "ksh", "python", "python3", "perl",
    "ruby", "node", "php", "nc", "ncat", "socat", "curl", "wget", "sudo", "su", "env", "xargs", "eval",
    "kill", "killall", "pkill", "reboot", "shutdown", "blkdiscard", "sgdisk", "git", "dropdb", "psql",
    "mysql", "kubectl", "terraform", "crontab", "iptables", "busybox", "chattr", "scp",
];

impl Checker<'_> {
    /// Judges one command and returns what it prints.
    pub(crate) fn invoke(&mut self, env: &mut Env, argv: &[String], stdin: Option<&str>) -> String {
        let outer = (
            std::mem::replace(&mut self.argv, argv.iter().take(SHOWN_WORDS).cloned().collect()),
            self.cwd.clone(),
        );
        self.cwd = env.cwd.first().cloned().unwrap_or_default();
        let out = self.deeper(|checker| checker.dispatch(env, argv, stdin));
        (self.argv, self.cwd) = outer;
        Self::stream(out)
    }

    fn dispatch(&mut self, env: &mut Env, argv: &[String], stdin: Option<&str>) -> String {
        let Some(program) = argv.first() else { return String::new() };
        if self.traced && self.trace.len() < 256 {
            let shown: Vec<String> = argv.iter().map(|word| mark::show(word)).collect();
            self.trace.push(format!("{}{}", "  ".repeat(self.depth as usize / 4), shown.join(" ")));
        }
        if !self.spend(u32::try_from(argv.len()).unwrap_or(u32::MAX)) {
            return RUN.to_string();
        }
        let args = argv.get(1..).unwrap_or_default();
        let base = program.rsplit('/').next().unwrap_or_default();
        if program.contains(NET) {
            self.report("exec.remote", program);
            return RUN.to_string();
        }
        // A script in a known place whose name is only partly known is still a script.
        let partly = base.starts_with(|c: char| c.is_ascii_alphanumeric()) && program.contains('/');
        if mark::has_hole(base) && !partly {
            return self.dynamic(env, program, argv, stdin);
        }
        if mark::has_glob(base) && !base.chars().any(|c| c.is_ascii_alphanumeric()) {
            return self.dynamic(env, program, argv, stdin);
        }
        if mark::has_glob(base) {
            return self.globbed(env, base, argv, stdin);
        }
        if !program.contains('/') {
            if env.functions.contains_key(program) && !self.calls.contains(program) {
                return self.call(env, program, args, stdin);
            }
            if let Some(text) = env.aliases.get(program).cloned()
                && !self.calls.contains(&text)
            {
                return self.alias(env, &text, args, stdin);
            }
        } else if let Some(code) = self.content(env, program) {
            let Some(original) = code.strip_prefix(mark::PROGRAM) else {
                return self.run_file(env, &code, args, stdin);
            };
            // These ask under which name they were started.
            let name = if matches!(original, "busybox" | "toybox" | "coreutils") { base } else { original };
            return self.program(env, &Call { name, args, stdin });
        }
        let script = program.starts_with("/etc/init.d/") || program.starts_with("/etc/rc.d/");
        if script && args.first().is_some_and(|verb| verb != "status") {
            self.report("sys.service", program);
        }
        self.program(env, &Call { name: base, args, stdin })
    }

    fn note_hand_off(&mut self, call: &Call<'_>) {
        let Some(service) = handoff::service(call) else { return };
        let hand_off = HandOff { service: service.to_owned(), argv: handoff::shown(call) };
        if self.hand_offs.len() < HAND_OFFS_MAX && !self.hand_offs.contains(&hand_off) {
            self.hand_offs.push(hand_off);
        }
    }

    /// A program of a known name.
    pub(crate) fn program(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        if matches!(call.args, [only] if matches!(only.as_str(), "--help" | "--version")) {
            // A page is printed, whatever the program does else.
            return RUN.to_string();
        }
        self.patterns(env, call);
        self.note_hand_off(call);
        if let Some(out) = self.builtin(env, call) {
            return out;
        }
        if let Some(out) = self.wrapper(env, call) {
            return out;
        }
        let known = self
            .interpreter(env, call)
            .or_else(|| self.option_commands(env, call))
            .or_else(|| self.file_program(env, call))
            .or_else(|| self.finder(env, call))
            .or_else(|| self.network(env, call))
            .or_else(|| self.text_program(env, call))
            .or_else(|| self.app(env, call));
        known.unwrap_or_else(|| {
            self.suffix(env, call);
            call.derived()
        })
    }

    /// A name that is only known at run time.
    fn dynamic(&mut self, env: &mut Env, program: &str, argv: &[String], stdin: Option<&str>) -> String {
        if program.chars().all(|c| c == mark::TRUSTED) {
            return RUN.to_string();
        }
        self.report("exec.dynamic", program);
        let name = program.to_owned();
        let args = argv.get(1..).unwrap_or_default();
        self.suffix(env, &Call { name: &name, args, stdin });
        RUN.to_string()
    }

    /// A name that is a pattern may be any program that it matches.
    fn globbed(&mut self, env: &mut Env, base: &str, argv: &[String], stdin: Option<&str>) -> String {
        let pattern: Vec<char> = base.chars().collect();
        let names =
            DANGEROUS.iter().filter(|name| mark::glob_matches(&pattern, &name.chars().collect::<Vec<_>>()));
        let names: Vec<&str> = names.copied().take(6).collect();
        for name in names {
            let args = argv.get(1..).unwrap_or_default();
            self.program(env, &Call { name, args, stdin });
        }
        RUN.to_string()
    }

    /// An unknown program may run what stands behind it.
    fn suffix(&mut self, env: &mut Env, call: &Call<'_>) {
        // Looking at every suffix of every suffix would double with each word.
        if TEXT_TAKERS.contains(&call.name) || self.suffixes >= 2 {
            return;
        }
        self.suffixes += 1;
        self.suffix_words(env, call);
        self.suffixes -= 1;
    }

    fn suffix_words(&mut self, env: &mut Env, call: &Call<'_>) {
        for (i, word) in call.args.iter().enumerate().take(16) {
            let base = word.rsplit('/').next().unwrap_or_default();
            let attached = word.split_once('=').filter(|(option, _)| is_code_option(option));
            let whole_command = word.contains(' ')
                && (attached.is_some()
                    || i.checked_sub(1)
                        .and_then(|i| call.args.get(i))
                        .is_some_and(|word| is_code_option(word)));
            let code = attached.map_or(word.as_str(), |(_, code)| code);
            let dangerous = DANGEROUS.contains(&base) || base.starts_with("mkfs");
            if !(whole_command || dangerous) {
                continue;
            }
            let mut inner = env.clone();
            let worst = self.probe(|checker| {
                checker.deeper(|checker| {
                    if whole_command {
                        checker.shell_code(&mut inner, code, None);
                    } else {
                        let rest = call.args.get(i + 1..).unwrap_or_default();
                        checker.program(&mut inner, &Call { name: base, args: rest, stdin: None });
                    }
                });
            });
            if worst > Decision::Allow {
                self.report("wrapper.unknown", &call.args.get(i..).unwrap_or_default().join(" "));
                return;
            }
        }
    }
}

/// Options behind which programs take a command line.
fn is_code_option(word: &str) -> bool {
    matches!(
        word,
        "-c" | "--exec"
            | "-e"
            | "-x"
            | "--run"
            | "--cmd"
            | "--shell"
            | "--on-change"
            | "--post-hook"
            | "--pre-hook"
            | "--hook"
            | "--deploy-hook"
            | "--renew-hook"
            | "--rsh"
            | "--preview"
    )
}

/// Programs whose operands are text, whatever they look like.
#[rustfmt::skip]
const TEXT_TAKERS: &[&str] = &[
    "echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "ack", "man", "info", "help", "apropos",
    "whatis", "which", "whereis", "type", "tldr", "logger", "notify-send", "say", "figlet", "cowsay", "git",
    "gh", "glab", "jq", "yq", "true", "false", ":", "test", "[", "ls", "cat", "head", "tail", "less", "more",
    "wc", "diff", "cmp", "stat", "file", "sort", "uniq", "cut", "touch", "mkdir", "cd", "pwd", "apt",
    "apt-cache", "brew", "dpkg", "rpm", "pip", "npm", "cargo", "shellcheck", "shfmt", "command", "hash",
    "cheat", "code", "vi", "nano", "basename", "dirname", "realpath", "readlink", "expr", "let", "read",
    "export", "set", "strings", "hexdump", "whatprovides", "dnf", "yum", "pacman", "emerge", "conda",
    "mamba", "tree", "du", "df", "ps", "pgrep", "pidof", "killall5",
];
