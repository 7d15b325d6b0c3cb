//! A device's thread for callbacks.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::stream::Stream;
use crate::base::error::{Detail, Result};
use crate::base::unwind::contain;
use crate::driver::HostJob;

thread_local!(static CALLBACK: Cell<bool> = const { Cell::new(false) });

/// Whether the calling thread is the one that runs callbacks.
pub(crate) fn is_callback() -> bool {
    CALLBACK.get()
}

/// The channel to the thread for callbacks. The thread ends when the last sender is dropped.
pub(crate) type Callbacks = mpsc::Sender<Message>;

/// A message to that thread.
pub(crate) enum Message {
    /// The thread is to do this now.
    Do(HostJob),
    /// Something is to be done when the stream has carried out this many operations. If the device makes
    /// progress only while somebody waits for it, somebody must wait.
    Expect(Weak<dyn Stream>, u64),
}

/// How long nobody waits for a device before the thread for callbacks does. A program that waits itself is
/// not disturbed, so that it runs the same each time.
const PATIENCE: Duration = Duration::from_millis(10);

/// Starts the thread.
pub(super) fn start() -> Result<Callbacks> {
    let (sender, messages) = mpsc::channel();
    let work = move || {
        CALLBACK.set(true);
        let mut expected: VecDeque<(Instant, Weak<dyn Stream>, u64)> = VecDeque::new();
        loop {
            // Operations that have completed meanwhile need not be waited for.
            while expected.front().is_some_and(|(_, stream, number)| {
                stream.upgrade().is_none_or(|stream| stream.progress().has_reached(*number))
            }) {
                expected.pop_front();
            }
            let since = expected.front().map(|(since, ..)| since.elapsed());
            let patience = since.map_or(Duration::MAX, |since| PATIENCE.saturating_sub(since));
            match messages.recv_timeout(patience) {
                Ok(Message::Do(job)) => contain(job),
                Ok(Message::Expect(stream, number)) => expected.push_back((Instant::now(), stream, number)),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    if let Some((_, stream, number)) = expected.pop_front() {
                        // The stream keeps its errors.
                        let _ = stream.upgrade().map(|stream| stream.wait_for(number));
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
    };
    let thread = thread::Builder::new().name("thalweg callbacks".to_owned()).spawn(work);
    thread.map_err(|error| Detail::NoThread { message: error.to_string() })?;
    Ok(sender)
}
