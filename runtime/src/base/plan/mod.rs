//! [`Plan`]: what the macro decided, as a constant of the generated type.

mod conflicts;
mod depth;
mod explain;
mod graphviz;
mod mermaid;
mod order;
#[cfg(test)]
mod tests;
mod text;

pub use conflicts::{Conflict, Link, Ordered, Step};
pub(crate) use depth::auto_depth;

/// The streams, operations and events of a pipeline: `Saxpy::PLAN`.
///
/// `Display` prints it, one line an operation, above it the waits that come before it and why;
/// [`mermaid`](Self::mermaid) and [`graphviz`](Self::graphviz) draw it, and [`explain`](Self::explain) says what each wait is
/// for, and why the other conflicts need none.
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
pub struct Plan {
    /// Name of the pipeline's type.
    pub pipeline: &'static str,
    /// The source file it is declared in.
    pub file: &'static str,
    /// The line of its name, from 1.
    pub line: u32,
    /// The column of its name, from 1.
    pub column: u32,
    /// In the order of declaration.
    pub streams: &'static [StreamPlan],
    /// Names of the stages, in the order of declaration.
    pub stages: &'static [&'static str],
    /// `input`, `output` and `inout`, in the order of declaration.
    pub hosts: &'static [HostPlan],
    /// Device buffers.
    pub buffers: &'static [BufferPlan],
    /// What is done for each chunk, in the order in which it is enqueued.
    pub operations: &'static [OperationPlan],
    /// The events, each recorded once a chunk and kept for each ring slot.
    pub events: &'static [EventPlan],
    /// The waits. With `sync = auto` no fewer would do, and none is implied by others.
    pub waits: &'static [WaitPlan],
}

impl Plan {
    /// Tells pipelines apart: the number follows from the name and where it is declared (FNV-1a), and is never 0.
    pub(crate) fn id(&self) -> u32 {
        let words = [self.line, self.column].map(u32::to_le_bytes);
        let bytes = self.pipeline.bytes().chain(self.file.bytes()).chain(words.into_iter().flatten());
        bytes.fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)).max(1)
    }
}

/// One stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPlan {
    /// Its name.
    pub name: &'static str,
    /// Its priority.
    pub priority: Priority,
    /// Whether there is one for each ring slot.
    pub per_slot: bool,
    /// Whether it is the legacy default stream.
    pub null: bool,
    /// Whether a run chooses if there is one for each ring slot, or one alone: for a stage of kernels that names no stream.
    /// The events order either.
    pub placed: bool,
}

impl StreamPlan {
    /// Whether each ring slot has its own. `spread`: where a run chooses, it has.
    #[inline]
    pub(crate) fn is_per_slot(&self, spread: bool) -> bool {
        self.per_slot && (spread || !self.placed)
    }
}

/// A stream's priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// 0.
    Default,
    /// The device's greatest: work on it goes first.
    High,
    /// The device's least.
    Low,
    /// A number, lower is more urgent; the device clamps it to its range.
    Level(i32),
}

impl Priority {
    /// As a number, on a device whose range is `(least, greatest)`; the least is the highest number.
    pub(crate) fn level(self, (least, greatest): (i32, i32)) -> i32 {
        match self {
            Self::Default => 0,
            Self::High => greatest,
            Self::Low => least,
            // Not `clamp`, which panics if a driver had them swapped.
            Self::Level(level) => level.max(greatest).min(least),
        }
    }
}

/// One `input`, `output` or `inout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPlan {
    /// Its name.
    pub name: &'static str,
    /// Whether the pipeline reads it.
    pub reads: bool,
    /// Whether the pipeline writes it.
    pub writes: bool,
    /// The line of its declaration, from 1.
    pub line: u32,
    /// The column of its name, from 1.
    pub column: u32,
}

/// One device buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferPlan {
    /// Its name.
    pub name: &'static str,
    /// Whose its memory is.
    pub kind: BufferKind,
    /// The line of its declaration, or of the copy that declares it, from 1.
    pub line: u32,
    /// The column of its name, from 1.
    pub column: u32,
}

/// Whose a buffer's memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BufferKind {
    /// Each ring slot has one.
    Ring,
    /// One for the run, read only: `resident`.
    Resident,
    /// One for the run, handed from chunk to chunk: `carry`.
    Carry,
    /// Each ring slot has one, in page-locked host memory: `host`.
    HostScratch,
    /// An argument of the run, of which each chunk uses its part where it is.
    InPlace {
        /// In page-locked host memory, not on the device: `mapped`.
        mapped: bool,
        /// Whether the pipeline reads it.
        reads: bool,
        /// Whether the pipeline writes it.
        writes: bool,
    },
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationPlan {
    /// Index of its stage.
    pub stage: usize,
    /// Index of its stream.
    pub stream: usize,
    /// As it is written: `copy x -> dx`, or `saxpy<<<…>>>`.
    pub text: &'static str,
    /// What it does.
    pub kind: OperationKind,
    /// Whether it stands in an `if`, so that chunks may leave it out.
    pub conditional: bool,
    /// A number that the operations of one `repeat` share; none outside of any.
    pub repeat: Option<usize>,
    /// What it reads and writes.
    pub accesses: &'static [AccessPlan],
    /// Its line in the source file, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
}

/// One use of a buffer or of host data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessPlan {
    /// Of what.
    pub memory: Memory,
    /// Whether it is read.
    pub reads: bool,
    /// Whether it is written.
    pub writes: bool,
}

/// What an operation uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    /// Host data, an index into [`Plan::hosts`].
    Host(usize),
    /// An index into [`Plan::buffers`].
    Buffer(usize),
}

/// What an operation does.
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
        /// The destination.
        to: usize,
    },
    /// A copy from the device to `host` scratch.
    CopyToScratch {
        /// The source, an index into [`Plan::buffers`].
        from: usize,
        /// The destination.
        to: usize,
    },
    /// A copy from `host` scratch to the device.
    CopyFromScratch {
        /// The source, an index into [`Plan::buffers`].
        from: usize,
        /// The destination.
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
}

impl OperationKind {
    /// The path of its kernel, routine or function.
    pub(crate) fn path(self) -> Option<&'static str> {
        match self {
            Self::Launch { kernel: path } | Self::Call { routine: path } | Self::Host { function: path } => {
                Some(path)
            }
            _ => None,
        }
    }

    /// Whether the host has a part in it, so that no graph can hold it: a routine, a function, a callback.
    pub(crate) fn is_direct(self) -> bool {
        match self {
            Self::Call { .. } | Self::Host { .. } | Self::Then => true,
            Self::Upload { .. }
            | Self::Download { .. }
            | Self::CopyOnDevice { .. }
            | Self::CopyToScratch { .. }
            | Self::CopyFromScratch { .. }
            | Self::Fill { .. }
            | Self::Launch { .. } => false,
        }
    }

    /// Whether it is a kernel, this crate's user's or one of CUDA's own that fills. What a routine enqueues is not known.
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
            | Self::Then => false,
        }
    }

    /// Whether its time follows from nothing but a profile: a kernel's, a routine's, a function's.
    pub(crate) fn is_measured(self) -> bool {
        match self {
            Self::Launch { .. } | Self::Call { .. } | Self::Host { .. } => true,
            Self::Upload { .. }
            | Self::Download { .. }
            | Self::CopyOnDevice { .. }
            | Self::CopyToScratch { .. }
            | Self::CopyFromScratch { .. }
            | Self::Fill { .. }
            | Self::Then => false,
        }
    }
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPlan {
    /// Its name, after the operation that records it.
    pub name: &'static str,
    /// Index of the operation after which it is recorded.
    pub operation: usize,
}

/// One wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitPlan {
    /// Index of the operation that waits.
    pub operation: usize,
    /// Index of the event it waits for.
    pub event: usize,
    /// Of which chunk.
    pub distance: Distance,
    /// The hazards that it orders; none for a wait of the user's that no hazard demands.
    pub hazards: &'static [HazardPlan],
}

/// Which chunk's event a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// This chunk's.
    Same,
    /// That of the chunk before.
    Previous,
    /// That of the chunk that used this ring slot last.
    Reuse,
}

/// A hazard that a wait orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HazardPlan {
    /// What both operations access.
    pub buffer: &'static str,
    /// How.
    pub hazard: Hazard,
}

/// Two accesses to the same memory, one of which writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hazard {
    /// The later one reads what the earlier one writes.
    ReadAfterWrite,
    /// The later one overwrites what the earlier one reads.
    WriteAfterRead,
    /// Both write.
    WriteAfterWrite,
}
