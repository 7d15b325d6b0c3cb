//! [`Ring`]: a slot of every buffer for each chunk in flight, in device memory or in page-locked host memory.

use crate::base::error::Result;
use crate::base::events;
use crate::base::plan::{BufferKind, BufferPlan};
use crate::device::Device;
use crate::device::memory::{DeviceMemory, PinnedCore};
use crate::driver::{Access, DevicePtr};
use crate::engine::allocate::{allocate, allocate_pinned};

/// Slots start at this alignment, as allocations do.
pub(crate) const ALIGN: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Ring {
    buffers: Vec<RingBuffer>,
}

#[derive(Debug)]
struct RingBuffer {
    memory: Option<RingMemory>,
    /// Start and length of the memory in bytes.
    range: (DevicePtr, usize),
    /// Distance from one slot to the next, in bytes.
    stride: usize,
    slots: usize,
}

enum RingMemory {
    Device(DeviceMemory),
    Host(PinnedCore),
}

impl RingMemory {
    fn ptr(&self) -> DevicePtr {
        match self {
            Self::Device(memory) => memory.ptr,
            Self::Host(core) => core.device_ptr(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Device(memory) => memory.bytes,
            Self::Host(core) => core.bytes(),
        }
    }

    fn holds(&self, access: &Access) -> bool {
        access.is_within(self.ptr(), self.bytes())
    }
}

impl std::fmt::Debug for RingMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes at {:#x}", self.bytes(), self.ptr().0)
    }
}

impl Ring {
    /// The total bytes of buffers with these sizes.
    pub(crate) fn total(sizes: impl Iterator<Item = (usize, usize)>) -> usize {
        let total = |(bytes, slots): (usize, usize)| stride(bytes).saturating_mul(slots);
        sizes.map(total).fold(0, usize::saturating_add)
    }

    /// Bytes of device memory and of page-locked memory held.
    pub(crate) fn held(&self) -> [usize; 2] {
        let bytes = |on_device: bool| {
            let memories = self.buffers.iter().filter_map(|buffer| buffer.memory.as_ref());
            memories
                .filter(|memory| matches!(memory, RingMemory::Device(_)) == on_device)
                .map(RingMemory::bytes)
                .sum()
        };
        [bytes(true), bytes(false)]
    }

    /// Makes room for the given sizes, one for each buffer: `Some((bytes, slots))`, or `None` to leave the
    /// buffer as it is. Memory that is large enough already is kept.
    ///
    /// The caller has drained: no slot is in use.
    pub(crate) fn reserve(
        &mut self,
        device: &Device,
        plans: &[BufferPlan],
        sizes: impl Iterator<Item = Option<(usize, usize)>>,
    ) -> Result<()> {
        self.buffers.resize_with(plans.len(), || RingBuffer {
            memory: None,
            range: (DevicePtr(0), 0),
            stride: 0,
            slots: 0,
        });
        for ((buffer, size), plan) in self.buffers.iter_mut().zip(sizes).zip(plans) {
            let Some((bytes, slots)) = size else { continue };
            let stride = stride(bytes);
            let total = stride.saturating_mul(slots);
            if buffer.memory.as_ref().is_none_or(|memory| memory.bytes() < total) {
                // The old memory goes first, so that the ring never takes more than its slots.
                buffer.memory = None;
                let memory = match plan.kind {
                    BufferKind::HostScratch => RingMemory::Host(allocate_pinned(device, total, plan.name)?),
                    _ => RingMemory::Device(allocate(device, total, plan.name)?),
                };
                events::allocated(plan.name, memory.bytes(), matches!(memory, RingMemory::Device(_)));
                buffer.range = (memory.ptr(), memory.bytes());
                buffer.memory = Some(memory);
            }
            (buffer.stride, buffer.slots) = (stride, slots);
        }
        Ok(())
    }

    /// The address of one slot of one buffer and its size in bytes.
    pub(crate) fn slot(&self, buffer: usize, slot: usize) -> Option<(DevicePtr, usize)> {
        let buffer = self.buffers.get(buffer)?;
        let (start, _) = buffer.range;
        let has_slot = buffer.memory.is_some() && slot < buffer.slots;
        has_slot.then(|| (start.offset(slot * buffer.stride), buffer.stride))
    }

    /// Whether all of `access` lies in this ring.
    pub(crate) fn holds(&self, access: &Access) -> bool {
        let holds = |buffer: &RingBuffer| {
            let (start, bytes) = buffer.range;
            access.is_within(start, bytes) && buffer.memory.is_some()
        };
        self.buffers.iter().any(holds)
    }

    /// Whether all of `access` lies in this ring's host memory.
    pub(crate) fn holds_on_host(&self, access: &Access) -> bool {
        let mut memory = self.buffers.iter().filter_map(|buffer| buffer.memory.as_ref());
        memory.any(|memory| matches!(memory, RingMemory::Host(_)) && memory.holds(access))
    }

    /// Leaves the memory to the device.
    pub(crate) fn leak(self) {
        for memory in self.buffers.into_iter().filter_map(|buffer| buffer.memory) {
            match memory {
                RingMemory::Device(memory) => std::mem::forget(memory),
                RingMemory::Host(core) => core.poison(),
            }
        }
    }
}

/// The distance from one slot of `bytes` to the next.
fn stride(bytes: usize) -> usize {
    bytes.max(1).checked_next_multiple_of(ALIGN).unwrap_or(usize::MAX)
}
