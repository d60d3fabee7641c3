//! Whether somebody waits for the input that clients give the task: found when asked, and by a few looks after the
//! task has gone quiet. Nothing is polled: each look is twice as far from the one before, and the last one ends it.

use super::Task;
use super::terminal::Terminal;
use crate::blocked::{Hidden, InputEnd, waits_for};
use crate::clock;
use crate::end::End;
use crate::lifecycle::State;
use crate::wire::{InputState, Notice};

/// From the last output or input to the first look.
const FIRST_LOOK_MS: u64 = 250;
/// With these the last one comes half a minute after the quiet began: something may start slowly and say nothing.
const LOOKS_MAX: u32 = 8;
/// Members that are looked at.
const MEMBERS_MAX: usize = 256;

/// What is known of who waits.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Looks since the task has gone quiet.
    looks: u32,
    /// Told, and no input came since.
    told: bool,
    /// By the last look; `None` where the kernel does not let us see.
    seen: Option<bool>,
}

impl Task<'_> {
    /// Output or input came: whoever waits after it is looked for when it is quiet.
    pub(super) fn look_for_reader_later(&mut self) {
        if self.input.is_open() && !self.waiting.told {
            self.waiting.looks = 0;
            self.timers.quiet = Some(clock::monotonic_ms() + FIRST_LOOK_MS);
        }
    }

    /// Input came, or its end: what was told is over.
    pub(super) fn reader_was_fed(&mut self) {
        self.waiting = Waiting { seen: Some(false), ..Waiting::default() };
        self.forget_wait_notice();
        self.look_for_reader_later();
    }

    /// The task has been quiet for a while.
    pub(super) fn quiet_look(&mut self) {
        self.look_for_reader();
        self.waiting.looks += 1;
        let again = self.input.is_open() && !self.waiting.told && self.waiting.looks < LOOKS_MAX;
        self.timers.quiet =
            again.then(|| clock::monotonic_ms() + (FIRST_LOOK_MS << (self.waiting.looks - 1)));
    }

    /// Looks, and tells once for each wait. Not on the kill path: there, what was seen before the order counts.
    pub(super) fn look_for_reader(&mut self) {
        let goes_on = matches!(self.state, State::Running | State::Settling { .. } | State::Lingering { .. });
        let Some(input) = self.input.end().filter(|_| goes_on && !self.empty) else { return };
        let reader = self.reader(&input);
        self.waiting.seen = reader.map(|reader| reader.is_some()).ok();
        match reader {
            Ok(Some(pid)) if !self.waiting.told => {
                self.waiting.told = true;
                self.timers.quiet = None;
                self.forget_wait_notice();
                self.notice(Notice::WaitingForInput { pid });
                self.complete_record();
            }
            // It went on without being fed, and may come to wait again.
            Ok(None) => self.waiting.told = false,
            _ => {}
        }
    }

    /// The input for a report. After an end that somebody ordered it says what was seen before: that the command waited
    /// may be why.
    pub(super) fn input_state(&mut self) -> Option<InputState> {
        let mut state = self.input.state()?;
        self.look_for_reader();
        let ordered =
            matches!(self.state.end(), Some(End::TimedOut | End::Stopped { .. } | End::Limit { .. }));
        if self.empty && !ordered {
            self.waiting.seen = Some(false);
            self.forget_wait_notice();
        }
        state.waiting = self.waiting.seen;
        Some(state)
    }

    fn forget_wait_notice(&mut self) {
        self.record.notices.retain(|notice| !matches!(notice, Notice::WaitingForInput { .. }));
    }

    /// The first member of the foreground that is blocked reading the input. A pipe has no foreground: whoever reads it
    /// counts.
    fn reader(&self, input: &InputEnd) -> Result<Option<i32>, Hidden> {
        let foreground = self.input.terminal().map(Terminal::foreground);
        let in_foreground = |pid: &i32| {
            let group = || proctree::read_stat(*pid).ok().flatten().map(|stat| stat.pgrp);
            foreground.is_none_or(|foreground| foreground == group())
        };
        let members = self.members().into_iter().map(|member| member.pid);
        let mut answer = Ok(None);
        for pid in members.filter(in_foreground).take(MEMBERS_MAX) {
            match waits_for(pid, input) {
                Ok(true) => return Ok(Some(pid)),
                Ok(false) => {}
                Err(Hidden) => answer = Err(Hidden),
            }
        }
        answer
    }
}
