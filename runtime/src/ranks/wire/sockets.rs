//! Sockets as ranks need them.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use rustix::net::sockopt;

/// Whether a host is this one by its name alone, so that no other one can be meant.
pub(in crate::ranks) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Listens where ranks look for this host under this name: at every address of this machine, or at the
/// loopback alone if the name is that.
pub(in crate::ranks) fn listen_at(host: &str, port: u16) -> io::Result<TcpListener> {
    if !is_loopback(host) {
        return listen_anywhere(port);
    }
    let mut addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
    addresses.sort_by_key(SocketAddr::is_ipv6);
    without_waiting(TcpListener::bind(&addresses[..])?)
}

/// Listens at every address of this machine.
pub(in crate::ranks) fn listen_anywhere(port: u16) -> io::Result<TcpListener> {
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)) {
        // Such a socket takes IPv4 too, unless the system is set up otherwise.
        Ok(listener) if !sockopt::ipv6_v6only(&listener).unwrap_or(true) => without_waiting(listener),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Err(error),
        _ => without_waiting(TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?),
    }
}

fn without_waiting(listener: TcpListener) -> io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Connects, within a time, and prepares the connection.
pub(in crate::ranks) fn connect(to: &SocketAddr, limit: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(to, limit.max(Duration::from_millis(1)))?;
    // A port that nobody listens at, if the system gives it to the connection itself.
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(ErrorKind::ConnectionRefused.into());
    }
    prepare(&stream)?;
    Ok(stream)
}

/// Makes a connection send at once, and never wait.
pub(in crate::ranks) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)
}

/// Lets the kernel ask whether the other machine still answers, and end the connection after this silence. The
/// other kernel answers for a process that is stopped.
pub(in crate::ranks) fn keep_alive(stream: &TcpStream, silence: Duration) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    #[cfg(target_os = "linux")]
    {
        const PROBES: u32 = 3;
        let second = Duration::from_secs(1);
        sockopt::set_tcp_keepidle(stream, (silence / 2).max(second))?;
        sockopt::set_tcp_keepintvl(stream, (silence / (2 * PROBES)).max(second))?;
        sockopt::set_tcp_keepcnt(stream, PROBES)?;
        // Probes are not sent while bytes wait for an acknowledgement.
        let milliseconds = u32::try_from(silence.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(stream, milliseconds)?;
    }
    Ok(())
}
