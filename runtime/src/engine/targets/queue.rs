//! [`Queue`]: where commands go, whichever mode it is.

use std::cell::RefCell;

use crate::driver::{Command, Driver, DriverResult, RawStream, Tag};
use crate::engine::arguments::in_place::InPlace;
use crate::engine::targets::graph::recorder::Recorder;
use crate::engine::targets::model::Model;
use crate::engine::targets::timed::Profiler;
use crate::engine::targets::what::{Numbered, What};

/// Where the commands of a run go.
#[derive(Clone, Copy)]
pub(crate) enum Queue<'r> {
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
    pub(crate) unsafe fn enqueue(
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
