//! [`SlotExchange`]: passes staging slots between the thread that runs a pipeline and the side that fills or
//! empties them: the thread of a source or a sink, or a caller's [`Pusher`](super::Pusher) or
//! [`Puller`](super::Puller).
//!
//! The run gives a slot away as a [`Job`] and gets it back when the job is answered. A thread keeps its job
//! while the user's code is at work, and the run waits for it. A caller may go away with a job unanswered: so
//! its job stays in the exchange, is used only under a lock, and the run may take it back. The README of the
//! parent folder has the argument for all this.

mod caller;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use super::slots;
use super::wakeup::Wakeup;
use crate::base::chunk::Chunk;
use crate::base::error::Error;
use crate::base::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, OnceLock, Ordering, PoisonError};

/// One source or sink of a run, or the caller in its place.
#[derive(Debug)]
pub(crate) struct SlotExchange {
    /// Notified for the side that fills or empties the slots.
    wakeup: Arc<Wakeup>,
    run: OnceLock<Run>,
    state: Mutex<HandState>,
    /// The hand of a caller. Locked before the state.
    hand: Mutex<Hand>,
    /// The number of chunks that a source was asked for, or a sink given.
    given: AtomicUsize,
    /// The number of chunks that it has filled, or accepted.
    done: AtomicUsize,
    /// The number of a source's chunks, once it has no more.
    end: AtomicUsize,
    /// The number of chunks for which a puller waits.
    wanted: AtomicUsize,
    has_trouble: AtomicBool,
    /// Set when no more jobs come.
    is_closed: AtomicBool,
    /// Set when its thread has finished, or the run goes on without it.
    is_over: AtomicBool,
}

/// The exchange's view of its run.
#[derive(Debug)]
struct Run {
    wakeup: Arc<Wakeup>,
    host: &'static str,
    per_item: usize,
    /// Whether the filling side determines the length of chunks.
    is_endless: bool,
}

#[derive(Debug, Default)]
struct HandState {
    jobs: VecDeque<Job>,
    /// Chunks of a source with fewer items than they could have, and their numbers of items.
    short: VecDeque<(usize, usize)>,
    trouble: Option<Trouble>,
    /// Whether the caller discards results.
    discards: bool,
    /// How the run has ended.
    outcome: Option<Outcome>,
}

#[derive(Debug, Clone)]
enum Outcome {
    Well,
    Failed(Error),
    /// The run has unwound, or has never begun.
    Unknown,
}

/// The work that a caller has begun.
#[derive(Debug, Default)]
struct Hand {
    job: Option<Job>,
    /// The number of elements of the job that are filled or taken, or of the kept results that are taken.
    through: usize,
    /// Results that the run has moved out of their slots.
    kept: VecDeque<Kept>,
    /// Set when nothing more is pushed.
    has_ended: bool,
    /// The number of chunks pulled to their end.
    pulled: usize,
}

#[derive(Debug)]
struct Kept {
    elements: usize,
    bytes: Vec<u8>,
}

/// The reason why a source or a sink has stopped.
#[derive(Debug, Clone)]
pub(crate) struct Trouble {
    /// `None` if everything had been written.
    pub(crate) chunk: Option<usize>,
    pub(crate) error: Arc<io::Error>,
}

/// A chunk's staging slots, given away until the job is answered.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) chunk: Chunk,
    pub(crate) elements: usize,
    pub(crate) bytes: usize,
    pub(crate) slot: *mut u8,
    /// The slots of the other operations that read the same source.
    pub(crate) more: Vec<*mut u8>,
}

// SAFETY: the slots are nobody else's until the job is answered or taken back: `SlotExchange::give` requires
// that.
unsafe impl Send for Job {}

impl Job {
    /// Copies the first slot's contents to the other slots.
    ///
    /// # Safety
    /// The slots are the caller's, and `bytes` bytes of the first one are filled.
    pub(crate) unsafe fn fill_others(&self, bytes: usize) {
        for &other in &self.more {
            // SAFETY: the caller's promise.
            unsafe { slots::copy(self.slot, other, bytes) };
        }
    }
}

/// The outcome of moving elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Moved {
    /// The number of elements moved, at least one.
    Some(usize),
    /// There is no slot now.
    None,
    /// There will be no slot any more.
    Over,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under the locks panics.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SlotExchange {
    /// `wakeup` is notified for the side that fills or empties the slots.
    pub(crate) fn new(wakeup: Arc<Wakeup>) -> Arc<Self> {
        Arc::new(Self {
            wakeup,
            run: OnceLock::new(),
            state: Mutex::default(),
            hand: Mutex::default(),
            given: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            end: AtomicUsize::new(usize::MAX),
            wanted: AtomicUsize::new(0),
            has_trouble: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        })
    }

    pub(crate) fn wakeup(&self) -> &Wakeup {
        &self.wakeup
    }

    fn changed(&self) {
        if let Some(run) = self.run.get() {
            run.wakeup.notify();
        }
    }

    // Methods of the run.

    /// Attaches a run, whose wakeup is notified of each change, and an argument with so many elements an
    /// item.
    pub(crate) fn attach(
        &self,
        wakeup: &Arc<Wakeup>,
        (host, per_item): (&'static str, usize),
        is_endless: bool,
    ) {
        // Under the lock, so that the run sees everything that a caller has announced without finding one
        // here.
        let _state = locked(&self.state);
        let _ = self.run.set(Run { wakeup: Arc::clone(wakeup), host, per_item, is_endless });
    }

    /// Gives slots away, to be filled with the same data or to be emptied. Returns `false` if nobody takes
    /// them: the exchange is closed, has stopped, or this is not a sink's next chunk.
    ///
    /// # Safety
    /// Each slot is as long as the job says, initialised, aligned to 64 bytes, and accessed by nobody else
    /// until the job is answered, or [taken back](Self::take_back) from a caller, or the thread at the other
    /// end is over.
    pub(crate) unsafe fn give(&self, job: Job, in_order: bool) -> bool {
        let index = job.chunk.index;
        let mut state = locked(&self.state);
        let is_next = !in_order || self.given.load(Ordering::Relaxed) == index;
        if !is_next || state.trouble.is_some() || self.is_closed.load(Ordering::Relaxed) {
            return false;
        }
        self.given.store(index + 1, Ordering::Release);
        if state.discards {
            self.done.store(index + 1, Ordering::Release);
            return true;
        }
        state.jobs.push_back(job);
        drop(state);
        self.wakeup.notify();
        true
    }

    /// Whether no more jobs come.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// The number of chunks that a source was asked for, or a sink given.
    pub(crate) fn given(&self) -> usize {
        self.given.load(Ordering::Acquire)
    }

    /// The number of chunks that it has filled, or accepted.
    pub(crate) fn done(&self) -> usize {
        self.done.load(Ordering::Acquire)
    }

    /// Whether a source has filled a chunk, if only in part.
    pub(crate) fn has_filled(&self, chunk: usize) -> bool {
        chunk < self.done() || self.end.load(Ordering::Acquire) <= chunk
    }

    /// The number of items with which a source has filled a chunk: all, or fewer. Forgets those of chunks that are
    /// more than `behind` chunks earlier.
    pub(crate) fn items(&self, chunk: Chunk, behind: usize) -> usize {
        let mut state = locked(&self.state);
        while state.short.front().is_some_and(|(index, _)| *index < chunk.index.saturating_sub(behind)) {
            state.short.pop_front();
        }
        match state.short.iter().find(|(index, _)| *index == chunk.index) {
            Some((_, items)) => *items,
            _ if self.end.load(Ordering::Acquire) <= chunk.index => 0,
            _ => chunk.len,
        }
    }

    /// Whether a source has no chunks from this one on.
    pub(crate) fn ends_before(&self, chunk: usize) -> bool {
        self.end.load(Ordering::Acquire) <= chunk
    }

    /// Whether the end of a source is known: it has no more data, or cannot go on.
    pub(crate) fn has_an_end(&self) -> bool {
        self.end.load(Ordering::Acquire) != usize::MAX || self.has_trouble.load(Ordering::Acquire)
    }

    /// Whether a puller waits for results that it was not given yet.
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire) > self.given()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    pub(crate) fn trouble(&self) -> Option<Trouble> {
        if !self.has_trouble.load(Ordering::Acquire) {
            return None;
        }
        locked(&self.state).trouble.clone()
    }

    /// Closes the exchange: no more jobs come.
    pub(crate) fn close(&self) {
        let state = locked(&self.state);
        self.is_closed.store(true, Ordering::Release);
        drop(state);
        self.wakeup.notify();
    }

    /// Takes back the slots that a puller was given, and keeps their contents for it. Returns whether there
    /// was memory for that; otherwise the slots stay with it.
    pub(crate) fn keep(&self) -> bool {
        let mut hand = locked(&self.hand);
        let mut state = locked(&self.state);
        let Hand { job, kept, .. } = &mut *hand;
        while job.is_some() || !state.jobs.is_empty() {
            // The job in the hand is the oldest.
            let in_hand = job.is_some();
            let Some(oldest) = job.as_ref().or(state.jobs.front()) else { break };
            let Job { chunk, elements, bytes, slot, .. } = *oldest;
            let mut copy = Vec::new();
            if copy.try_reserve_exact(bytes).is_err() {
                break;
            }
            // SAFETY: the slot is as long as that and initialised (`give`), and the caller's, whose lock this
            // thread has.
            unsafe { slots::append(slot, bytes, &mut copy) };
            if in_hand {
                *job = None;
            } else {
                state.jobs.pop_front();
            }
            kept.push_back(Kept { elements, bytes: copy });
            self.done.store(chunk.index + 1, Ordering::Release);
        }
        let is_all = job.is_none() && state.jobs.is_empty();
        drop((state, hand));
        self.wakeup.notify();
        is_all
    }

    /// Takes all slots back from a caller, which has none when this returns, and gets no more.
    pub(crate) fn take_back(&self) {
        let mut hand = locked(&self.hand);
        let mut state = locked(&self.state);
        self.is_closed.store(true, Ordering::Release);
        // A half-filled slot is discarded.
        hand.job = None;
        state.jobs.clear();
        self.is_over.store(true, Ordering::Release);
    }

    /// Tells the caller that the run is over. Only the first call counts.
    pub(crate) fn end_run(&self, outcome: Result<(), Option<Error>>) {
        let outcome = match outcome {
            Ok(()) => Outcome::Well,
            Err(Some(error)) => Outcome::Failed(error),
            Err(None) => Outcome::Unknown,
        };
        locked(&self.state).outcome.get_or_insert(outcome);
        self.wakeup.notify();
    }

    // Methods of a thread.

    /// Waits for the next job; `None` when there are no more. `is_sink`: given jobs are still done after
    /// closing.
    pub(crate) fn wait_for_job(&self, is_sink: bool) -> Option<Job> {
        loop {
            let version = self.wakeup.version();
            {
                let mut state = locked(&self.state);
                let is_closed = self.is_closed.load(Ordering::Relaxed);
                // Data not yet read are not needed any more; data already given are still to be written.
                if is_closed && !is_sink {
                    return None;
                }
                if let Some(job) = state.jobs.pop_front() {
                    return Some(job);
                }
                if is_closed {
                    return None;
                }
            }
            self.wakeup.wait(version);
        }
    }

    /// Notes that a source has filled a chunk with `items` items. `is_last`: it has no more.
    pub(crate) fn filled(&self, chunk: Chunk, items: usize, is_last: bool) {
        if items < chunk.len {
            locked(&self.state).short.push_back((chunk.index, items));
        }
        if is_last {
            self.end.store(chunk.index + 1, Ordering::Release);
        }
        self.done.store(chunk.index + 1, Ordering::Release);
        self.changed();
    }

    /// Notes that a sink has accepted a chunk.
    pub(crate) fn accepted(&self, chunk: Chunk) {
        self.done.store(chunk.index + 1, Ordering::Release);
        self.changed();
    }

    /// Notes that a source or a sink cannot go on.
    pub(crate) fn failed(&self, chunk: Option<usize>, error: io::Error) {
        let trouble = Trouble { chunk, error: Arc::new(error) };
        locked(&self.state).trouble.get_or_insert(trouble);
        self.has_trouble.store(true, Ordering::Release);
        self.changed();
    }

    /// Notes that the thread has finished.
    pub(crate) fn finished(&self) {
        self.is_over.store(true, Ordering::Release);
        self.changed();
    }
}
