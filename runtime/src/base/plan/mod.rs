//! [`Plan`]: the macro's decisions, as a constant of the generated type.

mod conflicts;
mod depth;
mod explain;
mod graphviz;
mod in_place;
mod mermaid;
mod new;
mod order;
#[cfg(test)]
mod tests;
mod text;

pub use conflicts::{Conflict, Link, Ordered, Step};
pub(crate) use depth::auto_depth;

use crate::base::collective::CollectiveKind;

/// The streams, operations, events and waits of a pipeline: `Saxpy::PLAN`.
///
/// `Display` prints one line an operation, and above it the waits that come before it, with their reasons.
/// [`mermaid`](Self::mermaid) and [`graphviz`](Self::graphviz) draw the plan. [`explain`](Self::explain) says
/// what each wait is for, and why the other conflicts need none.
///
/// ```
/// use thalweg::prelude::*;
///
/// stream_pipeline! {
///     pipeline Shift {
///         input x: [f32];
///         output y: [f32];
///         chunk c = 1024;
///         depth = 2;
///         stream up;
///         stream down;
///         stage load on up { copy x -> d; }
///         stage store on down { copy d -> y; }
///     }
/// }
///
/// let text = Shift::PLAN.to_string();
/// assert_eq!(
///     text,
///     "\
/// pipeline Shift: 2 stages, 2 streams, 2 events, 2 waits
///   stage load on up
///     wait store_done @ reuse   d: write after read
///     copy x -> d
///     record load_done
///   stage store on down
///     wait load_done            d: read after write
///     copy d -> y
///     record store_done
/// "
/// );
/// assert_eq!(Shift::PLAN.operations[1].text, "copy d -> y");
/// let wait = Shift::PLAN.waits.iter().find(|wait| wait.operation == 1).expect("it waits for the first");
/// assert_eq!(Shift::PLAN.events[wait.event].name, "load_done");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// Name of the pipeline's type.
    pub pipeline: &'static str,
    /// The source file that declares it.
    pub file: &'static str,
    /// The line of its name, from 1.
    pub line: u32,
    /// The column of its name, from 1.
    pub column: u32,
    /// The streams, in the order of declaration.
    pub streams: &'static [StreamPlan],
    /// Names of the stages, in the order of declaration.
    pub stages: &'static [&'static str],
    /// The arguments `input`, `output` and `inout`, in the order of declaration.
    pub hosts: &'static [HostPlan],
    /// The device buffers.
    pub buffers: &'static [BufferPlan],
    /// The operations of each chunk, in the order in which they are enqueued.
    pub operations: &'static [OperationPlan],
    /// The events. Each is recorded once a chunk and exists once for each ring slot.
    pub events: &'static [EventPlan],
    /// The waits. With `sync = auto` none of them can be left out, and none is implied by others.
    pub waits: &'static [WaitPlan],
}

impl Plan {
    /// A number that tells pipelines apart. It follows from the name and the place of the declaration
    /// (FNV-1a), and is never 0.
    pub(crate) fn id(&self) -> u32 {
        let words = [self.line, self.column].map(u32::to_le_bytes);
        let bytes = self.pipeline.bytes().chain(self.file.bytes()).chain(words.into_iter().flatten());
        bytes.fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)).max(1)
    }
}

/// One stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamPlan {
    /// Its name.
    pub name: &'static str,
    /// Its priority.
    pub priority: Priority,
    /// Whether there is one for each ring slot.
    pub per_slot: bool,
    /// Whether it is the legacy default stream.
    pub null: bool,
    /// Whether each run chooses between one stream for each ring slot and one alone. This is so for a stage
    /// of kernels that names no stream. The events order the operations either way.
    pub placed: bool,
}

impl StreamPlan {
    /// Whether each ring slot has its own. `spread` is the run's choice for a stream that is `placed`.
    #[inline]
    pub(crate) fn is_per_slot(&self, spread: bool) -> bool {
        self.per_slot && (spread || !self.placed)
    }
}

/// A stream's priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Priority {
    /// Priority 0.
    Default,
    /// The greatest priority of the device: work on the stream goes first.
    High,
    /// The least priority of the device.
    Low,
    /// A number. Lower is more urgent, and the device clamps it to its range.
    Level(i32),
}

impl Priority {
    /// The priority as a number, on a device whose range is `(least, greatest)`. The least priority is the
    /// highest number.
    pub(crate) fn level(self, (least, greatest): (i32, i32)) -> i32 {
        match self {
            Self::Default => 0,
            Self::High => greatest,
            Self::Low => least,
            // `clamp` would panic if a driver had the two swapped.
            Self::Level(level) => level.max(greatest).min(least),
        }
    }
}

/// One `input`, `output` or `inout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostPlan {
    /// Its name.
    pub name: &'static str,
    /// Whether the pipeline reads it.
    pub reads: bool,
    /// Whether the pipeline writes it.
    pub writes: bool,
    /// Whether a chunk sees items beside its own: `halo`.
    pub halo: bool,
    /// The line of its declaration, from 1.
    pub line: u32,
    /// The column of its name, from 1.
    pub column: u32,
}

/// One buffer of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferPlan {
    /// Its name.
    pub name: &'static str,
    /// How many there are of it, and where its memory is.
    pub kind: BufferKind,
    /// The line of its declaration, or of the copy that declares it, from 1.
    pub line: u32,
    /// The column of its name, from 1.
    pub column: u32,
}

/// How many there are of a buffer, and where its memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BufferKind {
    /// Each ring slot has one.
    Ring,
    /// The run has one, which is read only: `resident`.
    Resident,
    /// The run has one, which is handed from chunk to chunk: `carry`.
    Carry,
    /// Each ring slot has one, which is handed to the chunk that has the slot next: a `carry` that is combined,
    /// used on a stream `per slot`.
    CarryPerSlot,
    /// Each ring slot has one, in page-locked host memory: `host`.
    HostScratch,
    /// It is an argument of the run. Each chunk uses its part in place.
    InPlace {
        /// Whether it is in page-locked host memory, and not on the device: `mapped`.
        mapped: bool,
        /// Whether the pipeline reads it.
        reads: bool,
        /// Whether the pipeline writes it.
        writes: bool,
    },
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationPlan {
    /// Index of its stage.
    pub stage: usize,
    /// Index of its stream.
    pub stream: usize,
    /// The operation as it is written: `copy x -> dx`, or `saxpy<<<…>>>`.
    pub text: &'static str,
    /// The kind of operation.
    pub kind: OperationKind,
    /// Whether it stands in an `if`, so that chunks may leave it out.
    pub conditional: bool,
    /// A number that the operations of one `repeat` share; `None` outside of any `repeat`.
    pub repeat: Option<usize>,
    /// Its accesses to memory.
    pub accesses: &'static [AccessPlan],
    /// Its line in the source file, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
}

/// One use of a buffer or of host data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessPlan {
    /// The memory.
    pub memory: Memory,
    /// Whether it is read.
    pub reads: bool,
    /// Whether it is written.
    pub writes: bool,
}

/// The memory that an operation accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Memory {
    /// Host data, as an index into [`Plan::hosts`].
    Host(usize),
    /// A buffer, as an index into [`Plan::buffers`].
    Buffer(usize),
}

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationKind {
    /// A copy from host to device.
    Upload {
        /// Index into [`Plan::hosts`].
        host: usize,
        /// Index into [`Plan::buffers`].
        buffer: usize,
    },
    /// A copy from device to host.
    Download {
        /// Index into [`Plan::hosts`].
        host: usize,
        /// Index into [`Plan::buffers`].
        buffer: usize,
    },
    /// A copy on the device.
    CopyOnDevice {
        /// The source, an index into [`Plan::buffers`].
        from: usize,
        /// The destination, an index into [`Plan::buffers`].
        to: usize,
    },
    /// A copy from the device to `host` scratch.
    CopyToScratch {
        /// The source, an index into [`Plan::buffers`].
        from: usize,
        /// The destination, an index into [`Plan::buffers`].
        to: usize,
    },
    /// A copy from `host` scratch to the device.
    CopyFromScratch {
        /// The source, an index into [`Plan::buffers`].
        from: usize,
        /// The destination, an index into [`Plan::buffers`].
        to: usize,
    },
    /// A fill of a buffer with one value.
    Fill {
        /// Index into [`Plan::buffers`].
        buffer: usize,
    },
    /// A kernel launch.
    Launch {
        /// The kernel's path as it is written.
        kernel: &'static str,
    },
    /// A routine that enqueues on the stream: `call`.
    Call {
        /// The routine's path as it is written.
        routine: &'static str,
    },
    /// A function on the CPU, for which the stream waits: `host`.
    Host {
        /// The function's path as it is written.
        function: &'static str,
    },
    /// A callback, for which the stream does not wait: `then`.
    Then,
    /// What ranks do together: `all_reduce`, `broadcast` and so on.
    Collective {
        /// Which of them.
        collective: CollectiveKind,
    },
}

impl OperationKind {
    /// The path of the operation's kernel, routine or function.
    pub(crate) fn path(self) -> Option<&'static str> {
        match self {
            Self::Launch { kernel: path } | Self::Call { routine: path } | Self::Host { function: path } => {
                Some(path)
            }
            _ => None,
        }
    }

    /// Whether no graph can hold the operation: a routine, a function and a callback have a part on the host, and
    /// other ranks have a part in a collective.
    pub(crate) fn is_direct(self) -> bool {
        match self {
            Self::Call { .. } | Self::Host { .. } | Self::Then | Self::Collective { .. } => true,
            Self::Upload { .. }
            | Self::Download { .. }
            | Self::CopyOnDevice { .. }
            | Self::CopyToScratch { .. }
            | Self::CopyFromScratch { .. }
            | Self::Fill { .. }
            | Self::Launch { .. } => false,
        }
    }

    /// Whether it is a kernel: the user's own, or CUDA's for a fill. What a routine enqueues is not known.
    pub(crate) fn is_kernel(self) -> bool {
        match self {
            Self::Fill { .. } | Self::Launch { .. } => true,
            Self::Upload { .. }
            | Self::Download { .. }
            | Self::CopyOnDevice { .. }
            | Self::CopyToScratch { .. }
            | Self::CopyFromScratch { .. }
            | Self::Call { .. }
            | Self::Host { .. }
            | Self::Collective { .. }
            | Self::Then => false,
        }
    }

    /// Whether only a profile gives its time. This is so for kernels, routines and functions.
    pub(crate) fn is_measured(self) -> bool {
        match self {
            Self::Launch { .. } | Self::Call { .. } | Self::Host { .. } => true,
            Self::Upload { .. }
            | Self::Download { .. }
            | Self::CopyOnDevice { .. }
            | Self::CopyToScratch { .. }
            | Self::CopyFromScratch { .. }
            | Self::Fill { .. }
            | Self::Collective { .. }
            | Self::Then => false,
        }
    }
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventPlan {
    /// Its name, after the operation that records it.
    pub name: &'static str,
    /// Index of the operation after which it is recorded.
    pub operation: usize,
}

/// One wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitPlan {
    /// Index of the operation that waits.
    pub operation: usize,
    /// Index of the event that it waits for.
    pub event: usize,
    /// The chunk whose event it waits for.
    pub distance: Distance,
    /// The hazards that it orders. It is empty for a wait of the user's that no hazard demands.
    pub hazards: &'static [HazardPlan],
}

/// The chunk whose event a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Distance {
    /// The same chunk.
    Same,
    /// The chunk before.
    Previous,
    /// The chunk that used this ring slot last.
    Reuse,
}

/// A hazard that a wait orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HazardPlan {
    /// The memory that both operations access.
    pub buffer: &'static str,
    /// The kind of hazard.
    pub hazard: Hazard,
}

/// Two accesses to the same memory, at least one of which writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hazard {
    /// The later operation reads what the earlier one writes.
    ReadAfterWrite,
    /// The later operation overwrites what the earlier one reads.
    WriteAfterRead,
    /// Both operations write.
    WriteAfterWrite,
}
