//! [`SlotExchange`]: where staging slots change hands between the thread that runs a pipeline and whoever fills or empties them: the
//! thread of a source or a sink, or a caller's [`Pusher`](super::Pusher) or [`Puller`](super::Puller).
//!
//! The run gives a slot away as a [`Job`] and has it back when the job is answered. A thread keeps its job while the user's code is
//! at work, and the run waits for it. A caller may go away with a job unanswered: so that is in the exchange, is used under a lock only,
//! and the run may take it back. The argument for all this is in the README of this folder's parent.

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
    /// Notified for whoever fills or empties the slots.
    wakeup: Arc<Wakeup>,
    run: OnceLock<Run>,
    state: Mutex<HandState>,
    /// Of a caller. Locked before the state.
    hand: Mutex<Hand>,
    /// Chunks that a source was asked for, or a sink given.
    given: AtomicUsize,
    /// Chunks that it has filled, or accepted.
    done: AtomicUsize,
    /// Of a source: its chunks, once it has no more.
    end: AtomicUsize,
    /// Of a puller: as many chunks as it waits for.
    wanted: AtomicUsize,
    has_trouble: AtomicBool,
    /// No more jobs come.
    is_closed: AtomicBool,
    /// Its thread has finished, or the run does without it.
    is_over: AtomicBool,
}

/// What an exchange knows of the run that it is of.
#[derive(Debug)]
struct Run {
    wakeup: Arc<Wakeup>,
    host: &'static str,
    per_item: usize,
    /// Whether chunks are as long as whoever fills them says.
    is_endless: bool,
}

#[derive(Debug, Default)]
struct HandState {
    jobs: VecDeque<Job>,
    /// Chunks of a source that have fewer items than they might, and how many.
    short: VecDeque<(usize, usize)>,
    trouble: Option<Trouble>,
    /// Whether results are of no use to the caller.
    discards: bool,
    /// How the run has ended.
    outcome: Option<Outcome>,
}

#[derive(Debug, Clone)]
enum Outcome {
    Well,
    Failed(Error),
    /// It has unwound, or has never begun.
    Unknown,
}

/// What a caller has begun with.
#[derive(Debug, Default)]
struct Hand {
    job: Option<Job>,
    /// The elements of the job that are filled, or taken; or those that are taken of what is kept.
    through: usize,
    /// Results that the run has not left in their slots.
    kept: VecDeque<Kept>,
    /// Nothing more is pushed.
    has_ended: bool,
    /// Chunks that are pulled to their end.
    pulled: usize,
}

#[derive(Debug)]
struct Kept {
    elements: usize,
    bytes: Vec<u8>,
}

/// Why a source or a sink has stopped.
#[derive(Debug, Clone)]
pub(crate) struct Trouble {
    /// `None` when everything had been written.
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
    /// Of the other operations that read the same source.
    pub(crate) more: Vec<*mut u8>,
}

// SAFETY: the slots are nobody else's until the job is answered or taken back: `SlotExchange::give` requires that.
unsafe impl Send for Job {}

impl Job {
    /// Fills the other slots as the first one is.
    ///
    /// # Safety
    /// The slots are the caller's, and as many of the first one's bytes are filled.
    pub(crate) unsafe fn fill_others(&self, bytes: usize) {
        for &other in &self.more {
            // SAFETY: the caller's promise.
            unsafe { slots::copy(self.slot, other, bytes) };
        }
    }
}

/// What became of some elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Moved {
    /// So many were moved, at least one.
    Some(usize),
    /// There is no slot now.
    None,
    /// There will be none.
    Over,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under the locks panics.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SlotExchange {
    /// The wakeup is notified for whoever fills or empties the slots.
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

    // What the run does.

    /// It is of this run, whose wakeup is notified of each change, and of an argument with so many elements an item.
    pub(crate) fn attach(
        &self,
        wakeup: &Arc<Wakeup>,
        (host, per_item): (&'static str, usize),
        is_endless: bool,
    ) {
        // Under the lock: what a caller says without one that it finds here, the run sees.
        let _state = locked(&self.state);
        let _ = self.run.set(Run { wakeup: Arc::clone(wakeup), host, per_item, is_endless });
    }

    /// Gives slots away, to be filled alike or to be emptied; `false` if nobody takes them: it is closed, has stopped, or this is
    /// not a sink's next chunk.
    ///
    /// # Safety
    /// Each slot is as long as the job says, initialised, aligned to 64 bytes, and accessed by nobody else until the job is
    /// answered, or [taken back](Self::take_back) from a caller, or the thread at the other end is over.
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

    /// Chunks that a source was asked for, or a sink given.
    pub(crate) fn given(&self) -> usize {
        self.given.load(Ordering::Acquire)
    }

    /// Chunks that it has filled, or accepted.
    pub(crate) fn done(&self) -> usize {
        self.done.load(Ordering::Acquire)
    }

    /// Whether a source has filled a chunk, as far as it goes.
    pub(crate) fn has_filled(&self, chunk: usize) -> bool {
        chunk < self.done() || self.end.load(Ordering::Acquire) <= chunk
    }

    /// The items of a chunk that a source has filled: all, or fewer. Those of chunks before are forgotten.
    pub(crate) fn items(&self, chunk: Chunk) -> usize {
        let mut state = locked(&self.state);
        while state.short.front().is_some_and(|(index, _)| *index < chunk.index) {
            state.short.pop_front();
        }
        match state.short.front() {
            Some((index, items)) if *index == chunk.index => *items,
            _ if self.end.load(Ordering::Acquire) <= chunk.index => 0,
            _ => chunk.len,
        }
    }

    /// Whether a source has no chunks from this one on.
    pub(crate) fn ends_before(&self, chunk: usize) -> bool {
        self.end.load(Ordering::Acquire) <= chunk
    }

    /// Whether it is known where a source ends: it has no more, or cannot go on.
    pub(crate) fn has_an_end(&self) -> bool {
        self.end.load(Ordering::Acquire) != usize::MAX || self.has_trouble.load(Ordering::Acquire)
    }

    /// Whether a puller waits for what it was not given yet.
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

    /// No more jobs come.
    pub(crate) fn close(&self) {
        let state = locked(&self.state);
        self.is_closed.store(true, Ordering::Release);
        drop(state);
        self.wakeup.notify();
    }

    /// Takes the slots back that a puller was given, with what is in them kept for it; whether there was memory for that. Else they
    /// stay where they are.
    pub(crate) fn keep(&self) -> bool {
        let mut hand = locked(&self.hand);
        let mut state = locked(&self.state);
        let Hand { job, kept, .. } = &mut *hand;
        while job.is_some() || !state.jobs.is_empty() {
            // The one in the hand is the oldest.
            let in_hand = job.is_some();
            let Some(oldest) = job.as_ref().or(state.jobs.front()) else { break };
            let Job { chunk, elements, bytes, slot, .. } = *oldest;
            let mut copy = Vec::new();
            if copy.try_reserve_exact(bytes).is_err() {
                break;
            }
            // SAFETY: the slot is as long as that and initialised (`give`), and the caller's, whose lock this thread has.
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

    /// Takes all slots back from a caller, which has them no more when this returns, and gets no more.
    pub(crate) fn take_back(&self) {
        let mut hand = locked(&self.hand);
        let mut state = locked(&self.state);
        self.is_closed.store(true, Ordering::Release);
        // What is half filled is nobody's.
        hand.job = None;
        state.jobs.clear();
        self.is_over.store(true, Ordering::Release);
    }

    /// The run is over: says so to the caller. The first time counts.
    pub(crate) fn end_run(&self, outcome: Result<(), Option<Error>>) {
        let outcome = match outcome {
            Ok(()) => Outcome::Well,
            Err(Some(error)) => Outcome::Failed(error),
            Err(None) => Outcome::Unknown,
        };
        locked(&self.state).outcome.get_or_insert(outcome);
        self.wakeup.notify();
    }

    // What a thread does.

    /// Waits for the next job; `None` when there are no more. `is_sink`: what was given is done though it is closed.
    pub(crate) fn wait_for_job(&self, is_sink: bool) -> Option<Job> {
        loop {
            let version = self.wakeup.version();
            {
                let mut state = locked(&self.state);
                let is_closed = self.is_closed.load(Ordering::Relaxed);
                // What was to be read is of no use any more; what was given is to be written.
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

    /// A source has filled a chunk with so many items. `is_last`: it has no more.
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

    /// A sink has accepted a chunk.
    pub(crate) fn accepted(&self, chunk: Chunk) {
        self.done.store(chunk.index + 1, Ordering::Release);
        self.changed();
    }

    /// A source or a sink cannot go on.
    pub(crate) fn failed(&self, chunk: Option<usize>, error: io::Error) {
        let trouble = Trouble { chunk, error: Arc::new(error) };
        locked(&self.state).trouble.get_or_insert(trouble);
        self.has_trouble.store(true, Ordering::Release);
        self.changed();
    }

    /// The thread does no more.
    pub(crate) fn finished(&self) {
        self.is_over.store(true, Ordering::Release);
        self.changed();
    }
}
