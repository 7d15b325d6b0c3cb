//! The edges that the hazards demand, before any is found to be implied.

use std::collections::BTreeMap;

use super::program::{OpId, Program, StorageId, StorageKind};

// Note 3: waits that some depth needs are kept.
/// How many chunks lie between the two ends of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// Both ends are in the same chunk.
    Same,
    /// The first end is in the chunk before.
    Previous,
    /// The first end is in the chunk that last used this ring slot, `D` chunks before.
    ///
    /// The depth `D >= 1` stays symbolic, so that one proof covers every depth.
    Reuse,
}

/// The mistake if two conflicting operations run in the other order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hazard {
    /// The second would read before the first has written.
    ReadAfterWrite,
    /// The second would overwrite what the first has yet to read.
    WriteAfterRead,
    /// The first would overwrite what the second has written.
    WriteAfterWrite,
}

/// One reason for an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cause {
    /// The storage that both ends touch.
    pub storage: StorageId,
    /// The hazard that the edge prevents there.
    pub hazard: Hazard,
}

/// An order between two operations: `to` of any chunk starts after `from`, `distance` chunks before, is
/// complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The operation that must be complete.
    pub from: OpId,
    /// The operation that must not start before.
    pub to: OpId,
    /// How many chunks before `to` the instance of `from` is.
    pub distance: Distance,
    /// Why, sorted by storage, then hazard; empty for an order that no hazard demands.
    pub causes: Vec<Cause>,
}

impl Edge {
    /// Whether, when a wait for `from` is enqueued before `to`, the event's latest record is the one that
    /// this edge means.
    ///
    /// There is one event for an operation and a slot, so a wait for an earlier chunk that used the slot must
    /// come before this chunk's own record. With a depth of 1 the previous chunk is such a chunk.
    pub fn finds_its_record(&self) -> bool {
        match self.distance {
            Distance::Same => self.from < self.to,
            Distance::Previous | Distance::Reuse => self.from >= self.to,
        }
    }
}

/// The order that the conflicts of `program` demand, each conflict at its nearest distance.
///
/// The edges are sorted by `from`, `distance`, `to`. Conflicts further apart follow: one of two conflicting
/// operations writes, so it conflicts with itself in the next chunk that uses the storage, and so on.
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
/// let edges: Vec<_> = required(&program).iter().map(|e| (e.from.0, e.to.0, e.distance)).collect();
/// assert_eq!(edges, [
///     (0, 1, Distance::Same),
///     (0, 0, Distance::Reuse),
///     (0, 1, Distance::Reuse),
///     (1, 0, Distance::Reuse),
/// ]);
/// ```
pub fn required(program: &Program) -> Vec<Edge> {
    let mut edges: BTreeMap<(OpId, Distance, OpId), Vec<Cause>> = BTreeMap::new();
    // Storages in ascending order make each edge's causes sorted.
    for (storage, uses) in uses_by_storage(program).iter().enumerate() {
        let later = match program.storages[storage] {
            StorageKind::Ring => Some(Distance::Reuse),
            StorageKind::Shared => Some(Distance::Previous),
            StorageKind::Host => None,
        };
        let storage = StorageId(storage as u32);
        for first in uses {
            for second in uses {
                let causes = || hazards(first, second).map(|hazard| Cause { storage, hazard });
                if first.op < second.op && causes().next().is_some() {
                    edges.entry((first.op, Distance::Same, second.op)).or_default().extend(causes());
                }
                if let Some(distance) = later
                    && causes().next().is_some()
                {
                    edges.entry((first.op, distance, second.op)).or_default().extend(causes());
                }
            }
        }
    }
    edges.into_iter().map(|((from, distance, to), causes)| Edge { from, to, distance, causes }).collect()
}

/// The use of one storage by one operation, all its accesses together.
struct Use {
    op: OpId,
    reads: bool,
    writes: bool,
}

fn uses_by_storage(program: &Program) -> Vec<Vec<Use>> {
    let mut uses: Vec<Vec<Use>> = program.storages.iter().map(|_| Vec::new()).collect();
    for (op, operation) in program.ops.iter().enumerate() {
        let op = OpId::from_index(op);
        for access in &operation.accesses {
            let uses = &mut uses[access.storage.0 as usize];
            match uses.last_mut() {
                Some(last) if last.op == op => {
                    last.reads |= access.reads;
                    last.writes |= access.writes;
                }
                _ => uses.push(Use { op, reads: access.reads, writes: access.writes }),
            }
        }
    }
    uses
}

fn hazards(first: &Use, second: &Use) -> impl Iterator<Item = Hazard> {
    [
        (first.writes && second.reads, Hazard::ReadAfterWrite),
        (first.reads && second.writes, Hazard::WriteAfterRead),
        (first.writes && second.writes, Hazard::WriteAfterWrite),
    ]
    .into_iter()
    .filter_map(|(present, hazard)| present.then_some(hazard))
}
