//! [`Failure`]: the failure of a function of a run.

use crate::base::error::Detail;
use crate::base::plan::{OperationKind, Plan};

/// The failure of the first function that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Index into the plan's operations.
    pub(crate) operation: usize,
    pub(crate) chunk: usize,
    /// The first chunk in which a `host` function's work is missing: it failed there, or was not called any
    /// more.
    pub(crate) lacking: usize,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn kind(self, plan: &Plan) -> Detail {
        let Self { operation, message, .. } = self;
        match plan.operations[operation].kind {
            OperationKind::Host { function } => Detail::HostFunction { function, message },
            _ => Detail::Callback { message },
        }
    }
}
