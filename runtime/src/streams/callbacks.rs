//! Functions of the host in a stream's order.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::SendError;
use std::sync::{Arc, Weak};

use super::stream::Stream;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::unwind::{contain, panic_message};
use crate::device::checked::Outstanding;
use crate::device::checked::core::StreamCore;
use crate::device::pending::callbacks::{Callbacks, Message};
use crate::device::pending::progress::Clock;
use crate::device::pending::{Caller, caller};
use crate::driver::{Command, HostJob};

/// What a callback is told of the stream: whether it has got there.
pub type Arrived = Result<()>;

impl Stream {
    /// Calls a function once everything enqueued so far is complete, on a thread that this crate keeps for it, one callback
    /// after another. The stream goes on meanwhile.
    ///
    /// It may do anything, enqueue the next batch of work and wait for streams too: what `cudaStreamAddCallback` is for, whose
    /// callbacks may not. If something has failed on the way, it is called with an error. If it panics, the stream's next
    /// synchronisation says so.
    ///
    /// ```
    /// use thalweg::{Device, DeviceBuf, Spec, Stream};
    ///
    /// let device = Device::simulated(Spec::h200());
    /// let (stream, mut x) = (Stream::new(&device)?, DeviceBuf::<f32>::zeroed(&device, 1000)?);
    /// stream.fill(&mut x, 1.0)?;
    /// let next = stream.clone();
    /// stream.then(move |arrived| {
    ///     arrived.expect("nothing has failed");
    ///     next.fill(&mut x, 2.0).expect("the next batch");
    /// })?;
    /// stream.synchronize()?;
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver refuses, or no thread can be started. The stream is one that captures a graph. The callback is then called with an
    /// error, too.
    #[track_caller]
    pub fn then(&self, callback: impl FnOnce(Arrived) + Send + 'static) -> Result<()> {
        let at = caller("then");
        let driver = self.device().driver();
        let queue = at.located(|| self.device().registry().callbacks())?;
        let core = &self.core;
        let number = core.callbacks.issue();
        let pending = Pending {
            number,
            callback: Some(Box::new(callback)),
            queue: queue.clone(),
            // What comes before is over when it is called.
            before: core.now(&core.state()),
            outstanding: Arc::clone(&core.callbacks),
            stream: Arc::downgrade(core),
            at,
        };
        let signal = Command::Signal(Box::new(move || pending.call(Ok(()))));
        // SAFETY: it uses no memory. It hands the callback on, and so does dropping it.
        at.located(|| unsafe { self.enqueue(at, &[], signal) })?;
        if !driver.polls() {
            let _ = queue.send(Message::Expect(Arc::downgrade(core) as _, core.state().enqueued));
        }
        Ok(())
    }

    /// Calls a function once everything enqueued so far is complete; the stream goes on when it has returned:
    /// `cudaLaunchHostFunc`.
    ///
    /// It runs on a thread of this crate's and may take its time, but it may not use a device: whatever it asks of one is an
    /// error. Buffers, events and streams may be dropped there; they go a little later. If
    /// something has failed on the way, it is dropped without being called. If it panics, the stream goes on, and its next
    /// synchronisation says so.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use thalweg::{Device, DeviceBuf, PinnedBuf, Spec, Stream};
    ///
    /// let device = Device::simulated(Spec::h200());
    /// let (stream, x) = (Stream::new(&device)?, DeviceBuf::from_slice(&device, &[1.0, 2.0])?);
    /// let mut host = PinnedBuf::zeroed(&device, 2)?;
    /// stream.download(&x, &mut host)?;
    /// let (sender, sums) = mpsc::channel();
    /// stream.host(move || sender.send(host.iter().sum::<f64>()).expect("a receiver"))?;
    /// stream.synchronize()?;
    /// assert_eq!(sums.recv(), Ok(3.0));
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver refuses. The stream is one that captures a graph.
    #[track_caller]
    pub fn host(&self, function: impl FnOnce() + Send + 'static) -> Result<()> {
        let at = caller("host");
        let queue = at.located(|| self.device().registry().callbacks())?;
        let (before, stream) = (self.core.now(&self.core.state()), Arc::downgrade(&self.core));
        let mut function = Elsewhere { held: Some(Box::new(function)), queue };
        let job = Box::new(move || {
            before.reach();
            if let Some(function) = function.held.take() {
                report(&stream, at, catch_unwind(AssertUnwindSafe(function)));
            }
        });
        // SAFETY: it uses no memory of its own: what it has captured it has as any other thread would.
        at.located(|| unsafe { self.enqueue(at, &[], Command::Host { job, accesses: &[] }) })
    }
}

/// A function that is dropped on the thread for callbacks: what it has captured may be device memory, which cannot be freed where
/// it would have been called.
struct Elsewhere {
    held: Option<Box<dyn FnOnce() + Send>>,
    queue: Callbacks,
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        if let Some(function) = self.held.take() {
            let dropped = self.queue.send(Message::Do(Box::new(move || drop(function))));
            contain(|| drop(dropped));
        }
    }
}

/// A callback on its way. It is handed on once: when the stream gets there, or when it is certain that it will not.
struct Pending {
    callback: Option<Box<dyn FnOnce(Arrived) + Send>>,
    queue: Callbacks,
    before: Clock,
    number: u64,
    outstanding: Arc<Outstanding>,
    stream: Weak<StreamCore>,
    at: Caller,
}

impl Pending {
    fn call(mut self, arrived: Arrived) {
        self.hand_on(arrived);
    }

    fn hand_on(&mut self, arrived: Arrived) {
        let Some(callback) = self.callback.take() else { return };
        if arrived.is_ok() {
            self.before.reach();
        }
        let (stream, outstanding) = (self.stream.clone(), Arc::clone(&self.outstanding));
        let (at, number) = (self.at, self.number);
        let job: HostJob = Box::new(move || {
            report(&stream, at, catch_unwind(AssertUnwindSafe(|| callback(arrived))));
            outstanding.is_over(number);
        });
        if let Err(SendError(job)) = self.queue.send(Message::Do(job)) {
            // The device is gone.
            contain(|| drop(job));
            self.outstanding.is_over(self.number);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.hand_on(Err(Error::new(ErrorKind::NotReached).at(self.at.place())));
    }
}

/// Keeps what a panic says for the stream's next synchronisation.
fn report(stream: &Weak<StreamCore>, at: Caller, outcome: Result<(), Box<dyn Any + Send>>) {
    if let Err(panic) = outcome {
        let message = panic_message(panic);
        // Nobody is left to be told where the stream is gone.
        if let Some(stream) = stream.upgrade() {
            stream.keep(Error::new(ErrorKind::Callback { message }).at(at.place()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::Spec;
    use crate::device::Device;

    /// One thread at a time has the right to wait for a stream. The stream may wait for the function, so whoever has that right may, too:
    /// a function that drops the stream's last handle must not ask for it.
    #[test]
    fn a_function_drops_a_stream_that_others_wait_for() {
        let device = Device::simulated(Spec::default());
        let [gone, runner] = [(); 2].map(|()| Stream::new(&device).expect("a stream"));
        let progress = Arc::clone(&gone.core.progress);
        let waiting = progress.stream();
        runner.host(move || drop(gone)).expect("a function");
        let (done, is_done) = mpsc::channel();
        let waits = thread::spawn(move || done.send(runner.synchronize()));
        let returned = is_done.recv_timeout(Duration::from_secs(30));
        returned.expect("the function returns").expect("the device");
        drop(waiting);
        waits.join().expect("no panic").expect("somebody listens");
        // Another thread has waited for the stream, and given it back.
        device.synchronize().expect("the device");
        while progress.stream().is_some() {
            thread::yield_now();
        }
    }
}
