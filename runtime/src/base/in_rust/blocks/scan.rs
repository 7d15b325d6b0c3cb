//! Scans: each thread of a block gets the values of the threads before it, combined.

use std::mem;

use super::warp::scan_of_warp;
use super::{Block, BlockThread, BlockValue, Private, WARP};

/// The order in which a scan combines depends on a thread's rank alone. In a warp, each value is combined with the
/// one 1, 2, 4, 8 and 16 lanes before it. Then those of the warps before are put in front, which are combined one
/// after another.
impl<const D: usize> Block<D> {
    /// A phase that gives each thread the values of all threads up to its own, combined: `sums[t]`.
    ///
    /// It is an inclusive scan. The first argument of `combine` is what comes before the second in the order of the
    /// threads' ranks. It has to be associative, and may not be commutative. Which values are combined first depends
    /// on a thread's rank alone, so that sums of floats are the same on every device. They are not those of a loop.
    #[inline]
    pub fn scan<T: BlockValue>(
        &self,
        value: impl FnMut(BlockThread) -> T,
        mut combine: impl FnMut(T, T) -> T,
    ) -> Private<T> {
        let values = self.scanned(value, &mut combine);
        self.running.end_phase();
        Private(values)
    }

    /// A phase that gives each thread `start`, combined with the values of the threads before its own, which are
    /// combined as [`scan`](Self::scan) does it. The second value is the same for all threads: `start` and the values
    /// of all of them. A block that goes on with more values begins there.
    ///
    /// It is an exclusive scan: the first thread has `start` itself.
    #[inline]
    pub fn scan_exclusive<T: BlockValue>(
        &self,
        start: T,
        value: impl FnMut(BlockThread) -> T,
        mut combine: impl FnMut(T, T) -> T,
    ) -> (Private<T>, T) {
        let mut values = self.scanned(value, &mut combine);
        let mut before = start;
        for (rank, value) in values.iter_mut().enumerate() {
            self.running.set(Some(rank));
            let after = combine(start, *value);
            *value = mem::replace(&mut before, after);
        }
        self.running.end_phase();
        (Private(values), before)
    }

    /// The values of the threads up to each, combined, without the barrier after a phase.
    #[inline]
    fn scanned<T: BlockValue>(
        &self,
        mut value: impl FnMut(BlockThread) -> T,
        combine: &mut impl FnMut(T, T) -> T,
    ) -> Vec<T> {
        let mut values = Vec::with_capacity(self.threads);
        self.all(|thread| values.push(value(thread)));
        let mut before = None;
        for (warp, values) in values.chunks_mut(WARP).enumerate() {
            let running = |lane: usize| self.running.set(Some(warp * WARP + lane));
            scan_of_warp(values, running, combine);
            if let Some(before) = before {
                for (lane, value) in values.iter_mut().enumerate() {
                    running(lane);
                    *value = combine(before, *value);
                }
            }
            before = values.last().copied();
        }
        values
    }
}
