//! Reachability: which order a set of waits gives, together with the streams' own.

use super::path::{Paths, Step};
use super::program::{OpId, Program};
use super::relation::Relation;
use super::required::{Distance, Edge};
use super::streams::{StreamOrder, Waiting, steps};

/// The order that stream order and a set of waits give, at each distance and for every depth.
///
/// ```
/// use thalweg_compiler::schedule::*;
///
/// // Two operations, each on its own stream.
/// let program = Program {
///     streams: vec![StreamKind::Fixed, StreamKind::Fixed],
///     storages: vec![],
///     ops: vec![
///         Op { stream: StreamId(0), accesses: vec![] },
///         Op { stream: StreamId(1), accesses: vec![] },
///     ],
/// };
/// let wait = Edge { from: OpId(0), to: OpId(1), distance: Distance::Same, causes: vec![] };
/// let order = Order::new(&program, &[wait]);
/// assert!(order.orders(OpId(0), OpId(1), Distance::Same));
/// assert!(order.orders(OpId(0), OpId(1), Distance::Previous)); // stream 0, then the wait
/// assert!(!order.orders(OpId(1), OpId(0), Distance::Previous));
/// ```
#[derive(Debug, Clone)]
pub struct Order {
    streams: StreamOrder,
    waiting: Waiting,
    /// Paths within a chunk, the empty one included.
    same: Relation,
    /// Paths to the next chunk that exist for every depth.
    previous: Relation,
    /// Paths to the next chunk of the same slot that exist for every depth.
    reuse: Relation,
    /// Those of `reuse` that go from chunk to chunk.
    chained: Relation,
}

impl Order {
    /// The order of `program` when `edges` are its waits; their causes do not matter.
    ///
    /// A [`Distance::Same`] edge against program order is left out: the wait would be enqueued before the
    /// record it names.
    pub fn new(program: &Program, edges: &[Edge]) -> Self {
        let size = program.ops.len();
        let streams = StreamOrder::new(program);
        let waiting = Waiting::new(size, edges);
        let close = |mut base: Relation| {
            // Steps lead forward, so a row is complete before an earlier one takes it in.
            for op in (0..size).rev() {
                for step in steps(&streams, &waiting, op) {
                    base.copy_row(op, step);
                }
            }
            base
        };
        let same = close(Relation::identity(size));
        let cross = |distance| {
            let mut base = Relation::empty(size);
            for op in 0..size {
                if streams.crosses(op, distance) {
                    // The first of the stream reaches all the others.
                    base.extend_row(op, &same, streams.first(op));
                }
                for &to in waiting.on(op, distance) {
                    base.extend_row(op, &same, to);
                }
            }
            close(base)
        };
        let previous = cross(Distance::Previous);
        let mut reuse = cross(Distance::Reuse);
        let chained = if waiting.any_at(Distance::Previous) {
            every_power(&previous)
        } else {
            // Only fixed streams cross to the next chunk, and they cross to the next of the slot as well.
            Relation::empty(size)
        };
        reuse.unite(&chained);
        Self { streams, waiting, same, previous, reuse, chained }
    }

    /// Whether `from` is complete before `to`, `distance` chunks later, starts, whatever the depth.
    ///
    /// Within a chunk, an operation counts as ordered with itself.
    pub fn orders(&self, from: OpId, to: OpId, distance: Distance) -> bool {
        self.at(distance).contains(from.index(), to.index())
    }

    /// Whether `from` is so ordered before `to` even without a wait between these two at this distance.
    ///
    /// For a wait of this order it tells whether the wait is redundant.
    pub fn implies(&self, from: OpId, to: OpId, distance: Distance) -> bool {
        let (from, to) = (from.index(), to.index());
        if self.streams.orders(from, to, distance) {
            return true;
        }
        // A path that crosses after its first step. No cycle lies within a chunk, so it cannot use the wait
        // itself, unless it is that wait.
        let at = self.at(distance);
        let mut steps = steps(&self.streams, &self.waiting, from);
        if steps.any(|step| (distance != Distance::Same || step != to) && at.contains(step, to)) {
            return true;
        }
        // A path that crosses with its first step.
        if distance == Distance::Same {
            return false;
        }
        let crosses = self.streams.crosses(from, distance);
        (crosses && self.same.contains(self.streams.first(from), to))
            || self.waiting.on(from, distance).iter().any(|&by| by != to && self.same.contains(by, to))
            || (distance == Distance::Reuse && self.chained.contains(from, to))
    }

    /// The steps that order `from` before `to`; none if nothing does, or only by way of several chunks.
    pub fn path(&self, from: OpId, to: OpId, distance: Distance) -> Option<Vec<Step>> {
        Paths::new(&self.streams, &self.waiting, from, distance).to(to)
    }

    fn at(&self, distance: Distance) -> &Relation {
        match distance {
            Distance::Same => &self.same,
            Distance::Previous => &self.previous,
            Distance::Reuse => &self.reuse,
        }
    }
}

/// The pairs in every power `relation^n`, `n >= 1`.
///
/// Powers are taken until one contains an earlier one. When `R^k` is a subset of `R^n`, `k < n`, then
/// `R^(k+i)` is one of `R^(n+i)`, so each power from `n` on contains one of `k..n`, and those before `n`
/// decide. The edges that hazards demand stop at `n = 2` (see the module's documentation); a set of waits
/// written by hand may take as long as its longest chain.
fn every_power(relation: &Relation) -> Relation {
    // Cycles of coprime lengths repeat only after the product of these. Programs do not have them in
    // practice, so the pairs that are surely in every power suffice there.
    const MOST: usize = 64;

    let mut powers = vec![relation.clone()];
    let mut common = relation.clone();
    for count in 1..MOST {
        if common.is_empty() {
            return common;
        }
        let next = powers[count - 1].then(relation);
        if powers.iter().any(|power| power.is_subset_of(&next)) {
            return common;
        }
        common.intersect(&next);
        powers.push(next);
    }
    // Going round at one end fills any length.
    common.retain(|from, to| relation.contains(from, from) || relation.contains(to, to));
    common
}
