//! What the tools do and say.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::Deadline;

use super::client::{Client, ERAS, Era, hostile, words};
use crate::common::{AT_ONCE, rig};

#[test]
fn results_have_the_shape_that_was_promised() {
    // Symptom: the client throws a result away, because it does not fit the tool's own schema.
    for era in ERAS {
        let rig = rig();
        let mut client = Client::with(&rig, &[], era, json!({}));
        let list = client.ask("tools/list", json!({}));
        let id = client.background("sleep 300");
        let calls = [
            ("Bash", json!({"command": "echo out; echo err >&2; exit 3"})),
            ("Bash", json!({"command": ""})),
            ("Bash", json!({"command": "rm -rf /"})),
            ("TaskOutput", json!({"task_id": id, "block": false})),
            ("TaskOutput", json!({"task_id": "bash-none"})),
            ("TaskList", json!({})),
            ("KillShell", json!({"shell_id": id})),
            ("KillShell", json!({"shell_id": "bash-none"})),
        ];
        for (tool, arguments) in calls {
            let result = client.call(tool, &arguments);
            let tools = list["tools"].as_array().expect("a list");
            let tool = tools.iter().find(|listed| listed["name"] == tool).expect("listed");
            let schema = jsonschema::validator_for(&tool["outputSchema"]).expect("a schema");
            let structured = &result["structuredContent"];
            let wrong: Vec<String> = schema.iter_errors(structured).map(|error| error.to_string()).collect();
            assert!(wrong.is_empty(), "{arguments}: {wrong:?} in {structured}");
            assert!(!words(&result).is_empty(), "{arguments}: nothing for the model");
        }
    }
}

#[test]
fn a_background_child_does_not_hold_the_call() {
    // Symptom (row 1): the call hangs until the child of `&` ends.
    let rig = rig();
    let mut client = Client::start(&rig);
    let since = Deadline::usual();
    let outcome = client.works("Bash", &json!({"command": "sleep 300 & echo started"}));
    assert!(since.elapsed() < AT_ONCE);
    assert_eq!((&outcome["stdout"], &outcome["exit_code"]), (&json!("started\n"), &json!(0)));
    assert_eq!(outcome["background_pids"].as_array().map(Vec::len), Some(1), "{outcome}");
}

#[test]
fn a_timeout_keeps_the_output_and_ends_the_tree() {
    // Symptom (row 4): the output is thrown away and a detached child lives on.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!("echo before; setsid {} --ready '{}' deaf & sleep 60", hostile(), fifo.word());
    let mut client = Client::start(&rig);
    let id = client.send_call("Bash", &json!({"command": command, "timeout": 1500}));
    fifo.pid();
    let outcome = client.answer(id)["structuredContent"].clone();
    assert_eq!((&outcome["stdout"], &outcome["exit_code"]), (&json!("before\n"), &json!(124)), "{outcome}");
    assert_eq!(
        (&outcome["end"]["cause"], &outcome["proof"]),
        (&json!("timed_out"), &json!("echild")),
        "{outcome}"
    );
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn a_killed_loop_starts_nothing_more() {
    // Symptom (rows 5, 23): "stopped", while the loop goes on to start children; a deaf child lives on.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!("for i in 1 2 3 4 5; do {} --ready '{}' deaf; done", hostile(), fifo.word());
    let mut client = Client::start(&rig);
    let id = client.background(&command);
    fifo.pid();
    let report = client.works("KillShell", &json!({"bash_id": id, "timeout": 200}));
    assert_eq!((&report["success"], &report["force_killed"]), (&json!(true), &json!(true)), "{report}");
    assert_eq!((&report["survivors"], &report["proof"]), (&json!([]), &json!("echild")), "{report}");
    assert!(fifo.ends_within(AT_ONCE));
    let again = client.works("KillShell", &json!({"task_id": id}));
    assert_eq!((&again["success"], &again["signal_sent"]), (&json!(true), &json!("none")), "{again}");
}

#[test]
fn nobody_waits_for_input_that_cannot_come() {
    // Symptom (row 6): a background `cat` blocks for seventeen hours.
    let rig = rig();
    let mut client = Client::start(&rig);
    let id = client.background("cat; read x; grep foo; echo ended");
    let page = client.works("TaskOutput", &json!({"task_id": id}));
    assert_eq!((&page["text"], &page["status"]), (&json!("ended\n"), &json!("completed")), "{page}");
}

#[test]
fn a_long_command_comes_back_as_a_running_task() {
    // Symptom: the client gives up on the call after a minute and the output is lost.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!("echo first; exec {} --ready '{}' hold", hostile(), fifo.word());
    let mut client = Client::start(&rig);
    let result = client.call("Bash", &json!({"command": command, "wait_ms": 300}));
    let outcome = &result["structuredContent"];
    assert_eq!(result["isError"], json!(false), "{result}");
    assert_eq!((&outcome["status"], &outcome["success"]), (&json!("running"), &json!(true)), "{outcome}");
    assert!(outcome.get("end").is_none() && outcome.get("exit_code").is_none(), "{outcome}");
    assert!(
        outcome["output_file"].as_str().is_some_and(|file| std::path::Path::new(file).exists()),
        "{outcome}"
    );
    assert!(words(&result).contains("TaskOutput"), "{result}");
    fifo.pid();
    let id = outcome["task_id"].clone();
    let page = client.works("TaskOutput", &json!({"shell_id": id, "until": "fir.t", "timeout": 5000}));
    assert_eq!((&page["matched"], &page["text"]), (&json!(true), &json!("first\n")), "{page}");
    let listed = client.works("TaskList", &json!({"status": "running"}));
    assert_eq!(listed["tasks"][0]["id"], id, "{listed}");
    client.works("KillShell", &json!({"shell_id": id}));
    assert!(fifo.ends_within(AT_ONCE));
}

#[test]
fn progress_tells_the_last_line() {
    // Symptom: the client shows nothing for a minute and takes the call for dead.
    if testkit::slow() {
        return;
    }
    let rig = rig();
    let mut client = Client::start(&rig);
    let params = json!({"name": "Bash", "arguments": {"command": "echo one; sleep 6; echo two"},
        "_meta": {"progressToken": "p"}});
    let id = client.send("tools/call", params);
    assert_eq!(client.answer(id)["structuredContent"]["stdout"], json!("one\ntwo\n"));
    let told = client.heard.iter().find(|message| message["method"] == "notifications/progress");
    let told = told.expect("a progress notification");
    assert_eq!((&told["params"]["progressToken"], &told["params"]["message"]), (&json!("p"), &json!("one")));
}

#[test]
fn five_hundred_calls_at_once() {
    // Symptom (row 21): descriptors or processes run out and calls are lost.
    let rig = rig();
    let mut client = Client::start(&rig);
    client.works("Bash", &json!({"command": "true"}));
    let before = descriptors(client.pid());
    let ids: Vec<i64> = (0..500).map(|_| client.send_call("Bash", &json!({"command": "true"}))).collect();
    for id in ids {
        let result = client.answer(id);
        assert_eq!(result["structuredContent"]["exit_code"], json!(0), "{result}");
    }
    let after = || descriptors(client.pid());
    assert!(Deadline::usual().until(|| after() <= before + 2), "{before} descriptors became {}", after());
}

fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

#[test]
fn a_flood_is_answered_with_bounded_memory() {
    // Symptom: the server keeps what a command writes in memory and is killed.
    let rig = rig();
    let mut client = Client::start(&rig);
    let outcome = client.works("Bash", &json!({"command": "head -c 1000000000 /dev/zero | tr '\\0' x"}));
    assert_eq!((&outcome["stdout_bytes"], &outcome["truncated"]), (&json!(1_000_000_000), &json!(true)));
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.pid())).expect("it lives");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a figure");
    let kib: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kib < 100 << 10, "{kib} KiB");
}

#[test]
fn what_is_wrong_with_an_argument_is_said_by_its_name() {
    // Symptom: "invalid params", and the model tries the same again.
    let rig = rig();
    let mut client = Client::start(&rig);
    let wrong = [
        ("Bash", json!({}), "command"),
        ("Bash", json!({"command": 5.5, "timeout": "soon"}), "timeout"),
        ("Bash", json!({"command": "true", "env": ["A=1"]}), "env"),
        ("Bash", json!({"command": "true", "env": {"A=B": "1"}}), "A=B"),
        ("Bash", json!({"command": "true", "session_id": "../x"}), "session_id"),
        ("Bash", json!({"command": "true", "cwd": "/no/such"}), "/no/such"),
        ("Bash", json!({"command": "a\0b"}), "NUL"),
        ("TaskOutput", json!({"task_id": "x", "until": "("}), "x"),
        ("KillShell", json!({"shell_id": "x", "signal": "SIGUSR1"}), "signal"),
        ("TaskList", json!({"status": "odd"}), "status"),
    ];
    for (tool, arguments, name) in wrong {
        let result = client.call(tool, &arguments);
        assert_eq!(result["isError"], json!(true), "{tool} {arguments}: {result}");
        assert!(words(&result).contains(name), "{tool} {arguments}: {}", words(&result));
    }
    let unknown = client.call("KillShell", &json!({"shell_id": "bash-none"}));
    assert_eq!(unknown["structuredContent"]["success"], json!(false));
    assert!(words(&unknown).contains("TaskList"), "{unknown}");
    let ignored = client.call("Bash", &json!({"command": "true", "colour": 1}));
    assert!(words(&ignored).contains("colour"), "{ignored}");
    let no_tool = client.ask("tools/call", json!({"name": "Nothing", "arguments": {}}));
    assert_eq!(no_tool["error"]["code"], json!(-32602), "{no_tool}");
}

#[test]
fn a_command_of_three_hundred_kilobytes_runs() {
    // Symptom (row 25): "argument list too long".
    let rig = rig();
    let mut client = Client::start(&rig);
    let command = format!("x='{}'; echo ${{#x}}", "y".repeat(300_000));
    let outcome = client.works("Bash", &json!({"command": command}));
    assert_eq!(outcome["stdout"], json!("300000\n"), "{outcome}");
}

#[test]
fn sessions_are_names_and_not_connections() {
    // Symptom: a client that reconnects has lost its directory, or two agents share one.
    for era in ERAS {
        let rig = rig();
        let mut client = Client::with(&rig, &[], era, json!({}));
        let run = |client: &mut Client, session: Option<&str>, command: &str| {
            let outcome = client.works("Bash", &json!({"command": command, "session_id": session}));
            outcome["session_id"].as_str().unwrap_or_default().to_owned()
        };
        assert_eq!(run(&mut client, Some("build"), "true"), "build");
        let own = run(&mut client, None, "true");
        assert_eq!(run(&mut client, Some(&own), "true"), own);
        assert_ne!(own, "build");
    }
}

#[test]
fn other_agents_find_the_names_they_know() {
    // Symptom: an agent calls the tool that its training knows, and there is none.
    let rig = rig();
    for (profile, names, call) in [
        ("claude", vec!["Bash", "BashOutput", "TaskStop"], ("Bash", json!({"command": "echo hi"}))),
        ("codex", vec!["exec_command"], ("exec_command", json!({"cmd": "echo hi", "workdir": "/"}))),
        (
            "gemini",
            vec!["run_shell_command", "list_background_processes", "read_background_output"],
            ("run_shell_command", json!({"command": "echo hi", "dir_path": "/"})),
        ),
    ] {
        let mut client = Client::with(&rig, &["--profile", profile], Era::Legacy, json!({}));
        let list = client.ask("tools/list", json!({}));
        let listed: Vec<&str> = list["tools"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert!(names.iter().all(|name| listed.contains(name)), "{profile}: {listed:?}");
        assert_eq!(client.works(call.0, &call.1)["stdout"], json!("hi\n"), "{profile}");
    }
    let mut client = Client::with(&rig, &["--profile", "claude"], Era::Legacy, json!({}));
    let id = client.background("echo one; sleep 300");
    let first = client.works("BashOutput", &json!({"bash_id": id, "until": "one"}));
    assert_eq!(first["text"], json!("one\n"));
    assert_eq!(
        client.works("BashOutput", &json!({"bash_id": id}))["text"],
        json!(""),
        "what was read is not new"
    );
    client.works("TaskStop", &json!({"task_id": id}));
}

#[test]
fn the_prompt_lists_what_runs() {
    let rig = rig();
    let mut client = Client::start(&rig);
    let id = client.background("sleep 300");
    let list = client.ask("prompts/list", json!({}));
    assert_eq!(list["prompts"][0]["name"], json!("tasks"));
    let prompt = client.ask("prompts/get", json!({"name": "tasks"}));
    let text = prompt.pointer("/messages/0/content/text").and_then(Value::as_str).unwrap_or_default();
    assert!(text.contains(&id) && text.contains("sleep 300"), "{text}");
}

#[test]
fn a_cancelled_call_ends_its_tree() {
    // Symptom (row 19): the call is cancelled and the command goes on.
    let rig = rig();
    let mut fifo = rig.fifo("ready");
    let command = format!("echo kept; setsid {} --ready '{}' hold & sleep 300", hostile(), fifo.word());
    let mut client = Client::start(&rig);
    let id = client.send_call("Bash", &json!({"command": command}));
    fifo.pid();
    client
        .write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    assert!(fifo.ends_within(AT_ONCE));
    let listed = || client_list(&rig);
    assert!(
        Deadline::usual().until(|| listed().pointer("/tasks/0/end/by") == Some(&json!("cancel"))),
        "{}",
        listed()
    );
    assert_eq!(client.works("Bash", &json!({"command": "echo alive"}))["stdout"], json!("alive\n"));
    let read = rig.kennel(["output", listed()["tasks"][0]["id"].as_str().expect("an id")]).finish();
    assert_eq!(read.text(), "kept\n");
}

fn client_list(rig: &testkit::Rig) -> Value {
    rig.kennel(["tasks", "--all", "--json"]).finish().json()
}

#[test]
fn a_stopped_server_that_goes_on_answers() {
    // Symptom: after Ctrl-Z and fg of the agent the calls hang.
    let rig = rig();
    let mut client = Client::start(&rig);
    client.works("Bash", &json!({"command": "true"}));
    testkit::signal(client.pid(), Signal::STOP);
    let id = client.send_call("Bash", &json!({"command": "echo hi"}));
    testkit::signal(client.pid(), Signal::CONT);
    assert_eq!(client.answer(id)["structuredContent"]["stdout"], json!("hi\n"));
    assert!(client.close().1 < Duration::from_secs(10));
}

#[test]
fn a_task_is_written_to_and_answers() {
    // Symptom: a program that asks a question can only be killed.
    let rig = rig();
    let mut client = Client::start(&rig);
    let started = client.works(
        "Bash",
        &json!({"command": "read name; echo \"hello $name\"; cat", "stdin": true, "run_in_background": true}),
    );
    let id = &started["task_id"];
    assert_eq!(client.works("TaskInput", &json!({"task_id": id, "text": "you\n"}))["written"], json!(4));
    let page = client.works("TaskOutput", &json!({"task_id": id, "until": "hello you"}));
    assert_eq!(page["matched"], json!(true), "{page}");
    client.works("TaskInput", &json!({"task_id": id, "text": "rest", "eof": true}));
    let page = client.works("TaskOutput", &json!({"task_id": id, "filter": "rest"}));
    assert_eq!((&page["text"], &page["status"]), (&json!("rest"), &json!("completed")), "{page}");
    let late = client.call("TaskInput", &json!({"task_id": id, "text": "x"}));
    assert_eq!(
        (&late["isError"], &late["structuredContent"]["written"]),
        (&json!(true), &json!(0)),
        "{late}"
    );
}

#[test]
fn codex_talks_to_a_terminal() {
    let rig = rig();
    let mut client = Client::with(&rig, &["--profile", "codex"], Era::Legacy, json!({}));
    let started = client.works(
        "exec_command",
        &json!({"cmd": "read -p 'name? ' name; echo \"hello $name\"", "tty": true, "yield_time_ms": 300}),
    );
    let id = &started["task_id"];
    let page =
        client.works("write_stdin", &json!({"session_id": id, "chars": "you\n", "yield_time_ms": 10_000}));
    assert!(page["text"].as_str().is_some_and(|text| text.contains("hello you")), "{page}");
    assert_eq!(page["exit_code"], json!(0), "{page}");
}

#[test]
fn malformed_calls_are_told_which_field_is_wrong() {
    // Symptom: -32601 "tools/call", as if the server had no tools.
    let rig = rig();
    let mut client = Client::start(&rig);
    for (params, field) in [
        (json!({"name": "Bash", "arguments": ["true"]}), "`params.arguments`"),
        (json!({"name": 5, "arguments": {}}), "`params.name`"),
        (json!({"arguments": {}}), "`params.name`"),
        (Value::Null, "`params`"),
    ] {
        let mut request = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params});
        if params.is_null() {
            request.as_object_mut().expect("an object").remove("params");
        }
        client.write(&request);
        let answer = client.answer(77);
        assert_eq!(answer["error"]["code"], json!(-32602), "{answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(field)), "{answer}");
    }
    let unknown = client.ask("tools/none", json!({}));
    assert_eq!(unknown["error"]["code"], json!(-32601), "{unknown}");
}

#[test]
fn an_offset_beyond_the_end_does_not_hide_what_comes_later() {
    // Symptom: `next_offset` was what was asked for, and every later read was empty.
    let rig = rig();
    let mut client = Client::start(&rig);
    let outcome = client.works(
        "Bash",
        &json!({"command": "echo early; read -r line; echo late", "stdin": true, "run_in_background": true}),
    );
    let id = outcome["task_id"].as_str().expect("an id").to_owned();
    let read = |client: &mut Client, offset: u64| {
        client.call("TaskOutput", &json!({"task_id": id, "block": false, "offset": offset}))
    };
    client.works("TaskOutput", &json!({"task_id": id, "until": "early"}));
    let result = read(&mut client, 1_000_000_000_000_000_000);
    assert!(words(&result).contains("beyond the end"), "{result}");
    client.works("TaskInput", &json!({"task_id": id, "text": "x\n"}));
    client.works("TaskOutput", &json!({"task_id": id}));
    let next = result["structuredContent"]["next_offset"].as_u64().expect("a number");
    assert_eq!(read(&mut client, next)["structuredContent"]["text"], json!("late\n"));
}

#[test]
fn a_running_task_is_told_what_its_timeout_does() {
    // Symptom: "its own timeout goes on" of a task that has none, or whose time was over.
    let rig = rig();
    let mut client = Client::start(&rig);
    let mut said = |arguments: Value| words(&client.call("Bash", &arguments));
    for (arguments, wanted) in [
        (json!({"command": "sleep 300", "run_in_background": true}), "it has no timeout"),
        (json!({"command": "sleep 300", "run_in_background": true, "timeout": 60000}), "timeout goes on"),
        (json!({"command": "sleep 300", "wait_ms": 1}), "timeout goes on"),
        (
            json!({"command": "sleep 300", "timeout": 90000, "on_timeout": "background", "wait_ms": 1}),
            "does not end it",
        ),
    ] {
        let words = said(arguments.clone());
        assert!(words.contains(wanted), "{arguments}: {words}");
    }
    let over =
        said(json!({"command": "sleep 300", "timeout": 50, "on_timeout": "background", "wait_ms": 3000}));
    assert!(over.contains("its time was over") && !over.contains("timeout"), "{over}");
}

#[test]
fn every_failure_has_the_shape_that_was_promised() {
    // Symptom: a list that was refused had no structured result, although the tool has an output schema.
    let rig = rig();
    let mut client = Client::start(&rig);
    let tools = client.ask("tools/list", json!({}));
    for tool in tools["tools"].as_array().expect("a list") {
        let name = tool["name"].as_str().expect("a name");
        let result = client.call(name, &json!({"status": "bogus"}));
        assert_eq!(result["isError"], json!(true), "{name}: {result}");
        let schema = jsonschema::validator_for(&tool["outputSchema"]).expect("a schema");
        assert!(schema.is_valid(&result["structuredContent"]), "{name}: {result}");
    }
}

#[test]
fn a_list_has_the_leaders_of_the_fastest_tasks() {
    // Symptom: `pid: 0` of every fast task; a signal to that hits the caller's own group.
    let rig = rig();
    let mut client = Client::start(&rig);
    for _ in 0..5 {
        let id = client.background("echo $$");
        let told = client.works("TaskOutput", &json!({"task_id": id}))["text"].clone();
        let pid: i64 = told.as_str().and_then(|text| text.trim().parse().ok()).expect("a pid");
        let ended = || {
            let listed = client_list(&rig);
            let tasks = listed["tasks"].as_array().cloned().unwrap_or_default();
            tasks.into_iter().find(|task| task["id"] == json!(id) && task["status"] == json!("completed"))
        };
        let mut task = None;
        Deadline::usual().until(|| {
            task = ended();
            task.is_some()
        });
        assert_eq!(task.expect("it ends")["pid"], json!(pid));
    }
}

#[test]
fn a_line_that_cannot_be_read_is_answered() {
    // Symptom: half a surrogate pair in a command, and the client waits for ever.
    let rig = rig();
    let mut client = Client::start(&rig);
    let call = |id: u8, command: &[u8]| {
        let head = format!("{{\"jsonrpc\": \"2.0\", \"id\": {id}, \"method\": \"tools/call\", \"params\": ");
        let arguments = b"{\"name\": \"Bash\", \"arguments\": {\"command\": \"";
        [head.as_bytes(), arguments, command, b"\"}}}\n"].concat()
    };
    for (line, code, id) in [
        (call(90, br"echo \ud83d"), -32700, json!(90)),
        (call(91, b"echo \xff"), -32700, json!(91)),
        (b"{\"jsonrpc\": \"2.0\", \"id\"\n".to_vec(), -32700, Value::Null),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 92}\n".to_vec(), -32600, json!(92)),
        (b"[1]\n".to_vec(), -32600, Value::Null),
        ([vec![b'x'; 17 << 20], b"\n".to_vec()].concat(), -32600, Value::Null),
    ] {
        client.write_bytes(&line);
        let answer = client.message();
        assert_eq!((&answer["error"]["code"], answer.get("id")), (&json!(code), Some(&id)), "{answer}");
    }
    let outcome = client.works("Bash", &json!({"command": "printf '\u{1f600}'"}));
    assert_eq!(outcome["stdout"], json!("\u{1f600}"));
}
