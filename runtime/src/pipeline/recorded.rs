//! [`Recorded`]: operations on their way into a graph, in the order that streams and events give them.

use crate::driver::Tag;
use crate::graph::{Recording, Work};

/// What was recorded since the last launch, and room for what comes next: a run that is like the one before allocates
/// nothing.
#[derive(Default)]
pub(super) struct Recorded {
    pub(super) nodes: Recording,
    /// For each of the pipeline's streams the nodes that its next one comes after: a handful.
    streams: Vec<Vec<u32>>,
    /// For each of the pipeline's events the nodes that it stands for.
    events: Vec<Vec<u32>>,
}

impl Recorded {
    /// Makes room for the order of so many streams and events.
    pub(super) fn reserve(&mut self, streams: usize, events: usize) {
        self.streams.resize_with(streams, Vec::new);
        self.events.resize_with(events, Vec::new);
    }

    /// Adds what a stream does next.
    pub(super) fn push(&mut self, stream: usize, tag: Tag, work: Work) {
        let tail = &mut self.streams[stream];
        let node = self.nodes.push(tag, tail, work);
        tail.clear();
        tail.push(node);
    }

    /// The event stands for what the stream has done so far.
    pub(super) fn record(&mut self, event: usize, stream: usize) {
        let stands_for = &mut self.events[event];
        stands_for.clear();
        // One by one: there is one, mostly.
        self.streams[stream].iter().for_each(|&node| stands_for.push(node));
    }

    /// What the stream does next comes after what the event stands for.
    pub(super) fn wait(&mut self, stream: usize, event: usize) {
        let tail = &mut self.streams[stream];
        for &node in &self.events[event] {
            if !tail.contains(&node) {
                tail.push(node);
            }
        }
    }

    /// Forgets everything, but for the memory it took.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.streams.iter_mut().for_each(Vec::clear);
        self.events.iter_mut().for_each(Vec::clear);
    }
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recorded({} nodes)", self.nodes.len())
    }
}
