//! Parts of plans, written by hand as the macro writes them.

use thalweg::__private::{Priority, StreamPlan};
use thalweg::plan::{OperationKind, OperationPlan};

/// An operation of the first stage, on the first stream.
pub const fn operation(text: &'static str, kind: OperationKind) -> OperationPlan {
    OperationPlan::new(0, 0, text, kind, false, None, &[], 1, 1)
}

/// One stream for all slots.
pub const fn stream(name: &'static str) -> StreamPlan {
    StreamPlan::new(name, Priority::Default, false, false, false)
}
