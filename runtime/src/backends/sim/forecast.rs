//! [`Forecast`]: the discrete-event simulation alone, of work that is never carried out.

use std::time::Duration;

pub(crate) use super::demand::Demand;
use super::job::Progress;
use super::machine::Machine;
use super::model::{Model, Nanos};
use super::queue::{Action, Work};
use crate::base::engine::Engine;
use crate::base::machine::MachineModel;
use crate::base::model::DeviceModel;
use crate::driver::{DriverResult, RawEvent, RawStream, Tag};

/// The time of some work, in nanoseconds of the forecast's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    /// The number that [`Forecast::enqueue`] returned.
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
        let machine = Machine::new(&MachineModel::from(vec![model.clone()]).into());
        Self { machine, done: Vec::new(), streams: Vec::new() }
    }

    pub(crate) fn stream(&mut self, priority: i32) -> RawStream {
        let stream = self.machine.create_stream(0, priority);
        self.streams.push(stream);
        stream
    }

    pub(crate) fn event(&mut self) -> RawEvent {
        RawEvent(self.machine.events.insert(None))
    }

    /// The demand of a collective that takes this time.
    pub(crate) fn collective(&self, nanos: f64) -> Demand {
        Demand::collective(nanos)
    }

    /// The host's costs of calls: of one that enqueues a copy, one that launches, and one that records an
    /// event or waits for it.
    pub(crate) fn costs(&self) -> [f64; 3] {
        let Model { host_call, launch_call, event_call, .. } = self.machine.parts[0].model;
        [host_call, launch_call, event_call]
    }

    /// The host's costs of launching a graph, and of changing a node of one.
    pub(crate) fn graph_costs(&self) -> [f64; 2] {
        [self.machine.parts[0].model.graph_launch, self.machine.parts[0].model.graph_update]
    }

    /// Enqueues work, which takes `cost` of the host's time. Returns the work's number.
    pub(crate) fn enqueue(
        &mut self,
        stream: RawStream,
        tag: Tag,
        demand: Demand,
        cost: Nanos,
    ) -> DriverResult<u64> {
        // The action is a copy of no bytes, which does nothing.
        let work = Work::new(demand, Action::Copy { to: 0, from: 0, bytes: 0 });
        self.machine.enqueue_at("forecast", stream, tag, &[], work, cost)?;
        Ok(self.machine.sequence)
    }

    /// The demand of a copy of `bytes` bytes that an engine carries out, alone or in a run's graph.
    pub(crate) fn copy(&self, engine: Engine, bytes: f64, in_graph: bool) -> Demand {
        let model = &self.machine.parts[0].model;
        let demand = Demand::copy(model, engine, bytes);
        if in_graph { demand.in_graph(model) } else { demand }
    }

    /// The demand of a kernel or a fill that accesses `bytes` bytes of device memory. `over_the_link` gives
    /// the bytes of the host's memory that it reads and that it writes. `time` is how long it takes alone, if
    /// that is known better. `blocks` is the number of a launch's blocks.
    pub(crate) fn kernel(
        &self,
        bytes: f64,
        over_the_link: [f64; 2],
        time: Option<Duration>,
        blocks: Option<u64>,
    ) -> Demand {
        let model = &self.machine.parts[0].model;
        let demand = Demand::kernel(model, bytes, blocks);
        match time {
            Some(time) => demand.taking(model, time),
            None => demand.over_the_link(model, over_the_link),
        }
    }

    /// The demand of a function on the CPU, from the bytes that it accesses, or from its time if that is
    /// known better.
    pub(crate) fn function(&self, bytes: f64, time: Option<Duration>) -> Demand {
        let demand = Demand::host(&self.machine.parts[0].model, bytes);
        time.map_or(demand, |time| demand.taking(&self.machine.parts[0].model, time))
    }

    /// The demand of a signal to the host.
    pub(crate) fn signal(&self) -> Demand {
        Demand::signal(&self.machine.parts[0].model)
    }

    /// The demand of a copy of `bytes` bytes between pageable and page-locked memory.
    pub(crate) fn staging(&self, bytes: f64) -> Demand {
        Demand::staging(bytes)
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

    /// Makes all later work on the stream come after the event's latest record, if there is one.
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
                self.machine.parts[0].host += cost;
                Ok(())
            }
        }
    }

    /// The host is busy with something else for `time`.
    pub(crate) fn host_works(&mut self, time: Nanos) {
        self.machine.parts[0].host += time;
    }

    /// The host copies `bytes` bytes between pageable and page-locked memory.
    pub(crate) fn host_copies(&mut self, bytes: f64) {
        self.machine.parts[0].host += bytes / self.machine.parts[0].model.host_memcpy;
    }

    /// The host waits for the event's latest record.
    pub(crate) fn host_waits(&mut self, event: RawEvent) -> DriverResult<()> {
        let Some(record) = self.machine.latest("forecast", event)? else { return Ok(()) };
        loop {
            if let Some(outcome) = record.outcome.get() {
                self.machine.parts[0].host = self.machine.parts[0].host.max(outcome.at);
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
        self.machine.parts[0].host =
            ends.fold(self.machine.parts[0].host, |host, stream| host.max(stream.completed_at));
    }

    /// The host's clock, in nanoseconds.
    pub(crate) fn clock(&self) -> Nanos {
        self.machine.parts[0].host
    }

    /// The work that was done, in the order in which it ended.
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
                self.machine.finish(job.device, job.stream, Ok(()));
                true
            }
        }
    }
}
