//! Types of values, and which of two is tighter.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::layer::Origin;
use super::units;

/// A value in force and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Who said so.
    pub origin: Origin,
}

impl<T> Setting<T> {
    pub(super) fn built_in(value: T) -> Self {
        Self { value, origin: Origin::BuiltIn }
    }

    /// What the program that opens a session says.
    pub(crate) fn of_caller(value: T) -> Self {
        Self { value, origin: Origin::Caller }
    }

    /// The value, if somebody configured it: for doors that change nothing they were not asked to.
    pub fn said(&self) -> Option<&T> {
        (self.origin != Origin::BuiltIn).then_some(&self.value)
    }
}

/// Which way is tighter: the only way in which layers that are not trusted may change a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The lower value: shorter, smaller, earlier in its enum, a part of the list.
    Lower,
    /// The higher value.
    Higher,
    /// Lists that only ever grow: every layer adds.
    Adds,
    /// It is none of such a layer's business.
    Fixed,
    /// As `Lower`; and only the user's own file may loosen it, no other layer.
    LowerButUser,
}

/// What all types of values can do. `Display` is how TOML writes it.
pub(super) trait Value: Clone + PartialOrd + fmt::Display {
    /// With [`Order::Adds`]: both together.
    fn join(self, _older: &Self) -> Self {
        self
    }
}

/// Written as text with a unit, or as a number of milliseconds.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Time {
    /// Milliseconds.
    Number(u64),
    /// `30s`, `10m`, `2h`.
    Text(String),
}

impl Time {
    fn duration(self) -> Result<Duration, String> {
        let number = match self {
            Self::Number(number) => number,
            Self::Text(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().map_err(|_| format!("{text} is too large"))?
            }
            Self::Text(text) => return units::parse(&text),
        };
        // Nobody means 30 ms by 30.
        match number {
            1..1000 => Err(format!("{number} has no unit: write \"{number}s\" or \"{number}ms\"")),
            number => Ok(Duration::from_millis(number)),
        }
    }
}

/// A limit of time; none is the loosest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "Time")]
pub enum Limit {
    /// This long.
    After(Duration),
    /// No limit, written `"0"`.
    None,
}

impl Limit {
    /// The limit, if there is one.
    pub fn duration(self) -> Option<Duration> {
        match self {
            Self::After(limit) => Some(limit),
            Self::None => None,
        }
    }
}

impl TryFrom<Time> for Limit {
    type Error = String;

    fn try_from(time: Time) -> Result<Self, String> {
        let limit = time.duration()?;
        Ok(if limit.is_zero() { Self::None } else { Self::After(limit) })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", units::show(self.duration().unwrap_or_default()))
    }
}

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "Time")]
pub struct Age(pub Duration);

impl TryFrom<Time> for Age {
    type Error = String;

    fn try_from(time: Time) -> Result<Self, String> {
        time.duration().map(Self)
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", units::show(self.0))
    }
}

/// Written as text with a unit, or as a number of bytes.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Bytes {
    /// Bytes.
    Number(u64),
    /// `64K`, `64M`, `1G`.
    Text(String),
}

/// A size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "Bytes")]
pub struct Size(pub u64);

impl TryFrom<Bytes> for Size {
    type Error = String;

    fn try_from(bytes: Bytes) -> Result<Self, String> {
        let text = match bytes {
            Bytes::Number(number) => number.to_string(),
            Bytes::Text(text) => text,
        };
        units::parse_size(&text).map(Self)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", units::show_size(self.0))
    }
}

/// Most bytes, or no limit, which is the loosest and written `"0"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "Bytes")]
pub enum SizeLimit {
    /// So many.
    Most(u64),
    /// No limit.
    None,
}

impl TryFrom<Bytes> for SizeLimit {
    type Error = String;

    fn try_from(bytes: Bytes) -> Result<Self, String> {
        match bytes {
            Bytes::Number(0) => Ok(Self::None),
            Bytes::Text(text) if text == "0" => Ok(Self::None),
            bytes => Size::try_from(bytes).map(|size| Self::Most(size.0)),
        }
    }
}

impl fmt::Display for SizeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Most(bytes) => write!(f, "\"{}\"", units::show_size(*bytes)),
            Self::None => f.write_str("\"0\""),
        }
    }
}

/// Most of something that is counted, or no limit, which is the loosest and written 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(from = "u64")]
pub enum CountLimit {
    /// So many.
    Most(u64),
    /// No limit.
    None,
}

impl From<u64> for CountLimit {
    fn from(count: u64) -> Self {
        if count == 0 { Self::None } else { Self::Most(count) }
    }
}

impl fmt::Display for CountLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Most(count) => count.fmt(f),
            Self::None => f.write_str("0"),
        }
    }
}

/// Written as a list, or as one text with commas.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Texts {
    /// One each.
    List(Vec<String>),
    /// With commas between them.
    Text(String),
}

/// A set of texts; a part of it is lower.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "Texts")]
pub struct List(pub BTreeSet<String>);

impl From<Texts> for List {
    fn from(texts: Texts) -> Self {
        let trimmed = |text: &str| text.trim().to_owned();
        Self(match texts {
            Texts::List(list) => list.into_iter().collect(),
            Texts::Text(text) => text.split(',').map(trimmed).filter(|item| !item.is_empty()).collect(),
        })
    }
}

impl PartialOrd for List {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.0.is_subset(&other.0), other.0.is_subset(&self.0)) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What JSON makes of texts is TOML too.
        f.write_str(&serde_json::to_string(&self.0).unwrap_or_default())
    }
}

/// What a failure of the hook (`kennel check --hook`) means for the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookFailure {
    /// It is refused, with the reason.
    Deny,
    /// It is the host's affair.
    Allow,
}

/// As a file writes it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum SandboxName {
    /// Nothing can be written.
    ReadOnly,
    /// The workspace and temporary files can.
    WorkspaceWrite,
    /// The user's rights.
    Off,
    /// Reserved.
    #[schemars(skip)]
    Container,
}

impl TryFrom<SandboxName> for Sandbox {
    type Error = String;

    fn try_from(name: SandboxName) -> Result<Self, String> {
        match name {
            SandboxName::ReadOnly => Ok(Self::ReadOnly),
            SandboxName::WorkspaceWrite => Ok(Self::WorkspaceWrite),
            SandboxName::Off => Ok(Self::Off),
            SandboxName::Container => Err(CONTAINER_RESERVED.to_owned()),
        }
    }
}

/// Why nobody gets one.
pub const CONTAINER_RESERVED: &str =
    "the sandbox \"container\" is reserved for a later version; take \"workspace-write\" or \"read-only\"";

/// What commands may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "SandboxName")]
pub enum Sandbox {
    /// Nothing.
    ReadOnly,
    /// The workspace and temporary files.
    WorkspaceWrite,
    /// Whatever the user may.
    Off,
}

/// What becomes of a command about which the policy asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnAsk {
    /// The question is put.
    Question,
    /// It runs without a question, in a sandbox.
    Sandboxed,
}

/// Whether commands reach the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// No.
    Off,
    /// Yes.
    On,
}

impl fmt::Display for HookFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Deny { "\"deny\"" } else { "\"allow\"" })
    }
}

impl fmt::Display for OnAsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Question { "\"question\"" } else { "\"sandboxed\"" })
    }
}

impl fmt::Display for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOnly => "\"read-only\"",
            Self::WorkspaceWrite => "\"workspace-write\"",
            Self::Off => "\"off\"",
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::On { "\"on\"" } else { "\"off\"" })
    }
}

impl Value for Limit {}
impl Value for Age {}
impl Value for Size {}
impl Value for usize {}
impl Value for bool {}
impl Value for HookFailure {}
impl Value for OnAsk {}
impl Value for SizeLimit {}
impl Value for CountLimit {}
impl Value for Sandbox {}
impl Value for Network {}
impl Value for List {
    fn join(mut self, older: &Self) -> Self {
        self.0.extend(older.0.iter().cloned());
        self
    }
}
