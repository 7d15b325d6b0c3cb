//! Device-wide operations on streams.

use std::ops::RangeInclusive;

use crate::base::error::Result;
use crate::device::Device;
use crate::device::pending::caller;

impl Device {
    /// The priorities that streams can have, from the most urgent to the least:
    /// `cudaDeviceGetStreamPriorityRange`.
    pub fn priorities(&self) -> RangeInclusive<i32> {
        let (least, greatest) = self.driver().info().priorities;
        greatest..=least
    }

    /// Waits on the host for everything on the device: `cudaDeviceSynchronize`.
    ///
    /// # Errors
    /// The calling thread may not wait, or an operation has failed in a [`Stream`](crate::streams::Stream),
    /// possibly one that was dropped, and no call has returned the error yet.
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        let driver = self.driver();
        caller("Device::synchronize").located(|| {
            driver.may_wait()?;
            for stream in self.registry().streams() {
                // The stream keeps its errors.
                stream.wait_for(stream.enqueued());
            }
            driver.synchronize_device()?;
            self.registry().take_untold().map_or(Ok(()), Err)
        })
    }
}
