//! [`TimedTarget`]: passes commands to the device one by one, and times each.

use super::Profiler;
use crate::driver::{Command, DriverResult, RawStream, Tag};
use crate::engine::targets::streams::StreamsTarget;
use crate::engine::targets::what::{Numbered, What};

/// The target that passes commands on and times them.
pub(crate) struct TimedTarget<'r> {
    pub(crate) streams: StreamsTarget<'r>,
    pub(crate) profiler: Box<Profiler>,
}

impl<'r> TimedTarget<'r> {
    pub(crate) fn new(streams: StreamsTarget<'r>, profiler: Box<Profiler>) -> Self {
        Self { streams, profiler }
    }

    /// Enqueues a command.
    ///
    /// # Safety
    /// Those of [`Driver::enqueue`](crate::driver::Driver::enqueue).
    pub(crate) unsafe fn enqueue(
        &self,
        command: Command<'_>,
        stream: Numbered<RawStream>,
        event: Option<usize>,
        tag: Tag,
    ) -> DriverResult<()> {
        if let (&Command::Record(raw), Some(number)) = (&command, event) {
            return self.profiler.record(Numbered { raw, number }, stream, tag);
        }
        if let (&Command::Wait(raw), Some(number)) = (&command, event) {
            return self.profiler.wait(stream, Numbered { raw, number }, tag);
        }
        let what = What::of(&command);
        // SAFETY: the caller's promise.
        let enqueue = || unsafe { self.streams.driver.enqueue(command, stream.raw, tag) };
        match what {
            Some(what) => self.profiler.time(stream, tag, what, enqueue),
            None => enqueue(),
        }
    }

    /// Prepares for a routine that is about to enqueue any work.
    pub(crate) fn open(&self, stream: Numbered<RawStream>, tag: Tag) -> DriverResult<()> {
        self.streams.driver.make_current()?;
        self.profiler.open(stream, tag)
    }
}
