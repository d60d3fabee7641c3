//! Programs that run what an option, a file or a subcommand says: editors, version control, schedulers, containers.

use super::effect::{Effect, How};
use super::{Call, Spec, lang::Language};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::{NET, RUN};

impl Checker<'_> {
    pub(super) fn app(&mut self, env: &mut Env, call: &Call<'_>) -> Option<String> {
        if let Some(out) = self.signals(call) {
            return Some(out);
        }
        match call.name {
            "git" => return Some(self.git(env, call)),
            "make" | "gmake" | "just" | "ninja" => self.make(env, call),
            "at" | "batch" => self.scheduled(env, call),
            "crontab" => self.crontab(env, call),
            "docker" | "podman" | "nerdctl" => self.container(env, call),
            name if name.starts_with("vim")
                || matches!(name, "vi" | "nvim" | "view" | "ex" | "ed" | "gvim" | "rvim" | "nano") =>
            {
                self.editor(env, call);
            }
            "emacs" | "emacsclient" => self.emacs(env, call),
            "tmux" | "screen" => self.multiplexer(env, call),
            "nodemon" | "watchexec" | "cargo-watch" | "air" | "chokidar" | "onchange" | "lsyncd" | "npx"
            | "bunx" | "cargo" | "pnpx" => {
                self.option_code(env, call, "x exec s shell c command");
                self.suffix(env, call);
            }
            "man" | "less" | "git-shell" => self.option_code(env, call, "P pager H html"),
            "vagrant" | "ansible" => self.option_code(env, call, "a args c command"),
            "osascript" => {}
            "gdb" => self.option_code(env, call, "ex eval-command"),
            "redis-cli" => self.redis(call),
            "ssh-keygen" => {
                if let Some(path) = Spec::new("fbtCNPmIDnOsVYzrEGMRSTaJjKWZ", "").read(call.args).value("f") {
                    let own = self.absolute(env, path).iter().any(|full| crate::paths::is_auth(full));
                    if own {
                        self.report("fs.write.outside", path);
                    }
                }
            }
            "powershell" => self.powershell(call),
            "history" => {
                if call.args.iter().any(|arg| arg.starts_with('-') && arg.contains(['c', 'w', 'd'])) {
                    self.report("sys.history", "");
                }
            }
            "eval-code" => {}
            _ => return None,
        }
        Some(call.derived())
    }

    fn option_code(&mut self, env: &mut Env, call: &Call<'_>, names: &str) {
        let spec = Spec::new("xscePHa", "exec shell command pager html args eval-command ex");
        for code in spec.read(call.args).values(names).map(str::to_owned).collect::<Vec<_>>() {
            let code =
                code.trim_start_matches('!').strip_prefix("shell ").map_or(code.clone(), str::to_owned);
            let mut inner = env.clone();
            self.deeper(|checker| checker.shell_code(&mut inner, &code, None));
        }
    }

    fn run_code(&mut self, env: &Env, code: &str) {
        let mut inner = env.clone();
        self.deeper(|checker| checker.shell_code(&mut inner, code, None));
    }

    fn git(&mut self, env: &mut Env, call: &Call<'_>) -> String {
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
                    let argv = words.split(' ').map(|word| word.replace('\0', " ")).collect();
                    self.inner(env, argv, call);
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
        let tools = key.ends_with(".cmd")
            || key.ends_with(".textconv")
            || key.ends_with(".clean")
            || key.ends_with(".smudge")
            || key.ends_with(".command")
            || key.starts_with("pager.");
        if commands.contains(&key.as_str()) || tools {
            self.run_code(env, value);
        }
        if key == "core.hookspath" && value.starts_with('/') {
            self.report("env.hook", value);
        }
    }

    fn make(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("fCjIEol", "file makefile directory jobs eval").read(call.args);
        let code = match opts.value("f file makefile") {
            Some("-" | "/dev/stdin") => call.stdin.map(str::to_owned),
            Some(file) => self.absolute(env, file).iter().find_map(|full| env.files.get(full).cloned()),
            None => ["Makefile", "makefile", "GNUmakefile"].iter().find_map(|name| {
                let full = self.absolute(env, name);
                full.iter().find_map(|path| env.files.get(path).cloned())
            }),
        };
        if let Some(code) = code.filter(|code| self.may_run(code)) {
            for line in code.lines() {
                let recipe =
                    line.strip_prefix('\t').or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
                if let Some(recipe) = recipe {
                    self.run_code(
                        env,
                        &recipe
                            .trim_start_matches(['@', '-', '+'])
                            .replace("$$", "$")
                            .replace("$(HOME)", "$HOME"),
                    );
                }
            }
        }
        for code in opts.values("eval").map(str::to_owned).collect::<Vec<_>>() {
            self.run_code(env, code.rsplit(';').next().unwrap_or_default());
        }
    }

    fn scheduled(&mut self, env: &mut Env, call: &Call<'_>) {
        match call.stdin {
            Some(code) => self.run_code(env, code),
            None => self.report("sys.schedule", ""),
        }
        self.report("sys.schedule", "");
    }

    fn crontab(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("u", "").read(call.args);
        if opts.has("l") && opts.operands.is_empty() {
            return;
        }
        if opts.has("r e") {
            return self.report("sys.schedule", "");
        }
        let text = match opts.operands.first() {
            Some(file) if file != "-" => {
                self.absolute(env, file).iter().find_map(|full| env.files.get(full).cloned())
            }
            _ => call.stdin.map(str::to_owned),
        };
        for line in text.iter().flat_map(|text| text.lines()) {
            if line.contains(NET) {
                self.report("exec.remote", "");
                continue;
            }
            let fields = if line.starts_with('@') { 1 } else { 5 };
            let command = line.split_whitespace().skip(fields).collect::<Vec<_>>().join(" ");
            if !command.is_empty() && !line.trim_start().starts_with('#') {
                self.run_code(env, &command);
            }
        }
        self.report("sys.schedule", "");
    }

    pub(super) fn container(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("vw", "volume mount device pid cap-add security-opt network ipc uts userns")
            .read(call.args);
        for volume in opts.values("v volume mount") {
            let source = match volume
                .split(',')
                .find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")))
            {
                Some(source) => source,
                None => volume.split(':').next().unwrap_or_default(),
            };
            let full = self.absolute(env, source).into_iter().next().unwrap_or_default();
            let place = crate::paths::place(&full, self.ctx);
            let read_only = volume.ends_with(":ro") || volume.contains("readonly");
            if full.ends_with("docker.sock")
                || full.ends_with("podman.sock")
                || full.ends_with("containerd.sock")
            {
                self.report("container.host", &full);
            } else if source.starts_with(['/', '~', '.']) && place.certain && !read_only {
                match place.zone {
                    crate::paths::Zone::Root | crate::paths::Zone::System => {
                        self.report("container.host", &full);
                    }
                    crate::paths::Zone::Home => self.report("container.mount", &full),
                    _ => {}
                }
            } else if place.zone == crate::paths::Zone::Root && source.starts_with('/') {
                self.report("container.mount", &full);
            }
        }
        let all = call.args.join(" ");
        let host = [
            "--privileged",
            "--pid=host",
            "--pid host",
            "--cap-add=ALL",
            "--cap-add=SYS_ADMIN",
            "--cap-add SYS_ADMIN",
            "--cap-add ALL",
            "--device=/dev/sd",
            "--device /dev/sd",
            "--userns=host",
        ];
        if matches!(call.args.first().map(String::as_str), Some("run" | "create" | "exec"))
            && host.iter().any(|flag| all.contains(flag))
        {
            // The processes of the machine, and the rights over them, are the machine.
            let escapes = all.contains("--privileged") && (all.contains("--pid=host") || all.contains("--pid host"));
            self.report(if escapes { "container.host" } else { "container.privileged" }, "");
        }
    }

    fn editor(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("cSuUwWT", "cmd").read(call.args);
        let mut commands: Vec<String> = opts.values("c cmd").map(str::to_owned).collect();
        commands.extend(call.args.iter().filter_map(|arg| arg.strip_prefix('+')).map(str::to_owned));
        if let Some(script) = call.stdin.filter(|_| matches!(call.name, "ed" | "ex") || opts.has("e s")) {
            commands.extend(script.lines().map(str::to_owned));
        }
        for command in commands {
            let command = command
                .trim_start_matches([':', ' '])
                .trim_start_matches("silent")
                .trim_start_matches([' ', '!'])
                .to_owned()
                + "";
            let original_bang = command.trim_start();
            let code = original_bang
                .strip_prefix("r !")
                .or_else(|| original_bang.strip_prefix("%!"))
                .unwrap_or(original_bang);
            if let Some(inner) = code
                .split_once("system(")
                .map(|(_, rest)| rest.trim_matches(|c| "()'\" ".contains(c)).to_owned())
            {
                self.run_code(env, &inner);
            } else if code.contains(' ') && !code.starts_with(['/', '%', 's', 'g']) {
                self.run_code(env, code);
            } else if code.starts_with("shred") || code.starts_with("sudo") {
                self.run_code(env, code);
            }
            if let Some(path) = code.strip_prefix("w ").or_else(|| code.strip_prefix("w! ")) {
                self.effect(env, Effect::Write { path: path.to_owned(), content: None, how: How::Replace });
            }
        }
        for path in opts.operands.iter().filter(|path| !path.starts_with('+')) {
            self.effect(env, Effect::Read { path: path.clone() });
        }
    }

    fn emacs(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("lfe", "eval execute load funcall script").read(call.args);
        for code in opts.values("eval execute e").map(str::to_owned).collect::<Vec<_>>() {
            self.foreign(env, &code, Language::Other);
        }
    }

    fn multiplexer(&mut self, env: &mut Env, call: &Call<'_>) {
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
                self.inner(env, command, call);
            }
        }
    }

    fn powershell(&mut self, call: &Call<'_>) {
        let code = call.args.join(" ").to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
        if has(&["iex", "invoke-expression"]) && has(&["iwr", "irm", "invoke-webrequest", "invoke-restmethod", "downloadstring"]) {
            self.report("exec.remote", "");
        } else if has(&["remove-item", "format-volume", "clear-disk", "-encodedcommand", "-enc "]) {
            self.report("exec.opaque", "");
        }
    }

    fn redis(&mut self, call: &Call<'_>) {
        let words = call
            .args
            .iter()
            .map(|arg| arg.to_lowercase())
            .chain(call.stdin.unwrap_or_default().split_whitespace().map(str::to_lowercase));
        for word in words {
            if matches!(word.as_str(), "flushall" | "flushdb" | "shutdown" | "debug" | "swapdb") {
                return self.report("db.loss", &word);
            }
        }
    }

    pub(super) fn sed(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let opts = Spec::new("efl", "expression file line-length").read(call.args);
        // `-i` may have a suffix attached; `-e` and the script are told apart by it.
        let mut scripts: Vec<String> = opts.values("e expression").map(str::to_owned).collect();
        let mut files = opts.operands.clone();
        if scripts.is_empty() && !opts.has("f file") && !files.is_empty() {
            scripts.push(files.remove(0));
        }
        for script in &scripts {
            for command in script.split([';', '\n', '{', '}']) {
                let command = command
                    .trim()
                    .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | '!' | ' '));
                if let Some(code) = command.strip_prefix("e ") {
                    self.run_code(env, code);
                }
                if let Some(path) = command.strip_prefix("w ") {
                    self.effect(
                        env,
                        Effect::Write { path: path.to_owned(), content: None, how: How::Replace },
                    );
                }
            }
            if let Some(code) = executed_replacement(script) {
                self.run_code(env, &code);
            }
        }
        if opts.in_place() {
            for path in files {
                self.effect(env, Effect::Write { path, content: None, how: How::Edit });
            }
            return String::new();
        }
        let text = self.inputs(env, &files, call.stdin);
        let simple = scripts.iter().try_fold(text.clone(), |text, script| substituted(script, &text));
        match simple {
            Some(text) if !crate::mark::has_hole(&text) => text,
            _ => format!("{}{RUN}", crate::mark::taint(&text)),
        }
    }
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

/// The pieces of `s/a/b/flags`.
fn substitution(script: &str) -> Option<(String, String, String)> {
    let rest = script.trim().strip_prefix('s')?;
    let mark = rest.chars().next().filter(|c| !c.is_alphanumeric() && !c.is_whitespace())?;
    let mut pieces = vec![String::new()];
    let mut chars = rest.chars().skip(1);
    while let Some(c) = chars.next() {
        if c == '\\' {
            let next = chars.next()?;
            if next != mark {
                pieces.last_mut()?.push('\\');
            }
            pieces.last_mut()?.push(next);
        } else if c == mark && pieces.len() < 3 {
            pieces.push(String::new());
        } else {
            pieces.last_mut()?.push(c);
        }
    }
    let mut pieces = pieces.into_iter();
    Some((pieces.next()?, pieces.next()?, pieces.next()?))
}

/// The command that `s/…/command/e` runs.
fn executed_replacement(script: &str) -> Option<String> {
    let (_, with, flags) = substitution(script)?;
    flags.contains('e').then_some(with)
}

/// What one plain substitution makes of a text; nothing if it is more than that.
fn substituted(script: &str, text: &str) -> Option<String> {
    let (pattern, with, flags) = substitution(script)?;
    if pattern.is_empty() || pattern.contains(['.', '*', '[', '^', '$', '\\']) || with.contains(['&', '\\']) {
        return None;
    }
    Some(if flags.contains('g') {
        text.replace(&pattern, &with)
    } else {
        text.lines().map(|line| line.replacen(&pattern, &with, 1) + "\n").collect()
    })
}
