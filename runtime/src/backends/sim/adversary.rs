//! Carrying out work in an order that no program should depend on.

use super::demand::Engine;
use super::job::{Job, Progress};
use super::machine::{Machine, Schedule};
use super::queue::Step;

impl Machine {
    /// Carries out the first command of a stream chosen at random. The whole command happens at once, one
    /// command after the other: commands that overlap on a device without being ordered may as well come in
    /// either order.
    pub(super) fn step_adversarial(&mut self) -> Progress {
        let ready = self.streams.iter().filter(|(_, stream)| stream.ready(f64::INFINITY).is_some());
        let ready: Vec<u64> = ready.map(|(handle, _)| handle).collect();
        let meetings = self.active.len();
        let Schedule::Adversarial(random) = &mut self.schedule else {
            return Progress::Stuck;
        };
        if ready.len() + meetings == 0 {
            return Progress::Stuck;
        }
        let next = random.below(ready.len() + meetings);
        let Some(&handle) = ready.get(next) else {
            // All ranks have arrived: nothing else is ever active in such an order.
            let meeting = self.active.remove(next - ready.len());
            self.now = self.now.max(meeting.transfer_at);
            return Progress::Run(meeting.into());
        };
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
        let device = stream.device;
        let model = &self.parts[device].model;
        let rate = match work.engine {
            Engine::CopyToDevice => model.to_device,
            Engine::CopyToHost => model.to_host,
            Engine::Compute => model.memory_rate * work.share,
            Engine::Peer => self.shares.between(work.between),
            Engine::Host | Engine::Staging | Engine::Network => model.host_memcpy,
        };
        let (sequence, enqueued_at) = (command.sequence, command.enqueued_at);
        let started = self.now.max(enqueued_at);
        self.now = started + work.latency + work.bytes / rate;
        Progress::Run(Job {
            device,
            stream: handle,
            with: Vec::new(),
            tag: command.tag,
            action: work.action,
            sequence,
            enqueued_at,
            started,
            before: work.before,
        })
    }
}
