//! Streams, events and the commands that wait in streams.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::work::{Action, Spans, Work};
use crate::base::error::DriverError;
use crate::driver::Tag;
use crate::driver::fault::Failure;

pub(super) enum Step {
    Record(Arc<Record>),
    Wait(Arc<Record>),
    Work(Work),
}

pub(super) struct Entry {
    pub step: Step,
    pub tag: Tag,
    /// Its number among all commands of the device.
    pub sequence: u64,
}

/// An event, with its latest record.
#[derive(Debug, Default)]
pub(super) struct Event {
    pub latest: Option<Arc<Record>>,
    pub is_timed: bool,
}

/// One recording of an event.
#[derive(Debug)]
pub(super) struct Record {
    /// The handle of the stream on which it was recorded.
    pub stream: u64,
    pub is_timed: bool,
    /// Set once it is complete.
    pub outcome: OnceLock<Outcome>,
}

#[derive(Debug)]
pub(super) struct Outcome {
    /// When it was complete, if the event tells the time.
    pub at: Option<Instant>,
    /// The failure of its stream at that time.
    pub failure: Option<Arc<Failure>>,
}

pub(super) struct Stream {
    pub priority: i32,
    pub queue: VecDeque<Entry>,
    /// The command that a thread is carrying out, and the memory that it uses.
    pub running: Option<(Tag, Spans)>,
    /// The number of commands so far.
    pub enqueued: u64,
    pub completed: u64,
    /// The failure that has not been reported. Work is skipped until it is.
    pub failure: Option<Arc<Failure>>,
    pub destroyed: bool,
}

impl Stream {
    pub(super) fn new(priority: i32) -> Self {
        Self {
            priority,
            queue: VecDeque::new(),
            running: None,
            enqueued: 0,
            completed: 0,
            failure: None,
            destroyed: false,
        }
    }

    /// Whether nothing is left to do.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_none() && self.queue.is_empty()
    }

    /// The number of the work that may begin now.
    pub(super) fn ready(&self) -> Option<u64> {
        let head = self.queue.front().filter(|_| self.running.is_none())?;
        matches!(head.step, Step::Work(_)).then_some(head.sequence)
    }

    /// Completes commands at the head of the queue that are no work to be carried out: records, waits that
    /// are over, and work that is skipped, which goes to `skipped`. Returns whether there was any.
    pub(super) fn settle(&mut self, skipped: &mut Vec<Action>) -> bool {
        let before = self.completed;
        while self.running.is_none() && self.settle_head(skipped) {}
        self.completed > before
    }

    fn settle_head(&mut self, skipped: &mut Vec<Action>) -> bool {
        let Some(head) = self.queue.front() else { return false };
        match &head.step {
            Step::Record(record) => {
                let at = record.is_timed.then(Instant::now);
                // A record is in one queue once, so nothing has set its outcome yet.
                let _ = record.outcome.set(Outcome { at, failure: self.failure.clone() });
            }
            Step::Wait(record) => {
                let Some(outcome) = record.outcome.get() else { return false };
                // The failure reaches everything that comes after the event.
                if let Some(failure) = outcome.failure.clone() {
                    self.fail(failure.error.clone());
                }
            }
            Step::Work(_) if self.failure.is_some() => {}
            Step::Work(_) => return false,
        }
        if let Some(Entry { step: Step::Work(work), .. }) = self.queue.pop_front() {
            skipped.push(work.action);
        }
        self.completed += 1;
        true
    }

    /// Skips work from now on. The first error is the one to report.
    pub(super) fn fail(&mut self, error: Box<DriverError>) {
        if self.failure.is_none() {
            self.failure = Some(Arc::new(Failure::new(error)));
        }
    }

    /// Adds the operations that use some of these bytes.
    pub(super) fn users(&self, start: usize, bytes: usize, users: &mut Vec<Tag>) {
        let waiting = self.queue.iter().filter_map(|entry| match &entry.step {
            Step::Work(work) => Some((entry.tag, &work.spans)),
            Step::Record(_) | Step::Wait(_) => None,
        });
        for (tag, spans) in self.running.iter().map(|(tag, spans)| (*tag, spans)).chain(waiting) {
            if spans.iter().any(|span| touches(span.start..span.start + span.bytes, start..start + bytes))
                && !users.contains(&tag)
            {
                users.push(tag);
            }
        }
    }
}

fn touches(one: std::ops::Range<usize>, other: std::ops::Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}
