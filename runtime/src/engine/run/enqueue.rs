//! [`Enqueue`]: the handle with which a routine that a pipeline calls enqueues work.

use std::cell::Cell;
use std::ffi::c_void;

use bytemuck::Pod;

use crate::base::chunk::Chunk;
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Error, Result};
use crate::base::plan::OperationKind;
use crate::device::Device;
use crate::device::launch::{DeviceSliceMut, aliases};
use crate::device::slices::{Slices, Views};
use crate::driver::{
    Access, Command, DevicePtr, DriverResult, HostBodies, HostBody, RawFunction, RawLaunch, RawStream,
};
use crate::engine::run::operation::Operation;
use crate::engine::state::locked;
use crate::engine::targets::what::{HostPart, What};
use crate::observe::timeline::Engine;
use crate::observe::watch::OperationWatch;

impl<'r> Operation<'r> {
    /// Whether to call the routine: a prediction does not call it.
    ///
    /// # Errors
    /// In practice there are none.
    pub fn calls(&self) -> Result<bool> {
        Ok(!self.works_out(HostPart::Routine { bytes: self.bytes_used() })?)
    }

    /// The handle that a routine receives.
    pub fn enqueue(&self) -> Enqueue<'r> {
        let refused = self.begin_routine().err();
        if let Some(error) = &refused {
            self.run.order.refuse_with(error.clone());
        }
        Enqueue { operation: *self, refused, _seen: self.seen() }
    }

    /// In graph mode, launches the operations before the routine; its stream waits for the chunk before if
    /// the order requires it.
    fn begin_routine(&self) -> Result<()> {
        self.run.launch()?;
        match self.run.target.open(self.stream, self.tag()) {
            Ok(true) => self.settle_before_first_call(),
            // The routine is only predicted.
            Ok(false) => self.fail(Detail::Skipped),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Before the operation's routine is called for the first time, for which its library may load kernels: waits until
    /// no collective is under way.
    ///
    /// # Errors
    /// Those of [`settle_collectives`](Self::settle_collectives).
    fn settle_before_first_call(&self) -> Result<()> {
        let resources = &self.run.resources;
        let is_first = resources.ranks.is_some() && locked(resources.states).is_first(self.index);
        if is_first { self.settle_collectives() } else { Ok(()) }
    }

    // Note 81: libraries warm up between collectives, not beside them.
    /// Before something is made that the driver may have a GPU stop for: waits until no collective is under way on it.
    ///
    /// # Errors
    /// What was on a stream has failed, or a rank has.
    pub(super) fn settle_collectives(&self) -> Result<()> {
        if self.device().is_on_host() {
            return Ok(());
        }
        // SAFETY: the streams live as long as the run.
        self.check(unsafe { self.run.posted.wait(self.device()) })
    }

    /// Takes the outcome of a routine.
    ///
    /// # Errors
    /// The error that the run was refused with, even if the routine returns another one; or the routine's
    /// own, with its place.
    pub fn call(&self, outcome: Result<()>) -> Result<()> {
        match outcome {
            // In graph mode the routine's work is on the lane's stream: later chunks come after it.
            Ok(()) => {
                let what = What::new(Engine::Compute, self.bytes_used());
                self.run.target.has_called(self.stream, self.tag(), what);
                self.direct(|stream| self.waited_for(stream))
            }
            Err(error) => {
                self.run.order.refuse();
                Err(self.run.order.refusal().unwrap_or_else(|| error.at(self.place())))
            }
        }
    }

    /// With `THALWEG_SYNC`, waits for the work of a routine, so that a failure is known to be its own.
    fn waited_for(&self, stream: RawStream) -> DriverResult<()> {
        let driver = self.device().driver();
        if !driver.is_synchronous() {
            return Ok(());
        }
        // SAFETY: the stream lives as long as the run.
        unsafe { driver.synchronize_stream(stream) }.map_err(|mut error| {
            let tag = self.tag();
            error.tag.get_or_insert((tag.operation, tag.chunk));
            error
        })
    }
}

/// The first argument of a routine that a pipeline calls (`call axpy(c.len, a, &dx, &mut dy);`): the handle
/// with which it enqueues.
///
/// A routine is a function of this handle and of the arguments between the parentheses:
/// [`DeviceSlice`](crate::kernel::DeviceSlice) for `&b`, [`DeviceSliceMut`](crate::kernel::DeviceSliceMut)
/// for `&mut b`, [`DeviceSliceOut`](crate::kernel::DeviceSliceOut) for `out b`, and values. It enqueues its
/// work on [`cuda_stream`](Self::cuda_stream), or on the CPU and the simulated device passes it to
/// [`simulate`](Self::simulate). Values that it needs from call to call, for example a library's handle, it
/// keeps with [`state`](Self::state). When it is called, the device's CUDA context is current on the thread.
///
/// A routine may call others: it passes this handle on, and parts of its slices
/// ([`DeviceSlice::get`](crate::kernel::DeviceSlice::get)).
///
/// ```
/// use thalweg::kernel::{DeviceSlice, DeviceSliceMut};
/// use thalweg::prelude::*;
/// use thalweg::routine::Enqueue;
/// use thalweg::sim::Simulation;
/// use thalweg::Error;
///
/// fn axpy(queue: &Enqueue<'_>, a: f32, x: DeviceSlice<'_, f32>, y: DeviceSliceMut<'_, f32>) -> thalweg::Result<()> {
///     match queue.cuda_stream() {
///         // Here `cublasSetStream` and `cublasSaxpy`, with `x.address()` and `y.address()`.
///         Some(_stream) => Err(Error::routine("cublasSaxpy", "CUBLAS_STATUS_NOT_INITIALIZED")),
///         None => queue.simulate((x, y), move |(x, y)| {
///             for (y, x) in y.iter_mut().zip(x) {
///                 *y += a * x;
///             }
///         }),
///     }
/// }
///
/// stream_pipeline! {
///     pipeline Axpy {
///         param a: f32;
///         input x: [f32];
///         inout y: [f32];
///         stage load { copy x -> dx; copy y -> dy; }
///         stage axpy { call axpy(a, &dx, &mut dy); }
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let device = Device::simulated(Simulation::default());
/// let mut y = [1.0, 2.0];
/// Axpy::new(&device)?.run(10.0, &[1.0, 2.0], &mut y)?;
/// assert_eq!(y, [11.0, 22.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Enqueue<'r> {
    pub(crate) operation: Operation<'r>,
    /// The reason why nothing can be enqueued.
    refused: Option<Error>,
    _seen: OperationWatch,
}

impl Enqueue<'_> {
    /// The device of the run.
    pub fn device(&self) -> &Device {
        self.operation.device()
    }

    /// The chunk.
    pub fn chunk(&self) -> Chunk {
        self.operation.chunk
    }

    /// The stream to enqueue on, a `CUstream`; `None` on the CPU and the simulated device. It belongs to this
    /// operation for the duration of the call: do not keep it, except in a [`state`](Self::state), which
    /// exists once for each stream.
    ///
    /// The device's context is current when this returns.
    pub fn cuda_stream(&self) -> Option<*mut c_void> {
        if self.device().is_on_host() {
            return None;
        }
        if let Err(error) = self.operation.check(self.device().driver().make_current()) {
            self.operation.run.order.refuse_with(error);
        }
        Some(std::ptr::with_exposed_provenance_mut(self.operation.direct_stream().0 as usize))
    }

    /// Whether work on this memory, a tuple of the routine's arguments or of parts of them, may be enqueued:
    /// to ask before it is handed to a library. [`simulate`](Self::simulate) asks itself.
    ///
    /// # Errors
    /// The run was refused before; some of it is not the run's; two of it overlap and one is written. Nothing
    /// more of the run is enqueued then, and the run fails with the first such error.
    pub fn admit(&self, memory: &impl Views) -> Result<()> {
        self.noted(self.admit_accesses(&memory.accesses()))
    }

    /// An outcome whose error is the run's too, since the routine may drop it.
    pub(super) fn noted(&self, outcome: Result<()>) -> Result<()> {
        if let Err(error) = &outcome {
            self.operation.run.order.refuse_with(error.clone());
        }
        outcome
    }

    fn admit_accesses(&self, accesses: &[Access]) -> Result<()> {
        let operation = &self.operation;
        if let Some(error) = &self.refused {
            return Err(error.clone());
        }
        let OperationKind::Call { routine } = operation.plan().kind else {
            return operation.fail(Detail::Skipped);
        };
        if !operation.in_order() || !accesses.iter().all(|access| operation.owns(access)) {
            return operation.fail(Detail::Skipped);
        }
        if aliases(accesses) {
            return operation.fail(Detail::Aliased { kernel: routine });
        }
        Ok(())
    }

    /// Enqueues the routine's work on the CPU or the simulated device: calls `body` when the stream reaches
    /// it, with slices for `memory`, a tuple of the routine's arguments.
    ///
    /// # Errors
    /// The device is a GPU ([`ErrorKind::Misuse`]); two of `memory` overlap and one is written
    /// ([`ErrorKind::Contract`]); the run was refused before, with the error that it was refused with.
    pub fn simulate<V, F>(&self, memory: V, body: F) -> Result<()>
    where
        V: Views,
        F: for<'a> FnOnce(<V::Raw as Slices>::Slices<'a>) + Send + 'static,
    {
        self.noted(self.try_simulate(memory, body))
    }

    fn try_simulate<V, F>(&self, memory: V, body: F) -> Result<()>
    where
        V: Views,
        F: for<'a> FnOnce(<V::Raw as Slices>::Slices<'a>) + Send + 'static,
    {
        let operation = &self.operation;
        if let Some(error) = &self.refused {
            return Err(error.clone());
        }
        if !self.device().is_on_host() {
            return operation.fail(Detail::NotSimulated);
        }
        let memory = memory.raw();
        let accesses = memory.accesses();
        self.admit_accesses(&accesses)?;
        let body = Cell::new(Some(body));
        let make = || -> HostBody {
            let body = body.take();
            Box::new(move || {
                if let Some(body) = body {
                    // SAFETY: this device's memory is the host's, and it does not carry out commands that
                    // conflict at the same time; these ranges are the run's, which holds them until it has
                    // drained, and do not overlap where one is written.
                    body(unsafe { memory.slices() });
                }
            })
        };
        operation.direct(|stream| {
            let launch = RawLaunch {
                function: RawFunction::plain(0, 1, 0),
                grid: [1; 3],
                block: [1; 3],
                shared: 0,
                params: &[],
                sizes: &[],
                accesses: &accesses,
                bodies: HostBodies::One(&make),
            };
            // SAFETY: the stream and the memory live as long as the run; a device on the host takes no
            // parameters.
            unsafe { operation.device().driver().enqueue(Command::Launch(&launch), stream, operation.tag()) }
        })
    }
}

/// For routines of CUDA's libraries, and others that hand addresses to functions of C.
impl Enqueue<'_> {
    /// The name of the pipeline's buffer that has this address in this chunk, for messages about an argument.
    pub fn buffer_name(&self, address: u64) -> Option<&'static str> {
        self.operation.buffer_at(DevicePtr(address))
    }

    /// Has the run fail with this error, whatever the routine returns, and gives it back with its place: for
    /// a library that has failed, so that it is not known what it has enqueued. Nothing more of the run is
    /// enqueued.
    pub fn refuse(&self, error: Error) -> Error {
        let error = error.at(self.operation.place());
        self.operation.run.order.refuse_with(error.clone());
        error
    }

    /// Waits until the device has done all that is on the operation's stream, before something is given up
    /// that its work may still use.
    ///
    /// # Errors
    /// The device's; then it may be at work still, and the run fails with this error.
    pub fn wait(&self) -> Result<()> {
        let stream = self.operation.direct_stream();
        // SAFETY: the stream lives as long as the run.
        let waited = unsafe { self.device().driver().synchronize_stream(stream) };
        self.noted(self.operation.check(waited))
    }

    /// Sets all bytes of a part of the arguments to 0, in stream order, on both devices.
    ///
    /// # Errors
    /// Those of [`admit`](Self::admit), and the device's.
    pub fn zero<T: Pod>(&self, memory: DeviceSliceMut<'_, T>) -> Result<()> {
        let (to, bytes) = (DevicePtr(memory.address()), memory.len() * size_of::<T>());
        self.admit(&(memory,))?;
        let operation = &self.operation;
        let enqueued = operation.direct(|stream| {
            // SAFETY: the stream and the memory live as long as the run; any address is aligned to a byte.
            unsafe {
                let fill = Command::Fill { to, pattern: &[0], count: bytes };
                self.device().driver().enqueue(fill, stream, operation.tag())
            }
        });
        self.noted(enqueued)
    }

    /// Copies bytes from device memory to device memory, in stream order: between arguments and a
    /// [`Workspace`](crate::routine::Workspace), say.
    ///
    /// # Safety
    /// Both ranges stay allocated until the stream has got past this, and do not overlap. No other stream
    /// uses them meanwhile.
    ///
    /// # Errors
    /// The run was refused before; the device's.
    pub unsafe fn copy_on_device(&self, to: u64, from: u64, bytes: usize) -> Result<()> {
        self.admit(&())?;
        let (to, from) = (DevicePtr(to), DevicePtr(from));
        let operation = &self.operation;
        let enqueued = operation.direct(|stream| {
            // SAFETY: the stream lives as long as the run; the ranges are the caller's promise.
            unsafe {
                let copy = Command::CopyOnDevice { to, from, bytes };
                self.device().driver().enqueue(copy, stream, operation.tag())
            }
        });
        self.noted(enqueued)
    }
}
