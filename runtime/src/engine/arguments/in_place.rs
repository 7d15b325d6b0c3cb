//! [`InPlace`]: an argument of a run that chunks use where it lies, on the device or in page-locked host
//! memory.

use std::fmt;
use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::device::Device;
use crate::device::memory::{DeviceCore, PinnedRange};
use crate::device::pending::Held;
use crate::driver::{Access, DevicePtr};
use crate::engine::arguments::{DeviceSource, HostMemory, HostSource, Spread};

/// Holds the memory for as long as the run may use it. [`Call`] holds the borrow.
pub(crate) struct InPlace {
    core: Core,
    /// Its start and its length in bytes. If it is in parts, those of this one.
    range: (DevicePtr, usize),
    /// Length of the argument in elements.
    pub(crate) len: usize,
    pub(crate) writable: bool,
    /// Whether the run needs the data in it.
    reads: bool,
    /// The bytes of the argument before this part.
    pub(crate) first: usize,
    /// The elements of the argument before this part.
    pub(crate) before: usize,
    /// The parts of other devices in their order, or their copies.
    others: Vec<InPlace>,
    /// Whether those are parts or copies.
    spread: Spread,
}

enum Core {
    Device(Arc<DeviceCore>, #[allow(dead_code, reason = "it is dropped with the run")] Held),
    Pinned(PinnedRange),
}

impl InPlace {
    pub(crate) fn on_device(source: DeviceSource<'_>) -> Self {
        let DeviceSource { core, ptr, bytes, len, writable, held, others, spread, .. } = source;
        let mut all = Self {
            core: Core::Device(core, held),
            range: (ptr, bytes),
            len,
            writable,
            reads: true,
            first: 0,
            before: 0,
            others: Vec::new(),
            spread,
        };
        let mut end = bytes;
        for other in others.into_iter().map(Self::on_device) {
            if spread == Spread::Copies {
                all.others.push(other);
                continue;
            }
            let (first, before) = (end, all.len);
            // Only elements without bytes could be so many.
            (end, all.len) = (end + other.range.1, all.len.saturating_add(other.len));
            all.others.push(Self { first, before, ..other });
        }
        all
    }

    /// `None` if the memory is pageable.
    pub(crate) fn mapped(source: HostSource<'_>) -> Option<Self> {
        let HostSource { memory, len, writable, .. } = source;
        match memory {
            HostMemory::Pinned(pinned) => {
                let range = (pinned.device_ptr(), pinned.bytes());
                let (others, spread) = (Vec::new(), Spread::Whole);
                let core = Core::Pinned(pinned);
                Some(Self { core, range, len, writable, reads: true, first: 0, before: 0, others, spread })
            }
            HostMemory::Pageable(_) | HostMemory::Streamed => None,
        }
    }

    /// The same argument, whose contents the run does not need.
    pub(crate) fn unread(self) -> Self {
        let others = self.others.into_iter().map(Self::unread).collect();
        Self { reads: false, others, ..self }
    }

    /// The parts of the argument, or its copies, by device: itself, and those of other devices.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.others)
    }

    /// How it lies on devices.
    pub(crate) fn spread(&self) -> Spread {
        self.spread
    }

    /// Whether it has parts on several devices.
    pub(crate) fn is_in_parts(&self) -> bool {
        !self.others.is_empty() && self.spread == Spread::Parts
    }

    /// Whether it has a copy on each device.
    pub(crate) fn is_copied(&self) -> bool {
        self.spread == Spread::Copies
    }

    /// The bytes of this part.
    pub(crate) fn bytes(&self) -> usize {
        self.range.1
    }

    /// The error because of which data that the run needs may differ from what a stream's operation should
    /// have written.
    pub(crate) fn failure(&self) -> Option<Error> {
        let failure = match &self.core {
            Core::Device(core, _) => core.failure(&self.ptr().range(self.range.1)),
            Core::Pinned(range) => range.failure(),
        };
        let of_others = || self.others.iter().find_map(Self::failure);
        failure.filter(|_| self.reads).or_else(of_others)
    }

    /// Notes that the run has written the first `bytes` bytes of the argument.
    pub(crate) fn is_written_anew(&self, bytes: usize) {
        self.others.iter().for_each(|other| other.is_written_anew(bytes));
        let bytes = bytes.saturating_sub(self.first);
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
        let own = match &self.core {
            Core::Device(core, _) => core.is_poisoned(),
            Core::Pinned(range) => range.core().is_poisoned(),
        };
        own || self.others.iter().any(Self::is_poisoned)
    }

    /// Whether kernels of another device may access it: page-locked memory of a device of the same kind.
    pub(crate) fn is_reached_by(&self, device: &Device) -> Result<bool> {
        match &self.core {
            Core::Device(..) => Ok(false),
            Core::Pinned(range) => range.core().is_copied_by(device),
        }
    }

    /// The same argument, for the device with this number; `None` if it is in the memory of another one. The first
    /// device keeps the parts of the others.
    pub(crate) fn again(&self, number: usize) -> Option<Self> {
        match &self.core {
            Core::Device(..) if self.others.is_empty() => None,
            Core::Device(..) if number == 0 => {
                let others = self.others.iter().map(Self::part).collect();
                Some(Self { others, ..self.part() })
            }
            Core::Device(..) => self.others.get(number - 1).map(Self::part),
            Core::Pinned(_) => Some(self.part()),
        }
    }

    /// This part alone.
    fn part(&self) -> Self {
        let &Self { ref core, range, len, writable, reads, first, before, spread, .. } = self;
        let core = match core {
            Core::Device(core, _) => Core::Device(Arc::clone(core), Held::new(Arc::clone(core) as _)),
            Core::Pinned(pinned) => Core::Pinned(pinned.clone()),
        };
        Self { core, range, len, writable, reads, first, before, others: Vec::new(), spread }
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
