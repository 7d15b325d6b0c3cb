//! [`Order`]: whether the operations of a run follow the plan.

use std::cell::{Cell, RefCell};

use crate::base::error::Error;

/// The operations of a run that were begun, and why no more are, once that is so.
pub(crate) struct Order {
    /// The number of operations of a chunk.
    operations: usize,
    /// The number of operations begun, over all chunks.
    begun: Cell<usize>,
    /// Whether they came in the plan's order, with none left out.
    in_order: Cell<bool>,
    /// Why nothing more is enqueued, if that is to be reported by the next operations.
    refused: RefCell<Option<Error>>,
    /// Whether a function or another device has failed, so that nothing more is begun.
    stopped: Cell<bool>,
    /// Whether a kernel's requirement was checked whose result may differ the next time.
    asked: Cell<bool>,
}

impl Order {
    /// The order of a plan with so many operations.
    pub(crate) fn new(operations: usize) -> Self {
        Self {
            operations,
            begun: Cell::new(0),
            in_order: Cell::new(true),
            refused: RefCell::new(None),
            stopped: Cell::new(false),
            asked: Cell::new(false),
        }
    }

    /// Begins an operation of a chunk. Any operation other than the next one is refused.
    #[inline]
    pub(crate) fn begin(&self, operation: usize, chunk: usize) {
        let begun = self.begun.get();
        if begun != chunk * self.operations + operation {
            self.refuse();
        }
        self.begun.set(begun + 1);
    }

    /// The operation that was begun last.
    pub(crate) fn last(&self) -> usize {
        self.begun.get().saturating_sub(1) % self.operations.max(1)
    }

    /// Whether everything so far was enqueued in the plan's order.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        self.in_order.get()
    }

    /// Whether every operation of `chunks` chunks was enqueued, in order. A stopped run has ended after a
    /// whole chunk, and has its own error.
    pub(crate) fn is_whole(&self, chunks: usize) -> bool {
        self.in_order.get() && (self.begun.get() == chunks * self.operations || self.stopped.get())
    }

    /// Lets nothing more be enqueued: the run has left its plan.
    pub(crate) fn refuse(&self) {
        self.in_order.set(false);
    }

    /// Lets nothing more be enqueued, and lets the next operation report the reason, because the caller may
    /// drop the error.
    pub(crate) fn refuse_with(&self, error: Error) {
        self.refuse();
        self.refused.borrow_mut().get_or_insert(error);
    }

    /// Why nothing more may be enqueued, where that is known: each operation says so, since the first may be
    /// one whose error somebody keeps to himself.
    pub(crate) fn refusal(&self) -> Option<Error> {
        self.refused.borrow().clone()
    }

    /// The reason, at the end of the run.
    pub(crate) fn into_refusal(self) -> Option<Error> {
        self.refused.into_inner()
    }

    /// Notes that a function or another device has failed: nothing more is begun.
    pub(crate) fn stop(&self) {
        self.stopped.set(true);
    }

    /// Whether it has stopped, so that chunks may be missing.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stopped.get()
    }

    /// Notes that a kernel's requirement was checked whose result may differ the next time.
    #[inline]
    pub(crate) fn ask(&self) {
        self.asked.set(true);
    }

    /// Whether such a requirement was checked.
    pub(crate) fn has_asked(&self) -> bool {
        self.asked.get()
    }
}
