//! [`scope`]: several runs at once over borrowed data.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::thread;

use super::{Cancel, Shared, guarded};
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Result};

/// Runs several jobs at once over borrowed data: calls `body`, and returns when all that it has
/// [spawned](Scope::spawn) is done.
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
/// let (mut one, mut other) = (Saxpy::new(&device)?, Saxpy::new(&device)?);
/// let (x, mut y, mut z) = (vec![1.0; 1000], vec![2.0; 1000], vec![3.0; 1000]);
/// thalweg::job::scope(|scope| {
///     let first = scope.spawn(|| one.run(10.0, &x, &mut y))?;
///     let second = scope.spawn(|| other.run(20.0, &x, &mut z))?;
///     first.wait()?;
///     second.wait()
/// })?;
/// assert_eq!((y[0], z[0]), (12.0, 23.0));
/// # Ok::<(), Error>(())
/// ```
///
/// # Panics
/// If `body` does, once all jobs are done. A panic in a job is the job's error.
pub fn scope<'env, R>(body: impl for<'scope> FnOnce(Scope<'scope, 'env>) -> R) -> R {
    // The threads are scoped: they are joined before this returns or unwinds, whatever happens to the jobs.
    thread::scope(|threads| body(Scope { threads }))
}

/// Spawns jobs over borrowed data inside of [`scope`]. A copy is the same scope.
#[derive(Clone, Copy)]
pub struct Scope<'scope, 'env> {
    threads: &'scope thread::Scope<'scope, 'env>,
}

impl<'scope> Scope<'scope, '_> {
    /// Runs `work` on a thread of its own.
    ///
    /// # Errors
    /// No thread can be started ([`ErrorKind::Environment`]).
    pub fn spawn<T: Send + 'scope>(
        self,
        work: impl FnOnce() -> Result<T> + Send + 'scope,
    ) -> Result<ScopedJob<'scope, T>> {
        let (shared, cancel) = (Shared::new(), Cancel::new());
        let (its, token) = (Arc::clone(&shared), cancel.clone());
        let thread = thread::Builder::new().name("thalweg job".to_owned());
        let started = thread.spawn_scoped(self.threads, move || its.finish(guarded(&token, work)));
        // The handle is dropped: the scope waits for its threads, and would wait for ever if a handle were
        // forgotten.
        started.map_err(|error| Detail::NoThread { message: error.to_string() })?;
        Ok(ScopedJob { shared, cancel, scope: PhantomData })
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// A job of a [`scope`]. If nobody waits for it, the scope does.
#[must_use = "a job that nobody waits for tells nobody what came of it"]
pub struct ScopedJob<'scope, T> {
    shared: Arc<Shared<T>>,
    cancel: Cancel,
    scope: PhantomData<&'scope ()>,
}

impl<T> ScopedJob<'_, T> {
    /// Waits until the job is done, and returns its outcome.
    ///
    /// # Errors
    /// Those of the work; [`ErrorKind::Function`] if it has panicked.
    pub fn wait(self) -> Result<T> {
        self.shared.wait()
    }

    /// Returns the outcome if the job is done, and the job itself otherwise. In a process that was forked
    /// since, the outcome is [`ErrorKind::Environment`].
    pub fn try_wait(self) -> Result<Result<T>, Self> {
        let outcome = self.shared.try_wait();
        outcome.ok_or(self)
    }

    /// Asks its runs to end; see [`Job::cancel`](super::Job::cancel).
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl<T> fmt::Debug for ScopedJob<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJob").finish_non_exhaustive()
    }
}
