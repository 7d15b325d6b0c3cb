//! [`InPlace`]: an argument of a run that chunks use where it is, on the device or in page-locked host memory.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::device::Device;
use crate::driver::{Access, DevicePtr};
use crate::memory::{DeviceCore, DeviceSource, HostMemory, HostSource, PinnedRange};

/// Holds the memory for as long as the run may use it.
pub(super) struct InPlace<'a> {
    core: Core,
    /// In elements.
    pub(super) len: usize,
    pub(super) writable: bool,
    borrow: PhantomData<&'a mut [u8]>,
}

enum Core {
    Device(Arc<DeviceCore>),
    Pinned(PinnedRange),
}

impl<'a> InPlace<'a> {
    pub(super) fn on_device(source: DeviceSource<'a>) -> Option<Self> {
        let DeviceSource { core, len, writable, .. } = source;
        Some(Self { core: Core::Device(core), len, writable, borrow: PhantomData })
    }

    /// `None` if the memory is pageable.
    pub(super) fn mapped(source: HostSource<'a>) -> Option<Self> {
        let HostSource { memory, len, writable, .. } = source;
        match memory {
            HostMemory::Pinned(range) => {
                Some(Self { core: Core::Pinned(range), len, writable, borrow: PhantomData })
            }
            HostMemory::Pageable(_) => None,
        }
    }

    pub(super) fn ptr(&self) -> DevicePtr {
        match &self.core {
            Core::Device(core) => core.ptr(),
            Core::Pinned(range) => range.device_ptr(),
        }
    }

    pub(super) fn device(&self) -> &Device {
        match &self.core {
            Core::Device(core) => core.device(),
            Core::Pinned(range) => range.core().device(),
        }
    }

    pub(super) fn is_poisoned(&self) -> bool {
        match &self.core {
            Core::Device(core) => core.is_poisoned(),
            Core::Pinned(range) => range.core().is_poisoned(),
        }
    }

    /// Gives the memory up to the device for good.
    pub(super) fn poison(&self) {
        match &self.core {
            Core::Device(core) => core.poison(),
            Core::Pinned(range) => range.core().poison(),
        }
    }

    /// Whether it is page-locked host memory.
    pub(super) fn is_on_host(&self) -> bool {
        matches!(self.core, Core::Pinned(_))
    }

    /// Whether all of `access` is in this memory, and nothing that was borrowed shared is written.
    pub(super) fn holds(&self, access: &Access) -> bool {
        let is_within = match &self.core {
            Core::Device(core) => {
                let (start, bytes) = (core.ptr(), core.bytes());
                start <= access.ptr && access.ptr.offset(access.bytes) <= start.offset(bytes)
            }
            Core::Pinned(range) => range.holds(access),
        };
        is_within && (self.writable || !access.write)
    }
}
