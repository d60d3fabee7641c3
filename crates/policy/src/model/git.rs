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
            "clone" if !words.iter().any(|word| word.starts_with("ext::")) => self.git_clone(env, rest),
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
            "rebase" | "filter-branch" | "difftool" | "mergetool" | "grep" => self.git_commands(env, rest),
            "rev-parse" if rest.iter().any(|arg| arg == "--show-toplevel") && dirs.is_none() => {
                return format!("{RUN}\n");
            }
            "clean" => self.git_clean(rest),
            "ls-files" | "diff" | "status" => return listed(&words),
            "credential" => self.report("secret.read", "credentials"),
            "archive" | "format-patch" | "bundle" => {
                for code in Spec::new("o", "exec remote output prefix format").read(rest).values("exec") {
                    self.run_code(env, code);
                }
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

    /// A program in a place where anyone can put it is nobody's choice for a setting.
    pub(crate) fn hook_program(&mut self, env: &Env, value: &str) {
        let program = value.split_whitespace().next().unwrap_or_default();
        let written = self.absolute(env, program).iter().any(|full| env.files.contains_key(full));
        if self.is_temp(program) && !written {
            self.report("env.hook", value);
        }
    }

    /// Options of subcommands that are commands.
    fn git_commands(&mut self, env: &Env, rest: &[String]) {
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

    /// A clone is a directory from the network; nobody has seen what is in it.
    fn git_clone(&mut self, env: &mut Env, rest: &[String]) {
        let spec = Spec::new("bojuc", "branch origin depth config upload-pack reference jobs filter");
        let read = spec.read(rest);
        for code in read.values("u upload-pack") {
            self.run_code(env, code);
        }
        let url = read.operands.first().map_or("", String::as_str).trim_end_matches('/');
        let name = url.rsplit(['/', ':']).next().unwrap_or_default().trim_end_matches(".git");
        let dir = read.operands.get(1).map_or(name, String::as_str).to_owned();
        for full in self.absolute(env, &dir) {
            env.write_tree(&full);
        }
    }

    /// What is not tracked goes, of the whole tree or of one directory, which is as good as `rm -r` of it.
    fn git_clean(&mut self, rest: &[String]) {
        let opts = Spec::new("e", "exclude").read(rest);
        let named = !opts.operands.is_empty()
            && opts.operands.iter().all(|path| {
                !matches!(path.as_str(), "." | "./" | ":/" | "..") && !crate::mark::has_glob(path)
            });
        if opts.has("f force") && !opts.has("n dry-run") && !named {
            self.report("vcs.discard", "git clean");
        }
    }

    /// Settings of git that are commands.
    pub(crate) fn git_setting(&mut self, env: &Env, key: &str, value: &str) {
        let key = key.to_lowercase();
        let shell = value.strip_prefix('!');
        if let (Some(code), true) = (shell, key.starts_with("alias.") || key.contains("helper")) {
            if key.contains("helper") && ["curl", "wget", "nc ", "http"].iter().any(|net| code.contains(net))
            {
                self.report("env.hook", value);
            }
            return self.run_code(env, code);
        }
        if key.contains("helper") {
            self.hook_program(env, value);
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
            self.hook_program(env, value);
        }
        if key == "core.hookspath" && value.starts_with('/') {
            self.report("env.hook", value);
        }
    }
}

/// Files that git names: below where it runs, or below what it is asked about.
fn listed(words: &[&str]) -> String {
    let roots: Vec<&str> = words.iter().copied().filter(|word| word.starts_with('/')).collect();
    if roots.is_empty() {
        return format!("./{RUN}\n");
    }
    roots.iter().flat_map(|root| [*root, "/", RUN_TEXT, "\n"]).collect()
}

/// [`RUN`] as a text.
const RUN_TEXT: &str = "\u{F0001}";
