//! Calls of NCCL that may wait for other ranks without end.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::Builder;
use std::time::Duration;

use crate::driver::DriverResult;
use crate::driver::fault::invalid_value;

/// The pause between two questions.
const PAUSE: Duration = Duration::from_micros(200);

/// A thread that has to do with a communicator.
pub(super) fn named_thread() -> Builder {
    Builder::new().name("thalweg ranks".to_owned())
}

/// Does something on a thread of its own, and waits for it. Meanwhile `patience` is asked again and again; after an
/// error of it nobody waits for the thread any more.
///
/// # Errors
/// Those of `work` and of `patience`; or the system has no thread.
pub(super) fn aside<T: Send + 'static>(
    call: &'static str,
    work: impl FnOnce() -> DriverResult<T> + Send + 'static,
    mut patience: impl FnMut() -> DriverResult<()>,
) -> DriverResult<T> {
    let (done, outcome) = mpsc::sync_channel(1);
    let started = named_thread().spawn(move || {
        // Nobody may be waiting any more.
        let _ = done.send(work());
    });
    started.map_err(|error| invalid_value(call, format!("the system refuses a thread for it: {error}")))?;
    loop {
        match outcome.recv_timeout(PAUSE) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Timeout) => patience()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(invalid_value(call, "the thread that made the call has panicked"));
            }
        }
    }
}
