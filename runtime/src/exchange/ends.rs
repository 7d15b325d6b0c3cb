//! [`Pusher`] and [`Puller`]: the ends of a run that its caller holds.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use bytemuck::Pod;

use super::Feed;
use super::slot_exchange::{Moved, SlotExchange};
use super::wakeup::Wakeup;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::fork;

/// How long a caller looks for the run's answer before it sleeps: about as long as it takes to be woken, twice.
pub(super) const ALERT: Duration = Duration::from_micros(100);

/// Bytes of results that are put aside at a time.
const PIECE: usize = 64 << 10;

/// The pipeline's end of an input or an output: it tells the caller if no run comes of it.
#[derive(Debug)]
pub(crate) struct Attached(Arc<SlotExchange>);

impl Attached {
    pub(crate) fn link(&self) -> &SlotExchange {
        &self.0
    }

    /// Its run is over.
    pub(crate) fn end_run(&self, outcome: Result<()>) {
        self.0.end_run(outcome.map_err(Some));
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if fork::is_child() {
            // Nobody here waits for that, and a thread of the other process may have had the lock.
            return;
        }
        // After a run it has been told already.
        self.0.end_run(Err(None));
    }
}

/// What a run takes as an `input` whose [`Pusher`] somebody has: see [`input`].
#[must_use = "it is an argument of a run: dropped, there is none"]
pub struct Pushed<T> {
    end: Attached,
    elements: PhantomData<fn(T)>,
}

/// What a run takes as an `output` whose [`Puller`] somebody has: see [`output`].
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

/// An end that data are pushed into, and the `input` of a run that reads them.
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
///         stage add { thalweg_kernels::saxpy<<<1, 32>>>(c.len as u32, 1.0, &dx, &mut dy); }
///         stage store { copy dy -> z; }
///     }
/// }
///
/// let mut sum = Sum::new(&Device::simulated(Spec::default()))?;
/// let ((mut left, x), (mut right, y), (z, mut sums)) = (session::input(), session::input(), session::output());
/// let job = thalweg::spawn(move || sum.run(x, y, z))?;
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

/// An end that results are pulled out of, and the `output` of a run that writes them.
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

/// Where an `input` comes from: it copies what it is given into page-locked memory, from which the device copies.
///
/// Dropped, it ends the input: what was pushed goes through. Forgotten, it leaves the run waiting for more, for as long as the
/// program lasts.
pub struct Pusher<T> {
    link: Arc<SlotExchange>,
    elements: PhantomData<fn(T)>,
}

impl<T: Pod> Pusher<T> {
    /// Pushes all of it, of any length: that need not have to do with chunks or items. Waits while there is no room.
    ///
    /// Before the run has begun there is none: push from another thread than the one that is to begin it.
    ///
    /// # Errors
    /// The run's own, if it has failed; [`ErrorKind::SessionOver`] if it has ended otherwise, or was never begun. Some of the
    /// elements may have gone through.
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

    /// Pushes as much of it as there is room for, and says how many elements.
    ///
    /// # Errors
    /// As [`push`](Self::push).
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

    /// What was pushed so far goes through at once: if it is no whole chunk, as a shorter one. If nothing is left to go, nothing
    /// happens. It does not wait.
    ///
    /// A run with several inputs needs as many items of each: flush all of them. Where another argument says how many items there
    /// are, chunks are as long as that says, and this does nothing.
    ///
    /// # Errors
    /// As [`push`](Self::push); [`ErrorKind::PartOfItem`] in the middle of an item, which stays where it is.
    pub fn flush(&mut self) -> Result<()> {
        self.send().map(drop)
    }

    /// Whether there was anything to go.
    pub(crate) fn send(&self) -> Result<bool> {
        match self.link.flush()? {
            Moved::Some(_) => Ok(true),
            Moved::None => Ok(false),
            Moved::Over => Err(self.why_over()),
        }
    }

    /// Nothing more is pushed: as if it were dropped.
    pub fn end(self) {}

    /// The same, of one that is still there.
    pub(crate) fn hang_up(&self) {
        self.link.end();
    }

    /// Chunks that were pushed.
    pub(crate) fn chunks(&self) -> usize {
        self.link.done()
    }

    fn why_over(&self) -> Error {
        self.link.why_over().unwrap_or_else(|| ErrorKind::SessionOver.into())
    }
}

impl<T> Drop for Pusher<T> {
    fn drop(&mut self) {
        self.link.end();
    }
}

/// Where an `output` goes: it copies results out of page-locked memory, into which the device has copied them, in order.
///
/// Dropped, it discards what comes: the run goes on until its input ends. Forgotten, it leaves a run waiting that has no room for
/// further results, for as long as the program lasts.
pub struct Puller<T> {
    link: Arc<SlotExchange>,
    /// The oldest results, if they were put aside, and how many of them are pulled.
    aside: Vec<T>,
    pulled: usize,
}

impl<T: Pod> Puller<T> {
    /// Fills `to`, and says how many elements that are: fewer only where the results end. It waits for them.
    ///
    /// # Errors
    /// The run's own, if it has failed, and [`ErrorKind::SessionOver`] if it was never begun: once what was finished before is pulled.
    pub fn pull(&mut self, to: &mut [T]) -> Result<usize> {
        self.wait_for(to, |pulled, len| pulled == len)
    }

    /// Waits until there is something, and pulls what is there, as much as `to` has room for. 0 is the end.
    ///
    /// # Errors
    /// As [`pull`](Self::pull).
    pub fn pull_some(&mut self, to: &mut [T]) -> Result<usize> {
        self.wait_for(to, |pulled, _| pulled > 0)
    }

    /// Pulls what is there, as much as `to` has room for. `None` is the end.
    ///
    /// # Errors
    /// As [`pull`](Self::pull).
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
                // The next call has it.
                Err(_) if pulled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(pulled)
    }

    /// Puts results aside that are there, so that their slots can be used again; whether there were any.
    pub(crate) fn put_aside(&mut self) -> bool {
        self.aside.drain(..std::mem::take(&mut self.pulled));
        let before = self.aside.len();
        loop {
            let len = self.aside.len();
            // How long a chunk is nobody has said.
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

    /// Nobody wants the rest: as if it were dropped.
    pub fn discard(self) {}

    /// Chunks that were pulled to their end.
    pub(crate) fn chunks(&self) -> usize {
        self.link.pulled()
    }
}

impl<T> Drop for Puller<T> {
    fn drop(&mut self) {
        self.link.discard();
    }
}

/// Waits until something has changed since.
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
