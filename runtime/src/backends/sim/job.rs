//! [`Job`]: work whose time has come.

use super::model::Nanos;
use super::order::Clock;
use super::queue::Action;
use super::random::mixed;
use crate::driver::Tag;

/// What one step has done.
pub(super) enum Progress {
    /// This is to be carried out, and then given to [`Machine::finish`](super::machine::Machine::finish).
    Run(Job),
    /// Something else has changed.
    Moved,
    /// There is nothing to do.
    Stuck,
}

/// Work whose time has come.
pub(super) struct Job {
    pub stream: u64,
    pub tag: Tag,
    pub action: Action,
    /// Its command's place among all of the device.
    pub sequence: u64,
    pub enqueued_at: Nanos,
    /// When an engine took it up.
    pub started: Nanos,
    /// What comes before it, of a function on the host.
    pub before: Option<Clock>,
}

/// Tells orders of work apart: a number that follows from all of it that was carried out, one after another.
#[derive(Debug, Default)]
pub(super) struct Carried(pub u64);

impl Carried {
    /// This has its turn.
    pub(crate) fn note(&mut self, job: &Job) {
        for part in [job.stream, u64::from(job.tag.operation), job.tag.chunk] {
            self.0 = mixed(self.0 ^ part);
        }
    }
}
