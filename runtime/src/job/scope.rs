//! [`scope`]: several runs at once over borrowed data.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::thread;

use super::{Cancel, Shared, guarded};
use crate::base::error::{ErrorKind, Result};

/// Several runs at once over borrowed data: calls `body`, and returns when all that it has [spawned](Scope::spawn) is done.
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
///         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy); }
///         stage store { copy dy -> y; }
///         chunk c = auto;
///     }
/// }
///
/// let device = Device::simulated(Spec::default());
/// let (mut one, mut other) = (Saxpy::new(&device)?, Saxpy::new(&device)?);
/// let (x, mut y, mut z) = (vec![1.0; 1000], vec![2.0; 1000], vec![3.0; 1000]);
/// thalweg::scope(|scope| {
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
/// If `body` does, once all is done. What panics in a job is the job's error.
pub fn scope<'env, R>(body: impl for<'scope> FnOnce(Scope<'scope, 'env>) -> R) -> R {
    // Threads are what is scoped: they are joined before this returns or unwinds, whatever becomes of the jobs.
    thread::scope(|threads| body(Scope { threads }))
}

/// Where jobs over borrowed data are spawned: what [`scope`] gives. A copy is the same scope.
#[derive(Clone, Copy)]
pub struct Scope<'scope, 'env> {
    threads: &'scope thread::Scope<'scope, 'env>,
}

impl<'scope> Scope<'scope, '_> {
    /// Does some work on a thread of its own.
    ///
    /// # Errors
    /// No thread can be started ([`ErrorKind::NoThread`]).
    pub fn spawn<T: Send + 'scope>(
        self,
        work: impl FnOnce() -> Result<T> + Send + 'scope,
    ) -> Result<ScopedJob<'scope, T>> {
        let (shared, cancel) = (Shared::new(), Cancel::new());
        let (its, token) = (Arc::clone(&shared), cancel.clone());
        let thread = thread::Builder::new().name("thalweg job".to_owned());
        let started = thread.spawn_scoped(self.threads, move || its.finish(guarded(&token, work)));
        // The handle is not kept: the scope waits for its threads, and would for ever if a handle were forgotten.
        started.map_err(|error| ErrorKind::NoThread { message: error.to_string() })?;
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
    /// Waits until it is done, and gives what came of it.
    ///
    /// # Errors
    /// Those of the work; [`ErrorKind::Panicked`] if it has panicked.
    pub fn wait(self) -> Result<T> {
        self.shared.wait()
    }

    /// What came of it if it is done; else the job again. In a process that was forked since, that is [`ErrorKind::Forked`].
    pub fn try_wait(self) -> Result<Result<T>, Self> {
        let outcome = self.shared.try_wait();
        outcome.ok_or(self)
    }

    /// Asks its runs to end, as [`Job::cancel`](super::Job::cancel).
    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl<T> fmt::Debug for ScopedJob<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJob").finish_non_exhaustive()
    }
}
