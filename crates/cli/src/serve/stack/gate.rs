//! Who may speak to the protocol: requests that this machine's own clients make, with a token.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Request, Response, StatusCode};
use rmcp::handler::server::ServerHandler;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::limits::{BODY_BYTES_MAX, BODY_WITHIN, Bucket, REQUESTS, STRANGERS};
use super::sessions::Sessions;
use crate::{clock, jsonrpc};

/// The protocol's path.
pub(crate) const PATH: &str = "/mcp";
/// Says that the server runs; needs no token and tells nothing else.
const HEALTH: &str = "/healthz";
/// Names of this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

pub(crate) type Answer = Response<BoxBody<Bytes, Infallible>>;
/// What is kept of a token: to compare digests tells nothing about a token by the time it takes.
pub(crate) type Digest = [u8; 32];

/// The digest of a token.
pub(crate) fn digest(token: &str) -> Digest {
    Sha256::digest(token.as_bytes()).into()
}

/// What a bearer comes to.
pub(crate) struct Door<S: ServerHandler> {
    /// `None`: open to whoever reaches the port.
    token: Option<Digest>,
    service: StreamableHttpService<S, Sessions>,
    rate: Bucket,
}

impl<S: ServerHandler + Send + 'static> Door<S> {
    /// A door whose visitors are served by what `make` makes.
    pub(crate) fn new(
        token: Option<Digest>,
        stop: &CancellationToken,
        make: impl Fn() -> S + Send + Sync + 'static,
    ) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_max_request_body_bytes(BODY_BYTES_MAX)
            .with_allowed_origins(LOOPBACK.iter().flat_map(|host| {
                let host = if host.contains(':') { format!("[{host}]") } else { (*host).to_owned() };
                [format!("http://{host}:*"), format!("https://{host}:*")]
            }))
            .with_cancellation_token(stop.child_token());
        let sessions = Arc::new(Sessions::new());
        Self {
            token,
            service: StreamableHttpService::new(move || Ok(make()), sessions, config),
            rate: Bucket::new(REQUESTS),
        }
    }
}

/// All doors of a server.
pub(crate) struct Gate<S: ServerHandler> {
    doors: Vec<Door<S>>,
    strangers: Bucket,
}

impl<S: ServerHandler + Send + 'static> Gate<S> {
    pub(crate) fn new(doors: Vec<Door<S>>) -> Self {
        Self { doors, strangers: Bucket::new(STRANGERS) }
    }

    /// Answers a request.
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Answer {
        if !is_of_this_machine(request.headers()) {
            return refusal(
                StatusCode::FORBIDDEN,
                "foreign host or origin: only this machine's own clients are served",
            );
        }
        match request.uri().path() {
            HEALTH => return said(StatusCode::OK, "ok\n"),
            path if path.trim_end_matches('/') == PATH => {}
            _ => return refusal(StatusCode::NOT_FOUND, "the protocol is at /mcp"),
        }
        let Some(door) = self.door(request.headers()) else {
            if !self.strangers.take() {
                return too_many();
            }
            let mut answer = refusal(StatusCode::UNAUTHORIZED, "a bearer token is needed");
            answer.headers_mut().insert(WWW_AUTHENTICATE, hyper::header::HeaderValue::from_static("Bearer"));
            return answer;
        };
        if !door.rate.take() {
            return too_many();
        }
        let (head, body) = request.into_parts();
        let is_json = head
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        match whole(body).await {
            Ok(body) => {
                let answer = door.service.handle(Request::from_parts(head, Full::new(body.clone()))).await;
                // The service says that of a text that it cannot read too.
                let unread = answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && is_json;
                if unread { unreadable(&body) } else { answer }
            }
            Err(answer) => *answer,
        }
    }

    fn door(&self, headers: &HeaderMap) -> Option<&Door<S>> {
        let given = bearer(headers).map(digest);
        self.doors.iter().find(|door| door.token.is_none() || door.token == given)
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// A page of another site that a browser shows on this machine can reach loopback, by a name that it let point here or
/// from its own origin. Neither names this machine.
fn is_of_this_machine(headers: &HeaderMap) -> bool {
    let text = |value: &hyper::header::HeaderValue| value.to_str().map(str::to_owned).ok();
    let host = headers.get(HOST).and_then(text).is_some_and(|host| is_loopback(&host));
    let mut origins = headers.get_all(ORIGIN).iter();
    let origin = origins.all(|origin| {
        let origin = text(origin).unwrap_or_default();
        origin
            .split_once("://")
            .is_some_and(|(scheme, host)| matches!(scheme, "http" | "https") && is_loopback(host))
    });
    host && origin && headers.get_all(HOST).iter().count() == 1
}

fn is_loopback(authority: &str) -> bool {
    let parsed: Result<hyper::http::uri::Authority, _> = authority.parse();
    parsed.is_ok_and(|authority| {
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        LOOPBACK.iter().any(|known| host.eq_ignore_ascii_case(known)) && !authority.as_str().contains('@')
    })
}

/// The whole body, if it is small enough and comes soon enough.
async fn whole(body: Incoming) -> Result<Bytes, Box<Answer>> {
    let collected = tokio::select! {
        collected = Limited::new(body, BODY_BYTES_MAX).collect() => collected,
        () = clock::passed(Some(BODY_WITHIN)) => {
            return Err(Box::new(last(refusal(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"))));
        }
    };
    collected.map(http_body_util::Collected::to_bytes).map_err(|error| {
        Box::new(last(if error.is::<LengthLimitError>() {
            refusal(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 4 MiB")
        } else {
            refusal(StatusCode::BAD_REQUEST, "the body could not be read")
        }))
    })
}

/// What comes after a body that was not read is not a request.
fn last(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(hyper::header::CONNECTION, hyper::header::HeaderValue::from_static("close"));
    answer
}

fn too_many() -> Answer {
    let mut answer = refusal(StatusCode::TOO_MANY_REQUESTS, "too many requests");
    answer.headers_mut().insert(RETRY_AFTER, hyper::header::HeaderValue::from_static("1"));
    answer
}

/// The protocol's own answer to a body that is no message.
fn unreadable(body: &[u8]) -> Answer {
    let complaint = jsonrpc::complaint(body)
        .unwrap_or_else(|| jsonrpc::refusal(jsonrpc::INVALID_REQUEST, "this message cannot be read", None));
    let mut answer = said(StatusCode::BAD_REQUEST, &complaint.to_string());
    answer.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("application/json"));
    answer
}

fn refusal(status: StatusCode, why: &str) -> Answer {
    said(status, &format!("{why}\n"))
}

fn said(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text.to_owned())).boxed());
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        is_of_this_machine(&headers)
    }

    #[test]
    fn only_names_of_this_machine_pass() {
        for host in ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "LOCALHOST"] {
            assert!(local(host, None), "{host}");
        }
        for host in
            ["example.org", "127.0.0.1.example.org", "localhost.example.org:80", "user@localhost", "", "::1"]
        {
            assert!(!local(host, None), "{host}");
        }
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:1"] {
            assert!(local("localhost", Some(origin)), "{origin}");
        }
        for origin in ["http://example.org", "null", "file://", "http://localhost.example.org", "localhost"] {
            assert!(!local("localhost", Some(origin)), "{origin}");
        }
        assert!(!is_of_this_machine(&HeaderMap::new()), "no host at all");
    }
}
