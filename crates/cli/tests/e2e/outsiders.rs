//! Commands that signal everything in sight, from inside a sandbox: nobody outside is hit.

use testkit::{lacks, lacks_program};

use crate::sandbox::rigs;

/// All of it in a PID namespace: where a promise fails, nobody's processes but the test's own are in sight.
const STAGE: &str = r#"
sleep 60 & bystander=$!
neighbour=$("$KENNEL" start --no-check 'exec sleep 61' | tail -n 1)
"$KENNEL" run --no-check --sandbox "$1" "$2; exit 7"
echo "code $?"
kill -0 $bystander 2>/dev/null && echo bystander lives
"$KENNEL" tasks --json | grep -c '"status": *"running"'
"$KENNEL" kill --grace 100ms "$neighbour" >/dev/null && echo neighbour ended with proof
kill -9 $bystander 2>/dev/null
wait
"#;

#[test]
fn what_signals_everything_hits_nothing_outside() {
    // Symptom: an agent cleans up with `pkill -f node`, and the editor, the host and the keepers are gone.
    if lacks_program(&["unshare", "pkill"]) {
        return;
    }
    let killers = [
        "kill -9 -1",
        // Not the shell itself, whose command line has the pattern in it.
        "pkill -9 -f '[s]leep 6|[k]nl-|[k]ennel run'",
        "pkill -9 '^(sleep|knl-task|knl-guard|kennel)$'",
        "killall5 -9 || true",
        "python3 -c 'import os; [os.kill(int(p), 9) for p in os.listdir(\"/proc\") if p.isdigit() and int(p) != os.getppid() and int(p) != os.getpid()]' 2>/dev/null || true",
    ];
    for rig in rigs() {
        let alone = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"];
        let can = rig.program("unshare").args(alone).arg("true").finish().code() == 0;
        if lacks("a PID namespace for this user", can) {
            continue;
        }
        for killer in killers {
            if lacks_program(&[killer.split(' ').next().unwrap_or_default()]) && !killer.starts_with("kill ")
            {
                continue;
            }
            for mode in ["workspace-write", "read-only"] {
                let mut stage = rig.program("unshare");
                let words = ["bash", "--norc", "--noprofile", "-c", STAGE, "stage", mode, killer];
                let done = stage.args(alone).args(words).finish();
                let expected = "code 7\nbystander lives\n1\nneighbour ended with proof\n";
                assert_eq!(done.text(), expected, "{mode}: {killer}: {done}");
            }
        }
        // The same without a sandbox: the killer can kill.
        let words =
            ["bash", "--norc", "--noprofile", "-c", STAGE, "stage", "off", "pkill -9 -f '[s]leep 60'"];
        let done = rig.program("unshare").args(alone).args(words).finish();
        assert!(!done.text().contains("bystander lives"), "{done}");
    }
}
