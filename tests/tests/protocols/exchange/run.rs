//! The run's side of an exchange.

use std::sync::Arc;

use super::slot_exchange::{Job, SlotExchange};
use super::slots::Slot;
use super::wakeup::Wakeup;
use crate::base::chunk::Chunk;
use crate::base::error::Error;

/// The elements of a chunk; there are as many items and bytes.
const ELEMENTS: usize = 2;

/// A run, and what it shares with one other thread.
pub(super) struct Run {
    wakeup: Arc<Wakeup>,
    pub(super) exchange: Arc<SlotExchange>,
}

impl Run {
    pub(super) fn new() -> Self {
        let run = Self::before();
        run.begin();
        run
    }

    /// A run that has not begun.
    pub(super) fn before() -> Self {
        Self { wakeup: Arc::default(), exchange: SlotExchange::new(Arc::default()) }
    }

    pub(super) fn begin(&self) {
        self.exchange.attach(&self.wakeup, ("x", 1), true);
    }

    /// Whether the exchange takes the slot.
    pub(super) fn give(&self, index: usize, slot: &Slot, in_order: bool) -> bool {
        let chunk = Chunk { index, len: ELEMENTS };
        let job = Job { chunk, elements: ELEMENTS, bytes: ELEMENTS, slot: slot.address(), more: Vec::new() };
        // SAFETY: the model finds out whether anybody else accesses it.
        unsafe { self.exchange.give(job, in_order) }
    }

    pub(super) fn items(&self, index: usize) -> usize {
        self.exchange.items(Chunk { index, len: ELEMENTS }, 0)
    }

    /// Waits until the exchange is in this state.
    pub(super) fn wait_until(&self, is_so: impl Fn(&SlotExchange) -> bool) {
        loop {
            let version = self.wakeup.version();
            if is_so(&self.exchange) {
                return;
            }
            self.wakeup.wait(version);
        }
    }

    /// Ends the run like one that succeeded, or that has unwound.
    pub(super) fn end(&self, went_well: bool) {
        self.exchange.close();
        self.exchange.take_back();
        let outcome: Result<(), Option<Error>> = if went_well { Ok(()) } else { Err(None) };
        self.exchange.end_run(outcome);
    }
}
