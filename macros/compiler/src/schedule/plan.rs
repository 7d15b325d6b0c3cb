//! The schedule: the waits that are left when all that others imply are dropped.

use std::collections::BTreeSet;

use super::order::Order;
use super::path::{Paths, Step};
use super::program::{OpId, Program};
use super::required::{Distance, Edge, required};
use super::streams::{StreamOrder, Waiting};

/// Which operations record an event, and which wait for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The waits, sorted by `from`, `distance`, `to`; each is placed right before its `to`.
    pub waits: Vec<Edge>,
    /// The operations that record their slot's event right after them, in program order.
    pub records: Vec<OpId>,
}

impl Schedule {
    /// The waits to enqueue before `op`.
    pub fn waits_of(&self, op: OpId) -> impl Iterator<Item = &Edge> {
        self.waits.iter().filter(move |wait| wait.to == op)
    }
}

/// A required edge that needs no wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Implied {
    /// The edge.
    pub edge: Edge,
    /// The order that its ends already have.
    pub why: Why,
}

/// The reason why an edge is implied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Its ends run on one stream.
    Stream,
    /// The waits of the schedule and stream order, along this shortest path.
    ///
    /// The steps' distances add up to the edge's, with one exception: a [`Distance::Reuse`] edge may follow
    /// from a step at [`Distance::Previous`]. One end of that step writes a storage shared by all chunks, so
    /// it is ordered from chunk to chunk with itself, which fills the rest of the distance.
    Path(Vec<Step>),
}

/// The smallest set of waits that orders every conflict of `program`, whatever the depth.
///
/// ```
/// use thalweg_compiler::schedule::*;
///
/// // A copy into a ring buffer, then a kernel that reads it, each on its own stream.
/// let write = Access { storage: StorageId(0), reads: false, writes: true };
/// let read = Access { storage: StorageId(0), reads: true, writes: false };
/// let program = Program {
///     streams: vec![StreamKind::Fixed, StreamKind::Fixed],
///     storages: vec![StorageKind::Ring],
///     ops: vec![
///         Op { stream: StreamId(0), accesses: vec![write] },
///         Op { stream: StreamId(1), accesses: vec![read] },
///     ],
/// };
/// let plan = schedule(&program);
/// let waits: Vec<_> = plan.waits.iter().map(|e| (e.from.0, e.to.0, e.distance)).collect();
/// assert_eq!(waits, [(0, 1, Distance::Same), (1, 0, Distance::Reuse)]);
/// assert_eq!(plan.records, [OpId(0), OpId(1)]);
/// ```
pub fn schedule(program: &Program) -> Schedule {
    let Reduced { waits, .. } = Reduced::of(program);
    debug_assert!(
        waits.iter().all(Edge::finds_its_record),
        "a wait is enqueued after its event is recorded anew"
    );
    let records: BTreeSet<OpId> = waits.iter().map(|wait| wait.from).collect();
    Schedule { waits, records: records.into_iter().collect() }
}

/// The required edges that need no wait in [`schedule`]'s result, sorted like its waits, each with what
/// implies it.
///
/// Expansions do not need them. They say why a wait is missing, which can be checked.
pub fn implied(program: &Program) -> Vec<Implied> {
    let Reduced { waits, dropped } = Reduced::of(program);
    let streams = StreamOrder::new(program);
    let waiting = Waiting::new(program.ops.len(), &waits);
    let mut paths: Option<(OpId, Distance, Paths<'_>)> = None;
    let mut explained = Vec::with_capacity(dropped.len());
    for edge in dropped {
        if streams.orders(edge.from.index(), edge.to.index(), edge.distance) {
            explained.push(Implied { edge, why: Why::Stream });
            continue;
        }
        // The edges are sorted, so one search serves all that start alike.
        let search = match paths.take() {
            Some((from, distance, search)) if (from, distance) == (edge.from, edge.distance) => search,
            _ => Paths::new(&streams, &waiting, edge.from, edge.distance),
        };
        let path = search.to(edge.to).expect("the waits that are kept imply those that are dropped");
        paths = Some((edge.from, edge.distance, search));
        explained.push(Implied { edge, why: Why::Path(path) });
    }
    explained
}

/// The required edges: those that are kept as waits, and those that the others imply.
struct Reduced {
    waits: Vec<Edge>,
    dropped: Vec<Edge>,
}

impl Reduced {
    fn of(program: &Program) -> Self {
        let required = required(program);
        let order = Order::new(program, &required);
        let (dropped, waits) =
            required.into_iter().partition(|edge| order.implies(edge.from, edge.to, edge.distance));
        Self { waits, dropped }
    }
}
