//! What the shell knows at one point of a line: variables, functions, directory, files it has written.

use std::collections::HashMap;
use std::rc::Rc;

use crate::ast::Command;

/// How many values of one variable, or directories, are kept apart.
pub(crate) const ALTERNATIVES_MAX: usize = 12;

/// The values that a variable may have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Var {
    /// One of these.
    Scalar(Vec<String>),
    /// Elements in order; keys are not kept, except by [`Var::Map`].
    Array(Vec<String>),
    Map(Vec<(String, String)>),
    /// Another name for a variable (`declare -n`).
    Ref(String),
}

/// A shell's state; cheap to clone, since most subshells change little.
#[derive(Debug, Clone)]
pub(crate) struct Env {
    pub(crate) vars: Rc<HashMap<String, Var>>,
    pub(crate) functions: Rc<HashMap<String, Rc<Command>>>,
    pub(crate) aliases: Rc<HashMap<String, String>>,
    /// Functions that shells below see.
    pub(crate) exported: Rc<HashMap<String, Rc<Command>>>,
    /// Contents of files that the line has written, by absolute path.
    pub(crate) files: Rc<HashMap<String, String>>,
    /// How many of these are whole directories.
    pub(crate) trees: u32,
    /// What a descriptor that the shell opened reads.
    pub(crate) fds: Rc<HashMap<u32, String>>,
    /// `$1 …`; `None` where a caller outside the line sets them.
    pub(crate) args: Option<Rc<Vec<String>>>,
    /// The directories that the shell may be in.
    pub(crate) cwd: Vec<String>,
    pub(crate) previous: Vec<String>,
    pub(crate) stack: Vec<Vec<String>>,
    /// Directories it would be in, had the last `cd` failed.
    pub(crate) unmoved: Option<Vec<String>>,
    /// `set -e`
    pub(crate) exits_on_error: bool,
}

impl Env {
    pub(crate) fn new(cwd: &str) -> Self {
        Env {
            vars: Rc::default(),
            functions: Rc::default(),
            aliases: Rc::default(),
            exported: Rc::default(),
            files: Rc::default(),
            fds: Rc::default(),
            trees: 0,
            args: None,
            cwd: vec![cwd.to_owned()],
            previous: Vec::new(),
            stack: Vec::new(),
            unmoved: None,
            exits_on_error: false,
        }
    }

    /// The variable that a name stands for: references are followed, in circles not for ever.
    pub(crate) fn named<'n>(&'n self, name: &'n str) -> &'n str {
        let mut name = name;
        for _ in 0..8 {
            match self.vars.get(name) {
                Some(Var::Ref(target)) => name = target,
                _ => break,
            }
        }
        name
    }

    pub(crate) fn set(&mut self, name: &str, value: Var) {
        Rc::make_mut(&mut self.vars).insert(name.to_owned(), value);
    }

    pub(crate) fn set_text(&mut self, name: &str, value: impl Into<String>) {
        self.set(name, Var::Scalar(vec![value.into()]));
    }

    /// What the line has put into a file or a descriptor.
    pub(crate) fn file(&self, path: &str) -> Option<&String> {
        self.files.get(path).or_else(|| self.fetched(path)).or_else(|| {
            let fd = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?;
            self.fds.get(&fd.parse().ok()?)
        })
    }

    /// Whether a path is in a directory that came from the network as a whole.
    fn fetched(&self, path: &str) -> Option<&String> {
        if self.trees == 0 {
            return None;
        }
        let mut ends = path.char_indices().filter(|(_, c)| *c == '/').map(|(at, _)| at + 1);
        ends.find_map(|end| self.files.get(path.get(..end)?))
    }

    /// Remembers a directory that came from the network as a whole.
    pub(crate) fn write_tree(&mut self, path: &str) {
        self.trees += 1;
        let path = format!("{}/", path.trim_end_matches('/'));
        self.write_file(&path, &crate::mark::RUN.to_string(), false);
    }

    pub(crate) fn write_file(&mut self, path: &str, content: &str, append: bool) {
        let file = Rc::make_mut(&mut self.files).entry(path.to_owned()).or_default();
        if !append {
            file.clear();
        }
        file.push_str(content);
    }

    /// A `cd` to one of `dirs`, which may have failed until the chain shows that it did not.
    pub(crate) fn enter(&mut self, dirs: Vec<String>) {
        let old = std::mem::replace(&mut self.cwd, dirs);
        self.previous.clone_from(&old);
        self.unmoved.get_or_insert(old);
    }

    /// The end of a chain: what followed its `cd` with `&&` knew that it had succeeded, what comes now does not.
    pub(crate) fn settle(&mut self) {
        if let Some(old) = self.unmoved.take()
            && !self.exits_on_error
        {
            join(&mut self.cwd, &old);
        }
    }

    /// The state after either of two courses.
    pub(crate) fn merge(&mut self, other: &Env) {
        join(&mut self.cwd, &other.cwd);
        if !Rc::ptr_eq(&self.vars, &other.vars) {
            let vars = Rc::make_mut(&mut self.vars);
            for (name, value) in other.vars.iter() {
                match (vars.get_mut(name), value) {
                    (Some(Var::Scalar(mine)), Var::Scalar(theirs)) => join(mine, theirs),
                    (Some(mine), theirs) if mine == theirs => {}
                    // Of two arrays the one from the later branch; both were judged in their branch.
                    _ => {
                        vars.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        for (mine, theirs) in [(&mut self.functions, &other.functions)] {
            if !Rc::ptr_eq(mine, theirs) {
                let mine = Rc::make_mut(mine);
                mine.extend(theirs.iter().map(|(name, body)| (name.clone(), Rc::clone(body))));
            }
        }
        for (mine, theirs) in [(&mut self.files, &other.files), (&mut self.aliases, &other.aliases)] {
            if !Rc::ptr_eq(mine, theirs) {
                Rc::make_mut(mine).extend(theirs.iter().map(|(name, text)| (name.clone(), text.clone())));
            }
        }
        self.trees = self.trees.max(other.trees);
        self.exits_on_error &= other.exits_on_error;
    }

    /// What copying this state again would cost, in units of work.
    pub(crate) fn weight(&self) -> u32 {
        let entries = self.vars.len() + self.functions.len() + self.files.len() + self.aliases.len();
        u32::try_from(entries / 2).unwrap_or(u32::MAX)
    }
}

/// Adds what `more` has and `list` has not; beyond the cap the value is unknown.
pub(crate) fn join(list: &mut Vec<String>, more: &[String]) {
    for item in more {
        if list.len() >= ALTERNATIVES_MAX {
            let unknown = crate::mark::RUN.to_string();
            if !list.contains(&unknown) {
                list.push(unknown);
            }
            return;
        }
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}
