//! Streams, events and the commands that wait in streams.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use super::demand::{Demand, Engine};
use super::fault::Failure;
use super::model::Nanos;
use super::order::{Clock, Lane};
use crate::base::error::DriverError;
use crate::driver::collective::RawCollective;
use crate::driver::{HostBody, HostJob, RawStream, Tag};

/// The effect of work on memory.
pub(super) enum Action {
    /// Addresses in this process; the ranges were checked and do not overlap.
    Copy {
        to: usize,
        from: usize,
        bytes: usize,
    },
    Body(HostBody),
    /// A host function, which cannot fail.
    Host(HostJob),
    /// A part in what the ranks of a communicator of this machine do together.
    Collective(Box<RawCollective>),
}

/// A copy, a launch or a host function.
pub(super) struct Work {
    pub engine: Engine,
    pub latency: Nanos,
    /// Bytes that go through the engine after the latency.
    pub bytes: f64,
    /// The largest share of the engine that the work can use: a kernel of few blocks leaves multiprocessors
    /// idle.
    pub share: f64,
    /// Whether it is a kernel, if it is a copy.
    pub by_kernel: bool,
    pub action: Action,
    /// The reason why it must not be carried out.
    pub fault: Option<Box<DriverError>>,
    /// Everything before it, for a function on the host, which knows that all of that is over.
    pub before: Option<Clock>,
    /// The numbers of the devices of a copy between two: from the first to the second.
    pub between: Option<[usize; 2]>,
}

impl Work {
    pub(crate) fn new(demand: Demand, action: Action) -> Self {
        let Demand { engine, latency, bytes, share, by_kernel } = demand;
        Self { engine, latency, bytes, share, by_kernel, action, fault: None, before: None, between: None }
    }

    /// A copy from the memory of one device to that of another.
    pub(crate) fn between(demand: Demand, action: Action, devices: [usize; 2]) -> Self {
        Self { between: Some(devices), ..Self::new(demand, action) }
    }
}

pub(super) enum Step {
    Record(Arc<Record>),
    Wait(Arc<Record>),
    /// The same for a graph's chain that begins anew. Earlier failures on the chain are forgotten.
    Begin(Arc<Record>),
    Work(Work),
}

pub(super) struct Command {
    pub step: Step,
    pub tag: Tag,
    /// Its number among all commands of the device.
    pub sequence: u64,
    pub enqueued_at: Nanos,
}

/// One recording of an event.
#[derive(Debug)]
pub(super) struct Record {
    /// The number of the device.
    pub device: usize,
    /// The handle of the stream on which it was recorded.
    pub stream: u64,
    /// Everything before it.
    pub clock: Clock,
    /// Set once it is complete.
    pub outcome: OnceLock<Outcome>,
}

#[derive(Debug)]
pub(super) struct Outcome {
    pub at: Nanos,
    /// The failure of its stream at that time.
    pub failure: Option<Arc<Failure>>,
}

pub(super) struct Stream {
    /// The number of its device.
    pub device: usize,
    pub priority: i32,
    pub lane: Lane,
    pub queue: VecDeque<Command>,
    /// Whether an engine is carrying out a command that was taken from the queue.
    pub busy: bool,
    /// The number of commands so far.
    pub enqueued: u64,
    pub completed: u64,
    /// The time when the last command completed.
    pub completed_at: Nanos,
    /// The failure that has not been reported. Work is skipped until it is.
    pub failure: Option<Arc<Failure>>,
    pub destroyed: bool,
    /// The streams of the graphs that are launched on it, one for each of a graph's chains except the first.
    pub chains: Vec<RawStream>,
}

impl Stream {
    pub(crate) fn new(device: usize, priority: i32, lane: Lane) -> Self {
        Self {
            device,
            priority,
            lane,
            queue: VecDeque::new(),
            busy: false,
            enqueued: 0,
            completed: 0,
            completed_at: 0.0,
            failure: None,
            destroyed: false,
            chains: Vec::new(),
        }
    }

    /// Whether it is destroyed and empty.
    pub(crate) fn is_over(&self) -> bool {
        self.destroyed && !self.busy && self.queue.is_empty()
    }

    /// The work that may start now.
    pub(crate) fn ready(&self, now: Nanos) -> Option<(&Command, &Work)> {
        let head = self.queue.front().filter(|head| !self.busy && head.enqueued_at <= now)?;
        match &head.step {
            // Ranks arrive at a collective.
            Step::Work(Work { action: Action::Collective(_), .. }) => None,
            Step::Work(work) => Some((head, work)),
            Step::Record(_) | Step::Wait(_) | Step::Begin(_) => None,
        }
    }

    /// The next moment after `now` when the first command of the queue may go on by itself.
    pub(crate) fn timer(&self, handle: u64, now: Nanos, event_latency: Nanos) -> Option<Nanos> {
        let head = self.queue.front().filter(|_| !self.busy)?;
        if head.enqueued_at > now {
            return Some(head.enqueued_at);
        }
        match &head.step {
            Step::Wait(record) | Step::Begin(record) => {
                due(record, handle, event_latency).filter(|&due| due > now)
            }
            Step::Record(_) | Step::Work(_) => None,
        }
    }

    /// Completes the first command of the queue if that needs no engine: a record, a wait that is over, or
    /// work to be skipped, which goes to `skipped`. `horizon` is the time up to which things may happen.
    pub(crate) fn settle_head(
        &mut self,
        handle: u64,
        now: Nanos,
        horizon: Nanos,
        event_latency: Nanos,
        skipped: &mut Vec<Action>,
    ) -> bool {
        let Some(head) = self.queue.front_mut().filter(|head| !self.busy && head.enqueued_at <= horizon)
        else {
            return false;
        };
        match &mut head.step {
            Step::Record(record) => {
                // A record is in one queue once, so nothing has set its outcome yet.
                let _ = record.outcome.set(Outcome { at: now, failure: self.failure.clone() });
            }
            Step::Wait(record) | Step::Begin(record) => {
                if due(record, handle, event_latency).is_none_or(|due| due > horizon) {
                    return false;
                }
                let failed = record.outcome.get().and_then(|outcome| outcome.failure.as_ref());
                // The loss of another device is no loss of this one.
                let lost = |error: &DriverError| error.lost && record.device == self.device;
                let failed = failed.map(|failure| failure.error.clone().lost(lost(&failure.error)));
                if matches!(head.step, Step::Begin(_)) {
                    self.failure = None;
                }
                // The failure reaches everything that comes after the event.
                if let Some(error) = failed {
                    self.fail(error);
                }
            }
            Step::Work(work) => {
                if let Some(error) = work.fault.take() {
                    self.fail(error);
                } else if self.failure.is_none() {
                    return false;
                }
            }
        }
        if let Some(Command { step: Step::Work(work), .. }) = self.queue.pop_front() {
            skipped.push(work.action);
        }
        self.complete(now);
        true
    }

    /// Skips the whole queue, since the device is lost. Records are complete, so that nothing waits for them.
    pub(crate) fn abandon(&mut self, now: Nanos, error: &DriverError, skipped: &mut Vec<Action>) {
        self.fail(Box::new(error.clone()));
        for command in self.queue.drain(..) {
            match command.step {
                Step::Record(record) => {
                    // As in `settle_head`.
                    let _ = record.outcome.set(Outcome { at: now, failure: self.failure.clone() });
                }
                Step::Work(work) => skipped.push(work.action),
                Step::Wait(_) | Step::Begin(_) => {}
            }
        }
        (self.completed, self.completed_at) = (self.enqueued, now);
    }

    /// Notes that a command is complete.
    pub(crate) fn complete(&mut self, now: Nanos) {
        self.completed += 1;
        self.completed_at = now;
    }

    /// Skips work from now on. The first error is the one to report.
    pub(crate) fn fail(&mut self, error: Box<DriverError>) {
        if self.failure.is_none() {
            self.failure = Some(Arc::new(Failure::new(error)));
        }
    }
}

/// The time when a stream that waits for `record` may go on, if that is known yet. Within one stream an event
/// costs nothing.
fn due(record: &Record, waiting: u64, event_latency: Nanos) -> Option<Nanos> {
    let outcome = record.outcome.get()?;
    Some(if record.stream == waiting { outcome.at } else { outcome.at + event_latency })
}
