//! The orders of `KENNEL_FAULT`, and obeying them.

use std::sync::Mutex;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Signal, getpid};

/// How often this process came by each place.
static VISITS: Mutex<Vec<(&'static str, u64)>> = Mutex::new(Vec::new());

/// A named place; obeys the order for it, if there is one.
#[expect(clippy::disallowed_methods, reason = "tests reach keepers by their environment")]
pub fn point(name: &'static str) {
    let Some(orders) = std::env::var_os("KENNEL_FAULT") else { return };
    let visit = count(name);
    for order in orders.to_string_lossy().split(',') {
        let Some((place, act)) = order.split_once('=') else { continue };
        let (place, wanted) = place.split_once('@').unwrap_or((place, "1"));
        if place == name && wanted.parse() == Ok(visit) {
            obey(act);
        }
    }
}

/// What `KENNEL_FAULT` says about a mechanism.
#[expect(clippy::disallowed_methods, reason = "as above")]
pub fn order(name: &'static str) -> Option<String> {
    let orders = std::env::var("KENNEL_FAULT").ok()?;
    orders
        .split(',')
        .filter_map(|order| order.split_once('='))
        .find(|(place, _)| *place == name)
        .map(|(_, act)| act.to_owned())
}

fn count(name: &'static str) -> u64 {
    // Only the single-threaded keepers and tests come here: nobody can have panicked with the lock.
    let Ok(mut visits) = VISITS.lock() else { return 0 };
    if let Some((_, count)) = visits.iter_mut().find(|(known, _)| *known == name) {
        *count += 1;
        return *count;
    }
    visits.push((name, 1));
    1
}

#[expect(clippy::disallowed_methods, reason = "the one process that cannot be another by now is our own")]
fn obey(act: &str) {
    if act == "kill" {
        let _never_returns = rustix::process::kill_process(getpid(), Signal::KILL);
    } else if let Some(fifo) = act.strip_prefix("hold:") {
        let Ok(said) = open(fifo, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) else { return };
        let line = format!("{}\n", getpid().as_raw_nonzero());
        let _reader_gone = rustix::io::write(&said, line.as_bytes());
        let go = format!("{fifo}.go");
        let Ok(go) = open(go, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else { return };
        while rustix::io::read(&go, &mut [0_u8; 16]).is_ok_and(|count| count > 0) {}
    }
}
