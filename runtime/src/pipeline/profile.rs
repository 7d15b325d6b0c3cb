//! [`Profiler`]: when each operation of a run began and ended, by events.
//!
//! The operations are enqueued on the streams that they have anyway, with the events and waits that they have anyway. An event
//! that tells the time costs the engine a microsecond or two, though, that it is recorded on, and the engines that copy have none
//! to spare. So when a copy ends is noted elsewhere: by the kernel's stream that waits for it, once it has, or by an observer, a
//! stream of which nothing else is asked than to wait for copies and to note when they are done. Kernels note it themselves.
//! Streams without copies have none, and several share one where there are many.
//! When an operation began needs no event: it is when the last of what it had to wait for was done. Events, not
//! too many, and observers are kept from run to run.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::time::Duration;

use super::observed::{Observed, is_mapped, way};
use super::queue::{Numbered, What};
use crate::device::Device;
use crate::driver::{DriverResult, Nanos, RawEvent, RawStream, Tag};
use crate::memory::NO_OPERATION;
use crate::plan::{Distance, OperationKind, Plan, Priority, WaitPlan};
use crate::sim::Spec;
use crate::stream::{Event, Stream};
use crate::timeline::Engine;

/// Events that are made before a run begins, at most. More of them are made on the way, unless some are free again.
const MOST: usize = 1 << 16;

/// Events that are kept for the next profile, at most.
const KEPT: usize = 1 << 12;

/// After something else a shared observer needs so long to see what is there already.
const SEEN: Nanos = 10e3;

/// What is closer together than this may be the same moment.
const SOON: Nanos = 3e3;

/// What times runs, when it is not in use.
#[derive(Debug, Default)]
pub(super) struct Clockwork {
    /// Events with timing.
    events: Vec<Event>,
    /// They note when events of other streams come.
    observers: Vec<Stream>,
    /// Recorded on a stream that is observed, where the plan has no event.
    mark: Option<Event>,
}

/// Times what a run enqueues.
pub(super) struct Profiler {
    device: Device,
    /// Recorded before everything else, when the device had nothing to do.
    base: Event,
    /// When that was by the host's clock, since the run began.
    base_at: Nanos,
    began: Duration,
    observers: Vec<Stream>,
    observed: Observed,
    mark: Event,
    /// Whether kernels work on the host's memory, as engines that copy do.
    mapped: bool,
    /// Of the plan's events, those that a kernel's stream waits for in each chunk, after a copy.
    awaited: Vec<bool>,
    enqueued: RefCell<Enqueued>,
}

#[derive(Default)]
struct Enqueued {
    pool: Vec<Event>,
    /// What was enqueued and not yet looked at, oldest first.
    pending: VecDeque<Pending>,
    /// How many were looked at.
    read: usize,
    timed: Vec<Timed>,
    /// By stream.
    lanes: Vec<Lane>,
    /// Of the plan's events, by number, the latest record.
    events: Vec<Option<Rc<Stamp>>>,
    /// By observer that is shared, what it noted last.
    latest: Vec<Option<Noted>>,
    /// By group of copies, when the last one ended of those that were looked at.
    ends: Vec<Nanos>,
}

/// A stamp that may have been looked at, and when it was noted, once that was asked.
type Noted = (Weak<Stamp>, Rc<Cell<Option<Nanos>>>);

/// What is known of a stream.
#[derive(Default, Clone)]
struct Lane {
    /// The number of its last operation, as long as nothing tells when that ends.
    open: Option<usize>,
    /// When the host began to enqueue what it is at.
    begun: Nanos,
    /// What the next operation comes after.
    after: Vec<Rc<Stamp>>,
}

struct Pending {
    what: What,
    stream: usize,
    tag: Tag,
    begun: Nanos,
    enqueued: Nanos,
    after: Vec<Rc<Stamp>>,
    end: Option<Rc<Stamp>>,
}

/// An event that is recorded once.
struct Stamp {
    event: Event,
    recorded: Cell<bool>,
    /// When that was, once it was asked.
    at: Cell<Option<Nanos>>,
    /// What the stream that noted it came after: it cannot have been noted before, however early it was.
    floor: RefCell<Vec<Rc<Stamp>>>,
    /// When it was seen, once it was asked.
    noted: Rc<Cell<Option<Nanos>>>,
    /// What a shared observer saw before it.
    before: RefCell<Option<Noted>>,
}

/// One operation, with times since the run began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    pub(super) what: What,
    /// Its stream's number among the pipeline's.
    pub(super) stream: usize,
    pub(super) tag: Tag,
    pub(super) enqueued: Nanos,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
}

impl Clockwork {
    /// Has so many events and observers.
    pub(super) fn prepare(&mut self, device: &Device, events: usize, observers: usize) -> DriverResult<()> {
        while self.events.len() < events.saturating_add(1).min(MOST) {
            self.events.push(Event::with_timing(device)?);
        }
        while self.observers.len() < observers {
            self.observers.push(Stream::new(device, Priority::Default)?);
        }
        if self.mark.is_none() {
            self.mark = Some(Event::new(device)?);
        }
        Ok(())
    }
}

impl Profiler {
    /// `began`: the host's clock when the run did. `first`: the first of its streams. The device has nothing to do.
    pub(super) fn new(
        device: &Device,
        plan: &Plan,
        clockwork: Clockwork,
        (observed, first): (Observed, Option<&Stream>),
        began: Duration,
    ) -> DriverResult<Self> {
        let Clockwork { events: mut pool, observers, mark } = clockwork;
        let mark = match mark {
            Some(mark) => mark,
            None => Event::new(device)?,
        };
        let base = match pool.pop() {
            Some(event) => event,
            None => Event::with_timing(device)?,
        };
        if let Some(first) = observers.first().or(first) {
            // SAFETY: both are live.
            unsafe { device.driver().record(base.raw, first.raw, NO_OPERATION)? };
        }
        let (latest, ends) = (vec![None; observed.count], vec![0.0; observed.group_count]);
        let enqueued = RefCell::new(Enqueued { pool, latest, ends, ..Enqueued::default() });
        let awaited = (0..plan.events.len()).map(|event| is_awaited(plan, event)).collect();
        let mapped = is_mapped(plan);
        let device = device.clone();
        let base_at = 0.0;
        let mut new =
            Self { device, base, base_at, began, observers, observed, mark, mapped, awaited, enqueued };
        new.base_at = new.now();
        Ok(new)
    }

    /// The host's clock, since the run began.
    fn now(&self) -> Nanos {
        self.device.driver().clock().saturating_sub(self.began).as_secs_f64() * 1e9
    }

    /// Enqueues an operation.
    pub(super) fn time(
        &self,
        stream: Numbered<RawStream>,
        tag: Tag,
        what: What,
        enqueue: impl FnOnce() -> DriverResult<()>,
    ) -> DriverResult<()> {
        self.open(stream, tag)?;
        enqueue()?;
        // It begins when it is enqueued, unless the call has waited for it.
        if !self.device.driver().is_synchronous() {
            self.enqueued.borrow_mut().lane(stream.number).begun = self.now();
        }
        self.close(stream, tag, what);
        Ok(())
    }

    /// A routine is about to enqueue what it likes, or something else is.
    pub(super) fn open(&self, stream: Numbered<RawStream>, tag: Tag) -> DriverResult<()> {
        self.enqueued.borrow_mut().lane(stream.number).begun = self.now();
        let Some(engine) = self.enqueued.borrow_mut().last(stream.number) else { return Ok(()) };
        let observer =
            self.observed.observer(stream.number, engine).filter(|_| copies(engine) || self.mapped);
        let stamp = match observer {
            Some(observer) => {
                let mark = self.mark.raw;
                // SAFETY: both are live for as long as the run, which waits for the stream.
                unsafe { self.device.driver().record(mark, stream.raw, tag)? };
                self.observed(observer, mark, tag)?
            }
            None => self.noted(stream.raw, tag)?,
        };
        self.enqueued.borrow_mut().ends(stream.number, &stamp);
        Ok(())
    }

    /// It has.
    pub(super) fn close(&self, stream: Numbered<RawStream>, tag: Tag, what: What) {
        let enqueued = self.now();
        let mut all = self.enqueued.borrow_mut();
        let number = all.read + all.pending.len();
        let lane = all.lane(stream.number);
        lane.open = Some(number);
        let (begun, after) = (lane.begun, std::mem::take(&mut lane.after));
        let pending = Pending { what, stream: stream.number, tag, begun, enqueued, after, end: None };
        all.pending.push_back(pending);
    }

    /// Records one of the plan's events.
    pub(super) fn record(
        &self,
        event: Numbered<RawEvent>,
        stream: Numbered<RawStream>,
        tag: Tag,
    ) -> DriverResult<()> {
        // SAFETY: both are live for as long as the run, which waits for the stream.
        unsafe { self.device.driver().record(event.raw, stream.raw, tag)? };
        let copy = self.enqueued.borrow_mut().last(stream.number).filter(|&engine| copies(engine));
        let observer = copy.and_then(|engine| self.observed.observer(stream.number, engine));
        let stamp = match (copy, self.awaited.get(event.number % self.awaited.len().max(1)), observer) {
            (Some(_), Some(true), _) => self.stamp()?,
            (Some(_), _, Some(observer)) => self.observed(observer, event.raw, tag)?,
            _ => self.noted(stream.raw, tag)?,
        };
        let mut all = self.enqueued.borrow_mut();
        all.ends(stream.number, &stamp);
        if all.events.len() <= event.number {
            all.events.resize(event.number + 1, None);
        }
        all.events[event.number] = Some(stamp);
        Ok(())
    }

    /// Has a stream wait for the latest record of one of the plan's events.
    pub(super) fn wait(
        &self,
        stream: Numbered<RawStream>,
        event: Numbered<RawEvent>,
        tag: Tag,
    ) -> DriverResult<()> {
        let recorded = self.enqueued.borrow().events.get(event.number).cloned().flatten();
        let Some(stamp) = recorded else { return Ok(()) };
        self.open(stream, tag)?;
        // SAFETY: both are live for as long as the run, which waits for the stream.
        unsafe { self.device.driver().wait(stream.raw, event.raw, tag)? };
        if !stamp.recorded.get() {
            self.note(&stamp, stream.raw, tag)?;
            stamp.floor.replace(self.enqueued.borrow_mut().lane(stream.number).after.clone());
        }
        self.enqueued.borrow_mut().lane(stream.number).after.push(stamp);
        Ok(())
    }

    /// Everything is enqueued: has each stream's last operation tell when it ends.
    pub(super) fn close_all(&self, streams: &[Stream]) -> DriverResult<()> {
        for (number, stream) in streams.iter().enumerate() {
            self.open(Numbered { raw: stream.raw, number }, NO_OPERATION)?;
        }
        Ok(())
    }

    /// An event that is not recorded yet.
    fn stamp(&self) -> DriverResult<Rc<Stamp>> {
        let event = self.event()?;
        let (recorded, at, floor) = (Cell::new(false), Cell::new(None), RefCell::default());
        let (noted, before) = (Rc::default(), RefCell::default());
        Ok(Rc::new(Stamp { event, recorded, at, floor, noted, before }))
    }

    fn note(&self, stamp: &Stamp, stream: RawStream, tag: Tag) -> DriverResult<()> {
        // SAFETY: the stream lives as long as the run or is an observer, which is waited for too, and so does the event.
        unsafe { self.device.driver().record(stamp.event.raw, stream, tag)? };
        stamp.recorded.set(true);
        Ok(())
    }

    /// When a stream gets here.
    fn noted(&self, stream: RawStream, tag: Tag) -> DriverResult<Rc<Stamp>> {
        let stamp = self.stamp()?;
        self.note(&stamp, stream, tag)?;
        Ok(stamp)
    }

    /// When `event` comes, which was just recorded on a stream.
    fn observed(&self, index: usize, event: RawEvent, tag: Tag) -> DriverResult<Rc<Stamp>> {
        let observer = self.observers[index].raw;
        // SAFETY: both are live until they were waited for. What is waited for is a record, which stays though the event be
        // recorded anew.
        unsafe { self.device.driver().wait(observer, event, tag)? };
        let stamp = self.noted(observer, tag)?;
        if self.observed.is_shared() {
            let before = self.enqueued.borrow_mut().latest[index]
                .replace((Rc::downgrade(&stamp), Rc::clone(&stamp.noted)));
            stamp.before.replace(before);
        }
        Ok(stamp)
    }

    fn event(&self) -> DriverResult<Event> {
        let mut all = self.enqueued.borrow_mut();
        if let Some(event) = all.pool.pop() {
            return Ok(event);
        }
        // As many as are needed now, so that no time is lost over those that are not complete.
        while all.pool.is_empty()
            && all.pending.front().is_some_and(Pending::is_over)
            && let Some(oldest) = all.pending.pop_front()
        {
            all.read += 1;
            self.read(&mut all, oldest)?;
        }
        match all.pool.pop() {
            Some(event) => Ok(event),
            None => Event::with_timing(&self.device),
        }
    }

    /// When an operation was; what is free of its events is in the pool again.
    fn read(&self, all: &mut Enqueued, pending: Pending) -> DriverResult<()> {
        let Pending { what, stream, tag, begun, enqueued, after, end } = pending;
        let mut free = |stamp: Rc<Stamp>| all.pool.extend(Rc::into_inner(stamp).map(|stamp| stamp.event));
        let mut start = begun;
        for stamp in after {
            start = start.max(self.at(&stamp)?.unwrap_or(0.0));
            free(stamp);
        }
        let Some(stamp) = end else { return Ok(()) };
        let mut floor = 0.0_f64;
        for before in stamp.floor.take() {
            floor = floor.max(self.at(&before)?.unwrap_or(0.0));
            free(before);
        }
        let Some(mut end) = self.at(&stamp)? else { return Ok(()) };
        let group = self.observed.group(stream, what.engine).filter(|_| copies(what.engine));
        let last = group.filter(|_| self.observed.is_shared()).map_or(0.0, |group| all.ends[group]);
        let before = match stamp.before.take() {
            Some((before, noted)) => {
                before.upgrade().map_or(Ok(None), |before| self.at(&before))?;
                noted.get()
            }
            None => None,
        };
        if end <= floor + SOON || before.is_some_and(|before| end <= before + SEEN) {
            // The stream that noted it was busy until then: it was earlier, or just then.
            end = end.min(start.max(last) + self.alone(what));
            stamp.at.set(Some(end));
        }
        if let Some(group) = group {
            all.ends[group] = end;
        }
        free(stamp);
        // By the host's clock it may have begun a little later than it was done.
        all.timed.push(Timed { what, stream, tag, enqueued, start: start.min(end), end });
        Ok(())
    }

    /// How long a copy takes while copies go the other way, by the calibration.
    fn alone(&self, what: What) -> Nanos {
        let Spec { to_device, to_host, duplex, copy_latency, .. } = *self.device.calibration();
        let rate = if what.engine == Engine::ToDevice { to_device } else { to_host };
        let time = what.bytes as f64 / (rate * duplex);
        copy_latency.as_secs_f64() * 1e9 + if time.is_finite() && time > 0.0 { time * 1e9 } else { 0.0 }
    }

    /// When an event was complete; `None` of one that nobody has waited for.
    fn at(&self, stamp: &Stamp) -> DriverResult<Option<Nanos>> {
        if stamp.at.get().is_none() && stamp.recorded.get() {
            let at = (self.base_at + self.base.elapsed(&stamp.event)?).max(0.0);
            stamp.at.set(Some(at));
            stamp.noted.set(Some(at));
        }
        Ok(stamp.at.get())
    }

    /// When everything was, and what is to be kept. The device is done with all of it.
    pub(super) fn finish(self) -> DriverResult<(Vec<Timed>, Clockwork)> {
        // They have yet to note the last of it.
        self.observers.iter().try_for_each(|observer| observer.synchronize())?;
        let mut all = self.enqueued.take();
        all.lanes.clear();
        all.events.clear();
        for pending in std::mem::take(&mut all.pending) {
            self.read(&mut all, pending)?;
        }
        let Self { base, observers, mark, .. } = self;
        let Enqueued { mut timed, pool: mut events, .. } = all;
        events.push(base);
        events.truncate(KEPT);
        events.shrink_to_fit();
        one_at_a_time(&mut timed);
        Ok((timed, Clockwork { events, observers, mark: Some(mark) }))
    }
}

impl Enqueued {
    fn lane(&mut self, stream: usize) -> &mut Lane {
        if self.lanes.len() <= stream {
            self.lanes.resize(stream + 1, Lane::default());
        }
        &mut self.lanes[stream]
    }

    /// What carries out what was enqueued on a stream last; `None` if it is known when that ends.
    fn last(&mut self, stream: usize) -> Option<Engine> {
        let read = self.read;
        let open = self.lane(stream).open?;
        let pending = open.checked_sub(read).and_then(|index| self.pending.get(index))?;
        Some(pending.what.engine)
    }

    /// What was enqueued on a stream last ends where this was recorded, and what comes next begins after it.
    fn ends(&mut self, stream: usize, stamp: &Rc<Stamp>) {
        let read = self.read;
        let Some(open) = self.lane(stream).open.take() else { return };
        if let Some(pending) = open.checked_sub(read).and_then(|index| self.pending.get_mut(index)) {
            pending.end = Some(Rc::clone(stamp));
        }
        self.lane(stream).after.push(Rc::clone(stamp));
    }
}

impl Pending {
    /// Whether the device is known to be done with it, and with what tells when it began.
    fn is_over(&self) -> bool {
        let is_complete = |stamp: &Rc<Stamp>| {
            stamp.at.get().is_some() || !stamp.recorded.get() || stamp.event.is_complete().unwrap_or(false)
        };
        let ends = self.end.as_ref().is_some_and(|end| end.recorded.get() && is_complete(end));
        ends && self.after.iter().all(is_complete)
    }
}

/// Whether an engine copies over the link.
fn copies(engine: Engine) -> bool {
    matches!(engine, Engine::ToDevice | Engine::ToHost)
}

/// Whether one of the plan's events, after a copy, is waited for by a kernel's stream in the same chunk, whatever the chunk.
fn is_awaited(plan: &Plan, event: usize) -> bool {
    let is_copy = way(plan.operations[plan.events[event].operation].kind).is_some();
    let by_a_kernel = |wait: &&WaitPlan| {
        let waiting = &plan.operations[wait.operation];
        let is_kernel = matches!(waiting.kind, OperationKind::Launch { .. } | OperationKind::Fill { .. });
        is_kernel && !waiting.conditional && wait.event == event && wait.distance == Distance::Same
    };
    is_copy && plan.waits.iter().any(|wait| by_a_kernel(&wait))
}

/// An event before a copy is complete when the copy may begin. The engine may be at another one then, which is over when
/// the copy does begin: it has one at a time.
fn one_at_a_time(timed: &mut [Timed]) {
    for engine in [Engine::ToDevice, Engine::ToHost] {
        let mut copies: Vec<_> = timed.iter_mut().filter(|timed| timed.what.engine == engine).collect();
        copies.sort_by(|a, b| a.end.total_cmp(&b.end));
        let mut free = 0.0_f64;
        for copy in copies {
            copy.start = copy.start.max(free).min(copy.end);
            free = copy.end;
        }
    }
}
