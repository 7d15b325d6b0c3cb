//! [`Staging`]: the pinned ring that pageable host data goes through.
//!
//! The device never touches pageable memory. A copy from it is a CPU copy into a pinned slot followed by an asynchronous
//! one from there; a copy to it is an asynchronous one into a pinned slot, and a CPU copy out of it once that has
//! completed. The CPU copies run on [`Workers`]: what comes in is read ahead as far as there are slots, and what goes out
//! is copied as soon as it is there. The thread that enqueues sees to both whenever it has to wait.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::device::Device;
use crate::driver::DriverResult;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{PinnedCore, Task, Way, Workers};
use crate::stream::Event;
use crate::watch;

/// A result of this many bytes or more is not worth the caches.
const LARGE: usize = 1 << 20;

/// The slots of all operations, those that stage.
#[derive(Default)]
pub(super) struct Staging {
    lanes: Vec<Lane>,
    /// Those of each lane that the run uses. There may be more.
    slots: usize,
    /// The operation, the slot and the chunk of copies on their way to pageable memory, in the order of enqueuing. Some may
    /// have been seen to already.
    due: VecDeque<(usize, usize, usize)>,
    /// Those who copy, once there are slots.
    workers: Option<&'static Workers>,
}

/// The slots of one operation.
#[derive(Default)]
struct Lane {
    /// The largest come first.
    slots: Vec<Slot>,
    /// How many chunks have arrived in pageable memory.
    arrived: usize,
    /// The first chunk that has not been read yet.
    ahead: usize,
}

/// One pinned slot of one copy operation.
pub(super) struct Slot {
    core: PinnedCore,
    /// Those who copy from or to it.
    workers: &'static Workers,
    /// Recorded after the device's copy from or to the slot.
    done: Event,
    state: State,
}

enum State {
    Idle,
    /// A chunk of pageable data is copied in.
    Filling {
        chunk: usize,
        task: Arc<Task>,
    },
    /// The device copies from or to it, and then this is to be copied out.
    InFlight(Option<Delivery>),
    /// It is copied out.
    Delivering {
        chunk: usize,
        bytes: usize,
        task: Arc<Task>,
    },
}

/// Data on its way to pageable memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery {
    /// Whose data it is.
    pub(super) chunk: usize,
    pub(super) to: *mut u8,
    pub(super) bytes: usize,
    /// The device itself copies it there.
    pub(super) direct: bool,
}

impl Staging {
    /// Makes room: for each operation `Some(bytes)` of a slot if it stages.
    ///
    /// Slots that the run has no use for are kept as long as there is memory: runs of several sizes may take turns, and to
    /// allocate page-locked memory takes longer than many a run. Nothing is in use.
    pub(super) fn reserve(
        &mut self,
        device: &Device,
        slot_bytes: &[Option<usize>],
        slots: usize,
        name: impl Fn(usize) -> &'static str,
    ) -> Result<()> {
        self.slots = slots;
        let had = self.held() > 0;
        match self.grow(device, slot_bytes, &name) {
            Err(error) if had && matches!(error.kind(), ErrorKind::OutOfPinnedMemory { .. }) => {
                // What is kept may be all that stands in the way.
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
        self.lanes.resize_with(slot_bytes.len(), Lane::default);
        for (operation, (lane, bytes)) in self.lanes.iter_mut().zip(slot_bytes).enumerate() {
            let Some(bytes) = *bytes else { continue };
            let have = &mut lane.slots;
            let enough = have.partition_point(|slot| slot.bytes() >= bytes);
            // Those that are too small go first, so that the run never takes more than its slots.
            have.drain(enough.min(slots)..have.len().min(slots));
            for index in enough..slots {
                let slot = Slot::new(device, workers, bytes).map_err(|error| -> Error {
                    if error.is_out_of_memory() {
                        let what = format!("staging `{}`", name(operation));
                        let requested = bytes as u64 * slots as u64;
                        ErrorKind::OutOfPinnedMemory { what, requested }.into()
                    } else {
                        error.into()
                    }
                })?;
                watch::allocated(name(operation), slot.bytes(), false);
                have.insert(index, slot);
            }
        }
        Ok(())
    }

    /// Bytes of page-locked memory that it holds.
    pub(super) fn held(&self) -> usize {
        self.lanes.iter().flat_map(|lane| &lane.slots).map(Slot::bytes).sum()
    }

    /// What to do while waiting for something else.
    pub(super) fn help_or_pause(&self) {
        if let Some(workers) = self.workers {
            workers.help_or_pause();
        }
    }

    pub(super) fn slot(&mut self, operation: usize, slot: usize) -> Option<&mut Slot> {
        self.lanes.get_mut(operation)?.slots.get_mut(slot)
    }

    /// How many chunks of an operation have arrived in pageable memory.
    pub(super) fn arrived(&self, operation: usize) -> usize {
        self.lanes.get(operation).map_or(0, |lane| lane.arrived)
    }

    /// The chunk that an operation reads next, and its slot if that can be filled now: what was in it has been enqueued, and
    /// the device is done with it.
    pub(super) fn ahead(&mut self, operation: usize) -> DriverResult<Option<(usize, &mut Slot)>> {
        let Some(lane) = self.lanes.get_mut(operation) else { return Ok(None) };
        let chunk = lane.ahead;
        let slot = chunk.checked_rem(self.slots).and_then(|slot| lane.slots.get_mut(slot));
        let Some(slot) = slot else { return Ok(None) };
        let done = match &slot.state {
            State::Idle => true,
            State::InFlight(None) => slot.done.is_complete()?,
            _ => false,
        };
        Ok(done.then_some((chunk, slot)))
    }

    /// An operation has read everything before this chunk.
    pub(super) fn has_read(&mut self, operation: usize, before: usize) {
        if let Some(lane) = self.lanes.get_mut(operation) {
            lane.ahead = lane.ahead.max(before);
        }
    }

    /// The device's copy to a slot was enqueued.
    pub(super) fn is_due(&mut self, operation: usize, slot: usize, chunk: usize) {
        self.due.push_back((operation, slot, chunk));
    }

    /// Begins to copy out what has come from the device since; whether there is nothing left to come.
    pub(super) fn deliver_due(&mut self) -> DriverResult<bool> {
        while let Some(&(operation, slot, chunk)) = self.due.front() {
            if let Some(slot) = self.slot(operation, slot)
                && matches!(slot.state, State::InFlight(Some(delivery)) if delivery.chunk == chunk)
            {
                if !slot.done.is_complete()? {
                    return Ok(false);
                }
                // SAFETY: the event was recorded after the device's copy into the slot, and `reset` drops the
                // deliveries of runs that are over.
                unsafe { slot.deliver() };
            }
            self.due.pop_front();
        }
        Ok(true)
    }

    /// Notes that a slot has delivered, if it has; whether it is idle now.
    pub(super) fn note(&mut self, operation: usize, slot: usize, device: &Device) -> bool {
        let lane = &mut self.lanes[operation];
        let slot = &mut lane.slots[slot];
        match &slot.state {
            State::Idle => true,
            State::Filling { task, .. } if task.is_done() => {
                slot.state = State::Idle;
                true
            }
            State::Delivering { bytes, task, .. } if task.is_done() => {
                device.driver().host_copied(*bytes);
                lane.arrived += 1;
                slot.state = State::Idle;
                true
            }
            _ => false,
        }
    }

    /// Waits for everything that threads copy.
    pub(super) fn finish(&mut self, device: &Device) {
        for operation in 0..self.lanes.len() {
            for slot in 0..self.lanes[operation].slots.len() {
                if let State::Filling { task, .. } | State::Delivering { task, .. } =
                    &self.lanes[operation].slots[slot].state
                {
                    task.finish();
                }
                self.note(operation, slot, device);
            }
        }
    }

    /// Delivers everything that is pending.
    ///
    /// # Safety
    /// The device is done with every slot, and the run that made the deliveries is not over.
    pub(super) unsafe fn flush(&mut self, device: &Device) {
        for slot in self.lanes.iter_mut().flat_map(|lane| &mut lane.slots) {
            // SAFETY: the caller's promise.
            unsafe { slot.deliver() };
        }
        self.finish(device);
    }

    /// Forgets what is pending: the run that wanted it is over. Nothing is being copied any more.
    pub(super) fn reset(&mut self) {
        self.due.clear();
        for lane in &mut self.lanes {
            (lane.arrived, lane.ahead) = (0, 0);
            for slot in &mut lane.slots {
                slot.state = State::Idle;
                // SAFETY: nothing is redirected to.
                unsafe { slot.core.redirect(None) };
            }
        }
    }

    /// Gives the memory up to the device for good.
    pub(super) fn poison(&mut self) {
        for slot in self.lanes.iter().flat_map(|lane| &lane.slots) {
            slot.core.poison();
        }
    }
}

impl Slot {
    fn new(device: &Device, workers: &'static Workers, bytes: usize) -> DriverResult<Self> {
        let core = PinnedCore::new(device, bytes)?;
        Ok(Self { core, workers, done: Event::new(device)?, state: State::Idle })
    }

    pub(super) fn ptr(&self) -> *mut u8 {
        self.core.ptr.as_ptr()
    }

    pub(super) fn bytes(&self) -> usize {
        self.core.bytes()
    }

    /// Those who copy from or to it.
    pub(super) fn workers(&self) -> &'static Workers {
        self.workers
    }

    /// Whether data of a chunk before this one is pending.
    pub(super) fn owes_before(&self, chunk: usize) -> bool {
        match &self.state {
            State::InFlight(Some(delivery)) => delivery.chunk < chunk,
            State::Delivering { chunk: of, .. } => *of < chunk,
            _ => false,
        }
    }

    pub(super) fn done(&self) -> &Event {
        &self.done
    }

    /// Whether the device may be using the slot.
    pub(super) fn is_in_flight(&self) -> bool {
        matches!(self.state, State::InFlight(_))
    }

    /// Begins to copy a chunk into the slot, which is idle.
    ///
    /// # Safety
    /// `from` is valid for reads of `bytes`, and nothing writes it, until the run has called [`Staging::finish`]. The slot
    /// has room, and the device is done with it.
    pub(super) unsafe fn fill(&mut self, chunk: usize, from: *const u8, bytes: usize) {
        // SAFETY: the caller's promise; nothing else writes the slot while it is being filled. The run has drained before it
        // is over, and before the slot is used anew.
        let task = unsafe {
            let direct = self.core.redirect(Some((from.cast_mut(), bytes)));
            self.workers.start(self.ptr(), from, if direct { 0 } else { bytes }, Way::Cached)
        };
        self.state = State::Filling { chunk, task };
    }

    /// What is to be copied to the slot, and out of it again. The device may do both at once.
    ///
    /// # Safety
    /// `to` is valid for writes of `bytes`, and nothing else accesses them until the run has drained. The slot is idle.
    pub(super) unsafe fn expect(&mut self, chunk: usize, to: *mut u8, bytes: usize) -> Delivery {
        // SAFETY: the caller's promise.
        let direct = unsafe { self.core.redirect(Some((to, bytes))) };
        Delivery { chunk, to, bytes, direct }
    }

    /// Whether this chunk is being copied in or has been.
    pub(super) fn has(&self, chunk: usize) -> bool {
        matches!(self.state, State::Filling { chunk: of, .. } if of == chunk)
    }

    /// Whether what is being copied in is there.
    pub(super) fn is_filled(&self) -> bool {
        matches!(&self.state, State::Filling { task, .. } if task.is_done())
    }

    /// The device's copy from or to the slot was enqueued: with `done` recorded after it, or in a graph.
    pub(super) fn enqueued(&mut self, delivery: Option<Delivery>) {
        self.state = State::InFlight(delivery);
    }

    /// The device is done with the slot: begins to copy out what is in it.
    ///
    /// # Safety
    /// It is, and the run that made the delivery is not over before it has called [`Staging::finish`].
    pub(super) unsafe fn deliver(&mut self) {
        let State::InFlight(delivery) = self.state else { return };
        self.state = match delivery {
            Some(Delivery { chunk, to, bytes, direct }) => {
                let way = if bytes >= LARGE { Way::PastCache } else { Way::Cached };
                let left = if direct { 0 } else { bytes };
                // SAFETY: `to` is `bytes` of the caller's memory, borrowed mutably by the run that made the delivery;
                // the slot holds at least `bytes`, and the device's copy into it has completed.
                let task = unsafe { self.workers.start(to, self.ptr(), left, way) };
                State::Delivering { chunk, bytes, task }
            }
            None => State::Idle,
        };
    }
}

impl std::fmt::Debug for Staging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slots: usize = self.lanes.iter().map(|lane| lane.slots.len()).sum();
        write!(f, "Staging({slots} slots)")
    }
}

// SAFETY: the pointers in deliveries are used only inside a run, by the thread that runs it and by workers that it waits
// for; between runs there are none.
unsafe impl Send for Staging {}
// SAFETY: as above; nothing is done through `&Staging`.
unsafe impl Sync for Staging {}
