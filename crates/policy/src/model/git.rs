//! git: settings, options and addresses that are commands.

use super::effect::{Effect, How};
use super::{Call, Spec};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::RUN;

impl Checker<'_> {
    pub(super) fn git(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let opts = Spec::wrapper("Cc", "git-dir work-tree namespace exec-path config-env super-prefix")
            .read(call.args);
        for setting in opts.values("c").map(str::to_owned).collect::<Vec<_>>() {
            if let Some((key, value)) = setting.split_once('=') {
                self.git_setting(env, key, value);
            }
        }
        let dirs: Option<Vec<String>> = opts.value("C").map(|dir| self.absolute(env, dir));
        let Some(sub) = opts.operands.first().map(String::as_str) else { return call.derived() };
        let rest = opts.operands.get(1..).unwrap_or_default();
        let words: Vec<&str> = rest.iter().filter(|arg| !arg.starts_with('-')).map(String::as_str).collect();
        match sub {
            "config" => {
                if let [key, value, ..] = words.as_slice() {
                    self.git_setting(env, key, value);
                }
            }
            "clone" | "fetch" | "pull" | "push" | "ls-remote" | "remote" | "submodule" => {
                for url in words.iter().filter_map(|word| word.strip_prefix("ext::")) {
                    let words = url.replace("% ", "\u{0}");
                    let argv: Vec<String> = words.split(' ').map(|word| word.replace('\0', " ")).collect();
                    self.inner(env, &argv, call);
                }
                let spec = Spec::new("uco", "upload-pack receive-pack exec config");
                for code in spec
                    .read(rest)
                    .values("u upload-pack receive-pack exec")
                    .filter(|_| sub != "push")
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
                {
                    self.run_code(env, &code);
                }
            }
            "rebase" | "filter-branch" | "difftool" | "mergetool" | "grep" => {
                let spec = Spec::new(
                    "xO",
                    "exec tree-filter index-filter msg-filter env-filter commit-filter parent-filter extcmd open-files-in-pager",
                );
                let read = spec.read(rest);
                let names = "x exec tree-filter index-filter msg-filter env-filter commit-filter parent-filter extcmd O open-files-in-pager";
                for code in read.values(names).map(str::to_owned).collect::<Vec<_>>() {
                    self.run_code(env, &code);
                }
            }
            "rev-parse" if rest.iter().any(|arg| arg == "--show-toplevel") && dirs.is_none() => {
                return format!("{RUN}\n");
            }
            "credential" => self.report("secret.read", "credentials"),
            "archive" | "format-patch" | "bundle" => {
                if let Some(path) =
                    Spec::new("o", "output output-directory").read(rest).value("o output output-directory")
                {
                    self.effect(
                        env,
                        Effect::Write { path: path.to_owned(), content: None, how: How::Replace },
                    );
                }
            }
            _ => {}
        }
        if let Some(dirs) = dirs {
            let outer = std::mem::replace(&mut env.cwd, dirs);
            let inner = Call { name: "git", args: &opts.operands, stdin: call.stdin };
            let out = self.git(env, &inner);
            env.cwd = outer;
            return out;
        }
        call.derived()
    }

    /// Settings of git that are commands.
    fn git_setting(&mut self, env: &Env, key: &str, value: &str) {
        let key = key.to_lowercase();
        let shell = value.strip_prefix('!');
        if let (Some(code), true) = (shell, key.starts_with("alias.") || key.contains("helper")) {
            return self.run_code(env, code);
        }
        let commands = [
            "core.pager",
            "core.editor",
            "core.sshcommand",
            "core.fsmonitor",
            "core.askpass",
            "sequence.editor",
            "diff.external",
            "core.gitproxy",
            "gpg.program",
            "uploadpack.packobjectshook",
            "interactive.difffilter",
            "core.alternaterefscommand",
        ];
        let last = key.rsplit('.').next().unwrap_or_default();
        let tools =
            matches!(last, "cmd" | "textconv" | "clean" | "smudge" | "command") || key.starts_with("pager.");
        if commands.contains(&key.as_str()) || tools {
            self.run_code(env, value);
        }
        if key == "core.hookspath" && value.starts_with('/') {
            self.report("env.hook", value);
        }
    }
}
