//! [`Model`]: predicts when each operation of a run would begin and end, without a run.
//!
//! The loop that enqueues a run's chunks enqueues into the model. The result is simulated with the device's
//! calibration, by the simulated device's own clockwork, but nothing is copied and no kernel runs.

mod graphs;
mod shared;
pub(crate) mod target;

use crate::backends::sim::forecast::{Demand, Done, Forecast};
use crate::base::engine::Engine;
use crate::base::plan::Plan;
use crate::device::Device;
use crate::driver::{Access, Command, DriverResult, Nanos, RawEvent, RawStream, Tag};
use crate::engine::arguments::in_place::InPlace;
use crate::engine::streams::Streams;
use crate::engine::targets::graph::recorder::Cover;
use crate::engine::targets::measured::MeasuredCost;
use crate::engine::targets::model::graphs::{Graphs, Step};
use crate::engine::targets::what::What;

/// A predicted run.
pub(crate) struct Model {
    forecast: Forecast,
    plan: &'static Plan,
    /// The pipeline's streams, by number.
    streams: Vec<RawStream>,
    /// Their priorities, by the same numbers.
    priorities: Vec<i32>,
    events: Vec<RawEvent>,
    /// The commands enqueued, in order.
    enqueued: Vec<Enqueued>,
    /// For each operation that stages, its slots.
    lanes: Vec<Option<StagingModel>>,
    /// Whether threads copy staged data while the host enqueues; otherwise the host copies them.
    threads: bool,
    /// The host's cost to enqueue a copy, to launch, and to record an event or wait for one.
    costs: [Nanos; 3],
    /// The graphs, in graph mode.
    graphs: Option<Graphs>,
    /// The costs of kernels and functions that a profile has measured, by operation.
    measured: Vec<Option<MeasuredCost>>,
    /// Whether some kernel has no measured cost, so that its bytes had to do.
    by_bytes: bool,
    slots: usize,
}

struct Enqueued {
    work: u64,
    tag: Tag,
    stream: usize,
    what: What,
}

/// The staging slots of an operation.
struct StagingModel {
    /// The threads' copies, in order.
    copies: RawStream,
    slots: Vec<Staged>,
}

struct Staged {
    /// Recorded when the device is done with the slot.
    done: RawEvent,
    /// Recorded when the threads are done with it.
    copied: RawEvent,
    /// Bytes that the host has yet to copy out of it.
    owes: f64,
    /// Whether the device may be using it, in graph mode.
    in_flight: bool,
}

impl Model {
    /// `slots`: the slots of the run. `cover`: the cover of its graphs, if it has graphs.
    pub(crate) fn new(
        device: &Device,
        plan: &'static Plan,
        streams: &Streams,
        slots: usize,
        cover: Option<Cover>,
        measured: &[Option<MeasuredCost>],
    ) -> Self {
        let mut forecast = Forecast::new(device.calibration());
        let mut raw = vec![RawStream(0); streams.all().len()];
        let mut priorities = vec![0; raw.len()];
        for (index, stream) in plan.streams.iter().enumerate() {
            let priority = stream.priority.level(device.driver().info().priorities);
            for slot in 0..if stream.per_slot { streams.slots() } else { 1 } {
                let number = streams.number(index, slot);
                (raw[number], priorities[number]) = (forecast.stream(priority), priority);
            }
        }
        let events = streams.events().iter().map(|_| forecast.event()).collect();
        Self {
            costs: forecast.costs(),
            graphs: cover.map(|cover| Graphs::new(cover, &forecast, slots.max(1))),
            forecast,
            plan,
            streams: raw,
            priorities,
            events,
            enqueued: Vec::new(),
            lanes: plan.operations.iter().map(|_| None).collect(),
            threads: cover.is_none() && device.driver().polls(),
            measured: measured.to_vec(),
            by_bytes: false,
            slots: slots.max(1),
        }
    }

    /// Whether the run is in graph mode.
    pub(crate) fn is_graph(&self) -> bool {
        self.graphs.is_some()
    }

    /// Begins another chunk: launches the graph that ends before it.
    pub(crate) fn begin_chunk(&mut self, chunk: usize) -> DriverResult<()> {
        if self.graphs.as_ref().is_some_and(Graphs::is_full) {
            self.launch()?;
        }
        self.graphs.iter_mut().for_each(|graphs| graphs.begin(chunk));
        Ok(())
    }

    /// In graph mode, launches the recorded steps.
    pub(crate) fn launch(&mut self) -> DriverResult<()> {
        let Some(graphs) = &mut self.graphs else { return Ok(()) };
        let steps = graphs.launch(&mut self.forecast);
        self.enqueue_together(steps)
    }

    /// Enqueues steps that come after everything launched in their lane before.
    fn enqueue_together(&mut self, steps: Vec<Step>) -> DriverResult<()> {
        let Self { forecast, graphs: Some(graphs), enqueued, events, priorities, .. } = self else {
            return Ok(());
        };
        let (mut begun, mut recorded) = (Vec::new(), vec![false; events.len()]);
        let mut last = None;
        for step in steps {
            match step {
                Step::Record { event, stream } => {
                    let tag = crate::device::memory::NO_OPERATION;
                    let raw = graphs.stream(forecast, (stream, priorities[stream]), tag, &mut begun)?;
                    forecast.record(events[event], raw, tag, 0.0)?;
                    recorded[event] = true;
                }
                // The launches order the work of other graphs.
                Step::Wait { event, .. } if !recorded[event] => {}
                Step::Wait { event, stream } => {
                    let tag = crate::device::memory::NO_OPERATION;
                    let raw = graphs.stream(forecast, (stream, priorities[stream]), tag, &mut begun)?;
                    forecast.wait(raw, events[event], tag, 0.0)?;
                }
                Step::Work { stream, tag, what, demand, cost } => {
                    let raw = graphs.stream(forecast, (stream, priorities[stream]), tag, &mut begun)?;
                    let work = forecast.enqueue(raw, tag, demand, cost)?;
                    enqueued.push(Enqueued { work, tag, stream, what });
                    last = Some(tag);
                }
            }
        }
        match last {
            Some(tag) => graphs.launched(forecast, &begun, tag),
            None => Ok(()),
        }
    }

    /// Enqueues a command. `event`: the number of the plan's event that it records or waits for. `in_place`:
    /// the arguments that kernels access where they lie.
    pub(crate) fn enqueue(
        &mut self,
        command: &Command<'_>,
        stream: usize,
        event: Option<usize>,
        tag: Tag,
        in_place: &[InPlace],
    ) -> DriverResult<()> {
        // Commands that only order others have none, and need none.
        let what = What::of(command).unwrap_or(What::new(Engine::Host, 0));
        match command {
            Command::CopyToDevice { .. }
            | Command::CopyToHost { .. }
            | Command::CopyOnDevice { .. }
            | Command::CopyBetween { .. }
            | Command::CopyRows(_) => self.copy(stream, tag, what),
            Command::Fill { .. } => self.kernel(stream, tag, what, [0.0; 2]),
            Command::Launch(launch) => {
                let over_the_link = over_the_link(launch.accesses, in_place);
                self.kernel(stream, tag, what, over_the_link)
            }
            Command::Host { .. } => self.host(stream, tag, what),
            Command::Signal(_) => self.signal(stream, tag),
            // The run's own code predicts them, since only it knows the world.
            Command::Collective(_) => Ok(()),
            Command::Record(_) => event.map_or(Ok(()), |event| self.record(event, stream, tag)),
            Command::Wait(_) => event.map_or(Ok(()), |event| self.wait(stream, event, tag)),
            // A prediction models the graphs itself and never enqueues one.
            Command::Graph { .. } => Ok(()),
        }
    }

    fn record(&mut self, event: usize, stream: usize, tag: Tag) -> DriverResult<()> {
        if let Some(graphs) = &mut self.graphs {
            graphs.push(Step::Record { event, stream });
            return Ok(());
        }
        self.forecast.record(self.events[event], self.streams[stream], tag, self.costs[2])
    }

    fn wait(&mut self, stream: usize, event: usize, tag: Tag) -> DriverResult<()> {
        if let Some(graphs) = &mut self.graphs {
            graphs.push(Step::Wait { event, stream });
            return Ok(());
        }
        self.forecast.wait(self.streams[stream], self.events[event], tag, self.costs[2])
    }

    /// A copy to the device, to the host, or on the device.
    pub(crate) fn copy(&mut self, stream: usize, tag: Tag, what: What) -> DriverResult<()> {
        if what.bytes == 0 {
            return Ok(());
        }
        let in_graph = self.is_graph() && !self.is_direct(tag);
        let demand = self.forecast.copy(what.engine, what.bytes as f64, in_graph);
        self.work(stream, tag, what, demand, self.costs[0])
    }

    /// A launch, or a fill.
    pub(crate) fn kernel(
        &mut self,
        stream: usize,
        tag: Tag,
        what: What,
        over_the_link: [f64; 2],
    ) -> DriverResult<()> {
        let time = self.measured(tag).map(|cost| cost.time(what.bytes));
        let operation = self.plan.operations.get(tag.operation as usize);
        self.by_bytes |= time.is_none() && operation.is_some_and(|operation| operation.kind.is_measured());
        let blocks = Some(what.blocks).filter(|&blocks| blocks > 0);
        let demand = self.forecast.kernel(what.bytes as f64, over_the_link, time, blocks);
        self.work(stream, tag, what, demand, self.costs[1])
    }

    /// Whether some kernel's time was estimated from its bytes.
    pub(crate) fn goes_by_bytes(&self) -> bool {
        self.by_bytes
    }

    /// A function on the CPU.
    pub(crate) fn host(&mut self, stream: usize, tag: Tag, what: What) -> DriverResult<()> {
        let time = self.measured(tag).map(|cost| cost.time(what.bytes));
        let demand = self.forecast.function(what.bytes as f64, time);
        self.work(stream, tag, what, demand, self.costs[0])
    }

    /// What ranks do together, if all of them come at the same time.
    pub(crate) fn collective(
        &mut self,
        stream: usize,
        tag: Tag,
        what: What,
        nanos: Nanos,
    ) -> DriverResult<()> {
        let demand = self.forecast.collective(nanos);
        self.work(stream, tag, what, demand, self.costs[1])
    }

    /// A callback.
    pub(crate) fn signal(&mut self, stream: usize, tag: Tag) -> DriverResult<()> {
        let demand = self.forecast.signal();
        self.work(stream, tag, What::new(Engine::Host, 0), demand, self.costs[0])
    }

    fn is_direct(&self, tag: Tag) -> bool {
        self.plan.operations.get(tag.operation as usize).is_some_and(|operation| operation.kind.is_direct())
    }

    fn measured(&self, tag: Tag) -> Option<MeasuredCost> {
        *self.measured.get(tag.operation as usize)?
    }

    /// `cost`: the host's time to enqueue it. A graph takes that time as a whole, when it is launched.
    fn work(&mut self, stream: usize, tag: Tag, what: What, demand: Demand, cost: Nanos) -> DriverResult<()> {
        if self.is_graph() && self.is_direct(tag) {
            // Work that no graph can hold goes between graphs.
            self.launch()?;
            return self.enqueue_together(vec![Step::Work { stream, tag, what, demand, cost }]);
        }
        if let Some(graphs) = &mut self.graphs {
            graphs.push(Step::Work { stream, tag, what, demand, cost: 0.0 });
            return Ok(());
        }
        let work = self.forecast.enqueue(self.streams[stream], tag, demand, cost)?;
        self.enqueued.push(Enqueued { work, tag, stream, what });
        Ok(())
    }

    /// A copy through the staging slot for this ring slot.
    pub(crate) fn staged(&mut self, stream: usize, tag: Tag, what: What, slot: usize) -> DriverResult<()> {
        let bytes = what.bytes as f64;
        let (raw, [_, _, event_cost]) = (self.streams[stream], self.costs);
        let lane = tag.operation as usize;
        let Staged { done, copied, .. } = *self.slot(lane, slot);
        let reads = what.engine == Engine::ToDevice;
        if !self.threads {
            // The host copies, and is busy with it.
            let in_flight = std::mem::replace(&mut self.slot(lane, slot).in_flight, true);
            match &self.graphs {
                Some(graphs) if in_flight => graphs.settle(&mut self.forecast)?,
                Some(_) => {}
                None => self.forecast.host_waits(done)?,
            }
            let owed = std::mem::replace(&mut self.slot(lane, slot).owes, if reads { 0.0 } else { bytes });
            self.forecast.host_copies(owed + if reads { bytes } else { 0.0 });
            self.copy(stream, tag, what)?;
            return match &self.graphs {
                Some(_) => Ok(()),
                None => self.forecast.record(done, raw, tag, event_cost),
            };
        }
        let copies = self.lane(lane).copies;
        if reads {
            // The threads read ahead as far as the device is done with the slots.
            self.forecast.wait(copies, done, tag, 0.0)?;
            self.forecast.enqueue(copies, tag, self.forecast.staging(bytes), 0.0)?;
            self.forecast.record(copied, copies, tag, 0.0)?;
            self.forecast.wait(raw, copied, tag, 0.0)?;
            self.copy(stream, tag, what)?;
            self.forecast.record(done, raw, tag, event_cost)
        } else {
            self.forecast.wait(raw, copied, tag, 0.0)?;
            self.copy(stream, tag, what)?;
            self.forecast.record(done, raw, tag, event_cost)?;
            self.forecast.wait(copies, done, tag, 0.0)?;
            self.forecast.enqueue(copies, tag, self.forecast.staging(bytes), 0.0)?;
            self.forecast.record(copied, copies, tag, 0.0)
        }
    }

    fn lane(&mut self, operation: usize) -> &mut StagingModel {
        let Self { forecast, lanes, slots, .. } = self;
        lanes[operation].get_or_insert_with(|| {
            let staged =
                |_| Staged { done: forecast.event(), copied: forecast.event(), owes: 0.0, in_flight: false };
            let slots = (0..*slots).map(staged).collect();
            StagingModel { slots, copies: forecast.stream(0) }
        })
    }

    fn slot(&mut self, operation: usize, slot: usize) -> &mut Staged {
        &mut self.lane(operation).slots[slot]
    }

    /// Copies data that the run shares, with nothing else under way. `staged`: in pieces that the host
    /// copies.
    pub(crate) fn share(&mut self, bytes: u64, to_device: bool, staged: bool) {
        let what = What::new(if to_device { Engine::ToDevice } else { Engine::ToHost }, bytes as usize);
        let bytes = bytes as f64;
        let demand = self.forecast.copy(what.engine, bytes, false);
        let Some(&stream) = self.streams.first().filter(|_| what.bytes > 0) else { return };
        if staged {
            self.forecast.host_copies(bytes);
        }
        // This is not an operation of the plan, and not shown. Nothing can go wrong with it.
        let _ = self.forecast.enqueue(stream, crate::device::memory::NO_OPERATION, demand, self.costs[0]);
        self.forecast.drain();
    }

    /// Fills data that the run shares, with nothing else under way.
    pub(crate) fn fill(&mut self, bytes: u64) {
        let Some(&stream) = self.streams.first().filter(|_| bytes > 0) else { return };
        let demand = self.forecast.kernel(bytes as f64, [0.0; 2], None, None);
        // Nothing can go wrong with it, as in `share`.
        let _ = self.forecast.enqueue(stream, crate::device::memory::NO_OPERATION, demand, self.costs[1]);
        self.forecast.drain();
    }

    /// The host's clock, in nanoseconds.
    pub(crate) fn clock(&self) -> Nanos {
        self.forecast.clock()
    }

    /// Predicts the time from the end of enqueuing until everything has arrived.
    pub(crate) fn drain(&mut self) {
        self.forecast.drain();
        let owed = self.lanes.iter().flatten().flat_map(|lane| &lane.slots).map(|slot| slot.owes);
        let owed = owed.sum();
        self.forecast.host_copies(owed);
    }

    /// Each operation with its times, in the order of enqueuing.
    pub(crate) fn finish(mut self) -> Vec<crate::engine::targets::timed::Timed> {
        let mut done = self.forecast.take_done();
        done.sort_by_key(|done| done.work);
        let mut done = done.into_iter().peekable();
        let mut timed = Vec::with_capacity(self.enqueued.len());
        for Enqueued { work, tag, stream, what } in self.enqueued {
            // The others are the threads' copies.
            while done.next_if(|done| done.work < work).is_some() {}
            if let Some(Done { enqueued, start, end, .. }) = done.next_if(|done| done.work == work) {
                timed.push(crate::engine::targets::timed::Timed {
                    what,
                    stream,
                    tag,
                    part: 0,
                    enqueued,
                    start,
                    end,
                    estimated: false,
                });
            }
        }
        timed
    }
}

/// The bytes of accesses to the host's memory: those read, and those written.
fn over_the_link(accesses: &[Access], in_place: &[InPlace]) -> [f64; 2] {
    let of_host = |access: &&Access| in_place.iter().any(|data| data.is_on_host() && data.holds(access));
    let bytes = |write: bool| {
        let of_kind = accesses.iter().filter(|access| access.write == write);
        of_kind.filter(of_host).map(|access| access.bytes as f64).sum()
    };
    [bytes(false), bytes(true)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Result;
    use crate::base::plan::{
        BufferKind, BufferPlan, HostPlan, OperationKind, OperationPlan, Priority, StreamPlan,
    };
    use crate::engine::purpose::Purpose;
    use crate::engine::{Build, ChunkSize, Options, Pipeline, Settings};
    use crate::sim::Simulation;

    static PLAN: Plan = Plan {
        pipeline: "P",
        file: "predict.rs",
        line: 1,
        column: 1,
        streams: &[StreamPlan {
            name: "s",
            priority: Priority::Default,
            per_slot: false,
            null: false,
            placed: false,
        }],
        stages: &["load"],
        hosts: &[HostPlan { name: "x", reads: true, writes: false, halo: false, line: 1, column: 1 }],
        buffers: &[BufferPlan { name: "dx", kind: BufferKind::Ring, line: 1, column: 1 }],
        operations: &[OperationPlan {
            stage: 0,
            stream: 0,
            text: "copy x -> dx",
            kind: OperationKind::Upload { host: 0, buffer: 0 },
            conditional: false,
            repeat: None,
            accesses: &[],
            line: 1,
            column: 1,
        }],
        events: &[],
        waits: &[],
    };

    struct Raw(Pipeline);

    impl Build for Raw {
        fn build(settings: Settings<'_>) -> Result<Self> {
            Pipeline::new(settings, &PLAN, 2).map(Self)
        }
    }

    fn predict(pipeline: &mut Pipeline, fails: bool) -> Result<Box<crate::Timeline>> {
        let x = [1.0_f32; 8];
        let mut call = pipeline.call(Purpose::Predict);
        let (x, dx) = (call.input::<f32>(1, &x)?, call.device::<f32>(1)?);
        call.run(ChunkSize::Items(4), |run| {
            let [stream] = run.streams();
            for c in run.chunks().take(if fails { 1 } else { usize::MAX }) {
                run.on(stream, 0, c).upload(x, dx)?;
            }
            Ok(())
        })
    }

    /// Whether it succeeds or not, a prediction gives back the memory that it took.
    #[test]
    fn what_a_call_takes_is_kept_for_the_next_one() {
        let device = Device::simulated(Simulation::default());
        let Raw(mut pipeline) = Options::<Raw>::new(&device).build().unwrap();
        for fails in [false, true] {
            assert_eq!(predict(&mut pipeline, fails).is_err(), fails);
            let arena = std::mem::take(&mut pipeline.arena);
            assert!(arena.buffers.capacity() > 0 && arena.buffers.is_empty());
        }
    }
}
