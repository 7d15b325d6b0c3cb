//! [`Call::run`]: what happens around the enqueuing, so that nothing is in flight when it is over.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::base::error::{DriverError, Error, ErrorKind, Result};
use crate::base::plan::{OperationKind, OperationPlan, Plan};
use crate::base::report::Report;
use crate::device::memory::Direction;
use crate::engine::arguments::written::Written;
use crate::engine::arguments::{HostArgument, HostMemory};
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Cut;
use crate::engine::chunks::log::Course;
use crate::engine::explain::explain;
use crate::engine::feeds::exchange::{Closes, Exchange};
use crate::engine::feeds::failure::Failure;
use crate::engine::feeds::streamed;
use crate::engine::pipeline::Drained;
use crate::engine::place::place_of;
use crate::engine::purpose::Purpose;
use crate::engine::run::arrival::cancelled;
use crate::engine::run::chunks::Chunks;
use crate::engine::run::functions::Functions;
use crate::engine::run::{Run, Watch};
use crate::engine::targets::graph::recorder::{Cover, Recorder};
use crate::engine::targets::graph::repeat::RunKey;
use crate::engine::targets::model::Model;
use crate::engine::targets::pace;
use crate::engine::targets::timed::Profiler;
use crate::engine::totals::Totals;
use crate::engine::{ChunkSize, Pipeline};
use crate::job::Cancels;
use crate::observe::timeline::{Basis, Timeline, nanos};
use crate::observe::watch::{self, RunWatch};

impl Call<'_, '_> {
    /// Runs the pipeline: prepares its memory, lets `body` enqueue every chunk, and waits until the device is done.
    ///
    /// However `body` ends, by returning, failing or panicking, nothing of this run is in flight when this returns or
    /// unwinds; where the device cannot be waited for, everything that it might still access is poisoned and leaked.
    ///
    /// The timeline has spans if the call's purpose is to know them; a prediction does nothing else.
    ///
    /// # Errors
    /// Memory does not suffice, an operation cannot be enqueued or fails on the device.
    pub fn run(self, chunk: ChunkSize, body: impl FnOnce(&Run<'_>) -> Result<()>) -> Result<Timeline> {
        let watch = match self.purpose {
            Purpose::Run | Purpose::Profile => {
                let Pipeline { device, plan, listener, .. } = &*self.pipeline;
                RunWatch::new(plan, device, self.extent(), listener.clone())
            }
            Purpose::Predict => RunWatch::default(),
        };
        let callers = self.callers();
        let called = self.pipeline.called;
        let outcome = self.carry_out(chunk, body, &watch).map_err(|error| error.of_run_at(called));
        for caller in &callers {
            caller.end_run(outcome.as_ref().map(drop).map_err(Error::clone));
        }
        watch.end(outcome.as_ref().map(|timeline| &timeline.report));
        outcome
    }

    fn carry_out(
        mut self,
        chunk: ChunkSize,
        body: impl FnOnce(&Run<'_>) -> Result<()>,
        watch: &RunWatch,
    ) -> Result<Timeline> {
        let plan = self.pipeline.plan;
        if self.pipeline.poisoned {
            return Err(Error::new(ErrorKind::PipelinePoisoned).at(self.pipeline.place()));
        }
        if let Err(error) = self.pipeline.device.driver().may_wait() {
            return Err(explain(plan, error));
        }
        if self.arguments.hosts.len() != plan.hosts.len()
            || self.arguments.buffers.len() != plan.buffers.len()
        {
            return Err(Error::new(ErrorKind::Skipped).at(self.pipeline.place()));
        }
        if self.purpose == Purpose::Run && Cancels::of_this_thread().any() {
            return Err(cancelled(plan, None));
        }
        self.check_extent(self.purpose != Purpose::Predict)?;
        let mut cut = self.choose(chunk)?;
        let auto_chunk = self.is_auto(chunk);
        let Pipeline { auto_depth, graphs, .. } = &*self.pipeline;
        let is_streamed = |host: &HostArgument<'_>| matches!(host.source.memory, HostMemory::Streamed);
        let basis = Basis {
            streamed: self.arguments.hosts.iter().map(is_streamed).collect(),
            auto_chunk,
            auto_depth: auto_depth.is_some(),
            graph: graphs.is_some(),
            by_bytes: false,
        };
        watch.begin();
        let enqueued = match self.again(cut) {
            Some(enqueued) => enqueued,
            None => {
                let stages = self.make_room(chunk, &mut cut)?;
                if self.purpose == Purpose::Predict {
                    let mut timeline = self.predict(cut, stages, body)?;
                    timeline.basis = Basis { by_bytes: timeline.basis.by_bytes, ..basis };
                    return Ok(timeline);
                }
                if self.arguments.has_feeds {
                    let mut timeline = self.with_threads(cut, stages, body, watch)?;
                    timeline.basis = basis;
                    return Ok(timeline);
                }
                watch.is_cut(cut.chunks(), self.pipeline.depth);
                self.enqueue(cut, stages, body, watch, None)?
            }
        };
        let mut timeline = self.finish(enqueued, watch, None)?;
        timeline.basis = basis;
        Ok(timeline)
    }

    /// Enqueues and waits with sources and sinks, whose threads have ended when this returns or unwinds.
    fn with_threads(
        mut self,
        cut: Cut,
        stages: bool,
        body: impl FnOnce(&Run<'_>) -> Result<()>,
        watch: &RunWatch,
    ) -> Result<Timeline> {
        let (exchange, threads) = self.take_feeds();
        let plan = self.pipeline.plan;
        std::thread::scope(|scope| {
            let closes = Closes(&exchange);
            streamed::start(scope, &exchange, threads).map_err(|error| error.at(self.pipeline.place()))?;
            if !self.is_endless() {
                watch.is_cut(cut.chunks(), self.pipeline.depth);
            }
            let enqueued = self.enqueue(cut, stages, body, watch, Some(&exchange));
            let outcome = enqueued.and_then(|enqueued| self.finish(enqueued, watch, Some(&exchange)));
            drop(closes);
            // The scope waits for them too, but would not say for which.
            exchange.wait_for_threads(plan);
            outcome
        })
    }

    /// Launches the graphs of the run before, if this one is like that.
    fn again(&mut self, cut: Cut) -> Option<Enqueued> {
        if !self.arguments.repeats || !self.arguments.shared.is_empty() || self.purpose != Purpose::Run {
            return None;
        }
        let Call { pipeline, arguments, .. } = self;
        let key = RunKey { arguments, cut };
        let start = pipeline.device.driver().clock();
        // SAFETY: the run holds the ring and its arguments until it has drained, and poisons them if it cannot.
        let (launched, totals) =
            unsafe { pipeline.graphs.as_mut()?.repeat(&pipeline.device, pipeline.plan, &key) }?;
        Some(Enqueued {
            // Before anything else, since the device is at work.
            must_drain: AbortOnUnwind,
            cut,
            course: Course::default(),
            start,
            outcome: Ok(launched.map_err(|error| explain(pipeline.plan, error))),
            totals,
            functions: Functions::default(),
            graph: true,
            graphs_only: true,
            repeated: true,
            // That it may is known.
            repeats: false,
            profiler: None,
        })
    }

    /// Lets `body` enqueue every chunk. `stages`: whether anything goes through the staging memory.
    fn enqueue(
        &mut self,
        cut: Cut,
        stages: bool,
        body: impl FnOnce(&Run<'_>) -> Result<()>,
        seen: &RunWatch,
        exchange: Option<&Arc<Exchange>>,
    ) -> Result<Enqueued> {
        let slots = self.pipeline.depth.min(cut.chunks());
        let profiles = self.purpose == Purpose::Profile;
        let sampling =
            profiles.then(|| self.pipeline.sampling(&self.arguments.hosts, stages, (slots, cut.largest())));
        let endless = self.is_endless();
        let Call { pipeline, arguments, .. } = &mut *self;
        let plan = pipeline.plan;
        let cover = Cover::new(plan, stages);
        let lanes = match cover {
            Cover::Run => 1,
            Cover::Chunk { .. } => slots,
        };
        // Where each operation is waited for, a graph would hide which one failed; and a graph's operations are not timed.
        let records = slots > 0 && !pipeline.device.driver().is_synchronous() && !profiles;
        if let Some(graphs) = pipeline.graphs.as_mut().filter(|_| records) {
            let ordered = (pipeline.streams.all().len(), pipeline.streams.events().len());
            graphs.reserve(&pipeline.device, lanes, ordered).map_err(|error| explain(plan, error))?;
        }
        let graphs = pipeline.graphs.take_if(|_| records);
        let graph = graphs.is_some();
        // What the run shares is copied by the plan's first stream.
        let graphs_only = graph && arguments.shared.is_empty();
        let recorder = graphs.map(|graphs| Recorder::new(&pipeline.device, graphs, cover, pipeline.depth));
        let recorder = recorder.map(RefCell::new);

        if let Some(sampling) = &sampling {
            let each = plan.operations.len() + plan.events.len();
            // Of a run that ends where its sources do those of the first chunks; the others are made as they come.
            let chunks = if endless { slots } else { sampling.most(cut.chunks()) };
            let events = chunks.saturating_mul(each);
            let observers = pipeline.observed().count;
            let prepared = pipeline.clockwork.prepare(&pipeline.device, events, observers);
            prepared.map_err(|error| explain(plan, error))?;
        }
        let start = pipeline.device.driver().clock();
        let profiler = match sampling {
            Some(sampling) => Some(pipeline.profiler(start, sampling).map_err(|error| explain(plan, error))?),
            None => None,
        };
        let streaming = exchange.map(|exchange| self.streaming(exchange, cut));
        let wanted = self.arguments.items.unwrap_or_default();
        let Call { pipeline, arguments, .. } = &mut *self;
        let staging = RefCell::new(std::mem::take(&mut pipeline.staging));
        let symbols = RefCell::new(std::mem::take(&mut pipeline.symbols));
        let ahead = if stages { read_ahead(plan, &arguments.hosts) } else { Vec::new() };
        let watch = profiler.as_ref().map_or(Watch::None, Watch::Profile);
        let run = Run::new(
            self.pipeline.resources(),
            (&staging, &symbols),
            &self.arguments,
            Chunks::new(cut, self.pipeline.depth, streaming, wanted),
            recorder.as_ref(),
            (watch, seen),
            &ahead,
        );
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            run.share()?;
            body(&run)?;
            run.finish()?;
            run.close_profile()
        }));
        // Until the device is waited for nothing may unwind past this.
        let must_drain = AbortOnUnwind;
        let asked = run.order.has_asked();
        let (totals, functions, course) = run.into_parts();
        let cut = if endless { course.cut() } else { cut };
        let pipeline = &mut *self.pipeline;
        if let Some(recorder) = recorder {
            pipeline.graphs = Some(recorder.into_inner().into_graphs());
        }
        pipeline.staging = staging.into_inner();
        pipeline.symbols = symbols.into_inner();
        // The simulated device's launches carry what they do, once; and variables are given their values before a launch.
        let one_by_one = pipeline.device.is_simulated() || pipeline.symbols.is_any();
        let repeats = self.arguments.repeats && graphs_only && cover == Cover::Run && !one_by_one && !asked;
        let repeated = false;
        Ok(Enqueued {
            cut,
            course,
            start,
            outcome,
            totals,
            functions,
            graph,
            graphs_only,
            repeated,
            repeats,
            profiler,
            must_drain,
        })
    }

    /// Waits until the device is done with what was enqueued, and puts everything back in its place.
    fn finish(
        self,
        enqueued: Enqueued,
        watch: &RunWatch,
        exchange: Option<&Arc<Exchange>>,
    ) -> Result<Timeline> {
        let Enqueued {
            cut,
            course,
            start,
            outcome,
            mut totals,
            functions,
            graph,
            graphs_only,
            repeated,
            repeats,
            profiler,
            must_drain,
        } = enqueued;
        let enqueuing = self.pipeline.device.driver().clock().saturating_sub(start);
        let endless = self.is_endless();
        // While the device is at work.
        let mut report = self.report(cut, graph);
        (report.repeated, report.enqueuing) = (repeated, enqueuing);
        let Call { pipeline, purpose, arguments, .. } = self;
        let plan = pipeline.plan;
        let mut drained = pipeline.drain(graphs_only);
        pipeline.staging.finish(&pipeline.device);
        if let Drained::Clean = drained {
            // Before callbacks are waited for: they may wait for whoever is given this.
            // SAFETY: every stream has completed without an error, and this is the run that made the deliveries.
            unsafe { pipeline.staging.flush(&pipeline.device) };
        }
        let failure = functions.finish();
        let lacking = failure.as_ref().map_or(usize::MAX, |failure| failure.lacking);
        if let Some(exchange) = exchange {
            exchange.close(false);
            exchange.lacks(lacking);
        }
        let streams;
        if let Drained::Clean = drained {
            if let (true, Ok(Ok(())), Some(graphs)) = (repeats, &outcome, &mut pipeline.graphs) {
                graphs.has_done(&RunKey { arguments: &arguments, cut }, &totals);
            }
            totals.all_arrived();
            streams = exchange.and_then(|exchange| pipeline.finish_sinks(exchange));
            // What is carried is a result of a run that went well.
            if let (Ok(Ok(())), None, None) = (&outcome, &failure, &streams) {
                drained = pipeline.give_back(&arguments.shared, &mut totals);
                if let Drained::Clean = drained {
                    Written { plan, chunks: cut.chunks() }.note(&arguments);
                }
            }
        } else {
            totals.note_arrivals(|operation| pipeline.staging.arrived(operation));
            streams = exchange.and_then(|exchange| pipeline.finish_sinks(exchange));
        }
        if let Drained::Lost(_) = drained {
            pipeline.poison();
            arguments.poison();
        }
        std::mem::forget(must_drain);
        pipeline.staging.reset();
        pipeline.graphs.iter_mut().for_each(|graphs| graphs.rest());
        pipeline.states().rest();
        pipeline.symbols.rest();
        let outcome = outcome.unwrap_or_else(|panic| resume_unwind(panic));
        report.time = pipeline.device.driver().clock().saturating_sub(start);
        report.awaited = exchange.map_or_else(Vec::new, |exchange| exchange.awaited());

        let accepted = |host| exchange.and_then(|exchange| exchange.accepted(host));
        let streams = streams.filter(|_| failure.is_none());
        let outcome = outcome.and_then(|()| streams.map_or(Ok(()), Err));
        if let Some(error) = first_error(plan, outcome, drained, failure) {
            let start = |chunk| if endless { course.start(chunk) } else { cut.start(chunk) };
            let complete = totals.complete(plan, &arguments.hosts, lacking, start, accepted);
            pipeline.arena = arguments.into_arena();
            return Err(error.with_complete(complete));
        }
        if endless {
            watch.had(cut.items());
            watch.is_cut(cut.chunks(), pipeline.depth);
        }
        (report.bytes_to_device, report.bytes_to_host) = (totals.to_device, totals.to_host);
        report.bytes_staged = totals.staged;
        pipeline.learn(&report);
        let mut timed = Vec::new();
        if let Some(profiler) = profiler {
            (timed, pipeline.clockwork) = profiler.finish().map_err(|error| explain(plan, error))?;
            pipeline.paces = pace::paces(plan, &timed);
        }
        let timeline = pipeline.timeline(report, purpose, &timed, &arguments.hosts);
        pipeline.arena = arguments.into_arena();
        Ok(timeline)
    }

    /// Works out what a run would take.
    fn predict(self, cut: Cut, stages: bool, body: impl FnOnce(&Run<'_>) -> Result<()>) -> Result<Timeline> {
        let outcome = self.work_out(cut, stages, body);
        let Call { pipeline, arguments, .. } = self;
        pipeline.arena = arguments.into_arena();
        outcome
    }

    fn work_out(
        &self,
        cut: Cut,
        stages: bool,
        body: impl FnOnce(&Run<'_>) -> Result<()>,
    ) -> Result<Timeline> {
        let pipeline = &*self.pipeline;
        let plan = pipeline.plan;
        let slots = pipeline.depth.min(cut.chunks());
        let graph = pipeline.graphs.is_some() && slots > 0 && !pipeline.device.driver().is_synchronous();
        let cover = graph.then(|| Cover::new(plan, stages));
        watch::calibrated(&pipeline.device);
        let mut model = Model::new(&pipeline.device, plan, &pipeline.streams, slots, cover, &pipeline.paces);
        let mut totals = Totals::default();
        for shared in &self.arguments.shared {
            shared.work_out(&mut model, &mut totals, Direction::In);
        }
        let model = RefCell::new(model);
        // Of no use here: nothing is staged and no variable is written.
        let (staging, symbols) = (RefCell::default(), RefCell::default());
        let (watch, seen) = (Watch::Predict(&model), RunWatch::default());
        let chunks = Chunks::new(cut, pipeline.depth, None, self.arguments.items.unwrap_or_default());
        let run = Run::new(
            pipeline.resources(),
            (&staging, &symbols),
            &self.arguments,
            chunks,
            None,
            (watch, &seen),
            &[],
        );
        body(&run)?;
        run.finish()?;
        totals.add(&run.into_parts().0);
        let mut model = model.into_inner();
        let mut report = self.report(cut, graph);
        report.enqueuing = nanos(model.clock());
        model.drain();
        for shared in &self.arguments.shared {
            shared.work_out(&mut model, &mut totals, Direction::Out);
        }
        report.time = nanos(model.clock());
        report.simulated = true;
        (report.bytes_to_device, report.bytes_to_host) = (totals.to_device, totals.to_host);
        report.bytes_staged = totals.staged;
        let by_bytes = model.goes_by_bytes();
        let mut timeline =
            self.pipeline.timeline(report, Purpose::Predict, &model.finish(), &self.arguments.hosts);
        timeline.basis.by_bytes = by_bytes;
        Ok(timeline)
    }

    /// What is known of a run before it is over.
    fn report(&self, cut: Cut, graph: bool) -> Report {
        let Pipeline { device, plan, depth, ring, staging, .. } = &*self.pipeline;
        let [on_device, pinned] = ring.held();
        let is_placed = || plan.streams.iter().any(|stream| stream.placed);
        Report {
            pipeline: plan.pipeline,
            device: device.name().to_owned(),
            items: cut.items(),
            chunks: cut.chunks(),
            chunk: cut.largest().min(cut.items().max(1)),
            depth: *depth,
            graph,
            repeated: false,
            stream_per_slot: !graph && self.pipeline.spreads() && is_placed(),
            bytes_to_device: 0,
            bytes_to_host: 0,
            bytes_staged: 0,
            device_memory: on_device as u64,
            pinned_memory: (pinned + staging.held()) as u64,
            enqueuing: Duration::ZERO,
            time: Duration::ZERO,
            awaited: Vec::new(),
            simulated: device.is_simulated(),
        }
    }
}

/// What a run has enqueued. The device may be at work on it.
struct Enqueued {
    /// How it was cut, which a run that ends where its sources do has learned.
    cut: Cut,
    /// How far such a run got with which chunk.
    course: Course,
    /// When that began.
    start: Duration,
    outcome: std::thread::Result<Result<()>>,
    totals: Totals,
    functions: Functions,
    /// Whether there are graphs.
    graph: bool,
    /// Whether there is nothing else.
    graphs_only: bool,
    /// Whether they are those of the run before.
    repeated: bool,
    /// Whether the next run may launch the same graphs.
    repeats: bool,
    /// What has timed it.
    profiler: Option<Profiler>,
    must_drain: AbortOnUnwind,
}

/// Ends the process if it is dropped: the only way left to keep the device from memory that is about to be freed.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// The error to report of those that enqueuing, waiting and the functions gave.
fn first_error(
    plan: &'static Plan,
    enqueued: Result<()>,
    drained: Drained,
    failure: Option<Failure>,
) -> Option<Error> {
    let on_device = match drained {
        Drained::Clean => None,
        Drained::Failed(error) | Drained::Lost(error) => Some(error),
    };
    match (enqueued.err(), on_device) {
        (None, None) => {
            let failure = failure?;
            let place = place_of(plan, failure.operation, Some(failure.chunk as u64));
            Some(Error::new(failure.kind(plan)).at(place))
        }
        (None, Some(error)) => Some(explain(plan, error)),
        // A later call merely noticed a failure whose origin the device can tell.
        (Some(noticed), Some(error))
            if matches!(noticed.kind(), ErrorKind::Driver(_)) && error.tag.is_some() =>
        {
            Some(explain(plan, error))
        }
        // A source or a sink has failed as well, at a chunk that the device had not got to.
        (Some(noticed), Some(error)) if noticed.kind().is_of_a_stream() && comes_first(&error, &noticed) => {
            Some(explain(plan, error))
        }
        // A library tells that the device failed, but not of what.
        (Some(noticed), Some(error)) => Some(noticed.with_cause(error)),
        (Some(noticed), None) => Some(noticed),
    }
}

/// Whether the device has failed at a chunk before the one that something else has failed at, or at that.
fn comes_first(error: &DriverError, other: &Error) -> bool {
    let Some(other) = other.place().chunk else { return true };
    error.tag.is_none_or(|(_, chunk)| chunk <= other)
}

/// The operations whose pageable data can be read before the chunk is there, each with its argument: all that are enqueued
/// for every chunk, from data that nothing before them in a chunk has written.
fn read_ahead(plan: &Plan, hosts: &[HostArgument<'_>]) -> Vec<(usize, usize)> {
    let ahead = |(index, operation): (usize, &OperationPlan)| {
        let OperationKind::Upload { host, .. } = operation.kind else { return None };
        let is_pageable = matches!(hosts.get(host)?.source.memory, HostMemory::Pageable(_));
        let writes = |earlier: &OperationPlan| matches!(earlier.kind, OperationKind::Download { host: to, .. } if to == host);
        let waits = operation.conditional || plan.operations[..index].iter().any(writes);
        (is_pageable && !waits && hosts[host].shape.halo == 0).then_some((index, host))
    };
    plan.operations.iter().enumerate().filter_map(ahead).collect()
}

/// The bytes of an operation's staging slot, if the CPU has a part in its copy.
pub(crate) fn staged_bytes(
    operation: &OperationPlan,
    hosts: &[HostArgument<'_>],
    chunk: usize,
) -> Option<usize> {
    match operation.kind {
        OperationKind::Upload { host, .. } | OperationKind::Download { host, .. } => {
            let HostArgument { source, shape } = hosts.get(host)?;
            match source.memory {
                HostMemory::Pageable(_) | HostMemory::Streamed => {
                    Some(shape.items(chunk).saturating_mul(shape.bytes()))
                }
                // What lies beyond the ends is made up.
                HostMemory::Pinned(_) => (shape.halo > 0).then(|| 2 * shape.halo * shape.bytes()),
            }
        }
        _ => None,
    }
}
