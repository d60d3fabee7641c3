//! `kennel wait`: until the tasks have ended.

use kennel::{Outcome, Task};

use crate::args::WaitOptions;
use crate::clock;
use crate::fault::Fault;
use crate::render;
use crate::run::exit_status;
use crate::tasks::registry;

/// Waits.
pub(crate) async fn wait(options: WaitOptions) -> Result<u8, Fault> {
    let kennel = registry().await?;
    let mut tasks = Vec::new();
    for id in &options.ids {
        tasks.push(kennel.task(id).await.map_err(|error| Fault::not_done(&error))?);
    }
    let all = async {
        let mut outcomes = Vec::new();
        for task in &tasks {
            outcomes.push(ended(task, options.tree).await?);
        }
        Ok::<Vec<Outcome>, kennel::Error>(outcomes)
    };
    let outcomes = tokio::select! {
        outcomes = all => outcomes.map_err(|error| Fault::not_done(&error))?,
        () = clock::passed(options.timeout) => {
            if !options.json {
                render::note("still running; the tasks are left alone");
            }
            return Ok(124);
        }
    };
    if options.json {
        match outcomes.as_slice() {
            [one] => render::json(one),
            several => render::json(&several),
        }
    }
    // 0 if all ended with 0, else the first that did not, in the order of the arguments.
    Ok(outcomes.iter().map(exit_status).find(|status| *status != 0).unwrap_or(0))
}

/// A running task that is waited for has an end when this comes back, also after it went to the background.
async fn ended(task: &Task, tree: bool) -> kennel::Result<Outcome> {
    if tree { task.tree_outcome().await } else { task.outcome().await }
}
