//! [`DeviceMemory`]: an owned allocation on a device.

use std::any::Any;
use std::fmt;

use crate::base::unwind::contain;
use crate::device::Device;
use crate::device::release::release;
use crate::driver::{DevicePtr, DriverResult};

/// Device memory that is freed when it is dropped, or given back to its lender. Forget it to leave it to the
/// device.
pub(crate) struct DeviceMemory {
    device: Device,
    pub(crate) ptr: DevicePtr,
    pub(crate) bytes: usize,
    /// Keeps memory that somebody has lent.
    lent: Option<Box<dyn Any + Send + Sync>>,
}

impl DeviceMemory {
    pub(crate) fn new(device: &Device, bytes: usize) -> DriverResult<Self> {
        let bytes = bytes.max(1);
        let ptr = device.driver().allocate(bytes)?;
        Ok(Self { device: device.clone(), ptr, bytes, lent: None })
    }

    /// Memory of somebody else. `keep` keeps it alive.
    pub(crate) fn lent(
        device: &Device,
        ptr: DevicePtr,
        bytes: usize,
        keep: Box<dyn Any + Send + Sync>,
    ) -> Self {
        Self { device: device.clone(), ptr, bytes, lent: Some(keep) }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let ptr = self.ptr;
        if let Some(keep) = self.lent.take() {
            // Another thread does this if this one may not wait: the memory may be another library's, which
            // is then freed.
            let memory = ptr.range(self.bytes.max(1));
            return release(&self.device, move |driver| {
                // Note 12: graphs with copies of freed memory are built anew.
                // A graph that uses the memory is not launched again, even if the next allocation has the
                // same address.
                driver.note_gone(memory);
                contain(|| drop(keep));
            });
        }
        release(&self.device, move |driver| {
            // SAFETY: `ptr` came from `allocate` and is freed here only. A pipeline drops it after its run
            // has drained, a `DeviceBuf` after the operations of streams that use it, and both forget it
            // otherwise. A driver that refuses leaks it.
            let _ = unsafe { driver.free(ptr) };
        });
    }
}

impl fmt::Debug for DeviceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.bytes, self.ptr.0)
    }
}
