//! What copies, fills and launches are to the simulation, whether streams or graphs have them.

use super::address;
use super::fault;
use super::graph::Planned;
use super::memory::{Place, Span};
use super::model::Model;
use super::queue::{Action, Engine, Work};
use crate::base::kernel::volume;
use crate::driver::recording::{self, Node, Recording};
use crate::driver::{Access, DriverResult, HostBody, Rows, RowsBetween};

/// An address and the memory that it must be in.
pub(super) type End = (usize, Place);

/// What a copy accesses.
pub(super) fn copied(to: End, from: End, bytes: usize) -> [Span; 2] {
    [
        Span { start: from.0, bytes, write: false, place: Some(from.1) },
        Span { start: to.0, bytes, write: true, place: Some(to.1) },
    ]
}

pub(super) fn check_overlap(call: &'static str, to: End, from: End, bytes: usize) -> DriverResult<()> {
    if from.0.abs_diff(to.0) < bytes {
        return Err(fault::invalid_value(call, "the two ranges overlap"));
    }
    Ok(())
}

pub(super) fn copy(model: &Model, to: End, from: End, bytes: usize) -> Work {
    let (engine, traffic) = match (from.1, to.1) {
        (Place::Pinned, _) => (Engine::CopyToDevice, bytes as f64),
        (Place::Device, Place::Pinned) => (Engine::CopyToHost, bytes as f64),
        // Reads and writes device memory.
        (Place::Device, Place::Device) => (Engine::Compute, 2.0 * bytes as f64),
    };
    let action = Action::Copy { to: to.0, from: from.0, bytes };
    Work {
        engine,
        latency: model.copy_latency,
        bytes: traffic,
        share: 1.0,
        action,
        fault: None,
        before: None,
    }
}

/// The sides of a copy of rows: to, and from.
pub(super) fn ends(between: RowsBetween) -> (End, End) {
    match between {
        RowsBetween::HostAndDevice { to, from } => {
            ((address(to), Place::Device), (from.addr(), Place::Pinned))
        }
        RowsBetween::DeviceAndHost { to, from } => {
            ((to.addr(), Place::Pinned), (address(from), Place::Device))
        }
        RowsBetween::OnDevice { to, from } => ((address(to), Place::Device), (address(from), Place::Device)),
    }
}

/// What a copy of rows accesses: each row by itself.
pub(super) fn copied_rows(to: End, from: End, rows: &Rows) -> Vec<Span> {
    let &Rows { width, height, from_pitch, to_pitch, .. } = rows;
    if rows.is_empty() {
        return Vec::new();
    }
    let row = |row: usize| copied((to.0 + row * to_pitch, to.1), (from.0 + row * from_pitch, from.1), width);
    (0..height).flat_map(row).collect()
}

/// A copy of rows. It takes the engine that a copy of as many bytes takes.
pub(super) fn copy_rows(model: &Model, to: End, from: End, rows: &Rows) -> Work {
    let &Rows { width, height, from_pitch, to_pitch, .. } = rows;
    let height = if width == 0 { 0 } else { height };
    let body = move || {
        for row in 0..height {
            let from = std::ptr::with_exposed_provenance::<u8>(from.0 + row * from_pitch);
            let to = std::ptr::with_exposed_provenance_mut::<u8>(to.0 + row * to_pitch);
            // SAFETY: each row was checked to lie in live allocations of this device when the copy was enqueued, which cannot
            // be freed before the host has waited for it. The rows do not overlap, says the caller of the driver. No other
            // command is carried out meanwhile, and the host's memory is not accessed before the host has waited.
            unsafe { to.copy_from_nonoverlapping(from, width) };
        }
    };
    Work { action: Action::Body(Box::new(body)), ..copy(model, to, from, width * height) }
}

/// What a fill accesses.
pub(super) fn filled(start: usize, bytes: usize) -> Span {
    Span { start, bytes, write: true, place: Some(Place::Device) }
}

/// A fill of `bytes`, which are more than none and a multiple of the pattern's.
pub(super) fn fill(model: &Model, start: usize, pattern: &[u8], bytes: usize) -> Work {
    let pattern = pattern.to_vec();
    let body = move || {
        let to = std::ptr::with_exposed_provenance_mut::<u8>(start);
        // SAFETY: the range was checked to lie in a live allocation of this device when the fill was enqueued, and
        // cannot be freed before the host has waited for it. No other command is carried out meanwhile.
        let memory = unsafe { std::slice::from_raw_parts_mut(to, bytes) };
        memory.chunks_exact_mut(pattern.len()).for_each(|place| place.copy_from_slice(&pattern));
    };
    Work {
        engine: Engine::Compute,
        latency: model.launch_latency,
        bytes: bytes as f64,
        share: 1.0,
        action: Action::Body(Box::new(body)),
        fault: None,
        before: None,
    }
}

/// What a launch or a function on the host accesses, all of it in `place` if that is known.
pub(super) fn accessed(accesses: &[Access], place: Option<Place>) -> Vec<Span> {
    let accesses = accesses.iter().filter(|access| access.bytes > 0);
    let span = |access: &Access| Span {
        start: address(access.ptr),
        bytes: access.bytes,
        write: access.write,
        place,
    };
    accesses.map(span).collect()
}

/// The bytes that are read and written.
pub(super) fn traffic(spans: &[Span]) -> f64 {
    spans.iter().map(|span| span.bytes as f64).sum()
}

pub(super) fn kernel(model: &Model, spans: &[Span], share: f64, body: HostBody) -> Work {
    Work {
        engine: Engine::Compute,
        latency: model.launch_latency,
        bytes: traffic(spans),
        share,
        action: Action::Body(body),
        fault: None,
        before: None,
    }
}

/// A graph's node. `bodies` are those of the launches that are left.
pub(super) fn planned<'a>(
    model: &Model,
    nodes: &'a Recording,
    node: &Node,
    bodies: &mut impl Iterator<Item = HostBody>,
) -> DriverResult<Planned<'a>> {
    let copied = |call, to: End, from: End, bytes| -> DriverResult<_> {
        check_overlap(call, to, from, bytes)?;
        Ok((call, copied(to, from, bytes).to_vec(), Some(copy(model, to, from, bytes))))
    };
    let (call, spans, work) = match node.work {
        recording::Work::Nothing => ("cuGraphAddEmptyNode", Vec::new(), None),
        recording::Work::CopyToDevice { to, from, bytes } => {
            copied("cuMemcpyHtoDAsync", (address(to), Place::Device), (from, Place::Pinned), bytes)?
        }
        recording::Work::CopyToHost { to, from, bytes } => {
            copied("cuMemcpyDtoHAsync", (to, Place::Pinned), (address(from), Place::Device), bytes)?
        }
        recording::Work::CopyOnDevice { to, from, bytes } => {
            copied("cuMemcpyDtoDAsync", (address(to), Place::Device), (address(from), Place::Device), bytes)?
        }
        recording::Work::Fill { to, pattern, count } => {
            let pattern = nodes.pattern(pattern);
            let call = "cuMemsetAsync";
            let bytes = pattern.len().checked_mul(count);
            let bytes =
                bytes.ok_or_else(|| fault::invalid_value(call, "more bytes than can be addressed"))?;
            (call, vec![filled(address(to), bytes)], Some(fill(model, address(to), pattern, bytes)))
        }
        recording::Work::Launch { kernel: launched } => {
            let call = "cuLaunchKernel";
            let body = bodies.next();
            let body = body.ok_or_else(|| fault::invalid_value(call, "the launch has no host body"))?;
            let spans = accessed(nodes.accesses(nodes.kernel(launched)), None);
            let share = model.share(Some(volume(nodes.kernel(launched).grid)));
            let work = kernel(model, &spans, share, body);
            (call, spans, Some(work))
        }
    };
    Ok(Planned { tag: node.tag, after: nodes.after(node), call, spans, work })
}
