//! A connection to a supervisor and the small actor that serves it.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use supervisor::wire::{
    FromSupervisor, KillAnswer, Notice, Report, Started, ToSupervisor, frame, take_frame,
};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};

use crate::clock::Deadline;

/// What is known of a task through its connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    pub(crate) started: Option<Started>,
    pub(crate) dir: PathBuf,
    pub(crate) durable: bool,
    pub(crate) total: u64,
    /// The latest report while members live.
    pub(crate) report: Option<Arc<Report>>,
    /// The latest answer to a question how it stands.
    pub(crate) status: Option<Arc<Report>>,
    /// The last report: the tree is empty.
    pub(crate) ended: Option<Arc<Report>>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) moves: usize,
    pub(crate) statuses: usize,
    pub(crate) kills: Kills,
    pub(crate) refused: Option<String>,
    /// The connection has ended.
    pub(crate) closed: bool,
}

/// What became of the orders to end the task that went over this connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kills {
    pub(crate) taken: usize,
    pub(crate) answered: usize,
    /// The latest answer.
    pub(crate) answer: Option<Arc<KillAnswer>>,
}

/// The way to a task's control socket. `sun_path` holds 108 bytes, so the socket is reached through a descriptor of the
/// directory, which has to stay open until somebody has connected.
#[derive(Debug)]
pub(crate) struct ControlSocket(OwnedFd);

impl ControlSocket {
    pub(crate) fn of(dir: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(Self(open(dir, flags, Mode::empty())?))
    }

    pub(crate) fn path(&self) -> String {
        format!("/proc/self/fd/{}/{}", self.0.as_raw_fd(), supervisor::SOCKET_FILE)
    }
}

/// Frames over a stream. Reading is cancel-safe: what has come stays in the buffer.
#[derive(Debug)]
pub(crate) struct Link {
    stream: Arc<UnixStream>,
    buffer: Vec<u8>,
}

impl Link {
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream: Arc::new(stream), buffer: Vec::new() }
    }

    /// Connects to the control socket in a task's directory.
    pub(crate) async fn connect(dir: &Path) -> io::Result<Self> {
        let socket = ControlSocket::of(dir)?;
        Ok(Self::new(UnixStream::connect(socket.path()).await?))
    }

    /// Connects to a task that may have begun in this instant: its record comes first, its socket a little later.
    /// Gives up when the record says that the task has ended, or is gone; the caller bounds the time.
    pub(crate) async fn connect_patiently(dir: &Path) -> io::Result<Self> {
        loop {
            match Self::connect(dir).await {
                Err(error) if crate::registry::read_record(dir).is_ok_and(|record| !record.is_final()) => {
                    tracing::trace!(%error, "the control socket is not there yet");
                    Deadline::after(RETRY_AFTER).passed().await;
                }
                other => return other,
            }
        }
    }

    pub(crate) async fn send(&mut self, message: &ToSupervisor) -> io::Result<()> {
        let bytes = frame(message);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match self.stream.try_write(rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.stream.writable().await?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next frame; `None` at the end of the connection.
    pub(crate) async fn receive(&mut self) -> io::Result<Option<FromSupervisor>> {
        loop {
            if let Some(message) = take_frame(&mut self.buffer).map_err(io::Error::other)? {
                return Ok(Some(message));
            }
            self.buffer.reserve(READ_BYTES);
            match self.stream.try_read_buf(&mut self.buffer) {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.stream.readable().await?,
                Err(error) => return Err(error),
            }
        }
    }
}

/// Between two looks for a socket that is about to be made.
const RETRY_AFTER: Duration = Duration::from_millis(10);
/// Most reports fit.
const READ_BYTES: usize = 2048;

/// Hangs up when the last handle goes, at once and not only when the runtime turns again: for a foreground call this is
/// the cancel.
#[derive(Debug)]
struct HangUp(Arc<UnixStream>);

impl Drop for HangUp {
    fn drop(&mut self) {
        let _closed_already = rustix::net::shutdown(&*self.0, rustix::net::Shutdown::Both);
    }
}

/// The caller's side of the actor. Dropping the last one ends the connection, and with it a foreground call.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) view: watch::Receiver<View>,
    orders: mpsc::Sender<ToSupervisor>,
    _hang_up: Arc<HangUp>,
}

/// Orders that may wait for a supervisor that is behind.
const ORDERS_MAX: usize = 64;

impl Line {
    /// Starts the actor on the current runtime.
    pub(crate) fn serve(link: Link, first: Option<ToSupervisor>, dir: PathBuf) -> Self {
        let (publish, view) = watch::channel(View { dir, ..View::default() });
        let (orders, inbox) = mpsc::channel(ORDERS_MAX);
        let hang_up = Arc::new(HangUp(Arc::clone(&link.stream)));
        tokio::spawn(serve(link, first, inbox, publish));
        Self { view, orders, _hang_up: hang_up }
    }

    /// Sends an order; an error means that the connection has ended.
    pub(crate) async fn order(&self, message: ToSupervisor) -> Result<(), ()> {
        self.orders.send(message).await.map_err(drop)
    }

    /// Waits until the view satisfies `wanted`, or the connection has ended; gives the view.
    pub(crate) async fn until(&self, wanted: impl Fn(&View) -> bool) -> View {
        let mut view = self.view.clone();
        match view.wait_for(|view| view.closed || wanted(view)).await {
            Ok(view) => view.clone(),
            // The actor was dropped with its runtime.
            Err(_) => View { closed: true, ..self.view.borrow().clone() },
        }
    }
}

async fn serve(
    mut link: Link,
    first: Option<ToSupervisor>,
    mut inbox: mpsc::Receiver<ToSupervisor>,
    publish: watch::Sender<View>,
) {
    let mut open = true;
    if let Some(first) = first {
        open = link.send(&first).await.is_ok();
    }
    while open {
        tokio::select! {
            message = link.receive() => match message {
                Ok(Some(message)) => {
                    let last = matches!(message, FromSupervisor::Ended(_));
                    publish.send_modify(|view| apply(view, message));
                    if last {
                        // Nothing follows. Whoever waits finds the descriptor closed already.
                        return;
                    }
                }
                Ok(None) | Err(_) => break,
            },
            order = inbox.recv() => match order {
                Some(order) => open = link.send(&order).await.is_ok(),
                None => return,
            },
        }
    }
    // What came before a failed send is still worth reading.
    while let Ok(Some(message)) = link.receive().await {
        publish.send_modify(|view| apply(view, message));
    }
    publish.send_modify(|view| view.closed = true);
}

fn apply(view: &mut View, message: FromSupervisor) {
    match message {
        FromSupervisor::Started(started) => {
            started.dir.as_path().clone_into(&mut view.dir);
            view.started = Some(started);
        }
        FromSupervisor::Grew { total } => view.total = total,
        FromSupervisor::Notice(notice) => view.notices.push(notice),
        FromSupervisor::Report(report) => {
            note(view, &report);
            view.report = Some(Arc::from(report));
        }
        FromSupervisor::Status(report) => {
            note(view, &report);
            view.statuses += 1;
            view.status = Some(Arc::from(report));
        }
        FromSupervisor::Ended(report) => {
            note(view, &report);
            view.ended = Some(Arc::from(report));
        }
        FromSupervisor::KillTaken => view.kills.taken += 1,
        FromSupervisor::Killed(answer) => {
            view.kills.answered += 1;
            view.kills.answer = Some(Arc::new(answer));
        }
        FromSupervisor::Moved { dir } => {
            dir.as_path().clone_into(&mut view.dir);
            view.durable = true;
            view.moves += 1;
        }
        // Asked for on connections of their own.
        FromSupervisor::Input(_) => {}
        FromSupervisor::Refused { why } => view.refused = Some(why),
    }
}

fn note(view: &mut View, report: &Report) {
    report.dir.as_path().clone_into(&mut view.dir);
    view.durable = report.durable;
    view.total = report.stdout_bytes + report.stderr_bytes;
}
