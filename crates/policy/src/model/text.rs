//! Programs that print or change text: what they print is followed, so that code hidden in it is found.

use super::effect::{Effect, How};
use super::{Call, Spec, opts::Opts};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::{self, RUN, SECRET, TRUSTED};
use crate::text::{self, Escapes};

/// Filters of which only the input's origin is known afterwards.
#[rustfmt::skip]
const FILTERS: &[&str] = &[
    "cut", "wc", "nl", "paste", "join", "comm", "column", "xxd", "od", "hexdump", "diff", "cmp", "gzip",
    "gunzip", "zcat", "bzcat", "xzcat", "bzip2", "xz", "zstd", "lz4", "md5sum", "sha1sum", "sha256sum",
    "sha512sum", "file", "split", "uuencode", "uudecode", "gpg", "gpg2", "shuf", "tsort", "pr", "hd",
    "cksum", "look", "zless", "vi", "nano",
];
/// Programs that print what they read, all of it or some of its lines.
const COPIERS: &[&str] = &[
    "cat", "less", "more", "bat", "batcat", "pv", "most", "sort", "uniq", "strings", "fold", "fmt", "expand",
    "unexpand", "dos2unix", "iconv", "head", "tail", "view",
];
/// Programs whose first operand is a pattern or a program of their own.
const PATTERNED: &[&str] = &["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "jq", "yq"];
/// Of these, what is printed says little of what was read.
const DIGESTS: &[&str] = &["wc", "md5sum", "sha1sum", "sha256sum", "sha512sum", "file", "cksum"];

const GREP: Spec = Spec::new(
    "ABCefmdD",
    "regexp file include exclude exclude-dir exclude-from max-count color colour after-context before-context context binary-files label devices directories",
);
/// ripgrep and its like, and jq.
const RIPGREP: Spec = Spec::new(
    "ABCefmgtTdjMrL",
    "regexp file context glob type max-count color colour after-context before-context pre type-not iglob max-depth replace from-file indent tab arg ignore-file sort",
);

impl Checker<'_> {
    pub(super) fn text_program(&mut self, env: &mut Env, call: &Call<'_>) -> Option<String> {
        let args = call.args;
        let out = match call.name {
            "echo" => echo(args),
            "printf" => text::printf(args),
            "yes" => args.join(" ") + "\n",
            "tee" | "sponge" => self.tee(env, call),
            "rev" | "tac" => self.turned(env, call),
            "base64" | "base32" | "basenc" => self.decode(env, call, "d D decode", text::base64),
            "xxd" if args.iter().any(|arg| arg.starts_with('-') && arg.contains('r')) => {
                self.decode(env, call, "r revert", text::hex)
            }
            "tr" => match call.stdin {
                Some(input) if !mark::has_hole(input) => text::translate(args, input),
                _ => call.derived(),
            },
            "sed" | "gsed" => self.sed(env, call),
            "openssl" => self.openssl(env, call),
            "printenv" if args.iter().any(|name| mark::is_secret_name(name)) => mark::TOKEN.to_string(),
            "env" | "printenv" if args.iter().all(|arg| arg.starts_with('-')) => format!("{SECRET}{RUN}"),
            "set" | "export" | "declare" if args.is_empty() => format!("{SECRET}{RUN}"),
            name if PATTERNED.contains(&name) => self.patterned(env, call),
            name if COPIERS.contains(&name) => self.copied(env, call),
            "gzip" | "gunzip" | "zstd" | "unzstd"
                if args.iter().any(|arg| {
                    arg == "--recursive"
                        || arg.starts_with('-') && !arg.starts_with("--") && arg.contains('r')
                }) =>
            {
                // Every file below takes another form.
                for path in args.iter().filter(|arg| !arg.starts_with('-')) {
                    self.effect(env, Effect::Write { path: path.clone(), content: None, how: How::Replace });
                }
                String::new()
            }
            name if FILTERS.contains(&name) => self.filtered(env, call),
            _ => return self.named(env, call).or_else(|| trusted_code(call)),
        };
        Some(out)
    }

    /// Programs that print names.
    fn named(&self, env: &Env, call: &Call<'_>) -> Option<String> {
        let args = call.args;
        let out = match call.name {
            "mktemp" => temp_name(args),
            "pwd" => env.cwd.first().cloned().unwrap_or_default() + "\n",
            "whoami" | "logname" => self.ctx.user().to_owned() + "\n",
            "id" if args.iter().any(|arg| arg.contains('n')) => self.ctx.user().to_owned() + "\n",
            "which" | "type" | "whereis" => located(&Spec::new("", "").read(args).operands),
            "basename" => each(args, |path| {
                path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
            }),
            "dirname" => each(args, |path| match path.trim_end_matches('/').rsplit_once('/') {
                Some(("", _)) => "/".to_owned(),
                Some((dir, _)) => dir.to_owned(),
                None => ".".to_owned(),
            }),
            "realpath" | "readlink" => {
                let opts = Spec::new("", "relative-to relative-base").read(args);
                each(&opts.operands, |path| self.absolute(env, path).into_iter().next().unwrap_or_default())
            }
            "seq" => sequence(args),
            "pgrep" | "ps" if own_children(args) => RUN.to_string(),
            "pgrep" | "pidof" | "ps" => format!("{}{RUN}", mark::PIDS),
            "ls" | "dir" | "gls" | "eza" | "exa" => self.listed(env, args),
            "expr" => args.join(" "),
            _ => return None,
        };
        Some(out)
    }

    /// Names of files: those that were asked for, or all of a directory.
    fn listed(&self, env: &Env, args: &[String]) -> String {
        let opts = Spec::new("IwT", "ignore width").read(args);
        let vital = |path: &String| {
            self.absolute(env, path)
                .iter()
                .any(|full| crate::paths::place(full, self.ctx).zone >= crate::paths::Zone::Home)
        };
        match opts.operands.as_slice() {
            paths if paths.iter().any(|path| mark::has_glob(path)) => paths.join("\n") + "\n",
            // What is in a directory that must not be lost is as good as everything.
            paths if paths.iter().any(vital) => format!("{}\n", mark::STAR),
            _ => RUN.to_string(),
        }
    }

    /// What the file operands, or the input, hold.
    pub(super) fn inputs(&mut self, env: &Env, operands: &[String], stdin: Option<&str>) -> String {
        if operands.is_empty() {
            return stdin.map_or_else(String::new, str::to_owned);
        }
        let mut text = String::new();
        for operand in operands {
            if operand == "-" || operand == "/dev/stdin" {
                text.push_str(stdin.unwrap_or_default());
            } else {
                text.push_str(&self.read(env, operand));
            }
        }
        text
    }

    fn tee(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let opts = Spec::new("", "output-error").read(call.args);
        let content = call.stdin.map_or_else(|| RUN.to_string(), str::to_owned);
        let append = opts.has("a append");
        for path in &opts.operands {
            self.output_file(env, path, &content, if append { How::Append } else { How::Replace });
        }
        content
    }

    /// A program writes `content` to a file that it is given.
    pub(super) fn output_file(&mut self, env: &mut Env, path: &str, content: &str, how: How) {
        if crate::eval::is_socket(path) {
            return self.effect(env, Effect::Send { data: content.to_owned(), to: path.to_owned() });
        }
        self.effect(env, Effect::Write { path: path.to_owned(), content: Some(content.to_owned()), how });
        for full in self.absolute(env, path) {
            env.write_file(&full, content, how == How::Append);
        }
    }

    fn turned(&mut self, env: &Env, call: &Call<'_>) -> String {
        let opts = Spec::default().read(call.args);
        let text = self.inputs(env, &opts.operands, call.stdin);
        match call.name {
            _ if mark::has_hole(&text) => text,
            "rev" => text::reversed(&text),
            _ => text.lines().rev().flat_map(|line| [line, "\n"]).collect(),
        }
    }

    fn copied(&mut self, env: &Env, call: &Call<'_>) -> String {
        let spec = match call.name {
            "head" | "tail" => Spec::new("ncs", "lines bytes pid sleep-interval"),
            "sort" => Spec::new("kotTS", "key output field-separator temporary-directory buffer-size"),
            "iconv" => Spec::new("fto", "from-code to-code output"),
            _ => Spec::new("w", "width"),
        };
        let opts = spec.read(call.args);
        if let Some(path) = opts.value("o output") {
            self.effect(env, Effect::Write { path: path.to_owned(), content: None, how: How::Replace });
        }
        for code in call.args.iter().filter_map(|arg| arg.strip_prefix("+!")) {
            self.run_code(env, code);
        }
        let text = self.inputs(env, &opts.operands, call.stdin);
        // Of the lines of a text any may be left, so all are kept; of its bytes only where they are from.
        if opts.has("c bytes") && !text.is_empty() { format!("{}{RUN}", mark::taint(&text)) } else { text }
    }

    fn decode(
        &mut self,
        env: &Env,
        call: &Call<'_>,
        flag: &str,
        decoder: fn(&str) -> Option<String>,
    ) -> String {
        let opts = Spec::new("wclso", "wrap cols len").read(call.args);
        let input = self.inputs(env, &opts.operands, call.stdin);
        let known = opts.has(flag) && !mark::has_hole(&input);
        let decoded = if known { decoder(&input) } else { None };
        decoded.unwrap_or_else(|| format!("{}{RUN}", mark::taint(&input)))
    }

    fn openssl(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let given = |names: &[&str]| call.args.iter().any(|arg| names.contains(&arg.as_str()));
        if given(&["s_client"]) {
            return self.peer(env, call);
        }
        let value = |name: &str| {
            let at = call.args.iter().position(|arg| arg == name)?;
            call.args.get(at + 1)
        };
        let input = match value("-in") {
            Some(path) => self.read(env, path),
            None => call.stdin.unwrap_or_default().to_owned(),
        };
        if let Some(path) = value("-out") {
            self.effect(env, Effect::Write { path: path.clone(), content: None, how: How::Replace });
        }
        let decodes = given(&["-d"]) && given(&["base64", "-base64", "-a", "-A"]) && !mark::has_hole(&input);
        let decoded = if decodes { text::base64(&input) } else { None };
        decoded.unwrap_or_else(|| format!("{}{RUN}", mark::taint(&input)))
    }

    fn patterned(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let spec = if call.name.ends_with("grep") { GREP } else { RIPGREP };
        let opts = spec.read(call.args);
        if let Some(program) = opts.value("pre") {
            let argv: Vec<String> = program.split_whitespace().map(str::to_owned).collect();
            self.inner(env, &argv, call);
        }
        let skip = usize::from(!opts.has("e f regexp from-file"));
        let files = opts.operands.get(skip..).unwrap_or_default();
        if opts.has("l L files-with-matches files-without-match") && !matches!(call.name, "jq" | "yq") {
            // Names of some of the files.
            return files.iter().map(|file| file.replace(mark::STAR, &RUN.to_string()) + "\n").collect();
        }
        if opts.has("c q count quiet") {
            return RUN.to_string();
        }
        let mut input = self.inputs(env, files, call.stdin);
        let pattern = opts.operands.first().map_or("", String::as_str);
        if input.contains(mark::DOTENV) && is_public_name(pattern) {
            input = input.replace(mark::DOTENV, &RUN.to_string());
        }
        if matches!(call.name, "jq" | "yq" | "gojq") && opens_environment(pattern) {
            return format!("{SECRET}{RUN}");
        }
        // A filter may leave out any line; what could be left is treated as left.
        let kept = !input.is_empty() && !mark::is_opaque(&input) && !matches!(call.name, "jq" | "yq");
        if kept { input } else { format!("{}{RUN}", mark::taint(&input)) }
    }

    fn filtered(&mut self, env: &Env, call: &Call<'_>) -> String {
        let spec = match call.name {
            "cut" | "nl" | "column" | "paste" | "join" => Spec::new("dfbctsSw", "delimiter fields separator"),
            "gpg" | "gpg2" => Spec::new(
                "oru",
                "output recipient local-user passphrase homedir keyserver recv-keys export pinentry-mode quick-gen-key",
            ),
            _ => Spec::new("", "output"),
        };
        let opts = spec.read(call.args);
        if call.name.starts_with("gpg") && call.args.iter().any(|arg| arg.starts_with("--export-secret")) {
            self.report("secret.read", "secret keys");
            return format!("{SECRET}{RUN}");
        }
        if let Some(path) = opts.value("o output").filter(|_| call.name.starts_with("gpg")) {
            self.effect(env, Effect::Write { path: path.to_owned(), content: None, how: How::Replace });
        }
        if DIGESTS.contains(&call.name) {
            return RUN.to_string();
        }
        reworded(&self.inputs(env, &opts.operands, call.stdin))
    }
}

/// Text that a filter has changed: unknown, and still names below `.` if that is what it was.
pub(super) fn reworded(text: &str) -> String {
    let below = !text.is_empty() && text.lines().all(|line| line.starts_with("./"));
    format!("{}{}{RUN}", if below { "./" } else { "" }, mark::taint(text))
}

impl Opts {
    /// Whether `-i` or `--in-place` was given, whatever is attached to it.
    pub(super) fn in_place(&self) -> bool {
        self.has("i in-place")
    }
}

/// Whether a pattern finds the lines of one setting that is no secret.
fn is_public_name(pattern: &str) -> bool {
    let name = pattern.trim_start_matches('^').trim_end_matches('=');
    name.len() > 2
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        && name.contains('_')
        && !mark::is_secret_name(name)
}

/// Whether a filter of jq prints the environment, or a secret of it.
fn opens_environment(filter: &str) -> bool {
    let whole = |name: &str| {
        filter
            .split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.' | '$'))
            .any(|word| word == name)
    };
    let named = ["env.", "$ENV."].iter().any(|prefix| {
        filter.split_once(prefix).is_some_and(|(_, rest)| {
            let name =
                rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
            mark::is_secret_name(name)
        })
    });
    whole("env") || whole("$ENV") || named
}

/// Whether processes are looked for by their parent, which is this shell (`$$`) or a child of it (`$!`).
fn own_children(args: &[String]) -> bool {
    let opts = Spec::new("Popgstuq", "parent ppid format").read(args);
    let parent = opts.value("P parent").filter(|_| !opts.has("ppid")).or_else(|| opts.value("ppid"));
    parent.is_some_and(|pid| mark::is_opaque(pid) && !pid.contains([mark::PARENT, mark::PIDS]))
        && opts.operands.is_empty()
}

/// What `which`, `type -p` and `command -v` print: paths that end in the names.
pub(super) fn located(names: &[String]) -> String {
    let path =
        |name: &String| if name.contains('/') { format!("{name}\n") } else { format!("/usr/bin/{name}\n") };
    names.iter().map(path).collect()
}

fn each(args: &[String], change: impl Fn(&str) -> String) -> String {
    match args.iter().find(|arg| !arg.starts_with('-')) {
        Some(path) => change(path) + "\n",
        None => RUN.to_string(),
    }
}

fn echo(args: &[String]) -> String {
    let (mut escapes, mut newline, mut rest) = (false, true, args);
    let is_flag = |arg: &&String| {
        arg.len() > 1
            && arg.strip_prefix('-').is_some_and(|letters| letters.chars().all(|c| "neE".contains(c)))
    };
    while let Some(flag) = rest.first().filter(is_flag) {
        escapes |= flag.contains('e');
        newline &= !flag.contains('n');
        rest = rest.get(1..).unwrap_or_default();
    }
    let text = mark::deactivate(&rest.join(" "));
    let mut text = if escapes { text::unescape(&text, Escapes::Echo) } else { text };
    if newline {
        text.push('\n');
    }
    text
}

fn temp_name(args: &[String]) -> String {
    let opts = Spec::new("p", "tmpdir suffix").read(args);
    let dir = opts.value("p tmpdir").unwrap_or("/tmp");
    match opts.operands.first() {
        Some(template) if !opts.has("t p tmpdir") => {
            template.trim_end_matches('X').to_owned() + &RUN.to_string() + "\n"
        }
        _ => format!("{dir}/tmp.{RUN}\n"),
    }
}

fn sequence(args: &[String]) -> String {
    let numbers: Vec<i64> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    let (from, to) = match numbers.as_slice() {
        [to] => (1, *to),
        [from, to] => (*from, *to),
        _ => return RUN.to_string(),
    };
    if to.saturating_sub(from) > 32 {
        return format!("{from}\n{RUN}\n{to}\n");
    }
    (from..=to).map(|n| n.to_string() + "\n").collect()
}

/// Programs whose output is meant for `eval`.
fn trusted_code(call: &Call<'_>) -> Option<String> {
    let first = call.args.first().map_or("", String::as_str);
    let trusted = match call.name {
        "ssh-agent"
        | "dircolors"
        | "lesspipe"
        | "register-python-argcomplete"
        | "keychain"
        | "gpg-agent"
        | "resize"
        | "tset" => true,
        "brew" | "conda" | "mamba" | "micromamba" => first.starts_with("shell"),
        "pyenv" | "rbenv" | "nodenv" | "jenv" | "starship" | "zoxide" | "goenv" | "phpenv" | "plenv"
        | "anyenv" | "oh-my-posh" | "navi" => first.starts_with("init") || first.starts_with("virtualenv"),
        "direnv" | "mcfly" | "atuin" => matches!(first, "hook" | "export" | "init"),
        "fnm" | "opam" | "docker-machine" | "luarocks" => matches!(first, "env" | "config" | "path"),
        "minikube" => matches!(first, "docker-env" | "podman-env" | "completion"),
        "mise" | "rtx" => matches!(first, "activate" | "hook-env" | "env"),
        "thefuck" => first == "--alias",
        _ => call.args.iter().any(|arg| {
            matches!(arg.as_str(), "completion" | "completions" | "--completion" | "generate-completion")
        }),
    };
    trusted.then(|| TRUSTED.to_string())
}
