//! [`StreamsTarget`]: the commands of a run go to the device, one by one.

use crate::device::Device;
use crate::device::stream::Event;
use crate::driver::{Command, Driver, DriverResult, RawStream, Tag};
use crate::engine::staging::slot::{Delivery, Slot};

/// Where commands go one by one, as they come.
pub(crate) struct StreamsTarget<'r> {
    pub(crate) driver: &'r dyn Driver,
    /// Whether the host asks the device how far it is, in place of waiting.
    pub(crate) polls: bool,
}

impl<'r> StreamsTarget<'r> {
    pub(crate) fn new(device: &'r Device) -> Self {
        let driver = device.driver();
        Self { driver, polls: driver.polls() }
    }

    /// Waits for what `done` marks, or asks.
    pub(crate) fn settle(&self, done: &Event) -> DriverResult<bool> {
        if self.polls { done.is_complete() } else { done.synchronize().map(|()| true) }
    }

    /// Marks by a slot's event where the device is done with it. It is none of the plan's events.
    pub(crate) fn mark(
        &self,
        slot: &mut Slot,
        delivery: Option<Delivery>,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        // SAFETY: the stream and the slot's event live as long as the run.
        let marked = unsafe { self.driver.enqueue(Command::Record(slot.done().raw), stream, tag) };
        // Without the record nothing tells when the slot may be read: what is in it is lost with the run.
        slot.enqueued(if marked.is_ok() { delivery } else { None });
        marked
    }
}
