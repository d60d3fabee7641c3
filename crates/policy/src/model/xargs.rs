//! Commands that are made from what is read: xargs and parallel.

use super::{Call, Spec};
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::{self, RUN};

/// Words of input that are put into commands one by one.
const ITEMS_MAX: usize = 12;

impl Checker<'_> {
    pub(super) fn xargs(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let spec = Spec::wrapper(
            "aEIJLnPsdR",
            "arg-file delimiter max-lines max-args max-procs max-chars process-slot-var",
        );
        let opts = spec.read(call.args);
        let file = opts.value("a arg-file").map(str::to_owned);
        let input = match &file {
            Some(file) => self.read(env, file),
            None => call.stdin.map_or_else(|| RUN.to_string(), str::to_owned),
        };
        let whole = opts.has("0 null d delimiter");
        let replace = match opts.value("I J replace") {
            Some(mark) => Some(mark),
            None => opts.has("i replace").then_some("{}"),
        };
        let mut command = opts.operands.clone();
        if command.is_empty() {
            command.push("echo".to_owned());
        }
        if super::find::is_placeholder(&command) {
            return RUN.to_string();
        }
        let items = items(&input, whole || replace.is_some());
        // A list that is named has been looked at; what comes through a pipe has not.
        let program = command.first().map_or("", |name| name.rsplit('/').next().unwrap_or_default());
        if matches!(program, "rm" | "unlink" | "shred" | "srm")
            && file.is_none()
            && items.iter().any(|item| mark::is_opaque(item))
        {
            self.report("fs.delete.unknown", &command.join(" "));
        }
        let bare = Call { stdin: None, ..*call };
        let Some(mark) = replace.filter(|mark| !mark.is_empty()) else {
            command.extend(items);
            return self.inner(env, &command, &bare);
        };
        let mut out = String::new();
        for item in items.iter().take(ITEMS_MAX) {
            let argv: Vec<String> = command.iter().map(|word| word.replace(mark, item)).collect();
            out.push_str(&self.inner(env, &argv, &bare));
        }
        out
    }

    pub(super) fn parallel(&mut self, env: &mut Env, call: &Call<'_>) -> String {
        let spec = Spec::wrapper(
            "jaNSdCIL",
            "jobs arg-file colsep max-args sshlogin delimiter joblog results tmpdir workdir halt timeout retries",
        );
        let opts = spec.read(call.args);
        let split = opts.operands.iter().position(|word| word.starts_with(":::"));
        let (command, given) = opts.operands.split_at(split.unwrap_or(opts.operands.len()));
        let values: Vec<String> = match split {
            Some(_) => given.iter().filter(|word| !word.starts_with(":::")).cloned().collect(),
            None => items(call.stdin.unwrap_or(&RUN.to_string()), true),
        };
        let line = command.join(" ");
        let mut out = String::new();
        for value in values.iter().take(ITEMS_MAX) {
            let code = if line.is_empty() {
                value.clone()
            } else if line.contains('{') {
                line.replace("{}", value).replace("{.}", value).replace("{/}", value)
            } else {
                format!("{line} {value}")
            };
            let mut inner = env.clone();
            out.push_str(&self.deeper(|checker| checker.shell_code(&mut inner, &code, None)));
        }
        out
    }
}

/// Words as xargs reads them: quotes keep blanks, a backslash the next character.
fn quoted_words(input: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut open) = (Vec::new(), String::new(), None, false);
    let mut chars = input.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                open = true;
            }
            (None, '\\') => word.extend(chars.next()),
            (None, c) if c.is_whitespace() => {
                if open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            (None, c) => word.push(c),
        }
    }
    words.push(word);
    words
}

/// The words or lines of an input; quotes in words are removed as xargs does.
fn items(input: &str, lines: bool) -> Vec<String> {
    let split: Vec<String> =
        if lines { input.split(['\n', '\0']).map(str::to_owned).collect() } else { quoted_words(input) };
    let mut items: Vec<String> = split.into_iter().filter(|item| !item.is_empty()).collect();
    if items.len() > 4096 {
        items.truncate(4096);
        items.push(RUN.to_string() + &mark::taint(input));
    }
    items
}
