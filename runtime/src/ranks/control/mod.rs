//! The connections between rank 0 and the others after the meeting: gathers, failures and goodbyes.
//!
//! Each process has a thread that reads them: rank 0's [`hub`] serves all others, and each other rank's
//! [`spoke`] reads what rank 0 says. Whoever has something to say sends it from its own thread.

mod hub;
mod spoke;

use std::sync::Arc;
use std::time::Duration;

use super::environment::Seat;
use super::ledger::Arrival;
use super::members::{Limits, Link, Members};
use super::mesh::Mesh;
use super::rendezvous::{Met, meet, refused};
use super::shared::{Shared, Slot};
use crate::base::error::{RanksDetail, Result};
use hub::Hub;
use spoke::Spoke;

impl Members {
    /// Takes a seat: meets the other ranks and stays connected with them.
    ///
    /// # Errors
    ///
    /// Rank 0 is not found, ranks have not come within the limit, or one that has come does not belong to this
    /// world. Every rank that is there gets such an error.
    pub(crate) fn meet(seat: &Seat, limits: Limits) -> Result<Arc<Self>> {
        let Some(meeting) = seat.meeting.as_ref().filter(|_| seat.size > 1) else { return Ok(Self::alone()) };
        let Met { identity, key, addresses, listener, mut connections } = meet(seat, meeting, limits)?;
        let shared = Arc::new(Shared::default());
        let people = Arc::clone(&identity.people);
        let mesh =
            Mesh::new(identity.rank, key, Arc::clone(&people), addresses, listener, Arc::clone(&shared))
                .map_err(|error| refused("a pair of sockets", &error))?;
        let zero = connections.first_mut().and_then(Option::take);
        let control: Box<dyn Control> = match zero {
            Some(zero) => Box::new(Spoke::start(identity.rank, people, zero, Arc::clone(&shared))?),
            // Rank 0 has no connection to itself.
            None => Box::new(Hub::start(people, connections, Arc::clone(&shared))?),
        };
        Ok(Self::new(identity, limits, shared, Box::new(Remote { control, mesh })))
    }
}

/// One end of the connections to rank 0, or all of rank 0's.
trait Control: Send + Sync {
    fn gather(&self, arrival: Arrival) -> Arc<Slot>;
    fn grace(&self) -> Duration;
    fn overdue(&self, what: &str, limit: Duration);
    fn fail(&self, detail: RanksDetail);
    fn leave(&self);
    /// Ends the connections as the death of the process does.
    #[cfg(test)]
    fn die(&self);
}

/// The link of a rank in a process of its own.
struct Remote {
    control: Box<dyn Control>,
    mesh: Mesh,
}

impl Link for Remote {
    fn gather(&self, arrival: Arrival) -> Arc<Slot> {
        self.control.gather(arrival)
    }

    fn grace(&self) -> Duration {
        self.control.grace()
    }

    fn overdue(&self, what: &str, limit: Duration) {
        self.control.overdue(what, limit);
    }

    fn fail(&self, detail: RanksDetail) {
        self.control.fail(detail);
    }

    fn leave(&self) {
        self.control.leave();
    }

    fn lead(&self) -> Result<Vec<u8>, RanksDetail> {
        self.mesh.lead()
    }

    fn seat(&self, ranks: &[usize], place: usize, way: &[u8]) -> Option<Seat> {
        self.mesh.seat(ranks, place, way)
    }

    #[cfg(test)]
    fn die(&self) {
        self.control.die();
    }

    #[cfg(test)]
    fn data_port(&self) -> u16 {
        self.mesh.port()
    }

    fn exchange(
        &self,
        sends: &[(usize, &[u8])],
        receives: &mut [(usize, &mut [u8])],
        limit: Duration,
    ) -> Result<(), RanksDetail> {
        self.mesh.exchange(sends, receives, limit)
    }
}

/// Starts the thread that reads.
fn start(work: impl FnOnce() + Send + 'static) -> Result<(), RanksDetail> {
    let started = std::thread::Builder::new().name("thalweg ranks".to_owned()).spawn(work);
    started.map(drop).map_err(|error| refused("a thread", &error))
}
