//! The conflicts of a plan: which operations use the same memory, and what orders them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::order::{Node, Order};
use super::{BufferKind, Distance, Hazard, HazardPlan, Memory, Plan};

/// Two operations that use the same memory, at least one of which writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conflict {
    /// The operation that must complete first, as a range of [`Plan::operations`]: one operation, or all of a
    /// `repeat`.
    pub from: Range<usize>,
    /// The operation that must not start before. It equals `from` if an operation conflicts with itself in a
    /// later chunk.
    pub to: Range<usize>,
    /// The chunk of `from`, relative to the chunk of `to`.
    pub distance: Distance,
    /// The memory, and the kinds of hazard.
    pub hazards: Vec<HazardPlan>,
    /// The reason why the two are ordered.
    pub ordered: Ordered,
}

/// The reason why two operations that conflict are ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ordered {
    /// A wait for this conflict, an index into [`Plan::waits`].
    Wait(usize),
    /// A sequence of steps: the streams' order, and waits for other conflicts.
    ///
    /// The steps span as many chunks as the conflict, with one exception: a conflict of distance
    /// [`Distance::Reuse`] may be ordered by a wait of [`Distance::Previous`]. In that case the two
    /// operations also conflict within one chunk, where the second comes before the first. So these steps go
    /// round once for each chunk, whatever the depth.
    Path(Vec<Step>),
    /// Nothing. A pipeline that compiles has no such conflict.
    Nothing,
}

/// One step in the order of two operations.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The operation that completes first.
    pub from: Range<usize>,
    /// The operation that comes after.
    pub to: Range<usize>,
    /// The chunk of `from`, relative to the chunk of `to`.
    pub distance: Distance,
    /// The reason for the step.
    pub link: Link,
}

/// The reason for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Link {
    /// Both are on this stream, an index into [`Plan::streams`].
    Stream(usize),
    /// The second waits for the first, an index into [`Plan::waits`].
    Wait(usize),
}

impl Plan {
    /// Every conflict at its nearest distance, sorted by the first operation, the distance and the second.
    /// Conflicts further apart follow from these.
    ///
    /// An operation in an `if` counts as if every chunk ran it. The operations of a `repeat` count as one,
    /// since they are on one stream, one after another.
    ///
    /// ```
    /// use thalweg::plan::{Distance, Ordered};
    /// use thalweg::prelude::*;
    ///
    /// # stream_pipeline! {
    /// #     pipeline Shift {
    /// #         input x: [f32];
    /// #         output y: [f32];
    /// #         chunk c = 1024;
    /// #         depth = 2;
    /// #         stream up;
    /// #         stream down;
    /// #         stage load on up { copy x -> d; }
    /// #         stage store on down { copy d -> y; }
    /// #     }
    /// # }
    /// let conflicts = Shift::PLAN.conflicts();
    /// // `copy d -> y` reads what `copy x -> d` writes.
    /// let [first, ..] = &conflicts[..] else { panic!("there are some") };
    /// assert_eq!((first.from.start, first.to.start, first.distance), (0, 1, Distance::Same));
    /// assert!(matches!(first.ordered, Ordered::Wait(_)));
    /// assert!(conflicts.iter().all(|conflict| conflict.ordered != Ordered::Nothing));
    /// ```
    pub fn conflicts(&self) -> Vec<Conflict> {
        // Note 60: these are the edges that the compiler's scheduler requires, found anew.
        let order = Order::new(self);
        let mut found: BTreeMap<(Node, Distance, Node), Vec<HazardPlan>> = BTreeMap::new();
        for (memory, uses) in self.uses(&order) {
            let later = self.shared_with(memory);
            let buffer = match memory {
                Memory::Host(host) => self.hosts[host].name,
                Memory::Buffer(buffer) => self.buffers[buffer].name,
            };
            for (&from, first) in &uses {
                for (&to, second) in &uses {
                    let hazards = first.before(second).map(|hazard| HazardPlan { buffer, hazard });
                    let same = (from < to).then_some(Distance::Same);
                    for distance in same.into_iter().chain(later) {
                        found.entry((from, distance, to)).or_default().extend(hazards.clone());
                    }
                }
            }
        }
        found.retain(|_, hazards| !hazards.is_empty());
        // Conflicts with the same first node and distance are adjacent and share a search.
        let mut search = None;
        let conflict = |((from, distance, to), hazards): ((Node, Distance, Node), Vec<HazardPlan>)| {
            let ordered = order.between(from, to, distance, &mut search);
            Conflict { from: order.operations(from), to: order.operations(to), distance, hazards, ordered }
        };
        found.into_iter().map(conflict).collect()
    }

    /// The uses of each memory, by node.
    fn uses(&self, order: &Order<'_>) -> BTreeMap<Memory, BTreeMap<Node, Use>> {
        let mut uses: BTreeMap<Memory, BTreeMap<Node, Use>> = BTreeMap::new();
        for (index, operation) in self.operations.iter().enumerate() {
            for access in operation.accesses {
                let of = uses.entry(access.memory).or_default().entry(order.node_of(index)).or_default();
                of.reads |= access.reads;
                of.writes |= access.writes;
            }
        }
        uses
    }

    /// The distance of the next chunk that uses the same memory; `None` if no other chunk does.
    fn shared_with(&self, memory: Memory) -> Option<Distance> {
        let Memory::Buffer(buffer) = memory else { return None };
        match self.buffers[buffer].kind {
            BufferKind::Ring | BufferKind::HostScratch | BufferKind::CarryPerSlot => Some(Distance::Reuse),
            BufferKind::Resident | BufferKind::Carry => Some(Distance::Previous),
            BufferKind::InPlace { .. } => None,
        }
    }
}

/// How one operation uses one memory.
#[derive(Clone, Copy, Default)]
struct Use {
    reads: bool,
    writes: bool,
}

impl Use {
    /// The hazards if `after` follows.
    fn before(self, after: &Self) -> impl Iterator<Item = Hazard> + Clone {
        [
            (self.writes && after.reads).then_some(Hazard::ReadAfterWrite),
            (self.reads && after.writes).then_some(Hazard::WriteAfterRead),
            (self.writes && after.writes).then_some(Hazard::WriteAfterWrite),
        ]
        .into_iter()
        .flatten()
    }
}
