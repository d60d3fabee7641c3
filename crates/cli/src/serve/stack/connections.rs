//! Connections: as many as there are descriptors for, the longest idle one gives way.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::handler::server::ServerHandler;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::gate::Gate;
use super::limits::HEADERS_WITHIN;
use crate::clock;

/// Descriptors are short for a moment: time for some to come back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// One connection, as the others see it.
#[derive(Debug)]
struct Open {
    /// Requests under way.
    busy: AtomicUsize,
    close: CancellationToken,
}

#[derive(Debug, Clone, Default)]
struct Table(Arc<Mutex<VecDeque<Arc<Open>>>>);

impl Table {
    fn with<T>(&self, act: impl FnOnce(&mut VecDeque<Arc<Open>>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Closes the oldest connection on which nothing is under way.
    fn evict(&self) {
        self.with(|open| {
            if let Some(at) = open.iter().position(|one| one.busy.load(Ordering::Relaxed) == 0) {
                open.remove(at).inspect(|one| one.close.cancel());
            }
        });
    }
}

/// Serves until `stop`; at most `max` connections at once.
pub(crate) async fn run<S: ServerHandler + Send + 'static>(
    listener: TcpListener,
    gate: Arc<Gate<S>>,
    max: usize,
    stop: CancellationToken,
) {
    let (places, table) = (Arc::new(Semaphore::new(max)), Table::default());
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.map(|(stream, _)| stream),
            () = stop.cancelled() => return,
        };
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                table.evict();
                clock::passed(Some(ACCEPT_PAUSE)).await;
                continue;
            }
        };
        let place = match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => place,
            Err(_full) => {
                table.evict();
                tokio::select! {
                    place = Arc::clone(&places).acquire_owned() => match place { Ok(place) => place, Err(_) => return },
                    () = stop.cancelled() => return,
                }
            }
        };
        let open = Arc::new(Open { busy: AtomicUsize::new(0), close: stop.child_token() });
        table.with(|all| all.push_back(Arc::clone(&open)));
        tokio::spawn(connection(stream, Arc::clone(&gate), open, table.clone(), place));
    }
}

async fn connection<S: ServerHandler + Send + 'static>(
    stream: TcpStream,
    gate: Arc<Gate<S>>,
    open: Arc<Open>,
    table: Table,
    place: OwnedSemaphorePermit,
) {
    let _small_answers_go_at_once = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let (gate, open) = (Arc::clone(&gate), Arc::clone(&open));
        async move {
            let busy = Busy::new(open);
            let answer = gate.answer(request).await;
            // A stream of events is under way until its last byte, not until its headers.
            Ok::<_, Infallible>(answer.map(|body| Held { body, _busy: busy }))
        }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        served = serving => if let Err(error) = served {
            tracing::debug!(%error, "a connection ended");
        },
        () = open.close.cancelled() => {}
    }
    table.with(|all| all.retain(|one| !Arc::ptr_eq(one, &open)));
    drop(place);
}

/// Counts a request as long as it lives.
struct Busy(Arc<Open>);

impl Busy {
    fn new(open: Arc<Open>) -> Self {
        open.busy.fetch_add(1, Ordering::Relaxed);
        Self(open)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body with its request's count.
struct Held<B> {
    body: B,
    _busy: Busy,
}

impl<B: hyper::body::Body + Unpin> hyper::body::Body for Held<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        std::pin::Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}
