//! [`Queue`]: where commands go, whichever mode it is.

use std::cell::RefCell;

use super::graph::Recorder;
use super::in_place::InPlace;
use super::predict::Model;
use super::profile::Profiler;
use crate::base::engine::Engine;
use crate::driver::{Command, Driver, DriverResult, RawStream, Tag};

/// A stream or an event of a pipeline: the driver's handle, and its place among the pipeline's, by which a
/// recorder knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbered<H> {
    pub(super) raw: H,
    pub(super) number: usize,
}

/// What an operation has done, and by whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct What {
    pub(super) engine: Engine,
    /// That are copied, or that a kernel or a function is given.
    pub(super) bytes: u64,
    /// Of a launch.
    pub(super) blocks: u64,
}

impl What {
    pub(super) fn new(engine: Engine, bytes: usize) -> Self {
        Self { engine, bytes: bytes as u64, blocks: 0 }
    }

    /// That of a command; `None` of what no engine carries out by itself.
    pub(super) fn of(command: &Command<'_>) -> Option<Self> {
        Some(Self { blocks: command.blocks(), ..Self::new(command.engine()?, command.bytes()) })
    }
}

/// Where the commands of a run go.
#[derive(Clone, Copy)]
pub(super) enum Queue<'r> {
    /// To the device, one by one.
    Streams(&'r dyn Driver),
    /// Likewise, and each is timed.
    Timed(&'r dyn Driver, &'r Profiler),
    /// Into a graph.
    Graph(&'r RefCell<Recorder>),
    /// Nowhere: it is worked out how long they would take, given the arguments that kernels reach in place.
    Model(&'r RefCell<Model>, &'r [InPlace]),
}

impl Queue<'_> {
    /// Enqueues a command. `event`: the number of the pipeline's event that it records or waits for. An event
    /// without one is no part of a profile or a prediction, and no graph can have it.
    ///
    /// A recorder does not fail: what is wrong with a graph is known when it is launched.
    ///
    /// # Safety
    /// As [`Driver::enqueue`].
    #[inline]
    pub(super) unsafe fn enqueue(
        &self,
        command: Command<'_>,
        stream: Numbered<RawStream>,
        event: Option<usize>,
        tag: Tag,
    ) -> DriverResult<()> {
        match *self {
            // SAFETY: the caller's promise.
            Self::Streams(driver) => unsafe { driver.enqueue(command, stream.raw, tag) },
            // SAFETY: the caller's promise.
            Self::Timed(driver, profiler) => unsafe { timed(driver, profiler, command, stream, event, tag) },
            // SAFETY: the caller's promise.
            Self::Graph(recorder) => unsafe {
                recorder.borrow_mut().enqueue(&command, stream.number, event, tag)
            },
            Self::Model(model, in_place) => {
                model.borrow_mut().enqueue(&command, stream.number, event, tag, in_place)
            }
        }
    }
}

/// Enqueues a command, and times it.
///
/// # Safety
/// As [`Driver::enqueue`].
unsafe fn timed(
    driver: &dyn Driver,
    profiler: &Profiler,
    command: Command<'_>,
    stream: Numbered<RawStream>,
    event: Option<usize>,
    tag: Tag,
) -> DriverResult<()> {
    if let (&Command::Record(raw), Some(number)) = (&command, event) {
        return profiler.record(Numbered { raw, number }, stream, tag);
    }
    if let (&Command::Wait(raw), Some(number)) = (&command, event) {
        return profiler.wait(stream, Numbered { raw, number }, tag);
    }
    let what = What::of(&command);
    // SAFETY: the caller's promise.
    let enqueue = || unsafe { driver.enqueue(command, stream.raw, tag) };
    match what {
        Some(what) => profiler.time(stream, tag, what, enqueue),
        None => enqueue(),
    }
}
