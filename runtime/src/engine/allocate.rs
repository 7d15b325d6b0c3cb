//! Memory of a pipeline, with errors that say what it was for.

use crate::base::error::{ErrorKind, Result};
use crate::device::Device;
use crate::device::memory::{DeviceMemory, PinnedCore};

/// Device memory for `what`, or an error that says how much there is.
pub(crate) fn allocate(device: &Device, bytes: usize, what: &str) -> Result<DeviceMemory> {
    DeviceMemory::new(device, bytes).map_err(|error| {
        if error.is_out_of_memory() {
            let free = device.driver().free_memory().unwrap_or(0);
            ErrorKind::OutOfDeviceMemory { what: format!("`{what}`"), requested: bytes as u64, free }.into()
        } else {
            error.into()
        }
    })
}

/// Page-locked host memory for `what`.
pub(crate) fn allocate_pinned(device: &Device, bytes: usize, what: &str) -> Result<PinnedCore> {
    PinnedCore::new(device, bytes).map_err(|error| {
        if error.is_out_of_memory() {
            ErrorKind::OutOfPinnedMemory { what: format!("`{what}`"), requested: bytes as u64 }.into()
        } else {
            error.into()
        }
    })
}
