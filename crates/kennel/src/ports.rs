//! Ports on which members of a task listen.

use std::collections::BTreeMap;

use proctree::Proto;

/// TCP and UDP ports by process, each once and in order. One look at the socket tables for all processes together.
pub(crate) fn by_process(pids: &[i32]) -> BTreeMap<i32, Vec<u16>> {
    let mut ports: BTreeMap<i32, Vec<u16>> = BTreeMap::new();
    if pids.is_empty() {
        return ports;
    }
    for listener in
        proctree::listening_ports(pids).into_iter().filter(|listener| listener.proto != Proto::Unix)
    {
        ports.entry(listener.pid).or_default().push(listener.port);
    }
    for list in ports.values_mut() {
        list.sort_unstable();
        list.dedup();
    }
    ports
}

/// The ports of all these processes together.
pub(crate) fn of_all(pids: &[i32]) -> Vec<u16> {
    let mut all: Vec<u16> = by_process(pids).into_values().flatten().collect();
    all.sort_unstable();
    all.dedup();
    all
}
