//! Waiting for several connections at once, and [`Waker`], by which another thread ends such a wait.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// What a connection is ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ranks) struct Ready {
    /// There are bytes to read, or the connection has ended.
    pub(in crate::ranks) reads: bool,
    /// It takes bytes, or has ended.
    pub(in crate::ranks) writes: bool,
}

/// Waits until one of the connections can be read, or be written where `true` says so, at most for `longest`.
/// Returns what each is ready for.
pub(in crate::ranks) fn poll(
    connections: &[(BorrowedFd<'_>, Ready)],
    longest: Option<Duration>,
) -> io::Result<Vec<Ready>> {
    let interest = |wants: &Ready| {
        let reads = if wants.reads { PollFlags::IN } else { PollFlags::empty() };
        if wants.writes { reads | PollFlags::OUT } else { reads }
    };
    let mut fds: Vec<_> =
        connections.iter().map(|(fd, wants)| PollFd::from_borrowed_fd(*fd, interest(wants))).collect();
    let timeout = longest.and_then(|longest| Timespec::try_from(longest).ok());
    match rustix::event::poll(&mut fds, timeout.as_ref()) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(vec![Ready { reads: false, writes: false }; fds.len()]),
        Err(error) => return Err(error.into()),
    }
    let ended = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    let ready = |fd: &PollFd<'_>| {
        let events = fd.revents();
        let has = |flag| events.intersects(flag | ended);
        Ready { reads: has(PollFlags::IN), writes: has(PollFlags::OUT) }
    };
    Ok(fds.iter().map(ready).collect())
}

/// Wakes a thread that polls.
#[derive(Debug)]
pub(in crate::ranks) struct Waker {
    /// What the thread polls.
    near: UnixStream,
    far: UnixStream,
}

impl Waker {
    pub(in crate::ranks) fn new() -> io::Result<Self> {
        let (near, far) = UnixStream::pair()?;
        near.set_nonblocking(true)?;
        far.set_nonblocking(true)?;
        Ok(Self { near, far })
    }

    /// Wakes the thread, now or when it polls next.
    pub(in crate::ranks) fn wake(&self) {
        // If there is no room, it has not seen the bytes that are there.
        let _ = (&self.far).write(&[1]);
    }

    /// Forgets all that was woken for.
    pub(in crate::ranks) fn clear(&self) {
        let mut bytes = [0; 64];
        while (&self.near).read(&mut bytes).is_ok_and(|length| length == bytes.len()) {}
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.near.as_fd()
    }
}
