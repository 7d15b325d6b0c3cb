//! [`State`]: the streams, events, graphs and memory of a CPU device.

use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Duration;

use super::memory::{Allocations, Place, Span};
use super::queue::{Entry, Event, Record, Step, Stream};
use super::work::{Action, Planned, Work};
use crate::base::block::Block;
use crate::base::error::DriverError;
use crate::base::handles::Handles;
use crate::base::unwind::contain;
use crate::driver::collective::exchanged::Exchange;
use crate::driver::fault::{self, Failure};
use crate::driver::{DriverResult, RawEvent, RawStream, Tag};

/// A stream that waits for the null stream, and that the null stream waits for.
#[derive(Debug, Clone, Copy)]
struct Blocking {
    stream: RawStream,
    /// The number of the null stream's commands that it has waited for.
    seen: u64,
    /// The number of its commands that the null stream has waited for.
    seen_by_null: u64,
}

/// The state of a CPU device.
pub(super) struct State {
    pub memory: Allocations,
    pub streams: Handles<Stream>,
    pub events: Handles<Event>,
    /// Each graph with the number of its nodes.
    pub graphs: Handles<usize>,
    /// The ways to other ranks.
    pub communicators: Handles<Arc<dyn Exchange>>,
    /// The null stream, once it has been asked for.
    null: Option<RawStream>,
    blocking: Vec<Blocking>,
    /// The default streams of threads.
    per_thread: Vec<(ThreadId, RawStream)>,
    /// Work that will not be carried out, to be dropped while no lock is held.
    pub skipped: Vec<Action>,
    /// The number of threads that sleep until another thread has carried out a command.
    pub asleep: usize,
    /// The number of the command that was enqueued last.
    sequence: u64,
    /// The times of host bodies that were called for one thread after another.
    serial: Vec<Serial>,
}

/// An operation whose host body is called for one thread after another.
struct Serial {
    pipeline: u32,
    operation: u32,
    /// The time of all its launches.
    time: Duration,
    is_told: bool,
}

/// An operation that has taken so long on one core of several is told of.
const WORTH_A_WORD: Duration = Duration::from_secs(1);

impl State {
    pub(super) fn new(memory: u64) -> Self {
        Self {
            memory: Allocations::new(memory),
            streams: Handles::default(),
            events: Handles::default(),
            graphs: Handles::default(),
            communicators: Handles::default(),
            null: None,
            blocking: Vec::new(),
            per_thread: Vec::new(),
            skipped: Vec::new(),
            asleep: 0,
            sequence: 0,
            serial: Vec::new(),
        }
    }

    /// Notes the time of a host body that was called for one thread after another.
    pub(super) fn note_serial(&mut self, tag: Tag, time: Duration) {
        let is_same = |of: &&mut Serial| (of.pipeline, of.operation) == (tag.pipeline, tag.operation);
        match self.serial.iter_mut().find(is_same) {
            Some(known) => known.time += time,
            None => {
                let Tag { pipeline, operation, .. } = tag;
                self.serial.push(Serial { pipeline, operation, time, is_told: false });
            }
        }
    }

    /// An operation of a pipeline that has taken so long on one core that it is worth a word, once for each.
    pub(super) fn tell_serial(&mut self, pipeline: u32) -> Option<(usize, Duration)> {
        let is_worth = |of: &&mut Serial| of.pipeline == pipeline && !of.is_told && of.time >= WORTH_A_WORD;
        let found = self.serial.iter_mut().find(is_worth)?;
        found.is_told = true;
        Some((found.operation as usize, found.time))
    }

    pub(super) fn create_stream(&mut self, priority: i32) -> RawStream {
        RawStream(self.streams.insert(Stream::new(priority)))
    }

    pub(super) fn null_stream(&mut self) -> RawStream {
        if let Some(stream) = self.null {
            return stream;
        }
        let stream = self.create_stream(0);
        self.null = Some(stream);
        stream
    }

    /// Makes the stream and the null stream wait for each other.
    pub(super) fn block(&mut self, stream: RawStream) {
        self.null_stream();
        self.blocking.push(Blocking { stream, seen: 0, seen_by_null: 0 });
    }

    pub(super) fn per_thread_stream(&mut self, thread: ThreadId) -> RawStream {
        if let Some((_, stream)) = self.per_thread.iter().find(|(of, _)| *of == thread) {
            return *stream;
        }
        let stream = self.create_stream(0);
        self.block(stream);
        self.per_thread.push((thread, stream));
        stream
    }

    /// Adds the implicit waits before work on a stream: the null stream waits for the blocking streams, and a
    /// blocking stream waits for the null stream.
    pub(super) fn wait_as_legacy(
        &mut self,
        call: &'static str,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let Some(null) = self.null.filter(|_| !self.blocking.is_empty()) else { return Ok(()) };
        let enqueued =
            |state: &Self, of: RawStream| state.streams.get(of.0).map_or(0, |state| state.enqueued);
        for index in 0..self.blocking.len() {
            let Blocking { stream: other, seen, seen_by_null } = self.blocking[index];
            let (after, before, known) = match stream {
                _ if stream == null => (null, other, seen_by_null),
                _ if stream == other => (other, null, seen),
                _ => continue,
            };
            if enqueued(self, before) <= known {
                continue;
            }
            let record = self.record_now(call, before, false, tag)?;
            self.wait_for(call, after, &record, tag)?;
            // The record that was just made need not be waited for.
            let now = enqueued(self, before);
            let known = &mut self.blocking[index];
            if stream == null {
                known.seen_by_null = now;
            } else {
                known.seen = now;
            }
        }
        Ok(())
    }

    pub(super) fn destroy_stream(&mut self, call: &'static str, stream: RawStream) -> DriverResult<()> {
        if self.null == Some(stream) {
            return Err(fault::invalid_handle(call, "stream"));
        }
        self.stream(call, stream)?.destroyed = true;
        self.blocking.retain(|blocking| blocking.stream != stream);
        self.per_thread.retain(|(_, of_thread)| *of_thread != stream);
        self.remove_if_over(stream.0);
        Ok(())
    }

    /// A stream that the caller may still use.
    pub(super) fn stream(&mut self, call: &'static str, stream: RawStream) -> DriverResult<&mut Stream> {
        let found = self.streams.get_mut(stream.0).filter(|stream| !stream.destroyed);
        found.ok_or_else(|| fault::invalid_handle(call, "stream"))
    }

    pub(super) fn event(&mut self, call: &'static str, event: RawEvent) -> DriverResult<&mut Event> {
        self.events.get_mut(event.0).ok_or_else(|| fault::invalid_handle(call, "event"))
    }

    /// Checks everything that [`enqueue_work`](Self::enqueue_work) relies on.
    pub(super) fn check(&mut self, planned: &Planned, stream: RawStream) -> DriverResult<()> {
        self.stream(planned.call, stream)?;
        planned.work.spans.iter().try_for_each(|&span| self.memory.check(planned.call, span))
    }

    /// Enqueues work that [`check`](Self::check) has accepted.
    pub(super) fn enqueue_work(&mut self, planned: Planned, stream: RawStream, tag: Tag) -> DriverResult<()> {
        let Planned { call, work } = planned;
        if let Err(refused) = self.wait_as_legacy(call, stream, tag) {
            self.skipped.push(work.action);
            return Err(refused);
        }
        self.push(call, stream, tag, Step::Work(work))
    }

    pub(super) fn record(
        &mut self,
        call: &'static str,
        event: RawEvent,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let is_timed = self.event(call, event)?.is_timed;
        if self.null != Some(stream) {
            self.wait_as_legacy(call, stream, tag)?;
        }
        let record = self.record_now(call, stream, is_timed, tag)?;
        self.event(call, event)?.latest = Some(record);
        Ok(())
    }

    /// A record of everything enqueued on a stream so far.
    fn record_now(
        &mut self,
        call: &'static str,
        stream: RawStream,
        is_timed: bool,
        tag: Tag,
    ) -> DriverResult<Arc<Record>> {
        let record = Arc::new(Record { stream: stream.0, is_timed, outcome: Default::default() });
        self.push(call, stream, tag, Step::Record(Arc::clone(&record)))?;
        Ok(record)
    }

    pub(super) fn wait(
        &mut self,
        call: &'static str,
        stream: RawStream,
        event: RawEvent,
        tag: Tag,
    ) -> DriverResult<()> {
        self.stream(call, stream)?;
        let Some(record) = self.event(call, event)?.latest.clone() else { return Ok(()) };
        self.wait_for(call, stream, &record, tag)
    }

    /// Makes all later work on a stream come after a record.
    fn wait_for(
        &mut self,
        call: &'static str,
        stream: RawStream,
        record: &Arc<Record>,
        tag: Tag,
    ) -> DriverResult<()> {
        // A failure that the host has been told of is over: the stream that failed works again, and so does
        // its event.
        let is_over = |failure: &Arc<Failure>| failure.pending().is_ok();
        match record.outcome.get() {
            Some(outcome) if outcome.failure.as_ref().is_none_or(is_over) => Ok(()),
            _ => self.push(call, stream, tag, Step::Wait(Arc::clone(record))),
        }
    }

    /// Enqueues a command. One that is no work completes at once if nothing is before it.
    fn push(&mut self, call: &'static str, stream: RawStream, tag: Tag, step: Step) -> DriverResult<()> {
        self.sequence += 1;
        let entry = Entry { step, tag, sequence: self.sequence };
        let Ok(state) = self.stream(call, stream) else {
            if let Step::Work(Work { action, .. }) = entry.step {
                self.skipped.push(action);
            }
            return Err(fault::invalid_handle(call, "stream"));
        };
        let is_idle = state.is_idle();
        state.queue.push_back(entry);
        state.enqueued += 1;
        if is_idle {
            let mut skipped = Vec::new();
            state.settle(&mut skipped);
            self.skipped.append(&mut skipped);
        }
        Ok(())
    }

    /// Completes whatever is no work to be carried out. Returns whether there was anything.
    pub(super) fn settle(&mut self) -> bool {
        let mut any = false;
        loop {
            let (mut moved, mut over) = (false, Vec::new());
            for (handle, stream) in self.streams.iter_mut() {
                moved |= stream.settle(&mut self.skipped);
                if stream.destroyed && stream.is_idle() {
                    over.push(handle);
                }
            }
            for stream in over {
                self.streams.remove(stream);
            }
            any |= moved;
            if !moved {
                return any;
            }
        }
    }

    /// Takes the work that comes next out of its stream, which is busy from then on. `may_run` decides about
    /// functions on the host by their stream.
    pub(super) fn next(&mut self, may_run: impl Fn(u64) -> bool) -> Option<Next> {
        let candidates = self.streams.iter().filter_map(|(handle, stream)| {
            let sequence = stream.ready()?;
            let head = stream.queue.front()?;
            let is_job = matches!(&head.step, Step::Work(Work { action: Action::Host(_), .. }));
            (!is_job || may_run(handle)).then_some((stream.priority, sequence, handle))
        });
        let (_, _, handle) = candidates.min()?;
        let stream = self.streams.get_mut(handle)?;
        let Entry { step: Step::Work(Work { spans, mut action }), tag, .. } = stream.queue.pop_front()?
        else {
            return None;
        };
        stream.running = Some((tag, spans));
        if let Action::Copy { to, from, bytes } = &mut action {
            (*to, *from) = (self.memory.resolved(*to, *bytes), self.memory.resolved(*from, *bytes));
        }
        Some(Next { stream: handle, tag, action })
    }

    /// The stream whose first command must be carried out before `stream` can go on; `None` if a thread is at
    /// it.
    pub(super) fn needed(&self, mut stream: u64) -> Option<u64> {
        // A wait is for an earlier record, so this comes to an end.
        loop {
            let state = self.streams.get(stream).filter(|state| state.running.is_none())?;
            match &state.queue.front()?.step {
                Step::Work(_) => return Some(stream),
                Step::Wait(record) => stream = record.stream,
                Step::Record(_) => return None,
            }
        }
    }

    /// Whether a thread is carrying out a command.
    pub(super) fn is_busy(&self) -> bool {
        self.streams.iter().any(|(_, stream)| stream.running.is_some())
    }

    /// Notes that the work of a stream has been carried out.
    pub(super) fn finish(&mut self, handle: u64, result: DriverResult<()>) {
        if let Some(stream) = self.streams.get_mut(handle) {
            stream.running = None;
            stream.completed += 1;
            if let Err(error) = result {
                stream.fail(error);
            }
        }
        self.remove_if_over(handle);
    }

    /// Takes the failure of a stream, which works again from now on.
    pub(super) fn take_failure(&mut self, stream: RawStream) -> Option<Box<DriverError>> {
        let failure = self.streams.get_mut(stream.0)?.failure.take()?;
        Some(failure.report())
    }

    /// Drops whatever was never carried out: code of the user's, which may panic.
    pub(super) fn discard(&mut self) {
        for (_, stream) in self.streams.iter_mut() {
            stream.queue.drain(..).for_each(|entry| contain(|| drop(entry)));
        }
    }

    fn remove_if_over(&mut self, stream: u64) {
        if self.streams.get(stream).is_some_and(|stream| stream.destroyed && stream.is_idle()) {
            self.streams.remove(stream);
        }
    }

    /// Removes an allocation, unless a command that is not complete uses it.
    pub(super) fn free(&mut self, call: &'static str, start: usize, place: Place) -> DriverResult<Block> {
        let Span { bytes, .. } = self.memory.find(call, start, place)?;
        // Records and waits that are over, and work that is skipped, use nothing.
        self.settle();
        let mut users = Vec::new();
        self.streams.iter().for_each(|(_, stream)| stream.users(start, bytes, &mut users));
        if !users.is_empty() {
            self.memory.give_up(start);
            return Err(fault::in_use(call, &users));
        }
        self.memory.remove(start).ok_or_else(|| fault::invalid_handle(call, "allocation"))
    }
}

/// Work that is to be carried out now, and then given to [`State::finish`].
pub(super) struct Next {
    pub stream: u64,
    pub tag: Tag,
    pub action: Action,
}
