//! [`Pusher`] and [`Puller`]: the ends of a run that its caller holds.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use bytemuck::Pod;

use super::Feed;
use super::slot_exchange::{Moved, SlotExchange};
use super::wakeup::Wakeup;
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Error, Result};
use crate::base::fork;

/// How long a caller polls for the run's answer before it sleeps: about twice as long as waking it takes.
pub(super) const ALERT: Duration = Duration::from_micros(100);

/// Bytes of results that are put aside at a time.
const PIECE: usize = 64 << 10;

/// The pipeline's end of an input or an output: dropping it tells the caller that no run will answer.
#[derive(Debug)]
pub(crate) struct Attached(Arc<SlotExchange>);

impl Attached {
    pub(crate) fn link(&self) -> &SlotExchange {
        &self.0
    }

    /// Notes that its run is over.
    pub(crate) fn end_run(&self, outcome: Result<()>) {
        self.0.end_run(outcome.map_err(Some));
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if fork::is_child() {
            // No thread here waits for that, and a thread of the other process may have held the lock.
            return;
        }
        // After a run the caller has been told already.
        self.0.end_run(Err(None));
    }
}

/// The argument for an `input` whose [`Pusher`] a caller holds: see [`input`].
#[must_use = "it is an argument of a run: dropped, there is none"]
pub struct Pushed<T> {
    end: Attached,
    elements: PhantomData<fn(T)>,
}

/// The argument for an `output` whose [`Puller`] a caller holds: see [`output`].
#[must_use = "it is an argument of a run: dropped, there is none"]
pub struct Pulled<T> {
    end: Attached,
    elements: PhantomData<fn() -> T>,
}

impl<T> Pushed<T> {
    /// The caller in place of a source.
    pub(crate) fn into_feed<'a>(self) -> Feed<'a> {
        Feed::Pushed(Arc::new(self.end))
    }
}

impl<T> Pulled<T> {
    /// The caller in place of a sink.
    pub(crate) fn into_feed<'a>(self) -> Feed<'a> {
        Feed::Pulled(Arc::new(self.end))
    }
}

/// Makes an end into which data are pushed, and the `input` of a run that reads them.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg::session;
///
/// stream_pipeline! {
///     pipeline Sum {
///         input x: [f32];
///         input y: [f32];
///         output z: [f32];
///         chunk c = 4;
///         stage load { copy x -> dx; copy y -> dy; }
///         stage add { thalweg_kernels::saxpy<<<1, 32>>>(1.0, &dx, &mut dy); }
///         stage store { copy dy -> z; }
///     }
/// }
///
/// let mut sum = Sum::new(&Device::simulated(Simulation::default()))?;
/// let ((mut left, x), (mut right, y), (z, mut sums)) = (session::input(), session::input(), session::output());
/// let job = thalweg::job::spawn(move || sum.run(x, y, z))?;
///
/// left.push(&[1.0, 2.0])?;
/// right.push(&[10.0, 20.0])?;
/// // Two are no whole chunk: they go through as they are, of both inputs.
/// left.flush()?;
/// right.flush()?;
/// let mut two = [0.0_f32; 2];
/// assert_eq!(sums.pull(&mut two)?, 2);
/// assert_eq!(two, [11.0, 22.0]);
///
/// drop((left, right));
/// assert_eq!(sums.pull(&mut two)?, 0);
/// assert_eq!(job.wait()?.items, 2);
/// # Ok::<(), Error>(())
/// ```
pub fn input<T: Pod + Send>() -> (Pusher<T>, Pushed<T>) {
    input_with(Arc::default())
}

/// Makes an end from which results are pulled, and the `output` of a run that writes them.
pub fn output<T: Pod + Send>() -> (Pulled<T>, Puller<T>) {
    output_with(Arc::default())
}

pub(crate) fn input_with<T: Pod>(wakeup: Arc<Wakeup>) -> (Pusher<T>, Pushed<T>) {
    const { assert!(align_of::<T>() <= 64, "page-locked memory is aligned to 64 bytes") };
    let link = SlotExchange::new(wakeup);
    let end = Attached(Arc::clone(&link));
    (Pusher { link, elements: PhantomData }, Pushed { end, elements: PhantomData })
}

pub(crate) fn output_with<T: Pod>(wakeup: Arc<Wakeup>) -> (Pulled<T>, Puller<T>) {
    const { assert!(align_of::<T>() <= 64, "page-locked memory is aligned to 64 bytes") };
    let link = SlotExchange::new(wakeup);
    let end = Attached(Arc::clone(&link));
    (Pulled { end, elements: PhantomData }, Puller { link, aside: Vec::new(), pulled: 0 })
}

/// The caller's end of an `input`: it copies data into page-locked memory, from which the device copies them.
///
/// Dropping it ends the input: pushed data go through. `mem::forget` leaves the run waiting for more, for as
/// long as the program lasts.
pub struct Pusher<T> {
    link: Arc<SlotExchange>,
    elements: PhantomData<fn(T)>,
}

impl<T: Pod> Pusher<T> {
    /// Pushes all of `data`, of any length, independent of chunks and items. Waits while there is no room.
    ///
    /// There is no room before the run has begun: push from another thread than the one that begins the run.
    ///
    /// # Errors
    /// The run's own, if it has failed; [`ErrorKind::Closed`] if it has ended otherwise, or was never begun.
    /// Some of the elements may have gone through.
    pub fn push(&mut self, data: &[T]) -> Result<()> {
        let mut left = data;
        while !left.is_empty() {
            let version = self.link.wakeup().version();
            match self.try_push(left)? {
                0 => sleep(self.link.wakeup(), version),
                taken => left = &left[taken..],
            }
        }
        Ok(())
    }

    /// Pushes as many elements as there is room for, and returns their number.
    ///
    /// # Errors
    /// Those of [`push`](Self::push).
    pub fn try_push(&mut self, data: &[T]) -> Result<usize> {
        let mut taken = 0;
        while taken < data.len() {
            // SAFETY: `input_with` has made the link with an argument of this type.
            match unsafe { self.link.push(&data[taken..]) } {
                Moved::Some(elements) => taken += elements,
                Moved::None => break,
                Moved::Over if taken > 0 => break,
                Moved::Over => return Err(self.why_over()),
            }
        }
        Ok(taken)
    }

    /// Sends everything pushed so far through at once, in a shorter chunk if it does not fill one. If nothing
    /// is left, nothing happens. It does not wait.
    ///
    /// A run with several inputs needs the same number of items of each: flush all of them. If another
    /// argument determines the number of items, it also determines the length of chunks, and this does
    /// nothing.
    ///
    /// # Errors
    /// Those of [`push`](Self::push); [`ErrorKind::Shape`] if the data end in the middle of an item, which
    /// stays where it is.
    pub fn flush(&mut self) -> Result<()> {
        self.send().map(drop)
    }

    /// Sends as `flush` does, and returns whether there was anything to send.
    pub(crate) fn send(&self) -> Result<bool> {
        match self.link.flush()? {
            Moved::Some(_) => Ok(true),
            Moved::None => Ok(false),
            Moved::Over => Err(self.why_over()),
        }
    }

    /// Ends the input, as dropping does: nothing more can be pushed.
    pub fn end(self) {}

    /// Ends the input, and keeps this end alive.
    pub(crate) fn hang_up(&self) {
        self.link.end();
    }

    /// The number of chunks pushed.
    pub(crate) fn chunks(&self) -> usize {
        self.link.done()
    }

    fn why_over(&self) -> Error {
        match self.link.why_over() {
            Some(error) if !matches!(error.detail(), Detail::SessionOver) => error,
            _ if self.link.was_ended() => Detail::InputEnded.into(),
            _ => Detail::SessionOver.into(),
        }
    }
}

impl<T> Drop for Pusher<T> {
    fn drop(&mut self) {
        self.link.end();
    }
}

/// The caller's end of an `output`: it copies results, in order, out of page-locked memory, into which the
/// device has copied them.
///
/// Dropping it discards further results: the run goes on until its input ends. `mem::forget` leaves a run
/// without room for further results waiting, for as long as the program lasts.
pub struct Puller<T> {
    link: Arc<SlotExchange>,
    /// The oldest results, if they were put aside, and the number of them that are pulled.
    aside: Vec<T>,
    pulled: usize,
}

impl<T: Pod> Puller<T> {
    /// Fills `to`, and returns the number of elements: fewer only where the results end. It waits for them.
    ///
    /// # Errors
    /// The run's own, if it has failed, and [`ErrorKind::Closed`] if it was never begun: once the results
    /// finished before are pulled.
    pub fn pull(&mut self, to: &mut [T]) -> Result<usize> {
        self.wait_for(to, |pulled, len| pulled == len)
    }

    /// Waits until there are results, pulls them, at most as many as `to` holds, and returns their number. 0
    /// is the end.
    ///
    /// # Errors
    /// Those of [`pull`](Self::pull).
    pub fn pull_some(&mut self, to: &mut [T]) -> Result<usize> {
        self.wait_for(to, |pulled, _| pulled > 0)
    }

    /// Pulls the results that are there, at most as many as `to` holds, and returns their number. `None` is
    /// the end.
    ///
    /// # Errors
    /// Those of [`pull`](Self::pull).
    pub fn try_pull(&mut self, to: &mut [T]) -> Result<Option<usize>> {
        let mut pulled = to.len().min(self.aside.len() - self.pulled);
        if pulled > 0 {
            to[..pulled].copy_from_slice(&self.aside[self.pulled..][..pulled]);
            self.pulled += pulled;
            if self.pulled == self.aside.len() {
                (self.aside, self.pulled) = (Vec::new(), 0);
            }
        }
        while pulled < to.len() {
            // SAFETY: `output_with` has made the link with an argument of this type.
            match unsafe { self.link.pull(&mut to[pulled..]) } {
                Moved::Some(elements) => pulled += elements,
                Moved::Over if pulled == 0 => return self.link.why_over().map_or(Ok(None), Err),
                Moved::None | Moved::Over => break,
            }
        }
        Ok(Some(pulled))
    }

    fn wait_for(&mut self, to: &mut [T], is_enough: impl Fn(usize, usize) -> bool) -> Result<usize> {
        let (mut pulled, len) = (0, to.len());
        while len > 0 && !is_enough(pulled, len) {
            let version = self.link.wakeup().version();
            match self.try_pull(&mut to[pulled..]) {
                Ok(Some(0)) => sleep(self.link.wakeup(), version),
                Ok(Some(more)) => pulled += more,
                Ok(None) => break,
                // The next call returns the error.
                Err(_) if pulled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(pulled)
    }

    /// Puts available results aside, so that their slots can be used again. Returns whether there were any.
    pub(crate) fn put_aside(&mut self) -> bool {
        self.aside.drain(..std::mem::take(&mut self.pulled));
        let before = self.aside.len();
        loop {
            let len = self.aside.len();
            // The length of a chunk is not known.
            self.aside.resize(len + PIECE.checked_div(size_of::<T>()).unwrap_or(PIECE).max(1), T::zeroed());
            // SAFETY: `output_with` has made the link with an argument of this type.
            let moved = unsafe { self.link.pull(&mut self.aside[len..]) };
            let Moved::Some(more) = moved else {
                self.aside.truncate(len);
                return len > before;
            };
            self.aside.truncate(len + more);
        }
    }

    /// Discards further results, as dropping does.
    pub fn discard(self) {}

    /// The number of chunks pulled to their end.
    pub(crate) fn chunks(&self) -> usize {
        self.link.pulled()
    }
}

impl<T> Drop for Puller<T> {
    fn drop(&mut self) {
        self.link.discard();
    }
}

/// Waits until something has changed since `version`.
pub(crate) fn sleep(wakeup: &Wakeup, version: u64) {
    if !wakeup.spin(version, ALERT) {
        wakeup.wait(version);
    }
}

macro_rules! debug {
    ($($name:ident)*) => {$(
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}
debug!(Pusher Puller Pushed Pulled);
