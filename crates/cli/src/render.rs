//! The one renderer: everything that a person sees goes through here. Untrusted text is escaped, always.
#![expect(clippy::print_stderr, reason = "the one place that speaks to people")]
#![expect(clippy::disallowed_methods, reason = "NO_COLOR and its like are a matter of looks")]

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::sync::OnceLock;

use comfy_table::{ContentArrangement, Table, presets};
use kennel::policy::{Decision, Finding, Verdict};
use serde::Serialize;

/// A line for a person on stderr, with our name.
pub(crate) fn note(text: &str) {
    eprintln!("kennel: {}", escape_lines(text));
}

/// What happened, and what to do.
pub(crate) fn error(what: &str, hint: Option<&str>) {
    eprintln!("kennel: {}", escape_lines(what));
    if let Some(hint) = hint {
        eprintln!("  hint: {}", escape_lines(hint));
    }
}

/// Why an answer did not reach stdout.
static UNWRITTEN: OnceLock<std::io::Error> = OnceLock::new();

/// Text that is an answer, on stdout. A reader that has gone is not our failure; a full disk is told at the end.
pub(crate) fn answer(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let _the_first_counts = UNWRITTEN.set(error);
        }
        _ => {}
    }
}

/// What kept an answer from being written.
pub(crate) fn unwritten() -> Option<&'static std::io::Error> {
    UNWRITTEN.get()
}

/// One JSON object.
pub(crate) fn json<T: Serialize>(value: &T) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => answer(&format!("{text}\n")),
        Err(error) => note(&format!("failed to write JSON: {error}")),
    }
}

/// One JSON object on one line.
pub(crate) fn json_line<T: Serialize>(value: &T) {
    answer(&line(value));
}

/// A JSON object as a line.
pub(crate) fn line<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).map_or_else(|_error| String::new(), |text| text + "\n")
}

/// A table of untrusted cells.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) {
    answer(&table_text(head, rows));
}

fn table_text(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head.iter().copied());
    for row in rows {
        table.add_row(row.iter().map(|cell| escape(cell)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.to_string().lines().fold(String::new(), |mut text, line| {
        let _infallible = writeln!(text, "{}", line.trim_end());
        text
    })
}

/// The same, the last column in a colour of its row's.
pub(crate) fn tinted_table(head: &[&str], rows: &[Vec<String>], tints: &[Tint]) -> String {
    let text = table_text(head, rows);
    if !colours_on(&std::io::stdout()) {
        return text;
    }
    let mut out = String::new();
    for (number, line) in text.lines().enumerate() {
        let tint = number.checked_sub(1).and_then(|row| tints.get(row));
        let cell = rows.get(number.wrapping_sub(1)).and_then(|row| row.last()).map(|cell| escape(cell));
        let _infallible =
            match (tint, cell.and_then(|cell| line.strip_suffix(&cell).map(|rest| (rest, cell)))) {
                (Some(tint), Some((rest, cell))) => writeln!(out, "{rest}{}{cell}\u{1b}[0m", tint.code()),
                _ => writeln!(out, "{line}"),
            };
    }
    out
}

/// What a colour says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tint {
    /// It is under way.
    Alive,
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// It was ended on purpose.
    Ended,
}

impl Tint {
    fn code(self) -> &'static str {
        match self {
            Self::Alive => "\u{1b}[36m",
            Self::Good => "\u{1b}[32m",
            Self::Bad => "\u{1b}[31m",
            Self::Ended => "\u{1b}[33m",
        }
    }
}

/// Whether colours are wanted there: `NO_COLOR` never, `CLICOLOR_FORCE` always, else on a terminal that has any.
fn colours_on(stream: &impl IsTerminal) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if set("NO_COLOR") {
        return false;
    }
    let forced =
        set("CLICOLOR_FORCE") && std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    forced || stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Replaces the line on which the cursor stands; an empty text takes it away. On a terminal only.
pub(crate) fn status_line(text: &str) {
    eprint!("\r\u{1b}[K{text}");
    if !text.is_empty() {
        // The cursor at the beginning: whatever is written next begins there.
        eprint!("\r");
    }
}

/// The last line of a display on stderr.
pub(crate) fn end_line(text: &str, good: bool) {
    if colours_on(&std::io::stderr()) {
        let tint = if good { Tint::Good } else { Tint::Bad };
        eprintln!("{}{text}\u{1b}[0m", tint.code());
    } else {
        eprintln!("{text}");
    }
}

/// Puts a whole screen in the place of the last one; an error when nobody sees it any more.
pub(crate) fn screen(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if !out.is_terminal() {
        out.write_all(text.as_bytes())?;
        return out.flush();
    }
    // Home, each line to its end, then what is below: no flicker.
    let lines = text.lines().fold(String::from("\u{1b}[H"), |lines, line| lines + line + "\u{1b}[K\r\n");
    out.write_all(lines.as_bytes())?;
    out.write_all(b"\x1b[J")?;
    out.flush()
}

/// Asks the person at the terminal; `None` where there is none to ask.
pub(crate) fn confirm(question: &str) -> Option<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return None;
    }
    eprint!("kennel: {} [y/N] ", escape_lines(question));
    let mut line = String::new();
    let _no_answer = std::io::stdin().read_line(&mut line);
    Some(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Lines of a small panel: name and value.
pub(crate) fn panel(title: &str, lines: &[(&str, String)]) {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = format!("{}\n", escape(title));
    for (name, value) in lines {
        let _infallible = writeln!(text, "  {name:width$}  {}", escape(value));
    }
    answer(&text);
}

/// The panel about a command: what would happen, why that is refused or asked about, which rule, what to do instead.
pub(crate) fn verdict(command: &str, verdict: &Verdict) -> String {
    let title = match verdict.decision {
        Decision::Allow => "allow: nothing dangerous was seen",
        Decision::Ask => "ask: this needs a yes",
        Decision::Deny => "deny: this is not run",
    };
    let mut text = format!("{title}\n");
    if !command.is_empty() {
        let _infallible = writeln!(text, "  command  {}", shorten(&escape(command), 200));
    }
    for finding in worst_first(verdict) {
        let _infallible = write!(text, "\n{}", finding_lines(finding));
    }
    if !verdict.trace.is_empty() {
        text.push_str("\nread as\n");
    }
    for line in &verdict.trace {
        let _infallible = writeln!(text, "  {}", escape(line));
    }
    text
}

/// A command that is not run: the panel, on stderr.
pub(crate) fn refusal(command: &str, verdict: &Verdict, hint: Option<&str>) {
    eprint!("kennel: {}", self::verdict(command, verdict));
    if verdict.decision == Decision::Ask {
        eprintln!("  nobody said yes, so it is not run");
    }
    if let Some(hint) = hint.filter(|_| verdict.decision == Decision::Ask) {
        eprintln!("  hint: {}", escape_lines(hint));
    }
}

/// A question to the person at the terminal, on stderr.
pub(crate) fn question(verdict: &Verdict, question: &str) {
    eprint!("kennel: {}{question} ", self::verdict("", verdict));
}

/// A question in one line, on stderr.
pub(crate) fn prompt(question: &str) {
    eprint!("kennel: {} ", escape(question));
}

fn finding_lines(finding: &Finding) -> String {
    let mut text = format!("  what     {}\n", shorten(&escape(&finding.argv.join(" ")), 200));
    let _infallible = writeln!(text, "  why      {}", escape(&finding.reason));
    let decision = decision(finding.decision);
    let _infallible = writeln!(text, "  rule     {} ({decision})", escape(&finding.rule));
    if !finding.instead.is_empty() {
        let _infallible = writeln!(text, "  instead  {}", escape(&finding.instead));
    }
    text
}

/// The same for a program, a model or a host that shows one paragraph: the worst first, no more than three.
pub(crate) fn verdict_in_words(verdict: &Verdict) -> String {
    let begin = match verdict.decision {
        Decision::Deny => "Kennel refuses this command",
        _ => "Kennel asks before this command",
    };
    let findings = worst_first(verdict);
    let more = findings.len().saturating_sub(3);
    let parts: Vec<String> = findings.into_iter().take(3).map(finding_in_words).collect();
    let mut text = format!("{begin}: {}", parts.join(" "));
    if more > 0 {
        let _infallible = write!(text, " And {more} more.");
    }
    text
}

fn worst_first(verdict: &Verdict) -> Vec<&Finding> {
    let mut findings: Vec<&Finding> = verdict.findings.iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.decision));
    findings
}

fn finding_in_words(finding: &Finding) -> String {
    let what = shorten(&escape(&finding.argv.join(" ")), 120);
    let reason = escape(finding.reason.trim_end_matches('.'));
    let mut text = format!("{reason} [rule {}]", escape(&finding.rule));
    if !what.is_empty() {
        let _infallible = write!(text, " in `{what}`");
    }
    text.push('.');
    if !finding.instead.is_empty() {
        let _infallible = write!(text, " Instead: {}.", escape(finding.instead.trim_end_matches('.')));
    }
    text
}

/// As on the wire.
pub(crate) fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

/// Control, ANSI and bidirectional characters made visible, so that no name or command can speak to the terminal.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if is_unsafe(character) => {
                let _infallible = write!(out, "\\u{{{:x}}}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out
}

fn escape_lines(text: &str) -> String {
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n  ")
}

fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// At most `width` characters, the end cut.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Columns of the terminal on stdout; `None` where it is none.
pub(crate) fn width() -> Option<usize> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    rustix::termios::tcgetwinsize(out).ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 20)
}

/// `12 s ago`, `5 min ago`, `3 h ago`, `2 d ago`.
pub(crate) fn ago(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ 0..60 => format!("{seconds} s ago"),
        seconds @ 60..3600 => format!("{} min ago", seconds / 60),
        seconds @ 3600..86_400 => format!("{} h ago", seconds / 3600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_speaks_to_the_terminal() {
        let hostile = "\x1b]52;c;aGk=\x07\x1b]0;title\x07\u{202e}evil\u{9b}31m\r";
        let shown = escape(hostile);
        assert!(shown.chars().all(|character| !is_unsafe(character)), "{shown}");
        assert_eq!(escape("naïve €"), "naïve €");
    }
}
