//! [`AllSeries`]: the uses of parts that loops take one after another.
//!
//! A loop that goes through an allocation uses its next part in each turn, for the same purpose, and the numbers of these
//! operations are equally far apart. Such uses are one [`Series`], however many they are: the chunks of an input have two,
//! that of the loop that is under way, and what is left of the loop before.

use std::ops::Range;

use super::failures::Failures;
use super::known::Replaced;
use super::uses::{Next, Use};

/// How many are begun at most for one allocation: all of them are looked at for each use.
const MOST: usize = 8;
/// How many there are at most, with those that others are split into.
const MOST_SPLIT: usize = 4 * MOST;

/// What it costs to make a segment of a part, where 1 is what a use that goes on with a series saves. Measured, a use
/// takes some 30 ns with series, 60 in 4,096 segments, and 150 if a segment has to be made.
const COST: i64 = 4;
/// The loss after which an allocation has no series any more, until nothing is pending.
const MOST_LOSS: i64 = 64;
/// The gain that is remembered.
const MOST_GAIN: i64 = 1 << 16;

// Note 86: the uses of a loop's parts are one series.
/// Equal parts that follow each other. One operation of a stream uses each, and nothing else does.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    bytes: Range<u64>,
    /// The bytes of each part.
    part: u64,
    /// The use of the first part.
    first: Use,
    /// How far apart the operations' numbers are. With one part, that is not known yet.
    step: u64,
    /// The number of the last part's operation.
    last: u64,
}

impl Series {
    /// A series of one part.
    fn of(bytes: Range<u64>, first: Use) -> Self {
        Self { part: bytes.end - bytes.start, last: first.operation.number, bytes, first, step: 0 }
    }

    /// The number of parts.
    fn len(&self) -> u64 {
        (self.bytes.end - self.bytes.start) / self.part
    }

    fn is_one(&self) -> bool {
        self.bytes.end - self.bytes.start == self.part
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether these bytes are its first part.
    fn begins_with(&self, bytes: &Range<u64>) -> bool {
        self.bytes.start == bytes.start && self.part == bytes.end - bytes.start
    }

    /// Whether it goes on with the next operation's use of these bytes.
    fn goes_on_with(&self, bytes: &Range<u64>, next: &Next<'_>, write: bool) -> bool {
        let is_next_part = self.bytes.end == bytes.start && self.part == bytes.end - bytes.start;
        let step = next.number.checked_sub(self.last).filter(|&step| step > 0);
        is_next_part
            && next.is_like(&self.first, write)
            && step.is_some_and(|step| step == self.step || self.is_one())
    }

    fn go_on(&mut self, bytes: &Range<u64>, number: u64) {
        self.step = number - self.last;
        (self.bytes.end, self.last) = (bytes.end, number);
    }

    /// Leaves the first parts out.
    fn skip(&mut self, parts: u64) {
        self.bytes.start += parts * self.part;
        self.first.operation.number += parts * self.step;
    }

    /// The parts, each with its use.
    fn parts(&self) -> impl Iterator<Item = (Range<u64>, Use)> + '_ {
        (0..self.len()).map(|index| {
            let start = self.bytes.start + index * self.part;
            (
                start..start + self.part,
                self.first.with_number(self.first.operation.number + index * self.step),
            )
        })
    }

    /// Whether these bytes have a share in it.
    fn meets(&self, bytes: &Range<u64>) -> bool {
        self.bytes.start < bytes.end && bytes.start < self.bytes.end
    }

    /// The indices of the parts that these bytes have a share in.
    fn within(&self, bytes: &Range<u64>) -> Range<u64> {
        let before = bytes.start.saturating_sub(self.bytes.start) / self.part;
        let until = bytes.end.saturating_sub(self.bytes.start).div_ceil(self.part);
        before.min(self.len())..until.min(self.len())
    }

    /// The last of the uses of some bytes, if nothing orders it with the next operation. What comes after it comes after
    /// all of these uses.
    fn conflict(&self, bytes: &Range<u64>, next: &Next<'_>, write: bool) -> Option<Use> {
        let last = self.within(bytes).end.checked_sub(1)?;
        let number = self.first.operation.number + last * self.step;
        let races =
            self.first.conflicts_with(write) && !next.comes_after_operation(&self.first.progress, number);
        races.then(|| self.first.with_number(number))
    }

    /// Splits it into the parts before, of and after these bytes.
    fn split(&self, bytes: &Range<u64>) -> [Self; 3] {
        let within = self.within(bytes);
        [0..within.start, within.clone(), within.end..self.len()].map(|its| {
            let mut some = self.clone();
            some.skip(its.start);
            some.bytes.end = some.bytes.start + (its.end - its.start) * self.part;
            some.last = some.first.operation.number + (its.end - its.start).saturating_sub(1) * self.step;
            some
        })
    }

    /// Forgets the uses that are over. The errors of those that were to write and failed are added to `failures`.
    fn forget_over(&mut self, failures: &mut Failures) {
        let (progress, operation) = (&self.first.progress, self.first.operation);
        let completed = progress.completed();
        if completed < operation.number {
            return;
        }
        let over = (completed.min(self.last) - operation.number).checked_div(self.step).unwrap_or(0) + 1;
        if operation.write && progress.has_failed() {
            for (bytes, its) in self.parts().take(over as usize) {
                if let Some(error) = its.failure() {
                    failures.add(bytes, error);
                }
            }
        }
        self.skip(over);
    }
}

/// The series of an allocation. Their bytes are disjoint, and nothing else is known of these.
#[derive(Debug, Default)]
pub(crate) struct AllSeries {
    all: Vec<Series>,
    /// What has been gained by having series, less what they have cost. Uses of some programs alternate so that each
    /// makes a segment of a part that another has just added.
    gain: i64,
}

impl AllSeries {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn number(&self) -> usize {
        self.all.len()
    }

    /// Whether they cost more than they gain here.
    pub(crate) fn are_given_up(&self) -> bool {
        self.gain < -MOST_LOSS
    }

    /// Notes the next operation's use of some bytes, if it goes on with a series that ends before them, or takes the place of
    /// the first part of a series, or both. The use that it takes the place of is added to `replaced`. Otherwise returns
    /// `false`, and nothing is changed. `is_free`: whether none of the bytes has uses outside of all series.
    #[inline]
    pub(crate) fn note(
        &mut self,
        bytes: &Range<u64>,
        (next, write): (&Next<'_>, bool),
        (part, replaced): (usize, &mut Vec<Replaced>),
        is_free: impl FnOnce() -> bool,
    ) -> bool {
        if self.are_given_up() {
            return false;
        }
        let (mut earlier, mut own) = (None, None);
        for (index, series) in self.all.iter().enumerate() {
            if series.begins_with(bytes) {
                earlier = Some(index);
            } else if series.goes_on_with(bytes, next, write) {
                own = Some(index);
            }
        }
        match earlier {
            Some(earlier) => {
                let Series { first, .. } = &self.all[earlier];
                let is_over = first.is_over();
                let gives_way = next.comes_after(first) && first.gives_way_to(write);
                let has_failed = is_over && first.progress.has_failed();
                let has_room = own.is_some() || self.all.len() < MOST;
                if !gives_way || !has_room || has_failed || next.is(first) {
                    return false;
                }
                if !is_over {
                    replaced.push(Replaced::one(part, bytes, first.clone()));
                }
                self.all[earlier].skip(1);
            }
            None if own.is_none() || self.index_at(bytes).is_some() || !is_free() => return false,
            None => {}
        }
        match own {
            Some(own) => self.all[own].go_on(bytes, next.number),
            None => self.all.push(Series::of(bytes.clone(), next.to_use(write))),
        }
        if let Some(earlier) = earlier.filter(|&earlier| self.all[earlier].is_empty()) {
            self.all.swap_remove(earlier);
        }
        self.gain = (self.gain + 1).min(MOST_GAIN);
        true
    }

    /// Adds the next operation's use of bytes that have no other use, if it goes on with one of them.
    pub(crate) fn go_on(&mut self, bytes: &Range<u64>, (next, write): (&Next<'_>, bool)) -> bool {
        let own = self.all.iter_mut().find(|series| series.goes_on_with(bytes, next, write));
        own.map(|series| series.go_on(bytes, next.number)).is_some()
    }

    /// Begins a series with a use of bytes that are followed by those of the next operation, if the two are alike.
    pub(crate) fn begin(
        &mut self,
        (first, its): (Range<u64>, &Use),
        bytes: &Range<u64>,
        (next, write): (&Next<'_>, bool),
    ) -> bool {
        let mut series = Series::of(first, its.clone());
        if !series.goes_on_with(bytes, next, write) {
            return false;
        }
        let has_room = self.all.len() < MOST;
        if has_room {
            series.go_on(bytes, next.number);
            self.all.push(series);
        } else {
            // One more is lost where it was looked for in vain.
            self.gain -= COST - 1;
        }
        has_room
    }

    /// Notes that one was looked for in vain.
    pub(crate) fn were_no_gain(&mut self) {
        self.gain -= 1;
    }

    /// One of those that these bytes have a share in.
    fn index_at(&self, bytes: &Range<u64>) -> Option<usize> {
        self.all.iter().position(|series| series.meets(bytes))
    }

    /// A use of some bytes that nothing orders with the next operation.
    pub(crate) fn conflict(&self, bytes: &Range<u64>, next: &Next<'_>, write: bool) -> Option<Use> {
        let mut meet = self.all.iter().filter(|series| series.meets(bytes));
        meet.find_map(|series| series.conflict(bytes, next, write))
    }

    /// Passes the parts that these bytes have a share in to `to`, each with its use, and forgets them.
    pub(crate) fn take(&mut self, bytes: &Range<u64>, mut to: impl FnMut(Range<u64>, Use)) {
        while let Some(index) = self.index_at(bytes) {
            let series = &mut self.all[index];
            if series.begins_with(bytes) {
                to(bytes.clone(), series.first.clone());
                series.skip(1);
                if series.is_empty() {
                    self.all.swap_remove(index);
                }
                self.gain -= COST;
                continue;
            }
            let [before, within, after] = self.all.swap_remove(index).split(bytes);
            let mut all_of = |series: &Series| series.parts().for_each(|(bytes, its)| to(bytes, its));
            all_of(&within);
            self.gain -= COST * within.len() as i64;
            for rest in [before, after].into_iter().filter(|rest| !rest.is_empty()) {
                match self.all.len() < MOST_SPLIT {
                    true => self.all.push(rest),
                    false => all_of(&rest),
                }
            }
        }
    }

    /// Forgets the uses that are over. The errors of those that were to write and failed are added to `failures`.
    pub(crate) fn forget_over(&mut self, failures: &mut Failures) {
        self.all.retain_mut(|series| {
            series.forget_over(failures);
            !series.is_empty()
        });
    }

    /// Forgets what they have gained or cost: nothing is pending, and other uses may follow.
    pub(crate) fn begin_anew(&mut self) {
        self.gain = 0;
    }

    /// The last use of each.
    pub(crate) fn last(&self) -> impl Iterator<Item = Use> + '_ {
        self.all.iter().map(|series| series.first.with_number(series.last))
    }
}
