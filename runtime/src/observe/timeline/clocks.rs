//! The clocks of ranks beside each other: when each rank's run began by the clock of rank 0's.

use std::collections::HashMap;
use std::time::Duration;

use super::axis::nanoseconds;
use super::{Engine, Span, Timeline};
use crate::base::collective::CollectiveKind;
use crate::base::plan::{OperationKind, Plan};

/// A collective of a run: its operation, its chunk, and which of the operation's in that chunk.
type Which = (usize, usize, usize);

/// When each rank's run began, in nanoseconds after the first one to begin.
///
/// A collective that every rank needs everything of ends on all of them at once. So the clock of a rank is off by the
/// median of what the ends of these differ from those on rank 0. Without any, all runs begin at once.
pub(super) fn begins(ranks: &[Timeline]) -> Vec<u64> {
    let Some(first) = ranks.first() else { return Vec::new() };
    // Each prediction begins when the ranks have agreed.
    if ranks.iter().any(|rank| rank.predicted) {
        return vec![0; ranks.len()];
    }
    let of_all = |rank| ends(rank, ends_at_once);
    let of_any = |rank| ends(rank, |_| true);
    let (all, any) = (of_all(first), of_any(first));
    let behind = ranks
        .iter()
        .map(|rank| offset(&all, &of_all(rank)).or_else(|| offset(&any, &of_any(rank))).unwrap_or_default());
    let behind: Vec<i128> = behind.collect();
    let least = behind.iter().min().copied().unwrap_or_default();
    behind.iter().map(|offset| u64::try_from(offset - least).unwrap_or(u64::MAX)).collect()
}

/// The median of the time from each end on a rank to the same one on rank 0; `None` if they have none in common.
fn offset(first: &HashMap<Which, u64>, other: &HashMap<Which, u64>) -> Option<i128> {
    let both = other.iter().filter_map(|(which, end)| Some((first.get(which)?, end)));
    let mut offsets: Vec<i128> = both.map(|(first, other)| i128::from(*first) - i128::from(*other)).collect();
    offsets.sort_unstable();
    let middle = offsets.len() / 2;
    let (upper, lower) = (offsets.get(middle)?, offsets.get(offsets.len().saturating_sub(1) / 2)?);
    Some((upper + lower).div_euclid(2))
}

/// How long each rank is in collectives before the last one has come to them.
pub(super) fn waits(ranks: &[Timeline]) -> Vec<Duration> {
    let begins: Vec<HashMap<Which, Duration>> = ranks
        .iter()
        .map(|rank| collectives(rank, ends_at_once).map(|(which, span)| (which, span.start)).collect())
        .collect();
    let mut last: HashMap<Which, Duration> = HashMap::new();
    for (which, begin) in begins.iter().flatten() {
        let last = last.entry(*which).or_default();
        *last = (*last).max(*begin);
    }
    let wait = |(which, begin): (&Which, &Duration)| last.get(which).map(|last| last.saturating_sub(*begin));
    begins
        .iter()
        .map(|begins| begins.iter().filter_map(wait).fold(Duration::ZERO, Duration::saturating_add))
        .collect()
}

/// The ends of the collectives of a timeline that were timed.
fn ends(timeline: &Timeline, counts: fn(CollectiveKind) -> bool) -> HashMap<Which, u64> {
    let timed = collectives(timeline, counts).filter(|(_, span)| !span.estimated);
    timed.map(|(which, span)| (which, nanoseconds(span.end))).collect()
}

/// The collectives of a timeline.
fn collectives(
    timeline: &Timeline,
    counts: fn(CollectiveKind) -> bool,
) -> impl Iterator<Item = (Which, &Span)> {
    let of_it = move |span: &&Span| {
        span.engine == Engine::Network && kind(timeline.plan, span.operation).is_some_and(counts)
    };
    let mut before: HashMap<(usize, usize), usize> = HashMap::new();
    timeline.spans.iter().filter(of_it).map(move |span| {
        let next = before.entry((span.operation, span.chunk)).or_default();
        let number = *next;
        *next += 1;
        ((span.operation, span.chunk, number), span)
    })
}

fn kind(plan: &Plan, operation: usize) -> Option<CollectiveKind> {
    match plan.operations.get(operation)?.kind {
        OperationKind::Collective { collective } => Some(collective),
        _ => None,
    }
}

/// Whether no rank is done before all have come.
fn ends_at_once(kind: CollectiveKind) -> bool {
    match kind {
        CollectiveKind::AllReduce
        | CollectiveKind::AllGather
        | CollectiveKind::ReduceScatter
        | CollectiveKind::AllToAll
        | CollectiveKind::Barrier => true,
        CollectiveKind::Reduce
        | CollectiveKind::Broadcast
        | CollectiveKind::Gather
        | CollectiveKind::Scatter
        | CollectiveKind::Pass
        | CollectiveKind::Exchange => false,
    }
}
