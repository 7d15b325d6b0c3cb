//! [`InPlace`]: an argument of a run that chunks use where it lies, on the device or in page-locked host
//! memory.

use std::fmt;
use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::device::Device;
use crate::device::memory::{DeviceCore, PinnedRange};
use crate::device::pending::Held;
use crate::driver::{Access, DevicePtr};
use crate::engine::arguments::{DeviceSource, HostMemory, HostSource};

/// Holds the memory for as long as the run may use it. [`Call`] holds the borrow.
pub(crate) struct InPlace {
    core: Core,
    /// Its start and its length in bytes.
    range: (DevicePtr, usize),
    /// Length in elements.
    pub(crate) len: usize,
    pub(crate) writable: bool,
    /// Whether the run needs the data in it.
    reads: bool,
}

enum Core {
    Device(Arc<DeviceCore>, #[allow(dead_code, reason = "it is dropped with the run")] Held),
    Pinned(PinnedRange),
}

impl InPlace {
    pub(crate) fn on_device(source: DeviceSource<'_>) -> Self {
        let DeviceSource { core, ptr, bytes, len, writable, held, .. } = source;
        let range = (ptr, bytes);
        Self { core: Core::Device(core, held), range, len, writable, reads: true }
    }

    /// `None` if the memory is pageable.
    pub(crate) fn mapped(source: HostSource<'_>) -> Option<Self> {
        let HostSource { memory, len, writable, .. } = source;
        match memory {
            HostMemory::Pinned(pinned) => {
                let range = (pinned.device_ptr(), pinned.bytes());
                Some(Self { core: Core::Pinned(pinned), range, len, writable, reads: true })
            }
            HostMemory::Pageable(_) | HostMemory::Streamed => None,
        }
    }

    /// The same argument, whose contents the run does not need.
    pub(crate) fn unread(self) -> Self {
        Self { reads: false, ..self }
    }

    /// The error because of which data that the run needs may differ from what a stream's operation should
    /// have written.
    pub(crate) fn failure(&self) -> Option<Error> {
        let failure = match &self.core {
            Core::Device(core, _) => core.failure(&self.ptr().range(self.range.1)),
            Core::Pinned(range) => range.failure(),
        };
        failure.filter(|_| self.reads)
    }

    /// Notes that the run has written its first `bytes` bytes.
    pub(crate) fn is_written_anew(&self, bytes: usize) {
        match &self.core {
            Core::Device(core, _) => core.is_written_anew(&self.ptr().range(bytes.min(self.range.1))),
            Core::Pinned(range) => range.is_written_anew(bytes),
        }
    }

    pub(crate) fn ptr(&self) -> DevicePtr {
        self.range.0
    }

    pub(crate) fn device(&self) -> &Device {
        match &self.core {
            Core::Device(core, _) => core.device(),
            Core::Pinned(range) => range.core().device(),
        }
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        match &self.core {
            Core::Device(core, _) => core.is_poisoned(),
            Core::Pinned(range) => range.core().is_poisoned(),
        }
    }

    /// Whether kernels of another device may access it: page-locked memory of a device of the same kind.
    pub(crate) fn is_reached_by(&self, device: &Device) -> Result<bool> {
        match &self.core {
            Core::Device(..) => Ok(false),
            Core::Pinned(range) => range.core().is_copied_by(device),
        }
    }

    /// The same argument, for another device; `None` if it is in a device's memory.
    pub(crate) fn again(&self) -> Option<Self> {
        let &Self { ref core, range, len, writable, reads } = self;
        match core {
            Core::Device(..) => None,
            Core::Pinned(pinned) => {
                Some(Self { core: Core::Pinned(pinned.clone()), range, len, writable, reads })
            }
        }
    }

    /// Leaves the memory to the device for good.
    pub(crate) fn poison(&self) {
        match &self.core {
            Core::Device(core, _) => core.poison(),
            Core::Pinned(range) => range.core().poison(),
        }
    }

    /// Whether it is page-locked host memory.
    pub(crate) fn is_on_host(&self) -> bool {
        matches!(self.core, Core::Pinned(_))
    }

    /// Whether all of `access` lies in this memory, and no memory that was borrowed shared is written.
    pub(crate) fn holds(&self, access: &Access) -> bool {
        let (ptr, bytes) = self.range;
        access.is_within(ptr, bytes) && (self.writable || !access.write)
    }
}

impl fmt::Debug for InPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ptr, bytes) = self.range;
        write!(f, "{bytes} bytes at {:#x}", ptr.0)
    }
}
