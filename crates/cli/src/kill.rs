//! `kennel kill`: the ladder, and the short panel that says what it came to.

use kennel::{Kill, KillReport, Status, Task, TaskInfo, signal_number};

use crate::args::KillOptions;
use crate::config;
use crate::fault::Fault;
use crate::render;
use crate::tasks::registry;

/// Kills.
pub(crate) async fn kill(options: KillOptions) -> Result<u8, Fault> {
    let signal = signal(&options.signal)?;
    let kennel = registry().await?;
    let mut reports = Vec::new();
    let mut commands = Vec::new();
    let mut tasks = Vec::new();
    // All names first: an unknown one must not leave half of the work done.
    for id in &options.ids {
        tasks.push(kennel.task(id).await.map_err(|error| not_found(&error, options.ids.len() > 1))?);
    }
    if !options.yes && !options.json && !confirmed(&tasks) {
        return Err(Fault::undone("not confirmed; nothing was ended", "kennel kill --yes ID does not ask"));
    }
    for task in &tasks {
        let mut kill = Kill::with_signal(signal).grace(options.grace);
        if options.json {
            kill = kill.telling_freed_ports();
        }
        if options.no_force {
            kill = kill.no_force();
        }
        commands.push(task.info().map(|info| info.command).unwrap_or_default());
        reports.push(task.kill(kill).await.map_err(|error| Fault::not_done(&error))?);
    }
    if options.json {
        match reports.as_slice() {
            [one] => render::json(one),
            several => render::json(&several),
        }
    } else {
        reports.iter().zip(&commands).for_each(|(report, command)| panel(report, command));
    }
    Ok(u8::from(reports.iter().any(|report| !report.success)))
}

fn not_found(error: &kennel::Error, others: bool) -> Fault {
    let fault = Fault::not_done(error);
    if others {
        fault.with_hint("nothing was ended, the other tasks neither; kennel tasks --all lists them all")
    } else {
        fault
    }
}

/// What has run for long is not ended by a slip of the hand: on a terminal the person is asked.
fn confirmed(tasks: &[Task]) -> bool {
    let after = config::load(&config::here()).unwrap_or_default().settings.confirm_kill_after.value.0;
    let old = |info: &TaskInfo| {
        let began = info.started_at.parse::<jiff::Timestamp>().ok()?;
        let seconds = jiff::Timestamp::now().as_second() - began.as_second();
        let is_old = info.status == Status::Running && u64::try_from(seconds).ok()? >= after.as_secs();
        is_old.then(|| {
            let command = render::shorten(&info.command, 60);
            format!("{} began {}: {command}", info.id, render::ago(seconds))
        })
    };
    let old: Vec<String> = tasks.iter().filter_map(|task| old(&task.info().ok()?)).collect();
    old.is_empty() || render::confirm(&format!("{}\nEnd it?", old.join("\n"))).unwrap_or(true)
}

fn signal(name: &str) -> Result<i32, Fault> {
    signal_number(name)
        .filter(|signal| [libc::SIGTERM, libc::SIGINT, libc::SIGKILL].contains(signal))
        .ok_or_else(|| {
            Fault::usage(
                format!("--signal {name}: not one of TERM, INT, KILL"),
                "kennel kill --signal INT ID",
            )
        })
}

fn panel(report: &KillReport, command: &str) {
    let title = if report.signal_sent == "none" && report.success {
        format!("{} had ended already", report.shell_id)
    } else if report.success {
        format!("{} is dead", report.shell_id)
    } else {
        format!("{} could not be ended", report.shell_id)
    };
    let mut lines = vec![("command", render::shorten(command, 80)), ("signal", report.signal_sent.clone())];
    if report.signal_sent != "none" {
        let how = if report.force_killed { "with SIGKILL" } else { "within the grace" };
        lines.push(("ended", format!("{how}, after {} ms", report.waited_ms)));
    }
    if let Some(proof) = report.proof {
        let proof = serde_json::to_value(proof)
            .ok()
            .and_then(|name| name.as_str().map(str::to_owned))
            .unwrap_or_default();
        lines.push(("proof", proof));
    }
    let freed: Vec<String> = report
        .freed_ports
        .iter()
        .map(|port| format!("port {port}"))
        .chain(report.freed_sockets.iter().cloned())
        .collect();
    if !freed.is_empty() {
        lines.push(("freed", render::shorten(&freed.join(", "), 80)));
    }
    if let Some(error) = &report.error {
        lines.push(("problem", error.clone()));
    }
    for survivor in &report.survivors {
        let held = survivor.held.clone().unwrap_or_default();
        lines
            .push(("alive", format!("{} {} ({held})", survivor.pid, render::shorten(&survivor.command, 60))));
    }
    render::panel(&title, &lines);
}
