//! Databases: statements that lose data, and the ways out of a client into a shell.

use super::Call;
use crate::eval::Checker;
use crate::eval::env::Env;
use crate::mark::{self, NET, RUN};

impl Checker<'_> {
    pub(super) fn database(
        &mut self,
        env: &mut Env,
        call: &Call<'_>,
        codes: &[String],
        operands: &[String],
    ) -> String {
        // What is only in the memory of this process is nobody's data.
        let throwaway = operands.first().is_some_and(|name| name == ":memory:")
            && matches!(call.name, "sqlite3" | "sqlite" | "duckdb" | "litecli");
        if throwaway {
            let kept = std::mem::take(&mut self.findings);
            let rest = operands.get(1..).unwrap_or_default();
            let texts =
                codes.iter().map(String::as_str).chain(rest.iter().map(String::as_str)).chain(call.stdin);
            texts.for_each(|code| self.sql(env, code));
            let mut found = std::mem::replace(&mut self.findings, kept);
            found.retain(|finding| finding.rule != "db.loss");
            for finding in found {
                self.push(finding);
            }
            return call.derived();
        }
        for code in codes {
            self.sql(env, code);
        }
        // sqlite3 and mongosh take statements behind the name of the database.
        if matches!(
            call.name,
            "sqlite3" | "sqlite" | "mongo" | "mongosh" | "duckdb" | "bq" | "influx" | "isql" | "litecli"
        ) {
            for code in operands.iter().filter(|word| word.contains([' ', '(', ';'])) {
                self.sql(env, code);
            }
        }
        if let Some(code) = call.stdin {
            self.sql(env, code);
        }
        for file in super::Spec::new("f", "file")
            .read(call.args)
            .values("f file")
            .map(str::to_owned)
            .collect::<Vec<_>>()
        {
            let text = self.content(env, &file);
            if let Some(text) = text {
                self.sql(env, &text);
            }
        }
        call.derived()
    }

    pub(super) fn sql(&mut self, env: &mut Env, text: &str) {
        if text.contains(NET) {
            return self.report("exec.remote", "");
        }
        if mark::is_opaque(text) {
            return;
        }
        for line in text.lines() {
            let line = line.trim();
            let shell = line
                .strip_prefix("\\!")
                .or_else(|| line.strip_prefix(".shell "))
                .or_else(|| line.strip_prefix(".system "));
            if let Some(code) = shell.or_else(|| line.strip_prefix("system ")) {
                let mut inner = env.clone();
                self.deeper(|checker| checker.shell_code(&mut inner, code, None));
            }
        }
        let lower = text.to_lowercase();
        if lower.contains("from program")
            || lower.contains("to program")
            || lower.contains("xp_cmdshell")
            || lower.contains("into outfile")
        {
            self.report("db.program", "");
        }
        for statement in statements(&lower) {
            if let Some(what) = loses(&statement) {
                self.report("db.loss", &what);
            }
        }
        let calls = [
            "dropdatabase(",
            ".drop(",
            "deletemany({})",
            "remove({})",
            "dropcollection",
            "flushall",
            "flushdb",
            "dropindex",
        ];
        if calls.iter().any(|call| lower.replace(' ', "").contains(call)) {
            self.report("db.loss", "");
        }
    }
}

/// The statements of a script as words, without strings and comments.
fn statements(text: &str) -> Vec<Vec<String>> {
    let mut out = vec![Vec::new()];
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let plain = c.is_alphanumeric() || matches!(c, '_' | '.' | '\\' | '$') || mark::is_mark(c);
        if plain {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            out.last_mut().into_iter().for_each(|words| words.push(std::mem::take(&mut word)));
        }
        match c {
            ';' => out.push(Vec::new()),
            '\'' => {
                for inner in chars.by_ref() {
                    if inner == '\'' {
                        break;
                    }
                }
            }
            '-' if chars.peek() == Some(&'-') => {
                for inner in chars.by_ref() {
                    if inner == '\n' {
                        break;
                    }
                }
            }
            '/' if chars.peek() == Some(&'*') => {
                let mut last = ' ';
                for inner in chars.by_ref() {
                    if last == '*' && inner == '/' {
                        break;
                    }
                    last = inner;
                }
            }
            _ => {}
        }
    }
    if !word.is_empty() {
        out.last_mut().into_iter().for_each(|words| words.push(std::mem::take(&mut word)));
    }
    out
}

/// What a statement loses, if it does.
fn loses(words: &[String]) -> Option<String> {
    let first = words.first()?.as_str();
    let has = |word: &str| words.iter().any(|other| other == word);
    let lost = match first {
        "drop" | "truncate" | "flushall" | "flushdb" | "dropdb" => true,
        "delete" | "update" => !has("where") && words.len() > 1,
        "alter" => has("drop"),
        // `EXPLAIN`, `WITH … DELETE`, `BEGIN DROP`
        "with" => has("delete") && !has("where"),
        "begin" | "start" | "set" | "use" => {
            words.iter().position(|word| word == "drop" || word == "truncate").is_some()
        }
        "revoke" | "purge" | "reset" => true,
        _ => false,
    };
    lost.then(|| words.iter().take(4).cloned().collect::<Vec<_>>().join(" ").replace(RUN, "…"))
}
