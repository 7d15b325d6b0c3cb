//! [`Team`]: threads that help the calling thread with work that consists of tasks.
//!
//! A pool runs work on its own threads, and the caller sleeps until one of them wakes it. For work that takes
//! some ten microseconds the two changes of threads cost as much as the work itself. So here the caller works,
//! and nobody waits for a helper that comes late.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::{hint, mem, ptr};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::crews;
use super::unwind::drop_payload;

/// Threads that help.
pub(crate) struct Team {
    /// What the names of the threads begin with.
    name: &'static str,
    helpers: usize,
    /// `None` inside if the system gives no threads.
    pool: OnceLock<Option<ThreadPool>>,
}

impl Team {
    /// A team of so many helpers, whose threads begin with the first work.
    pub(crate) const fn new(name: &'static str, helpers: usize) -> Self {
        Self { name, helpers, pool: OnceLock::new() }
    }

    /// The calling thread and the helpers.
    pub(crate) fn threads(&self) -> usize {
        self.helpers + 1
    }

    /// Calls `work` on the calling thread, and on at most `helpers` others that are free before the caller has
    /// done. Each call does what is left to do, so that one alone would do everything.
    ///
    /// # Panics
    /// As `work` does, once no thread is at it any more.
    pub(crate) fn run(&'static self, helpers: usize, work: &(dyn Fn() + Sync)) {
        let gate = Arc::new(Gate::new(helpers.min(self.helpers)));
        let lent = Lent::new(work);
        self.call_two(&gate, lent);
        let closing = Closing(&gate);
        work();
        drop(closing);
        let payload = gate.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(payload) = payload {
            resume_unwind(payload);
        }
    }

    /// Calls two helpers, each of which calls two more: waking a thread takes some microseconds, which would otherwise
    /// be the caller's for each of them.
    fn call_two(&'static self, gate: &Arc<Gate>, lent: Lent) {
        for _ in 0..2 {
            if !gate.is_one_left() {
                return;
            }
            let Some(pool) = self.pool() else { return };
            let gate = Arc::clone(gate);
            pool.spawn(move || {
                let Some(_within) = gate.enter() else { return };
                self.call_two(&gate, lent);
                // SAFETY: the gate was open, so the caller waits in `Closing` until `_within` is dropped.
                let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { lent.call() }));
                if let Err(payload) = outcome {
                    gate.note(payload);
                }
            });
        }
    }

    fn pool(&self) -> Option<&ThreadPool> {
        let new = || {
            let name = self.name;
            let builder = ThreadPoolBuilder::new().num_threads(self.helpers);
            let builder = builder.thread_name(move |index| format!("{name}-{index}"));
            builder.start_handler(|_| crews::enter()).build().ok()
        };
        self.pool.get_or_init(new).as_ref()
    }
}

/// Work of a caller, which lives as long as that waits.
#[derive(Clone, Copy)]
struct Lent(*const (dyn Fn() + Sync));

// SAFETY: what it points to is `Sync`, and is called only as `call` says.
unsafe impl Send for Lent {}

impl Lent {
    fn new(work: &(dyn Fn() + Sync)) -> Self {
        let work: *const (dyn Fn() + Sync + '_) = ptr::from_ref(work);
        // SAFETY: the two types differ in a lifetime alone, which says nothing of a pointer.
        Self(unsafe { mem::transmute::<*const (dyn Fn() + Sync + '_), *const (dyn Fn() + Sync)>(work) })
    }

    /// # Safety
    /// The caller of `new` still has the work borrowed.
    unsafe fn call(self) {
        // SAFETY: the caller's promise.
        (unsafe { &*self.0 })();
    }
}

/// Set in the number of helpers once no more may come.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// How often the caller looks whether helpers have done before it sleeps: some microseconds.
const LOOKS: usize = 1 << 10;

/// What helpers go through to work that is lent.
struct Gate {
    /// The helpers that have not been called yet.
    uncalled: AtomicUsize,
    /// The helpers within, and [`CLOSED`].
    within: AtomicUsize,
    /// Who lends the work.
    caller: Thread,
    /// The first panic of a helper.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Gate {
    fn new(helpers: usize) -> Self {
        let uncalled = AtomicUsize::new(helpers);
        Self { uncalled, within: AtomicUsize::new(0), caller: thread::current(), panic: Mutex::new(None) }
    }

    /// Whether one more helper may be called, who is then taken to be.
    fn is_one_left(&self) -> bool {
        let one_less = |uncalled: usize| uncalled.checked_sub(1);
        self.uncalled.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    /// `None` if the gate is closed.
    fn enter(&self) -> Option<Within<'_>> {
        let before = self.within.fetch_add(1, Ordering::Acquire);
        let within = Within(self);
        (before & CLOSED == 0).then_some(within)
    }

    /// Notes a panic, if it is the first.
    fn note(&self, payload: Box<dyn Any + Send>) {
        let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Some(payload);
        } else {
            drop(first);
            drop_payload(payload);
        }
    }
}

/// A helper within a gate.
struct Within<'a>(&'a Gate);

impl Drop for Within<'_> {
    fn drop(&mut self) {
        // `Release`: the caller sees what the helper has written.
        if self.0.within.fetch_sub(1, Ordering::Release) == CLOSED | 1 {
            self.0.caller.unpark();
        }
    }
}

/// Closes the gate when it is dropped, also by a panic, and waits until nobody is within.
struct Closing<'a>(&'a Gate);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let Self(gate) = self;
        gate.within.fetch_or(CLOSED, Ordering::AcqRel);
        let mut looks = 0;
        while gate.within.load(Ordering::Acquire) != CLOSED {
            if looks < LOOKS {
                looks += 1;
                hint::spin_loop();
            } else {
                // The last one that leaves wakes this thread. It may have done so already.
                thread::park();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::*;

    static TEAM: Team = Team::new("thalweg-test", 3);

    #[test]
    fn all_threads_of_a_team_may_take_part() {
        // Four threads meet, which they could not if fewer took part.
        let met = AtomicUsize::new(0);
        let names = Mutex::new(BTreeSet::new());
        TEAM.run(3, &|| {
            names.lock().expect("no panic").insert(thread::current().name().map(str::to_owned));
            met.fetch_add(1, Ordering::AcqRel);
            let until = Instant::now() + Duration::from_secs(20);
            while met.load(Ordering::Acquire) < 4 && Instant::now() < until {
                thread::yield_now();
            }
        });
        assert_eq!((met.into_inner(), names.into_inner().expect("no panic").len()), (4, 4));
    }

    #[test]
    fn each_task_is_done_once_and_seen_by_the_caller() {
        for round in 0..2000 {
            let tasks = round % 7;
            let next = AtomicUsize::new(0);
            let done: Vec<_> = (0..tasks).map(|_| Mutex::new(0)).collect();
            TEAM.run(3, &|| {
                while let Some(task) = done.get(next.fetch_add(1, Ordering::Relaxed)) {
                    *task.lock().expect("no panic") += 1;
                }
            });
            assert!(done.into_iter().all(|times| times.into_inner().expect("no panic") == 1));
        }
    }

    #[test]
    fn nobody_waits_for_helpers_that_are_elsewhere() {
        static BUSY: Team = Team::new("thalweg-test", 1);
        let (end, ends) = mpsc::channel::<()>();
        BUSY.pool().expect("a thread").spawn(move || {
            let _ = ends.recv();
        });
        let calls = AtomicUsize::new(0);
        let call = || {
            calls.fetch_add(1, Ordering::Relaxed);
        };
        BUSY.run(1, &call);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        drop(end);
        // The helper that comes now finds the gate closed, and another team's work is no less possible.
        BUSY.run(1, &call);
        assert!((2..=3).contains(&calls.into_inner()));
    }

    #[test]
    fn a_panic_goes_on_when_no_thread_is_within() {
        for of_helper in [false, true] {
            let (caller, within) = (thread::current().id(), AtomicUsize::new(0));
            let has_panicked = AtomicBool::new(false);
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                TEAM.run(3, &|| {
                    within.fetch_add(1, Ordering::AcqRel);
                    let is_helper = thread::current().id() != caller;
                    let leave = scopeguard(&within);
                    if is_helper == of_helper {
                        has_panicked.store(true, Ordering::Release);
                        panic!("as is wanted");
                    }
                    let until = Instant::now() + Duration::from_secs(20);
                    while !has_panicked.load(Ordering::Acquire) && Instant::now() < until {
                        thread::yield_now();
                    }
                    drop(leave);
                });
            }));
            assert!(outcome.is_err() && within.into_inner() == 0);
        }
    }

    /// Counts down when it is dropped.
    fn scopeguard(count: &AtomicUsize) -> impl Drop {
        struct Leave<'a>(&'a AtomicUsize);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::AcqRel);
            }
        }
        Leave(count)
    }
}
