//! The views of a pipeline while it runs: `tracing` spans and events, NVTX ranges, progress. Each does
//! nothing without its feature, and next to nothing while nobody observes.
//!
//! The thread that enqueues calls the observers, which may panic. So between the last operation and the end
//! of the wait for the device, where nothing may unwind, no observer is called, except to close what was
//! opened.

use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use crate::base::error::Error;
use crate::base::events;
#[cfg(feature = "tracing")]
use crate::base::events::TARGET;
use crate::base::model::DeviceModel;
use crate::base::plan::Plan;
use crate::base::progress::{Listener, RunProgress};
use crate::base::report::Report;
use crate::base::unwind::contain;
use crate::device::Device;
#[cfg(feature = "nvtx")]
use crate::observe::nvtx::Range;
#[cfg(feature = "tracing")]
use tracing::{field::Empty, span::EnteredSpan};

/// A run that observers see, until this is dropped. Nobody observes the default.
#[derive(Debug, Default)]
pub(crate) struct RunWatch {
    progress: Option<Arc<RunProgress>>,
    /// The number of the device that it is about.
    device: usize,
    #[cfg(feature = "nvtx")]
    range: Option<Range>,
    #[cfg(feature = "tracing")]
    span: Option<EnteredSpan>,
}

/// A part of a run that observers see, on its way to the thread of its device.
pub(crate) struct PartWatch {
    progress: Option<Arc<RunProgress>>,
    device: usize,
    #[cfg(feature = "nvtx")]
    plan: Option<&'static Plan>,
    #[cfg(feature = "tracing")]
    span: Option<tracing::Span>,
}

impl PartWatch {
    /// The part, which this thread enqueues from now on.
    pub(crate) fn enter(self) -> RunWatch {
        RunWatch {
            progress: self.progress,
            device: self.device,
            #[cfg(feature = "nvtx")]
            range: self.plan.and_then(Range::of_run),
            #[cfg(feature = "tracing")]
            span: self.span.map(tracing::Span::entered),
        }
    }
}

/// An operation of a chunk that observers see being enqueued, until this is dropped. In graph mode it is
/// recorded in that time.
#[derive(Debug, Default)]
pub(crate) struct OperationWatch {
    #[cfg(feature = "nvtx")]
    _range: Option<Range>,
    #[cfg(feature = "tracing")]
    _span: Option<EnteredSpan>,
}

impl RunWatch {
    #[allow(unused_variables, reason = "features use them")]
    pub(crate) fn new(
        plan: &'static Plan,
        device: &Device,
        items: usize,
        listener: Option<Listener>,
    ) -> Self {
        Self {
            progress: listener.map(|listener| Arc::new(RunProgress::new(listener, plan.pipeline, items))),
            device: 0,
            #[cfg(feature = "nvtx")]
            range: Range::of_run(plan),
            #[cfg(feature = "tracing")]
            span: {
                let span = tracing::debug_span!(
                    target: TARGET,
                    "run",
                    pipeline = plan.pipeline,
                    device = device.name(),
                    items,
                    chunks = Empty,
                    depth = Empty,
                    nanoseconds = Empty,
                    bytes_to_device = Empty,
                    bytes_to_host = Empty,
                );
                Some(span.entered())
            },
        }
    }

    /// The part of another of the run's devices.
    #[allow(unused_variables, reason = "a feature uses them")]
    pub(crate) fn of_part(&self, device: usize, plan: &'static Plan) -> PartWatch {
        PartWatch {
            progress: self.progress.clone(),
            device,
            #[cfg(feature = "nvtx")]
            plan: self.range.is_some().then_some(plan),
            #[cfg(feature = "tracing")]
            span: self.span.as_deref().cloned(),
        }
    }

    /// The arguments were checked.
    pub(crate) fn begin(&self) {
        if let Some(progress) = &self.progress {
            progress.begin();
        }
    }

    /// The number of chunks and the depth are known.
    #[allow(unused_variables, reason = "a feature uses them")]
    pub(crate) fn is_cut(&self, chunks: usize, depth: usize) {
        #[cfg(feature = "tracing")]
        if let Some(span) = &self.span {
            span.record("chunks", chunks).record("depth", depth);
        }
    }

    /// The run has had `items` items, a number that it may have learned on the way.
    pub(crate) fn had(&self, items: usize) {
        if let Some(progress) = &self.progress {
            progress.had(items);
        }
        #[cfg(feature = "tracing")]
        if let Some(span) = &self.span {
            span.record("items", items);
        }
    }

    /// `items` items are done.
    #[inline]
    pub(crate) fn has_done(&self, items: impl FnOnce() -> usize) {
        if let Some(progress) = &self.progress {
            progress.at(self.device, items());
        }
    }

    /// An operation is about to be enqueued.
    #[inline]
    #[allow(unused_variables, reason = "features use them")]
    pub(crate) fn operation(&self, plan: &'static Plan, index: usize, chunk: usize) -> OperationWatch {
        OperationWatch {
            #[cfg(feature = "nvtx")]
            _range: self.range.as_ref().map(|run| run.of_operation(plan, index, chunk)),
            #[cfg(feature = "tracing")]
            _span: self.span.as_ref().map(|_| {
                let operation = &plan.operations[index];
                let span = tracing::trace_span!(
                    target: TARGET,
                    "operation",
                    pipeline = plan.pipeline,
                    stage = plan.stages[operation.stage],
                    operation = operation.text,
                    chunk,
                );
                span.entered()
            }),
        }
    }

    /// The run is over, and nothing is in flight.
    pub(crate) fn end(self, outcome: Result<&Report, &Error>) {
        #[cfg(feature = "tracing")]
        if let (Some(span), Ok(report)) = (&self.span, outcome) {
            // Of a run on several devices this was known before.
            if report.repeated && report.parts.is_empty() {
                self.is_cut(report.chunks, report.depth);
            }
            span.record("nanoseconds", report.time.as_nanos() as u64)
                .record("bytes_to_device", report.bytes_to_device)
                .record("bytes_to_host", report.bytes_to_host);
        }
        match outcome {
            Ok(_) => {
                if let Some(progress) = &self.progress {
                    progress.end();
                }
            }
            // Reported inside of the run's span.
            Err(error) => events::failed(error),
        }
    }
}

/// A source or a sink that a run waits for.
pub(crate) struct Late {
    pub(crate) pipeline: &'static str,
    /// The name of the argument.
    pub(crate) host: &'static str,
    pub(crate) is_sink: bool,
    /// The chunk that it is to fill or to accept; `None` if the run is over and waits for the thread.
    pub(crate) chunk: Option<usize>,
    pub(crate) waited: Duration,
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pipeline, host, is_sink, chunk, waited } = self;
        let what = if *is_sink { "sink" } else { "source" };
        // `{:#}` is for terminals; an event is one line.
        let gap = if f.alternate() { "\n  " } else { " " };
        write!(f, "`{pipeline}` has waited {:.0} s for {what} `{host}`", waited.as_secs_f64())?;
        match (chunk, is_sink) {
            (Some(chunk), false) => write!(
                f,
                ", which has neither filled chunk {chunk} nor ended{gap}(a channel ends when its last sender is dropped)"
            ),
            (Some(chunk), true) => write!(f, ", which has not accepted chunk {chunk}"),
            (None, _) => f.write_str(", whose thread is at work though the run is over"),
        }
    }
}

/// A kernel whose host body runs on one core of several.
pub(crate) struct Serial {
    pub(crate) pipeline: &'static str,
    /// The launch, as the pipeline's text has it.
    pub(crate) kernel: &'static str,
    pub(crate) time: Duration,
}

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pipeline, kernel, time } = self;
        let gap = if f.alternate() { "\n  help: " } else { ": " };
        write!(
            f,
            "`{pipeline}` has spent {:.1} s in the host body of `{kernel}`, which takes a `Thread`, so that it is \
             called for one thread after another on one core{gap}let it take a `Grid` and split its slices among \
             the cores, or write the kernel in Rust with `#[kernel]`",
            time.as_secs_f64()
        )
    }
}

/// Reports that a run has waited long for a source or a sink.
pub(crate) fn is_late(late: &Late) {
    warn(late, |_said| {
        #[cfg(feature = "tracing")]
        {
            let Late { pipeline, host, is_sink, chunk, waited } = late;
            let seconds = waited.as_secs();
            tracing::warn!(target: TARGET, pipeline, host, is_sink, chunk, seconds, "{_said}");
        }
    });
}

/// Reports that a kernel's host body runs on one core.
pub(crate) fn is_serial(serial: &Serial) {
    warn(serial, |_said| {
        #[cfg(feature = "tracing")]
        {
            let Serial { pipeline, kernel, time } = serial;
            tracing::warn!(target: TARGET, pipeline, kernel, nanoseconds = time.as_nanos() as u64, "{_said}");
        }
    });
}

/// Reports something to `tracing`, by `event`, and with debug assertions on standard error. A subscriber that panics
/// cannot unwind here.
fn warn<W: fmt::Display>(warning: &W, event: impl FnOnce(&W)) {
    contain(|| {
        event(warning);
        if cfg!(debug_assertions) {
            // Standard error may be closed.
            let _ = writeln!(std::io::stderr(), "thalweg: {warning:#}");
        }
    });
}

/// The model of a device; emits an event if the device has just been calibrated.
pub(crate) fn calibrated(device: &Device) -> &DeviceModel {
    #[cfg(feature = "tracing")]
    {
        let known = || device.known_model().get().is_some();
        let before = known();
        let spec = device.calibration();
        if !before && known() {
            let DeviceModel { to_device, to_host, .. } = *spec;
            tracing::debug!(target: TARGET, device = device.name(), to_device, to_host, "device calibrated");
        }
        spec
    }
    #[cfg(not(feature = "tracing"))]
    device.calibration()
}
