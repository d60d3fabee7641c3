//! What servers have to say about themselves: on stderr, and only there; stdout is the protocol's.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// `KENNEL_LOG` is the level: error, warn (default), info, debug, trace, off. The protocol's own library says no more
/// than warnings: it would write out requests, and with them environments.
#[expect(clippy::disallowed_methods, reason = "the environment is read in cli")]
pub(crate) fn to_stderr() {
    let level = std::env::var("KENNEL_LOG").ok().and_then(|level| level.parse().ok());
    let level = level.unwrap_or(LevelFilter::WARN);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    let filter = Targets::new().with_default(level).with_target("rmcp", level.min(LevelFilter::WARN));
    let _another_is_set = tracing_subscriber::registry().with(lines).with(filter).try_init();
}
