//! A timeline as bytes, for rank 0.
//!
//! Of the plan there is nothing, since all ranks have the same. What a run waited for, what devices share and how fast
//! they are is left out too: no picture needs it.

use std::time::Duration;

use crate::base::plan::Plan;
use crate::base::report::Report;
use crate::engine::ranks::bytes::{Rest, number, text};
use crate::observe::timeline::{Basis, Engine, Row, Span, Timeline};

/// Changes with the form of the bytes.
pub(super) const VERSION: u64 = 1;

/// Stands for a number that there is not.
const NONE: u64 = u64::MAX;

/// The engines, by their numbers.
const ENGINES: [Engine; 5] =
    [Engine::ToDevice, Engine::Compute, Engine::ToHost, Engine::Host, Engine::Network];

/// A timeline as bytes, which [`read`] takes.
pub(super) fn write(timeline: &Timeline) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_report(&mut bytes, &timeline.report);
    let Basis { streamed, auto_chunk, auto_depth, graph, by_bytes, .. } = &timeline.basis;
    write_flags(&mut bytes, &[*auto_chunk, *auto_depth, *graph, *by_bytes]);
    number(&mut bytes, streamed.len() as u64);
    streamed.iter().for_each(|&streamed| write_flags(&mut bytes, &[streamed]));
    number(&mut bytes, timeline.rows.len() as u64);
    for Row { name, stream, slot, device, .. } in &timeline.rows {
        text(&mut bytes, name.as_bytes());
        number(&mut bytes, *stream as u64);
        number(&mut bytes, slot.map_or(NONE, |slot| slot as u64));
        number(&mut bytes, device.map_or(NONE, |device| device as u64));
    }
    number(&mut bytes, timeline.spans.len() as u64);
    timeline.spans.iter().for_each(|span| write_span(&mut bytes, span));
    bytes
}

/// The timeline of another rank, whose plan is this rank's. `None` for bytes that [`write`] did not make: then nothing
/// was allocated beyond what they hold.
pub(super) fn read(bytes: &[u8], own: &Timeline) -> Option<Timeline> {
    let mut rest = Rest(bytes);
    let report = read_report(&mut rest, own.report.pipeline)?;
    let [auto_chunk, auto_depth, graph, by_bytes] = read_flags(&mut rest)?;
    let streamed = rest.list(|rest| read_flags(rest).map(|[streamed]| streamed))?;
    let rows = rest.list(|rest| read_row(rest, own.plan))?;
    let spans = rest.list(|rest| read_span(rest, own.plan, rows.len()))?;
    rest.0.is_empty().then(|| Timeline {
        plan: own.plan,
        report,
        predicted: own.predicted,
        spec: own.spec.clone(),
        machine: None,
        rows,
        spans,
        basis: Basis { streamed, auto_chunk, auto_depth, graph, by_bytes, ..own.basis.clone() },
    })
}

fn write_report(bytes: &mut Vec<u8>, report: &Report) {
    text(bytes, report.device.as_bytes());
    let Report { items, chunks, chunk, depth, .. } = *report;
    [items, chunks, chunk, depth].into_iter().for_each(|counted| number(bytes, counted as u64));
    let Report { graph, repeated, stream_per_slot, simulated, .. } = *report;
    write_flags(bytes, &[graph, repeated, stream_per_slot, simulated]);
    let Report { bytes_to_device, bytes_to_host, bytes_staged, device_memory, pinned_memory, .. } = *report;
    let sizes = [bytes_to_device, bytes_to_host, bytes_staged, device_memory, pinned_memory];
    sizes.into_iter().for_each(|size| number(bytes, size));
    [report.enqueuing, report.time].into_iter().for_each(|time| write_time(bytes, time));
}

fn read_report(rest: &mut Rest<'_>, pipeline: &'static str) -> Option<Report> {
    let device = rest.string()?;
    let [items, chunks, chunk, depth] = [(); 4].map(|()| count(rest));
    let [graph, repeated, stream_per_slot, simulated] = read_flags(rest)?;
    let [bytes_to_device, bytes_to_host, bytes_staged, device_memory, pinned_memory] =
        [(); 5].map(|()| rest.number());
    Some(Report {
        pipeline,
        device,
        items: items?,
        chunks: chunks?,
        chunk: chunk?.max(1),
        depth: depth?,
        graph,
        repeated,
        stream_per_slot,
        bytes_to_device: bytes_to_device?,
        bytes_to_host: bytes_to_host?,
        bytes_staged: bytes_staged?,
        device_memory: device_memory?,
        pinned_memory: pinned_memory?,
        enqueuing: read_time(rest)?,
        time: read_time(rest)?,
        awaited: Vec::new(),
        parts: Vec::new(),
        shared: None,
        simulated,
    })
}

fn read_row(rest: &mut Rest<'_>, plan: &Plan) -> Option<Row> {
    let name = rest.string()?;
    let stream = count(rest).filter(|stream| *stream < plan.streams.len())?;
    let mut maybe = || match rest.number()? {
        NONE => Some(None),
        number => usize::try_from(number).ok().map(Some),
    };
    Some(Row { name, stream, slot: maybe()?, device: maybe()?, rank: None })
}

fn write_span(bytes: &mut Vec<u8>, span: &Span) {
    let engine = ENGINES.iter().position(|engine| *engine == span.engine).unwrap_or_default();
    let Span { operation, chunk, row, .. } = *span;
    [operation, chunk, row, engine].into_iter().for_each(|counted| number(bytes, counted as u64));
    write_flags(bytes, &[span.staged, span.estimated]);
    [span.bytes, span.blocks].into_iter().for_each(|size| number(bytes, size));
    [span.enqueued, span.start, span.end].into_iter().for_each(|time| write_time(bytes, time));
}

/// A span of a timeline with so many rows.
fn read_span(rest: &mut Rest<'_>, plan: &Plan, rows: usize) -> Option<Span> {
    let operation = count(rest).filter(|operation| *operation < plan.operations.len())?;
    let chunk = count(rest)?;
    let row = count(rest).filter(|row| *row < rows)?;
    let engine = *ENGINES.get(count(rest)?)?;
    let [staged, estimated] = read_flags(rest)?;
    let (bytes, blocks) = (rest.number()?, rest.number()?);
    let (enqueued, start, end) = (read_time(rest)?, read_time(rest)?, read_time(rest)?);
    Some(Span { operation, chunk, row, engine, bytes, blocks, staged, enqueued, start, end, estimated })
}

fn write_time(bytes: &mut Vec<u8>, time: Duration) {
    number(bytes, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
}

fn read_time(rest: &mut Rest<'_>) -> Option<Duration> {
    rest.number().map(Duration::from_nanos)
}

/// Flags take a byte each.
fn write_flags(bytes: &mut Vec<u8>, flags: &[bool]) {
    bytes.extend(flags.iter().map(|flag| u8::from(*flag)));
}

fn read_flags<const N: usize>(rest: &mut Rest<'_>) -> Option<[bool; N]> {
    let flags: [u8; N] = rest.take(N)?.try_into().ok()?;
    flags.iter().all(|flag| *flag <= 1).then(|| flags.map(|flag| flag == 1))
}

fn count(rest: &mut Rest<'_>) -> Option<usize> {
    usize::try_from(rest.number()?).ok()
}
