//! Programs that talk to the network: what they bring, and what they take with them.

use super::effect::{Effect, How};
use super::{Call, Spec};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::{self, NET, RUN, SECRET};

/// What one thing that is sent costs to judge, beside the effect itself.
const SENT_UNITS: u32 = 20;

const CURL: Spec = Spec::new(
    "AbcCdDeEFhHKmoPQrtTuUwxXyYz",
    "user-agent cookie cookie-jar data data-raw data-binary data-urlencode data-ascii dump-header referer cert form form-string header config max-time output request upload-file user proxy-user write-out proxy url connect-timeout cacert key resolve retry retry-delay retry-max-time json interface limit-rate output-dir cert-type pass unix-socket ciphers max-filesize range trace trace-ascii stderr oauth2-bearer aws-sigv4 variable",
);
const WGET: Spec = Spec::new(
    "oaeitOTwQPUlADIXRBY",
    "output-file append-output execute input-file tries output-document timeout wait quota directory-prefix user-agent level accept reject header post-data post-file body-data body-file method user password referer http-user http-password use-askpass limit-rate domains include-directories exclude-directories base cut-dirs load-cookies save-cookies ca-certificate",
);

impl Checker<'_> {
    pub(super) fn network(&mut self, env: &mut Env, call: &Call<'_>) -> Option<String> {
        let out = match call.name {
            "curl" | "curlie" | "xh" | "http" | "https" => self.curl(env, call),
            "wget" | "wget2" | "aria2c" | "axel" => self.wget(env, call),
            "lynx" | "w3m" | "links" | "elinks" => NET.to_string(),
            // The fetch of BSD.
            "fetch" if call.args.iter().any(|arg| arg.contains("://")) => NET.to_string(),
            "nc" | "ncat" | "netcat" | "nc.traditional" | "nc.openbsd" | "telnet" => self.peer(env, call),
            "socat" => self.socat(env, call),
            "scp" | "sftp" | "rcp" | "ftp" | "lftp" | "tftp" => self.copy_over(env, call),
            "rclone" | "s3cmd" | "gsutil" | "aws" | "gcloud" | "az" | "mc" => self.bucket(env, call)?,
            "gh" | "glab" | "gist" | "croc" | "wormhole" | "ffsend" | "ipfs" | "transfer" | "pastebinit"
            | "termbin" => {
                self.upload(env, call);
                return None;
            }
            "pip" | "pip3" | "npm" | "pnpm" | "yarn" | "npx" | "bunx" | "pnpx" | "uvx" | "pipx" | "gem"
            | "deno" | "bun" => {
                self.packages(call);
                return None;
            }
            "mail" | "mailx" | "sendmail" | "mutt" | "msmtp" | "swaks" => self.mail(env, call),
            "dig" | "nslookup" | "host" | "ping" | "whois" | "drill" => {
                self.send(env, &call.args.join(" "), call.name);
                RUN.to_string()
            }
            _ => return None,
        };
        Some(out)
    }

    fn send(&mut self, env: &Env, data: &str, to: &str) {
        self.effect(env, Effect::Send { data: data.to_owned(), to: to.to_owned() });
    }

    fn curl(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let opts = CURL.read(call.args);
        for name in [
            "d data data-binary data-ascii json",
            "data-urlencode",
            "F form",
            "H header",
            "b cookie",
            "u user",
            "url",
            "variable",
        ] {
            for value in opts.values(name).map(str::to_owned).collect::<Vec<_>>() {
                if !self.spend(SENT_UNITS) {
                    return NET.to_string();
                }
                // `@file`, `name=@file`, `name@file`: the content of a file.
                let file = match value.split_once('@') {
                    Some((before, file)) if before.is_empty() || before.ends_with('=') => Some(file),
                    Some((_, file)) if name == "data-urlencode" => Some(file),
                    _ => value.split_once("=<").map(|(_, file)| file),
                };
                let sent = match file {
                    Some("-") => call.stdin.unwrap_or_default().to_owned(),
                    Some(file) => self.read(env, file.split(';').next().unwrap_or_default()),
                    None => value.clone(),
                };
                // A header with a token is how one logs in; a key of the user's is not a token.
                let login = matches!(name, "H header" | "u user" | "b cookie") && file.is_none();
                if !login || sent.contains(SECRET) {
                    let to =
                        opts.operands.first().or(call.args.last()).map_or("curl", String::as_str).to_owned();
                    self.send(env, &sent, &to);
                }
            }
        }
        if let Some(file) = opts.value("T upload-file").map(str::to_owned) {
            let data = if matches!(file.as_str(), "-" | ".") {
                call.stdin.unwrap_or_default().to_owned()
            } else {
                self.read(env, &file)
            };
            self.send(env, &data, "curl");
        }
        if let Some(file) = opts.value("K config").map(str::to_owned) {
            let text = match file.as_str() {
                "-" => call.stdin.map(str::to_owned),
                file => self.content(env, file),
            };
            self.effect(env, Effect::Read { path: file });
            let args = text.as_deref().map(config_options).unwrap_or_default();
            if !args.is_empty() {
                self.curl(env, &Call { args: &args, stdin: None, ..*call });
            }
        }
        let fetched = self.fetched_urls(env, &opts.operands);
        let files: Vec<String> = opts.values("o output").map(str::to_owned).collect();
        for file in &files {
            self.output_file(env, file, &fetched, How::Replace);
        }
        if opts.has("O remote-name J remote-header-name") {
            self.downloads(env, &opts.operands, "");
            return RUN.to_string();
        }
        if files.iter().any(|file| file != "/dev/null" && file != "-") { RUN.to_string() } else { fetched }
    }

    /// What comes back: of the network, or of this machine's own files.
    fn fetched_urls(&mut self, env: &mut Env, urls: &[String]) -> String {
        let mut fetched = String::new();
        for url in urls {
            if let Some(path) = url.strip_prefix("file://") {
                fetched.push_str(&self.read(env, path));
            } else {
                self.send(env, url, url);
                fetched.push(NET);
            }
        }
        if fetched.is_empty() { NET.to_string() } else { fetched }
    }

    /// Files that are named after their addresses.
    fn downloads(&mut self, env: &mut Env, urls: &[String], dir: &str) {
        for url in urls {
            let path = url.split(['?', '#']).next().unwrap_or_default();
            let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or("index.html");
            let file = if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") };
            self.output_file(env, &file, &NET.to_string(), How::Replace);
        }
    }

    fn wget(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let saves = matches!(call.name, "aria2c" | "axel");
        let opts = if saves {
            Spec::new("odxsjkni", "out output dir split").read(call.args)
        } else {
            WGET.read(call.args)
        };
        for value in opts.values("post-data body-data").map(str::to_owned).collect::<Vec<_>>() {
            self.send(env, &value, "wget");
        }
        for file in opts.values("post-file body-file").map(str::to_owned).collect::<Vec<_>>() {
            let data =
                if file == "-" { call.stdin.unwrap_or_default().to_owned() } else { self.read(env, &file) };
            self.send(env, &data, "wget");
        }
        self.fetched_urls(env, &opts.operands);
        if let Some(name) = opts.value("o out output").filter(|_| saves) {
            let dir = opts.value("d dir").map_or(String::new(), |dir| format!("{dir}/"));
            self.output_file(env, &format!("{dir}{name}"), &NET.to_string(), How::Replace);
            return RUN.to_string();
        }
        let Some(file) = opts.value("O output-document").map(str::to_owned) else {
            let dir = opts.value("P directory-prefix d dir").unwrap_or_default().to_owned();
            self.downloads(env, &opts.operands, &dir);
            return RUN.to_string();
        };
        if matches!(file.as_str(), "-" | "/dev/stdout") {
            return NET.to_string();
        }
        self.output_file(env, &file, &NET.to_string(), How::Replace);
        RUN.to_string()
    }

    /// A raw connection: what goes in is sent, what comes out is from there.
    pub(super) fn peer(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let opts =
            Spec::new("ecgiIkmMOpPqsTVwWxX", "exec sh-exec lua-exec source port proxy").read(call.args);
        if matches!(call.name, "nc" | "ncat" | "netcat" | "nc.traditional") {
            for code in opts.values("e c exec sh-exec lua-exec").map(str::to_owned).collect::<Vec<_>>() {
                self.served(env, &code);
            }
        }
        if let Some(data) = call.stdin {
            self.send(env, data, &opts.operands.join(" "));
        }
        NET.to_string()
    }

    /// A program that a connection is given to.
    fn served(&mut self, env: &Env, code: &str) {
        let program = code.split_whitespace().next().unwrap_or_default();
        let name = program.rsplit('/').next().unwrap_or_default();
        if super::shell::SHELLS.contains(&name)
            || mark::has_hole(name)
            || matches!(name, "cmd.exe" | "powershell.exe")
        {
            return self.report("net.shell", code);
        }
        let mut inner = env.clone();
        self.deeper(|checker| checker.shell_code(&mut inner, code, None));
    }

    fn socat(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let words: Vec<String> = call.args.iter().map(|arg| arg.to_lowercase()).collect();
        let runs = words.iter().any(|word| {
            word.starts_with("exec:") || word.starts_with("system:") || word.starts_with("shell:")
        });
        let connects = words.iter().any(|word| {
            ["tcp", "udp", "openssl", "ssl", "sctp", "vsock", "socks"].iter().any(|net| word.starts_with(net))
        });
        if runs && connects {
            self.report("net.shell", "");
        }
        for arg in call.args {
            let Some((kind, target)) = arg.split_once(':') else { continue };
            let target = target.split(',').next().unwrap_or_default();
            match kind.to_lowercase().as_str() {
                "exec" | "system" | "shell" => {
                    let mut inner = env.clone();
                    self.deeper(|checker| checker.shell_code(&mut inner, target, None));
                }
                "file" | "open" | "create" | "gopen" if connects => {
                    let text = self.read(env, target);
                    self.send(env, &text, "socat");
                }
                _ => {}
            }
        }
        self.peer(env, &Call { name: "socat", ..*call })
    }

    fn copy_over(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let opts = Spec::new("cFiJloPSDX", "").read(call.args);
        self.ssh_options(env, &opts);
        let remote = |path: &str| {
            path.contains("://") || path.split('/').next().is_some_and(|host| host.contains(':'))
        };
        if let Some((target, sources)) =
            opts.operands.split_last().filter(|_| matches!(call.name, "scp" | "rcp"))
        {
            for source in sources.iter().filter(|source| !remote(source)) {
                let text = self.read(env, source);
                if remote(target) {
                    self.send(env, &text, target);
                }
            }
            for source in sources.iter().filter(|source| remote(source) && !remote(target)) {
                let name = source.rsplit(['/', ':']).next().unwrap_or_default();
                let inside = target.ends_with('/') || matches!(target.as_str(), "." | ".." | "/tmp" | "~");
                let path = if inside { format!("{target}/{name}") } else { target.clone() };
                self.output_file(env, &path, &NET.to_string(), How::Replace);
            }
            return String::new();
        }
        if let Some(data) = call.stdin {
            self.send(env, data, call.name);
            let words: Vec<String> = data.split_whitespace().map(str::to_owned).collect();
            self.sent_words(env, &Call { args: &words, ..*call });
        }
        self.sent_words(env, call);
        String::new()
    }

    /// Words of a command line that name secret files and are sent somewhere.
    fn sent_words(&mut self, env: &Env, call: &Call<'_>) {
        for word in call.args.iter().flat_map(|arg| arg.split_whitespace()) {
            let word = word.trim_start_matches('@');
            let secret = self.absolute(env, word).iter().any(|full| crate::paths::is_secret(full, self.ctx));
            if secret {
                self.send(env, &SECRET.to_string(), call.name);
            }
        }
    }

    fn bucket(&mut self, env: &mut Env, call: &Call<'_>) -> Option<String> {
        let copies = ["cp", "mv", "sync", "put", "copy", "rsync", "mirror"];
        if call.args.iter().take(3).any(|arg| copies.contains(&arg.as_str())) {
            self.sent_words(env, call);
            if let Some(data) = call.stdin.filter(|data| data.contains(SECRET)) {
                self.send(env, data, call.name);
            }
        }
        None
    }

    /// Programs that put a file where others can read it.
    fn upload(&mut self, env: &mut Env, call: &Call<'_>) {
        let verbs = ["gist", "release", "snippet", "send", "add", "upload"];
        let uploads = !matches!(call.name, "gh" | "glab" | "ipfs")
            || call.args.iter().take(2).any(|word| verbs.contains(&word.as_str()));
        if uploads {
            self.sent_words(env, call);
            if let Some(data) = call.stdin.filter(|data| data.contains(SECRET)) {
                self.send(env, data, call.name);
            }
        }
    }

    /// Packages by address: run at once, or when they are installed.
    fn packages(&mut self, call: &Call<'_>) {
        let address = |word: &&String| {
            word.starts_with("http://") || word.starts_with("https://") || word.starts_with("git+http")
        };
        let Some(url) = call.args.iter().find(address) else { return };
        let verb = call.args.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
        let runs = matches!(call.name, "npx" | "bunx" | "pnpx" | "uvx")
            || (matches!(call.name, "deno" | "bun" | "pipx")
                && matches!(verb, "run" | "x" | "serve" | "test"))
            || verb == "dlx";
        let archive = [".tgz", ".tar.gz", ".zip", ".whl", ".tar"].iter().any(|end| url.ends_with(end));
        if runs {
            self.report("exec.remote", url);
        } else if matches!(verb, "install" | "i" | "add") && archive && !url.starts_with("git+") {
            self.report("exec.opaque", url);
        }
    }

    fn mail(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        if let Some(data) = call.stdin {
            self.send(env, data, call.name);
        }
        self.sent_words(env, call);
        String::new()
    }
}

/// The options that a configuration of curl stands for.
fn config_options(text: &str) -> Vec<String> {
    let mut args = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, value) = line.split_once(['=', ' ', ':']).unwrap_or((line, ""));
        let name = name.trim().trim_start_matches('-');
        args.push(if name.len() == 1 { format!("-{name}") } else { format!("--{name}") });
        let value = value.trim_start_matches(['=', ' ', ':']).trim().trim_matches('"');
        if !value.is_empty() {
            args.push(value.to_owned());
        }
    }
    args
}
