//! Objects against the schemas that the binary prints.

use serde_json::Value;
use testkit::Rig;

use crate::common::{kill, rig};

fn schema(rig: &Rig, name: &str) -> jsonschema::Validator {
    let printed = rig.kennel(["schema", name]).finish().exits(0).json();
    jsonschema::validator_for(&printed).expect("a schema that is one")
}

#[track_caller]
fn valid(schema: &jsonschema::Validator, object: &Value) {
    let errors: Vec<String> = schema.iter_errors(object).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?} in {object}");
}

#[test]
fn every_kind_of_outcome_fits_its_schema() {
    // Symptom: a field is renamed, and clients find out in production. Done-when 2.
    let rig = rig();
    let outcome = schema(&rig, "outcome");
    let commands: [&[&str]; 7] = [
        &["echo out; echo err >&2; exit 3"],
        &["--timeout", "200ms", "sleep 60"],
        &["kill -9 $$"],
        &["no-such-program-here"],
        &["false | true"],
        &["sleep 70 &"],
        &["--", "printf", "x"],
    ];
    for words in commands {
        let object = rig.kennel(["run", "--json"].iter().chain(words)).finish().json();
        valid(&outcome, &object);
        let id = crate::common::text(&object, "task_id");
        kill(&rig, &id);
    }
}

#[test]
fn other_objects_fit_their_schemas() {
    // Symptom: `schema` describes one program and the binary is another.
    let rig = rig();
    let names = rig.kennel(["schema"]).finish().exits(0).text();
    for name in names.split_whitespace() {
        schema(&rig, name);
    }
    let begun = rig.kennel(["start", "--json", "echo hello; sleep 70"]).finish().json();
    valid(&schema(&rig, "start"), &begun);
    let id = crate::common::text(&begun, "task_id");
    let list = rig.kennel(["tasks", "--json"]).finish().json();
    valid(&schema(&rig, "tasks"), &list);
    valid(&schema(&rig, "task"), &crate::common::at(&list, "/tasks/0"));
    valid(&schema(&rig, "task_output"), &rig.kennel(["output", "--json", &id]).finish().json());
    valid(&schema(&rig, "kill"), &kill(&rig, &id).json());
    valid(&schema(&rig, "gc"), &rig.kennel(["gc", "--json"]).finish().json());
    valid(&schema(&rig, "doctor"), &rig.kennel(["doctor", "--json"]).finish().json());
}

#[test]
fn a_wrong_object_does_not_fit() {
    // Symptom: a schema that accepts everything proves nothing.
    let rig = rig();
    let outcome = schema(&rig, "outcome");
    assert!(!outcome.is_valid(&serde_json::json!({"status": "sort of done"})));
    assert!(!outcome.is_valid(&serde_json::json!(3)));
}

#[test]
fn events_are_numbered_without_gaps() {
    // Symptom: a client cannot know whether it missed something.
    let rig = rig();
    let done = rig.kennel(["run", "--events", "echo out; echo err >&2; sleep 70 & exit 3"]).finish();
    let events: Vec<Value> =
        done.text().lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
    let kinds: Vec<_> = events.iter().map(|event| crate::common::text(event, "type")).collect();
    assert_eq!(kinds.first().map(String::as_str), Some("started"), "{kinds:?}");
    assert_eq!(kinds.last().map(String::as_str), Some("done"), "{kinds:?}");
    for kind in ["output", "exited", "survivors"] {
        assert!(kinds.iter().any(|it| it == kind), "no {kind} in {kinds:?}");
    }
    let event_schema = schema(&rig, "event");
    for (index, event) in (1..).zip(&events) {
        valid(&event_schema, event);
        assert_eq!(crate::common::number(event, "seq"), index, "{event}");
        assert!(event.get("time_ms").is_some_and(Value::is_u64), "{event}");
    }
    let last = events.last().expect("events");
    let outcome = last.get("outcome").expect("the outcome");
    valid(&schema(&rig, "outcome"), outcome);
    kill(&rig, &crate::common::text(outcome, "task_id"));
}
