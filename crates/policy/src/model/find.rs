//! find and fd: where they look, what they take, what they do with it.

use super::effect::{Effect, How};
use super::{Call, Spec};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::{RUN, STAR};

/// Tests that take some files and leave others.
#[rustfmt::skip]
const FILTERS: &[&str] = &[
    "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-mtime",
    "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-newer", "-anewer", "-cnewer", "-size", "-empty",
    "-user", "-group", "-uid", "-gid", "-perm", "-inum", "-samefile", "-lname", "-ilname", "-nouser",
    "-nogroup", "-links", "-executable",
];
/// Those of them without a value.
const UNVALUED: &[&str] = &["-empty", "-nouser", "-nogroup", "-executable"];
/// Tests and options with a value that filter nothing.
const VALUED: &[&str] = &["-type", "-xtype", "-mindepth", "-fstype", "-regextype", "-printf", "-D"];

/// What a find expression does.
#[derive(Debug, Default)]
struct Search {
    roots: Vec<String>,
    filtered: bool,
    shallow: bool,
}

impl Checker<'_> {
    pub(super) fn finder(&mut self, env: &mut Env, call: &Call<'_>) -> Option<String> {
        match call.name {
            "find" | "gfind" | "bfs" => Some(self.find(env, call)),
            "fd" | "fdfind" => Some(self.fd(env, call)),
            _ => None,
        }
    }

    fn find(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let mut words = call.args.iter().peekable();
        while words
            .next_if(|word| matches!(word.as_str(), "-H" | "-L" | "-P") || word.starts_with("-O"))
            .is_some()
        {}
        let mut search = Search::default();
        let root = |word: &&String| !word.starts_with('-') && !matches!(word.as_str(), "(" | "!" | ",");
        while let Some(word) = words.next_if(root) {
            search.roots.push(word.clone());
        }
        if search.roots.is_empty() {
            search.roots.push(".".to_owned());
        }
        let rest: Vec<String> = words.cloned().collect();
        let mut i = 0;
        while let Some(word) = rest.get(i) {
            i += 1 + self.primary(env, word, rest.get(i + 1..).unwrap_or_default(), &mut search);
        }
        search.roots.iter().map(|root| found_path(root, search.filtered) + "\n").collect()
    }

    /// One test or action; returns how many of the words behind it are its own.
    fn primary(&mut self, env: &mut Env, word: &str, rest: &[String], search: &mut Search) -> usize {
        let next = rest.first();
        match word {
            test if FILTERS.contains(&test) || test.starts_with("-newer") => {
                // A pattern that takes every name filters nothing.
                let all = next.is_some_and(|value| value == "*" || value == &STAR.to_string());
                search.filtered |= !(all && test.ends_with("name"));
                usize::from(!UNVALUED.contains(&test))
            }
            "-maxdepth" => {
                search.shallow = next.is_some_and(|depth| depth == "0");
                1
            }
            "-type" if next.is_some_and(|kind| kind == "l") => {
                search.filtered = true;
                1
            }
            test if VALUED.contains(&test) => 1,
            "-delete" => {
                self.found(env, search, &["rm".into(), "-rf".into(), "{}".into()]);
                0
            }
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let length = rest.iter().position(|word| word == ";" || word == "+").unwrap_or(rest.len());
                let command = rest.get(..length).unwrap_or_default();
                self.found(env, search, command);
                length + 1
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                if let Some(path) = next {
                    self.effect(env, Effect::Write { path: path.clone(), content: None, how: How::Replace });
                }
                1
            }
            _ => 0,
        }
    }

    /// Runs what is done with each file that is found.
    fn found(&mut self, env: &mut Env, search: &Search, command: &[String]) {
        let Some(program) = command.first().filter(|_| !is_placeholder(command)) else { return };
        let deletes = matches!(program.rsplit('/').next(), Some("rm" | "unlink" | "shred" | "rmdir"));
        for root in &search.roots {
            // A deletion of filtered files is a deletion below the root, of what no one knows here.
            if deletes && !search.shallow && command.iter().any(|word| word == "{}") {
                let filtered = search.filtered;
                self.effect(env, Effect::Delete { path: root.clone(), recursive: true, filtered });
                continue;
            }
            let path = if search.shallow { root.clone() } else { found_path(root, search.filtered) };
            let argv: Vec<String> = command.iter().map(|word| word.replace("{}", &path)).collect();
            self.inner(env, &argv, &Call { name: "find", args: &[], stdin: None });
        }
    }

    fn fd(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let runs = |arg: &String| matches!(arg.as_str(), "-x" | "--exec" | "-X" | "--exec-batch");
        let (before, command) =
            call.args.split_at(call.args.iter().position(runs).unwrap_or(call.args.len()));
        let spec = Spec::new(
            "edtEScjo",
            "extension max-depth type exclude size changed-within changed-before color threads owner",
        );
        let opts = spec.read(before);
        let mut search = Search {
            filtered: opts.operands.first().is_some_and(|pattern| pattern != ".")
                || opts.has("e extension S size"),
            roots: opts.operands.get(1..).unwrap_or_default().to_vec(),
            shallow: false,
        };
        if search.roots.is_empty() {
            search.roots.push(".".to_owned());
        }
        let mut command = command.get(1..).unwrap_or_default().to_vec();
        if !command.is_empty() && !command.iter().any(|word| word.contains('{')) {
            command.push("{}".to_owned());
        }
        self.found(env, &search, &command);
        search.roots.iter().map(|root| found_path(root, search.filtered) + "\n").collect()
    }
}

/// `command {}`: the builtin is not there for other programs, and a file is rarely one.
pub(super) fn is_placeholder(command: &[String]) -> bool {
    command.first().is_some_and(|name| name == "command") && command.get(1).is_none_or(|word| word == "{}")
}

/// What stands for the files found below `root`.
fn found_path(root: &str, filtered: bool) -> String {
    let slash = if root.ends_with('/') { "" } else { "/" };
    format!("{root}{slash}{}", if filtered { RUN } else { STAR })
}
