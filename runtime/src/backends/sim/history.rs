//! The accesses to the bytes of one allocation, as the race checker remembers them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::order::{Moment, Order};
use crate::driver::Tag;

/// One command that reads or writes some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accessor {
    pub moment: Moment,
    pub tag: Tag,
}

/// A run of bytes with the same past.
///
/// An access that comes before a later one of at least its weight need not be kept: an access that is
/// unordered with the first is unordered with the second too. So one write is kept, and for each stream one
/// read since then.
#[derive(Debug, Clone)]
struct Segment {
    end: usize,
    write: Option<Accessor>,
    reads: Vec<Accessor>,
}

/// An earlier access that nothing orders with a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict {
    pub earlier: Tag,
    pub earlier_writes: bool,
}

/// The accesses to one allocation, by address, except those that the host has waited for.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The segments by first byte. They do not overlap.
    segments: BTreeMap<usize, Segment>,
}

impl History {
    /// Notes an access. Returns the earlier access that it races with, if there is one.
    pub(crate) fn access(
        &mut self,
        order: &Order,
        bytes: Range<usize>,
        write: bool,
        accessor: Accessor,
    ) -> Option<Conflict> {
        self.split(bytes.start);
        self.split(bytes.end);
        let mut conflict = None;
        let mut covered = bytes.start;
        let mut gaps = Vec::new();
        for (&start, segment) in self.segments.range_mut(bytes.clone()) {
            conflict = conflict.or_else(|| segment.conflict(order, write, accessor.moment));
            if !write {
                if covered < start {
                    gaps.push(covered..start);
                }
                covered = segment.end;
                segment.read(order, accessor);
            }
        }
        if write {
            self.replace(bytes, accessor);
        } else {
            if covered < bytes.end {
                gaps.push(covered..bytes.end);
            }
            for gap in gaps {
                let segment = Segment { end: gap.end, write: None, reads: vec![accessor] };
                self.segments.insert(gap.start, segment);
            }
        }
        conflict
    }

    /// The commands that the host has not waited for yet: the last to write, and those that have read since.
    pub(crate) fn users(&self, order: &Order) -> Vec<Tag> {
        let mut tags = Vec::new();
        for segment in self.segments.values() {
            for accessor in segment.write.iter().chain(&segment.reads) {
                if !order.is_over(accessor.moment) && !tags.contains(&accessor.tag) {
                    tags.push(accessor.tag);
                }
            }
        }
        tags
    }

    /// Forgets everything, since the host has waited for all of it.
    pub(crate) fn clear(&mut self) {
        self.segments.clear();
    }

    /// Makes `at` the border of two segments, if it lies within one.
    fn split(&mut self, at: usize) {
        let before = self.segments.range_mut(..at).next_back();
        if let Some((_, segment)) = before.filter(|(_, segment)| at < segment.end) {
            let rest = segment.clone();
            segment.end = at;
            self.segments.insert(at, rest);
        }
    }

    /// Puts one segment with one write in place of all segments within `bytes`.
    fn replace(&mut self, bytes: Range<usize>, accessor: Accessor) {
        let same = self.segments.get_mut(&bytes.start).filter(|segment| segment.end == bytes.end);
        if let Some(segment) = same {
            segment.write = Some(accessor);
            segment.reads.clear();
            return;
        }
        while let Some((&start, _)) = self.segments.range(bytes.clone()).next() {
            self.segments.remove(&start);
        }
        let segment = Segment { end: bytes.end, write: Some(accessor), reads: Vec::new() };
        self.segments.insert(bytes.start, segment);
    }
}

impl Segment {
    fn conflict(&self, order: &Order, write: bool, moment: Moment) -> Option<Conflict> {
        let unordered = |accessor: &&Accessor| !order.is_before(accessor.moment, moment.lane);
        if let Some(earlier) = self.write.iter().find(unordered) {
            return Some(Conflict { earlier: earlier.tag, earlier_writes: true });
        }
        if !write {
            return None;
        }
        let earlier = self.reads.iter().find(unordered)?;
        Some(Conflict { earlier: earlier.tag, earlier_writes: false })
    }

    fn read(&mut self, order: &Order, accessor: Accessor) {
        self.reads.retain(|earlier| !order.is_before(earlier.moment, accessor.moment.lane));
        self.reads.push(accessor);
    }
}
