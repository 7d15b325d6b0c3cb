//! [`Known`]: the uses of an allocation's bytes that may still be pending, and the failures.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::failures::Failures;
use super::progress::Progress;
use super::uses::{Next, Operation, Use};
use crate::base::error::Error;

/// Bytes that have the same uses.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) end: u64,
    pub(crate) uses: Vec<Use>,
}

/// A use that a later one has taken the place of.
#[derive(Debug)]
pub(crate) struct Replaced {
    /// Which part of the later one's memory it is of. Who notes several parts sets it.
    pub(crate) part: usize,
    bytes: Range<u64>,
    /// Its stream's, unless that is the later one's.
    progress: Option<Arc<Progress>>,
    operation: Operation,
}

impl Segment {
    /// Forgets the uses that are over. Returns the error of the last of them that was to write and failed.
    pub(crate) fn forget_over(&mut self) -> Option<Error> {
        let mut failed = None;
        self.uses.retain(|earlier| {
            let is_over = earlier.is_over();
            if is_over {
                failed = earlier.failure().or(failed.take());
            }
            !is_over
        });
        failed
    }

    /// The use that nothing orders with the next operation.
    fn conflict(&self, next: &Next<'_>, write: bool) -> Option<&Use> {
        self.uses.iter().find(|earlier| (write || earlier.write()) && !next.comes_after(earlier))
    }

    /// Adds a use. An operation may use the same bytes in several ways.
    fn add(&mut self, new: &Use) {
        match self.uses.iter_mut().find(|earlier| earlier.is(new)) {
            Some(same) => same.operation.write |= new.write(),
            None => self.uses.push(new.clone()),
        }
    }

    /// Adds the next operation's use, and removes those that need not be kept beside it: a later use that must come after
    /// them also comes after this one. `replaced` gets those of them that are not over. `is_ordered` says that there is no
    /// [conflict](Self::conflict).
    ///
    /// Returns the error of the last that was to write and failed.
    fn note(
        &mut self,
        bytes: &Range<u64>,
        (next, write, is_ordered): (&Next<'_>, bool, bool),
        replaced: &mut Vec<Replaced>,
    ) -> Option<Error> {
        let (mut failed, mut noted, mut index) = (None, None, 0);
        while let Some(earlier) = self.uses.get_mut(index) {
            let is_on_same = next.is_on(&earlier.progress);
            if is_on_same && earlier.operation.number == next.number {
                // The operation uses the same bytes in several ways.
                earlier.operation.write |= write;
                noted.get_or_insert(index);
                index += 1;
                continue;
            }
            let is_over = earlier.is_over();
            let is_ordered = (write && is_ordered) || next.comes_after(earlier);
            let is_needless = (write || !earlier.write()) && is_ordered;
            if !is_over && !is_needless {
                index += 1;
                continue;
            }
            if is_over {
                failed = earlier.failure().or(failed);
            }
            let (progress, operation) = if is_on_same && noted.is_none() {
                // Most often the same streams use the same bytes again.
                noted = Some(index);
                index += 1;
                (None, std::mem::replace(&mut earlier.operation, next.operation(write)))
            } else {
                let Use { progress, operation } = self.uses.remove(index);
                (Some(progress), operation)
            };
            if !is_over {
                replaced.push(Replaced { part: 0, bytes: bytes.clone(), progress, operation });
            }
        }
        if noted.is_none() {
            self.uses.push(next.to_use(write));
        }
        failed
    }

    /// Whether it has no other use.
    fn is_only_of(&self, next: &Next<'_>, write: bool) -> bool {
        matches!(&self.uses[..], [only] if next.is(only) && only.write() == write)
    }
}

/// The uses and failures of an allocation, by address.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) segments: BTreeMap<u64, Segment>,
    pub(crate) failures: Failures,
    /// How often uses were [put back](Self::put_back).
    pub(crate) put_back: u64,
}

impl Known {
    /// Notes the next operation's use of some bytes, unless it matters that nothing orders an earlier one with it. What it
    /// takes the place of is added to `replaced`.
    ///
    /// # Errors
    /// That earlier use.
    pub(crate) fn note_unless_raced(
        &mut self,
        bytes: &Range<u64>,
        (next, write): (&Next<'_>, bool),
        matters: bool,
        replaced: &mut Vec<Replaced>,
    ) -> Result<(), Use> {
        let Self { segments, failures, .. } = self;
        // Nearly always the same slot or the same buffer is used again.
        if let Some(same) = segments.get_mut(&bytes.start).filter(|segment| segment.end == bytes.end) {
            if matters && let Some(earlier) = same.conflict(next, write) {
                return Err(earlier.clone());
            }
            if let Some(error) = same.note(bytes, (next, write, matters), replaced) {
                failures.add(bytes.clone(), error);
            }
            return Ok(());
        }
        if matters && let Some(earlier) = self.conflict(bytes.clone(), write, next) {
            return Err(earlier);
        }
        self.note_parts(bytes, (next, write, matters), replaced);
        Ok(())
    }

    #[inline(never)]
    fn note_parts(
        &mut self,
        bytes: &Range<u64>,
        (next, write, matters): (&Next<'_>, bool, bool),
        replaced: &mut Vec<Replaced>,
    ) {
        let Self { segments, failures, .. } = self;
        cut(segments, bytes);
        let mut is_alone = true;
        for (&start, segment) in segments.range_mut(bytes.clone()) {
            let its = start..segment.end;
            let failed = segment.note(&its, (next, write, matters), replaced);
            is_alone &= segment.is_only_of(next, write);
            if let Some(error) = failed {
                failures.add(its, error);
            }
        }
        if is_alone {
            // One segment takes the place of many.
            while let Some((&start, _)) = segments.range(bytes.clone()).next() {
                segments.remove(&start);
            }
            segments.insert(bytes.start, Segment { end: bytes.end, uses: vec![next.to_use(write)] });
        }
    }

    /// Forgets the next operation's use of some bytes.
    pub(crate) fn forget(&mut self, bytes: &Range<u64>, next: &Next<'_>) {
        for (_, segment) in self.segments.range_mut(bytes.clone()) {
            segment.uses.retain(|each| !next.is(each));
        }
    }

    /// Adds what the next operation's use has taken the place of, since the operation is not enqueued.
    pub(crate) fn put_back<'r>(&mut self, next: &Next<'_>, replaced: impl Iterator<Item = &'r Replaced>) {
        self.put_back += 1;
        for Replaced { bytes, progress, operation, .. } in replaced {
            let progress = Arc::clone(progress.as_ref().unwrap_or(next.progress));
            self.add(bytes, &Use { progress, operation: *operation });
        }
    }

    /// Adds a use of some bytes. Uses that are over are forgotten, but their failures are kept.
    pub(crate) fn add(&mut self, bytes: &Range<u64>, new: &Use) {
        let Self { segments, failures, .. } = self;
        cut(segments, bytes);
        for (&start, segment) in segments.range_mut(bytes.clone()) {
            if let Some(error) = segment.forget_over() {
                failures.add(start..segment.end, error);
            }
            segment.add(new);
        }
    }

    /// The earlier use that nothing orders with the next operation.
    #[inline(never)]
    pub(crate) fn conflict(&self, bytes: Range<u64>, write: bool, next: &Next<'_>) -> Option<Use> {
        let Self { segments, .. } = self;
        if bytes.is_empty() {
            return None;
        }
        // The segment in which the bytes begin counts, too.
        let first =
            segments.range(..=bytes.start).next_back().filter(|(_, segment)| segment.end > bytes.start);
        let start = first.map_or(bytes.start, |(&start, _)| start);
        let mut within = segments.range(start..bytes.end);
        within.find_map(|(_, segment)| segment.conflict(next, write)).cloned()
    }

    /// The uses of some bytes. Segments are split at the borders of the bytes.
    pub(crate) fn uses_mut(&mut self, bytes: &Range<u64>) -> impl Iterator<Item = &mut Use> {
        self.segments.range_mut(bytes.clone()).flat_map(|(_, segment)| &mut segment.uses)
    }
}

/// Makes segments of exactly these bytes.
fn cut(segments: &mut BTreeMap<u64, Segment>, bytes: &Range<u64>) {
    split(segments, bytes.start);
    split(segments, bytes.end);
    let (mut covered, mut gaps) = (bytes.start, Vec::new());
    for (&start, segment) in segments.range(bytes.clone()) {
        if covered < start {
            gaps.push(covered..start);
        }
        covered = segment.end;
    }
    if covered < bytes.end {
        gaps.push(covered..bytes.end);
    }
    for gap in gaps {
        segments.insert(gap.start, Segment { end: gap.end, uses: Vec::new() });
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
