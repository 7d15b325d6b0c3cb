//! [`Call::run`]: prepares, enqueues, drains and reports a run.

use std::sync::Arc;

use crate::base::error::{Detail, Error, Result};
use crate::engine::arguments::{HostArgument, HostMemory};
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::explain::explain;
use crate::engine::feeds::exchange::{Closes, Exchange};
use crate::engine::feeds::streamed;
use crate::engine::frame::enqueue::Beside;
use crate::engine::purpose::Purpose;
use crate::engine::ranks::{Ranks, TellsOthers};
use crate::engine::run::Run;
use crate::engine::run::arrival::cancelled;
use crate::engine::{ChunkSize, Pipeline};
use crate::job::Cancels;
use crate::observe::timeline::{Basis, Timeline};
use crate::observe::watch::RunWatch;

impl Call<'_, '_> {
    /// Runs the pipeline: prepares its memory, lets `body` enqueue every chunk, and waits until the device is
    /// done.
    ///
    /// However `body` ends, by returning, failing or panicking, nothing of this run is in flight when this
    /// returns or unwinds; where the device cannot be waited for, everything that it might still access is
    /// poisoned and leaked.
    ///
    /// The timeline has spans if the call's purpose asks for them; a prediction has nothing else.
    ///
    /// # Errors
    /// Memory does not suffice, an operation cannot be enqueued or fails on the device.
    pub fn run(
        self,
        chunk: ChunkSize,
        body: impl Fn(&Run<'_>) -> Result<()> + Sync,
    ) -> Result<Box<Timeline>> {
        let watch = match self.purpose {
            Purpose::Run | Purpose::Profile => {
                let Pipeline { device, plan, listener, .. } = &*self.pipeline;
                RunWatch::new(plan, device, self.extent(), listener.clone())
            }
            Purpose::Predict => RunWatch::default(),
        };
        let callers = self.callers();
        let called = self.pipeline.called;
        // Whoever is told of the outcome may use the arguments again, so that they go before, even if this unwinds.
        let mut call = self;
        let outcome = match call.devices {
            1 => {
                let outcome = call.carry_out(chunk, body, &watch);
                drop(call);
                outcome
            }
            _ => call.carry_out_on_all(chunk, &body, &watch),
        };
        let outcome = outcome.map_err(|error| error.of_run_at(called));
        for caller in &callers {
            caller.end_run(outcome.as_ref().map(drop).map_err(Error::clone));
        }
        watch.end(outcome.as_ref().map(|timeline| &timeline.report));
        outcome
    }

    fn carry_out(
        &mut self,
        declared: ChunkSize,
        body: impl FnOnce(&Run<'_>) -> Result<()>,
        watch: &RunWatch,
    ) -> Result<Box<Timeline>> {
        let Call { pipeline, arguments, purpose, .. } = self;
        let running = match &pipeline.ranks {
            Some(ranks) if *purpose != Purpose::Predict => {
                ranks.begin(pipeline.plan, &pipeline.device, &mut arguments.answers)?
            }
            _ => None,
        };
        let world = running.as_ref().map(|running| running.world().clone());
        let chosen = self.admit().and_then(|()| {
            self.use_host_memory();
            self.choose(declared)
        });
        let chosen = if world.is_some() { self.with_known_length(chosen) } else { chosen };
        let chunking = match &world {
            Some(_) => self.agree(declared, chosen)?,
            None => chosen?,
        };
        let run = self.pipeline.ranks.as_ref().filter(|_| world.is_some()).map(Ranks::agreed);
        let Pipeline { device, plan, .. } = &*self.pipeline;
        let find_alike = device.is_simulated();
        let told = world.as_ref().map(|world| TellsOthers::new(world, plan.pipeline, find_alike));
        let outcome = self.carry_out_agreed(declared, chunking, body, watch);
        let outcome = match told {
            Some(told) => told.ends(outcome),
            None => outcome,
        };
        outcome.map(|mut timeline| {
            timeline.basis.run = run;
            timeline
        })
    }

    /// The rest of a run whose chunks are known, on all ranks if there are others.
    fn carry_out_agreed(
        &mut self,
        declared: ChunkSize,
        mut chunking: Chunking,
        body: impl FnOnce(&Run<'_>) -> Result<()>,
        watch: &RunWatch,
    ) -> Result<Box<Timeline>> {
        let basis = self.basis(declared);
        watch.begin();
        let repeated = if self.may_repeat(chunking) { self.repeat(chunking, None) } else { None };
        let mut timeline = match repeated {
            Some(enqueued) => self.drain(enqueued, None, None).report(watch, None)?,
            None => {
                let stages = self.make_room(declared, &mut chunking)?;
                self.enqueue_anew(chunking, stages, body, watch)?
            }
        };
        timeline.basis = Basis { by_bytes: timeline.basis.by_bytes, ..basis };
        Ok(timeline)
    }

    /// Refuses errors that can be known before there are chunks.
    pub(super) fn admit(&self) -> Result<()> {
        let Pipeline { device, plan, poisoned, .. } = &*self.pipeline;
        if *poisoned {
            return Err(Error::new(Detail::PipelinePoisoned).at(self.pipeline.place()));
        }
        device.driver().may_wait().map_err(|error| explain(plan, error))?;
        let given = (self.arguments.hosts.len(), self.arguments.buffers.len());
        if given != (plan.hosts.len(), plan.buffers.len()) {
            return Err(Error::new(Detail::Skipped).at(self.pipeline.place()));
        }
        if self.purpose == Purpose::Run && Cancels::of_this_thread().any() {
            return Err(cancelled(plan, None));
        }
        self.check_extent(self.purpose != Purpose::Predict)
    }

    /// The facts by which a timeline is judged.
    pub(super) fn basis(&self, declared: ChunkSize) -> Basis {
        let Pipeline { auto_depth, graphs, .. } = &*self.pipeline;
        let is_streamed = |host: &HostArgument<'_>| matches!(host.source.memory, HostMemory::Streamed);
        Basis {
            streamed: self.arguments.hosts.iter().map(is_streamed).collect(),
            auto_chunk: self.is_auto(declared),
            auto_depth: auto_depth.is_some(),
            graph: graphs.is_some(),
            ..Basis::default()
        }
    }

    /// Enqueues everything anew, without repeating graphs. `stages`: whether any data go through the staging
    /// memory.
    fn enqueue_anew(
        &mut self,
        chunking: Chunking,
        stages: bool,
        body: impl FnOnce(&Run<'_>) -> Result<()>,
        watch: &RunWatch,
    ) -> Result<Box<Timeline>> {
        if self.purpose == Purpose::Predict {
            return self.predict(chunking, stages, body, None);
        }
        if self.arguments.has_feeds {
            return self.with_threads(chunking, stages, body, watch);
        }
        watch.is_cut(chunking.chunks(), self.pipeline.depth);
        let enqueued = self.enqueue(chunking, stages, body, watch, Beside::default())?;
        self.drain(enqueued, None, None).report(watch, None)
    }

    /// Runs with sources and sinks. Their threads have ended when this returns or unwinds.
    fn with_threads(
        &mut self,
        chunking: Chunking,
        stages: bool,
        body: impl FnOnce(&Run<'_>) -> Result<()>,
        watch: &RunWatch,
    ) -> Result<Box<Timeline>> {
        let (exchange, threads): (Arc<Exchange>, _) = self.take_feeds();
        let plan = self.pipeline.plan;
        std::thread::scope(|scope| {
            let closes = Closes(&exchange);
            streamed::start(scope, &exchange, threads).map_err(|error| error.at(self.pipeline.place()))?;
            if !self.is_endless() {
                watch.is_cut(chunking.chunks(), self.pipeline.depth);
            }
            let beside = Beside { exchange: Some(&exchange), share: None };
            let enqueued = self.enqueue(chunking, stages, body, watch, beside);
            let outcome = enqueued.and_then(|enqueued| {
                self.drain(enqueued, Some(&exchange), None).report(watch, Some(&exchange))
            });
            drop(closes);
            // The scope waits for them too, but would not say for which.
            exchange.wait_for_threads(plan);
            outcome
        })
    }
}
