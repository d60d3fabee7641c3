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
        let known = self.content(env, source);
        let many = opts.operands.len() > 2 || target.ends_with('/') || opts.has("t target-directory");
        let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let path =
            if many || matches!(target, "." | "..") { format!("{target}/{name}") } else { target.to_owned() };
        // A directory that is named without its slash cannot be told from a file, except where it is known.
        let path = if is_directory(&path, env, self) { format!("{path}/{name}") } else { path };
        // Which file it becomes is not known: it is added to a directory.
        let how = if mark::has_hole(source) || mark::has_glob(source) { How::Create } else { How::Copy };
        let content = known.or_else(|| {
            let full = self.absolute(env, source).into_iter().next()?;
            if let Some(name) = program_name(&full) {
                return Some(format!("{}{name}", mark::PROGRAM));
            }
            let secret = crate::paths::is_secret(&full, self.ctx);
            let own = crate::paths::is_dotenv(&full, self.ctx);
            secret.then(|| if own { mark::DOTENV } else { mark::SECRET }.to_string())
        });
        match content {
            Some(content) => self.output_file(env, &path, &content, how),
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
}

/// The program that a path of the system names.
fn program_name(path: &str) -> Option<&str> {
    let (dir, name) = path.rsplit_once('/')?;
    let programs = dir.ends_with("/bin") || dir.ends_with("/sbin");
    (programs && !dir.starts_with("/home") && !mark::has_hole(name) && !mark::has_glob(name)).then_some(name)
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
