//! [`Call::run`]: what happens around the enqueuing, so that nothing is in flight when it is over.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::call::Call;
use super::functions::Failure;
use super::graph::{Cover, Recorder};
use super::in_place::InPlace;
use super::run::Run;
use super::shape::Shape;
use super::shared::Shared;
use super::{ChunkSize, Drained, explain, place_of};
use crate::error::{DriverError, Error, ErrorKind, Result};
use crate::memory::{HostMemory, HostSource};
use crate::plan::{OperationKind, Plan};
use crate::report::Report;

impl Call<'_, '_> {
    /// Runs the pipeline: prepares its memory, lets `body` enqueue every chunk, and waits until the device is done.
    ///
    /// However `body` ends, by returning, failing or panicking, nothing of this run is in flight when this returns or
    /// unwinds; where the device cannot be waited for, everything that it might still access is poisoned and leaked.
    ///
    /// # Errors
    /// Memory does not suffice, an operation cannot be enqueued or fails on the device.
    pub fn run(self, chunk: ChunkSize, body: impl FnOnce(&Run<'_>) -> Result<()>) -> Result<Report> {
        let plan = self.pipeline.plan;
        if self.pipeline.poisoned {
            return Err(Error::new(ErrorKind::PipelinePoisoned).at(self.pipeline.place()));
        }
        if let Err(error) = self.pipeline.device.driver().may_wait() {
            return Err(explain(plan, error));
        }
        if self.hosts.len() != plan.hosts.len() || self.buffers.len() != plan.buffers.len() {
            return Err(Error::new(ErrorKind::Skipped).at(self.pipeline.place()));
        }
        self.check_copies()?;
        let items = self.items();
        let chunk = self.chunk(chunk)?.min(items.max(1));
        let chunks = items.div_ceil(chunk);
        self.check_per_chunk(chunks)?;
        let slots = self.pipeline.depth.min(chunks);
        // Without a chunk there is nothing to carry on: what is carried stays, or becomes what it starts from.
        let call = self.reserve_ring(chunk, slots, true)?;
        let Call { pipeline, host_shapes, hosts, buffers, shared, in_place, .. } = call;
        pipeline.staging.reset();
        let staged = staged_bytes(plan, &hosts, &host_shapes, chunk);
        let staging_name = |operation: usize| plan.operations[operation].text;
        pipeline
            .staging
            .reserve(&pipeline.device, &staged, slots, staging_name)
            .map_err(|error| error.at(pipeline.place()))?;

        let cover = Cover::new(plan, staged.iter().any(Option::is_some));
        let lanes = match cover {
            Cover::Run => 1,
            Cover::Chunk { .. } => slots,
        };
        // Where each operation is waited for, a graph would hide which one failed.
        let recorder = if pipeline.graph && slots > 0 && !pipeline.device.driver().is_synchronous() {
            let reserved = pipeline.graphs.reserve(&pipeline.device, lanes);
            reserved.map_err(|error| explain(plan, error))?;
            let graphs = std::mem::take(&mut pipeline.graphs);
            Some(Recorder::new(&pipeline.device, graphs, cover, pipeline.depth))
        } else {
            None
        };

        // What the run shares is copied by the plan's first stream.
        let graphs_only = recorder.is_some() && shared.is_empty();

        let start = pipeline.device.driver().clock();
        let staging = RefCell::new(std::mem::take(&mut pipeline.staging));
        let symbols = RefCell::new(std::mem::take(&mut pipeline.symbols));
        let arguments = (&*buffers, &*in_place);
        let graph = recorder.is_some();
        let resources = (&staging, &symbols);
        let run = Run::new(pipeline, resources, &hosts, &host_shapes, arguments, [items, chunk], recorder);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            run.share(&shared)?;
            body(&run)?;
            run.finish()
        }));
        // Until the device is waited for nothing may unwind past this.
        let must_drain = AbortOnUnwind;
        let (mut totals, functions, graphs) = run.into_parts();
        pipeline.graphs = graphs.unwrap_or(std::mem::take(&mut pipeline.graphs));
        pipeline.staging = staging.into_inner();
        pipeline.symbols = symbols.into_inner();
        let mut drained = pipeline.drain(graphs_only);
        let failure = functions.finish();
        if let Drained::Clean = drained {
            // SAFETY: every stream has completed without an error, and this is the run that made the deliveries.
            unsafe { pipeline.staging.flush(&pipeline.device) };
            totals.all_arrived();
            // What is carried is a result of a run that went well.
            if let (Ok(Ok(())), None) = (&outcome, &failure) {
                drained = pipeline.give_back(&shared, &mut totals);
            }
        }
        if let Drained::Lost(_) = drained {
            pipeline.poison();
            for host in hosts.iter().chain(shared.iter().filter_map(Shared::source)) {
                if let HostMemory::Pinned(range) = &host.memory {
                    range.core().poison();
                }
            }
            in_place.iter().for_each(InPlace::poison);
        }
        std::mem::forget(must_drain);
        pipeline.staging.reset();
        pipeline.graphs.rest();
        pipeline.states().rest();
        pipeline.symbols.rest();
        let enqueued = outcome.unwrap_or_else(|panic| resume_unwind(panic));
        let time = pipeline.device.driver().clock().saturating_sub(start);

        let on_device = match drained {
            Drained::Clean => None,
            Drained::Failed(error) | Drained::Lost(error) => Some(error),
        };
        let lacking = failure.as_ref().map_or(usize::MAX, |failure| failure.lacking);
        let error = first_error(plan, enqueued, on_device).or_else(|| {
            let Failure { operation, chunk, .. } = *failure.as_ref()?;
            let place = place_of(plan, operation, Some(chunk as u64));
            Some(Error::new(failure?.kind(plan)).at(place))
        });
        match error {
            Some(error) => Err(error.with_complete(totals.complete(plan, lacking, chunk, items))),
            None => Ok(Report {
                pipeline: plan.pipeline,
                device: pipeline.device.name().to_owned(),
                items,
                chunks,
                chunk,
                depth: pipeline.depth,
                graph,
                bytes_to_device: totals.to_device,
                bytes_to_host: totals.to_host,
                bytes_staged: totals.staged,
                time,
                simulated: pipeline.device.is_simulated(),
            }),
        }
    }
}

/// Ends the process if it is dropped: the only way left to keep the device from memory that is about to be freed.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// The error to report of those that enqueuing and waiting gave.
fn first_error(plan: &'static Plan, enqueued: Result<()>, on_device: Option<DriverError>) -> Option<Error> {
    match (enqueued.err(), on_device) {
        (None, on_device) => on_device.map(|error| explain(plan, error)),
        // A later call merely noticed a failure whose origin the device can tell.
        (Some(noticed), Some(error))
            if matches!(noticed.kind(), ErrorKind::Driver(_)) && error.tag.is_some() =>
        {
            Some(explain(plan, error))
        }
        // A library tells that the device failed, but not of what.
        (Some(noticed), Some(error)) => Some(noticed.with_cause(error)),
        (Some(noticed), None) => Some(noticed),
    }
}

/// For each operation the bytes of its staging slot, if the CPU has a part in its copy.
fn staged_bytes(plan: &Plan, hosts: &[HostSource<'_>], shapes: &[Shape], chunk: usize) -> Vec<Option<usize>> {
    let stages = |operation: &crate::plan::OperationPlan| match operation.kind {
        OperationKind::Upload { host, .. } | OperationKind::Download { host, .. } => {
            let shape = shapes[host];
            match hosts.get(host)?.memory {
                HostMemory::Pageable(_) => Some(shape.items(chunk).saturating_mul(shape.bytes())),
                // What lies beyond the ends is made up.
                HostMemory::Pinned(_) => (shape.halo > 0).then(|| 2 * shape.halo * shape.bytes()),
            }
        }
        _ => None,
    };
    plan.operations.iter().map(stages).collect()
}
