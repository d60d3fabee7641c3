//! `kennel tasks`: what runs and what ran.

use std::time::Duration;

use kennel::{Kennel, Listing, Status, TaskInfo, TaskList};

use crate::args::TasksOptions;
use crate::fault::Fault;
use crate::render::{self, Tint};
use crate::{clock, config};

/// Opens the registry, tidying up now and then on the way.
pub(crate) async fn registry() -> Result<Kennel, Fault> {
    let kennel = Kennel::builder().build().await.map_err(|error| Fault::not_done(&error))?;
    // A mistake in a file must not keep anybody from looking at tasks and ending them.
    if let Ok(config) = config::load(&config::here()) {
        let settings = config.settings;
        kennel.collect_now_and_then(settings.retention.value.0, settings.output_total.value.0);
    }
    Ok(kennel)
}

/// Between two looks of `--watch`.
const WATCH_EVERY: Duration = Duration::from_secs(1);

/// Lists.
pub(crate) async fn tasks(options: &TasksOptions) -> Result<u8, Fault> {
    let kennel = registry().await?;
    if options.watch {
        watch(&kennel, options).await;
        return Ok(0);
    }
    let (shown, total) = shown(&kennel, options).await;
    if options.json {
        render::json(&TaskList { tasks: shown });
    } else {
        render::answer(&text(&shown, total, options));
    }
    Ok(0)
}

/// Shows the list again whenever it has changed, until nobody looks any more.
async fn watch(kennel: &Kennel, options: &TasksOptions) {
    let mut last = None;
    loop {
        let (shown, total) = shown(kennel, options).await;
        let now = if options.json {
            serde_json::to_string(&TaskList { tasks: shown }).map(|line| line + "\n").unwrap_or_default()
        } else {
            text(&shown, total, options)
        };
        if last.as_ref() != Some(&now) {
            if render::screen(&now).is_err() {
                return;
            }
            last = Some(now);
        }
        clock::passed(Some(WATCH_EVERY)).await;
    }
}

/// The tasks that were asked for, and how many there are in all, of the session that was asked for.
async fn shown(kennel: &Kennel, options: &TasksOptions) -> (Vec<TaskInfo>, usize) {
    let Listing { tasks: mut known, unreadable } = kennel.listing();
    for one in &unreadable {
        render::note(&format!("left out, its record cannot be read: {one}"));
    }
    known.retain(|task| options.session.as_ref().is_none_or(|session| task.session_id == *session));
    let total = known.len();
    let mut shown: Vec<TaskInfo> = known
        .into_iter()
        .filter(|task| options.all || task.background || task.status == Status::Running)
        .collect();
    kennel.ask_who_waits(&mut shown).await;
    (shown, total)
}

fn text(shown: &[TaskInfo], total: usize, options: &TasksOptions) -> String {
    if shown.is_empty() {
        let more = if total > 0 && !options.all {
            format!(" kennel tasks --all shows {total} finished foreground calls.")
        } else {
            String::new()
        };
        return format!("No tasks.{more}\n");
    }
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    let tints: Vec<Tint> = shown.iter().map(tint).collect();
    render::tinted_table(&["ID", "COMMAND", "STARTED", "STATUS"], &rows, &tints)
}

fn tint(task: &TaskInfo) -> Tint {
    match task.status {
        Status::Running => Tint::Alive,
        Status::Completed => Tint::Good,
        Status::Failed | Status::Lost => Tint::Bad,
        Status::Killed => Tint::Ended,
    }
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
    if task.waiting_for_input == Some(true) {
        text += " (waits for input)";
    }
    if let Some(origin) = &task.origin {
        text = format!("{text} on {origin}");
    }
    text
}
