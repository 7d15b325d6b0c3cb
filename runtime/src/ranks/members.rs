//! [`Members`]: this process's membership of a world, as the floors above see it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::environment::Seat;
use super::gathering::Gathering;
use super::ledger::Arrival;
use super::shared::{Shared, Slot};
use super::text::cut;
use super::together::Room;
use crate::base::error::{Error, RanksDetail, Result, Who};
use crate::base::fork;

/// The most bytes that a rank gives to a gather.
pub(crate) const MOST: usize = 64 << 10;
/// The most bytes of the text that says what a gather is about.
pub(super) const MOST_OF_TEXT: usize = 1 << 10;

/// How long ranks wait for each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Until all ranks have met.
    pub(crate) rendezvous: Duration,
    /// Until all ranks have come to a gather, and until an exchange moves on.
    pub(crate) gather: Duration,
    /// Until a machine that no longer answers counts as dead. A process that is stopped counts as alive,
    /// since its kernel answers.
    pub(crate) silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let long = Duration::from_secs(300);
        Self { rendezvous: long, gather: long, silence: Duration::from_secs(20) }
    }
}

/// What carries gathers, exchanges and news between the ranks.
pub(super) trait Link: Send + Sync {
    /// Comes to the next gather.
    fn gather(&self, arrival: Arrival) -> Arc<Slot>;
    /// How much longer than its limit a gather is waited for, before [`overdue`](Self::overdue) is called.
    /// Whoever keeps the ledger is to speak first, since it knows who is missing.
    fn grace(&self) -> Duration;
    /// A gather has lasted longer than its limit and the grace. Fails the world if that is so.
    fn overdue(&self, what: &str, limit: Duration);
    /// Fails the world, on this rank first.
    fn fail(&self, detail: RanksDetail);
    /// Says goodbye. Nothing else is called afterwards.
    fn leave(&self);
    /// Whether the ranks are threads of one process.
    fn is_of_threads(&self) -> bool {
        false
    }
    /// What other ranks need to find a world of some of them that this rank leads.
    fn lead(&self) -> Result<Vec<u8>, RanksDetail> {
        Err(RanksDetail::Unsupported)
    }
    /// The seat in such a world of these ranks, of which the first has said this; `None` if it has not.
    fn seat(&self, _ranks: &[usize], _place: usize, _way: &[u8]) -> Option<Seat> {
        None
    }
    /// Ends the connections as the death of the process does.
    #[cfg(test)]
    fn die(&self);
    /// Where this rank listens for data.
    #[cfg(test)]
    fn data_port(&self) -> u16;
    /// Sends and receives, all at once.
    fn exchange(
        &self,
        sends: &[(usize, &[u8])],
        receives: &mut [(usize, &mut [u8])],
        limit: Duration,
    ) -> Result<(), RanksDetail>;
}

/// Which rank this is, and who the others are.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    pub(super) rank: usize,
    /// The ranks, in their order.
    pub(super) people: Arc<[Who]>,
    /// The rank among those of its host, and how many these are.
    pub(super) local: (usize, usize),
}

impl Identity {
    /// The identity of a rank, whose place on its host follows from the names of hosts.
    pub(super) fn new(rank: usize, people: Arc<[Who]>) -> Self {
        let is_here = |who: &&Who| who.host == people[rank].host;
        let local = (people[..rank].iter().filter(is_here).count(), people.iter().filter(is_here).count());
        Self { rank, people, local }
    }
}

/// A rank's membership of its world. Dropping the last handle says goodbye.
pub(crate) struct Members {
    identity: Identity,
    limits: Limits,
    shared: Arc<Shared>,
    link: Box<dyn Link>,
    /// The process that this rank is. A fork of it has its connections, but none of its threads.
    process: u32,
}

impl Members {
    pub(super) fn new(
        identity: Identity,
        limits: Limits,
        shared: Arc<Shared>,
        link: Box<dyn Link>,
    ) -> Arc<Self> {
        Arc::new(Self { identity, limits, shared, link, process: fork::process() })
    }

    /// A world of one.
    pub(crate) fn alone() -> Arc<Self> {
        Self::together(1, Limits::default()).swap_remove(0)
    }

    /// A world of `n` ranks in this process, one for each of as many threads; at least one.
    pub(crate) fn together(n: usize, limits: Limits) -> Vec<Arc<Self>> {
        let room = Room::new(n.max(1));
        let member = |rank| {
            let identity = Identity::new(rank, Arc::clone(room.people()));
            Self::new(identity, limits, room.shared(rank), Box::new(room.seat(rank)))
        };
        (0..n.max(1)).map(member).collect()
    }

    /// Takes a seat, which this system can do in a world of one only.
    #[cfg(not(unix))]
    pub(crate) fn meet(seat: &super::environment::Seat, _: Limits) -> Result<Arc<Self>> {
        if seat.size > 1 { Err(RanksDetail::Unsupported.into()) } else { Ok(Self::alone()) }
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(super) fn link(&self) -> &dyn Link {
        &*self.link
    }

    /// Whether this is a child of the rank's process.
    pub(super) fn is_elsewhere(&self) -> bool {
        fork::process() != self.process
    }

    /// This rank, from 0.
    pub(crate) fn rank(&self) -> usize {
        self.identity.rank
    }

    /// The number of ranks.
    pub(crate) fn size(&self) -> usize {
        self.identity.people.len()
    }

    /// This rank among those of its host, and how many these are.
    pub(crate) fn local(&self) -> (usize, usize) {
        self.identity.local
    }

    /// The ranks with their hosts and processes, in the order of ranks.
    pub(crate) fn people(&self) -> &[Who] {
        &self.identity.people
    }

    /// Whether another rank is in the same process.
    pub(crate) fn has_siblings(&self) -> bool {
        let Identity { rank, people, .. } = &self.identity;
        let own = &people[*rank];
        people.iter().any(|who| {
            who.rank != own.rank && (who.process, who.host.as_str()) == (own.process, own.host.as_str())
        })
    }

    /// How long ranks wait for each other.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// Comes to the next gather, with a payload of at most [`MOST`] bytes. Every rank has to call it, in the
    /// same order and with the same `what`, a short text for messages such as `run 4 of Train`.
    pub(crate) fn gather(self: &Arc<Self>, what: &str, payload: &[u8]) -> Gathering {
        self.gather_within(what, payload, self.limits.gather)
    }

    /// The same with a limit of its own. If ranks give different ones, the least patient decides.
    pub(crate) fn gather_within(self: &Arc<Self>, what: &str, payload: &[u8], limit: Duration) -> Gathering {
        if self.is_elsewhere() {
            return Gathering::refused(RanksDetail::Forked);
        }
        if payload.len() > MOST {
            let (what, bytes) = (what.to_owned(), payload.len());
            return Gathering::refused(RanksDetail::TooLarge { what, bytes, most: MOST });
        }
        if let Some(failure) = self.shared.failure() {
            return Gathering::refused(failure.clone());
        }
        let what = cut(what, MOST_OF_TEXT);
        let arrival = Arrival { what: what.to_owned(), payload: payload.to_vec(), limit };
        let slot = self.link.gather(arrival);
        Gathering::begun(self, slot, what, limit)
    }

    /// Sends `sends` and receives `receives`, each a rank and its bytes, all at once. Messages between two
    /// ranks arrive in their order. A rank may send to itself. One exchange at a time takes place in a
    /// process, others wait for it.
    ///
    /// # Errors
    ///
    /// The world has failed, or fails by this: messages differ in length from what is expected, a rank has
    /// left, or nothing moves for as long as [`Limits::gather`] says. What was received is then undefined.
    pub(crate) fn exchange(
        &self,
        sends: &[(usize, &[u8])],
        receives: &mut [(usize, &mut [u8])],
    ) -> Result<()> {
        if self.is_elsewhere() {
            return Err(RanksDetail::Forked.into());
        }
        if let Some(failure) = self.shared.failure() {
            return Err(failure.clone().into());
        }
        let size = self.size();
        let named = sends.iter().map(|(rank, _)| *rank).chain(receives.iter().map(|(rank, _)| *rank));
        if let Some(rank) = named.into_iter().find(|rank| *rank >= size) {
            return Err(RanksDetail::NoSuchRank { rank, size }.into());
        }
        let Err(detail) = self.link.exchange(sends, receives, self.limits.gather) else { return Ok(()) };
        // The first failure wins, and this may be a consequence of it.
        self.link.fail(detail.clone());
        Err(self.shared.failure().cloned().unwrap_or(detail).into())
    }

    /// This rank has failed, and the others are to stop. They get `rank 2 has failed: TEXT`.
    pub(crate) fn fail(&self, text: &str) {
        if !self.is_elsewhere() {
            let who = self.people()[self.rank()].clone();
            self.link.fail(RanksDetail::Failed { who, text: text.to_owned() });
        }
    }

    /// The first failure of the world, if there was one.
    pub(crate) fn failure(&self) -> Option<Error> {
        if self.is_elsewhere() {
            return Some(RanksDetail::Forked.into());
        }
        self.shared.failure().cloned().map(Error::from)
    }

    /// Calls `hook` once with the first failure: at once if there was one, otherwise on the thread that
    /// notices it. It must not wait for anything.
    pub(crate) fn on_failure(&self, hook: impl FnOnce(&Error) + Send + 'static) {
        self.shared.on_failure(Box::new(hook));
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        // The connections are the parent's, and a goodbye would be one in its name.
        if self.is_elsewhere() {
            return;
        }
        if std::thread::panicking() {
            self.fail("its thread has panicked");
        }
        self.link.leave();
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Members")
            .field("rank", &self.rank())
            .field("size", &self.size())
            .field("failure", &self.shared.failure())
            .finish_non_exhaustive()
    }
}
