//! [`Outstanding`]: the callbacks of a stream that have not returned.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Callbacks that were given to a stream and have not returned.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    callbacks: Mutex<Callbacks>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Callbacks {
    /// The number of callbacks so far.
    issued: u64,
    /// The numbers of those that have not returned, and may still be called.
    left: BTreeSet<u64>,
}

impl Outstanding {
    fn locked(&self) -> MutexGuard<'_, Callbacks> {
        self.callbacks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a new callback.
    pub(crate) fn issue(&self) -> u64 {
        let mut callbacks = self.locked();
        callbacks.issued += 1;
        let number = callbacks.issued;
        callbacks.left.insert(number);
        number
    }

    pub(super) fn issued(&self) -> u64 {
        self.locked().issued
    }

    /// Notes that a callback has returned, or will not be called.
    pub(crate) fn is_over(&self, number: u64) {
        self.locked().left.remove(&number);
        self.changed.notify_all();
    }

    /// Waits for the first `issued` callbacks.
    pub(super) fn wait(&self, issued: u64) {
        let is_left =
            |callbacks: &mut Callbacks| callbacks.left.first().is_some_and(|first| *first <= issued);
        drop(self.changed.wait_while(self.locked(), is_left).unwrap_or_else(PoisonError::into_inner));
    }
}
