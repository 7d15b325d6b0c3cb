//! What a device does for all of its streams.

use std::ops::RangeInclusive;

use crate::base::error::Result;
use crate::device::Device;
use crate::device::pending::caller;

impl Device {
    /// The priorities that streams can have, from the most urgent to the least: `cudaDeviceGetStreamPriorityRange`.
    pub fn priorities(&self) -> RangeInclusive<i32> {
        let (least, greatest) = self.driver().info().priorities;
        greatest..=least
    }

    /// Waits on the host for everything on the device: `cudaDeviceSynchronize`.
    ///
    /// # Errors
    /// The calling thread may not wait. Something has failed in a [`Stream`](crate::Stream), also in one that is gone, that nobody
    /// was told yet.
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        let driver = self.driver();
        caller("Device::synchronize").located(|| {
            driver.may_wait()?;
            for stream in self.registry().streams() {
                // It keeps what went wrong.
                stream.wait_for(stream.enqueued());
            }
            driver.synchronize_device()?;
            self.registry().take_untold().map_or(Ok(()), Err)
        })
    }
}
