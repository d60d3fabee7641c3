//! The kernel's process events by netlink, see `<linux/cn_proc.h>`. Needs `CAP_NET_ADMIN` before Linux 6.6, and the
//! initial PID and user namespaces always.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, send, socket_with, sockopt,
};

use crate::parse::connector::{Message, ProcEvent, listen_request, parse_messages};

/// Room for events that wait for us; about 50,000 of them.
const QUEUE_BYTES: usize = 4 << 20;

/// How long the kernel may take to answer that it will tell us. It answers at once, or never where it cannot.
const ANSWER: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };

/// A subscription to the events of all processes.
#[derive(Debug)]
pub(crate) struct ProcEvents {
    socket: Arc<OwnedFd>,
    /// What came before the answer to our request.
    early: Vec<ProcEvent>,
}

/// Something to wait on for events, while somebody else reads them.
#[derive(Debug)]
pub(crate) struct Watch(pub(super) Arc<OwnedFd>);

/// Whether all that happened was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drained {
    All,
    /// The queue overflowed: events are missing.
    Lost,
}

impl ProcEvents {
    /// Subscribes; an error where the kernel has no connector or does not let us.
    pub(crate) fn open() -> io::Result<Self> {
        const CN_IDX_PROC: u32 = 1;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::CONNECTOR))?;
        // Without privilege the usual size has to do; an overflow is noticed.
        let _ = sockopt::set_socket_recv_buffer_size_force(&socket, QUEUE_BYTES)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, QUEUE_BYTES));
        bind(&socket, &SocketAddrNetlink::new(0, 1 << (CN_IDX_PROC - 1)))?;
        send(&socket, &listen_request(true), SendFlags::empty())?;
        let mut events = Self { socket: Arc::new(socket), early: Vec::new() };
        events.await_answer()?;
        Ok(events)
    }

    pub(crate) fn watch(&self) -> Watch {
        Watch(Arc::clone(&self.socket))
    }

    fn await_answer(&mut self) -> io::Result<()> {
        loop {
            let ready = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&ANSWER))?;
            if ready == 0 {
                return Err(io::ErrorKind::Unsupported.into());
            }
            let (mut answer, mut early) = (None, std::mem::take(&mut self.early));
            self.receive(&mut |message| match message {
                Message::Acknowledged(errno) => answer = Some(errno),
                Message::Event(event) => early.push(event),
            })?;
            self.early = early;
            match answer {
                Some(0) => return Ok(()),
                Some(_) => return Err(io::ErrorKind::PermissionDenied.into()),
                None => {}
            }
        }
    }

    /// Hands all that waits to `found` and returns.
    pub(crate) fn drain(&mut self, found: &mut dyn FnMut(ProcEvent)) -> io::Result<Drained> {
        self.early.drain(..).for_each(&mut *found);
        let mut drained = Drained::All;
        loop {
            let event = &mut |message| {
                if let Message::Event(event) = message {
                    found(event);
                }
            };
            match self.receive(event) {
                Ok(Received::Datagram) => {}
                Ok(Received::Nothing) => return Ok(drained),
                Err(Errno::NOBUFS) => drained = Drained::Lost,
                Err(e) => return Err(e.into()),
            }
        }
    }

    fn receive(&self, found: &mut dyn FnMut(Message)) -> rustix::io::Result<Received> {
        let mut buffer = [0; 4096];
        let (_, length, from) = match recvfrom(&self.socket, &mut buffer, RecvFlags::empty()) {
            Ok(received) => received,
            Err(Errno::AGAIN) => return Ok(Received::Nothing),
            Err(Errno::INTR) => return Ok(Received::Datagram),
            Err(e) => return Err(e),
        };
        // Port 0 is the kernel: what another process sends us is no event.
        let from = from.and_then(|address| SocketAddrNetlink::try_from(address).ok());
        if from.is_some_and(|address| address.pid() == 0) {
            parse_messages(buffer.get(..length).unwrap_or_default(), found);
        }
        Ok(Received::Datagram)
    }
}

impl Drop for ProcEvents {
    fn drop(&mut self) {
        // The kernel counts its listeners and makes no events when there are none.
        let _ = send(&self.socket, &listen_request(false), SendFlags::empty());
    }
}

enum Received {
    Datagram,
    Nothing,
}
