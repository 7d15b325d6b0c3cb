//! [`Timeline`]: when each operation of a run began and ended.

mod advice;
mod axis;
mod clocks;
mod colours;
mod compare;
mod engines;
mod findings;
mod gantt;
#[cfg(test)]
mod gantt_tests;
mod lanes;
mod letters;
#[cfg(feature = "png")]
mod png;
mod ranks;
#[cfg(test)]
mod ranks_tests;
#[cfg(test)]
mod sample;
mod scene;
mod svg;
#[cfg(test)]
mod svg_tests;
mod text;
mod together;
mod trace;
#[cfg(test)]
mod trace_tests;

pub use crate::base::engine::Engine;
pub use compare::Comparison;
pub use findings::{Cause, Finding};
pub use gantt::Gantt;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::base::machine::MachineModel;
use crate::base::model::DeviceModel;
use crate::base::plan::Plan;
use crate::base::report::Report;
use crate::driver::Nanos;

/// When each operation of a run began and ended.
///
/// A pipeline's `profile` measures one, and `predict` calculates one without a run. All times count from the
/// run's first call.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg::timeline::{Cause, Engine};
/// use thalweg_kernels::saxpy;
///
/// stream_pipeline! {
///     pipeline Saxpy {
///         param a: f32;
///         input x: [f32];
///         inout y: [f32];
///         chunk c = 1 << 16;
///         depth = 1; // a chunk begins when the one before is out
///         stage load { copy x -> dx; copy y -> dy; }
///         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let device = Device::simulated(Simulation::h200());
/// let x = PinnedBuf::from_slice(&device, &vec![1.0; 1 << 20])?;
/// let mut y = PinnedBuf::from_slice(&device, &vec![2.0; 1 << 20])?;
/// let mut saxpy = Saxpy::new(&device)?;
///
/// let predicted = saxpy.predict(3.0, &x, &mut y)?;
/// assert_eq!(y[0], 2.0, "nothing was run");
/// let measured = saxpy.profile(3.0, &x, &mut y)?;
/// assert_eq!(y[0], 5.0);
/// assert!(predicted.predicted && !measured.predicted);
/// assert_eq!(measured.timed_chunks(), 16);
///
/// // Three copies and a kernel a chunk.
/// assert_eq!(measured.spans.len(), 4 * 16);
/// assert_eq!(measured.stage(&measured.spans[0]), "load");
/// assert_eq!(measured.bottleneck(), Some(Engine::ToDevice));
/// let findings = measured.findings();
/// assert!(findings.iter().any(|finding| finding.cause == Cause::DepthTooSmall));
///
/// println!("{}", measured.gantt()); // characters for a terminal
/// assert!(measured.svg().starts_with("<svg ")); // a picture for a browser
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Timeline {
    /// The pipeline's plan.
    pub plan: &'static Plan,
    /// The run's report, with its whole duration.
    pub report: Report,
    /// Whether this is a prediction.
    pub predicted: bool,
    /// The device's calibration; that of the first one, if the run has several, and that of rank 0's for all ranks.
    pub spec: DeviceModel,
    /// The model of the machine, if the run has several devices and it is known: in a prediction and a profile it is
    /// that of the simulated machine, or measured, perhaps by an earlier process.
    pub machine: Option<MachineModel>,
    /// The streams of the run.
    pub rows: Vec<Row>,
    /// The spans, in the order in which they began.
    pub spans: Vec<Span>,
    pub(crate) basis: Basis,
}

/// Facts that a timeline does not show, but on which advice depends.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Basis {
    /// For each of the plan's hosts, whether it is a source or a sink.
    pub streamed: Vec<bool>,
    /// Whether the runtime chose the chunk.
    pub auto_chunk: bool,
    /// Whether the runtime chose the depth.
    pub auto_depth: bool,
    /// Whether runs of the pipeline launch graphs; a profile does not.
    pub graph: bool,
    /// Whether a prediction has estimated some kernel's time from its bytes, for want of a profile.
    pub by_bytes: bool,
    /// The run, if ranks have agreed on it.
    pub run: Option<RunOfRanks>,
    /// What each rank has of the run, in the timeline of all ranks; otherwise empty.
    pub ranks: Vec<OfRank>,
}

/// What tells a run of several ranks from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunOfRanks {
    /// The number of the world in this process.
    pub world: u32,
    /// How often the ranks of the world had come together when they agreed on the run, which is the same on all.
    pub agreement: u64,
    /// The number of the run among those of its pipeline.
    pub number: u64,
}

/// A rank's part in the timeline of all ranks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OfRank {
    /// The rank's own report.
    pub report: Report,
    /// The time at which its run began, since the first rank's did.
    pub begin: Duration,
}

/// A stream of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The stream's name; with the slot's number, `math 0`, if each slot has one.
    pub name: String,
    /// Index into [`Plan::streams`].
    pub stream: usize,
    /// The ring slot, if each slot has a stream of its own.
    pub slot: Option<usize>,
    /// The number of the device, if the run has several. The name then begins with it: `d0 math`.
    pub device: Option<usize>,
    /// The rank, in the timeline [of all ranks](Timeline::of_all_ranks). The name then begins with it: `r0 math`.
    pub rank: Option<usize>,
}

/// A piece of work that one operation of one chunk gave to the device.
///
/// An operation may have none (if it stands in an `if`), one or several spans: a routine may enqueue any
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// Index into [`Plan::operations`].
    pub operation: usize,
    /// Index of the chunk.
    pub chunk: usize,
    /// Index into [`Timeline::rows`].
    pub row: usize,
    /// The engine that was busy with it.
    pub engine: Engine,
    /// Bytes copied; for a kernel, the bytes of the buffers that it was given, read and written.
    pub bytes: u64,
    /// Blocks of a launch; 0 for anything else.
    pub blocks: u64,
    /// Whether it copies from or to ordinary memory, so that the CPU takes part in it.
    pub staged: bool,
    /// The time at which the host had enqueued it.
    pub enqueued: Duration,
    /// The time at which the engine began.
    pub start: Duration,
    /// The time at which it was done.
    pub end: Duration,
    /// Whether a profile has calculated the span from other chunks instead of timing it.
    pub estimated: bool,
}

impl Timeline {
    /// The time from the first call to the last result.
    pub fn time(&self) -> Duration {
        self.report.time
    }

    /// The number of chunks whose operations a profile has timed: all of them if nothing is
    /// [estimated](Span::estimated).
    pub fn timed_chunks(&self) -> usize {
        let timed = self.spans.iter().filter(|span| !span.estimated).map(|span| span.chunk);
        timed.collect::<BTreeSet<_>>().len()
    }

    /// The name of a span's stage.
    pub fn stage(&self, span: &Span) -> &'static str {
        self.plan.stages[self.plan.operations[span.operation].stage]
    }
}

impl Span {
    /// The duration of the span.
    pub fn time(&self) -> Duration {
        self.end.saturating_sub(self.start)
    }
}

/// A time in nanoseconds; negative times count as 0.
pub(crate) fn nanos(nanos: Nanos) -> Duration {
    Duration::try_from_secs_f64(nanos / 1e9).unwrap_or_default()
}
