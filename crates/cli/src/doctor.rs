//! `kennel doctor`: what this machine offers and what that protects.

use kennel::{Kennel, Probe, TaskInfo};
use serde::Serialize;

use crate::args::DoctorOptions;
use crate::fault::Fault;
use crate::render;

/// Looks.
pub(crate) async fn doctor(options: &DoctorOptions) -> Result<u8, Fault> {
    let kennel = Kennel::builder().build().await.map_err(|error| Fault::not_done(&error))?;
    let probe = kennel.probe();
    if options.bundle {
        render::json(&bundle(&kennel, probe));
    } else if options.json {
        render::json(&probe);
    } else {
        let rows: Vec<Vec<String>> = probe
            .findings
            .iter()
            .map(|finding| {
                let mark = if finding.present { "yes" } else { "no" };
                let means = match &finding.get {
                    Some(get) if !finding.present => format!("{}; to get it: {get}", finding.means),
                    _ => finding.means.clone(),
                };
                vec![finding.name.clone(), mark.to_owned(), finding.seen.clone(), means]
            })
            .collect();
        render::table(&["WHAT", "HERE", "SEEN", "MEANS"], &rows);
    }
    Ok(0)
}

/// What goes with a report of a defect. No command, no environment, no output.
#[derive(Debug, Serialize)]
struct Bundle {
    version: &'static str,
    protocol: u32,
    machine: Probe,
    tasks: Vec<BundledTask>,
    sessions: usize,
    keepers: Vec<String>,
}

#[derive(Debug, Serialize)]
struct BundledTask {
    id: String,
    status: kennel::Status,
    end: Option<kennel::End>,
    exit_code: Option<i32>,
    started_at: String,
    ended_at: Option<String>,
    boundary: kennel::Boundary,
    output_bytes: u64,
    survivors: usize,
}

fn bundle(kennel: &Kennel, machine: Probe) -> Bundle {
    let task = |task: TaskInfo| BundledTask {
        id: task.id,
        status: task.status,
        end: task.end,
        exit_code: task.exit_code,
        started_at: task.started_at,
        ended_at: task.ended_at,
        boundary: task.boundary,
        output_bytes: task.output_bytes,
        survivors: task.background_pids.len(),
    };
    Bundle {
        version: env!("CARGO_PKG_VERSION"),
        protocol: kennel::PROTOCOL,
        machine,
        tasks: kennel.tasks().into_iter().map(task).collect(),
        sessions: kennel.sessions().len(),
        keepers: kennel.keeper_log(),
    }
}
