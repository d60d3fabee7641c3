//! Editors and terminal multiplexers: the commands that their options and keys run.

use super::effect::{Effect, How};
use super::{Call, Spec, lang::Language};
use crate::eval::Checker;
use crate::eval::env::Env;

impl Checker<'_> {
    pub(super) fn editor(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("cSuUwWT", "cmd").read(call.args);
        let mut commands: Vec<String> = opts.values("c cmd").map(str::to_owned).collect();
        commands.extend(call.args.iter().filter_map(|arg| arg.strip_prefix('+')).map(str::to_owned));
        if let Some(script) = call.stdin.filter(|_| matches!(call.name, "ed" | "ex") || opts.has("e s")) {
            commands.extend(script.lines().map(str::to_owned));
        }
        for command in commands {
            self.ex_script(env, &command);
            if let Some(code) = ex_shell(&command) {
                self.run_code(env, &code);
            }
            let command = command.trim_start_matches([':', ' ']);
            let written = command.strip_prefix("w ").or_else(|| command.strip_prefix("w! "));
            if let Some(path) = written.filter(|path| !path.starts_with('!')) {
                self.effect(env, Effect::Write { path: path.to_owned(), content: None, how: How::Replace });
            }
        }
        for path in opts.operands.iter().filter(|path| !path.starts_with('+')) {
            self.effect(env, Effect::Read { path: path.clone() });
        }
    }

    /// Commands of ex in another language, and its own way to delete.
    fn ex_script(&mut self, env: &mut Env, command: &str) {
        let command = command.trim_start_matches([':', ' ']);
        let languages = [
            ("lua ", Language::Lua),
            ("py ", Language::Python),
            ("py3 ", Language::Python),
            ("python ", Language::Python),
            ("python3 ", Language::Python),
            ("ruby ", Language::Ruby),
            ("perl ", Language::Perl),
            ("tcl ", Language::Tcl),
        ];
        for (prefix, language) in languages {
            if let Some(code) = command.strip_prefix(prefix) {
                self.foreign(env, code, language);
            }
        }
        if command.starts_with("call delete(") {
            self.foreign(env, &command.replacen("call delete(", "rmtree(", 1), Language::Other);
        }
    }

    pub(super) fn emacs(&mut self, env: &mut Env, call: &Call<'_>) {
        let args: Vec<String> = call.args.iter().map(|arg| double_dash(arg)).collect();
        let opts = Spec::new("lfe", "eval execute load funcall script").read(&args);
        for code in opts.values("eval execute e").map(str::to_owned).collect::<Vec<_>>() {
            self.foreign(env, &code, Language::Other);
        }
    }

    pub(super) fn multiplexer(&mut self, env: &mut Env, call: &Call<'_>) {
        let words = call.args;
        let keys = words.iter().position(|word| matches!(word.as_str(), "send-keys" | "send" | "stuff"));
        if let Some(at) = keys {
            let opts = Spec::new("tNXSp", "").read(words.get(at + 1..).unwrap_or_default());
            for text in opts.operands {
                let code = text.replace("\\n", "\n").replace("^M", "\n").replace("\\015", "\n");
                self.run_code(env, code.trim());
            }
            return;
        }
        let named = words.iter().position(|word| word == "-t").and_then(|at| words.get(at + 1));
        let own = words.iter().any(|word| word == "kill-session")
            && named
                .is_some_and(|name| !crate::mark::has_hole(name) && !words.iter().any(|word| word == "-a"));
        if own {
            return;
        }
        if words.iter().any(|word| matches!(word.as_str(), "kill-server" | "kill-session" | "quit")) {
            return self.report("proc.kill-pattern", call.name);
        }
        let spec = Spec::new("tsncFxyeSLfp", "");
        let opts = spec.read(words);
        let starts = matches!(
            opts.operands.first().map(String::as_str),
            Some(
                "new"
                    | "new-session"
                    | "neww"
                    | "new-window"
                    | "split-window"
                    | "splitw"
                    | "run-shell"
                    | "run"
                    | "respawn-pane"
            )
        );
        let rest = opts.operands.get(usize::from(starts)..).unwrap_or_default();
        if starts || call.name == "screen" {
            let command = if call.name == "screen" { screen_command(words) } else { rest.to_vec() };
            if let [code] = command.as_slice() {
                self.run_code(env, code);
            } else if !command.is_empty() {
                self.inner(env, &command, call);
            }
        }
    }
}

/// Options that are long with one dash, as those of emacs and erl.
pub(super) fn double_dash(arg: &str) -> String {
    let long = arg.starts_with('-') && !arg.starts_with("--") && arg.len() > 2;
    if long { format!("-{arg}") } else { arg.to_owned() }
}

/// The shell command in a command of ex: `:!x`, `:r !x`, `:%!x`, `:terminal x`, `:call system('x')`.
fn ex_shell(command: &str) -> Option<String> {
    let command = command.trim_start_matches([':', ' ']);
    let command =
        command.strip_prefix("silent").map_or(command, |rest| rest.trim_start_matches('!').trim_start());
    if let Some((_, rest)) = command.split_once("system(") {
        return Some(rest.trim_matches(|c| "()'\" ".contains(c)).to_owned());
    }
    if let Some(rest) = command.strip_prefix("terminal ").or_else(|| command.strip_prefix("term ")) {
        return Some(rest.to_owned());
    }
    let (before, code) = command.split_once('!')?;
    let range = before.chars().all(|c| c.is_ascii_digit() || "%.,$ ".contains(c));
    (range || matches!(before.trim(), "r" | "read" | "w" | "write")).then(|| code.to_owned())
}

fn screen_command(words: &[String]) -> Vec<String> {
    let mut rest = words;
    while let Some(first) = rest.first() {
        if first == "--" {
            return rest.get(1..).unwrap_or_default().to_vec();
        }
        if !first.starts_with('-') {
            break;
        }
        let valued = first.ends_with(['S', 't', 'p', 'c', 'h']) || first == "-X";
        rest = rest.get(if valued { 2 } else { 1 }..).unwrap_or_default();
    }
    rest.to_vec()
}
