//! Carrying out work in an order that nobody relies on.

use super::machine::{Job, Machine, Progress, Schedule};
use super::queue::{Engine, Step};

/// A small random number generator (SplitMix64), the same on every machine.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `n`, which is at least 1.
    pub fn below(&mut self, n: usize) -> usize {
        let z = mixed(self.0);
        self.0 = self.0.wrapping_add(STEP);
        // The high half of a product: no bias worth mentioning for so few streams.
        ((u128::from(z) * n as u128) >> 64) as usize
    }
}

/// The distance from one state to the next.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The number of a state.
pub(crate) fn mixed(state: u64) -> u64 {
    let mut z = state.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Tells orders of work apart: a number that follows from all of it that was carried out, one after another.
#[derive(Debug, Default)]
pub(super) struct Carried(pub u64);

impl Carried {
    /// This has its turn.
    pub fn note(&mut self, job: &Job) {
        for part in [job.stream, u64::from(job.tag.operation), job.tag.chunk] {
            self.0 = mixed(self.0 ^ part);
        }
    }
}

impl Machine {
    /// Carries out the first command of a stream chosen at random. All of it happens at once, one after the other: what
    /// overlaps on a device without being ordered may as well come in either order.
    pub(super) fn step_adversarial(&mut self) -> Progress {
        let ready = self.streams.iter().filter(|(_, stream)| stream.ready(f64::INFINITY).is_some());
        let ready: Vec<u64> = ready.map(|(handle, _)| handle).collect();
        let Schedule::Adversarial(random) = &mut self.schedule else {
            return Progress::Stuck;
        };
        if ready.is_empty() {
            return Progress::Stuck;
        }
        let handle = ready[random.below(ready.len())];
        let Some(stream) = self.streams.get_mut(handle) else {
            return Progress::Stuck;
        };
        let Some(command) = stream.queue.pop_front() else {
            return Progress::Stuck;
        };
        let Step::Work(work) = command.step else {
            return Progress::Stuck;
        };
        stream.busy = true;
        let rate = match work.engine {
            Engine::CopyToDevice => self.model.to_device,
            Engine::CopyToHost => self.model.to_host,
            Engine::Compute => self.model.memory_rate * work.share,
            Engine::Host | Engine::Staging => self.model.host_memcpy,
        };
        let (sequence, enqueued_at) = (command.sequence, command.enqueued_at);
        let started = self.now.max(enqueued_at);
        self.now = started + work.latency + work.bytes / rate;
        Progress::Run(Job {
            stream: handle,
            tag: command.tag,
            action: work.action,
            sequence,
            enqueued_at,
            started,
            before: work.before,
        })
    }
}
