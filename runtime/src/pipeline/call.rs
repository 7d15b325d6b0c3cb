//! [`Call`]: the arguments of one run, checked.

use std::marker::PhantomData;

use bytemuck::Pod;

use super::Pipeline;
use super::in_place::InPlace;
use super::shape::{BufferPlace, BufferShape, Edge, Shape, Size};
use super::shared::{Data, Shared};
use crate::driver::DevicePtr;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{
    DeviceInOut, DeviceInput, DeviceOutput, HostMemory, HostSource, InOut, Input, MappedInOut, MappedInput,
    MappedOutput, Output,
};
use crate::plan::{BufferKind, BufferPlan};

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
    pub(super) in_place: Vec<InPlace<'a>>,
    /// How many there are, and the argument that said so first.
    items: Option<(usize, &'static str)>,
    /// Of what comes next.
    halo: (usize, Edge),
    per_chunk: bool,
}

impl<'p, 'a> Call<'p, 'a> {
    pub(super) fn new(pipeline: &'p mut Pipeline) -> Self {
        Self {
            pipeline,
            host_shapes: Vec::new(),
            hosts: Vec::new(),
            buffers: Vec::new(),
            shared: Vec::new(),
            in_place: Vec::new(),
            items: None,
            halo: (0, Edge::Clamp),
            per_chunk: false,
        }
    }

    /// What comes next sees `items` more on each side of a chunk.
    pub fn halo(&mut self, items: usize, edge: Edge) -> &mut Self {
        self.halo = (items, edge);
        self
    }

    /// What comes next has elements for each chunk.
    pub fn per_chunk(&mut self) -> &mut Self {
        self.per_chunk = true;
        self
    }

    /// The size of what comes next.
    fn size<T>(&mut self, per_item: usize) -> (Size, Edge) {
        let (halo, edge) = std::mem::replace(&mut self.halo, (0, Edge::Clamp));
        let size = Size::of::<T>(per_item).with_halo(halo);
        (if std::mem::take(&mut self.per_chunk) { size.per_chunk() } else { size }, edge)
    }

    /// The items of the run.
    pub(super) fn items(&self) -> usize {
        self.items.map_or(0, |(items, _)| items)
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
        self.scratch(per_item)
    }

    /// The next buffer, in page-locked host memory.
    ///
    /// # Errors
    /// As [`device`](Self::device).
    pub fn host_scratch<T: Pod>(&mut self, per_item: usize) -> Result<Buffer<T>> {
        const { assert!(align_of::<T>() <= 64, "page-locked memory is aligned to 64 bytes") };
        self.scratch(per_item)
    }

    fn scratch<T>(&mut self, per_item: usize) -> Result<Buffer<T>> {
        let index = self.buffers.len();
        let (size, edge) = self.size::<T>(per_item);
        self.shape_of_buffer(size, edge)?;
        Ok(Buffer { index, elements: PhantomData })
    }

    /// The next buffer, an `input` on the device.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn device_input<T: Pod>(
        &mut self,
        per_item: usize,
        data: impl DeviceInput<'a, T>,
    ) -> Result<Buffer<T>> {
        self.in_place(per_item, InPlace::on_device(data.core()))
    }

    /// The next buffer, an `inout` on the device.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn device_inout<T: Pod>(
        &mut self,
        per_item: usize,
        data: impl DeviceInOut<'a, T>,
    ) -> Result<Buffer<T>> {
        self.in_place(per_item, InPlace::on_device(data.core()))
    }

    /// The next buffer, an `output` on the device.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn device_output<T: Pod>(
        &mut self,
        per_item: usize,
        data: impl DeviceOutput<'a, T>,
    ) -> Result<Buffer<T>> {
        self.in_place(per_item, InPlace::on_device(data.core()))
    }

    /// The next buffer, an `input` in page-locked host memory.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn mapped_input<T: Pod>(
        &mut self,
        per_item: usize,
        data: impl MappedInput<'a, T>,
    ) -> Result<Buffer<T>> {
        self.in_place(per_item, InPlace::mapped(data.source()))
    }

    /// The next buffer, an `inout` in page-locked host memory.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn mapped_inout<T: Pod>(
        &mut self,
        per_item: usize,
        data: impl MappedInOut<'a, T>,
    ) -> Result<Buffer<T>> {
        self.in_place(per_item, InPlace::mapped(data.source()))
    }

    /// The next buffer, an `output` in page-locked host memory.
    ///
    /// # Errors
    /// As [`input`](Self::input).
    pub fn mapped_output<T: Pod>(
        &mut self,
        per_item: usize,
        data: impl MappedOutput<'a, T>,
    ) -> Result<Buffer<T>> {
        self.in_place(per_item, InPlace::mapped(data.source()))
    }

    fn in_place<T: Pod>(&mut self, per_item: usize, data: Option<InPlace<'a>>) -> Result<Buffer<T>> {
        let index = self.buffers.len();
        let (size, edge) = self.size::<T>(per_item);
        let (name, place) = (self.pipeline.plan.buffers[index].name, self.pipeline.place_of_buffer(index));
        let refused = |kind| Error::new(kind).at(place);
        let shape = Shape::new(name, size, edge).map_err(refused)?;
        let data = self.usable_in_place(data)?;
        self.count(name, shape, data.len).map_err(refused)?;
        let place = BufferPlace::InPlace(data.ptr(), data.len * size_of::<T>());
        self.buffers.push(BufferShape { shape, place });
        self.in_place.push(data);
        Ok(Buffer { index, elements: PhantomData })
    }

    /// The argument that the next buffer is, if this device may use it as the plan says.
    fn usable_in_place(&self, data: Option<InPlace<'a>>) -> Result<InPlace<'a>> {
        let index = self.buffers.len();
        let BufferPlan { name, kind, .. } = self.pipeline.plan.buffers[index];
        let refused = |kind| Err(Error::new(kind).at(self.pipeline.place_of_buffer(index)));
        let writes = matches!(kind, BufferKind::InPlace { writes: true, .. } | BufferKind::Carry);
        let Some(data) = data.filter(|data| data.writable || !writes) else {
            return refused(ErrorKind::Skipped);
        };
        if data.is_poisoned() {
            return refused(ErrorKind::Poisoned { host: name });
        }
        if !data.device().same(&self.pipeline.device) {
            return refused(ErrorKind::OtherDevice { host: name });
        }
        Ok(data)
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

    /// Likewise where it is on the device.
    ///
    /// # Errors
    /// As [`resident`](Self::resident).
    pub fn resident_on_device<T: Pod>(&mut self, data: impl DeviceInput<'a, T>) -> Result<Buffer<T>> {
        let data = InPlace::on_device(data.core());
        let len = data.as_ref().map_or(0, |data| data.len);
        self.shared_on_device(data, len, None)
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
        self.shared(data.source(), len, init, true)
    }

    /// Likewise where it is on the device.
    ///
    /// # Errors
    /// As [`carry`](Self::carry).
    pub fn carry_on_device<T: Pod>(
        &mut self,
        len: usize,
        init: Option<T>,
        data: impl DeviceInOut<'a, T>,
    ) -> Result<Buffer<T>> {
        self.shared_on_device(InPlace::on_device(data.core()), len, init)
    }

    fn shared<T: Pod>(
        &mut self,
        source: HostSource<'a>,
        declared: usize,
        init: Option<T>,
        carried: bool,
    ) -> Result<Buffer<T>> {
        let index = self.buffers.len();
        let (name, place) = (self.pipeline.plan.buffers[index].name, self.pipeline.place_of_buffer(index));
        self.usable(name, &source).map_err(|kind| Error::new(kind).at(place))?;
        let len = source.len;
        let buffer = self.shared_buffer(BufferPlace::Shared(len), len, declared)?;
        self.starts(index, Data::Host { source, carried }, len, init);
        Ok(buffer)
    }

    fn shared_on_device<T: Pod>(
        &mut self,
        data: Option<InPlace<'a>>,
        declared: usize,
        init: Option<T>,
    ) -> Result<Buffer<T>> {
        let index = self.buffers.len();
        let data = self.usable_in_place(data)?;
        let (ptr, len) = (data.ptr(), data.len);
        let buffer = self.shared_buffer(BufferPlace::SharedInPlace(ptr, len), len, declared)?;
        if init.is_some() {
            self.starts(index, Data::Device(ptr), len, init);
        }
        self.in_place.push(data);
        Ok(buffer)
    }

    /// The next buffer, one for the run of `len` elements where `declared` are.
    fn shared_buffer<T: Pod>(
        &mut self,
        buffer: BufferPlace,
        len: usize,
        declared: usize,
    ) -> Result<Buffer<T>> {
        const { assert!(align_of::<T>() <= 256, "device memory is aligned to 256 bytes") };
        let index = self.buffers.len();
        let (name, place) = (self.pipeline.plan.buffers[index].name, self.pipeline.place_of_buffer(index));
        let refused = |kind| Error::new(kind).at(place);
        if len != declared {
            return Err(refused(ErrorKind::CarryLength { carry: name, len, declared }));
        }
        let shape = Shape::new(name, Size::of::<T>(1), Edge::Clamp).map_err(refused)?;
        self.buffers.push(BufferShape { shape, place: buffer });
        Ok(Buffer { index, elements: PhantomData })
    }

    /// What a buffer holds before the first chunk.
    fn starts<T: Pod>(&mut self, buffer: usize, data: Data<'a>, len: usize, init: Option<T>) {
        let init = init.map(|value| bytemuck::bytes_of(&value).to_vec());
        self.shared.push(Shared { buffer, data, bytes: len * size_of::<T>(), init });
    }

    /// Whether this device may use the memory.
    fn usable(&self, host: &'static str, source: &HostSource<'a>) -> Result<(), ErrorKind> {
        if let HostMemory::Pinned(range) = &source.memory {
            let core = range.core();
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
        let (size, edge) = self.size::<T>(per_item);
        let shape = self.shape_of_host(index, size, edge)?;
        let name = self.pipeline.plan.hosts[index].name;
        self.usable(name, &source)
            .and_then(|()| self.count(name, shape, source.len))
            .map_err(|kind| Error::new(kind).at(self.pipeline.place_of_host(index)))?;
        // Together, so that an argument that was refused leaves nothing to the next one.
        self.host_shapes.push(shape);
        self.hosts.push(source);
        Ok(Host { index, elements: PhantomData })
    }

    /// An argument of `len` elements has as many items as the others.
    fn count(&mut self, host: &'static str, shape: Shape, len: usize) -> Result<(), ErrorKind> {
        let per_item = shape.per_item;
        if shape.per_chunk {
            // How many chunks there are is not known yet.
            return Ok(());
        }
        if !len.is_multiple_of(per_item) {
            return Err(ErrorKind::Shape { host, len, per_item });
        }
        let items = len / per_item;
        match self.items {
            Some((other_items, other)) if other_items != items => {
                Err(ErrorKind::Length { host, items, other, other_items })
            }
            _ => {
                self.items = Some((items, host));
                Ok(())
            }
        }
    }

    /// What has elements for each chunk has enough of them.
    pub(super) fn check_per_chunk(&self, chunks: usize) -> Result<()> {
        let plan = self.pipeline.plan;
        let too_short = |host, len, shape: &Shape| {
            let short = shape.per_chunk && len / shape.per_item < chunks;
            let kind = ErrorKind::PerChunkLength { host, len, chunks, per_chunk: shape.per_item };
            short.then(|| Error::new(kind))
        };
        for (index, (source, shape)) in self.hosts.iter().zip(&self.host_shapes).enumerate() {
            if let Some(error) = too_short(plan.hosts[index].name, source.len, shape) {
                return Err(error.at(self.pipeline.place_of_host(index)));
            }
        }
        let in_place = self.buffers.iter().enumerate().filter(|(_, buffer)| buffer.is_in_place());
        for ((index, buffer), data) in in_place.zip(&self.in_place) {
            if let Some(error) = too_short(plan.buffers[index].name, data.len, &buffer.shape) {
                return Err(error.at(self.pipeline.place_of_buffer(index)));
            }
        }
        Ok(())
    }

    fn shape_of_host(&self, index: usize, size: Size, edge: Edge) -> Result<Shape> {
        let shape = Shape::new(self.pipeline.plan.hosts[index].name, size, edge);
        shape.map_err(|kind| Error::new(kind).at(self.pipeline.place_of_host(index)))
    }

    /// The next host argument, of which only the shape is known yet.
    pub(super) fn host_of_shape(&mut self, size: Size) -> Result<()> {
        let shape = self.shape_of_host(self.host_shapes.len(), size, Edge::Clamp)?;
        self.host_shapes.push(shape);
        Ok(())
    }

    /// The next buffer. What is an argument of the run is known by its shape only.
    pub(super) fn shape_of_buffer(&mut self, size: Size, edge: Edge) -> Result<()> {
        let index = self.buffers.len();
        let BufferPlan { name, kind, .. } = self.pipeline.plan.buffers[index];
        let place = match kind {
            BufferKind::Ring => BufferPlace::Ring,
            BufferKind::HostScratch => BufferPlace::HostRing,
            // How long they are, a run knows.
            BufferKind::Resident | BufferKind::Carry => BufferPlace::Shared(0),
            BufferKind::InPlace { .. } => BufferPlace::InPlace(DevicePtr(0), 0),
        };
        let shape = Shape::new(name, size, edge)
            .map_err(|kind| Error::new(kind).at(self.pipeline.place_of_buffer(index)))?;
        self.buffers.push(BufferShape { shape, place });
        Ok(())
    }
}
