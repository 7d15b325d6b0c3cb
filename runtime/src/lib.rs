#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_debug_implementations, unreachable_pub)]
#![doc = include_str!("first-screen.md")]
//!
//! # Where to look
//!
//! | to | see |
//! | --- | --- |
//! | declare a pipeline | [`stream_pipeline!`] |
//! | declare kernels | [`kernels`] |
//! | compile them in a test, without a GPU | [`compile_kernels`] |
//! | choose a device | [`Device`], [`Spec`] |
//! | give a run its data | [`Input`], [`InOut`], [`Output`], [`PinnedBuf`] |
//! | keep data on the device | [`DeviceBuf`] |
//! | enqueue copies and kernels by hand | [`streams`] |
//! | feed an endless run, and drain it | [`session`] |
//! | run several pipelines at once, cancel a run | [`spawn`], [`scope`], [`Cancel`] |
//! | see what was decided and done | [`Plan`], [`Report`] |
//! | see it while it is done | [`Options::progress_with`], [features](#features) |
//! | test a pipeline in many orders | [`explore`](mod@explore) |
//! | see what happens when something fails | [`Fault`] |
//! | handle errors | [`Error`], [`ErrorKind`] |
//!
//! # Features
//!
//! All features are off by default, and any of them go together. Nothing of CUDA is needed to build: the driver (of CUDA 11.2 or
//! newer) and NVRTC are looked for when the program runs.
//!
//! CUDA's libraries are routines that a pipeline calls. Each is looked for when it is first used; on the
//! simulated device a Rust library computes the same, and CUDA's is not needed.
//!
//! | feature | gives | needs on a GPU | simulated with |
//! | --- | --- | --- | --- |
//! | `cublas` | the module `cublas`: matrix products | cuBLAS and cuBLASLt | `matrixmultiply` |
//! | `cufft` | the module `cufft`: Fourier transforms | cuFFT | `rustfft`, `realfft` |
//! | `curand` | the module `curand`: random numbers | cuRAND | |
//! | `cudnn` | the module `cudnn`: layers of neural networks | cuDNN 8 or 9 | |
//!
//! Data of other programs as [sources and sinks](source), off by default too (NumPy's `.npy` files need no feature):
//!
//! | feature | gives | by |
//! | --- | --- | --- |
//! | `arrow` | `source::arrow`, `source::arrays`, `source::values`, `sink::arrow`, `sink::arrays`: Arrow's record batches and arrays | `arrow-array` 60 |
//! | `parquet` | `source::parquet`, `sink::parquet`: columns of Parquet files | `parquet` 60 |
//!
//! What shows a run, off by default too:
//!
//! | feature | gives |
//! | --- | --- |
//! | `png` | `Timeline::png`: timelines as PNG images |
//! | `tracing` | spans and events of the target `thalweg` for the crate `tracing`: each run at `DEBUG` and in it the enqueuing of each operation at `TRACE`; compilation, calibration and allocation at `DEBUG`; errors with their place at `ERROR` |
//! | `nvtx` | NVTX ranges for Nsight Systems: each run, and the enqueuing of each operation by pipeline, stage and chunk. Where no tool is attached (`NVTX_INJECTION64_PATH`), none |
//! | `progress` | `Options::progress`: a bar on the terminal. [`Options::progress_with`] needs no feature |
//!
//! A prediction is no run to them. In graph mode operations are recorded when they seem to be enqueued, and a graph that is launched again has
//! none: there, NVTX shows the run.

mod backends;
mod base;
mod device;
mod driver;
mod engine;
mod exchange;
pub mod explore;
mod io;
mod job;
mod libraries;
mod observe;
pub mod session;
pub mod streams;

#[doc(hidden)]
pub mod __private;
pub mod prelude;

pub use backends::sim::{DriverCall, Effect, Fault, Injected, Spec};
pub use base::chunk::Chunk;
pub use base::error::{Complete, DriverError, Error, ErrorKind, Place, Result, Site, Touch};
pub use base::extent::{Axis, Extent};
pub use base::kernel::{Grid, Thread, blocks};
pub use base::model::DeviceModel;
pub use base::plan::{
    AccessPlan, BufferKind, BufferPlan, Conflict, Distance, EventPlan, Hazard, HazardPlan, HostPlan, Link,
    Memory, OperationKind, OperationPlan, Ordered, Plan, Priority, Step, StreamPlan, WaitPlan,
};
pub use base::progress::Progress;
pub use base::report::{Awaited, Report};
/// The crate behind [`Pod`], what elements and struct parameters of kernels must be. To derive it:
///
/// ```
/// use thalweg::prelude::*;
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[bytemuck(crate = "thalweg::bytemuck")]
/// struct Particle {
///     position: [f32; 3],
///     mass: f32,
/// }
/// ```
pub use bytemuck;
pub use bytemuck::{Pod, Zeroable};
pub use device::Device;
pub use device::launch::{DeviceSlice, DeviceSliceMut, DeviceSliceOut, Position};
pub use device::memory::{DeviceBuf, PinnedBuf, PinnedSlice, PinnedSliceMut};
pub use device::registered::compile_kernels;
pub use device::slices::Views;
pub use engine::arguments::{
    DeviceInOut, DeviceInput, DeviceOutput, InOut, Input, MappedInOut, MappedInput, MappedOutput, Output,
    PinnedInOut, PinnedInput, PinnedOutput,
};
pub use engine::{Enqueue, HostValue, Options, Outcome, State, Times};
pub use explore::explore;
/// The crate behind the elements `f16` and `bf16`.
pub use half;
pub use io::{Scalar, Sink, Source, Streamed, sink, source};
pub use job::{Cancel, Job, Scope, ScopedJob, scope, spawn};
/// Matrix products by cuBLAS and cuBLASLt. Needs the feature `cublas`.
#[cfg(feature = "cublas")]
pub use libraries::cublas;
/// Layers of neural networks by cuDNN. Needs the feature `cudnn`.
#[cfg(feature = "cudnn")]
pub use libraries::cudnn;
/// Fourier transforms by cuFFT. Needs the feature `cufft`.
#[cfg(feature = "cufft")]
pub use libraries::cufft;
/// Random numbers by cuRAND. Needs the feature `curand`.
#[cfg(feature = "curand")]
pub use libraries::curand;
pub use observe::timeline::{Cause, Comparison, Engine, Finding, Gantt, Row, Span, Timeline};
pub use session::Session;
pub use streams::{Event, Stream};

/// What a program may hand to another thread, or share with one, stays so.
const _: () = {
    const fn crosses_threads<T: Send + Sync>() {}
    crosses_threads::<Device>();
    crosses_threads::<DeviceBuf<f32>>();
    crosses_threads::<PinnedBuf<f32>>();
    crosses_threads::<PinnedSlice<'_, f32>>();
    crosses_threads::<Stream>();
    crosses_threads::<Event>();
    crosses_threads::<engine::Pipeline>();
    crosses_threads::<Options<engine::Pipeline>>();
    crosses_threads::<Spec>();
    crosses_threads::<DeviceModel>();
    crosses_threads::<Cancel>();
    crosses_threads::<Job<Report>>();
    crosses_threads::<Session<f32, f32, ()>>();
    crosses_threads::<Error>();
    crosses_threads::<Plan>();
    crosses_threads::<Report>();
    crosses_threads::<Timeline>();
    const fn goes_to_threads<T: Send>() {}
    goes_to_threads::<streams::Graph>();
};

/// Bytes in a kibibyte.
pub const KIB: usize = 1 << 10;
/// Bytes in a mebibyte.
pub const MIB: usize = 1 << 20;
/// Bytes in a gibibyte, for `budget = 2 * GIB;`.
pub const GIB: usize = 1 << 30;

/// Declares kernels of a CUDA C++ file: `#[kernels("saxpy.cu")] unsafe extern "CUDA" { … }`.
///
/// The path is relative to the Rust file. Each `safe fn` becomes a type of its name that pipelines launch. The compiler
/// compares it with the `extern "C" __global__` prototype in the file or in one that it includes: `&[T]` is `const T*`,
/// `&mut [T]` and `Out<[T]>` are `T*`, everything else goes by value. Of structs it compares size and alignment.
///
/// A `.ptx`, a `.cubin` or a `.fatbin` is embedded as it is.
///
/// | argument | meaning |
/// | --- | --- |
/// | `include("include", "../vendor")` | folders to look for included files in; those files are embedded too |
/// | `options("--use_fast_math", "-DTILE=16")` | options of NVRTC, each a string of its own |
/// | `crate = path` | where this crate is, if it is renamed |
///
/// | on a kernel | meaning |
/// | --- | --- |
/// | `#[host(function)]` | what the simulated device runs: a function of a [`Thread`] or a [`Grid`], and the kernel's parameters with slices for pointers |
/// | `#[requires(condition)]` | checked at each launch |
/// | `#[instantiate("reduce<float, 256>")]` | an instance of a template, or a function without `extern "C"`, as C++ would name it; the Rust name is free |
/// | `#[cluster(2)]` `#[cluster(2, 2, 1)]` | launched in clusters of so many blocks; not needed where the source has `__cluster_dims__` |
/// | `#[cooperative]` | all blocks are on the device at once, so that they may wait for each other |
///
/// | on a parameter `&[T]` | meaning |
/// | --- | --- |
/// | `#[symbol]` `#[symbol("name")]` | no parameter in the source but a `__constant__` or `__device__` variable; launches pass a `resident`, whose bytes are copied there once a run |
/// | `#[reads]` | a `T*` in the source, through which the kernel only reads: part of what `unsafe` promises |
///
/// `unsafe` means: the signatures are true, and each kernel touches nothing outside its slices if its conditions hold.
///
/// ```no_run
/// use thalweg::prelude::*;
///
/// # /*
/// #[kernels("saxpy.cu")]
/// unsafe extern "CUDA" {
///     /// `y[i] += a * x[i]` for `i < n`.
///     #[host(saxpy_on_host)]
///     #[requires(n as usize <= x.len())]
///     #[requires(n as usize <= y.len())]
///     pub safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
/// }
/// # */
///
/// fn saxpy_on_host(thread: Thread, n: u32, a: f32, x: &[f32], y: &mut [f32]) {
///     let i = thread.global_x();
///     if i < n as usize {
///         y[i] += a * x[i];
///     }
/// }
/// ```
pub use thalweg_macros::kernels;

/// Declares a pipeline and makes a type of it, with `new`, `options`, `run` and the constant `PLAN`.
///
/// See [the crate's page](crate) for an example. Declarations, each one line:
///
/// | form | meaning |
/// | --- | --- |
/// | `param a: f32;` | a value, usable in every expression below |
/// | `input x: [T];` `input x: [T; k];` | host data that is read, one or `k` elements an item |
/// | `input x: pinned [T];` | must be a [`PinnedBuf`]; the same for `output` and `inout` |
/// | `input x: mapped [T];` `device [T]` | a [`PinnedBuf`] or a [`DeviceBuf`] that kernels use where it is; the same for `output` and `inout` |
/// | `input x: [T] halo 2 = clamp;` | each chunk also sees 2 items on both sides; `zero`, `wrap` |
/// | `output z: [T];` `inout y: [T];` | host data that is written; read and written back |
/// | `output s: [T; k] per chunk;` | `k` elements for each chunk |
/// | `device t: [T; k];` `host h: [T; k];` | scratch on the device or in page-locked host memory, one of it for each ring slot |
/// | `resident w: [T];` `carry acc: [T; k] = init;` | copied in once, read only; handed from chunk to chunk and given back |
/// | `resident w: device [T];` `carry acc: device [T; k];` | the same with a [`DeviceBuf`], which stays where it is |
/// | `chunk c = auto;` `= expression;` | items in a chunk; `c` is a [`Chunk`] |
/// | `depth = 3;` `budget = 2 * GIB;` | ring slots; device memory that the ring may take |
/// | `stream s;` `s: high;` `s: low;` `s: priority(-3);` `s per slot;` | a stream; one for each ring slot |
/// | `stream s = null;` `mode = graph;` `sync = manual;` | the default stream; CUDA graphs; events by hand |
/// | `stage name on s { … }` | operations, in order; without `on` the stage gets a stream of its own |
///
/// Operations are `copy a -> b;`, which declares `b` if it is new, `fill b = value;`, and `kernel<<<grid, block, shared, stream>>>(…);`,
/// of which the last two values may be left out. In the arguments `&b` reads a device buffer, `&mut b` reads and writes
/// it, `out b` writes it, and anything else is a value.
///
/// `call path(…);` calls a routine that enqueues work of its own ([`Enqueue`]), `host path(…);` a function on the CPU in stream
/// order, and `then |c| …;` a callback. `repeat n { … }` and `if condition { … } else { … }` hold operations.
///
/// `run` takes the parameters and data as arguments, in the order of declaration. `pipeline Name<T: Pod, const K: usize>` has
/// parameters of its own. `#![crate = path]` before the
/// pipeline says where this crate is, if it is renamed.
pub use thalweg_macros::stream_pipeline;
