//! What a device must be able to do: the one internal trait behind [`Device`](crate::Device).
//!
//! Two types implement it, [`sim`](crate::backends::sim) and [`cuda`](crate::backends::cuda). A virtual call costs about 2 ns against
//! 1,500 ns for a call into CUDA's driver, so the rest of the crate is not generic over it.

pub(crate) mod recording;

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::time::Duration;

use crate::base::error::{DriverError, Error, ErrorKind};
use crate::base::host_copy::numa::Node;
use crate::base::kernel::{Grid, KernelInfo};
use crate::base::model::DeviceModel;
pub(crate) use crate::base::tag::Tag;
use crate::driver::recording::Recording;

/// An address in device memory. On the simulated device it is an address in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub struct DevicePtr(pub(crate) u64);

impl DevicePtr {
    /// The address `bytes` further on.
    pub(crate) fn offset(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }

    /// The addresses of `bytes` bytes from here on.
    pub(crate) fn range(self, bytes: usize) -> Range<u64> {
        self.0..self.0.saturating_add(bytes as u64)
    }

    /// Whether a `T` may begin here.
    pub(crate) fn is_aligned<T>(self) -> bool {
        self.0.is_multiple_of(align_of::<T>() as u64)
    }

    /// The same address on the host, of page-locked memory under unified addressing.
    pub(crate) fn host(self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.0 as usize)
    }
}

/// A time in nanoseconds.
pub(crate) type Nanos = f64;

/// A stream of one driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RawStream(pub u64);

/// An event of one driver, without timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RawEvent(pub u64);

/// A graph of one driver that can be launched.
#[derive(Debug, Default)]
pub(crate) struct RawGraph {
    /// The graph that was described.
    pub graph: u64,
    /// What was made of it, which is what is launched.
    pub executable: u64,
    /// For each node of the recording the driver's own handle of it, where it has any.
    pub nodes: Vec<u64>,
}

/// A loaded kernel and what the device says of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawFunction {
    /// The driver's own handle.
    pub handle: u64,
    /// Threads a block may have, given the kernel's registers and `__launch_bounds__`.
    pub max_threads_per_block: u32,
    /// Bytes of shared memory that the kernel declares itself.
    pub static_shared: u32,
    /// If its blocks come in clusters.
    pub cluster: Option<Cluster>,
    /// Whether all of its blocks must be on the device at once.
    pub cooperative: bool,
}

impl RawFunction {
    /// A kernel whose blocks know nothing of each other.
    pub(crate) fn plain(handle: u64, max_threads_per_block: u32, static_shared: u32) -> Self {
        Self { handle, max_threads_per_block, static_shared, cluster: None, cooperative: false }
    }
}

/// How a kernel's blocks come in clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cluster {
    /// As `[x, y, z]`.
    pub blocks: [u32; 3],
    /// Whether the source says so itself, with `__cluster_dims__`: then a launch must not.
    pub in_source: bool,
}

/// A kernel on the device.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub function: RawFunction,
    /// For a kernel with symbols, the module that it has to itself.
    pub own: Option<RawModule>,
}

/// A module that one function has to itself.
#[derive(Debug, Default)]
pub(crate) struct RawModule {
    /// The driver's own handle.
    pub handle: u64,
    /// In the order of the kernel's declaration; empty on a device that has no variables.
    pub symbols: Vec<RawSymbol>,
}

/// A variable of a module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawSymbol {
    pub ptr: DevicePtr,
    pub bytes: usize,
}

/// A range of memory that a launch or a host function reads or writes.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Access {
    pub(crate) ptr: DevicePtr,
    pub(crate) bytes: usize,
    pub(crate) write: bool,
    /// All of it is written, whatever it was before: an `out`.
    pub(crate) anew: bool,
}

impl Access {
    /// Whether all of it is among the `bytes` from `start` on.
    pub(crate) fn is_within(&self, start: DevicePtr, bytes: usize) -> bool {
        let end = self.ptr.0.checked_sub(start.0).and_then(|before| before.checked_add(self.bytes as u64));
        end.is_some_and(|end| end <= bytes as u64)
    }
}

/// What a kernel launch does on the simulated device.
#[doc(hidden)]
pub type HostBody = Box<dyn FnOnce() + Send + 'static>;

/// What the host does when a stream gets there.
pub(crate) type HostJob = Box<dyn FnOnce() + Send + 'static>;

/// Everything about one launch.
pub(crate) struct RawLaunch<'a> {
    pub function: RawFunction,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared: u32,
    /// A pointer to each of the kernel's arguments, in order, as `cuLaunchKernel` takes them.
    pub params: &'a mut [*mut c_void],
    /// The bytes of each of them.
    pub sizes: &'a [usize],
    pub accesses: &'a [Access],
    /// Makes the kernel's host body; only the simulated device calls it.
    pub host: &'a dyn Fn() -> HostBody,
}

/// A copy of rows that lie apart. Sizes are in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub between: RowsBetween,
    /// Of a row.
    pub width: usize,
    /// How many rows.
    pub height: usize,
    /// From one row's beginning to the next one's, at least a row's width.
    pub from_pitch: usize,
    pub to_pitch: usize,
}

/// Where rows are copied from and to. Host memory is page-locked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowsBetween {
    HostAndDevice { to: DevicePtr, from: *const u8 },
    DeviceAndHost { to: *mut u8, from: DevicePtr },
    OnDevice { to: DevicePtr, from: DevicePtr },
}

impl Rows {
    /// Whether nothing is copied.
    pub fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }
}

/// What a device says of itself.
#[derive(Debug, Clone)]
pub(crate) struct Info {
    pub name: String,
    /// Its index among the machine's GPUs; the simulated device has none.
    pub index: Option<usize>,
    /// Bytes of device memory.
    pub memory: u64,
    /// Compute capability, `(9, 0)` for Hopper.
    pub compute_capability: (u32, u32),
    pub multiprocessors: u32,
    /// Numerically lowest is most urgent: `(least, greatest)`, as `cuCtxGetStreamPriorityRange` says.
    pub priorities: (i32, i32),
    /// Bytes of the second-level cache, 0 if the device does not tell.
    pub cache: u64,
    /// Dynamic plus static shared memory a block may use after opting in, in bytes.
    pub max_shared: u32,
    /// Whether the blocks of a launch may wait for each other.
    pub cooperative: bool,
    pub simulated: bool,
}

impl Info {
    /// Whether the device has what the kernel's declaration asks for.
    pub(crate) fn check_kernel(&self, kernel: &KernelInfo) -> Result<(), ErrorKind> {
        let lacks = |need| {
            let (device, compute_capability) = (self.name.clone(), self.compute_capability);
            Err(ErrorKind::DeviceLacks { kernel: kernel.name, need, device, compute_capability })
        };
        if kernel.cluster.is_some() && self.compute_capability < CLUSTERS {
            return lacks("clusters of blocks (compute capability 9.0)");
        }
        if kernel.cooperative && !self.cooperative {
            return lacks("cooperative launches (compute capability 6.0)");
        }
        Ok(())
    }
}

/// The first compute capability that has clusters.
pub(crate) const CLUSTERS: (u32, u32) = (9, 0);

pub(crate) type DriverResult<T> = Result<T, DriverError>;

/// A device.
///
/// Handles (`RawStream`, `RawEvent`, `DevicePtr`, …) belong to the driver that made them. Methods that enqueue or
/// destroy are unsafe: **the caller promises that every handle is live and of this driver, and that every address
/// range stays allocated until the enqueued work has completed** (that is, until a synchronisation with its stream
/// has succeeded). All methods may be called from any thread.
pub(crate) trait Driver: Any + Send + Sync + fmt::Debug {
    fn info(&self) -> &Info;

    /// What the device is like, where that is not to be measured.
    fn model(&self) -> Option<&DeviceModel> {
        None
    }

    /// What tells this device and its driver from others, from one process to the next; `None` where that is not needed.
    fn identity(&self) -> Option<String> {
        None
    }

    /// The part of the machine that the device is attached to, if that makes a difference.
    fn node(&self) -> Option<&Node> {
        None
    }

    /// Whether the calling thread may wait for the device. A run asks first: what it enqueued and could not wait for would
    /// be lost.
    fn may_wait(&self) -> DriverResult<()> {
        Ok(())
    }

    /// Makes the device's context current on the calling thread, for libraries that go by that.
    fn make_current(&self) -> DriverResult<()> {
        Ok(())
    }

    /// Bytes of device memory that are free now.
    fn free_memory(&self) -> DriverResult<u64>;

    /// Device memory, at least one byte, aligned to 256 bytes. Not initialised.
    fn allocate(&self, bytes: usize) -> DriverResult<DevicePtr>;
    /// # Safety
    /// `ptr` came from `allocate`, is not freed yet, and no enqueued work uses it.
    unsafe fn free(&self, ptr: DevicePtr) -> DriverResult<()>;

    /// Page-locked host memory (plain, cached pages), at least one byte, aligned to 64 bytes, every byte initialised.
    fn allocate_pinned(&self, bytes: usize) -> DriverResult<NonNull<u8>>;
    /// As [`allocate_pinned`](Self::allocate_pinned), of pages that the CPU writes past its caches, and reads slowly.
    fn allocate_write_combined(&self, bytes: usize) -> DriverResult<NonNull<u8>>;
    /// Locks the pages of memory that is there already, so that it is pinned memory. At least one byte.
    /// # Safety
    /// The memory stays until it is unregistered.
    unsafe fn register(&self, ptr: NonNull<u8>, bytes: usize) -> DriverResult<()>;
    /// # Safety
    /// `ptr` was registered, is not unregistered yet, and no enqueued work uses it.
    unsafe fn unregister(&self, ptr: NonNull<u8>) -> DriverResult<()>;
    /// Lets copies of this device reach pinned memory of another one of its kind. A GPU's is portable:
    /// nothing is to be done.
    /// # Safety
    /// The memory is pinned memory of the other device's, at least one byte, and stays until this device has
    /// disowned it.
    unsafe fn adopt(&self, _ptr: NonNull<u8>, _bytes: usize) -> DriverResult<()> {
        Ok(())
    }
    /// The adopted memory is about to be freed, or unregistered. Refused where enqueued work uses it: then it
    /// must stay.
    fn disown(&self, _ptr: NonNull<u8>) -> DriverResult<()> {
        Ok(())
    }
    /// # Safety
    /// `ptr` came from `allocate_pinned(bytes)` or `allocate_write_combined(bytes)`, is not freed yet, and no enqueued work uses it.
    unsafe fn free_pinned(&self, ptr: NonNull<u8>, bytes: usize) -> DriverResult<()>;

    /// A non-blocking stream (one that does not wait for the null stream). `priority` is clamped to the device's range.
    fn create_stream(&self, priority: i32) -> DriverResult<RawStream>;
    /// A stream that waits for the null stream, and that for it.
    fn create_blocking_stream(&self, priority: i32) -> DriverResult<RawStream>;
    /// The default stream of the calling thread, a blocking one. It is the same one whenever this thread asks, is of no use to
    /// others, and is never destroyed.
    fn per_thread_stream(&self) -> DriverResult<RawStream>;
    /// The legacy default stream, which waits for every stream of its kind and they for it. It is always the same one,
    /// and is never destroyed.
    fn null_stream(&self) -> DriverResult<RawStream>;
    /// # Safety
    /// See the trait. It is not the null stream. Work still enqueued goes on.
    unsafe fn destroy_stream(&self, stream: RawStream) -> DriverResult<()>;
    /// Waits on the host until everything enqueued on `stream` has completed, and reports what went wrong in it.
    /// # Safety
    /// See the trait.
    unsafe fn synchronize_stream(&self, stream: RawStream) -> DriverResult<()>;
    /// Waits on the host for everything on the device.
    fn synchronize_device(&self) -> DriverResult<()>;
    /// Whether everything enqueued on `stream` has completed.
    /// # Safety
    /// See the trait.
    unsafe fn query_stream(&self, stream: RawStream) -> DriverResult<bool>;
    /// The host looks how far the device is: one that gets on only while the host waits gets on a little.
    fn poll(&self) {}
    /// As [`synchronize_stream`](Self::synchronize_stream), for a stream that is expected to be done in an instant, and that
    /// something was just enqueued on.
    /// # Safety
    /// See the trait.
    unsafe fn synchronize_soon(&self, stream: RawStream) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.synchronize_stream(stream) }
    }

    /// An event without timing, not recorded.
    fn create_event(&self) -> DriverResult<RawEvent>;
    /// An event that also tells the time, not recorded.
    fn create_timing_event(&self) -> DriverResult<RawEvent>;
    /// From when one event with timing was complete until another was: negative if it was the other way round.
    ///
    /// # Errors
    /// One of them is not complete, was never recorded, or has no timing.
    ///
    /// # Safety
    /// See the trait.
    unsafe fn elapsed(&self, from: RawEvent, to: RawEvent) -> DriverResult<Nanos>;
    /// # Safety
    /// See the trait.
    unsafe fn destroy_event(&self, event: RawEvent) -> DriverResult<()>;
    /// The event now stands for everything enqueued on `stream` so far.
    /// # Safety
    /// See the trait.
    unsafe fn record(&self, event: RawEvent, stream: RawStream, tag: Tag) -> DriverResult<()>;
    /// What is enqueued on `stream` from now on starts after the event's latest record; a no-op if it has none.
    /// # Safety
    /// See the trait.
    unsafe fn wait(&self, stream: RawStream, event: RawEvent, tag: Tag) -> DriverResult<()>;
    /// Waits on the host for the event's latest record; returns at once if it has none.
    /// # Safety
    /// See the trait.
    unsafe fn synchronize_event(&self, event: RawEvent) -> DriverResult<()>;
    /// Whether the event's latest record is complete, or there is none.
    /// # Safety
    /// See the trait.
    unsafe fn query_event(&self, event: RawEvent) -> DriverResult<bool>;

    /// From now on, copies between the device and the beginning of a pinned allocation go to these bytes of any memory
    /// instead; with `None`, no longer. `false` where the device cannot do that: then nothing has changed.
    ///
    /// What the CPU would copy to or from pinned memory need not be copied then. The device decides when it accesses them:
    /// at any time before the copies have completed.
    /// # Safety
    /// See the trait, of the bytes too. Nothing else writes them, or reads them where a copy to the host is enqueued, before
    /// the copies have completed.
    unsafe fn redirect(&self, _pinned: NonNull<u8>, _to: Option<(*mut u8, usize)>) -> bool {
        false
    }

    /// Copies pinned host memory to the device, asynchronously.
    /// # Safety
    /// See the trait. `from` is pinned memory of this driver.
    unsafe fn copy_to_device(
        &self,
        to: DevicePtr,
        from: *const u8,
        bytes: usize,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()>;
    /// Copies device memory to pinned host memory, asynchronously.
    /// # Safety
    /// See the trait. `to` is pinned memory of this driver, and nothing else accesses it until the copy has completed.
    unsafe fn copy_to_host(
        &self,
        to: *mut u8,
        from: DevicePtr,
        bytes: usize,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()>;
    /// Copies device memory to device memory, asynchronously. The ranges do not overlap.
    /// # Safety
    /// See the trait.
    unsafe fn copy_on_device(
        &self,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()>;

    /// Copies rows, asynchronously. Where both sides are on the device, they do not overlap.
    /// # Safety
    /// See the trait. Host memory is pinned memory of this driver; where it is written, nothing else accesses it until the copy
    /// has completed.
    unsafe fn copy_rows(&self, rows: &Rows, stream: RawStream, tag: Tag) -> DriverResult<()>;

    /// Writes `pattern`, whose length is 1 to 65,536 bytes, `count` times one after another, asynchronously.
    /// # Safety
    /// See the trait. `to` is aligned to the largest of 4, 2 and 1 bytes that divides the pattern.
    unsafe fn fill(
        &self,
        to: DevicePtr,
        pattern: &[u8],
        count: usize,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()>;

    /// Compiles and loads the kernel's module for this device if that was not done yet, and finds the kernel in it,
    /// fully loaded: the first launch must not load anything. A kernel with symbols gets a module of its own each time.
    fn load(&self, kernel: &'static KernelInfo) -> Result<Loaded, Error>;
    /// Unloads a module that a function had to itself.
    /// # Safety
    /// `load` made it, it is not unloaded yet, and nothing launched from it is under way.
    unsafe fn unload(&self, module: &RawModule) -> DriverResult<()>;

    /// The blocks that a cluster of such a launch may have at most.
    fn largest_cluster(&self, function: &RawFunction, launch: Grid) -> DriverResult<u32>;
    /// The blocks of such a launch that can be on the device at once, if nothing else is.
    fn resident_blocks(&self, function: &RawFunction, launch: Grid) -> DriverResult<u64>;

    /// Launches a kernel, asynchronously. The limits were checked by the caller.
    /// # Safety
    /// See the trait. `params` match the kernel's parameters, and the kernel stays within `accesses`.
    unsafe fn launch(&self, launch: RawLaunch<'_>, stream: RawStream, tag: Tag) -> DriverResult<()>;

    /// Device memory is about to go that another library has allocated, and may free now.
    fn note_gone(&self, _memory: Range<u64>) {}

    /// How often memory has been freed so far.
    fn frees(&self) -> u64 {
        0
    }

    /// What was freed since there were so many frees; `None` if that is no longer known.
    ///
    /// A graph knows the allocations that its copies and fills use, not their addresses alone: when one was freed, it must
    /// not be launched again, even if another allocation has the same address.
    fn freed_since(&self, _frees: u64) -> Option<Vec<Range<u64>>> {
        Some(Vec::new())
    }

    /// Whether it gets on by itself, so that the host may ask how far it is. The simulated device gets on while the host
    /// waits.
    fn polls(&self) -> bool {
        !self.info().simulated
    }

    /// Whether each operation is waited for where it is enqueued, to find the one that fails. There are no graphs then.
    fn is_synchronous(&self) -> bool {
        false
    }

    /// Makes a graph of what was recorded. An error carries the tag of the node that it is about, if it is about one.
    /// # Safety
    /// See the trait. The handles of the recording are live; its addresses need not be before the graph is launched.
    unsafe fn build_graph(&self, nodes: &Recording) -> DriverResult<RawGraph>;
    /// Gives the nodes with the indices `changed` what they do in `nodes`, a recording of the same topology, from the
    /// next launch on. `false` if the driver can only build another graph; this one must not be launched then, nor after
    /// an error.
    /// # Safety
    /// As [`build_graph`](Self::build_graph).
    unsafe fn update_graph(&self, graph: &RawGraph, nodes: &Recording, changed: &[u32])
    -> DriverResult<bool>;
    /// Launches a graph, asynchronously: all of it comes after what was enqueued on `stream` so far, and before what is
    /// enqueued there from now on. `bodies` are those of its launches, in order, on the simulated device only.
    /// # Safety
    /// See the trait, of everything in `nodes`, which is what the graph does.
    unsafe fn launch_graph(
        &self,
        graph: &RawGraph,
        nodes: &Recording,
        bodies: Vec<HostBody>,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()>;
    /// # Safety
    /// The graph is destroyed here only. No launch of it is under way.
    unsafe fn destroy_graph(&self, graph: &RawGraph) -> DriverResult<()>;

    /// Runs `job` on a thread of this crate's own when the stream gets there. What is enqueued on the stream afterwards
    /// starts when the job has returned. A job that unwinds has returned, and nothing else comes of it.
    ///
    /// While a job runs, what waits for the whole device waits for it too: on CUDA to load a kernel, to allocate and to
    /// free. So a job must not wait for a thread that does such a thing.
    ///
    /// A job that the stream never gets to, because something before it has failed, is dropped without being run. A job
    /// may take its time; it may not call the device.
    /// # Safety
    /// See the trait. `accesses` are ranges of this driver's pinned memory (the pointer is the address), and the job stays
    /// within them, or keeps to memory that has nothing to do with the device.
    unsafe fn host(&self, job: HostJob, accesses: &[Access], stream: RawStream, tag: Tag)
    -> DriverResult<()>;

    /// Calls `signal` when the stream gets there: once, or never if something before it has failed; then it is dropped.
    ///
    /// It may run on the driver's own thread, which every stream waits for: it must be quick, may wait for nothing, and
    /// neither it nor what it drops may call a device.
    /// # Safety
    /// See the trait.
    unsafe fn signal(&self, signal: HostJob, stream: RawStream, tag: Tag) -> DriverResult<()>;

    /// Whether a function on the host that is about to be enqueued is to panic, for the sake of a test.
    fn has_panic(&self, _tag: Tag) -> bool {
        false
    }

    /// Time since this driver was made: real on a GPU, virtual on the simulated device.
    fn clock(&self) -> Duration;
    /// The host has just copied `bytes` between pageable and pinned memory: moves the virtual clock on.
    fn host_copied(&self, bytes: usize);
}
