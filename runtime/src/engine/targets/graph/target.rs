//! [`GraphTarget`]: records the commands of a run, and launches them as graphs.

use std::cell::RefCell;

use super::cached::Graphs;
use super::recorder::{Cover, Recorder};
use crate::base::error::DriverError;
use crate::device::Device;
use crate::driver::{Command, Driver, DriverResult, RawStream, Tag};
use crate::engine::staging::Staging;
use crate::engine::staging::slot::Delivery;
use crate::engine::totals::Totals;

/// The target that turns commands into graphs.
pub(crate) struct GraphTarget<'r> {
    driver: &'r dyn Driver,
    recorder: RefCell<Recorder>,
    /// A launch notes here which slots are in use.
    staging: &'r RefCell<Staging>,
    /// A launch counts its downloads here.
    totals: &'r RefCell<Totals>,
}

/// The error of recorded commands that could not be launched.
pub(crate) struct LaunchFailed {
    pub(crate) error: Box<DriverError>,
    /// The chunk, if the graph covers one.
    pub(crate) chunk: Option<u64>,
}

impl LaunchFailed {
    pub(crate) fn of_no_chunk(error: Box<DriverError>) -> Box<Self> {
        Box::new(Self { error, chunk: None })
    }
}

impl<'r> GraphTarget<'r> {
    /// `depth`: the pipeline's slots.
    pub(crate) fn new(
        device: &'r Device,
        graphs: Box<Graphs>,
        cover: Cover,
        depth: usize,
        (staging, totals): (&'r RefCell<Staging>, &'r RefCell<Totals>),
    ) -> Self {
        let recorder = RefCell::new(Recorder::new(device, graphs, cover, depth));
        Self { driver: device.driver(), recorder, staging, totals }
    }

    /// The graphs, for the next run.
    pub(crate) fn into_graphs(self) -> Box<Graphs> {
        self.recorder.into_inner().into_graphs()
    }

    /// Records a command.
    ///
    /// # Safety
    /// Those of [`Recorder::enqueue`].
    #[inline]
    pub(crate) unsafe fn enqueue(
        &self,
        command: &Command<'_>,
        stream: usize,
        event: Option<usize>,
        tag: Tag,
    ) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.recorder.borrow_mut().enqueue(command, stream, event, tag) }
    }

    /// Begins another chunk, the device's `turn`-th: launches the graph that ends before it, as long as all is
    /// `in_order`.
    pub(crate) fn begin(&self, chunk: usize, turn: usize, in_order: bool) -> Result<(), Box<LaunchFailed>> {
        let ends = in_order && self.recorder.borrow().is_full();
        let launched = if ends { self.launch() } else { Ok(()) };
        self.recorder.borrow_mut().begin(chunk, turn);
        launched
    }

    /// Launches the recorded commands.
    pub(crate) fn launch(&self) -> Result<(), Box<LaunchFailed>> {
        let mut recorder = self.recorder.borrow_mut();
        let chunk = recorder.failing_chunk();
        // SAFETY: the recorded commands use the ring, the staging slots and the page-locked arguments: the
        // run holds them until it has drained, and poisons them if it cannot.
        let launched =
            unsafe { recorder.launch() }.map_err(|error| Box::new(LaunchFailed { error, chunk }))?;
        let mut totals = self.totals.borrow_mut();
        launched.downloads.drain(..).for_each(|operation| totals.downloaded(operation));
        let mut staging = self.staging.borrow_mut();
        for (operation, slot, delivery) in launched.staged.drain(..) {
            if let Some(slot) = staging.slot(operation, slot) {
                slot.enqueued(delivery);
            }
            if let Some(delivery) = delivery {
                staging.note_due(operation, slot, delivery.chunk);
            }
        }
        Ok(())
    }

    /// Notes that a staging slot is in use once the graph is launched.
    pub(crate) fn mark(&self, operation: usize, slot: usize, delivery: Option<Delivery>) {
        self.recorder.borrow_mut().staged(operation, slot, delivery);
    }

    /// Notes that a download is under way once the graph is launched.
    pub(crate) fn downloaded(&self, operation: usize) {
        self.recorder.borrow_mut().download(operation);
    }

    /// Waits for everything launched for a ring slot.
    pub(crate) fn settle(&self, slot: usize) -> DriverResult<()> {
        self.recorder.borrow_mut().settle(slot)
    }

    /// Whether the device is done with everything launched for a ring slot.
    pub(crate) fn try_settle(&self, slot: usize) -> DriverResult<bool> {
        self.recorder.borrow_mut().try_settle(slot)
    }

    /// Prepares for a routine that is about to enqueue any work between graphs: orders it after the chunk
    /// before if the plan requires that. Everything recorded was launched.
    pub(crate) fn open(&self) -> DriverResult<()> {
        self.recorder.borrow_mut().place()?;
        self.driver.make_current()
    }

    /// The stream for work that no graph can hold.
    pub(crate) fn direct_stream(&self) -> RawStream {
        self.recorder.borrow().stream()
    }

    /// Enqueues work that no graph can hold. Everything recorded was launched.
    pub(crate) fn direct(&self, enqueue: impl FnOnce(RawStream) -> DriverResult<()>) -> DriverResult<()> {
        // SAFETY: as in `launch`.
        unsafe { self.recorder.borrow_mut().direct(enqueue) }
    }
}
