//! [`Purpose`]: the purpose of a call of the generated loop.

/// The purpose of a call of the loop that enqueues the chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The operations run.
    Run,
    /// The operations run, and each one's beginning and end are measured.
    Profile,
    /// Each operation's beginning and end are predicted, and nothing runs.
    Predict,
}
