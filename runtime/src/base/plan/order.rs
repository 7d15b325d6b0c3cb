//! The order that the streams and the waits of a plan establish: a search for the shortest path between two
//! operations.

use std::collections::VecDeque;
use std::ops::Range;

use super::conflicts::{Link, Ordered, Step};
use super::{Distance, Plan};

/// The number of an operation, or of all operations of a `repeat`, in the order in which they are enqueued.
pub(super) type Node = usize;

/// The operations with everything that orders them.
pub(super) struct Order<'p> {
    plan: &'p Plan,
    /// The operations of each node.
    nodes: Vec<Range<usize>>,
    /// For each node, the waits for it: the index of the wait, its distance, and the node that waits.
    waiting: Vec<Vec<(usize, Distance, Node)>>,
}

/// All nodes that follow one node at one distance.
pub(super) struct Search {
    from: Node,
    distance: Distance,
    /// How each node was first reached, in the chunk of `from` and in the later chunk.
    reached: [Vec<Option<Hop>>; 2],
}

/// A step between nodes, with whether it left from the later chunk.
#[derive(Clone, Copy)]
struct Hop {
    from: Node,
    crossed: bool,
    distance: Distance,
    link: Link,
}

impl<'p> Order<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        let mut nodes: Vec<Range<usize>> = Vec::new();
        for (index, operation) in plan.operations.iter().enumerate() {
            match nodes.last_mut() {
                Some(last)
                    if operation.repeat.is_some()
                        && operation.repeat == plan.operations[last.start].repeat =>
                {
                    last.end = index + 1;
                }
                _ => nodes.push(index..index + 1),
            }
        }
        let mut order = Self { plan, waiting: vec![Vec::new(); nodes.len()], nodes };
        for (index, wait) in plan.waits.iter().enumerate() {
            let from = order.node_of(plan.events[wait.event].operation);
            let to = order.node_of(wait.operation);
            order.waiting[from].push((index, wait.distance, to));
        }
        order
    }

    pub(super) fn node_of(&self, operation: usize) -> Node {
        self.nodes.partition_point(|node| node.end <= operation)
    }

    pub(super) fn operations(&self, node: Node) -> Range<usize> {
        self.nodes[node].clone()
    }

    /// The reason why two nodes are ordered. The caller keeps `search` from call to call.
    pub(super) fn between(
        &self,
        from: Node,
        to: Node,
        distance: Distance,
        search: &mut Option<Search>,
    ) -> Ordered {
        let own = self.waiting[from].iter().find(|&&(_, at, node)| (at, node) == (distance, to));
        if let Some(&(wait, ..)) = own {
            return Ordered::Wait(wait);
        }
        let search = match search {
            Some(search) if (search.from, search.distance) == (from, distance) => search,
            other => other.insert(self.search(from, distance)),
        };
        // Steps to the next chunk may lead to the next one in the slot: see `Ordered::Path`.
        let by_chunk = || {
            self.search(from, Distance::Previous)
                .path(to)
                .filter(|_| distance == Distance::Reuse && to <= from)
        };
        match search.path(to).or_else(by_chunk) {
            Some(hops) => Ordered::Path(hops.into_iter().map(|(hop, to)| self.step(hop, to)).collect()),
            None => Ordered::Nothing,
        }
    }

    fn step(&self, hop: Hop, to: Node) -> Step {
        let Hop { from, distance, link, .. } = hop;
        Step { from: self.operations(from), to: self.operations(to), distance, link }
    }

    /// Whether the stream orders two operations that are enqueued on it `distance` apart.
    fn stream_orders(&self, stream: usize, distance: Distance) -> bool {
        match distance {
            Distance::Same => false,
            // A stream that a run may have once or for each slot counts as one for each slot.
            Distance::Previous => !self.plan.streams[stream].per_slot,
            Distance::Reuse => true,
        }
    }

    fn stream_of(&self, node: Node) -> usize {
        self.plan.operations[self.nodes[node].start].stream
    }

    /// The nodes that one step leads to, within the chunk or, if the path may still cross, in the later one.
    fn steps(&self, from: Node, crossing: Option<Distance>) -> Vec<(Node, Distance, Link)> {
        let stream = self.stream_of(from);
        let on_it = |first| (first..self.nodes.len()).filter(move |&node| self.stream_of(node) == stream);
        let mut steps: Vec<_> =
            on_it(from + 1).map(|to| (to, Distance::Same, Link::Stream(stream))).collect();
        if let Some(distance) = crossing.filter(|&distance| self.stream_orders(stream, distance)) {
            steps.extend(on_it(0).map(|to| (to, distance, Link::Stream(stream))));
        }
        for &(wait, distance, to) in &self.waiting[from] {
            let holds = match distance {
                // A wait that is enqueued before the record would be for an older record.
                Distance::Same => from < to,
                later => crossing == Some(later),
            };
            if holds {
                steps.push((to, distance, Link::Wait(wait)));
            }
        }
        steps
    }

    // Note 60: the compiler has a search of its own.
    fn search(&self, from: Node, distance: Distance) -> Search {
        let none = || vec![None; self.nodes.len()];
        let mut search = Search { from, distance, reached: [none(), none()] };
        let mut queue = VecDeque::from([(from, false)]);
        while let Some((node, crossed)) = queue.pop_front() {
            let crossing = (!crossed && distance != Distance::Same).then_some(distance);
            for (to, distance, link) in self.steps(node, crossing) {
                let now = crossed || distance != Distance::Same;
                let reached = &mut search.reached[usize::from(now)][to];
                if reached.is_none() {
                    *reached = Some(Hop { from: node, crossed, distance, link });
                    queue.push_back((to, now));
                }
            }
        }
        search
    }
}

impl Search {
    /// The steps to a node, each with the node that it leads to.
    fn path(&self, to: Node) -> Option<Vec<(Hop, Node)>> {
        let (mut node, mut crossed) = (to, self.distance != Distance::Same);
        let mut hops = Vec::new();
        while crossed || node != self.from {
            let hop = self.reached[usize::from(crossed)][node]?;
            hops.push((hop, node));
            (node, crossed) = (hop.from, hop.crossed);
        }
        hops.reverse();
        Some(hops)
    }
}
