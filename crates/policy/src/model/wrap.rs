//! Programs that run another command: one table, and the few whose command is not simply the rest of the line.

use super::{Call, Spec};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::RUN;
use crate::verdict::Decision;

/// How the command stands in the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// It is the operands, after so many others.
    Argv(usize),
    /// Assignments may come before it.
    Assignments,
    /// The operands are joined and given to a shell.
    Line(usize),
    /// Each operand is a line of its own.
    Lines,
    /// It follows `--`, or so many operands.
    Dashes(usize),
    /// It follows the first of these options.
    After(&'static str),
}

/// One program that runs another.
#[derive(Clone, Copy)]
struct Wrapper {
    /// Names that take this row.
    names: &'static str,
    spec: Spec,
    rest: Rest,
    /// Options whose value is a line of shell.
    code: &'static str,
    /// Reported whenever the program is used.
    rule: &'static str,
    /// On another machine or in a container a loss is not ours: it is a question.
    foreign: bool,
}

const fn row(names: &'static str, short: &'static str, long: &'static str, rest: Rest) -> Wrapper {
    Wrapper { names, spec: Spec::wrapper(short, long), rest, code: "", rule: "", foreign: false }
}

const fn with(wrapper: Wrapper, code: &'static str, rule: &'static str) -> Wrapper {
    Wrapper { code, rule, ..wrapper }
}

/// Its options may also stand behind operands.
const fn loose(wrapper: Wrapper) -> Wrapper {
    let Spec { short, long, .. } = wrapper.spec;
    Wrapper { spec: Spec::new(short, long), ..wrapper }
}

const fn foreign(wrapper: Wrapper) -> Wrapper {
    Wrapper { foreign: true, ..wrapper }
}

/// A name of two words is a program and its subcommand.
#[rustfmt::skip]
const TABLE: &[Wrapper] = &[
    with(row("sudo", "ugpCchDRrtTU", "user group prompt chdir chroot role type host close-from other-user",
        Rest::Assignments), "", "priv.sudo"),
    with(row("doas", "uC", "", Rest::Assignments), "", "priv.sudo"),
    with(row("pkexec run0 dzdo", "u", "user", Rest::Argv(0)), "", "priv.sudo"),
    loose(with(row("su runuser", "csgGuTw",
        "command shell group session-command supp-group user whitelist-environment", Rest::Dashes(9)),
        "c command session-command", "priv.sudo")),
    loose(with(row("sg", "c", "", Rest::Line(1)), "c", "")),
    with(row("gosu su-exec", "", "", Rest::Argv(1)), "", "priv.sudo"),
    row("setpriv", "",
        "reuid regid groups inh-caps ambient-caps bounding-set securebits selinux-label apparmor-profile pdeathsig",
        Rest::Argv(0)),
    with(row("env", "uCS", "unset chdir split-string", Rest::Assignments), "S split-string", ""),
    row("nice", "n", "adjustment", Rest::Argv(0)),
    row("ionice", "cnpPu", "class classdata pid pgid uid", Rest::Argv(0)),
    row("nohup setsid builtin chronic unbuffer fakeroot eatmydata caffeinate proxychains proxychains4 torsocks catchsegv linux32 linux64 rlwrap ts",
        "", "", Rest::Argv(0)),
    row("exec", "a", "", Rest::Argv(0)),
    row("timeout gtimeout", "ks", "kill-after signal", Rest::Argv(1)),
    row("time gtime", "fo", "format output", Rest::Argv(0)),
    row("stdbuf", "ioe", "input output error", Rest::Argv(0)),
    foreign(with(row("chroot", "", "userspec groups", Rest::Argv(1)), "", "priv.sudo")),
    row("unshare", "RwSGl", "root wd setuid setgid map-user map-group propagation setgroups", Rest::Argv(0)),
    with(row("nsenter", "tSGW", "target setuid setgid wd", Rest::Argv(0)), "", "priv.sudo"),
    with(row("flock", "wEc", "timeout wait conflict-exit-code command", Rest::Argv(1)), "c command", ""),
    row("strace ltrace", "abeEIopPsSuX", "output trace attach string-limit user env expr", Rest::Argv(0)),
    row("valgrind heaptrack rr", "", "", Rest::Argv(0)),
    row("perf", "eoFgpt", "event output", Rest::Argv(1)),
    with(row("watch", "nq", "interval equexit", Rest::Line(0)), "", ""),
    row("hyperfine concurrently npm-run-all", "wmMrnLPc",
        "warmup min-runs max-runs runs export-json export-markdown prepare cleanup setup names prefix",
        Rest::Lines),
    row("systemd-run", "pMHut",
        "property unit slice machine host uid gid nice working-directory setenv on-calendar on-active description service-type timer-property",
        Rest::Argv(0)),
    row("faketime", "", "", Rest::Argv(1)),
    row("taskset", "", "", Rest::Argv(1)),
    row("chrt", "TPDp", "", Rest::Argv(1)),
    row("numactl prlimit cpulimit", "lmpNCi", "membind cpunodebind physcpubind interleave limit pid",
        Rest::Argv(0)),
    row("runcon setarch", "turlc", "type user role range", Rest::Argv(1)),
    row("xvfb-run dbus-run-session", "nsefpw", "server-num server-args error-file auth-file", Rest::Argv(0)),
    row("busybox toybox", "", "", Rest::Argv(0)),
    loose(with(row("script", "cIOBTmoE", "command log-in log-out log-io log-timing", Rest::Dashes(9)),
        "c command", "")),
    row("ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-musl-x86_64.so.1", "",
        "library-path preload argv0 inhibit-rpath audit", Rest::Argv(0)),
    row("cgexec", "g", "", Rest::Argv(0)),
    loose(with(row("split", "abCln", "filter suffix-length bytes line-bytes lines number additional-suffix",
        Rest::Dashes(99)), "filter", "")),
    row("dumb-init tini", "pes", "rewrite", Rest::Argv(0)),
    with(row("entr", "s", "", Rest::Argv(0)), "s", ""),
    with(row("xterm rxvt urxvt konsole alacritty kitty", "T", "title workdir", Rest::Dashes(9)), "", ""),
    row("gnome-terminal", "", "title working-directory geometry profile", Rest::Dashes(9)),
    row("firejail proot bwrap", "", "bind ro-bind dev proc tmpfs chdir", Rest::Argv(0)),
    row("uv run", "p", "python with project directory group extra package", Rest::Argv(1)),
    row("poetry run", "CP", "directory project", Rest::Argv(1)),
    row("pipenv run", "", "", Rest::Argv(1)),
    row("pdm run", "p", "", Rest::Argv(1)),
    row("hatch run", "", "", Rest::Argv(1)),
    row("rye run", "", "", Rest::Argv(1)),
    row("bundle exec", "", "", Rest::Argv(1)),
    row("conda run", "np", "name prefix cwd", Rest::Argv(1)),
    row("mamba run", "np", "name prefix cwd", Rest::Argv(1)),
    row("micromamba run", "np", "name prefix cwd", Rest::Argv(1)),
    row("pixi run", "e", "environment manifest-path", Rest::Argv(1)),
    row("npm explore", "", "", Rest::Dashes(2)),
    row("sops exec-env", "", "", Rest::Line(2)),
    row("sops exec-file", "", "", Rest::Line(2)),
    row("chamber exec", "", "", Rest::Dashes(2)),
    row("envconsul envchain foreman", "", "", Rest::Argv(1)),
    row("direnv exec", "", "", Rest::Argv(2)),
    row("rustup run", "", "", Rest::Argv(2)),
    with(row("npm exec", "pc", "package call", Rest::Argv(1)), "c call", ""),
    row("yarn exec", "", "", Rest::Argv(1)),
    row("pnpm exec", "", "", Rest::Argv(1)),
    row("mise exec", "", "", Rest::Dashes(1)),
    row("asdf exec", "", "", Rest::Argv(1)),
    row("pyenv exec", "", "", Rest::Argv(1)),
    row("rbenv exec", "", "", Rest::Argv(1)),
    row("op run", "", "env-file", Rest::Dashes(1)),
    with(row("doppler run", "pc", "project config command", Rest::Dashes(1)), "command", ""),
    row("aws-vault exec", "", "", Rest::Dashes(2)),
    row("dotenv dotenvx infisical", "ef", "env-file", Rest::Dashes(0)),
    loose(with(row("nix-shell", "pIA", "run command packages attr", Rest::Dashes(99)), "run command", "")),
    row("nix develop", "", "", Rest::After("-c --command")),
    row("nix shell", "", "", Rest::After("-c --command")),
    row("nix run", "", "", Rest::After("--")),
    row("guix shell", "", "", Rest::After("--")),
    row("wezterm ghostty foot", "", "", Rest::After("-e --")),
    row("git submodule", "", "", Rest::Line(2)),
    row("git bisect", "", "", Rest::Argv(2)),
    foreign(row("docker exec", "euw", "env env-file user workdir detach-keys", Rest::Argv(2))),
    foreign(row("podman exec", "euw", "env env-file user workdir detach-keys", Rest::Argv(2))),
    foreign(row("docker run", "aceEhlmpuvw", CONTAINER_LONG, Rest::Argv(2))),
    foreign(row("podman run", "aceEhlmpuvw", CONTAINER_LONG, Rest::Argv(2))),
    foreign(row("docker-compose exec", "euw", "env user workdir index", Rest::Argv(2))),
    foreign(row("docker-compose run", "euwvp", "env user workdir name volume publish entrypoint label",
        Rest::Argv(2))),
    foreign(row("docker compose", "fp", "file project-name", Rest::Argv(3))),
    foreign(row("kubectl exec", "ncf", "namespace container filename context kubeconfig", Rest::Dashes(2))),
    foreign(row("oc exec", "nc", "namespace container context", Rest::Dashes(2))),
    foreign(row("kubectl run", "n", "image namespace restart overrides", Rest::Dashes(2))),
    foreign(row("lxc exec", "", "cwd env user", Rest::Dashes(2))),
    foreign(row("multipass exec", "d", "working-directory", Rest::Dashes(2))),
    foreign(loose(with(row("vagrant ssh", "c", "command", Rest::Dashes(9)), "c command", ""))),
    foreign(loose(with(row("fly ssh", "Ca", "command app", Rest::Dashes(9)), "C command", ""))),
    foreign(loose(with(row("flyctl ssh", "Ca", "command app", Rest::Dashes(9)), "C command", ""))),
    foreign(loose(with(row("gcloud compute", "", "command project zone", Rest::After("--")), "command", ""))),
    foreign(loose(with(row("az ssh", "", "", Rest::After("--")), "", ""))),
    foreign(row("salt salt-ssh", "", "", Rest::Line(2))),
    foreign(row("pssh pdsh clush parallel-ssh", "hHlwtpoe", "hosts host user timeout par", Rest::Line(0))),
    foreign(loose(with(row("heroku run", "a", "app", Rest::Line(1)), "", ""))),
    foreign(loose(with(row("ansible", "ambBcifMpPQTtu", "args module-name inventory user limit", Rest::Dashes(99)),
        "a args", ""))),
];

const CONTAINER_LONG: &str = "add-host attach blkio-weight cap-add cap-drop cgroup-parent cidfile cpu-shares cpus cpuset-cpus detach-keys device dns entrypoint env env-file expose gpus group-add health-cmd hostname ip ipc isolation label link log-driver log-opt mac-address memory mount name network net network-alias pid pids-limit platform publish pull restart runtime security-opt shm-size stop-signal sysctl tmpfs ulimit user userns uts volume volumes-from workdir";

impl Checker<'_> {
    /// Runs the command inside a wrapper; `None` if the program is not one.
    pub(super) fn wrapper(&mut self, env: &mut Env, call: &Call<'_>) -> Option<String> {
        match call.name {
            "command" => return Some(self.command_builtin(env, call)),
            "xargs" => return Some(self.xargs(env, call)),
            "parallel" | "sem" => return Some(self.parallel(env, call)),
            "kennel" => return Some(self.kennel(env, call)),
            "ssh" | "slogin" | "autossh" | "mosh" => return Some(self.ssh(env, call)),
            _ => {}
        }
        let wrapper = TABLE.iter().find(|wrapper| applies(wrapper, call))?;
        Some(self.wrapped(env, wrapper, call))
    }

    fn wrapped(&mut self, env: &mut Env, wrapper: &Wrapper, call: &Call<'_>) -> String {
        let two_words = is_subcommand(wrapper);
        // The subcommand is an operand; the options behind it are read as the row says.
        let (args, used) =
            if two_words { (call.args.get(1..).unwrap_or_default(), 1) } else { (call.args, 0) };
        let opts = wrapper.spec.read(args);
        if !wrapper.rule.is_empty() && !only_asks(call, &opts) {
            self.report(wrapper.rule, "");
        }
        if call.name == "env" || call.name == "sudo" {
            self.environment_options(env, &opts);
        }
        if wrapper.foreign {
            self.container(env, call);
        }
        let cap = if wrapper.foreign { Decision::Ask } else { Decision::Deny };
        self.capped(cap, |checker| {
            let mut out = String::new();
            let mut coded = false;
            for code in opts.values(wrapper.code).map(str::to_owned).collect::<Vec<_>>() {
                coded = true;
                let mut inner = env.clone();
                // `env -S` splits its string and goes on with the operands.
                let code =
                    if call.name == "env" { format!("env {code} {}", opts.operands.join(" ")) } else { code };
                out.push_str(&checker.deeper(|checker| checker.shell_code(&mut inner, &code, call.stdin)));
            }
            if coded {
                return out;
            }
            checker.rest(env, wrapper.rest, &opts, (args, used, call))
        })
    }

    fn rest(
        &mut self,
        env: &mut Env,
        rest: Rest,
        opts: &super::opts::Opts,
        (args, used, call): (&[String], usize, &Call<'_>),
    ) -> String {
        let from = |skip: usize| opts.operands.get(skip.saturating_sub(used)..).unwrap_or_default().to_vec();
        match rest {
            // `flock FILE -c LINE`
            Rest::Argv(1)
                if call.name == "flock" && opts.operands.get(1).is_some_and(|word| word == "-c") =>
            {
                let mut inner = env.clone();
                self.deeper(|checker| checker.shell_code(&mut inner, &from(2).join(" "), call.stdin))
            }
            Rest::Argv(skip) => self.inner(env, &from(skip), call),
            Rest::Assignments => {
                let mut argv = opts.operands.clone();
                let saved = std::rc::Rc::clone(&env.vars);
                // `env $(cat settings) program`
                while argv.len() > 1
                    && call.name == "env"
                    && argv.first().is_some_and(|word| crate::mark::is_opaque(word))
                {
                    argv.remove(0);
                }
                while let Some((name, value)) = argv.first().and_then(|word| word.split_once('=')) {
                    let (name, value) = (name.to_owned(), value.to_owned());
                    self.variable(env, &name, &value);
                    env.set_text(&name, value);
                    argv.remove(0);
                }
                if argv.is_empty() && call.name == "env" {
                    return format!("{}{RUN}", crate::mark::SECRET);
                }
                let shell = argv.is_empty() && (opts.has("s i shell login"));
                let out = if shell {
                    self.inner(env, &["bash".to_owned()], call)
                } else {
                    self.inner(env, &argv, call)
                };
                env.vars = saved;
                out
            }
            Rest::Line(skip) => {
                let words = from(skip);
                let code = words.join(" ");
                let mut inner = env.clone();
                if words.is_empty() {
                    String::new()
                } else {
                    self.deeper(|c| c.shell_code(&mut inner, &code, call.stdin))
                }
            }
            Rest::Lines => {
                for code in &opts.operands {
                    let mut inner = env.clone();
                    self.deeper(|checker| checker.shell_code(&mut inner, code, None));
                }
                RUN.to_string()
            }
            Rest::After(options) => {
                let at = args.iter().position(|arg| options.split(' ').any(|option| option == arg));
                let command = at.and_then(|at| args.get(at + 1..)).unwrap_or_default();
                self.inner(env, command, call)
            }
            Rest::Dashes(skip) => {
                let dashes = args.iter().position(|arg| arg == "--" || arg == "-e" || arg == "-x");
                let command = dashes.filter(|_| call.name != "script").and_then(|at| args.get(at + 1..));
                let from_stdin = matches!(call.name, "su" | "runuser") && call.stdin.is_some();
                match command {
                    Some(words) if !words.is_empty() => self.inner(env, words, call),
                    _ if from_stdin => self.inner(env, &["bash".to_owned()], call),
                    _ => self.inner(env, &from(skip), call),
                }
            }
        }
    }

    /// Runs `argv` as the command of a wrapper.
    pub(super) fn inner(&mut self, env: &mut Env, argv: &[String], call: &Call<'_>) -> String {
        if argv.is_empty() {
            return call.derived();
        }
        // Functions and aliases are the shell's; a program does not see them.
        let functions = std::mem::take(&mut env.functions);
        let out = self.invoke(env, argv, call.stdin);
        env.functions = functions;
        out
    }

    fn environment_options(&mut self, env: &mut Env, opts: &super::opts::Opts) {
        if let Some(dir) = opts.value("C D chdir") {
            let dirs = self.absolute(env, dir);
            env.cwd = dirs;
        }
    }

    /// Our own command line: it runs what it is given, and may not be told to look away.
    fn kennel(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        const VALUED: &str = "cwd env pass-env timeout on-timeout survivors description pty sandbox network writable boundary memory pids cpu-time output-cap max-output session owner-pid ask report";
        let (verb, rest) =
            call.args.split_first().map_or(("", &[][..]), |(verb, rest)| (verb.as_str(), rest));
        let opts = Spec::wrapper("", VALUED).read(rest);
        let loosens = opts.has("no-check") || opts.value("ask") == Some("allow");
        let changes = matches!(verb, "trust")
            || (matches!(verb, "hook" | "mcp") && rest.iter().any(|word| word == "uninstall"));
        if loosens || changes {
            self.report("self.protect", verb);
        }
        if !matches!(verb, "run" | "start") {
            return RUN.to_string();
        }
        match opts.operands.as_slice() {
            [line] => {
                let mut inner = env.clone();
                self.deeper(|checker| checker.shell_code(&mut inner, line, call.stdin))
            }
            argv => self.inner(env, argv, call),
        }
    }

    fn command_builtin(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let opts = Spec::wrapper("", "").read(call.args);
        if opts.has("v V") {
            return super::text::located(&opts.operands);
        }
        self.inner(env, &opts.operands, call)
    }

    /// Settings of ssh and its kin that are commands of this machine.
    pub(super) fn ssh_options(&mut self, env: &Env, opts: &super::opts::Opts) {
        for option in opts.values("o") {
            if let Some((name, value)) = option.split_once(['=', ' '])
                && ["proxycommand", "localcommand", "knownhostscommand"]
                    .contains(&name.to_lowercase().as_str())
            {
                self.run_code(env, value);
            }
        }
    }

    fn ssh(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let opts = Spec::wrapper("BbcDEeFIiJLlmOoPpQRSWw", "").read(call.args);
        self.ssh_options(env, &opts);
        let Some(host) = opts.operands.first() else { return String::new() };
        let words = opts.operands.get(1..).unwrap_or_default();
        let words = words.strip_prefix(&["--".to_owned()][..]).unwrap_or(words);
        if let Some(data) = call.stdin {
            self.effect(env, super::effect::Effect::Send { data: data.to_owned(), to: host.clone() });
        }
        let code = if words.is_empty() { call.stdin.unwrap_or_default().to_owned() } else { words.join(" ") };
        let mut inner = Env::new(&self.ctx.home);
        inner.vars = std::rc::Rc::clone(&env.vars);
        if !code.is_empty() && !crate::mark::is_opaque(&code) {
            self.deeper(|checker| checker.shell_code(&mut inner, &code, call.stdin));
        }
        crate::mark::NET.to_string()
    }
}

fn applies(wrapper: &Wrapper, call: &Call<'_>) -> bool {
    let mut names = wrapper.names.split(' ');
    if !call.name.is_empty() && names.clone().count() == 2 && is_subcommand(wrapper) {
        let (program, sub) = (names.next(), names.next());
        return program == Some(call.name) && call.args.first().map(String::as_str) == sub && refined(call);
    }
    names.any(|name| name == call.name)
}

/// `sudo -l`, `sudo -n true`: whether one may, and nothing done with it.
fn only_asks(call: &Call<'_>, opts: &super::opts::Opts) -> bool {
    if !matches!(call.name, "sudo" | "doas") {
        return false;
    }
    let asks = opts.has("l list v validate k K reset-timestamp remove-timestamp V version");
    match opts.operands.as_slice() {
        [] => asks,
        [only] => matches!(only.as_str(), "true" | ":") || opts.has("l list"),
        _ => opts.has("l list"),
    }
}

/// Subcommands that only sometimes run a command.
fn refined(call: &Call<'_>) -> bool {
    let second = call.args.get(1).map_or("", String::as_str);
    match (call.name, call.args.first().map_or("", String::as_str)) {
        ("git", "submodule") => second == "foreach",
        ("git", "bisect") => second == "run",
        ("docker", "compose") => matches!(second, "exec" | "run"),
        ("gcloud", "compute") => second == "ssh",
        _ => true,
    }
}

/// Whether the two names of a row are a program and its subcommand.
fn is_subcommand(wrapper: &Wrapper) -> bool {
    #[rustfmt::skip]
    const PROGRAMS: &[&str] = &[
        "uv", "poetry", "pipenv", "pdm", "hatch", "rye", "bundle", "conda", "direnv", "rustup", "npm",
        "yarn", "pnpm", "mise", "asdf", "pyenv", "rbenv", "op", "doppler", "aws-vault", "nix", "git",
        "docker", "podman", "docker-compose", "kubectl", "oc", "lxc", "multipass", "vagrant", "fly",
        "flyctl", "gcloud", "az", "heroku", "mamba", "micromamba", "pixi", "sops", "chamber", "guix",
    ];
    wrapper.names.split(' ').next().is_some_and(|first| PROGRAMS.contains(&first))
}
