//! Notices that come of output and time: nothing for a while, a spool that is nearly full, ports that appeared. Nobody is
//! woken for them at rest: output sets a timer, a few looks follow, each further from the one before, and the last ends it.

use proctree::Proto;

use super::Task;
use crate::clock;
use crate::lifecycle::State;
use crate::wire::Notice;

/// A task that says nothing for so long is told of, once for each silence.
const SILENCE_MS: u64 = 60_000;
/// When its ports are looked at, counted from the look before; the first counts from its start or its output.
const LOOKS_MS: [u64; 6] = [250, 500, 1000, 2000, 4000, 8000];
/// Ports that are told of; a scanner of all ports is no news after these.
const PORTS_MAX: usize = 32;
/// Members that are looked at.
const MEMBERS_MAX: usize = 256;

/// What was told.
#[derive(Debug, Default)]
pub(super) struct News {
    looks: usize,
    ports: Vec<(Proto, u16)>,
    near_told: bool,
    silence_recorded: bool,
    silent_since_ms: u64,
}

impl Task<'_> {
    /// The task began, or wrote something.
    pub(super) fn something_happened(&mut self) {
        let now = clock::monotonic_ms();
        self.news.silent_since_ms = now;
        self.timers.silence = Some(now + silence_ms());
        self.look_for_ports_later();
        self.tell_near_limit();
    }

    /// Somebody attached is told of ports; without one nobody looks.
    pub(super) fn look_for_ports_later(&mut self) {
        if self.timers.ports.is_none() && self.clients.any_attached() && self.news.ports.len() < PORTS_MAX {
            self.news.looks = 0;
            self.timers.ports = Some(clock::monotonic_ms() + LOOKS_MS[0]);
        }
    }

    fn tell_near_limit(&mut self) {
        let (used, max) = (self.spool.header().total, self.launch.output_cap_bytes);
        if !self.news.near_told && used >= max - max / 4 {
            self.news.near_told = true;
            self.notice(Notice::LimitNear { limit: "output".to_owned(), used, max });
        }
    }

    /// The silence timer is due.
    pub(super) fn silence(&mut self) {
        if !matches!(self.state, State::Running) {
            return;
        }
        let notice = Notice::Quiet { ms: clock::monotonic_ms() - self.news.silent_since_ms };
        if self.news.silence_recorded {
            // The record says that there was one; a task of days would fill it with them.
            self.clients.tell_all(&crate::wire::FromSupervisor::Notice(notice));
        } else {
            self.news.silence_recorded = true;
            self.notice(notice);
        }
    }

    /// Tells of the TCP and UDP ports that members have opened since the last look.
    pub(super) fn look_for_ports(&mut self) {
        if self.empty || !self.clients.any_attached() {
            return;
        }
        let members: Vec<i32> =
            self.members().into_iter().map(|member| member.pid).take(MEMBERS_MAX).collect();
        for listener in proctree::listening_ports(&members) {
            let port = (listener.proto, listener.port);
            let known = listener.proto == Proto::Unix || self.news.ports.contains(&port);
            if !known && self.news.ports.len() < PORTS_MAX {
                self.news.ports.push(port);
                self.notice(Notice::Listening { pid: listener.pid, port: listener.port });
            }
        }
        self.news.looks += 1;
        self.timers.ports =
            LOOKS_MS.get(self.news.looks).map(|later| clock::monotonic_ms().saturating_add(*later));
    }
}

fn silence_ms() -> u64 {
    fault::order("silence-ms").and_then(|text| text.parse().ok()).unwrap_or(SILENCE_MS)
}
