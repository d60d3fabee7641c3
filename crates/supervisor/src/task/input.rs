//! From clients into the task's pipe or terminal, without ever waiting for its reader.
//!
//! What the kernel does not take at once waits here, at most one order a client: a sender hears of its order when it is
//! written and only then sends the next, so that a reader that is slow holds up its senders and nobody else.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll;
use rustix::io::Errno;

use super::terminal::{LINE_BYTES_MAX, Terminal};
use super::{Task, clients::Clients, token};
use crate::blocked::InputEnd;
use crate::spool::Stream;
use crate::wire::{
    FromSupervisor, INPUT_BYTES_MAX, InputAnswer, InputKind, InputOrder, InputRefusal, InputState,
    TerminalSize,
};

/// What a client has sent and the kernel has not taken yet.
#[derive(Debug)]
struct Pending {
    client: u64,
    bytes: Vec<u8>,
    written: usize,
    /// The end of the input follows.
    eof: bool,
}

/// Where input goes.
#[derive(Debug)]
pub(super) enum Sink {
    /// The writing end of the leader's descriptor 0; it never blocks.
    Pipe(OwnedFd),
    /// The terminal that we hold.
    Terminal(Terminal),
}

impl Sink {
    fn kind(&self) -> InputKind {
        match self {
            Self::Pipe(_) => InputKind::Pipe,
            Self::Terminal(_) => InputKind::Terminal,
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Pipe(fd) => fd.as_fd(),
            Self::Terminal(terminal) => terminal.master(),
        }
    }
}

/// The input of a task.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    /// `None`: it takes none, or no more.
    sink: Option<Sink>,
    kind: Option<InputKind>,
    /// Why it takes no more.
    closed: Option<InputRefusal>,
    queue: VecDeque<Pending>,
    watched: bool,
    written_bytes: u64,
}

impl Inputs {
    pub(super) fn of(sink: Option<Sink>) -> Self {
        Self { kind: sink.as_ref().map(Sink::kind), sink, ..Self::default() }
    }

    pub(super) fn is_open(&self) -> bool {
        self.sink.is_some()
    }

    /// The end that readers hold, as the kernel names it.
    pub(super) fn end(&self) -> Option<InputEnd> {
        match self.sink.as_ref()? {
            Sink::Pipe(fd) => InputEnd::of(fd.as_fd()),
            Sink::Terminal(terminal) => InputEnd::of(terminal.other_side()),
        }
    }

    pub(super) fn kind(&self) -> Option<InputKind> {
        self.kind
    }

    pub(super) fn terminal(&self) -> Option<&Terminal> {
        match &self.sink {
            Some(Sink::Terminal(terminal)) => Some(terminal),
            _ => None,
        }
    }

    /// How it stands; whether somebody waits for it is found out by whoever asks.
    pub(super) fn state(&self) -> Option<InputState> {
        let pending: usize = self.queue.iter().map(|pending| pending.bytes.len() - pending.written).sum();
        Some(InputState {
            kind: self.kind?,
            open: self.sink.is_some(),
            written_bytes: self.written_bytes,
            pending_bytes: pending as u64,
            waiting: None,
            terminal: self.terminal().map(Terminal::state),
        })
    }

    fn refusal(&self, client: u64, order: &InputOrder) -> Option<InputRefusal> {
        if self.kind.is_none() {
            return Some(InputRefusal::NoInput);
        }
        if self.closed.is_some() {
            return self.closed;
        }
        if order.bytes.0.len() > INPUT_BYTES_MAX || self.queue.iter().any(|pending| pending.client == client)
        {
            return Some(InputRefusal::TooMuch);
        }
        let longest = self.terminal().map_or(0, |terminal| terminal.longest_line(&order.bytes.0));
        (longest > LINE_BYTES_MAX).then_some(InputRefusal::LineTooLong)
    }

    /// Writes what the kernel takes now; the answers that are due.
    fn pump(&mut self) -> Vec<(u64, InputAnswer)> {
        let mut answers = Vec::new();
        while let Some(pending) = self.queue.front_mut() {
            let Some(sink) = &mut self.sink else {
                answers.extend(self.fail(self.closed.unwrap_or(InputRefusal::ReaderClosed)));
                break;
            };
            let rest = pending.bytes.get(pending.written..).unwrap_or_default();
            if rest.is_empty() && pending.eof {
                pending.eof = false;
                match sink {
                    Sink::Pipe(_) => {
                        self.sink = None;
                        self.closed = Some(InputRefusal::AfterEof);
                    }
                    Sink::Terminal(terminal) => {
                        // Typed like any other character, and counted as none of the sender's.
                        if terminal.type_eof() == Err(Errno::AGAIN) {
                            pending.eof = true;
                            break;
                        }
                    }
                }
            } else if !rest.is_empty() {
                match rustix::io::write(sink.fd(), rest) {
                    Ok(count) => {
                        if let Sink::Terminal(terminal) = sink {
                            terminal.typed(rest.get(..count).unwrap_or_default());
                        }
                        pending.written += count;
                        self.written_bytes += count as u64;
                    }
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => break,
                    // SIGPIPE is blocked in a keeper. No reader can come back to a pipe that has lost its last one.
                    Err(Errno::PIPE) => {
                        self.sink = None;
                        self.closed = Some(InputRefusal::ReaderClosed);
                    }
                    Err(errno) => answers.extend(self.fail(InputRefusal::Failed(errno.raw_os_error()))),
                }
                continue;
            }
            if let Some(done) = self.queue.pop_front() {
                answers.push((done.client, InputAnswer { written: done.written as u64, refused: None }));
            }
        }
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
        answers
    }

    fn fail(&mut self, why: InputRefusal) -> Vec<(u64, InputAnswer)> {
        let failed = std::mem::take(&mut self.queue).into_iter();
        failed
            .map(|pending| {
                let written = pending.written as u64;
                (pending.client, InputAnswer { written, refused: Some(why) })
            })
            .collect()
    }

    fn forget(&mut self, client: u64) -> u64 {
        let written: usize =
            self.queue.iter().filter(|pending| pending.client == client).map(|it| it.written).sum();
        self.queue.retain(|pending| pending.client != client);
        u64::try_from(written).unwrap_or(u64::MAX)
    }

    fn forget_gone(&mut self, clients: &Clients) {
        self.queue.retain(|pending| clients.socket(pending.client).is_some());
    }

    /// In the epoll set only while something waits: a pipe without a reader would report that for ever.
    fn watch(&mut self, epoll: &OwnedFd) {
        let wanted = !self.queue.is_empty();
        let Some(sink) = self.sink.as_ref().filter(|_| wanted != self.watched) else { return };
        let done = if wanted {
            epoll::add(epoll, sink.fd(), epoll::EventData::new_u64(token::INPUT), epoll::EventFlags::OUT)
        } else {
            epoll::delete(epoll, sink.fd())
        };
        if done.is_ok() {
            self.watched = wanted;
        }
    }
}

impl Task<'_> {
    pub(super) fn take_input(&mut self, client: u64, order: InputOrder) {
        if let Some(why) = self.input.refusal(client, &order) {
            return self.answer_input(client, InputAnswer { written: 0, refused: Some(why) });
        }
        let InputOrder { bytes, eof } = order;
        self.input.queue.push_back(Pending { client, bytes: bytes.0, written: 0, eof });
        self.pump_input();
    }

    pub(super) fn pump_input(&mut self) {
        let before = (self.input.written_bytes, self.input.is_open());
        let answers = self.input.pump();
        // The terminal's end-of-file character is not counted.
        if before != (self.input.written_bytes, self.input.is_open()) || !answers.is_empty() {
            self.reader_was_fed();
        }
        for (client, answer) in answers {
            self.answer_input(client, answer);
        }
        self.input.watch(&self.epoll);
    }

    pub(super) fn drop_input(&mut self, client: u64) {
        let written = self.input.forget(client);
        self.answer_input(client, InputAnswer { written, refused: Some(InputRefusal::GivenUp) });
        self.pump_input();
    }

    /// Nobody waits any more for the answers of those that have gone.
    pub(super) fn drop_input_of_gone(&mut self) {
        if !self.input.queue.is_empty() {
            self.input.forget_gone(&self.clients);
            self.pump_input();
        }
    }

    pub(super) fn resize(&mut self, client: u64, size: TerminalSize) {
        // What was written for the old size is shown at it.
        self.drain_ready(Stream::Stdout);
        let refused = match (self.input.kind, self.input.terminal()) {
            (None, _) => Some(InputRefusal::NoInput),
            (Some(InputKind::Pipe), _) | (_, None) => Some(InputRefusal::NoTerminal),
            (_, Some(terminal)) => {
                terminal.resize(size).err().map(|errno| InputRefusal::Failed(errno.raw_os_error()))
            }
        };
        if refused.is_none() {
            self.note_size(size);
        }
        self.answer_input(client, InputAnswer { written: 0, refused });
    }

    fn answer_input(&mut self, client: u64, answer: InputAnswer) {
        self.clients.tell_one(client, &FromSupervisor::Input(answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::ByteStr;
    use rustix::pipe::{PipeFlags, pipe_with};

    fn pipe() -> (OwnedFd, Inputs) {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).expect("a pipe");
        (reader, Inputs::of(Some(Sink::Pipe(writer))))
    }

    fn push(input: &mut Inputs, client: u64, bytes: &[u8], eof: bool) -> Option<InputRefusal> {
        let order = InputOrder { bytes: ByteStr(bytes.to_vec()), eof };
        let refused = input.refusal(client, &order);
        if refused.is_none() {
            input.queue.push_back(Pending { client, bytes: order.bytes.0, written: 0, eof });
        }
        refused
    }

    fn take(reader: &OwnedFd, most: usize) -> usize {
        rustix::io::read(reader, &mut vec![0; most]).unwrap_or(0)
    }

    #[test]
    fn a_full_pipe_holds_up_its_sender_and_no_byte_is_counted_twice() {
        let (reader, mut input) = pipe();
        let mut sent = 0;
        while input.queue.is_empty() {
            assert_eq!(push(&mut input, 1, &[7; INPUT_BYTES_MAX], false), None);
            sent += INPUT_BYTES_MAX;
            let answers = input.pump();
            assert!(answers.iter().all(|(_, answer)| answer.refused.is_none()));
        }
        assert_eq!(push(&mut input, 1, b"more", false), Some(InputRefusal::TooMuch));
        assert_eq!(push(&mut input, 2, b"", true), None);
        let mut taken = 0;
        while taken < sent {
            taken += take(&reader, 5000);
            input.pump();
        }
        assert_eq!((taken, input.written_bytes), (sent, sent as u64));
        // End of file came in its turn.
        assert_eq!(rustix::io::read(&reader, &mut [0; 1]), Ok(0));
        assert_eq!(push(&mut input, 3, b"late", false), Some(InputRefusal::AfterEof));
    }

    #[test]
    fn a_reader_that_went_is_an_error_with_what_was_written() {
        let (reader, mut input) = pipe();
        assert_eq!(push(&mut input, 1, b"abc", false), None);
        assert_eq!(input.pump(), [(1, InputAnswer { written: 3, refused: None })]);
        drop(reader);
        assert_eq!(push(&mut input, 1, b"def", false), None);
        let closed = Some(InputRefusal::ReaderClosed);
        assert_eq!(input.pump(), [(1, InputAnswer { written: 0, refused: closed })]);
        assert_eq!(push(&mut input, 1, b"", true), closed);
    }

    #[test]
    fn a_task_without_input_says_so() {
        assert_eq!(push(&mut Inputs::default(), 1, b"x", false), Some(InputRefusal::NoInput));
    }
}
