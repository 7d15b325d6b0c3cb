//! [`Staging`]: the pinned ring that pageable host data goes through.
//!
//! The device never touches pageable memory. A copy from it is a CPU copy into a pinned slot followed by an asynchronous
//! one from there; a copy to it is an asynchronous one into a pinned slot, and a CPU copy out of it once that has
//! completed, which is when the slot is needed again or the run ends. The CPU copies run on the calling thread and on
//! rayon's, and are done when the call returns.

use crate::device::Device;
use crate::driver::DriverResult;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{PinnedCore, copy};
use crate::stream::Event;

/// For each operation its slots, if it stages.
#[derive(Default)]
pub(super) struct Staging {
    operations: Vec<Vec<Slot>>,
}

/// One pinned slot of one copy operation.
pub(super) struct Slot {
    core: PinnedCore,
    /// Recorded after the device's copy from or to the slot.
    done: Event,
    /// Whether `done` stands for a copy that has not been waited for.
    in_flight: bool,
    /// What to copy out of the slot once the device's copy into it is done.
    pending: Option<Delivery>,
}

/// Data on its way to pageable memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery {
    /// Whose data it is.
    pub(super) chunk: usize,
    pub(super) to: *mut u8,
    pub(super) bytes: usize,
}

impl Staging {
    /// Makes room: for each operation `Some(bytes)` of a slot if it stages.
    pub(super) fn reserve(
        &mut self,
        device: &Device,
        slot_bytes: &[Option<usize>],
        slots: usize,
        name: impl Fn(usize) -> &'static str,
    ) -> Result<()> {
        self.operations.resize_with(slot_bytes.len(), Vec::new);
        for (operation, (have, bytes)) in self.operations.iter_mut().zip(slot_bytes).enumerate() {
            let Some(bytes) = *bytes else { continue };
            if have.len() >= slots && have.iter().all(|slot| slot.core.bytes() >= bytes) {
                continue;
            }
            // The old ones go first, so that the ring never takes more than its slots.
            have.clear();
            for _ in 0..slots {
                have.push(Slot::new(device, bytes).map_err(|error| -> Error {
                    if error.is_out_of_memory() {
                        let what = format!("staging `{}`", name(operation));
                        let requested = bytes as u64 * slots as u64;
                        ErrorKind::OutOfPinnedMemory { what, requested }.into()
                    } else {
                        error.into()
                    }
                })?);
            }
        }
        Ok(())
    }

    pub(super) fn slot(&mut self, operation: usize, slot: usize) -> Option<&mut Slot> {
        self.operations.get_mut(operation)?.get_mut(slot)
    }

    /// Delivers everything that is pending.
    ///
    /// # Safety
    /// The device is done with every slot, and the run that made the deliveries is not over.
    pub(super) unsafe fn flush(&mut self, device: &Device) {
        for slot in self.operations.iter_mut().flatten() {
            // SAFETY: the caller's promise.
            unsafe { slot.deliver(device) };
        }
    }

    /// Forgets what is pending: the run that wanted it is over.
    pub(super) fn reset(&mut self) {
        for slot in self.operations.iter_mut().flatten() {
            slot.pending = None;
            slot.in_flight = false;
        }
    }

    /// Gives the memory up to the device for good.
    pub(super) fn poison(&mut self) {
        for slot in self.operations.iter().flatten() {
            slot.core.poison();
        }
    }
}

impl Slot {
    fn new(device: &Device, bytes: usize) -> DriverResult<Self> {
        let core = PinnedCore::new(device, bytes)?;
        Ok(Self { core, done: Event::new(device)?, in_flight: false, pending: None })
    }

    pub(super) fn ptr(&self) -> *mut u8 {
        self.core.ptr.as_ptr()
    }

    pub(super) fn bytes(&self) -> usize {
        self.core.bytes()
    }

    /// Whether data of a chunk before this one is pending.
    pub(super) fn owes_before(&self, chunk: usize) -> bool {
        self.pending.is_some_and(|delivery| delivery.chunk < chunk)
    }

    pub(super) fn done(&self) -> &Event {
        &self.done
    }

    /// The device's copy from or to the slot was enqueued and `done` recorded after it.
    pub(super) fn enqueued(&mut self, delivery: Option<Delivery>) {
        self.in_flight = true;
        self.pending = delivery;
    }

    /// The graph with the device's copy from or to the slot was launched.
    pub(super) fn launched(&mut self, delivery: Option<Delivery>) {
        self.pending = delivery;
    }

    /// Waits until the device is done with the slot and delivers what is pending in it; whether there was anything.
    pub(super) fn settle(&mut self, device: &Device) -> DriverResult<bool> {
        if self.in_flight {
            self.done.synchronize()?;
            self.in_flight = false;
        }
        // SAFETY: the event was recorded after the device's last copy from or to the slot, and it has completed;
        // `reset` drops the deliveries of runs that are over.
        Ok(unsafe { self.deliver(device) })
    }

    /// # Safety
    /// The device is done with the slot, and the run that made the delivery is not over.
    pub(super) unsafe fn deliver(&mut self, device: &Device) -> bool {
        let Some(Delivery { to, bytes, .. }) = self.pending.take() else { return false };
        // SAFETY: `to` is `bytes` of the caller's memory, borrowed mutably by the run that made the delivery; the slot
        // holds at least `bytes`, and the device's copy into it has completed.
        unsafe { copy(to, self.core.ptr.as_ptr(), bytes) };
        device.driver().host_copied(bytes);
        true
    }
}

impl std::fmt::Debug for Staging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slots: usize = self.operations.iter().map(Vec::len).sum();
        write!(f, "Staging({slots} slots)")
    }
}

// SAFETY: the pointers in `pending` are used only inside a run, by the thread that runs it; between runs there are none.
unsafe impl Send for Staging {}
// SAFETY: as above; nothing is done through `&Staging`.
unsafe impl Sync for Staging {}
