//! Sources and destinations of copies: buffers, and parts of them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;

use crate::base::error::{Detail, Result};
use crate::device::Device;
use crate::device::launch::{DeviceSlice, DeviceSliceMut, DeviceSliceOut};
use crate::device::memory::{DeviceBuf, PinnedBuf, PinnedCore, PinnedRange, PinnedSlice, PinnedSliceMut};
use crate::device::pending::Memory;
use crate::device::pending::uses::Used;
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
    fn part(self) -> HostPart;
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
    fn part(self) -> HostPart;
}

/// Device memory that a stream copies from: `&DeviceBuf<T>` or a [`DeviceSlice<T>`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory of `{T}`",
    label = "expected `&DeviceBuf<{T}>`"
)]
pub trait FromDevice<T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn part(self) -> DevicePart;
}

/// Device memory that a stream copies to or fills: `&mut DeviceBuf<T>` or a [`DeviceSliceMut<T>`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not device memory of `{T}` to write",
    label = "expected `&mut DeviceBuf<{T}>`"
)]
pub trait ToDevice<T: Pod>: sealed::Sealed {
    #[doc(hidden)]
    fn part(self) -> DevicePart;
}

/// A part of a [`PinnedBuf`].
#[doc(hidden)]
pub struct HostPart {
    pub(super) range: PinnedRange,
    /// Length in elements.
    pub(super) len: usize,
}

impl fmt::Debug for HostPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostPart").finish_non_exhaustive()
    }
}

/// A part of a [`DeviceBuf`].
#[doc(hidden)]
pub struct DevicePart {
    pub(super) ptr: DevicePtr,
    /// Length in elements.
    pub(super) len: usize,
}

impl fmt::Debug for DevicePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevicePart").finish_non_exhaustive()
    }
}

impl<T: Pod> FromHost<T> for &PinnedBuf<T> {
    fn part(self) -> HostPart {
        HostPart { range: self.whole(), len: self.elements() }
    }
}
impl<T: Pod> ToHost<T> for &mut PinnedBuf<T> {
    fn part(self) -> HostPart {
        HostPart { range: self.whole(), len: self.elements() }
    }
}
impl<T: Pod> FromHost<T> for PinnedSlice<'_, T> {
    fn part(self) -> HostPart {
        HostPart { range: self.unsettled(), len: self.len() }
    }
}
impl<T: Pod> ToHost<T> for PinnedSliceMut<'_, T> {
    fn part(self) -> HostPart {
        HostPart { range: self.unsettled(), len: self.len() }
    }
}

impl<T: Pod> FromDevice<T> for &DeviceBuf<T> {
    fn part(self) -> DevicePart {
        DevicePart { ptr: self.core().tracked(), len: self.len() }
    }
}
impl<T: Pod> ToDevice<T> for &mut DeviceBuf<T> {
    fn part(self) -> DevicePart {
        DevicePart { ptr: self.core().tracked(), len: self.len() }
    }
}
macro_rules! slices {
    ($($slice:ident: $use:ident),*) => {$(
        impl<T: Pod> $use<T> for $slice<'_, T> {
            fn part(self) -> DevicePart {
                DevicePart { ptr: DevicePtr(self.address()), len: self.len() }
            }
        }
    )*};
}
slices!(DeviceSlice: FromDevice, DeviceSliceMut: ToDevice, DeviceSliceOut: ToDevice);

impl HostPart {
    /// The part as memory that an operation on a device uses.
    pub(super) fn used(&self, device: &Device, write: bool) -> Result<Used> {
        let core: &Arc<PinnedCore> = self.range.shared();
        if !core.is_copied_by(device)? {
            device.check_stream("PinnedBuf", core.device())?;
        }
        check(&**core, "PinnedBuf")?;
        let bytes = self.range.device_ptr().range(self.range.bytes());
        Ok(Used { memory: Arc::clone(core) as _, bytes, write, anew: write })
    }
}

impl DevicePart {
    pub(super) fn bytes<T>(&self) -> usize {
        self.len * size_of::<T>()
    }

    pub(super) fn used<T>(&self, device: &Device, write: bool) -> Result<Used> {
        used(device, self.ptr.range(self.bytes::<T>()), write)
    }
}

/// The device memory at `bytes`, which an operation reads or writes in full.
pub(super) fn used(device: &Device, bytes: Range<u64>, write: bool) -> Result<Used> {
    let memory = device.registry().memory_of(&bytes).ok_or(Detail::UnknownMemory)?;
    check(&*memory, if memory.is_on_host() { "PinnedBuf" } else { "DeviceBuf" })?;
    Ok(Used { memory, bytes, write, anew: write })
}

fn check(memory: &dyn Memory, host: &'static str) -> Result<()> {
    if memory.is_poisoned() { Err(Detail::Poisoned { host }.into()) } else { Ok(()) }
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
