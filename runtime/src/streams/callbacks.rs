//! Host functions in a stream's order.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::SendError;
use std::sync::{Arc, Weak};

use super::stream::Stream;
use crate::base::error::{Detail, Error, Result};
use crate::base::unwind::{contain, panic_message};
use crate::device::checked::Outstanding;
use crate::device::checked::core::StreamCore;
use crate::device::pending::callbacks::{Callbacks, Message};
use crate::device::pending::progress::Clock;
use crate::device::pending::{Caller, caller};
use crate::driver::{Command, HostJob};

/// The argument of a callback: an error if something has failed before the stream reached it.
pub type Arrived = Result<()>;

impl Stream {
    /// Calls a function once everything enqueued so far is complete. Callbacks run one after another on a
    /// thread that this crate keeps for them; the stream does not wait for them.
    ///
    /// Unlike the callbacks of `cudaStreamAddCallback`, it may do anything, including enqueuing the next
    /// batch of work and waiting for streams. If an earlier operation has failed, it is called with an error.
    /// If it panics, the stream's next synchronisation returns the panic as an error.
    ///
    /// ```
    /// use thalweg::sim::Simulation;
    /// use thalweg::streams::Stream;
    /// use thalweg::{Device, DeviceBuf};
    ///
    /// let device = Device::simulated(Simulation::h200());
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
    /// The driver refuses, no thread can be started, or the stream captures a graph. In each case the
    /// callback is called with an error, too.
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
            // Everything enqueued before is complete when it is called.
            before: core.now(&core.state()),
            outstanding: Arc::clone(&core.callbacks),
            stream: Arc::downgrade(core),
            at,
        };
        let signal = Command::Signal(Box::new(move || pending.call(Ok(()))));
        // SAFETY: it uses no memory. Running it and dropping it both hand the callback on.
        at.located(|| unsafe { self.enqueue(at, &[], signal) })?;
        if !driver.polls() {
            let _ = queue.send(Message::Expect(Arc::downgrade(core) as _, core.state().enqueued));
        }
        Ok(())
    }

    /// Calls a function once everything enqueued so far is complete; the stream goes on when it has returned:
    /// `cudaLaunchHostFunc`.
    ///
    /// It runs on a thread of this crate's and may take its time, but it may not use a device: every request
    /// to one is an error. Buffers, events and streams may be dropped there; they are released a little
    /// later. If an earlier operation has failed, it is dropped without being called. If it panics, the
    /// stream goes on, and its next synchronisation returns the panic as an error.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use thalweg::sim::Simulation;
    /// use thalweg::streams::Stream;
    /// use thalweg::{Device, DeviceBuf, PinnedBuf};
    ///
    /// let device = Device::simulated(Simulation::h200());
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
    /// The driver refuses, or the stream captures a graph.
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
        // SAFETY: it uses no memory of its own: it owns its captures as any other thread would.
        at.located(|| unsafe { self.enqueue(at, &[], Command::Host { job, accesses: &[] }) })
    }
}

/// A function that is dropped on the thread for callbacks: it may have captured device memory, which cannot
/// be freed on the thread that would have called it.
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

/// A pending callback. It is handed on once: when the stream reaches it, or when it is certain that the
/// stream never will.
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
        self.hand_on(Err(Error::new(Detail::NotReached).at(self.at.place())));
    }
}

/// Keeps a panic's message for the stream's next synchronisation.
fn report(stream: &Weak<StreamCore>, at: Caller, outcome: Result<(), Box<dyn Any + Send>>) {
    if let Err(panic) = outcome {
        let message = panic_message(panic);
        // If the stream is gone, nobody is left to be told.
        if let Some(stream) = stream.upgrade() {
            stream.keep(Error::new(Detail::Callback { message }).at(at.place()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::device::Device;
    use crate::sim::Simulation;

    /// Only one thread at a time may wait for a stream. Since the stream may wait for the function, so may
    /// the thread that waits: a function that drops the stream's last handle must not ask for the same right.
    #[test]
    fn a_function_drops_a_stream_that_others_wait_for() {
        let device = Device::simulated(Simulation::default());
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
