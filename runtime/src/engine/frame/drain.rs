//! Drains a run: waits for the device, whatever has happened, after which nothing of the run is in flight.

use std::time::Duration;

use crate::base::error::{Error, Result};
use crate::engine::arguments::written::Written;
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::chunks::dealer::Hand;
use crate::engine::chunks::log::ChunkLog;
use crate::engine::feeds::exchange::Exchange;
use crate::engine::feeds::failure::Failure;
use crate::engine::frame::enqueue::Enqueued;
use crate::engine::pipeline::{Drained, Pipeline};
use crate::engine::targets::graph::repeat::RunKey;
use crate::engine::targets::timed::Profiler;
use crate::engine::totals::Totals;
use crate::observe::timeline::Timeline;

/// A run that is over, with the outcomes of its parts.
pub(super) struct Over<'c, 'p, 'a> {
    pub(super) call: &'c mut Call<'p, 'a>,
    pub(super) chunking: Chunking,
    pub(super) log: ChunkLog,
    pub(super) start: Duration,
    /// What the caller gets of it, as far as it is known.
    pub(super) timeline: Box<Timeline>,
    /// The outcome of enqueuing.
    pub(super) outcome: std::thread::Result<Result<()>>,
    /// The outcome of waiting for the device.
    pub(super) drained: Drained,
    /// The first function that failed.
    pub(super) failure: Option<Failure>,
    /// The first chunk in which a function's work is missing.
    pub(super) lacking: usize,
    /// The first sink that failed.
    pub(super) sinks: Option<Error>,
    pub(super) totals: Totals,
    pub(super) profiler: Option<Box<Profiler>>,
}

impl<'p, 'a> Call<'p, 'a> {
    /// Waits until the device is done with everything that was enqueued, and puts everything back in its
    /// place.
    pub(super) fn drain(
        &mut self,
        enqueued: Enqueued,
        exchange: Option<&Exchange>,
        hand: Option<&Hand<'_>>,
    ) -> Over<'_, 'p, 'a> {
        // The device is still at work meanwhile.
        let timeline = self.begin_timeline(&enqueued, hand);
        let Enqueued { must_drain, chunking, log, start, outcome, totals, functions, graphs, profiler } =
            enqueued;
        if let (Some(exchange), Some(hand)) = (exchange, hand) {
            // Other devices do not wait for what this one has not enqueued.
            exchange.lacks(hand.first_not_enqueued());
        }
        let drained = self.pipeline.drain(graphs.only);
        self.pipeline.collect(&drained);
        // Another device's function is that device's failure.
        let failure = functions.finish(|chunk| hand.is_none_or(|hand| hand.has(chunk)));
        let lacking = match drained {
            // Nobody knows which chunk the thread worked on.
            Drained::Faulted(_) => 0,
            _ => failure.as_ref().map_or(usize::MAX, |failure| failure.lacking),
        };
        if let Some(exchange) = exchange {
            if hand.is_none() {
                exchange.close(false);
            }
            exchange.lacks(lacking);
        }
        let sinks = None;
        let mut over = Over {
            call: self,
            chunking,
            log,
            start,
            timeline,
            outcome,
            drained,
            failure,
            lacking,
            sinks,
            totals,
            profiler,
        };
        match hand {
            None => over.keep_results(graphs.may_repeat, exchange),
            Some(hand) => {
                // The sinks are another device's, too.
                over.keep_results(graphs.may_repeat, None);
                // Nobody waits for what this device does not give to sinks.
                exchange.iter().for_each(|exchange| exchange.lacks(hand.first_not_given(exchange.given())));
            }
        }
        if let Drained::Lost(_) = over.drained {
            over.call.pipeline.poison();
            over.call.arguments.poison();
        }
        std::mem::forget(must_drain);
        over.call.pipeline.rest();
        over
    }
}

impl Over<'_, '_, '_> {
    /// Passes results on: to the next run, to sinks, and carried data to the caller.
    fn keep_results(&mut self, may_repeat: bool, exchange: Option<&Exchange>) {
        let Self {
            call: Call { pipeline, arguments, devices, .. }, chunking, totals, outcome, drained, ..
        } = self;
        let chunking = *chunking;
        let is_enqueued = matches!(outcome, Ok(Ok(())));
        if !matches!(drained, Drained::Clean) {
            totals.note_arrivals(|operation| pipeline.staging.arrived(operation));
            self.sinks = exchange.and_then(|exchange| pipeline.finish_sinks(exchange));
            return;
        }
        let key = RunKey::new(arguments, chunking, (pipeline.number, *devices));
        if let (true, true, Some(graphs), Some(key)) = (may_repeat, is_enqueued, &mut pipeline.graphs, key) {
            graphs.has_done(&key, totals);
        }
        totals.all_arrived();
        self.sinks = exchange.and_then(|exchange| pipeline.finish_sinks(exchange));
        // Carried data are a result only if the run had no failure.
        if is_enqueued && self.failure.is_none() && self.sinks.is_none() {
            *drained = pipeline.give_back(&mut arguments.shared, totals);
            // What several devices have written is noted once all have.
            if let (Drained::Clean, 1) = (&drained, *devices) {
                Written { plan: pipeline.plan, chunks: chunking.chunks() }.note(arguments);
            }
        }
    }
}

impl Pipeline {
    /// Copies out the last results, after the device was waited for.
    fn collect(&mut self, drained: &Drained) {
        self.staging.finish();
        if let Drained::Clean = drained {
            // This comes before the wait for callbacks, because they may wait for someone who receives these
            // results.
            // SAFETY: every stream has completed without an error, and this is the run that made the
            // deliveries.
            unsafe { self.staging.flush() };
        }
    }

    /// Ends the run and forgets its state.
    fn rest(&mut self) {
        self.staging.reset();
        self.graphs.iter_mut().for_each(|graphs| graphs.rest());
        self.states().rest();
        self.symbols.rest();
    }
}
