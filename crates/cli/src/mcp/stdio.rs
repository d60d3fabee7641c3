//! `kennel mcp`: the server on the standard streams.
//!
//! It takes no lock and starts nothing before the first command, so that a second copy, as clients start one to probe,
//! disturbs nothing. It ends when its input ends, when its parent has gone or when a signal says so, and then everything
//! that it started and that is not kept is dead within two seconds.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Context as _;
use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::sync::watch;

use super::engine::{Engine, EngineOptions, Tenant};
use super::lines::Lines;
use super::server::Server;
use crate::args::McpServeOptions;
use crate::clock;
use crate::fault::Fault;
use crate::sys::{self, Signals};

/// For answers that are nearly there when the input ends.
const PATIENCE: Duration = Duration::from_millis(400);
/// For the end of everything, after that.
const CLOSE_WITHIN: Duration = Duration::from_millis(1_300);
/// For the last answers to be written.
const FLUSH_WITHIN: Duration = Duration::from_millis(200);

/// Why the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// No more input: who wrote it may still read.
    EndOfInput,
    /// Nobody reads any more.
    ParentGone,
    /// A signal.
    Signal(i32),
}

/// Serves until there is a reason to end.
pub(crate) async fn mcp(options: McpServeOptions) -> Result<u8, Fault> {
    crate::trace::to_stderr();
    let ending = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
    let caught: Vec<i32> = ending.into_iter().filter(|signal| !sys::is_ignored(*signal)).collect();
    let signals = Signals::catch(&caught).context("catch signals").map_err(Fault::own)?;
    let engine = EngineOptions { root: options.root, confirm_kill_after: options.confirm_kill_after };
    let engine = Arc::new(Engine::new(engine).map_err(Fault::own)?);
    let server = Server::new(Arc::clone(&engine), Tenant::Local, options.profile);
    let (input, output) = stdio_pipes();
    let (told, mut over) = watch::channel(false);
    let lines = Lines::new(Watched { input, over: told }, output);
    let mut served = tokio::spawn(async move {
        match Box::pin(serve_server(server, lines)).await {
            Ok(running) => running.waiting().await.map(drop).context("serve"),
            // A client that came to look and went.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(anyhow::Error::new(error).context("serve")),
        }
    });
    let why = tokio::select! {
        biased;
        _gone = over.wait_for(|over| *over) => Ending::EndOfInput,
        ended = &mut served => return finish(&engine, ended).await,
        () = parent_gone() => Ending::ParentGone,
        caught = signals.next() => Ending::Signal(caught.number),
    };
    tracing::debug!(?why, "the server ends");
    let patience = if why == Ending::EndOfInput { PATIENCE } else { Duration::ZERO };
    engine.close(patience, CLOSE_WITHIN).await;
    if why == Ending::EndOfInput {
        tokio::select! {
            _written = served => {}
            () = clock::passed(Some(FLUSH_WITHIN)) => {}
        }
    }
    Ok(0)
}

/// The service ended by itself: what came was not the protocol.
async fn finish(
    engine: &Engine,
    ended: Result<anyhow::Result<()>, tokio::task::JoinError>,
) -> Result<u8, Fault> {
    engine.close(Duration::ZERO, CLOSE_WITHIN).await;
    ended.context("serve").and_then(|served| served).map_err(Fault::own)?;
    Ok(0)
}

/// Comes back when the process that started this one has gone, whoever holds the other end of our input.
async fn parent_gone() {
    let handle = rustix::process::getppid()
        .and_then(|parent| rustix::process::pidfd_open(parent, rustix::process::PidfdFlags::NONBLOCK).ok());
    let Some(handle) = handle.and_then(|fd| sys::async_fd(fd, Interest::READABLE).ok()) else {
        // Without pidfds the end of input has to do.
        return std::future::pending().await;
    };
    if handle.readable().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Tells when the input is over, at once: the service itself would wait for answers that are under way.
struct Watched<R> {
    input: R,
    over: watch::Sender<bool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.input).poll_read(context, buffer);
        let over = match &polled {
            Poll::Ready(Ok(())) => buffer.filled().len() == before && buffer.remaining() > 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if over {
            self.over.send_replace(true);
        }
        polled
    }
}
