//! Endless runs that their caller feeds and drains: it pushes items, and pulls results in order.
//!
//! [`Session`] is for a pipeline with one input and one output. [`input`] and [`output`] make arguments of any run, as many as it
//! has, with an end each for the caller.
//!
//! The caller copies straight into the page-locked memory that the device copies from, and out of the memory that it copies to:
//! there is no other thread in between but the one that runs the pipeline. For a tenth of a millisecond each side looks for what the
//! other does; then it sleeps, and is woken.
//!
//! # Chunks
//!
//! A chunk goes through when it is full, or when it is [flushed](Pusher::flush). `chunk c = 1024;` or `options(&device).chunk(1024)`
//! says how long it is at most. Lengths of what is pushed and pulled have nothing to do with that.
//!
//! # Room
//!
//! Nothing waits anywhere but in the slots of the ring. There is room for `depth + 1` chunks that are pushed and not yet pulled, at
//! times for one more, the one that is being filled among them; [`push`](Pusher::push) waits while there is none. So memory is
//! bounded however long a session lasts.
//!
//! Where that would be a deadlock it is otherwise. Once the input has ended, what is left goes to ordinary memory and waits there
//! to be pulled, so that a run ends though nobody pulls. And a [`Session`] that is not [split](Session::split) is in one thread's
//! hands: while it pushes nobody can pull, so that it puts results aside.

use std::fmt;
use std::sync::Arc;

use bytemuck::Pod;

pub use crate::exchange::{Pulled, Puller, Pushed, Pusher, input, output};

use crate::base::error::Result;
use crate::exchange::{Wakeup, input_with, output_with, sleep};
use crate::job;

// Note 34: a session copies, and never hands out a slot.
/// A run of a pipeline with one input and one output, on a thread of its own, that its caller feeds and drains.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg::Session;
///
/// stream_pipeline! {
///     pipeline Scale {
///         param a: f32;
///         input x: [f32];
///         output z: [f32];
///         device dz: [f32];
///         chunk c = 256;
///         stage load { copy x -> dx; }
///         stage scale { fill dz = 0.0; thalweg_kernels::saxpy<<<1, 256>>>(c.len as u32, a, &dx, &mut dz); }
///         stage store { copy dz -> z; }
///     }
/// }
///
/// let mut scale = Scale::new(&Device::simulated(Spec::default()))?;
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
/// A session that is not split waits for nothing that nobody but its caller could bring about:
///
/// - [`push`](Self::push) puts results aside where there is no room, in memory that grows with what is not pulled. Who pulls what it
///   pushes needs none.
/// - [`pull`](Self::pull) flushes what was pushed if everything before is pulled, and where nothing is left gives fewer.
///
/// Two threads, of which one pushes and the other pulls, are held back by each other: [`split`](Self::split).
///
/// # Its end
///
/// [`close`](Self::close) waits for the run and gives what came of it. Dropped, a session ends its input and discards results; the
/// run comes to its end by itself. Forgotten, it leaves a thread waiting.
pub struct Session<X: Pod, Z: Pod, T> {
    // In this order: an input that ends with results that nobody wants any more.
    puller: Puller<Z>,
    pusher: Pusher<X>,
    job: job::Job<T>,
    wakeup: Arc<Wakeup>,
    /// Whether the input has.
    has_ended: bool,
}

impl<X: Pod + Send, Z: Pod + Send, T: Send + 'static> Session<X, Z, T> {
    /// Calls `run` on a thread of its own, with an input and an output that are the session's. What it returns,
    /// [`close`](Self::close) gives: a [`Report`](crate::Report), or the pipeline back, or anything else.
    ///
    /// # Errors
    /// No thread can be started ([`ErrorKind::NoThread`](crate::ErrorKind::NoThread)). What the run itself returns, `close` gives.
    pub fn start(run: impl FnOnce(Pushed<X>, Pulled<Z>) -> Result<T> + Send + 'static) -> Result<Self> {
        let wakeup = Arc::<Wakeup>::default();
        let (pusher, x) = input_with(Arc::clone(&wakeup));
        let (z, puller) = output_with(Arc::clone(&wakeup));
        let job = job::spawn(move || run(x, z))?;
        Ok(Self { puller, pusher, job, wakeup, has_ended: false })
    }
}

impl<X: Pod, Z: Pod, T> Session<X, Z, T> {
    /// Pushes all of it, of any length. Waits while there is no room; results that are there meanwhile are put aside.
    ///
    /// # Errors
    /// The run's own, if it has failed; [`ErrorKind::SessionOver`](crate::ErrorKind::SessionOver) if it has ended otherwise, was never
    /// begun, or if the input was [ended](Self::end).
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

    /// Pushes as much of it as there is room for, and says how many elements. It puts nothing aside.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn try_push(&mut self, data: &[X]) -> Result<usize> {
        self.pusher.try_push(data)
    }

    /// What was pushed so far goes through at once: if it is no whole chunk, as a shorter one.
    ///
    /// # Errors
    /// As [`push`](Self::push); [`ErrorKind::PartOfItem`](crate::ErrorKind::PartOfItem) in the middle of an item, which stays where it
    /// is.
    pub fn flush(&mut self) -> Result<()> {
        self.pusher.flush()
    }

    /// Fills `to`, and says how many elements that are: fewer only where there are no more results of what was pushed. It waits for
    /// them, and flushes before it would wait for the rest of a chunk.
    ///
    /// # Errors
    /// The run's own, if it has failed: once what was finished before is pulled. What cannot be flushed, since it ends within an item
    /// ([`ErrorKind::PartOfItem`](crate::ErrorKind::PartOfItem)).
    pub fn pull(&mut self, to: &mut [Z]) -> Result<usize> {
        let mut pulled = 0;
        while pulled < to.len() {
            let version = self.wakeup.version();
            match self.try_pull(&mut to[pulled..]) {
                Ok(Some(0)) if self.is_through() => match self.pusher.send() {
                    Ok(true) => {}
                    Ok(false) => break,
                    // The next call has it.
                    Err(_) if pulled > 0 => break,
                    // If the run is over by now, the puller knows how.
                    Err(error) => match self.try_pull(to)? {
                        None => return Ok(0),
                        Some(0) => return Err(error),
                        Some(more) => pulled = more,
                    },
                },
                Ok(Some(0)) => sleep(&self.wakeup, version),
                Ok(Some(more)) => pulled += more,
                Ok(None) => break,
                // The next call has it.
                Err(_) if pulled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(pulled)
    }

    /// Pulls what is there, as much as `to` has room for. `None`: the run is over.
    ///
    /// # Errors
    /// As [`pull`](Self::pull).
    pub fn try_pull(&mut self, to: &mut [Z]) -> Result<Option<usize>> {
        self.puller.try_pull(to)
    }

    /// Whether everything that was pushed is pulled, but for a chunk that is not full; and nobody says that the run is over.
    fn is_through(&self) -> bool {
        !self.has_ended && self.puller.chunks() == self.pusher.chunks()
    }

    /// Ends the input: nothing more is pushed, and what was pushed goes through. It does not wait.
    pub fn end(&mut self) {
        self.has_ended = true;
        self.pusher.hang_up();
    }

    /// Ends the input, discards results that nobody has pulled, waits until the run is over and gives what came of it. To have them,
    /// [`end`](Self::end) the input before, and pull until there are no more.
    ///
    /// # Errors
    /// Those of the run.
    pub fn close(self) -> Result<T> {
        let Self { puller, pusher, job, .. } = self;
        drop((puller, pusher));
        job.wait()
    }

    /// Asks the run to end: what was begun is finished and can be pulled, and everything else fails with
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled).
    pub fn cancel(&self) {
        self.job.cancel();
    }

    /// One end for each of two threads, and the run. Results that were put aside go with the puller.
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
