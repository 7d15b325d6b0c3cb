//! What a device must be able to do: the one internal trait behind [`Device`](crate::Device).
//!
//! Two types implement it, [`sim`](crate::backends::sim) and [`cuda`](crate::backends::cuda). A virtual call costs about 2 ns against
//! 1,500 ns for a call into CUDA's driver, so the rest of the crate is not generic over it.

pub(crate) mod command;
mod handles;
mod launch;

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::time::Duration;

use crate::base::error::{DriverError, Error, ErrorKind};
use crate::base::host_copy::numa::Node;
use crate::base::kernel::{Grid, KernelInfo};
use crate::base::model::DeviceModel;
pub(crate) use crate::base::tag::Tag;
use command::recording::Recording;
pub(crate) use command::{Command, HostJob, Rows, RowsBetween, fill_word};
pub use handles::Access;
pub(crate) use handles::{
    Cluster, DevicePtr, Loaded, RawEvent, RawFunction, RawGraph, RawModule, RawStream, RawSymbol,
};
pub use launch::HostBody;
pub(crate) use launch::{Bodies, HostBodies, RawLaunch};

/// A time in nanoseconds.
pub(crate) type Nanos = f64;

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

    /// Enqueues a command on a stream.
    /// # Safety
    /// See the trait, and what is said of each [`Command`].
    unsafe fn enqueue(&self, command: Command<'_>, stream: RawStream, tag: Tag) -> DriverResult<()>;

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
    /// # Safety
    /// The graph is destroyed here only. No launch of it is under way.
    unsafe fn destroy_graph(&self, graph: &RawGraph) -> DriverResult<()>;

    /// Whether a function on the host that is about to be enqueued is to panic, for the sake of a test.
    fn has_panic(&self, _tag: Tag) -> bool {
        false
    }

    /// Time since this driver was made: real on a GPU, virtual on the simulated device.
    fn clock(&self) -> Duration;
    /// The host has just copied `bytes` between pageable and pinned memory: moves the virtual clock on.
    fn host_copied(&self, bytes: usize);
}
