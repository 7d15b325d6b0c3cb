//! Parts of things that have a length.

use std::ops::{Bound, RangeBounds};

use crate::base::error::Detail;

/// The start and the length of a range within `len` elements.
///
/// # Errors
/// [`ErrorKind::Shape`] if the range is not within them.
pub(crate) fn part(len: usize, range: impl RangeBounds<usize>) -> Result<(usize, usize), Detail> {
    let (start, end) = bounds(len, range);
    match end.checked_sub(start) {
        Some(elements) if end <= len => Ok((start, elements)),
        _ => Err(Detail::Range { start, end, len }),
    }
}

/// The start and the end of a range of something that has `len` elements, wherever they lie.
pub(crate) fn bounds(len: usize, range: impl RangeBounds<usize>) -> (usize, usize) {
    // A bound that no number can express is beyond `len`, too.
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
    (start, end)
}
