//! Signals: whom a kill can hit.

use super::{Call, Spec};
use crate::eval::Checker;
use crate::mark;

impl Checker<'_> {
    /// Judges kill and its kin; `None` if the program is another.
    pub(super) fn signals(&mut self, call: &Call<'_>) -> Option<String> {
        match call.name {
            "kill" => self.kill(call.args),
            "pkill" | "killall" | "skill" | "killall5" | "xkill" => {
                let harmless = ["-l", "--list", "-V", "--version", "-0", "--help"];
                let lists = call.args.iter().any(|arg| harmless.contains(&arg.as_str()));
                // `pkill -P $$` names the shell's own children.
                let own = Spec::new("PgstuUGF", "parent pgroup session signal").read(call.args);
                let children = own.value("P parent").is_some_and(mark::is_opaque) && own.operands.is_empty();
                if !lists && !children {
                    self.kill_pattern(call, &own.operands);
                }
            }
            "fuser" if call.args.iter().any(|arg| arg.starts_with('-') && arg.contains('k')) => {
                self.report("proc.kill-pattern", "");
            }
            _ => return None,
        }
        Some(String::new())
    }

    fn kill_pattern(&mut self, call: &Call<'_>, patterns: &[String]) {
        let everyone = |pattern: &String| pattern.chars().all(|c| matches!(c, '.' | '*' | '^' | '+' | '$'));
        if call.name == "killall5" || call.name == "pkill" && patterns.iter().any(everyone) {
            return self.report("proc.kill-all", &call.args.join(" "));
        }
        // A whole command line with its operands names one server, not whatever runs under that interpreter.
        let exact = call.name == "pkill"
            && call
                .args
                .iter()
                .any(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains('f'))
            && !patterns.is_empty()
            && patterns
                .iter()
                .all(|pattern| pattern.split_whitespace().count() > 1 && !mark::has_hole(pattern));
        if !exact {
            self.report("proc.kill-pattern", &call.args.join(" "));
        }
    }

    fn kill(&mut self, args: &[String]) {
        let mut targets: Vec<&str> = Vec::new();
        let (mut i, mut signal_given) = (0, false);
        while let Some(arg) = args.get(i) {
            i += 1;
            match arg.as_str() {
                "-l" | "-L" | "--list" | "--table" | "-0" => return,
                "-s" | "-n" | "--signal" => {
                    signal_given = true;
                    i += 1;
                }
                "--" => {
                    targets.extend(args.get(i..).unwrap_or_default().iter().map(String::as_str));
                    break;
                }
                // The first is a signal, even `-1`; a later one is a process group.
                flag if flag.starts_with('-') && !signal_given && targets.is_empty() => signal_given = true,
                target => targets.push(target),
            }
        }
        for target in targets {
            match target {
                "-1" => self.report("proc.kill-all", ""),
                "1" => self.report("proc.kill-pattern", "process 1"),
                pid if pid.contains([mark::PIDS, mark::PARENT]) => self.report("proc.kill-pattern", pid),
                _ => {}
            }
        }
    }
}
