//! Owned streams, events and marks.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::host_copy::let_a_moment_pass;
use crate::base::plan::Priority;
use crate::device::Device;
use crate::device::release::release;
use crate::driver::{DriverResult, Nanos, RawCount, RawEvent, RawStream, Tag};

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

/// Shows the host how far a stream has got: an event, or a count, of which the host learns sooner.
#[derive(Debug)]
pub(crate) struct Mark {
    event: Event,
    count: Option<RawCount>,
    /// Whether the latest record is the count's.
    is_counted: AtomicBool,
}

impl Mark {
    pub(crate) fn new(device: &Device) -> DriverResult<Self> {
        Ok(Self { event: Event::new(device)?, count: None, is_counted: AtomicBool::new(false) })
    }

    /// Prepares for records of which the host learns at once.
    pub(crate) fn prepare(&mut self) {
        if self.count.is_none() {
            // An event does as well, but later.
            self.count = self.event.device.driver().create_count().ok().flatten();
        }
    }

    /// Makes the mark stand for everything enqueued on the stream so far. `at_once`: whether the host is to learn of it
    /// at once, if the device can do that and the mark is [prepared](Self::prepare).
    ///
    /// # Safety
    /// What it has stood for is complete, or is on the same stream. The stream is live, and of this device, until this
    /// is complete too, or until the mark is dropped.
    pub(crate) unsafe fn record(&self, stream: RawStream, tag: Tag, at_once: bool) -> DriverResult<()> {
        let driver = self.event.device.driver();
        // SAFETY: the count and the event are live as long as `self` is, and of this driver; the caller's promise. The
        // error does not matter: if it belongs to earlier work on the stream, the event has it too.
        let counts = |count| matches!(unsafe { driver.count_up(count, stream, tag) }, Ok(true));
        let is_counted = self.count.filter(|_| at_once).is_some_and(counts);
        self.is_counted.store(is_counted, Ordering::Relaxed);
        // SAFETY: as above.
        if is_counted { Ok(()) } else { unsafe { driver.record(self.event.raw, stream, tag) } }
    }

    /// The count, if it stands for the latest record.
    fn counted(&self) -> Option<RawCount> {
        self.count.filter(|_| self.is_counted.load(Ordering::Relaxed))
    }

    /// Waits on the host for what it stands for; returns at once if that is nothing.
    pub(crate) fn synchronize(&self) -> DriverResult<()> {
        if self.counted().is_none() {
            return self.event.synchronize();
        }
        while !self.is_complete()? {
            let_a_moment_pass();
        }
        Ok(())
    }

    /// Whether what it stands for is complete, or nothing.
    pub(crate) fn is_complete(&self) -> DriverResult<bool> {
        match self.counted() {
            // SAFETY: the count is live as long as `self` is; the stream is by the contract of `record`.
            Some(count) => unsafe { self.event.device.driver().has_counted(count) },
            None => self.event.is_complete(),
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let Some(count) = self.count else { return };
        release(&self.event.device, move |driver| {
            // SAFETY: it is live and destroyed here only.
            let _ = unsafe { driver.destroy_count(count) };
        });
    }
}
