//! Functions on the CPU in the order of a stream: `host` functions, `then` callbacks, and the routines that
//! `call` calls.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use bytemuck::Pod;

use crate::base::chunk::Chunk;
use crate::base::error::{Detail, Result};
use crate::base::plan::OperationKind;
use crate::base::unwind::{contain, panic_message};
use crate::device::launch::{View, ViewMut, aliases};
use crate::device::slices::Slices;
use crate::driver::{Command, HostJob};
use crate::engine::arguments::handles::Buffer;
use crate::engine::feeds::failure::Failure;
use crate::engine::run::operation::Operation;
use crate::engine::targets::what::{HostPart, What};
use crate::observe::timeline::Engine;

/// The functions of one run.
#[derive(Default)]
pub(crate) struct Functions {
    /// Created for the first function.
    failure: Option<Arc<Mutex<Option<Failure>>>>,
    callbacks: Option<Callbacks>,
}

// Note 8: a thread of the run, not of the device.
/// A thread that calls callbacks, one after another. It is the run's own, so that a callback may wait for
/// another run.
struct Callbacks {
    queue: mpsc::Sender<Option<HostJob>>,
    thread: JoinHandle<()>,
}

impl Functions {
    /// Notes the first failure in `failure`.
    pub(crate) fn noting(failure: &Arc<Mutex<Option<Failure>>>) -> Self {
        Self { failure: Some(Arc::clone(failure)), callbacks: None }
    }

    /// Waits until every callback that the device has reached has returned, and gives the first failure, if it is of a
    /// chunk of this device.
    ///
    /// The device is done: it reaches no more callbacks.
    pub(crate) fn finish(self, is_own: impl FnOnce(usize) -> bool) -> Option<Failure> {
        if let Some(Callbacks { queue, thread }) = self.callbacks {
            // Waiting for the end of the channel would not do: a device that does not answer keeps a sender.
            let _ = queue.send(None);
            // The thread does not unwind.
            let _ = thread.join();
        }
        let noted = self.failure?;
        let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
        let is_own = noted.as_ref().is_some_and(|failure| is_own(failure.chunk));
        noted.take_if(|_| is_own)
    }

    /// The channel to the callback thread.
    fn callbacks(&mut self) -> Result<mpsc::Sender<Option<HostJob>>, Detail> {
        if let Some(callbacks) = &self.callbacks {
            return Ok(callbacks.queue.clone());
        }
        let (queue, jobs) = mpsc::channel::<Option<HostJob>>();
        let work = move || {
            // A callback that is not called any more may still panic when it is dropped.
            while let Ok(Some(job)) = jobs.recv() {
                contain(job);
            }
            jobs.try_iter().flatten().for_each(|job| contain(|| drop(job)));
        };
        let thread = thread::Builder::new().name("thalweg callbacks".to_owned()).spawn(work);
        let thread = thread.map_err(|error| Detail::NoThread { message: error.to_string() })?;
        self.callbacks = Some(Callbacks { queue: queue.clone(), thread });
        Ok(queue)
    }

    /// Wraps `call` so that it does not unwind and a failure is noted. After a failure no further function is
    /// called: it would work on what the failed one has left.
    fn guarded<R: Outcome>(
        &mut self,
        operation: &Operation<'_>,
        call: impl FnOnce() -> R + Send + 'static,
    ) -> HostJob {
        let failure = Arc::clone(self.failure.get_or_insert_default());
        let panics = operation.device().driver().has_panic(operation.tag());
        let call = move || {
            if panics {
                resume_unwind(Box::new("a fault was injected"));
            }
            call()
        };
        let is_host = matches!(operation.plan().kind, OperationKind::Host { .. });
        let (operation, chunk) = (operation.index, operation.chunk.index);
        // No output waits for a callback.
        let lacking = if is_host { chunk } else { usize::MAX };
        Box::new(move || {
            let locked = || failure.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(failure) = &mut *locked() {
                failure.lacking = failure.lacking.min(lacking);
                return;
            }
            let message = catch_unwind(AssertUnwindSafe(|| call().failure()));
            let message = message.unwrap_or_else(|panic| Some(panic_message(panic)));
            if let Some(message) = message {
                let mut locked = locked();
                let failure = locked.get_or_insert(Failure { operation, chunk, lacking, message });
                failure.lacking = failure.lacking.min(lacking);
            }
        })
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Functions")
    }
}

/// The return value of a `host` function or a callback: nothing, or a `Result` whose error can be shown. An
/// error ends the run with [`ErrorKind::Function`](crate::ErrorKind::Function).
///
/// ```
/// use thalweg::prelude::*;
///
/// fn positive(x: &[f32]) -> std::result::Result<(), String> {
///     x.iter().find(|x| **x <= 0.0).map_or(Ok(()), |x| Err(format!("{x} is not positive")))
/// }
///
/// stream_pipeline! {
///     pipeline Checked {
///         input x: [f32];
///         output y: [f32];
///         host h: [f32];
///         chunk c = 2;
///         stage there { copy x -> dx; }
///         stage check { copy dx -> h; host positive(&h); }
///         stage back { copy dx -> y; }
///     }
/// }
///
/// let mut checked = Checked::new(&Device::simulated(Simulation::h200()))?;
/// let error = checked.run(&[1.0, 2.0, 3.0, -4.0], &mut [0.0; 4]).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Function(function) if function.message() == "-4 is not positive"));
/// assert_eq!(error.place().chunk, Some(1));
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a function on the host cannot return `{Self}`",
    label = "expected `()` or `Result<(), E>` with an error that can be shown",
    note = "a pipeline has no use for another result: write it to an argument, or to a channel"
)]
pub trait Outcome {
    #[doc(hidden)]
    fn failure(self) -> Option<String>;
}

impl Outcome for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: fmt::Display> Outcome for std::result::Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}

/// A value passed to a `host` function: any type that is `Copy` and `Send` and borrows nothing, because the
/// function is called later, on another thread.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a host function, which takes `Copy` values that borrow nothing and may not call CUDA",
    label = "expected a value that is `Copy` and borrows nothing"
)]
pub trait HostValue: Copy + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Copy + Send + 'static> HostValue for T {}

/// Returns the value itself.
#[doc(hidden)]
pub fn host_value<T: HostValue>(value: T) -> T {
    value
}

/// The number of turns of a `repeat`: any of Rust's integers up to 64 bits. A negative number counts as 0.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::saxpy;
///
/// stream_pipeline! {
///     pipeline Add {
///         param times: i32;
///         input x: [f32];
///         inout y: [f32];
///         chunk c = auto;
///         stage load { copy x -> dx; copy y -> dy; }
///         stage add { repeat times { saxpy<<<blocks(c.len, 256), 256>>>(1.0, &dx, &mut dy); } }
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let (mut add, mut y) = (Add::new(&Device::simulated(Simulation::h200()))?, [1.0; 3]);
/// add.run(4, &[10.0; 3], &mut y)?;
/// add.run(-1, &[10.0; 3], &mut y)?;
/// assert_eq!(y, [41.0; 3]);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number of times",
    label = "expected a whole number"
)]
pub trait Times {
    #[doc(hidden)]
    fn times(self) -> u64;
}

macro_rules! times {
    ($($type:ty),*) => {$(
        impl Times for $type {
            #[inline]
            fn times(self) -> u64 {
                // A negative number counts as 0.
                u64::try_from(self).unwrap_or(0)
            }
        }
    )*};
}
times!(u8, u16, u32, u64, usize, i32, i64, isize);

/// The turns of a `repeat`.
#[doc(hidden)]
pub fn times(times: impl Times) -> std::ops::Range<u64> {
    0..times.times()
}

impl<'r> Operation<'r> {
    /// A host function's `&buffer`.
    pub fn host_read<T: Pod>(&self, buffer: Buffer<T>) -> View<T> {
        let (ptr, len) = self.elements(buffer);
        View::new(ptr, len)
    }

    /// A host function's `&mut buffer`.
    pub fn host_read_write<T: Pod>(&self, buffer: Buffer<T>) -> ViewMut<T> {
        let (ptr, len) = self.elements(buffer);
        ViewMut::new(ptr, len)
    }

    /// A host function's `out buffer`.
    pub fn host_write<T: Pod>(&self, buffer: Buffer<T>) -> ViewMut<T> {
        self.host_read_write(buffer)
    }

    /// Calls `function` on the CPU when the stream reaches it. The stream waits until it has returned.
    ///
    /// # Errors
    /// Two of `memory` overlap and one is written; the driver refuses.
    pub fn host<V, F, R>(&self, memory: V, function: F) -> Result<()>
    where
        V: Slices,
        F: for<'a> FnOnce(V::Slices<'a>) -> R + Send + 'static,
        R: Outcome + 'static,
    {
        let _seen = self.seen();
        let accesses = memory.accesses();
        let OperationKind::Host { function: name } = self.plan().kind else {
            return self.fail(Detail::Skipped);
        };
        if !self.in_order() || !accesses.iter().all(|access| self.owns_on_host(access)) {
            return self.fail(Detail::Skipped);
        }
        if aliases(&accesses) {
            return self.fail(Detail::Aliased { kernel: name });
        }
        let bytes = accesses.iter().map(|access| access.bytes).sum();
        if self.works_out(HostPart::Function { bytes })? {
            return Ok(());
        }
        // SAFETY: these ranges are page-locked memory of the run, which holds them until it has drained, and
        // they do not overlap where one is written. When the stream reaches this, everything that conflicts
        // with it has completed; nothing conflicting starts until the stream goes on, after this has
        // returned.
        let call = move || function(unsafe { memory.slices() });
        let job = self.run.functions.borrow_mut().guarded(self, call);
        self.outside_graphs(What::new(Engine::Host, bytes), |stream| {
            // SAFETY: the stream lives as long as the run, and so does the memory.
            unsafe {
                let function = Command::Host { job, accesses: &accesses };
                self.device().driver().enqueue(function, stream, self.tag())
            }
        })
    }

    /// Hands `callback` to the run's callback thread when the stream reaches it. The stream does not wait for
    /// it; the run does, at its end.
    ///
    /// # Errors
    /// No thread can be started; the driver refuses.
    pub fn then<R: Outcome + 'static>(
        &self,
        callback: impl FnOnce(Chunk) -> R + Send + 'static,
    ) -> Result<()> {
        let _seen = self.seen();
        if !self.in_order() {
            return self.fail(Detail::Skipped);
        }
        if self.works_out(HostPart::Callback)? {
            return Ok(());
        }
        let chunk = self.chunk;
        let (queue, job) = {
            let mut functions = self.run.functions.borrow_mut();
            let queue = functions.callbacks().or_else(|kind| self.fail(kind))?;
            (queue, functions.guarded(self, move || callback(chunk)))
        };
        // If the thread is gone, it failed to start or the run is over: there is nobody to call.
        let signal: HostJob = Box::new(move || drop(queue.send(Some(job))));
        self.outside_graphs(What::new(Engine::Host, 0), |stream| {
            // SAFETY: the stream lives as long as the run; sending is quick and calls no device.
            unsafe { self.device().driver().enqueue(Command::Signal(signal), stream, self.tag()) }
        })
    }
}
