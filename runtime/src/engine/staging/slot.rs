//! [`Slot`]: a piece of page-locked memory through which one copy operation goes, and its current owner.

use std::sync::Arc;
use std::time::Duration;

use crate::base::chunk::Chunk;
use crate::base::host_copy::{Task, Way, Workers};
use crate::device::Device;
use crate::device::memory::PinnedCore;
use crate::device::stream::Mark;
use crate::driver::DriverResult;
use crate::engine::feeds::exchange::Exchange;

/// A result of at least this many bytes is not worth keeping in the caches.
const LARGE: usize = 1 << 20;

/// How long a device sleeps at most before it looks again whether a sink was given another device's chunk.
const IDLE: Duration = Duration::from_millis(20);

/// One staging slot of one copy operation.
pub(crate) struct Slot {
    pub(crate) core: PinnedCore,
    /// The threads that copy from or to it.
    workers: &'static Workers,
    /// Recorded after the device's copy from or to the slot.
    pub(crate) done: Mark,
    pub(crate) state: SlotState,
    /// The source from which it is filled in this run, or the sink that reads it, numbered as in
    /// [`Exchange::ends`].
    pub(crate) end: Option<(Arc<Exchange>, usize)>,
    /// Whether all of it was written once.
    pub(crate) is_initialised: bool,
}

pub(crate) enum SlotState {
    Idle,
    /// A chunk of pageable data is being copied in.
    Filling {
        chunk: usize,
        task: Arc<Task>,
    },
    /// The device copies from or to it; afterwards the delivery is copied out.
    InFlight(Option<Delivery>),
    /// It is being copied out.
    Delivering {
        chunk: usize,
        bytes: usize,
        task: Arc<Task>,
    },
    /// It belongs to the source until the source has filled it with a chunk; then it is to be enqueued.
    Reading {
        chunk: usize,
    },
    /// It belongs to the sink until the sink has accepted the chunk.
    Writing {
        chunk: usize,
    },
}

/// Data on its way to pageable memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    /// The turn of the chunk whose data it is.
    pub(crate) chunk: usize,
    pub(crate) to: *mut u8,
    pub(crate) bytes: usize,
    /// Whether the device itself copies it there.
    pub(crate) direct: bool,
    /// The sink's chunk, if it goes to a sink.
    pub(crate) streamed: Option<Chunk>,
}

impl Slot {
    pub(crate) fn new(device: &Device, workers: &'static Workers, bytes: usize) -> DriverResult<Self> {
        let core = PinnedCore::new(device, bytes)?;
        let done = Mark::new(device)?;
        Ok(Self { core, workers, done, state: SlotState::Idle, end: None, is_initialised: false })
    }

    pub(crate) fn ptr(&self) -> *mut u8 {
        self.core.ptr.as_ptr()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.core.bytes()
    }

    /// The threads that copy from or to it.
    pub(crate) fn workers(&self) -> &'static Workers {
        self.workers
    }

    /// Whether data of an earlier chunk are pending.
    pub(crate) fn owes_before(&self, chunk: usize) -> bool {
        match &self.state {
            SlotState::InFlight(Some(delivery)) => delivery.chunk < chunk,
            SlotState::Delivering { chunk: of, .. } => *of < chunk,
            _ => false,
        }
    }

    pub(crate) fn done(&self) -> &Mark {
        &self.done
    }

    /// Whether a caller fills or empties it, and may be waiting for it.
    pub(crate) fn is_called(&self) -> bool {
        self.end.as_ref().is_some_and(|(exchange, end)| exchange.ends[*end].is_called())
    }

    /// Whether this chunk's data still have to be copied out.
    pub(crate) fn is_due(&self, chunk: usize) -> bool {
        matches!(self.state, SlotState::InFlight(Some(delivery)) if delivery.chunk == chunk)
    }

    /// Whether its contents may be copied out now: a sink has been given the chunks before, which other devices may
    /// have.
    pub(crate) fn may_deliver(&self) -> bool {
        match (&self.state, &self.end) {
            (SlotState::InFlight(Some(Delivery { streamed: Some(chunk), .. })), Some((exchange, end))) => {
                exchange.is_due(*end, chunk.index)
            }
            _ => true,
        }
    }

    /// Waits until its contents [may be copied out](Self::may_deliver). Other devices go on meanwhile.
    pub(crate) fn wait_for_turn(&self) {
        let Some((exchange, _)) = &self.end else { return };
        loop {
            let version = exchange.version();
            if self.may_deliver() {
                return;
            }
            exchange.wait_aside(self.core.device(), version, IDLE);
        }
    }

    /// Whether the device may be using the slot.
    pub(crate) fn is_in_flight(&self) -> bool {
        matches!(self.state, SlotState::InFlight(_))
    }

    /// Begins to copy a chunk into the idle slot.
    ///
    /// # Safety
    /// `from` is valid for reads of `bytes`, and nothing writes it, until the run has called
    /// `Staging::finish`. The slot has room, and the device is done with it.
    pub(crate) unsafe fn fill(&mut self, chunk: usize, from: *const u8, bytes: usize) {
        // SAFETY: the caller's promise; nothing else writes the slot while it is being filled. The run has
        // drained before it is over, and before the slot is used anew.
        let task = unsafe {
            // Note 29: the simulated device copies ordinary memory once.
            let direct = self.core.redirect(Some((from.cast_mut(), bytes)));
            self.workers.start(self.ptr(), from, if direct { 0 } else { bytes }, Way::Cached)
        };
        self.state = SlotState::Filling { chunk, task };
    }

    /// The delivery of data that are to be copied to the slot, and out of it again. The device may do both at
    /// once.
    ///
    /// # Safety
    /// `to` is valid for writes of `bytes`, and nothing else accesses them until the run has drained. The
    /// slot is idle.
    pub(crate) unsafe fn expect(&mut self, chunk: usize, to: *mut u8, bytes: usize) -> Delivery {
        // SAFETY: the caller's promise.
        let direct = unsafe { self.core.redirect(Some((to, bytes))) };
        Delivery { chunk, to, bytes, direct, streamed: None }
    }

    /// The delivery of data that are to be copied to the slot, and then written to its sink.
    /// `turn`: the chunk's number among those of the device.
    pub(crate) fn expect_for_sink(&self, turn: usize, chunk: Chunk, bytes: usize) -> Delivery {
        let to = std::ptr::null_mut();
        Delivery { chunk: turn, to, bytes, direct: false, streamed: Some(chunk) }
    }

    /// Gives the slot to the source, which is to fill it with a chunk.
    pub(crate) fn begin_to_read(&mut self, chunk: usize) -> *mut u8 {
        self.state = SlotState::Reading { chunk };
        self.ptr()
    }

    /// Whether the source has filled the slot with this chunk.
    pub(crate) fn is_read(&self, chunk: usize) -> bool {
        let filled = || self.end.as_ref().is_some_and(|(exchange, end)| exchange.has_filled(*end, chunk));
        matches!(self.state, SlotState::Reading { chunk: of } if of == chunk) && filled()
    }

    /// Whether the sink is done with this chunk.
    pub(crate) fn is_written(&self, chunk: usize) -> bool {
        self.end.as_ref().is_some_and(|(exchange, end)| exchange.is_through(*end, chunk))
    }

    /// Whether this chunk is being copied in or was copied in.
    pub(crate) fn has(&self, chunk: usize) -> bool {
        matches!(self.state, SlotState::Filling { chunk: of, .. } if of == chunk)
    }

    /// Makes the slot ready for enqueuing if this chunk was copied in. Returns whether it was.
    pub(crate) fn take_filled(&mut self, chunk: usize) -> bool {
        let is_filled =
            matches!(&self.state, SlotState::Filling { chunk: of, task } if *of == chunk && task.is_done());
        if is_filled {
            self.state = SlotState::Idle;
        }
        is_filled
    }

    /// Notes that the device's copy from or to the slot was enqueued, either with `done` recorded after it,
    /// or in a graph.
    pub(crate) fn enqueued(&mut self, delivery: Option<Delivery>) {
        self.state = SlotState::InFlight(delivery);
    }

    /// Begins to copy the contents out, after the device is done with the slot.
    ///
    /// # Safety
    /// The device is done with the slot, and the run that made the delivery is not over before it has called
    /// `Staging::finish`.
    pub(crate) unsafe fn deliver(&mut self) {
        let SlotState::InFlight(delivery) = self.state else { return };
        self.state = match delivery {
            Some(Delivery { bytes, streamed: Some(chunk), .. }) => {
                // SAFETY: the device's copy into the slot has completed; it is initialised (`connect`), holds
                // the chunk's elements and is aligned to 64 bytes. Until the sink has accepted them the slot
                // is `Writing`, and nothing is enqueued from or to it; the sink's thread is waited for before
                // the run is over.
                let takes = |(exchange, end): &(Arc<Exchange>, usize)| unsafe {
                    exchange.offer(*end, chunk, self.core.ptr.as_ptr())
                };
                match self.end.as_ref().is_some_and(takes) {
                    true => {
                        // When the sink's thread really writes must not matter to virtual time.
                        self.core.device().driver().host_copied(bytes);
                        SlotState::Writing { chunk: chunk.index }
                    }
                    false => SlotState::Idle,
                }
            }
            Some(Delivery { chunk, to, bytes, direct, .. }) => {
                let way = if bytes >= LARGE { Way::PastCache } else { Way::Cached };
                let left = if direct { 0 } else { bytes };
                // SAFETY: `to` is `bytes` of the caller's memory, borrowed mutably by the run that made the
                // delivery; the slot holds at least `bytes`, and the device's copy into it has completed.
                let task = unsafe { self.workers.start(to, self.ptr(), left, way) };
                SlotState::Delivering { chunk, bytes, task }
            }
            None => SlotState::Idle,
        };
    }
}
