//! [`Run`]: the run into which the generated code enqueues, chunk by chunk.

mod ahead;
pub(crate) mod arrival;
pub(crate) mod chunks;
pub(crate) mod collectives;
pub(crate) mod constant;
mod copies;
mod dealt;
pub(crate) mod enqueue;
pub(crate) mod functions;
pub(crate) mod operands;
pub(crate) mod operation;
mod order;
pub(crate) mod peers;
mod posted;
pub(crate) mod resources;
pub(crate) mod routine;
mod slots;
mod state;
mod symbols;
pub(crate) mod workspace;

use std::cell::RefCell;
use std::fmt;

use crate::base::chunk::Chunk;
use crate::base::error::{Detail, Error, Place, Result};
use crate::base::unwind::contain;
use crate::driver::RawEvent;
use crate::engine::arguments::Arguments;
use crate::engine::chunks::log::ChunkLog;
use crate::engine::explain::explain;
use crate::engine::place::place_of_pipeline;
use crate::engine::run::chunks::{Chunks, Current};
use crate::engine::run::functions::Functions;
use crate::engine::run::operands::Missing;
use crate::engine::run::operation::Operation;
use crate::engine::run::order::Order;
use crate::engine::run::posted::Posted;
use crate::engine::run::resources::{Resources, Taken};
use crate::engine::staging::transfer::Transfer;
use crate::engine::targets::what::Numbered;
use crate::engine::targets::{LaunchFailed, Target};
use crate::observe::watch::RunWatch;

/// One of the plan's streams.
#[derive(Debug, Clone, Copy)]
pub struct StreamKey(pub(crate) usize);

/// One of the plan's events.
#[derive(Debug, Clone, Copy)]
pub struct EventKey(pub(crate) usize);

/// How often, in as many chunks as there are slots, threads are asked to copy: the driver takes a microsecond
/// to say whether a copy is done, which would be too much for every chunk.
const STAGE_OFTEN: usize = 8;

/// A run in progress.
pub struct Run<'r> {
    pub(crate) resources: Resources<'r>,
    pub(crate) taken: &'r Taken,
    pub(crate) arguments: &'r Arguments<'r>,
    pub(crate) chunks: Chunks<'r>,
    pub(crate) order: Order,
    pub(crate) functions: RefCell<Functions>,
    /// The destination of its commands.
    pub(crate) target: Target<'r>,
    /// The observers of the run.
    pub(crate) seen: &'r RunWatch,
    /// The operations whose pageable data are read ahead, and their arguments.
    read_ahead: Vec<(usize, usize)>,
    /// What a chunk without items lacks.
    missing: RefCell<Missing>,
    posted: Posted,
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}

impl<'r> Run<'r> {
    /// `read_ahead`: the operations whose pageable data are read ahead, and their arguments.
    pub(crate) fn new(
        (resources, taken): (Resources<'r>, &'r Taken),
        arguments: &'r Arguments<'r>,
        chunks: Chunks<'r>,
        (target, seen): (Target<'r>, &'r RunWatch),
        read_ahead: Vec<(usize, usize)>,
    ) -> Self {
        let functions = match chunks.streaming {
            Some(streaming) => Functions::noting(&streaming.exchange.failure),
            None => Functions::default(),
        };
        let order = Order::new(resources.plan.operations.len());
        let functions = RefCell::new(functions);
        let missing = RefCell::default();
        let posted = Posted::default();
        Self {
            resources,
            taken,
            arguments,
            chunks,
            order,
            functions,
            target,
            seen,
            read_ahead,
            missing,
            posted,
        }
    }

    /// Copies the data that the whole run shares to the device, before anything else.
    pub(crate) fn share(&self) -> Result<()> {
        let shared = &self.arguments.shared;
        let Some(stream) = self.resources.streams.all().first().filter(|_| !shared.is_empty()) else {
            return Ok(());
        };
        let moved = Transfer { device: self.resources.device, stream, ring: self.resources.ring }
            .begin(shared)
            .map_err(|error| explain(self.resources.plan, error))?;
        let mut totals = self.taken.totals.borrow_mut();
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

    /// Begins the plan's operation `index` of chunk `c`, on a stream.
    #[inline]
    pub fn on<'o>(&'o self, StreamKey(stream): StreamKey, index: usize, c: Chunk) -> Operation<'o> {
        self.order.begin(index, self.chunks.turn(c.index));
        let current = self.chunks.current().chunk;
        // The first chunk of a run that learns its chunks one by one has no items before it begins.
        if c.index != current.index || current.len == 0 && !self.chunks.may_be_empty(c.index) {
            self.begin(c.index);
        }
        let Current { chunk, turn, slot } = self.chunks.current();
        if chunk.len == 0 && !self.chunks.may_be_empty(chunk.index) {
            // A run without items has no such chunk.
            self.order.refuse();
        }
        let own = self.resources.plan.streams[stream].is_per_slot(self.resources.spread);
        let number = self.resources.streams.number(stream, if own { slot } else { 0 });
        let stream = Numbered { raw: self.resources.streams.all()[number].raw, number };
        Operation { run: self, index, chunk, turn, slot, stream }
    }

    /// Ensures that the device has everything, and checks that every operation of every chunk was enqueued,
    /// in order.
    pub(crate) fn finish(&self) -> Result<()> {
        let Resources { plan, streams, .. } = self.resources;
        if let Some(error) = self.order.refusal() {
            return Err(error);
        }
        if !self.order.is_whole(self.chunks.turns()) {
            return Err(Error::new(Detail::Skipped).at(place_of_pipeline(plan)));
        }
        self.launch()?;
        let delivered = self.deliver_all();
        delivered.and_then(|()| self.target.close(streams.all())).map_err(|error| explain(plan, error))
    }

    /// The event object of a ring slot.
    #[inline]
    pub(crate) fn event(&self, EventKey(event): EventKey, slot: usize) -> Numbered<RawEvent> {
        let number = self.resources.streams.event_number(event, slot);
        Numbered { raw: self.resources.streams.events()[number].raw, number }
    }

    /// Begins another chunk: launches the graph that ends before it.
    #[inline(never)]
    fn begin(&self, index: usize) {
        let chunk = self.chunks.begin(index);
        let turn = self.chunks.current().turn;
        // A chunk after the last has no items, and per-chunk data end before it.
        if chunk.len == 0 && !self.chunks.may_be_empty(index) {
            self.order.refuse();
        }
        if self.order.is_kept() {
            // The staged data of the chunks before those in the ring were waited for.
            self.seen.has_done(|| self.chunks.items_before(turn.saturating_sub(self.resources.depth)));
        }
        if turn.is_multiple_of((self.resources.depth / STAGE_OFTEN).max(1)) {
            // This does not wait until the host is idle: the threads that copy would have much to do at once,
            // and then nothing.
            let staged = self.stage_ahead(&mut self.taken.staging.borrow_mut());
            if let Err(error) = staged {
                self.order.refuse_with(explain(self.resources.plan, error));
            }
        }
        if let Err(failed) = self.target.begin(chunk.index, turn, self.order.is_kept()) {
            self.order.refuse_with(self.launch_failed(*failed));
        }
    }

    /// Ensures that the device has everything so far, before a wait or an operation that depends on it.
    pub(crate) fn launch(&self) -> Result<()> {
        self.target.launch().map_err(|failed| self.launch_failed(*failed))
    }

    #[cold]
    fn launch_failed(&self, LaunchFailed { error, chunk }: LaunchFailed) -> Error {
        self.order.refuse();
        let is_its_own = error.tag.is_none() && !error.is_asynchronous();
        let error = explain(self.resources.plan, error);
        if is_its_own { error.at(Place { chunk, ..Place::default() }) } else { error }
    }

    /// The items of the run.
    pub(crate) fn items(&self) -> usize {
        self.chunks.chunking.get().items()
    }

    /// Its functions, the log of its chunks, and its target.
    pub(crate) fn into_parts(self) -> (Functions, ChunkLog, Target<'r>) {
        // Nothing may unwind here, and the last of a library's error may go.
        contain(|| drop(self.order.into_refusal()));
        (self.functions.into_inner(), self.chunks.log.into_inner(), self.target)
    }
}
