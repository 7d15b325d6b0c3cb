#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_debug_implementations, unreachable_pub)]
#![doc = include_str!("first-screen.md")]
//!
//! # Where to look
//!
//! | to | see |
//! | --- | --- |
//! | declare a pipeline | [`stream_pipeline!`] |
//! | write kernels in Rust | [`kernel`](macro@kernel), [`device`](macro@device) |
//! | declare kernels of CUDA C++ files | [`kernels`] |
//! | compile them in a test, without a GPU | [`compile_kernels`] |
//! | choose a device | [`Device`], [`sim`] |
//! | give a run its data | [`Input`], [`InOut`], [`Output`], [`PinnedBuf`] |
//! | keep data on the device | [`DeviceBuf`]; on several, [`Sharded`] and [`Replicated`] |
//! | enqueue copies and kernels by hand | [`streams`] |
//! | feed an endless run, and drain it | [`session`] |
//! | run several pipelines at once, cancel a run | [`job`] |
//! | see what was decided and done | [`Plan`], [`Report`] |
//! | see it while it is done | [`Options::progress_with`], [features](#features) |
//! | test a pipeline in many orders | [`explore`] |
//! | see what happens when something fails | [`sim::Fault`] |
//! | handle errors | [`Error`], [`ErrorKind`] |
//!
//! # Features
//!
//! All features are off by default, and any of them go together. A build needs nothing of CUDA: the program
//! looks for the driver (of CUDA 11.2 or newer) and NVRTC when it runs.
//!
//! What shows a run:
//!
//! | feature | gives |
//! | --- | --- |
//! | `png` | `Timeline::png`: timelines as PNG images |
//! | `tracing` | spans and events of the target `thalweg` for the crate `tracing`: each run at `DEBUG` and in it the enqueuing of each operation at `TRACE`; compilation, calibration and allocation at `DEBUG`; errors with their place at `ERROR` |
//! | `nvtx` | NVTX ranges for Nsight Systems: each run, and the enqueuing of each operation by pipeline, stage and chunk. Where no tool is attached (`NVTX_INJECTION64_PATH`), none |
//! | `progress` | `Options::progress`: a bar on the terminal. [`Options::progress_with`] needs no feature |
//!
//! `tracing` and NVTX do not show predictions. In graph mode they show an operation when it is recorded. A
//! graph that is launched again records no operations, so they show the run alone.
//!
//! What kernels in Rust know beside numbers and structs:
//!
//! | feature | gives |
//! | --- | --- |
//! | `complex` | `Complex<f32>` and `Complex<f64>` of the crate `num-complex`, as structs with the fields `re` and `im` |
//!
//! # Beside this crate
//!
//! These crates use the public interface of this one, and nothing else of it:
//!
//! | crate | has |
//! | --- | --- |
//! | `thalweg-kernels` | ready-made kernels |
//! | `thalweg-libraries` | CUDA's libraries as routines that a pipeline calls, each a feature: `cublas`, `cufft`, `curand`, `cudnn` |
//! | `thalweg-arrow` | Arrow's record batches and arrays as [sources and sinks](io) |
//! | `thalweg-parquet` | columns of Parquet files as sources and sinks |

mod backends;
mod base;
mod device;
mod driver;
mod engine;
mod exchange;
pub mod explore;
pub mod io;
pub mod job;
mod observe;
mod ranks;
pub mod session;
pub mod streams;
pub mod world;

#[doc(hidden)]
pub mod __private;
pub mod prelude;

pub use backends::cpu::CpuOptions;
pub use base::error::{Error, ErrorKind, Result};
pub use base::plan::Plan;
pub use base::report::Report;
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
pub use device::memory::{DeviceBuf, PinnedBuf, Replicated, Sharded};
pub use device::registered::compile_kernels;
pub use device::{Device, Devices};
pub use engine::Options;
pub use engine::arguments::{InOut, Input, Output};
/// The crate behind the elements `f16` and `bf16`.
pub use half;
/// The crate behind the complex numbers of kernels in Rust.
#[cfg(feature = "complex")]
pub use num_complex;
pub use observe::timeline::Timeline;
pub use world::World;

/// Errors: what went wrong, and where.
pub mod error {
    pub use crate::base::error::{
        Cancelled, Closed, Compile, Complete, Contract, DeviceLost, Driver, DriverError, Environment, Error,
        ErrorKind, Function, Library, Limit, Misuse, OutOfMemory, Place, Race, Ranks, Result, Shape, Sink,
        Site, Source, Touch,
    };
}

/// Types for kernels and their launches: a thread's index and its own elements, grids and blocks, the threads
/// that host bodies see, and slices of device memory.
pub mod kernel {
    pub use crate::base::extent::{Axis, Extent};
    pub use crate::base::in_rust::{
        AnyArray, AtomicF32, AtomicF64, Block, BlockIndex, BlockThread, BlockValue, Elements, Fetched, Fill,
        Index, Out, Own, OwnRow, OwnTile, Part, Private, Row, Rows, Shared, SharedArray, SharedAtomic,
        SharedSlice, Tile, Tiles,
    };
    pub use crate::base::threads::{Grid, Thread, blocks};
    pub use crate::device::launch::{
        AtomicArg, DeviceSlice, DeviceSliceMut, DeviceSliceOut, Launch, OutArg, OwnArg, Position, ReadArg,
        ReadWriteArg, Shaped, ShapedOutArg, ShapedOwnArg, WriteArg,
    };
}

/// Buffers on the device and in page-locked host memory, parts of them, and the types that `run` accepts in
/// their place.
pub mod memory {
    pub use crate::device::memory::{DeviceBuf, PinnedBuf, PinnedSlice, PinnedSliceMut};
    pub use crate::engine::arguments::{
        DeviceInOut, DeviceInput, DeviceOutput, InOut, Input, MappedInOut, MappedInput, MappedOutput, Output,
        PinnedInOut, PinnedInput, PinnedOutput,
    };
}

/// The macro's decisions for a pipeline: its operations, streams, events, waits, and the hazards behind them.
pub mod plan {
    pub use crate::base::chunk::Chunk;
    pub use crate::base::collective::CollectiveKind;
    pub use crate::base::plan::{
        AccessPlan, BufferKind, BufferPlan, Conflict, Distance, EventPlan, Hazard, HazardPlan, HostPlan,
        Link, Memory, OperationKind, OperationPlan, Ordered, Plan, Priority, Step, StreamPlan, WaitPlan,
    };
}

/// The results of a run, and the progress of one that goes on.
pub mod report {
    pub use crate::base::progress::Progress;
    pub use crate::base::report::{Awaited, Report};
}

/// The types that routines, host functions, callbacks and loops of a pipeline use.
pub mod routine {
    pub use crate::backends::cuda::probe::cuda_releases;
    pub use crate::device::slices::Views;
    pub use crate::engine::{Enqueue, HostValue, Outcome, State, Times, Workspace};
}

/// The simulated device: its properties, the order in which it works, and the faults injected into it.
pub mod sim {
    pub use crate::backends::sim::{DriverCall, Effect, Fault, Injected, SimulatedMachine, Simulation};
    pub use crate::base::machine::{LinkModel, MachineModel, PortModel, SharedLimit};
    pub use crate::base::model::DeviceModel;
    pub use crate::world::ranks;
}

/// Timelines: when each operation ran, measured or predicted, and where a run lost time.
pub mod timeline {
    pub use crate::observe::timeline::{Cause, Comparison, Engine, Finding, Gantt, Row, Span, Timeline};
}

/// Types that a program may move to another thread, or share with one, stay `Send` and `Sync`.
const _: () = {
    const fn crosses_threads<T: Send + Sync>() {}
    crosses_threads::<Device>();
    crosses_threads::<DeviceBuf<f32>>();
    crosses_threads::<PinnedBuf<f32>>();
    crosses_threads::<memory::PinnedSlice<'_, f32>>();
    crosses_threads::<streams::Stream>();
    crosses_threads::<streams::Event>();
    crosses_threads::<engine::Pipelines>();
    crosses_threads::<Options<engine::Pipelines>>();
    crosses_threads::<sim::Simulation>();
    crosses_threads::<sim::DeviceModel>();
    crosses_threads::<job::Cancel>();
    crosses_threads::<job::Job<Report>>();
    crosses_threads::<session::Session<f32, f32, ()>>();
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

/// Makes a kernel of a Rust function. The same text runs on the host and, translated to CUDA C++, on a GPU.
///
/// Pipelines launch it by its name. It runs once for each index of the data, in any order, and safe code cannot
/// make it race: a thread writes the elements of its own index alone.
///
/// ```
/// use thalweg::prelude::*;
///
/// /// `y[i] += a * x[i]`.
/// #[kernel]
/// fn saxpy(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
///     let Some(y) = y.get_mut(i) else { return };
///     *y += a * x[i];
/// }
///
/// stream_pipeline! {
///     pipeline Saxpy {
///         param a: f32;
///         input x: [f32];
///         inout y: [f32];
///         chunk c = 256;
///         stage all { copy x -> dx; copy y -> dy; saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); copy dy -> y; }
///     }
/// }
///
/// let (x, mut y) = ([1.0; 1000], [2.0; 1000]);
/// Saxpy::new(&Device::simulated(Simulation::default()))?.run(3.0, &x, &mut y)?;
/// assert_eq!(y, [5.0; 1000]);
/// # Ok::<(), Error>(())
/// ```
///
/// | parameter | meaning | launch |
/// | --- | --- | --- |
/// | `i: Index`, `Index<2>`, `Index<3>` | the first one: the thread's place in the data | none |
/// | `block: Block`, `Block<2>`, `Block<3>` | in its place: a [block of threads](kernel::Block), for a kernel in phases | none |
/// | `x: &[T]` | data to read | `&dx` |
/// | `y: &mut Own<[T]>` | data of which each thread reads and writes its own element | `&mut dy` |
/// | `y: &mut Out<[T]>` | data of which each thread writes its own element, and reads none | `out dy` |
/// | `counts: &[AtomicU32]` and its like | data that all threads change | `&mut counts` |
/// | a number, a `bool`, an array, a struct | a value | an expression |
///
/// `T` is a number, also `half::f16` and `half::bf16`, a struct with [`#[device]`](macro@device), or an array of
/// these. Kernels of two and three dimensions get the shape at the launch: `out dy as [rows, columns]` in a pipeline,
/// and [`Shaped::new(&mut dy, [rows, columns])`](kernel::Shaped) by hand.
///
/// | argument | meaning |
/// | --- | --- |
/// | `threads = 256` | each block has at most so many threads, and in a kernel with a `Block` just as many, which CUDA's compiler may rely on |
/// | `T in [f32, f64]`, `N in [3, 5]` | a kernel for each of these types or numbers, launched as `k::<f32>` |
/// | `fast` | products and sums may be fused, and division, square roots and functions be approximate |
/// | `crate = path` | where this crate is, if it is renamed |
///
/// The body has numbers, `bool`, structs, tuples, arrays and slices, `if`, `match`, loops, closures that are called
/// by their name, the methods of numbers, and calls of functions with [`#[device]`](macro@device). `#[unroll]` stands
/// at loops. Everything else is an error at its place, with a code. Indices are checked, and integers wrap or fail as
/// they do in Rust. For what the types cannot show there is `unsafe`, which the simulated device watches for races.
pub use thalweg_macros::kernel;

/// Says what each launch of a [kernel](macro@kernel) checks. It stands below `#[kernel]`; in another place it is an
/// error.
///
/// ```
/// use thalweg::prelude::*;
///
/// #[kernel]
/// #[requires(x.len() == y.len())]
/// fn squares(i: Index, x: &[f32], y: &mut Out<[f32]>) {
///     let Some(y) = y.get_mut(i) else { return };
///     *y = x[i] * x[i];
/// }
/// ```
pub use thalweg_macros::requires;

/// Makes a Rust function one that [kernels](macro@kernel) can call, and a struct one whose values they have. Both may
/// stand in another module or crate.
///
/// ```
/// use thalweg::prelude::*;
///
/// #[device]
/// fn squared(x: f32) -> f32 {
///     x * x
/// }
///
/// #[kernel]
/// fn squares(i: Index, x: &[f32], y: &mut Out<[f32]>) {
///     let Some(y) = y.get_mut(i) else { return };
///     *y = squared(x[i]);
/// }
/// ```
pub use thalweg_macros::device;

/// Declares kernels of a CUDA C++ file: `#[kernels("saxpy.cu")] unsafe extern "CUDA" { … }`.
///
/// The path is relative to the Rust file. Each `safe fn` becomes a type of its name that pipelines launch.
/// The compiler compares it with the `extern "C" __global__` prototype in the file or in one that it
/// includes: `&[T]` is `const T*`, `&mut [T]` and `Out<[T]>` are `T*`, everything else goes by value. For
/// structs it compares size and alignment.
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
/// | `#[host(function)]` | what the simulated device runs: a function of a [`Thread`](kernel::Thread) or a [`Grid`](kernel::Grid), and the kernel's parameters with slices for pointers |
/// | `#[requires(condition)]` | checked at each launch |
/// | `#[instantiate("reduce<float, 256>")]` | an instance of a template, or a function without `extern "C"`, as C++ would name it; the Rust name may differ |
/// | `#[cluster(2)]` `#[cluster(2, 2, 1)]` | launched in clusters of so many blocks; not needed where the source has `__cluster_dims__` |
/// | `#[cooperative]` | all blocks are on the device at once, so that they may wait for each other |
///
/// | on a parameter `&[T]` | meaning |
/// | --- | --- |
/// | `#[symbol]` `#[symbol("name")]` | in the source, a `__constant__` or `__device__` variable in place of a parameter; launches pass a `resident`, whose bytes are copied there once a run |
/// | `#[reads]` | a `T*` in the source, through which the kernel only reads: `unsafe` promises this |
///
/// `unsafe` promises that the signatures are true, and that each kernel touches nothing outside its slices if
/// its conditions hold.
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

/// Declares a pipeline: a type with `new`, `options`, `run` and the constant `PLAN`.
///
/// See [the crate's page](crate) for an example. Each declaration takes one line:
///
/// | form | meaning |
/// | --- | --- |
/// | `param a: f32;` `uniform param b: f32;` | a value, usable in every expression below; the same on all [ranks](world::World) |
/// | `input x: [T];` `input x: [T; k];` | host data that is read, one or `k` elements an item |
/// | `input x: pinned [T];` | must be a [`PinnedBuf`]; the same for `output` and `inout` |
/// | `input x: mapped [T];` `device [T]` | a [`PinnedBuf`] or a [`DeviceBuf`] that kernels use where it is; the same for `output` and `inout` |
/// | `input x: [T] halo 2 = clamp;` | each chunk also sees 2 items on both sides; `zero`, `wrap` |
/// | `output z: [T];` `inout y: [T];` | host data that is written; read and written back |
/// | `output s: [T; k] per chunk;` | `k` elements for each chunk |
/// | `device t: [T; k];` `host h: [T; k];` | scratch on the device or in page-locked host memory, one of it for each ring slot |
/// | `resident w: [T];` `carry acc: [T; k] = init;` | copied in once, read only; handed from chunk to chunk and given back |
/// | `carry acc: [T; k] = init combine function;` | each of several [`Devices`] has a part; they are combined in `acc` at the end |
/// | `resident w: device [T];` `carry acc: device [T; k];` | the same with a [`DeviceBuf`], which stays where it is |
/// | `chunk c = auto;` `= expression;` | items in a chunk; `c` is a [`Chunk`](plan::Chunk) |
/// | `depth = 3;` `budget = 2 * GIB;` | ring slots; device memory that the ring may take |
/// | `stream s;` `s: high;` `s: low;` `s: priority(-3);` `s per slot;` | a stream; one for each ring slot |
/// | `stream s = null;` `mode = graph;` `sync = manual;` | the default stream; CUDA graphs; events by hand |
/// | `stage name on s { … }` | operations, in order; without `on` the stage gets a stream of its own |
///
/// Operations are `copy a -> b;`, which declares `b` if it is new, `fill b = value;`, and
/// `kernel<<<grid, block, shared, stream>>>(…);`, whose last two values may be left out. In the arguments
/// `&b` reads a device buffer, `&mut b` reads and writes it, `out b` writes it, and anything else is a value.
///
/// `call path(…);` calls a routine that enqueues work of its own ([`Enqueue`](routine::Enqueue)),
/// `host path(…);` calls a function on the CPU in stream order, and `then |c| …;` a callback.
/// `repeat n { … }` and `if condition { … } else { … }` hold operations.
///
/// [Ranks](world::World) have collective operations: `all_reduce sum b;`, `reduce`, `broadcast`, `all_gather`, `gather`,
/// `scatter`, `reduce_scatter`, `all_to_all`, `pass`, `exchange` and `barrier`. `world.rank` and `world.size` may stand
/// in every expression.
///
/// `run` takes the parameters and data as arguments, in the order of declaration.
/// `pipeline Name<T: Pod, const K: usize>` is generic. `#![crate = path]` before the pipeline says where this
/// crate is, if it is renamed.
pub use thalweg_macros::stream_pipeline;
