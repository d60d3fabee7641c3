//! `kennel tree`, `kennel signal`: trees of processes, also those that Kennel did not start.

use std::io::{BufRead as _, IsTerminal as _};

use clap::Parser;
use kennel::tree::{
    Leader, ProcId, Refused, RefusedMember, TreeMember, TreeSignal, TreeSignalReport, Why, dry_run,
    signal_tree, tree_of_process,
};

use crate::fault::Fault;
use crate::render;
use crate::tasks::registry;

/// List the members of a task or of any process's tree: why each is one, and its ports.
#[derive(Debug, Parser)]
#[command(name = "kennel tree", max_term_width = 100)]
pub(crate) struct TreeOptions {
    /// A task's id or the beginning of one, a process id, or PID@START for this process and no later one.
    #[arg(value_name = "ID|PID")]
    pub(crate) which: String,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Signal a tree that Kennel did not start.
#[derive(Debug, Parser)]
#[command(name = "kennel signal", max_term_width = 100)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct SignalOptions {
    /// A process id, or PID@START (see `kennel tree`) for this process and no later one.
    #[arg(value_name = "PID[@START]", allow_hyphen_values = true)]
    pub(crate) which: String,
    /// TERM, INT, HUP, QUIT, KILL, STOP or CONT.
    #[arg(value_name = "SIGNAL")]
    pub(crate) signal: String,
    /// The whole tree.
    #[arg(long)]
    pub(crate) tree: bool,
    /// Say who would be signalled, and signal nobody.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Lists a tree: exit 1 when nobody is in it.
pub(crate) async fn tree(options: &TreeOptions) -> Result<u8, Fault> {
    let tree = match leader(&options.which) {
        Some(leader) => tree_of_process(leader),
        None => registry().await?.tree(&options.which).map_err(|error| Fault::not_done(&error))?,
    };
    if options.json {
        render::json(&tree);
    } else if tree.members.is_empty() {
        render::note(&format!("{}: nothing of it is alive", options.which));
    } else {
        let rows: Vec<_> = tree.members.iter().map(row).collect();
        render::table(&["PID", "WHY", "PORTS", "COMMAND"], &rows);
        if !tree.complete {
            render::note("what detached before this look cannot be known (kennel track PID follows a tree)");
        }
    }
    Ok(u8::from(tree.members.is_empty()))
}

/// Signals a tree: exit 0 when every member got it.
pub(crate) fn signal(options: &SignalOptions) -> Result<u8, Fault> {
    let Some(leader) = leader(&options.which) else {
        return Err(Fault::usage(
            format!("{:?} is not a process id", options.which),
            "kennel signal PID TERM --tree; of a task of Kennel's: kennel kill ID",
        ));
    };
    let signal = tree_signal(&options.signal)?;
    if !options.tree {
        return Err(Fault::usage(
            "kennel signal reaches whole trees only, and wants to be told so",
            format!("add --tree: kennel signal {} {} --tree", options.which, options.signal),
        ));
    }
    let refused = |why| refusal(&options.which, why);
    let plan = dry_run(leader).map_err(refused)?;
    if options.dry_run {
        tell(&plan, options, &format!("would get {}", signal.name()));
        return Ok(u8::from(!plan.success));
    }
    if !options.yes && !confirmed(&plan, signal) {
        return Err(Fault::undone("nothing was signalled", "--yes does not ask"));
    }
    let report = signal_tree(leader, signal).map_err(refused)?;
    tell(&report, options, &format!("got {}", signal.name()));
    Ok(u8::from(!report.success))
}

/// `PID` or `PID@START`; `None` for anything else.
pub(crate) fn leader(text: &str) -> Option<Leader> {
    match text.split_once('@') {
        None => text.parse().ok().map(Leader::Pid),
        Some((pid, start)) => {
            Some(Leader::Id(ProcId { pid: pid.parse().ok()?, start_ticks: start.parse().ok()? }))
        }
    }
}

/// A signal by name.
pub(crate) fn tree_signal(name: &str) -> Result<TreeSignal, Fault> {
    TreeSignal::named(name).ok_or_else(|| {
        Fault::usage(
            format!("{name:?} is not a signal for a tree"),
            "one of TERM, INT, HUP, QUIT, KILL, STOP, CONT",
        )
    })
}

fn refusal(which: &str, why: Refused) -> Fault {
    Fault::undone(format!("process {which} is not signalled: {why}"), "kennel tree PID shows who is who")
}

/// Asks the person at the terminal; where nobody sits there, who called has decided.
fn confirmed(plan: &TreeSignalReport, signal: TreeSignal) -> bool {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() || !std::io::stderr().is_terminal() {
        return true;
    }
    render::prompt(&format!("send {} to {} processes? [y/N]", signal.name(), plan.pids.len()));
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn tell(report: &TreeSignalReport, options: &SignalOptions, what: &str) {
    if options.json {
        return render::json(report);
    }
    let mut lines: Vec<(&str, String)> = Vec::new();
    let mut list = |name, pids: &[i32]| {
        if !pids.is_empty() {
            let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
            lines.push((name, pids.join(" ")));
        }
    };
    list("signalled", &report.pids);
    list("gone", &report.gone);
    list("failed", &report.failed);
    for RefusedMember { pid, why } in &report.refused {
        lines.push(("refused", format!("{pid}: {why}")));
    }
    render::panel(&format!("{} processes {what}", report.pids.len()), &lines);
}

fn row(member: &TreeMember) -> Vec<String> {
    let ports: Vec<String> =
        member.ports.iter().map(ToString::to_string).chain(member.sockets.iter().cloned()).collect();
    vec![
        format!("{}@{}", member.pid, member.start),
        why(member.reason, member.of),
        ports.join(" "),
        render::shorten(
            &member.command,
            render::width().map_or(100, |width| width.saturating_sub(50).max(20)),
        ),
    ]
}

/// Why a process is a member, in words.
pub(crate) fn why(reason: Why, of: Option<i32>) -> String {
    let of = of.map(|pid| pid.to_string()).unwrap_or_default();
    match reason {
        Why::Leader => "leader".to_owned(),
        Why::Parent => format!("child of {of}"),
        Why::Group => format!("in group {of}"),
        Why::Adopted => "orphan".to_owned(),
        Why::Marker => "marker".to_owned(),
        Why::Tag => "tag".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_by_pid_or_by_pid_and_start() {
        assert_eq!(leader("17"), Some(Leader::Pid(17)));
        assert_eq!(leader("17@99"), Some(Leader::Id(ProcId { pid: 17, start_ticks: 99 })));
        for other in ["", "bash-abc", "17@", "@9", "17@x", "99999999999", "1 7"] {
            assert_eq!(leader(other), None, "{other:?}");
        }
    }
}
