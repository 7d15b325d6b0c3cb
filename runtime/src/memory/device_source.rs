//! What `run` accepts for data that is declared `device`: [`DeviceBuf`]s.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::{DeviceBuf, DeviceCore};
use crate::streams::Held;

/// Data on the device that a pipeline reads in place: `&DeviceBuf<T>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory of `{T}`, but this argument is declared `device`",
    label = "expected `&DeviceBuf<{T}>`",
    note = "copy the data to the device once with `DeviceBuf::from_slice`, or drop `device` to have each run copy them"
)]
pub trait DeviceInput<'a, T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn core(self) -> DeviceSource<'a>;
}

/// Data on the device that a pipeline reads and writes in place: `&mut DeviceBuf<T>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory of `{T}` to write, but this argument is declared `device`",
    label = "expected `&mut DeviceBuf<{T}>`",
    note = "copy the data to the device once with `DeviceBuf::from_slice`, or drop `device` to have each run copy them"
)]
pub trait DeviceInOut<'a, T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn core(self) -> DeviceSource<'a>;
}

/// Data on the device that a pipeline writes in place: `&mut DeviceBuf<T>`, as long as the result.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory of `{T}` to write, but this argument is declared `device`",
    label = "expected `&mut DeviceBuf<{T}>`",
    note = "allocate it with `DeviceBuf::zeroed`, or drop `device` to have each run copy the result to the host"
)]
pub trait DeviceOutput<'a, T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn core(self) -> DeviceSource<'a>;
}

/// The memory of one argument on the device. Only the traits above make one, so it is what it says for the lifetime `'a`.
#[doc(hidden)]
pub struct DeviceSource<'a> {
    pub(crate) core: Arc<DeviceCore>,
    /// In elements.
    pub(crate) len: usize,
    /// Whether it was borrowed mutably.
    pub(crate) writable: bool,
    /// Streams are refused as long as the run has it.
    pub(crate) held: Held,
    borrow: PhantomData<&'a mut [u8]>,
}

impl DeviceSource<'_> {
    fn new<T: Pod>(buffer: &DeviceBuf<T>, writable: bool) -> Self {
        let held = Held::new(Arc::clone(buffer.core()) as _);
        // What is left of the operations of streams is over before the run begins, or else the buffer is poisoned.
        buffer.core().settled(writable);
        Self { core: Arc::clone(buffer.core()), len: buffer.len(), writable, held, borrow: PhantomData }
    }
}

impl<T: Pod> sealed::Sealed for &DeviceBuf<T> {}
impl<'a, T: Pod> DeviceInput<'a, T> for &'a DeviceBuf<T> {
    fn core(self) -> DeviceSource<'a> {
        DeviceSource::new(self, false)
    }
}

impl<T: Pod> sealed::Sealed for &mut DeviceBuf<T> {}
impl<'a, T: Pod> DeviceInOut<'a, T> for &'a mut DeviceBuf<T> {
    fn core(self) -> DeviceSource<'a> {
        DeviceSource::new(self, true)
    }
}
impl<'a, T: Pod> DeviceOutput<'a, T> for &'a mut DeviceBuf<T> {
    fn core(self) -> DeviceSource<'a> {
        DeviceSource::new(self, true)
    }
}

mod sealed {
    pub trait Sealed {}
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{Device, Spec};

    /// Devices that keep memory for good, so that a leak checker finds what belongs to them.
    static KEPT: Mutex<Vec<Device>> = Mutex::new(Vec::new());

    #[test]
    fn a_source_says_what_it_is() {
        let device = Device::simulated(Spec::default());
        let mut buffer = DeviceBuf::from_slice(&device, &[1_u16, 2, 3]).expect("memory");
        let read = DeviceInput::core(&buffer);
        assert_eq!((read.len, read.writable, read.core.bytes()), (3, false, 6));
        assert!(Arc::ptr_eq(&read.core, buffer.core()) && read.core.device().same(&device));
        let written = DeviceInOut::core(&mut buffer);
        assert_eq!((written.len, written.writable), (3, true));
        let written = DeviceOutput::core(&mut buffer);
        assert_eq!((written.len, written.writable), (3, true));
    }

    /// A run that holds the memory keeps it, and may give it up.
    #[test]
    fn a_source_outlives_its_buffer() {
        let device = Device::simulated(Spec::default());
        let before = device.free_memory().expect("a number");
        let core = DeviceInput::core(&DeviceBuf::<u8>::zeroed(&device, 1000).expect("memory")).core;
        assert_eq!(device.free_memory().expect("a number"), before - 1024);
        drop(core);
        assert_eq!(device.free_memory().expect("a number"), before);

        let core = DeviceInput::core(&DeviceBuf::<u8>::zeroed(&device, 1000).expect("memory")).core;
        core.poison();
        drop(core);
        KEPT.lock().expect("no panic").push(device.clone());
        assert_eq!(device.free_memory().expect("a number"), before - 1024);
    }
}
