//! [`Tag`]: the name of an enqueued operation.

/// The operation and the chunk that an enqueued command belongs to.
///
/// CUDA has no place for it. The simulated device uses it to name races and faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The pipeline: [`Plan::id`](crate::Plan), or 0 if it is not known.
    pub pipeline: u32,
    /// Index into the pipeline's operations.
    pub operation: u32,
    /// Index of the chunk.
    pub chunk: u64,
}

impl Tag {
    /// Stands in place of a pipeline's number for commands that are enqueued on streams by hand.
    pub(crate) const BY_HAND: u32 = u32::MAX;

    pub(crate) fn is_by_hand(self) -> bool {
        self.pipeline == Self::BY_HAND
    }
}
