//! [`Job`]: work whose time has come.

use super::active::Active;
use super::model::Nanos;
use super::order::Clock;
use super::queue::Action;
use super::random::mixed;
use crate::driver::Tag;

/// The outcome of one step.
pub(super) enum Progress {
    /// This job is to be carried out, and then given to [`Machine::finish`](super::machine::Machine::finish).
    Run(Job),
    /// Something else has changed.
    Moved,
    /// There is nothing to do.
    Stuck,
}

/// Work whose time has come.
pub(super) struct Job {
    /// The number of the device.
    pub device: usize,
    pub stream: u64,
    /// The devices and streams of the other ranks of a collective.
    pub with: Vec<(usize, u64)>,
    pub tag: Tag,
    pub action: Action,
    /// The number of its command among all commands of the device.
    pub sequence: u64,
    pub enqueued_at: Nanos,
    /// The time when an engine began it.
    pub started: Nanos,
    /// Everything before it, for a function on the host.
    pub before: Option<Clock>,
}

/// What an engine has carried out.
impl From<Active> for Job {
    fn from(active: Active) -> Self {
        let Active { device, stream, with, tag, action, before, sequence, enqueued_at, started, .. } = active;
        Self { device, stream, with, tag, action, sequence, enqueued_at, started, before }
    }
}

/// A job that a thread is carrying out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Executing {
    /// The number of the device.
    pub device: usize,
    /// Whether it uses memory of others than the program's, which must stay until it is over. A callback by
    /// hand owns what it uses, and may itself wait for the host's threads.
    pub borrows: bool,
    /// Whether it is a collective, which uses memory of several devices.
    pub is_shared: bool,
}

/// A number that tells orders of work apart. It follows from all work that was carried out, one after
/// another.
#[derive(Debug, Default)]
pub(super) struct Carried(pub u64);

impl Carried {
    /// Adds a job that is carried out now.
    pub(crate) fn note(&mut self, job: &Job) {
        for part in [job.stream, u64::from(job.tag.operation), job.tag.chunk] {
            self.0 = mixed(self.0 ^ part);
        }
    }
}
