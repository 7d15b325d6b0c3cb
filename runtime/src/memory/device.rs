//! [`DeviceMemory`]: an owned allocation on a device.

use crate::device::Device;
use crate::driver::{DevicePtr, DriverResult};

/// Device memory that is freed when it is dropped. Forget it to leave it to the device.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    device: Device,
    pub(crate) ptr: DevicePtr,
    pub(crate) bytes: usize,
}

impl DeviceMemory {
    pub(crate) fn new(device: &Device, bytes: usize) -> DriverResult<Self> {
        let bytes = bytes.max(1);
        let ptr = device.driver().allocate(bytes)?;
        Ok(Self { device: device.clone(), ptr, bytes })
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: `ptr` came from `allocate` and is freed here only; a pipeline drops it after its run has drained and
        // forgets it otherwise. A driver that refuses leaks it.
        let _ = unsafe { self.device.driver().free(self.ptr) };
    }
}
