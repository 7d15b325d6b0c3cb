//! [`StreamsTarget`]: passes the commands of a run to the device, one by one.

use crate::device::Device;
use crate::device::stream::Mark;
use crate::driver::{Driver, DriverResult, RawStream, Tag};
use crate::engine::staging::slot::{Delivery, Slot};

/// The target that passes commands on as they come.
pub(crate) struct StreamsTarget<'r> {
    pub(crate) driver: &'r dyn Driver,
    /// Whether the host polls the device instead of waiting.
    pub(crate) polls: bool,
}

impl<'r> StreamsTarget<'r> {
    pub(crate) fn new(device: &'r Device) -> Self {
        let driver = device.driver();
        Self { driver, polls: driver.polls() }
    }

    /// Waits for the work that `done` marks, or only asks for its state.
    pub(crate) fn settle(&self, done: &Mark) -> DriverResult<bool> {
        if self.polls { done.is_complete() } else { done.synchronize().map(|()| true) }
    }

    /// Marks when the device is done with a slot.
    pub(crate) fn mark(
        &self,
        slot: &mut Slot,
        delivery: Option<Delivery>,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        // SAFETY: the stream lives as long as the run, which waits for it. The slot was settled before it was used again.
        let marked = unsafe { slot.done().record(stream, tag, slot.is_called()) };
        // Without the record nothing shows when the slot may be read: its data are lost with the run.
        slot.enqueued(if marked.is_ok() { delivery } else { None });
        marked
    }
}
