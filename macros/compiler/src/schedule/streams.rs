//! The order that streams give for free, and the successors that waits add to it.

use super::program::{Program, StreamKind};
use super::required::{Distance, Edge};

/// Which operations share a stream, and at which distances that orders them.
#[derive(Debug, Clone)]
pub(super) struct StreamOrder {
    /// The stream of each operation, and its place there.
    places: Vec<(usize, usize)>,
    /// The operations of each stream, in program order.
    ops: Vec<Vec<usize>>,
    kinds: Vec<StreamKind>,
}

impl StreamOrder {
    pub(super) fn new(program: &Program) -> Self {
        let mut ops = vec![Vec::new(); program.streams.len()];
        let mut places = Vec::with_capacity(program.ops.len());
        for (op, operation) in program.ops.iter().enumerate() {
            let stream = operation.stream.0 as usize;
            places.push((stream, ops[stream].len()));
            ops[stream].push(op);
        }
        Self { places, ops, kinds: program.streams.clone() }
    }

    /// The stream of `op`, and its place there.
    pub(super) fn place(&self, op: usize) -> (usize, usize) {
        self.places[op]
    }

    /// The operations of each stream, in program order.
    pub(super) fn ops(&self) -> &[Vec<usize>] {
        &self.ops
    }

    /// The next operation on the stream of `op`.
    pub(super) fn next(&self, op: usize) -> Option<usize> {
        let (stream, place) = self.places[op];
        self.ops[stream].get(place + 1).copied()
    }

    /// The first operation on the stream of `op`.
    pub(super) fn first(&self, op: usize) -> usize {
        self.ops[self.places[op].0][0]
    }

    /// Whether `op` comes before everything that its stream runs `distance` chunks later.
    pub(super) fn crosses(&self, op: usize, distance: Distance) -> bool {
        match distance {
            Distance::Same => false,
            // `D` may be 1, but an order must hold for every `D`.
            Distance::Previous => self.kinds[self.places[op].0] == StreamKind::Fixed,
            Distance::Reuse => true,
        }
    }

    /// Whether stream order alone puts `from` before `to`, `distance` chunks later.
    pub(super) fn orders(&self, from: usize, to: usize, distance: Distance) -> bool {
        let same_stream = self.places[from].0 == self.places[to].0;
        same_stream && ((distance == Distance::Same && from < to) || self.crosses(from, distance))
    }
}

/// For each operation and distance, the operations that wait for it.
#[derive(Debug, Clone)]
pub(super) struct Waiting([Vec<Vec<usize>>; 3]);

impl Waiting {
    pub(super) fn new(ops: usize, edges: &[Edge]) -> Self {
        let mut waiting = [vec![Vec::new(); ops], vec![Vec::new(); ops], vec![Vec::new(); ops]];
        for &Edge { from, to, distance, .. } in edges {
            // Such a wait is enqueued before the record that it names, so it finds an older record or none.
            if distance == Distance::Same && from >= to {
                continue;
            }
            waiting[distance as usize][from.index()].push(to.index());
        }
        Self(waiting)
    }

    /// The operations that wait for `op` of `distance` chunks before.
    pub(super) fn on(&self, op: usize, distance: Distance) -> &[usize] {
        &self.0[distance as usize][op]
    }

    /// Whether anything waits at this distance.
    pub(super) fn any_at(&self, distance: Distance) -> bool {
        self.0[distance as usize].iter().any(|to| !to.is_empty())
    }
}

/// The operations that an edge of the same chunk leads to from `op`, all of them later in program order.
pub(super) fn steps<'a>(
    streams: &StreamOrder,
    waiting: &'a Waiting,
    op: usize,
) -> impl Iterator<Item = usize> + use<'a> {
    let waits = waiting.on(op, Distance::Same).iter().copied();
    streams.next(op).into_iter().chain(waits)
}
