//! The verb: listen, say where, serve until a signal, end everything.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use kennel::Kennel;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::stack::{Digest, Door, Gate, digest, run};
use super::token::{self, Tokens};
use crate::args::ServeOptions;
use crate::fault::Fault;
use crate::mcp::{Engine, EngineOptions, Server, Tenant};
use crate::render;
use crate::sys::{self, Signals};

/// For answers that are nearly there when a signal comes.
const PATIENCE: Duration = Duration::from_millis(400);
/// For the end of everything, after that.
const CLOSE_WITHIN: Duration = Duration::from_millis(1_300);

/// Serves until a signal says to end.
pub(crate) async fn serve(options: ServeOptions) -> Result<u8, Fault> {
    crate::trace::to_stderr();
    if !options.listen.ip().is_loopback() {
        return Err(Fault::usage(
            format!("--listen {}: not an address of this machine alone", options.listen),
            "listen on 127.0.0.1 or ::1; from elsewhere, come by ssh -L",
        ));
    }
    let ending = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
    let caught: Vec<i32> = ending.into_iter().filter(|signal| !sys::is_ignored(*signal)).collect();
    let signals = Signals::catch(&caught).context("catch signals").map_err(Fault::own)?;
    let engine =
        EngineOptions { root: options.mcp.root.clone(), confirm_kill_after: options.mcp.confirm_kill_after };
    let engine = Arc::new(Engine::new(engine).map_err(Fault::own)?);
    let tokens = tokens(&options).await?;
    let listener = TcpListener::bind(options.listen)
        .await
        .with_context(|| format!("listen on {}", options.listen))
        .map_err(Fault::own)?;
    let address = listener.local_addr().context("find the address").map_err(Fault::own)?;
    let stop = CancellationToken::new();
    let gate = Arc::new(Gate::new(doors(&options, tokens.as_ref(), &engine, &stop)));
    tell(address, tokens.as_ref());
    let connections = engine.calls_max();
    tokio::select! {
        () = run(listener, gate, connections, stop.clone()) => {}
        caught = signals.next() => tracing::debug!(signal = caught.number, "the server ends"),
    }
    engine.close(PATIENCE, CLOSE_WITHIN).await;
    stop.cancel();
    Ok(0)
}

/// The tokens in force; `None`: the door is open.
async fn tokens(options: &ServeOptions) -> Result<Option<Tokens>, Fault> {
    if options.no_token {
        return Ok(None);
    }
    token::read_or_make(&token_file(options).await?).map(Some)
}

async fn token_file(options: &ServeOptions) -> Result<PathBuf, Fault> {
    if let Some(file) = &options.token_file {
        return Ok(file.clone());
    }
    let kennel = Kennel::builder().build().await.map_err(|error| Fault::not_done(&error))?;
    Ok(kennel.state_dir().join("serve.token"))
}

fn doors(
    options: &ServeOptions,
    tokens: Option<&Tokens>,
    engine: &Arc<Engine>,
    stop: &CancellationToken,
) -> Vec<Door<Server>> {
    let door = |token: Option<Digest>| {
        // Not the token, and nothing from which it could be had.
        let name = token.map_or("open".to_owned(), |digest| {
            let name = digest.first_chunk::<8>().map_or(0, |part| u64::from_be_bytes(*part));
            format!("t{name:016x}")
        });
        let server = Server::new(Arc::clone(engine), Tenant::Bearer(name), options.mcp.profile);
        Door::new(token, stop, move || server.clone())
    };
    match tokens {
        Some(tokens) => tokens.all.iter().map(|token| door(Some(digest(token)))).collect(),
        None => vec![door(None)],
    }
}

/// Where it listens, and a token that was made just now: once, and never again.
fn tell(address: SocketAddr, tokens: Option<&Tokens>) {
    let mut lines = vec![format!("listening on http://{address}/mcp")];
    match tokens {
        Some(Tokens { all, fresh: true }) => lines.extend(all.first().map(|token| format!("token: {token}"))),
        Some(_) => {}
        None => render::note("no token is asked for: every program on this machine can run commands as you"),
    }
    lines.push(String::new());
    render::answer(&lines.join("\n"));
}
