//! [`Hub`]: rank 0's end of the control plane, which keeps the ledger of the world.

use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Control, refused, start};
use crate::base::error::{RanksDetail, Who};
use crate::ranks::ledger::{Arrival, Complete, Ledger};
use crate::ranks::shared::{Shared, Slot};
use crate::ranks::wire::{Connection, Filled, Inbox, Message, Outbox, Ready, Waker, from_rank, poll};

/// The connections of rank 0, which its thread and its callers share.
pub(super) struct Hub(Arc<Inner>);

struct Inner {
    people: Arc<[Who]>,
    /// The connections by rank; none at 0. They stay open until all handles are gone, so that no number of
    /// a file is used for two.
    streams: Vec<Option<TcpStream>>,
    shared: Arc<Shared>,
    waker: Waker,
    state: Mutex<State>,
}

/// Ranks and what to wait for there, and at most how long.
type Wanted = (Vec<(usize, Ready)>, Option<Duration>);

struct State {
    ledger: Ledger,
    outboxes: Vec<Outbox>,
    /// Whether the rank's connection is still read.
    is_here: Vec<bool>,
    has_failed: bool,
    /// Whether rank 0 itself has left. The thread serves the others until the last of them leaves.
    has_left: bool,
}

impl Hub {
    /// Starts the thread that serves these connections.
    pub(super) fn start(
        people: Arc<[Who]>,
        connections: Vec<Option<Connection>>,
        shared: Arc<Shared>,
    ) -> Result<Self, RanksDetail> {
        let waker = Waker::new().map_err(|error| refused("a pair of sockets", &error))?;
        let is_here: Vec<_> = connections.iter().map(Option::is_some).collect();
        let (mut streams, mut inboxes, mut outboxes) = (Vec::new(), Vec::new(), Vec::new());
        for connection in connections {
            let (stream, inbox, outbox) = match connection {
                Some(Connection { stream, inbox, outbox }) => (Some(stream), inbox, outbox),
                None => (None, Inbox::new(0), Outbox::default()),
            };
            streams.push(stream);
            inboxes.push(inbox);
            outboxes.push(outbox);
        }
        inboxes.iter_mut().for_each(|inbox| inbox.allow(from_rank(true)));
        let ledger = Ledger::new(Arc::clone(&people));
        let state = Mutex::new(State { ledger, outboxes, is_here, has_failed: false, has_left: false });
        let inner = Arc::new(Inner { people, streams, shared, waker, state });
        let its = Arc::clone(&inner);
        start(move || its.serve(&mut inboxes))?;
        Ok(Self(inner))
    }
}

impl Control for Hub {
    fn gather(&self, arrival: Arrival) -> Arc<Slot> {
        let inner = &*self.0;
        let state = inner.state();
        let slot = inner.shared.begin(state.ledger.next(0));
        inner.arrive(state, 0, arrival);
        slot
    }

    fn grace(&self) -> Duration {
        Duration::ZERO
    }

    fn overdue(&self, _: &str, _: Duration) {
        // The thread looks at the clock too, but does not know of a gather to which rank 0 alone has come.
        self.0.look_at_the_clock();
    }

    fn fail(&self, detail: RanksDetail) {
        self.0.fail(self.0.state(), detail);
    }

    fn leave(&self) {
        let inner = &*self.0;
        let mut state = inner.state();
        state.has_left = true;
        let left = state.ledger.leave(0);
        inner.send_to_all(&mut state, &Message::Goodbye { rank: 0 }.encode());
        if let Err(detail) = left {
            inner.fail(state, detail);
        } else {
            drop(state);
        }
        inner.waker.wake();
    }

    #[cfg(test)]
    fn die(&self) {
        // Nobody hears of the deaths that this end sees.
        self.0.state().has_failed = true;
        self.0.streams.iter().flatten().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves the connections until the last rank has left.
    fn serve(&self, inboxes: &mut [Inbox]) {
        while let Some((wanted, longest)) = self.wanted() {
            let waker = (self.waker.as_fd(), Ready { reads: true, writes: false });
            let fds = wanted
                .iter()
                .filter_map(|(rank, wants)| Some((self.streams[*rank].as_ref()?.as_fd(), *wants)));
            let fds: Vec<_> = [waker].into_iter().chain(fds).collect();
            let Ok(ready) = poll(&fds, longest) else {
                // Without it nobody would notice what happens to a rank.
                let who = self.people[0].clone();
                let text = "the system refuses to wait for connections".to_owned();
                return self.fail(self.state(), RanksDetail::Failed { who, text });
            };
            if ready[0].reads {
                self.waker.clear();
            }
            for (&(rank, _), ready) in wanted.iter().zip(&ready[1..]) {
                if ready.writes {
                    self.flush(rank);
                }
                if ready.reads {
                    self.read(rank, &mut inboxes[rank]);
                }
            }
            self.look_at_the_clock();
        }
    }

    /// What to wait for: ranks, and at most how long; `None` when all have left.
    fn wanted(&self) -> Option<Wanted> {
        let state = self.state();
        let here = (0..self.people.len()).filter(|rank| state.is_here[*rank]);
        let wants = |rank: usize| (rank, Ready { reads: true, writes: state.outboxes[rank].is_waiting() });
        let wanted: Vec<_> = here.map(wants).collect();
        if state.has_left && wanted.is_empty() {
            return None;
        }
        let deadline = state.ledger.deadline().filter(|_| !state.has_failed);
        Some((wanted, deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))))
    }

    fn look_at_the_clock(&self) {
        let state = self.state();
        if let Some(detail) = state.ledger.late(Instant::now()) {
            self.fail(state, detail);
        }
    }

    fn flush(&self, rank: usize) {
        if let Some(stream) = &self.streams[rank] {
            self.state().outboxes[rank].flush(stream);
        }
    }

    /// Reads what a rank has sent.
    fn read(&self, rank: usize, inbox: &mut Inbox) {
        let Some(stream) = &self.streams[rank] else { return };
        let filled = inbox.fill(stream);
        loop {
            let message = match inbox.next() {
                Ok(Some((kind, body))) => Message::decode(kind, body),
                Ok(None) => break,
                Err(_) => None,
            };
            match message {
                Some(Message::Gather { limit, what, payload }) => {
                    self.arrive(self.state(), rank, Arrival { what, payload, limit });
                }
                Some(Message::Failure { ranks, text }) => {
                    self.fail(self.state(), RanksDetail::Told { ranks, text });
                }
                Some(Message::Goodbye { .. }) => return self.goodbye(rank),
                _ => {
                    let who = self.people[rank].clone();
                    return self.lose(rank, RanksDetail::Garbled { who });
                }
            }
        }
        if let Filled::Ended = filled {
            let who = self.people[rank].clone();
            self.lose(rank, RanksDetail::Died { who });
        }
    }

    /// A rank comes to its next gather.
    fn arrive(&self, mut state: MutexGuard<'_, State>, rank: usize, arrival: Arrival) {
        if state.has_failed {
            return;
        }
        match state.ledger.arrive(rank, arrival, Instant::now()) {
            Ok(None) => {}
            Ok(Some(Complete { number, payloads })) => {
                let message = Message::Gathered { number, payloads };
                self.send_to_all(&mut state, &message.encode());
                drop(state);
                if let Message::Gathered { number, payloads } = message {
                    self.shared.complete(number, payloads);
                }
            }
            Err(detail) => self.fail(state, detail),
        }
    }

    /// Fails the world, unless it has failed before, and tells every rank.
    fn fail(&self, mut state: MutexGuard<'_, State>, detail: RanksDetail) {
        if !std::mem::replace(&mut state.has_failed, true) {
            self.send_to_all(&mut state, &Message::failure(&detail).encode());
        }
        drop(state);
        self.shared.fail(detail);
    }

    /// A rank leaves. Its thread ends when this end is closed.
    fn goodbye(&self, rank: usize) {
        let mut state = self.state();
        self.close(&mut state, rank);
        self.shared.has_left(rank);
        self.send_to_all(&mut state, &Message::Goodbye { rank }.encode());
        if let Err(detail) = state.ledger.leave(rank) {
            self.fail(state, detail);
        }
    }

    /// A rank is gone without having left.
    fn lose(&self, rank: usize, detail: RanksDetail) {
        let mut state = self.state();
        self.close(&mut state, rank);
        self.fail(state, detail);
    }

    fn close(&self, state: &mut State, rank: usize) {
        state.is_here[rank] = false;
        if let Some(stream) = &self.streams[rank] {
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    /// Sends to all that are here. What a connection does not take at once is left to the thread.
    fn send_to_all(&self, state: &mut State, frame: &[u8]) {
        let State { outboxes, is_here, .. } = state;
        let mut is_waiting = false;
        for (rank, stream) in self.streams.iter().enumerate().filter(|(rank, _)| is_here[*rank]) {
            if let Some(stream) = stream {
                outboxes[rank].send(stream, frame);
                is_waiting |= outboxes[rank].is_waiting();
            }
        }
        if is_waiting {
            self.waker.wake();
        }
    }
}
