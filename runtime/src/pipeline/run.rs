//! [`Run`]: what the generated code enqueues chunk by chunk.

use std::cell::{Cell, RefCell};
use std::sync::Mutex;

use super::functions::Functions;
use super::graph::Recorder;
use super::in_place::InPlace;
use super::kept::Graphs;
use super::queue::Queue;
use super::ring::Ring;
use super::shape::{BufferShape, Shape};
use super::shared::{Shared, Transfer};
use super::staging::{Delivery, Slot, Staging};
use super::state::States;
use super::symbols::Symbols;
use super::{Operation, Pipeline, explain, place_of_pipeline};
use crate::device::Device;
use crate::driver::{DriverResult, RawStream};
use crate::error::{Complete, DriverError, Error, ErrorKind, Place, Result};
use crate::memory::HostSource;
use crate::plan::{OperationKind, Plan};
use crate::stream::{Event, Stream};

/// One chunk: what `c` is in `chunk c = auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// From 0.
    pub index: usize,
    /// The first of its items.
    pub start: usize,
    /// Its items.
    pub len: usize,
}

/// One of the plan's streams.
#[derive(Debug, Clone, Copy)]
pub struct StreamKey(pub(super) usize);

/// One of the plan's events.
#[derive(Debug, Clone, Copy)]
pub struct EventKey(pub(super) usize);

/// A run in progress.
pub struct Run<'r> {
    pub(super) device: &'r Device,
    pub(super) plan: &'static Plan,
    pub(super) depth: usize,
    pub(super) ring: &'r Ring,
    pub(super) hosts: &'r [HostSource<'r>],
    pub(super) host_shapes: &'r [Shape],
    pub(super) buffers: &'r [BufferShape],
    pub(super) in_place: &'r [InPlace<'r>],
    pub(super) functions: RefCell<Functions>,
    pub(super) staging: &'r RefCell<Staging>,
    pub(super) symbols: &'r RefCell<Symbols>,
    pub(super) totals: RefCell<Totals>,
    pub(super) states: &'r Mutex<States>,
    stream_start: &'r [usize],
    streams: &'r [Stream],
    events: &'r [Event],
    items: usize,
    chunk: usize,
    /// How many operations, over all chunks, have been begun.
    begun: Cell<usize>,
    /// Whether they came in the plan's order, none left out.
    in_order: Cell<bool>,
    /// In graph mode.
    recorder: Option<RefCell<Recorder>>,
    /// Why nothing more is enqueued, if that is to be reported by the next operation.
    refused: RefCell<Option<Error>>,
}

/// What a run has done so far.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) to_device: u64,
    pub(super) to_host: u64,
    pub(super) staged: u64,
    /// For each operation, if it is a download, the chunks it has enqueued.
    pub(super) enqueued: Vec<usize>,
    /// For each operation, if it is a download, the chunks that are known to have arrived.
    pub(super) arrived: Vec<usize>,
}

impl<'r> Run<'r> {
    pub(super) fn new(
        pipeline: &'r Pipeline,
        (staging, symbols): (&'r RefCell<Staging>, &'r RefCell<Symbols>),
        hosts: &'r [HostSource<'r>],
        host_shapes: &'r [Shape],
        buffers: (&'r [BufferShape], &'r [InPlace<'r>]),
        [items, chunk]: [usize; 2],
        recorder: Option<Recorder>,
    ) -> Self {
        let Pipeline { device, plan, depth, stream_start, streams, events, ring, states, .. } = pipeline;
        let operations = plan.operations.len();
        Self {
            device,
            plan,
            depth: *depth,
            ring,
            hosts,
            host_shapes,
            buffers: buffers.0,
            in_place: buffers.1,
            functions: RefCell::default(),
            staging,
            symbols,
            totals: RefCell::new(Totals {
                enqueued: vec![0; operations],
                arrived: vec![0; operations],
                ..Totals::default()
            }),
            states,
            stream_start,
            streams,
            events,
            items,
            chunk,
            begun: Cell::new(0),
            in_order: Cell::new(true),
            recorder: recorder.map(RefCell::new),
            refused: RefCell::new(None),
        }
    }

    /// Copies what the whole run shares to the device, before anything else.
    pub(super) fn share(&self, shared: &[Shared<'_>]) -> Result<()> {
        let Some(stream) = self.streams.first().filter(|_| !shared.is_empty()) else { return Ok(()) };
        let moved = Transfer { device: self.device, stream, ring: self.ring }
            .begin(shared)
            .map_err(|error| explain(self.plan, error))?;
        let mut totals = self.totals.borrow_mut();
        totals.to_device += moved.bytes;
        totals.staged += moved.staged;
        Ok(())
    }

    /// The plan's streams, in order.
    pub fn streams<const N: usize>(&self) -> [StreamKey; N] {
        std::array::from_fn(StreamKey)
    }

    /// The plan's events, in order.
    pub fn events<const N: usize>(&self) -> [EventKey; N] {
        std::array::from_fn(EventKey)
    }

    /// The chunks, in order.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk> + use<> {
        let (items, chunk) = (self.items, self.chunk);
        (0..items.div_ceil(chunk)).map(move |index| Self::chunk_at(items, chunk, index))
    }

    fn chunk_at(items: usize, chunk: usize, index: usize) -> Chunk {
        let start = index.saturating_mul(chunk).min(items);
        Chunk { index, start, len: chunk.min(items - start) }
    }

    /// Begins the plan's operation `index` of chunk `c`, on a stream.
    #[inline]
    pub fn on<'o>(&'o self, StreamKey(stream): StreamKey, index: usize, c: Chunk) -> Operation<'o> {
        // Cut anew, so that a chunk of another run cannot reach beyond this one's arguments.
        let c = Self::chunk_at(self.items, self.chunk, c.index);
        let begun = self.begun.get();
        let expected = c.index * self.plan.operations.len() + index;
        // A chunk after the last has no items, and what there is for each chunk ends before it.
        self.in_order.set(self.in_order.get() && begun == expected && c.len > 0);
        self.begun.set(begun + 1);
        self.begin(c.index);
        let slot = c.index % self.depth;
        let offset = if self.plan.streams[stream].per_slot { slot } else { 0 };
        let raw = self.streams[self.stream_start[stream] + offset].raw;
        Operation { run: self, index, chunk: c, slot, stream: raw }
    }

    /// Whether everything so far was enqueued as the plan has it.
    pub(super) fn in_order(&self) -> bool {
        self.in_order.get()
    }

    /// Lets nothing more be enqueued: the run has left its plan.
    pub(super) fn refuse(&self) {
        self.in_order.set(false);
    }

    /// Whether every operation of every chunk was enqueued, in order.
    pub(super) fn finish(&self) -> Result<()> {
        if let Some(error) = self.refused() {
            return Err(error);
        }
        let all = self.items.div_ceil(self.chunk) * self.plan.operations.len();
        if self.in_order.get() && self.begun.get() == all {
            self.launch_graph()
        } else {
            Err(Error::new(ErrorKind::Skipped).at(place_of_pipeline(self.plan)))
        }
    }

    /// The event object of a ring slot.
    pub(super) fn event(&self, EventKey(event): EventKey, slot: usize) -> &'r Event {
        &self.events[event * self.depth + slot]
    }

    /// Where operations go.
    pub(super) fn queue(&self) -> Queue<'_> {
        match &self.recorder {
            None => Queue::Streams(self.device.driver()),
            Some(recorder) => Queue::Graph(recorder),
        }
    }

    /// An operation of a chunk follows: launches what a graph ends before.
    fn begin(&self, chunk: usize) {
        let Some(recorder) = &self.recorder else { return };
        let ends = self.in_order() && recorder.borrow().ends_before(chunk);
        if ends && let Err(error) = self.launch_graph() {
            self.refuse_with(error);
        }
        recorder.borrow_mut().begin(chunk);
    }

    /// In graph mode, launches what was recorded.
    pub(super) fn launch_graph(&self) -> Result<()> {
        let Some(recorder) = &self.recorder else { return Ok(()) };
        let mut recorder = recorder.borrow_mut();
        let chunk = recorder.failing_chunk();
        // SAFETY: what was recorded uses the ring, the staging slots and the pinned arguments: the run holds them until
        // it has drained, and poisons them if it cannot.
        let launched = unsafe { recorder.launch() }.map_err(|error| self.launch_failed(error, chunk))?;
        let mut totals = self.totals.borrow_mut();
        launched.downloads.into_iter().for_each(|operation| totals.enqueued[operation] += 1);
        let mut staging = self.staging.borrow_mut();
        for (operation, slot, delivery) in launched.staged {
            if let Some(slot) = staging.slot(operation, slot) {
                slot.launched(delivery);
            }
        }
        Ok(())
    }

    #[cold]
    fn launch_failed(&self, error: DriverError, chunk: Option<u64>) -> Error {
        self.refuse();
        let is_its_own = error.tag.is_none() && !error.is_asynchronous();
        let error = explain(self.plan, error);
        if is_its_own { error.at(Place { chunk, ..Place::default() }) } else { error }
    }

    /// A download was enqueued.
    pub(super) fn downloaded(&self, operation: usize) {
        match &self.recorder {
            None => self.totals.borrow_mut().enqueued[operation] += 1,
            Some(recorder) => recorder.borrow_mut().download(operation),
        }
    }

    /// In graph mode, notes that a staging slot is in use once the graph is launched.
    pub(super) fn stages_later(&self, operation: usize, slot: usize, delivery: Option<Delivery>) -> bool {
        let Some(recorder) = &self.recorder else { return false };
        recorder.borrow_mut().staged(operation, slot, delivery);
        true
    }

    /// Waits until the device is done with an operation's staging slot, the one for this ring slot, and delivers what is
    /// pending in it; whether there was anything.
    pub(super) fn settle(&self, staging: &mut Slot, slot: usize) -> DriverResult<bool> {
        let Some(recorder) = &self.recorder else { return staging.settle(self.device) };
        recorder.borrow_mut().settle(slot)?;
        // SAFETY: a delivery is pending only if the graph with the copy was launched, by this run, and everything
        // launched for the ring slot has completed.
        Ok(unsafe { staging.deliver(self.device) })
    }

    /// Lets nothing more be enqueued, and has the next operation say why: whoever learns it now may keep it to itself.
    pub(super) fn refuse_with(&self, error: Error) {
        self.refuse();
        *self.refused.borrow_mut() = Some(error);
    }

    /// Why nothing more may be enqueued, where no operation has reported it yet.
    pub(super) fn refused(&self) -> Option<Error> {
        self.refused.borrow_mut().take()
    }

    /// The items of the run.
    pub(super) fn items(&self) -> usize {
        self.items
    }

    /// The stream of what no graph can hold: an operation's own, or in graph mode that of the graphs.
    pub(super) fn direct_stream(&self, stream: RawStream) -> RawStream {
        self.recorder.as_ref().map_or(stream, |recorder| recorder.borrow().stream())
    }

    /// In graph mode, makes the stream of what no graph can hold wait for the chunk before, if the plan has that order.
    pub(super) fn place(&self) -> DriverResult<()> {
        self.recorder.as_ref().map_or(Ok(()), |recorder| recorder.borrow_mut().place())
    }

    /// Enqueues what no graph can hold. In graph mode everything before it was launched.
    pub(super) fn direct(
        &self,
        stream: RawStream,
        enqueue: impl FnOnce(RawStream) -> DriverResult<()>,
    ) -> DriverResult<()> {
        match &self.recorder {
            None => enqueue(stream),
            // SAFETY: as in `launch_graph`.
            Some(recorder) => unsafe { recorder.borrow_mut().direct(enqueue) },
        }
    }

    /// What the run has done, its functions, and its graphs.
    pub(super) fn into_parts(self) -> (Totals, Functions, Option<Graphs>) {
        let graphs = self.recorder.map(|recorder| recorder.into_inner().into_graphs());
        (self.totals.into_inner(), self.functions.into_inner(), graphs)
    }
}

impl Totals {
    /// Everything enqueued has arrived.
    pub(super) fn all_arrived(&mut self) {
        self.arrived.clone_from(&self.enqueued);
    }

    /// How far each output got.
    ///
    /// `lacking`: the first chunk that lacks what a function was to do.
    pub(super) fn complete(&self, plan: &Plan, lacking: usize, chunk: usize, items: usize) -> Vec<Complete> {
        let outputs = plan.hosts.iter().enumerate().filter(|(_, host)| host.writes);
        outputs
            .map(|(index, host)| {
                // An output that several operations write is complete as far as the slowest of them; what chunks may
                // leave out says nothing of how far it got.
                let arrived = |operation: usize| {
                    if plan.operations[operation].conditional { 0 } else { self.arrived[operation] }
                };
                let downloads = plan.operations.iter().enumerate().filter(|(_, operation)| {
                    matches!(operation.kind, OperationKind::Download { host, .. } if host == index)
                });
                let chunks =
                    downloads.map(|(operation, _)| arrived(operation)).min().unwrap_or(0).min(lacking);
                Complete { host: host.name, chunks: chunks as u64, items: (chunks * chunk).min(items) }
            })
            .collect()
    }
}
