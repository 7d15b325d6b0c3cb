//! Arguments that chunks use where they lie.

use std::sync::Arc;

use bytemuck::Pod;

use crate::base::error::{Detail, Error, Result};
use crate::base::plan::{BufferKind, BufferPlan};
use crate::engine::arguments::handles::Buffer;
use crate::engine::arguments::in_place::InPlace;
use crate::engine::arguments::shape::{BufferPlace, BufferShape, Shape};
use crate::engine::arguments::{
    DeviceInOut, DeviceInput, DeviceOutput, DeviceSource, MappedInOut, MappedInput, MappedOutput, Spread,
};
use crate::engine::call::Call;

/// Why an argument cannot be in parts.
const PER_CHUNK: &str = "but it has elements for each chunk: take it from the host, or to the host";
const IN_AN_ITEM: &str =
    "but a part does not begin with a whole item: `Sharded::zeroed_items` divides by items";
const IS_A_COPY: &str =
    "a `Replicated` is for a `resident`, of which each device has all; a chunk is on one: use a `Sharded`";
pub(super) const IS_NO_COPY: &str = "each device needs all of it: a `resident` takes a `Replicated`";

impl<'a> Call<'_, 'a> {
    /// The next buffer, an `input` on the device.
    ///
    /// # Errors
    /// Those of [`input`](Self::input).
    pub fn device_input<T: Pod>(
        &mut self,
        per_item: usize,
        data: impl DeviceInput<'a, T>,
    ) -> Result<Buffer<T>> {
        let data = self.on_device(data.source())?;
        self.in_place(per_item, Some(data))
    }

    /// The next buffer, an `inout` on the device.
    ///
    /// # Errors
    /// Those of [`input`](Self::input).
    pub fn device_inout<T: Pod>(
        &mut self,
        per_item: usize,
        data: impl DeviceInOut<'a, T>,
    ) -> Result<Buffer<T>> {
        let data = self.on_device(data.source())?;
        self.in_place(per_item, Some(data))
    }

    /// The next buffer, an `output` on the device.
    ///
    /// # Errors
    /// Those of [`input`](Self::input).
    pub fn device_output<T: Pod>(
        &mut self,
        per_item: usize,
        data: impl DeviceOutput<'a, T>,
    ) -> Result<Buffer<T>> {
        let data = self.on_device(data.source())?.unread();
        self.in_place(per_item, Some(data))
    }

    /// The next buffer, an `input` in page-locked host memory.
    ///
    /// # Errors
    /// Those of [`input`](Self::input).
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
    /// Those of [`input`](Self::input).
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
    /// Those of [`input`](Self::input).
    pub fn mapped_output<T: Pod>(
        &mut self,
        per_item: usize,
        data: impl MappedOutput<'a, T>,
    ) -> Result<Buffer<T>> {
        self.in_place(per_item, InPlace::mapped(data.source()).map(InPlace::unread))
    }

    /// The argument for the next buffer.
    pub(crate) fn on_device(&self, source: Result<DeviceSource<'a>>) -> Result<InPlace> {
        let at_buffer = |error: Error| error.at(self.pipeline.place_of_buffer(self.arguments.buffers.len()));
        source.map(InPlace::on_device).map_err(at_buffer)
    }

    fn in_place<T: Pod>(&mut self, per_item: usize, data: Option<InPlace>) -> Result<Buffer<T>> {
        let index = self.arguments.buffers.len();
        let (size, edge) = self.size::<T>(per_item);
        let name = self.pipeline.plan.buffers[index].name;
        let place = self.pipeline.place_of_buffer(index);
        let refused = |kind| Error::new(kind).at(place);
        let shape = Shape::new(name, size, edge).map_err(refused)?;
        let data = data.ok_or_else(|| refused(Detail::Skipped))?;
        self.check_in_place(&data, (!shape.per_chunk).then_some("Sharded"))?;
        self.count(name, shape, data.len).map_err(refused)?;
        if data.is_copied() {
            return Err(refused(Detail::PartShape { buffer: name, reason: IS_A_COPY }));
        }
        if data.is_in_parts() {
            self.divide(name, shape, &data).map_err(refused)?;
        }
        let place = BufferPlace::InPlace(data.ptr(), data.bytes(), 0);
        self.arguments.in_place.push(data);
        Ok(self.push(BufferShape { shape, place }))
    }

    /// Notes the first item of each part of an argument: a chunk goes to the device that has its part.
    fn divide(&mut self, buffer: &'static str, shape: Shape, data: &InPlace) -> Result<(), Detail> {
        // What is used in place has no halo.
        if shape.per_chunk {
            return Err(Detail::PartShape { buffer, reason: PER_CHUNK });
        }
        if data.all().any(|part| part.before % shape.per_item != 0) {
            return Err(Detail::PartShape { buffer, reason: IN_AN_ITEM });
        }
        let borders: Arc<[usize]> = data.all().map(|part| part.before / shape.per_item).collect();
        match &self.arguments.borders {
            Some((known, other)) if *known != borders => {
                let (borders, other_borders) = (borders.to_vec(), known.to_vec());
                Err(Detail::PartBorders { buffer, borders, other, other_borders })
            }
            Some(_) => Ok(()),
            None => {
                self.arguments.borders = Some((borders, buffer));
                Ok(())
            }
        }
    }

    /// Checks that each device may use the argument for the next buffer as the plan says. `of_several`: the
    /// type that it has on several devices, if there is one.
    pub(crate) fn check_in_place(&self, data: &InPlace, of_several: Option<&'static str>) -> Result<()> {
        let index = self.arguments.buffers.len();
        let BufferPlan { name, kind, .. } = self.pipeline.plan.buffers[index];
        let place = self.pipeline.place_of_buffer(index);
        let writes = matches!(
            kind,
            BufferKind::InPlace { writes: true, .. } | BufferKind::Carry | BufferKind::CarryPerSlot
        );
        if writes && !data.writable {
            return Err(Error::new(Detail::Skipped).at(place));
        }
        self.usable(name, data, of_several).map_err(|error| error.at(place))?;
        data.failure().map_or(Ok(()), |error| Err(error.at(place)))
    }

    /// Checks that each device may use the argument where it lies.
    fn usable(&self, name: &'static str, data: &InPlace, of_several: Option<&'static str>) -> Result<()> {
        if data.is_poisoned() {
            return Err(Detail::Poisoned { host: name }.into());
        }
        let is_one = self.devices == 1;
        if data.spread() != Spread::Whole {
            return Ok(self.check_parts(name, data)?);
        }
        if !is_one && !data.is_on_host() {
            let its = data.device().label();
            return Err(Detail::OnOneDevice { buffer: name, its, devices: self.devices, of_several }.into());
        }
        for device in self.all_devices() {
            if is_one || !data.is_reached_by(device)? {
                device.check_own(name, data.device())?;
            }
        }
        Ok(())
    }

    /// Checks that an argument has one part, or one copy, on each device, in their order.
    fn check_parts(&self, buffer: &'static str, data: &InPlace) -> Result<(), Detail> {
        let (parts, devices, is_copied) = (data.all().count(), self.devices, data.is_copied());
        if parts != devices {
            return Err(Detail::Parts { buffer, parts, devices, is_copied });
        }
        for (part, (device, data)) in self.all_devices().zip(data.all()).enumerate() {
            let its = data.device();
            if !device.same(its) {
                let found = self.all_devices().position(|device| device.same(its));
                return Err(Detail::PartElsewhere { buffer, part, is_copied, its: its.label(), found });
            }
        }
        Ok(())
    }
}
