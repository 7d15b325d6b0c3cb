//! The simulated device: a GPU's streams, events, copies and launches on the CPU, with a virtual clock.
//!
//! Enqueueing only puts commands into streams. They are carried out when the host waits for a stream or an event, as a
//! discrete-event simulation ([`timed`]) that runs until what is waited for is complete. So a program that reads a
//! result, or frees memory, before it has waited sees exactly that: the result is not there, the memory is in use.
//! Time is virtual and follows from the program and the [`Spec`] alone, so it is the same in every run (as long as
//! one host thread uses the device; threads share one virtual clock, in the order in which they really run).
//!
//! What goes through page-locked memory to or from other memory is copied once, not twice, where the order is that of time:
//! the device's copies are [redirected](Driver::redirect). Virtual time passes as if both copies had been made.
//!
//! Apart from the simulation, and sharing no code with it, a race checker ([`order`], [`history`]) follows what
//! streams, events and waits on the host order. Work that races with earlier work is not carried out: it fails, as a
//! launch does whose host body panics.
//!
//! # Failures
//! A failure belongs to the streams that it reaches. From the command that failed on, its stream carries out no more
//! work, and neither does any stream from the point on where it waits for an event that was recorded after the
//! failure. Events are still recorded and waited for, so nothing hangs; what the failure does not reach goes on. Each
//! stream that was reached reports the error from its next `synchronize_stream`, once, and works again after that; an
//! event recorded after the failure reports it until its stream has. So after an error, synchronising with every
//! stream of a run leaves the device as good as new. (A GPU would be lost until the process ends.)
//!
//! Faults that somebody wants ([`inject`]) are such failures, or calls that are refused. One of them is as bad as on a GPU: from then on every
//! call fails.

mod adversary;
mod block;
mod bodies;
mod fault;
pub(crate) mod forecast;
mod graph;
mod handles;
mod history;
mod inject;
mod machine;
mod memory;
mod model;
mod occupancy;
mod order;
mod queue;
mod spec;
#[cfg(test)]
mod tests;
mod timed;
mod unwritten;
mod wait;
mod work;

use std::fmt;
use std::ptr::NonNull;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

pub(crate) use self::adversary::mixed;
use self::block::Block;
pub use self::inject::{DriverCall, Effect, Fault, Injected};
use self::machine::Machine;
use self::memory::{Place, Span};
use self::queue::{Action, Engine, Work};
pub use self::spec::Spec;
pub use self::unwritten::{Promise, whole_body};
use crate::base::error::{Error, ErrorKind};
use crate::base::host_copy::Workers;
use crate::base::kernel::volume;
use crate::base::kernel::{Grid, KernelInfo};
use crate::base::model::DeviceModel;
use crate::driver::recording::Recording;
use crate::driver::{
    Access, Cluster, DevicePtr, Driver, DriverResult, HostBody, HostJob, Info, Loaded, Nanos, RawEvent,
    RawFunction, RawGraph, RawLaunch, RawModule, RawStream, Rows, Tag,
};

/// Threads that copy: more than these the memory of one socket hardly feeds.
const COPY_THREADS: usize = 12;

/// A simulated device.
pub(crate) struct Sim {
    info: Info,
    model: DeviceModel,
    machine: Mutex<Machine>,
    /// Those who copy.
    workers: &'static Workers,
    /// Signalled when a job has been carried out, if a thread waits for that.
    executed: Condvar,
}

impl Sim {
    pub(crate) fn new(spec: Spec) -> Self {
        let machine = Mutex::new(Machine::new(&spec));
        let Spec { model, .. } = spec;
        let info = Info {
            name: model.name.clone(),
            index: None,
            memory: model.memory,
            compute_capability: model.compute_capability,
            multiprocessors: model.multiprocessors,
            priorities: model.priorities,
            max_shared: model.max_shared,
            cache: model.cache,
            cooperative: model.compute_capability >= occupancy::COOPERATIVE,
            simulated: true,
        };
        let workers = Workers::near(None);
        workers.employ(COPY_THREADS);
        Self { info, model, machine, workers, executed: Condvar::new() }
    }

    /// Tells apart the orders in which devices have carried out work.
    pub(crate) fn order(&self) -> u64 {
        self.machine().carried.0
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        // Nothing of the user's runs under the lock, so a panic cannot leave the machine half-changed.
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allocate_in(&self, call: &'static str, bytes: usize, place: Place) -> DriverResult<NonNull<u8>> {
        let bytes = bytes.max(1);
        let mut machine = self.machine();
        machine.begin(call, None, bytes)?;
        machine.memory.reserve(call, bytes, place)?;
        drop(machine);
        // Not under the lock: filling a large block takes a while.
        let block = Block::new(bytes, place.align(), place.fill());
        let mut machine = self.machine();
        let Some(block) = block else {
            machine.memory.unreserve(bytes, place);
            return Err(fault::out_of_memory(call, bytes, machine.memory.device_free()));
        };
        let start = block.start();
        machine.memory.insert(block, bytes, place);
        Ok(start)
    }

    fn free_in(&self, call: &'static str, start: usize, place: Place) -> DriverResult<()> {
        let mut machine = self.machine();
        let Machine { memory, order, faults, .. } = &mut *machine;
        if let Err(lost) = faults.alive() {
            memory.give_up(start);
            return Err(lost);
        }
        let block = memory.remove(call, start, place, order)?;
        drop(machine);
        drop(block);
        Ok(())
    }

    fn enqueue(
        &self,
        call: &'static str,
        stream: RawStream,
        tag: Tag,
        spans: &[Span],
        work: impl FnOnce(&mut Machine) -> Work,
    ) -> DriverResult<()> {
        let mut machine = self.machine();
        machine.faults.alive()?;
        machine.check(call, stream, spans)?;
        let work = work(&mut machine);
        let result = machine.enqueue_work(call, stream, tag, spans, work);
        wait::release(machine);
        result
    }

    fn copy(
        &self,
        call: &'static str,
        [to, from]: [(usize, Place); 2],
        bytes: usize,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let spans = work::copied(to, from, bytes);
        // Copying nothing accesses nothing, so the addresses do not matter.
        let spans = if bytes == 0 { &[] } else { &spans[..] };
        work::check_overlap(call, to, from, bytes)?;
        self.enqueue(call, stream, tag, spans, |machine| work::copy(&machine.model, to, from, bytes))
    }
}

impl Driver for Sim {
    fn info(&self) -> &Info {
        &self.info
    }

    fn model(&self) -> Option<&DeviceModel> {
        Some(&self.model)
    }

    fn may_wait(&self) -> DriverResult<()> {
        bodies::refuse_inside("cuStreamSynchronize")
    }

    fn free_memory(&self) -> DriverResult<u64> {
        bodies::refuse_inside("cuMemGetInfo")?;
        Ok(self.machine().memory.device_free())
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
        let call = "cuMemHostRegister";
        let mut machine = self.machine();
        machine.begin(call, None, bytes)?;
        machine.memory.reserve(call, bytes, Place::Pinned)?;
        // SAFETY: the memory stays until it is unregistered, says the caller.
        let block = unsafe { Block::of_another(ptr) };
        machine.memory.insert(block, bytes, Place::Pinned);
        Ok(())
    }

    unsafe fn unregister(&self, ptr: NonNull<u8>) -> DriverResult<()> {
        self.free_in("cuMemHostUnregister", ptr.addr().get(), Place::Pinned)
    }

    unsafe fn adopt(&self, ptr: NonNull<u8>, bytes: usize) -> DriverResult<()> {
        let mut machine = self.machine();
        machine.faults.alive()?;
        // SAFETY: the memory stays until it is disowned, says the caller.
        let block = unsafe { Block::of_another(ptr) };
        machine.memory.adopt(block, bytes);
        Ok(())
    }

    fn disown(&self, ptr: NonNull<u8>) -> DriverResult<()> {
        let mut machine = self.machine();
        let Machine { memory, order, .. } = &mut *machine;
        memory.remove("cuMemFreeHost", ptr.addr().get(), Place::Pinned, order).map(drop)
    }

    unsafe fn free_pinned(&self, ptr: NonNull<u8>, _bytes: usize) -> DriverResult<()> {
        self.free_in("cuMemFreeHost", ptr.addr().get(), Place::Pinned)
    }

    fn create_stream(&self, priority: i32) -> DriverResult<RawStream> {
        let (least, greatest) = self.info.priorities;
        let priority = priority.min(least).max(greatest);
        let mut machine = self.machine();
        machine.begin("cuStreamCreateWithPriority", None, 0)?;
        Ok(machine.create_stream(priority))
    }

    fn create_blocking_stream(&self, priority: i32) -> DriverResult<RawStream> {
        let stream = self.create_stream(priority)?;
        self.machine().block(stream);
        Ok(stream)
    }

    fn per_thread_stream(&self) -> DriverResult<RawStream> {
        Ok(self.machine().per_thread_stream(thread::current().id()))
    }

    fn null_stream(&self) -> DriverResult<RawStream> {
        Ok(self.machine().null_stream())
    }

    fn synchronize_device(&self) -> DriverResult<()> {
        self.wait_for_all()
    }

    unsafe fn query_stream(&self, stream: RawStream) -> DriverResult<bool> {
        let call = "cuStreamQuery";
        let mut machine = self.machine();
        machine.begin(call, None, 0)?;
        let state = machine.stream(call, stream)?;
        if state.completed < state.enqueued {
            return Ok(false);
        }
        let (at, lane) = (state.completed_at, state.lane);
        let clock = machine.order.record(lane);
        machine.host_waited(at, &clock);
        machine.take_failure(stream).map_or(Ok(true), Err)
    }

    fn poll(&self) {
        self.go_on();
    }

    unsafe fn destroy_stream(&self, stream: RawStream) -> DriverResult<()> {
        self.machine().destroy_stream("cuStreamDestroy", stream)
    }

    unsafe fn synchronize_stream(&self, stream: RawStream) -> DriverResult<()> {
        self.wait_for_stream(stream)
    }

    fn create_event(&self) -> DriverResult<RawEvent> {
        let mut machine = self.machine();
        machine.begin("cuEventCreate", None, 0)?;
        Ok(RawEvent(machine.events.insert(None)))
    }

    fn create_timing_event(&self) -> DriverResult<RawEvent> {
        self.create_event()
    }

    unsafe fn elapsed(&self, from: RawEvent, to: RawEvent) -> DriverResult<Nanos> {
        let call = "cuEventElapsedTime";
        bodies::refuse_inside(call)?;
        let machine = self.machine();
        let at = |event| {
            let record = machine.latest(call, event)?.ok_or_else(|| fault::invalid_handle(call, "event"))?;
            let outcome = record.outcome.get().filter(|outcome| outcome.at <= machine.now);
            outcome.map(|outcome| outcome.at).ok_or_else(|| fault::not_ready(call))
        };
        Ok(at(to)? - at(from)?)
    }

    unsafe fn destroy_event(&self, event: RawEvent) -> DriverResult<()> {
        let removed = self.machine().events.remove(event.0);
        removed.map(drop).ok_or_else(|| fault::invalid_handle("cuEventDestroy", "event"))
    }

    unsafe fn record(&self, event: RawEvent, stream: RawStream, tag: Tag) -> DriverResult<()> {
        self.machine().record("cuEventRecord", event, stream, tag)
    }

    unsafe fn wait(&self, stream: RawStream, event: RawEvent, tag: Tag) -> DriverResult<()> {
        self.machine().wait("cuStreamWaitEvent", stream, event, tag)
    }

    unsafe fn synchronize_event(&self, event: RawEvent) -> DriverResult<()> {
        let call = "cuEventSynchronize";
        let mut machine = self.machine();
        machine.begin(call, None, 0)?;
        let latest = machine.latest(call, event)?;
        drop(machine);
        latest.map_or(Ok(()), |record| self.wait_for_record(call, &record))
    }

    unsafe fn query_event(&self, event: RawEvent) -> DriverResult<bool> {
        let mut machine = self.machine();
        machine.begin("cuEventQuery", None, 0)?;
        let Some(record) = machine.latest("cuEventQuery", event)? else { return Ok(true) };
        let Some(outcome) = record.outcome.get().filter(|outcome| outcome.at <= machine.now) else {
            return Ok(false);
        };
        machine.host_waited(outcome.at, &record.clock);
        outcome.failure.as_ref().map_or(Ok(true), |failure| failure.pending().map(|()| true))
    }

    unsafe fn redirect(&self, pinned: NonNull<u8>, to: Option<(*mut u8, usize)>) -> bool {
        let to = to.map(|(start, bytes)| (start.expose_provenance(), bytes));
        self.machine().redirect(pinned.addr().get(), to)
    }

    unsafe fn copy_to_device(
        &self,
        to: DevicePtr,
        from: *const u8,
        bytes: usize,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let ends = [(address(to), Place::Device), (from.addr(), Place::Pinned)];
        self.copy("cuMemcpyHtoDAsync", ends, bytes, stream, tag)
    }

    unsafe fn copy_to_host(
        &self,
        to: *mut u8,
        from: DevicePtr,
        bytes: usize,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let ends = [(to.addr(), Place::Pinned), (address(from), Place::Device)];
        self.copy("cuMemcpyDtoHAsync", ends, bytes, stream, tag)
    }

    unsafe fn copy_on_device(
        &self,
        to: DevicePtr,
        from: DevicePtr,
        bytes: usize,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let ends = [(address(to), Place::Device), (address(from), Place::Device)];
        self.copy("cuMemcpyDtoDAsync", ends, bytes, stream, tag)
    }

    unsafe fn copy_rows(&self, rows: &Rows, stream: RawStream, tag: Tag) -> DriverResult<()> {
        let (to, from) = work::ends(rows.between);
        let spans = work::copied_rows(to, from, rows);
        self.enqueue("cuMemcpy2DAsync", stream, tag, &spans, |machine| {
            work::copy_rows(&machine.model, to, from, rows)
        })
    }

    unsafe fn fill(
        &self,
        to: DevicePtr,
        pattern: &[u8],
        count: usize,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let Some(bytes) = pattern.len().checked_mul(count).filter(|&bytes| bytes > 0) else { return Ok(()) };
        let span = work::filled(address(to), bytes);
        self.enqueue("cuMemsetAsync", stream, tag, &[span], |machine| {
            work::fill(&machine.model, address(to), pattern, bytes)
        })
    }

    fn load(&self, kernel: &'static KernelInfo) -> Result<Loaded, Error> {
        bodies::refuse_inside("cuModuleLoadDataEx")?;
        if !kernel.has_host_body {
            return Err(ErrorKind::NoHostBody { kernel: kernel.name }.into());
        }
        self.info.check_kernel(kernel)?;
        let handle = std::ptr::from_ref(kernel).addr() as u64;
        let max_threads = kernel.max_threads_per_block.unwrap_or(1024).min(1024);
        let function = RawFunction {
            cluster: kernel.cluster.map(|blocks| Cluster { blocks, in_source: false }),
            cooperative: kernel.cooperative,
            ..RawFunction::plain(handle, max_threads, 0)
        };
        // Host bodies read the buffers themselves: there are no variables to write.
        let own = (!kernel.symbols.is_empty()).then(|| RawModule { handle, symbols: Vec::new() });
        Ok(Loaded { function, own })
    }

    unsafe fn unload(&self, _module: &RawModule) -> DriverResult<()> {
        Ok(())
    }

    fn largest_cluster(&self, _function: &RawFunction, _launch: Grid) -> DriverResult<u32> {
        Ok(occupancy::largest_cluster(self.info.compute_capability))
    }

    fn resident_blocks(&self, _function: &RawFunction, launch: Grid) -> DriverResult<u64> {
        Ok(occupancy::resident_blocks(&self.info, launch.block_dim, launch.shared))
    }

    unsafe fn launch(&self, launch: RawLaunch<'_>, stream: RawStream, tag: Tag) -> DriverResult<()> {
        let spans = work::accessed(launch.accesses, None);
        // Made before the lock is taken, and dropped after it is released where the launch is refused: both run code
        // that is not this module's.
        let body = (launch.host)();
        // A routine that is simulated has no grid of its own.
        let is_kernel = launch.function.handle != 0;
        let blocks = is_kernel.then(|| volume(launch.grid));
        self.enqueue("cuLaunchKernel", stream, tag, &spans, |machine| {
            let share = machine.model.share(blocks);
            work::kernel(&machine.model, &spans, share, body)
        })
    }

    unsafe fn build_graph(&self, nodes: &Recording) -> DriverResult<RawGraph> {
        let mut machine = self.machine();
        machine.begin("cuGraphInstantiate", None, 0)?;
        // A call for each node, and one to make it executable.
        machine.host += machine.model.host_call * (nodes.len() + 1) as f64;
        let graph = machine.graphs.insert(nodes.len());
        Ok(RawGraph { graph, executable: graph, nodes: Vec::new() })
    }

    unsafe fn update_graph(
        &self,
        graph: &RawGraph,
        nodes: &Recording,
        changed: &[u32],
    ) -> DriverResult<bool> {
        let mut machine = self.machine();
        machine.begin("cuGraphExecUpdate", None, 0)?;
        machine.check_graph("cuGraphExecUpdate", graph, nodes.len())?;
        machine.host += machine.model.graph_update * changed.len() as f64;
        Ok(true)
    }

    unsafe fn launch_graph(
        &self,
        graph: &RawGraph,
        nodes: &Recording,
        bodies: Vec<HostBody>,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let call = "cuGraphLaunch";
        // Before the lock: what is not launched is dropped after it.
        let mut bodies = bodies.into_iter();
        let mut planned = Vec::with_capacity(nodes.len());
        let mut machine = self.machine();
        machine.begin(call, None, 0)?;
        machine.check_graph(call, graph, nodes.len())?;
        for node in nodes.nodes() {
            planned.push(work::planned(&machine.model, nodes, node, &mut bodies)?);
        }
        machine.check_nodes(call, stream, &planned)?;
        let result = machine
            .tamper_with_nodes(&mut planned)
            .and_then(|()| machine.launch_graph(call, stream, tag, &mut planned));
        wait::release(machine);
        result
    }

    unsafe fn destroy_graph(&self, graph: &RawGraph) -> DriverResult<()> {
        let removed = self.machine().graphs.remove(graph.graph);
        removed.map(drop).ok_or_else(|| fault::invalid_handle("cuGraphDestroy", "graph"))
    }

    unsafe fn host(
        &self,
        job: HostJob,
        accesses: &[Access],
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let spans = work::accessed(accesses, Some(Place::Pinned));
        self.enqueue("cuLaunchHostFunc", stream, tag, &spans, |machine| Work {
            engine: Engine::Host,
            latency: machine.model.host_latency,
            bytes: work::traffic(&spans),
            share: 1.0,
            action: Action::Host(job),
            fault: None,
            before: None,
        })
    }

    unsafe fn signal(&self, signal: HostJob, stream: RawStream, tag: Tag) -> DriverResult<()> {
        self.enqueue("cuLaunchHostFunc", stream, tag, &[], |machine| Work {
            engine: Engine::Host,
            latency: machine.model.signal_latency,
            bytes: 0.0,
            share: 1.0,
            action: Action::Host(signal),
            fault: None,
            before: None,
        })
    }

    fn has_panic(&self, tag: Tag) -> bool {
        self.has_function_panic(tag)
    }

    fn clock(&self) -> Duration {
        Duration::from_nanos(self.machine().host.round() as u64)
    }

    fn host_copied(&self, bytes: usize) {
        let mut machine = self.machine();
        machine.host += bytes as f64 / machine.model.host_memcpy;
    }
}

/// Device memory is memory of this process.
fn address(ptr: DevicePtr) -> usize {
    ptr.0 as usize
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sim").field("name", &self.info.name).finish_non_exhaustive()
    }
}
