//! Endless runs that their caller feeds and drains: it pushes items, and pulls results in order.
//!
//! [`Session`] is for a pipeline with one input and one output. [`input`] and [`output`] make arguments for
//! any run, as many as it needs, each with an end for the caller.
//!
//! The caller copies straight into the page-locked memory that the device copies from, and out of the memory
//! that it copies to: the only other thread is the one that runs the pipeline. Each side polls the other for
//! a tenth of a millisecond, then sleeps until it is woken.
//!
//! # Chunks
//!
//! A chunk goes through when it is full, or when it is [flushed](Pusher::flush). `chunk c = 1024;` or
//! `options(&device).chunk(1024)` sets its greatest length. Pushes and pulls may be of any length.
//!
//! # Room
//!
//! Data wait only in the slots of the ring. They have room for `depth + 1` chunks that are pushed and not yet
//! pulled, at times for one more, counting the one that is being filled; [`push`](Pusher::push) waits while
//! there is no room. So memory is bounded however long a session lasts.
//!
//! Two exceptions avoid deadlock. Once the input has ended, the remaining results move to ordinary memory
//! until they are pulled, so that a run ends even if nobody pulls. And a [`Session`] that is not
//! [split](Session::split) belongs to one thread: nobody can pull while it pushes, so it puts results aside.

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;

pub use crate::exchange::{Pulled, Puller, Pushed, Pusher, input, output};

use crate::base::error::Result;
use crate::exchange::{Wakeup, input_with, output_with, sleep};
use crate::job;

// Note 34: a session copies, and never hands out a slot.
/// A run of a pipeline with one input and one output, on a thread of its own, that its caller feeds and
/// drains.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg::session::Session;
///
/// stream_pipeline! {
///     pipeline Scale {
///         param a: f32;
///         input x: [f32];
///         output z: [f32];
///         device dz: [f32];
///         chunk c = 256;
///         stage load { copy x -> dx; }
///         stage scale { fill dz = 0.0; thalweg_kernels::saxpy<<<1, 256>>>(a, &dx, &mut dz); }
///         stage store { copy dz -> z; }
///     }
/// }
///
/// let mut scale = Scale::new(&Device::simulated(Simulation::default()))?;
/// let mut session = Session::start(move |x, z| scale.run(0.5, x, z))?;
/// let mut result = [0.0; 256];
/// for frame in [[2.0; 256], [4.0; 256]] {
///     session.push(&frame)?;
///     session.pull(&mut result)?;
///     assert_eq!(result[0], frame[0] / 2.0);
/// }
/// let report = session.close()?;
/// assert_eq!(report.chunks, 2);
/// # Ok::<(), Error>(())
/// ```
///
/// # One thread
///
/// A session that is not split never waits for anything that only its own caller could bring about:
///
/// - [`push`](Self::push) puts results aside where there is no room, in memory that grows with the results
///   not yet pulled. A caller that pulls the results of what it pushes needs no such memory.
/// - [`pull`](Self::pull) flushes the pushed data once everything before is pulled, and gives fewer elements
///   if no more results can come.
///
/// To let one thread push and another pull, each held back by the other, [`split`](Self::split) the session.
///
/// # Its end
///
/// [`close`](Self::close) waits for the run and gives its result. Dropping a session ends its input and
/// discards results; the run then ends by itself. `mem::forget` leaks the run's thread.
pub struct Session<X: Pod, Z: Pod, T> {
    // Dropped in this order, so that the input ends when nobody wants the results any more.
    puller: Puller<Z>,
    pusher: Pusher<X>,
    job: job::Job<T>,
    wakeup: Arc<Wakeup>,
    /// Whether the input has ended.
    has_ended: bool,
}

impl<X: Pod + Send, Z: Pod + Send, T: Send + 'static> Session<X, Z, T> {
    /// Calls `run` on a thread of its own with the session's input and output. [`close`](Self::close) gives
    /// the value that it returns: a [`Report`](crate::Report), the pipeline, or anything else.
    ///
    /// # Errors
    /// No thread can be started ([`ErrorKind::Environment`](crate::ErrorKind::Environment)). `close` gives
    /// the errors of the run itself.
    pub fn start(run: impl FnOnce(Pushed<X>, Pulled<Z>) -> Result<T> + Send + 'static) -> Result<Self> {
        let wakeup = Arc::<Wakeup>::default();
        let (pusher, x) = input_with(Arc::clone(&wakeup));
        let (z, puller) = output_with(Arc::clone(&wakeup));
        let job = job::spawn(move || run(x, z))?;
        Ok(Self { puller, pusher, job, wakeup, has_ended: false })
    }
}

impl<X: Pod, Z: Pod, T> Session<X, Z, T> {
    /// Pushes all of `data`, of any length. Waits while there is no room; results that arrive meanwhile are
    /// put aside.
    ///
    /// # Errors
    /// The run's own, if it has failed; [`ErrorKind::Closed`](crate::ErrorKind::Closed) if it has ended
    /// otherwise, was never begun, or if the input was [ended](Self::end).
    pub fn push(&mut self, data: &[X]) -> Result<()> {
        let mut left = data;
        while !left.is_empty() {
            let version = self.wakeup.version();
            match self.pusher.try_push(left)? {
                0 if self.puller.put_aside() => {}
                0 => sleep(&self.wakeup, version),
                taken => left = &left[taken..],
            }
        }
        Ok(())
    }

    /// Pushes as many elements as there is room for, and returns their number. It puts nothing aside.
    ///
    /// # Errors
    /// Those of [`push`](Self::push).
    pub fn try_push(&mut self, data: &[X]) -> Result<usize> {
        self.pusher.try_push(data)
    }

    /// Sends everything pushed so far through at once, in a shorter chunk if it does not fill one.
    ///
    /// Those of [`push`](Self::push); [`ErrorKind::Shape`](crate::ErrorKind::Shape) if the data end in the
    /// middle of an item, which stays where it is.
    pub fn flush(&mut self) -> Result<()> {
        self.pusher.flush()
    }

    /// Fills `to`, and returns the number of elements: fewer only if there are no more results of the pushed
    /// data. It waits for results, and flushes before it would wait for the rest of a chunk.
    ///
    /// # Errors
    /// The run's own, if it has failed, once the results finished before are pulled;
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) if the pushed data end within an item, so that they
    /// cannot be flushed.
    pub fn pull(&mut self, to: &mut [Z]) -> Result<usize> {
        let mut pulled = 0;
        while pulled < to.len() {
            let version = self.wakeup.version();
            match self.try_pull(&mut to[pulled..]) {
                Ok(Some(0)) if self.is_through() => match self.pusher.send() {
                    Ok(true) => {}
                    Ok(false) => break,
                    // The next call returns the error.
                    Err(_) if pulled > 0 => break,
                    // If the run is over by now, the puller knows the reason.
                    Err(error) => match self.try_pull(to)? {
                        None => return Ok(0),
                        Some(0) => return Err(error),
                        Some(more) => pulled = more,
                    },
                },
                Ok(Some(0)) => sleep(&self.wakeup, version),
                Ok(Some(more)) => pulled += more,
                Ok(None) => break,
                // The next call returns the error.
                Err(_) if pulled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(pulled)
    }

    /// Pulls the results that are there, at most as many as `to` holds, and returns their number. `None`: the
    /// run is over.
    ///
    /// # Errors
    /// Those of [`pull`](Self::pull).
    pub fn try_pull(&mut self, to: &mut [Z]) -> Result<Option<usize>> {
        self.puller.try_pull(to)
    }

    /// Whether everything pushed is pulled, apart from a chunk that is not full, and the input has not ended.
    fn is_through(&self) -> bool {
        !self.has_ended && self.puller.chunks() == self.pusher.chunks()
    }

    /// Ends the input: nothing more can be pushed, and pushed data go through. It does not wait.
    pub fn end(&mut self) {
        self.has_ended = true;
        self.pusher.hang_up();
    }

    /// Ends the input, discards results that nobody has pulled, waits until the run is over and gives its
    /// result. To receive all results, [`end`](Self::end) the input first, and pull until there are no more.
    ///
    /// # Errors
    /// Those of the run.
    pub fn close(self) -> Result<T> {
        let Self { puller, pusher, job, .. } = self;
        drop((puller, pusher));
        job.wait()
    }

    /// Asks the run to end: chunks that were begun are finished and can be pulled, and everything else fails
    /// with [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    pub fn cancel(&self) {
        self.job.cancel();
    }

    /// Splits the session into one end for each of two threads, and the run's job. Results that were put
    /// aside go with the puller.
    pub fn split(self) -> (Pusher<X>, Puller<Z>, job::Job<T>) {
        let Self { puller, pusher, job, .. } = self;
        (pusher, puller, job)
    }
}

impl<X: Pod, Z: Pod, T> fmt::Debug for Session<X, Z, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("job", &self.job).finish_non_exhaustive()
    }
}
