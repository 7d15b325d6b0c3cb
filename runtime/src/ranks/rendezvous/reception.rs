//! [`Reception`]: who has come to rank 0, and who may stay.

use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::{refused, who};
use crate::base::error::RanksDetail;
use crate::ranks::wire::{
    Connection, Filled, Hello, Inbox, Key, Message, Nonce, Outbox, Person, Ready, from_rank, nonce, poll,
    prepare,
};

/// How long somebody who is not known yet may say nothing.
const STRANGERS: Duration = Duration::from_secs(5);
/// How many of them there may be at a time. With more, the one that has waited longest is sent away.
const MOST_STRANGERS: usize = 1024;
/// How long nobody is received if the system has no more connections.
const PAUSE: Duration = Duration::from_millis(20);

/// A rank that is there. Rank 0 has no connection to itself.
type Seated = (Person, Option<Connection>);

/// Somebody who is not known yet.
struct Guest {
    stream: TcpStream,
    inbox: Inbox,
    nonce: Nonce,
    since: Instant,
}

/// What becomes of a guest.
enum Verdict {
    /// It has said nothing so far.
    Waits,
    /// It is no rank, or of another world.
    Goes,
    Stays(usize, Person, Nonce),
    /// It is a rank of this world, which fails by it.
    Fails(RanksDetail),
}

/// The ranks that are there, and guests.
pub(super) struct Reception<'a> {
    size: usize,
    key: &'a Key,
    seats: Vec<Option<Seated>>,
    guests: VecDeque<Guest>,
    limit: Duration,
    start: Instant,
}

impl<'a> Reception<'a> {
    pub(super) fn new(size: usize, key: &'a Key, me: Person, limit: Duration) -> Self {
        let mut seats: Vec<_> = (0..size).map(|_| None).collect();
        seats[0] = Some((me, None));
        Self { size, key, seats, guests: VecDeque::new(), limit, start: Instant::now() }
    }

    /// Waits until every rank is there, in the order of ranks. A failure is told to all that are there.
    pub(super) fn receive(mut self, door: &TcpListener) -> Result<Vec<Seated>, RanksDetail> {
        while self.seats.iter().any(Option::is_none) {
            if let Err(detail) = self.round(door) {
                let frame = Message::failure(&detail).encode();
                for connection in self.seats.iter_mut().flatten().filter_map(|(_, there)| there.as_mut()) {
                    connection.outbox.send(&connection.stream, &frame);
                }
                return Err(detail);
            }
        }
        Ok(self.seats.into_iter().flatten().collect())
    }

    /// Waits for something to happen, and looks at everything once.
    fn round(&mut self, door: &TcpListener) -> Result<(), RanksDetail> {
        let left = self.limit.saturating_sub(self.start.elapsed());
        if left.is_zero() {
            let absent = self.seats.iter().enumerate().filter(|(_, seat)| seat.is_none());
            let ranks = absent.map(|(rank, _)| rank).collect();
            return Err(RanksDetail::Missing { ranks, size: self.size, limit: self.limit });
        }
        let until_one_goes =
            self.guests.front().map_or(left, |guest| STRANGERS.saturating_sub(guest.since.elapsed()));
        let reads = Ready { reads: true, writes: false };
        let there = || self.seats.iter().flatten().filter_map(|(_, there)| there.as_ref());
        let streams = self.guests.iter().map(|guest| &guest.stream);
        let streams = streams.chain(there().map(|connection| &connection.stream));
        let fds: Vec<_> =
            [door.as_fd()].into_iter().chain(streams.map(AsFd::as_fd)).map(|fd| (fd, reads)).collect();
        let ready = poll(&fds, Some(left.min(until_one_goes)))
            .map_err(|error| refused("to wait for connections", &error))?;
        // Those who come now are looked at in the next round.
        let guests = self.guests.len();
        self.watch_seats(&ready[1 + guests..])?;
        self.hear(guests, &ready[1..])?;
        if ready[0].reads {
            self.open(door);
        }
        Ok(())
    }

    /// Greets those who have come.
    fn open(&mut self, door: &TcpListener) {
        loop {
            match door.accept() {
                Ok((stream, _)) => self.greet(stream),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                // It has gone again, or there are too many connections.
                Err(_) => return std::thread::sleep(PAUSE),
            }
        }
    }

    fn greet(&mut self, stream: TcpStream) {
        if self.guests.len() == MOST_STRANGERS {
            self.guests.pop_front();
        }
        let nonce = nonce();
        if prepare(&stream).is_ok() {
            Outbox::default().send(&stream, &Message::greeting(nonce).encode());
            let inbox = Inbox::new(from_rank(false));
            self.guests.push_back(Guest { stream, inbox, nonce, since: Instant::now() });
        }
    }

    /// Listens to the guests, the oldest of which are `ready` or not.
    fn hear(&mut self, guests: usize, ready: &[Ready]) -> Result<(), RanksDetail> {
        for ready in ready.iter().take(guests) {
            let Some(mut guest) = self.guests.pop_front() else { break };
            let verdict = if ready.reads { self.judge(&mut guest) } else { Verdict::Waits };
            match verdict {
                Verdict::Waits if guest.since.elapsed() < STRANGERS => self.guests.push_back(guest),
                Verdict::Waits | Verdict::Goes => {}
                Verdict::Stays(rank, person, nonce) => self.seat(guest, rank, person, &nonce),
                Verdict::Fails(detail) => {
                    Outbox::default().send(&guest.stream, &Message::failure(&detail).encode());
                    return Err(detail);
                }
            }
        }
        Ok(())
    }

    fn judge(&self, guest: &mut Guest) -> Verdict {
        let filled = guest.inbox.fill(&guest.stream);
        let (proof, signed) = match guest.inbox.next() {
            Ok(None) if matches!(filled, Filled::Open) => return Verdict::Waits,
            Ok(Some((kind, body))) => match Message::decode(kind, body) {
                Some(Message::Hello { proof, signed }) => (proof, signed),
                _ => return Verdict::Goes,
            },
            _ => return Verdict::Goes,
        };
        let Some(hello) = Hello::decode(&signed) else { return Verdict::Goes };
        if !self.key.accepts(&proof, "hello", &[&guest.nonce, &signed]) {
            Outbox::default().send(&guest.stream, &Message::Refused.encode());
            return Verdict::Goes;
        }
        match self.admit(hello, &guest.stream) {
            Ok((rank, person, nonce)) => Verdict::Stays(rank, person, nonce),
            Err(detail) => Verdict::Fails(detail),
        }
    }

    /// Whether this rank, which has the world's token, has a place here.
    fn admit(&self, hello: Hello, stream: &TcpStream) -> Result<(usize, Person, Nonce), RanksDetail> {
        let Hello { version, nonce, rank, size, mut person } = hello;
        let own = Hello::new(nonce, rank, size, person.clone()).version;
        let newcomer = who(rank, &person);
        if version != own {
            return Err(RanksDetail::Version { who: newcomer, its: version, own });
        }
        if size != self.size {
            return Err(RanksDetail::Size { who: newcomer, its: size, own: self.size });
        }
        match self.seats.get(rank) {
            None => return Err(RanksDetail::Outside { who: newcomer, size }),
            Some(Some((other, _))) => {
                return Err(RanksDetail::Twice {
                    one: Box::new(who(rank, other)),
                    other: Box::new(newcomer),
                });
            }
            Some(None) => {}
        }
        let address = stream.peer_addr().map(|address| address.ip().to_canonical().to_string());
        person.address = address.unwrap_or_default();
        Ok((rank, person, nonce))
    }

    /// A guest becomes a rank that is there.
    fn seat(&mut self, guest: Guest, rank: usize, person: Person, its: &Nonce) {
        let Guest { stream, mut inbox, nonce, .. } = guest;
        inbox.allow(from_rank(true));
        let proof = self.key.proof("accepted", &[its, &nonce]);
        let remaining = self.limit.saturating_sub(self.start.elapsed());
        let mut outbox = Outbox::default();
        outbox.send(&stream, &Message::Accepted { proof, remaining }.encode());
        self.seats[rank] = Some((person, Some(Connection { stream, inbox, outbox })));
    }

    /// Ranks that are there have nothing to say. One may die, or fail.
    fn watch_seats(&mut self, ready: &[Ready]) -> Result<(), RanksDetail> {
        let there = self.seats.iter_mut().enumerate().filter_map(|(rank, seat)| match seat {
            Some((person, Some(connection))) => Some((rank, person, connection)),
            _ => None,
        });
        for ((rank, person, connection), _) in there.zip(ready).filter(|(_, ready)| ready.reads) {
            let Connection { stream, inbox, .. } = connection;
            let filled = inbox.fill(&*stream);
            match inbox.next() {
                Ok(None) if matches!(filled, Filled::Open) => {}
                Ok(None) => return Err(RanksDetail::Died { who: who(rank, person) }),
                Ok(Some((kind, body))) => {
                    return Err(match Message::decode(kind, body) {
                        Some(Message::Failure { ranks, text }) => RanksDetail::Told { ranks, text },
                        Some(Message::Goodbye { .. }) => RanksDetail::Left { who: who(rank, person) },
                        _ => RanksDetail::Garbled { who: who(rank, person) },
                    });
                }
                Err(_) => return Err(RanksDetail::Garbled { who: who(rank, person) }),
            }
        }
        Ok(())
    }
}
