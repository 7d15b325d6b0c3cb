//! The work of commands, whether streams or graphs have them.

use std::ops::Deref;
use std::sync::Arc;

use super::memory::{Place, Span, address};
use crate::base::error::DriverError;
use crate::base::threads::volume;
use crate::driver::collective::RawCollective;
use crate::driver::collective::exchanged::Exchange;
use crate::driver::{
    Access, Command, DriverResult, HostBody, HostJob, RawLaunch, Rows, RowsBetween, fault, fill_word,
};

/// A command that does something, ready to be enqueued.
pub(super) struct Planned {
    /// The call that enqueues it on a stream.
    pub call: &'static str,
    pub work: Work,
}

pub(super) struct Work {
    /// The memory that it uses.
    pub spans: Spans,
    pub action: Action,
}

/// What a command does. Addresses are in this process; the ranges were checked, and do not overlap.
pub(super) enum Action {
    Copy {
        to: usize,
        from: usize,
        bytes: usize,
    },
    Rows(Pitched),
    /// `bytes` is a multiple of the pattern's.
    Fill {
        to: usize,
        pattern: Vec<u8>,
        bytes: usize,
    },
    Body {
        body: HostBody,
        code: Code,
    },
    Host(HostJob),
    Signal(HostJob),
    /// A rank's part of a collective, which waits for the others.
    Collective(Box<RawCollective>, Arc<dyn Exchange>),
}

/// What a host body does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// Anything: it may use rayon, or block.
    Any,
    /// It runs a kernel in Rust, which does neither.
    InRust,
    /// The same, and is over so soon that waking another thread would take longer.
    Small,
}

/// A copy of rows between addresses. Sizes are in bytes.
#[derive(Clone, Copy)]
pub(super) struct Pitched {
    pub to: usize,
    pub from: usize,
    pub to_pitch: usize,
    pub from_pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// The memory that a command uses.
pub(super) enum Spans {
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

/// The work of a command; `None` for one of no bytes, and for a command that only orders others. `bodies` are
/// the remaining host bodies of a graph's launches.
pub(super) fn planned(
    command: Command<'_>,
    bodies: &mut impl Iterator<Item = HostBody>,
) -> DriverResult<Option<Planned>> {
    let call = command.call();
    let (spans, action) = match command {
        _ if command.is_nothing() => return Ok(None),
        Command::CopyToDevice { to, from, bytes } => {
            copy(call, [(address(to), Place::Device), (from.addr(), Place::Pinned)], bytes)?
        }
        Command::CopyToHost { to, from, bytes } => {
            copy(call, [(to.addr(), Place::Pinned), (address(from), Place::Device)], bytes)?
        }
        Command::CopyOnDevice { to, from, bytes } => {
            copy(call, [(address(to), Place::Device), (address(from), Place::Device)], bytes)?
        }
        Command::CopyBetween { .. } => return Err(fault::invalid_value(call, "the processor has no peers")),
        Command::CopyRows(rows) => copy_rows(call, rows)?,
        Command::Fill { to, pattern, count } => {
            let bytes = pattern.len().checked_mul(count).ok_or_else(|| beyond(call))?;
            if !to.0.is_multiple_of(fill_word(pattern.len()) as u64) {
                return Err(fault::invalid_value(call, "memory that is not aligned to what a memset writes"));
            }
            let span = Span { start: address(to), bytes, place: Some(Place::Device) };
            (Spans::Listed(vec![span]), Action::Fill { to: address(to), pattern: pattern.to_vec(), bytes })
        }
        Command::Launch(launch) => {
            let body = launch.body().or_else(|| bodies.next());
            let body = body.ok_or_else(|| fault::invalid_value(call, "the launch has no host body"))?;
            (accessed(launch.accesses, None), Action::Body { body, code: code(launch) })
        }
        Command::Host { job, accesses } => (accessed(accesses, Some(Place::Pinned)), Action::Host(job)),
        Command::Signal(signal) => (Spans::default(), Action::Signal(signal)),
        // Collectives need a communicator, and are planned apart.
        Command::Record(_) | Command::Wait(_) | Command::Graph { .. } | Command::Collective(_) => {
            return Ok(None);
        }
    };
    Ok(Some(Planned { call, work: Work { spans, action } }))
}

/// A rank's part of a collective.
pub(super) fn collective(collective: &RawCollective, exchange: Arc<dyn Exchange>) -> Planned {
    let spans = accessed(&collective.accesses, Some(Place::Device));
    let action = Action::Collective(Box::new(collective.clone()), exchange);
    Planned { call: collective.call(), work: Work { spans, action } }
}

fn beyond(call: &'static str) -> Box<DriverError> {
    fault::invalid_value(call, "more bytes than can be addressed")
}

fn copy(call: &'static str, [to, from]: [End; 2], bytes: usize) -> DriverResult<(Spans, Action)> {
    if from.0.abs_diff(to.0) < bytes {
        return Err(fault::invalid_value(call, "the two ranges overlap"));
    }
    Ok((copied([to, from], [bytes; 2]), Action::Copy { to: to.0, from: from.0, bytes }))
}

fn copied([to, from]: [End; 2], [to_bytes, from_bytes]: [usize; 2]) -> Spans {
    let span = |(start, place): End, bytes| Span { start, bytes, place: Some(place) };
    Spans::Copied([span(to, to_bytes), span(from, from_bytes)])
}

fn copy_rows(call: &'static str, rows: Rows) -> DriverResult<(Spans, Action)> {
    let [to, from] = match rows.between {
        RowsBetween::HostAndDevice { to, from } => {
            [(address(to), Place::Device), (from.addr(), Place::Pinned)]
        }
        RowsBetween::DeviceAndHost { to, from } => {
            [(to.addr(), Place::Pinned), (address(from), Place::Device)]
        }
        RowsBetween::OnDevice { to, from } => [(address(to), Place::Device), (address(from), Place::Device)],
    };
    // From the first row to the end of the last one.
    let extent = |pitch: usize| (rows.height - 1).checked_mul(pitch)?.checked_add(rows.width);
    let extents = extent(rows.to_pitch).zip(extent(rows.from_pitch)).ok_or_else(|| beyond(call))?;
    let Rows { width, height, from_pitch, to_pitch, .. } = rows;
    let pitched = Pitched { to: to.0, from: from.0, to_pitch, from_pitch, width, height };
    Ok((copied([to, from], extents.into()), Action::Rows(pitched)))
}

/// The accesses of a launch or of a function on the host, all of them in `place` if that is known.
fn accessed(accesses: &[Access], place: Option<Place>) -> Spans {
    let accesses = accesses.iter().filter(|access| access.bytes > 0);
    Spans::Listed(
        accesses.map(|access| Span { start: address(access.ptr), bytes: access.bytes, place }).collect(),
    )
}

/// Set in the handle of a kernel in Rust, beside its address, whose lowest bits are 0.
pub(super) const IN_RUST: u64 = 1;

/// The most threads of a small launch, and the most bytes that it accesses: what one thread of the host does
/// in some ten microseconds, which is what it takes to wake others.
const FEW_THREADS: u64 = 4096;
const FEW_BYTES: usize = 256 << 10;

/// What the host body of a launch does.
fn code(launch: &RawLaunch<'_>) -> Code {
    if launch.function.handle & IN_RUST == 0 {
        return Code::Any;
    }
    let threads = volume(launch.grid).saturating_mul(volume(launch.block));
    let bytes = launch.accesses.iter().map(|access| access.bytes).sum::<usize>();
    if threads <= FEW_THREADS && bytes <= FEW_BYTES { Code::Small } else { Code::InRust }
}
