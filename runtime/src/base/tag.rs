//! [`Tag`]: the name of an enqueued operation.

/// Which operation of which chunk an enqueued command belongs to.
///
/// CUDA has no place for it; the simulated device names races and faults with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag {
    /// Whose operations: [`Plan::id`](crate::Plan), or 0 where that is not known.
    pub pipeline: u32,
    /// Index into the pipeline's operations.
    pub operation: u32,
    /// Index of the chunk.
    pub chunk: u64,
}

impl Tag {
    /// In place of a pipeline's number: what is enqueued on streams by hand.
    pub(crate) const BY_HAND: u32 = u32::MAX;

    pub(crate) fn is_by_hand(self) -> bool {
        self.pipeline == Self::BY_HAND
    }
}
