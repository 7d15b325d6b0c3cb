//! The memory that was freed lately.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of frees that are remembered.
const REMEMBERED: usize = 64;

/// The latest frees.
#[derive(Debug, Default)]
pub(super) struct Freed {
    latest: Mutex<VecDeque<Range<u64>>>,
    /// The number of all frees. It is written under the lock, and each launch of a graph reads it.
    count: AtomicU64,
}

impl Freed {
    fn latest(&self) -> MutexGuard<'_, VecDeque<Range<u64>>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that memory is about to be freed.
    pub(super) fn note(&self, range: Range<u64>) {
        let mut latest = self.latest();
        latest.truncate(REMEMBERED - 1);
        latest.push_front(range);
        self.count.fetch_add(1, Ordering::Release);
    }

    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// The memory that was freed after the first `count` frees; `None` if that is no longer known.
    pub(super) fn since(&self, count: u64) -> Option<Vec<Range<u64>>> {
        let latest = self.latest();
        let new = usize::try_from(self.count().saturating_sub(count)).ok()?;
        (new <= latest.len()).then(|| latest.iter().take(new).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered() {
        let freed = Freed::default();
        assert_eq!(freed.since(0), Some(vec![]));
        (0..REMEMBERED as u64).for_each(|i| freed.note(i..i + 1));
        assert_eq!(freed.since(REMEMBERED as u64 - 2), Some(vec![63..64, 62..63]));
        assert_eq!(freed.since(0).map(|all| all.len()), Some(REMEMBERED));
        freed.note(0..9);
        assert_eq!((freed.count(), freed.since(0)), (REMEMBERED as u64 + 1, None));
        assert_eq!(freed.since(64).as_deref(), Some(std::slice::from_ref(&(0..9))));
    }
}
