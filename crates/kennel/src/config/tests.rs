//! Layers over one another, as a table: what is in force, or why not.

use std::path::PathBuf;
use std::time::Duration;

use super::{Config, ConfigError, HookFailure, Layer, Limit, Origin, Settings, hook_failure};

fn machine(text: &str) -> Layer {
    Layer { origin: Origin::Machine(PathBuf::from("/etc/kennel.toml")), text: text.to_owned() }
}

fn user(text: &str) -> Layer {
    Layer { origin: Origin::User(PathBuf::from("/u/config.toml")), text: text.to_owned() }
}

fn project(text: &str) -> Layer {
    Layer { origin: Origin::Project(PathBuf::from("/p/kennel.toml")), text: text.to_owned() }
}

fn trusted(text: &str) -> Layer {
    Layer { origin: Origin::Trusted(PathBuf::from("/p/kennel.toml")), text: text.to_owned() }
}

fn variable(key: &str, text: &str, inside_task: bool) -> Layer {
    Layer { origin: Origin::Variable { name: Layer::variable(key), inside_task }, text: text.to_owned() }
}

/// What a key is after these layers, as TOML, and who said so.
fn check(layers: &[Layer], key: &str) -> (String, Origin) {
    let settings = Config::from_layers(layers).expect("layers that are accepted").settings;
    let entry = settings.entries().into_iter().find(|entry| entry.name == key).expect("a key");
    (entry.value, entry.origin)
}

fn refused(layers: &[Layer]) -> ConfigError {
    Config::from_layers(layers).expect_err("layers that are refused")
}

#[test]
fn later_wins_and_the_origin_is_kept() {
    let layers = [
        machine("timeout_max = \"5m\"\noutput_max_chars = 100"),
        user("timeout_max = \"10m\""),
        project("timeout_max = \"1m\""),
        variable("timeout_max", "2h", false),
    ];
    let value = |count: usize| check(layers.get(..count).unwrap_or_default(), "timeout_max");
    assert_eq!(value(0), ("\"10m\"".to_owned(), Origin::BuiltIn));
    for (count, expected) in [(1, "\"5m\""), (2, "\"10m\""), (3, "\"1m\""), (4, "\"2h\"")] {
        let origin = layers.get(count - 1).map(|layer| layer.origin.clone());
        assert_eq!((value(count).0.as_str(), Some(value(count).1)), (expected, origin));
    }
    assert_eq!(check(&layers, "output_max_chars").0, "100");
}

/// Every key: what is in force, a tighter value and a looser one; `None` where no such layer may say so.
const ORDERS: &[(&str, &str, Option<&str>, Option<&str>)] = &[
    ("timeout_default", "\"2m\"", Some("\"1m\""), Some("\"3m\"")),
    ("timeout_default", "\"2m\"", Some("30000"), Some("\"0\"")),
    ("timeout_max", "\"10m\"", Some("\"9m\""), Some("\"11m\"")),
    ("output_max_chars", "30000", Some("10"), Some("30001")),
    ("output_cap", "\"64M\"", Some("\"1M\""), Some("\"1G\"")),
    ("output_total", "\"2G\"", Some("\"1G\""), Some("\"3G\"")),
    ("retention", "\"1h\"", Some("\"1h\""), Some("\"1m\"")),
    ("retention", "\"1h\"", None, Some("\"2h\"")),
    ("blocked_commands", "[\"a\"]", Some("[\"b\"]"), None),
    ("require_description", "false", Some("true"), None),
    ("require_description", "true", Some("true"), Some("false")),
    ("sandbox", "\"workspace-write\"", Some("\"read-only\""), Some("\"off\"")),
    ("network", "\"off\"", Some("\"off\""), Some("\"on\"")),
    ("on_ask", "\"question\"", Some("\"question\""), Some("\"sandboxed\"")),
    ("env_pass", "[\"A\", \"B\"]", Some("[\"A\"]"), Some("[\"A\", \"B\", \"C\"]")),
    ("env_pass", "[\"A\", \"B\"]", Some("[]"), Some("[\"C\"]")),
    ("inherit_login_env", "false", Some("false"), Some("true")),
    ("memory", "\"2G\"", Some("\"1G\""), Some("\"0\"")),
    ("memory", "\"0\"", Some("4096"), None),
    ("pids", "100", Some("99"), Some("0")),
    ("cpu_time", "\"10m\"", Some("\"9m\""), Some("\"0\"")),
    ("tasks_per_session", "10", Some("9"), Some("11")),
    ("tasks_total", "10", Some("9"), Some("11")),
    ("confirm_kill_after", "\"10m\"", Some("\"1m\""), Some("\"1d\"")),
    ("on_hook_failure", "\"deny\"", Some("\"deny\""), Some("\"allow\"")),
];

#[test]
fn what_is_not_trusted_only_tightens() {
    for name in Settings::NAMES {
        assert!(ORDERS.iter().any(|(key, ..)| key == name), "no row for {name}");
    }
    for (key, now, tighter, looser) in ORDERS {
        let base = user(&format!("{key} = {now}"));
        let doubtful =
            |text: &str| [project(&format!("{key} = {text}")), variable(key, text.trim_matches('"'), true)];
        for layer in tighter.map(doubtful).into_iter().flatten() {
            let done = Config::from_layers(&[base.clone(), layer]);
            assert!(done.is_ok(), "{key} = {tighter:?}: {done:?}");
        }
        for layer in looser.map(doubtful).into_iter().flatten() {
            let error = refused(&[base.clone(), layer]);
            assert!(error.loosens() && error.hint().is_some(), "{key} = {looser:?}: {error}");
        }
        // The same is anybody's to say whom the user trusts.
        for text in [tighter, looser].into_iter().flatten().filter(|_| *key != "on_hook_failure") {
            let layer = trusted(&format!("{key} = {text}"));
            assert!(Config::from_layers(&[base.clone(), layer]).is_ok(), "{key} = {text}");
        }
    }
}

#[test]
fn blocked_commands_add_up_and_reach_the_policy() {
    let layers = [
        user("blocked_commands = [\"terraform destroy\"]"),
        project("blocked_commands = [\"make deploy\"]"),
        variable("blocked_commands", "npm audit fix, make clean", true),
    ];
    let config = Config::from_layers(&layers).expect("layers");
    let value = &config.settings.blocked_commands.value;
    assert_eq!(value.to_string(), "[\"make clean\",\"make deploy\",\"npm audit fix\",\"terraform destroy\"]");
    for line in ["sudo terraform destroy", "make 'deploy'", "npm audit fix", "make clean"] {
        let request =
            policy::Request { command: policy::Command::Shell(line), cwd: "/p", home: "/u", workspace: None };
        assert_eq!(config.policy.check(&request).decision, policy::Decision::Deny, "{line}");
    }
}

#[test]
fn failures_of_the_hook_are_the_users_own_file_alone() {
    let allow = "on_hook_failure = \"allow\"";
    let own = Config::from_layers(&[user(allow)]).expect("the user's file");
    assert_eq!(own.settings.on_hook_failure.value, HookFailure::Allow);
    for layer in [machine(allow), project(allow), trusted(allow), variable("on_hook_failure", "allow", false)]
    {
        assert!(refused(&[layer]).loosens());
    }
    assert_eq!(hook_failure(&format!("{allow}\nno_such_key = 1")), HookFailure::Allow);
    for text in
        ["", "on_hook_failure = \"deny\"", "on_hook_failure = true", "[a]\non_hook_failure = \"allow\"", "["]
    {
        assert_eq!(hook_failure(text), HookFailure::Deny, "{text}");
    }
}

#[test]
fn hard_rules_are_the_users_own_file_alone() {
    let hard = "allow_hard = true\n[rules]\n\"device.write\" = \"ask\"";
    assert!(Config::from_layers(&[user(hard)]).is_ok());
    for layer in [project(hard), trusted(hard)] {
        assert!(refused(&[layer]).loosens());
    }
    let soft = "[rules]\n\"vcs.force-push\" = \"allow\"";
    assert!(Config::from_layers(&[trusted(soft)]).is_ok());
    assert!(refused(&[project(soft)]).loosens());
}

#[test]
fn mistakes_are_named_with_what_was_meant() {
    let error = refused(&[user("timout_max = \"1m\"")]);
    assert!(error.hint().is_some_and(|hint| hint.contains("timeout_max")), "{error}");
    let error = refused(&[user("\n[rule]\n\"vcs.forcepush\" = \"deny\"")]);
    assert!(error.to_string().contains("/u/config.toml"), "{error}");
    let error = refused(&[user("[rules]\n\"vcs.forcepush\" = \"deny\"")]);
    assert!(error.to_string().contains("vcs.force-push"), "{error}");
    for (text, part) in [
        ("timeout_max = 30", "no unit"),
        ("timeout_max = \"soon\"", "line 1"),
        ("output_cap = 0", "64M"),
        ("output_max_chars = -1", "line 1"),
        ("sandbox = \"on\"", "workspace-write"),
        ("sandbox = \"container\"", "reserved"),
        ("require_description = \"yes\"", "bool"),
        ("a = [", "line 1"),
        ("timeout_max = \"1m\"\ntimeout_max = \"2m\"", "duplicate"),
    ] {
        let error = refused(&[user(text)]).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    for (key, text) in [("timeout_max", "30"), ("sandbox", "on"), ("require_description", "1")] {
        let error = refused(&[variable(key, text, false)]).to_string();
        assert!(error.contains(&Layer::variable(key)), "{error}");
    }
}

#[test]
fn what_is_shown_is_a_file_that_says_the_same() {
    let before =
        Config::from_layers(&[user("timeout_default = \"0\"\noutput_cap = 65537\nenv_pass = \"A,B*\"")])
            .expect("a file")
            .settings;
    assert_eq!(before.timeout_default.value, Limit::None);
    assert_eq!(before.confirm_kill_after.value.0, Duration::from_secs(600));
    let lines = before.entries().into_iter().map(|entry| format!("{} = {}", entry.name, entry.value));
    let text = lines.collect::<Vec<_>>().join("\n");
    let after = Config::from_layers(&[user(&text)]).expect("what was shown").settings;
    let values = |settings: &Settings| -> Vec<String> {
        settings.entries().into_iter().map(|entry| entry.value).collect()
    };
    assert_eq!(values(&before), values(&after));
}
