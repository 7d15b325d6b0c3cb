//! [`DeviceSlice`], [`DeviceSliceMut`] and [`DeviceSliceOut`]: memory on a device, with its owner.

use std::sync::Arc;

use super::view::{View, ViewMut};
use crate::device::memory::DeviceCore;
use crate::driver::DevicePtr;

/// A chunk of a device buffer that a launch or a routine reads. In a pipeline, `&name` becomes one. By hand,
/// it is the part of a buffer that [`DeviceBuf::slice`](crate::DeviceBuf::slice) returns, which is an
/// argument wherever the buffer is.
#[derive(Debug)]
pub struct DeviceSlice<'r, T> {
    view: View<T>,
    /// `None` for memory that a pipeline hands out, which belongs to the run.
    owner: Option<&'r Arc<DeviceCore>>,
}

/// A chunk of a device buffer that a launch or a routine reads and writes. In a pipeline, `&mut name` becomes
/// one. By hand, it is the part of a buffer that [`DeviceBuf::slice_mut`](crate::DeviceBuf::slice_mut)
/// returns, which is an argument wherever the buffer is.
#[derive(Debug)]
pub struct DeviceSliceMut<'r, T> {
    view: ViewMut<T>,
    /// `None` for memory that a pipeline hands out, which belongs to the run.
    owner: Option<&'r Arc<DeviceCore>>,
}

/// A chunk of a device buffer that a launch or a routine writes without reading it. In a pipeline, `out name`
/// becomes one. By hand, [`DeviceSliceMut::into_out`] makes one. A routine writes all of it.
#[derive(Debug)]
pub struct DeviceSliceOut<'r, T> {
    view: ViewMut<T>,
    /// `None` for memory that a pipeline hands out, which belongs to the run.
    owner: Option<&'r Arc<DeviceCore>>,
}

impl<'r, T> DeviceSlice<'r, T> {
    pub(crate) fn new(ptr: DevicePtr, len: usize) -> Self {
        Self { view: View::new(ptr, len), owner: None }
    }

    /// A slice of the owner's memory, if there is an owner.
    pub(crate) fn of(owner: Option<&'r Arc<DeviceCore>>, ptr: DevicePtr, len: usize) -> Self {
        Self { view: View::new(ptr, len), owner }
    }

    /// The allocation of a [`DeviceBuf`](crate::DeviceBuf) that it is a part of.
    pub(crate) fn owner(&self) -> Option<&'r Arc<DeviceCore>> {
        self.owner
    }

    pub(crate) fn into_view(self) -> View<T> {
        self.view
    }
}

impl<'r, T> DeviceSliceMut<'r, T> {
    pub(crate) fn new(ptr: DevicePtr, len: usize) -> Self {
        Self { view: ViewMut::new(ptr, len), owner: None }
    }

    /// A slice of the owner's memory, if there is an owner.
    pub(crate) fn of(owner: Option<&'r Arc<DeviceCore>>, ptr: DevicePtr, len: usize) -> Self {
        Self { view: ViewMut::new(ptr, len), owner }
    }

    /// The allocation of a [`DeviceBuf`](crate::DeviceBuf) that it is a part of.
    pub(crate) fn owner(&self) -> Option<&'r Arc<DeviceCore>> {
        self.owner
    }

    pub(crate) fn into_view(self) -> ViewMut<T> {
        self.view
    }
}

impl<'r, T> DeviceSliceOut<'r, T> {
    pub(crate) fn new(ptr: DevicePtr, len: usize) -> Self {
        Self { view: ViewMut::out(ptr, len), owner: None }
    }

    /// A slice of the owner's memory, if there is an owner.
    pub(crate) fn of(owner: Option<&'r Arc<DeviceCore>>, ptr: DevicePtr, len: usize) -> Self {
        Self { view: ViewMut::out(ptr, len), owner }
    }

    /// The allocation of a [`DeviceBuf`](crate::DeviceBuf) that it is a part of.
    pub(crate) fn owner(&self) -> Option<&'r Arc<DeviceCore>> {
        self.owner
    }

    pub(crate) fn into_view(self) -> ViewMut<T> {
        self.view
    }
}

macro_rules! device_slice {
    ($($type:ident: $view:ident),*) => {$(
        impl<T> $type<'_, T> {
            pub(crate) fn as_view(&self) -> &$view<T> {
                &self.view
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                self.view.elements()
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.view.elements() == 0
            }

            /// The address of the first element in device memory, a `CUdeviceptr`. Operations that are
            /// enqueued with it must stay within the slice.
            pub fn address(&self) -> u64 {
                self.view.ptr().0
            }
        }
    )*};
}
device_slice!(DeviceSlice: View, DeviceSliceMut: ViewMut, DeviceSliceOut: ViewMut);
