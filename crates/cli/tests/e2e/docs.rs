//! The pages of `docs` say what happens: their blocks are run.

use serde_json::Value;
use testkit::Rig;

use crate::common::{rig, text};

#[test]
fn the_pages_say_what_happens() {
    // Symptom: an example of the documentation has never worked, or no longer does.
    run(include_str!("../../../../docs/policy.md"), 8);
    run(include_str!("../../../../docs/configuration.md"), 3);
    run(include_str!("../../../../docs/agent-authors.md"), 2);
    run(include_str!("../../../../docs/agent-users.md"), 2);
    run(include_str!("../../../../docs/ci.md"), 3);
    run(include_str!("../../../../docs/security-model.md"), 4);
}

/// Runs a page's sessions; a block of settings is the user's file from there on.
fn run(page: &str, blocks_least: usize) {
    let rig = rig();
    let mut blocks = 0;
    for (_, block) in page.split("```").enumerate().filter(|(at, _)| at % 2 == 1) {
        blocks += 1;
        if let Some(rules) = block.strip_prefix("toml\n") {
            let dir = rig.home().join(".config/kennel");
            std::fs::create_dir_all(&dir).expect("a directory");
            std::fs::write(dir.join("config.toml"), rules).expect("the rules");
        } else if let Some(session) = block.strip_prefix("console\n") {
            replay(&rig, session);
        }
    }
    assert!(blocks >= blocks_least, "{blocks} blocks");
}

/// `$ ` begins a command; the lines after it are what it prints.
fn replay(rig: &Rig, session: &str) {
    let session = format!("\n{session}");
    for entry in session.split("\n$ ").skip(1) {
        let (command, expected) = entry.split_once('\n').unwrap_or((entry, ""));
        let script = format!("kennel() {{ \"$KENNEL\" \"$@\"; }}\n{command}");
        let done = rig.bash(&script).finish();
        assert_eq!(done.text().trim_end(), expected.trim_end(), "{command}\n{done}");
    }
}

/// The lines of a page's blocks in that language.
fn lines_of(page: &str, language: &str) -> Vec<String> {
    let blocks = page.split("```").skip(1).step_by(2);
    let wanted = blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'));
    wanted.flat_map(str::lines).map(ToOwned::to_owned).collect()
}

/// Programs of these names that do nothing, or wait, before all others on the path.
fn stubs(rig: &Rig, programs: &[(&str, &str)]) -> String {
    let dir = rig.home().join("stubs");
    std::fs::create_dir_all(&dir).expect("a directory");
    for (name, script) in programs {
        let file = dir.join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("a stub");
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("a program");
    }
    format!("PATH='{}':$PATH; kennel() {{ \"$KENNEL\" \"$@\"; }}\n", dir.display())
}

/// Runs the lines one after the other in one shell; their statuses.
#[track_caller]
fn statuses(rig: &Rig, before: &str, lines: &[String]) -> (String, String) {
    let run: Vec<String> = lines.iter().map(|line| format!("{line}\nstatus+=($?)\n")).collect();
    let done = rig.bash(&format!("{before}{}echo \"${{status[*]}}\"", run.concat())).finish();
    (done.last_line(), done.to_string())
}

#[test]
fn the_readme_s_five_minutes_work() {
    // Symptom: the first thing that a new user types fails.
    if testkit::lacks_program(&["vim"]) {
        return;
    }
    let page = include_str!("../../../../README.md");
    let lines = lines_of(page.split("## Five minutes").nth(1).expect("the part"), "sh");
    let rig = rig();
    // What the user's project has.
    std::fs::create_dir(rig.work().join("src")).expect("a directory");
    let before = stubs(&rig, &[("make", ":"), ("cargo", ":"), ("python3", "echo serving; exec sleep 300")]);
    let (codes, all) = statuses(&rig, &before, &lines);
    // 143: killed by SIGTERM; 3: the policy asks.
    let expected = |line: &String| match line.split_whitespace().nth(1) {
        Some("wait") => "143",
        Some("check") => "3",
        _ => "0",
    };
    let expected: Vec<&str> = lines.iter().map(expected).collect();
    assert_eq!(codes, expected.join(" "), "{all}");
    let ids = rig.kennel(["tasks", "--json"]).finish().json();
    for task in crate::common::at(&ids, "tasks").as_array().expect("tasks") {
        rig.kennel(["kill", "--yes", "--grace", "200ms", &text(task, "id")]).finish().exits(0);
    }
    rig.kennel(["session", "close", "work"]).finish().exits(0);
}

#[test]
fn the_readme_s_program_is_the_example() {
    // Symptom: the program of the first page does not compile.
    let page = lines_of(include_str!("../../../../README.md"), "rust");
    let program = include_str!("../../../kennel/examples/readme.rs");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rest = program.lines().map(words);
    for line in page.iter().map(|line| words(line)).filter(|line| !line.is_empty()) {
        assert!(rest.any(|other| other == line), "{line:?} is not in the example, or not in this order");
    }
}

#[test]
fn the_lines_for_agents_work() {
    // Symptom: a hook or a server that cannot be installed as the page says.
    let rig = rig();
    let before = stubs(&rig, &[]);
    for page in [include_str!("../../../../docs/mcp.md"), include_str!("../../../../docs/policy.md")] {
        let lines = lines_of(page, "sh");
        let lines: Vec<String> = lines.into_iter().filter(|line| !line.starts_with("kennel serve")).collect();
        assert!(!lines.is_empty());
        let (codes, all) = statuses(&rig, &before, &lines);
        assert!(codes.split(' ').all(|code| code == "0"), "{codes}\n{all}");
    }
    let file = lines_of(include_str!("../../../../docs/mcp.md"), "json").concat();
    let file: Value = serde_json::from_str(&file).expect("JSON");
    let server = crate::common::at(&file, "/mcpServers/kennel");
    assert_eq!(text(&server, "command"), "kennel");
    let words: Vec<String> = serde_json::from_value(crate::common::at(&server, "args")).expect("words");
    // End of input at once: a server that starts also ends.
    rig.kennel(words).finish().exits(0);
}

#[test]
fn the_server_listens_as_the_page_says() {
    let rig = rig();
    for line in lines_of(include_str!("../../../../docs/mcp.md"), "sh") {
        let words = line.split(" #").next().unwrap_or_default().split_whitespace().skip(1);
        let words: Vec<&str> = words.collect();
        let default_is_free = || std::net::TcpListener::bind(("127.0.0.1", 7433)).is_ok();
        if words.first() != Some(&"serve")
            || words.len() == 1 && testkit::lacks("the port 7433", default_is_free())
        {
            continue;
        }
        let mut server = rig.kennel(words).spawn();
        server.await_out("http://127.0.0.1:");
        server.signal(rustix::process::Signal::TERM);
        server.finish();
    }
}

#[test]
fn the_lines_about_trees_work() {
    // Symptom: the page shows options that do not exist.
    let rig = rig();
    let leader = rig.bash("sleep 300 & wait").spawn();
    let id = crate::common::start(&rig, "sleep 300");
    let pid = leader.pid().to_string();
    let tree = rig.kennel(["tree", "--json", &pid]).finish().json();
    let start = crate::common::number(&tree, "/members/0/start").to_string();
    let page = include_str!("../../../../docs/trees.md");
    let block = page.split("```\n").nth(1).expect("a block");
    for line in block.lines() {
        let command = line.split("  ").next().unwrap_or_default();
        let command = command.replace("4711", &pid).replace("bash-k3", &id).replace("88123", &start);
        let mut words: Vec<&str> = command.split_whitespace().skip(1).collect();
        match words.first() {
            Some(&"track") => {
                let mut tracking = rig.kennel(words).spawn();
                tracking.await_out(&pid);
                tracking.signal(rustix::process::Signal::INT);
                tracking.finish();
            }
            Some(&"signal") => {
                words.push("--dry-run");
                words.dedup();
                rig.kennel(words).finish().exits(0);
            }
            _ => drop(rig.kennel(words).finish().exits(0).text()),
        }
    }
    crate::common::kill_with_proof(&rig, &id);
    rig.kennel(["signal", &pid, "KILL", "--tree", "--yes"]).finish().exits(0);
    leader.finish();
}
