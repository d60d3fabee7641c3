//! What listing a tree costs, next to reading the whole process table, on a machine with many processes.
//!
//! `cargo run --release -p proctree --example tree_cost -- 1000` starts that many bystanders and one tree of ten,
//! then prints medians of interleaved runs. Linux only.

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark starts processes, reads the clock and prints"
)]
mod linux {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use proctree::{Snapshot, TrackOptions, descendants, proc_id, signal_checked, track_descendants};

    const ROUNDS: usize = 51;

    pub(crate) fn main() {
        let bystanders = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000u32);
        let crowd = shell(&format!(
            "i=0; while [ $i -lt {bystanders} ]; do i=$((i+1)); sleep 1000 & done; echo; wait"
        ));
        let tree = shell("i=0; while [ $i -lt 9 ]; do i=$((i+1)); sleep 1000 & done; echo; wait");
        let root = i32::try_from(tree.id()).unwrap_or(0);
        let tracker = track_descendants(
            root,
            TrackOptions {
                interval: Duration::from_secs(3600),
                source: proctree::Source::Sampler,
                ..TrackOptions::default()
            },
        );

        let mut members = Vec::new();
        let mut times: [Vec<Duration>; 3] = Default::default();
        for _ in 0..ROUNDS {
            times[0].push(time(|| drop(descendants(root, &mut members))));
            times[1].push(time(|| drop(Snapshot::take().map(|table| table.rows().len()))));
            times[2].push(time(|| tracker.sample_now()));
        }
        let [walk, table, sample] = times.map(median);
        println!("tree of {} below {root}, {bystanders} bystanders", members.len());
        println!("walk_us {}\ntable_us {}", walk.as_micros(), table.as_micros());
        println!("walk by children files {walk:?}");
        println!("whole table            {table:?}  {:.1} x", table.as_secs_f64() / walk.as_secs_f64());
        println!("tracker's sample       {sample:?}  {:.1} x", sample.as_secs_f64() / walk.as_secs_f64());
        end(tree);
        end(crowd);
    }

    fn shell(script: &str) -> Child {
        let spawned = Command::new("/bin/sh").arg("-c").arg(script).stdout(Stdio::piped()).spawn();
        let mut child = spawned.expect("a benchmark needs a shell");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("stdout was asked for as a pipe");
        BufReader::new(output).read_line(&mut line).expect("the shell says when it is ready");
        child
    }

    fn end(mut child: Child) {
        let mut members = Vec::new();
        drop(descendants(i32::try_from(child.id()).unwrap_or(0), &mut members));
        for id in members.iter().filter_map(|member| proc_id(member.pid)) {
            drop(signal_checked(id, proctree::Signal::KILL));
        }
        drop(child.kill());
        drop(child.wait());
    }

    fn time(run: impl FnOnce()) -> Duration {
        let start = Instant::now();
        run();
        start.elapsed()
    }

    fn median(mut times: Vec<Duration>) -> Duration {
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }
}
