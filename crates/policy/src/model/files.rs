//! Programs that delete, write and change files.

use super::effect::{Effect, Grant, How};
use super::{Call, Spec, opts::Opts};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::{self, RUN};

impl Checker<'_> {
    pub(super) fn file_program(&mut self, env: &mut Env, call: &Call<'_>) -> Option<String> {
        match call.name {
            "rm" | "grm" | "unlink" | "rmdir" | "srm" | "trash" | "trash-put" | "rimraf" | "del" => {
                self.remove(env, call);
            }
            "shred" | "wipe" | "truncate" => self.overwrite(env, call),
            "mv" | "gmv" | "rename" => self.move_files(env, call),
            "cp" | "gcp" | "install" | "ln" | "gln" | "ditto" => self.copy_files(env, call),
            "touch" | "mkdir" | "mkfifo" | "mknod" => {
                for path in Spec::new("mtdrZ", "mode date reference time").read(call.args).operands {
                    self.effect(env, Effect::Write { path, content: None, how: How::Create });
                }
            }
            "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" | "setcap" => self.change_mode(env, call),
            "dd" | "dcfldd" | "ddrescue" => return Some(self.dd(env, call)),
            "tar" | "bsdtar" | "gtar" => return Some(self.tar(env, call)),
            "zip" | "7z" | "7za" | "rar" => return Some(self.zip(env, call)),
            "unzip" | "unrar" => self.unzip(env, call),
            "rsync" => return Some(self.rsync(env, call)),
            "split" => {}
            _ => return None,
        }
        Some(String::new())
    }

    fn remove(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("", "interactive preserve-root").read(call.args);
        let recursive = opts.has("r R recursive") || matches!(call.name, "rimraf");
        let gentle = matches!(call.name, "trash" | "trash-put" | "rmdir");
        for path in opts.operands {
            if gentle {
                // These fail, or keep, what is not empty.
                let zone = self
                    .absolute(env, &path)
                    .iter()
                    .map(|full| crate::paths::place(full, self.ctx).zone)
                    .max();
                if zone.is_some_and(|zone| zone >= crate::paths::Zone::Home) {
                    self.effect(env, Effect::Delete { path, recursive: false, filtered: true });
                }
                continue;
            }
            self.effect(env, Effect::Delete { path, recursive, filtered: false });
        }
    }

    fn overwrite(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("nsro", "iterations size random-source reference").read(call.args);
        for path in opts.operands {
            let shreds = call.name != "truncate";
            if shreds || mark::has_glob(&path) {
                self.effect(
                    env,
                    Effect::Delete { path: path.clone(), recursive: opts_recursive(call), filtered: false },
                );
            }
            self.effect(env, Effect::Write { path, content: None, how: How::Replace });
        }
    }

    fn move_files(&mut self, env: &mut Env, call: &Call<'_>) {
        if call.name == "rename" {
            return;
        }
        let opts = Spec::new("tS", "target-directory suffix").read(call.args);
        let (sources, target) = sources_and_target(&opts);
        for path in sources {
            for full in self.absolute(env, &path) {
                let zone = crate::paths::place(&full, self.ctx).zone;
                // What is moved is not lost, unless the system or a home needs it where it is.
                let deep = full.split('/').count() > 3 && zone == crate::paths::Zone::System;
                if deep {
                    // A new name beside the old one can be undone.
                    let parent = |path: &str| path.rsplit_once('/').map(|(dir, _)| dir.to_owned());
                    let news = target.as_deref().map(|target| self.absolute(env, target)).unwrap_or_default();
                    let filtered = news.iter().any(|new| parent(new) == parent(&full));
                    self.effect(env, Effect::Delete { path: full.clone(), recursive: false, filtered });
                } else if zone > crate::paths::Zone::Workspace || target.as_deref() == Some("/dev/null") {
                    self.effect(env, Effect::Delete { path: full.clone(), recursive: true, filtered: false });
                } else if matches!(zone, crate::paths::Zone::HomeInner | crate::paths::Zone::Outside) {
                    self.effect(env, Effect::Delete { path: full.clone(), recursive: false, filtered: true });
                }
            }
            if let Some(target) = &target {
                self.copied_to(env, &path, target, &opts);
            }
        }
    }

    fn copy_files(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("tSmogZ", "target-directory suffix mode owner group context").read(call.args);
        if call.name == "install" {
            if opts.has("d directory") {
                for path in opts.operands {
                    self.effect(env, Effect::Write { path, content: None, how: How::Create });
                }
                return;
            }
            self.set_id(env, opts.value("m mode").unwrap_or_default(), &opts.operands, false);
        }
        let links = matches!(call.name, "ln" | "gln");
        let (sources, target) = sources_and_target(&opts);
        for path in sources {
            if !links {
                self.effect(env, Effect::Read { path: path.clone() });
            }
            if let Some(target) = &target {
                self.copied_to(env, &path, target, &opts);
            }
        }
    }

    /// One file goes to `target`, or into it.
    fn copied_to(&mut self, env: &mut Env, source: &str, target: &str, opts: &Opts) {
        let known = self.absolute(env, source).iter().find_map(|full| env.files.get(full).cloned());
        let many = opts.operands.len() > 2 || target.ends_with('/') || opts.has("t target-directory");
        let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let path =
            if many || matches!(target, "." | "..") { format!("{target}/{name}") } else { target.to_owned() };
        // A directory that is named without its slash cannot be told from a file, except where it is known.
        let path = if is_directory(&path, env, self) { format!("{path}/{name}") } else { path };
        // Which file it becomes is not known: it is added to a directory.
        let how = if mark::has_hole(source) || mark::has_glob(source) { How::Create } else { How::Copy };
        match known {
            Some(content) => self.output_file(env, &path, &content, How::Copy),
            None => self.effect(env, Effect::Write { path, content: None, how }),
        }
    }

    fn change_mode(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = match call.name {
            "setfacl" => Spec::new("mxMX", "modify remove set restore").read(call.args),
            "chattr" => Spec::new("vp", "")
                .read(&call.args.iter().filter(|arg| !arg.starts_with('+')).cloned().collect::<Vec<_>>()),
            // A mode such as `-x` is not an option.
            _ => Spec::new("", "reference from").read(call.args),
        };
        let recursive = opts.has("R recursive");
        let symbolic = call.name == "chmod" && call.args.iter().any(|arg| is_minus_mode(arg));
        let skip = match call.name {
            "chmod" | "chown" | "chgrp" | "setcap" => usize::from(!opts.has("reference") && !symbolic),
            _ => 0,
        };
        let mode = if skip == 1 { opts.operands.first().cloned().unwrap_or_default() } else { String::new() };
        let paths = opts.operands.get(skip..).unwrap_or_default();
        if call.name == "setcap" {
            self.report("fs.perms.open", "capabilities");
        }
        if call.name == "chmod" {
            self.set_id(env, &mode, paths, recursive);
        }
        for path in paths {
            let grant = match call.name {
                "chmod" => grant_of(&mode),
                "chown" if !mode.starts_with("root") && !mode.starts_with('0') => Grant::Owner,
                _ => Grant::Plain,
            };
            let whole = recursive || call.name == "chattr";
            if grant != Grant::SetId {
                self.effect(env, Effect::Change { path: path.clone(), recursive: whole, grant });
            }
        }
    }

    fn set_id(&mut self, env: &Env, mode: &str, paths: &[String], recursive: bool) {
        if grant_of(mode) == Grant::SetId {
            for path in paths {
                self.effect(env, Effect::Change { path: path.clone(), recursive, grant: Grant::SetId });
            }
        }
    }

    pub(super) fn dd(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let value = |name: &str| call.args.iter().filter_map(|arg| arg.strip_prefix(name)).next_back();
        let input = match value("if=") {
            Some(path) => self.read(env, path),
            None if call.name == "ddrescue" => RUN.to_string(),
            None => call.stdin.unwrap_or_default().to_owned(),
        };
        if call.name == "ddrescue"
            && let Some(path) = call.args.get(1)
        {
            self.output_file(env, path, &input, How::Replace);
        }
        let Some(path) = value("of=") else { return input };
        self.output_file(env, path, &input, How::Replace);
        String::new()
    }

    fn tar(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let mut args = call.args.to_vec();
        // The first word may be options without a dash.
        if let Some(first) = args.first_mut().filter(|word| !word.starts_with('-')) {
            first.insert(0, '-');
        }
        let spec = Spec::new(
            "fCTXIbFgHKLNV",
            "file directory files-from exclude exclude-from use-compress-program checkpoint-action to-command rsh-command info-script new-volume-script transform rmt-command warning owner group mode format",
        );
        let opts = spec.read(&args);
        let actions = opts.values("checkpoint-action").filter_map(|action| action.strip_prefix("exec="));
        let programs = opts.values(
            "to-command I use-compress-program rsh-command info-script new-volume-script F rmt-command",
        );
        for code in actions.chain(programs).map(str::to_owned).collect::<Vec<_>>() {
            let mut inner = env.clone();
            self.deeper(|checker| checker.shell_code(&mut inner, &code, None));
        }
        let directory = opts.value("C directory").map(str::to_owned);
        if opts.has("x extract get") {
            if let Some(path) = directory.or_else(|| opts.has("P absolute-names").then(|| "/".to_owned())) {
                let how = if path == "/" { How::Replace } else { How::Create };
                self.effect(env, Effect::Write { path: format!("{path}/{RUN}"), content: None, how });
            }
            return call.derived();
        }
        if !opts.has("c create r append u update") {
            return call.derived();
        }
        let base = directory.map_or(env.cwd.clone(), |dir| self.absolute(env, &dir));
        let mut out = RUN.to_string();
        for path in &opts.operands {
            let full = crate::paths::absolute(path, base.first().map_or("", String::as_str));
            let text = self.read(env, &full);
            out.push_str(&mark::taint(&text));
            if opts.has("remove-files") {
                self.effect(env, Effect::Delete { path: full, recursive: true, filtered: false });
            }
        }
        match opts.value("f file") {
            Some(file) if file != "-" => {
                let file = file.to_owned();
                self.output_file(env, &file, &out, How::Replace);
                String::new()
            }
            _ => out,
        }
    }

    fn zip(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        // `-TT COMMAND` is how zip tests what it made.
        let args: Vec<String> = call
            .args
            .iter()
            .map(|arg| if arg == "-TT" { "--unzip-command".to_owned() } else { arg.clone() })
            .collect();
        let opts = Spec::new("xibtnP", "exclude include unzip-command").read(&args);
        let skip = usize::from(call.name != "zip");
        let mut content = RUN.to_string();
        for path in opts.operands.iter().skip(1 + skip) {
            let text = self.read(env, path);
            content.push_str(&mark::taint(&text));
        }
        for code in opts.values("TT unzip-command").map(str::to_owned).collect::<Vec<_>>() {
            let mut inner = env.clone();
            self.deeper(|checker| checker.shell_code(&mut inner, &code, None));
        }
        if opts.operands.get(skip).is_some_and(|path| path == "-") {
            return content;
        }
        if let Some(path) = opts.operands.get(skip) {
            self.output_file(env, &path.clone(), &content, How::Replace);
        }
        String::new()
    }

    fn unzip(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("dxP", "").read(call.args);
        if let Some(dir) = opts.value("d") {
            self.effect(env, Effect::Write { path: format!("{dir}/{RUN}"), content: None, how: How::Create });
        }
    }

    fn rsync(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let spec = Spec::new(
            "efBTM",
            "rsh exclude include filter exclude-from include-from files-from rsync-path bwlimit timeout log-file backup-dir suffix temp-dir chmod chown compare-dest link-dest password-file out-format info",
        );
        let opts = spec.read(call.args);
        for code in opts.values("e rsh rsync-path").map(str::to_owned).collect::<Vec<_>>() {
            let mut inner = env.clone();
            self.deeper(|checker| checker.shell_code(&mut inner, &code, None));
        }
        let dry = opts.has("n dry-run");
        let Some((target, sources)) = opts.operands.split_last() else { return String::new() };
        let remote =
            |path: &str| path.contains("::") || path.split('/').next().is_some_and(|host| host.contains(':'));
        for source in sources.iter().filter(|source| !remote(source)) {
            let text = self.read(env, source);
            if remote(target) {
                // A mirror of a directory is what it is for; only secrets matter.
                let data = text.replace(mark::SYSTEM, "");
                self.effect(env, Effect::Send { data, to: target.clone() });
            }
            if opts.has("remove-source-files") {
                self.effect(env, Effect::Delete { path: source.clone(), recursive: true, filtered: false });
            }
        }
        if dry {
            return RUN.to_string();
        }
        let deletes = opts.has("delete delete-before delete-during delete-after delete-excluded del");
        if remote(target) {
            if deletes {
                self.report("fs.delete.remote", target);
            }
        } else if deletes {
            // What is in the target and not in the source goes, except in the workspace, where it is a copy that is wanted.
            self.effect(env, Effect::Delete { path: target.clone(), recursive: true, filtered: false });
        } else {
            // It adds to what is there.
            self.effect(
                env,
                Effect::Write { path: format!("{target}/{RUN}"), content: None, how: How::Create },
            );
        }
        RUN.to_string()
    }
}

fn opts_recursive(call: &Call<'_>) -> bool {
    matches!(call.name, "wipe") && call.args.iter().any(|arg| arg.contains('r'))
}

fn is_directory(path: &str, env: &Env, checker: &Checker<'_>) -> bool {
    checker.absolute(env, path).iter().any(|full| {
        let name = full.trim_end_matches('/');
        [
            "/etc",
            "/usr/bin",
            "/usr/local/bin",
            "/bin",
            "/sbin",
            "/usr/sbin",
            "/etc/cron.d",
            "/etc/systemd/system",
            "/lib",
            "/usr/lib",
            "/boot",
            "/tmp",
            "/etc/profile.d",
            "/etc/sudoers.d",
            "/etc/init.d",
            "/etc/cron.daily",
            "/var/tmp",
            "/usr/share",
        ]
        .contains(&name)
            || name == checker.ctx.home
            || name == checker.ctx.workspace
            || name.ends_with("/.ssh")
    })
}

fn sources_and_target(opts: &Opts) -> (Vec<String>, Option<String>) {
    if let Some(target) = opts.value("t target-directory") {
        return (opts.operands.clone(), Some(target.to_owned()));
    }
    match opts.operands.split_last() {
        Some((target, sources)) if !sources.is_empty() => (sources.to_vec(), Some(target.clone())),
        _ => (opts.operands.clone(), None),
    }
}

/// Whether a word that looks like an option is a symbolic mode.
fn is_minus_mode(arg: &str) -> bool {
    arg.strip_prefix('-').is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| "rwxXst".contains(c)))
}

fn grant_of(mode: &str) -> Grant {
    let octal = u32::from_str_radix(mode, 8).ok();
    if let Some(bits) = octal {
        return match bits {
            bits if bits & 0o6000 != 0 => Grant::SetId,
            bits if bits & 0o002 != 0 => Grant::World,
            // Nobody may enter any more.
            0 => Grant::World,
            _ => Grant::Plain,
        };
    }
    let clauses = || mode.split(',').filter_map(|clause| clause.split_once(['+', '=']));
    if clauses().any(|(who, bits)| bits.contains('s') && !who.contains('o')) {
        Grant::SetId
    } else if clauses().any(|(who, bits)| (who.contains(['o', 'a']) || who.is_empty()) && bits.contains('w'))
        || mode.starts_with('-')
        || mode.contains("-rwx")
    {
        Grant::World
    } else {
        Grant::Plain
    }
}
