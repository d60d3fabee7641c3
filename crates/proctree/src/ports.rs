//! Which of these processes listens, and where.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use crate::parse::lines::Lines;
use crate::parse::net::{parse_inet, parse_unix};
use crate::sys;

/// Kind of a listening socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Proto {
    /// TCP over IPv4.
    Tcp,
    /// TCP over IPv6, often for both.
    Tcp6,
    /// UDP over IPv4.
    Udp,
    /// UDP over IPv6, often for both.
    Udp6,
    /// A Unix socket.
    Unix,
}

/// A socket that waits for others, held by a process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Listener {
    /// Who holds it. A socket that several hold is listed for each.
    pub pid: i32,
    /// Its kind.
    pub proto: Proto,
    /// Port, in the network namespace of the process; 0 for a Unix socket.
    pub port: u16,
    /// Address that it is bound to; `None` for a Unix socket.
    pub address: Option<IpAddr>,
    /// Path of a Unix socket, `@` and the name for an abstract one; empty for others.
    pub path: Vec<u8>,
}

/// The sockets on which these processes accept connections or receive datagrams from anybody, in order.
///
/// Reads the descriptors of each process and the tables of each network namespace among them once. A process whose
/// descriptors may not be read (another user's, or not dumpable) contributes nothing: an empty answer is no proof.
///
/// # Platform
/// Linux. Elsewhere the answer is empty.
pub fn listening_ports(pids: &[i32]) -> Vec<Listener> {
    let mut namespaces: HashMap<u64, Holders> = HashMap::new();
    for &pid in pids.iter().collect::<HashSet<_>>() {
        let mut inodes = Vec::new();
        // What has been read before an error is true.
        drop(sys::for_each_socket(pid, &mut |inode| inodes.push(inode)));
        if inodes.is_empty() {
            continue;
        }
        let Some(namespace) = sys::net_namespace(pid) else { continue };
        let holders = namespaces.entry(namespace).or_default();
        holders.pids.push(pid);
        for inode in inodes {
            holders.of_socket.entry(inode).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    for holders in namespaces.values() {
        holders.read_tables(&mut found);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The processes of one network namespace.
#[derive(Default)]
struct Holders {
    pids: Vec<i32>,
    of_socket: HashMap<u64, Vec<i32>>,
}

impl Holders {
    fn read_tables(&self, found: &mut Vec<Listener>) {
        for (proto, file) in [
            (Proto::Tcp, "net/tcp"),
            (Proto::Tcp6, "net/tcp6"),
            (Proto::Udp, "net/udp"),
            (Proto::Udp6, "net/udp6"),
            (Proto::Unix, "net/unix"),
        ] {
            self.for_each_line(file, &mut |line| self.match_line(proto, line, found));
        }
    }

    /// The first process that still lives opens the table: it is the same for all of the namespace.
    fn for_each_line(&self, file: &str, line: &mut dyn FnMut(&[u8])) {
        let mut lines = Lines::default();
        let mut feed = |chunk: &[u8]| {
            lines.feed(chunk, line);
            true
        };
        let _ =
            self.pids.iter().any(|&pid| matches!(sys::for_each_chunk(pid, file, &mut feed), Ok(Some(()))));
        lines.finish(line);
    }

    fn match_line(&self, proto: Proto, line: &[u8], found: &mut Vec<Listener>) {
        let (inode, listener) = match proto {
            Proto::Unix => match parse_unix(line) {
                Some(socket) if socket.is_listening => {
                    (socket.inode, Listener { pid: 0, proto, port: 0, address: None, path: socket.path })
                }
                _ => return,
            },
            Proto::Tcp | Proto::Tcp6 | Proto::Udp | Proto::Udp6 => match parse_inet(line) {
                Some(socket) if is_open(proto, socket.is_listening(), socket.is_bound_datagram()) => {
                    let (port, address) = (socket.port, Some(socket.address));
                    (socket.inode, Listener { pid: 0, proto, port, address, path: Vec::new() })
                }
                _ => return,
            },
        };
        for &pid in self.of_socket.get(&inode).into_iter().flatten() {
            found.push(Listener { pid, ..listener.clone() });
        }
    }
}

fn is_open(proto: Proto, listening: bool, bound_datagram: bool) -> bool {
    if matches!(proto, Proto::Udp | Proto::Udp6) { bound_datagram } else { listening }
}
