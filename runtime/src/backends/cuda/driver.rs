//! [`Cuda`]: a GPU as a driver.

use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, Range};
use std::ptr::{self, NonNull};
use std::thread;
use std::time::{Duration, Instant};

use crate::backends::cuda::sys;

use super::api::{self, Api};
use super::context::Context;
use super::counts::Seen;
use super::devices::device_count;
use super::freed::Freed;
use super::handles::{LEGACY_STREAM, PER_THREAD_STREAM, event_handle, stream_handle};
use super::host::HostFunctions;
use super::launch::{self, too_old};
use super::opened::Opened;
use super::{counts, enqueue, graph, info, nccl, peers, pinned};
use crate::base::error::{Detail, Result};
use crate::base::fork;
use crate::base::host_copy::numa::{self, Node};
use crate::base::kernel::KernelInfo;
use crate::base::threads::Grid;
use crate::driver::collective::{Joining, RawCommunicator};
use crate::driver::command::recording::Recording;
use crate::driver::{
    Command, DevicePtr, Driver, DriverResult, Info, Link, Loaded, Nanos, Peer, RawCount, RawEvent,
    RawFunction, RawGraph, RawModule, RawStream, Tag,
};

/// Registered memory is page-locked for every GPU, and kernels can access it.
const REGISTERED: u32 = sys::CU_MEMHOSTREGISTER_PORTABLE | sys::CU_MEMHOSTREGISTER_DEVICEMAP;

/// A GPU.
pub(crate) struct Cuda {
    opened: ManuallyDrop<Opened>,
    info: Info,
    /// `THALWEG_SYNC`: whether to wait after each operation, so that an asynchronous fault is reported by the
    /// operation that caused it.
    synchronous: bool,
    freed: Freed,
    peers: peers::Enabled,
    made: Instant,
    node: Option<Node>,
}

impl Deref for Cuda {
    type Target = Opened;

    #[inline]
    fn deref(&self) -> &Opened {
        &self.opened
    }
}

impl Cuda {
    /// The GPU of this index, with its primary context.
    pub(super) fn new(index: usize) -> Result<Self> {
        let count = device_count()?;
        if index >= count {
            let visible = std::env::var_os("CUDA_VISIBLE_DEVICES");
            let visible = visible.map(|devices| devices.to_string_lossy().into_owned());
            return Err(Detail::NoSuchDevice { index, count, visible }.into());
        }
        let api = Api::get()?;
        let mut device = 0;
        // SAFETY: `device` is a place for the result. The cast is exact: the driver counts devices in a C
        // `int`.
        unsafe { api.cuDeviceGet(&mut device, index as i32) }?;
        Self::with(Context::retain(api, device)?)
    }

    /// The GPU of a context.
    pub(super) fn with(context: Context) -> Result<Self> {
        let index = usize::try_from(context.device()).unwrap_or(0);
        let info = info::query(&context, index)?;
        let node = info::pci_address(&context).and_then(|address| Node::of_device(&address));
        let synchronous =
            std::env::var_os("THALWEG_SYNC").is_some_and(|value| !value.is_empty() && value != "0");
        Ok(Self {
            opened: ManuallyDrop::new(Opened::new(context)),
            info,
            synchronous,
            freed: Freed::default(),
            peers: peers::Enabled::default(),
            made: Instant::now(),
            node,
        })
    }

    /// Another device, if it is a GPU too.
    fn of(other: &dyn Driver) -> Option<&Self> {
        (other as &dyn Any).downcast_ref()
    }

    /// What connects it with its peers.
    fn end(&self) -> peers::End<'_> {
        (&self.context, &self.peers)
    }

    fn allocate_host(&self, bytes: usize, write_combined: bool) -> DriverResult<NonNull<u8>> {
        // The pointer is returned as an address, which threads may hand on.
        let allocated: DriverResult<_> = numa::near(self.node.as_ref(), || {
            Ok(pinned::allocate(self.enter()?, bytes.max(1), write_combined)?.as_ptr().expose_provenance())
        });
        let memory = NonNull::new(ptr::with_exposed_provenance_mut(allocated?));
        Ok(memory.expect("it was not null before"))
    }

    fn new_stream(&self, flags: sys::CUstream_flags_enum, priority: i32) -> DriverResult<RawStream> {
        let api = self.enter()?;
        let (least, greatest) = self.info.priorities;
        // The greatest priority is the lowest number. `clamp` would panic if a driver had the two swapped.
        let priority = priority.max(greatest).min(least);
        // SAFETY: the context is current.
        unsafe { api.new_stream(flags, priority) }
    }

    fn new_event(&self, flags: sys::CUevent_flags_enum) -> DriverResult<RawEvent> {
        let api = self.enter()?;
        // SAFETY: the context is current.
        unsafe { api.new_event(flags) }
    }

    /// Does what follows each wait, for a stream or for something else: host functions are noted, and collectives may
    /// have failed without an error of the driver.
    #[inline]
    fn waited(&self, stream: Option<RawStream>, outcome: DriverResult<()>) -> DriverResult<()> {
        self.host.waited(stream, &outcome);
        self.communicators.waited(stream, outcome)
    }

    /// Does what follows each enqueued command: nothing, unless `THALWEG_SYNC` asks to wait for the command.
    ///
    /// # Safety
    /// `stream` is live and of this device.
    #[inline]
    unsafe fn enqueued(&self, call: &'static str, stream: RawStream, tag: Tag) -> DriverResult<()> {
        if !self.synchronous {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        unsafe { self.synchronize_stream(stream) }.map_err(|mut error| {
            // Everything before it was waited for too, so this operation is at fault, not the wait.
            error.call = call;
            error.tag = Some((tag.operation, tag.chunk));
            error
        })
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // SAFETY: it is taken here only, and nothing uses it afterwards.
        let opened = unsafe { ManuallyDrop::take(&mut self.opened) };
        if HostFunctions::may_call("cuDevicePrimaryCtxRelease").is_ok() {
            return drop(opened);
        }
        // This thread runs a function of a stream, which may not call the driver, so another thread releases
        // the resources. If no thread can be started, they are leaked.
        let opened = ManuallyDrop::new(opened);
        let release = move || drop(ManuallyDrop::into_inner(opened));
        let _ = thread::Builder::new().name("thalweg release".to_owned()).spawn(release);
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cuda")
            .field("device", &self.context.device())
            .field("info", &self.info)
            .field("synchronous", &self.synchronous)
            .finish_non_exhaustive()
    }
}

impl Driver for Cuda {
    fn info(&self) -> &Info {
        &self.info
    }

    fn is_peer_of(&self, other: &dyn Driver) -> bool {
        Self::of(other).is_some()
    }

    fn peer(&self) -> Peer {
        peers::name(&self.context)
    }

    fn connect(&self, peer: &dyn Driver) -> DriverResult<Link> {
        HostFunctions::may_call("cuCtxEnablePeerAccess")?;
        Self::of(peer).map_or(Ok(Link::OverHost), |peer| peers::connect(self.end(), peer.end()))
    }

    fn disconnect(&self, peer: &dyn Driver) -> DriverResult<()> {
        HostFunctions::may_call("cuCtxDisablePeerAccess")?;
        Self::of(peer).map_or(Ok(()), |peer| peers::disconnect(self.end(), peer.end()))
    }

    fn identity(&self) -> Option<String> {
        HostFunctions::may_call("cuDeviceGetUuid").ok()?;
        info::identity(&self.context, &self.info).ok()
    }

    fn node(&self) -> Option<&Node> {
        self.node.as_ref()
    }

    fn may_wait(&self) -> DriverResult<()> {
        // A forked process asks another driver.
        HostFunctions::may_wait("cuStreamSynchronize")
    }

    fn make_current(&self) -> DriverResult<()> {
        self.enter().map(drop)
    }

    fn free_memory(&self) -> DriverResult<u64> {
        let api = self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are places for the results, and the context is current.
        unsafe { api.cuMemGetInfo_v2(&mut free, &mut total) }?;
        Ok(free as u64)
    }

    fn allocate(&self, bytes: usize) -> DriverResult<DevicePtr> {
        let api = self.enter()?;
        let mut ptr = 0;
        // SAFETY: `ptr` is a place for the result, and the context is current.
        unsafe { api.cuMemAlloc_v2(&mut ptr, bytes.max(1)) }?;
        Ok(DevicePtr(ptr))
    }

    unsafe fn free(&self, ptr: DevicePtr) -> DriverResult<()> {
        let api = self.enter()?;
        // Only the driver knows how far the allocation extends. Device memory is freed seldom.
        self.freed.note(0..u64::MAX);
        // SAFETY: the caller promises that `allocate` made it and that nothing uses it; the context is
        // current.
        unsafe { api.cuMemFree_v2(ptr.0) }
    }

    fn allocate_pinned(&self, bytes: usize) -> DriverResult<NonNull<u8>> {
        self.allocate_host(bytes, false)
    }

    fn allocate_write_combined(&self, bytes: usize) -> DriverResult<NonNull<u8>> {
        self.allocate_host(bytes, true)
    }

    unsafe fn register(&self, ptr: NonNull<u8>, bytes: usize) -> DriverResult<()> {
        let api = self.enter()?;
        // SAFETY: by the caller's promise the memory exists and stays until it is unregistered; the context
        // is current.
        unsafe { api.cuMemHostRegister_v2(ptr.as_ptr().cast(), bytes, REGISTERED) }?;
        let same = pinned::has_same_address(api, ptr);
        if same.is_err() {
            // SAFETY: it was just registered, and nothing uses it.
            let _ = unsafe { api.cuMemHostUnregister(ptr.as_ptr().cast()) };
        }
        same
    }

    unsafe fn unregister(&self, ptr: NonNull<u8>) -> DriverResult<()> {
        let api = self.enter()?;
        // Only the driver knows how far the memory extends.
        self.freed.note(0..u64::MAX);
        // SAFETY: the caller promises that it is registered and that nothing uses it.
        unsafe { api.cuMemHostUnregister(ptr.as_ptr().cast()) }
    }

    unsafe fn free_pinned(&self, ptr: NonNull<u8>, bytes: usize) -> DriverResult<()> {
        let api = self.enter()?;
        let start = ptr.addr().get() as u64;
        self.freed.note(start..start + bytes.max(1) as u64);
        // SAFETY: the caller promises that `allocate_pinned` made it and that nothing uses it.
        unsafe { api.cuMemFreeHost(ptr.as_ptr().cast()) }
    }

    fn create_stream(&self, priority: i32) -> DriverResult<RawStream> {
        self.new_stream(sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING, priority)
    }

    fn create_blocking_stream(&self, priority: i32) -> DriverResult<RawStream> {
        self.new_stream(sys::CUstream_flags_enum::CU_STREAM_DEFAULT, priority)
    }

    fn per_thread_stream(&self) -> DriverResult<RawStream> {
        Ok(RawStream(PER_THREAD_STREAM))
    }

    fn null_stream(&self) -> DriverResult<RawStream> {
        Ok(RawStream(LEGACY_STREAM))
    }

    unsafe fn destroy_stream(&self, stream: RawStream) -> DriverResult<()> {
        let api = self.enter()?;
        self.host.forget_stream(stream);
        // SAFETY: the caller promises that the stream is live.
        unsafe { api.cuStreamDestroy_v2(stream_handle(stream)) }
    }

    unsafe fn synchronize_stream(&self, stream: RawStream) -> DriverResult<()> {
        let api = self.enter()?;
        // SAFETY: the caller promises that the stream is live.
        let outcome = unsafe { api.cuStreamSynchronize(stream_handle(stream)) };
        self.waited(Some(stream), outcome)
    }

    fn synchronize_device(&self) -> DriverResult<()> {
        let api = self.enter()?;
        // SAFETY: the context is current.
        let outcome = unsafe { api.cuCtxSynchronize() };
        self.waited(None, outcome)
    }

    unsafe fn query_stream(&self, stream: RawStream) -> DriverResult<bool> {
        let api = self.enter()?;
        // SAFETY: the caller promises that the stream is live.
        match unsafe { api.cuStreamQuery(stream_handle(stream)) } {
            Err(error) if error.code == api::NOT_READY => Ok(false),
            outcome => self.waited(Some(stream), outcome).map(|()| true),
        }
    }

    unsafe fn synchronize_soon(&self, stream: RawStream) -> DriverResult<()> {
        let api = self.enter()?;
        // SAFETY: the caller promises that the stream is live.
        let outcome = unsafe { self.ends.synchronize(api, stream_handle(stream)) };
        self.waited(Some(stream), outcome)
    }

    fn create_event(&self) -> DriverResult<RawEvent> {
        self.new_event(sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING)
    }

    fn create_timing_event(&self) -> DriverResult<RawEvent> {
        self.new_event(sys::CUevent_flags_enum::CU_EVENT_DEFAULT)
    }

    unsafe fn elapsed(&self, from: RawEvent, to: RawEvent) -> DriverResult<Nanos> {
        let api = self.enter()?;
        // SAFETY: the caller promises that both are live.
        let millis = unsafe { api.elapsed(event_handle(from), event_handle(to)) }?;
        Ok(f64::from(millis) * 1e6)
    }

    unsafe fn destroy_event(&self, event: RawEvent) -> DriverResult<()> {
        let api = self.enter()?;
        // SAFETY: the caller promises that the event is live.
        unsafe { api.cuEventDestroy_v2(event_handle(event)) }
    }

    unsafe fn synchronize_event(&self, event: RawEvent) -> DriverResult<()> {
        let api = self.enter()?;
        // SAFETY: the caller promises that the event is live.
        let outcome = unsafe { api.cuEventSynchronize(event_handle(event)) };
        self.waited(None, outcome)
    }

    unsafe fn query_event(&self, event: RawEvent) -> DriverResult<bool> {
        let api = self.enter()?;
        // SAFETY: the caller promises that the event is live.
        match unsafe { api.cuEventQuery(event_handle(event)) } {
            Err(error) if error.code == api::NOT_READY => Ok(false),
            outcome => self.waited(None, outcome).map(|()| true),
        }
    }

    fn create_count(&self) -> DriverResult<Option<RawCount>> {
        Ok(counts::create(self.enter()?, &self.ends))
    }

    unsafe fn destroy_count(&self, count: RawCount) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        unsafe { counts::destroy(&self.ends, count) };
        Ok(())
    }

    unsafe fn count_up(&self, count: RawCount, stream: RawStream, tag: Tag) -> DriverResult<bool> {
        let api = self.enter()?;
        // SAFETY: the caller's promise; the context is current.
        unsafe {
            let counts = counts::count_up((api, &self.ends), count, stream)?;
            if counts {
                self.enqueued("cuStreamWriteValue32", stream, tag)?;
            }
            Ok(counts)
        }
    }

    unsafe fn has_counted(&self, count: RawCount) -> DriverResult<bool> {
        // SAFETY: the caller's promise.
        unsafe {
            match counts::look(&self.ends, count) {
                Seen::Complete => self.waited(None, Ok(())).map(|()| true),
                Seen::Pending => Ok(false),
                Seen::Ask(stream) => self.query_stream(stream),
            }
        }
    }

    unsafe fn enqueue(&self, command: Command<'_>, stream: RawStream, tag: Tag) -> DriverResult<()> {
        if command.is_nothing() {
            return Ok(());
        }
        let api = self.enter()?;
        // SAFETY: the caller's promise; the context is current.
        unsafe {
            match enqueue::enqueue((api, &self.host, &self.communicators), command, stream, tag)? {
                Some(call) => self.enqueued(call, stream, tag),
                None => Ok(()),
            }
        }
    }

    unsafe fn record(&self, event: RawEvent, stream: RawStream, tag: Tag) -> DriverResult<()> {
        let api = self.enter()?;
        // SAFETY: the caller's promise; the context is current.
        unsafe {
            enqueue::record(api, event, stream)?;
            self.enqueued("cuEventRecord", stream, tag)
        }
    }

    unsafe fn wait(&self, event: RawEvent, stream: RawStream, tag: Tag) -> DriverResult<()> {
        let api = self.enter()?;
        // SAFETY: the caller's promise; the context is current.
        unsafe {
            enqueue::wait(api, event, stream)?;
            self.enqueued("cuStreamWaitEvent", stream, tag)
        }
    }

    fn identity_of_world(&self) -> Result<Vec<u8>> {
        HostFunctions::may_call("ncclGetUniqueId")?;
        self.context.enter()?;
        nccl::identity()
    }

    fn may_join(&self) -> Result<()> {
        nccl::is_there()
    }

    fn join(&self, world: &Joining) -> Result<RawCommunicator> {
        HostFunctions::may_call("ncclCommInitRankConfig")?;
        self.communicators.join(&self.context, world)
    }

    unsafe fn leave(&self, communicator: RawCommunicator) {
        // A forked process has NCCL's memory, and none of its threads.
        if !fork::is_child() {
            // SAFETY: the caller promises that nothing is under way; the context is current if it can be entered.
            unsafe { self.communicators.leave(communicator, self.enter().ok()) };
        }
    }

    fn abort(&self, number: u64, why: &str) {
        self.communicators.abort(number, why);
    }

    fn load(&self, kernel: &'static KernelInfo) -> Result<Loaded> {
        HostFunctions::may_call("cuModuleLoadDataEx")?;
        self.modules.load(&self.context, &self.info, kernel)
    }

    unsafe fn unload(&self, module: &RawModule) -> DriverResult<()> {
        let api = self.enter()?;
        // SAFETY: the caller promises that the module is live and that nothing launched from it is under way.
        unsafe { api.cuModuleUnload(ptr::with_exposed_provenance_mut(module.handle as usize)) }?;
        self.modules.unloaded(module);
        Ok(())
    }

    fn largest_cluster(&self, function: &RawFunction, launch: Grid) -> DriverResult<u32> {
        let attributed = self.enter()?.attributed().map_err(too_old)?;
        // SAFETY: `load` made the function, which is live as long as its module; the context is current.
        unsafe { attributed.largest_cluster(function, launch) }
    }

    fn resident_blocks(&self, function: &RawFunction, launch: Grid) -> DriverResult<u64> {
        let api = self.enter()?;
        // SAFETY: as above.
        unsafe { launch::resident_blocks(api, function, launch, self.info.multiprocessors) }
    }

    fn note_gone(&self, memory: Range<u64>) {
        self.freed.note(memory);
    }

    fn frees(&self) -> u64 {
        self.freed.count()
    }

    fn freed_since(&self, frees: u64) -> Option<Vec<Range<u64>>> {
        self.freed.since(frees)
    }

    fn is_synchronous(&self) -> bool {
        self.synchronous
    }

    fn prepare_small_copies(&self) {
        // If each operation is waited for, there are no graphs.
        if !self.synchronous && self.enter().is_ok() {
            self.copier.prepare(&self.context, &self.info);
        }
    }

    unsafe fn build_graph(&self, nodes: &Recording, of_run: bool) -> DriverResult<RawGraph> {
        let api = self.enter()?;
        let copier = if of_run { self.copier.function() } else { None };
        // SAFETY: the context is current, and the recording's handles are live by the caller's promise.
        unsafe { graph::build(api, self.context.handle(), copier, nodes) }
    }

    unsafe fn update_graph(
        &self,
        graph: &RawGraph,
        nodes: &Recording,
        changed: &[u32],
    ) -> DriverResult<bool> {
        let api = self.enter()?;
        // SAFETY: as in `build_graph`; the graph is live and has the recording's topology.
        unsafe { graph::update(api, self.context.handle(), graph, nodes, changed) }
    }

    unsafe fn destroy_graph(&self, graph: &RawGraph) -> DriverResult<()> {
        let api = self.enter()?;
        // SAFETY: the caller promises that the graph is live and not under way.
        unsafe { graph::destroy(api, graph) }
    }

    fn clock(&self) -> Duration {
        self.made.elapsed()
    }

    fn host_copied(&self, _bytes: usize) {
        // Real time has passed by itself.
    }
}
