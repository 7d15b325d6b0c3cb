//! [`Known`]: the uses of an allocation's bytes that may still be pending, and the failures.

use std::collections::BTreeMap;
use std::mem;
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
    /// The uses that come before the one noted last: they are put back if the driver refuses that.
    replaced: Vec<Use>,
}

impl Segment {
    fn new(end: u64, first: &Use) -> Self {
        Self { end, uses: vec![first.clone()], replaced: Vec::new() }
    }

    /// Forgets the uses that are over. Returns the error of the last of them that was to write and failed.
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

    /// Adds a use in place of those that come before it. Returns the error of [`forget_over`](Self::forget_over).
    fn replace(&mut self, new: &Use, clock: &Clock) -> Option<Error> {
        if self.merges(new) {
            return None;
        }
        // Nearly always one use is there, and comes before.
        if let [only] = &mut self.uses[..]
            && !only.is_over()
            && new.replaces(only, clock)
        {
            let before = mem::replace(only, new.clone());
            self.replaced.clear();
            self.replaced.push(before);
            return None;
        }
        let failed = self.forget_over();
        self.replaced.clear();
        self.replaced.extend(self.uses.extract_if(.., |earlier| new.replaces(earlier, clock)));
        self.uses.push(new.clone());
        failed
    }

    /// Adds a use, and keeps those that come before it.
    fn add(&mut self, new: &Use) {
        self.replaced.clear();
        if !self.merges(new) {
            self.uses.push(new.clone());
        }
    }

    /// Adds a use to another one of the same operation, which may use the same bytes in several ways. Returns whether
    /// there is one.
    fn merges(&mut self, new: &Use) -> bool {
        let same = self.uses.iter_mut().find(|earlier| earlier.is(new));
        same.map(|same| same.write |= new.write).is_some()
    }

    /// Puts back the uses that the last one has replaced.
    fn put_back(&mut self) {
        self.uses.append(&mut self.replaced);
    }

    /// Forgets the uses that come before one that the stream has taken. Returns whether no other use is left.
    fn has_taken(&mut self, new: &Use, clock: &Clock) -> bool {
        self.uses.retain(|earlier| earlier.is(new) || !new.replaces(earlier, clock));
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
    /// Adds a use of some bytes, unless it matters that nothing orders an earlier one with it. Returns whether the uses
    /// that come before it were replaced: otherwise that is left until the driver [has taken](Self::has_taken) it.
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
        let Self { segments, failures } = self;
        // Nearly always the same slot or the same buffer is used again.
        if let Some(same) = segments.get_mut(&bytes.start).filter(|segment| segment.end == bytes.end) {
            let next = (&new.progress, clock);
            if matters && let Some(earlier) = raced(&same.uses, new.write, next) {
                return Err(earlier.clone());
            }
            if let Some(error) = same.replace(new, clock) {
                failures.add(bytes.clone(), error);
            }
            return Ok(true);
        }
        // Otherwise these bytes are mostly used for the first time.
        let before_end = segments.range(..bytes.end).next_back();
        if before_end.is_none_or(|(_, segment)| segment.end <= bytes.start) {
            segments.insert(bytes.start, Segment::new(bytes.end, new));
            return Ok(true);
        }
        if matters && let Some(earlier) = self.conflict(bytes.clone(), new.write, (&new.progress, clock)) {
            return Err(earlier);
        }
        self.add(bytes, new);
        Ok(false)
    }

    /// Forgets a use of some bytes that was added.
    pub(crate) fn forget(&mut self, bytes: &Range<u64>, new: &Use) {
        for (_, segment) in self.segments.range_mut(bytes.clone()) {
            segment.uses.retain(|each| !each.is(new));
            segment.put_back();
        }
    }

    /// Notes that the driver has refused a use.
    pub(crate) fn has_refused(&mut self, bytes: &Range<u64>, new: &Use) {
        // Segments are split at the borders of the bytes.
        for (_, segment) in self.segments.range_mut(bytes.clone()) {
            segment.uses.iter_mut().filter(|each| each.is(new)).for_each(|refused| refused.refused = true);
            segment.put_back();
        }
    }

    /// Adds a use of some bytes. Uses that are over are forgotten, but their failures are kept.
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
            segments.insert(gap.start, Segment::new(gap.end, new));
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
        let mut alone = true;
        for (_, segment) in segments.range_mut(bytes.clone()) {
            alone &= segment.has_taken(new, clock);
        }
        if alone {
            // One segment takes the place of many.
            while let Some((&start, _)) = segments.range(bytes.clone()).next() {
                segments.remove(&start);
            }
            segments.insert(bytes.start, Segment::new(bytes.end, new));
        }
    }

    /// The earlier use that nothing orders with the next one of a stream.
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
        within.find_map(|(_, segment)| raced(&segment.uses, write, next)).cloned()
    }
}

/// The first of the uses that nothing orders with the next one of a stream.
fn raced<'u>(uses: &'u [Use], write: bool, (stream, clock): (&Arc<Progress>, &Clock)) -> Option<&'u Use> {
    uses.iter().find(|earlier| (earlier.write || write) && !earlier.is_before(stream, clock))
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
