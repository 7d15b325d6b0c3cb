//! [`Staging`]: the page-locked ring through which pageable host data go.
//!
//! The device never touches pageable memory. A copy from it is a CPU copy into a staging slot, followed by an
//! asynchronous copy from there; a copy to it is an asynchronous copy into a staging slot, followed by a CPU
//! copy out of it once the first has completed. The CPU copies run on [`Workers`]: inputs are read ahead as
//! far as there are slots, and results are copied as soon as they arrive. The thread that enqueues attends to
//! both whenever it has to wait.

pub(crate) mod ring;
pub(crate) mod slot;
pub(crate) mod transfer;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::base::error::{Detail, Error, Result, counted};
use crate::base::events;
use crate::base::host_copy::{Workers, let_a_moment_pass};
use crate::device::Device;
use crate::device::stream::Mark;
use crate::driver::DriverResult;
use crate::engine::feeds::exchange::Exchange;
use crate::engine::staging::slot::{Slot, SlotState};

/// The slots of all operations that stage data.
#[derive(Default)]
pub(crate) struct Staging {
    lanes: Vec<OperationSlots>,
    /// The number of slots of each lane that the run uses. There may be more.
    slots: usize,
    /// The operation, the slot and the chunk of each copy on its way to pageable memory, in the order of
    /// enqueuing. Some may be delivered already.
    due: VecDeque<(usize, usize, usize)>,
    /// The threads that copy, once there are slots.
    workers: Option<&'static Workers>,
}

/// The slots of one operation.
#[derive(Default)]
struct OperationSlots {
    /// The largest slots come first.
    slots: Vec<Slot>,
    /// The number of chunks that have arrived in pageable memory.
    arrived: usize,
    /// The first chunk that has not been read yet.
    ahead: usize,
}

impl Staging {
    /// Makes room: `slot_bytes` has `Some(bytes)` for each operation that stages.
    ///
    /// Slots that the run does not need are kept as long as there is memory: runs of several sizes may take
    /// turns, and allocating page-locked memory takes longer than many a run. No slot is in use.
    pub(crate) fn reserve(
        &mut self,
        device: &Device,
        slot_bytes: &[Option<usize>],
        slots: usize,
        name: impl Fn(usize) -> &'static str,
    ) -> Result<()> {
        self.slots = slots;
        let had = self.held() > 0;
        match self.grow(device, slot_bytes, &name) {
            Err(error) if had && matches!(error.detail(), Detail::OutOfPinnedMemory { .. }) => {
                // The kept slots may be what stands in the way.
                self.lanes.clear();
                self.grow(device, slot_bytes, &name)
            }
            result => result,
        }
    }

    fn grow(
        &mut self,
        device: &Device,
        slot_bytes: &[Option<usize>],
        name: &impl Fn(usize) -> &'static str,
    ) -> Result<()> {
        let (workers, slots) = (device.copy_workers(), self.slots);
        self.workers = Some(workers);
        self.lanes.resize_with(slot_bytes.len(), OperationSlots::default);
        for (operation, (lane, bytes)) in self.lanes.iter_mut().zip(slot_bytes).enumerate() {
            let Some(bytes) = *bytes else { continue };
            let have = &mut lane.slots;
            let enough = have.partition_point(|slot| slot.bytes() >= bytes);
            // Slots that are too small go first, so that the run never takes more than its slots.
            have.drain(enough.min(slots)..have.len().min(slots));
            for index in enough..slots {
                let slot = Slot::new(device, workers, bytes).map_err(|error| -> Error {
                    if error.is_out_of_memory() {
                        let what = format!("staging `{}`", name(operation));
                        let requested = bytes as u64 * slots as u64;
                        Detail::OutOfPinnedMemory { what, requested }.into()
                    } else {
                        error.into()
                    }
                })?;
                events::allocated(name(operation), slot.bytes(), false);
                have.insert(index, slot);
            }
        }
        Ok(())
    }

    /// Bytes of page-locked memory held.
    pub(crate) fn held(&self) -> usize {
        self.lanes.iter().flat_map(|lane| &lane.slots).map(Slot::bytes).sum()
    }

    /// Performs a pending copy on this thread, if there is one and too few threads are copying.
    pub(crate) fn help(&self) -> bool {
        self.workers.is_some_and(Workers::help_if_few)
    }

    /// Called while waiting for something else, after which there is more to do.
    pub(crate) fn help_or_pause(&self) {
        if !self.help() {
            let_a_moment_pass();
        }
    }

    /// Called while waiting when there is nothing else to do.
    pub(crate) fn copy_or_pause(&self) {
        if let Some(workers) = self.workers {
            workers.help_or_pause();
        }
    }

    pub(crate) fn slot(&mut self, operation: usize, slot: usize) -> Option<&mut Slot> {
        self.lanes.get_mut(operation)?.slots.get_mut(slot)
    }

    /// The number of chunks of an operation that have arrived in pageable memory.
    pub(crate) fn arrived(&self, operation: usize) -> usize {
        self.lanes.get(operation).map_or(0, |lane| lane.arrived)
    }

    /// The next chunk that an operation reads, and its slot if that can be filled now: its previous contents
    /// were enqueued, and the device is done with them.
    pub(crate) fn ahead(&mut self, operation: usize) -> DriverResult<Option<(usize, &mut Slot)>> {
        let Some(lane) = self.lanes.get_mut(operation) else { return Ok(None) };
        let chunk = lane.ahead;
        let slot = chunk.checked_rem(self.slots).and_then(|slot| lane.slots.get_mut(slot));
        let Some(slot) = slot else { return Ok(None) };
        let done = match &slot.state {
            SlotState::Idle => true,
            SlotState::InFlight(None) => slot.done.is_complete()?,
            _ => false,
        };
        Ok(done.then_some((chunk, slot)))
    }

    /// Notes that an operation has read everything before this chunk.
    pub(crate) fn has_read(&mut self, operation: usize, before: usize) {
        if let Some(lane) = self.lanes.get_mut(operation) {
            lane.ahead = lane.ahead.max(before);
        }
    }

    /// Notes that the device's copy to a slot was enqueued.
    pub(crate) fn note_due(&mut self, operation: usize, slot: usize, chunk: usize) {
        // Entries delivered when their slot was needed again are dropped: there may be any number of chunks.
        while let Some(&(operation, index, chunk)) = self.due.front()
            && !self.slot(operation, index).is_some_and(|slot| slot.is_due(chunk))
        {
            self.due.pop_front();
        }
        self.due.push_back((operation, slot, chunk));
    }

    /// The number of copies on their way to pageable memory or to sinks, as far as is known.
    pub(crate) fn due(&self) -> usize {
        self.due.len()
    }

    /// Whether nothing is due but one copy of this operation to pageable memory.
    pub(crate) fn lacks_only(&mut self, operation: usize) -> bool {
        let Some(&(due, index, chunk)) = self.due.front() else { return false };
        self.due.len() == 1
            && due == operation
            && self.slot(operation, index).is_some_and(|slot| slot.is_due(chunk) && slot.end.is_none())
    }

    /// Begins to copy out the data that have arrived from the device, as `is_there` says for a slot. Returns
    /// whether nothing more is to come.
    pub(crate) fn deliver_due(
        &mut self,
        mut is_there: impl FnMut(usize, &Mark) -> DriverResult<bool>,
    ) -> DriverResult<bool> {
        while let Some(&(operation, index, chunk)) = self.due.front() {
            if let Some(slot) = self.slot(operation, index)
                && slot.is_due(chunk)
            {
                if !is_there(index, &slot.done)? || !slot.may_deliver() {
                    return Ok(false);
                }
                // SAFETY: the device is done with its copy into the slot, and `reset` drops the deliveries of
                // runs that are over.
                unsafe { slot.deliver() };
            }
            self.due.pop_front();
        }
        Ok(true)
    }

    /// Connects the slots of an operation to a source or a sink.
    pub(crate) fn connect(&mut self, operation: usize, exchange: &Arc<Exchange>, end: usize) {
        let Some(lane) = self.lanes.get_mut(operation) else { return };
        for slot in lane.slots.iter_mut().take(self.slots) {
            slot.end = Some((Arc::clone(exchange), end));
            if slot.is_called() {
                slot.done.prepare();
            }
            if !slot.is_initialised {
                // SAFETY: the slot is that long, and nobody else's between runs.
                unsafe { slot.ptr().write_bytes(0, slot.bytes()) };
                slot.is_initialised = true;
            }
        }
    }

    /// The number of chunks that may be under way.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// The slot of an operation for the chunk of a turn, if a source may fill it now. Everything before the chunk
    /// `current` was enqueued. `asks`: whether to query the device's progress.
    pub(crate) fn free_to_read(
        &mut self,
        operation: usize,
        turn: usize,
        current: usize,
        asks: bool,
    ) -> DriverResult<Option<&mut Slot>> {
        let Some(index) = turn.checked_rem(self.slots) else { return Ok(None) };
        let Some(slot) = self.slot(operation, index) else { return Ok(None) };
        let is_free = match &slot.state {
            SlotState::Idle => true,
            SlotState::InFlight(None) if asks => slot.done.is_complete()?,
            // That chunk has left the operation out.
            SlotState::Reading { chunk } => *chunk < current,
            _ => false,
        };
        Ok(is_free.then_some(slot))
    }

    /// Delivers the first pending data from the device, after waiting for them with `wait`. Returns whether
    /// there were any.
    pub(crate) fn deliver_first(
        &mut self,
        wait: impl FnOnce(usize, &Mark) -> DriverResult<()>,
    ) -> DriverResult<bool> {
        while let Some((operation, index, chunk)) = self.due.pop_front() {
            if let Some(slot) = self.slot(operation, index)
                && slot.is_due(chunk)
            {
                wait(index, &slot.done)?;
                if !slot.may_deliver() {
                    self.due.push_front((operation, index, chunk));
                    return Ok(false);
                }
                // SAFETY: the device's copy into the slot has been waited for, and `reset` drops the
                // deliveries of runs that are over.
                unsafe { slot.deliver() };
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Notes that a slot has delivered, if it has. Returns whether it is idle now.
    pub(crate) fn note(&mut self, operation: usize, slot: usize) -> bool {
        let lane = &mut self.lanes[operation];
        let slot = &mut lane.slots[slot];
        match &slot.state {
            SlotState::Idle => true,
            SlotState::Filling { task, .. } if task.is_done() => {
                slot.state = SlotState::Idle;
                true
            }
            SlotState::Delivering { bytes, task, .. } if task.is_done() => {
                slot.core.device().driver().host_copied(*bytes);
                lane.arrived += 1;
                slot.state = SlotState::Idle;
                true
            }
            SlotState::Reading { chunk } if slot.is_read(*chunk) => {
                slot.state = SlotState::Idle;
                true
            }
            SlotState::Writing { chunk } if slot.is_written(*chunk) => {
                slot.state = SlotState::Idle;
                true
            }
            _ => false,
        }
    }

    /// Waits for everything that threads are copying.
    pub(crate) fn finish(&mut self) {
        for operation in 0..self.lanes.len() {
            for slot in 0..self.lanes[operation].slots.len() {
                if let SlotState::Filling { task, .. } | SlotState::Delivering { task, .. } =
                    &self.lanes[operation].slots[slot].state
                {
                    task.finish();
                }
                self.note(operation, slot);
            }
        }
    }

    /// Delivers everything that is pending.
    ///
    /// # Safety
    /// The device is done with every slot, and the run that made the deliveries is not over.
    pub(crate) unsafe fn flush(&mut self) {
        // Sinks receive chunks in order. So do all sinks together: another device may wait for what this one gives to
        // any of them.
        let mut pending = Vec::new();
        for (operation, lane) in self.lanes.iter().enumerate() {
            for (index, slot) in lane.slots.iter().enumerate() {
                if let SlotState::InFlight(Some(delivery)) = slot.state {
                    pending.push((delivery.chunk, operation, index));
                }
            }
        }
        pending.sort_unstable();
        for (_, operation, index) in pending {
            let slot = &mut self.lanes[operation].slots[index];
            slot.wait_for_turn();
            // SAFETY: the caller's promise.
            unsafe { slot.deliver() };
        }
        self.finish();
    }

    /// Forgets pending data of a run that is over. Nothing is being copied any more.
    pub(crate) fn reset(&mut self) {
        self.due.clear();
        for lane in &mut self.lanes {
            (lane.arrived, lane.ahead) = (0, 0);
            for slot in &mut lane.slots {
                (slot.state, slot.end) = (SlotState::Idle, None);
                // SAFETY: nothing is redirected to.
                unsafe { slot.core.redirect(None) };
            }
        }
    }

    /// Leaves the memory to the device for good.
    pub(crate) fn poison(&mut self) {
        for slot in self.lanes.iter().flat_map(|lane| &lane.slots) {
            slot.core.poison();
        }
    }
}

impl std::fmt::Debug for Staging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slots: usize = self.lanes.iter().map(|lane| lane.slots.len()).sum();
        write!(f, "Staging({})", counted(slots, "slot"))
    }
}

// SAFETY: the pointers in deliveries are used only inside a run, by the thread that runs it and by workers
// that it waits for; between runs there are none.
unsafe impl Send for Staging {}
// SAFETY: as above; nothing is done through `&Staging`.
unsafe impl Sync for Staging {}
