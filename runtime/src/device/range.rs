//! Parts of what has a length.

use std::ops::{Bound, RangeBounds};

use crate::base::error::ErrorKind;

/// Where a range of `len` elements begins, and how many it has.
///
/// # Errors
/// [`ErrorKind::Range`]: they are not all there.
pub(crate) fn part(len: usize, range: impl RangeBounds<usize>) -> Result<(usize, usize), ErrorKind> {
    // A bound beyond what a number can say is beyond `len`, too.
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    match end.checked_sub(start) {
        Some(elements) if end <= len => Ok((start, elements)),
        _ => Err(ErrorKind::Range { start, end, len }),
    }
}
