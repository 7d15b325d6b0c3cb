//! [`Sampling`]: the chunks whose operations a profile times.
//!
//! Recording an event with a timestamp takes the host two microseconds or more. If the device has enough to
//! do meanwhile, nobody waits for that. If it waits for the host, or has to record additional events between
//! its copies, the whole run takes longer. Then only some chunks are timed, a few consecutive ones at a time,
//! which shows how they overlap, and only so many that a given share of the run's time is spent on them. The
//! times of the other operations are calculated from these (`between`).

use std::cell::Cell;

use crate::base::plan::{OperationKind, OperationPlan, Plan};
use crate::driver::Nanos;
use crate::engine::arguments::HostArgument;
use crate::engine::chunks::costs::is_mapped;
use crate::engine::targets::timed::observed::way;

// Note 36: a profile times only some chunks where the run would wait for it.
/// The share of a run's time that is spent on timestamps, if the run waits for the host.
const SHARE: f64 = 0.01;

/// The share if kernels work on the host's memory. With an event between two kernels, the second waits until
/// the first one's writes are over the link, which takes longer than the host's work.
const MAPPED_SHARE: f64 = 0.002;

/// Chunks with fewer bytes each way are done before a host that has other things to do has timed them.
const SMALL: usize = 2 << 20;

/// The smallest and the largest number of consecutive chunks that are timed.
const WINDOW: [usize; 2] = [2, 4];

/// The number of times for which events are made beforehand; further ones are made on the way.
const MANY: usize = 8;

/// The choice of timed chunks.
pub(crate) struct Sampling {
    /// The share of the run's time that timing may take; `None` if every chunk is timed.
    share: Option<f64>,
    /// Ring slots.
    pub(crate) depth: usize,
    window: usize,
    /// The chunk from which as many are timed once more, whatever it costs: each ring slot is in use again.
    second: usize,
    /// Whether the current chunk is timed.
    is_timed: Cell<bool>,
    /// The time that timing has taken so far.
    spent: Cell<Nanos>,
    /// The same time when the current window began.
    before: Cell<Nanos>,
    /// The time that timing the last timed window has taken.
    each: Cell<Nanos>,
}

impl Sampling {
    /// `share`: 0 to 1.
    pub(crate) fn new(share: Option<f64>, depth: usize) -> Self {
        let share = share.filter(|share| *share < 1.0);
        let [least, most] = WINDOW;
        let window = depth.clamp(least, most);
        let second = depth.saturating_mul(2).next_multiple_of(window);
        let [spent, before, each] = [(); 3].map(|()| Cell::new(0.0));
        Self { share, depth, window, second, is_timed: Cell::new(true), spent, before, each }
    }

    /// Begins another chunk, other than the first.
    pub(crate) fn begin(&self, chunk: usize, now: impl FnOnce() -> Nanos) {
        let Some(share) = self.share.filter(|_| chunk.is_multiple_of(self.window)) else { return };
        if self.is_timed.get() {
            self.each.set(self.spent.get() - self.before.get());
        }
        self.before.set(self.spent.get());
        let affords = || self.spent.get() + self.each.get() <= share * now();
        self.is_timed.set(chunk == self.second || affords());
    }

    /// The number out of `chunks` chunks that are likely to be timed.
    pub(crate) fn most(&self, chunks: usize) -> usize {
        if self.counts() { chunks.min(MANY * self.window) } else { chunks }
    }

    /// Whether the current chunk is timed.
    pub(crate) fn is_timed(&self) -> bool {
        self.is_timed.get()
    }

    /// Whether the time that timing takes matters.
    pub(crate) fn counts(&self) -> bool {
        self.share.is_some()
    }

    /// Adds the time that a timestamp has taken.
    pub(crate) fn took(&self, time: Nanos) {
        self.spent.set(self.spent.get() + time);
    }
}

/// The share of a run's time that a profile may take: `None` if the device has enough to do meanwhile.
///
/// `stages`: whether the host has copies of its own to make. `spread`: whether stages whose streams a run
/// chooses have one for each slot. `chunk`: its items.
pub(crate) fn share(
    plan: &Plan,
    hosts: &[HostArgument<'_>],
    (stages, spread): (bool, bool),
    (depth, chunk): (usize, usize),
) -> Option<f64> {
    if is_mapped(plan) {
        return Some(MAPPED_SHARE);
    }
    let copies =
        |to_host| plan.operations.iter().filter(move |operation| way(operation.kind) == Some(to_host));
    let bytes = |to_host| {
        let bytes = copies(to_host).map(|operation| match operation.kind {
            OperationKind::Upload { host, .. } | OperationKind::Download { host, .. } => hosts
                .get(host)
                .map_or(0, |HostArgument { shape, .. }| shape.items(chunk).saturating_mul(shape.bytes())),
            _ => 0,
        });
        bytes.fold(0, usize::saturating_add)
    };
    let is_small = bytes(false).max(bytes(true)) < SMALL;
    let on_a_slots = |operation: &OperationPlan| plan.streams[operation.stream].is_per_slot(spread);
    let by_slot = copies(false).chain(copies(true)).any(on_a_slots);
    (stages || depth == 1 || is_small || by_slot).then_some(SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The indices of the timed chunks, if each takes 10 us and timing it 5 us more.
    fn timed(share: Option<f64>, depth: usize, chunks: usize) -> Vec<usize> {
        let sampling = Sampling::new(share, depth);
        let (mut now, mut timed) = (0.0, Vec::new());
        for chunk in 0..chunks {
            if chunk > 0 {
                sampling.begin(chunk, || now);
            }
            now += 10e3;
            if sampling.is_timed() {
                sampling.took(5e3);
                now += 5e3;
                timed.push(chunk);
            }
        }
        timed
    }

    #[test]
    fn every_chunk_is_timed_where_it_costs_nothing() {
        assert_eq!(timed(None, 3, 100), (0..100).collect::<Vec<_>>());
        assert_eq!(timed(Some(1.0), 3, 100), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn no_more_time_is_spent_than_the_share() {
        for (share, depth) in [(0.02, 1), (0.02, 3), (0.1, 4), (0.3, 1024)] {
            let count = timed(Some(share), depth, 10_000).len() as f64;
            let (spent, all) = (count * 5e3, 10_000.0 * 10e3 + count * 5e3);
            assert!(
                (0.9 * share..=share + 2.0 * WINDOW[1] as f64 * 5e3 / all).contains(&(spent / all)),
                "{share}, {depth}: {count}"
            );
        }
        assert_eq!(timed(Some(0.0), 3, 1000), [0, 1, 2, 6, 7, 8]);
    }

    #[test]
    fn chunks_are_timed_a_few_at_a_time() {
        let timed = timed(Some(0.05), 3, 300);
        assert!(timed.len() > 20, "{timed:?}");
        assert!(timed.chunks(3).all(|window| window[0] % 3 == 0 && window[2] == window[0] + 2), "{timed:?}");
    }
}
