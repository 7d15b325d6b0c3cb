//! Shortest paths through stream order and waits, to say what implies an edge.

use std::collections::VecDeque;

use super::program::OpId;
use super::required::Distance;
use super::streams::{StreamOrder, Waiting};

/// The link of one step of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Link {
    /// Both operations run on one stream.
    Stream,
    /// The second waits for an event of the first.
    Wait,
}

/// One step of the path that implies an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// The operation it leaves.
    pub from: OpId,
    /// The operation it reaches.
    pub to: OpId,
    /// How many chunks later that is.
    pub distance: Distance,
    /// The link that orders the two.
    pub link: Link,
}

/// The shortest paths from one operation to all that it is ordered before at one distance.
pub(super) struct Paths<'a> {
    streams: &'a StreamOrder,
    waiting: &'a Waiting,
    distance: Distance,
    from: usize,
    /// How each node was first reached. A node is an operation, before the step to the later chunk and after.
    reached: [Vec<Option<Step>>; 2],
    /// For each stream, the place from which on all its operations have been reached.
    covered: [Vec<usize>; 2],
    queue: VecDeque<(usize, bool)>,
}

impl<'a> Paths<'a> {
    pub(super) fn new(
        streams: &'a StreamOrder,
        waiting: &'a Waiting,
        from: OpId,
        distance: Distance,
    ) -> Self {
        let ops = streams.ops().iter().map(Vec::len).sum();
        let lengths: Vec<usize> = streams.ops().iter().map(Vec::len).collect();
        let mut paths = Self {
            streams,
            waiting,
            distance,
            from: from.index(),
            reached: [vec![None; ops], vec![None; ops]],
            covered: [lengths.clone(), lengths],
            queue: VecDeque::from([(from.index(), false)]),
        };
        while let Some((op, crossed)) = paths.queue.pop_front() {
            paths.expand(op, crossed);
        }
        paths
    }

    /// The path to `to`; none if it is not ordered.
    ///
    /// A [`Distance::Reuse`] path may cross by a [`Distance::Previous`] wait: see
    /// [`Why::Path`](super::Why::Path).
    pub(super) fn to(&self, to: OpId) -> Option<Vec<Step>> {
        let mut crossed = self.distance != Distance::Same;
        let mut at = to.index();
        let mut path = Vec::new();
        while crossed || at != self.from {
            let step = self.reached[usize::from(crossed)][at]?;
            path.push(step);
            crossed &= step.distance == Distance::Same;
            at = step.from.index();
        }
        path.reverse();
        Some(path)
    }

    fn expand(&mut self, op: usize, crossed: bool) {
        let place = self.streams.place(op).1;
        self.along_stream(op, place + 1, crossed, Distance::Same);
        self.along_waits(op, crossed, Distance::Same);
        if crossed {
            return;
        }
        if self.streams.crosses(op, self.distance) {
            self.along_stream(op, 0, true, self.distance);
        }
        match self.distance {
            Distance::Same => {}
            Distance::Previous => self.along_waits(op, true, Distance::Previous),
            Distance::Reuse => {
                self.along_waits(op, true, Distance::Reuse);
                self.along_waits(op, true, Distance::Previous);
            }
        }
    }

    fn along_stream(&mut self, op: usize, first: usize, crossed: bool, distance: Distance) {
        let streams = self.streams;
        let stream = streams.place(op).0;
        let covered = &mut self.covered[usize::from(crossed)][stream];
        let end = std::mem::replace(covered, first.min(*covered));
        for &to in streams.ops()[stream].get(first..end).unwrap_or_default() {
            self.reach(op, to, crossed, distance, Link::Stream);
        }
    }

    fn along_waits(&mut self, op: usize, crossed: bool, distance: Distance) {
        let waiting = self.waiting;
        for &to in waiting.on(op, distance) {
            self.reach(op, to, crossed, distance, Link::Wait);
        }
    }

    fn reach(&mut self, from: usize, to: usize, crossed: bool, distance: Distance, link: Link) {
        let reached = &mut self.reached[usize::from(crossed)][to];
        if reached.is_none() {
            let (from, id) = (OpId::from_index(from), OpId::from_index(to));
            *reached = Some(Step { from, to: id, distance, link });
            self.queue.push_back((to, crossed));
        }
    }
}
