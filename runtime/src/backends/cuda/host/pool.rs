//! The threads that host functions run on.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::base::sync::{Builder, Condvar, Mutex, MutexGuard, PoisonError, thread_local};
use crate::base::unwind::contain;
use crate::driver::HostJob;

/// How long a thread that is not needed stays.
const IDLE: Duration = Duration::from_secs(5);

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread runs a job.
pub(super) fn is_inside() -> bool {
    IS_INSIDE.with(Cell::get)
}

/// The threads that run jobs. All jobs run at the same time, since a job may wait for another one that comes
/// later.
///
/// One thread always waits for the next job, if the system gives threads. Whoever takes a job and leaves no
/// thread waiting starts a thread first. So [`push`](Self::push), which the driver's own thread calls, never
/// starts one itself.
pub(super) struct Pool {
    state: Mutex<PoolState>,
    changed: Condvar,
    idle: Duration,
}

#[derive(Default)]
struct PoolState {
    queue: VecDeque<HostJob>,
    threads: usize,
    waiting: usize,
    closed: bool,
}

impl Pool {
    pub(super) fn new() -> Arc<Self> {
        Self::with_idle(IDLE)
    }

    pub(super) fn with_idle(idle: Duration) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), idle })
    }

    /// Makes sure that there is a thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(self: &Arc<Self>) -> io::Result<()> {
        let mut state = self.state();
        if state.threads == 0 {
            // This is done under the lock. Otherwise another thread could rely on a thread that the system
            // does not give.
            self.spawn()?;
            state.threads = 1;
        }
        Ok(())
    }

    /// Makes a thread run a job. The job is dropped if the pool is closed.
    pub(super) fn push(&self, job: HostJob) {
        let mut state = self.state();
        if state.closed {
            drop(state);
            return contain(|| drop(job));
        }
        state.queue.push_back(job);
        drop(state);
        self.changed.notify_one();
    }

    /// Drops the jobs that no thread has begun, and lets the threads end. Nothing waits for them, since one
    /// of them may be the caller.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let queue = std::mem::take(&mut state.queue);
        drop(state);
        self.changed.notify_all();
        queue.into_iter().for_each(|job| contain(|| drop(job)));
    }

    /// The number of threads, and how many of them wait for a job.
    #[cfg(test)]
    pub(super) fn threads(&self) -> (usize, usize) {
        let state = self.state();
        (state.threads, state.waiting)
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        // No job runs, and none is dropped, under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread. The caller counts it.
    fn spawn(self: &Arc<Self>) -> io::Result<()> {
        let pool = Arc::clone(self);
        Builder::new().name("thalweg-host".to_owned()).spawn(move || pool.work()).map(drop)
    }

    fn work(self: Arc<Self>) {
        IS_INSIDE.with(|is_inside| is_inside.set(true));
        let mut state = self.state();
        loop {
            if let Some(job) = state.queue.pop_front() {
                let alone = state.waiting == 0;
                if alone {
                    state.threads += 1;
                }
                drop(state);
                if alone && self.spawn().is_err() {
                    // The next job has to wait for this one.
                    self.state().threads -= 1;
                }
                contain(job);
                state = self.state();
                continue;
            }
            if state.closed {
                break;
            }
            let needed = state.waiting == 0;
            state.waiting += 1;
            if needed {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.waiting -= 1;
            } else {
                let waited = self.changed.wait_timeout(state, self.idle);
                let (next, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                state = next;
                state.waiting -= 1;
                if timeout.timed_out() && state.queue.is_empty() && state.waiting > 0 {
                    break;
                }
            }
        }
        state.threads -= 1;
    }
}
