//! Counts how often something has happened, for threads that wait for it.

use std::sync::Arc;

use loom::sync::{Condvar, Mutex};

#[derive(Default)]
pub(super) struct Gate {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Gate {
    pub(super) fn count(&self) {
        *self.count.lock().expect("no panic") += 1;
        self.changed.notify_all();
    }

    pub(super) fn wait_for(&self, wanted: usize) {
        let mut count = self.count.lock().expect("no panic");
        while *count < wanted {
            count = self.changed.wait(count).expect("no panic");
        }
    }
}

/// Counts when it is dropped.
pub(super) struct Counted(Arc<Gate>);

impl Counted {
    pub(super) fn by(gate: &Arc<Gate>) -> Self {
        Self(Arc::clone(gate))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.count();
    }
}
