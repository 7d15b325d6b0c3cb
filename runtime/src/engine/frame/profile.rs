//! The profiler of a run, and the timeline made from its results.

use std::time::Duration;

use crate::base::model::DeviceModel;
use crate::base::plan::{OperationKind, OperationPlan};
use crate::base::report::Report;
use crate::driver::DriverResult;
use crate::engine::arguments::{HostArgument, HostMemory};
use crate::engine::pipeline::Pipeline;
use crate::engine::purpose::Purpose;
use crate::engine::targets::timed::observed::Observed;
use crate::engine::targets::timed::{Profiler, Sampling, Timed, share};
use crate::observe::timeline::{Basis, Row, Span, Timeline, nanos};
use crate::observe::watch;

impl Pipeline {
    /// The chunks whose operations a profile times. `stages`: whether the host has copies of its own to make.
    /// `slots` and the items of a `chunk` are the run's.
    pub(crate) fn sampling(
        &self,
        hosts: &[HostArgument<'_>],
        stages: bool,
        (slots, chunk): (usize, usize),
    ) -> Sampling {
        let driver = self.device.driver();
        // A device on the host works while the host waits for it in any case, and a device that is waited for
        // after each operation is slow anyway.
        let waits = !self.device.is_on_host() && !driver.is_synchronous();
        let share = || share(self.plan, hosts, (stages, self.spreads()), (slots, chunk)).filter(|_| waits);
        Sampling::new(self.profile_share.or_else(share), self.depth)
    }

    /// The profiler for a run that begins now.
    pub(crate) fn profiler(&mut self, began: Duration, sampling: Sampling) -> DriverResult<Box<Profiler>> {
        let streams = (self.observed(), self.streams.all().first());
        let clockwork = std::mem::take(&mut self.clockwork);
        Profiler::new(&self.device, self.plan, clockwork, streams, sampling, began).map(Box::new)
    }

    /// The streams of a profile that are observed.
    pub(crate) fn observed(&self) -> Observed {
        Observed::new(self.plan, &self.streams, self.depth, self.spreads())
    }

    /// The timeline of a run with this report, without spans.
    pub(crate) fn timeline(&self, report: Report, purpose: Purpose) -> Box<Timeline> {
        Box::new(Timeline {
            plan: self.plan,
            predicted: purpose == Purpose::Predict,
            machine: None,
            spec: DeviceModel::default(),
            rows: Vec::new(),
            spans: Vec::new(),
            basis: Basis::default(),
            report,
        })
    }

    /// Adds the spans of a run with these arguments, and the calibration by which they are judged.
    pub(crate) fn add_spans(&self, timeline: &mut Timeline, timed: &[Timed], hosts: &[HostArgument<'_>]) {
        if timed.is_empty() {
            return;
        }
        timeline.spec.clone_from(watch::calibrated(&self.device));
        let row_of = self.rows(timeline, timed);
        let staged: Vec<_> =
            self.plan.operations.iter().map(|operation| is_staged(operation, hosts)).collect();
        // The record of a copy's end comes a little after the end.
        let over = timeline.report.time;
        let span = |timed: &Timed| {
            let operation = timed.tag.operation as usize;
            Some(Span {
                operation,
                chunk: timed.tag.chunk as usize,
                row: row_of[timed.stream]?,
                engine: timed.what.engine,
                bytes: timed.what.bytes,
                blocks: timed.what.blocks,
                staged: staged[operation],
                enqueued: nanos(timed.enqueued),
                start: nanos(timed.start).min(over),
                end: nanos(timed.end).min(over),
                estimated: timed.estimated,
            })
        };
        timeline.spans.extend(timed.iter().filter_map(span));
        timeline.spans.sort_by_key(|span| (span.start, span.end, span.chunk, span.operation));
    }

    /// Gives a timeline a row for each stream with work, in the order of declaration, and returns the row of
    /// each of the pipeline's streams.
    fn rows(&self, timeline: &mut Timeline, timed: &[Timed]) -> Vec<Option<usize>> {
        let mut row_of = vec![None; self.streams.all().len()];
        let mut used = vec![false; row_of.len()];
        timed.iter().for_each(|timed| used[timed.stream] = true);
        for (index, stream) in self.plan.streams.iter().enumerate() {
            let slots = if stream.per_slot { self.streams.slots() } else { 1 };
            let numbers = (0..slots).map(|slot| (slot, self.streams.number(index, slot)));
            let numbers: Vec<_> = numbers.filter(|(_, number)| used[*number]).collect();
            let each = stream.is_per_slot(timeline.report.stream_per_slot) && numbers.len() > 1;
            for (slot, number) in numbers {
                row_of[number] = Some(timeline.rows.len());
                timeline.rows.push(Row {
                    name: if each { format!("{} {slot}", stream.name) } else { stream.name.to_owned() },
                    stream: index,
                    slot: each.then_some(slot),
                    device: None,
                    rank: None,
                });
            }
        }
        row_of
    }
}

/// Whether an operation copies from or to ordinary memory. For a page-locked argument the CPU makes up the
/// items beyond its ends, for which a run does not wait.
fn is_staged(operation: &OperationPlan, hosts: &[HostArgument<'_>]) -> bool {
    match operation.kind {
        OperationKind::Upload { host, .. } | OperationKind::Download { host, .. } => {
            hosts.get(host).is_some_and(|host| !matches!(host.source.memory, HostMemory::Pinned(_)))
        }
        _ => false,
    }
}
