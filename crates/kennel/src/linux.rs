//! The library where it runs: every module of it. `lib.rs` passes all of this on under the crate's own name.

pub(crate) mod check;
pub(crate) mod clock;
pub mod config;
pub(crate) mod environ;
pub(crate) mod error;
pub(crate) mod feed;
pub(crate) mod guard;
pub(crate) mod handoff;
pub(crate) mod id;
pub(crate) mod init;
pub(crate) mod input;
pub(crate) mod keys;
pub(crate) mod kill;
pub(crate) mod limits;
pub(crate) mod link;
pub(crate) mod listing;
pub(crate) mod mend;
pub(crate) mod outcome;
pub(crate) mod places;
pub(crate) mod plan;
pub(crate) mod ports;
pub(crate) mod probe;
pub(crate) mod read;
pub(crate) mod recover;
pub(crate) mod registry;
pub(crate) mod request;
pub(crate) mod root;
pub(crate) mod sandbox;
pub(crate) mod screen;
pub(crate) mod session;
pub(crate) mod shell;
pub(crate) mod source;
pub(crate) mod surroundings;
pub(crate) mod sys;
pub(crate) mod task;
pub(crate) mod text;
pub mod tree;
pub(crate) mod waits;
pub(crate) mod watch;

pub use check::{Answer, PolicyChoice};
pub use config::{Config, ConfigError};
pub use environ::{SECRET_NAMES, ScrubEnv};
pub use error::{Error, Result};
pub use feed::{Event, EventBody, EventStream, Feed, GapNotice, News, NoticeBody, Pace, Scope, StreamName};
pub use guard::{ForkedGuard, GuardStart};
pub use id::TaskId;
pub use init::init;
pub use input::{INPUT_WAIT_DEFAULT, Input, InputPort, InputReport};
pub use kill::Kill;
pub use limits::Limits;
pub use listing::Listing;
pub use outcome::{
    Boundary, Clamped, ClampedValue, Consent, End, Enforced, ErrorInfo, InputKind, InputRefusal, KillReport,
    Notice, Outcome, Proof, Protection, RuleHit, Status, StoppedBy, Survivor, TaskInfo, TaskList, TaskOutput,
    Usage, VerdictSummary,
};
pub use places::account_home;
pub use policy;
pub use probe::{Finding, Probe};
pub use read::{Chunk, Read, Stream};
pub use registry::{Collected, RETENTION_DEFAULT};
pub use request::{
    BoundaryChoice, Command, GRACE_DEFAULT, MAX_OUTPUT_DEFAULT, OUTPUT_CAP_DEFAULT, OUTPUT_TOTAL_DEFAULT,
    OnOutputCap, OnOwnerExit, OnTimeout, Output, Request, Stdin, Survivors, TERMINAL_SIZE_DEFAULT,
    TerminalSize, Timeout,
};
pub use root::{Builder, Kennel};
pub use sandbox::{Network, SandboxChoice, SandboxMode};
pub use screen::{Cursor, Look, Screen};
pub use session::{
    Door, Persist, Session, SessionBuilder, SessionClosed, SessionInfo, SessionList, SessionState,
    TIMEOUT_DEFAULT, TIMEOUT_MAX_DEFAULT,
};
pub use supervisor::wire::PROTOCOL;
pub use supervisor::{signal_name, signal_number};
pub use task::Task;

/// Entries for a fuzzer; no part of the interface.
#[doc(hidden)]
pub mod fuzz {
    pub use crate::text::fuzz::decode;
}

/// The page is compiled and run as it stands.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/agent-authors.md")]
struct AgentAuthors;
