//! [`Profiler`]: events around each operation of a run, so that it is known when it began and ended.
//!
//! The operations are enqueued on the streams that they have anyway, with the waits that they have anyway: an event that is
//! recorded holds nobody up. The events are kept from run to run.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use super::queue::{Numbered, What};
use crate::device::Device;
use crate::driver::{DriverResult, Nanos, RawStream, Tag};
use crate::stream::{Event, Stream};
use crate::timeline::Engine;

/// Events that are made before a run begins, at most. More of them are made on the way, unless some are free again.
const MOST: usize = 1 << 16;

/// Events with timing that are not in use.
pub(super) type Pool = Vec<Event>;

/// Times what a run enqueues.
pub(super) struct Profiler {
    device: Device,
    pool: RefCell<Pool>,
    /// Recorded before everything else, when the device had nothing to do.
    base: Event,
    /// When that was by the host's clock, since the run began.
    base_at: Duration,
    began: Duration,
    /// What was enqueued and not yet looked at, oldest first.
    pending: RefCell<VecDeque<Pending>>,
    timed: RefCell<Vec<Timed>>,
    /// The beginning of a routine that is enqueueing.
    open: RefCell<Option<Event>>,
}

struct Pending {
    begin: Event,
    end: Event,
    what: What,
    stream: usize,
    tag: Tag,
    enqueued: Duration,
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

/// Has events for so many operations.
pub(super) fn prepare(pool: &mut Pool, device: &Device, operations: usize) -> DriverResult<()> {
    let wanted = operations.saturating_mul(2).saturating_add(2).min(MOST);
    while pool.len() < wanted {
        pool.push(Event::with_timing(device)?);
    }
    Ok(())
}

impl Profiler {
    /// `began`: the host's clock when the run did. Nothing is under way on `first`, one of the run's streams.
    pub(super) fn new(
        device: &Device,
        mut pool: Pool,
        first: Option<&Stream>,
        began: Duration,
    ) -> DriverResult<Self> {
        let base = match pool.pop() {
            Some(event) => event,
            None => Event::with_timing(device)?,
        };
        if let Some(first) = first {
            // SAFETY: both are live for as long as the run, which waits for the stream.
            unsafe { device.driver().record(base.raw, first.raw, crate::memory::NO_OPERATION)? };
        }
        Ok(Self {
            device: device.clone(),
            pool: RefCell::new(pool),
            base,
            base_at: device.driver().clock().saturating_sub(began),
            began,
            pending: RefCell::default(),
            timed: RefCell::default(),
            open: RefCell::default(),
        })
    }

    /// Enqueues something, and events before and after it.
    pub(super) fn time(
        &self,
        stream: Numbered<RawStream>,
        tag: Tag,
        what: What,
        enqueue: impl FnOnce() -> DriverResult<()>,
    ) -> DriverResult<()> {
        let begin = self.record(stream, tag)?;
        enqueue()?;
        self.close(stream, tag, what, begin)
    }

    /// A routine is about to enqueue what it likes.
    pub(super) fn open(&self, stream: Numbered<RawStream>, tag: Tag) -> DriverResult<()> {
        *self.open.borrow_mut() = Some(self.record(stream, tag)?);
        Ok(())
    }

    /// It has.
    pub(super) fn close_routine(
        &self,
        stream: Numbered<RawStream>,
        tag: Tag,
        what: What,
    ) -> DriverResult<()> {
        match self.open.take() {
            Some(begin) => self.close(stream, tag, what, begin),
            None => Ok(()),
        }
    }

    fn close(&self, stream: Numbered<RawStream>, tag: Tag, what: What, begin: Event) -> DriverResult<()> {
        let end = self.record(stream, tag)?;
        let enqueued = self.device.driver().clock().saturating_sub(self.began);
        let pending = Pending { begin, end, what, stream: stream.number, tag, enqueued };
        self.pending.borrow_mut().push_back(pending);
        Ok(())
    }

    fn record(&self, stream: Numbered<RawStream>, tag: Tag) -> DriverResult<Event> {
        let event = self.event()?;
        // SAFETY: the stream lives as long as the run. An event may be destroyed at any time: the driver waits.
        unsafe { self.device.driver().record(event.raw, stream.raw, tag)? };
        Ok(event)
    }

    fn event(&self) -> DriverResult<Event> {
        if let Some(event) = self.pool.borrow_mut().pop() {
            return Ok(event);
        }
        let mut pending = self.pending.borrow_mut();
        if pending.front().is_some_and(|oldest| oldest.end.is_complete().unwrap_or(false))
            && let Some(oldest) = pending.pop_front()
        {
            let (timed, events) = self.read(oldest)?;
            self.timed.borrow_mut().push(timed);
            let [event, other] = events;
            self.pool.borrow_mut().push(other);
            return Ok(event);
        }
        Event::with_timing(&self.device)
    }

    /// When it was, and the events, which are free.
    fn read(&self, pending: Pending) -> DriverResult<(Timed, [Event; 2])> {
        let Pending { begin, end, what, stream, tag, enqueued } = pending;
        let base_at = self.base_at.as_secs_f64() * 1e9;
        let at =
            |event: &Event| -> DriverResult<Nanos> { Ok((base_at + self.base.elapsed(event)?).max(0.0)) };
        let (start, until) = (at(&begin)?, at(&end)?);
        let enqueued = enqueued.as_secs_f64() * 1e9;
        Ok((Timed { what, stream, tag, enqueued, start, end: until.max(start) }, [begin, end]))
    }

    /// When everything was, and the events. The device is done with all of it.
    pub(super) fn finish(self) -> DriverResult<(Vec<Timed>, Pool)> {
        let mut timed = self.timed.take();
        let mut pool = self.pool.take();
        for pending in self.pending.take() {
            let (one, events) = self.read(pending)?;
            timed.push(one);
            pool.extend(events);
        }
        pool.push(self.base);
        one_at_a_time(&mut timed);
        Ok((timed, pool))
    }
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
