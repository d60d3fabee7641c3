//! Results in words, for the model: the output, then how it ended, where the rest is and what is left. At most
//! [`CHARS_MAX`] characters in all.

use std::fmt::Write as _;

use kennel::{End, Notice, Outcome, Status, Survivor, TaskInfo};

use crate::{limits, render};

/// What goes to a model at most, in one answer.
pub(crate) const CHARS_MAX: usize = 30_000;
/// Room for what is said about the output.
const FACTS_CHARS_MAX: usize = 3_000;
/// Lines about survivors.
const SURVIVORS_MAX: usize = 10;

/// What a running command's timeout will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// There is none.
    None,
    /// End it.
    Ends,
    /// Let it go on in the background.
    LetsGo,
}

impl Limit {
    fn words(self) -> &'static str {
        match self {
            Self::None => "it has no timeout",
            Self::Ends => "its own timeout goes on",
            Self::LetsGo => "its timeout does not end it",
        }
    }
}

/// The result of a command.
pub(crate) fn outcome(outcome: &Outcome, limit: Limit, notes: &[String]) -> String {
    let mut facts = facts(outcome, limit);
    facts.extend(notes.iter().cloned());
    let facts = shorten(&facts.join("\n"), FACTS_CHARS_MAX);
    let room = CHARS_MAX - FACTS_CHARS_MAX - 100;
    let (out, err) = (outcome.stdout.trim_end_matches('\n'), outcome.stderr.trim_end_matches('\n'));
    let mut text = match (out.is_empty(), err.is_empty()) {
        (_, true) => squeeze(out, room),
        (true, false) => squeeze(err, room),
        (false, false) => {
            // stderr is mostly the shorter one, and says why.
            let err = squeeze(err, room / 2);
            let left = room - err.chars().count();
            format!("{}\n[stderr]\n{err}", squeeze(out, left))
        }
    };
    if !facts.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _infallible = write!(text, "{gap}{facts}");
    }
    text
}

fn facts(outcome: &Outcome, limit: Limit) -> Vec<String> {
    let id = &outcome.task_id;
    let mut facts = Vec::new();
    if outcome.status == Status::Running {
        // A time that is over is told by its own notice.
        let over = outcome.notices.contains(&Notice::Backgrounded);
        let clock = if over { String::new() } else { format!("; {}", limit.words()) };
        facts
            .push(format!("[running as task {id}: TaskOutput reads on and waits, KillShell ends it{clock}]"));
    } else if outcome.stdout.is_empty() && outcome.stderr.is_empty() && outcome.success {
        facts.push("[no output, exit code 0]".to_owned());
    }
    facts.extend(ended(outcome));
    if !outcome.survivors.is_empty() {
        facts.push(format!("[still running in the background of task {id} (KillShell ends it):"));
        facts.extend(outcome.survivors.iter().take(SURVIVORS_MAX).map(survivor));
        let more = outcome.survivors.len().saturating_sub(SURVIVORS_MAX);
        if more > 0 {
            facts.push(format!("  and {more} more"));
        }
        if let Some(last) = facts.last_mut() {
            last.push(']');
        }
    }
    if let Some(clamped) = outcome.clamped.as_ref().and_then(|clamped| clamped.timeout_ms.as_ref()) {
        facts.push(format!("[timeout of {} ms was cut to {} ms]", clamped.asked, clamped.used));
    }
    if outcome.dropped_bytes > 0 {
        facts.push(format!("[{} bytes of output are no longer kept]", outcome.dropped_bytes));
    }
    if let Some(file) = &outcome.output_file {
        facts.push(format!("[task {id}, output: {file}]"));
    }
    facts.extend(outcome.notices.iter().filter_map(notice));
    facts
}

/// How a command ended, where that is not plain success.
fn ended(outcome: &Outcome) -> Option<String> {
    let code = outcome.exit_code.unwrap_or(-1);
    let all_dead = if outcome.survivors.is_empty() { "; everything it started has been ended" } else { "" };
    Some(match outcome.end.as_ref()? {
        End::Exited { code: 0 } => return None,
        End::Exited { code } => format!("[exit code {code}]"),
        End::Signaled { signal, .. } => format!("[killed by {signal}, exit code {code}]"),
        End::TimedOut => format!("[timed out after {} ms, exit code {code}{all_dead}]", outcome.duration_ms),
        End::Stopped { by } => format!("[stopped ({by:?}), exit code {code}{all_dead}]").to_lowercase(),
        end @ End::Limit { .. } => {
            let crossed = limits::crossed(end).unwrap_or_default();
            format!("[over the limit of {crossed}, exit code {code}{all_dead}]")
        }
        End::Lost { why } => format!("[lost: {why}]"),
        End::NotStarted { why } => format!("[not started: {why}; exit code {code}]"),
    })
}

fn survivor(survivor: &Survivor) -> String {
    let ports: Vec<String> = survivor.ports.iter().map(u16::to_string).collect();
    let ports = if ports.is_empty() { String::new() } else { format!(", port {}", ports.join(", ")) };
    format!("  {} (pid {}{ports})", render::shorten(&render::escape(&survivor.command), 80), survivor.pid)
}

fn notice(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::Backgrounded => "[its time was over: it goes on in the background]".to_owned(),
        Notice::CwdUnknown => {
            "[the directory after the command is not known; the previous one stays]".to_owned()
        }
        Notice::Weaker { name, why } => format!("[protection {name} is weaker than asked: {why}]"),
        Notice::SpoolLost { bytes, why } => format!("[{bytes} bytes of output could not be stored: {why}]"),
        Notice::SpoolLimited { bytes } => {
            format!("[all tasks together are at their total: this one keeps {bytes} bytes of output]")
        }
        Notice::Quiet { ms } => format!("[it has written nothing for {} s]", ms / 1000),
        Notice::Listening { pid, port } => format!("[pid {pid} listens on port {port}]"),
        Notice::CwdReset { gone, used } => {
            format!(
                "[the session's directory {} is gone: it ran in {}]",
                render::escape(gone),
                render::escape(used)
            )
        }
        Notice::SignalRefused { pid, task_id } => {
            format!(
                "[the sandbox refused a signal to {pid}, which is of the task {task_id}: KillShell ends that]"
            )
        }
        Notice::WaitingForInput { .. } => "[it waits for input: TaskInput]".to_owned(),
        _ => return None,
    })
}

/// A task, on a line.
pub(crate) fn task(task: &TaskInfo) -> String {
    let mut line = format!("{}  {}", task.id, task.status.as_str());
    if let Some(code) = task.exit_code {
        let _infallible = write!(line, " ({code})");
    }
    let _infallible = write!(line, "  {}", render::shorten(&render::escape(&task.command), 100));
    if task.waiting_for_input == Some(true) {
        line += "  waits for input";
    }
    if !task.ports.is_empty() {
        let ports: Vec<String> = task.ports.iter().map(u16::to_string).collect();
        let _infallible = write!(line, "  port {}", ports.join(", "));
    }
    if let Some(file) = &task.output_file {
        let _infallible = write!(line, "  {file}");
    }
    line
}

/// At most `max` characters, the end cut.
pub(crate) fn shorten(text: &str, max: usize) -> String {
    render::shorten(text, max)
}

/// At most `max` characters: head and tail kept, the middle counted.
pub(crate) fn squeeze(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.to_owned();
    }
    let keep = max.saturating_sub(60);
    let (head, tail) = (keep / 2, keep - keep / 2);
    let begin: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{begin}\n[… {} characters cut …]\n{end}", count - head - tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_squeezed_text_fits_and_keeps_both_ends() {
        let text = format!("begin{}end", "€".repeat(50_000));
        let short = squeeze(&text, 1000);
        assert!(short.chars().count() <= 1000 && short.starts_with("begin") && short.ends_with("end"));
        assert_eq!(squeeze("abc", 3), "abc");
    }
}
