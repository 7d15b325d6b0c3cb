//! [`Call`]: the arguments of one run, checked.

use std::marker::PhantomData;

use bytemuck::Pod;

use super::ring::{ALIGN, Ring};
use super::shape::{BufferShape, Shape};
use super::shared::Shared;
use super::{AUTO_SLOT_BYTES, ChunkSize, Pipeline, place_of};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{HostMemory, HostSource, InOut, Input, Output};
use crate::plan::{BufferKind, BufferPlan, OperationKind};

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

/// One run being prepared.
pub struct Call<'p, 'a> {
    pub(super) pipeline: &'p mut Pipeline,
    pub(super) host_shapes: Vec<Shape>,
    pub(super) hosts: Vec<HostSource<'a>>,
    pub(super) buffers: Vec<BufferShape>,
    pub(super) shared: Vec<Shared<'a>>,
    pub(super) items: Option<usize>,
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
    pub(super) fn chunk(&self, declared: ChunkSize) -> Result<usize> {
        let items = match (self.pipeline.chunk, declared) {
            (Some(items), _) | (None, ChunkSize::Items(items)) => items,
            (None, ChunkSize::Auto) => {
                let ring = self.buffers.iter().filter(|buffer| buffer.shared.is_none());
                let shapes = self.host_shapes.iter().chain(ring.map(|buffer| &buffer.shape));
                let largest = shapes.map(|shape| shape.bytes()).max().unwrap_or(1).max(1);
                (AUTO_SLOT_BYTES / largest).min(self.items_in_budget()).max(1)
            }
        };
        if items == 0 { Err(Error::new(ErrorKind::ChunkZero).at(self.pipeline.place())) } else { Ok(items) }
    }

    /// The items that a chunk may have for the ring to stay within its budget.
    fn items_in_budget(&self) -> usize {
        let Some(budget) = self.pipeline.budget else { return usize::MAX };
        let shared: usize = self.buffers.iter().filter(|b| b.shared.is_some()).map(|b| b.bytes(0)).sum();
        let ring = self.buffers.iter().filter(|buffer| buffer.shared.is_none());
        let (mut per_item, mut slots) = (0_usize, 0_usize);
        for buffer in ring {
            per_item = per_item.saturating_add(buffer.shape.bytes());
            slots += self.pipeline.depth;
        }
        // Each slot is rounded up by less than the alignment, and each shared buffer too.
        let left = budget.saturating_sub(shared).saturating_sub((slots + self.buffers.len()) * ALIGN);
        left.checked_div(per_item.saturating_mul(self.pipeline.depth)).unwrap_or(usize::MAX)
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
    pub(super) fn reserve_ring(self, chunk: usize, slots: usize, shared: bool) -> Result<Self> {
        let size = |buffer: &BufferShape| match buffer.shared {
            // A run of nothing needs no slots.
            None => (slots > 0).then(|| (buffer.bytes(chunk), slots)),
            Some(_) => shared.then_some((buffer.bytes(chunk), 1)),
        };
        let sizes: Vec<_> = self.buffers.iter().map(size).collect();
        let needed = Ring::total(&sizes);
        if let Some(budget) = self.pipeline.budget.filter(|&budget| needed > budget) {
            return Err(Error::new(ErrorKind::Budget { needed, budget }).at(self.pipeline.place()));
        }
        let Pipeline { device, plan, ring, .. } = &mut *self.pipeline;
        let reserved = ring.reserve(device, plan.buffers, &sizes);
        reserved.map_err(|error| error.at(self.pipeline.place()))?;
        Ok(self)
    }

    /// Both sides of a copy have items of the same size.
    pub(super) fn check_copies(&self) -> Result<()> {
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
}
