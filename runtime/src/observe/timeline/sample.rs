//! Timelines made up for tests.

use std::ops::Range;
use std::time::Duration;

use super::{Basis, Engine, Row, Span, Timeline};
use crate::base::model::DeviceModel;
use crate::base::plan::{
    Distance, EventPlan, OperationKind, OperationPlan, Plan, Priority, StreamPlan, WaitPlan,
};
use crate::base::report::Report;

const fn stream(name: &'static str) -> StreamPlan {
    StreamPlan { name, priority: Priority::Default, per_slot: false, null: false, placed: false }
}

const fn operation(stage: usize, text: &'static str, kind: OperationKind, line: u32) -> OperationPlan {
    OperationPlan {
        stage,
        stream: stage,
        text,
        kind,
        conditional: false,
        repeat: None,
        accesses: &[],
        line,
        column: 9,
    }
}

const fn wait(operation: usize, event: usize, distance: Distance) -> WaitPlan {
    WaitPlan { operation, event, distance, hazards: &[] }
}

/// Two copies up, a kernel and a copy down, on three streams.
pub(super) const SAXPY: Plan = Plan {
    pipeline: "Saxpy",
    file: "src/main.rs",
    line: 20,
    column: 18,
    streams: &[stream("up"), stream("math"), stream("down")],
    stages: &["load", "axpy", "store"],
    hosts: &[],
    buffers: &[],
    operations: &[
        operation(0, "copy x -> dx", OperationKind::Upload { host: 0, buffer: 0 }, 32),
        operation(0, "copy y -> dy", OperationKind::Upload { host: 1, buffer: 1 }, 32),
        operation(1, "saxpy<<<..>>>", OperationKind::Launch { kernel: "saxpy" }, 33),
        operation(2, "copy dy -> y", OperationKind::Download { host: 1, buffer: 1 }, 34),
    ],
    events: &[
        EventPlan { name: "load_done", operation: 1 },
        EventPlan { name: "axpy_done", operation: 2 },
        EventPlan { name: "store_done", operation: 3 },
    ],
    waits: &[
        wait(0, 1, Distance::Reuse),
        wait(1, 2, Distance::Reuse),
        wait(2, 0, Distance::Same),
        wait(3, 1, Distance::Same),
    ],
};

/// A row with one of the plan's streams.
pub(super) fn row(name: &str, stream: usize, slot: Option<usize>) -> Row {
    Row { name: name.to_owned(), stream, slot, device: None, rank: None }
}

/// A span of [`SAXPY`] with its operation, chunk, row and time in microseconds. Copies are of 1 MB.
pub(super) fn span(operation: usize, chunk: usize, row: usize, at: Range<u64>) -> Span {
    let engine = match operation {
        0 | 1 => Engine::ToDevice,
        2 => Engine::Compute,
        _ => Engine::ToHost,
    };
    Span {
        operation,
        chunk,
        row,
        engine,
        bytes: if operation == 2 { 3_000_000 } else { 1_000_000 },
        blocks: if operation == 2 { 1024 } else { 0 },
        staged: false,
        enqueued: Duration::from_micros(chunk as u64),
        start: Duration::from_micros(at.start),
        end: Duration::from_micros(at.end),
        estimated: false,
    }
}

/// A measured run of [`SAXPY`] on three rows, `micros` microseconds long.
pub(super) fn saxpy(micros: u64, spans: Vec<Span>) -> Timeline {
    let chunks = spans.iter().map(|span| span.chunk + 1).max().unwrap_or(0);
    Timeline {
        plan: &SAXPY,
        report: Report {
            pipeline: "Saxpy",
            device: "NVIDIA H200".to_owned(),
            items: chunks * 250_000,
            chunks,
            chunk: 250_000,
            depth: 3,
            time: Duration::from_micros(micros),
            ..Report::of_nothing()
        },
        predicted: false,
        spec: DeviceModel::h200(),
        machine: None,
        rows: vec![row("up", 0, None), row("math", 1, None), row("down", 2, None)],
        spans,
        basis: Basis::default(),
    }
}

/// A run of `chunks` chunks: 40 us for both copies up, 10 for the kernel, 20 for the copy down.
pub(super) fn steady(chunks: usize) -> Timeline {
    let mut spans = Vec::new();
    for chunk in 0..chunks {
        let begin = 40 * chunk as u64;
        spans.push(span(0, chunk, 0, begin..begin + 20));
        spans.push(span(1, chunk, 0, begin + 20..begin + 40));
        spans.push(span(2, chunk, 1, begin + 40..begin + 50));
        spans.push(span(3, chunk, 2, begin + 50..begin + 70));
    }
    spans.sort_by_key(|span| span.start);
    saxpy(40 * chunks as u64 + 30, spans)
}

/// The same with each stream's name, and a row for each ring slot.
pub(super) fn per_slot(chunks: usize, depth: usize) -> Timeline {
    let mut timeline = steady(chunks);
    timeline.rows = (0..depth).map(|slot| row(&format!("s {slot}"), 0, Some(slot))).collect();
    for span in &mut timeline.spans {
        span.row = span.chunk % depth;
    }
    timeline
}
