//! [`Wakeup`]: how threads tell each other that something has changed. Its argument is in this folder's README.

use std::time::Duration;

use crate::base::host_copy::let_a_moment_pass;
use crate::base::sync::{
    AtomicU64, AtomicUsize, Condvar, Instant, Mutex, MutexGuard, Ordering, PoisonError, fence,
};

/// Notified after each change, for those who look for it or sleep until then. While nobody sleeps that costs no call of the system.
#[derive(Debug, Default)]
pub(crate) struct Wakeup {
    /// How many changes there were.
    version: AtomicU64,
    asleep: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Wakeup {
    /// To be asked before what is then waited for.
    pub(crate) fn version(&self) -> u64 {
        // Who reads a version sees what was changed before it.
        self.version.load(Ordering::Acquire)
    }

    /// Something has changed.
    pub(crate) fn notify(&self) {
        self.version.fetch_add(1, Ordering::Release);
        // Either this sees who is about to sleep, or they see the new version: each writes its own before it reads the other's.
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) > 0 {
            // Who has looked is asleep by then.
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }

    /// Looks for a change since this version for so long, without sleeping; whether there was one.
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

    /// Sleeps until something has changed since this version.
    pub(crate) fn wait(&self, version: u64) {
        self.sleep(|guard| {
            drop(
                self.wake
                    .wait_while(guard, |()| self.version() == version)
                    .unwrap_or_else(PoisonError::into_inner),
            );
        });
    }

    /// Sleeps until something has changed since this version, or as long as this.
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
