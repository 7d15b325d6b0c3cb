//! [`Target`]: the destination of a run's commands, and everything else that depends on it.
//!
//! It is the only place that knows the mode of a run. Each of the four modes has a struct of its own for its
//! specific behaviour; code that enqueues, stages or waits only asks the target.

pub(crate) mod graph;
pub(crate) mod measured;
pub(crate) mod model;
pub(crate) mod streams;
pub(crate) mod timed;
pub(crate) mod what;

pub(crate) use self::graph::target::{GraphTarget, LaunchFailed};
pub(crate) use self::model::target::ModelTarget;
pub(crate) use self::streams::StreamsTarget;
pub(crate) use self::timed::target::TimedTarget;
use self::what::{HostPart, Numbered, What};
use crate::device::memory::NO_OPERATION;
use crate::device::stream::{Mark, Stream};
use crate::driver::{Command, DriverResult, RawStream, Tag};
use crate::engine::staging::Staging;
use crate::engine::staging::slot::{Delivery, Slot};
use crate::engine::totals::Totals;

/// The destination of a run's commands.
// Note 56: code that enqueues, stages or waits does not ask for the mode.
pub(crate) enum Target<'r> {
    /// To the device, one by one.
    Streams(StreamsTarget<'r>),
    /// To the device, one by one, with each timed.
    Timed(TimedTarget<'r>),
    /// Into graphs.
    Graph(GraphTarget<'r>),
    /// Nowhere: their duration is predicted.
    Model(ModelTarget<'r>),
}

impl Target<'_> {
    /// Enqueues a command. `event`: the number of the pipeline's event that it records or waits for. An event
    /// without a number is not part of a profile or a prediction, and no graph can contain it.
    ///
    /// # Safety
    /// Those of [`Driver::enqueue`](crate::driver::Driver::enqueue).
    #[inline]
    pub(crate) unsafe fn enqueue(
        &self,
        command: Command<'_>,
        stream: Numbered<RawStream>,
        event: Option<usize>,
        tag: Tag,
    ) -> DriverResult<()> {
        match self {
            // SAFETY: the caller's promise.
            Self::Streams(target) => unsafe { target.driver.enqueue(command, stream.raw, tag) },
            // SAFETY: the caller's promise.
            Self::Timed(target) => unsafe { target.enqueue(command, stream, event, tag) },
            // SAFETY: the caller's promise.
            Self::Graph(target) => unsafe { target.enqueue(&command, stream.number, event, tag) },
            Self::Model(target) => target.enqueue(&command, stream.number, event, tag),
        }
    }

    /// Predicts the host's part if nothing is carried out, and returns whether that is so. `slot`: the ring
    /// slot.
    pub(crate) fn works_out(
        &self,
        part: HostPart,
        stream: usize,
        slot: usize,
        tag: Tag,
    ) -> DriverResult<bool> {
        match self {
            Self::Streams(_) | Self::Timed(_) | Self::Graph(_) => Ok(false),
            Self::Model(target) => target.take(part, stream, slot, tag).map(|()| true),
        }
    }

    /// Begins another chunk, which is the device's `turn`-th. `in_order`: whether all so far was enqueued in the
    /// plan's order.
    pub(crate) fn begin(&self, chunk: usize, turn: usize, in_order: bool) -> Result<(), Box<LaunchFailed>> {
        match self {
            Self::Streams(_) => {}
            Self::Timed(target) => target.profiler.begin(turn),
            Self::Graph(target) => target.begin(chunk, turn, in_order)?,
            Self::Model(target) => {
                target.begin(turn).map_err(LaunchFailed::of_no_chunk)?;
            }
        }
        Ok(())
    }

    /// Ensures that the device has everything so far, before a wait or an operation that depends on it.
    pub(crate) fn launch(&self) -> Result<(), Box<LaunchFailed>> {
        match self {
            Self::Streams(_) | Self::Timed(_) => Ok(()),
            Self::Graph(target) => target.launch(),
            Self::Model(target) => target.launch().map_err(LaunchFailed::of_no_chunk),
        }
    }

    /// Ends enqueuing, on these streams.
    pub(crate) fn close(&self, streams: &[Stream]) -> DriverResult<()> {
        match self {
            Self::Timed(target) => target.profiler.close_all(streams),
            Self::Streams(_) | Self::Graph(_) | Self::Model(_) => Ok(()),
        }
    }

    /// Marks the end of the device's copy from or to a slot of an operation, which was enqueued.
    pub(crate) fn mark(
        &self,
        (slot, number): (&mut Slot, usize),
        delivery: Option<Delivery>,
        stream: RawStream,
        tag: Tag,
    ) -> DriverResult<()> {
        match self {
            Self::Streams(streams) | Self::Timed(TimedTarget { streams, .. }) => {
                streams.mark(slot, delivery, stream, tag)
            }
            Self::Graph(target) => {
                target.mark(tag.operation as usize, number, delivery);
                Ok(())
            }
            Self::Model(_) => Ok(()),
        }
    }

    /// Counts a download that was enqueued. `due`: the operation's slot and the chunk, if it is to be copied
    /// out of there.
    pub(crate) fn downloaded(
        &self,
        operation: usize,
        due: Option<(usize, usize)>,
        (staging, totals): (&mut Staging, &mut Totals),
    ) {
        match self {
            Self::Streams(_) | Self::Timed(_) => {
                if let Some((slot, chunk)) = due {
                    staging.note_due(operation, slot, chunk);
                }
                totals.downloaded(operation);
            }
            // Recorded downloads are under way once they are launched.
            Self::Graph(target) => target.downloaded(operation),
            Self::Model(_) => {}
        }
    }

    /// Waits until the device is done with a slot, or only asks whether it is, if the host has other things
    /// to do meanwhile. `done` marks the last command enqueued from or to it.
    pub(crate) fn settle(&self, slot: usize, done: &Mark) -> DriverResult<bool> {
        match self {
            Self::Streams(streams) | Self::Timed(TimedTarget { streams, .. }) => streams.settle(done),
            Self::Graph(target) => target.settle(slot).map(|()| true),
            Self::Model(_) => Ok(true),
        }
    }

    /// Waits until the device is done with a slot.
    pub(crate) fn wait_for(&self, slot: usize, done: &Mark) -> DriverResult<()> {
        match self {
            Self::Streams(_) | Self::Timed(_) => done.synchronize(),
            Self::Graph(target) => target.settle(slot),
            Self::Model(_) => Ok(()),
        }
    }

    /// Whether the device is done with a slot.
    pub(crate) fn is_done(&self, slot: usize, done: &Mark) -> DriverResult<bool> {
        match self {
            Self::Streams(_) | Self::Timed(_) => done.is_complete(),
            Self::Graph(target) => target.try_settle(slot),
            Self::Model(_) => Ok(true),
        }
    }

    /// Marks the end of a chunk on one of its streams. A graph has an end of its own.
    pub(crate) fn mark_end(&self, end: &Mark, stream: &Stream) -> DriverResult<()> {
        match self {
            Self::Streams(_) | Self::Timed(_) => {
                // SAFETY: the stream is the pipeline's, and lives as long as the run, which waits for it. The mark
                // is always recorded on this stream; another run, which has waited for it, may have had another.
                unsafe { end.record(stream.raw, NO_OPERATION, false) }
            }
            Self::Graph(_) | Self::Model(_) => Ok(()),
        }
    }

    /// Whether commands are carried out, and not only predicted.
    pub(crate) fn is_carried_out(&self) -> bool {
        !matches!(self, Self::Model(_))
    }

    /// Whether the host polls the device, and copies meanwhile, instead of waiting.
    pub(crate) fn polls(&self) -> bool {
        match self {
            Self::Streams(streams) | Self::Timed(TimedTarget { streams, .. }) => streams.polls,
            Self::Graph(_) | Self::Model(_) => false,
        }
    }

    /// Whether a slot's own mark shows when the device is done with it.
    pub(crate) fn marks_slots(&self) -> bool {
        match self {
            Self::Streams(_) | Self::Timed(_) => true,
            Self::Graph(_) | Self::Model(_) => false,
        }
    }

    /// Prepares for a routine that is about to enqueue any work; returns whether to call it. Everything so
    /// far was [launched](Self::launch).
    pub(crate) fn open(&self, stream: Numbered<RawStream>, tag: Tag) -> DriverResult<bool> {
        match self {
            Self::Streams(target) => target.driver.make_current()?,
            Self::Timed(target) => target.open(stream, tag)?,
            Self::Graph(target) => target.open()?,
            // The routine is only predicted.
            Self::Model(_) => return Ok(false),
        }
        Ok(true)
    }

    /// Notes that the routine has enqueued its work.
    pub(crate) fn has_called(&self, stream: Numbered<RawStream>, tag: Tag, what: What) {
        match self {
            Self::Timed(target) => target.profiler.close(stream, tag, what),
            Self::Streams(_) | Self::Graph(_) | Self::Model(_) => {}
        }
    }

    /// The stream for work that no graph can hold: an operation's own, or in graph mode that of the graphs.
    pub(crate) fn direct_stream(&self, stream: RawStream) -> RawStream {
        match self {
            Self::Streams(_) | Self::Timed(_) | Self::Model(_) => stream,
            Self::Graph(target) => target.direct_stream(),
        }
    }

    /// Enqueues a routine's work that no graph can hold. Everything so far was [launched](Self::launch).
    pub(crate) fn direct(
        &self,
        stream: RawStream,
        enqueue: impl FnOnce(RawStream) -> DriverResult<()>,
    ) -> DriverResult<()> {
        match self {
            Self::Streams(_) | Self::Timed(_) => enqueue(stream),
            Self::Graph(target) => target.direct(enqueue),
            // No routine is called.
            Self::Model(_) => Ok(()),
        }
    }

    /// Enqueues one command that no graph can hold, such as a function on the CPU. Everything so far was
    /// [launched](Self::launch).
    pub(crate) fn outside_graphs(
        &self,
        stream: Numbered<RawStream>,
        tag: Tag,
        what: What,
        enqueue: impl FnOnce(RawStream) -> DriverResult<()>,
    ) -> DriverResult<()> {
        match self {
            Self::Timed(target) => target.profiler.time(stream, tag, what, || enqueue(stream.raw)),
            Self::Streams(_) | Self::Graph(_) | Self::Model(_) => self.direct(stream.raw, enqueue),
        }
    }
}
