//! Datagrams between host and guard: a fixed layout, at most one descriptor each.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Host to guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToGuard {
    /// First datagram; carries the owner's pidfd where there is one.
    Hello {
        /// Protocol version of the host.
        protocol: u32,
        /// The owner's pid.
        owner_pid: i32,
    },
    /// Make a supervisor for the socket that comes with it.
    Spawn {
        /// The host's number for it.
        number: u32,
    },
    /// The session is closed: end every task that is not kept, whoever owns them, and say when that is done.
    Close,
}

/// Guard to host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromGuard {
    /// No supervisor could be made.
    Failed {
        /// The host's number.
        number: u32,
        /// Why.
        errno: i32,
    },
    /// A supervisor died without having finished; what it left has been killed, to ECHILD.
    Crashed {
        /// The host's number.
        number: u32,
        /// Its raw wait status.
        status: i32,
    },
    /// The answer to [`ToGuard::Close`]: nothing lives but what is kept.
    Settled {
        /// So many tasks are kept; without any the guard ends now.
        kept: u32,
    },
}

/// Bytes of a datagram.
pub const DATAGRAM_BYTES: usize = 12;

fn pack(words: [u32; 3]) -> [u8; DATAGRAM_BYTES] {
    let mut bytes = [0; DATAGRAM_BYTES];
    for (slot, word) in bytes.chunks_exact_mut(4).zip(words) {
        slot.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn unpack(bytes: &[u8]) -> Option<[u32; 3]> {
    let mut words = [0; 3];
    if bytes.len() != DATAGRAM_BYTES {
        return None;
    }
    for (word, slot) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_le_bytes(*slot.first_chunk::<4>()?);
    }
    Some(words)
}

impl ToGuard {
    /// The datagram.
    pub fn encode(self) -> [u8; DATAGRAM_BYTES] {
        match self {
            Self::Hello { protocol, owner_pid } => pack([1, protocol, owner_pid.cast_unsigned()]),
            Self::Spawn { number } => pack([2, number, 0]),
            Self::Close => pack([3, 0, 0]),
        }
    }

    /// Reads one back; `None` for a foreign one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        match unpack(bytes)? {
            [1, protocol, owner] => Some(Self::Hello { protocol, owner_pid: owner.cast_signed() }),
            [2, number, _] => Some(Self::Spawn { number }),
            [3, ..] => Some(Self::Close),
            _ => None,
        }
    }
}

impl FromGuard {
    /// The datagram.
    pub fn encode(self) -> [u8; DATAGRAM_BYTES] {
        match self {
            Self::Failed { number, errno } => pack([1, number, errno.cast_unsigned()]),
            Self::Crashed { number, status } => pack([2, number, status.cast_unsigned()]),
            Self::Settled { kept } => pack([3, kept, 0]),
        }
    }

    /// Reads one back; `None` for a foreign one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        match unpack(bytes)? {
            [1, number, errno] => Some(Self::Failed { number, errno: errno.cast_signed() }),
            [2, number, status] => Some(Self::Crashed { number, status: status.cast_signed() }),
            [3, kept, _] => Some(Self::Settled { kept }),
            _ => None,
        }
    }
}

/// Sends one datagram, with one descriptor or none, without blocking and without SIGPIPE.
///
/// # Errors
/// Those of `sendmsg(2)`; `WouldBlock` while the other end is behind.
pub fn send(socket: impl AsFd, bytes: &[u8], fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let fds: Vec<BorrowedFd<'_>> = fd.into_iter().collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, flags)?;
    Ok(())
}

/// What came in.
#[derive(Debug)]
pub enum Received {
    /// A datagram and the descriptor that came with it.
    Datagram([u8; DATAGRAM_BYTES], usize, Option<OwnedFd>),
    /// Nothing now.
    Nothing,
    /// The other end is gone.
    Closed,
}

/// Receives one datagram without blocking.
pub fn receive(socket: impl AsFd) -> Received {
    let mut bytes = [0; DATAGRAM_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let message = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags);
    match message {
        Ok(message) if message.bytes > 0 => {
            let mut descriptor = None;
            for part in ancillary.drain() {
                if let RecvAncillaryMessage::ScmRights(fds) = part {
                    descriptor = fds.into_iter().next();
                }
            }
            Received::Datagram(bytes, message.bytes, descriptor)
        }
        Err(Errno::AGAIN | Errno::INTR) => Received::Nothing,
        // End of file, and every error: a broken line is a closed one.
        _ => Received::Closed,
    }
}
