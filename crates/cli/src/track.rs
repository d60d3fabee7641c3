//! `kennel track`: follow a tree that somebody else started. People see members come and go; a program asks line by
//! line (`sample`, `members`, `signal NAME`, `stop`) and gets one JSON object for each.

use std::collections::BTreeSet;
use std::io::BufRead as _;
use std::time::Duration;

use clap::Parser;
use kennel::tree::{Followed, FollowedMembers, Marker, TreeSignalReport, follow};
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock;
use crate::fault::Fault;
use crate::render;
use crate::tree::{leader, tree_signal, why};

/// How often a person is told what is new.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// Follow a tree that Kennel did not start.
#[derive(Debug, Parser)]
#[command(name = "kennel track", max_term_width = 100)]
pub(crate) struct TrackOptions {
    /// A process id, or PID@START for this process and no later one.
    #[arg(value_name = "PID")]
    pub(crate) pid: String,
    /// A variable by which members are recognised that have detached; another value means that a process has left.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) marker: Option<String>,
    /// Answer the lines sample, members, signal NAME and stop with one JSON object each.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The answer to one line.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum TrackAnswer {
    /// To `sample`, `members`, and `stop`.
    Members(FollowedMembers),
    /// To `signal NAME`.
    Signalled(TreeSignalReport),
    /// To anything that is not one of these.
    NotUnderstood {
        /// What, and what would have been.
        error: String,
    },
}

/// Follows: with `--json` until standard input ends, else until nobody is left.
pub(crate) async fn track(options: &TrackOptions) -> Result<u8, Fault> {
    let Some(leader) = leader(&options.pid) else {
        return Err(Fault::usage(format!("{:?} is not a process id", options.pid), "kennel track PID"));
    };
    let marker = options.marker.as_deref().map(marker).transpose()?;
    let followed = follow(leader, marker);
    if options.json {
        converse(&followed);
        return Ok(0);
    }
    watch(&followed).await;
    Ok(0)
}

fn marker(text: &str) -> Result<Marker, Fault> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok(Marker { name: name.to_owned(), value: value.as_bytes().to_vec() })
        }
        _ => Err(Fault::usage(
            format!("--marker {text:?}: not NAME=VALUE"),
            "the value must be one that no other tree has: --marker MY_TURN=\"$RANDOM$RANDOM\"",
        )),
    }
}

/// The line protocol. A host that goes away without a word ends it too.
fn converse(followed: &Followed) {
    for line in std::io::stdin().lock().split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        if !line.trim().is_empty() {
            render::json_line(&answer(followed, line.trim()));
        }
    }
}

fn answer(followed: &Followed, line: &str) -> TrackAnswer {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words.as_slice() {
        ["sample"] => TrackAnswer::Members(followed.sample()),
        ["members"] => TrackAnswer::Members(followed.members()),
        ["stop"] => {
            followed.stop();
            TrackAnswer::Members(followed.members())
        }
        ["signal", name] => match tree_signal(name) {
            Ok(signal) => TrackAnswer::Signalled(followed.signal(signal)),
            Err(fault) => TrackAnswer::NotUnderstood {
                error: format!("{}: {}", fault.what(), fault.hint().unwrap_or_default()),
            },
        },
        _ => TrackAnswer::NotUnderstood {
            error: format!("{line:?} is none of sample, members, signal NAME, stop"),
        },
    }
}

/// For people: a line for each member that comes or goes.
async fn watch(followed: &Followed) {
    let mut known = BTreeSet::new();
    loop {
        let now = followed.members();
        let ids: BTreeSet<_> = now.members.iter().map(|member| (member.pid, member.start)).collect();
        for member in now.members.iter().filter(|member| !known.contains(&(member.pid, member.start))) {
            let why = why(member.reason, member.of);
            render::answer(&format!("+ {}@{}  {why}\n", member.pid, member.start));
        }
        for (pid, start) in known.difference(&ids) {
            render::answer(&format!("- {pid}@{start}\n"));
        }
        if ids.is_empty() {
            return;
        }
        known = ids;
        clock::passed(Some(TELL_EVERY)).await;
    }
}
