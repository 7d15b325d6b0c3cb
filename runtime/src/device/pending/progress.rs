//! The order of operations: how far streams are known to have got, and what each of their operations comes
//! after.
//!
//! The operations of one stream have numbers, from 1. A [`Clock`] gives, for each stream, the last operation
//! that is before some point; an event has one, and so has a stream. When the host has waited for operations,
//! the streams' own [`Progress`] notes it, where everybody sees it.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};

use smallvec::SmallVec;

use super::owner::Owner;
use crate::base::error::Error;
use crate::driver::{Driver, DriverResult, RawStream};

/// How many operations of a stream are known to have completed.
#[derive(Debug)]
pub(crate) struct Progress {
    device: Box<dyn Owner>,
    /// The driver's stream, until it has been waited for for the last time. One thread at a time waits for
    /// it, and notes failures before another thread waits: a device may report a failure only once.
    stream: Mutex<Option<Last>>,
    completed: AtomicU64,
    /// The failures in order. Each has the range of operations of which one has failed.
    failed: Mutex<Vec<(RangeInclusive<u64>, Error)>>,
    /// Whether there is any failure. It is read without the lock.
    has_failed: AtomicBool,
    /// The stream, to wait for its operations. A stream that is gone enqueues nothing more.
    handle: OnceLock<Weak<dyn Handle>>,
}

/// A stream that operations are enqueued on.
pub(crate) trait Handle: Send + Sync {
    /// Waits for the first `number` operations, and keeps their errors; `false` if the stream cannot be
    /// waited for.
    fn wait_for(&self, number: u64) -> bool;
}

/// The facts about a stream that a waiting thread needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Last {
    raw: RawStream,
    /// Whether it is a per-thread stream. On a GPU its number means another stream to any other thread.
    of_a_thread: bool,
}

impl Last {
    /// Waits for everything that was enqueued.
    ///
    /// # Safety
    /// The stream is live.
    pub(crate) unsafe fn wait(self, driver: &dyn Driver) -> DriverResult<()> {
        match self.of_a_thread {
            true => driver.synchronize_device(),
            // SAFETY: the caller's promise.
            false => unsafe { driver.synchronize_stream(self.raw) },
        }
    }
}

/// The largest number of a stream's failures that are told apart. Beyond it, the oldest are merged.
const FAILURES: usize = 256;

impl Progress {
    /// The progress of a new stream, which is live until [`Progress::stream`] is emptied.
    pub(crate) fn of(device: Box<dyn Owner>, raw: RawStream, of_a_thread: bool) -> Arc<Self> {
        Self::with(device, Some(Last { raw, of_a_thread }))
    }

    /// The progress of no stream.
    #[cfg(test)]
    pub(crate) fn new(device: &(impl Owner + Clone + 'static)) -> Arc<Self> {
        Self::with(Box::new(device.clone()), None)
    }

    fn with(device: Box<dyn Owner>, stream: Option<Last>) -> Arc<Self> {
        Arc::new(Self {
            device,
            stream: Mutex::new(stream),
            completed: AtomicU64::new(0),
            failed: Mutex::default(),
            has_failed: AtomicBool::new(false),
            handle: OnceLock::new(),
        })
    }

    /// Notes the stream, once.
    pub(crate) fn is_of(&self, stream: Weak<dyn Handle>) {
        let _ = self.handle.set(stream);
    }

    /// Waits for the first `number` operations, and keeps their errors; `false` if that is not possible.
    pub(crate) fn wait_for(&self, number: u64) -> bool {
        match self.handle.get().and_then(Weak::upgrade) {
            Some(stream) => stream.wait_for(number),
            None => self.wait_for_the_last(number),
        }
    }

    /// The stream's device.
    pub(crate) fn owner(&self) -> &dyn Owner {
        &*self.device
    }

    // Note 52: one thread waits at a time, and notes what has failed.
    /// The right to wait for the stream, and to note the outcome.
    pub(crate) fn stream(&self) -> MutexGuard<'_, Option<Last>> {
        // Nothing of the user's runs under the lock.
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, unless another thread has it.
    pub(crate) fn try_stream(&self) -> Option<MutexGuard<'_, Option<Last>>> {
        match self.stream.try_lock() {
            Ok(stream) => Some(stream),
            Err(TryLockError::Poisoned(stream)) => Some(stream.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Waits for the first `number` operations of a stream that has no handle, and so gets no more
    /// operations. `false` if that is not possible.
    fn wait_for_the_last(&self, number: u64) -> bool {
        let driver = self.device.driver();
        if self.has_reached(number) || driver.may_wait().is_err() {
            return self.has_reached(number);
        }
        let stream = self.stream();
        let since = self.completed();
        if self.has_reached(number) {
            return true;
        }
        let wait = || match *stream {
            // SAFETY: the stream is live as long as it is there, and nobody takes it away meanwhile.
            Some(stream) => unsafe { stream.wait(driver) },
            None => driver.synchronize_device(),
        };
        // The first wait reports the failure. If the second succeeds, nothing is left.
        let first = wait();
        if let Err(error) = &first {
            let error = self.device.callers().explain(error.clone(), None);
            self.fail(since + 1..=u64::MAX, &error);
            self.device.callers().not_told(error);
        }
        if first.is_ok() || wait().is_ok() {
            self.reached(number);
        }
        self.has_reached(number)
    }

    /// Notes that one of these operations has failed. Call this before they count as completed.
    pub(crate) fn fail(&self, operations: RangeInclusive<u64>, error: &Error) {
        if operations.is_empty() {
            return;
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match failed.last_mut().filter(|(last, _)| operations.start() <= last.end()) {
            // A lost device reports the failure each time.
            Some((last, _)) => {
                *last = *last.start().min(operations.start())..=*last.end().max(operations.end());
            }
            None => failed.push((operations, error.clone())),
        }
        if failed.len() > FAILURES {
            // An operation between the two may count as failed, but no failure is lost.
            let (oldest, _) = failed.remove(0);
            failed[0].0 = *oldest.start()..=*failed[0].0.end();
        }
        self.has_failed.store(true, Ordering::Release);
    }

    /// Whether any operation has failed.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// The error, if this operation is over and may have failed.
    pub(crate) fn failure(&self, number: u64) -> Option<Error> {
        if !self.has_failed() {
            return None;
        }
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let found = failed.iter().find(|(operations, _)| operations.contains(&number));
        found.map(|(_, error)| error.clone())
    }

    /// The number of operations that are known to have completed.
    pub(crate) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Acquire)
    }

    /// Notes that the first `number` operations have completed.
    pub(crate) fn reached(&self, number: u64) {
        self.completed.fetch_max(number, Ordering::AcqRel);
    }

    /// Whether the first `number` operations are known to have completed.
    pub(crate) fn has_reached(&self, number: u64) -> bool {
        self.completed() >= number
    }
}

/// For each stream, the number of its operations that come before a point. There are few streams. They are sorted by
/// address, so that two points that come after the same streams have the same order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock(SmallVec<[(Arc<Progress>, u64); 4]>);

impl Clock {
    /// Whether that operation comes before the point.
    #[inline]
    pub(crate) fn covers(&self, progress: &Arc<Progress>, number: u64) -> bool {
        self.0.iter().any(|(of, reached)| Arc::ptr_eq(of, progress) && *reached >= number)
    }

    /// Adds the first `number` operations of a stream to those before the point. What is over anyway is forgotten before
    /// the clock grows.
    #[inline]
    pub(crate) fn advance(&mut self, progress: &Arc<Progress>, number: u64) {
        match self.0.iter_mut().find(|(of, _)| Arc::ptr_eq(of, progress)) {
            Some((_, reached)) => *reached = (*reached).max(number),
            None => self.grow(progress, number),
        }
    }

    #[cold]
    fn grow(&mut self, progress: &Arc<Progress>, number: u64) {
        self.0.retain(|(of, reached)| !of.has_reached(*reached));
        let before = self.0.partition_point(|(of, _)| Arc::as_ptr(of) < Arc::as_ptr(progress));
        self.0.insert(before, (Arc::clone(progress), number));
    }

    /// Passes the numbers of both to `change`, stream by stream. Returns `false` as soon as the two differ in a stream.
    #[inline]
    fn change_with(&mut self, other: &Self, mut change: impl FnMut(&mut u64, u64)) -> bool {
        if self.0.len() != other.0.len() {
            return false;
        }
        self.0.iter_mut().zip(&other.0).all(|((own, number), (its, other))| {
            let is_same = Arc::ptr_eq(own, its);
            if is_same {
                change(number, *other);
            }
            is_same
        })
    }

    /// Becomes the other point.
    #[inline]
    pub(crate) fn set(&mut self, other: &Self) {
        if !self.change_with(other, |own, other| *own = other) {
            self.copy_streams(other);
        }
    }

    #[cold]
    fn copy_streams(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }

    /// Adds all that comes before the other point.
    #[inline]
    pub(crate) fn join(&mut self, other: &Self) {
        if !self.change_with(other, |own, other| *own = (*own).max(other)) {
            self.join_streams(other);
        }
    }

    #[cold]
    fn join_streams(&mut self, other: &Self) {
        other.0.iter().for_each(|(progress, number)| self.advance(progress, *number));
    }

    /// The number of a stream's operations that come before the point.
    pub(crate) fn reached_of(&self, progress: &Arc<Progress>) -> Option<u64> {
        self.0.iter().find(|(of, _)| Arc::ptr_eq(of, progress)).map(|(_, reached)| *reached)
    }

    /// The devices of the streams, each as often as it has streams.
    pub(crate) fn owners(&self) -> impl Iterator<Item = &dyn Owner> {
        self.0.iter().map(|(progress, _)| &*progress.device)
    }

    /// Notes that the point was reached without a failure on the way: everything before it is over.
    pub(crate) fn reach(&self) {
        self.0.iter().for_each(|(progress, number)| progress.reached(*number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::Detail;
    use crate::device::Device;
    use crate::sim::Simulation;

    fn failed(progress: &Progress, number: u64) -> Option<usize> {
        progress.failure(number).map(|error| match error.detail() {
            Detail::CopyLength { from, .. } => *from,
            _ => panic!("{error}"),
        })
    }

    #[test]
    fn failures_are_those_of_their_operations() {
        let device = Device::simulated(Simulation::default());
        let (one, error) = (Progress::new(&device), |from| Detail::CopyLength { from, to: 0 }.into());
        one.fail(2..=3, &error(1));
        one.fail(RangeInclusive::new(5, 4), &error(2));
        one.fail(5..=6, &error(3));
        assert_eq!([1, 2, 3, 4, 5, 6, 7].map(|number| failed(&one, number)), {
            [None, Some(1), Some(1), None, Some(3), Some(3), None]
        });
        // The device is lost.
        one.fail(5..=9, &error(4));
        assert_eq!((failed(&one, 9), failed(&one, 10)), (Some(3), None));
        // Many failures fit, and the last ones are told apart.
        for number in 0..2 * FAILURES as u64 {
            one.fail(20 + 2 * number..=20 + 2 * number, &error(number as usize));
        }
        assert!(one.failed.lock().expect("no panic").len() <= FAILURES);
        assert!(failed(&one, 2).is_some() && failed(&one, 4).is_some());
        let last = 20 + 4 * FAILURES as u64 - 2;
        assert_eq!((failed(&one, last), failed(&one, last - 1)), (Some(2 * FAILURES - 1), None));
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let device = Device::simulated(Simulation::default());
        let [one, other] = [(); 2].map(|()| Progress::new(&device));
        let mut event = Clock::default();
        event.advance(&one, 3);
        event.advance(&one, 2);
        let mut clock = Clock::default();
        clock.advance(&other, 7);
        clock.join(&event);
        assert!(clock.covers(&one, 3) && !clock.covers(&one, 4) && clock.covers(&other, 7));
        event.reach();
        assert!(one.has_reached(3) && !one.has_reached(4) && !other.has_reached(1));
        // What is still to come is all that is named when another stream is.
        let mut later = Clock::default();
        later.advance(&Progress::new(&device), 1);
        clock.join(&later);
        assert_eq!(clock.0.len(), 2);
        assert!(!clock.covers(&one, 3) && clock.covers(&other, 7));
    }
}
