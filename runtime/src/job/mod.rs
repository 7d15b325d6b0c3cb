//! [`Job`]: a run that goes on while its caller does something else.

mod cancel;
mod scope;

#[cfg(doc)]
use crate::base::error::ErrorKind;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

pub use cancel::Cancel;
pub(crate) use cancel::Cancels;
pub use scope::{Scope, ScopedJob, scope};

use crate::base::error::{Detail, Result};
use crate::base::unwind::panic_message;

/// Work on a thread of its own, usually a pipeline's run; [`spawn`] returns it.
///
/// It is a [`Future`], which works under any executor and needs none: [`wait`](Self::wait) blocks,
/// [`try_wait`](Self::try_wait) does not. A job that is dropped or forgotten goes on to its end; it owns
/// everything that it was given.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::saxpy;
///
/// stream_pipeline! {
///     pipeline Saxpy {
///         param a: f32;
///         input x: [f32];
///         inout y: [f32];
///         stage load { copy x -> dx; copy y -> dy; }
///         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
///         stage store { copy dy -> y; }
///         chunk c = auto;
///     }
/// }
///
/// let device = Device::simulated(Simulation::default());
/// let mut saxpy = Saxpy::new(&device)?;
/// let (x, mut y) = (vec![1.0; 1000], vec![2.0; 1000]);
/// let job = thalweg::job::spawn(move || {
///     saxpy.run(3.0, &x, &mut y)?;
///     Ok((saxpy, x, y))
/// })?;
/// // Something else meanwhile; then `job.await?`, or
/// let (_saxpy, _x, y) = job.wait()?;
/// assert_eq!(y, [5.0; 1000]);
/// # Ok::<(), Error>(())
/// ```
#[must_use = "a job that nobody waits for tells nobody what came of it"]
pub struct Job<T> {
    shared: Arc<Shared<T>>,
    cancel: Cancel,
}

struct Shared<T> {
    /// The process in which its thread runs.
    process: u32,
    state: Mutex<JobState<T>>,
    done: Condvar,
}

enum JobState<T> {
    Running(Option<Waker>),
    Done(Result<T>),
    /// The outcome was already taken.
    Taken,
}

impl<T> Shared<T> {
    fn new() -> Arc<Self> {
        let process = std::process::id();
        Arc::new(Self { process, state: Mutex::new(JobState::Running(None)), done: Condvar::new() })
    }

    fn state(&self) -> MutexGuard<'_, JobState<T>> {
        // No user code runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, outcome: Result<T>) {
        let before = std::mem::replace(&mut *self.state(), JobState::Done(outcome));
        self.done.notify_all();
        if let JobState::Running(Some(waker)) = before {
            waker.wake();
        }
    }

    /// Whether its thread belongs to the process that this one was forked from: here, the job is never done.
    fn is_elsewhere(&self) -> bool {
        std::process::id() != self.process
    }

    fn wait(&self) -> Result<T> {
        if self.is_elsewhere() {
            return Err(Detail::Forked.into());
        }
        let running = |state: &mut JobState<T>| matches!(state, JobState::Running(_));
        let state = self.done.wait_while(self.state(), running);
        take(&mut state.unwrap_or_else(PoisonError::into_inner)).unwrap_or(Err(Detail::JobTaken.into()))
    }

    /// The outcome, if the job is done.
    fn try_wait(&self) -> Option<Result<T>> {
        if self.is_elsewhere() {
            return Some(Err(Detail::Forked.into()));
        }
        take(&mut self.state())
    }
}

/// The outcome, if it is known and not yet taken.
fn take<T>(state: &mut JobState<T>) -> Option<Result<T>> {
    match std::mem::replace(state, JobState::Taken) {
        JobState::Done(outcome) => Some(outcome),
        before => {
            *state = before;
            None
        }
    }
}

/// Runs `work` on a thread of its own: a pipeline's run, several of them, or anything else, with the data
/// that it owns. Runs in it can be [cancelled](Job::cancel). To get data back, also after an error, return
/// them from the work.
///
/// Spawn work that borrows, such as `|| saxpy.run(3.0, &x, &mut y)`, in a [`scope`], with [`Scope::spawn`].
/// Here rustc reports that such a closure may outlive the function, or that borrowed data escape.
///
/// # Errors
/// No thread can be started ([`ErrorKind::Environment`]). The job gives the errors of the work itself; if it
/// panics, [`ErrorKind::Function`].
// rustc shows the line of the bound, with its comment, when borrowed data do not live long enough.
pub fn spawn<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static, // work that borrows is spawned in a `thalweg::job::scope`
) -> Result<Job<T>> {
    let (shared, cancel) = (Shared::new(), Cancel::new());
    let (its, token) = (Arc::clone(&shared), cancel.clone());
    let thread = thread::Builder::new().name("thalweg job".to_owned());
    let started = thread.spawn(move || its.finish(guarded(&token, work)));
    started.map_err(|error| Detail::NoThread { message: error.to_string() })?;
    Ok(Job { shared, cancel })
}

/// Calls `work` so that it does not unwind, and so that its runs can be cancelled.
fn guarded<T>(cancel: &Cancel, work: impl FnOnce() -> Result<T>) -> Result<T> {
    // State that a panic leaves half-done is dropped with the data that the work owns.
    let outcome = catch_unwind(AssertUnwindSafe(|| cancel.during(work)));
    outcome.unwrap_or_else(|panic| Err(Detail::Panicked { message: panic_message(panic) }.into()))
}

impl<T> Job<T> {
    /// Waits until the job is done, and returns its outcome.
    ///
    /// # Errors
    /// Those of the work; [`ErrorKind::Function`] if it has panicked; [`ErrorKind::Closed`] if a poll of this
    /// future has given them already; [`ErrorKind::Environment`] in a process that was forked since.
    pub fn wait(self) -> Result<T> {
        self.shared.wait()
    }

    /// Returns the outcome if the job is done, and the job itself otherwise. In a process that was forked
    /// since, the outcome is [`ErrorKind::Environment`].
    pub fn try_wait(self) -> Result<Result<T>, Self> {
        let outcome = self.shared.try_wait();
        outcome.ok_or(self)
    }

    /// Whether the job is done, so that there is nothing to wait for. This is true in a process that was
    /// forked since.
    pub fn is_done(&self) -> bool {
        self.shared.is_elsewhere() || !matches!(*self.shared.state(), JobState::Running(_))
    }

    /// Asks its runs to end: no further chunk is begun, chunks that were begun are waited for, and the run
    /// fails with [`ErrorKind::Cancelled`], which says what is complete.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl<T> Future for Job<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if self.shared.is_elsewhere() {
            return Poll::Ready(Err(Detail::Forked.into()));
        }
        let mut state = self.shared.state();
        if let JobState::Running(waker) = &mut *state {
            match waker {
                Some(waker) if waker.will_wake(context.waker()) => {}
                waker => *waker = Some(context.waker().clone()),
            }
            return Poll::Pending;
        }
        Poll::Ready(take(&mut state).unwrap_or(Err(Detail::JobTaken.into())))
    }
}

impl<T> fmt::Debug for Job<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("done", &self.is_done()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::task::Wake;

    use super::*;

    struct Counted(AtomicUsize);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_job_is_waited_for_in_each_way() {
        assert_eq!(spawn(|| Ok(3)).expect("a thread").wait().expect("no failure"), 3);
        let (go, wait) = mpsc::channel::<()>();
        let mut job = spawn(move || Ok(wait.recv().is_ok())).expect("a thread");
        job = job.try_wait().expect_err("it is not done");
        assert!(!job.is_done());
        let wakes = Arc::new(Counted(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&wakes));
        let mut context = Context::from_waker(&waker);
        for _ in 0..2 {
            assert!(Pin::new(&mut job).poll(&mut context).is_pending());
        }
        go.send(()).expect("the job waits");
        while wakes.0.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        assert!(matches!(Pin::new(&mut job).poll(&mut context), Poll::Ready(Ok(true))));
        // The outcome is given once.
        assert!(matches!(Pin::new(&mut job).poll(&mut context), Poll::Ready(Err(_))));
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
        assert!(matches!(job.wait().unwrap_err().detail(), Detail::JobTaken));
    }

    #[test]
    fn a_panic_is_an_error() {
        let error = spawn(|| -> Result<()> { panic!("in a job") }).expect("a thread").wait().unwrap_err();
        assert!(matches!(error.detail(), Detail::Panicked { message } if message == "in a job"), "{error}");
    }

    #[test]
    fn a_job_that_nobody_has_goes_on() {
        let (sender, done) = mpsc::channel();
        drop(spawn(move || Ok(sender.send(1).is_ok())).expect("a thread"));
        assert_eq!(done.recv(), Ok(1));
    }
}
