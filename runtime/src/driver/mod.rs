//! The internal trait behind [`Device`](crate::Device), with everything that a device must be able to do.
//!
//! There are three devices, [`cuda`](crate::backends::cuda), [`cpu`](crate::backends::cpu) and
//! [`sim`](crate::backends::sim). A virtual call
//! costs about 2 ns and a call into CUDA's driver 1,500 ns, so the rest of the crate is not generic over it.

pub(crate) mod collective;
pub(crate) mod command;
pub(crate) mod fault;
mod handles;
mod launch;
pub(crate) mod occupancy;

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::time::Duration;

use crate::base::error::{Detail, DriverError, Error};
use crate::base::host_copy::numa::Node;
use crate::base::kernel::KernelInfo;
use crate::base::machine::MachineModel;
use crate::base::model::DeviceModel;
pub(crate) use crate::base::tag::Tag;
use crate::base::threads::Grid;
use collective::{Joining, RawCommunicator};
use command::recording::Recording;
pub(crate) use command::{Command, HostJob, Rows, RowsBetween, fill_word};
pub use handles::Access;
pub(crate) use handles::{
    Cluster, DevicePtr, FaultWord, Link, Loaded, Peer, RawCount, RawEvent, RawFunction, RawGraph, RawModule,
    RawNode, RawStream, RawSymbol,
};
pub use launch::{Bodies, HostBody, InRust};
pub(crate) use launch::{HostBodies, RawLaunch};

/// A time in nanoseconds.
pub(crate) type Nanos = f64;

/// The properties of a device.
#[derive(Debug, Clone)]
pub(crate) struct Info {
    pub name: String,
    pub kind: Kind,
    /// Its index among the machine's GPUs; `None` for any other device.
    pub index: Option<usize>,
    /// Bytes of device memory.
    pub memory: u64,
    /// Compute capability, such as `(9, 0)` for Hopper.
    pub compute_capability: (u32, u32),
    pub multiprocessors: u32,
    /// The range of priorities, `(least, greatest)`, as `cuCtxGetStreamPriorityRange` gives it. Numerically
    /// lowest is most urgent.
    pub priorities: (i32, i32),
    /// Bytes of the second-level cache, 0 if the device does not tell.
    pub cache: u64,
    /// The dynamic plus static shared memory that a block may use after opting in, in bytes.
    pub max_shared: u32,
    /// Whether the blocks of a launch may wait for each other.
    pub cooperative: bool,
}

/// What a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Gpu,
    /// The simulated device, which judges programs: time is virtual, and races and faults are found.
    Simulated,
    /// The processor, with so many threads.
    Cpu {
        threads: usize,
    },
}

impl Kind {
    /// Whether kernels run on the host, as host bodies, and device memory is the host's.
    pub(crate) fn is_on_host(self) -> bool {
        match self {
            Self::Gpu => false,
            Self::Simulated | Self::Cpu { .. } => true,
        }
    }
}

impl Info {
    /// Checks that the device has what the kernel's declaration asks for.
    pub(crate) fn check_kernel(&self, kernel: &KernelInfo) -> Result<(), Detail> {
        let lacks = |need| {
            let (device, compute_capability) = (self.name.clone(), self.compute_capability);
            Err(Detail::DeviceLacks { kernel: kernel.name, need, device, compute_capability })
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

/// Says whether a wait is over.
pub(crate) type IsOver = Box<dyn Fn() -> bool + Send>;

pub(crate) type DriverResult<T> = Result<T, Box<DriverError>>;

/// A device.
///
/// Handles (`RawStream`, `RawEvent`, `DevicePtr`, …) belong to the driver that made them. Methods that
/// enqueue or destroy are unsafe: **the caller promises that every handle is live and of this driver, and
/// that every address range stays allocated until the enqueued work has completed** (that is, until a
/// synchronisation with its stream has succeeded). All methods may be called from any thread.
pub(crate) trait Driver: Any + Send + Sync + fmt::Debug {
    fn info(&self) -> &Info;

    /// The device's model, if it need not be measured.
    fn model(&self) -> Option<&DeviceModel> {
        None
    }

    /// The model of the machine that the device is part of, if it need not be measured, and the device's number in it.
    fn machine(&self) -> Option<(&MachineModel, usize)> {
        None
    }

    /// A text that tells this device and its driver from others, from one process to the next; `None` if that
    /// is not needed.
    fn identity(&self) -> Option<String> {
        None
    }

    /// The part of the machine that the device is attached to, if that makes a difference.
    fn node(&self) -> Option<&Node> {
        None
    }

    /// Whether the calling thread may wait for the device. A run asks first: operations that it enqueued and
    /// could not wait for would be lost.
    fn may_wait(&self) -> DriverResult<()> {
        Ok(())
    }

    /// Makes the device's context current on the calling thread, for libraries that use the current context.
    fn make_current(&self) -> DriverResult<()> {
        Ok(())
    }

    /// An operation of a pipeline whose host body has long run on one core, though there are several, and for how
    /// long. It is told once.
    fn tell_serial(&self, _pipeline: u32) -> Option<(usize, Duration)> {
        None
    }

    /// Bytes of device memory that are free now.
    fn free_memory(&self) -> DriverResult<u64>;

    /// Allocates device memory of at least one byte, aligned to 256 bytes. It is not initialised.
    fn allocate(&self, bytes: usize) -> DriverResult<DevicePtr>;
    /// # Safety
    /// `ptr` came from `allocate`, is not freed yet, and no enqueued work uses it.
    unsafe fn free(&self, ptr: DevicePtr) -> DriverResult<()>;

    /// Allocates page-locked host memory (plain, cached pages) of at least one byte, aligned to 64 bytes.
    /// Every byte is initialised.
    fn allocate_pinned(&self, bytes: usize) -> DriverResult<NonNull<u8>>;
    /// The same as [`allocate_pinned`](Self::allocate_pinned), with pages that the CPU writes past its
    /// caches, and reads slowly.
    fn allocate_write_combined(&self, bytes: usize) -> DriverResult<NonNull<u8>>;
    /// Locks the pages of existing memory of at least one byte, which makes it page-locked memory.
    /// # Safety
    /// The memory stays until it is unregistered.
    unsafe fn register(&self, ptr: NonNull<u8>, bytes: usize) -> DriverResult<()>;
    /// # Safety
    /// `ptr` was registered, is not unregistered yet, and no enqueued work uses it.
    unsafe fn unregister(&self, ptr: NonNull<u8>) -> DriverResult<()>;
    /// Lets copies of this device reach page-locked memory of another device of its kind. A GPU's is
    /// portable, so a GPU does nothing here.
    /// # Safety
    /// The memory is page-locked memory of the other device, at least one byte, and stays until this device
    /// has disowned it.
    unsafe fn adopt(&self, _ptr: NonNull<u8>, _bytes: usize) -> DriverResult<()> {
        Ok(())
    }
    /// Announces that the adopted memory is about to be freed, or unregistered. It fails if enqueued work
    /// uses the memory, which must then stay.
    fn disown(&self, _ptr: NonNull<u8>) -> DriverResult<()> {
        Ok(())
    }
    /// # Safety
    /// `ptr` came from `allocate_pinned(bytes)` or `allocate_write_combined(bytes)`, is not freed yet, and no
    /// enqueued work uses it.
    unsafe fn free_pinned(&self, ptr: NonNull<u8>, bytes: usize) -> DriverResult<()>;

    /// Creates a non-blocking stream (one that does not wait for the null stream). `priority` is clamped to
    /// the device's range.
    fn create_stream(&self, priority: i32) -> DriverResult<RawStream>;
    /// Creates a blocking stream: it and the null stream wait for each other.
    fn create_blocking_stream(&self, priority: i32) -> DriverResult<RawStream>;
    /// The default stream of the calling thread, a blocking one. It is the same whenever this thread asks, is
    /// of no use to other threads, and is never destroyed.
    fn per_thread_stream(&self) -> DriverResult<RawStream>;
    /// The legacy default stream. It and every blocking stream wait for each other. It is always the same
    /// one, and is never destroyed.
    fn null_stream(&self) -> DriverResult<RawStream>;
    /// # Safety
    /// See the trait. It is not the null stream. Work that is still enqueued goes on.
    unsafe fn destroy_stream(&self, stream: RawStream) -> DriverResult<()>;
    /// Waits on the host until everything enqueued on `stream` has completed, and reports its failures.
    /// # Safety
    /// See the trait.
    unsafe fn synchronize_stream(&self, stream: RawStream) -> DriverResult<()>;
    /// Waits on the host for everything on the device.
    fn synchronize_device(&self) -> DriverResult<()>;
    /// Whether everything enqueued on `stream` has completed.
    /// # Safety
    /// See the trait.
    unsafe fn query_stream(&self, stream: RawStream) -> DriverResult<bool>;
    /// Lets the device make a little progress, if it makes progress only while the host waits.
    fn poll(&self) {}
    /// The same as [`synchronize_stream`](Self::synchronize_stream), for a stream on which something was just
    /// enqueued and that should be done in an instant.
    /// # Safety
    /// See the trait.
    unsafe fn synchronize_soon(&self, stream: RawStream) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.synchronize_stream(stream) }
    }

    /// Creates an event without timing, not recorded.
    fn create_event(&self) -> DriverResult<RawEvent>;
    /// Creates an event that also tells the time, not recorded.
    fn create_timing_event(&self) -> DriverResult<RawEvent>;
    /// The time from the completion of one event with timing to that of another. It is negative if they
    /// completed in the opposite order.
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
    /// Waits on the host for the event's latest record; returns at once if there is none.
    /// # Safety
    /// See the trait.
    unsafe fn synchronize_event(&self, event: RawEvent) -> DriverResult<()>;
    /// Whether the event's latest record is complete, or there is none.
    /// # Safety
    /// See the trait.
    unsafe fn query_event(&self, event: RawEvent) -> DriverResult<bool>;

    // Note 88: the host learns at once of what a caller waits for.
    /// Creates a count, which shows the host how far a stream has got, sooner than an event; `None` if the device has
    /// nothing that does.
    fn create_count(&self) -> DriverResult<Option<RawCount>> {
        Ok(None)
    }
    /// # Safety
    /// See the trait. The count is not used any more.
    unsafe fn destroy_count(&self, _count: RawCount) -> DriverResult<()> {
        Ok(())
    }
    /// Lets a stream count up after everything enqueued on it so far; `false` if it cannot.
    /// # Safety
    /// As [`enqueue`](Self::enqueue). What was asked of the count before is complete, or is on the same stream. The
    /// stream stays until this is complete, or until the count is destroyed.
    unsafe fn count_up(&self, _count: RawCount, _stream: RawStream, _tag: Tag) -> DriverResult<bool> {
        Ok(false)
    }
    /// Whether the stream that was asked last has counted up.
    /// # Safety
    /// See the trait.
    unsafe fn has_counted(&self, _count: RawCount) -> DriverResult<bool> {
        Err(fault::invalid_value("has_counted", "the device has no counts"))
    }

    /// From now on, copies between the device and the beginning of a page-locked allocation use the bytes at
    /// `to`, in any memory, instead. `None` ends that. `false` if the device cannot do it: then nothing has
    /// changed.
    ///
    /// The CPU then need not copy these bytes to or from page-locked memory. The device decides when it
    /// accesses them: at any time before the copies have completed.
    /// # Safety
    /// See the trait, whose promises hold for these bytes too. Nothing else writes them before the copies
    /// have completed, or reads them if a copy to the host is enqueued.
    unsafe fn redirect(&self, _pinned: NonNull<u8>, _to: Option<(*mut u8, usize)>) -> bool {
        false
    }

    /// Whether the other is a device of the same kind to whose memory streams of this one may copy, and from it, and
    /// for whose events they may wait.
    fn is_peer_of(&self, _other: &dyn Driver) -> bool {
        false
    }
    /// What its peers call the device.
    fn peer(&self) -> Peer {
        Peer(0)
    }
    /// Makes copies between this device and a peer go directly, in both directions, if they can.
    fn connect(&self, _peer: &dyn Driver) -> DriverResult<Link> {
        Ok(Link::OverHost)
    }
    /// Makes copies between this device and a peer go through the host's memory.
    fn disconnect(&self, _peer: &dyn Driver) -> DriverResult<()> {
        Ok(())
    }

    /// Enqueues a command on a stream.
    /// # Safety
    /// See the trait, and the promises of each [`Command`].
    unsafe fn enqueue(&self, command: Command<'_>, stream: RawStream, tag: Tag) -> DriverResult<()>;
    /// Enqueues a [`Command::Record`].
    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    unsafe fn record(&self, event: RawEvent, stream: RawStream, tag: Tag) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.enqueue(Command::Record(event), stream, tag) }
    }
    /// Enqueues a [`Command::Wait`].
    /// # Safety
    /// As [`enqueue`](Self::enqueue).
    unsafe fn wait(&self, event: RawEvent, stream: RawStream, tag: Tag) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.enqueue(Command::Wait(event), stream, tag) }
    }

    /// What rank 0's device gives out so that the others find it: a unique id of NCCL. Devices on the host need none.
    ///
    /// # Errors
    /// As [`may_join`](Self::may_join).
    fn identity_of_world(&self) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }
    /// Whether the device has what it needs to [`join`](Self::join). All ranks ask before the first of them joins.
    ///
    /// # Errors
    /// A library is missing.
    fn may_join(&self) -> Result<(), Error> {
        Ok(())
    }
    /// Lets the device be a rank of a world, once all ranks are there.
    ///
    /// # Errors
    /// The device has no way to the others.
    fn join(&self, _world: &Joining) -> Result<RawCommunicator, Error> {
        Err(fault::invalid_value("join", "the device has no way to other ranks").into())
    }
    /// Ends what [`join`](Self::join) has begun.
    /// # Safety
    /// Nothing of the communicator is enqueued or under way.
    unsafe fn leave(&self, _communicator: RawCommunicator) {}
    /// Ends everything on the communicator with this number that waits for other ranks, now and from now on, with an error
    /// that says why. It may be called from any thread.
    fn abort(&self, _number: u64, _why: &str) {}
    /// What tells the machine of a simulated device, in this process, and the device in it.
    fn meeting_place(&self) -> Option<(usize, usize)> {
        None
    }

    /// Compiles and loads the kernel's module for this device if that was not done yet, and finds the kernel
    /// in it, fully loaded: the first launch must not load anything. A kernel with symbols, or in Rust, gets
    /// a module of its own each time.
    fn load(&self, kernel: &'static KernelInfo) -> Result<Loaded, Error>;
    /// Unloads a module that a function had to itself.
    /// # Safety
    /// `load` made it, it is not unloaded yet, and nothing launched from it is under way.
    unsafe fn unload(&self, module: &RawModule) -> DriverResult<()>;

    /// The largest number of blocks that a cluster of such a launch may have.
    fn largest_cluster(&self, function: &RawFunction, launch: Grid) -> DriverResult<u32>;
    /// The number of blocks of such a launch that can be on the device at once, if nothing else is.
    fn resident_blocks(&self, function: &RawFunction, launch: Grid) -> DriverResult<u64>;

    /// Announces that device memory of another library is about to go: the library may free it now.
    fn note_gone(&self, _memory: Range<u64>) {}

    /// The number of times that memory has been freed so far.
    fn frees(&self) -> u64 {
        0
    }

    /// The memory that was freed after the first `frees` frees; `None` if that is no longer known.
    ///
    /// A graph knows the allocations that its copies and fills use, not only their addresses. When one was
    /// freed, the graph must not be launched again, even if another allocation has the same address.
    fn freed_since(&self, _frees: u64) -> Option<Vec<Range<u64>>> {
        Some(Vec::new())
    }

    /// Whether the device makes progress by itself, so that the host may ask how far it is. A device on the
    /// host makes progress while the host waits.
    fn polls(&self) -> bool {
        !self.info().kind.is_on_host()
    }

    /// Lets commands use this memory of the host as device memory, until it is [taken back](Self::take_back), so
    /// that it need not be copied. `false` if the device's memory is another: then nothing has changed.
    /// # Safety
    /// The memory stays until no enqueued work uses it, and its provenance is exposed. Until then nothing else
    /// writes it, or accesses what a command writes.
    unsafe fn lend(&self, _memory: Range<usize>) -> bool {
        false
    }
    /// Ends what [`lend`](Self::lend) has begun with the same range. No enqueued work uses it.
    fn take_back(&self, _memory: Range<usize>) {}

    /// Whether each operation is waited for when it is enqueued, to find the one that fails. There are no
    /// graphs then.
    fn is_synchronous(&self) -> bool {
        false
    }

    /// Loads the kernel that carries out small copies in the graphs of runs. Like any kernel's, its load may wait until
    /// the device has nothing to do. Where it cannot be loaded, such graphs have the driver's copies.
    fn prepare_small_copies(&self) {}
    /// Makes a graph of a recording. If an error concerns a node, it carries the node's tag. `of_run`: whether it is a
    /// run's graph, whose small copies a kernel may carry out, and not one that somebody has captured.
    /// # Safety
    /// See the trait. The handles of the recording are live; its addresses need not be before the graph is
    /// launched.
    unsafe fn build_graph(&self, nodes: &Recording, of_run: bool) -> DriverResult<RawGraph>;
    /// Changes the nodes with the indices `changed` to those of `nodes`, a recording of the same topology,
    /// from the next launch on. `false` if the driver can only build another graph. In that case, and after
    /// an error, this one must not be launched any more.
    /// # Safety
    /// As [`build_graph`](Self::build_graph).
    unsafe fn update_graph(&self, graph: &RawGraph, nodes: &Recording, changed: &[u32])
    -> DriverResult<bool>;
    /// # Safety
    /// The graph is destroyed here only. No launch of it is under way.
    unsafe fn destroy_graph(&self, graph: &RawGraph) -> DriverResult<()>;

    /// Whether a test makes a function on the host that is about to be enqueued panic.
    fn has_panic(&self, _tag: Tag) -> bool {
        false
    }

    /// Time since this driver was made: virtual on the simulated device, and real on any other.
    fn clock(&self) -> Duration;
    /// Advances the virtual clock by the time of a copy of `bytes` that the host has just made between
    /// pageable and page-locked memory.
    fn host_copied(&self, bytes: usize);
    /// Advances the virtual clock of the thread that uses this device to a time, unless it is later already.
    fn not_before(&self, _time: Duration) {}

    /// Announces a thread that will enqueue what this device has of a run of several. Where time is virtual, such
    /// threads take turns. Returns a ticket.
    fn expect_thread(&self) -> u64 {
        0
    }
    /// Begins the thread with a ticket: the calling one.
    fn begin_thread(&self, _ticket: u64) {}
    /// Ends the thread with a ticket, whether it has begun or not.
    fn end_thread(&self, _ticket: u64) {}
    /// Lets other threads go on, since the calling one is about to wait for something other than a device, until
    /// `is_over`. Returns its ticket, if it takes turns.
    fn step_aside(&self, _is_over: IsOver) -> Option<u64> {
        None
    }
    /// Goes on after [`step_aside`](Self::step_aside).
    fn come_back(&self, _ticket: u64) {}
}
