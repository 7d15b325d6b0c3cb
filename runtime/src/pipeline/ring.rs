//! [`Ring`]: device memory, a slot of every buffer for each chunk in flight.

use super::allocate;
use crate::device::Device;
use crate::driver::{Access, DevicePtr};
use crate::error::Result;
use crate::memory::DeviceMemory;

/// Slots start at this alignment, as allocations do.
const ALIGN: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Ring {
    buffers: Vec<RingBuffer>,
}

#[derive(Debug)]
struct RingBuffer {
    memory: Option<DeviceMemory>,
    /// From one slot to the next, in bytes.
    stride: usize,
    slots: usize,
}

impl Ring {
    /// Makes room for `slots` slots of the given sizes, one size a buffer, and keeps what is large enough already.
    ///
    /// The caller has drained: no slot is in use.
    pub(super) fn reserve(
        &mut self,
        device: &Device,
        names: &[&'static str],
        slot_bytes: &[usize],
        slots: usize,
    ) -> Result<()> {
        if self.buffers.len() != slot_bytes.len() {
            self.buffers =
                slot_bytes.iter().map(|_| RingBuffer { memory: None, stride: 0, slots: 0 }).collect();
        }
        for ((buffer, &bytes), name) in self.buffers.iter_mut().zip(slot_bytes).zip(names) {
            let stride = bytes.max(1).checked_next_multiple_of(ALIGN).unwrap_or(usize::MAX);
            let total = stride.saturating_mul(slots);
            if buffer.memory.as_ref().is_none_or(|memory| memory.bytes < total) {
                // The old one goes first, so that the ring never takes more than its slots.
                buffer.memory = None;
                buffer.memory = Some(allocate(device, total, name)?);
            }
            (buffer.stride, buffer.slots) = (stride, slots);
        }
        Ok(())
    }

    /// The address of one slot of one buffer and its size in bytes.
    pub(super) fn slot(&self, buffer: usize, slot: usize) -> Option<(DevicePtr, usize)> {
        let buffer = self.buffers.get(buffer)?;
        let memory = buffer.memory.as_ref()?;
        (slot < buffer.slots).then(|| (memory.ptr.offset(slot * buffer.stride), buffer.stride))
    }

    /// Whether all of `access` is in this ring.
    pub(super) fn holds(&self, access: &Access) -> bool {
        let end = |ptr: DevicePtr, bytes| ptr.offset(bytes);
        let mut memory = self.buffers.iter().filter_map(|buffer| buffer.memory.as_ref());
        memory.any(|memory| {
            memory.ptr <= access.ptr && end(access.ptr, access.bytes) <= end(memory.ptr, memory.bytes)
        })
    }

    /// Leaves the memory to the device.
    pub(super) fn leak(self) {
        self.buffers.into_iter().for_each(|buffer| std::mem::forget(buffer.memory));
    }
}
