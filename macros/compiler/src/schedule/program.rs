//! The program to schedule: operations on streams, and the storage that they touch.

/// One operation of a chunk; its number is its place in program order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u32);

/// One declared stream, an index into [`Program::streams`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// One declared storage, an index into [`Program::storages`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorageId(pub u32);

impl OpId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    pub(super) fn from_index(index: usize) -> Self {
        // A program is typed in by hand; it cannot hold four billion operations.
        Self(index as u32)
    }
}

/// How a declared stream maps to CUDA streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamKind {
    /// One CUDA stream for all chunks.
    Fixed,
    /// One CUDA stream for each ring slot: chunk `c` runs on stream `c mod D`.
    PerSlot,
}

/// Which chunks share one instance of a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StorageKind {
    /// One instance for each ring slot: chunk `c` uses slot `c mod D`.
    Ring,
    /// One instance for the whole run.
    Shared,
    /// Regions of host data; those of different chunks never overlap.
    Host,
}

/// One use of a storage by an operation.
///
/// Several accesses of one operation to the same storage count as one that does what any of them does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// The storage.
    pub storage: StorageId,
    /// Whether the operation reads it.
    pub reads: bool,
    /// Whether the operation writes it.
    pub writes: bool,
}

/// One operation of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// The stream it is enqueued on.
    pub stream: StreamId,
    /// The storage it touches, in any order.
    pub accesses: Vec<Access>,
}

/// The operations that every chunk runs, in program order; chunks are enqueued one after another.
///
/// Every [`StreamId`] and [`StorageId`] in `ops` must be an index into `streams` and `storages`:
/// name resolution makes them so, and the functions of this module panic on any other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The declared streams, indexed by [`StreamId`].
    pub streams: Vec<StreamKind>,
    /// The declared storages, indexed by [`StorageId`].
    pub storages: Vec<StorageKind>,
    /// The operations, indexed by [`OpId`].
    pub ops: Vec<Op>,
}
