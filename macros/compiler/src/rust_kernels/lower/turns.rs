//! What a loop does in each turn.

/// What was lowered so far that matters to whether a loop waits for another thread.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turns {
    /// Accesses to atomics that change nothing if they are made again.
    pub(super) accesses: usize,
    /// What may make the next turn of a loop differ from this one.
    pub(super) changes: usize,
}
