//! The result of a device or a job.

use loom::cell::UnsafeCell;

/// A value that a stream computes, and the host reads.
pub(super) struct Computed(UnsafeCell<u32>);

// SAFETY: loom finds out whether two threads access it at once.
unsafe impl Send for Computed {}
// SAFETY: as above.
unsafe impl Sync for Computed {}

impl Default for Computed {
    fn default() -> Self {
        Self(UnsafeCell::new(0))
    }
}

impl Computed {
    pub(super) fn set(&self, value: u32) {
        // SAFETY: nobody accesses it at the same time, or loom reports that first.
        self.0.with_mut(|result| unsafe { *result = value });
    }

    pub(super) fn get(&self) -> u32 {
        // SAFETY: nobody writes it at the same time, or loom reports that first.
        self.0.with(|result| unsafe { *result })
    }
}
