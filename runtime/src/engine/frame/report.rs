//! Reports a run: its timeline, or the error that came first and how far the run got.

use std::panic::resume_unwind;
use std::time::Duration;

use crate::base::error::{Complete, Detail, DriverError, Error, Result};
use crate::base::plan::Plan;
use crate::base::report::Report;
use crate::engine::Pipeline;
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::chunks::dealer::Hand;
use crate::engine::explain::explain;
use crate::engine::feeds::exchange::Exchange;
use crate::engine::feeds::failure::Failure;
use crate::engine::frame::drain::Over;
use crate::engine::frame::enqueue::Enqueued;
use crate::engine::pipeline::{Drained, Fault};
use crate::engine::place::place_of;
use crate::engine::targets::measured;
use crate::observe::timeline::Timeline;
use crate::observe::watch::{self, RunWatch, Serial};

/// What came of a run, or of what a device had of it.
pub(super) struct Ended {
    pub(super) outcome: Result<Box<Timeline>>,
    /// How far each output is complete, if the run has failed or has other devices.
    pub(super) complete: Vec<Complete>,
    /// What the device of several has of each result that they combine.
    pub(super) partials: Partials,
}

/// The bytes of each result that devices combine, as one of them has it.
pub(super) type Partials = Vec<Vec<u8>>;

impl Ended {
    /// The outcome of what has begun nothing, or was only predicted.
    pub(super) fn of(outcome: Result<Box<Timeline>>) -> Self {
        Self { outcome, complete: Vec::new(), partials: Vec::new() }
    }
}

impl Over<'_, '_, '_> {
    /// The outcome of the run.
    ///
    /// # Panics
    /// If the caller's code has panicked, the panic goes on.
    pub(super) fn report(self, watch: &RunWatch, exchange: Option<&Exchange>) -> Result<Box<Timeline>> {
        let Ended { outcome, complete, .. } = self.end(watch, exchange, None);
        outcome.map_err(|error| error.with_complete(complete))
    }

    /// The outcome of the run on this device, of which it has the chunks in its `hand`, or all.
    ///
    /// # Panics
    /// If the caller's code has panicked, the panic goes on.
    pub(super) fn end(self, watch: &RunWatch, exchange: Option<&Exchange>, hand: Option<&Hand<'_>>) -> Ended {
        let Self { call, chunking, log, start, mut timeline, outcome, drained, failure, .. } = self;
        let outcome = outcome.unwrap_or_else(|panic| resume_unwind(panic));
        let endless = call.is_endless();
        let Call { pipeline, arguments, .. } = call;
        let (plan, report) = (pipeline.plan, &mut timeline.report);
        report.time = pipeline.device.driver().clock().saturating_sub(start);
        // Those of several devices are told together.
        report.awaited = exchange.filter(|_| hand.is_none()).map_or_else(Vec::new, Exchange::awaited);
        let sinks = self.sinks.filter(|_| failure.is_none());
        let outcome = outcome.and_then(|()| sinks.map_or(Ok(()), Err));
        let drained = match drained {
            Drained::Faulted(found) => {
                let chunks = hand.map_or_else(|| chunking.chunks(), Hand::len);
                Drained::Faulted(pipeline.again(found, chunks))
            }
            other => other,
        };
        let error = first_error(plan, outcome, drained, failure);
        let mut complete = Vec::new();
        if error.is_some() || hand.is_some() {
            let accepted = |host| exchange.and_then(|exchange| exchange.accepted(host));
            let all = match exchange.filter(|_| endless && hand.is_some()) {
                Some(exchange) => exchange.log().chunking().chunks(),
                None => chunking.chunks(),
            };
            let arrived = |chunks| {
                let missing = hand.map_or(chunks, |hand| hand.first_missing(chunks));
                missing.min(self.lacking).min(all)
            };
            let start = |chunk| match exchange.filter(|_| hand.is_some()) {
                _ if !endless => chunking.start(chunk),
                Some(exchange) => exchange.log().start(chunk),
                None => log.start(chunk),
            };
            complete = self.totals.complete(plan, &arguments.hosts, arrived, start, accepted);
        }
        if let Some(error) = error {
            pipeline.arena = arguments.give_back();
            return Ended { complete, ..Ended::of(Err(error)) };
        }
        if endless && hand.is_none() {
            watch.had(chunking.items());
            watch.is_cut(chunking.chunks(), pipeline.depth);
        }
        self.totals.tell(report);
        if let Some((operation, time)) = pipeline.device.driver().tell_serial(pipeline.id) {
            let kernel = plan.operations.get(operation).map_or("a kernel", |operation| operation.text);
            watch::is_serial(&Serial { pipeline: plan.pipeline, kernel, time });
        }
        pipeline.learn(report);
        if let Some(profiler) = self.profiler {
            let timed;
            (timed, pipeline.clockwork) = match profiler.finish() {
                Ok(finished) => finished,
                Err(error) => return Ended { complete, ..Ended::of(Err(explain(plan, error))) },
            };
            pipeline.measured = measured::costs(plan, &timed);
            pipeline.add_spans(&mut timeline, &timed, &arguments.hosts);
        }
        let mut partials = arguments.take_partials();
        if hand.is_none() {
            // This runs code of the user's, which may panic: nothing is in flight any more.
            arguments.combined.iter().zip(&partials).for_each(|(combined, partial)| combined.add(partial));
            partials.clear();
        }
        pipeline.arena = arguments.give_back();
        Ended { outcome: Ok(timeline), complete, partials }
    }
}

impl Call<'_, '_> {
    /// The timeline of a run that is enqueued, without spans.
    pub(super) fn begin_timeline(&self, enqueued: &Enqueued, hand: Option<&Hand<'_>>) -> Box<Timeline> {
        let enqueuing = self.pipeline.device.driver().clock().saturating_sub(enqueued.start);
        let report = self.report(enqueued.chunking, enqueued.graphs.any, hand);
        let mut timeline = self.pipeline.timeline(report, self.purpose);
        (timeline.report.repeated, timeline.report.enqueuing) = (enqueued.graphs.repeated, enqueuing);
        timeline
    }

    /// The report of a run before it is over, or of the chunks in a device's `hand`.
    pub(super) fn report(&self, chunking: Chunking, graph: bool, hand: Option<&Hand<'_>>) -> Report {
        let Pipeline { device, plan, depth, ring, staging, .. } = &*self.pipeline;
        let [on_device, pinned] = ring.held();
        let is_placed = || plan.streams.iter().any(|stream| stream.placed);
        Report {
            pipeline: plan.pipeline,
            device: device.name().to_owned(),
            items: hand.map_or_else(|| chunking.items(), Hand::items),
            chunks: hand.map_or_else(|| chunking.chunks(), Hand::len),
            chunk: match hand.filter(|_| self.is_endless()) {
                Some(hand) => hand.largest(),
                None => chunking.largest().min(chunking.items().max(1)),
            },
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
            parts: Vec::new(),
            shared: None,
            simulated: device.is_simulated(),
        }
    }
}

/// The error to report, out of the errors of enqueuing, waiting and the functions.
fn first_error(
    plan: &'static Plan,
    enqueued: Result<()>,
    drained: Drained,
    failure: Option<Failure>,
) -> Option<Error> {
    let on_device = match drained {
        Drained::Clean => None,
        Drained::Faulted(found) => {
            let Fault { operation, kernel, chunk, fault, .. } = *found;
            let error = Error::new(Detail::KernelFault { kernel, fault: Box::new(fault) });
            let error = error.at(place_of(plan, operation, chunk));
            // What failed while the work was enqueued may follow from the fault.
            return Some(error);
        }
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
            if matches!(noticed.detail(), Detail::Driver(_)) && error.tag.is_some() =>
        {
            Some(explain(plan, error))
        }
        // A library may report just that the device failed, and its error has room for the device's.
        (Some(noticed), Some(error)) if noticed.detail().is_of_a_routine() => Some(noticed.with_cause(error)),
        // Something that says nothing of the device has failed as well, at a chunk that the device had not
        // reached.
        (Some(noticed), Some(error))
            if !matches!(noticed.detail(), Detail::Driver(_)) && comes_first(&error, &noticed) =>
        {
            Some(explain(plan, error))
        }
        (Some(noticed), _) => Some(noticed),
    }
}

/// Whether the device has failed at an earlier chunk than the other failure, or at the same one.
fn comes_first(error: &DriverError, other: &Error) -> bool {
    let Some(other) = other.place().chunk else { return true };
    error.tag.is_none_or(|(_, chunk)| chunk <= other)
}
