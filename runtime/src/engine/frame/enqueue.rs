//! Enqueues a run's chunks: takes state from the pipeline for it, and gives it back.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::base::error::Result;
use crate::base::plan::{OperationKind, OperationPlan, Plan};
use crate::device::Device;
use crate::engine::Pipeline;
use crate::engine::arguments::{Arguments, HostMemory};
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::chunks::dealer::Share;
use crate::engine::chunks::log::ChunkLog;
use crate::engine::explain::explain;
use crate::engine::feeds::exchange::Exchange;
use crate::engine::frame::ending::end_of;
use crate::engine::purpose::Purpose;
use crate::engine::run::Run;
use crate::engine::run::chunks::Chunks;
use crate::engine::run::functions::Functions;
use crate::engine::run::resources::{Resources, Taken};
use crate::engine::targets::graph::cached::Graphs;
use crate::engine::targets::graph::recorder::Cover;
use crate::engine::targets::timed::{Profiler, Sampling};
use crate::engine::targets::{GraphTarget, StreamsTarget, Target, TimedTarget};
use crate::engine::totals::Totals;
use crate::observe::watch::RunWatch;

/// The outcome of enqueuing a run. The device may be at work on it.
pub(super) struct Enqueued {
    pub(super) must_drain: MustDrain,
    /// The chunks of the run; a run that ends where its sources do has learned them.
    pub(super) chunking: Chunking,
    /// The progress of such a run with its chunks.
    pub(super) log: ChunkLog,
    /// The time at which enqueuing began.
    pub(super) start: Duration,
    pub(super) outcome: std::thread::Result<Result<()>>,
    pub(super) totals: Totals,
    pub(super) functions: Functions,
    pub(super) graphs: Launches,
    /// The profiler, if the run was timed.
    pub(super) profiler: Option<Box<Profiler>>,
}

/// Those with whom a run on a device shares its work, if there are any.
#[derive(Clone, Copy, Default)]
pub(super) struct Beside<'r> {
    /// The threads of sources and sinks.
    pub(super) exchange: Option<&'r Arc<Exchange>>,
    /// The other devices.
    pub(super) share: Option<&'r Share<'r>>,
}

/// The graphs of a run.
#[derive(Clone, Copy)]
pub(super) struct Launches {
    /// Whether the run launches graphs.
    pub(super) any: bool,
    /// Whether it enqueues nothing else.
    pub(super) only: bool,
    /// Whether they are the graphs of the run before.
    pub(super) repeated: bool,
    /// Whether the next run may launch the same graphs.
    pub(super) may_repeat: bool,
}

/// Ends the process if it is dropped: the only way left to keep the device from memory that is about to be
/// freed.
pub(super) struct MustDrain;

impl Drop for MustDrain {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// The state that a run's mode takes from the pipeline.
enum Mode {
    Streams,
    Timed(Box<Profiler>),
    Graph(Box<Graphs>, Cover),
}

impl Mode {
    fn target<'r>(self, device: &'r Device, depth: usize, taken: &'r Taken) -> Target<'r> {
        let streams = || StreamsTarget::new(device);
        match self {
            Self::Streams => Target::Streams(streams()),
            Self::Timed(profiler) => Target::Timed(TimedTarget::new(streams(), profiler)),
            Self::Graph(graphs, cover) => {
                let noted = (&taken.staging, &taken.totals);
                Target::Graph(GraphTarget::new(device, graphs, cover, depth, noted))
            }
        }
    }
}

impl Call<'_, '_> {
    /// Lets `body` enqueue every chunk. `stages`: whether any data go through the staging memory.
    pub(super) fn enqueue(
        &mut self,
        chunking: Chunking,
        stages: bool,
        body: impl FnOnce(&Run<'_>) -> Result<()>,
        seen: &RunWatch,
        Beside { exchange, share }: Beside<'_>,
    ) -> Result<Enqueued> {
        let (mode, start) = self.mode(chunking, stages, share)?;
        let mut graphs = self.launches(&mode);
        let streaming = exchange.map(|exchange| self.streaming(exchange, chunking));
        let taken = self.pipeline.lend();
        let Call { pipeline, arguments, .. } = &*self;
        let ahead = if stages { read_ahead(pipeline.plan, arguments) } else { Vec::new() };
        let wanted = arguments.items.unwrap_or_default();
        let chunks = Chunks::new(chunking, pipeline.depth, (streaming, share), wanted);
        let target = mode.target(&pipeline.device, pipeline.depth, &taken);
        let resources = pipeline.resources(graphs.any);
        let run = Run::new((resources, &taken), arguments, chunks, (target, seen), ahead);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            run.share()?;
            body(&run)?;
            run.finish()
        }));
        if let (Some(share), Some(end)) = (share, end_of(&outcome, Result::as_ref)) {
            share.hand.stop_before(end);
        }
        // Until the device was waited for, nothing may unwind past this.
        let must_drain = MustDrain;
        // A run that another device's failure has stopped lacks chunks.
        graphs.may_repeat &= !run.order.has_asked() && !run.order.has_stopped();
        let (functions, log, target) = run.into_parts();
        let (kept, profiler) = match target {
            Target::Graph(target) => (Some(target.into_graphs()), None),
            Target::Timed(target) => (None, Some(target.profiler)),
            Target::Streams(_) | Target::Model(_) => (None, None),
        };
        let totals = self.pipeline.take_back(taken, kept);
        // Variables are given their values before a launch.
        graphs.may_repeat &= !self.pipeline.symbols.is_any();
        let chunking = if self.is_endless() { log.chunking() } else { chunking };
        Ok(Enqueued { must_drain, chunking, log, start, outcome, totals, functions, graphs, profiler })
    }

    /// The mode of the run with its state, and the time at which the run begins.
    fn mode(
        &mut self,
        chunking: Chunking,
        stages: bool,
        share: Option<&Share<'_>>,
    ) -> Result<(Mode, Duration)> {
        let slots = self.pipeline.depth.min(chunking.chunks());
        let plan = self.pipeline.plan;
        let explained = |error| explain(plan, error);
        let is_free = share.is_some_and(|share| share.hand.is_free());
        if is_free {
            let Pipeline { device, pace, .. } = &mut *self.pipeline;
            pace.reserve(device, plan, slots).map_err(explained)?;
        }
        if self.purpose == Purpose::Profile {
            let sampling = match share {
                None => self.pipeline.sampling(&self.arguments.hosts, stages, (slots, chunking.largest())),
                // Chunks that were not timed follow from those beside them, which are another device's.
                Some(_) => Sampling::new(None, self.pipeline.depth),
            };
            self.prepare_profile(&sampling, chunking, slots)?;
            let start = share.map_or_else(|| self.pipeline.device.driver().clock(), |share| share.began);
            let profiler = self.pipeline.profiler(start, sampling).map_err(explained)?;
            return Ok((Mode::Timed(profiler), start));
        }
        // A graph of the whole run would take all of the chunks that are left.
        let cover = Cover::new(plan, stages || is_free);
        let Pipeline { device, graphs, streams, .. } = &mut *self.pipeline;
        // If the host waits for each operation, a graph would hide which one failed.
        let records = slots > 0 && !device.driver().is_synchronous();
        if let Some(graphs) = graphs.as_mut().filter(|_| records) {
            let lanes = if cover == Cover::Run { 1 } else { slots };
            let ordered = (streams.all().len(), streams.events().len());
            graphs.reserve(device, lanes, ordered).map_err(explained)?;
        }
        let mode = graphs.take_if(|_| records).map_or(Mode::Streams, |graphs| Mode::Graph(graphs, cover));
        Ok((mode, share.map_or_else(|| device.driver().clock(), |share| share.began)))
    }

    /// Creates the events and observers that a profile needs, before the run begins.
    fn prepare_profile(&mut self, sampling: &Sampling, chunking: Chunking, slots: usize) -> Result<()> {
        let plan = self.pipeline.plan;
        let each = plan.operations.len() + plan.events.len();
        // A run that ends where its sources do gets those of the first chunks; the others are created on the
        // way.
        let chunks = if self.is_endless() { slots } else { sampling.most(chunking.chunks()) };
        let events = chunks.saturating_mul(each);
        let observers = self.pipeline.observed().count;
        let Pipeline { device, clockwork, .. } = &mut *self.pipeline;
        clockwork.prepare(device, events, observers).map_err(|error| explain(plan, error))
    }

    /// The graphs of a run in this mode, as far as they are known beforehand.
    fn launches(&self, mode: &Mode) -> Launches {
        let any = matches!(mode, Mode::Graph(..));
        // The plan's first stream copies the data that the run shares.
        let only = any && self.arguments.shared.is_empty();
        let is_whole = matches!(mode, Mode::Graph(_, Cover::Run));
        // On the host, a launch contains its work, and can run once.
        let may_repeat = self.arguments.repeats && only && is_whole && !self.pipeline.device.is_on_host();
        Launches { any, only, repeated: false, may_repeat }
    }
}

impl Pipeline {
    /// The resources that a run uses, with or without graphs.
    pub(super) fn resources(&self, graphs: bool) -> Resources<'_> {
        let Self { device, plan, id, depth, number, pace, ring, states, streams, ranks, .. } = self;
        // A graph has an order in place of streams, and launching one with more freedom costs more.
        let (id, depth, number, spread) = (*id, *depth, *number, self.spreads() && !graphs);
        let ranks = ranks.as_ref();
        Resources { device, plan, id, depth, number, ranks, pace, ring, states, streams, spread }
    }

    /// Lends the run the state that it takes for its duration.
    fn lend(&mut self) -> Taken {
        let staging = RefCell::new(std::mem::take(&mut self.staging));
        let symbols = RefCell::new(std::mem::take(&mut self.symbols));
        Taken { staging, symbols, ..Taken::default() }
    }

    /// Takes the state back, with the graphs of a run that had some.
    fn take_back(&mut self, taken: Taken, graphs: Option<Box<Graphs>>) -> Totals {
        let Taken { staging, symbols, launched, totals } = taken;
        (self.staging, self.symbols) = (staging.into_inner(), symbols.into_inner());
        *self.launched() = launched.into_inner();
        if graphs.is_some() {
            self.graphs = graphs;
        }
        totals.into_inner()
    }
}

/// The operations whose pageable data can be read before their chunk begins, each with its argument: all that
/// are enqueued for every chunk, from data that no earlier operation of a chunk has written.
fn read_ahead(plan: &Plan, arguments: &Arguments<'_>) -> Vec<(usize, usize)> {
    let hosts = &arguments.hosts;
    let ahead = |(index, operation): (usize, &OperationPlan)| {
        let OperationKind::Upload { host, buffer } = operation.kind else { return None };
        let is_pageable = matches!(hosts.get(host)?.source.memory, HostMemory::Pageable(_));
        let writes = |earlier: &OperationPlan| matches!(earlier.kind, OperationKind::Download { host: to, .. } if to == host);
        let waits = operation.conditional
            || arguments.is_same(host, buffer)
            || plan.operations[..index].iter().any(writes);
        (is_pageable && !waits && hosts[host].shape.halo == 0).then_some((index, host))
    };
    plan.operations.iter().enumerate().filter_map(ahead).collect()
}
