//! Arguments that the whole run shares.

use bytemuck::Pod;

use crate::base::error::{Detail, Error, IS_NEEDED_WHOLE, Result};
use crate::base::plan::BufferKind;
use crate::engine::arguments::handles::Buffer;
use crate::engine::arguments::in_place::InPlace;
use crate::engine::arguments::shape::{BufferPlace, BufferShape, Edge, Shape, Size};
use crate::engine::arguments::shared::{Combined, Data, Shared};
use crate::engine::arguments::{DeviceInOut, DeviceInput, HostSource, InOut, Input};
use crate::engine::call::Call;
use crate::engine::call::in_place::IS_NO_COPY;

impl<'a> Call<'_, 'a> {
    /// The next device buffer, a `resident`: all of `data`, shared by the whole run.
    ///
    /// # Errors
    /// `data` is poisoned or belongs to another device.
    pub fn resident<T: Pod>(&mut self, data: impl Input<'a, T>) -> Result<Buffer<T>> {
        let source = data.source();
        let len = source.len;
        self.shared(source, len, None, false)
    }

    /// The next `resident`, with data that are on the device already.
    ///
    /// # Errors
    /// Those of [`resident`](Self::resident).
    pub fn resident_on_device<T: Pod>(&mut self, data: impl DeviceInput<'a, T>) -> Result<Buffer<T>> {
        let data = self.on_device(data.source())?;
        let len = data.len;
        self.shared_on_device(data, len, None)
    }

    /// The next device buffer, a `carry` of `len` elements: it starts from `init`, or else from `data`, and
    /// its final contents are copied to `data`.
    ///
    /// # Errors
    /// `data` has another length, is poisoned or belongs to another device.
    pub fn carry<T: Pod>(
        &mut self,
        len: usize,
        init: Option<T>,
        data: impl InOut<'a, T>,
    ) -> Result<Buffer<T>> {
        self.shared(data.source(), len, init, true)
    }

    /// The next `carry` of `len` elements. Each device's part, or each ring slot's, starts from `init`, and at the end
    /// `combine` adds the parts to `data`, in the order of the devices and the slots.
    ///
    /// # Errors
    /// Those of [`carry`](Self::carry).
    pub fn carry_combined<T: Pod>(
        &mut self,
        len: usize,
        init: T,
        combine: fn(T, T) -> T,
        data: impl InOut<'a, T>,
    ) -> Result<Buffer<T>> {
        let source = data.source();
        let index = self.arguments.buffers.len();
        self.check_shared(index, &source, true)?;
        let place = match self.pipeline.plan.buffers[index].kind {
            BufferKind::CarryPerSlot => BufferPlace::SharedPerSlot(len),
            _ => BufferPlace::Shared(len),
        };
        let buffer = self.shared_buffer(place, source.len, len)?;
        self.starts(index, Data::Partial(Vec::new()), len, Some(init));
        self.arguments.combined.push(Combined::new(source, combine));
        Ok(buffer)
    }

    /// The next `carry`, with data that are on the device already.
    ///
    /// # Errors
    /// Those of [`carry`](Self::carry).
    pub fn carry_on_device<T: Pod>(
        &mut self,
        len: usize,
        init: Option<T>,
        data: impl DeviceInOut<'a, T>,
    ) -> Result<Buffer<T>> {
        self.check_carried(self.arguments.buffers.len())?;
        let data = self.on_device(data.source())?;
        self.shared_on_device(if init.is_some() { data.unread() } else { data }, len, init)
    }

    fn shared<T: Pod>(
        &mut self,
        source: HostSource<'a>,
        declared: usize,
        init: Option<T>,
        carried: bool,
    ) -> Result<Buffer<T>> {
        let index = self.arguments.buffers.len();
        self.check_shared(index, &source, init.is_none())?;
        if carried {
            self.check_carried(index)?;
        }
        let len = source.len;
        let buffer = self.shared_buffer(BufferPlace::Shared(len), len, declared)?;
        self.starts(index, Data::Host { source, carried }, len, init);
        Ok(buffer)
    }

    /// Checks that an argument can be shared by the whole run, which `reads` what it holds.
    fn check_shared(&self, index: usize, source: &HostSource<'a>, reads: bool) -> Result<()> {
        let name = self.pipeline.plan.buffers[index].name;
        let not_streamed = |_| Detail::NotStreamed { host: name, reason: IS_NEEDED_WHOLE };
        let streamed = source.feed.as_ref().map(not_streamed);
        self.usable_on_host(name, source, reads)
            .and_then(|()| streamed.map_or(Ok(()), |kind| Err(kind.into())))
            .map_err(|error| error.at(self.pipeline.place_of_buffer(index)))
    }

    /// Checks that what is handed from chunk to chunk stays on one device.
    fn check_carried(&self, index: usize) -> Result<()> {
        if self.devices == 1 {
            return Ok(());
        }
        let carry = self.pipeline.plan.buffers[index].name;
        let error = Error::new(Detail::CarriedBySeveral { carry, devices: self.devices });
        Err(error.at(self.pipeline.place_of_buffer(index)))
    }

    fn shared_on_device<T: Pod>(
        &mut self,
        data: InPlace,
        declared: usize,
        init: Option<T>,
    ) -> Result<Buffer<T>> {
        let index = self.arguments.buffers.len();
        self.check_in_place(&data, Some("Replicated"))?;
        if data.is_in_parts() {
            let buffer = self.pipeline.plan.buffers[index].name;
            let error = Error::new(Detail::PartShape { buffer, reason: IS_NO_COPY });
            return Err(error.at(self.pipeline.place_of_buffer(index)));
        }
        let (ptr, len) = (data.ptr(), data.len);
        let buffer = self.shared_buffer(BufferPlace::SharedInPlace(ptr, len), len, declared)?;
        if init.is_some() {
            self.starts(index, Data::Device(ptr), len, init);
        }
        self.arguments.in_place.push(data);
        Ok(buffer)
    }

    /// The next buffer, one for the whole run, of `len` elements, which must be as many as `declared`.
    fn shared_buffer<T: Pod>(
        &mut self,
        buffer: BufferPlace,
        len: usize,
        declared: usize,
    ) -> Result<Buffer<T>> {
        const { assert!(align_of::<T>() <= 256, "device memory is aligned to 256 bytes") };
        let index = self.arguments.buffers.len();
        let name = self.pipeline.plan.buffers[index].name;
        let refused = |kind| Error::new(kind).at(self.pipeline.place_of_buffer(index));
        if len != declared {
            return Err(refused(Detail::CarryLength { carry: name, len, declared }));
        }
        let shape = Shape::new(name, Size::of::<T>(1), Edge::Clamp).map_err(refused)?;
        Ok(self.push(BufferShape { shape, place: buffer }))
    }

    /// Sets a buffer's contents before the first chunk.
    fn starts<T: Pod>(&mut self, buffer: usize, data: Data<'a>, len: usize, init: Option<T>) {
        let init = init.map(|value| bytemuck::bytes_of(&value).to_vec());
        self.arguments.shared.push(Shared { buffer, data, bytes: len * size_of::<T>(), init, moved: None });
    }
}
