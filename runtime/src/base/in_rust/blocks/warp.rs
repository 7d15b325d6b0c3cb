//! Operations of warps: the threads of a block, in the order of their ranks, 32 at a time.

use super::{Block, BlockThread, BlockValue, Private, WARP, of_warp};

impl BlockThread {
    /// The thread's number in its warp, below 32.
    #[inline]
    pub fn lane(self) -> usize {
        self.rank % WARP
    }

    /// The number of its warp in the block.
    #[inline]
    pub fn warp(self) -> usize {
        self.rank / WARP
    }
}

/// Operations of warps are phases, in which each thread gets something from the lanes of its own warp. A warp has 32
/// lanes, but for the last one of a block whose number of threads is no multiple of 32: it has the lanes that are left.
impl<const D: usize> Block<D> {
    /// A phase that gives each thread the value of any lane of its warp, which the second closure names.
    ///
    /// # Panics
    /// If the warp has no such lane.
    #[inline]
    #[track_caller]
    pub fn shuffle<T: BlockValue>(
        &self,
        mut value: impl FnMut(BlockThread) -> T,
        mut lane: impl FnMut(BlockThread) -> usize,
    ) -> Private<T> {
        let mut lanes = Vec::with_capacity(self.threads);
        let mut values = Vec::with_capacity(self.threads);
        self.all(|thread| {
            values.push(value(thread));
            lanes.push(lane(thread));
        });
        let mut shuffled = Vec::with_capacity(self.threads);
        for (rank, lane) in lanes.into_iter().enumerate() {
            self.running.set(Some(rank));
            let warp = warp_of(&values, rank);
            match warp.get(lane) {
                Some(value) => shuffled.push(*value),
                None => panic!("no such lane: the warp has {} but the lane is {lane}", warp.len()),
            }
        }
        self.running.end_phase();
        Private(shuffled)
    }

    /// A phase that gives each thread the value of the lane that is `by` lower than its own. A thread has its own
    /// value if its warp has no such lane.
    #[inline]
    pub fn shuffle_up<T: BlockValue>(&self, value: impl FnMut(BlockThread) -> T, by: usize) -> Private<T> {
        self.shuffled(value, |lane| lane.checked_sub(by))
    }

    /// A phase that gives each thread the value of the lane that is `by` higher than its own. A thread has its own
    /// value if its warp has no such lane.
    #[inline]
    pub fn shuffle_down<T: BlockValue>(&self, value: impl FnMut(BlockThread) -> T, by: usize) -> Private<T> {
        self.shuffled(value, |lane| lane.checked_add(by))
    }

    /// A phase that gives each thread the value of the lane whose number is its own `^ mask`. A thread has its own
    /// value if its warp has no such lane.
    #[inline]
    pub fn shuffle_xor<T: BlockValue>(&self, value: impl FnMut(BlockThread) -> T, mask: usize) -> Private<T> {
        self.shuffled(value, |lane| Some(lane ^ mask))
    }

    #[inline]
    fn shuffled<T: BlockValue>(
        &self,
        value: impl FnMut(BlockThread) -> T,
        from: impl Fn(usize) -> Option<usize>,
    ) -> Private<T> {
        self.of_lanes(value, |warp| {
            let other = |lane| from(lane).and_then(|from| warp.get(from).copied());
            (0..warp.len()).map(|lane| other(lane).unwrap_or(warp[lane])).collect()
        })
    }

    /// A phase that tells each thread for which lanes of its warp `test` holds: bit `i` is that of lane `i`. The bits
    /// of lanes that the warp has not are 0.
    #[inline]
    pub fn ballot(&self, test: impl FnMut(BlockThread) -> bool) -> Private<u32> {
        self.of_lanes(test, |warp| {
            let bits = warp.iter().enumerate().map(|(lane, test)| u32::from(*test) << lane);
            vec![bits.sum(); warp.len()]
        })
    }

    /// A phase that tells each thread whether `test` holds for a thread of its warp.
    #[inline]
    pub fn warp_any(&self, test: impl FnMut(BlockThread) -> bool) -> Private<bool> {
        self.of_lanes(test, |warp| vec![warp.contains(&true); warp.len()])
    }

    /// A phase that tells each thread whether `test` holds for all threads of its warp.
    #[inline]
    pub fn warp_all(&self, test: impl FnMut(BlockThread) -> bool) -> Private<bool> {
        self.of_lanes(test, |warp| vec![!warp.contains(&false); warp.len()])
    }

    /// A phase that gives each thread the values of all threads of its warp, combined in the order in which
    /// [`reduce`](Self::reduce) combines a warp. The order depends on the number of the warp's lanes alone.
    #[inline]
    pub fn warp_reduce<T: BlockValue>(
        &self,
        value: impl FnMut(BlockThread) -> T,
        mut combine: impl FnMut(T, T) -> T,
    ) -> Private<T> {
        self.of_lanes(value, |warp| vec![of_warp(warp, &mut combine); warp.len()])
    }

    /// A phase that gives each thread the values of the lanes of its warp up to its own, combined in the order in
    /// which [`scan`](Self::scan) combines a warp.
    #[inline]
    pub fn warp_scan<T: BlockValue>(
        &self,
        value: impl FnMut(BlockThread) -> T,
        mut combine: impl FnMut(T, T) -> T,
    ) -> Private<T> {
        self.of_lanes(value, |warp| {
            let mut values = warp.to_vec();
            scan_of_warp(&mut values, |_| {}, &mut combine);
            values
        })
    }

    /// A phase in which the threads of each warp get what `give` makes of their values.
    #[inline]
    fn of_lanes<T: BlockValue, R>(
        &self,
        mut value: impl FnMut(BlockThread) -> T,
        mut give: impl FnMut(&[T]) -> Vec<R>,
    ) -> Private<R> {
        let mut values = Vec::with_capacity(self.threads);
        self.all(|thread| values.push(value(thread)));
        let mut given = Vec::with_capacity(self.threads);
        for (warp, values) in values.chunks(WARP).enumerate() {
            self.running.set(Some(warp * WARP));
            given.extend(give(values));
        }
        self.running.end_phase();
        Private(given)
    }
}

/// The values of the warp that a thread is in.
fn warp_of<T>(values: &[T], rank: usize) -> &[T] {
    let first = rank / WARP * WARP;
    &values[first..values.len().min(first + WARP)]
}

/// Combines each of at most 32 values with those before it, from the one 1, 2, 4, 8 and 16 lanes before it on.
/// `running` is told the lane that combines.
#[inline]
pub(super) fn scan_of_warp<T: Copy>(
    values: &mut [T],
    running: impl Fn(usize),
    combine: &mut impl FnMut(T, T) -> T,
) {
    for by in [1, 2, 4, 8, 16] {
        // From the last on, so that each is combined with what the step before has left.
        for lane in (by..values.len()).rev() {
            running(lane);
            values[lane] = combine(values[lane - by], values[lane]);
        }
    }
}
