//! [`Allocations`]: the memory of a device that operations may use, by address.

use std::ops::Range;
use std::sync::{Arc, Weak};

use super::uses::Memory;

// Note 42: memory may be lent more than once.
/// The allocations by first address and by a number. The number tells apart those with the same first
/// address, since memory may be lent more than once.
#[derive(Default)]
pub(crate) struct Allocations {
    /// In that order.
    all: Vec<Allocation>,
    /// The number of allocations that were added so far.
    added: u64,
    /// Whether some of them have bytes in common.
    overlap: bool,
}

struct Allocation {
    start: u64,
    number: u64,
    end: u64,
    memory: Weak<dyn Memory>,
}

/// Memory, and some of its bytes by address.
pub(crate) type Found = (Arc<dyn Memory>, Range<u64>);

impl Allocations {
    /// Those that begin before an address.
    fn before(&self, address: u64) -> &[Allocation] {
        &self.all[..self.all.partition_point(|allocation| allocation.start < address)]
    }

    /// Those that begin there or before.
    fn up_to(&self, address: u64) -> &[Allocation] {
        &self.all[..self.all.partition_point(|allocation| allocation.start <= address)]
    }

    /// Adds memory, and returns its number.
    pub(crate) fn add(&mut self, bytes: Range<u64>, memory: Weak<dyn Memory>) -> u64 {
        // Among allocations that do not overlap, the last one that begins before the end reaches furthest.
        self.overlap |= self.before(bytes.end).last().is_some_and(|earlier| earlier.end > bytes.start);
        self.added += 1;
        let (number, after) = (self.added, self.up_to(bytes.start).len());
        self.all.insert(after, Allocation { start: bytes.start, number, end: bytes.end, memory });
        number
    }

    pub(crate) fn remove(&mut self, start: u64, number: u64) {
        let is_before = |allocation: &Allocation| (allocation.start, allocation.number) < (start, number);
        let index = self.all.partition_point(is_before);
        if self.all.get(index).is_some_and(|found| (found.start, found.number) == (start, number)) {
            self.all.remove(index);
        }
        if self.overlap {
            let mut reached = 0;
            self.overlap = self.all.iter().any(|allocation| {
                let overlaps = allocation.start < reached;
                reached = reached.max(allocation.end);
                overlaps
            });
        }
    }

    pub(crate) fn overlap(&self) -> bool {
        self.overlap
    }

    /// All memory that contains some of these bytes, with those bytes.
    pub(crate) fn overlapping(&self, bytes: &Range<u64>) -> Vec<Found> {
        let before = self.before(bytes.end).iter().filter(|allocation| bytes.start < allocation.end);
        let found = |allocation: &Allocation| {
            allocation.memory.upgrade().map(|memory| (memory, allocation.start..allocation.end))
        };
        before.filter_map(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::pending::Uses;

    struct Some0(Uses);

    impl Memory for Some0 {
        fn uses(&self) -> &Uses {
            &self.0
        }

        fn is_on_host(&self) -> bool {
            false
        }
    }

    #[test]
    fn memory_is_found_by_the_bytes_that_it_has() {
        let memory: [Arc<dyn Memory>; 4] = std::array::from_fn(|_| Arc::new(Some0(Uses::default())) as _);
        let weak = |index: usize| Arc::downgrade(&memory[index]);
        let index_of = |found: &Arc<dyn Memory>| {
            memory.iter().position(|known| std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(found)))
        };
        let mut all = Allocations::default();
        let whole = all.add(100..200, weak(0));
        all.add(200..300, weak(1));
        assert!(!all.overlap());
        // A part, and all of the memory once more.
        let part = all.add(120..130, weak(2));
        let again = all.add(100..200, weak(3));
        assert!(all.overlap());
        let overlapping = |all: &Allocations, bytes: Range<u64>| {
            let found = all.overlapping(&bytes);
            found.iter().filter_map(|(memory, _)| index_of(memory)).collect::<Vec<_>>()
        };
        assert_eq!(overlapping(&all, 129..201), [0, 3, 2, 1]);
        assert_eq!(overlapping(&all, 130..131), [0, 3]);
        all.remove(100, whole);
        assert_eq!(overlapping(&all, 129..130), [3, 2]);
        all.remove(100, again);
        assert_eq!((all.overlap(), overlapping(&all, 119..130)), (false, vec![2]));
        all.remove(120, part);
        assert_eq!(overlapping(&all, 0..1000), [1]);
        // Nothing is left of two of no bytes at the last address.
        let last = [0, 2].map(|index| all.add(u64::MAX..u64::MAX, weak(index)));
        last.into_iter().for_each(|number| all.remove(u64::MAX, number));
        assert_eq!(all.all.len(), 1);
    }
}
