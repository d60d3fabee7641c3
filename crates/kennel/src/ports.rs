//! Sockets on which members of a task listen.

use std::collections::BTreeMap;

use proctree::Proto;

/// Where somebody can be reached, each once and in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listening {
    /// TCP and UDP ports.
    pub(crate) ports: Vec<u16>,
    /// Unix sockets: the path, or `@` and the name of an abstract one.
    pub(crate) sockets: Vec<String>,
}

impl Listening {
    fn tidy(mut self) -> Self {
        self.ports.sort_unstable();
        self.ports.dedup();
        self.sockets.sort_unstable();
        self.sockets.dedup();
        self
    }

    /// Of all of these together.
    pub(crate) fn together<'each>(each: impl IntoIterator<Item = &'each Self>) -> Self {
        let mut all = Self::default();
        for one in each {
            all.ports.extend(&one.ports);
            all.sockets.extend(one.sockets.iter().cloned());
        }
        all.tidy()
    }

    /// What is in this and not in `other`.
    pub(crate) fn without(&self, other: &Self) -> Self {
        let ports = self.ports.iter().filter(|port| !other.ports.contains(port)).copied().collect();
        let sockets = self.sockets.iter().filter(|path| !other.sockets.contains(path)).cloned().collect();
        Self { ports, sockets }
    }
}

/// By process. One look at the socket tables for all processes together.
pub(crate) fn by_process(pids: &[i32]) -> BTreeMap<i32, Listening> {
    let mut found: BTreeMap<i32, Listening> = BTreeMap::new();
    if pids.is_empty() {
        return found;
    }
    for listener in proctree::listening_ports(pids) {
        let of_process = found.entry(listener.pid).or_default();
        match listener.proto {
            // One without a name can be reached by nobody who was not handed it.
            Proto::Unix if listener.path.is_empty() => {}
            Proto::Unix => of_process.sockets.push(String::from_utf8_lossy(&listener.path).into_owned()),
            Proto::Tcp | Proto::Tcp6 | Proto::Udp | Proto::Udp6 => of_process.ports.push(listener.port),
        }
    }
    found.into_iter().map(|(pid, listening)| (pid, listening.tidy())).collect()
}

/// Of all these processes together.
pub(crate) fn of_all(pids: &[i32]) -> Listening {
    Listening::together(by_process(pids).values())
}
