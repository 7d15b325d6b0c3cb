//! [`Exchange`]: where staging slots change hands between the thread that runs a pipeline and those of its sources and sinks.
//!
//! The run hands a slot over as a [`Job`] and has it back when the job is answered. A slot has one owner at a time: the run, the
//! device (between the run's copy and its completion), or one of these threads. They never call the driver.

use std::collections::VecDeque;
use std::io::{self, ErrorKind as IoErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::functions::Failure;
use super::run::Chunk;
use super::shape::Shape;
use crate::error::ErrorKind;
use crate::io::{AnySink, AnySource};
use crate::unwind::{contain, panic_message};

/// What the run and the threads of its sources and sinks share.
pub(super) struct Exchange {
    state: Mutex<State>,
    changed: Condvar,
    /// Of the run's functions.
    pub(super) failure: Arc<Mutex<Option<Failure>>>,
    /// The first chunk that is not as it should be, once the functions are done.
    lacking: AtomicUsize,
    pub(super) ends: Vec<End>,
}

/// A source or a sink.
pub(super) struct End {
    /// Index into the plan's hosts.
    pub(super) host: usize,
    pub(super) shape: Shape,
    pub(super) is_sink: bool,
    /// The operations that copy from or to it, in order.
    pub(super) operations: Vec<usize>,
}

#[derive(Default)]
struct State {
    /// Grows with each change.
    version: u64,
    ends: Vec<Progress>,
}

#[derive(Default)]
struct Progress {
    jobs: VecDeque<Job>,
    /// Chunks that a source was asked for, or a sink given.
    given: usize,
    /// Chunks that it has filled, or accepted.
    done: usize,
    /// Of a source: the chunk that is not full, and its items.
    end: Option<(usize, usize)>,
    trouble: Option<Trouble>,
    /// No more jobs come.
    is_closed: bool,
    /// Its thread has finished.
    is_over: bool,
}

/// Why a source or a sink has stopped.
#[derive(Clone)]
pub(super) struct Trouble {
    /// Index into [`Exchange::ends`].
    pub(super) end: usize,
    /// `None` when everything had been written.
    pub(super) chunk: Option<usize>,
    error: Arc<io::Error>,
}

/// A chunk's staging slots, handed over until the job is answered.
struct Job {
    chunk: Chunk,
    elements: usize,
    bytes: usize,
    slot: *mut u8,
    /// Of the other operations that read the same source.
    more: Vec<*mut u8>,
}

// SAFETY: the slots are nobody else's until the job is answered: `ask` and `offer` require that.
unsafe impl Send for Job {}

impl Exchange {
    pub(super) fn new(ends: Vec<End>) -> Self {
        let state = State { version: 0, ends: ends.iter().map(|_| Progress::default()).collect() };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            failure: Arc::default(),
            lacking: AtomicUsize::new(usize::MAX),
            ends,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing under the lock panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state();
        state.version += 1;
        let result = change(&mut state);
        drop(state);
        self.changed.notify_all();
        result
    }

    /// To be asked before what is then waited for.
    pub(super) fn version(&self) -> u64 {
        self.state().version
    }

    /// Waits until something has changed since, or as long as this.
    pub(super) fn wait(&self, version: u64, longest: Duration) {
        let state = self.state();
        let unchanged = |state: &mut State| state.version == version;
        drop(
            self.changed
                .wait_timeout_while(state, longest, unchanged)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    fn job(&self, end: usize, chunk: Chunk, slot: *mut u8, more: Vec<*mut u8>) -> Job {
        let shape = self.ends[end].shape;
        let items = shape.items(chunk.len);
        // Of elements without bytes there may be any number.
        let (elements, bytes) = (items.saturating_mul(shape.per_item), items.saturating_mul(shape.bytes()));
        Job { chunk, elements, bytes, slot, more }
    }

    /// Hands a source the slots for its next chunk, to be filled alike.
    ///
    /// # Safety
    /// Each is as long as the chunk, initialised, aligned for the elements, and accessed by nobody else until the source has
    /// [filled](Self::has_filled) the chunk or its thread is over.
    pub(super) unsafe fn ask(&self, end: usize, chunk: Chunk, slot: *mut u8, more: Vec<*mut u8>) {
        let job = self.job(end, chunk, slot, more);
        self.change(|state| {
            let progress = &mut state.ends[end];
            progress.given = chunk.index + 1;
            progress.jobs.push_back(job);
        });
    }

    /// Hands a sink the slot with its next chunk; `false` if it takes no more.
    ///
    /// # Safety
    /// As [`ask`](Self::ask), until the sink has [accepted](Self::accepted) it.
    pub(super) unsafe fn offer(&self, end: usize, chunk: Chunk, slot: *mut u8) -> bool {
        let failed =
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|of| of.lacking);
        // What comes after a function that has failed is not what it should be.
        if chunk.index >= failed.unwrap_or(usize::MAX).min(self.lacking.load(Ordering::Relaxed)) {
            return false;
        }
        let job = self.job(end, chunk, slot, Vec::new());
        self.change(|state| {
            let progress = &mut state.ends[end];
            // In order and none left out, whatever has failed.
            let takes = progress.trouble.is_none() && !progress.is_closed && progress.given == chunk.index;
            if takes {
                progress.given += 1;
                progress.jobs.push_back(job);
            }
            takes
        })
    }

    /// The chunk that a source is to be asked for next. Behind its end it has none, but does not answer either: what the device is
    /// told does not depend on how quick its thread is.
    pub(super) fn next(&self, end: usize) -> usize {
        self.state().ends[end].given
    }

    /// Whether a source has filled a chunk, as far as it goes.
    pub(super) fn has_filled(&self, end: usize, chunk: usize) -> bool {
        chunk < self.state().ends[end].done
    }

    /// Whether a sink has no more to do with a chunk: it has accepted it, or takes no more.
    pub(super) fn is_through(&self, end: usize, chunk: usize) -> (bool, bool) {
        let state = self.state();
        let progress = &state.ends[end];
        let accepted = chunk < progress.done;
        (accepted || progress.is_over, accepted)
    }

    /// The items of a chunk that a source has filled: all, or fewer at its end.
    pub(super) fn items(&self, end: usize, chunk: Chunk) -> usize {
        match self.state().ends[end].end {
            Some((at, items)) if at == chunk.index => items,
            Some((at, _)) if at < chunk.index => 0,
            _ => chunk.len,
        }
    }

    /// The chunks that all sinks have accepted.
    pub(super) fn accepted_by_all(&self) -> Option<usize> {
        let state = self.state();
        let sinks = self.ends.iter().zip(&state.ends).filter(|(end, _)| end.is_sink);
        sinks.map(|(_, progress)| progress.done).min()
    }

    /// The chunks that the sink of this host has accepted; `None` if it is no sink.
    pub(super) fn accepted(&self, host: usize) -> Option<usize> {
        let end = self.ends.iter().position(|end| end.host == host && end.is_sink)?;
        Some(self.state().ends[end].done)
    }

    /// Why a sink has stopped, or a source that is waited for: a source may have stopped chunks ahead.
    pub(super) fn trouble(&self, before: usize) -> Option<Trouble> {
        let state = self.state();
        let matters = |(end, progress): (&End, &Progress)| {
            let trouble = progress.trouble.clone()?;
            (end.is_sink || trouble.chunk.is_none_or(|chunk| chunk < before)).then_some(trouble)
        };
        self.ends.iter().zip(&state.ends).find_map(matters)
    }

    /// Whether a function of the run has failed.
    pub(super) fn function_has_failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The functions are done, and this is the first chunk that lacks what they were to do.
    pub(super) fn lacks(&self, chunk: usize) {
        self.lacking.store(chunk, Ordering::Relaxed);
    }

    /// Nothing more is asked of sources, or given to sinks.
    pub(super) fn close(&self, sinks: bool) {
        self.change(|state| {
            for (end, progress) in self.ends.iter().zip(&mut state.ends) {
                progress.is_closed |= end.is_sink == sinks;
            }
        });
    }

    /// Waits until the sinks have written what they were given.
    pub(super) fn finish_sinks(&self) {
        self.close(true);
        let state = self.state();
        let at_work = |state: &mut State| {
            self.ends.iter().zip(&state.ends).any(|(end, progress)| end.is_sink && !progress.is_over)
        };
        drop(self.changed.wait_while(state, at_work).unwrap_or_else(PoisonError::into_inner));
    }

    /// The next job of a source or a sink; `None` when there are no more.
    fn take(&self, end: usize) -> Option<Job> {
        let is_sink = self.ends[end].is_sink;
        let waits = |state: &mut State| {
            let progress = &state.ends[end];
            progress.jobs.is_empty() && !progress.is_closed
        };
        let state = self.changed.wait_while(self.state(), waits);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let progress = &mut state.ends[end];
        // What was to be read is of no use any more; what was given is to be written.
        if progress.is_closed && !is_sink { None } else { progress.jobs.pop_front() }
    }

    /// A source has filled so many items of a chunk, or a sink has taken all; whether there may be more.
    fn answer(&self, end: usize, chunk: Chunk, items: io::Result<usize>) -> bool {
        self.change(|state| {
            let progress = &mut state.ends[end];
            match items {
                Ok(items) => {
                    progress.done = chunk.index + 1;
                    if items < chunk.len {
                        progress.end = Some((chunk.index, items));
                    }
                    items == chunk.len
                }
                Err(error) => {
                    let error = Arc::new(error);
                    progress.trouble = Some(Trouble { end, chunk: Some(chunk.index), error });
                    false
                }
            }
        })
    }

    fn is_over(&self, end: usize, failed: Option<io::Error>) {
        self.change(|state| {
            let progress = &mut state.ends[end];
            progress.is_over = true;
            if let Some(error) = failed {
                progress.trouble.get_or_insert(Trouble { end, chunk: None, error: Arc::new(error) });
            }
        });
    }

    /// What the thread of a source does.
    pub(super) fn read(&self, end: usize, mut source: Box<dyn AnySource + '_>) {
        let per_item = self.ends[end].shape.per_item;
        while let Some(Job { chunk, elements, bytes, slot, more }) = self.take(end) {
            let items = guarded(|| {
                // SAFETY: `ask`'s caller has promised that the slot is this thread's until the answer.
                let filled = unsafe { source.read(chunk, slot, elements)? };
                if filled > elements {
                    let message = format!("it says that it has filled {filled} elements of {elements}");
                    return Err(io::Error::new(IoErrorKind::InvalidData, message));
                }
                let rest = filled % per_item;
                if rest != 0 {
                    let message = format!("it ended {rest} elements into an item of {per_item}");
                    return Err(io::Error::new(IoErrorKind::UnexpectedEof, message));
                }
                Ok(filled / per_item)
            });
            for other in more {
                // SAFETY: as above; slots do not overlap.
                unsafe { std::ptr::copy_nonoverlapping(slot, other, bytes) };
            }
            if !self.answer(end, chunk, items) {
                break;
            }
        }
        contain(|| drop(source));
        self.is_over(end, None);
    }

    /// What the thread of a sink does.
    pub(super) fn write(&self, end: usize, mut sink: Box<dyn AnySink + '_>) {
        let mut goes_on = true;
        while goes_on && let Some(Job { chunk, elements, slot, .. }) = self.take(end) {
            // SAFETY: `offer`'s caller has promised that the slot is this thread's until the answer.
            let written = guarded(|| unsafe { sink.write(chunk, slot, elements) });
            goes_on = self.answer(end, chunk, written.map(|()| chunk.len));
        }
        let failed = if goes_on { guarded(|| sink.finish()).err() } else { None };
        contain(|| drop(sink));
        self.is_over(end, failed);
    }
}

/// What the user's code returns; its panic is an error like any other.
fn guarded<R>(call: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|panic| Err(io::Error::other(format!("it panicked: {}", panic_message(panic)))))
}

impl Trouble {
    pub(super) fn kind(&self, host: &'static str, is_sink: bool) -> ErrorKind {
        let error = Arc::clone(&self.error);
        if is_sink { ErrorKind::Sink { host, error } } else { ErrorKind::Source { host, error } }
    }
}

/// Ends the threads of sources and sinks when it is dropped: however the run ends, it can wait for them.
pub(super) struct Closes<'e>(pub(super) &'e Exchange);

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        self.0.close(false);
        self.0.close(true);
    }
}
