//! [`AllSeries`]: the uses of parts that loops take one after another.
//!
//! A loop that goes through an allocation uses its next part in each turn, for the same purpose, and the numbers of these
//! operations are equally far apart. Such uses are one [`Series`], however many they are: the chunks of an input have two,
//! that of the loop that is under way, and what is left of the loop before.

use std::ops::Range;

use super::failures::Failures;
use super::known::Replaced;
use super::uses::{Next, Use};

/// How many there are at most of one allocation: all of them are looked at for each use.
const MOST: usize = 8;

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
            let mut its = self.first.clone();
            its.operation.number += index * self.step;
            (start..start + self.part, its)
        })
    }

    /// Splits it into the parts before, of and after these bytes.
    fn split(&self, bytes: &Range<u64>) -> [Self; 3] {
        let parts = self.len();
        let before = bytes.start.saturating_sub(self.bytes.start) / self.part;
        let until = bytes.end.saturating_sub(self.bytes.start).div_ceil(self.part);
        let (before, until) = (before.min(parts), until.min(parts));
        [0..before, before..until, until..parts].map(|its| {
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
pub(crate) struct AllSeries(Vec<Series>);

impl AllSeries {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn number(&self) -> usize {
        self.0.len()
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
        let (mut earlier, mut own) = (None, None);
        for (index, series) in self.0.iter().enumerate() {
            if series.begins_with(bytes) {
                earlier = Some(index);
            } else if series.goes_on_with(bytes, next, write) {
                own = Some(index);
            }
        }
        match earlier {
            Some(earlier) => {
                let Series { first, .. } = &self.0[earlier];
                let is_over = first.is_over();
                let gives_way = next.comes_after(first) && (write || !first.write() || is_over);
                let has_room = own.is_some() || self.0.len() < MOST;
                if !gives_way || !has_room || first.progress.has_failed() || next.is(first) {
                    return false;
                }
                if !is_over {
                    replaced.push(Replaced::one(part, bytes, first.clone()));
                }
                self.0[earlier].skip(1);
            }
            None if own.is_none() || self.index_at(bytes).is_some() || !is_free() => return false,
            None => {}
        }
        match own {
            Some(own) => self.0[own].go_on(bytes, next.number),
            None => self.0.push(Series::of(bytes.clone(), next.to_use(write))),
        }
        if let Some(earlier) = earlier.filter(|&earlier| self.0[earlier].is_empty()) {
            self.0.swap_remove(earlier);
        }
        true
    }

    /// Adds the next operation's use of bytes that have no other use, if it goes on with one of them.
    pub(crate) fn go_on(&mut self, bytes: &Range<u64>, (next, write): (&Next<'_>, bool)) -> bool {
        let own = self.0.iter_mut().find(|series| series.goes_on_with(bytes, next, write));
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
        let begins = self.0.len() < MOST && series.goes_on_with(bytes, next, write);
        if begins {
            series.go_on(bytes, next.number);
            self.0.push(series);
        }
        begins
    }

    /// One of those that these bytes have a share in.
    fn index_at(&self, bytes: &Range<u64>) -> Option<usize> {
        self.0.iter().position(|series| series.bytes.start < bytes.end && bytes.start < series.bytes.end)
    }

    /// Takes the parts out that these bytes have a share in, each with its use.
    pub(crate) fn take(&mut self, bytes: &Range<u64>) -> Vec<(Range<u64>, Use)> {
        let mut parts = Vec::new();
        while let Some(index) = self.index_at(bytes) {
            let [before, within, after] = self.0.swap_remove(index).split(bytes);
            parts.extend(within.parts());
            for rest in [before, after].into_iter().filter(|rest| !rest.is_empty()) {
                match self.0.len() < MOST {
                    true => self.0.push(rest),
                    false => parts.extend(rest.parts()),
                }
            }
        }
        parts
    }

    /// Forgets the uses that are over. The errors of those that were to write and failed are added to `failures`.
    pub(crate) fn forget_over(&mut self, failures: &mut Failures) {
        self.0.retain_mut(|series| {
            series.forget_over(failures);
            !series.is_empty()
        });
    }

    /// The last use of each.
    pub(crate) fn last(&self) -> impl Iterator<Item = Use> + '_ {
        self.0.iter().map(|series| {
            let mut last = series.first.clone();
            last.operation.number = series.last;
            last
        })
    }
}
