//! [`Spoke`]: the end of the control plane of every rank but rank 0.

use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Control, refused, start};
use crate::base::error::{RanksDetail, Who};
use crate::ranks::ledger::Arrival;
use crate::ranks::shared::{Shared, Slot};
use crate::ranks::wire::{Connection, Filled, Inbox, Message, Outbox, Ready, Waker, poll};

/// How much longer than a gather's limit a rank waits for rank 0 to say who is missing.
const GRACE: Duration = Duration::from_secs(2);
/// How long the thread of a rank that has left waits for rank 0 to close.
const FAREWELL: Duration = Duration::from_secs(5);

/// The connection to rank 0, which the thread and the callers share.
pub(super) struct Spoke(Arc<Inner>);

struct Inner {
    rank: usize,
    people: Arc<[Who]>,
    stream: TcpStream,
    shared: Arc<Shared>,
    waker: Waker,
    state: Mutex<State>,
}

struct State {
    outbox: Outbox,
    /// The number of gathers that this rank has come to.
    gathers: u64,
    /// Whether rank 0 has said goodbye.
    zero_has_left: bool,
    /// Whether nothing comes from rank 0 any more.
    is_over: bool,
    /// When this rank has left.
    left: Option<Instant>,
}

impl Spoke {
    /// Starts the thread that reads what rank 0 says.
    pub(super) fn start(
        rank: usize,
        people: Arc<[Who]>,
        connection: Connection,
        shared: Arc<Shared>,
    ) -> Result<Self, RanksDetail> {
        let waker = Waker::new().map_err(|error| refused("a pair of sockets", &error))?;
        let Connection { stream, mut inbox, outbox } = connection;
        let state = State { outbox, gathers: 0, zero_has_left: false, is_over: false, left: None };
        let inner = Arc::new(Inner { rank, people, stream, shared, waker, state: Mutex::new(state) });
        let its = Arc::clone(&inner);
        start(move || its.serve(&mut inbox))?;
        Ok(Self(inner))
    }
}

impl Control for Spoke {
    fn gather(&self, arrival: Arrival) -> Arc<Slot> {
        let Arrival { what, payload, limit } = arrival;
        let frame = Message::Gather { limit, what, payload }.encode();
        let mut state = self.0.state();
        let slot = self.0.shared.begin(state.gathers);
        state.gathers += 1;
        if state.is_over {
            drop(state);
            self.0.shared.fail(self.0.left_by_zero());
        } else {
            self.0.send(state, &frame);
        }
        slot
    }

    fn grace(&self) -> Duration {
        GRACE
    }

    fn overdue(&self, what: &str, limit: Duration) {
        // Rank 0's thread would have said who is missing: its whole process stands still, or its machine.
        self.fail(RanksDetail::Late { what: what.to_owned(), ranks: vec![0], limit });
    }

    fn fail(&self, detail: RanksDetail) {
        if self.0.shared.failure().is_none() {
            self.0.send(self.0.state(), &Message::failure(&detail).encode());
            self.0.shared.fail(detail);
        }
    }

    fn leave(&self) {
        let mut state = self.0.state();
        state.left = Some(Instant::now());
        self.0.send(state, &Message::Goodbye { rank: self.0.rank }.encode());
        self.0.waker.wake();
    }

    #[cfg(test)]
    fn die(&self) {
        let _ = self.0.stream.shutdown(std::net::Shutdown::Both);
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn left_by_zero(&self) -> RanksDetail {
        RanksDetail::Left { who: self.people[0].clone() }
    }

    /// Sends to rank 0. What the connection does not take at once is left to the thread.
    fn send(&self, mut state: MutexGuard<'_, State>, frame: &[u8]) {
        state.outbox.send(&self.stream, frame);
        if state.outbox.is_waiting() {
            self.waker.wake();
        }
    }

    /// Reads until rank 0 closes the connection.
    fn serve(&self, inbox: &mut Inbox) {
        loop {
            let (writes, longest) = {
                let state = self.state();
                (state.outbox.is_waiting(), state.left.map(|left| FAREWELL.saturating_sub(left.elapsed())))
            };
            if longest.is_some_and(|longest| longest.is_zero()) {
                return;
            }
            let waker = (self.waker.as_fd(), Ready { reads: true, writes: false });
            let fds = [waker, (self.stream.as_fd(), Ready { reads: true, writes })];
            let ready = match poll(&fds, longest) {
                Ok(ready) => ready,
                Err(_) => return self.over(),
            };
            if ready[0].reads {
                self.waker.clear();
            }
            if ready[1].writes {
                self.state().outbox.flush(&self.stream);
            }
            if ready[1].reads && !self.read(inbox) {
                return;
            }
        }
    }

    /// Reads what rank 0 has sent. Returns whether more may come.
    fn read(&self, inbox: &mut Inbox) -> bool {
        let filled = inbox.fill(&self.stream);
        loop {
            let message = match inbox.next() {
                Ok(Some((kind, body))) => Message::decode(kind, body),
                Ok(None) => break,
                Err(_) => None,
            };
            match message {
                Some(Message::Gathered { number, payloads }) if payloads.len() == self.people.len() => {
                    self.shared.complete(number, payloads);
                }
                Some(Message::Failure { ranks, text }) => self.shared.fail(RanksDetail::Told { ranks, text }),
                Some(Message::Goodbye { rank }) => {
                    self.state().zero_has_left |= rank == 0;
                    self.shared.has_left(rank);
                }
                _ => {
                    self.shared.fail(RanksDetail::Garbled { who: self.people[0].clone() });
                    self.state().is_over = true;
                    return false;
                }
            }
        }
        match filled {
            Filled::Open => true,
            Filled::Ended => {
                self.over();
                false
            }
        }
    }

    /// Nothing comes from rank 0 any more.
    fn over(&self) {
        let mut state = self.state();
        state.is_over = true;
        let (zero_has_left, has_left) = (state.zero_has_left, state.left.is_some());
        drop(state);
        match (zero_has_left, has_left) {
            (_, true) => {}
            (false, false) => self.shared.fail(RanksDetail::Died { who: self.people[0].clone() }),
            (true, false) if self.shared.has_open() => self.shared.fail(self.left_by_zero()),
            (true, false) => {}
        }
    }
}
