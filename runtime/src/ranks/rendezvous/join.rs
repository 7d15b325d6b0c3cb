//! The part of every rank but rank 0 in the meeting: it looks for rank 0 until it is found.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::{Met, addresses, identity};
use crate::base::error::RanksDetail;
use crate::ranks::environment::{Meeting, Seat, at};
use crate::ranks::members::Limits;
use crate::ranks::wire::{
    Connection, Filled, Hello, Inbox, Key, Message, Outbox, Person, Ready, Welcome, connect, from_zero,
    keep_alive, nonce, poll,
};

/// How long a name is looked up again that nothing resolves: a host that starts may not have its name yet.
const NAMES: Duration = Duration::from_secs(10);
/// How long an attempt to connect may take.
const ATTEMPT: Duration = Duration::from_secs(3);
/// How long somebody who listens may take to greet. Rank 0 does it at once.
const GREETING: Duration = Duration::from_secs(3);
/// How much longer than rank 0 a rank waits, so that it gets rank 0's reason.
const GRACE: Duration = Duration::from_secs(5);
/// The pauses between attempts, the first and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));

/// What an attempt has come to.
enum Attempt {
    /// There is no rank 0, for this reason.
    Nobody(String),
    /// There is a rank 0 of another world.
    Another,
    Found(Box<(Connection, Welcome)>),
    Failed(RanksDetail),
}

/// A rank that looks for rank 0.
struct Joiner<'a> {
    seat: &'a Seat,
    key: Key,
    me: Person,
    limit: Duration,
    start: Instant,
}

/// Looks for rank 0 and waits for the others there.
pub(super) fn join(
    seat: &Seat,
    meeting: &Meeting,
    limits: Limits,
    me: Person,
    listener: TcpListener,
) -> Result<Met, RanksDetail> {
    let key = Key::of_token(seat.token.as_deref());
    let joiner = Joiner { seat, key, me, limit: limits.rendezvous, start: Instant::now() };
    let hosts = joiner.resolve(meeting)?;
    let (connection, welcome) = joiner.look(meeting, &hosts)?;
    let _ = keep_alive(&connection.stream, limits.silence);
    let zero = match connection.stream.peer_addr() {
        Ok(SocketAddr::V6(address)) if address.ip().to_ipv4_mapped().is_none() => address.into(),
        Ok(address) => SocketAddr::new(address.ip().to_canonical(), address.port()),
        Err(_) => SocketAddr::new(hosts[0], 0),
    };
    Ok(Met {
        identity: identity(seat, &welcome.people),
        key: joiner.key.of_session(&welcome.session),
        addresses: addresses(&welcome.people, seat.rank, zero),
        listener,
        connections: vec![Some(connection)],
    })
}

impl Joiner<'_> {
    fn left(&self) -> Duration {
        self.limit.saturating_sub(self.start.elapsed())
    }

    /// The addresses of rank 0's host; at least one.
    fn resolve(&self, meeting: &Meeting) -> Result<Vec<IpAddr>, RanksDetail> {
        loop {
            let message = match (meeting.host.as_str(), 0).to_socket_addrs() {
                Ok(found) => {
                    let mut ips: Vec<_> = found.map(|address| address.ip()).collect();
                    ips.dedup();
                    if !ips.is_empty() {
                        return Ok(ips);
                    }
                    "it has no address".to_owned()
                }
                Err(error) => error.to_string(),
            };
            if self.start.elapsed() >= NAMES.min(self.limit) {
                return Err(RanksDetail::Unresolved { given: meeting.given.clone(), message });
            }
            std::thread::sleep(PAUSES.1);
        }
    }

    /// Tries each address and port in turn, until one of them is rank 0's.
    fn look(&self, meeting: &Meeting, hosts: &[IpAddr]) -> Result<(Connection, Welcome), RanksDetail> {
        let mut pause = PAUSES.0;
        let (mut why, mut another) = (String::new(), None);
        loop {
            for (&port, &host) in
                meeting.ports.iter().flat_map(|port| hosts.iter().map(move |host| (port, host)))
            {
                match self.attempt(meeting, SocketAddr::new(host, port)) {
                    Attempt::Nobody(reason) => why = reason,
                    Attempt::Another => another = Some(port),
                    Attempt::Found(found) => return Ok(*found),
                    Attempt::Failed(detail) => return Err(detail),
                }
            }
            std::thread::sleep(pause.min(self.left()));
            if self.left().is_zero() {
                let (place, limit) = (meeting.place(), self.limit);
                return Err(match another {
                    Some(port) => RanksDetail::Token { place: at(&meeting.host, port) },
                    None => RanksDetail::NotFound { place, limit, why },
                });
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    fn attempt(&self, meeting: &Meeting, to: SocketAddr) -> Attempt {
        let stream = match connect(&to, self.left().min(ATTEMPT)) {
            Ok(stream) => stream,
            Err(error) => return Attempt::Nobody(error.to_string()),
        };
        let inbox = Inbox::new(from_zero(false, 0));
        let connection = Connection { stream, inbox, outbox: Outbox::default() };
        self.introduce(connection, &at(&meeting.host, to.port()))
    }

    /// Says who this is, and waits until all are there.
    fn introduce(&self, mut connection: Connection, place: &str) -> Attempt {
        let greeting = receive(&mut connection, self.left().min(GREETING));
        let Ok(Some(Message::Greeting { nonce: its, .. })) = greeting else {
            return Attempt::Nobody("somebody else listens there".to_owned());
        };
        let own = nonce();
        let hello = Hello::new(own, self.seat.rank, self.seat.size, self.me.clone()).signed(&self.key, &its);
        connection.outbox.send(&connection.stream, &hello.encode());
        // From here on rank 0 may count on this rank, so that no other attempt may be made while it thinks.
        let remaining = match receive(&mut connection, self.left().max(ATTEMPT)) {
            Ok(Some(Message::Accepted { proof, remaining })) => {
                if !self.key.accepts(&proof, "accepted", &[&own, &its]) {
                    return Attempt::Another;
                }
                remaining
            }
            Ok(Some(Message::Refused)) => return Attempt::Another,
            Ok(Some(Message::Failure { ranks, text })) => {
                return Attempt::Failed(RanksDetail::Told { ranks, text });
            }
            Ok(_) => return Attempt::Nobody("somebody else listens there".to_owned()),
            Err(Gone::Ended) => return Attempt::Nobody("the connection was closed".to_owned()),
            Err(Gone::Late) => return Attempt::Failed(self.silent(place, self.limit)),
        };
        connection.inbox.allow(from_zero(true, self.seat.size));
        self.wait_for_all(connection, remaining, place)
    }

    fn wait_for_all(&self, mut connection: Connection, remaining: Duration, place: &str) -> Attempt {
        let longest = remaining.saturating_add(GRACE);
        match receive(&mut connection, longest) {
            Ok(Some(Message::Welcome(welcome))) if welcome.people.len() == self.seat.size => {
                Attempt::Found(Box::new((connection, welcome)))
            }
            Ok(Some(Message::Failure { ranks, text })) => Attempt::Failed(RanksDetail::Told { ranks, text }),
            Err(Gone::Late) => Attempt::Failed(self.silent(place, longest)),
            // Its process has ended before it could say why.
            Ok(_) | Err(Gone::Ended) => {
                let (text, ranks) = (format!("rank 0 at {place} has died"), vec![0]);
                Attempt::Failed(RanksDetail::Told { text, ranks })
            }
        }
    }

    fn silent(&self, place: &str, limit: Duration) -> RanksDetail {
        RanksDetail::Silent { place: place.to_owned(), limit }
    }
}

/// Why no message comes.
enum Gone {
    Ended,
    Late,
}

/// Waits for the next message; `None` if what comes is none.
fn receive(connection: &mut Connection, longest: Duration) -> Result<Option<Message>, Gone> {
    let Connection { stream, inbox, .. } = connection;
    let deadline = Instant::now().checked_add(longest);
    let mut filled = Filled::Open;
    loop {
        match inbox.next() {
            Ok(Some((kind, body))) => return Ok(Message::decode(kind, body)),
            Ok(None) if matches!(filled, Filled::Ended) => return Err(Gone::Ended),
            Ok(None) => {}
            Err(_) => return Ok(None),
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(Gone::Late);
        }
        filled = read(stream, inbox, left);
    }
}

fn read(stream: &TcpStream, inbox: &mut Inbox, longest: Option<Duration>) -> Filled {
    let reads = Ready { reads: true, writes: false };
    match poll(&[(stream.as_fd(), reads)], longest) {
        Ok(_) => inbox.fill(stream),
        Err(_) => Filled::Ended,
    }
}
