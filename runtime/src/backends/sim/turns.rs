//! [`Turns`]: the threads that enqueue the devices of one run take turns, so that virtual time does not depend on how
//! the host's threads really run.
//!
//! One of them runs at a time. It runs until it waits for its device. Then another one runs whose time has come: one
//! that has not waited, or whose wait is over, the earliest by the clock of its device. Only when all of them wait does
//! the simulation go on, until one of the waits is over. So nothing is enqueued later than its thread could have
//! done, and the order of everything follows from the program.
//!
//! A thread that waits for something else, such as what another device is to do first, is *aside*: the others go on
//! without it, until what it waits for has happened. Then the simulation waits for the thread to come back. One that is
//! busy for long without calling its device is left aside, too.

use std::sync::Arc;
use std::thread::ThreadId;

use super::machine::{Machine, Schedule};
use super::model::Nanos;
use super::queue::Record;
use crate::driver::IsOver;

// Note 72: virtual time does not depend on how the threads run.
/// The threads that take turns.
#[derive(Default)]
pub(super) struct Turns {
    threads: Vec<Turn>,
    /// The ticket of the thread that runs.
    running: Option<u64>,
    tickets: u64,
    /// A number that changes whenever a thread is given its turn.
    given: u64,
}

/// One thread.
struct Turn {
    ticket: u64,
    device: usize,
    thread: Option<ThreadId>,
    state: State,
}

enum State {
    /// It was announced, and has not begun.
    Expected,
    /// It runs, or could.
    Ready,
    Waiting(Wait),
    /// It waits for something outside of the simulation, and will come back when that is over. `None`: nobody knows when.
    Aside(Option<IsOver>),
}

impl State {
    /// Whether the thread is about to do something that the others wait for.
    fn is_about_to_run(&self) -> bool {
        match self {
            Self::Expected => true,
            Self::Aside(is_over) => is_over.as_ref().is_some_and(|is_over| is_over()),
            Self::Ready | Self::Waiting(_) => false,
        }
    }
}

/// What the host waits for.
#[derive(Debug, Clone)]
pub(super) enum Wait {
    /// A stream, up to so many commands.
    Stream {
        handle: u64,
        target: u64,
    },
    Record(Arc<Record>),
    /// This time; in an adversarial order, that anything is carried out after so much was.
    Until {
        time: Nanos,
        carried: u64,
    },
}

impl Turns {
    /// Announces a thread for a device. Returns its ticket.
    pub(crate) fn expect(&mut self, device: usize) -> u64 {
        self.tickets += 1;
        let ticket = self.tickets;
        self.threads.push(Turn { ticket, device, thread: None, state: State::Expected });
        ticket
    }

    /// Begins the thread with this ticket, which is the calling one.
    pub(crate) fn begin(&mut self, ticket: u64, thread: ThreadId) {
        if let Some(turn) = self.threads.iter_mut().find(|turn| turn.ticket == ticket) {
            (turn.thread, turn.state) = (Some(thread), State::Ready);
        }
    }

    /// Ends the thread with this ticket.
    pub(crate) fn end(&mut self, ticket: u64) {
        self.threads.retain(|turn| turn.ticket != ticket);
        self.running = self.running.filter(|&running| running != ticket);
    }

    /// The ticket of a thread, if it takes turns.
    pub(crate) fn ticket(&self, thread: ThreadId) -> Option<u64> {
        // The latest one: a run may be called within another.
        self.threads.iter().rfind(|turn| turn.thread == Some(thread)).map(|turn| turn.ticket)
    }

    /// Lets the others run: the thread waits.
    pub(crate) fn wait(&mut self, ticket: u64, wait: Wait) {
        self.set(ticket, State::Waiting(wait));
        self.running = self.running.filter(|&running| running != ticket);
    }

    /// Lets the others go on without the thread, until `is_over`.
    pub(crate) fn step_aside(&mut self, ticket: u64, is_over: IsOver) {
        self.set(ticket, State::Aside(Some(is_over)));
        self.running = self.running.filter(|&running| running != ticket);
    }

    /// Lets the thread run again, when its turn comes.
    pub(crate) fn come_back(&mut self, ticket: u64) {
        self.set(ticket, State::Ready);
    }

    /// Lets the thread run again if it was left aside.
    pub(crate) fn wake(&mut self, ticket: u64) {
        let aside = |turn: &&mut Turn| turn.ticket == ticket && matches!(turn.state, State::Aside(_));
        if let Some(turn) = self.threads.iter_mut().find(aside) {
            turn.state = State::Ready;
        }
    }

    fn set(&mut self, ticket: u64, state: State) {
        if let Some(turn) = self.threads.iter_mut().find(|turn| turn.ticket == ticket) {
            turn.state = state;
        }
    }

    /// Whether it is this thread's turn.
    pub(crate) fn is_running(&self, ticket: u64) -> bool {
        self.running == Some(ticket)
    }

    /// Whether some thread runs, or is about to: it has been announced, or what it waited for aside is over.
    pub(crate) fn is_any_busy(&self) -> bool {
        self.running.is_some() || self.threads.iter().any(|turn| turn.state.is_about_to_run())
    }

    /// Whether there are threads, and each of them waits for its device.
    pub(crate) fn all_wait(&self) -> bool {
        let waits = |turn: &Turn| matches!(turn.state, State::Waiting(_));
        !self.threads.is_empty() && self.threads.iter().all(waits)
    }

    /// A number that changes whenever a thread is given its turn.
    pub(crate) fn given(&self) -> u64 {
        self.given
    }

    /// Leaves those that are busy aside.
    pub(crate) fn give_up_on_busy(&mut self) {
        let running = self.running.take();
        for turn in &mut self.threads {
            if turn.state.is_about_to_run() || Some(turn.ticket) == running {
                turn.state = State::Aside(None);
            }
        }
    }
}

impl Machine {
    /// The time when what is waited for was complete, if it is.
    pub(super) fn is_over(&self, wait: &Wait) -> Option<Nanos> {
        match wait {
            Wait::Stream { handle, target } => match self.streams.get(*handle) {
                Some(stream) if stream.completed < *target => None,
                Some(stream) => Some(stream.completed_at),
                // Another thread has destroyed the stream, and it is empty.
                None => Some(self.now),
            },
            Wait::Record(record) => record.outcome.get().map(|outcome| outcome.at),
            Wait::Until { time, carried } => {
                let enough = match self.schedule {
                    // There is no order of time, so one thing happens at a time.
                    Schedule::Adversarial(_) => self.carried_out() != *carried,
                    Schedule::Timed => self.now >= *time,
                };
                (enough || self.is_idle()).then_some(self.now)
            }
        }
    }

    /// Gives the turn to a thread whose time has come, unless one runs. Returns whether there was any.
    pub(super) fn give_turn(&mut self) -> bool {
        if self.turns.running.is_some() {
            return true;
        }
        if self.turns.is_any_busy() {
            // Who is first must not depend on which thread begins first.
            return false;
        }
        let could = |turn: &Turn| {
            let part = &self.parts[turn.device];
            let time = match &turn.state {
                State::Ready => part.host,
                // Whoever waits for a device that is lost is told.
                State::Waiting(wait) => match self.is_over(wait) {
                    Some(at) => part.host.max(at),
                    None if part.faults.alive().is_err() => part.host,
                    None => return None,
                },
                State::Expected | State::Aside(_) => return None,
            };
            Some((time, turn.ticket))
        };
        let mut ready: Vec<_> = self.turns.threads.iter().filter_map(could).collect();
        ready.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let next = match &mut self.schedule {
            Schedule::Adversarial(random) if ready.len() > 1 => random.below(ready.len()),
            _ => 0,
        };
        let Some(&(_, ticket)) = ready.get(next) else { return false };
        self.turns.set(ticket, State::Ready);
        (self.turns.running, self.turns.given) = (Some(ticket), self.turns.given + 1);
        true
    }

    /// The time beyond which the simulation must not go, since a thread waits for it.
    pub(super) fn earliest_until(&self) -> Nanos {
        let untils = self.turns.threads.iter().filter_map(|turn| match turn.state {
            State::Waiting(Wait::Until { time, .. }) => Some(time),
            _ => None,
        });
        untils.fold(Nanos::INFINITY, Nanos::min)
    }
}
