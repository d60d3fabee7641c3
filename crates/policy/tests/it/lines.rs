//! Lines with the decision that they must get: `lines.jsonl`, ours, none of it from the labelled cases.

use policy::Decision;

#[derive(serde::Deserialize)]
struct Line {
    want: Decision,
    command: String,
}

#[test]
fn every_line_gets_its_decision() {
    let lines = include_str!("lines.jsonl").lines();
    let mut wrong = Vec::new();
    for line in lines {
        let line: Line = serde_json::from_str(line).unwrap();
        let verdict = super::verdict(&line.command);
        if verdict.decision != line.want {
            let rules: Vec<&str> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
            wrong.push(format!("{:?} for {:?}: {:?} {rules:?}", verdict.decision, line.want, line.command));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
