//! [`Wakeup`]: lets threads tell each other that something has changed. The argument for it is in this
//! folder's README.

use std::time::Duration;

use crate::base::host_copy::let_a_moment_pass;
use crate::base::sync::{
    AtomicU64, AtomicUsize, Condvar, Instant, Mutex, MutexGuard, Ordering, PoisonError, fence,
};

/// Notified after each change, for threads that poll or sleep until then. While nobody sleeps, a notification
/// makes no system call.
#[derive(Debug, Default)]
pub(crate) struct Wakeup {
    /// The number of changes.
    version: AtomicU64,
    asleep: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Wakeup {
    /// The number of changes. Read it before checking a condition and waiting for it.
    pub(crate) fn version(&self) -> u64 {
        // A thread that reads a version sees the changes before it.
        self.version.load(Ordering::Acquire)
    }

    /// Notifies of a change.
    pub(crate) fn notify(&self) {
        self.version.fetch_add(1, Ordering::Release);
        // Either this sees the thread that is about to sleep, or that thread sees the new version: each
        // writes its own value before it reads the other's.
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) > 0 {
            // A thread that has checked the version is asleep by then.
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }

    /// Polls for a change since `version`, for at most `longest`, without sleeping. Returns whether there was
    /// one.
    pub(crate) fn spin(&self, version: u64, longest: Duration) -> bool {
        let mut since = None;
        while self.version() == version {
            if since.get_or_insert_with(Instant::now).elapsed() >= longest {
                return false;
            }
            let_a_moment_pass();
        }
        true
    }

    /// Sleeps until something has changed since `version`.
    pub(crate) fn wait(&self, version: u64) {
        self.sleep(|guard| {
            drop(
                self.wake
                    .wait_while(guard, |()| self.version() == version)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        });
    }

    /// Sleeps until something has changed since `version`, at most for `longest`.
    pub(crate) fn wait_for(&self, version: u64, longest: Duration) {
        self.sleep(|guard| {
            drop(
                self.wake
                    .wait_timeout_while(guard, longest, |()| self.version() == version)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        });
    }

    fn sleep(&self, wait: impl FnOnce(MutexGuard<'_, ()>)) {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        wait(guard);
        self.asleep.fetch_sub(1, Ordering::Relaxed);
    }
}
