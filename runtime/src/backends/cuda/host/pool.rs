//! The threads that host functions run on.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::base::unwind::contain;
use crate::driver::HostJob;

/// How long a thread that is not needed stays.
const IDLE: Duration = Duration::from_secs(5);

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread runs a job.
pub(super) fn is_inside() -> bool {
    IS_INSIDE.get()
}

/// Threads that run jobs, as many at a time as there are: a job may wait for another that comes later.
///
/// One thread always waits for the next job, if the system gives threads. Whoever takes a job and leaves no one waiting
/// starts a thread first. So [`push`](Self::push), which the driver's own thread calls, never starts one itself.
pub(super) struct Pool {
    state: Mutex<State>,
    changed: Condvar,
    idle: Duration,
}

#[derive(Default)]
struct State {
    queue: VecDeque<HostJob>,
    threads: usize,
    waiting: usize,
    closed: bool,
}

impl Pool {
    pub(super) fn new() -> Arc<Self> {
        Self::with_idle(IDLE)
    }

    fn with_idle(idle: Duration) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), idle })
    }

    /// Makes sure that there is a thread.
    ///
    /// # Errors
    /// The system gives none.
    pub(super) fn start(self: &Arc<Self>) -> io::Result<()> {
        let mut state = self.state();
        if state.threads > 0 {
            return Ok(());
        }
        state.threads = 1;
        drop(state);
        self.spawn()
    }

    /// Has a job run. It is dropped if the pool is closed.
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

    /// Drops the jobs that no thread has begun, and lets the threads end. Nothing waits for them: one of them may be the
    /// caller.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let queue = std::mem::take(&mut state.queue);
        drop(state);
        self.changed.notify_all();
        queue.into_iter().for_each(|job| contain(|| drop(job)));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No job runs, and none is dropped, under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread that is counted already.
    fn spawn(self: &Arc<Self>) -> io::Result<()> {
        let pool = Arc::clone(self);
        let started = thread::Builder::new().name("thalweg-host".to_owned()).spawn(move || pool.work());
        if started.is_err() {
            self.state().threads -= 1;
        }
        started.map(drop)
    }

    fn work(self: Arc<Self>) {
        IS_INSIDE.set(true);
        let mut state = self.state();
        loop {
            if let Some(job) = state.queue.pop_front() {
                let alone = state.waiting == 0;
                if alone {
                    state.threads += 1;
                }
                drop(state);
                if alone {
                    // Where there is no further thread, what comes next has to wait for this job.
                    let _ = self.spawn();
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    fn eventually(what: &str, done: impl Fn() -> bool) {
        let start = Instant::now();
        while !done() {
            assert!(start.elapsed() < SOON, "{what}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_job_may_wait_for_those_after_it() {
        let pool = Pool::new();
        pool.start().expect("a thread");
        let (done, all_done) = mpsc::channel();
        let mut before: Option<mpsc::Receiver<()>> = None;
        let mut jobs: Vec<HostJob> = Vec::new();
        // Each waits for the one that is pushed after it; the last waits for nothing.
        for index in (0..20).rev() {
            let (ready, wait) = mpsc::channel();
            let (after, done) = (before.replace(wait), done.clone());
            jobs.push(Box::new(move || {
                if let Some(after) = after {
                    after.recv().expect("the one after it runs");
                }
                // The first has nobody who waits for it.
                let _ = ready.send(());
                done.send(index).expect("the test waits");
            }));
        }
        jobs.into_iter().rev().for_each(|job| pool.push(job));
        let mut order: Vec<i32> =
            (0..20).map(|_| all_done.recv_timeout(SOON).expect("no deadlock")).collect();
        order.sort_unstable();
        assert_eq!(order, (0..20).collect::<Vec<_>>());
        pool.close();
        eventually("the threads end", || pool.state().threads == 0);
    }

    #[test]
    fn threads_that_are_not_needed_end_and_one_stays() {
        let pool = Pool::with_idle(Duration::from_millis(1));
        pool.start().expect("a thread");
        pool.start().expect("it is there already");
        let (go, gates): (Vec<_>, Vec<_>) = (0..4).map(|_| mpsc::channel::<()>()).unzip();
        for gate in gates {
            pool.push(Box::new(move || {
                gate.recv().expect_err("nothing is sent");
            }));
        }
        eventually("four jobs at a time and one to come", || pool.state().threads == 5);
        drop(go);
        eventually("all but one end", || pool.state().threads == 1 && pool.state().waiting == 1);
        let (done, is_done) = mpsc::channel();
        pool.push(Box::new(move || done.send(()).expect("the test waits")));
        is_done.recv_timeout(SOON).expect("the pool goes on");
        pool.close();
        eventually("the last ends", || pool.state().threads == 0);
    }

    #[test]
    fn a_panic_costs_no_thread() {
        let pool = Pool::new();
        pool.start().expect("a thread");
        pool.push(Box::new(|| panic!("contained")));
        let (done, is_done) = mpsc::channel();
        pool.push(Box::new(move || done.send(()).expect("the test waits")));
        is_done.recv_timeout(SOON).expect("the pool goes on");
        pool.close();
        eventually("the threads end", || pool.state().threads == 0);
    }

    #[test]
    fn a_closed_pool_drops_what_it_gets() {
        struct Dropped(mpsc::Sender<()>);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.send(()).ok();
            }
        }
        let pool = Pool::new();
        let (sender, dropped) = mpsc::channel();
        let job = |sender: &mpsc::Sender<()>| -> HostJob {
            let captured = Dropped(sender.clone());
            Box::new(move || {
                let _captured = captured;
                unreachable!("it is not run")
            })
        };
        pool.push(job(&sender));
        assert!(dropped.try_recv().is_err());
        pool.close();
        dropped.try_recv().expect("dropped with the pool");
        pool.push(job(&sender));
        dropped.try_recv().expect("dropped at once");
    }

    #[test]
    fn the_last_user_may_be_a_job() {
        let pool = Pool::new();
        pool.start().expect("a thread");
        let (inner, (done, is_done)) = (Arc::clone(&pool), mpsc::channel());
        pool.push(Box::new(move || {
            inner.close();
            done.send(()).expect("the test waits");
        }));
        is_done.recv_timeout(SOON).expect("closing waits for no thread");
    }
}
