//! [`Purpose`]: what a call of the generated loop is for.

/// What a call of the loop that enqueues the chunks is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To have it done.
    Run,
    /// To have it done, and to know when each operation began and ended.
    Profile,
    /// To know when each would, without having it done.
    Predict,
}
