//! [`Failure`]: what a function of a run had to say when it failed.

use crate::base::error::ErrorKind;
use crate::base::plan::{OperationKind, Plan};

/// What the first function that failed had to say.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Index into the plan's operations.
    pub(crate) operation: usize,
    pub(crate) chunk: usize,
    /// The first chunk that lacks what a `host` function was to do: it failed there, or was not called any more.
    pub(crate) lacking: usize,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn kind(self, plan: &Plan) -> ErrorKind {
        let Self { operation, message, .. } = self;
        match plan.operations[operation].kind {
            OperationKind::Host { function } => ErrorKind::HostFunction { function, message },
            _ => ErrorKind::Callback { message },
        }
    }
}
