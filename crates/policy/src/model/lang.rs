//! Interpreters of other languages: where their code is, and what its sinks do.

use super::effect::{Effect, Grant, How};
use super::sinks::{self, Sink};
use super::{Call, Spec};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::{NET, SECRET};

/// A language whose sinks are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    JavaScript,
    Ruby,
    Perl,
    Php,
    Lua,
    Awk,
    /// Some other language: only what all have in common is looked for.
    Other,
    Sql,
    Tcl,
}

impl Language {
    /// The language of an interpreter.
    pub(super) fn of(name: &str) -> Option<Language> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        Some(match stem {
            "python" | "pypy" | "ipython" | "bpython" | "py" | "jython" | "micropython" => Language::Python,
            "node" | "nodejs" | "deno" | "bun" | "ts-node" | "tsx" | "qjs" => Language::JavaScript,
            "ruby" | "irb" | "jruby" => Language::Ruby,
            "perl" | "raku" => Language::Perl,
            "php" | "php-cgi" => Language::Php,
            "lua" | "luajit" | "texlua" => Language::Lua,
            "awk" | "gawk" | "mawk" | "nawk" | "goawk" => Language::Awk,
            "osascript" | "Rscript" | "R" | "julia" | "groovy" | "elixir" | "scala" | "guile" | "racket"
            | "sbcl" | "ghc" | "runghc" | "ocaml" | "swift" | "erl" | "jshell" | "clojure" | "octave"
            | "gnuplot" | "iex" | "ghci" | "amm" | "kotlin" | "kotlinc" | "crystal" | "bb" | "clj"
            | "janet" | "fennel" | "gosh" | "gsi" | "stack" => Language::Other,
            "tclsh" | "expect" | "wish" => Language::Tcl,
            "psql" | "mysql" | "mariadb" | "sqlite" | "mongo" | "mongosh" | "cqlsh" | "clickhouse-client"
            | "sqlcmd" | "sqlplus" | "duckdb" | "cockroach" | "pgcli" | "mycli" | "litecli" | "bq"
            | "influx" | "neo4j" | "cypher-shell" | "hive" | "beeline" | "impala-shell" | "isql"
            | "snowsql" => Language::Sql,
            _ => return None,
        })
    }

    /// Options whose value is code, and all options with a value.
    fn options(self) -> (&'static str, Spec) {
        match self {
            Language::Python => ("c", Spec::wrapper("cmWXQ", "")),
            Language::JavaScript => (
                "e p eval print",
                Spec::wrapper("eprC", "eval print require import loader env-file conditions"),
            ),
            Language::Ruby => ("e", Spec::wrapper("eIrEFCx", "encoding")),
            Language::Perl => ("e E", Spec::wrapper("eEIMmx", "")),
            Language::Php => ("r B R E", Spec::wrapper("rBREfdcStz", "run")),
            Language::Lua => ("e", Spec::wrapper("el", "")),
            Language::Awk => ("e source", Spec::wrapper("fFve", "file field-separator assign source")),
            Language::Tcl => ("c", Spec::wrapper("cf", "")),
            Language::Other => ("e c r eval", Spec::wrapper("eclr", "eval expression")),
            Language::Sql => (
                "c e command execute eval q query Q",
                Spec::new(
                    "cefdhUuPpvoqQwWSDL",
                    "command execute eval query file dbname host port username user password set variable output database",
                ),
            ),
        }
    }
}

impl Checker<'_> {
    pub(super) fn language(&mut self, env: &mut Env, call: &Call<'_>, language: Language) -> String {
        let (flags, spec) = language.options();
        // `-ne`, `-pe` and their like: the code is the value of the last letter of a bundle.
        let args: Vec<String> = match call.name {
            "erl" | "scala" | "kotlin" => {
                call.args.iter().map(|arg| super::editors::double_dash(arg)).collect()
            }
            _ => call.args.to_vec(),
        };
        let opts = spec.read(&args);
        let codes: Vec<String> = opts.values(flags).map(str::to_owned).collect();
        if language == Language::Sql {
            return self.database(env, call, &codes, &opts.operands);
        }
        let deno =
            matches!(call.name, "deno" | "bun") && opts.operands.first().is_some_and(|sub| sub == "eval");
        if !codes.is_empty() || deno {
            for code in codes.iter().chain(opts.operands.get(1).filter(|_| deno)) {
                self.deeper(|checker| checker.foreign(env, code, language));
            }
            self.edited_in_place(env, language, &opts);
            self.fed_deletions(env, call, &codes, &opts);
            return call.derived();
        }
        if language == Language::Python && opts.has("m") {
            return call.derived();
        }
        if language == Language::Awk {
            for file in opts.values("f file").map(str::to_owned).collect::<Vec<_>>() {
                self.program_text(env, call, &file, |checker, env, code| {
                    checker.foreign(env, code, language);
                });
            }
            if let Some(code) = opts.operands.first().filter(|_| !opts.has("f file")) {
                self.deeper(|checker| checker.foreign(env, code, language));
            }
            let text = self.inputs(env, opts.operands.get(1..).unwrap_or_default(), call.stdin);
            return super::text::reworded(&text);
        }
        let runs = matches!(call.name, "deno" | "bun")
            && opts
                .operands
                .first()
                .is_some_and(|sub| matches!(sub.as_str(), "run" | "serve" | "test" | "x"));
        let file = match runs {
            // Without a permission such code can do nothing.
            true if call.name == "deno"
                && !call.args.iter().any(|arg| arg == "-A" || arg.starts_with("--allow")) =>
            {
                return call.derived();
            }
            true => opts.operands.iter().skip(1).find(|word| !word.starts_with('-')),
            false => opts.operands.first(),
        };
        match file {
            Some(file) if file != "-" && file != "/dev/stdin" => self.foreign_file(env, file, language),
            _ => {
                if let Some(code) = call.stdin {
                    self.deeper(|checker| checker.foreign(env, code, language));
                }
            }
        }
        call.derived()
    }

    /// Runs `judge` on the program text that is in a file, or in the input where that is meant.
    pub(super) fn program_text(
        &mut self,
        env: &mut Env,
        call: &Call<'_>,
        file: &str,
        judge: impl FnOnce(&mut Self, &mut Env, &str),
    ) {
        let code = match file {
            "-" | "/dev/stdin" => call.stdin.map(str::to_owned),
            file => self.content(env, file),
        };
        if let Some(code) = code {
            self.deeper(|checker| judge(checker, env, &code));
        }
    }

    fn foreign_file(&mut self, env: &mut Env, file: &str, language: Language) {
        let remote = file.contains("://") || file.contains(NET);
        if remote {
            return self.report("exec.remote", file);
        }
        if let Some(code) = self.content(env, file) {
            self.deeper(|checker| checker.foreign(env, &code, language));
        }
    }

    /// `perl -ne unlink`: what is read, or given behind the code, is what is deleted.
    fn fed_deletions(&mut self, env: &Env, call: &Call<'_>, codes: &[String], opts: &super::opts::Opts) {
        let deletes = codes
            .iter()
            .any(|code| ["unlink", "rmtree", "rm_rf", "remove"].iter().any(|name| code.contains(name)));
        if !deletes {
            return;
        }
        let read = opts.has("n p")
            || codes
                .iter()
                .any(|code| ["<>", "STDIN", "stdin", "gets"].iter().any(|word| code.contains(word)));
        let given = codes.iter().any(|code| code.contains("ARGV") || code.contains("argv"));
        let stdin = call.stdin.filter(|_| read).unwrap_or_default();
        let lines = stdin.split(['\n', '\0']).map(str::to_owned);
        let operands = opts.operands.iter().filter(|_| given).cloned();
        for path in lines.chain(operands).filter(|path| !path.is_empty()).take(64) {
            let filtered = !crate::mark::has_glob(&path) && crate::mark::has_hole(&path);
            self.effect(env, Effect::Delete { path, recursive: false, filtered });
        }
    }

    fn edited_in_place(&mut self, env: &Env, language: Language, opts: &super::opts::Opts) {
        if matches!(language, Language::Perl | Language::Ruby) && opts.in_place() {
            for path in &opts.operands {
                self.effect(env, Effect::Write { path: path.clone(), content: None, how: How::Edit });
            }
        }
    }

    /// Judges code of another language.
    pub(super) fn foreign(&mut self, env: &mut Env, code: &str, language: Language) {
        if language == Language::Sql {
            return self.sql(env, code);
        }
        if !self.may_run(code) {
            return;
        }
        let code = crate::mark::deactivate(code);
        if !self.spend(u32::try_from(code.len() / 8).unwrap_or(u32::MAX)) {
            return;
        }
        if language == Language::Tcl {
            return self.tcl(env, &code);
        }
        if language == Language::Python {
            // IPython runs these lines in a shell.
            for line in code.lines().filter_map(|line| line.trim_start().strip_prefix('!')) {
                self.run_code(env, line);
            }
        }
        let found = sinks::scan(&code, language, &self.ctx.home);
        let sends = found.contains(&Sink::Connects);
        for sink in found {
            match sink {
                Sink::Code(code) => self.deeper(|checker| checker.foreign(env, &code, language)),
                sink => self.sink(env, sink, sends),
            }
        }
    }

    /// Commands of Tcl that are commands of the system.
    fn tcl(&mut self, env: &Env, code: &str) {
        for command in code.split(['\n', ';', '[', ']', '{', '}']) {
            let command = command.trim();
            let run = ["exec ", "spawn ", "system "].iter().find_map(|name| command.strip_prefix(name));
            if let Some(code) = run {
                self.run_code(env, code.trim_start_matches("-noecho "));
            }
        }
    }

    fn sink(&mut self, env: &mut Env, sink: Sink, sends: bool) {
        match sink {
            Sink::Shell(code) => {
                let mut inner = env.clone();
                self.deeper(|checker| checker.shell_code(&mut inner, &code, None));
            }
            Sink::Argv(argv) => {
                self.inner(env, &argv, &Call { name: "", args: &[], stdin: None });
            }
            Sink::Delete { path, recursive } => {
                let path = crate::mark::activate(&path);
                self.effect(env, Effect::Delete { path, recursive, filtered: false });
            }
            Sink::Sweep(path) => {
                self.effect(env, Effect::Delete { path, recursive: true, filtered: true });
            }
            Sink::Write(path) => self.effect(env, Effect::Write { path, content: None, how: How::Replace }),
            Sink::Chmod(path, open) => {
                let grant = if open { Grant::World } else { Grant::Plain };
                self.effect(env, Effect::Change { path, recursive: false, grant });
            }
            Sink::Read(path) => {
                let secret =
                    self.absolute(env, &path).iter().any(|full| crate::paths::is_secret(full, self.ctx));
                self.effect(env, Effect::Read { path });
                if secret && sends {
                    self.effect(env, Effect::Send { data: SECRET.to_string(), to: String::new() });
                }
            }
            Sink::Bomb => self.report("proc.bomb", ""),
            Sink::ReverseShell => self.report("net.shell", ""),
            Sink::RemoteCode => self.report("exec.remote", ""),
            Sink::OpaqueCode => self.report("exec.opaque", ""),
            Sink::Environment => {
                self.effect(env, Effect::Send { data: SECRET.to_string(), to: String::new() });
            }
            Sink::KillAll => self.report("proc.kill-all", ""),
            Sink::Connects | Sink::Code(_) => {}
        }
    }
}
