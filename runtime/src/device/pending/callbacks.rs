//! The thread for callbacks of a device.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::stream::Stream;
use crate::base::error::{ErrorKind, Result};
use crate::base::unwind::contain;
use crate::driver::HostJob;

thread_local!(static CALLBACK: Cell<bool> = const { Cell::new(false) });

/// Whether the calling thread is the one that runs callbacks.
pub(crate) fn is_callback() -> bool {
    CALLBACK.get()
}

/// Where the thread for callbacks is told what to do. It ends with the last of these.
pub(crate) type Callbacks = mpsc::Sender<Message>;

/// What that thread is told.
pub(crate) enum Message {
    /// To be done now.
    Do(HostJob),
    /// Something is to be done when the stream has carried out so many operations. Of a device that gets on while somebody waits
    /// for it, somebody must.
    Expect(Weak<dyn Stream>, u64),
}

/// How long nobody waits for a device before the thread for callbacks does. A program that waits itself is not interfered with:
/// it runs the same each time.
const PATIENCE: Duration = Duration::from_millis(10);

/// Starts the thread.
pub(super) fn start() -> Result<Callbacks> {
    let (sender, messages) = mpsc::channel();
    let work = move || {
        CALLBACK.set(true);
        let mut expected: VecDeque<(Instant, Weak<dyn Stream>, u64)> = VecDeque::new();
        loop {
            // Whatever has come meanwhile need not be waited for.
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
                        // It keeps what goes wrong.
                        let _ = stream.upgrade().map(|stream| stream.wait_for(number));
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
    };
    let thread = thread::Builder::new().name("thalweg callbacks".to_owned()).spawn(work);
    thread.map_err(|error| ErrorKind::NoThread { message: error.to_string() })?;
    Ok(sender)
}
