//! Any text as a line, as an argument vector, and as configuration: an answer each time, and the same one twice.
#![no_main]

use policy::{Command, LayerKind, Policy, Request, shell_form};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let policy = Policy::builtin();
    let ask = |command| {
        let request = Request { command, cwd: "/home/dev/project", home: "/home/dev", workspace: None };
        policy.check(&request)
    };
    let verdict = ask(Command::Shell(&text));
    assert_eq!(verdict, ask(Command::Shell(&text)), "the same question has the same answer");
    for finding in &verdict.findings {
        let (from, to) = finding.span;
        assert!(from <= to && to as usize <= text.len(), "a span lies in the text");
    }
    let argv: Vec<String> = text.split('\0').map(str::to_owned).collect();
    ask(Command::Argv(&argv));
    let _form = shell_form(&text);
    let _mistake = Policy::builtin().with_layer(LayerKind::Project, &text, &[]);
});
