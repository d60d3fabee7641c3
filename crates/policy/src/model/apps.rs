//! Programs that run what an option, a file or a subcommand says: editors, version control, schedulers, containers.

use super::{Call, Spec};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::NET;

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
            "vagrant" => self.option_code(env, call, "a args c command"),
            "osascript" => {}
            "gdb" | "lldb" => self.debugger(env, call),
            "chpasswd" => {
                if call
                    .stdin
                    .is_some_and(|text| text.lines().any(|line| line.trim_start().starts_with("root:")))
                {
                    self.report("sys.root-account", "a password for root");
                }
            }
            "mount" => self.mount(env, call),
            "rails" | "rake" | "pry" => self.ruby_tools(env, call),
            "cmake" => self.cmake(env, call),
            "coreutils" => {
                let program = call.args.iter().find_map(|arg| arg.strip_prefix("--coreutils-prog="));
                let argv: Vec<String> =
                    program.map(str::to_owned).into_iter().chain(call.args.iter().skip(1).cloned()).collect();
                self.inner(env, &argv, call);
            }
            "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "gfortran" => {
                let at = call.args.iter().position(|arg| arg == "-wrapper");
                if let Some(words) = at.and_then(|at| call.args.get(at + 1)) {
                    let argv: Vec<String> = words.split(',').map(str::to_owned).collect();
                    self.inner(env, &argv, call);
                }
            }
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

    pub(super) fn run_code(&mut self, env: &Env, code: &str) {
        let mut inner = env.clone();
        self.deeper(|checker| checker.shell_code(&mut inner, code, None));
    }

    fn make(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("fCjIEol", "file makefile directory jobs eval").read(call.args);
        let code = match opts.value("f file makefile") {
            Some("-" | "/dev/stdin") => call.stdin.map(str::to_owned),
            Some(file) => self.content(env, file),
            None => ["Makefile", "makefile", "GNUmakefile"].iter().find_map(|name| self.content(env, name)),
        };
        // A makefile that exists already, or came with its repository, is like any other program.
        if let Some(code) = code.filter(|code| code.contains(NET) || !crate::mark::is_opaque(code))
            && self.may_run(&code)
        {
            for line in code.replace("\\\n", " ").lines() {
                let recipe =
                    line.strip_prefix('\t').or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
                let Some(recipe) = recipe else { continue };
                let recipe =
                    recipe.trim_start_matches(['@', '-', '+']).replace("$$", "$").replace("$(HOME)", "$HOME");
                // A line that only make understands is make's.
                if crate::parse::parse(&recipe, crate::parse::Origin::Computed(self.span), self.depth).is_ok()
                {
                    self.run_code(env, &recipe);
                }
            }
        }
        for shell in opts.operands.iter().filter_map(|word| word.strip_prefix("SHELL=")) {
            self.run_code(env, shell);
        }
        for code in opts.values("eval").map(str::to_owned).collect::<Vec<_>>() {
            self.run_code(env, code.rsplit(';').next().unwrap_or_default());
        }
    }

    fn scheduled(&mut self, env: &mut Env, call: &Call<'_>) {
        if call.args.iter().any(|arg| matches!(arg.as_str(), "-l" | "-c" | "-V")) {
            return;
        }
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
            Some(file) if file != "-" => self.content(env, file),
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

    /// What is mounted over a directory of the system replaces it.
    fn mount(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("otLUOT", "options types source target").read(call.args);
        let binds =
            opts.has("B R bind rbind move M") || opts.value("o options").is_some_and(|o| o.contains("bind"));
        let overlays = matches!(opts.value("t types"), Some("overlay" | "tmpfs"));
        if let Some(target) = opts.operands.last().filter(|_| (binds || overlays) && opts.operands.len() > 1)
        {
            for full in self.absolute(env, target) {
                let system = ["/etc", "/usr", "/bin", "/sbin", "/lib", "/boot"];
                let over = |dir: &&str| full == **dir || full.starts_with(&format!("{dir}/"));
                if full == "/" || system.iter().any(over) {
                    self.report("fs.write.system", &full);
                }
            }
        }
    }

    fn debugger(&mut self, env: &mut Env, call: &Call<'_>) {
        let mut args = call.args.iter();
        while let Some(arg) = args.next() {
            if arg == "--args" || arg == "--" {
                let rest: Vec<String> = args.cloned().collect();
                self.inner(env, &rest, call);
                return;
            }
            let command = match arg.as_str() {
                "-ex" | "-iex" | "-o" | "-O" | "--eval-command" | "-eval-command" => args.next(),
                _ => None,
            };
            if let Some(command) = command {
                self.debugger_command(env, command);
            }
        }
    }

    fn debugger_command(&mut self, env: &mut Env, command: &str) {
        let shell = ["!", "shell ", "platform shell ", "pipe "];
        if let Some(code) = shell.iter().find_map(|prefix| command.strip_prefix(prefix)) {
            self.run_code(env, code);
        }
        let script = ["python ", "py ", "script ", "python-interactive "];
        if let Some(code) = script.iter().find_map(|prefix| command.strip_prefix(prefix)) {
            self.foreign(env, code, super::lang::Language::Python);
        }
    }

    /// `rails runner CODE`, `rake -e CODE`.
    fn ruby_tools(&mut self, env: &mut Env, call: &Call<'_>) {
        let runner = matches!(call.args.first().map(String::as_str), Some("runner" | "r"));
        let opts = Spec::new("eEpI", "execute execute-continue execute-print environment").read(call.args);
        let coded = opts.values("e E p execute execute-continue execute-print").filter(|_| !runner);
        let code = coded.map(str::to_owned).chain(opts.operands.get(1).filter(|_| runner).cloned());
        for code in code.collect::<Vec<_>>() {
            self.foreign(env, &code, super::lang::Language::Ruby);
        }
    }

    /// `cmake -E`: the tools of a system under other names.
    fn cmake(&mut self, env: &mut Env, call: &Call<'_>) {
        let Some([flag, tool, rest @ ..]) = call.args.get(..) else { return };
        if flag != "-E" {
            return;
        }
        let program: &[&str] = match tool.as_str() {
            "rm" | "remove" | "remove_directory" => &["rm", "-rf"],
            "copy" | "copy_directory" | "copy_if_different" => &["cp", "-r"],
            "rename" => &["mv"],
            "create_symlink" => &["ln", "-s"],
            "env" => &["env"],
            "time" => &["time"],
            "chdir" => &["env", "-C"],
            _ => return,
        };
        let argv: Vec<String> =
            program.iter().map(|word| (*word).to_owned()).chain(rest.iter().cloned()).collect();
        self.inner(env, &argv, call);
    }

    fn powershell(&mut self, call: &Call<'_>) {
        let code = call.args.join(" ").to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
        if has(&["iex", "invoke-expression"])
            && has(&["iwr", "irm", "invoke-webrequest", "invoke-restmethod", "downloadstring"])
        {
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
}
