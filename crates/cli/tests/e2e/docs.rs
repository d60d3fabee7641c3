//! The pages of `docs` say what happens: their blocks are run.

use testkit::Rig;

use crate::common::rig;

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
