//! What a command can see and say under `kennel run`, compared with plain `bash --norc --noprofile -c`.

use testkit::Rig;

use crate::common::rig;

/// Commands whose stdout, stderr and status must be the same. Each has been a way in which a wrapper shows.
const SAME: &[&str] = &[
    "echo $0 $# \"$@\"; echo $- ; shopt; set -o",
    "echo $SHLVL $BASH_ENV.$ENV.$PROMPT_COMMAND",
    "trap; trap -p; trap -p EXIT",
    "trap 'echo bye' EXIT; cd /; false",
    "cd /tmp; pwd; cd -",
    "cd /; exit 9",
    "cd /; exec true",
    "cd /no/such; echo $?",
    "false | true; echo ${PIPESTATUS[@]}",
    "false | true",
    "true | false",
    "set -x; cd /; echo x",
    "set -e; cd /; false; echo not here",
    "set -u; cd /; echo $nothing",
    "ulimit -f 0; cd /; echo x | cat",
    "ulimit -n; ulimit -c; ulimit -u; umask",
    "eval 'echo hi'; . /dev/null; source /dev/null",
    "ls -l /proc/self/fd | sed 's/.* \\([0-9]*\\) -> .*/\\1/' | sort | head -5",
    "grep -E 'SigBlk|SigCgt|ShdPnd|Seccomp|NoNewPrivs|Groups|CapEff' /proc/self/status",
    "exec 3>&1; echo three >&3; cd /",
    "exec >/dev/null; echo hidden; cd /",
    "exec 2>&1; echo err >&2; cd /",
    "cat; echo end",
    "read x; echo \"[$x]\"",
    "(exit 5)",
    "exit 300",
    "return 3",
    "kill -USR1 $$",
    "if then",
    "echo 'unterminated",
    "cat <<X\nhere\nX",
    "echo a; # comment",
    "sleep 0.01 & wait $!; echo $?; cd /",
    "jobs; sleep 9 & jobs; kill $!; wait; cd /",
    "bash -c 'echo $BASH_ENV; trap -p; cd /; exit 4'",
    "sh -c 'echo $ENV.$BASH_ENV'; cd /",
    "env | grep -c '^BASH_ENV='; cd /",
    "declare -F; declare -f; cd /",
    "compgen -v | grep -i kennel | grep -v KENNEL_TASK; compgen -A function; cd /",
    "printenv | grep -v -E '^(KENNEL_TASK|_)=' | sort",
    "nice; cat /proc/self/oom_score_adj; ionice 2>/dev/null",
    "yes | head -1; echo ${PIPESTATUS[@]}",
    "python3 -c 'import signal; print(signal.getsignal(signal.SIGPIPE))' 2>/dev/null",
    "f() { return 7; }; f; cd /; f",
    "test -t 0; echo $?; test -t 1; echo $?; tty",
    "printf 'no newline'",
    "printf '\\377\\0\\001'",
    "echo out; echo err >&2; cd /; exit 3",
    "set -m; cd /; (exit 3); echo $?",
    "set -o noexec; cd /",
    "set -r; cd /",
    "shopt -s expand_aliases; alias ll='echo alias'\nll; cd /",
    "declare -r PWD; cd /tmp",
    "cd /; kill -9 $$",
    "cd /; kill -TERM $$",
    "cd \"$(mktemp -d)\"; rmdir \"$PWD\"; pwd >/dev/null; exit 2",
];

#[test]
fn a_command_sees_what_it_would_see_without_us() {
    // Symptom: an EXIT trap, a variable, a descriptor or a changed option of the wrapper shows in the command.
    let rig = rig();
    let mut differences = Vec::new();
    for command in SAME {
        let bare = observe(&rig, rig.bash(command));
        let ours = observe(&rig, rig.kennel(["run", "--no-check", command]));
        if ours != bare {
            differences.push(format!("{command}\n  ours {ours:?}\n  bare {bare:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// What the caller gets. Both start from the same few variables, with `hello` on stdin; stderr only where nothing of it
/// names the shell's argument zero or line numbers of another file.
fn observe(rig: &Rig, mut invocation: testkit::Invocation) -> (i32, String, String) {
    let work = rig.work();
    let done = invocation
        .env("OLDPWD", "/")
        .env("PWD", &work)
        .env("SHLVL", "1")
        .env("FOO", "bar")
        .input("hello\n")
        .finish();
    (done.code(), done.text(), done.errors())
}

#[test]
fn exported_options_of_the_shell_show_nothing_of_ours() {
    // Symptom: `export SHELLOPTS` with xtrace or verbose on, and every command begins with lines that nobody wrote.
    let rig = rig();
    for option in ["xtrace", "verbose", "errexit:nounset", "noexec", "posix"] {
        let ours = rig.kennel(["run", "--no-check", "echo hi; cd /; false; echo on"]);
        let [bare, ours] = [rig.bash("echo hi; cd /; false; echo on"), ours].map(|mut invocation| {
            let done = invocation.env("SHELLOPTS", option).finish();
            (done.code(), done.text(), done.errors())
        });
        assert_eq!(ours, bare, "{option}");
    }
}

#[test]
fn descriptors_are_passed_on_by_run() {
    // Symptom: `kennel run cat <(…)` and make's jobserver break.
    let rig = rig();
    let done = rig.bash("\"$KENNEL\" run 'cat /dev/fd/7 <&8' 7< <(echo seven) 8< <(echo eight)").finish();
    assert_eq!((done.code(), done.text().as_str()), (0, "seven\n"), "{done}");
    let done = rig.bash("\"$KENNEL\" run -- cat <(echo substituted)").finish();
    assert_eq!((done.code(), done.text().as_str()), (0, "substituted\n"), "{done}");
    let done = rig.bash("echo piped | \"$KENNEL\" run cat").finish();
    assert_eq!((done.code(), done.text().as_str()), (0, "piped\n"), "{done}");
}

#[test]
fn the_marker_is_the_only_addition_to_the_environment() {
    // Symptom: variables of ours leak into builds and change their caches.
    let rig = rig();
    let bare = rig.bash("env | grep -v ^_= | sort").finish().text();
    let ours = rig.kennel(["run", "env | grep -v ^_= | sort"]).finish().text();
    let added: Vec<&str> = ours.lines().filter(|line| !bare.lines().any(|it| it == *line)).collect();
    assert!(matches!(added.as_slice(), [marker] if marker.starts_with("KENNEL_TASK=bash-")), "{added:?}");
    let lost: Vec<&str> = bare.lines().filter(|line| !ours.lines().any(|it| it == *line)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn hangup_stays_ignored_under_nohup() {
    // Symptom: `nohup kennel run …` dies with the terminal all the same.
    let rig = rig();
    let text = rig.bash("trap '' HUP; exec \"$KENNEL\" run 'grep SigIgn /proc/self/status'").finish().text();
    let bits = u64::from_str_radix(text.trim().rsplit('\t').next().unwrap_or_default(), 16).expect("bits");
    assert_eq!(bits & 1, 1, "{text}");
}
