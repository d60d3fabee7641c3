//! Options that carry a command, as data; and programs that write an image to a device or unpack into a directory.

use super::effect::{Effect, How};
use super::{Call, Spec};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::RUN;

/// Programs, their letters with a value, their long options with a value, and which of these are lines of shell.
#[rustfmt::skip]
const COMMANDS: &[(&str, &str, &str, &str)] = &[
    ("cpio", "DEFHIMOR", "rsh-command directory file format", "rsh-command"),
    ("fzf sk", "qm", "preview bind query", "preview"),
    ("bat batcat delta", "", "pager theme language", "pager"),
    ("tcpdump", "zwrcGCi", "", "z"),
    ("borg", "", "rsh remote-path", "rsh"),
    ("restic", "rpo", "password-command repo option", "password-command"),
    ("rclone", "", "password-command config", "password-command"),
    ("msmtp mbsync", "", "passwordeval", "passwordeval"),
    ("start-stop-daemon", "xnpuagrk", "exec startas name pidfile user", "x exec startas"),
    ("sort", "kotTS", "compress-program key output", "compress-program"),
    ("scp sftp", "cFiJloPSDX", "", "S D"),
    ("lftp", "ecup", "", ""),
    ("logrotate", "", "mail state", "m mail"),
    ("pandoc", "Fot", "filter output to from lua-filter", "F filter"),
];
/// Programs that write a disk: their options with a target; `.` is the last operand.
const IMAGES: &[(&str, &str)] = &[
    ("qemu-img", "."),
    ("bmaptool", "."),
    ("partclone", "o O output overwrite"),
    ("partimage", "."),
    ("ntfsclone", "O overwrite"),
    ("fsarchiver", "."),
    ("xorriso", "outdev"),
    ("usbimager", "."),
];

impl Checker<'_> {
    /// Runs what the options of a program carry; it goes on to the program's own model.
    pub(super) fn option_commands(&mut self, env: &mut Env, call: &Call<'_>) -> Option<String> {
        let row = COMMANDS.iter().find(|(names, ..)| names.split(' ').any(|name| name == call.name));
        if let Some((_, short, long, codes)) = row {
            let opts = Spec::new(short, long).read(call.args);
            for code in opts.values(codes).filter(|_| !codes.is_empty()) {
                self.run_code(env, code);
            }
        }
        let stem = call.name.split('.').next().unwrap_or_default();
        if let Some((_, targets)) = IMAGES.iter().find(|(name, _)| *name == stem) {
            let opts = Spec::new("oOsfFu", "output overwrite source outdev").read(call.args);
            let last = opts.operands.last().filter(|_| *targets == "." && opts.operands.len() > 2);
            let target = opts.value(targets).map(str::to_owned).or_else(|| last.cloned());
            if let Some(path) = target {
                self.effect(env, Effect::Write { path, content: None, how: How::Replace });
            }
        }
        let directory = match call.name {
            "cpio" if call.args.iter().any(|arg| arg.starts_with("-i") || arg == "--extract") => {
                Spec::new("DEFHIMOR", "directory").read(call.args).value("D directory").map(str::to_owned)
            }
            "7z" | "7za" | "7zz" | "7zr" => {
                let extracts = call.args.first().is_some_and(|verb| matches!(verb.as_str(), "x" | "e"));
                let directory = call.args.iter().find_map(|arg| arg.strip_prefix("-o"));
                directory.filter(|_| extracts).map(str::to_owned)
            }
            _ => None,
        };
        if let Some(dir) = directory {
            let how = if dir == "/" { How::Replace } else { How::Create };
            self.effect(env, Effect::Write { path: format!("{dir}/{RUN}"), content: None, how });
        }
        None
    }
}
