//! [`Call`]: the checked arguments of one run. The methods for arguments that are used where they lie, and
//! for those that the whole run shares, are in `in_place` and `shared`.

mod host_memory;
mod in_place;
mod shared;
mod streamed;

use std::fmt;
use std::sync::Arc;

use bytemuck::{NoUninit, Pod};

use crate::base::error::{Detail, Error, Result};
use crate::base::plan::{BufferKind, BufferPlan};
use crate::device::Device;
use crate::driver::DevicePtr;
use crate::engine::Pipeline;
use crate::engine::arguments::answers::Uniform;
use crate::engine::arguments::handles::{Buffer, Host};
use crate::engine::arguments::shape::{BufferPlace, BufferShape, Edge, Shape, Size};
use crate::engine::arguments::{Arguments, HostArgument, HostMemory, HostSource, InOut, Input, Output};
use crate::engine::feeds::exchange::guarded;
use crate::engine::pipeline::ChunkSize;
use crate::engine::purpose::Purpose;

/// What a pipeline's expressions know of the world: `world.rank` and `world.size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// This rank, from 0.
    pub rank: usize,
    /// The number of ranks.
    pub size: usize,
}

/// A run under preparation.
pub struct Call<'p, 'a> {
    pub(crate) pipeline: &'p mut Pipeline,
    /// The pipeline on its other devices.
    pub(crate) others: &'p mut [Pipeline],
    /// The number of devices that share the run.
    pub(crate) devices: usize,
    pub(crate) purpose: Purpose,
    pub(crate) arguments: Arguments<'a>,
    /// The halo of the next argument or buffer.
    halo: (usize, Edge),
    per_chunk: bool,
}

impl fmt::Debug for Call<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}

impl<'p, 'a> Call<'p, 'a> {
    /// `others`: the pipeline on its other devices.
    pub(crate) fn new(pipeline: &'p mut Pipeline, others: &'p mut [Pipeline], purpose: Purpose) -> Self {
        // A run gives it back at its end.
        let arena = std::mem::take(&mut pipeline.arena);
        let arguments = Arguments::new(arena, pipeline.plan.hosts.len());
        let devices = 1 + others.len();
        Self { pipeline, others, devices, purpose, arguments, halo: (0, Edge::Clamp), per_chunk: false }
    }

    /// Lets the other ranks know if this one does not come to the run, unless there is none.
    pub(crate) fn among_ranks(mut self) -> Self {
        if self.purpose != Purpose::Predict {
            let Pipeline { ranks, plan, .. } = &mut *self.pipeline;
            self.arguments.answers = ranks.as_mut().and_then(|ranks| ranks.answers(plan));
        }
        self
    }

    /// The call on each of its devices, with the same arguments.
    pub(crate) fn on_each(self) -> Vec<Self> {
        let Self { pipeline, others, devices, purpose, arguments, halo, per_chunk } = self;
        let others = others.iter_mut().map(|pipeline| {
            let arguments = arguments.again(std::mem::take(&mut pipeline.arena), pipeline.number);
            Self { pipeline, others: &mut [], devices, purpose, arguments, halo, per_chunk }
        });
        let mut all: Vec<_> = others.collect();
        all.insert(0, Self { pipeline, others: &mut [], devices, purpose, arguments, halo, per_chunk });
        all
    }

    /// All of its devices.
    fn all_devices(&self) -> impl Iterator<Item = &Device> {
        std::iter::once(&*self.pipeline).chain(&*self.others).map(|pipeline| &pipeline.device)
    }

    /// The next argument or buffer sees `items` more on each side of a chunk.
    pub fn halo(&mut self, items: usize, edge: Edge) -> &mut Self {
        self.halo = (items, edge);
        self
    }

    /// The next argument or buffer has elements for each chunk.
    pub fn per_chunk(&mut self) -> &mut Self {
        (self.per_chunk, self.arguments.any_per_chunk) = (true, true);
        self
    }

    /// The size of the next argument or buffer.
    pub(crate) fn size<T>(&mut self, per_item: usize) -> (Size, Edge) {
        let (halo, edge) = std::mem::replace(&mut self.halo, (0, Edge::Clamp));
        let size = Size::of::<T>(per_item).with_halo(halo);
        (if std::mem::take(&mut self.per_chunk) { size.per_chunk() } else { size }, edge)
    }

    /// Whether there are other ranks.
    pub(crate) fn has_ranks(&self) -> bool {
        self.pipeline.ranks.as_ref().is_some_and(|ranks| ranks.size() > 1)
    }

    /// The rank and the number of ranks, for the user's expressions.
    pub fn world(&self) -> Standing {
        let ranks = self.pipeline.ranks.as_ref();
        Standing { rank: ranks.map_or(0, |ranks| ranks.rank()), size: ranks.map_or(1, |ranks| ranks.size()) }
    }

    /// A parameter that has the same value on all ranks.
    pub fn uniform<T: NoUninit>(&mut self, name: &'static str, value: &T) {
        if self.has_ranks() {
            self.arguments.uniform.push(Uniform::new(name, value));
        }
    }

    /// The number of items of the run.
    pub(crate) fn items(&self) -> usize {
        self.arguments.items.map_or(0, |(items, _)| items)
    }

    /// The next `input`: `per_item` elements an item.
    ///
    /// # Errors
    /// Its length does not fit its shape or the other arguments; it is poisoned or of another device.
    pub fn input<T: Pod>(&mut self, per_item: usize, data: impl Input<'a, T>) -> Result<Host<T>> {
        self.host(per_item, data.source(), true)
    }

    /// The next `inout`.
    ///
    /// # Errors
    /// Those of [`input`](Self::input).
    pub fn inout<T: Pod>(&mut self, per_item: usize, data: impl InOut<'a, T>) -> Result<Host<T>> {
        self.host(per_item, data.source(), true)
    }

    /// The next `output`.
    ///
    /// # Errors
    /// Those of [`input`](Self::input).
    pub fn output<T: Pod>(&mut self, per_item: usize, data: impl Output<'a, T>) -> Result<Host<T>> {
        self.host(per_item, data.source(), false)
    }

    /// The next device buffer.
    ///
    /// # Errors
    /// Its shape is 0 or does not fit memory.
    pub fn device<T: Pod>(&mut self, per_item: usize) -> Result<Buffer<T>> {
        const { assert!(align_of::<T>() <= 256, "device memory is aligned to 256 bytes") };
        self.scratch(per_item)
    }

    /// The next buffer, which is in page-locked host memory.
    ///
    /// # Errors
    /// Those of [`device`](Self::device).
    pub fn host_scratch<T: Pod>(&mut self, per_item: usize) -> Result<Buffer<T>> {
        const { assert!(align_of::<T>() <= 64, "page-locked memory is aligned to 64 bytes") };
        self.scratch(per_item)
    }

    /// Adds the next buffer, whose shape was checked.
    pub(crate) fn push<T>(&mut self, buffer: BufferShape) -> Buffer<T> {
        self.arguments.buffers.push(buffer);
        Buffer::new(self.arguments.buffers.len() - 1)
    }

    fn scratch<T>(&mut self, per_item: usize) -> Result<Buffer<T>> {
        let index = self.arguments.buffers.len();
        let (size, edge) = self.size::<T>(per_item);
        self.shape_of_buffer(size, edge)?;
        Ok(Buffer::new(index))
    }

    /// Checks that each device may use the host's memory, and that data which the run `reads` there were
    /// written without failure.
    pub(crate) fn usable_on_host(
        &self,
        host: &'static str,
        source: &HostSource<'a>,
        reads: bool,
    ) -> Result<()> {
        match &source.memory {
            HostMemory::Pageable(_) | HostMemory::Streamed => Ok(()),
            HostMemory::Pinned(range) => {
                let core = range.core();
                if core.is_poisoned() {
                    return Err(Detail::Poisoned { host }.into());
                }
                for device in self.all_devices() {
                    if !core.is_copied_by(device)? {
                        device.check_own(host, core.device())?;
                    }
                }
                range.failure().filter(|_| reads).map_or(Ok(()), Err)
            }
        }
    }

    fn host<T: Pod>(&mut self, per_item: usize, mut source: HostSource<'a>, reads: bool) -> Result<Host<T>> {
        let index = self.arguments.hosts.len();
        let (size, edge) = self.size::<T>(per_item);
        let shape = self.shape_of_host(index, size, edge)?;
        let name = self.pipeline.plan.hosts[index].name;
        self.usable_on_host(name, &source, reads)
            .and_then(|()| match &mut source.feed {
                Some(feed) => {
                    self.may_stream(index, feed, shape)?;
                    let elements = guarded(|| feed.elements(shape.per_item))
                        .map_err(|error| Detail::Source { host: name, error: Arc::new(error) })?;
                    Ok(elements.map_or(Ok(()), |elements| self.count(name, shape, elements))?)
                }
                None => Ok(self.count(name, shape, source.len)?),
            })
            .map_err(|error| error.at(self.pipeline.place_of_host(index)))?;
        // Both change together, so that a refused argument leaves nothing behind for the next one.
        self.arguments.has_feeds |= source.feed.is_some();
        self.arguments.hosts.push(HostArgument { source, shape });
        Ok(Host::new(index))
    }

    /// Checks that an argument of `len` elements has as many items as the others.
    pub(crate) fn count(&mut self, host: &'static str, shape: Shape, len: usize) -> Result<(), Detail> {
        let per_item = shape.per_item;
        if shape.per_chunk {
            // The number of chunks is not known yet.
            return Ok(());
        }
        // Usually nothing must be divided: a division takes as long as all the rest.
        let items = if per_item == 1 { len } else { len / per_item };
        if items * per_item != len {
            return Err(Detail::Shape { host, len, per_item });
        }
        match self.arguments.items {
            Some((other_items, other)) if other_items != items => {
                Err(Detail::Length { host, items, other, other_items })
            }
            _ => {
                self.arguments.items = Some((items, host));
                Ok(())
            }
        }
    }

    /// Checks that arguments with elements for each chunk have enough of them.
    pub(crate) fn check_per_chunk(&self, chunks: usize) -> Result<()> {
        if !self.arguments.any_per_chunk {
            return Ok(());
        }
        let plan = self.pipeline.plan;
        let too_short = |host, len, shape: &Shape| {
            let per_chunk = shape.per_item;
            let short = shape.per_chunk && len / per_chunk < chunks;
            short.then(|| Error::new(Detail::PerChunkLength { host, len, chunks, per_chunk }))
        };
        for (index, HostArgument { source, shape }) in self.arguments.hosts.iter().enumerate() {
            // A sink accepts any number.
            if matches!(source.memory, HostMemory::Streamed) {
                continue;
            }
            if let Some(error) = too_short(plan.hosts[index].name, source.len, shape) {
                return Err(error.at(self.pipeline.place_of_host(index)));
            }
        }
        let in_place = self.arguments.buffers.iter().enumerate().filter(|(_, buffer)| buffer.is_in_place());
        for ((index, buffer), data) in in_place.zip(&self.arguments.in_place) {
            if let Some(error) = too_short(plan.buffers[index].name, data.len, &buffer.shape) {
                return Err(error.at(self.pipeline.place_of_buffer(index)));
            }
        }
        Ok(())
    }

    /// Declares that these words, which include the parameters, and the run's arguments alone determine what
    /// the run enqueues; this holds if all words are `Some`.
    #[inline]
    pub fn repeats<const N: usize>(&mut self, words: [Option<u64>; N]) {
        self.arguments.repeats = words.iter().all(Option::is_some);
        self.arguments.words.extend(words.into_iter().flatten());
    }

    fn shape_of_host(&self, index: usize, size: Size, edge: Edge) -> Result<Shape> {
        let shape = Shape::new(self.pipeline.plan.hosts[index].name, size, edge);
        shape.map_err(|kind| Error::new(kind).at(self.pipeline.place_of_host(index)))
    }

    /// Adds the next host argument, of which only the shape is known yet.
    pub(crate) fn host_of_shape(&mut self, size: Size) -> Result<()> {
        let shape = self.shape_of_host(self.arguments.hosts.len(), size, Edge::Clamp)?;
        self.arguments.hosts.push(HostArgument { source: HostSource::unknown(), shape });
        Ok(())
    }

    /// Adds the next buffer. Of an argument of the run only the shape is known.
    pub(crate) fn shape_of_buffer(&mut self, size: Size, edge: Edge) -> Result<()> {
        let index = self.arguments.buffers.len();
        let BufferPlan { name, kind, .. } = self.pipeline.plan.buffers[index];
        let place = match kind {
            BufferKind::Ring => BufferPlace::Ring,
            BufferKind::HostScratch => BufferPlace::HostRing,
            // A run knows their length.
            BufferKind::Resident | BufferKind::Carry => BufferPlace::Shared(0),
            BufferKind::CarryPerSlot => BufferPlace::SharedPerSlot(0),
            BufferKind::InPlace { .. } => BufferPlace::InPlace(DevicePtr(0), 0, 0),
        };
        let shape = Shape::new(name, size, edge)
            .map_err(|kind| Error::new(kind).at(self.pipeline.place_of_buffer(index)))?;
        self.arguments.buffers.push(BufferShape { shape, place });
        Ok(())
    }
}

impl Pipeline {
    /// Allocates the ring before the first run. The sizes are those of the plan's hosts and buffers.
    ///
    /// # Errors
    /// A shape is 0, the chunk is 0, or device memory does not suffice.
    pub(crate) fn reserve(&mut self, chunk: ChunkSize, hosts: &[Size], buffers: &[Size]) -> Result<()> {
        self.called = None;
        let mut call = Call::new(self, &mut [], Purpose::Run);
        hosts.iter().try_for_each(|&size| call.host_of_shape(size))?;
        buffers.iter().try_for_each(|&size| call.shape_of_buffer(size, Edge::Clamp))?;
        call.reserve(chunk)
    }

    /// Begins a run on this device alone: its arguments follow, in the order of declaration.
    #[cfg(test)]
    pub(crate) fn call<'a>(&mut self, purpose: Purpose) -> Call<'_, 'a> {
        Call::new(self, &mut [], purpose)
    }
}
