//! [`Run`]: what the generated code enqueues chunk by chunk.

use std::cell::{Cell, RefCell};
use std::sync::Mutex;

use super::arrival::Waited;
use super::awaited::Wait;
use super::course::Course;
use super::cut::Cut;
use super::functions::Functions;
use super::graph::Recorder;
use super::in_place::InPlace;
use super::predict::Model;
use super::profile::Profiler;
use super::queue::{Numbered, Queue};
use super::repeat::Given;
use super::ring::Ring;
use super::shape::{BufferShape, Shape};
use super::shared::{Shared, Transfer};
use super::slot::Delivery;
use super::staging::Staging;
use super::state::States;
use super::streamed::Streaming;
use super::streams::Streams;
use super::symbols::Symbols;
use super::totals::Totals;
use super::{Operation, Pipeline, explain, place_of_pipeline};
use crate::base::chunk::Chunk;
use crate::base::error::{DriverError, Error, ErrorKind, Place, Result};
use crate::base::plan::Plan;
use crate::device::Device;
use crate::device::stream::Event;
use crate::driver::{DriverResult, RawEvent, RawStream};
use crate::engine::arguments::{HostMemory, HostSource};
use crate::job::Cancels;
use crate::observe::watch::RunWatch;

/// One of the plan's streams.
#[derive(Debug, Clone, Copy)]
pub struct StreamKey(pub(super) usize);

/// One of the plan's events.
#[derive(Debug, Clone, Copy)]
pub struct EventKey(pub(super) usize);

/// How often, in as many chunks as there are slots, threads are given to copy what can be: the driver takes a microsecond to say
/// whether a copy is done, which for every chunk would be too much.
const STAGE_OFTEN: usize = 8;

/// A run in progress.
pub struct Run<'r> {
    pub(super) device: &'r Device,
    pub(super) plan: &'static Plan,
    /// The plan's.
    pub(super) id: u32,
    pub(super) depth: usize,
    pub(super) ring: &'r Ring,
    pub(super) hosts: &'r [HostSource<'r>],
    pub(super) host_shapes: &'r [Shape],
    pub(super) buffers: &'r [BufferShape],
    pub(super) in_place: &'r [InPlace],
    pub(super) functions: RefCell<Functions>,
    pub(super) staging: &'r RefCell<Staging>,
    pub(super) symbols: &'r RefCell<Symbols>,
    pub(super) totals: RefCell<Totals>,
    pub(super) states: &'r Mutex<States>,
    streams: &'r Streams,
    /// As far as it is known: a run that ends where its sources do learns it chunk by chunk.
    pub(super) cut: Cell<Cut>,
    /// Of such a run.
    pub(super) course: RefCell<Course>,
    /// If there are sources or sinks.
    pub(super) streaming: Option<Streaming<'r>>,
    /// The items that sources must have, and the argument that says so.
    pub(super) wanted: (usize, &'static str),
    /// Whether the sources have ended.
    pub(super) ended: Cell<bool>,
    /// Whether the host waits for the slots that a source is to fill next.
    pub(super) settles: Cell<bool>,
    /// Whether a function has failed, so that nothing more is begun.
    pub(super) stopped: Cell<bool>,
    /// Who may ask it to end.
    pub(super) cancels: Cancels,
    /// The chunk of the operation that was begun last, or the first one.
    current: Cell<Current>,
    /// How many operations, over all chunks, have been begun.
    begun: Cell<usize>,
    /// Whether they came in the plan's order, none left out.
    in_order: Cell<bool>,
    /// In graph mode.
    recorder: Option<&'r RefCell<Recorder>>,
    watch: Watch<'r>,
    /// By whoever looks on.
    pub(super) seen: &'r RunWatch,
    /// The operations whose pageable data are read ahead, and their arguments.
    read_ahead: &'r [(usize, usize)],
    /// Whether stages whose streams a run chooses have one for each slot.
    spread: bool,
    /// Whether the host asks the device how far it is, in place of waiting.
    pub(super) polls: bool,
    /// Whether something was asked that may be answered otherwise the next time.
    pub(super) asked: Cell<bool>,
    /// Why nothing more is enqueued, if that is to be reported by the next operation.
    refused: RefCell<Option<Error>>,
}

/// What else becomes of a run's operations.
#[derive(Clone, Copy)]
pub(super) enum Watch<'r> {
    /// Nothing.
    None,
    /// They are timed.
    Profile(&'r Profiler),
    /// They are not carried out: it is worked out how long they would take.
    Predict(&'r RefCell<Model>),
}

/// A chunk as its operations need it.
#[derive(Clone, Copy)]
struct Current {
    chunk: Chunk,
    /// Its ring slot.
    slot: usize,
}

impl<'r> Run<'r> {
    pub(super) fn new(
        pipeline: &'r Pipeline,
        (staging, symbols): (&'r RefCell<Staging>, &'r RefCell<Symbols>),
        given: &Given<'r>,
        recorder: Option<&'r RefCell<Recorder>>,
        (watch, seen): (Watch<'r>, &'r RunWatch),
        read_ahead: &'r [(usize, usize)],
        (streaming, wanted): (Option<Streaming<'r>>, (usize, &'static str)),
    ) -> Self {
        let &Given { cut, hosts, host_shapes, buffers, in_place, .. } = given;
        let Pipeline { device, plan, id, depth, ring, states, streams, .. } = pipeline;
        // A graph has an order in place of streams, and more freedom costs more to launch. A profile of graphs is one of streams.
        let graphs = match watch {
            Watch::Predict(model) => model.borrow().is_graph(),
            Watch::None | Watch::Profile(_) => recorder.is_some(),
        };
        let functions = match streaming {
            Some(streaming) => Functions::noting(&streaming.exchange.failure),
            None => Functions::default(),
        };
        let endless = streaming.is_some_and(|streaming| streaming.endless);
        // Nobody asks for what is further behind than there are slots, before and behind the device.
        let course = Course::new(cut.largest(), 2 * depth + 2);
        let cut = if endless { course.cut() } else { cut };
        Self {
            device,
            plan,
            id: *id,
            depth: *depth,
            spread: pipeline.spreads() && !graphs,
            ring,
            hosts,
            host_shapes,
            buffers,
            in_place,
            functions: RefCell::new(functions),
            staging,
            symbols,
            totals: RefCell::default(),
            states,
            streams,
            cut: Cell::new(cut),
            course: RefCell::new(course),
            streaming,
            wanted,
            ended: Cell::new(false),
            settles: Cell::new(false),
            stopped: Cell::new(false),
            cancels: Cancels::of_this_thread(),
            current: Cell::new(Current { chunk: cut.at(0), slot: 0 }),
            begun: Cell::new(0),
            in_order: Cell::new(true),
            polls: recorder.is_none() && device.driver().polls(),
            recorder,
            watch,
            seen,
            read_ahead,
            asked: Cell::new(false),
            refused: RefCell::new(None),
        }
    }

    /// Copies what the whole run shares to the device, before anything else.
    pub(super) fn share(&self, shared: &[Shared<'_>]) -> Result<()> {
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
        let begun = self.begun.get();
        if begun != c.index * self.plan.operations.len() + index {
            self.refuse();
        }
        self.begun.set(begun + 1);
        let current = self.current.get().chunk;
        // The first one of a run that learns its chunks has no items before it begins.
        if c.index != current.index || current.len == 0 {
            self.begin(c.index);
        }
        let Current { chunk, slot } = self.current.get();
        if chunk.len == 0 {
            // There is none in a run of nothing.
            self.refuse();
        }
        let own = self.plan.streams[stream].is_per_slot(self.spread);
        let number = self.streams.number(stream, if own { slot } else { 0 });
        let stream = Numbered { raw: self.streams.all()[number].raw, number };
        Operation { run: self, index, chunk, slot, stream }
    }

    /// Whether it ends where its sources do.
    fn is_endless(&self) -> bool {
        self.streaming.is_some_and(|streaming| streaming.endless)
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
        let all = self.cut.get().chunks() * self.plan.operations.len();
        // What was stopped is at the end of a chunk, and has its error.
        let is_whole = self.begun.get() == all || self.stopped.get();
        if self.in_order.get() && is_whole {
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
    pub(super) fn close_profile(&self) -> Result<()> {
        let Some(profiler) = self.profiler() else { return Ok(()) };
        profiler.close_all(self.streams.all()).map_err(|error| explain(self.plan, error))
    }

    /// The event object of a ring slot.
    #[inline]
    pub(super) fn event(&self, EventKey(event): EventKey, slot: usize) -> Numbered<RawEvent> {
        let number = self.streams.event_number(event, slot);
        Numbered { raw: self.streams.events()[number].raw, number }
    }

    /// Where operations go.
    pub(super) fn queue(&self) -> Queue<'_> {
        match (self.recorder, self.watch) {
            (_, Watch::Predict(model)) => Queue::Model(model, self.in_place),
            (Some(recorder), _) => Queue::Graph(recorder),
            (None, Watch::Profile(profiler)) => Queue::Timed(self.device.driver(), profiler),
            (None, Watch::None) => Queue::Streams(self.device.driver()),
        }
    }

    /// What is worked out in place of a run.
    pub(super) fn model(&self) -> Option<&'r RefCell<Model>> {
        match self.watch {
            Watch::Predict(model) => Some(model),
            Watch::None | Watch::Profile(_) => None,
        }
    }

    /// What times it.
    pub(super) fn profiler(&self) -> Option<&'r Profiler> {
        match self.watch {
            Watch::Profile(profiler) => Some(profiler),
            Watch::None | Watch::Predict(_) => None,
        }
    }

    /// An operation of another chunk follows, this one: launches what a graph ends before.
    #[inline(never)]
    fn begin(&self, index: usize) {
        // Cut anew, so that a chunk of another run cannot reach beyond this one's arguments.
        let chunk = if self.is_endless() { self.course.borrow().at(index) } else { self.cut.get().at(index) };
        self.current.set(Current { chunk, slot: index % self.depth });
        // A chunk after the last has no items, and what there is for each chunk ends before it.
        if chunk.len == 0 {
            self.refuse();
        }
        if self.in_order() {
            // What is staged of the chunks before those in the ring was waited for.
            let done = index.saturating_sub(self.depth);
            self.seen.has_done(|| match self.is_endless() {
                true => self.course.borrow().start(done),
                false => self.cut.get().start(done),
            });
        }
        if index.is_multiple_of((self.depth / STAGE_OFTEN).max(1)) {
            // Not only when there is nothing else to do: threads that copy would have much to do at once, and then nothing.
            let staged = self.stage_ahead(&mut self.staging.borrow_mut());
            if let Err(error) = staged {
                self.refuse_with(explain(self.plan, error));
            }
        }
        if let Some(profiler) = self.profiler() {
            profiler.begin(index);
        }
        if let Some(model) = self.model() {
            let begun = model.borrow_mut().begin_chunk(index);
            if let Err(error) = begun {
                self.refuse_with(explain(self.plan, error));
            }
        }
        let Some(recorder) = self.recorder else { return };
        let ends = self.in_order() && recorder.borrow().is_full();
        if ends && let Err(error) = self.launch_graph() {
            self.refuse_with(error);
        }
        recorder.borrow_mut().begin(index);
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
        self.refuse();
        let is_its_own = error.tag.is_none() && !error.is_asynchronous();
        let error = explain(self.plan, error);
        if is_its_own { error.at(Place { chunk, ..Place::default() }) } else { error }
    }

    /// A download was enqueued.
    pub(super) fn downloaded(&self, operation: usize) {
        match &self.recorder {
            _ if self.model().is_some() => {}
            None => self.totals.borrow_mut().downloaded(operation),
            Some(recorder) => recorder.borrow_mut().download(operation),
        }
    }

    /// In graph mode, notes that a staging slot is in use once the graph is launched.
    pub(super) fn stages_later(&self, operation: usize, slot: usize, delivery: Option<Delivery>) -> bool {
        let Some(recorder) = &self.recorder else { return false };
        recorder.borrow_mut().staged(operation, slot, delivery);
        true
    }

    /// Waits until the device is done with an operation's staging slot, the one for this ring slot, and what was pending in
    /// it has been delivered.
    pub(super) fn settle(&self, staging: &mut Staging, operation: usize, slot: usize) -> DriverResult<()> {
        let mut waited = Waited::default();
        let mut wait = self.streaming.map(|streaming| Wait::new(streaming.exchange, self.plan));
        loop {
            let version = self.streaming.map(|streaming| streaming.exchange.version());
            if staging.note(operation, slot, self.device) {
                break;
            }
            let Some(pinned) = staging.slot(operation, slot).filter(|pinned| pinned.is_in_flight()) else {
                match (&self.streaming, version) {
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
    pub(super) fn wait_for_slot(&self, slot: usize, done: &Event) -> DriverResult<()> {
        match &self.recorder {
            Some(recorder) => recorder.borrow_mut().settle(slot),
            None => done.synchronize(),
        }
    }

    /// Gives what has come from the device to whom it is for; whether there is nothing left to come.
    pub(super) fn deliver_ready(&self, staging: &mut Staging) -> DriverResult<bool> {
        staging.deliver_due(|slot, done| match &self.recorder {
            Some(recorder) => recorder.borrow_mut().is_settled(slot),
            None => done.is_complete(),
        })
    }

    /// Whether operations are recorded, to be launched as graphs.
    pub(super) fn is_recorded(&self) -> bool {
        self.recorder.is_some()
    }

    /// The operation that was begun last.
    pub(super) fn begun_operation(&self) -> usize {
        self.begun.get().saturating_sub(1) % self.plan.operations.len().max(1)
    }

    /// The chunk of the operation that was begun last.
    pub(super) fn begun_chunk(&self) -> usize {
        self.current.get().chunk.index
    }

    /// The host has to wait: sees to what can be copied meanwhile.
    pub(super) fn attend(&self, staging: &mut Staging) -> DriverResult<()> {
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
        let cut = self.cut.get();
        for (operation, host) in self.read_ahead {
            let shape = self.host_shapes[*host];
            let HostMemory::Pageable(data) = &self.hosts[*host].memory else { continue };
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

    /// Lets nothing more be enqueued, and has the next operation say why: whoever learns it now may keep it to itself.
    pub(super) fn refuse_with(&self, error: Error) {
        self.refuse();
        self.refused.borrow_mut().get_or_insert(error);
    }

    /// Why nothing more may be enqueued, where no operation has reported it yet.
    pub(super) fn refused(&self) -> Option<Error> {
        self.refused.borrow_mut().take()
    }

    /// The items of the run.
    pub(super) fn items(&self) -> usize {
        self.cut.get().items()
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

    /// What the run has done, its functions, and how it went if it has found that out.
    pub(super) fn into_parts(self) -> (Totals, Functions, Course) {
        (self.totals.into_inner(), self.functions.into_inner(), self.course.into_inner())
    }
}
