//! [`Exchange`]: everything of one exchange, moved as connections can take and give it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::line::{Broken, Line, Traffic};
use super::pair::{Caller, Guest, Progress};
use super::{Own, Peers};
use crate::base::error::RanksDetail;
use crate::ranks::shared::Verdict;
use crate::ranks::wire::{Ready, connect, poll};

/// How long an attempt to connect may take; a machine that is there answers at once.
const ATTEMPT: Duration = Duration::from_secs(1);
/// How long a rank whose connection has ended is waited for to be said to have died or left.
const VERDICT: Duration = Duration::from_secs(2);
/// How long somebody who connects may say nothing, and how many there may be at a time.
const STRANGERS: (Duration, usize) = (Duration::from_secs(5), 4096);
/// How long a listener is left alone if the system has no more connections.
const PAUSE: Duration = Duration::from_millis(20);

/// One exchange.
pub(super) struct Exchange<'a> {
    own: &'a Own,
    peers: &'a mut Peers,
    /// What is to be moved, by the other rank. What is over is taken out.
    traffic: BTreeMap<usize, Traffic<'a>>,
    /// The rank that was called last without an answer.
    called: usize,
}

/// What a file that was polled belongs to.
#[derive(Debug, Clone, Copy)]
enum Source {
    News,
    Door,
    Guest,
    Caller(usize),
    Line(usize),
}

impl<'a> Exchange<'a> {
    /// Sorts what is to be moved by ranks. What a rank sends to itself is moved at once.
    pub(super) fn new(
        own: &'a Own,
        peers: &'a mut Peers,
        sends: &[(usize, &'a [u8])],
        receives: &'a mut [(usize, &mut [u8])],
    ) -> Result<Self, RanksDetail> {
        let mut traffic: BTreeMap<usize, Traffic<'a>> = BTreeMap::new();
        let mut to_itself = sends.iter().filter(|(to, _)| *to == own.rank).map(|(_, bytes)| *bytes);
        for &(to, bytes) in sends.iter().filter(|(to, _)| *to != own.rank) {
            traffic.entry(to).or_default().send(bytes);
        }
        let mut number = 0;
        let wrong = |number, sent: usize, expected: usize| {
            let (sent, expected) = (sent as u64, expected as u64);
            Err(RanksDetail::Message {
                from: own.rank,
                to: own.rank,
                number,
                sent,
                awaited: number,
                expected,
            })
        };
        for (from, into) in receives {
            if *from != own.rank {
                traffic.entry(*from).or_default().receive(into);
                continue;
            }
            let bytes = to_itself.next().unwrap_or_default();
            if bytes.len() != into.len() {
                return wrong(number, bytes.len(), into.len());
            }
            into.copy_from_slice(bytes);
            number += 1;
        }
        match to_itself.next() {
            Some(bytes) => wrong(number, bytes.len(), 0),
            None => Ok(Self { own, peers, traffic, called: 0 }),
        }
    }

    /// Moves everything. `limit` is how long nothing may move.
    pub(super) fn run(mut self, limit: Duration) -> Result<(), RanksDetail> {
        let mut since = Instant::now();
        let mut has_moved = false;
        for rank in self.traffic.keys().copied().collect::<Vec<_>>() {
            has_moved |= self.move_line(rank, Ready { reads: true, writes: true })?;
        }
        while !self.traffic.is_empty() {
            if let Some(failure) = self.own.shared.failure() {
                return Err(failure.clone());
            }
            if has_moved {
                since = Instant::now();
            }
            let left = limit.saturating_sub(since.elapsed());
            self.everybody_can_come(left.is_zero(), limit)?;
            self.call()?;
            has_moved = self.round(left)?;
        }
        Ok(())
    }

    /// Whether those without a connection may still come, and whether there is time left.
    fn everybody_can_come(&self, is_late: bool, limit: Duration) -> Result<(), RanksDetail> {
        for &rank in self.traffic.keys() {
            let who = || self.own.people[rank].clone();
            if is_late {
                return Err(RanksDetail::Stuck { rank: self.own.rank, who: who(), limit });
            }
            if !self.peers.lines.contains_key(&rank) && self.own.shared.is_gone(rank) {
                return Err(RanksDetail::Left { who: who() });
            }
        }
        Ok(())
    }

    /// Connects to lower ranks to which there is no connection, until one does not answer: a failure is not to wait for
    /// the silence of many.
    fn call(&mut self) -> Result<(), RanksDetail> {
        let Peers { lines, callers, .. } = &*self.peers;
        let is_new = |rank: &usize| !lines.contains_key(rank) && !callers.contains_key(rank);
        let lower = self.traffic.keys().copied().filter(|rank| *rank < self.own.rank);
        let mut new: Vec<_> = lower.filter(is_new).collect();
        // The next one comes first, so that nobody waits behind those who are silent.
        new.sort_by_key(|rank| (*rank <= self.called, *rank));
        for rank in new {
            let Some(address) = self.own.addresses[rank] else { continue };
            match connect(&address, ATTEMPT) {
                Ok(stream) => {
                    self.peers.callers.insert(rank, Caller::new(stream));
                }
                // It is tried again, since the other end's queue may be full.
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    self.called = rank;
                    return Ok(());
                }
                Err(error) => return Err(self.broken(rank, Broken::Ended(Some(error)))),
            }
        }
        Ok(())
    }

    /// Waits until something can be moved, and moves it. Returns whether something was.
    fn round(&mut self, longest: Duration) -> Result<bool, RanksDetail> {
        let (sources, ready) = {
            let (sources, fds): (Vec<_>, Vec<_>) = self.fds().into_iter().unzip();
            // An attempt to connect may have to be repeated.
            let ready = poll(&fds, Some(longest.min(ATTEMPT))).map_err(|error| self.system(&error))?;
            (sources, ready)
        };
        let mut has_moved = false;
        let mut of_guests = Vec::new();
        for (source, ready) in sources.into_iter().zip(ready) {
            match source {
                Source::News if ready.reads => self.own.waker.clear(),
                Source::Door if ready.reads => self.open()?,
                Source::Guest => of_guests.push(ready.reads),
                Source::Caller(rank) if ready.reads => has_moved |= self.hear_caller(rank)?,
                Source::Line(rank) => has_moved |= self.move_line(rank, ready)?,
                _ => {}
            }
        }
        Ok(self.hear_guests(&of_guests)? || has_moved)
    }

    /// What to wait for.
    fn fds(&self) -> Vec<(Source, (BorrowedFd<'_>, Ready))> {
        let reads = Ready { reads: true, writes: false };
        let Peers { lines, callers, guests } = &*self.peers;
        let mut fds = vec![
            (Source::News, (self.own.waker.as_fd(), reads)),
            (Source::Door, (self.own.listener.as_fd(), reads)),
        ];
        fds.extend(guests.iter().map(|guest| (Source::Guest, (guest.stream.as_fd(), reads))));
        fds.extend(
            callers.iter().map(|(rank, caller)| (Source::Caller(*rank), (caller.stream.as_fd(), reads))),
        );
        fds.extend(self.traffic.iter().filter_map(|(rank, traffic)| {
            let wants = Ready { reads: traffic.receives(), writes: traffic.sends() };
            Some((Source::Line(*rank), (lines.get(rank)?.stream.as_fd(), wants)))
        }));
        fds
    }

    /// Accepts those who connect.
    fn open(&mut self) -> Result<(), RanksDetail> {
        loop {
            match self.own.listener.accept() {
                Ok((stream, _)) if self.peers.guests.len() < STRANGERS.1 => {
                    self.peers.guests.extend(Guest::new(stream));
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // It has gone again, or there are too many connections.
                Err(_) => {
                    std::thread::sleep(PAUSE);
                    return Ok(());
                }
            }
        }
    }

    /// Goes on with those who have connected, the first of which are ready or not.
    fn hear_guests(&mut self, ready: &[bool]) -> Result<bool, RanksDetail> {
        let mut found = Vec::new();
        let (key, own) = (&self.own.key, self.own.rank);
        let mut ready = ready.iter().copied();
        self.peers.guests.retain_mut(|guest| {
            // Those who have just come have no place in the list.
            let progress = if ready.next().unwrap_or(true) { guest.go_on(key, own) } else { Progress::Waits };
            match progress {
                Progress::Waits => guest.since.elapsed() < STRANGERS.0,
                Progress::Over => false,
                Progress::Done(rank) => {
                    found.extend(guest.stream.try_clone().map(|stream| (rank, stream)));
                    false
                }
            }
        });
        let mut has_moved = false;
        for (rank, stream) in found {
            // Only higher ranks connect, and each of them once.
            if rank > own && rank < self.own.people.len() && !self.peers.lines.contains_key(&rank) {
                self.peers.lines.insert(rank, Line::new(stream));
                self.move_line(rank, Ready { reads: true, writes: true })?;
                has_moved = true;
            }
        }
        Ok(has_moved)
    }

    fn hear_caller(&mut self, rank: usize) -> Result<bool, RanksDetail> {
        let Some(caller) = self.peers.callers.get_mut(&rank) else { return Ok(false) };
        match caller.go_on(&self.own.key, self.own.rank, rank) {
            Progress::Waits => Ok(false),
            Progress::Over => {
                // It was sent away, perhaps since it was too slow. It tries again while that rank lives.
                self.peers.callers.remove(&rank);
                std::thread::sleep(PAUSE);
                Ok(false)
            }
            Progress::Done(_) => {
                if let Some(Caller { stream, .. }) = self.peers.callers.remove(&rank) {
                    self.peers.lines.insert(rank, Line::new(stream));
                }
                self.move_line(rank, Ready { reads: true, writes: true })?;
                Ok(true)
            }
        }
    }

    /// Moves what this connection can take and give. Returns whether something was moved.
    fn move_line(&mut self, rank: usize, ready: Ready) -> Result<bool, RanksDetail> {
        let (Some(line), Some(traffic)) = (self.peers.lines.get_mut(&rank), self.traffic.get_mut(&rank))
        else {
            return Ok(false);
        };
        let received = if ready.reads { line.receive(traffic) } else { Ok(false) };
        let sent = match received {
            Ok(_) if ready.writes => line.send(traffic),
            _ => Ok(false),
        };
        let is_over = traffic.is_over();
        match (received, sent) {
            (Ok(received), Ok(sent)) => {
                if is_over {
                    self.traffic.remove(&rank);
                }
                Ok(received || sent)
            }
            (Err(broken), _) | (_, Err(broken)) => Err(self.broken(rank, broken)),
        }
    }

    /// The error of a connection that no longer works. What the control plane knows comes first.
    fn broken(&self, rank: usize, broken: Broken) -> RanksDetail {
        let own = self.own;
        let error = match broken {
            Broken::Message { number, sent, awaited, expected } => {
                let (from, to) = (rank, own.rank);
                return RanksDetail::Message { from, to, number, sent, awaited, expected };
            }
            Broken::Ended(error) => error,
        };
        let who = own.people[rank].clone();
        match own.shared.verdict(rank, VERDICT) {
            Some(Verdict::Failed(failure)) => failure,
            Some(Verdict::Left) => RanksDetail::Left { who },
            None => {
                let message =
                    error.map_or("the other end has closed it".to_owned(), |error| error.to_string());
                RanksDetail::Connection { rank: own.rank, who, message }
            }
        }
    }

    fn system(&self, error: &std::io::Error) -> RanksDetail {
        let who = self.own.people[self.own.rank].clone();
        RanksDetail::Failed { who, text: format!("the system refuses to wait for connections: {error}") }
    }
}
