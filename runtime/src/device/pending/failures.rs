//! [`Failures`]: the bytes of an allocation that a failed operation was to write, with its error.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::base::error::Error;

// Note 41: failures belong to bytes.
/// The end of each range of failed bytes, by first byte, and the error of the last operation that was to
/// write them. The ranges do not overlap.
#[derive(Debug, Default)]
pub(crate) struct Failures(BTreeMap<u64, (u64, Error)>);

impl Failures {
    /// Notes that an operation that was to write these bytes has failed.
    pub(crate) fn add(&mut self, bytes: Range<u64>, error: Error) {
        if bytes.is_empty() {
            return;
        }
        self.remove(&bytes);
        self.0.insert(bytes.start, (bytes.end, error));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes that these bytes were written.
    pub(crate) fn remove(&mut self, bytes: &Range<u64>) {
        if self.0.is_empty() || bytes.is_empty() {
            return;
        }
        for border in [bytes.start, bytes.end] {
            let before = self.0.range_mut(..border).next_back();
            if let Some((end, error)) = before.map(|(_, failed)| failed).filter(|(end, _)| border < *end) {
                let rest = (std::mem::replace(end, border), error.clone());
                self.0.insert(border, rest);
            }
        }
        while let Some((&start, _)) = self.0.range(bytes.clone()).next() {
            self.0.remove(&start);
        }
    }

    /// The failures among these bytes.
    pub(crate) fn within(&self, bytes: &Range<u64>) -> Vec<(Range<u64>, Error)> {
        let before_end = self.0.range(..bytes.end).filter(|(_, (end, _))| bytes.start < *end);
        let clipped = |(&start, (end, error)): (&u64, &(u64, Error))| {
            (start.max(bytes.start)..(*end).min(bytes.end), error.clone())
        };
        before_end.map(clipped).collect()
    }

    /// The error of the first of these bytes that is part of a failure.
    pub(crate) fn first(&self, bytes: &Range<u64>) -> Option<Error> {
        if bytes.is_empty() {
            return None;
        }
        let within = self.0.range(bytes.clone()).next();
        let before = self.0.range(..bytes.start).next_back().filter(|(_, (end, _))| bytes.start < *end);
        before.or(within).map(|(_, (_, error))| error.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::Detail;

    fn error(number: usize) -> Error {
        Detail::CopyLength { from: number, to: 0 }.into()
    }

    fn first(failures: &Failures, bytes: Range<u64>) -> Option<usize> {
        failures.first(&bytes).map(|error| match error.detail() {
            Detail::CopyLength { from, .. } => *from,
            _ => panic!("{error}"),
        })
    }

    #[test]
    fn bytes_that_are_written_are_well_and_others_are_not() {
        let mut failures = Failures::default();
        failures.add(10..20, error(1));
        failures.add(30..40, error(2));
        assert_eq!((first(&failures, 0..10), first(&failures, 20..30)), (None, None));
        assert_eq!((first(&failures, 0..11), first(&failures, 19..31)), (Some(1), Some(1)));
        assert_eq!((first(&failures, 15..15), first(&failures, 20..31)), (None, Some(2)));
        failures.remove(&(12..14));
        assert_eq!((first(&failures, 12..14), first(&failures, 11..13)), (None, Some(1)));
        assert_eq!(first(&failures, 13..15), Some(1));
        failures.remove(&(0..12));
        failures.remove(&(14..35));
        assert_eq!((first(&failures, 0..35), first(&failures, 0..36)), (None, Some(2)));
        assert_eq!(
            failures
                .within(&(0..38))
                .into_iter()
                .map(|(bytes, _)| (bytes.start, bytes.end))
                .collect::<Vec<_>>(),
            [(35, 38)]
        );
        failures.add(0..100, error(3));
        assert_eq!((first(&failures, 36..37), failures.0.len()), (Some(3), 1));
    }

    #[test]
    fn nothing_is_no_byte() {
        let mut failures = Failures::default();
        failures.add(10..20, error(1));
        failures.remove(&(15..15));
        assert_eq!((first(&failures, 10..20), failures.0.len()), (Some(1), 1));
    }
}
