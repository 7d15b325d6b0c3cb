//! [`Faulty`]: the simulated device with one failing call.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::backends::sim::{Sim, Simulation};
use crate::base::error::{DriverError, Error};
use crate::base::kernel::KernelInfo;
use crate::base::model::DeviceModel;
use crate::base::threads::Grid;
use crate::driver::command::recording::Recording;
use crate::driver::{
    Command, DevicePtr, Driver, DriverResult, Info, Loaded, Nanos, RawEvent, RawFunction, RawGraph,
    RawModule, RawStream, RawSymbol, Tag,
};

/// The bytes of each variable of a module.
pub(super) const SYMBOL_BYTES: usize = 64;

/// The driver's functions that may fail, except for those that free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Call {
    Allocate,
    AllocatePinned,
    CreateStream,
    CreateEvent,
    Load,
    CopyToDevice,
    CopyToHost,
    CopyOnDevice,
    Fill,
    Launch,
    Host,
    Signal,
    Record,
    Wait,
    SynchronizeEvent,
    QueryEvent,
    SynchronizeStream,
    BuildGraph,
    UpdateGraph,
    LaunchGraph,
}

impl Call {
    /// The call of a command; `None` if no test lets it fail.
    fn of(command: &Command<'_>) -> Option<Self> {
        Some(match command {
            Command::CopyToDevice { .. } => Self::CopyToDevice,
            Command::CopyToHost { .. } => Self::CopyToHost,
            Command::CopyOnDevice { .. } => Self::CopyOnDevice,
            Command::CopyBetween { .. } | Command::CopyRows(_) | Command::Collective(_) => return None,
            Command::Fill { .. } => Self::Fill,
            Command::Launch(_) => Self::Launch,
            Command::Host { .. } => Self::Host,
            Command::Signal(_) => Self::Signal,
            Command::Record(_) => Self::Record,
            Command::Wait(_) => Self::Wait,
            Command::Graph { .. } => Self::LaunchGraph,
        })
    }

    /// The calls that the tests' pipelines make.
    pub(super) const ALL: [Self; 18] = [
        Self::Allocate,
        Self::AllocatePinned,
        Self::CreateStream,
        Self::CreateEvent,
        Self::Load,
        Self::CopyToDevice,
        Self::CopyToHost,
        Self::CopyOnDevice,
        Self::Fill,
        Self::Launch,
        Self::Record,
        Self::Wait,
        Self::SynchronizeEvent,
        Self::QueryEvent,
        Self::SynchronizeStream,
        Self::BuildGraph,
        Self::UpdateGraph,
        Self::LaunchGraph,
    ];
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing is done.
    Refused,
    /// The work is done all the same.
    Done,
    /// Nothing is done, and the device cannot be waited for from then on.
    Lost,
}

/// The call that fails.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub call: Call,
    /// The index of the failing call among the calls of its kind, from 0.
    pub nth: usize,
    pub mode: Mode,
    /// CUDA's number of the error.
    pub code: u32,
}

/// The simulated device with one failing call.
#[derive(Debug)]
pub(super) struct Faulty {
    sim: Sim,
    fault: Fault,
    /// Whether the host polls it, as it does a GPU.
    polls: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    calls: BTreeMap<Call, usize>,
    /// Present once the call has failed: the operation and chunk of the call.
    pub failed: Option<Option<Tag>>,
    lost: bool,
    /// Addresses in use.
    pub device: Vec<u64>,
    /// Addresses in use.
    pub pinned: Vec<usize>,
    streams: Vec<u64>,
    events: Vec<u64>,
    graphs: Vec<u64>,
    /// Addresses of modules' variables.
    pub variables: Vec<u64>,
    /// The errors for memory that the simulated device has refused to free, because it was in use or freed
    /// before.
    pub refused: Vec<DriverError>,
}

impl State {
    /// The number of these calls so far.
    pub(super) fn count(&self, call: Call) -> usize {
        self.calls.get(&call).copied().unwrap_or(0)
    }

    /// The number of all things that are not freed or destroyed.
    pub(super) fn live(&self) -> usize {
        self.device.len()
            + self.pinned.len()
            + self.streams.len()
            + self.events.len()
            + self.graphs.len()
            + self.variables.len()
    }
}

impl Faulty {
    pub(super) fn new(fault: Fault) -> Self {
        Self { sim: Sim::new(Simulation::default()), fault, polls: false, state: Mutex::default() }
    }

    /// Sets whether the host polls it.
    pub(super) fn polled(self, polls: bool) -> Self {
        Self { polls, ..self }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn error(&self) -> Box<DriverError> {
        DriverError::new("faulty", self.fault.code, "FAULT", "the test wants it")
    }

    /// Counts a call, and makes it fail if it is the chosen one.
    fn call<T>(
        &self,
        call: Call,
        tag: Option<Tag>,
        work: impl FnOnce() -> DriverResult<T>,
        undo: impl FnOnce(T),
    ) -> DriverResult<T> {
        let mut state = self.state();
        let count = state.calls.entry(call).or_default();
        *count += 1;
        let synchronizes =
            matches!(call, Call::SynchronizeEvent | Call::QueryEvent | Call::SynchronizeStream);
        if call == self.fault.call && *count == self.fault.nth + 1 {
            state.failed = Some(tag);
            state.lost = self.fault.mode == Mode::Lost;
        } else if !(state.lost && synchronizes) {
            drop(state);
            return work();
        }
        drop(state);
        if self.fault.mode == Mode::Done {
            undo(work()?);
        }
        Err(self.error())
    }

    fn free_in<T: PartialEq>(
        &self,
        live: impl FnOnce(&mut State) -> &mut Vec<T>,
        what: T,
        free: impl FnOnce() -> DriverResult<()>,
    ) -> DriverResult<()> {
        let result = free();
        let mut state = self.state();
        match &result {
            Ok(()) => live(&mut state).retain(|live| *live != what),
            Err(error) => state.refused.push((**error).clone()),
        }
        result
    }
}

// SAFETY of the blocks: the caller's promise holds for the simulated device as for this one.
#[allow(clippy::undocumented_unsafe_blocks, reason = "see above")]
impl Driver for Faulty {
    fn info(&self) -> &Info {
        self.sim.info()
    }

    fn create_blocking_stream(&self, priority: i32) -> DriverResult<RawStream> {
        self.sim.create_blocking_stream(priority)
    }

    fn per_thread_stream(&self) -> DriverResult<RawStream> {
        self.sim.per_thread_stream()
    }

    fn synchronize_device(&self) -> DriverResult<()> {
        self.sim.synchronize_device()
    }

    unsafe fn query_stream(&self, stream: RawStream) -> DriverResult<bool> {
        unsafe { self.sim.query_stream(stream) }
    }

    fn allocate_write_combined(&self, bytes: usize) -> DriverResult<NonNull<u8>> {
        self.sim.allocate_write_combined(bytes)
    }

    unsafe fn register(&self, ptr: NonNull<u8>, bytes: usize) -> DriverResult<()> {
        unsafe { self.sim.register(ptr, bytes) }
    }

    unsafe fn unregister(&self, ptr: NonNull<u8>) -> DriverResult<()> {
        unsafe { self.sim.unregister(ptr) }
    }

    fn free_memory(&self) -> DriverResult<u64> {
        self.sim.free_memory()
    }

    fn allocate(&self, bytes: usize) -> DriverResult<DevicePtr> {
        let undo = |ptr| unsafe { self.sim.free(ptr) }.unwrap();
        let ptr = self.call(Call::Allocate, None, || self.sim.allocate(bytes), undo)?;
        self.state().device.push(ptr.0);
        Ok(ptr)
    }

    unsafe fn free(&self, ptr: DevicePtr) -> DriverResult<()> {
        self.free_in(|state| &mut state.device, ptr.0, || unsafe { self.sim.free(ptr) })
    }

    fn allocate_pinned(&self, bytes: usize) -> DriverResult<NonNull<u8>> {
        let undo = |ptr| unsafe { self.sim.free_pinned(ptr, bytes) }.unwrap();
        let ptr = self.call(Call::AllocatePinned, None, || self.sim.allocate_pinned(bytes), undo)?;
        self.state().pinned.push(ptr.addr().get());
        Ok(ptr)
    }

    unsafe fn free_pinned(&self, ptr: NonNull<u8>, bytes: usize) -> DriverResult<()> {
        let address = ptr.addr().get();
        self.free_in(|state| &mut state.pinned, address, || unsafe { self.sim.free_pinned(ptr, bytes) })
    }

    fn create_stream(&self, priority: i32) -> DriverResult<RawStream> {
        let undo = |stream| unsafe { self.sim.destroy_stream(stream) }.unwrap();
        let stream = self.call(Call::CreateStream, None, || self.sim.create_stream(priority), undo)?;
        self.state().streams.push(stream.0);
        Ok(stream)
    }

    fn null_stream(&self) -> DriverResult<RawStream> {
        self.sim.null_stream()
    }

    unsafe fn destroy_stream(&self, stream: RawStream) -> DriverResult<()> {
        self.free_in(|state| &mut state.streams, stream.0, || unsafe { self.sim.destroy_stream(stream) })
    }

    unsafe fn synchronize_stream(&self, stream: RawStream) -> DriverResult<()> {
        let work = || unsafe { self.sim.synchronize_stream(stream) };
        self.call(Call::SynchronizeStream, None, work, |()| {})
    }

    fn create_event(&self) -> DriverResult<RawEvent> {
        let undo = |event| unsafe { self.sim.destroy_event(event) }.unwrap();
        let event = self.call(Call::CreateEvent, None, || self.sim.create_event(), undo)?;
        self.state().events.push(event.0);
        Ok(event)
    }

    fn create_timing_event(&self) -> DriverResult<RawEvent> {
        self.create_event()
    }

    unsafe fn elapsed(&self, from: RawEvent, to: RawEvent) -> DriverResult<Nanos> {
        unsafe { self.sim.elapsed(from, to) }
    }

    unsafe fn destroy_event(&self, event: RawEvent) -> DriverResult<()> {
        self.free_in(|state| &mut state.events, event.0, || unsafe { self.sim.destroy_event(event) })
    }

    unsafe fn enqueue(&self, command: Command<'_>, stream: RawStream, tag: Tag) -> DriverResult<()> {
        let call = Call::of(&command);
        // A graph's launch belongs to no operation.
        let its = Some(tag).filter(|_| call != Some(Call::LaunchGraph));
        let work = || unsafe { self.sim.enqueue(command, stream, tag) };
        match call {
            Some(call) => self.call(call, its, work, |()| {}),
            None => work(),
        }
    }

    unsafe fn synchronize_event(&self, event: RawEvent) -> DriverResult<()> {
        let work = || unsafe { self.sim.synchronize_event(event) };
        self.call(Call::SynchronizeEvent, None, work, |()| {})
    }

    unsafe fn query_event(&self, event: RawEvent) -> DriverResult<bool> {
        // Like a fast device, it is complete whenever it is asked.
        let work = || unsafe { self.sim.synchronize_event(event) };
        self.call(Call::QueryEvent, None, work, |()| {}).map(|()| true)
    }

    fn polls(&self) -> bool {
        self.polls
    }

    /// Unlike the simulated device, this one has variables, so that they are written.
    fn load(&self, kernel: &'static KernelInfo) -> Result<Loaded, Error> {
        self.call(Call::Load, None, || Ok(()), |()| {})?;
        let mut loaded = self.sim.load(kernel)?;
        if let Some(own) = &mut loaded.own {
            for _ in kernel.symbols {
                let ptr = self.sim.allocate(SYMBOL_BYTES)?;
                own.symbols.push(RawSymbol { ptr, bytes: SYMBOL_BYTES });
                self.state().variables.push(ptr.0);
            }
        }
        Ok(loaded)
    }

    unsafe fn unload(&self, module: &RawModule) -> DriverResult<()> {
        module.symbols.iter().try_for_each(|symbol| {
            let free = || unsafe { self.sim.free(symbol.ptr) };
            self.free_in(|state| &mut state.variables, symbol.ptr.0, free)
        })
    }

    fn largest_cluster(&self, function: &RawFunction, launch: Grid) -> DriverResult<u32> {
        self.sim.largest_cluster(function, launch)
    }

    fn resident_blocks(&self, function: &RawFunction, launch: Grid) -> DriverResult<u64> {
        self.sim.resident_blocks(function, launch)
    }

    unsafe fn build_graph(&self, nodes: &Recording, of_run: bool) -> DriverResult<RawGraph> {
        let undo = |graph| unsafe { self.sim.destroy_graph(&graph) }.unwrap();
        let graph =
            self.call(Call::BuildGraph, None, || unsafe { self.sim.build_graph(nodes, of_run) }, undo)?;
        self.state().graphs.push(graph.graph);
        Ok(graph)
    }

    unsafe fn update_graph(
        &self,
        graph: &RawGraph,
        nodes: &Recording,
        changed: &[u32],
    ) -> DriverResult<bool> {
        let work = || unsafe { self.sim.update_graph(graph, nodes, changed) };
        self.call(Call::UpdateGraph, None, work, |_| {})
    }

    unsafe fn destroy_graph(&self, graph: &RawGraph) -> DriverResult<()> {
        self.free_in(|state| &mut state.graphs, graph.graph, || unsafe { self.sim.destroy_graph(graph) })
    }

    fn clock(&self) -> Duration {
        self.sim.clock()
    }

    fn model(&self) -> Option<&DeviceModel> {
        self.sim.model()
    }

    fn host_copied(&self, bytes: usize) {
        self.sim.host_copied(bytes);
    }
}
