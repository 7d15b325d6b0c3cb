//! [`Enqueue`]: what a routine that a pipeline calls enqueues with.

use std::cell::Cell;
use std::ffi::c_void;

use crate::base::chunk::Chunk;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::plan::OperationKind;
use crate::device::Device;
use crate::device::launch::aliases;
use crate::device::memory::DeviceMemory;
use crate::device::slices::{Slices, Views};
use crate::driver::{
    Access, Command, DevicePtr, DriverResult, HostBodies, HostBody, RawFunction, RawLaunch, RawStream,
};
use crate::engine::allocate::allocate;
use crate::engine::run::operation::Operation;
use crate::engine::targets::what::{HostPart, What};
use crate::observe::timeline::Engine;
use crate::observe::watch::OperationWatch;

impl<'r> Operation<'r> {
    /// Whether the routine is to be called: not where it is only worked out how long it takes.
    ///
    /// # Errors
    /// None, in truth.
    pub fn calls(&self) -> Result<bool> {
        Ok(!self.works_out(HostPart::Routine { bytes: self.bytes_used() })?)
    }

    /// What a routine is handed to enqueue with.
    pub fn enqueue(&self) -> Enqueue<'r> {
        let refused = self.begin_routine().err();
        if let Some(error) = &refused {
            self.run.order.refuse_with(error.clone());
        }
        Enqueue { operation: *self, refused, _seen: self.seen() }
    }

    /// In graph mode, launches what comes before the routine; its stream waits for the chunk before where that is the order.
    fn begin_routine(&self) -> Result<()> {
        self.run.launch()?;
        match self.run.target.open(self.stream, self.tag()) {
            Ok(true) => Ok(()),
            // It is only worked out.
            Ok(false) => self.fail(ErrorKind::Skipped),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Takes what a routine has returned.
    ///
    /// # Errors
    /// The routine's own, with its place.
    pub fn call(&self, outcome: Result<()>) -> Result<()> {
        match outcome {
            // What the routine has enqueued is on the lane's stream in graph mode: later chunks come after it.
            Ok(()) => {
                let what = What::new(Engine::Compute, self.bytes_used());
                self.run.target.has_called(self.stream, self.tag(), what);
                self.direct(|stream| self.waited_for(stream))
            }
            Err(error) => {
                self.run.order.refuse();
                Err(error.at(self.place()))
            }
        }
    }

    /// With `THALWEG_SYNC`, waits for what a routine has enqueued: what fails is its own.
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

/// What a routine that a pipeline calls (`call axpy(c.len, a, &dx, &mut dy);`) is handed first: where to enqueue.
///
/// A routine is a function of this, and of what stands between the parentheses: [`DeviceSlice`](crate::DeviceSlice) for
/// `&b`, [`DeviceSliceMut`](crate::DeviceSliceMut) for `&mut b`, [`DeviceSliceOut`](crate::DeviceSliceOut) for `out b`, and
/// values. It enqueues its work on [`cuda_stream`](Self::cuda_stream), or on the simulated device what
/// [`simulate`](Self::simulate) is given. What it needs from call to call, a library's handle say, it keeps with
/// [`state`](Self::state). When it is called, the device's CUDA context is current on the thread.
///
/// A routine may call others: it hands this on, and parts of its slices ([`DeviceSlice::get`](crate::DeviceSlice::get)).
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg::{DeviceSlice, DeviceSliceMut, Enqueue, Error, Spec};
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
/// let device = Device::simulated(Spec::default());
/// let mut y = [1.0, 2.0];
/// Axpy::new(&device)?.run(10.0, &[1.0, 2.0], &mut y)?;
/// assert_eq!(y, [11.0, 22.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Enqueue<'r> {
    pub(crate) operation: Operation<'r>,
    /// Why nothing can be enqueued.
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

    /// The stream to enqueue on, a `CUstream`; `None` on the simulated device. It is this operation's for the duration of
    /// the call: do not keep it, other than in a [`state`](Self::state), which there is one of for each stream.
    ///
    /// The device's context is current when this returns.
    pub fn cuda_stream(&self) -> Option<*mut c_void> {
        if self.device().is_simulated() {
            return None;
        }
        if let Err(error) = self.operation.check(self.device().driver().make_current()) {
            self.operation.run.order.refuse_with(error);
        }
        Some(std::ptr::with_exposed_provenance_mut(self.operation.direct_stream().0 as usize))
    }

    /// Whether work on this memory may be enqueued.
    ///
    /// # Errors
    /// The run was refused; some of it is not the run's; two of it overlap and one is written.
    pub(crate) fn admit(&self, accesses: &[Access]) -> Result<()> {
        let operation = &self.operation;
        if let Some(error) = &self.refused {
            return Err(error.clone());
        }
        let OperationKind::Call { routine } = operation.plan().kind else {
            return operation.fail(ErrorKind::Skipped);
        };
        if !operation.in_order() || !accesses.iter().all(|access| operation.owns(access)) {
            return operation.fail(ErrorKind::Skipped);
        }
        if aliases(accesses) {
            return operation.fail(ErrorKind::Aliased { kernel: routine });
        }
        Ok(())
    }

    /// What the routine does on the simulated device: calls `body` when the stream gets here, with slices for `memory`,
    /// a tuple of the routine's arguments.
    ///
    /// # Errors
    /// The device is a GPU ([`ErrorKind::NotSimulated`]); two of `memory` overlap and one is written ([`ErrorKind::Aliased`]); the run
    /// was refused before, with the error that it was refused with.
    pub fn simulate<V, F>(&self, memory: V, body: F) -> Result<()>
    where
        V: Views,
        F: for<'a> FnOnce(<V::Raw as Slices>::Slices<'a>) + Send + 'static,
    {
        let done = self.try_simulate(memory, body);
        if let Err(error) = &done {
            self.operation.run.order.refuse_with(error.clone());
        }
        done
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
        if !self.device().is_simulated() {
            return operation.fail(ErrorKind::NotSimulated);
        }
        let memory = memory.raw();
        let accesses = memory.accesses();
        self.admit(&accesses)?;
        let body = Cell::new(Some(body));
        let make = || -> HostBody {
            let body = body.take();
            Box::new(move || {
                if let Some(body) = body {
                    // SAFETY: device memory is the CPU's on the simulated device, which carries out one command at a
                    // time; these ranges are the run's, which holds them until it has drained, and do not overlap where
                    // one is written.
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
            // SAFETY: the stream and the memory live as long as the run; the simulated device takes no parameters.
            unsafe { operation.device().driver().enqueue(Command::Launch(&launch), stream, operation.tag()) }
        })
    }
}

/// For the libraries.
#[allow(dead_code, reason = "they are features")]
impl Enqueue<'_> {
    /// Device memory for what a routine keeps, `the workspace of cuBLAS`.
    pub(crate) fn allocate(&self, bytes: usize, what: &str) -> Result<DeviceMemory> {
        allocate(self.device(), bytes, what)
    }

    /// Has an error about the size of one of `arguments`, the routine's names and addresses, name the pipeline's buffer too.
    pub(crate) fn naming(&self, arguments: &[(&'static str, u64)], result: Result<()>) -> Result<()> {
        result.map_err(|error| {
            let ErrorKind::Dimensions { argument, .. } = error.kind() else { return error };
            let address = arguments.iter().find(|(name, _)| name == argument).map(|(_, address)| *address);
            let buffer = address.and_then(|address| self.operation.buffer_at(DevicePtr(address)));
            error.with_buffer(buffer)
        })
    }

    /// Lets a library enqueue. If it fails, it is not known what it has done, and nothing more is enqueued.
    pub(crate) fn library(&self, enqueue: impl FnOnce() -> Result<()>) -> Result<()> {
        enqueue().map_err(|error| {
            let error = error.at(self.operation.place());
            self.operation.run.order.refuse_with(error.clone());
            error
        })
    }

    /// Waits until the device has done all that is on the operation's stream.
    ///
    /// # Errors
    /// The device's; then it may be at work still.
    pub(crate) fn wait(&self) -> Result<()> {
        let stream = self.operation.direct_stream();
        // SAFETY: the stream lives as long as the run.
        self.operation.check(unsafe { self.device().driver().synchronize_stream(stream) })
    }

    /// Sets bytes of device memory to 0. They are the run's.
    pub(crate) fn clear(&self, address: u64, bytes: usize) -> Result<()> {
        let operation = &self.operation;
        self.admit(&[Access { ptr: DevicePtr(address), bytes, write: true, anew: false }])?;
        operation.direct(|stream| {
            // SAFETY: the stream and the memory live as long as the run; any address is aligned to a byte.
            unsafe {
                let fill = Command::Fill { to: DevicePtr(address), pattern: &[0], count: bytes };
                self.device().driver().enqueue(fill, stream, operation.tag())
            }
        })
    }

    /// Enqueues a copy from device memory to device memory.
    ///
    /// # Safety
    /// Both ranges stay allocated until the stream has got past this, and do not overlap.
    pub(crate) unsafe fn copy_on_device(&self, to: DevicePtr, from: DevicePtr, bytes: usize) -> Result<()> {
        let operation = &self.operation;
        operation.direct(|stream| {
            // SAFETY: the stream lives as long as the run; the ranges are the caller's promise.
            unsafe {
                let copy = Command::CopyOnDevice { to, from, bytes };
                self.device().driver().enqueue(copy, stream, operation.tag())
            }
        })
    }
}
