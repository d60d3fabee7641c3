//! Assignments and the builtins that change what the shell knows.

use std::rc::Rc;

use super::Checker;
use super::env::{Env, Var};
use crate::ast::{AssignValue, Assignment};
use crate::mark::{self, NET, RUN, UNSET};
use crate::model::{Call, Spec};

/// Variables that make a program load code from where they point.
#[rustfmt::skip]
const LOADERS: &[&str] = &[
    "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS",
    "PYTHONPATH", "PYTHONHOME", "PERL5LIB", "RUBYLIB", "NODE_PATH", "CLASSPATH", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR",
    "LUA_PATH", "LUA_CPATH", "GEM_PATH", "PHPRC", "PHP_INI_SCAN_DIR", "GCONV_PATH", "R_PROFILE", "JULIA_LOAD_PATH",
    "BASH_LOADABLES_PATH", "GIO_EXTRA_MODULES", "QT_PLUGIN_PATH", "RUSTC_WRAPPER",
];
/// Variables whose value is a command.
#[rustfmt::skip]
const COMMANDS: &[&str] = &[
    "PROMPT_COMMAND", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "PAGER", "MANPAGER", "EDITOR", "VISUAL",
    "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "LESSOPEN", "LESSCLOSE", "BROWSER", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_SSH",
    "RSYNC_RSH", "GIT_PROXY_COMMAND", "CC", "CXX", "LD", "MAKE", "SUDO_ASKPASS", "FZF_DEFAULT_COMMAND",
    "CARGO_BUILD_RUSTC_WRAPPER",
];

impl Checker<'_> {
    pub(super) fn assign(&mut self, env: &mut Env, assignment: &Assignment) {
        self.spend(1);
        let index = assignment
            .index
            .as_ref()
            .map(|word| self.value(env, word).into_iter().next().unwrap_or_default());
        let value = match &assignment.value {
            AssignValue::Scalar(word) => {
                let mut values = self.value(env, word);
                values.dedup();
                Var::Scalar(values)
            }
            AssignValue::Array(elements) => {
                let keyed = elements.iter().any(|(key, _)| key.is_some());
                let mut pairs = Vec::new();
                let mut items = Vec::new();
                for (key, word) in elements {
                    if let Some(key) = key {
                        let key = self.value(env, key).into_iter().next().unwrap_or_default();
                        pairs.push((key, self.value(env, word).into_iter().next().unwrap_or_default()));
                    } else {
                        items.extend(
                            self.words(env, std::slice::from_ref(word))
                                .into_iter()
                                .next()
                                .unwrap_or_default(),
                        );
                    }
                }
                let numbered = pairs.iter().all(|(key, _)| key.parse::<usize>().is_ok());
                if keyed && !numbered {
                    Var::Map(pairs)
                } else {
                    pairs.sort_by_key(|(key, _)| key.parse::<usize>().unwrap_or(usize::MAX));
                    items.extend(pairs.into_iter().map(|(_, value)| value));
                    Var::Array(items)
                }
            }
        };
        self.store(env, &assignment.name, (index.as_deref(), assignment.append), value);
    }

    fn store(&mut self, env: &mut Env, name: &str, (index, append): (Option<&str>, bool), value: Var) {
        match &value {
            Var::Scalar(values) => {
                for text in values {
                    self.variable(env, name, text);
                }
            }
            // As an array it has several commands.
            Var::Array(items) if name == "PROMPT_COMMAND" => {
                for text in items {
                    self.variable(env, name, text);
                }
            }
            _ => {}
        }
        if Rc::strong_count(&env.vars) > 1 {
            self.spend(env.weight());
        }
        let name = &env.named(name).to_owned();
        let vars = Rc::make_mut(&mut env.vars);
        let Some(index) = index else {
            let joined = match (append, vars.get(name), &value) {
                (true, Some(Var::Scalar(old)), Var::Scalar(new)) => {
                    let joined = old.iter().flat_map(|old| new.iter().map(move |new| format!("{old}{new}")));
                    Var::Scalar(joined.take(super::env::ALTERNATIVES_MAX).collect())
                }
                (true, Some(Var::Array(old)), Var::Array(new)) => Var::Array([old.as_slice(), new].concat()),
                (true, None, Var::Scalar(new)) => {
                    Var::Scalar(new.iter().map(|new| format!("{UNSET}{new}")).collect())
                }
                _ => value,
            };
            vars.insert(name.to_owned(), joined);
            return;
        };
        let text = match value {
            Var::Scalar(values) => values.into_iter().next().unwrap_or_default(),
            _ => RUN.to_string(),
        };
        match (vars.get_mut(name), index.parse::<usize>()) {
            (Some(Var::Map(pairs)), _) => pairs.push((index.to_owned(), text)),
            (Some(Var::Array(items)), Ok(at)) if at < 4096 => {
                if items.len() <= at {
                    items.resize(at + 1, String::new());
                }
                if let Some(item) = items.get_mut(at) {
                    *item = if append { format!("{item}{text}") } else { text };
                }
            }
            (None, Ok(0)) => {
                vars.insert(name.to_owned(), Var::Array(vec![text]));
            }
            _ => {
                vars.insert(name.to_owned(), Var::Map(vec![(index.to_owned(), text)]));
            }
        }
    }

    /// What an environment variable makes other programs do.
    pub(crate) fn variable(&mut self, env: &mut Env, name: &str, value: &str) {
        match name {
            "LD_PRELOAD"
            | "LD_AUDIT"
            | "LD_LIBRARY_PATH"
            | "DYLD_INSERT_LIBRARIES"
            | "PYTHONSTARTUP"
            | "PERL5OPT"
            | "RUBYOPT"
                if !value.is_empty() =>
            {
                let local = name == "LD_LIBRARY_PATH" && !value.split(':').any(|dir| self.is_temp(dir));
                if !local {
                    self.report("env.preload", name);
                }
            }
            _ if LOADERS.contains(&name) => {
                let named = |part: &str| part.starts_with('/') && self.is_temp(part);
                if value.contains("://") || value.split([' ', ':', '=', ',', ';', '\'', '"']).any(named) {
                    self.report("env.preload", name);
                }
            }
            _ if name.starts_with("BASH_FUNC_") => self.exported_function(env, name, value),
            _ if name.starts_with("GIT_CONFIG_") => self.git_variables(env, name, value),
            "PATH" => {
                let first = value.split(':').next().unwrap_or_default();
                if value.split(':').any(|dir| self.is_temp(dir)) || first == "." || first.is_empty() {
                    self.report("env.path", value);
                }
            }
            "PS0" | "PS1" | "PS4" => {
                // Prompts are expanded, not run.
                if let Ok(word) =
                    crate::parse::parse_heredoc(value, crate::parse::Origin::Computed(self.span), self.depth)
                {
                    let mut inner = env.clone();
                    self.deeper(|checker| checker.value(&mut inner, &word));
                }
            }
            _ if COMMANDS.contains(&name)
                && (value.contains([' ', '/', ';', '$', '`']) || value.contains(NET)) =>
            {
                let mut inner = env.clone();
                self.deeper(|checker| checker.shell_code(&mut inner, value, None));
                self.hook_program(env, value);
            }
            "BASH_ENV" | "ENV" if !value.is_empty() && (name == "BASH_ENV" || value.contains('/')) => {
                self.report("env.startup", name);
            }
            "HISTFILE" | "HISTSIZE" if value == "/dev/null" || value == "0" => {
                self.report("sys.history", name);
            }
            _ => {}
        }
    }

    /// A function in the environment: bash makes it before it runs anything.
    fn exported_function(&mut self, env: &mut Env, name: &str, value: &str) {
        let name = name.trim_start_matches("BASH_FUNC_").trim_end_matches("%%").trim_end_matches("()");
        let mut inner = env.clone();
        self.deeper(|checker| checker.shell_code(&mut inner, &format!("{name} {value}"), None));
        self.report("env.function", name);
    }

    /// Settings of git that come in variables.
    fn git_variables(&mut self, env: &mut Env, name: &str, value: &str) {
        if name == "GIT_CONFIG_PARAMETERS" {
            for setting in value.split('\'') {
                if let Some((key, value)) = setting.split_once('=') {
                    self.git_setting(env, key, value);
                }
            }
        }
        let Some(number) = name.strip_prefix("GIT_CONFIG_VALUE_") else { return };
        if let Some(Var::Scalar(keys)) = env.vars.get(&format!("GIT_CONFIG_KEY_{number}")).cloned() {
            for key in keys {
                self.git_setting(env, &key, value);
            }
        }
    }

    pub(crate) fn is_temp(&self, dir: &str) -> bool {
        self.ctx.temp.iter().any(|temp| {
            dir == temp || dir.strip_prefix(temp.as_str()).is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// Builtins; `None` if the command is not one.
    pub(crate) fn builtin(&mut self, env: &mut Env, call: &Call<'_>) -> Option<String> {
        let args = call.args;
        self.builtin_subscripts(env, call.name, args);
        let lists = args.iter().all(|arg| arg == "-p" || arg == "-x");
        if lists && matches!(call.name, "set" | "export" | "declare" | "typeset") {
            return Some(format!("{}{RUN}", mark::SECRET));
        }
        match call.name {
            "cd" | "chdir" => self.cd(env, args),
            "pushd" => {
                let before = env.cwd.clone();
                env.stack.push(before);
                self.cd(env, args);
            }
            "popd" => {
                if let Some(dirs) = env.stack.pop() {
                    env.enter(dirs);
                }
            }
            "set" => set_options(env, args),
            "shift" => {
                let by = args.first().and_then(|n| n.parse::<usize>().ok()).unwrap_or(1);
                if let Some(list) = &env.args {
                    env.args = Some(Rc::new(list.get(by..).unwrap_or_default().to_vec()));
                }
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => self.declare(env, call),
            "unset" => {
                for name in args.iter().filter(|arg| !arg.starts_with('-')) {
                    if name == "HISTFILE" {
                        self.report("sys.history", name);
                    }
                    env.set(name, Var::Scalar(Vec::new()));
                    Rc::make_mut(&mut env.functions).remove(name);
                }
            }
            "alias" => self.define_aliases(env, args),
            "read" | "mapfile" | "readarray" => self.read_variables(env, call),
            "getopts" => {
                if let Some(name) = args.get(1) {
                    env.set_text(name, RUN);
                }
            }
            "eval" => return Some(self.eval(env, call)),
            "source" | "." => self.source(env, call),
            "trap" => self.trap(env, args),
            "printf" if args.first().is_some_and(|arg| arg == "-v") => {
                if let Some(name) = args.get(1) {
                    let rest = args.get(2..).unwrap_or_default();
                    env.set_text(name, crate::text::printf(rest));
                }
            }
            "enable" if args.iter().any(|arg| arg == "-f") => self.report("exec.opaque", "enable -f"),
            "exit" | "return" | "break" | "continue" | "wait" | "jobs" | "fg" | "bg" | "disown" | "umask"
            | "ulimit" | "shopt" | "let" | "times" | "true" | "false" | ":" | "enable" | "unalias"
            | "dirs" => {}
            "hash" | "bind" | "complete" | "compgen" | "fc" => self.later_command(env, call),
            "pwd" => return Some(format!("{}\n", env.cwd.first().map_or("", String::as_str))),
            _ => return None,
        }
        Some(String::new())
    }

    /// Builtins that keep a command for later: completions, keys, remembered paths.
    fn later_command(&mut self, env: &mut Env, call: &Call<'_>) {
        let spec = match call.name {
            "bind" => Spec::new("xfqrum", ""),
            "hash" => Spec::new("p", ""),
            "fc" => Spec::new("e", ""),
            _ => Spec::new("oAGWFCXPS", ""),
        };
        let opts = spec.read(call.args);
        if let ("hash", Some(path), Some(name)) = (call.name, opts.value("p"), opts.operands.first()) {
            Rc::make_mut(&mut env.aliases).insert(name.clone(), path.to_owned());
            return;
        }
        let code = match call.name {
            "bind" => opts.value("x").and_then(|key| key.rsplit_once("\":").map(|(_, code)| code)),
            "fc" => opts.value("e"),
            _ => opts.value("C"),
        };
        if let Some(code) = code {
            let mut inner = env.clone();
            self.deeper(|checker| checker.shell_code(&mut inner, code, None));
        }
    }

    fn cd(&mut self, env: &mut Env, args: &[String]) {
        let opts = Spec::default().read(args);
        let target = match opts.operands.first().map(String::as_str) {
            None if args.iter().any(|arg| arg == "-") => "-",
            None => "~",
            Some(target) => target,
        };
        let dirs = match target {
            "-" if !env.previous.is_empty() => env.previous.clone(),
            "-" => vec![RUN.to_string()],
            "~" => vec![self.ctx.home.clone()],
            "" => return,
            target => self.absolute(env, target),
        };
        env.enter(dirs);
    }

    fn declare(&mut self, env: &mut Env, call: &Call<'_>) {
        let args = call.args;
        let exports = match call.name {
            "export" => args.first().is_some_and(|arg| arg == "-f"),
            _ => {
                args.first().is_some_and(|arg| arg.starts_with('-') && arg.contains('f') && arg.contains('x'))
            }
        };
        if exports {
            for name in args {
                if let Some(body) = env.functions.get(name).map(Rc::clone) {
                    Rc::make_mut(&mut env.exported).insert(name.clone(), body);
                }
            }
        }
        // With `export` it means something else.
        let refers =
            call.name != "export" && args.iter().any(|arg| arg.starts_with('-') && arg.contains('n'));
        let lower = args.iter().any(|arg| arg.starts_with('-') && arg.contains('l'));
        let upper = args.iter().any(|arg| arg.starts_with('-') && arg.contains('u'));
        for arg in args.iter().filter(|arg| !arg.starts_with('-')) {
            let Some((name, value)) = arg.split_once('=') else { continue };
            if refers {
                env.set(name, Var::Ref(value.to_owned()));
                continue;
            }
            let (name, append) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
            let value = match (lower, upper) {
                (true, _) => value.to_lowercase(),
                (_, true) => value.to_uppercase(),
                _ => value.to_owned(),
            };
            self.store(env, name, (None, append), Var::Scalar(vec![mark::deactivate(&value)]));
        }
    }

    fn define_aliases(&mut self, env: &mut Env, args: &[String]) {
        for arg in args {
            let Some((name, text)) = arg.split_once('=') else { continue };
            Rc::make_mut(&mut env.aliases).insert(name.to_owned(), text.to_owned());
            self.calls.push(text.to_owned());
            let mut inner = env.clone();
            Rc::make_mut(&mut inner.aliases).remove(name);
            self.defined(|checker| {
                checker.deeper(|checker| checker.shell_code(&mut inner, text, None));
            });
            self.calls.pop();
        }
    }

    fn read_variables(&mut self, env: &mut Env, call: &Call<'_>) {
        let valued = if call.name == "read" { "adinNptu" } else { "dnOsuCc" };
        let opts = Spec::new(valued, "").read(call.args);
        if let Some(code) = opts.value("C") {
            let mut inner = env.clone();
            self.deeper(|checker| checker.shell_code(&mut inner, code, None));
        }
        let line = match opts
            .value("u")
            .and_then(|fd| fd.parse::<u32>().ok())
            .and_then(|fd| env.fds.get(&fd).cloned())
        {
            Some(text) => text,
            None => call.stdin.map_or_else(|| RUN.to_string(), str::to_owned),
        };
        if call.name != "read" || opts.has("a") {
            let name = opts.value("a").map(str::to_owned).or_else(|| opts.operands.first().cloned());
            let items = if call.name == "read" {
                let separators = super::expand::separators(env);
                let words = line.lines().next().unwrap_or_default().split(|c| separators.contains(c));
                words.filter(|word| !word.is_empty()).map(str::to_owned).take(64).collect()
            } else {
                line.lines().map(str::to_owned).take(64).collect()
            };
            env.set(&name.unwrap_or_else(|| "MAPFILE".to_owned()), Var::Array(items));
            return;
        }
        let mut lines: Vec<String> = line.lines().map(str::to_owned).collect();
        lines.dedup();
        lines.truncate(super::env::ALTERNATIVES_MAX);
        match opts.operands.as_slice() {
            [] => env.set("REPLY", Var::Scalar(lines)),
            [one] => env.set(one, Var::Scalar(lines)),
            many => {
                let first = lines.first().cloned().unwrap_or_default();
                let separators = super::expand::separators(env);
                let mut rest = first.as_str();
                for (i, name) in many.iter().enumerate() {
                    let split =
                        if i + 1 < many.len() { rest.split_once(|c| separators.contains(c)) } else { None };
                    let (word, after) = split.unwrap_or((rest, ""));
                    let unknown = word.is_empty() && mark::has_hole(&first);
                    env.set_text(
                        name,
                        if unknown { mark::taint(&first) + &RUN.to_string() } else { word.to_owned() },
                    );
                    rest = after;
                }
            }
        }
    }

    fn eval(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let code = call.args.join(" ");
        self.deeper(|checker| checker.shell_code(env, &code, call.stdin))
    }

    fn source(&mut self, env: &mut Env, call: &Call<'_>) {
        let Some(file) = call.args.iter().find(|arg| *arg != "--") else { return };
        if matches!(file.as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") {
            if let Some(code) = call.stdin {
                self.deeper(|checker| checker.shell_code(env, code, None));
            }
            return;
        }
        self.source_file(env, file);
    }

    fn trap(&mut self, env: &mut Env, args: &[String]) {
        let code = args.iter().find(|arg| !arg.starts_with('-') || arg.len() > 2);
        if let (Some(code), true) = (code, args.len() > 1) {
            let mut inner = env.clone();
            self.defined(|checker| {
                checker.deeper(|checker| checker.shell_code(&mut inner, code, None));
            });
            // It runs with what is known at the end.
            self.deferred.push((code.clone(), self.span));
        }
    }

    /// Runs the traps of the line, at its end.
    pub(crate) fn at_exit(&mut self, env: &mut Env) {
        for (code, span) in std::mem::take(&mut self.deferred) {
            self.span = span;
            self.deeper(|checker| checker.shell_code(env, &code, None));
        }
    }
}

/// `set`: positional parameters, and whether a failure ends the line.
fn set_options(env: &mut Env, args: &[String]) {
    let mut rest = args;
    while let Some(first) = rest.first() {
        if first == "--" {
            env.args = Some(Rc::new(rest.get(1..).unwrap_or_default().to_vec()));
            return;
        }
        if !first.starts_with(['-', '+']) || first.len() < 2 {
            env.args = Some(Rc::new(rest.to_vec()));
            return;
        }
        env.exits_on_error |= first.starts_with('-') && first.contains('e');
        env.exits_on_error |= rest.get(1).is_some_and(|name| name == "errexit");
        let takes_name = first.ends_with('o');
        rest = rest.get(if takes_name { 2 } else { 1 }..).unwrap_or_default();
    }
}
