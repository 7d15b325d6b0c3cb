//! Allocation of a pipeline's memory, with errors that name its purpose.

use crate::base::error::{Detail, Result};
use crate::device::Device;
use crate::device::memory::{DeviceMemory, PinnedCore};

/// Allocates device memory for `what`; an error says how much there is.
pub(crate) fn allocate(device: &Device, bytes: usize, what: &str) -> Result<DeviceMemory> {
    DeviceMemory::new(device, bytes).map_err(|error| {
        if error.is_out_of_memory() {
            let free = device.driver().free_memory().unwrap_or(0);
            Detail::OutOfDeviceMemory { what: format!("`{what}`"), requested: bytes as u64, free }.into()
        } else {
            error.into()
        }
    })
}

/// Allocates page-locked host memory for `what`.
pub(crate) fn allocate_pinned(device: &Device, bytes: usize, what: &str) -> Result<PinnedCore> {
    PinnedCore::new(device, bytes).map_err(|error| {
        if error.is_out_of_memory() {
            Detail::OutOfPinnedMemory { what: format!("`{what}`"), requested: bytes as u64 }.into()
        } else {
            error.into()
        }
    })
}
