//! Host bodies and functions, which run on threads that do nothing else.
//!
//! A body may use rayon. On a thread of the caller's pool, a body that waits would steal other tasks of that
//! pool. One of these may run another pipeline on this device, and so wait for the very body below it on the
//! stack. And if all threads of the pool wait for this device, the body's own tasks would find no thread. So
//! each body has a pool to itself while it runs, a crew: its tasks stay among themselves, and the caller
//! sleeps. In a pool that bodies of several devices shared, a body that waits for a task might have another
//! body on its own stack, and bodies that meet would need as many threads as there are devices.
//! stack, and bodies that meet would need as many threads as there are devices.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::fault;
use crate::driver::{DriverResult, HostBody};

// Note 43: a body has a pool to itself while it runs.
/// The idle crews. There are as many crews as bodies ran at the same time; each device runs one at a time.
static IDLE: Mutex<Vec<ThreadPool>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<ThreadPool>> {
    // No code of the user's runs under the lock.
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static IS_IN_CREW: Cell<bool> = const { Cell::new(false) };
}

/// An idle crew, or a new one. `None` if the system gives no threads.
fn crew() -> Option<ThreadPool> {
    // The crew that worked last comes first, since its threads may still be awake.
    let idle = idle().pop();
    idle.or_else(new_crew)
}

fn new_crew() -> Option<ThreadPool> {
    let builder = ThreadPoolBuilder::new().thread_name(|index| format!("thalweg-host-{index}"));
    builder.start_handler(|_| IS_IN_CREW.set(true)).build().ok()
}

/// Whether the calling thread runs a host body, or a task of one.
pub(super) fn is_inside() -> bool {
    IS_IN_CREW.get()
}

/// A body that waited for its own device would wait for itself, and one that waited for another device would
/// delay everything. On a GPU a body may not call the driver at all: another thread may occupy the driver and
/// wait for the device.
pub(super) fn refuse_inside(call: &'static str) -> DriverResult<()> {
    if is_inside() { Err(fault::not_permitted(call)) } else { Ok(()) }
}

/// How long a body waits for a thread of its crew. Endless tasks of an earlier body may occupy all of its
/// threads.
const PATIENCE: Duration = Duration::from_millis(50);

/// Runs a body and waits for it.
pub(super) fn run(body: HostBody) -> thread::Result<()> {
    // Anything that a body has left half-done is the user's data, about which a failed run promises nothing.
    let body = move || {
        // If the system gives no threads, the body runs on the caller's thread, and may not wait there
        // either.
        let was_inside = IS_IN_CREW.replace(true);
        let outcome = catch_unwind(AssertUnwindSafe(body));
        IS_IN_CREW.set(was_inside);
        outcome
    };
    let Some(mut crew) = crew() else { return body() };
    let (done, result) = mpsc::sync_channel::<Result<(), Box<dyn Any + Send>>>(1);
    // Whoever takes the body first carries it out.
    let waiting = Arc::new(Mutex::new(Some(move || {
        // The receiver waits below, so it exists.
        let _ = done.send(body());
    })));
    loop {
        let its = Arc::clone(&waiting);
        crew.spawn(move || taken(&its).into_iter().for_each(|body| body()));
        let outcome = match result.recv_timeout(PATIENCE) {
            Err(RecvTimeoutError::Timeout) if is_there(&waiting) => {
                // The threads of the other crew end with their tasks.
                match new_crew() {
                    Some(next) => crew = next,
                    None => taken(&waiting).into_iter().for_each(|body| body()),
                }
                continue;
            }
            Err(RecvTimeoutError::Timeout) => result.recv().unwrap_or(Ok(())),
            outcome => outcome.unwrap_or(Ok(())),
        };
        idle().push(crew);
        return outcome;
    }
}

fn taken<F>(body: &Mutex<Option<F>>) -> Option<F> {
    body.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn is_there<F>(body: &Mutex<Option<F>>) -> bool {
    body.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}
