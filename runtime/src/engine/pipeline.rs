//! [`Pipeline`]: the device resources of a pipeline, kept from run to run.

use std::panic::Location;
use std::sync::{Mutex, PoisonError};

use crate::base::error::{Detail, DriverError, Error, Place, Result, Site};
use crate::base::in_rust::KernelFault;
use crate::base::plan::{HostPlan, OperationKind, Plan, auto_depth};
use crate::base::progress::Listener;
use crate::base::report::Report;
use crate::device::Device;
use crate::device::faults::Faults;
use crate::device::function::Function;
use crate::device::launch::Kernel;
use crate::device::stream::Stream;
use crate::engine::arguments::Arena;
use crate::engine::arguments::shared::Shared;
use crate::engine::chunks::DEPTH_LIMIT;
use crate::engine::chunks::costs::{HARDWARE_QUEUES, Spread, kernels_bind};
use crate::engine::launched::Launched;
use crate::engine::options::Settings;
use crate::engine::pace::Pace;
use crate::engine::place::{place_of, place_of_buffer, place_of_pipeline};
use crate::engine::ranks::Ranks;
use crate::engine::staging::Staging;
use crate::engine::staging::ring::Ring;
use crate::engine::staging::transfer::Transfer;
use crate::engine::state::States;
use crate::engine::streams::Streams;
use crate::engine::symbols::Symbols;
use crate::engine::targets::graph::cached::Graphs;
use crate::engine::targets::measured::MeasuredCost;
use crate::engine::targets::timed::Clockwork;
use crate::engine::totals::Totals;

/// Items in a chunk.
#[derive(Debug, Clone, Copy)]
pub enum ChunkSize {
    /// Chosen by the runtime from the size of an item.
    Auto,
    /// Given by the declaration or the options.
    Items(usize),
}

/// The device resources of one pipeline, kept from run to run.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) device: Device,
    /// The device's number among those that share the pipeline's runs.
    pub(crate) number: usize,
    pub(crate) plan: &'static Plan,
    /// The plan's number.
    pub(crate) id: u32,
    pub(crate) depth: usize,
    /// If the runtime chooses the depth: the depth for a run that stages nothing and whose budget allows it.
    pub(crate) auto_depth: Option<usize>,
    pub(crate) spread: Spread,
    /// Declared before the streams, because routines' values may refer to them. No threads share the lock: it
    /// makes this `Sync`.
    pub(crate) states: Mutex<States>,
    /// Overrides the declaration.
    pub(crate) chunk: Option<usize>,
    pub(crate) streams: Streams,
    pub(crate) pace: Pace,
    pub(crate) ring: Ring,
    pub(crate) staging: Staging,
    pub(crate) arena: Arena,
    pub(crate) poisoned: bool,
    /// Bytes of device memory that the ring may take.
    pub(crate) budget: Option<usize>,
    /// Bytes of the largest slot for which an `auto` chunk has found room, once a larger one has failed.
    pub(crate) slot_limit: usize,
    /// Whether the options choose between graphs and streams.
    pub(crate) mode_chosen: bool,
    /// Present if runs launch graphs. A run takes them until everything is enqueued.
    pub(crate) graphs: Option<Box<Graphs>>,
    /// Declared after the graphs, which refer to the modules' kernels.
    pub(crate) symbols: Symbols,
    /// The kernels in Rust that report faults, with the operations that launch them. No threads share the
    /// lock, as with the states.
    pub(crate) faults: Mutex<Vec<(usize, Faults)>>,
    /// The launches of the last run that was enqueued, as far as the host can run them again. No threads share
    /// the lock.
    pub(crate) launched: Mutex<Launched>,
    /// Takes the timestamps of profiles.
    pub(crate) clockwork: Clockwork,
    /// The costs that the last profile has measured for each operation. Empty without a profile.
    pub(crate) measured: Vec<Option<MeasuredCost>>,
    /// The share of a profiled run's time that may be spent on timestamps, if it was set.
    pub(crate) profile_share: Option<f64>,
    /// The listener to the progress of runs.
    pub(crate) listener: Option<Listener>,
    /// The part in a world, if the pipeline has joined one.
    pub(crate) ranks: Option<Ranks>,
    /// The line that called the last run.
    pub(crate) called: Option<&'static Location<'static>>,
}

impl Pipeline {
    /// Creates the streams and events. `depth` is the declared one.
    ///
    /// # Errors
    /// The depth is 0 or more than 1,024; the driver refuses.
    pub(crate) fn new(options: Settings<'_>, plan: &'static Plan, depth: usize) -> Result<Self> {
        Self::with_resources(options, plan, Some(depth)).map_err(|error| error.at(place_of_pipeline(plan)))
    }

    /// Like [`new`](Self::new), for a pipeline whose declaration leaves the depth to each run.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), for the options' depth.
    pub(crate) fn with_auto_depth(options: Settings<'_>, plan: &'static Plan) -> Result<Self> {
        Self::with_resources(options, plan, None).map_err(|error| error.at(place_of_pipeline(plan)))
    }

    fn with_resources(options: Settings<'_>, plan: &'static Plan, declared: Option<usize>) -> Result<Self> {
        let device = options.device();
        let Settings { chunk, depth: chosen, budget: chosen_budget, graph, profile_share, reporting, .. } =
            options;
        let given = chosen.or(declared);
        let depth = given.unwrap_or_else(|| auto_depth(plan));
        if depth == 0 {
            return Err(Detail::DepthZero.into());
        }
        if depth > DEPTH_LIMIT {
            return Err(Detail::DepthTooLarge { depth, limit: DEPTH_LIMIT }.into());
        }
        if chunk == Some(0) {
            return Err(Detail::ChunkZero.into());
        }
        let pipeline = Self {
            device: device.clone(),
            number: 0,
            plan,
            id: plan.id(),
            depth,
            auto_depth: given.is_none().then_some(depth),
            spread: Spread::default(),
            states: Mutex::new(States::new(device)),
            chunk,
            streams: Streams::new(device, plan, depth)?,
            pace: Pace::default(),
            ring: Ring::default(),
            staging: Staging::default(),
            arena: Arena::default(),
            poisoned: false,
            budget: chosen_budget,
            slot_limit: usize::MAX,
            mode_chosen: graph.is_some(),
            graphs: None,
            symbols: Symbols::default(),
            faults: Mutex::default(),
            launched: Mutex::default(),
            clockwork: Clockwork::default(),
            profile_share,
            measured: Vec::new(),
            listener: reporting.listener(),
            ranks: None,
            called: None,
        };
        Ok(if graph == Some(true) { pipeline.with_graphs() } else { pipeline })
    }

    fn with_graphs(mut self) -> Self {
        let is_copy = |kind: &OperationKind| {
            matches!(kind, OperationKind::Upload { .. } | OperationKind::Download { .. })
        };
        if self.plan.operations.iter().any(|operation| is_copy(&operation.kind)) {
            self.device.driver().prepare_small_copies();
        }
        self.graphs.get_or_insert_default();
        self
    }

    /// Lets the ring take no more than this many bytes of device memory, unless the options say otherwise.
    #[must_use]
    pub(crate) fn with_budget(mut self, bytes: usize) -> Self {
        self.budget.get_or_insert(bytes);
        self
    }

    /// Lets runs launch graphs in place of single operations, unless the options say otherwise.
    #[must_use]
    pub(crate) fn with_graph(self) -> Self {
        if self.mode_chosen { self } else { self.with_graphs() }
    }

    /// Loads the kernel that an operation launches.
    ///
    /// # Errors
    /// Its source does not compile or has no such kernel; the device cannot run it.
    pub(crate) fn load<K: Kernel>(&self, operation: usize) -> Result<K> {
        let function = Function::load(&self.device, K::INFO)
            .map_err(|error| error.at(place_of(self.plan, operation, None)))?;
        if let Some(faults) = function.faults() {
            self.faults.lock().unwrap_or_else(PoisonError::into_inner).push((operation, faults));
        }
        // SAFETY: loaded from the kernel's own `INFO`.
        Ok(unsafe { K::from_function(function) })
    }

    /// An error of this device, for a run that has several.
    pub(crate) fn named(&self, error: Error) -> Error {
        error.on_device(self.number, self.device.label())
    }

    /// Where the pipeline as a whole is declared.
    pub(crate) fn place(&self) -> Place {
        Place { run: self.called.map(Site::from), ..place_of_pipeline(self.plan) }
    }

    /// Where a host argument is declared.
    pub(crate) fn place_of_host(&self, host: usize) -> Place {
        let HostPlan { line, column, .. } = self.plan.hosts[host];
        Place { site: Some(Site { file: self.plan.file, line, column }), ..self.place() }
    }

    /// Where a buffer is declared.
    pub(crate) fn place_of_buffer(&self, buffer: usize) -> Place {
        Place { run: self.called.map(Site::from), ..place_of_buffer(self.plan, buffer) }
    }

    /// Waits for every stream that may be in use, whatever happens meanwhile. `graphs_only`: only graphs were
    /// enqueued.
    pub(crate) fn drain(&mut self, graphs_only: bool) -> Drained {
        let mut error = None;
        // Synchronising even an idle stream costs a microsecond.
        let direct = if graphs_only { 0 } else { self.streams.used(self.plan, self.depth, self.spreads()) };
        let used =
            || self.streams.all()[..direct].iter().chain(self.graph_streams()).chain(self.symbols.streams());
        // With several streams nothing is gained: the work of the others was enqueued before the last
        // stream's.
        let alone = used().nth(1).is_none();
        // Looking for its end may allocate memory, and the allocation might wait for a stream that waits for
        // the host.
        let soon = alone && !self.plan.operations.iter().any(|operation| operation.kind.is_direct());
        for stream in used() {
            let outcome = if soon { stream.synchronize_soon() } else { stream.synchronize() };
            if let Err(failed) = outcome {
                error.get_or_insert(failed);
            }
        }
        let Some(error) = error else { return self.fault().map_or(Drained::Clean, Drained::Faulted) };
        // A device that still answers does so now, since every stream was waited for; one that has failed for
        // good repeats its error, and then nothing is known of its copies.
        let mut all = self.streams.all().iter().chain(self.graph_streams()).chain(self.symbols.streams());
        let quiet = all.all(|stream| stream.synchronize().is_ok());
        if quiet { Drained::Failed(error) } else { Drained::Lost(error) }
    }

    /// The fault of a kernel in Rust. All words are read, so that none is left for the next run.
    fn fault(&mut self) -> Option<Box<Fault>> {
        let faults = self.faults.get_mut().unwrap_or_else(PoisonError::into_inner);
        let found = faults.iter().filter_map(|(operation, faults)| {
            let fault = faults.take()?;
            let (operation, kernel, replays) = (*operation, faults.kernel, faults.replays);
            Some(Box::new(Fault { operation, kernel, replays, chunk: None, fault }))
        });
        found.reduce(|first, _| first)
    }

    /// The streams that graphs are launched on.
    pub(crate) fn graph_streams(&self) -> impl Iterator<Item = &Stream> {
        self.graphs.iter().flat_map(|graphs| graphs.streams())
    }

    /// Copies carried data back to the caller. The device has completed everything.
    pub(crate) fn give_back(&mut self, shared: &mut [Shared<'_>], totals: &mut Totals) -> Drained {
        let Some(stream) = self.streams.all().first() else { return Drained::Clean };
        let transfer = Transfer { device: &self.device, stream, ring: &self.ring };
        match transfer.end(shared) {
            Ok(moved) => {
                totals.to_host += moved.bytes;
                totals.staged += moved.staged;
                Drained::Clean
            }
            Err(error) => match self.drain(false) {
                Drained::Lost(_) => Drained::Lost(error),
                _ => Drained::Failed(error),
            },
        }
    }

    /// Chooses for the next run according to this one, if there is a choice and the device's calibration is
    /// known already: measuring it now would be a surprise.
    pub(crate) fn learn(&mut self, report: &Report) {
        // Where the host waits for each operation, a run does not show what operations wait for.
        if !report.graph
            && !self.device.driver().is_synchronous()
            && self.plan.streams.iter().any(|stream| stream.placed)
            && let Some(spec) = self.device.known_model().get()
            && let Some(binds) = kernels_bind(self.plan, spec, report)
        {
            self.spread.learn(binds);
        }
    }

    /// Whether stages whose streams a run chooses have one for each slot.
    pub(crate) fn spreads(&self) -> bool {
        // A run with more slots may have more of them.
        self.spread.now() && self.streams.used(self.plan, self.depth, true) <= HARDWARE_QUEUES
    }

    /// The launches that the host can run again.
    pub(crate) fn launched(&mut self) -> &mut Launched {
        self.launched.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The values that routines keep.
    pub(crate) fn states(&mut self) -> &mut States {
        self.states.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves everything that the device may still access to it, for good.
    pub(crate) fn poison(&mut self) {
        self.poisoned = true;
        std::mem::take(&mut self.ring).leak();
        self.graphs.take().into_iter().for_each(|graphs| graphs.leak());
        std::mem::take(self.states()).leak();
        std::mem::take(&mut self.symbols).leak();
        self.staging.poison();
    }
}

/// The fault of a kernel in Rust.
pub(crate) struct Fault {
    /// Index into the plan's operations.
    pub(crate) operation: usize,
    pub(crate) kernel: &'static str,
    /// Whether a launch fails again in the same way on what it has read.
    pub(crate) replays: bool,
    /// The chunk, if it is known.
    pub(crate) chunk: Option<u64>,
    pub(crate) fault: KernelFault,
}

/// The outcome of waiting for the device at the end of a run.
pub(crate) enum Drained {
    /// All work is complete.
    Clean,
    /// All work is complete, but threads of a kernel have left theirs out.
    Faulted(Box<Fault>),
    /// Some of it failed; none is in flight any more.
    Failed(Box<DriverError>),
    /// The device does not answer: copies may be in flight.
    Lost(Box<DriverError>),
}
