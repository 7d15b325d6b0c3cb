//! What comes before what: how far streams are known to have got, and what each of their operations comes after.
//!
//! Numbers count the operations of one stream, from 1. A [`Clock`] names for each stream the last operation that is before
//! some point; an event has one, and so has a stream. Whatever the host has waited for is noted in the streams' own
//! [`Progress`], where everybody sees it.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::device::Device;
use crate::error::Error;

/// How many operations of a stream are known to have completed.
#[derive(Debug)]
pub(crate) struct Progress {
    device: Device,
    completed: AtomicU64,
    /// What went wrong last, in one of these operations.
    failed: Mutex<Option<(RangeInclusive<u64>, Error)>>,
}

impl Progress {
    /// Of a new stream.
    pub(super) fn new(device: &Device) -> Arc<Self> {
        Arc::new(Self { device: device.clone(), completed: AtomicU64::new(0), failed: Mutex::default() })
    }

    /// Waits for the first so many operations of a stream that is gone, and so has no more. `false` if that is not possible.
    pub(super) fn wait_for_all_of_device(&self, number: u64) -> bool {
        let driver = self.device.driver();
        let wait = || driver.may_wait().and_then(|()| driver.synchronize_device());
        // The first wait reports what has gone wrong; if the second succeeds, nothing is left.
        if !self.has_reached(number) && (wait().is_ok() || wait().is_ok()) {
            self.reached(number);
        }
        self.has_reached(number)
    }

    /// Something has gone wrong in what has come since the host waited last.
    pub(super) fn fail(&self, until: u64, error: &Error) {
        let since = self.completed.load(Ordering::Acquire) + 1;
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some((since..=until, error.clone()));
    }

    /// What went wrong, if that may have been this operation.
    pub(super) fn failure(&self, number: u64) -> Option<Error> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.as_ref().filter(|(numbers, _)| numbers.contains(&number)).map(|(_, error)| error.clone())
    }

    /// The first so many have completed.
    pub(super) fn reached(&self, number: u64) {
        self.completed.fetch_max(number, Ordering::AcqRel);
    }

    /// Whether it is known that the first so many have.
    pub(super) fn has_reached(&self, number: u64) -> bool {
        self.completed.load(Ordering::Acquire) >= number
    }
}

/// For each stream, how many of its operations come before a point. A handful of streams: no need to sort.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock(Vec<(Arc<Progress>, u64)>);

impl Clock {
    /// Whether that operation comes before.
    pub(super) fn covers(&self, progress: &Arc<Progress>, number: u64) -> bool {
        self.0.iter().any(|(of, reached)| Arc::ptr_eq(of, progress) && *reached >= number)
    }

    /// The first `number` operations of a stream come before, too.
    pub(super) fn advance(&mut self, progress: &Arc<Progress>, number: u64) {
        match self.0.iter_mut().find(|(of, _)| Arc::ptr_eq(of, progress)) {
            Some((_, reached)) => *reached = (*reached).max(number),
            None => self.0.push((Arc::clone(progress), number)),
        }
    }

    /// What comes before the other point comes before this one. What is over anyway need not be named.
    pub(super) fn join(&mut self, other: &Self) {
        self.0.retain(|(progress, number)| !progress.has_reached(*number));
        for (progress, number) in &other.0 {
            if !progress.has_reached(*number) {
                self.advance(progress, *number);
            }
        }
    }

    /// The point was reached: all that comes before is over.
    pub(super) fn is_over(&self) {
        self.0.iter().for_each(|(progress, number)| progress.reached(*number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    #[test]
    fn what_is_over_is_forgotten() {
        let device = Device::simulated(Spec::default());
        let [one, other] = [(); 2].map(|()| Progress::new(&device));
        let mut event = Clock::default();
        event.advance(&one, 3);
        event.advance(&one, 2);
        let mut clock = Clock::default();
        clock.advance(&other, 7);
        clock.join(&event);
        assert!(clock.covers(&one, 3) && !clock.covers(&one, 4) && clock.covers(&other, 7));
        event.is_over();
        assert!(one.has_reached(3) && !one.has_reached(4) && !other.has_reached(1));
        clock.join(&event);
        assert_eq!(clock.0.len(), 1, "only what is still to come is named");
    }
}
