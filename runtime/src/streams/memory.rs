//! Sources and destinations of copies: buffers, and parts of them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;

use crate::base::error::Result;
use crate::device::Device;
use crate::device::launch::{DeviceSlice, DeviceSliceMut, DeviceSliceOut};
use crate::device::memory::{
    DeviceBuf, DeviceCore, PinnedBuf, PinnedCore, PinnedPart, PinnedSlice, PinnedSliceMut,
};
use crate::device::pending::uses::Used;
use crate::device::views;
use crate::driver::DevicePtr;

/// Page-locked memory that a stream copies from: `&PinnedBuf<T>` or a [`PinnedSlice<T>`].
#[diagnostic::on_unimplemented(
    message = "a stream cannot copy from `{Self}`",
    label = "expected `&PinnedBuf<{T}>`",
    note = "the copy goes on when the call has returned: pageable memory might be gone or changed by then",
    note = "`PinnedBuf::from_slice` copies it to page-locked memory; `DeviceBuf::copy_from_slice` copies it and waits"
)]
pub trait FromHost<T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn part<'p>(self) -> HostPart<'p>
    where
        Self: 'p;
}

/// Page-locked memory that a stream copies to: `&mut PinnedBuf<T>` or a [`PinnedSliceMut<T>`].
#[diagnostic::on_unimplemented(
    message = "a stream cannot copy to `{Self}`",
    label = "expected `&mut PinnedBuf<{T}>`",
    note = "the copy goes on when the call has returned: pageable memory might be gone or in use by then",
    note = "copy to a `PinnedBuf::zeroed`; `DeviceBuf::copy_to_slice` copies to any slice and waits"
)]
pub trait ToHost<T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn part<'p>(self) -> HostPart<'p>
    where
        Self: 'p;
}

/// Device memory that a stream copies from: `&DeviceBuf<T>` or a [`DeviceSlice<T>`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory of `{T}`",
    label = "expected `&DeviceBuf<{T}>`"
)]
pub trait FromDevice<T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn part<'p>(self) -> DevicePart<'p>
    where
        Self: 'p;
}

/// Device memory that a stream copies to or fills: `&mut DeviceBuf<T>` or a [`DeviceSliceMut<T>`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory of `{T}` to write",
    label = "expected `&mut DeviceBuf<{T}>`"
)]
pub trait ToDevice<T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn part<'p>(self) -> DevicePart<'p>
    where
        Self: 'p;
}

/// A part of a [`PinnedBuf`].
#[doc(hidden)]
pub struct HostPart<'p> {
    part: PinnedPart<'p>,
    /// Length in elements.
    pub(super) len: usize,
}

impl fmt::Debug for HostPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostPart").finish_non_exhaustive()
    }
}

/// A part of a [`DeviceBuf`].
#[doc(hidden)]
pub struct DevicePart<'p> {
    pub(super) ptr: DevicePtr,
    /// Length in elements.
    pub(super) len: usize,
    /// The allocation, unless a pipeline has handed the memory out.
    owner: Option<&'p Arc<DeviceCore>>,
}

impl fmt::Debug for DevicePart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevicePart").finish_non_exhaustive()
    }
}

impl<T: Pod> FromHost<T> for &PinnedBuf<T> {
    fn part<'p>(self) -> HostPart<'p>
    where
        Self: 'p,
    {
        HostPart::of::<T>(self.core(), 0, self.elements())
    }
}
impl<T: Pod> ToHost<T> for &mut PinnedBuf<T> {
    fn part<'p>(self) -> HostPart<'p>
    where
        Self: 'p,
    {
        HostPart::of::<T>(self.core(), 0, self.elements())
    }
}
macro_rules! host_slices {
    ($($slice:ident: $use:ident),*) => {$(
        impl<T: Pod> $use<T> for $slice<'_, T> {
            fn part<'p>(self) -> HostPart<'p>
            where
                Self: 'p,
            {
                let (start, len) = (self.start(), self.len());
                HostPart::of::<T>(self.owner(), start, len)
            }
        }
    )*};
}
host_slices!(PinnedSlice: FromHost, PinnedSliceMut: ToHost);

impl<T: Pod> FromDevice<T> for &DeviceBuf<T> {
    fn part<'p>(self) -> DevicePart<'p>
    where
        Self: 'p,
    {
        DevicePart { ptr: self.core().tracked(), len: self.len(), owner: Some(self.core()) }
    }
}
impl<T: Pod> ToDevice<T> for &mut DeviceBuf<T> {
    fn part<'p>(self) -> DevicePart<'p>
    where
        Self: 'p,
    {
        DevicePart { ptr: self.core().tracked(), len: self.len(), owner: Some(self.core()) }
    }
}
macro_rules! slices {
    ($($slice:ident: $use:ident),*) => {$(
        impl<T: Pod> $use<T> for $slice<'_, T> {
            fn part<'p>(self) -> DevicePart<'p>
            where
                Self: 'p,
            {
                DevicePart { ptr: DevicePtr(self.address()), len: self.len(), owner: self.owner() }
            }
        }
    )*};
}
slices!(DeviceSlice: FromDevice, DeviceSliceMut: ToDevice, DeviceSliceOut: ToDevice);

impl<'p> HostPart<'p> {
    fn of<T>(core: &'p Arc<PinnedCore>, start: usize, len: usize) -> Self {
        Self { part: PinnedPart::of::<T>(core, start, len), len }
    }

    /// The address of its first byte.
    pub(super) fn ptr(&self) -> *mut u8 {
        self.part.ptr()
    }

    /// The part as memory that an operation on a device uses.
    pub(super) fn used(&self, device: &Device, write: bool) -> Result<Used<'p>> {
        let core = self.part.core;
        if !core.is_copied_by(device)? {
            device.check_stream("PinnedBuf", core.device())?;
        }
        Used::checked(core, self.part.addresses(), write)
    }
}

impl<'p> DevicePart<'p> {
    pub(super) fn bytes<T>(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The device that the memory is on.
    ///
    /// # Errors
    /// A run has the memory.
    pub(super) fn device(&self) -> Result<&'p Device> {
        Ok(views::owner(self.owner)?.device())
    }

    /// The part as memory that an operation on a device uses, which has it.
    pub(super) fn used<T>(&self, device: &Device, write: bool) -> Result<Used<'p>> {
        let owner = views::owner(self.owner)?;
        device.check_stream("DeviceBuf", owner.device())?;
        Used::checked(owner, self.addresses::<T>(), write)
    }

    /// The part as memory that a copy on a device uses, which has it or is a peer of the one that has it.
    pub(super) fn reached<T>(&self, device: &Device, write: bool) -> Result<Used<'p>> {
        let owner = views::owner(self.owner)?;
        device.check_peer("DeviceBuf", owner.device())?;
        Used::checked(owner, self.addresses::<T>(), write)
    }

    /// The addresses of all of its bytes.
    fn addresses<T>(&self) -> Range<u64> {
        self.ptr.range(self.bytes::<T>())
    }
}

mod sealed {
    use super::*;

    pub trait Sealed {}
    impl<T: Pod> Sealed for &PinnedBuf<T> {}
    impl<T: Pod> Sealed for &mut PinnedBuf<T> {}
    impl<T: Pod> Sealed for PinnedSlice<'_, T> {}
    impl<T: Pod> Sealed for PinnedSliceMut<'_, T> {}
    impl<T: Pod> Sealed for &DeviceBuf<T> {}
    impl<T: Pod> Sealed for &mut DeviceBuf<T> {}
    impl<T: Pod> Sealed for DeviceSlice<'_, T> {}
    impl<T: Pod> Sealed for DeviceSliceMut<'_, T> {}
    impl<T: Pod> Sealed for DeviceSliceOut<'_, T> {}
}
