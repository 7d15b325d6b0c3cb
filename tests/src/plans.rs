//! Parts of plans that are written by hand, as the macro writes them.

use thalweg::__private::{Priority, StreamPlan};
use thalweg::{OperationKind, OperationPlan};

/// An operation of the first stage, on the first stream.
pub const fn operation(text: &'static str, kind: OperationKind) -> OperationPlan {
    OperationPlan {
        stage: 0,
        stream: 0,
        text,
        kind,
        conditional: false,
        repeat: None,
        accesses: &[],
        line: 1,
        column: 1,
    }
}

/// One stream for all slots.
pub const fn stream(name: &'static str) -> StreamPlan {
    StreamPlan { name, priority: Priority::Default, per_slot: false, null: false, placed: false }
}
