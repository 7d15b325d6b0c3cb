//! [`Call`]: the arguments of one run, checked, and everything that happens around the enqueuing.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use bytemuck::Pod;

use super::run::Run;
use super::shared::Shared;
use super::{AUTO_SLOT_BYTES, ChunkSize, Drained, Pipeline, explain, place_of};
use crate::error::{DriverError, Error, ErrorKind, Result};
use crate::memory::{HostMemory, HostSource, InOut, Input, Output};
use crate::plan::{BufferKind, BufferPlan, OperationKind, Plan};
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

/// A device buffer of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct BufferShape {
    pub(super) shape: Shape,
    /// The elements of one that is the whole run's.
    pub(super) shared: Option<usize>,
}

impl BufferShape {
    /// Its bytes where a chunk has `items`.
    pub(super) fn bytes(self, items: usize) -> usize {
        self.shared.map_or(items.saturating_mul(self.shape.bytes()), |len| len * self.shape.element)
    }

    /// Its elements where a chunk has `items`.
    pub(super) fn len(self, items: usize) -> usize {
        // An item of elements that take no room may have any number of them.
        self.shared.unwrap_or(items.saturating_mul(self.shape.per_item))
    }
}

/// One run being prepared.
pub struct Call<'p, 'a> {
    pipeline: &'p mut Pipeline,
    host_shapes: Vec<Shape>,
    hosts: Vec<HostSource<'a>>,
    buffers: Vec<BufferShape>,
    shared: Vec<Shared<'a>>,
    items: Option<usize>,
}

impl<'p, 'a> Call<'p, 'a> {
    pub(super) fn new(pipeline: &'p mut Pipeline) -> Self {
        Self {
            pipeline,
            host_shapes: Vec::new(),
            hosts: Vec::new(),
            buffers: Vec::new(),
            shared: Vec::new(),
            items: None,
        }
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

    /// The next device buffer, a `resident`: all of `data`, for the whole run.
    ///
    /// # Errors
    /// It is poisoned or of another device.
    pub fn resident<T: Pod>(&mut self, data: impl Input<'a, T>) -> Result<Buffer<T>> {
        let source = data.source();
        let len = source.len;
        self.shared(source, len, None, false)
    }

    /// The next device buffer, a `carry` of `len` elements: it starts from `init`, or else from `data`, which gets what
    /// is there at the end.
    ///
    /// # Errors
    /// `data` has another length, is poisoned or of another device.
    pub fn carry<T: Pod>(
        &mut self,
        len: usize,
        init: Option<T>,
        data: impl InOut<'a, T>,
    ) -> Result<Buffer<T>> {
        let init = init.map(|value| bytemuck::bytes_of(&value).to_vec());
        self.shared(data.source(), len, init, true)
    }

    fn shared<T: Pod>(
        &mut self,
        source: HostSource<'a>,
        declared: usize,
        init: Option<Vec<u8>>,
        back: bool,
    ) -> Result<Buffer<T>> {
        const { assert!(align_of::<T>() <= 256, "device memory is aligned to 256 bytes") };
        let index = self.buffers.len();
        let (name, place) = (self.pipeline.plan.buffers[index].name, self.pipeline.place_of_buffer(index));
        let len = source.len;
        let usable = self.usable(name, &source);
        usable.map_err(|kind| Error::new(kind).at(place))?;
        if len != declared {
            return Err(Error::new(ErrorKind::CarryLength { carry: name, len, declared }).at(place));
        }
        let shape = Shape { element: size_of::<T>(), per_item: 1 };
        self.buffers.push(BufferShape { shape, shared: Some(len) });
        self.shared.push(Shared { buffer: index, source, bytes: len * size_of::<T>(), init, back });
        Ok(Buffer { index, elements: PhantomData })
    }

    /// Whether this device may use the memory.
    fn usable(&self, host: &'static str, source: &HostSource<'a>) -> Result<(), ErrorKind> {
        if let HostMemory::Pinned(core) = &source.memory {
            if core.is_poisoned() {
                return Err(ErrorKind::Poisoned { host });
            }
            if !core.device().same(&self.pipeline.device) {
                return Err(ErrorKind::OtherDevice { host });
            }
        }
        Ok(())
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
        self.usable(host, source)?;
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
        let index = self.buffers.len();
        let BufferPlan { name, kind, .. } = self.pipeline.plan.buffers[index];
        let buffer = match kind {
            BufferKind::Ring => {
                let shape = Shape::new(name, element, per_item)
                    .map_err(|kind| Error::new(kind).at(self.pipeline.place_of_buffer(index)))?;
                BufferShape { shape, shared: None }
            }
            // How long it is, a run knows.
            BufferKind::Resident | BufferKind::Carry => {
                BufferShape { shape: Shape { element, per_item: 1 }, shared: Some(0) }
            }
        };
        self.buffers.push(buffer);
        Ok(())
    }

    /// Items in a chunk, before the number of items is looked at.
    fn chunk(&self, declared: ChunkSize) -> Result<usize> {
        let items = match (self.pipeline.chunk, declared) {
            (Some(items), _) | (None, ChunkSize::Items(items)) => items,
            (None, ChunkSize::Auto) => {
                let ring = self.buffers.iter().filter(|buffer| buffer.shared.is_none());
                let shapes = self.host_shapes.iter().chain(ring.map(|buffer| &buffer.shape));
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
        let addressable = |buffer: &BufferShape| {
            let bytes = chunk.checked_mul(buffer.shape.bytes()).and_then(|bytes| bytes.checked_mul(depth));
            bytes.is_some_and(|bytes| bytes <= isize::MAX as usize)
        };
        // `chunk = usize::MAX` means all in one: how many that is, a run knows.
        if !self.buffers.iter().all(addressable) {
            return Ok(());
        }
        self.reserve_ring(chunk, depth, false).map(drop)
    }

    /// `shared`: also what is the whole run's.
    fn reserve_ring(self, chunk: usize, slots: usize, shared: bool) -> Result<Self> {
        let size = |buffer: &BufferShape| match buffer.shared {
            // A run of nothing needs no slots.
            None => (slots > 0).then(|| (buffer.bytes(chunk), slots)),
            Some(_) => shared.then_some((buffer.bytes(chunk), 1)),
        };
        let sizes: Vec<_> = self.buffers.iter().map(size).collect();
        let Pipeline { device, plan, ring, .. } = &mut *self.pipeline;
        let reserved = ring.reserve(device, plan.buffers, &sizes);
        reserved.map_err(|error| error.at(self.pipeline.place()))?;
        Ok(self)
    }

    /// Both sides of a copy have items of the same size.
    fn check_copies(&self) -> Result<()> {
        let plan = self.pipeline.plan;
        let host = |index: usize| (plan.hosts[index].name, self.host_shapes[index].per_item);
        let buffer = |index: usize| (plan.buffers[index].name, self.buffers[index].shape.per_item);
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
        // Without a chunk there is nothing to carry on: what is carried stays, or becomes what it starts from.
        let call = self.reserve_ring(chunk, slots, true)?;
        let Call { pipeline, host_shapes, hosts, buffers, shared, .. } = call;
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
            run.share(&shared)?;
            body(&run)?;
            run.finish()
        }));
        // Until the device is waited for nothing may unwind past this.
        let must_drain = AbortOnUnwind;
        let mut totals = run.into_totals();
        pipeline.staging = staging.into_inner();
        let mut drained = pipeline.drain();
        if let Drained::Clean = drained {
            // SAFETY: every stream has completed without an error, and this is the run that made the deliveries.
            unsafe { pipeline.staging.flush(&pipeline.device) };
            totals.all_arrived();
            // What is carried is a result of a run that went well.
            if let Ok(Ok(())) = outcome {
                drained = pipeline.give_back(&shared, &mut totals);
            }
        }
        if let Drained::Lost(_) = drained {
            pipeline.poison();
            for host in hosts.iter().chain(shared.iter().map(|shared| &shared.source)) {
                if let HostMemory::Pinned(core) = &host.memory {
                    core.poison();
                }
            }
        }
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
