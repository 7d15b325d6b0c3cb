//! [`Forecast`]: the discrete-event simulation alone, of work that is never carried out.

use std::time::Duration;

use super::machine::{Machine, Progress};
use super::model::{Model, Nanos};
use super::queue::{Action, Engine, Work};
use crate::base::model::DeviceModel;
use crate::driver::{DriverResult, RawEvent, RawStream, Tag};

/// What some work asks of a device.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Demand {
    /// A copy to the device, in bytes.
    ToDevice(f64),
    /// A copy to the host, in bytes.
    ToHost(f64),
    /// A copy on the device, in bytes.
    OnDevice(f64),
    /// A kernel or a fill.
    Kernel {
        /// Of device memory that it gets through.
        bytes: f64,
        /// Of the host's memory that it reads and that it writes.
        over_the_link: [f64; 2],
        /// How long it takes alone, where that is known better.
        time: Option<Duration>,
        /// Of a launch.
        blocks: Option<u64>,
    },
    /// A function on the CPU, in bytes that it gets through, or how long it takes where that is known better.
    Host(f64, Option<Duration>),
    /// A signal to the host.
    Signal,
    /// A copy between pageable and page-locked memory, in bytes.
    Staging(f64),
}

/// When work was done. In nanoseconds of the forecast's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    /// What [`Forecast::enqueue`] gave.
    pub work: u64,
    pub enqueued: f64,
    pub start: f64,
    pub end: f64,
}

/// A simulated device that has time, and nothing else.
pub(crate) struct Forecast {
    machine: Machine,
    done: Vec<Done>,
    streams: Vec<RawStream>,
}

impl Forecast {
    pub(crate) fn new(model: &DeviceModel) -> Self {
        Self { machine: Machine::new(&model.clone().into()), done: Vec::new(), streams: Vec::new() }
    }

    pub(crate) fn stream(&mut self, priority: i32) -> RawStream {
        let stream = self.machine.create_stream(priority);
        self.streams.push(stream);
        stream
    }

    pub(crate) fn event(&mut self) -> RawEvent {
        RawEvent(self.machine.events.insert(None))
    }

    /// What calls cost the host: one that enqueues a copy, one that launches, one that records an event or waits for it.
    pub(crate) fn costs(&self) -> [f64; 3] {
        let Model { host_call, launch_call, event_call, .. } = self.machine.model;
        [host_call, launch_call, event_call]
    }

    /// What it costs the host to launch a graph, and to change a node of one.
    pub(crate) fn graph_costs(&self) -> [f64; 2] {
        [self.machine.model.graph_launch, self.machine.model.graph_update]
    }

    /// Enqueues work, for `cost` of the host's time. What it gives is the work's number.
    pub(crate) fn enqueue(
        &mut self,
        stream: RawStream,
        tag: Tag,
        demand: Demand,
        cost: Nanos,
    ) -> DriverResult<u64> {
        let work = self.work(demand);
        self.machine.enqueue_at("forecast", stream, tag, &[], work, cost)?;
        Ok(self.machine.sequence)
    }

    fn work(&self, demand: Demand) -> Work {
        let model = &self.machine.model;
        // As much as gets through in that time.
        let as_bytes =
            |time: Duration, latency: Nanos, rate: f64| (time.as_secs_f64() * 1e9 - latency).max(0.0) * rate;
        let mut share = 1.0;
        let (engine, latency, bytes) = match demand {
            Demand::ToDevice(bytes) => (Engine::CopyToDevice, model.copy_latency, bytes),
            Demand::ToHost(bytes) => (Engine::CopyToHost, model.copy_latency, bytes),
            // It reads and writes.
            Demand::OnDevice(bytes) => (Engine::Compute, model.copy_latency, 2.0 * bytes),
            Demand::Kernel { bytes, over_the_link: [reads, writes], time, blocks } => {
                let latency = model.launch_latency;
                share = model.share(blocks);
                let link = model.both_ways(reads, writes) * model.memory_rate;
                let bytes =
                    time.map_or(bytes.max(link), |time| as_bytes(time, latency, model.memory_rate * share));
                (Engine::Compute, latency, bytes)
            }
            Demand::Host(bytes, time) => {
                let latency = model.host_latency;
                let bytes = time.map_or(bytes, |time| as_bytes(time, latency, model.host_memcpy));
                (Engine::Host, latency, bytes)
            }
            Demand::Signal => (Engine::Host, model.signal_latency, 0.0),
            Demand::Staging(bytes) => (Engine::Staging, 0.0, bytes),
        };
        // Copying nothing is no work.
        Work {
            engine,
            latency,
            bytes,
            share,
            action: Action::Copy { to: 0, from: 0, bytes: 0 },
            fault: None,
            before: None,
        }
    }

    pub(crate) fn record(
        &mut self,
        event: RawEvent,
        stream: RawStream,
        tag: Tag,
        cost: Nanos,
    ) -> DriverResult<()> {
        let record = self.machine.record_now("forecast", stream, tag, cost)?;
        if let Some(latest) = self.machine.events.get_mut(event.0) {
            *latest = Some(record);
        }
        Ok(())
    }

    /// What is enqueued on the stream from now on comes after the event's latest record, if there is one.
    pub(crate) fn wait(
        &mut self,
        stream: RawStream,
        event: RawEvent,
        tag: Tag,
        cost: Nanos,
    ) -> DriverResult<()> {
        match self.machine.latest("forecast", event)? {
            Some(record) => self.machine.wait_for("forecast", stream, &record, tag, cost),
            None => {
                self.machine.host += cost;
                Ok(())
            }
        }
    }

    /// The host is busy with something else.
    pub(crate) fn host_works(&mut self, time: Nanos) {
        self.machine.host += time;
    }

    /// The host copies so many bytes between pageable and page-locked memory.
    pub(crate) fn host_copies(&mut self, bytes: f64) {
        self.machine.host += bytes / self.machine.model.host_memcpy;
    }

    /// The host waits for the event's latest record.
    pub(crate) fn host_waits(&mut self, event: RawEvent) -> DriverResult<()> {
        let Some(record) = self.machine.latest("forecast", event)? else { return Ok(()) };
        loop {
            if let Some(outcome) = record.outcome.get() {
                self.machine.host = self.machine.host.max(outcome.at);
                return Ok(());
            }
            if !self.step() {
                return Ok(());
            }
        }
    }

    /// The host waits for everything.
    pub(crate) fn drain(&mut self) {
        while self.step() {}
        let ends = self.streams.iter().filter_map(|stream| self.machine.streams.get(stream.0));
        self.machine.host = ends.fold(self.machine.host, |host, stream| host.max(stream.completed_at));
    }

    /// The host's clock, in nanoseconds.
    pub(crate) fn clock(&self) -> Nanos {
        self.machine.host
    }

    /// What was done, in the order in which it ended.
    pub(crate) fn take_done(&mut self) -> Vec<Done> {
        std::mem::take(&mut self.done)
    }

    /// Takes the simulation one step further; `false` if there is nothing left.
    fn step(&mut self) -> bool {
        match self.machine.step() {
            Progress::Moved => true,
            Progress::Stuck => false,
            Progress::Run(job) => {
                let end = self.machine.now;
                let (work, enqueued, start) = (job.sequence, job.enqueued_at, job.started);
                self.done.push(Done { work, enqueued, start, end });
                self.machine.finish(job.stream, Ok(()));
                true
            }
        }
    }
}
