//! `base::sync` of the runtime, with loom's types. Types that loom lacks are made of those that it has.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::io;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::LockResult;
use std::time::Duration;

pub(crate) use std::sync::PoisonError;

pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

// The threads of a model are coroutines of one thread, so they share these.
std::thread_local! {
    /// The number of waits with a time limit that end by it.
    static TIMEOUTS: Cell<usize> = const { Cell::new(0) };
    /// Whether a wait with a time limit that is notified reaches its limit at the same moment.
    static LATE: Cell<bool> = const { Cell::new(false) };
    /// The number of threads that the system gives before it refuses.
    static THREADS: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The start of each execution: the clock stands still, and there are threads.
pub(crate) fn reset() {
    TIMEOUTS.set(0);
    LATE.set(false);
    THREADS.set(usize::MAX);
}

/// The next waits with a time limit end by it, this number of them.
pub(crate) fn expire(timeouts: usize) {
    TIMEOUTS.set(timeouts);
}

/// Waits with a time limit that are notified reach their limit at the same moment.
pub(crate) fn be_late() {
    LATE.set(true);
}

/// The system gives this number of further threads.
pub(crate) fn give_threads(threads: usize) {
    THREADS.set(threads);
}

fn take(left: &Cell<usize>) -> bool {
    let one_less = left.get().checked_sub(1);
    one_less.is_some_and(|less| {
        left.set(less);
        true
    })
}

/// A lock whose guards refer to it, so that a wait can release it and take it again.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

pub(crate) struct MutexGuard<'a, T> {
    lock: &'a Mutex<T>,
    guard: loom::sync::MutexGuard<'a, T>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    #[track_caller]
    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(MutexGuard { lock: self, guard })
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// A condition variable with waits that can reach their time limit.
#[derive(Debug, Default)]
pub(crate) struct Condvar(loom::sync::Condvar);

pub(crate) struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub(crate) fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    #[track_caller]
    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let MutexGuard { lock, guard } = guard;
        let guard = self.0.wait(guard).unwrap_or_else(PoisonError::into_inner);
        Ok(MutexGuard { lock, guard })
    }

    pub(crate) fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut is_so: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while is_so(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Like `wait`, unless the time limit comes first: then it takes no notification from others, or it is
    /// late and takes one.
    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        if !TIMEOUTS.with(take) {
            let guard = self.wait(guard).unwrap_or_else(PoisonError::into_inner);
            return Ok((guard, WaitTimeoutResult(LATE.get())));
        }
        let lock = guard.lock;
        drop(guard);
        let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((guard, WaitTimeoutResult(true)))
    }

    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        longest: Duration,
        mut is_so: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        while is_so(&mut guard) {
            let (next, timeout) = self.wait_timeout(guard, longest)?;
            guard = next;
            if timeout.timed_out() {
                return Ok((guard, timeout));
            }
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    #[track_caller]
    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    #[track_caller]
    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A cell that one thread sets once.
#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    is_set: AtomicBool,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: one thread writes the value, before it says that it is there.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self { is_set: AtomicBool::new(false), value: UnsafeCell::new(None) }
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        assert!(!self.is_set.load(Ordering::Relaxed), "the models set it once");
        // SAFETY: one thread sets it, once, and nobody reads it before.
        unsafe { *self.value.get() = Some(value) };
        self.is_set.store(true, Ordering::Release);
        Ok(())
    }

    pub(crate) fn get(&self) -> Option<&T> {
        if !self.is_set.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: it is set, and no longer changes.
        unsafe { (*self.value.get()).as_ref() }
    }
}

/// A clock on which any time has passed at the second look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instant;

impl Instant {
    pub(crate) fn now() -> Self {
        Self
    }

    pub(crate) fn elapsed(&self) -> Duration {
        Duration::MAX
    }
}

/// A value for each thread.
macro_rules! local {
    (static $name:ident: $type:ty = const $value:block;) => {
        loom::thread_local! {
            static $name: $type = $value;
        }
    };
}
pub(crate) use local as thread_local;

/// A static of each execution.
macro_rules! global {
    ($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;) => {
        loom::lazy_static! {
            $(#[$attribute])*
            static ref $name: $type = $value;
        }
    };
}
pub(crate) use global;

/// One look.
pub(crate) fn spin(_: u32, mut is_so: impl FnMut() -> bool) -> bool {
    is_so()
}

/// The payload with which a thread unwinds at the end of an execution whose threads would go on for ever.
pub(crate) struct Over;

/// Ends the calling thread, which a [`Builder`] has started.
pub(crate) fn end_thread() -> ! {
    resume_unwind(Box::new(Over))
}

/// Starts threads, unless the system gives no more.
pub(crate) struct Builder;

impl Builder {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn name(self, _: String) -> Self {
        self
    }

    pub(crate) fn spawn(self, work: impl FnOnce() + 'static) -> io::Result<()> {
        if !THREADS.with(take) {
            return Err(io::Error::other("the model gives no more threads"));
        }
        loom::thread::spawn(move || {
            let ended = catch_unwind(AssertUnwindSafe(work));
            if let Err(payload) = ended {
                let is_over = |payload: &Box<dyn Any + Send>| payload.is::<Over>();
                if !is_over(&payload) {
                    resume_unwind(payload);
                }
            }
        });
        Ok(())
    }
}
