//! [`Forked`]: the driver of every device in a forked process.

use std::ops::Range;
use std::ptr::NonNull;
use std::time::Duration;

use crate::base::error::Error;
use crate::base::fork::refused;
use crate::base::kernel::KernelInfo;
use crate::base::threads::Grid;
use crate::driver::command::recording::Recording;
use crate::driver::{
    Command, DevicePtr, Driver, DriverResult, Info, Kind, Loaded, Nanos, RawEvent, RawFunction, RawGraph,
    RawModule, RawStream, Tag,
};

/// A driver that refuses every call. It locks nothing that a thread of the other process may have locked.
pub(crate) struct Forked {
    info: Info,
}

impl Forked {
    pub(crate) fn new() -> Self {
        Self {
            info: Info {
                name: "a device of another process".to_owned(),
                kind: Kind::Gpu,
                index: None,
                memory: 0,
                compute_capability: (0, 0),
                multiprocessors: 0,
                priorities: (0, 0),
                cache: 0,
                max_shared: 0,
                cooperative: false,
            },
        }
    }
}

impl std::fmt::Debug for Forked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Forked")
    }
}

impl Driver for Forked {
    fn info(&self) -> &Info {
        &self.info
    }

    fn may_wait(&self) -> DriverResult<()> {
        Err(refused("cuStreamSynchronize"))
    }

    fn make_current(&self) -> DriverResult<()> {
        Err(refused("cuCtxSetCurrent"))
    }

    fn free_memory(&self) -> DriverResult<u64> {
        Err(refused("cuMemGetInfo"))
    }

    fn allocate(&self, _bytes: usize) -> DriverResult<DevicePtr> {
        Err(refused("cuMemAlloc"))
    }

    unsafe fn free(&self, _ptr: DevicePtr) -> DriverResult<()> {
        Err(refused("cuMemFree"))
    }

    fn allocate_pinned(&self, _bytes: usize) -> DriverResult<NonNull<u8>> {
        Err(refused("cuMemHostAlloc"))
    }

    fn allocate_write_combined(&self, _bytes: usize) -> DriverResult<NonNull<u8>> {
        Err(refused("cuMemHostAlloc"))
    }

    unsafe fn register(&self, _ptr: NonNull<u8>, _bytes: usize) -> DriverResult<()> {
        Err(refused("cuMemHostRegister"))
    }

    unsafe fn unregister(&self, _ptr: NonNull<u8>) -> DriverResult<()> {
        Err(refused("cuMemHostUnregister"))
    }

    unsafe fn free_pinned(&self, _ptr: NonNull<u8>, _bytes: usize) -> DriverResult<()> {
        Err(refused("cuMemFreeHost"))
    }

    fn create_stream(&self, _priority: i32) -> DriverResult<RawStream> {
        Err(refused("cuStreamCreateWithPriority"))
    }

    fn create_blocking_stream(&self, _priority: i32) -> DriverResult<RawStream> {
        Err(refused("cuStreamCreateWithPriority"))
    }

    fn per_thread_stream(&self) -> DriverResult<RawStream> {
        Err(refused("cuStreamGetPriority"))
    }

    fn null_stream(&self) -> DriverResult<RawStream> {
        Err(refused("cuStreamGetPriority"))
    }

    unsafe fn destroy_stream(&self, _stream: RawStream) -> DriverResult<()> {
        Err(refused("cuStreamDestroy"))
    }

    unsafe fn synchronize_stream(&self, _stream: RawStream) -> DriverResult<()> {
        Err(refused("cuStreamSynchronize"))
    }

    fn synchronize_device(&self) -> DriverResult<()> {
        Err(refused("cuCtxSynchronize"))
    }

    unsafe fn query_stream(&self, _stream: RawStream) -> DriverResult<bool> {
        Err(refused("cuStreamQuery"))
    }

    fn create_event(&self) -> DriverResult<RawEvent> {
        Err(refused("cuEventCreate"))
    }

    fn create_timing_event(&self) -> DriverResult<RawEvent> {
        Err(refused("cuEventCreate"))
    }

    unsafe fn elapsed(&self, _from: RawEvent, _to: RawEvent) -> DriverResult<Nanos> {
        Err(refused("cuEventElapsedTime"))
    }

    unsafe fn destroy_event(&self, _event: RawEvent) -> DriverResult<()> {
        Err(refused("cuEventDestroy"))
    }

    unsafe fn synchronize_event(&self, _event: RawEvent) -> DriverResult<()> {
        Err(refused("cuEventSynchronize"))
    }

    unsafe fn query_event(&self, _event: RawEvent) -> DriverResult<bool> {
        Err(refused("cuEventQuery"))
    }

    unsafe fn enqueue(&self, command: Command<'_>, _stream: RawStream, _tag: Tag) -> DriverResult<()> {
        Err(refused(command.call()))
    }

    fn load(&self, _kernel: &'static KernelInfo) -> Result<Loaded, Error> {
        Err(refused("cuModuleLoadDataEx").into())
    }

    unsafe fn unload(&self, _module: &RawModule) -> DriverResult<()> {
        Err(refused("cuModuleUnload"))
    }

    fn largest_cluster(&self, _function: &RawFunction, _launch: Grid) -> DriverResult<u32> {
        Err(refused("cuOccupancyMaxPotentialClusterSize"))
    }

    fn resident_blocks(&self, _function: &RawFunction, _launch: Grid) -> DriverResult<u64> {
        Err(refused("cuOccupancyMaxActiveBlocksPerMultiprocessor"))
    }

    fn freed_since(&self, _frees: u64) -> Option<Vec<Range<u64>>> {
        None
    }

    fn polls(&self) -> bool {
        false
    }

    unsafe fn build_graph(&self, _nodes: &Recording, _of_run: bool) -> DriverResult<RawGraph> {
        Err(refused("cuGraphInstantiate"))
    }

    unsafe fn update_graph(
        &self,
        _graph: &RawGraph,
        _nodes: &Recording,
        _changed: &[u32],
    ) -> DriverResult<bool> {
        Err(refused("cuGraphExecUpdate"))
    }

    unsafe fn destroy_graph(&self, _graph: &RawGraph) -> DriverResult<()> {
        Err(refused("cuGraphDestroy"))
    }

    fn clock(&self) -> Duration {
        Duration::ZERO
    }

    fn host_copied(&self, _bytes: usize) {}
}
