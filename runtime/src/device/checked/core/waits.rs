//! Waiting for a stream: on the host, and when it is dropped.

use std::any::Any;
use std::sync::Arc;
use std::thread;

use super::StreamCore;
use crate::base::error::{Detail, Error, Result};
use crate::base::fork;
use crate::base::unwind::contain;
use crate::device::Device;
use crate::device::pending::callbacks::Message;
use crate::device::pending::progress::Clock;
use crate::device::pending::{Kind, Registry, Stream, is_callback};
use crate::driver::DriverResult;

impl StreamCore {
    /// Waits on the host for everything that was enqueued so far.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.check_thread()?;
        self.device.may_wait()?;
        if self.state().capturing().is_some() {
            return Err(Detail::Capturing { what: "waited for" }.into());
        }
        self.drain(true)?;
        self.take_kept().map_or(Ok(()), Err)
    }

    /// Waits on the host for everything that was enqueued so far. Nothing is left after an error either,
    /// unless the stream cannot be waited for at all.
    pub(super) fn drain(&self, callbacks: bool) -> Result<()> {
        self.device.may_wait()?;
        let (clock, enqueued, issued, launches) = {
            let mut state = self.state();
            (self.now(&state), state.enqueued, self.callbacks.issued(), state.launches.take())
        };
        let waiting = self.progress.stream();
        let since = self.progress.completed();
        // Note 4: a device that fails is waited for twice.
        let outcome = self.wait_on_device().map_err(|error| self.explain(error, None));
        let outcome = outcome.and_then(|()| {
            let of_others =
                || devices(&self.device, &clock).find_map(|its| its.registry().take_fault(&clock));
            let fault = launches.fault().or_else(of_others);
            fault.map_or(Ok(()), Err)
        });
        let is_over = match &outcome {
            Ok(()) => {
                clock.reach();
                true
            }
            Err(error) => {
                self.fail_since(since, error);
                // The first wait reports the failure. If the second succeeds, nothing is left.
                let is_over = self.wait_on_device().is_ok();
                if is_over {
                    self.progress.reached(enqueued);
                }
                is_over
            }
        };
        if is_over {
            self.device.registry().launches_are_over(&self.progress, enqueued);
        }
        // Other streams are asked, and callbacks waited for, only when others can wait for this stream again.
        drop(waiting);
        if is_over && outcome.is_err() {
            devices(&self.device, &clock).for_each(|device| ask(device.registry(), &clock));
        }
        if is_over && callbacks && !is_callback() {
            self.callbacks.wait(issued);
        }
        outcome
    }

    /// Notes that the device has reported a failure after the first `completed` operations. It has carried
    /// out none of the later ones, nor of those that were enqueued meanwhile.
    fn fail_since(&self, completed: u64, error: &Error) {
        let enqueued = self.state().enqueued;
        self.progress.fail(completed + 1..=enqueued, error);
    }

    fn wait_on_device(&self) -> DriverResult<()> {
        let driver = self.device.driver();
        match self.kind {
            // On a GPU that number means another stream to another thread.
            Kind::PerThread(thread)
                if thread != thread::current().id() && !driver.info().kind.is_on_host() =>
            {
                driver.synchronize_device()
            }
            // SAFETY: the stream is live.
            _ => unsafe { driver.synchronize_stream(self.raw) },
        }
    }

    /// Whether everything that was enqueued so far is complete.
    pub(crate) fn query(&self) -> Result<bool> {
        self.check_thread()?;
        self.device.may_wait()?;
        let clock = {
            let mut state = self.state();
            if state.capturing().is_some() {
                return Err(Detail::Capturing { what: "asked" }.into());
            }
            self.now(&state)
        };
        // A thread that waits for the stream at this moment gets its failures. The stream is not complete
        // yet, or will be known to be in a moment.
        let Some(asking) = self.progress.try_stream() else { return Ok(false) };
        let since = self.progress.completed();
        // SAFETY: the stream is live.
        let done = unsafe { self.device.driver().query_stream(self.raw) };
        let done = done.map_err(|error| {
            let is_of_operations = error.tag.is_some() || error.is_asynchronous();
            let error = self.explain(error, None);
            if is_of_operations {
                // The device does not report the failure again to the next caller that waits.
                self.fail_since(since, &error);
            }
            error
        })?;
        if done {
            reach(&self.device, &clock)?;
        }
        drop(asking);
        Ok(done)
    }
}

impl Drop for StreamCore {
    fn drop(&mut self) {
        if fork::is_child() {
            // The stream belongs to the other process, and so does whatever keeps it.
            return std::mem::forget(self.lent.take());
        }
        let driver = self.device.driver();
        self.device.registry().remove_stream(self);
        if let Some(error) = self.take_kept() {
            self.device.registry().callers().not_told(error);
        }
        let (clock, enqueued, launches) = {
            let mut state = self.state();
            (self.now(&state), state.enqueued, state.launches.take())
        };
        let progress = Arc::clone(&self.progress);
        // CUDA keeps a thread's stream as long as the thread.
        let is_own = match self.kind {
            Kind::NonBlocking | Kind::Blocking => true,
            Kind::PerThread(_) => driver.info().kind.is_on_host(),
            Kind::Null | Kind::Lent => false,
        };
        let lent = self.lent.take();
        let raw = self.raw;
        let end = move |device: &Device| {
            let driver = device.driver();
            // A caller that asked for memory that the stream uses may have waited for it before.
            let mut stream = progress.stream();
            let Some(last) = *stream else { return };
            let since = progress.completed();
            // SAFETY: the stream is live.
            let wait = || unsafe { last.wait(driver) };
            let first = wait().map_err(|error| device.registry().callers().explain(error, None));
            let is_over = match &first {
                Ok(()) => {
                    if let Some(fault) = launches.fault() {
                        progress.fail(since + 1..=enqueued, &fault);
                        device.registry().callers().not_told(fault);
                    }
                    // A kernel of a stream that was waited for has failed: that stream will tell.
                    match devices(device, &clock).any(|its| its.registry().has_fault(&clock)) {
                        true => progress.reached(enqueued),
                        false => clock.reach(),
                    }
                    true
                }
                Err(error) => {
                    progress.fail(since + 1..=enqueued, error);
                    device.registry().callers().not_told(error.clone());
                    let is_over = wait().is_ok();
                    if is_over {
                        progress.reached(enqueued);
                    }
                    is_over
                }
            };
            // What is noted there keeps the device.
            device.registry().launches_are_over(&progress, u64::MAX);
            *stream = None;
            if is_over && is_own {
                // SAFETY: the stream is live and destroyed here only. A stream that cannot be waited for
                // stays.
                let _ = unsafe { driver.destroy_stream(raw) };
            }
            drop(stream);
            if is_over && first.is_err() {
                devices(device, &clock).for_each(|device| ask(device.registry(), &clock));
            }
            contain(|| drop(lent));
        };
        if driver.may_wait().is_ok() {
            return end(&self.device);
        }
        // Inside a function of a stream, another thread does this. Nothing is locked here, since whoever has
        // the lock may wait for the function.
        let device = self.device.clone();
        let end = move || end(&device);
        match self.device.registry().callbacks() {
            // The thread ends when the last sender is dropped.
            Ok(queue) => drop(queue.send(Message::Do(Box::new(end)))),
            // There is no such thread, so the stream stays, and with it whatever keeps another library's
            // stream.
            Err(_) => std::mem::forget(end),
        }
    }
}

/// A stream's device and those of the operations that come before a point.
fn devices<'c>(own: &'c Device, clock: &'c Clock) -> impl Iterator<Item = &'c Device> {
    let others = clock.owners().filter_map(|owner| (owner as &dyn Any).downcast_ref::<Device>());
    std::iter::once(own).chain(others.filter(|other| !other.same(own)))
}

/// Notes that a point was reached, unless a kernel in Rust has failed before it.
///
/// # Errors
/// That kernel's fault. The stream that has launched it notes what it has not written when it is waited for.
pub(crate) fn reach(device: &Device, clock: &Clock) -> Result<()> {
    match devices(device, clock).find_map(|its| its.registry().take_fault(clock)) {
        Some(fault) => Err(fault),
        None => {
            clock.reach();
            Ok(())
        }
    }
}

/// Waits for the streams that a failed stream comes after. Each of them notes its own failures, which may
/// have caused this one. The data that a stream without a failure has written are valid.
fn ask(registry: &Registry, clock: &Clock) {
    for stream in registry.streams() {
        if let Some(number) = clock.reached_of(stream.progress()) {
            // The stream keeps its failure.
            stream.wait_for(number);
        }
    }
}
