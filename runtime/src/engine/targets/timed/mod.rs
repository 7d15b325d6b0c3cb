//! [`Profiler`]: measures with events when each operation of a run began and ended.
//!
//! The operations are enqueued on their own streams, with their own events and waits. But an event with a
//! timestamp costs the engine on which it is recorded a microsecond or two, and copy engines have no time to
//! spare. So the end of a copy is noted elsewhere: by the kernel's stream that waits for it, once it has, or
//! by an observer, a stream that only waits for copies and notes when they are done. Kernels note their own
//! ends. Streams without copies have no observer, and several share one where there are many. The beginning
//! of an operation needs no event: it is the time when the last thing that it had to wait for was done. A
//! limited number of events, and observers, are kept from run to run. Where timing every chunk would make the
//! run longer, only some chunks are timed (`sampling`).

mod between;
mod enqueued;
pub(crate) mod observed;
mod sampling;
mod stamp;
pub(crate) mod target;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use crate::engine::targets::timed::enqueued::{Enqueued, Pending, Recorded, StreamEnd, Untimed};
pub(crate) use crate::engine::targets::timed::sampling::{Sampling, share};
pub(crate) use crate::engine::targets::timed::stamp::Clockwork;
use crate::engine::targets::timed::stamp::{Stamp, was_busy};

use crate::base::model::DeviceModel;
use crate::base::plan::{Distance, Plan, WaitPlan};
use crate::device::Device;
use crate::device::memory::NO_OPERATION;
use crate::device::stream::{Event, Stream};
use crate::driver::{DriverResult, Nanos, RawEvent, RawStream, Tag};
use crate::engine::targets::timed::observed::{Observed, way};
use crate::engine::targets::what::{Numbered, What};
use crate::observe::timeline::Engine;

/// The number of events kept for the next profile, at most.
const KEPT: usize = 1 << 12;

/// The time that a shared observer needs after other work to see an event that is already complete.
const SEEN: Nanos = 10e3;

/// Times the operations that a run enqueues.
pub(crate) struct Profiler {
    device: Device,
    /// Recorded before everything else, when the device was idle.
    base: Event,
    /// The time of that record by the host's clock, since the run began.
    base_at: Nanos,
    began: Duration,
    observers: Vec<Stream>,
    observed: Observed,
    mark: Event,
    sampling: Sampling,
    /// For each of the plan's events, whether it follows a copy and a kernel's stream waits for it in each
    /// chunk.
    awaited: Vec<bool>,
    enqueued: RefCell<Enqueued>,
}

/// One operation, with times since the run began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timed {
    pub(crate) what: What,
    /// The number of its stream among the pipeline's.
    pub(crate) stream: usize,
    pub(crate) tag: Tag,
    /// The index of this part of the operation in its chunk: a `repeat` has several.
    pub(crate) part: usize,
    pub(crate) enqueued: Nanos,
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    /// Whether the times were calculated from timed operations in other chunks.
    pub(crate) estimated: bool,
}

impl Profiler {
    /// `began`: the host's clock when the run began. `first`: the first of its streams. The device is idle.
    pub(crate) fn new(
        device: &Device,
        plan: &Plan,
        clockwork: Clockwork,
        (observed, first): (Observed, Option<&Stream>),
        sampling: Sampling,
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
        let device = device.clone();
        let base_at = 0.0;
        let mut new =
            Self { device, base, base_at, began, observers, observed, mark, sampling, awaited, enqueued };
        new.base_at = new.now();
        Ok(new)
    }

    /// The host's clock, since the run began.
    fn now(&self) -> Nanos {
        self.device.driver().clock().saturating_sub(self.began).as_secs_f64() * 1e9
    }

    /// Begins another chunk, other than the first.
    pub(crate) fn begin(&self, chunk: usize) {
        self.sampling.begin(chunk, || self.now());
    }

    /// Calls `tell`, which enqueues a timestamp, and counts the time that this takes.
    fn telling<T>(&self, tell: impl FnOnce() -> DriverResult<T>) -> DriverResult<T> {
        if !self.sampling.counts() {
            return tell();
        }
        let begun = self.now();
        let told = tell();
        self.sampling.took(self.now() - begun);
        told
    }

    /// Enqueues an operation.
    pub(crate) fn time(
        &self,
        stream: Numbered<RawStream>,
        tag: Tag,
        what: What,
        enqueue: impl FnOnce() -> DriverResult<()>,
    ) -> DriverResult<()> {
        let is_timed = self.is_timed(tag);
        let part = self.enqueued.borrow_mut().part(tag);
        self.settle(stream, tag, is_timed)?;
        // It begins when it is enqueued, unless the call waits for it.
        let begun = self.device.driver().is_synchronous().then(|| self.now());
        enqueue()?;
        let now = self.now();
        let untimed =
            Untimed { what, stream: stream.number, tag, part, begun: begun.unwrap_or(now), enqueued: now };
        self.enqueued.borrow_mut().add(untimed, is_timed);
        Ok(())
    }

    /// Whether an operation is timed: because its chunk is, or because it was not enqueued in an earlier
    /// chunk, so that nothing is known of it.
    fn is_timed(&self, tag: Tag) -> bool {
        self.sampling.is_timed() || self.enqueued.borrow().is_new(tag)
    }

    /// Prepares for a routine or another caller that is about to enqueue any work.
    pub(crate) fn open(&self, stream: Numbered<RawStream>, tag: Tag) -> DriverResult<()> {
        let is_timed = self.is_timed(tag);
        self.settle(stream, tag, is_timed)?;
        let mut all = self.enqueued.borrow_mut();
        let part = all.part(tag);
        let lane = all.lane(stream.number);
        (lane.begun, lane.part, lane.is_timed) = (self.now(), part, is_timed);
        Ok(())
    }

    /// Records the end of the last operation on a stream, if that operation or the `next` one is timed.
    fn settle(&self, stream: Numbered<RawStream>, tag: Tag, next: bool) -> DriverResult<()> {
        let last = self.enqueued.borrow_mut().last_engine(stream.number, next);
        let Some(engine) = last else { return Ok(()) };
        let observer = self.observed.observer(stream.number, engine).filter(|_| copies(engine));
        let stamp = match observer {
            Some(observer) => {
                let mark = self.mark.raw;
                self.telling(|| {
                    // SAFETY: both are live for as long as the run, which waits for the stream.
                    unsafe { self.device.driver().record(mark, stream.raw, tag) }
                })?;
                self.observed(observer, mark, tag)?
            }
            None => self.noted(stream.raw, tag)?,
        };
        self.enqueued.borrow_mut().ends(stream.number, &stamp);
        Ok(())
    }

    /// Notes that the routine has enqueued its work.
    pub(crate) fn close(&self, stream: Numbered<RawStream>, tag: Tag, what: What) {
        let mut all = self.enqueued.borrow_mut();
        let &mut StreamEnd { begun, part, is_timed, .. } = all.lane(stream.number);
        let untimed = Untimed { what, stream: stream.number, tag, part, begun, enqueued: self.now() };
        all.add(untimed, is_timed);
    }

    /// Records one of the plan's events.
    pub(crate) fn record(
        &self,
        event: Numbered<RawEvent>,
        stream: Numbered<RawStream>,
        tag: Tag,
    ) -> DriverResult<()> {
        let last = self.enqueued.borrow_mut().last_engine(stream.number, false);
        let copy = last.filter(|&engine| copies(engine));
        let observer = copy.and_then(|engine| self.observed.observer(stream.number, engine));
        let is_awaited = self.awaited.get(event.number % self.awaited.len().max(1)) == Some(&true);
        // Recorded before the event with a timestamp, which takes longer, because others wait for this one.
        // SAFETY: both are live for as long as the run, which waits for the stream.
        unsafe { self.device.driver().record(event.raw, stream.raw, tag)? };
        if last.is_none() && !self.sampling.is_timed() {
            self.enqueued.borrow_mut().record(event.number, Recorded::Untimed);
            return Ok(());
        }
        let stamp = match (copy, is_awaited, observer) {
            (Some(_), true, _) => self.stamp()?,
            (Some(_), false, Some(observer)) => self.observed(observer, event.raw, tag)?,
            _ => self.noted(stream.raw, tag)?,
        };
        let mut all = self.enqueued.borrow_mut();
        all.ends(stream.number, &stamp);
        all.record(event.number, Recorded::Timed(stamp));
        Ok(())
    }

    /// Makes a stream wait for the latest record of one of the plan's events.
    pub(crate) fn wait(
        &self,
        stream: Numbered<RawStream>,
        event: Numbered<RawEvent>,
        tag: Tag,
    ) -> DriverResult<()> {
        let recorded = self.enqueued.borrow().events.get(event.number).cloned().flatten();
        let Some(recorded) = recorded else { return Ok(()) };
        let is_timed = self.is_timed(tag);
        self.settle(stream, tag, is_timed)?;
        // SAFETY: both are live for as long as the run, which waits for the stream.
        unsafe { self.device.driver().wait(event.raw, stream.raw, tag)? };
        let stamp = match recorded {
            Recorded::Timed(stamp) => stamp,
            Recorded::Untimed if is_timed => self.noted(stream.raw, tag)?,
            Recorded::Untimed => return Ok(()),
        };
        if !stamp.recorded.get() {
            self.note(&stamp, stream.raw, tag)?;
            stamp.floor.replace(self.enqueued.borrow_mut().lane(stream.number).after.clone());
        }
        self.enqueued.borrow_mut().lane(stream.number).after.push(stamp);
        Ok(())
    }

    /// Records the end of each stream's last operation, after everything is enqueued.
    pub(crate) fn close_all(&self, streams: &[Stream]) -> DriverResult<()> {
        for (number, stream) in streams.iter().enumerate() {
            self.settle(Numbered { raw: stream.raw, number }, NO_OPERATION, true)?;
        }
        Ok(())
    }

    /// An event that is not recorded yet.
    fn stamp(&self) -> DriverResult<Rc<Stamp>> {
        let event = self.telling(|| self.event())?;
        let (recorded, at, floor) = (Cell::new(false), Cell::new(None), RefCell::default());
        let (noted, before) = (Rc::default(), RefCell::default());
        Ok(Rc::new(Stamp { event, recorded, at, floor, noted, before }))
    }

    fn note(&self, stamp: &Stamp, stream: RawStream, tag: Tag) -> DriverResult<()> {
        self.telling(|| {
            // SAFETY: the stream lives as long as the run or is an observer, which is waited for too, and so
            // does the event.
            unsafe { self.device.driver().record(stamp.event.raw, stream, tag) }
        })?;
        stamp.recorded.set(true);
        Ok(())
    }

    /// A stamp recorded at this point of a stream.
    fn noted(&self, stream: RawStream, tag: Tag) -> DriverResult<Rc<Stamp>> {
        let stamp = self.stamp()?;
        self.note(&stamp, stream, tag)?;
        Ok(stamp)
    }

    /// A stamp of the moment at which `event`, just recorded on a stream, is complete.
    fn observed(&self, index: usize, event: RawEvent, tag: Tag) -> DriverResult<Rc<Stamp>> {
        let observer = self.observers[index].raw;
        self.telling(|| {
            // SAFETY: both are live until they were waited for. The wait is for this record, which stays even
            // if the event is recorded anew.
            unsafe { self.device.driver().wait(event, observer, tag) }
        })?;
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
        // Only as many as are needed now, so that no time is spent on those that are not complete.
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

    /// Reads the times of an operation, and returns events no longer needed to the pool.
    fn read(&self, all: &mut Enqueued, pending: Pending) -> DriverResult<()> {
        let Pending { operation, after, end } = pending;
        let Untimed { what, stream, tag, part, begun, enqueued } = operation;
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
        let began = start.max(last);
        let expected = began..began + self.alone(what);
        if was_busy(end, floor, &expected) || before.is_some_and(|before| end <= before + SEEN) {
            // The stream that noted the end was busy until then: the end was earlier, or just then.
            end = end.min(expected.end);
            stamp.at.set(Some(end));
        }
        if let Some(group) = group {
            all.ends[group] = end;
        }
        free(stamp);
        // By the host's clock it may have begun a little after its end.
        let start = start.min(end);
        all.timed.push(Timed { what, stream, tag, part, enqueued, start, end, estimated: false });
        Ok(())
    }

    /// The time of a copy while copies go the other way, by the calibration.
    fn alone(&self, what: What) -> Nanos {
        let DeviceModel { to_device, to_host, duplex, copy_latency, .. } = *self.device.calibration();
        let rate = if what.engine == Engine::ToDevice { to_device } else { to_host };
        let time = what.bytes as f64 / (rate * duplex);
        copy_latency.as_secs_f64() * 1e9 + if time.is_finite() && time > 0.0 { time * 1e9 } else { 0.0 }
    }

    /// The time at which an event was complete; `None` for an event that was not recorded.
    fn at(&self, stamp: &Stamp) -> DriverResult<Option<Nanos>> {
        if stamp.at.get().is_none() && stamp.recorded.get() {
            let at = (self.base_at + self.base.elapsed(&stamp.event)?).max(0.0);
            stamp.at.set(Some(at));
            stamp.noted.set(Some(at));
        }
        Ok(stamp.at.get())
    }

    /// The times of all operations, and the clockwork to keep. The device is done with all of it.
    pub(crate) fn finish(self) -> DriverResult<(Vec<Timed>, Clockwork)> {
        // The observers have yet to note the last ends.
        self.observers.iter().try_for_each(|observer| observer.synchronize())?;
        let mut all = self.enqueued.take();
        all.lanes.clear();
        all.events.clear();
        for pending in std::mem::take(&mut all.pending) {
            self.read(&mut all, pending)?;
        }
        let mut untimed = Vec::with_capacity(all.untimed.len());
        for (operation, end) in std::mem::take(&mut all.untimed) {
            let at = end.as_ref().map_or(Ok(None), |end| self.at(end))?;
            all.pool.extend(end.and_then(Rc::into_inner).map(|stamp| stamp.event));
            untimed.push((operation, at));
        }
        let Self { base, observers, mark, sampling, .. } = self;
        let Enqueued { mut timed, pool: mut events, .. } = all;
        events.push(base);
        events.truncate(KEPT);
        events.shrink_to_fit();
        one_at_a_time(&mut timed);
        if !untimed.is_empty() {
            between::fill(&mut timed, &untimed, sampling.depth);
            one_at_a_time(&mut timed);
        }
        Ok((timed, Clockwork { events, observers, mark: Some(mark) }))
    }
}

/// Whether an engine copies over the link.
fn copies(engine: Engine) -> bool {
    matches!(engine, Engine::ToDevice | Engine::ToHost)
}

/// Whether one of the plan's events follows a copy, and a kernel's stream waits for it in the same chunk, in
/// every chunk.
fn is_awaited(plan: &Plan, event: usize) -> bool {
    let is_copy = way(plan.operations[plan.events[event].operation].kind).is_some();
    let by_a_kernel = |wait: &&WaitPlan| {
        let waiting = &plan.operations[wait.operation];
        waiting.kind.is_kernel()
            && !waiting.conditional
            && wait.event == event
            && wait.distance == Distance::Same
    };
    is_copy && plan.waits.iter().any(|wait| by_a_kernel(&wait))
}

/// Corrects the beginnings of copies. An event before a copy is complete when the copy may begin. At that
/// time the engine may be busy with another copy, which is over when this one begins: it has one at a time.
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
