//! Predicts a run without carrying anything out.

use std::cell::RefCell;

use crate::base::error::Result;
use crate::device::memory::Direction;
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::chunks::dealer::Share;
use crate::engine::purpose::Purpose;
use crate::engine::run::Run;
use crate::engine::run::chunks::Chunks;
use crate::engine::run::resources::Taken;
use crate::engine::targets::graph::recorder::Cover;
use crate::engine::targets::model::Model;
use crate::engine::targets::{ModelTarget, Target};
use crate::engine::totals::Totals;
use crate::observe::timeline::{Timeline, nanos};
use crate::observe::watch::{self, RunWatch};

impl Call<'_, '_> {
    /// Predicts the duration of a run, or of what a device has of it.
    pub(super) fn predict(
        &mut self,
        chunking: Chunking,
        stages: bool,
        body: impl FnOnce(&Run<'_>) -> Result<()>,
        share: Option<&Share<'_>>,
    ) -> Result<Box<Timeline>> {
        let outcome = self.work_out(chunking, stages, body, share);
        let Call { pipeline, arguments, .. } = self;
        pipeline.arena = arguments.give_back();
        outcome
    }

    fn work_out(
        &self,
        chunking: Chunking,
        stages: bool,
        body: impl FnOnce(&Run<'_>) -> Result<()>,
        share: Option<&Share<'_>>,
    ) -> Result<Box<Timeline>> {
        let pipeline = &*self.pipeline;
        let slots = pipeline.depth.min(chunking.chunks());
        let graph = pipeline.graphs.is_some() && slots > 0 && !pipeline.device.driver().is_synchronous();
        let cover = graph.then(|| Cover::new(pipeline.plan, stages));
        let (mut model, mut totals) = (self.model(slots, cover), Totals::default());
        self.arguments.work_out_shared(slots, &mut model, &mut totals, Direction::In);
        let model = RefCell::new(model);
        totals.add(&self.enqueue_into(&model, chunking, graph, body, share)?);
        let mut model = model.into_inner();
        let mut report = self.report(chunking, graph, share.map(|share| &share.hand));
        report.enqueuing = nanos(model.clock());
        model.drain();
        self.arguments.work_out_shared(slots, &mut model, &mut totals, Direction::Out);
        report.time = nanos(model.clock());
        report.simulated = true;
        totals.tell(&mut report);
        let by_bytes = model.goes_by_bytes();
        let mut timeline = pipeline.timeline(report, Purpose::Predict);
        pipeline.add_spans(&mut timeline, &model.finish(), &self.arguments.hosts);
        timeline.basis.by_bytes = by_bytes;
        Ok(timeline)
    }

    /// A model of the device. Calibrates the device if that was not done yet.
    fn model(&self, slots: usize, cover: Option<Cover>) -> Model {
        let pipeline = &*self.pipeline;
        watch::calibrated(&pipeline.device);
        Model::new(&pipeline.device, pipeline.plan, &pipeline.streams, slots, cover, &pipeline.measured)
    }

    /// Lets `body` enqueue every chunk into a model; returns the totals that would be moved.
    fn enqueue_into(
        &self,
        model: &RefCell<Model>,
        chunking: Chunking,
        graph: bool,
        body: impl FnOnce(&Run<'_>) -> Result<()>,
        share: Option<&Share<'_>>,
    ) -> Result<Totals> {
        let Call { pipeline, arguments, .. } = self;
        let chunks =
            Chunks::new(chunking, pipeline.depth, (None, share), arguments.items.unwrap_or_default());
        // Nothing is staged and no variable is written.
        let (taken, seen) = (Taken::default(), RunWatch::default());
        let target = Target::Model(ModelTarget::new(model, &arguments.in_place));
        let resources = pipeline.resources(graph);
        let run = Run::new((resources, &taken), arguments, chunks, (target, &seen), Vec::new());
        body(&run)?;
        run.finish()?;
        drop(run);
        Ok(taken.totals.into_inner())
    }
}
