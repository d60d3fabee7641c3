//! Archivers and rsync: what they read, write, delete, and run.

use super::effect::{Effect, How, is_vital_file};
use super::{Call, Spec};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::{self, RUN};

impl Checker<'_> {
    pub(super) fn tar(&mut self, env: &mut Env, call: &Call<'_>) -> String {
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

    pub(super) fn zip(&mut self, env: &mut Env, call: &Call<'_>) -> String {
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

    pub(super) fn unzip(&mut self, env: &mut Env, call: &Call<'_>) {
        let opts = Spec::new("dxP", "").read(call.args);
        if let Some(dir) = opts.value("d") {
            self.effect(env, Effect::Write { path: format!("{dir}/{RUN}"), content: None, how: How::Create });
        }
    }

    pub(super) fn rsync(&mut self, env: &mut Env, call: &Call<'_>) -> String {
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
            // It adds to what is there; a source without a slash at its end goes in under its own name.
            for source in sources {
                let name = source.rsplit('/').next().unwrap_or_default();
                let name = if name.is_empty() { RUN.to_string() } else { name.to_owned() };
                let path = format!("{}/{name}", target.trim_end_matches('/'));
                let how = if is_vital_file(&path) { How::Copy } else { How::Create };
                self.effect(env, Effect::Write { path, content: None, how });
            }
        }
        RUN.to_string()
    }
}
