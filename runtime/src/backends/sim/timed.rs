//! Carrying out work in the order of virtual time.
//!
//! Five engines of each device take work from the streams: one copies to the device, one copies to the host, one copies
//! between the device and its peers, one computes, and one is the host itself. Each copy engine has one copy at a time,
//! and the host has one function. The
//! compute engine has several kernels, which share the rate of device memory. Work first waits for its
//! latency and then moves its bytes at a rate that changes only when other work starts or ends. So time
//! advances from one such change to the next. The devices of a machine share its host's memory, and perhaps ports of
//! it ([`shares`](super::shares)).

use super::active::Active;
use super::demand::Engine;
use super::job::Progress;
use super::machine::Machine;
use super::model::Nanos;
use super::queue::Step;

impl Machine {
    pub(super) fn step_timed(&mut self) -> Progress {
        while let Some(stream) = self.next_to_start() {
            self.start(stream);
        }
        self.set_rates();
        self.advance()
    }

    /// The stream whose work is to start now: among kernels the most urgent one, otherwise the one that was
    /// enqueued first. CUDA's priorities have no effect on copies (`cuStreamCreateWithPriority`).
    fn next_to_start(&self) -> Option<u64> {
        let candidates = self.streams.iter().filter_map(|(handle, stream)| {
            let (command, work) = stream.ready(self.now)?;
            let priority = if work.engine == Engine::Compute { stream.priority } else { 0 };
            self.has_room(stream.device, work.engine).then_some((priority, command.sequence, handle))
        });
        candidates.min().map(|(_, _, handle)| handle)
    }

    fn has_room(&self, device: usize, engine: Engine) -> bool {
        let limit = match engine {
            Engine::CopyToDevice | Engine::CopyToHost | Engine::Peer | Engine::Network | Engine::Host => 1,
            Engine::Compute => self.parts[device].model.concurrent_kernels,
            Engine::Staging => usize::MAX,
        };
        self.active.iter().filter(|active| (active.device, active.engine) == (device, engine)).count() < limit
    }

    /// The additional time until a copy's first byte moves, because copies go the other way.
    fn against(&self, device: usize, engine: Engine) -> Nanos {
        let other = match engine {
            Engine::CopyToDevice => Engine::CopyToHost,
            Engine::CopyToHost => Engine::CopyToDevice,
            Engine::Compute | Engine::Peer | Engine::Network | Engine::Host | Engine::Staging => return 0.0,
        };
        let is_busy = self
            .active
            .iter()
            .any(|active| (active.device, active.engine) == (device, other) && !active.by_kernel);
        if is_busy { self.parts[device].model.duplex_latency } else { 0.0 }
    }

    fn start(&mut self, handle: u64) {
        let Some(stream) = self.streams.get_mut(handle) else {
            return;
        };
        let Some(command) = stream.queue.pop_front() else {
            return;
        };
        let Step::Work(work) = command.step else {
            return;
        };
        stream.busy = true;
        let (device, priority) = (stream.device, stream.priority);
        let against = if work.by_kernel { 0.0 } else { self.against(device, work.engine) };
        self.active.push(Active {
            device,
            stream: handle,
            with: Vec::new(),
            priority,
            tag: command.tag,
            engine: work.engine,
            by_kernel: work.by_kernel,
            action: work.action,
            before: work.before,
            between: work.between,
            sequence: command.sequence,
            enqueued_at: command.enqueued_at,
            started: self.now,
            transfer_at: self.now + work.latency + against,
            transferring: false,
            remaining: work.bytes,
            share: work.share,
            rate: 0.0,
        });
    }

    fn set_rates(&mut self) {
        for device in 0..self.parts.len() {
            self.set_rates_of(device);
        }
        self.shares.limit(&mut self.active);
    }

    fn set_rates_of(&mut self, device: usize) {
        let model = &self.parts[device].model;
        let own = || self.active.iter().filter(|active| active.device == device);
        let is_copying = |engine| own().any(|active| active.engine == engine);
        let both_ways = is_copying(Engine::CopyToDevice) && is_copying(Engine::CopyToHost);
        let duplex = if both_ways { model.duplex } else { 1.0 };
        let transferring =
            |engine| own().filter(move |active| active.transferring && active.engine == engine);
        // The multiprocessors take blocks of the most urgent kernels only, as long as there are any.
        let urgent = transferring(Engine::Compute).map(|active| active.priority).min();
        let sharing = transferring(Engine::Compute).filter(|active| Some(active.priority) == urgent);
        // Together they can use the whole rate, or less of it.
        let used = sharing.map(|active| active.share).sum::<f64>().max(1.0);
        let staging = transferring(Engine::Staging).count();
        for active in self.active.iter_mut().filter(|active| active.device == device) {
            active.rate = match active.engine {
                Engine::CopyToDevice => model.to_device * duplex,
                Engine::CopyToHost => model.to_host * duplex,
                Engine::Compute if Some(active.priority) == urgent => model.memory_rate * active.share / used,
                Engine::Compute => 0.0,
                Engine::Peer => self.shares.between(active.between),
                // It has a time, and no bytes.
                Engine::Network => f64::INFINITY,
                Engine::Host => model.host_memcpy,
                Engine::Staging => model.host_memcpy / staging.max(1) as f64,
            };
        }
    }

    /// Advances time to the next change.
    fn advance(&mut self) -> Progress {
        let timers = self.streams.iter().filter_map(|(handle, stream)| {
            stream.timer(handle, self.now, self.parts[stream.device].model.event_latency)
        });
        let mut next = timers.fold(Nanos::INFINITY, Nanos::min);
        let mut changing = None;
        for (index, active) in self.active.iter().enumerate() {
            let change = active.next_change(self.now);
            if change < next {
                next = change;
                changing = Some(index);
            }
        }
        if next == Nanos::INFINITY {
            return Progress::Stuck;
        }
        if next > self.until {
            (next, changing) = (self.until.max(self.now), None);
        }
        let elapsed = next - self.now;
        for active in self.active.iter_mut().filter(|active| active.transferring) {
            active.remaining = (active.remaining - active.rate * elapsed).max(0.0);
        }
        self.now = next;
        let Some(index) = changing else {
            return Progress::Moved;
        };
        let active = &mut self.active[index];
        if !active.transferring && active.remaining > 0.0 {
            active.transferring = true;
            return Progress::Moved;
        }
        // The condition is not `remaining == 0`: the subtraction above may leave a rounding error, which must
        // not keep time from advancing.
        Progress::Run(self.active.remove(index).into())
    }
}
