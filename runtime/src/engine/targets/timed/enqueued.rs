//! [`Enqueued`]: the operations that a profile has enqueued and not yet read.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::device::stream::Event;
use crate::driver::{Nanos, Tag};
use crate::engine::targets::timed::Timed;
use crate::engine::targets::timed::stamp::{Noted, Stamp};
use crate::engine::targets::what::What;
use crate::observe::timeline::Engine;

#[derive(Default)]
pub(crate) struct Enqueued {
    pub(crate) pool: Vec<Event>,
    /// The operations enqueued and not yet read, oldest first.
    pub(crate) pending: VecDeque<Pending>,
    /// The number of operations read.
    pub(crate) read: usize,
    pub(crate) timed: Vec<Timed>,
    /// The untimed operations, each with the stamp of its end if it has one.
    pub(crate) untimed: Vec<(Untimed, Option<Rc<Stamp>>)>,
    /// The end of each stream.
    pub(crate) lanes: Vec<StreamEnd>,
    /// For each of the plan's events, by number, the latest record.
    pub(crate) events: Vec<Option<Recorded>>,
    /// For each shared observer, the last note.
    pub(crate) latest: Vec<Option<Noted>>,
    /// For each group of copies, the end of the last one that was read.
    pub(crate) ends: Vec<Nanos>,
    /// For each of the plan's operations, its occurrences so far.
    pub(crate) seen: Vec<Option<Seen>>,
}

/// The first and the last chunk in which one of the plan's operations was enqueued, and the number of its
/// parts in the last.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) parts: usize,
}

/// A record of one of the plan's events.
#[derive(Clone)]
pub(crate) enum Recorded {
    /// The time of the record is known, or will be.
    Timed(Rc<Stamp>),
    Untimed,
}

/// The end of a stream.
#[derive(Default, Clone)]
pub(crate) struct StreamEnd {
    /// The number of its last operation, as long as nothing shows when that ends.
    pub(crate) open: Option<usize>,
    /// The index of that operation among the untimed ones, if it is one of them.
    pub(crate) untimed: Option<usize>,
    /// The time at which a routine began to enqueue, the index of its operation's part, and whether it is
    /// timed.
    pub(crate) begun: Nanos,
    pub(crate) part: usize,
    pub(crate) is_timed: bool,
    /// The stamps that the next operation comes after.
    pub(crate) after: Vec<Rc<Stamp>>,
}

pub(crate) struct Pending {
    pub(crate) operation: Untimed,
    pub(crate) after: Vec<Rc<Stamp>>,
    pub(crate) end: Option<Rc<Stamp>>,
}

/// An operation that is not timed, or not yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Untimed {
    pub(crate) what: What,
    pub(crate) stream: usize,
    pub(crate) tag: Tag,
    pub(crate) part: usize,
    /// The times at which the host began to enqueue it, and had enqueued it.
    pub(crate) begun: Nanos,
    pub(crate) enqueued: Nanos,
}

impl Enqueued {
    pub(crate) fn lane(&mut self, stream: usize) -> &mut StreamEnd {
        if self.lanes.len() <= stream {
            self.lanes.resize(stream + 1, StreamEnd::default());
        }
        &mut self.lanes[stream]
    }

    /// Whether one of the plan's operations was not enqueued in an earlier chunk.
    pub(crate) fn is_new(&self, tag: Tag) -> bool {
        let seen = self.seen.get(tag.operation as usize).copied().flatten();
        seen.is_none_or(|seen| seen.first == tag.chunk)
    }

    /// The index of the operation's part in its chunk that is enqueued now.
    pub(crate) fn part(&mut self, tag: Tag) -> usize {
        let operation = tag.operation as usize;
        if self.seen.len() <= operation {
            self.seen.resize(operation + 1, None);
        }
        let new = Seen { first: tag.chunk, last: tag.chunk, parts: 0 };
        let seen = self.seen[operation].get_or_insert(new);
        if seen.last != tag.chunk {
            (seen.last, seen.parts) = (tag.chunk, 0);
        }
        seen.parts += 1;
        seen.parts - 1
    }

    /// Adds an operation that was enqueued, timed or not.
    pub(crate) fn add(&mut self, new: Untimed, is_timed: bool) {
        let (number, passed) = (self.read + self.pending.len(), self.untimed.len());
        let lane = self.lane(new.stream);
        let after = std::mem::take(&mut lane.after);
        if is_timed {
            lane.open = Some(number);
            self.pending.push_back(Pending { operation: new, after, end: None });
        } else {
            lane.untimed = Some(passed);
            self.untimed.push((new, None));
        }
    }

    pub(crate) fn record(&mut self, event: usize, recorded: Recorded) {
        if self.events.len() <= event {
            self.events.resize(event + 1, None);
        }
        self.events[event] = Some(recorded);
    }

    /// The engine of the last operation on a stream, as long as nothing shows when that ends; for an untimed
    /// operation only if `tells`.
    pub(crate) fn last_engine(&mut self, stream: usize, tells: bool) -> Option<Engine> {
        if let Some(last) = self.last(stream) {
            return Some(last.operation.what.engine);
        }
        let untimed = self.lane(stream).untimed.filter(|_| tells)?;
        Some(self.untimed[untimed].0.what.engine)
    }

    /// The last operation on a stream; `None` if its end is known.
    pub(crate) fn last(&mut self, stream: usize) -> Option<&Pending> {
        let read = self.read;
        let open = self.lane(stream).open?;
        open.checked_sub(read).and_then(|index| self.pending.get(index))
    }

    /// Notes that the last operation on a stream ends at this stamp, and the next one begins after it.
    pub(crate) fn ends(&mut self, stream: usize, stamp: &Rc<Stamp>) {
        let read = self.read;
        let lane = self.lane(stream);
        let (open, untimed) = (lane.open.take(), lane.untimed.take());
        if open.is_some() || untimed.is_some() {
            lane.after.push(Rc::clone(stamp));
        }
        if let Some(untimed) = untimed {
            self.untimed[untimed].1 = Some(Rc::clone(stamp));
        }
        let pending = open.and_then(|number| self.pending.get_mut(number.checked_sub(read)?));
        if let Some(pending) = pending {
            pending.end = Some(Rc::clone(stamp));
        }
    }
}

impl Pending {
    /// Whether the device is known to be done with it, and with the stamps that show when it began.
    pub(crate) fn is_over(&self) -> bool {
        let is_complete = |stamp: &Rc<Stamp>| {
            stamp.at.get().is_some() || !stamp.recorded.get() || stamp.event.is_complete().unwrap_or(false)
        };
        let ends = self.end.as_ref().is_some_and(|end| end.recorded.get() && is_complete(end));
        ends && self.after.iter().all(is_complete)
    }
}
