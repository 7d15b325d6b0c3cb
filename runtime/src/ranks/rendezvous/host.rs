//! Rank 0's part of the meeting: it listens until all are there.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use super::reception::Reception;
use super::{Met, addresses, identity, refused};
use crate::base::error::RanksDetail;
use crate::ranks::environment::{Meeting, Seat};
use crate::ranks::members::Limits;
use crate::ranks::wire::{Key, Message, Person, Welcome, keep_alive, listen_at, nonce};

/// How long ports that are taken are tried again: a former run may be about to end.
const AGAIN: Duration = Duration::from_secs(2);

/// Waits for the other ranks.
pub(super) fn host(
    seat: &Seat,
    meeting: &Meeting,
    limits: Limits,
    me: Person,
    listener: TcpListener,
) -> Result<Met, RanksDetail> {
    let door = listen(meeting, limits.rendezvous.min(AGAIN))?;
    let key = Key::of_token(seat.token.as_deref());
    let seats = Reception::new(seat.size, &key, me, limits.rendezvous).receive(&door)?;
    let (people, mut connections): (Vec<_>, Vec<_>) = seats.into_iter().unzip();
    let session = nonce();
    let frame = Message::Welcome(Welcome { session, people: people.clone() }).encode();
    for connection in connections.iter_mut().flatten() {
        // A connection that does not have this option is still noticed when it closes.
        let _ = keep_alive(&connection.stream, limits.silence);
        connection.outbox.send(&connection.stream, &frame);
    }
    // Rank 0 is the lowest of all pairs, and connects to nobody.
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Ok(Met {
        identity: identity(seat, &people),
        key: key.of_session(&session),
        addresses: addresses(&people, 0, here),
        listener,
        connections,
    })
}

/// Listens on the first port that is free.
fn listen(meeting: &Meeting, longest: Duration) -> Result<TcpListener, RanksDetail> {
    let start = Instant::now();
    loop {
        for &port in &meeting.ports {
            match listen_at(&meeting.host, port) {
                Ok(listener) => return Ok(listener),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(refused("a port where rank 0 listens", &error)),
            }
        }
        if start.elapsed() >= longest {
            let several = meeting.ports.len() > 1;
            return Err(RanksDetail::PortTaken { place: meeting.place(), several });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
