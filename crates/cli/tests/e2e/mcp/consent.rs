//! Who says yes where the policy asks.

use serde_json::{Value, json};

use super::client::{Client, Era, words};
use crate::common::rig;

/// The policy asks before it, and it harms nobody: there is no repository.
const ASKED: &str = "git push --force";

fn forms() -> Value {
    json!({"elicitation": {"form": {}}})
}

#[test]
fn without_somebody_to_ask_the_answer_says_how_to_allow() {
    for era in super::client::ERAS {
        let rig = rig();
        let mut client = Client::with(&rig, &[], era, json!({}));
        let result = client.call("Bash", &json!({"command": ASKED}));
        assert_eq!(result["isError"], json!(true), "{result}");
        assert!(words(&result).contains("vcs.force-push") && words(&result).contains("allow"), "{result}");
        let outcome = &result["structuredContent"];
        assert_eq!(
            (&outcome["exit_code"], &outcome["error"]["code"]),
            (&json!(-1), &json!("denied")),
            "{outcome}"
        );
        assert_eq!(outcome["verdict"]["decision"], json!("ask"), "{outcome}");
    }
}

#[test]
fn a_legacy_client_is_asked_in_the_middle_of_the_call() {
    let rig = rig();
    let mut client = Client::with(&rig, &[], Era::Legacy, forms());
    for (action, ran) in [("accept", true), ("decline", false), ("cancel", false)] {
        let id = client.send_call("Bash", &json!({"command": ASKED}));
        let question = client.message();
        assert_eq!(question["method"], json!("elicitation/create"), "{question}");
        assert!(
            question["params"]["message"].as_str().is_some_and(|text| text.contains(ASKED)),
            "{question}"
        );
        client.write(
            &json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action, "content": {}}}),
        );
        let result = client.answer(id);
        assert_eq!(result["isError"] == json!(false), ran, "{action}: {result}");
        if ran {
            // It ran, and git had its own say.
            assert_ne!(result["structuredContent"]["exit_code"], json!(-1), "{result}");
            assert_eq!(result["structuredContent"]["verdict"]["decision"], json!("ask"), "{result}");
        }
    }
}

#[test]
fn a_modern_client_repeats_the_call_with_the_answer() {
    let rig = rig();
    let mut client = Client::with(&rig, &[], Era::Modern, forms());
    let ask = |client: &mut Client, command: &str| {
        let result = client.call("Bash", &json!({"command": command}));
        assert_eq!(result["resultType"], json!("input_required"), "{result}");
        let (name, question) =
            result["inputRequests"].as_object().and_then(|all| all.iter().next()).expect("one");
        assert_eq!(question["method"], json!("elicitation/create"), "{question}");
        (name.clone(), result["requestState"].as_str().expect("a state").to_owned())
    };
    let again = |client: &mut Client, command: &str, name: &str, state: &str, action: &str| {
        client.ask(
            "tools/call",
            json!({"name": "Bash", "arguments": {"command": command}, "requestState": state,
            "inputResponses": {name: {"action": action, "content": {}}}}),
        )
    };
    let (name, state) = ask(&mut client, ASKED);
    let other = again(&mut client, "git push --force origin x", &name, &state, "accept");
    assert_eq!(other["resultType"], json!("input_required"), "another command was allowed: {other}");
    let forged = again(&mut client, ASKED, &name, &format!("{state}x"), "accept");
    assert_eq!(forged["resultType"], json!("input_required"), "a forged state was taken: {forged}");
    let ran = again(&mut client, ASKED, &name, &state, "accept");
    assert_eq!(ran["isError"], json!(false), "{ran}");
    let replayed = again(&mut client, ASKED, &name, &state, "accept");
    assert_eq!(replayed["resultType"], json!("input_required"), "an answer counted twice: {replayed}");
    let (name, state) = ask(&mut client, ASKED);
    let declined = again(&mut client, ASKED, &name, &state, "decline");
    assert_eq!(declined["isError"], json!(true), "{declined}");
}

#[test]
fn the_end_of_an_old_task_is_confirmed_where_that_was_asked_for() {
    let rig = rig();
    let mut client = Client::with(&rig, &["--confirm-kill-after", "0s"], Era::Legacy, forms());
    let task = client.background("sleep 300");
    for (action, ended) in [("decline", false), ("accept", true)] {
        let id = client.send_call("KillShell", &json!({"shell_id": task}));
        let question = client.message();
        client.write(
            &json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action, "content": {}}}),
        );
        let result = client.answer(id);
        assert_eq!(result["structuredContent"]["success"], json!(ended), "{result}");
    }
}

#[test]
fn a_denied_command_is_not_asked_about() {
    let rig = rig();
    let mut client = Client::with(&rig, &[], Era::Legacy, forms());
    let result = client.call("Bash", &json!({"command": "rm -rf /"}));
    assert_eq!(result["isError"], json!(true), "{result}");
    assert!(client.heard.is_empty(), "a person was asked: {:?}", client.heard);
}

#[test]
fn a_cancelled_call_takes_its_question_back() {
    // Symptom: the person goes on looking at a form whose answer nobody reads.
    let rig = rig();
    let mut client = Client::with(&rig, &[], Era::Legacy, forms());
    let id = client.send_call("Bash", &json!({"command": ASKED}));
    let question = client.message();
    assert_eq!(question["method"], json!("elicitation/create"), "{question}");
    client
        .write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    let taken_back = client.message();
    assert_eq!(taken_back["method"], json!("notifications/cancelled"), "{taken_back}");
    assert_eq!(taken_back["params"]["requestId"], question["id"], "{taken_back}");
}
