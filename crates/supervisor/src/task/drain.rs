//! From the leader's pipes into the spool: as long as anything holds them, without ever waiting for end of file.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;

use rustix::event::epoll;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::{Task, clients::Role, place::Place, terminal::HELD_BYTES_MAX, token};
use crate::clock;
use crate::end::Crossed;
use crate::lifecycle::OnOutputCap;
use crate::spool::{Drained, Stream};
use crate::wire::{FromSupervisor, Notice};

/// A task on tmpfs holds at most so much.
const VOLATILE_BYTES_MAX: u64 = 64 << 10;
/// See [`Task::keep_within_bounds`].
const LOOKS_ONE_IN: u32 = 64;
/// Moves in a row from one pipe before everything else gets its turn.
const MOVES_IN_A_ROW: u32 = 8;
/// A full default pipe: its writer is faster than we wake up.
const FULL_PIPE_BYTES: u64 = 64 << 10;
const LARGE_PIPE_BYTES: usize = 1 << 20;
/// How long after the leader's end output of short-lived survivors is waited for (`> >(tee log)`).
const SETTLE_MS: u64 = 200;
/// How long after that, or after the last of them let go of the pipes, its end is waited for: a process that exits closes
/// its descriptors first and is a zombie later, and `coproc cat` ends only because its shell has ended.
const LEAVE_MS: u64 = 100;

/// What the leader writes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Pipe,
    Terminal,
}

/// One pipe of the leader, or its terminal.
#[derive(Debug)]
pub(super) struct Pipe {
    fd: OwnedFd,
    source: Source,
    watched: bool,
    enlarged: bool,
    /// What it held when the leader ended, or the tree was empty: still to be taken out.
    owed: u64,
}

/// The pipes that are still open.
#[derive(Debug, Default)]
pub(super) struct Pipes {
    pub(super) stdout: Option<Pipe>,
    pub(super) stderr: Option<Pipe>,
}

/// Our end of a pipe: never blocks.
pub(super) fn pipe(fd: OwnedFd) -> io::Result<Pipe> {
    fcntl_setfl(&fd, fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
    Ok(Pipe { fd, source: Source::Pipe, watched: false, enlarged: false, owed: 0 })
}

/// Our side of the leader's terminal, as a source of output: a descriptor of its own for the epoll set.
pub(super) fn terminal(master: BorrowedFd<'_>) -> io::Result<Pipe> {
    let fd = rustix::io::fcntl_dupfd_cloexec(master, 3)?;
    Ok(Pipe { fd, source: Source::Terminal, watched: false, enlarged: false, owed: 0 })
}

impl Pipes {
    fn slot(&mut self, stream: Stream) -> &mut Option<Pipe> {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    fn all_closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    fn owed(&self) -> u64 {
        [&self.stdout, &self.stderr].into_iter().flatten().map(|pipe| pipe.owed).sum()
    }
}

const STREAMS: [(Stream, u64); 2] = [(Stream::Stdout, token::STDOUT), (Stream::Stderr, token::STDERR)];

impl Task<'_> {
    /// Watches or unwatches the pipes: they are left alone while a lossless reader is behind. A pipe that is not
    /// watched is out of the set, because its hang-up would be reported all the same.
    pub(super) fn watch_pipes(&mut self) {
        let open = self.may_drain();
        for (stream, token) in STREAMS {
            let Some(pipe) = self.pipes.slot(stream) else { continue };
            if open == pipe.watched {
                continue;
            }
            let done = if open {
                epoll::add(&self.epoll, &pipe.fd, epoll::EventData::new_u64(token), epoll::EventFlags::IN)
            } else {
                epoll::delete(&self.epoll, &pipe.fd)
            };
            if done.is_ok() {
                pipe.watched = open;
            }
        }
    }

    /// Whether one more move drops nothing that a lossless reader still wants.
    fn may_drain(&self) -> bool {
        self.clients.oldest_wanted().is_none_or(|wanted| self.spool.keeps(wanted))
    }

    pub(super) fn drain_ready(&mut self, stream: Stream) {
        for _move in 0..MOVES_IN_A_ROW {
            if !self.may_drain() || !self.drain_once(stream, u64::MAX) {
                break;
            }
        }
    }

    /// One move; false when there is nothing more to take now.
    fn drain_once(&mut self, stream: Stream, most: u64) -> bool {
        let time_ms = clock::monotonic_ms() - self.started_ms;
        let most = if self.place.durable { most } else { most.min(self.volatile_room()) };
        let Some(pipe) = self.pipes.slot(stream) else { return false };
        let drained = match pipe.source {
            Source::Pipe => self.spool.drain(pipe.fd.as_fd(), stream, time_ms, most),
            Source::Terminal => self.spool.copy(pipe.fd.as_fd(), stream, time_ms, most),
        };
        let drained = match drained {
            // tmpfs is full, or gone: nothing is lost if there is room in the state directory.
            Ok(Drained::Refused(_)) if !self.place.durable && self.make_durable() => return true,
            Ok(Drained::Refused(errno)) => {
                let Some(pipe) = self.pipes.slot(stream) else { return false };
                self.spool.lose(pipe.fd.as_fd(), stream, errno)
            }
            drained => drained,
        };
        let Some(pipe) = self.pipes.slot(stream) else { return false };
        match drained {
            Ok(Drained::Some(count)) => {
                pipe.owed = pipe.owed.saturating_sub(count);
                if count >= FULL_PIPE_BYTES && !pipe.enlarged {
                    // An ordinary user has about 64 large pipes (fs.pipe-user-pages-soft); without one it is slower.
                    pipe.enlarged = true;
                    let _smaller_will_do = rustix::pipe::fcntl_setpipe_size(&pipe.fd, LARGE_PIPE_BYTES);
                }
                self.after_growth();
                true
            }
            Ok(Drained::Dry | Drained::Refused(_)) => {
                pipe.owed = 0;
                false
            }
            Ok(Drained::Eof) | Err(_) => {
                *self.pipes.slot(stream) = None;
                false
            }
        }
    }

    /// What still fits on tmpfs; at the limit the task moves first.
    fn volatile_room(&mut self) -> u64 {
        let used = self.spool.header().total;
        if used >= VOLATILE_BYTES_MAX {
            self.make_durable();
            return u64::MAX;
        }
        VOLATILE_BYTES_MAX - used
    }

    fn after_growth(&mut self) {
        self.look_for_reader_later();
        self.something_happened();
        let header = *self.spool.header();
        if header.dropped_bytes() > header.lost_bytes && !self.capped_told {
            self.capped_told = true;
            self.notice(Notice::SpoolCapped { offset: header.linear_end });
            if self.launch.on_output_cap == OnOutputCap::Kill {
                self.crossed =
                    Some(Crossed { limit: "output", used: header.total, max: self.spool.size_bytes() });
            }
        }
        if !self.limited_told
            && let Some(bytes) = self.spool.limited_to()
        {
            self.limited_told = true;
            self.notice(Notice::SpoolLimited { bytes });
        }
        if let Some(errno) = self.spool.error.take() {
            // Of a terminal: its bytes are read before they are stored.
            self.make_durable();
            let first = self.record.notices.iter().all(|notice| !matches!(notice, Notice::SpoolLost { .. }));
            if first {
                self.notice(Notice::SpoolLost { bytes: header.lost_bytes, why: errno.to_string() });
            }
        }
    }

    /// One task in so many looks at all of them when it has ended, so that those that are too small to claim anything
    /// are bounded too.
    pub(super) fn keep_within_bounds(&self) {
        let sum: u32 = self.launch.id.bytes().map(u32::from).sum();
        if sum.is_multiple_of(LOOKS_ONE_IN) {
            self.place.keep_within(self.launch.output_total_bytes);
        }
    }

    /// The leader is dead: all that it wrote is in the pipes. Notes how much that is, so that a chatty survivor cannot
    /// extend the drain.
    pub(super) fn note_owed(&mut self) {
        for (stream, _) in STREAMS {
            if let Some(pipe) = self.pipes.slot(stream) {
                pipe.owed = match pipe.source {
                    Source::Pipe => rustix::io::ioctl_fionread(&pipe.fd).unwrap_or(0),
                    // What it really holds is known when a read finds it empty.
                    Source::Terminal => HELD_BYTES_MAX,
                };
            }
        }
    }

    /// Takes out what is owed, as far as lossless readers allow; true when nothing is owed any more.
    pub(super) fn settle_debts(&mut self) -> bool {
        for (stream, _) in STREAMS {
            while self.may_drain() {
                let Some(owed) =
                    self.pipes.slot(stream).as_ref().map(|pipe| pipe.owed).filter(|owed| *owed > 0)
                else {
                    break;
                };
                if !self.drain_once(stream, owed) {
                    break;
                }
            }
        }
        self.pipes.owed() == 0
    }

    /// Starts the wait for output of short-lived survivors, and for their end.
    pub(super) fn begin_settling(&mut self) {
        self.timers.settle = Some(clock::monotonic_ms() + SETTLE_MS);
        self.shorten_settling();
    }

    /// End of file on both pipes: only the end of who held them is waited for.
    pub(super) fn shorten_settling(&mut self) {
        if self.pipes.all_closed()
            && let Some(at) = &mut self.timers.settle
        {
            *at = (*at).min(clock::monotonic_ms() + LEAVE_MS);
        }
    }

    /// Moves the task from tmpfs to the state directory. Readers are told; those that are not connected find it by id.
    pub(super) fn make_durable(&mut self) -> bool {
        if self.place.durable {
            return true;
        }
        let durable_dir = self.launch.durable_dir.as_path().to_owned();
        match self.move_to(&durable_dir) {
            Ok(place) => {
                // RACE(promotion-exit): the leader ends while the task is in two places; closed by this one thread, to
                // which the end is an event of a later turn, when only the new place is left to be written to.
                fault::point("promotion-exit");
                let old = std::mem::replace(&mut self.place, place);
                old.forget_contents();
                // A shell may still have to write its end report to the FIFO there.
                self.old_place = Some(old);
                self.register_listener();
                let dir = self.place.wire_path();
                self.clients.tell(Role::Host, &FromSupervisor::Moved { dir });
                true
            }
            Err(error) => {
                // Stay where we are, without another attempt at every chunk.
                self.place.durable = true;
                let why = format!("move to {}: {error}", durable_dir.display());
                self.notice(Notice::Weaker { name: "durable".to_owned(), why });
                false
            }
        }
    }

    fn move_to(&mut self, durable_dir: &Path) -> io::Result<Place> {
        let place = self.place.elsewhere(durable_dir)?;
        self.refresh_record();
        let filled = self.record.write(&place.dir).and_then(|()| {
            self.spool.move_to(Rc::clone(&place.dir))?;
            self.spool.create_log()
        });
        match filled {
            Ok(()) => Ok(place),
            Err(error) => {
                place.remove();
                Err(error)
            }
        }
    }
}
