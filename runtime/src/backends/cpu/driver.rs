//! [`Cpu`] as a driver.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::device::Cpu;
use super::machine;
use super::memory::{self, Place, address};
use super::queue::Event;
use super::wait::release;
use super::work::{self, IN_RUST};
use crate::base::block::Block;
use crate::base::error::{Detail, Error};
use crate::base::kernel::{KernelInfo, KernelSource};
use crate::base::threads::Grid;
use crate::driver::collective::{Joining, RawCommunicator};
use crate::driver::command::recording::Recording;
use crate::driver::{
    Cluster, Command, DevicePtr, Driver, DriverResult, Info, Loaded, Nanos, RawEvent, RawFunction, RawGraph,
    RawModule, RawStream, Tag, fault, occupancy,
};

impl Cpu {
    fn allocate_in(&self, call: &'static str, bytes: usize, place: Place) -> DriverResult<NonNull<u8>> {
        fault::refuse_inside(call)?;
        let bytes = bytes.max(1);
        self.state().memory.reserve(call, bytes)?;
        let block = memory::block(bytes, place);
        let mut state = self.state();
        let Some(block) = block else {
            state.memory.unreserve(bytes);
            let free = machine::available().unwrap_or(0).min(state.memory.free());
            return Err(fault::out_of_memory(call, bytes, free));
        };
        let start = block.start();
        state.memory.insert(block, bytes, place);
        Ok(start)
    }

    fn free_in(&self, call: &'static str, start: usize, place: Place) -> DriverResult<()> {
        let mut state = self.state();
        let block = state.free(call, start, place);
        release(state);
        block.map(drop)
    }

    fn event(&self, is_timed: bool) -> DriverResult<RawEvent> {
        fault::refuse_inside("cuEventCreate")?;
        Ok(RawEvent(self.state().events.insert(Event { latest: None, is_timed })))
    }
}

impl Driver for Cpu {
    fn info(&self) -> &Info {
        &self.info
    }

    fn identity(&self) -> Option<String> {
        Some(format!("{} {} threads", self.info.name, self.hands.threads()))
    }

    fn may_wait(&self) -> DriverResult<()> {
        fault::refuse_inside("cuStreamSynchronize")
    }

    fn tell_serial(&self, pipeline: u32) -> Option<(usize, Duration)> {
        self.state().tell_serial(pipeline)
    }

    fn free_memory(&self) -> DriverResult<u64> {
        fault::refuse_inside("cuMemGetInfo")?;
        let free = self.state().memory.free();
        Ok(machine::available().map_or(free, |available| available.min(free)))
    }

    fn allocate(&self, bytes: usize) -> DriverResult<DevicePtr> {
        let start = self.allocate_in("cuMemAlloc", bytes, Place::Device)?;
        Ok(DevicePtr(start.addr().get() as u64))
    }

    unsafe fn free(&self, ptr: DevicePtr) -> DriverResult<()> {
        self.free_in("cuMemFree", address(ptr), Place::Device)
    }

    fn allocate_pinned(&self, bytes: usize) -> DriverResult<NonNull<u8>> {
        self.allocate_in("cuMemHostAlloc", bytes, Place::Pinned)
    }

    fn allocate_write_combined(&self, bytes: usize) -> DriverResult<NonNull<u8>> {
        self.allocate_pinned(bytes)
    }

    unsafe fn register(&self, ptr: NonNull<u8>, bytes: usize) -> DriverResult<()> {
        fault::refuse_inside("cuMemHostRegister")?;
        // SAFETY: the memory stays until it is unregistered, by the caller's promise.
        let block = unsafe { Block::of_another(ptr) };
        self.state().memory.adopt(block, bytes);
        Ok(())
    }

    unsafe fn unregister(&self, ptr: NonNull<u8>) -> DriverResult<()> {
        self.free_in("cuMemHostUnregister", ptr.addr().get(), Place::Pinned)
    }

    unsafe fn adopt(&self, ptr: NonNull<u8>, bytes: usize) -> DriverResult<()> {
        // SAFETY: the memory stays until it is disowned, by the caller's promise.
        let block = unsafe { Block::of_another(ptr) };
        self.state().memory.adopt(block, bytes);
        Ok(())
    }

    fn disown(&self, ptr: NonNull<u8>) -> DriverResult<()> {
        self.free_in("cuMemFreeHost", ptr.addr().get(), Place::Pinned)
    }

    unsafe fn free_pinned(&self, ptr: NonNull<u8>, _bytes: usize) -> DriverResult<()> {
        self.free_in("cuMemFreeHost", ptr.addr().get(), Place::Pinned)
    }

    unsafe fn lend(&self, memory: Range<usize>) -> bool {
        self.state().memory.lend(memory);
        true
    }

    fn take_back(&self, memory: Range<usize>) {
        self.state().memory.take_back(&memory);
    }

    fn create_stream(&self, priority: i32) -> DriverResult<RawStream> {
        fault::refuse_inside("cuStreamCreateWithPriority")?;
        let (least, greatest) = self.info.priorities;
        Ok(self.state().create_stream(priority.min(least).max(greatest)))
    }

    fn create_blocking_stream(&self, priority: i32) -> DriverResult<RawStream> {
        let stream = self.create_stream(priority)?;
        self.state().block(stream);
        Ok(stream)
    }

    fn per_thread_stream(&self) -> DriverResult<RawStream> {
        Ok(self.state().per_thread_stream(thread::current().id()))
    }

    fn null_stream(&self) -> DriverResult<RawStream> {
        Ok(self.state().null_stream())
    }

    unsafe fn destroy_stream(&self, stream: RawStream) -> DriverResult<()> {
        self.state().destroy_stream("cuStreamDestroy", stream)
    }

    unsafe fn synchronize_stream(&self, stream: RawStream) -> DriverResult<()> {
        self.wait_for_stream(stream)
    }

    fn synchronize_device(&self) -> DriverResult<()> {
        self.wait_for_all()
    }

    unsafe fn query_stream(&self, stream: RawStream) -> DriverResult<bool> {
        let call = "cuStreamQuery";
        fault::refuse_inside(call)?;
        let mut state = self.state();
        let found = state.stream(call, stream)?;
        if found.completed < found.enqueued {
            return Ok(false);
        }
        state.take_failure(stream).map_or(Ok(true), Err)
    }

    fn poll(&self) {
        self.go_on();
    }

    fn create_event(&self) -> DriverResult<RawEvent> {
        self.event(false)
    }

    fn create_timing_event(&self) -> DriverResult<RawEvent> {
        self.event(true)
    }

    unsafe fn elapsed(&self, from: RawEvent, to: RawEvent) -> DriverResult<Nanos> {
        let call = "cuEventElapsedTime";
        fault::refuse_inside(call)?;
        let mut state = self.state();
        let mut at = |event| {
            let record = state.event(call, event)?.latest.clone();
            let record = record.filter(|record| record.is_timed);
            let record = record.ok_or_else(|| fault::invalid_handle(call, "event with a time"))?;
            let outcome = record.outcome.get();
            outcome.and_then(|outcome| outcome.at).ok_or_else(|| fault::not_ready(call))
        };
        let (from, to) = (at(from)?, at(to)?);
        let nanos = |time: Duration| time.as_secs_f64() * 1e9;
        Ok(to.checked_duration_since(from).map_or_else(|| -nanos(from.duration_since(to)), nanos))
    }

    unsafe fn destroy_event(&self, event: RawEvent) -> DriverResult<()> {
        let removed = self.state().events.remove(event.0);
        removed.map(drop).ok_or_else(|| fault::invalid_handle("cuEventDestroy", "event"))
    }

    unsafe fn synchronize_event(&self, event: RawEvent) -> DriverResult<()> {
        let call = "cuEventSynchronize";
        fault::refuse_inside(call)?;
        let latest = self.state().event(call, event)?.latest.clone();
        latest.map_or(Ok(()), |record| self.wait_for_record(call, &record))
    }

    unsafe fn query_event(&self, event: RawEvent) -> DriverResult<bool> {
        let call = "cuEventQuery";
        fault::refuse_inside(call)?;
        let latest = self.state().event(call, event)?.latest.clone();
        let Some(record) = latest else { return Ok(true) };
        let Some(outcome) = record.outcome.get() else { return Ok(false) };
        outcome.failure.as_ref().map_or(Ok(true), |failure| failure.pending().map(|()| true))
    }

    unsafe fn redirect(&self, pinned: NonNull<u8>, to: Option<(*mut u8, usize)>) -> bool {
        let to = to.map(|(start, bytes)| (start.expose_provenance(), bytes));
        self.state().memory.redirect(pinned.addr().get(), to)
    }

    unsafe fn enqueue(&self, command: Command<'_>, stream: RawStream, tag: Tag) -> DriverResult<()> {
        let call = command.call();
        match command {
            Command::Record(event) => {
                let mut state = self.state();
                let recorded = state.record(call, event, stream, tag);
                release(state);
                recorded
            }
            Command::Wait(event) => {
                let mut state = self.state();
                let waits = state.wait(call, stream, event, tag);
                release(state);
                waits
            }
            Command::Graph { graph, nodes, bodies } => self.launch_graph(graph, nodes, bodies, stream, tag),
            Command::Collective(collective) => {
                let mut state = self.state();
                let exchange = state.communicators.get(collective.communicator.0).map(Arc::clone);
                let exchange = exchange.ok_or_else(|| fault::invalid_handle(call, "communicator"))?;
                let planned = work::collective(collective, exchange);
                state.check(&planned, stream)?;
                let enqueued = state.enqueue_work(planned, stream, tag);
                release(state);
                enqueued
            }
            command @ (Command::CopyToDevice { .. }
            | Command::CopyToHost { .. }
            | Command::CopyOnDevice { .. }
            | Command::CopyBetween { .. }
            | Command::CopyRows(_)
            | Command::Fill { .. }
            | Command::Launch(_)
            | Command::Host { .. }
            | Command::Signal(_)) => {
                // The work is planned before the lock is taken. If it is refused, it is dropped after the
                // lock is released: host bodies and functions are code that is not this module's.
                let Some(planned) = work::planned(command, &mut std::iter::empty())? else { return Ok(()) };
                let mut state = self.state();
                state.check(&planned, stream)?;
                let enqueued = state.enqueue_work(planned, stream, tag);
                release(state);
                enqueued
            }
        }
    }

    fn join(&self, world: &Joining) -> Result<RawCommunicator, Error> {
        fault::refuse_inside("join")?;
        Ok(RawCommunicator(self.state().communicators.insert(Arc::clone(&world.exchange))))
    }

    unsafe fn leave(&self, communicator: RawCommunicator) {
        let left = self.state().communicators.remove(communicator.0);
        drop(left);
    }

    fn load(&self, kernel: &'static KernelInfo) -> Result<Loaded, Error> {
        fault::refuse_inside("cuModuleLoadDataEx")?;
        if !kernel.has_host_body {
            return Err(Detail::NoHostBody { kernel: kernel.name, device: "CPU" }.into());
        }
        self.info.check_kernel(kernel)?;
        let in_rust = if matches!(kernel.module.source, KernelSource::Rust(_)) { IN_RUST } else { 0 };
        let handle = std::ptr::from_ref(kernel).addr() as u64 | in_rust;
        let max_threads = kernel.max_threads_per_block.unwrap_or(1024).min(1024);
        let function = RawFunction {
            cluster: kernel.cluster.map(|blocks| Cluster { blocks, in_source: false }),
            cooperative: kernel.cooperative,
            ..RawFunction::plain(handle, max_threads, 0)
        };
        // Host bodies read the buffers themselves: there are no variables to write.
        let own =
            (!kernel.symbols.is_empty()).then(|| RawModule { handle, symbols: Vec::new(), fault: None });
        Ok(Loaded { function, own })
    }

    unsafe fn unload(&self, _module: &RawModule) -> DriverResult<()> {
        Ok(())
    }

    fn largest_cluster(&self, _function: &RawFunction, _launch: Grid) -> DriverResult<u32> {
        Ok(occupancy::largest_cluster(self.info.compute_capability))
    }

    fn resident_blocks(&self, _function: &RawFunction, launch: Grid) -> DriverResult<u64> {
        let on_each = occupancy::resident_blocks(&self.info, launch.block_dim, launch.shared);
        Ok(on_each * self.multiprocessors)
    }

    unsafe fn build_graph(&self, nodes: &Recording, _of_run: bool) -> DriverResult<RawGraph> {
        fault::refuse_inside("cuGraphInstantiate")?;
        let graph = self.state().graphs.insert(nodes.len());
        Ok(RawGraph { graph, executable: graph, ..RawGraph::default() })
    }

    unsafe fn update_graph(
        &self,
        graph: &RawGraph,
        nodes: &Recording,
        _changed: &[u32],
    ) -> DriverResult<bool> {
        self.check_graph("cuGraphExecUpdate", graph, nodes.len())?;
        Ok(true)
    }

    unsafe fn destroy_graph(&self, graph: &RawGraph) -> DriverResult<()> {
        let removed = self.state().graphs.remove(graph.graph);
        removed.map(drop).ok_or_else(|| fault::invalid_handle("cuGraphDestroy", "graph"))
    }

    fn clock(&self) -> Duration {
        self.made.elapsed()
    }

    fn host_copied(&self, _bytes: usize) {}
}
