//! [`Slot`]: NCCL's communicator, which threads share.

use std::ptr;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use super::handle::Handle;
use super::library::Nccl;
use super::watch::locked;

/// The pause between two attempts to get hold of it.
const PAUSE: Duration = Duration::from_millis(1);

/// NCCL's communicator, which one thread at a time uses, until it is given up.
pub(super) struct Slot {
    nccl: &'static Nccl,
    /// A number, since threads share it; 0 without a communicator. NCCL is called under this lock, and nothing else.
    handle: Mutex<usize>,
}

impl Slot {
    /// Without a communicator.
    pub(super) fn empty(nccl: &'static Nccl) -> Self {
        Self { nccl, handle: Mutex::new(0) }
    }

    pub(super) fn put(&self, handle: Handle) {
        *locked(&self.handle) = handle.into_number();
    }

    /// Calls NCCL with the communicator, which no other thread uses meanwhile; `None` if it is given up.
    pub(super) fn with<R>(&self, call: impl FnOnce(&Handle) -> R) -> Option<R> {
        self.call(locked(&self.handle), call)
    }

    /// The same, and `None` too while another thread is in a call.
    pub(super) fn try_with<R>(&self, call: impl FnOnce(&Handle) -> R) -> Option<R> {
        self.call(self.try_lock()?, call)
    }

    fn call<R>(&self, handle: MutexGuard<'_, usize>, call: impl FnOnce(&Handle) -> R) -> Option<R> {
        (*handle != 0).then(|| call(&self.of(*handle)))
    }

    fn of(&self, number: usize) -> Handle {
        Handle::of(self.nccl, ptr::with_exposed_provenance_mut(number))
    }

    /// Takes the communicator away from all later calls.
    pub(super) fn take(&self) -> Option<Handle> {
        self.emptied(locked(&self.handle))
    }

    /// The same, unless another thread is in a call for longer than this.
    pub(super) fn take_within(&self, limit: Duration) -> Option<Handle> {
        let began = Instant::now();
        loop {
            if let Some(handle) = self.try_lock() {
                return self.emptied(handle);
            }
            if began.elapsed() > limit {
                return None;
            }
            thread::sleep(PAUSE);
        }
    }

    fn emptied(&self, mut handle: MutexGuard<'_, usize>) -> Option<Handle> {
        let number = std::mem::take(&mut *handle);
        (number != 0).then(|| self.of(number))
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, usize>> {
        match self.handle.try_lock() {
            Ok(handle) => Some(handle),
            // As for `locked`.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
