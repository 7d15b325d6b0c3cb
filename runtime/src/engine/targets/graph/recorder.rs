//! Graph mode: records a run's operations and launches them as graphs, which are kept for the next run.
//!
//! The [`Recorder`] uses streams and events only as an order: a node comes after the last node of its stream
//! and after everything for which the stream has waited. Between graphs the order is that of their launch
//! streams, which is all that ring slots need; if a chunk receives data from the one before, its stream waits
//! for that. Graphs are kept in [`Graphs`].

use crate::base::error::DriverError;
use crate::base::plan::{BufferKind, Distance, OperationKind, Plan};
use crate::device::Device;
use crate::driver::command::recording::NotInGraph;
use crate::driver::{Command, DriverResult, HostBody, RawLaunch, RawStream, Tag};
use crate::engine::staging::slot::Delivery;
use crate::engine::targets::graph::cached::{Graphs, before, prepared};

/// A graph of a whole run is closed at the end of the chunk in which it gets this many nodes.
pub(crate) const MOST_NODES: usize = 20_000;

/// The first graph of a run is closed sooner, so that the device begins with it while the host records and
/// launches the next one. 4,096 chunks of two copies and a kernel take an H200 20.7 ms in one graph, 20.5 if
/// the first 512 are in a graph of their own, and 22 in 16 graphs.
pub(crate) const FIRST_NODES: usize = 1_536;

/// The operation in a launch's tag, which is not one of the plan's.
const NO_OPERATION: u32 = u32::MAX;

/// The part of a run that a graph covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cover {
    /// The whole run, or as many chunks as fit: graphs are launched one after another on one stream.
    Run,
    /// One chunk: each ring slot has its own stream and graphs, because the CPU waits for the slots one by
    /// one.
    Chunk {
        /// Whether a chunk comes after the one before.
        ordered: bool,
    },
}

impl Cover {
    /// The cover for a run of this plan, with or without staged data.
    pub(crate) fn new(plan: &Plan, staged: bool) -> Self {
        let any =
            |is: fn(&OperationKind) -> bool| plan.operations.iter().any(|operation| is(&operation.kind));
        // Work that no graph can hold goes between graphs; with graphs of whole runs no two chunks would then
        // overlap.
        let direct = any(|kind| kind.is_direct());
        if !staged && !direct {
            return Self::Run;
        }
        // Chunks of one slot are ordered by its stream, and only carried data are shared with the chunk
        // before. The plan may leave that order to streams, but a graph's launch stream is another one.
        let carries = plan.buffers.iter().any(|buffer| buffer.kind == BufferKind::Carry);
        let waits = plan.waits.iter().any(|wait| wait.distance == Distance::Previous);
        // Callbacks come in the order of the chunks.
        let callbacks = any(|kind| matches!(kind, OperationKind::Then));
        // So do the collectives of all ranks.
        let collectives = any(|kind| matches!(kind, OperationKind::Collective { .. }));
        Self::Chunk { ordered: carries || waits || callbacks || collectives }
    }
}

/// The effects of a launch that its run has to note, and takes from here.
#[derive(Debug, Default)]
pub(crate) struct Launched {
    /// The operations of the downloads in the launch.
    pub(crate) downloads: Vec<usize>,
    /// The operation and ring slot of each staging slot that the launch uses, and the delivery from it.
    pub(crate) staged: Vec<(usize, usize, Option<Delivery>)>,
}

/// Records operations and launches them as graphs.
pub(crate) struct Recorder {
    device: Device,
    /// Whether the device runs host bodies.
    on_host: bool,
    cover: Cover,
    depth: usize,
    graphs: Box<Graphs>,
    /// The bodies of the launches, on a device on the host.
    bodies: Vec<HostBody>,
    launched: Launched,
    /// The chunk of the commands recorded last.
    chunk: usize,
    /// The chunk's lane.
    lane: usize,
    /// The number of graphs that the run, or the chunk, has launched.
    position: usize,
    /// Whether the chunk was ordered after the one before.
    placed: bool,
    /// The lane of the last launch. A chunk may leave everything out.
    last: Option<usize>,
}

impl Recorder {
    pub(crate) fn new(device: &Device, mut graphs: Box<Graphs>, cover: Cover, depth: usize) -> Self {
        graphs.done = None;
        Self {
            device: device.clone(),
            on_host: device.is_on_host(),
            cover,
            depth,
            graphs,
            bodies: Vec::new(),
            launched: Launched::default(),
            chunk: 0,
            lane: 0,
            position: 0,
            placed: false,
            last: None,
        }
    }

    pub(crate) fn into_graphs(mut self) -> Box<Graphs> {
        self.graphs.launched = self.position;
        self.graphs
    }

    /// The chunk to which an error of a launch belongs, if the graph covers one chunk.
    pub(crate) fn failing_chunk(&self) -> Option<u64> {
        (self.cover != Cover::Run).then_some(self.chunk as u64)
    }

    /// Whether the recorded commands must be launched before any of another chunk.
    pub(crate) fn is_full(&self) -> bool {
        match self.cover {
            Cover::Run => {
                let most = if self.position == 0 { FIRST_NODES } else { MOST_NODES };
                self.graphs.recorded.len() >= most
            }
            Cover::Chunk { .. } => true,
        }
    }

    /// Begins another chunk, the device's `turn`-th.
    pub(crate) fn begin(&mut self, chunk: usize, turn: usize) {
        self.chunk = chunk;
        if self.cover != Cover::Run {
            let Graphs { lanes, recorded, .. } = &mut *self.graphs;
            if recorded.len() > 0 {
                // In a refused run, commands may be left that are unrelated to those launched at this
                // position.
                recorded.differ(before(lanes, self.lane, self.position));
            }
            self.lane = turn % self.depth;
            self.position = 0;
            self.placed = false;
        }
    }

    /// Notes that a download was recorded.
    pub(crate) fn download(&mut self, operation: usize) {
        self.launched.downloads.push(operation);
    }

    /// Notes that a copy from or to a staging slot was recorded.
    pub(crate) fn staged(&mut self, operation: usize, slot: usize, delivery: Option<Delivery>) {
        self.launched.staged.push((operation, slot, delivery));
    }

    /// Waits until the device is done with everything launched for a ring slot.
    pub(crate) fn settle(&mut self, slot: usize) -> DriverResult<()> {
        match self.graphs.lanes.get_mut(slot) {
            Some(lane) if lane.in_flight => {
                lane.done.synchronize()?;
                lane.in_flight = false;
                self.graphs.drop_retired(slot);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether the device is done with everything launched for a ring slot.
    pub(crate) fn try_settle(&mut self, slot: usize) -> DriverResult<bool> {
        match self.graphs.lanes.get_mut(slot) {
            Some(lane) if lane.in_flight => {
                let is_settled = lane.done.is_complete()?;
                lane.in_flight = !is_settled;
                if is_settled {
                    self.graphs.drop_retired(slot);
                }
                Ok(is_settled)
            }
            _ => Ok(true),
        }
    }

    /// Records a command of one of the plan's streams. `event`: the number of the plan's event that it
    /// records or waits for.
    ///
    /// # Errors
    /// No graph can contain the command.
    ///
    /// # Safety
    /// Those of [`Recording::push`](crate::driver::command::recording::Recording::push).
    #[inline]
    pub(crate) unsafe fn enqueue(
        &mut self,
        command: &Command<'_>,
        stream: usize,
        event: Option<usize>,
        tag: Tag,
    ) -> DriverResult<()> {
        // Chunks that differ in their number alone are launched by the same graph as it is: a GPU does not need the
        // number.
        let needs_chunk = self.on_host || self.cover == Cover::Run;
        let tag = Tag { chunk: if needs_chunk { tag.chunk } else { 0 }, ..tag };
        let Graphs { lanes, recorded, .. } = &mut *self.graphs;
        let before = before(lanes, self.lane, self.position);
        if let (Command::Record(_), Some(event)) = (command, event) {
            recorded.record(event, stream);
            return Ok(());
        }
        if let (Command::Wait(_), Some(event)) = (command, event) {
            recorded.wait(stream, event);
            return Ok(());
        }
        let pushed = if let (&Command::Launch(launch), false) = (command, self.on_host) {
            // A GPU does not need its kernels' accesses.
            let launch = RawLaunch { accesses: &[], ..*launch };
            // SAFETY: the caller's promise.
            unsafe { recorded.push(stream, tag, &Command::Launch(&launch), before) }
        } else {
            if let Command::Launch(launch) = command {
                self.bodies.extend(launch.body());
            }
            // SAFETY: the caller's promise.
            unsafe { recorded.push(stream, tag, command, before) }
        };
        pushed.map_err(|NotInGraph| not_in_graph(command))
    }

    /// Launches the commands recorded since the last launch.
    ///
    /// # Safety
    /// All memory that it uses stays allocated until its lane's stream has been waited for, and the host's
    /// untouched.
    pub(crate) unsafe fn launch(&mut self) -> DriverResult<&mut Launched> {
        if self.graphs.recorded.len() > 0 {
            // SAFETY: the caller's promise.
            let result = unsafe { self.launch_nodes() };
            // Whether it succeeded or not, later commands belong to another graph, after this one in its
            // stream's order.
            self.graphs.recorded.clear();
            self.bodies.clear();
            if let Err(error) = result {
                self.launched = Launched::default();
                return Err(error);
            }
        }
        Ok(&mut self.launched)
    }

    /// # Safety
    /// Those of [`launch`](Self::launch).
    unsafe fn launch_nodes(&mut self) -> DriverResult<()> {
        self.place()?;
        let Self { device, cover, graphs, bodies, position, .. } = self;
        let driver = device.driver();
        let tag = Tag { pipeline: 0, operation: NO_OPERATION, chunk: self.chunk as u64 };
        let Graphs { lanes, retired, recorded, .. } = &mut **graphs;
        let number = self.lane;
        let mut retire = |graph| retired.push((number, graph));
        let lane = &mut lanes[number];
        let stream = lane.stream.raw;
        // The graph is taken out of its position until it is launched: after a failure it is not used again.
        let kept = lane.kept.get_mut(*position).and_then(Option::take);
        // SAFETY: the handles are of this run, and the graph that is launched below does what was recorded.
        let kept = unsafe { prepared(device, kept, recorded, &mut retire)? };
        let bodies = std::mem::take(bodies);
        // SAFETY: the graph was built from, or updated to, exactly these nodes; the rest is the caller's
        // promise. Under way or not, the graph outlives the run: it is stored whatever the result.
        let result = unsafe {
            let launch = Command::Graph { graph: &kept.graph.raw, nodes: &kept.nodes, bodies };
            driver.enqueue(launch, stream, tag)
        };
        if result.is_err() {
            retire(kept.graph);
            return result;
        }
        while lane.kept.len() <= *position {
            lane.kept.push(None);
        }
        lane.kept[*position] = Some(kept);
        *position += 1;
        let covers_run = *cover == Cover::Run;
        if covers_run { Ok(()) } else { self.mark() }
    }

    /// The stream on which the chunk's graphs are launched.
    pub(crate) fn stream(&self) -> RawStream {
        self.graphs.lanes[self.lane].stream.raw
    }

    /// Orders the chunk after the one before, if the plan requires that order.
    pub(crate) fn place(&mut self) -> DriverResult<()> {
        let lane = self.lane;
        if let Cover::Chunk { ordered: true } = self.cover
            && !self.placed
            && let Some(before) = self.last
            && before != lane
        {
            let tag = Tag { pipeline: 0, operation: NO_OPERATION, chunk: self.chunk as u64 };
            let (stream, event) = (self.stream(), self.graphs.lanes[before].done.raw);
            // SAFETY: the stream and the event live as long as their lanes.
            unsafe { self.device.driver().wait(event, stream, tag)? };
        }
        self.placed = true;
        Ok(())
    }

    /// Records that everything of the chunk so far was enqueued.
    fn mark(&mut self) -> DriverResult<()> {
        let tag = Tag { pipeline: 0, operation: NO_OPERATION, chunk: self.chunk as u64 };
        let lane = self.lane;
        self.last = Some(lane);
        let lane = &mut self.graphs.lanes[lane];
        lane.in_flight = true;
        // SAFETY: the stream and the event live as long as the lane.
        unsafe { self.device.driver().record(lane.done.raw, lane.stream.raw, tag) }
    }

    /// Enqueues work that no graph can hold, after the launched graphs.
    ///
    /// # Safety
    /// Those of [`launch`](Self::launch).
    pub(crate) unsafe fn direct(
        &mut self,
        enqueue: impl FnOnce(RawStream) -> DriverResult<()>,
    ) -> DriverResult<()> {
        self.place()?;
        enqueue(self.stream())?;
        self.mark()
    }
}

/// The error for a command that no graph can contain.
#[cold]
fn not_in_graph(command: &Command<'_>) -> Box<DriverError> {
    let description = "a graph cannot have it";
    DriverError::new(command.call(), 801, "CUDA_ERROR_NOT_SUPPORTED", description)
}
