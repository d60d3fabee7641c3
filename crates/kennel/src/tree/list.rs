//! The members of a tree, each with the reason why it is one.

use std::collections::HashSet;

use proctree::{Leader, Liveness, ProcId, Reason, Related, list_group_members, liveness, proc_id};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use supervisor::{Origin, Record};

use crate::ports::{self, Listening};
use crate::recover;
use crate::registry::{self, Standing};

/// Why a process is a member of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It leads the tree.
    Leader,
    /// Its parent is the member named by `of`.
    Parent,
    /// It is in the process group named by `of`, which is a member's or holds one.
    Group,
    /// Its parent has gone, and it has come to the task's supervisor.
    Adopted,
    /// Its environment carries the marker.
    Marker,
    /// It carries the task's tag, which only descendants inherit.
    Tag,
}

impl Why {
    pub(super) fn of(reason: Reason) -> (Self, Option<i32>) {
        match reason {
            Reason::Leader => (Self::Leader, None),
            Reason::Parent(pid) => (Self::Parent, Some(pid)),
            Reason::Group(group) => (Self::Group, Some(group)),
            Reason::Marker => (Self::Marker, None),
            Reason::Tag => (Self::Tag, None),
        }
    }
}

/// A living member of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeMember {
    /// Process id.
    pub pid: i32,
    /// Start time in clock ticks since boot: with the pid it names this process and no later one.
    pub start: u64,
    /// Why it is a member.
    pub reason: Why,
    /// The parent or group that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<i32>,
    /// User id; absent where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Its command line, or its name in brackets.
    pub command: String,
    /// TCP and UDP ports on which it listens.
    pub ports: Vec<u16>,
    /// Unix sockets on which it listens: the path, or `@` and the name of an abstract one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<String>,
}

/// The living members of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tree {
    /// The task, where it is one of Kennel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The leader's process id.
    pub pid: i32,
    /// Members, parents before their children.
    pub members: Vec<TreeMember>,
    /// False where the system cannot list processes: then nothing is known.
    pub supported: bool,
    /// True if nobody can be missing. Of a tree that Kennel did not start, what detached before cannot be known.
    pub complete: bool,
}

/// The tree of a process that Kennel need not have started: by parents, and by the groups that members founded.
///
/// A leader that has gone leaves its group. Never fails: what cannot be known is in `supported` and `complete`.
pub fn tree_of_process(leader: impl Into<Leader>) -> Tree {
    let leader = leader.into();
    let pid = match leader {
        Leader::Pid(pid) => pid,
        Leader::Id(id) => id.pid,
    };
    let found = list_group_members(leader);
    Tree {
        task_id: None,
        pid,
        members: described(found.members.iter().map(|&Related { id, reason }| (id, Why::of(reason)))),
        supported: found.supported,
        complete: found.complete,
    }
}

/// The tree of a task: what descends from its supervisor, and whoever else carries its tag.
///
/// Of a record that is final, or of another machine, boot or namespace, no process here is a member.
pub(crate) fn tree_of_task(record: &Record, here: Option<&Origin>) -> Tree {
    let mut tree = Tree {
        task_id: Some(record.id.clone()),
        pid: record.leader.map_or(0, |leader| leader.pid),
        members: Vec::new(),
        supported: true,
        complete: true,
    };
    match registry::standing(record, here) {
        Standing::Kept | Standing::Orphaned => {}
        Standing::Final | Standing::EarlierBoot => return tree,
        Standing::Foreign => return Tree { complete: false, ..tree },
    }
    let supervisor = ProcId::from(record.supervisor);
    let leader = record.leader.map(ProcId::from);
    let mut found: Vec<(ProcId, (Why, Option<i32>))> = Vec::new();
    tree.complete = false;
    if liveness(supervisor) == Liveness::Alive {
        let mut members = Vec::new();
        tree.complete = matches!(
            proctree::descendants_settled(supervisor.pid, &mut members),
            Ok(proctree::Walked::Settled)
        );
        found.extend(members.iter().filter_map(|member| {
            let id = proc_id(member.pid)?;
            let why = match member.parent {
                _ if Some(id) == leader => (Why::Leader, None),
                parent if parent == supervisor.pid || record.reaper.is_some_and(|it| it.pid == parent) => {
                    (Why::Adopted, None)
                }
                parent => (Why::Parent, Some(parent)),
            };
            Some((id, why))
        }));
    }
    let known: HashSet<ProcId> = found.iter().map(|(id, _)| *id).collect();
    let strays = recover::tagged(record);
    found.extend(
        strays
            .into_iter()
            .filter(|id| !known.contains(id) && *id != supervisor)
            .map(|id| (id, (Why::Tag, None))),
    );
    // The init of a task's PID namespace is a keeper.
    let reaper = record.reaper.map(ProcId::from);
    found.retain(|(id, _)| Some(*id) != reaper && liveness(*id) == Liveness::Alive);
    tree.members = described(found.into_iter());
    tree
}

/// With what a person wants to know of each.
fn described(members: impl Iterator<Item = (ProcId, (Why, Option<i32>))>) -> Vec<TreeMember> {
    let members: Vec<_> = members.collect();
    let pids: Vec<i32> = members.iter().map(|(id, _)| id.pid).collect();
    let mut listened = ports::by_process(&pids);
    members
        .into_iter()
        .map(|(id, (reason, of))| {
            let Listening { ports, sockets } = listened.remove(&id.pid).unwrap_or_default();
            TreeMember {
                pid: id.pid,
                start: id.start_ticks,
                reason,
                of,
                uid: proctree::read_status(id.pid).map(|status| status.euid),
                command: command_line(id.pid),
                ports,
                sockets,
            }
        })
        .collect()
}

/// What the process calls itself, its words apart by blanks.
fn command_line(pid: i32) -> String {
    let line = proctree::cmdline(pid).unwrap_or_default();
    let words: Vec<_> = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    String::from_utf8_lossy(&words.join(&b' ')).into_owned()
}
