//! What was freed lately.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Frees that are remembered.
const REMEMBERED: usize = 64;

/// The latest frees.
#[derive(Debug, Default)]
pub(super) struct Freed(Mutex<Latest>);

#[derive(Debug, Default)]
struct Latest {
    /// Of all time.
    count: u64,
    ranges: VecDeque<Range<u64>>,
}

impl Freed {
    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that memory is about to be freed.
    pub(super) fn note(&self, range: Range<u64>) {
        let mut latest = self.latest();
        latest.count += 1;
        latest.ranges.truncate(REMEMBERED - 1);
        latest.ranges.push_front(range);
    }

    pub(super) fn count(&self) -> u64 {
        self.latest().count
    }

    /// What was freed since there were so many frees; `None` if that is no longer known.
    pub(super) fn since(&self, count: u64) -> Option<Vec<Range<u64>>> {
        let latest = self.latest();
        let new = usize::try_from(latest.count.saturating_sub(count)).ok()?;
        (new <= latest.ranges.len()).then(|| latest.ranges.iter().take(new).cloned().collect())
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
