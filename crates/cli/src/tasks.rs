//! `kennel tasks`: what runs and what ran.

use kennel::{Kennel, Status, TaskInfo, TaskList};

use crate::args::TasksOptions;
use crate::config;
use crate::fault::Fault;
use crate::render;

/// Opens the registry, tidying up now and then on the way.
pub(crate) async fn registry() -> Result<Kennel, Fault> {
    let kennel = Kennel::builder().build().await.map_err(|error| Fault::not_done(&error))?;
    // A mistake in a file must not keep anybody from looking at tasks and ending them.
    if let Ok(config) = config::load(&config::here()) {
        kennel.collect_now_and_then(config.settings.retention.value.0);
    }
    Ok(kennel)
}

/// Lists.
pub(crate) async fn tasks(options: &TasksOptions) -> Result<u8, Fault> {
    let kennel = registry().await?;
    let known = kennel.tasks();
    let total = known.len();
    let shown: Vec<TaskInfo> = known
        .into_iter()
        .filter(|task| options.all || task.background || task.status == Status::Running)
        .filter(|task| options.session.as_ref().is_none_or(|session| task.session_id == *session))
        .collect();
    if options.json {
        render::json(&TaskList { tasks: shown });
    } else if shown.is_empty() {
        let more = if total > 0 && !options.all {
            format!(" kennel tasks --all shows {total} finished foreground calls.")
        } else {
            String::new()
        };
        render::answer(&format!("No tasks.{more}\n"));
    } else {
        render::table(&["ID", "COMMAND", "STARTED", "STATUS"], &shown.iter().map(row).collect::<Vec<_>>());
    }
    Ok(0)
}

fn row(task: &TaskInfo) -> Vec<String> {
    let room = render::width().map_or(60, |width| width.saturating_sub(32 + 14 + 24).max(20));
    let command = task
        .description
        .as_ref()
        .map_or_else(|| task.command.clone(), |text| format!("{text}: {}", task.command));
    vec![task.id.clone(), render::shorten(&command, room), started(&task.started_at), status(task)]
}

fn started(at: &str) -> String {
    let Ok(at) = at.parse::<jiff::Timestamp>() else { return at.to_owned() };
    render::ago(jiff::Timestamp::now().as_second() - at.as_second())
}

fn status(task: &TaskInfo) -> String {
    let mut text = task.status.as_str().to_owned();
    match task.exit_code {
        Some(code) if task.status == Status::Running => {
            text = format!("running (exited {code}, {} left)", task.background_pids.len());
        }
        Some(code) if task.status == Status::Failed => text = format!("failed ({code})"),
        _ => {}
    }
    if let Some(origin) = &task.origin {
        text = format!("{text} on {origin}");
    }
    text
}
