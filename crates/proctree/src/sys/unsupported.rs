//! Systems that this crate does not know: it compiles, and every question is answered with `Unsupported`.

use std::io;

use std::time::Duration;

use super::{ChildEvent, Sent, Woken};
use crate::parse::connector::ProcEvent;
use crate::parse::stat::Stat;

#[cfg(unix)]
use super::Signal;

/// A signal number. There are none on this system, so there is no value of this type.
#[cfg(not(unix))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {}

/// A handle to a process; never made on this system.
#[derive(Debug)]
pub(crate) enum PidHandle {}

impl PidHandle {
    pub(crate) fn open(_pid: i32) -> io::Result<Option<Self>> {
        unsupported()
    }

    pub(crate) fn signal(&self, _signal: Signal) -> io::Result<Sent> {
        match *self {}
    }

    pub(crate) fn parent(&self) -> Option<i32> {
        match *self {}
    }

    pub(crate) fn is_dead(&self) -> bool {
        match *self {}
    }
}

pub(crate) fn pidfd_supported() -> bool {
    false
}

/// Nothing is known, so nothing is dead.
pub(crate) fn exists(_pid: i32) -> bool {
    true
}

pub(crate) fn kill_now(_pid: i32, _signal: Signal) -> io::Result<Sent> {
    unsupported()
}

pub(crate) fn read_stat(_pid: i32) -> io::Result<Option<Stat>> {
    unsupported()
}

pub(crate) fn rttime_hard_limit(_pid: i32) -> Option<u64> {
    None
}

pub(crate) fn for_each_chunk(
    _pid: i32,
    _file: &str,
    _chunk: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<Option<()>> {
    unsupported()
}

pub(crate) fn for_each_child(_pid: i32, _found: &mut dyn FnMut(ChildEvent)) -> io::Result<()> {
    unsupported()
}

pub(crate) fn for_each_child_of_thread(_found: &mut dyn FnMut(i32)) -> io::Result<()> {
    unsupported()
}

pub(crate) fn for_each_pid(_found: &mut dyn FnMut(i32)) -> io::Result<()> {
    unsupported()
}

pub(crate) fn for_each_process(_found: &mut dyn FnMut(i32, u64)) -> io::Result<()> {
    unsupported()
}

pub(crate) fn for_each_socket(_pid: i32, _found: &mut dyn FnMut(u64)) -> io::Result<()> {
    unsupported()
}

pub(crate) fn for_each_descriptor(_pid: i32, _found: &mut dyn FnMut(i32)) -> io::Result<()> {
    unsupported()
}

pub(crate) fn page_bytes() -> u64 {
    4096
}

pub(crate) fn net_namespace(_pid: i32) -> Option<u64> {
    None
}

pub(crate) fn host_id() -> io::Result<(String, String, u64)> {
    unsupported()
}

/// Process events; never had on this system.
#[derive(Debug)]
pub(crate) enum ProcEvents {}

#[expect(dead_code, reason = "nothing is drained on this system")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drained {
    All,
    Lost,
}

impl ProcEvents {
    pub(crate) fn open() -> io::Result<Self> {
        unsupported()
    }

    pub(crate) fn drain(&mut self, _found: &mut dyn FnMut(ProcEvent)) -> io::Result<Drained> {
        match *self {}
    }

    pub(crate) fn watch(&self) -> Watch {
        match *self {}
    }
}

/// Something to wait on; never had on this system.
#[derive(Debug)]
pub(crate) enum Watch {}

/// Wakes nobody: nobody waits on this system.
#[derive(Debug)]
pub(crate) enum Waker {}

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        unsupported()
    }

    pub(crate) fn wake(&self) {
        match *self {}
    }
}

pub(crate) fn wait(
    waker: &Waker,
    _leader: Option<&PidHandle>,
    _events: Option<&Watch>,
    _timeout: Option<Duration>,
) -> Woken {
    match *waker {}
}

fn unsupported<T>() -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}
