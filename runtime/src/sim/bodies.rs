//! Where host bodies run: on threads that do nothing else.
//!
//! A body may use rayon. On a thread of the caller's pool its waiting would steal other tasks of that pool, one of which
//! may run another pipeline on this device and so wait for the very body below it on the stack; and where the pool's
//! threads all wait for this device, the body's own tasks would find no thread. Here its tasks stay among themselves, and
//! the caller sleeps.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{OnceLock, mpsc};
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::fault;
use crate::driver::{DriverResult, HostBody};

/// The pool, one for the process; none where the system gives no threads.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let build = || ThreadPoolBuilder::new().thread_name(|index| format!("thalweg-host-{index}")).build().ok();
    POOL.get_or_init(build).as_ref()
}

/// Whether the calling thread runs a host body, or a task of one.
pub(super) fn is_inside() -> bool {
    pool().is_some_and(|pool| pool.current_thread_index().is_some())
}

/// A body that waited for its own device would wait for itself; one that waited for another would hold up all. On a GPU none may
/// call the driver at all: another thread may have it to itself, and wait for the device.
pub(super) fn refuse_inside(call: &'static str) -> DriverResult<()> {
    if is_inside() { Err(fault::not_permitted(call)) } else { Ok(()) }
}

/// Runs a body and waits for it.
pub(super) fn run(body: HostBody) -> thread::Result<()> {
    // What a body has left half-done is the user's data, which a failed run says nothing about.
    let body = move || catch_unwind(AssertUnwindSafe(body));
    let Some(pool) = pool() else { return body() };
    let (done, result) = mpsc::sync_channel::<Result<(), Box<dyn Any + Send>>>(1);
    pool.spawn(move || {
        // The other end waits below, so that it is there.
        let _ = done.send(body());
    });
    result.recv().unwrap_or(Ok(()))
}
