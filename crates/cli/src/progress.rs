//! What a person sees while a described command runs in the foreground, and the line at its end.
//!
//! It is asked for by `--description`, drawn on stderr, and only on a terminal. It never shares a line with output: it
//! is drawn where the cursor stands at the beginning of a line, and taken away before anything is written. While somebody
//! types into a prompt (no echo) or a program has the whole screen, nothing is drawn.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use kennel::{End, Outcome};

use crate::clock::{now, passed};
use crate::render;

/// Nothing is shown of what is over sooner.
const SHOW_AFTER: Duration = Duration::from_millis(400);
const REDRAW_EVERY: Duration = Duration::from_millis(120);
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The display of one command.
#[derive(Debug)]
pub(crate) struct Progress {
    /// `None`: nothing is displayed.
    description: Option<String>,
    began: Instant,
    frame: usize,
    shown: bool,
    at_line_start: bool,
}

impl Progress {
    /// A display where it is asked for and somebody can see it.
    pub(crate) fn new(description: Option<&str>, wanted: bool) -> Self {
        let seen = wanted && std::io::stderr().is_terminal();
        let description = description.filter(|_| seen).map(|text| render::shorten(&render::escape(text), 60));
        Self { description, began: now(), frame: 0, shown: false, at_line_start: true }
    }

    /// Comes back when it is to be drawn again; never where nothing is displayed.
    pub(crate) async fn due(&self) {
        let pause = if self.frame == 0 { SHOW_AFTER } else { REDRAW_EVERY };
        passed(self.description.as_ref().map(|_| pause)).await;
    }

    /// Draws it, if the line is free.
    pub(crate) fn draw(&mut self) {
        let Some(description) = &self.description else { return };
        self.frame += 1;
        if !self.at_line_start || !terminal_is_at_rest() {
            return;
        }
        let spinner = FRAMES.get(self.frame % FRAMES.len()).unwrap_or(&' ');
        render::status_line(&format!("{spinner} {description} · {}", elapsed(self.began.elapsed())));
        self.shown = true;
    }

    /// Takes it away: `bytes` are about to be written.
    pub(crate) fn give_way(&mut self, bytes: &[u8]) {
        self.hide();
        if let Some(last) = bytes.last() {
            self.at_line_start = *last == b'\n';
        }
    }

    fn hide(&mut self) {
        if std::mem::take(&mut self.shown) {
            render::status_line("");
        }
    }

    /// The last line: how it ended and how long it took.
    pub(crate) fn finish(mut self, outcome: &Outcome) {
        self.hide();
        let Some(description) = &self.description else { return };
        let how = match &outcome.end {
            Some(End::Exited { code }) => format!("exit {code}"),
            Some(End::TimedOut) => "timed out".to_owned(),
            Some(End::Signaled { signal, .. }) => format!("killed by {signal}"),
            Some(End::Stopped { .. }) => "stopped".to_owned(),
            None => "goes on in the background".to_owned(),
            Some(_) => "failed".to_owned(),
        };
        let time = elapsed(Duration::from_millis(outcome.duration_ms));
        let new_line = if self.at_line_start { "" } else { "\n" };
        let mark = if outcome.success { '✔' } else { '✘' };
        render::end_line(&format!("{new_line}{mark} {description} · {how} · {time}"), outcome.success);
    }
}

/// Nobody types a password and no program has the screen.
fn terminal_is_at_rest() -> bool {
    use rustix::termios::{LocalModes, tcgetattr};
    tcgetattr(rustix::stdio::stderr())
        .is_ok_and(|modes| modes.local_modes.contains(LocalModes::ECHO | LocalModes::ICANON))
}

fn elapsed(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_at_a_glance() {
        assert_eq!(elapsed(Duration::from_millis(3240)), "3.2 s");
        assert_eq!(elapsed(Duration::from_secs(125)), "2 min 05 s");
    }
}
