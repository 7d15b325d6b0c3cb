//! [`Room`]: the ranks of a world in one process. They have the interface of processes, and no connections.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::environment::host_name;
use super::ledger::{Arrival, Complete, Ledger};
use super::members::Link;
use super::shared::{Shared, Slot};
use crate::base::error::{RanksDetail, Who};

/// What the ranks have in common.
#[derive(Debug)]
pub(super) struct Room {
    people: Arc<[Who]>,
    ledger: Mutex<Ledger>,
    shared: Vec<Arc<Shared>>,
    mail: Mutex<Mail>,
    moved: Condvar,
}

/// Messages on their way, and which ranks no longer send any.
#[derive(Debug, Default)]
struct Mail {
    lanes: BTreeMap<(usize, usize), Lane>,
    left: Vec<usize>,
}

/// Messages from one rank to another.
#[derive(Debug, Default)]
struct Lane {
    messages: VecDeque<Vec<u8>>,
    /// The number of messages that were taken out.
    taken: u64,
}

impl Room {
    pub(super) fn new(size: usize) -> Arc<Self> {
        let (host, process) = (host_name(), std::process::id());
        let people: Arc<[Who]> = (0..size).map(|rank| Who { rank, host: host.clone(), process }).collect();
        Arc::new(Self {
            ledger: Mutex::new(Ledger::new(Arc::clone(&people))),
            shared: (0..size).map(|_| Arc::default()).collect(),
            people,
            mail: Mutex::default(),
            moved: Condvar::new(),
        })
    }

    pub(super) fn people(&self) -> &Arc<[Who]> {
        &self.people
    }

    pub(super) fn shared(&self, rank: usize) -> Arc<Shared> {
        Arc::clone(&self.shared[rank])
    }

    pub(super) fn seat(self: &Arc<Self>, rank: usize) -> Seated {
        Seated { room: Arc::clone(self), rank }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails the world of every rank, beginning with the one that has noticed.
    fn fail(&self, noticed_by: usize, detail: &RanksDetail) {
        self.shared[noticed_by].fail(detail.clone());
        self.shared.iter().for_each(|shared| shared.fail(detail.clone()));
        drop(self.mail());
        self.moved.notify_all();
    }
}

/// One of the ranks.
#[derive(Debug)]
pub(super) struct Seated {
    room: Arc<Room>,
    rank: usize,
}

impl Link for Seated {
    fn gather(&self, arrival: Arrival) -> Arc<Slot> {
        let Self { room, rank } = self;
        let mut ledger = room.ledger();
        let slot = room.shared[*rank].begin(ledger.next(*rank));
        let arrived = ledger.arrive(*rank, arrival, Instant::now());
        drop(ledger);
        match arrived {
            Ok(None) => {}
            Ok(Some(Complete { number, payloads })) => {
                room.shared.iter().for_each(|shared| shared.complete(number, payloads.clone()));
            }
            Err(detail) => room.fail(*rank, &detail),
        }
        slot
    }

    fn grace(&self) -> Duration {
        Duration::ZERO
    }

    fn is_of_threads(&self) -> bool {
        true
    }

    fn overdue(&self, _: &str, _: Duration) {
        // There is no thread that would look at the clock, so each rank that waits does.
        let late = self.room.ledger().late(Instant::now());
        if let Some(detail) = late {
            self.room.fail(self.rank, &detail);
        }
    }

    fn fail(&self, detail: RanksDetail) {
        self.room.fail(self.rank, &detail);
    }

    fn leave(&self) {
        self.room.shared.iter().for_each(|shared| shared.has_left(self.rank));
        self.room.mail().left.push(self.rank);
        self.room.moved.notify_all();
        let left = self.room.ledger().leave(self.rank);
        if let Err(detail) = left {
            self.room.fail(self.rank, &detail);
        }
    }

    #[cfg(test)]
    fn die(&self) {
        // A thread does not die without its process.
    }

    #[cfg(test)]
    fn data_port(&self) -> u16 {
        0
    }

    fn exchange(
        &self,
        sends: &[(usize, &[u8])],
        receives: &mut [(usize, &mut [u8])],
        limit: Duration,
    ) -> Result<(), RanksDetail> {
        let mut mail = self.room.mail();
        for &(to, bytes) in sends {
            mail.lanes.entry((self.rank, to)).or_default().messages.push_back(bytes.to_vec());
        }
        self.room.moved.notify_all();
        let mut since = Instant::now();
        for (from, into) in receives {
            let (message, number) = loop {
                let lane = mail.lanes.entry((*from, self.rank)).or_default();
                if let Some(message) = lane.messages.pop_front() {
                    lane.taken += 1;
                    break (message, lane.taken - 1);
                }
                self.may_wait_for(*from, &mail, since, limit)?;
                let wait = limit.saturating_sub(since.elapsed()).max(Duration::from_millis(1));
                (mail, _) = self.room.moved.wait_timeout(mail, wait).unwrap_or_else(PoisonError::into_inner);
            };
            since = Instant::now();
            if message.len() != into.len() {
                let (sent, expected) = (message.len() as u64, into.len() as u64);
                let (from, to) = (*from, self.rank);
                return Err(RanksDetail::Message { from, to, number, sent, awaited: number, expected });
            }
            into.copy_from_slice(&message);
        }
        self.has_taken_its_own(&mail)
    }
}

impl Seated {
    /// What a rank sends to itself it receives in the same exchange.
    fn has_taken_its_own(&self, mail: &Mail) -> Result<(), RanksDetail> {
        let lane = mail.lanes.get(&(self.rank, self.rank));
        let Some((lane, left)) = lane.and_then(|lane| Some((lane, lane.messages.front()?))) else {
            return Ok(());
        };
        let (number, sent) = (lane.taken, left.len() as u64);
        Err(RanksDetail::Message {
            from: self.rank,
            to: self.rank,
            number,
            sent,
            awaited: number,
            expected: 0,
        })
    }

    /// Whether a message of this rank can still come.
    fn may_wait_for(
        &self,
        from: usize,
        mail: &Mail,
        since: Instant,
        limit: Duration,
    ) -> Result<(), RanksDetail> {
        if let Some(failure) = self.room.shared[self.rank].failure() {
            return Err(failure.clone());
        }
        let who = || self.room.people[from].clone();
        if mail.left.contains(&from) {
            return Err(RanksDetail::Left { who: who() });
        }
        if since.elapsed() >= limit {
            return Err(RanksDetail::Stuck { rank: self.rank, who: who(), limit });
        }
        Ok(())
    }
}
