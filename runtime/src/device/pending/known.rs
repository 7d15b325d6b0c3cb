//! [`Known`]: the uses of an allocation's bytes that may still be pending, and the failures.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::failures::Failures;
use super::series::AllSeries;
use super::uses::{Next, Use};
use crate::base::error::Error;

/// The uses of some bytes. Nearly always they are the last write, and a read since then.
type Several = SmallVec<[Use; 2]>;

/// Bytes that have the same uses.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) end: u64,
    pub(crate) uses: Several,
}

/// Uses that a later one has taken the place of.
#[derive(Debug)]
pub(crate) struct Replaced {
    /// Which part of the later one's memory they are of.
    pub(crate) part: usize,
    bytes: Range<u64>,
    uses: Several,
}

impl Replaced {
    pub(crate) fn one(part: usize, bytes: &Range<u64>, its: Use) -> Self {
        Self { part, bytes: bytes.clone(), uses: smallvec![its] }
    }
}

/// How a segment takes the next operation's use.
enum Place {
    /// Beside all others.
    Beside,
    /// In the place of all others.
    OfAll,
    /// In the place of the one at this index.
    OfOne(usize),
    /// In the place of several that others stay beside, or some are the operation's own, or have failed.
    Mixed,
}

impl Segment {
    fn of(end: u64, next: &Next<'_>, write: bool) -> Self {
        Self { end, uses: smallvec![next.to_use(write)] }
    }

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
        self.uses.iter().find(|earlier| earlier.conflicts_with(write) && !next.comes_after(earlier))
    }

    /// Adds a use. An operation may use the same bytes in several ways.
    fn add(&mut self, new: &Use) {
        match self.uses.iter_mut().find(|earlier| earlier.is(new)) {
            Some(same) => same.operation.write |= new.write(),
            None => self.uses.push(new.clone()),
        }
    }

    /// How it takes the next operation's use.
    ///
    /// # Errors
    /// The use that nothing orders with the operation, if that matters.
    #[inline]
    fn place(&self, next: &Next<'_>, write: bool, matters: bool) -> Result<Place, &Use> {
        let (mut needless, mut at, mut is_mixed) = (0, 0, false);
        for (index, earlier) in self.uses.iter().enumerate() {
            let comes_after = next.comes_after(earlier);
            if matters && !comes_after && earlier.conflicts_with(write) {
                return Err(earlier);
            }
            if comes_after && earlier.gives_way_to(write) {
                (needless, at) = (needless + 1, index);
            }
            is_mixed |= next.is(earlier) || (earlier.progress.has_failed() && earlier.is_over());
        }
        Ok(match needless {
            _ if is_mixed => Place::Mixed,
            0 => Place::Beside,
            all if all == self.uses.len() => Place::OfAll,
            1 => Place::OfOne(at),
            _ => Place::Mixed,
        })
    }

    /// Adds the next operation's use. `replaced` gets the uses that need not be kept beside it.
    ///
    /// Returns the error of the last that was to write and failed.
    ///
    /// # Errors
    /// As [`place`](Self::place); then nothing is changed.
    #[inline]
    fn note(
        &mut self,
        bytes: &Range<u64>,
        (next, write): (&Next<'_>, bool),
        matters: bool,
        (part, replaced): (usize, &mut Vec<Replaced>),
    ) -> Result<Option<Error>, Box<Use>> {
        match self.place(next, write, matters).map_err(|earlier| Box::new(earlier.clone()))? {
            Place::Beside => self.uses.push(next.to_use(write)),
            Place::OfAll => {
                let uses = mem::replace(&mut self.uses, smallvec![next.to_use(write)]);
                replaced.push(Replaced { part, bytes: bytes.clone(), uses });
            }
            Place::OfOne(index) => {
                let one = mem::replace(&mut self.uses[index], next.to_use(write));
                replaced.push(Replaced::one(part, bytes, one));
            }
            Place::Mixed => {
                let (failed, uses) = self.note_among(next, write);
                if !uses.is_empty() {
                    replaced.push(Replaced { part, bytes: bytes.clone(), uses });
                }
                return Ok(failed);
            }
        }
        Ok(None)
    }

    /// Adds the next operation's use to those that stay. Returns the error of the last that was to write and failed, and the
    /// uses that are not over and need not be kept.
    #[inline(never)]
    fn note_among(&mut self, next: &Next<'_>, write: bool) -> (Option<Error>, Several) {
        let (mut failed, mut is_noted, mut gone) = (None, false, Several::new());
        for mut earlier in mem::take(&mut self.uses) {
            if next.is(&earlier) {
                // The operation uses the same bytes in several ways.
                earlier.operation.write |= write;
                is_noted = true;
                self.uses.push(earlier);
            } else if earlier.is_over() {
                failed = earlier.failure().or(failed);
            } else if earlier.gives_way_to(write) && next.comes_after(&earlier) {
                gone.push(earlier);
            } else {
                self.uses.push(earlier);
            }
        }
        if !is_noted {
            self.uses.push(next.to_use(write));
        }
        (failed, gone)
    }

    /// Whether it has no other use.
    fn is_only_of(&self, (next, write): (&Next<'_>, bool)) -> bool {
        matches!(&self.uses[..], [only] if next.is(only) && only.write() == write)
    }
}

/// The uses and failures of an allocation, by address.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The uses of bytes that no series has.
    pub(crate) segments: BTreeMap<u64, Segment>,
    pub(crate) series: AllSeries,
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
    #[inline]
    pub(crate) fn note(
        &mut self,
        bytes: &Range<u64>,
        operation: (&Next<'_>, bool),
        matters: bool,
        (part, replaced): (usize, &mut Vec<Replaced>),
    ) -> Result<(), Box<Use>> {
        // Nearly always it is a loop's next part, or the same slot or buffer is used again.
        if !self.series.is_empty() {
            let Self { segments, series, .. } = self;
            let is_free = || segments.is_empty() || segments.range(bytes.clone()).next().is_none();
            if series.note(bytes, operation, (part, replaced), is_free) {
                return Ok(());
            }
            if matters && let Some(earlier) = series.conflict(bytes, operation.0, operation.1) {
                return Err(Box::new(earlier));
            }
            self.make_segments(bytes);
        }
        let may_go_on = self.segments.len() > 1 || !self.series.is_empty();
        match self.segments.get_mut(&bytes.start).filter(|segment| segment.end == bytes.end) {
            Some(same) => {
                if let Some(error) = same.note(bytes, operation, matters, (part, replaced))? {
                    self.failures.add(bytes.clone(), error);
                }
                if may_go_on && same.is_only_of(operation) && self.add_to_series(bytes, operation) {
                    self.segments.remove(&bytes.start);
                }
                Ok(())
            }
            None => self.note_parts(bytes, operation, matters, (part, replaced)),
        }
    }

    #[inline(never)]
    fn note_parts(
        &mut self,
        bytes: &Range<u64>,
        (next, write): (&Next<'_>, bool),
        matters: bool,
        (part, replaced): (usize, &mut Vec<Replaced>),
    ) -> Result<(), Box<Use>> {
        let last = self.segments.range(..bytes.end).next_back();
        let is_free = last.is_none_or(|(_, segment)| segment.end <= bytes.start);
        let is_alone = is_free || self.note_segments(bytes, (next, write), matters, (part, replaced))?;
        if is_alone && !self.add_to_series(bytes, (next, write)) {
            self.segments.insert(bytes.start, Segment::of(bytes.end, next, write));
        }
        Ok(())
    }

    /// Notes a use of bytes of which some have others. Returns whether it takes the place of all of these; then no segment is
    /// left there, not even its own.
    fn note_segments(
        &mut self,
        bytes: &Range<u64>,
        (next, write): (&Next<'_>, bool),
        matters: bool,
        (part, replaced): (usize, &mut Vec<Replaced>),
    ) -> Result<bool, Box<Use>> {
        let Self { segments, failures, .. } = self;
        if matters && let Some(earlier) = conflict(segments, bytes, write, next) {
            return Err(Box::new(earlier.clone()));
        }
        cut(segments, bytes);
        let mut is_alone = true;
        for (&start, segment) in segments.range_mut(bytes.clone()) {
            let its = start..segment.end;
            let failed = segment.note(&its, (next, write), false, (part, replaced))?;
            is_alone &= segment.is_only_of((next, write));
            if let Some(error) = failed {
                failures.add(its, error);
            }
        }
        while is_alone && let Some((&start, _)) = segments.range(bytes.clone()).next() {
            segments.remove(&start);
        }
        Ok(is_alone)
    }

    /// Adds the next operation's use of bytes that have no other use to a series, or to the segment before, which then is a
    /// series. Returns `false` if the use goes on with neither.
    fn add_to_series(&mut self, bytes: &Range<u64>, operation: (&Next<'_>, bool)) -> bool {
        let Self { segments, series, .. } = self;
        if series.are_given_up() {
            return false;
        }
        if series.go_on(bytes, operation) {
            return true;
        }
        if let Some((&start, Segment { end, uses })) = segments.range(..bytes.start).next_back()
            && let [only] = &uses[..]
            && series.begin((start..*end, only), bytes, operation)
        {
            segments.remove(&start);
            return true;
        }
        series.were_no_gain();
        false
    }

    /// Makes segments of the parts of series that these bytes have a share in.
    pub(crate) fn make_segments(&mut self, bytes: &Range<u64>) {
        let Self { segments, series, .. } = self;
        series.take(bytes, |its, only| {
            segments.insert(its.start, Segment { end: its.end, uses: smallvec![only] });
        });
    }

    /// Forgets the next operation's use of some bytes.
    pub(crate) fn forget(&mut self, bytes: &Range<u64>, next: &Next<'_>) {
        self.make_segments(bytes);
        for (_, segment) in self.segments.range_mut(bytes.clone()) {
            segment.uses.retain(|each| !next.is(each));
        }
    }

    /// Adds what a use has taken the place of, since its operation is not enqueued.
    pub(crate) fn put_back<'r>(&mut self, replaced: impl Iterator<Item = &'r Replaced>) {
        self.put_back += 1;
        for Replaced { bytes, uses, .. } in replaced {
            uses.iter().for_each(|earlier| self.add(bytes, earlier));
        }
    }

    /// Adds a use of some bytes. Uses that are over are forgotten, but their failures are kept.
    pub(crate) fn add(&mut self, bytes: &Range<u64>, new: &Use) {
        self.make_segments(bytes);
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
    pub(crate) fn conflict(&self, bytes: &Range<u64>, write: bool, next: &Next<'_>) -> Option<Use> {
        if bytes.is_empty() {
            return None;
        }
        let of_series = self.series.conflict(bytes, next, write);
        of_series.or_else(|| conflict(&self.segments, bytes, write, next).cloned())
    }

    /// The uses of some bytes. Segments are split at the borders of the bytes.
    pub(crate) fn uses_mut(&mut self, bytes: &Range<u64>) -> impl Iterator<Item = &mut Use> {
        self.make_segments(bytes);
        self.segments.range_mut(bytes.clone()).flat_map(|(_, segment)| &mut segment.uses)
    }
}

/// The use of some bytes that nothing orders with the next operation.
fn conflict<'s>(
    segments: &'s BTreeMap<u64, Segment>,
    bytes: &Range<u64>,
    write: bool,
    next: &Next<'_>,
) -> Option<&'s Use> {
    // The segment in which the bytes begin counts, too.
    let first = segments.range(..=bytes.start).next_back().filter(|(_, segment)| segment.end > bytes.start);
    let start = first.map_or(bytes.start, |(&start, _)| start);
    segments.range(start..bytes.end).find_map(|(_, segment)| segment.conflict(next, write))
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
        segments.insert(gap.start, Segment { end: gap.end, uses: Several::new() });
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
