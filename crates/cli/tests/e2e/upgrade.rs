//! The binary is replaced while sessions are open, as a package manager does it: a new file under the old name, the old
//! one unlinked.

use serde_json::json;
use testkit::{Rig, binary_or};

use crate::common::{kill_with_proof, listed, text};
use crate::mcp::client::Client;

#[test]
fn a_new_binary_breaks_no_open_session() {
    // Symptom: after an upgrade the running server cannot start a guard any more ("…/kennel (deleted): no such file"), or
    // the new command line cannot end what the old one runs.
    let place = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("open it");
    let binary = place.path().join("kennel");
    let install = || {
        let new = place.path().join("kennel.new");
        std::fs::copy(binary_or(env!("CARGO_BIN_EXE_kennel")), &new).expect("a copy");
        std::fs::rename(&new, &binary).expect("replace it");
    };
    install();
    let rig = Rig::new(&binary);
    let mut go = rig.fifo("go");
    let mut ready = rig.fifo("ready");
    let mut client = Client::start(&rig);
    let before = client.background("sleep 300");
    let line = format!("echo up >'{}'; read x <>'{}'; echo over", ready.word(), go.word());
    let running = rig.kennel(["run", &line]).spawn();
    ready.line();

    install();
    // In the session that was open, and in one that needs a guard of its own.
    for session in [json!({}), json!({"session_id": "after"})] {
        let mut call = session.clone();
        call["command"] = "echo hello".into();
        assert_eq!(text(&client.works("Bash", &call), "stdout"), "hello\n");
    }
    let after = client.background("sleep 300");
    std::fs::write(go.path(), "go\n").expect("the command reads");
    assert_eq!(running.finish().exits(0).text(), "over\n");
    for id in [&before, &after] {
        assert_eq!(text(&listed(&rig, id), "status"), "running");
        rig.kennel(["output", id]).finish().exits(0);
        kill_with_proof(&rig, id);
    }
    assert!(go.ends_within(crate::common::AT_ONCE));
    assert_eq!(client.close().0, Some(0));
}
