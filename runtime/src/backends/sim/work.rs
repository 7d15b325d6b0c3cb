//! The work of commands, whether streams or graphs have them.

use std::ops::Deref;
use std::sync::Arc;

use super::demand::Demand;
use super::fault;
use super::memory::{Place, Span};
use super::model::Model;
use super::queue::{Action, Work};
use crate::base::collective::{Path, time};
use crate::base::engine::Engine;
use crate::driver::collective::RawCollective;
use crate::driver::collective::exchanged::{Exchange, carry_out};
use crate::driver::fault::RanksFailed;
use crate::driver::{Access, Command, DevicePtr, DriverResult, HostBody, Peer, Rows, RowsBetween, fill_word};

/// A command that does something, ready to be enqueued.
pub(super) struct Planned {
    /// The call that enqueues it on a stream.
    pub call: &'static str,
    pub spans: Spans,
    pub work: Work,
}

/// The memory that a command accesses.
pub(super) enum Spans {
    /// Both sides of a copy.
    Copied([Span; 2]),
    Listed(Vec<Span>),
}

impl Default for Spans {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl Deref for Spans {
    type Target = [Span];

    fn deref(&self) -> &[Span] {
        match self {
            Self::Copied(spans) => spans,
            Self::Listed(spans) => spans,
        }
    }
}

/// An address and the memory that it must be in.
type End = (usize, Place);

/// The work of a command; `None` for a fill of nothing, and for a command that no engine carries out.
/// `in_graph`: whether it is of a run's graph. `bodies` are the remaining host bodies of a graph's launches.
pub(super) fn planned(
    model: &Model,
    command: Command<'_>,
    in_graph: bool,
    bodies: &mut impl Iterator<Item = HostBody>,
) -> DriverResult<Option<Planned>> {
    let (call, bytes) = (command.call(), command.bytes() as f64);
    let (spans, demand, action) = match command {
        Command::CopyToDevice { to, from, bytes } => {
            copy(model, call, [(address(to), Place::Device), (from.addr(), Place::Pinned)], bytes)?
        }
        Command::CopyToHost { to, from, bytes } => {
            copy(model, call, [(to.addr(), Place::Pinned), (address(from), Place::Device)], bytes)?
        }
        Command::CopyOnDevice { to, from, bytes } => {
            copy(model, call, [(address(to), Place::Device), (address(from), Place::Device)], bytes)?
        }
        Command::CopyBetween { to, from, bytes } => {
            let numbers = [from.0, to.0].map(|Peer(number)| number as usize);
            let (to, from) = ((address(to.1), Place::Device), (address(from.1), Place::Device));
            let mut spans = copied(to, from, bytes);
            spans.iter_mut().zip(numbers).for_each(|(span, number)| span.device = Some(number));
            let action = Action::Copy { to: to.0, from: from.0, bytes };
            let work = Work::between(Demand::peers(model, bytes as f64), action, numbers);
            return Ok(Some(Planned { call, spans: Spans::Copied(spans), work }));
        }
        Command::CopyRows(rows) => {
            let ends = ends(rows.between);
            let demand = Demand::copy(model, engine(ends), bytes);
            (Spans::Listed(copied_rows(ends, &rows)), demand, Action::Body(rows_copied(ends, &rows)))
        }
        Command::Fill { to, pattern, count } => {
            let bytes = pattern.len().checked_mul(count);
            let bytes =
                bytes.ok_or_else(|| fault::invalid_value(call, "more bytes than can be addressed"))?;
            if bytes == 0 {
                return Ok(None);
            }
            if !to.0.is_multiple_of(fill_word(pattern.len()) as u64) {
                return Err(fault::invalid_value(call, "memory that is not aligned to what a memset writes"));
            }
            let (start, place) = (address(to), Some(Place::Device));
            let span = Span { start, bytes, write: true, place, device: None };
            let demand = Demand::kernel(model, bytes as f64, None);
            (Spans::Listed(vec![span]), demand, Action::Body(filled(address(to), pattern, bytes)))
        }
        Command::Launch(launch) => {
            let body = launch.body().or_else(|| bodies.next());
            let body = body.ok_or_else(|| fault::invalid_value(call, "the launch has no host body"))?;
            let demand = Demand::kernel(model, bytes, launch.blocks());
            (accessed(launch.accesses, None), demand, Action::Body(body))
        }
        Command::Host { job, accesses } => {
            (accessed(accesses, Some(Place::Pinned)), Demand::host(model, bytes), Action::Host(job))
        }
        Command::Signal(signal) => (Spans::default(), Demand::signal(model), Action::Host(signal)),
        // Collectives need a communicator, and are planned apart.
        Command::Record(_) | Command::Wait(_) | Command::Graph { .. } | Command::Collective(_) => {
            return Ok(None);
        }
    };
    let demand = if in_graph { demand.in_graph(model) } else { demand };
    Ok(Some(Planned { call, spans, work: Work::new(demand, action) }))
}

/// A rank's part of a collective. `outside`: the way to the other ranks and their number, if they are not of this
/// machine.
pub(super) fn collective(
    model: &Model,
    collective: &RawCollective,
    outside: Option<(Arc<dyn Exchange>, usize)>,
) -> Planned {
    let spans = accessed(&collective.accesses, Some(Place::Device));
    let (call, collective) = (collective.call(), Box::new(collective.clone()));
    let Some((exchange, ranks)) = outside else {
        return Planned { call, spans, work: Work::new(Demand::meeting(), Action::Collective(collective)) };
    };
    // The links are not known here; those of the host are what the messages really go through.
    let path = Path { rate: model.host_memcpy, latency: model.host_latency };
    let time = time(collective.kind, collective.bytes(), ranks, path);
    let exchanged = move || {
        // SAFETY: the ranges were checked to lie in live allocations of this device when the collective was enqueued,
        // which cannot be freed before the host has waited for it; no other work is carried out meanwhile.
        if let Err(why) = unsafe { carry_out(&collective, &exchange) } {
            std::panic::resume_unwind(Box::new(RanksFailed(why)));
        }
    };
    let action = Action::Body(Box::new(exchanged));
    Planned { call, spans, work: Work::new(Demand::collective(time), action) }
}

/// The accesses, the demand and the action of a copy.
fn copy(
    model: &Model,
    call: &'static str,
    [to, from]: [End; 2],
    bytes: usize,
) -> DriverResult<(Spans, Demand, Action)> {
    if from.0.abs_diff(to.0) < bytes {
        return Err(fault::invalid_value(call, "the two ranges overlap"));
    }
    // A copy of nothing accesses nothing, so the addresses do not matter.
    let spans = if bytes == 0 { Spans::default() } else { Spans::Copied(copied(to, from, bytes)) };
    let demand = Demand::copy(model, engine([to, from]), bytes as f64);
    Ok((spans, demand, Action::Copy { to: to.0, from: from.0, bytes }))
}

/// The accesses of a copy between these two.
fn copied(to: End, from: End, bytes: usize) -> [Span; 2] {
    [
        Span { start: from.0, bytes, write: false, place: Some(from.1), device: None },
        Span { start: to.0, bytes, write: true, place: Some(to.1), device: None },
    ]
}

/// The engine that carries out a copy between these two.
fn engine([to, from]: [End; 2]) -> Engine {
    match (from.1, to.1) {
        (Place::Pinned, _) => Engine::ToDevice,
        (Place::Device, Place::Pinned) => Engine::ToHost,
        (Place::Device, Place::Device) => Engine::Compute,
    }
}

/// The two sides of a copy of rows: the destination, and the source.
fn ends(between: RowsBetween) -> [End; 2] {
    match between {
        RowsBetween::HostAndDevice { to, from } => {
            [(address(to), Place::Device), (from.addr(), Place::Pinned)]
        }
        RowsBetween::DeviceAndHost { to, from } => {
            [(to.addr(), Place::Pinned), (address(from), Place::Device)]
        }
        RowsBetween::OnDevice { to, from } => [(address(to), Place::Device), (address(from), Place::Device)],
    }
}

/// The accesses of a copy of rows, one for each row.
fn copied_rows([to, from]: [End; 2], rows: &Rows) -> Vec<Span> {
    let &Rows { width, height, from_pitch, to_pitch, .. } = rows;
    if rows.is_empty() {
        return Vec::new();
    }
    let row = |row: usize| copied((to.0 + row * to_pitch, to.1), (from.0 + row * from_pitch, from.1), width);
    (0..height).flat_map(row).collect()
}

/// A copy of rows. It takes the engine that carries out a plain copy of the same sides.
fn rows_copied([to, from]: [End; 2], rows: &Rows) -> HostBody {
    let &Rows { width, height, from_pitch, to_pitch, .. } = rows;
    let height = if width == 0 { 0 } else { height };
    Box::new(move || {
        for row in 0..height {
            let from = std::ptr::with_exposed_provenance::<u8>(from.0 + row * from_pitch);
            let to = std::ptr::with_exposed_provenance_mut::<u8>(to.0 + row * to_pitch);
            // SAFETY: each row was checked to lie in live allocations of this device when the copy was
            // enqueued, which cannot be freed before the host has waited for it. The rows do not overlap, by
            // the promise of the driver's caller. No other command is carried out meanwhile, and the host's
            // memory is not accessed before the host has waited.
            unsafe { to.copy_from_nonoverlapping(from, width) };
        }
    })
}

/// A fill of `bytes` bytes, at least one, and a multiple of the pattern's.
fn filled(start: usize, pattern: &[u8], bytes: usize) -> HostBody {
    let pattern = pattern.to_vec();
    Box::new(move || {
        let to = std::ptr::with_exposed_provenance_mut::<u8>(start);
        // SAFETY: the range was checked to lie in a live allocation of this device when the fill was
        // enqueued, and cannot be freed before the host has waited for it. No other command is carried out
        // meanwhile.
        let memory = unsafe { std::slice::from_raw_parts_mut(to, bytes) };
        memory.chunks_exact_mut(pattern.len()).for_each(|place| place.copy_from_slice(&pattern));
    })
}

/// The accesses of a launch or of a function on the host, all of them in `place` if that is known.
fn accessed(accesses: &[Access], place: Option<Place>) -> Spans {
    let accesses = accesses.iter().filter(|access| access.bytes > 0);
    let span = |access: &Access| Span {
        start: address(access.ptr),
        bytes: access.bytes,
        write: access.write,
        place,
        device: None,
    };
    Spans::Listed(accesses.map(span).collect())
}

/// The address in this process, since device memory is memory of this process.
pub(super) fn address(ptr: DevicePtr) -> usize {
    ptr.0 as usize
}
