//! [`Sim`] as a driver.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::device::Sim;
use super::graph::GraphNode;
use super::machine::{Machine, Part};
use super::memory::Place;
use super::work::{Planned, address};
use super::{fault, wait, work};
use crate::base::block::Block;
use crate::base::error::{Detail, Error};
use crate::base::kernel::KernelInfo;
use crate::base::machine::MachineModel;
use crate::base::model::DeviceModel;
use crate::base::threads::Grid;
use crate::driver::collective::{Joining, RawCommunicator};
use crate::driver::command::recording::Recording;
use crate::driver::occupancy;
use crate::driver::{
    Cluster, Command, DevicePtr, Driver, DriverResult, HostBody, Info, IsOver, Link, Loaded, Nanos, Peer,
    RawEvent, RawFunction, RawGraph, RawModule, RawStream, Tag,
};

impl Sim {
    fn allocate_in(&self, call: &'static str, bytes: usize, place: Place) -> DriverResult<NonNull<u8>> {
        let bytes = bytes.max(1);
        let mut machine = self.machine();
        machine.begin(call, self.number, None, bytes)?;
        machine.memory.reserve(call, self.number, bytes, place)?;
        drop(machine);
        // This is not done under the lock, since filling a large block takes a while.
        let block = Block::new(bytes, place.align(), place.fill());
        let mut machine = self.machine();
        let Some(block) = block else {
            machine.memory.unreserve(self.number, bytes, place);
            return Err(fault::out_of_memory(call, bytes, machine.memory.device_free(self.number)));
        };
        let start = block.start();
        machine.memory.insert(self.number, block, bytes, place);
        Ok(start)
    }

    fn free_in(&self, call: &'static str, start: usize, place: Place) -> DriverResult<()> {
        let mut machine = self.machine();
        let Machine { memory, order, parts, .. } = &mut *machine;
        if let Err(lost) = parts[self.number].faults.alive() {
            memory.give_up(start);
            return Err(lost);
        }
        let block = memory.remove(call, self.number, start, place, order)?;
        drop(machine);
        drop(block);
        Ok(())
    }

    /// Another device, if it is one of the same machine.
    fn peer_of<'d>(&self, other: &'d dyn Driver) -> Option<&'d Self> {
        let other = (other as &dyn Any).downcast_ref::<Self>()?;
        Arc::ptr_eq(&self.shared, &other.shared).then_some(other)
    }

    fn enqueue_work(&self, planned: Planned, stream: RawStream, tag: Tag) -> DriverResult<()> {
        let Planned { call, spans, work } = planned;
        let mut machine = self.machine();
        machine.parts[self.number].faults.alive()?;
        machine.check(call, stream, &spans)?;
        let result = machine.enqueue_work(call, stream, tag, &spans, work);
        wait::release(machine);
        result
    }

    fn launch_graph(
        &self,
        graph: &RawGraph,
        nodes: &Recording,
        bodies: Vec<HostBody>,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        let call = "cuGraphLaunch";
        // This is done before the lock is taken, and work that is not launched is dropped after it is
        // released.
        let (mut bodies, mut params) = (bodies.into_iter(), Vec::new());
        let mut planned = Vec::with_capacity(nodes.len());
        let mut machine = self.machine();
        machine.begin(call, self.number, None, 0)?;
        machine.check_graph(call, graph, nodes.len())?;
        for node in nodes.nodes() {
            let work = nodes.command(node, &mut params, |command| match command {
                Some(command) => work::planned(&self.rates, command, graph.of_run, &mut bodies),
                None => Ok(None),
            })?;
            planned.push(GraphNode::new(node.tag, nodes.after(node), work));
        }
        machine.check_nodes(call, stream, &planned)?;
        let result = machine
            .tamper_with_nodes(self.number, &mut planned)
            .and_then(|()| machine.launch_graph(call, stream, tag, &mut planned));
        wait::release(machine);
        result
    }
}

impl Driver for Sim {
    fn info(&self) -> &Info {
        &self.info
    }

    fn model(&self) -> Option<&DeviceModel> {
        Some(&self.model)
    }

    fn machine(&self) -> Option<(&MachineModel, usize)> {
        Some((&self.machine_model, self.number))
    }

    fn is_peer_of(&self, other: &dyn Driver) -> bool {
        self.peer_of(other).is_some()
    }

    fn peer(&self) -> Peer {
        Peer(self.number as u64)
    }

    fn connect(&self, peer: &dyn Driver) -> DriverResult<Link> {
        let linked = |peer: &Self| self.machine().shares.are_linked([self.number, peer.number]);
        Ok(if self.peer_of(peer).is_some_and(linked) { Link::Direct } else { Link::OverHost })
    }

    fn may_wait(&self) -> DriverResult<()> {
        fault::refuse_inside("cuStreamSynchronize")
    }

    fn free_memory(&self) -> DriverResult<u64> {
        fault::refuse_inside("cuMemGetInfo")?;
        Ok(self.machine().memory.device_free(self.number))
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
        machine.begin(call, self.number, None, bytes)?;
        machine.memory.reserve(call, self.number, bytes, Place::Pinned)?;
        // SAFETY: the memory stays until it is unregistered, by the caller's promise.
        let block = unsafe { Block::of_another(ptr) };
        machine.memory.insert(self.number, block, bytes, Place::Pinned);
        Ok(())
    }

    unsafe fn unregister(&self, ptr: NonNull<u8>) -> DriverResult<()> {
        self.free_in("cuMemHostUnregister", ptr.addr().get(), Place::Pinned)
    }

    unsafe fn adopt(&self, ptr: NonNull<u8>, bytes: usize) -> DriverResult<()> {
        let mut machine = self.machine();
        machine.parts[self.number].faults.alive()?;
        // SAFETY: the memory stays until it is disowned, by the caller's promise.
        let block = unsafe { Block::of_another(ptr) };
        machine.memory.adopt(self.number, block, bytes);
        Ok(())
    }

    fn disown(&self, ptr: NonNull<u8>) -> DriverResult<()> {
        let mut machine = self.machine();
        let Machine { memory, order, .. } = &mut *machine;
        memory.disown("cuMemFreeHost", self.number, ptr.addr().get(), order)
    }

    unsafe fn free_pinned(&self, ptr: NonNull<u8>, _bytes: usize) -> DriverResult<()> {
        self.free_in("cuMemFreeHost", ptr.addr().get(), Place::Pinned)
    }

    fn create_stream(&self, priority: i32) -> DriverResult<RawStream> {
        let (least, greatest) = self.info.priorities;
        let priority = priority.min(least).max(greatest);
        let mut machine = self.machine();
        machine.begin("cuStreamCreateWithPriority", self.number, None, 0)?;
        Ok(machine.create_stream(self.number, priority))
    }

    fn create_blocking_stream(&self, priority: i32) -> DriverResult<RawStream> {
        let stream = self.create_stream(priority)?;
        self.machine().block(self.number, stream);
        Ok(stream)
    }

    fn per_thread_stream(&self) -> DriverResult<RawStream> {
        Ok(self.machine().per_thread_stream(self.number, thread::current().id()))
    }

    fn null_stream(&self) -> DriverResult<RawStream> {
        Ok(self.machine().null_stream(self.number))
    }

    fn synchronize_device(&self) -> DriverResult<()> {
        self.wait_for_all()
    }

    unsafe fn query_stream(&self, stream: RawStream) -> DriverResult<bool> {
        let call = "cuStreamQuery";
        let mut machine = self.machine();
        machine.begin(call, self.number, None, 0)?;
        let state = machine.stream(call, stream)?;
        if state.completed < state.enqueued {
            return Ok(false);
        }
        let (at, lane) = (state.completed_at, state.lane);
        let clock = machine.order.record(lane);
        machine.host_waited(self.number, at, &clock);
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
        machine.begin("cuEventCreate", self.number, None, 0)?;
        Ok(RawEvent(machine.events.insert(None)))
    }

    fn create_timing_event(&self) -> DriverResult<RawEvent> {
        self.create_event()
    }

    unsafe fn elapsed(&self, from: RawEvent, to: RawEvent) -> DriverResult<Nanos> {
        let call = "cuEventElapsedTime";
        fault::refuse_inside(call)?;
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

    unsafe fn synchronize_event(&self, event: RawEvent) -> DriverResult<()> {
        let call = "cuEventSynchronize";
        let mut machine = self.machine();
        machine.begin(call, self.number, None, 0)?;
        let latest = machine.latest(call, event)?;
        drop(machine);
        latest.map_or(Ok(()), |record| self.wait_for_record(call, &record))
    }

    unsafe fn query_event(&self, event: RawEvent) -> DriverResult<bool> {
        let mut machine = self.machine();
        machine.begin("cuEventQuery", self.number, None, 0)?;
        let Some(record) = machine.latest("cuEventQuery", event)? else { return Ok(true) };
        let Some(outcome) = record.outcome.get().filter(|outcome| outcome.at <= machine.now) else {
            return Ok(false);
        };
        machine.host_waited(self.number, outcome.at, &record.clock);
        outcome.failure.as_ref().map_or(Ok(true), |failure| failure.pending().map(|()| true))
    }

    unsafe fn redirect(&self, pinned: NonNull<u8>, to: Option<(*mut u8, usize)>) -> bool {
        let to = to.map(|(start, bytes)| (start.expose_provenance(), bytes));
        self.machine().redirect(pinned.addr().get(), to)
    }

    unsafe fn enqueue(&self, command: Command<'_>, stream: RawStream, tag: Tag) -> DriverResult<()> {
        let call = command.call();
        match command {
            Command::Record(event) => self.machine().record(call, event, stream, tag),
            Command::Wait(event) => self.machine().wait(call, stream, event, tag),
            Command::Graph { graph, nodes, bodies } => self.launch_graph(graph, nodes, bodies, stream, tag),
            Command::Collective(collective) => {
                let outside = self.machine().outside(collective.communicator);
                self.enqueue_work(work::collective(&self.rates, collective, outside), stream, tag)
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
                match work::planned(&self.rates, command, false, &mut std::iter::empty())? {
                    Some(planned) => self.enqueue_work(planned, stream, tag),
                    None => Ok(()),
                }
            }
        }
    }

    fn join(&self, world: &Joining) -> Result<RawCommunicator, Error> {
        let mut machine = self.machine();
        machine.begin("join", self.number, None, 0)?;
        if world.meets {
            return Ok(machine.join(world.number, [world.rank, world.size], self.number));
        }
        Ok(machine.join_outside(world))
    }

    unsafe fn leave(&self, communicator: RawCommunicator) {
        self.machine().leave(communicator, self.number);
    }

    fn abort(&self, number: u64, why: &str) {
        // The machine itself is asked, since a lost device may have others that wait.
        let mut machine = self.shared.lock();
        machine.abort(number, why);
        wait::release(machine);
        self.shared.changed.notify_all();
    }

    fn meeting_place(&self) -> Option<(usize, usize)> {
        Some((Arc::as_ptr(&self.shared).addr(), self.number))
    }

    fn load(&self, kernel: &'static KernelInfo) -> Result<Loaded, Error> {
        fault::refuse_inside("cuModuleLoadDataEx")?;
        if !kernel.has_host_body {
            return Err(Detail::NoHostBody { kernel: kernel.name, device: "simulated device" }.into());
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
        Ok(occupancy::resident_blocks(&self.info, launch.block_dim, launch.shared))
    }

    unsafe fn build_graph(&self, nodes: &Recording, of_run: bool) -> DriverResult<RawGraph> {
        let mut machine = self.machine();
        machine.begin("cuGraphInstantiate", self.number, None, 0)?;
        // One call for each node, and one to make the graph executable.
        let Part { host, model, .. } = &mut machine.parts[self.number];
        *host += model.host_call * (nodes.len() + 1) as f64;
        let graph = machine.graphs.insert(nodes.len());
        Ok(RawGraph { graph, executable: graph, nodes: Vec::new(), of_run })
    }

    unsafe fn update_graph(
        &self,
        graph: &RawGraph,
        nodes: &Recording,
        changed: &[u32],
    ) -> DriverResult<bool> {
        let mut machine = self.machine();
        machine.begin("cuGraphExecUpdate", self.number, None, 0)?;
        machine.check_graph("cuGraphExecUpdate", graph, nodes.len())?;
        let Part { host, model, .. } = &mut machine.parts[self.number];
        *host += model.graph_update * changed.len() as f64;
        Ok(true)
    }

    unsafe fn destroy_graph(&self, graph: &RawGraph) -> DriverResult<()> {
        let removed = self.machine().graphs.remove(graph.graph);
        removed.map(drop).ok_or_else(|| fault::invalid_handle("cuGraphDestroy", "graph"))
    }

    fn has_panic(&self, tag: Tag) -> bool {
        self.has_function_panic(tag)
    }

    fn clock(&self) -> Duration {
        Duration::from_nanos(self.machine().parts[self.number].host.round() as u64)
    }

    fn host_copied(&self, bytes: usize) {
        let mut machine = self.machine();
        let Part { host, model, .. } = &mut machine.parts[self.number];
        *host += bytes as f64 / model.host_memcpy;
    }

    fn not_before(&self, time: Duration) {
        let host = &mut self.machine().parts[self.number].host;
        *host = host.max(time.as_secs_f64() * 1e9);
    }

    fn expect_thread(&self) -> u64 {
        self.machine().turns.expect(self.number)
    }

    fn begin_thread(&self, ticket: u64) {
        self.begin_turns(ticket);
    }

    fn end_thread(&self, ticket: u64) {
        self.end_turns(ticket);
    }

    fn step_aside(&self, is_over: IsOver) -> Option<u64> {
        self.leave_turns(is_over)
    }

    fn come_back(&self, ticket: u64) {
        self.resume_turns(ticket);
    }
}
