//! Owned streams and events.

use crate::base::plan::Priority;
use crate::device::Device;
use crate::device::release::release;
use crate::driver::{DriverResult, Nanos, RawEvent, RawStream};

/// A stream that is destroyed when it is dropped, unless it is the device's null stream.
#[derive(Debug)]
pub(crate) struct Stream {
    device: Device,
    pub(crate) raw: RawStream,
    owned: bool,
}

impl Stream {
    pub(crate) fn new(device: &Device, priority: Priority) -> DriverResult<Self> {
        let raw = device.driver().create_stream(priority.level(device.driver().info().priorities))?;
        Ok(Self { device: device.clone(), raw, owned: true })
    }

    /// The device's null stream.
    pub(crate) fn null(device: &Device) -> DriverResult<Self> {
        let raw = device.driver().null_stream()?;
        Ok(Self { device: device.clone(), raw, owned: false })
    }

    /// Waits on the host for everything that was enqueued.
    pub(crate) fn synchronize(&self) -> DriverResult<()> {
        // SAFETY: `raw` is live as long as `self` is, and of this driver.
        unsafe { self.device.driver().synchronize_stream(self.raw) }
    }

    // Note 39: the driver may look at a word that the stream writes.
    /// Waits on the host for everything that was enqueued, if that was just now and should take only an
    /// instant.
    pub(crate) fn synchronize_soon(&self) -> DriverResult<()> {
        // SAFETY: as above.
        unsafe { self.device.driver().synchronize_soon(self.raw) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        let raw = self.raw;
        release(&self.device, move |driver| {
            // SAFETY: `raw` is live and destroyed here only.
            let _ = unsafe { driver.destroy_stream(raw) };
        });
    }
}

/// An event that is destroyed when it is dropped.
#[derive(Debug)]
pub(crate) struct Event {
    device: Device,
    pub(crate) raw: RawEvent,
}

impl Event {
    pub(crate) fn new(device: &Device) -> DriverResult<Self> {
        let raw = device.driver().create_event()?;
        Ok(Self { device: device.clone(), raw })
    }

    // Note 35: never used for ordering.
    /// An event that also tells the time.
    pub(crate) fn with_timing(device: &Device) -> DriverResult<Self> {
        let raw = device.driver().create_timing_event()?;
        Ok(Self { device: device.clone(), raw })
    }

    /// Nanoseconds from the completion of this event to that of `later`. Both have timing.
    pub(crate) fn elapsed(&self, later: &Self) -> DriverResult<Nanos> {
        // SAFETY: both are live, and of this driver: they belong to streams of one device.
        unsafe { self.device.driver().elapsed(self.raw, later.raw) }
    }

    /// Waits on the host for the latest record; returns at once if there is none.
    pub(crate) fn synchronize(&self) -> DriverResult<()> {
        // SAFETY: `raw` is live as long as `self` is, and of this driver.
        unsafe { self.device.driver().synchronize_event(self.raw) }
    }

    /// Whether the latest record is complete, or there is none.
    pub(crate) fn is_complete(&self) -> DriverResult<bool> {
        // SAFETY: as above.
        unsafe { self.device.driver().query_event(self.raw) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let raw = self.raw;
        release(&self.device, move |driver| {
            // SAFETY: `raw` is live and destroyed here only.
            let _ = unsafe { driver.destroy_event(raw) };
        });
    }
}
