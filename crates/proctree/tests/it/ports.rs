//! Who listens where.

use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use proctree::{Listener, Proto, listening_ports, read_status};

use crate::support::{Shell, fork, hold, own_pid};

fn find(found: &[Listener], pid: i32, proto: Proto) -> Vec<&Listener> {
    found.iter().filter(|listener| listener.pid == pid && listener.proto == proto).collect()
}

#[test]
fn listeners_of_every_kind_are_found_by_their_holder() {
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a b.sock");
    let unix = UnixListener::bind(&path).unwrap();
    let name = format!("proctree-{}", own_pid());
    let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let child = fork(&[tcp.as_fd(), udp.as_fd(), unix.as_fd(), hidden.as_fd()], || hold());
    let other = Shell::start("read x");

    let found = listening_ports(&[child.pid, other.pid(), child.pid, i32::MAX, 0]);
    assert!(found.iter().all(|listener| listener.pid == child.pid), "{found:?}");
    let ports = |proto| find(&found, child.pid, proto).iter().map(|found| found.port).collect::<Vec<_>>();
    assert_eq!(ports(Proto::Tcp), [tcp.local_addr().unwrap().port()]);
    assert_eq!(ports(Proto::Udp), [udp.local_addr().unwrap().port()]);
    let paths: Vec<_> = find(&found, child.pid, Proto::Unix).iter().map(|found| found.path.clone()).collect();
    assert_eq!(paths, [path.to_str().unwrap().as_bytes().to_vec(), format!("@{name}").into_bytes()]);
    let both = listening_ports(&[child.pid, own_pid()]);
    let port = tcp.local_addr().unwrap().port();
    assert_eq!(both.iter().filter(|found| found.port == port && found.proto == Proto::Tcp).count(), 2);
}

#[test]
fn ipv6_is_told_apart() {
    let Ok(tcp) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        return crate::support::skip("ipv6_is_told_apart", "IPv6");
    };
    let child = fork(&[tcp.as_fd()], || hold());
    let found = listening_ports(&[child.pid]);
    // The fork has the sockets of tests that run beside this one, too; none of those is of this kind.
    let ours = find(&found, child.pid, Proto::Tcp6);
    assert_eq!(ours.len(), 1, "{found:?}");
    assert_eq!(
        (ours[0].port, ours[0].address),
        (tcp.local_addr().unwrap().port(), Some(Ipv6Addr::LOCALHOST.into()))
    );
}

#[test]
fn status_shows_users() {
    let status = read_status(own_pid()).unwrap();
    assert_eq!(status.euid, rustix::process::geteuid().as_raw());
    assert_eq!(status.tracer_pid, 0);
    assert!(status.rss_kib > 0);
    assert_eq!(read_status(i32::MAX), None);
}
