//! [`Known`]: the uses of an allocation's bytes that may still be pending, and the failures.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::failures::Failures;
use super::progress::{Clock, Progress};
use super::uses::Use;
use crate::base::error::Error;

/// Bytes that have the same uses.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) end: u64,
    pub(crate) uses: Vec<Use>,
}

impl Segment {
    /// Forgets the uses that are over. Returns the error of the last of them that was to write and failed.
    #[inline(never)]
    pub(crate) fn forget_over(&mut self) -> Option<Error> {
        let mut failed = None;
        self.uses.retain(|earlier| {
            let is_over = earlier.is_over();
            if is_over && earlier.write && !earlier.refused {
                failed = earlier.progress.failure(earlier.number).or(failed.take());
            }
            !is_over
        });
        failed
    }

    /// The use that nothing orders with the next one of a stream.
    fn conflict(&self, write: bool, (stream, clock): (&Arc<Progress>, &Clock)) -> Option<&Use> {
        self.uses.iter().find(|earlier| (earlier.write || write) && !earlier.is_before(stream, clock))
    }

    /// Adds a use. An operation may use the same bytes in several ways.
    fn add(&mut self, new: &Use) {
        match self.uses.iter_mut().find(|earlier| earlier.is(new)) {
            Some(same) => same.write |= new.write,
            None => self.uses.push(new.clone()),
        }
    }

    /// Forgets the uses that come before one that the stream has taken. Returns whether no other use is left.
    fn has_taken(&mut self, new: &Use, clock: &Clock) -> bool {
        // A later use that must come after an earlier one also comes after this one, if this one writes, or
        // if both are reads. So the earlier one need not be kept.
        self.uses.retain(|earlier| {
            earlier.is(new) || !((new.write || !earlier.write) && earlier.is_before(&new.progress, clock))
        });
        matches!(&self.uses[..], [alone] if alone.write == new.write)
    }
}

/// The uses and failures of an allocation, by address.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) segments: BTreeMap<u64, Segment>,
    pub(crate) failures: Failures,
}

impl Known {
    /// Adds a use of some bytes, unless it matters that nothing orders an earlier one with it. Returns whether anything is
    /// to be done [once the stream has taken it](Self::has_taken).
    ///
    /// # Errors
    /// That earlier use.
    pub(crate) fn add_unless_raced(
        &mut self,
        bytes: &Range<u64>,
        new: &Use,
        clock: &Clock,
        matters: bool,
    ) -> Result<bool, Use> {
        let next = (&new.progress, clock);
        let Self { segments, failures } = self;
        // Nearly always the same slot or the same buffer is used again.
        if let Some(same) = segments.get_mut(&bytes.start).filter(|segment| segment.end == bytes.end) {
            let (mut is_any_over, mut is_to_be_told) = (false, !failures.is_empty());
            for earlier in &same.uses {
                if earlier.is_over() {
                    is_any_over = true;
                } else if earlier.is_before(&new.progress, clock) {
                    is_to_be_told |= new.write || !earlier.write;
                } else if matters && (new.write || earlier.write) {
                    return Err(earlier.clone());
                }
            }
            if is_any_over && let Some(error) = same.forget_over() {
                failures.add(bytes.clone(), error);
                is_to_be_told = true;
            }
            same.add(new);
            return Ok(is_to_be_told);
        }
        if matters && let Some(earlier) = self.conflict(bytes.clone(), new.write, next) {
            return Err(earlier);
        }
        self.add(bytes, new);
        Ok(true)
    }

    /// Forgets a use of some bytes that was added.
    pub(crate) fn forget(&mut self, bytes: &Range<u64>, new: &Use) {
        for (_, segment) in self.segments.range_mut(bytes.clone()) {
            segment.uses.retain(|each| !each.is(new));
        }
    }

    /// Adds a use of some bytes. Uses that are over are forgotten, but their failures are kept.
    #[inline(never)]
    pub(crate) fn add(&mut self, bytes: &Range<u64>, new: &Use) {
        let Self { segments, failures } = self;
        split(segments, bytes.start);
        split(segments, bytes.end);
        let mut covered = bytes.start;
        let mut gaps = Vec::new();
        for (&start, segment) in segments.range_mut(bytes.clone()) {
            if covered < start {
                gaps.push(covered..start);
            }
            covered = segment.end;
            if let Some(error) = segment.forget_over() {
                failures.add(start..segment.end, error);
            }
            segment.add(new);
        }
        if covered < bytes.end {
            gaps.push(covered..bytes.end);
        }
        for gap in gaps {
            segments.insert(gap.start, Segment { end: gap.end, uses: vec![new.clone()] });
        }
    }

    /// Notes that the stream has taken a use that was noted. `anew` says that it writes all of these bytes.
    pub(crate) fn has_taken(&mut self, bytes: &Range<u64>, new: &Use, clock: &Clock, anew: bool) {
        let Self { segments, failures } = self;
        if anew {
            failures.remove(bytes);
        }
        if let Some(same) = segments.get_mut(&bytes.start).filter(|segment| segment.end == bytes.end) {
            same.has_taken(new, clock);
            return;
        }
        self.parts_have_taken(bytes, new, clock);
    }

    #[inline(never)]
    fn parts_have_taken(&mut self, bytes: &Range<u64>, new: &Use, clock: &Clock) {
        let Self { segments, .. } = self;
        // Another part of the same operation may have made one segment of some of these bytes and others.
        split(segments, bytes.start);
        split(segments, bytes.end);
        let mut alone = true;
        for (_, segment) in segments.range_mut(bytes.clone()) {
            alone &= segment.has_taken(new, clock);
        }
        if alone {
            // One segment takes the place of many.
            while let Some((&start, _)) = segments.range(bytes.clone()).next() {
                segments.remove(&start);
            }
            segments.insert(bytes.start, Segment { end: bytes.end, uses: vec![new.clone()] });
        }
    }

    /// The earlier use that nothing orders with the next one of a stream.
    #[inline(never)]
    pub(crate) fn conflict(
        &self,
        bytes: Range<u64>,
        write: bool,
        next: (&Arc<Progress>, &Clock),
    ) -> Option<Use> {
        let Self { segments, .. } = self;
        if bytes.is_empty() {
            return None;
        }
        // The segment in which the bytes begin counts, too.
        let first =
            segments.range(..=bytes.start).next_back().filter(|(_, segment)| segment.end > bytes.start);
        let start = first.map_or(bytes.start, |(&start, _)| start);
        let mut within = segments.range(start..bytes.end);
        within.find_map(|(_, segment)| segment.conflict(write, next)).cloned()
    }

    /// The uses of some bytes. Segments are split at the borders of the bytes.
    pub(crate) fn uses_mut(&mut self, bytes: &Range<u64>) -> impl Iterator<Item = &mut Use> {
        self.segments.range_mut(bytes.clone()).flat_map(|(_, segment)| &mut segment.uses)
    }
}

/// Makes `at` the border of two segments, if it lies within one.
fn split(segments: &mut BTreeMap<u64, Segment>, at: u64) {
    let before = segments.range_mut(..at).next_back();
    if let Some((_, segment)) = before.filter(|(_, segment)| at < segment.end) {
        let rest = segment.clone();
        segment.end = at;
        segments.insert(at, rest);
    }
}
