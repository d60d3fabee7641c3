//! Control connections: the host's own and those of whoever found the socket in the task's directory.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::clock;
use crate::datagram::{Received, receive};
use crate::keeper::above_stdio;
use crate::wire::{FromSupervisor, Launch, PROTOCOL, ToSupervisor, frame, take_frame};

/// A client that lets so much pile up does not read; it is told no more and finds all in record and spool.
const BACKLOG_BYTES_MAX: usize = 256 << 10;
/// Connections of one task at the same time.
const CLIENTS_MAX: usize = 64;
/// How long the last frames may wait for a slow reader.
const LAST_FLUSH_MS: u64 = 1000;

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The process that asked for the task.
    Host,
    /// Anybody else with the rights to our directory.
    Visitor,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) number: u64,
    pub(super) role: Role,
    socket: OwnedFd,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    /// Wants to know of new output.
    pub(super) attached: bool,
    /// The oldest byte that must not be dropped for its sake.
    pub(super) acked: Option<u64>,
    /// `total` as last told.
    told: u64,
    broken: bool,
}

impl Client {
    fn queue(&mut self, bytes: &[u8]) {
        if self.outgoing.len() + bytes.len() > BACKLOG_BYTES_MAX {
            self.broken = true;
            return;
        }
        self.outgoing.extend_from_slice(bytes);
        self.flush();
    }

    fn flush(&mut self) {
        while !self.outgoing.is_empty() && !self.broken {
            match send(&self.socket, &self.outgoing, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => drop(self.outgoing.drain(..count)),
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_gone) => self.broken = true,
            }
        }
        if self.outgoing.is_empty() {
            self.outgoing = Vec::new();
        }
    }

    /// Reads what is there.
    fn pull(&mut self) {
        let mut buffer = [0; 8192];
        loop {
            match recv(&self.socket, &mut buffer, RecvFlags::DONTWAIT) {
                Ok((_, 0)) => break self.broken = true,
                Ok((_, count)) => self.incoming.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_gone) => break self.broken = true,
            }
        }
    }
}

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Clients {
    list: Vec<Client>,
    next_number: u64,
}

impl Clients {
    fn add(&mut self, socket: OwnedFd, role: Role) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        self.list.push(Client {
            number,
            role,
            socket,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            attached: false,
            acked: None,
            told: 0,
            broken: false,
        });
        number
    }

    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= CLIENTS_MAX
    }

    pub(super) fn add_visitor(&mut self, socket: OwnedFd) -> u64 {
        self.add(socket, Role::Visitor)
    }

    /// Waits for the host's request; `None` when host or guard go before it is whole.
    pub(super) fn receive_launch(
        &mut self,
        orders: Option<&OwnedFd>,
        lifeline: RawFd,
    ) -> io::Result<Option<Launch>> {
        let lifeline = crate::sys::borrow(lifeline);
        let Some(orders) = orders else { return Ok(None) };
        loop {
            match receive(orders) {
                Received::Datagram(_, _, Some(host)) => {
                    self.add(above_stdio(host)?, Role::Host);
                    break;
                }
                Received::Nothing => {}
                _ => return Ok(None),
            }
            if !wait_readable(orders, lifeline)? {
                return Ok(None);
            }
        }
        loop {
            let Some(client) = self.list.first_mut() else { return Ok(None) };
            client.pull();
            let refused = match take_frame::<ToSupervisor>(&mut client.incoming) {
                Ok(Some(ToSupervisor::Launch(launch))) if launch.protocol == PROTOCOL => {
                    return Ok(Some(*launch));
                }
                Ok(Some(_)) => format!("expected a launch of protocol {PROTOCOL}"),
                Err(why) => why,
                Ok(None) if client.broken => return Ok(None),
                Ok(None) if wait_readable(&client.socket, lifeline)? => continue,
                Ok(None) => return Ok(None),
            };
            client.queue(&frame(&FromSupervisor::Refused { why: refused }));
            return Ok(None);
        }
    }

    /// Sockets with their numbers, for the epoll set.
    pub(super) fn sockets(&self) -> impl Iterator<Item = (u64, &OwnedFd)> {
        self.list.iter().map(|client| (client.number, &client.socket))
    }

    pub(super) fn socket(&self, number: u64) -> Option<&OwnedFd> {
        self.list.iter().find(|client| client.number == number).map(|client| &client.socket)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Client> {
        self.list.iter_mut().find(|client| client.number == number)
    }

    /// Everything that this connection has sent; then whether it is still there.
    pub(super) fn hear(&mut self, number: u64) -> Vec<ToSupervisor> {
        let Some(client) = self.get_mut(number) else { return Vec::new() };
        client.pull();
        let mut heard = Vec::new();
        loop {
            match take_frame(&mut client.incoming) {
                Ok(Some(message)) => heard.push(message),
                Ok(None) => return heard,
                Err(why) => {
                    client.queue(&frame(&FromSupervisor::Refused { why }));
                    client.broken = true;
                    return heard;
                }
            }
        }
    }

    /// Forgets broken connections; says which roles were lost.
    pub(super) fn drop_broken(&mut self) -> Vec<Role> {
        let lost = self.list.iter().filter(|client| client.broken).map(|client| client.role).collect();
        self.list.retain(|client| !client.broken);
        lost
    }

    pub(super) fn tell_one(&mut self, number: u64, message: &FromSupervisor) {
        let bytes = frame(message);
        if let Some(client) = self.get_mut(number) {
            client.queue(&bytes);
        }
    }

    pub(super) fn tell(&mut self, role: Role, message: &FromSupervisor) {
        let bytes = frame(message);
        self.list.iter_mut().filter(|client| client.role == role).for_each(|client| client.queue(&bytes));
    }

    pub(super) fn tell_all(&mut self, message: &FromSupervisor) {
        let bytes = frame(message);
        self.list.iter_mut().for_each(|client| client.queue(&bytes));
    }

    /// Tells attached clients how far the output is. One that has not taken the last frames is told later, once, of
    /// the newest offset: a slow reader costs nothing.
    pub(super) fn tell_growth(&mut self, total: u64) {
        for client in self.list.iter_mut().filter(|client| client.attached && client.told < total) {
            client.flush();
            if client.outgoing.is_empty() {
                client.told = total;
                client.queue(&frame(&FromSupervisor::Grew { total }));
            }
        }
    }

    /// Whether somebody is told of what happens.
    pub(super) fn any_attached(&self) -> bool {
        self.list.iter().any(|client| client.attached && !client.broken)
    }

    /// The oldest byte that a lossless reader has not taken yet.
    pub(super) fn oldest_wanted(&self) -> Option<u64> {
        self.list.iter().filter(|client| !client.broken).filter_map(|client| client.acked).min()
    }

    /// Gives the last frames a bounded time to leave.
    pub(super) fn flush_last(&mut self) {
        let deadline = clock::monotonic_ms() + LAST_FLUSH_MS;
        loop {
            self.list.iter_mut().for_each(Client::flush);
            let mut waiting: Vec<PollFd<'_>> = self
                .list
                .iter()
                .filter(|client| !client.broken && !client.outgoing.is_empty())
                .map(|client| PollFd::new(&client.socket, PollFlags::OUT))
                .collect();
            let left = deadline.saturating_sub(clock::monotonic_ms());
            if waiting.is_empty() || left == 0 {
                return;
            }
            let timeout =
                Timespec { tv_sec: 0, tv_nsec: i64::try_from(left.min(999)).unwrap_or(0) * 1_000_000 };
            let _again = poll(&mut waiting, Some(&timeout));
        }
    }

    /// Interest in writability, for the epoll set.
    pub(super) fn has_backlog(&self, number: u64) -> bool {
        self.list.iter().any(|client| client.number == number && !client.outgoing.is_empty())
    }

    pub(super) fn flush_one(&mut self, number: u64) {
        if let Some(client) = self.get_mut(number) {
            client.flush();
        }
    }
}

/// Waits until `fd` is readable; false when the guard or the session has gone.
fn wait_readable(fd: &OwnedFd, lifeline: BorrowedFd<'_>) -> io::Result<bool> {
    loop {
        let mut polled =
            [PollFd::new(fd, PollFlags::IN), PollFd::from_borrowed_fd(lifeline, PollFlags::empty())];
        match poll(&mut polled, None) {
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
            Ok(_) => {
                let [readable, gone] = polled;
                // A request that has come is taken even if its owner has gone since: `--keep` may be in it.
                return Ok(!readable.revents().is_empty() || gone.revents().is_empty());
            }
        }
    }
}

/// Takes a new connection if it is from our own user or root.
pub(super) fn accept(listener: &OwnedFd) -> Option<OwnedFd> {
    let flags = rustix::net::SocketFlags::CLOEXEC | rustix::net::SocketFlags::NONBLOCK;
    let socket = rustix::net::accept_with(listener.as_fd(), flags).ok()?;
    let peer = rustix::net::sockopt::socket_peercred(&socket).ok()?;
    let ours = rustix::process::geteuid();
    (peer.uid == ours || peer.uid.is_root()).then_some(socket)
}
