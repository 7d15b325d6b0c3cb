//! [`Call`]: the arguments of one run, checked, and everything that happens around the enqueuing.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use bytemuck::Pod;

use super::run::Run;
use super::{AUTO_SLOT_BYTES, ChunkSize, Drained, Pipeline, explain, place_of};
use crate::error::{DriverError, Error, ErrorKind, Result};
use crate::memory::{HostMemory, HostSource, InOut, Input, Output};
use crate::plan::{OperationKind, Plan};
use crate::report::Report;

/// A host argument of the call that gave it.
#[derive(Debug)]
pub struct Host<T> {
    pub(super) index: usize,
    elements: PhantomData<fn() -> T>,
}

/// A device buffer of the call that gave it.
#[derive(Debug)]
pub struct Buffer<T> {
    pub(super) index: usize,
    elements: PhantomData<fn() -> T>,
}

impl<T> Clone for Host<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Host<T> {}
impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Buffer<T> {}

/// One item of a host argument or a buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Bytes of one element.
    pub(super) element: usize,
    /// Elements in one item.
    pub(super) per_item: usize,
}

impl Shape {
    fn new(name: &'static str, element: usize, per_item: usize) -> Result<Self, ErrorKind> {
        if per_item == 0 || element.checked_mul(per_item).is_none_or(|bytes| bytes > isize::MAX as usize) {
            return Err(ErrorKind::ItemSize { buffer: name, per_item });
        }
        Ok(Self { element, per_item })
    }

    pub(super) fn bytes(self) -> usize {
        self.element * self.per_item
    }
}

/// One run being prepared.
pub struct Call<'p, 'a> {
    pipeline: &'p mut Pipeline,
    host_shapes: Vec<Shape>,
    hosts: Vec<HostSource<'a>>,
    buffers: Vec<Shape>,
    items: Option<usize>,
}

impl<'p, 'a> Call<'p, 'a> {
    pub(super) fn new(pipeline: &'p mut Pipeline) -> Self {
        Self { pipeline, host_shapes: Vec::new(), hosts: Vec::new(), buffers: Vec::new(), items: None }
    }

    /// The next `input`: `per_item` elements an item.
    ///
    /// # Errors
    /// Its length does not fit its shape or the other arguments; it is poisoned or of another device.
    pub fn input<T: Pod>(&mut self, per_item: usize, data: impl Input<'a, T>) -> Result<Host<T>> {
        self.host(per_item, data.source())
    }

    /// The next `inout`.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn inout<T: Pod>(&mut self, per_item: usize, data: impl InOut<'a, T>) -> Result<Host<T>> {
        self.host(per_item, data.source())
    }

    /// The next `output`.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn output<T: Pod>(&mut self, per_item: usize, data: impl Output<'a, T>) -> Result<Host<T>> {
        self.host(per_item, data.source())
    }

    /// The next device buffer.
    ///
    /// # Errors
    /// Its shape is 0 or does not fit memory.
    pub fn device<T: Pod>(&mut self, per_item: usize) -> Result<Buffer<T>> {
        const { assert!(align_of::<T>() <= 256, "device memory is aligned to 256 bytes") };
        let index = self.buffers.len();
        self.shape_of_buffer(size_of::<T>(), per_item)?;
        Ok(Buffer { index, elements: PhantomData })
    }

    fn host<T: Pod>(&mut self, per_item: usize, source: HostSource<'a>) -> Result<Host<T>> {
        let index = self.hosts.len();
        let shape = self.shape_of_host(index, size_of::<T>(), per_item)?;
        let items = self
            .check(index, per_item, &source)
            .map_err(|kind| Error::new(kind).at(self.pipeline.place_of_host(index)))?;
        self.items = Some(items);
        // Together, so that an argument that was refused leaves nothing to the next one.
        self.host_shapes.push(shape);
        self.hosts.push(source);
        Ok(Host { index, elements: PhantomData })
    }

    fn check(&self, index: usize, per_item: usize, source: &HostSource<'a>) -> Result<usize, ErrorKind> {
        let names = self.pipeline.plan.hosts;
        let host = names[index].name;
        if let HostMemory::Pinned(core) = &source.memory {
            if core.is_poisoned() {
                return Err(ErrorKind::Poisoned { host });
            }
            if !core.device().same(&self.pipeline.device) {
                return Err(ErrorKind::OtherDevice { host });
            }
        }
        if !source.len.is_multiple_of(per_item) {
            return Err(ErrorKind::Shape { host, len: source.len, per_item });
        }
        let items = source.len / per_item;
        match self.items {
            Some(other_items) if other_items != items => {
                Err(ErrorKind::Length { host, items, other: names[index - 1].name, other_items })
            }
            _ => Ok(items),
        }
    }

    fn shape_of_host(&self, index: usize, element: usize, per_item: usize) -> Result<Shape> {
        let shape = Shape::new(self.pipeline.plan.hosts[index].name, element, per_item);
        shape.map_err(|kind| Error::new(kind).at(self.pipeline.place_of_host(index)))
    }

    /// The next host argument, of which only the shape is known yet.
    pub(super) fn host_of_shape(&mut self, element: usize, per_item: usize) -> Result<()> {
        let shape = self.shape_of_host(self.host_shapes.len(), element, per_item)?;
        self.host_shapes.push(shape);
        Ok(())
    }

    pub(super) fn shape_of_buffer(&mut self, element: usize, per_item: usize) -> Result<()> {
        let name = self.pipeline.plan.buffers[self.buffers.len()];
        let shape = Shape::new(name, element, per_item);
        self.buffers.push(shape.map_err(|kind| Error::new(kind).at(self.pipeline.place()))?);
        Ok(())
    }

    /// Items in a chunk, before the number of items is looked at.
    fn chunk(&self, declared: ChunkSize) -> Result<usize> {
        let items = match (self.pipeline.chunk, declared) {
            (Some(items), _) | (None, ChunkSize::Items(items)) => items,
            (None, ChunkSize::Auto) => {
                let shapes = self.host_shapes.iter().chain(&self.buffers);
                let largest = shapes.map(|shape| shape.bytes()).max().unwrap_or(1).max(1);
                (AUTO_SLOT_BYTES / largest).max(1)
            }
        };
        if items == 0 { Err(Error::new(ErrorKind::ChunkZero).at(self.pipeline.place())) } else { Ok(items) }
    }

    /// Allocates the ring for whole chunks.
    pub(super) fn reserve(self, chunk: ChunkSize) -> Result<()> {
        self.check_copies()?;
        let chunk = self.chunk(chunk)?;
        let depth = self.pipeline.depth;
        let addressable = |shape: &Shape| {
            let bytes = chunk.checked_mul(shape.bytes()).and_then(|bytes| bytes.checked_mul(depth));
            bytes.is_some_and(|bytes| bytes <= isize::MAX as usize)
        };
        // `chunk = usize::MAX` means all in one: how many that is, a run knows.
        if !self.buffers.iter().all(addressable) {
            return Ok(());
        }
        self.reserve_ring(chunk, depth).map(drop)
    }

    fn reserve_ring(self, chunk: usize, slots: usize) -> Result<Self> {
        let bytes: Vec<_> = self.buffers.iter().map(|shape| chunk.saturating_mul(shape.bytes())).collect();
        let Pipeline { device, plan, ring, .. } = &mut *self.pipeline;
        let reserved = ring.reserve(device, plan.buffers, &bytes, slots);
        reserved.map_err(|error| error.at(self.pipeline.place()))?;
        Ok(self)
    }

    /// Both sides of a copy have items of the same size.
    fn check_copies(&self) -> Result<()> {
        let plan = self.pipeline.plan;
        let host = |index: usize| (plan.hosts[index].name, self.host_shapes[index].per_item);
        let buffer = |index: usize| (plan.buffers[index], self.buffers[index].per_item);
        for (index, operation) in plan.operations.iter().enumerate() {
            let ((from, from_per_item), (to, to_per_item)) = match operation.kind {
                OperationKind::Upload { host: from, buffer: to } => (host(from), buffer(to)),
                OperationKind::Download { host: to, buffer: from } => (buffer(from), host(to)),
                OperationKind::CopyOnDevice { from, to } => (buffer(from), buffer(to)),
                OperationKind::Fill { .. } | OperationKind::Launch { .. } => continue,
            };
            if from_per_item != to_per_item {
                let kind = ErrorKind::CopyShape { from, from_per_item, to, to_per_item };
                return Err(Error::new(kind).at(place_of(plan, index, None)));
            }
        }
        Ok(())
    }

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
        let items = self.items.unwrap_or(0);
        let chunk = self.chunk(chunk)?.min(items.max(1));
        let chunks = items.div_ceil(chunk);
        let slots = self.pipeline.depth.min(chunks);
        let call = if chunks == 0 { self } else { self.reserve_ring(chunk, slots)? };
        let Call { pipeline, host_shapes, hosts, buffers, .. } = call;
        pipeline.staging.reset();
        let staged = staged_bytes(plan, &hosts, &host_shapes, chunk);
        let staging_name = |operation: usize| plan.operations[operation].text;
        pipeline
            .staging
            .reserve(&pipeline.device, &staged, slots, staging_name)
            .map_err(|error| error.at(pipeline.place()))?;

        let start = pipeline.device.driver().clock();
        let staging = RefCell::new(std::mem::take(&mut pipeline.staging));
        let run = Run::new(pipeline, &staging, &hosts, &host_shapes, &buffers, items, chunk);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            body(&run)?;
            run.finish()
        }));
        // Until the device is waited for nothing may unwind past this.
        let must_drain = AbortOnUnwind;
        let mut totals = run.into_totals();
        pipeline.staging = staging.into_inner();
        let drained = match pipeline.drain() {
            Drained::Clean => {
                // SAFETY: every stream has completed without an error, and this is the run that made the deliveries.
                unsafe { pipeline.staging.flush(&pipeline.device) };
                totals.all_arrived();
                Drained::Clean
            }
            Drained::Failed(error) => Drained::Failed(error),
            Drained::Lost(error) => {
                pipeline.poison();
                for host in &hosts {
                    if let HostMemory::Pinned(core) = &host.memory {
                        core.poison();
                    }
                }
                Drained::Lost(error)
            }
        };
        std::mem::forget(must_drain);
        pipeline.staging.reset();
        let enqueued = outcome.unwrap_or_else(|panic| resume_unwind(panic));
        let time = pipeline.device.driver().clock().saturating_sub(start);

        let on_device = match drained {
            Drained::Clean => None,
            Drained::Failed(error) | Drained::Lost(error) => Some(error),
        };
        match first_error(plan, enqueued, on_device) {
            Some(error) => Err(error.with_complete(totals.complete(plan, chunk, items))),
            None => Ok(Report {
                pipeline: plan.pipeline,
                device: pipeline.device.name().to_owned(),
                items,
                chunks,
                chunk,
                depth: pipeline.depth,
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
        (Some(noticed), _) => Some(noticed),
    }
}

/// For each operation the bytes of its staging slot, if the host side of its copy is pageable.
fn staged_bytes(plan: &Plan, hosts: &[HostSource<'_>], shapes: &[Shape], chunk: usize) -> Vec<Option<usize>> {
    let stages = |operation: &crate::plan::OperationPlan| match operation.kind {
        OperationKind::Upload { host, .. } | OperationKind::Download { host, .. } => {
            matches!(hosts.get(host)?.memory, HostMemory::Pageable(_))
                .then(|| chunk.saturating_mul(shapes[host].bytes()))
        }
        _ => None,
    };
    plan.operations.iter().map(stages).collect()
}
