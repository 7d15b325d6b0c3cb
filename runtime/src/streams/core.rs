//! [`StreamCore`]: a driver's stream, and what is known of the operations on it.

use std::ops::Range;
use std::panic::Location;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use super::capture::Capturing;
use super::operation::Operation;
use super::progress::{Clock, Progress};
use super::registry;
use super::uses::{Caller, Memory, Use, Uses};
use crate::device::Device;
use crate::driver::{DriverResult, RawStream};
use crate::error::{DriverError, Error, ErrorKind, Result};
use crate::plan::Priority;

/// What kind of stream it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It has nothing to do with the null stream.
    NonBlocking,
    /// It waits for the null stream, and that for it.
    Blocking,
    /// The legacy default stream.
    Null,
    /// The default stream of one thread. It is a blocking one.
    PerThread(ThreadId),
}

impl Kind {
    /// Whether it and the null stream wait for each other.
    fn is_legacy(self) -> bool {
        self != Self::NonBlocking
    }
}

/// A stream. It waits for its operations when it is dropped.
#[derive(Debug)]
pub(crate) struct StreamCore {
    pub(super) device: Device,
    pub(super) raw: RawStream,
    pub(super) kind: Kind,
    pub(super) level: i32,
    pub(super) progress: Arc<Progress>,
    state: Mutex<State>,
    /// What went wrong while somebody else waited.
    unreported: Mutex<Option<Error>>,
    pub(super) callbacks: Arc<Outstanding>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// What the next operation comes after, its own stream apart.
    pub(super) clock: Clock,
    /// Operations so far, those that were refused too.
    pub(super) enqueued: u64,
    /// It is not enqueued but becomes part of a graph.
    capturing: Option<Capturing>,
}

impl State {
    /// What the stream's operations become, if they are not carried out.
    pub(super) fn capturing(&mut self) -> &mut Option<Capturing> {
        // Streams that had joined leave when the graph is captured, unasked.
        self.capturing.take_if(|capturing| capturing.is_done());
        &mut self.capturing
    }
}

/// Memory that an operation uses.
#[derive(Clone)]
pub(crate) struct Used {
    pub(super) memory: Arc<dyn Memory>,
    pub(super) bytes: Range<u64>,
    pub(super) write: bool,
}

impl StreamCore {
    pub(super) fn new(device: &Device, kind: Kind, priority: Priority) -> Result<Arc<Self>> {
        let driver = device.driver();
        let level = priority.level(driver.info().priorities);
        let raw = match kind {
            Kind::NonBlocking => driver.create_stream(level)?,
            Kind::Blocking => driver.create_blocking_stream(level)?,
            Kind::Null => driver.null_stream()?,
            Kind::PerThread(_) => driver.per_thread_stream()?,
        };
        let core = Arc::new(Self {
            device: device.clone(),
            raw,
            kind,
            level,
            progress: Arc::default(),
            state: Mutex::default(),
            unreported: Mutex::default(),
            callbacks: Arc::default(),
        });
        driver.registry().add_stream(&core);
        Ok(core)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Nothing of the user's runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses the stream of another thread.
    pub(super) fn check_thread(&self) -> Result<()> {
        match self.kind {
            Kind::PerThread(thread) if thread != thread::current().id() => {
                Err(ErrorKind::StreamOfAnotherThread.into())
            }
            _ => Ok(()),
        }
    }

    /// Enqueues an operation that uses this memory.
    ///
    /// # Safety
    /// The operation stays within that memory, and of the memory only within what was checked to be there. The memory stays as
    /// long as a use of it is noted. What else the operation needs stays until the stream has got there.
    pub(super) unsafe fn enqueue(
        self: &Arc<Self>,
        caller: Caller,
        memory: &[Used],
        checked: bool,
        operation: Operation<'_>,
    ) -> Result<()> {
        self.check_thread()?;
        let _legacy = self.legacy();
        let mut state = self.state();
        if let Some(capturing) = state.capturing() {
            let tag = self.device.driver().registry().tag(caller, capturing.len() as u64);
            // SAFETY: the caller's promise.
            return unsafe { capturing.record(caller, tag, memory, checked, operation) };
        }
        self.join_legacy(&mut state);
        state.enqueued += 1;
        let number = state.enqueued;
        for Used { memory, bytes, write } in memory {
            let new = Use {
                progress: Arc::clone(&self.progress),
                number,
                stream: Arc::downgrade(self),
                caller,
                write: *write,
            };
            let noted = memory.uses().note(bytes.clone(), &new, &state.clock, checked);
            noted.map_err(|earlier| race(&earlier, &new))?;
        }
        let tag = self.device.driver().registry().tag(caller, number);
        // SAFETY: the caller's promise; the stream is live.
        let enqueued = unsafe { operation.enqueue(self.device.driver(), self.raw, tag) };
        drop(state);
        enqueued.map_err(|error| self.explain(error, Some(caller)))
    }

    /// Keeps others from streams of the null stream's kind, if it is one.
    pub(super) fn legacy(&self) -> Option<MutexGuard<'_, ()>> {
        self.kind.is_legacy().then(|| self.device.driver().registry().legacy())
    }

    /// What a stream of the null stream's kind comes after without a word.
    pub(super) fn join_legacy(&self, state: &mut State) {
        if !self.kind.is_legacy() {
            return;
        }
        for other in self.device.driver().registry().legacy_streams() {
            let is_related = (self.kind == Kind::Null) != (other.kind == Kind::Null);
            if is_related && !std::ptr::eq(&raw const *other, self) {
                // Not locked by anybody else, who would have to be the one for streams of this kind.
                let its = other.state();
                state.clock.join(&its.clock);
                state.clock.advance(&other.progress, its.enqueued);
            }
        }
    }

    /// What comes before a point after the operation enqueued last.
    pub(super) fn now(&self, state: &State) -> Clock {
        let mut clock = state.clock.clone();
        clock.advance(&self.progress, state.enqueued);
        clock
    }

    /// Waits on the host for everything enqueued so far.
    pub(super) fn synchronize(&self) -> Result<()> {
        self.check_thread()?;
        self.drain(true)?;
        match self.unreported.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Waits on the host for everything enqueued so far. Nothing is left after an error either, unless it cannot be waited
    /// for at all.
    fn drain(&self, callbacks: bool) -> Result<()> {
        let (clock, issued) = {
            let mut state = self.state();
            if state.capturing().is_some() {
                return Err(ErrorKind::Capturing { what: "waited for" }.into());
            }
            (self.now(&state), self.callbacks.issued())
        };
        self.device.driver().may_wait().map_err(|error| self.explain(error, None))?;
        let outcome = self.wait_on_device();
        // The first wait reports what has gone wrong; if the second succeeds, nothing is left.
        if outcome.is_ok() || self.wait_on_device().is_ok() {
            clock.is_over();
        }
        if callbacks && !registry::is_callback() {
            self.callbacks.wait(issued);
        }
        outcome.map_err(|error| self.explain(error, None))
    }

    fn wait_on_device(&self) -> DriverResult<()> {
        let driver = self.device.driver();
        match self.kind {
            // That number is another stream to another thread.
            Kind::PerThread(thread) if thread != thread::current().id() => driver.synchronize_device(),
            // SAFETY: the stream is live.
            _ => unsafe { driver.synchronize_stream(self.raw) },
        }
    }

    /// Waits for the first `number` operations; `false` if it cannot be waited for.
    pub(super) fn wait_for(&self, number: u64) -> bool {
        if self.progress.has_reached(number) {
            return true;
        }
        if let Err(error) = self.drain(false) {
            self.keep(error);
        }
        self.progress.has_reached(number)
    }

    /// An error that the stream's next synchronisation reports.
    pub(super) fn keep(&self, error: Error) {
        self.unreported.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Whether everything enqueued so far is complete.
    pub(super) fn query(&self) -> Result<bool> {
        self.check_thread()?;
        let clock = {
            let mut state = self.state();
            if state.capturing().is_some() {
                return Err(ErrorKind::Capturing { what: "asked" }.into());
            }
            self.now(&state)
        };
        // SAFETY: the stream is live.
        let done = unsafe { self.device.driver().query_stream(self.raw) };
        let done = done.map_err(|error| self.explain(error, None))?;
        if done {
            clock.is_over();
        }
        Ok(done)
    }

    /// Notes that the operation enqueued last is a use of something that is no memory.
    pub(super) fn note_last(self: &Arc<Self>, uses: &Uses, caller: Caller) {
        let state = self.state();
        let (progress, stream) = (Arc::clone(&self.progress), Arc::downgrade(self));
        let last = Use { progress, number: state.enqueued, stream, caller, write: true };
        // What does not matter is never refused.
        let _ = uses.note(0..1, &last, &state.clock, false);
    }

    /// A driver's error, of the operation that is known to be at fault.
    pub(super) fn explain(&self, error: DriverError, caller: Option<Caller>) -> Error {
        registry::explain(self.device.driver().registry(), error, caller)
    }
}

impl Drop for StreamCore {
    fn drop(&mut self) {
        let enqueued = self.state().enqueued;
        let over = self.wait_for(enqueued);
        self.device.driver().registry().remove_stream(self);
        if matches!(self.kind, Kind::NonBlocking | Kind::Blocking) && over {
            // SAFETY: the stream is live and destroyed here only. One that cannot be waited for stays.
            let _ = unsafe { self.device.driver().destroy_stream(self.raw) };
        }
    }
}

/// What nothing orders.
pub(super) fn race(earlier: &Use, later: &Use) -> Error {
    raced((earlier.caller, earlier.write), (later.caller, later.write))
}

pub(super) fn raced(earlier: (Caller, bool), later: (Caller, bool)) -> Error {
    let [earlier_touch, later_touch] =
        [earlier, later].map(|(caller, writes)| Box::new(caller.touch(writes)));
    Error::new(ErrorKind::Race { earlier: earlier_touch, later: later_touch }).at(later.0.place())
}

/// Where the user's call is.
#[track_caller]
pub(super) fn caller(what: &'static str) -> Caller {
    Caller { what, at: Location::caller() }
}

/// Callbacks that a stream was given, and those that have returned or never will be called.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    issued: Mutex<u64>,
    over: Mutex<u64>,
    changed: Condvar,
}

impl Outstanding {
    pub(super) fn issue(&self) {
        *self.issued.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn issued(&self) -> u64 {
        *self.issued.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_over(&self) {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    fn wait(&self, issued: u64) {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(over, |over| *over < issued).unwrap_or_else(PoisonError::into_inner));
    }
}
