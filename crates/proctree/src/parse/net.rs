//! `/proc/PID/net/{tcp,tcp6,udp,udp6,unix}` and the links that name sockets, see `proc_pid_net(5)`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{fields, number};

/// `TCP_LISTEN`.
const LISTEN: u8 = 0x0a;
/// `TCP_CLOSE`, which a UDP socket is in until it is connected.
const CLOSE: u8 = 0x07;
/// `__SO_ACCEPTCON`: somebody has called `listen`.
const ACCEPTING: u32 = 0x0001_0000;

/// One row of a tcp or udp table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InetSocket {
    /// Local address.
    pub address: IpAddr,
    /// Local port, 0 if not bound.
    pub port: u16,
    /// State as the kernel numbers it.
    pub state: u8,
    /// Inode of the socket, 0 once nobody holds it.
    pub inode: u64,
}

impl InetSocket {
    /// True if connections are accepted.
    pub fn is_listening(&self) -> bool {
        self.state == LISTEN
    }

    /// True if datagrams from anybody are received.
    pub fn is_bound_datagram(&self) -> bool {
        self.state == CLOSE && self.port != 0
    }
}

/// One row of `/proc/net/unix`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixSocket {
    /// True if connections are accepted.
    pub is_listening: bool,
    /// Inode of the socket.
    pub inode: u64,
    /// Path, `@` and the name for an abstract one, empty if unnamed.
    pub path: Vec<u8>,
}

/// Parses a line of a tcp or udp table; `None` for the heading and whatever is no row.
pub fn parse_inet(line: &[u8]) -> Option<InetSocket> {
    let mut columns = fields(line);
    let (address, port) = endpoint(columns.nth(1)?)?;
    let state = u8::try_from(hex(columns.nth(1)?)?).ok()?;
    let inode = number(columns.nth(5)?)?;
    Some(InetSocket { address, port, state, inode })
}

/// Parses a line of the unix table; `None` for the heading and whatever is no row.
pub fn parse_unix(line: &[u8]) -> Option<UnixSocket> {
    let mut rest = line;
    let mut column = || {
        let start = rest.iter().position(|byte| *byte != b' ')?;
        let text = rest.get(start..)?;
        let end = text.iter().position(|byte| *byte == b' ').unwrap_or(text.len());
        rest = text.get(end..)?;
        text.get(..end)
    };
    let flags = [column()?, column()?, column()?, column()?][3];
    let inode = [column()?, column()?, column()?][2];
    // A path may hold spaces, also at its start: one space parts it from the inode.
    let path = rest.strip_prefix(b" ").unwrap_or_default().to_vec();
    Some(UnixSocket { is_listening: hex(flags)? & ACCEPTING != 0, inode: number(inode)?, path })
}

/// The number of a link like `socket:[123]`, if it is of this kind.
pub fn parse_link(target: &[u8], kind: &str) -> Option<u64> {
    number(target.strip_prefix(kind.as_bytes())?.strip_prefix(b":[")?.strip_suffix(b"]")?)
}

/// `0100007F:1F90`: the address in words as they lie in memory, the port as a number.
fn endpoint(text: &[u8]) -> Option<(IpAddr, u16)> {
    let colon = text.iter().position(|byte| *byte == b':')?;
    let port = u16::try_from(hex(text.get(colon + 1..)?)?).ok()?;
    let mut bytes = [0u8; 16];
    let words = text.get(..colon)?.chunks(8);
    let count = words.len();
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&hex(word)?.to_ne_bytes());
    }
    let address = match count {
        1 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(..4)?).ok()?)),
        4 => IpAddr::V6(Ipv6Addr::from(bytes)),
        _ => return None,
    };
    Some((address, port))
}

fn hex(text: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_rows() {
        let line = b"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000";
        let socket = parse_inet(line).unwrap();
        let words = if cfg!(target_endian = "little") { [127, 0, 0, 1] } else { [1, 0, 0, 127] };
        assert_eq!(
            socket,
            InetSocket { address: IpAddr::from(words), port: 8080, state: LISTEN, inode: 4711 }
        );
        assert!(socket.is_listening());
        assert!(!socket.is_bound_datagram());
        assert_eq!(parse_inet(b"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when"), None);
        assert_eq!(parse_inet(b""), None);
        assert_eq!(parse_inet(b"0: 0100007F0100007F:1F90 0:0 0A 0:0 0:0 0 0 0 4711"), None);
        assert_eq!(parse_inet(b"0: 0100007F:1F90F 0:0 0A 0:0 0:0 0 0 0 4711"), None);
    }

    #[test]
    fn tcp6_rows() {
        let line = b"  0: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A \
            00000000:00000000 00:00000000 00000000     0        0 99 1";
        let socket = parse_inet(line).unwrap();
        assert_eq!((socket.port, socket.inode), (22, 99));
        if cfg!(target_endian = "little") {
            assert_eq!(socket.address, IpAddr::V6(Ipv6Addr::LOCALHOST));
        }
    }

    #[test]
    fn unix_rows() {
        let listening =
            parse_unix(b"0000000000000000: 00000002 00000000 00010000 0001 01 15000 /run/a b.sock").unwrap();
        assert_eq!(
            listening,
            UnixSocket { is_listening: true, inode: 15000, path: b"/run/a b.sock".to_vec() }
        );
        let unnamed = parse_unix(b"0000000000000000: 00000003 00000000 00000000 0001 03 15001").unwrap();
        assert_eq!(unnamed, UnixSocket { is_listening: false, inode: 15001, path: Vec::new() });
        let spaced = parse_unix(b"0: 2 0 00010000 1 01 7   x").unwrap();
        assert_eq!(spaced.path, b"  x");
        assert_eq!(parse_unix(b"Num       RefCount Protocol Flags    Type St Inode Path"), None);
        assert_eq!(parse_unix(b""), None);
    }

    #[test]
    fn links() {
        assert_eq!(parse_link(b"socket:[12]", "socket"), Some(12));
        assert_eq!(parse_link(b"net:[4026531840]", "net"), Some(4_026_531_840));
        assert_eq!(parse_link(b"pipe:[12]", "socket"), None);
        assert_eq!(parse_link(b"socket:[", "socket"), None);
        assert_eq!(parse_link(b"/a", "socket"), None);
    }
}
