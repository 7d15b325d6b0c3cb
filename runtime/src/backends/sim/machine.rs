//! [`Machine`]: the state of a simulated machine with its devices, and everything that changes it.

use std::sync::Arc;
use std::thread::ThreadId;

use super::active::Active;
use super::demand::Engine;
use super::fault::{self, Failure};

use super::history::Accessor;
use super::inject::{Fault, Faults};
use super::job::{Carried, Executing, Progress};
use super::meeting::Communicator;
use super::memory::{SimulatedMemory, Span};
use super::model::{Model, Nanos};
use super::order::{Clock, Order};
use super::queue::{Action, Command, Record, Step, Stream, Work};
use super::random::Random;
use super::shares::Shares;
use super::simulation::SimulatedMachine;
use super::turns::Turns;
use crate::base::error::DriverError;
use crate::base::handles::Handles;
use crate::base::model::DeviceModel;
use crate::driver::{DriverResult, RawEvent, RawStream, Tag};

/// The order in which enqueued work is carried out.
#[derive(Debug)]
pub(super) enum Schedule {
    /// The order that the model's times give.
    Timed,
    /// Any order that streams and events allow.
    Adversarial(Random),
}

/// A stream that waits for the null stream, and that the null stream waits for.
#[derive(Debug, Clone, Copy)]
struct Blocking {
    stream: RawStream,
    /// The number of the null stream's commands that it has waited for.
    seen: u64,
    /// The number of its commands that the null stream has waited for.
    seen_by_null: u64,
}

/// The state of one device that no other has a part in.
pub(super) struct Part {
    pub model: Model,
    /// The null stream, once it has been asked for.
    null: Option<RawStream>,
    /// The blocking streams. Each has the extents to which it and the null stream have waited for each other.
    blocking: Vec<Blocking>,
    /// The default streams of threads.
    per_thread: Vec<(ThreadId, RawStream)>,
    /// The time of the host's thread that uses the device.
    pub host: Nanos,
    /// The deliberate faults.
    pub faults: Faults,
}

impl Part {
    fn new(model: &DeviceModel, faults: &[Fault]) -> Self {
        let mut all = Faults::default();
        for fault in faults {
            all.add(*fault);
        }
        Self {
            model: Model::new(model),
            null: None,
            blocking: Vec::new(),
            per_thread: Vec::new(),
            host: 0.0,
            faults: all,
        }
    }
}

/// The state of a simulated machine.
pub(super) struct Machine {
    /// The devices, by number.
    pub parts: Vec<Part>,
    /// What the devices share.
    pub shares: Shares,
    /// The threads that enqueue what each device has of one run.
    pub turns: Turns,
    pub schedule: Schedule,
    pub memory: SimulatedMemory,
    pub order: Order,
    pub streams: Handles<Stream>,
    /// Each event with its latest record.
    pub events: Handles<Option<Arc<Record>>>,
    /// Each graph with the number of its nodes.
    pub graphs: Handles<usize>,
    /// The worlds of ranks that meet here.
    pub communicators: Handles<Communicator>,
    /// The work that the engines are carrying out.
    pub active: Vec<Active>,
    /// The time up to which the device has been simulated.
    pub now: Nanos,
    /// The time up to which it may be simulated.
    pub until: Nanos,
    /// Work that will not be carried out, to be dropped while no lock is held.
    pub skipped: Vec<Action>,
    /// The order in which work was carried out.
    pub carried: Carried,
    /// The job that a thread is carrying out without the lock.
    pub executing: Option<Executing>,
    /// The number of threads that wait for it.
    pub waiting: usize,
    /// The number of the command that was enqueued last.
    pub sequence: u64,
}

impl Machine {
    pub(crate) fn new(spec: &SimulatedMachine) -> Self {
        let SimulatedMachine { model, adversary, faults } = spec;
        let part = |(number, model)| Part::new(model, faults.get(number).map_or(&[], Vec::as_slice));
        let parts = model.devices.iter().enumerate().map(part).collect();
        let free = model.devices.iter().map(|model| [model.memory, model.pinned_memory]).collect();
        Self {
            parts,
            shares: Shares::new(model),
            turns: Turns::default(),
            schedule: adversary.map_or(Schedule::Timed, |seed| Schedule::Adversarial(Random::new(seed))),
            memory: SimulatedMemory::new(free),
            order: Order::default(),
            streams: Handles::default(),
            events: Handles::default(),
            graphs: Handles::default(),
            communicators: Handles::default(),
            active: Vec::new(),
            now: 0.0,
            until: Nanos::INFINITY,
            skipped: Vec::new(),
            carried: Carried::default(),
            executing: None,
            waiting: 0,
            sequence: 0,
        }
    }

    pub(crate) fn create_stream(&mut self, device: usize, priority: i32) -> RawStream {
        let lane = self.order.open();
        RawStream(self.streams.insert(Stream::new(device, priority, lane)))
    }

    pub(crate) fn null_stream(&mut self, device: usize) -> RawStream {
        if let Some(stream) = self.parts[device].null {
            return stream;
        }
        let stream = self.create_stream(device, 0);
        self.parts[device].null = Some(stream);
        stream
    }

    /// Makes the stream and the null stream wait for each other.
    pub(crate) fn block(&mut self, device: usize, stream: RawStream) {
        self.null_stream(device);
        self.parts[device].blocking.push(Blocking { stream, seen: 0, seen_by_null: 0 });
    }

    pub(crate) fn per_thread_stream(&mut self, device: usize, thread: ThreadId) -> RawStream {
        if let Some((_, stream)) = self.parts[device].per_thread.iter().find(|(of, _)| *of == thread) {
            return *stream;
        }
        let stream = self.create_stream(device, 0);
        self.block(device, stream);
        self.parts[device].per_thread.push((thread, stream));
        stream
    }

    /// Adds the implicit waits before work on a stream: the null stream waits for the blocking streams, and a
    /// blocking stream waits for the null stream.
    pub(crate) fn wait_as_legacy(
        &mut self,
        call: &'static str,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let device = self.stream(call, stream)?.device;
        let part = &self.parts[device];
        let Some(null) = part.null.filter(|_| !part.blocking.is_empty()) else { return Ok(()) };
        let enqueued =
            |machine: &Self, of: RawStream| machine.streams.get(of.0).map_or(0, |state| state.enqueued);
        for index in 0..self.parts[device].blocking.len() {
            let Blocking { stream: other, seen, seen_by_null } = self.parts[device].blocking[index];
            let (after, before, known) = match stream {
                _ if stream == null => (null, other, seen_by_null),
                _ if stream == other => (other, null, seen),
                _ => continue,
            };
            let now = enqueued(self, before);
            if now <= known {
                continue;
            }
            let record = self.record_now(call, before, tag, 0.0)?;
            self.wait_for(call, after, &record, tag, 0.0)?;
            // The record that was just made need not be waited for.
            let now = enqueued(self, before);
            let known = &mut self.parts[device].blocking[index];
            if stream == null {
                known.seen_by_null = now;
            } else {
                known.seen = now;
            }
        }
        Ok(())
    }

    pub(crate) fn destroy_stream(&mut self, call: &'static str, stream: RawStream) -> DriverResult<()> {
        let device = self.stream(call, stream)?.device;
        if self.parts[device].null == Some(stream) {
            return Err(fault::invalid_handle(call, "stream"));
        }
        let state = self.stream(call, stream)?;
        state.destroyed = true;
        let (lane, chains) = (state.lane, std::mem::take(&mut state.chains));
        for chain in chains {
            self.destroy_stream(call, chain)?;
        }
        let part = &mut self.parts[device];
        part.blocking.retain(|blocking| blocking.stream != stream);
        part.per_thread.retain(|(_, of_thread)| *of_thread != stream);
        self.order.close(lane);
        self.remove_if_over(stream.0);
        Ok(())
    }

    /// Redirects copies of a page-locked allocation, and returns whether it did. The adversarial order does
    /// not, so that the CPU's part is tested too.
    pub(crate) fn redirect(&mut self, pinned: usize, to: Option<(usize, usize)>) -> bool {
        matches!(self.schedule, Schedule::Timed) && self.memory.redirect(pinned, to)
    }

    /// A stream that the caller may still use.
    pub(crate) fn stream(&mut self, call: &'static str, stream: RawStream) -> DriverResult<&mut Stream> {
        let found = self.streams.get_mut(stream.0).filter(|stream| !stream.destroyed);
        found.ok_or_else(|| fault::invalid_handle(call, "stream"))
    }

    /// The latest record of an event.
    pub(crate) fn latest(&self, call: &'static str, event: RawEvent) -> DriverResult<Option<Arc<Record>>> {
        self.events.get(event.0).cloned().ok_or_else(|| fault::invalid_handle(call, "event"))
    }

    /// Checks everything that [`enqueue_work`](Self::enqueue_work) relies on.
    pub(crate) fn check(
        &mut self,
        call: &'static str,
        stream: RawStream,
        spans: &[Span],
    ) -> DriverResult<()> {
        let device = self.stream(call, stream)?.device;
        spans.iter().try_for_each(|&span| {
            let device = span.device.unwrap_or(device);
            self.parts[device].faults.alive()?;
            self.memory.check(call, device, span)
        })
    }

    /// Enqueues work that [`check`](Self::check) has accepted. Work that races with earlier work will fail
    /// instead of being carried out.
    pub(crate) fn enqueue_work(
        &mut self,
        call: &'static str,
        stream: RawStream,
        tag: Tag,
        spans: &[Span],
        mut work: Work,
    ) -> DriverResult<()> {
        let device = self.stream(call, stream)?.device;
        if let Some(latency) = work.between.and_then(|between| self.shares.latency(between)) {
            work.latency = latency;
        }
        let model = &self.parts[device].model;
        let cost = match &work.action {
            Action::Body(_) => model.launch_call,
            Action::Copy { .. } | Action::Host(_) | Action::Collective(_) => model.host_call,
        };
        // In any case, the streams wait for each other.
        self.wait_as_legacy(call, stream, tag)?;
        let tampered = self.tamper(call, device, tag, &mut work);
        if !matches!(tampered, Ok(true)) {
            self.parts[device].host += cost;
            self.skipped.push(work.action);
            return tampered.map(drop);
        }
        self.enqueue_at(call, stream, tag, spans, work, cost)
    }

    /// The same as [`enqueue_work`](Self::enqueue_work), with `cost` as the host's time.
    pub(crate) fn enqueue_at(
        &mut self,
        call: &'static str,
        stream: RawStream,
        tag: Tag,
        spans: &[Span],
        mut work: Work,
        cost: Nanos,
    ) -> DriverResult<()> {
        self.wait_as_legacy(call, stream, tag)?;
        let lane = self.stream(call, stream)?.lane;
        let accessor = Accessor { moment: self.order.enqueue(lane), tag };
        for &span in spans {
            if let Some(conflict) = self.memory.access(&self.order, span, accessor) {
                let error = fault::race(tag, span.write, conflict.earlier, conflict.earlier_writes);
                work.fault.get_or_insert(error);
            }
        }
        // A callback by hand may enqueue, and may free anything that it knows to be over.
        if matches!(work.action, Action::Host(_)) && tag.is_by_hand() {
            work.before = Some(self.order.record(lane));
        }
        if work.engine == Engine::Compute {
            let device = self.stream(call, stream)?.device;
            work.bytes = work.bytes.max(self.over_the_link(device, spans));
        }
        self.push(call, stream, tag, Step::Work(work), cost)
    }

    /// The bytes of device memory that a kernel could access in the time that its accesses to the host's
    /// memory take.
    fn over_the_link(&self, device: usize, spans: &[Span]) -> f64 {
        let of_host = |span: &&Span| span.place.is_none() && self.memory.is_pinned(span.start);
        let bytes = |write: bool| {
            let spans = spans.iter().filter(of_host).filter(|span| span.write == write);
            spans.map(|span| span.bytes as f64).sum::<f64>()
        };
        let model = &self.parts[device].model;
        model.both_ways(bytes(false), bytes(true)) * model.memory_rate
    }

    pub(crate) fn record(
        &mut self,
        call: &'static str,
        event: RawEvent,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        self.latest(call, event)?;
        let device = self.stream(call, stream)?.device;
        let cost = self.parts[device].model.event_call;
        if !self.begin(call, device, Some(tag), 0)? {
            self.parts[device].host += cost;
            return Ok(());
        }
        if self.parts[device].null != Some(stream) {
            self.wait_as_legacy(call, stream, tag)?;
        }
        let record = self.record_now(call, stream, tag, cost)?;
        let latest = self.events.get_mut(event.0).ok_or_else(|| fault::invalid_handle(call, "event"))?;
        *latest = Some(record);
        Ok(())
    }

    /// A record of everything enqueued on a stream so far.
    pub(crate) fn record_now(
        &mut self,
        call: &'static str,
        stream: RawStream,
        tag: Tag,
        cost: Nanos,
    ) -> DriverResult<Arc<Record>> {
        let Stream { lane, device, .. } = *self.stream(call, stream)?;
        let clock = self.order.record(lane);
        let record = Arc::new(Record { device, stream: stream.0, clock, outcome: Default::default() });
        self.push(call, stream, tag, Step::Record(Arc::clone(&record)), cost)?;
        Ok(record)
    }

    pub(crate) fn wait(
        &mut self,
        call: &'static str,
        stream: RawStream,
        event: RawEvent,
        tag: Tag,
    ) -> DriverResult<()> {
        let device = self.stream(call, stream)?.device;
        let cost = self.parts[device].model.event_call;
        if !self.begin(call, device, Some(tag), 0)? {
            self.parts[device].host += cost;
            return Ok(());
        }
        let Some(record) = self.latest(call, event)? else {
            self.parts[device].host += cost;
            return Ok(());
        };
        self.wait_for(call, stream, &record, tag, cost)
    }

    /// Makes all later work on a stream come after a record.
    pub(crate) fn wait_for(
        &mut self,
        call: &'static str,
        stream: RawStream,
        record: &Arc<Record>,
        tag: Tag,
        cost: Nanos,
    ) -> DriverResult<()> {
        let Stream { lane, device, .. } = *self.stream(call, stream)?;
        self.order.wait(lane, &record.clock);
        // A failure that the host has been told of is over: the stream that failed works again, and so does
        // its event.
        let failure = record.outcome.get().and_then(|outcome| outcome.failure.as_ref());
        if failure.is_some_and(|failure| failure.pending().is_ok()) {
            self.parts[device].host += cost;
            return Ok(());
        }
        self.push(call, stream, tag, Step::Wait(Arc::clone(record)), cost)
    }

    /// Begins a graph's chain anew. Commands that are enqueued on it from now on come after the record, and
    /// so after all earlier commands on the chain, which come before the record.
    pub(crate) fn begin_chain(
        &mut self,
        call: &'static str,
        chain: RawStream,
        record: &Arc<Record>,
        tag: Tag,
    ) -> DriverResult<()> {
        let lane = self.stream(call, chain)?.lane;
        self.order.wait(lane, &record.clock);
        self.push(call, chain, tag, Step::Begin(Arc::clone(record)), 0.0)
    }

    /// Enqueues a command, which takes `cost` of the host's time.
    fn push(
        &mut self,
        call: &'static str,
        stream: RawStream,
        tag: Tag,
        step: Step,
        cost: Nanos,
    ) -> DriverResult<()> {
        self.sequence += 1;
        let sequence = self.sequence;
        let device = self.stream(call, stream)?.device;
        let host = &mut self.parts[device].host;
        *host += cost;
        let command = Command { step, tag, sequence, enqueued_at: *host };
        let stream = self.stream(call, stream)?;
        stream.queue.push_back(command);
        stream.enqueued += 1;
        Ok(())
    }

    /// A number that changes whenever work is carried out.
    pub(crate) fn carried_out(&self) -> u64 {
        self.carried.0
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.streams.iter().all(|(_, stream)| stream.completed == stream.enqueued)
    }

    /// Takes the simulation one step further.
    pub(crate) fn step(&mut self) -> Progress {
        let horizon = match self.schedule {
            Schedule::Timed => self.now,
            Schedule::Adversarial(_) => Nanos::INFINITY,
        };
        if self.settle(horizon) || self.meet(horizon) {
            return Progress::Moved;
        }
        let progress = match self.schedule {
            Schedule::Timed => self.step_timed(),
            Schedule::Adversarial(_) => self.step_adversarial(),
        };
        if let Progress::Run(job) = &progress {
            self.carried.note(job);
        }
        progress
    }

    /// Completes commands that need no engine and may complete up to `horizon`.
    fn settle(&mut self, horizon: Nanos) -> bool {
        let (mut settled, mut over, mut lost) = (false, Vec::new(), None);
        let mut left_out = Vec::new();
        for (handle, stream) in self.streams.iter_mut() {
            let part = &self.parts[stream.device];
            let latency = part.model.event_latency;
            while stream.settle_head(handle, self.now, horizon, latency, &mut self.skipped) {
                settled = true;
                if let Some(Action::Collective(collective)) = self.skipped.last() {
                    left_out.push((stream.device, collective.communicator, collective.text));
                }
            }
            if let Some(failure) = stream.failure.as_ref().filter(|failure| failure.error.lost) {
                lost = lost
                    .or_else(|| part.faults.alive().ok().map(|()| (stream.device, failure.error.clone())));
            }
            if stream.is_over() {
                over.push(handle);
            }
        }
        for stream in over {
            self.streams.remove(stream);
        }
        if let Some((device, error)) = lost {
            self.lose(device, &error);
        }
        for (device, communicator, text) in left_out {
            self.break_for(device, communicator, text);
        }
        settled
    }

    /// Notes that the job of `stream` has been carried out.
    pub(crate) fn finish(&mut self, device: usize, stream: u64, result: DriverResult<()>) {
        let now = self.now;
        if self.is_lost(device) {
            return self.finish_lost(device, stream);
        }
        if let Some(state) = self.streams.get_mut(stream) {
            state.busy = false;
            state.complete(now);
            if let Err(error) = result {
                state.fail(error);
            }
        }
        self.remove_if_over(stream);
    }

    /// Notes that the host's thread of a device has waited until `at` for everything in `clock`.
    pub(crate) fn host_waited(&mut self, device: usize, at: Nanos, clock: &Clock) {
        let host = &mut self.parts[device].host;
        *host = host.max(at);
        self.order.host_waited(clock);
        if self.order.all_quiet() {
            self.memory.forget_accesses();
        }
    }

    /// Takes the failure of a stream, which works again from now on.
    pub(crate) fn take_failure(&mut self, stream: RawStream) -> Option<Box<DriverError>> {
        let failure = self.streams.get_mut(stream.0)?.failure.take()?;
        Some(Failure::report(&failure))
    }

    pub(super) fn remove_if_over(&mut self, stream: u64) {
        if self.streams.get(stream).is_some_and(Stream::is_over) {
            self.streams.remove(stream);
        }
    }
}
