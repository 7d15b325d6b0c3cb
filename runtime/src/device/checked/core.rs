//! [`StreamCore`]: a driver's stream, and what is known about the operations on it.

mod waits;

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

pub(crate) use self::waits::reach;
use super::Outstanding;
use super::capture::Capturing;
use crate::base::error::{
    Detail, DriverError, Error, RACE_OF_PEERS, RACE_OF_STRANGERS, RACE_OF_STREAMS, Result,
};
use crate::base::plan::Priority;
use crate::device::Device;
use crate::device::pending::progress::{Clock, Handle, Progress};
use crate::device::pending::uses::{Next, Refused, Replaced, Use, Used, Uses};
use crate::device::pending::{Caller, Callers, Kind, Launches, Registry, SharedFaults, Stream, raced};
use crate::driver::{Command, Driver, RawStream, Tag};

/// A stream. It waits for its operations when it is dropped.
#[derive(Debug)]
pub(crate) struct StreamCore {
    pub(crate) device: Device,
    pub(crate) raw: RawStream,
    pub(crate) kind: Kind,
    pub(crate) level: i32,
    /// Whether the driver tells which operation has failed.
    is_told: bool,
    pub(crate) progress: Arc<Progress>,
    state: Mutex<CoreState>,
    /// The error that was kept while somebody else waited.
    unreported: Mutex<Option<Error>>,
    pub(crate) callbacks: Arc<Outstanding>,
    /// Keeps a stream that somebody has lent.
    lent: Option<Keep>,
}

/// Keeps an object of another library.
pub(crate) struct Keep(#[allow(dead_code, reason = "it is kept")] pub(crate) Box<dyn Any + Send + Sync>);

impl fmt::Debug for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keep")
    }
}

#[derive(Debug, Default)]
pub(crate) struct CoreState {
    /// Everything that the next operation comes after, apart from what it comes after on its own stream.
    pub(crate) clock: Clock,
    /// The number of operations so far, including those that were refused.
    pub(crate) enqueued: u64,
    /// The kernels in Rust that were launched since the last wait.
    launches: Launches,
    /// The graph that operations become part of, instead of being enqueued.
    capturing: Option<Capturing>,
    /// What the operation that is being enqueued has taken the place of. It is empty before and after.
    replaced: Vec<Replaced>,
}

impl CoreState {
    /// The graph that the stream's operations become part of, if they are not carried out.
    #[inline]
    pub(crate) fn capturing(&mut self) -> &mut Option<Capturing> {
        if self.capturing.is_some() {
            self.leave_what_is_captured();
        }
        &mut self.capturing
    }

    /// Streams that had joined leave the capture, once the graph is captured.
    #[cold]
    fn leave_what_is_captured(&mut self) {
        self.capturing.take_if(|capturing| capturing.is_done());
    }
}

/// An operation that is enqueued.
struct Enqueued<'e> {
    caller: Caller,
    memory: &'e [Used<'e>],
    /// The memory, and all other memory with some of its bytes.
    all: &'e [Used<'e>],
    checked: bool,
    kernels: &'e [Arc<SharedFaults>],
}

impl StreamCore {
    pub(crate) fn new(device: &Device, kind: Kind, priority: Priority) -> Result<Arc<Self>> {
        let driver = device.driver();
        let level = priority.level(driver.info().priorities);
        let raw = match kind {
            Kind::NonBlocking => driver.create_stream(level)?,
            Kind::Blocking => driver.create_blocking_stream(level)?,
            Kind::Null => driver.null_stream()?,
            Kind::PerThread(_) => driver.per_thread_stream()?,
            // A lent stream comes with its handle.
            Kind::Lent => return Err(Detail::Skipped.into()),
        };
        Ok(Self::of(device, (kind, level), raw, None))
    }

    /// Another library's stream.
    pub(crate) fn lent(device: &Device, raw: RawStream, keep: Keep) -> Arc<Self> {
        Self::of(device, (Kind::Lent, 0), raw, Some(keep))
    }

    fn of(device: &Device, (kind, level): (Kind, i32), raw: RawStream, lent: Option<Keep>) -> Arc<Self> {
        let of_a_thread = matches!(kind, Kind::PerThread(_)) && !device.is_on_host();
        let core = Arc::new(Self {
            device: device.clone(),
            raw,
            kind,
            level,
            is_told: Callers::are_told(device.driver()),
            progress: Progress::of(Box::new(device.clone()), raw, of_a_thread),
            state: Mutex::default(),
            unreported: Mutex::default(),
            callbacks: Arc::default(),
            lent,
        });
        core.progress.is_of(Arc::downgrade(&core) as _);
        device.registry().add_stream(kind, Arc::downgrade(&core) as _);
        core
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, CoreState> {
        // No code of the user's runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What enqueues an operation, if the calling thread may do so.
    #[inline(always)]
    pub(crate) fn enter(&self, caller: Caller) -> Result<(&dyn Driver, &Registry)> {
        if matches!(self.kind, Kind::PerThread(_)) {
            self.check_thread()?;
        }
        let (driver, registry) = self.device.parts();
        // A function of a stream may not enqueue: the stream that it would enqueue on may wait for it. This is asked
        // before anything is locked: whoever has the lock may be waiting, in the driver, for that function.
        match driver.may_wait() {
            Ok(()) => Ok((driver, registry)),
            Err(error) => Err(self.explain(error, Some(caller))),
        }
    }

    /// The name of an operation, by which the driver may say that it has failed.
    #[inline]
    pub(crate) fn tag(&self, caller: Caller, number: u64) -> Tag {
        if self.is_told {
            return told(caller, number);
        }
        Tag { pipeline: Tag::BY_HAND, operation: 0, chunk: number }
    }

    /// Refuses the stream of another thread.
    #[inline(never)]
    pub(crate) fn check_thread(&self) -> Result<()> {
        match self.kind {
            Kind::PerThread(thread) if thread != thread::current().id() => {
                Err(Detail::StreamOfAnotherThread.into())
            }
            _ => Ok(()),
        }
    }

    /// Enqueues a command that uses this memory, and launches these kernels in Rust.
    ///
    /// # Safety
    /// The command stays within that memory, and within the part of the memory that was checked to exist. The
    /// memory stays as long as a use of it is noted. Everything else that the command needs stays until the
    /// stream has got there.
    pub(crate) unsafe fn enqueue(
        self: &Arc<Self>,
        caller: Caller,
        memory: &[Used<'_>],
        checked: bool,
        command: Command<'_>,
        kernels: &[Arc<SharedFaults>],
    ) -> Result<()> {
        let (driver, registry) = self.enter(caller)?;
        let operation = Enqueued { caller, memory, all: memory, checked, kernels };
        if self.kind.is_legacy() || registry.has_overlaps() {
            // SAFETY: the caller's promise.
            return unsafe { self.enqueue_beside((driver, registry), operation, command) };
        }
        // SAFETY: the caller's promise.
        unsafe { self.enqueue_after(driver, operation, None, command) }
    }

    /// The same where streams wait for each other implicitly, or memory has bytes in common.
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    #[cold]
    #[inline(never)]
    unsafe fn enqueue_beside(
        self: &Arc<Self>,
        (driver, registry): (&dyn Driver, &Registry),
        operation: Enqueued<'_>,
        command: Command<'_>,
    ) -> Result<()> {
        // These are dropped last: the last handle of a stream waits for it, and so does the last handle of
        // memory.
        let overlapping = registry.overlaps(operation.memory);
        let others = self.legacy_others();
        let _legacy = self.legacy();
        let all = Used::and(operation.memory, overlapping.as_deref());
        let operation = Enqueued { all: all.as_deref().unwrap_or(operation.memory), ..operation };
        // SAFETY: the caller's promise.
        unsafe { self.enqueue_after(driver, operation, others.as_deref(), command) }
    }

    /// Enqueues an operation after all that these streams have enqueued.
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    // What few operations need is not part of the code of the others.
    #[inline(always)]
    unsafe fn enqueue_after(
        self: &Arc<Self>,
        driver: &dyn Driver,
        operation: Enqueued<'_>,
        others: Option<&[Arc<dyn Stream>]>,
        command: Command<'_>,
    ) -> Result<()> {
        let Enqueued { caller, memory, all, checked, kernels } = operation;
        let mut state = self.state();
        if state.capturing().is_some() {
            // SAFETY: the caller's promise.
            if unsafe { self.capture(&mut state, caller, (memory, checked), &command, kernels) }? {
                return Ok(());
            }
        }
        // A command that does nothing orders nothing. This holds for a graph too.
        if command.is_nothing() || matches!(&command, Command::Graph { nodes, .. } if nodes.is_nothing()) {
            return Ok(());
        }
        let joined = others.map(|others| self.with_legacy(&state, others));
        let CoreState { clock: known, enqueued, launches, replaced, .. } = &mut *state;
        // The number is taken even if the command is refused after all: uses that are noted by then have a
        // number of their own.
        *enqueued += 1;
        let clock = joined.as_ref().unwrap_or(known);
        let next = Next { progress: &self.progress, clock, number: *enqueued, caller };
        let mut has_any_failed = false;
        // Note 9: what nothing orders is refused; no wait is inserted.
        for (part, Used { uses, bytes, write, .. }) in all.iter().enumerate() {
            match uses.note(bytes, (&next, *write), checked, (part, replaced)) {
                Ok(has_failed) => has_any_failed |= has_failed,
                Err(refused) => {
                    let noted = &all[..part];
                    // A refused command is no use, since the driver was not asked.
                    put_back(noted, replaced);
                    noted.iter().for_each(|used| used.uses.forget(&used.bytes, &next));
                    return Err(self.refused(refused, (caller, *write)));
                }
            }
        }
        let tag = self.tag(caller, next.number);
        // Before it is enqueued, so that no wait misses it.
        kernels.iter().for_each(|faults| launches.add(faults, &self.progress, next.number));
        // SAFETY: the caller's promise; the stream is live.
        let outcome = unsafe { driver.enqueue(command, self.raw, tag) };
        match &outcome {
            Err(_) => {
                put_back(all, replaced);
                all.iter().for_each(|used| used.uses.is_refused(&used.bytes, &next));
            }
            Ok(()) => {
                replaced.clear();
                if has_any_failed {
                    all.iter().for_each(Used::is_taken);
                }
            }
        }
        // Note 11: only operations that were enqueued establish order.
        // The clock is updated only now, since the stream has waited now.
        if let (Ok(()), Some(joined)) = (&outcome, joined) {
            *known = joined;
        }
        drop(state);
        outcome.map_err(|error| self.explain(error, Some(caller)))
    }

    /// Makes a command part of the graph that is being captured; `false` if the graph was captured at this moment.
    ///
    /// # Safety
    /// As [`enqueue`](Self::enqueue), for every launch of the graph.
    #[cold]
    unsafe fn capture(
        &self,
        state: &mut CoreState,
        caller: Caller,
        (memory, checked): (&[Used<'_>], bool),
        command: &Command<'_>,
        kernels: &[Arc<SharedFaults>],
    ) -> Result<bool> {
        let Some(capturing) = &mut state.capturing else { return Ok(false) };
        let tag = self.tag(caller, capturing.len() as u64);
        // SAFETY: the caller's promise.
        let is_part = unsafe { capturing.record(caller, tag, memory, checked, command, kernels) }?;
        if !is_part {
            state.capturing = None;
        }
        Ok(is_part)
    }

    /// The error of an operation whose use of some memory is not noted.
    #[cold]
    fn refused(&self, refused: Refused, (caller, write): (Caller, bool)) -> Error {
        match refused {
            Refused::Race(earlier) => self.race(&earlier, (caller, write)),
            Refused::Held => Error::new(Detail::HeldByRun).at(caller.place()),
        }
    }

    /// The lock that keeps others from streams of the null stream's kind, if this is one.
    pub(crate) fn legacy(&self) -> Option<MutexGuard<'_, ()>> {
        self.kind.is_legacy().then(|| self.device.registry().legacy())
    }

    /// The streams that it waits for implicitly, if there are any.
    pub(crate) fn legacy_others(&self) -> Option<Vec<Arc<dyn Stream>>> {
        if self.kind.is_legacy() { self.others() } else { None }
    }

    #[cold]
    fn others(&self) -> Option<Vec<Arc<dyn Stream>>> {
        let mut others = self.device.registry().legacy_streams();
        others.retain(|other| (self.kind == Kind::Null) != (other.kind() == Kind::Null));
        (!others.is_empty()).then_some(others)
    }

    /// Everything that the next operation comes after, if it is enqueued.
    #[inline(never)]
    pub(crate) fn with_legacy(&self, state: &CoreState, others: &[Arc<dyn Stream>]) -> Clock {
        let mut clock = state.clock.clone();
        for other in others {
            // Whoever else has this lock waits for none that this thread has.
            clock.join(&other.clock());
        }
        clock
    }

    /// Everything before a point after the operation that was enqueued last.
    pub(crate) fn now(&self, state: &CoreState) -> Clock {
        let mut clock = state.clock.clone();
        clock.advance(&self.progress, state.enqueued);
        clock
    }

    /// Sets a clock to everything before that point. From now on the stream's own clock names the stream, too, so that both
    /// name the same streams the next time.
    pub(crate) fn set_to_now(&self, clock: &mut Clock, state: &mut CoreState) {
        state.clock.advance(&self.progress, state.enqueued);
        clock.set(&state.clock);
    }

    /// An error that the stream's next synchronisation reports.
    pub(crate) fn keep(&self, error: Error) {
        self.unreported.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Notes that the operations that others have enqueued here so far use this memory. They are noted even
    /// if that is an error, since they are under way.
    pub(crate) fn note_others(
        self: &Arc<Self>,
        caller: Caller,
        used: &Used<'_>,
        checked: bool,
    ) -> Result<()> {
        self.check_thread()?;
        self.device.may_wait()?;
        // These are dropped last: the last handle of a stream waits for it, and so does the last handle of
        // memory.
        let own = std::slice::from_ref(used);
        let overlapping = self.device.registry().overlaps(own);
        let all = Used::and(own, overlapping.as_deref());
        let others = self.legacy_others();
        let legacy = self.legacy();
        let mut state = self.state();
        let joined = others.as_ref().map(|others| self.with_legacy(&state, others));
        let CoreState { clock, enqueued, replaced, .. } = &mut *state;
        *enqueued += 1;
        if let Some(joined) = joined {
            *clock = joined;
        }
        let (mut earlier, mut is_noted) = (None, true);
        let next = Next { progress: &self.progress, clock, number: *enqueued, caller };
        for used in all.as_deref().unwrap_or(own) {
            earlier = earlier.or_else(|| used.uses.conflict(&used.bytes, used.write, &next));
            match used.uses.note(&used.bytes, (&next, used.write), false, (0, replaced)) {
                Ok(_) => used.is_taken(),
                Err(_) => is_noted = false,
            }
        }
        replaced.clear();
        drop((state, legacy));
        if !is_noted {
            // The run that holds the memory may give it back, and its owner free it, while it is still used
            // here.
            self.drain(true)?;
            return Err(Error::new(Detail::HeldByRun).at(caller.place()));
        }
        earlier.filter(|_| checked).map_or(Ok(()), |earlier| Err(self.race(&earlier, (caller, used.write))))
    }

    /// Notes that the operation that was enqueued last uses something that is not memory.
    pub(crate) fn note_last(self: &Arc<Self>, uses: &Uses, caller: Caller) {
        let mut state = self.state();
        let CoreState { clock, enqueued, replaced, .. } = &mut *state;
        let last = Next { progress: &self.progress, clock, number: *enqueued, caller };
        // A use that does not matter is never refused.
        let _ = uses.note(&(0..1), (&last, true), false, (0, replaced));
        replaced.clear();
    }

    /// The error of an operation here that nothing orders with an earlier one, perhaps of another device.
    #[cold]
    fn race(&self, earlier: &Use, later: (Caller, bool)) -> Error {
        let owner: &dyn Any = earlier.progress.owner();
        let help = match owner.downcast_ref::<Device>() {
            Some(its) if its.same(&self.device) => RACE_OF_STREAMS,
            Some(its) if self.device.is_peer_of(its) => RACE_OF_PEERS,
            _ => RACE_OF_STRANGERS,
        };
        raced((earlier.operation.caller, earlier.write()), later, help)
    }

    /// The error for a driver's error, with the operation that is known to be at fault.
    #[cold]
    pub(crate) fn explain(&self, error: Box<DriverError>, caller: Option<Caller>) -> Error {
        self.device.registry().callers().explain(error, caller)
    }
}

/// The name by which a driver tells of an operation.
#[cold]
fn told(caller: Caller, number: u64) -> Tag {
    Callers::tag(caller, number)
}

/// Adds again what the uses of an operation have taken the place of, since it is not enqueued.
#[cold]
fn put_back(noted: &[Used<'_>], replaced: &mut Vec<Replaced>) {
    for (part, used) in noted.iter().enumerate() {
        used.uses.put_back(replaced.iter().filter(|earlier| earlier.part == part));
    }
    replaced.clear();
}

impl Handle for StreamCore {
    fn wait_for(&self, number: u64) -> bool {
        if self.progress.has_reached(number) {
            return true;
        }
        if let Err(error) = self.drain(false) {
            self.keep(error);
        }
        self.progress.has_reached(number)
    }
}

impl Stream for StreamCore {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    fn enqueued(&self) -> u64 {
        self.state().enqueued
    }

    fn clock(&self) -> Clock {
        self.now(&self.state())
    }

    fn take_kept(&self) -> Option<Error> {
        self.unreported.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}
