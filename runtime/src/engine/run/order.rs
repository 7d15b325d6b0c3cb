//! [`Order`]: whether the operations of a run come as the plan has them.

use std::cell::{Cell, RefCell};

use crate::base::error::Error;

/// What has been begun of a run, and why nothing more is, once that is so.
pub(crate) struct Order {
    /// How many operations a chunk has.
    operations: usize,
    /// How many, over all chunks, have been begun.
    begun: Cell<usize>,
    /// Whether they came in the plan's order, none left out.
    in_order: Cell<bool>,
    /// Why nothing more is enqueued, if that is to be reported by the next operation.
    refused: RefCell<Option<Error>>,
    /// Whether a function has failed, so that nothing more is begun.
    stopped: Cell<bool>,
    /// Whether something was asked that may be answered otherwise the next time.
    asked: Cell<bool>,
}

impl Order {
    /// Of a plan with so many operations.
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

    /// Begins an operation of a chunk. Another one than the next is refused.
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

    /// Whether everything so far was enqueued as the plan has it.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        self.in_order.get()
    }

    /// Whether every operation of so many chunks was enqueued, in order. What was stopped is at the end of a chunk, and has its
    /// error.
    pub(crate) fn is_whole(&self, chunks: usize) -> bool {
        self.in_order.get() && (self.begun.get() == chunks * self.operations || self.stopped.get())
    }

    /// Lets nothing more be enqueued: the run has left its plan.
    pub(crate) fn refuse(&self) {
        self.in_order.set(false);
    }

    /// Lets nothing more be enqueued, and has the next operation say why: whoever learns it now may keep it to itself.
    pub(crate) fn refuse_with(&self, error: Error) {
        self.refuse();
        self.refused.borrow_mut().get_or_insert(error);
    }

    /// Why nothing more may be enqueued, where no operation has reported it yet.
    pub(crate) fn take_refusal(&self) -> Option<Error> {
        self.refused.borrow_mut().take()
    }

    /// A function has failed: nothing more is begun.
    pub(crate) fn stop(&self) {
        self.stopped.set(true);
    }

    /// Something is asked that may be answered otherwise the next time.
    #[inline]
    pub(crate) fn ask(&self) {
        self.asked.set(true);
    }

    /// Whether that is so.
    pub(crate) fn has_asked(&self) -> bool {
        self.asked.get()
    }
}
