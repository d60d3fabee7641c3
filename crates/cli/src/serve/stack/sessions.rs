//! Sessions of the 2025 era: a call whose client hung up and does not come back is cancelled.
//!
//! In that era a broken connection is no cancellation: the client may come back for the answer, by GET with
//! `Last-Event-ID`. Who has not come back within [`RESUME_WITHIN`] does not, and the command would run for nobody. Who
//! ends the session ends its calls at once.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};

use super::limits::{RESUME_WITHIN, SESSION_IDLE};
use crate::clock;

/// The sessions of a door.
#[derive(Debug)]
pub(crate) struct Sessions {
    inner: Arc<LocalSessionManager>,
    calls: Calls,
}

/// Calls under way by session and the number of their stream, which is the end of its event ids.
type Calls = Arc<Mutex<HashMap<(SessionId, String), Call>>>;

/// One call under way.
#[derive(Debug, Clone)]
struct Call {
    request: RequestId,
    /// Counts who listened to it: the last one that hangs up matters.
    listener: u64,
}

impl Sessions {
    pub(crate) fn new() -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(SESSION_IDLE);
        Self { inner: Arc::new(inner), calls: Calls::default() }
    }

    fn follow<S>(
        &self,
        events: S,
        session: &SessionId,
        request: RequestId,
        stream: Option<(String, u64)>,
    ) -> Followed<S> {
        let (inner, calls) = (Arc::clone(&self.inner), Arc::clone(&self.calls));
        Followed {
            events: Box::pin(events),
            over: false,
            stream,
            request,
            session: Arc::clone(session),
            inner,
            calls,
        }
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.inner.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        let ended: Vec<Call> = with(&self.calls, |calls| {
            calls.extract_if(|(session, _), _| session == id).map(|(_, call)| call).collect()
        });
        for call in ended {
            cancel(&self.inner, id, call.request).await;
        }
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => request.id.clone(),
            // Only requests get a stream; of another no answer is waited for.
            _ => RequestId::Number(-1),
        };
        let events = self.inner.create_stream(id, message).await?;
        Ok(self.follow(events, id, request, None))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let key = stream_of(&last_event_id).map(|stream| (Arc::clone(id), stream));
        let events = self.inner.resume(id, last_event_id).await?;
        let again = key.and_then(|key| {
            with(&self.calls, |calls| {
                let call = calls.get_mut(&key)?;
                call.listener += 1;
                Some((call.request.clone(), (key.1.clone(), call.listener)))
            })
        });
        let (request, stream) = again.map_or((None, None), |(request, stream)| (Some(request), Some(stream)));
        let mut followed = self.follow(events, id, request.unwrap_or(RequestId::Number(-1)), stream);
        // Not a call's, or one that has been answered.
        followed.over = followed.stream.is_none();
        Ok(followed)
    }
}

/// A call's events, with an eye on whether anybody listens.
struct Followed<S> {
    events: Pin<Box<S>>,
    /// Answered, or nobody's business any more.
    over: bool,
    /// The stream's number, once it is known, and which listener this is.
    stream: Option<(String, u64)>,
    request: RequestId,
    session: SessionId,
    inner: Arc<LocalSessionManager>,
    calls: Calls,
}

impl<S> Followed<S> {
    /// Learns the stream's number from its first event.
    fn learn(&mut self, event: &ServerSseMessage) {
        if self.stream.is_some() || self.over {
            return;
        }
        let Some(stream) = event.event_id.as_deref().and_then(stream_of) else { return };
        let call = Call { request: self.request.clone(), listener: 0 };
        with(&self.calls, |calls| calls.insert((Arc::clone(&self.session), stream.clone()), call));
        self.stream = Some((stream, 0));
    }

    fn is_answer(&self, event: &ServerSseMessage) -> bool {
        match event.message.as_deref() {
            Some(ServerJsonRpcMessage::Response(answer)) => answer.id == self.request,
            Some(ServerJsonRpcMessage::Error(error)) => error.id.as_ref() == Some(&self.request),
            _ => false,
        }
    }

    /// The call, if this is its last listener: it is out of the table then.
    fn take(&mut self) -> Option<Call> {
        let (stream, listener) = self.stream.clone()?;
        take(&self.calls, &(Arc::clone(&self.session), stream), listener)
    }
}

impl<S: Stream<Item = ServerSseMessage>> Stream for Followed<S> {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.events.as_mut().poll_next(context);
        match &polled {
            Poll::Ready(Some(event)) => {
                self.learn(event);
                if self.is_answer(event) {
                    self.take();
                    self.over = true;
                }
            }
            // Ended from our side: another listens, or the session is over.
            Poll::Ready(None) => {
                self.take();
                self.over = true;
            }
            Poll::Pending => {}
        }
        polled
    }
}

impl<S> Drop for Followed<S> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (inner, calls) = (Arc::clone(&self.inner), Arc::clone(&self.calls));
        let (session, request, stream) =
            (Arc::clone(&self.session), self.request.clone(), self.stream.take());
        runtime.spawn(async move {
            clock::passed(Some(RESUME_WITHIN)).await;
            let left = match stream {
                Some((stream, listener)) => take(&calls, &(Arc::clone(&session), stream), listener).is_some(),
                // Not even the first event was sent: there is nothing to come back with.
                None => true,
            };
            if left {
                tracing::debug!(%request, "nobody came back for the answer: the call is cancelled");
                cancel(&inner, &session, request).await;
            }
        });
    }
}

/// Takes a call out of the table if nobody has listened since.
fn take(calls: &Calls, key: &(SessionId, String), listener: u64) -> Option<Call> {
    with(calls, |calls| {
        calls.get(key).filter(|call| call.listener == listener)?;
        calls.remove(key)
    })
}

fn with<T>(calls: &Calls, act: impl FnOnce(&mut HashMap<(SessionId, String), Call>) -> T) -> T {
    act(&mut calls.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Cancels a call as its client would.
async fn cancel(inner: &LocalSessionManager, session: &SessionId, request: RequestId) {
    let param = CancelledNotificationParam::new(Some(request), Some("the client has gone".to_owned()));
    let message = ClientJsonRpcMessage::notification(CancelledNotification::new(param).into());
    if let Err(error) = inner.accept_message(session, message).await {
        tracing::debug!(%error, "the session has gone before its call");
    }
}

/// The number of the stream in an event's id, `INDEX/STREAM`; the stream that no call owns has none.
fn stream_of(event: &str) -> Option<String> {
    event.split_once('/').map(|(_, stream)| stream.to_owned())
}
