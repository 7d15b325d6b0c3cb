//! [`Lent`]: host memory that a run lends to a device.

use std::ops::Range;

use crate::device::Device;
use crate::driver::DevicePtr;

/// Takes the memory back when it is dropped, which is after the run has drained: until then the run's `Call` has
/// the arguments.
pub(crate) struct Lent {
    device: Device,
    memory: Range<usize>,
}

impl Lent {
    /// Lends `bytes` bytes from `start` on; `None` if the device has memory of its own.
    ///
    /// # Safety
    /// The memory stays borrowed, mutably if commands write it, until this is dropped, and then no enqueued work
    /// uses it.
    pub(crate) unsafe fn new(device: &Device, start: *mut u8, bytes: usize) -> Option<(Self, DevicePtr)> {
        let first = start.expose_provenance();
        let memory = first..first.saturating_add(bytes);
        // SAFETY: the caller's promise; the provenance was exposed above.
        let takes = unsafe { device.driver().lend(memory.clone()) };
        takes.then(|| (Self { device: device.clone(), memory }, DevicePtr(first as u64)))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.device.driver().take_back(self.memory.clone());
    }
}
