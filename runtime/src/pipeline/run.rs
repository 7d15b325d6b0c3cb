//! [`Run`]: what the generated code enqueues chunk by chunk.

use std::cell::{Cell, RefCell};

use super::ring::Ring;
use super::shape::{BufferShape, Shape};
use super::shared::{Shared, Transfer};
use super::staging::Staging;
use super::{Operation, Pipeline, explain, place_of_pipeline};
use crate::device::Device;
use crate::error::{Complete, Error, ErrorKind, Result};
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
    pub(super) staging: &'r RefCell<Staging>,
    pub(super) totals: RefCell<Totals>,
    stream_start: &'r [usize],
    streams: &'r [Stream],
    events: &'r [Event],
    items: usize,
    chunk: usize,
    /// How many operations, over all chunks, have been begun.
    begun: Cell<usize>,
    /// Whether they came in the plan's order, none left out.
    in_order: Cell<bool>,
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
        staging: &'r RefCell<Staging>,
        hosts: &'r [HostSource<'r>],
        host_shapes: &'r [Shape],
        buffers: &'r [BufferShape],
        items: usize,
        chunk: usize,
    ) -> Self {
        let Pipeline { device, plan, depth, stream_start, streams, events, ring, .. } = pipeline;
        let operations = plan.operations.len();
        Self {
            device,
            plan,
            depth: *depth,
            ring,
            hosts,
            host_shapes,
            buffers,
            staging,
            totals: RefCell::new(Totals {
                enqueued: vec![0; operations],
                arrived: vec![0; operations],
                ..Totals::default()
            }),
            stream_start,
            streams,
            events,
            items,
            chunk,
            begun: Cell::new(0),
            in_order: Cell::new(true),
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
        self.in_order.set(self.in_order.get() && begun == expected);
        self.begun.set(begun + 1);
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
        let all = self.items.div_ceil(self.chunk) * self.plan.operations.len();
        if self.in_order.get() && self.begun.get() == all {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::Skipped).at(place_of_pipeline(self.plan)))
        }
    }

    /// The event object of a ring slot.
    pub(super) fn event(&self, EventKey(event): EventKey, slot: usize) -> &'r Event {
        &self.events[event * self.depth + slot]
    }

    pub(super) fn into_totals(self) -> Totals {
        self.totals.into_inner()
    }
}

impl Totals {
    /// Everything enqueued has arrived.
    pub(super) fn all_arrived(&mut self) {
        self.arrived.clone_from(&self.enqueued);
    }

    /// How far each output got.
    pub(super) fn complete(&self, plan: &Plan, chunk: usize, items: usize) -> Vec<Complete> {
        let outputs = plan.hosts.iter().enumerate().filter(|(_, host)| host.writes);
        outputs
            .map(|(index, host)| {
                // An output that several operations write is complete as far as the slowest of them.
                let downloads = plan.operations.iter().enumerate().filter(|(_, operation)| {
                    matches!(operation.kind, OperationKind::Download { host, .. } if host == index)
                });
                let chunks = downloads.map(|(operation, _)| self.arrived[operation]).min().unwrap_or(0);
                Complete { host: host.name, chunks: chunks as u64, items: (chunks * chunk).min(items) }
            })
            .collect()
    }
}
