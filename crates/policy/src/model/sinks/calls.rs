//! One call of a known function, with its arguments: what it does.

use super::super::lang::Language;
use super::names::{AMBIGUOUS, DELETE_CALLS, EVALS, FILE_OWNERS, SHELL_CALLS};
use super::{Scan, Sink};

impl Scan<'_> {
    pub(super) fn call(&mut self, last: &str, owner: &str, args: &[String]) {
        let first = args.first().cloned().unwrap_or_default();
        let owned = AMBIGUOUS
            .iter()
            .find(|(name, _)| *name == last)
            .is_none_or(|(_, owners)| owners.contains(&owner) || (owner.is_empty() && self.mentions(owners)));
        if self.language != Language::Python && last == "open" && self.piped_open(args) {
            return;
        }
        let python_exec = self.language == Language::Python && last == "exec" && owner.is_empty();
        let awk_only = self.language != Language::Awk || last == "system";
        let evals = EVALS.contains(&last);
        if evals
            && (python_exec || last != "exec")
            && !first.trim().is_empty()
            && !crate::mark::has_hole(&first)
        {
            self.found.push(Sink::Code(first));
            return;
        }
        if SHELL_CALLS.contains(&last) && owned && !python_exec && awk_only {
            let plain: Vec<String> = args.iter().filter(|arg| !arg.is_empty()).cloned().collect();
            let is_exec = last.starts_with("execl")
                || last.starts_with("execv")
                || last.starts_with("spawnl")
                || last.starts_with("spawnv");
            // `execvp(file, [name, …])` names the program twice.
            let argv = if is_exec { plain.get(1..).unwrap_or_default().to_vec() } else { plain.clone() };
            if argv.len() > 1 && !first.contains(' ') {
                self.found.push(Sink::Argv(argv));
            } else if !first.is_empty() {
                self.found.push(Sink::Shell(first));
            }
            return;
        }
        if let Some((_, recursive)) = DELETE_CALLS.iter().find(|(name, _)| *name == last) {
            self.deletes_unknown |= crate::mark::has_hole(&first);
            let ambiguous = matches!(last, "rm" | "remove" | "delete" | "del" | "rmdir" | "unlink");
            if (!ambiguous || FILE_OWNERS.contains(&owner)) && !first.is_empty() {
                self.found.push(Sink::Delete { path: first, recursive: *recursive });
            }
            return;
        }
        self.file_call(last, owner, args, &first);
    }

    /// `open(F, "|command")`, `open(F, "-|", "command")`, `open("|command")`.
    fn piped_open(&mut self, args: &[String]) -> bool {
        for (at, arg) in args.iter().enumerate().take(2) {
            let code = match arg.trim() {
                "-|" | "|-" => args.get(at + 1..).unwrap_or_default().join(" "),
                text => match (text.strip_prefix('|'), text.strip_suffix('|')) {
                    (Some(code), _) | (_, Some(code)) => code.trim().to_owned(),
                    _ => continue,
                },
            };
            self.found.push(Sink::Shell(code));
            return true;
        }
        false
    }

    fn file_call(&mut self, last: &str, owner: &str, args: &[String], first: &str) {
        match last {
            "open" | "fopen" | "Path" | "openSync" | "sysopen" => {
                let mode = args.get(1).map_or("", String::as_str);
                let (mode, path) = match first.strip_prefix('>') {
                    Some(rest) => ("w", rest.trim_start_matches('>').trim()),
                    None if mode.starts_with('>') => {
                        ("w", args.get(2).map_or(mode.trim_start_matches('>').trim(), String::as_str))
                    }
                    None => (mode, first.trim_start_matches('<')),
                };
                let writes = mode.starts_with(['w', 'a', 'x']) || mode.contains('+');
                if path.is_empty() {
                    return;
                }
                self.found.push(if writes {
                    Sink::Write(path.to_owned())
                } else {
                    Sink::Read(path.to_owned())
                });
            }
            "writeFileSync" | "writeFile" | "appendFileSync" | "appendFile" | "createWriteStream"
            | "file_put_contents" | "write_file" | "truncate" | "truncateSync" => {
                self.found.push(Sink::Write(first.to_owned()));
            }
            "write_text" | "write_bytes" => self.found.push(Sink::Write(first.to_owned())),
            "read_text" | "read_bytes" => self.found.push(Sink::Read(first.to_owned())),
            "write" | "binwrite" if owner == "File" || owner == "IO" => {
                self.found.push(Sink::Write(first.to_owned()));
            }
            "readFileSync" | "readFile" | "file_get_contents" | "readlines" | "read" | "slurp"
                if !first.is_empty() =>
            {
                self.found.push(Sink::Read(first.to_owned()));
            }
            "move" | "rename" | "renameSync" | "mv" | "replace" | "renames" | "rename_file" => {
                let owned = FILE_OWNERS.contains(&owner) && (last != "replace" || owner == "os");
                if let ([from, to, ..], true) = (args, owned) {
                    let argv = ["mv", from.as_str(), to.as_str()];
                    self.found.push(Sink::Argv(argv.iter().map(|word| (*word).to_owned()).collect()));
                }
            }
            "copyfile" | "copy" | "copy2" | "copyFileSync" | "cp" => {
                if let [from, to, ..] = args {
                    self.found.push(Sink::Read(from.clone()));
                    self.found.push(Sink::Write(to.clone()));
                }
            }
            "chmod" | "chmodSync" => {
                let (path, mode) = if first.starts_with(|c: char| c.is_ascii_digit()) {
                    (args.get(1).cloned().unwrap_or_default(), first.to_owned())
                } else {
                    (first.to_owned(), String::new())
                };
                self.found.push(Sink::Chmod(path, mode.is_empty() || mode.ends_with('7')));
            }
            "kill" if args.iter().any(|arg| arg == "-1") => self.found.push(Sink::KillAll),
            _ => {}
        }
    }
}
