//! [`Together`]: which kernels are timed several at a time, and how that time is theirs.
//!
//! An event between two kernels that work on the host's memory makes the second wait until what the first has written is all over
//! the link, which is much of what a chunk of a MiB takes. So kernels that follow each other on a stream with nothing
//! between them have one event together, after so many bytes. Each is timed by itself the first time, and where there are several
//! in a chunk in one chunk of many; a common time is shared in the proportion that these have shown.

use super::Timed;
use crate::pipeline::observed::is_mapped;
use crate::pipeline::queue::What;
use crate::plan::{OperationKind, Plan};
use crate::timeline::Engine;

/// Bytes that kernels are given, read and written, from one event to the next: half a millisecond's of a fast link.
const BYTES: u64 = 32 << 20;

/// As many at most, however few bytes they are given.
const MOST: usize = 256;

/// One of so many chunks of a stream is timed kernel by kernel.
const SAMPLED: u64 = 16;

/// Of which kernels the plan lets several be timed at a time.
pub(super) struct Together {
    /// Whether kernels work on the host's memory, as engines that copy do.
    is_mapped: bool,
    /// From a chunk of a stream to the next; `None` if there is one kernel in a chunk, which needs no samples.
    sampled: Option<u64>,
}

/// A part of what was timed at once.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// Those that share have the same number.
    pub(super) group: usize,
    /// Of all of them.
    pub(super) bytes: u64,
}

impl Together {
    pub(super) fn new(plan: &Plan, depth: usize) -> Self {
        let computes = |kind| {
            use OperationKind::{Call, CopyOnDevice, Fill, Launch};
            matches!(kind, Launch { .. } | Fill { .. } | CopyOnDevice { .. } | Call { .. })
        };
        let several = plan.operations.iter().filter(|operation| computes(operation.kind)).count() > 1;
        Self { is_mapped: is_mapped(plan), sampled: several.then_some(depth.max(1) as u64) }
    }

    /// Whether an operation may be timed together with those before it on its stream, which have nothing between them.
    ///
    /// The last one's chunk and engine; how many there are and the bytes of all of them; what comes next.
    pub(super) fn goes_on(
        &self,
        (chunk, engine): (u64, Engine),
        (count, bytes): (usize, u64),
        next: (u64, What),
    ) -> bool {
        let is_sampled =
            |chunk: u64| self.sampled.is_some_and(|depth| (chunk / depth).is_multiple_of(SAMPLED));
        let are_kernels = engine == Engine::Compute && next.1.engine == Engine::Compute;
        self.is_mapped
            && are_kernels
            && count < MOST
            && bytes < BYTES
            && !is_sampled(chunk)
            && !is_sampled(next.0)
    }
}

/// Has kernels that were timed at once take turns: each has its part of the time.
///
/// `shares`: where they are in `timed`, in the order of their streams, each with the number of what it was timed with.
pub(super) fn split(timed: &mut [Timed], shares: &[(usize, usize)]) {
    if shares.is_empty() {
        return;
    }
    // What each of the plan's operations takes for a byte, by those that were timed alone.
    let mut samples: Vec<(f64, f64)> = Vec::new();
    let mut is_shared = vec![false; timed.len()];
    shares.iter().for_each(|&(_, index)| is_shared[index] = true);
    let alone = timed.iter().zip(&is_shared).filter(|(_, is_shared)| !**is_shared);
    for (timed, _) in alone.filter(|(timed, _)| timed.what.engine == Engine::Compute) {
        let operation = timed.tag.operation as usize;
        if samples.len() <= operation {
            samples.resize(operation + 1, (0.0, 0.0));
        }
        samples[operation].0 += timed.end - timed.start;
        samples[operation].1 += timed.what.bytes.max(1) as f64;
    }
    // One that no sample has shown, since the device was too quick to tell, is taken to be like all of them.
    let (time, of) = samples.iter().fold((0.0, 0.0), |sum, sample| (sum.0 + sample.0, sum.1 + sample.1));
    let pace = if time > 0.0 && of > 0.0 { time / of } else { 1.0 };
    let weight = |timed: &Timed| {
        let known = samples.get(timed.tag.operation as usize).filter(|(time, _)| *time > 0.0);
        timed.what.bytes.max(1) as f64 * known.map_or(pace, |(time, of)| time / of)
    };
    let mut shares = shares.to_vec();
    shares.sort_by_key(|&(group, _)| group);
    for group in shares.chunk_by(|a, b| a.0 == b.0) {
        let total: f64 = group.iter().map(|&(_, index)| weight(&timed[index])).sum();
        let mut before = 0.0;
        for &(_, index) in group {
            let of = weight(&timed[index]);
            let Timed { start, end, .. } = timed[index];
            let at = |part: f64| start + (end - start) * (part / total).min(1.0);
            (timed[index].start, timed[index].end) = (at(before), at(before + of));
            before += of;
        }
    }
}
