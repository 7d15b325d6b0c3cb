//! The arguments that `run` accepts for data that is declared `device`: [`DeviceBuf`]s and parts of them, and those of
//! several devices.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use crate::base::error::{Detail, Result};
use crate::device::launch::{DeviceSlice, DeviceSliceMut};
use crate::device::memory::{DeviceBuf, DeviceCore, Replicated, Sharded};
use crate::device::pending::Held;
use crate::device::views::owner;
use crate::driver::DevicePtr;

/// Data on the device that a pipeline reads in place: `&DeviceBuf<T>`, or a part of one,
/// `buffer.slice(range)?`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory of `{T}`, but this argument is declared `device`",
    label = "expected `&DeviceBuf<{T}>`",
    note = "copy the data to the device once with `DeviceBuf::from_slice`, or drop `device` to have each run copy them",
    note = "a part of a `DeviceBuf` is `buffer.slice(range)?`"
)]
pub trait DeviceInput<'a, T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn source(self) -> Result<DeviceSource<'a>>;
}

/// Data on the device that a pipeline reads and writes in place: `&mut DeviceBuf<T>`, or a part of one,
/// `buffer.slice_mut(range)?`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory of `{T}` to write, but this argument is declared `device`",
    label = "expected `&mut DeviceBuf<{T}>`",
    note = "copy the data to the device once with `DeviceBuf::from_slice`, or drop `device` to have each run copy them",
    note = "a part of a `DeviceBuf` is `buffer.slice_mut(range)?`"
)]
pub trait DeviceInOut<'a, T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn source(self) -> Result<DeviceSource<'a>>;
}

/// Data on the device that a pipeline writes in place: `&mut DeviceBuf<T>`, or a part of one, as long as the
/// result.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory of `{T}` to write, but this argument is declared `device`",
    label = "expected `&mut DeviceBuf<{T}>`",
    note = "allocate it with `DeviceBuf::zeroed`, or drop `device` to have each run copy the result to the host",
    note = "a part of a `DeviceBuf` is `buffer.slice_mut(range)?`"
)]
pub trait DeviceOutput<'a, T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn source(self) -> Result<DeviceSource<'a>>;
}

/// The memory of one argument on the device. Only the traits above create it, so it is valid for the lifetime
/// `'a`.
#[doc(hidden)]
pub struct DeviceSource<'a> {
    pub(crate) core: Arc<DeviceCore>,
    /// Its start, within the core's memory.
    pub(crate) ptr: DevicePtr,
    pub(crate) bytes: usize,
    /// Length in elements.
    pub(crate) len: usize,
    /// Whether it was borrowed mutably.
    pub(crate) writable: bool,
    /// The run's hold on the memory: streams are refused until it is dropped.
    pub(crate) held: Held,
    /// The parts of other devices, or their copies.
    pub(crate) others: Vec<DeviceSource<'a>>,
    /// Whether those are parts or copies.
    pub(crate) spread: Spread,
    borrow: PhantomData<&'a mut [u8]>,
}

/// How an argument lies on devices. One part or one copy is not the same as all of it: a run on several devices lacks
/// the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// All of it on one device.
    Whole,
    /// A part on each.
    Parts,
    /// A copy on each.
    Copies,
}

impl fmt::Debug for DeviceSource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSource").finish_non_exhaustive()
    }
}

impl<'a> DeviceSource<'a> {
    fn whole<T: Pod>(buffer: &DeviceBuf<T>, writable: bool) -> Self {
        Self::new::<T>(buffer.core(), buffer.core().ptr(), buffer.len(), writable)
    }

    /// `len` elements at `ptr`, which belong to the core.
    fn new<T: Pod>(core: &Arc<DeviceCore>, ptr: DevicePtr, len: usize, writable: bool) -> Self {
        let held = Held::new(Arc::clone(core) as _);
        // Earlier operations of streams are over before the run begins, or else the buffer is poisoned.
        core.settled(writable);
        let bytes = len * size_of::<T>();
        let (core, others) = (Arc::clone(core), Vec::new());
        Self { core, ptr, bytes, len, writable, held, others, spread: Spread::Whole, borrow: PhantomData }
    }

    /// One buffer for each device: parts, or copies.
    fn of_each<T: Pod>(buffers: &[DeviceBuf<T>], writable: bool, spread: Spread) -> Result<Self> {
        let mut all = buffers.iter().map(|buffer| Self::whole(buffer, writable));
        let first = all.next().ok_or(Detail::NoDevices)?;
        Ok(Self { others: all.collect(), spread, ..first })
    }

    fn part_to_write<T: Pod>(slice: &DeviceSliceMut<'a, T>) -> Result<Self> {
        Ok(Self::new::<T>(owner(slice.owner())?, DevicePtr(slice.address()), slice.len(), true))
    }
}

impl<T: Pod> sealed::Sealed for &DeviceBuf<T> {}
impl<'a, T: Pod> DeviceInput<'a, T> for &'a DeviceBuf<T> {
    fn source(self) -> Result<DeviceSource<'a>> {
        Ok(DeviceSource::whole(self, false))
    }
}

impl<T: Pod> sealed::Sealed for &mut DeviceBuf<T> {}
impl<'a, T: Pod> DeviceInOut<'a, T> for &'a mut DeviceBuf<T> {
    fn source(self) -> Result<DeviceSource<'a>> {
        Ok(DeviceSource::whole(self, true))
    }
}
impl<'a, T: Pod> DeviceOutput<'a, T> for &'a mut DeviceBuf<T> {
    fn source(self) -> Result<DeviceSource<'a>> {
        Ok(DeviceSource::whole(self, true))
    }
}

impl<T: Pod> sealed::Sealed for &Sharded<T> {}
impl<'a, T: Pod> DeviceInput<'a, T> for &'a Sharded<T> {
    fn source(self) -> Result<DeviceSource<'a>> {
        DeviceSource::of_each(self.parts(), false, Spread::Parts)
    }
}

impl<T: Pod> sealed::Sealed for &mut Sharded<T> {}
impl<'a, T: Pod> DeviceInOut<'a, T> for &'a mut Sharded<T> {
    fn source(self) -> Result<DeviceSource<'a>> {
        DeviceSource::of_each(self.parts(), true, Spread::Parts)
    }
}
impl<'a, T: Pod> DeviceOutput<'a, T> for &'a mut Sharded<T> {
    fn source(self) -> Result<DeviceSource<'a>> {
        DeviceSource::of_each(self.parts(), true, Spread::Parts)
    }
}

impl<T: Pod> sealed::Sealed for &Replicated<T> {}
impl<'a, T: Pod> DeviceInput<'a, T> for &'a Replicated<T> {
    fn source(self) -> Result<DeviceSource<'a>> {
        DeviceSource::of_each(self.copies(), false, Spread::Copies)
    }
}

impl<T: Pod> sealed::Sealed for DeviceSlice<'_, T> {}
impl<'a, T: Pod> DeviceInput<'a, T> for DeviceSlice<'a, T> {
    fn source(self) -> Result<DeviceSource<'a>> {
        Ok(DeviceSource::new::<T>(owner(self.owner())?, DevicePtr(self.address()), self.len(), false))
    }
}

impl<T: Pod> sealed::Sealed for DeviceSliceMut<'_, T> {}
impl<'a, T: Pod> DeviceInOut<'a, T> for DeviceSliceMut<'a, T> {
    fn source(self) -> Result<DeviceSource<'a>> {
        DeviceSource::part_to_write(&self)
    }
}
impl<'a, T: Pod> DeviceOutput<'a, T> for DeviceSliceMut<'a, T> {
    fn source(self) -> Result<DeviceSource<'a>> {
        DeviceSource::part_to_write(&self)
    }
}

mod sealed {
    pub trait Sealed {}
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::Device;
    use crate::base::error::Detail;
    use crate::sim::Simulation;

    /// Devices that keep memory for good, so that a leak checker finds the memory that belongs to them.
    static KEPT: Mutex<Vec<Device>> = Mutex::new(Vec::new());

    fn core_of(buffer: &DeviceBuf<u8>) -> Arc<DeviceCore> {
        DeviceInput::source(buffer).expect("it is a buffer").core
    }

    #[test]
    fn a_source_says_what_it_is() {
        let device = Device::simulated(Simulation::default());
        let mut buffer = DeviceBuf::from_slice(&device, &[1_u16, 2, 3]).expect("memory");
        let read = DeviceInput::source(&buffer).expect("it is a buffer");
        assert_eq!((read.len, read.writable, read.bytes), (3, false, 6));
        assert!(Arc::ptr_eq(&read.core, buffer.core()) && read.core.device().same(&device));
        let written = DeviceInOut::source(&mut buffer).expect("it is a buffer");
        assert_eq!((written.len, written.writable), (3, true));
        let written = DeviceOutput::source(&mut buffer).expect("it is a buffer");
        assert_eq!((written.len, written.writable), (3, true));
        drop(written);
        let start = buffer.core().ptr();
        let part = DeviceInput::source(buffer.slice(1..).expect("a part")).expect("of a buffer");
        assert_eq!((part.ptr, part.bytes, part.len, part.writable), (start.offset(2), 4, 2, false));
        drop(part);
        let part = DeviceOutput::source(buffer.slice_mut(..2).expect("a part")).expect("of a buffer");
        assert_eq!((part.ptr, part.bytes, part.len, part.writable), (start, 4, 2, true));
        // Memory that a run hands out is not an argument of another run.
        let of_a_run = DeviceSlice::<u16>::new(DevicePtr(256), 2);
        assert!(matches!(of_a_run.to_vec().unwrap_err().detail(), Detail::OfARun));
        let refused = DeviceInput::source(of_a_run).expect_err("it is no buffer's");
        assert!(matches!(refused.detail(), Detail::OfARun));
    }

    /// A run that holds the memory keeps it, and may give it up.
    #[test]
    fn a_source_outlives_its_buffer() {
        let device = Device::simulated(Simulation::default());
        let before = device.free_memory().expect("a number");
        let core = core_of(&DeviceBuf::zeroed(&device, 1000).expect("memory"));
        assert_eq!(device.free_memory().expect("a number"), before - 1024);
        drop(core);
        assert_eq!(device.free_memory().expect("a number"), before);

        let core = core_of(&DeviceBuf::zeroed(&device, 1000).expect("memory"));
        core.poison();
        drop(core);
        KEPT.lock().expect("no panic").push(device.clone());
        assert_eq!(device.free_memory().expect("a number"), before - 1024);
    }
}
