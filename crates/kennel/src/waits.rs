//! Which listed tasks wait for input, by the word of their supervisors.

use std::path::{Path, PathBuf};
use std::time::Duration;

use supervisor::wire::{FromSupervisor, ToSupervisor};
use tokio::task::JoinSet;

use crate::clock::Deadline;
use crate::link::Link;
use crate::outcome::{Status, TaskInfo};
use crate::root::Kennel;

/// A supervisor that is stopped must not hold up a list.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);
/// Supervisors asked at a time: each costs a descriptor.
const ASKED_AT_ONCE: usize = 64;

impl Kennel {
    /// Asks the supervisors of the running tasks among these that take input whether a member waits for it, and fills in
    /// [`TaskInfo::waiting_for_input`]. One that does not answer within half a second leaves it absent.
    ///
    /// # Cancel safety
    /// Can be dropped at any time.
    pub async fn ask_who_waits(&self, tasks: &mut [TaskInfo]) {
        let takes_input =
            |task: &TaskInfo| task.input.is_some() && task.status == Status::Running && task.origin.is_none();
        let mut asked: Vec<&mut TaskInfo> = tasks.iter_mut().filter(|task| takes_input(task)).collect();
        for some in asked.chunks_mut(ASKED_AT_ONCE) {
            let mut answers = JoinSet::new();
            for (at, task) in some.iter().enumerate() {
                let Some(dir) = task.output_file.as_ref().and_then(|file| Path::new(file).parent()) else {
                    continue;
                };
                let dir = dir.to_owned();
                answers.spawn(async move { (at, waits(dir).await) });
            }
            while let Some(answer) = answers.join_next().await {
                if let Ok((at, waits)) = answer
                    && let Some(task) = some.get_mut(at)
                {
                    task.waiting_for_input = waits;
                }
            }
        }
    }
}

async fn waits(dir: PathBuf) -> Option<bool> {
    let ask = async {
        let mut link = Link::connect(&dir).await.ok()?;
        link.send(&ToSupervisor::Status).await.ok()?;
        loop {
            match link.receive().await.ok()?? {
                FromSupervisor::Status(report) => return report.input?.waiting,
                FromSupervisor::Ended(_) => return None,
                _other_news => {}
            }
        }
    };
    tokio::select! {
        waits = ask => waits,
        () = Deadline::after(ANSWER_WITHIN).passed() => None,
    }
}
