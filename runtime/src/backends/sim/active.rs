//! [`Active`]: work that an engine is carrying out.

use super::demand::Engine;
use super::model::Nanos;
use super::order::Clock;
use super::queue::Action;
use crate::driver::Tag;

/// Work that an engine is carrying out.
pub(super) struct Active {
    /// The number of the device.
    pub device: usize,
    pub stream: u64,
    /// The devices and streams of the other ranks of a collective.
    pub with: Vec<(usize, u64)>,
    pub priority: i32,
    pub tag: Tag,
    pub engine: Engine,
    /// Whether it is a kernel, if it is a copy.
    pub by_kernel: bool,
    pub action: Action,
    pub before: Option<Clock>,
    /// The numbers of the devices of a copy between two: from the first to the second.
    pub between: Option<[usize; 2]>,
    pub sequence: u64,
    pub enqueued_at: Nanos,
    pub started: Nanos,
    /// The time when the latency is over.
    pub transfer_at: Nanos,
    pub transferring: bool,
    pub remaining: f64,
    /// The share of its engine that it can use.
    pub share: f64,
    /// The rate of its transfer, in bytes a nanosecond, while it is transferring.
    pub rate: f64,
}

impl Active {
    /// Whether a device takes part in it.
    pub(crate) fn uses(&self, device: usize) -> bool {
        self.device == device || self.with.iter().any(|(other, _)| *other == device)
    }

    /// Whether a device is at work on it with this engine.
    pub(crate) fn is_of(&self, device: usize, engine: Engine) -> bool {
        self.engine == engine && self.uses(device)
    }

    /// The time when the latency or the transfer is over, if the rate stays as it is.
    pub(crate) fn next_change(&self, now: Nanos) -> Nanos {
        if !self.transferring {
            self.transfer_at
        } else if self.rate > 0.0 {
            now + self.remaining / self.rate
        } else {
            Nanos::INFINITY
        }
    }
}
