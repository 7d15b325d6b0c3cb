//! [`Run`]: what the generated code enqueues chunk by chunk.

pub(crate) mod arrival;
pub(crate) mod chunks;
mod copies;
pub(crate) mod enqueue;
pub(crate) mod functions;
pub(crate) mod operation;
mod order;
pub(crate) mod routine;
mod state;
mod symbols;

use std::cell::RefCell;
use std::sync::Mutex;

use crate::base::chunk::Chunk;
use crate::base::error::{DriverError, Error, ErrorKind, Place, Result};
use crate::base::plan::Plan;
use crate::device::Device;
use crate::device::stream::Event;
use crate::driver::{DriverResult, RawEvent, RawStream};
use crate::engine::arguments::{Arguments, HostArgument, HostMemory};
use crate::engine::chunks::log::Course;
use crate::engine::explain::explain;
use crate::engine::feeds::awaited::Wait;
use crate::engine::place::place_of_pipeline;
use crate::engine::run::arrival::Waited;
use crate::engine::run::chunks::{Chunks, Current};
use crate::engine::run::functions::Functions;
use crate::engine::run::operation::Operation;
use crate::engine::run::order::Order;
use crate::engine::staging::Staging;
use crate::engine::staging::ring::Ring;
use crate::engine::staging::slot::Delivery;
use crate::engine::staging::transfer::Transfer;
use crate::engine::state::States;
use crate::engine::streams::Streams;
use crate::engine::symbols::Symbols;
use crate::engine::targets::graph::recorder::Recorder;
use crate::engine::targets::model::Model;
use crate::engine::targets::queue::Queue;
use crate::engine::targets::timed::Profiler;
use crate::engine::targets::what::Numbered;
use crate::engine::totals::Totals;
use crate::observe::watch::RunWatch;

/// One of the plan's streams.
#[derive(Debug, Clone, Copy)]
pub struct StreamKey(pub(crate) usize);

/// One of the plan's events.
#[derive(Debug, Clone, Copy)]
pub struct EventKey(pub(crate) usize);

/// How often, in as many chunks as there are slots, threads are given to copy what can be: the driver takes a microsecond to say
/// whether a copy is done, which for every chunk would be too much.
const STAGE_OFTEN: usize = 8;

/// A run in progress.
pub struct Run<'r> {
    pub(crate) device: &'r Device,
    pub(crate) plan: &'static Plan,
    /// The plan's.
    pub(crate) id: u32,
    pub(crate) depth: usize,
    pub(crate) ring: &'r Ring,
    pub(crate) arguments: &'r Arguments<'r>,
    pub(crate) functions: RefCell<Functions>,
    pub(crate) staging: &'r RefCell<Staging>,
    pub(crate) symbols: &'r RefCell<Symbols>,
    pub(crate) totals: RefCell<Totals>,
    pub(crate) states: &'r Mutex<States>,
    streams: &'r Streams,
    pub(crate) chunks: Chunks<'r>,
    pub(crate) order: Order,
    /// In graph mode.
    recorder: Option<&'r RefCell<Recorder>>,
    watch: Watch<'r>,
    /// By whoever looks on.
    pub(crate) seen: &'r RunWatch,
    /// The operations whose pageable data are read ahead, and their arguments.
    read_ahead: &'r [(usize, usize)],
    /// Whether stages whose streams a run chooses have one for each slot.
    spread: bool,
    /// Whether the host asks the device how far it is, in place of waiting.
    pub(crate) polls: bool,
}

/// What a run uses of its pipeline.
pub(crate) struct Resources<'r> {
    pub(crate) device: &'r Device,
    pub(crate) plan: &'static Plan,
    /// The plan's.
    pub(crate) id: u32,
    pub(crate) depth: usize,
    pub(crate) ring: &'r Ring,
    pub(crate) states: &'r Mutex<States>,
    pub(crate) streams: &'r Streams,
    /// Whether stages whose streams a run chooses may have one for each slot.
    pub(crate) spread: bool,
}

/// What else becomes of a run's operations.
#[derive(Clone, Copy)]
pub(crate) enum Watch<'r> {
    /// Nothing.
    None,
    /// They are timed.
    Profile(&'r Profiler),
    /// They are not carried out: it is worked out how long they would take.
    Predict(&'r RefCell<Model>),
}

impl<'r> Run<'r> {
    pub(crate) fn new(
        resources: Resources<'r>,
        (staging, symbols): (&'r RefCell<Staging>, &'r RefCell<Symbols>),
        arguments: &'r Arguments<'r>,
        chunks: Chunks<'r>,
        recorder: Option<&'r RefCell<Recorder>>,
        (watch, seen): (Watch<'r>, &'r RunWatch),
        read_ahead: &'r [(usize, usize)],
    ) -> Self {
        let Resources { device, plan, id, depth, ring, states, streams, spread } = resources;
        // A graph has an order in place of streams, and more freedom costs more to launch. A profile of graphs is one of streams.
        let graphs = match watch {
            Watch::Predict(model) => model.borrow().is_graph(),
            Watch::None | Watch::Profile(_) => recorder.is_some(),
        };
        let functions = match chunks.streaming {
            Some(streaming) => Functions::noting(&streaming.exchange.failure),
            None => Functions::default(),
        };
        Self {
            device,
            plan,
            id,
            depth,
            spread: spread && !graphs,
            ring,
            arguments,
            functions: RefCell::new(functions),
            staging,
            symbols,
            totals: RefCell::default(),
            states,
            streams,
            chunks,
            order: Order::new(plan.operations.len()),
            polls: recorder.is_none() && device.driver().polls(),
            recorder,
            watch,
            seen,
            read_ahead,
        }
    }

    /// Copies what the whole run shares to the device, before anything else.
    pub(crate) fn share(&self) -> Result<()> {
        let shared = &self.arguments.shared;
        let Some(stream) = self.streams.all().first().filter(|_| !shared.is_empty()) else { return Ok(()) };
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

    /// Begins the plan's operation `index` of chunk `c`, on a stream.
    #[inline]
    pub fn on<'o>(&'o self, StreamKey(stream): StreamKey, index: usize, c: Chunk) -> Operation<'o> {
        self.order.begin(index, c.index);
        let current = self.chunks.current().chunk;
        // The first one of a run that learns its chunks has no items before it begins.
        if c.index != current.index || current.len == 0 {
            self.begin(c.index);
        }
        let Current { chunk, slot } = self.chunks.current();
        if chunk.len == 0 {
            // There is none in a run of nothing.
            self.order.refuse();
        }
        let own = self.plan.streams[stream].is_per_slot(self.spread);
        let number = self.streams.number(stream, if own { slot } else { 0 });
        let stream = Numbered { raw: self.streams.all()[number].raw, number };
        Operation { run: self, index, chunk, slot, stream }
    }

    /// Whether every operation of every chunk was enqueued, in order.
    pub(crate) fn finish(&self) -> Result<()> {
        if let Some(error) = self.order.take_refusal() {
            return Err(error);
        }
        if self.order.is_whole(self.chunks.cut.get().chunks()) {
            if let Some(model) = self.model() {
                return model.borrow_mut().launch().map_err(|error| explain(self.plan, error));
            }
            self.launch_graph()?;
            self.deliver_all().map_err(|error| explain(self.plan, error))
        } else {
            Err(Error::new(ErrorKind::Skipped).at(place_of_pipeline(self.plan)))
        }
    }

    /// Everything is enqueued: has what times it know when the last operations end.
    pub(crate) fn close_profile(&self) -> Result<()> {
        let Some(profiler) = self.profiler() else { return Ok(()) };
        profiler.close_all(self.streams.all()).map_err(|error| explain(self.plan, error))
    }

    /// The event object of a ring slot.
    #[inline]
    pub(crate) fn event(&self, EventKey(event): EventKey, slot: usize) -> Numbered<RawEvent> {
        let number = self.streams.event_number(event, slot);
        Numbered { raw: self.streams.events()[number].raw, number }
    }

    /// Where operations go.
    pub(crate) fn queue(&self) -> Queue<'_> {
        match (self.recorder, self.watch) {
            (_, Watch::Predict(model)) => Queue::Model(model, &self.arguments.in_place),
            (Some(recorder), _) => Queue::Graph(recorder),
            (None, Watch::Profile(profiler)) => Queue::Timed(self.device.driver(), profiler),
            (None, Watch::None) => Queue::Streams(self.device.driver()),
        }
    }

    /// What is worked out in place of a run.
    pub(crate) fn model(&self) -> Option<&'r RefCell<Model>> {
        match self.watch {
            Watch::Predict(model) => Some(model),
            Watch::None | Watch::Profile(_) => None,
        }
    }

    /// What times it.
    pub(crate) fn profiler(&self) -> Option<&'r Profiler> {
        match self.watch {
            Watch::Profile(profiler) => Some(profiler),
            Watch::None | Watch::Predict(_) => None,
        }
    }

    /// An operation of another chunk follows, this one: launches what a graph ends before.
    #[inline(never)]
    fn begin(&self, index: usize) {
        let chunk = self.chunks.begin(index);
        // A chunk after the last has no items, and what there is for each chunk ends before it.
        if chunk.len == 0 {
            self.order.refuse();
        }
        if self.order.is_kept() {
            // What is staged of the chunks before those in the ring was waited for.
            self.seen.has_done(|| self.chunks.start(index.saturating_sub(self.depth)));
        }
        if index.is_multiple_of((self.depth / STAGE_OFTEN).max(1)) {
            // Not only when there is nothing else to do: threads that copy would have much to do at once, and then nothing.
            let staged = self.stage_ahead(&mut self.staging.borrow_mut());
            if let Err(error) = staged {
                self.order.refuse_with(explain(self.plan, error));
            }
        }
        if let Some(profiler) = self.profiler() {
            profiler.begin(index);
        }
        if let Some(model) = self.model() {
            let begun = model.borrow_mut().begin_chunk(index);
            if let Err(error) = begun {
                self.order.refuse_with(explain(self.plan, error));
            }
        }
        let Some(recorder) = self.recorder else { return };
        let ends = self.order.is_kept() && recorder.borrow().is_full();
        if ends && let Err(error) = self.launch_graph() {
            self.order.refuse_with(error);
        }
        recorder.borrow_mut().begin(index);
    }

    /// In graph mode, launches what was recorded.
    pub(crate) fn launch_graph(&self) -> Result<()> {
        let Some(recorder) = &self.recorder else { return Ok(()) };
        let mut recorder = recorder.borrow_mut();
        let chunk = recorder.failing_chunk();
        // SAFETY: what was recorded uses the ring, the staging slots and the pinned arguments: the run holds them until
        // it has drained, and poisons them if it cannot.
        let launched = unsafe { recorder.launch() }.map_err(|error| self.launch_failed(error, chunk))?;
        let mut totals = self.totals.borrow_mut();
        launched.downloads.drain(..).for_each(|operation| totals.downloaded(operation));
        let mut staging = self.staging.borrow_mut();
        for (operation, slot, delivery) in launched.staged.drain(..) {
            if let Some(slot) = staging.slot(operation, slot) {
                slot.enqueued(delivery);
            }
            if let Some(delivery) = delivery {
                staging.is_due(operation, slot, delivery.chunk);
            }
        }
        Ok(())
    }

    #[cold]
    fn launch_failed(&self, error: DriverError, chunk: Option<u64>) -> Error {
        self.order.refuse();
        let is_its_own = error.tag.is_none() && !error.is_asynchronous();
        let error = explain(self.plan, error);
        if is_its_own { error.at(Place { chunk, ..Place::default() }) } else { error }
    }

    /// A download was enqueued.
    pub(crate) fn downloaded(&self, operation: usize) {
        match &self.recorder {
            _ if self.model().is_some() => {}
            None => self.totals.borrow_mut().downloaded(operation),
            Some(recorder) => recorder.borrow_mut().download(operation),
        }
    }

    /// In graph mode, notes that a staging slot is in use once the graph is launched.
    pub(crate) fn stages_later(&self, operation: usize, slot: usize, delivery: Option<Delivery>) -> bool {
        let Some(recorder) = &self.recorder else { return false };
        recorder.borrow_mut().staged(operation, slot, delivery);
        true
    }

    /// Waits until the device is done with an operation's staging slot, the one for this ring slot, and what was pending in
    /// it has been delivered.
    pub(crate) fn settle(&self, staging: &mut Staging, operation: usize, slot: usize) -> DriverResult<()> {
        let mut waited = Waited::default();
        let mut wait = self.chunks.streaming.map(|streaming| Wait::new(streaming.exchange, self.plan));
        loop {
            let version = self.chunks.streaming.map(|streaming| streaming.exchange.version());
            if staging.note(operation, slot, self.device) {
                break;
            }
            let Some(pinned) = staging.slot(operation, slot).filter(|pinned| pinned.is_in_flight()) else {
                match (&self.chunks.streaming, version) {
                    (Some(streaming), Some(version)) => {
                        staging.help();
                        if let Some(wait) = &mut wait {
                            wait.goes_on(|_, end| end.operations.contains(&operation));
                        }
                        self.wait_for_threads(staging, streaming.exchange, version, &mut waited)?;
                    }
                    _ => self.attend(staging)?,
                }
                continue;
            };
            let complete = match &self.recorder {
                Some(recorder) => recorder.borrow_mut().settle(slot).map(|()| true)?,
                None if self.polls => pinned.done().is_complete()?,
                None => pinned.done().synchronize().map(|()| true)?,
            };
            if complete {
                // SAFETY: the event was recorded after the device's last copy from or to the slot, and it has completed;
                // or the graph with the copy was launched for the ring slot, and everything launched for that has.
                // `execute` waits for the copies however the run ends, and `reset` drops the deliveries of runs before.
                unsafe { pinned.deliver() };
            } else {
                self.attend(staging)?;
            }
        }
        Ok(())
    }

    /// Waits until the device is done with a staging slot: what is enqueued from or to it was marked by `done`, or is in a graph.
    pub(crate) fn wait_for_slot(&self, slot: usize, done: &Event) -> DriverResult<()> {
        match &self.recorder {
            Some(recorder) => recorder.borrow_mut().settle(slot),
            None => done.synchronize(),
        }
    }

    /// Gives what has come from the device to whom it is for; whether there is nothing left to come.
    pub(crate) fn deliver_ready(&self, staging: &mut Staging) -> DriverResult<bool> {
        staging.deliver_due(|slot, done| match &self.recorder {
            Some(recorder) => recorder.borrow_mut().is_settled(slot),
            None => done.is_complete(),
        })
    }

    /// Whether operations are recorded, to be launched as graphs.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorder.is_some()
    }

    /// The host has to wait: sees to what can be copied meanwhile.
    pub(crate) fn attend(&self, staging: &mut Staging) -> DriverResult<()> {
        self.stage_ahead(staging)?;
        staging.help_or_pause();
        Ok(())
    }

    /// Has everything copied, in and out, that can be.
    fn stage_ahead(&self, staging: &mut Staging) -> DriverResult<()> {
        if !self.polls {
            return Ok(());
        }
        staging.deliver_due(|_, done| done.is_complete())?;
        self.read_meanwhile(staging)?;
        let cut = self.chunks.cut.get();
        for (operation, host) in self.read_ahead {
            let HostArgument { source, shape } = &self.arguments.hosts[*host];
            let HostMemory::Pageable(data) = &source.memory else { continue };
            while let Some((next, slot)) = staging.ahead(*operation)? {
                if next >= cut.chunks() {
                    break;
                }
                let (start, bytes) = shape.range(cut.at(next));
                if slot.bytes() < bytes {
                    break;
                }
                // SAFETY: the chunk's items are within the argument, which the run has borrowed and no operation before
                // this one in the chunk delivers to; `execute` waits for the copy however the run ends. The slot has
                // room, and the device is done with it.
                unsafe { slot.fill(next, data.add(start), bytes) };
                staging.has_read(*operation, next + 1);
            }
        }
        Ok(())
    }

    /// Everything is enqueued: has what comes from the device copied out as it comes.
    fn deliver_all(&self) -> DriverResult<()> {
        if !self.polls {
            return Ok(());
        }
        let mut staging = self.staging.borrow_mut();
        while !staging.deliver_due(|_, done| done.is_complete())? {
            staging.copy_or_pause();
        }
        Ok(())
    }

    /// The items of the run.
    pub(crate) fn items(&self) -> usize {
        self.chunks.cut.get().items()
    }

    /// The stream of what no graph can hold: an operation's own, or in graph mode that of the graphs.
    pub(crate) fn direct_stream(&self, stream: RawStream) -> RawStream {
        self.recorder.as_ref().map_or(stream, |recorder| recorder.borrow().stream())
    }

    /// In graph mode, makes the stream of what no graph can hold wait for the chunk before, if the plan has that order.
    pub(crate) fn place(&self) -> DriverResult<()> {
        self.recorder.as_ref().map_or(Ok(()), |recorder| recorder.borrow_mut().place())
    }

    /// Enqueues what no graph can hold. In graph mode everything before it was launched.
    pub(crate) fn direct(
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

    /// What the run has done, its functions, and how it went if it has found that out.
    pub(crate) fn into_parts(self) -> (Totals, Functions, Course) {
        (self.totals.into_inner(), self.functions.into_inner(), self.chunks.log.into_inner())
    }
}
